"""Recording the stages of a worked example: those that are computed, those that its file gives, and its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.architectures.recorder import Recorder
from engine.axes import Axis, shape_text
from engine.errors import FileError
from engine.operand import Array, Index, Operand, Weight
from engine.ops import Given, GivenWeight, Op
from engine.stages import Stage
from engine.trace import Trace
from engine.worked.comparison import Comparison
from engine.worked.fitting import named
from engine.worked.numbers import Matrix, Numbers
from engine.worked.paper import Paper
from engine.worked.shares import check_shares

# More numbers than this are not computed for one stage.
STAGE_LIMIT = 1 << 24


@dataclass
class Recording:
    """Records stages, and keeps what the file gives for those that are computed as well."""

    paper: Paper
    trace: Trace
    comparisons: list[Comparison] = field(default_factory=list, init=False)
    fitting: tuple[str, ...] = field(default=(), init=False)

    @property
    def root(self) -> Recorder:
        """Records stages outside attention."""
        return Recorder(self.trace, self.find)

    def stage(self, here: Recorder, name: str, op: Op, *inputs: Operand, key: str = "", symbol: str = "") -> Stage:
        """Record a stage that is computed; what the file gives for it under ``key`` is kept to be compared."""
        stage = here.stage(name, op, *inputs, symbol=symbol)
        self.check(stage, key)
        return stage

    def given(
        self,
        here: Recorder,
        name: str,
        key: str,
        axes: Sequence[Axis],
        fits: Sequence[str],
        *,
        symbol: str = "",
        rows: Axis | None = None,
        shares: bool = False,
    ) -> Stage:
        """Record a stage that the file gives.

        Args:
            axes: what its numbers run along; 0 where any size will do.
            fits: what decides over the size of each axis, for messages.
            rows: what the rows are called once they are there, where that is not what they must fit.
            shares: whether its rows share out 1.
        """
        matrix, known = self.paper.matrix(key, axes, fits)
        if np.isnan(matrix.values).any():
            raise self.paper.partial(key)
        if matrix.values.size > STAGE_LIMIT:
            raise self.too_large(key, matrix.values.size)
        if shares:
            check_shares(matrix, known, self.paper.at(key), key)
        if rows is not None:
            known = (*known[:-2], rows, known[-1])
        numbers = matrix.values.astype(np.float32)
        return here.stage(name, Given(numbers, known, self.paper.source(key)), symbol=symbol or key)

    def linear(
        self,
        here: Recorder,
        name: str,
        letter: str,
        x: Stage,
        *,
        key: str,
        symbol: str = "",
        rows: Axis | None = None,
        out: Axis | None = None,
        fits: str = "",
    ) -> Stage:
        """x·W (+ b), with W of the file; ``fits`` is what decides over how many columns W must have."""
        shape = self.paper.shape(f"W_{letter}")
        if out is None:
            size = shape[-1] if shape else 0
            out = Axis("D" if size in (0, x.shape[-1]) else "H·d", size)
        elif not out.size:
            out = out.resized(shape[-1] if shape else 0)
        self.fitting = (named(x), fits)
        stage = here.linear(name, x, out, letter, bias=f"b_{letter}" in self.paper, symbol=symbol, rows=rows)
        self.check(stage, key)
        return stage

    def find(self, name: str, symbol: str, axes: tuple[Axis, ...]) -> Weight:
        """A weight of the file, for the recorder."""
        matrix, known = self.paper.matrix(symbol, axes, self.fitting)
        # The bias that comes after it must be as long as its rows.
        self.fitting = (f"{symbol} {shape_text(known)}",)
        return self.weight(name, symbol, known, matrix.values, symbol)

    def weight(self, name: str, symbol: str, axes: tuple[Axis, ...], values: Numbers, key: str) -> Weight:
        """A matrix of the file as a weight; one that is filled with a single number takes no memory."""
        filled = values.strides == (0,) * values.ndim
        numbers = np.broadcast_to(np.float32(values.flat[0]), values.shape) if filled else values.astype(np.float32)

        def read(index: Index) -> Array:
            part: Array = numbers[index] if index else numbers
            return part

        return GivenWeight(name, symbol, axes, read, self.paper.source(key), converted=filled)

    def check(self, stage: Stage, key: str) -> None:
        """Make sure that a stage can be computed, and keep what the file gives for it."""
        if stage.size > STAGE_LIMIT:
            raise self.too_large(stage.name, stage.size)
        if key in self.paper:
            fits = ", ".join(map(named, stage.inputs))
            matrix, _ = self.paper.matrix(key, stage.axes, [fits] * len(stage.axes))
            self.comparisons.append(Comparison(stage, key, _spread(matrix, stage.shape)))

    def too_large(self, name: str, count: int) -> FileError:
        """The error for a stage with too many numbers."""
        text = "{file}: {entry} has {count} numbers; there may be {limit}"
        return FileError("worked-too-large", text, file=self.paper.path, entry=name, count=count, limit=STAGE_LIMIT)


def _spread(matrix: Matrix, shape: tuple[int, ...]) -> Matrix:
    return Matrix(np.broadcast_to(matrix.values, shape), np.broadcast_to(matrix.halves, shape))
