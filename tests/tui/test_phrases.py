"""What errors say in Chinese: the phrases of the engine that come as values, and none of them left in English."""

from __future__ import annotations

import ast
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.errors import EngineError, FileError
from engine.model import load
from engine.worked import load_worked
from tui.language import __file__ as home
from tui.language import language

ENGINE = Path(engine.__file__ or "").parent
PHRASES: dict[str, dict[str, str]] = tomllib.loads(Path(home).with_name("phrases.zh.toml").read_text("utf-8"))
# The values of errors that the engine, and nobody else, words.
WORDED = ("wanted", "found", "supported")
# Functions that take what is wanted as their last argument and pass it on.
PASSING = ("wrong", "_wrong", "_no_matrix")
# What gives names, sizes and shapes, in which there is nothing to translate.
NAMES = ("_as_stored", "_whole", "len", "written", "map", "str", "sorted")
# A Latin word that nothing shows to be a name.
WORD = re.compile(r"(?<![\w.{])[A-Za-z]+(?![\w.]|\})")
# What is no English: words of JSON, of files and of formats, names of programs, axes …
KEPT = {"null", "true", "false", "shape", "fill", "zh", "en", "n", "B", "N", "U", "UTF", "JSON", "TOML", "Python"}
# ... and the values of choices: activations, scalings, tokenizers.
KEPT |= {"gelu", "relu", "silu", "swish", "none", "linear", "yarn", "default", "dynamic", "llama", "absolute"}
KEPT |= {"transformers", "surprise", "factor", "title", "heads", "tokens", "Q"}


@cache
def trees() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text("utf-8")) for file in sorted(ENGINE.rglob("*.py"))}


class Reader:
    """What expressions can say, as texts with ``7`` where something is filled in."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        self.parameters = {each.arg: each.annotation for each in (*function.args.args, *function.args.kwonlyargs)}

    def said(self, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.Constant() | ast.Attribute():
                yield "7"
            case ast.JoinedStr(values=parts):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in parts)
            case ast.BinOp(left=left, right=right):
                yield from (a + b for a in self.said(left) for b in self.said(right))
            case ast.IfExp(body=body, orelse=other):
                yield from chain(self.said(body), self.said(other))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join")):
                yield f"7{between}7"
            case ast.Call(func=ast.Name(id="json_kind")):
                yield from json_kinds()
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                assert name in NAMES, f"line {node.lineno}: is what {name} gives a phrase?"
                yield "7"
            case ast.Name(id=name):
                yield from self.named(name, node.lineno)
            case _:
                raise AssertionError(f"line {node.lineno}: {ast.unparse(node)} cannot be looked up")

    def named(self, name: str, line: int) -> Iterator[str]:
        values = [
            node.value
            for node in ast.walk(self.function)
            if isinstance(node, ast.Assign)
            and any(isinstance(each, ast.Name) and each.id == name for each in node.targets)
        ]
        if values:
            yield from chain.from_iterable(map(self.said, values))
        elif isinstance(kind := self.parameters.get(name), ast.Name) and kind.id == "int":
            yield "7"
        else:
            # It comes from the caller, where it is looked up.
            passed = name in self.parameters and self.function.name in PASSING
            assert passed, f"line {line}: {name} cannot be looked up"


def json_kinds() -> Iterator[str]:
    (function,) = (
        node
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "json_kind"
    )
    for node in ast.walk(function):
        match node:
            case ast.Dict(values=values):
                yield from (str(ast.literal_eval(value)) for value in values)
            case ast.Return(value=ast.Constant(value=str(text))):
                yield text


@cache
def phrases() -> list[tuple[str, str, str]]:
    """Every phrase of the engine: where it is said, which value it is, and its English."""
    found = []
    for file, tree in trees().items():
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            reader = Reader(function)
            for name, node in _worded(function):
                found += [(f"{file.name}:{node.lineno}", name, text) for text in reader.said(node)]
    return found


def _worded(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="wrong" | "_wrong"), args=[*_, last]):
                yield "wanted", last
            case ast.Call(func=ast.Attribute(attr="_no_matrix") | ast.Name(id="_no_matrix"), args=[*_, last]):
                yield "found", last
            case ast.Call(func=ast.Name(id="FileError" | "InputError"), keywords=keywords):
                yield from ((each.arg, each.value) for each in keywords if each.arg in WORDED)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value in WORDED:
                        yield str(key.value), value


def test_every_phrase_of_the_engine_has_its_chinese() -> None:
    say = language("zh")
    assert len({text for _, _, text in phrases()}) > 45
    for place, name, english in phrases():
        chinese = str(say.phrase(name, english))
        left = [word for word in WORD.findall(re.sub(r'"[^"]*"', "", chinese)) if word not in KEPT]
        assert left == [], f"{place}: {english} → {chinese}"


def test_every_phrase_is_said_somewhere() -> None:
    said = {name: [text for _, kind, text in phrases() if kind == name] for name in WORDED}
    for name in WORDED:
        for english in PHRASES[name]:
            shape = re.sub(r"\\\{\d\\\}", ".+", re.escape(english))
            assert any(re.fullmatch(shape, text) for text in said[name]), english


def test_places_are_numbered_as_they_come_and_are_kept() -> None:
    for name, table in PHRASES.items():
        for english, chinese in table.items():
            places = re.findall(r"\{(\d)\}", english)
            assert places == [str(number) for number in range(len(places))], english
            assert set(re.findall(r"\{(\d)\}", chinese)) <= set(places), english
            assert name in ("reason",) or set(re.findall(r"\{(\d)\}", chinese)) == set(places), english


def test_none_hides_behind_an_earlier_one() -> None:
    say = language("zh")
    for name, table in PHRASES.items():
        for english, chinese in table.items():
            numbers = re.findall(r"\{(\d)\}", english)
            assert say.phrase(name, english.format(*numbers)) == chinese.format(*numbers), english


def test_what_users_wrote_is_never_translated() -> None:
    say = language("zh")
    for name in ("file", "entry", "value", "name", "tensor", "text", "token", "known", "names", "path"):
        for table in PHRASES.values():
            for english in table:
                assert say.phrase(name, english) == english
    # ... nor a part of a value.
    assert say.phrase("wanted", "not a whole number.") == "not a whole number."
    folder = FileError("json-not-object", "{file}: holds {found}", file="a list", found="a list")
    assert say.error(folder.key, folder.english, folder.values).startswith("a list：里面是列表；")


def test_english_stays_as_it_is() -> None:
    for name, table in PHRASES.items():
        for english in table:
            assert language("en").phrase(name, english) == english


def test_phrases_are_read_with_the_first_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from tui.language import Language

    say, read, whole = Language("zh"), [], Language._read

    def watched(file: str) -> dict[str, Any]:
        read.append(file)
        return whole(file)

    monkeypatch.setattr(Language, "_read", staticmethod(watched))
    say("cli.help")
    assert read == []
    say.error("empty-text", "nothing", {"wanted": "a list"})
    assert read == ["phrases.zh.toml"]


GPT, LLAMA = "gpt2", "llama"
# Configs of the reference models that are wrong in one place.
BAD: list[tuple[str, dict[str, Any]]] = [
    (GPT, {"n_embd": 10**9}),
    (GPT, {"n_embd": "wide"}),
    (GPT, {"n_head": 7}),
    (GPT, {"activation_function": "tanh"}),
    (GPT, {"layer_norm_epsilon": -1}),
    (GPT, {"scale_attn_weights": 1}),
    (GPT, {"add_cross_attention": True}),
    (GPT, {"model_type": None}),
    (GPT, {"model_type": "mamba"}),
    (GPT, {"auto_map": {"AutoModel": "own.Model"}}),
    ("gpt-neo", {"attention_types": 5}),
    (LLAMA, {"num_key_value_heads": 3}),
    (LLAMA, {"rope_scaling": 5}),
    (LLAMA, {"rope_parameters": {"rope_type": "spiral"}}),
    (LLAMA, {"rope_parameters": {"rope_type": "linear", "factor": 0.5}}),
    (LLAMA, {"rope_parameters": {"rope_type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 1}}),
    (LLAMA, {"rope_scaling": {"rope_type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "default"}}),
    (LLAMA, {"head_dim": 7}),
    (LLAMA, {"partial_rotary_factor": 0.5}),
    (LLAMA, {"sliding_window": 5}),
    (LLAMA, {"layer_types": ["none"]}),
    (LLAMA, {"hidden_act": ["silu"]}),
    (LLAMA, {"surprise": True}),
    ("qwen2", {"use_sliding_window": True, "layer_types": ["sliding_attention"]}),
    ("qwen2", {"max_window_layers": -1}),
    ("gpt-neox", {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.01}}),
    ("marian", {"decoder_start_token_id": 10**7}),
    ("marian", {"decoder_vocab_size": 5}),
    ("bert", {"position_embedding_type": "relative"}),
]


def in_chinese(run: Callable[[], object]) -> str:
    with pytest.raises(EngineError) as caught:
        run()
    return language("zh").error(caught.value.key, caught.value.english, caught.value.values)


def without_names(text: str, folder: Path) -> str:
    """A message without paths, quoted values, and what has the look of a name."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[\w.*]*[_.*/\d][\w.*/]*", "", text.replace(str(folder), ""))


