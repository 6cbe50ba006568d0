"""A small language server, which proves the drivers of the editors: it offers code actions, each of which edits.

Run as ``python -m tests.fakes.scripted_lsp``, on standard input and output. In each document it offers

- *Shout*: the line of the cursor in capitals, in one edit;
- *Stream ten lines*: one edit for each line, put before the line ``<!-- tail -->``, one edit in flight at a time;
- *Ask first*: a ``window/showMessageRequest`` with *Yes* and *No*, and the answer as a line before the tail.

Positions are counted in UTF-16 units.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from lsprotocol import types
from pygls.workspace import TextDocument

from tests.fakes.wiretap import frame, read_frame

Json = dict[str, Any]
TAIL = "<!-- tail -->"
STREAMED = tuple(f"line {number} of the answer" for number in range(10))
ACTIONS = (("Shout", "quickfix"), ("Stream ten lines", "refactor"), ("Ask first", "refactor"))
CAPABILITIES: Json = {
    "textDocumentSync": {"openClose": True, "change": 2, "save": True},
    "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor"]},
    "executeCommandProvider": {"commands": [title for title, _ in ACTIONS]},
}


class Server:
    """One connection."""

    def __init__(self) -> None:
        self.documents: dict[str, TextDocument] = {}
        self.to_write: list[str] = []
        self.uri = ""
        self.client = ""
        self.asked = 0
        self.applied: bool | None = None
        self.answered = True

    # --- what the client sends -----------------------------------------------------------------------------------

    def take(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self.take_answer(message)
        elif method == "textDocument/didOpen":
            item = params["textDocument"]
            self.documents[item["uri"]] = TextDocument(item["uri"], item["text"], item["version"])
        elif method == "textDocument/didChange":
            self.change(params)
        elif "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": self.answer(method, params)}
            if method != "workspace/executeCommand":
                self.send(answer)
            elif self.client == "emacs":
                # lsp-mode throws away what it reads together with, and after, the answer to a command.
                self.run(params["command"], *params["arguments"])
                self.send(answer)
            else:
                self.send(answer)
                self.run(params["command"], *params["arguments"])

    def answer(self, method: str, params: Json) -> Any:
        if method == "initialize":
            self.client = (params.get("clientInfo") or {}).get("name", "")
            return {"capabilities": CAPABILITIES, "serverInfo": {"name": "scripted"}}
        if method == "textDocument/codeAction":
            where = {"uri": params["textDocument"]["uri"], "line": params["range"]["start"]["line"]}
            return [
                {"title": title, "kind": kind, "command": {"title": title, "command": title, "arguments": [where]}}
                for title, kind in ACTIONS
            ]
        return None

    def change(self, params: Json) -> None:
        document = self.documents[params["textDocument"]["uri"]]
        document.version = params["textDocument"]["version"]
        for change in params["contentChanges"]:
            whole = "range" not in change
            form = types.TextDocumentContentChangeWholeDocument if whole else types.TextDocumentContentChangePartial
            if not whole:
                ends = (types.Position(**change["range"][end]) for end in ("start", "end"))
                change["range"] = types.Range(*ends)
            change.pop("rangeLength", None)
            document.apply_change(form(**change))
            if self.to_write and self.applied is None:
                # The first change after the version that the edit was made for shows whether it was applied.
                self.applied = self.to_write[0] in document.source
        self.go_on()

    def take_answer(self, message: Json) -> None:
        if str(message["id"]).startswith("ask"):
            chosen = (message.get("result") or {}).get("title")
            self.write([f"the answer was {chosen}"])
        elif not self.answered:
            self.answered = True
            if self.applied is None and not (message.get("result") or {}).get("applied"):
                self.applied = False
            self.go_on()

    # --- what the actions do -------------------------------------------------------------------------------------

    def run(self, command: str, where: Json) -> None:
        self.uri = where["uri"]
        if command == "Shout":
            line = self.documents[self.uri].lines[where["line"]].rstrip("\n")
            start, end = ({"line": where["line"], "character": at} for at in (0, len(line.encode("utf-16-le")) // 2))
            self.edit({"range": {"start": start, "end": end}, "newText": line.upper()})
        elif command == "Ask first":
            params = {"type": 3, "message": "Really?", "actions": [{"title": "No"}, {"title": "Yes"}]}
            self.request("ask", "window/showMessageRequest", params)
        else:
            self.write(STREAMED)

    def write(self, lines: tuple[str, ...] | list[str]) -> None:
        self.to_write += lines
        self.send_line()

    def send_line(self) -> None:
        self.answered, self.applied = False, None
        place = {"line": self.documents[self.uri].lines.index(f"{TAIL}\n"), "character": 0}
        self.edit({"range": {"start": place, "end": place}, "newText": f"{self.to_write[0]}\n"})

    def go_on(self) -> None:
        if self.to_write and self.answered and self.applied is not None:
            if self.applied:
                del self.to_write[0]
            if self.to_write:
                self.send_line()

    def edit(self, edit: Json) -> None:
        document = {"uri": self.uri, "version": self.documents[self.uri].version}
        changes = [{"textDocument": document, "edits": [edit]}]
        self.request("edit", "workspace/applyEdit", {"edit": {"documentChanges": changes}})

    def request(self, kind: str, method: str, params: Json) -> None:
        self.asked += 1
        self.send({"jsonrpc": "2.0", "id": f"{kind}-{self.asked}", "method": method, "params": params})

    def send(self, message: Json) -> None:
        sys.stdout.buffer.write(frame(message))
        sys.stdout.buffer.flush()


def main() -> None:
    server = Server()
    while found := read_frame(sys.stdin.buffer):
        message = json.loads(found[1])
        if message.get("method") == "exit":
            return
        server.take(message)


if __name__ == "__main__":
    main()
