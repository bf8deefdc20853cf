"""From config.json's ``model_type`` to the adapter that understands it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.architectures import bert, gemma, gpt2, gpt_neox, llama, marian, phi
from engine.architectures.config import Config
from engine.architectures.description import ModelSpec
from engine.architectures.places import Places
from engine.checkpoints.files import shortened
from engine.errors import FileError

# Whether a checkpoint holds the weight of a name.
Has = Callable[[str], bool]


def whole(spec: ModelSpec, has: Has) -> ModelSpec:
    """The description of a family whose checkpoints leave out no part."""
    return spec


@dataclass(frozen=True)
class Family:
    """How one ``model_type`` is read.

    Attributes:
        describe: config.json → what the model is made of.
        places: where its files keep each weight.
        fit: leaves out of the description the parts that a checkpoint need not have.
        apart: tensors of parts that no trace shows; they are no fault.
    """

    describe: Callable[[Config], ModelSpec]
    places: Callable[[ModelSpec], Places]
    fit: Callable[[ModelSpec, Has], ModelSpec] = whole
    apart: re.Pattern[str] | None = None


FAMILIES = {
    "bert": Family(bert.describe, bert.places, bert.fit, bert.NEXT_SENTENCE),
    "gemma": Family(gemma.describe_gemma, llama.places),
    "gemma2": Family(gemma.describe_gemma2, gemma.sandwich_places),
    "gemma3_text": Family(gemma.describe_gemma3, gemma.sandwich_places),
    "gpt2": Family(gpt2.describe_gpt2, gpt2.gpt2_places),
    "gpt_neo": Family(gpt2.describe_gpt_neo, gpt2.neo_places),
    "gpt_neox": Family(gpt_neox.describe, gpt_neox.places),
    "llama": Family(llama.describe_llama, llama.places),
    "marian": Family(marian.describe, marian.places, marian.fit, marian.POSITIONS),
    "mistral": Family(llama.describe_mistral, llama.places),
    "phi": Family(phi.describe_phi, phi.places),
    "phi3": Family(phi.describe_phi3, phi.phi3_places),
    "qwen2": Family(llama.describe_qwen2, llama.places),
    "qwen3": Family(llama.describe_qwen3, llama.places),
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
            name=shortened(repr(name), 80),
            supported=", ".join(sorted(FAMILIES)),
        )
    return found
