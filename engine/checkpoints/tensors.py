"""Weights in safetensors files: found, checked, and read part by part as float32.

The header is validated by the safetensors library (offsets contiguous and in bounds, sizes that match the shapes)
without reading any data; the data is then read through one memory map a file.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.files import (
    EXPECTED,
    check_file,
    library_faults,
    names_in,
    read_json,
    readable,
    shortened,
)
from engine.errors import FileError

HEADER_LIMIT = 16 << 20
DIMENSION_LIMIT = 8
# So many bytes are copied out of the maps of a model's files before their pages are given back.
RESIDENT = 64 << 20
STORED_AS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}

# What the library says of a header that is sound while the data has another length.
NOT_COVERED = "file not fully covered"

SINGLE, INDEX, SUFFIX = "model.safetensors", "model.safetensors.index.json", ".safetensors"
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")

# Makes another array of the stored one by turning, cutting and reshaping alone.
View = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One tensor of a safetensors file, not yet read: ``dtype`` is the file's word for it, such as ``BF16``."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    _data: Data = field(repr=False)
    _begin: int = field(repr=False)
    _end: int = field(repr=False)

    @property
    def is_converted(self) -> bool:
        """Whether reading it makes a copy: it is not stored as float32."""
        return self.dtype != "F32"

    def check_dtype(self) -> None:
        """Refuse a tensor whose numbers cannot be read, before they are wanted.

        Raises:
            FileError: the dtype is not one that can be read.
        """
        if self.dtype not in STORED_AS:
            text = "{file}: tensor {tensor} is stored as {dtype}; only {supported} can be read"
            names = {"tensor": shortened(self.name), "dtype": self.dtype, "supported": ", ".join(STORED_AS)}
            raise FileError("tensor-dtype", text, file=self.file, **names)

    @property
    def mapped(self) -> NDArray[Any]:
        """The tensor as it is stored, of ``shape``: a read-only view on the memory map, of BF16 the raw 16 bits.

        Raises:
            FileError: the dtype is not one that can be read, or the file cannot be mapped.
        """
        self.check_dtype()
        return self._data.bytes()[self._begin : self._end].view(STORED_AS[self.dtype]).reshape(self.shape)

    def to_float32(self, part: NDArray[Any]) -> NDArray[np.float32]:
        """The numbers that a part or view of `mapped` stands for, read-only, of the same shape; F32 is not copied."""
        if self.dtype == "BF16":
            wide = part.astype(np.uint32)
            wide <<= 16
            values = wide.view(np.float32)
        else:
            # What is too large for float32 is infinite there, in the references too.
            with np.errstate(over="ignore"):
                values = part.astype(np.float32, copy=False)
        # A header whose length is no multiple of four leaves the data unaligned, which BLAS cannot use in place.
        values = values if values.flags.aligned else values.copy("K")
        values.flags.writeable = False
        return values

    def read(self, index: tuple[Any, ...] = (), view: View | None = None) -> NDArray[np.float32]:
        """The part of the tensor that ``index`` takes, read-only; all of it, of ``shape``, without an index.

        ``view`` turns, cuts or reshapes the stored array before the index is taken, without copying it. F32 comes as a
        view on the memory map, without a copy; of the others only the part asked for is converted.

        Raises:
            FileError: the dtype is not one that can be read, or the file cannot be mapped.
            IndexError: ``index`` does not fit ``shape``.
        """
        stored = self.mapped if view is None else view(self.mapped)
        part = stored[(*index, ...)]
        values = self.to_float32(part)
        if self.is_converted:
            self._data.maps.copied(part.nbytes)
        return values


def open_tensors(folder: Path) -> dict[str, Tensor]:
    """Every tensor of the model in ``folder``, by name, with nothing read but the headers.

    Looks for model.safetensors, then for the shards that model.safetensors.index.json names, then for a single other
    ``*.safetensors`` file.

    Raises:
        FileError: there is none, or a header or the index is not sound.
    """
    names, maps = names_in(folder), Maps()
    if SINGLE in names:
        return _tensors_of(folder / SINGLE, maps)
    if INDEX in names:
        return _tensors_of_shards(folder, maps)
    others = [name for name in names if name.endswith(SUFFIX) and not name.startswith(".")]
    if len(others) == 1:
        return _tensors_of(folder / others[0], maps)
    if others:
        text = "{file}: holds {count} *.safetensors files ({names}) and no {index} to say how they belong together"
        raise FileError("weights-ambiguous", text, file=folder, count=len(others), names=_listed(others), index=INDEX)
    pickled = [name for name in names if name.endswith(PICKLED)]
    if pickled:
        text = (
            "{file}: is a pickle, which can run code when it is read, and is refused; "
            "convert it with save_pretrained(…, safe_serialization=True)"
        )
        raise FileError("weights-pickled", text, file=folder / pickled[0])
    raise FileError("weights-missing", "{file}: holds no *.safetensors file; " + EXPECTED, file=folder)


class Maps:
    """The memory maps of a model's files.

    A page that has been read counts as the process's memory for as long as the system lets it. What has been copied out
    of the maps is given back: the system keeps the page in its cache, or reads it again.
    """

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []
        self._copied = 0
        self._lock = Lock()

    def add(self, mapped: mmap.mmap) -> None:
        self._maps.append(mapped)

    def copied(self, size: int) -> None:
        """Count ``size`` bytes that have been copied; nobody needs their pages any more."""
        with self._lock:
            self._copied += size
            if self._copied < RESIDENT:
                return
            self._copied = 0
        for mapped in self._maps:
            # Other systems than Linux and macOS take pages back by themselves.
            if hasattr(mapped, "madvise"):
                mapped.madvise(mmap.MADV_DONTNEED)


class Data:
    """The bytes of a file, mapped when they are first asked for."""

    def __init__(self, path: Path, size: int, maps: Maps) -> None:
        # It is mapped later, when a relative path may lead elsewhere.
        self.path, self.size = path.absolute(), size
        self.maps = maps
        self._bytes: NDArray[np.uint8] | None = None

    def bytes(self) -> NDArray[np.uint8]:
        if self._bytes is None:
            check_file(self.path)
            with readable(self.path), self.path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if len(mapped) != self.size:
                text = "{file}: was {before} bytes long when it was opened and is {now} bytes long now; load it again"
                raise FileError("weights-changed", text, file=self.path, before=self.size, now=len(mapped))
            self.maps.add(mapped)
            self._bytes = np.frombuffer(mapped, np.uint8)
        return self._bytes


def _tensors_of(path: Path, maps: Maps) -> dict[str, Tensor]:
    size = check_file(path)
    header, data_begin = _read_header(path, size)
    _validate(path, size)
    data = Data(path, size, maps)
    tensors = {}
    for name, entry in _parsed(path, header).items():
        if name != "__metadata__":
            shape = _checked_shape(path, name, entry["shape"])
            begin, end = (data_begin + offset for offset in entry["data_offsets"])
            tensors[name] = Tensor(name, entry["dtype"], shape, path, data, begin, end)
    return tensors


def _read_header(path: Path, size: int) -> tuple[bytes, int]:
    """The header and where the data after it begins."""
    with readable(path), path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if start == b"version ":
            text = "{file}: is a Git LFS pointer and not the weights themselves; fetch them with git lfs pull"
            raise FileError("weights-lfs-pointer", text, file=path)
        if len(start) == 8 and length > HEADER_LIMIT:
            text = "{file}: the header is said to be {size} bytes long; at most {limit} are read"
            raise FileError("header-too-long", text, file=path, size=length, limit=HEADER_LIMIT)
        if length > size - 8:
            text = "{file}: is {size} bytes long, which its header alone does not fit in; it was not copied whole"
            raise FileError("header-cut-off", text, file=path, size=size)
        return file.read(length), 8 + length


def _validate(path: Path, size: int) -> None:
    import safetensors

    def fault(reason: str) -> FileError:
        # What else the library finds wrong stands in the header, and no cut in the data makes it so.
        if NOT_COVERED not in reason:
            return _unsound(path, reason)
        text = "{file}: is {size} bytes long, which is not what its header says; it may not have been copied whole"
        return FileError("safetensors-length", text, file=path, size=size)

    with library_faults(fault):
        # A subclass of object without annotations, to mypy.
        opened: Any = safetensors.safe_open
        with opened(path, framework="np"):
            pass


def _parsed(path: Path, header: bytes) -> dict[str, dict[str, Any]]:
    """The entries of a header that the library has found sound; it keeps the last of a key that stands there twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in found if keys.count(key) > 1)
            text = "{file}: {name} stands twice in the header; every tensor must have a name of its own"
            raise FileError("tensor-twice", text, file=path, name=shortened(twice))
        return found

    with library_faults(lambda reason: _unsound(path, reason)):
        entries: dict[str, Any] = json.loads(header, object_pairs_hook=once)
    for name, entry in entries.items():
        if name != "__metadata__" and not isinstance(entry, dict):
            raise _unsound(path, f"the entry of {shortened(name)} is not an object")
    return entries


