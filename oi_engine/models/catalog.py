"""The models that can be chosen: those of providers whose key is there, and those of servers on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from attrs import frozen

from oi_engine.errors import ModelError
from oi_engine.models.discovery import Discovery, discover
from oi_engine.models.worker_client import ModelWorker, WorkerModel


@frozen
class Offer:
    """A model, and what is known of it: ``None`` where it is not known.

    ``model`` and ``api_base`` are what the settings of that name would be; ``provider`` is LiteLLM's name of it, or the
    local server's. Windows are in tokens, prices in US dollars a token. ``ready``: its key, or its server, is there.
    """

    model: str
    provider: str
    ready: bool = True
    local: bool = False
    api_base: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    tools: bool | None = None
    vision: bool | None = None
    reasoning: bool | None = None


class Catalog:
    """Lists models. Shares the worker, whose environment has the provider keys."""

    def __init__(self, worker: ModelWorker, environ: Mapping[str, str]) -> None:
        self._worker = worker
        self._environ = environ

    async def offers(
        self, *, everything: bool = False, local_only: bool = False, found: Discovery | None = None
    ) -> list[Offer]:
        """The models that can be chosen now, local ones first; with ``everything``, those without a key as well.

        ``found`` is what discovery has found already, if it has. A worker that is not to be had costs the hosted
        ones and the details of the local ones, no more: never raises.
        """
        if found is None:
            found = await discover({}, self._environ)
        local = await asyncio.gather(*(self._local(one.model, one.source, one.api_base) for one in found.local))
        return [*local, *([] if local_only else await self._hosted(everything))]

    async def _hosted(self, everything: bool) -> list[Offer]:
        try:
            listed = await self._worker.know({"op": "models", "model": "", "everything": everything})
        except ModelError:
            return []
        return sorted((Offer(**entry) for entry in listed), key=lambda offer: (offer.provider, offer.model))

    async def _local(self, model: str, server: str, base: str | None) -> Offer:
        known = await WorkerModel(self._worker).info(model, base)
        return Offer(
            model,
            server,
            local=True,
            api_base=base,
            context_window=known.context_window,
            input_price=0.0,
            output_price=0.0,
            tools=known.supports_functions,
            vision=known.supports_vision,
        )


def matching(offers: Iterable[Offer], words: str) -> list[Offer]:
    """The offers in whose name or provider every word occurs, in any case."""
    wanted = words.lower().split()
    return [offer for offer in offers if all(word in f"{offer.provider} {offer.model}".lower() for word in wanted)]
