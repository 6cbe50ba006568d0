"""Text written into a document while the person types: nothing lost, doubled or misplaced, in every kind of editor."""

from __future__ import annotations

import asyncio
import random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from oi_lsp.document_writer import Outcome
from tests.fakes.editors import (
    EGLOT,
    HELIX,
    NEOVIM,
    OURS,
    THEIRS,
    Profile,
)
from tests.unit.writing import HEAD, TAIL, Desk, Owner, closing, profiles, run

seeds = st.integers(0, 2**32)


# --- random edits while it streams ---------------------------------------------------------------------------------

SHORT = ("one ", "\n", "a", "```python\n", "print('é')\n", "😀", "e\u0301 ", "word", "中文 ", "\n\n", " ")
LONG = (
    "a long sentence. ",
    "    print('é 😀 中文')\n",
    "```python=c1\n",
    "# a heading, wörd\n",
    "1 22 333 4444 55555\n",
)
TYPED = ("x", "\n", "hello", "ö", "two\nlines", " ", "a", "word", "😀")
APART = ("q", "ß", "QQ[]", "§§§", "𝔸", "ŋ?ŋ?", "&\t&", "=")
"""Nothing that is in what the server writes. Where the editor's answer is not to be had or not true, a short text that
the person types just where and when the server writes the same is taken for the server's: nobody could tell. So it is
with what they take away while the same is written."""
ALL_TOLD = ("helix", "eglot, idle 0", "lsp-mode", "vscode")


async def _stream(desk: Desk, chance: random.Random, pieces: list[str], most_places: int = 1) -> str:
    """Write at the end of the answer and at places within it, which are made meanwhile. Answers what is written."""
    places, texts = [desk.answer], [""]
    for piece in pieces:
        if len(places) < most_places and chance.random() < 0.3:
            after = chance.randrange(len(places))
            places.insert(after + 1, desk.writer.anchor_after(places[after]))
            texts.insert(after + 1, "")
        place = chance.randrange(len(places))
        desk.writer.insert(places[place], piece, whole=chance.random() < 0.2)
        texts[place] += piece
        await asyncio.sleep(chance.choice((0, 0, 0.01, 0.2)))
    desk.writer.flush()
    return "".join(texts)


async def _type(desk: Desk, chance: random.Random, typed: tuple[str, ...], times: int) -> None:
    """Random edits by the person, who does not take away what was written.

    They type and delete at one place for a while, then at another: anywhere, or right where the answer is written. They
    do not get from one place to another within the time for which an editor gathers what was changed.
    """
    cursor = 0
    for _ in range(times):
        await asyncio.sleep(chance.choice((0, 0.005, 0.05, 0.3)))
        if chance.random() < 0.3:
            await asyncio.sleep(desk.editor.profile.debounce)
            cursor = chance.choice((chance.randrange(len(desk.text) + 1), desk.answer.offset, 3))
        cursor = min(cursor, len(desk.text))
        text, end = desk.text, min(len(desk.text), cursor + chance.choice((0, 0, 0, 1, 2)))
        if OURS in desk.editor.marks[cursor:end] or (
            typed is APART and not set(text[cursor:end]) <= set("".join(APART))
        ):
            end = cursor
        if "\r\n" not in (text[cursor - 1 : cursor + 1], text[end - 1 : end + 1]):
            new = chance.choice(typed)
            desk.editor.type(cursor, end, new)
            cursor += len(new)


async def _session(profile: Profile, seed: int, newline: str = "\n") -> tuple[Desk, str]:
    chance = random.Random(seed)
    vocabulary, typed = chance.choice((SHORT, LONG)), TYPED if profile.name in ALL_TOLD else APART
    pieces = [chance.choice(vocabulary) for _ in range(chance.randrange(1, 40))]
    text = (HEAD + TAIL).replace("\n", newline)
    latency = chance.choice((lambda: 0.0, lambda: 0.001, lambda: chance.uniform(0, 0.05)))
    desk = Desk(profile, text, latency)
    desk.answer.offset = at = len(HEAD.replace("\n", newline))
    desk.editor.marks[:] = ["head"] * at + ["tail"] * (len(text) - at)
    with closing(desk):
        typing = asyncio.create_task(_type(desk, chance, typed, chance.randrange(40)))
        written = await _stream(desk, chance, pieces, chance.choice((1, 6)))
        await typing
        async with asyncio.timeout(600):
            assert await desk.writer.written()
            await desk.told()
    return desk, written.replace("\n", newline)


