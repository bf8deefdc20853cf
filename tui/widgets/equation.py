"""The stage as an equation of matrices: operands, signs, result, each with its name, shape and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static

from engine.operand import Cell, Operand
from tui.grids import OperandGrid, head_columns
from tui.language import Language
from tui.layout import ZOOMS, Wish, Zoom
from tui.session import Session
from tui.widgets.composition import Composition
from tui.widgets.forms import wish
from tui.widgets.legend import Legend
from tui.widgets.legendplace import Block, spot
from tui.widgets.matrix import MatrixView
from tui.widgets.palette import color_depth
from tui.widgets.pane import Pane
from tui.widgets.terms import grids_of, name_of, signs_of, title_of, title_width

TITLE_AND_HEADER = 2
# With a blank line before it.
LEGEND = 2
# From this height on there is room for a legend, however long the matrix.
ROOMY = 12
# Up to so many rows are to be seen at once, whatever is said of them.
FEW_ROWS = 8
# A row of a few may take so many lines.
TALLEST = 3
TALLEST_THIN = 2
# Of larger ones less shows nothing.
LEAST_ROWS = 5


class Equation(Horizontal):
    """Shows the operand that the session looks at, with what it was computed from."""

    DEFAULT_CSS = """
    Equation { height: 1fr; overflow: hidden; layers: matrices legend; }
    Equation > Legend { layer: legend; }
    Equation > .sign { width: auto; height: 100%; padding: 0 1; color: $quiet; text-wrap: nowrap; }
    Equation > #result { width: 1fr; }
    Equation > #waiting { width: 100%; padding: 2 2; color: $quiet; }
    """

    zoom: var[Zoom] = var("auto", init=False)
    row_room = var(0, init=False)
    """How many lines the rows of a matrix may take, to be more than a strip."""

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
        self._heights: list[int] = []
        self._operands: list[tuple[Static, Pane]] = []
        self._made: Composition | None = None
        self._title = Content()

    def compose(self) -> ComposeResult:
        yield Static(id="waiting")
        yield Static(id="equals", classes="sign")
        yield Pane("result")
        yield Legend()

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
        self.query_one("#waiting").display = False
        grids, made = grids_of(self._session), self._composed(self.zoom)
        signs, plans, crowded = made.signs, made.plans, made.crowded
        heights = self._heights = self._row_heights(grids, thin=plans[-1].look.paints_thin)
        # The panes are mounted when there are first so many operands.
        self._panes()
        for number, (sign, pane) in enumerate(self._operands):
            used = number < len(grids) - 1 and not crowded
            pane.display = used
            sign.display = used and bool(signs[number])
            if used:
                self._write_sign(sign, signs[number], heights[-1])
                title = title_of(grids[number], plans[number].width - 2, self._say)
                pane.show(grids[number], title, plans[number], heights[number])
        equals = self.query_one("#equals", Static)
        equals.display = bool(signs[-1])
        self._write_sign(equals, signs[-1], heights[-1])
        left = made.room - sum(plan.width for plan in plans[:-1])
        title = title_of(grids[-1], left - 2, self._say)
        self._title = title
        self._result.show(grids[-1], title, plans[-1], heights[-1])
        self._result.display = True
        self._shown = grids
        self._made = made
        self._write_legend(grids[-1])
        self._limit_heights()
        self.update_cursor()

    def _composed(self, zoom: Zoom) -> Composition:
        grids, signs = grids_of(self._session), signs_of(self._session)
        return Composition.of(self.size.width, grids, signs, self._wish, zoom)

    def zoom_on(self) -> bool:
        """Go on to the next zoom that shows numbers as colours or colours as numbers; False if none does."""
        here = ZOOMS.index(self.zoom)
        shown = self._composed(self.zoom).modes
        for zoom in (*ZOOMS[here + 1 :], *ZOOMS[:here]):
            if self._composed(zoom).modes != shown:
                self.zoom = zoom
                return True
        return False

    @staticmethod
    def _write_sign(sign: Static, text: str, row_height: int) -> None:
        """Beside the first row's numbers."""
        sign.update(Content(text))
        sign.styles.padding = (TITLE_AND_HEADER + (row_height - 1) // 2, 1, 0, 1)

    def update_cursor(self) -> None:
        """Show where the cell looked at is, and what it was made of; nothing else has changed."""
        session, grids = self._session, grids_of(self._session)
        if any(new != old for new, old in zip(grids, self._shown, strict=True)):
            # The cell lies in another head's matrix than the one on screen, or was made from another column.
            self.update()
            return
        row, column = grids[-1].place(session.cell)
        result, stage = self._result.matrix, session.stage
        taken, joined = head_columns(stage, session.cell) if stage is not None else (range(0), range(0))
        single = grids[-1].rows * grids[-1].columns == 1
        # Where there is nothing to choose from, nothing is chosen.
        result.cursor, result.span = None if single else (row, column), joined
        result.show_cell(row, column)
        parts = stage.reads(session.cell) if stage is not None else ()
        for number, (grid, part) in enumerate(zip(grids, parts, strict=False)):
            view = self._pane(number).matrix
            view.marked_row, view.marked_column, view.marked_cells = grid.marks(part)
            view.span = taken
            view.show_cell(*self._in_sight(view, grid, grids[-1], (row, column)))

    def _in_sight(
        self, view: MatrixView, grid: OperandGrid, result: OperandGrid, cell: tuple[int, int]
    ) -> tuple[int, int]:
        """Which cell of an operand to bring in sight: of a whole row, the one in the result's own column.

        Of a single column that is read whole, as for a mean, it is the one last looked at.
        """
        if view.marked_cells:
            return min(view.marked_cells)
        row, column = view.marked_row, view.marked_column
        if row is None and grid.column_axis is None:
            return grid.place(self._session.cell_in(grid.operand))
        same = grid.column_axis is not None and grid.column_axis is result.column_axis
        return row or 0, column if column is not None else cell[1] if same else 0

    @property
    def lines(self) -> int:
        """How many lines the whole equation takes: titles, headers, the longest matrix, and the result's legend."""
        rows = [grid.rows * height for grid, height in zip(self._shown, self._heights, strict=True)]
        return max([*rows, rows[-1] + LEGEND]) + TITLE_AND_HEADER if rows else 0

    @property
    def least_lines(self) -> int:
        """How many lines the equation must have: small matrices are to be seen whole."""
        rows = [grid.rows for grid in self._shown if grid.rows <= FEW_ROWS]
        return TITLE_AND_HEADER + max([*rows, min(LEAST_ROWS, self._shown[-1].rows)]) if self._shown else 0

    def _row_heights(self, grids: list[OperandGrid], *, thin: bool) -> list[int]:
        """How many lines a row takes: more than one where there is room, and no more than in the result."""
        tallest = TALLEST_THIN if thin else TALLEST
        heights = [max(1, min(tallest, self.row_room // grid.rows)) for grid in grids]
        return [min(height, heights[-1]) for height in heights]

    def _write_legend(self, grid: OperandGrid) -> None:
        """Say what the result's colours mean; a single number needs no scale."""
        scale = self.query_one(Legend)
        scale.display = grid.kind in ("signed", "share") and grid.rows * grid.columns > 1
        scale.kind, scale.limit, scale.low = grid.kind, grid.limit, grid.low
        scale.masked = self._say("pane.masked") if grid.has_masked else ""
        scale.printed = self._result.matrix.look.mode == "numbers"

    def _limit_heights(self) -> None:
        """Keep the last rows of a matrix as long as a vocabulary in sight, and find the legend a place."""
        height, scale = self.size.height, self.query_one(Legend)
        wanted = min(self._result.matrix.measure().height + 1 + LEGEND, ROOMY)
        # Rows are worth more than a legend under them, where it has another place or there are few lines.
        tries = [(0, self._title), *([(LEGEND, self._title)] if height >= wanted else [])]
        # A legend is worth the symbols of a shape.
        shorter = title_of(self._shown[-1], self._title.cell_length - 1, self._say)
        for reserved, title in [*tries, (0, shorter)] if scale.display else [(0, self._title)]:
            tallest = self._limits(reserved)
            blocks = self._blocks(tallest, title.cell_length)
            place = spot(blocks, self.size.width - 1, height, *scale.widths()) if scale.display else None
            if place is not None:
                self._result.title.update(title)
                break
        for pane, most in zip(self._panes(), tallest, strict=True):
            pane.matrix.styles.max_height = most
        scale.display = place is not None
        if place is not None:
            scale.room = place.room
            scale.styles.offset = place.x, place.y

    def _limits(self, reserved: int) -> list[int]:
        """The most lines that each matrix may take, with so many lines left under those that scroll with the result."""
        rows = self._shown[-1].rows
        # Rows of the same tokens are to stand side by side, so those matrices scroll alike.
        return [max(2, self.size.height - 1 - (reserved if grid.rows == rows else 0)) for grid in self._shown]

    def _blocks(self, tallest: list[int], title: int) -> list[Block]:
        """What stands where, the result last."""
        if self._made is None:
            return []
        count = len(self._made.plans)
        panes = self._panes()[-count:]
        bottoms = [
            1 + min(pane.matrix.measure().height, most) for pane, most in zip(panes, tallest[-count:], strict=True)
        ]
        return self._made.blocks(bottoms, TITLE_AND_HEADER + 1 + (self._heights[-1] - 1) // 2, title)

    def wait(self, message: str) -> None:
        """Say that the numbers are still being computed."""
        for child in self.children:
            child.display = child.id == "waiting"
        self.query_one("#waiting", Static).update(Content(message))

    def on_resize(self) -> None:
        self._update_if_shown()

    def watch_zoom(self) -> None:
        self._update_if_shown()

    def watch_row_room(self) -> None:
        self._update_if_shown()

    def _update_if_shown(self) -> None:
        if self._shown and not self.query_one("#waiting").display:
            self.update()

    def page(self) -> int:
        """Half of the rows of the result that can be seen."""
        view = self._result.matrix
        return max(1, (view.size.height - 1) // (2 * view.look.row_height))

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

    def _wish(self, grid: OperandGrid, result: OperandGrid) -> Wish:
        named = grid.row_names is not None and grid.row_names == result.row_names
        return wish(
            grid,
            # Where colours cannot tell numbers apart, a cell prints a sign and a digit.
            cell=2 if color_depth(self.app) in ("16", "none") else 1,
            name=cell_len(name_of(grid)),
            title=title_width(grid, self._say),
            digits=self._file_digits() if grid is result else 0,
            result=grid is result,
            rows_beside=named,
        )

    def _file_digits(self) -> int:
        """How many digits the file of a worked example has for the stage looked at, to be compared with."""
        comparison = self._session.comparison
        if comparison is None:
            return 0
        from tui.comparing import digits

        return digits(comparison)
