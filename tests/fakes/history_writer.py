"""A process that records a stream, for tests that kill it: ``python -m tests.fakes.history_writer database id count``.

Its chunks are those of ``script``, which depend on their number alone. After each it says on stdout the number of
chunks so far and the time (``time.monotonic``, one clock for all processes of a machine); at the end it closes the
recorder and says ``closed``.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from oi_engine.history.recorder import Recorder
from oi_engine.history.store import Conversation
from oi_engine.messages import Chunk
from oi_engine.stream import Stream


def script(stream: Stream) -> Iterator[None]:
    """An endless conversation, a chunk at a time: requests, replies, code, output; short turns, long ones, and undo.

    A long turn goes on for more than two seconds, so that the store cannot live by what is written at the end of one.
    """
    turn = 0
    while True:
        turn += 1
        short = turn % 2 == 1
        for role, kind, form, pieces in (
            ("user", "message", None, 1),
            ("assistant", "message", None, 5 if short else 400),
            ("assistant", "code", "python", 3 if short else 300),
            ("computer", "console", None, 6 if short else 500),
        ):
            stream.open(role, kind, form)  # type: ignore[arg-type]
            yield
            for piece in range(pieces):
                stream.write(f"{turn} {kind} {piece}\n", "output" if kind == "console" else None)
                yield
            stream.close()
            yield
        stream.put(Chunk("server", "status", content="complete"))
        yield
        if turn % 3 == 0:
            stream.put(Chunk("user", "command", content="undo"))
            yield


async def main(path: Path, conversation: str, count: int) -> None:
    """Record ``count`` chunks, with the loop free between them."""
    stream = Stream()
    recorder = Recorder(path, Conversation(conversation))
    stream.subscribe(recorder)
    writing = script(stream)
    for number in range(1, count + 1):
        next(writing)
        sys.stdout.write(f"{number} {time.monotonic()}\n")
        sys.stdout.flush()
        await asyncio.sleep(0.002)
    await asyncio.to_thread(recorder.close)
    sys.stdout.write("closed\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
