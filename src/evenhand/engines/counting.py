"""Counts of any table: a frame, a file, or counts already. A file is counted by one GROUP BY inside DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.counts import Counts, Numbers
from evenhand.domain import Domain
from evenhand.engines.files import Source, connection, is_path, quoted, typed
from evenhand.errors import DataError, SpecError
from evenhand.spec import CsvFormat, Ordinal, Problem
from evenhand.tables import count, count_rows, read, weights_of

ROWS, WEIGHT = "evenhand_rows", "evenhand_weight"


def counts_of(problem: Problem, table: Any, weights: str | Sequence[float] | None = None) -> Counts:
    """Return the counts of a frame or of a file, or given counts if they are those of the problem's columns."""
    if not isinstance(problem, Problem):
        raise SpecError(f"the problem comes first and must be an eh.Problem, not {type(problem).__name__}")
    if is_path(table):
        return count_file(problem, table, weights)
    if not isinstance(table, Counts):
        return count(problem, table, weights)
    if weights is not None:
        raise DataError("weights go with a frame; a Counts already has its own")
    _check_counts(problem, table)
    return table


def _check_counts(problem: Problem, counts: Counts) -> None:
    names = tuple(v.name for v in counts.domain.variables)
    if names != problem.columns:
        raise DataError(f"these counts are over the columns {list(names)}, the problem's are {list(problem.columns)}")
    for name, rule in problem.distortion.rules.items():
        levels = counts.domain.variable(name).levels
        if isinstance(rule, Ordinal) and rule.levels is not None and tuple(rule.levels) != levels:
            raise DataError(
                f"the rule of {name!r} gives the levels {list(rule.levels)}, but the counts have {list(levels)}"
            )


def count_file(problem: Problem, path: Any, weights: str | Sequence[float] | None = None) -> Counts:
    """Count the rows of a file over the cells of a problem."""
    if weights is not None and not isinstance(weights, str):
        raise DataError("the weights of a file are one of its columns: give its name")
    source = Source.of(path, problem.csv)
    with connection(source.name) as duck:
        source.require(problem.columns)
        chosen = typed(duck, source, problem.columns, problem.missing_values)
        groups = ", ".join(quoted(name) for name in problem.columns)
        found = _grouped(duck, source, chosen, groups, _weight(duck, source, problem.columns, weights))
    table = read(found)
    weight_of = np.asarray(table[WEIGHT].to_numpy(), dtype=float)
    people = int(table[ROWS].to_numpy().sum()) if len(table) else 0
    return count_rows(problem, table.select(list(problem.columns)), weight_of, people)


def _grouped(duck: Any, source: Source, chosen: str, groups: str, weight: str) -> Any:
    """Count equal rows: one GROUP BY."""
    return duck.sql(
        f"SELECT {groups}, count(*) FILTER ({WEIGHT} > 0) AS {ROWS}, sum({WEIGHT}) AS {WEIGHT} "
        f"FROM (SELECT {chosen}, {weight} AS {WEIGHT} FROM {source.sql}) GROUP BY {groups} ORDER BY ALL"
    ).to_arrow_table()


def _weight(duck: Any, source: Source, columns: Sequence[str], weights: str | None) -> str:
    """Return the expression of a row's weight, once every weight is known to be one."""
    if weights is None:
        return "1.0"
    if weights in columns:
        raise DataError(f"column {weights!r} is part of the problem and cannot also be the weights")
    source.require([weights])
    value = f"TRY_CAST({quoted(weights)} AS DOUBLE)"
    bad = f"{value} IS NULL OR NOT isfinite({value}) OR {value} < 0"
    wrong, example = duck.sql(
        f"SELECT count(*), any_value({quoted(weights)}) FROM {source.sql} WHERE {bad}"
    ).fetchall()[0]
    if wrong:
        raise DataError(
            f"{wrong} rows of {source.name!r} have no weight of at least 0 in column {weights!r}, for example "
            f"{example!r}"
        )
    return value


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct rows of a table: weights, how many people each stands for, whether values are texts of a file."""

    table: Any
    weight: Numbers
    people: Numbers
    text: bool


def distinct_rows(
    domain: Domain, table: Any, format: CsvFormat | None = None, weights: str | Sequence[float] | None = None
) -> Rows:
    """Read what a domain's columns hold; equal rows of a file are counted inside DuckDB."""
    names = [variable.name for variable in domain.variables]
    if not is_path(table):
        found = read(table)
        weight = weights_of(names, found, weights)
        return Rows(found, np.ones(len(found)) if weight is None else weight, np.ones(len(found)), text=False)
    if weights is not None and not isinstance(weights, str):
        raise DataError("the weights of a file are one of its columns: give its name")
    source = Source.of(table, format)
    source.require(names)
    with connection(source.name) as duck:
        groups = ", ".join(quoted(name) for name in names)
        grouped = _grouped(duck, source, groups, groups, _weight(duck, source, names, weights))
    found = read(grouped)
    if not len(found):
        raise DataError(f"{source.name!r} has no rows")
    return Rows(
        found, found[WEIGHT].to_numpy().astype(float), found[ROWS].to_numpy().astype(float), source.format is not None
    )
