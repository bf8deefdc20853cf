"""A text that looks at another: its tokens above, the other's below, and lines that lead down from query to key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual.geometry import Region

from tui.views.arcs import BACK_ARROW, Layer
from tui.views.attention import Edge, Picture
from tui.views.pens import ACCENT_STEPS, CUT, GREY_STEPS, HERE, OTHERS, Pens, rank
from tui.views.sheet import Sheet
from tui.views.strokes import ACROSS, DOWN, Points, Strokes, dotted, line
from tui.views.tokenrow import TokenRow

# More cut edges than these are not drawn; the weights' line says of each key whether it is cut.
MOST_CUT = 4
# On fewer lines than these the edges of all queries are a mesh in which none can be followed.
CLEAR = 8


def links(picture: Picture, queries: Iterable[int], lines: int) -> list[Edge]:
    """The edges to draw on so many lines: where they are too few, only those from the query looked at."""
    return picture.edges(queries) if lines >= CLEAR else picture.own


def draw_links(
    sheet: Sheet,
    picture: Picture,
    edges: Sequence[Edge],
    queries: dict[int, float],
    keys: dict[int, float],
    area: Region,
    ink: Pens,
    *,
    small: bool = False,
) -> Layer:
    """Draw edges between queries, at these dots along the top, and keys along the bottom, the later on top."""
    strokes = Strokes(area.width, area.height, ink.groups)
    bottom = area.height * DOWN - DOWN

    def straight(query: int, key: int) -> Points:
        return line((queries[query], 0.0), (keys[key], float(bottom)))

    for key in [key for key in picture.cut if key in keys and picture.query in queries][:MOST_CUT]:
        strokes.add(CUT, 0, dotted(straight(picture.query, key)))
    heads: dict[int, str] = {}
    for number, edge in enumerate(edges):
        if edge.key not in keys:
            continue
        mine = edge.query == picture.query
        strength = rank(edge.weight, ACCENT_STEPS if mine else GREY_STEPS)
        thickness = min(strength + 1, 2 if small or area.height < 4 else 3) if mine else 1
        strokes.add(HERE if mine else OTHERS, strength, straight(edge.query, edge.key), thickness, number)
        if mine or not small:
            heads[int(keys[edge.key] // ACROSS)] = (ink.here if mine else ink.others)[strength]
    sheet.stroke(strokes, area.x, area.y)
    for x, style in heads.items():
        sheet.write(area.x + x, area.bottom - 1, BACK_ARROW, style)
    return Layer(strokes, area.x, area.y, edges)


def middles(row: TokenRow) -> dict[int, float]:
    """Where the edges of a row's tokens meet them, in dots from the sheet's left edge."""
    return {token: (place.label_left + cell_len(place.label) / 2) * ACROSS - 0.5 for token, place in row.places.items()}


def write_row(sheet: Sheet, row: TokenRow, here: int, y: int, style: str, ink: Pens) -> None:
    """The tokens of one of the two texts, the one looked at marked."""
    for token, place in row.places.items():
        sheet.write(place.label_left, y, place.label, style if token == here else ink.label)
    for gap in row.gaps:
        sheet.write(gap.left, y, gap.text, ink.quiet)
