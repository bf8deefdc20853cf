"""What is measured of attention heads, on weights made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.heads import NAMES, Measure, description, measures
from engine.model import Model

CAUSAL = np.tri(4, dtype=bool)
WHOLE = np.ones((4, 4), dtype=bool)
IDS = [7, 8, 7, 9]


def head(*rows: list[float]) -> NDArray[np.float32]:
    """The weights of one head, 1×N×M."""
    return np.array([rows], np.float32)


def measured(
    weights: NDArray[np.float32], sight: NDArray[np.bool_], ids: list[int] | None = None
) -> dict[str, Measure]:
    """The measures of the only head, by name."""
    (found,) = measures(weights, sight, ids)
    return {measure.name: measure for measure in found}


def shifted(by: int) -> NDArray[np.float32]:
    """A head that gives all its weight to the token so many places on, or to itself where there is none."""
    rows = np.zeros((1, 4, 4), np.float32)
    for query in range(4):
        rows[0, query, query + by if 0 <= query + by < 4 else query] = 1
    return rows


def test_to_the_previous_token() -> None:
    found = measured(shifted(-1), CAUSAL, IDS)
    assert found["previous"].value == 1
    assert found["itself"].value == 0
    assert found["previous"].queries == 3
    # Of two, three and four keys that can be seen, one is the previous token.
    assert found["previous"].even == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    best = description(list(found.values()))
    assert best is not None
    assert best.name == "previous"


def test_to_the_next_token_where_the_mask_lets_it() -> None:
    found = measured(shifted(1), WHOLE, IDS)
    assert found["next"].value == 1
    assert found["next"].queries == 3
    assert "next" not in measured(shifted(0), CAUSAL, IDS)


def test_to_itself() -> None:
    found = measured(shifted(0), WHOLE, IDS)
    assert (found["itself"].value, found["itself"].queries, found["itself"].even) == (1, 4, 0.25)
    assert found["evenly"].value == pytest.approx(0)


def test_a_query_that_sees_one_key_is_left_out() -> None:
    # The first token of a causal text has no choice but to look at itself.
    weights = head([1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0])
    found = measured(weights, CAUSAL, IDS)
    assert found["itself"].value == 0
    assert found["itself"].queries == 3
    assert measures(np.ones((2, 1, 1), np.float32), np.ones((1, 1), dtype=bool), [3]) == [(), ()]


def test_to_the_first_token() -> None:
    weights = head([0.1, 0.9, 0, 0], [0.8, 0.2, 0, 0], [0.7, 0.3, 0, 0], [0.6, 0.4, 0, 0])
    found = measured(weights, WHOLE, IDS)
    # The first token itself is none of those that look back at it.
    assert found["first"].value == pytest.approx(0.7)
    assert found["first"].queries == 3


def test_to_the_same_token_earlier() -> None:
    weights = head([1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.9, 0.05, 0.05, 0], [0.25, 0.25, 0.25, 0.25])
    found = measured(weights, CAUSAL, IDS)
    assert found["same"].value == pytest.approx(0.9)
    assert found["same"].queries == 1
    assert found["same"].even == pytest.approx(1 / 3)
    assert "same" not in measured(weights, CAUSAL, [1, 2, 3, 4])


def test_several_earlier_ones_count_together() -> None:
    weights = head([1, 0, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4])
    found = measured(weights, np.tri(3, dtype=bool), [5, 5, 5])
    assert found["same"].value == pytest.approx((0.5 + 0.6) / 2)
    assert found["same"].even == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_evenly() -> None:
    rows = np.tril(np.ones((4, 4), np.float32))
    found = measured((rows / rows.sum(axis=1, keepdims=True))[None], CAUSAL, IDS)
    assert found["evenly"].value == pytest.approx(1)
    for name in ("previous", "itself", "first"):
        assert found[name].value == pytest.approx(found[name].even)
        assert not found[name].fits
    best = description(list(found.values()))
    assert best is not None
    assert best.name == "evenly"


def test_entropy_is_of_what_can_be_seen() -> None:
    weights = head([0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.5, 0.25, 0.25, 0])
    sight = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0]], bool)
    # ln 2 ÷ ln 2, ln 2 ÷ ln 4, and 1.5·ln 2 ÷ ln 3; the third query sees one key.
    expected = (1 + 1 / 2 + 1.5 * np.log(2) / np.log(3)) / 3
    assert measured(weights, sight)["evenly"].value == pytest.approx(expected)


def test_two_texts_have_no_previous_token() -> None:
    weights = np.full((1, 2, 3), 1 / 3, np.float32)
    found = measured(weights, np.ones((2, 3), dtype=bool))
    assert list(found) == ["first", "evenly"]
    assert found["first"].queries == 2


@pytest.mark.parametrize(
    ("value", "even", "fits"), [(0.6, 0.1, True), (0.54, 0.1, False), (0.6, 0.5, False), (0.75, 0.5, True)]
)
def test_a_share_fits_from_halfway_between_even_and_all(value: float, even: float, fits: bool) -> None:
    assert Measure("previous", value, even, 3).fits is fits


def test_of_two_that_fit_the_larger_describes() -> None:
    found = [Measure("previous", 0.7, 0.1, 3), Measure("first", 0.8, 0.1, 3), Measure("evenly", 0.99, 1, 3)]
    assert description(found) is found[1]
    assert description([Measure("previous", 0.2, 0.1, 3)]) is None


def test_every_head_is_measured_for_itself() -> None:
    weights = np.concatenate([shifted(-1), shifted(0)])
    first, second = measures(weights, CAUSAL, IDS)
    assert [measure.name for measure in first] == [name for name in NAMES if name != "next"]
    assert [measure.value for measure in first][:2] == [1, 0]
    assert [measure.value for measure in second][:2] == [0, 1]


def test_of_a_real_run_each_is_a_share(sample: Model) -> None:
    trace = sample.trace("我爱你")
    stage = trace["layers.0.attention.weights"]
    for found in measures(stage.value[0], np.tri(3, dtype=bool), [token.id for token in trace.tokens[0]]):
        assert all(0 <= measure.value <= 1.00001 for measure in found)
