"""What a screen is made of, as marks to draw: every character in its cell, whatever the font is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any, Literal

from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.segment import Segment
from rich.style import Style
from textual.app import App

from tui.demo.glyphs import ACROSS, DOWN, PAINTS, is_shape, rectangle, shape

# Wide characters are set a little larger than others, and take nearly all of their two cells.
WIDE_SIZE = 18
BASELINE = 15
UNDER, THROUGH = 17, 11
# What every monospaced font has; a character that may come from another one is squeezed into its cell.
SURE = frozenset(map(chr, [*range(0x20, 0x100), *range(0x391, 0x3CA)])) | frozenset("−→←↑↓√∞≈≠≤≥…“”‘’–—")

Layer = Literal["ground", "shapes", "text"]
LAYERS: tuple[Layer, ...] = ("ground", "shapes", "text")
Room = Literal["sure", "wide", "squeezed"]


@dataclass(frozen=True)
class Mark:
    """What is drawn in one way on one line of a screen.

    Attributes:
        style: CSS.
        drawn: path data; of text, an element ``<text class="…`` from there on, without its end.
    """

    layer: Layer
    style: str
    drawn: str


@dataclass(frozen=True)
class Paper:
    """What a screen is drawn on: columns and lines, and the colours of its ground, its text and its frame."""

    columns: int
    lines: int
    ground: str
    ink: str
    edge: str


@dataclass(frozen=True)
class Drawing:
    """A screen, ready to be drawn."""

    paper: Paper
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Look:
    """How a character looks, its colours as ``#rrggbb``."""

    ink: str
    ground: str
    bold: bool
    italic: bool
    underlined: bool
    struck: bool

    @property
    def font(self) -> str:
        """CSS for the character itself."""
        return f"fill:{self.ink}{';font-weight:bold' * self.bold}{';font-style:italic' * self.italic}"


@dataclass(frozen=True)
class Cell:
    """A character, with the marks that belong to it, where it stands, and how many columns it takes."""

    text: str
    column: int
    width: int
    look: Look

    @property
    def room(self) -> Room:
        """What is done so that it keeps to its cells."""
        return "wide" if self.width == 2 else "sure" if self.text[0] in SURE else "squeezed"


def drawing(app: App[Any]) -> Drawing:
    """The screen that an app shows."""
    theme = app.current_theme
    ink = theme.foreground or "#808080"
    paper = Paper(app.size.width, app.size.height, theme.background or "#000000", ink, theme.panel or ink)
    # Textual itself gives out rich's picture of a screen, in which Chinese is squeezed into half its room
    # (https://github.com/Textualize/rich/issues/2742), and lines and blocks are a font's.
    return drawn_lines(app.screen._compositor.render_strips(), paper)


def drawn_lines(lines: Iterable[Iterable[Segment]], paper: Paper) -> Drawing:
    """Lines of text on a paper."""
    found = (mark for number, line in enumerate(lines) for mark in _line(list(_cells(line, paper)), number, paper))
    return Drawing(paper, tuple(found))


def _cells(segments: Iterable[Segment], paper: Paper) -> Iterator[Cell]:
    column = 0
    for segment in segments:
        look, here = _look(segment.style or Style.null(), paper), column
        for text in _characters(segment.text):
            width = cell_len(text)
            yield Cell(text, here, width, look)
            here += width
        column += segment.cell_length


def _characters(text: str) -> Iterator[str]:
    """The characters, each with those of no width that follow it."""
    whole = ""
    for character in text:
        if whole and cell_len(character):
            yield whole
            whole = ""
        whole += character
    if whole:
        yield whole


def _look(style: Style, paper: Paper) -> Look:
    ink, ground = _hex(style.color, paper.ink), _hex(style.bgcolor, paper.ground)
    if style.reverse:
        ink, ground = ground, ink
    if style.dim:
        ink = blend_rgb(Color.parse(ink).get_truecolor(), Color.parse(ground).get_truecolor(), 0.4).hex
    return Look(ink, ground, bool(style.bold), bool(style.italic), bool(style.underline), bool(style.strike))


def _hex(color: Color | None, default: str) -> str:
    return default if color is None or color.is_default else color.get_truecolor().hex


def _line(cells: list[Cell], line: int, paper: Paper) -> Iterator[Mark]:
    """What is drawn on a line: one mark for all that looks alike, but one for each character that is squeezed."""
    paths: dict[tuple[Layer, str], list[str]] = defaultdict(list)
    texts: dict[tuple[str, Room], list[Cell]] = defaultdict(list)
    for ground, run in groupby(cells, key=lambda cell: cell.look.ground):
        if ground.lower() != paper.ground.lower():
            data = _bar(list(run), line * DOWN, DOWN)
            paths["ground", PAINTS["block"].format(ink=ground)].append(data)
    for (text, look), run in groupby(cells, key=lambda cell: (cell.text, cell.look)):
        alike = list(run)
        if is_shape(text):
            kind, data = shape(text, alike[0].column, line, len(alike))
            paths["shapes", PAINTS[kind].format(ink=look.ink)].append(data)
        elif text.strip():
            texts[look.font, alike[0].room] += alike
    for look, run in groupby(cells, key=lambda cell: cell.look):
        if look.underlined or look.struck:
            data = _bar(list(run), line * DOWN + (UNDER if look.underlined else THROUGH), 1.2)
            paths["shapes", PAINTS["solid"].format(ink=look.ink)].append(data)
    for (layer, style), drawn in paths.items():
        yield Mark(layer, style, "".join(drawn))
    for (style, room), of in texts.items():
        for part in [[cell] for cell in of] if room == "squeezed" else [of]:
            yield Mark("text", style, _text(part, line, room))


def _bar(cells: list[Cell], top: float, height: float) -> str:
    """A rectangle as wide as cells that stand side by side."""
    width = sum(cell.width for cell in cells)
    return rectangle(cells[0].column * ACROSS, top, width * ACROSS, height)


def _text(cells: list[Cell], line: int, room: Room) -> str:
    """An element for characters, each of which has its own place, from the name of its class on."""
    if room == "squeezed":
        (cell,) = cells
        fit = f'textLength="{ACROSS}" lengthAdjust="spacingAndGlyphs"'
        return f'" y="{line * DOWN + BASELINE}" x="{cell.column * ACROSS}" {fit}>{escape(cell.text, quote=False)}'
    parts = [_part(run, room) for run in _runs(cells, room)]
    return f'{" w" if room == "wide" else ""}" y="{line * DOWN + BASELINE}">{"".join(parts)}'


def _runs(cells: list[Cell], room: Room) -> Iterator[list[Cell]]:
    """Characters that stand side by side; of wide ones, which are not as wide as their cells, each by itself.

    Browsers put every character where it is told to be. Who only heeds the place of the first is not far out.
    """
    run: list[Cell] = []
    for cell in cells:
        if run and (room == "wide" or cell.column != run[-1].column + run[-1].width):
            yield run
            run = []
        run.append(cell)
    yield run


def _part(cells: list[Cell], room: Room) -> str:
    spare = (2 * ACROSS - WIDE_SIZE) // 2 if room == "wide" else 0
    places: list[str] = []
    for cell in cells:
        # A place is given for each unit of UTF-16; of those that are one character together, the first counts.
        places += [f"{cell.column * ACROSS + spare}"] * (len(cell.text.encode("utf-16-le")) // 2)
    return f'<tspan x="{" ".join(places)}">{escape("".join(cell.text for cell in cells), quote=False)}</tspan>'
