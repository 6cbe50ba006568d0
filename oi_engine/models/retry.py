"""Asking again when the provider is too busy: visibly, stoppable at any moment, never after a word has been shown."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator

from attrs import field, frozen

from oi_engine.errors import ModelError
from oi_engine.models.model import Model, ModelEvent, ModelRequest, Notice, Usage

_BUSY = ("rate_limit", "overloaded")


@frozen
class Patience:
    """How often to ask again, and how long to wait in between (seconds).

    The wait doubles from ``first`` to ``longest``, unless the provider says how long (``Retry-After``), and is drawn
    out by up to a quarter, so that many clients do not come back at once. Where the provider asks for more than
    ``at_most``, it is not waited for: the person decides.
    """

    retries: int = 5
    first: float = 1.0
    longest: float = 30.0
    at_most: float = 120.0
    random: random.Random = field(factory=random.Random, repr=False, eq=False)

    def wait(self, attempt: int, error: ModelError) -> float | None:
        """How long to wait after the failure of ``attempt`` (counted from 1); ``None``: ask no more."""
        if error.kind not in _BUSY or attempt > self.retries:
            return None
        wait = min(self.longest, self.first * 2 ** (attempt - 1)) if error.retry_after is None else error.retry_after
        return None if wait > self.at_most else wait * (1 + self.random.random() / 4)


PATIENCE = Patience()


async def with_retries(
    model: Model, request: ModelRequest, patience: Patience = PATIENCE
) -> AsyncGenerator[ModelEvent, None]:
    """``model.stream(request)``, asked again where the provider is too busy. Raises ``ModelError`` like it.

    Each wait is told by a ``Notice``. Cancelling, or closing the generator, ends a wait at once.
    """
    attempt = 0
    while True:
        attempt += 1
        begun = False
        try:
            async with contextlib.aclosing(model.stream(request)) as events:
                async for event in events:
                    begun = begun or not isinstance(event, Notice | Usage)
                    yield event
            return
        except ModelError as error:
            wait = None if begun else patience.wait(attempt, error)
            if wait is None:
                raise
            said = error.message
        yield Notice(f"{said} Asking again in {max(1, round(wait))} s ({attempt} of {patience.retries}).")
        await asyncio.sleep(wait)
