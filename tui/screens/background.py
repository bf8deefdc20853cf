"""What takes long, in threads, which are told when nobody waits any more; and the messages that say how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual import work
from textual.message import Message
from textual.screen import Screen
from textual.worker import get_current_worker

from engine.generation import MOST_WRITTEN, Prediction, greedy, predictions
from engine.stages import Stage
from engine.trace import Trace
from tui.language import Language
from tui.session import Session

# The prediction needs every stage: it is worked out unasked only where that is quick.
UNASKED = 2_000_000_000


class StoppedError(Exception):
    """The reader has gone on to something else."""


class Background(Screen[None]):
    """A screen that has stages computed, the next token predicted, a translation written, a model verified."""

    @dataclass
    class Computed(Message):
        """What was waited for has been computed."""

        then: Callable[[], object]

    @dataclass
    class Advanced(Message):
        """So many of the stages that are waited for have been computed."""

        then: Callable[[], object]
        done: int
        count: int

        def can_replace(self, message: Message) -> bool:
            """Only the latest matters."""
            return isinstance(message, Background.Advanced)

    @dataclass
    class Predicted(Message):
        """The next token's distribution of a trace is known."""

        trace: Trace
        text: int
        guesses: list[Prediction]

    @dataclass
    class Verified(Message):
        """A reference beside the weights has agreed with what the model computes."""

    @dataclass
    class Grown(Message):
        """An encoder-decoder has written one more token of its translation."""

        source: list[int]
        text: int
        token: int

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self.session = session
        self.say = say

    @work(thread=True, group="compute", exclusive=True, exit_on_error=True)
    def _compute(self, trace: Trace, wanted: list[Stage], then: Callable[[], object]) -> None:
        worker = get_current_worker()

        def progress(done: int, count: int) -> None:
            if worker.is_cancelled:
                raise StoppedError
            self.post_message(self.Advanced(then, done, count))

        try:
            trace.compute(wanted, progress)
        except StoppedError:
            return
        self.post_message(self.Computed(then))

    @work(thread=True, group="predict", exclusive=True)
    def _predict(self) -> None:
        worker = get_current_worker()
        trace, text, position = self.session.trace, self.session.text, self.session.asked
        if not self.session.predicts:
            return
        wanted = trace.before_row(trace["probabilities"])
        if trace.cost(wanted) > UNASKED:
            return

        def progress(done: int, count: int) -> None:
            if worker.is_cancelled:
                raise StoppedError

        try:
            trace.compute(wanted, progress)
        except StoppedError:
            return
        self.post_message(self.Predicted(trace, text, predictions(trace, text, position, count=3)))

    @work(thread=True, group="grow", exclusive=True)
    def _grow(self) -> None:
        """Let the model write its translation of the text looked at, token by token, where it has not begun."""
        worker = get_current_worker()
        session = self.session
        trace, text = session.trace, session.text
        begun = [token.id for token in trace.tokens[text]]
        if len(begun) > 1:
            return
        source = [token.id for token in trace.source_tokens[text]]
        for token in greedy(session.model, source, MOST_WRITTEN, decoder_ids=begun):
            if worker.is_cancelled:
                return
            self.post_message(self.Grown(source, text, token))

    @work(thread=True, group="verify")
    def _verify(self) -> None:
        from engine.verify import verified_beside

        if self.session.changeable and verified_beside(self.session.model):
            self.post_message(self.Verified())
