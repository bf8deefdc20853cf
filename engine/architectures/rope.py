"""The frequencies of rotary positions, from either spelling of config.json.

Formulas as in transformers, modeling_rope_utils.py, in float32 and in its order, so that the last digits agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from engine.architectures.config import Config
from engine.architectures.description import RopeSpec
from engine.operand import Array

# Far more than any published head has; every pair's frequency is worked out before the tensors are looked at.
MOST_ROTATED = 4096


@dataclass(frozen=True)
class RopeKeys:
    """How a family spells and defaults what its rotary positions depend on.

    ``share`` is the part of each head that is turned where the config does not say; ``share_key`` and ``theta_key`` are
    the older spelling's names. ``original`` is the length that the family's models were first trained for, where it is
    not what the config says; ``renamed`` maps the family's own names of scalings to the general ones.
    """

    theta: float = 10000.0
    theta_key: str = "rope_theta"
    share: float = 1.0
    share_key: str | None = None
    original: int | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)


LLAMA_KEYS = RopeKeys()


@dataclass(frozen=True)
class Pairs:
    """What a scaling works on: θ, the r turned coordinates, and how long a text the model was made for."""

    theta: float
    rotated: int
    positions: int
    original: int

    @property
    def powers(self) -> Array:
        """θ^(2i/r) of every pair."""
        return self.powers_of(self.theta)

    def powers_of(self, theta: float) -> Array:
        """The same for another θ."""
        exponents = np.arange(0, self.rotated, 2, dtype=np.float32) / np.float32(self.rotated)
        powers: Array = np.float32(theta) ** exponents
        return powers

    @property
    def inverse(self) -> Array:
        """The frequency θ^(−2i/r) of every pair."""
        return np.float32(1.0) / self.powers


def read_rope(config: Config, head_width: int, positions: int, keys: RopeKeys = LLAMA_KEYS) -> tuple[RopeSpec, int]:
    """Rotary positions as config.json describes them, and how many tokens a text may have with them.

    ``rope_parameters`` holds everything in newer files; ``rope_theta`` and ``rope_scaling`` in most published ones.
    ``positions`` is the config's own limit, which a scaling by a factor may exceed.
    """
    newer, older = config.section("rope_parameters"), config.section("rope_scaling")
    if newer is not None and older is not None:
        raise config.wrong("rope_scaling", config.get("rope_scaling"), "null beside rope_parameters")
    theta = config.real(keys.theta_key, keys.theta, least=1)
    share = keys.share
    if keys.share_key is not None:
        share = config.real(keys.share_key, keys.share)
        _agree(config, "partial_rotary_factor", keys.share_key, share)
    _agree(config, "rope_theta", keys.theta_key, theta)
    return read_section(config, newer or older, head_width, positions, replace(keys, theta=theta, share=share))


def _agree(config: Config, key: str, own: str, value: float) -> None:
    """Some files carry the general name of a setting beside the family's own; alone, it is not read there."""
    if config.get(own) is not None and config.real(key, value) != value:
        raise config.wrong(key, config.get(key), f"{value:g} (as {own} says)")
    config.get(key)


def read_section(
    config: Config, section: Config | None, head_width: int, positions: int, keys: RopeKeys = LLAMA_KEYS
) -> tuple[RopeSpec, int]:
    """As `read_rope`, from one object that may hold everything; what it does not say is as in ``keys``."""
    theta, share, kind = keys.theta, keys.share, "default"
    if section is not None:
        theta = section.real("rope_theta", theta, least=1)
        share = section.real("partial_rotary_factor", share)
        kind = section.get("rope_type", section.get("type", "default"))
        section.get("type")
        kind = keys.renamed.get(kind, kind) if isinstance(kind, str) else kind
    if keys.share_key is None:
        for part in (share, config.real("partial_rotary_factor", 1.0)):
            if part != 1.0:
                raise config.wrong("partial_rotary_factor", part, "1 (this family turns whole heads)")
    rotated = _rotated(config, head_width, share, keys)
    scale = SCALINGS.get(kind) if isinstance(kind, str) else None
    if scale is None:
        raise config.wrong("rope_scaling", kind, "one of " + ", ".join(SCALINGS))
    # Some files keep the length that the model was first trained for beside the object, and that one counts.
    original = positions if section is None else section.integer("original_max_position_embeddings", positions)
    original = config.integer("original_max_position_embeddings", keys.original or original)
    spec, limit = scale(Pairs(theta, rotated, positions, original), section or config)
    if section is not None:
        section.finish()
    return spec, limit


def _rotated(config: Config, head_width: int, share: float, keys: RopeKeys) -> int:
    """How many coordinates of each head are turned, in pairs."""
    rotated = int(head_width * share)
    if 2 <= rotated <= min(head_width, MOST_ROTATED) and rotated % 2 == 0:
        return rotated
    if keys.share_key is not None:
        key = keys.share_key if config.get(keys.share_key) is not None else "partial_rotary_factor"
        most = min(head_width, MOST_ROTATED)
        wanted = f"a part of each head's {head_width} coordinates that is an even number of them, from 2 to {most}"
        raise config.wrong(key, share, wanted)
    key = "head_dim" if config.get("head_dim") is not None else "hidden_size ÷ num_attention_heads"
    raise config.wrong(key, head_width, f"an even number of coordinates to turn, from 2 to {MOST_ROTATED}")


def _formula(pairs: Pairs, rest: str = "") -> str:
    return f"θ = n · {pairs.theta:g}^(−2i/{pairs.rotated}){rest}"


def _numbers(array: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in array.astype(np.float32))


def _default(pairs: Pairs, keys: Config) -> tuple[RopeSpec, int]:
    """Su et al. 2021, arXiv:2104.09864."""
    return RopeSpec(_numbers(pairs.inverse), _formula(pairs)), pairs.positions


