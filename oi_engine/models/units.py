"""A conversation as units that are never torn, and each as providers want it (OpenAI's chat completions).

A reply of the model is a run of assistant messages; what answers its code (output, notes, the person's edit) carries
the code message's id as ``parent``. With tools a reply becomes one message with ``tool_calls`` and one ``tool``
message for each; without, fenced blocks and a message of output for each, worded by the templates of the settings.
Reasoning is for the person: no model is sent it back.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attrs import define, field, frozen

from oi_engine.messages import Message
from oi_engine.models.images import Picture
from oi_engine.models.model import ModelInfo
from oi_engine.models.tokens import IMAGE_TOKENS, MESSAGE_TOKENS, estimate, images_in, text_of
from oi_engine.models.truncate import truncate_for_model
from oi_engine.settings import Settings

MAX_IMAGES = 20
"""Of more images in a prompt only the newest are sent: beyond so many, providers take smaller ones only."""

Written = dict[str, Any]
"""One message as a provider takes it."""

Pictures = Callable[[Message], Picture | str]
"""The image of a message, or why there is none."""


@frozen
class Style:
    """What the wording of a unit depends on."""

    tools: bool
    vision: bool
    emit_images: bool
    max_output: int
    always_template: str
    code_output_template: str
    empty_code_output_template: str
    code_output_sender: str

    @classmethod
    def of(cls, settings: Settings, info: ModelInfo) -> Style:
        """As the settings say, and where they are silent, as the model can."""
        llm = settings.llm
        vision = bool(info.supports_vision) if llm.supports_vision is None else llm.supports_vision
        emit = settings.computer.emit_images
        return cls(
            tools=bool(info.supports_functions) if llm.supports_functions is None else llm.supports_functions,
            vision=vision,
            emit_images=vision and emit is not False,
            max_output=llm.max_output,
            always_template=settings.user_message_template if settings.always_apply_user_message_template else "",
            code_output_template=settings.code_output_template,
            empty_code_output_template=settings.empty_code_output_template,
            code_output_sender=settings.code_output_sender,
        )


@define(eq=False)
class Unit:
    """Messages of the conversation, from ``start`` on, which go to the model together or not at all.

    It is written, and its tokens are estimated, when that is first wanted; ``tokens`` are known once they were counted.
    """

    start: int
    messages: tuple[Message, ...]
    writer: Writer
    tokens: int | None = None
    _written: list[Written] | None = field(default=None, init=False, repr=False)
    _estimate: int | None = field(default=None, init=False, repr=False)

    @property
    def stop(self) -> int:
        """The position after its last message."""
        return self.start + len(self.messages)

    @property
    def asks(self) -> bool:
        """Whether the person says something here."""
        return self.messages[0].role == "user" and self.messages[0].type == "message"

    @property
    def written(self) -> list[Written]:
        """As the provider takes it. Not to be changed."""
        if self._written is None:
            self._written = self.writer.unit(self.messages)
        return self._written

    def within(self, template: str) -> list[Written]:
        """As the provider takes it, what the person said put into ``template``."""
        return self.writer.said(self.messages[0], template) if self.asks else self.written

    @property
    def text(self) -> str:
        """Everything in it that is text."""
        return text_of(self.written)

    @property
    def extra(self) -> int:
        """Tokens beside the text's."""
        return MESSAGE_TOKENS * len(self.written) + IMAGE_TOKENS * images_in(self.written)

    @property
    def estimate(self) -> int:
        """A cheap estimate of its tokens."""
        if self._estimate is None:
            self._estimate = estimate(self.text) + self.extra
        return self._estimate


def segment(messages: Sequence[Message], writer: Writer, start: int = 0) -> Iterator[Unit]:
    """The units from ``start`` on, where one must begin. What is for the person alone is in none."""
    at = start
    while at < len(messages):
        message = messages[at]
        if message.role == "assistant":
            after = _end_of_reply(messages, at)
        elif message.role == "user" and message.type == "code":
            after = _end_of_answers(messages, at + 1, {message.id})
        else:
            after = at + 1
        if message.role == "assistant" or message.recipient != "user":
            yield Unit(at, tuple(messages[at:after]), writer)
        at = after


