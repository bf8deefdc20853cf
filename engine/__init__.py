"""A transformer, one computation at a time: load a checkpoint, trace a text, ask any number how it came about.

>>> model = load("tiny-gpt")
>>> trace = model.trace("我爱你")
>>> trace["layers.0.attention.weights"].shape_text
'B×H×N×M = 1×4×3×3'
"""

from __future__ import annotations

from engine.errors import EngineError, FileError, InputError
from engine.model import Model, load, shipped_models
from engine.stages import Stage
from engine.trace import Trace

__all__ = ["EngineError", "FileError", "InputError", "Model", "Stage", "Trace", "load", "shipped_models"]
