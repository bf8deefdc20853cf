"""Models in GGUF files: one file, or the parts that llama-gguf-split makes of one, in one folder.

A part is named ``NAME-00001-of-00003.gguf``. The first holds the metadata, each says which it is and of how many
(``split.no``, counted from 0, and ``split.count``).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from engine.checkpoints.files import shortened, shown
from engine.checkpoints.gguf import MOST_TENSORS, GgufFile, read_header
from engine.checkpoints.gguf_blocks import BlockTensor
from engine.checkpoints.tensors import Maps
from engine.errors import FileError

PART = re.compile(r"(?P<name>.*)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})(?P<suffix>\.gguf)", re.DOTALL | re.I)
MOST_PARTS = 1 << 10
NUMBER, COUNT, ALL_TENSORS = "split.no", "split.count", "split.tensors.count"


def open_gguf(path: Path) -> GgufFile:
    """The model in a GGUF file, or in all the parts that a file is one of; nothing is read but the headers.

    Raises:
        FileError: a file cannot be read or is not sound, or the parts are not those of one model.
    """
    maps = Maps()
    opened = read_header(path, maps)
    count = _whole(opened, COUNT)
    if count in (0, 1):
        return opened
    named = PART.fullmatch(path.name)
    if not 2 <= count <= MOST_PARTS or named is None or int(named["count"]) != count:
        text = (
            "{file}: says that it is one of {count} parts; up to {limit} are read, "
            "each named as llama-gguf-split does: NAME-00001-of-00003.gguf"
        )
        raise FileError("gguf-split", text, file=path, count=count, limit=MOST_PARTS)
    names = [f"{named['name']}-{number:05}-of-{count:05}{named['suffix']}" for number in range(1, count + 1)]
    missing = [name for name in names if not os.path.lexists(path.with_name(name))]
    if missing:
        text = "{file}: is one of {count} parts, and {missing} is not in the folder ({absent} such)"
        values = {"count": count, "missing": missing[0], "absent": len(missing)}
        raise FileError("gguf-part-missing", text, file=path, **values)
    parts = [opened if name == path.name else read_header(path.with_name(name), maps) for name in names]
    return GgufFile(path, parts[0].metadata, _joined(parts))


def only_model(folder: Path, names: list[str]) -> Path:
    """The one model among a folder's GGUF files: of a model in parts, its first.

    Raises:
        FileError: they are several.
    """
    found = [(name, PART.fullmatch(name)) for name in names]
    firsts = [name for name, part in found if part is None or int(part["number"]) == 1]
    if len(firsts) > 1:
        listed = ", ".join(shortened(name, 80) for name in firsts[:8]) + (", …" if len(firsts) > 8 else "")
        text = "{file}: holds {count} GGUF files; give the path of one of them: {names}"
        raise FileError("gguf-several", text, file=folder, count=len(firsts), names=listed)
    return folder / (firsts or names)[0]


def _joined(parts: list[GgufFile]) -> dict[str, BlockTensor]:
    """The tensors of all parts."""
    tensors: dict[str, BlockTensor] = {}
    for number, part in enumerate(parts):
        said = _whole(part, NUMBER), _whole(part, COUNT)
        if said != (number, len(parts)):
            text = "{file}: says that it is part {number}, counted from 0, of {count}, and its name says otherwise"
            raise FileError("gguf-part-number", text, file=part.path, number=said[0], count=said[1])
        twice = next((name for name in part.tensors if name in tensors), None)
        if twice is not None:
            text = "{file}: {name} stands in another part too; every tensor must have a name of its own"
            raise FileError("gguf-part-twice", text, file=part.path, name=twice)
        tensors.update(part.tensors)
    wanted = _whole(parts[0], ALL_TENSORS, len(tensors))
    if wanted != len(tensors) or len(tensors) > MOST_TENSORS:
        text = "{file}: says that its parts hold {wanted} tensors; they hold {count}, and at most {limit} are read"
        values = {"wanted": wanted, "count": len(tensors), "limit": MOST_TENSORS}
        raise FileError("gguf-part-tensors", text, file=parts[0].path, **values)
    return tensors


def _whole(part: GgufFile, key: str, default: int = 0) -> int:
    value = part.metadata.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        text = "{file}: {entry} is {value}; {wanted} is expected"
        raise FileError("config-value", text, file=part.path, entry=key, value=shown(value), wanted="a whole number")
    return value
