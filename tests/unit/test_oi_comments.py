"""``oi:`` comments: in which syntaxes they are found, what they say, and which lines they are about."""

from __future__ import annotations

import pytest

from oi_lsp.documents import Document
from oi_lsp.inline_edit.comments import OiComment, oi_comments


def found(text: str, at: str | None = None) -> list[OiComment]:
    document = Document("file:///a", "any", 0, text)
    start, end = (0, len(text)) if at is None else (text.index(at), text.index(at) + len(at))
    return list(oi_comments(document, start, end))


def block(text: str) -> str:
    (comment,) = found(text)
    return text[comment.block_start : comment.block_end]


@pytest.mark.parametrize(
    "line",
    [
        "# oi: vectorise this loop",
        "#oi: vectorise this loop",
        "## oi:   vectorise this loop  ",
        "// oi: vectorise this loop",
        "/// oi: vectorise this loop",
        "-- oi: vectorise this loop",
        ";; oi: vectorise this loop",
        "% oi: vectorise this loop",
        "/* oi: vectorise this loop */",
        "/** oi: vectorise this loop **/",
        "<!-- oi: vectorise this loop -->",
        "(* oi: vectorise this loop *)",
        "x = 1  # oi: vectorise this loop",
        "\tx(); // oi: vectorise this loop",
    ],
)
def test_the_syntaxes(line: str) -> None:
    assert [each.instruction for each in found(f"a\n{line}\nb\n")] == ["vectorise this loop"]


@pytest.mark.parametrize(
    "line",
    ["oi: no comment", "# hoi: no", "# oi:", "# oi:  ", "/* oi: */", "http://oi: 1", "<!-- oi:7f3a.u1 -->", "#oi:1"],
)
def test_what_is_none(line: str) -> None:
    assert found(f"a\n{line}\nb\n") == []


def test_an_instruction_of_several_lines() -> None:
    text = "/* oi: use a map\n * and sort\n */\nfor (;;) {}\n"
    (comment,) = found(text)
    assert comment.instruction == "use a map and sort"
    assert block(text) == text.rstrip("\n")
    assert found(text, "and sort") == found(text)
    assert found(text, "for") == []
    (open_ended,) = found("/* oi: use a map\nx\n")
    assert open_ended.instruction == "use a map"


def test_where_the_cursor_is() -> None:
    text = "a\n# oi: one\nb\n\n# oi: two\nc\n"
    assert [each.instruction for each in found(text)] == ["one", "two"]
    assert [each.instruction for each in found(text, "two")] == ["two"]
    assert found(text, "b") == []


LOOP = """\
    # oi: vectorise
    for x in xs:
        total += x

        total += 1
    done = True
"""


@pytest.mark.parametrize("end", ["\n    after()\n", "after()\n", "\nafter()\n", "", "  after()\n"])
def test_a_block_goes_on_to_a_blank_line_or_less_indentation(end: str) -> None:
    assert block(LOOP + end) == LOOP.rstrip("\n")


def test_a_block_begins_behind_blank_lines() -> None:
    assert block("# oi: sort\n\n\nimport b\nimport a\n\nx\n") == "# oi: sort\n\n\nimport b\nimport a"


def test_what_closes_a_block_is_part_of_it() -> None:
    text = "// oi: simplify\nif (a) {\n\tb\n\n}\n\nelse {\n\tc\n}\n\nd\n"
    assert block(text) == text.removesuffix("\n\nd\n")


def test_a_block_that_is_deeper_than_its_comment() -> None:
    text = "def f():\n# oi: simplify\n    a\n    b\nc\n"
    assert block(text) == "# oi: simplify\n    a\n    b"


def test_a_comment_at_the_end_of_a_block_is_about_its_place() -> None:
    assert block("if a:\n    b\n    # oi: handle c too\nd\n") == "    # oi: handle c too"
    assert block("a\n\n# oi: write main") == "# oi: write main"


def test_a_comment_after_code_is_about_the_line_and_what_is_deeper() -> None:
    text = "def f(a):  # oi: add types\n    x\n\n    y\nz\n"
    assert block(text) == "def f(a):  # oi: add types\n    x\n\n    y"
    assert block("a = 1  # oi: rename\nb = 2\n") == "a = 1  # oi: rename"


def test_tabs_and_other_line_ends() -> None:
    assert block("\t# oi: x y\r\n        a\r\n\tb\r\nc\r\n") == "\t# oi: x y\r\n        a\r\n\tb"
    assert block("# oi: x\ra\r\rb\r") == "# oi: x\ra"
