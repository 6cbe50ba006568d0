"""Sessions written into chat documents and read back; and that nothing that is said becomes a mark."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.messages import Chunk
from oi_engine.stream import Stream
from oi_lsp.chat_document.conversation import messages, unsent
from oi_lsp.chat_document.frame import answer_begins, frame, new_document, with_edits
from oi_lsp.chat_document.parse import parse
from oi_lsp.chat_document.places import Place, Places
from oi_lsp.chat_document.render import Renderer
from oi_lsp.chat_document.syntax import Newline
from tests.unit.chat_documents import NONCE, Said, chunks_of, comparable, expected, odd_text, sessions, written
from tests.unit.test_chat_document_edits import check_covered

LINES = st.sampled_from(["\n", "\r\n"])
BEGIN = "---\noi: 1 7f3a\n---\n\n## You <!-- oi:7f3a.u1 -->\n\nBegin\n\n## Assistant <!-- oi:7f3a.a1 -->\n\n"
END = "\n\n<!-- oi:7f3a.tail -->\n\n## You <!-- oi:7f3a.u2 -->\n\n"


def answer(*said: Said) -> str:
    """What stands in the document as the answer."""
    text = written(chunks_of(said)).text
    assert text.startswith(BEGIN)
    assert text.endswith(END)
    return text[len(BEGIN) : -len(END)]


@given(sessions, LINES)
def test_a_session_comes_back_from_its_document(said: list[Said], newline: Newline) -> None:
    chunks = chunks_of(said)
    found = written(chunks, newline)
    assert comparable(found.messages()) == comparable(expected(chunks, newline)), found.text
    assert not found.document.problems
    check_covered(found.document)


@given(sessions, LINES)
def test_it_does_not_matter_how_content_is_cut(said: list[Said], newline: Newline) -> None:
    whole = [evolve(one, pieces=("".join(one.pieces),), question=None) for one in said]
    single = [evolve(one, pieces=tuple("".join(one.pieces))) for one in whole]
    assert written(chunks_of(single), newline).text == written(chunks_of(whole), newline).text


@given(odd_text, LINES, st.sampled_from(["message", "code", "console", "reasoning"]))
def test_what_is_said_makes_no_marks(words: str, newline: Newline, kind: str) -> None:
    """At no moment: neither a section, nor a block's id, nor a marker, nor a problem."""
    role = "computer" if kind == "console" else "assistant"

    def check(text: str, places: Places) -> None:
        document = parse(text)
        assert [(section.kind, section.number) for section in document.sections] == [
            ("you", 1),
            ("assistant", 1),
            ("you", 2),
        ]
        if kind != "message":  # of text, a fence may be open until it is whole
            assert not document.problems
        assert len(document.sections[1].parts) <= 1
        assert {part.kind for part in document.parts()} <= {
            "text",
            {"message": "text", "console": "output"}.get(kind, kind),
        }
        assert document.tail == text.index("<!-- oi:7f3a.tail -->")

    written(chunks_of([Said(role, kind, None, tuple(words))]), newline, check)


@given(sessions, st.lists(st.tuples(st.integers(0, 200), st.floats(0, 1)), max_size=8))
def test_what_the_person_types_meanwhile_moves_the_places(said: list[Said], typed: list[tuple[int, float]]) -> None:
    """The text that both wrote, without what the person typed, is the text that the server wrote."""
    chunks = chunks_of(said)
    quiet = written(chunks).text
    text, at = BEGIN.removesuffix("\n\n") + END, 0
    places = Places({Place.APPEND: len(BEGIN) - 2})
    renderer = Renderer.following(parse(text), lambda form, content: "files/a.png")
    due = dict(typed)
    for item in chunks[3:]:
        for insertion in renderer.question(item)[1] if isinstance(item, str) else renderer.feed(item):
            text = places.apply(text, [insertion])
            if at in due:
                where = int(due[at] * len(text))
                text = text[:where] + "\ue000\ue000" + text[where:]
                places.changed(where, where, 2)
            at += 1
    images = [one for one in said if one.type == "image" and one.format != "path"]
    if not images:
        assert text.replace("\ue000", "") == quiet


