"""What shims are told of an edit, no faster than they read and no more often than they can draw."""

from __future__ import annotations

from collections.abc import Callable

from oi_lsp import protocol_documents as wire
from oi_lsp.inline_edit.edit import InlineEdit
from oi_lsp.inline_edit.shown import state_of
from oi_lsp.paced import Paced

PACE = 0.05
"""Seconds between two notifications of an edit at least."""


class EditFeed:
    """One edit on its way to the client, as ``outbox.Source`` has it."""

    def __init__(self, edit: InlineEdit, wake: Callable[[EditFeed], None]) -> None:
        self._edit = edit
        self._told: object = None
        self._wake = wake
        self._due = False
        self._changed = False
        # The command that begins the edit is answered first.
        self._paced = Paced(PACE, self._ring, late=True)

    def news(self) -> None:
        """The edit has changed; also where it is soon as it was, for the client has seen the text change meanwhile."""
        self._changed = self._changed or _told_by(state_of(self._edit)) != self._told
        self._paced.ask()

    @property
    def behind(self) -> bool:
        """Whether there is something to send."""
        return self._due

    def take(self) -> tuple[tuple[()], wire.EditState | None]:
        """The edit as it is now, where that is new to the client."""
        self._due = False
        state = state_of(self._edit)
        told, self._told = self._told, _told_by(state)
        is_new = self._changed or told != self._told
        self._changed = False
        return (), state if is_new else None

    def close(self) -> None:
        """Follow it no longer."""
        self._paced.cancel()

    def _ring(self) -> None:
        self._due = True
        self._wake(self)


def _told_by(state: wire.EditState) -> object:
    """All that matters of a state; a version under which everything is where it was does not."""
    hunks = [(hunk.id, hunk.state, _place(hunk)) for hunk in state.hunks]
    return state.state, hunks, state.comment, state.error, state.cost


def _place(hunk: wire.EditHunk) -> object:
    found = hunk.range
    return found and (found.start.line, found.start.character, found.end.line, found.end.character)
