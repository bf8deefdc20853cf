"""What a fact is."""

from __future__ import annotations

from dataclasses import dataclass

Raw = str | int | float


@dataclass(frozen=True)
class Fact:
    """One fact: as claims compare it, and as captions write it."""

    raw: Raw
    text: str

    @classmethod
    def of(cls, raw: Raw) -> Fact:
        """A text or a count, written as it is."""
        return cls(raw, str(raw))


class NoFactError(Exception):
    """There is no such fact, or it means nothing at this place."""
