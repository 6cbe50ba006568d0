"""The next request as it would be sent, for the person to read and to count."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from oi_engine.errors import ModelError
from oi_engine.models.model import ModelInfo, ModelRequest
from oi_engine.models.tokens import TOOL_TOKENS, Counted, count, images_in, size


@frozen
class Size:
    """How many tokens something has. ``counted``: by the model's own vocabulary; else it is an estimate."""

    tokens: int
    counted: bool


@frozen
class Preview:
    """What would be sent now.

    ``notices`` are sentences for the person: what would be said before it is sent, and why it would not be. ``window``
    in tokens, where it is known. ``texts`` are what is counted of ``request``, ``whole`` what would be of the whole
    conversation; ``trimmed``: whether that is more.
    """

    request: ModelRequest
    info: ModelInfo
    notices: tuple[str, ...]
    texts: tuple[Counted, ...]
    whole: tuple[Counted, ...]
    trimmed: bool
    window: int | None

    @property
    def has_images(self) -> bool:
        """Whether images are sent."""
        return images_in(self.request.messages) > 0

    async def size(self) -> Size:
        """The tokens of the request, the description of its tool included."""
        whole = await size_of(self.info, self.texts)
        tool = TOOL_TOKENS if self.request.tools else 0
        return Size(whole.tokens + tool, whole.counted and not self.has_images)

    async def whole_size(self) -> Size:
        """The tokens of the whole conversation, whether it is sent or not."""
        return await size_of(self.info, self.whole)


async def size_of(info: ModelInfo, texts: Sequence[Counted]) -> Size:
    """The tokens of some texts: as counted where that can be had in time, else as estimated."""
    await count(info.tokenizer, [text for text in texts if text.tokens is None])
    every = all(text.tokens is not None for text in texts)
    return Size(sum(size(text) for text in texts), every and info.own_vocabulary)


async def fitted(request: ModelRequest, info: ModelInfo) -> tuple[ModelRequest, tuple[str, ...]]:
    """The request with its images as they are sent, and what the person must know of them."""
    if info.images is None or not images_in(request.messages):
        return request, ()
    try:
        messages, left_out = await info.images.fit(request.messages)
    except ModelError as error:
        return request, (f"Its images are shown as they are, which may be larger than they are sent: {error}",)
    told = ("An image is too large for the provider: it is not sent.",) if left_out else ()
    return evolve(request, messages=messages), told
