"""What is shown on the blocks of a chat document before a decision, and that it stands at its place."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from oi_engine.approval import Cell, Proposal, Remark
from oi_engine.safety.reveal import LONG_LINE, reveal
from oi_lsp.chat_document.document import ChatDocument, Part
from oi_lsp.chat_document.parse import parse
from oi_lsp.chat_document.remarks import (
    EDITED_ASK,
    EDITED_AUTO,
    NOT_SCANNED,
    Known,
    Text,
    Waiting,
    diagnostics,
    of_text,
)
from oi_lsp.documents import Document
from tests.unit.chat_documents import chunks_of, odd_text, sessions, written

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ENCODINGS = list(types.PositionEncodingKind)
DELETES = Remark("It deletes files.", "warning", 2, "python-delete-files")
ASKED = Remark("Your rule `policy.deny: rm` has this asked about.")
TEXT = "---\noi: 1 7f3a\n---\n\n## Assistant <!-- oi:7f3a.a1 -->\n\n```python oi=c1\n{}\n```\n"


def block(code: str, newline: str = "\n") -> tuple[str, Document, ChatDocument]:
    """A document with one block."""
    text = TEXT.format(code).replace("\n", newline)
    return text, Document("file:///a.oi.md", "markdown", 1, text), parse(text)


def waiting(code: str, *remarks: Remark, mode: str = "auto", reviewed: bool = True) -> Waiting:
    return Waiting("c1", Proposal("p", Cell("s", "python", code, "/"), remarks, reviewed), mode)


def shown(found: types.Diagnostic, text: str) -> str:
    """The text under a diagnostic on one line, of ASCII."""
    start, end = found.range.start, found.range.end
    assert start.line == end.line
    return text.split("\n")[start.line].rstrip("\r")[start.character : end.character]


def test_each_remark_stands_at_its_line_with_its_rule_and_weight() -> None:
    code = "import os\nif x:\n    os.remove('a')  "
    text, document, parsed = block(code)
    found = list(diagnostics(document, parsed, waiting(code, Remark("Bad.", "error", 3, "r"), ASKED), {}, {}))
    assert [(each.message, each.severity, each.code, shown(each, text)) for each in found] == [
        ("Bad.", types.DiagnosticSeverity.Error, "r", "os.remove('a')"),
        (ASKED.message, types.DiagnosticSeverity.Information, None, "```python oi=c1"),
    ]
    assert {each.source for each in found} == {"oi-lsp"}
    assert list(diagnostics(document, parsed, None, {}, {})) == []


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_is_said_of_a_text_is_not_said_of_another(newline: str) -> None:
    proposed = waiting("a\nb", DELETES, ASKED)
    assert of_text(proposed, newline.join("ab"), None) == ((DELETES, ASKED), True)
    assert of_text(proposed, "a\nc", None) == ((EDITED_AUTO,), False)
    assert of_text(proposed, "a\nc", Known("a\nc", ())) == ((), True)
    assert of_text(proposed, "a\nd", Known("a\nc", ())) == ((EDITED_AUTO,), False)
    ask = waiting("a", ASKED, mode="ask", reviewed=False)
    assert of_text(ask, "a", None) == ((ASKED, NOT_SCANNED), False)
    assert of_text(ask, "b", None) == ((NOT_SCANNED,), False)
    assert of_text(waiting("a", mode="ask"), "a", None) == ((), True)
    assert of_text(waiting("a", mode="ask"), "b", None) == ((EDITED_ASK,), False)
    off = waiting("a", ASKED, mode="off", reviewed=False)
    assert of_text(off, "a", None) == ((ASKED,), False)
    assert of_text(off, "b", None) == ((), False)


def test_what_ran_without_a_question_is_a_hint_until_it_is_edited() -> None:
    text, document, parsed = block("ls")
    known = {"c1": Known("ls", (Remark("It ran without a question. Your rule lets it run."),))}
    (found,) = diagnostics(document, parsed, None, {}, known)
    assert (found.severity, shown(found, text)) == (types.DiagnosticSeverity.Hint, "```python oi=c1")
    _, document, parsed = block("ls -l")
    assert list(diagnostics(document, parsed, None, {}, known)) == []


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_hides_is_shown_at_every_place(encoding: types.PositionEncodingKind) -> None:
    code = "x = '𝄞é\u202e'\ny = 'é\u202e\u200b'\nscоpe = 1\n" + "z" * (LONG_LINE + 1)
    text = TEXT.format(code)
    document = Document("file:///a.oi.md", "markdown", 1, text, encoding)
    found = list(diagnostics(document, parse(text), waiting(code), {}, {}))
    places = [(each.code, text[document.offset(each.range.start) : document.offset(each.range.end)]) for each in found]
    assert places == [
        ("bidi", "\u202e"),
        ("bidi", "\u202e"),
        ("invisible", "\u200b"),
        ("look-alike", "scоpe"),
        ("long-line", "z" * (LONG_LINE + 1)),
    ]
    units = {"utf-8": 11, "utf-16": 8, "utf-32": 7}
    assert found[0].range.start == types.Position(7, units[encoding.value])
    assert {each.severity for each in found} == {types.DiagnosticSeverity.Warning}
    assert all("\u202e" not in each.message for each in found)


def test_a_remark_hides_nothing_itself() -> None:
    _, document, parsed = block("x")
    (found,) = diagnostics(document, parsed, waiting("x", Remark("The model says: fine\u202e.")), {}, {})
    assert found.message == "The model says: fine‹U+202E RIGHT-TO-LEFT OVERRIDE›."


# --- whatever the document ---------------------------------------------------------------------------------------

_HIDING = st.text(st.sampled_from("\u202e\u200b\u00a0о𝄞é\r\n\t ax")) | st.just("x" * (LONG_LINE + 1))
documents = st.one_of(
    st.builds(lambda said, newline: written(chunks_of(said), newline).text, sessions, st.sampled_from(["\n", "\r\n"])),
    st.builds(
        lambda head, code, tail: f"{head}\n```python oi=c9\n{code}{tail}", odd_text, odd_text | _HIDING, odd_text
    ),
    st.builds(lambda code: TEXT.format(code) + "rest", _HIDING | odd_text),
)


def all_of(document: Document, parsed: ChatDocument, part: Part) -> list[types.Diagnostic]:
    """A remark on every line of a block, one on a line that it has not, one on the whole, and what hides in it."""
    code = parsed.unix(part.content)
    lines = [Remark("Here.", line=line) for line in range(code.count("\n") + 3)]
    now = Waiting(part.id or "", Proposal("p", Cell("s", "python", code, "/"), (*lines, ASKED)), "off")
    return list(diagnostics(document, parsed, now, {}, {}))


@calm
@given(documents, st.sampled_from(ENCODINGS))
def test_every_diagnostic_lies_within_its_block(text: str, encoding: types.PositionEncodingKind) -> None:
    document, parsed = Document("file:///a.oi.md", "markdown", 1, text, encoding), parse(text)
    for part in parsed.parts():
        if part.kind == "code" and part.id is not None:
            for found in all_of(document, parsed, part):
                start, end = document.offset(found.range.start), document.offset(found.range.end)
                assert part.start <= start <= end <= part.end
                assert document.range(start, end) == found.range, "no column is past the end of its line"
                if found.code is not None or found.message == "Here.":
                    inside = part.content_start <= start <= end <= part.content_end
                    assert inside or (part.start, part.info_end) == (start, end)


@calm
@given(documents, st.sampled_from(ENCODINGS))
def test_what_stands_at_a_place_of_the_code_stands_there_in_the_document(
    text: str, encoding: types.PositionEncodingKind
) -> None:
    document, parsed = Document("file:///a.oi.md", "markdown", 1, text, encoding), parse(text)
    for part in parsed.parts():
        if part.kind == "code":
            block = Text(document, parsed, part)
            for at, char in enumerate(block.code):
                if char not in "\r\n":
                    place = block.range(at, at + 1)
                    assert text[document.offset(place.start) : document.offset(place.end)] == char
            hidden = [place for finding in reveal(block.code).found for place in finding.places]
            assert len(hidden) == len(list(block.hidden()))
