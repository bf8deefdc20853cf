"""Rotary positions: every scaling by its formula, in both spellings, for part of a head and for long texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.architectures.config import Config
from engine.architectures.description import RopeSpec
from engine.architectures.rope import RopeKeys, read_rope
from engine.axes import Axis
from engine.constants import Constant
from engine.errors import FileError
from engine.model import load
from engine.ops import Rope
from tests.engine.references import Run, rewritten, without

PLAIN = [10000 ** (-2 * i / 16) for i in range(8)]


def read(config: dict[str, Any], width: int = 16, positions: int = 64, **keys: Any) -> tuple[RopeSpec, int]:
    checked = Config(config, Path("config.json"))
    found = read_rope(checked, width, positions, RopeKeys(**keys))
    checked.finish()
    return found


def close(numbers: list[float]) -> Any:
    return pytest.approx(numbers, rel=2e-6)


def both(scaling: dict[str, Any], theta: float = 10000.0) -> tuple[RopeSpec, int]:
    """What either spelling says, which must be the same."""
    newer = read({"rope_parameters": {"rope_theta": theta, **scaling}})
    older = read({"rope_theta": theta, "rope_scaling": scaling})
    oldest = read({"rope_theta": theta, "rope_scaling": {"type": scaling["rope_type"]} | scaling})
    for found in (older, oldest):
        assert (found[0].frequencies, found[0].magnitude, found[1]) == (
            newer[0].frequencies,
            newer[0].magnitude,
            newer[1],
        )
    return newer


def test_without_scaling() -> None:
    for config in ({}, {"rope_scaling": None}, {"rope_theta": 10000}, {"rope_parameters": {"rope_type": "default"}}):
        spec, limit = read(config)
        assert list(spec.frequencies) == close(PLAIN)
        assert (spec.magnitude, limit, spec.formula) == (1.0, 64, "θ = n · 10000^(−2i/16)")


def test_theta_from_either_place_or_by_default() -> None:
    assert read({"rope_theta": 500000.0})[0].frequencies[1] == pytest.approx(500000 ** (-1 / 8), rel=1e-6)
    assert read({"rope_parameters": {"rope_theta": 1e6}})[0].frequencies[1] == pytest.approx(1e6 ** (-1 / 8), rel=1e-6)
    assert read({}, theta=100.0)[0].frequencies[1] == pytest.approx(100 ** (-1 / 8), rel=1e-6)
    assert read({"rotary_emb_base": 50}, theta_key="rotary_emb_base")[0].frequencies[1] == pytest.approx(50 ** (-1 / 8))


@pytest.mark.parametrize("config", [{"rotary_pct": 0.5}, {"rope_parameters": {"partial_rotary_factor": 0.5}}])
def test_part_of_a_head(config: dict[str, Any]) -> None:
    spec, _ = read(config, share=0.25, share_key="rotary_pct")
    assert list(spec.frequencies) == close([10000 ** (-2 * i / 8) for i in range(4)])
    assert len(read({}, share=0.25, share_key="rotary_pct")[0].frequencies) == 2


def test_linear() -> None:
    spec, limit = both({"rope_type": "linear", "factor": 4.0})
    assert list(spec.frequencies) == close([x / 4 for x in PLAIN])
    assert limit == 256


def test_llama3() -> None:
    scaling = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    expected = []
    for x in PLAIN:
        wave = 2 * math.pi / x
        share = (32 / wave - 1) / 3
        expected.append(x / 8 if wave > 32 else x if wave < 8 else (1 - share) * x / 8 + share * x)
    spec, limit = both(scaling)
    assert list(spec.frequencies) == close(expected)
    assert len({round(a / b, 4) for a, b in zip(spec.frequencies, PLAIN, strict=True)}) == 3
    assert limit == 64


def yarn(low: float, high: float, factor: float, theta: float = 10000.0) -> list[float]:
    """By the paper: pair i is squeezed as far as it lies on the ramp from ``low`` to ``high``."""
    ramps = [min(max((i - low) / (high - low), 0.0), 1.0) for i in range(8)]
    return [theta ** (-i / 8) * (1 - ramp + ramp / factor) for i, ramp in enumerate(ramps)]


def pair(times: float, original: int) -> float:
    return 16 * math.log(original / (times * 2 * math.pi)) / (2 * math.log(10000.0))


def test_yarn() -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    spec, limit = both(scaling)
    assert list(spec.frequencies) == close(yarn(math.floor(pair(32, 4096)), math.ceil(pair(1, 4096)), 4))
    assert spec.magnitude == pytest.approx(0.1 * math.log(4) + 1)
    assert limit == 16384


def test_yarn_with_every_key() -> None:
    scaling = {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 512,
        "beta_fast": 16,
        "beta_slow": 2,
        "truncate": False,
        "mscale": 1.2,
        "mscale_all_dim": 0.8,
    }
    spec, _ = both(scaling)
    assert list(spec.frequencies) == close(yarn(pair(16, 512), pair(2, 512), 4))
    lengthened = [0.1 * scale * math.log(4) + 1 for scale in (1.2, 0.8)]
    assert spec.magnitude == pytest.approx(lengthened[0] / lengthened[1])
    assert both(scaling | {"attention_factor": 0.7})[0].magnitude == 0.7
    assert both({"rope_type": "yarn", "factor": 1.0})[0].magnitude == 1.0


def test_longrope() -> None:
    short, long = [1.0 + i / 8 for i in range(8)], [2.0 + i for i in range(8)]
    scaling = {
        "rope_type": "longrope",
        "short_factor": short,
        "long_factor": long,
        "original_max_position_embeddings": 16,
    }
    spec, limit = both(scaling)
    assert list(spec.frequencies_of(16)) == close([x / s for x, s in zip(PLAIN, short, strict=True)])
    assert list(spec.frequencies_of(17)) == close([x / s for x, s in zip(PLAIN, long, strict=True)])
    assert spec.magnitude == pytest.approx(math.sqrt(1 + math.log(64 / 16) / math.log(16)))
    assert both(scaling | {"factor": 2.0})[0].magnitude == pytest.approx(math.sqrt(1 + math.log(2) / math.log(16)))
    assert both(scaling | {"attention_factor": 1.5})[0].magnitude == 1.5
    assert limit == 64


def test_the_first_length_may_stand_outside() -> None:
    scaling = {"type": "su", "short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
    config = {"rope_scaling": scaling, "original_max_position_embeddings": 32}
    spec, _ = read(config, renamed={"su": "longrope"}, original=4096)
    assert spec.limit == 32
    assert spec.magnitude == pytest.approx(math.sqrt(1 + math.log(2) / math.log(32)))
    assert read({"rope_scaling": scaling}, renamed={"su": "longrope"}, original=48)[0].limit == 48


def test_dynamic() -> None:
    spec, limit = both({"rope_type": "dynamic", "factor": 4.0})
    assert list(spec.frequencies_of(64)) == close(PLAIN)
    theta = 10000 * (4 * 100 / 64 - 3) ** (16 / 14)
    assert list(spec.frequencies_of(100)) == close([theta ** (-i / 8) for i in range(8)])
    assert limit == 256


def test_texts_of_any_length_within_the_limit(oracles: Path) -> None:
    model = load(oracles / "llama-dynamic")
    short, long = model.trace(ids=[[5] * 8]), model.trace(ids=[[5] * 11])
    first, second = (trace["layers.0.attention.q_rotated"].inputs[1].value for trace in (short, long))
    assert first[1, 0] == second[1, 0] == 1.0
    assert (first[1, 1:] > second[1, 1:]).all()
    assert model.trace(ids=[[5] * 32]).stages


@pytest.mark.parametrize(
    ("scaling", "entry"),
    [
        ({"rope_type": "mrope"}, "rope_scaling"),
        ({"rope_type": "dynamic"}, "factor"),
        ({"rope_type": "yarn", "factor": 0.5}, "factor"),
        ({"rope_type": "yarn", "factor": 4.0, "truncate": 1}, "truncate"),
        ({"rope_type": "yarn", "factor": 4.0, "attention_factor": -1}, "attention_factor"),
        ({"rope_type": "longrope", "short_factor": [1.0] * 7, "long_factor": [1.0] * 8}, "short_factor"),
        ({"rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [0] * 8}, "long_factor[0]"),
        ({"rope_type": "default", "partial_rotary_factor": 2}, "partial_rotary_factor"),
        ({"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.5}, "partial_rotary_factor"),
    ],
)
def test_scalings_that_cannot_be(scaling: dict[str, Any], entry: str) -> None:
    for config in ({"rope_parameters": scaling}, {"rope_scaling": scaling}):
        with pytest.raises(FileError) as caught:
            read(config)
        assert caught.value.values["entry"] == entry


@pytest.mark.parametrize("share", [2.0, 0.0625, 0.2])
def test_parts_of_a_head_that_cannot_be_turned(share: float) -> None:
    for config, entry in (
        ({"rotary_pct": share}, "rotary_pct"),
        ({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": share}}, "partial_rotary_factor"),
    ):
        with pytest.raises(FileError) as caught:
            read(config, share_key="rotary_pct")
        values = caught.value.values
        assert (values["entry"], values["value"]) == (entry, str(share))
        assert values["wanted"] == "a part of each head's 16 coordinates that is an even number of them, from 2 to 16"


@pytest.mark.parametrize("width", [1, 5, 4098])
def test_heads_that_cannot_be_turned(width: int) -> None:
    with pytest.raises(FileError) as caught:
        read({}, width)
    assert caught.value.values["entry"] == "hidden_size ÷ num_attention_heads"
    with pytest.raises(FileError) as caught:
        read({"head_dim": width}, width)
    assert (caught.value.values["entry"], caught.value.values["value"]) == ("head_dim", str(width))


def test_whole_heads_where_a_family_knows_no_part() -> None:
    for config in ({"partial_rotary_factor": 1.0}, {"rope_parameters": {"partial_rotary_factor": 1}}):
        assert list(read(config)[0].frequencies) == close(PLAIN)
    with pytest.raises(FileError) as caught:
        read({"partial_rotary_factor": 0.5})
    assert caught.value.values["entry"] == "partial_rotary_factor"


def test_general_keys_beside_the_familys_own() -> None:
    keys: dict[str, Any] = {"theta_key": "rotary_emb_base", "share_key": "rotary_pct", "share": 0.5}
    own = {"rotary_emb_base": 500.0, "rotary_pct": 0.25}
    assert read(own | {"rope_theta": 500.0, "partial_rotary_factor": 0.25}, **keys) == read(own, **keys)
    for key in ("rope_theta", "partial_rotary_factor"):
        with pytest.raises(FileError) as caught:
            read(own | {key: 0.5 if "factor" in key else 99.0}, **keys)
        assert caught.value.values["entry"] == key
    # As transformers has it, they count for nothing where the family's own are not there.
    assert read({"rope_theta": 500.0, "partial_rotary_factor": 0.25}, **keys) == read({}, **keys)


def test_a_key_that_a_scaling_does_not_know_names_itself() -> None:
    with pytest.raises(FileError) as caught:
        read({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "low_freq_factor": 1.0}})
    assert (caught.value.key, caught.value.values["entry"]) == ("config-unknown-key", "low_freq_factor")
    with pytest.raises(FileError) as caught:
        read({"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_type": "default"}})
    assert caught.value.values["entry"] == "rope_scaling"


@pytest.mark.parametrize("kind", ["su", "yarn", "longrope"])
def test_what_phi3_calls_its_scaling(kind: str, oracles: Path, tmp_path: Path) -> None:
    def renamed(config: dict[str, Any]) -> dict[str, Any]:
        return config | {"rope_scaling": config["rope_scaling"] | {"type": kind}}

    run = Run.of(rewritten(oracles / "phi3-short", tmp_path / kind, config=renamed), oracles / "phi3-short")
    run.assert_logits()


@pytest.mark.parametrize(
    ("name", "config"),
    [
        (
            "llama-yarn-mscale",
            without(
                "rope_parameters",
                rope_theta=10000.0,
                rope_scaling={
                    "type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 16,
                    "mscale": 1.4,
                    "mscale_all_dim": 0.6,
                    "beta_fast": 8.0,
                    "beta_slow": 0.5,
                    "truncate": False,
                },
            ),
        ),
        ("llama-dynamic", without("rope_parameters", rope_scaling={"type": "dynamic", "factor": 4.0})),
    ],
)
def test_older_spellings_of_whole_checkpoints(
    name: str, config: Callable[[dict[str, Any]], dict[str, Any]], oracles: Path, tmp_path: Path
) -> None:
    Run.of(rewritten(oracles / name, tmp_path / name, config=config), oracles / name).assert_logits()


def test_a_magnitude_is_part_of_the_turn() -> None:
    numbers = np.random.default_rng(0).normal(0, 1, (1, 2, 3, 6)).astype(np.float32)
    angles = np.random.default_rng(1).normal(0, 2, (3, 2)).astype(np.float32)
    x = Constant("x", "Q", tuple(Axis(s, n) for s, n in zip("BHNd", numbers.shape, strict=True)), lambda: numbers, "")
    theta = Constant("angles", "θ", (Axis("N", 3), Axis("d/2", 2)), lambda: angles, "")
    op = Rope(1.25)
    shown, plain = op.forward(numbers, angles), Rope().forward(numbers, angles)
    assert np.allclose(shown[..., :4], 1.25 * plain[..., :4], rtol=1e-6, atol=1e-6)
    assert np.array_equal(shown[..., 4:], numbers[..., 4:])
    for cell in np.ndindex(shown.shape):
        *_, last = op.derive(cell, [x, theta])
        assert abs(last.value - float(shown[cell])) <= 3e-6
    assert f"1.25·({x.symbol}[i]·cos θᵢ − {x.symbol}[i+2]·sin θᵢ)" in op.formula("Q′", [x, theta])
