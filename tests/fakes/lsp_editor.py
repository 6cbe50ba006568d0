"""An editor of the plain kind over a raw client: buffers, a person who types, and answers to what the server asks.

It does as real editors were seen to do: how it makes and tells of changes is a ``Profile`` (``tests.fakes.editors``),
what it makes of the server's requests its ``Manners``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from attrs import define, evolve, field, frozen

from tests.fakes.editors import VSCODE, Profile
from tests.fakes.lsp_client import Json, LspClient

Echo = Literal["before", "after", "never"]
UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@define(eq=False)
class Buffer:
    """A document as the editor has it."""

    uri: str
    text: str
    encoding: str
    version: int = 0
    history: list[str] = field(factory=list)
    told: str = ""
    """What the server was told that it holds."""
    unsent: list[Json] = field(factory=list)
    timer: asyncio.TimerHandle | None = None

    def offset(self, position: Json) -> int:
        lines = self.text.split("\n")
        if position["line"] >= len(lines):
            return len(self.text)
        codec, width = UNITS[self.encoding]
        line = lines[position["line"]]
        within = line.encode(codec)[: position["character"] * width].decode(codec)
        return sum(len(each) + 1 for each in lines[: position["line"]]) + len(within)

    def position(self, offset: int) -> Json:
        codec, width = UNITS[self.encoding]
        head = self.text[:offset].split("\n")
        return {"line": len(head) - 1, "character": len(head[-1].encode(codec)) // width}

    def range(self, start: int, end: int) -> Json:
        return {"start": self.position(start), "end": self.position(end)}


@frozen
class Manners:
    """What an editor makes of what the server asks and answers."""

    profile: Profile = VSCODE
    shows_documents: bool | None = True
    """What ``window/showDocument`` is answered with; ``None``: with ``null``."""
    lenses: bool = True
    """Whether it asks for code lenses; else the person looks at the code actions."""
    results: bool = True
    """Whether anything comes of what ``workspace/executeCommand`` is answered with."""
    versions: bool = True
    """Whether it gives its documents version numbers."""
    unknown: frozenset[str] = frozenset()
    """What it answers with MethodNotFound."""


class LspEditor:
    """The editor. ``echo`` says when it tells the server of the server's own edits: before its answer, or after."""

    def __init__(
        self, client: LspClient, *, echo: Echo | None = None, encoding: str = "utf-16", manners: Manners | None = None
    ) -> None:
        self.client = client
        self.manners = manners or Manners()
        self.profile = self.manners.profile if echo is None else evolve(self.manners.profile, echo=echo)
        self.encoding = encoding
        self.buffers: dict[str, Buffer] = {}
        self.shown: list[str] = []
        self.asked: list[tuple[str, Json]] = []
        self.unanswered: set[str] = set()
        self.busy: Callable[[], bool] = lambda: False
        """Whether it is so slow that edits wait, until ``catch_up``."""
        self._waiting: list[tuple[Json, Json]] = []
        self.unknown = set(self.manners.unknown)
        self.choices: list[str] = []
        client.on_request = self._asked

    # --- the person --------------------------------------------------------------------------------------------

    async def open(self, path: Path, text: str | None = None) -> Buffer:
        """Open a file; with ``text``, it is that."""
        if text is not None:
            await asyncio.to_thread(path.write_bytes, text.encode())
        found = await asyncio.to_thread(path.read_bytes)
        return self.opened(path.as_uri(), found.decode())

    def type(self, buffer: Buffer, start: int, text: str, end: int | None = None) -> None:
        """Put text in the place of what is between two offsets."""
        change = {"range": buffer.range(start, start if end is None else end), "text": text}
        buffer.history.append(buffer.text)
        buffer.text = buffer.text[:start] + text + buffer.text[start if end is None else end :]
        self._tell(buffer, [change])

    def append(self, buffer: Buffer, text: str) -> None:
        """Type at the end."""
        self.type(buffer, len(buffer.text), text)

    def replace(self, buffer: Buffer, old: str, new: str) -> None:
        """Put other words in the place of some that are there once."""
        assert buffer.text.count(old) == 1, buffer.text
        start = buffer.text.index(old)
        self.type(buffer, start, new, start + len(old))

    def undo(self, buffer: Buffer) -> None:
        """Take the latest change back, whoever made it."""
        before = buffer.history.pop()
        whole = buffer.range(0, len(buffer.text))
        buffer.text = before
        self._tell(buffer, [{"range": whole, "text": before}])

    async def save(self, buffer: Buffer) -> None:
        path = Path(buffer.uri.removeprefix("file://"))
        await asyncio.to_thread(path.write_bytes, buffer.text.encode())
        self.tell_now()
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": buffer.uri}})

    def close(self, buffer: Buffer) -> None:
        self.tell_now()
        del self.buffers[buffer.uri]
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})

    async def actions(self, buffer: Buffer, at: str | tuple[int, int], **context: Any) -> list[Json]:
        """The code actions where some words are that are there once, or between two offsets."""
        if isinstance(at, str):
            assert buffer.text.count(at) == 1, f"{at!r} in\n{buffer.text}"
            start = buffer.text.index(at)
            at = (start, start)
        found: list[Json] = await self.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": buffer.uri},
                "range": buffer.range(*at),
                "context": {"diagnostics": [], **context},
            },
        )
        return found

    async def titles(self, buffer: Buffer, at: str | tuple[int, int]) -> list[str]:
        return [action["title"] for action in await self.actions(buffer, at)]

    async def take(self, buffer: Buffer, title: str, at: str | tuple[int, int], **context: Any) -> Any:
        """Take the one code action with that title."""
        found = [action for action in await self.actions(buffer, at, **context) if action["title"].startswith(title)]
        assert len(found) == 1, f"{title!r} at {at!r}: {found} in\n{buffer.text}"
        result = await self.request("workspace/executeCommand", _call(found[0]["command"]))
        return result if self.manners.results else None

    async def lenses(self, buffer: Buffer) -> list[Json]:
        """The code lenses; in an editor that has none, the code actions of the whole buffer."""
        if not self.manners.lenses:
            return await self.actions(buffer, (0, len(buffer.text)))
        found: list[Json] = await self.request("textDocument/codeLens", {"textDocument": {"uri": buffer.uri}})
        return found

    async def offered(self, buffer: Buffer, title: str) -> Json:
        """Wait until a lens with that title is there."""
        lenses: list[Json] = []
        async with asyncio.timeout(60):
            while not (found := [lens for lens in lenses if lens["command"]["title"] == title]):
                lenses = await self.lenses(buffer)
        return found[0]

    async def gone(self, buffer: Buffer, title: str) -> None:
        """Wait until no lens has that title."""
        async with asyncio.timeout(60):
            while any(lens["command"]["title"] == title for lens in await self.lenses(buffer)):
                pass

    async def request(self, method: str, params: Json) -> Any:
        """Ask the server, which is told of all changes before, as every editor does."""
        self.tell_now()
        return await self.client.request(method, params)

    async def until(self, buffer: Buffer, words: str) -> None:
        """Wait until the words are in the buffer."""
        await self.client.until(lambda: words in buffer.text)

    # --- the server --------------------------------------------------------------------------------------------

    def opened(self, uri: str, text: str) -> Buffer:
        """Have a buffer, whether or not there is a file."""
        buffer = self.buffers[uri] = Buffer(uri, text, self.encoding, told=text)
        language = "python" if uri.endswith(".py") else "markdown"
        item = {"uri": uri, "languageId": language, "version": self._version(buffer), "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    def _version(self, buffer: Buffer) -> int | None:
        return buffer.version if self.manners.versions else None

    def _tell(self, buffer: Buffer, changes: list[Json]) -> None:
        """Tell of changes: at once, or when there were no more for a while."""
        buffer.unsent += changes
        if not self.profile.lazy:
            buffer.version += 1
        if not self.profile.debounce:
            self._tell_of(buffer)
            return
        if buffer.timer is not None and self.profile.lazy:
            buffer.timer.cancel()
            buffer.timer = None
        if buffer.timer is None:
            loop = asyncio.get_running_loop()
            buffer.timer = loop.call_later(self.profile.debounce, self._tell_of, buffer)

    def tell_now(self) -> None:
        """Tell of all changes."""
        for buffer in self.buffers.values():
            self._tell_of(buffer)

    def _tell_of(self, buffer: Buffer) -> None:
        if buffer.timer is not None:
            buffer.timer.cancel()
            buffer.timer = None
        if not buffer.unsent:
            return
        if self.profile.lazy:
            buffer.version += 1
        changes, buffer.unsent = buffer.unsent, []
        if self.profile.sync == "whole":
            changes = [{"text": buffer.text}]
        elif self.profile.sync == "diff":
            changes = [_difference(buffer)]
        buffer.told = buffer.text
        self.client.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": buffer.uri, "version": self._version(buffer)}, "contentChanges": changes},
        )

    def _asked(self, msg_id: Any, method: str, params: Json) -> None:
        self.asked.append((method, params))
        if method in self.unanswered:
            return
        answer: Json = {"jsonrpc": "2.0", "id": msg_id, "result": None}
        if method in self.unknown:
            del answer["result"]
            answer["error"] = {"code": -32601, "message": f"unknown: {method}"}
        elif method == "workspace/applyEdit":
            if self.busy():
                self._waiting.append((answer, params["edit"]))
            else:
                self._edit(answer, params["edit"])
            return
        elif method == "window/showDocument" and self.manners.shows_documents:
            answer["result"] = {"success": True}
            self.shown.append(params["uri"])
            if params["uri"] not in self.buffers:
                self.opened(params["uri"], Path(params["uri"].removeprefix("file://")).read_text())
        elif method == "window/showMessageRequest" and self.choices:
            answer["result"] = {"title": self.choices.pop(0)}
        self._answer(answer)

    def catch_up(self) -> None:
        """Make the edits that wait."""
        self.busy = lambda: False
        waiting, self._waiting = self._waiting, []
        for answer, edit in waiting:
            self._edit(answer, edit)

    def _answer(self, answer: Json) -> None:
        if self.profile.answers:
            self.client.post(answer)

    def _edit(self, answer: Json, edit: Json) -> None:
        (change,) = edit["documentChanges"]
        buffer = self.buffers.get(change["textDocument"]["uri"])
        if buffer is None:
            self._answer(answer | {"result": {"applied": False, "failureReason": "not open"}})
            return
        looks = self.manners.versions and self.profile.stale != "accepted"
        if looks and change["textDocument"]["version"] not in (None, buffer.version):
            self._answer(answer | self._refusal())
            return
        answer["result"] = {"applied": True}
        if self.profile.echo == "after":
            self._answer(answer)
        buffer.history.append(buffer.text)
        ordered = sorted(change["edits"], key=lambda each: buffer.offset(each["range"]["start"]), reverse=True)
        for each in ordered:
            start, end = buffer.offset(each["range"]["start"]), buffer.offset(each["range"]["end"])
            buffer.text = buffer.text[:start] + each["newText"] + buffer.text[end:]
        self._tell(buffer, [{"range": each["range"], "text": each["newText"]} for each in ordered])
        if self.profile.echo == "before":
            self._answer(answer)

    def _refusal(self) -> Json:
        """What it says of an edit for another version, of which nothing is made."""
        if self.profile.stale == "error":
            return {"error": {"code": -32603, "message": "another version"}}
        return {"result": {"applied": self.profile.stale == "lies", "failureReason": "another version"}}


def _difference(buffer: Buffer) -> Json:
    """From the first difference to the last, as one change."""
    old, new = buffer.told, buffer.text
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    tail = next((n for n in range(shorter - head) if old[-1 - n] != new[-1 - n]), shorter - head)
    before = Buffer(buffer.uri, old, buffer.encoding)
    return {"range": before.range(head, len(old) - tail), "text": new[head : len(new) - tail]}


def _call(command: Json) -> Json:
    return {"command": command["command"], "arguments": command["arguments"]}
