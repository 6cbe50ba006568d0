"""The editors as fixtures; which versions were driven is said at the end of the run."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.e2e.editors.editor import Editor, program_of
from tests.e2e.editors.emacs import Eglot, LspMode
from tests.e2e.editors.helix import Helix
from tests.e2e.editors.neovim import Neovim
from tests.e2e.editors.vim import VimAle
from tests.fakes.http_server import Response
from tests.fakes.openai_server import OpenAiServer

DRIVEN: tuple[type[Editor], ...] = (Neovim, Helix, Eglot, LspMode, VimAle)
STREAMING: tuple[type[Editor], ...] = tuple(kind for kind in DRIVEN if kind.answers and not kind.drops_messages)
"""Those that answer everything that a server asks of them."""
VERSIONS = pytest.StashKey[dict[str, str]]()


def name_of(kind: type[Editor]) -> str:
    return kind.__name__


@pytest.fixture(params=DRIVEN, ids=name_of)
def editor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Editor]:
    """Each editor in turn, not started; whatever the test starts is ended."""
    kind: type[Editor] = request.param
    program_of(kind.program)
    made = kind(tmp_path)
    request.config.stash.setdefault(VERSIONS, {})[kind.title] = made.version()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with no files yet."""
    made = tmp_path / "workspace"
    made.mkdir()
    return made


@pytest.fixture
def replies() -> list[Response]:
    """What the model answers; the test fills it."""
    return []


@pytest.fixture
def scripted(replies: list[Response]) -> Iterator[OpenAiServer]:
    """The provider that gives these replies."""
    with OpenAiServer(replies) as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what a person saw, where a test fails."""
    report = yield
    editor = getattr(item, "funcargs", {}).get("editor")
    if call.when == "call" and isinstance(editor, Editor):
        report.sections += [(f"{editor.title}: {what}", screen) for what, screen in editor.looks]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for title, version in terminalreporter.config.stash.get(VERSIONS, {}).items():
        terminalreporter.write_line(f"driven: {title}: {version}")
