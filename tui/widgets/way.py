"""The whole way through the model on one line, with the place where the reader stands and the prediction at its end."""

from __future__ import annotations

from textual.content import Content

from engine.generation import Prediction
from tui.arithmetic import number_text
from tui.language import Language
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
        self.update(self._stops(width - ends.cell_length - 3) + Content.styled(" ▸ ", "$quiet") + ends)

    def on_resize(self) -> None:
        self.update_way()

    def _stops(self, width: int) -> Content:
        """The stops that fit: all layers where there is room, else those around the reader's."""
        session, say = self._session, self._say
        here = session.trace.stages[session.position]
        layers = 1 + max((stage.layer for stage in session.trace if stage.layer is not None), default=-1)
        after = here.layer is None and here.position > 2
        current = here.layer if here.layer is not None else layers if after else -1
        first = next((stage.name for stage in session.trace if stage.layer is not None), "")
        text = "".join(token.label for token in session.trace.tokens[session.text])
        last = f" ▸ {here.name.split('.')[-1]}"
        stops = [self._stop(cut(text, 12), current == -1, last, "tokens")]
        around = range(layers)
        if layers > 6:
            middle = max(1, min(current, layers - 2))
            around = range(middle - 1, middle + 2)
        if around and around[0] > 0:
            stops.append(Content.styled("…", "$quiet"))
        for layer in around:
            name = first.replace("layers.0.", f"layers.{layer}.")
            stops.append(self._stop(say("way.layer", layer=layer), layer == current, last, name))
        if around and around[-1] < layers - 1:
            stops.append(Content.styled("…", "$quiet"))
        stops.append(self._stop(say("way.output"), after, last, "logits"))
        return Content.styled(" ▸ ", "$quiet").join(stops).truncate(max(0, width), ellipsis=True)

    def _stop(self, name: str, here: bool, last: str, stage: str) -> Content:
        shown = Content.styled(f" {name}{last} ", HERE) if here else Content(name)
        return clickable(shown, f"screen.visit('{stage}')")

    def _end(self) -> Content:
        if not self._predictions:
            return clickable(Content.styled(self._say("way.pending"), "$quiet"), "screen.predictions")
        parts = []
        for number, guess in enumerate(self._predictions[:3]):
            share = f"{100 * guess.probability:.0f}%" if guess.probability >= 0.01 else number_text(guess.probability)
            parts.append(
                Content.assemble((cut(guess.label, 10), "bold" if number == 0 else ""), " ", (share, "$quiet"))
            )
        return clickable(Content("  ").join(parts), "screen.predictions")
