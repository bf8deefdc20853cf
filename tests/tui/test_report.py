"""The report without a screen: text, JSON, CSV and npz hold the numbers that the reference run computed."""

from __future__ import annotations

import csv
import json
import os
import re
import stat
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.cells import cell_len
from typer.testing import CliRunner

from engine.model import Model, samples
from tui import cli
from tui.language import language

WEIGHTS = "layers.0.attention.weights"
HOSTILE = "[red]x\x1b[31m[/INST]\x9b31m\u202e\0\r"


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "say", language("en"))
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture(scope="module")
def expected() -> dict[str, NDArray[Any]]:
    """The reference run of the sample; its first text is 我爱你."""
    with np.load(samples() / "models" / "tiny-gpt" / "expected.npz") as file:
        return dict(file)


def report(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli.options(), [*arguments, "--report"])
    assert result.exit_code == code, result.stderr
    assert (result.stderr == "") == (code == 0)
    return result.stdout


def as_json(*arguments: str) -> dict[str, Any]:
    return dict(json.loads(report(*arguments, "--format", "json")))


def as_csv(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(report(*arguments, "--format", "csv"))))


@pytest.mark.parametrize("stage", ["encoder.tokens", "logits"])
def test_the_header_of_a_translation_names_both_texts(stage: str) -> None:
    arguments = ["--model", "tiny-translator", "我爱你。", "猫", "--target", "I love", "--target", "A cat"]
    lines = report(*arguments, "--stage", stage).splitlines()[1:6]
    written = [(line.partition(":")[0], re.findall(r"(\S+) \d+(?:  |$)", line.partition(": ")[2])) for line in lines]
    assert [(name, "".join(labels).replace("␣", " ")) for name, labels in written[:4]] == [
        ("source 0", "我爱你。<eos>"),
        ("target 0", "<pad>I love"),
        ("source 1", "猫<eos>"),
        ("target 1", "<pad>A cat"),
    ]


def test_json_of_everything(sample: Model, expected: dict[str, NDArray[Any]]) -> None:
    found = as_json("我爱你")
    assert list(found) == ["model", "texts", "tokens", "stages", "foreseen"]
    assert (found["model"], found["texts"], found["tokens"]) == ("tiny-gpt", ["我爱你"], [["我", "爱", "你"]])
    assert [stage["name"] for stage in found["stages"]] == [stage.name for stage in sample.trace("我爱你")]
    by_name = {stage["name"]: stage for stage in found["stages"]}
    for stage in found["stages"]:
        assert list(stage) == ["name", "op", "formula", "axes", "shape", "value"]
        assert [axis["size"] for axis in stage["axes"]] == stage["shape"] == list(np.shape(stage["value"]))
        assert stage["op"]
        assert stage["formula"]
    assert by_name["tokens"]["value"] == [[1381, 1983, 507]]
    assert np.abs(np.array(by_name["logits"]["value"][0]) - expected["logits"][0, :3]).max() < 1e-3
    assert np.abs(np.array(by_name[WEIGHTS]["value"][0]) - expected["attention_0"][0, :, :3, :3]).max() < 1e-5
    assert [axis["symbol"] for axis in by_name[WEIGHTS]["axes"]] == ["B", "H", "N", "M"]
    assert by_name[WEIGHTS]["axes"][3]["labels"] == ["我", "爱", "你"]
    assert by_name[WEIGHTS]["axes"][1]["labels"] is None


def test_json_has_infinity_as_python_reads_it() -> None:
    (stage,) = as_json("我爱你", "--stage", "layers.0.attention.masked")["stages"]
    hidden = np.isneginf(stage["value"])
    assert (hidden == ~np.tri(3, dtype=bool)).all()


