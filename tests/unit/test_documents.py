"""The mirror of the client's documents: the same text and the same positions, whatever is changed and how it counts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from oi_lsp.documents import Change, Document, Documents

URI = "file:///chat.oi.md"
ENCODINGS = tuple(types.PositionEncodingKind)
# Lines of every kind, what is no line break in LSP, and characters of one to four bytes, two of them as one letter.
ALPHABET = ("\n", "\r", "\r\n", "\x0b", "\u2028", "a", "b", "é", "e\u0301", "中", "\U0001f600", "\U00010348")
texts = st.lists(st.sampled_from(ALPHABET), max_size=12).map("".join)


def opened(text: str, encoding: types.PositionEncodingKind | str = "utf-16", version: int = 0) -> Documents:
    documents = Documents(encoding)
    item = types.TextDocumentItem(URI, "markdown", version, text)
    documents.open(types.DidOpenTextDocumentParams(item))
    return documents


def mirror(documents: Documents) -> Document:
    document = documents.get(URI)
    assert document is not None
    return document


def change(documents: Documents, *changes: types.TextDocumentContentChangeEvent, version: int = 1) -> None:
    identifier = types.VersionedTextDocumentIdentifier(version, URI)
    documents.change(types.DidChangeTextDocumentParams(identifier, list(changes)))


def partial(text: str, *ends: int) -> types.TextDocumentContentChangePartial:
    line, character, last_line, last_character = ends
    span = types.Range(types.Position(line, character), types.Position(last_line, last_character))
    return types.TextDocumentContentChangePartial(span, text)


def whole(text: str) -> types.TextDocumentContentChangeWholeDocument:
    return types.TextDocumentContentChangeWholeDocument(text)


# --- the straightforward model: lines by split, units by character ------------------------------------------------


def units(text: str, encoding: str) -> int:
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    return (
        sum(len(character.encode(encoding.replace("16", "16-le").replace("32", "32-le"))) for character in text)
        // width
    )


def model_lines(text: str) -> list[tuple[int, int]]:
    """Start and end, without the line break, of each line."""
    pieces = re.split("(\r\n|\n|\r)", text)
    spans, at = [], 0
    for index in range(0, len(pieces), 2):
        spans.append((at, at + len(pieces[index])))
        at += sum(map(len, pieces[index : index + 2]))
    return spans


def model_position(text: str, offset: int, encoding: str) -> tuple[int, int]:
    line, (begin, end) = max((n, span) for n, span in enumerate(model_lines(text)) if span[0] <= offset)
    return line, units(text[begin : min(offset, end)], encoding)


def model_offset(text: str, line: int, character: int, encoding: str) -> int:
    lines = model_lines(text)
    if line >= len(lines):
        return len(text)
    begin, end = lines[line]
    return max(at for at in range(begin, end + 1) if units(text[begin:at], encoding) <= character)


def assert_same_positions(document: Document) -> None:
    text, encoding = document.text, document.encoding.value
    assert document.line_count == len(model_lines(text))
    assert [document.line_span(line) for line in range(document.line_count)] == model_lines(text)
    for offset in range(len(text) + 1):
        position = document.position(offset)
        assert (position.line, position.character) == model_position(text, offset, encoding)
    for line in range(document.line_count + 1):
        for character in range(20):
            position = types.Position(line, character)
            assert document.offset(position) == model_offset(text, line, character, encoding)


@given(texts, st.sampled_from(ENCODINGS))
def test_positions_are_those_of_the_model(text: str, encoding: types.PositionEncodingKind) -> None:
    assert_same_positions(mirror(opened(text, encoding)))


@given(texts, st.lists(st.tuples(st.integers(0), st.integers(0), texts), max_size=6), st.sampled_from(ENCODINGS))
def test_random_changes_leave_the_text_and_the_positions_of_the_model(
    text: str, edits: list[tuple[int, int, str]], encoding: types.PositionEncodingKind
) -> None:
    documents = opened(text, encoding)
    document = mirror(documents)
    seen: list[Change] = []
    document.subscribe(lambda _, change: seen.append(change))
    replayed = text
    for version, (one, other, new) in enumerate(edits, 1):
        start, end = sorted((one % (len(text) + 1), other % (len(text) + 1)))
        begin, until = model_position(text, start, encoding.value), model_position(text, end, encoding.value)
        # Within CR LF there is no position: the client could not say so either.
        start, end = (model_offset(text, *position, encoding.value) for position in (begin, until))
        change(documents, partial(new, *begin, *until), version=version)
        text = text[:start] + new + text[end:]
        assert document.text == text
        assert document.version == version
        assert_same_positions(document)
    for made in seen:
        replayed = replayed[: made.start] + made.text + replayed[made.end :]
    assert replayed == text


@given(texts, texts)
def test_a_whole_text_becomes_one_change_and_no_larger_than_it_must_be(old: str, new: str) -> None:
    documents = opened(old)
    seen: list[Change] = []
    mirror(documents).subscribe(lambda _, change: seen.append(change))
    change(documents, whole(new))
    assert mirror(documents).text == new
    assert_same_positions(mirror(documents))
    assert len(seen) == (old != new)
    for made in seen:
        assert old[: made.start] + made.text + old[made.end :] == new
        gone = old[made.start : made.end]
        assert not (gone and made.text) or (gone[0] != made.text[0] and gone[-1] != made.text[-1])
        assert made.delta == len(new) - len(old)


def test_each_content_change_is_told_with_the_text_that_it_made() -> None:
    documents = opened("one\ntwo\n")
    document = mirror(documents)
    seen: list[tuple[str, Change]] = []
    end = document.subscribe(lambda changed, change: seen.append((changed.text, change)))
    change(documents, partial("1", 0, 0, 0, 3), partial("!", 0, 1, 0, 1), version=7)
    assert seen == [("1\ntwo\n", Change(0, 3, "1", 7)), ("1!\ntwo\n", Change(1, 1, "!", 7))]
    end()
    end()
    change(documents, partial("x", 0, 0, 0, 0), version=8)
    assert len(seen) == 2


def test_a_listener_that_fails_harms_neither_the_mirror_nor_the_next_one() -> None:
    documents = opened("")
    seen: list[str] = []

    def fails(*_: object) -> None:
        raise ValueError

    mirror(documents).subscribe(fails)
    mirror(documents).subscribe(lambda document, _: seen.append(document.text))
    change(documents, partial("a", 0, 0, 0, 0), partial("b", 0, 1, 0, 1))
    assert seen == ["a", "ab"]


def test_what_is_out_of_range_is_clamped() -> None:
    document = mirror(opened("ab\r\ncd"))
    assert document.offset(types.Position(0, 99)) == 2
    assert document.offset(types.Position(9, 9)) == 6
    assert document.position(99) == types.Position(1, 2)
    assert document.position(-5) == types.Position(0, 0)
    assert document.span(types.Range(types.Position(1, 1), types.Position(0, 1))) == (1, 5)
    assert document.range(1, 5) == types.Range(types.Position(0, 1), types.Position(1, 1))


def test_an_offset_within_a_character_is_before_it() -> None:
    assert mirror(opened("a😀b", "utf-16")).offset(types.Position(0, 2)) == 1
    assert mirror(opened("a😀b", "utf-8")).offset(types.Position(0, 4)) == 1


def test_half_a_surrogate_pair_counts_as_one_unit() -> None:
    document = mirror(opened("\ud83d|\ude00", "utf-16"))
    assert [document.position(offset).character for offset in range(4)] == [0, 1, 2, 3]
    assert [document.offset(types.Position(0, unit)) for unit in range(4)] == [0, 1, 2, 3]


def test_a_change_of_a_document_that_is_not_open_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    documents = Documents()
    change(documents, whole("x"))
    documents.save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(URI)))
    documents.close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))
    assert documents.get(URI) is None
    assert len(caplog.records) == 3


def test_a_version_may_be_null_and_may_move_without_a_change() -> None:
    documents = opened("a", version=1)
    mirror(documents).apply(whole("b"), None)
    assert mirror(documents).version is None
    change(documents, version=5)
    change(documents, whole("b"), version=6)
    assert (mirror(documents).version, mirror(documents).text) == (6, "b")


def test_a_document_is_unknown_until_the_client_sends_all_of_it() -> None:
    documents = opened("abc", version=1)
    other = types.TextDocumentItem("file:///other", "markdown", 0, "")
    documents.open(types.DidOpenTextDocumentParams(other))
    document = mirror(documents)
    told: list[Change] = []
    document.subscribe(lambda _, made: told.append(made))
    documents.lose(URI)
    documents.lose("file:///nowhere")
    assert [each.known for each in documents] == [False, True]
    change(documents, types.TextDocumentContentChangePartial(types.Range(*[types.Position(0, 0)] * 2), "x"), version=3)
    assert (document.text, document.version, told) == ("abc", 3, [])
    change(documents, whole("abc"), version=4)
    assert document.known
    assert told == [Change(0, 0, "", 4)]
    documents.lose(None)
    assert [each.known for each in documents] == [False, False]
    documents.save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(URI), "abcd"))
    assert document.known
    assert told[1:] == [Change(3, 3, "d", 4)]


def test_opening_saving_and_closing_are_told() -> None:
    documents = Documents("utf-32")
    told: list[tuple[str, str]] = []
    documents.on_open(lambda document: told.append(("open", document.text)))
    documents.on_save(lambda document: told.append(("save", document.text)))
    documents.on_close(lambda document: told.append(("close", document.text)))
    item = types.TextDocumentItem(URI, "markdown", 0, "a")
    documents.open(types.DidOpenTextDocumentParams(item))
    first = mirror(documents)
    first.on_close(lambda document: told.append(("gone", document.text)))
    identifier = types.TextDocumentIdentifier(URI)
    documents.save(types.DidSaveTextDocumentParams(identifier, "saved"))
    documents.open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "markdown", 0, "again")))
    assert (first.closed, mirror(documents).closed) == (True, False)
    documents.close(types.DidCloseTextDocumentParams(identifier))
    assert list(documents) == []
    assert told == [
        ("open", "a"),
        ("save", "saved"),
        ("gone", "saved"),
        ("close", "saved"),
        ("open", "again"),
        ("close", "again"),
    ]


@pytest.mark.parametrize(("text", "newline"), [("", "\n"), ("a\r\nb\n", "\r\n"), ("a\rb", "\r"), ("a\u2028b\n", "\n")])
def test_the_newline_is_that_of_the_first_line(text: str, newline: str) -> None:
    assert mirror(opened(text)).newline == newline
