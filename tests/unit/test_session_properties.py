"""Random sessions: whatever people, models and programs do, and in whatever order, these hold.

- The stream is well formed, and the transcript equals its fold, also after messages were folded into one chunk each.
- Nothing ran but code that was approved in these very words, each as often as it was approved.
- Every code message of the model is answered: it ran, or a note says why not.
- What is said beside the conversation is no part of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from oi_engine.errors import ModelError, ModelErrorKind, OiError
from oi_engine.session.aside import Answer
from oi_engine.session.session import Session
from oi_engine.settings import Settings
from oi_engine.stream import Entry, check_stream
from oi_engine.transcript import fold
from tests.fakes.scripted import ScriptedModel, Step, TinyRuntime, code, say

LINES = st.sampled_from(["print 1", "print é", "image", "input", "wait", "fail", "die", ""])
CODES = st.lists(LINES, min_size=1, max_size=3).map("\n".join)
FAILURES: st.SearchStrategy[ModelErrorKind] = st.sampled_from(["dropped", "quota", "no_key"])


@st.composite
def replies(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    if draw(st.booleans()):
        steps += say(draw(st.sampled_from(["Hello there.", " ", "a\n\nb"])))
    for index in range(draw(st.integers(0, 2))):
        steps += code(draw(CODES), draw(st.sampled_from(["python", "py", "shell", "cobol"])), index)
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(steps)))
        steps[at:] = [ModelError(draw(FAILURES), "It failed.")]
    return steps


ACTIONS = st.one_of(
    st.tuples(st.just("send"), st.text(max_size=5)),
    st.tuples(st.just("run"), CODES),
    st.tuples(st.just("approve"), st.none() | CODES),
    st.tuples(st.just("always"), st.none() | CODES),
    st.tuples(st.just("approve_again"), CODES),
    st.tuples(st.just("reject"), st.text(max_size=5)),
    st.tuples(st.just("answer"), st.text(max_size=5)),
    st.tuples(st.just("stop"), st.none()),
    st.tuples(st.just("interrupt"), st.none()),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("undo"), st.none()),
    st.tuples(st.just("reset"), st.none()),
    st.tuples(st.just("aside"), st.integers(0, 10)),
    st.tuples(st.just("wait"), st.integers(1, 40)),
    st.tuples(st.just("wait"), st.integers(1, 40)),
)


class Person:
    """Does what the actions say, and remembers what they approved."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.approved: Counter[str] = Counter()
        self.always: set[str] = set()
        self.decided: str | None = None

    async def does(self, action: str, value: Any) -> None:
        try:
            await getattr(self, action)(value)
        except OiError:
            pass  # refused, as it may be at a random moment; what counts is what ran

    async def send(self, text: str) -> None:
        self.session.send(text)

    async def run(self, source: str) -> None:
        self.approved[source] += 1
        self.session.run("python", source)

    async def approve(self, edit: str | None) -> None:
        self._approve(edit, always=False)

    async def always_(self, edit: str | None) -> None:
        self._approve(edit, always=True)

    def _approve(self, edit: str | None, *, always: bool) -> None:
        proposal = self.session.snapshot.proposal
        if proposal is None:
            return
        self.decided = proposal.id
        source = proposal.cell.code if edit is None else edit
        self.session.approve(proposal.id, edit, always=always)
        self.approved[source] += 1
        if always:
            self.always.add(source)

    async def approve_again(self, edit: str) -> None:
        """Replay a decision that was made already, with other code: it must never run."""
        if self.decided is not None:
            self.session.approve(self.decided, "smuggled " + edit)

    async def reject(self, reason: str) -> None:
        proposal = self.session.snapshot.proposal
        if proposal is not None:
            self.session.reject(proposal.id, reason)

    async def answer(self, text: str) -> None:
        pending = self.session.snapshot.input
        if pending is not None:
            self.session.answer(pending.id, text)

    async def stop(self, _: None) -> None:
        self.session.stop()

    async def interrupt(self, _: None) -> None:
        await self.session.interrupt()

    async def restart(self, _: None) -> None:
        await self.session.restart()

    async def undo(self, _: None) -> None:
        self.session.undo()

    async def reset(self, _: None) -> None:
        self.session.reset()

    async def aside(self, ticks: int) -> None:
        async def work() -> Answer:
            await self.wait(ticks)
            return Answer("beside", "s-other")

        self.session.aside("%aside", work)

    async def wait(self, ticks: int) -> None:
        for _ in range(ticks):
            await asyncio.sleep(0)


async def live(script: list[list[Step]], actions: list[tuple[str, Any]]) -> None:
    """One random session, from its first message to its close, and all that must hold of it."""
    ran: list[str] = []
    session = Session(ScriptedModel(script, after="Done."), lambda language, cwd: TinyRuntime(ran), Settings(), cwd="/")
    entries: list[Entry] = []
    session.stream.subscribe(entries.append)
    person = Person(session)
    for action, value in actions:
        await person.does("always_" if action == "always" else action, value)
    session.stop()
    await asyncio.wait_for(session.idle(), 20)
    await session.close()

    chunks = [entry.chunk for entry in entries]
    kept = [entry.chunk for entry in session.stream.entries_after(0)]
    check_stream(chunks)
    check_stream(kept)
    assert fold(chunks) == fold(kept) == session.messages
    assert "%aside" not in [message.text for message in session.messages]
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    for source, count in Counter(ran).items():
        assert source in person.always or count <= person.approved[source], source
    answered = {message.parent for message in session.messages}
    for message in session.messages:
        if message.role == "assistant" and message.type == "code":
            assert message.id in answered, f"nothing answers {message.text!r}"


@given(st.lists(replies(), max_size=6), st.lists(ACTIONS, max_size=25))
@settings(max_examples=300, deadline=None)
def test_random_sessions(script: list[list[Step]], actions: list[tuple[str, Any]]) -> None:
    asyncio.run(live(script, actions))
