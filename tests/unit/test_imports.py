"""The house rules of the design's section 2, read from the source of every module there is.

Rules go by package, so that they hold for modules that come later. A module of ``oi_engine`` that ``LAYERS`` does not
name is a part: it may import leaves and the ground, and no other part.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from attrs import field, frozen

ROOT = Path(__file__).parents[2]
PACKAGES = ("oi_engine", "oi_lsp")
FUNCTION_LINES = 60
FILE_LINES = 500

FRONT, SESSION, PART, LEAF, GROUND = 4, 3, 2, 1, 0
NAMES = {FRONT: "front", SESSION: "session", PART: "part", LEAF: "leaf", GROUND: "ground"}
LAYERS = {
    "oi_engine": FRONT,
    "oi_engine.api": FRONT,
    "oi_engine.terminal": FRONT,
    "oi_engine.factory": FRONT,
    "oi_engine.magic": FRONT,
    "oi_engine.magic.commands": FRONT,
    "oi_engine.magic.changes": FRONT,
    "oi_engine.magic.files": FRONT,
    "oi_engine.magic.history": FRONT,
    "oi_engine.magic.policy": FRONT,
    "oi_engine.doctor": FRONT,
    "oi_engine.profiles.runner": FRONT,
    "oi_engine.session": SESSION,
    "oi_engine.edits.ask": SESSION,
    "oi_engine.models": PART,
    "oi_engine.computer": PART,
    "oi_engine.history": PART,
    "oi_engine.changes": PART,
    "oi_engine.edits": PART,
    "oi_engine.safety.scan": PART,
    "oi_engine.edits.hunks": LEAF,
    "oi_engine.edits.lines": LEAF,
    "oi_engine.approval": LEAF,
    "oi_engine.transcript": LEAF,
    "oi_engine.stream": LEAF,
    "oi_engine.logs": LEAF,
    "oi_engine.profiles": LEAF,
    "oi_engine.safety": LEAF,
    "oi_engine.messages": GROUND,
    "oi_engine.settings": GROUND,
    "oi_engine.paths": GROUND,
    "oi_engine.temporary": GROUND,
    "oi_engine.errors": GROUND,
    "oi_engine.interruption": GROUND,
    "oi_engine.version": GROUND,
}
"""A module is in the layer of the longest name here that it begins with; ``oi_engine`` itself stands for itself."""

KEPT_TO = {
    "litellm": ("oi_engine.models.worker",),
    "jupyter_client": ("oi_engine.computer.kernel_link",),
    "lsprotocol": ("oi_lsp",),
    "pygls": ("oi_lsp",),
    "rich": ("oi_engine.terminal", "oi_lsp.cli"),
    "prompt_toolkit": ("oi_engine.terminal", "oi_lsp.cli"),
    "print": ("oi_engine.terminal", "oi_lsp.cli"),
    "input": ("oi_engine.terminal", "oi_lsp.cli"),
}
"""What may be imported, or called, in some modules and packages only."""

DATA = "oi_engine/computer/drivers/"
"""Read as data and run elsewhere, in the language that is driven: the rules on imports and calls are not for it."""


@cache
def parsed(source: str) -> ast.Module:
    """The tree of a module, which every rule looks at."""
    return ast.parse(source)


@frozen
class Module:
    """One module of the project. ``known`` are the names of all modules beside it."""

    name: str
    path: Path
    source: str
    known: frozenset[str]
    is_package: bool
    tree: ast.Module = field(init=False)

    @tree.default
    def _parsed(self) -> ast.Module:
        return parsed(self.source)

    def at(self, node: ast.AST, words: str) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {words}"

    def imports(self) -> Iterator[tuple[ast.AST, str]]:
        """Every import, wherever it stands, as the module that it names; relative ones made absolute."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self.absolute(node)
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    yield node, inner if inner in self.known else base
            elif isinstance(node, ast.Call) and named(node.func) in ("import_module", "__import__") and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield node, first.value

    def absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        up = node.level - 1 if self.is_package else node.level
        return ".".join([*parts[: len(parts) - up], *([node.module] if node.module else [])])


def named(node: ast.AST) -> str:
    """The last part of a dotted name, or nothing."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def modules(root: Path) -> list[Module]:
    paths = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    names = {path: ".".join(path.relative_to(root).with_suffix("").parts) for path in paths}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    known = frozenset(names.values())
    return [
        Module(name, path.relative_to(root), path.read_text(encoding="utf-8"), known, path.name == "__init__.py")
        for path, name in names.items()
    ]


def place(name: str) -> tuple[int, str]:
    """A module's layer, and the name of the unit that it belongs to: two parts are two units."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        unit = ".".join(parts[:length])
        if unit in LAYERS:
            return LAYERS[unit], unit
    return (FRONT, name) if len(parts) == 1 else (PART, ".".join(parts[:2]))


# The rules: each yields a sentence for every place where it is broken.


