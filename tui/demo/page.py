"""A page that goes through a demo's pictures: one file, to open in a browser without a network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from tui.demo.marks import Paper

PAGE = """<!doctype html>
<html lang="{lang}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
  :root {{ color-scheme: {scheme}; }}
  body {{ margin: 0; background: {ground}; color: {ink}; font: 17px/1.5 system-ui, sans-serif; }}
  main {{ max-width: 1200px; margin: 0 auto; padding: 1rem; }}
  h1 {{ font-size: 1.2rem; margin: 0 0 .5rem; }}
  figure {{ margin: 0; text-align: center; }}
  figure:not(.here) {{ display: none; }}
  img {{ width: 100%; max-height: calc(100vh - 8rem); }}
  nav {{ display: flex; gap: 1rem; align-items: center; justify-content: center; margin: .5rem; }}
  nav button {{ font: inherit; padding: .2em 1.5em; }}
  li {{ margin: .4em 0; }}
  li a {{ color: inherit; text-decoration: none; opacity: .75; }}
  li a:hover, li.here a {{ opacity: 1; }}
  li.here::marker {{ font-weight: bold; }}
  @media print {{
    figure, figure:not(.here) {{ display: block; break-inside: avoid; }}
    nav, ol {{ display: none; }}
  }}
</style>
<main>
<h1>{title}</h1>
{figures}
<nav><button id="back">←</button><span id="number"></span>
<button id="on">→</button></nav>
<ol>
{captions}
</ol>
</main>
<script>
  const pictures = [...document.querySelectorAll("figure")], captions = [...document.querySelectorAll("li")];
  const last = pictures.length - 1;
  let here = 0;
  function show() {{
    here = Math.max(0, Math.min(last, (parseInt(location.hash.slice(1)) || 1) - 1));
    for (const all of [pictures, captions]) all.forEach((each, i) => each.classList.toggle("here", i === here));
    document.getElementById("number").textContent = (here + 1) + " / " + (last + 1);
  }}
  function go(to) {{
    history.replaceState(null, "", "#" + (Math.max(0, Math.min(last, to)) + 1));
    show();
  }}
  document.getElementById("back").onclick = () => go(here - 1);
  document.getElementById("on").onclick = () => go(here + 1);
  captions.forEach((caption, i) => caption.onclick = event => {{ event.preventDefault(); go(i); scrollTo(0, 0); }});
  onhashchange = show;
  onkeydown = event => {{
    const keys = {{ArrowRight: here + 1, " ": here + 1, PageDown: here + 1, ArrowLeft: here - 1, PageUp: here - 1,
                  Home: 0, End: last}};
    if (event.key in keys && !event.ctrlKey && !event.metaKey && !event.altKey) {{
      event.preventDefault();
      go(keys[event.key]);
    }}
  }};
  show();
</script>
</html>
"""
FIGURE = '<figure{here}><img alt="{caption}" src="data:image/svg+xml;base64,{data}"></figure>'
CAPTION = '<li{here}><a href="#{number}">{caption}</a></li>'


def page(pictures: Sequence[tuple[str, str]], title: str, lang: str, scheme: str, paper: Paper) -> str:
    """The page for pictures in SVG, each with the caption that stands in it.

    Args:
        lang: the language that the captions are in.
        scheme: ``light`` or ``dark``, as the pictures are.
        paper: whose colours the page has.
    """
    figures, captions = [], []
    for number, (svg, caption) in enumerate(pictures, 1):
        here = ' class="here"' if number == 1 else ""
        data = b64encode(svg.encode()).decode("ascii")
        figures.append(FIGURE.format(here=here, caption=escape(caption, quote=True), data=data))
        captions.append(CAPTION.format(here=here, number=number, caption=escape(caption)))
    return PAGE.format(
        lang="zh-CN" if lang == "zh" else lang,
        title=escape(title),
        scheme=scheme,
        ground=paper.ground,
        ink=paper.ink,
        figures="\n".join(figures),
        captions="\n".join(captions),
    )
