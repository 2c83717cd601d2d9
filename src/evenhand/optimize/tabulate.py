"""A user's functions become tables: on the domain of a table, once, before a fit.

A distortion function is called for every move that the rules leave; a classifier for every combination of features; a
distance becomes lines. What a mapping file keeps are the tables, so that reading it runs no code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.errors import DataError, EvenhandError, SpecError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import parity_achieved
from evenhand.kernel.draws import DRAW_BITS
from evenhand.optimize.compile import moves_of_records, refuse_beyond_memory
from evenhand.resources import BLOCK, heed
from evenhand.spec import (
    Conditional,
    CostTable,
    NumberedColumn,
    Parity,
    Problem,
    comparisons,
)
from evenhand.tables import conditional_rows, frame, values

POINTS, STRIDE = 61, 17
"""At how many points a model is asked where levels stand for several values, and how those of columns are paired."""


def tabulated(problem: Problem, counts: Counts) -> Problem:
    """Return the problem with every callable replaced by its table on the counts' domain."""
    problem.utility.check(counts.over(problem.suppression.utility_axes).probability)
    _check_parity(problem, counts)
    # Whatever is solved is tabulated first: here is where all that does not fit is refused.
    refuse_beyond_memory(problem, counts)
    changes: dict[str, Any] = {}
    if problem.distortion.table is not None:
        _check_table(problem.distortion.table, counts)
    elif problem.distortion.function is not None:
        changes["distortion"] = replace(problem.distortion, function=_cost_table(problem, counts))
    if problem.conditional is not None:
        changes["conditional"] = _conditional(problem, counts)
    if any(parity.distance.holds_functions for parity in problem.parity):
        changes["parity"] = [_by_lines(parity, counts) for parity in problem.parity]
    return replace(problem, **changes) if changes else problem


def _by_lines(parity: Parity, counts: Counts) -> Parity:
    """Return a constraint whose distance holds no function."""
    if not parity.distance.holds_functions:
        return parity
    part = comparisons(parity, counts)
    targets = part.target.tolist() if part.against_target else None
    return parity.with_distance(parity.distance.tabulated(part.bound.tolist(), targets))


def _check_parity(problem: Problem, counts: Counts) -> None:
    """Refuse a constraint that would bound nothing in this table."""
    for parity in problem.parity:
        part = comparisons(parity, counts)
        if not len(part):
            from evenhand.render.sentences import sentence

            reasons = "; ".join(map(sentence, part.left_out))
            raise DataError(f"{type(parity).__name__} bounds nothing in this table: {reasons}")
        if not problem.observed_only and parity.released and part.segments is not None:
            seen = np.unique(counts.domain.x.cells_of(part.segments, counts.features.cells))
            empty = np.setdiff1d(np.arange(part.segments.size), seen)
            if len(empty):
                # No rate is bounded where nobody is, so that people could be moved out of reach.
                raise DataError(
                    f'targets="all" could release people into the segment {part.segments.words(int(empty[0]))}, where '
                    f"nobody is in this table and {type(parity).__name__} bounds nothing; write "
                    f'targets="observed", or give fewer columns'
                )


def _cost_table(problem: Problem, counts: Counts) -> CostTable:
    """Call the distortion function for every move that rules and targets leave."""
    function: Any = problem.distortion.function
    name = getattr(function, "__name__", "a user's function")
    # The rules alone say which moves there are, and columns without one are free.
    rules = replace(problem.distortion, function=CostTable([0], [0], [0.0]))
    record, target = moves_of_records(replace(problem, distortion=rules), counts)
    origin = counts.records.cells[record]
    parts = []
    # In blocks, for nothing else can stop a function that takes its time.
    for first in range(0, len(origin), BLOCK):
        heed()
        some = slice(first, first + BLOCK)
        before, after = _columns(counts, origin[some]), _columns(counts, target[some])
        try:
            found = function(before, after)
        except Exception as error:
            raise SpecError(
                f"{name} failed on {len(origin):,} moves of the columns {list(before)}: {type(error).__name__}: "
                f"{error}; it is called as {name}(before, after), with an array for each column"
            ) from error
        parts.append(_checked(name, found, origin[some], target[some], counts))
    heed()
    cost = np.concatenate(parts)
    kept = np.isfinite(cost)
    order = np.lexsort((target[kept], origin[kept]))
    heed()
    return CostTable(origin[kept][order], target[kept][order], cost[kept][order], name, _levels(counts))


def _check_table(table: CostTable, counts: Counts) -> None:
    """Refuse a table that was made on other columns or levels: its cells would mean something else here."""
    advice = "give the distortion its function again"
    for column, own in zip(table.columns, _levels(counts), strict=False):
        if column != own:
            raise DataError(
                f"the costs of {table.name} were tabulated for column {column.name!r} with the levels "
                f"{list(column.levels)}, but here it is {own.name!r} with {list(own.levels)}; {advice}"
            )
    cells, size = counts.records.cells, counts.domain.x.size * counts.domain.y.size
    if table.last >= size or not np.all(np.isfinite(table.between(cells, cells, size))):
        raise DataError(
            f"the costs of {table.name} were tabulated on another table: some of this table's combinations of features "
            f"and outcome are not in them; {advice}"
        )


def _levels(counts: Counts) -> list[NumberedColumn]:
    return [NumberedColumn(v.name, v.levels) for v in (*counts.domain.x.variables, counts.domain.outcome)]


def _columns(counts: Counts, cells: Cells) -> dict[str, Any]:
    x, y = counts.domain.split_xy(cells)
    return {**_values(counts.domain.x, x), **_values(counts.domain.y, y)}


