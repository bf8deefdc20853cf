"""JSON files of a model folder."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from engine.checkpoints import read_config, read_json
from engine.errors import FileError


def refused(path: Path, data: bytes) -> FileError:
    path.write_bytes(data)
    with pytest.raises(FileError) as caught:
        read_json(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return caught.value


def test_an_object_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"a": [1, 2.5, null], "b": {"词": "爱"}, "c": NaN, "d": -Infinity}', encoding="utf-8")
    found = read_json(path)
    assert math.isnan(found.pop("c"))
    assert found == {"a": [1, 2.5, None], "b": {"词": "爱"}, "d": -math.inf}


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(path) == {"a": 1}


def test_what_is_no_json_is_said_with_its_line(tmp_path: Path) -> None:
    error = refused(tmp_path / "config.json", b'{\n  "a": 1,\n  "b" 2\n}')
    assert error.key == "json-invalid"
    assert (error.values["line"], error.values["column"]) == ("3", "7")
    assert "line 3" in str(error)
    assert refused(tmp_path / "config.json", b"").key == "json-invalid"


def test_what_is_no_text_is_said_with_its_byte(tmp_path: Path) -> None:
    error = refused(tmp_path / "config.json", b'{"a": "\xff"}')
    assert error.key == "json-not-utf8"
    assert (error.values["byte"], error.values["position"]) == ("0xff", "7")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"[1]", "a list"),
        (b"1", "a number"),
        (b"1.5", "a number"),
        (b'"a"', "a text"),
        (b"null", "null"),
        (b"true", "true or false"),
    ],
)
def test_only_an_object_is_taken(tmp_path: Path, data: bytes, kind: str) -> None:
    error = refused(tmp_path / "config.json", data)
    assert error.key == "json-not-object"
    assert f"holds {kind};" in str(error)
    assert "{…}" in str(error)


def test_nesting_and_numbers_have_a_limit(tmp_path: Path) -> None:
    assert refused(tmp_path / "config.json", b'{"a":' + b"[" * 200_000).key == "json-too-deep"
    assert refused(tmp_path / "config.json", b'{"a":' + b"1" * 5000 + b"}").key == "json-value-unreadable"


def test_length_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"a": 12345}')
    assert read_json(path, limit=12) == {"a": 12345}
    with pytest.raises(FileError, match="longer than the 11 bytes"):
        read_json(path, limit=11)
    path.write_bytes(b"")
    os.truncate(path, 1 << 40)
    with pytest.raises(FileError) as caught:
        read_json(path)
    assert caught.value.key == "file-too-long"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read_json(tmp_path / "config.json")
    assert caught.value.key == "file-missing"
    with pytest.raises(FileError) as caught:
        read_json(tmp_path)
    assert caught.value.key == "file-is-folder"
    with pytest.raises(FileError) as caught:
        read_json(tmp_path / "nul\0")
    assert caught.value.key == "file-unreadable"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this file system")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(FileError) as caught:
        read_config(tmp_path)
    assert caught.value.key == "file-not-ordinary"


def test_a_config_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    assert read_config(tmp_path)["model_type"] == "llama"


def test_a_folder_without_config_says_what_a_model_folder_holds(tmp_path: Path) -> None:
    for folder, key in ((tmp_path, "config-missing"), (tmp_path / "nowhere", "folder-missing")):
        with pytest.raises(FileError, match=r"config\.json, \*\.safetensors and tokenizer\.json") as caught:
            read_config(folder)
        assert caught.value.key == key
