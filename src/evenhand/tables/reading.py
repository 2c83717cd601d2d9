"""Tables to codes: the levels of every column, the counts of every cell, the cell of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand import check
from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import MISSING, Axis, Domain, Role, Value, Variable, in_words
from evenhand.data.levels import UNSEEN
from evenhand.data.profile import Profile
from evenhand.data.weighting import SURVEY, Weighting, look_like_counts
from evenhand.errors import DataError, Made, Setting, SpecError, did_you_mean, some_of, warn
from evenhand.spec import Occurrence, Ordinal, Problem, check_problem, weighting_of
from evenhand.spec.agreement import disagreement, favourable_code
from evenhand.spec.cells import Learned, Sample
from evenhand.tables.columns import (
    Coded,
    Encoded,
    coded,
    codes_of,
    column,
    encode,
    encoded_as,
    gap_advice,
    levels_of,
    plain,
    refuse_missing,
)
from evenhand.tables.frames import Frame, read, take
from evenhand.tables.learned import leaves, leaves_and_unlike, variable_of_tree
from evenhand.tables.sampling import Groups, sample_of
from evenhand.tables.survey import distinct

ENOUGH_ROWS = 5_000
"""So many are looked at to tell survey weights from numbers of people."""

PROBABILITY = "probability"
"""The column of a conditional's frame that holds p(ŷ|x̂)."""


def count(
    problem: Problem,
    frame: Frame,
    weights: str | Sequence[float] | None = None,
    *,
    frequencies: str | Sequence[int] | None = None,
) -> Counts:
    """Count a frame's rows over the cells of a problem.

    Parameters
    ----------
    problem : Problem
        Says which columns to count, how their values become levels, and the order of levels where a rule gives it.
    frame : dataframe
        One row per person; with ``frequencies``, one row for so many people.
    weights : str or sequence of float, optional
        Survey weights: a column of the frame, or one number per row. A row is one person, who counts more or less.
    frequencies : str or sequence of int, optional
        A table of counts: a column of the frame, or one integer per row. A row stands for so many people.

    Examples
    --------
    >>> from evenhand.datasets import load
    >>> data = load("compas")
    >>> len(count(data.problem, data.frame))
    142
    """
    check_problem(problem)
    return count_frame(problem, frame, weighting_of(problem, weights, frequencies))


def counts_in_memory(problem: Problem, table: Frame | Counts, weighting: Weighting | None) -> Counts:
    """Return the counts of a frame, or given counts if they are those of the problem's columns."""
    check_problem(problem)
    if not isinstance(table, Counts):
        return count_frame(problem, table, weighting)
    if weighting is not None and not weighting.deliberate:
        raise DataError(f"{weighting.option} go with a frame; a Counts already has its own")
    names = tuple(v.name for v in table.domain.variables)
    stated = (*problem.protected, *problem.feature_variables, problem.outcome)
    if names != stated:
        raise DataError(f"these counts are over the columns {list(names)}, the problem's are {list(stated)}")
    if (words := disagreement(problem, table.domain)) is not None:
        raise DataError(f"these counts are not the problem's: {words}; count the table for this problem")
    return table


def count_frame(problem: Problem, frame: Frame, weighting: Weighting | None) -> Counts:
    """Count a frame's rows; refuse weights that look like numbers of people."""
    table = read(frame)
    weight = weights_of(problem.columns, table, weighting)
    refuse_mistaken(table, weighting)
    if weighting is None or weight is None:
        return count_rows(problem, table, None)
    # Rows that are one person each have a place in the table, which errors name.
    both = (weighting.people(weight), weighting.squares(weight)) if weighting.repeats else (None, None)
    return count_rows(problem, table, weight, both[0], squares=both[1])


def refuse_mistaken(table: nw.DataFrame[Any], weighting: Weighting | None) -> None:
    """Refuse weights that look like numbers of people in the first rows; warn of those that a problem states."""
    if weighting is None or weighting.repeats or weighting.sampled or weighting.column not in (None, *table.columns):
        return
    some = table.head(ENOUGH_ROWS)
    given: Any = weighting.given
    try:
        given = given[: len(some)] if weighting.column is None else some[weighting.column].to_list()
        weight = pd.to_numeric(pd.Series(given, dtype=object), errors="coerce").to_numpy(dtype=float)
    except Exception:  # Whatever has no numbers for rows is refused where they are read.
        return
    # Weights of another length, and what is no number or of nobody, are refused where they are read, or do not count.
    kept = np.flatnonzero(weight > 0)
    if len(weight) != len(some) or not len(kept) or np.any(weight[kept] % 1):
        return
    others = distinct(some[[name for name in some.columns if name != weighting.column]])
    if look_like_counts(weight[kept], [each.codes[kept] for each in others]):
        if not weighting.deliberate:
            raise SpecError(*weighting.mistakable)
        warn(*weighting.mistakable)


