"""Recording stages under their names, with the weights that belong to them."""

from __future__ import annotations

from collections.abc import Callable

from engine.architectures.description import NormSpec
from engine.axes import Axis
from engine.operand import Operand, Weight
from engine.ops import Add, LayerNorm, Linear, Op, RMSNorm
from engine.stages import SIDES, Stage
from engine.trace import Trace

# Finds the weight of a name (``layers.0.attention.q.weight``), called so in formulas, with the axes that it must have.
FindWeight = Callable[[str, str, tuple[Axis, ...]], Weight]


class Recorder:
    """Records stages under a prefix, with the weights that belong to them: a weight is called after its stage, or after
    its ``slot`` where that is named otherwise.
    """

    def __init__(self, trace: Trace, find: FindWeight, prefix: str = "") -> None:
        self.trace, self.find, self.prefix = trace, find, prefix

    @property
    def side(self) -> str:
        """The prefix of the stack: ``encoder.`` or ``decoder.`` where there are two."""
        first = self.prefix.partition(".")[0]
        return f"{first}." if first in SIDES else ""

    def under(self, prefix: str) -> Recorder:
        """A recorder for the stages of a part: ``layers.0.attention``."""
        return Recorder(self.trace, self.find, f"{self.prefix}{prefix}.")

    def stage(self, name: str, op: Op, *inputs: Operand, symbol: str = "", lasting: bool = False) -> Stage:
        """A stage of this part."""
        return self.trace.record(self.prefix + name, op, *inputs, symbol=symbol, lasting=lasting)

    def weight(self, name: str, symbol: str, *axes: Axis) -> Weight:
        """A weight of this part: ``q.weight``."""
        return self.find(self.prefix + name, symbol, axes)

    def matrix(self, slot: str, x: Operand, out: Axis, letter: str, bias: bool) -> tuple[Weight, ...]:
        """W of in×out for what x has as its last axis, and b where there is one."""
        width = x.axes[-1].resized(x.axes[-1].size)
        weight = self.weight(f"{slot}.weight", f"W_{letter}", width, out)
        return (weight, self.weight(f"{slot}.bias", f"b_{letter}", out.resized(out.size))) if bias else (weight,)

    def linear(
        self,
        name: str,
        x: Operand,
        out: Axis,
        letter: str,
        *,
        bias: bool = False,
        symbol: str = "",
        slot: str = "",
        rows: Axis | None = None,
    ) -> Stage:
        """x·W (+ b), with W of in×out; ``rows`` renames the rows."""
        return self.stage(name, Linear(rows), x, *self.matrix(slot or name, x, out, letter, bias), symbol=symbol)

    def norm(
        self, name: str, x: Operand, spec: NormSpec, *, symbol: str = "", slot: str = "", lasting: bool = False
    ) -> Stage:
        """The normalisation of x with its γ (and, for LayerNorm, its β)."""
        width = x.axes[-1].resized(x.axes[-1].size)
        gain = self.weight(f"{slot or name}.weight", "γ", width)
        if spec.kind == "rms":
            return self.stage(name, RMSNorm(spec.epsilon, spec.offset), x, gain, symbol=symbol, lasting=lasting)
        shift = self.weight(f"{slot or name}.bias", "β", width)
        return self.stage(name, LayerNorm(spec.epsilon), x, gain, shift, symbol=symbol, lasting=lasting)

    def add(self, name: str, x: Operand, *others: Operand, symbol: str = "") -> Stage:
        """The residual connection."""
        return self.stage(name, Add(), x, *others, symbol=symbol, lasting=True)
