"""What a session shows of itself around its stream: its state, what waits, what it cost."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from oi_engine.approval import Proposal
from oi_engine.models.model import Usage

State = Literal["idle", "thinking", "awaiting_approval", "running", "awaiting_input", "stopping"]


@frozen
class PendingInput:
    """A program's question. ``password``: what is typed must not be shown."""

    id: str
    prompt: str
    password: bool


@frozen
class Queued:
    """A message that was sent in mid-turn and waits for its own."""

    turn_id: str
    text: str


@frozen
class UsageTotals:
    """Tokens and US dollars that replies cost so far; ``cost`` is ``None`` where no price is known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    def plus(self, usage: Usage) -> UsageTotals:
        """With another reply."""
        return UsageTotals(
            self.prompt_tokens + usage.prompt_tokens,
            self.completion_tokens + usage.completion_tokens,
            self.cost if usage.cost is None else (self.cost or 0.0) + usage.cost,
        )


@frozen
class Snapshot:
    """Everything that a front end shows around the stream, at one moment.

    ``usage`` is the session's, ``turn_usage`` that of the turn under way, or of the last one. ``model`` is the one that
    answers, as LiteLLM names it; empty where none is chosen yet.
    """

    state: State = "idle"
    turn_id: str | None = None
    proposal: Proposal | None = None
    input: PendingInput | None = None
    queue: tuple[Queued, ...] = ()
    usage: UsageTotals = UsageTotals()
    turn_usage: UsageTotals = UsageTotals()
    model: str = ""


@frozen
class Ticket:
    """What a request got: the turn that serves it, and whether that turn waits behind others."""

    turn_id: str
    queued: bool


@frozen
class Stopped:
    """What a stop did: whether there was anything to stop, and the texts of messages that will not be sent."""

    stopped: bool
    unsent: tuple[str, ...] = ()
