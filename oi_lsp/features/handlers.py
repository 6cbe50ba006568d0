"""How a feature module says which commands it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from oi_lsp.host import SessionHost

P = TypeVar("P")
R = TypeVar("R")

Handler = Callable[[SessionHost, Any], object]
"""Takes the params, starts what is to be done, and answers at once. Raises ``InvalidField`` or ``OiError``.

What has to look at the disk, or around on this machine, answers a coroutine: it runs as a task, and its result is the
answer. It must not wait for a person, a model's reply or a kernel, and may be given up after ``ANSWER_TIME``.
"""


class Handlers:
    """The handlers of one feature module, by the class of their command's params."""

    def __init__(self) -> None:
        self._handlers: dict[type, Handler] = {}

    def serves(self, params: type[P]) -> Callable[[Callable[[SessionHost, P], R]], Callable[[SessionHost, P], R]]:
        """Mark the function that serves the command with these params."""

        def mark(handler: Callable[[SessionHost, P], R]) -> Callable[[SessionHost, P], R]:
            self._handlers[params] = handler
            return handler

        return mark

    def __iter__(self) -> Iterator[tuple[type, Handler]]:
        return iter(self._handlers.items())
