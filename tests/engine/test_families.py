"""Families that continue a text: each agrees with transformers, however its checkpoint spells things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.architectures.registry import FAMILIES
from engine.errors import FileError
from engine.model import load
from engine.operand import Operand
from engine.trace import Trace
from tests.engine.references import Run, assert_same, rewritten, without

DECODERS = [
    "classic-gpt-neox",
    "classic-llama-linear",
    "classic-llama3-rope",
    "classic-qwen2-yarn",
    "gemma",
    "gemma2",
    "gemma3",
    "gpt-neo",
    "gpt-neox",
    "gpt-neox-serial",
    "gpt2",
    "gpt2-by-layer",
    "gpt2-own-head",
    "gpt2-unscaled",
    "llama",
    "llama-dynamic",
    "llama-yarn-mscale",
    "llama3-rope",
    "mistral-null-window",
    "mistral-window",
    "phi",
    "phi-normed",
    "phi3-long",
    "phi3-short",
    "qwen2",
    "qwen2-bf16-shards",
    "qwen2-windows",
    "qwen2-yarn-factor",
    "qwen3",
    "qwen3-bias",
]

ATTENTION = "q k v q_heads k_heads v_heads {} scores {}masked weights heads concat output"
LAYERS = {
    "gpt2": f"attention.norm {ATTENTION.format('', 'scaled ')} residual mlp.norm hidden activated down residual",
    "gpt-neo": f"attention.norm {ATTENTION.format('', '')} residual mlp.norm hidden activated down residual",
    "gpt-neox": f"attention.norm {ATTENTION.format('q_rotated k_rotated', 'scaled ')} "
    "mlp.norm hidden activated down residual",
    "gpt-neox-serial": f"attention.norm {ATTENTION.format('q_rotated k_rotated', 'scaled ')} residual "
    "mlp.norm hidden activated down residual",
    "llama": f"attention.norm {ATTENTION.format('q_rotated k_rotated', 'scaled ')} residual "
    "mlp.norm gate up activated product down residual",
    "qwen3": f"attention.norm {ATTENTION.format('q_normed k_normed q_rotated k_rotated', 'scaled ')} residual "
    "mlp.norm gate up activated product down residual",
    "gemma2": f"attention.norm {ATTENTION.format('q_rotated k_rotated', 'scaled softcapped ')} post_norm residual "
    "mlp.norm gate up activated product down post_norm residual",
    "gemma3": f"attention.norm {ATTENTION.format('q_normed k_normed q_rotated k_rotated', 'scaled ')} post_norm "
    "residual mlp.norm gate up activated product down post_norm residual",
    "phi": f"attention.norm {ATTENTION.format('q_rotated k_rotated', 'scaled ')} mlp.hidden activated down residual",
    "phi3-long": f"attention.norm {ATTENTION.format('q_rotated k_rotated', 'scaled ')} residual "
    "mlp.norm gate up activated product down residual",
}


@pytest.fixture(scope="module", params=DECODERS)
def run(request: pytest.FixtureRequest, oracles: Path) -> Run:
    return Run.of(oracles / str(request.param))


def test_hidden_states(run: Run) -> None:
    run.assert_hidden()


def test_attentions(run: Run) -> None:
    run.assert_attention()


def test_logits(run: Run) -> None:
    run.assert_logits()


def test_every_number_can_be_derived(run: Run) -> None:
    run.assert_derivations()


def test_every_number_is_float32(run: Run) -> None:
    for stage in run.trace:
        assert stage.value.dtype == np.float32
        assert stage.value.shape == stage.shape
        assert not stage.value.flags.writeable


def test_no_two_operands_share_a_name(run: Run) -> None:
    named: dict[str, Operand] = {}
    for operand in (operand for stage in run.trace for operand in (stage, *stage.inputs)):
        assert named.setdefault(operand.name, operand) is operand


@pytest.mark.parametrize("name", LAYERS)
def test_stages_of_a_layer(name: str, oracles: Path) -> None:
    trace = load(oracles / name).trace(ids=[5, 6, 7])
    block, wanted = "", []
    for part in LAYERS[name].split():
        block, _, last = part.rpartition(".") if "." in part else (block, "", part)
        wanted.append(f"layers.0.{block}.{last}")
    assert [stage.name for stage in trace if stage.layer == 0] == wanted


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("gpt2", "tokens embedding positions embedded", "norm logits probabilities targets losses loss"),
        ("gpt-neo", "tokens embedding positions embedded", "norm logits probabilities targets losses loss"),
        ("phi", "tokens embedding", "norm logits probabilities targets losses loss"),
        ("gemma", "tokens embedding scaled_embedding", "norm logits probabilities targets losses loss"),
        ("gemma2", "tokens embedding scaled_embedding", "norm logits softcapped probabilities targets losses loss"),
        ("mistral-window", "tokens embedding", "norm logits probabilities targets losses loss"),
    ],
)
def test_stages_around_the_layers(name: str, before: str, after: str, oracles: Path) -> None:
    trace = load(oracles / name).trace(ids=[5, 6, 7])
    first = trace["layers.0.attention.norm"].position
    assert [stage.name for stage in trace.stages[:first]] == before.split()
    assert [stage.name for stage in trace.stages[first:] if stage.layer is None] == after.split()


def test_the_code_that_records_a_trace_names_no_family() -> None:
    folder = Path(__file__).parents[2] / "engine"
    recording = ["attention", "batch", "description", "feed_forward", "forward", "recorder", "stack"]
    for file in [*(folder / "architectures" / f"{name}.py" for name in recording), *folder.glob("ops/*.py")]:
        lines = [line for line in file.read_text("utf-8").splitlines() if '"""' not in line]
        code = "\n".join(line.split("#")[0] for line in lines)
        assert not [name for name in FAMILIES if f'"{name}"' in code or f"'{name}'" in code], file


