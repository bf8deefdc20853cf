"""What tests share: the sample model, reference runs, and tiny Llama checkpoints written on the spot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from numpy.typing import DTypeLike, NDArray
from safetensors.numpy import save_file

from engine.model import Model, load

Tensors = dict[str, NDArray[Any]]

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 16,
    "vocab_size": 11,
    "tie_word_embeddings": False,
}


def llama_tensors(config: dict[str, Any], seed: int) -> Tensors:
    """A Llama checkpoint's tensors, out×in as PyTorch stores them, every number random."""
    width, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    head = config.get("head_dim") or width // config["num_attention_heads"]
    joined, shared = head * config["num_attention_heads"], head * config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (vocabulary, width)}
    for layer in range(config["num_hidden_layers"]):
        shapes |= {
            f"model.layers.{layer}.{name}.weight": shape
            for name, shape in {
                "input_layernorm": (width,),
                "self_attn.q_proj": (joined, width),
                "self_attn.k_proj": (shared, width),
                "self_attn.v_proj": (shared, width),
                "self_attn.o_proj": (width, joined),
                "post_attention_layernorm": (width,),
                "mlp.gate_proj": (inner, width),
                "mlp.up_proj": (inner, width),
                "mlp.down_proj": (width, inner),
            }.items()
        }
    shapes["model.norm.weight"] = (width,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (vocabulary, width)
    random = np.random.default_rng(seed)
    return {name: random.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Callable[..., Path]:
    """Writes a model folder: ``checkpoint(vocab_size=20)`` changes config.json and the tensors that follow from it.

    ``config`` changes config.json alone, ``tensors`` replaces tensors (None takes one out), ``rename`` gives each
    another name, ``tokens`` makes a tokenizer with one token a word.
    """

    def write(
        *,
        name: str = "tiny",
        seed: int = 0,
        dtype: DTypeLike = np.float32,
        config: dict[str, Any] | None = None,
        tensors: dict[str, NDArray[Any] | None] | None = None,
        rename: Callable[[str], str] = str,
        tokens: list[str] | None = None,
        **sizes: Any,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        described = CONFIG | sizes
        kept = llama_tensors(described, seed) | (tensors or {})
        stored = {rename(key): array.astype(dtype) for key, array in kept.items() if array is not None}
        save_file(stored, folder / "model.safetensors")
        written = {key: value for key, value in (described | (config or {})).items() if value is not ...}
        (folder / "config.json").write_text(json.dumps(written), encoding="utf-8")
        if tokens is not None:
            library = tokenizers.Tokenizer(
                tokenizers.models.WordLevel({token: id for id, token in enumerate(tokens)}, unk_token=tokens[0])
            )
            library.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
            library.save(str(folder / "tokenizer.json"))
        return folder

    return write


@pytest.fixture(scope="session")
def sample() -> Model:
    """The model that ships with the program."""
    return load("tiny-gpt")


@pytest.fixture(scope="session")
def oracles() -> Path:
    """The folder of reference runs: checkpoints with random weights and what transformers made of them."""
    return Path(__file__).parent / "fixtures" / "oracle"


@pytest.fixture(scope="session")
def stories() -> Model:
    """A third-party checkpoint that does not come with the project; tests that need it are skipped without it."""
    folder = Path(__file__).parents[2] / "shared" / "models" / "stories260K"
    if not folder.is_dir():
        pytest.skip("stories260K is not there")
    return load(folder)
