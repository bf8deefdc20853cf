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

# From the widest legend to the narrowest: the cells of a gradient on each side of zero, and whether zero is named.
SCALES = ((8, True), (4, True), (2, True), (1, True), (1, False))
NO_SCALE = (0, False)


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

    _scale = SCALES[0]
    _says_masked = True

    def render(self) -> Content:
        cells, zero = self._scale
        return legend(
            palette_for(self),
            self.kind,
            self.limit,
            low=self.low,
            high=self.high,
            masked=self.masked if self._says_masked else "",
            cells=cells,
            zero=zero,
            glyphs=self.glyphs,
        )

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide a gradient as there is room for, beside the word on masked cells as long as both fit."""
        alone = [(False, scale) for scale in SCALES]
        narrow = [(True, NO_SCALE), *alone] if self.masked and self.printed else alone
        for says_masked, scale in [*((True, scale) for scale in SCALES), *narrow]:
            self._says_masked, self._scale = says_masked, scale
            if self.render().cell_length <= container.width:
                break
        return self.render().cell_length


def legend(
    palette: Palette,
    kind: Kind,
    limit: float,
    *,
    low: float | None = None,
    high: float | None = None,
    masked: str = "",
    cells: int = 8,
    zero: bool = True,
    glyphs: Glyphs = UNICODE,
) -> Content:
    """The colour scale from the smallest to the largest value, as ``−3.3 ▇▇▇▇ 0 ▇▇▇▇ 14.4``.

    Where colours cannot tell numbers apart, it says what the digits stand for: ``−9…+9 = −14.4…14.4``.

    Args:
        limit: the magnitude at the end of the colour scale.
        low: the smallest value there is; −`limit`, or 0 for shares, if left out.
        high: the largest value there is; `limit` if left out.
        masked: what to say of masked cells, for a grid that has some.
        cells: the width of the gradient on each side of zero; 0 for no scale at all.
        zero: whether zero is named where the gradient passes through it.
    """
    parts: list[Content] = []
    if kind in ("signed", "share") and cells:
        low = (0.0 if kind == "share" else -limit) if low is None else low
        high = limit if high is None else high
        if palette.prints_digits:
            parts.append(_digits(palette, kind, limit, glyphs))
        else:
            parts.append(_gradient(palette, kind, limit, low, high, cells, zero, glyphs))
    if masked:
        swatch = Content.styled(glyphs.hatch * 2, Style.from_rich_style(palette.normal[MASKED]))
        parts.append(Content.assemble(swatch, " ", Content.styled(masked, _ink(palette.quiet))))
    return Content("   ").join(parts)


def _gradient(
    palette: Palette, kind: Kind, limit: float, low: float, high: float, cells: int, zero: bool, glyphs: Glyphs
) -> Content:
    """A scale that passes through zero can say where; one that does not starts at its own end."""
    numbers = NumberFormat.fitting(kind, max(abs(low), abs(high)), glyphs=glyphs)
    stops = [low, 0.0, high] if low < 0 < high else [low, high]
    swatches = [_swatches(palette, kind, limit, start, stop, cells) for start, stop in itertools.pairwise(stops)]
    ends = [_end(palette, numbers, stop) for stop in stops]
    if not zero:
        return Content(" ").join([ends[0], Content("").join(swatches), ends[-1]])
    between = [part for pair in zip(swatches, ends[1:], strict=True) for part in pair]
    return Content(" ").join([ends[0], *between])


def _swatches(palette: Palette, kind: Kind, limit: float, start: float, stop: float, cells: int) -> Content:
    centres = np.linspace(start, stop, 2 * cells + 1)[1::2]
    levels = palette.levels(centres, kind, limit).tolist()
    return Content.assemble(*((" ", Style.from_rich_style(palette.normal[level])) for level in levels))


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
