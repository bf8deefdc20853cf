"""A worked example as plain text: its words, its stages, and what its file says beside what comes out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TextIO

import numpy as np

from engine.worked import Comparison, Worked, load_worked, shipped_worked
from tui.explanations import explained
from tui.language import Language
from tui.report.selection import Selection
from tui.report.text import LABEL_WIDTH, MOST_ROWS, PIPE_WIDTH, matrices
from tui.widgets.numbers import align, cut
from tui.wrapping import wrap

# Two digits more than the file has show what rounding hides.
EXTRA, MOST_DIGITS = 2, 7


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
        out.writelines(f"{line}\n" for line in matrices(stage, axes, value, columns, say))
        if stage.name in compared:
            out.writelines(f"{line}\n" for line in comparison_lines(compared[stage.name], columns, say))


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
    names = [say(f"worked.{name}") for name in ("printed", "computed", "difference")]
    for place in map(tuple, rows[:MOST_ROWS].tolist()):
        tokens = comparison.stage.axes[-2]
        label = align(tokens.label(place[-1], place[0]), LABEL_WIDTH, "left")
        for number, (name, cells) in enumerate(zip(names, _cells(comparison, place, width), strict=True)):
            yield f"  {label if number == 0 else ' ' * LABEL_WIDTH}{align(name, LABEL_WIDTH, 'left')}{cells}"
    if len(rows) > MOST_ROWS:
        yield "  ⋮"


def listing(say: Language) -> str:
    """What --list-worked prints: a line a shipped example, its name and its title."""
    titles = {name: load_worked(path).titled(say.code) for name, path in shipped_worked().items()}
    widest = max(map(len, titles), default=0)
    return "\n".join(f"{name.ljust(widest)}   {title}" for name, title in titles.items())


def _cells(comparison: Comparison, place: tuple[int, ...], width: int) -> list[str]:
    """A row as the file has it, as it comes out, and the difference, under each other."""
    halves, given = comparison.printed.halves[place], comparison.given[place]
    computed, apart = comparison.stage.value[place], comparison.differences[place]
    columns = []
    for half, one, other, gap in zip(halves, given, computed, apart, strict=True):
        digits = max(0, round(-np.log10(2 * half))) if half > 0 else 0
        finer = min(max(digits, 2) + EXTRA, MOST_DIGITS)
        known = not np.isnan(one)
        texts = (f"{one:.{digits}f}" if known else "", f"{other:.{finer}f}", f"{gap:.{finer}f}" if known else "")
        columns.append([text.replace("-", "−").replace("inf", "∞") for text in texts])
    room = width - 2 * LABEL_WIDTH - 2
    cell = max(len(text) for column in columns for text in column) + 2
    shown = columns if cell * len(columns) <= room else [*columns[: max(1, room // cell - 1)], ["⋯"] * 3]
    return [cut("".join(align(column[line], cell, "right") for column in shown), room) for line in range(3)]
