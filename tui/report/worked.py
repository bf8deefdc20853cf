"""A worked example as plain text: its words, its stages, and what its file says beside what comes out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TextIO

import numpy as np

from engine.worked import Comparison, Worked, load_worked, shipped_worked
from tui.comparing import aligned, columns, digits, names
from tui.explanations import explained
from tui.language import Language
from tui.report.losses import are_told_after, loss_lines
from tui.report.selection import Selection
from tui.report.text import LABEL_WIDTH, MOST_ROWS, PIPE_WIDTH, entries_of, matrices
from tui.widgets.numbers import align, cut
from tui.wrapping import wrap


def write(out: TextIO, worked: Worked, chosen: Selection, say: Language, width: int | None) -> None:
    """Title and notes, every chosen stage, and after each what the file says of it where that is computed as well."""
    columns = width or shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    out.write(f"llm-explore · {worked.name} · {worked.titled(say.code)}\n")
    for paragraph in worked.noted(say.code).split("\n"):
        out.writelines(f"{line}\n" for line in wrap(paragraph, columns))
    compared = {comparison.stage.name: comparison for comparison in worked.comparisons}
    for stage in chosen.stages:
        place = say("top.position", position=stage.position + 1, count=len(worked.trace))
        out.write(f"\n{'─' * columns}\n{stage.name}   {stage.shape_text}   {place}\n")
        out.write(f"{explained(stage, say, 'title')}\n{stage.formula}\n")
        axes, value = chosen.part(stage)
        comparison = compared.get(stage.name)
        # A number that the file gives is to be compared digit by digit.
        shown = None if comparison is None else digits(comparison) or None
        entries = entries_of(worked.trace, stage)
        out.writelines(f"{line}\n" for line in matrices(stage, axes, value, columns, say, shown, entries))
        if comparison is not None:
            out.writelines(f"{line}\n" for line in comparison_lines(comparison, columns, say))
        if are_told_after(stage, chosen):
            out.writelines(f"{line}\n" for line in loss_lines(worked.trace, say))


def comparison_lines(comparison: Comparison, width: int, say: Language) -> Iterator[str]:
    """Whether the file's numbers are those that come out; where not, both and their difference, row by row."""
    given = ~np.isnan(comparison.given)
    values = {
        "entry": comparison.key,
        "count": int(given.sum()),
        "apart": int((~comparison.agreement).sum()),
        "gap": f"{comparison.gap:.3g}",
    }
    yield ""
    yield say("worked.agrees" if comparison.agrees else "worked.differs", **values)
    rows = np.argwhere(~comparison.agreement.all(axis=-1))
    for place in map(tuple, rows[:MOST_ROWS].tolist()):
        tokens = comparison.stage.axes[-2]
        label = align(tokens.label(place[-1], place[0]), LABEL_WIDTH, "left")
        room = width - 2 * LABEL_WIDTH - 2
        _, lines = aligned(columns(comparison, (*place, 0)), 0, room)
        for number, (name, cells) in enumerate(zip(names(say), lines, strict=True)):
            shown = cut("".join(cells), room)
            yield f"  {label if number == 0 else ' ' * LABEL_WIDTH}{align(name, LABEL_WIDTH, 'left')}{shown}"
    if len(rows) > MOST_ROWS:
        yield "  ⋮"


def listing(say: Language) -> str:
    """What --list-worked prints: a line a shipped example, its name and its title."""
    titles = {name: load_worked(path).titled(say.code) for name, path in shipped_worked().items()}
    widest = max(map(len, titles), default=0)
    return "\n".join(f"{name.ljust(widest)}   {title}" for name, title in titles.items())
