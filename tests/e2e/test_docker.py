"""docs/docker: the server in a container, started by the command that is delivered with it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.e2e import docker_image
from tests.fakes.lsp_client import DEADLINE, LspClient, server
from tests.fakes.openai_server import OpenAiServer, Reply

pytestmark = pytest.mark.timeout(300)
COMMAND = docker_image.CHECKOUT / "docs/docker/oi-lsp-docker"
NOT_ROOT = 4321
KEY = "sk-key-of-the-test"
GONE_WITHIN = 15.0


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True, timeout=DEADLINE).stdout


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    if why := docker_image.why_no_docker():
        pytest.skip(why)
    tag = f"oi-lsp-test-{uuid.uuid4().hex[:12]}"
    try:
        docker_image.build(tag)
        yield tag
    finally:
        for each in (tag, f"{tag}-base"):
            subprocess.run(["docker", "rmi", "--force", each], check=False, capture_output=True)


@pytest.fixture
def place(tmp_path: Path, image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A workspace, the command for the image, and something that is outside of the workspace."""
    found = SimpleNamespace(
        folder=tmp_path / "a workspace", outside=tmp_path / "outside", image=image, command=tmp_path / "oi-lsp-docker"
    )
    found.folder.mkdir()
    (found.folder / ".git").mkdir()
    found.outside.write_text("secret words")
    words = COMMAND.read_text()
    assert words.count("set -- oi-lsp ") == 1
    found.command.write_text(words.replace("set -- oi-lsp ", f"set -- {image} "))
    found.command.chmod(0o755)
    found.user, found.group = os.getuid() or NOT_ROOT, os.getgid() if os.getuid() else NOT_ROOT
    if os.getuid() == 0:
        # Root runs the tests, but no editor: the command asks `id` who it is.
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "id").write_text(f"#!/bin/sh\necho {NOT_ROOT}\n")
        (tmp_path / "bin" / "id").chmod(0o755)
        os.chown(found.folder, NOT_ROOT, NOT_ROOT)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OI_DOCKER", "--network host --env LITELLM_LOCAL_MODEL_COST_MAP=True")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    try:
        yield found
    finally:
        for container in containers(image):
            subprocess.run(["docker", "rm", "--force", container], check=False, capture_output=True)
        name = "".join(c if c.isascii() and (c.isalnum() or c in ".-") else "_" for c in str(found.folder.resolve()))
        for volume in docker("volume", "ls", "--quiet", "--filter", f"name={name}").split():
            docker("volume", "rm", volume)


def containers(image: str) -> list[str]:
    return docker("ps", "--all", "--quiet", "--filter", f"ancestor={image}").split()


@asynccontextmanager
async def running(
    place: SimpleNamespace, api_base: str = "http://127.0.0.1:9", **settings: object
) -> AsyncIterator[tuple[LspClient, str]]:
    llm = {"model": "openai/gpt-4o", "api_base": api_base}
    options = {"oi": {"protocolVersion": 1}, "settings": {"llm": llm, "auto_run": "sandboxed", **settings}}
    async with server((str(place.command), "--stdio"), cwd=str(place.folder)) as client:
        await client.initialize(options, rootUri=place.folder.as_uri(), processId=os.getpid())
        yield client, await client.new_session(cwd=str(place.folder))


async def said(client: LspClient, session: str, language: str, code: str) -> str:
    """What the person's own code prints, with the notes beside it."""
    before = len(client.of(session).chunks)
    run = await client.command("oi.code.run", sessionId=session, language=language, code=code)
    follower = await client.ended(session, run["turnId"])
    return "".join(chunk.get("content") or "" for chunk in follower.chunks[before:] if chunk["role"] == "computer")


PROBES = """
import os

open("made.txt", "w").write("by the model")
def probe(path, how):
    try:
        open(path, how)
    except OSError as error:
        print(how, path, error.strerror)

for path in ({outside!r}, "/proc/1/environ"):
    probe(path, "r")
for path in ("/etc/made", "/home/oi/.config/oi-lsp/made", ".git/made", ".vscode/made", "/proc/1/fd/1", "/proc/1/mem"):
    probe(path, "w")
try:
    os.rename(".git", "moved")
except OSError as error:
    print("move .git", error.strerror)
print(os.getcwd(), os.getuid(), "OPENAI_API_KEY" in os.environ)
"""
STOPPED = """\
r {outside} No such file or directory
r /proc/1/environ Permission denied
w /etc/made Permission denied
w /home/oi/.config/oi-lsp/made Permission denied
w .git/made Read-only file system
w .vscode/made Read-only file system
w /proc/1/fd/1 Permission denied
w /proc/1/mem Permission denied
move .git Device or resource busy
{folder} {user} False
made.txt
"""