# How formulas read


@pytest.mark.parametrize(
    ("name", "stage", "formula"),
    [
        ("gpt2", "positions", "positions[n] = P[n]"),
        ("gpt2", "embedded", "embedded = embedding + positions"),
        ("gpt2-by-layer", "layers.1.attention.scaled", "scaled = scores ÷ (√8·2), (√8·2) = 5.65685"),
        ("gemma", "scaled_embedding", "scaled_embedding = embedding × √32, √32 = 5.65685"),
        ("gemma2", "layers.0.attention.scaled", "scaled = scores ÷ √10, √10 = 3.16228"),
        ("gemma2", "layers.0.attention.softcapped", "softcapped = 50·tanh(scaled ÷ 50)"),
        ("gemma2", "softcapped", "softcapped = 30·tanh(logits ÷ 30)"),
        ("phi", "layers.0.mlp.residual", "residual = embedding + output + down"),
        ("phi", "layers.0.mlp.hidden", "hidden = norm·W_up + b_up"),
        ("phi", "logits", "logits = h·W_out + b_out"),
        ("qwen3", "layers.0.attention.q_rotated", None),
    ],
)
def test_formulas(name: str, stage: str, formula: str | None, oracles: Path) -> None:
    found = load(oracles / name).trace(ids=[5, 6, 7])[stage].formula
    assert formula is None or found == formula


def test_masks_say_what_they_hide(oracles: Path) -> None:
    trace = load(oracles / "gemma2").trace(ids=[[5, 6, 7, 8, 9, 10, 11]])
    masks = [trace[f"layers.{layer}.attention.masked"].inputs[1] for layer in range(3)]
    assert masks[0] is masks[2]
    assert [mask.name for mask in masks] == ["mask.window", "mask", "mask.window"]
    assert {getattr(mask, "kind", "") for mask in masks} == {"mask"}
    kinds = [trace[f"layers.{layer}.attention.masked"].kind for layer in range(3)]
    assert kinds == ["attention.masked.window", "attention.masked", "attention.masked.window"]
    seen = masks[0].value[0]
    assert [row.nonzero()[0].tolist() for row in seen[[0, 4, 6]]] == [[0], [0, 1, 2, 3, 4], [2, 3, 4, 5, 6]]
    assert getattr(masks[0], "formula", "") == "mask[n, m] = 1  (n − 5 < m ≤ n),  0  (¬)"


