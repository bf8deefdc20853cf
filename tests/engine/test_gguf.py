"""GGUF files: every family agrees with the Hub format of the same numbers, and no hostile file gets far."""

from __future__ import annotations

import itertools
import json
import struct
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gguf
import gguf.quants
import numpy as np
import pytest
from safetensors.numpy import load_file

from engine.checkpoints.gguf_blocks import QUANTIZED, BlockTensor
from engine.checkpoints.gguf_parts import open_gguf
from engine.errors import FileError
from engine.model import load
from tests.engine.gguf_files import Checkpoint, Kind, assert_alike, refused
from tests.engine.references import assert_same

FAMILIES = ("llama", "qwen2", "qwen3", "gpt2", "gemma2")


@pytest.mark.parametrize("kind", [Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0], ids=lambda kind: kind.name)
@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_the_hubs_format_of_the_same_numbers(
    family: str, kind: Kind, oracles: Path, tmp_path: Path
) -> None:
    checkpoint = Checkpoint.like(oracles / family)
    model = load(checkpoint.write(tmp_path / "tiny.gguf", kind))
    assert (model.name, model.folder, model.spec.family) == ("tiny.gguf", tmp_path, family)
    assert_alike(model, load(checkpoint.rounded(kind).save(tmp_path / "hub")))


@pytest.mark.parametrize("kind", [Kind.Q4_1, Kind.Q5_0, Kind.Q5_1], ids=lambda kind: kind.name)
def test_other_blocks_of_32(kind: Kind, oracles: Path, tmp_path: Path) -> None:
    checkpoint = Checkpoint.like(oracles / "qwen2")
    path = tmp_path / "tiny.gguf"
    assert_alike(load(checkpoint.write(path, kind)), load(checkpoint.rounded(kind).save(tmp_path / "hub")))


BLOCKS = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "IQ2_XXS", "IQ2_S", "IQ3_S", "TQ2_0")


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_256(name: str, oracles: Path, tmp_path: Path) -> None:
    kind = getattr(Kind, name)
    checkpoint, stored = Checkpoint.like(oracles / "llama", 8).in_blocks(lambda _: kind)
    model = load(checkpoint.write(tmp_path / "tiny.gguf", stored=stored))
    assert {tensor.dtype for tensor in open_gguf(tmp_path / "tiny.gguf").tensors.values()} == {"F32", name}
    assert_alike(model, load(checkpoint.save(tmp_path / "hub")))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_mixture_as_llama_quantize_makes_it(family: str, oracles: Path, tmp_path: Path) -> None:
    """Q4_K_M: most in four bits, what matters more in six."""

    def kind(name: str) -> Kind:
        precious = ("v_proj.weight", "down_proj.weight", "c_attn.weight", "mlp.c_proj.weight", "embed_tokens.weight")
        return Kind.Q6_K if name.endswith(precious) else Kind.Q5_K if "wpe" in name else Kind.Q4_K

    checkpoint, stored = Checkpoint.like(oracles / family, 8).in_blocks(kind)
    model = load(checkpoint.write(tmp_path / "tiny.gguf", stored=stored))
    assert_alike(model, load(checkpoint.save(tmp_path / "hub")))


def test_reference_run_in_float32(oracles: Path, tmp_path: Path) -> None:
    """The numbers that transformers computed, from a file that was converted."""
    config = json.loads((oracles / "llama" / "config.json").read_text("utf-8"))
    model = load(Checkpoint(config, load_file(oracles / "llama" / "model.safetensors")).write(tmp_path / "a.gguf"))
    with np.load(oracles / "llama" / "expected.npz") as file:
        trace = model.trace(ids=file["input_ids"], attention_mask=file["attention_mask"])
        assert_same(trace["logits"].value, file["logits"], file["attention_mask"][:, :, None] != 0)


def test_llamas_biases_are_permuted_too(oracles: Path, tmp_path: Path) -> None:
    plain = Checkpoint.like(oracles / "llama", attention_bias=True)
    random = np.random.default_rng(3)
    biases = {
        f"model.layers.{layer}.self_attn.{part}_proj.bias": random.standard_normal(size).astype(np.float32)
        for layer in range(3)
        for part, size in {"q": 32, "k": 16, "v": 16, "o": 32}.items()
    }
    checkpoint = Checkpoint(plain.config, plain.tensors | biases)
    assert_alike(load(checkpoint.write(tmp_path / "a.gguf")), load(checkpoint.save(tmp_path / "hub")))


