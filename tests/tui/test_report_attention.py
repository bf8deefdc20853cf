"""The two pictures of attention as plain text."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from rich.cells import cell_len

from engine.heads import description
from engine.model import Model, load
from tests.tui.pictures import Draft
from tui.report.attention import graph_lines, heads_lines
from tui.views.attention import Attention, Limits, attention_stages

AT = "layers.0.attention.weights"


def test_each_query_with_what_it_sees(sample: Model) -> None:
    trace = sample.trace("我爱你")
    stage = trace[AT]
    lines = list(graph_lines(Attention(trace, stage, 0), 3, Draft("zh"), 100, Limits(0.0, None)))
    assert AT in lines[0]
    weights = stage.value[0, 3]
    assert lines[1].split() == ["我", "→", "我", "1.000", "✕", "爱", "你"]
    assert f"你 {weights[2, 2]:.3f}" in lines[3]
    assert "✕" not in lines[3]
    shown = [part.split()[1] for part in lines[3].partition(" → ")[2].split("   ")]
    assert shown == [f"{weight:.3f}" for weight in sorted(weights[2], reverse=True)]


def test_tokens_that_read_alike_have_their_positions(sample: Model) -> None:
    trace = sample.trace("猫追猫")
    lines = list(graph_lines(Attention(trace, trace[AT], 0), 0, Draft("zh"), 100, Limits(0.0, None)))
    assert [line.split()[0] for line in lines[1:]] == ["猫₀", "追", "猫₂"]
    assert lines[2].endswith("✕ 猫₂")


def test_a_weight_has_the_digits_of_the_table_and_is_not_nothing_for_being_small(sample: Model) -> None:
    trace = sample.trace("我爱你")
    weights = trace[AT].value[0, 1]
    assert 0 < weights[1, 0] < 0.0005
    lines = list(graph_lines(Attention(trace, trace[AT], 0), 1, Draft("en"), 100, Limits(0.0, None)))
    assert "我 <0.001" in lines[2]


def test_a_query_whose_edges_are_all_weak_still_has_its_strongest(sample: Model) -> None:
    trace = sample.trace("从前有一个国王，他有三个儿子。")
    row = trace[AT].value[0, 0, -1]
    lines = list(graph_lines(Attention(trace, trace[AT], 0), 0, Draft("en"), 200, Limits(0.9, 2)))
    assert all(f"{weight:.3f}" in lines[-1] for weight in np.sort(row)[-2:])


def test_what_is_left_out_is_counted(sample: Model) -> None:
    say = Draft("en")
    trace = sample.trace("我爱你")
    stage = trace[AT]
    lines = list(graph_lines(Attention(trace, stage, 0), None, say, 100, Limits(0.0, 1)))
    weights = stage.value[0].mean(axis=0)[2]
    left = f"{weights.sum() - weights.max():.3f}"
    assert say("graph.not_drawn", count=2, sum=left) in lines[3]


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_keep_their_width(sample: Model, width: int) -> None:
    trace = sample.trace("Tom likes to read and Tom likes to write.")
    attention = Attention(trace, trace[AT], 0)
    lines = list(graph_lines(attention, 0, Draft("en"), width, Limits(0.0, None)))
    assert all(cell_len(line) <= width for line in lines[1:])
    assert len(lines) > 10


def test_every_head_with_its_measures(sample: Model) -> None:
    say, trace = Draft("en"), sample.trace("我爱你")
    lines = list(heads_lines(trace, 0, say))
    attentions = [Attention(trace, stage, 0) for stage in attention_stages(trace)]
    assert len(lines) == 2 + 2 * (4 + 1)
    for attention, start in zip(attentions, (2, 7), strict=True):
        for head, found in enumerate(attention.measures):
            row = lines[start + head].split()
            best = description(found)
            assert [cell for cell in row if "." in cell] == [f"{measure.value:.2f}" for measure in found]
            assert (best is None) == (row[-1] == f"{found[-1].value:.2f}")


def test_what_is_not_measured_has_no_number() -> None:
    trace = load("tiny-translator").trace("我爱你。", targets="I love you")
    lines = list(heads_lines(trace, 0, Draft("en")))
    assert sum("—" in line for line in lines) == 4 * 5


def test_it_needs_no_textual() -> None:
    code = "import sys, tui.report.attention; sys.exit(any(name.startswith('textual') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
