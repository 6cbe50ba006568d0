"""A function is edited by the model in each editor, hunk by hunk: the server as delivered, and a scripted provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.editors.conftest import STREAMING, name_of
from tests.e2e.editors.editor import Editor, Json
from tests.e2e.editors.emacs import EglotBuffered
from tests.e2e.editors.test_session import Person, settings
from tests.fakes.openai_server import OpenAiServer, Reply

COMMENT = "# oi: ask for the diameter, and use math.pi 𝄞"
ABOVE = "import math\n\n# ünicode 𝄞 above\n"
AREA = """\
def area(r):
    \"\"\"The area of a circle, in m².\"\"\"
    print("area", r)
    half = r
    if half < 0:
        raise ValueError("no such circle")
    return 3.14 * half * half
"""
BELOW = '\n\nprint(area(2), "é")\n'
OLD = f"{ABOVE}\n{AREA}{BELOW}"
COMMENTED = f"{ABOVE}{COMMENT}\n{AREA}{BELOW}"

HEAD = ("def area(r):", "def area(diameter, unit='m'):")
END = ("    return 3.14 * half * half", "    square = half * half\n    return math.pi * square")
REPLY = f"```python\n{AREA.replace(*HEAD).replace(*END)}```\n"

TWO_TO_ONE, ONE_TO_TWO = "2 lines become 1", "1 line becomes 2"
TITLE = f"Edit: {COMMENT.removeprefix('# oi: ')}"


@pytest.fixture
def provider() -> Iterator[OpenAiServer]:
    with OpenAiServer([Reply.text(REPLY, size=5, pause=0.01)]) as server:
        yield server


def shown(editor: Editor, file: Path) -> list[Json]:
    """The diagnostics that the server has last said of a file."""
    told = editor.said("server", lambda message: message.get("method") == "textDocument/publishDiagnostics")
    found: list[Json] = next(
        (each["params"]["diagnostics"] for each in reversed(told) if each["params"]["uri"] == file.as_uri()), []
    )
    return found


def sees_hunks(editor: Editor, file: Path, *titles: str) -> list[Json]:
    """Wait until these hunks are shown. Answers their diagnostics."""

    def so() -> bool:
        heads = [each["message"].splitlines()[0] for each in shown(editor, file)]
        return heads == [f"Edit: {title}" for title in titles]

    editor.until(so, f"hunks: {titles}")
    return shown(editor, file)


def asks(editor: Editor, file: Path, provider: OpenAiServer) -> Person:
    """Write the comment in a file that is not open yet, and have its edit proposed."""
    file.write_text(OLD)
    editor.start(file, env=settings(provider))
    person = Person(editor, file)
    editor.goto(4)
    editor.type(COMMENT)
    person.sees(COMMENT)
    person.takes(TITLE, "oi: ask")
    return person


@pytest.mark.parametrize("editor", [*STREAMING, EglotBuffered], ids=name_of, indirect=True)
def test_one_hunk_is_accepted_and_one_rejected(editor: Editor, workspace: Path, provider: OpenAiServer) -> None:
    file = workspace / "circle.py"
    person = asks(editor, file, provider)
    first, second = sees_hunks(editor, file, TWO_TO_ONE, ONE_TO_TWO)
    assert first["message"].splitlines()[1:] == [HEAD[1]]
    assert second["message"].splitlines()[1:] == END[1].splitlines()
    assert person.text() == COMMENTED, "nothing is written before it is accepted"
    person.goes_to("return 3.14")
    editor.read_note()
    editor.until_screen(END[1].splitlines()[0].strip())
    editor.look("two hunks, at the second")
    editor.put_note_away()
    person.takes(f"Reject: {ONE_TO_TWO}", "return 3.14")
    assert not [title for title in editor.offered() if title.startswith("Explain")], "a hunk is no problem"
    sees_hunks(editor, file, TWO_TO_ONE)
    person.takes(f"Accept: {TWO_TO_ONE}", "oi: ask")
    sees_hunks(editor, file)
    accepted = COMMENTED.replace(f"{COMMENT}\n", "").replace(*HEAD)
    editor.until(lambda: person.text() == accepted, "the accepted hunk alone")
    assert editor.save(file) == accepted
    editor.look("one accepted, one rejected")
    editor.undo()
    editor.until(lambda: person.text() == COMMENTED, "just that hunk to be taken back")
    sees_hunks(editor, file, TWO_TO_ONE)
    editor.look("undone")
    person.takes(f"Accept: {TWO_TO_ONE}", "oi: ask")
    editor.until(lambda: person.text() == accepted, "the hunk to be accepted again")
    assert editor.save(file) == accepted
    (asked,) = provider.requests
    assert "ask for the diameter" in json.dumps(asked.json["messages"])


@pytest.mark.parametrize("editor", [*STREAMING, EglotBuffered], ids=name_of, indirect=True)
def test_all_are_accepted_and_an_undo(editor: Editor, workspace: Path, provider: OpenAiServer) -> None:
    file = workspace / "circle.py"
    person = asks(editor, file, provider)
    sees_hunks(editor, file, TWO_TO_ONE, ONE_TO_TWO)
    person.takes("Accept all 2 changes", "oi: ask")
    one = COMMENTED.replace(f"{COMMENT}\n", "").replace(*HEAD)
    editor.until(lambda: person.text() == one.replace(*END), "both hunks")
    sees_hunks(editor, file)
    assert editor.save(file) == one.replace(*END)
    editor.undo()
    # Edits that come right behind one another may be one step in an editor that was busy meanwhile.
    steps = {COMMENTED: [TWO_TO_ONE, ONE_TO_TWO], **({one: [ONE_TO_TWO]} if editor.undoes_each else {})}
    editor.until(lambda: person.text() in steps, "the undo")
    left = person.text()
    hunks = steps[left]
    sees_hunks(editor, file, *hunks)
    editor.look("undone")
    assert editor.save(file) == left
