"""Safe mode in a session: what is found out about code before it is decided on.

A review can hold code back and be shown, and that is all: nothing here makes a grant, and nothing that is found, or not
found, lets code run that would not have run without it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from attrs import define, field, frozen

from oi_engine.approval import Cell, Findings, Remark
from oi_engine.messages import SAFE
from oi_engine.models.model import Model, Usage
from oi_engine.safety.scan.report import Report, Scans
from oi_engine.session.state import Snapshot
from oi_engine.settings import Settings
from oi_engine.stream import Stream


class Host(Protocol):
    """What reviews have of their session."""

    settings: Settings
    model: Model
    stream: Stream

    @property
    def snapshot(self) -> Snapshot: ...
    def show_usage(self, usage: Usage) -> None: ...


@frozen
class Review:
    """What the scanner says of a cell, and the model, where it was asked."""

    report: Report = Report()
    opinion: str = ""

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All of it for the person; nothing where there is nothing to say."""
        return (*self.report.remarks, Remark(self.opinion)) if self.opinion else self.report.remarks

    @property
    def words(self) -> Findings:
        """The remarks, a line each."""
        return tuple(remark.words for remark in self.remarks)

    def plus(self, later: Review) -> Review:
        """What a person was told who knows this one, and a later one of the code as it became."""
        return Review(self.report.plus(later.report), later.opinion or self.opinion)

    def new_against(self, before: Review) -> bool:
        """Whether it says anything that ``before`` did not."""
        return self.report.new_against(before.report) or (bool(self.opinion) and not before.opinion)


@define
class Reviews:
    """The reviews of one session. ``make_scanner`` is called when the scanner is first needed."""

    _host: Host
    _make_scanner: Callable[[], Scans] | None = None
    _known: set[tuple[str, Findings]] = field(factory=set, init=False)

    def warm_up(self) -> None:
        """Have the scanner get ready, where one will be wanted."""
        if self._host.settings.safe_mode != "off" and self._make_scanner is not None:
            self._make_scanner().warm_up()

    async def before(self, cell: Cell, parent: str) -> Review:
        """What there is to say of code that is about to be proposed; nothing where safe mode does not look by itself.

        ``parent`` is the id of its code message.
        """
        if self._host.settings.safe_mode != "auto":
            return Review()
        return await self.look(cell, parent, lambda: True)

    def lets_pass(self, cell: Cell, review: Review) -> bool:
        """Whether what may run unasked may still do so: nothing was found, or a person let it run in spite of that."""
        return not review.words or (cell.digest, review.words) in self._known

    def accepted(self, cell: Cell, review: Review) -> None:
        """A person let a cell run knowing this of it."""
        if review.words:
            self._known.add((cell.digest, review.words))

    async def look(self, cell: Cell, parent: str, wanted: Callable[[], bool]) -> Review:
        """Review a cell, and say in the stream what came of it, as long as it is still ``wanted``."""
        settings = self._host.settings
        report = await self._scan(cell)
        if wanted():
            self._say("\n".join(report.words), parent)
        if not settings.safe_review or not wanted():
            return Review(report)
        from oi_engine.session.model_review import ask_model

        opinion = await ask_model(cell, self._host.model, settings, self._host.snapshot.usage.cost or 0.0)
        if opinion.usage is not None:
            self._host.show_usage(opinion.usage)
        if wanted():
            self._say(opinion.words, parent)
        return Review(report, opinion.words)

    async def _scan(self, cell: Cell) -> Report:
        if self._make_scanner is None:
            return Report(problem="Not scanned: this session has no scanner.")
        return await self._make_scanner().scan(cell.language, cell.code)

    def _say(self, text: str, parent: str) -> None:
        stream = self._host.stream
        stream.open("assistant", "review", recipient="user", parent=parent)
        stream.write(text or SAFE)
        stream.close()


Reviewing = Coroutine[Any, Any, Review]
"""A review under way."""
