"""Every sentence in both languages: the same keys, the same placeholders, and none that the code asks for in vain."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import engine
import tui
from engine.errors import FileError
from engine.model import load
from tui.actions import ACTIONS, FOOTER
from tui.language import LANGUAGES, language, locale_language

SOURCES = [Path(package.__file__ or "").parent for package in (engine, tui)]
TABLES = SOURCES[1] / "language"
# Half-width punctuation in a Chinese sentence, where a placeholder may stand for Chinese too.
HALF_WIDTH = re.compile(r"[\u3400-\u9fff}][,:;?!](?=[\u3400-\u9fff{]|$)|[\u3400-\u9fff]\(|\)[\u3400-\u9fff]")


def table(file: str) -> dict[str, dict[str, str]]:
    return tomllib.loads((TABLES / file).read_text("utf-8"))


@cache
def sentences(kind: str, code: str) -> dict[str, str]:
    """The sentences of ``xx.toml`` or ``stages.xx.toml`` by dotted key; of errors the English is in the code."""
    found = table(f"{kind}{code}.toml")
    found.pop("errors", None)
    return {f"{name}.{key}": text for name, entries in found.items() for key, text in entries.items()}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@dataclass(frozen=True)
class Error:
    """An error as the code raises it: its key, its English, and the values it comes with."""

    place: str
    key: str
    english: str
    values: frozenset[str]


@dataclass
class Scope:
    """The constants and dict literals that names stand for where an error is raised."""

    texts: dict[str, ast.expr]

    def text(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name):
            return self.text(self.texts[node.id])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.text(node.left) + self.text(node.right)
        raise AssertionError(f"line {node.lineno}: the English of an error must be a text that can be looked up")

    def names(self, node: ast.keyword) -> set[str]:
        if node.arg is not None:
            return {node.arg}
        found = self.texts[node.value.id] if isinstance(node.value, ast.Name) else node.value
        assert isinstance(found, ast.Dict)
        return {str(key.value) for key in found.keys if isinstance(key, ast.Constant)}


def assignments(nodes: Iterator[ast.AST]) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


@cache
def sources() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text("utf-8")) for root in SOURCES for file in sorted(root.rglob("*.py"))}


@cache
def errors() -> list[Error]:
    """Every FileError and InputError in the code."""
    constants = assignments(node for tree in sources().values() for node in tree.body)
    found = []
    for file, tree in sources().items():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if not (isinstance(call.func, ast.Name) and call.func.id in ("FileError", "InputError")):
                continue
            around = [each for each in functions if each.lineno <= call.lineno <= (each.end_lineno or 0)]
            before = (node for each in around for node in ast.walk(each) if getattr(node, "lineno", 1e9) <= call.lineno)
            scope = Scope(
                constants | assignments(sorted(before, key=lambda node: getattr(node, "lineno", 0)).__iter__())
            )
            values = frozenset(name for keyword in call.keywords for name in scope.names(keyword))
            key, english = (scope.text(node) for node in call.args)
            found.append(Error(f"{file.name}:{call.lineno}", key, english, values))
    return found


def asked_for() -> Iterator[tuple[str, str, bool]]:
    """What the interface asks a Language to say: where, the key or what it begins with, and whether that is all."""
    for file, tree in sources().items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            if name not in ("say", "_say") or not call.args:
                continue
            key = call.args[0]
            for node in (key.body, key.orelse) if isinstance(key, ast.IfExp) else (key,):
                begins = (
                    node.values[0] if isinstance(node, ast.JoinedStr) else getattr(node, "left", node)
                )  # f"keys.{id}", "report.axis_" + symbol
                assert isinstance(begins, ast.Constant), f"{file.name}:{call.lineno}"
                yield f"{file.name}:{call.lineno}", str(begins.value), begins is node


@pytest.mark.parametrize("kind", ["", "stages."])
def test_both_languages_say_the_same_things(kind: str) -> None:
    chinese, english = (sentences(kind, code) for code in ("zh", "en"))
    assert list(chinese) == list(english)
    assert len(english) > 50
    for key, text in english.items():
        assert placeholders(chinese[key]) == placeholders(text), key
        assert text.strip(), key
        assert chinese[key].strip(), key


def test_every_sentence_that_is_asked_for_is_there() -> None:
    known = sentences("", "en")
    assert sum(whole for _, _, whole in asked_for()) > 40
    for place, key, whole in asked_for():
        assert key in known if whole else any(each.startswith(key) for each in known), f"{place} asks for {key}"


def test_every_sentence_is_asked_for() -> None:
    keys = {key for _, key, whole in asked_for() if whole}
    beginnings = tuple(key for _, key, whole in asked_for() if not whole)
    assert [key for key in sentences("", "en") if key not in keys and not key.startswith(beginnings)] == []


def test_every_action_has_its_names() -> None:
    wanted = {f"keys.{action.id}" for action in ACTIONS} | {f"help.{action.group}" for action in ACTIONS}
    wanted |= {f"short.{name}" for name, _ in FOOTER}
    assert wanted <= set(sentences("", "en"))
    assert {key for key in sentences("", "en") if key.startswith("keys.")} <= wanted


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_stage_is_explained(code: str) -> None:
    say = language(code)
    for stage in load("tiny-gpt").trace("我"):
        assert say.explains(stage.kind), stage.kind


def test_every_error_comes_with_the_values_that_it_speaks_of() -> None:
    assert len(errors()) > 40
    for error in errors():
        assert placeholders(error.english) <= error.values, error
        assert error.english[0] in "{abcdefghijklmnopqrstuvwxyz", error
        assert not error.english.endswith("."), error


def test_every_error_has_its_chinese() -> None:
    chinese = table("zh.toml")["errors"]
    assert {error.key for error in errors()} == set(chinese)
    for error in errors():
        assert placeholders(chinese[error.key]) <= error.values, error
        assert re.search(r"[\u3400-\u9fff]", chinese[error.key]), error
        assert not chinese[error.key].endswith("。"), error


def test_the_english_of_errors_is_in_the_code_alone() -> None:
    assert table("en.toml").get("errors", {}) == {}


@pytest.mark.parametrize("file", ["zh.toml", "stages.zh.toml"])
def test_chinese_has_chinese_punctuation(file: str) -> None:
    found = {
        f"{name}.{key}": match[0]
        for name, entries in table(file).items()
        for key, text in entries.items()
        if (match := HALF_WIDTH.search(text))
    }
    assert found == {}


def test_an_error_in_both_languages() -> None:
    values: dict[str, Any] = {"file": "a/model.safetensors", "tensor": "x", "dtype": "I8", "supported": "F32"}
    error = FileError(
        "tensor-dtype", "{file}: tensor {tensor} is stored as {dtype}; only {supported} can be read", **values
    )
    assert language("en").error(error.key, error.english, error.values) == str(error)
    chinese = language("zh").error(error.key, error.english, error.values)
    assert all(value in chinese for value in values.values())
    assert chinese != str(error)
    assert language("zh").error("no-such-key", error.english, error.values) == str(error)


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_language_is_the_locales(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], code: str) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert locale_language() == code
