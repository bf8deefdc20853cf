"""A matrix on the screen: as numbers or as colours, of any size, drawing only what can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.widgets.drawing import Drawing, Window
from tui.widgets.grid import Geometry, Grid, Look
from tui.widgets.marks import Cell, Margin, Marks
from tui.widgets.palette import palette_for

LEFT = 1

__all__ = ["Cell", "Grid", "Look", "MatrixView"]


class MatrixView(ScrollView, can_focus=False, inherit_bindings=False):
    """Shows a `Grid`, with its column labels above and its row labels at the left, which stay when it scrolls.

    Attributes are set by the parent; all but the cursor's take effect on the whole view. No keys: the parent moves the
    cursor and calls `show_cell`. The wheel scrolls, with shift sideways.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"matrixview--here"}
    DEFAULT_CSS = """
    MatrixView {
        width: auto;
        height: auto;
        max-width: 100%;
        max-height: 100%;
        scrollbar-size: 0 0;
    }
    MatrixView > .matrixview--here {
        color: $accent;
    }
    """

    grid: var[Grid | None] = var(None, always_update=True, init=False)
    """What is shown; set it again when its values have changed."""
    look: var[Look] = var(Look(), init=False)
    """How it is drawn."""
    cursor: var[Cell | None] = var(None, init=False)
    """The selected cell."""
    marked_row: var[int | None] = var(None, init=False)
    """The row that a result was made of; what is not marked fades."""
    marked_column: var[int | None] = var(None, init=False)
    marked_cells: var[frozenset[Cell]] = var(frozenset(), init=False)
    span: var[range] = var(range(0), init=False)
    """The columns that belong together with the selected one."""

    @dataclass
    class CellClicked(Message):
        """A cell was clicked."""

        view: MatrixView
        row: int
        column: int

        @property
        def control(self) -> MatrixView:
            return self.view

    def __init__(
        self,
        grid: Grid | None = None,
        *,
        look: Look | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._geometry: Geometry | None = None
        self._drawing: Drawing | None = None
        self._window: Window | None = None
        self._strips: LRUCache[object, Strip] = LRUCache(1024)
        self._kept_in_sight: Cell | None = None
        self.look = look or Look()
        self.grid = grid

    def measure(self) -> Size:
        """The cells and lines that the whole grid takes; works before mounting."""
        geometry = self.geometry
        return Size(geometry.width, geometry.height) if geometry else Size(0, 0)

    def show_cell(self, row: int, column: int) -> None:
        """Scroll just enough for the cell to be seen, by whole columns, and keep it in sight if the size changes.

        The columns that belong together with it are to be seen too, as far as there is room.
        """
        self._kept_in_sight = (row, column)
        if self.geometry is None or not self.size:
            return
        rows, columns = self._in_sight()
        top = min(max(rows.start, row - len(rows) + 1), row)
        left = columns.start
        for wanted in (*self.span[-1:], *self.span[:1], column):
            left = min(max(left, wanted - len(columns) + 1), wanted)
        self.scroll_to(left * self.geometry.pitch, top * self.geometry.row_height, animate=False, force=True)

    def cell_at(self, x: int, y: int) -> Cell | None:
        """The cell at these coordinates of the content, if there is one."""
        geometry = self.geometry
        if geometry is None or x < geometry.gutter or y < geometry.header:
            return None
        rows, columns = self._in_sight()
        across, down = (x - geometry.gutter) // geometry.pitch, (y - geometry.header) // geometry.row_height
        if across >= len(columns) or down >= len(rows):
            return None
        return rows[down], columns[across]

    @property
    def geometry(self) -> Geometry | None:
        """Where the parts of the grid are; None without a grid."""
        if self._geometry is None and self.grid is not None:
            self._geometry = Geometry.of(self.grid, self.look)
        return self._geometry

    def render_line(self, y: int) -> Strip:
        drawing, width = self._current_drawing(), self.size.width
        if drawing is None:
            return Strip.blank(width, self.visual_style.rich_style)
        rows, columns = self._in_sight()
        line, inside = divmod(y - drawing.geometry.header, drawing.geometry.row_height)
        if line >= len(rows):
            return Strip.blank(width, drawing.palette.blank)
        if line < 0:
            more = Margin(columns.start > 0, columns.stop < drawing.geometry.columns)
            segments = drawing.header(columns, self._marks(), more)
            return Strip(segments).adjust_cell_length(width, drawing.palette.blank)
        row = rows[line]
        more = Margin(row == rows[0] > 0, row == rows[-1] < drawing.geometry.rows - 1)
        state = self._marks().of_row(row, more)
        written = inside == (drawing.geometry.row_height - 1) // 2
        key = (row, columns, width, state, written)
        strip = self._strips.get(key)
        if strip is None:
            segments = drawing.row(row, self._current_window(drawing, rows, columns), state, written=written)
            strip = Strip(segments).adjust_cell_length(width, drawing.palette.blank)
            self._strips[key] = strip
        return strip

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return self.measure().width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.measure().height

    def validate_scroll_x(self, value: float) -> float:
        """Whole columns only."""
        pitch = self.geometry.pitch if self.geometry else 1
        return round(super().validate_scroll_x(value) / pitch) * pitch

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._forget_drawing()

    def on_resize(self) -> None:
        self._fit()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        cell = None if offset is None else self.cell_at(offset.x, offset.y)
        if cell is not None and event.button == LEFT:
            event.stop()
            self.post_message(self.CellClicked(self, *cell))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1, sideways=event.shift or event.ctrl)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1, sideways=event.shift or event.ctrl)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        self._wheel(event, 1, sideways=True)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        self._wheel(event, -1, sideways=True)

    def watch_cursor(self, old: Cell | None, new: Cell | None) -> None:
        self._remark(self._marks()._replace(cursor=old))

    def watch_marked_row(self, old: int | None, new: int | None) -> None:
        self._remark(self._marks()._replace(row=old))

    def watch_marked_column(self, old: int | None, new: int | None) -> None:
        self._remark(self._marks()._replace(column=old))

    def watch_marked_cells(self, old: frozenset[Cell], new: frozenset[Cell]) -> None:
        self._remark(self._marks()._replace(cells=old))

    def watch_span(self, old: range, new: range) -> None:
        self._remark(self._marks()._replace(span=old))

    def _remark(self, old: Marks) -> None:
        """Draw anew the lines that other marks make look different."""
        new, header = self._marks(), self.geometry.header if self.geometry else 0
        if header and (old.columns_here(), old.span) != (new.columns_here(), new.span):
            self.refresh(Region(0, 0, self.size.width, 1))
        rows, nothing = self._in_sight()[0], Margin(False, False)
        height = self.geometry.row_height if self.geometry else 1
        for line, row in enumerate(rows):
            if old.of_row(row, nothing) != new.of_row(row, nothing):
                self.refresh(Region(0, header + line * height, self.size.width, height))

    def _reshape(self) -> None:
        """Everything is to be measured and drawn anew."""
        self._geometry = None
        self._forget_drawing()
        self._fit()
        self.refresh(layout=True)

    watch_grid = watch_look = _reshape

    def _forget_drawing(self) -> None:
        self._drawing = None
        self._window = None
        self._strips.clear()

    def _current_drawing(self) -> Drawing | None:
        if self._drawing is None and self.grid is not None:
            accent = self.get_component_styles("matrixview--here").color
            palette = palette_for(self) if accent.ansi is not None else palette_for(self, accent.hex6)
            self._drawing = Drawing(self.grid, self.look, palette)
        return self._drawing

    def _current_window(self, drawing: Drawing, rows: range, columns: range) -> Window:
        wanted = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
        if self._window is None or not self._window.covers(*wanted):
            self._window = drawing.window(*wanted)
        return self._window

    def _fit(self) -> None:
        """Just so large that scrolling to the end shows the last whole column."""
        geometry, width = self.geometry, self.size.width
        if geometry is None or not width:
            self.virtual_size = self.measure()
            return
        hidden = geometry.columns - geometry.columns_in(width)
        across = width + hidden * geometry.pitch if hidden else geometry.width
        self.virtual_size = Size(across, geometry.height)
        if self._kept_in_sight is not None:
            self.show_cell(*self._kept_in_sight)

    def _in_sight(self) -> tuple[range, range]:
        """The rows and columns that are on screen."""
        geometry = self.geometry
        if geometry is None:
            return range(0), range(0)
        width, height = self.size
        count = min(max(0, height - geometry.header) // geometry.row_height, geometry.rows)
        top = min(self.scroll_offset.y // geometry.row_height, geometry.rows - count)
        across = geometry.columns_in(width)
        left = min(self.scroll_offset.x // geometry.pitch, geometry.columns - across)
        return range(top, top + count), range(left, left + across)

    def _marks(self) -> Marks:
        return Marks(self.cursor, self.marked_row, self.marked_column, self.marked_cells, self.span)

    def _wheel(self, event: events.MouseEvent, direction: int, *, sideways: bool) -> None:
        """Scroll by the wheel; at the end, leave the event to whatever contains this view."""
        event.prevent_default()
        before = self.scroll_offset
        if sideways:
            pitch = self.geometry.pitch if self.geometry else 1
            columns = max(1, round(self.app.scroll_sensitivity_x / pitch))
            self.scroll_to(x=self.scroll_x + direction * columns * pitch, animate=False)
        else:
            self.scroll_to(y=self.scroll_y + direction * self.app.scroll_sensitivity_y, animate=False)
        if self.scroll_offset != before:
            self._kept_in_sight = None
            event.stop()
