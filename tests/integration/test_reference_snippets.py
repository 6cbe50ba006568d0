"""Every Python snippet of Open Interpreter's documentation, run against this package.

The pages are in ``../shared/reference`` beside the checkout; where they are not, these tests are skipped. A page is one
program: its snippets run in order, in one namespace, and its module ``interpreter`` is this package. Models are asked
through the real model worker; only the address is changed, to a scripted server on loopback.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import textwrap
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Union

import pytest
from attrs import evolve, frozen

import oi_engine
from oi_engine import ModelError, NotHere, OpenInterpreter
from oi_engine.api.hub import hub
from oi_engine.factory import Engine
from oi_engine.messages import chunk_from_dict, message_from_dict
from oi_engine.models.model import ModelEvent, ModelRequest
from oi_engine.models.worker_client import WorkerModel
from tests.fakes.http_server import Recorded, Response
from tests.fakes.openai_server import OpenAiServer, Reply

ROOT = Path(__file__).parents[2]
BESIDE = [parent / "shared" / "reference" for parent in ROOT.parents]
REFERENCE = next((folder for folder in BESIDE if folder.is_dir()), BESIDE[0])

pytestmark = pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="Open Interpreter's documentation is not beside the checkout (../shared/reference)"
)

_CUT = "the page is a copy that lost the indented lines of this"
_OTHER = "another program, which talks to Open Interpreter's server"

NOT_RUN: dict[tuple[str, int], str] = {
    ("docs/NCU_MIGRATION_GUIDE.md", 55): "a list of messages without its commas; test_messages_of_the_guide reads it",
    ("docs/ROADMAP.md", 105): "a note on starting Chrome, which uses nothing of Open Interpreter",
    ("docs/ROADMAP.md", 130): "a note on the package pychrome, which uses nothing of Open Interpreter",
    ("docs/guides/running-locally.mdx", 31): "a command line that is marked as Python",
    ("docs/language-models/hosted-models/aws-sagemaker.mdx", 14): "begins with !pip, which is IPython's and installs",
    ("docs/server/usage.mdx", 124): _OTHER,
    ("docs/server/usage.mdx", 161): _OTHER,
    ("docs/server/usage.mdx", 177): _OTHER,
    ("docs/server/usage.mdx", 197): _OTHER,
    ("docs/server/usage.mdx", 255): _OTHER,
    (
        "docs/usage/python/arguments.mdx",
        20,
    ): "the list that it shows as output lacks a comma; its calls are run elsewhere",
    ("project-page-2024.md", 71): _CUT,
    ("project-page-2024.md", 85): _CUT,
    ("project-page-2024.md", 103): "a sentence",
    ("project-page-2024.md", 113): _CUT,
    ("project-page-2024.md", 248): _CUT,
    ("project-page-2024.md", 249): _CUT,
    ("project-page-2024.md", 250): _CUT,
    ("project-page-2024.md", 253): _CUT,
}
"""What cannot be run, by file and line, and why."""

NOT_HERE = {
    "docs/code-execution/computer-api.mdx": "has no OS mode",
    "docs/server/usage.mdx": "has no HTTP server",
}
"""Pages of parts that are not here: each snippet of theirs ends in an error that says so."""

OLDEST_FORM = [
    {"role": "user", "message": "Hi! Can you print hello world?"},
    {"role": "assistant", "message": "Sure!"},
    {"role": "assistant", "language": "python", "code": "print('Hello, World!')", "output": "Hello, World!"},
]
PRELUDE: dict[str, dict[str, Any]] = {
    "docs/NCU_MIGRATION_GUIDE.md": {"Union": Union},
    "docs/settings/all-settings.mdx": {"messages": OLDEST_FORM},
    "docs/usage/python/arguments.mdx": {"messages": OLDEST_FORM},
    "python-arguments-early.md": {"messages": OLDEST_FORM},
    "readme-first-release.md": {"chat": OLDEST_FORM},
}
"""Names that a page uses and does not define: what it says of them."""

AUTO_RUN = {
    "docs/guides/streaming-response.mdx",
    "docs/integrations/e2b.mdx",
    "docs/code-execution/custom-languages.mdx",
}
"""Pages whose text says that the code runs: here that needs the setting."""

REPLIES = {
    "34/24": "34 / 24",
    "349808*38490739": "print(349808*38490739)",
}
"""What the scripted model writes when it is asked for it."""

TURNS = 6
"""Requests that the server answers on a page that talks for ever; then it has no more credit."""


@frozen
class Snippet:
    """One piece of Python of a page. ``line`` is that of its first line of code, from 1."""

    page: str
    line: int
    code: str


# --- finding them ----------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^\s*(`{3,})\s*(.*?)\s*$")
_BEGINS = re.compile(
    r"(interpreter\.|agent_?\w* *=|agents? *=|messages? *=|from |import |def |for |while |class |print\(|app *=)"
)
_LONGEST = 8
"""Lines that one statement of an unfenced page may have, blocks excepted."""


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(REFERENCE).as_posix()
    found = _fenced(text) if "```" in text else _unfenced(text)
    return [Snippet(name, line, code) for line, code in found]


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    """Blocks that say that they are Python, and blocks that say nothing and set or call something of ours."""
    fence, info, begin, block = "", "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        mark = _FENCE.match(line)
        if not fence and mark:
            fence, info, begin, block = mark[1], mark[2].lower(), number + 1, []
        elif fence and mark and mark[1].startswith(fence) and not mark[2]:
            ours = not info and any(re.match(r"interpreter\.\w", line) for line in block)
            if info.startswith("python") or ours:
                yield begin, "\n".join(block) + "\n"
            fence = ""
        elif fence:
            block.append(line)


def _unfenced(text: str) -> Iterator[tuple[int, str]]:
    """Statements of a page that was copied as plain text: from a line that begins like one to where it is whole."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not _BEGINS.match(lines[at]):
            at += 1
            continue
        end = _whole(lines, at)
        yield at + 1, "\n".join(lines[at:end]) + "\n"
        at = end


