"""Exports and what reads them back."""

from __future__ import annotations

import ast
import json
import string
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oi_engine.errors import InvalidMessage
from oi_engine.history.export import to_json, to_markdown, to_notebook, to_scripts
from oi_engine.history.export.markdown import fence
from oi_engine.history.export.steps import Run, failure, steps
from oi_engine.history.importing import messages_from_dicts, read_messages
from oi_engine.messages import Message

AT = "2024-05-06T07:08:09.123+00:00"
TRACEBACK = (
    "2\n"
    "---------------------------------------------------------------------------\n"
    "ZeroDivisionError                         Traceback (most recent call last)\n"
    "Cell In[1], line 2\n"
    "----> 2 1/0\n"
    "\n"
    "ZeroDivisionError: division by zero\n"
)


def message(role: Any, kind: Any, content: str, form: str | None = None, **more: Any) -> Message:
    return Message(
        role, kind, content, form, **{"id": f"m-{abs(hash((role, kind, content)))}", "created_at": AT, **more}
    )


def conversation() -> list[Message]:
    """Two blocks in one reply: the first edited and failed, the second declined; then shell, and an image."""
    return [
        message("user", "message", "Divide."),
        message("assistant", "message", "I try *that*."),
        message("assistant", "code", "1/1", "python", id="first"),
        message("assistant", "code", "rm -rf ~", "shell", id="second"),
        message("user", "code", "print(2)\n1/0", "python", id="edit", parent="first"),
        message("computer", "console", TRACEBACK, "output", id="out", parent="first"),
        message("computer", "image", "aGVsbG8=", "base64.png", id="image", parent="first"),
        message("computer", "console", "after\n", "output", id="out2", parent="first"),
        message("computer", "message", "The person declined to run this code.", id="note", parent="second"),
        message("assistant", "code", "echo '```'", "shell", id="third"),
        message("computer", "console", "```\n", "output", id="out3", parent="third"),
        message("computer", "code", "<b>bold</b>", "html", id="html", parent="third"),
        message("assistant", "message", "Done."),
    ]


