"""A conversation as Markdown: headings for who speaks, fenced blocks for code and output, images within the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from oi_engine.history.export.harmless import is_harmless_markdown
from oi_engine.history.export.steps import Run, Said, steps
from oi_engine.messages import Message

_SPEAKERS = {"user": "You", "assistant": "Assistant", "computer": "Computer", "server": "Server"}
_RUNS = re.compile("`+")
_NO_LANGUAGE = re.compile(r"[^\w+#.-]")
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/=]")


def to_markdown(messages: Iterable[Message], title: str = "") -> str:
    """The conversation, under ``title``. The person's and the model's own Markdown is left as it is, if harmless."""
    parts = [headline(title)] if title.strip() else []
    speaker = ""
    for step in steps(messages):
        message = step.placed.message if isinstance(step, Said) else step.code.message
        # What a block leaves stands below it; so does a word of the computer's.
        if message.role != speaker and (message.role != "computer" or not speaker):
            speaker = message.role
            parts.append(f"## {_SPEAKERS[speaker]}")
        parts.extend(shown(message) if isinstance(step, Said) else _run(step))
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(title: str) -> str:
    """The title as a heading."""
    words = " ".join(title.split())
    return f"# {words if is_harmless_markdown(words) else _inline(words)}"


def prose(text: str) -> str:
    """Somebody's Markdown; as text where rendering it would run or load something."""
    return text if is_harmless_markdown(text) else fence("markdown", text)


def fence(language: str, text: str) -> str:
    """A fenced block that nothing within can end: its fence is longer than any run of backticks inside."""
    language = _NO_LANGUAGE.sub("", language)
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{mark}"


def shown(message: Message) -> Iterator[str]:
    """One message, without who says it."""
    text = message.text if isinstance(message.content, str) else json.dumps(message.content, ensure_ascii=False)
    if message.type == "image":
        yield f"![image]({_image_address(message)})"
    elif message.type in ("file", "audio"):
        yield f"{message.type.capitalize()}: {_inline(text if len(text) < 1000 else '(data)')}"
    elif message.type == "console":
        if text:
            yield fence("text", text)
    elif message.type == "code":
        yield fence(message.format or "", text)
    elif message.type == "reasoning" or (message.type == "message" and message.role == "computer"):
        yield "\n".join(f"> {line}".rstrip() for line in prose(text).splitlines())
    else:
        yield prose(text)


def _run(run: Run) -> Iterator[str]:
    if run.edit is not None:
        yield fence(run.language, run.code.message.text)
        yield "Edited before it ran:"
    yield fence(run.language, run.final.text)
    if not run.ran:
        yield "*This code was not run.*"
    elif run.printed:
        yield "Output:"
    for placed in run.answers:
        yield from shown(placed.message)


def _image_address(message: Message) -> str:
    if message.format == "path":
        # Two slashes at the beginning would be another machine's.
        return re.sub("^//+", "/", quote(message.text))
    kind = "jpeg" if message.format == "base64.jpeg" else "png"
    return f"data:image/{kind};base64,{_NO_BASE64.sub('', message.text)}"


def _inline(text: str) -> str:
    mark = "`" * (max((len(run) for run in _RUNS.findall(text)), default=0) + 1)
    return f"{mark} {text} {mark}" if "`" in text else f"`{text}`"
