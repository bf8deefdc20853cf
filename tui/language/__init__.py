"""Every sentence the user reads, in Chinese and English: one TOML file a language, the same keys in both."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

LANGUAGES = ("zh", "en")
ENGLISH = "en"
HAN = r"[\u3400-\u9fff]"


class Language:
    """The sentences of one language, by dotted key: ``language("help.title")``."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._tables = self._read(f"{code}.toml")

    @cached_property
    def _stages(self) -> dict[str, Any]:
        return self._read(f"stages.{self.code}.toml")

    @cached_property
    def _phrases(self) -> dict[str, list[tuple[re.Pattern[str], str]]]:
        """By the name of a value, the English phrases that it can be, and what they are here; English needs none."""
        # Read with the first error, for nothing else needs them.
        tables = {} if self.code == ENGLISH else self._read(f"phrases.{self.code}.toml")
        return {name: [(_pattern(key), text) for key, text in table.items()] for name, table in tables.items()}

    @staticmethod
    def _read(file: str) -> dict[str, Any]:
        return tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))

    def __call__(self, key: str, **values: object) -> str:
        """The sentence with its ``{placeholders}`` filled.

        Raises:
            KeyError: there is no such sentence; a test proves that every key in the code exists in every language.
        """
        table, _, name = key.rpartition(".")
        found = self._tables[table][name]
        return str(found).format(**values) if values else str(found)

    def about(self, kind: str, field: str, values: Mapping[str, object]) -> str:
        """What is said about a kind of stage, weight or constant: its ``name``, ``title``, ``explain`` or ``look``."""
        return str(self._stages[kind][field]).format(**values)

    def group(self, name: str, layer: int | None = None) -> str:
        """What a group of stages is called in the tree."""
        return str(self._stages["groups"][name]).format(layer=layer)

    def explains(self, kind: str) -> bool:
        """Whether anything is said about a kind."""
        return kind in self._stages

    def error(self, key: str, english: str, values: Mapping[str, object]) -> str:
        """An error of the engine in this language; its English comes with it."""
        sentence = str(self._tables.get("errors", {}).get(key, english))
        said = {name: self.phrase(name, value) for name, value in values.items()}
        for name, value in said.items():
            if value != values[name]:
                sentence = _closed_up(sentence, name, str(value))
        return sentence.format(**said)

    def phrase(self, name: str, value: object) -> object:
        """A value of the engine's, such as what is ``wanted``, in this language; what is no phrase stays as it is.

        Only the names that have a table are looked up, and only whole values: what users wrote is never translated.
        """
        for pattern, text in self._phrases.get(name, ()):
            if found := pattern.fullmatch(str(value)):
                return text.format(*found.groups())
        return value

    def keys(self, table: str) -> list[str]:
        """The names in a table, in the file's order."""
        return list(self._tables[table])


def _pattern(phrase: str) -> re.Pattern[str]:
    """What an English phrase looks like with its places, ``{0}``, ``{1}`` …, filled."""
    return re.compile(re.sub(r"\\\{\d\\\}", "(.+)", re.escape(phrase)), re.DOTALL)


def _closed_up(sentence: str, name: str, value: str) -> str:
    """The sentence without the blank that sets off a value from Chinese, where the value is Chinese there itself."""
    place = re.escape(f"{{{name}}}")
    if re.match(HAN, value):
        sentence = re.sub(f"(?<={HAN}) (?={place})", "", sentence)
    return re.sub(f"(?<={place}) (?={HAN})", "", sentence) if re.search(f"{HAN}$", value) else sentence


@cache
def language(code: str) -> Language:
    """The language of a code, read once."""
    return Language(code)


def locale_language() -> str:
    """The language that the environment asks for: Chinese where the locale is, else English."""
    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if named.lower().startswith("zh") else "en"