def _checked_shape(path: Path, name: str, shape: list[int]) -> tuple[int, ...]:
    if len(shape) > DIMENSION_LIMIT:
        text = "{file}: tensor {tensor} has {count} dimensions; at most {limit} are read"
        count = len(shape)
        raise FileError(
            "tensor-dimensions", text, file=path, tensor=shortened(name), count=count, limit=DIMENSION_LIMIT
        )
    # A dimension of zero lets the others be of any size, as far as the library is concerned.
    if math.prod(max(size, 1) for size in shape) >= 1 << 60:
        text = "{file}: tensor {tensor} has the shape {shape}, which no array can have"
        values = {"tensor": shortened(name), "shape": "×".join(map(str, shape))}
        raise FileError("tensor-shape-impossible", text, file=path, **values)
    return tuple(shape)


def shard_names(index: Path) -> list[str]:
    """The files that an index says the tensors are in: bare names, each once.

    Raises:
        FileError: the index is not sound.
    """
    return sorted(set(_weight_map(index).values()))


def _tensors_of_shards(folder: Path, maps: Maps) -> dict[str, Tensor]:
    index = folder / INDEX
    shard_of = _weight_map(index)
    shards = sorted(set(shard_of.values()))
    missing = [name for name in shards if not os.path.lexists(folder / name)]
    if missing:
        text = "{file}: names {count} of {total} shards that are not in the folder: {names}"
        values = {"count": len(missing), "total": len(shards), "names": _listed(missing)}
        raise FileError("shards-missing", text, file=index, **values)
    for name in shards:
        _check_inside(index, folder, name)
    held = {name: _tensors_of(folder / name, maps) for name in shards}
    tensors = {}
    for shard, its_tensors in held.items():
        for name, tensor in its_tensors.items():
            if shard_of.setdefault(name, shard) == shard:
                tensors[name] = tensor
    for name, shard in shard_of.items():
        if name not in held[shard]:
            text = "{file}: tensor {tensor} is said to be in {shard}, which does not hold it"
            raise FileError("shard-without-tensor", text, file=index, tensor=shortened(name), shard=shortened(shard))
    return tensors


