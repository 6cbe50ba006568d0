"""How the worker starts and ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from oi_engine.errors import ModelError
from oi_engine.models.model import ModelRequest, TextDelta
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from tests.fakes.openai_server import OpenAiServer, Reply
from tests.integration.model_worker.asking import DEADLINE, ask, collect, ended, environ, text

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_death_in_mid_stream_reaches_everyone_after_what_they_received() -> None:
    worker = ModelWorker(environ=environ())
    model = WorkerModel(worker)
    async with OpenAiServer([Reply.held("one"), Reply.held("two"), Reply.text("Hello")]) as server:
        try:
            async with asyncio.timeout(DEADLINE):
                first, second = model.stream(ask(server)), model.stream(ask(server))
                assert await anext(first) == TextDelta("one")
                assert await anext(second) == TextDelta("two")
                assert worker.pid is not None
                os.kill(worker.pid, signal.SIGKILL)
                for stream in (first, second):
                    with pytest.raises(ModelError) as caught:
                        await anext(stream)
                    assert caught.value.kind == "worker_died"
                    assert "signal 9" in caught.value.message
                # The next request starts a new worker.
                assert text(await collect(model, ask(server))) == "Hello"
        finally:
            await worker.close()
        assert worker.pid is None


async def test_an_idle_worker_ends_and_starts_again() -> None:
    worker = ModelWorker(environ=environ(), idle_timeout=0.0)
    model = WorkerModel(worker)
    async with OpenAiServer([Reply.held("one", " two"), Reply.text("Hello")]) as server:
        try:
            async with asyncio.timeout(DEADLINE):
                stream = model.stream(ask(server))
                assert await anext(stream) == TextDelta("one")
                pid = worker.pid
                assert pid is not None
                process = psutil.Process(pid)
                server.release()
                assert text([event async for event in stream]) == " two"
                await asyncio.to_thread(ended, process)
                assert worker.pid is None
                assert text(await collect(model, ask(server))) == "Hello"
        finally:
            await worker.close()


async def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "litellm.py").write_text("raise SystemExit('no litellm here')\n")
    worker = ModelWorker({"X_API_KEY": "litellm here"}, environ={**environ(), "PYTHONPATH": str(tmp_path)})
    try:
        with pytest.raises(ModelError) as caught:
            await collect(WorkerModel(worker), ModelRequest("gpt-4o", []))
        assert caught.value.kind == "worker_died"
        assert "no …" in caught.value.message
        assert "litellm here" not in caught.value.message
    finally:
        await worker.close()


async def test_a_file_of_the_workspace_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "litellm.py").write_text("raise SystemExit('imported from the workspace')\n")
    (tmp_path / ".env").write_text("OPENAI_API_BASE=http://127.0.0.1:9/elsewhere\n")
    monkeypatch.chdir(tmp_path)
    worker = ModelWorker(environ=environ())
    try:
        async with OpenAiServer([Reply.text("Hello")]) as server:
            assert text(await collect(WorkerModel(worker), ask(server))) == "Hello"
    finally:
        await worker.close()


PARENT = """
import asyncio, sys
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from oi_engine.models.model import ModelRequest

async def main():
    worker = ModelWorker()
    stream = WorkerModel(worker).stream(ModelRequest("openai/gpt-4o", [], api_base=sys.argv[1], api_key="k"))
    await anext(stream)
    sys.stdout.write(f"{worker.pid}\\n")
    sys.stdout.flush()
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_worker_ends_with_its_parent() -> None:
    async with OpenAiServer([Reply.held("one")]) as server, asyncio.timeout(DEADLINE):
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PARENT, server.base_url, stdout=asyncio.subprocess.PIPE, env=environ()
        )
        try:
            assert parent.stdout is not None
            process = psutil.Process(int(await parent.stdout.readline()))
            parent.kill()
            # The provider's connection goes with the process.
            await server.wait_departures(1)
            await asyncio.to_thread(ended, process)
        finally:
            if parent.returncode is None:
                parent.kill()
            await parent.wait()
