"""What is shown, logged and allowed: terminal control, hidden characters, keys, and rules for shell code."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from oi_engine.safety import redact as redaction
from oi_engine.safety.redact import redact
from oi_engine.safety.rules import allow_problem, allowing, denying
from oi_engine.safety.sanitize import collapse_carriage_returns, render_carriage_returns, sanitize
from oi_engine.safety.shell_words import RUNS_OTHERS, plain_command
from tests.fuzz.fuzzing import CUTS, PLANNED, cut, fuzzed, property_of, run_all, texts
from tests.unit import test_policy_rules, test_reveal, test_sanitize
from tests.unit.test_redact import JWT, PEM, TAIL

CONTROL = texts(
    *("\x1b", "[", "]", "P", "X", "^", "_", "\\", "\x07", "\x18", "\x9b", "\x9c", "\x9d", "\x90", "\x98", "\x1b[2J"),
    *("\x1b]0;t\x07", "\x1b]52;c;aGk=", "\x1bP$q", "0;1", "?", " ", "!", "m", "K", "~", "\r", "\r\n", "\n", "\t", "(B"),
    *("\x08", "\x7f", "\ud83d", "\ude00", "\x1b\x1b", "\u2028", "0" * 5000, "\x1b[" + "1;" * 5000),
    length=20,
)


@fuzzed(st.tuples(CONTROL, CUTS), 6000)
def test_no_terminal_control_is_left_in_output(given: tuple[str, list[int]]) -> None:
    text, lengths = given
    property_of(test_sanitize.test_nothing_that_controls_a_terminal_is_left)(text)
    clean = sanitize(text)
    assert test_sanitize.fed(list(cut(text, lengths))) == clean
    if len(text) < 1000:  # the plain machine is slow
        assert clean == test_sanitize.one_by_one(text)
    rendered = render_carriage_returns(clean)
    assert render_carriage_returns(collapse_carriage_returns(clean)) == rendered
    assert "\r" not in rendered


HIDDEN = texts(
    *("\u202e", "\u2066", "\u200b", "\u200d", "\ufe0f", "\u00a0", "\u3164", "\U000e0041", "\u00ad", "а", "о", "paypаl"),
    *("‹U+202E x›", "‹", "›", " ", "\t", "x", "\n", "\r\n", "\x85", "=", "\u0301", "ﬁ", "Ⅷ", "x" * 600),
    length=20,
)


@fuzzed(HIDDEN, 5000, examples=["‹U+0041 LATIN›"])
def test_nothing_is_hidden_in_code_that_is_shown(code: str) -> None:
    test: Any = property_of(test_reveal.test_what_is_shown_can_be_read_back_and_has_nothing_hidden)
    if "‹" not in code:  # which cannot be told from what is written for a character
        test(code)


KEYS = (
    *(
        "sk-" + TAIL,
        "sk-ant-api03-" + TAIL,
        "AIza" + "Sy" + TAIL,
        "ghp_" + TAIL,
        "github_pat_" + TAIL,
        "xoxb-1234-" + TAIL,
    ),
    *("AKIA" + "IOSFODNN7EXAMPLE", "hf_" + TAIL, "gsk_" + TAIL, "glpat-" + TAIL, JWT, PEM, PEM.replace("\n", "\\n")),
)
AROUND = texts(
    *("sk-", "api_key", "=", ": ", '"', "'", "\\", "Bearer ", "eyJ", ".", "://", "@", " ", "\n", "password", "Basic "),
    *("-----BEGIN PRIVATE KEY-----", "-----END", "[redacted]", "[", "]", "x", "-", "_", "://a:", TAIL, "None", "\n\n"),
    *("x" * 1030, "y" * 2050 + "\n", "token", "\t"),
    length=8,
)
BOUNDS = st.sampled_from([" ", '"', "'", "=", "(", "[", "\n", ",", "> ", "é", "\\n"])


@fuzzed(
    st.tuples(AROUND, BOUNDS, st.sampled_from(KEYS), BOUNDS, AROUND), 6000, examples=[("", "\\n", KEYS[0], " ", "")]
)
def test_no_key_survives(given: tuple[str, str, str, str, str]) -> None:
    text = "".join(given)
    once = redact(text)
    assert given[2] not in once
    assert redact(once) == once, "redacting twice changes something"
    assert once == redaction._redacted(text), "a piece of a long text ends within a secret"
    assert given[2][:12] not in redact(given[0] + given[2][:12] + given[4], [given[2][:12]])


SHELL = texts(
    *"&|;<>()$`\\\"'*?[]{}~!#=^% \n\t",
    *(" ", " ", " ", " ", " "),
    *(
        "ls",
        "ls ",
        "echo ",
        "git status",
        "x",
        "-l",
        "a=b",
        "$(",
        "&&",
        "sudo ",
        "\u00a0",
        "@P",
        "'a b'",
        '"a b"',
        "--",
    ),
    *(
        "if ",
        "then ",
        "; touch canary",
        "\ntouch canary",
        "`touch canary`",
        "$(touch canary)",
        ">canary",
        "2>&1",
        "<<E",
    ),
    *(
        "{a,b}",
        "~root",
        "!!",
        "$HOME",
        "$'x'",
        '$"x"',
        "%1",
        "=ls",
        "a b",
        "coproc ",
        "time ",
        "[[ ",
        "x()",
        "\\\n",
        "#",
    ),
    length=9,
)
NEARLY_PLAIN = texts(
    *(" ", " -l", " --", " a", " b/c.d", " x=y", " 'a b'", ' "a b"', " +1", " 5", " @", " %1", " ,", " ''", ' ""', " :")
    * 3,
    *(
        " 'x;y'",
        " '$HOME'",
        ' "a;b"',
        "a",
        "'b'",
        '"c"',
        "=",
        "!",
        "*",
        "~",
        "#",
        "{a,b}",
        "&",
        "\\",
        "\n",
        "; ",
        " -n '",
    ),
    *(
        '"',
        "^",
        "\t",
        ">",
        "[a]",
        " ?",
        "$x",
        "`",
        "|",
        " ;&",
        " !!",
        " a=(1)",
        " a[1]=2",
        "'a'b",
        ' "a\'b"',
        " 'a\"b'",
    ),
    length=6,
).map("echo".__add__)
RULES = ("ls *", "echo *", "git status", "touch canary", "sudo *", "x *", "*", "a=b")


@fuzzed(st.tuples(SHELL, SHELL), 3000)
def test_rules_read_anything(given: tuple[str, str]) -> None:
    rule, code = given
    property_of(test_policy_rules.test_whatever_is_called_plain_is_what_a_shell_would_read)(code)
    allow_problem(rule)
    allowed = allowing([rule, *RULES], code)
    words = plain_command(code)
    if allowed is not None:
        assert words is not None
        assert words[0] not in RUNS_OTHERS
    denied = denying([rule], code)
    assert denied is not None or allow_problem(rule) == "it cannot be read as words" or not words or words[0] != rule


SHELLS = PLANNED[f"{__name__}.test_shells_read_the_words_of_what_is_allowed"] = 6000


def test_shells_read_the_words_of_what_is_allowed() -> None:
    """All that was allowed is given to real shells as arguments of ``printf``, where no program is to be found."""
    plain: dict[str, tuple[str, ...]] = {}

    def check(code: str) -> None:
        words = plain_command(code)
        if words is not None:
            assert shlex.split(code) == list(words)
            if allowing(["* *", *(f"{words[0]} *", shlex.join(words))], code) is not None:
                plain[code.strip(" \n")] = words

    run_all(SHELL | NEARLY_PLAIN, check, SHELLS)
    assert len(plain) > 100, "hardly anything was allowed"
    for shell in ("bash", "dash", "zsh"):
        program = shutil.which(shell)
        if program is not None:
            assert _read_by(program, list(plain)) == list(plain.values()), shell


def _read_by(shell: str, codes: list[str]) -> list[tuple[str, ...]]:
    """The words that a shell makes of each code; fails where it does anything else with it."""
    script = "\n".join(f"printf '%s\\0' {code}; printf '\\n'" for code in codes)
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": "/nowhere", "HOME": folder, "ZDOTDIR": folder}
        done = subprocess.run(
            [shell, "-s"], input=script.encode(), env=environment, cwd=folder, capture_output=True, check=True
        )
        assert done.stderr == b""
        assert list(Path(folder).iterdir()) == [], "a shell wrote a file"
    return [tuple(line.decode().split("\0")[:-1]) for line in done.stdout.split(b"\n")[:-1]]
