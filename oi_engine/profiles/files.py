"""Reads one file of settings, YAML or JSON, into plain values with their places.

The file may be hostile: a workspace's is written by whoever wrote the repository. It is read in bounded time and memory
(libyaml crashes the process on deep nesting, and takes 15 s for 100 KB of it), must be a regular file, and no tag in it
makes an object.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from oi_engine.errors import ProfileError

if TYPE_CHECKING:
    import yaml

LARGEST = 64 * 1024
"""Bytes of a file of settings."""
DEEPEST = 16
"""Levels of nesting in one; settings need two, and a list three."""
_MOST = 20
"""Repeated keys that are told of."""


@frozen
class Parsed:
    """What a file says. ``positions`` has line and column of each key, dotted, counted from 1; ``repeated`` the keys
    that are set more than once, of which the last one counts."""

    data: Mapping[str, object]
    positions: Mapping[str, tuple[int, int | None]]
    repeated: tuple[tuple[str, int, int], ...] = ()


def read_file(path: Path, *, trusted: bool = True) -> Parsed:
    """Read a file by its extension: ``.json`` as JSON, else as YAML. Without ``trusted``, no anchors are read.

    Raises ``ProfileError`` for what cannot be read, and ``FileNotFoundError``.
    """
    text = _text(path)
    if path.suffix.lower() == ".json":
        return _parse_json(text, str(path))
    return parse_yaml(text, str(path), trusted=trusted)


def _text(path: Path) -> str:
    where = str(path)
    try:
        # Without blocking, so that a pipe in the place of the file does not hold the reader up.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ProfileError(where, "It is not a file.")
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ProfileError(where, f"It cannot be read: {error.strerror or error}.") from error
    if len(data) > LARGEST:
        raise ProfileError(where, f"It has more than {LARGEST // 1024} KiB, too much for a file of settings.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProfileError(where, "It is not UTF-8 text.", line) from error


def _parse_json(text: str, where: str) -> Parsed:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ProfileError(where, f"{error.msg}.", error.lineno, error.colno) from error
    except (ValueError, RecursionError) as error:
        raise ProfileError(where, f"It is no JSON that can be read: {error}.") from error
    return Parsed(_mapping(data, where), {})


def parse_yaml(text: str, where: str, *, trusted: bool = True) -> Parsed:
    """Read YAML 1.1 as PyYAML does, but for dates, which stay text. Raises ``ProfileError``."""
    import yaml

    try:
        _check(text, where, trusted=trusted)
        loader = _loader()(text)
        try:
            node = loader.get_single_node()
            data = {} if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = _at(mark)
        reason = ": ".join(part for part in (error.context, error.problem) if part) or "it is no YAML"
        raise ProfileError(where, f"{reason[0].upper()}{reason[1:]}.", line, column) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ProfileError(where, "It holds a control character that YAML does not allow.", line) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a number with thousands of digits
        raise ProfileError(where, f"{error}.") from error
    positions, repeated = _places(node)
    return Parsed(_mapping({} if data is None else data, where), positions, repeated)


def _at(mark: Any) -> tuple[int | None, int | None]:
    return (mark.line + 1, mark.column + 1) if mark else (None, None)


def _mapping(data: object, where: str) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise ProfileError(where, "It must hold names of settings with their values, such as `auto_run: false`.", 1)
    return data


def _check(text: str, where: str, *, trusted: bool) -> None:
    """Refuse what the loader must not see. Raises ``ProfileError``, and what the parser raises."""
    import yaml

    depth = 0
    for event in yaml.parse(text, _loader()):
        line, column = _at(event.start_mark)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise ProfileError(where, f"It is nested more than {DEEPEST} levels deep.", line, column)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if getattr(event, "tag", None):
            raise ProfileError(where, "Tags (`!…`) are not read in settings.", line, column)
        # Anchors let a small file stand for a huge one.
        if not trusted and getattr(event, "anchor", None):
            raise ProfileError(where, "Anchors (`&…`, `*…`) are not read in a workspace's settings.", line, column)


@cache
def _loader() -> type[yaml.SafeLoader]:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """PyYAML's safe loader, without dates: `api_version: 2024-02-01` is a text."""

        yaml_implicit_resolvers = {  # noqa: RUF012 (PyYAML's own class attribute)
            first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }

    return Loader


def _places(node: yaml.Node | None) -> tuple[dict[str, tuple[int, int | None]], tuple[tuple[str, int, int], ...]]:
    """Where the keys of the two upper levels are, and which are there twice."""
    import yaml

    positions: dict[str, tuple[int, int | None]] = {}
    repeated: list[tuple[str, int, int]] = []

    def visit(mapping: yaml.MappingNode, prefix: str) -> None:
        for key, value in mapping.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            name, line, column = prefix + key.value, key.start_mark.line + 1, key.start_mark.column + 1
            if name in positions and name != "<<" and len(repeated) < _MOST:
                repeated.append((name, line, column))
            positions[name] = (line, column)
            if not prefix and isinstance(value, yaml.MappingNode):
                visit(value, f"{name}.")

    if isinstance(node, yaml.MappingNode):
        visit(node, "")
    return positions, tuple(repeated)
