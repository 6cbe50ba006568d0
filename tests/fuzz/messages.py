"""Messages of a client that means harm or is broken: made from the declared types of the protocol, and from LSP's."""

from __future__ import annotations

import json
from typing import Any, Literal, NewType, Union, get_args, get_origin

import attrs
from attrs import define, field

from oi_lsp import protocol
from oi_lsp.structure import wire_fields
from tests.fuzz.fuzzing import Dice

CANARY = "print CANARY"
"""The code that the model proposes, that approvals hold and that stands wherever code should not run."""
MINE = "print MINE"
"""The person's own code, which runs where it is sent to be run."""

METHODS = (
    *("textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "textDocument/didClose"),
    *("textDocument/codeAction", "codeAction/resolve", "textDocument/codeLens", "textDocument/completion"),
    *("textDocument/hover", "textDocument/inlayHint", "workspace/didChangeWorkspaceFolders"),
    *("workspace/didChangeConfiguration", "window/workDoneProgress/cancel", "$/cancelRequest", "$/setTrace"),
    *("initialize", "initialized", "textDocument/definition", "workspace/symbol", "window/showMessage", "oi/chunks"),
    *("$/unknown", "no/such", "oi.chat.send", "", "\ud800", "x" * 1000, "window/workDoneProgress/create"),
)
NUMBERS = (0, 0, 1, 1, 2, 3, 7, 500, 2**31 - 1, -1, 2**40, 1.5, "1", None)
TEXT = (
    "# oi: tidy\n",
    "x = 1\n",
    MINE,
    "\n",
    "## You\n",
    "```python oi=c1\n",
    "```\n",
    "%help",
    "é\U0001f600",
    "\r\n",
    "\ud800",
)
LANGUAGES = ("python", "shell", "Python", "html", "cobol", "")
MARKED = "---\noi: 1 7f3a\n---\n\n## You <!-- oi:7f3a.u1 -->\n\nHello\n\n```python\n" + MINE + "\n```\n"
SETTABLE = ("llm.model", "sandbox", "safe_mode", "policy.deny", "loop", "offline", "max_budget")
SETTINGS: tuple[Any, ...] = ("off", "on", "sandboxed", 5, -1, None, ["rm"], "tour", [], {}, "x", 0.5, False)
"""Values of settings: none of them has code run that nobody was asked about."""


@define
class World:
    """What messages may be about: what there is, what there was, and what there never was."""

    folder: str
    canary: str = CANARY
    sessions: list[str] = field(factory=list)
    proposals: list[str] = field(factory=list)
    """Those that were decided on before: none is open."""
    others: list[str] = field(factory=lambda: ["", "x", "s-none", "p1", "..", "é" * 150, "x" * 300, "\ud800"])

    @property
    def uris(self) -> tuple[str, ...]:
        """Documents: chats and others, in the folder and nowhere."""
        names = ("a.oi.md", "b.oi.md", "a.py", "b.sh", "c.txt", "new.py")
        known = tuple(f"file://{self.folder}/{name}" for name in names)
        return (*known, *known, "untitled:1", "file:///nowhere/a.oi.md", "file://%zz", "http://[", "", "x" * 20_000)

    @property
    def paths(self) -> tuple[str, ...]:
        """Folders and files: none outside of the folder exists and may be written to."""
        inside = tuple(f"{self.folder}{end}" for end in ("", "/sub", "/a.py", "/new.json", "/../x", "/\x00"))
        return (*inside, "relative", "/nowhere/x", "/dev/null", "/proc/self/mem", "", "~", "x" * 5000, "\ud800")

    def text_for(self, drawn: Dice, name: str) -> str:
        """A text for a field of that name."""
        if name in ("session_id", "conversation_id"):
            return drawn.pick((*self.sessions, *self.sessions, *self.others))
        if name == "proposal_id":
            return drawn.pick((*self.proposals, *self.others))
        if name.endswith("_id") or name in ("after", "block"):
            return drawn.pick((*self.sessions, "c1", "h1", "1", "2", "m-1", *self.others))
        if name == "uri":
            return drawn.pick(self.uris)
        if name in ("path", "cwd", "folder", "profile"):
            return drawn.pick(self.paths)
        if name == "language":
            return drawn.pick(LANGUAGES)
        if name == "name":
            return drawn.pick((*SETTABLE, "x", ""))
        if name == "own code":
            return drawn.pick((MINE, MINE, "\ud800", ""))
        if name == "model":
            return drawn.pick(("tour", "openai/x", "", "\ud800"))
        return drawn.pick((self.canary, "text", "%help", "%settings x", "%undo", "", "\x1b[2J", "\ud800", *self.others))


def argument(drawn: Dice, kind: Any, world: World) -> Any:
    """An object of a declared class: right, nearly right or wrong."""
    found: dict[str, Any] = {}
    for name, (attribute, wanted) in wire_fields(kind).items():
        if drawn.below(16 if attribute.default is attrs.NOTHING else 3):
            about = "own code" if kind is protocol.CodeRun and name == "code" else attribute.name
            found[name] = value(drawn, about, wanted, world) if drawn.below(14) else drawn.json(2)
    if drawn.below(24) == 0:
        found[drawn.pick(("extra", "session_id", "type_name", "\ud800"))] = drawn.json(1)
    return found


def value(drawn: Dice, name: str, wanted: Any, world: World) -> Any:
    """A value of a declared type."""
    origin = get_origin(wanted)
    if isinstance(wanted, NewType):
        return message(drawn, world)
    if origin is Literal:
        return drawn.pick(get_args(wanted))
    if origin is tuple:
        return [value(drawn, name, get_args(wanted)[0], world) for _ in range(drawn.below(3))]
    if origin is Union or "UnionType" in str(origin):
        return value(drawn, name, drawn.pick([each for each in get_args(wanted) if each is not type(None)]), world)
    if attrs.has(wanted):
        return argument(drawn, wanted, world)
    if wanted is str:
        return world.text_for(drawn, name)
    if wanted is bool:
        return bool(drawn.below(2))
    return drawn.pick(SETTINGS) if wanted is Any else drawn.pick(NUMBERS)


def message(drawn: Dice, world: World) -> Any:
    """An LMC message or an attachment, or nearly."""
    if drawn.below(3) == 0:
        whole = {"text": "x", "title": world.canary}
        return {"uri": drawn.pick(world.uris), "range": span(drawn)} if drawn.below(2) else whole
    kinds = ("message", "code", "image", "file", "console", "confirmation", 5)
    return {
        "role": drawn.pick(("user", "user", "assistant", "computer", 5)),
        "type": drawn.pick(kinds),
        "format": drawn.pick((None, "python", "path", "base64.png", "output", "execution")),
        "content": drawn.pick((world.canary, "text", None, 5, {"code": world.canary}, *world.paths[:3])),
    }


def span(drawn: Dice) -> Any:
    """A range of LSP, mostly."""
    if drawn.below(12) == 0:
        return drawn.json(2)
    return {end: {"line": drawn.pick(NUMBERS), "character": drawn.pick(NUMBERS)} for end in ("start", "end")}


def params(drawn: Dice, method: str, world: World) -> Any:
    """The params of a request or notification of LSP: of its shape, mostly."""
    if drawn.below(12) == 0:
        return drawn.json(3)
    document: dict[str, Any] = {"uri": drawn.pick(world.uris), "version": drawn.pick(NUMBERS)}
    if method == "textDocument/didOpen":
        text = drawn.pick((MARKED, MINE, "# oi: tidy\nx\n", drawn.text(TEXT)))
        return {"textDocument": {**document, "languageId": drawn.pick(LANGUAGES), "text": text}}
    if method == "textDocument/didChange":
        changes = [{"range": span(drawn), "text": drawn.text(TEXT, 3)} for _ in range(drawn.below(3))]
        if drawn.below(3) == 0:
            changes.append({"text": drawn.pick((MARKED, drawn.text(TEXT)))})
        return {"textDocument": document, "contentChanges": changes}
    if method == "workspace/didChangeWorkspaceFolders":
        folders = [{"uri": drawn.pick(world.uris), "name": "x"} for _ in range(drawn.below(2))]
        return {"event": {"added": folders, "removed": folders[:1]}}
    if method == "workspace/didChangeConfiguration":
        names = ("sandbox", "llm", "loop", "auto_run", "x", "policy")
        return {"settings": {"oi": {drawn.pick(names): drawn.pick(SETTINGS) for _ in range(drawn.below(3))}}}
    return {
        "textDocument": document,
        "position": {"line": drawn.pick(NUMBERS), "character": drawn.pick(NUMBERS)},
        "range": span(drawn),
        "context": {"diagnostics": [], "only": drawn.pick((None, ["source"], [], "x"))},
        "token": drawn.pick(("t", 5, None)),
        "id": drawn.pick(("r1", 5, None)),
        "value": drawn.pick(("off", "verbose", 5)),
        "title": world.canary,
        "capabilities": {},
        "processId": drawn.pick((None, -1, 2**70)),
    }


def command(drawn: Dice, world: World) -> dict[str, Any]:
    """The params of a command of ours: of any of them, with what it takes or nearly."""
    chosen = drawn.pick(protocol.COMMANDS)
    name: Any = chosen.name if drawn.below(40) else drawn.pick(("oi.no.such", "", 5, "oi.code.approve "))
    given = [argument(drawn, chosen.params, world)]
    if drawn.below(30) == 0:
        given = drawn.pick(([], [{}, {}], [drawn.json(2)], drawn.json(1)))
    return {"command": name, "arguments": given}


def request(drawn: Dice, world: World, msg_id: object) -> dict[str, Any]:
    """A message of any kind; ``msg_id`` where it is a request."""
    method = drawn.pick(METHODS)
    found: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params(drawn, method, world)}
    return {**found, "id": msg_id} if drawn.below(3) else found


