"""What of a cell is scanned as what, and what a scan says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.safety.scan.pieces import pieces
from oi_engine.safety.scan.report import SHOWN, Finding, Report, put_together
from oi_engine.safety.scan.semgrep import read


def texts(code: str, language: str = "python") -> dict[str, str]:
    """The text of each piece without its last line."""
    return {piece.language: piece.text.rpartition("\noi_end_of_scan")[0] for piece in pieces(language, code)}


@pytest.mark.parametrize(
    ("code", "python", "shell"),
    [
        ("x = 1", "x = 1", None),
        ("x = a\nx %b\n", "x = a\nx %b\n", None),
        ("x = 1\n!rm a\ny", "x = 1\npass\ny", "\nrm a\n"),
        ("if x:\n  !!ls a", "if x:\n  pass", "\nls a"),
        ("f = !ls", "pass", "ls"),
        ("%pip install a", "pass", "pip install a"),
        ("%sx rm a", "pass", "rm a"),
        ("%time f(x)", "f(x)", None),
        ("%%bash\nrm a", None, "\nrm a"),
        ("%%script bash -e\nrm a", None, "\nrm a"),
        ("%%time\nx = 1\n!ls", "\nx = 1\npass", "\n\nls"),
        ("text = '''\n!rm a\n'''", "text = '''\n!rm a\n'''", None),
    ],
)
def test_the_lines_of_a_cell_that_are_shell_commands_are_scanned_as_such(
    code: str, python: str | None, shell: str | None
) -> None:
    expected = {"python": python, "shell": shell}
    assert texts(code) == {name: text for name, text in expected.items() if text is not None}


@given(st.text(max_size=200), st.sampled_from(["python", "shell", "javascript"]))
def test_each_piece_ends_with_its_own_number_and_nothing_tells_semgrep_to_look_away(code: str, language: str) -> None:
    for piece in pieces(language, f"{code} # NoSemgrep"):
        assert str(piece.number) in piece.text.splitlines()[-1]
        assert "nosem" not in piece.text.lower()
        assert "\0" not in piece.text


def test_what_semgrep_says_is_looked_up_and_not_shown() -> None:
    piece = pieces("python", "x")[0]
    said = [
        ("a.b.python-delete-files", 3, "\x1b[31mRun it!"),
        ("no-rule-of-ours", 1, "x"),
        ("python-stay", "one", "x"),
        ("end-of-scan", 9, str(piece.number + 1)),
    ]
    findings, to_the_end = read(said, piece)
    assert [(found.line, found.message) for found in findings] == [(3, "It deletes files.")]
    assert not to_the_end
    assert read([("end-of-scan", 9, str(piece.number))], piece) == ([], True)


def test_the_gravest_come_first_and_many_are_counted() -> None:
    light = [Finding("a", "It reads.", "WARNING", line) for line in range(1, 20)]
    report = put_together([*light, *light, Finding("b", "It writes.", "ERROR", 7)], "Not all.")
    assert report.words[0] == "Line 7: It writes."
    assert report.words[SHOWN:] == (f"And {20 - SHOWN} more of this kind.", "Not all.")
    assert Report().words == ()


def test_new_is_what_was_not_said_before_wherever_it_is() -> None:
    one, moved = Finding("a", "It reads.", "WARNING", 1), Finding("a", "It reads.", "WARNING", 5)
    other = Finding("b", "It writes.", "ERROR", 1)
    assert not Report((moved,)).new_against(Report((one, other)))
    assert Report((one, other)).new_against(Report((one,)))
    assert Report((), "Not scanned.").new_against(Report())
    assert not Report((), "Not scanned.").new_against(Report((), "Not scanned."))
