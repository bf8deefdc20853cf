"""Model files made to do harm, each kind of them, at the command line: one line in the reader's language, and status 1.

What each is refused for is looked at closer in tests/engine: test_tensors, test_load_errors, test_config_files,
test_gguf, test_gguf_parts, test_tokenizer, test_sentencepieces, test_hub, test_verify, test_fuzz.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from engine.model import samples
from tests.tui.test_cli import run
from tui import cli
from tui.language import language

SAMPLE = samples() / "models" / "tiny-gpt"

# Makes a model's folder harmful; gives the arguments of the command line, where they are not just the folder.
Harm = Callable[[Path], list[str] | None]


def config(**changed: Any) -> Harm:
    """Other values in config.json."""

    def harm(folder: Path) -> None:
        known = json.loads((SAMPLE / "config.json").read_text("utf-8"))
        (folder / "config.json").write_text(json.dumps(known | changed), "utf-8")

    return harm


def written(name: str, data: bytes) -> Harm:
    """A file of any bytes."""

    def harm(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return harm


def tensors(header: dict[str, Any] | bytes, data: bytes = b"", length: int | None = None) -> Harm:
    """A safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return written("model.safetensors", struct.pack("<Q", len(text) if length is None else length) + text + data)


def tensor(shape: list[int], begin: int = 0, end: int = 8, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def shard(name: object) -> Harm:
    """An index that says that a tensor is in a file of this name."""

    def harm(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder.parent / "outside.safetensors")
        (folder / "link.safetensors").symlink_to(folder.parent / "outside.safetensors")
        weights = {"model.norm.weight": name if name != "absolute" else str(folder.parent / "outside.safetensors")}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))

    return harm


