"""Two mappings compared: what was stated, what comes of it, and who is treated differently.

The one place that joins statements, certificates, prices and what happens to people into an answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Mapping_
from dataclasses import dataclass, replace
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
from evenhand.findings.discretion import combinations_shown, complementary, discreet
from evenhand.findings.document import MOST_TOLD
from evenhand.findings.new_people import meeting, with_own_target
from evenhand.kernel.achieved import distances
from evenhand.mapping import Mapping
from evenhand.render.finding import Finding
from evenhand.render.page import page
from evenhand.render.section import Fact, Kind, Note, Section, Table
from evenhand.render.sentences import facts, sentence
from evenhand.tables.transforming import Missing, domain_with, kinds_of, locate
from evenhand.text import counted
from evenhand.tolerances import TREATED_ALIKE

if TYPE_CHECKING:
    import pandas as pd

WORTH_TELLING = 0.005
"""Cells are told in words where at least this share gets another outcome: less is written as the same percentage."""

MOST_CELLS = 12
"""So many cells are shown; JSON has all that are passed on."""

KINDS: dict[str, dict[str, Kind]] = {
    "mappings": {"what": "text", "a": "text", "b": "text"},
    "statement": {"setting": "text", "a": "cut", "b": "cut"},
    "bounds": {
        "mapping": "text", "constraint": "text", "where": "text", "bound": "text", "before": "text", "after": "text",
        "furthest_before": "text", "furthest_after": "text", "comparisons_hidden": "number", "whose": "text",
    },
    "rates": {"people": "people", "weight": "weight", "before": "rate", "after_a": "rate", "after_b": "rate"},
    "groups": {
        "people": "people", "weight": "weight", "changed_a": "rate", "changed_b": "rate", "other_outcome": "rate",
        "other_record": "rate",
    },
    "cells": {"people": "people", "weight": "weight", "other_outcome": "rate", "other_record": "rate"},
    "costs": {"what": "text", "a": "number", "b": "number"},
}  # fmt: skip
"""The columns of a comparison's tables that are no columns of the user's."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Finding):
    """What two mappings, A and B, do to the same people.

    Attributes
    ----------
    about : Note
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
        than ``hide_below``, nor those that would reveal one. The sections, and what is made of them, leave the others
        out.
    notes : tuple of Note
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

    about: Note
    people: float
    mappings: pd.DataFrame
    statement: pd.DataFrame
    bounds: pd.DataFrame
    rates: pd.DataFrame
    groups: pd.DataFrame
    costs: pd.DataFrame
    cells: pd.DataFrame
    notes: tuple[Note, ...]
    outcome: str
    levels: tuple[Any, ...]
    shown: tuple[Any, ...]
    losses_compare: bool
    weighed: bool
    hide_below: float

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Everything that is passed on as data, the most important first."""
        return discreet(_sections(self), _Shown(self.hide_below))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a page that needs no network; return its path."""
        file = Path(check.path("path", path))
        text = page(sentence(Note("compared.title")), self.sections)
        replace_file(file, text.encode(errors="backslashreplace"))
        return file

    def __repr__(self) -> str:
        return f"<Comparison on {_unit(self).write(self.people)}: {self.sentences('compared')[0]}>"


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
        Groups and cells of fewer people, and those that would reveal one, are left out of the sections, and of text,
        page and JSON, which are made of them.

    Returns
    -------
    Comparison
        Frames, sections that ``print`` shows, and a page (``save``).

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

    about: Note
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


def _about(a: Counts, b: Counts, *, same: bool) -> Note:
    """Return whom the two were fitted on. Counts name nobody: who are alike in all that both know may be the same."""
    fields = {"people": b.people, "others": a.people}
    if same:
        return Note("compared.both_fitted", fields)
    if a.domain != b.domain and may_be_the_same(a, b):
        return Note("compared.same_people", fields)
    return Note("compared.other_people", fields)


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
    read = engines.read_as((*a.counts.domain.variables, *b.counts.domain.variables))
    given = engines.opened(table, b.problem.csv, columns=read)
    counted = tables.weights_of(b.problem.columns, given, weighting)
    weight = np.ones(len(given)) if counted is None else counted
    each = np.ones(len(weight)) if weighting is None else weighting.people(weight)
    if not len(weight):
        raise DataError("the table has no rows")
    modes = [each.release_mode.with_missing(missing) for each in (a, b)]
    located = [locate(mode, given) for mode in modes]
    d, new = tables.cells(domain_with(b.counts.domain, missing).d, given)
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
        Note("compared.table", {"people": people.sum()}),
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
    named = [] if names is None else [("name", names[0], names[1])]
    return _listed("what", [*named, ("fingerprint", a.fingerprint, b.fingerprint)])


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
        numbers |= {by: mean(of[:, code]) for by, of in zip(_by(level), after, strict=True)}
    numbers["other_outcome"] = mean(outcome)
    if record is not None:
        numbers["other_record"] = mean(record)
    listed = tables.beside(who, {**numbers, "shown": shown})
    order = np.argsort(-(weight * mean(differs)), kind="stable")
    return listed.iloc[order].reset_index(drop=True)


def _by(level: Any) -> tuple[str, str]:
    """Return what the columns of an outcome's probability are called, by A and by B."""
    return f"{level} by A", f"{level} by B"


