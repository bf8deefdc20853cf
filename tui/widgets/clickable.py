"""Text of which parts do something when clicked."""

from __future__ import annotations

from textual.content import Content
from textual.events import Click
from textual.style import Style
from textual.widgets import Static


def clickable(content: Content, action: str) -> Content:
    """The content, which runs an action when it is clicked.

    Textual's own ``@click`` would draw it as a link, in colours of its own over those that mean something here.
    """
    return content.stylize(Style.from_meta({"call": action}))


class ClickableText(Static):
    """Static text that runs the actions of its `clickable` parts."""

    DEFAULT_CSS = """
    ClickableText { text-wrap: nowrap; text-overflow: ellipsis; pointer: default; }
    """

    ALLOW_SELECT = False

    async def on_click(self, event: Click) -> None:
        call = event.style.meta.get("call")
        if call is not None:
            event.stop()
            await self.run_action(call)