def _weight_map(index: Path) -> dict[str, str]:
    entries = read_json(index).get("weight_map")
    if not isinstance(entries, dict) or not entries:
        text = "{file}: holds no weight_map; it must say which shard each tensor is in"
        raise FileError("index-without-map", text, file=index)
    for name, shard in entries.items():
        if not isinstance(shard, str) or not _is_bare(shard):
            text = "{file}: tensor {tensor} is said to be in {shard}; the bare name of a *.safetensors file is needed"
            values = {"tensor": shortened(name), "shard": shortened(str(shard))}
            raise FileError("shard-name", text, file=index, **values)
    return dict(entries)


def _is_bare(name: str) -> bool:
    is_plain = name.isprintable() and not name.startswith(".") and name.endswith(SUFFIX)
    return is_plain and PurePosixPath(name).name == name == PureWindowsPath(name).name


def _check_inside(index: Path, folder: Path, shard: str) -> None:
    """Refuses a shard that is a link out of the folder.

    The links of the Hub cache lead to the blobs beside its snapshots, or on to those that its repositories share.
    """
    home, target = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / shard))
    repository = home.parent.parent
    stores = (repository / "blobs", repository.parent / "blobs")
    is_cached = home.parent.name == "snapshots" and any(target.is_relative_to(store) for store in stores)
    if not is_cached and not target.is_relative_to(home):
        text = "{file}: shard {shard} is a link out of the folder, to {target}; put the file itself there"
        raise FileError("shard-outside", text, file=index, shard=shortened(shard), target=target)


def _listed(names: list[str]) -> str:
    shown = ", ".join(shortened(name, 80) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown}, …"


def _unsound(path: Path, reason: str) -> FileError:
    text = "{file}: is not a sound safetensors file ({reason}); download or convert it again"
    return FileError("safetensors-unsound", text, file=path, reason=reason)
