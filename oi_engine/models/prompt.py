"""The request that continues a conversation: the system message, the conversation, and what the settings say."""

from __future__ import annotations

import getpass
import platform
from collections.abc import Iterable, Iterator, Sequence

from oi_engine.messages import Message
from oi_engine.models.images import load
from oi_engine.models.model import ModelInfo, ModelRequest
from oi_engine.models.units import Style, Unit, Writer, Written, joined, segment
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
    """The request that continues a whole conversation. What the settings leave open is taken from ``info``."""
    style = Style.of(settings, info)
    units = list(segment(messages, Writer(style, lambda message: load(message, cwd))))
    written = written_of(units, settings)
    return request_of(written, settings, style, cwd=cwd, languages=languages)


def written_of(units: Sequence[Unit], settings: Settings) -> Iterator[Written]:
    """The messages of the units; the last request is put into the template of the settings."""
    asked = next((unit for unit in reversed(units) if unit.asks), None)
    for unit in units:
        yield from unit.within(settings.user_message_template) if unit is asked else unit.written


def request_of(
    written: Iterable[Written], settings: Settings, style: Style, *, cwd: str, languages: tuple[str, ...]
) -> ModelRequest:
    """The request with these messages after the system message."""
    llm = settings.llm
    system = system_message(settings, tools=style.tools, cwd=cwd, languages=languages)
    return ModelRequest(
        model=llm.model,
        messages=[{"role": "system", "content": system}, *joined(written)],
        tools=style.tools,
        languages=languages,
        temperature=llm.temperature,
        max_tokens=llm.max_tokens,
        api_base=llm.api_base,
        api_key=llm.api_key,
        api_version=llm.api_version,
        context_window=llm.context_window,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
