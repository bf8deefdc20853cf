"""Weights of half precision are converted a few columns at a time, and the pages of their files are given back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from engine.axes import Axis
from engine.checkpoints import open_tensors
from engine.checkpoints.tensors import Tensor
from engine.operand import Array, Index, Weight
from engine.ops import Linear
from tests.conftest import CONFIG

ROOT = Path(__file__).parents[2]
K, M = 700, 1500
MEGABYTE = 1 << 20


def halved(array: Array) -> NDArray[np.uint16]:
    """The upper halves of float32 numbers: bfloat16, cut off."""
    halves: NDArray[np.uint16] = (array.view(np.uint32) >> 16).astype(np.uint16)
    return halves


def write_tensors(path: Path, tensors: dict[str, tuple[str, tuple[int, ...], bytes]]) -> None:
    """A safetensors file of raw bytes; what a tensor is short of is a hole in the file, which reads as 0."""
    header, offsets = {}, [0]
    for name, (dtype, shape, _) in tensors.items():
        offsets.append(offsets[-1] + 2 * int(np.prod(shape)))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets[-2:]}
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for begin, (_, _, data) in zip(offsets, tensors.values(), strict=False):
            file.seek(8 + len(text) + begin)
            file.write(data)
        file.truncate(8 + len(text) + offsets[-1])


def stored(folder: Path, dtype: str, matrix: Array) -> Tensor:
    if dtype == "BF16":
        write_tensors(folder / "model.safetensors", {"w": ("BF16", matrix.shape, halved(matrix).tobytes())})
    else:
        save_file({"w": matrix.astype(np.float16)}, folder / "model.safetensors")
    return open_tensors(folder)["w"]


def operand(array: Array, name: str, symbols: str, read: Callable[[Index], Array] | None = None) -> Weight:
    axes = tuple(Axis(symbol, size) for symbol, size in zip(symbols, array.shape, strict=True))
    return Weight(name, name, axes, read or (lambda index: array[index]), "", converted=read is not None)


@pytest.mark.parametrize("dtype", ["BF16", "F16"])
@pytest.mark.parametrize("turned", [True, False], ids=["out×in", "in×out"])
def test_a_product_by_columns_is_the_product(tmp_path: Path, dtype: str, turned: bool) -> None:
    random = np.random.default_rng(1)
    matrix = random.normal(0, 1, (M, K) if turned else (K, M)).astype(np.float32)
    tensor = stored(tmp_path, dtype, matrix)
    whole = tensor.read().T if turned else tensor.read()
    sizes: list[int] = []

    def read(index: Index) -> Array:
        part = tensor.read(index, (lambda array: array.T) if turned else None)
        sizes.append(part.size)
        return part

    x = operand(random.normal(0, 1, (2, 5, K)).astype(np.float32), "x", "BNK")
    b = operand(random.normal(0, 1, M).astype(np.float32), "b", "M")
    inputs = (x, operand(whole, "w", "KM", read), b)
    shown = Linear().run(inputs, lambda some: some.value)
    expected = x.value.astype(np.float64) @ whole.astype(np.float64) + b.value
    assert shown.dtype == np.float32
    assert np.abs(shown - expected).max() <= 2e-5 * np.abs(expected).max()
    assert len(sizes) > 3
    assert sum(sizes) == K * M
    assert max(sizes) < K * M / 3
    assert (Linear().run(inputs, lambda some: some.value) == shown).all()


WALK = """
import json, resource, sys
from engine.model import load

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

trace = load(sys.argv[1]).trace(ids=[1, 2, 3])
trace["embedding"].value
before = peak()
total = float(trace["logits"].value.sum())
print(json.dumps([total, peak() - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted differently elsewhere")
def test_a_layer_is_never_whole_in_memory(tmp_path: Path) -> None:
    width, inner, vocabulary = 2048, 8192, 32000
    shapes: dict[str, tuple[int, ...]] = {
        "embed_tokens": (vocabulary, width),
        "layers.0.input_layernorm": (width,),
        **{f"layers.0.self_attn.{letter}_proj": (width, width) for letter in "qkvo"},
        "layers.0.post_attention_layernorm": (width,),
        "layers.0.mlp.gate_proj": (inner, width),
        "layers.0.mlp.up_proj": (inner, width),
        "layers.0.mlp.down_proj": (width, inner),
        "norm": (width,),
    }
    size = sum(2 * int(np.prod(shape)) for shape in shapes.values())
    tensors = {f"model.{name}.weight": ("BF16", shape, b"") for name, shape in shapes.items()}
    write_tensors(tmp_path / "model.safetensors", tensors)
    sizes = {"hidden_size": width, "intermediate_size": inner, "vocab_size": vocabulary, "num_hidden_layers": 1}
    config = CONFIG | sizes | {"num_attention_heads": 16, "num_key_value_heads": 16, "tie_word_embeddings": True}
    (tmp_path / "config.json").write_text(json.dumps(config))
    command = [sys.executable, "-c", WALK, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    total, grown = json.loads(done.stdout)
    assert total == 0
    # As float32 it would be twice its size in the file, and the pages of the file are memory as well.
    assert grown < 128 * MEGABYTE < size
