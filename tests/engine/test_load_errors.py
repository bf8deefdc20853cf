"""A folder that is no sound model is refused in one line that names what is wrong, before anything large is made."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from safetensors.numpy import load_file, save_file

from engine.errors import FileError
from engine.model import load

Checkpoint = Callable[..., Path]
ABSENT = ...


def refused(path: str | Path) -> FileError:
    """The error that loading ends with, having made nothing larger than a few megabytes."""
    tracemalloc.start()
    try:
        with pytest.raises(FileError) as caught:
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 << 20
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    return caught.value


def same_logits(one: Path, other: Path) -> bool:
    first, second = (load(folder).trace(ids=[1, 2, 3])["logits"].value for folder in (one, other))
    return first.tobytes() == second.tobytes()


@pytest.mark.parametrize("name", ["nowhere", "a\x1b[31mb", "x" * 5000, "\0", "~nobody-of-this-name/x"])
def test_neither_a_folder_nor_a_sample(name: str) -> None:
    error = refused(name)
    assert error.key == "no-such-model"
    assert "tiny-gpt" in str(error)
    assert "\x1b" not in str(error)


def test_a_folder_without_a_config(tmp_path: Path) -> None:
    error = refused(tmp_path)
    assert error.key == "config-missing"
    assert str(tmp_path) in str(error)


def test_a_file_is_no_folder(checkpoint: Checkpoint) -> None:
    assert refused(checkpoint() / "config.json").key == "folder-is-file"


def test_only_pickled_weights(checkpoint: Checkpoint) -> None:
    folder = checkpoint()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    error = refused(folder)
    assert error.key == "weights-pickled"
    assert "pytorch_model.bin" in str(error)


@pytest.mark.parametrize("length", [0, 4, 100, -1])
def test_weights_cut_short(checkpoint: Checkpoint, length: int) -> None:
    file = checkpoint() / "model.safetensors"
    file.write_bytes(file.read_bytes()[:length])
    error = refused(file.parent)
    assert error.key == ("header-cut-off" if length >= 0 else "safetensors-length")
    assert "not copied whole" in str(error) or "not have been copied whole" in str(error)
    assert str(file) in str(error)


@pytest.mark.parametrize("name", ["nonesuch", "GPT2", 5, False, ["llama"], "a\x1b[31mb" * 100])
def test_an_unknown_model_type_is_answered_with_those_there_are(checkpoint: Checkpoint, name: Any) -> None:
    error = refused(checkpoint(config={"model_type": name}))
    assert error.key == "unknown-model-type"
    assert {"llama", "qwen2"} <= set(error.values["supported"].split(", "))
    assert "\x1b" not in str(error)


@pytest.mark.parametrize("name", [ABSENT, None])
def test_a_missing_model_type_is_a_missing_key(checkpoint: Checkpoint, name: Any) -> None:
    error = refused(checkpoint(config={"model_type": name}))
    assert (error.key, error.values["entry"]) == ("config-missing-key", "model_type")


@pytest.mark.parametrize(
    "tensor",
    ["model.embed_tokens.weight", "model.layers.1.self_attn.v_proj.weight", "model.norm.weight"],
)
def test_a_missing_tensor(checkpoint: Checkpoint, tensor: str) -> None:
    error = refused(checkpoint(tensors={tensor: None}))
    assert (error.key, error.values["tensor"]) == ("tensor-missing", tensor)
    assert tensor in str(error)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_a_tensor_in_numbers_that_cannot_be_read(checkpoint: Checkpoint, dtype: DTypeLike) -> None:
    folder = checkpoint()
    tensors = load_file(folder / "model.safetensors")
    name = "model.layers.1.mlp.up_proj.weight"
    buffer = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(2, np.int64)}
    save_file(tensors | buffer, folder / "model.safetensors")
    assert load(folder).weights.has("logits.weight")
    save_file(tensors | {name: tensors[name].astype(dtype)}, folder / "model.safetensors")
    error = refused(folder)
    assert (error.key, error.values["tensor"]) == ("tensor-dtype", name)
    assert error.values["supported"] == "F32, F16, BF16, F64"


def test_double_precision_is_rounded(checkpoint: Checkpoint) -> None:
    assert same_logits(checkpoint(name="double", dtype=np.float64), checkpoint(name="single"))


def test_too_few_layers_in_the_file(checkpoint: Checkpoint) -> None:
    error = refused(checkpoint(config={"num_hidden_layers": 3}))
    assert error.key == "tensor-missing"
    assert "model.layers.2." in str(error)


@pytest.mark.parametrize("tensor", ["model.extra.weight", "model.layers.2.mlp.up_proj.weight", "x\x1b" + "y" * 5000])
def test_a_tensor_that_nothing_uses(checkpoint: Checkpoint, tensor: str) -> None:
    error = refused(checkpoint(tensors={tensor: np.zeros(3, np.float32)}))
    assert error.key == "tensor-unused"
    assert error.values["count"] == "1"
    assert tensor[:1] in error.values["tensor"]
    assert "\x1b" not in str(error)


def test_a_bias_that_the_config_does_not_speak_of(checkpoint: Checkpoint) -> None:
    bias = np.zeros(8, np.float32)
    error = refused(checkpoint(tensors={"model.layers.0.self_attn.q_proj.bias": bias}))
    assert (error.key, error.values["tensor"]) == ("tensor-unused", "model.layers.0.self_attn.q_proj.bias")


@pytest.mark.parametrize(
    ("tensor", "shape", "wanted"),
    [
        ("model.embed_tokens.weight", (10, 8), "11×8"),
        ("model.layers.1.mlp.up_proj.weight", (8, 12), "12×8"),
        ("model.layers.0.self_attn.k_proj.weight", (8, 8), "4×8"),
        ("model.norm.weight", (8, 1), "8"),
        ("model.norm.weight", (), "8"),
        ("lm_head.weight", (11, 8, 1), "11×8"),
    ],
)
def test_a_tensor_of_another_shape(checkpoint: Checkpoint, tensor: str, shape: tuple[int, ...], wanted: str) -> None:
    error = refused(checkpoint(tensors={tensor: np.zeros(shape, np.float32)}))
    assert (error.key, error.values["tensor"]) == ("tensor-shape", tensor)
    assert (error.values["shape"], error.values["wanted"]) == ("×".join(map(str, shape)), wanted)
    assert "model.safetensors" in str(error)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocab_size", 1 << 24),
        ("hidden_size", 1 << 24),
        ("head_dim", 1 << 24),
        ("intermediate_size", 1 << 24),
        ("num_hidden_layers", 1000),
        ("num_attention_heads", 1 << 23),
    ],
)
def test_sizes_are_compared_with_the_tensors_before_anything_is_made(
    checkpoint: Checkpoint, key: str, value: int
) -> None:
    assert refused(checkpoint(config={key: value})).key in ("tensor-shape", "tensor-missing", "config-value")


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("hidden_size", [0, -8, "8", True, 8.0, [8], 10**9, 10**400]),
        ("num_hidden_layers", [0, 10**9, 1 << 24, "2"]),
        ("num_attention_heads", [3, 0, {}]),
        ("num_key_value_heads", [3, 4, -1]),
        ("head_dim", [3, 0, 5000]),
        ("max_position_embeddings", [0, 10**9, "long"]),
        ("rms_norm_eps", [0, -1e-6, "1e-6", float("nan"), float("inf"), 10**400, 1e300]),
        ("rope_theta", [0, -1, 1e-300, 1e300, 10**400, "1e4", True]),
        ("rope_scaling", [[], "linear", 2.0]),
        ("hidden_act", ["gelux", ["silu"], 1]),
        ("tie_word_embeddings", ["yes", 1, 0.0]),
        ("attention_bias", ["no", 2]),
    ],
)
def test_values_that_cannot_be(checkpoint: Checkpoint, key: str, values: list[Any]) -> None:
    for number, value in enumerate(values):
        error = refused(checkpoint(name=f"model{number}", config={key: value}))
        assert (error.key, error.values["entry"]) == ("config-value", key), value
        # As JSON spells it.
        spelled = "true" if value is True else repr(value)[:40]
        assert f" is {spelled}" in str(error)
        assert "is expected" in str(error)


@pytest.mark.parametrize(
    ("scaling", "entry"),
    [
        ({"rope_type": "ntk"}, "rope_scaling"),
        ({"type": ["linear"], "factor": 2}, "rope_scaling"),
        ({"rope_type": "linear", "factor": 0}, "factor"),
        ({"rope_type": "linear", "factor": 1e-300}, "factor"),
        (
            {"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 0},
            "original_max_position_embeddings",
        ),
        (
            {"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 16, "low_freq_factor": 4},
            "high_freq_factor",
        ),
    ],
)
def test_rope_scalings_that_cannot_be(checkpoint: Checkpoint, scaling: dict[str, Any], entry: str) -> None:
    error = refused(checkpoint(config={"rope_scaling": scaling}))
    assert (error.key, error.values["entry"]) == ("config-value", entry)


@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size"])
def test_keys_without_which_there_is_no_model(checkpoint: Checkpoint, key: str) -> None:
    for number, value in enumerate([ABSENT, None]):
        error = refused(checkpoint(name=f"model{number}", config={key: value}))
        assert (error.key, error.values["entry"]) == ("config-missing-key", key)


@pytest.mark.parametrize("key", ["rotary_dim", "attn_logit_softcapping", "quantization_config", "k" * 5000])
def test_a_key_that_may_change_the_numbers(checkpoint: Checkpoint, key: str) -> None:
    error = refused(checkpoint(config={key: [0.25] * 5000}))
    assert error.key == "config-unknown-key"
    assert key[:70] in str(error)
    assert "0.25" in str(error)


def test_keys_that_change_no_number_are_let_be(checkpoint: Checkpoint) -> None:
    ignored = {"architectures": ["X"], "torch_dtype": "float64", "transformers_version": "9", "use_cache": False}
    others = {
        "_attn_implementation_internal": "eager",
        "_flash_attn_2_enabled": True,
        "trust_remote_code": True,
        "custom_pipelines": {},
        "ignore_index": -100,
        "language": "zh",
        "license": "mit",
        "mask_token_id": 3,
        "max_sequence_length": 9,
        "model_max_length": 9,
        "tokenizer_model_max_length": 9,
        "name_or_path": "x",
        "num_labels": 2,
        "predict_special_tokens": True,
        "save_step": 7,
        "use_return_dict": True,
        "sbert_ce_default_activation_function": "x",
        "sentence_transformers": {"version": 1},
        "unsloth_fixed": True,
        "unsloth_version": "2024.9",
        "whatever_is_null": None,
    }
    assert same_logits(checkpoint(name="plain"), checkpoint(name="more", config=ignored | others))


def test_values_nested_as_deeply_as_can_be_read(checkpoint: Checkpoint) -> None:
    """Writing one out, to say that it is wrong, must not take more of the stack than reading it did."""
    folder = checkpoint()
    keys = set()
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit() + 1, 3):
        (folder / "config.json").write_text('{"model_type": ' + "[" * depth + "]" * depth + "}")
        keys.add(refused(folder).key)
    assert keys == {"unknown-model-type", "json-too-deep"}


@pytest.mark.parametrize(
    "named",
    [
        {"AutoModel": "model.Model"},
        {"AutoConfig": "configuration_llama.LlamaConfig", "AutoModelForCausalLM": "modeling_llama.MyLlama"},
        {"AutoModelForCausalLM": "modeling_qwen2.Qwen2ForCausalLM"},
        {"AutoModelForCausalLM": "someone/repository--modeling_llama.LlamaForCausalLM"},
        {"AutoModelForCausalLM": "modeling_llama.LlamaForCausalLM.x"},
        {"AutoTokenizer": ["tokenization_llama.LlamaTokenizer", None]},
        {"AutoModel": None},
        {"AutoModel": {"a": ["x" * 5000]}},
        ["modeling_llama.LlamaModel"],
        "x\x1b[31m",
        1,
    ],
)
def test_code_of_its_own_is_refused(checkpoint: Checkpoint, named: Any) -> None:
    error = refused(checkpoint(config={"auto_map": named}))
    assert error.key == "config-custom-code"
    assert "modeling_llama.LlamaForCausalLM" in error.values["known"]
    assert error.values["value"][:10] == repr(named)[:10]
    assert "\x1b" not in str(error)


@pytest.mark.parametrize(
    "named",
    [
        None,
        {},
        {"AutoConfig": "configuration_llama.LlamaConfig", "AutoModelForCausalLM": "modeling_llama.LlamaForCausalLM"},
        {"AutoModel": "modeling_llama.LlamaModel"},
    ],
)
def test_the_librarys_own_code_may_be_named(checkpoint: Checkpoint, named: Any) -> None:
    assert same_logits(checkpoint(name="plain"), checkpoint(name="named", config={"auto_map": named}))


def test_a_tokenizer_larger_than_the_embedding(checkpoint: Checkpoint) -> None:
    error = refused(checkpoint(tokens=[f"w{number}" for number in range(12)]))
    assert error.key == "vocabulary-size"
    assert (error.values["tokens"], error.values["rows"]) == ("12", "11")
    assert load(checkpoint(name="equal", tokens=[f"w{number}" for number in range(11)])).tokenizer.size == 11


def test_what_is_no_tokenizer(checkpoint: Checkpoint) -> None:
    folder = checkpoint()
    (folder / "tokenizer.json").write_text("{}")
    error = refused(folder)
    assert error.key == "tokenizer-unsound"
    assert "tokenizer.json" in str(error)


def test_a_tokenizer_that_is_a_broken_link_is_not_taken_for_none(checkpoint: Checkpoint) -> None:
    folder = checkpoint()
    os.symlink("nowhere.json", folder / "tokenizer.json")
    assert refused(folder).key == "file-missing"


def test_names_may_leave_out_the_prefix(checkpoint: Checkpoint) -> None:
    bare = checkpoint(name="bare", rename=lambda name: name.removeprefix("model."))
    assert "embed_tokens.weight" in load_file(bare / "model.safetensors")
    assert same_logits(bare, checkpoint(name="full"))


def test_a_head_that_is_not_in_the_file_is_the_embedding(checkpoint: Checkpoint) -> None:
    # As for a model saved from its base class, whatever the config says.
    headless = checkpoint(name="headless", tensors={"lm_head.weight": None})
    tied = checkpoint(name="tied", tie_word_embeddings=True)
    assert "lm_head.weight" not in load_file(tied / "model.safetensors")
    assert same_logits(headless, tied)
    assert not same_logits(headless, checkpoint(name="untied"))


def test_a_head_that_is_in_the_file_counts_though_the_config_ties_it(checkpoint: Checkpoint) -> None:
    stored = checkpoint(name="stored", config={"tie_word_embeddings": True})
    assert "lm_head.weight" in load_file(stored / "model.safetensors")
    assert same_logits(stored, checkpoint(name="untied"))
    assert not same_logits(stored, checkpoint(name="tied", tie_word_embeddings=True))


def test_buffers_of_older_checkpoints_are_passed_over(checkpoint: Checkpoint) -> None:
    plain = checkpoint(name="plain")
    tensors = load_file(plain / "model.safetensors")
    older = checkpoint(name="older")
    buffer = np.ones(2, np.float32)
    more = {f"model.layers.{layer}.self_attn.rotary_emb.inv_freq": buffer + layer for layer in (0, 1)}
    save_file(tensors | more, older / "model.safetensors")
    assert same_logits(older, plain)


def test_null_is_the_default(checkpoint: Checkpoint) -> None:
    folder = checkpoint(name="null", config={"head_dim": None, "rope_scaling": None, "attention_bias": None})
    assert json.loads((folder / "config.json").read_text())["head_dim"] is None
    assert same_logits(folder, checkpoint(name="plain"))
