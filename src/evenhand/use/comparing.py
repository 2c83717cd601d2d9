"""Two mappings compared: what was stated, what comes of it, and who is treated differently.

The one place that joins statements, certificates, prices and what happens to people into an answer; a page of it is
made of the same plain values as its JSON.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from evenhand import check, engines, tables
from evenhand.arrays import Flags, Numbers, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, in_words
from evenhand.data.levels import UNSEEN as NO_LEVEL
from evenhand.data.weighting import Unit, Weighting
from evenhand.engines import AnyTable, weighting_in
from evenhand.errors import DataError, EvenhandError, SpecError
from evenhand.files import replace_file
from evenhand.findings.bounds import Furthest
from evenhand.findings.comparing import (
    Bounded,
    Treated,
    bounded,
    differences,
    levels_for,
    may_be_the_same,
    outcomes_apart,
    records_apart,
    refuse_other_outcomes,
    treated,
)
from evenhand.findings.discretion import combinations_shown, complementary
from evenhand.findings.document import plain
from evenhand.findings.new_people import meeting, with_own_target
from evenhand.kernel.achieved import distances
from evenhand.render.sentences import facts
from evenhand.report.comparison import comparison_page, shortened
from evenhand.tables.transforming import Missing, domain_with, kinds_of, locate
from evenhand.text import counted
from evenhand.tolerances import TREATED_ALIKE
from evenhand.use import storage
from evenhand.use.mapping import Mapping

if TYPE_CHECKING:
    import pandas as pd

MOST_TOLD = 5
"""So many cells that are treated differently are told in words; the frame has them all."""

WORTH_TELLING = 0.005
"""Cells are told in words where at least this share gets another outcome: less is written as the same percentage."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What two mappings, A and B, do to the same people.

    Attributes
    ----------
    about : str
        Who these people are.
    people : float
        How many they are, by weight.
    mappings : pandas.DataFrame
        What A and B are: their names, where they were given, and their fingerprints, which tell each from any other.
    statement : pandas.DataFrame
        Every setting in which the two statements differ: where, what A says and what B says.
    bounds : pandas.DataFrame
        For each parity bound of A and of B: how far apart the rates that it compares are at worst, before and after,
        as its distance says it, and whose they are. Comparisons of fewer than 20 people are left out, and counted.
    rates : pandas.DataFrame
        For each of B's groups and each outcome: its people and their weight, and its rate before, after A and after B.
    groups : pandas.DataFrame
        For each of B's groups: its people and their weight, the shares that A and B change, and the least share of them
        that can get another outcome, or another record, from B than from A, in expectation over the draws.
    costs : pandas.DataFrame
        What each costs: the certificate and its numbers on the table that each was fitted on, people changed and
        expected distortion among these people, and the price of each parity bound.
    cells : pandas.DataFrame
        For each cell of B in which people are treated differently, most people first: who is in it, how many, each
        outcome's probability from A and B, and at least which share gets another outcome, or another record.
        Here and in ``rates`` and ``groups`` a column ``shown`` says which rows are passed on: not those of fewer people
        than ``hide_below``, nor those that would reveal one. Words, page and ``as_dict()`` leave the others out.
    notes : tuple of str
        What could not be compared.
    outcome, levels, shown : str, tuple, tuple
        The outcome that both release, its levels, and those of them that are told in words.
    losses_compare : bool
        Whether the two utility losses are of the same measure and of the same columns and levels.
    weighed : bool
        Whether people count by weights that are not all one.
    hide_below : float
        Groups and cells of fewer people are not passed on.
    """

    about: str
    people: float
    mappings: pd.DataFrame
    statement: pd.DataFrame
    bounds: pd.DataFrame
    rates: pd.DataFrame
    groups: pd.DataFrame
    costs: pd.DataFrame
    cells: pd.DataFrame
    notes: tuple[str, ...]
    outcome: str
    levels: tuple[Any, ...]
    shown: tuple[Any, ...]
    losses_compare: bool
    weighed: bool
    hide_below: float

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The differences in sentences, the most important first."""
        return tuple(_words(self))

    def as_dict(self) -> dict[str, Any]:
        """Return everything that is passed on as plain values, which JSON can hold, and how many rows are hidden."""
        names = (
            "about",
            "people",
            "weighed",
            "hide_below",
            "mappings",
            "words",
            "notes",
            "statement",
            "bounds",
            "costs",
        )
        listed = {name: getattr(self, name) for name in ("rates", "groups", "cells")}
        return {
            **{name: plain(getattr(self, name)) for name in names},
            **{name: plain(table[table["shown"]].drop(columns="shown")) for name, table in listed.items()},
            "hidden": {name: int((~table["shown"]).sum()) for name, table in listed.items()},
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a page that needs no network; return its path. Needs the extra ``charts``."""
        page = Path(check.path("path", path))
        replace_file(page, comparison_page(self.as_dict()).encode(errors="backslashreplace"))
        return page

    def __repr__(self) -> str:
        return f"<Comparison on {_unit(self).write(self.people)}: {self.words[0]}>"


def compare(
    a: Mapping,
    b: Mapping,
    table: AnyTable | None = None,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    missing: Missing | None = None,
    names: Sequence[str] | None = None,
    hide_below: float = FEW_PEOPLE,
) -> Comparison:
    """Say in what two mappings differ, and who is treated differently by them.

    Parameters
    ----------
    a, b : Mapping
        The two, such as an earlier version and a later one. They must release the same outcome.
    table : dataframe or path, optional
        The people who are compared; by default those whom ``b`` was fitted on. It is read into memory.
    weights, frequencies : str or sequence of numbers, optional
        With ``table``: a column of it, or for a dataframe one number per row. By default the column that the problem
        names, where the table has it.
    missing : {"level", "error"}, optional
        With ``table``: a missing value where the fitted table had none, as in :meth:`Mapping.release`; who has no group
        or no outcome is left out, and counted.
    names : sequence of str, optional
        What the two are called, such as the names of their files: for the page, which names their fingerprints too.
    hide_below : float
        Groups and cells of fewer people, and those that would reveal one, are left out of words, page and
        ``as_dict()``.

    Returns
    -------
    Comparison
        Frames, ``words``, ``as_dict()`` and a page (``save``).

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> a = eh.fit(data.problem, data.counts)
    >>> b = eh.fit(replace(data.problem, parity=[eh.PairwiseParity(0.2)]), data.counts)
    >>> found = eh.compare(a, b)
    >>> found.statement.to_dict("records")
    [{'setting': 'parity[0].bound', 'a': '0.1', 'b': '0.2'}]
    >>> found.bounds[["mapping", "bound", "before", "after"]].to_dict("records")[1]
    {'mapping': 'B', 'bound': 'at most 1.20 times', 'before': '1.61 times', 'after': '1.20 times'}
    """
    check.kind("a", a, Mapping, "an eh.Mapping")
    check.kind("b", b, Mapping, "an eh.Mapping")
    asked = Weighting.of(weights, frequencies)
    if table is None and asked is not None:
        raise SpecError(f"{asked.option} go with a table; the fitted people have their own")
    check.one_of("missing", missing, (None, *get_args(Missing)))
    if missing is not None and table is None:
        raise SpecError("missing goes with a table; the fitted one says it itself")
    called, threshold = _named(names), check.finite("hide_below", hide_below, low=0)
    refuse_other_outcomes(a.counts.domain, b.counts.domain)
    met = (
        _fitted(a, b, threshold)
        if table is None
        else _read(a, b, *weighting_in([b.problem, a.problem], table, weights, frequencies), missing, threshold)
    )
    return _compared(a, b, met, called, threshold)


def _named(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    given = check.listed("names", names, "two names")
    if len(given) != 2:
        raise SpecError(f"names must be two, of A and of B, not {len(given)}")
    return tuple(check.text("names", name) for name in given)


Measured = tuple[tuple[Bounded, ...], str]
"""What the bounds of one mapping measure, and of whom, where that is not of all who are compared."""


@dataclass(frozen=True, eq=False)
class _Met:
    """People with what each mapping makes of them; d, x and y are B's cells of each."""

    about: str
    weight: Numbers
    people: Numbers
    cells: tuple[Any, Any, Any]
    a: Treated
    b: Treated
    bounds: tuple[Measured, Measured]
    weighed: bool
    left_out: int = 0


def _fitted(a: Mapping, b: Mapping, hide_below: float) -> _Met:
    """Take the people whom the second mapping was fitted on."""
    counts, kind = b.counts, np.arange(len(b.counts))
    each = [kinds_of(mode, levels_for(mode.domain, counts)) for mode in (a.release_mode, b.release_mode)]
    same = a.counts.domain == counts.domain and np.array_equal(a.counts.sources, counts.sources)
    same = same and np.allclose(a.counts.weight, counts.weight)
    alone = "" if same else OF_THE_FITTED
    return _Met(
        _about(a.counts, counts, same=same),
        counts.weight,
        counts.unweighted.weight,
        (counts.d, counts.x, counts.y),
        treated(a.release_mode, each[0], kind, a.problem),
        treated(b.release_mode, each[1], kind, b.problem),
        (_of_fitted(a, hide_below, alone), _of_fitted(b, hide_below)),
        counts.weighed,
    )


OF_THE_FITTED = ", of the people it was fitted on"


def _about(a: Counts, b: Counts, *, same: bool) -> str:
    """Say whom the two were fitted on. Counts name nobody: who are alike in all that both know may be the same."""
    if same:
        return f"the {b.people:,} people on whom both were fitted"
    if a.domain != b.domain and may_be_the_same(a, b):
        own = "on as many, the same in all that both know of them, with other columns or levels"
    else:
        own = f"on another table, of {a.people:,} people"
    return f"the {b.people:,} people on whom B was fitted; A was fitted {own}"


def _of_fitted(mapping: Mapping, hide_below: float, whose: str = "") -> Measured:
    return bounded(mapping.counts, mapping.kernel, mapping.achieved.parity, hide_below), whose


def _of_table(
    mapping: Mapping, table: AnyTable, weighting: Weighting | None, missing: Missing | None, hide_below: float
) -> Measured:
    """Measure what a mapping bounds of a table, as its audit does; of the fitted people where that cannot be told."""
    try:
        rows = engines.distinct_rows(mapping.counts.domain, table, mapping.problem.csv, weighting)
        met = meeting(mapping.release_mode.with_missing(missing), rows)
        parity = distances(with_own_target(mapping.problem, mapping.counts), met.counts, met.kernel)
    except EvenhandError:
        return _of_fitted(mapping, hide_below, OF_THE_FITTED)
    return bounded(met.counts, met.kernel, parity, hide_below), ""


def _read(
    a: Mapping,
    b: Mapping,
    table: AnyTable,
    weighting: Weighting | None,
    missing: Missing | None,
    hide_below: float,
) -> _Met:
    """Take the people of a table; those of an outcome or a group that the second mapping does not know are left out."""
    engines.refuse_mistaken(table, b.problem.csv, weighting)
    given = engines.opened(table, b.problem.csv)
    counted = tables.weights_of(b.problem.columns, given.table, weighting)
    weight = np.ones(len(given.table)) if counted is None else counted
    each = np.ones(len(weight)) if weighting is None else weighting.people(weight)
    if not len(weight):
        raise DataError("the table has no rows")
    modes = [each.release_mode.with_missing(missing) for each in (a, b)]
    located = [locate(mode, given.table, text=given.text) for mode in modes]
    d, new = tables.cells(domain_with(b.counts.domain, missing).d, given.table, text=given.text)
    x, y = located[1].own()
    other = located[0].own()[1]
    kept = np.flatnonzero(~new & (y != NO_LEVEL) & (other != NO_LEVEL) & (weight > 0))
    if not len(kept):
        raise DataError("nobody in the table has a group and an outcome that both mappings know")
    kind = [each.kind()[kept] for each in located]
    # People who are the same to both mappings are looked at once.
    key, first, place = np.unique(np.column_stack([*kind, d[kept]]), axis=0, return_index=True, return_inverse=True)
    weighed = sums(place.ravel(), weight[kept], len(key))
    people = sums(place.ravel(), each[kept], len(key))
    return _Met(
        f"the {people.sum():,.0f} people of the table",
        weighed,
        people,
        (d[kept][first], x[kept][first], y[kept][first]),
        treated(modes[0], located[0].kinds, key[:, 0], a.problem),
        treated(modes[1], located[1].kinds, key[:, 1], b.problem),
        (_of_table(a, table, weighting, missing, hide_below), _of_table(b, table, weighting, missing, hide_below)),
        bool((weight[kept] != each[kept]).any()),
        int(each.sum() - people.sum()),
    )


def _compared(a: Mapping, b: Mapping, met: _Met, names: tuple[str, ...] | None, hide_below: float) -> Comparison:
    domain = b.counts.domain
    d, _, y = met.cells
    groups, place = np.unique(d, return_inverse=True)
    size, total = sums(place, met.weight, len(groups)), float(met.weight.sum())
    people = sums(place, met.people, len(groups))
    outcome, record = outcomes_apart(met.a, met.b), records_apart(met.a, met.b)
    labels = tables.labels(domain.d, groups)
    codes = domain.d.unravel(groups)
    shown = combinations_shown(codes, people, hide_below)[tuple(range(len(codes)))]

    def by_group(values: Numbers) -> Numbers:
        return np.asarray(sums(place, met.weight * values, len(groups)) / size)

    before = np.eye(domain.y.size)[y]
    after = [each.outcomes(domain) for each in (met.a, met.b)]
    rates = [np.column_stack([by_group(column) for column in each.T]).ravel() for each in (before, *after)]
    n = domain.y.size
    repeated = {name: np.repeat(np.asarray(values, dtype=object), n) for name, values in labels.items()}
    levels = np.tile(np.asarray(domain.outcome.levels, dtype=object), len(groups))
    columns = dict(zip(("before", "after_a", "after_b"), rates, strict=True))
    each = {"people": np.repeat(people, n), "weight": np.repeat(size, n)}
    apart = {"other_outcome": by_group(outcome)} | ({} if record is None else {"other_record": by_group(record)})
    return Comparison(
        about=met.about,
        people=total,
        mappings=_mappings(a, b, names),
        statement=_statement(a, b),
        bounds=_bounds(met),
        rates=tables.beside(
            {**repeated, domain.outcome.name: levels}, {**each, **columns, "shown": np.repeat(shown, n)}
        ),
        groups=tables.beside(
            labels,
            {
                "people": people,
                "weight": size,
                "changed_a": by_group(met.a.each(met.a.changed)),
                "changed_b": by_group(met.b.each(met.b.changed)),
                **apart,
                "shown": shown,
            },
        ),
        costs=_costs(a, b, met),
        cells=_cells(domain, met, outcome, record, after, np.isin(d, groups[shown]), hide_below),
        notes=tuple(_notes(a, b, met, record)),
        outcome=domain.outcome.name,
        levels=domain.outcome.levels,
        shown=tuple(domain.outcome.levels[i] for i in _told(b, domain)),
        losses_compare=record is not None and _measure(a) == _measure(b),
        weighed=met.weighed,
        hide_below=hide_below,
    )


def _mappings(a: Mapping, b: Mapping, names: tuple[str, ...] | None) -> pd.DataFrame:
    """List what tells the two from others once a page is passed on."""
    one, other = (storage.fingerprint(each.problem, each.counts, each.kernel) for each in (a, b))
    named = [] if names is None else [("name", names[0], names[1])]
    return _listed("what", [*named, ("fingerprint", one, other)])


def _bounds(met: _Met) -> pd.DataFrame:
    rows = [
        {
            "mapping": name,
            "constraint": each.words,
            "where": each.where.strip(),
            "bound": each.bound,
            "before": each.before and each.before.said,
            "after": each.after and each.after.said,
            "furthest_before": each.before and _pair(each.before),
            "furthest_after": each.after and _pair(each.after),
            "comparisons_hidden": each.hidden,
            "whose": whose.lstrip(", "),
        }
        for name, (bounds, whose) in zip("AB", met.bounds, strict=True)
        for each in bounds
    ]
    columns = list(rows[0]) if rows else ["mapping"]
    return _with_none({name: [row[name] for row in rows] for name in columns})


def _pair(found: Furthest) -> str:
    return f"{found.outcome}: {found.of} {found.rate:.1%}, {found.against} {found.other:.1%}"


def _told(b: Mapping, domain: Domain) -> tuple[int, ...]:
    """Return the outcomes that are told: the favourable one where it is named, else those worth showing."""
    good = b.problem.favourable
    code = None if good is None else domain.outcome.place(good)
    return domain.shown_outcomes if code is None else (code,)


def _statement(a: Mapping, b: Mapping) -> pd.DataFrame:
    try:
        found = differences(a.problem, b.problem)
    except SpecError:
        # A measure of a user's own has no TOML; what is asked has words.
        one, other = (list(facts(each.problem.sections[0].facts)) for each in (a, b))
        found = [(name, text, None) for name, text in one if (name, text) not in other]
        found += [(name, None, text) for name, text in other if (name, text) not in one]
    return _listed("setting", found)


def _costs(a: Mapping, b: Mapping, met: _Met) -> pd.DataFrame:
    rows: list[tuple[str, Any, Any]] = []

    def add(what: str, of: Any) -> None:
        rows.append((what, of(a, met.a), of(b, met.b)))

    total = float(met.weight.sum())
    add("measure", lambda m, _: _measure(m))
    add("utility loss", lambda m, _: m.objective)
    add("lower bound", lambda m, _: m.certificate.lower_bound)
    add("gap", lambda m, _: m.certificate.gap)
    add("largest violation", lambda m, _: m.certificate.max_violation)
    add("certificate", lambda m, _: m.certificate.status)
    add("people fitted", lambda m, _: m.counts.people)
    add("cells fitted", lambda m, _: len(m.counts))
    add("people changed", lambda _, t: float(met.weight @ t.each(t.changed)))
    add("share changed", lambda _, t: float(met.weight @ t.each(t.changed)) / total)
    add("mean expected distortion", lambda _, t: float(met.weight @ t.each(t.cost)) / total)
    add("people in cells that nobody had", lambda _, t: float(met.weight[~t.known].sum()))
    most = max(len(m.problem.parity) for m in (a, b))
    prices = [m.prices().parity if m.has_prices else [] for m in (a, b)]
    for i in range(most):
        one, other = (float(each[i]) if i < len(each) else None for each in prices)
        rows.append((f"price of parity[{i}]", one, other))
    return _listed("what", rows)


def _listed(first: str, rows: Sequence[tuple[Any, Any, Any]]) -> pd.DataFrame:
    """Return rows of a name and two values of any kind, None where there is none."""
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return _with_none(dict(zip((first, "a", "b"), columns, strict=True)))


def _with_none(columns: dict[str, Sequence[Any]]) -> pd.DataFrame:
    """Return a frame of values of any kind, in which None stays what it is."""
    found = tables.frame({name: np.array(values, dtype=object) for name, values in columns.items()}).astype(object)
    return found.where(found.notna(), None)


def _measure(mapping: Mapping) -> str:
    """Name what a mapping's utility loss is measured by."""
    measure = mapping.problem.utility
    return str(getattr(measure, "name", type(measure).__name__))


def _cells(
    domain: Domain,
    met: _Met,
    outcome: Numbers,
    record: Numbers | None,
    after: list[Numbers],
    in_shown_group: Flags,
    hide_below: float,
) -> pd.DataFrame:
    """List the cells of B in which results differ, by how many people that is."""
    d, x, y = met.cells
    differs = outcome if record is None else np.maximum(outcome, record)
    found = np.flatnonzero((differs > TREATED_ALIKE) & (x != NO_LEVEL))
    key = domain.dxy(d[found], x[found], y[found])
    cells, first, place = np.unique(key, return_index=True, return_inverse=True)
    weight = sums(place, met.weight[found], len(cells))

    def mean(values: Numbers) -> Numbers:
        return np.asarray(
            sums(place, met.weight[found] * values[found], len(cells)) / np.where(weight > 0, weight, 1.0)
        )

    at = found[first]
    who = tables.labels(domain.d, d[at]) | tables.labels(domain.x, x[at]) | tables.labels(domain.y, y[at])
    people = sums(place, met.people[found], len(cells))
    group = np.unique(d[at], return_inverse=True)[1]
    shown = complementary(people, in_shown_group[at] & (people >= hide_below), [group], hide_below)
    numbers = {"people": people, "weight": weight}
    for code, level in enumerate(domain.outcome.levels):
        numbers |= {f"{level}: a": mean(after[0][:, code]), f"{level}: b": mean(after[1][:, code])}
    numbers["other_outcome"] = mean(outcome)
    if record is not None:
        numbers["other_record"] = mean(record)
    listed = tables.beside(who, {**numbers, "shown": shown})
    order = np.argsort(-(weight * mean(differs)), kind="stable")
    return listed.iloc[order].reset_index(drop=True)


def _notes(a: Mapping, b: Mapping, met: _Met, record: Numbers | None) -> Iterator[str]:
    if tuple(a.problem.protected) != tuple(b.problem.protected):
        one, other = (", ".join(each.problem.protected) for each in (a, b))
        yield f"A protects {one}, B {other}: rates are by the groups of B"
    if record is None:
        yield "features are not the same in both, or have other levels: outcomes are compared, records are not"
    if met.left_out:
        yield f"left out: {counted(met.left_out, 'row')} of the table with an unknown group or outcome"
    for name, each in (("A", met.a), ("B", met.b)):
        new = float(met.weight[~each.known].sum())
        if new:
            yield f"{counted(new, 'person', 'people')} in cells not seen when {name} was fitted"
    if _measure(a) != _measure(b):
        yield "the two lose what different measures measure, so that their utility losses cannot be compared"
    elif record is None:
        yield "the utility losses are about other columns or levels, so that they cannot be compared"
    elif a.counts.people != b.counts.people or not np.array_equal(a.counts.sources, b.counts.sources):
        yield "utility losses are each about the table that the mapping was fitted on"


def _words(found: Comparison) -> Iterator[str]:
    settings = found.statement.to_dict("records")
    if not settings:
        yield "The two statements are the same."
    else:
        some = "; ".join(f"{row['setting']} {_said(row['a'])} → {_said(row['b'])}" for row in settings[:MOST_TOLD])
        more = f"; and {len(settings) - MOST_TOLD} more" if len(settings) > MOST_TOLD else ""
        differ = "one setting differs" if len(settings) == 1 else f"{len(settings)} settings differ"
        yield f"Of the statements {differ}: {some}{more}."
    for name in "AB":
        yield _apart(name, [row for row in found.bounds.to_dict("records") if row["mapping"] == name])
    costs = {row["what"]: row for row in found.costs.to_dict("records")}
    changed = costs["people changed"]
    yield (
        f"Of {_unit(found).write(found.people)} A changes about {_of(changed['a'], found)}, "
        f"B about {_of(changed['b'], found)}."
    )
    yield from _differently(found)
    loss = costs["utility loss"]
    if found.losses_compare:
        yield f"The utility loss is {loss['a']:.7f} with A and {loss['b']:.7f} with B ({costs['measure']['a']})."
    status = costs["certificate"]
    yield f"The certificate of A is {status['a']}, that of B is {status['b']}."


def _apart(name: str, rows: Sequence[dict[Any, Any]]) -> str:
    """Say how far apart the rates are that a mapping bounds first, before and after, in the words of its distance."""
    if not rows:
        return f"{name} has no parity bound."
    first = rows[0]
    which = (
        f"The parity constraint of {name}"
        if len(rows) == 1
        else f"The first of {len(rows)} parity constraints of {name}"
    )
    stated = f"{which} requires {first['bound'] or 'nothing'}{' ' * bool(first['where'])}{first['where']}"
    if first["before"] is None:
        return f"{stated}; the groups that it compares are not shown."
    among = ", among groups that are shown" if first["comparisons_hidden"] else ""
    whose = f", {first['whose']}" if first["whose"] else ""
    others = [row for row in rows[1:] if row["before"] is not None]
    also = "; ".join(f"{row['constraint']}: {row['before']} → {row['after']}" for row in others)
    return (
        f"{stated}: at worst {first['before']} before ({first['furthest_before']}), {first['after']} with {name} "
        f"({first['furthest_after']}){among}{whose}.{f' Also {also}.' if also else ''}"
    )


def _differently(found: Comparison) -> Iterator[str]:
    weight, other = found.groups["weight"], found.groups["other_outcome"]
    number = float((weight * other).sum())
    if not len(found.cells):
        yield "Nobody is treated differently: both give everybody the same results with the same probabilities."
        return
    by_record = float((weight * found.groups["other_record"]).sum()) if "other_record" in found.groups else None
    records = "" if by_record is None else f"; another record, at least {_of(by_record, found)}"
    yield (
        f"In expectation over the draws, at least {_of(number, found, _unit(found))} get another outcome from "
        f"B than from A{records}."
    )
    shown = found.groups[found.groups["shown"]].sort_values("other_outcome", kind="stable")
    if len(shown) > 1 and shown["other_outcome"].iloc[-1] > TREATED_ALIKE:
        most = shown.to_dict("records")[-1]
        among = "" if len(shown) == len(found.groups) else ", of the groups that are shown,"
        yield f"Most of all{among} it is {in_words(_who(found.groups, most))}: {most['other_outcome']:.1%} of them."
    listed = found.cells[found.cells["shown"] & (found.cells["other_outcome"] > WORTH_TELLING)]
    for row in listed.head(MOST_TOLD).to_dict("records"):
        told = [level for level in found.shown if _differ(row, level) >= WORTH_TELLING]
        chances = ", ".join(
            f"{found.outcome}={level} in {row[f'{level}: a']:.0%} of cases with A, {row[f'{level}: b']:.0%} with B"
            for level in told or [max(found.levels, key=lambda level: _differ(row, level))]
        )
        yield f"{in_words(_who(found.cells, row))} ({row['people']:,.0f} people): {chances}."


def _differ(row: dict[Any, Any], level: Any) -> float:
    return float(abs(row[f"{level}: a"] - row[f"{level}: b"]))


def _who(table: pd.DataFrame, row: dict[Any, Any]) -> dict[str, Any]:
    """Return what names the people of a row: the columns before their number."""
    own = table.columns[: list(table.columns).index("people")]
    return {str(name).removesuffix(tables.SET_APART): row[name] for name in own}


def _of(number: float, found: Comparison, whom: str = "") -> str:
    """Write a number of people with their share of all."""
    return f"{number:,.0f}{' ' * bool(whom)}{whom} ({number / found.people:.1%})"


def _unit(found: Comparison) -> Unit:
    return Unit.of(weighed=found.weighed)


def _said(value: Any) -> str:
    return "(not there)" if value is None else shortened(str(value))
