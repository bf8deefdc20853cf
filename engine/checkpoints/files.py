"""Files of a model folder: checked before they are opened, bounded while they are read."""

from __future__ import annotations

import json
import os
import reprlib
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import EngineError, FileError

JSON_LIMIT = 16 << 20
GGUF, MAGIC = ".gguf", b"GGUF"
EXPECTED = "a model folder holds config.json, *.safetensors and tokenizer.json"

# A value in a hostile file may be megabytes long, or nested so deeply that writing it out would overrun the stack.
_WRITER = reprlib.Repr()
_WRITER.maxlevel, _WRITER.maxstring, _WRITER.maxlong, _WRITER.maxother = 4, 400, 400, 400


def check_folder(folder: Path) -> None:
    """Makes sure that ``folder`` is a folder that can be read.

    Raises:
        FileError: it is missing, not a folder, or not readable.
    """
    try:
        is_folder = stat.S_ISDIR(folder.stat().st_mode)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise FileError("folder-missing", "{file}: there is no such folder; " + EXPECTED, file=folder) from None
        raise _unreadable(folder, error) from None
    if not is_folder:
        raise FileError("folder-is-file", "{file}: is not a folder; " + EXPECTED, file=folder)
    if not os.access(folder, os.R_OK | os.X_OK):
        raise _not_permitted(folder)


def is_gguf(path: Path) -> bool:
    """Whether a path is meant as a GGUF file: by its name, or, as Ollama's have no name that says so, by its start."""
    if os.path.isdir(path):
        return False
    return path.suffix.lower() == GGUF or _starts_as_gguf(path)


def _starts_as_gguf(path: Path) -> bool:
    # Whatever is no ordinary file is left unopened, and refused later.
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def names_in(folder: Path) -> list[str]:
    """The sorted names of what stands in ``folder``.

    Raises:
        FileError: it is missing, not a folder, or not readable.
    """
    check_folder(folder)
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise _unreadable(folder, error) from None


def check_file(path: Path) -> int:
    """The size in bytes of an ordinary file. Pipes and devices are refused unopened: opening one can wait for ever.

    Raises:
        FileError: there is no such file, or it is not an ordinary one.
    """
    with readable(path):
        status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise FileError("file-is-folder", "{file}: is a folder; a file is needed", file=path)
    if not stat.S_ISREG(status.st_mode):
        raise FileError("file-not-ordinary", "{file}: is a pipe or a device; an ordinary file is needed", file=path)
    return status.st_size


def read_bytes(path: Path, limit: int) -> bytes:
    """All of an ordinary file.

    Raises:
        FileError: it cannot be read, or is longer than ``limit`` bytes.
    """
    size = check_file(path)
    with readable(path), path.open("rb") as file:
        # Python makes room for all that it is asked to read.
        data = file.read(min(size, limit) + 1)
    if len(data) > limit:
        raise FileError(
            "file-too-long", "{file}: is longer than the {limit} bytes that are read", file=path, limit=limit
        )
    return data


def read_json(path: Path, limit: int = JSON_LIMIT) -> dict[str, Any]:
    """The object that a JSON file of at most ``limit`` bytes holds; NaN and Infinity are accepted.

    Raises:
        FileError: the file cannot be read, is not UTF-8, not JSON, nested too deeply, or holds no object.
    """
    data = read_bytes(path, limit)
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        text = "{file}: is not UTF-8 text: byte {byte} at position {position}"
        byte = f"0x{data[error.start]:02x}"
        raise FileError("json-not-utf8", text, file=path, byte=byte, position=error.start) from None
    except json.JSONDecodeError as error:
        text = "{file}: is not JSON: line {line}, column {column}: {reason}"
        where = {"line": error.lineno, "column": error.colno}
        raise FileError("json-invalid", text, file=path, reason=error.msg, **where) from None
    except RecursionError:
        raise FileError("json-too-deep", "{file}: its JSON is nested too deeply to be read", file=path) from None
    except ValueError as error:
        text = "{file}: its JSON holds a value that cannot be read ({reason})"
        raise FileError("json-value-unreadable", text, file=path, reason=shortened(str(error))) from None
    if not isinstance(value, dict):
        text = "{file}: holds {found}; a JSON object {{…}} is needed"
        raise FileError("json-not-object", text, file=path, found=json_kind(value))
    return value


def read_config(folder: Path) -> dict[str, Any]:
    """What config.json in ``folder`` says.

    Raises:
        FileError: it is missing or unreadable.
    """
    check_folder(folder)
    path = folder / "config.json"
    if not os.path.lexists(path):
        raise FileError("config-missing", "{file}: holds no config.json; " + EXPECTED, file=folder)
    return read_json(path)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns what the operating system says about ``path`` into a FileError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


@contextmanager
def library_faults(fault: Callable[[str], EngineError]) -> Iterator[None]:
    """Raises ``fault(reason)`` for whatever a library written in Rust raises.

    A panic in Rust arrives as ``PanicException``, a BaseException of a class that cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, EngineError) or not (isinstance(error, Exception) or is_panic(error)):
            raise
        raise fault(shortened(str(error).partition("\n")[0] or type(error).__name__)) from None


def is_panic(error: BaseException) -> bool:
    """Whether ``error`` is a panic of a library written in Rust."""
    return type(error).__name__ == "PanicException"


def shortened(text: str, limit: int = 200) -> str:
    """The text, cut to ``limit`` characters: names in a hostile file can be megabytes long."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown(value: object, limit: int = 80) -> str:
    """A value from a file as Python writes it, but null, true and false as JSON does; cut to ``limit`` characters."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return shortened(_WRITER.repr(value), limit)


def json_kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return kinds[type(value)]


def _unreadable(path: Path, error: OSError | ValueError) -> FileError:
    if isinstance(error, FileNotFoundError):
        return FileError("file-missing", "{file}: there is no such file", file=path)
    if isinstance(error, PermissionError):
        return _not_permitted(path)
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return FileError("file-unreadable", "{file}: cannot be read ({reason})", file=path, reason=reason)


def _not_permitted(path: Path) -> FileError:
    return FileError("file-not-permitted", "{file}: you have no permission to read it", file=path)
