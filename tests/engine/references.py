"""Reference runs: reading them, and comparing a trace with what transformers (eager, float32) computed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from engine.derivation import Piece
from engine.model import Model, load
from engine.ops import Tokenize
from engine.trace import Trace

ROUNDING, GAP = 2e-5, 3e-6

Expected = dict[str, NDArray[Any]]
Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Run:
    """A model, a trace of the reference's inputs, and what the reference computed."""

    model: Model
    trace: Trace
    expected: Expected

    @classmethod
    def of(cls, folder: Path, expected: Path | None = None) -> Run:
        """The run of a folder; ``expected`` is where the reference is, if not beside the weights."""
        with np.load((expected or folder) / "expected.npz") as file:
            reference = dict(file)
        model = load(folder)
        inputs = {"attention_mask": reference["attention_mask"]}
        for name, key in {"decoder_ids": "decoder_input_ids", "token_types": "token_type_ids"}.items():
            if key in reference:
                inputs[name] = reference[key]
        return cls(model, model.trace(ids=reference["input_ids"], **inputs), reference)

    def numbered(self, key: str) -> list[NDArray[Any]]:
        """What the reference has of every layer: ``hidden_0``, ``hidden_1`` …"""
        found: list[NDArray[Any]] = []
        while f"{key}_{len(found)}" in self.expected:
            found.append(self.expected[f"{key}_{len(found)}"])
        assert found
        return found

    def streams(self, side: str = "") -> list[str]:
        """The stages that transformers calls hidden states: what goes into each layer, what comes out of the last."""
        ends = ("residual_norm", "residual")
        first = ("embedding_norm", "embedded", "scaled_embedding", "embedding")
        names = [next(f"{side}{name}" for name in first if f"{side}{name}" in self.trace)]
        layer = 0
        while f"{side}layers.{layer}.mlp.residual" in self.trace:
            stem = f"{side}layers.{layer}.mlp."
            names.append(next(stem + end for end in ends if stem + end in self.trace))
            layer += 1
        if f"{side}norm" in self.trace:
            names[-1] = f"{side}norm"
        return names

    def assert_hidden(self, key: str = "hidden", side: str = "") -> None:
        """Every hidden state agrees, padding's rows aside: where nothing is seen, transformers looks at everything."""
        expected = self.numbered(key)
        assert len(self.streams(side)) == len(expected)
        for name, numbers in zip(self.streams(side), expected, strict=True):
            assert_same(self.trace[name].value, numbers, self._rows(key)[:, :, None])

    def assert_attention(self, key: str = "attention", side: str = "", block: str = "attention") -> None:
        """Every attention agrees."""
        for layer, numbers in enumerate(self.numbered(key)):
            shown = self.trace[f"{side}layers.{layer}.{block}.weights"].value
            assert_same(shown, numbers, self._rows(key)[:, None, :, None])

    def assert_logits(self) -> None:
        """The logits agree, and the probabilities are their softmax."""
        rows = self._rows("decoder_hidden" if self.model.spec.source else "hidden")[:, :, None]
        logits, probabilities = self.trace["probabilities"].inputs[0], self.trace["probabilities"]
        assert_same(logits.value, self.expected["logits"], rows)
        powers = np.exp(self.expected["logits"].astype(np.float64))
        shares = powers / powers.sum(-1, keepdims=True)
        assert np.abs(np.where(rows, probabilities.value - shares, 0.0)).max() <= ROUNDING

    def assert_derivations(self, count: int = 5) -> None:
        """In every stage, some cells at random: the steps come to the number that is shown, and are what they say."""
        random = np.random.default_rng(0)
        for stage in self.trace:
            for _ in range(count):
                cell = tuple(int(random.integers(size)) for size in stage.shape)
                derivation = stage.derivation(cell)
                scale = max(1.0, abs(derivation.value)) if np.isfinite(derivation.value) else 1.0
                assert abs(derivation.gap) <= GAP * scale, (stage, cell, derivation.gap)
                for step in derivation.steps:
                    if step.sum is None and not isinstance(stage.op, Tokenize):
                        worked = worth(*step.pieces)
                        assert worked == step.value or abs(worked - step.value) <= 1e-9 * max(1.0, abs(step.value))
                for reference in list(derivation.references())[:20]:
                    assert any(reference.operand is operand for operand in stage.inputs)
                    assert reference.value == float(reference.operand.value[reference.cell])

    def _rows(self, key: str) -> NDArray[np.bool_]:
        """The rows to compare, B×N."""
        if key.startswith(("decoder", "cross")):
            return np.ones(self.expected["decoder_input_ids"].shape, np.bool_)
        real: NDArray[np.bool_] = self.expected["attention_mask"] != 0
        return real


def assert_same(shown: NDArray[Any], expected: NDArray[Any], rows: NDArray[np.bool_] | None = None) -> None:
    """Shown and expected numbers agree to rounding, in the given rows."""
    assert shown.shape == expected.shape
    assert shown.dtype == np.float32
    kept = np.broadcast_to(True if rows is None else rows, expected.shape)
    assert np.abs(expected[kept]).max() > 0.1
    assert np.abs((shown - expected)[kept]).max() <= ROUNDING * max(1.0, np.abs(expected[kept]).max())


def worth(*pieces: Piece) -> float:
    """What arithmetic comes to when it is worked out as it is written."""
    text = "".join(piece if isinstance(piece, str) else f"({piece.value!r})" for piece in pieces)
    if text.endswith(("→ −∞", "→ 0")):
        return -math.inf if text.endswith("∞") else 0.0
    signs = {"√2": "sqrt(2)", "×": "*", "÷": "/", "−": "-", "²": "**2", "³": "**3", "√": "sqrt"}
    for sign, python in signs.items():
        text = text.replace(sign, python)
    names = {name: getattr(math, name) for name in ("exp", "sqrt", "cos", "sin", "tanh", "erf", "inf")} | {
        "max": max,
        "ln": math.log,
        "π": math.pi,
    }
    return float(eval(text, {"__builtins__": {}}, names))


def rewritten(
    folder: Path,
    to: Path,
    *,
    config: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    rename: Callable[[str], str] = str,
    tensors: Tensors | None = None,
) -> Path:
    """A copy of a checkpoint with another config.json, other names, further tensors."""
    to.mkdir(exist_ok=True)
    described = json.loads((folder / "config.json").read_text("utf-8"))
    (to / "config.json").write_text(json.dumps(config(described) if config else described), "utf-8")
    stored = {rename(name): tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(stored | (tensors or {}), to / "model.safetensors")
    return to


def without(*keys: str, **changed: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Config.json without some keys, and with others."""
    return lambda config: {key: value for key, value in config.items() if key not in keys} | changed
