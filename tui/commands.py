"""The command palette: every action and every stage by name."""

from __future__ import annotations

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
        matcher = self.matcher(query)
        for name, command in self._commands():
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), command, text=name)
