"""What the person may do at a place of a document, as LSP has it: code actions and code lenses.

Clients differ in what they show: some list actions in the order given and suggest the first, so the safe choice comes
first; some put the kind ``quickfix`` and what is preferred at the top. An action that cannot be taken is not offered,
as some clients show it all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import field, frozen
from lsprotocol import types

from oi_lsp.documents import Document
from oi_lsp.structure import to_wire

QUICK = types.CodeActionKind.QuickFix
OTHER = types.CodeActionKind.Refactor
KINDS = (QUICK, OTHER)


@frozen
class Offer:
    """One thing that can be done between two offsets of a document: the command that does it, and its params."""

    title: str
    command: str
    params: Any
    start: int
    end: int
    kind: types.CodeActionKind = OTHER
    preferred: bool = False
    lens: bool = field(default=True, kw_only=True)
    lens_at: int | None = field(default=None, kw_only=True)
    """The offset of the line that shows it; where it is not given, ``start``."""


@frozen
class Place:
    """Where the person is: a selection in a document, and the diagnostics that the client shows there."""

    document: Document
    start: int
    end: int
    diagnostics: Sequence[types.Diagnostic] = ()
    is_whole: bool = False
    """Whether it stands for every place of the document, as for lenses, and not for a selection."""


Source = Callable[[Place], Iterable[Offer]]
"""Answers what can be done at a place. For lenses it is asked once, about the whole document."""


class Offers:
    """All that is offered, from whoever has something to offer."""

    def __init__(self) -> None:
        self._sources: list[Source] = []

    def add(self, source: Source) -> None:
        """Have a source asked, after those that are there."""
        self._sources.append(source)

    def actions(self, place: Place, only: Sequence[str] | None = None) -> list[types.CodeAction]:
        """What can be done at a place, of the kinds that the client wants."""
        return [
            _action(offer)
            for source in self._sources
            for offer in source(place)
            if offer.start <= place.end and place.start <= offer.end and _wanted(offer.kind, only)
        ]

    def lenses(self, document: Document) -> list[types.CodeLens]:
        """What can be done anywhere in a document, each at the first line that it is about."""
        whole = Place(document, 0, len(document.text), is_whole=True)
        return [_lens(document, offer) for source in self._sources for offer in source(whole) if offer.lens]


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    return only is None or any(kind == wanted or kind.startswith(f"{wanted}.") or wanted == "" for wanted in only)


def _action(offer: Offer) -> types.CodeAction:
    return types.CodeAction(
        title=offer.title, kind=offer.kind, is_preferred=offer.preferred or None, command=_command(offer)
    )


def _lens(document: Document, offer: Offer) -> types.CodeLens:
    start = document.position(offer.start if offer.lens_at is None else offer.lens_at)
    return types.CodeLens(
        range=types.Range(start, types.Position(start.line, start.character)), command=_command(offer)
    )


def _command(offer: Offer) -> types.Command:
    return types.Command(title=offer.title, command=offer.command, arguments=[to_wire(offer.params)])
