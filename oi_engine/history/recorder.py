"""Writes a session's stream into the store as it comes, from a thread of its own.

The event loop hands entries over and never waits. The thread folds them as everybody does (``Transcript``) and writes
what has changed since it last did: at once, but for entries that come within ``INTERVAL`` of the last write, which wait
until that is over, and not where a turn ends. ``close`` writes the rest. A message that is being written is stored as
far as it has come. So however a process ends, what was said more than a second ago is in the store.

What cannot be written (a full disk, a lock that does not come free) stays to be written and is tried again; ``problem``
says so meanwhile.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from oi_engine.errors import ConversationChanged, HistoryError, UnknownConversation
from oi_engine.history.restore import chunks
from oi_engine.history.storable import Cleaner
from oi_engine.history.store import Conversation, Opened, Row, Store
from oi_engine.messages import Chunk, Message, new_id
from oi_engine.stream import Entry
from oi_engine.transcript import Transcript, is_told

log = logging.getLogger(__name__)

INTERVAL = 0.25
"""Seconds between two writes, so that entries that come fast are written together."""
RETRY = 5.0
"""Seconds until a write is tried again that has failed."""
TITLE = 60
"""Characters of a title that is taken from the first request."""


class _Flush(threading.Event):
    """Asks for all before it to be written, and is set when it was tried."""


class _Close(_Flush):
    """The last thing that is asked for."""


class Recorder:
    """A subscriber of one session's stream: ``stream.subscribe(recorder)``.

    ``conversation`` is what is known of it (its id is the session's), ``opened`` the stored conversation that was
    restored into the stream, if one was. ``secrets`` are values to keep out of the store; see ``Cleaner``.
    ``on_problem`` is called in the recorder's thread with a sentence when writing begins to fail or the conversation
    goes on under another id, and with an empty text when writing works again.

    An undo is stored as it is. A reset begins the conversation anew, and what was there before is kept as another one.
    Where somebody else has changed the stored conversation (it is open twice), this one goes on as a branch of it,
    whole, under a new ``conversation.id``.
    """

    def __init__(
        self,
        path: Path,
        conversation: Conversation,
        opened: Opened | None = None,
        *,
        secrets: Sequence[str] = (),
        on_problem: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.conversation = conversation
        self.problem = ""
        self._knowing = threading.Lock()
        self._path = path
        self._on_problem = on_problem
        self._cleaner = Cleaner(secrets)
        self._queue: queue.SimpleQueue[Entry | _Flush] = queue.SimpleQueue()
        self._transcript = Transcript()
        self._revision = 0 if opened is None else opened.revision
        self._start = 0
        self._changed = False
        self._due: float | None = None
        self._written = 0.0
        self._store: Store | None = None
        self._closed = False
        self._thread = threading.Thread(
            target=self._work, args=(opened,), name=f"history {conversation.id}", daemon=True
        )
        self._thread.start()
        # A daemon thread is not waited for at the end; what it still has to write is.
        atexit.register(self.close)

    def __call__(self, entry: Entry) -> None:
        """Take the next entry of the stream. Never waits."""
        self._queue.put(entry)

    def describe(self, **known: Any) -> None:
        """Tell what has become known or has changed (fields of ``Conversation``); it is stored with what comes next."""
        self._know(**known)

    def flush(self) -> str:
        """Wait until all entries so far are written, or could not be. Answers ``problem``. Blocks: not for a loop."""
        if not self._closed:
            done = _Flush()
            self._queue.put(done)
            while not done.wait(1.0) and self._thread.is_alive():
                pass
        return self.problem

    def close(self) -> str:
        """Write the rest and end. Answers ``problem``, which is what keeps the rest from being stored. Blocks."""
        if not self._closed:
            self._closed = True
            self._queue.put(_Close())
            self._thread.join()
            atexit.unregister(self.close)
        return self.problem

    # --- in the thread -----------------------------------------------------------------------------------------

    def _work(self, opened: Opened | None) -> None:
        for chunk in chunks(opened) if opened is not None else ():
            self._transcript.apply(chunk)
        # A turn that had not ended is stored anew with what ends it.
        cut_off = opened is not None and opened.conversation.under_way
        self._start = self._transcript.turns[-1] if cut_off else len(self._transcript.messages)
        going = True
        while going:
            try:
                item = self._queue.get(timeout=None if self._due is None else max(self._due - time.monotonic(), 0))
            except queue.Empty:
                self._write()
                continue
            if isinstance(item, Entry):
                self._take(item.chunk)
                if self._due is not None and time.monotonic() >= self._due:
                    self._write()
            else:
                going = not isinstance(item, _Close)
                self._write()
                item.set()
        if self._store is not None:
            self._store.close()

    def _take(self, chunk: Chunk) -> None:
        if chunk.type == "command" and chunk.content == "reset":
            self._set_aside()
        if not self._transcript.apply(chunk):
            return
        told = is_told(chunk)
        self._start = min(self._start, max(len(self._transcript.messages) - told, 0))
        self._changed = True
        if told or chunk.type == "status":
            self._due = time.monotonic()
        elif self._due is None:
            self._due = max(self._written + INTERVAL, time.monotonic())

    def _set_aside(self) -> None:
        """What comes before a reset is kept as a conversation of its own."""
        self._write()
        if not (self._revision and self._transcript.messages):
            return
        try:
            self._opened().set_aside(self.conversation.id)
        except UnknownConversation:
            pass  # it was deleted meanwhile
        except HistoryError as error:
            # Then it is this one that goes on under another id.
            self._know(id=new_id("s"))
            self._say(str(error))
        self._revision = 0

    def _write(self) -> None:
        """Write what has changed. Where that fails, nothing is lost: it has still changed."""
        self._due = None
        self._written = time.monotonic()
        if not self._changed or not (self._revision or self._transcript.messages or self._transcript.open_message):
            return
        try:
            rows = self._rows()
            try:
                self._revision = self._opened().write(self._named(rows), self._start, rows, self._revision)
            except ConversationChanged:
                self._fork()
                return
        except HistoryError as error:
            self._due = time.monotonic() + RETRY
            self._say(str(error))
            return
        self._start = len(self._transcript.messages)
        self._changed = False
        self._say("")

    def _fork(self) -> None:
        self._know(id=new_id("s"), parent=self.conversation.id)
        self._start = self._revision = 0
        rows = self._rows()
        self._revision = self._opened().write(self._named(rows), 0, rows, 0)
        self._start = len(self._transcript.messages)
        self._changed = False
        self._say("This conversation was continued elsewhere too; what is said here is kept as a branch of it.")

    def _rows(self) -> list[Row]:
        turns = set(self._transcript.turns)
        ended = self._transcript.messages
        told = self._transcript.told
        rows = [
            Row(
                self._cleaner.whole(ended[at]),
                begins_turn=at in turns,
                told=[self._cleaner.told(chunk) for chunk in told.get(at, ())],
            )
            for at in range(self._start, len(ended))
        ]
        growing = self._transcript.open_message
        if growing is not None:
            rows.append(Row(self._cleaner.growing(growing), begins_turn=len(ended) in turns, complete=False))
        return rows

    def _named(self, rows: list[Row]) -> Conversation:
        """The conversation as it is now, with a title by what is written now: that of what was deleted stays away."""
        known = self.conversation
        title = self._cleaner.text(known.title) or title_of(row.message for row in rows if row.complete)
        return evolve(known, title=title, under_way=self._transcript.under_way)

    def _opened(self) -> Store:
        if self._store is None:
            self._store = Store(self._path)
            for notice in self._store.notices:
                self._on_problem(notice)
        return self._store

    def _know(self, **changes: Any) -> None:
        with self._knowing:
            self.conversation = evolve(self.conversation, **changes)

    def _say(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            if problem:
                log.warning("%s", problem)
            self._on_problem(problem)


def title_of(messages: Iterable[Message]) -> str:
    """A title for a conversation: the beginning of the first thing that the person wrote; empty without one."""
    first = next(
        (m.text for m in messages if m.role == "user" and m.text.strip() and m.type in ("message", "code")), ""
    )
    line = " ".join(first[: 20 * TITLE].split())
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"
