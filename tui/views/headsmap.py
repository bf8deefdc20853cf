"""Every head of every layer as a small map of its weights, to find the one that does something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from textual.geometry import Region
from textual.message import Message

from engine.heads import Measure, description
from engine.stages import Stage
from engine.trace import Trace
from tui.language import Language
from tui.session import Session
from tui.views import headswords
from tui.views.attention import Attention, attention_name, attention_stages, nearest_weights, needed
from tui.views.headsgrid import Plan, plan
from tui.views.pens import Pens, pens
from tui.views.sheet import APART, Part, Sheet
from tui.views.thumbnails import LEVELS, SHADES, Raster, half_blocks, levels, pixels
from tui.widgets.palette import Palette

# From these heights on there is a title with a legend, and a second line to read; from the next on blank lines too.
TITLED, AIRY = 11, 14
# A label stands beside a map's frame and a blank.
FRAME_AND_BLANK = 2

Place = tuple[int, int]
"""A row, and the head in it."""


class HeadsMap(Sheet):
    """Shows every head of the session's trace; see `wanted`, `update` and `update_cursor`.

    The parent chooses keys: `move` and `open`. A click opens a head.
    """

    DEFAULT_CSS = """
    HeadsMap { width: 1fr; height: 1fr; }
    """

    @dataclass
    class HeadChosen(Message):
        """A head of a stage of weights was chosen."""

        stage: str
        head: int

    @dataclass
    class HeadFramed(Message):
        """The frame stands around another head of a stage of weights; ``layer_changed`` if it was another stage's."""

        stage: str
        head: int
        layer_changed: bool

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._trace: Trace | None = None
        self._attentions: list[Attention] = []
        self._pictures: dict[tuple[int, Raster], NDArray[np.float32]] = {}
        # The cells of the longest label.
        self._label = 0
        self._here: Place = (0, 0)

    # What is to be shown

    def wanted(self) -> list[Stage]:
        """The stages that must have been computed before `update`."""
        return [each for stage in attention_stages(self._session.trace) for each in needed(stage)]

    def update(self) -> None:
        """Show what the session looks at, all anew."""
        session = self._session
        if self._trace is not session.trace or any(each.text != session.text for each in self._attentions):
            self._trace = session.trace
            self._attentions = [
                Attention(session.trace, stage, session.text) for stage in attention_stages(session.trace)
            ]
            self._pictures.clear()
            found = [description(head) for each in self._attentions for head in each.measures]
            self._label = max((cell_len(self._say(f"heads.{best.name}")) for best in found if best), default=0)
        self.tell("" if self._attentions else self._say("graph.none"))
        self.update_cursor()

    def update_cursor(self) -> None:
        """Go to the head that the session looks at."""
        session = self._session
        stage = nearest_weights(session.trace, session.trace.stages[session.position])
        for row, attention in enumerate(self._attentions):
            if attention.stage is stage:
                self._here = row, min(session.head, attention.heads - 1)
        self.paint()

    def wait(self, message: str) -> None:
        """Say that the numbers are still being computed."""
        self.tell(message)
        self.paint()

    @property
    def lines(self) -> int:
        """How many lines the maps take where there is room."""
        tokens = max((max(attention.sight.shape) for attention in self._attentions), default=1)
        heads = max((attention.heads for attention in self._attentions), default=1)
        whole = plan(len(self._attentions), heads, tokens, self.size.width, 1000, label=self._label, wide=False)
        # A title and a header, a blank line, what is measured and what that is.
        return 6 + whole.rows * whole.down

    @property
    def chosen(self) -> tuple[str, int]:
        """The stage and the head that are framed."""
        row, head = self._here
        return self._attentions[row].stage.name, head

    @property
    def about(self) -> list[str]:
        """What the map is, in paragraphs."""
        return headswords.about(self._say)

    # What the keys do

    def move(self, down: int, across: int) -> None:
        """Frame another head."""
        if self.is_ready:
            before = self._here[0]
            row = max(0, min(before + down, len(self._attentions) - 1))
            self._here = row, max(0, min(self._here[1] + across, self._attentions[row].heads - 1))
            self.paint()
            self.post_message(self.HeadFramed(*self.chosen, row != before))

    def open(self) -> None:
        """Choose the head that is framed."""
        if self.is_ready:
            self.post_message(self.HeadChosen(*self.chosen))

    def _open_at(self, place: Place) -> None:
        self._here = place
        self.paint()
        self.open()

    # Drawing

    def draw(self) -> None:
        width, height = self.extent
        palette = self.palette()
        ink = pens(palette)
        names = [attention_name(attention.stage, self._say) for attention in self._attentions]
        gutter = max(cell_len(name) for name in names) + 3
        titled, air = height >= TITLED, int(height >= AIRY)
        measured = headswords.most_lines(self._attentions, self._room, self._say, ink) if air else 1
        reading = 0 if height < 6 else measured + titled
        top = 1 + titled
        count = max(attention.heads for attention in self._attentions)
        shown = plan(
            len(names),
            count,
            max(max(attention.sight.shape) for attention in self._attentions),
            width - gutter - 1,
            height - top - reading - air,
            label=self._label,
            wide=palette.prints_digits,
        )
        rows = _window(self._here[0], shown.rows, len(names))
        heads = _window(self._here[1], shown.columns, count)
        if titled:
            attention = self._attentions[self._here[0]]
            self.write_line(0, headswords.title(attention, _raster(attention, shown), palette, self._say, ink))
        self._write_margins(names, rows, heads, count, gutter, top, shown, ink)
        for line, row in enumerate(rows):
            for number, head in enumerate(heads):
                if head < self._attentions[row].heads:
                    x, y = gutter + number * shown.across, top + line * shown.down
                    self._draw_head((row, head), x, y, shown, palette, ink)
        if reading:
            self._write_reading(min(height - reading, top + len(rows) * shown.down + air), reading, ink)

    def _write_margins(
        self,
        names: list[str],
        rows: range,
        heads: range,
        count: int,
        gutter: int,
        top: int,
        shown: Plan,
        ink: Pens,
    ) -> None:
        """What the rows and columns are called, and whether there are more of them."""
        row, column = self._here
        header = top - 1
        for number, head in enumerate(heads):
            style = ink.bold if head == column else ink.quiet
            name = self._say("graph.head", head=head)
            name = name if cell_len(name) < shown.across else str(head)
            self.write(gutter + number * shown.across, header, name, style)
        if heads.start > 0:
            self.write(gutter - 2, header, "◂", ink.quiet)
        if heads.stop < count:
            self.write(self.extent.width - 1, header, "▸", ink.quiet)
        for line, each in enumerate(rows):
            y = top + line * shown.down
            self.write(1, y, names[each], ink.bold if each == row else ink.quiet)
        if rows.start > 0:
            self.write(0, top, "▴", ink.quiet)
        if rows.stop < len(names):
            self.write(0, top + (len(rows) - 1) * shown.down, "▾", ink.quiet)

    def _draw_head(self, place: Place, x: int, y: int, shown: Plan, palette: Palette, ink: Pens) -> None:
        row, head = place
        attention = self._attentions[row]
        raster = _raster(attention, shown)
        if (row, raster) not in self._pictures:
            self._pictures[row, raster] = pixels(attention.all_weights(), attention.sight, raster)
        picture = self._pictures[row, raster][head]
        if palette.prints_digits:
            width, lines = 2 * raster.across, raster.down
            self._draw_shades(picture, x, y, ink)
        else:
            width, lines = raster.across, (raster.down + 1) // 2
            self._draw_blocks(picture, x, y, palette)
        if place == self._here:
            for line in range(y, y + lines):
                # Of the last line an odd number of pixels fills the upper half.
                half = not palette.prints_digits and 2 * (line - y) + 1 == raster.down
                self.write(x - 1, line, "▝" if half else "▐", ink.bold)
                self.write(x + width, line, "▘" if half else "▌", ink.bold)
        best = description(attention.measures[head])
        if best is not None and shown.labels != "none":
            self._write_label(best, x, y, shown, ink.number if place == self._here else ink.label)
        self.spot(Region(x - 1, y, shown.across, shown.down), partial(self._open_at, place))

    def _draw_blocks(self, picture: NDArray[np.float32], x: int, y: int, palette: Palette) -> None:
        styles = half_blocks(palette)
        steps = levels(picture, LEVELS)
        if len(steps) % 2:
            steps = np.pad(steps, ((0, 1), (0, 0)), constant_values=-1)
        for line, (upper, lower) in enumerate(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True)):
            for column, pair in enumerate(zip(upper, lower, strict=True)):
                self.set_pixel(x + column, y + line, "▀", styles[pair])

    def _draw_shades(self, picture: NDArray[np.float32], x: int, y: int, ink: Pens) -> None:
        for line, row in enumerate(levels(picture, len(SHADES)).tolist()):
            self.write(x, y + line, "".join(SHADES[max(0, step)] * 2 for step in row), ink.label)

    def _write_label(self, best: Measure, x: int, y: int, shown: Plan, style: str) -> None:
        name, short = self._say(f"heads.{best.name}"), self._say(f"heads.{best.name}_short")
        number = f"{best.value:.2f}"
        if shown.labels == "side":
            x, room = x + shown.width + FRAME_AND_BLANK, shown.across - shown.width - FRAME_AND_BLANK - 1
            self.write(x, y, name if cell_len(name) <= room else short, style, room)
            self.write(x, y + 1, number, style, room)
            return
        forms = (f"{name} {number}", f"{short} {number}", f"{short} {number[1:]}", short)
        room = shown.across - 1
        self.write(x, y + shown.lines, next((form for form in forms if cell_len(form) <= room), ""), style)

    def _write_reading(self, y: int, lines: int, ink: Pens) -> None:
        """What can be measured of the head that is framed, and what the numbers are."""
        row, head = self._here
        attention = self._attentions[row]
        noted = lines > 1
        shown = headswords.measure_lines(attention, head, self._room, self._say, ink)
        if not noted or len(shown) > lines - 1:
            shown = [headswords.measure_line(attention, head, self._say, ink, even=noted)]
        for line, groups in enumerate(shown):
            self.write_line(y + line, groups)
        if noted:
            self._write_notes(y + len(shown), ink)

    @property
    def _room(self) -> int:
        """The cells of a line between the sheet's edges."""
        return self.extent.width - 2

    def _write_notes(self, y: int, ink: Pens) -> None:
        """What the numbers are, in whole phrases, and the key that opens the head."""
        say = self._say
        even, opening = say("heads.even_value"), say("heads.open")
        room = self.extent.width - 2 - cell_len(even) - cell_len(opening) - APART
        forms = (f" · {note}" for note in (say("heads.note"), say("heads.note_short")))
        note = next((form for form in forms if cell_len(form) <= room), "")
        self.write_line(y, [[Part(f"{even}{note}", ink.quiet)]], [[Part(opening, ink.quiet, self.open)]])


def _raster(attention: Attention, shown: Plan) -> Raster:
    return Raster.fitting(len(attention.query_labels), len(attention.key_labels), shown.pixels)


def _window(here: int, shown: int, count: int) -> range:
    """So many around one."""
    first = max(0, min(here - shown // 2, count - shown))
    return range(first, first + shown)