def count_rows(
    problem: Problem,
    table: nw.DataFrame[Any],
    weight: Numbers | None,
    people: Numbers | None = None,
    known: Mapping[str, Variable] | None = None,
    squares: Numbers | None = None,
) -> Counts:
    """Count rows of given weights, as :func:`level_rows` reads them; where cells are learned, rows are people."""
    rows = level_rows(problem, table, weight, people, known, squares)
    if problem.cells is None:
        return rows.counts(problem)
    outcome = rows.codes[problem.outcome]
    each = np.ones(len(rows.table)) if rows.people is None else rows.people
    sample = sample_of(problem, rows.table, rows.everybody, rows.group, outcome, rows.weight, each)
    learned = learned_variable(problem, problem.cells, sample)
    return rows.with_variable(learned, leaves(learned, rows.table)).counts(problem)


@dataclass(frozen=True, eq=False)
class Levelled:
    """Rows as the levels of the columns that have any.

    Attributes
    ----------
    table : frame
        The rows that weigh anything.
    variables, codes
        The variables, and of each by its name the level of every row.
    weight, people, squares : array
        Of every row its weight; how many people it stands for, and the sum of their squared weights: None where it
        stands for itself.
    weightless : frame, optional
        The rows that weigh nothing.
    """

    table: nw.DataFrame[Any]
    variables: tuple[Variable, ...]
    codes: Mapping[str, Cells]
    weight: Numbers
    people: Numbers | None = None
    squares: Numbers | None = None
    weightless: nw.DataFrame[Any] | None = None

    @property
    def groups(self) -> Axis:
        """The axis of groups."""
        return Axis(tuple(variable for variable in self.variables if variable.role is Role.PROTECTED))

    @property
    def group(self) -> Cells:
        """The group of each row."""
        return self.groups.ravel([self.codes[name] for name in self.groups.names])

    @property
    def everybody(self) -> Groups:
        """The groups in which somebody is, and how many people each has."""
        cells, place = np.unique(self.group, return_inverse=True)
        people = np.ones(len(place)) if self.people is None else self.people
        return Groups(self.groups, cells, sums(place, people, len(cells)).astype(np.int64))

    def with_variable(self, variable: Variable, codes: Cells) -> Levelled:
        """Return the rows with one more variable, of which the level of every row is known."""
        return replace(self, variables=(*self.variables, variable), codes={**self.codes, variable.name: codes})

    def counts(self, problem: Problem) -> Counts:
        """Count the rows."""
        domain = Domain.of(self.variables)
        favourable_code(problem, domain)
        axes = (domain.d, domain.x, domain.y)
        d, x, y = (axis.ravel([self.codes[v.name] for v in axis.variables]) for axis in axes)
        counts = Counts.of(domain, d, x, y, self.weight, self.people, self.squares)
        if self.weightless is not None:
            _warn_of_lost_groups(counts, self.weightless)
        return counts


def level_rows(
    problem: Problem,
    table: nw.DataFrame[Any],
    weight: Numbers | None,
    people: Numbers | None = None,
    known: Mapping[str, Variable] | None = None,
    squares: Numbers | None = None,
) -> Levelled:
    """Find the levels of the columns that have any, and those of every row.

    ``people`` is how many each row stands for, where equal ones were put together, and ``squares`` the sum of their
    squared weights. ``known`` are variables that were made already, from all of a column's values.
    """
    if not len(table):
        raise DataError("the table is empty: it has no rows")
    weightless = None
    if weight is not None and not (weighted := SURVEY.checked(weight) > 0).all():
        people, squares = (None if of is None else of[weighted] for of in (people, squares))
        weightless = take(table, np.flatnonzero(~weighted))
        table, weight = take(table, np.flatnonzero(weighted)), weight[weighted]
    encoded = _encoded(problem, table, problem.levelled, people)
    each = np.ones(len(table)) if weight is None else weight
    variables = tuple(
        (known or {}).get(name) or _variable(problem, encoded[name], role, encoded[problem.outcome], each)
        for name, role in _roles(problem).items()
    )
    codes = {v.name: _known(v, encoded[v.name], placed=people is None) for v in variables}
    return Levelled(table, variables, codes, each, people, squares, weightless)


