"""What the tests of chat documents share: streams of sessions, and what of them a document must give back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from attrs import evolve, frozen
from hypothesis import strategies as st

from oi_engine.messages import Chunk, Message
from oi_engine.stream import Stream
from oi_engine.transcript import fold
from oi_lsp.chat_document.conversation import messages
from oi_lsp.chat_document.document import ChatDocument, trimmed
from oi_lsp.chat_document.frame import answer_begins, new_document
from oi_lsp.chat_document.parse import parse
from oi_lsp.chat_document.places import Insertion, Place, Places
from oi_lsp.chat_document.render import Renderer
from oi_lsp.chat_document.syntax import Newline

NONCE = "7f3a"

_ODD = [
    *("```", "````", "~~~", "`", "   ", "\n", "\n\n", "\r", "\r\n", "## You", "## Assistant", "##", "# ", "\\", "\t"),
    *("oi=c1", "oi=", "oi", "python oi=c1", "```python oi=c1\n", "```output oi=c1\n1\n```\n", "oi\\=c1", "> ", "- "),
    *("<!-- oi:7f3a.u1 -->", "<!-- oi:7f3a.tail -->", "<!-- oi:7f3a", ".a1 -->", "<!-- oi:7f3a\\.u1 -->", "<!--"),
    *("## You <!-- oi:7f3a.u2 -->\n", "\n## Assistant\n", "![image](a.png) <!-- oi:7f3a.image -->", "---\n"),
    *("<!-- oi:7f3a.closed -->", "<!-- oi:7f3a.next -->", "oi: 1 7f3a\n", "## Yo", "u", "\u2028", "\x0b", "\\## You"),
    *("-->", "word", "é"),
]
odd_text = st.lists(st.sampled_from(_ODD) | st.text(max_size=4), max_size=12).map("".join)
"""Text made of what means something in a document, and of nearly that."""


@frozen
class Said:
    """A message to be put into a stream; ``parent`` is the number of an earlier code message, or none."""

    role: Any
    type: Any
    format: str | None
    pieces: tuple[str, ...]
    recipient: Any = None
    parent: int | None = None
    question: int | None = None
    """After so many pieces, the program asks."""


def _cut(text: str, every: int) -> tuple[str, ...]:
    return tuple(text[at : at + every] for at in range(0, len(text), every))


_ROLES = st.sampled_from(["user", "assistant", "computer", "server"])
_FORMATS = st.none() | st.sampled_from(["python", "html", "output", "c++", "a b", "text", "é`", "wav", "edited", "%41"])
_PIECES = st.builds(_cut, odd_text, st.sampled_from([1, 2, 3, 7, 1000]))
usual = st.builds(
    lambda kind, pieces, parent, question: Said(kind[0], kind[1], kind[2], pieces, None, parent, question),
    st.sampled_from(
        [
            *(("user", "message", None), ("assistant", "message", None), ("assistant", "code", "python")),
            *(("computer", "console", None), ("computer", "message", None), ("assistant", "reasoning", None)),
            *(("computer", "code", "html"), ("computer", "image", "base64.png"), ("user", "code", "shell")),
            *(("user", "image", "path"), ("user", "file", "text"), ("server", "error", None)),
            *(("user", "command", "reset"), ("server", "status", None), ("assistant", "review", None)),
        ]
    ),
    _PIECES,
    st.none() | st.integers(0, 3),
    st.none() | st.integers(0, 3),
)
unusual = st.builds(
    Said,
    _ROLES,
    st.sampled_from(["message", "code", "console", "image", "file", "audio", "review", "reasoning"]),
    _FORMATS,
    _PIECES,
    st.none() | st.sampled_from(["user", "assistant"]),
    st.none() | st.integers(0, 3),
)
sessions = st.lists(usual | unusual, max_size=12)


def chunks_of(said: Iterable[Said]) -> list[Chunk | str]:
    """The stream of a session that begins with the message ``Begin``; a text is a program's question."""
    stream, found, codes = Stream(), list[Chunk | str](), list[str]()
    stream.subscribe(lambda entry: found.append(entry.chunk))
    for one in [Said("user", "message", None, ("Begin",)), *said]:
        if one.type in ("error", "command", "status"):
            stream.put(Chunk(one.role, one.type, content=one.format or "".join(one.pieces), id="x"))
            continue
        proposed = one.type == "code" and one.role in ("assistant", "server")
        answers = one.parent is not None and codes and not proposed
        parent = codes[one.parent % len(codes)] if one.parent is not None and answers else None
        form = None if one.type == "console" else one.format
        message_id = stream.open(one.role, one.type, form, recipient=one.recipient, parent=parent)
        if proposed or (one.type == "code" and one.role == "user" and not parent):
            codes.append(message_id)
        for number, piece in enumerate(one.pieces):
            if one.type == "console" and number == one.question:
                found.append(piece)
            # What a carriage return after a question would have taken back stands there already.
            stream.write(piece if one.question is None else piece.replace("\r", ""))
    stream.put(Chunk("server", "status", content="complete", id="x"))
    return found