def test_layers_that_turn_differently_have_angles_of_their_own(oracles: Path) -> None:
    trace = load(oracles / "gemma3").trace(ids=[5, 6, 7])
    angles = [trace[f"layers.{layer}.attention.q_rotated"].inputs[1] for layer in range(3)]
    assert [constant.name for constant in angles] == ["angles", "angles", "angles.1"]
    assert angles[0].value[2, 1] == pytest.approx(2 * 10000**-0.25, rel=1e-6)
    assert angles[2].value[2, 1] == pytest.approx(2 * 1e6**-0.25 / 2, rel=1e-6)


# Names of tensors


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("gpt2", "transformer."), ("gpt-neo", "transformer."), ("gpt-neox", "gpt_neox."), ("phi", "model.")],
)
def test_names_without_prefix(name: str, prefix: str, oracles: Path, tmp_path: Path) -> None:
    folder = rewritten(oracles / name, tmp_path / name, rename=lambda tensor: tensor.removeprefix(prefix))
    Run.of(folder, oracles / name).assert_logits()


def test_the_head_of_published_gpt_neox_and_its_buffers(oracles: Path, tmp_path: Path) -> None:
    buffers = {
        "gpt_neox.layers.0.attention.bias": np.ones((1, 1, 64, 64), np.float32),
        "gpt_neox.layers.0.attention.masked_bias": np.zeros((), np.float32),
        "gpt_neox.layers.0.attention.rotary_emb.inv_freq": np.ones(2, np.float32),
    }
    folder = rewritten(
        oracles / "gpt-neox",
        tmp_path / "old",
        rename=lambda name: name.replace("lm_head", "embed_out"),
        tensors=buffers,
    )
    run = Run.of(folder, oracles / "gpt-neox")
    run.assert_logits()
    assert "embed_out.weight" in getattr(run.trace["logits"].inputs[1], "source", "")


def test_buffers_of_published_gpt2(oracles: Path, tmp_path: Path) -> None:
    buffers = {f"h.{layer}.attn.bias": np.ones((1, 1, 64, 64), np.float32) for layer in range(2)}
    folder = rewritten(oracles / "gpt2-by-layer", tmp_path / "old", tensors=buffers)
    Run.of(folder, oracles / "gpt2-by-layer").assert_logits()


