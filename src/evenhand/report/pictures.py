"""The pictures of a mapping: rows of numbers, with the words that belong to them, as charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from evenhand import check
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.errors import DataError
from evenhand.findings.changes import (
    LEAST_COLUMN,
    Chosen,
    conditional,
    first_groups,
    most_changed,
    most_changed_groups,
)
from evenhand.findings.changes import changes as who_changes
from evenhand.findings.discretion import Discretion, not_shown
from evenhand.findings.document import Row
from evenhand.findings.naming import JOINT, Where, long_name, matching, short_name, shown_levels
from evenhand.findings.rates import Features, cohort_axis, cohorts, outcome_code, rates, shown_outcomes
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.report import charts
from evenhand.report.charts import DIVERGING, MORE_IS_BETTER, MORE_IS_WORSE, SEQUENTIAL, Chart, Shades
from evenhand.report.extent import (
    MOST_ACROSS,
    MOST_DOWN,
    MOST_LINES,
    foremost,
    groups_drawn,
    outcomes_drawn,
    totals,
)
from evenhand.spec import Problem
from evenhand.spec.agreement import favourable_code

Kind = Literal["rates", "heat", "cohorts", "changes"]
Parts = Where | Sequence[Where]

LEAST_PROBABILITY = 0.005
"""A smaller probability would be written as 0, in hundredths or in percent."""

MOST_CHANGES = 16
MOST_GROUPS = 40
MOST_COLUMNS = 8
MOST_PANELS = 12
"""How many groups have a panel of cohorts, unless others are asked for."""

MOST_SAID = 12
"""How many rates the words beside a picture repeat."""

WIDE_CELL = 118
HEAT_CELL = 36
FEWEST_DOWN = 4
"""However many panels stand below one another, each has so many rows."""

PAGE_WIDTH = 1240
"""What stands side by side on a page, in a chart's units."""


def picture(kind: Kind, problem: Problem, counts: Counts, kernel: Kernel, measured: Achieved, **options: Any) -> Chart:
    kinds: dict[str, Callable[..., Chart]] = {
        "rates": rate_chart,
        "heat": partial(heat_chart, measured=measured),
        "cohorts": cohort_chart,
        "changes": partial(change_chart, measured=measured),
    }
    check.one_of("kind", kind, tuple(kinds))
    checked = {name: OPTIONS[name](name, value) if name in OPTIONS else value for name, value in options.items()}
    return kinds[kind](problem, counts, kernel, **checked)


def _part(what: str, where: Any) -> Where:
    """Return a part of a table: a level for each column that it names."""
    named = check.mapping(what, where, 'a mapping of columns to levels, such as {"sex": "Male"}')
    return {check.column(what, column): check.level(f"{what}: {column!r}", level) for column, level in named.items()}


def _parts(what: str, parts: Any) -> list[Where]:
    """Return several parts of a table; one may stand alone."""
    listed = [parts] if isinstance(parts, Mapping) else check.listed(what, parts, "a list of parts of the table")
    return [_part(what, part) for part in listed]


def _or_none(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda what, value: None if value is None else read(what, value)


OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "confidence": check.number,
    "hide_below": partial(check.finite, low=0),
    "least": partial(check.finite, low=0),
    "most": partial(check.whole, low=1),
    "most_groups": partial(check.whole, low=1),
    "wrap": _or_none(partial(check.whole, low=1)),
    "where": _or_none(_parts),
    "groups": _or_none(_parts),
    "by": _or_none(check.columns),
    "outcome": _or_none(check.level),
    "which": check.text,
    "title": check.text,
}
"""How the options of all pictures are read; words are left to the picture that knows them."""


