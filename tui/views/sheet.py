"""A canvas for curves and text.

The dots are textual-hires-canvas's: braille characters, two by four dots a cell. Its own ``write_text`` counts
characters and takes them for markup, so that 爱 would move the rest of its line, and ``[/INST]`` end the program; here
text is written cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual_hires_canvas import Canvas

from tui.views.pens import pens
from tui.views.strokes import Strokes
from tui.widgets.numbers import cut
from tui.widgets.palette import Palette, palette_for

# On less than this nothing can be seen.
LEAST = Size(12, 3)
MORE = " …"
# Cells between what stands at the left of a line and what stands at its right.
APART = 2


@dataclass(frozen=True)
class Part:
    """Some text of a line, and what a click on it does."""

    text: str
    style: str
    call: Callable[[], object] | None = None


Group = Sequence[Part]
"""Parts of a line that are shown together or not at all."""


class Sheet(Canvas, can_focus=False):
    """A canvas as large as the widget, which is drawn anew whenever its size or theme changes.

    A subclass says in `draw` what is on it, unless it has a message to `tell` instead.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"sheet--here"}
    DEFAULT_CSS = """
    Sheet > .sheet--here { color: $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.extent = Size(0, 0)
        """The cells and lines of what is drawn."""
        self._spots: list[tuple[Region, Callable[[], object]]] = []
        self._message = ""
        self._drawn = False

    def draw(self) -> None:
        """Write and stroke what is to be seen."""
        raise NotImplementedError

    def tell(self, message: str) -> None:
        """What is shown instead of the picture; the picture again where that is the empty text."""
        self._message = message
        self._drawn = True

    @property
    def is_ready(self) -> bool:
        """Whether the picture is shown."""
        return self._drawn and not self._message

    def paint(self) -> None:
        """Draw all anew."""
        with self.batch_refresh():
            self.extent = self.size
            self.reset(self.extent, refresh=False)
            self._spots.clear()
            if self._message:
                self.write(2, min(2, self.extent.height - 1), self._message, pens(self.palette()).quiet)
            elif self._drawn and self.extent.width >= LEAST.width and self.extent.height >= LEAST.height:
                self.draw()

    def render_line(self, y: int) -> Strip:
        # The canvas leaves lines without a style that it has not got yet, for which Textual's NO_COLOR has no answer.
        return super().render_line(y) if y < self.extent.height else Strip.blank(self.size.width, self.rich_style)

    def palette(self) -> Palette:
        """The styles of numbers where the sheet stands."""
        accent = self.get_component_styles("sheet--here").color
        return palette_for(self) if accent.ansi is not None else palette_for(self, accent.hex6)

    def write(self, x: int, y: int, text: str, style: str, room: int | None = None) -> int:
        """Write text from a cell on, in at most ``room`` cells, and give the cell after it; what is outside is cut."""
        width, height = self.extent
        room = width - x if room is None else min(room, width - x)
        if not 0 <= y < height or x < 0 or room <= 0:
            return x
        text = cut(text, room)
        start, taken = x, 0
        for end, character in enumerate(text, 1):
            now = end if text.isascii() else cell_len(text[:end])
            if now <= taken and taken:
                # A combining mark belongs to the cell before it.
                self._join(start + taken - 1, y, character)
            for cell in range(taken, now):
                self.set_pixel(start + cell, y, character if cell == taken else "", style)
            taken = max(taken, now)
        return start + taken

    def write_line(self, y: int, left: Sequence[Group], right: Sequence[Group] = ()) -> None:
        """Groups from the left, as many as fit whole, the first in any case; then others up to the right edge.

        Where there is no room for some of the left ones, it is shown that there are more.
        """
        x, end = 1, self.extent.width - 1
        for number, group in enumerate(left):
            mark = 0 if number == len(left) - 1 else cell_len(MORE)
            if number and x + cells(group) + mark > end:
                x = self.write(x, y, MORE, group[0].style, end - x)
                break
            x = self._write_group(x, y, group)
        kept = list(right)
        while kept and x + APART + sum(map(cells, kept)) > self.extent.width - 1:
            kept.pop()
        x = self.extent.width - 1 - sum(map(cells, kept))
        for group in kept:
            x = self._write_group(x, y, group)

    def _write_group(self, x: int, y: int, group: Group) -> int:
        for part in group:
            end = self.write(x, y, part.text, part.style, self.extent.width - 1 - x)
            if part.call is not None:
                self.spot(Region(x, y, end - x, 1), part.call)
            x = end
        return x

    def _join(self, x: int, y: int, mark: str) -> None:
        while x and not self.get_pixel(x, y)[0]:
            x -= 1
        before, style = self.get_pixel(x, y)
        self.set_pixel(x, y, before + mark, style)

    def stroke(self, strokes: Strokes, left: int, top: int) -> None:
        """Draw strokes, their first cell at a place of the sheet."""
        for ink in strokes.inks():
            self.set_hires_pixels(((left + x, top + y) for x, y in ink.points), style=ink.style)

    def spot(self, area: Region, call: Callable[[], object]) -> None:
        """Make an area do something when it is clicked."""
        self._spots.append((area, call))

    def at(self, x: int, y: int) -> Callable[[], object] | None:
        """What a click on a cell does."""
        return next((call for area, call in self._spots if area.contains(x, y)), None)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        call = None if offset is None else self.at(offset.x, offset.y)
        if call is not None:
            event.stop()
            call()

    def on_resize(self) -> None:
        self.paint()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_attached:
            self.paint()


def cells(group: Group) -> int:
    """How many cells a group takes."""
    return sum(cell_len(part.text) for part in group)
