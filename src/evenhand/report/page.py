"""The page of a report: a summary and its charts as one HTML file that needs no network.

Reads the summary alone, so that whatever the page says is in the JSON beside it. Everything is escaped by the template;
what scripts read is JSON in which no tag can end.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from evenhand.errors import MissingExtraError
from evenhand.findings.changes import expected_people, told_changed
from evenhand.findings.document import NONE
from evenhand.findings.naming import long_name, short_name
from evenhand.report.charts import Chart
from evenhand.report.charts.chart import drawing
from evenhand.report.extent import foremost, groups_drawn
from evenhand.report.scripts import bundle
from evenhand.resources import Progress

Json = dict[str, Any]

SIGNS = {"infinite": "∞", "-infinite": "−∞"}
"""How a page writes the words that stand for numbers in the summary."""

MOST_OUTCOMES = 3
"""How many moves from one outcome to another are listed at the top."""

MOST_GROUPS_BESIDE = 4
"""Of more groups than this, the table of learned cells has the people alone."""

MOST_LEVELS = 24
"""How many levels of a column are listed."""

MOST_LISTED = 60
"""How many rows of a table are listed."""

MOST_SENTENCES = 24
"""How many sentences stand below one heading."""

BROAD = 640
"""A chart of more units across cannot be read on a phone at the page's width, and is scrolled there."""


@dataclass(frozen=True)
class Table:
    """A table of words: a caption, one heading per column (those of numbers are marked), and rows."""

    caption: str
    headings: tuple[str, ...]
    numbers: int
    rows: tuple[tuple[str, ...], ...]

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """Each heading, and whether its column holds numbers: the last ones do."""
        first = len(self.headings) - self.numbers
        return [(heading, at >= first) for at, heading in enumerate(self.headings)]

    @property
    def cut(self) -> Table:
        """The same, with no more rows than are listed; the caption says how many there are."""
        if len(self.rows) <= MOST_LISTED:
            return self
        caption = f"{self.caption}: the first {MOST_LISTED} of {len(self.rows):,}"
        return replace(self, caption=caption, rows=self.rows[:MOST_LISTED])


@dataclass(frozen=True)
class Picture:
    """A chart as a page holds it: a still image, and the specification from which a script makes it live."""

    title: str
    description: str
    still: str
    specification: str
    broad: bool


def check_packages() -> None:
    """Refuse, before any work is done, to make a page that could not be drawn."""
    for needed in (drawing, _template):
        needed()


def page(summary: Json, charts: Mapping[str, Chart], progress: Progress) -> str:
    """Return the HTML of a summary and its charts."""
    progress("bundling the scripts of the charts, once for all reports", 0.0)
    scripts = bundle()
    pictures: dict[str, Picture] = {}
    for name, chart in charts.items():
        progress(f"drawing: {chart.title}", (1 + len(pictures)) / (1 + len(charts)))
        drawn = chart.to_svg()
        still = f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"
        width = re.search(r'<svg[^>]*?\bwidth="([\d.]+)"', drawn)
        broad = width is not None and float(width[1]) > BROAD
        # JSON that no tag inside it can end.
        live = chart.to_json().replace("<", "\\u003c").replace("\u2028", "\\u2028")
        pictures[name] = Picture(chart.title, chart.description, still, live, broad)
    tables = {name: make(summary).cut for name, make in TABLES.items()}
    told = sum(min(len(part["words"]), MOST_SENTENCES) for part in summary["fresh_people"] if part["detail"])
    return str(
        _template().render(
            s=summary, facts=_facts(summary), tables=tables, pictures=pictures, bundle=scripts,
            most_sentences=MOST_SENTENCES, detailed=told,
            style=_text("page.css"), script=_text("page.js"),
        )
    )  # fmt: skip


@cache
def _template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("a report needs vl-convert and jinja2: pip install 'evenhand[charts]'") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text("page.html"))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def percent(value: Any, digits: int = 1) -> str:
    """Write a share."""
    return NONE if value is None or isinstance(value, str) else f"{100 * value:.{digits}f}%"


def number(value: Any, form: str = ".4g") -> str:
    """Write a number; what is not there is a dash."""
    return NONE if value is None else SIGNS.get(value, value) if isinstance(value, str) else format(value, form)


