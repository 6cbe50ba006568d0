"""The request that continues a conversation: the system message, the conversation, and what the settings say."""

from __future__ import annotations

import getpass
import platform
from collections.abc import Sequence

from attrs import define, field

from oi_engine.models.model import ModelRequest
from oi_engine.models.tokens import images_in
from oi_engine.models.units import Style, Unit, Written, join, newest_images
from oi_engine.settings import Settings
from oi_engine.settings.system_message import SYSTEM_MESSAGE


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


@define(eq=False)
class Prompt:
    """The messages of a conversation as they are sent, kept from one request to the next as far as they stay.

    What stands before the last request stays: only that one is put into the template of the settings.
    """

    _units: list[Unit] = field(factory=list, init=False)
    _settled: list[Written] = field(factory=list, init=False)
    _images: int = field(default=0, init=False)

    def messages(self, units: Sequence[Unit], template: str) -> list[Written]:
        """The messages of the units, the last request in the template, with no more images than providers take."""
        last = next((at for at in range(len(units) - 1, -1, -1) if units[at].asks), len(units))
        known = len(self._units)
        if known > last or self._units != units[:known]:
            self._units, self._settled, self._images, known = [], [], 0, 0
        new = [written for unit in units[known:last] for written in unit.written]
        self._units += units[known:last]
        self._images += images_in(new)
        join(self._settled, new)
        rest = [
            written
            for unit in units[last:]
            for written in (unit.within(template) if unit is units[last] else unit.written)
        ]
        messages = list(self._settled)
        join(messages, rest)
        return newest_images(messages, self._images + images_in(rest))


def request_of(
    messages: Sequence[Written], settings: Settings, style: Style, *, system: str, languages: tuple[str, ...]
) -> ModelRequest:
    """The request with these messages after the system message."""
    llm = settings.llm
    return ModelRequest(
        model=llm.model,
        messages=[{"role": "system", "content": system}, *messages],
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
