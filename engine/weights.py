"""The weights of a checkpoint under the names that a trace gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from engine.architectures.places import Place, Places
from engine.axes import Axis
from engine.checkpoints.tensors import Tensor
from engine.errors import FileError
from engine.operand import Weight

# Buffers that older checkpoints carry: masks and frequencies that follow from the config.
BUFFER = re.compile(r"(^|\.)(attn\.bias|masked_bias|attention\.bias|rotary_emb\.inv_freq|position_ids)$")

# A checkpoint saved from the bare model leaves out the name of the part that the full model keeps it under.
PREFIX = re.compile(r"^(model|transformer|bert|gpt_neox)\.")


class Weights:
    """Finds a trace's weights among a checkpoint's tensors and checks their shapes; notes which tensors were asked for.
    """

    def __init__(self, tensors: Mapping[str, Tensor], places: Places, tied: Mapping[str, str], folder: Path) -> None:
        self.folder = folder
        self._tensors = tensors
        self._places = places
        self._tied = tied
        self._used: set[str] = set()
        self._found: dict[str, Weight] = {}

    def find(self, name: str, symbol: str, axes: tuple[Axis, ...]) -> Weight:
        """The weight of a name, which must have these axes.

        Raises:
            FileError: the checkpoint does not have it, or has it in another shape.
        """
        tensor, place = self._tensor(name)
        stored = place.view(np.broadcast_to(np.zeros((), np.uint8), tensor.shape))
        if stored.shape != tuple(axis.size for axis in axes):
            raise FileError(
                "tensor-shape",
                "{file}: tensor {tensor} has shape {shape}; config.json asks for {wanted}",
                file=tensor.file,
                tensor=tensor.name,
                shape="×".join(map(str, tensor.shape)),
                wanted=self._as_stored(axes, place),
            )
        self._used.add(tensor.name)
        source = f"{tensor.file.name} · {tensor.name}{place.note} · {tensor.dtype}"
        return Weight(name, symbol, axes, partial(tensor.read, view=place.view), source)

    def finish(self) -> None:
        """Refuse a tensor that no stage uses: the checkpoint is not what its config says.

        Raises:
            FileError: it names the first of them.
        """
        tied = {self._tensor_name(name) for name in self._tied}
        unused = sorted(name for name in self._tensors if name not in self._used | tied and not BUFFER.search(name))
        if unused:
            raise FileError(
                "tensor-unused",
                "{folder}: tensor {tensor} is not part of the model that config.json describes ({count} such)",
                folder=self.folder,
                tensor=unused[0],
                count=len(unused),
            )

    def _tensor_name(self, name: str) -> str:
        layer = re.search(r"\d+", name)
        place = self._places[re.sub(r"\d+", "{i}", name, count=1)]
        return place.tensor.format(i=layer[0] if layer else "")

    def _tensor(self, name: str) -> tuple[Tensor, Place]:
        place = self._places[re.sub(r"\d+", "{i}", name, count=1)]
        wanted = self._tensor_name(name)
        without_prefix = PREFIX.sub("", wanted)
        tied = self._tied.get(name)
        for candidate in (wanted, without_prefix):
            if tied is None and candidate in self._tensors:
                return self._tensors[candidate], place
        if tied is not None:
            tensor, other = self._tensor(tied)
            return tensor, Place(other.tensor, lambda stored: other.view(stored).T, "ᵀ")
        raise FileError("tensor-missing", "{folder}: tensor {tensor} is missing", folder=self.folder, tensor=wanted)

    @staticmethod
    def _as_stored(axes: tuple[Axis, ...], place: Place) -> str:
        sizes = [axis.size for axis in axes]
        return "×".join(map(str, sizes[::-1] if place.note else sizes))
