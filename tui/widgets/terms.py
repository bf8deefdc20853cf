"""What an equation is made of: the matrices that a session's cell came from and its own, the signs, the names."""

from __future__ import annotations

import sys
from dataclasses import replace

from rich.cells import cell_len
from textual.content import Content

from engine.ops import GivenTokens, Losses, Tokenize
from engine.text import visible
from tui.grids import OperandGrid
from tui.language import Language
from tui.session import Session
from tui.widgets.numbers import cut

LONGEST_TEXT = 24
# From so many rows on, no more than these around the one looked at say how wide labels are.
NEAR = 40


def grids_of(session: Session) -> list[OperandGrid]:
    """The operands' matrices that the cell looked at was made from, then its own."""
    stage = session.stage
    if stage is None:
        return [session.grid]
    operands = []
    for number, (operand, part) in enumerate(zip(stage.inputs, stage.reads(session.cell), strict=True)):
        at = tuple(piece if isinstance(piece, int) else 0 for piece in part)
        grid = OperandGrid.around(operand, at, session.text, number in stage.op.transposed)
        # Of a vocabulary's probabilities, a loss has to do with the target's alone.
        only = at[-1] if isinstance(stage.op, Losses) and number == 0 else None
        operands.append(replace(grid, only=only, label_width=_label_width(grid, grid.place(at)[0])))
    return [*operands, session.grid]


def _label_width(grid: OperandGrid, row: int) -> int | None:
    """How wide the labels of a vocabulary's rows are where one looks: the longest of all would leave a gap."""
    if grid.rows <= NEAR or grid.numbered_rows:
        return None
    near = range(max(0, row - NEAR), min(row + NEAR, grid.rows))
    return max(cell_len(visible(grid.row_label(each))) for each in near)


def signs_of(session: Session) -> list[str]:
    """What stands before each operand, and between the last and the result."""
    stage = session.stage
    if stage is None:
        return [""]
    signs = list(stage.op.signs(stage.inputs))
    if isinstance(stage.op, Tokenize) and not isinstance(stage.op, GivenTokens) and not stage.op.variety:
        # Each character for itself: how wide a terminal draws an emoji of several is anybody's guess.
        text = "".join(map(visible, session.texts[session.text]))
        signs = [f"tokenizer( “{cut(text, LONGEST_TEXT)}” )"]
    # What is given, by a file or by a text that the model wrote itself, equals nothing but itself.
    return [*signs[:-1], f"{signs[-1]} ="] if stage.inputs or signs[-1] else [""]


def in_words(signs: list[str], grids: list[OperandGrid]) -> str:
    """The left side without its matrices: ``Q · Kᵀ =``."""
    names = [*map(name_of, grids[:-1]), ""]
    return " ".join(part.strip() for pair in zip(signs, names, strict=True) for part in pair if part)


def name_of(grid: OperandGrid) -> str:
    """The operand's symbol."""
    return f"{grid.operand.symbol}ᵀ" if grid.turned else grid.operand.symbol


def title_of(grid: OperandGrid, room: int, say: Language) -> Content:
    """The operand's symbol and, where there is room, the matrix's own shape."""
    # A single number of each text has no axis of its own.
    axes = [axis for axis in (grid.row_axis, grid.column_axis) if axis is not None and axis.symbol != "1"]
    symbols, sizes = "×".join(axis.symbol for axis in axes), "×".join(str(axis.size) for axis in axes)
    name = (name_of(grid), "bold $accent")
    parts = [name]
    for axis, position in zip(grid.operand.axes, grid.leading, strict=True):
        # The head looked at stands at the top of the screen; a shared key/value head has a number of its own.
        if axis.symbol == "H_kv" and len(grid.operand.axes) == 4:
            parts.append((f"  {say('pane.kv_head', head=position)}", "$quiet"))
    titles = [Content.assemble(*parts, (shape, "$quiet")) for shape in (f"  {symbols} {sizes}".rstrip(), f" {sizes}")]
    return next((title for title in titles if title.cell_length <= room), Content.assemble(name))


def title_width(grid: OperandGrid, say: Language) -> int:
    """How many cells the whole title takes."""
    return title_of(grid, sys.maxsize, say).cell_length
