"""The pictures of a mapping: rows of numbers, with the words that belong to them, as charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain
from evenhand.errors import DataError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import achieved
from evenhand.report import charts, rows
from evenhand.report.charts import DIVERGING, SEQUENTIAL, Chart
from evenhand.report.discretion import Discretion
from evenhand.spec import Problem, check

Kind = Literal["rates", "heat", "cohorts", "changes"]
Parts = rows.Where | Sequence[rows.Where]

LEAST_COLUMN = 0.05
"""A target is shown only if its probabilities sum to more: figure 3."""

LEAST_PROBABILITY = 0.005
"""A smaller probability would be written as 0, in hundredths or in percent."""

MOST_CHANGES = 16
MOST_GROUPS = 40
MOST_COLUMNS = 8
WIDE_CELL = 118
HEAT_CELL = 36

PAGE_WIDTH = 1240
"""What stands side by side on a page, in a chart's units."""


def picture(kind: Kind, problem: Problem, counts: Counts, kernel: Kernel, **options: Any) -> Chart:
    """Return one of the pictures of a mapping."""
    kinds: dict[str, Callable[..., Chart]] = {
        "rates": rate_chart,
        "heat": heat_chart,
        "cohorts": cohort_chart,
        "changes": change_chart,
    }
    check.one_of("kind", kind, tuple(kinds))
    return kinds[kind](problem, counts, kernel, **options)


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
    levels = [counts.domain.outcome.levels[y] for y in counts.domain.shown_outcomes]
    found = rows.rates(problem, counts, kernel, confidence=confidence, hide_below=hide_below)
    groups = [rows.group_words(group) for group in rows.largest_groups(counts, most_groups)]
    shown = [row for row in found if row["level"] in levels and row["group"] in groups]
    said = [f"{row['group']}: {row['before']:.1%} before, {row['after']:.1%} after" for row in shown]
    subtitle = " ".join(
        (
            _bound_words(problem),
            f"Bars: {confidence:.0%} Clopper–Pearson intervals, all at once; after, of the expected number, the "
            f"mapping held fixed.",
            *(
                ["Grey: where the rates after must lie."]
                if any(row["permitted_low"] is not None for row in shown)
                else []
            ),
            *_left_out_groups(counts, most_groups, "largest", hide_below),
        )
    )
    return charts.rates(
        shown, outcome=problem.outcome, title=title, subtitle=subtitle, description=f"{title}. {'; '.join(said)}."
    )


def _bound_words(problem: Problem) -> str:
    bound = "; ".join(parity.words for parity in problem.parity)
    return f"Bound: {bound}." if bound else "No parity bound."


def _left_out_groups(counts: Counts, most: int, which: str, hide_below: float) -> list[str]:
    """Say how many groups are left out, and why."""
    total = len(counts.groups.cells)
    few = int((~Discretion(counts, hide_below).groups).sum())
    said = [f"Shown: the {most} {which} of {total} groups."] if total > most else []
    if few:
        said.append(f"{few} of {total} groups {'has' if few == 1 else 'have'} fewer than {hide_below:g} people and "
                    f"{'is' if few == 1 else 'are'} not shown; the bounds hold for them too.")  # fmt: skip
    return said


def heat_chart(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    where: Parts | None = None,
    least: float = LEAST_COLUMN,
    hide_below: float = 0,
    title: str = "Who becomes what: the conditional mapping",
) -> Chart:
    """Draw P(x̂, ŷ | d, x, y) for parts of the table, a panel each: figure 3. Those with the most people changed."""
    chosen = None
    if where is None:
        changed = achieved(problem, counts, kernel).changed
        chosen = rows.most_changed(counts, kernel, changed, hide_below=hide_below)
    parts = _parts(where) if chosen is None else chosen.parts
    cells: list[rows.Row] = []
    order: dict[str, tuple[int, ...]] = {}
    for part in parts:
        found = rows.moves(counts, kernel, part, least=least, hide_below=hide_below)
        order |= {row["source"]: row["source_cell"] for row in found}
        cells += [_heat_cell(row, part) for row in sorted(found, key=lambda row: int(row["target_cell"]))]
    if not cells:
        words = "; ".join(map(rows.where_words, parts))
        raise DataError(f"nobody to show: {words or 'nobody changes'}")
    drawn = list(dict.fromkeys(cell["panel"] for cell in cells))
    hidden = sum(int((rows.matching(counts, part) & (counts.weight < hide_below)).sum()) for part in parts)
    subtitle = (_heat_words(counts, parts, least), *_chosen_words(counts, chosen), *_few_cells(hidden, hide_below))
    return charts.grid(
        cells, rows=sorted(order, key=lambda source: order[source]), across="released as", down="from",
        shades=SEQUENTIAL, title=title, subtitle=" ".join(subtitle),
        wrap=None if chosen is None else _across(cells, drawn), cell_width=HEAT_CELL,
        description=f"{title}, for {'; '.join(drawn)}. {_strongest(cells)}", tooltip={"exact": "probability"},
    )  # fmt: skip


