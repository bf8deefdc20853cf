"""One matrix of an equation, under its name and shape."""

from __future__ import annotations

from dataclasses import replace

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui.grids import OperandGrid
from tui.layout import Plan
from tui.widgets.legend import Legend
from tui.widgets.matrix import MatrixView


class Pane(Vertical):
    """Shows a grid as it has been planned; the result's has a legend too."""

    DEFAULT_CSS = """
    Pane { width: auto; height: 100%; }
    Pane > .title { height: 1; width: 100%; text-wrap: nowrap; text-overflow: ellipsis; padding-left: 2; }
    Pane > Legend { margin: 1 0 0 2; max-width: 100%; }
    """

    def __init__(self, id: str) -> None:
        self.title, self.matrix, self.legend = Static(classes="title"), MatrixView(), Legend()
        super().__init__(self.title, self.matrix, self.legend, id=id)

    def show(self, grid: OperandGrid, title: Content, plan: Plan, row_height: int) -> None:
        """Show a grid as planned, each row in so many lines."""
        view = self.matrix
        if view.grid != grid:
            view.cursor = view.marked_row = view.marked_column = None
            view.marked_cells, view.span = frozenset(), range(0)
        view.look, view.grid = replace(plan.look, row_height=row_height), grid
        view.styles.width = plan.width
        if self.id != "result":
            self.styles.width = plan.width
        self.title.update(title)
        self.legend.display = False

    def show_legend(self, grid: OperandGrid, masked: str) -> None:
        """Say what the colours mean, and by this word those of masked cells; a single number needs no scale."""
        scale = self.legend
        scale.display = grid.kind in ("signed", "share") and grid.rows * grid.columns > 1
        scale.kind, scale.limit, scale.low = grid.kind, grid.limit, grid.low
        scale.masked = masked if grid.has_masked else ""
        scale.printed = self.matrix.look.mode == "numbers"
