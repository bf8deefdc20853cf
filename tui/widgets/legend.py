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


class Legend(Widget):
    """The scale of a grid of this `kind` and `limit`, whose values lie from `low` to `high`; see `legend`."""

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
    glyphs = reactive(UNICODE, layout=True)

    _cells = 8
    _says_masked = True

    def render(self) -> Content:
        return legend(
            palette_for(self),
            self.kind,
            self.limit,
            low=self.low,
            high=self.high,
            masked=self.masked if self._says_masked else "",
            cells=self._cells,
            glyphs=self.glyphs,
        )

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide a gradient as there is room for; the word on masked cells goes before the gradient does."""
        for says_masked, cells in ((True, 8), (True, 4), (False, 8), (False, 4), (False, 1)):
            self._says_masked, self._cells = says_masked, cells
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
    glyphs: Glyphs = UNICODE,
) -> Content:
    """The colour scale from the smallest to the largest value, as ``−3.3 ▇▇▇▇ 0 ▇▇▇▇ 14.4``.

    Where colours cannot tell numbers apart, it says what the digits stand for: ``−9…+9 = −14.4…14.4``.

    Args:
        limit: the magnitude at the end of the colour scale.
        low: the smallest value there is; −`limit`, or 0 for shares, if left out.
        high: the largest value there is; `limit` if left out.
        masked: what to say of masked cells, for a grid that has some.
        cells: the width of the gradient on each side of zero.
    """
    parts: list[Content] = []
    if kind in ("signed", "share"):
        low = (0.0 if kind == "share" else -limit) if low is None else low
        high = limit if high is None else high
        if palette.prints_digits:
            parts.append(_digits(palette, kind, limit, glyphs))
        else:
            parts.append(_gradient(palette, kind, limit, low, high, cells, glyphs))
    if masked:
        swatch = Content.styled(glyphs.hatch * 2, Style.from_rich_style(palette.normal[MASKED]))
        parts.append(Content.assemble(swatch, " ", Content.styled(masked, _ink(palette.quiet))))
    return Content("   ").join(parts)


def _gradient(
    palette: Palette, kind: Kind, limit: float, low: float, high: float, cells: int, glyphs: Glyphs
) -> Content:
    """A scale that passes through zero says where; one that does not starts at its own end."""
    numbers = NumberFormat.fitting(kind, max(abs(low), abs(high)), glyphs=glyphs)
    stops = [low, 0.0, high] if low < 0 < high else [low, high]
    parts = [_end(palette, numbers, stops[0])]
    for start, stop in itertools.pairwise(stops):
        parts += [_swatches(palette, kind, limit, start, stop, cells), _end(palette, numbers, stop)]
    return Content(" ").join(parts)


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