def _parts(where: Parts | None) -> list[rows.Where]:
    """Return the parts of the table that were asked for."""
    if where is None:
        return []
    return [where] if isinstance(where, Mapping) else list(where)


def _across(cells: Sequence[rows.Row], panels: Sequence[str]) -> int:
    """Return how many panels stand side by side on a page."""
    widths = [len({cell["column"] for cell in cells if cell["panel"] == panel}) for panel in panels]
    return charts.side_by_side(PAGE_WIDTH, widths, HEAT_CELL)


def _heat_words(counts: Counts, parts: Sequence[rows.Where], least: float) -> str:
    down = rows.JOINT.join(rows.open_columns(counts, parts[-1])) or "everything held"
    return (
        f"Down: {down}, as they are. Across: {_targets(counts.domain)}, as released. Each row sums to 1; a column is "
        f"shown if its probabilities sum to more than {least:g}, a number from {LEAST_PROBABILITY:g} on."
    )


def _chosen_words(counts: Counts, chosen: rows.Chosen | None) -> list[str]:
    """Say which parts of the table were chosen, of how many."""
    if chosen is None:
        return []
    by = " × ".join((*counts.domain.d.names, counts.domain.outcome.name, *chosen.held))
    share = chosen.people / chosen.everybody
    if len(chosen.parts) == chosen.number:
        which = f"Shown: all {chosen.number} parts of the table (by {by}) in which people change"
    else:
        which = (
            f"Shown: of {chosen.number} parts of the table (by {by}) in which people change, the {len(chosen.parts)} "
            f"with the most people changed"
        )
    return [f"{which}: {share:.0%} of all expected changes."]


def _few_cells(hidden: int, hide_below: float) -> list[str]:
    if not hidden:
        return []
    return [f"Left out of them: {hidden} cell{'s' * (hidden != 1)} of fewer than {hide_below:g} people."]


def _targets(domain: Domain) -> str:
    return rows.JOINT.join((*domain.x.names, domain.outcome.name))


def _heat_cell(row: rows.Row, part: rows.Where) -> rows.Row:
    value = row["probability"]
    return {
        "panel": rows.where_words(part), "row": row["source"], "column": row["target"], "value": value,
        "label": f"{value:.2f}".lstrip("0") if value >= LEAST_PROBABILITY else "",
        "exact": f"{value:.4f}",
    }  # fmt: skip


def _strongest(cells: Sequence[rows.Row], most: int = 5) -> str:
    """Say the largest numbers of a heat map."""
    top = sorted(cells, key=lambda cell: -abs(cell["value"]))[:most]
    return "Largest: " + "; ".join(f"{c['panel']}, {c['row']}, {c['column']}: {c['exact']}" for c in top) + "."


def cohort_chart(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    groups: Sequence[rows.Where] | None = None,
    by: Sequence[str] | None = None,
    outcome: Any = None,
    show: Literal["both", "rates", "change"] = "both",
    features: rows.Features = "released",
    hide_below: float = FEW_PEOPLE,
    wrap: int | None = None,
    note: str = "",
    title: str = "Rates by cohort, and their change",
) -> Chart:
    """Draw the rates of each cohort x, for everybody and by group, and their change: figures 4 and 5.

    ``note`` is said below the title: how the groups were chosen.
    """
    check.one_of("show", show, ("both", "rates", "change"))
    check.one_of("features", features, ("released", "original"))
    listed = [{}, *(rows.every_group(counts) if groups is None else groups)]
    found = rows.cohorts(counts, kernel, listed, by=by, outcome=outcome, features=features, hide_below=hide_below)
    if not found:
        raise DataError(f"no cohort has {hide_below:g} people or more; lower hide_below")
    level = f"{problem.outcome} = {counts.domain.outcome.levels[rows.outcome_code(counts.domain, outcome)]}"
    headings = {
        "before": f"Before: percentage with {level}",
        "change": f"Change in percentage points, by {features} features, in expectation over the draws",
    }
    every = rows.cohorts(counts, kernel, listed, by=by, outcome=outcome, features=features, hide_below=0)
    axis = rows.cohort_axis(counts.domain, by)
    empty = len({row["group"] for row in every} - {row["group"] for row in found})
    said = (note, _averaged(counts, axis), *_hidden_cohorts(len(every), len(found), empty, hide_below))
    hidden = " ".join(filter(None, said))
    draw = _Cohorts(axis, found, wrap)
    if show != "both":
        field = "before" if show == "rates" else "change"
        return draw.chart(field, headings[field], hidden)
    above, below = (draw.chart(field, heading, "") for field, heading in headings.items())
    told = f"{title}. {above.description} {below.description}"
    return charts.stacked(above, below, title=title, subtitle=hidden, description=told)


