"""Numbers and labels as text of a known width, measured in terminal cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len, set_cell_size

Kind = Literal["signed", "share", "ids", "mask"]
"""What a grid's numbers are: any real number, a share of one, names of tokens, or the 1s and 0s of a mask."""

Alignment = Literal["left", "centre", "right"]


@dataclass(frozen=True)
class Glyphs:
    """The characters a matrix is drawn with, each one cell wide but for `infinity` and `more_columns`."""

    minus: str
    infinity: str
    hatch: str
    here: str
    more_rows: str
    more_columns: str
    ellipsis: str
    left_edge: str
    right_edge: str
    cursor: str


UNICODE = Glyphs("−", "∞", "╱", "▸", "⋮", "⋯", "…", "▌", "▐", "▪")
ASCII = Glyphs("-", "inf", "/", ">", ":", "..", "~", "[", "]", "*")


@dataclass(frozen=True)
class NumberFormat:
    """How one grid prints its numbers: all of them fit `width` cells. `bare` ones begin with their point: ``.97``."""

    kind: Kind
    digits: int
    exponent: bool
    width: int
    glyphs: Glyphs
    bare: bool = False

    @classmethod
    def fitting(
        cls, kind: Kind, limit: float, digits: int | None = None, glyphs: Glyphs = UNICODE, *, bare: bool = False
    ) -> NumberFormat:
        """The format for numbers up to `limit` in magnitude, with `digits` after the point or as many as help.

        Only shares can be bare: they have nothing before the point but 0, and a 1 that is worth a digit: ``1.0``.
        """
        limit = limit if math.isfinite(limit) and limit > 0 else 1.0
        masked = len(glyphs.hatch + glyphs.minus + glyphs.infinity)
        match kind:
            case "ids":
                return cls(kind, 0, False, max(masked, len(f"{limit:.0f}")), glyphs)
            case "mask":
                return cls(kind, 0, False, masked, glyphs)
        sign = 1 if kind == "signed" else 0
        magnitude = math.floor(math.log10(limit))
        if not -5 < magnitude < 6:
            digits = 1 if digits is None else digits
            width = sign + len(_short_exponent(f"{limit:.{digits}e}"))
            return cls(kind, digits, True, max(masked, width), glyphs)
        digits = usual_digits(kind, limit) if digits is None else digits
        bare = bare and kind == "share" and digits > 1
        return cls(kind, digits, False, max(masked, sign + len(f"{limit:.{digits}f}") - bare), glyphs, bare)

    def text(self, value: float) -> str:
        """The number, not yet padded. Exactly 0 in a share is ``0``; −0.001 keeps its sign as ``−0.00``."""
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return self.glyphs.infinity if value > 0 else self.glyphs.minus + self.glyphs.infinity
        if value == 0:
            return "0" if self.kind != "signed" or self.exponent else f"{0:.{self.digits}f}"
        return self._finite(value).replace("-", self.glyphs.minus)

    def shortest(self, value: float) -> str:
        """The number without zeros at its end: ``0`` for ``0.00``, ``1`` for ``1.000``."""
        text = self.text(value)
        return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text

    def _finite(self, value: float) -> str:
        if not self.exponent:
            plain = f"{value:.{self.digits}f}"
            if self.bare:
                plain = plain[1:] if plain.startswith("0") else plain[:-1]
            if len(plain) <= self.width:
                return plain
        for digits in (self.digits if self.exponent else 1, 0):
            scientific = _short_exponent(f"{value:.{digits}e}")
            if len(scientific) <= self.width:
                return scientific
        return "#" * self.width


def usual_digits(kind: Kind, limit: float) -> int:
    """How many digits after the point tell numbers up to `limit` apart: three figures of the largest, or more."""
    magnitude = math.floor(math.log10(limit))
    fewest = 3 if kind == "share" else 2
    return max(fewest, 2 - magnitude) if magnitude < 1 else max(0, min(2, 3 - magnitude))


def _short_exponent(text: str) -> str:
    """``1.2e-06`` as ``1.2e-6``, ``1.2e+06`` as ``1.2e6``."""
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent)}"


def cut(text: str, width: int, glyphs: Glyphs = UNICODE) -> str:
    """The text in at most `width` cells; an ellipsis says that some is missing, where there is room for one."""
    if cell_len(text) <= width:
        return text
    if width < 3:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + glyphs.ellipsis


def align(text: str, width: int, alignment: Alignment, glyphs: Glyphs = UNICODE) -> str:
    """The text in exactly `width` cells."""
    text = cut(text, width, glyphs)
    spare = width - cell_len(text)
    left = {"left": 0, "centre": spare // 2, "right": spare}[alignment]
    return " " * left + text + " " * (spare - left)
