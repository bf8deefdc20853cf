"""How an equation's matrices share a width: which are written in numbers, which painted, and how wide each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

from tui.widgets.grid import Look

Zoom = Literal["auto", "numbers", "heat"]
ZOOMS: tuple[Zoom, ...] = ("auto", "numbers", "heat")

# Beside a wide result in numbers that are none of tokens, an operand is to be seen whole, up to this width.
WHOLE = 36
# From this width on an operand that is cut has room to name its rows.
ROOMY = 30
# From this width on a few columns of numbers can be seen.
LEGIBLE = 18


class Written(Enum):
    """How a matrix can be written in numbers, from the tightest way to the roomiest."""

    BARE = 0
    """As few digits as say anything, no blank too many."""
    SHORT = 1
    """A digit less than usual."""
    CLOSE = 2
    """The usual digits, one blank between two numbers, labels cut."""
    SPACED = 3
    """Blanks on both sides, and labels whole."""
    EXACT = 4
    """More digits."""
    AIRY = 5
    """More blanks."""


class Painted(Enum):
    """How a matrix can be painted, from the tightest way to the roomiest."""

    BARE = 0
    """A column a number, the rows named beside the result alone."""
    THIN = 1
    """A column a number."""
    SQUARE = 2
    """Two columns a number."""
    BROAD = 3
    """Four columns a number."""


class Form(NamedTuple):
    """A way to draw a matrix, and how many columns of the screen it takes to see all of it."""

    look: Look
    width: int


@dataclass(frozen=True)
class Wish:
    """The ways a matrix can be drawn, and what else it would have.

    Attributes:
        least: the columns of the screen that it should have, however little of it is seen.
        title: the columns that its name and shape take.
        named: whether its columns are tokens.
    """

    written: Mapping[Written, Form]
    painted: Mapping[Painted, Form]
    least: int
    title: int
    named: bool


class Plan(NamedTuple):
    """How a matrix is shown, and in how many columns of the screen."""

    look: Look
    width: int


def arrange(width: int, wishes: Sequence[Wish], zoom: Zoom = "auto") -> list[Plan]:
    """A plan for each matrix of an equation, the result last, in ``width`` columns together.

    The result comes first: it is written in numbers wherever all of it can be, and the operands are painted in what is
    left, seen in part if need be. Then whatever room there is goes to what helps most, step by step: operands seen
    whole, the result's usual digits, operands in numbers, more digits. A result that is too wide to be written is
    painted; where its columns are tokens and too many even for that, it is written in part: their names can be read.
    """
    *operands, result = wishes
    bare, thin = result.written[Written.BARE], result.painted[Painted.THIN]
    if zoom == "numbers":
        return _most_written(width, wishes)
    if zoom == "auto" and bare.width + sum(_reserve(wish, result) for wish in operands) <= width:
        return Draft(width, wishes, bare).take(WHEN_WRITTEN).fill().finished()
    if thin.width + sum(map(_least, operands)) <= width:
        return Draft(width, wishes, thin).take(WHEN_PAINTED[zoom]).fill().finished()
    return _shared(width, [_in_part(wish, width // len(wishes), zoom) for wish in wishes], wishes)


def _most_written(width: int, wishes: Sequence[Wish]) -> list[Plan]:
    """The result in numbers, in all the width that the least of the operands leaves; operands as far as it goes."""
    *operands, result = wishes
    room = max(width - sum(map(_least, operands)), result.least)
    tightest = result.written[Written.BARE]
    if tightest.width > room:
        tightest = Form(result.written[Written.CLOSE].look, room)
    return Draft(width, wishes, tightest).take(NUMBERS_ALONE).write().finished()


def _least(wish: Wish) -> int:
    return min(wish.least, wish.painted[Painted.BARE].width)


def _reserve(wish: Wish, result: Wish) -> int:
    """What an operand must have before the result is written in numbers."""
    if result.named or result.written[Written.CLOSE].width <= WHOLE:
        return _least(wish)
    return max(_least(wish), min(wish.painted[Painted.BARE].width, WHOLE))


Step = tuple[Literal["result", "operands", "named operands"], Written | Painted]

NUMBERS_ALONE: tuple[Step, ...] = (("result", Written.SHORT), ("result", Written.CLOSE))
WHEN_WRITTEN: tuple[Step, ...] = (
    ("operands", Painted.BARE),
    *NUMBERS_ALONE,
    ("operands", Painted.THIN),
    ("result", Written.SPACED),
    # Tokens gain more by width than numbered columns do: they can be read.
    ("named operands", Painted.BROAD),
    ("named operands", Written.CLOSE),
    ("operands", Painted.SQUARE),
    ("named operands", Written.SPACED),
    ("operands", Painted.BROAD),
    ("operands", Written.CLOSE),
    ("operands", Written.SPACED),
    ("result", Written.EXACT),
    ("operands", Written.EXACT),
    ("result", Written.AIRY),
    ("operands", Written.AIRY),
)
WHEN_PAINTED: dict[Zoom, tuple[Step, ...]] = {
    "auto": (
        ("operands", Painted.BARE),
        ("operands", Painted.THIN),
        ("result", Painted.SQUARE),
        ("named operands", Painted.BROAD),
        ("named operands", Written.CLOSE),
        ("operands", Painted.SQUARE),
        ("result", Painted.BROAD),
        ("operands", Painted.BROAD),
        ("operands", Written.CLOSE),
        ("operands", Written.SPACED),
        ("operands", Written.EXACT),
    ),
    "heat": (
        ("operands", Painted.BARE),
        ("operands", Painted.THIN),
        ("result", Painted.SQUARE),
        ("operands", Painted.SQUARE),
        ("result", Painted.BROAD),
        ("operands", Painted.BROAD),
    ),
}


# A result that can be read, and operands that are seen.
READ_FIRST: tuple[Step, ...] = (*NUMBERS_ALONE, ("operands", Painted.BARE), ("operands", Painted.THIN))


class Draft:
    """A plan in the making: the least of every operand beside a result of a given form, and the rest to share."""

    def __init__(self, width: int, wishes: Sequence[Wish], result: Form) -> None:
        self._width = width
        self._wishes = wishes
        self._last = len(wishes) - 1
        self._forms = [*(wish.painted[Painted.BARE] for wish in wishes[:-1]), result]
        self._widths = [*map(_least, wishes[:-1]), result.width]

    def take(self, steps: Sequence[Step]) -> Draft:
        """Take every step that there is room for.

        Nothing grows beyond what can be read at the cost of an operand that could be seen whole.
        """
        for which, rung in steps:
            luxury = (which, rung) not in READ_FIRST
            if luxury and any(self._forms[number].width <= self._width for number in self._cut()):
                continue
            for number in [self._last] if which == "result" else range(self._last):
                wish = self._wishes[number]
                form = wish.written[rung] if isinstance(rung, Written) else wish.painted[rung]
                if (which != "named operands" or wish.named) and form.width - self._widths[number] <= self._left:
                    self._forms[number], self._widths[number] = form, form.width
        return self

    def fill(self) -> Draft:
        """Share what is left among the operands that are not seen whole."""
        cut = self._cut()
        for count, number in zip(range(len(cut), 0, -1), cut, strict=True):
            wish = self._wishes[number]
            self._widths[number] += min(self._left // count, self._forms[number].width - self._widths[number])
            if self._widths[number] >= ROOMY:
                # Names, of rows or of a vocabulary, cost it little.
                self._forms[number] = wish.written[Written.SPACED] if wish.named else wish.painted[Painted.THIN]
        return self

    def write(self) -> Draft:
        """Write as many numbers of the operands as there is room for; where that is hardly any, paint them."""
        for number, wish in enumerate(self._wishes[:-1]):
            close, painted = wish.written[Written.CLOSE], wish.painted[Painted.BARE]
            room = self._widths[number] + self._left // (self._last - number)
            written = room >= min(close.width, LEGIBLE)
            self._forms[number] = close if written else painted
            self._widths[number] = min(room, self._forms[number].width)
        return self.take((("result", Written.SPACED),))

    def finished(self) -> list[Plan]:
        """The plan; what is left lets titles be written out."""
        for number, wish in enumerate(self._wishes):
            more = max(0, wish.title - self._widths[number])
            if more <= self._left:
                self._widths[number] += more
        return [Plan(form.look, width) for form, width in zip(self._forms, self._widths, strict=True)]

    @property
    def _left(self) -> int:
        return max(0, self._width - sum(self._widths))

    def _cut(self) -> list[int]:
        """Which operands are not seen whole."""
        return [number for number in range(self._last) if self._widths[number] < self._forms[number].width]


def _in_part(wish: Wish, share: int, zoom: Zoom) -> Form:
    """The form in which some of a matrix's columns are shown."""
    if zoom == "auto" and wish.named and wish.painted[Painted.THIN].width > share:
        return wish.written[Written.SPACED]
    return wish.painted[Painted.BARE]


def _shared(width: int, forms: Sequence[Form], wishes: Sequence[Wish]) -> list[Plan]:
    """The forms cut to fit: what one does not need goes to the others, and the result counts for two."""
    shares = [1] * (len(forms) - 1) + [2]
    widths = [0] * len(forms)
    open_ = set(range(len(forms)))
    left = width
    while open_:
        unit = left / sum(shares[i] for i in open_)
        satisfied = {i for i in open_ if forms[i].width <= unit * shares[i]}
        for i in satisfied or open_:
            widths[i] = min(forms[i].width, max(wishes[i].least, int(unit * shares[i])))
            left -= widths[i]
        open_ = open_ - satisfied if satisfied else set()
    # Some got their least, which was more than their share: the widest gives it back.
    widest = widths.index(max(widths))
    widths[widest] = max(wishes[widest].least, widths[widest] - max(0, sum(widths) - width))
    return [Plan(form.look, w) for form, w in zip(forms, widths, strict=True)]
