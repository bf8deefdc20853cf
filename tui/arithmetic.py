"""A derivation as lines of parts: what the explorer colours and links, the clipboard and the report write plainly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from engine.derivation import Derivation, Number, Piece, Reference, Step, Sum, Term
from engine.operand import Cell, Operand
from engine.trace import Stage
from tui.language import Language

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
    """A number in about four digits, as it stands in a line of arithmetic."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value)}".replace("-", "−")
    magnitude = abs(value)
    plain = f"{value:.2f}" if magnitude >= 100 else f"{value:.3f}" if magnitude >= 0.1 else f"{value:.4f}"
    return (plain if 1e-3 <= magnitude < 1e6 else f"{value:.2e}").replace("-", "−")


def signed(value: float) -> tuple[str, str]:
    """The sign to write before a summand, and its magnitude."""
    return ("−" if value < 0 or math.copysign(1, value) < 0 else "+"), number_text(abs(value))


def place_text(operand: Operand, cell: Cell, text: int, say: Language) -> str:
    """A cell by what stands there: ``scores[head 1, 爱, 我]`` is head 1, query 爱, key 我."""
    labels = [
        say("pane.head", head=position)
        if axis.symbol.startswith("H") and len(cell) == 4
        else axis.label(position, text)
        for axis, position in zip(operand.axes, cell, strict=True)
        if axis.symbol not in ("B", "1")
    ]
    return f"{operand.symbol}[{', '.join(labels)}]"


def lines(derivation: Derivation, text: int, width: int, say: Language) -> list[Line]:
    """The arithmetic, a line a step, in as many terms as fit the width; last what rounding leaves, if anything."""
    result = [_step_line(step, width, say) for step in derivation.steps]
    if result and result[0] and len(derivation.steps) == 1 and not result[0][1:]:
        return result
    if derivation.gap:
        sign, size = signed(derivation.gap)
        result.append([Part(say("number.gap", gap=f"{sign if sign == '−' else ''}{size}"), "quiet")])
    return result


def plain(derivation: Derivation, text: int, width: int, say: Language) -> list[str]:
    """The arithmetic as text: the cell, then its lines."""
    head = f"{place_text(derivation.operand, derivation.cell, text, say)} = {number_text(derivation.value)}"
    body = ["".join(part.text for part in line) for line in lines(derivation, text, width, say)]
    return [head, *(f"  {line}" for line in body)]


def _step_line(step: Step, width: int, say: Language) -> Line:
    head = [Part(f"{step.name} = ", "name")]
    tail = [*_pieces(step.pieces), Part(" = "), Part(number_text(step.value), "value")]
    if step.sum is None:
        # A number that is simply another number needs no second equals sign.
        alone = len(step.pieces) == 1 and isinstance(step.pieces[0], Reference)
        return [*head, *(_pieces(step.pieces) if alone else tail)]
    body = _summands(step, width - _width(head) - _width(tail), say)
    if step.pieces:
        body = [Part("("), *body, Part(")")]
    return [*head, *body, *tail]


def _summands(step: Step, width: int, say: Language) -> Line:
    """The largest terms, as many as fit with what is said of the rest."""
    total = step.sum
    assert total is not None
    count = len(total.values)
    rest_width = cell_len(say("number.rest", count=count)) + 12
    shown: Line = []
    taken = 0
    # No line holds more terms than it has cells.
    for number, term in enumerate(total.largest(max(1, width // 4))):
        parts = list(_term(term, total, first=number == 0))
        room = width - (rest_width if number + 1 < count else 0)
        if shown and _width(shown) + _width(parts) > room:
            break
        shown += parts
        taken = number + 1
    left, value = total.rest(taken)
    if left:
        sign, size = signed(value)
        shown.append(Part(f" {sign} ({say('number.rest', count=left)} {size})", "quiet"))
    return shown


def _term(term: Term, total: Sum, *, first: bool) -> Iterator[Part]:
    """One summand with its sign: a product's sign stands before it, so that no × meets a minus."""
    wrapped = bool(total.before or total.after)
    negative = not wrapped and term.value < 0
    yield Part(("−" if negative else "") if first else (" − " if negative else " + "))
    if wrapped:
        yield from _pieces(total.before)
        yield _number(term.factors[0])
        yield from _pieces(total.after)
        return
    if total.shown == "value":
        yield Part(number_text(abs(term.value)), "reference", term.factors[0])
        return
    for number, factor in enumerate(term.factors):
        if number:
            yield Part("×")
        yield Part(number_text(abs(factor.value)), "reference", factor)


def _pieces(pieces: tuple[Piece, ...]) -> Iterator[Part]:
    before = ""
    for piece in pieces:
        if isinstance(piece, str):
            yield Part(piece)
            before = piece
            continue
        # A negative number after an operator stands in brackets: 0.95 × (−0.42).
        if piece.value < 0 and before.rstrip().endswith(OPERATORS):
            yield from (Part("("), _number(piece), Part(")"))
        else:
            yield _number(piece)


def _number(piece: Reference | Number) -> Part:
    text = number_text(piece.value)
    return Part(text, "reference", piece) if isinstance(piece, Reference) else Part(text)


def _width(parts: Line) -> int:
    return sum(cell_len(part.text) for part in parts)


def kind_name(operand: Operand, say: Language) -> str:
    """Whether an operand is a stage, a weight or a constant, in words."""
    if isinstance(operand, Stage):
        return ""
    return say("top.weight" if hasattr(operand, "source") else "top.constant")
