"""A trace for other programs: JSON, CSV and npz."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from typing import IO, Any, TextIO

import numpy as np

from engine.axes import Axis
from engine.model import Model
from engine.operand import Array
from engine.ops import Successors, Tokenize
from engine.stages import Stage
from engine.trace import Trace
from engine.worked import Worked
from tui.report.losses import STAGES, loss_entries
from tui.report.selection import Selection, head_axis

# A vocabulary's labels are its index in tokenizer.json; writing thousands of them into every report helps nobody.
LABELLED = 1024

# What JSON allows in a string and a terminal acts on: C1 controls, and marks that reverse or hide text.
UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def write_json(out: TextIO, model: Model | Worked, trace: Trace, chosen: Selection) -> None:
    """One object: ``model``, ``texts``, ``tokens`` and ``stages``, and with the losses among them ``foreseen``, which
    has for each text how every token was predicted; −∞ stands as ``-Infinity``, as Python's json reads it.

    Written stage by stage, so that no more than one is held as Python numbers.
    """
    head = {
        "model": model.name,
        "texts": list(trace.texts),
        "tokens": [[token.label for token in row] for row in trace.tokens],
    }
    out.write(UNSEEN.sub(_escaped, json.dumps(head, ensure_ascii=False))[:-1] + ', "stages": [')
    for number, stage in enumerate(chosen.stages):
        out.write(",\n" if number else "\n")
        json.dump(_entry(stage, chosen), out, ensure_ascii=False)
    out.write("\n]")
    if any(stage.name in STAGES for stage in chosen.stages):
        foreseen = json.dumps(loss_entries(trace), ensure_ascii=False)
        out.write(f',\n"foreseen": {UNSEEN.sub(_escaped, foreseen)}')
    out.write("}\n")


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _entry(stage: Stage, chosen: Selection) -> dict[str, Any]:
    axes, value = chosen.part(stage)
    entry: dict[str, Any] = {"name": stage.name, "op": stage.op.name, "formula": stage.formula}
    if len(axes) < len(stage.axes):
        entry["head"] = chosen.head
    return entry | {
        "axes": [{"symbol": axis.symbol, "size": axis.size, "labels": _labels(axis)} for axis in axes],
        "shape": list(value.shape),
        "value": _plain(stage, value).tolist(),
    }


def _labels(axis: Axis) -> list[str] | list[list[str]] | None:
    if not axis.by_text or axis.size > LABELLED:
        return None
    shown = [list(labels) for labels in axis.by_text]
    return shown[0] if len(shown) == 1 else shown


def _plain(stage: Stage, value: Array) -> np.ndarray[Any, Any]:
    """Token ids are whole numbers, which an export says by their type."""
    return value.astype(np.int64) if isinstance(stage.op, Tokenize | Successors) else value


def write_csv(out: TextIO, model: Model | Worked, trace: Trace, chosen: Selection) -> None:
    """A line a number: stage, text, head, row, column (with the tokens that stand there) and value."""
    rows = csv.writer(out)
    rows.writerow(["stage", "text", "head", "row", "row_label", "column", "column_label", "value"])
    for stage in chosen.stages:
        axes, value = chosen.part(stage)
        plain = _plain(stage, value)
        headed = head_axis(stage)
        for cell in np.ndindex(value.shape):
            text, *rest = cell
            head: int | str | None = ""
            if len(axes) < len(stage.axes):
                head = chosen.head
            elif headed is not None:
                head = rest.pop(0)
            places: list[int | str] = []
            for axis, position in zip(axes[len(axes) - len(rest) :], rest, strict=True):
                labels = axis.labels_of(text)
                places += [position, "" if labels is None else labels[position]]
            places += [""] * (4 - len(places))
            rows.writerow([stage.name, text, head, *places, plain[cell]])


def write_npz(out: IO[bytes], trace: Trace, chosen: Selection) -> None:
    """A NumPy archive with an array a stage, by its name."""
    # The names have no place among savez's own keywords, so mypy cannot see that they are arrays.
    arrays: dict[str, Any] = {stage.name: _plain(stage, chosen.part(stage)[1]) for stage in chosen.stages}
    np.savez(out, **arrays)


WRITERS: dict[str, Callable[[TextIO, Model | Worked, Trace, Selection], None]] = {"json": write_json, "csv": write_csv}
