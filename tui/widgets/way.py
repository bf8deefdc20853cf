"""The whole way through the model on one line, with the place where the reader stands and the prediction at its end."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

from engine.generation import Prediction
from tui.language import Language
from tui.places import Section, section_of, sections
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import cut

HERE = "bold $background on $accent"
LONGEST_TEXT = 12
# Of more than six layers, those around the reader's are shown.
MOST_LAYERS, AROUND = 6, 3
# Instead of a number of layers: nothing but where the reader is.
ALONE = -1
# How many predictions and how many layers are shown, from what is best to what takes least room.
TIGHTER = (
    *((3, MOST_LAYERS), (2, MOST_LAYERS), (1, MOST_LAYERS)),
    *((1, AROUND), (1, 1), (1, 0), (1, ALONE), (0, ALONE)),
)
# Of these, what still leaves room for a name in two parts.
ROOMY = TIGHTER[:4]


@dataclass(frozen=True)
class Stop:
    """A part of the way on the line: how it is written, whether the reader is there, and whether it is a layer."""

    shown: Content
    here: bool
    layer: bool


class Way(ClickableText):
    """我爱你 ▸ embedding ▸ layer 0 ▸ weights ▸ layer 1 ▸ logits ▸ 。 45 %."""

    DEFAULT_CSS = """
    Way { height: 1; width: 100%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._predictions: list[Prediction] = []

    def update_way(self, predictions: list[Prediction] | None = None) -> None:
        """Show the session's place; ``predictions`` replaces what stands at the end."""
        if predictions is not None:
            self._predictions = predictions
        self.update(self._line(max(20, self.size.width - 2)))

    def on_resize(self) -> None:
        self.update_way()

    def _line(self, width: int) -> Content:
        """As much of the way and of the prediction as there is room for. Where one stands is never cut for the rest."""
        arrow = Content.styled(" ▸ ", "$quiet")
        for whole, tighter in ((True, ROOMY), (False, TIGHTER)):
            stops = self._stops(whole)
            for guesses, layers in tighter:
                line = arrow.join([*self._around(stops, layers), *self._end(guesses)])
                if line.cell_length <= width:
                    return line
        return next(stop.shown for stop in stops if stop.here).truncate(width, ellipsis=True)

    def _stops(self, whole: bool) -> list[Stop]:
        """Every stop; ``whole`` tells apart stages of one name, as the residuals of attention and feed-forward are."""
        session = self._session
        here = session.trace.stages[session.position]
        parts = sections(session.trace)
        place = section_of(here, parts)
        stops = []
        for number, section in enumerate(parts):
            # What a decoder begins with stands there only for who is there.
            if section.name != "between" or number == place:
                name = self._called(section)
                shown = Content(name)
                if number == place:
                    last = here.name.split(".")[-1]
                    alike = sum(stage.name.split(".")[-1] == last for stage in section.stages)
                    called = ".".join(here.name.split(".")[-2:]) if whole and alike > 1 else last
                    shown = Content.styled(f" {name} ▸ {called} ", HERE)
                stop = clickable(shown, f"screen.visit('{section.start.name}')")
                stops.append(Stop(stop, number == place, section.layer is not None))
        return stops

    def _called(self, section: Section) -> str:
        session, say = self._session, self._say
        if section.name == "input":
            return cut("".join(token.label for token in session.tokens), LONGEST_TEXT)
        if section.layer is not None:
            return say(f"way.{section.side}_layer" if section.side else "way.layer", layer=section.layer)
        if section.name == "between":
            return say.group(section.side)
        return say("way.output") if section.name == "output" else say(f"tree.{section.name}")

    @staticmethod
    def _around(stops: list[Stop], most: int) -> list[Content]:
        """The stops with so many layers at most, those around the reader; dots for what is left out."""
        here = next(number for number, stop in enumerate(stops) if stop.here)
        layers = [number for number, stop in enumerate(stops) if stop.layer]
        kept = {number for number, stop in enumerate(stops) if not stop.layer} if most != ALONE else set()
        if len(layers) > most:
            most = max(0, min(most, AROUND))
            passed = sum(number <= here for number in layers)
            first = max(0, min(passed - 1 - most // 2, len(layers) - most))
            layers = layers[first : first + most]
        kept |= {here, *layers}
        dots = Content.styled("…", "$quiet")
        return [
            stop.shown if number in kept else dots
            for number, stop in enumerate(stops)
            if number in kept or number == 0 or number - 1 in kept
        ]

    def _end(self, count: int) -> list[Content]:
        """The likeliest tokens, or the key that shows them; nothing where nothing is predicted, or no room is left."""
        if not self._session.predicts or not count:
            return []
        if not self._predictions:
            return [clickable(Content.styled(self._say("way.pending"), "$quiet"), "screen.predictions")]
        parts = []
        for number, guess in enumerate(self._predictions[:count]):
            share = percent(guess.probability)
            parts.append(
                Content.assemble((cut(guess.label, 10), "bold" if number == 0 else ""), " ", (share, "$quiet"))
            )
        return [clickable(Content("  ").join(parts), "screen.predictions")]


def percent(share: float) -> str:
    """A probability in per cent, short, and neither 0 nor 100 where it is not."""
    if share >= 0.995:
        return "100%" if share == 1.0 else f"{100 * share:.1f}%" if share < 0.9995 else ">99.9%"
    if share >= 0.01:
        return f"{100 * share:.0f}%"
    if share >= 0.0001 or share == 0.0:
        return f"{100 * share:.2g}%"
    return f"{100 * share:.4f}".rstrip("0") + "%" if share >= 0.000001 else "<0.0001%"
