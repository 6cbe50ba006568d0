"""The database: what is stored, found, changed; versions, damage, rights."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oi_engine.errors import (
    ConversationChanged,
    HistoryDamaged,
    HistoryError,
    HistoryTooNew,
    UnknownConversation,
)
from oi_engine.history import database, search
from oi_engine.history.schema import FORMAT, MIGRATIONS
from oi_engine.history.store import Conversation, Row, Store, turn_starts
from oi_engine.messages import Message

AT = "2024-05-06T07:08:09.123+00:00"


def said(text: str, number: int, role: str = "user") -> Message:
    return Message(role, "message", text, id=f"m{number}", created_at=AT)  # type: ignore[arg-type]


def talk(*words: str) -> list[Message]:
    """Question and answer in turn."""
    return [said(text, at, "assistant" if at % 2 else "user") for at, text in enumerate(words)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


def save(store: Store, identity: str, *words: str, title: str = "") -> Conversation:
    return store.save(Conversation(identity, title, cwd="/work", profile="default", model="m/1"), talk(*words))


# --- reading and changing --------------------------------------------------------------------------------------


def test_what_is_saved_is_there(store: Store) -> None:
    messages = [*talk("Hi", "Hello"), Message("computer", "console", "\x00é🙂\n", "output", None, "o", AT, "m1")]
    saved = store.save(Conversation("s1", "Greeting", "/work", "fast", "m/1", AT), messages)
    opened = store.open("s1")
    assert opened.conversation == saved == store.get("s1")
    assert list(opened.messages) == messages
    assert (saved.title, saved.cwd, saved.profile, saved.model, saved.created_at) == (
        "Greeting",
        "/work",
        "fast",
        "m/1",
        AT,
    )
    assert saved.length == 3
    assert opened.turns == (0,)


def test_half_characters_do_not_keep_a_message_from_being_stored(store: Store) -> None:
    save(store, "s1", "half \ud83d of one", title="\udc80")
    assert store.open("s1").messages[0].text == "half \ufffd of one"
    assert store.get("s1").title == "\ufffd"


def test_pages_come_newest_first_and_miss_none(store: Store) -> None:
    for number in range(7):
        save(store, f"s{number}", "x")
    everything = store.page(100)
    assert {found.id for found in everything} == {f"s{number}" for number in range(7)}
    times = [found.updated_at for found in everything]
    assert times == sorted(times, reverse=True)
    paged: list[Conversation] = []
    while page := store.page(3, paged[-1] if paged else None):
        paged.extend(page)
    assert paged == everything


def test_the_end_of_a_conversation(store: Store) -> None:
    save(store, "s1", *[f"word {number}" for number in range(10)])
    assert [found.text for found in store.messages_tail("s1", 3)] == ["word 7", "word 8", "word 9"]
    assert [found.text for found in store.messages_tail("s1", 3, skip=8)] == ["word 0", "word 1"]


def test_rename_delete(store: Store) -> None:
    save(store, "s1", "hello")
    store.rename("s1", "Another")
    assert store.get("s1").title == "Another"
    store.delete("s1")
    assert store.page() == []
    assert store.search("hello") == []


def test_what_was_deleted_is_not_in_the_files(path: Path) -> None:
    with Store(path) as store:
        save(store, "s1", "a quite unmistakable sentence " * 500)
        store.delete("s1")
        assert all(b"quite unmistakable" not in file.read_bytes() for file in path.parent.iterdir())


def test_undo_takes_back_a_turn_at_a_time(store: Store) -> None:
    save(store, "s1", "one", "1", "two", "2")
    assert store.undo("s1") == 2
    assert [found.text for found in store.open("s1").messages] == ["one", "1"]
    assert store.undo("s1") == 2
    assert store.undo("s1") == 0
    assert store.get("s1").length == 0


def test_turns_of_messages_that_do_not_say(store: Store) -> None:
    edit = evolve(said("edited", 9), parent="m1")
    assert list(turn_starts([*talk("a", "b"), edit, *talk("c", "d")])) == [0, 3]
    assert list(turn_starts([said("a", 0), said("b", 1)])) == [0]
    assert list(turn_starts([])) == []


def test_a_branch_is_the_conversation_up_to_a_message(store: Store) -> None:
    origin = save(store, "s1", "one", "1", "two", "2", title="Counting")
    branch = store.branch("s1", "m2")
    assert (branch.parent, branch.title, branch.model) == ("s1", "Counting", origin.model)
    assert store.open(branch.id).messages == store.open("s1").messages[:3]
    assert store.undo(branch.id) == 1
    store.delete("s1")
    assert store.get(branch.id).length == 2
    assert [hit.conversation.id for hit in store.search("one")] == [branch.id]
    with pytest.raises(UnknownConversation):
        store.branch(branch.id, "nothing")


def test_unknown_conversations_are_named(store: Store) -> None:
    for call in (store.get, store.open, store.delete, store.undo, store.set_aside):
        with pytest.raises(UnknownConversation, match="'none'"):
            call("none")


def test_a_writer_notices_another(store: Store) -> None:
    known = Conversation("s1")
    first = store.write(known, 0, [Row(said("one", 1), begins_turn=True)], 0)
    second = store.write(known, 1, [Row(said("two", 2), complete=False)], first)
    assert second == first + 1
    with pytest.raises(ConversationChanged):
        store.write(known, 1, [Row(said("other", 3))], first)
    with pytest.raises(ConversationChanged):
        store.save(known, talk("x"))
    assert [found.text for found in store.open("s1").messages] == ["one", "two"]
    store.write(known, 1, [Row(said("two and more", 2))], second)
    assert [found.text for found in store.open("s1").messages] == ["one", "two and more"]


def test_what_is_written_after_a_deletion_begins_anew(store: Store) -> None:
    known = Conversation("s1")
    revision = store.write(known, 0, [Row(said("gone", 1), begins_turn=True)], 0)
    store.delete("s1")
    revision = store.write(known, 1, [Row(said("later", 2), begins_turn=True)], revision)
    store.write(known, 2, [Row(said("and more", 3))], revision)
    assert [found.text for found in store.open("s1").messages] == ["later", "and more"]
    assert store.open("s1").turns == (0,)
    assert store.get("s1").length == 2


# --- search ----------------------------------------------------------------------------------------------------


def found(store: Store, query: str) -> list[str]:
    return sorted(hit.conversation.id for hit in store.search(query))


@pytest.fixture(params=[True, False], ids=["fts5", "without fts5"])
def searched(request: pytest.FixtureRequest, path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store of a Python whose SQLite has FTS5, and of one whose has not."""
    if not request.param:
        monkeypatch.setattr(search, "has_fts5", lambda connection: False)
    with Store(path) as store:
        save(store, "plot", "Plot the sales, please", "import matplotlib; x == y # 100%", title="Sales of 2023")
        save(store, "rename", "Rename all_my_files", "文件已重命名", title="Files")
        yield store


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sales", ["plot"]),
        ("SALES plot", ["plot"]),
        ("plot files", []),
        ("matplot", ["plot"]),
        ("all_my_files", ["rename"]),
        ("==", ["plot"]),
        ("100%", ["plot"]),
        ("x ==", ["plot"]),
        ("重命", ["rename"]),
        ("2023", ["plot"]),
        ("", []),
        ("  ", []),
        ("missing", []),
    ],
)
def test_words_are_found(searched: Store, query: str, expected: list[str]) -> None:
    assert found(searched, query) == expected