texts = st.text(max_size=30) | st.sampled_from(["", "#### You\n\nx", "%%bash --no-raise-error\n", "```\n", TRACEBACK])
ids = st.text(string.ascii_letters + string.digits, min_size=1, max_size=3)
kinds = st.sampled_from(
    [
        ("user", "message", None),
        ("assistant", "message", None),
        ("assistant", "reasoning", None),
        ("assistant", "review", None),
        ("assistant", "code", "python"),
        ("assistant", "code", "shell"),
        ("assistant", "code", "cobol"),
        ("user", "code", "javascript"),
        ("user", "file", None),
        ("user", "image", "path"),
        ("user", "image", "base64.jpeg"),
        ("user", "audio", "wav"),
        ("computer", "message", None),
        ("computer", "console", "output"),
        ("computer", "image", "base64.png"),
        ("computer", "image", "path"),
        ("computer", "code", "html"),
    ]
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Messages of every kind, each of which may name one before it (or none at all) as its parent."""
    found: list[Message] = []
    for _ in range(draw(st.integers(0, 8))):
        role, kind, form = draw(kinds)
        parents = [other.id for other in found] + ["nobody"]
        found.append(
            message(
                role,
                kind,
                draw(texts),
                form,
                id=f"{draw(ids)}-{len(found)}",
                recipient=draw(st.sampled_from([None, "user", "assistant"])),
                parent=draw(st.none() | st.sampled_from(parents)),
            )
        )
    return found


@given(conversations())
def test_json_is_read_back_as_it_was(messages: list[Message]) -> None:
    assert read_messages(to_json(messages)) == messages
    assert json.loads(to_json(messages)) == [message.to_dict() for message in messages]


@settings(deadline=None, max_examples=40)
@given(conversations(), st.text(max_size=10))
def test_a_notebook_is_valid_and_is_read_back_as_it_was(messages: list[Message], title: str) -> None:
    text = to_notebook(messages, title)
    nbformat.validate(json.loads(text))
    assert read_messages(text) == messages
    written_by_jupyter = nbformat.writes(nbformat.reads(text, as_version=4))
    assert read_messages(written_by_jupyter) == messages


@given(conversations())
def test_every_message_is_in_one_step(messages: list[Message]) -> None:
    found: list[int] = []
    for step in steps(messages):
        if isinstance(step, Run):
            edits = [] if step.edit is None else [step.edit]
            found.extend(placed.at for placed in [step.code, *edits, *step.outputs, *step.notes])
        else:
            found.append(step.placed.at)
    assert sorted(found) == list(range(len(messages)))


@given(conversations())
def test_markdown_holds_every_word(messages: list[Message]) -> None:
    written = to_markdown(messages, "A\ntitle")
    assert written.startswith("# A title\n")
    for said in messages:
        if said.type == "message" and said.role != "computer":
            assert said.text in written


@given(st.text("`~ab\n", max_size=40))
def test_nothing_ends_a_fence_from_within(text: str) -> None:
    first, *body, last = fence("x", text).split("\n")
    mark = first.removesuffix("x")
    assert last == mark
    assert set(mark) == {"`"}
    assert all(mark not in line for line in body)
    assert "\n".join(body) == text.removesuffix("\n")


def test_markdown_shows_who_speaks_what_ran_and_what_did_not() -> None:
    written = to_markdown(conversation(), "Dividing")
    assert written.split("\n\n")[:5] == ["# Dividing", "## You", "Divide.", "## Assistant", "I try *that*."]
    assert "```python\n1/1\n```\n\nEdited before it ran:\n\n```python\nprint(2)\n1/0\n```\n\nOutput:" in written
    assert "```shell\nrm -rf ~\n```\n\n*This code was not run.*\n\n> The person declined" in written
    assert "````shell\necho '```'\n````" in written
    assert "![image](data:image/png;base64,aGVsbG8=)" in written
    assert "```html\n<b>bold</b>\n```" in written


def test_a_notebook_runs_what_ran_as_it_was_edited_and_nothing_else() -> None:
    cells = json.loads(to_notebook(conversation()))["cells"]
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in codes] == ["print(2)\n1/0", "%%bash --no-raise-error\necho '```'"]
    assert codes[0]["metadata"]["tags"] == ["raises-exception"]
    stream, error, image, after = codes[0]["outputs"]
    assert stream == {"output_type": "stream", "name": "stdout", "text": "2\n"}
    assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert image["data"]["image/png"] == "aGVsbG8="
    assert after["text"] == "after\n"
    assert codes[1]["outputs"][1]["data"]["text/html"] == "<b>bold</b>"
    declined = next(cell for cell in cells if "rm -rf" in cell["source"])
    assert declined["cell_type"] == "markdown"


def test_what_was_changed_in_jupyter_is_read_back_changed() -> None:
    notebook = json.loads(to_notebook(conversation()))
    cells = notebook["cells"]
    cells[0]["source"] = ["#### You\n", "\n", "Divide again."]
    ran = next(cell for cell in cells if cell["cell_type"] == "code")
    ran["source"] = "print(3)"
    ran["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["3\n"]}]
    cells.append({"cell_type": "markdown", "metadata": {}, "source": "My own words."})
    plot = {"output_type": "display_data", "data": {"image/png": "cGxvdA=="}, "metadata": {}}
    cells.append({"cell_type": "code", "metadata": {}, "source": "plot()", "outputs": [plot]})
    messages = read_messages(json.dumps(notebook))
    assert messages[0].text == "Divide again."
    by_id = {found.id: found for found in messages}
    assert (by_id["edit"].text, by_id["first"].text) == ("print(3)", "1/1")
    assert "image" not in by_id
    assert [found.text for found in messages if found.parent == "first"][-1] == "3\n"
    assert [(found.role, found.type, found.text) for found in messages[-3:]] == [
        ("user", "message", "My own words."),
        ("user", "code", "plot()"),
        ("computer", "image", "cGxvdA=="),
    ]
    assert messages[-1].parent == messages[-2].id


def test_scripts_hold_what_ran_as_it_ran() -> None:
    python, shell = to_scripts(conversation(), "dividing")
    assert (python.name, shell.name) == ("dividing.py", "dividing.sh")
    assert python.text == (
        "#!/usr/bin/env python3\n\n# Block 1 of 2, edited before it ran, ended with an error\nprint(2)\n1/0\n"
    )
    assert shell.text == "#!/usr/bin/env bash\n\n# Block 2 of 2\necho '```'\n"


sources = st.sampled_from(
    [
        "x = 1",
        "!ls\nx = 2",
        "%matplotlib inline",
        "def f(:\n  '''",
        "await f()",
        "from __future__ import annotations\ny = 3",
        "if x:\n    !ls\n",
        "\\",
        "\0",
        "print('''\n%not magic\n''')",
    ]
)


@given(st.lists(sources, max_size=6))
def test_a_python_script_can_be_read_by_python(blocks: list[str]) -> None:
    messages = []
    for number, source in enumerate(blocks):
        messages.append(message("assistant", "code", source, "python", id=f"c{number}"))
        messages.append(message("computer", "console", "", "output", parent=f"c{number}"))
    for script in to_scripts(messages):
        compile(script.text, script.name, "exec")
        plain = [block for block in blocks if block in ("x = 1", "from __future__ import annotations\ny = 3")]
        assert len(ast.parse(script.text).body) >= len(plain)


def test_code_that_ran_is_told_by_its_console_also_without_parents() -> None:
    run, said = steps(
        [
            message("assistant", "code", "1", "python"),
            message("computer", "console", "1\n", "output"),
            message("assistant", "message", "One."),
        ]
    )
    assert isinstance(run, Run)
    assert run.ran
    assert run.printed == "1\n"
    assert not isinstance(said, Run)


@pytest.mark.parametrize(
    ("printed", "name", "words"),
    [
        ('Traceback (most recent call last):\n  File "x", line 1\nOSError: gone\n', "OSError", "gone"),
        (
            "a\n  Cell In[3], line 1\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n",
            "SyntaxError",
            "invalid syntax",
        ),
        (
            "KeyboardInterrupt            Traceback (most recent call last)\n\nKeyboardInterrupt: \n",
            "KeyboardInterrupt",
            "",
        ),
        (
            "JSONDecodeError    Traceback (most recent call last)\n\na.b.JSONDecodeError: no\n",
            "a.b.JSONDecodeError",
            "no",
        ),
        ("MyError      Traceback (most recent call last)\n\nMyError: two\nlines here\n", "MyError", "two"),
    ],
)
def test_how_a_program_failed(printed: str, name: str, words: str) -> None:
    found = failure(printed)
    assert found is not None
    assert (found.name, found.words) == (name, words)


@pytest.mark.parametrize(
    "printed", ["", "all good\n", "Error: not one of Python's\n", "in the Traceback (most recent call last)"]
)
def test_what_is_no_failure(printed: str) -> None:
    assert failure(printed) is None


# --- imports ---------------------------------------------------------------------------------------------------


def test_the_first_documented_form() -> None:
    found = messages_from_dicts(
        [
            {"role": "user", "message": "Hi! Can you print hello world?"},
            {"role": "assistant", "message": "Sure!"},
            {"role": "assistant", "language": "python", "code": "print('Hello, World!')", "output": "Hello, World!"},
            {"role": "assistant", "message": "Both:", "language": "shell", "code": "ls", "output": ""},
        ]
    )
    assert [(item.role, item.type, item.format, item.text) for item in found] == [
        ("user", "message", None, "Hi! Can you print hello world?"),
        ("assistant", "message", None, "Sure!"),
        ("assistant", "code", "python", "print('Hello, World!')"),
        ("computer", "console", "output", "Hello, World!"),
        ("assistant", "message", None, "Both:"),
        ("assistant", "code", "shell", "ls"),
        ("computer", "console", "output", ""),
    ]
    assert found[3].parent == found[2].id
    assert len({item.id for item in found}) == len(found)


def test_the_documented_form_of_now_without_what_is_no_message() -> None:
    found = messages_from_dicts(
        [
            {"role": "user", "type": "message", "content": "Plot it."},
            {"role": "assistant", "type": "code", "format": "python", "content": "plot()"},
            {"role": "computer", "type": "confirmation", "format": "execution", "content": {"code": "plot()"}},
            {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
            {"role": "computer", "type": "console", "content": "done"},
            {"role": "server", "type": "status", "content": "complete"},
        ]
    )
    assert [(item.type, item.format) for item in found] == [
        ("message", None),
        ("code", "python"),
        ("console", "output"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no json", "not JSON"),
        ("{}", "must be a list"),
        ('"text"', "must be a list"),
        ("[1]", "messages[0] must be an object"),
        ('[{"role": "user", "message": "x"}, {"role": "king", "message": "y"}]', "messages[1].role"),
        ('[{"role": "user", "message": 5}]', "messages[0].content"),
        ('{"cells": [3]}', "cells[0] must be an object"),
    ],
)
def test_what_is_no_conversation_is_refused_by_name(text: str, told: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        read_messages(text)
    assert told in str(refused.value)