def _averaged(counts: Counts, axis: Axis) -> str:
    """Name the features that cohorts are not told apart by."""
    rest = [name for name in counts.domain.x.names if name not in axis.names]
    return f"Cohorts by {' × '.join(axis.names)}; averaged over {', '.join(rest)}." if rest else ""


def _hidden_cohorts(every: int, shown: int, empty: int, hide_below: float) -> list[str]:
    """Say how many cohorts, and groups without any other, are left out."""
    if every == shown:
        return ["Grey: nobody."]
    few = f"fewer than {hide_below:g} people before or after"
    said = [f"Grey: nobody, or {few} ({every - shown} of {every} cohorts)."]
    if empty:
        said.append(f"Of {empty} of these groups nothing is left to draw.")
    return said


class _Cohorts:
    """Cohorts laid out: the last feature across, the others down."""

    def __init__(self, axis: Axis, found: Sequence[rows.Row], wrap: int | None) -> None:
        *down, self.across = axis.variables
        self.down, self.axis, self.found, self.wrap = down, axis, found, wrap

    def labels(self, cell: int) -> tuple[str, str]:
        """Return the row and the column of a cohort."""
        levels = self.axis.labels(cell)
        last = levels.pop(self.across.name)
        return rows.JOINT.join(map(str, levels.values())) or "all", str(last)

    def columns(self, cells: Sequence[rows.Row]) -> list[str]:
        """Return the levels across that any cohort which is shown has, in their order."""
        used = {cell["column"] for cell in cells}
        return [str(level) for level in self.across.levels if str(level) in used]

    def chart(self, field: str, title: str, subtitle: str) -> Chart:
        """Draw the rates before, or their change."""
        signed = field == "change"
        cells = []
        for row in self.found:
            down, across = self.labels(row["cell"])
            cells.append({
                "panel": row["group"], "row": down, "column": across, "value": row[field],
                "label": _signed(row[field]) if signed else f"{100 * row[field]:.0f}",
                "exact": f"{row['before']:.4f} → {row['after']:.4f}", "people": f"{row['people']:,.0f}",
            })  # fmt: skip
        used = dict.fromkeys(self.labels(cell)[0] for cell in sorted({row["cell"] for row in self.found}))
        return charts.grid(
            cells, rows=list(used), columns=self.columns(cells), across=self.across.name,
            down=rows.JOINT.join(variable.name for variable in self.down) or "cohort",
            shades=DIVERGING if signed else SEQUENTIAL, title=title, subtitle=subtitle, wrap=self.wrap,
            description=f"{title}. {_strongest(cells)}", tooltip={"exact": "rate", "people": "people"},
        )  # fmt: skip


def _signed(change: float) -> str:
    points = round(100 * change)
    return "0" if points == 0 else f"{points:+d}".replace("-", "−")


def change_chart(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    most: int = MOST_CHANGES,
    most_groups: int = MOST_COLUMNS,
    hide_below: float = 0,
    title: str = "Who changes, to what, how likely",
) -> Chart:
    """Draw for each group how likely a person with one level is released with another, the commonest changes first."""
    changed = achieved(problem, counts, kernel).changed
    groups = [
        rows.group_words(group)
        for group in rows.most_changed_groups(counts, changed, most_groups, hide_below=hide_below)
    ]
    found = [row for row in rows.changes(counts, kernel) if row["had"] >= hide_below and row["group"] in groups]
    if not found:
        raise DataError("nobody changes, so there is nothing to draw")
    cells = [_change_cell(row) for row in found]
    every = list(dict.fromkeys(cell["row"] for cell in cells))
    order = every[:most]
    cells = [cell for cell in cells if cell["row"] in order]
    used = {cell["column"] for cell in cells}
    few = f", or fewer than {hide_below:g} people have the value" if hide_below > 0 else ""
    which = (
        f"All {len(every)} changes"
        if len(every) == len(order)
        else f"The {len(order)} commonest of {len(every)} changes"
    )
    subtitle = " ".join(
        (
            f"{which} of a column, in expectation over the draws. Grey: never{few}.",
            *_left_out_groups(counts, most_groups, "most changed", hide_below),
        )
    )
    return charts.grid(
        cells, rows=order, columns=[group for group in groups if group in used], across=" × ".join(problem.protected),
        down="change", shades=SEQUENTIAL, title=title, subtitle=subtitle,
        description=f"{title}. {_strongest(cells)}", tooltip={"exact": "probability", "people": "people"},
        cell_width=WIDE_CELL,
    )  # fmt: skip


def _change_cell(row: rows.Row) -> rows.Row:
    return {
        "panel": "Of those who have the value, in percent",
        "row": f"{row['column']}: {row['change']}",
        "column": row["group"],
        "value": row["probability"],
        "label": _percent(row["probability"]),
        "exact": f"{row['probability']:.2%}",
        "people": f"{row['people']:,.1f} of {row['had']:,.0f}",
    }


def _percent(value: float) -> str:
    return "<1" if value < LEAST_PROBABILITY else f"{100 * value:.0f}"