HOSTILE = [
    '"',
    "'",
    '" OR "',
    "a OR b",
    "NOT x",
    "sales NEAR/2 plot",
    "text:sales",
    "sales*",
    "^sales",
    "(sales",
    "sales)",
    "-sales",
    "{text}",
    "sales; DROP TABLE messages",
    "%",
    "_",
    "\\",
    "\\%",
    "\0",
    "sal\0es",
    "\ud800",
    "é" * 5000,
    "word " * 5000,
    "🙂",
]


@pytest.mark.parametrize("query", HOSTILE)
def test_no_text_is_syntax(searched: Store, query: str) -> None:
    searched.search(query)
    assert searched.get("plot").length == 2


def test_wildcards_are_signs(searched: Store) -> None:
    assert found(searched, "%") == ["plot"]
    assert found(searched, "l_y") == found(searched, "s%s") == []
    assert found(searched, "\\") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=40))
def test_any_text_can_be_searched(store: Store, query: str) -> None:
    store.search(query)


def test_accents_do_not_hide(store: Store) -> None:
    save(store, "s1", "Le résumé")
    assert found(store, "resume") == ["s1"]


def test_hits_show_where(store: Store) -> None:
    save(store, "s1", "x " * 500 + "the needle\nis here " + "y " * 500)
    (hit,) = store.search("Needle here")
    assert hit.position == 0
    assert [hit.snippet[start:end] for start, end in hit.spans] == ["needle", "here"]
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) < 200
    save(store, "s2", "x", title="A needle here")
    assert next((hit.conversation.id, hit.position, hit.snippet) for hit in store.search("needle here")) == (
        "s2",
        None,
        "A needle here",
    )


