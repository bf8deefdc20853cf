"""Reading config.json: every value checked, every key accounted for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from engine.errors import FileError

# Larger than any published model; a hostile file must not make us count to a billion.
LIMIT = 1 << 24
MOST_LAYERS = 1024

# What a checkpoint says about training, generation, storage or its authors' software: none of it changes a number here.
IGNORED = frozenset(
    {
        "_attn_implementation",
        "_attn_implementation_autoset",
        "_commit_hash",
        "_name_or_path",
        "add_cross_attention",
        "architectures",
        "attention_dropout",
        "attn_implementation",
        "attribute_map",
        "begin_suppress_tokens",
        "bos_token_id",
        "chunk_size_feed_forward",
        "classifier_dropout",
        "cross_attention_hidden_size",
        "decoder_start_token_id",
        "diversity_penalty",
        "do_sample",
        "dtype",
        "early_stopping",
        "encoder_no_repeat_ngram_size",
        "eos_token_id",
        "exponential_decay_length_penalty",
        "finetuning_task",
        "forced_bos_token_id",
        "forced_eos_token_id",
        "hidden_dropout",
        "id2label",
        "initializer_range",
        "is_decoder",
        "is_encoder_decoder",
        "is_llama_config",
        "label2id",
        "length_penalty",
        "max_length",
        "min_length",
        "model_type",
        "no_repeat_ngram_size",
        "num_beam_groups",
        "num_beams",
        "num_return_sequences",
        "output_attentions",
        "output_hidden_states",
        "output_scores",
        "pad_token_id",
        "prefix",
        "pretraining_tp",
        "problem_type",
        "pruned_heads",
        "remove_invalid_values",
        "repetition_penalty",
        "resid_pdrop",
        "return_dict",
        "return_dict_in_generate",
        "rope_interleaved",
        "sep_token_id",
        "suppress_tokens",
        "task_specific_params",
        "temperature",
        "tf_legacy_loss",
        "tie_encoder_decoder",
        "tokenizer_class",
        "top_k",
        "top_p",
        "torch_dtype",
        "torchscript",
        "transformers.js_config",
        "transformers_version",
        "typical_p",
        "use_bfloat16",
        "use_cache",
    }
)


class Config:
    """The keys of a config.json, each asked for by the family that understands it; `finish` names the rest."""

    def __init__(self, values: dict[str, Any], file: Path) -> None:
        self.file = file
        self._values = values
        self._used: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """The value as it stands in the file; the default where it is absent or null."""
        self._used.add(key)
        value = self._values.get(key)
        return default if value is None else value

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number from 1 to `LIMIT`."""
        value = self.get(key, default)
        if value is None:
            raise self._missing(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LIMIT:
            raise self.wrong(key, value, f"a whole number from 1 to {LIMIT}")
        return value

    def layers(self, key: str) -> int:
        """A number of layers: each is recorded one by one, so a hostile file must not ask for millions."""
        count = self.integer(key)
        if count > MOST_LAYERS:
            raise self.wrong(key, count, f"a whole number from 1 to {MOST_LAYERS}")
        return count

    def real(self, key: str, default: float | None = None) -> float:
        """A positive finite number."""
        value = self.get(key, default)
        if value is None:
            raise self._missing(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.wrong(key, value, "a positive number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def section(self, key: str) -> Config | None:
        """A nested object as a Config of its own; None where it is absent or null."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, value, "an object")
        return Config(value, self.file)

    def finish(self) -> None:
        """Refuse every key that nobody asked for and that may change numbers."""
        unknown = sorted(set(self._values) - self._used - IGNORED)
        if unknown:
            raise FileError(
                "config-unknown-key",
                "{file}: the key {entry} = {value} is not understood and may change the numbers",
                file=self.file,
                entry=unknown[0],
                value=self._values[unknown[0]],
            )

    def wrong(self, key: str, value: object, wanted: str) -> FileError:
        """The error for a value that cannot be."""
        return FileError(
            "config-value",
            "{file}: {entry} is {value}; {wanted} is expected",
            file=self.file,
            entry=key,
            value=repr(value)[:80],
            wanted=wanted,
        )

    def _missing(self, key: str) -> FileError:
        return FileError("config-missing-key", "{file}: the key {entry} is missing", file=self.file, entry=key)
