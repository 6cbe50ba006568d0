"""An editor to be killed: it starts the server, has every kind of child started, says so, and waits.

Prints one line of JSON: the server's process id. Its arguments are the server's command.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.fakes.lsp_client import LspClient, server

PYTHON = "import subprocess, sys\nchild = subprocess.Popen(['sleep', '1000'])\nprint('started')\n"
SHELL = "sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & echo started"


async def busy(client: LspClient) -> None:
    """Have a kernel, a shell, their children, a program that runs, and the model worker, which a session starts."""
    llm = {"model": "openai/nobody", "api_base": "http://127.0.0.1:9/v1", "api_key": "x"}
    await client.initialize({"oi": {"protocolVersion": 1}, "settings": {"llm": llm}})
    for language, code in (("python", PYTHON), ("shell", SHELL)):
        run = await client.command("oi.code.run", language=language, code=code)
        follower = await client.ended(run["sessionId"], run["turnId"])
        assert "started" in follower.text(), follower.chunks
    run = await client.command("oi.code.run", language="python", code="print('looping')\nwhile True: pass")
    await client.until(lambda: "looping" in client.of(run["sessionId"]).text())


async def main(command: list[str]) -> None:
    async with server(command) as client:
        await busy(client)
        print(json.dumps(client.process.pid), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