# Where the numbers of a family's last vector, of its embedding and of a head in the file are found.
HEADS = {
    "gpt2": ("transformer.wte", "lm_head"),
    "gpt-neo": ("transformer.wte", "lm_head"),
    "gpt-neox": ("gpt_neox.embed_in", "embed_out"),
    "llama": ("model.embed_tokens", "lm_head"),
    "gemma": ("model.embed_tokens", "lm_head"),
    "phi3-short": ("model.embed_tokens", "lm_head"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_in_the_file_counts_though_the_config_ties_it(name: str, oracles: Path, tmp_path: Path) -> None:
    embedding, head = HEADS[name]
    stored = load_file(oracles / name / "model.safetensors")[f"{embedding}.weight"]
    own = np.random.default_rng(0).normal(0, 0.3, stored.shape).astype(np.float32)
    tied = without(tie_word_embeddings=True)
    rename = {"lm_head.weight": f"{head}.weight"}
    logits = {}
    for kind, tensor in {"own": own, "same": stored}.items():
        folder = rewritten(
            oracles / name,
            tmp_path / kind,
            config=tied,
            rename=lambda tensor: rename.get(tensor, tensor),
            tensors={f"{head}.weight": tensor},
        )
        model = load(folder)
        trace = model.trace(ids=[5, 6, 7])
        logits[kind] = trace["logits"].value
        assert_same(logits[kind], trace["norm"].value @ tensor.T)
        assert not model.spec.tied
        assert f"{head}.weight" in getattr(trace["logits"].inputs[1], "source", "")
    # The same numbers as head make the same logits as none.
    save_file(
        {key: value for key, value in load_file(folder / "model.safetensors").items() if key != f"{head}.weight"},
        folder / "model.safetensors",
    )
    model = load(folder)
    assert model.spec.tied
    assert_same(model.trace(ids=[5, 6, 7])["logits"].value, logits["same"])


def test_two_names_of_one_weight_are_refused(oracles: Path, tmp_path: Path) -> None:
    head = {"lm_head.weight": np.ones((96, 32), np.float32)}
    error = refused(rewritten(oracles / "gpt-neox", tmp_path / "both", tensors=head))
    assert error.key == "tensor-named-twice"
    assert (error.values["first"], error.values["second"]) == ("embed_out.weight", "lm_head.weight")


def test_a_head_of_its_own(oracles: Path, tmp_path: Path) -> None:
    own = np.random.default_rng(0).normal(0, 0.3, (96, 32)).astype(np.float32)
    folder = rewritten(
        oracles / "gpt2",
        tmp_path / "own",
        config=without(tie_word_embeddings=False),
        tensors={"lm_head.weight": own},
    )
    trace = load(folder).trace(ids=[5, 6, 7])
    assert_same(trace["logits"].value, trace["norm"].value @ own.T)


def test_a_head_that_the_file_leaves_out_is_the_embedding(oracles: Path, tmp_path: Path) -> None:
    model = load(rewritten(oracles / "gemma", tmp_path / "untied", config=without(tie_word_embeddings=False)))
    assert model.spec.tied
    assert_same(model.trace(ids=[5, 6])["logits"].value, load(oracles / "gemma").trace(ids=[5, 6])["logits"].value)


def test_fused_weights_are_cut_as_they_lie(oracles: Path) -> None:
    def stage_weights(trace: Trace, part: int) -> list[np.ndarray[Any, Any]]:
        return [trace[f"layers.1.attention.{letter}"].inputs[part].value for letter in "qkv"]

    trace, tensors = load(oracles / "gpt2").trace(ids=[5]), load_file(oracles / "gpt2" / "model.safetensors")
    stored = tensors["transformer.h.1.attn.c_attn.weight"]
    assert all(np.array_equal(a, b) for a, b in zip(stage_weights(trace, 1), np.split(stored, 3, axis=1), strict=True))

    trace, tensors = load(oracles / "gpt-neox").trace(ids=[5]), load_file(oracles / "gpt-neox" / "model.safetensors")
    stored = tensors["gpt_neox.layers.1.attention.query_key_value.weight"].reshape(2, 3, 16, 32)
    bias = tensors["gpt_neox.layers.1.attention.query_key_value.bias"].reshape(2, 3, 16)
    for which, (weight, own) in enumerate(zip(stage_weights(trace, 1), stage_weights(trace, 2), strict=True)):
        assert np.array_equal(weight, np.concatenate([stored[0, which], stored[1, which]]).T)
        assert np.array_equal(own, np.concatenate([bias[0, which], bias[1, which]]))

    trace, tensors = load(oracles / "phi3-long").trace(ids=[5]), load_file(oracles / "phi3-long" / "model.safetensors")
    stored = tensors["model.layers.1.self_attn.qkv_proj.weight"]
    for weight, rows in zip(stage_weights(trace, 1), ((0, 32), (32, 48), (48, 64)), strict=True):
        assert np.array_equal(weight, stored[slice(*rows)].T)
    gate_up = tensors["model.layers.1.mlp.gate_up_proj.weight"]
    assert np.array_equal(trace["layers.1.mlp.gate"].inputs[1].value, gate_up[:40].T)
    assert np.array_equal(trace["layers.1.mlp.up"].inputs[1].value, gate_up[40:].T)


@pytest.mark.parametrize("name", ["gpt2", "gpt-neox", "phi3-long", "gemma", "qwen2-bf16-shards"])
def test_a_part_of_a_weight_is_what_stands_there(name: str, oracles: Path) -> None:
    for stage in load(oracles / name).trace(ids=[5]):
        for weight in (operand for operand in stage.inputs if hasattr(operand, "source")):
            last = tuple(size - 1 for size in weight.shape)
            assert weight.number(last) == float(weight.value[last])
            column = (slice(None),) * (len(last) - 1) + (0,)
            assert np.array_equal(weight.part(column), weight.value[column])


# What config.json says


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("gemma", without(hidden_act="gelu", hidden_activation=None)),
        ("gemma", without("hidden_act", "use_bidirectional_attention")),
        ("gemma", without("head_dim", head_dim=12, cache_implementation="hybrid")),
        ("gemma2", without("layer_types")),
        ("gemma2", without("attn_logit_softcapping", "final_logit_softcapping", hidden_act="silu")),
        (
            "gemma3",
            without(
                "rope_parameters",
                "layer_types",
                rope_theta=1000000.0,
                rope_local_base_freq=10000.0,
                rope_scaling={"rope_type": "linear", "factor": 2.0},
                sliding_window_pattern=3,
            ),
        ),
        ("gemma3", without("layer_types", "attn_logit_softcapping", _sliding_window_pattern=2)),
        ("llama", without(layer_types=["full_attention"] * 3, sliding_window=None, partial_rotary_factor=1.0)),
        ("llama", without(use_sliding_window=False, sliding_window=4, max_window_layers=1, rope_type=None)),
        ("mistral-window", without(use_sliding_window=False, max_window_layers=3)),
        ("phi3-short", without(use_sliding_window=False, max_window_layers=3)),
        ("qwen2", without(attention_bias=False, mlp_bias=False)),
        ("qwen3", without(mlp_bias=False)),
        ("gemma", without(mlp_bias=False, sliding_window=None)),
        ("gemma2", without(mlp_bias=False)),
        ("gpt2", without(num_labels=1, predict_special_tokens=True, use_return_dict=True, save_step=7)),
        ("qwen2", without("layer_types", sliding_window=4, max_window_layers=0)),
        ("qwen2", without("use_sliding_window", "max_window_layers", "layer_types", "sliding_window")),
        ("mistral-window", without(layer_types=["sliding_attention"] * 3)),
        ("mistral-window", without(attention_bias=False)),
        ("gpt2", without("n_inner", "activation_function", "layer_norm_epsilon", "scale_attn_weights", n_ctx=64)),
        (
            "gpt-neo",
            without("attention_layers", "layer_norm_epsilon", "activation_function", gradient_checkpointing=True),
        ),
        ("gpt-neox", without("use_parallel_residual", "hidden_act", "layer_norm_eps", "attention_bias")),
        ("gpt-neox", without("rope_parameters")),
        ("gpt-neox", without("rope_parameters", rope_theta=500.0, partial_rotary_factor=0.5)),
        ("classic-gpt-neox", without(rope_theta=10000.0, partial_rotary_factor=0.5, rope_scaling=None)),
        ("phi", without("rope_parameters", "hidden_act", "qk_layernorm", num_key_value_heads=None)),
        ("phi", without("rope_parameters", rope_theta=10000.0, partial_rotary_factor=0.5, rope_scaling=None)),
        ("llama", without("rope_parameters", "rms_norm_eps", "attention_bias", "mlp_bias", head_dim=None)),
        ("qwen3", without("rope_parameters", "attention_bias", "layer_types", "max_window_layers")),
        ("phi3-long", without("rms_norm_eps", "sliding_window", full_attn_mod=1, attention_bias=False)),
        (
            "phi3-long",
            without(
                auto_map={
                    "AutoConfig": "configuration_phi3.Phi3Config",
                    "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM",
                }
            ),
        ),
    ],
)
def test_other_spellings_and_defaults_give_the_same_numbers(
    name: str, config: Callable[[dict[str, Any]], dict[str, Any]], oracles: Path, tmp_path: Path
) -> None:
    run = Run.of(rewritten(oracles / name, tmp_path / name, config=config), oracles / name)
    run.assert_logits()


