"""Every op on numbers small enough to work out by hand, as they stand here: the result, and the arithmetic shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from engine.axes import Axis
from engine.constants import Constant
from engine.derivation import Number, Step
from engine.operand import Array, Cell, Operand
from engine.ops import (
    Activation,
    Add,
    ApplyMask,
    AttentionScores,
    Embedding,
    LayerNorm,
    Linear,
    MergeHeads,
    Multiply,
    Op,
    RMSNorm,
    Rope,
    Scale,
    Softmax,
    SplitHeads,
    Tokenize,
    WeightedSum,
)

INF = math.inf


def given(symbols: str, numbers: Any) -> Constant:
    """An operand with these numbers; ``symbols`` names its axes: ``B N D``."""
    array = np.array(numbers, np.float32)
    axes = tuple(Axis(symbol, size) for symbol, size in zip(symbols.split(), array.shape, strict=True))
    return Constant(symbols, "x", axes, lambda: array, "")


def result(op: Op, *inputs: Operand) -> Array:
    """What the op makes of the operands, checked to be float32 and of the shape that its axes say."""
    found = op.run(inputs, lambda operand: operand.value)
    assert found.dtype == np.float32
    assert found.shape == tuple(axis.size for axis in op.axes(inputs))
    return found


def close(numbers: ArrayLike) -> Any:
    return pytest.approx(np.array(numbers), rel=1e-6, abs=1e-6)


def steps(op: Op, cell: Cell, *inputs: Operand) -> tuple[Step, ...]:
    """The derivation of a cell, checked to come to the result's number."""
    worked = op.derive(cell, inputs)
    assert worked[-1].value == pytest.approx(float(result(op, *inputs)[cell]), rel=3e-6)
    return worked


def numbers(step: Step) -> list[float]:
    """The numbers written in a step, and those of the terms of its sum, largest first."""
    total = [] if step.sum is None else step.sum.largest(len(step.sum.values))
    inside = [factor.value for term in total for factor in term.factors]
    return [*inside, *(piece.value for piece in step.pieces if not isinstance(piece, str))]


def test_linear() -> None:
    x, weight, bias = given("B N D", [[[1, 2], [0, -1]]]), given("D F", [[3, 4], [5, 6]]), given("F", [0.5, -1])
    assert result(Linear(), x, weight, bias) == close([[[1 * 3 + 2 * 5 + 0.5, 1 * 4 + 2 * 6 - 1], [-4.5, -7]]])
    assert result(Linear(), x, weight) == close([[[13, 16], [-5, -6]]])
    total, shifted = steps(Linear(), (0, 0, 1), x, weight, bias)
    assert (total.value, numbers(total)) == (16, [2, 6, 1, 4])
    assert (shifted.value, numbers(shifted)) == (15, [16, -1])
    (alone,) = steps(Linear(), (0, 1, 0), x, weight)
    assert alone.value == -5
    assert alone.sum is not None
    assert [term.value for term in alone.sum.largest(2)] == [-5, 0]


def test_scores_of_grouped_heads() -> None:
    queries = given("B H N d", [[[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]]])
    keys = given("B H_kv M d", [[[[1, 0], [0, 1]], [[1, 1], [-1, 1]]]])
    # Heads 0 and 1 meet the first key head, 2 and 3 the second.
    assert result(AttentionScores(), queries, keys) == close([[[[1, 2]], [[3, 4]], [[11, 1]], [[15, 1]]]])
    (total,) = steps(AttentionScores(), (0, 3, 0, 1), queries, keys)
    assert numbers(total) == [8, 1, 7, -1]
    assert total.sum is not None
    assert [term.value for term in total.sum.largest(2)] == [8, -7]
    assert total.sum.largest(1)[0].factors[1].cell == (0, 1, 1, 1)


def test_scale() -> None:
    scores, op = given("B H N M", [[[[6, -3]]]]), Scale(math.sqrt(2), "√2")
    assert result(op, scores) == close([[[[4.2426407, -2.1213203]]]])
    (step,) = steps(op, (0, 0, 0, 1), scores)
    assert numbers(step) == [-3, math.sqrt(2)]


def test_mask() -> None:
    scores, mask = given("B H N M", [[[[1, 2], [3, 4]]]]), given("1 N M", [[[1, 0], [1, 1]]])
    assert result(ApplyMask(), scores, mask).tolist() == [[[[1, -INF], [3, 4]]]]
    assert steps(ApplyMask(), (0, 0, 1, 0), scores, mask)[-1].value == 3
    worked = steps(ApplyMask(), (0, 0, 0, 1), scores, mask)
    assert worked[-1].value == -INF
    assert [number for step in worked for number in numbers(step)] == [0]


def test_a_mask_for_each_text() -> None:
    scores = given("B H N M", np.ones((2, 2, 1, 2)))
    mask = given("B N M", [[[1, 1]], [[0, 1]]])
    assert result(ApplyMask(), scores, mask)[:, 1].tolist() == [[[1, 1]], [[-INF, 1]]]
    assert ApplyMask().reads((1, 1, 0, 0), (scores, mask))[1] == (1, 0, 0)


def test_softmax() -> None:
    x = given("B H N M", [[[[0, math.log(3), -INF], [-INF, -INF, -INF], [1000, 1000, -1000]]]])
    found = result(Softmax(), x)
    assert found[0, 0, 0] == close([0.25, 0.75, 0])
    assert found[0, 0, 0, 2] == 0.0
    assert found[0, 0, 1].tolist() == [0, 0, 0]
    assert found[0, 0, 2].tolist() == [0.5, 0.5, 0]
    peak, power, total, share = steps(Softmax(), (0, 0, 0, 0), x)
    assert peak.value == pytest.approx(math.log(3), rel=1e-6)
    assert power.value == pytest.approx(1 / 3, rel=1e-6)
    assert total.value == pytest.approx(1 / 3 + 1, rel=1e-6)
    assert share.value == pytest.approx(0.25, rel=1e-6)
    assert steps(Softmax(), (0, 0, 0, 2), x)[-1].value == 0.0
    assert steps(Softmax(), (0, 0, 1, 1), x)[-1].value == 0.0


def test_weighted_sum() -> None:
    weights = given("B H N M", [[[[0.25, 0.75]], [[1, 0]]]])
    values = given("B H_kv M d", [[[[4, 8], [0, -8]]]])
    assert result(WeightedSum(), weights, values) == close([[[[1, -4]], [[4, 8]]]])
    (total,) = steps(WeightedSum(), (0, 0, 0, 1), weights, values)
    assert numbers(total) == [0.75, -8, 0.25, 8]


def test_rms_norm() -> None:
    x, gain = given("B N D", [[[3, -4]]]), given("D", [2, 0.5])
    root = math.sqrt((9 + 16) / 2 + 0.5)
    assert result(RMSNorm(0.5), x, gain) == close([[[3 / root * 2, -4 / root * 0.5]]])
    assert result(RMSNorm(0.5, offset=1.0), x, gain) == close([[[3 / root * 3, -4 / root * 1.5]]])
    square, under, quotient = steps(RMSNorm(0.5), (0, 0, 1), x, gain)
    assert (square.value, numbers(square)) == (12.5, [-4, 3, 2])
    assert (under.value, numbers(under)) == (root, [12.5, 0.5])
    assert quotient.value == pytest.approx(-4 / root * 0.5)
    assert 1.0 in numbers(steps(RMSNorm(0.5, offset=1.0), (0, 0, 1), x, gain)[-1])


def test_layer_norm() -> None:
    x, gain, shift = given("B N D", [[[1, 2, 6]]]), given("D", [1, 1, 3]), given("D", [0, 0, 10])
    root = math.sqrt((4 + 1 + 9) / 3 + 1e-5)
    assert result(LayerNorm(1e-5), x, gain, shift) == close([[[-2 / root, -1 / root, 3 * 3 / root + 10]]])
    assert result(LayerNorm(1e-5), x, gain) == close([[[-2 / root, -1 / root, 3 * 3 / root]]])
    mean, variance, under, quotient = steps(LayerNorm(1e-5), (0, 0, 2), x, gain, shift)
    assert (mean.value, numbers(mean)) == (3, [6, 2, 1, 3])
    assert variance.value == pytest.approx(14 / 3)
    assert under.value == pytest.approx(root)
    assert quotient.value == pytest.approx(9 / root + 10)


def test_rope_turns_the_pair_i_and_i_plus_half() -> None:
    # A pair at 1 and 3 by a right angle, one at 0 and 2 by 60°; the fifth coordinate is not turned.
    x = given("B H N d", [[[[2, 1, 4, 3, 9]]]])
    angles = given("N d/2", [[math.pi / 3, math.pi / 2]])
    half, root = 0.5, math.sqrt(3) / 2
    turned = [2 * half - 4 * root, -3, 4 * half + 2 * root, 1, 9]
    assert result(Rope(), x, angles) == close([[[turned]]])
    for k, pair in [(0, 0), (2, 0)]:
        cos, sin, step = steps(Rope(), (0, 0, 0, k), x, angles)
        assert [cos.value, sin.value] == pytest.approx([half, root], rel=1e-6)
        assert step.value == pytest.approx(turned[k], rel=1e-6)
        first, _, second, _ = numbers(step)
        assert [first, second] == ([2, 4] if k == 0 else [4, 2])
        assert Rope().reads((0, 0, 0, k), (x, angles))[1] == (0, pair)
    (kept,) = steps(Rope(), (0, 0, 0, 4), x, angles)
    assert kept.value == 9


