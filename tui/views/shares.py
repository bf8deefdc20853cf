"""A weight as text: with the digits that the arithmetic below the picture gives it, or as many as there is room for."""

from __future__ import annotations

from tui.arithmetic import number_text


def share_text(share: float, width: int) -> str:
    """A share in so many cells, at least three: exactly 0 is ``0``; 0.97 is ``.97``, and 0.0002 ``<.001`` in five."""
    exact = number_text(share)
    if len(exact) <= width:
        return exact
    forms = [form for digits in (3, 2, 1) for form in _rounded(share, digits)]
    return next(form for form in forms if len(form) <= width)


def listed_text(share: float) -> str:
    """A share as a table of weights gives it, with three digits; but what is not 0 is not ``0.000``."""
    return "0" if share == 0 else _rounded(share, 3)[0]


def _rounded(share: float, digits: int) -> tuple[str, str]:
    """So many digits after the point, with a 0 before it and without; what would be 0 there is less than the last."""
    plain = f"{share:.{digits}f}"
    start = "" if float(plain) else "<"
    plain = plain if float(plain) else f"{10.0**-digits:.{digits}f}"
    return start + plain, start + plain.lstrip("0")
