"""How an equation shares the width of the screen between its signs and its matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from tui.grids import OperandGrid
from tui.layout import Plan, Wish, Zoom, arrange
from tui.widgets.legendplace import Block
from tui.widgets.terms import in_words

# On a screen like this there is no room for pictures of operands beside a picture.
SMALL = 50


class Composition(NamedTuple):
    """What stands in a line: the signs, each before its matrix, and how each matrix is shown, the result last.

    Attributes:
        room: how many columns there are for matrices.
        crowded: whether the operands are only named, in the one sign there is; there is then one plan, the result's.
    """

    signs: list[str]
    plans: list[Plan]
    room: int
    crowded: bool

    @classmethod
    def of(
        cls,
        width: int,
        grids: Sequence[OperandGrid],
        signs: list[str],
        wish: Callable[[OperandGrid, OperandGrid], Wish],
        zoom: Zoom,
    ) -> Composition:
        """Matrices in so many columns; ``wish`` says how each may be drawn, beside the result."""
        result = grids[-1]
        room = width - sum(cell_len(sign) + 2 for sign in signs if sign) - 1
        plans = arrange(room, [wish(grid, result) for grid in grids], zoom)
        # Where not even the least of everything fits, or would leave no numbers, the operands are only named.
        small = width < SMALL and plans[-1].look.mode != "numbers"
        if len(plans) == 1 or not (small or sum(plan.width for plan in plans) > room):
            return cls(signs, plans, room, False)
        words = in_words(signs, list(grids))
        signs = [words if cell_len(words) <= width // 2 else ""]
        room = width - (cell_len(signs[-1]) + 2 if signs[-1] else 0) - 1
        return cls(signs, arrange(room, [wish(result, result)], zoom), room, True)

    @property
    def modes(self) -> list[str]:
        """Which matrices are written and which are painted, and whether there are any but the result."""
        return [plan.look.mode for plan in self.plans]

    def blocks(self, bottoms: Sequence[int], sign_bottom: int, title: int) -> list[Block]:
        """Where everything stands, down to these lines, the result last, with a title of so many columns."""
        blocks, x = [], 0
        for sign, plan, bottom in zip(self.signs, self.plans, bottoms, strict=True):
            if sign:
                end = x + cell_len(sign) + 2
                blocks.append(Block(x, end, sign_bottom))
                x = end
            blocks.append(Block(x, x + plan.width, bottom, title))
            x += plan.width
        return blocks
