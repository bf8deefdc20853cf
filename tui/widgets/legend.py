"""What the colours of a matrix mean, on one line."""

from __future__ import annotations

import itertools

import numpy as np
from rich.style import Style as RichStyle
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from tui.widgets.numbers import UNICODE, Glyphs, Kind, NumberFormat
from tui.widgets.palette import MASKED, Palette, palette_for

# From the widest legend to the narrowest: the cells of a gradient on each side of its middle, and whether that has a
# place of its own between them.
SCALES = ((8, True), (4, True), (2, True), (2, False))
NO_SCALE = (0, False)
# The share in the middle of the scale, for colours go with the square root.
MIDDLE_SHARE = 0.25


class Legend(Widget):
    """The scale of a grid of this `kind` and `limit`, whose values lie from `low` to `high`; see `legend`.

    Where there is little room, the gradient shrinks before the word on `masked` cells is lost; and where the matrix is
    `printed` in numbers, which need no scale, that goes first.
    """

    DEFAULT_CSS = """
    Legend {
        width: auto;
        height: 1;
    }
    """

    kind: reactive[Kind] = reactive[Kind]("signed", layout=True)
    limit = reactive(1.0, layout=True)
    low: reactive[float | None] = reactive[float | None](None, layout=True)
    high: reactive[float | None] = reactive[float | None](None, layout=True)
    masked = reactive("", layout=True)
    printed = reactive(False, layout=True)
    glyphs = reactive(UNICODE, layout=True)

    room = reactive(0, layout=True)
    """How many columns it may take; as many as its container has if 0."""

    _form = (True, SCALES[0])

    def render(self) -> Content:
        return self._content(*self._form)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide a gradient as there is room for, beside the word on masked cells as long as both fit."""
        room = min(self.room or container.width, container.width)
        forms = self._forms()
        self._form = next((form for form in forms if self._content(*form).cell_length <= room), forms[-1])
        return self.render().cell_length

    def widths(self) -> tuple[int, int]:
        """How many columns it takes at least, and at most."""
        lengths = [self._content(*form).cell_length for form in self._forms()]
        return min(lengths), max(lengths)

    def _content(self, says_masked: bool, scale: tuple[int, bool]) -> Content:
        cells, apart = scale
        return legend(
            palette_for(self),
            self.kind,
            self.limit,
            low=self.low,
            high=self.high,
            masked=self.masked if says_masked else "",
            cells=cells,
            apart=apart,
            glyphs=self.glyphs,
        )

    def _forms(self) -> list[tuple[bool, tuple[int, bool]]]:
        """What it may say, the most first: whether what is masked is named, and the scale."""
        alone = [(False, scale) for scale in SCALES] if self.masked else []
        narrow = [(True, NO_SCALE)] if self.masked and self.printed else alone
        return [*((True, scale) for scale in SCALES), *narrow]


def legend(
    palette: Palette,
    kind: Kind,
    limit: float,
    *,
    low: float | None = None,
    high: float | None = None,
    masked: str = "",
    cells: int = 8,
    apart: bool = True,
    glyphs: Glyphs = UNICODE,
) -> Content:
    """The colour scale from the smallest to the largest value, as ``−3.3 ▇▇▇▇ 0 ▇▇▇▇ 14.4``.

    Shares have a quarter in their middle: ``0 ▇▇▇▇ 0.25 ▇▇▇▇ 1``. Where colours cannot tell numbers apart, it says
    what the digits stand for: ``−9…+9 = −14.4…14.4``.

    Args:
        limit: the magnitude at the end of the colour scale.
        low: the smallest value there is; −`limit`, or 0 for shares, if left out.
        high: the largest value there is; `limit` if left out.
        masked: what to say of masked cells, for a grid that has some.
        cells: the width of the gradient on each side of its middle; 0 for no scale at all.
        apart: whether the middle is named between two gradients; if not, on the middle cells of a single one.
    """
    parts: list[Content] = []
    if kind in ("signed", "share") and cells:
        low = (0.0 if kind == "share" else -limit) if low is None else low
        high = limit if high is None else high
        if palette.prints_digits:
            parts.append(_digits(palette, kind, limit, glyphs))
        else:
            parts.append(_gradient(palette, kind, limit, low, high, cells, apart, glyphs))
    if masked:
        swatch = Content.styled(glyphs.hatch * 2, Style.from_rich_style(palette.normal[MASKED]))
        parts.append(Content.assemble(swatch, " ", Content.styled(masked, _ink(palette.quiet))))
    return Content("   ").join(parts)


def _gradient(
    palette: Palette, kind: Kind, limit: float, low: float, high: float, cells: int, apart: bool, glyphs: Glyphs
) -> Content:
    """A scale with what stands in its middle, where there is such: zero of a signed one, a quarter of shares."""
    numbers = NumberFormat.fitting(kind, max(abs(low), abs(high)), glyphs=glyphs)
    stops = [low, 0.0, high] if low < 0 < high else [low, high]
    if kind == "share" and low < MIDDLE_SHARE < high:
        stops = [low, MIDDLE_SHARE, high]
    centres = [_centres(start, stop, cells, bent=kind == "share") for start, stop in itertools.pairwise(stops)]
    ends = [_end(palette, numbers, stop) for stop in stops]
    if apart:
        swatches = [_swatches(palette, kind, limit, part) for part in centres]
        between = [part for pair in zip(swatches, ends[1:], strict=True) for part in pair]
        return Content(" ").join([ends[0], *between])
    if len(stops) == 2:
        return Content(" ").join(
            [ends[0], _swatches(palette, kind, limit, _centres(low, high, 2 * cells + 1, bent=False)), ends[-1]]
        )
    below, above = (_swatches(palette, kind, limit, part) for part in centres)
    name = numbers.shortest(stops[1])
    middle = _swatches(palette, kind, limit, [stops[1]], name.removeprefix("0") or name)
    return Content(" ").join([ends[0], Content("").join([below, middle, above]), ends[-1]])


def _centres(start: float, stop: float, cells: int, *, bent: bool) -> list[float]:
    """The values at the middle of so many cells: evenly, or bent as colours go with the square root."""
    if not bent:
        return [float(value) for value in np.linspace(start, stop, 2 * cells + 1)[1::2]]
    return [float(value) ** 2 for value in np.linspace(start**0.5, stop**0.5, 2 * cells + 1)[1::2]]


def _swatches(palette: Palette, kind: Kind, limit: float, values: list[float], text: str = " ") -> Content:
    levels = palette.levels(np.array(values), kind, limit).tolist()
    return Content.assemble(*((text, Style.from_rich_style(palette.normal[level])) for level in levels))


def _digits(palette: Palette, kind: Kind, limit: float, glyphs: Glyphs) -> Content:
    top = NumberFormat.fitting(kind, limit, glyphs=glyphs).shortest(limit)
    to, minus = glyphs.ellipsis, glyphs.minus
    text = f"0{to}9 = 0{to}{top}" if kind == "share" else f"{minus}9{to}+9 = {minus}{top}{to}{top}"
    return Content.styled(text, _ink(palette.quiet))


def _end(palette: Palette, numbers: NumberFormat, value: float) -> Content:
    return Content.styled(numbers.shortest(value), _ink(palette.quiet))


def _ink(style: RichStyle) -> Style:
    """The style without its background, which is the page's."""
    return Style(foreground=Style.from_rich_style(style).foreground)
