"""From text to the first vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.axes import Axis
from engine.derivation import Reference, Step
from engine.operand import Array, Cell, Index, Operand
from engine.ops.base import Inputs, Op


@dataclass(frozen=True, eq=False)
class Tokenize(Op):
    """Texts as token ids, B×N. Ids are whole numbers; every vocabulary is far below float32's 2²⁴.

    ``variety`` says where the texts come from: they are given (the empty text), or ``written`` by the model itself,
    token by token, after a start token and what somebody may have begun it with.
    """

    ids: Array
    token_axes: tuple[Axis, Axis]
    variety: str = ""
    name = "tokenize"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("",)

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return self.token_axes

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {'(y₀, y₁, …)' if self.variety == 'written' else 'tokenizer(text)'}"

    def forward(self, *arrays: Array) -> Array:
        return self.ids

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return ()

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        batch, position = cell
        label = self.token_axes[1].label(position, batch)
        return (Step("id", float(self.ids[cell]), (f"vocabulary[{label}]",)),)


@dataclass(frozen=True)
class Embedding(Op):
    """Each token's row of a table: tokens B×N and a table V×D give B×N×D."""

    name = "embedding"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "→", "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        tokens, table = inputs
        return (*tokens.axes, table.axes[1])

    def formula(self, symbol: str, inputs: Inputs) -> str:
        tokens, table = inputs
        return f"{symbol}[n] = {table.symbol}[{tokens.symbol}[n]]"

    def forward(self, *arrays: Array) -> Array:
        ids, table = arrays
        rows: Array = table[ids.astype(np.intp)]
        return rows

    def run(self, inputs: Inputs, fetch: Callable[[Operand], Array]) -> Array:
        tokens, table = inputs
        # A table of 150,000 rows is never read whole for a sentence.
        return table.part((fetch(tokens).astype(np.intp),))

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        batch, position, coordinate = cell
        identity = int(inputs[0].number((batch, position)))
        return (batch, position), (identity, coordinate)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        token, entry = self.reads(cell, inputs)
        found = Reference.to(inputs[1], *entry)
        row = Step("id", inputs[0].number(token), (Reference.to(inputs[0], *token),))
        return row, Step(f"{inputs[1].symbol}[{entry[0]},{entry[1]}]", found.value, (found,))
