"""Every sentence the user reads, in Chinese and English: one TOML file a language, the same keys in both."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

LANGUAGES = ("zh", "en")


class Language:
    """The sentences of one language, by dotted key: ``language("help.title")``."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._tables = self._read(f"{code}.toml")

    @cached_property
    def _stages(self) -> dict[str, Any]:
        return self._read(f"stages.{self.code}.toml")

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
        sentence = self._tables.get("errors", {}).get(key, english)
        return str(sentence).format(**values)

    def keys(self, table: str) -> list[str]:
        """The names in a table, in the file's order."""
        return list(self._tables[table])


@cache
def language(code: str) -> Language:
    """The language of a code, read once."""
    return Language(code)


def locale_language() -> str:
    """The language that the environment asks for: Chinese where the locale is, else English."""
    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if named.lower().startswith("zh") else "en"