def rate_chart(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    confidence: float = 0.95,
    hide_below: float = 0,
    most_groups: int = MOST_GROUPS,
    title: str = "Rates by group, before and after",
) -> Chart:
    """Draw each group's rates before and after, with intervals and the permitted band."""
    levels = outcomes_drawn(counts)
    found = rates(problem, counts, kernel, confidence=confidence, hide_below=hide_below)
    worth = np.where(Discretion(counts, hide_below).groups, counts.groups.probability, -np.inf)
    groups = first_groups(counts, worth, min(most_groups, groups_drawn(len(levels))))
    named = [short_name(group) for group in groups]
    shown = [row for row in found if row["level"] in levels and row["group"] in named]
    said = [f"{row['group']}: {row['before']:.1%} before, {row['after']:.1%} after" for row in shown[:MOST_SAID]]
    said += [f"and {len(shown) - MOST_SAID} more"] if len(shown) > MOST_SAID else []
    bound = "; ".join(parity.words for parity in problem.parity)
    banded = any(row["permitted_low"] is not None for row in shown)
    every = len(shown_outcomes(counts.domain))
    subtitle = " ".join((
        f"Bound: {bound}." if bound else "No parity bound.",
        f"Bars: {confidence:.0%} Clopper–Pearson intervals, all at once; after, of the expected number, the mapping "
        f"held fixed.",
        *["Grey: where the rates after must lie."] * banded,
        *[f"Shown: the {len(levels)} commonest of {every} outcomes."] * (len(levels) < every),
        *_left_out_groups(counts, len(groups), "largest", hide_below),
    ))  # fmt: skip
    return charts.rates(
        shown, outcome=problem.outcome, title=title, subtitle=subtitle, description=f"{title}. {'; '.join(said)}."
    )


def _left_out_groups(counts: Counts, drawn: int, which: str, hide_below: float) -> list[str]:
    """Say how many groups are left out, and why."""
    total = len(counts.groups.cells)
    few = int((~Discretion(counts, hide_below).groups).sum())
    said = [f"Shown: the {drawn} {which} of {total} groups."] if drawn < total - few else []
    if few:
        said.append(f"{not_shown(few, total, 'groups', hide_below)}; the bounds hold for them too.")
    return said


def heat_chart(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    measured: Achieved,
    where: Parts | None = None,
    least: float = LEAST_COLUMN,
    hide_below: float = 0,
    title: str = "Who becomes what: the conditional mapping",
) -> Chart:
    """Draw P(x̂, ŷ | d, x, y) for parts of the table, one panel per part: figure 3. Else the most changed."""
    chosen, parts = None, [where] if isinstance(where, Mapping) else list(where or ())
    if where is None:
        chosen = most_changed(counts, kernel, measured.changed, hide_below=hide_below)
        parts = chosen.parts
    found = {
        long_name(shown_levels(counts.domain, part)): conditional(
            counts, kernel, part, least=least, hide_below=hide_below
        )
        for part in parts
    }
    entries = [row for rows in found.values() for row in rows]
    order = {row["source"]: row["source_cell"] for row in entries}
    people = {row["source"]: row["people"] for row in entries}
    sources = foremost(people, MOST_DOWN)
    cells: list[Row] = []
    released = 0
    for panel, rows in found.items():
        rows = sorted((row for row in rows if row["source"] in sources), key=lambda row: int(row["target_cell"]))
        worth = totals(rows, "target", "probability")
        columns = foremost(worth, MOST_ACROSS)
        released = max(released, len(worth))
        for row in rows:
            value = row["probability"]
            label = f"{value:.2f}".lstrip("0") if value >= LEAST_PROBABILITY else ""
            cell = {"panel": panel, "row": row["source"], "column": row["target"]}
            if row["target"] in columns:
                cells.append(cell | {"value": value, "label": label, "exact": f"{value:.4f}"})
    if not cells:
        named = "; ".join(map(long_name, parts)) or "nobody changes"
        raise DataError(f"nobody to show: {named}; widen where, or lower hide_below or least")
    drawn, wrap = list(dict.fromkeys(cell["panel"] for cell in cells)), None
    if chosen is not None:
        widths = [len({cell["column"] for cell in cells if cell["panel"] == panel}) for panel in drawn]
        wrap = charts.side_by_side(PAGE_WIDTH, widths, HEAT_CELL)
    domain = counts.domain
    down = JOINT.join(v.name for v in domain.variables if v.name not in parts[-1]) or "everything held"
    across = JOINT.join((*domain.x.names, domain.outcome.name))
    said = [
        f"Down: {down}, as they are. Across: {across}, as released. Each row sums to 1; a column is shown if its "
        f"probabilities sum to more than {least:g}, a number from {LEAST_PROBABILITY:g} on.",
        *([] if chosen is None else [_chosen_words(counts, chosen, len(drawn))]),
    ]
    if released > MOST_ACROSS:
        said.append(f"Of up to {released} such columns of a panel, the {MOST_ACROSS} with the largest sums.")
    if len(people) > len(sources):
        said.append(f"Of {len(people)} rows, the {len(sources)} of the most people.")
    inside = [matching(counts, part) for part in parts]
    hidden = int((np.any(inside, axis=0) & ~Discretion(counts, hide_below).cells).sum())
    if hidden:
        said.append(f"{not_shown(hidden, int(np.any(inside, axis=0).sum()), 'cells of them', hide_below)}.")
    return charts.grid(
        cells, rows=sorted(sources, key=lambda source: order[source]), across="released as", down="from",
        shades=SEQUENTIAL, title=title, subtitle=" ".join(said), wrap=wrap, cell_width=HEAT_CELL,
        description=f"{title}, for {'; '.join(drawn)}. {_strongest(cells)}", tooltip={"exact": "probability"},
    )  # fmt: skip


