"""Charts to draw: one of each mark with plain contents, and random ones with names of any length."""

import random

from evenhand.render.section import Chart, Column, Line, Note, Point, Table

WORDS = (
    "under",
    "25",
    "African-American",
    "women",
    "men",
    "Hispanic or Latino",
    "x",
    "Rindfleischetikettierung",
    "政府",
    "≥ 3",
)
MARKS = ("dots", "bars", "lines", "batches", "heat")
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&<svg onload=alert(2)>\x1b[31m\x00"


def rates(rows, **options):
    """Rates before and after, with an interval, a tone and a band: name, before, after, low, high, tone."""
    columns = (
        Column("group", own=True), Column("before", "rate"), Column("after", "rate"), Column("low", "rate"),
        Column("high", "rate"), Column("tone"),
    )  # fmt: skip
    table = Table("rates", columns, tuple(rows))
    fields = {"title": "Rates by group", **options.pop("fields", {})}
    return Chart("rates", "dots", table, ("group",), ("before", "after"), low="low", high="high", tone="tone",
                 fields=fields, **options)  # fmt: skip


def plain():
    """One chart of every mark."""
    dots = rates(
        [("a", 0.2, 0.3, 0.25, 0.35, "better"), ("b", 0.6, 0.4, 0.35, 0.45, "worse"), ("c", 0.4, 0.4, 0.3, 0.5, None)],
        lines=(Line("bound", 0.1),), band=(0.3, 0.4),
    )  # fmt: skip
    flows = Table(
        "flows",
        (Column("what"), Column("part"), Column("share", "rate"), Column("tone")),
        (("down", None, 0.3, "worse"), ("down", "by one", 0.2, "worse"), ("up", None, 0.1, "better")),
    )
    curve = Table("curve", (Column("bound", "number"), Column("loss", "cost")), ((0.1, 0.3), (0.2, 0.1), (0.4, 0.0)))
    weeks = Table(
        "weeks",
        (Column("bound"), Column("batch"), Column("apart", "ratio"), Column("low", "ratio"), Column("high", "ratio"),
         Column("limit", "ratio"), Column("none", "ratio"), Column("tone")),
        (
            ("one", "week 1", 0.1, 0.05, 0.2, 0.15, 0.0, "better"),
            ("one", "week 2", 0.3, 0.2, float("inf"), 0.15, 0.0, "worse"),
        ),
    )  # fmt: skip
    grid = Table(
        "grid",
        (Column("from"), Column("to"), Column("p", "rate")),
        (("a", "a", 0.75), ("a", "b", 0.25), ("b", "a", None), ("b", "b", 1.0)),
    )
    return {
        "dots": dots,
        "bars": Chart(
            "flows", "bars", flows, ("what",), ("share",), inner="part", tone="tone", fields={"title": "Flows"},
        ),
        "lines": Chart(
            "curve", "lines", curve, (), ("bound",), ("loss",), lines=(Line("smallest", 0.1, shade="below"),),
            points=(Point("here", 0.2, 0.1),), fields={"title": "Loss"},
        ),
        "batches": Chart(
            "weeks", "lines", weeks, (), ("batch",), ("apart",), panel="bound", low="low", high="high",
            band=("none", "limit"), tone="tone", own_scale=True, fields={"title": "Batches"},
        ),
        "heat": Chart("grid", "heat", grid, ("from",), ("to",), ("p",), fields={"title": "Grid"}),
    }  # fmt: skip


def random_chart(seed):
    """A chart of any mark, with names of one to nine words."""
    draw = random.Random(seed)

    def name():
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 9))) if draw.random() < 0.5 else draw.choice(WORDS)

    tones = ("better", "worse", None)
    lines = tuple(Line(name(), draw.random(), axis=axis) for axis in ("x", "x", "y") for _ in range(draw.randint(0, 2)))
    notes = (Note("hidden.rows", {"hidden": 1, "total": 3, "least": 20}),) * draw.randint(0, 1)
    shared = {"lines": lines, "notes": notes, "fields": {"title": name()}}
    mark = MARKS[seed % len(MARKS)]
    number = draw.randint(1, 16)
    if mark == "dots":
        rows = [
            (name(), draw.random(), at := draw.random(), max(0, at - 0.1), min(1, at + 0.1), draw.choice(tones))
            for _ in range(number)
        ]
        return rates(rows, band=(0.2, 0.5), **shared)
    if mark == "bars":
        columns = (Column("name"), Column("part"), Column("n", "people"), Column("tone"))
        rows = [
            (name(), name() if draw.random() < 0.3 else None, draw.random() * 1e6, draw.choice(tones))
            for _ in range(number)
        ]
        return Chart(
            "n", "bars", Table("n", columns, tuple(rows)), ("name",), ("n",), inner="part", tone="tone", **shared
        )
    if mark in ("lines", "batches"):
        across = "text" if mark == "batches" else "number"
        columns = (
            Column("panel", own=True),
            Column("curve"),
            Column("at", across),
            Column("y", "cost"),
            Column("y2", "rate"),
        )
        panels, curves = [name() for _ in range(draw.randint(1, 3))], [name() for _ in range(draw.randint(1, 4))]
        rows = [
            (panel, curve, f"{at}: {name()}" if mark == "batches" else at / number, draw.random() * 1e-3, draw.random())
            for panel in panels for curve in curves for at in range(number)
        ]  # fmt: skip
        return Chart(
            "c", "lines", Table("c", columns, tuple(rows)), ("curve",), ("at",), ("y", "y2"), panel="panel", **shared
        )
    columns = (Column("panel", own=True), Column("down"), Column("across"), Column("change", "points"))
    panels, down, across = ([f"{at} {name()}" for at in range(draw.randint(1, most))] for most in (3, 6, 30))
    rows = [(p, d, a, draw.uniform(-1, 1)) for p in panels for d in down for a in across]
    return Chart(
        "g", "heat", Table("g", columns, tuple(rows)), ("down",), ("across",), ("change",), panel="panel", **shared
    )
