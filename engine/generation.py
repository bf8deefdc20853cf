"""What comes next: the distribution after a text, and greedy continuation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.errors import InputError
from engine.model import Model
from engine.ops.loss import Losses, rank
from engine.trace import Trace

# A translation that has not ended by then goes round in circles.
MOST_WRITTEN = 64


@dataclass(frozen=True, slots=True)
class Prediction:
    """A token that may come next, and its probability."""

    id: int
    label: str
    probability: float


def predictions(trace: Trace, text: int = 0, position: int | None = None, count: int = 10) -> list[Prediction]:
    """The most probable tokens at a position, most probable first.

    A decoder predicts there what comes next, an encoder what stands there. Without a position: where the trace is asked
    first, a text's mask token or its end.
    """
    stage = trace["probabilities"]
    row = stage.part((text, trace.asked[text] if position is None else position))
    best = np.argsort(-row, kind="stable")[:count]
    return [Prediction(int(i), stage.axes[-1].label(int(i)), float(row[i])) for i in best]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one token of a text was foreseen at the position before it.

    Attributes:
        position: the position that predicts.
        token: the label of the token that stands there.
        id: the token that follows in the text.
        label: its label.
        probability: what the model gave it.
        loss: −ln of that.
        rank: its place among all tokens, the most probable first; 1 is the first.
    """

    position: int
    token: str
    id: int
    label: str
    probability: float
    loss: float
    rank: int


@dataclass(frozen=True, slots=True)
class TextLoss:
    """How well a text was predicted: every token after its first, and the mean of their losses."""

    outcomes: tuple[Outcome, ...]
    mean: float

    @property
    def perplexity(self) -> float:
        """e to the power of the mean: among how many equally probable tokens the model was undecided, as it were."""
        try:
            return math.exp(self.mean)
        except OverflowError:
            return math.inf


def text_loss(trace: Trace, text: int = 0) -> TextLoss | None:
    """How each token of a text was foreseen, first to last; None where the text or the model has nothing to foresee."""
    if "losses" not in trace:
        return None
    targets, losses, probabilities = (trace[name] for name in ("targets", "losses", "probabilities"))
    ids, rows = targets.value[text], probabilities.value[text]
    op = losses.op
    assert isinstance(op, Losses)
    counted = range(ids.size) if op.counted is None else np.flatnonzero(op.counted[text]).tolist()
    outcomes = [
        Outcome(
            position,
            targets.axes[1].label(position, text),
            int(ids[position]),
            probabilities.axes[-1].label(int(ids[position])),
            float(rows[position, int(ids[position])]),
            float(losses.value[text, position]),
            rank(rows[position], int(ids[position])),
        )
        for position in counted
    ]
    return TextLoss(tuple(outcomes), float(trace["loss"].value[text, 0])) if outcomes else None


def greedy(model: Model, ids: Sequence[int], count: int, *, decoder_ids: Sequence[int] | None = None) -> Iterator[int]:
    """Up to ``count`` further tokens, each the most probable after all before it; one that ends the text is the last.

    An encoder-decoder reads ``ids`` as its source, and writes on after ``decoder_ids``, which are its start token where
    none are given. What fills up short texts is never written.

    Raises:
        InputError: the model is an encoder, which continues no text.
    """
    source = model.spec.source
    if source is None and model.spec.kind == "encoder":
        raise InputError("no-continuation", "{model} reads a text both ways and cannot continue it", model=model.name)
    if source is None:
        sequence, end = list(ids), model.tokenizer.eos
    else:
        sequence, end = list(decoder_ids or [source.start]), source.end
    for _ in range(min(count, model.spec.positions - len(sequence))):
        trace = model.trace(ids=sequence) if source is None else model.trace(ids=list(ids), decoder_ids=sequence)
        scores = trace["probabilities"].inputs[0].part((0, -1))
        if source is not None:
            scores = np.where(np.arange(scores.size) == source.never, -np.inf, scores)
        following = int(scores.argmax())
        yield following
        if following == end:
            return
        sequence.append(following)


def translated(model: Model, trace: Trace, memory: int) -> Trace:
    """An encoder-decoder's trace with its own greedy translation, where none has begun; others as they are."""
    if not trace.source_tokens or any(len(row) > 1 for row in trace.tokens):
        return trace
    sources = [[token.id for token in row] for row in trace.source_tokens]
    begun = [[token.id for token in row] for row in trace.tokens]
    written = [
        [*start, *greedy(model, source, MOST_WRITTEN, decoder_ids=start)]
        for source, start in zip(sources, begun, strict=True)
    ]
    return model.trace(ids=sources, decoder_ids=written, memory=memory)