def _values(axis: Axis, cells: Cells) -> dict[str, Any]:
    codes = axis.unravel(cells)
    return {v.name: np.array(v.levels)[code] for v, code in zip(axis.variables, codes, strict=True)}


def _checked(name: str, found: Any, origin: Cells, target: Cells, counts: Counts) -> Numbers:
    """Return a function's costs, or say what is wrong with them and where."""

    def move(at: int) -> str:
        a, b = ({k: v[at] for k, v in _columns(counts, cells).items()} for cells in (origin, target))
        return f"{_words(a)} → {_words(b)}"

    try:
        cost = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        raise SpecError(f"{name} must return an array of numbers, not {type(found).__name__}") from None
    if cost.shape != origin.shape:
        raise SpecError(
            f"{name} must return one cost per move: {origin.shape} of them, not an array of shape {cost.shape}"
        )
    for wrong, what in ((np.isnan(cost), "NaN"), (cost < 0, "a negative cost")):
        if wrong.any():
            raise SpecError(f"{name} returned {what} for the move {move(int(np.flatnonzero(wrong)[0]))}")
    stays = (origin == target) & (cost != 0)
    if stays.any():
        at = int(np.flatnonzero(stays)[0])
        raise SpecError(f"{name} returned {cost[at]:g} for staying at {move(at).split(' → ')[0]}; staying must cost 0")
    return cost


def _words(values: dict[str, Any]) -> str:
    return "(" + ", ".join(f"{name}={value}" for name, value in values.items()) + ")"


def _conditional(problem: Problem, counts: Counts) -> Conditional:
    given = problem.conditional
    if isinstance(given, Conditional):
        given.at(counts.domain, counts.features.cells)
        return given
    if not hasattr(given, "predict_proba"):
        rows, levels = _rows(problem, counts, given), counts.domain.outcome.levels
        for shares in rows.values():
            lacking = [level for level in levels if level not in shares]
            if len(levels) == 2 and len(shares) == len(lacking) == 1:
                # Of two outcomes, one probability gives the other.
                shares[lacking[0]] = 1 - sum(shares.values())
        found = Conditional(rows)
        found.at(counts.domain, counts.features.cells)
        return found
    return _asked(problem, counts, given)


def _rows(problem: Problem, counts: Counts, given: Any) -> Any:
    try:
        return conditional_rows(problem, counts.domain, given)
    except EvenhandError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"the conditional's column 'probability' must hold numbers: {error}") from None


def _asked(problem: Problem, counts: Counts, model: Any) -> Conditional:
    """Ask a classifier for its probabilities at every combination of features.

    It is handed values as the table has them. Where levels stand for several of those, it is asked at many points of
    each combination, and the mean is taken: what people who are moved there are scored, one with another.
    """
    names = list(counts.domain.x.names)
    wanted = [str(name) for name in getattr(model, "feature_names_in_", names)]
    lacking = [name for name in wanted if name not in names]
    if lacking:
        raise DataError(
            f"the classifier reads {lacking}, which are not features of the problem ({names}); it must take "
            f"those as they are: put encoder and model into one pipeline. A model that reads protected columns cannot "
            f"be shielded"
        )
    try:
        asked = [model.predict_proba(frame(each)[wanted]) for each in _points(counts)]
        shares = np.mean(np.asarray(asked, dtype=float), axis=0)
    except Exception as error:
        raise DataError(
            f"the classifier's predict_proba failed on the columns {wanted}: {type(error).__name__}: {error}; it must "
            f"be fitted, and read the features as they are in the table"
        ) from error
    classes = [getattr(c, "item", lambda c=c: c)() for c in getattr(model, "classes_", [])]
    levels = list(counts.domain.outcome.levels)
    if set(classes) != set(levels):
        raise DataError(f"the classifier's classes are {classes}, the levels of {problem.outcome!r} are {levels}")
    shape = len(counts.features.cells), len(classes)
    if shares.shape != shape:
        raise DataError(
            f"the classifier's predict_proba must give one row per combination of features and one column per class: "
            f"{shape}, not {shares.shape}"
        )
    cells = [tuple(counts.domain.x.labels(int(cell)).values()) for cell in counts.features.cells]
    rows = [dict(zip(classes, row / row.sum(), strict=True)) for row in shares]
    return Conditional(dict(zip(cells, rows, strict=True)))


def _points(counts: Counts) -> Iterator[dict[str, Any]]:
    """Yield the values of every combination of features: once, or at each point of those with several values.

    The points of a column are evenly spaced over the values that its levels had. Whole multiples modulo a prime pair
    those of several columns: each meets every one of its points once, and no two columns go together.
    """
    axis = counts.domain.x
    several = [variable.name for variable in axis.variables if variable.coding is not None]
    for point in range(POINTS if several else 1):
        place = {name: point * STRIDE**order % POINTS for order, name in enumerate(several)}
        draws = {name: (2 * at + 1) * 2**DRAW_BITS // (2 * POINTS) for name, at in place.items()}
        yield values(axis, counts.features.cells, draws)


def refuse_unmet(problem: Problem, counts: Counts, kernel: Kernel) -> None:
    """Refuse a kernel that exceeds a user's own J, although it meets the lines that J became."""
    for parity in problem.parity:
        if parity.distance.holds_functions:
            found = parity_achieved(comparisons(parity, counts), counts, kernel)
            parity.distance.refuse_unmet(found.rate, found.other, found.compared.bound)
