"""A text that looks at itself: tokens in a row; arcs above them look back, arcs below them look ahead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.geometry import Region

from tui.views.attention import Edge, Picture
from tui.views.pens import ACCENT_STEPS, CUT, GREY_STEPS, HERE, OTHERS, Pens, rank
from tui.views.sheet import Sheet
from tui.views.strokes import ACROSS, DOWN, Points, Strokes, arc, dotted
from tui.views.tokenrow import TokenRow

# More cut edges than these are drawn as one, to the farthest.
MOST_CUT = 4
BACK_ARROW, AHEAD_ARROW, CROSS = "▾", "▴", "✕"

Ports = Mapping[int, tuple[float, float]]
"""Where the edges of each token that is shown meet it, in dots: those of tokens before it and of those after it."""


@dataclass(frozen=True)
class Layer:
    """Strokes on a sheet, and the edges that own them."""

    strokes: Strokes
    left: int
    top: int
    edges: Sequence[Edge]

    def edge(self, x: int, y: int) -> Edge | None:
        """The edge that passes a cell of the sheet."""
        owner = self.strokes.owner(x - self.left, y - self.top)
        return None if owner is None else self.edges[owner]


@dataclass(frozen=True)
class Halves:
    """How many lines the arcs have above the tokens and below them."""

    back: int
    ahead: int

    @classmethod
    def of(cls, lines: int, ahead: bool) -> Halves:
        """As much room for both where tokens may look ahead; else there is little below: what is cut."""
        below = lines // 2 if ahead else min(4, lines * 2 // 5 if lines < 9 else lines // 4)
        return cls(lines - below, below)


def natural_lines(span: int, ahead: bool) -> int:
    """The lines at which the longest arc over so many cells is half of a circle: a line is as high as two cells."""
    back = max(3, math.ceil(span / 4) + 1)
    return back + (back if ahead else min(4, max(2, back // 3)))


def ports(row: TokenRow) -> Ports:
    """The ports of a row's tokens, in dots from the sheet's left edge."""
    return {token: (place.before * ACROSS, place.after * ACROSS + ACROSS - 1.0) for token, place in row.places.items()}


def draw_arcs(
    sheet: Sheet,
    picture: Picture,
    edges: Sequence[Edge],
    ports: Ports,
    area: Region,
    halves: Halves,
    ink: Pens,
    *,
    small: bool = False,
    least: int = DOWN + 2,
) -> list[Layer]:
    """Draw edges between tokens that have ports, in an area's first and last lines, the later over the earlier.

    The ports' dots are counted from its left edge. ``small`` arcs are thin and have no arrows. The shortest are
    ``least`` dots high.
    """
    reach = max(max(pair) for pair in ports.values()) - min(min(pair) for pair in ports.values())
    layers = []
    for ahead, lines in ((False, halves.back), (True, halves.ahead)):
        if not lines:
            continue
        strokes = Strokes(area.width, lines, ink.groups)
        top = area.bottom - lines if ahead else area.y
        for key in _cut_shown(picture, ports, ahead):
            strokes.add(CUT, 0, dotted(_arc(ports, picture.query, key, lines, reach, least)))
        heads: dict[int, str] = {}
        for number, edge in enumerate(edges):
            if (edge.key > edge.query) != ahead or edge.key not in ports:
                continue
            mine = edge.query == picture.query
            strength = rank(edge.weight, ACCENT_STEPS if mine else GREY_STEPS)
            thickness = min(strength + 1, 2 if small or lines < 3 else 3) if mine else 1
            points = _arc(ports, edge.query, edge.key, lines, reach, least)
            strokes.add(HERE if mine else OTHERS, strength, points, thickness, number)
            before, after = ports[edge.key]
            heads[int((before if ahead else after) // ACROSS)] = (ink.here if mine else ink.others)[strength]
        sheet.stroke(strokes, area.x, top)
        if not small:
            for x, style in heads.items():
                y, arrow = (top, AHEAD_ARROW) if ahead else (top + lines - 1, BACK_ARROW)
                sheet.write(area.x + x, y, arrow, style)
        layers.append(Layer(strokes, area.x, top, edges))
    return layers


def _cut_shown(picture: Picture, ports: Ports, ahead: bool) -> list[int]:
    """The keys to which cut edges are drawn."""
    cut = [key for key in picture.cut if key in ports and (key > picture.query) == ahead]
    return cut if len(cut) <= MOST_CUT else [cut[-1] if ahead else cut[0]]


def _arc(ports: Ports, query: int, key: int, lines: int, reach: float, least: int) -> Points:
    """The longer an edge, the higher; one that leads back leaves its query's left port for its key's right one."""
    if query == key:
        left, right = ports[query]
        span = 0.0
        right = max(right, left + 1)
    else:
        first, last = sorted((query, key))
        left, right = ports[first][1], ports[last][0]
        span = right - left
    most = lines * DOWN - 2
    least = min(most, least)
    height = least + (most - least) * (max(span, 0) / max(reach, 1)) ** 0.6
    return arc(left, right, lines * DOWN - 1, height) if key <= query else arc(left, right, 0, -height)


def write_tokens(sheet: Sheet, picture: Picture, row: TokenRow, y: int, ink: Pens) -> None:
    """The tokens of a row that are both queries and keys, the two looked at marked."""
    for token, place in row.places.items():
        query, key = token == picture.query, token == picture.key
        style = ink.both if query and key else ink.query if query else ink.key if key else ink.label
        sheet.write(place.label_left, y, place.label, style)
    for gap in row.gaps:
        sheet.write(gap.left, y, gap.text, ink.quiet)


def write_weights(sheet: Sheet, picture: Picture, row: TokenRow, y: int, ink: Pens) -> None:
    """Under each key the weight that the query gives it, or that the mask has cut the edge."""
    shown = {edge.key for edge in picture.own}
    for token, place in row.places.items():
        if not picture.sight[picture.query, token]:
            text, style = CROSS, ink.quiet
        else:
            text = share_text(float(picture.weights[picture.query, token]), row.number_width)
            style = ink.number if token in shown else ink.quiet
            if token == picture.key:
                style = ink.bold if token in shown else ink.strong
        sheet.write(place.label_left + (cell_len(place.label) - len(text)) // 2, y, text, style)


def share_text(share: float, width: int) -> str:
    """A share in so many cells: exactly 0 is ``0``; 0.97 is ``.97`` in three."""
    if share == 0:
        return "0"
    return f"{share:.2f}" if width > 3 else f"{share:.1f}" if share >= 0.995 else f"{share:.2f}"[1:]
