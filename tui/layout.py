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
    """What a matrix would take: its width in numbers, painted wide and narrow (so many cells a number), and the least.

    ``named`` columns are tokens: where they are too many even for narrow ones, only numbers leave their names legible.
    """

    numbers: int
    wide: int
    narrow: int
    least: int
    named: bool
    wide_cell: int = 2
    narrow_cell: int = 1


@dataclass(frozen=True)
class Plan:
    """How a matrix is shown: in numbers or painted, at how many cells a number, in how many columns of the screen."""

    mode: Mode
    cell_width: int
    width: int


def arrange(width: int, wishes: Sequence[Wish], zoom: Zoom = "auto") -> list[Plan]:
    """A plan for each matrix of an equation, the result last, in ``width`` columns together.

    The first of these that fits is taken: numbers everywhere; numbers in the result; everything painted, wide or
    narrow. Where nothing fits, all share the width, painted narrow, but those whose columns are tokens in numbers.
    """
    numbers = [Plan("numbers", wish.wide_cell, wish.numbers) for wish in wishes]
    wide = [Plan("heat", wish.wide_cell, wish.wide) for wish in wishes]
    narrow = [Plan("heat", wish.narrow_cell, wish.narrow) for wish in wishes]
    # Tokens gain more by width than numbered columns do: they can be read.
    mixed = [roomy if wish.named else tight for wish, roomy, tight in zip(wishes, wide, narrow, strict=True)]
    options = {
        "auto": [numbers, *([*each[:-1], numbers[-1]] for each in (wide, mixed, narrow)), wide, mixed, narrow],
        "numbers": [numbers],
        "heat": [wide, mixed, narrow],
    }[zoom]
    for option in options:
        if sum(plan.width for plan in option) <= width:
            return option
    last = options[-1]
    if zoom == "auto":
        share = width // len(wishes)
        last = [
            written if wish.named and painted.width > share else painted
            for wish, written, painted in zip(wishes, numbers, narrow, strict=True)
        ]
    return _shared(width, last, wishes)


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
    # Some got their least, which was more than their share: the widest gives it back.
    widest = widths.index(max(widths))
    widths[widest] = max(wishes[widest].least, widths[widest] - max(0, sum(widths) - width))
    return [Plan(plan.mode, plan.cell_width, w) for plan, w in zip(plans, widths, strict=True)]
