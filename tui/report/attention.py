"""The two pictures of attention as plain text: who looks at whom, and what can be measured of every head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from engine.heads import NAMES, description
from engine.trace import Trace
from tui.language import Language
from tui.naming import cut_name
from tui.views.attention import Attention, Limits, Picture, attention_name, attention_stages
from tui.views.shares import listed_text
from tui.widgets.numbers import align

LABEL = 12
ARROW = 3
CROSS, NOTHING = "✕", "—"


def graph_lines(attention: Attention, head: int | None, say: Language, width: int, limits: Limits) -> Iterator[str]:
    """A line for each query, or more where one is too short: the keys it sees, the strongest first, and what is cut.

    Args:
        head: the head, or None for the mean of all.
        width: the cells of a line.
        limits: which edges are named; of the others it is said how many they are and what they weigh together.
    """
    of = say("graph.mean", count=attention.heads) if head is None else say("graph.head", head=head)
    yield f"{say('graph.title')} · {attention.stage.name} · {of}"
    labels = [cut_name(label, LABEL) for label in attention.query_labels]
    margin = max(map(cell_len, labels)) + 2
    for query, label in enumerate(labels):
        picture = Picture(attention, head, limits, query, 0)
        start = f"{' ' * (margin - cell_len(label))}{label} → "
        for line in _filled(_told(picture, say), width - margin - ARROW):
            yield start + line
            start = " " * (margin + ARROW)


def heads_lines(trace: Trace, text: int, say: Language) -> Iterator[str]:
    """A table: for each head of each layer its measures, and the one that describes it; under them an even head's."""
    attentions = [Attention(trace, stage, text) for stage in attention_stages(trace)]
    measured = {measure.name for attention in attentions for head in attention.measures for measure in head}
    columns = [name for name in NAMES if name in measured]
    titles = [say(f"heads.{name}") for name in columns]
    names = [attention_name(attention.stage, say) for attention in attentions]
    first = max([cell_len(say("heads.even_head")), *map(cell_len, names)], default=0) + 2
    second = max((cell_len(say("graph.head", head=attention.heads - 1)) for attention in attentions), default=0) + 2
    widths = [max(4, cell_len(title)) + 2 for title in titles]

    def row(start: str, head: str, cells: Sequence[str], end: str = "") -> str:
        parts = [align(cell, width, "right") for cell, width in zip(cells, widths, strict=True)]
        return f"  {align(start, first, 'left')}{align(head, second, 'left')}{''.join(parts)}   {end}".rstrip()

    yield f"{say('heads.title')} · {say('heads.note')}"
    yield row("", "", titles)
    for name, attention in zip(names, attentions, strict=True):
        even: dict[str, float] = {}
        for head, found in enumerate(attention.measures):
            values = {measure.name: measure.value for measure in found}
            even = {measure.name: measure.even for measure in found}
            best = description(found)
            cells = [_number(values.get(column)) for column in columns]
            yield row(name, say("graph.head", head=head), cells, say(f"heads.{best.name}") if best else "")
        yield row(say("heads.even_head"), "", [_number(even.get(column)) for column in columns])


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _told(picture: Picture, say: Language) -> Iterator[str]:
    """What is said of a query, in pieces that stay whole."""
    keys = picture.attention.key_labels
    shown = list(reversed(picture.own))
    for edge in shown:
        yield f"{cut_name(keys[edge.key], LABEL)} {listed_text(edge.weight)}"
    left = picture.left_out([edge.key for edge in shown])
    if left:
        yield say("graph.not_drawn", count=len(left), sum=listed_text(math.fsum(left)))
    if picture.cut:
        named = " ".join(cut_name(keys[key], LABEL) for key in picture.cut)
        yield (
            f"{CROSS} {named}" if len(picture.cut) <= 3 else f"{CROSS} {say('graph.cut_count', count=len(picture.cut))}"
        )


def _filled(pieces: Iterator[str], width: int) -> Iterator[str]:
    """Pieces side by side in lines of so many cells; at least one on each."""
    line = ""
    for piece in pieces:
        longer = f"{line}   {piece}" if line else piece
        if line and cell_len(longer) > width:
            yield line
            longer = piece
        line = longer
    yield line
