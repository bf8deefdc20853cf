"""Operands as matrices: which axes are rows and columns, windows, labels, and what a cell was made of."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.axes import Axis
from engine.constants import Constant
from engine.model import Model
from engine.operand import Array, Index, Operand
from engine.trace import Trace
from engine.worked import load_worked
from tui import grids
from tui.grids import OperandGrid, head_columns, kind_of, matrix_axes
from tui.widgets.numbers import Kind


@pytest.fixture(scope="module")
def trace(sample: Model) -> Trace:
    return sample.trace(["我爱你", "猫"])


def grid_of(operand: Operand, *cell: int, text: int = 0, turned: bool = False) -> OperandGrid:
    return OperandGrid.around(operand, cell, text, turned)


class Counting(Operand):
    """An operand that remembers which parts of it were read."""

    def __init__(self, value: NDArray[np.float32], *symbols: str) -> None:
        self.name = self.symbol = "counting"
        self.axes = tuple(Axis(symbol, size) for symbol, size in zip(symbols, value.shape, strict=True))
        self.asked: list[int] = []
        self._value = value

    @property
    def value(self) -> Array:
        raise AssertionError("the whole operand was read")

    def part(self, index: Index) -> Array:
        part: Array = self._value[index]
        self.asked.append(part.size)
        return part


class TestAxes:
    @pytest.mark.parametrize(
        ("stage", "axes"),
        [
            ("tokens", (1, None)),  # B×N: the tokens of one text, downwards
            ("embedding", (1, 2)),
            ("layers.0.attention.scores", (2, 3)),
        ],
    )
    def test_of_stages(self, trace: Trace, stage: str, axes: tuple[int | None, int | None]) -> None:
        assert matrix_axes(trace[stage]) == axes

    def test_of_weights(self, trace: Trace) -> None:
        _, gain = trace["norm"].inputs
        _, matrix = trace["logits"].inputs
        assert matrix_axes(gain) == (None, 0)
        assert matrix_axes(matrix) == (0, 1)

    @pytest.mark.parametrize(
        ("stage", "kind"),
        [
            ("tokens", "ids"),
            ("layers.1.attention.weights", "share"),
            ("probabilities", "share"),
            ("layers.0.attention.masked", "signed"),
        ],
    )
    def test_kinds(self, trace: Trace, stage: str, kind: Kind) -> None:
        assert kind_of(trace[stage]) == grid_of(trace[stage], *(0 for _ in trace[stage].axes)).kind == kind

    def test_kinds_of_constants(self, trace: Trace) -> None:
        angles = trace["layers.0.attention.q_rotated"].inputs[1]
        mask = trace["layers.0.attention.masked"].inputs[1]
        assert isinstance(mask, Constant)
        assert (kind_of(angles), kind_of(mask)) == ("signed", "mask")


class TestWindow:
    def test_is_the_matrix_of_the_cells_text_and_head(self, trace: Trace) -> None:
        scores = trace["layers.0.attention.scores"]
        grid = grid_of(scores, 1, 3, 2, 0, text=1)
        assert (grid.rows, grid.columns, grid.leading) == (3, 3, (1, 3, 0, 0))
        assert (grid.window(slice(0, 3), slice(1, 3)) == scores.value[1, 3, :, 1:]).all()

    def test_turned_on_its_side(self, trace: Trace) -> None:
        keys = trace["layers.0.attention.k_rotated"]
        grid = grid_of(keys, 0, 2, 1, 5, turned=True)
        assert (grid.rows, grid.columns) == (16, 3)
        assert (grid.window(slice(4, 9), slice(0, 2)) == keys.value[0, 2, :2, 4:9].T).all()
        assert grid.place((0, 2, 1, 5)) == (5, 1)
        assert grid.cell(5, 1) == (0, 2, 1, 5)
        assert (grid.column_label(1), grid.row_label(5)) == ("爱", "5")

    def test_of_a_row_and_of_a_column(self, trace: Trace) -> None:
        gain = grid_of(trace["norm"].inputs[1], 7)
        assert (gain.rows, gain.columns) == (1, 64)
        assert gain.window(slice(0, 1), slice(2, 6)).shape == (1, 4)
        tokens = grid_of(trace["tokens"], 0, 2)
        assert (tokens.rows, tokens.columns) == (3, 1)
        assert tokens.window(slice(1, 3), slice(0, 1)).tolist() == [[1983], [507]]

    def test_no_more_than_the_window_is_read(self) -> None:
        operand = Counting(np.zeros((2, 1000, 500), np.float32), "B", "N", "D")
        grid_of(operand, 1, 0, 0).window(slice(10, 30), slice(5, 15))
        assert operand.asked == [200]

    def test_a_cell_is_found_again(self, trace: Trace) -> None:
        for stage in trace:
            cell = tuple(axis.size // 2 for axis in stage.axes)
            grid = grid_of(stage, *cell)
            assert grid.cell(*grid.place(cell)) == cell, stage.name


class TestLabels:
    def test_are_the_tokens_of_the_text(self, trace: Trace) -> None:
        scores = trace["layers.0.attention.scores"]
        first, second = grid_of(scores, 0, 0, 0, 0), grid_of(scores, 1, 0, 0, 0, text=1)
        assert [first.row_label(row) for row in range(3)] == ["我", "爱", "你"]
        assert [second.column_label(column) for column in range(3)] == ["猫", "<pad>", "<pad>"]
        assert not first.numbered_rows
        assert not first.numbered_columns

    def test_are_numbers_elsewhere(self, trace: Trace) -> None:
        gate = grid_of(trace["layers.0.mlp.gate"], 0, 0, 0)
        assert (gate.column_label(100), gate.numbered_columns, gate.numbered_rows) == ("100", True, False)

    def test_the_vocabulary_names_itself(self, trace: Trace) -> None:
        logits = grid_of(trace["logits"], 0, 0, 0)
        assert (logits.column_label(1983), logits.column_label(2)) == ("爱", "<eos>")
        table = grid_of(trace["embedding"].inputs[1], 507, 0)
        assert table.row_label(507) == "你"

    def test_one_row_has_no_label(self, trace: Trace) -> None:
        gain = grid_of(trace["norm"].inputs[1], 7)
        assert (gain.row_label(0), gain.numbered_rows) == ("", True)
        loss = grid_of(trace["loss"], 0, 0)
        assert (loss.rows, loss.columns, loss.row_label(0)) == (1, 1, "")


class TestScale:
    def test_of_shares_is_one(self, trace: Trace) -> None:
        assert grid_of(trace["layers.0.attention.weights"], 0, 0, 0, 0).limit == 1.0

    def test_is_the_largest_magnitude_of_the_matrix(self, trace: Trace) -> None:
        scaled, masked = trace["layers.0.attention.scaled"], trace["layers.0.attention.masked"]
        assert grid_of(scaled, 0, 2, 0, 0).limit == pytest.approx(float(np.abs(scaled.value[0, 2]).max()))
        finite = masked.value[0, 2][np.isfinite(masked.value[0, 2])]
        assert grid_of(masked, 0, 2, 0, 0).limit == pytest.approx(float(np.abs(finite).max()))

    @pytest.mark.parametrize("value", [0.0, -np.inf])
    def test_of_nothing_is_one(self, value: float) -> None:
        operand = Counting(np.full((2, 3), value, np.float32), "N", "D")
        assert grid_of(operand, 0, 0).limit == 1.0

    def test_is_found_once(self) -> None:
        operand = Counting(np.ones((4, 5), np.float32), "N", "D")
        assert [grid_of(operand, row, 0).limit for row in range(4)] == [1.0] * 4
        assert operand.asked == [20]

    def test_of_a_large_matrix_is_found_on_some_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(grids, "SCANNED", 100)
        operand = Counting(np.ones((100, 10), np.float32), "N", "D")
        assert grid_of(operand, 0, 0).limit == 1.0
        assert sum(operand.asked) <= 100

    def test_masked_cells_are_known(self, trace: Trace) -> None:
        assert grid_of(trace["layers.0.attention.masked"], 0, 0, 0, 0).has_masked
        assert not grid_of(trace["layers.0.attention.scaled"], 0, 0, 0, 0).has_masked
        assert not grid_of(trace["layers.0.attention.masked"].inputs[1], 0, 0, 0).has_masked

    def test_begins_at_zero_where_nothing_is_below_it(self, trace: Trace) -> None:
        scaled = grid_of(trace["layers.0.attention.scaled"], 0, 2, 0, 0)
        assert scaled.low == -scaled.limit
        assert grid_of(trace["losses"], 0, 0).low == 0.0
        assert grid_of(trace["layers.0.attention.weights"], 0, 0, 0, 0).low == 0.0


class TestHeads:
    """Which columns are one head's where all heads stand side by side."""

    def test_of_the_operand_that_is_split(self, trace: Trace) -> None:
        assert head_columns(trace["layers.0.attention.q_heads"], (0, 2, 1, 5)) == (range(32, 48), range(0))

    def test_of_the_result_that_is_joined(self, trace: Trace) -> None:
        assert head_columns(trace["layers.0.attention.concat"], (0, 1, 50)) == (range(0), range(48, 64))

    def test_of_no_other_stage(self, trace: Trace) -> None:
        assert head_columns(trace["layers.0.attention.q"], (0, 1, 50)) == (range(0), range(0))

    def test_a_single_head_is_no_part(self) -> None:
        example = load_worked("cat-dog").trace
        joined = next(stage for stage in example if stage.name.endswith("concat"))
        assert head_columns(joined, (0, 0, 1)) == (range(0), range(0))


