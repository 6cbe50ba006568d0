"""What every editor can be told to do, whatever keys that takes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import define, field
from lsprotocol import types
from lsprotocol.converters import get_converter

from oi_lsp.documents import Documents
from tests.e2e.editors.setups import ROOT
from tests.e2e.editors.tmux import DEADLINE, Tmux, until

Json = dict[str, Any]

CONVERTER = get_converter()
_TELLING: dict[str, tuple[Any, Callable[[Documents, Any], None]]] = {
    "textDocument/didOpen": (types.DidOpenTextDocumentParams, Documents.open),
    "textDocument/didChange": (types.DidChangeTextDocumentParams, Documents.change),
    "textDocument/didClose": (types.DidCloseTextDocumentParams, Documents.close),
}

PRODUCT: tuple[str, ...] = (sys.executable, "-m", "oi_lsp.cli")
SCRIPTED: tuple[str, ...] = (sys.executable, "-m", "tests.fakes.scripted_lsp")


def editors_folder() -> Path:
    """The folder that ``.ci/editors`` fills: ``bin`` holds the editors, ``missing`` the reasons for those not there."""
    given = os.environ.get("TEST_EDITORS")
    return Path(given) if given else Path.home() / ".cache" / "oi-lsp-ci" / "editors"


def program_of(name: str) -> str:
    """The path of an editor. Skips the test, with the reason, where it cannot be had; under CI it must be there."""
    folder = editors_folder()
    program, reason = folder / "bin" / name, folder / "missing" / name
    if program.exists() and shutil.which("tmux"):
        return str(program)
    if reason.exists():
        pytest.skip(f"{name}: {reason.read_text().strip()}")
    why = f"{name} is not in {folder / 'bin'}" if shutil.which("tmux") else "tmux is not installed"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{why}, and nothing says why")
    pytest.skip(f"{why}; .ci/editors fetches the editors")


@define
class Editor(ABC):
    """One editor in a terminal, with a home of its own under ``folder``.

    ``oi-lsp`` on its PATH is the server that ``start`` names, behind a wiretap: what was said is in ``wire()``.
    Lines and columns count from 1, columns in characters.
    """

    program: ClassVar[str]
    """The name of the command in the editors' folder."""

    title: ClassVar[str]
    """The heading in editors/README.md."""

    answers: ClassVar[bool] = True
    """Whether it answers what a server asks of it."""

    drops_messages: ClassVar[bool] = False
    """Whether what arrives together with, and after, the answer to a request of its own is thrown away (lsp-mode)."""

    counts_utf16: ClassVar[bool] = True
    """Whether an edit is put to the right place in a line with characters beyond ASCII."""

    undoes_each: ClassVar[bool] = True
    """Whether one undo takes back one edit of the server, and not all that came without a key between (Emacs)."""

    ends_with_a_line: ClassVar[bool] = True
    """Whether the last line that can be gone to is the last one that ends (vi), and not what is behind its end."""

    saved_notice: ClassVar[str] = "written"
    """What the screen shows after a save."""

    folder: Path
    tmux: Tmux = field(factory=Tmux)
    within: Sequence[str] = ()
    """A command that runs the editor, in the terminal."""
    looks: list[tuple[str, str]] = field(factory=list)
    """Screens, each with the moment that it is of."""
    _wire: list[Json] = field(factory=list)
    _read: int = 0

    # --- starting and ending -------------------------------------------------------------------------------------

    def start(
        self,
        file: Path,
        server: Sequence[str] = PRODUCT,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (200, 45),
    ) -> None:
        """Open a file, in the folder that it is in, and wait until the server is initialized.

        The window is wide, because Neovim asks for Enter after a message that does not fit, such as the one about an
        edit that came for an older version of a file with a long name.
        """
        for name in ("home", "bin"):
            (self.folder / name).mkdir(exist_ok=True)
        command = self.folder / "bin" / "oi-lsp"
        tapped = shlex.join([sys.executable, "-m", "tests.fakes.wiretap", str(self._log), *server])
        command.write_text(f'#!/bin/sh\nexec {tapped} "$@"\n')
        command.chmod(0o755)
        self.set_up()
        variables = {**self._environment(), **(env or {})}
        self.tmux.start([*self.within, program_of(self.program), *self.arguments(file)], file.parent, variables, size)
        self.opened(file)
        self.until_said("server", lambda message: "capabilities" in (message.get("result") or {}))
        self.until_said("client", lambda message: message.get("method") == "textDocument/didOpen")

    def version(self) -> str:
        """The first line of what the editor says of its version."""
        ran = subprocess.run([program_of(self.program), "--version"], capture_output=True, text=True, check=True)
        return ran.stdout.splitlines()[0]

    def close(self) -> None:
        """Leave the editor, whatever is unsaved; it must end, and so must the server."""
        self.leave()
        self.until(self.tmux.ended, "the editor to end")
        self.stop()

    def stop(self) -> None:
        """End whatever still runs; safe at any time."""
        self.tmux.stop()

    # --- what is seen --------------------------------------------------------------------------------------------

    def screen(self) -> str:
        """What the screen shows."""
        return self.tmux.screen()

    def wire(self) -> list[Json]:
        """All messages so far, oldest first: ``{"from": "client" | "server", "message": …}``."""
        if self._log.exists():
            with self._log.open("rb") as log:
                log.seek(self._read)
                for line in log:
                    # The last line may be half written: its rest, which may come meanwhile, is no line of its own.
                    if not line.endswith(b"\n"):
                        break
                    self._wire.append(json.loads(line))
                    self._read += len(line)
        return self._wire

    def said(self, who: str, matches: Callable[[Json], object]) -> list[Json]:
        """The messages of the client or the server that match."""
        return [each["message"] for each in self.wire() if each["from"] == who and matches(each["message"])]

    def until(self, condition: Callable[[], object], what: str, deadline: float = DEADLINE) -> None:
        """Wait until it is so. Fails with what was waited for, the screen and the last messages."""

        def told() -> str:
            last = "\n".join(json.dumps(each)[:300] for each in self.wire()[-12:])
            return f"{type(self).__name__}: waited for {what}; screen:\n{self.screen()}\nlast messages:\n{last}"

        until(condition, told, deadline)

    def until_screen(self, text: str, deadline: float = DEADLINE) -> str:
        """Wait until the screen shows that text. Answers the screen."""
        self.until(lambda: text in self.screen(), f"{text!r} on the screen", deadline)
        return self.screen()

    def until_said(self, who: str, matches: Callable[[Json], object], count: int = 1) -> list[Json]:
        """Wait until the client or the server has said as many messages that match. Answers them."""
        self.until(lambda: len(self.said(who, matches)) >= count, f"{count} such messages of the {who}")
        return self.said(who, matches)

    def until_file(self, path: Path, condition: Callable[[str], object]) -> str:
        """Wait until the saved text of a file is so. Answers the text."""
        self.until(lambda: path.exists() and condition(path.read_text()), f"{path.name} to be so; it is {path}")
        return path.read_text()

    def told(self, path: Path) -> str:
        """The text of a file's document, as the client has told of it so far."""
        return self.told_of(path.as_uri())

    def told_of(self, uri: str) -> str:
        """The text of a document, as the client has told of it so far."""
        documents = Documents(self._encoding())
        for message in self.said("client", lambda message: message.get("method") in _TELLING):
            params = message["params"]
            if params["textDocument"]["uri"] == uri:
                kind, take = _TELLING[message["method"]]
                take(documents, CONVERTER.structure(params, kind))
        found = documents.get(uri)
        assert found is not None, f"{uri} is not open"
        return found.text

    def _encoding(self) -> str:
        # A server that was started again says the same.
        said = self.said("server", lambda message: "capabilities" in (message.get("result") or {}))[-1]
        found: str = said["result"]["capabilities"].get("positionEncoding", "utf-16")
        return found

    def look(self, what: str) -> None:
        """Keep what the screen shows, which is shown where the test fails."""
        self.looks.append((what, self.screen()))

    # --- what is done --------------------------------------------------------------------------------------------

    def save(self, path: Path) -> str:
        """Save the buffer of ``path``, which is the one shown. Answers what was saved."""
        before, told = _stamp(path), len(self._saves())
        self.press_save()

        def saved() -> bool:
            # A file that has changed may still be half written.
            written = len(self._saves()) > told if self._tells_of_saves() else self.saved_notice in self.screen()
            return self.nothing_to_save() or (_stamp(path) != before and written)

        self.until(saved, f"{path.name} to be saved")
        return path.read_text()

    def _saves(self) -> list[Json]:
        return self.said("client", lambda message: message.get("method") == "textDocument/didSave")

    def _tells_of_saves(self) -> bool:
        """Whether the server asked for it."""
        (result,) = self.said("server", lambda message: "capabilities" in (message.get("result") or {}))
        sync = result["result"]["capabilities"].get("textDocumentSync")
        return isinstance(sync, dict) and bool(sync.get("save"))

    def _environment(self) -> dict[str, str]:
        home = self.folder / "home"
        folders = {
            f"XDG_{kind}_HOME": str(home / where)
            for kind, where in {
                "CONFIG": ".config",
                "DATA": ".local/share",
                "STATE": ".local/state",
                "CACHE": ".cache",
            }.items()
        }
        return {
            **folders,
            "HOME": str(home),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
            # The colours of a terminal that is known, whatever the one of the person who runs the tests can do.
            "TERM": "screen-256color",
            "COLORTERM": "",
        }

    @property
    def _log(self) -> Path:
        return self.folder / "wire.jsonl"

    def home_file(self, name: str, text: str) -> None:
        """Write a file of the editor's own settings."""
        path = self.folder / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    # --- what differs --------------------------------------------------------------------------------------------

    @abstractmethod
    def set_up(self) -> None:
        """Write the settings, which are those of editors/README.md."""

    @abstractmethod
    def arguments(self, file: Path) -> list[str]:
        """The arguments that open a file."""

    def opened(self, file: Path) -> None:
        """Do what starts the server, where opening the file does not."""
        return

    @abstractmethod
    def leave(self) -> None:
        """Press what leaves the editor without saving."""

    @abstractmethod
    def press_save(self) -> None:
        """Press what saves."""

    def nothing_to_save(self) -> bool:
        """Whether the editor says that the buffer is as it was saved."""
        return False

    @abstractmethod
    def goto(self, line: int, column: int = 1) -> None:
        """Put the cursor before a character."""

    @abstractmethod
    def goto_end(self) -> None:
        """Put the cursor on the last line."""

    @abstractmethod
    def select_lines(self, first: int, last: int) -> None:
        """Select whole lines."""

    @abstractmethod
    def type(self, text: str) -> None:
        """Type text where the cursor is; the cursor is then behind it, and typing goes on with the next call."""

    @abstractmethod
    def undo(self, times: int = 1) -> None:
        """Undo."""

    def read_note(self) -> None:
        """Have all that a diagnostic at the cursor says on the screen, where it is not there already."""
        return

    def put_note_away(self) -> None:
        """Undo what ``read_note`` did."""
        return

    @abstractmethod
    def code_actions(self) -> None:
        """Open the list of the code actions at the cursor or for the selection."""

    @abstractmethod
    def choose_none(self) -> None:
        """Close the list, where one is open."""

    @abstractmethod
    def choose(self, title: str) -> None:
        """Choose an entry of the list that is open."""

    @abstractmethod
    def answer(self, title: str) -> None:
        """Choose an answer of the ``window/showMessageRequest`` that is shown."""

    def code_action(self, title: str) -> None:
        """Take the code action of that title at the cursor or for the selection, once it is offered."""
        self.until(lambda: self._opens_with(title), f"{title!r} to be offered")
        self.choose(title)

    def _opens_with(self, title: str) -> bool:
        """Open the list of the code actions; without that one, it is closed again."""
        before = len(self._asked_for_actions())
        self.code_actions()
        self.until(lambda: len(self._asked_for_actions()) > before, "the client to ask for code actions")
        asked = self._asked_for_actions()[-1]["id"]
        self.until_said("server", lambda message: message.get("id") == asked and "method" not in message)
        found = title in self.offered()
        if not found:
            self.choose_none()
        return found

    def offered(self) -> list[str]:
        """The titles of the code actions that the server answered last, to the last question."""
        asked = self._asked_for_actions()[-1]["id"]
        answers = self.said("server", lambda message: message.get("id") == asked and "method" not in message)
        return [action["title"] for action in answers[-1].get("result") or []] if answers else []

    def _asked_for_actions(self) -> list[Json]:
        return self.said("client", lambda message: message.get("method") == "textDocument/codeAction")


def _stamp(path: Path) -> tuple[int, int, int] | None:
    if not path.exists():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size
