"""Tensors of GGUF files, whose numbers lie in blocks that the gguf package decodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.tensors import STORED_AS, Tensor, View
from engine.errors import FileError

# What the gguf package can decode. The rest are for calculation only, or whole numbers, which no weights are.
QUANTIZED = (
    *("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"),
    *("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS"),
    *("TQ1_0", "TQ2_0", "MXFP4"),
)


@dataclass(frozen=True, slots=True, eq=False)
class BlockTensor(Tensor):
    """A tensor of a GGUF file, whose rows are stored in blocks: of so many numbers, in so many bytes.

    ``shape`` is out×in, as NumPy and PyTorch have it; the file lists sizes the other way round. ``rows`` says which
    stored row each row is, where a converter has changed their order.
    """

    block: int = 1
    width: int = 4
    rows: NDArray[np.intp] | None = None

    def check_dtype(self) -> None:
        """Nothing: what cannot be decoded was refused with the file's header."""

    @property
    def is_converted(self) -> bool:
        """Whether reading it makes a copy."""
        return self.dtype != "F32" or self.rows is not None

    def ordered(self, rows: NDArray[np.intp]) -> BlockTensor:
        """The same tensor with its rows in another order."""
        return replace(self, rows=rows)

    def read(self, index: tuple[Any, ...] = (), view: View | None = None) -> NDArray[np.float32]:
        """As `Tensor.read`; only the blocks that hold what is asked for are decoded.

        ``view`` may turn the stored array and cut rows out of it.
        """
        if self.rows is None and self.dtype in STORED_AS:
            return Tensor.read(self, index, view)
        view = view or _as_stored
        if len(self.shape) != 2:
            values = self._decoded(self._blocks)
            return _frozen(view(values if self.rows is None else values[self.rows])[(*index, ...)])
        # Of two rows of three numbers, the axis of the three is that which blocks lie along.
        along = view(np.empty((2, 3))).shape.index(3)
        wanted = [*index, slice(None), slice(None)]
        if len(index) > 2 or not isinstance(wanted[along], ONE_OR_SLICE) or not _selects(wanted[1 - along]):
            return _frozen(self.read((), view)[(*index, ...)])
        rows = np.arange(self.shape[0]) if self.rows is None else self.rows
        seen = view(np.broadcast_to(rows[:, None], self.shape))
        rows = seen[0] if along == 0 else seen[:, 0]
        values = self._cells(rows[wanted[1 - along]], np.arange(self.shape[1])[wanted[along]])
        return _frozen(np.moveaxis(values, -1, 0) if along == 0 and isinstance(wanted[0], slice) else values)

    def _cells(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float32]:
        """The numbers in some columns of some rows, both as they are stored, rows×columns."""
        if not columns.size:
            return np.empty((*rows.shape, *columns.shape), np.float32)
        first = int(columns.min()) // self.block
        values = self._decoded(self._blocks[rows, first : int(columns.max()) // self.block + 1])
        columns = columns - first * self.block
        if columns.ndim and bool((np.diff(columns) == 1).all()):
            return values[..., int(columns[0]) : int(columns[-1]) + 1]
        cells: NDArray[np.float32] = values[..., columns]
        return cells

    @property
    def _blocks(self) -> NDArray[np.void]:
        """The tensor as it is stored, a block an entry."""
        stored = self._data.bytes()[self._begin : self._end].view(f"V{self.width}")
        return stored.reshape(*self.shape[:-1], self.shape[-1] // self.block)

    def _decoded(self, blocks: NDArray[np.void]) -> NDArray[np.float32]:
        """The numbers of some blocks: the last axis grows by the size of a block."""
        shape = (*blocks.shape[:-1], blocks.shape[-1] * self.block)
        data = np.ascontiguousarray(blocks).reshape(-1, blocks.shape[-1])
        self._data.maps.copied(data.nbytes)
        if self.dtype in STORED_AS:
            return self.to_float32(data.view(STORED_AS[self.dtype])).reshape(shape)
        if not data.size:
            return np.empty(shape, np.float32)
        package = gguf_package(self.file)
        # A damaged scale is infinite or not a number, and is shown as that.
        with np.errstate(all="ignore"):
            kind = package.GGMLQuantizationType[self.dtype]
            numbers: NDArray[np.float32] = package.quants.dequantize(data.view(np.uint8), kind)
        return numbers.reshape(shape)


ONE_OR_SLICE = (int, np.integer, slice)


def _selects(part: object) -> bool:
    is_list = isinstance(part, np.ndarray) and part.dtype.kind in "iu"
    return is_list or isinstance(part, ONE_OR_SLICE)


def _as_stored(stored: NDArray[Any]) -> NDArray[Any]:
    return stored


def _frozen(values: NDArray[np.float32]) -> NDArray[np.float32]:
    values = np.asarray(values)
    values.flags.writeable = False
    return values


def gguf_package(file: Path) -> ModuleType:
    """The gguf package, which only GGUF files need.

    Raises:
        FileError: it is not installed.
    """
    try:
        import gguf
        import gguf.quants
    except ImportError:
        text = "{file}: is read by the gguf package, which is not installed: pip install gguf"
        raise FileError("gguf-missing", text, file=file) from None
    return gguf