def bare(text: str, folder: Path) -> list[str]:
    return [word for word in WORD.findall(without_names(text, folder)) if word not in KEPT]


@pytest.mark.parametrize(("family", "changes"), BAD, ids=str)
def test_what_is_wrong_with_a_config_is_said_in_chinese(
    family: str, changes: dict[str, Any], oracles: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "m"
    shutil.copytree(oracles / family, folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config |= changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    said = in_chinese(lambda: load(folder))
    # Lists of names stand at the end.
    assert bare(re.sub(r"：[a-z_0-9, ]+$", "", said), tmp_path) == [], said
    assert re.search(r"[\u3400-\u9fff]", said)


@pytest.mark.parametrize("content", ["[]", "5", '"a list"', "null", "true", "{", "{} x", '{"a" 1}', "{'a'}", ""])
def test_what_is_wrong_with_json_is_said_in_chinese(content: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    said = in_chinese(lambda: load(tmp_path))
    assert bare(said, tmp_path) == [], said


@pytest.mark.parametrize(
    "content",
    [
        "tokens = 5",
        'tokens = ["a"]\nQ = {}',
        'tokens = ["a"]\nQ = []',
        'tokens = ["a"]\nQ = [[[[[1]]]]]',
        'tokens = ["a"]\nQ = {shape = 0, fill = 0}',
        'tokens = ["a"]\ntitle = 5',
        'tokens = ["a"]\nheads = 0',
        "tokens = ",
        "tokens",
        "tokens = 1 2",
    ],
)
def test_what_is_wrong_with_a_worked_example_is_said_in_chinese(content: str, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text(content)
    said = in_chinese(lambda: load_worked(str(file), 1 << 20))
    assert bare(said, tmp_path) == [], said


def test_what_the_system_says_is_said_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "config.json").symlink_to("config.json")
    said = in_chinese(lambda: load(tmp_path))
    assert bare(said, tmp_path) == [], said