def test_llama3s_frequencies_are_divided_by_the_files_factors(oracles: Path, tmp_path: Path) -> None:
    scaling = {
        "rope_type": "llama3",
        "rope_theta": 10_000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    checkpoint = Checkpoint.like(oracles / "llama", rope_parameters=scaling)
    factors = []
    for power in range(0, 8, 2):
        wavelength = 2 * np.pi * 10_000.0 ** (power / 8)
        smooth = (32 / wavelength - 1) / 3
        blended = 1 / ((1 - smooth) / 8 + smooth)
        factors.append(1.0 if wavelength < 32 / 4 else 8.0 if wavelength > 32 else blended)
    extra = {"rope_freqs.weight": np.array(factors, np.float32)}
    assert_alike(load(checkpoint.write(tmp_path / "a.gguf", extra=extra)), load(checkpoint.save(tmp_path / "hub")))
    wrong = {"rope_freqs.weight": np.array([1, 2, 0, 4], np.float32)}
    refused(checkpoint.write(tmp_path / "b.gguf", extra=wrong), "gguf-rope-factors")


@pytest.mark.parametrize("kind", ["linear", "yarn"])
def test_scaled_positions(kind: str, oracles: Path, tmp_path: Path) -> None:
    scaling = {"rope_type": kind, "rope_theta": 10_000.0, "factor": 4.0}
    if kind == "yarn":
        scaling["original_max_position_embeddings"] = 16

    def add(writer: gguf.GGUFWriter) -> None:
        writer.add_string("qwen2.rope.scaling.type", kind)
        writer.add_float32("qwen2.rope.scaling.factor", 4.0)
        if kind == "yarn":
            writer.add_uint32("qwen2.rope.scaling.original_context_length", 16)

    checkpoint = Checkpoint.like(oracles / "qwen2", rope_parameters=scaling)
    assert_alike(load(checkpoint.write(tmp_path / "a.gguf", add=add)), load(checkpoint.save(tmp_path / "hub")))


def test_a_head_of_its_own_and_one_that_is_the_embedding(oracles: Path, tmp_path: Path) -> None:
    checkpoint = Checkpoint.like(oracles / "llama")
    assert not load(checkpoint.write(tmp_path / "own.gguf")).spec.tied
    del checkpoint.tensors["lm_head.weight"]
    assert load(checkpoint.write(tmp_path / "tied.gguf")).spec.tied


# --- reading parts -----------------------------------------------------------------------------------------------


def tensors(tmp_path: Path, kind: Kind) -> tuple[BlockTensor, Any]:
    numbers = np.random.default_rng(5).standard_normal((6, 96)).astype(np.float32)
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    stored = gguf.quants.quantize(numbers, kind)
    writer.add_tensor("a", stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return open_gguf(tmp_path / "a.gguf").tensors["a"], gguf.quants.dequantize(stored, kind)


INDICES: list[tuple[Any, ...]] = [
    (),
    (2,),
    (-1, 3),
    (slice(1, 3),),
    (slice(None), 3),
    (slice(None), slice(1, 3)),
    (3, slice(None, None, 2)),
    (slice(None), slice(None, None, -1)),
    (np.array([[1, 2], [0, 3]]),),
    (slice(None), np.array([3, 1])),
    (np.array([3, 1]), np.array([2, 0])),
    (slice(0, 0),),
    (slice(None), slice(0, 0)),
]


@pytest.mark.parametrize("kind", [Kind.F32, Kind.F16, Kind.Q8_0, Kind.Q4_0], ids=lambda kind: kind.name)
@pytest.mark.parametrize("is_ordered", [False, True])
@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[2:6].T], ids=["plain", "turned", "cut"])
def test_every_part_is_that_of_the_whole(
    kind: Kind, is_ordered: bool, view: Callable[[Any], Any], tmp_path: Path
) -> None:
    tensor, whole = tensors(tmp_path, kind)
    order = np.array([4, 0, 5, 1, 2, 3])
    if is_ordered:
        tensor, whole = tensor.ordered(order), whole[order]
    for index in INDICES:
        read = tensor.read(index, view)
        assert read.dtype == np.float32
        assert not read.flags.writeable
        np.testing.assert_array_equal(read, view(whole)[index], err_msg=str(index))
    with pytest.raises(IndexError):
        tensor.read((100,), view)


