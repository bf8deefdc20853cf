"""Writing GGUF files for tests, with the gguf package's own writer, as llama.cpp's converter writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import gguf.quants
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from engine.errors import FileError
from engine.model import Model, load
from tests.engine.references import ROUNDING

Array = NDArray[np.float32]
Kind = gguf.GGMLQuantizationType

# The reference runs' inner width is no whole number of blocks, neither of 32 numbers nor, 8 times as wide, of 256.
FITTING = {56: 64, 8 * 56: 256}
SIZES = ("hidden_size", "intermediate_size", "head_dim", "vocab_size", "n_embd", "n_positions", "query_pre_attn_scalar")
CHANGED: dict[str, dict[str, Any]] = {"gemma2": {"query_pre_attn_scalar": 8}}
TURNED = ("c_attn.weight", "c_proj.weight", "c_fc.weight")

# Where the scales stand among the bytes of a block; of MXFP4 it is an exponent.
SCALES = {
    **dict.fromkeys(("Q4_K", "Q5_K"), (0, 2)),
    **dict.fromkeys(("IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS"), (0,)),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q6_K": (208,),
    "TQ1_0": (52,),
    "TQ2_0": (64,),
}
IDS = [[5, 17, 3, 80, 41, 2, 66, 9, 30]]
Stored = Mapping[str, tuple[Kind, NDArray[np.uint8]]]


@dataclass(frozen=True)
class Checkpoint:
    """A small model in Hub format, with random numbers in every tensor."""

    config: dict[str, Any]
    tensors: dict[str, Array]

    @classmethod
    def like(cls, folder: Path, times: int = 1, **changed: Any) -> Checkpoint:
        """With the config and names of a reference run, and sizes that blocks fit in, so many ``times`` as large."""

        def fitting(size: int) -> int:
            return FITTING.get(times * size, times * size)

        config = json.loads((folder / "config.json").read_text("utf-8")) | CHANGED.get(folder.name, {})
        config |= {key: fitting(config[key]) for key in SIZES if key in config}
        random = np.random.default_rng(11)
        tensors = {}
        for name, stored in load_file(folder / "model.safetensors").items():
            shape = [fitting(int(size)) for size in stored.shape]
            tensors[name] = (random.standard_normal(shape) * (0.3 if len(shape) > 1 else 0.5)).astype(np.float32)
        return cls(config | changed, tensors)

    @property
    def family(self) -> str:
        """Its model_type."""
        return str(self.config["model_type"])

    @property
    def heads(self) -> tuple[int, int]:
        """H and H_kv."""
        heads = int(self.config.get("num_attention_heads") or self.config["n_head"])
        return heads, int(self.config.get("num_key_value_heads", heads))

    def save(self, folder: Path) -> Path:
        """Written as a folder."""
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config))
        save_file(
            {name: np.ascontiguousarray(tensor) for name, tensor in self.tensors.items()}, folder / "model.safetensors"
        )
        return folder

    def converted(self, name: str, tensor: Array) -> Array:
        """A tensor as the converter lays it out."""
        heads = dict(zip(("q_proj", "k_proj"), self.heads, strict=True)).get(name.split(".")[-2])
        if self.family == "llama" and heads:
            halves = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
            return halves.swapaxes(1, 2).reshape(tensor.shape)
        if self.family == "gpt2" and name.endswith(TURNED):
            return tensor.T
        if self.family.startswith("gemma") and name.endswith("norm.weight"):
            return tensor + 1
        return tensor

    def restored(self, name: str, tensor: Array) -> Array:
        """A tensor as the Hub has it, from the converter's layout."""
        heads = dict(zip(("q_proj", "k_proj"), self.heads, strict=True)).get(name.split(".")[-2])
        if self.family == "llama" and heads:
            pairs = tensor.reshape(heads, tensor.shape[0] // heads // 2, 2, *tensor.shape[1:])
            return pairs.swapaxes(1, 2).reshape(tensor.shape)
        if self.family == "gpt2" and name.endswith(TURNED):
            return tensor.T
        if self.family.startswith("gemma") and name.endswith("norm.weight"):
            return tensor - 1
        return tensor

    def rounded(self, kind: Kind) -> Checkpoint:
        """The numbers that are left of the matrices once they have been stored as ``kind``."""
        tensors = {}
        for name, tensor in self.tensors.items():
            laid = np.ascontiguousarray(self.converted(name, tensor))
            if laid.ndim > 1:
                laid = gguf.quants.dequantize(gguf.quants.quantize(laid, kind), kind)
            tensors[name] = self.restored(name, laid)
        return Checkpoint(self.config, tensors)

    def in_blocks(self, kind_of: Callable[[str], Kind]) -> tuple[Checkpoint, Stored]:
        """The same with the numbers of random blocks in its matrices, and those blocks, by the tensors' names.

        The package decodes more kinds of blocks than it can make.
        """
        random = np.random.default_rng(3)
        tensors, stored = dict(self.tensors), {}
        for name, tensor in self.tensors.items():
            if tensor.ndim == 1:
                continue
            kind = kind_of(name)
            blocks = random_blocks(kind, self.converted(name, tensor).shape, random)
            stored[name] = kind, blocks
            tensors[name] = self.restored(name, gguf.quants.dequantize(blocks, kind))
        return Checkpoint(self.config, tensors), stored

    def write(
        self,
        path: Path,
        kind: Kind = Kind.F32,
        *,
        stored: Stored | None = None,
        parts_of: int = 0,
        add: Callable[[gguf.GGUFWriter], None] | None = None,
        extra: Mapping[str, Array] | None = None,
        left_out: tuple[str, ...] = (),
    ) -> Path:
        """Written as a GGUF file, its matrices stored as ``kind``, or as the blocks in ``stored``; in several files of
        at most ``parts_of`` tensors each where that is given, with names that begin with the path's.
        """
        architecture = {name: key for key, name in gguf.MODEL_ARCH_NAMES.items()}[self.family]
        config = self.config
        layers = int(config.get("num_hidden_layers") or config["n_layer"])
        names = gguf.get_tensor_name_map(architecture, layers)
        writer = gguf.GGUFWriter(path, self.family, split_max_tensors=parts_of)
        writer.add_name("tiny")
        writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
        for key, value in self.metadata(layers).items():
            if key in left_out:
                continue
            if isinstance(value, float):
                writer.add_float32(f"{self.family}.{key}", value)
            else:
                writer.add_uint32(f"{self.family}.{key}", value)
        if add:
            add(writer)
        for name, tensor in self.tensors.items():
            new = names.get_name(name, (".weight", ".bias"))
            assert new, name
            if stored and name in stored:
                own, blocks = stored[name]
                writer.add_tensor(new, blocks, raw_dtype=own)
                continue
            laid = np.ascontiguousarray(self.converted(name, tensor))
            if laid.ndim == 1 or kind == Kind.F32:
                writer.add_tensor(new, laid)
            else:
                writer.add_tensor(new, gguf.quants.quantize(laid, kind), raw_dtype=kind)
        for name, tensor in (extra or {}).items():
            writer.add_tensor(name, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def metadata(self, layers: int) -> dict[str, int | float]:
        """What the converter writes of config.json, after the architecture's name."""
        config = self.config
        if self.family == "gpt2":
            return {
                "vocab_size": config["vocab_size"],
                "block_count": layers,
                "context_length": config["n_positions"],
                "embedding_length": config["n_embd"],
                "feed_forward_length": 4 * config["n_embd"],
                "attention.head_count": config["n_head"],
                "attention.layer_norm_epsilon": config["layer_norm_epsilon"],
            }
        head_width = config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])
        shared = {
            "vocab_size": config["vocab_size"],
            "block_count": layers,
            "context_length": config["max_position_embeddings"],
            "embedding_length": config["hidden_size"],
            "feed_forward_length": config["intermediate_size"],
            "attention.head_count": config["num_attention_heads"],
            "attention.head_count_kv": config["num_key_value_heads"],
            "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
            "attention.key_length": head_width,
            "attention.value_length": head_width,
            "rope.freq_base": config["rope_parameters"]["rope_theta"],
        }
        if self.family == "llama":
            shared["rope.dimension_count"] = head_width
        if self.family == "gemma2":
            shared["attn_logit_softcapping"] = config["attn_logit_softcapping"]
            shared["final_logit_softcapping"] = config["final_logit_softcapping"]
            shared["attention.sliding_window"] = config["sliding_window"]
        return shared


