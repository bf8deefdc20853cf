"""Reference files: what another program computed on the same weights, as an npz archive; read without trusting it."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.files import check_file, library_faults, readable, shortened
from engine.errors import FileError

FILE_LIMIT, DIRECTORY_LIMIT, NUMBER_LIMIT = 4 << 30, 1 << 20, 1 << 28
END, END_SIZE, LARGE_END, COMMENT_LIMIT = b"PK\x05\x06", 22, b"PK\x06\x07", 1 << 16
SUFFIX = ".npy"


@dataclass(frozen=True)
class Entry:
    """One array of the file, not yet read."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Reference:
    """An npz file that has been opened; ``with`` closes it. Only headers are read before an array is asked for.

    Attributes:
        file: where it is.
        entries: its arrays, by name.
    """

    def __init__(self, file: Path) -> None:
        """Open a file.

        Raises:
            FileError: it is no sound archive of arrays of numbers.
        """
        self.file = file
        _check_directory(file)
        with self._sound():
            self._archive = zipfile.ZipFile(file)
        try:
            self.entries: Mapping[str, Entry] = dict(self._headers())
        except BaseException:
            self._archive.close()
            raise

    def __enter__(self) -> Reference:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._archive.close()

    def read(self, name: str) -> NDArray[Any]:
        """All of an array."""
        with self._sound(), self._archive.open(name + SUFFIX) as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
            return array

    def _headers(self) -> Iterator[tuple[str, Entry]]:
        seen: set[str] = set()
        for info in self._archive.infolist():
            name = info.filename.removesuffix(SUFFIX)
            if name in seen or name == info.filename:
                raise self._unsound(f"{shortened(info.filename, 80)} stands twice, or is no {SUFFIX} file")
            seen.add(name)
            with self._sound(), self._archive.open(info) as stream:
                shape, _, dtype = _header(stream)
                size = stream.tell() + math.prod(shape) * dtype.itemsize
            if dtype.kind not in "biuf":
                text = "{file}: {entry} holds {dtype}; arrays of numbers are needed"
                raise FileError("npz-dtype", text, file=self.file, entry=shortened(name, 80), dtype=dtype)
            count = math.prod(max(length, 1) for length in shape)
            if min(shape, default=0) < 0 or count > NUMBER_LIMIT or size != info.file_size:
                text = (
                    "{file}: {entry} is said to have the shape {shape}, which is not what the file holds, or too much"
                )
                shown = shortened("×".join(map(str, shape)), 80)
                raise FileError("npz-shape", text, file=self.file, entry=shortened(name, 80), shape=shown)
            yield name, Entry(shape, dtype)

    @contextmanager
    def _sound(self) -> Iterator[None]:
        with library_faults(self._unsound):
            yield

    def _unsound(self, reason: str) -> FileError:
        text = "{file}: is not a sound npz file ({reason}); numpy.savez writes such files"
        return FileError("npz-unsound", text, file=self.file, reason=reason)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape and dtype of an array; NumPy reads no header that is longer than 10,000 characters."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(stream)
    raise ValueError(f"an array is in version {version} of the format")


def _check_directory(file: Path) -> None:
    """Refuse a file, or a list of contents, that is too long: Python's zipfile reads all of the list at once."""
    size = check_file(file)
    with readable(file), file.open("rb") as stream:
        stream.seek(max(0, size - END_SIZE - COMMENT_LIMIT))
        end = stream.read()
    place = end.rfind(END)
    listed = int.from_bytes(end[place + 12 : place + 16], "little")
    if place >= 0 and (size > FILE_LIMIT or listed > DIRECTORY_LIMIT or end[:place].rfind(LARGE_END) >= 0):
        text = "{file}: is too large for a reference; one holds at most {limit} GB and a few thousand arrays"
        raise FileError("npz-too-large", text, file=file, limit=FILE_LIMIT >> 30)
