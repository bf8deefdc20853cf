"""The whole way through the model on one line, with the place where the reader stands and the prediction at its end."""

from __future__ import annotations

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from engine.generation import Prediction
from tui.arithmetic import number_text
from tui.language import Language
from tui.session import Session
from tui.widgets.numbers import cut


class Way(Static):
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
        self.update(self._stops(width - ends.cell_length - 3) + Content.styled(" ▸ ", "$text-muted") + ends)

    def on_resize(self) -> None:
        self.update_way()

    def _stops(self, width: int) -> Content:
        """The stops that fit: all layers where there is room, else those around the reader's."""
        session, say = self._session, self._say
        here = session.trace.stages[session.position]
        layers = 1 + max((stage.layer for stage in session.trace if stage.layer is not None), default=-1)
        after = here.layer is None and here.position > 2
        current = here.layer if here.layer is not None else layers if after else -1
        last = here.name.split(".")[-1]
        first = next((stage.name for stage in session.trace if stage.layer is not None), "")
        text = "".join(token.label for token in session.trace.tokens[session.text])
        stops = [self._stop(cut(text, 12), current == -1, "tokens")]
        around = range(layers)
        if layers > 6:
            middle = max(1, min(current, layers - 2))
            around = range(middle - 1, middle + 2)
        if around and around[0] > 0:
            stops.append(Content.styled("…", "$text-muted"))
        for layer in around:
            name = first.replace("layers.0.", f"layers.{layer}.")
            stops.append(self._stop(say("way.layer", layer=layer), layer == current, name))
        if around and around[-1] < layers - 1:
            stops.append(Content.styled("…", "$text-muted"))
        stops.append(self._stop(say("way.output"), after, "logits"))
        at = [i for i, stop in enumerate(stops) if stop.spans and "on $accent" in str(stop.spans[0].style)]
        if at:
            place = at[0] + 1
            stops[at[0]] = stops[at[0]] + Content.styled(f" {last} ", "bold $background on $accent")
            del place
        return Content.styled(" ▸ ", "$text-muted").join(stops).truncate(max(0, width), ellipsis=True)

    def _stop(self, name: str, here: bool, stage: str) -> Content:
        click = Style.from_meta({"@click": f"screen.visit('{stage}')"})
        return Content.styled(name, "bold $background on $accent" if here else "").stylize(click)

    def _end(self) -> Content:
        click = Style.from_meta({"@click": "screen.predictions"})
        if not self._predictions:
            return Content.styled(self._say("way.pending"), "$text-muted").stylize(click)
        parts = []
        for number, guess in enumerate(self._predictions[:3]):
            share = f"{100 * guess.probability:.0f}%" if guess.probability >= 0.01 else number_text(guess.probability)
            parts.append(
                Content.assemble((cut(guess.label, 10), "bold" if number == 0 else ""), " ", (share, "$text-muted"))
            )
        return Content("  ").join(parts).stylize(click)
