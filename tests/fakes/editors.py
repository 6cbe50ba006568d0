"""Editors as the language server meets them, and a clock that needs no waiting.

Each profile is what a real editor was seen to do: when it tells of an edit that it was asked for, what it makes of one
for an older version, and how it puts several changes into one message.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, TypeVar

from attrs import evolve, frozen
from lsprotocol import types

from oi_lsp.client import Applied, DocumentEdit, EditAnswer, NoAnswer, Refused
from oi_lsp.documents import Document, Documents

URI = "file:///place/chat.oi.md"
OURS, THEIRS = "ours", "theirs"
T = TypeVar("T")


@frozen
class Profile:
    """How an editor behaves. ``debounce`` is in seconds; ``lazy``: its version only moves when it tells of changes."""

    name: str
    echo: Literal["before", "after", "never"] = "after"
    debounce: float = 0
    stale: Literal["refused", "error", "lies", "accepted"] = "refused"
    sync: Literal["changes", "diff", "whole"] = "changes"
    answers: bool = True
    lazy: bool = False
    encoding: str = "utf-16"


NEOVIM = Profile("nvim", debounce=0.15, stale="lies", sync="diff")
NEOVIM_0 = evolve(NEOVIM, name="nvim, debounce 0", debounce=0)
HELIX = Profile("helix", echo="before", encoding="utf-8")
EGLOT_0 = Profile("eglot, idle 0", stale="error", encoding="utf-32")
LSP_MODE = Profile("lsp-mode", echo="before")
VSCODE = Profile("vscode")
WHOLE = Profile("whole texts", sync="whole", debounce=0.05)
MUTE = Profile("answers nothing", answers=False)
EXACT = (NEOVIM, NEOVIM_0, HELIX, EGLOT_0, LSP_MODE, VSCODE, WHOLE, MUTE)
EGLOT = Profile("eglot", debounce=0.5, stale="accepted", lazy=True)
DEAF = Profile("tells nothing", echo="never")


class Editor:
    """An editor with one document, and the server's mirror of it. ``latency`` answers seconds for one message.

    What the editor sends arrives in order. ``marks`` says of each character of the buffer who wrote it.
    """

    def __init__(self, profile: Profile, text: str, latency: Callable[[], float] = lambda: 0.0) -> None:
        self.profile = profile
        self.documents = Documents(profile.encoding)
        item = types.TextDocumentItem(URI, "markdown", 0, text)
        self.documents.open(types.DidOpenTextDocumentParams(item))
        mirror = self.documents.get(URI)
        assert mirror is not None
        self.mirror: Document = mirror
        self.buffer = Document(URI, "markdown", 0, text, profile.encoding)
        self.marks = [THEIRS] * len(text)
        self.version = 0
        self.asked: list[types.TextDocumentEdit] = []
        self.in_flight = self.most_in_flight = 0
        self.refuses = ""
        self._latency = latency
        self._unsent: list[types.TextDocumentContentChangeEvent] = []
        self._told = text
        self._timer: asyncio.TimerHandle | None = None
        self._arrival = 0.0

    # --- the server's side -------------------------------------------------------------------------------------

    async def apply_edit(self, label: str, document_edits: Sequence[DocumentEdit], time: float = 30) -> EditAnswer:
        """As the client's requests: one edit, with an answer or none."""
        (edit,) = document_edits
        assert isinstance(edit, types.TextDocumentEdit)
        assert label
        self.asked.append(edit)
        answer: asyncio.Future[EditAnswer] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(self._latency(), self._take, edit, answer)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await asyncio.wait_for(answer, time)
        except TimeoutError:
            return NoAnswer()
        finally:
            self.in_flight -= 1

    # --- the editor's side -------------------------------------------------------------------------------------

    def type(self, start: int, end: int, text: str) -> None:
        """The person puts text in the place of what is between two offsets."""
        self._change(self.buffer.range(start, end), text, THEIRS)
        self._tell()

    def undo(self, start: int, end: int, text: str = "") -> None:
        """Take back an edit: as typing, but at once told of as it is."""
        self.type(start, end, text)

    def close(self) -> None:
        """The person closes the document."""
        self.documents.close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))

    def tell_now(self) -> None:
        """Tell the server of all that it has not been told."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if not self._unsent:
            return
        if self.profile.lazy:
            self.version += 1
        changes, self._unsent = self._unsent, []
        if self.profile.sync != "changes":
            whole = types.TextDocumentContentChangeWholeDocument(self.buffer.text)
            changes = [whole if self.profile.sync == "whole" else self._difference()]
        self._told = self.buffer.text
        identifier = types.VersionedTextDocumentIdentifier(self.version, URI)
        self._send(lambda: self.documents.change(types.DidChangeTextDocumentParams(identifier, changes)))

    @property
    def ours(self) -> str:
        """What the server has written, as it stands in the buffer."""
        return "".join(char for char, mark in zip(self.buffer.text, self.marks, strict=True) if mark == OURS)

    def _take(self, edit: types.TextDocumentEdit, answer: asyncio.Future[EditAnswer]) -> None:
        answers: EditAnswer = Applied()
        if self.refuses:
            answers = Refused(self.refuses)
        elif edit.text_document.version != self.version and self.profile.stale != "accepted":
            if self.profile.stale != "lies":
                answers = Refused("stale" if self.profile.stale == "refused" else "InternalError")
        else:
            (one,) = edit.edits
            assert isinstance(one, types.TextEdit)
            self._change(one.range, one.new_text, OURS)
            if self.profile.echo == "before":
                self.tell_now()
        if self.profile.answers:
            self._send(lambda: None if answer.done() else answer.set_result(answers))
        self._tell()

    def _change(self, where: types.Range, text: str, mark: str) -> None:
        start, end = self.buffer.span(where)
        change = types.TextDocumentContentChangePartial(where, text)
        self.buffer.apply(change, None)
        self.marks[start:end] = [mark] * len(text)
        self._unsent.append(change)
        if not self.profile.lazy:
            self.version += 1

    def _tell(self) -> None:
        """Tell of what has changed: at once, or when no more has changed for a while."""
        if self.profile.echo == "never":
            return
        if not self.profile.debounce:
            self.tell_now()
            return
        if self._timer is not None and self.profile.lazy:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and self._unsent:
            self._timer = asyncio.get_running_loop().call_later(self.profile.debounce, self.tell_now)

    def _difference(self) -> types.TextDocumentContentChangePartial:
        """From the first difference to the last, as one change."""
        old, new = self._told, self.buffer.text
        shorter = min(len(old), len(new))
        head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
        tail = next((n for n in range(shorter - head) if old[-1 - n] != new[-1 - n]), shorter - head)
        # A change must not begin or end within CR LF, where there is no position.
        while head and old[head - 1 : head] == "\r":
            head -= 1
        while tail and old[len(old) - tail :][:1] == "\n":
            tail -= 1
        before = Document(URI, "markdown", 0, old, self.profile.encoding)
        return types.TextDocumentContentChangePartial(
            before.range(head, len(old) - tail), new[head : len(new) - tail if tail else None]
        )

    def _send(self, arrives: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        # A moment apart, as timers for the same moment have no order.
        self._arrival = max(self._arrival + 1e-6, loop.time() + self._latency())
        loop.call_at(self._arrival, arrives)


class _NoWaiting(selectors.DefaultSelector):
    """Moves the clock on where it would wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing will ever happen"
            self.now += max(timeout, 0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes at once; for what neither reads nor runs anything outside."""

    def __init__(self) -> None:
        self._clock = _NoWaiting()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def in_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, with time that passes at once."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
