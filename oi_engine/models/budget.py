"""``max_budget``: the call that would pass it is not made."""

from __future__ import annotations

from oi_engine.errors import ModelError


def check(limit: float, spent: float, price: float, tokens: int, model: str) -> None:
    """Raise ``ModelError`` (``budget``) where the next request would pass the limit.

    ``limit`` and ``spent`` are in US dollars, ``price`` in US dollars a token of the prompt; ``tokens`` is no more than
    the prompt has. What the reply will cost is not known and not counted.
    """
    least = price * tokens
    if spent + least <= limit:
        return
    raise ModelError(
        "budget",
        f"This session has cost {dollars(spent)}, and the next request to {model} would cost {dollars(least)} or more: "
        f"that passes max_budget, which is {dollars(limit)}.",
        "To go on, set max_budget higher (or to null, for no limit), or start a new session.",
    )


def unwatched(model: str) -> str:
    """What the person is told where no price is known."""
    return f"No price is known for {model}, so max_budget cannot be watched: what this session costs is not known."


def dollars(amount: float) -> str:
    """An amount as people read it: two digits that count, cents at least."""
    return f"${amount:.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.2g}" if amount >= 1e-4 else "under $0.0001"
