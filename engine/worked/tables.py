"""Tables of a worked example that are no weights: positions as waves, and a mask that its file writes out."""

from __future__ import annotations

import numpy as np

from engine.architectures.waves import angles, wave_steps
from engine.axes import Axis
from engine.constants import Constant
from engine.derivation import Step
from engine.errors import FileError
from engine.operand import Array, Cell
from engine.ops import GivenMask
from engine.worked.paper import Paper


def sinusoids(positions: int, width: int) -> Constant:
    """Positions as sines and cosines by turns, N×D (Vaswani et al. 2017, arXiv:1706.03762, section 3.5)."""

    def make() -> Array:
        turned = angles(positions, np.arange(width) // 2, width)
        return np.where(np.arange(width) % 2, np.cos(turned), np.sin(turned)).astype(np.float32)

    def derive(cell: Cell) -> tuple[Step, ...]:
        return wave_steps(cell[0], cell[1] // 2, width, cosine=cell[1] % 2 == 1)

    formula = f"P[n, 2i] = sin(n ÷ 10000^(2i/{width})),  P[n, 2i+1] = cos(n ÷ 10000^(2i/{width}))"
    return Constant(
        "positions.table", "P", (Axis("P", positions), Axis("D", width)), make, formula, "positions", derive
    )


def given_mask(paper: Paper, axes: tuple[Axis, Axis, Axis], fits: tuple[str, str, str]) -> GivenMask:
    """The mask that the file writes out, 1×N×M: 1 where a query may see a key, 0 where not.

    Args:
        axes: 1, N and M, and ``fits`` what decides over the size of each, for messages.

    Raises:
        FileError: it has another shape, lacks a row, or holds something else.
    """
    matrix, known = paper.matrix("mask", axes, fits)
    place, values = paper.at("mask"), matrix.values
    if np.isnan(values).any():
        raise paper.partial("mask")
    wrong = np.argwhere((values != 0) & (values != 1))
    if len(wrong):
        _, row, column = (int(number) for number in wrong[0])
        text = "{file}: {entry}[{cell}] is {value}; a mask holds 1 for what may be seen and 0 for what may not"
        said = f"{values[0, row, column]:g}"
        raise FileError("worked-mask-value", text, file=place, entry="mask", cell=f"{row},{column}", value=said)
    source = paper.source("mask")

    def derive(cell: Cell) -> tuple[Step, ...]:
        number = float(values[cell])
        return (Step("", number, (f"{source}[{cell[1]},{cell[2]}] → {number:g}",)),)

    return GivenMask("mask.given", "mask", known, lambda: values.astype(np.float32), f"mask = {source}", "mask", derive)
