"""From config.json's ``model_type`` to the adapter that understands it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.architectures import llama
from engine.architectures.config import Config
from engine.architectures.description import DecoderSpec
from engine.architectures.places import Places
from engine.errors import FileError


@dataclass(frozen=True)
class Family:
    """How one ``model_type`` is read."""

    describe: Callable[[Config], DecoderSpec]
    places: Places


FAMILIES = {
    "llama": Family(llama.describe_llama, llama.PLACES),
    "qwen2": Family(llama.describe_qwen2, llama.PLACES),
}


def family(config: Config) -> Family:
    """The adapter for a config.

    Raises:
        FileError: the model_type is missing or not supported; the message lists those that are.
    """
    name = config.get("model_type")
    found = FAMILIES.get(name) if isinstance(name, str) else None
    if found is None:
        raise FileError(
            "unknown-model-type",
            "{file}: model_type {name} is not supported; these are: {supported}",
            file=config.file,
            name=repr(name)[:80],
            supported=", ".join(sorted(FAMILIES)),
        )
    return found
