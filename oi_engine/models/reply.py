"""A reply as it arrives: a model's events in, well-formed pieces out."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from oi_engine.errors import ModelError
from oi_engine.models.fence_parser import FenceParser
from oi_engine.models.model import ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from oi_engine.models.pieces import Piece, Prose, Reasoning
from oi_engine.models.think import ThinkSplitter
from oi_engine.models.tool_call_parser import ToolCallParser


class ReplyParser:
    """Turns the events of one reply into pieces.

    With ``tools`` text is prose and code comes in calls of the tool; without, text is read for fenced blocks. A tool
    call that comes without having been offered is read all the same. ``Usage`` and ``Notice`` events are no part of
    the reply's text: they give no pieces.

    What arrives beside an open block (text between the pieces of a call, say) is said after the block.
    """

    def __init__(self, tools: bool, known_languages: Collection[str] = ()) -> None:
        self._tools = tools
        self._known = known_languages
        self._fences = FenceParser(known_languages)
        self._calls = ToolCallParser(known_languages)
        self._think = ThinkSplitter()
        self._late: list[Piece] = []

    @property
    def error(self) -> ModelError | None:
        """What was malformed in the reply (kind ``malformed_reply``), if anything was; final after ``finish``."""
        return self._calls.error

    def feed(self, event: ModelEvent) -> list[Piece]:
        """The pieces that one event completes."""
        match event:
            case TextDelta(text):
                return self._split(self._think.feed(text))
            case ReasoningDelta(text):
                return self._split(self._think.settle()) + self._beside([Reasoning(text)] if text else [])
            case ToolCallDelta():
                pieces = self._split(self._think.settle()) + self._end_text() + self._calls.feed(event)
                return pieces + self._late_ones()
            case _:
                return []

    def finish(self, broken: bool = False) -> list[Piece]:
        """The pieces that the end of the reply completes; ``broken``: the reply broke off."""
        pieces = self._split(self._think.settle()) + self._fences.finish(broken) + self._calls.finish(broken)
        return pieces + self._late_ones()

    def _split(self, deltas: Iterable[TextDelta | ReasoningDelta]) -> list[Piece]:
        found: list[Piece] = []
        for delta in deltas:
            found += self._text(delta.text) if isinstance(delta, TextDelta) else self._beside([Reasoning(delta.text)])
        return found

    def _text(self, text: str) -> list[Piece]:
        if not text:
            return []
        pieces = self._calls.end_bare()
        if self._tools or self._calls.open:
            return pieces + self._beside([Prose(text)])
        return pieces + self._fences.feed(text) + self._late_ones()

    def _end_text(self) -> list[Piece]:
        """A call begins: whatever the text held back or left open ends here."""
        pieces = self._fences.finish()
        self._fences = FenceParser(self._known)
        return pieces

    def _beside(self, pieces: list[Piece]) -> list[Piece]:
        self._late += pieces
        return self._late_ones()

    def _late_ones(self) -> list[Piece]:
        if self._calls.open or self._fences.open:
            return []
        pieces, self._late = self._late, []
        return pieces
