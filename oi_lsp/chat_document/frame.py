"""What a chat document is framed with: front matter, headings, and the end of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from oi_lsp.chat_document.document import ChatDocument, Section, Speaker
from oi_lsp.chat_document.syntax import BYTE_ORDER_MARK, HEADINGS, NUMBER_PREFIXES, VERSION, Newline, marker


@frozen
class Edit:
    """``text`` goes in at the offset ``at``."""

    at: int
    text: str


@frozen
class Answer:
    """What is inserted when a message is sent. ``append`` is where the answer goes on: ``Place.APPEND``, afterwards."""

    edit: Edit
    append: int
    number: int


def heading(nonce: str, speaker: Speaker, number: int) -> str:
    """The heading of a section."""
    return f"{HEADINGS[speaker]} {marker(nonce, f'{NUMBER_PREFIXES[speaker]}{number}')}"


def new_document(nonce: str, newline: Newline = "\n") -> str:
    """An empty document. ``nonce``: 1 to 64 letters and digits that nothing else in it is likely to hold."""
    lines = [*_front_matter(nonce), "", heading(nonce, "you", 1), "", ""]
    return newline.join(lines)


def frame(document: ChatDocument, nonce: str) -> list[Edit]:
    """What makes a chat document of a text without a nonce, in the order of the text; its words are the person's.

    The first edit is of the front matter, the last one comes behind it.
    """
    newline = document.newline
    end = document.front_matter[1]
    start = 1 if document.text.startswith(BYTE_ORDER_MARK) else 0
    first = document.sections[0]
    you = f"{newline}{heading(nonce, 'you', 1)}{newline}" if first.start == first.body else ""
    if end <= start:
        return [Edit(start, newline.join(_front_matter(nonce))), Edit(start, f"{newline}{you}{newline}")]
    opening = document.text.index("\n", start) + 1
    return [Edit(opening, f"oi: {VERSION} {nonce}{newline}"), Edit(end, newline + you if you else "")]


def answer_begins(document: ChatDocument, section: Section) -> Answer:
    """What goes in behind ``section``, one of the person's, when it is sent. The document has a nonce.

    The heading of the answer, the marker that ends it, and the person's next heading where none follows.
    """
    if document.nonce is None:
        raise ValueError("The document has no nonce: frame it first.")
    newline, gap = document.newline, document.newline * 2
    number = section.number or document.next_number
    answers = {each.number for each in document.sections if each.kind == "assistant"}
    if number in answers:
        number = document.next_number
    at = section.append_at
    begin = f"{gap}{heading(document.nonce, 'assistant', number)}"
    text = f"{begin}{gap}{marker(document.nonce, 'tail')}"
    follows = document.sections[document.sections.index(section) + 1 :]
    if not any(each.kind == "you" for each in follows[:1]):
        after = max(document.next_number, number + 1)
        text += f"{gap}{heading(document.nonce, 'you', after)}{newline}"
        if not document.text[at : section.end].startswith(newline):
            text += newline
    return Answer(Edit(at, text), at + len(begin), number)


def _front_matter(nonce: str) -> list[str]:
    return ["---", f"oi: {VERSION} {nonce}", "---"]


def with_edits(text: str, edits: Sequence[Edit]) -> str:
    """A text with insertions in its order, each at its offset in the text as it was."""
    for edit in reversed(edits):
        text = text[: edit.at] + edit.text + text[edit.at :]
    return text