class TestMarks:
    """What a cell of a result was made of, in its operands."""

    def marks(
        self, trace: Trace, stage: str, cell: tuple[int, ...], operand: int
    ) -> tuple[int | None, int | None, frozenset[tuple[int, int]]]:
        result = trace[stage]
        part = result.reads(cell)[operand]
        at = tuple(piece if isinstance(piece, int) else 0 for piece in part)
        turned = operand in result.op.transposed
        return OperandGrid.around(result.inputs[operand], at, 0, turned).marks(part)

    def test_a_row_and_a_column_make_a_product(self, trace: Trace) -> None:
        assert self.marks(trace, "layers.0.attention.q", (0, 2, 9), 0) == (2, None, frozenset())
        assert self.marks(trace, "layers.0.attention.q", (0, 2, 9), 1) == (None, 9, frozenset())

    def test_a_key_on_its_side_is_a_column(self, trace: Trace) -> None:
        assert self.marks(trace, "layers.0.attention.scores", (0, 1, 2, 1), 0) == (2, None, frozenset())
        assert self.marks(trace, "layers.0.attention.scores", (0, 1, 2, 1), 1) == (None, 1, frozenset())

    def test_a_sum_is_made_of_the_same_cell_of_each(self, trace: Trace) -> None:
        for operand in (0, 1):
            marks = self.marks(trace, "layers.0.mlp.residual", (0, 1, 30), operand)
            assert marks == (None, None, frozenset({(1, 30)}))

    def test_a_rotation_takes_a_pair(self, trace: Trace) -> None:
        pair = self.marks(trace, "layers.0.attention.q_rotated", (0, 0, 2, 3), 0)
        assert pair == (None, None, frozenset({(2, 3), (2, 11)}))

    def test_a_softmax_takes_its_row(self, trace: Trace) -> None:
        assert self.marks(trace, "layers.0.attention.weights", (0, 0, 1, 0), 0) == (1, None, frozenset())

    def test_an_embedding_takes_a_token_and_its_entry(self, trace: Trace) -> None:
        assert self.marks(trace, "embedding", (0, 1, 8), 0) == (None, None, frozenset({(1, 0)}))
        assert self.marks(trace, "embedding", (0, 1, 8), 1) == (None, None, frozenset({(1983, 8)}))


