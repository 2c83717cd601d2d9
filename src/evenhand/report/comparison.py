"""The page of two mappings compared: headings, sentences and tables, which any width and paper can hold.

Reads the plain values of a comparison alone, so that whatever the page says is in its JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.findings.document import NONE
from evenhand.report.page import Table, percent, template, text_of

Json = dict[str, Any]

TITLE = "Two mappings compared: what differs, and for whom"

MOST_CELLS = 24
"""So many cells are on the page; the JSON has them all."""

SHARES = ("before", "after_a", "after_b", "changed_a", "changed_b", "other_outcome", "other_record")
HEADINGS = {
    "setting": "Setting",
    "what": "",
    "a": "A",
    "b": "B",
    "people": "People",
    "weight": "People",
    "before": "Before",
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


def comparison_page(found: Json, hide_below: float) -> str:
    """Return the HTML of a comparison; cells and groups of fewer people are left out, and how many is said."""
    parts = [
        Part("What differs, in words", (*found["words"], *found["notes"])),
        Part("What was stated", table=_table("Settings in which the two statements differ", found["statement"], 0)),
        Part(
            "Each group's rates",
            *_some(found["rates"], "weight", hide_below, "Rates, in expectation over the draws", 4),
        ),
        Part(
            "Who is changed, and who is treated differently",
            *_some(found["groups"], "weight", hide_below, "At least these shares get another result from B"),
        ),
        Part(
            "The cells in which people are treated differently",
            *_some(_largest(found["cells"]), "people", hide_below, "By how many people it is, most first"),
        ),
        Part("What each costs", table=_table("Costs and certificates", found["costs"], 2)),
    ]
    lead = f"On {found['about']}."
    return str(template("comparison.html").render(title=TITLE, lead=lead, parts=parts, style=text_of("page.css")))


def _largest(cells: list[Json]) -> list[Json]:
    """Return the first cells, for a page that is to be read; weights are left out where people have none."""
    weighed = any(row["people"] != row["weight"] for row in cells)
    return [{name: row[name] for name in row if weighed or name != "weight"} for row in cells[:MOST_CELLS]]


def _some(
    rows: list[Json], size: str, hide_below: float, caption: str, numbers: int | None = None
) -> tuple[tuple[str, ...], Table | None]:
    """Return what is said of rows that are left out, and the table of the others."""
    kept = [row for row in rows if row[size] >= hide_below]
    left = len(rows) - len(kept)
    rows_are = "row of fewer than {} people is" if left == 1 else "rows of fewer than {} people are"
    words = () if not left else (f"{left:,} {rows_are.format(f'{hide_below:g}')} not shown",)
    if not kept:
        return (*words, "There is nothing to list.") if not left else words, None
    first = list(kept[0]).index(size)
    return words, _table(caption, kept, len(kept[0]) - first if numbers is None else numbers)


def _table(caption: str, rows: list[Json], numbers: int) -> Table | None:
    if not rows:
        return None
    names = list(rows[0])
    listed = tuple(tuple(_written(name, row[name]) for name in names) for row in rows)
    return Table(caption, tuple(_heading(name) for name in names), numbers, listed).cut


def _heading(name: str) -> str:
    """Name a column: of an outcome's probability the outcome, and by whom."""
    if name.endswith((": a", ": b")):
        return f"{name[:-3]} by {name[-1].upper()}"
    return HEADINGS.get(name, name)


def _written(name: str, value: Any) -> str:
    """Write a value as its column asks."""
    if value is None:
        return NONE
    if name in SHARES or (isinstance(value, float) and name.endswith((": a", ": b"))):
        return percent(value)
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) >= 1 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
