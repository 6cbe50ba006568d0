"""What the runs of a session change on disk: looked at around each run, said in the stream, shown and taken back.

After a run that changed something, the stream has a word for the person and, for programs, a command chunk::

    {"role": "computer", "type": "message", "recipient": "user", "parent": "m-1", "content": "Changed on disk: …"}
    {"role": "computer", "type": "command", "format": "changes", "parent": "m-1",
     "content": {"id": "c-1", "files": [{"path", "kind", "what", "size", "added"?, "removed"?}], "more": 0}}

``parent`` is the code message; ``more`` counts the files that are not in the list. The model is told of neither. What
is taken back it is told before the next request.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, TypeVar

from attrs import frozen

from oi_engine.changes.diff import FileDiff
from oi_engine.changes.entries import Snapshot
from oi_engine.changes.revert import Reverted, diff, find_file, revert, texts
from oi_engine.changes.scan import Abandoned
from oi_engine.changes.store import ChangeSet
from oi_engine.changes.workspace import Workspace
from oi_engine.errors import ChangesError, ChangesNotFollowed, SessionBusy
from oi_engine.messages import Message
from oi_engine.safety.sanitize import sanitize
from oi_engine.session.state import Snapshot as State
from oi_engine.settings import Settings

log = logging.getLogger(__name__)

AFTER = 5
"""How many times as long as before a run (``changes.wait``) a look after it may take: nobody waits to see output."""
NAMED, LISTED, COUNTED = 8, 200, 20
"""How many files the word for the person names, the chunk for programs lists, and lines are counted of."""
COUNTED_BYTES = 100_000
"""Bytes of a file up to which its lines are counted."""

DIFFERENCE = 1_000_000
"""Characters of lines after which the difference of a whole change leaves further files out."""

LONG = "The difference is long: ask for this path alone."
SLOW = (
    "This folder takes long to look through (`changes.wait`), so what this run changed in it is not known. A later run "
    "may be followed."
)
LATE = "What this run changed on disk is not known: looking through the folder took too long (`changes.wait`)."
HINT = "`%changes diff` shows it, `%changes revert` takes it back."

T = TypeVar("T")


class Host(Protocol):
    """What effects have of their session."""

    id: str
    settings: Settings
    preface: Callable[[], Sequence[Message]]

    @property
    def snapshot(self) -> State: ...


@frozen
class Look:
    """The folder before a run; ``None`` where it was not followed, and then perhaps a word on that."""

    snapshot: Snapshot | None = None
    words: str = ""


@frozen
class Told:
    """What is said after a run: words for the person, and the content of the chunk for programs."""

    words: str = ""
    form: dict[str, Any] | None = None


class Effects:
    """The effects of one session. ``opened`` opens the workspace, in a thread; without it nothing is followed."""

    def __init__(self, host: Host, opened: Callable[[], Workspace] | None = None) -> None:
        self._host = host
        self._opened = opened
        self._ended = threading.Event()
        self._reading: asyncio.Task[Snapshot] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reverting = asyncio.Lock()
        self._said: set[str] = set()
        self._never = ""

    # --- around a run ------------------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Begin to look through the folder, so that the first run need not wait for it."""
        if self._follows and self._reading is None:
            self._reading = self._spawn(self._look, None)

    async def before(self) -> Look:
        """The folder as it is now, within ``changes.wait``. Never raises."""
        if not self._follows:
            return Look()
        ends = self._now() + self._host.settings.changes.wait
        if self._reading is not None and not await self._within(self._reading, ends):
            return Look(words=self._once(SLOW))
        self._reading = self._spawn(self._look, None)
        # One that takes longer goes on: the next look has less to read.
        if not await self._within(self._reading, ends):
            return Look(words=self._once(SLOW))
        try:
            return Look(self._reading.result())
        except (ChangesError, Abandoned) as error:
            return Look(words=self._failed(error))

    async def after(self, look: Look, parent: str) -> Told:
        """What changed since; ``parent`` is the id of the code that ran. Never raises."""
        if look.snapshot is None:
            return Told(look.words)
        late = threading.Event()
        task = self._spawn(self._recorded, look.snapshot, parent, late)
        if not await self._within(task, self._now() + AFTER * self._host.settings.changes.wait):
            late.set()
            return Told(self._once(LATE))
        try:
            found = task.result()
        except (ChangesError, Abandoned) as error:
            return Told(self._failed(error))
        self._spawn(self._tidy)
        return found

    async def close(self) -> None:
        """Give up what is under way."""
        self._ended.set()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    # --- what the person asks for ------------------------------------------------------------------------------

    async def sets(self) -> list[ChangeSet]:
        """What was changed in this session so far, the oldest first. Raises ``ChangesError``."""
        return await self._do(lambda workspace: workspace.store.sets(self._host.id))

    async def diff(self, change_id: str, path: str | None = None) -> list[FileDiff]:
        """The difference of a change set, or of one path of it. Raises ``UnknownChange``, ``ChangesError``.

        Of a change set, files whose lines would make it too long come without them.
        """

        def look(workspace: Workspace) -> list[FileDiff]:
            changes = workspace.store.set(self._host.id, change_id)
            if path is not None:
                return [diff(workspace, find_file(changes, path))]
            found, left = [], DIFFERENCE
            for one in changes.files:
                found.append(diff(workspace, one) if left > 0 else FileDiff(one, why=LONG))
                left -= sum(len(hunk.old) + len(hunk.new) for hunk in found[-1].hunks)
            return found

        return await self._do(look)

    async def texts(self, change_id: str, path: str) -> tuple[str | None, str | None]:
        """What a path held before a change and after it, as ``changes.revert.texts`` has it.

        Raises ``UnknownChange``, ``ChangesError``.
        """

        def read(workspace: Workspace) -> tuple[str | None, str | None]:
            return texts(workspace, find_file(workspace.store.set(self._host.id, change_id), path))

        return await self._do(read)

    async def revert(self, change_id: str, path: str | None = None, hunk: str | None = None) -> Reverted:
        """Take back a change set, one path of it, or a hunk of that; the model is told before the next request.

        Raises ``RevertRefused``, ``UnknownChange``, ``ChangesError``, and ``SessionBusy`` while a program runs.
        """
        self._check_rest()

        def work(workspace: Workspace) -> Reverted:
            changes = workspace.store.set(self._host.id, change_id)
            return revert(workspace, changes, path, None if hunk is None else [hunk])

        async with self._reverting:
            done = await self._do(work)
        if done.done is not None:
            self._tell(f"The person took back changes on disk: {_names(done.done)}.")
        return done

    async def rewind(self, parents: Collection[str]) -> list[Reverted]:
        """Take back what the runs of these code messages changed, the last one first; the model is not told.

        Raises as ``revert`` does, but for what cannot be taken back: that is left and named.
        """
        self._check_rest()

        def work(workspace: Workspace) -> list[Reverted]:
            sets = [one for one in workspace.store.sets(self._host.id) if one.parent in parents and one.reverts is None]
            return [revert(workspace, one) for one in reversed(sets)]

        async with self._reverting:
            return await self._do(work)

    def _check_rest(self) -> None:
        if self._host.snapshot.state in ("running", "awaiting_input", "stopping"):
            raise SessionBusy("A program runs that may be writing to these files.", "Stop it first, or let it end.")

    def _tell(self, words: str) -> None:
        before, note = self._host.preface, Message("computer", "message", words, recipient="assistant")
        self._host.preface = lambda: [*before(), note]

    # --- in threads --------------------------------------------------------------------------------------------

    def _look(self, earlier: Snapshot | None) -> Snapshot:
        return self._workspace().snapshot(earlier, self._ended.is_set)

    def _recorded(self, before: Snapshot, parent: str, late: threading.Event) -> Told:
        workspace = self._workspace()
        after = workspace.snapshot(before, lambda: late.is_set() or self._ended.is_set())
        files = workspace.changes(before, after)
        if not files or late.is_set():
            return Told()
        changes = workspace.record(self._host.id, files, parent=parent)
        return told(changes, counted(workspace, changes), self._once(HINT))

    def _tidy(self) -> None:
        self._workspace().tidy()

    def _workspace(self) -> Workspace:
        if self._opened is None:
            raise ChangesNotFollowed("What runs change on disk is not followed here.")
        return self._opened()

    # --- small things ------------------------------------------------------------------------------------------

    @property
    def _follows(self) -> bool:
        return self._opened is not None and self._host.settings.changes.follow and not self._never

    async def _do(self, work: Callable[[Workspace], T]) -> T:
        return await asyncio.shield(self._spawn(lambda: work(self._workspace())))

    def _spawn(self, work: Callable[..., T], *given: object) -> asyncio.Task[T]:
        """Do something in a thread. It is seen through though nobody waits for it any more."""
        task = asyncio.get_running_loop().create_task(asyncio.to_thread(work, *given))
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ChangesError | Abandoned):
            log.error("Looking at what changed on disk failed.", exc_info=error)

    @staticmethod
    async def _within(task: asyncio.Task[Any], ends: float) -> bool:
        """Whether a task is over by then; it goes on if not."""
        left = max(ends - Effects._now(), 0)
        done, _ = await asyncio.wait([task], timeout=left)
        return bool(done)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    def _failed(self, error: ChangesError | Abandoned) -> str:
        if isinstance(error, ChangesNotFollowed):
            self._never = str(error)
        return "" if isinstance(error, Abandoned) else self._once(str(error))

    def _once(self, words: str) -> str:
        if words in self._said:
            return ""
        self._said.add(words)
        return words


