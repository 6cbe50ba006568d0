"""The delivered server as a child process: bytes and messages over its standard input, and a canary.

The model proposes code that makes a file, real kernels and shells would run it, and every command is sent with made-up
and replayed ids and the same code wherever text goes. The file must not be there until the code is approved.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

from oi_lsp.protocol import ErrorCode
from tests.e2e.product import folders, workspace
from tests.fakes.lsp_client import PRODUCT, Follower, LspClient, server
from tests.fakes.openai_server import OpenAiServer, Reply
from tests.fuzz import messages
from tests.fuzz.fuzzing import PLANNED, SEED, TIMES, Dice

PLANNED[f"{__name__}.messages"] = MESSAGES = 3000
BATCH = 50
MODEL = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
NOT_SENT = ("oi.code.run", "oi.selection.run", "oi.document.run", "oi.models.list", "oi.models.catalog")
"""What runs the person's own code where it is asked to, and what looks for servers on this machine."""


def torn(source: random.Random, body: bytes) -> bytes:
    """A frame whose header is broken, or a whole one after bytes that are none."""
    kind = source.randrange(5)
    if kind == 0:
        return b"Content-Length: nonsense\r\n\r\n" + body[:20] + b"\r\n"
    if kind == 1:
        return b"\r\n\r\n\x00\xff" + source.randbytes(30).replace(b"\n", b"") + b"\r\n"
    if kind == 2:  # too short: the rest is passed over up to the next header
        return b"Content-Length: %d\r\n\r\n%b\r\n" % (len(body) // 2, body)
    return b"Content-Length: %d\r\nContent-Type: x; charset=utf-16\r\n\r\n%b" % (len(body), body)


class Reopened(Follower):
    """Of a session that may be closed and opened again: its chunks are counted anew then."""

    def take(self, params: dict[str, Any]) -> None:
        if params["seq"] < self.next_seq and not params.get("replay"):
            self.chunks.clear()
            self.next_seq = params["seq"]
        super().take(params)


class Attack:
    """What one client sends, and what must become of it."""

    def __init__(self, client: LspClient, world: messages.World, source: random.Random) -> None:
        self.client, self.world, self.source = client, world, source
        self.sent = set[str]()
        """What was drawn for the messages, which tells different ones."""
        self._count = 0

    def message(self) -> tuple[bytes, bool]:
        """The body of the next message, and whether it must be answered under its id."""
        drawn = Dice(self.source.randbytes(150))
        body, answered = self._made(drawn)
        self.sent.add(repr(drawn))
        return body, answered

    def _made(self, drawn: Dice) -> tuple[bytes, bool]:
        kind = drawn.below(10)
        if kind == 0:
            return messages.body(drawn), False
        if kind == 1:
            return json.dumps(messages.response(drawn)).encode(), False
        self._count += 1
        msg_id = f"fuzz-{self._count}"
        if kind < 5:
            made = messages.request(drawn, self.world, msg_id)
        else:
            params = messages.command(drawn, self.world)
            if params["command"] in NOT_SENT:
                params["command"] = "oi.code.approve"
            made = {"jsonrpc": "2.0", "id": msg_id, "method": "workspace/executeCommand", "params": params}
        return json.dumps(made).encode(), "id" in made

    async def batch(self) -> None:
        """Send some messages at once, in pieces, and wait for the answers. Fails at an internal error."""
        waiting = list[asyncio.Future[Any]]()
        wire = b""
        for _ in range(BATCH):
            body, answered = self.message()
            if answered:
                waiting.append(self.client.expect(json.loads(body)["id"]))
                wire += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            else:
                wire += torn(self.source, body)
        while wire:
            size = self.source.choice((1, 7, 300, 5000))
            self.client.write(wire[:size])
            wire = wire[size:]
        answers = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 60)
        for answer in answers:
            assert getattr(answer, "code", None) != ErrorCode.INTERNAL_ERROR, answer
        unasked = [message["error"] for message in self.client.unasked if "error" in message]
        assert not [error for error in unasked if error["code"] == ErrorCode.INTERNAL_ERROR]


async def test_no_bytes_over_stdio_crash_the_server_or_run_code(tmp_path: Path) -> None:
    canary, log = tmp_path / "canary", tmp_path / "log"
    code = f"open({str(canary)!r}, 'a').write('ran')"
    env = {**MODEL, **folders(tmp_path)}
    folder = workspace(tmp_path)
    async with OpenAiServer([Reply.tool_call("python", code, size=200) for _ in range(2000)]) as provider:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url, "api_key": "sk-test"}
        settings = {"llm": llm, "computer": {"python": sys.executable}}
        async with server((*PRODUCT, "--log-file", str(log)), env=env) as client:
            await client.initialize({"oi": {"protocolVersion": 1}, "settings": settings}, rootUri=folder.as_uri())
            client.make_follower = Reopened
            world = messages.World(str(folder), code)
            for _ in range(2):
                session = await client.new_session()
                world.sessions.append(session)
                await client.turn(session, "go")
                proposal = await client.proposal(session)
                await client.command("oi.code.reject", sessionId=session, proposalId=proposal["id"])
                world.proposals.append(proposal["id"])
            attack = Attack(client, world, random.Random(SEED))
            while len(attack.sent) < MESSAGES * TIMES:
                await attack.batch()
                assert not canary.exists()
            client.notify("workspace/didChangeConfiguration", {"settings": {"oi": settings}})
            for name in messages.SETTABLE:
                params = {"command": "oi.settings.set", "arguments": [{"name": name, "unset": True}]}
                await client.request("workspace/executeCommand", params)
            fresh = await client.new_session(cwd=str(folder))
            await client.turn(fresh, "go")
            await client.approve(fresh)
            follower = client.of(fresh)
            await client.until(lambda: "proposal" in follower.state and canary.exists())
            assert canary.read_text() == "ran", "it ran more than the once that was approved"
    logged = log.read_text()
    assert "Traceback" not in logged, logged[-3000:]