def _whole(lines: list[str], at: int) -> int:
    """Where the statement that begins here ends; the next line, where it is none."""
    candidates = range(at + 1, min(at + _LONGEST, len(lines)) + 1)
    end = next((end for end in candidates if parses("\n".join(lines[at:end]))), None)
    if end is None:
        return at + 1
    indented = end
    while indented < len(lines) and lines[indented].startswith(" "):
        indented += 1
    return next(last for last in range(indented, end - 1, -1) if parses("\n".join(lines[at:last])))


def parses(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def pages() -> dict[str, list[Snippet]]:
    if not REFERENCE.is_dir():
        return {}
    found = {path: snippets(path) for path in sorted(REFERENCE.rglob("*.md*"))}
    return {all_[0].page: all_ for all_ in found.values() if all_}


PAGES = pages()


# --- running them ----------------------------------------------------------------------------------------------


class Provider:
    """The scripted model: writes code where ``REPLIES`` says so, then says that it is done."""

    def __init__(self) -> None:
        self.left = 1000
        self.server = OpenAiServer(self._reply)
        self.models: list[str] = []

    def _reply(self, request: Recorded) -> Response:
        if request.path.endswith("/models"):
            return Response.json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        self.left -= 1
        if self.left < 0:
            return Reply.error(401, "Incorrect API key provided.", code="invalid_api_key")
        last = str(request.json["messages"][-1]["content"])
        code = next((code for asked, code in REPLIES.items() if last.startswith("What's " + asked)), None)
        return Reply.text(f"```python\n{code}\n```" if code else "Hello. The task is done.")

    def asked(self) -> list[list[dict[str, Any]]]:
        """The messages of every request for a reply, without the warm-up's."""
        return [
            request.json["messages"] for request in self.server.requests if request.body and "messages" in request.json
        ]


class Rerouted(WorkerModel):
    """The worker's model, with another address: the name that was asked for is noted."""

    def __init__(self, worker: Any, provider: Provider) -> None:
        super().__init__(worker)
        self._provider = provider

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self._provider.models.append(request.model)
        here = evolve(
            request,
            model="openai/scripted",
            api_base=self._provider.server.base_url,
            api_key="sk-scripted",
            api_version=None,
        )
        async with aclosing(super().stream(here)) as events:
            async for event in events:
                yield event


class Stdin:
    """Standard input of a person who says hello and leaves, each time that it is opened."""

    def __init__(self) -> None:
        self._open: list[int] = []

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        read, write = os.pipe()
        os.write(write, b"Hello there\n")
        os.close(write)
        self._open.append(read)
        return read

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> Iterator[None]:
    """The pages share a model worker, as interpreters do; it ends with them."""
    yield
    hub().close()


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Provider]:
    found = Provider()
    stdin = Stdin()
    monkeypatch.setattr(Engine, "model", lambda engine, name: Rerouted(engine._worker, found))
    served_at = Engine._served_at
    monkeypatch.setattr(Engine, "_served_at", lambda engine, base: served_at(engine, found.server.base_url))
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "replicate.py").write_text("api_key = None\n")
    for name, contents in STUBS.items():
        module = ModuleType(name)
        module.__dict__.update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    with found.server:
        yield found
    stdin.close()


