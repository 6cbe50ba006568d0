"""The scanner as a process: the real semgrep, and programs that are not what they should be."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from oi_engine.safety.scan import scanner as scanners
from oi_engine.safety.scan import semgrep
from oi_engine.safety.scan.scanner import Scanner

needs_semgrep = pytest.mark.skipif(semgrep.find(os.environ) is None, reason="semgrep is not installed: make test does")

LIES = """
import json, sys
def say(message):
    body = json.dumps(message)
    sys.stdout.write(f"Content-Length: {len(body)}\\r\\n\\r\\n{body}")
    sys.stdout.flush()
while True:
    length = 0
    while (line := sys.stdin.readline().strip()):
        length = int(line.split(":")[1])
    if not length:
        break
    message = json.loads(sys.stdin.read(length))
    if message["method"] == "initialize":
        say({"id": 1, "result": {}})
        say({"method": "semgrep/rulesRefreshed"})
    if message["method"] == "textDocument/didOpen":
        uri = message["params"]["textDocument"]["uri"]
        say({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": []}})
"""
BROKEN = {
    "hangs": "import time\ntime.sleep(600)",
    "dies": "raise SystemExit(3)",
    "prints garbage": "import sys, time\nprint('x' * 10_000_000 + '\\r\\n\\r\\n', flush=True)\ntime.sleep(600)",
    "prints wrong JSON": "import time\nprint('Content-Length: 5\\r\\n\\r\\n[1,2]', flush=True)\ntime.sleep(600)",
    "promises too much": "import time\nprint('Content-Length: 99999999999\\r\\n\\r\\n', flush=True)\ntime.sleep(600)",
    "says that nothing is found": LIES,
}


@pytest.fixture
async def scanner() -> AsyncIterator[Scanner]:
    made = Scanner()
    yield made
    await made.close()


def program(folder: Path, source: str) -> str:
    file = folder / "semgrep"
    file.write_text(f"#!{sys.executable}\n{source}\n")
    file.chmod(0o700)
    return str(file)


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_semgrep_means_not_scanned(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "hangs":
        monkeypatch.setattr(scanners, "START_LIMIT", 1.0)
    scanner = Scanner(program=program(tmp_path, BROKEN[how]), limit=60)
    try:
        report = await scanner.scan("python", "import os\nos.remove('a')")
    finally:
        await scanner.close()
    assert report.findings == ()
    assert report.problem.startswith("Not scanned: semgrep ")
    assert [child for child in psutil.Process().children() if child.cmdline()[1:2] == [str(tmp_path / "semgrep")]] == []


async def test_a_scan_is_bounded_in_time(tmp_path: Path) -> None:
    scanner = Scanner(program=program(tmp_path, BROKEN["hangs"]), limit=0.2)
    try:
        assert "within 0.2 seconds" in (await scanner.scan("shell", "rm a")).problem
    finally:
        await scanner.close()


async def test_a_missing_semgrep_is_said_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semgrep, "find", lambda environ: None)
    scanner = Scanner()
    scanner.warm_up()
    assert (await scanner.scan("python", "x")).problem == (
        f"Not scanned: semgrep is not installed. Install it with: {sys.executable} -m pip install semgrep"
    )
    await scanner.close()
    gone = Scanner(program="/nowhere/semgrep")
    assert "could not be started" in (await gone.scan("python", "x")).problem
    await gone.close()


async def test_what_there_are_no_rules_for_is_not_scanned(scanner: Scanner) -> None:
    assert (await scanner.scan("ruby", "x")).problem == "Not scanned: there are no rules for ruby."
    assert "more than" in (await scanner.scan("python", "x" * 200_001)).problem


@needs_semgrep
async def test_it_starts_again_after_its_death(scanner: Scanner) -> None:
    before = await scanner.scan("python", "import os\nos.remove('a')")
    assert before.findings
    assert scanner.pid is not None
    first = psutil.Process(scanner.pid)
    os.kill(first.pid, signal.SIGKILL)
    assert await scanner.scan("python", "import os\nos.remove('a')") == before
    assert scanner.pid not in (None, first.pid)


OWNER = """
import asyncio
from oi_engine.safety.scan.scanner import Scanner
async def main():
    scanner = Scanner()
    await scanner.scan("python", "x = 1")
    print(scanner.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@needs_semgrep
async def test_it_does_not_outlive_its_owner(tmp_path: Path) -> None:
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    owner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OWNER), env=environ, stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout is not None
    scanning = psutil.Process(int(await owner.stdout.readline()))
    owner.kill()
    await owner.wait()
    assert psutil.wait_procs([scanning], timeout=60)[1] == []


@needs_semgrep
async def test_a_scan_that_is_given_up_does_not_spoil_the_next(scanner: Scanner) -> None:
    await scanner.scan("python", "x")
    given_up = asyncio.create_task(scanner.scan("python", "import os\nos.remove('a')"))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    assert (await scanner.scan("python", "x = 1")).words == ()


@needs_semgrep
async def test_many_at_once_each_get_their_own_answer(scanner: Scanner) -> None:
    codes = [f"{'x = 1' + chr(10)}" * line + "import os; os.remove('a')" for line in range(12)]
    reports = await asyncio.gather(*(scanner.scan("python", code) for code in codes))
    assert [[found.line for found in report.findings] for report in reports] == [[line + 1] for line in range(12)]


@needs_semgrep
@pytest.mark.parametrize(
    ("language", "code"), [("shell", "rm a\ncat <<EOF\nx"), ("python", "for (((\n"), ("javascript", "f(`x")]
)
async def test_code_that_cannot_be_read_to_its_end_is_no_clean_bill(scanner: Scanner, language: str, code: str) -> None:
    assert "could not read all" in (await scanner.scan(language, code)).problem


@needs_semgrep
async def test_comments_cannot_hide_anything(scanner: Scanner) -> None:
    report = await scanner.scan("python", "import os\nos.remove('a')  # nosemgrep: python-delete-files\n")
    assert [found.line for found in report.findings] == [2]


@needs_semgrep
async def test_it_gets_no_keys_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scanner: Scanner
) -> None:
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix, **_: str(_made(tmp_path / prefix)))
    scanner = Scanner({**os.environ, "OPENAI_API_KEY": "sk-1", "HTTPS_PROXY": "http://x"})
    await scanner.scan("python", "secret_name = 1")
    assert scanner.pid is not None
    process = psutil.Process(scanner.pid)
    environ = process.environ()
    assert "OPENAI_API_KEY" not in environ
    assert "HTTPS_PROXY" not in environ
    assert environ["HOME"].startswith(str(tmp_path))
    assert all(not connection.raddr for connection in process.net_connections("inet"))
    folder = tmp_path / "oi-scan-"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [file.name for file in (folder / "code").iterdir()] == [".semgrepignore"]
    await scanner.close()
    assert not folder.exists()
    assert not process.is_running()


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder
