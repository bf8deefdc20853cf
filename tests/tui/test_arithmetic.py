"""Derivations as lines: exact text for small cases, and for every stage what must hold of any."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from rich.cells import cell_len

from engine.axes import Axis
from engine.constants import Constant
from engine.derivation import Derivation, Reference, Sum
from engine.model import Model
from engine.operand import Array
from engine.ops import Linear, Multiply, Op, Scale, Softmax
from engine.ops.elementwise import Add
from engine.ops.norm import LayerNorm, RMSNorm
from engine.stages import Stage
from engine.trace import Trace
from tui import arithmetic
from tui.arithmetic import Line, lines, number_text, place_text, plain
from tui.language import LANGUAGES, language

ZH, EN = language("zh"), language("en")


def constant(name: str, values: object, *axes: Axis) -> Constant:
    array: Array = np.asarray(values, np.float32)
    return Constant(name, name, axes, lambda: array, "")


def vector(name: str, *values: float, symbol: str = "D") -> Constant:
    return constant(name, [values], Axis("N", 1, (("猫",),)), Axis(symbol, len(values)))


def worked(op: Op, *inputs: Constant, cell: tuple[int, ...] = (0, 0)) -> Derivation:
    """The derivation of a cell of an op on hand-made operands."""
    return Trace(["猫"], [[]], [0]).record("y", op, *inputs).derivation(cell)


def written(derivation: Derivation, width: int = 76, rows: int = 4, code: str = "zh") -> list[str]:
    """The lines as text, without what rounding leaves."""
    found = ["".join(part.text for part in line) for line in lines(derivation, 0, width, rows, language(code))]
    found[-1] = re.sub(r"\s+float32 \w+ \S+$", "", found[-1])
    return found if found[-1] else found[:-1]


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (-507.0, "−507"),
            (1.0625, "1.062"),
            (-12.34567, "−12.346"),
            (123.456, "123.46"),
            (0.1, "0.100"),
            (0.0123, "0.0123"),
            (-0.00123, "−0.0012"),
            (0.000123, "0.000123"),
            (0.0000123, "1.23e−05"),
            (1.5e7, "1.50e+07"),
            (math.inf, "∞"),
            (-math.inf, "−∞"),
            (math.nan, "NaN"),
        ],
    )
    def test_text(self, value: float, text: str) -> None:
        assert number_text(value) == text


class TestSums:
    def test_a_product(self) -> None:
        x, weight = vector("x", 1.0, -2.0, 3.0), constant("W", [[0.5], [-0.25], [4]], Axis("D", 3), Axis("F", 1))
        assert written(worked(Linear(), x, weight)) == [
            "Σ   2: 3×4 = 12              0: 1×0.500 = 0.500",
            "    1: −2×(−0.250) = 0.500   Σ = 13",
        ]

    def test_a_bias_is_added_after(self) -> None:
        x, weight = vector("x", 2.0), constant("W", [[3]], Axis("D", 1), Axis("F", 1))
        bias = constant("b", [-1.5], Axis("F", 1))
        assert written(worked(Linear(), x, weight, bias)) == ["Σ   0: 2×3 = 6   Σ = 6", "Σ + b = 6 + (−1.500) = 4.500"]

    def test_the_rest_of_a_long_sum(self) -> None:
        x = vector("x", *([1.0] * 9), -7.0)
        weight = constant("W", [[2]] * 10, Axis("D", 10), Axis("F", 1))
        shown = written(worked(Linear(), x, weight), width=40, rows=2)
        assert shown == ["Σ   9: −7×2 = −14   0: 1×2 = 2", "    1: 1×2 = 2      其余 7 项 = 14", "    Σ = 4"]
        english = written(worked(Linear(), x, weight), width=40, rows=2, code="en")
        assert english[1] == "    1: 1×2 = 2      7 more = 14   Σ = 4"

    def test_a_total_that_does_not_fit_has_its_own_line(self) -> None:
        x, weight = vector("x", 1.0, -2.0), constant("W", [[0.5], [-0.25]], Axis("D", 2), Axis("F", 1))
        assert written(worked(Linear(), x, weight), width=26, rows=2) == [
            "Σ   0: 1×0.500 = 0.500",
            "    1: −2×(−0.250) = 0.500",
            "    Σ = 1",
        ]

    def test_squares_of_negative_numbers_are_bracketed(self) -> None:
        x, gain = vector("x", -3.0, 4.0), constant("γ", [1, -2], Axis("D", 2))
        assert written(worked(RMSNorm(0.0), x, gain, cell=(0, 1))) == [
            "mean(x²)   1: 4² = 16     0: (−3)² = 9   Σ ÷ 2 = 25 ÷ 2 = 12.500",
            "rms = √(12.500 + 0) = 3.536",
            "x ÷ rms × γ = 4 ÷ 3.536 × (−2) = −2.263",
        ]

    def test_deviations_from_the_mean(self) -> None:
        x, gain = vector("x", -3.0, 5.0), constant("γ", [1, 1], Axis("D", 2))
        shift = constant("β", [0, -0.5], Axis("D", 2))
        assert written(worked(LayerNorm(0.0), x, gain, shift, cell=(0, 1))) == [
            "mean(x)   1: 5    0: −3   Σ ÷ 2 = 2 ÷ 2 = 1",
            "var(x)   0: (−3 − 1)² = 16   1: (5 − 1)² = 16   Σ ÷ 2 = 32 ÷ 2 = 16",
            "σ = √(16 + 0) = 4",
            "(x − mean) ÷ σ × γ + β = (5 − 1) ÷ 4 × 1 + (−0.500) = 0.500",
        ]

    def test_exponentials_are_named_by_their_tokens(self) -> None:
        keys = Axis("M", 3, (("我", "爱", "你"),))
        scores = constant("scores", [[0, math.log(2), -math.inf]], Axis("N", 1, (("你",),)), keys)
        assert written(worked(Softmax(), scores)) == [
            "max = 0.693",
            "exp(x − max) = exp(0 − 0.693) = 0.500",
            "Σ exp(x − max)   爱: 1       我: 0.500   你: 0   Σ = 1.500",
            "exp ÷ Σ exp = 0.500 ÷ 1.500 = 0.333",
        ]


class TestSteps:
    def test_a_sum_of_two(self) -> None:
        assert written(worked(Add(), vector("x", -1.0), vector("z", -2.0))) == ["x + z = −1 + (−2) = −3"]

    def test_a_product_of_two(self) -> None:
        assert written(worked(Multiply(), vector("x", 4.0), vector("z", -0.5))) == ["x ⊙ z = 4 × (−0.500) = −2"]

    def test_a_quotient(self) -> None:
        assert written(worked(Scale(4.0, "√16"), vector("x", -3.0))) == ["x ÷ √16 = −3 ÷ 4 = −0.750"]

    def test_a_long_one_is_broken_before_an_operator(self) -> None:
        total = worked(Add(), vector("x", -1.0), vector("z", -2.0))
        assert written(total, width=18) == ["x + z = −1 + (−2)", "   = −3"]
        assert written(total, width=12) == ["x + z = −1", "   + (−2)", "   = −3"]

    def test_a_number_that_is_another_number(self, sample: Model) -> None:
        trace = sample.trace("我爱你")
        heads, concat = trace["layers.0.attention.q_heads"], trace["layers.1.attention.concat"]
        assert written(heads.derivation((0, 2, 1, 8)))[0].startswith("Q[爱, 40] = ")
        assert written(concat.derivation((0, 2, 17)))[0].startswith("heads[头 1, 你, 1] = ")
        assert written(concat.derivation((0, 2, 17)), code="en")[0].startswith("heads[head 1, 你, 1] = ")

    def test_a_masked_cell(self, sample: Model) -> None:
        masked = sample.trace("我爱你")["layers.0.attention.masked"]
        assert written(masked.derivation((0, 0, 0, 2))) == ["mask = 0", "mask = 0 → −∞"]

    def test_what_rounding_leaves(self) -> None:
        third = Derivation(vector("x", 1.0), (0, 0), 0.5, worked(Scale(3.0, "3"), vector("x", 1.0)).steps)
        assert plain(third, 0, 80, EN) == ["x[猫, 0] = 0.500", "  x ÷ 3 = 1 ÷ 3 = 0.333   float32 rounding 0.167"]
        assert plain(third, 0, 30, EN)[1:] == ["  x ÷ 3 = 1 ÷ 3 = 0.333", "     float32 rounding 0.167"]


class TestPlaces:
    def test_by_what_stands_there(self, sample: Model) -> None:
        trace = sample.trace(["我爱你", "猫"])
        scores, gain = trace["layers.0.attention.scores"], trace["norm"].inputs[1]
        assert place_text(scores, (0, 1, 1, 0), 0, EN) == "scores[head 1, 爱, 我]"
        assert place_text(scores, (1, 1, 0, 2), 1, ZH) == "scores[头 1, 猫, <pad>₂]"
        assert place_text(trace["logits"], (0, 2, 1983), 0, EN) == "logits[你, 爱]"
        assert place_text(gain, (7,), 0, EN) == f"{gain.symbol}[7]"


def cells(stage: Stage) -> list[tuple[int, ...]]:
    """The first, a middle and the last cell."""
    sizes = [axis.size for axis in stage.axes]
    return [tuple(0 for _ in sizes), tuple(size // 2 for size in sizes), tuple(size - 1 for size in sizes)]


@pytest.fixture(scope="module")
def derivations(sample: Model) -> Sequence[Derivation]:
    """Of every stage, some."""
    trace = sample.trace("我爱你")
    return [stage.derivation(cell) for stage in trace if stage.layer != 1 for cell in cells(stage)]


class TestAnyStage:
    @pytest.mark.parametrize("code", LANGUAGES)
    @pytest.mark.parametrize(("width", "rows"), [(44, 2), (54, 12), (76, 1), (76, 4), (116, 4), (158, 12)])
    def test_lines_fit(self, derivations: Sequence[Derivation], code: str, width: int, rows: int) -> None:
        for derivation in derivations:
            for line in written(derivation, width, rows, code):
                assert cell_len(line) <= width, line

    @pytest.mark.parametrize("rows", [1, 2, 4])
    def test_a_sum_takes_no_more_lines_than_it_may(self, derivations: Sequence[Derivation], rows: int) -> None:
        for derivation in derivations:
            steps = len(derivation.steps) - 1 + rows
            # The total may stand on a line of its own.
            assert len(written(derivation, 76, rows)) <= steps + 1

    def test_terms_and_rest_add_up_to_the_total(
        self, derivations: Sequence[Derivation], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(arithmetic, "number_text", repr)
        checked = 0
        for derivation in derivations:
            for step in derivation.steps:
                if step.sum is None:
                    continue
                only = Derivation(derivation.operand, derivation.cell, step.value, (step,))
                line, end = "  ".join(written(only, 300, 3)).rsplit("  Σ", 1)
                terms = [re.split(r" = |: ", entry)[-1] for entry in re.split(r"\s{2,}", line.strip())[1:]]
                assert float(end.split(" = ")[1].split()[0].replace("−", "-")) == pytest.approx(step.sum.total)
                assert math.fsum(map(float, terms)) == pytest.approx(step.sum.total, abs=1e-9, rel=1e-9)
                checked += 1
        assert checked > 30

    def test_every_reference_is_there(self, derivations: Sequence[Derivation]) -> None:
        for derivation in derivations:
            shown = references(lines(derivation, 0, 76, 5000, ZH))
            expected = {(each.operand.name, each.cell) for each in derivation.references()}
            assert {(each.operand.name, each.cell) for each in shown} == expected
            assert all(each.operand.number(each.cell) == each.value for each in shown)

    def test_the_largest_terms_come_first(self, derivations: Sequence[Derivation]) -> None:
        for derivation in derivations:
            first = derivation.steps[0].sum
            if isinstance(first, Sum):
                shown = references(lines(derivation, 0, 76, 1, ZH))
                assert [shown[0].operand.name, shown[0].cell] == largest(first)

    def test_the_last_step_comes_to_the_value(self, derivations: Sequence[Derivation]) -> None:
        for derivation in derivations:
            assert written(derivation)[-1].endswith(number_text(derivation.total))
            assert derivation.total == pytest.approx(derivation.value, abs=1e-4, rel=1e-4)


def references(found: list[Line]) -> list[Reference]:
    return [part.reference for line in found for part in line if part.reference is not None]


def largest(total: Sum) -> list[object]:
    position = int(np.argmax(np.abs(total.values)))
    factor = total.factors(position)[0]
    return [factor.operand.name, factor.cell]
