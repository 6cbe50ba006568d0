"""A real session in the history: recorded, restored, exported."""

from __future__ import annotations

import asyncio
from pathlib import Path

from oi_engine.history.export import to_scripts
from oi_engine.history.export.steps import Run, steps
from oi_engine.history.recorder import Recorder
from oi_engine.history.restore import restore
from oi_engine.history.store import Conversation, Store
from tests.fakes.scripted import code, say
from tests.unit.session_rig import Rig


async def test_a_session_is_recorded_restored_and_exported(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    rig = Rig([*say("Both."), *code("print 1"), *code("print 2", index=1)], say("Done."))
    session = rig.session
    recorder = Recorder(path, Conversation(session.id, session.title, session.cwd, created_at=session.created_at))
    session.stream.subscribe(recorder)
    session.send("Run two blocks.")
    session.approve(await rig.proposal(), "print 3")
    session.reject(await rig.proposal())
    await session.idle()
    await session.close()
    assert await asyncio.to_thread(recorder.close) == ""
    with Store(path) as store:
        opened = store.open(session.id)
    assert list(opened.messages) == session.messages
    assert opened.turns == session.transcript.turns
    assert opened.conversation.title == "Run two blocks."

    again = Rig(say("Welcome back."))
    restore(again.session.stream, opened)
    assert again.session.messages == session.messages
    again.checked()
    again.session.send("Once more.")
    await again.session.idle()
    again.session.undo()
    assert again.session.messages == session.messages
    again.session.undo()
    assert again.session.messages == []

    runs = [step for step in steps(opened.messages) if isinstance(step, Run)]
    assert [(run.final.text, run.ran) for run in runs] == [("print 3", True), ("print 2", False)]
    (script,) = to_scripts(opened.messages)
    assert "print 3" in script.text
    assert "print 2" not in script.text
