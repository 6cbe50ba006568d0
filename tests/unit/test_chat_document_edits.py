"""Chat documents that were edited by hand: nothing is lost, and nothing is put into another's mouth."""

from __future__ import annotations

import re

from attrs import define, evolve
from hypothesis import given
from hypothesis import strategies as st

from oi_lsp.chat_document.conversation import messages, unsent
from oi_lsp.chat_document.document import ChatDocument
from oi_lsp.chat_document.parse import parse
from tests.unit.chat_documents import NONCE, Said, chunks_of, written

_TOKEN = re.compile(r"(person|model)[0-9]+x")
_TEXTS = ("{0}", "{0}\n\n{1}", "See:\n\n```\n{0}\n```\n\n{1}", "- {0}\n- {1}\n", "```json\n{0}\n```")
_CODES = ("print({0})", "a = '''\n```\n{0}\n```\n'''\n{1}\n", "# {0}\n\n# {1}", "~~~\n{0}")


@define
class Line:
    """A line on its way through the edits. ``section`` numbers the sections, ``copied``: it stands twice."""

    text: str
    section: int
    inside: bool  # of a block
    copied: bool = False


@st.composite
def conversations(draw: st.DrawFn) -> list[Said]:
    """A few turns in which every line names its speaker."""
    said, count = list[Said](), 0

    def words(speaker: str, forms: tuple[str, ...]) -> tuple[str, ...]:
        nonlocal count
        count += 2
        return (draw(st.sampled_from(forms)).format(f"{speaker}{count}x", f"{speaker}{count + 1}x"),)

    for _ in range(draw(st.integers(1, 3))):
        for number in range(draw(st.integers(1, 3))):
            said.append(Said("assistant", "message", None, words("model", _TEXTS)))
            said.append(Said("assistant", "code", "python", words("model", _CODES)))
            said.append(Said("computer", "console", None, words("model", ("{0}\n", "{0}")), parent=number))
        said.append(Said("user", "message", None, words("person", _TEXTS)))
    return said


def lines_of(document: ChatDocument) -> list[Line]:
    """The lines of an undamaged document."""
    found, at = list[Line](), 0
    blocks = [part for part in document.parts() if part.written_id]
    for text in document.text.splitlines(keepends=True):
        section = sum(each.start <= at for each in document.sections)
        found.append(Line(text, section, any(part.content_start <= at < part.content_end for part in blocks)))
        at += len(text)
    return found


