"""What config keys mean that many families share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.architectures.config import Config
from engine.ops.curves import ActivationName

# transformers, activations.py: ACT2FN.
ACTIVATIONS: dict[str, ActivationName] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}

WINDOWED, FULL = "sliding_attention", "full_attention"


@dataclass(frozen=True)
class Heads:
    """The sizes of an attention: model width, query heads, key/value heads, head width."""

    width: int
    count: int
    shared: int
    head_width: int


def read_heads(config: Config, *, shared: int | None = None, head_width: int | None = None) -> Heads:
    """D, H, H_kv and d; ``shared`` and ``head_width`` are a family's H_kv and d where config.json does not say.

    Without one, H_kv is H, and d is D ÷ H.
    """
    width, count = config.integer("hidden_size"), config.integer("num_attention_heads")
    kv_heads = config.optional_integer("num_key_value_heads", shared) or count
    if count % kv_heads:
        raise config.wrong("num_key_value_heads", kv_heads, f"a divisor of num_attention_heads = {count}")
    if config.get("head_dim") is None and head_width is None:
        head_width = divided(config, "hidden_size", width, "num_attention_heads", count)
    return Heads(width, count, kv_heads, config.integer("head_dim", head_width))


def divided(config: Config, width_key: str, width: int, heads_key: str, heads: int) -> int:
    """The head width where heads share the model width out."""
    if width % heads:
        raise config.wrong(heads_key, heads, f"a divisor of {width_key} = {width}")
    return width // heads


def read_windows(config: Config, count: int, window: int | None, windowed: Sequence[bool]) -> tuple[int | None, ...]:
    """How many tokens back each layer sees; None: all.

    ``layer_types`` says which layers have the window, ``windowed`` where it is absent.
    """
    types = config.get("layer_types")
    if types is not None:
        if not isinstance(types, list) or len(types) != count or not all(kind in (WINDOWED, FULL) for kind in types):
            raise config.wrong("layer_types", types, f"a list of {count} times {WINDOWED} or {FULL}")
        windowed = [kind == WINDOWED for kind in types]
    if window is None and any(windowed):
        raise config.wrong("sliding_window", None, "a whole number, for layer_types asks for a window")
    return tuple(window if here else None for here in windowed)


def without_windows(config: Config, count: int) -> None:
    """The keys on windows of a family that has none: they may stand there as long as they ask for none."""
    config.only("use_sliding_window", False)
    window = config.get("sliding_window")
    if window is not None and config.get("use_sliding_window") is None:
        raise config.wrong("sliding_window", window, "null (this family has no window)")
    config.get("max_window_layers")
    read_windows(config, count, None, (False,) * count)
