"""What holds and what it costs, for a summary: bounds, scores of models, prices.

Comparisons, groups and cells of few people are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, quotient, sums
from evenhand.data.counts import Counts
from evenhand.findings.audit import Audit
from evenhand.findings.bounds import (
    Constraint,
    budget_found,
    constraints,
    furthest,
    said_bound,
)
from evenhand.findings.cells import told_outcome
from evenhand.findings.discretion import Discretion, discreet
from evenhand.findings.document import Json
from evenhand.findings.driving import drivers, room
from evenhand.findings.models import EXPANDED, predicted_scores
from evenhand.findings.naming import group_levels, group_names, holder_names
from evenhand.findings.prices import Prices
from evenhand.kernel import Kernel, unchanged
from evenhand.kernel.achieved import Achieved
from evenhand.render.numbers import people as expected_people
from evenhand.render.section import Note
from evenhand.render.sentences import sentence
from evenhand.spec import Problem
from evenhand.spec.distance import Difference, Ratio
from evenhand.tables import own_name
from evenhand.tolerances import AT_BOUND, ROUNDING

if TYPE_CHECKING:
    import pandas as pd

LISTED = 12
"""How many comparisons of a parity constraint, and how many prices, are listed."""

FREE = "No bound costs anything here: nobody is changed for one."

FREE_OF_FEATURES = (
    "No bound costs anything here: nobody's features are changed for one, and the outcome is drawn anew for everybody "
    "whatever is bounded."
)

NO_PRICE = "Every price is zero: whichever bound is relaxed, no less is lost."

NOT_PARITY = "No parity bound has a price here: relaxing one a little would save nothing of what is lost."

UNKNOWN = "What the bounds cost is not known: a distance or measure of one's own has no prices."

FEWER = 0.8
"""A point of the frontier is told where at most this share of the people change."""

TOO_FEW = "The level is set by a group that is not shown."


@dataclass(frozen=True, eq=False)
class Mapped:
    """A mapping as its report sees it: what was asked, of which table, by which kernel, and what that achieves."""

    problem: Problem
    counts: Counts
    kernel: Kernel
    achieved: Achieved


def bounds(m: Mapped, shown: Discretion) -> tuple[Json, list[str]]:
    """Return every constraint with how many comparisons it makes, how many at their bound, and the tightest shown.

    Two groups that are compared in both orders are one comparison; the tightest are listed by order. And say of each
    parity constraint how far apart rates are at worst, before and after, among those shown.
    """
    parity, headlines = [], []
    for constraint in constraints(m.counts, m.achieved.parity):
        kept = np.flatnonzero(shown.comparisons(constraint.after, m.kernel))
        parity.append(_parity(constraint, kept))
        headline, number = constraint.headline(kept), constraint.after.compared.number_of()
        said = None if headline is None else sentence(headline)
        if left := number - constraint.after.compared.number_of(kept):
            which = f"{left} of {number}" if said else f"all {left}"
            hidden = f"{which} comparisons have a group in them that is not shown; the bounds hold there too"
            said = f"{said}; {hidden}" if said else hidden
        headlines += [said] if said else []
    return {"parity": parity, "budgets": [asdict(budget_found(part)) for part in m.achieved.budgets]}, headlines


def _parity(constraint: Constraint, kept: Cells) -> Json:
    part, ends = constraint.after, constraint.range or (None, None)
    before, after = (furthest(of, kept) for of in (constraint.before, part))
    return {
        "constraint": type(part.parity).__name__,
        "words": part.parity.words,
        "comparisons": part.compared.number_of(),
        "comparisons_hidden": part.compared.number_of() - part.compared.number_of(kept),
        "at_bound": part.compared.number_of(part.excess >= -AT_BOUND),
        "smallest_bound": ends[0],
        "largest_bound": ends[1],
        "said": before and after and {"before": before.said, "after": after.said, "bound": constraint.said_bound},
        "furthest_before": before and asdict(before),
        "furthest_after": after and asdict(after),
        "rows": [
            {
                "where": part.compared.words(int(at)),
                "bound": float(part.compared.bound[at]),
                "achieved": float(part.value[at]),
                "said_bound": said_bound(part.parity, float(part.compared.bound[at])),
                "said": part.parity.distance.said(float(part.rate[at]), float(part.other[at])),
            }
            for at in kept[np.argsort(-part.excess[kept], kind="stable")][:LISTED]
        ],
    }


def scores(problem: Problem, audit: Audit, shown: Discretion) -> list[Json]:
    """Return the mean scores that eqs. (8) and (9) predict of models that see the protected columns or do not."""
    return _by_group(problem, audit.scores, ("seeing_protected", "not_seeing_protected"), shown.counts, shown.groups)


def decisions(m: Mapped, shown: Discretion, released: tuple[str, Counts] | None = None) -> Json:
    """Return what a plain model decides before and after: the shares of each group for whom an outcome is likeliest.

    The model is the table of shares that everybody's features show, of the table as it is and of what is released: of
    one file, given its name and counts, else of the expanded table. It sees the protected columns or does not. No bound
    covers it.
    """
    told = told_outcome(m.problem, m.counts)
    learned_from, counted = (EXPANDED, None) if released is None else released
    found = {
        (sees, when): predicted_scores(m.problem, m.counts, kernel, protected=sees, decided=True, released=of)[:, told]
        for sees in (False, True)
        for when, kernel, of in (("before", unchanged(m.counts), None), ("after", m.kernel, counted))
    }
    names = {False: "not_seeing", True: "seeing"}
    rows: list[Json] = [
        {
            "group": levels,
            **{
                f"{name}_protected_{when}": float(found[sees, when][i])
                for sees, name in names.items()
                for when in ("before", "after")
            },
        }
        for i, levels in enumerate(group_levels(m.counts))
        if shown.groups[i]
    ]
    apart = {
        f"{name}_protected": {when: spread(found[sees, when][shown.groups]) for when in ("before", "after")}
        for sees, name in names.items()
    }
    return {"outcome": m.counts.domain.y.words(told), "learned_from": learned_from, "rows": rows, "apart": apart}


def spread(rates: Numbers) -> Json | None:
    """Return how far apart the lowest and the highest of some rates are: as a factor, in points, and in words.

    Examples
    --------
    >>> spread(np.array([0.2, 0.5]))
    {'low': 0.2, 'high': 0.5, 'times': '2.5 times', 'points': '30.0 points'}
    """
    if not len(rates):
        return None
    low, high = float(rates.min()), float(rates.max())
    said = {"times": Ratio().said(high, low), "points": Difference().said(high, low)}
    return {"low": low, "high": high, **said}


def model_rates(
    problem: Problem,
    table: pd.DataFrame,
    people: Numbers,
    words: str,
    shown: Discretion,
    *,
    sees_protected: bool,
    learned_from: str,
) -> Json:
    """Return the rates of a model that learned from a table as it is, and from what is released of it.

    ``people`` is how many people of that table each fitted group has.
    """
    names = ("released", "predicted", "score", "decision", "score_before", "decision_before")
    rows = _by_group(problem, table, names, shown.counts, shown.groups_of(people))
    level = shown.counts.domain.outcome.levels[told_outcome(problem, shown.counts)]
    told = [row for row in rows if row["outcome"] == level]
    fields = {"before": "decision_before", "after": "decision"}
    apart = {when: spread(np.array([row[field] for row in told])) for when, field in fields.items()}
    return {
        "model": words,
        "learned_from": learned_from,
        "sees_protected": sees_protected,
        "rows": rows,
        "apart": apart,
    }


def _by_group(problem: Problem, table: pd.DataFrame, names: Sequence[str], counts: Counts, shown: Flags) -> list[Json]:
    """Return a table of groups and outcomes as rows, those of hidden groups left out."""
    levels = zip(group_levels(counts), shown, strict=True)
    outcome, *protected = (own_name(table, column) for column in (problem.outcome, *counts.domain.d.names))
    kept = {tuple(group.values()) for group, is_shown in levels if is_shown}
    return [
        {
            "group": {column: row[own] for column, own in zip(counts.domain.d.names, protected, strict=True)},
            "outcome": row[outcome],
            **{name: row[name] for name in names},
        }
        for row in table.to_dict("records")
        if tuple(row[own] for own in protected) in kept
    ]


def cost(m: Mapped, found: Prices | None, objective: float, frontier: Json, shown: Discretion) -> Json:
    """Say in a sentence for each constraint what drives the cost, and what a little more room would save."""
    if found is None:
        return {"drivers": [], "words": ["This problem has no convex optimum, and so no prices that would tell."]}
    compared = constraints(m.counts, m.achieved.parity)
    named = list(drivers(m.counts, compared, found))
    said = [sentence(driver.note) if shown.may_name(driver.about) else TOO_FEW for driver in named]
    if not said:
        unknown = any(np.isnan(price).any() for price in (*found.comparisons, *found.cells))
        said = [UNKNOWN if unknown else _without_price(m, objective, frontier)]
    said += map(sentence, room(found, compared, m.achieved.budgets, objective).notes())
    return {"drivers": [asdict(driver) for driver in named if shown.may_name(driver.about)], "words": said}


def frontier(m: Mapped, found: Json, shown: Discretion) -> Json:
    """Return the trade-off; where people too few to be shown set the upper end, up to where the others set it."""
    told = {name: value for name, value in found.items() if name != "notes"}
    told["words"] = " ".join(discreet(found["notes"], shown))
    chosen = found["chosen"]
    if chosen is None:
        return told
    column = "bound" if "bound" in chosen else "bound_factor"
    of_shown, of_hidden = _needed(m, shown, factor=column == "bound_factor")
    if of_hidden <= of_shown:
        return told
    # From the bound at which nobody need change, a rate of theirs could be worked out.
    edges = {name: value if value <= of_shown else None for name, value in (found["edges"] or {}).items()}
    said = {name: words for name, words in (found["edges_said"] or {}).items() if edges[name] is not None}
    return told | {
        "words": f"{told['words']} Looser bounds than those of groups that may be shown are left out.".strip(),
        "points": [row for row in found["points"] if row[column] <= of_shown or row[column] == chosen[column]],
        "edges": edges or None,
        "edges_said": dict.fromkeys(edges) | said or None,
    }


def _needed(m: Mapped, shown: Discretion, *, factor: bool) -> tuple[float, float]:
    """Return which bound, or factor on the bounds, leaves everybody as they are: for those shown, and the others."""
    most = {True: 0.0, False: 0.0}
    for part in constraints(m.counts, m.achieved.parity):
        needed = quotient(part.before.value, part.after.compared.bound) if factor else part.before.value
        kept = shown.comparisons(part.after, m.kernel)
        for which in most:
            most[which] = max(most[which], float(np.max(needed[kept == which], initial=0.0)))
    return most[True], most[False]


def bounded_on(problem: Problem) -> list[tuple[str, ...]]:
    """Return the protected columns that the groups of each bound are formed by; all of them where there is none."""
    every = dict.fromkeys(tuple(part.on or problem.protected) for part in problem.parity)
    return list(every) or [tuple(problem.protected)]


def in_combination(m: Mapped, shown: Discretion) -> list[Note]:
    """Return how far apart the groups are that all protected columns form, where bounds are on some of these alone."""
    on = bounded_on(m.problem)
    if any(set(columns) == set(m.problem.protected) for columns in on) or shown.groups.sum() < 2:
        return []
    told = told_outcome(m.problem, m.counts)
    rates = (of[shown.groups, told] for of in (m.achieved.rates_before, m.achieved.rates_after))
    before, after = (Ratio().said(float(each.max()), float(each.min())) for each in rates)
    level = m.counts.domain.y.words(told)
    bounded = {column for columns in on for column in columns}
    alone = [Note("caveat.no_bound_on", {"column": name}) for name in m.problem.protected if name not in bounded]
    fields = {
        "on": [" × ".join(columns) for columns in on], "together": " × ".join(m.problem.protected), "outcome": level,
        "before": before, "after": after,
    }  # fmt: skip
    return [*alone, Note("caveat.together", fields)]


def _without_price(m: Mapped, objective: float, frontier: Json) -> str:
    """Say what bounds cost whose prices are zero: changes of people, by which no utility is lost."""
    if objective > ROUNDING:
        return NOT_PARITY
    # Where D is suppressed everybody's outcome is drawn anew, whatever is bounded.
    suppressed = m.problem.suppression.redraws
    changed = m.achieved.features_changed if suppressed else m.achieved.changed
    share = float(m.counts.probability @ changed)
    if share <= ROUNDING:
        return FREE_OF_FEATURES if suppressed else FREE
    everybody = float(m.counts.weight.sum())
    number = f"{expected_people(share * everybody)} {m.counts.unit}{' in their features' * suppressed}"
    said = f"No utility is lost; what the bounds cost is changes, of {number}"
    spared = _spared(frontier, share)
    if spared is None:
        return f"{said}."
    looser = f"a bound of {spared['said']}" if "bound" in spared else f"all bounds {spared['said']}"
    fewer = spared["changed"] * everybody
    return f"{said}; with {looser} it would be {expected_people(fewer) if fewer >= 1 else 'nearly nobody'}."


def _spared(frontier: Json, share: float) -> Json | None:
    """Return the nearest looser point of the frontier at which clearly fewer people change."""
    chosen = frontier["chosen"] or {}
    column = "bound" if "bound" in chosen else "bound_factor"
    looser = [row for row in frontier["points"] if row[column] > chosen[column] and row["changed"] is not None]
    return min(
        (row for row in looser if row["changed"] <= FEWER * share), key=lambda row: float(row[column]), default=None
    )


def prices(m: Mapped, found: Prices, shown: Discretion) -> Json:
    """Return what relaxing each bound would gain: totals, by outcome, pair and group, and by cell."""
    wide = found.frame[(found.frame["level"] != "cell") & ~(found.frame["price"] <= ROUNDING)]
    names = group_names(m.counts)
    hidden_places = {("group", names[i]) for i in np.flatnonzero(~shown.groups)}
    for part in m.achieved.parity:
        for at in np.flatnonzero(~shown.comparisons(part, m.kernel)):
            hidden_places.add(("pair", part.compared.words(int(at))))
    listed = [row for row in wide.to_dict("records") if (row["level"], row["where"]) not in hidden_places]
    cells: list[Json] = []
    hidden = 0
    for charge, price in zip(m.problem.charges, found.cells, strict=True):
        costly = np.nan_to_num(price) > ROUNDING
        holders = charge.holders(m.counts)
        weight = sums(holders, m.counts.weight)
        enough = np.flatnonzero(costly & (shown.parts(sums(holders, shown.people)) if charge.averaged else shown.cells))
        hidden += int(costly.sum()) - len(enough)
        for at, where in zip(enough, holder_names(m.counts, charge, enough), strict=True):
            row = {"constraint": charge.words, "where": where, "weight": float(weight[at]), "price": float(price[at])}
            cells.append(row)
    cells.sort(key=lambda row: -row["price"])
    return {
        "rows": listed,
        "rows_hidden": len(wide) - len(listed),
        "cells": cells[:LISTED],
        "cells_hidden": hidden,
        "words": "" if len(wide) or cells or hidden else NO_PRICE,
    }