@profiles
@settings(max_examples=40, derandomize=True)
@example(seed=3_798_126_110)  # the person types what the server writes, and the edit is refused
@given(seed=seeds)
def test_what_is_typed_while_it_streams_neither_loses_nor_moves_a_character(profile: Profile, seed: int) -> None:
    async def scenario() -> None:
        desk, written = await _session(profile, seed)
        assert desk.editor.ours == written
        assert desk.editor.mirror.text == desk.text
        assert desk.editor.most_in_flight == 1 or not profile.answers
        assert desk.owner == Owner()
        told_apart = [mark for mark in desk.editor.marks if mark != THEIRS]
        assert told_apart == sorted(told_apart, key=("head", OURS, "tail").index)

    run(scenario)


@settings(max_examples=40, derandomize=True)
@given(seed=seeds)
def test_lines_end_as_those_of_the_document_do(seed: int) -> None:
    async def scenario() -> None:
        desk, written = await _session(HELIX, seed, "\r\n")
        assert desk.editor.ours == written

    run(scenario)


@settings(max_examples=40, derandomize=True)
@given(seed=seeds)
def test_what_an_editor_misplaces_is_said_and_nothing_is_written_twice(seed: int) -> None:
    """Eglot with its idle time takes an edit for the text that it told of last, whatever was typed since."""

    async def scenario() -> None:
        chance = random.Random(seed)
        desk = Desk(EGLOT, pace=0.1)
        desk.editor.marks[:] = ["head"] * len(HEAD) + ["tail"] * len(TAIL)
        lines = [f"line {number:03} of the answer\n" for number in range(15)]
        with closing(desk):
            typing = asyncio.create_task(_type(desk, chance, APART, 20))
            await _stream(desk, chance, lines)
            await typing
            await desk.writer.written()
            await desk.told()
        assert sorted(desk.editor.ours) == sorted("".join(lines))
        marks = [mark for mark in desk.editor.marks if mark != THEIRS]
        in_place = marks == sorted(marks, key=("head", OURS, "tail").index)
        if not (in_place and desk.editor.ours == "".join(lines)):
            assert desk.owner.misplaced
        for text in desk.owner.misplaced:
            assert text in "".join(lines)

    run(scenario)


# --- what is written when ------------------------------------------------------------------------------------------


def test_whole_lines_are_written_at_once_and_words_are_gathered() -> None:
    async def scenario() -> None:
        desk = Desk()
        with closing(desk):
            for piece in ("one ", "two ", "three\nfour ", "five "):
                desk.writer.insert(desk.answer, piece)
            await asyncio.sleep(0.01)
            assert desk.editor.ours == "one two three\n"
            assert await desk.writer.written()
            assert [edit.edits[0].new_text for edit in desk.editor.asked] == ["one two three\n", "four five "]  # type: ignore[union-attr]

    run(scenario)


def test_a_buffered_answer_is_one_edit_when_it_is_flushed() -> None:
    async def scenario() -> None:
        desk = Desk(buffered=True)
        with closing(desk):
            for piece in ("one\n", "two\n", "three"):
                desk.writer.insert(desk.answer, piece)
                await asyncio.sleep(10)
            assert desk.editor.asked == []
            first, last = desk.writer.anchor(0), desk.writer.anchor(6)
            assert await desk.writer.replace(first, last, "# Talk", "# Chat") is Outcome.WRITTEN
            desk.writer.flush()
            assert await desk.writer.written()
            assert len(desk.editor.asked) == 2
            assert desk.editor.ours == "# Talkone\ntwo\nthree"

    run(scenario)


def test_what_is_written_at_a_later_anchor_is_further_down() -> None:
    async def scenario() -> None:
        desk = Desk()
        with closing(desk):
            output = desk.writer.anchor_after(desk.answer)
            after = desk.writer.anchor_after(output)
            await desk.write("after\n", after)
            await desk.write("output\n", output)
            await desk.write("more\n", after)
            await desk.write("more output\n", output)
            assert desk.editor.ours == "output\nmore output\nafter\nmore\n"
            assert desk.answer.offset == len(HEAD)
            desk.writer.release(output)
            assert await desk.writer.replace(desk.answer, after, "", desk.editor.ours) is Outcome.WRITTEN
            assert desk.text == HEAD + TAIL
            assert after.offset == desk.answer.offset == len(HEAD)

    run(scenario)