@pytest.mark.parametrize(
    ("name", "config", "windows"),
    [
        ("mistral-window", without("sliding_window"), [4096, 4096, 4096]),
        ("mistral-window", without(sliding_window=None), [None, None, None]),
        ("mistral-window", without(), [5, 5, 5]),
        (
            "qwen2",
            without("layer_types", use_sliding_window=True, sliding_window=7, max_window_layers=2),
            [None, None, 7],
        ),
        ("qwen2", without("layer_types", sliding_window=7, max_window_layers=0), [None, None, None]),
        ("qwen2", without("layer_types", "sliding_window", "max_window_layers", use_sliding_window=True), [None] * 3),
        ("gemma2", without("layer_types", "sliding_window"), [4096, None, 4096]),
        (
            "gemma3",
            without("layer_types", "sliding_window", "_sliding_window_pattern", "sliding_window_pattern"),
            [4096, 4096, 4096],
        ),
        # transformers writes the key with the underscore and reads the other.
        (
            "gemma3",
            without("layer_types", "sliding_window", "sliding_window_pattern", _sliding_window_pattern=2),
            [4096, 4096, 4096],
        ),
        ("gpt-neo", without("attention_layers"), [None, 4, None, 4]),
        ("gpt-neo", without("attention_layers", attention_types=[[["local"], 3], [["global"], 1]]), [4, 4, 4, None]),
        ("phi3-short", without(), [5, 5]),
        ("phi3-long", without(), [None, None]),
    ],
)
def test_windows(
    name: str,
    config: Callable[[dict[str, Any]], dict[str, Any]],
    windows: list[int | None],
    oracles: Path,
    tmp_path: Path,
) -> None:
    spec = load(rewritten(oracles / name, tmp_path / name, config=config)).spec
    assert [layer.attention.window for layer in spec.layers] == windows


