"""A trace as plain text that a person reads: formula, shape, and numbers beside their tokens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TextIO

import numpy as np
from rich.cells import cell_len

from engine.axes import Axis
from engine.model import Model
from engine.operand import Array
from engine.stages import Stage
from engine.tokenizer import Token
from engine.trace import Trace
from tui.explanations import explained
from tui.grids import kind_of
from tui.language import Language
from tui.report.attention import graph_lines, heads_lines
from tui.report.losses import are_told_after, loss_lines
from tui.report.selection import Selection
from tui.views.attention import Attention, Limits, attention_stages
from tui.widgets.numbers import NumberFormat, align

PIPE_WIDTH = 100
MOST_ROWS = 12
LABEL_WIDTH = 10
# So many labels tell how wide a column must be; a vocabulary has too many to ask.
MOST_LABELS = 64


def write(out: TextIO, model: Model, trace: Trace, chosen: Selection, say: Language, width: int | None) -> None:
    """Every chosen stage in order. Long rows and columns are cut in the middle, and it is said how much is left out."""
    columns = width or shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    out.write(f"llm-explore · {model.name}\n")
    for line in texts(trace, say):
        out.write(f"{line}\n")
    for stage in chosen.stages:
        axes, value = chosen.part(stage)
        place = say("top.position", position=stage.position + 1, count=len(trace))
        out.write(f"\n{'─' * columns}\n{stage.name}   {stage.shape_text}   {place}\n")
        out.write(f"{explained(stage, say, 'title')}\n{stage.formula}\n")
        for line in matrices(stage, axes, value, columns, say, entries=entries_of(trace, stage)):
            out.write(f"{line}\n")
        if are_told_after(stage, chosen):
            out.writelines(f"{line}\n" for line in loss_lines(trace, say))
        if len(chosen.stages) == 1 and stage in attention_stages(trace):
            # One stage of attention has room for its other two pictures.
            for line in pictures(trace, stage, chosen.head, columns, say):
                out.write(f"{line}\n")


def texts(trace: Trace, say: Language) -> Iterator[str]:
    """The tokens of every text with their ids; of an encoder-decoder, of both texts."""
    for number, tokens in enumerate(trace.tokens):
        if trace.source_tokens:
            yield f"{say('report.source', number=number)} {_listed(trace.source_tokens[number])}"
            yield f"{say('report.target', number=number)} {_listed(tokens)}"
        else:
            yield f"{say('report.text', number=number)} {_listed(tokens)}"


def _listed(tokens: Sequence[Token]) -> str:
    return "  ".join(f"{token.label} {token.id}" for token in tokens)


def pictures(trace: Trace, stage: Stage, head: int | None, width: int, say: Language) -> Iterator[str]:
    """Attention weights as a graph, in words, for every text; and all heads of the model, with what they attend to."""
    for text in range(len(trace.texts)):
        attention = Attention(trace, stage, text)
        for each in range(attention.heads) if head is None else [head]:
            yield ""
            yield from graph_lines(attention, each, say, width, Limits())
        yield ""
        yield from heads_lines(trace, text, say)


def entries_of(trace: Trace, stage: Stage) -> Axis | None:
    """What the ids of a stage stand for where its rows do not say so: the targets, called as the predictions are."""
    return trace["probabilities"].axes[-1] if stage.name == "targets" else None


def matrices(
    stage: Stage,
    axes: tuple[Axis, ...],
    value: Array,
    width: int,
    say: Language,
    digits: int | None = None,
    entries: Axis | None = None,
) -> Iterator[str]:
    """The numbers as one table for every text and head, with so many ``digits`` after the point or as many as help.

    Beside single numbers that are places along ``entries`` stands what is there.
    """
    leading = axes[:-2] if len(axes) > 2 else axes[:1]
    for place in product(*(range(axis.size) for axis in leading)):
        names = [
            f"{say('report.axis_' + axis.symbol)} {position}"
            for axis, position in zip(leading, place, strict=True)
            if axis.symbol != "B" or axis.size > 1
        ]
        yield ""
        if names:
            yield f"  {' · '.join(names)}"
        part = value[place]
        table = part[:, None] if part.ndim == 1 else part
        rows = axes[len(leading)]
        columns = axes[len(leading) + 1] if part.ndim == 2 else None
        yield from _table(stage, rows, columns, table, place[0], width, say, digits, entries)


def _table(
    stage: Stage,
    rows: Axis,
    columns: Axis | None,
    table: Array,
    text: int,
    width: int,
    say: Language,
    digits: int | None,
    entries: Axis | None,
) -> Iterator[str]:
    finite = np.abs(table[np.isfinite(table)])
    format_ = NumberFormat.fitting(kind_of(stage), float(finite.max()) if finite.size else 1.0, digits)
    named = columns is not None and columns.by_text
    labels = [columns.label(j, text) for j in range(min(columns.size, MOST_LABELS))] if columns and named else []
    cell = max(format_.width, min(LABEL_WIDTH, max(map(cell_len, labels), default=0))) + 2
    room = max(2, (width - LABEL_WIDTH - 4) // cell)
    shown_columns = _shown(table.shape[1], room)
    if columns is not None:
        header = "".join(align("⋯" if j is None else columns.label(j, text), cell, "right") for j in shown_columns)
        yield " " * (LABEL_WIDTH + 2) + header
    for i in _shown(table.shape[0], MOST_ROWS):
        if i is None:
            yield " " * (LABEL_WIDTH + 1) + "⋮"
            continue
        numbers = "".join(
            align("⋯" if j is None else format_.text(float(table[i, j])), cell, "right") for j in shown_columns
        )
        called = "" if entries is None or not entries.by_text else f"  {entries.label(int(table[i, 0]))}"
        yield "  " + align(rows.label(i, text), LABEL_WIDTH, "left") + numbers + called
    if len(shown_columns) < table.shape[1] or table.shape[0] > MOST_ROWS:
        yield "  " + say("report.cut", rows=table.shape[0], columns=table.shape[1])


def _shown(count: int, room: int) -> list[int | None]:
    """The positions to show when only ``room`` fit, None where the rest is left out."""
    if count <= room:
        return list(range(count))
    first = max(1, (room - 1) * 2 // 3)
    last = room - 1 - first
    return [*range(first), None, *range(count - last, count)]
