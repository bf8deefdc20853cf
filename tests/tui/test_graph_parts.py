"""What a graph of attention is made of: which weights and edges, tokens in a row, arcs, and the places of all heads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from textual.geometry import Region

from engine.model import Model, load
from engine.trace import Trace
from tui.views.arcs import Curves, Halves
from tui.views.attention import Attention, Limits, Picture, attention_stages, nearest_weights, needed, shows_attention
from tui.views.panels import arranged
from tui.views.shares import listed_text, share_text
from tui.views.strokes import ACROSS, DOWN, Strokes, arc, dotted, line
from tui.views.tokenrow import token_row, whole_row

WEIGHTS = "layers.0.attention.weights"


@pytest.fixture(scope="module")
def translation() -> Trace:
    return load("tiny-translator").trace("我爱你。", targets="I love you")


# Which stage, which weights


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("decoder.layers.1.cross_attention.scores", "decoder.layers.1.cross_attention.weights"),
        ("decoder.layers.1.attention.q", "decoder.layers.1.attention.weights"),
        ("decoder.layers.0.mlp.residual", "decoder.layers.0.cross_attention.weights"),
        ("encoder.layers.1.mlp.down", "encoder.layers.1.attention.weights"),
        ("encoder.tokens", "encoder.layers.0.attention.weights"),
        ("logits", "decoder.layers.1.cross_attention.weights"),
    ],
)
def test_the_weights_of_a_stages_own_attention_or_the_nearest(translation: Trace, at: str, expected: str) -> None:
    assert nearest_weights(translation, translation[at]) is translation[expected]


def test_pictures_go_with_the_weights_alone(sample: Model, translation: Trace) -> None:
    layer = [stage for stage in sample.trace("我爱你") if stage.name.startswith("layers.1.")]
    fitting = [stage.name.removeprefix("layers.1.attention.") for stage in layer if shows_attention(stage)]
    assert fitting == ["weights"]
    crossing = "decoder.layers.0.cross_attention"
    for name in ("q_heads", "scores", "weights", "heads", "concat"):
        assert shows_attention(translation[f"{crossing}.{name}"]) is (name == "weights")
    # A weight matrix or a mask that was followed is to be seen itself.
    assert not any(shows_attention(each) for each in translation[f"{crossing}.q"].inputs)


def test_only_the_weights_must_have_been_computed(sample: Model) -> None:
    trace = sample.trace("我爱你")
    assert needed(trace[WEIGHTS]) == [trace[WEIGHTS]]
    attention = Attention(trace, trace[WEIGHTS], 0)
    assert attention.sight.tolist() == np.tri(3, dtype=bool).tolist()
    assert trace.computed[WEIGHTS] == 0


def test_padding_is_left_out(sample: Model) -> None:
    trace = sample.trace(["我爱你", "我"])
    attention = Attention(trace, trace[WEIGHTS], 1)
    assert list(attention.query_labels) == ["我"]
    assert attention.weights(0).tolist() == [[1.0]]
    assert Attention(trace, trace[WEIGHTS], 0).sight.all() == np.tri(3, dtype=bool).all()


def test_keys_of_another_text(translation: Trace) -> None:
    attention = Attention(translation, translation["decoder.layers.0.cross_attention.weights"], 0)
    assert attention.crosses
    assert list(attention.key_labels)[:3] == ["我", "爱", "你"]
    assert "love" in "".join(attention.query_labels)
    assert not Attention(translation, translation["decoder.layers.0.attention.weights"], 0).crosses
    assert Attention(translation, translation["encoder.layers.0.attention.weights"], 0).looks_ahead


def test_the_mean_of_all_heads(sample: Model) -> None:
    trace = sample.trace("我爱你")
    attention = Attention(trace, trace[WEIGHTS], 0)
    assert attention.weights(None) == pytest.approx(attention.stage.value[0].mean(axis=0))


# Which edges


def test_edges_over_a_threshold_and_the_strongest_of_them() -> None:
    weights = np.array([[0.5, 0.3, 0.15, 0.05], [0.0, 1.0, 0.0, 0.0]], np.float32)
    sight = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool)
    assert Limits(0.1, None).keep(weights, sight).tolist() == [[True, True, True, False], [False, True, False, False]]
    assert Limits(0.0, 2).keep(weights, sight).tolist() == [[True, True, False, False], [True, True, False, False]]


def test_a_cut_edge_is_no_edge_of_weight_nothing() -> None:
    weights, sight = np.zeros((1, 2), np.float32), np.array([[True, False]])
    assert Limits(0.0, None).keep(weights, sight).tolist() == [[True, False]]


def test_the_edges_of_the_query_come_last_and_the_strongest_of_each_last(sample: Model) -> None:
    trace = sample.trace("我爱你")
    picture = Picture(Attention(trace, trace[WEIGHTS], 0), 3, Limits(0.0, None), 1, 0)
    edges = picture.edges(range(3))
    assert [edge.query for edge in edges][-2:] == [1, 1]
    assert [edge.weight for edge in edges[:4]] == sorted(edge.weight for edge in edges[:4])
    assert picture.cut == [2]
    assert picture.edges(range(3), Limits(2.0, None)) == picture.own


def test_where_no_edge_reaches_the_threshold_the_strongest_are_shown(sample: Model) -> None:
    trace = sample.trace("从前有一个国王，他有三个儿子。" * 3)
    attention = Attention(trace, trace[WEIGHTS], 0)
    last = len(attention.query_labels) - 1
    weights = attention.weights(0)[last]
    high = float(weights.max()) + 0.01
    picture = Picture(attention, 0, Limits(high, 4), last, 0)
    assert picture.is_below
    assert [edge.key for edge in picture.own] == np.argsort(weights, kind="stable")[-4:].tolist()
    assert len(Picture(attention, 0, Limits(high, None), last, 0).own) == Limits().top
    # It is so for the token looked at alone: the others' weak edges stay away.
    assert {edge.query for edge in picture.edges(range(last + 1))} == {
        last,
        *(query for query in range(last) if attention.weights(0)[query].max() >= high),
    }
    reached = Picture(attention, 0, Limits(float(weights.max()) / 2, None), last, 0)
    assert not reached.is_below
    assert all(edge.weight >= reached.limits.threshold for edge in reached.own)


def test_what_is_left_out_of_what_can_be_seen(sample: Model) -> None:
    trace = sample.trace("我爱你")
    picture = Picture(Attention(trace, trace[WEIGHTS], 0), 0, Limits(), 1, 0)
    row = trace[WEIGHTS].value[0, 0, 1]
    assert picture.left_out([0]) == [float(row[1])]
    assert picture.left_out([]) == row[:2].tolist()


# Weights as text


@pytest.mark.parametrize(
    ("share", "width", "text"),
    [
        (0.0, 6, "0"),
        (1.0, 6, "1.000"),
        (1.0, 4, "1.00"),
        (0.9692, 8, "0.969"),
        (0.9692, 6, "0.969"),
        (0.9692, 5, ".969"),
        (0.9692, 4, ".97"),
        (0.9999, 4, "1.00"),
        (0.9692, 3, "1.0"),
        (0.0069, 6, "0.007"),
        (0.0069, 5, ".007"),
        (0.0069, 4, ".01"),
        (0.00012, 8, "<0.001"),
        (0.00012, 5, "<.001"),
        (0.00012, 4, "<.01"),
        (0.00012, 3, "<.1"),
    ],
)
def test_a_share_in_so_many_cells(share: float, width: int, text: str) -> None:
    assert share_text(share, width) == text


def test_what_is_not_nothing_is_not_listed_as_nothing() -> None:
    assert [listed_text(share) for share in (0.0, 0.0004, 0.0069, 1.0)] == ["0", "<0.001", "0.007", "1.000"]


# Tokens in a row


def test_all_tokens_stand_apart_where_they_fit() -> None:
    row = token_row(["我", "爱", "你"], 1, 76, [2])
    lefts = [place.left for place in row.places.values()]
    assert not row.gaps
    # In the middle of what there is, and not far from its ends.
    assert np.diff(lefts).tolist() == [25, 25]
    last = row.places[2]
    assert abs((lefts[0] - 1) - (77 - last.left - last.width)) <= 2
    assert all(place.before < place.label_left and place.after > place.label_left + 1 for place in row.places.values())


@pytest.mark.parametrize("count", [20, 100, 700])
def test_where_not_all_fit_the_rest_is_counted(count: int) -> None:
    row = token_row(["词"] * count, 1, 74, [60 % count, 3])
    assert {60 % count, 3} <= set(row.places)
    assert len(row.places) + sum(gap.count for gap in row.gaps) == count
    cells = [*((p.left, p.left + p.width) for p in row.places.values())]
    cells += [(gap.left, gap.left + cell_len(gap.text)) for gap in row.gaps]
    cells.sort()
    assert all(stop < start for (_, stop), (start, _) in itertools.pairwise(cells))
    assert cells[0][0] == 1
    assert cells[-1][1] <= 75


def test_a_row_without_numbers_has_room_for_all_or_is_none() -> None:
    assert whole_row(["a", "b", "c", "d"], 0, 8) is not None
    assert whole_row(["a"] * 40, 0, 8) is None


# Strokes


def test_an_arc_ends_where_it_should_and_is_as_high() -> None:
    x, y = arc(10, 50, 19, 16)
    assert (round(max(x)), round(min(x))) == (50, 10)
    assert (round(max(y)), round(min(y))) == (19, 3)
    assert (round(y[0]), round(y[-1])) == (19, 19)
    x, y = line((3, 0), (9, 8))
    assert (x[0], y[0], x[-1], y[-1]) == (3, 0, 9, 8)


@pytest.mark.parametrize("lines", [3, 4, 6, 15])
def test_the_longer_an_arc_the_higher(lines: int) -> None:
    places = {token: (token * 40.0, token * 40.0 + 11) for token in range(4)}
    pairs = [(1, 1), (1, 0), (2, 0), (3, 0)]
    curves = Curves.of(places, pairs, lines, 6)
    heights = [lines * DOWN - 1 - float(curves.arc(*pair)[1].min()) for pair in pairs]
    assert heights == sorted(heights)
    assert all(np.diff(heights) >= 1.5)
    assert heights[-1] == pytest.approx(lines * DOWN - 2, abs=0.5)


def test_edges_of_other_tokens_and_its_own_arrive_apart() -> None:
    places = {token: (token * 40.0, token * 40.0 + 11) for token in range(3)}
    curves = Curves.of(places, [(1, 0)], 5, 6)
    assert curves.foot(2, 1) == curves.foot(2, 1) > curves.foot(1, 1)
    assert (curves.foot(1, 0), curves.foot(0, 1)) == (11 // ACROSS, 40 // ACROSS)
    # A loop ends where its arc does.
    assert int(curves.arc(1, 1)[0].max() // ACROSS) == curves.foot(1, 1)


def test_there_is_room_below_only_for_what_is_there() -> None:
    assert Halves.of(8, ahead=False, cut=False) == Halves(8, 0)
    assert Halves.of(8, ahead=False, cut=True) == Halves(5, 3)
    assert Halves.of(8, ahead=True, cut=False) == Halves(4, 4)
    assert Halves.of(8, ahead=True, cut=False, back=False) == Halves(0, 8)


def test_dots_stand_apart() -> None:
    x, _ = dotted(line((0, 0), (30, 0)))
    assert np.diff(x) == pytest.approx(3, abs=0.6)


def test_strokes_of_one_group_join_and_a_higher_group_hides_a_lower() -> None:
    strokes = Strokes(2, 1, (("grey", "white"), ("gold",)))
    strokes.add(0, 0, (np.array([0.0, 2.0]), np.array([0.0, 0.0])))
    strokes.add(0, 1, (np.array([1.0]), np.array([3.0])))
    strokes.add(1, 0, (np.array([3.0]), np.array([3.0])), owner=7)
    inks = {ink.style: ink.points for ink in strokes.inks()}
    assert inks == {"white": [(0.0, 0.0), (0.5, 0.75)], "gold": [(1.5, 0.75)]}
    assert (strokes.owner(1, 0), strokes.owner(0, 0), strokes.owner(5, 5)) == (7, None, None)


# All heads


def test_of_many_heads_those_around_the_one_looked_at(checkpoint: Callable[..., Path]) -> None:
    trace = load(checkpoint(hidden_size=64, num_attention_heads=32, tokens=["<unk>", *"abcd"])).trace("a b c d")
    picture = Picture(Attention(trace, attention_stages(trace)[0], 0), 30, Limits(), 3, 0)
    panels = arranged(picture, Region(1, 1, 74, 8))
    assert 30 in [panel.head for panel in panels]
    assert len(panels) < 32
    areas = [panel.area for panel in panels]
    assert all(area.right <= 75 and area.bottom <= 9 for area in areas)
    assert not any(one.overlaps(other) for one in areas for other in areas if one is not other)
