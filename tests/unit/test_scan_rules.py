"""Safe mode's rules: each is found where it should be and not where it should not, by semgrep itself."""

from __future__ import annotations

import os

import pytest

from oi_engine.safety.scan import semgrep
from oi_engine.safety.scan.rulebook import ENDS, rules
from oi_engine.safety.scan.scanner import Scanner
from tests.unit.scan_examples import EXAMPLES, SHELL_IN_PYTHON

needs_semgrep = pytest.mark.skipif(semgrep.find(os.environ) is None, reason="semgrep is not installed: make test does")


def test_every_rule_has_examples_and_one_calm_sentence() -> None:
    assert {rule for examples in EXAMPLES.values() for rule in examples} == set(rules())
    for rule in rules().values():
        assert rule.severity in ("ERROR", "WARNING")
        assert rule.message.startswith("It ")
        assert rule.message.endswith(".")
        assert rule.message.count(".") == 1
    for examples in EXAMPLES.values():
        assert all(found and left for found, left in examples.values())
    assert not ENDS & set(rules())


def test_every_kind_is_there_for_every_language() -> None:
    kinds = "delete-files delete-tree run-text run-fetched read-credentials read-environment send-data raise-rights "
    kinds += "open-to-all stay install-packages"
    assert {f"{language}-{kind}" for language in EXAMPLES for kind in kinds.split()} <= set(rules())


@needs_semgrep
@pytest.mark.parametrize("language", EXAMPLES)
async def test_rules_find_what_they_should_and_nothing_else(language: str) -> None:
    scanner = Scanner()
    wrong = []
    try:
        for rule, (found, left) in EXAMPLES[language].items():
            names = {rule, SHELL_IN_PYTHON.get(rule, rule)}
            for code, expected in [*((code, True) for code in found), *((code, False) for code in left)]:
                report = await scanner.scan(language, code)
                is_found = bool(names & {finding.rule for finding in report.findings})
                if report.problem or is_found != expected:
                    wrong.append((rule, code, report))
    finally:
        await scanner.close()
    assert not wrong