def learned_variable(problem: Problem, cells: Learned, sample: Sample) -> Variable:
    """Learn cells from a sample of a table."""
    tree = cells.tree(sample)
    seen = {each.asked.name: each.given for each in (*sample.columns, *sample.segmenting)}
    profiles = (Profile.of(asked, seen[asked.name], sample.people, sample.weight) for asked in tree.columns)
    return variable_of_tree(cells, tree, problem.missing_values, tuple(profiles))


def _warn_of_lost_groups(counts: Counts, weightless: nw.DataFrame[Any]) -> None:
    """Warn of groups all of whose rows have a weight of zero: nobody counts, so that nothing is bounded for them."""
    groups = counts.domain.allowing_missing(True).d
    cell, new = cells(groups, weightless)
    lost = np.flatnonzero(new | ~np.isin(cell, counts.groups.cells))
    if len(lost):
        columns = [column(weightless, name)[lost].to_list() for name in groups.names]
        named = dict.fromkeys(
            f"({in_words(dict(zip(groups.names, map(plain, row), strict=True)))})" for row in zip(*columns, strict=True)
        )
        warn(
            f"all rows of these groups have a weight of zero: {some_of(named)}; they are not fitted, and no bound is "
            f"held for them"
        )


def cells(axis: Axis, table: nw.DataFrame[Any]) -> tuple[Cells, NDArray[np.bool_]]:
    """Return the cell of each row on an axis, and which rows have a value that is not a level."""
    found = [levels_in(variable, table) for variable in axis.variables]
    codes = [each.level[each.codes] for each in found]
    unseen = np.any([code == UNSEEN for code in codes], axis=0)
    return axis.ravel([np.maximum(code, 0) for code in codes]), np.asarray(unseen)


def levels_in(variable: Variable, table: nw.DataFrame[Any], *, first: int = 0) -> Coded:
    """Return a variable's levels in a table, by the codes of its column, or by leaves where cells are learned."""
    if not variable.is_column:
        leaf, unlike = leaves_and_unlike(variable, table, first=first)
        return Coded(leaf, np.append(np.arange(len(variable)), UNSEEN), unlike=unlike)
    return levels_of(variable, column(table, variable.name), first=first)


def first_unseen(axes: Iterable[Axis], table: nw.DataFrame[Any]) -> str | None:
    """Name the first column and value that is not a level; None where every value is one."""
    for variable in (variable for axis in axes for variable in axis.variables):
        missing, unseen = gaps(variable, table)
        if unseen.any():
            row = int(np.argmax(unseen))
            new = "a missing value" if missing[row] else f"the new value {plain(table[variable.name][row])!r}"
            return f"column {variable.name!r} has {new}"
    return None


def distinct_values(table: nw.DataFrame[Any], name: str, rows: Cells) -> list[Any]:
    """Return the different values that some rows have in a column, in the order of the rows."""
    values = column(table, name)[rows].unique(maintain_order=True).to_list() if len(rows) else []
    return list(map(plain, values))


def lacking(axes: Iterable[Axis], table: nw.DataFrame[Any]) -> NDArray[np.bool_]:
    """Return which rows have a missing value that is allowed, but has no level."""
    found = np.zeros(len(table), dtype=bool)
    for variable in (variable for axis in axes for variable in axis.variables if variable.missing == UNSEEN):
        found |= is_missing(variable, table)
    return found


def is_missing(variable: Variable, table: nw.DataFrame[Any]) -> NDArray[np.bool_]:
    """Return which rows have no value in a variable's column; a leaf is never missing."""
    if not variable.is_column:
        return np.zeros(len(table), dtype=bool)
    return encoded_as(variable, column(table, variable.name)).missing


