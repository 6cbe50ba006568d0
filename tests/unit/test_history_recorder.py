"""The recorder: what it writes, when, and what it does when it cannot; restoring what it wrote."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oi_engine.errors import MalformedStream
from oi_engine.history import database, recorder, storable
from oi_engine.history.recorder import Recorder, title_of
from oi_engine.history.restore import needs_word, restore
from oi_engine.history.storable import Cleaner
from oi_engine.history.store import Conversation, Store
from oi_engine.messages import Chunk, Message, new_id
from oi_engine.safety.redact import MARK, redact
from oi_engine.stream import Stream, check_stream
from oi_engine.transcript import Transcript

KEY = "sk-" + "a1B2" * 10


class Rig:
    """A stream with its transcript and a recorder of it."""

    def __init__(self, path: Path, conversation: Conversation, **options: object) -> None:
        self.stream, self.transcript = Stream(), Transcript()
        self.stream.subscribe(lambda entry: self.transcript.apply(entry.chunk))
        self.problems: list[str] = []
        self.recorder = Recorder(path, conversation, on_problem=self.problems.append, **options)  # type: ignore[arg-type]
        self.stream.subscribe(self.recorder)

    def say(self, role: str, text: str, kind: str = "message") -> None:
        self.stream.open(role, kind)  # type: ignore[arg-type]
        for word in text.split(" "):
            self.stream.write(f"{word} ")
        self.stream.close()

    def put(self, kind: str, content: str) -> None:
        self.stream.put(Chunk("user", kind, content=content, id=new_id("m")))  # type: ignore[arg-type]

    def add(self, text: str) -> None:
        if self.stream.open_message is not None:
            self.stream.write(text)

    def turn(self, *texts: str) -> None:
        for at, text in enumerate(texts):
            self.say("assistant" if at % 2 else "user", text)
        self.put("status", "complete")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


@pytest.fixture
def rig(path: Path) -> Iterator[Rig]:
    made = Rig(path, Conversation("s1", cwd="/work"))
    yield made
    made.recorder.close()


def stored(store: Store, identity: str = "s1") -> list[str]:
    return [message.text.strip() for message in store.open(identity).messages]


def test_what_was_said_is_stored(rig: Rig, store: Store) -> None:
    rig.turn("How are you?", "Well.")
    assert rig.recorder.flush() == ""
    opened = store.open("s1")
    assert list(opened.messages) == rig.transcript.messages
    assert opened.turns == rig.transcript.turns == (0,)
    assert (opened.conversation.title, opened.conversation.cwd) == ("How are you?", "/work")


def test_a_session_without_a_word_is_not_stored(rig: Rig, store: Store) -> None:
    rig.put("status", "complete")
    rig.recorder.close()
    assert store.page() == []


def test_the_end_of_a_turn_is_written_at_once_and_the_rest_soon(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    came = threading.Event()

    class Watched(Store):
        def write(self, *arguments: object, **named: object) -> int:
            revision = super().write(*arguments, **named)  # type: ignore[arg-type]
            written.append(threading.current_thread().name)
            came.set()
            return revision

    monkeypatch.setattr(recorder, "Store", Watched)
    rig = Rig(path, Conversation("s1"))
    rig.stream.open("user", "message")
    rig.stream.write("half a sent")
    with Store(path) as store:
        while True:
            assert came.wait(30)
            came.clear()
            if stored(store) == ["half a sent"]:
                break
    monkeypatch.setattr(recorder, "INTERVAL", 3600.0)
    rig.stream.write("ence")
    rig.put("status", "complete")
    assert came.wait(30)
    with Store(path) as store:
        assert stored(store) == ["half a sentence"]
    rig.recorder.close()
    assert set(written) == {"history s1"}


async def test_the_loop_does_not_wait_for_the_disk(path: Path) -> None:
    Store(path).close()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    rig = Rig(path, Conversation("s1"))
    rig.turn("While nobody can write.")
    await asyncio.sleep(0)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await asyncio.to_thread(rig.recorder.close) == ""
    with Store(path) as store:
        assert stored(store) == ["While nobody can write."]


def test_undo_is_stored_as_it_is(rig: Rig, store: Store) -> None:
    rig.turn("one", "1")
    rig.turn("two", "2")
    rig.recorder.flush()
    rig.put("command", "undo")
    rig.recorder.flush()
    assert stored(store) == ["one", "1"]
    rig.turn("three", "3")
    rig.put("command", "undo")
    rig.put("command", "undo")
    rig.recorder.flush()
    assert stored(store) == []


def test_before_a_reset_is_kept_as_a_conversation_of_its_own(rig: Rig, store: Store) -> None:
    rig.turn("before", "yes")
    rig.put("command", "reset")
    rig.turn("after", "indeed")
    rig.put("command", "reset")
    rig.put("command", "reset")
    rig.recorder.close()
    assert sorted(stored(store, found.id) for found in store.page()) == [["after", "indeed"], ["before", "yes"]]
    assert {found.title for found in store.page()} == {"after", "before"}


actions = st.lists(
    st.sampled_from(["user", "assistant", "console", "status", "undo", "part", "flush", "open", "error"]), max_size=25
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(actions)
def test_the_store_has_what_the_transcript_has(path: Path, actions: list[str]) -> None:
    conversation = Conversation(new_id("s"))
    rig = Rig(path, conversation)
    do: dict[str, Callable[[], object]] = {
        "user": lambda: rig.say("user", "some words"),
        "assistant": lambda: rig.say("assistant", "other words"),
        "console": lambda: rig.say("computer", "10%\r20%\n", "console"),
        "status": lambda: rig.put("status", "complete"),
        "undo": lambda: rig.put("command", "undo"),
        "error": lambda: rig.put("error", "It failed."),
        "open": lambda: rig.stream.open("assistant", "message"),
        "part": lambda: rig.add("part "),
        "flush": rig.recorder.flush,
    }
    for action in actions:
        do[action]()
    rig.recorder.close()
    growing = rig.transcript.open_message
    expected = [*rig.transcript.messages, *([growing] if growing else [])]
    with Store(path) as store:
        if not expected:
            assert all(store.get(found.id).length == 0 for found in store.page() if found.id == conversation.id)
            return
        opened = store.open(conversation.id)
    assert list(opened.messages) == expected
    assert opened.turns == rig.transcript.turns
    told = {at: tuple(chunks) for at, chunks in rig.transcript.told.items() if at >= 0}
    assert dict(opened.told) == told
    assert opened.conversation.under_way == rig.transcript.under_way
    again, chunks, folded = Stream(), [], Transcript()
    again.subscribe(lambda entry: chunks.append(entry.chunk))
    again.subscribe(lambda entry: folded.apply(entry.chunk))
    restore(again, opened)
    check_stream(chunks)
    assert folded.messages == expected
    assert folded.turns == opened.turns


def test_a_restored_conversation_goes_on(path: Path, rig: Rig, store: Store) -> None:
    rig.turn("one", "1")
    rig.say("computer", "ran", "console")
    rig.recorder.close()
    opened = store.open("s1")
    assert needs_word(opened)
    assert not needs_word(evolve(opened, messages=opened.messages[:2]))
    later = Rig(path, opened.conversation, opened=opened)
    later.recorder.close()
    fresh, transcript = Stream(), Transcript()
    fresh.subscribe(lambda entry: transcript.apply(entry.chunk))
    restore(fresh, opened)
    goes_on = Recorder(path, opened.conversation, opened)
    fresh.subscribe(goes_on)
    fresh.open("user", "message")
    fresh.write("two")
    fresh.close()
    goes_on.close()
    assert stored(store) == ["one", "1", "ran", "two"]
    assert list(store.open("s1").messages) == transcript.messages
    with pytest.raises(MalformedStream):
        restore(fresh, opened)


def test_a_conversation_that_is_open_twice_becomes_two(path: Path, rig: Rig, store: Store) -> None:
    rig.turn("one", "1")
    rig.recorder.flush()
    opened = store.open("s1")
    other = Rig(path, opened.conversation, opened=opened)
    other.turn("from the other", "2")
    other.recorder.close()
    rig.turn("from here", "3")
    rig.recorder.flush()
    rig.turn("and on", "4")
    problem = rig.recorder.close()
    assert problem == ""
    assert "continued elsewhere" in rig.problems[0]
    branch = rig.recorder.conversation
    assert branch.parent == "s1"
    assert stored(store) == ["one", "1", "from the other", "2"]
    assert stored(store, branch.id) == ["one", "1", "from here", "3", "and on", "4"]


def test_what_was_deleted_elsewhere_stays_deleted(rig: Rig, store: Store) -> None:
    rig.turn("secret", "yes")
    rig.recorder.flush()
    store.delete("s1")
    rig.turn("later", "well")
    rig.recorder.flush()
    assert stored(store) == ["later", "well"]
    assert store.search("secret") == []


def test_what_could_not_be_written_is_written_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY", 0.05)
    monkeypatch.setattr(recorder, "RETRY", 0.05)
    Store(path).close()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    rig = Rig(path, Conversation("s1"))
    rig.turn("patience")
    assert "busy" in rig.recorder.flush()
    blocker.execute("ROLLBACK")
    blocker.close()
    assert rig.recorder.close() == ""
    assert rig.problems[-1] == ""
    with Store(path) as store:
        assert stored(store) == ["patience"]


def test_a_history_that_cannot_be_used_costs_the_history_alone(path: Path) -> None:
    path.mkdir()
    rig = Rig(path, Conversation("s1"))
    rig.turn("goes on")
    assert "cannot be used" in rig.recorder.close()
    assert [message.text for message in rig.transcript.messages] == ["goes on "]


def test_a_damaged_history_is_said_to_be_moved_aside(path: Path) -> None:
    path.write_bytes(b"nothing of the kind" * 500)
    rig = Rig(path, Conversation("s1"))
    rig.turn("goes on")
    assert rig.recorder.close() == ""
    assert "damaged" in rig.problems[0]


def test_a_chosen_title_and_model_are_stored(path: Path, store: Store) -> None:
    rig = Rig(path, Conversation("s1", title="My title"))
    rig.turn("words")
    rig.recorder.flush()
    store.rename("s1", "Renamed")
    rig.recorder.describe(model="m/2", profile="fast")
    rig.turn("more")
    rig.recorder.close()
    found = store.get("s1")
    assert (found.title, found.model, found.profile) == ("Renamed", "m/2", "fast")


@pytest.mark.parametrize(
    ("messages", "title"),
    [
        ([], ""),
        ([Message("assistant", "message", "Hello")], ""),
        ([Message("user", "message", "  \n "), Message("user", "message", "Plot\n  the sales")], "Plot the sales"),
        ([Message("user", "image", "abc", "base64.png"), Message("user", "code", "1+1", "python")], "1+1"),
        ([Message("user", "message", "word " * 100)], ("word " * 12).strip() + "…"),
    ],
)
def test_titles(messages: list[Message], title: str) -> None:
    assert title_of(messages) == title
    assert len(title_of(messages)) <= recorder.TITLE


# --- what is not stored ----------------------------------------------------------------------------------------


def test_keys_are_not_in_the_files(path: Path, tmp_path: Path) -> None:
    rig = Rig(path, Conversation("s1"), secrets=["my own passphrase"])
    rig.stream.open("user", "message")
    for piece in ("use ", KEY[:20], KEY[20:], " and my own ", "passphrase", "\nthen ", "go"):
        rig.stream.write(piece)
        rig.recorder.flush()
    rig.stream.close()
    rig.recorder.flush()
    with Store(path) as store:
        assert stored(store) == [f"use {MARK} and {MARK}\nthen go"]
        assert store.get("s1").title == f"use {MARK} and {MARK} then go"
        assert store.search(KEY) == []
    rig.recorder.close()
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
        assert b"my own passphrase" not in file.read_bytes()


PEM = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 8 + "-----END PRIVATE KEY-----\n"
lines = st.sampled_from(["plain words\n", f"key {KEY}\n", PEM, "api_key = 'abcdefgh12345'\n", "\n", "no end", "é🙂"])


@given(st.lists(lines, max_size=8), st.lists(st.integers(1, 60), min_size=1))
def test_a_growing_message_is_redacted_as_the_whole_is(parts: list[str], steps: list[int]) -> None:
    text = "".join(parts)
    cleaner = Cleaner()
    at = 0
    for step in steps:
        at = min(at + step, len(text))
        cleaner.growing(Message("user", "message", text[:at]))
    assert cleaner.growing(Message("user", "message", text)).text == redact(text)
    assert cleaner.whole(Message("user", "message", text)).text == redact(text)
    assert cleaner.growing(Message("user", "message", "other")).text == "other"


def test_images_are_kept_as_they_are_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaner = Cleaner()
    image = Message("computer", "image", "AKIA" * 5, "base64.png", parent="m1")
    assert cleaner.whole(image) == image
    assert cleaner.growing(image) == image
    monkeypatch.setattr(storable, "LARGEST", 10)
    (kept, path) = (cleaner.whole(image), Message("user", "image", "/a/long/path.png", "path"))
    assert (kept.type, kept.parent, kept.format) == ("message", "m1", None)
    assert "too large" in kept.text
    assert cleaner.whole(path) == path


def test_what_follows_an_undo_or_a_reset_is_a_turn_of_its_own(rig: Rig) -> None:
    rig.turn("one", "1")
    rig.say("computer", "Restarted: python.")
    rig.put("command", "undo")
    rig.turn("two", "2")
    assert list(rig.transcript.turns) == [0, 2]
    rig.put("command", "undo")
    assert [message.text for message in rig.transcript.messages] == ["one ", "1 "]
    rig.say("computer", "Restarted: python.")
    rig.put("command", "reset")
    rig.turn("three", "3")
    assert list(rig.transcript.turns) == [0]
