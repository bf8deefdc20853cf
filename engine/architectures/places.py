"""Where a family's files keep each weight, and how it lies there."""

from __future__ import annotations

from dataclasses import dataclass

from engine.checkpoints.tensors import View


@dataclass(frozen=True)
class Place:
    """A tensor's name, with ``{i}`` for the layer, and the view that makes the formulas' array of the stored one.

    ``view`` only turns, cuts and reshapes: it works on the mapped file and copies nothing.
    """

    tensor: str
    view: View
    note: str = ""


# A weight's name in a trace (``layers.{i}.attention.q.weight``) → its place.
Places = dict[str, Place]


def plain(tensor: str) -> Place:
    """Stored as the formulas use it: tables, γ, β and biases."""
    return Place(tensor, lambda stored: stored)


def linear(tensor: str) -> Place:
    """A matrix that PyTorch's nn.Linear stores out×in; formulas write x·W with W in×out."""
    return Place(tensor, lambda stored: stored.T, "ᵀ")
