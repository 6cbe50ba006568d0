"""Where in a chat document what comes of a turn is written."""

from __future__ import annotations

from oi_lsp.anchors import Anchor
from oi_lsp.chat_document.answers import Spot
from oi_lsp.chat_document.document import ChatDocument, Part, Section
from oi_lsp.chat_document.frame import answer_begins
from oi_lsp.chat_document.framing import Framed, Framing
from oi_lsp.chat_document.places import Place as At
from oi_lsp.chat_document.render import Renderer, SaveImage
from oi_lsp.document_writer import DocumentWriter


def below(writer: DocumentWriter, framed: Framed, section: Section, save: SaveImage) -> Spot:
    """Below what the person wrote and sends: an answer of its own, and their next heading."""
    begin = answer_begins(framed.document, section)
    append = writer.anchor(framed.place(begin.edit.at))
    behind = writer.anchor_after(append)
    within = begin.append - begin.edit.at
    renderer = _renderer(framed.document, save)
    renderer.next_number = max(renderer.next_number, begin.number) + 2

    def opening() -> None:
        writer.insert(append, begin.edit.text[:within], whole=True)
        writer.insert(behind, begin.edit.text[within:], whole=True)

    return Spot(renderer, {At.APPEND: append}, opening, anchors=[append, behind])


def again(writer: DocumentWriter, document: ChatDocument, part: Part, save: SaveImage) -> Spot:
    """Below a block and all that came of it before."""
    of = [each.end for each in document.parts() if each.written_id == part.written_id and each.start >= part.start]
    append = writer.anchor(max(of))
    return Spot(_renderer(document, save), {At.APPEND: append}, block=part.id, anchors=[append])


def beside(framing: Framing, save: SaveImage) -> Spot:
    """Sections of its own, above the person's last heading where nothing is sent yet."""
    framed = framing.framed()
    renderer = _renderer(framed.document, save)
    renderer.speaker = None
    append = _above_last(framing, framed)
    return Spot(renderer, {At.APPEND: append}, has_request=False, anchors=[append])


def _above_last(framing: Framing, framed: Framed) -> Anchor:
    sections = framed.document.sections
    before = sections[:-1] if sections[-1].kind == "you" else sections
    if not before:
        return framing.below_front_matter()
    last = before[-1]
    return framing.writer.anchor(framed.place(last.append_at if last.tail is None else last.end))


def _renderer(document: ChatDocument, save: SaveImage) -> Renderer:
    return Renderer(
        document.nonce or "",
        save,
        next_block=document.next_block,
        next_number=document.next_number,
        newline=document.newline,
    )