def _chosen_words(counts: Counts, chosen: Chosen, drawn: int) -> str:
    """Say which parts of the table were chosen, of how many."""
    by = " × ".join((*counts.domain.d.names, counts.domain.outcome.name, *chosen.held))
    which = (
        f"Shown: of {chosen.number} parts of the table (by {by}) in which people change, the {drawn} with "
        f"the most people changed"
    )
    if drawn == chosen.number:
        which = f"Shown: all {chosen.number} parts of the table (by {by}) in which people change"
    return f"{which}: {chosen.people / chosen.everybody:.0%} of all expected changes."


def _strongest(cells: Sequence[Row]) -> str:
    """Say the largest numbers of a heat map."""
    top = sorted(cells, key=lambda cell: -abs(cell["value"]))[:5]
    return "Largest: " + "; ".join(f"{c['panel']}, {c['row']}, {c['column']}: {c['exact']}" for c in top) + "."


def cohort_chart(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    groups: Sequence[Where] | None = None,
    by: Sequence[str] | None = None,
    outcome: Any = None,
    show: Literal["both", "rates", "change"] = "both",
    features: Features = "released",
    hide_below: float = FEW_PEOPLE,
    wrap: int | None = None,
    which: str = "",
    title: str = "Rates by cohort, and their change",
) -> Chart:
    """Draw the rates of each cohort x, for everybody and by group, and their change: figures 4 and 5.

    ``which`` says how the groups were chosen: those "with the most people changed".
    """
    check.one_of("show", show, ("both", "rates", "change"))
    check.one_of("features", features, ("released", "original"))
    asked = groups is not None
    if groups is None:
        groups, which = first_groups(counts, counts.groups.probability, MOST_PANELS), "that are largest"
    listed: list[Where] = [{}, *groups]
    found = cohorts(counts, kernel, listed, by=by, outcome=outcome, features=features, hide_below=hide_below)
    if not found:
        raise DataError(f"no cohort has {hide_below:g} people or more; lower hide_below")
    level = f"{problem.outcome} = {counts.domain.outcome.levels[outcome_code(counts.domain, outcome)]}"
    headings = {
        "before": f"Before: percentage with {level}",
        "change": f"Change in percentage points, by {features} features, in expectation over the draws",
    }
    every = cohorts(counts, kernel, listed, by=by, outcome=outcome, features=features, hide_below=0)
    axis = cohort_axis(counts.domain, by)
    rest = [name for name in counts.domain.x.names if name not in axis.names]
    draw = _Cohorts(axis, found, wrap, asked=asked)
    found = draw.found
    panels = {row["group"] for row in found}
    said = _cohort_groups(len(groups), len(panels) - 1, len(counts.groups.cells), which)
    if rest:
        said.append(f"Cohorts by {' × '.join(axis.names)}; averaged over {', '.join(rest)}.")
    if draw.cut_down or draw.cut_across:
        said.append(draw.cut_words)
    # Where a panel, a row or a column has nothing to show it is not there, nor what is grey in it.
    some = [row for row in every if draw.may_show(row["cell"])]
    there = [row for row in some if row["group"] in panels and draw.is_drawn(row["cell"])]
    if len(there) == len(found):
        said.append("Grey: nobody.")
    else:
        few = f"fewer than {hide_below:g} people before or after"
        said.append(f"Grey: nobody, or {few} ({len(there) - len(found)} of {len(there)} cohorts).")
    if len(there) < len(some):
        said.append(f"Not drawn at all: {len(some) - len(there)} more of so few people.")
    hidden = " ".join(said)
    good, shown_outcome = favourable_code(problem, counts.domain), outcome_code(counts.domain, outcome)
    change = DIVERGING if good is None else MORE_IS_BETTER if good == shown_outcome else MORE_IS_WORSE
    shades = {"before": SEQUENTIAL, "change": change}
    if show != "both":
        field = "before" if show == "rates" else "change"
        return draw.chart(field, headings[field], hidden, shades[field])
    above, below = (draw.chart(field, heading, "", shades[field]) for field, heading in headings.items())
    told = f"{title}. {above.description} {below.description}"
    return charts.stacked(above, below, title=title, subtitle=hidden, description=told)


