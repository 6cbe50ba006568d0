"""A piece of a file as it is run: which lines, and where each character of what runs stands in the file."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence

from attrs import frozen

from oi_lsp.documents import Document, common_head

READ = 1_000
"""The most lines of which it is read what is a string and what a statement: that takes 30 ms. Of more, all count."""
_NO_CODE = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT})
_OPENS = tokenize.FSTRING_START if hasattr(tokenize, "FSTRING_START") else -1
_CLOSES = tokenize.FSTRING_END if hasattr(tokenize, "FSTRING_END") else -1


@frozen
class Piece:
    """Code that is taken out of a document.

    It stands on the document's lines from ``first`` on (counted from 0). ``removed[i]`` is how many characters its line
    ``i`` has lost at its head. ``code`` has ``\\n`` at the end of its lines.
    """

    first: int
    code: str
    removed: tuple[int, ...]

    @property
    def last(self) -> int:
        """The last of the document's lines that it has something of."""
        return self.first + len(self.removed) - 1

    @property
    def blank(self) -> bool:
        """Whether there is nothing to run."""
        return not self.code.strip()

    def column(self, line: int, column: int) -> int:
        """Where in its line of the document a character stands: the line of the code from 1, the column from 0."""
        return self.removed[line - 1] + column


def reach(document: Document, start: int, end: int) -> tuple[int, int]:
    """What a selection means: the whole line where it is empty; else from the head of its line, where that is blank.

    The line that a selection ends at the head of is not part of it.
    """
    first = document.line_span(document.line_at(start))
    if start == end:
        return first
    if not document.text[first[0] : start].strip():
        start = first[0]
    last = document.line_at(end)
    if end == document.line_span(last)[0] and last > document.line_at(start):
        end = document.line_span(last - 1)[1]
    return start, end


def piece_of(document: Document, start: int, end: int, *, dedent: bool) -> Piece:
    """What runs of a selection. With ``dedent``, the indentation that its statements have in common is taken away."""
    start, end = reach(document, start, end)
    first = document.line_at(start)
    spans = [document.line_span(line) for line in range(first, document.line_at(end) + 1)]
    lines = [document.text[max(begin, start) : min(finish, end)] for begin, finish in spans]
    removed = _margins(lines) if dedent else [0] * len(lines)
    code = "\n".join(line[size:] for line, size in zip(lines, removed, strict=True))
    removed[0] += start - spans[0][0]
    return Piece(first, code, tuple(removed))


def _margins(lines: Sequence[str]) -> list[int]:
    """How much of each line of Python is indentation that is not the code's own."""
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines]
    code = (row for row, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    if not indents[next(code, 0)]:
        return [0] * len(lines)  # as of most whole files, which take long to be read
    if len(lines) > READ:
        statements, texts = [row for row, line in enumerate(lines) if line.strip()], set[int]()
    else:
        statements, texts = _lines_of(lines)
    common = indents[statements[0]] if statements else ""
    for row in statements:
        common = common[: common_head(common, indents[row])]
    return [0 if row in texts else common_head(common, indent) for row, indent in enumerate(indents)]


def _lines_of(lines: Sequence[str]) -> tuple[list[int], set[int]]:
    """The lines that statements begin on, and those that begin within a string; from 0.

    Of code that cannot be read to its end, what was read of it counts, and after that each line that is not blank.
    """
    statements, texts = list[int](), set[int]()
    begins, depth, last = True, [], 0
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            row, last = token.start[0] - 1, max(last, token.end[0])
            if token.type == tokenize.NEWLINE:
                begins = True
            elif begins and token.type not in _NO_CODE and token.string:
                statements.append(row)
                begins = False
            if token.type == _OPENS:
                depth.append(row)
            if token.type == tokenize.STRING or token.type == _CLOSES:
                opened = depth.pop() if token.type == _CLOSES and depth else row
                texts.update(range(opened + 1, token.end[0]))
    except (tokenize.TokenError, SyntaxError):
        statements += [row for row in range(last, len(lines)) if lines[row].strip() and row not in texts]
    return statements, texts