def test_caps_that_are_null_are_none(oracles: Path, tmp_path: Path) -> None:
    config = without(attn_logit_softcapping=None, final_logit_softcapping=None)
    trace = load(rewritten(oracles / "gemma2", tmp_path / "uncapped", config=config)).trace(ids=[5, 6])
    assert not [stage.name for stage in trace if "softcapped" in stage.name]


def refused(folder: Path) -> FileError:
    with pytest.raises(FileError) as caught:
        load(folder)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("name", "config", "entry"),
    [
        ("gpt2", without(activation_function="quick_gelu"), "activation_function"),
        ("gpt2", without(add_cross_attention=True), "add_cross_attention"),
        ("gpt2", without(n_head=5), "n_head"),
        ("gpt-neo", without(attention_types=[[["global", "sparse"], 2]]), "attention_types"),
        ("gpt-neo", without(attention_types=[[["global", "local"], 3]]), "attention_types"),
        ("gpt-neo", without(attention_types=[[["global", "local"], 10**9]]), "attention_types"),
        ("gpt-neo", without(attention_types=[["global", 4]]), "attention_types"),
        ("gpt-neo", without("attention_layers", attention_types="global"), "attention_types"),
        ("gpt-neo", without(attention_layers=["global"] * 4), "attention_layers"),
        ("gpt-neox", without(hidden_act="mish"), "hidden_act"),
        ("gpt-neox", without("rope_parameters", rotary_pct=1.5), "rotary_pct"),
        ("classic-gpt-neox", without(rope_theta=500.0), "rope_theta"),
        ("classic-gpt-neox", without(partial_rotary_factor=1.0), "partial_rotary_factor"),
        ("gemma", without(use_bidirectional_attention=True), "use_bidirectional_attention"),
        ("gemma", without(hidden_activation="relu"), "hidden_activation"),
        ("gemma2", without(layer_types=["sliding_attention"]), "layer_types"),
        ("gemma2", without(layer_types=["chunked_attention"] * 3), "layer_types"),
        ("gemma2", without(sliding_window=None), "sliding_window"),
        ("mistral-window", without(attention_bias=True), "attention_bias"),
        ("mistral-window", without(layer_types=["full_attention"] * 3), "layer_types"),
        ("qwen2", without(use_mrope=True), "use_mrope"),
        ("qwen2", without(layer_types=["sliding_attention"] * 3), "sliding_window"),
        ("qwen2", without(max_window_layers=-1), "max_window_layers"),
        ("qwen2", without(mlp_bias=True), "mlp_bias"),
        ("qwen3", without(mlp_bias=True), "mlp_bias"),
        ("gemma3", without(mlp_bias=True), "mlp_bias"),
        ("mistral-window", without(use_sliding_window=True), "use_sliding_window"),
        ("llama", without(use_sliding_window=True), "use_sliding_window"),
        ("llama", without(sliding_window=4), "sliding_window"),
        ("llama", without(layer_types=["sliding_attention"] * 3), "sliding_window"),
        ("llama", without(partial_rotary_factor=0.5), "partial_rotary_factor"),
        ("gemma", without(sliding_window=4), "sliding_window"),
        ("phi3-long", without(full_attn_mod=2), "full_attn_mod"),
    ],
)
def test_settings_that_are_not_understood(
    name: str,
    config: Callable[[dict[str, Any]], dict[str, Any]],
    entry: str,
    oracles: Path,
    tmp_path: Path,
) -> None:
    error = refused(rewritten(oracles / name, tmp_path / name, config=config))
    assert (error.key, error.values["entry"]) == ("config-value", entry)