def _cohort_groups(given: int, drawn: int, total: int, which: str) -> list[str]:
    """Say which groups have panels beside everybody's: all but those of which nothing is left to draw."""
    if not which or given == total:
        return [f"Of {given - drawn} of these groups nothing is left to draw."] if drawn < given else []
    if drawn == given:
        return [f"Shown: everybody, and of {total} groups the {given} {which}."]
    some = f"and {drawn} of the {given} {which}, of {total} groups" if drawn else "no group by itself"
    return [
        f"Shown: everybody, {some}: of the {'other ' * bool(drawn)}{given - drawn} {which} nothing is left to draw."
    ]


class _Cohorts:
    """Cohorts laid out: the last feature across, the others down; of too many rows or columns, those of most people."""

    def __init__(self, axis: Axis, found: Sequence[Row], wrap: int | None, *, asked: bool) -> None:
        *down, self.across = axis.variables
        self.down, self.axis = down, axis
        placed = [{"down": d, "across": a, **row} for row in found for d, a in [self.labels(row["cell"])]]
        self.people_down, self.people_across = (totals(placed, name, "people") for name in ("down", "across"))
        across = foremost(self.people_across, MOST_ACROSS)
        panels = len({row["group"] for row in found})
        # Groups that were asked for stand side by side, unless that was said as well.
        self.wrap = wrap or (panels if asked else charts.panels_within(PAGE_WIDTH, len(across)))
        # Panels that stand below one another share the height.
        most = min(MOST_DOWN, max(FEWEST_DOWN, MOST_LINES // -(-panels // self.wrap)))
        self.cut_down = set(self.people_down) - foremost(self.people_down, most)
        self.cut_across = set(self.people_across) - across
        self.found = [row for row in found if self.may_show(row["cell"])]
        left = [self.labels(row["cell"]) for row in self.found]
        self.drawn_down, self.drawn_across = {at for at, _ in left}, {at for _, at in left}

    def may_show(self, cell: int) -> bool:
        """Whether a cohort is in none of the rows and columns that are left out."""
        down, across = self.labels(cell)
        return down not in self.cut_down and across not in self.cut_across

    def is_drawn(self, cell: int) -> bool:
        """Whether the row and the column of a cohort are there."""
        down, across = self.labels(cell)
        return down in self.drawn_down and across in self.drawn_across

    @property
    def cut_words(self) -> str:
        """Say how many rows and columns are shown, of how many."""
        of = (
            ("rows", self.drawn_down, self.people_down),
            (f"levels of {self.across.name}", self.drawn_across, self.people_across),
        )
        said = [f"{len(drawn)} of {len(every)} {what}" for what, drawn, every in of if len(drawn) < len(every)]
        return f"Shown: {' and '.join(said)}, those of the most people."

    def labels(self, cell: int) -> tuple[str, str]:
        """Return the row and the column of a cohort."""
        levels = self.axis.shown(cell)
        last = levels.pop(self.across.name)
        return JOINT.join(levels.values()) or "all", last

    def columns(self, cells: Sequence[Row]) -> list[str]:
        """Return the levels across that any cohort which is shown has, in their order."""
        used = {cell["column"] for cell in cells}
        return [level for level in self.across.shown if level in used]

    def chart(self, field: str, title: str, subtitle: str, shades: Shades) -> Chart:
        """Draw the rates before, or their change."""
        signed = field == "change"
        cells = []
        for row in self.found:
            down, across = self.labels(row["cell"])
            points = round(100 * row[field])
            sign = f"{points:+d}".replace("-", "−") if points else "0"
            cells.append({
                "panel": row["group"], "row": down, "column": across, "value": row[field],
                "label": sign if signed else f"{100 * row[field]:.0f}",
                "exact": f"{row['before']:.4f} → {row['after']:.4f}", "people": f"{row['people']:,.0f}",
            })  # fmt: skip
        used = dict.fromkeys(self.labels(cell)[0] for cell in sorted({row["cell"] for row in self.found}))
        return charts.grid(
            cells, rows=list(used), columns=self.columns(cells), across=self.across.name,
            down=JOINT.join(variable.name for variable in self.down) or "cohort",
            shades=shades, title=title, subtitle=subtitle, wrap=self.wrap,
            description=f"{title}. {_strongest(cells)}", tooltip={"exact": "rate", "people": "people"},
        )  # fmt: skip


def change_chart(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    measured: Achieved,
    most: int = MOST_CHANGES,
    most_groups: int = MOST_COLUMNS,
    hide_below: float = 0,
    title: str = "Who changes, to what, how likely",
) -> Chart:
    """Draw for each group how likely a person with one level is released with another, the commonest changes first."""
    shown = Discretion(counts, hide_below)
    moves = who_changes(counts, kernel, measured).moves
    changing = [move.group for move in moves]
    kept = most_changed_groups(counts, measured.changed, most_groups, hide_below=hide_below)
    kept = [group for group in kept if group in changing]
    cells: list[Row] = []
    unseen: set[str] = set()
    for move in moves:
        if move.group not in kept:
            continue
        p, row = move.probability, f"{move.column.name}: {move.levels[0]} → {move.levels[1]}"
        if not shown.enough(move.heads):
            unseen.add(row)
            continue
        cells.append({
            "panel": "Of those who have the value, in percent", "row": row, "column": short_name(move.group),
            "value": p, "label": "<1" if p < LEAST_PROBABILITY else f"{100 * p:.0f}", "exact": f"{p:.2%}",
            "people": f"{move.people:,.1f} of {move.had:,.0f}",
        })  # fmt: skip
    if not cells:
        raise DataError("nobody changes, or nobody who may be shown with this hide_below: there is nothing to draw")
    every = list(dict.fromkeys(cell["row"] for cell in cells))
    order = every[:most]
    unseen -= set(every)
    cells = [cell for cell in cells if cell["row"] in order]
    few = f", or fewer than {hide_below:g} people have the value" if hide_below > 0 else ""
    which = f"All {len(every)}" if len(every) == len(order) else f"The {len(order)} commonest of {len(every)}"
    whose = " of these groups" if len(kept) < len(counts.groups.cells) else ""
    subtitle = " ".join((
        f"{which} changes of a column{whose}, in expectation over the draws. Grey: never{few}.",
        *[f"Not counted: {len(unseen)} from values that fewer have in every group."] * bool(unseen),
        *_left_out_groups(counts, len(kept), "most changed", hide_below),
    ))  # fmt: skip
    return charts.grid(
        cells, rows=order, columns=list(map(short_name, kept)), across=" × ".join(problem.protected),
        down="change", shades=SEQUENTIAL, title=title, subtitle=subtitle,
        description=f"{title}. {_strongest(cells)}", tooltip={"exact": "probability", "people": "people"},
        cell_width=WIDE_CELL,
    )  # fmt: skip
