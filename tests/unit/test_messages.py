"""LMC messages and chunks: the documented form, and clear words for what is not of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from oi_engine.errors import InvalidMessage
from oi_engine.messages import chunk_from_dict, message_from_dict, new_id

DOCUMENTED_CHUNKS: list[dict[str, Any]] = [
    {"role": "assistant", "type": "code", "format": "python", "start": True},
    {"role": "assistant", "type": "code", "format": "python", "content": "34"},
    {"role": "assistant", "type": "code", "format": "python", "end": True},
    {
        "role": "computer",
        "type": "confirmation",
        "format": "execution",
        "content": {"type": "code", "format": "python", "content": "34 / 24"},
    },
    {"role": "computer", "type": "console", "start": True},
    {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
    {"role": "computer", "type": "console", "format": "output", "content": "1.4166666666666667\n"},
    {"role": "computer", "type": "console", "format": "active_line", "content": None},
    {"role": "computer", "type": "console", "end": True},
    {"role": "assistant", "type": "message", "content": " approximately"},
    {"role": "server", "type": "status", "content": "complete"},
    {"role": "server", "type": "error", "content": "Error traceback information"},
    {"role": "user", "type": "command", "content": "stop"},
]

DOCUMENTED_MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "type": "message", "content": "What's 2380*3875?"},
    {"role": "assistant", "type": "code", "format": "python", "content": "2380*3875"},
    {"role": "computer", "type": "console", "format": "output", "content": "9222500"},
    {"role": "user", "type": "image", "format": "path", "content": "path/to/image.png"},
    {"role": "user", "type": "file", "content": "/path/to/file.pdf"},
    {"role": "computer", "type": "image", "format": "base64.png", "content": "base64"},
    {"role": "computer", "type": "code", "format": "html", "content": "<html>Plot in HTML format</html>"},
    {"role": "user", "type": "audio", "format": "wav", "content": "path/to/audio.wav"},
    {"role": "assistant", "type": "review", "content": "<SAFE>"},
]


@pytest.mark.parametrize("documented", DOCUMENTED_CHUNKS, ids=str)
def test_documented_chunks_pass_unchanged(documented: dict[str, Any]) -> None:
    assert chunk_from_dict(documented).to_dict() == documented


@pytest.mark.parametrize("documented", DOCUMENTED_MESSAGES, ids=str)
def test_documented_messages_pass_unchanged_but_for_what_is_added(documented: dict[str, Any]) -> None:
    found = message_from_dict(documented).to_dict()
    assert found.pop("id")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", found.pop("created_at"))
    assert found == documented


def test_every_type_that_the_reference_lists_is_known() -> None:
    reference = Path(__file__).parents[3] / "shared/reference/docs/protocols/lmc-messages.mdx"
    if not reference.exists():
        pytest.skip("the reference documentation is not beside this checkout")
    table = reference.read_text(encoding="utf-8").split("Possible Message Types")[1]
    listed = re.findall(r"^([a-z]+)\|([a-z0-9_.]+|None)\|", table, re.MULTILINE)
    assert len(listed) > 10
    for kind, form in listed:
        message = message_from_dict({"role": "user", "type": kind, "format": form, "content": "x"})
        assert (message.type, message.format) == (kind, form)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (None, "message must be an object"),
        ([], "message must be an object"),
        ({}, "message.role"),
        ({"role": "robot", "content": "x"}, "message.role"),
        ({"role": "user", "type": 3, "content": "x"}, "message.type"),
        ({"role": "user", "type": "x" * 500, "content": "x"}, "message.type"),
        ({"role": "user", "content": 3}, "message.content"),
        ({"role": "user", "content": None}, "message.content"),
        ({"role": "user", "content": "x", "format": []}, "message.format"),
        ({"role": "user", "content": "x", "recipient": "moon"}, "message.recipient"),
        ({"role": "user", "content": "x", "id": 7}, "message.id"),
    ],
)
def test_what_is_not_of_the_form_is_named(data: object, word: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        message_from_dict(data)
    assert word in caught.value.message
    assert len(caught.value.message) < 300


def test_ids_differ() -> None:
    assert len({new_id("m") for _ in range(1000)}) == 1000