async def test_code_works_on_the_folder_and_has_nothing_else(place: SimpleNamespace) -> None:
    """Nor has it the server's connection to the editor, which would have any file edited."""
    probes = PROBES.format(outside=str(place.outside))
    replies = [Reply.tool_call("python", probes), Reply.tool_call("shell", "ls"), Reply.text("Done.")]
    async with OpenAiServer(replies) as provider, running(place, provider.base_url) as (client, session):
        turn = await client.turn(session, "make a file")
        follower = await client.ended(session, turn)
        assert follower.text() == STOPPED.format(outside=place.outside, folder=place.folder, user=place.user)
        assert all("proposal" not in state for state in follower.states)
        assert {request.headers["authorization"] for request in provider.requests} == {f"Bearer {KEY}"}
    made = place.folder / "made.txt"
    assert (made.read_text(), made.stat().st_uid, made.stat().st_gid) == ("by the model", place.user, place.group)


async def test_code_cannot_trace_the_server(place: SimpleNamespace) -> None:
    attach = "import ctypes; print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))"
    async with running(place) as (client, session):
        assert (await said(client, session, "python", attach)).startswith("-1")


async def test_where_the_container_does_not_hold_nothing_runs(place: SimpleNamespace) -> None:
    words = place.command.read_text()
    assert "--security-opt no-new-privileges" in words
    place.command.write_text(words.replace("--security-opt no-new-privileges", "--init"))
    async with running(place) as (client, session):
        told = await said(client, session, "python", "print(6 * 7)")
        assert "This must run in a container." in told
        assert "its programs can gain rights; this is not its first process" in told
        assert "42" not in told


async def test_without_a_network_for_code_the_container_is_not_enough(place: SimpleNamespace) -> None:
    async with running(place, sandbox_limits={"network": False}) as (client, session):
        told = await said(client, session, "python", "print(6 * 7)")
        assert "This must run in a sandbox." in told
        assert "42" not in told


@pytest.mark.parametrize("way", ["exit", "eof", "kill", "terminate"])
async def test_when_the_editor_is_done_no_container_is_left(place: SimpleNamespace, way: str) -> None:
    async with running(place) as (client, session):
        assert "42" in await said(client, session, "shell", "sleep 1000 & echo $((6 * 7))")
        assert len(containers(place.image)) == 1
        if way == "exit":
            await client.request("shutdown")
            client.notify("exit")
        elif way == "eof":
            client.hang_up()
        elif way == "kill":
            client.process.kill()
        else:
            client.process.terminate()
        await client.exit_code()
        end = time.monotonic() + GONE_WITHIN
        while left := containers(place.image):
            assert time.monotonic() < end, left
            await asyncio.sleep(0.1)


def test_the_other_commands(place: SimpleNamespace) -> None:
    def chat(*words: str) -> str:
        command = [str(place.command), *words]
        done = subprocess.run(
            command, input="hello\n", capture_output=True, text=True, cwd=place.folder, timeout=DEADLINE, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Hello from CPython" in chat("demo", "--sandboxed")
    facts = json.loads(chat("doctor", "--json"))["facts"]
    (sandbox,) = (fact for fact in facts if fact["name"] == "sandbox")
    assert sandbox["found"]
    assert "container" in sandbox["detail"]


@pytest.mark.parametrize("place_of", ["home", "above"])
def test_the_command_takes_no_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place_of: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    folder = home if place_of == "home" else tmp_path
    monkeypatch.setenv("HOME", str(home))
    refused = subprocess.run(["sh", str(COMMAND)], cwd=folder, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "your whole home folder" in refused.stderr
    assert not (folder / ".git").exists()


def test_the_command_takes_no_link_for_what_it_guards(tmp_path: Path) -> None:
    (tmp_path / ".vscode").symlink_to("elsewhere")
    refused = subprocess.run(["sh", str(COMMAND)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert ".vscode is a link" in refused.stderr
