"""How charts look: their colours on a light and on a dark ground, and the style sheet of pages that have charts."""

from __future__ import annotations

import re

NARROW, WIDE = 360, 760
"""The widths, in pixels, that a page chooses from."""

TWO_FROM = 540.0
"""From this width on two panels may stand side by side."""

CURVES = 4
"""So many curves look different."""

COLOURS = {
    "ground": ("#ffffff", "#14181d"),
    "ink": ("#1a1a1a", "#eceff3"),
    "soft": ("#555555", "#aab4bf"),
    "rule": ("#dcdfe3", "#39424c"),
    "band": ("#dde6ef", "#2a3a4a"),
    "nothing": ("#d5d5d5", "#39404a"),
    "before": ("#6b7683", "#9aa7b4"),
    "shade": ("#17467a", "#64a8ee"),
    "better": ("#0b62b8", "#6cb2ff"),
    "worse": ("#b34700", "#ff9d5c"),
    "up": ("#1b7837", "#69c68c"),
    "down": ("#762a83", "#c49be0"),
    "third": ("#00795c", "#3ec9a0"),
    "fourth": ("#a8518a", "#e59ccb"),
}
"""Each colour on a light and on a dark ground; those of marks are told apart by the colour-blind."""

MARKS = """
.c-ink{fill:var(--ink)}.c-strong{fill:var(--ink);font-weight:700}.c-soft{fill:var(--soft)}
.c-halo{paint-order:stroke;stroke:var(--ground);stroke-width:3px;stroke-linejoin:round}
.c-on{fill:var(--ground)}.c-mid{fill:#000000}.c-ground{fill:var(--ground)}.c-band{fill:var(--band)}.c-nothing{fill:var(--nothing)}
.c-grid{stroke:var(--rule);stroke-width:1}.c-axis{stroke:var(--soft);stroke-width:1}
.c-bound{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:5 3}.c-interval{stroke:var(--ink);stroke-width:1.2}
.c-around{fill:var(--shade);fill-opacity:.2}
.c-way{stroke:var(--before);stroke-width:3;stroke-opacity:.6}
.c-way-better{stroke:var(--better);stroke-width:3;stroke-opacity:.6}
.c-way-worse{stroke:var(--worse);stroke-width:3;stroke-opacity:.6}
.c-before{fill:var(--ground);stroke:var(--before);stroke-width:2}
.c-here{fill:none;stroke:var(--ink);stroke-width:2.5}
.c-plain{fill:var(--ink)}.c-bar{fill:var(--before)}.c-shade{fill:var(--shade)}.c-none{fill:var(--rule)}
.c-better{fill:var(--better)}.c-worse{fill:var(--worse)}.c-up{fill:var(--up)}.c-down{fill:var(--down)}
.c-curve{fill:none;stroke-width:2}.c-0{stroke:var(--shade)}.c-1{stroke:var(--worse);stroke-dasharray:7 3}
.c-2{stroke:var(--third);stroke-dasharray:2 3}.c-3{stroke:var(--fourth);stroke-dasharray:9 3 2 3}
.c-spot-0{fill:var(--shade)}.c-spot-1{fill:var(--worse)}.c-spot-2{fill:var(--third)}.c-spot-3{fill:var(--fourth)}
"""
"""How marks look; of curves the first four, then again."""

FONT = 'system-ui,"Segoe UI","Helvetica Neue","DejaVu Sans","Liberation Sans",Arial,sans-serif'

CSS = (
    ".eh-chart{"
    + "".join(f"--{name}:{light};" for name, (light, _) in COLOURS.items())
    + "background:var(--ground);color:var(--ink);margin:1.3rem 0;container-type:inline-size}\n"
    "@supports (color:light-dark(#000,#fff)){.eh-chart{"
    + "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in COLOURS.items())
    + "}}\n"
    f".eh-chart svg{{display:block;width:100%;height:auto;max-width:{WIDE * 1.1:.0f}px;font-family:{FONT}}}\n"
    f".eh-chart .c-narrow svg{{max-width:{NARROW * 1.35:.0f}px}}\n"
    ".eh-chart figcaption{font-weight:600;margin-bottom:.35rem}\n"
    ".eh-chart .c-note{color:var(--soft);font-size:.9rem;margin:.2rem 0 .5rem;max-width:90ch}\n"
    "@container (max-width:36rem){.eh-chart .c-wide{display:none}.eh-chart .c-narrow[hidden]{display:block}}\n"
    "@media print{.eh-chart{color-scheme:light only;break-inside:avoid-page;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}}\n" + "".join(f".eh-chart {rule}\n" for rule in re.findall(r"\.[^}]+\}", MARKS))
)
"""The style sheet of charts on a page. It has a dark form where the page says ``color-scheme: light dark``."""

LIGHT = re.sub(r"var\(--(\w+)\)", lambda found: COLOURS[found[1]][0], MARKS)
"""How marks look in a file."""
