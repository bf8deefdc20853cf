"""A derivation as lines of parts: what the explorer colours and links, the clipboard and the report write plainly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from engine.derivation import Derivation, Number, Piece, Reference, Step, Sum, Term
from engine.operand import Cell, Operand
from tui.language import Language
from tui.naming import name_on

Role = Literal["plain", "name", "reference", "value", "quiet"]


@dataclass(frozen=True)
class Part:
    """A piece of a line: its text, what it is, and the cell it came from where it is a number from somewhere."""

    text: str
    role: Role = "plain"
    reference: Reference | None = None


Line = list[Part]

OPERATORS = ("+", "−", "×", "÷")


def number_text(value: float) -> str:
    """A number in about four digits, as it stands in a line of arithmetic; in powers of ten where that is too long."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value)}".replace("-", "−")
    magnitude = abs(value)
    # Below a thousandth as many cells as with a power of ten, and to be compared with a table of plain numbers.
    digits = 2 if magnitude >= 100 else 3 if magnitude >= 0.1 else 4 if magnitude >= 1e-3 else 6
    plain = f"{value:.{digits}f}"
    return (plain if 1e-4 <= magnitude < 1e6 else f"{value:.2e}").replace("-", "−")


def place_text(operand: Operand, cell: Cell, text: int, say: Language) -> str:
    """A cell by what stands there: ``scores[head 1, 爱, 我]`` is head 1, query 爱, key 我."""
    labels = [
        say("pane.head", head=position)
        if axis.symbol.startswith("H") and len(cell) == 4
        else name_on(axis, position, text)
        for axis, position in zip(operand.axes, cell, strict=True)
        if axis.symbol not in ("B", "1")
    ]
    return f"{operand.symbol}[{', '.join(labels)}]" if labels else operand.symbol


def lines(
    derivation: Derivation, text: int, width: int, rows: int, say: Language, *, packed: bool = False
) -> list[Line]:
    """The arithmetic in lines that fit, up to ``rows`` lines of terms a sum; last what rounding leaves, if anything.

    ``packed``, it takes as few lines as it can: a sum takes one, with its total, short steps stand side by side, and
    rounding is left out where it would take a line; of no ``rows``, sums have no terms, only how many there are.
    """
    result: list[Line] = []
    for step in derivation.steps:
        if step.sum is None:
            found = _folded(_step_line(step, text, say), width)
        elif packed:
            found = _folded(_sum_line(step, text, width, rows, say), width)
        else:
            found = _sum_lines(step, text, width, rows, say)
        if packed and result and len(found) == 1 and _width(result[-1]) + 3 + _width(found[0]) <= width:
            result[-1] = [*result[-1], Part("   "), *found[0]]
        else:
            result += found
    if derivation.gap:
        gap = [Part(f"   {say('number.gap', gap=number_text(derivation.gap))}", "quiet")]
        if _width(result[-1]) + _width(gap) <= width:
            result[-1] = [*result[-1], *gap]
        elif not packed:
            result.append(gap)
    return result


def plain(derivation: Derivation, text: int, width: int, say: Language) -> list[str]:
    """The arithmetic as text: the cell, then its lines."""
    head = f"{place_text(derivation.operand, derivation.cell, text, say)} = {number_text(derivation.value)}"
    body = ["".join(part.text for part in line) for line in lines(derivation, text, width, 1000, say)]
    return [head, *(f"  {line}" for line in body)]


def _step_line(step: Step, text: int, say: Language) -> Line:
    pieces = list(_pieces(step.pieces))
    if not step.name:
        return pieces
    only = step.pieces[0] if len(step.pieces) == 1 else None
    if not isinstance(only, Reference):
        return [Part(f"{step.name} = ", "name"), *pieces, Part(" = "), Part(number_text(step.value), "value")]
    # A number that is simply another number needs no second equals sign, but a word on where that one stands.
    name = place_text(only.operand, only.cell, text, say) if step.name == "=" else step.name
    return [Part(f"{name} = ", "name"), *pieces]


def _folded(line: Line, width: int) -> list[Line]:
    """The line, broken before an operator where it is too long."""
    units: list[Line] = []
    for part in line:
        if not units or part.text.startswith(tuple(f" {sign}" for sign in (*OPERATORS, "="))):
            units.append([])
        units[-1].append(part)
    result = units[:1]
    for unit in units[1:]:
        if _width(result[-1]) + _width(unit) <= width:
            result[-1] = [*result[-1], *unit]
        else:
            result.append([Part("  "), *unit])
    return result


