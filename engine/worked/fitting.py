"""What is said of a matrix that does not fit: its shape, what it must fit with the shape of that, and what would."""

from __future__ import annotations

from collections.abc import Sequence

from engine.axes import Axis, shape_text
from engine.errors import FileError
from engine.operand import Operand
from engine.worked.numbers import written


def misfit(
    place: str, key: str, shape: tuple[int, ...], axes: Sequence[Axis], fits: Sequence[str], number: str = ""
) -> FileError:
    """The error for numbers of another shape.

    Args:
        place: the file and line, and ``key`` what stands there.
        shape: the shape that it has.
        axes: what it must run along; 0 where any size will do, which is written as the axis's own letter.
        fits: for each axis what decides over its size, with its shape; the empty text where nothing does.
        number: the number itself, where it is a single one.
    """
    whole = len(shape) == len(axes)
    # A text or head that is the only one may be left out, as it is in the file.
    wanted = axes if whole else [axis for axis in axes if axis.symbol not in ("B", "H", "1") or axis.size != 1]
    wanted = wanted or axes[:1]
    found = written(shape)
    if len(wanted) == len(shape):
        found = shape_text([axis.resized(size) for axis, size in zip(wanted, shape, strict=True)])
    sizes = "×".join(str(axis.size or axis.symbol) for axis in wanted)
    values = {"entry": key, "wanted": f"{'×'.join(axis.symbol for axis in wanted)} = {sizes}"}
    other = ", ".join(_deciding(shape, axes, wanted, fits))
    if number and other:
        text = "{file}: {entry} is a single number, {value}; to fit {other} it must be {wanted}"
        return FileError("worked-single", text, file=place, value=number, other=other, **values)
    if other:
        text = "{file}: {entry} is {shape}; to fit {other} it must be {wanted}"
        return FileError("worked-fit", text, file=place, shape=found, other=other, **values)
    text = "{file}: {entry} is {shape}; it must be {wanted}"
    return FileError("worked-shape", text, file=place, shape=found, **values)


def _deciding(
    shape: tuple[int, ...], axes: Sequence[Axis], wanted: Sequence[Axis], fits: Sequence[str]
) -> dict[str, None]:
    """What the axes that are wrong must fit; all there is where it cannot be said which are."""
    deciders = {id(axis): decider for axis, decider in zip(axes, fits, strict=False) if decider}
    if len(wanted) == len(shape):
        wrong = [axis for axis, size in zip(wanted, shape, strict=True) if axis.size not in (0, size)]
        found = dict.fromkeys(deciders[id(axis)] for axis in wrong if id(axis) in deciders)
        if found:
            return found
    return dict.fromkeys(deciders[id(axis)] for axis in wanted if id(axis) in deciders)


def named(operand: Operand) -> str:
    """An operand in a message: its symbol and its shape."""
    return f"{operand.symbol} {operand.shape_text}"
