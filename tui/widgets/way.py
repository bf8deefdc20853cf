"""The whole way through the model on one line, with the place where the reader stands and the prediction at its end."""

from __future__ import annotations

from textual.content import Content

from engine.generation import Prediction
from tui.language import Language
from tui.places import block_start, blocks
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import cut

HERE = "bold $background on $accent"


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
        ends = self._end()
        width = max(20, self.size.width - 2)
        arrow = Content.styled(" ▸ ", "$quiet") if ends else Content("")
        self.update(self._stops(width - ends.cell_length - 3) + arrow + ends)

    def on_resize(self) -> None:
        self.update_way()

    def _stops(self, width: int) -> Content:
        """The stops that fit: all layers where there is room, else those around the reader's."""
        session, say, trace = self._session, self._say, self._session.trace
        here = trace.stages[session.position]
        layers = blocks(trace)
        last = f" ▸ {here.name.split('.')[-1]}"
        text = "".join(token.label for token in session.tokens)
        passed = [block for block in layers if block_start(trace, block).position <= here.position]
        first = self._stop(cut(text, 12), here.layer is None and not passed, last, trace.stages[0].name)
        stops = [first]
        around = range(len(layers))
        if len(layers) > 6:
            middle = max(1, min(len(passed) - 1, len(layers) - 2))
            around = range(middle - 1, middle + 2)
        if around and around[0] > 0:
            stops.append(Content.styled("…", "$quiet"))
        for number in around:
            side, layer = layers[number]
            name = say(f"way.{side}_layer" if side else "way.layer", layer=layer)
            start = block_start(trace, layers[number]).name
            stops.append(self._stop(name, (side, layer) == (here.side, here.layer), last, start))
        if around and around[-1] < len(layers) - 1:
            stops.append(Content.styled("…", "$quiet"))
        end = here.layer is None and bool(layers) and len(passed) == len(layers)
        output = "logits" if "logits" in trace else trace.stages[-1].name
        stops.append(self._stop(say("way.output"), end, last, output))
        return Content.styled(" ▸ ", "$quiet").join(stops).truncate(max(0, width), ellipsis=True)

    def _stop(self, name: str, here: bool, last: str, stage: str) -> Content:
        shown = Content.styled(f" {name}{last} ", HERE) if here else Content(name)
        return clickable(shown, f"screen.visit('{stage}')")

    def _end(self) -> Content:
        if not self._session.predicts:
            return Content("")
        if not self._predictions:
            return clickable(Content.styled(self._say("way.pending"), "$quiet"), "screen.predictions")
        parts = []
        for number, guess in enumerate(self._predictions[:3]):
            share = f"{100 * guess.probability:.{0 if guess.probability >= 0.01 else 2}f}%"
            parts.append(
                Content.assemble((cut(guess.label, 10), "bold" if number == 0 else ""), " ", (share, "$quiet"))
            )
        return clickable(Content("  ").join(parts), "screen.predictions")
