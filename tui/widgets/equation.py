"""The stage as an equation of matrices: operands, signs, result, each with its name, shape and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static

from engine.operand import Cell, Operand
from engine.ops import GivenTokens, Tokenize
from engine.stages import Stage
from engine.text import visible
from tui.grids import OperandGrid
from tui.language import Language
from tui.layout import Plan, Wish, Zoom, arrange
from tui.session import Session
from tui.widgets.legend import Legend
from tui.widgets.matrix import MatrixView
from tui.widgets.numbers import cut
from tui.widgets.palette import color_depth

TITLE_AND_HEADER = 2
LEGEND = 2
# From this height on there is room for a legend, however long the matrix.
ROOMY = 12
# Room for a Chinese character or the beginning of a word over a painted column.
NAMED_CELL = 4


class Pane(Vertical):
    """One matrix of the equation under its name and shape."""

    DEFAULT_CSS = """
    Pane { width: auto; height: 100%; }
    Pane > .title { height: 1; width: 100%; text-wrap: nowrap; text-overflow: ellipsis; padding-left: 2; }
    Pane > Legend { margin: 1 0 0 2; max-width: 100%; }
    """

    def __init__(self, id: str) -> None:
        self.title, self.matrix, self.legend = Static(classes="title"), MatrixView(), Legend()
        super().__init__(self.title, self.matrix, self.legend, id=id)

    def show(self, grid: OperandGrid, title: Content, plan: Plan, legend: str | None) -> None:
        """Show a grid as planned; ``legend`` is what the legend says of masked cells, None for no legend."""
        view = self.matrix
        if view.grid != grid:
            view.cursor = view.marked_row = view.marked_column = None
            view.marked_cells = frozenset()
        view.mode, view.cell_width = plan.mode, plan.cell_width
        view.grid = grid
        if self.id != "result":
            self.styles.width = plan.width
        view.styles.width = plan.width
        self.title.update(title)
        scale = self.legend
        scale.display = legend is not None and grid.kind in ("signed", "share")
        if legend is not None:
            scale.kind, scale.limit, scale.masked = grid.kind, grid.limit, legend if grid.has_masked else ""


class Equation(Horizontal):
    """Shows the operand that the session looks at, with what it was computed from."""

    DEFAULT_CSS = """
    Equation { height: 1fr; overflow: hidden; }
    Equation > .sign { width: auto; height: 100%; padding: 2 1 0 1; color: $quiet; text-wrap: nowrap; }
    Equation > #result { width: 1fr; }
    Equation > #waiting { width: 100%; padding: 2 2; color: $quiet; }
    """

    zoom: var[Zoom] = var("auto", init=False)

    @dataclass
    class CellChosen(Message):
        """A cell of the result was clicked."""

        row: int
        column: int

    @dataclass
    class OperandChosen(Message):
        """A cell of an operand was clicked."""

        operand: Operand
        cell: Cell

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._shown: list[OperandGrid] = []
        self._operands: list[tuple[Static, Pane]] = []

    def compose(self) -> ComposeResult:
        yield Static(id="waiting")
        yield Static(id="equals", classes="sign")
        yield Pane("result")

    def on_mount(self) -> None:
        # Nothing is laid out before it is known what is to be shown.
        for child in self.children:
            child.display = False

    # What is to be shown

    def update(self) -> None:
        """Show what the session looks at, all anew."""
        if not self.is_attached:
            # The program is on its way out: nothing more can be mounted.
            return
        session = self._session
        self.query_one("#waiting").display = False
        stage = session.stage
        grids = self._grids()
        signs = self._signs(stage)
        room = self.size.width - sum(cell_len(sign) + 2 for sign in signs if sign) - 1
        wishes = [self._wish(pane, grid) for pane, grid in zip(self._panes(), grids, strict=True)]
        plans = arrange(room, wishes, self.zoom)
        # Where not even the least of everything fits, the result alone is shown.
        crowded = sum(plan.width for plan in plans) > room and len(plans) > 1
        if crowded:
            plans[-1:] = arrange(self.size.width - 1, wishes[-1:], self.zoom)
        for number, (sign, pane) in enumerate(self._operands):
            used = number < len(grids) - 1 and not crowded
            pane.display = used
            sign.display = used and bool(signs[number])
            if used:
                sign.update(Content(signs[number]))
                pane.show(grids[number], self._title(grids[number]), plans[number], None)
        equals = self.query_one("#equals", Static)
        equals.display = bool(signs[-1]) and not crowded
        equals.update(Content(signs[-1]))
        self._result.show(grids[-1], self._title(grids[-1]), plans[-1], self._say("pane.masked"))
        self._result.display = True
        self._shown = grids
        self._limit_heights()
        self.update_cursor()

    def update_cursor(self) -> None:
        """Show where the cell looked at is, and what it was made of; nothing else has changed."""
        session, grids = self._session, self._grids()
        if any(
            (new.operand, new.leading, new.turned) != (old.operand, old.leading, old.turned)
            for new, old in zip(grids, self._shown, strict=True)
        ):
            # The cell lies in another head's matrix than the one on screen.
            self.update()
            return
        row, column = grids[-1].place(session.cell)
        result = self._result.matrix
        result.cursor = (row, column)
        result.show_cell(row, column)
        parts = session.stage.reads(session.cell) if session.stage is not None else ()
        for number, (grid, part) in enumerate(zip(grids, parts, strict=False)):
            view = self._pane(number).matrix
            view.marked_row, view.marked_column, view.marked_cells = grid.marks(part)
            view.show_cell(*self._in_sight(view, grid, grids[-1], (row, column)))

    @staticmethod
    def _in_sight(view: MatrixView, grid: OperandGrid, result: OperandGrid, cell: tuple[int, int]) -> tuple[int, int]:
        """Which cell of an operand to bring in sight: of a whole row, the one in the result's own column."""
        if view.marked_cells:
            return min(view.marked_cells)
        same = grid.column_axis is not None and grid.column_axis is result.column_axis
        return view.marked_row or 0, view.marked_column if view.marked_column is not None else cell[1] if same else 0

    @property
    def lines(self) -> int:
        """How many lines the whole equation takes: titles, headers, the longest matrix, and the result's legend."""
        rows = [grid.rows for grid in self._shown]
        return max([*rows, rows[-1] + LEGEND]) + TITLE_AND_HEADER if rows else 0

    def _limit_heights(self) -> None:
        """Keep the last rows of a matrix as long as a vocabulary in sight; a legend goes before rows do."""
        height = self.size.height
        scale = self._result.legend
        if height < min(TITLE_AND_HEADER + self._shown[-1].rows + LEGEND, ROOMY):
            scale.display = False
        for pane, grid in zip(self._panes(), self._shown, strict=True):
            # Rows of the same tokens are to stand side by side, so those matrices scroll alike.
            alike = grid.rows == self._shown[-1].rows
            pane.matrix.styles.max_height = max(2, height - 1 - (LEGEND if alike and scale.display else 0))

    def wait(self, message: str) -> None:
        """Say that the numbers are still being computed."""
        for child in self.children:
            child.display = child.id == "waiting"
        self.query_one("#waiting", Static).update(Content(message))

    def on_resize(self) -> None:
        self._update_if_shown()

    def watch_zoom(self) -> None:
        self._update_if_shown()

    def _update_if_shown(self) -> None:
        if self._shown and not self.query_one("#waiting").display:
            self.update()

    def page(self) -> int:
        """Half of the rows of the result that can be seen."""
        return max(1, (self._result.matrix.size.height - 1) // 2)

    def on_matrix_view_cell_clicked(self, event: MatrixView.CellClicked) -> None:
        event.stop()
        if event.view is self._result.matrix:
            self.post_message(self.CellChosen(event.row, event.column))
            return
        for number, grid in enumerate(self._shown[:-1]):
            if event.view is self._pane(number).matrix:
                self.post_message(self.OperandChosen(grid.operand, grid.cell(event.row, event.column)))

    # The parts

    @property
    def _result(self) -> Pane:
        return self.query_one("#result", Pane)

    def _pane(self, number: int) -> Pane:
        """The pane of an operand, mounted when there is first such an operand: every widget delays the first frame."""
        while number >= len(self._operands):
            place = len(self._operands)
            self._operands.append((Static(id=f"sign-{place}", classes="sign"), Pane(f"operand-{place}")))
            self.mount(*self._operands[place], before="#equals")
        return self._operands[number][1]

    def _panes(self) -> list[Pane]:
        count = len(self._session.stage.inputs) if self._session.stage is not None else 0
        return [*(self._pane(number) for number in range(count)), self._result]

    def _grids(self) -> list[OperandGrid]:
        """The operands' matrices that the cell looked at was made from, then its own."""
        session = self._session
        stage = session.stage
        if stage is None:
            return [session.grid]
        parts = stage.reads(session.cell)
        operands = []
        for number, (operand, part) in enumerate(zip(stage.inputs, parts, strict=True)):
            at = tuple(piece if isinstance(piece, int) else 0 for piece in part)
            operands.append(OperandGrid.around(operand, at, session.text, number in stage.op.transposed))
        return [*operands, session.grid]

    def _signs(self, stage: Stage | None) -> list[str]:
        if stage is None:
            return [""]
        signs = list(stage.op.signs(stage.inputs))
        if isinstance(stage.op, Tokenize) and not isinstance(stage.op, GivenTokens) and not stage.op.variety:
            signs = [f"tokenizer( “{cut(visible(self._session.texts[self._session.text]), 24)}” )"]
        signs[-1] = f"{signs[-1]} ="
        return signs

    def _wish(self, pane: Pane, grid: OperandGrid) -> Wish:
        view = pane.matrix
        # A matrix view measures what it is given; nothing is drawn until the plan is made.
        view.grid = grid
        named = not grid.numbered_columns
        # Where colours cannot tell numbers apart, a cell prints a sign and a digit.
        least_cell = 2 if color_depth(self.app) in ("16", "none") else 1
        wide_cell, narrow_cell = (NAMED_CELL, 2) if named else (2, least_cell)
        view.cell_width = wide_cell
        numbers, wide = view.measure("numbers").width, view.measure("heat").width
        narrow = wide - grid.columns * (wide_cell - narrow_cell)
        title = cell_len(self._title(grid).plain) + 2
        return Wish(
            max(numbers, title),
            max(wide, title),
            max(narrow, title),
            max(min(wide, 16), title),
            named,
            wide_cell,
            narrow_cell,
        )

    def _title(self, grid: OperandGrid) -> Content:
        """The operand's symbol and the matrix's own shape."""
        operand = grid.operand
        axes = [axis for axis in (grid.row_axis, grid.column_axis) if axis is not None]
        symbols, sizes = "×".join(axis.symbol for axis in axes), "×".join(str(axis.size) for axis in axes)
        name = f"{operand.symbol}ᵀ" if grid.turned else operand.symbol
        parts = [(name, "bold $accent"), (f"  {symbols} {sizes}", "$quiet")]
        for axis, position in zip(operand.axes, grid.leading, strict=True):
            # The head looked at stands at the top of the screen; a shared key/value head has a number of its own.
            if axis.symbol == "H_kv" and len(operand.axes) == 4:
                parts.insert(1, (f"  {self._say('pane.kv_head', head=position)}", "$quiet"))
        return Content.assemble(*parts)