def _linear(pairs: Pairs, keys: Config) -> tuple[RopeSpec, int]:
    """Positions squeezed by a factor (Chen et al. 2023, arXiv:2306.15595)."""
    factor = keys.real("factor", least=1)
    inverse = pairs.inverse / np.float32(factor)
    return RopeSpec(_numbers(inverse), _formula(pairs, f" ÷ {factor:g}")), int(pairs.positions * factor)


def _dynamic(pairs: Pairs, keys: Config) -> tuple[RopeSpec, int]:
    """θ grows with a text that is longer than the model was made for ("dynamic NTK", bloc97 and emozilla 2023)."""
    factor = keys.real("factor", least=1)
    if pairs.rotated == 2:
        raise keys.wrong("rope_type", "dynamic", "another scaling, for one turned pair alone cannot be stretched")

    def longer(length: int) -> tuple[float, ...]:
        stretch = factor * length / pairs.positions - (factor - 1)
        theta = pairs.theta * stretch ** (pairs.rotated / (pairs.rotated - 2))
        return _numbers(np.float32(1.0) / pairs.powers_of(theta))

    formula = _formula(pairs, f"  (n ≤ {pairs.positions}; dynamic)")
    return RopeSpec(_numbers(pairs.inverse), formula, 1.0, pairs.positions, longer), int(pairs.positions * factor)


def _llama3(pairs: Pairs, keys: Config) -> tuple[RopeSpec, int]:
    """Slow pairs squeezed by a factor, fast ones left, those between blended (Dubey et al. 2024, arXiv:2407.21783)."""
    factor, original = keys.real("factor", least=1), pairs.original
    low, high = keys.real("low_freq_factor", 1.0), keys.real("high_freq_factor", 4.0)
    if low >= high:
        raise keys.wrong("high_freq_factor", high, f"a number above low_freq_factor = {low:g}")
    inverse = pairs.inverse
    wavelength = np.float32(2 * math.pi) / inverse
    smooth = (np.float32(original) / wavelength - np.float32(low)) / np.float32(high - low)
    blended = (1 - smooth) * inverse / np.float32(factor) + smooth * inverse
    slow, fast = wavelength > original / low, wavelength < original / high
    scaled = np.where(slow, inverse / np.float32(factor), np.where(fast, inverse, blended))
    return RopeSpec(_numbers(scaled), _formula(pairs, "  (llama3)")), pairs.positions


def _yarn(pairs: Pairs, keys: Config) -> tuple[RopeSpec, int]:
    """Slow pairs squeezed by a factor, fast ones left, with a ramp between (Peng et al. 2023, arXiv:2309.00071)."""
    factor, original = keys.real("factor", least=1), pairs.original
    magnitude = keys.get("attention_factor")
    mscale, mscale_all = keys.get("mscale"), keys.get("mscale_all_dim")
    if magnitude is not None:
        magnitude = keys.real("attention_factor")
    elif mscale and mscale_all:
        magnitude = _lengthened(factor, keys.real("mscale")) / _lengthened(factor, keys.real("mscale_all_dim"))
    else:
        magnitude = _lengthened(factor, 1.0)

    def pair_that_turns(times: float) -> float:
        turns = math.log(original / (times * 2 * math.pi))
        return pairs.rotated * turns / (2 * math.log(pairs.theta))

    if pairs.theta <= 1.0:
        raise keys.wrong("rope_theta", pairs.theta, "a number above 1")
    first, last = pair_that_turns(keys.real("beta_fast", 32.0)), pair_that_turns(keys.real("beta_slow", 1.0))
    if keys.flag("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, pairs.rotated - 1)
    span = last - first or 0.001
    ramp = (np.arange(pairs.rotated // 2, dtype=np.float32) - np.float32(first)) / np.float32(span)
    kept = 1 - np.clip(ramp, 0, 1)
    squeezed = np.float32(1.0) / (np.float32(factor) * pairs.powers)
    inverse = squeezed * (1 - kept) + pairs.inverse * kept
    spec = RopeSpec(_numbers(inverse), _formula(pairs, f"  (yarn, slow pairs ÷ {factor:g})"), float(magnitude))
    return spec, max(pairs.positions, int(original * factor))


def _lengthened(factor: float, mscale: float) -> float:
    return 1.0 if factor <= 1.0 else 0.1 * mscale * math.log(factor) + 1.0


def _longrope(pairs: Pairs, keys: Config) -> tuple[RopeSpec, int]:
    """A divisor for every pair, one list for short texts and one for long (Ding et al. 2024, arXiv:2402.13753)."""
    count, original = pairs.rotated // 2, pairs.original
    short, long = (keys.reals(key, count) for key in ("short_factor", "long_factor"))
    factor = keys.real("factor", pairs.positions / original)
    magnitude = keys.get("attention_factor")
    if magnitude is not None:
        magnitude = keys.real("attention_factor")
    elif factor <= 1.0 or original == 1:
        magnitude = 1.0
    else:
        magnitude = math.sqrt(1 + math.log(factor) / math.log(original))

    def divided(by: tuple[float, ...]) -> tuple[float, ...]:
        return _numbers(np.float32(1.0) / (np.array(by, np.float32) * pairs.powers))

    stretched = divided(long)
    formula = _formula(pairs, f" ÷ sᵢ  (longrope, s for up to {original} tokens or for more)")
    return RopeSpec(divided(short), formula, float(magnitude), original, lambda _: stretched), pairs.positions


Scaling = Callable[[Pairs, Config], tuple[RopeSpec, int]]

SCALINGS: dict[str, Scaling] = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _longrope,
}