def ends(low: Any, high: Any) -> str:
    """Write the smallest and the largest of some bounds, or the one that all are."""
    return " to ".join(dict.fromkeys((number(low), number(high))))


def group_heading(s: Json) -> str:
    """Name the columns that groups are formed by."""
    return f"Group ({', '.join(c['name'] for c in s['table']['columns'] if c['role'] == 'protected')})"


def _facts(s: Json) -> list[tuple[str, str, str]]:
    """Return the few numbers at the top: a name, a number, and what it means."""
    certificate, changes = s["certificate"], s["changes"]
    gap = NONE if certificate["gap"] is None else f"gap {certificate['gap']:.0e}"
    facts = [("Status", certificate["status"], gap)]
    for part in [part for part in s["bounds"]["parity"] if part["furthest_after"] is not None][:1]:
        before, after = (number(part[f"furthest_{when}"]["apart"], ".3f") for when in ("before", "after"))
        whom = ", among the groups shown" if part["comparisons_hidden"] else ""
        bound = ends(part["smallest_bound"], part["largest_bound"])
        facts.append(("Rates furthest apart", f"{before} → {after}", f"before → after, bound {bound}{whom}"))
    share = changes["share_features"] if changes["suppressed"] else changes["share"]
    facts.append(("People changed", percent(share), f"of {s['table']['weight']:,.0f}, in expectation"))
    # A suppressed problem draws the outcome anew.
    if not changes["suppressed"]:
        outcome = next(column["name"] for column in s["table"]["columns"] if column["role"] == "outcome")
        rows = sorted(changes["outcome"], key=lambda row: -row["share"])
        listed = [f"{row['from']} → {row['to']}: {percent(row['share'])}" for row in rows[:MOST_OUTCOMES]]
        rest = f" and {len(rows) - MOST_OUTCOMES} more" if len(rows) > MOST_OUTCOMES else ""
        moved = (", ".join(listed) or "nobody's") + rest
        facts.append(("Outcome changed", moved, f"{outcome}, of all people, in expectation"))
    return [
        *facts,
        ("Mean distortion", f"{changes['expected_distortion']:.4f}", "expected, per person"),
        ("Utility lost", f"{certificate['objective']:.5f}", "of the distribution as a whole: people may still change"),
        ("Largest violation", f"{certificate['max_violation']:.0e}", "of any bound"),
    ]


def _levels(s: Json) -> Table:
    missing = {row["column"]: row for row in s["table"]["coverage"] if row["what"] == "missing"}
    rows = []
    for column in s["table"]["columns"]:
        listed = ["; ".join(map(str, column["levels"][:MOST_LEVELS]))]
        if "learned_over" in column:
            listed = [f"{len(column['levels'])} cells over {', '.join(column['learned_over'])}, see below"]
        elif len(column["levels"]) > MOST_LEVELS:
            listed.append(f"{len(column['levels']) - MOST_LEVELS} more")
        if column["levels_hidden"]:
            listed.append(f"{column['levels_hidden']} of few people")
        without, found = "none", missing.get(column["name"])
        if found is not None:
            fewer = f"fewer than {s['small_cells']['hide_below']:g}"
            without = f"{fewer if found['rows'] is None else format(found['rows'], ',.0f')} ({found['policy']})"
        rows.append((column["name"], column["role"], "; and ".join(listed), without))
    headings = ("Column", "Role", "Levels", "Rows without a value")
    return Table("The columns and their levels, as values became them", headings, 1, tuple(rows))


def _learned(s: Json) -> Table:
    found = s["learned_cells"]
    if found is None:
        return Table("", (), 0, ())
    groups = found["groups"] if len(found["groups"]) <= MOST_GROUPS_BESIDE else []
    rows = []
    for row in found["rows"]:
        told = zip(row["people"], row["before"], row["after"], groups, strict=False)
        beside = [f"{percent(before)} → {percent(after)} of {people:,}" for people, before, after, _ in told]
        rows.append((str(row["cell"]), row["rule"], f"{sum(row['people']):,}", *beside))
    hidden = f"; {found['cells_hidden']} with few people of some group are left out" if found["cells_hidden"] else ""
    headings = ("Cell", "Who is in it", "People", *(f"{found['outcome']}, {group}" for group in groups))
    return Table(f"The learned cells: {found['words']}{hidden}", headings, 2, tuple(rows))


