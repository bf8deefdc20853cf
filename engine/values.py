"""The numbers a trace keeps: within a budget of memory, the residual stream longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np

from engine.buffers import Buffer
from engine.operand import Array


class Values:
    """Arrays by key, at most ``budget`` bytes of them.

    When there is no room, the one longest not asked for goes first, and one stored as ``lasting`` only when nothing
    else is left. Arrays that are views of one buffer (a matrix and its heads) are counted once. An array larger than
    the whole budget is not kept.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._passing: OrderedDict[Hashable, Array] = OrderedDict()
        self._lasting: OrderedDict[Hashable, Array] = OrderedDict()
        self._users: dict[int, int] = {}
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """How much memory the kept arrays take."""
        return self._bytes

    def __contains__(self, key: Hashable) -> bool:
        return key in self._passing or key in self._lasting

    def get(self, key: Hashable) -> Array | None:
        """The array, if it is kept; it counts as asked for now."""
        for shelf in (self._passing, self._lasting):
            if key in shelf:
                shelf.move_to_end(key)
                return shelf[key]
        return None

    def put(self, key: Hashable, array: Array, lasting: bool) -> None:
        """Keep an array, letting go of others where the budget asks for it."""
        self.drop(key)
        if not self._can_fit(array, lasting):
            return
        shelf = self._lasting if lasting else self._passing
        shelf[key] = array
        self._count(array, 1)
        while self._bytes > self.budget:
            self.drop(next(iter(self._passing or self._lasting)))

    def drop(self, key: Hashable) -> None:
        """Let go of an array, if it is kept."""
        for shelf in (self._passing, self._lasting):
            array = shelf.pop(key, None)
            if array is not None:
                self._count(array, -1)

    def _can_fit(self, array: Array, lasting: bool) -> bool:
        """Whether there is room once all has gone that may go: nothing lasting goes for something passing."""
        staying = [array] if lasting else [array, *self._lasting.values()]
        return sum(dict(map(_storage, staying)).values()) <= self.budget

    def _count(self, array: Array, change: int) -> None:
        buffer, size = _storage(array)
        users = self._users.get(buffer, 0)
        self._users[buffer] = users + change
        if users + change == 0:
            del self._users[buffer]
        if 0 in (users, users + change):
            self._bytes += change * size


def _storage(array: Array) -> tuple[int, int]:
    """The identity and the bytes of what holds an array's numbers: itself, or the array that it is a view of.

    Numbers in the memory map of a file take none: the system keeps its pages, or reads them again.
    """
    owner: Any = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if isinstance(owner.base, Buffer):
        return id(owner.base), owner.base.nbytes
    return id(owner), owner.nbytes if owner.flags.owndata else 0
