"""GGUF files give what llama.cpp gives for them: its token ids, its numbers, its logits."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from engine.checkpoints.gguf_blocks import QUANTIZED
from engine.checkpoints.gguf_cuts import CUTS
from engine.checkpoints.gguf_parts import open_gguf
from engine.model import load
from tests.engine.llamacpp import FIXTURES, IDS, models, with_pieces
from tests.engine.references import ROUNDING

MADE = FIXTURES / "llamacpp"
# llama.cpp looks GELU up in a table of half-precision numbers.
TABLE = 1e-3


@cache
def archive(name: str) -> dict[str, NDArray[Any]]:
    with np.load(MADE / name) as file:
        return dict(file)


@cache
def tokens() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MADE / "tokens.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", models())
def test_logits(name: str, tmp_path: Path) -> None:
    trace = load(models()[name](tmp_path / "tiny.gguf")).trace(ids=[IDS])
    shown, expected = trace["probabilities"].inputs[0].value[0], archive("logits.npz")[name]
    assert shown.shape == expected.shape
    rounding = TABLE if name in ("gpt2", "gemma2") else ROUNDING
    assert np.abs(shown - expected).max() <= rounding * np.abs(expected).max()


@pytest.mark.parametrize("pre", CUTS)
def test_texts_are_cut_up_alike(pre: str, tmp_path: Path) -> None:
    made = tokens()
    expected = made["expected"][pre]
    expected = made["expected"][expected] if isinstance(expected, str) else expected
    tokenizer = load(with_pieces(tmp_path / "tiny.gguf", made["pieces"], made["merges"], pre)).tokenizer
    assert len(expected) > 25
    for number, ids in expected.items():
        text = made["texts"][int(number)]
        assert tokenizer.encode(text) == ids, text
        assert tokenizer.written(ids) == text


def test_files_that_name_no_way_of_cutting_up(tmp_path: Path) -> None:
    """From before there were names: all of this architecture had one."""
    made = tokens()
    tokenizer = load(with_pieces(tmp_path / "tiny.gguf", made["pieces"], made["merges"], None)).tokenizer
    for number, ids in made["expected"]["qwen2"].items():
        assert tokenizer.encode(made["texts"][int(number)]) == ids


@pytest.mark.parametrize("kind", QUANTIZED)
def test_blocks(kind: str, tmp_path: Path) -> None:
    stored, numbers = (archive("blocks.npz")[f"{kind}.{part}"] for part in ("stored", "numbers"))
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tensor("a", stored, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensor = open_gguf(tmp_path / "a.gguf").tensors["a"]
    assert (tensor.dtype, tensor.shape) == (kind, numbers.shape)
    np.testing.assert_allclose(tensor.read(), numbers, rtol=1e-6, atol=0)
    np.testing.assert_array_equal(tensor.read((1, slice(70, 90))), tensor.read()[1, 70:90])