def test_only_the_blocks_that_are_looked_at_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, _ = tensors(tmp_path, Kind.Q8_0)
    sizes = []
    decode = gguf.quants.dequantize

    def counted(data: Any, kind: Kind) -> Any:
        sizes.append(data.size)
        return decode(data, kind)

    monkeypatch.setattr(gguf.quants, "dequantize", counted)
    tensor.read((2, 40))
    tensor.read((slice(1, 3),))
    tensor.read((slice(None), 4), lambda stored: stored.T)
    assert sizes == [34, 2 * 3 * 34, 3 * 34]


def test_the_header_says_what_the_package_reads(oracles: Path, tmp_path: Path) -> None:
    path = Checkpoint.like(oracles / "gemma2").write(tmp_path / "a.gguf", Kind.Q4_0)
    ours, theirs = open_gguf(path), gguf.GGUFReader(path)
    assert set(ours.tensors) == {tensor.name for tensor in theirs.tensors}
    for tensor in theirs.tensors:
        own = ours.tensors[tensor.name]
        assert own.shape == tuple(reversed(tensor.shape.tolist()))
        assert own.dtype == tensor.tensor_type.name
        np.testing.assert_array_equal(own.read(), gguf.quants.dequantize(tensor.data, tensor.tensor_type))
    for key, value in ours.metadata.items():
        field = theirs.get_field(key)
        assert field is not None
        assert value == pytest.approx(field.contents()) if isinstance(value, float) else value == field.contents()


# --- what does not fit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "value", "key"),
    [
        ("llama.expert_count", 8, "config-value"),
        ("llama.logit_scale", 2, "config-unknown-key"),
        ("llama.attention.clamp_kqv", 3, "config-unknown-key"),
        ("qwen2.block_count", 3, "config-unknown-key"),
        ("general.quantization_version", 1, "config-value"),
        ("llama.attention.sliding_window", 4, "config-unknown-key"),
    ],
)
def test_an_entry_that_changes_numbers(entry: str, value: int, key: str, oracles: Path, tmp_path: Path) -> None:
    def add(writer: gguf.GGUFWriter) -> None:
        writer.kv_data[0].pop(entry, None)
        writer.add_uint32(entry, value)

    refused(Checkpoint.like(oracles / "llama").write(tmp_path / "a.gguf", add=add), key, entry)


@pytest.mark.parametrize(
    "entry", ["block_count", "embedding_length", "context_length", "attention.layer_norm_rms_epsilon"]
)
def test_an_entry_that_is_missing(entry: str, oracles: Path, tmp_path: Path) -> None:
    path = Checkpoint.like(oracles / "llama").write(tmp_path / "a.gguf", left_out=(entry,))
    refused(path, "config-missing-key", f"llama.{entry}")


def test_sizes_that_are_not_the_tensors(oracles: Path, tmp_path: Path) -> None:
    checkpoint = Checkpoint.like(oracles / "llama")
    checkpoint.config["vocab_size"] = 1 << 23
    refused(checkpoint.write(tmp_path / "a.gguf"), "tensor-shape", "its metadata")


def test_tensors_that_are_missing_or_left_over(oracles: Path, tmp_path: Path) -> None:
    checkpoint = Checkpoint.like(oracles / "qwen2")
    extra = {"rope_freqs.weight": np.ones(4, np.float32)}
    refused(checkpoint.write(tmp_path / "a.gguf", extra=extra), "tensor-unused", "rope_freqs.weight")
    del checkpoint.tensors["model.layers.1.mlp.up_proj.weight"]
    refused(checkpoint.write(tmp_path / "b.gguf"), "tensor-missing", "blk.1.ffn_up.weight")


def test_an_architecture_that_is_not_read(tmp_path: Path) -> None:
    path = made(tmp_path, entries=[text_entry("general.architecture", "mamba")])
    refused(path, "gguf-architecture", "mamba", "gemma2")
    refused(made(tmp_path), "gguf-architecture")


# --- hostile files -------------------------------------------------------------------------------------------------


def text(value: str | bytes, length: int | None = None) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data) if length is None else length) + data


