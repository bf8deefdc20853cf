"""How every token of a text was foreseen, as a report has it: as a table, and as JSON."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engine.model import Model
from tests.tui.test_report import as_json, report
from tui import cli
from tui.language import language


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "say", language("en"))
    monkeypatch.setenv("TERM", "dumb")


# A text that goes on as expected, and then as hardly any does: ␣like gets 7.5e-06.
UNFORESEEN = "我爱你 like"


def foreseen(model: Model, text: str) -> list[tuple[str, str, float, float, int]]:
    """Token, next token, P, −ln P and rank, worked out again from the logits in float64."""
    trace = model.trace(text)
    logits = trace["logits"].value[0].astype(np.float64)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    found = []
    for position, (token, following) in enumerate(pairwise(trace.tokens[0])):
        share = float(shares[position, following.id])
        rank = 1 + int((shares[position] > share).sum())
        found.append((token.label, following.label, share, -float(np.log(share)), rank))
    return found


def test_the_text_says_how_each_token_was_foreseen(sample: Model) -> None:
    lines = report(UNFORESEEN).splitlines()
    wanted = foreseen(sample, UNFORESEEN)
    mean = np.mean([each[3] for each in wanted])
    (at,) = (at for at, line in enumerate(lines) if line.startswith("Mean loss over 3 positions"))
    assert f"{mean:.4f}, perplexity e^loss = {np.exp(mean):.2f}" in lines[at]
    assert lines[at + 1].split() == ["at", "token", "true", "next", "P", "−ln", "P", "rank"]
    for position, (token, following, share, loss, rank) in enumerate(wanted):
        shown = f"{share:.4f}" if share >= 0.00005 else "<0.0001"
        row = lines[at + 2 + position].split()
        assert row == [str(position), token, following, shown, f"{loss:.3f}", str(rank)]
    assert "<0.0001" in lines[at + 4]
    # The ids of the targets stand beside what they are.
    first = next(at for at, line in enumerate(lines) if line.startswith("targets "))
    rows = [line.split() for line in lines[first + 4 : first + 7]]
    assert rows == [["我", "1983", "爱"], ["爱", "507", "你"], ["你", "3281", "␣like"]]


@pytest.mark.parametrize(("stage", "there"), [("losses", True), ("loss", True), ("targets", False), ("logits", False)])
def test_how_it_was_foreseen_stands_with_the_losses(stage: str, there: bool) -> None:
    assert ("Mean loss over 2 positions" in report("我爱你", "--stage", stage)) == there
    assert ("foreseen" in as_json("我爱你", "--stage", stage)) == there


def test_json_says_how_each_token_was_foreseen(sample: Model) -> None:
    entry, alone = as_json(UNFORESEEN, "我", "--stage", "loss")["foreseen"]
    wanted = foreseen(sample, UNFORESEEN)
    assert alone is None
    mean = np.mean([each[3] for each in wanted])
    assert entry["mean"] == pytest.approx(mean, rel=1e-5)
    assert entry["perplexity"] == pytest.approx(np.exp(mean), rel=1e-4)
    for position, (found, (token, following, share, loss, rank)) in enumerate(
        zip(entry["positions"], wanted, strict=True)
    ):
        assert (found["position"], found["token"], found["label"]) == (position, token, following)
        assert found["probability"] == pytest.approx(share, rel=1e-3)
        assert found["loss"] == pytest.approx(loss, rel=1e-4)
        assert found["rank"] == rank


def test_a_worked_example_says_how_its_targets_were_foreseen(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('tokens = ["x", "y"]\nlogits = [[0, 0], [0, 11]]\nvocabulary = ["甲", "乙"]\ntarget = ["甲", "甲"]')
    lines = report("--worked", str(file)).splitlines()
    # ln 2, and ln(1 + e^11); halfway between them the mean.
    losses = [np.log(2), np.log1p(np.exp(11))]
    rows = [line.split() for line in lines]
    assert ["x", "0", "甲"] in rows
    assert ["0", "x", "甲", "0.5000", f"{losses[0]:.3f}", "1"] in rows
    assert ["1", "y", "甲", "<0.0001", f"{losses[1]:.3f}", "2"] in rows
    assert any(f"{np.mean(losses):.4f}" in line and f"{np.exp(np.mean(losses)):.2f}" in line for line in lines)
