"""A weight as text: in the same form wherever it stands in a picture, whatever it is."""

from __future__ import annotations

# From so many cells on, so many digits after the point, and whether a 0 stands before it.
FORMS = ((6, 3, True), (5, 3, False), (4, 2, False), (0, 1, False))


def share_text(share: float, width: int) -> str:
    """A share in the form for so many cells, at least three: in five, 0.97 is ``.970``, and 0.0002 ``<.001``."""
    digits, zero = next((digits, zero) for cells, digits, zero in FORMS if cells <= width)
    text = _rounded(share, digits)
    return text if zero else text.replace("0.", ".", 1)


def listed_text(share: float) -> str:
    """A share with three digits, as a list has it."""
    return _rounded(share, 3)


def predicted_text(probability: float) -> str:
    """A token's probability with four digits: of many thousand tokens most get less than a thousandth."""
    return _rounded(probability, 4)


def _rounded(share: float, digits: int) -> str:
    """So many digits after the point. Exactly 0 is ``0``; what would read as 0 is less than the last digit."""
    if share == 0:
        return "0"
    plain = f"{share:.{digits}f}"
    return plain if float(plain) else f"<{10.0**-digits:.{digits}f}"
