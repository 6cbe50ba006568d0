"""One name in a folder of the workspace, reached and written without following a link anywhere on the way.

Where the system can (``openat``), each folder on the way is opened by its name in the one before it, so that nobody who
swaps a folder for a link meanwhile leads us elsewhere. Elsewhere the way is checked beforehand.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from oi_engine.changes.entries import Signature, signature
from oi_engine.errors import RevertRefused
from oi_engine.messages import new_id

_OPENAT = {os.open, os.mkdir, os.unlink, os.rmdir, os.rename, os.symlink, os.stat} <= os.supports_dir_fd
_FOLDER = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"))
_LOOK = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY"))
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_DRAFT |= sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))


class FolderGone(RevertRefused):
    """There is no such folder, and so nothing in it."""


class Spot:
    """One name in an open folder. Whatever writes checks first that what is there is as ``expected``.

    Raises ``OSError``, and ``RevertRefused`` where what is there is not as expected.
    """

    def __init__(self, folder: str, name: str, descriptor: int | None) -> None:
        self._folder = folder
        self._name = name
        self._descriptor = descriptor

    def look(self) -> os.stat_result | None:
        """What is there, a link as itself; ``None`` for nothing."""
        try:
            return os.stat(self._at(self._name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def write(self, data: bytes, mode: int, expected: Signature | None) -> None:
        """Put a file there, whole or not at all."""
        draft = self._draft()
        descriptor = os.open(self._at(draft), _DRAFT, 0o600, dir_fd=self._descriptor)
        with self._replacing(draft, expected):
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), mode)
            if not hasattr(os, "fchmod"):
                os.chmod(self._at(draft), mode)

    def link(self, target: bytes, expected: Signature | None) -> None:
        """Put a link there."""
        draft = self._draft()
        os.symlink(os.fsdecode(target), self._at(draft), dir_fd=self._descriptor)
        with self._replacing(draft, expected):
            pass

    def make_folder(self) -> None:
        """Put an empty folder there, writable until ``chmod``."""
        os.mkdir(self._at(self._name), 0o700, dir_fd=self._descriptor)

    def chmod(self, mode: int, expected: Signature) -> None:
        """Give the file or folder there other permissions."""
        if not hasattr(os, "fchmod"):
            self._check(expected)
            os.chmod(self._at(self._name), mode)
            return
        flags = _FOLDER if stat.S_ISDIR(expected[0]) else _LOOK
        descriptor = os.open(self._at(self._name), flags, dir_fd=self._descriptor)
        try:
            if signature(os.fstat(descriptor)) != expected:
                raise _busy()
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def remove(self, expected: Signature) -> None:
        """Take away the file, link or (empty) folder."""
        self._check(expected)
        if stat.S_ISDIR(expected[0]):
            os.rmdir(self._at(self._name), dir_fd=self._descriptor)
        else:
            os.unlink(self._at(self._name), dir_fd=self._descriptor)

    @contextlib.contextmanager
    def _replacing(self, draft: str, expected: Signature | None) -> Iterator[None]:
        try:
            yield
            self._check(expected)
            os.replace(self._at(draft), self._at(self._name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(self._at(draft), dir_fd=self._descriptor)
            raise

    def _check(self, expected: Signature | None) -> None:
        found = self.look()
        if (None if found is None else signature(found)) != expected:
            raise _busy()

    def _draft(self) -> str:
        return f".{new_id('oi')}.tmp"

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(self._folder, name)


@contextlib.contextmanager
def spot(top: str, path: str, *, make: bool = False) -> Iterator[Spot]:
    """The place of ``path`` (relative, ``/`` between names) in ``top``, a real path.

    ``make``: folders that are missing on the way are made. Raises ``RevertRefused`` where a link is on the way, or a
    file, or nothing.
    """
    *way, name = path.split("/")
    if any(part in ("", ".", "..") or (os.sep != "/" and os.sep in part) for part in (*way, name)):
        raise RevertRefused("That is no path in the workspace.")
    folder = top
    descriptor = os.open(top, _FOLDER) if _OPENAT else None
    try:
        for part in way:
            folder = os.path.join(folder, part)
            at = part if descriptor is not None else folder
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(at, dir_fd=descriptor)
            descriptor = _entered(descriptor, at, folder)
        yield Spot(folder, name, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _entered(descriptor: int | None, at: str, folder: str) -> int | None:
    """The folder ``at`` in the open one, which is closed where that worked."""
    if descriptor is None:
        if os.path.realpath(folder) != folder:
            raise RevertRefused("A folder on the way to it is a link by now.")
        return None
    try:
        inner = os.open(at, _FOLDER, dir_fd=descriptor)
    except FileNotFoundError as error:
        raise FolderGone("The folder that it was in is gone.") from error
    except NotADirectoryError as error:
        raise RevertRefused("A folder on the way to it is a file or a link by now.") from error
    except OSError as error:
        # ELOOP: what some systems say of a link that is not to be followed.
        raise RevertRefused(f"A folder on the way to it cannot be entered: {error.strerror}.") from error
    os.close(descriptor)
    return inner


def _busy() -> RevertRefused:
    return RevertRefused("It is being changed right now.", "Try again.")