def test_one_hit_for_a_conversation_and_no_more_than_wanted(store: Store) -> None:
    for number in range(5):
        save(store, f"s{number}", "again", "again and again")
    hits = store.search("again", limit=3)
    assert [hit.conversation.id for hit in hits] == [found.id for found in store.page(3)]
    assert all(hit.position == 1 for hit in hits)


def test_images_are_not_searched(store: Store) -> None:
    store.save(Conversation("s1"), [Message("user", "image", "abcd1234", "base64.png", id="m", created_at=AT)])
    assert found(store, "abcd1234") == []


def test_a_python_without_fts5_and_one_with_it_share_a_history(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(path) as store:
        save(store, "s1", "indexed words")
        with monkeypatch.context() as patch:
            patch.setattr(search, "has_fts5", lambda connection: False)
            with Store(path) as plain:
                assert found(plain, "indexed") == ["s1"]
                plain.delete("s1")
                save(plain, "s2", "other words")
        assert found(store, "indexed") == []
        assert found(store, "words") == ["s2"]
    with Store(path) as store:
        save(store, "s3", "more words")
        assert found(store, "words") == ["s2", "s3"]
        store.delete("s2")
        assert found(store, "words") == ["s3"]


def test_a_long_conversation_is_indexed_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "AT_ONCE", 3)
    save(store, "s1", *[f"word{number}" for number in range(10)])
    branch = store.branch("s1", "m9")
    for number in range(10):
        assert found(store, f"word{number}") == sorted(["s1", branch.id])


# --- the file --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_folder_and_files_are_the_users_alone(path: Path) -> None:
    with Store(path) as store:
        save(store, "s1", "x")
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_the_default_place_is_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(database, "default_path", lambda: tmp_path / "oi-lsp" / "history.db")
    (tmp_path / "oi-lsp").mkdir(mode=0o755)
    Store(tmp_path / "oi-lsp" / "history.db").close()
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "oi-lsp").stat().st_mode) == 0o700


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def test_an_older_format_becomes_the_present_one(path: Path) -> None:
    path.parent.mkdir()
    old = sqlite3.connect(path)
    for statement in MIGRATIONS[0]:
        old.execute(statement)
    old.execute("INSERT INTO conversations (id, title, created_at, updated_at) VALUES ('s1', 'Old', ?, ?)", (AT, AT))
    body = '{"role": "user", "type": "message", "content": "from before", "id": "m1", "created_at": "then"}'
    old.execute("INSERT INTO messages (conversation, position, begins_turn, body) VALUES (1, 0, 1, ?)", (body,))
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    with Store(path) as store:
        opened = store.open("s1")
        assert (opened.conversation.title, opened.conversation.parent) == ("Old", None)
        assert opened.messages == (Message("user", "message", "from before", id="m1", created_at="then"),)
        assert found(store, "before") == ["s1"]
        store.write(opened.conversation, 1, [Row(said("and after", 2))], opened.revision)
        assert store.get("s1").length == 2
    assert version(path) == FORMAT == 3


