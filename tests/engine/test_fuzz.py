"""Files changed at random, the same way each time: out comes a model, or one sentence that says what is wrong.

Every warning counts as a fault too: it would be printed into the reader's terminal.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import gguf
import pytest

from engine.errors import EngineError
from engine.model import Model, load
from engine.verify import verify
from tests.engine.gguf_files import Checkpoint, Kind

T = TypeVar("T")
Dice = random.Random

# What a place in a file of JSON may hold instead of what it held.
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 8, 257, 1 << 24, (1 << 24) + 1, 1 << 31, 1 << 64, 10**400, -(10**30)),
    *(0.0, 0.5, 1e-45, 1e30, 1e308, float("nan"), float("inf"), -float("inf")),
    *("", "768", "silu", "x" * 3000, "\x1b[31m", "\ud800", "default", "sliding_attention"),
    *([], [1], [None], ["a"], {}, {"a": 1}, [[["global", "local"], 1]], [[[]]]),
    *({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1}, {"type": "linear", "factor": 1e30}),
    *({"rope_type": "longrope", "short_factor": [1] * 4, "long_factor": [1e30] * 4}, {"type": "dynamic", "factor": 2}),
]
# Nested about as deeply as JSON can be read; written out afterwards, for Python writes no such thing.
DEEP = {f"nested {depth}": "[" * depth + "]" * depth for depth in (3, 500, 900, 950, 970, 980, 990, 1000)}


def changed(dice: Dice, value: Any) -> bytes:
    """JSON in which a few places hold something else, or are gone."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        place = dice.choice(list(places(value)))
        within = value
        for key in place[:-1]:
            within = within[key]
        chance = dice.random()
        if chance < 0.1 and isinstance(within, dict):
            del within[place[-1]]
        elif chance < 0.2:
            within[place[-1]] = dice.choice(list(DEEP))
        elif chance < 0.3:
            within[place[-1]] = [within[place[-1]]]
        else:
            within[place[-1]] = json.loads(json.dumps(dice.choice(VALUES)))
    text = json.dumps(value)
    for name, nested in DEEP.items():
        text = text.replace(json.dumps(name), nested)
    return text.encode()


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to what lies in a value, of long lists only to the first entries."""
    entries: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())[:200]
    elif isinstance(value, list):
        entries = list(enumerate(value[:50]))
    for key, entry in entries:
        yield (*before, key)
        yield from places(entry, (*before, key))


def damaged(dice: Dice, data: bytes, within: int) -> bytes:
    """Bytes of which a few among the first are others, more or fewer."""
    changing = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5))):
        place = dice.randrange(max(1, min(within, len(changing))))
        chance = dice.random()
        if chance < 0.5:
            changing[place : place + 1] = bytes([dice.randrange(256)])
        elif chance < 0.6:
            del changing[place : place + dice.choice((1, 4, 8, 100))]
        elif chance < 0.7:
            changing[place:place] = dice.randbytes(dice.choice((1, 8)))
        elif chance < 0.9:
            number = dice.choice((0, 1, 1 << 31, 1 << 32, 1 << 40, 1 << 63, (1 << 64) - 1))
            changing[place : place + 8] = number.to_bytes(8, "little")
        else:
            del changing[place:]
    return bytes(changing)


def survives(path: Path, use: Callable[[Model], object]) -> str:
    """Opens a model and uses it; the key of the error where it cannot be opened."""
    return outcome(lambda: load(path), use)


def outcome(make: Callable[[], T], use: Callable[[T], object]) -> str:
    """The key of the error that ends making something; where it can be made, it is used."""
    try:
        made = make()
        # What a model of other sizes cannot be asked is said, too.
        with suppress(EngineError):
            use(made)
    except EngineError as error:
        said = str(error)
        assert "\n" not in said
        assert "\x1b" not in said
        assert len(said) < 1500
        return error.key
    return ""


def computed(model: Model) -> None:
    """Every stage of a run."""
    for stage in model.trace(ids=[[1, 2, 3, 4]]):
        assert stage.value.shape == stage.shape
        if 0 not in stage.shape:
            stage.derivation(tuple(size - 1 for size in stage.shape))


def read(model: Model) -> None:
    """Texts, and the whole vocabulary."""
    assert len([model.vocabulary[id] for id in range(model.spec.vocabulary)]) == model.spec.vocabulary
    for text in ("我爱你 a<mask>b 12\n", "", "\x00é🙂"):
        with suppress(EngineError):
            model.trace(text)


@pytest.mark.parametrize(
    "name", ["llama", "gemma3", "gpt2", "gpt-neo", "gpt-neox", "phi3-long", "qwen2-yarn-factor", "bert", "marian"]
)
def test_configs(name: str, oracles: Path, tmp_path: Path) -> None:
    dice, known = Dice(name), (oracles / name / "config.json").read_bytes()
    shutil.copy(oracles / name / "model.safetensors", tmp_path)
    keys = set()
    for _ in range(60):
        is_json = dice.random() < 0.85
        data = changed(dice, json.loads(known)) if is_json else damaged(dice, known, len(known))
        (tmp_path / "config.json").write_bytes(data)
        keys.add(survives(tmp_path, computed))
    assert {"", "config-value"} <= keys


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_headers_of_tensors(name: str, oracles: Path, tmp_path: Path) -> None:
    dice, known = Dice(name), (oracles / name / "model.safetensors").read_bytes()
    shutil.copy(oracles / name / "config.json", tmp_path)
    end = 8 + int.from_bytes(known[:8], "little")
    keys = set()
    for _ in range(200):
        data = damaged(dice, known, end)
        if dice.random() < 0.5:
            header = changed(dice, json.loads(known[8:end]))
            data = len(header).to_bytes(8, "little") + header + known[end:]
        (tmp_path / "model.safetensors").write_bytes(data)
        keys.add(survives(tmp_path, computed))
    assert {"safetensors-unsound", "header-cut-off"} <= keys


def test_indices(oracles: Path, tmp_path: Path) -> None:
    dice, folder = Dice(1), Path(shutil.copytree(oracles / "qwen2-bf16-shards", tmp_path / "shards"))
    file = folder / "model.safetensors.index.json"
    known, keys = file.read_bytes(), set()
    for _ in range(100):
        is_json = dice.random() < 0.7
        file.write_bytes(changed(dice, json.loads(known)) if is_json else damaged(dice, known, len(known)))
        keys.add(survives(folder, computed))
    assert {"", "shard-name"} <= keys


@pytest.mark.parametrize("name", ["tiny-gpt", "tiny-bert", "tiny-translator"])
def test_tokenizers(name: str, tmp_path: Path) -> None:
    dice, sample = Dice(name), load(name).folder
    for file in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(sample / file, tmp_path)
    keys = set()
    for _ in range(40):
        file = dice.choice(("tokenizer.json", "tokenizer.json", "tokenizer_config.json"))
        known = (sample / file).read_bytes()
        data = damaged(dice, known, len(known))
        if dice.random() < 0.7:
            data = changed(dice, json.loads(known))
        (tmp_path / file).write_bytes(data)
        keys.add(survives(tmp_path, read))
        (tmp_path / file).write_bytes(known)
    assert {"", "tokenizer-unsound"} <= keys


# Every kind of value that an entry of a GGUF file can be of.
ENTRIES: list[tuple[str, Any]] = [
    *(("add_int32", number) for number in (0, -1, 1, 5, (1 << 31) - 1)),
    *(("add_uint64", number) for number in (0, 2, 1 << 63, (1 << 64) - 1)),
    *(("add_float32", number) for number in (0.0, -1.0, 1e-40, 3e38, float("nan"), float("inf"))),
    *(("add_float64", number) for number in (1e308, float("nan"))),
    *(("add_bool", value) for value in (True, False)),
    *(("add_string", text) for text in ("", "llama", "yarn", "x" * 5000, "\x1b[31m", "default", "tekken")),
    *(("add_array", items) for items in ([1], [2, 2], [1.5, 2.5], ["a", "b c"], [True, False], [[1], [2]])),
]
MORE = ("rope.scaling.type", "rope.scaling.factor", "rope.scale_linear", "rope.scaling.original_context_length")
BESIDE = ("general.alignment", "general.type", "split.count", "split.no", "tokenizer.ggml.add_bos_token")


@pytest.mark.parametrize("family", ["llama", "qwen2", "gpt2", "gemma2"])
def test_metadata(family: str, oracles: Path, tmp_path: Path) -> None:
    dice, checkpoint = Dice(family), Checkpoint.like(oracles / family)
    keys = set()
    for number in range(60):

        def add(writer: gguf.GGUFWriter) -> None:
            entries = writer.kv_data[0]
            writer.add_tokenizer_model("gpt2")
            writer.add_tokenizer_pre("default")
            writer.add_token_list([chr(256 + id) for id in range(95)] + ["Āā"])
            writer.add_token_merges(["Ā ā"])
            for _ in range(dice.choice((1, 1, 2))):
                names = [*entries, *(f"{family}.{name}" for name in MORE), *BESIDE]
                name = dice.choice(names)
                entries.pop(name, None)
                kind, value = dice.choice(ENTRIES)
                getattr(writer, kind)(name, value)

        path = checkpoint.write(tmp_path / f"{number}.gguf", add=add)
        keys.add(survives(path, computed))
    assert {"", "config-value"} <= keys


def test_bytes_of_packed_files(oracles: Path, tmp_path: Path) -> None:
    dice, path = Dice(1), Checkpoint.like(oracles / "llama").write(tmp_path / "a.gguf", Kind.Q4_0)
    known, keys = path.read_bytes(), set()
    for _ in range(200):
        path.write_bytes(damaged(dice, known, dice.choice((200, 3000, len(known)))))
        keys.add(survives(path, computed))
    assert {"", "gguf-text-long", "gguf-data-cut-off"} <= keys


def test_references(sample: Model, tmp_path: Path) -> None:
    dice, path = Dice(1), tmp_path / "expected.npz"
    known, keys = (sample.folder / "expected.npz").read_bytes(), set()
    for _ in range(100):
        path.write_bytes(damaged(dice, known, len(known)))
        keys.add(outcome(lambda: verify(sample, path), list))
    assert {"npz-unsound"} <= keys
