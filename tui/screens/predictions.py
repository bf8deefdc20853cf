"""The next token's distribution as bars, to choose from."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.screen import ModalScreen
from textual.widgets import Static

from engine.generation import Prediction, TextLoss, predictions, text_loss
from tui.language import Language
from tui.screens.stage_view import AT_ONCE
from tui.session import Session
from tui.views.foreseen import heading, line, mean_line
from tui.views.shares import predicted_text
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import align

LABEL_WIDTH = 24
WIDEST_BAR = 72
BLOCKS = " ▏▎▍▌▋▊▉█"


class Predictions(ModalScreen[tuple[int, int] | None]):
    """The most probable tokens at a position: the next one, or, of an encoder, the one that stands there.

    Gives the id of the token chosen and the position that it was predicted at, or None.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "choose(1)", "down", show=False, id="predictions_down", tooltip="down"),
        Binding("up,k", "choose(-1)", "up", show=False, id="predictions_up", tooltip="up"),
        Binding("right,l", "position(1)", "on", show=False, id="predictions_on", tooltip="on"),
        Binding("left,h", "position(-1)", "back", show=False, id="predictions_back", tooltip="back"),
        Binding("tab,v", "whole", "whole", show=False, id="predictions_whole", tooltip="whole"),
        Binding("enter,a", "take", "take", show=False, id="predictions_take", tooltip="take"),
        Binding("escape,p,q", "leave", "leave", show=False, id="predictions_leave", tooltip="leave"),
    ]
    DEFAULT_CSS = """
    Predictions { background: $background; }
    Predictions > Static { width: 100%; height: 1fr; padding: 1 2; text-wrap: nowrap; }
    Predictions > .hint { height: 1; padding: 0 2; color: $quiet; }
    """

    class Learnt(Message):
        """Every position's loss is at hand."""

    # Lines at the bottom that are something else's.
    taken = 0

    whole: var[bool] = var(False, init=False)
    """Whether every position's prediction of its successor is shown, rather than one position's distribution."""
    chosen: var[int] = var(0, init=False)
    at: var[int] = var(0, init=False)

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._guesses: list[Prediction] = []
        self.set_reactive(Predictions.at, session.asked)

    def compose(self) -> ComposeResult:
        yield ClickableText(id="bars")
        yield Static(self._hint(), classes="hint")

    def on_resize(self) -> None:
        self._write()

    def watch_chosen(self) -> None:
        self._write()

    def watch_whole(self) -> None:
        self.query_one(".hint", Static).update(self._hint())
        # The last token foresees nothing that stands in the text.
        self.at = min(self.at, self._last)
        self._write()

    def watch_at(self) -> None:
        self.chosen = 0
        self._write()

    def action_choose(self, count: int) -> None:
        if self.whole:
            self.action_position(count)
        else:
            self.chosen = max(0, min(self.chosen + count, len(self._guesses) - 1))

    def action_position(self, count: int) -> None:
        self.at = max(0, min(self.at + count, self._last))

    def action_pick(self, number: int) -> None:
        """Choose a bar by the mouse; a second click takes it."""
        if number == self.chosen:
            self.action_take()
        self.chosen = number

    def action_look(self, position: int) -> None:
        """Look at a position's line by the mouse; a second click shows its distribution."""
        if position == self.at:
            self.action_take()
        self.at = position

    def action_whole(self) -> None:
        """Show how every token of the text was foreseen, or one position's distribution again."""
        trace, text = self._session.trace, self._session.text
        self.whole = not self.whole and "losses" in trace and trace.ends[text] > 0

    def action_take(self) -> None:
        if self.whole:
            self.whole = False
        else:
            self.dismiss((self._guesses[self.chosen].id, self.at))

    def action_leave(self) -> None:
        self.dismiss(None)

    @property
    def _last(self) -> int:
        """The last position that can be looked at."""
        return self._session.trace.ends[self._session.text] - self.whole

    def _hint(self) -> Content:
        if self.whole:
            return Content(self._say("losses.hint"))
        return Content(self._say("predictions.hint" if self._session.writes else "predictions.hint_fill"))

    def _write(self) -> None:
        trace = self._session.trace
        if self.whole and trace.cost([trace["losses"]]) > AT_ONCE:
            # Of a large vocabulary, only the row that was asked for is there by now.
            self._show([Content.styled(self._say("losses.title"), "bold $accent"), Content(self._say("losses.wait"))])
            self._learn()
            return
        found = text_loss(trace, self._session.text) if self.whole else None
        self._show(self._bars() if found is None else self._losses(found))

    def _show(self, lines: list[Content]) -> None:
        self.query_one("#bars", Static).update(Content("\n").join(lines))

    @work(thread=True, exclusive=True)
    def _learn(self) -> None:
        trace = self._session.trace
        trace.compute([trace["losses"], trace["loss"]])
        self.post_message(self.Learnt())

    @on(Learnt)
    def _learnt(self) -> None:
        self._write()

    def _losses(self, found: TextLoss) -> list[Content]:
        """The mean, then a line a position around the one looked at: the true next token, P, −ln P and rank."""
        say, height = self._say, max(2, self.size.height - 8 - self.taken)
        first = max(0, min(self.at - height // 2, len(found.outcomes) - height))
        lines = [
            Content.styled(say("losses.title"), "bold $accent"),
            Content(mean_line(found, say)),
            Content.styled(heading(say), "$quiet"),
        ]
        for outcome in found.outcomes[first : first + height]:
            here = outcome.position == self.at
            row = Content.styled(line(outcome, "▸" if here else " "), "bold $accent" if here else "")
            bar = Content.styled(_bar(outcome.probability, max(0, min(WIDEST_BAR, self.size.width - 68))), "$secondary")
            lines.append(clickable(row + bar, f"screen.look({outcome.position})"))
        return lines

    def _bars(self) -> list[Content]:
        session, say = self._session, self._say
        width, height = max(30, self.size.width - 4), max(4, self.size.height - 8 - self.taken)
        count = session.trace["probabilities"].axes[-1].size
        self._guesses = predictions(session.trace, session.text, self.at, min(height, 24, count))
        token = session.trace.tokens[session.text][self.at].label
        lines = [
            Content.styled(say("predictions.title" if session.writes else "predictions.title_fill"), "bold $accent"),
            Content(
                say(
                    "predictions.after" if session.writes else "predictions.at",
                    token=token,
                    position=self.at,
                    count=count,
                )
            ),
            Content(""),
        ]
        room = min(WIDEST_BAR, width - LABEL_WIDTH - 10)
        for number, guess in enumerate(self._guesses):
            here = number == self.chosen
            lines.append(
                clickable(
                    Content.assemble(
                        ("▸ " if here else "  ", "bold $accent"),
                        (align(guess.label, LABEL_WIDTH, "left"), "bold $accent" if here else ""),
                        (f"{predicted_text(guess.probability):>7} ", ""),
                        (_bar(guess.probability, room), "$accent" if here else "$secondary"),
                    ),
                    f"screen.pick({number})",
                )
            )
        rest = 1.0 - sum(guess.probability for guess in self._guesses)
        lines.append(
            Content.assemble(
                "  ",
                (align(say("predictions.rest", count=count - len(self._guesses)), LABEL_WIDTH, "left"), "$quiet"),
                (f"{predicted_text(max(rest, 0.0)):>7} ", "$quiet"),
                (_bar(max(rest, 0.0), room), "$panel"),
            )
        )
        return lines


def _bar(share: float, width: int) -> str:
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + BLOCKS[eighths % 8].strip()
