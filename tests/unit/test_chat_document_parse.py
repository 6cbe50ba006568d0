"""Chat documents as they may be found: damaged, pasted together, of another system, of nobody's making."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_lsp.chat_document.conversation import messages, section_messages, unsent
from oi_lsp.chat_document.document import ChatDocument
from oi_lsp.chat_document.frame import new_document
from oi_lsp.chat_document.parse import parse
from tests.unit.chat_documents import NONCE, odd_text
from tests.unit.test_chat_document_edits import check_covered

DOCUMENT = """---
oi: 1 7f3a
---

## You <!-- oi:7f3a.u1 -->

Plot it.

## Assistant <!-- oi:7f3a.a1 -->

```python oi=c1
print(1)
```

```output oi=c1
1
```

<!-- oi:7f3a.tail -->

## You <!-- oi:7f3a.u2 -->
"""


def said(document: ChatDocument) -> list[tuple[str, int | None, list[str]]]:
    return [(each.kind, each.number, [part.content for part in each.parts]) for each in document.sections]


def test_a_document_as_it_is_meant() -> None:
    document = parse(DOCUMENT)
    assert said(document) == [("you", 1, ["Plot it."]), ("assistant", 1, ["print(1)", "1\n"]), ("you", 2, [])]
    assert document.nonce == NONCE
    assert document.problems == ()
    assert document.tail == DOCUMENT.index("<!-- oi:7f3a.tail -->")
    assert (document.next_number, document.next_block) == (3, 2)
    code = document.block("c1")
    assert code is not None
    assert DOCUMENT[code.content_start : code.content_end] == "print(1)"
    assert DOCUMENT[: code.info_end].endswith("```python oi=c1")
    assert unsent(document) is None
    found = messages(document)
    assert [(message.role, message.type, message.format) for message in found] == [
        ("user", "message", None),
        ("assistant", "code", "python"),
        ("computer", "console", "output"),
    ]
    assert found[2].parent == found[1].id
    assert messages(parse(DOCUMENT)) == found


def test_lines_that_end_otherwise_say_the_same() -> None:
    document = parse(DOCUMENT.replace("\n", "\r\n"))
    assert said(document) == [("you", 1, ["Plot it."]), ("assistant", 1, ["print(1)", "1\r\n"]), ("you", 2, [])]
    assert document.newline == "\r\n"
    assert messages(document) == messages(parse(DOCUMENT))
    check_covered(document)


@given(st.booleans(), odd_text, odd_text, st.sampled_from(["", "```python oi=c1\n", "````\n"]))
def test_any_text_is_a_document(framed: bool, first: str, second: str, fence: str) -> None:
    text = (DOCUMENT if framed else "") + first + fence + second
    document = parse(text)
    check_covered(document)
    messages(document)
    assert document.sections
    for part in document.parts():
        assert part.start <= part.content_start <= part.content_end <= part.end
    for problem in document.problems:
        assert 0 <= problem.start <= problem.end <= len(text)


@given(st.data())
def test_any_piece_of_a_document_is_one(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(DOCUMENT)))
    end = data.draw(st.integers(start, len(DOCUMENT)))
    check_covered(parse(DOCUMENT[:start] + DOCUMENT[end:]))
    check_covered(parse(DOCUMENT[start:end]))


@pytest.mark.parametrize("text", ["", "\n", "Hello", "\ufeffHello", "# Title\n\nHello", "---\ntitle: x\n---\nHello"])
def test_a_text_without_a_frame_is_the_persons_first_message(text: str) -> None:
    document = parse(text)
    assert document.nonce is None
    assert [section.kind for section in document.sections] == ["you"]
    assert document.problems == ()
    check_covered(document)
    section = unsent(document)
    assert (
        [message.role for message in section_messages(document, section)] == ["user"]
        if section
        else "Hello" not in text
    )


@pytest.mark.parametrize(
    "front",
    [
        "",
        "oi: 1 7f3a\n---\n",
        "---\noi: 1 7f3a\n",
        "---\noi: 1 7f3\n---\n",
        "---\n---\n",
        "---\noi 1 7f3a\n---\n",
        "---\noi: 2 7f3a\n---\n",
    ],
)
def test_damaged_front_matter_is_told_and_made_up_for(front: str) -> None:
    document = parse(DOCUMENT.replace("---\noi: 1 7f3a\n---\n", front))
    assert document.nonce == NONCE
    assert len(document.problems) >= 1
    assert said(document)[-3:] == said(parse(DOCUMENT))
    check_covered(document)


FIRST = ("you", 1, ["Plot it."])
ANSWER = ("assistant", 1, ["print(1)", "1\n"])
MENTION = "> ## You <!-- oi:7f3a.u9 -->"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # A marker counts whatever its heading says, and inside an open fence.
        ("## Assistant <!--", "## Nobody <!--", [FIRST, ANSWER]),
        ("Plot it.", "```\nPlot it.", [("you", 1, ["```\nPlot it."]), ANSWER]),
        # A heading without one counts outside of fences only.
        (" <!-- oi:7f3a.a1 -->", "", [FIRST, ("assistant", None, ["print(1)", "1\n"])]),
        ("print(1)", "## You", [FIRST, ("assistant", 1, ["## You", "1\n"])]),
        # A fence that lost its end is ended by the next block, and so is one that lost its beginning.
        ("print(1)\n```\n", "print(1)\n", [FIRST, ANSWER]),
        ("```python oi=c1\n", "", [FIRST, ("assistant", 1, ["print(1)\n```", "1\n"])]),
        # A line that lost its end stands before the heading.
        ("it.\n\n##", "it.##", [FIRST, ANSWER]),
        # What stands below the end of an answer is the person's.
        ("tail -->\n", "tail -->\nMine.", [FIRST, ANSWER, ("you", None, ["Mine."])]),
        # Words behind a marker, and a marker that is mentioned.
        ("u1 -->\n\n", "u1 --> ", [FIRST, ANSWER]),
        ("Plot it.", MENTION, [("you", 1, [MENTION]), ANSWER]),
    ],
)
def test_damage_is_made_up_for(before: str, after: str, expected: list[tuple[str, int | None, list[str]]]) -> None:
    assert DOCUMENT.count(before) == 1
    document = parse(DOCUMENT.replace(before, after))
    assert said(document)[: len(expected)] == expected
    check_covered(document)


def test_damage_is_told() -> None:
    text = DOCUMENT.replace("print(1)\n```\n", "print(1)\n").replace("Plot it.", "```\nPlot it.")
    document = parse(text)
    assert [text[problem.start : problem.end] for problem in document.problems] == ["```", "```python oi=c1"]
    assert [part.complete for part in document.sections[1].parts] == [False, True]


def test_a_copy_of_a_block_is_another_block() -> None:
    block = "```python oi=c1\nprint(2)\n```\n\n```output oi=c1\n2\n```\n"
    document = parse(DOCUMENT + block)
    copy = document.sections[2].parts[0]
    assert (copy.id, copy.written_id) == (None, "c1")
    assert len(document.problems) == 1
    original = document.block("c1")
    assert original is not None
    assert original.content == "print(1)"
    found = section_messages(document, document.sections[2])
    assert found[1].parent == found[0].id


def test_content_is_exact_whether_or_not_it_ends_with_a_newline() -> None:
    blocks = [
        ("```python oi=c1\n```", ""),
        ("```python oi=c1\n\n```", ""),
        ("```python oi=c1\na\n```", "a"),
        ("```python oi=c1\na\n\n```", "a\n"),
        ("```output oi=c1\na\n```", "a\n"),
        ("```output oi=c1 no-final-newline\na\n```", "a"),
        ("```output oi=c1\n```", ""),
        ("~~~python oi=c1\n```\n~~~~", "```"),
    ]
    for block, content in blocks:
        [part] = parse(new_document(NONCE) + block).sections[0].parts
        assert part.content == content
        assert part.complete


def test_a_heading_that_is_glued_to_the_end_of_a_block_is_one() -> None:
    block = "```python oi=c1\n1\n```"
    document = parse(f"{new_document('7f3a')}{block}## You <!-- oi:7f3a.u2 -->\n\nHi.\n")
    assert [(section.kind, section.number) for section in document.sections] == [("you", 1), ("you", 2)]
    assert [(part.kind, part.content, part.complete) for part in document.parts()] == [
        ("code", "1", True),
        ("text", "Hi.", True),
    ]
