"""What a file gives for a stage that is computed as well, beside what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.operand import Cell
from engine.stages import Stage
from engine.worked.numbers import Matrix

# Beyond the half unit of a printed number's last digit: what float32 may be off, of the number itself.
ROUNDING = 2e-6


@dataclass(frozen=True, eq=False)
class Comparison:
    """A stage's numbers as a file gives them. What it leaves out is NaN.

    Attributes:
        stage: the stage that is computed.
        key: the file's key.
        printed: the numbers as they are written, in the stage's shape.
    """

    stage: Stage
    key: str
    printed: Matrix

    @property
    def given(self) -> NDArray[np.float64]:
        """The numbers as they are written, in the stage's shape; NaN where there are none."""
        return self.printed.values

    @cached_property
    def differences(self) -> NDArray[np.float64]:
        """|computed − given|; NaN where nothing is given, 0 where both are −∞."""
        computed = self.stage.value.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return np.where(computed == self.given, 0.0, np.abs(computed - self.given))

    @cached_property
    def agreement(self) -> NDArray[np.bool_]:
        """Where the computed number, rounded to as many digits as are written, is what is written; or nothing is."""
        computed = np.abs(self.stage.value.astype(np.float64))
        # Half a unit itself is allowed, in a decimal that binary numbers cannot hold.
        with np.errstate(invalid="ignore"):
            allowed = self.printed.halves * (1 + 1e-9) + ROUNDING * np.maximum(computed, 1.0) * (computed != 0)
            known: NDArray[np.bool_] = (self.differences == 0) | (self.differences <= allowed)
        return known | np.isnan(self.given)

    @property
    def agrees(self) -> bool:
        """Whether every number that is written is the computed one, rounded."""
        return bool(self.agreement.all())

    @property
    def where(self) -> Cell:
        """The cell that is furthest from what is written."""
        known = np.where(np.isnan(self.given), -1.0, np.where(np.isnan(self.differences), np.inf, self.differences))
        return tuple(int(place) for place in np.unravel_index(int(known.argmax()), known.shape))

    @property
    def gap(self) -> float:
        """max |Δ|."""
        return float(self.differences[self.where])