def _notes(a: Mapping, b: Mapping, met: _Met, record: Numbers | None) -> Iterator[Note]:
    if tuple(a.problem.protected) != tuple(b.problem.protected):
        yield Note("compared.protected", {"a": list(a.problem.protected), "b": list(b.problem.protected)})
    if record is None:
        yield Note("compared.no_records")
    if met.left_out:
        yield Note("compared.left_out", {"rows": met.left_out})
    for name, each in (("A", met.a), ("B", met.b)):
        new = float(met.weight[~each.known].sum())
        if new:
            yield Note("compared.new_cells", {"people": counted(new, "person", "people"), "mapping": name})
    if _measure(a) != _measure(b):
        yield Note("compared.other_measures")
    elif record is None:
        yield Note("compared.other_columns")
    elif a.counts.people != b.counts.people or not np.array_equal(a.counts.sources, b.counts.sources):
        yield Note("compared.own_tables")


def _sections(found: Comparison) -> Iterator[Section]:
    named: dict[str, dict[Any, Any]] = {row["what"]: row for row in found.mappings.to_dict("records")}
    key = "compared.named" if "name" in named else "compared.fingerprint"
    called = [Note(key, {what: row[which] for what, row in named.items()}) for which in "ab"]
    facts = [Fact("a", called[0]), Fact("b", called[1]), Fact("compared_on", found.about)]
    facts += [Fact(name, getattr(found, name), detail=True) for name in ("people", "weighed", "hide_below")]
    yield Section(
        "compared", facts=tuple(facts), tables=(Table.of("mappings", found.mappings, KINDS["mappings"], most=0),),
        notes=(*_differences(found), *found.notes),
    )  # fmt: skip
    yield Section("compared_statement", tables=(Table.of("statement", found.statement, KINDS["statement"]),))
    detail = ("where", "furthest_before", "furthest_after", "comparisons_hidden", "whose")
    yield Section("compared_bounds", tables=(Table.of("bounds", found.bounds, KINDS["bounds"], detail=detail),))
    yield _told_rows(found, "rates", fields={"outcome": found.outcome})
    yield _told_rows(found, "groups")
    yield Section("compared_costs", tables=(Table.of("costs", found.costs, KINDS["costs"]),))
    beside = [name for level in found.levels if level not in found.shown for name in _by(level)]
    yield _told_rows(found, "cells", detail=beside, most=MOST_CELLS)


def _told_rows(found: Comparison, key: str, fields: Mapping_[str, Any] | None = None, **how: Any) -> Section:
    """Return a table of people, of which those are passed on that may be."""
    everybody: pd.DataFrame = getattr(found, key)
    about = [(bool(shown),) for shown in everybody["shown"]]
    plain = everybody.drop(columns=["shown"] if found.weighed else ["shown", "weight"])
    table = Table.of(key, plain, KINDS[key], about=about, **how)
    likely = {name for level in found.levels for name in _by(level)} if key == "cells" else set()
    columns = tuple(replace(each, kind="rate") if each.name in likely else each for each in table.columns)
    return Section(f"compared_{key}", tables=(replace(table, columns=columns),), fields=fields or {})


@dataclass(frozen=True)
class _Shown:
    """Who is passed on: rows say it themselves."""

    hide_below: float

    def may_name(self, about: bool) -> bool:
        return about

    def passed_on(self, table: Table) -> Table:
        return table.kept(at for at, (shown,) in enumerate(table.about) if shown) if table.about else table


