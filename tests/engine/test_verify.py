"""Comparing a model with a reference file: what agrees, what does not, and files that are none."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import engine.verify
from engine.checkpoints.references import NUMBER_LIMIT
from engine.errors import FileError, InputError
from engine.model import Model, load
from engine.verify import Check, verified_beside, verify

Arrays = dict[str, NDArray[Any]]

FAMILIES = {
    "gpt2": ["hidden", "attention", "logits"],
    "gpt-neo": ["hidden", "attention", "logits"],
    "phi": ["hidden", "attention", "logits"],
    "gemma2": ["hidden", "attention", "logits"],
    "qwen2-bf16-shards": ["hidden", "attention", "logits"],
    "bert-model": ["hidden", "attention", "pooler"],
    "bert-pretraining": ["hidden", "attention", "logits", "pooler"],
    "marian": ["hidden", "decoder_hidden", "attention", "decoder_attention", "cross_attention", "logits"],
}


def test_readme_says_what_the_arrays_of_an_encoder_decoder_are_called() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    for name in ("decoder_input_ids", *engine.verify.STREAMS, *engine.verify.ATTENTIONS):
        assert f'"{name}"' in readme


@pytest.fixture
def reference(sample: Model) -> Arrays:
    """What the reference of the sample holds."""
    with np.load(sample.folder / "expected.npz") as file:
        return dict(file)


@pytest.fixture
def checked(sample: Model, tmp_path: Path) -> Callable[[Arrays], list[Check]]:
    """Verifies the sample against arrays written to a file."""

    def run(arrays: Arrays) -> list[Check]:
        named: dict[str, Any] = arrays
        np.savez_compressed(tmp_path / "expected.npz", **named)
        return verify(sample, tmp_path / "expected.npz")

    return run


def differing(checks: list[Check]) -> dict[str, list[str]]:
    """The stages that differ, by family."""
    return {
        check.family: [comparison.stage for comparison in check.comparisons if not comparison.agrees]
        for check in checks
        if not check.agrees
    }


def test_the_sample_agrees(sample: Model) -> None:
    checks = verify(sample, sample.folder / "expected.npz")
    assert [(check.family, len(check.comparisons)) for check in checks] == [
        ("hidden", 3),
        ("attention", 2),
        ("logits", 1),
    ]
    assert all(check.agrees for check in checks)
    assert all(0 < check.worst.gap <= check.worst.tolerance for check in checks)
    assert [comparison.stage for comparison in checks[0].comparisons] == [
        "embedding",
        "layers.0.mlp.residual",
        "norm",
    ]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_agrees(name: str, oracles: Path) -> None:
    checks = verify(load(oracles / name), oracles / name / "expected.npz")
    assert [check.family for check in checks] == FAMILIES[name]
    assert differing(checks) == {}
    with np.load(oracles / name / "expected.npz") as file:
        inputs = set(file) & {"input_ids", "attention_mask", "token_type_ids", "decoder_input_ids"}
        assert sum(len(check.comparisons) for check in checks) == len(set(file) - inputs)


def test_a_changed_weight_is_caught(sample: Model, tmp_path: Path) -> None:
    folder = shutil.copytree(sample.folder, tmp_path / "changed")
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.1.self_attn.q_proj.weight"][3, 5] += 0.25
    save_file(weights, folder / "model.safetensors")
    changed = load(folder)
    assert differing(verify(changed, folder / "expected.npz")) == {
        "hidden": ["norm"],
        "attention": ["layers.1.attention.weights"],
        "logits": ["logits"],
    }
    assert verified_beside(changed) is False


def test_a_changed_number_is_caught(reference: Arrays, checked: Callable[[Arrays], list[Check]]) -> None:
    reference["attention_1"][0, 1, 2, 0] += 1e-4
    checks = checked(reference)
    assert differing(checks) == {"attention": ["layers.1.attention.weights"]}
    assert checks[1].worst.gap == pytest.approx(1e-4, rel=0.1)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_no_number_agrees_with_what_is_none(
    reference: Arrays, checked: Callable[[Arrays], list[Check]], number: float
) -> None:
    reference["hidden_1"][0, 0, 0] = number
    assert differing(checked(reference)) == {"hidden": ["layers.0.mlp.residual"]}


def test_rows_of_padding_are_left_out(oracles: Path, tmp_path: Path) -> None:
    with np.load(oracles / "bert" / "expected.npz") as file:
        reference: dict[str, Any] = dict(file)
    padding = reference["attention_mask"] == 0
    assert padding.any()
    reference["hidden_2"][padding] = 7.0
    reference["logits"][padding] = np.nan
    np.savez(tmp_path / "expected.npz", **reference)
    assert differing(verify(load(oracles / "bert"), tmp_path / "expected.npz")) == {}
    reference["hidden_2"][~padding] += 1.0
    np.savez(tmp_path / "expected.npz", **reference)
    checks = verify(load(oracles / "bert"), tmp_path / "expected.npz")
    assert differing(checks) == {"hidden": ["layers.1.mlp.residual_norm"]}


def test_a_reference_may_hold_less(reference: Arrays, checked: Callable[[Arrays], list[Check]]) -> None:
    checks = checked({name: reference[name] for name in ("input_ids", "hidden_1")})
    assert [comparison.stage for comparison in checks[0].comparisons] == ["layers.0.mlp.residual"]


def test_other_kinds_of_numbers(reference: Arrays, checked: Callable[[Arrays], list[Check]]) -> None:
    reference["input_ids"] = reference["input_ids"].astype(np.int32)
    reference["attention_mask"] = reference["attention_mask"].astype(np.bool_)
    reference["logits"] = reference["logits"].astype(np.float64)
    reference["hidden_0"] = np.asfortranarray(reference["hidden_0"])
    assert differing(checked(reference)) == {}


def without(name: str) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (without("input_ids"), "reference-no-ids"),
        (lambda arrays: {"input_ids": arrays["input_ids"]}, "reference-empty"),
        (lambda arrays: arrays | {"hidden_9": arrays["hidden_0"]}, "reference-unknown"),
        (lambda arrays: arrays | {"attention": arrays["hidden_0"]}, "reference-unknown"),
        (lambda arrays: arrays | {"cross_attention_0": arrays["attention_0"]}, "reference-unknown"),
        (lambda arrays: arrays | {"past_key_values": arrays["hidden_0"]}, "reference-unknown"),
        (lambda arrays: arrays | {"hidden_0": arrays["hidden_0"][:, :-1]}, "reference-shape"),
        (lambda arrays: arrays | {"hidden_0": arrays["hidden_0"][0]}, "reference-shape"),
        (lambda arrays: arrays | {"hidden_0": np.zeros((0, 4, 64), np.float32)}, "reference-shape"),
        (lambda arrays: arrays | {"logits": np.float32(1)}, "reference-shape"),
        (lambda arrays: arrays | {"input_ids": arrays["input_ids"].astype(np.float32)}, "reference-inputs"),
        (lambda arrays: arrays | {"input_ids": np.zeros((1, 1 << 20), np.int8)}, "reference-inputs"),
        (lambda arrays: arrays | {"hidden_0": arrays["hidden_0"].astype(np.complex64)}, "npz-dtype"),
        (lambda arrays: arrays | {"hidden_0": np.array(["a"])}, "npz-dtype"),
        (lambda arrays: arrays | {"hidden_0": np.zeros(1, "V8")}, "npz-dtype"),
        (lambda arrays: arrays | {"hidden_0": np.array([print], object)}, "npz-dtype"),
        (lambda arrays: arrays | {"hidden_0": np.zeros(1, [("a", "<f4")])}, "npz-dtype"),
    ],
)
def test_references_of_something_else(
    reference: Arrays, checked: Callable[[Arrays], list[Check]], change: Callable[[Arrays], Arrays], key: str
) -> None:
    with pytest.raises(FileError) as raised:
        checked(change(reference))
    assert raised.value.key == key
    assert "expected.npz" in str(raised.value)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda ids: ids + 5000, "unknown-id"),
        (lambda ids: ids - 5000, "unknown-id"),
        (lambda ids: ids[None], "ids-shape"),
        (lambda ids: ids[:, :0], "empty-text"),
        (lambda ids: np.zeros((1, 2000), np.int64), "text-too-long"),
    ],
)
def test_ids_of_something_else(
    reference: Arrays, checked: Callable[[Arrays], list[Check]], change: Callable[[NDArray[Any]], Any], key: str
) -> None:
    reference = {"input_ids": change(reference["input_ids"]), "hidden_0": reference["hidden_0"]}
    with pytest.raises(InputError) as raised:
        checked(reference)
    assert raised.value.key == key


def array_bytes(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """A .npy file with any header."""
    text = header.encode("latin1")
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version[0] == 1 else 4, "little") + text + data


def header(shape: object, dtype: str = "<f4") -> str:
    return f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n"


def zipped(path: Path, *members: tuple[str, bytes], kind: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in members:
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("members", "key"),
    [
        ([("readme.txt", b"")], "npz-unsound"),
        ([("input_ids.npy", b"")], "npz-unsound"),
        ([("input_ids.npy", b"\x80\x04\x95.")], "npz-unsound"),
        ([("input_ids.npy", array_bytes("{"))], "npz-unsound"),
        ([("input_ids.npy", array_bytes("()" * 6000))], "npz-unsound"),
        ([("input_ids.npy", array_bytes("[" * 9000))], "npz-unsound"),
        ([("input_ids.npy", array_bytes(header("9" * 5000)))], "npz-unsound"),
        ([("input_ids.npy", array_bytes(header("'a'")))], "npz-unsound"),
        ([("input_ids.npy", array_bytes(header((3,)), b"\0" * 12, b"\x03\x00"))], "npz-unsound"),
        ([("input_ids.npy", array_bytes(header((3,)), b"\0" * 8))], "npz-shape"),
        ([("input_ids.npy", array_bytes(header((3,)), b"\0" * 16))], "npz-shape"),
        ([("input_ids.npy", array_bytes(header((-1, -3)), b"\0" * 12))], "npz-shape"),
        ([("input_ids.npy", array_bytes(header((1 << 62, 0))))], "npz-shape"),
        ([("input_ids.npy", array_bytes(header((1 << 40, 1 << 40))))], "npz-shape"),
        ([("a.npy", array_bytes(header((1,)), b"\0" * 4)), ("a", array_bytes(header((1,)), b"\0" * 4))], "npz-unsound"),
    ],
)
def test_archives_of_something_else(sample: Model, tmp_path: Path, members: list[tuple[str, bytes]], key: str) -> None:
    zipped(tmp_path / "expected.npz", *members)
    with pytest.raises(FileError) as raised:
        verify(sample, tmp_path / "expected.npz")
    assert raised.value.key == key
    assert len(str(raised.value)) < 500 + len(str(tmp_path))


def test_an_array_that_stands_twice(sample: Model, tmp_path: Path) -> None:
    data = array_bytes(header((1,)), b"\0" * 4)
    with pytest.warns(UserWarning, match="Duplicate"):
        zipped(tmp_path / "expected.npz", ("a.npy", data), ("a.npy", data))
    with pytest.raises(FileError, match="twice"):
        verify(sample, tmp_path / "expected.npz")


def test_a_small_file_that_unpacks_to_much(sample: Model, tmp_path: Path) -> None:
    count = NUMBER_LIMIT + 1
    with (
        zipfile.ZipFile(tmp_path / "expected.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("hidden_0.npy", "w", force_zip64=True) as member,
    ):
        member.write(array_bytes(header((count,), "|i1")))
        zeros = bytes(1 << 24)
        for start in range(0, count, len(zeros)):
            member.write(zeros[: count - start])
    assert (tmp_path / "expected.npz").stat().st_size < 1 << 20
    with pytest.raises(FileError, match="or too much"):
        verify(sample, tmp_path / "expected.npz")


def test_a_list_of_contents_without_end(sample: Model, tmp_path: Path) -> None:
    data = array_bytes(header((1,)), b"\0" * 4)
    zipped(tmp_path / "expected.npz", *((f"hidden_{number}.npy", data) for number in range(20_000)))
    with pytest.raises(FileError) as raised:
        verify(sample, tmp_path / "expected.npz")
    assert raised.value.key == "npz-too-large"


@pytest.mark.parametrize("kept", [0, 1, 30, 1000, -1, -23])
def test_a_file_that_is_cut_off(sample: Model, tmp_path: Path, kept: int) -> None:
    data = (sample.folder / "expected.npz").read_bytes()
    (tmp_path / "expected.npz").write_bytes(data[:kept])
    with pytest.raises(FileError) as raised:
        verify(sample, tmp_path / "expected.npz")
    assert raised.value.key == "npz-unsound"


def test_damage_inside(sample: Model, reference: Arrays, tmp_path: Path) -> None:
    packed = io.BytesIO()
    named: dict[str, Any] = reference
    np.savez(packed, **named)
    data = bytearray(packed.getvalue())
    data[data.index(reference["logits"].tobytes()[:16])] ^= 0xFF
    (tmp_path / "expected.npz").write_bytes(data)
    with pytest.raises(FileError) as raised:
        verify(sample, tmp_path / "expected.npz")
    assert raised.value.key == "npz-unsound"


def test_files_that_are_none(sample: Model, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    expected = {"missing": "file-missing", ".": "file-is-folder", "pipe": "file-not-ordinary"}
    for name, key in expected.items():
        with pytest.raises(FileError) as raised:
            verify(sample, tmp_path / name)
        assert raised.value.key == key


def test_verified_beside_the_weights(sample: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verified_beside(sample) is True
    folder = shutil.copytree(sample.folder, tmp_path / "copy")
    (folder / "expected.npz").write_bytes(b"PK")
    assert verified_beside(load(folder)) is None
    (folder / "expected.npz").unlink()
    assert verified_beside(load(folder)) is None
    monkeypatch.setattr(engine.verify, "CHEAP", 1000)
    assert verified_beside(sample) is None
