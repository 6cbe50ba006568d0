"""A selection is run in each editor that has inlay hints, and its results stand in the file: with a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.editors.conftest import name_of
from tests.e2e.editors.helix import Helix
from tests.e2e.editors.neovim import Neovim
from tests.e2e.editors.test_inline_edits import shown
from tests.e2e.editors.test_session import settings
from tests.fakes.openai_server import OpenAiServer

SOURCE = """\
total = 40 + 2
print("total", total, "wörld 𝄞")
print(total / 0)
print("not run")
"""


@pytest.fixture
def provider() -> Iterator[OpenAiServer]:
    with OpenAiServer([]) as server:
        yield server


@pytest.mark.parametrize("editor", [Neovim, Helix], ids=name_of, indirect=True)
def test_a_selection_runs_and_its_results_are_shown(
    editor: Neovim | Helix, workspace: Path, provider: OpenAiServer
) -> None:
    file = workspace / "script.py"
    file.write_text(SOURCE)
    editor.start(file, env=settings(provider))
    editor.show_hints()
    editor.select_lines(1, 3)
    editor.code_action("Run selection")
    editor.until(lambda: shown(editor, file), "the error as a diagnostic")
    (problem,) = shown(editor, file)
    assert problem["message"].startswith("ZeroDivisionError")
    assert problem["range"]["start"]["line"] == 2
    editor.back_to(file)
    # A change elsewhere: Helix asks for hints only then, and Neovim may have drawn its window between being told to ask
    # and being answered, after which it draws the lines no more.
    editor.goto(4)
    editor.type("# ")
    lines = SOURCE.splitlines()
    editor.until_screen(f"{lines[1]} → total 42 wörld 𝄞")
    editor.until_screen(f"{lines[2]} → ZeroDivisionError")
    editor.look("results")
    assert not provider.requests
