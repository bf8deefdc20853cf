"""Lines of text as Chinese and English set them: words stay whole, Chinese breaks anywhere but before a full stop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

# What must not begin a line, and what must not end one (https://www.w3.org/TR/clreq/#prohibition_rules_for_line_start_end).
NOT_FIRST = "，。、；：？！）”’》〉】％%,.;:?!)"
NOT_LAST = "（“‘《〈【("

# A run of Latin letters and numbers, a run of blanks, or one other character.
PIECES = re.compile(r"[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef“”‘’—…]+|\s+|.", re.DOTALL)


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most ``width`` terminal cells (a single longer word is cut)."""
    lines: list[str] = []
    line = ""
    for unit in _units(text):
        if line and cell_len(line + unit.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        if not line:
            unit = unit.lstrip()
        while cell_len(unit.rstrip()) > width:
            part = _fitting(unit, width)
            lines.append(part.rstrip())
            unit = unit[len(part) :].lstrip()
        line += unit
    return [*lines, line.rstrip()] if line else lines


def _units(text: str) -> Iterator[str]:
    """The pieces between which a line may break."""
    unit = ""
    for piece in PIECES.findall(text):
        if unit and not piece[0].isspace() and piece[0] not in NOT_FIRST and unit[-1] not in NOT_LAST:
            yield unit
            unit = ""
        unit += piece
    if unit:
        yield unit


def _fitting(text: str, width: int) -> str:
    taken = ""
    for character in text:
        if cell_len(taken + character) > width and taken:
            break
        taken += character
    return taken
