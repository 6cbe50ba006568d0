"""The limiter: what goes on, what is held, what is said of the rest, and where the whole is."""

from __future__ import annotations

import base64
import os
import re
import shutil
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oi_engine.computer.output import RICH_COUNT, RICH_SIZE, OutputLimiter
from oi_engine.computer.runtime import (
    ActiveLine,
    Failure,
    Finished,
    InputRequest,
    InputTaken,
    Notice,
    Rich,
    RunEvent,
    Spilled,
    Text,
    TextStream,
)
from oi_engine.computer.spill import clean_spill_folders, spill_folder, spill_root
from oi_engine.safety.sanitize import Sanitizer, render_carriage_returns, sanitize

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is no defect


DONE = Finished()
NOWHERE = Path(__file__) / "s"  # no folder can be made there: these tests leave no file
MARKER = re.compile(r"… ([\d,]+) characters left out; the whole output is in (\S+) …\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spill" / "s-1"


def run(limiter: OutputLimiter, *events: RunEvent) -> list[RunEvent]:
    return [given for event in [*events, DONE] for given in limiter.feed(event)]


def text_of(events: list[RunEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def notices(events: list[RunEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def test_short_output_goes_on_at_once_and_makes_no_file(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    assert limiter.feed(Text("\x1b[1mone\x1b[0m\n")) == [Text("one\n")]
    assert limiter.feed(Text("oops\n", "stderr")) == [Text("oops\n", "stderr")]
    assert limiter.feed(ActiveLine(3)) == [ActiveLine(3)]
    assert limiter.feed(DONE) == [DONE]
    assert not folder.exists()


def test_a_sequence_is_stripped_though_another_stream_comes_between(folder: Path) -> None:
    events = run(OutputLimiter(folder), Text("a\x1b[3"), Text("E\n", "stderr"), Text("1mb\n"))
    assert events == [Text("a"), Text("E\n", "stderr"), Text("b\n"), DONE]


def test_long_output_has_a_head_a_line_a_tail_and_a_file(folder: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(10_000))
    limiter = OutputLimiter(folder, head=1000, tail=500)
    events = run(limiter, *(Text(lines[at : at + 77]) for at in range(0, len(lines), 77)))
    told = text_of(events)
    found = MARKER.search(told)
    assert found is not None
    assert told[: found.start()] == lines[:1000] + "\n"
    assert told[found.end() :] == lines[-500:]
    assert found[1] == f"{len(lines) - 1500:,}"
    path = Path(found[2])
    assert path.read_text(encoding="utf-8") == lines
    assert files(folder) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(notices(events)) == 1
    assert "held back" in notices(events)[0]


def test_the_head_comes_while_the_program_runs_and_the_rest_when_it_ends(folder: Path) -> None:
    limiter = OutputLimiter(folder, head=10, tail=10)
    assert limiter.feed(Text("12345\n")) == [Text("12345\n")]
    assert text_of(limiter.feed(Text("abcdefgh\n"))) == "abcd"
    assert limiter.feed(Text("x" * 100)) == []
    assert text_of(limiter.feed(DONE)).endswith(" …\n" + "x" * 10)


def test_what_fits_into_head_and_tail_is_whole_and_leaves_no_file(folder: Path) -> None:
    text = "y" * 1500
    events = run(OutputLimiter(folder, head=1000, tail=500), *(Text(text[at : at + 100]) for at in range(0, 1500, 100)))
    assert text_of(events) == text
    assert files(folder) == []


def test_the_tail_keeps_its_streams(folder: Path) -> None:
    limiter = OutputLimiter(folder, head=0, tail=6)
    events = run(limiter, Text("lost\n"), Text("err\n", "stderr"), Text("x\n"))
    assert [event for event in events if isinstance(event, Text)][1:] == [Text("err\n", "stderr"), Text("x\n")]


def test_a_limiter_without_a_tail_says_what_is_missing(folder: Path) -> None:
    events = run(OutputLimiter(folder, head=3, tail=0), Text("abcdef"))
    assert re.fullmatch(r"abc\n… 3 characters left out; .* …\n", text_of(events))


def test_what_breaks_off_gives_what_was_held_once(folder: Path) -> None:
    limiter = OutputLimiter(folder, head=4, tail=4)
    limiter.feed(Text("0123456789\r"))
    assert text_of(limiter.finish()).endswith("789\r")
    assert limiter.finish() == []
    assert limiter.feed(DONE) == [DONE]


def test_the_runtimes_own_cut_is_told_with_ours_as_one_figure_and_one_path(folder: Path) -> None:
    limiter = OutputLimiter(folder, head=10, tail=10)
    events = run(
        limiter, Text("a" * 100), Spilled(1_000_000, "/kept/by/kernel"), Text("b" * 10), Spilled(5, "/kept/by/kernel")
    )
    told = text_of(events)
    found = MARKER.findall(told)
    assert found == [(f"{1_000_000 + 5 + 90:,}", "/kept/by/kernel")]
    assert told.endswith("b" * 10)
    assert files(folder) == []
    assert not any(isinstance(event, Spilled) for event in events)


def test_a_cut_in_the_head_stands_where_it_was_made(folder: Path) -> None:
    events = run(OutputLimiter(folder), Text("head\n"), Spilled(7, "/kept"), Text("tail\n"))
    assert text_of(events) == "head\n… 7 characters left out; the whole output is in /kept …\ntail\n"


@pytest.mark.parametrize(
    ("path", "told"), [("/kept", "a part of it is in /kept (full)"), ("", "they could not be kept (full)")]
)
def test_a_cut_of_which_not_all_was_kept_says_so(folder: Path, path: str, told: str) -> None:
    events = run(OutputLimiter(folder), Text("head\n"), Spilled(7, path, "full"), Text("tail\n"))
    assert text_of(events) == f"head\n… 7 characters left out; {told} …\ntail\n"


def test_a_folder_that_cannot_be_made_costs_the_file_only(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    events = run(OutputLimiter(tmp_path / "taken" / "s", head=10, tail=10), Text("z" * 100))
    assert "… 80 characters left out; they could not be kept (Not a directory) …" in text_of(events)
    assert text_of(events).endswith("z" * 10)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_costs_the_file_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    monkeypatch.setattr("oi_engine.computer.spill.create_private", lambda path: open("/dev/full", "wb"))  # noqa: SIM115
    events = run(OutputLimiter(folder, head=10, tail=10), *(Text("z" * 100_000) for _ in range(5)))
    assert "499,980 characters left out; they could not be kept (No space left on device) …" in text_of(events)


def test_a_file_that_is_full_is_said(folder: Path) -> None:
    events = run(OutputLimiter(folder, head=10, tail=10, file_cap=101), *(Text("é" * 30) for _ in range(5)))
    path = files(folder)[0]
    assert path.read_text(encoding="utf-8") == "é" * 50
    assert f"the first 100 bytes of the output are in {path} (a file may have 101 bytes)" in text_of(events)


def test_memory_does_not_grow_with_the_output(folder: Path) -> None:
    limiter = OutputLimiter(folder, file_cap=1 << 20)
    piece = "some line of output\n" * 1000
    tracemalloc.start()
    try:
        for _ in range(1000):
            limiter.feed(Text(piece))
        for _ in range(20_000):
            limiter.feed(Text("\n"))
        assert tracemalloc.get_traced_memory()[0] < 2_000_000
    finally:
        tracemalloc.stop()
    limiter.finish()


# Progress bars

STREAMS: list[TextStream] = ["stdout", "stderr"]
PIECES = st.lists(
    st.tuples(st.sampled_from(STREAMS), st.text(st.sampled_from("\r\r\n\x1b[mabcdef"), max_size=12)), max_size=30
)


def on_one_screen(pieces: list[tuple[TextStream, str]]) -> str:
    """The streams' harmless text in the order of its coming."""
    sanitizers = {stream: Sanitizer() for stream in STREAMS}
    shown: list[str] = []
    before: TextStream = "stdout"
    for stream, text in pieces:
        if stream != before:
            shown.append(sanitizers[before].pause())
        shown.append(sanitizers[stream].feed(text))
        before = stream
    return "".join([*shown, *(sanitizer.finish() for sanitizer in sanitizers.values())])


@calm
@given(PIECES)
def test_thinning_changes_nothing_that_is_seen(pieces: list[tuple[TextStream, str]]) -> None:
    events = run(OutputLimiter(NOWHERE), *(Text(text, stream) for stream, text in pieces))
    assert render_carriage_returns(text_of(events)) == render_carriage_returns(on_one_screen(pieces))
    for stream in STREAMS:
        ours = sanitize("".join(text for name, text in pieces if name == stream))
        given = "".join(event.text for event in events if isinstance(event, Text) and event.stream == stream)
        assert given.count("\n") == ours.count("\n")


@calm
@given(st.lists(st.text(st.sampled_from("\rab"), max_size=4), max_size=60), st.integers(0, 40), st.integers(0, 40))
def test_head_and_tail_together_are_rendered_like_the_whole(pieces: list[str], head: int, spare: int) -> None:
    whole = sanitize("".join(pieces))
    events = run(OutputLimiter(NOWHERE, head=head, tail=len(whole) + spare), *map(Text, pieces))
    assert render_carriage_returns(text_of(events)) == render_carriage_returns(whole)


def test_a_bar_of_many_states_stays_live_and_costs_little(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    count = 200_000
    events: list[RunEvent] = []
    for step in range(count):
        events += limiter.feed(Text(f"\r{step:>40} of {count} steps, and how fast they are", "stderr"))
    shown = [int(re.findall(r"\d+", event.text)[-2]) for event in events if isinstance(event, Text)]
    assert shown[:100] == list(range(100))
    assert all(later - earlier <= 2 + later // 99 for earlier, later in pairwise(shown))
    assert len(text_of(events)) < 100_000
    events += run(limiter, Text("\ndone\n", "stderr"))
    assert (
        render_carriage_returns(text_of(events)) == f"{count - 1:>40} of {count} steps, and how fast they are\ndone\n"
    )
    assert files(folder) == []


def test_each_line_has_a_bar_of_its_own(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    for step in range(1000):
        limiter.feed(Text(f"\r{step}"))
    assert text_of(limiter.feed(Text("\n"))).endswith("999\n")
    for step in range(100):
        assert limiter.feed(Text(f"\r{step}")) == [Text(f"\r{step}")]


def test_a_bar_in_one_piece_costs_one_state(folder: Path) -> None:
    events = OutputLimiter(folder).feed(Text("".join(f"\r{step:6}" for step in range(100_000))))
    assert events == [Text("\r 99999")]


def test_an_overwritten_line_that_waits_is_bounded(folder: Path) -> None:
    limiter = OutputLimiter(folder, head=100, tail=100)
    events = [event for _ in range(3000) for event in limiter.feed(Text("\r" + "x" * 100 + "\ry"))]
    events += [event for _ in range(3000) for event in limiter.feed(Text("long line "))]
    told = text_of(events + limiter.finish())
    assert len(told) < 500
    assert told.endswith("long line " * 10)


def test_what_waits_is_shown_when_the_program_asks(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    for step in range(1000):
        limiter.feed(Text(f"\rstep {step}"))
    limiter.feed(Text("\rGo on? "))
    assert limiter.feed(InputRequest("Go on? "))[-1] == InputRequest("Go on? ")


# Words other than text


def test_a_prompt_is_harmless_and_short(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    (asked,) = limiter.feed(InputRequest("\x1b]0;x\x07Name: ", password=True))
    assert asked == InputRequest("Name: ", password=True)
    (asked,) = limiter.feed(InputRequest("x" * 10**6 + "? "))
    assert isinstance(asked, InputRequest)
    assert len(asked.prompt) <= 2000
    assert asked.prompt.endswith("x? ")
    assert limiter.feed(InputTaken()) == [InputTaken()]


def test_a_prompt_that_was_held_back_is_given_with_the_question(folder: Path) -> None:
    limiter = OutputLimiter(folder, head=5, tail=100)
    limiter.feed(Text("many lines\n" * 10 + "Your name: "))
    assert limiter.feed(InputRequest("")) == [InputRequest("Your name: ")]
    limiter.finish()


def test_notices_and_details_are_harmless_and_short(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    assert limiter.feed(Notice("fell \x1b[1mback")) == [Notice("fell back")]
    (finished,) = limiter.feed(Finished("error", "\x9b31m" + "d" * 10**6))
    assert isinstance(finished, Finished)
    assert finished.status == "error"
    assert len(finished.detail) < 2000


def test_pictures_and_pages_pass_and_pages_are_harmless(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    picture = Rich("image", "base64.png", base64.b64encode(b"png").decode())
    assert limiter.feed(picture) == [picture]
    assert limiter.feed(Rich("code", "html", "<p>\x1b[1m</p>")) == [Rich("code", "html", "<p></p>")]


def test_a_picture_that_is_too_large_goes_to_a_file(folder: Path) -> None:
    data = b"\x89PNG" + bytes(RICH_SIZE)
    events = run(OutputLimiter(folder), Rich("image", "base64.png", base64.b64encode(data).decode()))
    (path,) = files(folder)
    assert path.suffix == ".png"
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o777 == 0o600
    assert notices(events) == [f"A picture of 13,333,340 characters is too large to show. It is in {path}."]


def test_too_many_pictures_go_to_files_and_are_told_once(folder: Path) -> None:
    picture = Rich("image", "base64.jpeg", base64.b64encode(b"jpeg").decode())
    events = run(OutputLimiter(folder), *[picture] * (RICH_COUNT + 7))
    assert events.count(picture) == RICH_COUNT
    assert notices(events) == [f"7 pictures or pages after the first {RICH_COUNT} are not shown; they are in {folder}."]
    assert [path.read_bytes() for path in files(folder)] == [b"jpeg"] * 7


def test_pictures_that_cannot_be_kept_are_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    page = Rich("code", "html", "x" * (RICH_SIZE + 1))
    events = run(OutputLimiter(tmp_path / "taken" / "s"), *[page] * (RICH_COUNT + 1))
    assert notices(events)[0].endswith("It could not be kept: Not a directory.")
    assert notices(events)[-1].endswith("not all of them could be kept: Not a directory.")
    assert len(notices(events)) == RICH_COUNT + 1


def test_files_of_pictures_have_a_limit(folder: Path) -> None:
    page = Rich("code", "html", "x" * (RICH_SIZE + 1))
    events = run(OutputLimiter(folder, file_cap=RICH_SIZE + 5), page, page)
    assert notices(events)[1].endswith("It could not be kept: the files of this cell have reached their limit.")
    assert len(files(folder)) == 1


# Folders


@pytest.mark.parametrize("session_id", ["", ".", "..", "../../etc", "a/b", "x" * 300, "\udcff", "a\x00b"])
def test_an_id_cannot_point_out_of_the_root(session_id: str, tmp_path: Path) -> None:
    folder = spill_folder(session_id, tmp_path)
    assert folder.parent == tmp_path
    assert re.fullmatch(r"s-[0-9a-f]{32}", folder.name)


def test_a_plain_id_names_its_folder(tmp_path: Path) -> None:
    assert spill_folder("s-12ab", tmp_path) == tmp_path / "s-12ab"
    assert spill_folder("s-12ab").parent == spill_root()


def test_old_folders_are_cleaned_and_others_kept(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    old, fresh, written = root / "old", root / "fresh", root / "written"
    for folder in (old, fresh, written, outside):
        folder.mkdir(parents=True)
        (folder / "cell.txt").write_text("output")
    (root / "link").symlink_to(outside)
    week_ago = time.time() - 8 * 24 * 3600
    for path in (old / "cell.txt", old, fresh / "cell.txt", written, outside / "cell.txt", outside):
        os.utime(path, (week_ago, week_ago))
    assert clean_spill_folders(root) == 1
    assert sorted(path.name for path in root.iterdir()) == ["fresh", "link", "written"]
    assert (outside / "cell.txt").exists()


def test_of_too_much_the_oldest_is_cleaned(tmp_path: Path) -> None:
    for age, name in enumerate(("newest", "middle", "oldest")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cell.txt").write_text("x" * 1000)
        for path in (tmp_path / name / "cell.txt", tmp_path / name):
            os.utime(path, (time.time() - age * 100,) * 2)
    assert clean_spill_folders(tmp_path, max_total=2_500) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["middle", "newest"]


def test_a_file_takes_a_part_of_what_is_free_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(Path(__file__).parent)._replace(free=4 * 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    said = text_of(run(OutputLimiter(folder, head=10, tail=10), Text("x" * 1000)))
    (file,) = folder.iterdir()
    assert f"the first 20 bytes of the output are in {file} (a file may have 20 bytes)" in said
    assert file.stat().st_size == 20


def test_cleaning_where_there_is_nothing(tmp_path: Path) -> None:
    assert clean_spill_folders(tmp_path / "none") == 0


def test_the_line_that_wrote_goes_with_the_text(folder: Path) -> None:
    events = run(OutputLimiter(folder), Text("a\n", line=1), Text("10%", line=2), Text("b\n", line=3), Text("c"))
    assert events == [Text("a\n", line=1), Text("10%", line=2), Text("b\n", line=3), Text("c"), DONE]


def test_a_failure_is_made_harmless_and_comes_after_the_output(folder: Path) -> None:
    limiter = OutputLimiter(folder)
    limiter.feed(Text("out\n"))
    assert limiter.feed(Failure(3, "Odd\x1b[2J", "x" * 5_000)) == [Failure(3, "Odd", "x" * 1_999 + "…")]