def test_json_of_one_head_and_of_a_batch(expected: dict[str, NDArray[Any]]) -> None:
    found = as_json("我爱你", "I like to code", "--stage", WEIGHTS, "--head", "1")
    assert found["tokens"][1] == ["I", "␣like", "␣to", "␣code"]
    (stage,) = found["stages"]
    assert (stage["head"], stage["shape"]) == (1, [2, 4, 4])
    assert [axis["symbol"] for axis in stage["axes"]] == ["B", "N", "M"]
    assert stage["axes"][1]["labels"] == [["我", "爱", "你", "<pad>"], ["I", "␣like", "␣to", "␣code"]]
    assert np.abs(np.array(stage["value"]) - expected["attention_0"][:2, 1]).max() < 1e-5


def test_a_layer_a_head_and_the_end_of_a_name_choose(sample: Model) -> None:
    everything = [stage.name for stage in sample.trace("我爱你")]
    layer = [stage["name"] for stage in as_json("我", "--layer", "1")["stages"]]
    assert layer == [name for name in everything if name.startswith("layers.1.")]
    (stage,) = as_json("我", "--layer", "1", "--stage", "scores")["stages"]
    assert stage["name"] == "layers.1.attention.scores"
    # With a head, what has none is there whole.
    head = {stage["name"]: stage["shape"] for stage in as_json("我爱你", "--head", "2")["stages"]}
    assert head["layers.0.mlp.up"] == [1, 3, 168]
    assert head["layers.0.attention.q_heads"] == [1, 3, 16]


def test_a_query_heads_number_chooses_its_key_head(checkpoint: Callable[..., Path]) -> None:
    tokens = [f"w{number}" for number in range(11)]
    folder = str(checkpoint(num_attention_heads=4, num_key_value_heads=2, tokens=tokens))
    whole, head = (as_json("w3 w5", "--model", folder, *more)["stages"] for more in ([], ["--head", "2"]))
    for stage, part in zip(whole, head, strict=True):
        if stage["name"].endswith("k_heads"):
            assert part["value"] == [text[1] for text in stage["value"]]
        if stage["name"].endswith("q_heads"):
            assert part["value"] == [text[2] for text in stage["value"]]


def test_csv_has_a_line_a_number(expected: dict[str, NDArray[Any]]) -> None:
    rows = as_csv("我爱你", "--stage", WEIGHTS)
    assert len(rows) == 4 * 3 * 3
    for row in rows:
        head, query, key = (int(row[name]) for name in ("head", "row", "column"))
        assert float(row["value"]) == pytest.approx(float(expected["attention_0"][0, head, query, key]), abs=1e-5)
        assert (row["row_label"], row["column_label"]) == ("我爱你"[query], "我爱你"[key])
        assert (row["stage"], row["text"]) == (WEIGHTS, "0")
    assert [row["value"] for row in as_csv("我爱你", "--stage", "tokens")] == ["1381", "1983", "507"]
    assert [row["head"] for row in as_csv("我", "--stage", WEIGHTS, "--head", "3")] == ["3"]
    assert float(as_csv("我爱", "--stage", "layers.0.attention.masked", "--head", "0")[1]["value"]) == -np.inf


def test_npz_has_an_array_a_stage(sample: Model, tmp_path: Path) -> None:
    file = tmp_path / "all.npz"
    assert report("我爱你", "--format", "npz", "--output", str(file)) == ""
    trace = sample.trace("我爱你")
    with np.load(file, allow_pickle=False) as arrays:
        assert arrays.files == [stage.name for stage in trace]
        assert all(np.array_equal(arrays[stage.name], stage.value) for stage in trace)
        assert arrays["tokens"].dtype == np.int64
        assert arrays["logits"].dtype == np.float32


