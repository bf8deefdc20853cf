"""The command palette: every action and every stage by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tui.actions import ACTIONS
from tui.explanations import explained
from tui.screens.explorer import Explorer


class ExplorerCommands(Provider):
    """What the explorer can do and where it can go."""

    def _commands(self) -> list[tuple[str, Callable[[], object]]]:
        screen = self.screen
        if not isinstance(screen, Explorer):
            return []
        say = screen.say
        stages = [
            (f"{stage.name}  {explained(stage, say, 'name')}", partial(screen.action_visit, stage.name))
            for stage in screen.session.trace
        ]
        actions = [
            (f"{say(f'keys.{action.id}')}  ({action.shown})", partial(screen.run_action, action.call))
            for action in ACTIONS
        ]
        return [*stages, *actions]

    async def discover(self) -> Hits:
        for name, command in self._commands():
            yield DiscoveryHit(Content(name), command, text=name)

    async def search(self, query: str) -> Hits:
        commands = self._commands()
        matcher = self.matcher(query)
        scores = [nearness(query, name) for name, _ in commands]
        if not any(scores):
            # Nothing holds it as it is: letters of it in their order will do.
            scores = [matcher.match(name) for name, _ in commands]
        for (name, command), score in zip(commands, scores, strict=True):
            if score > 0:
                yield Hit(score, matcher.highlight(name), command, text=name)


def nearness(query: str, name: str) -> float:
    """How well a name answers what was typed: by a word of it, best of all; by the beginning of one; by any part.

    ``name`` begins with a stage's own name, of which each part is a word; 0 where it does not hold what was typed.
    """
    wanted, said = query.casefold().strip(), name.casefold()
    if not wanted or wanted not in said:
        return 0.0
    words = [said.split()[0], *re.split(r"[.\s()]+", said)]
    if wanted in words:
        return 3.0
    return 2.0 if any(word.startswith(wanted) for word in words) else 1.0
