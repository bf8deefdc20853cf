"""What the command line asks for, and what holds where it says nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_MODEL = "tiny-gpt"
MEBIBYTES = 1024


@dataclass(repr=False, eq=False)
class Asked:
    """The texts, and every option by its name. What is not said is None, false or empty."""

    texts: list[str] = field(default_factory=list)
    demo_new: Path | None = None
    demo: str | None = None
    verify: Path | None = None
    worked: str | None = None
    model: str | None = None
    target: list[str] = field(default_factory=list)
    report: bool = False
    stage: str | None = None
    layer: int | None = None
    head: int | None = None
    format: str | None = None
    output: Path | None = None
    theme: str | None = None
    memory: int | None = None
    speed: float | None = None
    from_: str | None = None
    loop: bool = False
    text: list[str] = field(default_factory=list)
    check: bool = False
    record: Path | None = None

    @property
    def options(self) -> list[str]:
        """The options that were given, as they are written: ``--demo-new``."""
        given = [
            name
            for name, value in vars(self).items()
            if value is not None and value is not False and value != [] and name != "texts"
        ]
        return [f"--{name.strip('_').replace('_', '-')}" for name in given]

    @property
    def reports(self) -> bool:
        """Whether something is to be written, and nothing opened."""
        return self.report or self.format is not None or self.output is not None

    @property
    def needs_text(self) -> bool:
        """Whether there is nothing to see without a text."""
        return self.demo_new is None and self.demo is None and self.verify is None and self.worked is None

    @property
    def place(self) -> tuple[str | None, int | None, int | None]:
        """The stage, the layer and the head to look at."""
        return self.stage, self.layer, self.head

    @property
    def model_name(self) -> str:
        """The model to look at."""
        return SAMPLE_MODEL if self.model is None else self.model

    @property
    def kept(self) -> int:
        """How many bytes of computed values to keep."""
        return (self.memory or MEBIBYTES) << 20

    @property
    def colours(self) -> str:
        """The theme."""
        return self.theme or "dark"
