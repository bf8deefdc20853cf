"""All heads of an attention side by side, each as a small graph under its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.geometry import Region, Size

from tui.naming import cut_name
from tui.views.arcs import (
    AHEAD_ARROW,
    BACK_ARROW,
    CROSS,
    Halves,
    Layer,
    Ports,
    draw_arcs,
    natural_lines,
    ports,
    write_tokens,
)
from tui.views.attention import Limits, Picture
from tui.views.links import draw_links, links, write_row
from tui.views.pens import Pens
from tui.views.shares import listed_text
from tui.views.sheet import Sheet
from tui.views.strokes import ACROSS
from tui.views.tokenrow import TokenRow, whole_row

LEAST = Size(8, 4)
BETWEEN = 2
NAME = 1
# Where tokens are too near to one another for their names, of each only what it sees most.
CROWDED = Limits(0.25, 1)
# How many dots high the shortest arcs are.
ROUND, LOW = 6, 2
# The cells between a head's name and the weight, and the lines from which on there is room for what is cut.
NAMED, ROOM_TO_CUT = 2, 3


@dataclass(frozen=True)
class Panel:
    """Where a head is drawn."""

    head: int
    area: Region


def arranged(picture: Picture, area: Region) -> list[Panel]:
    """Panels for as many heads as there is room for, the one looked at among them."""
    count, wish = picture.attention.heads, wished(picture)
    rows = max(range(1, count + 1), key=lambda rows: _merit(_size(area, -(-count // rows), rows), wish))
    columns = -(-count // rows)
    if not _merit(_size(area, columns, rows), wish):
        rows = max(1, area.height // LEAST.height)
        columns = max(1, (area.width + BETWEEN) // (LEAST.width + BETWEEN))
    size = _size(area, columns, rows)
    width, height = min(size.width, wish.width * 2), min(size.height, wish.height)
    # A blank line between two rows is enough.
    down_to_next = min(size.height, height + 1)
    shown = min(count, rows * columns)
    first = max(0, min((picture.head or 0) - shown // 2, count - shown))
    panels = []
    for number in range(shown):
        down, across = divmod(number, columns)
        corner = area.x + across * (width + BETWEEN), area.y + down * down_to_next
        panels.append(Panel(first + number, Region(*corner, width, height)))
    return panels


def _size(area: Region, columns: int, rows: int) -> Size:
    return Size((area.width + BETWEEN) // columns - BETWEEN, area.height // rows)


def _merit(size: Size, wish: Size) -> float:
    """How near panels of a size come to what is wished; 0 for those on which nothing can be seen."""
    if size.width < LEAST.width or size.height < max(LEAST.height, wish.height // 2):
        return 0.0
    return min(1.0, size.width / wish.width) * min(1.0, size.height / wish.height)


def wished(picture: Picture) -> Size:
    """The size of a panel on which the whole text is legible, within reason."""
    attention = picture.attention
    longest = max(map(_compact, (attention.query_labels, attention.key_labels)))
    width = max(12, min(longest, 36))
    arcs = natural_lines(width, attention.looks_ahead, not picture.sight.all())
    return Size(width, (8 if attention.crosses else min(10, arcs + 1)) + NAME)


def _compact(labels: Sequence[str]) -> int:
    return sum(max(2, min(8, cell_len(label))) + 1 for label in labels)


@dataclass(frozen=True)
class Side:
    """The tokens of a text along a panel, by name where there is room for all; else only the one looked at is named."""

    labels: Sequence[str]
    here: int
    row: TokenRow | None
    ports: Ports

    @classmethod
    def of(cls, labels: Sequence[str], here: int, width: int) -> Side:
        """The side of a panel that is so many cells wide."""
        row = whole_row(labels, 0, width)
        if row is not None:
            return cls(labels, here, row, ports(row))
        places = ((number + 0.5) / len(labels) * width * ACROSS for number in range(len(labels)))
        return cls(labels, here, None, {token: (place, place) for token, place in enumerate(places)})

    @property
    def middles(self) -> dict[int, float]:
        """Where lines to the tokens end."""
        return {token: sum(pair) / 2 for token, pair in self.ports.items()}

    def write(self, sheet: Sheet, x: int, y: int, mark: str, style: str, ink: Pens) -> None:
        """Write the tokens, or ``mark`` where the one looked at is, and its name beside it."""
        if self.row is not None:
            write_row(sheet, self.row.moved(x), self.here, y, style, ink)
            return
        at = x + int(self.middles[self.here] // ACROSS)
        label = cut_name(self.labels[self.here], 10)
        before = at - 1 - cell_len(label)
        sheet.write(at, y, mark, ink.bold)
        sheet.write(before if before >= x else at + 2, y, label, ink.number)


def draw_panel(sheet: Sheet, picture: Picture, panel: Panel, name: str, here: bool, ink: Pens) -> list[Layer]:
    """Draw one head, under its name and the weight between the query and the key looked at."""
    area = panel.area
    weight = CROSS
    if picture.sight[picture.query, picture.key]:
        weight = listed_text(float(picture.weights[picture.query, picture.key]))
    end = sheet.write(area.x, area.y, name, ink.bold if here else ink.quiet, area.width)
    if end + NAMED + len(weight) <= area.right:
        sheet.write(end + NAMED, area.y, weight, ink.bold if here else ink.quiet)
    below = Region(area.x, area.y + NAME, area.width, max(2, area.height - NAME))
    return (_draw_two if picture.attention.crosses else _draw_one)(sheet, picture, below, ink)


def _draw_one(sheet: Sheet, picture: Picture, area: Region, ink: Pens) -> list[Layer]:
    side = Side.of(picture.attention.query_labels, picture.query, area.width)
    lines = area.height - 1
    halves = Halves.of(lines, picture.attention.looks_ahead, bool(picture.cut) and lines >= ROOM_TO_CUT)
    edges, least = picture.edges(side.ports), ROUND
    if side.row is None:
        # With more tokens than cells not even one edge of each could be followed.
        edges, least = picture.own if len(side.labels) > area.width else picture.edges(side.ports, CROWDED), LOW
    layers = draw_arcs(sheet, picture, edges, side.ports, area, halves, ink, small=True, least=least)
    y = area.y + halves.back
    if side.row is None:
        side.write(sheet, area.x, y, AHEAD_ARROW, ink.query, ink)
    else:
        write_tokens(sheet, picture, side.row.moved(area.x), y, ink)
    return layers


def _draw_two(sheet: Sheet, picture: Picture, area: Region, ink: Pens) -> list[Layer]:
    attention = picture.attention
    upper = Side.of(attention.query_labels, picture.query, area.width)
    lower = Side.of(attention.key_labels, picture.key, area.width)
    between = Region(area.x, area.y + 1, area.width, max(1, area.height - 2))
    edges = links(picture, upper.ports, between.height)
    layer = draw_links(sheet, picture, edges, upper.middles, lower.middles, between, ink, small=True)
    upper.write(sheet, area.x, area.y, BACK_ARROW, ink.query, ink)
    lower.write(sheet, area.x, between.bottom, AHEAD_ARROW, ink.key, ink)
    return [layer]
