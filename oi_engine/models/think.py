"""Thinking that a model writes into its text, between ``<think>`` and ``</think>`` at the beginning of the reply.

Models such as DeepSeek-R1 and Qwen do, where their server does not take it out (llamafile, vLLM without a reasoning
parser, LM Studio by its settings). Code in it must not be taken for code to run.
"""

from __future__ import annotations

from attrs import define, field

from oi_engine.models.model import ReasoningDelta, TextDelta

_OPEN, _CLOSE = "<think>", "</think>"


@define
class ThinkSplitter:
    """Tells thinking from text, incrementally; what may yet become a tag is held back."""

    _held: str = field(default="", init=False)
    _state: str = field(default="start", init=False)

    def feed(self, text: str) -> list[TextDelta | ReasoningDelta]:
        """The text as it is, or as thinking."""
        if self._state == "text":
            return [TextDelta(text)]
        self._held += text
        if self._state == "start":
            seen = self._held.lstrip()
            if _OPEN.startswith(seen):
                return []
            if not seen.startswith(_OPEN):
                return self._flush()
            self._state, self._held = "thinking", seen.removeprefix(_OPEN)
        return self._think()

    def settle(self) -> list[TextDelta | ReasoningDelta]:
        """What was held back, when something else than text comes, or nothing more; the rest is text."""
        kind = ReasoningDelta if self._state == "thinking" else TextDelta
        held, self._held = self._held, ""
        self._state = "text"
        return [kind(held)] if held else []

    def _think(self) -> list[TextDelta | ReasoningDelta]:
        thought, closed, rest = self._held.partition(_CLOSE)
        if closed:
            self._held = rest.lstrip("\n")
            thinking = [ReasoningDelta(thought)] if thought else []
            return [*thinking, *self._flush()]
        keep = next((size for size in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:size])), 0)
        self._held = thought[len(thought) - keep :]
        ready = thought[: len(thought) - keep]
        return [ReasoningDelta(ready)] if ready else []

    def _flush(self) -> list[TextDelta | ReasoningDelta]:
        self._state = "text"
        held, self._held = self._held, ""
        return [TextDelta(held)] if held else []
