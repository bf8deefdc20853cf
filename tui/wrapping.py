"""Lines of text as Chinese and English set them: words stay whole, Chinese breaks anywhere but before a full stop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

# What must not begin a line, and what must not end one (https://www.w3.org/TR/clreq/#prohibition_rules_for_line_start_end).
NOT_FIRST = "，。、；：？！）”’》〉】％%,.;:?!)"
NOT_LAST = "（“‘《〈【("
# A key, which stays beside what it does, whatever stands between them.
KEYS = "⏎"

# A run of Latin letters and numbers, a run of blanks, or one other character.
PIECES = re.compile(r"[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef“”‘’—…]+|\s+|.", re.DOTALL)

# A sentence, with the quotes and brackets that close after its full stop; a point within a number ends none.
SENTENCES = re.compile(r".+?(?:[。！？][”’）]*|[.!?][”’)]*(?:\s+|$)|$)", re.DOTALL)


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


def sentences(text: str) -> list[str]:
    """The text's sentences, each with what follows up to the next."""
    return SENTENCES.findall(text)


def opening(text: str, width: int, lines: int, after: int = 0) -> list[str]:
    """The text in lines of ``width`` cells, up to the end of the last sentence that fits on so many of them.

    Where not all of it fits, rather to the end of one that leaves ``after`` cells free behind it, or a line.
    """
    whole = wrap(text, width)
    if len(whole) <= lines:
        return whole
    parts = sentences(text)
    openings = [wrap("".join(parts[:count]), width) for count in range(len(parts) - 1, 0, -1)]
    fitting = [found for found in openings if len(found) <= lines]
    roomy = (found for found in fitting if len(found) < lines or cell_len(found[-1]) + after <= width)
    return next(roomy, fitting[0] if fitting else [])


def _units(text: str) -> Iterator[str]:
    """The pieces between which a line may break."""
    unit = ""
    for piece in PIECES.findall(text):
        if unit and not piece[0].isspace() and piece[0] not in NOT_FIRST and not _leads(unit):
            yield unit
            unit = ""
        unit += piece
    if unit:
        yield unit


def _leads(unit: str) -> bool:
    """Whether what follows must stand on the same line."""
    return unit[-1] in NOT_LAST or unit.rstrip().endswith(tuple(KEYS))


def _fitting(text: str, width: int) -> str:
    taken = ""
    for character in text:
        if cell_len(taken + character) > width and taken:
            break
        taken += character
    return taken
