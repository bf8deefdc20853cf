"""Where a legend stands: under the result if there is a line for it, else wherever its equation leaves room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Left of a title, a pane is empty for so many columns.
INDENT = 2
# Between a title and a legend.
APART = 3


class Block(NamedTuple):
    """A part of an equation: the columns it takes from the top down to a line, and how long its title is."""

    left: int
    right: int
    bottom: int
    title: int = 0


class Spot(NamedTuple):
    """The column and line at which something may begin, and how many columns it may take."""

    x: int
    y: int
    room: int


def spot(blocks: Sequence[Block], width: int, height: int, least: int, wanted: int) -> Spot | None:
    """A place for a legend of ``wanted`` columns, or of ``least``, beside blocks of which the last is the result.

    None where there is no room at all.
    """
    spots = [found for found in _spots(blocks, width, height, wanted) if found.room >= least]
    return next(
        (found for found in spots if found.room >= wanted), max(spots, key=lambda each: each.room, default=None)
    )


def _spots(blocks: Sequence[Block], width: int, height: int, wanted: int) -> Iterator[Spot]:
    """The places there are, the best first."""
    result = blocks[-1]
    beside_title = result.left + INDENT + result.title + APART
    # Under the result, or under what is shorter; without a line between only if need be.
    for between in (1, 0):
        for block in (result, *blocks[:-1]):
            y = block.bottom + between
            if y < height:
                yield _on_line(blocks, y, between, block.left + INDENT, width, wanted)
        if between:
            yield Spot(beside_title, 0, width - beside_title)


def _on_line(blocks: Sequence[Block], y: int, between: int, x: int, width: int, wanted: int) -> Spot:
    """On this line, as near to a column as leaves the room wanted, if there is that much."""
    taken = [block for block in blocks if block.bottom + between > y]
    start = max((block.right + 1 for block in taken if block.right <= x), default=INDENT)
    end = min((block.left - 1 for block in taken if block.right > x), default=width)
    x = max(start, min(x, end - wanted))
    return Spot(x, y, end - x)