def join(out: list[Written], parts: Iterable[Written]) -> None:
    """Add messages, neighbours of the person's made one as providers want it. What is in the list is not changed."""
    last = out[-1] if out else None
    for part in parts:
        if last is not None and last["role"] == part["role"] == "user":
            last = out[-1] = {"role": "user", "content": _both(last["content"], part["content"])}
        else:
            last = part
            out.append(part)


def fenced(language: str, code: str) -> str:
    """Code as a Markdown block, its fence longer than any run of backticks inside."""
    longest = max((len(list(run)) for mark, run in itertools.groupby(code) if mark == "`"), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.rstrip(chr(10))}\n{fence}"


@frozen
class Writer:
    """Writes units."""

    _style: Style
    _pictures: Pictures

    def unit(self, messages: Sequence[Message]) -> list[Written]:
        """One unit."""
        first, rest = messages[0], messages[1:]
        if first.role == "assistant":
            return self._reply(messages)
        if first.role == "user" and first.type == "code":
            return self._own_code(first, rest)
        return self.said(first, self._style.always_template)

    def said(self, message: Message, template: str = "") -> list[Written]:
        """What the person said (put into the template, where there is one) or attached, or a note on no code."""
        if message.type == "image":
            return [self._image(message)] if self._shown(message) else [_user("(An image was shown.)")]
        if message.type == "file":
            return [_user(f"Attached file: {message.text}")]
        if message.role == "user" and template:
            return [_user(template.replace("{content}", message.text))]
        return [_user(message.text)]

    def _own_code(self, code: Message, outputs: Sequence[Message]) -> list[Written]:
        shown = self._output(outputs) or "(no output)"
        text = f"I ran this code myself:\n\n{fenced(code.format or '', code.text)}\n\nOutput:\n{shown}"
        return [_user(text), *self._images(outputs)]

    def _reply(self, messages: Sequence[Message]) -> list[Written]:
        reply, answers = _paired(messages)
        written = self._with_tools(reply, answers) if self._style.tools else self._with_fences(reply, answers)
        return [*written, *(image for outputs in answers.values() for image in self._images(outputs))]

    def _with_tools(self, reply: Sequence[Message], answers: dict[str, list[Message]]) -> Iterator[Written]:
        prose = "\n\n".join(message.text for message in reply if message.type == "message")
        codes = [message for message in reply if message.type == "code"]
        if not prose and not codes:
            return  # it only thought, and was stopped
        written: Written = {"role": "assistant", "content": prose}
        if codes:
            written["tool_calls"] = [_tool_call(code, _edit(answers.get(code.id, []))) for code in codes]
        yield written
        for code in codes:
            told = self._told(answers.get(code.id, []), template=False)
            yield {"role": "tool", "tool_call_id": _call_id(code), "content": told}

    def _with_fences(self, reply: Sequence[Message], answers: dict[str, list[Message]]) -> Iterator[Written]:
        parts = []
        for message in reply:
            if message.type == "message":
                parts.append(message.text)
            elif message.type == "code":
                edit = _edit(answers.get(message.id, []))
                parts.append(fenced(message.format or "", (edit or message).text))
        if parts:
            yield {"role": "assistant", "content": "\n\n".join(parts)}
        for message in reply:
            if message.type == "code":
                told = self._told(answers.get(message.id, []), template=True)
                yield {"role": self._style.code_output_sender, "content": told}

    def _told(self, outputs: Sequence[Message], *, template: bool) -> str:
        """What the model is told of a block: whether it was edited, what it printed, how it ended."""
        if not outputs:
            return "This code was not run."
        edited = "The person edited the code before it ran; it stands above as it ran.\n\n" if _edit(outputs) else ""
        shown = self._output(outputs)
        ran = any(message.type in ("console", "image") for message in outputs)
        if not shown:
            return edited + self._style.empty_code_output_template
        if template and ran:
            return edited + self._style.code_output_template.replace("{content}", shown)
        return edited + shown

    def _output(self, outputs: Sequence[Message]) -> str:
        """All that a block left, in words, within ``llm.max_output`` characters."""
        printed = "".join(message.text for message in outputs if message.type == "console")
        parts = [truncate_for_model(printed, self._style.max_output)] if printed else []
        for message in outputs:
            if message.type == "message" and message.recipient != "user":
                parts.append(message.text)
            elif message.type == "image":
                parts.append("(An image was shown to the person.)")
            elif message.type == "code" and message.role == "computer":
                parts.append(f"(Output as {message.format} was shown to the person.)")
        return "\n".join(part.rstrip("\n") for part in parts)

    def _images(self, outputs: Sequence[Message]) -> list[Written]:
        return [self._image(message) for message in outputs if message.type == "image" and self._shown(message)]

    def _shown(self, message: Message) -> bool:
        """Whether the model is told of this image: of the person's always, of the computer's where it is to see it."""
        return message.role == "user" or self._style.emit_images

    def _image(self, message: Message) -> Written:
        if not self._style.vision:
            return _user("(An image was attached, which this model cannot see.)")
        picture = self._pictures(message)
        if isinstance(picture, str):
            return _user(f"({picture})")
        image = {"type": "image_url", "image_url": {"url": picture.url}}
        named = [{"type": "text", "text": f"Attached image: {message.text}"}] if message.format == "path" else []
        return {"role": "user", "content": [*named, image]}


