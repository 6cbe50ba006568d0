"""The rules that ship with the package: their files, and what each of them says to a person."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import cast

import yaml
from attrs import frozen

from oi_engine.safety.scan.report import Severity

FOLDER = Path(__file__).with_name("rules")
FILES = tuple(FOLDER / f"{name}.yaml" for name in ("python", "shell", "javascript", "end"))

ENDS = frozenset({"end-of-scan", "end-of-shell-scan"})
"""Rules that tell that the code was read to its end."""


@frozen
class Rule:
    """A rule, as far as people see it."""

    id: str
    message: str
    severity: Severity


@cache
def rules() -> dict[str, Rule]:
    """Every rule for people, by its id. What semgrep says is looked up here, and no word of it is shown."""
    found = {}
    for file in FILES:
        for rule in yaml.safe_load(file.read_text(encoding="utf-8"))["rules"]:
            if rule["id"] not in ENDS:
                found[rule["id"]] = Rule(rule["id"], rule["message"], cast(Severity, rule["severity"]))
    return found
