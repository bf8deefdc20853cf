"""What comes next: the distribution after a text, and greedy continuation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.model import Model
from engine.trace import Trace


@dataclass(frozen=True, slots=True)
class Prediction:
    """A token that may come next, and its probability."""

    id: int
    label: str
    probability: float


def predictions(trace: Trace, text: int = 0, position: int | None = None, count: int = 10) -> list[Prediction]:
    """The most probable tokens after a position (the text's last by default), most probable first."""
    stage = trace["probabilities"]
    row = stage.value[text, trace.ends[text] if position is None else position]
    best = np.argsort(-row, kind="stable")[:count]
    return [Prediction(int(i), stage.axes[-1].label(int(i)), float(row[i])) for i in best]


def greedy(model: Model, ids: Sequence[int], count: int) -> Iterator[int]:
    """Up to ``count`` further tokens, each the most probable after all before it; an end-of-text token is the last."""
    sequence = list(ids)
    end = model.tokenizer.eos
    for _ in range(min(count, model.spec.positions - len(sequence))):
        logits = model.trace(ids=sequence)["logits"].value
        following = int(logits[0, -1].argmax())
        yield following
        if following == end:
            return
        sequence.append(following)