def test_silu() -> None:
    x = given("B N F", [[[0, math.log(3), -200, 200]]])
    assert result(Activation("silu"), x) == close([[[0, math.log(3) * 0.75, 0, 200]]])
    power, share = steps(Activation("silu"), (0, 0, 1), x)
    assert power.value == pytest.approx(1 / 3, rel=1e-6)
    assert share.value == pytest.approx(math.log(3) / (1 + 1 / 3), rel=1e-6)
    assert abs(Activation("silu").derive((0, 0, 2), (x,))[-1].value) < 1e-80
    assert steps(Activation("silu"), (0, 0, 3), x)[-1].value == 200


def test_add_and_multiply() -> None:
    x, y, z = (given("B N D", [[pair]]) for pair in ([1, -2], [0.5, 4], [10, 20]))
    assert result(Add(), x, y, z).tolist() == [[[11.5, 22]]]
    assert numbers(steps(Add(), (0, 0, 1), x, y, z)[0]) == [-2, 4, 20]
    assert result(Multiply(), x, y).tolist() == [[[0.5, -8]]]
    assert numbers(steps(Multiply(), (0, 0, 1), x, y)[0]) == [-2, 4]


def test_tokens_and_embedding() -> None:
    axes = Axis("B", 1), Axis("N", 2, (["爱", "我"],))
    ids = np.array([[2, 0]], np.float32)
    assert result(Tokenize(ids, axes)).tolist() == [[2, 0]]
    assert steps(Tokenize(ids, axes), (0, 0))[-1].pieces == ("vocabulary[爱]",)
    tokens, table = given("B N", ids), given("V D", [[1, 2], [3, 4], [5, 6]])
    assert result(Embedding(), tokens, table).tolist() == [[[5, 6], [1, 2]]]
    assert Embedding().forward(ids, table.value).tolist() == [[[5, 6], [1, 2]]]
    found = steps(Embedding(), (0, 0, 1), tokens, table)[-1]
    assert [piece.cell for piece in found.pieces if not isinstance(piece, str | Number)] == [(2, 1)]


def test_heads_are_split_and_put_together_again() -> None:
    x = given("B N D", [[[1, 2, 3, 4], [5, 6, 7, 8]]])
    split = SplitHeads(Axis("H", 2), Axis("M", 2))
    heads = result(split, x)
    assert heads.tolist() == [[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]
    assert [axis.symbol for axis in split.axes((x,))] == ["B", "H", "M", "d"]
    assert split.reads((0, 1, 0, 1), (x,)) == ((0, 0, 3),)
    assert steps(split, (0, 1, 0, 1), x)[-1].value == 4
    joined, merge = given("B H N d", heads), MergeHeads(Axis("D", 4))
    assert result(merge, joined).tolist() == x.value.tolist()
    assert merge.reads((0, 1, 2), (joined,)) == ((0, 1, 1, 0),)
    assert steps(merge, (0, 1, 2), joined)[-1].value == 7


@pytest.mark.parametrize("shape", [(3, 700, 500), (2, 3, 400, 400)])
def test_large_arrays_are_worked_block_by_block_to_the_same_numbers(shape: Sequence[int]) -> None:
    x = np.random.default_rng(1).normal(0, 3, shape).astype(np.float32)
    symbols = "B N D" if len(shape) == 3 else "B H N M"
    exact = np.exp(x.astype(np.float64))
    for op, expected in [
        (Softmax(), exact / exact.sum(-1, keepdims=True)),
        (Activation("silu"), x * exact / (1 + exact)),
        (Scale(3.0, "3"), x.astype(np.float64) / 3),
    ]:
        assert np.abs(result(op, given(symbols, x)) - expected).max() <= 2e-6


def test_the_largest_summands_and_the_rest() -> None:
    x = given("B N D", [[[1, -5, 0.5, 2]]])
    (total,) = Linear().derive((0, 0, 0), (x, given("D F", [[1], [1], [1], [-1]])))
    assert total.sum is not None
    assert [(term.position, term.value) for term in total.sum.largest(2)] == [(1, -5), (3, -2)]
    assert total.sum.rest(2) == (2, 1.5)
    assert total.sum.rest(4) == (0, 0)
    assert len(total.sum.largest(99)) == 4
    for count in range(5):
        shown = sum(term.value for term in total.sum.largest(count))
        assert shown + total.sum.rest(count)[1] == total.sum.total == -5.5