def gaps(variable: Variable, table: nw.DataFrame[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows have no value in a column, and which have none that is a level."""
    missing = is_missing(variable, table)
    if not variable.is_column:
        return missing, np.zeros(len(table), dtype=bool)
    return missing, np.asarray(codes_of(variable, table[variable.name]) == UNSEEN)


def refuse_gaps(
    axes: Iterable[Axis],
    table: nw.DataFrame[Any],
    where: Callable[[Variable, int], str],
    *,
    people: Numbers | None = None,
) -> None:
    """Refuse missing values that have no level in a table whose rows have no place; ``where`` names one of them."""
    for variable in (variable for axis in axes for variable in axis.variables if variable.missing is None):
        encoded = encoded_as(variable, column(table, variable.name))
        refuse_missing(encoded, *gap_advice(variable), people=people, where=partial(where, variable))


def conditional_rows(problem: Problem, domain: Domain, frame: Frame) -> dict[tuple[Value, ...], dict[Value, float]]:
    """Read p(ŷ|x̂) from a frame with a row for each combination of features and each outcome, and its probability.

    A column whose levels stand for several values may hold those or the levels' names. Of several combinations that
    are one to the levels, the mean is taken.
    """
    table = read(frame)
    given = [_complete(table, name) for name in problem.features]
    outcomes, probabilities = (_complete(table, name).to_list() for name in (problem.outcome, PROBABILITY))
    single = zip(*(series.to_list() for series in given), strict=True)
    levels = zip(*(_named_levels(domain.variable(series.name), series) for series in given), strict=True)
    found: dict[tuple[Value, ...], dict[tuple[Value, ...], dict[Value, float]]] = {}
    for cell, values, outcome, probability in zip(levels, single, outcomes, probabilities, strict=True):
        shares = found.setdefault(cell, {}).setdefault(values, {})
        if outcome in shares:
            raise DataError(f"the conditional gives {values} with {problem.outcome}={outcome!r} twice")
        shares[outcome] = float(probability)
    means = {}
    for cell, each in found.items():
        named = dict.fromkeys(outcome for shares in each.values() for outcome in shares)
        total = {outcome: sum(shares.get(outcome, 0.0) for shares in each.values()) for outcome in named}
        means[cell] = {outcome: share / len(each) for outcome, share in total.items()}
    return means


def _named_levels(variable: Variable, series: nw.Series[Any]) -> list[Value]:
    """Return the level of each value of a column that may hold the names of levels; what has none stays as it is."""
    values: list[Value] = series.to_list()
    if variable.coding is None or set(values) <= set(variable.levels):
        return values
    codes = codes_of(variable, series).tolist()
    return [value if code == UNSEEN else variable.levels[code] for value, code in zip(values, codes, strict=True)]


def weights_of(columns: Sequence[str], table: nw.DataFrame[Any], weighting: Weighting | None) -> Numbers | None:
    """Return one number per row of a table whose given columns are part of a problem; None where rows count once."""
    if weighting is None:
        return None
    given: Any = weighting.given
    if weighting.column is not None:
        weights_column(columns, weighting, "a frame")
        given = _complete(table, weighting.column, advice=f"{weighting.option} are needed in every row").to_numpy()
    try:
        array = np.asarray(given, dtype=np.float64)
    except Exception:  # Whatever is no array of numbers says so in its own way.
        raise DataError(
            f"{weighting.option} must be numbers, one per row, not {check.shown(weighting.given)}"
        ) from None
    if array.shape != (len(table),):
        raise DataError(f"there are {array.size} {weighting.option} for {len(table)} rows")
    return weighting.checked(array)


def weights_column(columns: Sequence[str], weighting: Weighting | None, table: str) -> str | None:
    """Return the name of a column of weights or frequencies, which is none of the given columns."""
    if weighting is None:
        return None
    if weighting.column is None:
        shown = check.shown(weighting.given)
        raise DataError(f"the {weighting.option} of {table} are one of its columns: give its name, not {shown}")
    if weighting.column in columns:
        raise DataError(f"column {weighting.column!r} is part of the problem and cannot also be the {weighting.option}")
    return weighting.column


def _complete(table: nw.DataFrame[Any], name: str, advice: str = "fill them, or drop those rows") -> nw.Series[Any]:
    """Return a column that must be there and complete."""
    series = column(table, name)
    refuse_missing(encode(series), advice)
    return series


def variable_of(problem: Problem, name: str, table: nw.DataFrame[Any], weight: Numbers, people: Numbers) -> Variable:
    """Make one variable from a table of its values and the outcome's, with the weight and people of each pair."""
    encoded = _encoded(problem, table, (name, problem.outcome), people)
    return _variable(problem, encoded[name], _roles(problem)[name], encoded[problem.outcome], weight)


def _encoded(
    problem: Problem, table: nw.DataFrame[Any], names: Sequence[str], people: Numbers | None
) -> dict[str, Encoded]:
    """Number the values of columns, and refuse missing ones where there may be none."""
    encoded = {name: encode(column(table, name), problem.missing_values) for name in names}
    advice = "a row without an outcome cannot be fitted: drop those rows"
    refuse_missing(encoded[problem.outcome], advice, people=people)
    if not problem.missing_is_level:
        for each in encoded.values():
            refuse_missing(each, people=people)
    return encoded


def _roles(problem: Problem) -> dict[str, Role]:
    """Return what each column is whose own values are levels."""
    features = [name for name in problem.features if name in problem.levelled]
    roles = dict.fromkeys(problem.protected, Role.PROTECTED) | dict.fromkeys(features, Role.FEATURE)
    return roles | {problem.outcome: Role.OUTCOME}


def _variable(problem: Problem, encoded: Encoded, role: Role, outcome: Encoded, weight: Numbers) -> Variable:
    name = encoded.series.name
    dtype = _pandas_dtype(encoded.series)
    binning = problem.bins.get(name)
    coding = None
    levels: tuple[Value, ...] = ()
    ordered = False
    if binning is None and encoded.values:
        levels, ordered = _levels(encoded)
    elif binning is not None and encoded.values:
        levels, coding, ordered = binning.levels(_occurrence(encoded, outcome, weight))
        dtype = "category"
    variable = Variable(name, role, levels or (MISSING,), ordered, dtype, coding, blanks=tuple(problem.missing_values))
    if problem.missing_is_level and role is not Role.OUTCOME:
        variable = _with_missing(variable, encoded)
    return _in_order(variable, problem.distortion.rules.get(name))


def _occurrence(encoded: Encoded, outcome: Encoded, weight: Numbers) -> Occurrence:
    """Count how often each value of a column, ascending, occurs with each outcome."""
    there = ~encoded.missing
    shape = len(encoded.values), len(outcome.values)
    # Codes may have as few as eight bits.
    key = encoded.codes[there].astype(np.int64) * shape[1] + outcome.codes[there]
    table = sums(key, weight[there], shape[0] * shape[1]).reshape(shape)
    at = np.flatnonzero(table.sum(axis=1) > 0)
    values = [encoded.values[i] for i in at]
    if not values:
        raise DataError(f"column {encoded.series.name!r} has no value to be binned")
    numbers = np.array(values)
    if numbers.dtype.kind in "iuf" and not any(isinstance(value, str) for value in values):
        order = np.argsort(numbers, kind="stable")
    else:
        # Texts among numbers are an error that bins explain; here they must only not be compared with them.
        order = np.array(sorted(range(len(values)), key=lambda i: (isinstance(values[i], str), values[i])))
    return Occurrence(encoded.series.name, [values[i] for i in order], table[at[order]])


def _with_missing(variable: Variable, encoded: Encoded) -> Variable:
    """Add the level of missing values, last, where there are any."""
    if not encoded.missing.any():
        return replace(variable, missing=UNSEEN)
    if not encoded.values:
        return replace(variable, missing=0)
    if MISSING in variable.levels:
        raise DataError(
            f"column {variable.name!r} has both missing values and the value {MISSING!r}, which is what their level is "
            f"called; list it in missing_values if it means the same"
        )
    dtype = variable.dtype if variable.dtype in ("category", "str", "string") else "object"
    return replace(variable, levels=(*variable.levels, MISSING), missing=len(variable), dtype=dtype)


def _in_order(variable: Variable, rule: Any) -> Variable:
    if not isinstance(rule, Ordinal) or rule.levels is None:
        return variable
    levels, coding = tuple(rule.levels), variable.coding
    if variable.has_missing and MISSING not in levels:
        levels = (*levels, MISSING)
    if coding is not None and levels != variable.levels:
        # A coding knows the levels that values have: that of missing ones comes after them.
        same = set(levels) == set(variable.levels) and (not variable.has_missing or levels[-1] == MISSING)
        own = levels[:-1] if variable.has_missing else levels
        coding = coding.reordered([variable.levels.index(level) for level in own]) if same else None
        if coding is None:
            raise DataError(
                f"the rule of column {variable.name!r} gives the levels {list(levels)}, but its bins give "
                f"{list(variable.levels)}; leave levels out of the rule, or write the same"
            )
    missing = levels.index(MISSING) if variable.has_missing else variable.missing
    ordered = replace(variable, levels=levels, ordered=True, coding=coding, missing=missing)
    # A rule may list levels that nobody has, of another type.
    return ordered if ordered.fits_type else replace(ordered, dtype="object")


def _known(variable: Variable, encoded: Encoded, *, placed: bool) -> Cells:
    """Return each row's code; a value that is not a level is an error, which names the row where rows have a place."""
    found = coded(variable, encoded)
    codes = np.asarray(found.level[found.codes])
    if np.any(codes == UNSEEN):
        row = int(np.flatnonzero(codes == UNSEEN)[0])
        value, where = plain(encoded.series[row]), f" in row {row + 1}" if placed else ""
        raise DataError(
            f"column {variable.name!r} has the value {value!r}{where}, which is not among the levels "
            f"that its rule gives: {list(variable.levels)}.{did_you_mean(value, variable.levels)}"
        )
    return codes


def _refuse_odd_categories(name: str, values: Sequence[Value]) -> None:
    """Refuse categories that no file could keep, such as times or the intervals of ``pandas.cut``."""
    odd = next((value for value in values if not isinstance(value, str | bool | int | float)), None)
    if odd is not None:
        raise DataError(
            f"column {name!r} has categories of type {type(odd).__name__}, such as {odd}; make them strings: "
            f"frame[{name!r}].cat.rename_categories(str)"
        )


def _levels(encoded: Encoded) -> tuple[tuple[Value, ...], bool]:
    """Return the levels of a column and whether their order means something."""
    name, dtype = encoded.series.name, encoded.series.dtype
    if isinstance(dtype, nw.Enum | nw.Categorical):
        _refuse_odd_categories(name, encoded.values)
    if isinstance(dtype, nw.Enum):
        return tuple(
            level for level in dtype.categories if level in encoded.values or not encoded.is_blank(level)
        ), True
    if isinstance(dtype, nw.Categorical):
        native = encoded.series.to_native()
        if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
            return tuple(encoded.values), bool(native.cat.ordered)
        return tuple(sorted(encoded.values)), False
    # Whole numbers are made real by pandas where some are missing.
    made_real = dtype.is_float() and encoded.missing.any() and all(float(v).is_integer() for v in encoded.values)
    if dtype.is_float() and not made_real:
        raise _real_numbers(name, encoded.values)
    if isinstance(dtype, nw.Decimal):
        raise DataError(
            f"column {name!r} holds decimal numbers; make it a column of whole numbers, or of real ones with bins"
        )
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return tuple(sorted(encoded.values)), True
    if isinstance(dtype, nw.String) or all(isinstance(value, str) for value in encoded.values):
        return tuple(sorted(encoded.values)), False
    if all(isinstance(value, int) for value in encoded.values):
        return tuple(sorted(encoded.values)), True
    raise DataError(f"column {name!r} is of type {dtype}; a column must hold strings, integers, booleans or categories")


def _real_numbers(name: str, values: Sequence[Any]) -> DataError:
    """Say what to do about a column of real numbers."""
    what = f"column {name!r} holds real numbers, which have no finite levels"
    if all(float(value).is_integer() for value in values):
        return DataError(f"{what}; its values are whole, so make it a column of integers: frame[{name!r}].astype(int)")
    low, high = min(values), max(values)
    return DataError(
        f"{what} (it runs from {low:g} to {high:g}); bin it: ",
        Setting("bins", Made("Quantiles", {"number": 4}), column=name),
        ", ",
        Made("ChosenBins"),
        ", or ",
        Made("Edges", {"edges": [...]}),
    )


def _pandas_dtype(series: nw.Series[Any]) -> str:
    native = series.to_native()
    if isinstance(native, pd.Series):
        return str(native.dtype)
    if isinstance(series.dtype, nw.Enum | nw.Categorical):
        return "category"
    if isinstance(series.dtype, nw.String):
        return "str"
    return "bool" if isinstance(series.dtype, nw.Boolean) else str(series.dtype).lower()
