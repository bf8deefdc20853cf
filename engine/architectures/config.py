"""Reading config.json: every value checked, every key accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from engine.checkpoints.files import shortened, shown
from engine.errors import FileError

T = TypeVar("T")

# Larger than any published model; a hostile file must not make us count to a billion.
LIMIT = 1 << 24
MOST_LAYERS = 1024
# Numbers that float32 holds with room to reckon in; every published setting lies between them.
LEAST_REAL, MOST_REAL = 1e-30, 1e30

# What a checkpoint says about training, generation, storage or its authors' software: none of it changes a number here.
IGNORED = frozenset(
    {
        "_attn_implementation",
        "_attn_implementation_autoset",
        "_attn_implementation_internal",
        "_commit_hash",
        "_flash_attn_2_enabled",
        "_name_or_path",
        "_num_labels",
        "activation_dropout",
        "add_cross_attention",
        "architectures",
        "attention_dropout",
        "attention_probs_dropout_prob",
        "attn_implementation",
        "attn_pdrop",
        "attribute_map",
        "bad_words_ids",
        "begin_suppress_tokens",
        "bos_token_id",
        "cache_implementation",
        "chunk_size_feed_forward",
        "classif_dropout",
        "classifier_dropout",
        "cross_attention_hidden_size",
        "custom_pipelines",
        "decoder_layerdrop",
        "decoder_start_token_id",
        "directionality",
        "diversity_penalty",
        "do_sample",
        "dropout",
        "dtype",
        "early_stopping",
        "embd_pdrop",
        "embed_dropout",
        "encoder_layerdrop",
        "encoder_no_repeat_ngram_size",
        "eos_token_id",
        "exponential_decay_length_penalty",
        "finetuned",
        "finetuning_task",
        "force_bos_token_to_be_generated",
        "forced_bos_token_id",
        "forced_eos_token_id",
        "gradient_checkpointing",
        "hidden_dropout",
        "hidden_dropout_prob",
        "id2label",
        "ignore_index",
        "init_std",
        "initializer_range",
        "is_decoder",
        "is_encoder_decoder",
        "is_llama_config",
        "label2id",
        "language",
        "length_penalty",
        "license",
        "mask_token_id",
        "max_length",
        "max_sequence_length",
        "min_length",
        "model_max_length",
        "model_type",
        "n_ctx",
        "name_or_path",
        "no_repeat_ngram_size",
        "num_beam_groups",
        "num_beams",
        "num_labels",
        "num_return_sequences",
        "output_attentions",
        "output_hidden_states",
        "output_past",
        "output_scores",
        "pad_token_id",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
        "predict_special_tokens",
        "prefix",
        "pretraining_tp",
        "problem_type",
        "pruned_heads",
        "remove_invalid_values",
        "reorder_and_upcast_attn",
        "repetition_penalty",
        "resid_dropout",
        "resid_pdrop",
        "return_dict",
        "return_dict_in_generate",
        "rope_interleaved",
        "save_step",
        "sbert_ce_default_activation_function",
        "sentence_transformers",
        "sep_token_id",
        "summary_activation",
        "summary_first_dropout",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
        "suppress_tokens",
        "task_specific_params",
        "temperature",
        "tf_legacy_loss",
        "tie_encoder_decoder",
        "tokenizer_class",
        "tokenizer_model_max_length",
        "top_k",
        "top_p",
        "torch_dtype",
        "torchscript",
        "transformers.js_config",
        "transformers_version",
        "trust_remote_code",
        "typical_p",
        "unk_token_id",
        "unsloth_fixed",
        "unsloth_version",
        "use_bfloat16",
        "use_cache",
        "use_return_dict",
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

    def integer(self, key: str, default: int | None = None, most: int = LIMIT) -> int:
        """A whole number from 1 to ``most``."""
        value = self.get(key, default)
        if value is None:
            raise self.missing(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise self.wrong(key, value, f"a whole number from 1 to {most}")
        return value

    def layers(self, key: str) -> int:
        """A number of layers: each is recorded one by one, so a hostile file must not ask for millions."""
        return self.integer(key, most=MOST_LAYERS)

    def real(self, key: str, default: float | None = None, least: float = LEAST_REAL) -> float:
        """A number from ``least`` to `MOST_REAL`."""
        value = self.get(key, default)
        if value is None:
            raise self.missing(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= MOST_REAL:
            raise self.wrong(key, value, f"a number from {least:g} to {MOST_REAL:g}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def given(self, key: str) -> bool:
        """Whether the file has the key, be it with null: where null says "none", absence says the family's default."""
        return key in self._values

    def optional_integer(self, key: str, default: int | None) -> int | None:
        """A whole number from 1, or None where the file says null; the default where the key is absent."""
        if self.get(key) is None:
            return None if self.given(key) else default
        return self.integer(key)

    def optional_real(self, key: str, default: float | None) -> float | None:
        """A positive number, or None where the file says null; the default where the key is absent."""
        if self.get(key) is None:
            return None if self.given(key) else default
        return self.real(key)

    def reals(self, key: str, count: int) -> tuple[float, ...]:
        """A list of so many positive numbers."""
        values = self.get(key)
        if values is None:
            raise self.missing(key)
        if not isinstance(values, list) or len(values) != count:
            raise self.wrong(key, values, f"a list of {count} numbers")
        return tuple(Config({f"{key}[{i}]": value}, self.file).real(f"{key}[{i}]") for i, value in enumerate(values))

    def token(self, key: str, default: int | None = None) -> int:
        """A token id; of several, the first."""
        value = self.get(key, default)
        if value is None:
            raise self.missing(key)
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first < LIMIT:
            raise self.wrong(key, value, f"a token id from 0 to {LIMIT - 1}")
        return first

    def choice(self, key: str, options: Mapping[str, T], default: str) -> T:
        """What one of several names stands for."""
        value = self.get(key, default)
        if not isinstance(value, str) or value not in options:
            raise self.wrong(key, value, " or ".join([", ".join(list(options)[:-1]), list(options)[-1]]))
        return options[value]

    def only(self, key: str, *values: object) -> None:
        """Refuse a value that would change numbers: the key may be absent, null, or one of these."""
        value = self.get(key)
        if value is not None and not any(type(value) is type(known) and value == known for known in values):
            raise self.wrong(key, value, " or ".join(str(known).lower() for known in values))

    def section(self, key: str) -> Config | None:
        """A nested object as a Config of its own; None where it is absent or null."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, value, "an object")
        return Config(value, self.file)

    def finish(self) -> None:
        """Refuse every key that nobody asked for and that may change numbers; null asks for nothing."""
        given = {key for key, value in self._values.items() if value is not None}
        unknown = sorted(given - self._used - IGNORED)
        if unknown:
            raise FileError(
                "config-unknown-key",
                "{file}: the key {entry} = {value} is not understood and may change the numbers",
                file=self.file,
                entry=shortened(unknown[0], 80),
                value=shown(self._values[unknown[0]]),
            )

    def wrong(self, key: str, value: object, wanted: str) -> FileError:
        """The error for a value that cannot be."""
        return FileError(
            "config-value",
            "{file}: {entry} is {value}; {wanted} is expected",
            file=self.file,
            entry=key,
            value=shown(value),
            wanted=wanted,
        )

    def missing(self, key: str) -> FileError:
        """The error for a key that must be there."""
        return FileError("config-missing-key", "{file}: the key {entry} is missing", file=self.file, entry=key)