def text_entry(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", 8) + text(value)


def tensor_info(
    name: str = "a", shape: tuple[int, ...] = (4,), kind: int = 0, offset: int = 0, count: int | None = None
) -> bytes:
    dimensions = struct.pack("<I", len(shape) if count is None else count) + struct.pack(f"<{len(shape)}Q", *shape)
    return text(name) + dimensions + struct.pack("<IQ", kind, offset)


def made(
    folder: Path,
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    entries: list[bytes] | None = None,
    infos: list[bytes] | None = None,
    counts: tuple[int, int] | None = None,
    data: bytes = b"\0" * 64,
) -> Path:
    entries, infos = entries or [], infos or []
    head = struct.pack("<IQQ", version, *(counts or (len(infos), len(entries))))
    body = magic + head + b"".join(entries) + b"".join(infos)
    path = folder / "hostile.gguf"
    path.write_bytes(body + b"\0" * (-len(body) % 32) + data)
    return path


HUGE = (1 << 64) - 1
ITEMS = struct.pack("<I", 9)

HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "magic": ({"magic": b"GGML"}, "gguf-magic"),
    "version 1": ({"version": 1}, "gguf-version"),
    "version 4": ({"version": 4}, "gguf-version"),
    "big-endian": ({"version": 3 << 24}, "gguf-big-endian"),
    "tensor count": ({"counts": (HUGE, 0)}, "gguf-tensor-count"),
    "entry count": ({"counts": (0, HUGE)}, "gguf-entry-count"),
    "more tensors than there are": ({"counts": (1000, 0)}, "gguf-name"),
    "more entries than there are": ({"counts": (0, 1000)}, "gguf-name"),
    "key length": ({"entries": [text("a", HUGE)]}, "gguf-text-long"),
    "key beyond the file": ({"entries": [text("a", 500)]}, "header-cut-off"),
    "empty key": ({"entries": [text("") + struct.pack("<II", 4, 0)]}, "gguf-name"),
    "key not UTF-8": ({"entries": [text(b"\xff") + struct.pack("<II", 4, 0)]}, "gguf-name"),
    "value length": ({"entries": [text("a") + struct.pack("<I", 8) + text("b", HUGE)]}, "gguf-text-long"),
    "value beyond the file": ({"entries": [text("a") + struct.pack("<I", 8) + text("b", 1 << 20)]}, "header-cut-off"),
    "kind of value": ({"entries": [text("a") + struct.pack("<II", 77, 0)]}, "gguf-entry-kind"),
    "kind of item": ({"entries": [text("a") + ITEMS + struct.pack("<IQ", 77, 1)]}, "gguf-entry-kind"),
    "lists in lists": ({"entries": [text("a") + ITEMS + struct.pack("<IQ", 9, 1) * 50]}, "gguf-entry-kind"),
    "list length": ({"entries": [text("a") + ITEMS + struct.pack("<IQ", 4, HUGE)]}, "gguf-entry-long"),
    "list beyond the file": ({"entries": [text("a") + ITEMS + struct.pack("<IQ", 12, 1 << 20)]}, "header-cut-off"),
    "texts beyond the file": ({"entries": [text("a") + ITEMS + struct.pack("<IQ", 8, 1 << 20)]}, "header-cut-off"),
    "entry twice": ({"entries": [text_entry("a", "b")] * 2}, "gguf-entry-twice"),
    "alignment 0": ({"entries": [text("general.alignment") + struct.pack("<II", 4, 0)]}, "gguf-alignment"),
    "alignment 48": ({"entries": [text("general.alignment") + struct.pack("<II", 4, 48)]}, "gguf-alignment"),
    "alignment huge": ({"entries": [text("general.alignment") + struct.pack("<IQ", 10, 1 << 63)]}, "gguf-alignment"),
    "alignment a text": ({"entries": [text_entry("general.alignment", "32")]}, "gguf-alignment"),
    "tensor twice": ({"infos": [tensor_info(), tensor_info(offset=32)]}, "tensor-twice"),
    "tensor name length": ({"infos": [text("a", 1 << 40)]}, "gguf-text-long"),
    "no dimensions": ({"infos": [tensor_info(shape=())]}, "tensor-dimensions"),
    "many dimensions": ({"infos": [tensor_info(shape=(1,) * 5)]}, "tensor-dimensions"),
    "dimension count": ({"infos": [tensor_info(count=0xFFFFFFFF)]}, "tensor-dimensions"),
    "a size of 0": ({"infos": [tensor_info(shape=(0, 1 << 63))]}, "tensor-shape-impossible"),
    "product overflows": ({"infos": [tensor_info(shape=(1 << 32, 1 << 32, 1))]}, "tensor-shape-impossible"),
    "product wraps to 4": ({"infos": [tensor_info(shape=((1 << 62) + 1, 4))]}, "tensor-shape-impossible"),
    "larger than the file": ({"infos": [tensor_info(shape=(1 << 30,))]}, "gguf-data-cut-off"),
    "offset out of the file": ({"infos": [tensor_info(offset=1 << 40)]}, "gguf-offset"),
    "offset wraps": ({"infos": [tensor_info(offset=HUGE)]}, "gguf-offset"),
    "shared bytes": ({"infos": [tensor_info(), tensor_info("b")]}, "gguf-offset"),
    "whole numbers": ({"infos": [tensor_info(kind=26)]}, "tensor-dtype"),
    "Q8_K": ({"infos": [tensor_info(shape=(256,), kind=15)]}, "tensor-dtype"),
    "unknown kind of numbers": ({"infos": [tensor_info(kind=999)]}, "tensor-dtype"),
    "half a block": ({"infos": [tensor_info(shape=(48,), kind=2)]}, "gguf-blocks"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file(case: str, tmp_path: Path) -> None:
    given, key = HOSTILE[case]
    path = made(tmp_path, **given)
    tracemalloc.start()
    try:
        refused(path, key)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_the_unsupported_kind_is_named(tmp_path: Path) -> None:
    refused(made(tmp_path, infos=[tensor_info(shape=(256,), kind=15)]), "tensor-dtype", "Q8_K")


def test_a_file_cut_off_anywhere(oracles: Path, tmp_path: Path) -> None:
    path = Checkpoint.like(oracles / "llama").write(tmp_path / "a.gguf", Kind.Q4_0)
    data = path.read_bytes()
    for length in itertools.chain(range(0, 3000, 37), range(3000, len(data) - 40, 4001)):
        path.write_bytes(data[:length])
        assert refused(path).key in ("gguf-magic", "header-cut-off", "gguf-data-cut-off")


def test_a_file_with_any_byte_changed_is_read_or_refused(oracles: Path, tmp_path: Path) -> None:
    path = Checkpoint.like(oracles / "llama").write(tmp_path / "a.gguf", Kind.Q8_0)
    data = bytearray(path.read_bytes())
    random = np.random.default_rng(1)
    for _ in range(300):
        changed = bytearray(data)
        changed[int(random.integers(3000))] = int(random.integers(256))
        path.write_bytes(changed)
        with suppress(FileError):
            load(path)


def test_a_header_longer_than_is_read(tmp_path: Path) -> None:
    entries = [text(f"{number}") + ITEMS + struct.pack("<IQ", 12, 1 << 20) for number in range(6)]
    path = tmp_path / "a.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)))
        for entry in entries:
            file.write(entry)
            file.seek(8 << 20, 1)
        file.truncate(1 << 30)
    refused(path, "gguf-header-long")


def test_what_is_no_file(tmp_path: Path) -> None:
    refused(tmp_path / "none.gguf", "file-missing")
    (tmp_path / "folder.gguf").mkdir()
    refused(tmp_path / "folder.gguf", "config-missing")
    (tmp_path / "empty.gguf").write_bytes(b"")
    refused(tmp_path / "empty.gguf", "gguf-magic")


def test_without_the_package(oracles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Checkpoint.like(oracles / "llama").write(tmp_path / "a.gguf")
    monkeypatch.setitem(sys.modules, "gguf", None)
    refused(path, "gguf-missing", "pip install gguf")


def test_every_kind_that_is_said_to_be_read_is_read(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    for name in QUANTIZED:
        kind = next(kind for kind in Kind if kind.name == name)
        block, width = gguf.GGML_QUANT_SIZES[kind]
        data = random.integers(0, 128, 3 * 2 * width, np.uint8).tobytes()
        path = made(tmp_path, infos=[tensor_info(shape=(2 * block, 3), kind=int(kind))], data=data)
        tensor = open_gguf(path).tensors["a"]
        whole = tensor.read()
        assert whole.shape == (3, 2 * block)
        np.testing.assert_array_equal(tensor.read((1, slice(block, None))), whole[1, block:])
