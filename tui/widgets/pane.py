"""One matrix of an equation, under its name and shape."""

from __future__ import annotations

from dataclasses import replace

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui.grids import OperandGrid
from tui.layout import Plan
from tui.widgets.matrix import MatrixView


class Pane(Vertical):
    """Shows a grid as it has been planned."""

    DEFAULT_CSS = """
    Pane { width: auto; height: 100%; }
    Pane > .title { height: 1; width: 100%; text-wrap: nowrap; text-overflow: ellipsis; padding-left: 2; }
    """

    def __init__(self, id: str) -> None:
        self.title, self.matrix = Static(classes="title"), MatrixView()
        super().__init__(self.title, self.matrix, id=id)

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
