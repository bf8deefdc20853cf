"""Weights: what is read equals what was written, and nothing in a hostile file gets further than an error."""

from __future__ import annotations

import json
import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from engine.checkpoints import Tensor, open_tensors
from engine.errors import FileError


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def write(path: Path, header: dict[str, Any] | str, data: bytes = b"") -> Path:
    """A file with any header, sound or not."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def written(folder: Path, header: dict[str, Any] | str, data: bytes = b"") -> dict[str, Tensor]:
    write(folder / "model.safetensors", header, data)
    return open_tensors(folder)


def refused(folder: Path) -> FileError:
    with pytest.raises(FileError) as caught:
        open_tensors(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    return caught.value


def random(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def save_shards(folder: Path, weight_map: dict[str, str], **shards: dict[str, NDArray[Any]]) -> None:
    for name, arrays in shards.items():
        save_file(arrays, folder / f"{name}.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def test_float32_is_what_was_saved_and_a_view_on_the_file(tmp_path: Path) -> None:
    saved = {"b": random(3, 5), "a": random(7), "one": np.array(2.5, np.float32), "none": random(0, 4)}
    save_file(saved, tmp_path / "model.safetensors")
    tensors = open_tensors(tmp_path)
    assert set(tensors) == set(saved)
    for name, array in saved.items():
        tensor = tensors[name]
        assert (tensor.name, tensor.dtype, tensor.shape) == (name, "F32", array.shape)
        assert tensor.file == tmp_path / "model.safetensors"
        read = tensor.read()
        assert type(read) is np.ndarray
        assert read.dtype == np.float32
        assert not read.flags.writeable
        np.testing.assert_array_equal(read, array, strict=True)
    assert np.shares_memory(tensors["b"].read(), tensors["b"].read((1, slice(2, 4))))


@pytest.mark.parametrize(
    "index", [(), (1,), (1, slice(2, 5, 2)), (-1, 2, 0), (slice(None), 0), (slice(2, 0, -1), slice(1, 1))]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_part_is_numpys_part(tmp_path: Path, index: tuple[int | slice, ...], dtype: type) -> None:
    saved: NDArray[Any] = random(3, 5, 2).astype(dtype)
    save_file({"w": saved}, tmp_path / "model.safetensors")
    tensor = open_tensors(tmp_path)["w"]
    part = tensor.read(index)
    np.testing.assert_array_equal(part, np.asarray(saved[index], np.float32), strict=True)
    assert not part.flags.writeable
    np.testing.assert_array_equal(tensor.to_float32(tensor.mapped.T), saved.T.astype(np.float32), strict=True)


def test_bfloat16_is_the_upper_half_of_a_float32(tmp_path: Path) -> None:
    bits = {0x3F80: 1.0, 0xC020: -2.5, 0x7F80: np.inf, 0x8000: -0.0, 0x0001: 2.0**-133, 0x7FC0: np.nan}
    data = struct.pack("<6H", *bits)
    tensor = written(tmp_path, {"w": entry("BF16", [2, 3], 0, 12)}, data)["w"]
    values = np.array(list(bits.values()), np.float32).reshape(2, 3)
    np.testing.assert_array_equal(tensor.read(), values, strict=True)
    np.testing.assert_array_equal(tensor.read((1, slice(0, 2))), values[1, :2], strict=True)
    np.testing.assert_array_equal(tensor.to_float32(tensor.mapped.T[1:]), values.T[1:], strict=True)
    assert np.signbit(tensor.read()[1, 0])
    assert not tensor.read().flags.writeable


def test_only_the_part_that_is_asked_for_is_converted(tmp_path: Path) -> None:
    rows, columns = 4096, 512
    size = 2 * rows * columns
    tensor = written(tmp_path, {"w": entry("BF16", [rows, columns], 0, size)}, bytes(size))["w"]
    tensor.read((0,))
    tracemalloc.start()
    tensor.read((17,))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * columns


def test_data_that_is_not_aligned_is_still_right(tmp_path: Path) -> None:
    values = random(4, 3)
    for padding in range(4):
        header = json.dumps({"w": entry("F32", [4, 3], 0, 48)}) + " " * padding
        read = written(tmp_path, header, values.tobytes())["w"].read()
        assert read.flags.aligned
        assert not read.flags.writeable
        np.testing.assert_array_equal(read, values, strict=True)


def test_an_index_that_does_not_fit_is_an_index_error(tmp_path: Path) -> None:
    save_file({"w": random(2, 3)}, tmp_path / "model.safetensors")
    tensor = open_tensors(tmp_path)["w"]
    with pytest.raises(IndexError):
        tensor.read((2,))
    with pytest.raises(IndexError):
        tensor.read((0, 0, 0))


@pytest.mark.parametrize("dtype", ["I64", "U8", "BOOL", "F8_E4M3", "I32"])
def test_other_dtypes_are_listed_and_refused_only_when_read(tmp_path: Path, dtype: str) -> None:
    width = {"I64": 8, "I32": 4}.get(dtype, 1)
    header = {"buffer": entry(dtype, [3], 0, 3 * width), "w": entry("F32", [1], 3 * width, 3 * width + 4)}
    tensors = written(tmp_path, header, bytes(3 * width) + struct.pack("<f", 1.5))
    assert tensors["w"].read().tolist() == [1.5]
    assert tensors["buffer"].dtype == dtype
    with pytest.raises(FileError, match=f"buffer is stored as {dtype}; only F32, F16, BF16, F64") as caught:
        tensors["buffer"].read()
    assert caught.value.key == "tensor-dtype"


def test_double_precision_is_rounded(tmp_path: Path) -> None:
    numbers = [1 / 3, -1e-50, 1e300, 16777217.0]
    tensor = written(tmp_path, {"w": entry("F64", [4], 0, 32)}, struct.pack("<4d", *numbers))["w"]
    expected = np.array([0.3333333432674408, -0.0, np.inf, 16777216.0], np.float32)
    assert tensor.read().dtype == np.float32
    assert np.array_equal(tensor.read(), expected)
    assert np.array_equal(tensor.read((slice(1, 3),)), expected[1:3])
    assert tensor.is_converted
    assert not tensor.read().flags.writeable


HOSTILE: dict[str, tuple[dict[str, Any] | str, int]] = {
    "gap": ({"w": entry("F32", [2], 4, 12)}, 12),
    "overlap": ({"v": entry("F32", [2], 0, 8), "w": entry("F32", [2], 4, 12)}, 12),
    "left over": ({"w": entry("F32", [2], 0, 8)}, 9),
    "cut off": ({"w": entry("F32", [2], 0, 8)}, 7),
    "past the end": ({"w": entry("F32", [2], 0, 8)}, 0),
    "backwards": ({"w": entry("F32", [2], 8, 0)}, 8),
    "shape too large for the data": ({"w": entry("F32", [3], 0, 8)}, 8),
    "shape overflows": ({"w": entry("F32", [2**62, 2**62], 0, 8)}, 8),
    "negative shape": ({"w": entry("F32", [-2], 0, 8)}, 8),
    "unknown dtype": ({"w": entry("X" * 10_000, [2], 0, 8)}, 8),
    "list for an entry": ('{"w": ["F32", [2], [0, 8]]}', 8),
    "entry twice in an entry": ('{"w": {"dtype": "F32", "shape": [2], "shape": [2], "data_offsets": [0, 8]}}', 8),
    "deep": ('{"w": ' + "[" * 100_000, 0),
    "no json": ("{", 0),
    "no object": ("[]", 0),
    "nothing": ("", 0),
    "metadata no text": ('{"__metadata__": {"a": 1}}', 0),
}


# The header is sound, and the data is not as long as it says.
CUT = ("left over", "cut off", "past the end")


@pytest.mark.parametrize("case", HOSTILE)
def test_an_unsound_header_is_refused(tmp_path: Path, case: str) -> None:
    header, size = HOSTILE[case]
    write(tmp_path / "model.safetensors", header, bytes(size))
    error = refused(tmp_path)
    cut = case in CUT
    assert error.key == ("safetensors-length" if cut else "safetensors-unsound")
    # Where the header itself cannot be, it is no use to copy the file again.
    assert ("copied whole" in str(error)) == cut
    assert cut or len(error.values["reason"]) <= 200


def test_a_header_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", (16 << 20) + 1))
    os.truncate(path, 40 << 20)
    assert refused(tmp_path).key == "header-too-long"
    path.write_bytes(struct.pack("<Q", 2**64 - 1) + b"{}")
    assert refused(tmp_path).key == "header-too-long"


@pytest.mark.parametrize("data", [b"", b"\2\0\0", struct.pack("<Q", 3) + b"{}"])
def test_a_file_that_ends_in_its_header_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    assert refused(tmp_path).key == "header-cut-off"


def test_a_git_lfs_pointer_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    error = refused(tmp_path)
    assert error.key == "weights-lfs-pointer"
    assert "git lfs pull" in str(error)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    one = json.dumps(entry("F32", [2], 0, 8))
    write(tmp_path / "model.safetensors", f'{{"w\\u0061": {one}, "wa": {one}}}', bytes(8))
    error = refused(tmp_path)
    assert (error.key, error.values["name"]) == ("tensor-twice", "wa")


def test_too_many_dimensions_and_impossible_shapes_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"w": entry("F32", [1] * 9, 0, 4)}, bytes(4))
    assert refused(tmp_path).key == "tensor-dimensions"
    assert written(tmp_path, {"w": entry("F32", [1] * 8, 0, 4)}, bytes(4))["w"].read().shape == (1,) * 8
    write(tmp_path / "model.safetensors", {"w": entry("F32", [0, 2**62, 2**62], 0, 0)})
    assert refused(tmp_path).key == "tensor-shape-impossible"


def test_control_characters_in_a_name_do_not_reach_the_terminal(tmp_path: Path) -> None:
    tensors = written(tmp_path, {"w\x1b[31m": entry("I8", [1], 0, 1)}, b"\0")
    with pytest.raises(FileError) as caught:
        tensors["w\x1b[31m"].read()
    assert "\x1b" not in str(caught.value)
    assert "w␛[31m" in str(caught.value)


def test_a_file_that_changed_since_it_was_opened_is_refused(tmp_path: Path) -> None:
    tensor = written(tmp_path, {"w": entry("F32", [2], 0, 8)}, bytes(8))["w"]
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 9)
    with pytest.raises(FileError, match="load it again"):
        tensor.read()
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileError, match="no such file"):
        tensor.read()


def test_shards_are_one_model(tmp_path: Path) -> None:
    first, second = {"a": random(2, 3)}, {"b": random(4), "not in the index": random(1)}
    save_shards(tmp_path, {"a": "one.safetensors", "b": "two.safetensors"}, one=first, two=second)
    tensors = open_tensors(tmp_path)
    assert {name: tensor.file.name for name, tensor in tensors.items()} == {
        "a": "one.safetensors",
        "b": "two.safetensors",
        "not in the index": "two.safetensors",
    }
    for name, array in (first | second).items():
        np.testing.assert_array_equal(tensors[name].read(), array, strict=True)


def test_the_index_decides_where_a_tensor_stands_in_two_shards(tmp_path: Path) -> None:
    weight_map = {"a": "one.safetensors", "b": "two.safetensors"}
    save_shards(tmp_path, weight_map, one={"a": random(5)}, two={"a": random(1), "b": random(1)})
    assert open_tensors(tmp_path)["a"].shape == (5,)


@pytest.mark.parametrize(
    "name",
    [
        "../outside.safetensors",
        "/etc/outside.safetensors",
        "sub/one.safetensors",
        "sub\\one.safetensors",
        "C:one.safetensors",
        ".safetensors",
        "one.bin",
        "",
        "o\0ne.safetensors",
        7,
        None,
    ],
)
def test_a_shard_must_be_the_bare_name_of_a_safetensors_file(tmp_path: Path, name: Any) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    for place in (tmp_path / "outside", folder / "sub" / "one", folder / "one"):
        save_file({"a": random(1)}, place.with_suffix(".safetensors"))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    assert refused(folder).key == "shard-name"


def test_a_shard_may_not_be_a_link_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    save_shards(folder, {"a": "one.safetensors"})
    save_file({"a": random(1)}, tmp_path / "outside.safetensors")
    (folder / "one.safetensors").symlink_to(tmp_path / "outside.safetensors")
    assert refused(folder).key == "shard-outside"
    (folder / "one.safetensors").unlink()
    save_file({"a": random(1)}, folder / "real.safetensors")
    (folder / "one.safetensors").symlink_to("real.safetensors")
    assert open_tensors(folder)["a"].read().shape == (1,)


def test_the_links_of_the_hub_cache_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "snapshots" / "0123"
    blobs = tmp_path / "models--a--b" / "blobs"
    folder.mkdir(parents=True)
    blobs.mkdir()
    save_shards(folder, {"a": "one.safetensors"})
    save_file({"a": random(1)}, blobs / "abcd")
    (folder / "one.safetensors").symlink_to("../../blobs/abcd")
    assert open_tensors(folder)["a"].read().shape == (1,)
    (tmp_path / "linked").symlink_to(folder)
    assert open_tensors(tmp_path / "linked")["a"].read().shape == (1,)


def test_missing_shards_are_named(tmp_path: Path) -> None:
    weight_map = {"a": "one.safetensors", "b": "two.safetensors", "c": "three.safetensors"}
    save_shards(tmp_path, weight_map, one={"a": random(1)})
    error = refused(tmp_path)
    assert error.key == "shards-missing"
    assert (error.values["count"], error.values["total"]) == ("2", "3")
    assert error.values["names"] == "three.safetensors, two.safetensors"


def test_a_tensor_must_be_in_its_shard(tmp_path: Path) -> None:
    weight_map = {"a": "one.safetensors", "b": "one.safetensors"}
    save_shards(tmp_path, weight_map, one={"a": random(1)}, two={"b": random(1)})
    error = refused(tmp_path)
    assert error.key == "shard-without-tensor"
    assert (error.values["tensor"], error.values["shard"]) == ("b", "one.safetensors")


@pytest.mark.parametrize("index", [{}, {"weight_map": {}}, {"weight_map": ["a"]}, {"weight_map": None}])
def test_an_index_needs_a_map(tmp_path: Path, index: dict[str, Any]) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert refused(tmp_path).key == "index-without-map"


def test_a_single_file_of_another_name_is_taken(tmp_path: Path) -> None:
    save_file({"w": random(2)}, tmp_path / "weights.safetensors")
    (tmp_path / "._weights.safetensors").write_bytes(b"what macOS leaves on foreign disks")
    (tmp_path / "pytorch_model.bin").touch()
    assert open_tensors(tmp_path)["w"].shape == (2,)
    save_file({"w": random(3)}, tmp_path / "other.safetensors")
    error = refused(tmp_path)
    assert error.key == "weights-ambiguous"
    assert error.values["names"] == "other.safetensors, weights.safetensors"
    save_file({"w": random(4)}, tmp_path / "model.safetensors")
    assert open_tensors(tmp_path)["w"].shape == (4,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "last.ckpt"])
def test_pickle_is_refused_unread(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04.")
    error = refused(tmp_path)
    assert error.key == "weights-pickled"
    assert name in str(error)
    assert "safe_serialization" in str(error)


def test_a_folder_without_weights_and_no_folder_at_all(tmp_path: Path) -> None:
    assert refused(tmp_path).key == "weights-missing"
    assert refused(tmp_path / "nowhere").key == "folder-missing"
    (tmp_path / "file").touch()
    assert refused(tmp_path / "file").key == "folder-is-file"


def test_what_may_not_be_read_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({"w": random(2)}, tmp_path / "model.safetensors")

    def denied(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", denied)
        assert refused(tmp_path).key == "file-not-permitted"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert refused(tmp_path).key == "file-not-permitted"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this file system")
def test_pipes_devices_and_folders_are_refused_and_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    os.mkfifo(path)
    assert refused(tmp_path).key == "file-not-ordinary"
    path.unlink()
    path.symlink_to("/dev/zero")
    assert refused(tmp_path).key == "file-not-ordinary"
    path.unlink()
    path.mkdir()
    assert refused(tmp_path).key == "file-is-folder"
    path.rmdir()
    path.symlink_to("nowhere")
    assert refused(tmp_path).key == "file-missing"
    path.unlink()
    path.symlink_to(path.name)
    assert refused(tmp_path).key == "file-unreadable"
