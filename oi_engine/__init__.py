"""An interpreter engine: a language model writes code, a person approves it, a live kernel runs it.

The Python API::

    from oi_engine import interpreter, OpenInterpreter, AsyncInterpreter

Importing this package imports nothing else: each name is looked up when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oi_engine.api.asynchronous import AsyncInterpreter
    from oi_engine.api.interpreter import OpenInterpreter
    from oi_engine.errors import (
        InvalidMessage,
        InvalidSetting,
        ModelError,
        NotHere,
        OiError,
        ProfileError,
        SessionBusy,
        UnknownProposal,
    )
    from oi_engine.session.session import Session
    from oi_engine.settings import Settings

    interpreter: OpenInterpreter

_PLACES = {
    "AsyncInterpreter": "oi_engine.api.asynchronous",
    "OpenInterpreter": "oi_engine.api.interpreter",
    "Session": "oi_engine.session.session",
    "Settings": "oi_engine.settings",
    **dict.fromkeys(
        (
            "InvalidMessage",
            "InvalidSetting",
            "ModelError",
            "NotHere",
            "OiError",
            "ProfileError",
            "SessionBusy",
            "UnknownProposal",
        ),
        "oi_engine.errors",
    ),
}

__all__ = [
    "AsyncInterpreter",
    "InvalidMessage",
    "InvalidSetting",
    "ModelError",
    "NotHere",
    "OiError",
    "OpenInterpreter",
    "ProfileError",
    "Session",
    "SessionBusy",
    "Settings",
    "UnknownProposal",
    "interpreter",
]


def __getattr__(name: str) -> Any:
    """Look a public name up, and keep it."""
    if name == "interpreter":
        found: Any = __getattr__("OpenInterpreter")()
    elif name in _PLACES:
        found = getattr(import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