def _sum_lines(step: Step, text: int, width: int, rows: int, say: Language) -> list[Line]:
    """A sum as a table of its largest terms, each with its numbers and what they come to; the rest, and the total."""
    total = step.sum
    assert total is not None
    head = f"{step.name}   "
    indent = cell_len(head)
    end = _total(step, total)
    axis = next((axis for axis in total.along.axes if axis.symbol == total.axis), None)
    # No line has room for more than a term in eight cells.
    terms = total.largest(max(1, rows * (width // 8)))
    entries = [_entry(term, total, "" if axis is None else name_on(axis, term.position, text)) for term in terms]
    pitch = max(map(_width, entries)) + 3
    for columns in range(max(1, (width - indent) // pitch), 0, -1):
        shown = _with_rest(entries, total, rows * columns, say)
        # What the others come to may be wider than a term.
        if (len(shown) - 1) % columns * pitch + _width(shown[-1]) <= width - indent:
            break
    result: list[Line] = []
    for at in range(0, len(shown), columns):
        line: Line = [Part(head, "name") if at == 0 else Part(" " * indent)]
        for place, entry in enumerate(shown[at : at + columns]):
            line += [Part(" " * max(2, pitch - _width(shown[at + place - 1])))] if place else []
            line += entry
        result.append(line)
    if _width(result[-1]) + 3 + _width(end) <= width:
        result[-1] += [Part("   "), *end]
        return result
    return [*result, [Part(" " * max(0, min(indent, width - _width(end)))), *end]]


def _sum_line(step: Step, text: int, width: int, rows: int, say: Language) -> Line:
    """A sum with its total, and as many of its largest terms as then fit on a line; else how many there are."""
    total = step.sum
    assert total is not None
    end = [Part("   "), *_total(step, total)]
    axis = next((axis for axis in total.along.axes if axis.symbol == total.axis), None)
    terms = total.largest(max(1, width // 8)) if rows else []
    entries = [_entry(term, total, "" if axis is None else name_on(axis, term.position, text)) for term in terms]
    for count in range(len(entries), 0, -1):
        line = [Part(f"{step.name}   ", "name")]
        for place, entry in enumerate(_with_rest(entries[:count], total, count, say, least=count)):
            line += [Part("   "), *entry] if place else entry
        if _width(line) + _width(end) <= width:
            return [*line, *end]
    terms_left = say("number.terms", count=len(total.values))
    return [Part(f"{step.name}   ", "name"), Part(terms_left, "quiet"), *end]


def _total(step: Step, total: Sum) -> Line:
    """What a sum comes to, and what is made of it: ``Σ ÷ 64 = 0.609 ÷ 64 = 0.0095``."""
    sign, value = Part("Σ", "name"), Part(number_text(step.value), "value")
    if not step.pieces:
        return [sign, Part(" = "), value]
    made = list(_pieces(step.pieces))
    return [sign, *made, Part(" = "), Part(number_text(total.total)), *made, Part(" = "), value]


def _with_rest(entries: list[Line], total: Sum, places: int, say: Language, least: int = 1) -> list[Line]:
    """As many of the terms as there are places, at any rate the ``least``; the last place is for what is left."""
    shown = entries if len(total.values) <= places else entries[: max(least, places - 1)]
    left, rest = total.rest(len(shown))
    if not left:
        return shown
    return [*shown, [Part(f"{say('number.rest', count=left)} = {number_text(rest)}", "quiet")]]


def _entry(term: Term, total: Sum, label: str) -> Line:
    """A term: where along the axis it is, the numbers, and what they come to."""
    place = Part(f"{label or term.position}: ", "quiet")
    if total.shown == "value":
        return [place, Part(number_text(term.value), "reference", term.factors[0])]
    parts: Line = [place]
    if total.before or total.after:
        # (−0.24)² is not −0.24²; in (x − mean)² the number stands after a bracket already.
        squared = _number(term.factors[0], bracketed=not total.before)
        parts += [*_pieces(total.before), *squared, *_pieces(total.after)]
    elif len(term.factors) == 1:
        return [place, *_number(term.factors[0])]
    else:
        first, *others = term.factors
        parts += _number(first)
        for factor in others:
            parts += [Part("×"), *_number(factor, bracketed=True)]
    return [*parts, Part(f" = {number_text(term.value)}")]


def _pieces(pieces: tuple[Piece, ...]) -> Iterator[Part]:
    before = ""
    for piece in pieces:
        if isinstance(piece, str):
            yield Part(piece)
            before = piece
            continue
        # A negative number after an operator stands in brackets: 0.95 × (−0.42).
        yield from _number(piece, bracketed=before.rstrip().endswith(OPERATORS))


def _number(piece: Reference | Number, bracketed: bool = False) -> Line:
    """A number; a negative one in brackets, if asked."""
    text = number_text(piece.value)
    number = Part(text, "reference", piece) if isinstance(piece, Reference) else Part(text)
    return [Part("("), number, Part(")")] if bracketed and piece.value < 0 else [number]


def _width(parts: Line) -> int:
    return sum(cell_len(part.text) for part in parts)
