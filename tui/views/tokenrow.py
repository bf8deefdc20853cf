"""Tokens side by side on one line: how wide each is, where its edges begin and end, and which are left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from tui.naming import cut_name

# The widest label, and the cells of a number under it: the first of these with which all tokens fit is taken.
SIZES = ((12, 6), (8, 5), (6, 5), (6, 4))
# Where not all fit, those that are shown can be read.
SOME = (8, 5)
# From the beginning of one token to the next: more than this does not help.
WIDEST = 40
ROOMY = 4


@dataclass(frozen=True)
class Place:
    """Where a token stands: ``width`` cells from ``left`` on, its label in the middle of them.

    Edges to earlier tokens leave at the cell ``before`` and edges from them arrive there; those of later tokens at
    ``after``: so no edge hides another's arrow.
    """

    token: int
    label: str
    left: int
    width: int
    ports: int
    """The cells from ``before`` to ``after``."""

    @property
    def label_left(self) -> int:
        """The cell in which the label begins."""
        return self.left + (self.width - cell_len(self.label)) // 2

    @property
    def before(self) -> int:
        """The cell of edges to and from earlier tokens."""
        return self.label_left + (cell_len(self.label) - self.ports) // 2

    @property
    def after(self) -> int:
        """The cell of edges to and from later tokens."""
        return self.before + self.ports - 1

    @property
    def middle(self) -> int:
        """The cell in the middle."""
        return self.left + (self.width - 1) // 2


@dataclass(frozen=True)
class Gap:
    """Tokens that are left out between two that are shown."""

    text: str
    left: int
    count: int


@dataclass(frozen=True)
class TokenRow:
    """A row of tokens, from left to right, and what is left out between them."""

    places: dict[int, Place]
    """By token."""
    gaps: tuple[Gap, ...]
    number_width: int
    """The cells that there are for a number under a token."""

    @property
    def span(self) -> int:
        """The cells between the first token and the last."""
        places = list(self.places.values())
        return places[-1].after - places[0].before if places else 0

    def moved(self, right: int) -> TokenRow:
        """The same row so many cells further right."""
        places = {token: replace(place, left=place.left + right) for token, place in self.places.items()}
        return replace(self, places=places, gaps=tuple(replace(gap, left=gap.left + right) for gap in self.gaps))

    def at(self, x: int) -> int | None:
        """The token whose cells a cell is one of."""
        return next((t for t, place in self.places.items() if place.left <= x < place.left + place.width), None)


def token_row(
    labels: Sequence[str],
    left: int,
    room: int,
    wanted: Iterable[int],
    sizes: Sequence[tuple[int, int]] = SIZES,
) -> TokenRow:
    """Tokens in ``room`` cells from ``left`` on.

    Where not all fit, those ``wanted`` are shown, the first before the others, and around the first as many neighbours
    as there is room for.
    """
    for widest, number in sizes:
        widths = _widths(labels, widest, number)
        if sum(widths) + len(widths) - 1 <= room:
            spare = (room + 1 - sum(widths)) // len(widths)
            gap = max(1, min(spare, WIDEST - sum(widths) // len(widths)))
            return _placed([cut_name(label, widest) for label in labels], widths, range(len(labels)), left, gap, number)
    widest, number = SOME
    widths = _widths(labels, widest, number)
    shown = _chosen(widths, room, wanted)
    return _placed([cut_name(label, widest) for label in labels], widths, shown, left, 1, number)


def whole_row(labels: Sequence[str], left: int, room: int) -> TokenRow | None:
    """The same without numbers, if all tokens fit."""
    for widest in (8, 4):
        widths = _widths(labels, widest, 1)
        if sum(widths) + len(widths) - 1 <= room:
            gap = max(1, min((room + 1 - sum(widths)) // len(widths), 6))
            return _placed([cut_name(label, widest) for label in labels], widths, range(len(labels)), left, gap, 0)
    return None


def _widths(labels: Sequence[str], widest: int, number: int) -> list[int]:
    return [max(number, min(widest, cell_len(label))) for label in labels]


def _chosen(widths: Sequence[int], room: int, wanted: Iterable[int]) -> list[int]:
    """As many tokens as there is room for, and for the counts of what is left out between them."""
    first = list(dict.fromkeys(wanted)) or [0]
    here, count = first[0], len(widths)
    around = (near for far in range(1, count) for near in (here - far, here + far) if 0 <= near < count)
    chosen: set[int] = set()
    missed = 0
    for token in itertools.chain(first, around):
        if chosen and _total(widths, sorted(chosen | {token})) > room:
            missed += 1
            # Past a few that are too wide, hardly any will fit.
            if missed > 8:
                break
        else:
            chosen.add(token)
    # The count of a single token takes no less room than most tokens do.
    for start, missing in list(_gaps(count, sorted(chosen))):
        if missing == 1 and _total(widths, sorted(chosen | {start})) <= room:
            chosen.add(start)
    return sorted(chosen)


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    counts = sum(cell_len(_gap_text(count)) + 1 for _, count in _gaps(len(widths), shown))
    return sum(widths[token] + 1 for token in shown) + counts - 1


def _gaps(count: int, shown: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first of the tokens that are left out, and how many, at each place where some are."""
    for one, other in itertools.pairwise([-1, *shown, count]):
        if other - one > 1:
            yield one + 1, other - one - 1


def _gap_text(count: int) -> str:
    return f"⋯{count}"


def _placed(
    labels: Sequence[str], widths: Sequence[int], shown: Sequence[int], left: int, gap: int, number: int
) -> TokenRow:
    places: dict[int, Place] = {}
    gaps: list[Gap] = []
    missing = dict(_gaps(len(labels), shown))
    # In the middle of what there is: the first token's edges may reach over its left side.
    x = left + gap // 2
    start = 0
    for token in [*shown, len(labels)]:
        if start in missing:
            gaps.append(Gap(_gap_text(missing[start]), x, missing[start]))
            x += cell_len(gaps[-1].text) + 1
        if token < len(labels):
            width = widths[token]
            ports = min(6, width + 2) if gap > ROOMY else max(2, min(4, width - (gap < 2)))
            places[token] = Place(token, labels[token], x, width, ports)
            x += width + gap
            start = token + 1
    return TokenRow(places, tuple(gaps), number)
