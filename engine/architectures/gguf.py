"""Models in GGUF files: their metadata in config.json's words, and where their tensors lie.

Names and layouts as llama.cpp has them: gguf-py/gguf/constants.py, convert_hf_to_gguf.py and src/llama-model.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np

from engine.architectures.config import Config
from engine.architectures.description import ModelSpec, NormSpec, RopeSpec
from engine.architectures.places import Place, Places, block, linear, plain, rows
from engine.architectures.registry import FAMILIES
from engine.checkpoints.files import shown
from engine.checkpoints.gguf import GgufFile
from engine.checkpoints.gguf_blocks import BlockTensor
from engine.errors import FileError

T = TypeVar("T")

LAYER = "blk.{i}."
ROPE_FACTORS, HEAD = "rope_freqs.weight", "output.weight"

# Metadata on the file, its authors, the tokenizer and how it was quantized: what of it matters is read elsewhere. The
# last is what a publisher of many thousand files notes in each.
APART = ("general.", "tokenizer.", "quantize.", "split.", "mradermacher.")
QUANTIZATION = "general.quantization_version"

PLACES: dict[str, Place] = {
    "embedding.weight": plain("token_embd.weight"),
    "positions.weight": plain("position_embd.weight"),
    **block("layers.{i}.", LAYER, {"attention.norm": "attn_norm", "mlp.norm": "ffn_norm"}, plain),
    **block("layers.{i}.attention.", LAYER, {"q": "attn_q", "k": "attn_k", "v": "attn_v", "output": "attn_output"}),
    **block("layers.{i}.attention.", LAYER, {"q_norm": "attn_q_norm", "k_norm": "attn_k_norm"}, plain),
    **block("layers.{i}.", LAYER, {"attention.post_norm": "post_attention_norm"}, plain),
    **block("layers.{i}.mlp.", LAYER, {"gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}),
    **block("layers.{i}.", LAYER, {"mlp.post_norm": "post_ffw_norm"}, plain),
    **block("", "", {"norm": "output_norm"}, plain),
    "logits.weight": linear(HEAD),
}


def _places(_: ModelSpec) -> Places:
    return PLACES


def _fused_places(spec: ModelSpec) -> Places:
    """Q, K and V as the thirds of one matrix, out×in: the converter turns what GPT-2 stores in×out."""
    width = spec.width
    return PLACES | {
        f"layers.{{i}}.attention.{stage}.{part}": rows(
            f"{LAYER}attn_qkv.{part}", third * width, (third + 1) * width, whole
        )
        for third, stage in enumerate(("q", "k", "v"))
        for part, whole in {"weight": (3 * width, width), "bias": (3 * width,)}.items()
    }


class Metadata:
    """What a file says of its architecture; `finish` names what nobody asked for."""

    def __init__(self, file: GgufFile, architecture: str) -> None:
        self._prefix = f"{architecture}."
        own = {key: value for key, value in file.metadata.items() if not key.startswith(APART)}
        self._config = Config(own, file.path)
        self.tensors = file.tensors

    def key(self, name: str) -> str:
        """The whole key."""
        return self._prefix + name

    def integer(self, name: str, default: int | None = None) -> int:
        """A whole number from 1."""
        return self._config.integer(self.key(name), default)

    def real(self, name: str, default: float | None = None) -> float:
        """A positive number."""
        return self._config.real(self.key(name), default)

    def optional_real(self, name: str) -> float | None:
        """A number from 0, or None where the file does not say."""
        return None if self.get(name) is None else self._config.real(self.key(name), least=0.0)

    def get(self, name: str, default: Any = None) -> Any:
        """The value as it stands in the file: perhaps an array, which is neither true nor false."""
        return self._config.get(self.key(name), default)

    def only(self, name: str, *values: object) -> None:
        """Refuse a value that would change numbers."""
        self._config.only(self.key(name), *values)

    def wrong(self, name: str, value: object, wanted: str) -> FileError:
        """The error for a value that cannot be."""
        return self._config.wrong(self.key(name), value, wanted)

    def finish(self) -> None:
        """Refuse every entry that nobody asked for and that may change numbers."""
        self._config.finish()


def _shared(metadata: Metadata) -> dict[str, Any]:
    """What Llama and its kin say, in the words of config.json."""
    width, heads = metadata.integer("embedding_length"), metadata.integer("attention.head_count")
    head_width = metadata.integer("attention.key_length", width // heads or None)
    metadata.only("attention.value_length", head_width)
    metadata.only("rope.dimension_count", head_width)
    return {
        "hidden_size": width,
        "num_hidden_layers": metadata.integer("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.integer("attention.head_count_kv", heads),
        "head_dim": head_width,
        "intermediate_size": metadata.integer("feed_forward_length"),
        "max_position_embeddings": metadata.integer("context_length"),
        "rms_norm_eps": metadata.real("attention.layer_norm_rms_epsilon"),
        "rope_theta": metadata.real("rope.freq_base", 10_000.0),
        "rope_scaling": _rope_scaling(metadata),
    }


def _rope_scaling(metadata: Metadata) -> dict[str, Any] | None:
    """The scaling of positions, in the words of config.json; a factor of 0 is none."""
    factors = {name: metadata.optional_real(name) for name in ("rope.scaling.factor", "rope.scale_linear")}
    name = next((name for name, value in factors.items() if value is not None), "rope.scaling.factor")
    factor = factors[name]
    kind = metadata.get("rope.scaling.type", "linear" if factor else "none")
    for other in ("rope.scaling.attn_factor", "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"):
        metadata.only(other, 1.0)
    original = metadata.get("rope.scaling.original_context_length")
    fast, slow = (metadata.get(f"rope.scaling.yarn_beta_{end}") for end in ("fast", "slow"))
    if not isinstance(kind, str) or kind not in ("none", "linear", "yarn"):
        raise metadata.wrong("rope.scaling.type", kind, "none, linear or yarn")
    if kind == "none" or not factor:
        return None
    scaling: dict[str, Any] = {"rope_type": kind, "factor": metadata.real(name)}
    if kind == "yarn":
        known = {"original_max_position_embeddings": original, "beta_fast": fast, "beta_slow": slow}
        scaling |= {key: value for key, value in known.items() if value is not None}
    return scaling


def _llama(metadata: Metadata) -> dict[str, Any]:
    for name in ("expert_count", "expert_used_count"):
        metadata.only(name, 0)
    biases = {"attention_bias": "blk.0.attn_q.bias", "mlp_bias": "blk.0.ffn_gate.bias"}
    return _shared(metadata) | {key: name in metadata.tensors for key, name in biases.items()}


def _gemma2(metadata: Metadata) -> dict[str, Any]:
    config = _shared(metadata)
    # Not in the metadata: llama.cpp knows the 27B model by its 46 layers, and it divides by √(D÷H), the others by √d.
    is_largest = config["num_hidden_layers"] == 46
    divisor = config["hidden_size"] // config["num_attention_heads"] if is_largest else config["head_dim"]
    return config | {
        "query_pre_attn_scalar": divisor,
        "sliding_window": metadata.integer("attention.sliding_window", 4096),
        "attn_logit_softcapping": metadata.real("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": metadata.real("final_logit_softcapping", 30.0),
    }


def _gpt2(metadata: Metadata) -> dict[str, Any]:
    return {
        "n_embd": metadata.integer("embedding_length"),
        "n_layer": metadata.integer("block_count"),
        "n_head": metadata.integer("attention.head_count"),
        "n_inner": metadata.integer("feed_forward_length"),
        "n_positions": metadata.integer("context_length"),
        "layer_norm_epsilon": metadata.real("attention.layer_norm_epsilon"),
    }


@dataclass(frozen=True)
class Layout:
    """How one ``general.architecture`` is stored.

    Attributes:
        config: its metadata in the words of config.json.
        places: where its tensors lie.
        paired: whether in every head's rows of Q and K the two coordinates that turn together follow each other.
        carried: whether γ is stored with the 1 that the family adds to it.
        rope_factors: whether the file may hold a divisor for the frequency of every pair.
    """

    config: Callable[[Metadata], dict[str, Any]]
    places: Callable[[ModelSpec], Places] = _places
    paired: bool = False
    carried: bool = False
    rope_factors: bool = False


LAYOUTS = {
    "gemma2": Layout(_gemma2, carried=True),
    "gpt2": Layout(_gpt2, _fused_places),
    "llama": Layout(_llama, paired=True, rope_factors=True),
    "qwen2": Layout(_shared),
    "qwen3": Layout(_shared),
}

# Says nothing about numbers that a trace shows, or says again what the tensors say.
IGNORED = ("tensor_data_layout", "pooling_type", "rope.scaling.finetuned", "use_parallel_residual")


def describe_gguf(file: GgufFile) -> tuple[ModelSpec, Places, Mapping[str, BlockTensor]]:
    """What the model of a file is made of, and its tensors with their places.

    Raises:
        FileError: the architecture is not supported, or the metadata asks for what is not understood.
    """
    name = _architecture(file)
    layout, metadata = LAYOUTS[name], Metadata(file, name)
    config = Config(_config(layout, metadata, file, name), file.path)
    for key in IGNORED:
        metadata.get(key)
    metadata.only("attention.causal", True)
    metadata.finish()
    spec = FAMILIES[name].describe(config)
    config.finish()
    tensors = dict(file.tensors)
    if layout.carried:
        spec = changed(spec, NormSpec, lambda norm: replace(norm, offset=0.0))
    if layout.rope_factors and ROPE_FACTORS in tensors:
        spec = _divided(spec, tensors.pop(ROPE_FACTORS))
    if layout.paired:
        tensors = {key: _unpaired(tensor, spec) for key, tensor in tensors.items()}
    return spec, layout.places(spec), tensors


def _architecture(file: GgufFile) -> str:
    name = file.metadata.get("general.architecture")
    if not isinstance(name, str) or name not in LAYOUTS:
        text = "{file}: general.architecture {name} is not supported; these are: {supported}"
        values = {"name": shown(name), "supported": ", ".join(LAYOUTS)}
        raise FileError("gguf-architecture", text, file=file.path, **values)
    general = Config({key: value for key, value in file.metadata.items() if key.startswith("general.")}, file.path)
    general.only("general.type", "model")
    # Before version 2, blocks of the same names were laid out in other ways.
    general.only(QUANTIZATION, 2)
    return name


def _config(layout: Layout, metadata: Metadata, file: GgufFile, name: str) -> dict[str, Any]:
    tokens = file.metadata.get("tokenizer.ggml.tokens")
    vocabulary = metadata.integer("vocab_size", len(tokens) if isinstance(tokens, list) and tokens else None)
    common = {"model_type": name, "vocab_size": vocabulary, "tie_word_embeddings": HEAD not in file.tensors}
    return common | layout.config(metadata)


def _unpaired(tensor: BlockTensor, spec: ModelSpec) -> BlockTensor:
    """Q and K with their rows as on the Hub: coordinate i of a head turns with i + d/2, not with its neighbour."""
    attention = spec.layers[0].attention
    kind = tensor.name.rpartition(".")[0].rpartition(".")[2]
    heads = {"attn_q": attention.heads, "attn_k": attention.kv_heads}.get(kind)
    if heads is None or tensor.shape[0] != heads * attention.head_width:
        return tensor
    numbers = np.arange(tensor.shape[0]).reshape(heads, attention.head_width // 2, 2)
    return tensor.ordered(numbers.swapaxes(1, 2).reshape(-1))


def _divided(spec: ModelSpec, factors: BlockTensor) -> ModelSpec:
    """Frequencies divided pair by pair, as Llama 3.1's scaling is written down."""
    rope = spec.layers[0].attention.rope
    count = 0 if rope is None else len(rope.frequencies)
    # The size is compared before anything is read.
    by = factors.read() if factors.shape == (count,) else np.zeros(1, np.float32)
    if not (np.isfinite(by) & (by > 0)).all():
        text = "{file}: tensor {tensor} of shape {shape} must hold {count} positive divisors, one for each turned pair"
        values = {"tensor": factors.name, "shape": "×".join(map(str, factors.shape)), "count": count}
        raise FileError("gguf-rope-factors", text, file=factors.file, **values)

    def slower(rope: RopeSpec) -> RopeSpec:
        frequencies = np.array(rope.frequencies, np.float32) / by
        return replace(rope, frequencies=tuple(map(float, frequencies)), formula=f"{rope.formula} ÷ sᵢ")

    return changed(spec, RopeSpec, slower)


def changed(description: T, kind: type, change: Callable[[Any], Any]) -> T:
    """The description with every part of one kind changed, however deep it lies."""
    found: Any = description
    if isinstance(found, kind):
        found = change(found)
    elif isinstance(found, tuple):
        found = tuple(changed(part, kind, change) for part in found)
    elif is_dataclass(found) and not isinstance(found, type):
        parts = {field.name: changed(getattr(found, field.name), kind, change) for field in fields(found)}
        found = replace(found, **parts)
    return cast(T, found)
