"""lsprotocol's types, imported with lighter classes: half of a server's start-up is the making of 554 attrs classes.

Without generated ``__eq__`` and ``__repr__``, of which nothing here makes use, they take 0.1 s less. What compares by
its own method (``Position``, ``Range``, ``Location``) still does. lsprotocol is pinned, and ``test_light_types`` holds
what this relies on.
"""

from __future__ import annotations

from typing import Any


def load() -> None:
    """Import ``lsprotocol.types``; must come before anything else imports it, else it changes nothing."""
    import attrs

    define = attrs.define

    def light(*classes: Any, **options: Any) -> Any:
        return define(*classes, **{"eq": False, "repr": False, **options})

    attrs.define = light
    try:
        import lsprotocol.types  # noqa: F401 -- for what importing it makes
    finally:
        attrs.define = define
