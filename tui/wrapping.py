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
    line, used = "", 0
    for unit in _units(text):
        size = cell_len(unit)
        if used + cell_len(unit.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line, used = "", 0
            unit = unit.lstrip()
            size = cell_len(unit)
        while size > width:
            part = _fitting(unit, width)
            lines.append(part)
            unit = unit[len(part) :]
            size = cell_len(unit)
        line, used = line + unit, used + size
    return [*lines, line.rstrip()] if line.strip() else lines


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
