"""The weights of a checkpoint under the names that a trace gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from engine.architectures.places import Place, Places
from engine.axes import Axis
from engine.checkpoints.files import shortened
from engine.checkpoints.tensors import Tensor
from engine.errors import FileError
from engine.operand import Weight

# Buffers that older checkpoints carry: masks and frequencies that follow from the config.
BUFFER = re.compile(r"(^|\.)(attn\.bias|masked_bias|attention\.bias|rotary_emb\.inv_freq|position_ids)$")

# A checkpoint saved from the bare model leaves out the name of the part that the full model keeps it under.
PREFIX = re.compile(r"^(model|transformer|bert|gpt_neox)\.")


class Weights:
    """Finds a trace's weights among a checkpoint's tensors, checks their shapes, notes which tensors were asked for."""

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        places: Places,
        folder: Path,
        apart: re.Pattern[str] | None = None,
        config: str = "config.json",
    ) -> None:
        """``apart`` matches tensors that belong to a part of the checkpoint which no trace shows; ``config`` is what
        describes the model.
        """
        self.folder = folder
        self._tensors = tensors
        self._places = places
        self._apart = apart
        self._config = config
        self._tied: dict[str, str] = {}
        self._used: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the checkpoint holds a weight of this name; of a layer's, whether the first layer has it."""
        return self._stored(name) is not None

    def same(self, name: str, other: str) -> bool:
        """Whether two weights that the checkpoint holds are one tensor of it."""
        return self._stored(name) is self._stored(other)

    def tie(self, name: str, other: str) -> None:
        """Make a weight the turned other one, as a head without a tensor of its own uses the embedding."""
        self._tied[name] = other

    def find(self, name: str, symbol: str, axes: tuple[Axis, ...]) -> Weight:
        """The weight of a name, which must have these axes.

        Raises:
            FileError: the checkpoint does not have it, or has it twice, in another shape, or in numbers that cannot be
                read.
        """
        tensor, place = self._tensor(name)
        tensor.check_dtype()
        if not _fits(tensor, place, axes):
            raise FileError(
                "tensor-shape",
                "{file}: tensor {tensor} has shape {shape}; {config} asks for {wanted}",
                file=tensor.file,
                tensor=tensor.name,
                shape="×".join(map(str, tensor.shape)),
                wanted=self._as_stored(axes, place),
                config=self._config,
            )
        source = f"{tensor.file.name} · {tensor.name}{place.note} · {tensor.dtype}"
        read = partial(tensor.read, view=place.view)
        return Weight(name, symbol, axes, read, source, converted=tensor.is_converted)

    def finish(self) -> None:
        """Refuse a tensor that no stage uses: the checkpoint is not what its config says.

        Raises:
            FileError: it names the first of them.
        """
        unused = sorted(
            name
            for name in self._tensors
            if name not in self._used and not BUFFER.search(name) and not (self._apart and self._apart.search(name))
        )
        if unused:
            raise FileError(
                "tensor-unused",
                "{folder}: tensor {tensor} is not part of the model that {config} describes ({count} such)",
                folder=self.folder,
                tensor=shortened(unused[0]),
                count=len(unused),
                config=self._config,
            )

    def _names(self, name: str) -> list[str]:
        """What the tensor of a weight may be called: as the full model names it, then without that prefix."""
        full = self._full_names(name)
        return [*full, *(PREFIX.sub("", tensor) for tensor in full)]

    def _full_names(self, name: str) -> list[str]:
        layer = re.search(r"\d+", name)
        place = self._place(name)
        every = (place.tensor, *place.also, *place.instead)
        return [tensor.format(i=layer[0] if layer else "") for tensor in every]

    def _place(self, name: str) -> Place:
        return self._places[re.sub(r"\d+", "{i}", name, count=1)]

    def _stored(self, name: str) -> Tensor | None:
        return next((self._tensors[tensor] for tensor in self._names(name) if tensor in self._tensors), None)

    def _tensor(self, name: str) -> tuple[Tensor, Place]:
        if name in self._tied:
            tensor, other = self._tensor(self._tied[name])
            return tensor, Place(other.tensor, lambda stored: other.view(stored).T, "ᵀ")
        found = self._stored(name)
        if found is None:
            wanted = self._names(name)[0]
            raise FileError("tensor-missing", "{folder}: tensor {tensor} is missing", folder=self.folder, tensor=wanted)
        full, place = self._full_names(name), self._place(name)
        names = full if found.name in full else [PREFIX.sub("", tensor) for tensor in full]
        self._used.update(names)
        spellings = [tensor for tensor in names[: 1 + len(place.also)] if tensor in self._tensors]
        if len(spellings) > 1:
            raise FileError(
                "tensor-named-twice",
                "{file}: tensors {first} and {second} are two names of one weight; a file has it under one of them",
                file=found.file,
                first=shortened(spellings[0]),
                second=shortened(spellings[1]),
            )
        return found, place

    @staticmethod
    def _as_stored(axes: tuple[Axis, ...], place: Place) -> str:
        if place.whole is not None:
            return "×".join(map(str, place.whole))
        sizes = [axis.size for axis in axes]
        return "×".join(map(str, sizes[::-1] if place.turned else sizes))


def _fits(tensor: Tensor, place: Place, axes: tuple[Axis, ...]) -> bool:
    if place.whole is not None:
        return tensor.shape == place.whole
    blank = np.broadcast_to(np.zeros((), np.uint8), tensor.shape)
    return bool(place.view(blank).shape == tuple(axis.size for axis in axes))
