"""What the features need of an editor, shown with a scripted server: actions, the server's edits, questions, undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.editors.conftest import STREAMING, name_of
from tests.e2e.editors.editor import SCRIPTED, Editor
from tests.fakes.scripted_lsp import STREAMED, TAIL

TEXT = f"hello wörld 𝄞\nsecond line\n\n{TAIL}\nend\n"


@pytest.fixture
def file(workspace: Path, editor: Editor) -> Path:
    made = workspace / "notes.oi.md"
    made.write_text(text_for(editor))
    return made


def text_for(editor: Editor) -> str:
    return TEXT if editor.counts_utf16 else TEXT.replace("wörld 𝄞", "world !")


def test_a_code_action_edits_and_undo_takes_it_back(editor: Editor, file: Path) -> None:
    before = text_for(editor)
    first = before.splitlines()[0]
    editor.start(file, SCRIPTED)
    editor.goto(1, 3)
    editor.code_action("Shout")
    editor.until_screen(first.upper())
    editor.until_said("client", lambda message: message.get("method") == "textDocument/didChange")
    assert editor.save(file) == before.replace(first, first.upper())
    editor.undo()
    editor.until_screen(first)
    assert editor.save(file) == before


@pytest.mark.parametrize("editor", STREAMING, ids=name_of, indirect=True)
def test_an_answer_streams_in_while_the_person_types(editor: Editor, file: Path) -> None:
    editor.start(file, SCRIPTED)
    editor.goto(1, 1)
    editor.code_action("Stream ten lines")
    editor.goto(1, 7)
    typed = "".join(f"word{number} " for number in range(8))
    for word in typed.split(" ")[:-1]:
        editor.type(f"{word} ")
    editor.until_screen(STREAMED[-1])
    editor.until_screen(typed.strip())
    streamed = "".join(f"{line}\n" for line in STREAMED)
    assert editor.save(file) == TEXT.replace("hello ", f"hello {typed}").replace(TAIL, streamed + TAIL)


@pytest.mark.parametrize("editor", STREAMING, ids=name_of, indirect=True)
def test_a_question_of_the_server_is_answered(editor: Editor, file: Path) -> None:
    editor.start(file, SCRIPTED)
    editor.goto(2)
    editor.code_action("Ask first")
    editor.until_screen("Really?")
    editor.answer("Yes")
    editor.until_screen("the answer was Yes")


def test_actions_are_asked_for_the_lines_that_are_selected(editor: Editor, file: Path) -> None:
    editor.start(file, SCRIPTED)
    editor.select_lines(1, 2)
    editor.code_action("Shout")
    editor.until_screen(text_for(editor).splitlines()[0].upper())
    asked = editor.said("client", lambda message: message.get("method") == "textDocument/codeAction")
    start, end = (asked[-1]["params"]["range"][which] for which in ("start", "end"))
    assert start == {"line": 0, "character": 0}
    assert (end["line"], end["character"]) in [(1, len("second line")), (1, len("second line") - 1), (2, 0)]
