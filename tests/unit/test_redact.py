"""Secrets in text: each form that is known, what must be left alone, and patterns that cannot become slow."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oi_engine.safety import redact as module
from oi_engine.safety.redact import MARK, redact

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is no defect


# Put together here, so that no scanner takes this file for a leak.
TAIL = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
JWT = "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{TAIL}+/\n{TAIL}=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "key",
    [
        "sk-" + TAIL,
        "sk-proj-" + TAIL + "_-" + TAIL,
        "sk-ant-api03-" + TAIL,
        "AIza" + "Sy" + TAIL,
        "ghp_" + TAIL,
        "github_pat_" + TAIL + "_" + TAIL,
        "xoxb-" + "123456789012-" + TAIL,
        "xoxp-" + TAIL,
        "AKIA" + "IOSFODNN7EXAMPLE",
        "hf_" + TAIL,
        "gsk_" + TAIL,
        JWT,
        PEM,
        PEM.replace("\n", "\\n"),
        PEM[:70],
    ],
)
@pytest.mark.parametrize("around", ["{}", "key {} was refused.", '"{}"', "x={}", "[{}]", "line\n{}\nline"])
def test_keys_of_known_forms_go(key: str, around: str) -> None:
    redacted = redact(around.format(key))
    assert MARK in redacted
    assert not any(part in redacted for part in (TAIL, key[4:24]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted]"),
        ("authorization: bearer 0123456789==", "authorization: bearer [redacted]"),
        ("Basic dXNlcjpwYXNz", "Basic [redacted]"),
        ("api_key=hunter2hunter2&x=1", "api_key=[redacted]&x=1"),
        ("OPENAI_API_KEY=hunter2", "OPENAI_API_KEY=[redacted]"),
        ('{"api_key": "with some spaces", "b": 1}', '{"api_key": "[redacted]", "b": 1}'),
        ("{'api-key': 'abc', 'b': 1}", "{'api-key': '[redacted]', 'b': 1}"),
        (r"{\"apiKey\": \"abcdef\"}", r"{\"apiKey\": \"[redacted]\"}"),
        ("password: hunter2", "password: [redacted]"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [redacted]"),
        ("access_token=abcd1234, id=3", "access_token=[redacted], id=3"),
        ("postgres://ann:s3cret@db.example/x", "postgres://ann:[redacted]@db.example/x"),
    ],
)
def test_values_go_and_their_names_stay(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "an ordinary sentence about a task-management-system-for-people",
        "max_tokens=2800 prompt_tokens: 12345",
        "api_key=None, password: null",
        "https://example.org:8080/a@b",
        "def f(api_key: str) -> None:",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "the keyboard, AKIA, sk-short",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_known_values_go_the_longest_first() -> None:
    assert redact("a my-secret-value-2 b my-secret-value", ["my-secret-value", "my-secret-value-2"]) == (
        f"a {MARK} b {MARK}"
    )


def test_short_known_values_are_left() -> None:
    assert redact("the theme", ["the", ""]) == "the theme"


def test_text_after_a_key_block_stays() -> None:
    assert redact(f"before {PEM} between {PEM} after") == f"before {MARK} between {MARK} after"


PARTS = st.sampled_from(
    [
        "sk-",
        "api_key",
        "=",
        ": ",
        '"',
        "'",
        "\\",
        TAIL,
        "Bearer ",
        "eyJ",
        ".",
        "-----BEGIN PRIVATE KEY-----",
        MARK,
        "-----END PRIVATE KEY-----",
        "://",
        "@",
        " ",
        "\n",
        "password",
        "Basic ",
        "[",
        "]",
        "x",
    ]
)


@calm
@given(st.lists(PARTS, max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


# Slowness, by structure: what a pattern repeats is bounded, possessive where it is long, and never nested.

codes: Any = import_module("re._constants")
parser: Any = import_module("re._parser")
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def repeats(tree: Any) -> list[tuple[Any, int, Any]]:
    """Every repetition in a parsed pattern: its kind, its bound, what it repeats."""
    found: list[tuple[Any, int, Any]] = []
    for operation, argument in tree:
        if operation in REPEATS:
            found.append((operation, int(argument[1]), argument[2]))
        found += [item for part in parts(argument) for item in repeats(part)]
    return found


def parts(argument: Any) -> list[Any]:
    if isinstance(argument, parser.SubPattern):
        return [argument]
    return [part for item in argument for part in parts(item)] if isinstance(argument, tuple | list) else []


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in module._patterns()], ids=lambda it: str(it.pattern)[:30])
def test_no_pattern_can_become_slow(pattern: re.Pattern[str]) -> None:
    found = repeats(parser.parse(pattern.pattern, pattern.flags))
    assert found
    for kind, bound, body in found:
        assert bound <= 65_536
        assert bound <= 40 or kind is codes.POSSESSIVE_REPEAT
        assert bound <= 1 or repeats(body) == []  # none within another


@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "eyJ",
        "eyJaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "api_key",
        "api_key=",
        '"',
        "://a:",
        "-",
        "Bearer ",
        "AKIA",
        "a",
        " ",
        "\\",
        "xoxb-a",
        "password : ",
    ],
)
def test_a_megabyte_of_beginnings_is_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert len(redact(text)) <= len(text) * 4


def test_long_text_is_redacted_like_short() -> None:
    lines = [f"line {number} of some output" for number in range(4_000)]
    secrets = {500: "api_key:\n  hunter2hunter2", 1500: "Basic\n abcdefghijklmnop", 3000: "sk-" + "a" * 40}
    for at, secret in secrets.items():
        lines[at] = secret
    told = redact("\n".join(lines))
    assert told.count(module.MARK) == 3
    assert told.split("\n")[0] == lines[0]
    assert told.endswith(lines[-1])
    key = "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n-----END PRIVATE KEY-----"
    assert "AAAA" not in redact("\n".join([*lines, key, *lines]))
