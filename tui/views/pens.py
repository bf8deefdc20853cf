"""The styles of a picture of attention: one accent for what the token looked at sees, greys for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.color import Color
from rich.style import Style

from tui.widgets.palette import Palette
from tui.widgets.scales import BLACK, RGB, SIXTEEN, WHITE, luminance, mix

# A stroke's rank is how many of these its weight reaches.
GREY_STEPS = (0.15, 0.35, 0.65)
ACCENT_STEPS = (0.2, 0.55)

# How far the strokes of each rank are from the page to the text's colour, or to the accent.
GREYS = (0.22, 0.36, 0.52, 0.70)
ACCENTS = (0.62, 0.8, 1.0)
FAINT = 0.4

# The groups of strokes, the higher over the lower.
CUT, OTHERS, HERE = range(3)


@dataclass(frozen=True)
class Pens:
    """Styles as the canvas takes them: as text."""

    cut: str
    others: tuple[str, ...]
    """By rank."""
    here: tuple[str, ...]
    label: str
    quiet: str
    query: str
    """The token that looks stands on the accent, as at the top of the screen …"""
    key: str
    """… the one that is looked at is written in it."""
    both: str
    number: str
    bold: str
    strong: str

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The styles of `CUT`, `OTHERS` and `HERE`."""
        return (self.cut,), self.others, self.here


def rank(weight: float, steps: Sequence[float]) -> int:
    """How strong a stroke is, from 0."""
    return sum(weight >= step for step in steps)


@lru_cache(32)
def pens(palette: Palette) -> Pens:
    """The pens that go with a palette."""
    page, ink, accent = _colors(palette)
    greys = tuple(mix(page, ink, share) for share in GREYS)
    accents = tuple(mix(page, accent, share) for share in ACCENTS)
    faint = mix(page, ink, FAINT)
    if palette.depth != "truecolor":
        # A darker accent would have another hue there, or be a grey like any other.
        accents = (accent,) * len(ACCENTS)
    if palette.depth == "none":
        greys = tuple(mix(page, ink, share * 0.75) for share in GREYS)
    elif palette.depth == "16":
        faint, strong = SIXTEEN[8], SIXTEEN[7] if luminance(page) < 0.5 else SIXTEEN[8]
        greys = (faint, faint, strong, strong)

    def on_page(color: RGB) -> str:
        return str(Style(color=Color.from_rgb(*color), bgcolor=palette.blank.bgcolor))

    on_accent = Style(color=Color.from_rgb(*page), bgcolor=Color.from_rgb(*accent), bold=True)
    return Pens(
        cut=on_page(faint),
        others=tuple(map(on_page, greys)),
        here=tuple(map(on_page, accents)),
        label=str(palette.label),
        quiet=str(palette.quiet),
        query=str(on_accent),
        key=str(palette.mark + Style(underline=True)),
        both=str(on_accent + Style(underline=True)),
        number=on_page(accent),
        bold=str(palette.mark),
        strong=str(palette.label + Style(bold=True)),
    )


def _colors(palette: Palette) -> tuple[RGB, RGB, RGB]:
    """The colours of the page, the text and the accent."""
    ink = _rgb(palette.blank.color, WHITE)
    page = _rgb(palette.blank.bgcolor, BLACK if luminance(ink) > 0.5 else WHITE)
    return page, ink, _rgb(palette.mark.color, ink)


def _rgb(color: Color | None, default: RGB) -> RGB:
    if color is None or color.is_default:
        return default
    red, green, blue = color.get_truecolor()
    return red, green, blue
