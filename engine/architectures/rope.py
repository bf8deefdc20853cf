"""The frequencies of rotary positions, from either spelling of config.json."""

from __future__ import annotations

import math

import numpy as np

from engine.architectures.config import Config
from engine.architectures.description import RopeSpec
from engine.operand import Array


def read_rope(config: Config, rotated: int, default_theta: float = 10000.0) -> RopeSpec:
    """The frequency θ^(−2i/r) of each of the r/2 pairs, scaled as the config says.

    ``rope_parameters`` holds everything in newer files; ``rope_theta`` and ``rope_scaling`` in most published ones.
    Formulas as in transformers, modeling_rope_utils.py.
    """
    scaling = config.section("rope_parameters") or config.section("rope_scaling")
    theta = config.real("rope_theta", default_theta)
    formula = f"θ = n · {theta:g}^(−2i/{rotated})"
    kind = "default"
    if scaling is not None:
        theta = scaling.real("rope_theta", theta)
        formula = f"θ = n · {theta:g}^(−2i/{rotated})"
        kind = scaling.get("rope_type", scaling.get("type", "default"))
        scaling.get("type")
    base = np.float32(theta) ** -(np.arange(0, rotated, 2, dtype=np.float32) / np.float32(rotated))
    inverse: Array = base.astype(np.float32)
    if kind == "linear" and scaling is not None:
        inverse = inverse / np.float32(scaling.real("factor"))
        formula += f" ÷ {scaling.real('factor'):g}"
    elif kind == "llama3" and scaling is not None:
        inverse = _llama3(inverse, scaling)
        formula += "  (llama3)"
    elif kind != "default":
        raise config.wrong("rope_scaling", kind, "default, linear or llama3")
    if scaling is not None:
        scaling.finish()
    return RopeSpec(tuple(float(x) for x in inverse), formula)


def _llama3(inverse: Array, scaling: Config) -> Array:
    factor, original = scaling.real("factor"), scaling.integer("original_max_position_embeddings")
    low, high = scaling.real("low_freq_factor", 1.0), scaling.real("high_freq_factor", 4.0)
    wavelength = 2 * math.pi / inverse
    smooth = (original / wavelength - low) / (high - low)
    blended = (1 - smooth) * inverse / factor + smooth * inverse
    slow, fast = wavelength > original / low, wavelength < original / high
    return np.where(slow, inverse / factor, np.where(fast, inverse, blended)).astype(np.float32)
