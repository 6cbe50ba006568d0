"""Diagnostics of a document, from several who have some: the client shows but the last list that it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types

Publish = Callable[[str, Sequence[types.Diagnostic]], None]
"""Has the client show these diagnostics of the document with that URI, and no others of this server's."""


class Diagnostics:
    """What is wrong with documents, by who says so."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._all: dict[str, dict[str, list[types.Diagnostic]]] = {}

    def set(self, owner: str, uri: str, found: Sequence[types.Diagnostic]) -> None:
        """Show these of ``owner``'s in a document, in the place of those it had there; others keep theirs."""
        of_document = self._all.get(uri, {})
        if not found and owner not in of_document:
            return
        if found:
            self._all.setdefault(uri, of_document)[owner] = list(found)
        else:
            del of_document[owner]
            if not of_document:
                del self._all[uri]
        self._publish(uri, [each for own in of_document.values() for each in own])