def response(drawn: Dice) -> dict[str, Any]:
    """An answer that nobody may have asked for."""
    msg_id: Any = drawn.pick(("oi-1", "oi-2", "oi-3", 1, None, "x", [], 1.5))
    kind = drawn.pick(("result", "error"))
    return {"jsonrpc": "2.0", "id": msg_id, kind: drawn.json(2)}


PIECES = (
    *(
        '{"jsonrpc":"2.0",',
        '"id":1,',
        '"id":"x",',
        '"method":"shutdown"',
        '"method":"$/x",',
        '"params":',
        "{",
        "}",
        "[",
        "]",
    ),
    *(
        ",",
        ":",
        '"',
        "\\",
        "\\ud800",
        "NaN",
        "Infinity",
        "1e999",
        "-",
        "0",
        "null",
        "true",
        '"id"',
        "\ufeff",
        "//",
        " ",
        "\n",
    ),
    *(
        "[" * 5000,
        '{"a":' * 5000,
        "9" * 5000,
        '"id":1,"id":2,',
        "\\u0000",
        "\x00",
        '{"jsonrpc":"2.0","id":1,"method":"x"}',
    ),
)


def body(drawn: Dice) -> bytes:
    """The body of a message: of pieces, or a whole one with bytes changed, cut off or put in."""
    if drawn.below(3) == 0:
        return drawn.text(PIECES, 12).encode("utf-8", "surrogatepass")
    whole = request(drawn, World("/nowhere"), 1) if drawn.below(2) else drawn.json(3)
    found = bytearray(json.dumps(whole).encode())
    for _ in range(drawn.below(4)):
        at = (drawn.below(256) * 256 + drawn.below(256)) % (len(found) + 1)
        found[at : at + drawn.below(3)] = bytes(drawn.some(range(256), 2))
    return bytes(found[: -drawn.below(20) or None] if drawn.below(4) == 0 else found)
