"""The record of one forward pass: every stage in order, computed when somebody looks at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from engine.axes import Axis
from engine.errors import InputError
from engine.operand import Operand
from engine.ops import Op
from engine.stages import Evaluator, Progress, Stage
from engine.tokenizer import Token

GIBIBYTE = 1 << 30


class Trace:
    """All stages of one run over one batch of texts.

    Attributes:
        texts: the texts that are predicted, one for each row of the batch.
        tokens: the tokens of each text, padding left out.
        ends: the position of each text's last token.
        asked: the position of each text where a prediction is asked for first: its mask token, or else its end.
        source_texts: the texts that an encoder-decoder reads before it writes these; none elsewhere.
        source_tokens: the tokens of each of those, padding left out.
        stages: every stage, in the order of the computation.
    """

    def __init__(
        self,
        texts: Sequence[str],
        tokens: Sequence[Sequence[Token]],
        ends: Sequence[int],
        memory: int = GIBIBYTE,
        *,
        asked: Sequence[int] | None = None,
        source_texts: Sequence[str] = (),
        source_tokens: Sequence[Sequence[Token]] = (),
    ) -> None:
        self.texts = tuple(texts)
        self.tokens = tuple(tuple(row) for row in tokens)
        self.ends = tuple(ends)
        self.asked = self.ends if asked is None else tuple(asked)
        self.source_texts = tuple(source_texts)
        self.source_tokens = tuple(tuple(row) for row in source_tokens)
        self.stages: list[Stage] = []
        self._by_name: dict[str, Stage] = {}
        self._evaluator = Evaluator(memory)

    def __getitem__(self, name: str) -> Stage:
        """The stage of that name.

        Raises:
            InputError: there is none; the message names those that come closest.
        """
        stage = self._by_name.get(name)
        if stage is None:
            raise self._unknown(name)
        return stage

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def record(self, name: str, op: Op, *inputs: Operand, symbol: str = "", lasting: bool = False) -> Stage:
        """Append a stage; nothing is computed yet. ``symbol`` is what formulas call it, else its name's last part."""
        if name in self._by_name:
            raise ValueError(f"stage {name} is recorded twice")
        axes = op.axes(inputs)
        stage = Stage(name, symbol or name.split(".")[-1], op, inputs, axes, self._evaluator, len(self.stages), lasting)
        self.stages.append(stage)
        self._by_name[name] = stage
        return stage

    def tokens_along(self, axis: Axis) -> tuple[tuple[Token, ...], ...]:
        """The tokens of each text that stand along an N or M axis, padding left out."""
        return self.source_tokens if axis.side == "source" else self.tokens

    def before_row(self, stage: Stage) -> list[Stage]:
        """The stages that must be computed before any one row of this one is at hand: itself, mostly.

        Of logits and probabilities over a large vocabulary, rows are made one by one, until all are asked for.
        """
        return self._evaluator.before_row(stage)

    def is_kept(self, stage: Stage) -> bool:
        """Whether looking at the stage costs nothing."""
        return self._evaluator.is_kept(stage)

    def cost(self, stages: Iterable[Stage]) -> int:
        """About how many multiplications it takes before all of these can be looked at."""
        return self._evaluator.cost(stages)

    def compute(self, stages: Iterable[Stage], progress: Progress | None = None) -> None:
        """Compute what is not kept of these stages and of all they need, telling ``progress`` after each."""
        self._evaluator.compute(stages, progress)

    @property
    def computed(self) -> Counter[str]:
        """How often each stage has been computed, by name."""
        return self._evaluator.computed

    @property
    def memory(self) -> int:
        """The bytes that kept values take."""
        return self._evaluator.memory

    def unknown_layer(self, layer: int) -> InputError:
        """The error for a layer that is not there."""
        return InputError(
            "unknown-layer",
            "there is no layer {layer}; this model has layers 0 to {last}",
            layer=layer,
            last=max((stage.layer for stage in self.stages if stage.layer is not None), default=-1),
        )

    def _unknown(self, name: str) -> InputError:
        import re
        from difflib import get_close_matches

        asked = re.search(r"layers\.(\d+)", name)
        if asked and int(asked[1]) not in {stage.layer for stage in self.stages}:
            return self.unknown_layer(int(asked[1]))
        close = get_close_matches(name, self._by_name, n=3, cutoff=0.5)
        last = name.split(".")[-1]
        close += [known for known in self._by_name if known.split(".")[-1] == last and known not in close][:3]
        return InputError(
            "unknown-stage",
            "there is no stage {name}; there are {stages}",
            name=name,
            stages=", ".join(close) + ", …" if close else ", ".join(list(self._by_name)[:4]) + ", …",
        )
