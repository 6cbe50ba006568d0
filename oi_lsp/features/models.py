"""Commands about models: keys, which there are, which one answers, and exactly what it is told."""

from __future__ import annotations

import re
from typing import Any

from oi_engine.errors import OiError
from oi_engine.safety.secrets import can_be_handed_over
from oi_lsp import protocol_settings as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.fields import Nothing
from oi_lsp.host import SessionHost
from oi_lsp.structure import InvalidField

HANDLERS = Handlers()


@HANDLERS.serves(wire.KeysSet)
def set_keys(host: SessionHost, params: wire.KeysSet) -> Nothing:
    """``oi.keys.set``."""
    for index, given in enumerate(params.keys):
        where = f"keys[{index}]"
        if not can_be_handed_over(given.name):
            raise InvalidField(f"{where}.name", "is no variable of a provider's key, such as OPENAI_API_KEY.")
        if not given.key or not given.key.isascii() or "\0" in given.key:
            raise InvalidField(f"{where}.key", "must be ASCII, and not empty.")
    host.engine.change_keys({given.name: given.key for given in params.keys})
    for hosted in host.sessions:
        if not hosted.closed:
            host.spawn(hosted.session.model.warm_up())
    return Nothing()


@HANDLERS.serves(wire.ModelsList)
async def list_models(host: SessionHost, _: wire.ModelsList) -> wire.ModelsListResult:
    """``oi.models.list``."""
    found = await host.engine.models()
    return wire.ModelsListResult(
        tuple(wire.ModelCandidate(each.model, each.source, each.why, each.api_base or "") for each in found)
    )


@HANDLERS.serves(wire.ModelsCatalog)
async def catalog(host: SessionHost, _: wire.ModelsCatalog) -> wire.ModelsCatalogResult:
    """``oi.models.catalog``."""
    offers = await host.engine.catalog()
    return wire.ModelsCatalogResult(
        tuple(
            wire.ModelOffer(
                each.model,
                each.provider,
                each.local,
                each.api_base,
                each.context_window,
                each.max_output_tokens,
                each.input_price,
                each.output_price,
                each.tools,
                each.vision,
            )
            for each in offers
        )
    )


@HANDLERS.serves(wire.ModelsChoose)
def choose(host: SessionHost, params: wire.ModelsChoose) -> wire.ModelsChooseResult:
    """``oi.models.choose``."""
    from oi_engine.models.chosen import Choice

    session = host.live(params.session_id)
    if not params.model.strip():
        raise OiError("No model is named.", "oi.models.list names those that were found.")
    layer = {**host.engine.own_layer(session), "llm.model": params.model}
    before = session.settings.llm
    base = before.api_base if params.api_base is None else params.api_base or None
    layer["llm.api_base"] = base
    if (_family(params.model), base) != (_family(before.model), before.api_base):
        # The key in the settings was given for another provider: it is not handed to this one.
        layer["llm.api_key"] = None
    llm = host.engine.change_session(session, layer).settings.llm
    choice = Choice(params.model, "It was chosen for this session.", llm.api_base)
    host.engine.choose(session, choice)
    host.spawn(session.model.warm_up())
    return wire.ModelsChooseResult(choice.model, choice.why)


@HANDLERS.serves(wire.PromptGet)
async def prompt(host: SessionHost, params: wire.PromptGet) -> wire.PromptGetResult:
    """``oi.prompt.get``."""
    session = host.live(params.session_id)
    preview = await session.preview()
    request = preview.request
    told: tuple[dict[str, Any], ...] = tuple(dict(message) for message in request.messages)
    return wire.PromptGetResult(
        host.engine.model_of(session), told, request.tools, tuple(request.languages), preview.notices
    )


def _family(model: str) -> str:
    """What names a model's provider: the prefix that LiteLLM goes by, else the letters that the name begins with."""
    prefix, slash, _ = model.partition("/")
    return prefix if slash else re.split(r"[^a-z]", model.lower(), maxsplit=1)[0]
