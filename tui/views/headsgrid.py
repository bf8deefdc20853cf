"""How the maps of all heads share a screen: how large they are, where their labels stand, how many can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Labels = Literal["side", "below", "none"]

# The most and the fewest pixels across or down that a map is drawn with, and how many a token takes at most.
LARGEST, SMALLEST = 24, 4
MOST_PIXELS = 4
# Cells for a frame, left and right.
FRAME = 2
# A short label beside a map, and under one.
SIDE, BELOW = 7, 6
# Beside a label are the frame and two blanks; under a map, a number stands behind it and a blank before the next.
AROUND_SIDE, AROUND_BELOW = 3, 6
# The next map need not be farther away than this.
APART = 18
# Labels may make the maps smaller, but not smaller than this share.
WORTH = 0.6


@dataclass(frozen=True)
class Plan:
    """Maps of ``pixels`` by ``pixels`` in ``width`` cells and ``lines`` lines, and how far the next one is."""

    pixels: int
    width: int
    lines: int
    across: int
    down: int
    labels: Labels
    rows: int
    columns: int


def plan(rows: int, columns: int, tokens: int, width: int, height: int, *, label: int, wide: bool) -> Plan:
    """The largest maps with which all heads can be seen; where they are too many, small ones and as many as fit.

    Args:
        rows: how many layers (or attentions).
        columns: the most heads of one.
        tokens: the longer side of the largest matrix.
        label: the cells of the longest label that a head has; 0 if none has one.
        wide: whether a pixel takes two cells of a line, instead of the half of one.
    """
    sizes = _sizes(tokens)
    bare = next((found for size in sizes if (found := _fit(size, rows, columns, width, height, "none", wide))), None)
    if bare is None:
        return _some(rows, columns, sizes[-1], width, height, wide)
    # Whole labels are worth a smaller map; where there is no room for them, short ones are.
    for cells in (label, 1) if label else ():
        for size in (size for size in sizes if size >= WORTH * bare.pixels):
            for side in ("side", "below"):
                found = _fit(size, rows, columns, width, height, side, wide, cells)
                if found is not None:
                    return found
    return bare


def _sizes(tokens: int) -> list[int]:
    """Pixels across and down, the most first: whole multiples of the tokens, then fewer than tokens."""
    whole = [times * tokens for times in range(MOST_PIXELS, 0, -1) if times * tokens <= LARGEST]
    return [*whole, *range(min(tokens - 1, LARGEST), SMALLEST - 1, -1)] or [tokens]


def _room(size: int, wide: bool) -> tuple[int, int, int]:
    """The cells and lines of a map, and the blank lines below: the half of a line is enough."""
    return (2 * size, size, 1) if wide else (size, (size + 1) // 2, 1 - size % 2)


def _fit(
    size: int, rows: int, columns: int, width: int, height: int, labels: Labels, wide: bool, label: int = 0
) -> Plan | None:
    own, lines, blank = _room(size, wide)
    down = lines + (1 if labels == "below" else blank)
    across = min(width // columns, own + APART)
    least = {
        "none": own + FRAME,
        "side": own + max(FRAME + SIDE, AROUND_SIDE + label),
        "below": max(own + FRAME, BELOW, AROUND_BELOW + label),
    }[labels]
    fits = across >= least and lines >= (2 if labels == "side" else 1)
    needed = rows * down - (0 if labels == "below" else blank)
    if not fits or needed > height:
        return None
    if labels == "below" and needed + rows - 1 <= height:
        # Nearer to its own map than to the next.
        down += 1
    return Plan(size, own, lines, across, down, labels, rows, columns)


def _some(rows: int, columns: int, size: int, width: int, height: int, wide: bool) -> Plan:
    own, lines, blank = _room(size, wide)
    across, down = max(own + FRAME, min(width // columns, own + APART)), lines + blank
    shown = max(1, min(rows, (height + blank) // down)), max(1, min(columns, width // across))
    return Plan(size, own, lines, across, down, "none", *shown)