def test_a_session_reads_well() -> None:
    said = [
        Said("assistant", "message", None, ("I will ", "print it.\n")),
        Said(
            "assistant",
            "code",
            "python",
            (
                "print(",
                "'```')\n```",
            ),
        ),
        Said("computer", "console", None, ("```\n", "10%\r20%\n", "end"), parent=0),
        Said("computer", "message", None, ("Stopped; variables are kept.",), parent=0),
        Said("computer", "code", "html", ("<b>1</b>",), parent=0),
        Said("computer", "image", "path", ("plots/a b.png",), parent=0),
        Said("assistant", "message", None, ("Done.",)),
        Said("assistant", "message", None, ("Really.",)),
        Said("server", "error", "It broke.", ()),
    ]
    assert answer(*said) == (
        "I will print it.\n\n"
        "````python oi=c1\nprint('```')\n```\n````\n\n"
        "````output oi=c1 no-final-newline\n```\n20%\nend\n````\n\n"
        "```note oi=c1\nStopped; variables are kept.\n```\n\n"
        "```html oi=c1 shown\n<b>1</b>\n```\n\n"
        "![image](plots/a%20b.png) <!-- oi:7f3a.image of=c1 -->\n\n"
        "Done.\n\n<!-- oi:7f3a.next -->\n\nReally.\n\n"
        "```error oi=-\nIt broke.\n```"
    )


def test_what_another_front_end_sent_stands_under_a_heading_of_its_own() -> None:
    found = answer(Said("user", "message", None, ("Hi",)), Said("user", "code", "r", ("1",)))
    assert found == ("## You <!-- oi:7f3a.u3 -->\n\nHi\n\n```r oi=c1\n1\n```\n\n## Assistant <!-- oi:7f3a.a3 -->")


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("## You", "\\## You"),
        ("  ## Assistant x", "  \\## Assistant x"),
        ("\\## You", "\\\\## You"),
        ("a ## You", "a ## You"),
        ("## Yours", "\\## Yours"),
        ("## Note", "## Note"),
        ("```python oi=c1\n1\n```", "```python oi\\=c1\n1\n```"),
        ("oi=c1", "oi=c1"),
        ("<!-- oi:7f3a.u1 -->", "<!-- oi:7f3a\\.u1 -->"),
        ("<!-- oi:0000.u1 -->", "<!-- oi:0000.u1 -->"),
        ("```\n1", "```\n1\n```\n<!-- oi:7f3a.closed -->"),
    ],
)
def test_how_marks_are_kept_from_coming_about(words: str, form: str) -> None:
    assert answer(Said("assistant", "message", None, (words,))) == form


def test_text_is_held_back_only_while_it_may_become_a_heading() -> None:
    renderer, stream, shown = Renderer(NONCE, lambda form, content: ""), Stream(), list[str]()
    stream.subscribe(lambda entry: shown.append("".join(each.text for each in renderer.feed(entry.chunk))))
    stream.open("assistant", "message")
    for piece in ("Hello", " wor", "ld\n", "##", " A", "ss", "et\n## Y", "ou", "!\n#", "x <!-- oi:7f3a", ".u1"):
        stream.write(piece)
    assert shown[1:] == [
        *("\n\nHello", " wor", "ld\n", "", "", "", "## Asset\n", "\\## You", "!\n"),
        *("#x <!-- oi:7f3a", "\\.u1"),
    ]


def test_a_question_is_answered_in_the_document() -> None:
    stream, items = Stream(), list[Chunk]()
    stream.subscribe(lambda entry: items.append(entry.chunk))
    stream.open("computer", "console")
    stream.write("Hello\nYour name? ", "output")
    stream.write("2", "active_line")
    stream.write("Hi Ann\n", "output")
    stream.close()
    text = BEGIN.removesuffix("\n\n") + END
    places = Places({Place.APPEND: len(BEGIN) - 2})
    renderer = Renderer.following(parse(text), lambda form, content: "")
    for item in items[:3]:
        text = places.apply(text, renderer.feed(item))
    input_id, insertions = renderer.question("Your name? ", password=True)
    text = places.apply(text, insertions)
    block = parse(text).block(input_id)
    assert block is not None
    assert (block.content, "password" in block.attributes) == ("", True)
    text = text[: block.content_start] + "Ann" + text[block.content_start :]
    places.changed(block.content_start, block.content_start, 3)
    for item in items[3:]:
        text = places.apply(text, renderer.feed(item))
    document = parse(text)
    assert text[len(BEGIN) :].startswith(
        "```output oi=- no-final-newline\nHello\nYour name? \n```\n\n"
        "```input oi=i1 password\nAnn\n```\n\n```output oi=- more\nHi Ann\n```\n"
    )
    assert not document.problems
    answered = document.block(input_id)
    assert answered is not None
    assert answered.content == "Ann"
    assert [message.text for message in messages(document)[1:]] == ["Hello\nYour name? Hi Ann\n"]


def test_a_question_that_the_output_does_not_end_with_is_shown() -> None:
    text = BEGIN.removesuffix("\n\n") + END
    renderer = Renderer.following(parse(text), lambda form, content: "")
    _, insertions = renderer.question("Sure? ")
    text = Places({Place.APPEND: len(BEGIN) - 2}).apply(text, insertions)
    assert "\n\n```question oi=i1\nSure? \n```\n\n```input oi=i1\n\n```\n" in text


