"""A demo as pictures: one of each scene, and a page to go through them."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from engine.errors import FileError
from engine.model import Model, load
from engine.trace import GIBIBYTE
from tui.demo.headless import scenes
from tui.demo.pictures import picture
from tui.demo.play import rehearsed
from tui.language import Language

SIZE = (100, 30)

PAGE = """<!doctype html>
<html lang="{lang}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
  body {{ margin: 0; background: {background}; color: {foreground}; font: 18px/1.6 system-ui, sans-serif; }}
  main {{ max-width: 1200px; margin: 0 auto; padding: 1rem; }}
  h1 {{ font-size: 1.2rem; margin: 0 0 .5rem; }}
  figure {{ margin: 0; }}
  figure:not(.here) {{ display: none; }}
  img {{ width: 100%; height: auto; }}
  figcaption {{ min-height: 5em; }}
  nav button {{ font: inherit; padding: .2em 1em; }}
  progress {{ width: 40%; margin: 0 1em; accent-color: {accent}; }}
  @media print {{ figure:not(.here) {{ display: block; }} nav {{ display: none; }} }}
</style>
<main>
<h1>{title}</h1>
{figures}
<nav><button id="back">←</button><progress id="bar" max="{count}"></progress><span id="number"></span>
<button id="on">→</button></nav>
</main>
<script>
  const scenes = [...document.querySelectorAll("figure")];
  let here = Math.min(scenes.length, Math.max(1, parseInt(location.hash.slice(1)) || 1)) - 1;
  function go(to) {{
    here = Math.max(0, Math.min(scenes.length - 1, to));
    scenes.forEach((scene, i) => scene.classList.toggle("here", i === here));
    document.getElementById("bar").value = here + 1;
    document.getElementById("number").textContent = (here + 1) + "/" + scenes.length + " ";
    history.replaceState(null, "", "#" + (here + 1));
  }}
  document.getElementById("back").onclick = () => go(here - 1);
  document.getElementById("on").onclick = () => go(here + 1);
  document.onkeydown = event => {{
    const keys = {{ArrowRight: here + 1, " ": here + 1, PageDown: here + 1, ArrowLeft: here - 1, PageUp: here - 1,
                  Home: 0, End: scenes.length - 1}};
    if (event.key in keys) {{ event.preventDefault(); go(keys[event.key]); }}
  }};
  go(here);
</script>
</html>
"""
FIGURE = (
    '<figure{here}><img alt="{name}" src="data:image/svg+xml;base64,{data}"><figcaption>{caption}</figcaption></figure>'
)


@dataclass(frozen=True)
class Shot:
    """A scene's picture."""

    name: str
    svg: str
    caption: str


def record(
    path: Path,
    directory: Path,
    say: Language,
    *,
    size: tuple[int, int] = SIZE,
    theme: str = "dark",
    texts: Sequence[str] | None = None,
    memory: int = GIBIBYTE,
    load: Callable[[str], Model] = load,
) -> list[Path]:
    """Write a picture of every scene, and index.html, which pages through them and needs no other file.

    Gives the files.

    Raises:
        FileError: something about the demo is wrong, or the directory cannot be written to.
    """
    rehearsal = rehearsed(path, say, texts=texts, memory=memory, load=load)
    title = rehearsal.demo.title[say.code]

    async def shots() -> list[Shot]:
        found = []
        async for number, app in scenes(rehearsal, say, size, theme):
            name = rehearsal.states[number].scene.name
            found.append(Shot(f"{number + 1:02d}{'-' * bool(name)}{name}.svg", picture(app, title), app.explorer.said))
        return found

    taken = asyncio.run(shots())
    files = {shot.name: shot.svg for shot in taken} | {"index.html": page(taken, title, say.code, theme)}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text, "utf-8")
    except OSError as error:
        raise FileError(
            "demo-cannot-write",
            "{file}: cannot be written ({reason})",
            file=directory,
            reason=error.strerror or error,
        ) from None
    return [directory / name for name in files]


def page(shots: Sequence[Shot], title: str, lang: str, theme: str) -> str:
    """The page that goes through the pictures."""
    from tui.app import DARK, LIGHT

    colours = LIGHT if theme == "light" else DARK
    figures = [
        FIGURE.format(
            here=' class="here"' if number == 0 else "",
            name=escape(shot.name.removesuffix(".svg"), quote=True),
            data=b64encode(shot.svg.encode()).decode("ascii"),
            caption=escape(shot.caption),
        )
        for number, shot in enumerate(shots)
    ]
    return PAGE.format(
        lang="zh-CN" if lang == "zh" else lang,
        title=escape(title),
        background=colours.background,
        foreground=colours.foreground,
        accent=colours.accent,
        count=len(shots),
        figures="\n".join(figures),
    )
