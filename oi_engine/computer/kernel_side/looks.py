"""The kernel's answers to what a person looks at and types.

A request comes on the control channel, so that a cell which begins meanwhile does not wait for it; the answer is made
in a thread of its own, so that nothing else on that channel (an interrupt) waits either. Two requests of our own:

- ``oi_inspect_request`` ``{"root": name, "steps": [["attribute", name] | ["item", text or number], …]}``: the reply
  is ``{}`` where there is nothing, else what ``described`` gives;
- ``oi_complete_request`` ``{"kind": "name" | "attribute" | "key" | "magic", "prefix": text, "owner": as above}``: the
  reply is ``{"items": [[text, kind, detail], …], "more": bool}``.

Neither holds code.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import keyword
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .values import (
    SCANNED,
    Computed,
    class_names,
    columns_of,
    described,
    docs_of,
    exactly,
    follow,
    is_a,
    kind_of,
    mro,
    own_names,
    type_name,
)

ITEMS = 500
"""Completions in one answer."""


# --- what could be typed ---------------------------------------------------------------------------------------------


def completions(names: Iterable[tuple[str, Any]], prefix: str) -> dict[str, Any]:
    """Those of the names that begin like that, each with its kind. Private ones wait to be asked for."""
    wanted = prefix.casefold()
    found: dict[str, Any] = {}
    scanned = list(itertools.islice(names, SCANNED + 1))
    for name, value in scanned[:SCANNED]:
        private = name.startswith("_") and not prefix.startswith("_")
        if not private and name.casefold().startswith(wanted):
            found.setdefault(name, value)
    items = [[name, *_labelled(value)] for name, value in itertools.islice(found.items(), ITEMS)]
    return {"items": items, "more": len(found) > ITEMS or len(scanned) > SCANNED}


def _labelled(value: Any) -> tuple[str, str]:
    if exactly(value, _Labelled):
        return value.kind, ""
    kind = kind_of(value)
    return kind, type_name(type(value)) if kind == "variable" else ""


class _Labelled:
    def __init__(self, kind: str) -> None:
        self.kind = kind


def _sorted(names: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    plain = [(name, value) for name, value in list(names) if type(name) is str]
    return sorted(plain, key=lambda pair: (pair[0].startswith("_"), pair[0].casefold(), pair[0]))


def variables(space: dict[str, Any], hidden: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """The person's names, and once something is typed those that every program has."""
    yield from _sorted((k, v) for k, v in list(space.items()) if k not in hidden or hidden[k] is not v)
    if prefix:
        yield from ((name, _Labelled("keyword")) for name in keyword.kwlist)
        yield from _sorted(vars(builtins).items())


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The names of an object's attributes, without its ``__dir__``."""
    columns = [(name, _Labelled("key")) for name in columns_of(value) if type(name) is str and name.isidentifier()]
    inherited: dict[str, Any] = {}
    for cls in reversed(mro(value) if is_a(value, type) else mro(type(value))):
        inherited.update(class_names(cls))
    yield from _sorted({**inherited, **({} if is_a(value, type) else own_names(value)), **dict(columns)}.items())


def keys(value: Any) -> Iterator[tuple[str, Any]]:
    """The texts that a dict or a table has something under, in its order."""
    found = list(itertools.islice(dict.keys(value), SCANNED)) if is_a(value, dict) else columns_of(value)
    yield from ((key, _Labelled("key")) for key in found if type(key) is str)


def magics(shell: Any) -> Iterator[tuple[str, Any]]:
    """The magic commands of IPython."""
    for kind, sign in (("line", "%"), ("cell", "%%")):
        yield from ((f"{sign}{name}", _Labelled("magic")) for name in sorted(shell.magics_manager.magics[kind]))


# --- requests --------------------------------------------------------------------------------------------------------


class Looker:
    """Answers the requests, one at a time; one that comes while another is worked on is answered with nothing."""

    def __init__(self, kernel: Any) -> None:
        self._kernel, self._shell = kernel, kernel.shell
        self._asked: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._busy = threading.Event()
        for kind, answer in (("oi_inspect", self.inspect), ("oi_complete", self.complete)):
            kernel.control_handlers[f"{kind}_request"] = functools.partial(self._take, kind, answer)
        threading.Thread(target=self._work, name="oi-looks", daemon=True).start()

    def inspect(self, content: Any) -> dict[str, Any]:
        """The reply to ``oi_inspect_request``."""
        try:
            return described(follow(self._shell.user_ns, content["root"], content["steps"]))
        except Computed as error:
            return {"type": type_name(type(error.what)), "docs": docs_of(error.what)}

    def complete(self, content: Any) -> dict[str, Any]:
        """The reply to ``oi_complete_request``."""
        kind, prefix, owner, space = content["kind"], content["prefix"], content["owner"], self._shell.user_ns
        if kind == "name":
            return completions(variables(space, self._shell.user_ns_hidden, prefix), prefix)
        if kind == "magic":
            return completions(magics(self._shell), prefix)
        value = follow(space, owner["root"], owner["steps"])
        return completions(attributes(value) if kind == "attribute" else keys(value), prefix)

    def _take(self, kind: str, answer: Callable[[Any], Any], stream: Any, ident: Any, parent: Any) -> None:
        if self._busy.is_set():
            self._reply(kind, {}, stream, ident, parent)
            return
        self._busy.set()
        self._asked.put((kind, answer, stream, ident, parent))

    def _reply(self, kind: str, content: Any, stream: Any, ident: Any, parent: Any) -> None:
        self._kernel.session.send(stream, f"{kind}_reply", content, parent, ident)

    def _work(self) -> None:
        while True:
            kind, answer, stream, ident, parent = self._asked.get()
            try:
                content = answer(parent["content"])
            except (LookupError, Computed):
                content = {}
            except Exception:  # noqa: BLE001 - a library that stumbles over its own object; the thread must live on
                content = {}
            self._busy.clear()
            # The socket belongs to the thread of its loop.
            stream.io_loop.add_callback(self._reply, kind, content, stream, ident, parent)
