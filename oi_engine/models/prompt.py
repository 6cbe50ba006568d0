"""The prompt: a conversation's messages in the provider's format (OpenAI's chat completions).

A reply of the model is a run of assistant messages; what answers its code (output, notes, the person's edit) carries
the code message's id as ``parent``. With tools a reply becomes one message with ``tool_calls`` and one ``tool``
message for each; without, fenced blocks and a message of output for each, worded by the templates of the settings.
"""

from __future__ import annotations

import getpass
import json
import platform
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from attrs import define, field

from oi_engine.messages import Message
from oi_engine.models.model import ModelInfo, ModelRequest
from oi_engine.models.truncate import truncate_for_model
from oi_engine.settings import Settings
from oi_engine.settings.tree import SYSTEM_MESSAGE


def system_message(settings: Settings, *, tools: bool, cwd: str, languages: Sequence[str]) -> str:
    """The system message: the built-in one or the person's, the machine's facts, and their own instructions."""
    parts = [settings.system_message or SYSTEM_MESSAGE]
    parts.append(
        f"Operating system: {platform.system()} {platform.release()}. User: {_user()}. Working directory: {cwd}. "
        f"Languages: {', '.join(languages)}."
    )
    if settings.custom_instructions:
        parts.append(settings.custom_instructions)
    if not tools and isinstance(settings.llm.execution_instructions, str):
        parts.append(settings.llm.execution_instructions)
    return "\n\n".join(part for part in parts if part)


def build_request(
    messages: Sequence[Message],
    settings: Settings,
    info: ModelInfo,
    *,
    cwd: str,
    languages: tuple[str, ...],
) -> ModelRequest:
    """The request that continues a conversation. What the settings leave open is taken from ``info``."""
    llm = settings.llm
    tools = bool(info.supports_functions) if llm.supports_functions is None else llm.supports_functions
    vision = bool(info.supports_vision) if llm.supports_vision is None else llm.supports_vision
    system = system_message(settings, tools=tools, cwd=cwd, languages=languages)
    writer = _Writer(settings, tools=tools, vision=vision)
    return ModelRequest(
        model=llm.model,
        messages=[{"role": "system", "content": system}, *writer.conversation(messages)],
        tools=tools,
        languages=languages,
        temperature=llm.temperature,
        max_tokens=llm.max_tokens,
        api_base=llm.api_base,
        api_key=llm.api_key,
        api_version=llm.api_version,
    )


def fenced(language: str, code: str) -> str:
    """Code as a Markdown block, its fence longer than any run of backticks inside."""
    longest = max((len(list(run)) for mark, run in groupby(code) if mark == "`"), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.rstrip(chr(10))}\n{fence}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


