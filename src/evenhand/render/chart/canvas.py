"""A surface to draw on: shapes and lines of text at places in pixels. Text is measured by a table of letters.

No browser is asked how wide a text is: the table is that of a wide typeface, so that in others nothing meets.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from evenhand.render.markup import Markup, element, joined
from evenhand.render.numbers import JOINT
from evenhand.text import printable

SIZE = 12.0
"""The size of letters that is not named otherwise."""

GAP = 12.0
"""Between parts of a chart."""

LEADING = 1.3
"""From one line of text to the next, in sizes."""

MOST_LINES = 8
"""A text of more lines is cut; the table beside a chart has all of it."""

MIDDLE = 0.36
"""From the middle of a line of text down to its base, in sizes."""

NARROW, SLIM, BROAD, BROADEST = "ijlI|.,:;'!` ", 'frt()[]{}/\\-"·', "mwMW@%—…", "→▲▼"
OPERATORS = "=+<>~^#&"
PARTED = "\x1f"
"""Where a line is broken first: after what stands between the parts of a name."""


def width_of(text: str, size: float = SIZE) -> float:
    """Return how wide a text is, at most.

    Examples
    --------
    >>> width_of("ill") < width_of("old") < width_of("OLD") < width_of("MMM")
    True
    """
    return size * sum(map(_letter, text))


def _letter(letter: str) -> float:
    if letter in NARROW:
        return 0.36
    if letter in SLIM:
        return 0.43
    if letter in BROAD or letter in BROADEST:
        return 1.0
    if unicodedata.combining(letter):
        return 0.0
    if letter in OPERATORS:
        return 0.86
    if letter.isascii():
        return 0.78 if letter.isupper() else 0.65
    return 1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.8


def wrap(text: str, room: float, size: float = SIZE, most: int = MOST_LINES) -> list[str]:
    """Break a text into lines that have room: where its parts meet, then between words, then anywhere.

    Examples
    --------
    >>> wrap("Caucasian · under 25", 100), wrap("African-American women under 25", 130)
    (['Caucasian ·', 'under 25'], ['African-American', 'women under 25'])
    """
    lines = [""]
    for part in printable(text).replace(JOINT, f"\N{NO-BREAK SPACE}·{PARTED}").split(PARTED):
        fits = width_of(part, size) <= room
        for word in [part] if fits else part.split(" "):
            longer = f"{lines[-1]} {word}".strip(" ")
            if width_of(longer, size) <= room:
                lines[-1] = longer
                continue
            lines += [""] * bool(lines[-1])
            for letter in word:
                if lines[-1] and width_of(lines[-1] + letter, size) > room:
                    lines.append("")
                lines[-1] += letter
    lines = [line.replace("\N{NO-BREAK SPACE}·", " ·") for line in lines]
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][:-1]}…"]


def widest(lines: Sequence[str], size: float = SIZE) -> float:
    """Return the width of the widest of some texts."""
    return max((width_of(line, size) for line in lines), default=0.0)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"


class Canvas:
    """What was drawn so far, and how wide there is to draw."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.parts: list[Markup] = []

    def content(self) -> Markup:
        """Return all that was drawn."""
        return joined(self.parts)

    def add(self, tag: str, *content: object, **attributes: object) -> None:
        """Draw an element; numbers are places."""
        places = {
            name: _number(value) if isinstance(value, int | float) else value for name, value in attributes.items()
        }
        self.parts.append(element(tag, *content, **places))

    def text(
        self,
        x: float,
        y: float,
        lines: str | Sequence[str],
        class_: str = "c-ink",
        *,
        anchor: str | None = None,
        size: float = SIZE,
        turned: bool = False,
    ) -> float:
        """Write lines below one another from a top, and return the bottom. Turned, a text rises from its place."""
        lines = [lines] if isinstance(lines, str) else list(lines)
        base = y + size * (LEADING / 2 + MIDDLE)
        turn = f"rotate(-90 {_number(x)} {_number(y)})" if turned else None
        base = y if turned else base
        step = size * LEADING
        inner: list[object] = [lines[0]] if lines else []
        if len(lines) > 1:
            # The space is for those who copy a text that is in several lines.
            spaced = [*(f"{line} " for line in lines[:-1]), lines[-1]]
            inner = [
                element("tspan", line, x=_number(x), dy=_number(step) if at else None) for at, line in enumerate(spaced)
            ]
        self.add("text", *inner, x=x, y=base, class_=class_, text_anchor=anchor, transform=turn,
                 font_size=None if size == SIZE else size)  # fmt: skip
        return y + len(lines) * step

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        """Draw a straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def rect(self, x: float, y: float, width: float, height: float, class_: str, **more: object) -> None:
        """Draw a rectangle."""
        self.add("rect", x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=class_, **more)

    def path(self, points: Sequence[tuple[float, float]], class_: str, *, closed: bool = False) -> None:
        """Draw a line through points, or the surface within them."""
        places = "L".join(f"{_number(x)} {_number(y)}" for x, y in points)
        self.add("path", d=f"M{places}{'Z' * closed}", class_=class_)

    def shape(self, kind: str, x: float, y: float, class_: str, title: str | None = None, r: float = 4.5) -> None:
        """Draw a small mark: a circle, a ring, a square, a diamond, or a triangle that points up or down."""
        named = [] if title is None else [element("title", title)]
        if kind in ("circle", "ring"):
            self.add("circle", *named, cx=x, cy=y, r=r, class_=class_)
            return
        corners = {
            "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
            "diamond": ((0, -1.3 * r), (1.3 * r, 0), (0, 1.3 * r), (-1.3 * r, 0)),
            "up": ((0, -1.2 * r), (1.2 * r, r), (-1.2 * r, r)),
            "down": ((0, 1.2 * r), (1.2 * r, -r), (-1.2 * r, -r)),
        }[kind]
        places = "L".join(f"{_number(x + dx)} {_number(y + dy)}" for dx, dy in corners)
        self.add("path", *named, d=f"M{places}Z", class_=class_)

    def side_by_side(self, panels: Sequence[Callable[[Canvas], float]], across: int, top: float) -> float:
        """Draw panels in lines of so many, each on a surface of its own, and return where the last line ends."""
        width = (self.width - (across - 1) * 2 * GAP) / across
        bottom = top
        for at, panel in enumerate(panels):
            if at % across == 0:
                top = bottom + (GAP if at else 0)
            part = Canvas(width)
            end = panel(part)
            moved = f"translate({(at % across) * (width + 2 * GAP):.1f} {top:.1f})"
            self.parts.append(element("g", part.content(), transform=moved))
            bottom = max(bottom, top + end)
        return bottom


def write_heading(canvas: Canvas, text: str, x: float, top: float, width: float) -> float:
    """Write the name of a panel, if it has one, and return where it ends."""
    return canvas.text(x, top, wrap(text, width, SIZE * 1.12), "c-strong") + 4 if text else top
