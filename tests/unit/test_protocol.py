"""The protocol's file: complete, and in step with the engine and the features."""

from __future__ import annotations

from typing import Any, get_args

import attrs

from oi_engine.session import state as session_state
from oi_lsp import protocol as wire
from oi_lsp.language_server import DOCUMENT_FEATURES, HOST_FEATURES


def test_every_command_is_served_by_one_feature() -> None:
    served = [params for module in (*HOST_FEATURES, *DOCUMENT_FEATURES) for params, _ in module.HANDLERS]
    assert len(served) == len(set(served))
    assert set(served) == {command.params for command in wire.COMMANDS}


def test_names_and_params_are_used_once() -> None:
    assert len({command.name for command in wire.COMMANDS}) == len(wire.COMMANDS)
    assert len({command.params for command in wire.COMMANDS}) == len(wire.COMMANDS)
    assert all(command.name.startswith("oi.") for command in wire.COMMANDS)


def test_states_are_those_of_a_session() -> None:
    assert get_args(wire.State) == get_args(session_state.State)


def test_everything_is_documented() -> None:
    kinds: list[Any] = [
        kind
        for module in (wire, *wire.MODULES)
        for kind in vars(module).values()
        if isinstance(kind, type) and attrs.has(kind)
    ]
    described = [kind for kind in kinds if kind not in (wire.Command, wire.Notification)]
    assert all(kind.__doc__ for kind in described)
    assert all(field.metadata["doc"] for kind in described for field in attrs.fields(kind))
    assert set(wire.ERROR_DOCS) == set(wire.ErrorCode)