def _e2b(language: str, code: str) -> tuple[str, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})
    return output.getvalue(), ""


STUBS: dict[str, dict[str, Any]] = {
    "e2b": {"run_code": _e2b},
    "fastapi": {"FastAPI": lambda: SimpleNamespace(get=lambda path: lambda function: function)},
    "fastapi.responses": {"StreamingResponse": object},
    "uvicorn": {"run": None},
}
"""Packages of others that snippets import."""


@frozen
class Played:
    """A page that was run: its namespace, its interpreter, what was printed."""

    names: dict[str, Any]
    interpreter: OpenInterpreter
    printed: str


def play(page: str, provider: Provider, capsys: pytest.CaptureFixture[str]) -> Played:
    interpreter = OpenInterpreter()
    module = ModuleType("interpreter")
    module.__dict__.update(
        interpreter=interpreter, OpenInterpreter=OpenInterpreter, AsyncInterpreter=oi_engine.AsyncInterpreter
    )
    names: dict[str, Any] = {"__name__": "snippets", "interpreter": interpreter, **PRELUDE.get(page, {})}
    if page in AUTO_RUN:
        interpreter.auto_run = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "interpreter", module)
        for snippet in PAGES[page]:
            if (page, snippet.line) in NOT_RUN:
                continue
            # The first release was a module; what a page does with `import interpreter` is done with our instance.
            code = re.sub(r"^import interpreter$", "from interpreter import interpreter", snippet.code, flags=re.M)
            compiled = compile(textwrap.dedent(code.lstrip("\n")), f"{page}:{snippet.line}", "exec")
            with ends_as_said(page, snippet, provider):
                exec(compiled, names)
    for name in ("interpreter", "agent", "agent_1", "agent_2"):
        if isinstance(names.get(name), OpenInterpreter):
            names[name].close()
    return Played(names, interpreter, capsys.readouterr().out)


def ends_as_said(page: str, snippet: Snippet, provider: Provider) -> contextlib.AbstractContextManager[Any]:
    """How a snippet ends: well; or, for what is not here and for talks that never end, in the error that it must."""
    if page in NOT_HERE:
        return pytest.raises(NotHere, match=NOT_HERE[page])
    if "while True:" in snippet.code:
        provider.left = TURNS
        return pytest.raises(ModelError, match="key")
    return contextlib.nullcontext()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, provider: Provider, capsys: pytest.CaptureFixture[str]) -> None:
    played = play(page, provider, capsys)
    said = EXPECTED.get(page)
    if said is not None:
        said(played, provider)
    chats = sum(len(re.findall(r"\.chat\(", s.code)) for s in PAGES[page] if (page, s.line) not in NOT_RUN)
    if chats and page not in NOT_HERE and "custom-models" not in page:
        assert provider.asked(), "the model was asked"


