"""Commands about settings."""

from __future__ import annotations

from typing import Any

import attrs

from oi_lsp import protocol as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import SessionHost

HANDLERS = Handlers()


@HANDLERS.serves(wire.SettingsGet)
def get(host: SessionHost, params: wire.SettingsGet) -> wire.SettingsGetResult:
    """``oi.settings.get``."""
    of = host.find(params.session_id).session if params.session_id is not None else host.engine
    return wire.SettingsGetResult(_shown(of.settings))


def _shown(section: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in attrs.fields(type(section)):
        value = getattr(section, attribute.name)
        if attrs.has(type(value)):
            found[attribute.name] = _shown(value)
        elif not attribute.metadata["secret"]:
            found[attribute.name] = value
    return found
