"""Writes a model's reply into the stream as it arrives, and keeps what the turn goes on with: blocks and prose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from attrs import define, field, frozen

from oi_engine.computer.languages import Naming
from oi_engine.models.pieces import CodeClose, CodeOpen, CodeText, Piece, Prose, Reasoning
from oi_engine.safety.sanitize import Sanitizer
from oi_engine.stream import Stream


@frozen
class Block:
    """A code message: its id in the stream, its language (canonical where known), its code."""

    message_id: str
    language: str
    code: str


@define
class ReplyWriter:
    """One reply on its way into the stream.

    Where the model calls no tools, a block in a language that nothing runs (``json``, ``text``, none) is not code to
    run but part of the prose, and is written as the Markdown that it was. Terminal control is taken out of prose and of
    names of languages; code stays as it is, to the byte, since it is shown with what hides in it.
    """

    _stream: Stream
    _naming: Naming
    tools: bool
    blocks: list[Block] = field(factory=list, init=False)
    _prose: list[str] = field(factory=list, init=False)
    _code: list[str] = field(factory=list, init=False)
    _language: str = field(default="", init=False)
    _code_id: str | None = field(default=None, init=False)
    _quoting: bool = field(default=False, init=False)
    _broken: list[Block] = field(factory=list, init=False)
    _sanitizers: dict[str, Sanitizer] = field(factory=lambda: defaultdict(Sanitizer), init=False)

    @property
    def prose(self) -> str:
        """All that was said outside code."""
        return "".join(self._prose)

    def write(self, pieces: Iterable[Piece]) -> None:
        """Write the next pieces."""
        for piece in pieces:
            match piece:
                case Prose(text):
                    self._say(text)
                case Reasoning(text):
                    self._add("reasoning", text)
                case CodeOpen(language):
                    self._open(language)
                case CodeText(text) if self._quoting:
                    self._say(text)
                case CodeText(text):
                    self._code.append(text)
                    self._stream.write(text)
                case CodeClose(complete):
                    self._close(complete)

    def finish(self) -> list[Block]:
        """The reply is over, whole or not. Answers every code message that must be answered."""
        if self._code_id is not None:
            self._close(complete=False)
        self._stream.close()
        return [*self.blocks, *self._broken]

    def _open(self, language: str) -> None:
        language = "".join(char for char in language if char.isprintable())
        known = self._naming.canonical(language)
        if known is None and not self.tools:
            self._quoting = True
            self._say(f"\n```{language}\n")
            return
        self._language = known or language
        self._code = []
        self._code_id = self._stream.open("assistant", "code", self._language)

    def _close(self, complete: bool) -> None:
        if self._quoting:
            self._quoting = False
            self._say("\n```\n")
            return
        if self._code_id is None:
            return
        block = Block(self._code_id, self._language, "".join(self._code))
        (self.blocks if complete else self._broken).append(block)
        self._code_id = None
        self._stream.close()

    def _say(self, text: str) -> None:
        self._prose.append(self._add("message", text))

    def _add(self, type: str, text: str) -> str:  # noqa: A002 -- the documented name
        """Add to the open message of that type, or open one; blank space alone opens none. Answers what was said."""
        said = text = self._sanitizers[type].feed(text)
        head = self._stream.open_message
        if head is None or head.type != type:
            text = text.lstrip()
            if text:
                self._stream.open("assistant", "reasoning" if type == "reasoning" else "message")
        if text:
            self._stream.write(text)
        return said
