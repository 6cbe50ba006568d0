"""The server starts, and ends, with each editor, set up as editors/README.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.editors.conftest import DRIVEN
from tests.e2e.editors.editor import Editor
from tests.e2e.editors.setups import README, section, snippet


@pytest.mark.parametrize(("name", "language"), [("notes.oi.md", "markdown"), ("script.py", "python")])
def test_the_server_starts_and_ends_with_the_editor(editor: Editor, workspace: Path, name: str, language: str) -> None:
    file = workspace / name
    file.write_text("# a line\n")
    editor.start(file)
    editor.until_said("client", lambda message: message.get("method") == "initialized")
    (opened,) = editor.said("client", lambda message: message.get("method") == "textDocument/didOpen")
    assert opened["params"]["textDocument"]["uri"] == file.as_uri()
    assert opened["params"]["textDocument"]["languageId"] == language
    assert opened["params"]["textDocument"]["text"] == "# a line\n"
    errors = editor.said("server", lambda message: message.get("error"))
    assert errors == []
    editor.close()


def test_every_set_up_says_whether_it_is_tested() -> None:
    titles = re.findall(r"^## (.+)$", README.read_text(), re.MULTILINE)
    driven = {kind.title for kind in DRIVEN}
    assert driven <= set(titles)
    for title in titles:
        marks = re.findall(r"^\*(Tested|Untested)\b.*\*", section(title), re.MULTILINE)
        assert marks == ["Tested" if title in driven else "Untested"], title
        assert "oi-lsp" in snippet(title)
