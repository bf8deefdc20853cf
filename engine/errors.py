"""Everything that can be wrong with what the engine is given, each as one sentence."""

from __future__ import annotations

from engine.text import visible


class EngineError(Exception):
    """A fault in the input, said in one line.

    ``key`` names the sentence for translation, ``english`` is its text with ``{placeholders}``, and ``values`` fills
    them. Values come from users and files, so control characters in them are made visible.
    """

    def __init__(self, key: str, english: str, **values: object) -> None:
        self.key = key
        self.english = english
        self.values = {name: visible(str(value)) for name, value in values.items()}
        super().__init__(english.format(**self.values))


class FileError(EngineError):
    """A model folder or one of its files cannot be used."""


class InputError(EngineError):
    """A text, id, stage, head or cell that does not fit the model."""
