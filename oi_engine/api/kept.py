"""Lists that are handed out and may be changed in place: ``interpreter.messages.append(…)``."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Generic, TypeVar

from attrs import define, field

T = TypeVar("T")


@define(eq=False)
class KeptList(Generic[T]):
    """One list, always the same object, and what it held when it was shown last."""

    items: list[T] = field(factory=list)
    _seen: list[T] = field(factory=list, init=False)

    def show(self, values: Iterable[T]) -> None:
        """Fill the list anew."""
        self.items[:] = values
        self._seen = copy.deepcopy(self.items)

    def changed(self) -> bool:
        """Whether somebody has changed the list, or something in it, since it was shown or asked about."""
        if self.items == self._seen:
            return False
        self._seen = copy.deepcopy(self.items)
        return True
