"""Small GGUF files that llama.cpp has run; fixtures/llamacpp holds what it made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from tests.engine.gguf_files import Checkpoint, Kind

FIXTURES = Path(__file__).parents[1] / "fixtures"
FAMILIES = ("llama", "qwen2", "qwen3", "gpt2", "gemma2")
# More tokens than gemma2's window of 5.
IDS = (5, 17, 3, 80, 41, 2, 66, 9, 30, 12, 13, 14, 15, 16, 18, 19)

Write = Callable[[Path], Path]


def models() -> dict[str, Write]:
    """How to write each model: every architecture, and every scaling of positions that files can have."""

    def written(family: str, extra: dict[str, Any] | None = None, **entries: Any) -> Write:
        def add(writer: gguf.GGUFWriter) -> None:
            # Without this, llama.cpp asks for a vocabulary.
            writer.add_tokenizer_model("no_vocab")
            for name, value in entries.items():
                key = f"{family}.rope.scaling.{name}"
                if isinstance(value, str):
                    writer.add_string(key, value)
                elif isinstance(value, float):
                    writer.add_float32(key, value)
                else:
                    writer.add_uint32(key, value)

        return lambda file: Checkpoint.like(FIXTURES / "oracle" / family).write(file, add=add, extra=extra)

    factors = {"rope_freqs.weight": np.array([1, 1.5, 4, 8], np.float32)}
    return {family: written(family) for family in FAMILIES} | {
        "llama-factors": written("llama", factors),
        "qwen2-linear": written("qwen2", type="linear", factor=4.0),
        "qwen2-yarn": written("qwen2", type="yarn", factor=4.0, original_context_length=16),
    }


def with_pieces(file: Path, pieces: Sequence[str], merges: Sequence[str], pre: str | None, **entries: Any) -> Path:
    """A model with a byte-level vocabulary, of which the first two pieces begin and end texts."""

    def add(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("gpt2")
        if pre is not None:
            writer.add_tokenizer_pre(pre)
        writer.add_token_list(list(pieces))
        writer.add_token_types([3, 3] + [1] * (len(pieces) - 2))
        writer.add_token_merges(list(merges))
        writer.add_bos_token_id(0)
        writer.add_eos_token_id(1)
        for key, value in entries.items():
            writer.add_bool(f"tokenizer.ggml.{key}", value)

    checkpoint = Checkpoint.like(FIXTURES / "oracle" / "qwen2", vocab_size=len(pieces))
    rows = checkpoint.tensors["model.embed_tokens.weight"]
    checkpoint.tensors["model.embed_tokens.weight"] = np.resize(rows, (len(pieces), rows.shape[1]))
    return checkpoint.write(file, Kind.F16, add=add)
