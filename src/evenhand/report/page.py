"""The page of a report: a summary as one HTML file that needs no network.

Reads the summary alone, so that whatever the page says is in the JSON beside it. Everything is escaped by the template;
the one script folds what is long, and reads nothing of the summary.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from evenhand.errors import MissingExtraError
from evenhand.findings.changes import told_changed
from evenhand.findings.discretion import not_shown
from evenhand.findings.document import NONE, Json
from evenhand.findings.naming import short_name
from evenhand.render.numbers import people as expected_people
from evenhand.report.brief import outcome_name, pair, people_words, percent
from evenhand.report.drawn import drawn, told_outcomes
from evenhand.report.extent import foremost, groups_drawn
from evenhand.text import printable_lines
from evenhand.tolerances import ROUNDING

LONG_WORD = 20
"""So many letters a word may have that is not broken in a table."""

LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
LEFTWARDS = re.compile(rf"{LEFT}+(?:[\s\u200c\u200d]+{LEFT}+)*")
"""Words in letters that are written from right to left."""

SIGNS = {"infinite": "∞", "-infinite": "−∞"}
"""How a page writes the words that stand for numbers in the summary."""

MOST_GROUPS_BESIDE = 4
"""Of more groups than this, the table of learned cells has the people alone."""

MOST_LEVELS = 24
MOST_LISTED = 60

MOST_SENTENCES = 24
"""How many sentences stand below one heading."""


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


def check_packages() -> None:
    """Refuse, before any work is done, to make a page that could not be written."""
    template("page.html")


def page(summary: Json) -> str:
    """Return the HTML of a summary."""
    told = sum(min(len(part["words"]), MOST_SENTENCES) for part in summary["fresh_people"] if part["detail"])
    return str(
        template("page.html").render(
            s=summary, tables={name: make(summary).cut for name, make in TABLES.items()}, charts=drawn(summary),
            contents=CONTENTS, most_sentences=MOST_SENTENCES, detailed=told, people=people_words(summary), pair=pair,
            style=text_of("page.css"), script=text_of("page.js"), not_shown=not_shown,
        )
    )  # fmt: skip


@cache
def template(name: str) -> Any:
    """Return a page with places for values, all of which are escaped."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("a report needs jinja2: pip install 'evenhand[charts]'") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    environment.filters["digest"] = digest
    environment.tests["unbroken"] = unbroken
    return environment.from_string(text_of(name))


def unbroken(text: Any) -> bool:
    """Whether a text has a word so long that a column of a table must be able to break it."""
    return any(len(word) > LONG_WORD for word in str(text).split())


