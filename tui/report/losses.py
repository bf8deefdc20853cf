"""How every token of a text was foreseen: as a table for a person, and as an object for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from engine.generation import text_loss
from engine.stages import Stage
from engine.trace import Trace
from tui.language import Language
from tui.report.selection import Selection
from tui.views.foreseen import heading, line, mean_line

STAGES = ("losses", "loss")


def are_told_after(stage: Stage, chosen: Selection) -> bool:
    """Whether the table stands after a stage: the last of those that it explains."""
    told = [each for each in chosen.stages if each.name in STAGES]
    return bool(told) and stage is told[-1]


def loss_lines(trace: Trace, say: Language) -> Iterator[str]:
    """For each text that has something to foresee: the mean and the perplexity, and a line a position."""
    for text in range(len(trace.texts)):
        found = text_loss(trace, text)
        if found is None:
            continue
        yield ""
        yield say("losses.title") + (f" · {say('report.axis_B')} {text}" if len(trace.texts) > 1 else "")
        yield mean_line(found, say)
        yield heading(say).rstrip()
        yield from (line(outcome).rstrip() for outcome in found.outcomes)


def loss_entries(trace: Trace) -> list[dict[str, Any] | None]:
    """For each text ``mean``, ``perplexity`` and ``positions``; None where it has nothing to foresee."""
    entries: list[dict[str, Any] | None] = []
    for text in range(len(trace.texts)):
        found = text_loss(trace, text)
        entries.append(None)
        if found is not None:
            outcomes = [asdict(outcome) for outcome in found.outcomes]
            entries[text] = {"mean": found.mean, "perplexity": found.perplexity, "positions": outcomes}
    return entries
