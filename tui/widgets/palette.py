"""The styles of numbers: a table for each theme and terminal, built once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from textual.app import App
from textual.widget import Widget

from tui.widgets.numbers import Kind
from tui.widgets.scales import BLACK, RGB, WHITE, Depth, Inks, contrast, rgb, scales

PLAIN, ZERO, MASKED, NAN, INFINITE = range(5)
"""The levels that stand on no scale; `ZERO` is a share of exactly nothing."""

_OFF_SCALE = 5

# What is not marked keeps so much of its size on the scale: it recedes, and can still be read.
FADED = 0.6

DEFAULT_HERE = "#f2b368"


def color_depth(app: App[Any]) -> Depth:
    """What the app's terminal can show; "none" where NO_COLOR is set, even empty, since Textual then draws in greys."""
    if app.no_color:
        return "none"
    match app.console.color_system:
        case "truecolor":
            return "truecolor"
        case "256":
            return "256"
        case "standard" | "windows":
            return "16"
        case _:
            return "none"


@dataclass(frozen=True, eq=False)
class Palette:
    """Every style that a matrix is drawn with.

    `normal`, `faded`, `cursor` and `edge` (the frame around the cursor's cell) are indexed by level; see `levels`.
    `signed_steps` levels lie on each side of `signed_zero`, `share_steps` above `share_zero`.
    """

    depth: Depth
    signed_steps: int
    share_steps: int
    normal: tuple[Style, ...]
    faded: tuple[Style, ...]
    cursor: tuple[Style, ...]
    edge: tuple[Style, ...]
    blank: Style
    label: Style
    quiet: Style
    here: Style
    mark: Style

    @classmethod
    def build(
        cls, dark: bool, depth: Depth, background: str, foreground: str | None = None, here: str = DEFAULT_HERE
    ) -> Palette:
        """The palette for a page of these colours; asked again, the same object.

        Args:
            dark: whether the theme is a dark one.
            background: the page's colour as ``#rrggbb``, or ``default`` for the terminal's own.
            foreground: the colour of text; near white or near black if left out.
            here: the accent that means *here*.
        """
        return _build(dark, depth, background, foreground or ("#d8d8d8" if dark else "#202020"), here)

    @property
    def prints_digits(self) -> bool:
        """Whether a heat cell has to print its sign and size, because colours cannot tell them."""
        return self.depth in ("16", "none")

    @property
    def signed_zero(self) -> int:
        """The level in the middle of the signed scale."""
        return _OFF_SCALE + self.signed_steps

    @property
    def share_zero(self) -> int:
        """The level at the bottom of the scale of shares."""
        return self.signed_zero + self.signed_steps + 1

    def levels(self, values: NDArray[np.floating], kind: Kind, limit: float) -> NDArray[np.int16]:
        """The level of each value, in an array of the same shape.

        That of a share goes with its square root, for most shares of a long text are small.

        Args:
            limit: the magnitude at the end of the scale; larger ones stay at the end.
        """
        finite = np.isfinite(values)
        if kind == "ids":
            levels = np.full(values.shape, PLAIN, np.int16)
        else:
            zero, lowest, steps = (
                (self.signed_zero, -1, self.signed_steps)
                if kind == "signed"
                else (self.share_zero, 0, self.share_steps)
            )
            if kind == "mask":
                # The 1s of a mask are to be seen, not to outshine the numbers beside it.
                limit = 2.0
            limit = limit if np.isfinite(limit) and limit > 0 else 1.0
            with np.errstate(over="ignore"):
                scaled = np.where(finite, values, 0) / limit
            if kind == "share":
                scaled = np.sqrt(np.maximum(scaled, 0))
            levels = (np.rint(np.clip(scaled, lowest, 1) * steps) + zero).astype(np.int16)
        if kind in ("share", "mask"):
            levels[values == 0] = ZERO
        if not finite.all():
            levels[np.isnan(values)] = NAN
            levels[np.isposinf(values)] = INFINITE
            levels[np.isneginf(values)] = MASKED
        return levels

    def style(self, level: int) -> Style:
        """How a cell of this level looks when nothing is special about it."""
        return self.normal[level]


def palette_for(widget: Widget, here: str | None = None) -> Palette:
    """The palette that suits a widget where it stands: its background and text colour, the theme, the terminal.

    ``here`` is the accent; the theme's own if left out.
    """
    if here is None:
        accent = widget.app.theme_variables["accent"]
        here = accent if accent.startswith("#") else DEFAULT_HERE
    _, _, background, foreground = widget.colors
    own = background.ansi is not None
    return Palette.build(
        dark=widget.app.current_theme.dark,
        depth=color_depth(widget.app),
        background="default" if own else background.hex6,
        foreground=None if own or foreground.ansi is not None else (background + foreground).hex6,
        here=here,
    )


@lru_cache(32)
def _build(dark: bool, depth: Depth, background: str, foreground: str, here: str) -> Palette:
    default = background == "default"
    page = (BLACK if dark else WHITE) if default else rgb(background)
    colors = scales(depth, dark, page, rgb(foreground), rgb(here))
    inks = Inks(colors)
    accent = inks.accent
    signed, share = len(colors.positive), len(colors.share)
    grounds = [
        *(colors.nothing, colors.nothing, colors.nothing, colors.warning, colors.warning),
        *reversed(colors.negative),
        colors.nothing,
        *colors.positive,
        colors.nothing,
        *colors.share,
    ]
    zero, share_zero = _OFF_SCALE + signed, _OFF_SCALE + 2 * signed + 1
    text = [inks.on(ground) for ground in grounds]
    text[ZERO], text[MASKED] = inks.quiet(colors.nothing), inks.quiet(colors.nothing)
    if colors.faint:
        for level, ink in zip((zero - 1, zero + 1), colors.faint, strict=True):
            text[level] = inks.on(grounds[level], ink)

    def faded(level: int) -> Style:
        if level < _OFF_SCALE:
            return _style(inks.quiet(grounds[level]), grounds[level])
        base = zero if level <= zero + signed else share_zero
        fainter = grounds[base + round((level - base) * FADED)]
        return _style(inks.quiet(fainter), fainter)

    def edge(level: int) -> Style:
        seen = contrast(accent, grounds[level]) >= 2
        return _style(accent if seen else text[level], grounds[level], bold=True)

    def on_page(ink: RGB, *, bold: bool = False, underline: bool = False) -> Style:
        style = _style(ink, colors.page, bold=bold, underline=underline)
        return style + Style(bgcolor="default") if default else style

    levels = range(len(grounds))
    reverse = depth in ("16", "none")
    return Palette(
        depth=depth,
        signed_steps=signed,
        share_steps=share,
        normal=tuple(_style(text[level], grounds[level]) for level in levels),
        faded=tuple(faded(level) for level in levels),
        cursor=tuple(_style(text[n], grounds[n], bold=True, underline=True, reverse=reverse) for n in levels),
        edge=tuple(edge(level) for level in levels),
        blank=on_page(colors.foreground),
        label=on_page(inks.on(colors.page)),
        quiet=on_page(inks.quiet(colors.page)),
        here=on_page(accent, bold=True, underline=depth == "none"),
        mark=on_page(accent, bold=True),
    )


@lru_cache(1024)
def _color(color: RGB) -> Color:
    return Color.from_rgb(*color)


def _style(ink: RGB, background: RGB, *, bold: bool = False, underline: bool = False, reverse: bool = False) -> Style:
    return Style(
        color=_color(ink),
        bgcolor=_color(background),
        bold=bold or None,
        underline=underline or None,
        reverse=reverse or None,
    )