def pickled(name: str) -> Harm:
    def harm(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(pickle.dumps(print))

    return harm


def packed(*counts: int, dimensions: tuple[int, ...] = (4,), name: int = 1, kind: int = 0) -> Harm:
    """A GGUF file that says that it holds so many tensors and entries, or a tensor of these dimensions."""

    def harm(folder: Path) -> list[str]:
        head = b"GGUF" + struct.pack("<IQQ", 3, *(counts or (1, 0)))
        sizes = struct.pack("<I", len(dimensions)) + struct.pack(f"<{len(dimensions)}Q", *dimensions)
        info = struct.pack("<Q", name) + b"a" + sizes + struct.pack("<IQ", kind, 0)
        (folder / "hostile.gguf").write_bytes((head + info).ljust(256, b"\0"))
        return [str(folder / "hostile.gguf")]

    return harm


def tokenizer(**changed: Any) -> Harm:
    def harm(folder: Path) -> None:
        known = json.loads((SAMPLE / "tokenizer.json").read_text("utf-8"))
        (folder / "tokenizer.json").write_text(json.dumps(known | changed), "utf-8")

    return harm


def reference(**arrays: Any) -> Harm:
    """A reference file to verify against, beside a sound model."""

    def harm(folder: Path) -> list[str]:
        with np.load(SAMPLE / "expected.npz") as file:
            known = {name: file[name] for name in file if arrays.get(name, file[name]) is not None}
        np.savez(folder / "hostile.npz", **known | {k: array for k, array in arrays.items() if array is not None})
        return [str(folder), "--verify", str(folder / "hostile.npz")]

    return harm


def large(folder: Path) -> list[str]:
    """A reference with an array that is said to be of a gigabyte."""
    header = b"{'descr': '|i1', 'fortran_order': False, 'shape': (1073741824,), }\n"
    with zipfile.ZipFile(folder / "hostile.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("input_ids.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return [str(folder), "--verify", str(folder / "hostile.npz")]


def several(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    for name in ("a.gguf", "b.gguf"):
        (folder / name).write_bytes(b"GGUF")


def vocabulary_too_large(folder: Path) -> None:
    known = json.loads((SAMPLE / "tokenizer.json").read_text("utf-8"))
    known["added_tokens"].append({**known["added_tokens"][0], "id": 1 << 20, "content": "<more>"})
    known["model"]["vocab"]["<more>"] = 1 << 20
    (folder / "tokenizer.json").write_text(json.dumps(known), "utf-8")


def pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def extra_tensor(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    save_file({"x\x1b[31m": np.zeros(1, np.float32)}, folder / "model.safetensors")


ONE = {"w": tensor([2])}
HUGE = (1 << 64) - 1
PICKLES = np.array([print], object)
SHARDS = ("../outside.safetensors", "absolute", "link.safetensors", "sub/a.safetensors", "a.bin", None)
CODE = {"AutoModel": "modeling_evil.Evil"}

HARMS: dict[str, Harm] = {
    "heads 0": config(num_attention_heads=0),
    "heads that do not divide": config(num_attention_heads=7),
    "size a text": config(hidden_size="768"),
    "size negative": config(intermediate_size=-1),
    "size true": config(hidden_size=True),
    "size 10¹²": config(vocab_size=10**12),
    "size of 400 digits": config(hidden_size=10**400),
    "size not its tensors'": config(intermediate_size=1 << 20),
    "layers 10⁹": config(num_hidden_layers=10**9),
    "theta negative": config(rope_theta=-1),
    "epsilon NaN": config(rms_norm_eps=float("nan")),
    "epsilon infinite": config(rms_norm_eps=float("inf")),
    "window 0": config(model_type="mistral", sliding_window=0),
    "scaling of 1e308": config(rope_scaling={"rope_type": "linear", "factor": 1e308}),
    "code of its own": config(auto_map=CODE),
    "key unknown": config(**{"\x1b[31m" * 1000: [[[[]]]]}),
    "type unknown": config(model_type=["x" * 5000]),
    "config a list": written("config.json", b"[1, 2]"),
    "config empty": written("config.json", b""),
    "config deep": written("config.json", b'{"a":' + b"[" * 100_000),
    "config just deep enough": written("config.json", b'{"model_type":' + b"[" * 900 + b"]" * 900 + b"}"),
    "config not UTF-8": written("config.json", b'{"model_type": "\xff"}'),
    "config a number of 5000 digits": written("config.json", b'{"hidden_size": ' + b"9" * 5000 + b"}"),
    "config a pipe": pipe,
    "header said to be 2⁶⁴": tensors(b"{}", length=HUGE),
    "header longer than the file": tensors(b"{}", length=1000),
    "header no JSON": tensors(b"{"),
    "header deep": tensors(b'{"a":' + b"[" * 100_000),
    "name twice": tensors(b'{"w": %s, "w": %s}' % ((json.dumps(ONE["w"]).encode(),) * 2), bytes(8)),
    "offsets overlap": tensors({"v": tensor([2]), "w": tensor([2], 4, 12)}, bytes(12)),
    "offsets leave a gap": tensors({"w": tensor([2], 4, 12)}, bytes(12)),
    "offsets past the end": tensors({"w": tensor([2], 0, 1 << 40)}, bytes(8)),
    "offsets backwards": tensors({"w": tensor([2], 8, 0)}, bytes(8)),
    "shape more than the data": tensors({"w": tensor([3])}, bytes(8)),
    "shape overflows": tensors({"w": tensor([1 << 62, 1 << 62])}, bytes(8)),
    "shape negative": tensors({"w": tensor([-2])}, bytes(8)),
    "9 dimensions": tensors({"w": tensor([1] * 8 + [2])}, bytes(8)),
    "dtype unknown": tensors({"w": tensor([2], dtype="F1")}, bytes(8)),
    "tensor of a strange name": extra_tensor,
    **{f"shard {name}": shard(name) for name in SHARDS},
    **{f"pickle {name}": pickled(name) for name in ("pytorch_model.bin", "model.pt", "last.ckpt")},
    "GGUF of 2⁶⁴ tensors": packed(HUGE, 0),
    "GGUF of 2⁶⁴ entries": packed(0, HUGE),
    "GGUF dimensions overflow": packed(dimensions=(1 << 32, 1 << 32)),
    "GGUF dimensions huge": packed(dimensions=(1 << 40,)),
    "GGUF dimension 0": packed(dimensions=(0, 1 << 63)),
    "GGUF with 5 dimensions": packed(dimensions=(1,) * 5),
    "GGUF name of 2⁶³": packed(name=1 << 63),
    "GGUF kind unknown": packed(kind=999),
    "GGUF cut off": written("hostile.gguf", b"GGUF\3\0"),
    "GGUF several": several,
    "tokenizer that panics": tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    "tokenizer without a model": tokenizer(model=None),
    "tokenizer larger than the embedding": vocabulary_too_large,
    "tokenizer no JSON": written("tokenizer.json", b"\xff"),
    "special token a number": written("tokenizer_config.json", b'{"bos_token": 7}'),
    "reference pickled": reference(hidden_0=PICKLES),
    "reference of another shape": reference(hidden_0=np.zeros((1, 2, 3), np.float32)),
    "reference without ids": reference(input_ids=None),
    "reference with ids of another model": reference(input_ids=np.full((3, 4), 1 << 20)),
    "reference with negative ids": reference(input_ids=np.full((3, 4), -1)),
    "reference with ids in three dimensions": reference(input_ids=np.zeros((1, 3, 4), np.int64)),
    "reference with a mask of another shape": reference(attention_mask=np.ones((1, 1), np.int64)),
    "reference with ids that are no whole numbers": reference(input_ids=np.full((3, 4), np.nan)),
    "reference of nothing known": reference(past_key_values=np.zeros(1)),
    "reference that is none": lambda folder: [str(folder), "--verify", str(folder / "config.json")],
    "reference said to be large": large,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound model, to be harmed."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "model"))


def arguments(harm: Harm, folder: Path) -> list[str]:
    given = harm(folder)
    if isinstance(given, list) and "--verify" in given:
        return ["--model", *given]
    hostile = folder / "hostile.gguf"
    path = given[0] if given else str(hostile if hostile.exists() else folder)
    return ["我爱你", "--report", "--model", path]


@pytest.mark.parametrize("name", HARMS)
def test_one_line_and_status_1(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "say", language("zh"))
    monkeypatch.setenv("TERM", "dumb")
    done = CliRunner().invoke(cli.options(), arguments(HARMS[name], folder))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.fullmatch(r"llm-explore: [^\n\x1b]{10,1500}\n", done.stderr), done.stderr
    assert re.search(r"[\u3400-\u9fff]", done.stderr)


@pytest.mark.parametrize("name", ["tokenizer that panics", "config just deep enough", "reference pickled"])
def test_nothing_else_reaches_the_terminal(name: str, folder: Path) -> None:
    """The real program: what libraries print themselves would be seen too."""
    done = run(*arguments(HARMS[name], folder))
    assert done.code == 1
    assert done.message


def test_a_reference_with_numbers_that_are_none_is_not_agreed_with(folder: Path) -> None:
    with np.load(SAMPLE / "expected.npz") as file:
        shown = file["hidden_1"]
    shown[0, 0, 0] = np.nan
    done = run(*arguments(reference(hidden_1=shown), folder))
    assert (done.code, done.err) == (1, "")
    assert "∞" in done.out or "inf" in done.out