@frozen
class Written:
    """A document that a session was written into."""

    text: str
    document: ChatDocument
    images: dict[str, tuple[str, str]]

    def messages(self) -> list[Message]:
        return messages(self.document, lambda address: self.images.get(address, ("path", address)))


def written(
    items: Sequence[Chunk | str],
    newline: Newline = "\n",
    after_each: Callable[[str, Places], object] = lambda text, places: None,
) -> Written:
    """The document of a session whose first message, the chunks up to an ``end``, the person typed into it."""
    text = new_document(NONCE, newline) + f"Begin{newline}"
    document = parse(text)
    answer = answer_begins(document, document.sections[-1])
    text = text[: answer.edit.at] + answer.edit.text + text[answer.edit.at :]
    images: dict[str, tuple[str, str]] = {}

    def save(form: str, content: str) -> str:
        address = f"files/{len(images)} (1).png"
        images[address] = (form, content)
        return address

    renderer = Renderer.following(parse(text), save)
    places = Places({Place.APPEND: answer.append})
    typed = next(at for at, item in enumerate(items) if isinstance(item, Chunk) and item.end)
    for item in items[typed + 1 :]:
        insertions: list[Insertion]
        insertions = renderer.question(item)[1] if isinstance(item, str) else renderer.feed(item)
        text = places.apply(text, insertions)
        after_each(text, places)
    text = places.apply(text, renderer.finish())
    return Written(text, parse(text), images)


def expected(chunks: Iterable[Chunk | str], newline: Newline = "\n") -> list[Message]:
    """The messages of a stream as a document gives them back: this says all that is normalised.

    Blank lines around text are not kept, nor blank text; no language is the same as an empty one, no format of an image
    the same as the documented default; in a document whose lines end in ``\\r\\n``, so do all lines of content; times
    are not kept, and ids are others, but the parents match. That a program printed nothing is not said where what it
    showed comes next.
    """
    items = list(chunks)
    unsaid = _unsaid(items)
    found: list[Message] = []
    for message in fold(chunk for chunk in items if isinstance(chunk, Chunk)):
        if message.id in unsaid and not message.text:
            continue
        plain = message.format is None and message.recipient is None and message.parent is None
        content = message.text
        if newline == "\r\n" and message.type != "image":
            content = content.replace("\r\n", "\n")
        if message.type == "message" and message.role in ("user", "assistant") and plain:
            start, end = trimmed(content, 0, len(content))
            content = content[start:end]
            if not content:
                continue
        form = message.format or ("base64" if message.type == "image" else None)
        found.append(evolve(message, content=content, format=form, created_at=""))
    return found


def _unsaid(items: Sequence[Chunk | str]) -> set[str]:
    """The console messages right after which something is shown by the same program."""
    heads = {item.id: item for item in items if isinstance(item, Chunk) and item.start}
    unsaid = set()
    for one, other in pairwise(items):
        if isinstance(one, Chunk) and isinstance(other, Chunk) and one.end and other.start and one.type == "console":
            shown = other.type == "image" or (other.type, other.role) == ("code", "computer")
            if shown and heads[one.id].parent == other.parent:
                unsaid.add(one.id)
    return unsaid


def comparable(found: Sequence[Message]) -> list[Message]:
    """Messages with their ids and parents numbered."""
    numbers = {message.id: str(number) for number, message in enumerate(found)}
    return [
        evolve(message, id=numbers[message.id], parent=numbers.get(message.parent or ""), created_at="")
        for message in found
    ]