def _drawn(s: Json, rows: Sequence[Json]) -> tuple[list[Json], str]:
    """Return the rows of the outcomes and of the largest groups that are shown, and say of how many these are."""
    outcomes = s["rates"]["shown"]
    people = {short_name(row["group"]): row["weight"] for row in s["changes"]["groups"]}
    kept = foremost(people, groups_drawn(len(outcomes)))
    shown = [
        row for row in rows if short_name(row["group"]) in kept and ("outcome" not in row or row["outcome"] in outcomes)
    ]
    (levels,) = [column["levels"] for column in s["table"]["columns"] if column["role"] == "outcome"]
    said = [f"the {len(kept)} largest of {s['table']['groups']} groups"] * (len(kept) < len(people))
    said += [f"the {len(outcomes)} commonest of {len(levels)} outcomes"] * (1 < len(outcomes) < len(levels))
    return shown, f": {' and '.join(said)}" if said else ""


def _rates(s: Json) -> Table:
    shown, which = _drawn(s, s["rates"]["rows"])
    return Table(
        f"Rates by group, with {s['rates']['confidence']:.0%} intervals that hold all at once{which}",
        (group_heading(s), "Outcome", "People", "Before", "After", "Interval before", "Interval after"),
        5,
        tuple(
            (
                short_name(row["group"]), str(row["outcome"]), f"{row['weight']:,.0f}", percent(row["before"]),
                percent(row["after"]), f"{percent(row['before_low'])} to {percent(row['before_high'])}",
                f"{percent(row['after_low'])} to {percent(row['after_high'])}",
            )
            for row in shown
        ),
    )  # fmt: skip


def _parity(s: Json) -> Table:
    rows = [
        (row["where"], number(row["bound"]), number(row["achieved"]))
        for part in s["bounds"]["parity"]
        for row in part["rows"]
    ]
    return Table("Comparisons nearest to their bound", ("Comparison", "Bound", "Achieved"), 2, tuple(rows))


def _budgets(s: Json) -> Table:
    rows = []
    for part in s["bounds"]["budgets"]:
        limit = ends(part["smallest_limit"], part["largest_limit"])
        whom = "each (features, outcome), on average over groups" if part["per"] == "xy" else "each person"
        rows.append(
            (part["constraint"], whom, limit, number(part["largest"]), f"{part['at_limit']} of {part['cells']}")
        )
    headings = ("Budget", "For whom", "Limit", "Largest achieved", "Cells at the limit")
    return Table("What each person, or each kind of record, may undergo", headings, 3, tuple(rows))


def _groups(s: Json) -> Table:
    which, heading = told_changed(suppressed=s["changes"]["suppressed"])
    shown, of = _drawn(s, s["changes"]["groups"])
    rows = [
        (
            short_name(row["group"]),
            f"{row['weight']:,.0f}",
            percent(row[which]),
            number(row["expected_distortion"], ".4f"),
        )
        for row in shown
    ]
    return Table(f"By group{of}", (group_heading(s), "People", heading, "Expected distortion"), 3, tuple(rows))


def _ledger(s: Json) -> Table:
    found = s["ledger"] or {"favourable": None, "rows": []}
    outcome = next(column["name"] for column in s["table"]["columns"] if column["role"] == "outcome")
    shown, of = _drawn(s, found["rows"])
    rows = [
        (
            short_name(row["group"]), f"{row['weight']:,.0f}",
            *(expected_people(row[name]) for name in ("helped", "harmed", "unchanged")),
            percent(row["before"]), percent(row["after"]),
        )
        for row in shown
    ]  # fmt: skip
    headings = (group_heading(s), "People", "Helped", "Harmed", "Unchanged", "Rate before", "Rate after")
    caption = f"Who is helped and who is harmed: {outcome}={found['favourable']} is good for a person{of}"
    return Table(caption, headings, 6, tuple(rows))


