"""The tour: a scripted model, plainly named as such, for a machine with no key and no local server.

It walks a newcomer through the real loop: the code that it writes goes past the real gate into a real kernel, and what
it says next depends on what came out. It knows a handful of topics, found by words in the person's message.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator

from attrs import frozen

from oi_engine.models.model import ModelEvent, ModelInfo, ModelRequest, TextDelta, ToolCallDelta

NAME = "tour"
"""The name of the tour model, as ``llm.model`` takes it."""

_WELCOME = """\
I am the **tour**: a short script, not a language model, which shows you how this works. Everything else here is real: \
the code, the question before it runs, and the kernel that runs it. With a provider's key or a model server on this \
machine, a real model answers in my place.

Ask for one of these:

- **plot a sine wave**: code that makes a picture
- **which files are here?**: a shell command
- **ask me something**: a program that waits for your answer
- **run something long**: a loop to stop half-way
- **make a mistake**: an error, and what comes of it

Here is a first block. Approve it, edit it, or decline it."""

_HELLO = """\
import platform

name = platform.python_implementation()
print(f"Hello from {name} {platform.python_version()}!")"""

_LOOK = """\
from importlib.util import find_spec

has_matplotlib = find_spec("matplotlib") is not None
print("matplotlib is installed" if has_matplotlib else "matplotlib is missing")"""

_PLOT = """\
import math
import matplotlib.pyplot as plt

xs = [i * 4 * math.pi / 400 for i in range(401)]
plt.figure(figsize=(7, 3))
plt.plot(xs, [math.sin(x) for x in xs])
plt.title("A sine wave")
plt.xlabel("x")
plt.ylabel("sin x")
plt.grid(alpha=0.3)
plt.show()"""

_PLOT_BY_HAND = """\
import math, struct, zlib
from IPython.display import Image, display

width, height = 560, 200
rows = [bytearray(b"\\xff" * width) for _ in range(height)]
for x in range(width):
    rows[height // 2][x] = 200
    y = height / 2 - 0.42 * height * math.sin(4 * math.pi * x / width)
    for dy in range(-2, 3):
        rows[round(y) + dy][x] = 30

def part(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

pixels = zlib.compress(b"".join(b"\\0" + bytes(row) for row in rows))
header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
png = b"\\x89PNG\\r\\n\\x1a\\n" + part(b"IHDR", header) + part(b"IDAT", pixels) + part(b"IEND", b"")
display(Image(png))
print(f"a sine wave, {width} by {height} pixels")"""

_FILES = """\
pwd
ls -la | head -20"""

_INPUT = """\
name = input("What is your name? ")
print(f"Nice to meet you, {name}!")"""

_LONG = """\
import time

counted = 0
while counted < 600:
    counted += 1
    print(f"still counting: {counted}")
    time.sleep(0.5)"""

_WRONG = """\
prices = {"tea": 2.5, "coffee": 3.0}
print(prices["cocoa"])"""

_RIGHT = """\
prices["cocoa"] = 3.2
print(prices["cocoa"])"""


@frozen
class _Say:
    """A step: words, then perhaps a block of code."""

    text: str
    language: str = ""
    code: str = ""


def _plot(output: str, step: int) -> _Say:
    if step == 0:
        return _Say("First I look whether a plotting library is there; what I do next depends on it.", "python", _LOOK)
    if step == 1 and "is installed" in output:
        return _Say("It is, so I plot with matplotlib.", "python", _PLOT)
    if step == 1 and "is missing" in output:
        return _Say(
            "It is missing (`pip install matplotlib` in the kernel's environment would add it), so I draw the picture "
            "by hand, pixel by pixel.",
            "python",
            _PLOT_BY_HAND,
        )
    return _Say("There it is: the picture came out of the kernel. Its variables are still there for the next block.")


def _files(output: str, step: int) -> _Say:
    if step == 0:
        return _Say("I list the files with the shell.", "shell", _FILES)
    return _Say("That was the shell. It stays open: a `cd` now would still hold for the next block.")


def _input(output: str, step: int) -> _Say:
    if step == 0:
        return _Say("This program will ask you something; type the answer where it asks.", "python", _INPUT)
    return _Say("Your answer is now in the variable `name`.")


def _long(output: str, step: int) -> _Say:
    if step == 0:
        return _Say("This counts for five minutes. Stop it whenever you like.", "python", _LONG)
    return _Say("It is over. Whatever it counted is still in `counted`.")


def _mistake(output: str, step: int) -> _Say:
    if step == 0:
        return _Say("I look up a price.", "python", _WRONG)
    if step == 1 and "KeyError" in output:
        return _Say("There is no cocoa in the list: the error came back to me, and I add it.", "python", _RIGHT)
    return _Say("That is the loop: write, run, read what came out, go on.")


def _welcome(output: str, step: int) -> _Say:
    if step == 0:
        return _Say(_WELCOME, "python", _HELLO)
    return _Say("That is the whole loop. Ask for another topic, or set up a model: `oi-lsp doctor` says how.")


_Topic = Callable[[str, int], _Say]

_TOPICS: tuple[tuple[re.Pattern[str], _Topic], ...] = (
    (re.compile(r"plot|sine|graph|chart|picture", re.I), _plot),
    (re.compile(r"file|folder|director|\bls\b|shell", re.I), _files),
    (re.compile(r"ask me|input|my name|question", re.I), _input),
    (re.compile(r"long|loop|count|stop", re.I), _long),
    (re.compile(r"mistake|error|fail|wrong", re.I), _mistake),
)


class TourModel:
    """The scripted model behind the ``Model`` protocol; it calls the tool as a provider's model does."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Reply with the next step of the topic that the person's last message names."""
        asked, output, step = _where(request)
        say = _DECLINED if step and _was_declined(output) else _topic(asked)(output, step)
        for word in _words(say.text):
            yield TextDelta(word)
        if say.code:
            yield ToolCallDelta(0, f'{{"language": "{say.language}", "code": "', id=f"call_{step}", name="execute")
            for line in say.code.splitlines(keepends=True):
                yield ToolCallDelta(0, _json_text(line))
            yield ToolCallDelta(0, '"}')

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """The tour calls the tool, sees no images and costs nothing."""
        return ModelInfo(supports_functions=True, supports_vision=False, input_price=0.0, output_price=0.0)

    async def warm_up(self) -> None:
        """Nothing to warm."""

    async def close(self) -> None:
        """Nothing to let go of."""


_DECLINED = _Say("As you like; it did not run. Ask for something else, or for the same again.")


def _topic(asked: str) -> _Topic:
    return next((topic for pattern, topic in _TOPICS if pattern.search(asked)), _welcome)


def _where(request: ModelRequest) -> tuple[str, str, int]:
    """What the person asked last, what the newest block put out, and how many blocks there were since."""
    asked, output, step = "", "", 0
    for message in request.messages:
        content = message.get("content")
        text = content if isinstance(content, str) else ""
        if message["role"] == "user":
            asked, output, step = text, "", 0
        elif message["role"] == "tool":
            output, step = text, step + 1
    return asked, output, step


def _was_declined(output: str) -> bool:
    return output.startswith("The person declined")


def _words(text: str) -> Iterator[str]:
    return (match.group() for match in re.finditer(r"\S+\s*", text))


def _json_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
