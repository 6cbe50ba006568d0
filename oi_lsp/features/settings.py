"""Commands about settings: what is in force and why, and the person's word for as long as the server runs."""

from __future__ import annotations

import asyncio
import os.path
from typing import TYPE_CHECKING, Any

from oi_lsp import protocol_settings as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.fields import Nothing
from oi_lsp.host import SessionHost
from oi_lsp.structure import InvalidField, check_text, shortened

if TYPE_CHECKING:
    from oi_engine.settings import Resolved
    from oi_engine.settings.tree import Setting

HANDLERS = Handlers()


@HANDLERS.serves(wire.SettingsGet)
def get(host: SessionHost, params: wire.SettingsGet) -> wire.SettingsGetResult:
    """``oi.settings.get``."""
    from oi_engine.settings.tree import all_settings

    session = None if params.session_id is None else host.find(params.session_id).session
    resolved = host.engine.resolved(session)
    values = tuple(_value(resolved, setting) for setting in all_settings().values())
    nested: dict[str, Any] = {}
    for value in values:
        if not value.secret:
            section, _, key = value.name.rpartition(".")
            (nested.setdefault(section, {}) if section else nested)[key] = value.value
    return wire.SettingsGetResult(nested, values)


@HANDLERS.serves(wire.SettingsSet)
async def set_(host: SessionHost, params: wire.SettingsSet) -> wire.SettingsSetResult:
    """``oi.settings.set``."""
    setting = _setting(params.name)
    session = None if params.session_id is None else host.live(params.session_id)
    if session is not None and setting.scope == "choice":
        raise InvalidField("name", f"{setting.name} is chosen for all sessions: leave sessionId out.")
    layer = {name: value for name, value in host.engine.own_layer(session).items() if name != setting.name}
    if not params.unset:
        layer[setting.name] = _fitting(params.value, setting)
    if session is not None:
        host.engine.change_session(session, layer)
    else:
        await host.engine.change_settings(session=layer)
    resolved = host.engine.resolved(session)
    problems = (problem for problem in resolved.problems if setting.name in (problem.name, _dotted(problem.name)))
    return wire.SettingsSetResult(_value(resolved, setting), tuple(str(problem) for problem in problems))


@HANDLERS.serves(wire.PolicyList)
async def approvals(host: SessionHost, params: wire.PolicyList) -> wire.PolicyListResult:
    """``oi.policy.list``."""
    kept = await asyncio.to_thread(host.engine.approvals.all)
    shown = (wire.PolicyApproval(k.id, k.language, k.begins, k.folder, k.sandbox, k.approved_at) for k in kept)
    return wire.PolicyListResult(tuple(shown))


@HANDLERS.serves(wire.PolicyRevoke)
async def revoke(host: SessionHost, params: wire.PolicyRevoke) -> Nothing:
    """``oi.policy.revoke``."""
    await asyncio.to_thread(host.engine.approvals.revoke, params.approval_id)
    return Nothing()


def _setting(name: str) -> Setting:
    from difflib import get_close_matches

    from oi_engine.settings.tree import find_setting, names

    setting = find_setting(name)
    if setting is None:
        close = get_close_matches(name[:60], names(), n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidField("name", f"is no setting: {shortened(name)!r}.{meant}")
    return setting


def _dotted(name: str) -> str:
    from oi_engine.settings.spellings import OLD_NAMES

    return OLD_NAMES.get(name, name)


def _fitting(value: object, setting: Setting) -> object:
    """The value, if the setting can have it. Raises ``InvalidField``."""
    import attrs

    from oi_engine.settings.values import described, fit, shown

    if isinstance(value, str):
        check_text(value, "value")
    fitted = fit(value, setting)
    if fitted is attrs.NOTHING:
        given = "" if setting.secret else f", not {shown(value)}"
        raise InvalidField("value", f"must be {described(setting)}{given}.")
    return fitted


def _value(resolved: Resolved, setting: Setting) -> wire.SettingValue:
    from oi_engine.settings.tree import get

    origin = resolved.origins[setting.name]
    return wire.SettingValue(
        setting.name,
        None if setting.secret else get(resolved.settings, setting.name),
        setting.secret or None,
        origin.kind,
        origin.where if os.path.isabs(origin.where) else None,
        origin.line,
    )