def _columns(s: Json) -> Table:
    rows = [
        (row["column"], str(row["from"]), str(row["to"]), expected_people(row["people"]), percent(row["share"], 2))
        for row in s["changes"]["columns"]
    ]
    return Table("By column, in expectation", ("Column", "From", "To", "People", "Share of all"), 2, tuple(rows))


def _worst(s: Json) -> Table:
    rows = []
    for row in s["worst_off"]["rows"]:
        cell, likeliest = row["cell"], row["likeliest_change"]
        change = (f"{name}: {cell[name]} → {level}" for name, level in likeliest.items() if cell[name] != level)
        # Columns are named with their levels: there are too many for a heading.
        rows.append((
            long_name(cell), f"{row['weight']:,.0f}", percent(row["changed"]),
            number(row["expected_distortion"], ".3f"), ", ".join(change), percent(row["likeliest_probability"]),
        ))  # fmt: skip
    headings = ("Who", "People", "Changed", "Expected distortion", "Likeliest change", "How likely")
    return Table("Largest expected distortion first", headings, 0, tuple(rows))


def _predicted(s: Json) -> Table:
    shown, of = _drawn(s, s["models"]["predicted"])
    rows = [
        (
            short_name(row["group"]),
            str(row["outcome"]),
            percent(row["seeing_protected"]),
            percent(row["not_seeing_protected"]),
        )
        for row in shown
    ]
    headings = (group_heading(s), "Outcome", "Sees the protected columns", "Does not")
    return Table(f"Mean score of a model that learns the released data well{of}", headings, 2, tuple(rows))


def _fitted(s: Json) -> Table:
    fitted = s["models"]["fitted"] or {"rows": []}
    names = ("released", "predicted", "score", "decision")
    shown, of = _drawn(s, fitted["rows"])
    rows = [(short_name(row["group"]), str(row["outcome"]), *(percent(row[name]) for name in names)) for row in shown]
    headings = (group_heading(s), "Outcome", "Released rate", "Predicted score", "Mean score", "Decided so")
    return Table(f"A model fitted on one release{of}", headings, 4, tuple(rows))


def _prices(s: Json) -> Table:
    found = (s["prices"] or {"rows": []})["rows"]
    rows = [
        (row["constraint"], row["level"], row["where"], number(row["bound"]), number(row["price"])) for row in found
    ]
    headings = ("Constraint", "Level", "Where", "Bound", "Price")
    return Table("Utility gained for each unit that a bound is relaxed, at first", headings, 2, tuple(rows))


def _cell_prices(s: Json) -> Table:
    found = (s["prices"] or {"cells": []})["cells"]
    rows = [(row["constraint"], row["where"], f"{row['weight']:,.0f}", number(row["price"])) for row in found]
    return Table("The limits of single cells that cost most", ("Budget", "Cell", "People", "Price"), 2, tuple(rows))


def _frontier(s: Json) -> Table:
    points, chosen = s["frontier"]["points"], s["frontier"]["chosen"] or {}
    headings = {"bound": "Parity bound", "bound_factor": "Factor on the parity bounds"}
    column = next((name for name in headings if name in chosen), "bound")
    rows = []
    for row in points:
        status = f"{row['status']}: this mapping" if row[column] == chosen.get(column) else row["status"]
        rows.append((number(row[column]), number(row["objective"], ".6f"), status))
    return Table("Points of the frontier", (headings[column], "Utility lost", "Status"), 0, tuple(rows))


def _versions(s: Json) -> Table:
    rows: Sequence[tuple[str, str]] = [
        ("evenhand", s["evenhand"]), ("Python", s["repeat"]["python"]), *s["repeat"]["packages"].items(),
    ]  # fmt: skip
    return Table("Versions", ("Software", "Version"), 0, tuple(rows))


TABLES: dict[str, Callable[[Json], Table]] = {
    "levels": _levels,
    "learned": _learned,
    "rates": _rates,
    "parity": _parity,
    "budgets": _budgets,
    "groups": _groups,
    "ledger": _ledger,
    "columns": _columns,
    "worst": _worst,
    "predicted": _predicted,
    "fitted": _fitted,
    "prices": _prices,
    "cell_prices": _cell_prices,
    "frontier": _frontier,
    "versions": _versions,
}