def counted(workspace: Workspace, changes: ChangeSet) -> dict[str, FileDiff]:
    """The differences of the first files that are not too long, by path."""
    found: dict[str, FileDiff] = {}
    for one in changes.files[:COUNTED]:
        sizes = [entry.size for entry in (one.before, one.after) if entry is not None]
        if one.what == "file" and max(sizes) <= COUNTED_BYTES:
            found[one.path] = diff(workspace, one)
    return found


def told(changes: ChangeSet, diffs: dict[str, FileDiff], hint: str = "") -> Told:
    """What is said of a change set."""
    files = []
    for one in changes.files[:LISTED]:
        form: dict[str, Any] = {"path": one.shown, "kind": one.kind, "what": one.what, "size": one.size}
        if (lines := diffs.get(one.path)) is not None and lines.hunks:
            form |= {"added": lines.added, "removed": lines.removed}
        files.append(form)
    words = f"Changed on disk: {_names(changes, diffs)}."
    more = max(len(changes.files) - LISTED, 0)
    return Told(f"{words} {hint}".rstrip(), {"id": changes.id, "files": files, "more": more})


def _names(changes: ChangeSet, diffs: dict[str, FileDiff] | None = None) -> str:
    # A folder that came or went with files in it is not worth a word of its own.
    parents = {one.path.rpartition("/")[0] for one in changes.files}
    worth = [one for one in changes.files if one.what != "folder" or one.path not in parents]
    words = []
    for one in worth[:NAMED]:
        lines = None if diffs is None else diffs.get(one.path)
        about = {"added": "new", "deleted": "deleted", "mode": "permissions", "modified": ""}[one.kind]
        if one.kind == "modified" and lines is not None and lines.hunks:
            about = f"+{lines.added} −{lines.removed}"
        words.append(quoted(one.shown) + (f" ({about})" if about else ""))
    rest = len(worth) - len(words)
    return ", ".join(words) + (f" and {rest:,} more" if rest else "")


def quoted(path: str) -> str:
    """A path in Markdown, as code: on one line, without terminal control, and with nothing that Markdown would read."""
    line = " ".join(sanitize(path).split())
    return f"`` {line} ``" if "`" in line else f"`{line}`"
