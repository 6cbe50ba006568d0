"""How a feature module says which commands and requests it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from attrs import frozen

S = TypeVar("S")
P = TypeVar("P")
R = TypeVar("R")

Handler = Callable[[Any, Any], object]
"""Takes what the module acts on (the host of the sessions, the editor, or what acts on its documents) and the params,
starts what is to be done, and answers at once. Raises ``InvalidField`` or ``OiError``.

What has to look at the disk, or around on this machine, answers a coroutine: it runs as a task, and its result is the
answer. It must not wait for a person, a model's reply or a kernel, and may be given up after ``ANSWER_TIME``; a query
of LSP's is answered with nothing after ``QUERY_TIME``.
"""


class Handlers:
    """The handlers of one feature module, by the class of their command's params."""

    def __init__(self) -> None:
        self._handlers: dict[type, Handler] = {}

    def serves(self, params: type[P]) -> Callable[[Callable[[S, P], R]], Callable[[S, P], R]]:
        """Mark the function that serves the command with these params."""

        def mark(handler: Callable[[S, P], R]) -> Callable[[S, P], R]:
            self._handlers[params] = handler
            return handler

        return mark

    def __iter__(self) -> Iterator[tuple[type, Handler]]:
        return iter(self._handlers.items())


@frozen
class Query:
    """A request or notification of LSP itself that a feature module serves; ``options`` as in the capabilities."""

    method: str
    handler: Handler
    options: Any


class Queries:
    """The requests and notifications of LSP that one feature module serves."""

    def __init__(self) -> None:
        self._queries: list[Query] = []

    def serves(self, method: str, options: Any = None) -> Callable[[Callable[[S, P], R]], Callable[[S, P], R]]:
        """Mark the function that serves a method."""

        def mark(handler: Callable[[S, P], R]) -> Callable[[S, P], R]:
            self._queries.append(Query(method, handler, options))
            return handler

        return mark

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries)
