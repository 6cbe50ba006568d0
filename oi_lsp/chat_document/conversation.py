"""The conversation that a chat document says, as LMC messages: for going on with it in a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from oi_lsp.chat_document.document import ChatDocument, Part, Section

if TYPE_CHECKING:
    from oi_engine.messages import Message, Recipient, Role

ReadImage = Callable[[str], "tuple[str, str] | None"]
"""Reads the image at an address of the document: its LMC format and content. ``None``: it is not for us to read."""

ROLES: dict[str, Role] = {
    "output": "computer",
    "note": "computer",
    "reasoning": "assistant",
    "file": "user",
    "audio": "user",
    "review": "assistant",
    "edited": "user",
    "rich": "computer",
}
"""The role of a part whose ``role`` attribute does not say otherwise; others have that of their section."""
SECTION_ROLES: dict[str, Role] = {"you": "user", "assistant": "assistant"}
_TYPES = {"code": "code", "edited": "code", "rich": "code", "output": "console", "note": "message", "text": "message"}
_SILENT = ("error", "question", "input")


def unsent(document: ChatDocument) -> Section | None:
    """What *Send* will send: the last section of the person's that says something and that no answer follows."""
    for section in reversed(document.sections):
        if section.kind == "assistant":
            return None
        if not section.blank:
            return section
    return None


def messages(document: ChatDocument, read_image: ReadImage | None = None) -> list[Message]:
    """All messages but those of the unsent section.

    Ids are made from the nonce and the place in the document, so that reading it again gives the same. Output, edits
    and notes have the id of their code message as ``parent``. Errors, questions and their answers are no messages.
    """
    left_out = unsent(document)
    teller = _Teller(document, read_image)
    for section in document.sections:
        if section is not left_out:
            teller.section(section)
    return teller.messages


def section_messages(document: ChatDocument, section: Section, read_image: ReadImage | None = None) -> list[Message]:
    """The messages of one section: what is sent."""
    teller = _Teller(document, read_image)
    teller.section(section)
    return teller.messages


def gist(messages: Sequence[Message]) -> list[tuple[str, str, str]]:
    """What messages come to where it matters whether a session and its document say the same.

    Code that the person edited in place is what they made of it; blank space around a text, and the data of an image,
    have other forms in a document. What is for the person alone does not count: no model gets it, and what is told
    beside the conversation stands in the document as well.
    """
    edits = {each.parent: each.text for each in messages if each.type == "code" and each.role == "user" and each.parent}
    gist: list[tuple[str, str, str]] = []
    for each in messages:
        if each.recipient == "user" or (each.type == "code" and each.role == "user" and each.parent):
            continue
        text = "" if each.type == "image" else edits.get(each.id, each.text).strip()
        if text or each.type in ("image", "console"):
            gist.append((each.role, each.type, text))
    return gist


@define
class _Teller:
    document: ChatDocument
    read_image: ReadImage | None
    messages: list[Message] = field(factory=list)
    _codes: dict[str, str] = field(factory=dict)  # an id that is written in the document: the last message that has it
    _requests: list[int] = field(factory=list)  # where what the person asked begins
    _count: int = 0

    def section(self, section: Section) -> None:
        if section.kind == "you" and not section.blank:
            self._requests.append(len(self.messages))
        for part in section.parts:
            self._count += 1
            if part.kind == "undo":
                del self.messages[self._requests.pop() if self._requests else 0 :]
            elif part.kind == "reset":
                self.messages.clear()
                self._requests.clear()
            elif part.kind not in _SILENT:
                self._add(part, section)

    def _add(self, part: Part, section: Section) -> None:
        from oi_engine.messages import RECIPIENTS, Message
        from oi_engine.messages import ROLES as KNOWN

        said = part.attributes
        role = said.get("role", "")
        recipient = said.get("to")
        content = self.document.unix(part.content)
        if part.kind == "output" and "more" in said and self._goes_on(part):
            return
        form = said.get("format")
        if part.kind == "output":
            form = "output"
        elif part.kind in ("code", "edited", "rich"):
            form = part.language
        kind = _TYPES.get(part.kind, part.kind)
        if part.kind == "image":
            image = self.read_image(part.content) if self.read_image else ("path", part.content)
            form, content = image or (None, f"(An image that is not in this document's folder: {part.content})")
            kind = "image" if image else "message"
        message = Message(
            role=_as_role(role) if role in KNOWN else _role(part, section),
            type=kind,  # type: ignore[arg-type]
            content=content,
            format=form,
            recipient=_as_recipient(recipient) if recipient in RECIPIENTS else None,
            id=f"d{self.document.nonce or ''}-{self._count}",
            parent=None if part.kind == "code" else self._codes.get(part.written_id or ""),
        )
        if part.kind == "code" and part.written_id and part.written_id != "-":
            self._codes[part.written_id] = message.id
        self.messages.append(message)

    def _goes_on(self, part: Part) -> bool:
        """Output after a question is of the message before it."""
        from attrs import evolve

        last = self.messages[-1] if self.messages else None
        if last is None or last.type != "console" or last.parent != self._codes.get(part.written_id or ""):
            return False
        self.messages[-1] = evolve(last, content=last.text + self.document.unix(part.content))
        return True


def _role(part: Part, section: Section) -> Role:
    if part.kind == "image" and section.kind == "assistant":
        return "computer"
    return ROLES.get(part.kind, SECTION_ROLES[section.kind])


def _as_role(word: str) -> Role:
    return word  # type: ignore[return-value]


def _as_recipient(word: str | None) -> Recipient | None:
    return word  # type: ignore[return-value]


def told(parsed: ChatDocument, read: ReadImage) -> list[Message]:
    """What a document says but for magic commands, which no model gets."""
    from oi_engine.magic.commands import parse as parse_magic

    sections, skipped = [], False
    for section in parsed.sections:
        if section.kind == "you":
            skipped = len(section.parts) == 1 and parse_magic(section.parts[0].content) is not None
        if not skipped:
            sections.append(section)
    return messages(evolve(parsed, sections=tuple(sections)), read)


def told_of_new_kernels() -> list[Message]:
    """What the model is told before a conversation of before goes on."""
    from oi_engine.history.restore import REOPENED
    from oi_engine.messages import Message

    return [Message("computer", "message", REOPENED)]