class Editor:
    """Somebody who edits a document, and remembers in which sections that may have changed who speaks."""

    def __init__(self, lines: list[Line], draw: st.DrawFn) -> None:
        self.lines, self._draw = lines, draw
        self.touched: set[int] = set()  # sections with an edit to their lines
        self.headless: set[int] = set()  # sections that lost their marker
        self.risky: set[int] = set()  # sections in which a heading was written into code

    def at(self, wanted: list[int]) -> int | None:
        return self._draw(st.sampled_from(wanted)) if wanted else None

    def delete(self) -> None:
        at = self.at(list(range(4, len(self.lines))))
        if at is not None:
            line = self.lines.pop(at)
            self.touched.add(line.section)
            if NONCE in line.text and line.text.startswith("##"):
                self.headless.add(line.section)

    def remove_fence(self) -> None:
        at = self.at([at for at, line in enumerate(self.lines) if line.text.startswith("```")])
        if at is not None:
            self.touched.add(self.lines.pop(at).section)

    def paste(self) -> None:
        starts = [at for at, line in enumerate(self.lines) if re.match("`+python oi=", line.text)]
        begin, to = self.at(starts), self.at(list(range(4, len(self.lines))))
        if begin is None or to is None:
            return
        end = begin + 1
        while end < len(self.lines) and self.lines[end].inside:
            end += 1
        copy = self.lines[begin : end + 1]
        if any(NONCE in line.text for line in copy):
            return
        for line in copy:
            line.copied = True
        section = self.lines[to].section if not self.lines[to].text.startswith("##") else self.lines[to - 1].section
        self.touched.add(section)
        self.lines[to:to] = [evolve(line, section=section) for line in copy]

    def reword_heading(self) -> None:
        at = self.at([at for at, line in enumerate(self.lines) if NONCE in line.text and line.text.startswith("##")])
        if at is not None:
            words = self._draw(
                st.sampled_from(["## Yu", "# Me", "You", "", "## Assistant", "## You", "### Someone else"])
            )
            self.lines[at].text = words + re.sub(r"^## (You|Assistant)", "", self.lines[at].text)

    def join(self) -> None:
        at = self.at(list(range(4, len(self.lines) - 1)))
        if at is None or at + 1 >= len(self.lines):
            return
        first, second = self.lines[at : at + 2]
        if NONCE in second.text and not second.text.startswith("## "):
            return  # neither its heading nor a line of its own tells what the words before the marker are
        self.touched.update((first.section, second.section))
        first.text = first.text.rstrip("\n")

    def heading_in_code(self) -> None:
        at = self.at([at for at, line in enumerate(self.lines) if line.inside])
        if at is not None:
            section = self.lines[at].section
            self.risky.add(section)
            heading = self._draw(st.sampled_from(["## You\n", "## Assistant\n"]))
            self.lines.insert(at, Line(heading, section, inside=True))

    def remove_marker(self) -> None:
        at = self.at([at for at, line in enumerate(self.lines) if NONCE in line.text and line.text.startswith("## ")])
        if at is not None:
            self.headless.add(self.lines[at].section)
            self.lines[at].text = re.sub(r" *<!--.*-->", "", self.lines[at].text)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, set[str]]:
    """A document after some edits, and what is said in sections that still have their marker."""
    editor = Editor(lines_of(written(chunks_of(draw(conversations()))).document), draw)
    edits = [Editor.delete, Editor.remove_fence, Editor.paste, Editor.reword_heading, Editor.join]
    edits += [Editor.heading_in_code, Editor.remove_marker]
    for edit in draw(st.lists(st.sampled_from(edits), max_size=4)):
        edit(editor)
    # A heading that somebody wrote into code counts once the code's fence is gone: then it is their word.
    lost = editor.headless | (editor.risky & editor.touched)
    copied = {token[0] for line in editor.lines if line.copied for token in _TOKEN.finditer(line.text)}
    kept = [token[0] for line in editor.lines if line.section not in lost for token in _TOKEN.finditer(line.text)]
    return "".join(line.text for line in editor.lines), {token for token in kept if token not in copied}


def check_covered(document: ChatDocument) -> None:
    """Spans cover the text without a gap, and what is in none of the parts is blank."""
    at = 0
    for span in document.spans():
        assert span.start == at < span.end
        assert span.kind != "space" or not document.text[span.start : span.end].strip()
        at = span.end
    assert at == len(document.text)


@given(edited())
def test_nothing_is_put_into_anothers_mouth_and_nothing_is_lost(given_document: tuple[str, set[str]]) -> None:
    text, protected = given_document
    document = parse(text)
    check_covered(document)
    said = {
        token[0]: section.kind
        for section in document.sections
        for part in section.parts
        for token in _TOKEN.finditer(text[part.start : part.end])
    }
    assert set(said) == {token[0] for token in _TOKEN.finditer(text)}, text
    speakers = {"person": "you", "model": "assistant"}
    wrong = {token for token in protected if said[token] != speakers[token.rstrip("0123456789x")]}
    assert not wrong, text
    ids = [part.id for part in document.parts() if part.kind == "code" and part.id]
    assert len(ids) == len(set(ids))
    told = " ".join(message.text for message in messages(document))
    left_out = unsent(document)
    for section in document.sections:
        if section != left_out:
            assert all(token[0] in told for part in section.parts for token in _TOKEN.finditer(part.content))