@define
class _Writer:
    """Writes provider messages from LMC messages, in one pass."""

    _settings: Settings
    tools: bool
    vision: bool
    _out: list[dict[str, Any]] = field(factory=list, init=False)

    def conversation(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        at = 0
        last_request = _last_request(messages)
        while at < len(messages):
            message = messages[at]
            if message.role == "assistant":
                reply, answers, at = _reply_at(messages, at)
                self._reply(reply, answers)
            elif message.role == "user" and message.type == "code":
                outputs, after = _answers_at(messages, at + 1, {message.id})
                self._own_code(message, outputs)
                at = after
            else:
                if message.recipient != "user":
                    self._said(message, last=at == last_request)
                at += 1
        return self._out

    def _said(self, message: Message, *, last: bool) -> None:
        """What the person said or attached, or a note that answers no code."""
        if message.type == "image":
            self._image(message)
        elif message.type == "file":
            self._add_user(f"Attached file: {message.text}")
        elif message.role == "user":
            template = self._settings.user_message_template
            if last or self._settings.always_apply_user_message_template:
                self._add_user(template.replace("{content}", message.text))
            else:
                self._add_user(message.text)
        else:
            self._add_user(message.text)

    def _own_code(self, code: Message, outputs: list[Message]) -> None:
        shown = self._output(outputs) or "(no output)"
        self._add_user(f"I ran this code myself:\n\n{fenced(code.format or '', code.text)}\n\nOutput:\n{shown}")
        self._images(outputs)

    def _reply(self, reply: list[Message], answers: dict[str, list[Message]]) -> None:
        if self.tools:
            self._reply_with_tools(reply, answers)
        else:
            self._reply_with_fences(reply, answers)
        for outputs in answers.values():
            self._images(outputs)

    def _reply_with_tools(self, reply: list[Message], answers: dict[str, list[Message]]) -> None:
        prose = "\n\n".join(message.text for message in reply if message.type == "message")
        codes = [message for message in reply if message.type == "code"]
        written: dict[str, Any] = {"role": "assistant", "content": prose}
        if codes:
            written["tool_calls"] = [_tool_call(code, _edit(answers.get(code.id, []))) for code in codes]
        self._out.append(written)
        for code in codes:
            outputs = answers.get(code.id, [])
            self._out.append(
                {"role": "tool", "tool_call_id": _call_id(code), "content": self._told(outputs, template=False)}
            )

    def _reply_with_fences(self, reply: list[Message], answers: dict[str, list[Message]]) -> None:
        parts = []
        for message in reply:
            if message.type == "message":
                parts.append(message.text)
            elif message.type == "code":
                edit = _edit(answers.get(message.id, []))
                parts.append(fenced(message.format or "", (edit or message).text))
        self._out.append({"role": "assistant", "content": "\n\n".join(parts)})
        for message in reply:
            if message.type == "code":
                told = self._told(answers.get(message.id, []), template=True)
                self._out.append({"role": self._settings.code_output_sender, "content": told})

    def _told(self, outputs: list[Message], *, template: bool) -> str:
        """What the model is told of a block: whether it was edited, what it printed, how it ended."""
        if not outputs:
            return "This code was not run."
        edited = "The person edited the code before it ran; it stands above as it ran.\n\n" if _edit(outputs) else ""
        shown = self._output(outputs)
        ran = any(message.type in ("console", "image") for message in outputs)
        if not shown:
            return edited + self._settings.empty_code_output_template
        if template and ran:
            return edited + self._settings.code_output_template.replace("{content}", shown)
        return edited + shown

    def _output(self, outputs: list[Message]) -> str:
        """All that a block left, in words, within ``llm.max_output`` characters."""
        printed = "".join(message.text for message in outputs if message.type == "console")
        parts = [truncate_for_model(printed, self._settings.llm.max_output)] if printed else []
        for message in outputs:
            if message.type == "message" and message.recipient != "user":
                parts.append(message.text)
            elif message.type == "image":
                parts.append("(An image was shown to the person.)")
            elif message.type == "code" and message.role == "computer":
                parts.append(f"(Output as {message.format} was shown to the person.)")
        return "\n".join(part.rstrip("\n") for part in parts)

    def _images(self, outputs: list[Message]) -> None:
        if self.vision:
            for message in outputs:
                if message.type == "image":
                    self._image(message)

    def _image(self, message: Message) -> None:
        if not self.vision:
            self._add_user("(An image was attached, which this model cannot see.)")
        elif message.format == "path":
            self._add_user(f"Attached image: {message.text}")
        else:
            kind = "jpeg" if message.format == "base64.jpeg" else "png"
            url = f"data:image/{kind};base64,{message.text}"
            self._out.append({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})

    def _add_user(self, text: str) -> None:
        """Add to what the person says: providers want one message of theirs between two replies."""
        last = self._out[-1] if self._out else None
        if last is not None and last["role"] == "user" and isinstance(last["content"], str):
            last["content"] = f"{last['content']}\n\n{text}"
        else:
            self._out.append({"role": "user", "content": text})


def _last_request(messages: Sequence[Message]) -> int:
    backwards = range(len(messages) - 1, -1, -1)
    return next((at for at in backwards if messages[at].role == "user" and messages[at].type == "message"), -1)


def _reply_at(messages: Sequence[Message], at: int) -> tuple[list[Message], dict[str, list[Message]], int]:
    """The reply that begins here, what answers each of its code messages, and where the next thing begins."""
    reply = []
    while at < len(messages) and messages[at].role == "assistant":
        reply.append(messages[at])
        at += 1
    codes = [message.id for message in reply if message.type == "code"]
    outputs, after = _answers_at(messages, at, set(codes))
    answers: dict[str, list[Message]] = {}
    for message in outputs:
        # Messages from elsewhere name no parent: they answer the last block.
        parent = message.parent or codes[-1]
        answers.setdefault(parent, []).append(message)
    return reply, answers, after


def _answers_at(messages: Sequence[Message], at: int, codes: set[str]) -> tuple[list[Message], int]:
    """The messages from here on that answer one of ``codes``, and where they end."""
    answers = []
    while at < len(messages) and _answers(messages[at], codes):
        answers.append(messages[at])
        at += 1
    return answers, at


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