def test_every_snippet_is_accounted_for() -> None:
    known = {(snippet.page, snippet.line) for all_ in PAGES.values() for snippet in all_}
    assert set(NOT_RUN) <= known, "a line that is listed is no snippet"
    broken = [
        key
        for all_ in PAGES.values()
        for s in all_
        if (key := (s.page, s.line)) not in NOT_RUN and not parses(textwrap.dedent(s.code.lstrip()))
    ]
    assert not broken, "neither can these be run, nor are they listed"
    assert len(known) > 150


# --- what they are said to do ----------------------------------------------------------------------------------


def _streams(played: Played, provider: Provider) -> None:
    chunks = [ast.literal_eval(line) for line in played.printed.splitlines() if line.startswith("{")]
    for chunk in chunks:
        chunk_from_dict(chunk)
    assert {"type": "code", "format": "python", "content": "34 / 24"}.items() <= next(
        chunk["content"] for chunk in chunks if chunk["type"] == "confirmation"
    ).items()
    assert "1.4166666666666667" in "".join(c.get("content") or "" for c in chunks if c["type"] == "console")


def _e2b_runs(played: Played, provider: Provider) -> None:
    assert str(349808 * 38490739) in played.printed
    assert "MUST contain at least one print" in str(provider.asked()[0][0])


def _own_code(played: Played, provider: Provider) -> None:
    (request,) = provider.asked()
    assert "Replicate has already been imported." in request[0]["content"]
    assert "api_key" not in str(request), "what the program ran is not told"


def _basic(played: Played, provider: Provider) -> None:
    assert "Run shell commands with -y" in played.interpreter.system_message
    assert "Run shell commands with -y" in played.printed
    assert played.interpreter.llm.model == "gpt-3.5-turbo"
    assert "My name is Killian." in str(played.names["messages"])


def _echoes(played: Played, provider: Provider) -> None:
    assert "Hi!" in played.printed
    assert provider.asked() == []


def _two_agents(played: Played, provider: Provider) -> None:
    assert len(provider.asked()) == TURNS + 1
    for request in provider.asked()[1:TURNS]:
        assert "Hello!" in str(request), "the whole talk is remembered"


def _local(model: str) -> Callable[[Played, Provider], None]:
    def check(played: Played, provider: Provider) -> None:
        assert set(provider.models) == {model}

    return check


EXPECTED: dict[str, Callable[[Played, Provider], None]] = {
    "docs/guides/streaming-response.mdx": _streams,
    "docs/integrations/e2b.mdx": _e2b_runs,
    "docs/code-execution/custom-languages.mdx": _e2b_runs,
    "docs/code-execution/usage.mdx": _own_code,
    "docs/guides/basic-usage.mdx": _basic,
    "docs/usage/examples.mdx": _basic,
    "docs/language-models/custom-models.mdx": _echoes,
    "docs/guides/multiple-instances.mdx": _two_agents,
    "docs/usage/python/multiple-instances.mdx": _two_agents,
    "docs/guides/running-locally.mdx": _local("ollama/codestral"),
    "docs/language-models/local-models/ollama.mdx": _local("ollama_chat/<model-name>"),
    "docs/language-models/local-models/lm-studio.mdx": _local("openai/x"),
    "docs/language-models/local-models/janai.mdx": _local("<model_id>"),
    "docs/language-models/local-models/custom-endpoint.mdx": _local("openai/scripted"),
    "docs/language-models/hosted-models/azure.mdx": _local("azure/<your_deployment_id>"),
}


@pytest.mark.parametrize("page", ["docs/protocols/lmc-messages.mdx", "docs/NCU_MIGRATION_GUIDE.md"])
def test_messages_of_the_guide(page: str) -> None:
    """Every message and chunk that the pages on formats show can be read."""
    shown = [line for s in PAGES[page] for line in s.code.splitlines() if re.match(r"\s*\{\"role\".*\}", line)]
    for line in shown:
        data = ast.literal_eval(line[: line.rindex("}") + 1].strip())
        (chunk_from_dict if "start" in data or "end" in data else message_from_dict)(data)
    assert len(shown) >= 4
