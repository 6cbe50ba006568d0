"""Clients of the plain kind as they were met: what each says of itself in ``initialize``, and what it then does."""

from __future__ import annotations

from typing import Any

from attrs import evolve, field, frozen

from tests.fakes.editors import EGLOT, HELIX, LSP_MODE, MUTE, NEOVIM, VSCODE
from tests.fakes.lsp_editor import Manners
from tests.fakes.profiles import profile

SHOW, ASK, CREATE = "window/showDocument", "window/showMessageRequest", "window/workDoneProgress/create"


@frozen
class Kind:
    """One kind of client; ``says`` are its ``initialize`` parameters."""

    name: str
    manners: Manners
    says: dict[str, Any] = field(factory=dict)


def _kind(name: str, manners: Manners) -> Kind:
    return Kind(name, manners, profile(name))


# Kate was seen to tell of its changes at once; that it advertises no edit does not keep it from making one.
_KATE = Manners(VSCODE, lenses=False, results=False, unknown=frozenset({SHOW, ASK}))

KINDS = (
    _kind("vscode", Manners(VSCODE)),
    _kind("neovim", Manners(NEOVIM)),
    _kind("helix", Manners(HELIX, lenses=False)),
    _kind("eglot", Manners(EGLOT, lenses=False)),
    Kind(
        "eglot of Emacs 28",
        Manners(EGLOT, lenses=False, shows_documents=None, unknown=frozenset({CREATE})),
        profile("eglot"),
    ),
    _kind("lspmode", Manners(LSP_MODE)),
    _kind("kate", _KATE),
    Kind("Vim and ALE", Manners(evolve(MUTE, stale="accepted"), lenses=False), {"capabilities": {}}),
    Kind("one that gives no versions", Manners(evolve(VSCODE, sync="whole"), versions=False), {"capabilities": {}}),
    Kind(
        "one that lies",
        Manners(VSCODE, shows_documents=None, unknown=frozenset({SHOW, ASK, CREATE, "workspace/codeLens/refresh"})),
        profile("vscode"),
    ),
)
