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
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

Array = NDArray[np.float32]
Kind = gguf.GGMLQuantizationType

# The reference runs' inner width is no whole number of blocks.
FITTING = {56: 64}
CHANGED: dict[str, dict[str, Any]] = {"gemma2": {"query_pre_attn_scalar": 8}}
TURNED = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


@dataclass(frozen=True)
class Checkpoint:
    """A small model in Hub format, with random numbers in every tensor."""

    config: dict[str, Any]
    tensors: dict[str, Array]

    @classmethod
    def like(cls, folder: Path, **changed: Any) -> Checkpoint:
        """With the config and names of a reference run, and sizes that blocks fit in."""
        config = json.loads((folder / "config.json").read_text("utf-8")) | CHANGED.get(folder.name, {}) | changed
        if "intermediate_size" in config:
            config["intermediate_size"] = FITTING[config["intermediate_size"]]
        random = np.random.default_rng(11)
        tensors = {}
        for name, stored in load_file(folder / "model.safetensors").items():
            shape = [FITTING.get(int(size), int(size)) for size in stored.shape]
            tensors[name] = (random.standard_normal(shape) * (0.3 if len(shape) > 1 else 0.5)).astype(np.float32)
        return cls(config, tensors)

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

    def write(
        self,
        path: Path,
        kind: Kind = Kind.F32,
        *,
        add: Callable[[gguf.GGUFWriter], None] | None = None,
        extra: Mapping[str, Array] | None = None,
        left_out: tuple[str, ...] = (),
    ) -> Path:
        """Written as a GGUF file, its matrices stored as ``kind``."""
        architecture = {name: key for key, name in gguf.MODEL_ARCH_NAMES.items()}[self.family]
        config = self.config
        layers = int(config.get("num_hidden_layers") or config["n_layer"])
        names = gguf.get_tensor_name_map(architecture, layers)
        writer = gguf.GGUFWriter(path, self.family)
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