def digest(script: str) -> str:
    """Return what allows one script in a content security policy, and no other."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def _shown(value: Any) -> Any:
    """Return a value as a page shows it; what is markup already was made of such values."""
    return set_apart(printable_lines(value)) if isinstance(value, str) and not hasattr(value, "__html__") else value


def set_apart(value: str) -> str:
    """Set words that are read from right to left apart, so that the numbers beside them stay where they are.

    Examples
    --------
    >>> [f"{ord(sign):x}" for sign in set_apart("\u05d0\u05d1: 30%")]
    ['2068', '5d0', '5d1', '2069', '3a', '20', '33', '30', '25']
    """
    return LEFTWARDS.sub(lambda words: f"\u2068{words[0]}\u2069", value)


def text_of(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def number(value: Any, form: str = ".4g") -> str:
    """Write a number; what is not there is a dash."""
    if value is None or isinstance(value, str):
        return NONE if value is None else SIGNS.get(value, value)
    written = format(0.0 if abs(value) <= ROUNDING else value, form)
    # Powers of ten are not for people to read.
    return f"{value:.10f}".rstrip("0") if "e-" in written else written


def ends(low: Any, high: Any) -> str:
    """Write the smallest and the largest of some bounds, or the one that all are."""
    return " to ".join(dict.fromkeys((number(low), number(high))))


def group_heading(s: Json) -> str:
    """Name the columns that groups are formed by."""
    return f"Group ({', '.join(c['name'] for c in s['table']['columns'] if c['role'] == 'protected')})"


def people_heading(s: Json) -> str:
    """Say what numbers of people are counted in."""
    return people_words(s).capitalize()


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
            listed.append(f"{column['levels_hidden']} not shown")
        without, found = "none", missing.get(column["name"])
        if found is not None:
            without = f"{'not shown' if found['rows'] is None else format(found['rows'], ',.0f')} ({found['policy']})"
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
        rows.append((f"{row['cell']}: {row['rule']}", f"{sum(row['people']):,}", *beside))
    hidden = f"; {found['cells_hidden']} are not shown" if found["cells_hidden"] else ""
    headings = ("Cell: who is in it", "People", *(f"{found['outcome']}, {group}" for group in groups))
    return Table(f"The learned cells: {found['words']}{hidden}", headings, 1 + len(groups), tuple(rows))


def _drawn(s: Json, rows: Sequence[Json]) -> tuple[list[Json], str]:
    """Return the rows of the outcomes and of the largest groups that are shown, and say of how many these are."""
    outcomes = told_outcomes(s)
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
        (group_heading(s), "Outcome", people_heading(s), "Before", "After", "Interval before", "Interval after"),
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
    rows = [(row["where"], row["said_bound"], row["said"]) for part in s["bounds"]["parity"] for row in part["rows"]]
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
    return Table(f"By group{of}", (group_heading(s), people_heading(s), heading, "Expected distortion"), 3, tuple(rows))


def _ledger(s: Json) -> Table:
    found = s["ledger"] or {"favourable": None, "rows": []}
    shown, of = _drawn(s, found["rows"])
    rows = [
        (
            short_name(row["group"]), f"{row['weight']:,.0f}",
            *(expected_people(row[name]) for name in ("helped", "harmed", "unchanged")),
            percent(row["before"]), percent(row["after"]),
        )
        for row in shown
    ]  # fmt: skip
    headings = (group_heading(s), people_heading(s), "Helped", "Harmed", "Unchanged", "Rate before", "Rate after")
    caption = f"Who is helped and who is harmed: {outcome_name(s)}={found['favourable']} is good for a person{of}"
    return Table(caption, headings, 6, tuple(rows))


def _columns(s: Json) -> Table:
    rows = [
        (row["column"], str(row["from"]), str(row["to"]), expected_people(row["people"]), percent(row["share"], 2))
        for row in s["changes"]["columns"]
    ]
    return Table(
        "By column, in expectation", ("Column", "From", "To", people_heading(s), "Share of all"), 2, tuple(rows)
    )


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
    names = ("score_before", "score", "predicted", "decision_before", "decision")
    shown, of = _drawn(s, fitted["rows"])
    rows = [(short_name(row["group"]), str(row["outcome"]), *(percent(row[name]) for name in names)) for row in shown]
    headings = (
        group_heading(s), "Outcome", "Mean score before", "After", "Predicted after", "Decided so before", "After",
    )  # fmt: skip
    learned_from = fitted.get("learned_from", "")
    return Table(f"A model that learned from the table as it is, and from {learned_from}{of}", headings, 5, tuple(rows))


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
    return Table(
        "The limits of single cells that cost most", ("Budget", "Cell", people_heading(s), "Price"), 2, tuple(rows)
    )


def _frontier(s: Json) -> Table:
    points, chosen = s["frontier"]["points"], s["frontier"]["chosen"] or {}
    headings = {"bound": "Parity bound", "bound_factor": "Factor on the parity bounds"}
    column = next((name for name in headings if name in chosen), "bound")
    rows = []
    for row in points:
        status = f"{row['status']}: this mapping" if row[column] == chosen.get(column) else row["status"]
        rows.append(
            (row["said"], number(row[column]), number(row["objective"], ".6f"), percent(row["changed"]), status)
        )
    names = ("Bound in words", headings[column], "Utility lost", "People changed", "Status")
    return Table("Points of the frontier", names, 0, tuple(rows))


def _file(s: Json) -> Table:
    found = s["this_file"] or {"rates": []}
    shown, of = _drawn(s, found["rates"])
    rows = [
        (short_name(row["group"]), str(row["outcome"]), number(row["weight"], ",.0f"), percent(row["before"]),
         percent(row["after"]))
        for row in shown
    ]  # fmt: skip
    headings = (group_heading(s), "Outcome", people_heading(s), "In the table", "In this file")
    return Table(f"Rates in this very file{of}", headings, 3, tuple(rows))


CONTENTS = (
    ("rates", "How far apart the groups are"),
    ("changed", "Who changes, and how"),
    ("gains", "Who is better and worse off"),
    ("worst", "Who bears most"),
    ("decisions", "Decisions of a model"),
    ("file", "This very file"),
    ("fresh", "New people"),
    ("covered", "What is not covered"),
    ("cost", "What it costs, and what drives it"),
    ("asked", "What was asked"),
    ("certificate", "The certificate"),
    ("theory", "In the paper’s terms"),
    ("problem", "The exact problem"),
    ("repeat", "How to repeat it"),
)
"""The sections of a page: the anchor of each, and its heading."""

TABLES: dict[str, Callable[[Json], Table]] = {
    "levels": _levels,
    "learned": _learned,
    "rates": _rates,
    "parity": _parity,
    "budgets": _budgets,
    "groups": _groups,
    "ledger": _ledger,
    "columns": _columns,
    "predicted": _predicted,
    "fitted": _fitted,
    "prices": _prices,
    "cell_prices": _cell_prices,
    "frontier": _frontier,
    "file": _file,
}
