"""How well a text was predicted: the true next tokens, −ln of their probabilities, and the mean of that."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.axes import Axis
from engine.derivation import Number, Reference, Step, Sum
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op, copied


@dataclass(frozen=True)
class Successors(Op):
    """What each token should predict: the one after it. Tokens B×N give B×(N−1); the last has nothing to predict."""

    name = "successors"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "[n+1]")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        texts, tokens = inputs[0].axes
        # Labelled with the tokens that predict, not with those that are predicted.
        labels = tuple(tuple(row)[:-1] for row in tokens.by_text)
        return texts, Axis(tokens.symbol, tokens.size - 1, labels, tokens.side)

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol}[n] = {inputs[0].symbol}[n+1]"

    def forward(self, *arrays: Array) -> Array:
        return arrays[0][:, 1:]

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        text, position = cell
        return ((text, position + 1),)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        text, position = cell
        return copied(f"{inputs[0].symbol}[{position + 1}]", inputs[0], (text, position + 1))


@dataclass(frozen=True, eq=False)
class Losses(Op):
    """−ln P of each target: probabilities B×N×V and targets B×N′, N′ ≤ N, give B×N′.

    ``counted``, B×N′, says where a token predicts another; where one of the two is padding the loss is 0 by definition.
    None: everywhere.
    """

    counted: NDArray[np.bool_] | None = None
    name = "negative_log"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("−ln ", "[n, ", "]")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[1].axes

    def formula(self, symbol: str, inputs: Inputs) -> str:
        probabilities, targets = (operand.symbol for operand in inputs)
        return f"{symbol}[n] = −ln {probabilities}[n, {targets}[n]]"

    def forward(self, *arrays: Array) -> Array:
        probabilities, targets = arrays
        places = targets.astype(np.intp)[..., None]  # B×N′×1
        chosen = np.take_along_axis(probabilities[:, : targets.shape[1]], places, axis=-1)[..., 0]  # B×N′
        result: Array = np.float32(0.0) - np.log(chosen)
        if self.counted is not None:
            result[~self.counted] = 0.0
        return result

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return (*cell, int(inputs[1].number(cell))), cell

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        if self.counted is not None and not self.counted[cell]:
            return (Step("", 0.0, ("<pad> → 0",)),)
        place, _ = self.reads(cell, inputs)
        target, chosen = Reference.to(inputs[1], *cell), Reference.to(inputs[0], *place)
        before = rank(inputs[0].part((*cell, slice(None))), place[-1]) - 1
        return (
            Step(f"v “{inputs[0].axes[-1].label(place[-1])}”", target.value, (target,)),
            Step(f"rank = 1 + #(P > P[{place[-1]}])", before + 1.0, ("1 + ", Number(float(before)))),
            Step("−ln P", -math.log(chosen.value) if chosen.value > 0 else math.inf, ("−ln(", chosen, ")")),
        )


@dataclass(frozen=True, eq=False)
class MeanLoss(Op):
    """The mean of each text's losses, B×N′ → B×1, over the positions that are ``counted`` (None: all of them).

    A text of a single token has nothing to predict: its mean is that of no number, NaN.
    """

    counted: NDArray[np.bool_] | None = None
    name = "mean"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("mean(", ")")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes[0], Axis("1", 1)

    def formula(self, symbol: str, inputs: Inputs) -> str:
        counts = dict.fromkeys(self._counts(inputs[0].shape).tolist())
        return f"{symbol} = Σ {inputs[0].symbol}[n] ÷ {', '.join(map(str, counts))}"

    def forward(self, *arrays: Array) -> Array:
        counts = self._counts(arrays[0].shape).astype(np.float32)
        result: Array = arrays[0].sum(axis=1, dtype=np.float32) / counts
        return result[:, None]

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return ((cell[0], slice(None)),)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        (losses,), text = inputs, cell[0]
        count = int(self._counts(losses.shape)[text])
        values = losses.part((text, slice(None))).astype(np.float64)
        total = Sum(losses.axes[1].symbol, losses, values, lambda position: (Reference.to(losses, text, position),))
        mean = total.total / count if count else math.nan
        return (
            Step("Σ", total.total, sum=total),
            Step(f"Σ ÷ {count}", mean, (Number(total.total), " ÷ ", Number(float(count)))),
        )

    def _counts(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        if self.counted is None:
            return np.full(shape[0], shape[1], np.int64)
        counts: NDArray[np.int64] = self.counted.sum(axis=1, dtype=np.int64)
        return counts


def rank(probabilities: Array, id: int) -> int:
    """The place of a token among all, the most probable first: 1 and the number of those that are more probable."""
    return 1 + int(np.count_nonzero(probabilities > probabilities[id]))
