"""Where GGUF files are found: in several parts, in a folder, under a name that does not say what they are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import gguf
import numpy as np
import pytest

from engine.checkpoints.gguf_parts import MOST_PARTS, open_gguf
from engine.errors import FileError
from engine.model import load
from tests.engine.gguf_files import Checkpoint, Kind, assert_alike, refused


@pytest.fixture
def checkpoint(oracles: Path) -> Checkpoint:
    return Checkpoint.like(oracles / "llama")


@pytest.fixture
def parts(checkpoint: Checkpoint, tmp_path: Path) -> list[Path]:
    """A model in parts."""
    (tmp_path / "parts").mkdir()
    checkpoint.write(tmp_path / "parts" / "tiny.gguf", Kind.Q8_0, parts_of=12)
    return sorted((tmp_path / "parts").iterdir())


def rewritten(path: Path, to: Path, changed: dict[str, int | None]) -> None:
    """A copy of a part that says other things of itself; None: it does not say them."""
    reader, writer = gguf.GGUFReader(path), gguf.GGUFWriter(to, "llama")
    writer.kv_data[0].clear()
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name not in changed:
            writer.add_key_value(name, field.contents(), field.types[0])
    for name, value in changed.items():
        if value is not None:
            writer.add_uint32(name, value)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, np.array(tensor.data), raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def refused_for(part: Path, path: Path, key: str) -> FileError:
    """Loading a file of which another part is at fault."""
    with pytest.raises(FileError) as caught:
        load(path)
    assert (caught.value.key, caught.value.values["file"]) == (key, str(part)), caught.value
    return caught.value


def test_parts_are_one_model(parts: list[Path], checkpoint: Checkpoint, tmp_path: Path) -> None:
    assert [path.name for path in parts] == [f"tiny-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    whole = load(checkpoint.write(tmp_path / "whole.gguf", Kind.Q8_0))
    for path in parts:
        model = load(path)
        assert (model.name, model.folder) == (path.name, path.parent)
        assert_alike(model, whole)
    held = open_gguf(parts[1]).tensors
    assert {tensor.file.name for tensor in held.values()} == {path.name for path in parts}


def test_a_part_that_is_missing(parts: list[Path]) -> None:
    parts[2].unlink()
    error = refused(parts[0], "gguf-part-missing", "tiny-00003-of-00003.gguf")
    assert (error.values["count"], error.values["absent"]) == ("3", "1")
    parts[0].unlink()
    refused(parts[1], "gguf-part-missing", "tiny-00001-of-00003.gguf")


def test_parts_under_other_names(parts: list[Path]) -> None:
    refused(parts[1].rename(parts[1].with_name("second.gguf")), "gguf-split", "one of 3 parts")
    other = parts[0].with_name("tiny-00001-of-00004.gguf")
    refused(parts[0].rename(other), "gguf-split", "one of 3 parts")


def test_parts_that_changed_places(parts: list[Path]) -> None:
    parts[1].rename(parts[1].with_name("kept.gguf"))
    shutil.copy(parts[2], parts[1])
    error = refused_for(parts[1], parts[0], "gguf-part-number")
    assert (error.values["number"], error.values["count"]) == ("2", "3")


@pytest.mark.parametrize(
    ("part", "changed", "key"),
    [
        (0, {"split.count": MOST_PARTS + 1}, "gguf-split"),
        (0, {"split.count": 0xFFFFFFFF}, "gguf-split"),
        (0, {"split.count": 2}, "gguf-split"),
        (1, {"split.count": 1}, "gguf-part-number"),
        (1, {"split.count": None}, "gguf-part-number"),
        (1, {"split.no": 0}, "gguf-part-number"),
        (0, {"split.tensors.count": 5}, "gguf-part-tensors"),
    ],
)
def test_parts_that_say_other_things(part: int, changed: dict[str, int | None], key: str, parts: list[Path]) -> None:
    kept = parts[part].rename(parts[part].with_name("kept"))
    rewritten(kept, parts[part], changed)
    refused_for(parts[part], parts[0], key)


def test_what_says_how_many_parts_must_be_a_number(checkpoint: Checkpoint, tmp_path: Path) -> None:
    for number, value in enumerate([[2, 2], "2", 2.0, True, [b"a"]]):

        def add(writer: gguf.GGUFWriter, value: object = value) -> None:
            kind = {list: "add_array", str: "add_string", float: "add_float32", bool: "add_bool"}[type(value)]
            getattr(writer, kind)("split.count", value)

        path = checkpoint.write(tmp_path / f"{number}.gguf", add=add)
        refused(path, "config-value", "split.count")


def test_a_tensor_in_two_parts(parts: list[Path]) -> None:
    parts[1].unlink()
    rewritten(parts[0], parts[1], {"split.no": 1})
    assert refused_for(parts[1], parts[0], "gguf-part-twice").values["name"].endswith(".weight")


def test_a_part_that_is_damaged(parts: list[Path]) -> None:
    data = parts[2].read_bytes()
    for damaged, key in ((data[:-100], "gguf-data-cut-off"), (b"", "gguf-magic"), (data[:40], "header-cut-off")):
        parts[2].write_bytes(damaged)
        refused_for(parts[2], parts[0], key)
    parts[2].unlink()
    os.mkfifo(parts[2])
    refused_for(parts[2], parts[0], "file-not-ordinary")


# --- folders and names ---------------------------------------------------------------------------------------------


def test_a_folder_with_one_file(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    path = checkpoint.write(tmp_path / "one" / "tiny.gguf")
    model = load(tmp_path / "one")
    assert (model.name, model.folder) == ("tiny.gguf", path.parent)
    # What repositories of such files hold beside them, and what macOS leaves on foreign disks.
    (path.parent / "config.json").write_text("{}")
    (path.parent / "._tiny.gguf").write_bytes(b"")
    assert load(tmp_path / "one").name == "tiny.gguf"


def test_a_folder_with_the_parts_of_one_model(parts: list[Path]) -> None:
    assert load(parts[0].parent).name == parts[0].name


def test_a_folder_with_several_models(checkpoint: Checkpoint, parts: list[Path]) -> None:
    checkpoint.write(parts[0].with_name("other.gguf"))
    error = refused(parts[0].parent, "gguf-several", "other.gguf, tiny-00001-of-00003.gguf")
    assert error.values["count"] == "2"
    for number in range(40):
        parts[0].with_name(f"{'x' * 90}{number}.gguf").touch()
    refused(parts[0].parent, "gguf-several")


def test_a_folder_with_tensors_of_its_own(checkpoint: Checkpoint, tmp_path: Path) -> None:
    folder = checkpoint.save(tmp_path / "hub")
    (folder / "other.gguf").write_bytes(b"GGUF")
    assert load(folder).name == "hub"


def test_a_file_whose_name_does_not_say_what_it_is(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """As Ollama keeps them."""
    path = checkpoint.write(tmp_path / "tiny.gguf").rename(tmp_path / "sha256-0123")
    assert load(path).name == "sha256-0123"
    path.write_bytes(b"GGU")
    refused(path, "folder-is-file")


def test_what_publishers_note(checkpoint: Checkpoint, tmp_path: Path) -> None:
    def add(writer: gguf.GGUFWriter) -> None:
        writer.add_string("mradermacher.quantized_by", "mradermacher")
        writer.add_string("quantize.imatrix.file", "a.imatrix")
        writer.add_bool("llama.use_parallel_residual", True)

    plain = checkpoint.write(tmp_path / "plain.gguf")
    assert_alike(load(checkpoint.write(tmp_path / "noted.gguf", add=add)), load(plain))
