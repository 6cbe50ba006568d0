"""A terminal that draws images, around an editor, and what the editor had it draw."""

from __future__ import annotations

import base64
import re
import struct
import sys
import zlib
from pathlib import Path
from random import Random

from attrs import define, field

from tests.e2e.editors.editor import Editor

COMMAND = re.compile(rb"\x1b_G([^;\x1b]*);?([^\x1b]*)\x1b\\")
Command = tuple[str, str]
"""Its keys and its payload."""

_CELL = re.compile("\U0010eeee(.)(.)(.)")
_COUNT = "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f"
"""What the protocol counts rows and columns by, from 0."""


@define
class GraphicsTerminal:
    """``tests.fakes.graphics_terminal``, in which that editor is started."""

    editor: Editor
    folder: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.folder = self.editor.folder / "terminal"
        self.folder.mkdir()
        self.editor.within = (sys.executable, "-m", "tests.fakes.graphics_terminal", str(self.folder))

    def name(self, name: str) -> None:
        """What it says from now on that it is."""
        (self.folder / "name").write_text(name)

    def commands(self) -> list[Command]:
        """All that were written."""
        return commands_in((self.folder / "written").read_bytes())

    def since_deletion(self) -> list[str]:
        """The keys of the commands after the last that deletes."""
        keys = [keys for keys, _ in self.commands()]
        deletions = [at for at, each in enumerate(keys) if each.startswith("a=d")]
        return keys[deletions[-1] + 1 :] if deletions else keys


def commands_in(written: bytes) -> list[Command]:
    """The commands of the graphics protocol among what was written to a terminal."""
    return [(keys.decode(), payload.decode()) for keys, payload in COMMAND.findall(written)]


def image_of(commands: list[Command]) -> tuple[bytes, int]:
    """The image that was sent last, with its id. Fails where it was not sent by the rules."""
    first = max(at for at, (keys, _) in enumerate(commands) if keys.startswith("a=t"))
    head = re.fullmatch(r"a=t,f=100,t=([df]),i=(\d+)(?:,(m=[01]))?,q=2", commands[first][0])
    assert head is not None, commands[first][0]
    if head[1] == "f":
        return Path(base64.b64decode(commands[first][1], validate=True).decode()).read_bytes(), int(head[2])
    rest = [(f"{head[3]},q=2", commands[first][1]), *commands[first + 1 :]]
    last = [keys for keys, _ in rest].index("m=0,q=2")
    assert {keys for keys, _ in rest[:last]} <= {"m=1,q=2"}
    assert {len(payload) for _, payload in rest[:last]} <= {4096}
    assert len(rest[last][1]) <= 4096
    return base64.b64decode("".join(payload for _, payload in rest[: last + 1]), validate=True), int(head[2])


def noise(width: int, height: int) -> bytes:
    """A PNG of that many pixels that cannot be compressed."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    random = Random(0)
    rows = b"".join(b"\0" + random.randbytes(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def cells(screen: str) -> list[list[tuple[int, int]]]:
    """The lines of a screen that show an image: row and column (below 8) of the image, of each cell."""
    found = [_CELL.findall(line) for line in screen.splitlines()]
    return [[(_COUNT.index(row), _COUNT.index(column)) for row, column, _ in line] for line in found if line]
