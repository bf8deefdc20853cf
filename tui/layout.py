"""How an equation's matrices share a width: which are written in numbers, which painted, and how wide each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tui.widgets.grid import Mode

Zoom = Literal["auto", "numbers", "heat"]
ZOOMS: tuple[Zoom, ...] = ("auto", "numbers", "heat")


@dataclass(frozen=True)
class Wish:
    """What a matrix would take: its width in numbers, painted at two and at one cell a number, and the least of use.

    ``named`` columns are tokens: painted narrow they could not be told apart.
    """

    numbers: int
    wide: int
    narrow: int
    least: int
    named: bool


@dataclass(frozen=True)
class Plan:
    """How a matrix is shown: in numbers or painted, at how many cells a number, in how many columns of the screen."""

    mode: Mode
    cell_width: int
    width: int


def arrange(width: int, wishes: Sequence[Wish], zoom: Zoom = "auto") -> list[Plan]:
    """A plan for each matrix of an equation, the result last, in ``width`` columns together.

    The first of these that fits is taken: numbers everywhere; numbers in the result; everything painted, wide or
    narrow. Where nothing fits, all are painted (the result in numbers if its columns are tokens) and share the width.
    """
    operands, result = wishes[:-1], wishes[-1]
    numbers = [Plan("numbers", 2, wish.numbers) for wish in wishes]
    wide = [Plan("heat", 2, wish.wide) for wish in wishes]
    narrow = [_painted(wish) for wish in wishes]
    last = Plan("numbers", 2, result.numbers)
    options = {
        "auto": [numbers, [*wide[:-1], last], [*narrow[:-1], last], wide, narrow],
        "numbers": [numbers],
        "heat": [wide, narrow],
    }[zoom]
    for option in options:
        if sum(plan.width for plan in option) <= width:
            return option
    fallback = options[-1]
    if zoom == "auto" and result.named:
        fallback = [*narrow[:-1], last]
    del operands
    return _shared(width, fallback, wishes)


def _painted(wish: Wish) -> Plan:
    return Plan("heat", 2, wish.wide) if wish.named else Plan("heat", 1, wish.narrow)


def _shared(width: int, plans: Sequence[Plan], wishes: Sequence[Wish]) -> list[Plan]:
    """The plans cut to fit: what one does not need goes to the others, and the result counts for two."""
    shares = [1] * (len(plans) - 1) + [2]
    widths = [0] * len(plans)
    open_ = set(range(len(plans)))
    left = width
    while open_:
        unit = left / sum(shares[i] for i in open_)
        satisfied = {i for i in open_ if plans[i].width <= unit * shares[i]}
        for i in satisfied or open_:
            widths[i] = min(plans[i].width, max(wishes[i].least, int(unit * shares[i])))
            left -= widths[i]
        open_ = open_ - satisfied if satisfied else set()
    return [Plan(plan.mode, plan.cell_width, w) for plan, w in zip(plans, widths, strict=True)]
