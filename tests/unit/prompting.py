"""A prompt made from nothing but the messages, to hold those against that a conversation makes as it grows."""

from __future__ import annotations

from collections.abc import Sequence

from oi_engine.messages import Message
from oi_engine.models.images import load
from oi_engine.models.model import ModelInfo, ModelRequest
from oi_engine.models.prompt import Prompt, request_of, system_message
from oi_engine.models.units import Style, Writer, segment
from oi_engine.settings import Settings


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
    system = system_message(settings, tools=style.tools, cwd=cwd, languages=languages)
    written = Prompt().messages(units, settings.user_message_template)
    return request_of(written, settings, style, system=system, languages=languages)
