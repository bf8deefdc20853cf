"""A text that looks at itself: tokens in a row; arcs above them look back, arcs below them look ahead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual.geometry import Region

from tui.views.attention import Edge, Picture
from tui.views.pens import ACCENT_STEPS, CUT, GREY_STEPS, HERE, OTHERS, Pens, rank
from tui.views.shares import share_text
from tui.views.sheet import Sheet
from tui.views.strokes import ACROSS, DOWN, Points, Strokes, arc, dotted
from tui.views.tokenrow import TokenRow

# More cut edges than these are drawn as one, to the farthest.
MOST_CUT = 4
BACK_ARROW, AHEAD_ARROW, CROSS = "▾", "▴", "✕"
# How an arc's height grows with its length, and the most dots of height for a dot of length: more looks like a spike.
FLATNESS, STEEP = 0.7, 0.6

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
    def of(cls, lines: int, ahead: bool, cut: bool, *, back: bool = True) -> Halves:
        """As much room for both where there are edges ahead and ``back``; all of it for those ahead if they are alone;
        else a little below for what is cut, if anything is.
        """
        if ahead and not back:
            return cls(0, lines)
        below = lines // 2 if ahead else min(4, lines * 2 // 5 if lines < 9 else lines // 4) if cut else 0
        return cls(lines - below, below)


def natural_lines(span: int, ahead: bool, cut: bool) -> int:
    """The lines at which the longest arc over so many cells is half of a circle: a line is as high as two cells."""
    back = max(3, math.ceil(span / 4) + 1)
    return back + (back if ahead else min(4, max(2, back // 3)) if cut else 0)


@dataclass(frozen=True)
class Curves:
    """The arcs above a row of tokens, or below it: the longer, the higher.

    ``reach`` is the length of the longest, which is as high as there are ``lines``; one to the token itself is
    ``least`` dots high.
    """

    ports: Ports
    lines: int
    least: int
    reach: float

    @classmethod
    def of(cls, ports: Ports, pairs: Iterable[tuple[int, int]], lines: int, least: int) -> Curves:
        """The arcs of these queries and keys."""
        reach = max((_length(_ends(ports, *pair)) for pair in pairs if pair[0] != pair[1]), default=0.0)
        return cls(ports, lines, min(least, max(2, lines * DOWN // 4)), max(reach, 1.0))

    def arc(self, query: int, key: int) -> Points:
        """The arc of an edge; one that leads back, or to the token itself, is above."""
        left, right = _ends(self.ports, query, key)
        most = self.lines * DOWN - 2
        length = 0.0 if query == key else _length((left, right))
        height = min(self.least + (most - self.least) * (length / self.reach) ** FLATNESS, self.least + length * STEEP)
        return arc(left, right, self.lines * DOWN - 1, height) if key <= query else arc(left, right, 0, -height)

    def foot(self, query: int, key: int) -> int:
        """The cell in which an edge arrives at its key."""
        left, right = _ends(self.ports, query, key)
        return int((left if key < query else right) // ACROSS)


def _ends(ports: Ports, query: int, key: int) -> tuple[float, float]:
    """The left and the right end of an edge: between two tokens, or on the inner side of both ports of a single one."""
    if query != key:
        first, last = sorted((query, key))
        return ports[first][1], ports[last][0]
    left, right = ports[query]
    inside = ACROSS if right - left > 4 * ACROSS else 0
    return left + inside, max(right - inside, left + inside + 1)


def _length(ends: tuple[float, float]) -> float:
    return max(0.0, ends[1] - ends[0])


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

    The ports' dots are counted from its left edge. ``small`` arcs are thin, and only those from the token looked at
    have arrows. The shortest are ``least`` dots high.
    """
    layers = []
    for ahead, lines in ((False, halves.back), (True, halves.ahead)):
        if not lines:
            continue
        strokes = Strokes(area.width, lines, ink.groups)
        top = area.bottom - lines if ahead else area.y
        mine = picture.query
        cut = _cut_shown(picture, ports, ahead)
        drawn = [(n, e) for n, e in enumerate(edges) if (e.key > e.query) == ahead and e.key in ports]
        pairs = [*((mine, key) for key in cut), *((edge.query, edge.key) for _, edge in drawn)]
        curves = Curves.of(ports, pairs, lines, least)
        for key in cut:
            strokes.add(CUT, 0, dotted(curves.arc(mine, key)))
        heads: dict[int, str] = {}
        for number, edge in drawn:
            here = edge.query == mine
            strength = rank(edge.weight, ACCENT_STEPS if here else GREY_STEPS)
            thickness = min(strength + 1, 2 if small or lines < 3 else 3) if here else 1
            points = curves.arc(edge.query, edge.key)
            strokes.add(HERE if here else OTHERS, strength, points, thickness, number)
            if here or not small:
                heads[curves.foot(edge.query, edge.key)] = (ink.here if here else ink.others)[strength]
        sheet.stroke(strokes, area.x, top)
        y, arrow = (top, AHEAD_ARROW) if ahead else (top + lines - 1, BACK_ARROW)
        for x, style in heads.items():
            sheet.write(area.x + x, y, arrow, style)
        layers.append(Layer(strokes, area.x, top, edges))
    return layers


def _cut_shown(picture: Picture, ports: Ports, ahead: bool) -> list[int]:
    """The keys to which cut edges are drawn."""
    cut = [key for key in picture.cut if key in ports and (key > picture.query) == ahead]
    return cut if len(cut) <= MOST_CUT else [cut[-1] if ahead else cut[0]]


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
        sheet.write(place.left + (place.width - len(text)) // 2, y, text, style)
