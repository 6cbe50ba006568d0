"""Logs: where they go, who can read them, and what never gets into them."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_engine import logs
from oi_engine.errors import InvalidSetting, OiError
from oi_engine.logs import TALKATIVE, body, configure, hide

KEY = "sk-" + "Ab3dEf6hIj9kLm2nOp5qRs8t"
log = logging.getLogger("oi_engine.test")


@pytest.fixture(autouse=True)
def put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The logging of the test run, as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in TALKATIVE}
    monkeypatch.setattr(logs, "_secrets", [])
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "oi.log"


def test_a_log_file_is_private_and_goes_on(path: Path) -> None:
    configure(path, "info")
    log.info("first")
    configure(path, "INFO")
    log.info("second")
    assert [line.split(": ", 1)[1] for line in path.read_text().splitlines()] == ["first", "second"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_file_that_others_could_read_is_made_private(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("")
    path.chmod(0o644)
    configure(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_file_logs_go_to_stderr_and_never_to_stdout() -> None:
    code = (
        "import logging, sys; logging.basicConfig(stream=sys.stdout)\n"
        "from oi_engine.logs import configure; configure(level='DEBUG')\n"
        "logging.getLogger('x').debug('hello'); logging.getLogger('pygls.x').info('hello too')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ""
    assert "DEBUG x: hello\n" in done.stderr
    assert "INFO pygls.x: hello too\n" in done.stderr


def test_secrets_are_redacted_in_messages_arguments_and_tracebacks(path: Path) -> None:
    configure(path)
    hide("the-known-secret")
    try:
        raise ValueError(f"refused {KEY}")
    except ValueError:
        log.exception("with %s and %s", KEY, "the-known-secret")
    told = path.read_text()
    assert KEY not in told
    assert "the-known-secret" not in told
    assert "with [redacted] and [redacted]" in told
    assert "ValueError: refused [redacted]" in told


def test_an_escape_inside_a_secret_does_not_save_it(path: Path) -> None:
    configure(path)
    log.warning("key %s\x1b[1m%s\udcff", KEY[:10], KEY[10:])
    assert path.read_text().endswith("key [redacted]\ufffd\n")


def test_no_line_of_a_record_passes_for_a_record(path: Path) -> None:
    configure(path)
    log.warning("one\n2026-01-01 00:00:00,000 ERROR forged: two\rthree")
    assert [line.startswith("    ") for line in path.read_text().splitlines()] == [False, True, True]


def test_a_record_is_bounded(path: Path) -> None:
    configure(path)
    log.warning("%s", "x" * (logs.RECORD + 1000))
    assert "characters more\n" in path.read_text()
    assert len(path.read_text()) < logs.RECORD + 100


def test_bodies_are_lengths_unless_debugging(path: Path) -> None:
    configure(path, "INFO")
    log.warning("prompt %s", body("x" * 1234))
    log.warning("in a list: %s", [body("xyz")])
    configure(path, "DEBUG")
    log.debug("prompt %s", body("the words"))
    told = path.read_text()
    assert "prompt <1,234 characters>\n" in told
    assert "in a list: [<3 characters>]\n" in told
    assert "prompt the words\n" in told


@pytest.mark.parametrize("name", ["pygls.protocol.json_rpc", "LiteLLM", "LiteLLM Router", "httpx"])
def test_libraries_that_log_bodies_are_quiet_unless_debugging(name: str, path: Path) -> None:
    library = logging.getLogger(name)
    configure(path, "INFO")
    library.info("a whole message")
    library.warning("a warning")
    configure(path, "DEBUG")
    library.debug("for debugging")
    configure(path, "ERROR")
    library.warning("not wanted")
    assert [line.split(": ", 1)[1] for line in path.read_text().splitlines()] == ["a warning", "for debugging"]


def test_a_handler_that_a_library_brought_is_taken_away(path: Path) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger("LiteLLM").addHandler(handler)
    configure(path)
    logging.getLogger("LiteLLM").warning("said %s", KEY)
    assert stream.getvalue() == ""
    assert "said [redacted]" in path.read_text()


def test_a_record_that_cannot_be_formatted_keeps_its_arguments_to_itself(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(path)
    log.warning("%d", KEY)
    assert "a record of oi_engine.test" in path.read_text()
    assert KEY not in path.read_text() + "".join(capsys.readouterr())


def test_a_stream_that_is_gone_disturbs_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    gone = Gone()
    monkeypatch.setattr(sys, "stderr", gone)
    configure()
    log.warning("to nobody")
    assert gone.getvalue() == ""
    assert not gone.closed


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="'loud' is no log level"):
        configure(None, "loud")


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:]
    with pytest.raises(OiError, match="cannot be written: Is a directory"):
        configure(tmp_path)
    assert logging.getLogger().handlers == before
