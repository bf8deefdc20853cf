"""Characters that are drawn as shapes: lines, blocks and dots meet at the edges of their cells, whatever the font is.

A cell is `ACROSS` wide and `DOWN` high. A shape is path data (https://www.w3.org/TR/SVG2/paths.html) and a kind, which
says how the path is painted.
"""

from __future__ import annotations

from typing import Literal

ACROSS, DOWN = 10, 20

Kind = Literal["block", "solid", "thin", "thick", "dots"]

PAINTS: dict[Kind, str] = {
    "block": "fill:{ink};shape-rendering:crispEdges",
    "solid": "fill:{ink}",
    "thin": "fill:none;stroke:{ink};stroke-width:1.4",
    "thick": "fill:none;stroke:{ink};stroke-width:3",
    "dots": "fill:none;stroke:{ink};stroke-width:3.8;stroke-linecap:round",
}
"""CSS for each kind, in one colour."""

# Left, top, width and height in eighths of a cell.
BLOCKS = (
    {"█": (0, 0, 8, 8), "▀": (0, 0, 8, 4), "▐": (4, 0, 4, 8), "▔": (0, 0, 8, 1), "▕": (7, 0, 1, 8)}
    | {character: (0, 0, 7 - n, 8) for n, character in enumerate("▉▊▋▌▍▎▏")}
    | {character: (0, 7 - n, 8, 1 + n) for n, character in enumerate("▁▂▃▄▅▆▇")}
)
# To which sides of the cell a line leads from its middle.
LINES: dict[str, tuple[Kind, str]] = {
    "─": ("thin", "lr"),
    "│": ("thin", "ud"),
    "┌": ("thin", "rd"),
    "┐": ("thin", "ld"),
    "└": ("thin", "ur"),
    "┘": ("thin", "ul"),
    "├": ("thin", "udr"),
    "┤": ("thin", "udl"),
    "┬": ("thin", "lrd"),
    "┴": ("thin", "lru"),
    "┼": ("thin", "lrud"),
    "━": ("thick", "lr"),
    "┃": ("thick", "ud"),
}
# From the middle of the left or the right side to that of the bottom or the top.
CURVES = {"╮": "M{l} {m}q5 0 5 10", "╭": "M{r} {m}q-5 0 -5 10", "╰": "M{r} {m}q-5 0 -5 -10", "╯": "M{l} {m}q5 0 5 -10"}
SIDES = {"l": (0, 10), "r": (10, 10), "u": (5, 0), "d": (5, 20)}
# Corners, counted from the cell's.
SOLIDS = {
    "▸": ((3, 7), (8, 11), (3, 15)),
    "◂": ((7, 7), (2, 11), (7, 15)),
    "▾": ((1, 8), (9, 8), (5, 14)),
    "▴": ((1, 14), (9, 14), (5, 8)),
    "▶": ((1, 5), (9, 11), (1, 17)),
    "◀": ((9, 5), (1, 11), (9, 17)),
    "▼": ((0, 6), (10, 6), (5, 15)),
    "▲": ((0, 15), (10, 15), (5, 6)),
    "▪": ((2, 8), (8, 8), (8, 14), (2, 14)),
}
DIAGONALS = {"╱": ((0, 20), (10, 0)), "╲": ((0, 0), (10, 20))}
# The bits of a braille character, by where they stand: two across, four down.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BRAILLE = 0x2800


def is_shape(character: str) -> bool:
    """Whether a character is drawn as a shape."""
    return (
        character in BLOCKS
        or character in LINES
        or character in CURVES
        or character in SOLIDS
        or character in DIAGONALS
        or BRAILLE <= ord(character[0]) < BRAILLE + 0x100
    )


def shape(character: str, column: int, line: int, count: int = 1) -> tuple[Kind, str]:
    """How a character is drawn that stands ``count`` times side by side, the first at a column of a line."""
    left, top = column * ACROSS, line * DOWN
    if character in BLOCKS:
        return "block", _blocks(BLOCKS[character], left, top, count)
    if character in LINES:
        kind, sides = LINES[character]
        return kind, _lines(sides, left, top, count)
    cells = range(left, left + count * ACROSS, ACROSS)
    if character in CURVES:
        return "thin", "".join(CURVES[character].format(l=x, r=x + ACROSS, m=top + DOWN // 2) for x in cells)
    if character in SOLIDS:
        return "solid", "".join(_joined(SOLIDS[character], x, top) + "z" for x in cells)
    if character in DIAGONALS:
        return "thin", "".join(_joined(DIAGONALS[character], x, top) for x in cells)
    return "dots", "".join(_dots(ord(character) - BRAILLE, x, top) for x in cells)


def _blocks(eighths: tuple[int, int, int, int], left: int, top: int, count: int) -> str:
    x, y, width, height = eighths
    if width == 8:
        return rectangle(left, top + y * DOWN / 8, count * ACROSS, height * DOWN / 8)
    return "".join(
        rectangle(left + n * ACROSS + x * ACROSS / 8, top, width * ACROSS / 8, height * DOWN / 8) for n in range(count)
    )


def _lines(sides: str, left: int, top: int, count: int) -> str:
    if sides == "lr":
        return f"M{left} {top + DOWN // 2}h{count * ACROSS}"
    drawn = []
    for x in range(left, left + count * ACROSS, ACROSS):
        for side in sides:
            across, down = SIDES[side]
            drawn.append(f"M{x + 5} {top + 10}L{x + across} {top + down}")
    return "".join(drawn)


def _joined(corners: tuple[tuple[int, int], ...], left: int, top: int) -> str:
    return "M" + "L".join(f"{left + x} {top + y}" for x, y in corners)


def _dots(bits: int, left: int, top: int) -> str:
    # Of a path that leads nowhere some draw no caps.
    return "".join(
        f"M{left + 2.5 + 5 * x:g} {top + 2.5 + 5 * y:g}h.1"
        for y, pair in enumerate(DOTS)
        for x, bit in enumerate(pair)
        if bits & bit
    )


def rectangle(left: float, top: float, width: float, height: float) -> str:
    """The path around a rectangle."""
    return f"M{left:g} {top:g}h{width:g}v{height:g}h{-width:g}z"
