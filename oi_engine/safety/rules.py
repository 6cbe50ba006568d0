"""Rules for shell code: which commands run without asking, and which never do.

A rule is a text of words, quoted as in a shell. One that allows names a program and all its arguments::

    git status          this and nothing more
    ls -l *             with any further arguments that are no options: none of them begins with ``-``

One that denies names a program and the words that its arguments begin with: ``rm``, ``git push``; ``*`` is everything.

A rule that allows holds for one plain command alone (``shell_words.plain_command``), and never for a program that runs
what its arguments say (``RUNS_OTHERS``). A rule that denies looks at every command in the code.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import lru_cache

from attrs import frozen

from oi_engine.safety.shell_words import RUNS_OTHERS, all_commands, plain_command

ANY = "*"


@frozen
class Denied:
    """Why code is asked about whatever allows it: the ``rule``, or that what it does cannot be known (``None``)."""

    rule: str | None

    def __str__(self) -> str:
        if self.rule is None:
            return "There are `policy.deny` rules, and what this code runs cannot be fully told beforehand."
        return f"Your rule `policy.deny: {self.rule}` has this asked about."


def allowing(rules: Sequence[str], code: str) -> str | None:
    """The first rule that allows the code; ``None`` where none does."""
    readable = _readable(rules)
    if not readable:
        return None
    command = plain_command(code)
    if command is None or command[0] in RUNS_OTHERS:
        return None
    return next((rule for rule, words in readable if _allows(words, command)), None)


def nearly_allowing(rules: Sequence[str], code: str) -> str | None:
    """The first rule that would allow a command in the code, were that all of it; ``None`` where none would."""
    readable = _readable(rules)
    if not readable or plain_command(code) is not None:
        return None
    commands = all_commands(code).commands
    return next((rule for rule, words in readable if any(_begins(each, words) for each in commands)), None)


def denying(rules: Sequence[str], code: str) -> Denied | None:
    """What keeps the code from running unasked; ``None`` where nothing does."""
    if not rules:
        return None
    found = all_commands(code)
    for rule in rules:
        words = _words(rule)
        if not words or words[0] == ANY:
            return Denied(rule)  # what cannot be read denies everything
        if any(_begins(command, words) for command in found.commands):
            return Denied(rule)
    return None if found.certain else Denied(None)


@lru_cache(maxsize=1024)
def allow_problem(rule: str) -> str:
    """What is wrong with a rule that is to allow something; empty where nothing is."""
    words = _words(rule)
    if not words:
        return "it cannot be read as words"
    program, *rest = words
    if program in RUNS_OTHERS:
        return f"{program} runs what its arguments say, so it is always asked about"
    if plain_command(program) is None:
        return "it must begin with the name of a program, without a path"
    if ANY in rest[:-1]:
        return "only its last word can be `*`"
    return ""


def _readable(rules: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The rules that allow something, with their words."""
    return [(rule, words) for rule in rules if (words := _words(rule)) and not allow_problem(rule)]


def _allows(rule: tuple[str, ...], command: tuple[str, ...]) -> bool:
    if rule[-1] != ANY:
        return command == rule
    fixed = rule[:-1]
    return command[: len(fixed)] == fixed and not any(word.startswith("-") for word in command[len(fixed) :])


def _begins(command: tuple[str, ...], words: tuple[str, ...]) -> bool:
    fixed = words[:-1] if words[-1] == ANY else words
    return command[: len(fixed)] == fixed


@lru_cache(maxsize=1024)
def _words(rule: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(rule))
    except ValueError:
        return ()