def test_code_that_the_document_holds_is_named_by_what_answers_it() -> None:
    text = new_document(NONCE) + "Run it:\n\n```python\n1 / 0\n```\n\n```r oi=c7\n2\n```\n"
    document = parse(text)
    begins = answer_begins(document, document.sections[-1])
    text = text[: begins.edit.at] + begins.edit.text + text[begins.edit.at :]
    places = Places({Place.APPEND: begins.append})
    renderer = Renderer.following(parse(text), lambda form, content: "")
    renderer.adopt("m-1", "c7")
    renderer.edited_in_place("c7")
    stream = Stream()
    stream.subscribe(lambda entry: chunks.append(entry.chunk))
    chunks = list[Chunk]()
    for _ in range(2):  # the first is in the document
        stream.open("user", "code", "r", parent="m-1")
        stream.write("3")
    stream.open("computer", "console", parent="m-1")
    stream.close()
    for chunk in chunks:
        text = places.apply(text, renderer.feed(chunk))
    text = places.apply(text, renderer.finish())
    assert "```r oi=c7 edited\n3\n```\n\n```output oi=c7\n```\n\n<!-- oi:7f3a.tail" in text
    found = messages(parse(text))
    assert [message.parent for message in found] == [None, None, found[1].id, found[1].id]


def test_undo_takes_back_what_stands_above() -> None:
    stream, chunks = Stream(), list[Chunk | str]()
    stream.subscribe(lambda entry: chunks.append(entry.chunk))
    for turn in ("Begin", "Second"):
        for role, words in (("user", turn), ("assistant", f"To {turn}")):
            stream.open(role, "message")  # type: ignore[arg-type]
            stream.write(words)
        stream.put(Chunk("server", "status", content="complete"))
    stream.put(Chunk("user", "command", content="undo"))
    found = written(chunks)
    assert [message.text for message in found.messages()] == ["Begin", "To Begin"]
    assert comparable(found.messages()) == comparable(expected(chunks))


@given(odd_text, LINES)
def test_a_text_becomes_a_chat_document(words: str, newline: Newline) -> None:
    """Its words are then the person's, whatever they were; the frame is found."""
    words = words.replace(NONCE, "")
    before = parse(words)
    document = parse(with_edits(words, frame(before, NONCE)))
    assert document.nonce == NONCE
    assert document.sections[0].number == (1 if before.sections[0].start == before.sections[0].body else None)
    assert [part.content for part in document.parts()] == [part.content for part in before.parts()]


@given(LINES)
def test_sending_adds_an_answer_and_the_next_heading(newline: Newline) -> None:
    text = new_document(NONCE, newline) + f"One{newline}"
    for number in (1, 2):
        document = parse(text)
        section = unsent(document)
        assert section is not None
        assert section.number == number
        begins = answer_begins(document, section)
        assert begins.number == number
        text = text[: begins.edit.at] + begins.edit.text + text[begins.edit.at :]
        document = parse(text)
        assert not document.problems
        assert document.newline == newline
        assert document.answer is not None
        assert begins.append == document.answer.append_at
        assert unsent(document) is None
        text = text.rstrip("\r\n") + newline * 2 + f"More{newline}"
    assert [section.number for section in parse(text).sections] == [1, 1, 2, 2, 3]


@given(sessions, sessions)
def test_an_answer_goes_on_in_a_document_that_was_read_again(first: list[Said], second: list[Said]) -> None:
    """As after a restart in mid-answer: what was there stays, and what comes reads like a document of its own."""
    before = written(chunks_of(first))
    answered = before.document.answer
    assert answered is not None
    renderer = Renderer.following(before.document, lambda form, content: "files/x.png")
    places = Places({Place.APPEND: answered.append_at})
    text = before.text
    later = chunks_of(second)[3:]
    for item in later:
        insertions = renderer.question(item)[1] if isinstance(item, str) else renderer.feed(item)
        text = places.apply(text, insertions)
    document = parse(text)
    assert not document.problems
    check_covered(document)
    here = expected(later)
    images = {**before.images, "files/x.png": ("", "")}
    found = messages(document, lambda address: images.get(address, ("path", address)))
    assert [message.role for message in found[-len(here) :]] == [message.role for message in here] or not here
    if not any(one.type == "command" for one in second):
        assert comparable(found[: len(before.messages())]) == comparable(before.messages())


def test_an_answer_is_needed_to_go_on() -> None:
    with pytest.raises(ValueError, match="no answer"):
        Renderer.following(parse(new_document(NONCE)), lambda form, content: "")
    with pytest.raises(ValueError, match="no nonce"):
        answer_begins(parse(""), parse("").sections[0])
