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
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import check, engines, tables
from evenhand.arrays import Numbers, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import checked_weights
from evenhand.data.domain import Domain, in_words
from evenhand.data.levels import UNSEEN as NO_LEVEL
from evenhand.engines import AnyTable
from evenhand.errors import DataError, SpecError
from evenhand.files import replace_file
from evenhand.findings.comparing import (
    Treated,
    differences,
    levels_for,
    outcomes_apart,
    records_apart,
    refuse_other_outcomes,
    treated,
)
from evenhand.findings.document import plain
from evenhand.report.comparison import comparison_page
from evenhand.report.words import asked
from evenhand.tables.transforming import kinds_of, locate
from evenhand.use.mapping import Mapping

if TYPE_CHECKING:
    import pandas as pd

MOST_TOLD = 5
"""So many cells that are treated differently are told in words; the frame has them all."""

WORTH_TELLING = 0.005
"""Cells are told in words where at least this share gets another outcome: less is written as the same percentage."""

ALIKE = 1e-6
"""People whose results differ by less are treated alike: solvers stop somewhere."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What two mappings, A and B, do to the same people.

    Attributes
    ----------
    about : str
        Who these people are.
    people : float
        How many they are, by weight.
    statement : pandas.DataFrame
        Every setting in which the two statements differ: where, what A says and what B says.
    rates : pandas.DataFrame
        For each of B's groups and each outcome: its weight, and its rate before, after A and after B.
    groups : pandas.DataFrame
        For each of B's groups: its weight, the shares that A and B change, and at least which share of them gets
        another outcome, or another record, from B than from A.
    costs : pandas.DataFrame
        What each costs: the certificate and its numbers on the table that each was fitted on, people changed and
        expected distortion among these people, and the price of each parity bound.
    cells : pandas.DataFrame
        For each cell of B in which people are treated differently, most people first: who is in it, how many, each
        outcome's probability from A and B, and at least which share gets another outcome, or another record.
    notes : tuple of str
        What could not be compared.
    outcome, levels, shown : str, tuple, tuple
        The outcome that both release, its levels, and those of them that are told in words.
    """

    about: str
    people: float
    statement: pd.DataFrame
    rates: pd.DataFrame
    groups: pd.DataFrame
    costs: pd.DataFrame
    cells: pd.DataFrame
    notes: tuple[str, ...]
    outcome: str
    levels: tuple[Any, ...]
    shown: tuple[Any, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The differences in sentences, the most important first."""
        return tuple(_words(self))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, which JSON can hold."""
        names = ("about", "people", "words", "notes", "statement", "rates", "groups", "costs", "cells")
        return {name: plain(getattr(self, name)) for name in names}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a page that needs no network; return its path. Needs the extra ``charts``."""
        page = Path(check.path("path", path))
        replace_file(page, comparison_page(self.as_dict(), FEW_PEOPLE).encode(errors="backslashreplace"))
        return page

    def __repr__(self) -> str:
        return f"<Comparison on {self.people:,.0f} people: {self.words[0]}>"


def compare(
    a: Mapping,
    b: Mapping,
    table: AnyTable | None = None,
    *,
    weights: str | Sequence[float] | None = None,
) -> Comparison:
    """Say in what two mappings differ, and who is treated differently by them.

    Parameters
    ----------
    a, b : Mapping
        The two, such as an earlier version and a later one. They must release the same outcome.
    table : dataframe or path, optional
        The people who are compared; by default those whom ``b`` was fitted on. It is read into memory.
    weights : str or sequence of float, optional
        With ``table``: a column of it, or one number per row.

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
    >>> found.words[1]
    'Rates of is_recid=0 are 1.55 times apart before, 1.06 times with A and 1.13 times with B.'
    """
    check.kind("a", a, Mapping, "an eh.Mapping")
    check.kind("b", b, Mapping, "an eh.Mapping")
    if weights is not None and table is None:
        raise SpecError("weights go with a table; the fitted people have their own")
    refuse_other_outcomes(a.counts.domain, b.counts.domain)
    met = _fitted(a, b) if table is None else _read(a, b, table, weights)
    return _compared(a, b, met)


@dataclass(frozen=True, eq=False)
class _Met:
    """People with what each mapping makes of them; d, x and y are B's cells of each."""

    about: str
    weight: Numbers
    people: Numbers
    cells: tuple[Any, Any, Any]
    a: Treated
    b: Treated
    left_out: int = 0


def _fitted(a: Mapping, b: Mapping) -> _Met:
    """Take the people whom the second mapping was fitted on."""
    counts, kind = b.counts, np.arange(len(b.counts))
    each = [kinds_of(mode, levels_for(mode.domain, counts)) for mode in (a.release_mode, b.release_mode)]
    same = a.counts.domain == counts.domain and np.array_equal(a.counts.sources, counts.sources)
    about = f"the {counts.people:,} people on whom both were fitted"
    if not same or not np.allclose(a.counts.weight, counts.weight):
        about = f"the {counts.people:,} people on whom B was fitted; A was fitted on {a.counts.people:,} others"
    return _Met(
        about,
        counts.weight,
        counts.unweighted.weight,
        (counts.d, counts.x, counts.y),
        treated(a.release_mode, each[0], kind, a.problem),
        treated(b.release_mode, each[1], kind, b.problem),
    )


def _read(a: Mapping, b: Mapping, table: AnyTable, weights: str | Sequence[float] | None) -> _Met:
    """Take the people of a table; those of an outcome or a group that the second mapping does not know are left out."""
    given = engines.opened(table, b.problem.csv)
    weight = tables.weights_of(b.problem.columns, given.table, weights)
    weight = np.ones(len(given.table)) if weight is None else checked_weights(weight)
    if not len(weight):
        raise DataError("the table has no rows")
    located = [locate(mode, given.table, text=given.text) for mode in (a.release_mode, b.release_mode)]
    d, new = tables.cells(b.counts.domain.d, given.table, text=given.text)
    x, y = located[1].own()
    other = located[0].own()[1]
    kept = np.flatnonzero(~new & (y != NO_LEVEL) & (other != NO_LEVEL) & (weight > 0))
    if not len(kept):
        raise DataError("nobody in the table has a group and an outcome that both mappings know")
    kind = [each.kind()[kept] for each in located]
    # People who are the same to both mappings are looked at once.
    key, first, place = np.unique(np.column_stack([*kind, d[kept]]), axis=0, return_index=True, return_inverse=True)
    weighed = sums(place.ravel(), weight[kept], len(key))
    people = np.bincount(place.ravel(), minlength=len(key)).astype(float)
    return _Met(
        f"the {len(kept):,} people of the table",
        weighed,
        people,
        (d[kept][first], x[kept][first], y[kept][first]),
        treated(a.release_mode, located[0].kinds, key[:, 0], a.problem),
        treated(b.release_mode, located[1].kinds, key[:, 1], b.problem),
        len(weight) - len(kept),
    )


def _compared(a: Mapping, b: Mapping, met: _Met) -> Comparison:
    domain = b.counts.domain
    d, _, y = met.cells
    groups, place = np.unique(d, return_inverse=True)
    size, total = sums(place, met.weight, len(groups)), float(met.weight.sum())
    outcome, record = outcomes_apart(met.a, met.b), records_apart(met.a, met.b)
    names = tables.labels(domain.d, groups)

    def by_group(values: Numbers) -> Numbers:
        return np.asarray(sums(place, met.weight * values, len(groups)) / size)

    before = np.eye(domain.y.size)[y]
    after = [each.outcomes(domain) for each in (met.a, met.b)]
    rates = [np.column_stack([by_group(column) for column in each.T]).ravel() for each in (before, *after)]
    n = domain.y.size
    repeated = {name: np.repeat(np.asarray(values, dtype=object), n) for name, values in names.items()}
    levels = np.tile(np.asarray(domain.outcome.levels, dtype=object), len(groups))
    columns = dict(zip(("before", "after_a", "after_b"), rates, strict=True))
    apart = {"other_outcome": by_group(outcome)} | ({} if record is None else {"other_record": by_group(record)})
    return Comparison(
        about=met.about,
        people=total,
        statement=_statement(a, b),
        rates=tables.frame({**repeated, domain.outcome.name: levels, "weight": np.repeat(size, n), **columns}),
        groups=tables.frame(
            {
                **names,
                "weight": size,
                "changed_a": by_group(met.a.each(met.a.changed)),
                "changed_b": by_group(met.b.each(met.b.changed)),
                **apart,
            }
        ),
        costs=_costs(a, b, met),
        cells=_cells(domain, met, outcome, record, after),
        notes=tuple(_notes(a, b, met, record)),
        outcome=domain.outcome.name,
        levels=domain.outcome.levels,
        shown=tuple(domain.outcome.levels[i] for i in _told(b, domain)),
    )


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
        one, other = (list(asked(each.problem)) for each in (a, b))
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
    named = zip((first, "a", "b"), columns, strict=True)
    found = tables.frame({name: np.array(values, dtype=object) for name, values in named}).astype(object)
    return found.where(found.notna(), None)


def _measure(mapping: Mapping) -> str:
    """Name what a mapping's utility loss is measured by."""
    measure = mapping.problem.utility
    return str(getattr(measure, "name", type(measure).__name__))


def _cells(domain: Domain, met: _Met, outcome: Numbers, record: Numbers | None, after: list[Numbers]) -> pd.DataFrame:
    """List the cells of B in which results differ, by how many people that is."""
    d, x, y = met.cells
    differs = outcome if record is None else np.maximum(outcome, record)
    found = np.flatnonzero((differs > ALIKE) & (x != NO_LEVEL))
    key = domain.dxy(d[found], x[found], y[found])
    cells, first, place = np.unique(key, return_index=True, return_inverse=True)
    weight = sums(place, met.weight[found], len(cells))

    def mean(values: Numbers) -> Numbers:
        return np.asarray(
            sums(place, met.weight[found] * values[found], len(cells)) / np.where(weight > 0, weight, 1.0)
        )

    at = found[first]
    columns: dict[str, Any] = {
        **tables.labels(domain.d, d[at]),
        **tables.labels(domain.x, x[at]),
        **tables.labels(domain.y, y[at]),
        "people": sums(place, met.people[found], len(cells)),
        "weight": weight,
    }
    for code, level in enumerate(domain.outcome.levels):
        columns |= {f"{level}: a": mean(after[0][:, code]), f"{level}: b": mean(after[1][:, code])}
    columns["other_outcome"] = mean(outcome)
    if record is not None:
        columns["other_record"] = mean(record)
    listed = tables.frame(columns)
    order = np.argsort(-(weight * mean(differs)), kind="stable")
    return listed.iloc[order].reset_index(drop=True)


def _notes(a: Mapping, b: Mapping, met: _Met, record: Numbers | None) -> Iterator[str]:
    if tuple(a.problem.protected) != tuple(b.problem.protected):
        one, other = (", ".join(each.problem.protected) for each in (a, b))
        yield f"A protects {one}, B {other}: rates are by the groups of B"
    if record is None:
        yield "features are not the same in both, or have other levels: outcomes are compared, records are not"
    if met.left_out:
        yield f"{met.left_out:,} rows of the table have a group or an outcome that is not known, and are left out"
    for name, each in (("A", met.a), ("B", met.b)):
        new = float(met.weight[~each.known].sum())
        if new:
            yield f"{new:,.0f} people are in cells that nobody had whom {name} was fitted on"
    if _measure(a) != _measure(b):
        yield "the two lose what different measures measure, so that their utility losses cannot be compared"
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
    for level in found.shown:
        rows = found.rates[found.rates[found.outcome] == level]
        ratios = [_times(rows[name]) for name in ("before", "after_a", "after_b")]
        yield (
            f"Rates of {found.outcome}={level} are {ratios[0]} apart before, {ratios[1]} with A and {ratios[2]} with B."
        )
    costs = {row["what"]: row for row in found.costs.to_dict("records")}
    changed = costs["people changed"]
    yield (
        f"Of {found.people:,.0f} people A changes about {_of(changed['a'], found)}, B about {_of(changed['b'], found)}."
    )
    yield from _differently(found)
    loss = costs["utility loss"]
    if costs["measure"]["a"] == costs["measure"]["b"]:
        yield f"The utility loss is {loss['a']:.6g} with A and {loss['b']:.6g} with B ({costs['measure']['a']})."
    status = costs["certificate"]
    yield f"The certificate of A is {status['a']}, that of B is {status['b']}."


def _differently(found: Comparison) -> Iterator[str]:
    weight, other = found.groups["weight"], found.groups["other_outcome"]
    number = float((weight * other).sum())
    if not len(found.cells):
        yield "Nobody is treated differently: both give everybody the same results with the same probabilities."
        return
    by_record = float((weight * found.groups["other_record"]).sum()) if "other_record" in found.groups else None
    records = "" if by_record is None else f"; another record, at least {_of(by_record, found)}"
    yield (
        f"At least {_of(number, found)} people get another outcome from B than from A, however the draws are "
        f"made{records}."
    )
    names = [name for name in found.groups.columns if name not in BESIDE_GROUPS]
    most = found.groups.to_dict("records")[int(np.argmax(other))]
    if len(found.groups) > 1 and most["other_outcome"] > ALIKE:
        yield f"Most of all it is {in_words({n: most[n] for n in names})}: {most['other_outcome']:.1%} of them."
    listed = found.cells[(found.cells["people"] >= FEW_PEOPLE) & (found.cells["other_outcome"] > WORTH_TELLING)]
    for row in listed.head(MOST_TOLD).to_dict("records"):
        who = {name: row[name] for name in found.cells.columns[: list(found.cells.columns).index("people")]}
        chances = ", ".join(
            f"{found.outcome}={level} in {row[f'{level}: a']:.0%} of cases with A, {row[f'{level}: b']:.0%} with B"
            for level in found.shown
        )
        yield f"{in_words(who)} ({row['people']:,.0f} people): {chances}."


BESIDE_GROUPS = ("weight", "changed_a", "changed_b", "other_outcome", "other_record")


def _of(number: float, found: Comparison) -> str:
    """Write a number of people with their share of all."""
    return f"{number:,.0f} ({number / found.people:.1%})"


def _said(value: Any) -> str:
    return "(not there)" if value is None else str(value)


def _times(rates: Any) -> str:
    """Say how many times the largest of some rates is the smallest."""
    low, high = float(rates.min()), float(rates.max())
    return f"{high / low:.2f} times" if low > 0 else "infinitely many times" if high > 0 else "1.00 times"
