"""What a trace records: names in order, ops, inputs, axes with their labels, formulas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from engine.model import Model, load, samples
from engine.operand import Weight
from engine.stages import Stage
from engine.trace import Trace

LAYER = {
    # name: (op, inputs, shape), for 我爱你 in tiny-gpt; {x} is what comes into the layer, {i} the layer.
    "attention.norm": ("rms_norm", "{x} layers.{i}.attention.norm.weight", "B×N×D = 1×3×64"),
    "attention.q": ("linear", "attention.norm layers.{i}.attention.q.weight", "B×N×D = 1×3×64"),
    "attention.k": ("linear", "attention.norm layers.{i}.attention.k.weight", "B×N×D = 1×3×64"),
    "attention.v": ("linear", "attention.norm layers.{i}.attention.v.weight", "B×N×D = 1×3×64"),
    "attention.q_heads": ("split_heads", "attention.q", "B×H×N×d = 1×4×3×16"),
    "attention.k_heads": ("split_heads", "attention.k", "B×H×M×d = 1×4×3×16"),
    "attention.v_heads": ("split_heads", "attention.v", "B×H×M×d = 1×4×3×16"),
    "attention.q_rotated": ("rope", "attention.q_heads angles", "B×H×N×d = 1×4×3×16"),
    "attention.k_rotated": ("rope", "attention.k_heads angles", "B×H×M×d = 1×4×3×16"),
    "attention.scores": ("matmul", "attention.q_rotated attention.k_rotated", "B×H×N×M = 1×4×3×3"),
    "attention.scaled": ("scale", "attention.scores", "B×H×N×M = 1×4×3×3"),
    "attention.masked": ("mask", "attention.scaled mask", "B×H×N×M = 1×4×3×3"),
    "attention.weights": ("softmax", "attention.masked", "B×H×N×M = 1×4×3×3"),
    "attention.heads": ("matmul", "attention.weights attention.v_heads", "B×H×N×d = 1×4×3×16"),
    "attention.concat": ("concat", "attention.heads", "B×N×D = 1×3×64"),
    "attention.output": ("linear", "attention.concat layers.{i}.attention.output.weight", "B×N×D = 1×3×64"),
    "attention.residual": ("add", "{x} attention.output", "B×N×D = 1×3×64"),
    "mlp.norm": ("rms_norm", "attention.residual layers.{i}.mlp.norm.weight", "B×N×D = 1×3×64"),
    "mlp.gate": ("linear", "mlp.norm layers.{i}.mlp.gate.weight", "B×N×F = 1×3×168"),
    "mlp.up": ("linear", "mlp.norm layers.{i}.mlp.up.weight", "B×N×F = 1×3×168"),
    "mlp.activated": ("activation", "mlp.gate", "B×N×F = 1×3×168"),
    "mlp.product": ("multiply", "mlp.activated mlp.up", "B×N×F = 1×3×168"),
    "mlp.down": ("linear", "mlp.product layers.{i}.mlp.down.weight", "B×N×D = 1×3×64"),
    "mlp.residual": ("add", "attention.residual mlp.down", "B×N×D = 1×3×64"),
}


def expected_stages() -> list[tuple[str, str, list[str], str]]:
    """Name, op, inputs and shape of every stage of tiny-gpt, in order."""
    rows = [
        ("tokens", "tokenize", [], "B×N = 1×3"),
        ("embedding", "embedding", ["tokens", "embedding.weight"], "B×N×D = 1×3×64"),
    ]
    for i, x in enumerate(["embedding", "layers.0.mlp.residual"]):
        for name, (op, inputs, shape) in LAYER.items():
            names = [
                f"layers.{i}.{each}" if each in LAYER else each.format(i=i, x=x)  # a stage of this layer, or another
                for each in inputs.split()
            ]
            rows.append((f"layers.{i}.{name}", op, names, shape))
    return [
        *rows,
        ("norm", "rms_norm", ["layers.1.mlp.residual", "norm.weight"], "B×N×D = 1×3×64"),
        ("logits", "linear", ["norm", "logits.weight"], "B×N×V = 1×3×4096"),
        ("probabilities", "softmax", ["logits"], "B×N×V = 1×3×4096"),
        ("targets", "successors", ["tokens"], "B×N = 1×2"),
        ("losses", "negative_log", ["probabilities", "targets"], "B×N = 1×2"),
        ("loss", "mean", ["losses"], "B×1 = 1×1"),
    ]


@pytest.fixture(scope="module")
def trace(sample: Model) -> Trace:
    return sample.trace("我爱你")


def test_names_ops_inputs_and_shapes_in_order(trace: Trace) -> None:
    found = [
        (stage.name, stage.op.name, [operand.name for operand in stage.inputs], stage.shape_text) for stage in trace
    ]
    assert found == expected_stages()


def test_stages_are_found_by_name_and_know_their_place(trace: Trace) -> None:
    assert len(trace) == len(trace.stages) == 2 + 2 * 24 + 6
    for position, stage in enumerate(trace.stages):
        assert trace[stage.name] is stage
        assert stage.name in trace
        assert stage.position == position
    assert "layers.2.attention.norm" not in trace


def test_kind_and_layer(trace: Trace) -> None:
    stage = trace["layers.1.attention.q_heads"]
    assert (stage.kind, stage.layer) == ("attention.q_heads", 1)
    assert (trace["logits"].kind, trace["logits"].layer) == ("logits", None)


def test_labels(trace: Trace) -> None:
    texts, queries, keys = (trace["layers.1.attention.weights"].axes[axis] for axis in (0, 2, 3))
    assert list(texts.labels or ()) == ["我爱你"]
    assert list(queries.labels or ()) == list(keys.labels or ()) == ["我", "爱", "你"]
    assert trace["layers.1.attention.weights"].axes[1].labels is None
    vocabulary = trace["logits"].axes[2]
    assert vocabulary.labels is not None
    assert len(vocabulary.labels) == vocabulary.size == 4096
    assert [vocabulary.label(id) for id in (0, 1, 1381, 507)] == ["<pad>", "<bos>", "我", "你"]
    assert vocabulary.label(507, text=3) == "你"
    assert trace["embedding"].axes[2].label(7) == "7"


def test_labels_of_a_batch_belong_to_their_texts(sample: Model) -> None:
    tokens = sample.trace(["我爱你", "猫"])["tokens"]
    assert tokens.shape_text == "B×N = 2×3"
    assert list(tokens.axes[1].labels_of(0) or ()) == ["我", "爱", "你"]
    assert list(tokens.axes[1].labels_of(1) or ()) == ["猫", "<pad>", "<pad>"]
    assert tokens.axes[0].label(1) == "猫"


def test_every_stage_has_a_formula_that_calls_it_by_its_symbol(trace: Trace) -> None:
    for stage in trace:
        assert stage.formula.startswith(stage.symbol)
        assert " = " in stage.formula
        assert len(stage.op.signs(stage.inputs)) == len(stage.inputs) + 1


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("layers.0.attention.q", "Q = norm·W_Q"),
        ("layers.0.attention.scores", "scores = Q′·K′ᵀ"),
        ("layers.0.attention.scaled", "scaled = scores ÷ √16, √16 = 4"),
        ("layers.0.attention.heads", "heads = weights·V"),
        ("layers.0.attention.concat", "concat = [heads[0] ‖ heads[1] ‖ … ‖ heads[3]]"),
        ("logits", "logits = h·W_out"),
        ("layers.0.attention.norm", "norm = x ÷ √(mean(x²) + ε) ⊙ γ,  x = embedding"),
        ("layers.0.attention.q_rotated", "Q′[i] = Q[i]·cos θᵢ − Q[i+8]·sin θᵢ,  Q′[i+8] = Q[i+8]·cos θᵢ + Q[i]·sin θᵢ"),
        ("layers.0.attention.residual", "residual = embedding + output"),
        ("layers.0.mlp.activated", "activated = silu(gate), silu(x) = x ÷ (1 + e^(−x))"),
        ("layers.0.mlp.residual", "residual = residual + down"),
    ],
)
def test_formulas(trace: Trace, name: str, formula: str) -> None:
    assert trace[name].formula == formula


def weight_of(stage: Stage) -> Weight:
    weight = stage.inputs[1]
    assert isinstance(weight, Weight)
    return weight


def test_weights_are_the_files_turned_so_that_x_stands_left(trace: Trace) -> None:
    stored = load_file(samples() / "models" / "tiny-gpt" / "model.safetensors")
    gate = weight_of(trace["layers.1.mlp.gate"])
    assert gate.shape_text == "D×F = 64×168"
    assert np.array_equal(gate.value, stored["model.layers.1.mlp.gate_proj.weight"].T)
    assert gate.number((5, 100)) == stored["model.layers.1.mlp.gate_proj.weight"][100, 5]
    assert gate.source == "model.safetensors · model.layers.1.mlp.gate_proj.weightᵀ · F32"
    gain = weight_of(trace["norm"])
    assert gain.shape_text == "D = 64"
    assert np.array_equal(gain.value, stored["model.norm.weight"])


def test_a_tied_head_is_the_embedding_on_its_side(trace: Trace) -> None:
    embedding, head = weight_of(trace["embedding"]), weight_of(trace["logits"])
    assert (embedding.shape_text, head.shape_text) == ("V×D = 4096×64", "D×V = 64×4096")
    assert np.array_equal(head.value, embedding.value.T)
    assert head.source == "model.safetensors · model.embed_tokens.weightᵀ · F32"


def test_an_untied_head_is_its_own(oracles: Path) -> None:
    head = weight_of(load(oracles / "llama").trace(ids=[5])["logits"])
    stored = load_file(oracles / "llama" / "model.safetensors")
    assert np.array_equal(head.value, stored["lm_head.weight"].T)
    assert "lm_head" in head.source


def test_grouped_heads_have_axes_of_their_own(oracles: Path) -> None:
    trace = load(oracles / "llama").trace(ids=[[5, 6, 7], [8, 9, 10]])
    shapes = {name: trace[f"layers.0.attention.{name}"].shape_text for name in ("q", "k", "q_heads", "k_rotated")}
    assert shapes == {
        "q": "B×N×D = 2×3×32",
        "k": "B×N×H_kv·d = 2×3×16",
        "q_heads": "B×H×N×d = 2×4×3×8",
        "k_rotated": "B×H_kv×M×d = 2×2×3×8",
    }
    assert trace["layers.0.attention.scores"].shape_text == "B×H×N×M = 2×4×3×3"
    assert trace["layers.0.attention.heads"].shape_text == "B×H×N×d = 2×4×3×8"


def test_heads_need_not_make_up_the_model_width(checkpoint: Callable[..., Path]) -> None:
    trace = load(checkpoint(head_dim=6)).trace(ids=[1, 2])
    assert trace["layers.0.attention.q"].shape_text == "B×N×H·d = 1×2×12"
    assert trace["layers.0.attention.concat"].shape_text == "B×N×H·d = 1×2×12"
    assert trace["layers.0.attention.output"].shape_text == "B×N×D = 1×2×8"
    assert trace["layers.0.attention.scaled"].formula == "scaled = scores ÷ √6, √6 = 2.44949"
    assert trace["logits"].value.shape == (1, 2, 11)
