"""Reading model folders in Hub format: config.json, other JSON files, and weights in safetensors files.

Everything in a model folder is untrusted: sizes are bounded before reading, no code is ever run, and every fault is a
`FileError` that names the file.
"""

from __future__ import annotations

from engine.checkpoints.files import read_config, read_json
from engine.checkpoints.tensors import Tensor, open_tensors

__all__ = ["Tensor", "open_tensors", "read_config", "read_json"]
