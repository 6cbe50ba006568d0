"""What a scan says."""

from __future__ import annotations

from typing import Literal, Protocol

from attrs import frozen

from oi_engine.approval import Findings, Remark

Severity = Literal["ERROR", "WARNING"]

SHOWN = 8
"""Findings that are told one by one; the rest are counted."""


@frozen
class Finding:
    """One thing that the code would do: the rule's id and its sentence, and the line, from 1, where it is done."""

    rule: str
    message: str
    severity: Severity
    line: int

    @property
    def remark(self) -> Remark:
        """The finding for the person."""
        return Remark(self.message, "error" if self.severity == "ERROR" else "warning", self.line, self.rule)


@frozen
class Report:
    """The findings on one piece of code, the gravest first, and why some or all of it was not scanned, if so."""

    findings: tuple[Finding, ...] = ()
    problem: str = ""

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All of it for the person; nothing where all was scanned and nothing found."""
        told = [finding.remark for finding in self.findings[:SHOWN]]
        more = len(self.findings) - SHOWN
        if more > 0:
            told.append(Remark(f"And {more} more of this kind."))
        return (*told, Remark(self.problem)) if self.problem else tuple(told)

    @property
    def words(self) -> Findings:
        """The remarks, a line each."""
        return tuple(remark.words for remark in self.remarks)

    def plus(self, later: Report) -> Report:
        """What this says and a later one of the code as it became, as what a person was told."""
        return Report((*self.findings, *later.findings), later.problem or self.problem)

    def new_against(self, before: Report) -> bool:
        """Whether this says anything that ``before`` did not; where in the code it is does not count."""
        known = {finding.rule for finding in before.findings}
        return any(finding.rule not in known for finding in self.findings) or self.problem not in ("", before.problem)


class Scans(Protocol):
    """What scans code: ``scanner.Scanner``, or a test's own."""

    def warm_up(self) -> None:
        """Get ready in the background, as a scan will be wanted soon."""
        ...

    async def scan(self, language: str, code: str) -> Report:
        """What the code would do. Never raises for what goes wrong: the report says it; bounded in time."""
        ...


def put_together(findings: list[Finding], problem: str) -> Report:
    """A report with each finding once a line, the gravest first."""
    ordered = sorted(set(findings), key=lambda found: (found.severity != "ERROR", found.line, found.rule))
    return Report(tuple(ordered), problem)
