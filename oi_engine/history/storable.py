"""What a message is made into before it is stored: keys taken out, pictures bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import define, evolve, field

from oi_engine.messages import Chunk, Message
from oi_engine.safety.redact import redact

LARGEST = 16_000_000
"""Characters of base64 that a stored image or sound may have: 12 MB."""
_BINARY = frozenset({"image", "audio"})
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN ", "-----END "
_LONGEST_KEY = 65_536
"""Characters of a key over several lines, as ``redact`` knows them."""


@define
class Cleaner:
    """Makes messages storable. ``secrets`` are values that are known to be secret; more may be added later.

    Redacting takes half a second for a million characters, too long for a message that is stored again with every few
    words: ``growing`` redacts what is new. The whole is redacted once more when the message ends.
    """

    secrets: Sequence[str] = ()
    _raw: str = field(default="", init=False)
    _clean: str = field(default="", init=False)

    def whole(self, message: Message) -> Message:
        """A message that has ended."""
        self._raw = self._clean = ""
        if message.type in _BINARY and message.format != "path":
            return _bounded(message)
        return evolve(
            message, content=_walk(message.content, self.secrets), failure=_walk(message.failure, self.secrets)
        )

    def growing(self, message: Message) -> Message:
        """A message that is being written; each call may come with more of it."""
        text = message.content
        if not isinstance(text, str) or message.type in _BINARY:
            return self.whole(message)
        if not text.startswith(self._raw):
            self._raw = self._clean = ""
        fresh = text[len(self._raw) :]
        settled = _settled(fresh)
        self._clean += redact(fresh[:settled], self.secrets)
        self._raw += fresh[:settled]
        content = self._clean + redact(fresh[settled:], self.secrets)
        return evolve(message, content=content, failure=_walk(message.failure, self.secrets))

    def told(self, chunk: Chunk) -> Chunk:
        """What is told of a message."""
        return evolve(chunk, content=_walk(chunk.content, self.secrets))

    def text(self, text: str) -> str:
        """A text that is no message, such as a title."""
        return redact(text, self.secrets)


def _settled(text: str) -> int:
    """How much of a growing text no key can reach out of: whole lines, but for the last, up to an open key."""
    end = text.rfind("\n", 0, max(text.rfind("\n"), 0)) + 1
    begins = text.rfind(_KEY_BEGINS, 0, end)
    if begins >= 0 and text.find(_KEY_ENDS, begins, end) < 0 and end - begins < _LONGEST_KEY:
        return text.rfind("\n", 0, begins) + 1
    return end


def _bounded(message: Message) -> Message:
    size = len(message.text)
    if size <= LARGEST:
        return message
    word = f"(The {message.type} was too large to be kept in the history: {size * 3 // 4 / 1e6:.0f} MB.)"
    return evolve(message, type="message", format=None, content=word)


def _walk(content: Any, secrets: Iterable[str]) -> Any:
    if isinstance(content, dict):
        return {key: _walk(value, secrets) for key, value in content.items()}
    if isinstance(content, list):
        return [_walk(value, secrets) for value in content]
    return redact(content, secrets) if isinstance(content, str) else content
