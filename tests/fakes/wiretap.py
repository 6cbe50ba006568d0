"""Stands between an editor and a server, and writes down every message of both.

Run as ``python -m tests.fakes.wiretap LOG COMMAND…``. Each line of the log is one JSON object
``{"from": "client" | "server", "message": {…}}``; the messages themselves pass untouched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO


def read_frame(stream: IO[bytes]) -> tuple[bytes, bytes] | None:
    """The next message as it came: its header and its body. None at the end of the stream."""
    header, length = b"", 0
    while line := stream.readline():
        header += line
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        if line == b"\r\n":
            return header, stream.read(length)
    return None


def frame(message: object) -> bytes:
    """One message with its header."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def pump(source: IO[bytes], target: IO[bytes], note: Callable[[bytes], None]) -> None:
    """Pass messages on until the source ends or the target is gone, then close the target."""
    try:
        while found := read_frame(source):
            header, body = found
            note(body)
            target.write(header + body)
            target.flush()
        target.close()
    except BrokenPipeError:
        return


def main(log_path: str, *command: str) -> int:
    """Run the command as the server of whoever started this. Answers its exit status."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def noted(who: bytes) -> Callable[[bytes], None]:
        def note(body: bytes) -> None:
            # One write for each line: two threads append to one file. Some clients send JSON of several lines.
            os.write(log, b'{"from": "%b", "message": %b}\n' % (who, b" ".join(body.splitlines())))

        return note

    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    # Reads from standard input until the editor closes it; that must not keep this process when the server has ended.
    threading.Thread(target=pump, args=(sys.stdin.buffer, server.stdin, noted(b"client")), daemon=True).start()
    pump(server.stdout, sys.stdout.buffer, noted(b"server"))
    return server.wait()


if __name__ == "__main__":
    # The thread that reads standard input may hold its lock; an ordinary exit would wait for that.
    os._exit(main(*sys.argv[1:]))