def _differences(found: Comparison) -> Iterator[Note]:
    """Yield the differences, the most important first."""
    settings = found.statement.to_dict("records")
    if not settings:
        yield Note("compared.same_statement")
    else:
        absent = Note("compared.absent")
        some = [
            Note("compared.setting", {str(name): absent if value is None else value for name, value in row.items()})
            for row in settings[:MOST_TOLD]
        ]
        more = Note("compared.more", {"more": len(settings) - MOST_TOLD}) if len(settings) > MOST_TOLD else None
        key = "compared.one_setting" if len(settings) == 1 else "compared.settings"
        yield Note(key, {"number": len(settings), "settings": some, "more": more})
    for name in "AB":
        yield _apart(name, [row for row in found.bounds.to_dict("records") if row["mapping"] == name])
    costs: dict[str, dict[Any, Any]] = {row["what"]: row for row in found.costs.to_dict("records")}
    changed = {which: _of(costs["people changed"][which], found) for which in "ab"}
    yield Note("compared.changed", {"everybody": _unit(found).write(found.people), **changed})
    yield from _differently(found)
    loss = costs["utility loss"]
    if found.losses_compare:
        yield Note("compared.losses", {"a": loss["a"], "b": loss["b"], "measure": costs["measure"]["a"]})
    yield Note("compared.certificates", costs["certificate"])


def _apart(name: str, rows: Sequence[dict[Any, Any]]) -> Note:
    """Return how far apart the rates are that a mapping bounds first, before and after, as its distance says it."""
    if not rows:
        return Note("compared.no_parity", {"mapping": name})
    first = rows[0]
    key = "compared.one_constraint" if len(rows) == 1 else "compared.first_constraint"
    where = Note("compared.where", first) if first["where"] else None
    bound = first["bound"] or Note("compared.nothing")
    stated = Note(key, {"mapping": name, "number": len(rows), "bound": bound, "where": where})
    if first["before"] is None:
        return Note("compared.constraint_hidden", {"stated": stated})
    others = [Note("compared.other_constraint", row) for row in rows[1:] if row["before"] is not None]
    optional = {
        "among": Note("compared.among") if first["comparisons_hidden"] else None,
        "whose": Note("compared.whose", first) if first["whose"] else None,
        "also": Note("compared.also", {"others": others}) if others else None,
    }
    return Note("compared.worst", {**first, **optional, "stated": stated, "mapping": name})


def _differently(found: Comparison) -> Iterator[Note]:
    if not len(found.cells):
        yield Note("compared.nobody")
        return
    weight = found.groups["weight"]
    outcome = _of(float((weight * found.groups["other_outcome"]).sum()), found, unit=True)
    records = None
    if "other_record" in found.groups:
        by_record = float((weight * found.groups["other_record"]).sum())
        records = Note("compared.records", {"records": _of(by_record, found)})
    yield Note("compared.differently", {"outcome": outcome, "records": records})
    shown = found.groups[found.groups["shown"]].sort_values("other_outcome", kind="stable")
    if len(shown) > 1 and shown["other_outcome"].iloc[-1] > TREATED_ALIKE:
        most = shown.to_dict("records")[-1]
        among = None if len(shown) == len(found.groups) else Note("compared.most_among")
        group = in_words(_who(found.groups, most))
        yield Note("compared.most", {"among": among, "group": group, "share": most["other_outcome"]})
    listed = found.cells[found.cells["shown"] & (found.cells["other_outcome"] > WORTH_TELLING)]
    for row in listed.head(MOST_TOLD).to_dict("records"):
        told = [level for level in found.shown if _differ(row, level) >= WORTH_TELLING]
        chances = []
        for level in told or [max(found.levels, key=lambda level: _differ(row, level))]:
            a, b = (row[name] for name in _by(level))
            chances.append(Note("compared.chance", {"outcome": f"{found.outcome}={level}", "a": a, "b": b}))
        who = in_words(_who(found.cells, row))
        yield Note("compared.cell", {"who": who, "people": row["people"], "chances": chances})


def _differ(row: dict[Any, Any], level: Any) -> float:
    a, b = (row[name] for name in _by(level))
    return float(abs(a - b))


def _who(table: pd.DataFrame, row: dict[Any, Any]) -> dict[str, Any]:
    """Return what names the people of a row: the columns before their number."""
    own = table.columns[: list(table.columns).index("people")]
    return {str(name).removesuffix(tables.SET_APART): row[name] for name in own}


def _of(number: float, found: Comparison, *, unit: bool = False) -> Note:
    """Return a number of people with their share of all."""
    whom = Note("compared.unit", {"unit": str(_unit(found))}) if unit else None
    return Note("compared.people", {"number": number, "unit": whom, "share": number / found.people})


def _unit(found: Comparison) -> Unit:
    return Unit.of(weighed=found.weighed)
