"""GGUF files, as llama.cpp and Ollama use them: the header read and checked, tensors read part by part as float32.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The header is read here and not by the gguf package, which
believes a file's own counts and lengths; its blocks of quantized numbers are decoded by the package.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.files import MAGIC, check_file, readable, shortened, shown
from engine.checkpoints.gguf_blocks import QUANTIZED, BlockTensor, gguf_package
from engine.checkpoints.tensors import STORED_AS, Data, Maps
from engine.errors import FileError

VERSIONS = (2, 3)
ALIGNMENT, MOST_ALIGNMENT = 32, 1 << 16

# Several times what the largest published vocabularies and models need; counts are checked before anything is made.
HEADER_LIMIT = 32 << 20
MOST_TENSORS = 1 << 15
MOST_ENTRIES = 1 << 14
MOST_ITEMS = 1 << 20
NAME_LIMIT = 1 << 10
DIMENSION_LIMIT = 4

FLOAT32, BOOL, STRING, ARRAY = 6, 7, 8, 9
# The numbers of value types → how NumPy and struct write them.
SCALARS = dict(enumerate(("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<f4", "u1"))) | {10: "<u8", 11: "<i8", 12: "<f8"}
CODES = dict(enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<B"))) | {10: "<Q", 11: "<q", 12: "<d"}

# A whole number, a number, true or false, a text; an array of numbers; an array of texts as bytes.
Value = int | float | bool | str | NDArray[Any] | list[bytes]


@dataclass(frozen=True)
class GgufFile:
    """What a GGUF file says about its model, and its tensors, not yet read."""

    path: Path
    metadata: Mapping[str, Value]
    tensors: Mapping[str, BlockTensor]


def read_header(path: Path, maps: Maps) -> GgufFile:
    """One GGUF file with nothing read but its header; ``maps`` is to hold its memory map.

    Raises:
        FileError: it cannot be read, or its header is not sound, or asks for more than any model needs.
    """
    size = check_file(path)
    with readable(path), path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            text = "{file}: is not a GGUF file: it does not begin with the letters GGUF"
            raise FileError("gguf-magic", text, file=path)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return _Header(path, mapped, size, maps).read()


class _Header:
    """Reads a header from front to back; every count and length is checked before what it counts is looked at."""

    def __init__(self, path: Path, data: mmap.mmap, size: int, maps: Maps) -> None:
        self._path, self._data, self._size, self._maps = path, data, size, maps
        self._position = len(MAGIC)
        self._limit = min(size, HEADER_LIMIT)

    def read(self) -> GgufFile:
        version = self._number("<I")
        if version not in VERSIONS:
            if version & 0xFFFF == 0 and version:
                text = "{file}: is a big-endian GGUF file; only little-endian ones are read"
                raise FileError("gguf-big-endian", text, file=self._path)
            text = "{file}: is of version {version} of GGUF; only versions {supported} are read"
            supported = " and ".join(map(str, VERSIONS))
            raise FileError("gguf-version", text, file=self._path, version=version, supported=supported)
        tensors, entries = self._number("<Q"), self._number("<Q")
        if tensors > MOST_TENSORS:
            text = "{file}: is said to hold {count} tensors; at most {limit} are read"
            raise FileError("gguf-tensor-count", text, file=self._path, count=tensors, limit=MOST_TENSORS)
        if entries > MOST_ENTRIES:
            text = "{file}: is said to have {count} metadata entries; at most {limit} are read"
            raise FileError("gguf-entry-count", text, file=self._path, count=entries, limit=MOST_ENTRIES)
        metadata = self._metadata(entries)
        return GgufFile(self._path, metadata, self._tensors(tensors, self._alignment(metadata)))

    def _metadata(self, count: int) -> dict[str, Value]:
        metadata: dict[str, Value] = {}
        for _ in range(count):
            key = self._name()
            if key in metadata:
                text = "{file}: the metadata entry {entry} stands twice in the header"
                raise FileError("gguf-entry-twice", text, file=self._path, entry=key)
            metadata[key] = self._value(key, self._number("<I"))
        return metadata

    def _value(self, key: str, kind: int) -> Value:
        if kind == STRING:
            return self._text().decode("utf-8", "replace")
        if kind in SCALARS:
            return self._scalar(kind)
        item = self._number("<I") if kind == ARRAY else kind
        if item != STRING and item not in SCALARS:
            text = "{file}: the metadata entry {entry} is of a kind that cannot be read (number {kind})"
            raise FileError("gguf-entry-kind", text, file=self._path, entry=key, kind=item)
        count = self._number("<Q")
        if count > MOST_ITEMS:
            text = "{file}: the metadata entry {entry} is said to be a list of {count}; at most {limit} are read"
            raise FileError("gguf-entry-long", text, file=self._path, entry=key, count=count, limit=MOST_ITEMS)
        if item == STRING:
            return self._texts(count)
        stored = np.dtype(SCALARS[item])
        return np.frombuffer(self._bytes(count * stored.itemsize), stored)

    def _scalar(self, kind: int) -> Value:
        number = self._number(CODES[kind])
        if kind == FLOAT32:
            # As short as it was written: 1e-06 and not 9.999999974752427e-07, which float32 does not tell apart.
            return float(str(np.float32(number)))
        return bool(number) if kind == BOOL else number

    def _alignment(self, metadata: Mapping[str, Value]) -> int:
        value = metadata.get("general.alignment", ALIGNMENT)
        is_power = isinstance(value, int) and 1 <= value <= MOST_ALIGNMENT and value & (value - 1) == 0
        if not isinstance(value, int) or not is_power:
            text = "{file}: general.alignment is {value}; a power of two up to {limit} is expected"
            values = {"value": shown(value), "limit": MOST_ALIGNMENT}
            raise FileError("gguf-alignment", text, file=self._path, **values)
        return int(value)

    def _tensors(self, count: int, alignment: int) -> dict[str, BlockTensor]:
        found: dict[str, tuple[tuple[int, ...], _Kind, int]] = {}
        kinds = _kinds(self._path)
        for _ in range(count):
            name = self._name()
            if name in found:
                text = "{file}: {name} stands twice in the header; every tensor must have a name of its own"
                raise FileError("tensor-twice", text, file=self._path, name=name)
            shape = self._shape(name)
            found[name] = shape, self._kind(name, shape, kinds), self._number("<Q")
        begin = _aligned(self._position, alignment)
        # As llama.cpp asks for it: one after the other, so that no two share their bytes.
        expected = 0
        data, tensors = Data(self._path, self._size, self._maps), {}
        for name, (shape, kind, offset) in found.items():
            if offset != expected:
                text = "{file}: tensor {tensor} is said to begin at byte {offset} of the data; {expected} is right"
                values = {"tensor": name, "offset": offset, "expected": expected}
                raise FileError("gguf-offset", text, file=self._path, **values)
            length = math.prod(shape) // kind.block * kind.width
            start, end = begin + offset, begin + offset + length
            if end > self._size:
                text = (
                    "{file}: is {size} bytes long, but tensor {tensor} is said to end at byte {end}; "
                    "it was not copied whole"
                )
                raise FileError("gguf-data-cut-off", text, file=self._path, size=self._size, tensor=name, end=end)
            tensors[name] = BlockTensor(
                name, kind.name, shape, self._path, data, start, end, block=kind.block, width=kind.width
            )
            expected = _aligned(offset + length, alignment)
        return tensors

    def _shape(self, name: str) -> tuple[int, ...]:
        count = self._number("<I")
        if not 1 <= count <= DIMENSION_LIMIT:
            text = "{file}: tensor {tensor} has {count} dimensions; at most {limit} are read"
            values = {"tensor": name, "count": count, "limit": DIMENSION_LIMIT}
            raise FileError("tensor-dimensions", text, file=self._path, **values)
        shape = tuple(self._number("<Q") for _ in range(count))[::-1]
        if 0 in shape or math.prod(shape) >= 1 << 60:
            text = "{file}: tensor {tensor} has the shape {shape}, which no array can have"
            values = {"tensor": name, "shape": "×".join(map(str, shape))}
            raise FileError("tensor-shape-impossible", text, file=self._path, **values)
        return shape

    def _kind(self, name: str, shape: tuple[int, ...], kinds: Mapping[int, _Kind]) -> _Kind:
        number = self._number("<I")
        kind = kinds.get(number)
        if kind is None or kind.name not in (*STORED_AS, *QUANTIZED):
            text = "{file}: tensor {tensor} is stored as {dtype}; only {supported} can be read"
            values = {"tensor": name, "dtype": kind.name if kind else f"number {number}"}
            supported = ", ".join((*STORED_AS, *QUANTIZED))
            raise FileError("tensor-dtype", text, file=self._path, supported=supported, **values)
        if shape[-1] % kind.block:
            text = "{file}: tensor {tensor} has rows of {columns} numbers; {dtype} stores them in blocks of {block}"
            block = {"columns": shape[-1], "dtype": kind.name, "block": kind.block}
            raise FileError("gguf-blocks", text, file=self._path, tensor=name, **block)
        return kind

    def _name(self) -> str:
        data = self._text(NAME_LIMIT)
        name = data.decode("utf-8", "replace")
        if not data or "\ufffd" in name:
            text = "{file}: holds a name that is empty or not UTF-8 text ({name})"
            raise FileError("gguf-name", text, file=self._path, name=shortened(name, 80))
        return name

    def _text(self, limit: int = HEADER_LIMIT) -> bytes:
        length = self._number("<Q")
        if length > limit:
            text = "{file}: holds a text that is said to be {length} bytes long; at most {limit} are read"
            raise FileError("gguf-text-long", text, file=self._path, length=length, limit=limit)
        return self._bytes(length)

    def _texts(self, count: int) -> list[bytes]:
        """As many texts as `_text` would give, faster: vocabularies have hundreds of thousands."""
        length_at, data, limit, position = struct.Struct("<Q").unpack_from, self._data, self._limit, self._position
        texts = []
        for _ in range(count):
            begin = position + 8
            end = begin + (length_at(data, position)[0] if begin <= limit else 0)
            if end > limit:
                # Says what is wrong.
                self._position = position
                self._text()
            texts.append(data[begin:end])
            position = end
        self._position = position
        return texts

    def _number(self, code: str) -> Any:
        position = self._moved(struct.calcsize(code))
        return struct.unpack_from(code, self._data, position)[0]

    def _bytes(self, length: int) -> bytes:
        position = self._moved(length)
        return self._data[position : position + length]

    def _moved(self, length: int) -> int:
        """Where the next so many bytes begin."""
        position = self._position
        if position + length > self._limit:
            if self._size > HEADER_LIMIT:
                text = "{file}: its header is longer than the {limit} bytes that are read"
                raise FileError("gguf-header-long", text, file=self._path, limit=HEADER_LIMIT)
            text = "{file}: is {size} bytes long, which its header alone does not fit in; it was not copied whole"
            raise FileError("header-cut-off", text, file=self._path, size=self._size)
        self._position = position + length
        return position


@dataclass(frozen=True)
class _Kind:
    """A way of storing numbers: so many in a block of so many bytes."""

    name: str
    block: int
    width: int


def _kinds(path: Path) -> dict[int, _Kind]:
    package = gguf_package(path)
    return {int(kind): _Kind(kind.name, *sizes) for kind, sizes in package.GGML_QUANT_SIZES.items()}


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
