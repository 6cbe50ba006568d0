"""What stands in documents: chat documents, changes of any range, comments that ask for edits, magic commands."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from lsprotocol import types

from oi_engine.magic import commands
from oi_lsp.documents import Document, Documents
from oi_lsp.inline_edit.comments import LONGEST, oi_comments
from tests.fuzz.fuzzing import Dice, dice, fuzzed, property_of, texts
from tests.unit import test_chat_document_parse, test_chat_document_render
from tests.unit.chat_documents import _ODD, Said

ODD = texts(*_ODD, length=14)


@fuzzed(st.tuples(st.booleans(), ODD, ODD, st.sampled_from(["", "```python oi=c1\n", "````\n"])), 5000)
def test_any_text_is_a_chat_document(given: Any) -> None:
    property_of(test_chat_document_parse.test_any_text_is_a_document)(*given)


KINDS: tuple[Any, ...] = (
    *(("user", "message", None), ("assistant", "message", None), ("assistant", "code", "python")),
    *(("computer", "console", None), ("computer", "message", None), ("assistant", "reasoning", None)),
    *(("computer", "code", "html"), ("computer", "image", "base64.png"), ("user", "code", "shell")),
    *(("user", "image", "path"), ("user", "file", "text"), ("server", "error", None)),
    *(("user", "command", "reset"), ("server", "status", None), ("assistant", "review", None)),
)


def session(drawn: Dice) -> list[Said]:
    """What is said in a session."""
    found = []
    for _ in range(drawn.below(7)):
        pieces = tuple(drawn.some(_ODD, 8))
        parent, question = drawn.pick((None, 0, 1, 2)), drawn.pick((None, None, None, 0, 1))
        role, kind, form = drawn.pick(KINDS)
        found.append(Said(role, kind, form, pieces, None, parent, question))
    return found


@fuzzed(st.tuples(dice(90), st.sampled_from(["\n", "\r\n"])), 2500)
def test_a_session_comes_back_from_its_document(given: Any) -> None:
    drawn, newline = given
    property_of(test_chat_document_render.test_a_session_comes_back_from_its_document)(session(drawn), newline)


URI = "file:///a.py"
PIECES = ("\n", "\r", "\r\n", "\x0b", "\u2028", "a", "é", "e\u0301", "中", "\U0001f600", "\t", "  ")
NUMBERS = (0, 0, 1, 1, 2, 3, 5, 9, 70_000, 2**31 - 1)


def place(drawn: Dice) -> types.Position:
    return types.Position(drawn.pick(NUMBERS), drawn.pick(NUMBERS))


@fuzzed(dice(60), 5000)
def test_a_document_follows_changes_of_any_range(drawn: Dice) -> None:
    documents = Documents(drawn.pick(list(types.PositionEncodingKind)))
    text = drawn.text(PIECES, 8)
    documents.open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "python", 0, text)))
    for version in drawn.some((1, 2, 2, -5, 2**31 - 1), 3):
        changes: list[types.TextDocumentContentChangeEvent] = []
        for _ in range(drawn.below(3)):
            new = drawn.text(PIECES, 3)
            span = types.Range(place(drawn), place(drawn))
            partial = types.TextDocumentContentChangePartial(span, new, drawn.pick((None, 0, 5)))
            changes.append(partial if drawn.below(8) else types.TextDocumentContentChangeWholeDocument(new))
        documents.change(
            types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(version, URI), changes)
        )
    document = documents.get(URI)
    if document is None or not document.known:
        return
    for spot in (place(drawn), place(drawn)):
        offset = document.offset(spot)
        assert 0 <= offset <= len(document.text)
        again = document.offset(document.range(offset, offset).start)
        assert again == offset or document.text[offset - 1 : offset + 1] == "\r\n"
    start, end = document.span(types.Range(place(drawn), place(drawn)))
    assert 0 <= start <= len(document.text)
    assert 0 <= end <= len(document.text)


COMMENTS = texts(
    *("# oi: ", "// oi: ", "/* oi: ", "*/", "<!-- oi: ", "-->", "(* oi: ", "*)", "-- oi:\t", "#oi:", "oi:", "#", "*"),
    *(
        "\n",
        "\n",
        "\n    ",
        "\n\t",
        "\n\n",
        "if x:",
        "x = 1  ",
        "else:",
        "}",
        "end",
        "do it",
        "\r\n",
        "\u2028",
        " " * 30,
    ),
    length=16,
)


@fuzzed(st.tuples(COMMENTS, st.integers(0, 60), st.integers(0, 60)), 5000)
def test_comments_that_ask_are_found_in_any_text(given: tuple[str, int, int]) -> None:
    text, first, second = given
    document = Document(URI, "python", 0, text)
    start, end = sorted((min(first, len(text)), min(second, len(text))))
    for comment in oi_comments(document, start, end):
        assert 0 <= comment.block_start <= comment.start <= comment.end <= comment.block_end <= len(text)
        assert comment.instruction.strip()
        assert text.count("\n", comment.start, comment.end) <= LONGEST


MAGIC = texts(
    *(
        "%",
        "%%",
        "!",
        " ",
        "help",
        "settings",
        "set ",
        "auto_run",
        "reset",
        "undo",
        "save_message ",
        "load_message",
        "=",
        "\n",
    ),
    *(
        "markdown ",
        "jupyter",
        "history ",
        "open",
        "tokens",
        "model ",
        "verbose",
        "policy",
        "sandbox allow ",
        "info",
        "../..",
        "~",
    ),
    *("'", '"', "\\", "/", "/etc/", "\x00", "llm.", "true", "a" * 300),
    length=6,
).map("%".__add__)


@fuzzed(MAGIC, 4000, examples=["%load_message ~nobody/", "%load_message /" + "x" * 300 + "/"])
def test_magic_commands_are_read_and_completed(text: str) -> None:
    parsed = commands.parse(text)
    assert parsed is not None
    assert len(parsed.rest) <= len(text)
    for offer in commands.offers(text, "/nowhere"):
        assert offer.text
    assert commands.parse(text[1:]) is None or text.startswith("%%") or text[1:].lstrip().startswith("%")
