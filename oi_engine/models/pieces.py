"""What the reply parsers say: prose, and blocks of code, piece by piece.

Both parsers (``fence_parser``, ``tool_call_parser``) turn deltas of any length into these. The pieces of a reply are
well formed: ``CodeText`` and ``CodeClose`` come only between a ``CodeOpen`` and its ``CodeClose``, prose only outside,
blocks never nest, no piece is empty.
"""

from __future__ import annotations

from attrs import frozen


@frozen
class Prose:
    """Text outside code."""

    text: str


@frozen
class Reasoning:
    """What the model thinks before it replies."""

    text: str


@frozen
class CodeOpen:
    """A block of code begins. ``language`` is as the model wrote it, lower-cased and stripped; may be empty."""

    language: str


@frozen
class CodeText:
    """More of the open block's code."""

    text: str


@frozen
class CodeClose:
    """The open block ends. ``complete`` is false where the reply broke off before the block's own end."""

    complete: bool = True


Piece = Prose | Reasoning | CodeOpen | CodeText | CodeClose