def test_a_database_from_the_future_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    future = sqlite3.connect(path)
    future.execute("CREATE TABLE something (new)")
    future.execute(f"PRAGMA user_version = {FORMAT + 1}")
    future.commit()
    future.close()
    before = path.read_bytes()
    with pytest.raises(HistoryTooNew, match=f"format {FORMAT + 1}; this one knows {FORMAT}"):
        Store(path)
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*damaged*"))


def test_a_database_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks (url)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="something else"):
        Store(path)
    assert path.read_bytes() == before


def test_a_damaged_database_is_moved_aside_with_a_word(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database at all" * 400)
    with Store(path) as store:
        (notice,) = store.notices
        (kept,) = path.parent.glob("history.damaged-*.db")
        assert str(kept) in notice
        assert kept.read_bytes().startswith(b"this is no database")
        save(store, "s1", "goes on")
    with Store(path) as store:
        assert store.notices == ()
        assert found(store, "goes") == ["s1"]


def overwrite(path: Path, what: bytes) -> None:
    """Damage every page of the database that holds ``what``."""
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        if what in data[start : start + 4096]:
            data[start : start + 4096] = b"\xff" * 4096
    path.write_bytes(data)


def test_damage_that_is_met_later_is_moved_aside_at_the_next_start(path: Path) -> None:
    with Store(path) as store:
        save(store, "s1", *["long words " * 200] * 200)
    overwrite(path, b"long words long")
    with Store(path) as store, pytest.raises(HistoryDamaged, match="moved aside"):
        store.open("s1")
    with Store(path) as store:
        assert "damaged" in store.notices[0]
        assert store.page() == []
    assert len(list(path.parent.glob("history.damaged-*.db"))) == 1


def test_damage_that_is_met_on_opening_is_moved_aside_at_once(path: Path) -> None:
    with Store(path) as store:
        save(store, "s1", "x")
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages_not_indexed'").fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    data[4096 * (root - 1) : 4096 * root] = b"\xff" * 4096
    path.write_bytes(data)
    with Store(path) as store:
        assert "damaged" in store.notices[0]
        assert store.page() == []


def test_a_damaged_search_index_is_made_anew(path: Path) -> None:
    with Store(path) as store:
        save(store, "s1", "precious words")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE message_search_data SET block = x'ffffffff' WHERE id > 10")
    connection.commit()
    connection.close()
    with Store(path) as store, pytest.raises(HistoryDamaged):
        store.search("precious")
    with Store(path) as store:
        assert store.notices == ()
        assert found(store, "precious") == ["s1"]


@pytest.mark.skipif(os.name != "posix", reason="Windows itself lets nobody rename an open file")
def test_a_damaged_database_that_others_use_stays_where_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "ALONE", 0.1)
    with Store(path) as store:
        save(store, "s1", "x")
        store._database.settle()
        path.write_bytes(b"overwritten" * 1000)
        with pytest.raises(HistoryDamaged, match="Close the others"):
            Store(path)
    assert not list(path.parent.glob("*damaged*"))


def test_a_suspicion_without_reason_is_forgotten(path: Path) -> None:
    with Store(path) as store:
        save(store, "s1", "x")
    suspect = path.with_name("history.db.suspect")
    suspect.touch()
    with Store(path) as store:
        assert store.get("s1").length == 1
        assert store.notices == ()
    assert not suspect.exists()


def test_a_busy_database_is_said_to_be_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY", 0.05)
    with Store(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryError, match="busy"):
            save(store, "s1", "x")
        other.execute("ROLLBACK")
        other.close()
        assert save(store, "s1", "x").length == 1


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HistoryError, match="history"):
        Store(tmp_path / "data" / "history.db")