def test_a_single_column_of_a_matrix(trace: Trace) -> None:
    probabilities = trace["probabilities"]
    grid = OperandGrid(probabilities, (0, 0, 0), 0, only=507)
    assert (grid.rows, grid.columns) == (probabilities.axes[1].size, 1)
    assert grid.column_label(0) == probabilities.axes[2].label(507)
    everything = grid.window(slice(None), slice(None))
    assert everything.shape == (grid.rows, 1)
    assert everything[:, 0].tolist() == probabilities.value[0, :, 507].tolist()
    assert grid.cell(1, 0) == (0, 1, 507)
    assert grid.place((0, 1, 507)) == (1, 0)
    assert grid.marks((0, 1, 507)) == (None, None, frozenset({(1, 0)}))


@pytest.mark.parametrize(
    ("numbers", "digits"),
    [([2, 0, -1], 0), ([5.1, 2.8, -np.inf], 1), ([0.25, 1, 0], 2), ([0.125, 0, 0], None), ([0.1 + 1e-6, 0, 0], None)],
)
def test_digits_that_say_all_of_a_matrix(numbers: list[float], digits: int | None) -> None:
    operand = Counting(np.array([numbers], np.float32), "N", "D")
    assert grid_of(operand, 0, 0).whole_digits == digits
