"""Approvals that hold *always here*: kept on disk, in the person's own data folder.

Each is bound to the hash of language, code, workspace folder (its real path) and sandbox. What is kept beside the hash
is for the list alone: the beginning of the code, with keys taken out.

``approvals.json``::

    {"version": 1, "approvals": [{"id", "digest", "language", "begins", "folder", "sandbox", "approved_at"}]}

Code that runs what is in files (``file_runners``) is not kept: its text does not say what would run.

A file that cannot be read, or that others may write to, approves nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from oi_engine import paths
from oi_engine.approval import Cell
from oi_engine.errors import OiError
from oi_engine.messages import now
from oi_engine.safety.file_runners import file_runner
from oi_engine.safety.redact import redact

_BEGINS = 80
"""Characters of the code that the list shows."""
_log = logging.getLogger(__name__)


@frozen
class KeptApproval:
    """One of them. ``begins``: the beginning of the code; ``approved_at``: ISO 8601, UTC."""

    id: str
    digest: str
    language: str
    begins: str
    folder: str
    sandbox: str
    approved_at: str


@frozen
class KeptApprovals:
    """Those of one person. ``path``: the file; absent: ``approvals.json`` in the data folder."""

    path: Path = attrs.field(factory=lambda: paths.data_folder() / "approvals.json")

    def holds(self, cell: Cell) -> bool:
        """Whether this very cell was approved for this very place, and its text is all that it is."""
        digest = _digest(cell)
        return any(kept.digest == digest for kept in self.all()) and not file_runner(cell)

    def all(self) -> tuple[KeptApproval, ...]:
        """All of them, the oldest first."""
        try:
            with open(self.path, encoding="utf-8") as file:
                about = os.fstat(file.fileno())
                if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    _log.warning("%s is not read: somebody else may have written to it.", self.path)
                    return ()
                entries = json.load(file)["approvals"]
            return tuple(_read(entry) for entry in entries)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            _log.warning("%s cannot be read, so it approves nothing: %s", self.path, error)
            return ()

    def keep(self, cell: Cell) -> KeptApproval:
        """Approve a cell for its place, from now on. Raises ``OiError`` where it runs files, or cannot be kept."""
        if why := file_runner(cell):
            raise OiError(
                f"This code is not kept as approved: {why}, which may change.", "Approve it always in this session."
            )
        digest = _digest(cell)
        begins = redact(" ".join(cell.code.split()))[:_BEGINS]
        approval = KeptApproval(
            digest[:12], digest, cell.language, begins, os.path.realpath(cell.cwd), cell.sandbox, now()
        )
        with self._changing():
            self._write([*(kept for kept in self.all() if kept.digest != digest), approval])
        return approval

    def revoke(self, approval_id: str) -> KeptApproval:
        """Take one back. Raises ``OiError`` where there is none of that id."""
        with self._changing():
            before = self.all()
            found = next((kept for kept in before if approval_id in (kept.id, kept.digest)), None)
            if found is None:
                raise OiError(f"No approval {approval_id!r} is kept.", "`%policy` lists those that are.")
            self._write([kept for kept in before if kept is not found])
        return found

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """One program at a time: a revocation must not be undone by an approval elsewhere."""
        import fcntl  # not on Windows

        try:
            paths.made(self.path.parent)
            with open(self.path.with_suffix(".lock"), "a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise OiError(f"Approvals cannot be kept in {self.path}: {error.strerror or error}.") from error

    def _write(self, approvals: list[KeptApproval]) -> None:
        content = {"version": 1, "approvals": [attrs.asdict(approval) for approval in approvals]}
        new = self.path.with_suffix(f".{os.getpid()}.new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)


def _digest(cell: Cell) -> str:
    """SHA-256 over what the approval is bound to, each part preceded by its length."""
    hashed = hashlib.sha256()
    for part in (cell.language, cell.code, os.path.realpath(cell.cwd), cell.sandbox):
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big"))
        hashed.update(data)
    return hashed.hexdigest()


def _read(entry: dict[str, Any]) -> KeptApproval:
    texts = {field.name: entry[field.name] for field in attrs.fields(KeptApproval)}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError("an approval holds texts only")
    return KeptApproval(**texts)
