"""What a person sees of a block before they decide, in Neovim: with real semgrep, a real sandbox and a real kernel."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from oi_engine.computer.sandbox import look_for_sandbox
from tests.e2e.editors.conftest import name_of
from tests.e2e.editors.neovim import Neovim
from tests.e2e.editors.test_session import Person, settings
from tests.e2e.test_safe_mode import needs_semgrep
from tests.fakes.openai_server import OpenAiServer, Reply

DELETES = "import os\nprint('é𝄞')\nos.remove('é𝄞\u200b')"


@needs_semgrep
@pytest.mark.parametrize("editor", [Neovim], ids=name_of, indirect=True)
def test_findings_stand_at_their_lines(editor: Neovim, workspace: Path) -> None:
    if problem := asyncio.run(look_for_sandbox()).problem:
        pytest.skip(problem)
    file = workspace / "talk.oi.md"
    replies = [
        Reply.tool_call("python", DELETES, text="I tidy up."),
        Reply.tool_call("shell", "touch /usr/x"),
        Reply.text("Good bye."),
    ]
    with OpenAiServer(replies) as provider:
        editor.start(file, env={**settings(provider), "OI_SAFE_MODE": "auto", "OI_SANDBOX": "workspace"})
        person = Person(editor, file)
        person.sees("## You")
        person.writes("Tidy up.")
        person.takes("Send", "Tidy up.")
        # Below their line, each with a corner under its column.
        editor.until_screen("└──── python-delete-files: It deletes files.")
        editor.until_screen("└──── invisible: U+200B ZERO WIDTH SPACE cannot be seen.")
        editor.look("a block that deletes waits")
        person.goes_to("\u200b')")
        editor.type("x")
        person.goes_to("x\u200b")  # Neovim shows nothing while one types
        editor.until_screen("You edited this since it was scanned")
        editor.look("it was edited")
        assert "python-delete-files" not in editor.screen()
        person.takes("Reject", "os.remove")
        editor.until(lambda: "You edited this" not in editor.screen(), "nothing to be said any more")
        person.sees("touch /usr/x")
        person.takes("Run", "touch /usr/x")
        person.sees("The sandbox seems to have kept it from /usr/x")
        person.sees("Good bye.\n\n<!--")
        person.goes_to("The sandbox seems")
        editor.code_actions()
        title = f"Allow writing to {os.path.realpath('/usr')} in this session's sandbox (variables go)"
        editor.until_screen(title)
        editor.look("what the sandbox may allow")
