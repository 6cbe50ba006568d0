"""Recorded streams on a terminal with colours: what stays on the screen, and what is drawn anew."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from attrs import define, field
from rich.text import Text

from oi_engine.messages import Chunk
from oi_engine.session.state import PendingInput, Snapshot, State
from oi_engine.stream import Entry, Stream
from oi_engine.terminal.cell_view import OUTPUT_LIMIT
from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.look import Look, make_console
from oi_engine.terminal.plain import PlainRenderer
from oi_engine.terminal.render import RichRenderer


@define
class RecordingScreen:
    """Keeps what was printed for good, and what is live now."""

    finished: str = ""
    live: list[str] = field(factory=list)
    most_live: int = 0

    def draw(self, finished: str, live: Sequence[str]) -> None:
        self.finished += finished
        self.live = [Text.from_ansi(line).plain for line in live]
        self.most_live = max(self.most_live, len(live))

    def show_cursor(self) -> None: ...

    def forget(self) -> None: ...

    @property
    def plain(self) -> str:
        return Text.from_ansi(self.finished).plain


@define
class Bench:
    """A renderer on a screen of its own, fed by a stream."""

    folder: Path
    width: int = 60
    height: int = 24
    now: float = 0.0
    screen: RecordingScreen = field(factory=RecordingScreen)
    stream: Stream = field(factory=Stream)

    def __attrs_post_init__(self) -> None:
        console = make_console(io.StringIO())
        console._force_terminal = True
        console.size = (self.width, self.height)
        self.renderer = RichRenderer(Look(console), self.screen, Gallery(self.folder), lambda: self.now)
        self.stream.subscribe(self.renderer.entry)

    renderer: RichRenderer = field(init=False)

    def state(self, state: State) -> None:
        self.renderer.state(Snapshot(state))

    def message(self, *pieces: str) -> None:
        self.stream.open("assistant", "message")
        for piece in pieces:
            self.stream.write(piece)

    def code(self, source: str, language: str = "python") -> str:
        message_id = self.stream.open("assistant", "code", language)
        self.stream.write(source)
        self.stream.close()
        return message_id

    def console(self, parent: str | None, *outputs: str) -> None:
        self.stream.open("computer", "console", parent=parent)
        for output in outputs:
            self.stream.write(output, "output")

    def settled(self) -> str:
        self.stream.close()
        self.renderer.settle()
        assert self.screen.live == []
        return self.screen.plain


MakeBench = Callable[..., Bench]


@pytest.fixture
def make_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeBench:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return lambda **named: Bench(tmp_path, **named)


def test_finished_paragraphs_are_printed_once_and_the_last_is_live(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.message("# Title\nOne *two*.\n\nThr", "ee")
    bench.renderer.draw()
    assert bench.screen.plain == "\nTitle\n\nOne two.\n"
    assert bench.screen.live == ["", "Three"]
    bench.stream.write(" four.")
    bench.renderer.draw()
    assert bench.screen.live == ["", "Three four."]
    assert bench.settled() == "\nTitle\n\nOne two.\n\nThree four.\n\n"


def test_tags_do_not_vanish_and_links_show_where_they_lead(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.message("A <b>tag</b> and [a link](https://example.org/x).")
    assert bench.settled().strip() == "A <b>tag</b> and a link (https://example.org/x)."


def test_escape_sequences_of_a_model_or_a_program_do_nothing(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.message("be\x1b[2Jfore\x1b]0;ti", "tle\x07!")
    bench.console(None, "out\x1b[31mput\x1b", "[0m")
    bench.stream.put(Chunk("server", "error", content="wrong\x1b[2J"))
    bench.settled()
    assert "\x1b[2J" not in bench.screen.finished
    assert "\x1b]0" not in bench.screen.finished
    assert "before!" in bench.screen.plain
    assert "output" in bench.screen.plain


def test_the_active_line_is_marked_and_the_mark_goes(make_bench: MakeBench) -> None:
    bench = make_bench()
    parent = bench.code("a = 1\nb = 2\n")
    bench.state("running")
    bench.console(parent)
    bench.stream.write("2", "active_line")
    bench.stream.write("out\n", "output")
    bench.renderer.draw()
    assert bench.screen.live[0] == ""
    assert bench.screen.live[1].startswith("── python ──")
    assert bench.screen.live[2:4] == ["  a = 1", "▶ b = 2"]
    assert bench.screen.live[5:] == ["out"]
    assert bench.screen.finished == ""
    lines = bench.settled().split("\n")
    assert lines[2:4] == ["  a = 1", "  b = 2"]
    assert lines[5] == "out"


def test_a_progress_bar_is_drawn_over_itself(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.console(bench.code("x"), "10%\r", "50%\r")
    bench.renderer.draw()
    assert bench.screen.live[-1] == "50%"
    bench.stream.write("100%\n", "output")
    assert [line for line in bench.settled().split("\n") if "%" in line] == ["100%"]


def test_a_tall_panel_is_printed_whole_before_it_is_asked_about(make_bench: MakeBench) -> None:
    bench = make_bench(height=12)
    source = "\n".join(f"line_{number} = {number}" for number in range(40))
    parent = bench.code(source)
    bench.stream.put(Chunk("computer", "confirmation", "execution", {"type": "code"}, id="p", parent=parent))
    bench.state("awaiting_approval")
    bench.renderer.pause()
    assert bench.screen.plain.count("line_") == 40
    bench.state("running")
    bench.console(parent)
    bench.stream.write("17", "active_line")
    bench.renderer.draw()
    assert bench.screen.live == ["", "▶ 17 line_16 = 16"]
    assert bench.settled().count("line_") == 40
    assert bench.screen.most_live < 12


def test_live_rows_never_pass_the_terminals_height(make_bench: MakeBench) -> None:
    bench = make_bench(height=10, width=20)
    bench.message("word " * 200)
    bench.renderer.draw()
    bench.stream.open("assistant", "code", "python")
    for number in range(50):
        bench.stream.write(f"x = {number}  # {'long ' * 10}\n")
        bench.renderer.draw()
    bench.stream.close()
    bench.console(bench.stream._entries[-1].chunk.id)
    for number in range(50):
        bench.stream.write(f"{number} {'y' * 70}\n", "output")
        bench.renderer.draw()
    assert 5 < bench.screen.most_live < 10
    bench.settled()


def test_the_middle_of_very_much_output_is_left_out_and_said(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.console(bench.code("x"), "".join(f"n{number}\n" for number in range(OUTPUT_LIMIT + 10)))
    shown = bench.settled()
    assert "10 lines are left out" in shown
    assert "n0\n" in shown
    assert f"n{OUTPUT_LIMIT + 9}\n" in shown


def test_long_lines_of_code_wrap_and_are_marked(make_bench: MakeBench) -> None:
    bench = make_bench(width=20)
    bench.code("print('" + "x" * 40 + "')")
    shown = [line for line in bench.settled().split("\n") if "x" in line]
    assert shown[0].startswith("  print('x") or shown[0].startswith("↳ ")
    assert sum(line.count("x") for line in shown) == 40
    assert all(line.startswith("↳ ") for line in shown[1:])


def test_a_block_that_is_not_last_is_shown_again_when_it_is_asked_about(make_bench: MakeBench) -> None:
    bench = make_bench()
    first = bench.code("first()")
    bench.code("second()")
    content = {"type": "code", "format": "python", "content": "first()"}
    bench.stream.put(Chunk("computer", "confirmation", "execution", content, id="p", parent=first))
    bench.renderer.draw()
    assert bench.screen.live[2] == "  first()"


@pytest.mark.parametrize("warned", [False, True])
def test_an_edit_stands_under_what_was_proposed(make_bench: MakeBench, warned: bool) -> None:
    bench = make_bench()
    parent = bench.code("old()")
    bench.renderer.hand_over()
    bench.renderer.show_edit("new()")
    if warned:
        bench.renderer.hand_over()
    bench.stream.open("user", "code", "python", parent=parent)
    bench.stream.write("new()")
    bench.console(parent, "out\n")
    shown = bench.settled()
    assert (shown.count("old()"), shown.count("new()")) == (1, 1)
    assert shown.index("old()") < shown.index("as you edited it") < shown.index("new()") < shown.index("out")


def test_the_state_is_named_only_after_a_while(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.state("thinking")
    bench.now = 0.2
    bench.renderer.draw()
    assert bench.screen.live == []
    bench.now = 0.4
    bench.renderer.draw()
    assert bench.screen.live[-1].endswith("thinking")
    bench.now = 5.0
    bench.renderer.draw()
    assert bench.screen.live[-1].endswith("thinking 5 s")
    bench.message("Hello")
    bench.renderer.draw()
    assert bench.screen.live == ["", "Hello"]
    assert "thinking" not in bench.settled()


def test_a_question_that_the_program_printed_itself_is_not_shown_twice(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.console(bench.code("read -p 'Who? ' name", "shell"), "before\nWho? ")
    bench.renderer.state(Snapshot("awaiting_input", input=PendingInput("i", "Who? ", False)))
    bench.renderer.pause()
    assert bench.screen.live[-1] == "before"
    bench.state("running")
    bench.stream.write("Ada\n", "output")
    assert "Who? Ada\n" in bench.settled()


def test_no_color_and_narrow_terminals(make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    bench = make_bench(width=5)
    bench.console(bench.code("if x:\n\ty"), "a wide line\n")
    bench.stream.put(Chunk("server", "error", content="red"))
    bench.settled()
    assert "\x1b[31m" not in bench.screen.finished


def plain(tmp_path: Path, chunks: Sequence[Chunk]) -> str:
    file = io.StringIO()
    renderer = PlainRenderer(file, Gallery(tmp_path))
    for number, chunk in enumerate(chunks, 1):
        renderer.entry(Entry(number, "t", chunk))
    renderer.settle()
    return file.getvalue()


def test_plain_text_is_exact(tmp_path: Path) -> None:
    stream = Stream()
    chunks: list[Chunk] = []
    stream.subscribe(lambda entry: chunks.append(entry.chunk))
    stream.open("user", "message")
    stream.write("go")
    stream.open("assistant", "message")
    stream.write("I **will**")
    stream.write(" do it.\nNow.")
    parent = stream.open("assistant", "code", "python")
    stream.write("for i in range(2):\n")
    stream.write("    print(i)\n")
    stream.open("computer", "console", parent=parent)
    for line in ("1", "2", None):
        stream.write(line, "active_line")
    stream.write("10%\r20%\r", "output")
    stream.write("100%\n\x1b[31mred\x1b[0m", "output")
    stream.open("computer", "image", "base64.png", parent=parent)
    stream.write("aW1hZ2U=")
    stream.open("computer", "message", parent=parent)
    stream.write("exit status 3.")
    stream.put(Chunk("server", "error", content="No. Do this."))
    stream.put(Chunk("server", "status", content="complete"))
    assert plain(tmp_path, chunks) == (
        "I **will** do it.\nNow.\n\n"
        "```python\nfor i in range(2):\n    print(i)\n```\n\n"
        "```output\n100%\nred\n```\n\n"
        f"image saved: {tmp_path / 'image-1.png'}\n\n"
        "exit status 3.\n\n"
        "Error: No. Do this.\n"
    )


def test_a_review_between_code_and_question_leaves_the_panel_as_it_is(make_bench: MakeBench) -> None:
    bench = make_bench()
    parent = bench.code("x = 1")
    bench.stream.open("assistant", "review", recipient="user", parent=parent)
    bench.stream.write("Line 1: It deletes files.")
    bench.stream.close()
    content = {"type": "code", "format": "python", "content": "x = 1"}
    bench.stream.put(Chunk("computer", "confirmation", "execution", content, id="p", parent=parent))
    bench.renderer.draw()
    assert (bench.screen.plain + "\n".join(bench.screen.live)).count("x = 1") == 1
