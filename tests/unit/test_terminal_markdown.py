"""Markdown in pieces: which blocks are whole, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.terminal.markdown_stream import MarkdownStream

SAMPLE = """\
# A title
A paragraph
of two lines.

- one

  still one
- two

1. first

2. second
```python
x = 1

# no heading here
```
After it.
~~~text
``` not an end
~~~
| a | b |
|---|---|
| 1 | 2 |

Text with ``` inside.
Last"""

BLOCKS = [
    "# A title",
    "A paragraph\nof two lines.",
    "- one\n\n  still one\n- two",
    "1. first",
    "2. second",
    "```python\nx = 1\n\n# no heading here\n```",
    "After it.",
    "~~~text\n``` not an end\n~~~",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "Text with ``` inside.\nLast",
]


def split(text: str, size: int) -> list[str]:
    stream = MarkdownStream()
    blocks = []
    for at in range(0, len(text), size):
        blocks.extend(stream.feed(text[at : at + size]))
    return blocks + stream.finish()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_blocks_do_not_depend_on_the_pieces(size: int) -> None:
    assert split(SAMPLE, size) == BLOCKS


@given(st.text(alphabet="ab #`~-\n1.|", max_size=200), st.integers(1, 9))
def test_nothing_is_lost_and_pieces_do_not_matter(text: str, size: int) -> None:
    blocks = split(text, size)
    assert blocks == split(text, len(text) + 1)
    assert "".join("".join(blocks).split()) == "".join(text.split())


def test_a_block_comes_out_as_soon_as_it_is_whole() -> None:
    stream = MarkdownStream()
    assert stream.feed("One.\n\n") == []
    assert stream.feed("Tw") == ["One."]
    assert stream.feed("o.\n") == []
    assert stream.tail(10, 80).strip() == "Two."
    assert stream.feed("```\ncode\n```\n") == ["Two.", "```\ncode\n```"]


def test_the_tail_of_a_long_fence_is_bounded_and_still_a_fence() -> None:
    stream = MarkdownStream()
    stream.feed("```json\n" + "".join(f"{number}\n" for number in range(5000)))
    tail = stream.tail(5, 20).split("\n")
    assert tail[0] == "```json"
    assert tail[1:] == ["4995", "4996", "4997", "4998", "4999", ""]


def test_the_tail_of_one_long_line_is_bounded() -> None:
    stream = MarkdownStream()
    stream.feed("word " * 10_000)
    assert len(stream.tail(5, 20)) == 100
