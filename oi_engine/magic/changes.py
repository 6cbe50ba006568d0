"""What ``%changes`` does: list what runs changed on disk, show the difference, take it back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import frozen

from oi_engine.errors import OiError, UnknownChange
from oi_engine.safety.reveal import reveal
from oi_engine.session.session import Session

if TYPE_CHECKING:
    from oi_engine.changes.diff import FileDiff
    from oi_engine.changes.entries import FileChange
    from oi_engine.changes.revert import Reverted
    from oi_engine.changes.store import ChangeSet

WORDS = ("list", "diff", "revert")
SHOWN_LINES = 400
"""Lines of a difference that are shown."""
SHOWN_FILES = 30
"""Files of one run that a list names."""

_HUNK = re.compile(r"(?:(?P<path>.*)\s)?(?P<hunk>h\d+)", re.DOTALL)


@frozen
class _Chosen:
    number: int
    changes: ChangeSet
    path: str | None


async def changes(session: Session, rest: str) -> str:
    """Do what stands behind ``%changes``. Answers Markdown. Raises ``OiError``."""
    word, _, arguments = rest.partition(" ")
    arguments = arguments.strip()
    sets = await session.effects.sets()
    if word in ("", "list"):
        return _listed(session, sets)
    if word not in WORDS:
        raise OiError(f"%changes knows no {word}.", "It is `%changes`, `%changes diff` or `%changes revert`.")
    if word == "diff":
        chosen = _chosen(sets, arguments)
        return _differences(chosen, await session.effects.diff(chosen.changes.id, chosen.path))
    if arguments == "turn":
        reverted = await session.effects.rewind([message.id for message in session.last_turn])
        return "\n\n".join(_reverted(one) for one in reverted) or "The last turn changed nothing on disk."
    hunk = None
    if (found := _HUNK.fullmatch(arguments)) is not None:
        arguments, hunk = found["path"] or "", found["hunk"]
    chosen = _chosen(sets, arguments)
    if hunk is not None and chosen.path is None:
        raise OiError("A hunk is of a file, and none is named.", "Write it before, as in `%changes revert 2 a.py h1`.")
    return _reverted(await session.effects.revert(chosen.changes.id, chosen.path, hunk))


def argument(begun: str) -> Iterator[tuple[str, str]]:
    """What may follow ``%changes``."""
    return ((word, "") for word in WORDS if word.startswith(begun))


def _chosen(sets: Sequence[ChangeSet], arguments: str) -> _Chosen:
    """The change set of a number, or the last one that a run made; what stands behind the number is a path."""
    first, _, rest = arguments.partition(" ")
    if first.isdecimal():
        if not 1 <= int(first) <= len(sets):
            raise UnknownChange(f"There is no change {first}.", "`%changes` lists them.")
        return _Chosen(int(first), sets[int(first) - 1], rest.strip() or None)
    for number, one in reversed(list(enumerate(sets, 1))):
        if one.reverts is None:
            return _Chosen(number, one, arguments or None)
    raise UnknownChange("Nothing was changed on disk in this conversation yet.")


def _listed(session: Session, sets: Sequence[ChangeSet]) -> str:
    if not sets:
        followed = session.settings.changes.follow
        return (
            "No run changed anything on disk." if followed else "Changes on disk are not followed (`changes.follow`)."
        )
    numbers = {one.id: number for number, one in enumerate(sets, 1)}
    lines = []
    for number, one in enumerate(sets, 1):
        of = "" if one.reverts is None else f", taking back {numbers.get(one.reverts, 'an older one')}"
        when = datetime.fromtimestamp(one.created).astimezone()
        lines.append(f"{number}. {when:%Y-%m-%d %H:%M}{of}")
        lines += [f"   - {_about(file)}" for file in one.files[:SHOWN_FILES]]
        if len(one.files) > SHOWN_FILES:
            lines.append(f"   - and {len(one.files) - SHOWN_FILES:,} more")
    return "\n".join([*lines, "", "`%changes diff 1` shows one, `%changes revert 1` takes it back."])


def _about(change: FileChange) -> str:
    from oi_engine.session.effects import quoted

    kind = "permissions" if change.kind == "mode" else change.kind
    return f"{quoted(change.shown)}, {kind}" + (f" ({change.why})" if change.why else "")


def _differences(chosen: _Chosen, diffs: Iterable[FileDiff]) -> str:
    parts = []
    left = SHOWN_LINES
    for one in diffs:
        placed = zip(one.hunks, one.lines, strict=True)
        lines = [line for hunk, at in placed for line in _hunk_lines(f"{hunk.id}, line {at + 1}", hunk.old, hunk.new)]
        parts.append(f"{_about(one.change)}" + (f" ({one.why})" if one.why and not one.change.why else ""))
        if lines:
            parts.append(_fenced(lines[:left]))
        if len(lines) > left:
            parts.append(f"{len(lines) - left:,} lines more: name the file to begin with it.")
        left = max(left - len(lines), 0)
    end = f"`%changes revert {chosen.number}` takes it back; a path behind it that file, and `h1` behind that a hunk."
    return "\n\n".join([*parts, end])


def _hunk_lines(head: str, old: str, new: str) -> Iterator[str]:
    from oi_engine.edits.lines import split_lines

    yield f"@@ {head} @@"
    for mark, text in (("-", old), ("+", new)):
        for line in split_lines(text):
            # What the eye would miss is what a change may hide.
            bare = line.rstrip("\r\n").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            yield mark + reveal(bare).text


def _fenced(lines: Sequence[str]) -> str:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}diff", *lines, fence])


def _reverted(reverted: Reverted) -> str:
    from oi_engine.session.effects import quoted

    lines = [f"- {quoted(refusal.path)} was left: {refusal.reason}" for refusal in reverted.refused]
    if reverted.done is None:
        return "\n".join(lines) or "There is nothing to take back: it is as it was before."
    files = ", ".join(quoted(one.shown) for one in reverted.done.files[:SHOWN_FILES])
    more = len(reverted.done.files) - SHOWN_FILES
    said = f"Taken back: {files}{f' and {more:,} more' if more > 0 else ''}. `%changes` lists it, to undo that too."
    return "\n".join([said, *([""] if lines else []), *lines])