def test_what_goes_in_at_one_place_is_one_edit() -> None:
    """A block with places of its own within it, as the chat writes it, and what comes into it later."""

    async def scenario() -> None:
        desk = Desk()
        with closing(desk):
            writer, fence = desk.writer, desk.answer
            info = writer.anchor_after(fence)
            body = writer.anchor_after(info)
            end = writer.anchor_after(body)
            writer.insert(fence, "```", whole=True)
            writer.insert(info, "python", whole=True)
            writer.insert(body, "\n", whole=True)
            writer.insert(end, "```", whole=True)
            await asyncio.sleep(0.01)
            assert desk.editor.ours == "```python\n```"
            writer.insert(body, "print(1)\n")
            writer.insert(end, "\n\nSo.")
            writer.insert(fence, "`")
            writer.flush()
            assert await writer.written()
            assert desk.editor.ours == "````python\nprint(1)\n```\n\nSo."
            assert len(desk.editor.asked) == 4
            assert [at.offset - len(HEAD) for at in (fence, info, body, end)] == [4, 10, 20, 28]

    run(scenario)


def test_what_is_typed_into_a_text_keeps_the_places_within_it() -> None:
    async def scenario() -> None:
        desk = Desk(NEOVIM)
        with closing(desk):
            behind = desk.writer.anchor_after(desk.answer)
            desk.writer.insert(desk.answer, "one two three\n", whole=True)
            desk.writer.insert(behind, "four five six\n", whole=True)
            while not desk.editor.ours:
                await asyncio.sleep(0.001)
            place = desk.text.index("three")
            desk.editor.type(place, place, "QQ ")
            await desk.told()
            await desk.write("and\n")
            await desk.write("seven\n", behind)
            assert desk.text == HEAD + "one two QQ three\nand\nfour five six\nseven\n" + TAIL

    run(scenario)


def test_a_replacement_waits_for_what_comes_before_it_and_is_not_made_where_the_text_is_another() -> None:
    async def scenario() -> None:
        desk = Desk(HELIX)
        with closing(desk):
            start, end = desk.answer, desk.writer.anchor_after(desk.answer)
            desk.writer.insert(end, "secret")
            erased = desk.writer.replace(start, end, "******", "secret")
            assert await erased is Outcome.WRITTEN
            assert desk.editor.ours == "******"
            assert await desk.writer.replace(start, end, "x", "something else") is Outcome.CHANGED
            assert await desk.writer.replace(start, end, "******", "******") is Outcome.WRITTEN
            desk.editor.type(start.offset + 1, start.offset + 2, "!")
            stale = desk.writer.replace(start, end, "x", "******")
            assert await stale is Outcome.CHANGED
            assert len(desk.editor.asked) == 3
            assert await desk.writer.written()

    run(scenario)


# --- undo ----------------------------------------------------------------------------------------------------------


@profiles
def test_undo_in_mid_stream_stops_and_says_so(profile: Profile) -> None:
    async def scenario() -> None:
        desk = Desk(profile)
        with closing(desk):
            assert await desk.write("first line\n")
            assert await desk.write("second line\n")
            start = len(HEAD) + len("first line\n")
            desk.writer.insert(desk.answer, "never")
            desk.editor.undo(start, desk.answer.offset)
            await desk.told()
            ((undone, unwritten),) = desk.owner.undone
            assert (undone, [text.text for text in unwritten]) == ("second line\n", ["never"])
            assert desk.writer.stopped
            desk.writer.insert(desk.answer, "ignored\n")
            assert not await desk.writer.written()
            assert desk.editor.ours == "first line\n"
            desk.writer.resume()
            assert await desk.write("again\n")
            assert desk.editor.ours == "first line\nagain\n"

    run(scenario)


def test_several_edits_undone_at_once_and_a_replacement_undone_later() -> None:
    async def scenario() -> None:
        desk = Desk()
        with closing(desk):
            for line in ("one\n", "two\n", "three\n"):
                await desk.write(line)
            desk.editor.type(3, 3, "typed elsewhere")
            await desk.told()
            assert desk.owner.undone == []
            desk.editor.undo(desk.answer.offset - 10, desk.answer.offset)
            await desk.told()
            assert desk.owner.undone == [("two\nthree\n", [])]
            desk.writer.resume()
            start = desk.writer.anchor(desk.answer.offset - 4)
            first, last = desk.writer.anchor(0), desk.writer.anchor(2)
            await desk.writer.replace(first, last, "## ", "# ")
            desk.editor.undo(0, 3, "# ")
            await desk.told()
            assert desk.owner.undone[1:] == [("## ", [])]
            assert start.offset == desk.answer.offset - 4

    run(scenario)


def test_taking_away_a_word_of_an_answer_is_no_undo() -> None:
    async def scenario() -> None:
        desk = Desk()
        with closing(desk):
            await desk.write("one two three\n")
            desk.editor.type(len(HEAD) + 4, len(HEAD) + 8, "")
            await desk.told()
            assert desk.owner == Owner()
            assert await desk.write("four\n")
            assert desk.editor.ours == "one three\nfour\n"

    run(scenario)