def points_down(module: Module) -> Iterator[str]:
    for node, target in module.imports():
        if not within(target, PACKAGES) or within(module.name, ("oi_lsp",)):
            continue
        if within(target, ("oi_lsp",)):
            yield module.at(node, f"{module.name} imports {target}: the engine knows nothing of the language server.")
            continue
        (layer, unit), (below, other) = place(module.name), place(target)
        if below > layer:
            yield module.at(
                node, f"{module.name} ({NAMES[layer]}) imports {target} ({NAMES[below]}): imports point down only."
            )
        elif layer == below == PART and unit != other:
            yield module.at(node, f"{module.name} imports {target}: no part imports another; the session joins them.")


def keeps_to_its_place(module: Module) -> Iterator[str]:
    for node, target in module.imports():
        package = target.split(".")[0]
        if package in KEPT_TO and not within(module.name, KEPT_TO[package]):
            yield module.at(node, f"{package} is imported in {' and '.join(KEPT_TO[package])} only.")
    for node in ast.walk(module.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input")):
            continue
        if not within(module.name, KEPT_TO[node.func.id]):
            yield module.at(node, f"{node.func.id}() is called in {' and '.join(KEPT_TO[node.func.id])} only.")


def only_the_gate_grants(module: Module) -> Iterator[str]:
    if module.name == "oi_engine.approval":
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and named(node.func) == "Grant":
            yield module.at(node, "a Grant is made in approval.py only.")
        if isinstance(node, ast.alias) and node.name == "Grant" and node.asname not in (None, "Grant"):
            yield module.at(node, "Grant goes by its own name, so that this test sees it.")
        words = (named(node), getattr(node, "name", ""), getattr(node, "value", ""))
        if "_made_here" in words:
            yield module.at(node, "_made_here is named in approval.py only.")


def is_short(module: Module) -> Iterator[str]:
    lines = module.source.count("\n")
    if lines > FILE_LINES:
        yield f"{module.path}: {lines} lines; a file has at most {FILE_LINES}."
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield module.at(node, f"{node.name} has {length} lines; a function has at most {FUNCTION_LINES}.")


def names_what_it_catches(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield module.at(node, "a bare except catches what nobody meant it to.")


Rule = Callable[[Module], Iterator[str]]
NOT_FOR_DATA: tuple[Rule, ...] = (points_down, keeps_to_its_place)
RULES: tuple[Rule, ...] = (*NOT_FOR_DATA, only_the_gate_grants, is_short, names_what_it_catches)


def broken(rule: Rule, root: Path) -> list[str]:
    return [
        words
        for module in modules(root)
        if not (rule in NOT_FOR_DATA and module.path.as_posix().startswith(DATA))
        for words in rule(module)
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.__name__))
def test_the_house_is_in_order(rule: Rule) -> None:
    found = broken(rule, ROOT)
    assert not found, "\n" + "\n".join(found)


def test_the_modules_are_found() -> None:
    found = {module.name for module in modules(ROOT)}
    assert {"oi_engine", "oi_engine.messages", "oi_engine.safety.sanitize", "oi_lsp"} <= found


# The checker itself, on made-up trees.

TOO_LONG = "def f():\n" + "    x = 1\n" * FUNCTION_LINES


@pytest.mark.parametrize(
    ("rule", "path", "source", "words"),
    [
        (points_down, "oi_engine/messages.py", "from oi_engine.approval import Gate", "imports point down only"),
        (points_down, "oi_engine/messages.py", "from oi_engine import approval", "imports point down only"),
        (points_down, "oi_engine/messages.py", "from . import approval", "imports point down only"),
        (points_down, "oi_engine/approval.py", "import oi_engine.models.model", "imports point down only"),
        (points_down, "oi_engine/approval.py", "import oi_engine", "(leaf) imports oi_engine (front)"),
        (points_down, "oi_engine/safety/redact.py", "from .scan import scan", "(leaf) imports oi_engine.safety.scan"),
        (points_down, "oi_engine/models/worker.py", "from ..computer.kernel import K", "no part imports another"),
        (points_down, "oi_engine/computer/__init__.py", "from ..models import model", "no part imports another"),
        (points_down, "oi_engine/safety/scan.py", "import oi_engine.history.store", "no part imports another"),
        (
            points_down,
            "oi_engine/history/store.py",
            "def f():\n    import oi_engine.session",
            "imports point down only",
        ),
        (points_down, "oi_engine/history/store.py", "import oi_engine.models.model", "no part imports another"),
        (points_down, "oi_engine/session/turn.py", "import oi_engine.api.face", "imports point down only"),
        (points_down, "oi_engine/terminal/chat.py", "from oi_lsp import cli", "knows nothing of the language server"),
        (points_down, "oi_engine/edits/reply.py", "from oi_engine.models import model", "no part imports another"),
        (points_down, "oi_engine/edits/hunks.py", "import oi_engine.edits.ask", "imports point down only"),
        (keeps_to_its_place, "oi_engine/models/failures.py", "import litellm", "litellm is imported in"),
        (keeps_to_its_place, "oi_engine/models/x.py", "def f():\n    from litellm.x import y", "litellm is imported"),
        (keeps_to_its_place, "oi_engine/models/x.py", "importlib.import_module('litellm')", "litellm is imported"),
        (keeps_to_its_place, "oi_lsp/server.py", "from jupyter_client import x", "jupyter_client is imported"),
        (keeps_to_its_place, "oi_engine/session/session.py", "from pygls import uris", "pygls is imported in oi_lsp"),
        (
            keeps_to_its_place,
            "oi_engine/session/session.py",
            "import lsprotocol.types",
            "lsprotocol is imported in oi_lsp",
        ),
        (keeps_to_its_place, "oi_lsp/server.py", "from rich.text import Text", "rich is imported in"),
        (keeps_to_its_place, "oi_lsp/client.py", "import prompt_toolkit", "prompt_toolkit is imported in"),
        (keeps_to_its_place, "oi_lsp/server.py", "print(1)", "print() is called in"),
        (keeps_to_its_place, "oi_engine/session/session.py", "x = input('> ')", "input() is called in"),
        (only_the_gate_grants, "oi_engine/session/session.py", "Grant(cell, maker=None)", "made in approval.py only"),
        (only_the_gate_grants, "oi_lsp/server.py", "approval.Grant(cell)", "made in approval.py only"),
        (only_the_gate_grants, "oi_lsp/server.py", "from oi_engine.approval import Grant as G", "by its own name"),
        (only_the_gate_grants, "oi_lsp/server.py", "from oi_engine.approval import _made_here", "named in approval.py"),
        (only_the_gate_grants, "oi_lsp/server.py", "approval._made_here", "named in approval.py only"),
        (only_the_gate_grants, "oi_lsp/server.py", "getattr(approval, '_made_here')", "named in approval.py only"),
        (is_short, "oi_engine/session/session.py", TOO_LONG, "f has 61 lines"),
        (is_short, "oi_engine/session/session.py", "async " + TOO_LONG, "f has 61 lines"),
        (is_short, "oi_engine/computer/drivers/x.py", "x = 1\n" * (FILE_LINES + 1), "501 lines"),
        (names_what_it_catches, "oi_engine/session/session.py", "try:\n    x\nexcept:\n    y", "a bare except"),
    ],
)
def test_a_broken_rule_is_found(rule: Rule, path: str, source: str, words: str, tmp_path: Path) -> None:
    build(tmp_path, {path: source})
    (found,) = broken(rule, tmp_path)
    assert words in found
    assert found.startswith(path)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("oi_engine/__init__.py", "from oi_engine.api.face import x"),
        ("oi_engine/api/face.py", "def f():\n    from oi_engine.terminal import chat"),
        ("oi_engine/session/session.py", "from oi_engine.models import model\nimport oi_engine.computer.kernel"),
        ("oi_engine/edits/ask.py", "from oi_engine.models import model\nfrom oi_engine.edits import lines"),
        ("oi_engine/models/worker.py", "import litellm\nfrom . import model\nfrom ..errors import OiError"),
        ("oi_engine/computer/kernel_link.py", "import jupyter_client\nfrom oi_engine.approval import Grant"),
        ("oi_engine/computer/kernel.py", "from ..safety import redact\ndef f(grant: Grant) -> None: ..."),
        ("oi_engine/safety/scan.py", "from oi_engine.safety import redact"),
        ("oi_engine/profiles.py", "from oi_engine.settings import Settings"),
        ("oi_engine/approval.py", "_made_here = object()\nGrant(1, maker=_made_here)"),
        (
            "oi_engine/terminal/chat.py",
            "import rich, prompt_toolkit\nfrom oi_engine import interpreter\nprint(input())",
        ),
        ("oi_lsp/cli.py", "import rich\nimport pygls\nprint(1)"),
        ("oi_lsp/features/chat.py", "import lsprotocol\nfrom oi_engine.session.session import Session\nself.input()"),
        ("oi_engine/computer/drivers/x.py", "import rich\nprint(1)"),
        ("oi_engine/session/session.py", TOO_LONG.replace("    x = 1\n", "", 1)),
    ],
)
def test_what_is_allowed_is_left_alone(path: str, source: str, tmp_path: Path) -> None:
    build(tmp_path, {path: source})
    assert [words for rule in RULES for words in broken(rule, tmp_path)] == []


def build(root: Path, changed: dict[str, str]) -> None:
    """A tree with a module in every layer, all of them empty but for the changed ones."""
    engine = "__init__ api/face terminal/chat approval messages errors settings models/model computer/kernel"
    engine += " history/store safety/scan safety/redact"
    empty = [*(f"oi_engine/{name}.py" for name in engine.split()), "oi_lsp/__init__.py", "oi_lsp/cli.py"]
    for path, source in {**dict.fromkeys(empty, ""), **changed}.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
        (file.parent / "__init__.py").touch()
