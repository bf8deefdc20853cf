"""What tokens are called where they are named by themselves."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from engine.model import Model
from tui.naming import cut_name, name_of, name_on, token_names


def test_only_those_that_read_alike_have_their_positions() -> None:
    assert token_names(["猫", "追", "猫"]) == ["猫₀", "追", "猫₂"]
    assert token_names(["a"] * 12)[-2:] == ["a₁₀", "a₁₁"]
    assert token_names([]) == []


def test_the_same_by_position(sample: Model) -> None:
    trace = sample.trace("猫追猫")
    scores = trace["layers.0.attention.scores"]
    _, heads, queries, keys = scores.axes
    assert [name_on(queries, position) for position in range(3)] == ["猫₀", "追", "猫₂"]
    assert [name_on(keys, position) for position in range(3)] == ["猫₀", "追", "猫₂"]
    assert [name_of(trace.tokens[0], position) for position in range(3)] == ["猫₀", "追", "猫₂"]
    assert name_on(heads, 2) == "2"


def test_each_text_of_a_batch_by_itself(sample: Model) -> None:
    trace = sample.trace(["猫追狗", "猫猫"])
    axis = trace["embedding"].axes[1]
    assert [name_on(axis, 0, text) for text in (0, 1)] == ["猫", "猫₀"]


def test_what_is_no_text_has_no_positions(sample: Model) -> None:
    axis = sample.trace("我")["logits"].axes[-1]
    assert all(name_on(axis, token) == axis.label(token) for token in (0, 300, 1983))


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("猫₁₂", 4, "猫₁₂"),
        ("wonderful₁₂", 8, "wonde…₁₂"),
        ("wonderful₁₂", 3, "wo…"),
        ("wonderful", 6, "wonde…"),
        ("大象₇", 4, "大…₇"),
        ("大象₇", 3, "大₇"),
        ("₂", 1, "₂"),
    ],
)
def test_a_position_is_the_last_to_be_cut(name: str, width: int, shown: str) -> None:
    assert cut_name(name, width) == shown
    assert cell_len(shown) <= width
