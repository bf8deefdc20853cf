"""The stages as a tree: input, each layer's attention and feed-forward, output."""

from __future__ import annotations

from collections import defaultdict

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from engine.stages import Stage
from engine.trace import Trace
from tui.explanations import explained
from tui.language import Language
from tui.places import blocks, sections


class StageTree(Tree[Stage]):
    """Every stage with its shape; the group of the current one is open."""

    DEFAULT_CSS = """
    StageTree { width: 34; height: 100%; padding: 0 0 0 1; background: $background; }
    StageTree { overflow-x: hidden; scrollbar-size-vertical: 1; }
    """

    def __init__(self, say: Language) -> None:
        # Of a plain string Textual would make markup, and import every emoji to do so.
        super().__init__(Text())
        self._say = say
        self.show_root = False
        self.show_guides = False
        self.guide_depth = 2
        self.can_focus = False
        self._leaf_of: dict[str, TreeNode[Stage]] = {}

    def fill(self, trace: Trace) -> None:
        """Show the stages of a trace."""
        self.clear()
        self._leaf_of.clear()
        for name, stages in self._groups(trace).items():
            node = self.root.add(Text(name), expand=False)
            for stage in stages:
                self._leaf_of[stage.name] = node.add_leaf(Text(stage.name), stage)
        self.root.expand()

    def _groups(self, trace: Trace) -> dict[str, list[Stage]]:
        """The stages of each group, by the group's name."""
        say = self._say
        if not blocks(trace):
            found = sections(trace)
            ends = {name: say.group(name) for name in ("input", "output")}
            return {ends.get(each.name) or say(f"tree.{each.name}"): list(each.stages) for each in found}
        groups: dict[str, list[Stage]] = defaultdict(list)
        reached: set[str] = set()
        for stage in trace:
            if stage.layer is not None:
                reached.add(stage.side)
            # What a decoder begins with comes after the encoder's layers, and before its own.
            groups[self._group(stage, stage.side not in reached and (bool(stage.side) or not reached))].append(stage)
        return groups

    def show(self, stage: Stage) -> None:
        """Mark a stage, with its group open and the others folded."""
        node = self._leaf_of[stage.name]
        for group in self.root.children:
            if group is node.parent:
                group.expand()
            elif group.is_expanded:
                group.collapse()
        # A node has no line before its group has been laid out.
        self.call_after_refresh(self.move_cursor, node)

    def render_label(self, node: TreeNode[Stage], base_style: Style, style: Style) -> Text:
        """A group by its name; a stage by its name and, at the right, its shape."""
        if node.data is None:
            fold = "▾ " if node.is_expanded else "▸ "
            return Text(fold + str(node.label), base_style + style)
        name = explained(node.data, self._say, "name")
        short = node.data.name.split(".")[-1]
        shown = f"{short} {name}" if self._say.code == "zh" and name != short else short
        shape = "×".join(map(str, node.data.shape))
        width = 28
        room = width - cell_len(shape) - 1
        if cell_len(shown) > room:
            shown = short
        gap = " " * max(1, width - cell_len(shown) - cell_len(shape))
        label = Text(shown, base_style + style)
        label.append(gap + shape, base_style + style + Style(dim=True))
        return label

    def _group(self, stage: Stage, before_layers: bool) -> str:
        say = self._say
        if stage.block is None:
            name = say.group("input" if before_layers else "output")
            return f"{say.group(stage.side)} · {name}" if stage.side else name
        if not stage.side:
            return say.group(stage.block, stage.layer)
        return f"{say(f'way.{stage.side}_layer', layer=stage.layer)} · {say(f'tree.{stage.block}')}"