def _user(text: str) -> Written:
    return {"role": "user", "content": text}


def _both(first: Any, second: Any) -> Any:
    """Two contents as one: text stays text, else both are lists of parts."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def newest_images(messages: list[Written], count: int) -> list[Written]:
    """The messages, which hold ``count`` images, with words in place of all but the newest of them."""
    surplus = max(0, count - MAX_IMAGES)
    if not surplus:
        return messages
    numbers = itertools.count()

    def kept(part: dict[str, Any]) -> dict[str, Any]:
        old = part["type"] == "image_url" and next(numbers) < surplus
        return {"type": "text", "text": "(An older image was left out.)"} if old else part

    return [
        {**message, "content": [kept(part) for part in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def _end_of_reply(messages: Sequence[Message], at: int) -> int:
    codes = set()
    while at < len(messages) and messages[at].role == "assistant":
        if messages[at].type == "code":
            codes.add(messages[at].id)
        at += 1
    return _end_of_answers(messages, at, codes)


def _end_of_answers(messages: Sequence[Message], at: int, codes: set[str]) -> int:
    while at < len(messages) and _answers(messages[at], codes):
        at += 1
    return at


def _paired(messages: Sequence[Message]) -> tuple[list[Message], dict[str, list[Message]]]:
    """The reply's own messages, and what answers each of its code messages. Reviews of code are neither."""
    reply = [message for message in messages if message.role == "assistant" and message.type != "review"]
    codes = [message.id for message in reply if message.type == "code"]
    answers: dict[str, list[Message]] = {}
    for message in messages:
        if message.role == "assistant":
            continue
        # Messages from elsewhere name no parent: they answer the last block.
        answers.setdefault(message.parent or codes[-1], []).append(message)
    return reply, answers


def _answers(message: Message, codes: set[str]) -> bool:
    if message.parent is not None:
        return message.parent in codes
    return bool(codes) and message.role == "computer" and message.type != "message"


def _edit(outputs: Sequence[Message]) -> Message | None:
    """The person's edit of a block, if there is one."""
    edits: Iterator[Message] = (message for message in outputs if message.role == "user" and message.type == "code")
    return next(edits, None)


def _call_id(code: Message) -> str:
    return f"call_{code.id}"


def _tool_call(code: Message, edit: Message | None) -> dict[str, Any]:
    arguments = {"language": code.format or "", "code": (edit or code).text}
    return {
        "id": _call_id(code),
        "type": "function",
        "function": {"name": "execute", "arguments": json.dumps(arguments, ensure_ascii=False)},
    }
