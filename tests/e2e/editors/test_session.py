"""A conversation in each editor, by its keys: the server as delivered, a real kernel, and a scripted provider."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import define

from oi_lsp.chat_document.chat import UNDONE
from oi_lsp.chat_document.parse import parse
from tests.e2e.editors.conftest import STREAMING, name_of
from tests.e2e.editors.editor import Editor
from tests.e2e.editors.emacs import EglotBuffered
from tests.fakes.openai_server import OpenAiServer, Reply

GREETS = "print('hi')\nname = input('Who? ')\nprint('hello', name)"
LOOPS = "import time\nprint('begun', flush=True)\nopen('begun', 'w').close()\ntime.sleep(600)"
GREETED = "You are greeted.\n" + "\n".join(f"Line {number} of a long answer." for number in range(1, 25))

WHOLE = f"""\
---
oi: 1 N
---

## You <!-- oi:N.u1 -->

Greet me, wörld 𝄞.

## Assistant <!-- oi:N.a1 -->

I ask who you are.

```python oi=c1
print('hiho')
name = input('Who? ')
print('hello', name)
```

```output oi=c1 no-final-newline
hiho
{"Who? "}
```

```input oi=i2
Ada Ünal
```

```output oi=c1 more
Ada Ünal
hello Ada Ünal
```

{GREETED}

<!-- oi:N.tail -->

## You <!-- oi:N.u2 -->

And now wait for ever, with words that are typed while the answer comes.

## Assistant <!-- oi:N.a2 -->

```python oi=c3
import time
print('begun', flush=True)
open('begun', 'w').close()
time.sleep(600)
```

```output oi=c3
begun
KeyboardInterrupt: stopped at line 4
```

```note oi=c3
Stopped; variables are kept.
```

```note oi=- to=assistant
The person stopped this turn.
```

<!-- oi:N.tail -->

## You <!-- oi:N.u3 -->

"""


@define
class Person:
    """Who writes in one chat document."""

    editor: Editor
    file: Path

    def text(self) -> str:
        """What the document says, as far as the editor has told."""
        return self.editor.told(self.file)

    def sees(self, words: str) -> None:
        """Wait until the document has these words."""
        self.editor.until(lambda: words in self.text(), f"{words!r} in the document")

    def goes_to(self, words: str, behind: bool = False) -> None:
        """Put the cursor before or behind words that are there once; they may not have been told yet."""
        self.editor.until(lambda: self.text().count(words) == 1, f"{words!r} once in the document")
        text = self.text()
        at = text.index(words) + (len(words) if behind else 0)
        self.editor.goto(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))

    def writes(self, text: str) -> None:
        """Type at the end of the document, a word at a time."""
        self.editor.goto_end()
        if self.editor.ends_with_a_line and self.text().endswith("-->\n\n"):
            self.editor.type("\n")
        for word in re.findall(r"\S+\s*", text):
            self.editor.type(word)
        self.sees(text)

    def takes(self, title: str, words: str) -> None:
        """Take a code action where these words are."""
        self.goes_to(words)
        self.editor.code_action(title)


@pytest.fixture
def provider() -> Iterator[OpenAiServer]:
    replies = [
        Reply.tool_call("python", GREETS, text="I ask who you are."),
        Reply.text(GREETED, size=5, pause=0.01),
        Reply.tool_call("python", LOOPS),
        Reply.held("One.\n\nTwo.\n\n", "Three.\n"),
        Reply.text("Good bye."),
    ]
    with OpenAiServer(replies) as server:
        yield server


def settings(provider: OpenAiServer) -> dict[str, str]:
    """The environment that names the model."""
    return {
        "OI_LLM_MODEL": "openai/gpt-4o",
        "OI_LLM_API_BASE": provider.base_url,
        "OI_LLM_API_KEY": "sk-test",
        "OI_COMPUTER_PYTHON": sys.executable,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        # What a run changed on disk is a note in the document, unless the folder was not read in time.
        "OI_CHANGES_FOLLOW": "false",
    }


def shape(text: str) -> str:
    """The document with its nonce made known."""
    nonce = re.search(r"oi: 1 (\w+)", text)
    assert nonce is not None
    return text.replace(nonce[1], "N")


@pytest.mark.parametrize("editor", [*STREAMING, EglotBuffered], ids=name_of, indirect=True)
def test_a_conversation(editor: Editor, workspace: Path, provider: OpenAiServer) -> None:
    file = workspace / "talk.oi.md"
    buffers = isinstance(editor, EglotBuffered)
    editor.start(file, env=settings(provider))
    person = Person(editor, file)
    person.sees("## You")
    person.writes("Greet me, wörld 𝄞.")
    person.takes("Send", "Greet me")
    person.sees("print('hello', name)\n```\n")
    person.goes_to("print('hi", behind=True)
    editor.type("ho")
    person.sees("print('hiho')")
    editor.look("a block waits")
    person.takes("Run", "print('hiho')")
    person.sees("```input oi=i2\n")
    editor.look("the program asks")
    person.goes_to("```input oi=i2\n", behind=True)
    editor.type("Ada Ünal")
    person.takes("Answer", "Ada Ünal")
    person.sees("You are greeted.")
    person.writes("And now wait for ever, with words that are typed while the answer comes.")
    editor.look("an answer streams in")
    person.sees("Line 24 of a long answer.\n\n<!-- oi")
    person.takes("Send", "And now wait")
    person.sees("time.sleep(600)\n```\n")
    person.takes("Run", "time.sleep(600)")
    editor.until((workspace / "begun").exists, "the program to run")
    if not buffers:
        person.sees("```output oi=c3\nbegun\n```")
    person.takes("Stop", "time.sleep(600)")
    person.sees("The person stopped this turn.\n```\n")
    editor.look("stopped")
    saved = editor.save(file)
    assert shape(saved) == WHOLE
    person.writes("Tell me.")
    person.takes("Send", "Tell me.")
    if buffers:
        provider.release()
    person.sees("Two.")
    editor.undo()
    if not buffers:
        # Not on the screen: Helix clears its line when the progress of the turn ends. The document says it too.
        editor.until_said("server", lambda message: "You undid" in str(message.get("params", {}).get("message")))
        editor.until(lambda: provider.departures, "the provider to be left")
    editor.until(lambda: "Two." not in person.text(), "the undo")
    editor.look("undone")
    person.writes("Go on.")
    person.takes("Send", "Go on.")
    person.sees("Good bye.\n\n<!--")
    told = json.dumps(provider.requests[-1].json["messages"])
    assert "Go on." in told
    assert "Two." not in told
    saved = editor.save(file)
    assert shape(saved).startswith(WHOLE.rstrip("\n")), "what was there before is untouched"
    assert (UNDONE in saved) == (UNDONE in told)
    assert saved.count("Greet me") == 1
    assert not parse(saved).problems