def test_text_for_a_person(expected: dict[str, NDArray[Any]]) -> None:
    lines = report("我爱你", "--stage", WEIGHTS, "--head", "1").splitlines()
    assert lines[0] == "llm-explore · tiny-gpt"
    assert lines[1].split() == ["text", "0:", "我", "1381", "爱", "1983", "你", "507"]
    assert any(line.split()[:3] == [WEIGHTS, "B×H×N×M", "="] and "15 of 56" in line for line in lines)
    assert "weights[n, m] = exp(masked[n, m]) ÷ Σ exp(masked[n, ·])" in lines
    start = next(at for at, line in enumerate(lines) if line.split() == ["我", "爱", "你"])
    rows = lines[start : start + 4]
    table = [line.split() for line in rows]
    assert table[0] == ["我", "爱", "你"]
    for token, row, numbers in zip("我爱你", table[1:], expected["attention_0"][0, 1, :3, :3], strict=True):
        assert row[0] == token
        assert [float(number) for number in row[1:]] == pytest.approx(list(numbers), abs=6e-4)
    assert len({cell_len(line) for line in rows}) == 1
    # The same head as a graph, in words: what 我 may not see is said to be cut.
    assert any(line.split()[:2] == ["我", "→"] and "✕ 爱 你" in line for line in lines)


def test_text_of_everything_names_every_stage_in_order(sample: Model) -> None:
    shown = report("我爱你")
    places = [shown.index(f"\n{stage.name}   {stage.shape_text}   ") for stage in sample.trace("我爱你")]
    assert places == sorted(places)
    assert all(cell_len(line) <= 100 for line in shown.splitlines()[2:])


def test_masked_cells_are_minus_infinity_in_text() -> None:
    row = report("我爱", "--stage", "layers.0.attention.masked", "--head", "0").splitlines()[-2].split()
    assert (row[0], row[2]) == ("我", "−∞")


def test_long_tables_are_cut_and_it_is_said() -> None:
    shown = report("我爱你" * 30, "--stage", WEIGHTS, "--head", "0")
    assert "⋯" in shown
    assert "⋮" in shown
    assert "90 rows, 90 columns" in shown


@pytest.mark.parametrize("format_", ["text", "json", "csv"])
def test_what_would_act_on_a_terminal_is_made_visible(format_: str) -> None:
    shown = report(HOSTILE, "--stage", "tokens", "--format", format_)
    assert "\x1b" not in shown
    assert "\0" not in shown
    if format_ != "csv":
        assert "\r" not in shown
    assert "␛" in shown
    assert "[" in shown


@pytest.mark.parametrize(
    "format_",
    [
        "text",
        "json",
        "csv",
    ],
)
def test_c1_controls_and_reversed_text_are_made_visible(format_: str) -> None:
    shown = report(HOSTILE, "--stage", "tokens", "--format", format_)
    assert "\x9b" not in shown
    assert "\u202e" not in shown


def test_a_hostile_text_is_in_json_what_it_was() -> None:
    assert as_json(HOSTILE, "--stage", "tokens")["texts"] == [HOSTILE]


@pytest.mark.parametrize("format_", ["text", "json", "csv"])
def test_a_file_holds_what_the_stream_would(tmp_path: Path, format_: str) -> None:
    file = tmp_path / "report"
    arguments = ["我爱你", "--report", "--format", format_]
    assert report(*arguments, "--output", str(file)) == ""
    assert file.read_bytes() == CliRunner().invoke(cli.options(), arguments).stdout_bytes
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask


def test_what_stood_in_a_file_is_lost_only_to_a_whole_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.json"
    file.write_text("before")

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tui.report.data._entry", broken)
        assert report("我", "--format", "json", "--output", str(file), code=1) == ""
    assert file.read_text() == "before"
    assert os.listdir(tmp_path) == ["report.json"]
    report("我", "--format", "json", "--output", str(file))
    assert json.loads(file.read_text())["model"] == "tiny-gpt"


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("before")
    link.symlink_to(target)
    report("我", "--format", "csv", "--output", str(link))
    assert link.is_symlink()
    assert target.read_text().startswith("stage,text,")


@pytest.mark.parametrize("place", ["", "nowhere/report.txt", "file/report.txt"])
def test_where_nothing_can_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(cli.options(), ["我", "--report", "--output", str(tmp_path / place)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"llm-explore: {tmp_path / place}: ")
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["file"]
