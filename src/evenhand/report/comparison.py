"""The page of two mappings compared: headings, sentences and tables, which any width and paper can hold.

Reads the plain values of a comparison alone, so that whatever the page says is in its JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.data.weighting import Unit
from evenhand.findings.discretion import not_shown
from evenhand.findings.document import NONE, Json
from evenhand.report.brief import percent
from evenhand.report.page import Table, template, text_of
from evenhand.tolerances import ROUNDING

MOST_CELLS = 24
"""So many cells are on the page; the JSON has them all."""

MOST_LETTERS = 120
"""A longer value of a setting, such as the lines of a user's distance, is cut; the JSON has it whole."""

SHARES = ("before", "after_a", "after_b", "changed_a", "changed_b", "other_outcome", "other_record")
COUNTED = ("people", "weight")

MANY = 1000
"""Of a number from here on nobody reads what is behind the point."""

HEADINGS = {
    "setting": "Setting",
    "what": "",
    "a": "A",
    "b": "B",
    "people": "People",
    "weight": "By weight",
    "bound": "Bound",
    "before": "Before",
    "after": "After",
    "after_a": "After A",
    "after_b": "After B",
    "changed_a": "Changed by A",
    "changed_b": "Changed by B",
    "other_outcome": "Other outcome",
    "other_record": "Other record",
}


@dataclass(frozen=True)
class Part:
    """A heading with sentences, a table, or both."""

    heading: str
    words: tuple[str, ...] = ()
    table: Table | None = None


def comparison_page(found: Json) -> str:
    """Return the HTML of a comparison; how many cells and groups are hidden is said."""
    weighed = found["weighed"]
    by_weight = f" Numbers are {Unit.WEIGHT}." if weighed else ""

    def some(name: str, caption: str, most: int | None = None) -> tuple[tuple[str, ...], Table | None]:
        rows, hidden = [without_weight(row, weighed=weighed) for row in found[name]], found["hidden"][name]
        words = [not_shown(hidden, len(rows) + hidden, "rows", found["hide_below"])] if hidden else []
        return _some(rows, words, caption, most)

    parts = [
        Part("What differs, in words", (*found["words"], *found["notes"])),
        Part("What was stated", table=_table("Settings in which the two statements differ", found["statement"], 0)),
        Part("How far apart rates are", table=_table("At worst, of what each bounds", _bounds(found["bounds"]), 3)),
        Part("Each group's rates", *some("rates", f"Rates, in expectation over the draws.{by_weight}")),
        Part(
            "Who is changed, and who is treated differently",
            *some("groups", f"In expectation at least these shares get another result from B.{by_weight}"),
        ),
        Part(
            "The cells in which people are treated differently",
            *some("cells", f"By how many people it is, most first.{by_weight}", MOST_CELLS),
        ),
        Part("What each costs", table=_table(f"Costs and certificates.{by_weight}", found["costs"], 2)),
    ]
    return str(
        template("comparison.html").render(
            title="Two mappings compared: what differs, and for whom",
            lead=f"On {found['about']}.",
            mappings=called(found["mappings"]),
            style=text_of("page.css"),
            parts=[part for part in parts if part.words or part.table is not None],
        )
    )


def called(mappings: list[Json], letters: int | None = None) -> list[tuple[str, str]]:
    """Say what A and B are, their fingerprints in so many letters."""
    rows = {row["what"]: row for row in mappings}
    named = [rows["name"]] if "name" in rows else []
    prints = rows["fingerprint"]
    return [
        (which.upper(), ", ".join([*(row[which] for row in named), f"fingerprint {prints[which][:letters]}"]))
        for which in "ab"
    ]


def shortened(text: str) -> str:
    """Cut a text that nobody would read to its end, and say how long it is.

    Examples
    --------
    >>> shortened("[" + "0.25, " * 1000 + "1]")[-30:]
    ', 0.25, 0.25,… (6,003 letters)'
    """
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}… ({len(text):,} letters)"


def without_weight(row: Json, *, weighed: bool) -> Json:
    """Leave out the weight of a row where people have none."""
    return {name: value for name, value in row.items() if weighed or name != "weight"}


def _bounds(bounds: list[Json]) -> list[Json]:
    return [
        {"what": ", ".join(filter(None, (f"{row['mapping']}: {row['constraint']}", row["whose"])))}
        | {name: row[name] for name in ("bound", "before", "after")}
        for row in bounds
    ]


def joined(row: Json) -> Json:
    """Join the columns that say who it is, which are those before the number of people: they need room, or one line.

    Examples
    --------
    >>> joined({"sex": "f", "age": 30, "people": 25.0, "before": 0.5})
    {'sex, age': 'f, 30', 'people': 25.0, 'before': 0.5}
    """
    at = list(row).index("people")
    names, values = list(row)[:at], list(row.values())
    return {", ".join(names): ", ".join(map(str, values[:at]))} | dict(list(row.items())[at:])


def _some(rows: list[Json], words: list[str], caption: str, most: int | None) -> tuple[tuple[str, ...], Table | None]:
    """Return what is said of rows that are left out, and the table of the others, cut."""
    kept = [joined(row) for row in rows[:most]]
    if len(kept) < len(rows):
        words.append(f"of the {len(rows):,} others the first {len(kept)} are shown; the JSON has all")
    if not kept:
        return tuple(words or ["There is nothing to list."]), None
    return tuple(words), _table(caption, kept, len(kept[0]) - 1)


def _table(caption: str, rows: list[Json], numbers: int) -> Table | None:
    if not rows:
        return None
    names = list(rows[0])
    listed = tuple(tuple(written(name, row[name]) for name in names) for row in rows)
    return Table(caption, tuple(heading(name) for name in names), numbers, listed).cut


def heading(name: str) -> str:
    """Name a column: of an outcome's probability the outcome, and by whom.

    Examples
    --------
    >>> heading("yes: a"), heading("other_outcome"), heading("sex")
    ('yes by A', 'Other outcome', 'sex')
    """
    if name.endswith((": a", ": b")):
        return f"{name[:-3]} by {name[-1].upper()}"
    return HEADINGS.get(name, name)


def written(name: str, value: Any) -> str:
    """Write a value as its column asks."""
    if value is None:
        return NONE
    if isinstance(value, float) and (name in SHARES or name.endswith((": a", ": b"))):
        return percent(value)
    if isinstance(value, float):
        if abs(value) < ROUNDING:
            return "0"
        whole = name in COUNTED or abs(value) >= MANY or (value.is_integer() and abs(value) >= 1)
        return f"{value:,.0f}" if whole else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return shortened(str(value)) if name in ("a", "b") else str(value)
