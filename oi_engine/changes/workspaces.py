"""The workspaces that are open in this process, one for each folder, whoever asks for it."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oi_engine.changes.workspace import Limits, Workspace

log = logging.getLogger(__name__)

LEFT = 90.0
"""Days after which the store of a folder goes that nobody has worked in."""


class Workspaces:
    """Opens workspaces whose stores are in the folder ``stores``. For threads; what opening needs is imported there."""

    def __init__(self, stores: Path) -> None:
        self._stores = stores
        self._open: dict[str, Workspace] = {}
        self._turn = threading.Lock()

    def get(self, folder: str, limits: Limits) -> Workspace:
        """The workspace of a folder. Raises ``ChangesNotFollowed``, ``ChangesError``."""
        from oi_engine.changes.workspace import Workspace

        real = os.path.realpath(folder)
        with self._turn:
            if real not in self._open:
                if not self._open:
                    clean(self._stores)
                self._open[real] = Workspace(real, self._stores, limits)
            return self._open[real]

    def close(self) -> None:
        """Let go of all of them."""
        with self._turn:
            for workspace in self._open.values():
                workspace.close()
            self._open.clear()


def clean(stores: Path, now: float | None = None) -> None:
    """Delete stores that were not used for ``LEFT`` days."""
    oldest = (time.time() if now is None else now) - LEFT * 86_400
    for path in stores.glob("*.db"):
        try:
            if path.stat().st_mtime < oldest:
                for companion in ("", "-wal", "-shm"):
                    Path(f"{path}{companion}").unlink(missing_ok=True)
        except OSError as error:
            log.info("%s could not be cleaned away: %s", path, error)
