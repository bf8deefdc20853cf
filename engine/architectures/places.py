"""Where a family's files keep each weight, and how it lies there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from engine.checkpoints.tensors import View


@dataclass(frozen=True)
class Place:
    """A tensor's name, with ``{i}`` for the layer, and the view that makes the formulas' array of the stored one.

    ``view`` only turns, cuts and reshapes. ``also`` are other names that the same tensor goes by; a file has it under
    one of them. ``instead`` are tensors that serve where it is not stored, the first one that is; as in transformers,
    those that follow are not looked at, whatever they hold. ``whole`` is the shape of a tensor of which the weight is a
    part, to be checked before it is cut.
    """

    tensor: str
    view: View
    note: str = ""
    also: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    whole: tuple[int, ...] | None = None

    @property
    def turned(self) -> bool:
        """Whether the stored matrix is out×in where formulas write in×out."""
        return self.note.endswith("ᵀ")


# A weight's name in a trace (``layers.{i}.attention.q.weight``) → its place.
Places = Mapping[str, Place]


def plain(tensor: str, *also: str, instead: tuple[str, ...] = ()) -> Place:
    """Stored as the formulas use it: tables, γ, β, biases, and matrices that are stored in×out."""
    return Place(tensor, _as_stored, also=also, instead=instead)


def linear(tensor: str, *also: str, instead: tuple[str, ...] = ()) -> Place:
    """A matrix that PyTorch's nn.Linear stores out×in; formulas write x·W with W in×out."""
    return Place(tensor, _turned, "ᵀ", also, instead)


def columns(tensor: str, start: int, stop: int, whole: tuple[int, ...]) -> Place:
    """Some columns of a matrix stored in×out, or some of the numbers of its bias."""
    return Place(tensor, lambda stored: stored[..., start:stop], f"[{start}:{stop}]", whole=whole)


def rows(tensor: str, start: int, stop: int, whole: tuple[int, ...]) -> Place:
    """Some rows of a matrix stored out×in, turned, or some of the numbers of its bias."""
    if len(whole) == 1:
        return columns(tensor, start, stop, whole)
    return Place(tensor, lambda stored: stored[start:stop].T, f"[{start}:{stop}]ᵀ", whole=whole)


def interleaved(tensor: str, which: int, heads: int, parts: int, whole: tuple[int, ...]) -> Place:
    """Part ``which`` of rows stored head by head as head×part×d: head 0's queries, keys and values, then head 1's."""

    def view(stored: NDArray[Any]) -> NDArray[Any]:
        own = stored.reshape(heads, parts, -1, *stored.shape[1:])[:, which]
        return own.reshape(-1, *stored.shape[1:]).T

    return Place(tensor, view, f"[head, {which}]" + ("ᵀ" if len(whole) == 2 else ""), whole=whole)


def block(
    prefix: str, tensors: str, stages: Mapping[str, str], weight: Callable[..., Place] = linear
) -> dict[str, Place]:
    """The places of weights and biases whose names follow one pattern: ``{"q": "q_proj"}``.

    ``prefix`` stands before the stages, ``tensors`` before the tensors; ``weight`` is `linear` for matrices stored
    out×in, `plain` for matrices stored in×out and for norms.
    """
    found = {}
    for stage, tensor in stages.items():
        found[f"{prefix}{stage}.weight"] = weight(f"{tensors}{tensor}.weight")
        found[f"{prefix}{stage}.bias"] = plain(f"{tensors}{tensor}.bias")
    return found


def _as_stored(stored: NDArray[Any]) -> NDArray[Any]:
    return stored


def _turned(stored: NDArray[Any]) -> NDArray[Any]:
    return stored.T
