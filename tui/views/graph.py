"""Attention as a graph: tokens joined by edges from query to key, for one head, for all side by side, or their mean."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

from textual.geometry import Region
from textual.message import Message

from engine.stages import Stage
from tui.language import Language
from tui.looking import axis_name
from tui.session import Session
from tui.views import captions
from tui.views.arcs import Halves, Layer, draw_arcs, natural_lines, ports, write_tokens, write_weights
from tui.views.attention import Attention, Limits, Picture, nearest_weights, needed
from tui.views.links import draw_links, links, middles, write_row
from tui.views.panels import Panel, arranged, draw_panel, wished
from tui.views.pens import Pens, pens
from tui.views.sheet import APART, Group, Part, Sheet, cells
from tui.views.tokenrow import TokenRow, token_row

Shown = Literal["one", "all", "mean"]
Choice = TypeVar("Choice")
SHOWN: tuple[Shown, ...] = ("one", "all", "mean")

THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
TOPS = (1, 2, 3, 5, 8, 12, 20, None)

# A label and the weight under it.
NODE = 2
# From these heights on there are two lines to read below, and blank lines between the parts.
TWO_LINES, AIRY = 11, 14
# On fewer lines than these, for each direction, the arcs of all tokens are a comb in which none can be followed.
CLEAR = 5
# Lines between the two rows of tokens.
LEAST_LINKS, MOST_LINKS = 2, 12


class Graph(Sheet):
    """Shows the attention that belongs to what the session looks at; see `wanted`, `update` and `update_cursor`.

    The parent chooses keys: `move`, `threshold`, `top`, `cycle`. Tokens, weights and edges can be clicked.
    """

    DEFAULT_CSS = """
    Graph { width: 1fr; height: 1fr; }
    """

    @dataclass
    class CellChosen(Message):
        """A query and a key were chosen: the row and the column of a stage of weights."""

        stage: Stage
        row: int
        column: int

        @property
        def positions(self) -> dict[str, int]:
            """The same as positions of a session."""
            _, _, queries, keys = self.stage.axes
            return {axis_name(queries): self.row, axis_name(keys): self.column}

    @dataclass
    class HeadChosen(Message):
        """A head of a stage of weights was chosen."""

        stage: str
        head: int

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._attention: Attention | None = None
        self._lines = 0
        self._layers: list[Layer] = []
        # The keys that there is room for.
        self._keys_shown: Container[int] = ()
        self.shown: Shown = "one"
        self.limits = Limits()

    # What is to be shown

    def wanted(self) -> list[Stage]:
        """The stages that must have been computed before `update`."""
        stage = self._stage()
        return [] if stage is None else needed(stage)

    def update(self) -> None:
        """Show what the session looks at, all anew."""
        stage = self._stage()
        self._attention = None if stage is None else Attention(self._session.trace, stage, self._session.text)
        self.tell(self._say("graph.none") if stage is None else "")
        self.paint()

    def update_cursor(self) -> None:
        """Show the query, the key and the head that the session looks at."""
        self.paint()

    def wait(self, message: str) -> None:
        """Say that the numbers are still being computed."""
        self.tell(message)
        self.paint()

    @property
    def lines(self) -> int:
        """How many lines the picture takes where there is room."""
        return self._lines

    # What the keys do

    def move(self, down: int, across: int) -> None:
        """Choose another query (down) or key (across)."""
        if self._attention is not None and self.is_ready:
            picture = self._picture(self._attention)
            self._choose(picture.query + down, picture.key + across)

    def threshold(self, step: int) -> None:
        """Leave out more of the weak edges, or fewer."""
        self.limits = replace(self.limits, threshold=_next(THRESHOLDS, self.limits.threshold, step))
        self.update_cursor()

    def top(self, step: int) -> None:
        """Show more of each token's strongest edges, or fewer."""
        self.limits = replace(self.limits, top=_next(TOPS, self.limits.top, step))
        self.update_cursor()

    def cycle(self, step: int = 1) -> None:
        """Show one head, all of them in small, or their mean."""
        self.shown = SHOWN[(SHOWN.index(self.shown) + step) % len(SHOWN)]
        self.update_cursor()

    def at(self, x: int, y: int) -> Callable[[], object] | None:
        call = super().at(x, y)
        if call is None:
            edge = next((edge for layer in self._layers if (edge := layer.edge(x, y)) is not None), None)
            call = None if edge is None else partial(self._choose, edge.query, edge.key)
        return call

    def _choose(self, query: int, key: int) -> None:
        attention = self._attention
        assert attention is not None
        queries, keys = attention.sight.shape
        row, column = max(0, min(query, queries - 1)), max(0, min(key, keys - 1))
        self.post_message(self.CellChosen(attention.stage, row, column))

    # Drawing

    def _stage(self) -> Stage | None:
        trace = self._session.trace
        return nearest_weights(trace, trace.stages[self._session.position])

    def _picture(self, attention: Attention) -> Picture:
        session = self._session
        head = None if self.shown == "mean" else min(session.head, attention.heads - 1)
        query, key = (
            min(session.positions.get(axis_name(axis), 0), len(labels) - 1)
            for axis, labels in zip(
                attention.stage.axes[2:], (attention.query_labels, attention.key_labels), strict=True
            )
        )
        return Picture(attention, head, self.limits, query, key)

    def draw(self) -> None:
        if self._attention is None:
            return
        width, height = self.extent
        picture, ink = self._picture(self._attention), pens(self.palette())
        self._layers = []
        heading = 1 if height > 6 else 0
        reading = 0 if height < 5 else 2 if height >= TWO_LINES else 1
        air = 1 if height >= AIRY else 0
        area = Region(1, heading + air, width - 2, height - heading - reading - 2 * air)
        panels = arranged(picture, area) if self.shown == "all" else []
        if panels:
            taken, natural = self._draw_heads(picture, panels, ink)
        elif picture.attention.crosses:
            taken, natural = self._draw_two(picture, area, ink)
        else:
            taken, natural = self._draw_one(picture, area, ink)
        # A heading, two lines to read, and blank ones between.
        self._lines = natural + 5
        if heading:
            others = any(edge.query != picture.query for layer in self._layers for edge in layer.edges)
            legend = captions.legend(picture, others, self._say, ink)
            title, *more = self._title(picture, len(panels), ink)
            # What the strokes mean is worth more than that this is a graph.
            long = sum(map(cells, (title, *more, *legend))) + APART > width - 2
            self.write_line(0, [title[1:] if long else title, *more], legend)
        self._write_reading(picture, min(height - reading, area.y + taken + air), reading, ink)

    # Each draws in an area, and gives the lines that it took and those that it would take.

    def _draw_one(self, picture: Picture, area: Region, ink: Pens) -> tuple[int, int]:
        attention = picture.attention
        row = token_row(attention.query_labels, area.x, area.width, picture.wanted)
        natural = natural_lines(row.span, attention.looks_ahead, not picture.sight.all()) + NODE
        lines = min(area.height, natural)
        drawn = Region(0, area.y, area.right, lines)
        edges, back, ahead = picture.edges(row.places), True, attention.looks_ahead
        if lines - NODE < CLEAR * (1 + ahead):
            edges = [edge for edge in picture.own if edge.key in row.places]
            back = any(edge.key <= edge.query for edge in edges)
            ahead = any(edge.key > edge.query for edge in edges)
        halves = Halves.of(lines - NODE, ahead, any(key in row.places for key in picture.cut), back=back)
        self._layers = draw_arcs(self, picture, edges, ports(row), drawn, halves, ink)
        self._keys_shown = row.places
        y = area.y + halves.back
        write_tokens(self, picture, row, y, ink)
        write_weights(self, picture, row, y + 1, ink)
        self._spot_row(row, y, lambda token: self._choose(token, picture.key))
        self._spot_row(row, y + 1, lambda token: self._choose(picture.query, token))
        return lines, natural

    def _draw_two(self, picture: Picture, area: Region, ink: Pens) -> tuple[int, int]:
        attention = picture.attention
        queries = token_row(attention.query_labels, area.x, area.width, [picture.query])
        keys = token_row(attention.key_labels, area.x, area.width, picture.keys_wanted)
        between = max(LEAST_LINKS, min(MOST_LINKS, area.height - 1 - NODE))
        write_row(self, queries, picture.query, area.y, ink.query, ink)
        edges = links(picture, queries.places, between)
        drawn = Region(0, area.y + 1, area.right, between)
        self._keys_shown = keys.places
        self._layers = [draw_links(self, picture, edges, middles(queries), middles(keys), drawn, ink)]
        write_row(self, keys, picture.key, drawn.bottom, ink.key, ink)
        write_weights(self, picture, keys, drawn.bottom + 1, ink)
        self._spot_row(queries, area.y, lambda token: self._choose(token, picture.key))
        for y in (drawn.bottom, drawn.bottom + 1):
            self._spot_row(keys, y, lambda token: self._choose(picture.query, token))
        return 1 + between + NODE, 1 + MOST_LINKS + NODE

    def _draw_heads(self, picture: Picture, panels: Sequence[Panel], ink: Pens) -> tuple[int, int]:
        self._keys_shown = range(len(picture.attention.key_labels))
        for panel in panels:
            one = replace(picture, head=panel.head)
            name = self._say("graph.head", head=panel.head)
            self._layers += draw_panel(self, one, panel, name, panel.head == picture.head, ink)
            chosen = self.HeadChosen(picture.attention.stage.name, panel.head)
            self.spot(panel.area, partial(self.post_message, chosen))
        rows = len({panel.area.y for panel in panels})
        return panels[-1].area.bottom - panels[0].area.y, rows * wished(picture).height

    def _spot_row(self, row: TokenRow, y: int, call: Callable[[int], object]) -> None:
        for token, place in row.places.items():
            self.spot(Region(place.left, y, place.width, 1), partial(call, token))

    # The lines around the picture

    def _title(self, picture: Picture, panels: int, ink: Pens) -> list[Group]:
        say, count = self._say, picture.attention.heads
        what = {
            "one": say("graph.head", head=picture.head),
            "all": say("graph.all", count=count),
            "mean": say("graph.mean", count=count),
        }[self.shown]
        if 0 < panels < count:
            what = say("graph.some", shown=panels, count=count)
        after = SHOWN[(SHOWN.index(self.shown) + 1) % len(SHOWN)]
        title = [Part(f"{say('graph.title')}  ", ink.bold), Part(what, ink.quiet)]
        other = [Part("   v ", ink.bold, self.cycle), Part(say(f"graph.show_{after}"), ink.quiet, self.cycle)]
        return [title, other] if count > 1 else [title]

    def _limits(self, ink: Pens) -> list[Group]:
        """The limits, and the keys that change them."""
        say, limits = self._say, self.limits
        top = say("graph.every") if limits.top is None else say("graph.top", count=limits.top)
        return [
            [
                Part("+ ", ink.bold, partial(self.threshold, 1)),
                Part("− ", ink.bold, partial(self.threshold, -1)),
                Part(say("graph.threshold", threshold=f"{limits.threshold:g}"), ink.quiet),
            ],
            [
                Part("   ( ", ink.bold, partial(self.top, -1)),
                Part(") ", ink.bold, partial(self.top, 1)),
                Part(top, ink.quiet),
            ],
        ]

    def _write_reading(self, picture: Picture, y: int, lines: int, ink: Pens) -> None:
        limits = self._limits(ink)
        edge = captions.edge(picture, self.shown == "all", self._say, ink)
        if picture.head is None:
            # Where the weight stands that differs from the arithmetic's.
            edge = [*edge, Part(self._say("graph.mean_below", head=self._session.head), ink.quiet)]
        drawn, *more = captions.drawn(picture, self._keys_shown, self._say, ink)
        if lines == 1:
            self.write_line(y, [edge, drawn], limits)
        elif lines:
            self.write_line(y, [edge, drawn, *more])
            self.write_line(y + 1, limits)


def _next(choices: Sequence[Choice], now: Choice, step: int) -> Choice:
    return choices[max(0, min(choices.index(now) + step, len(choices) - 1))]