@pytest.mark.parametrize(
    "name", ["gpt2", "gpt-neo", "gpt-neox", "gemma3", "phi", "phi3-long", "qwen3", "mistral-window"]
)
def test_an_unknown_key_names_itself(name: str, oracles: Path, tmp_path: Path) -> None:
    error = refused(rewritten(oracles / name, tmp_path / name, config=without(residual_multiplier=0.22)))
    assert (error.key, error.values["entry"]) == ("config-unknown-key", "residual_multiplier")


@pytest.mark.parametrize("name", ["gpt2", "gpt-neo", "gpt-neox", "gemma2", "phi", "phi3-long", "qwen3"])
def test_a_tensor_that_is_left_over_names_itself(name: str, oracles: Path, tmp_path: Path) -> None:
    further = {"model.layers.0.mlp.router.weight": np.ones((2, 2), np.float32)}
    error = refused(rewritten(oracles / name, tmp_path / name, tensors=further))
    assert (error.key, error.values["tensor"]) == ("tensor-unused", "model.layers.0.mlp.router.weight")


@pytest.mark.parametrize(
    ("name", "tensor", "shape", "wanted"),
    [
        ("gpt2", "transformer.h.0.attn.c_attn.weight", (32, 97), "32×96"),
        ("gpt2", "transformer.h.0.attn.c_attn.bias", (98,), "96"),
        ("gpt2", "transformer.h.0.mlp.c_fc.weight", (128, 32), "32×128"),
        ("gpt-neox", "gpt_neox.layers.0.attention.query_key_value.weight", (95, 32), "96×32"),
        ("phi3-long", "model.layers.0.self_attn.qkv_proj.weight", (65, 32), "64×32"),
        ("phi3-long", "model.layers.0.mlp.gate_up_proj.weight", (80, 31), "80×32"),
        ("qwen3", "model.layers.0.self_attn.q_norm.weight", (15,), "16"),
    ],
)
def test_a_tensor_of_another_shape(
    name: str, tensor: str, shape: tuple[int, ...], wanted: str, oracles: Path, tmp_path: Path
) -> None:
    wrong = {tensor: np.ones(shape, np.float32)}
    error = refused(rewritten(oracles / name, tmp_path / name, tensors=wrong))
    assert (error.key, error.values["tensor"], error.values["wanted"]) == ("tensor-shape", tensor, wanted)


def test_another_model_type_gets_the_list_of_those_there_are(oracles: Path, tmp_path: Path) -> None:
    error = refused(rewritten(oracles / "llama", tmp_path / "other", config=without(model_type="mamba")))
    assert error.key == "unknown-model-type"
    families = "bert gemma gemma2 gemma3_text gpt2 gpt_neo gpt_neox llama marian mistral phi phi3 qwen2 qwen3"
    assert error.values["supported"] == ", ".join(families.split())
