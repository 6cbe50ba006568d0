"""The history under several processes, some of which are killed."""

from __future__ import annotations

import itertools
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oi_engine.history.store import Conversation, Store
from oi_engine.messages import Message
from oi_engine.stream import Stream
from oi_engine.transcript import Transcript
from tests.fakes.history_writer import script

ROOT = Path(__file__).parents[2]
Told = tuple[str, str, str | None, str]


def start(path: Path, conversation: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.fakes.history_writer", str(path), conversation, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def told(messages: list[Message]) -> list[Told]:
    """Messages without what differs from one run to the next."""
    return [(message.role, message.type, message.format, message.text) for message in messages]


def prefixes(first: int, last: int) -> list[list[Told]]:
    """The conversation of the script as it was after each number of chunks from ``first`` to ``last``."""
    stream, transcript = Stream(), Transcript()
    stream.subscribe(lambda entry: transcript.apply(entry.chunk))
    found = []
    for number, _ in enumerate(itertools.islice(script(stream), last), 1):
        if number >= first:
            growing = transcript.open_message
            found.append(told([*transcript.messages, *([growing] if growing else [])]))
    return found


def intact(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO message_search (message_search) VALUES ('integrity-check')")
    connection.close()


@pytest.mark.parametrize("seed", range(5))
def test_a_kill_loses_at_most_the_last_second(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "history.db"
    until = random.Random(seed).randint(30, 1300)
    writer = start(path, "s1", 1_000_000)
    assert writer.stdout is not None
    reports = [(0, 0.0)]
    try:
        for line in writer.stdout:
            number, at = line.split()
            reports.append((int(number), float(at)))
            # A word must have had its second, or there would be nothing to look for.
            if int(number) >= until and float(at) - reports[1][1] > 1.5:
                break
        killed_at = time.monotonic()
    finally:
        writer.kill()
        rest, _ = writer.communicate()
    # The line that it was at may have been cut, and one more chunk may have come without it.
    last = max([reports[-1][0], *(int(line.split()[0]) for line in rest.splitlines() if len(line.split()) == 2)]) + 1
    safe = max(number for number, at in reports if at <= killed_at - 1.0)
    intact(path)
    with Store(path) as store:
        stored = told(list(store.open("s1").messages))
    assert safe > 0
    assert stored in prefixes(safe, last)


def test_two_processes_write_at_once_and_a_third_reads(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    count = 1300
    with Store(path) as store:
        writers = [start(path, name, count) for name in ("s1", "s2")]
        try:
            for writer in writers:
                assert writer.stdout is not None
                for number, line in enumerate(writer.stdout):
                    if number % 100 == 0 and line != "closed\n":
                        other = store.save(Conversation(f"{writer.pid}-{number}"), [Message("user", "message", "x")])
                        store.rename(other.id, "renamed")
                        store.search("code")
                assert line == "closed\n"
        finally:
            for writer in writers:
                writer.kill()
                writer.communicate()
        (expected,) = prefixes(count, count)
        for name in ("s1", "s2"):
            assert told(list(store.open(name).messages)) == expected
        assert {hit.conversation.id for hit in store.search("2 code")} <= {"s1", "s2"}
    intact(path)


def test_many_processes_make_a_new_database_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history.db"
    names = [f"s{number}" for number in range(5)]
    writers = [start(path, name, 20) for name in names]
    for writer in writers:
        out, _ = writer.communicate(timeout=60)
        assert out.endswith("closed\n")
    with Store(path) as store:
        assert {conversation.id for conversation in store.page()} == set(names)
        assert store.notices == ()
    intact(path)
