"""The explorer's keys: stepping, moving over the result, following a number and coming back, the view."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.binding import Binding
from textual.geometry import Offset

from tests.tui.exploring import Explore
from tui.actions import ACTIONS
from tui.app import ExploreApp
from tui.arithmetic import number_text
from tui.language import LANGUAGES, language
from tui.layout import ZOOMS
from tui.screens.explorer import Explorer
from tui.screens.help import Help
from tui.screens.predictions import Predictions
from tui.widgets.equation import Equation

SCORES = "layers.0.attention.scores"


class TestStepping:
    async def test_goes_to(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            for start, keys, end in (
                ("tokens", ["right", "right", "left"], "embedding"),
                ("tokens", ["n", "n", "N"], "embedding"),
                ("tokens", ["left"], "tokens"),
                (SCORES, ["right_curly_bracket"], "layers.1.attention.scores"),
                (SCORES, ["right_curly_bracket", "right_curly_bracket"], "norm"),
                ("layers.1.mlp.up", ["left_curly_bracket", "left_curly_bracket"], "tokens"),
                (SCORES, ["greater_than_sign"], "loss"),
                (SCORES, ["less_than_sign"], "tokens"),
            ):
                it.screen.action_visit(start)
                await it.press(*keys)
                assert it.session.operand.name == end, (start, keys)
                assert it.session.operand.shape_text in it.lines(it.screen.top)[0]

    async def test_heads(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES, size=(160, 40)) as it:
            for key, head in (("right_square_bracket", 1), ("left_square_bracket", 0), ("left_square_bracket", 3)):
                await it.press(key)
                assert f"头 {head}（共 4）" in it.lines(it.screen.top)[0]
                shown = f"scores[头 {head}, 你, 我] = "
                assert shown in it.text(it.screen.number)
                assert f"{it.session.operand.value[0, head, 2, 0]:.2f}".replace("-", "−") in it.text(it.screen.equation)


class TestMoving:
    async def test_over_the_scores(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            for keys, cell in (
                (["k"], (1, 0)),
                (["up", "up", "up"], (0, 0)),
                (["shift+up", "j"], (2, 0)),
                (["k", "down"], (2, 0)),
                (["k", "shift+down"], (2, 0)),
                (["l", "l", "l"], (2, 2)),
                (["shift+right", "shift+right", "h"], (2, 1)),
                (["shift+right", "shift+left"], (2, 0)),
                (["end"], (2, 2)),
                (["dollar_sign", "0"], (2, 0)),
                (["end", "home"], (2, 0)),
                (["end", "circumflex_accent"], (2, 0)),
                (["ctrl+home"], (0, 0)),
                (["ctrl+home", "ctrl+end"], (2, 0)),
                (["ctrl+home", "G"], (2, 0)),
            ):
                it.session.move_to(2, 0)
                await it.press(*keys)
                assert it.session.cell == (0, 0, *cell), keys
                query, key = "我爱你"[cell[0]], "我爱你"[cell[1]]
                assert f"scores[头 0, {query}, {key}] = " in it.lines(it.screen.number)[0]
                assert f"查询 {query} → 键 {key}" in it.lines(it.screen.top)[1]

    async def test_half_screens(self, explore: Explore) -> None:
        async with explore("猫" * 40, at=SCORES) as it:
            half = it.screen.equation.page()
            assert 1 < half < 12
            for key, row in (("pageup", 39 - half), ("ctrl+u", 39 - 2 * half), ("ctrl+d", 39 - half), ("pagedown", 39)):
                await it.press(key)
                assert it.session.cell[2] == row

    async def test_a_move_does_not_draw_the_equation_anew(
        self, explore: Explore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with explore("我爱你", at=SCORES) as it:
            drawn = 0

            def draw(equation: Equation) -> None:
                nonlocal drawn
                drawn += 1

            monkeypatch.setattr(Equation, "update", draw)
            await it.press("k", "l")
            assert drawn == 0
            await it.press("right_square_bracket")
            assert drawn == 1


class TestFollowing:
    async def test_enter_goes_and_escape_returns(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.scaled") as it:
            await it.press("k", "enter")
            assert (it.session.operand.name, it.session.cell) == (SCORES, (0, 0, 1, 0))
            await it.press("escape")
            assert (it.session.operand.name, it.session.cell) == ("layers.0.attention.scaled", (0, 0, 1, 0))
            await it.press("enter", "backspace")
            assert it.session.operand.name == "layers.0.attention.scaled"

    async def test_tab_chooses_another_number(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.q") as it:
            seen = []
            for keys in ([], ["tab"], ["tab"], ["shift+tab"]):
                await it.press(*keys)
                target = it.screen.number.reference()
                assert target is not None
                seen.append(target.operand.name)
            assert seen[0] == "layers.0.attention.norm"
            assert "layers.0.attention.q.weight" in seen[1:3]
            target = it.screen.number.reference()
            assert target is not None
            await it.press("enter")
            assert (it.session.operand, it.session.cell) == (target.operand, target.cell)

    async def test_the_chosen_number_is_marked(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.mlp.residual") as it:
            x, y = (
                number_text(operand.number(it.session.cell))
                for operand in it.session.trace["layers.0.mlp.residual"].inputs
            )
            line = it.find(f"{x} + ", it.screen.number)[0]
            places = [line, line + Offset(cell_len(f"{x} + ") + y.startswith("−"), 0)]
            for marked in (0, 1, 0):
                # Both may be followed; the accent says which of them enter follows.
                styles = [it.style(place) for place in places]
                assert all(style.underline for style in styles)
                accent = it.style(it.find("residual", it.screen.top)[0]).color
                assert [style.color == accent for style in styles] == [marked == 0, marked == 1]
                await it.press("tab")

    async def test_a_weight_says_where_it_is_stored(self, explore: Explore) -> None:
        async with explore("我爱你", at="embedding") as it:
            await it.press("enter")
            assert it.session.operand.name == "embedding.weight"
            assert "model.safetensors · model.embed_tokens.weight · F32" in it.text(it.screen.number)
            # Nothing lies behind it: the key is answered, and nothing is lost.
            await it.press("enter")
            assert it.say("number.nothing") in it.text(it.screen.keys)
            assert it.session.operand.name == "embedding.weight"
            await it.press("escape")
            assert it.session.operand.name == "embedding"

    async def test_a_constant_says_how_it_follows_from_the_position(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.masked") as it:
            await it.click_on("1", it.screen.query_one("#operand-1"))
            assert it.session.operand.name == "mask"
            query, key = it.session.cell[1:]
            sign = "≤" if key <= query else ">"
            assert f"m = {key} {sign} n = {query} → {int(key <= query)}" in it.text(it.screen.number)

    async def test_escape_at_the_start_does_nothing(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            await it.press("escape", "backspace")
            assert it.session.operand.name == "tokens"

    async def test_copy(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.scaled") as it:
            await it.press("y")
            first, *rest = it.app.clipboard.splitlines()
            assert first == "scaled[头 0, 你, 我] = −1.182"
            assert rest == ["  scores ÷ √16 = −4.729 ÷ 4 = −1.182"]
            assert it.say("number.copied") in it.text(it.screen.keys)

    async def test_copy_of_a_weight(self, explore: Explore) -> None:
        async with explore("我爱你", at="embedding") as it:
            await it.press("enter", "y")
            assert it.app.clipboard == "E[你, 0] = −0.116"


class TestView:
    async def test_zoom(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            automatic = it.text(it.screen.equation)
            shown = set()
            for zoom in (*ZOOMS[1:], ZOOMS[0]):
                await it.press("z")
                assert it.screen.equation.zoom == zoom
                assert it.say(f"pane.zoom_{zoom}") in it.text(it.screen.keys)
                shown.add(it.text(it.screen.equation))
            assert it.text(it.screen.equation) == automatic
            assert len(shown) == 3

    async def test_every_press_of_zoom_changes_what_is_seen(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.weights") as it:
            before = it.text(it.screen.equation)
            await it.press("z")
            assert it.text(it.screen.equation) != before
            # Numbers were there already.
            assert it.screen.equation.zoom == "heat"
            await it.press("z")
            assert it.text(it.screen.equation) == before

    async def test_zoom_says_where_nothing_can_change(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            await it.press("z")
            assert it.say("pane.zoom_same") in it.text(it.screen.keys)
            assert it.screen.equation.zoom == "auto"

    @pytest.mark.parametrize("key", ["g", "m"])
    async def test_zoom_is_not_for_pictures(self, explore: Explore, key: str) -> None:
        async with explore("我爱你", at="layers.0.attention.weights") as it:
            await it.press(key, "z")
            assert it.say("pane.zoom_picture") in it.text(it.screen.keys)
            assert it.screen.equation.zoom == "auto"

    @pytest.mark.parametrize(("size", "at_first"), [((80, 24), False), ((120, 40), True)])
    async def test_tree(self, explore: Explore, size: tuple[int, int], at_first: bool) -> None:
        async with explore("我爱你", at=SCORES, size=size) as it:
            for shown in (at_first, not at_first, at_first):
                assert it.screen.tree_view.display is shown
                assert ("层 1 · 注意力" in it.text()) is shown
                await it.press("s")

    async def test_the_tree_marks_the_stage(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES, size=(120, 40)) as it:
            node = it.screen.tree_view.cursor_node
            assert node is not None
            assert node.data is it.session.operand
            await it.press("right_curly_bracket")
            assert it.screen.tree_view.cursor_node is not node
            assert "▾ 层 1 · 注意力" in it.text(it.screen.tree_view)
            assert "▸ 层 0 · 注意力" in it.text(it.screen.tree_view)

    @pytest.mark.parametrize("theme", ["dark", "light"])
    async def test_theme(self, explore: Explore, theme: str) -> None:
        async with explore("我爱你", at=SCORES, theme=theme) as it:
            before = it.style(it.find("scores")[0])
            text = it.text()
            await it.press("T")
            assert it.app.current_theme.dark == (theme == "light")
            assert it.style(it.find("scores")[0]).bgcolor != before.bgcolor
            assert it.text() == text
            await it.press("T")
            assert it.style(it.find("scores")[0]) == before

    async def test_another_size(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            before = it.text()
            for size in ((1, 1), (200, 50)):
                await it.resize(*size)
                await it.press("k", "right")
                await it.resize(80, 24)
                await it.press("left", "j")
                assert it.text() == before


class TestQuitting:
    @pytest.mark.parametrize("key", ["q", "ctrl+q"])
    async def test_with_keys_still_to_come(self, explore: Explore, key: str) -> None:
        async with explore("我爱你") as it:
            for each in (key, "right", "p", "question_mark"):
                it.app.simulate_key(each)
            await it.pilot.pause()
            assert it.app.return_code == 0


class TestBindings:
    def test_every_one_has_an_id_a_description_and_a_tooltip(self) -> None:
        for owner in (Explorer, Help, Predictions, ExploreApp):
            for binding in owner.BINDINGS:
                assert isinstance(binding, Binding)
                assert binding.id
                assert binding.description
                assert binding.tooltip

    @pytest.mark.parametrize("code", LANGUAGES)
    def test_every_action_is_named_in_every_language_and_nothing_else_is(self, code: str) -> None:
        say = language(code)
        assert sorted(say.keys("keys")) == sorted(action.id for action in ACTIONS)
        assert all(say(f"keys.{action.id}") for action in ACTIONS)

    def test_no_key_does_two_things(self) -> None:
        keys = [key for action in ACTIONS for key in action.keys.split(",")]
        assert len(keys) == len(set(keys))

    async def test_every_action_exists(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            for action in ACTIONS:
                name = action.call.split("(")[0]
                owner = it.app if name.startswith("app.") else it.screen
                assert callable(getattr(owner, f"action_{name.removeprefix('app.')}", None)), action.call
