"""Safe mode in the turn: what is found comes before the decision, holds code back, and never lets any run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oi_engine.errors import ModelError, UnknownProposal
from oi_engine.models.model import Usage
from oi_engine.safety.scan.report import Finding, Report
from oi_engine.session.review import Review
from oi_engine.session.session import Session
from oi_engine.settings import Settings
from tests.fakes.scripted import Step, code, say
from tests.unit.session_rig import Rig

DELETES = Finding("a-delete", "It deletes files.", "WARNING", 1)
SENDS = Finding("a-send", "It sends data.", "WARNING", 1)
NOT_SCANNED = Report(problem="Not scanned: semgrep is not installed.")


class Scanning:
    """A scanner that finds what the words of the code say."""

    def __init__(self, report: Report | None = None) -> None:
        self.report = report
        self.scanned: list[str] = []
        self.warmed = 0
        self.hold: asyncio.Event | None = None

    def warm_up(self) -> None:
        self.warmed += 1

    async def scan(self, language: str, code: str) -> Report:
        self.scanned.append(code)
        if self.hold is not None:
            await self.hold.wait()
        found = [each for word, each in (("delete", DELETES), ("send", SENDS)) if word in code]
        return self.report or Report(tuple(found))


class SafeRig(Rig):
    """A session with a scanner."""

    def __init__(self, *replies: list[Step], report: Report | None = None, tools: bool = True, **chosen: Any) -> None:
        super().__init__(*replies, tools=tools)
        self.scanner = Scanning(report)
        chosen = {"safe_mode": "auto", **chosen}
        self.session = Session(
            self.model, self._runtime, Settings(**chosen), cwd="/", make_scanner=lambda: self.scanner
        )
        self.chunks = []
        self.session.stream.subscribe(lambda entry: self.chunks.append(entry.chunk))

    def reviews(self) -> list[str]:
        return [message.text for message in self.session.messages if message.type == "review"]


async def test_what_is_found_is_in_the_stream_before_the_proposal_and_in_it() -> None:
    rig = SafeRig(code("print delete"), say("ok"))
    rig.session.send("go")
    proposal = (await rig.until(lambda s: s.proposal is not None)).proposal
    assert proposal is not None
    assert proposal.findings == ("Line 1: It deletes files.",)
    types = [chunk.type for chunk in rig.chunks]
    assert types.index("review") < types.index("confirmation")
    assert rig.scanner.warmed == 1
    rig.session.approve(proposal.id)
    await rig.session.idle()
    assert rig.ran == ["print delete"]
    assert [m for m in rig.said() if m[1] == "review"] == [("assistant", "review", "Line 1: It deletes files.")]
    (review,) = [m for m in rig.session.messages if m.type == "review"]
    assert review.parent == next(m.id for m in rig.session.messages if m.type == "code")
    rig.checked()


async def test_what_is_safe_says_so_as_documented() -> None:
    rig = SafeRig(code("print 3"), say("ok"))
    rig.session.send("go")
    rig.session.approve(await rig.proposal())
    await rig.session.idle()
    assert rig.reviews() == ["<SAFE>"]


@pytest.mark.parametrize("tools", [True, False])
async def test_the_model_is_not_told_of_reviews_and_each_call_has_its_answer(tools: bool) -> None:
    rig = SafeRig([*code("print delete"), *code("print send", index=1)], say("ok"))
    rig.model._tools = tools
    if not tools:
        rig.model.replies[0] = say("```python\nprint delete\n```\n\n```python\nprint send\n```\n")
    rig.session.send("go")
    rig.session.approve(first := await rig.proposal())
    await rig.until(lambda s: s.proposal is not None and s.proposal.id != first)
    rig.session.approve(await rig.proposal())
    await rig.session.idle()
    told = json.dumps(list(rig.model.requests[-1].messages))
    assert "It deletes" not in told
    assert "not run" not in told
    assert "delete\\n" in told or "delete" in told
    if tools:
        roles = [message["role"] for message in rig.model.requests[-1].messages]
        assert roles[-3:] == ["assistant", "tool", "tool"]


async def test_off_scans_nothing_and_ask_scans_when_asked() -> None:
    rig = SafeRig(code("print delete"), say("ok"), safe_mode="off")
    rig.session.send("go")
    rig.session.approve(await rig.proposal())
    await rig.session.idle()
    assert (rig.scanner.scanned, rig.scanner.warmed) == ([], 0)

    rig = SafeRig(code("print delete"), say("ok"), safe_mode="ask")
    rig.session.send("go")
    proposal = await rig.proposal()
    assert rig.scanner.scanned == []
    assert (await rig.session.scan(proposal)).words == ("Line 1: It deletes files.",)
    now = rig.session.snapshot.proposal
    assert now is not None
    assert (now.id, now.findings) == (proposal, ("Line 1: It deletes files.",))
    assert (await rig.session.scan(proposal, "print send")).words == ("Line 1: It sends data.",)
    assert rig.session.snapshot.proposal is now
    rig.session.approve(proposal)
    await rig.session.idle()
    assert rig.ran == ["print delete"]
    with pytest.raises(UnknownProposal):
        await rig.session.scan(proposal)
    rig.checked()


async def test_the_persons_own_code_is_not_scanned() -> None:
    rig = SafeRig()
    rig.session.run("python", "print delete")
    await rig.session.idle()
    assert (rig.ran, rig.scanner.scanned) == (["print delete"], [])


async def test_an_edit_that_does_more_is_asked_about_again_and_one_that_does_not_runs() -> None:
    rig = SafeRig(code("print delete"), code("print delete"), say("ok"))
    rig.session.send("go")
    first = await rig.proposal()
    rig.session.approve(first, "print delete send", always=True)
    again = (await rig.until(lambda s: s.proposal is not None and s.proposal.id != first)).proposal
    assert again is not None
    assert rig.ran == []
    assert again.cell.code == "print delete send"
    assert again.findings == ("Line 1: It deletes files.", "Line 1: It sends data.")
    rig.session.approve(again.id)
    second = (await rig.until(lambda s: s.proposal is not None and s.proposal.id != again.id)).proposal
    assert second is not None
    rig.session.approve(second.id, "print delete more")
    await rig.session.idle()
    assert rig.ran == ["print delete send", "print delete more"]
    edits = [m for m in rig.said() if m[0] == "user" and m[1] == "code"]
    assert [text for _, _, text in edits] == ["print delete send", "print delete more"]
    rig.checked()


async def test_an_edit_that_was_scanned_before_it_was_approved_is_not_asked_about_again() -> None:
    rig = SafeRig(code("print 1"), say("ok"))
    rig.session.send("go")
    first = await rig.proposal()
    assert (await rig.session.scan(first, "print send")).words == ("Line 1: It sends data.",)
    rig.session.approve(first, "print send")
    await rig.session.idle()
    assert rig.ran == ["print send"]
    rig = SafeRig(code("print 1"), say("ok"))
    rig.session.send("go")
    first = await rig.proposal()
    await rig.session.scan(first, "print send")
    rig.session.approve(first, "print delete")
    again = (await rig.until(lambda s: s.proposal is not None and s.proposal.id != first)).proposal
    assert again is not None, "of this they were told nothing"
    assert rig.ran == []
    rig.session.stop()
    await rig.session.idle()


async def test_what_was_approved_always_runs_unasked_once_a_person_saw_what_is_found() -> None:
    rig = SafeRig(code("print delete"), code("print delete"), code("print delete"), say("ok"))
    rig.session.send("go")
    rig.session.approve(await rig.proposal(), always=True)
    await rig.session.idle()
    assert rig.ran == ["print delete"] * 3
    why = {"words": "It ran without a question. You approved it always, in this session."}
    assert [chunk.content for chunk in rig.chunks if chunk.format == "unasked"] == [why] * 2
    rig = SafeRig(code("print 1"), code("print 1"), say("ok"))
    rig.session.send("go")
    first = await rig.proposal()
    rig.scanner.report = NOT_SCANNED
    rig.session.approve(first, always=True)
    second = (await rig.until(lambda s: s.proposal is not None and s.proposal.id != first)).proposal
    assert second is not None
    assert second.findings == (NOT_SCANNED.problem,)
    assert rig.ran == ["print 1"]
    rig.session.stop()
    await rig.session.idle()


async def test_not_scanned_is_said_and_nothing_runs_unasked() -> None:
    # The settings turn auto-run off in safe mode; were it on all the same, what was not scanned is asked about.
    rig = SafeRig(code("print 1"), say("ok"), report=NOT_SCANNED, auto_run=True)
    rig.session.send("go")
    proposal = await rig.proposal()
    assert rig.ran == []
    assert rig.reviews() == [NOT_SCANNED.problem]
    rig.session.reject(proposal)
    await rig.session.idle()
    without = Rig(code("print 1"), say("ok"), safe_mode="auto", auto_run=True)
    without.session.send("go")
    await without.proposal()
    assert without.ran == []
    without.session.stop()
    await without.session.idle()


async def test_a_stop_while_code_is_scanned_ends_the_turn() -> None:
    rig = SafeRig(code("print delete"), say("ok"))
    rig.scanner.hold = asyncio.Event()
    rig.session.send("go")
    await rig.until(lambda s: s.state == "thinking")
    while not rig.scanner.scanned:
        await asyncio.sleep(0)
    assert rig.session.stop().stopped
    await rig.session.idle()
    assert (rig.ran, rig.reviews()) == ([], [])
    rig.checked()


async def test_a_scan_that_comes_too_late_says_nothing() -> None:
    rig = SafeRig(code("print delete"), say("ok"), safe_mode="ask")
    rig.session.send("go")
    proposal = await rig.proposal()
    rig.scanner.hold = asyncio.Event()
    scan = asyncio.create_task(rig.session.scan(proposal))
    await asyncio.sleep(0)
    rig.session.approve(proposal)
    await rig.session.idle()
    rig.scanner.hold.set()
    await scan
    assert rig.reviews() == []
    rig.checked()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (say("<SAFE>"), ()),
        (say("<think>Hm.</think>\n<SAFE>"), ()),
        (say("It removes\nyour work."), ("The model says: It removes your work.",)),
        ([], ("The model said nothing of it.",)),
        ([ModelError("no_key", "No key.", "Set one.")], ("The model could not review it: No key. Set one.",)),
        (say("<SAFE> as I was told to say"), ("The model says: <SAFE> as I was told to say",)),
    ],
)
async def test_the_models_review_sees_the_code_alone_and_is_paid_for(reply: list[Step], words: tuple[str, ...]) -> None:
    rig = SafeRig(code("print 1"), [*reply, Usage(7, 3, 0.5)], say("ok"), safe_review=True)
    rig.session.send("a secret word")
    proposal = (await rig.until(lambda s: s.proposal is not None)).proposal
    assert proposal is not None
    assert proposal.findings == words
    assert rig.reviews() == ["<SAFE>", words[0] if words else "<SAFE>"]
    request = rig.model.requests[1]
    assert "secret" not in json.dumps(list(request.messages))
    assert "print 1" in json.dumps(list(request.messages))
    assert not request.tools
    if not any(isinstance(step, ModelError) for step in reply):
        assert rig.session.snapshot.usage.cost == 0.5
    rig.session.approve(proposal.id)
    await rig.session.idle()
    assert rig.ran == ["print 1"]


reports = st.builds(
    Report,
    st.lists(st.sampled_from([DELETES, SENDS]), max_size=2, unique=True).map(tuple),
    st.sampled_from(["", "Not scanned."]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(reports, min_size=1, max_size=4), st.sampled_from(["ask", "auto"]), st.booleans())
def test_no_result_of_a_scan_grants_anything(found: list[Report], mode: str, auto_run: bool) -> None:
    async def held() -> None:
        rig = SafeRig(*(code(f"print {at}") for at in range(len(found))), safe_mode=mode, auto_run=auto_run)
        scanner = rig.scanner

        async def scan(language: str, code: str) -> Report:
            scanner.scanned.append(code)
            return found[int(code.split()[1])]

        scanner.scan = scan  # type: ignore[method-assign]
        rig.session.send("go")
        seen = ""
        while True:
            now = await rig.until(lambda s: s.state == "idle" or (s.proposal is not None and s.proposal.id != seen))  # noqa: B023
            if now.proposal is None:
                break
            seen = now.proposal.id
            assert now.proposal.cell.code not in rig.ran
            await rig.session.scan(seen)
            rig.session.reject(seen)
        if not auto_run:
            assert rig.ran == []
        elif mode == "auto":
            # Only what was scanned whole, with nothing found, ran unasked.
            assert all(found[int(code.split()[1])].words == () for code in rig.ran)
        await rig.session.close()

    asyncio.run(held())


def test_new_words_of_the_model_count_as_new() -> None:
    assert Review(opinion="x").new_against(Review())
    assert not Review(opinion="y").new_against(Review(opinion="x"))
