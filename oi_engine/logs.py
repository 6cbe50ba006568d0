"""Logs: to stderr or a private file, never to stdout, which may be the wire.

Every record, tracebacks included, is stripped of terminal control and of secrets. What people write, what models write
and what programs print goes into a record through ``body`` only, so that it is there at DEBUG and a length otherwise.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TextIO

from attrs import frozen

from oi_engine.errors import InvalidSetting, OiError
from oi_engine.safety.redact import redact
from oi_engine.safety.sanitize import sanitize

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
TALKATIVE = ("pygls", "LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx", "httpcore", "openai", "asyncio")
"""Loggers of libraries that write whole messages at INFO or DEBUG; their children follow them."""

RECORD = 100_000
"""Characters of a record that are written; more would hold up the process while they are searched for secrets."""

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_secrets: list[str] = []


@frozen(repr=False)
class Body:
    """Text that is written to the log at DEBUG only; see ``body``."""

    text: str

    def __repr__(self) -> str:
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            return self.text
        return f"<{len(self.text):,} characters>"


def body(text: str) -> Body:
    """A prompt, a reply, code or output, as an argument of a log call: ``log.info("sent %s", body(prompt))``."""
    return Body(text)


def hide(*secrets: str) -> None:
    """Have these exact values redacted from every record from now on (those of eight characters and more)."""
    # Other threads may be going over it.
    _secrets.extend(secret for secret in secrets if secret not in _secrets)


def configure(log_file: Path | None = None, level: str = "WARNING") -> None:
    """Send all logging of this process to ``log_file`` (made readable by the user alone), or to stderr.

    It takes the place of every handler there is, and can be called again, which a process must do after importing
    LiteLLM, since that brings a handler of its own. Raises ``InvalidSetting`` for an unknown level and ``OiError``
    where the file cannot be written.
    """
    if level.upper() not in LEVELS:
        raise InvalidSetting(f"{level!r} is no log level.", f"Choose one of {', '.join(LEVELS)}.")
    handler = _Handler(sys.stderr if log_file is None else _private(log_file), owned=log_file is not None)
    handler.setFormatter(_Formatter(_FORMAT))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        if isinstance(old, _Handler):
            old.close()
    root.addHandler(handler)
    root.setLevel(level.upper())
    debug = root.level <= logging.DEBUG
    for name in TALKATIVE:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET if debug else max(logging.WARNING, root.level))


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        whole = super().format(record)
        text = redact(sanitize(whole[:RECORD]), _secrets)
        if len(whole) > RECORD:
            text += f"… {len(whole) - RECORD:,} characters more"
        # A line of a record cannot pass for a record, and \r cannot hide one.
        return text.replace("\r", "\n").replace("\n", "\n    ")


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to one stream, and closes it where it is its own."""

    def __init__(self, stream: TextIO, *, owned: bool) -> None:
        super().__init__(stream)
        self._owned = owned

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Say where a record could not be written; the usual report would show its arguments as they are."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            return  # the stream itself is gone: there is nowhere to say so
        try:
            self.stream.write(f"a record of {record.name}, {record.pathname}:{record.lineno}: {type(error).__name__}\n")
            self.flush()
        except (OSError, ValueError):
            pass  # as above

    def close(self) -> None:
        if self._owned:
            try:
                self.stream.close()
            except OSError:
                pass  # the disk is full: what was buffered is lost
        super().close()


def _private(path: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.chmod(path, 0o600)
        return os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OiError(f"The log file {path} cannot be written: {reason}.", "Name another one.") from error
