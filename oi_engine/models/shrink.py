"""Images that fit what providers take; runs in the model worker.

With Pillow at hand an image that is too large is made smaller; without, it is sent as it is up to the limit, and left
out beyond it, with a word.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oi_engine.models.images import kind_of, size_of

MAX_BYTES = 3_750_000
"""The smallest limit among the large providers: Anthropic's 5 MB in base64
(https://docs.anthropic.com/en/docs/build-with-claude/vision)."""

MAX_SIDE = 8_000
"""Pixels, likewise."""

GOOD_SIDE = 2_000
"""Pixels beyond which no provider looks closer; the limit where many images are sent at once."""

_KEPT = 64


class Shrinker:
    """Makes images fit, and remembers those that it has seen: every request of a conversation brings them again."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, str | None] = OrderedDict()

    def fit(self, messages: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], int]:
        """The messages with images that fit, and how many images were left out. Takes a while: for a thread."""
        found: list[Mapping[str, Any]] = []
        left_out = 0
        for message in messages:
            content = message.get("content")
            if not isinstance(content, list):
                found.append(message)
                continue
            parts = [self._part(part) for part in content]
            left_out += sum(part is None for part in parts)
            found.append({**message, "content": [part or _LEFT_OUT for part in parts]})
        return found, left_out

    def _part(self, part: Mapping[str, Any]) -> Mapping[str, Any] | None:
        url = part["image_url"]["url"] if part.get("type") == "image_url" else ""
        if not url.startswith("data:"):
            return part
        fitting = self._fitting(url)
        return None if fitting is None else {"type": "image_url", "image_url": {"url": fitting}}

    def _fitting(self, url: str) -> str | None:
        key = hashlib.sha256(url.encode()).digest()
        if key in self._seen:
            self._seen.move_to_end(key)
            return self._seen[key]
        raw = base64.b64decode(url.partition("base64,")[2])
        fitting = url if _fits(raw, GOOD_SIDE) else _shrunk(raw) or (url if _fits(raw, MAX_SIDE) else None)
        self._seen[key] = fitting
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return fitting


_LEFT_OUT = {"type": "text", "text": "(An image was left out: it is too large for the provider.)"}


def _fits(raw: bytes, side: int) -> bool:
    return len(raw) <= MAX_BYTES and max(size or 0 for size in size_of(raw)) <= side


def _shrunk(raw: bytes) -> str | None:
    """The image within the limits, as a data URL; ``None`` where Pillow is not there or cannot read it."""
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(io.BytesIO(raw)) as image:
            for made in _smaller(image, "PNG" if kind_of(raw) == "png" else "JPEG"):
                if len(made) <= MAX_BYTES:
                    return f"data:image/{kind_of(made)};base64,{base64.b64encode(made).decode()}"
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        # What Pillow raises for damaged files; SyntaxError is its word for broken PNGs.
        return None
    return None


def _smaller(image: Any, form: str) -> Iterator[bytes]:
    """Ever smaller versions; a PNG that stays large (a photograph) becomes a JPEG."""
    for side, kind in ((GOOD_SIDE, form), (GOOD_SIDE, "JPEG"), (GOOD_SIDE // 2, "JPEG"), (GOOD_SIDE // 4, "JPEG")):
        # Palettes cannot be scaled; JPEG has no transparency.
        copy = image.convert("RGB" if kind == "JPEG" else "RGBA")
        copy.thumbnail((side, side))
        out = io.BytesIO()
        copy.save(out, kind)
        yield out.getvalue()
