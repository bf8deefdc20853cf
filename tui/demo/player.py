"""Where a demo is: plain Python, told how time passes and which keys are pressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Player:
    """Plays scenes one after the other.

    Attributes:
        seconds: how long each scene stays; None where it waits for a key.
        speed: how much faster than that.
        loop: whether the first scene follows the last.
        index: the scene shown, from 0.
        elapsed: how long it has been shown, at speed 1.
        paused: whether time stands still.
        away: whether the reader has left the demo to explore.
    """

    seconds: Sequence[float | None]
    speed: float = 1.0
    loop: bool = False
    index: int = 0
    elapsed: float = field(default=0.0, init=False)
    paused: bool = field(default=False, init=False)
    away: bool = field(default=False, init=False)

    @property
    def count(self) -> int:
        """How many scenes there are."""
        return len(self.seconds)

    @property
    def playing(self) -> bool:
        """Whether time passes."""
        return not (self.paused or self.away)

    @property
    def waits(self) -> bool:
        """Whether the scene shown goes on only when a key is pressed."""
        return self.seconds[self.index] is None

    @property
    def ended(self) -> bool:
        """Whether the last scene has been shown to its end."""
        wait = self.seconds[self.index]
        return self.index == self.count - 1 and not self.loop and (wait is None or self.elapsed >= wait)

    @property
    def progress(self) -> float:
        """How much of the demo has been shown, from 0 to 1."""
        wait = self.seconds[self.index]
        part = 0.0 if wait is None else min(1.0, self.elapsed / wait)
        return 1.0 if self.ended else (self.index + part) / self.count

    def tick(self, seconds: float) -> bool:
        """Let time pass; true where another scene is to be shown."""
        wait = self.seconds[self.index]
        if not self.playing or wait is None:
            return False
        self.elapsed = min(wait, self.elapsed + seconds * self.speed)
        return self.elapsed >= wait and self.on()

    def on(self) -> bool:
        """Go a scene on; false where there is none."""
        return self.go(self.index + 1)

    def back(self) -> bool:
        """Go a scene back, or to the beginning of the first."""
        return self.go(max(0, self.index - 1))

    def go(self, index: int) -> bool:
        """Go to a scene; false where it is beyond the last."""
        if index >= self.count and not self.loop:
            return False
        self.index, self.elapsed, self.away = index % self.count, 0.0, False
        return True

    def pause(self) -> bool:
        """Pause, or go on; true where another scene is to be shown, or this one anew.

        From where the reader has left, the demo is taken up again; a scene that waits for a key gets it; and after the
        end it begins again.
        """
        if self.away:
            self.away = self.paused = False
            return True
        if self.ended:
            self.paused = False
            return self.go(0)
        if self.waits:
            return self.on()
        self.paused = not self.paused
        return False

    def leave(self) -> None:
        """Let the reader explore."""
        self.away = True
