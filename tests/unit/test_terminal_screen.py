"""What is written to a terminal: lines, carriage returns, and as little as possible."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.output_lines import OutputLines
from oi_engine.terminal.screen import LiveScreen
from oi_engine.terminal.width import columns_of, rows_of

_STEP = re.compile(r"\x1b\[(\??[0-9]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Terminal:
    """As much of a terminal as the screen uses: moving up, erasing a line, erasing below."""

    def __init__(self) -> None:
        self.lines = [""]
        self.row = 0
        self.cursor_shown = True

    def write(self, text: str) -> None:
        for match in _STEP.finditer(text):
            number, action = match[1], match[2]
            if action == "A":
                self.row -= int(number)
                assert self.row >= 0
            elif action == "K":
                self.lines[self.row] = ""
            elif action == "J":
                del self.lines[self.row + 1 :]
                self.lines[self.row] = ""
            elif action in ("h", "l") and number == "?25":
                self.cursor_shown = action == "h"
            elif match[0] == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append("")
            elif action is None and match[0] != "\r":
                self.lines[self.row] = match[0]


@pytest.fixture
def file() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def screen(file: io.StringIO) -> LiveScreen:
    return LiveScreen(file, lambda: 80)


def test_live_lines_are_drawn_over_and_finished_ones_stay(file: io.StringIO, screen: LiveScreen) -> None:
    screen.draw("", ["a", "b"])
    screen.draw("", ["a", "c", "d"])
    screen.draw("done\n", ["e"])
    screen.draw("", ["f"])
    screen.draw("more\n", [])
    terminal = Terminal()
    terminal.write(file.getvalue())
    assert terminal.lines == ["done", "more", ""]
    assert terminal.cursor_shown


def test_a_line_that_did_not_change_is_not_written_again(file: io.StringIO, screen: LiveScreen) -> None:
    screen.draw("", ["same", "old"])
    file.truncate(0)
    screen.draw("", ["same", "new"])
    assert "same" not in file.getvalue()
    assert "new" in file.getvalue()
    file.truncate(0)
    screen.draw("", ["same", "new"])
    assert file.getvalue() == ""


def test_what_others_wrote_is_not_drawn_over(file: io.StringIO, screen: LiveScreen) -> None:
    screen.draw("", ["mine"])
    file.write("theirs\n")
    screen.forget()
    screen.draw("", ["mine"])
    terminal = Terminal()
    terminal.write(file.getvalue())
    assert terminal.lines == ["mine", "theirs", "mine", ""]


def test_after_a_narrower_width_the_wrapped_rows_are_taken_back(file: io.StringIO) -> None:
    columns = [10]
    screen = LiveScreen(file, lambda: columns[0])
    screen.draw("", ["0123456789", "ab"])
    columns[0] = 5
    screen.draw("", ["x"])
    assert "\x1b[3A" in file.getvalue()


def test_widths_do_not_count_colours() -> None:
    assert columns_of("\x1b[31mred\x1b[0m") == 3
    assert columns_of("\x1b]8;;file:///x\x1b\\名\x1b]8;;\x1b\\") == 2
    assert rows_of(["", "abcdef", "abc"], 3) == 4


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        (["a\nb"], ["a", "b"]),
        (["10%", "\r20%", "\r100%\n", "done\n"], ["100%", "done"]),
        (["abcdef\rXY"], ["XYcdef"]),
        (["abcdef\rX", "Y"], ["XYcdef"]),
        (["a\r\nb\r\n"], ["a", "b"]),
        ([""], []),
    ],
)
def test_output_lines(pieces: list[str], lines: list[str]) -> None:
    output = OutputLines()
    for piece in pieces:
        output.feed(piece)
    assert output.all() == lines


def test_the_last_lines_of_much_output() -> None:
    output = OutputLines()
    output.feed("".join(f"{number}\n" for number in range(1000)) + "end")
    assert output.last(3) == ["998", "999", "end"]


def test_pictures_are_saved_and_numbered(tmp_path: Path) -> None:
    gallery = Gallery(tmp_path / "pictures")
    first = gallery.save("image", "base64.png", "aW1hZ2U=")
    second = gallery.save("code", "html", "<p>")
    assert (first.name, first.read_bytes()) == ("image-1.png", b"image")
    assert (second.name, second.read_text()) == ("code-2.html", "<p>")
    assert (tmp_path / "pictures").stat().st_mode & 0o777 == 0o700


def test_a_damaged_picture_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="damaged"):
        Gallery(tmp_path).save("image", "base64.png", "a")
