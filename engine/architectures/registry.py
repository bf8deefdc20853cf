"""From config.json's ``model_type`` to the adapter that understands it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.architectures import bert, gemma, gpt2, gpt_neox, llama, marian, phi
from engine.architectures.config import Config
from engine.architectures.description import ModelSpec
from engine.architectures.places import Places
from engine.checkpoints.files import shown
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
        classes: the Python classes that published folders may name for it, for transformers has the same under the
            same names; any other code would compute who knows what.
    """

    describe: Callable[[Config], ModelSpec]
    places: Callable[[ModelSpec], Places]
    classes: frozenset[str]
    fit: Callable[[ModelSpec, Has], ModelSpec] = whole
    apart: re.Pattern[str] | None = None


def classes(module: str, prefix: str, *models: str, config: str = "Config") -> frozenset[str]:
    """What transformers calls a family's classes, as ``auto_map`` spells them: ``modeling_phi3.Phi3ForCausalLM``."""
    modelled = {f"modeling_{module}.{prefix}{name}" for name in models or ("Model", "ForCausalLM")}
    return frozenset({f"configuration_{module}.{prefix}{config}"} | modelled)


BERT = classes("bert", "Bert", "Model", "ForMaskedLM", "ForPreTraining")
GEMMA3 = classes("gemma3", "Gemma3", "TextModel", "ForCausalLM", config="TextConfig")
GPT2 = classes("gpt2", "GPT2", "Model", "LMHeadModel")
MARIAN = classes("marian", "Marian", "Model", "MTModel")

FAMILIES = {
    "bert": Family(bert.describe, bert.places, BERT, bert.fit, bert.OTHER_HEADS),
    "gemma": Family(gemma.describe_gemma, llama.places, classes("gemma", "Gemma")),
    "gemma2": Family(gemma.describe_gemma2, gemma.sandwich_places, classes("gemma2", "Gemma2")),
    "gemma3_text": Family(gemma.describe_gemma3, gemma.sandwich_places, GEMMA3),
    "gpt2": Family(gpt2.describe_gpt2, gpt2.gpt2_places, GPT2),
    "gpt_neo": Family(gpt2.describe_gpt_neo, gpt2.neo_places, classes("gpt_neo", "GPTNeo")),
    "gpt_neox": Family(gpt_neox.describe, gpt_neox.places, classes("gpt_neox", "GPTNeoX")),
    "llama": Family(llama.describe_llama, llama.places, classes("llama", "Llama")),
    "marian": Family(marian.describe, marian.places, MARIAN, marian.fit),
    "mistral": Family(llama.describe_mistral, llama.places, classes("mistral", "Mistral")),
    "phi": Family(phi.describe_phi, phi.places, classes("phi", "Phi")),
    "phi3": Family(phi.describe_phi3, phi.phi3_places, classes("phi3", "Phi3")),
    "qwen2": Family(llama.describe_qwen2, llama.places, classes("qwen2", "Qwen2")),
    "qwen3": Family(llama.describe_qwen3, llama.places, classes("qwen3", "Qwen3")),
}


def family(config: Config) -> Family:
    """The adapter for a config.

    Raises:
        FileError: the model_type is missing, or not supported, and the message lists those that are. Or the config
            names Python code of its own.
    """
    name = config.get("model_type")
    if name is None:
        raise config.missing("model_type")
    found = FAMILIES.get(name) if isinstance(name, str) else None
    if found is None:
        raise FileError(
            "unknown-model-type",
            "{file}: model_type {name} is not supported; these are: {supported}",
            file=config.file,
            name=shown(name),
            supported=", ".join(sorted(FAMILIES)),
        )
    _check_code(config, found)
    return found


def _check_code(config: Config, family: Family) -> None:
    """Refuse a config that asks for other code than the library's own, which is what the adapter computes."""
    named = config.get("auto_map", {})
    entries = named.values() if isinstance(named, dict) else [named]
    if not all(isinstance(entry, str) and entry in family.classes for entry in entries):
        raise FileError(
            "config-custom-code",
            "{file}: auto_map is {value}, Python code of its own, which is never run; only the classes that "
            "transformers has itself are known: {known}",
            file=config.file,
            value=shown(named, 160),
            known=", ".join(sorted(family.classes)),
        )