def random_blocks(kind: Kind, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.uint8]:
    """Blocks of any bytes, rows×bytes, with scales that make the numbers as large as weights are."""
    block, width = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (shape[0], shape[1] // block, width), np.uint8)
    shares = random.uniform(0.5, 1.0, blocks.shape[:2])

    def scaled(by: float) -> NDArray[np.uint8]:
        for at in SCALES[kind.name]:
            blocks[..., at : at + 2] = (shares * by).astype("<f2")[..., None].view(np.uint8)
        return blocks.reshape(shape[0], -1)

    spread = gguf.quants.dequantize(scaled(1.0), kind).std()
    return scaled(0.08 / float(spread))


def assert_alike(one: Model, other: Model) -> None:
    """Every stage has the same numbers."""
    first, second = one.trace(ids=IDS), other.trace(ids=IDS)
    assert [stage.name for stage in first] == [stage.name for stage in second]
    for stage in first:
        expected = second[stage.name].value
        assert stage.value.dtype == np.float32
        seen = np.isfinite(expected)
        assert (np.isfinite(stage.value) == seen).all()
        scale = max(1.0, float(np.abs(expected[seen]).max()))
        assert np.abs(stage.value[seen] - expected[seen]).max() <= ROUNDING * scale, stage.name


def refused(path: Path, key: str = "", *named: str) -> FileError:
    """Loading it is one sentence, that names the file and more; with this key, where one is given."""
    with pytest.raises(FileError) as caught:
        load(path)
    assert key in ("", caught.value.key), caught.value
    assert all(name in str(caught.value) for name in named)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    assert len(str(caught.value)) < 1000
    return caught.value
