"""What two mappings do to the same people: their rates, who changes, and who is treated differently.

People are given as kinds of rows with weights, and each mapping as one of its modes. Knows modes, counts and
statements; nothing of files, or of how a mapping was found.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Variable
from evenhand.data.levels import UNSEEN as NO_LEVEL
from evenhand.errors import SpecError
from evenhand.findings.bounds import Furthest, constraints, furthest
from evenhand.findings.discretion import Discretion
from evenhand.findings.naming import source_codes
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import ParityAchieved
from evenhand.spec import Problem
from evenhand.spec.toml import literal
from evenhand.tables.transforming import Kinds, Levels, Transformer


def differences(a: Problem, b: Problem) -> list[tuple[str, str | None, str | None]]:
    """Return every place where two statements differ, and what each says there, as their TOML has it.

    None where one says nothing.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> problem = eh.datasets.load("compas").problem
    >>> differences(problem, replace(problem, parity=[eh.PairwiseParity(0.05)], blind=True))
    [('parity[0].bound', '0.1', '0.05'), ('blind', 'false', 'true')]
    """
    first, second = (dict(_flat(tomllib.loads(problem.to_toml()))) for problem in (a, b))
    return [(at, first.get(at), second.get(at)) for at in {**first, **second} if first.get(at) != second.get(at)]


def _flat(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{at}.{key}" if at else key)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{at}[{place}]")
    else:
        yield at, literal(value)


def refuse_other_outcomes(a: Domain, b: Domain) -> None:
    """Refuse two mappings whose released outcomes are not the same thing."""
    one, other = a.outcome, b.outcome
    if one.name != other.name:
        raise SpecError(
            f"the two mappings release different outcomes, {one.name!r} and {other.name!r}: there is nothing to compare"
        )
    if len(one) != len(other) or any(other.place(level) is None for level in one.levels):
        raise SpecError(
            f"the outcome {one.name!r} has the levels {list(one.levels)} in one mapping and {list(other.levels)} in "
            f"the other: there is nothing to compare"
        )


def may_be_the_same(a: Counts, b: Counts) -> bool:
    """Whether two tables are as of the same people with other columns: the columns that both have hold the same."""
    own = {variable.name: variable for variable in a.domain.variables}
    shared = [
        variable.name
        for variable in b.domain.variables
        if variable.name in own and variable.levels == own[variable.name].levels
    ]
    (one, first), (other, second) = (_joint(counts, shared) for counts in (a, b))
    return a.people == b.people and np.array_equal(one, other) and np.allclose(first, second)


def _joint(counts: Counts, names: Sequence[str]) -> tuple[Cells, Numbers]:
    """Return the combinations of levels of some columns, and the weight of each."""
    codes = source_codes(counts)
    key = np.column_stack([np.zeros(len(counts), np.int64), *(codes[name] for name in names)])
    cells, place = np.unique(key, axis=0, return_inverse=True)
    return cells, sums(place.ravel(), counts.weight, len(cells))


@dataclass(frozen=True)
class Bounded:
    """What one parity constraint measures of a table, before and after, at worst, of the comparisons that are shown.

    Attributes
    ----------
    words, where, bound : str
        What is asked, by which columns, and the bound as its distance says it.
    before, after : Furthest or None
        The two rates that are furthest apart; None where nothing is shown.
    hidden : int
        How many comparisons are left out, because few people are in them.
    """

    words: str
    where: str
    bound: str
    before: Furthest | None
    after: Furthest | None
    hidden: int


def bounded(counts: Counts, kernel: Kernel, parity: Sequence[ParityAchieved], hide_below: float) -> tuple[Bounded, ...]:
    """Return what each parity constraint measures of a table as it is and of what a mapping makes of it."""
    shown, found = Discretion(counts, hide_below), []
    for constraint in constraints(counts, parity):
        part = constraint.after
        kept = np.flatnonzero(shown.comparisons(part.compared, kernel)) if len(part.value) else np.zeros(0, np.int64)
        before, after = (furthest(each, kept) for each in (constraint.before, part))
        stated, hidden = part.parity, part.compared.number_of() - part.compared.number_of(kept)
        found.append(Bounded(stated.words, stated.where, constraint.asked, before, after, hidden))
    return tuple(found)


def levels_for(domain: Domain, counts: Counts) -> Levels:
    """Return the levels that the cells of counts have in another domain, by column; unknown where it has no such level.

    A value of the fitted table stands for a level of bins or of merged values.
    """
    codes = source_codes(counts)
    own = {variable.name: variable for variable in counts.domain.variables}

    def levels(name: str) -> Cells:
        variable = next(variable for variable in domain.variables if variable.name == name)
        if name not in own or variable.is_column != own[name].is_column:
            raise SpecError(
                f"the first mapping reads {name!r}, which the second does not know of its people; give a table that "
                f"has all columns of both"
            )
        return _translated(own[name], variable)[codes[name]]

    return levels


def _translated(of: Variable, to: Variable) -> Cells:
    """Return the code in one variable of every level of another of the same name."""
    if not of.is_column or not to.is_column:
        if of.tree is None or to.tree is None or of.tree.described() != to.tree.described():
            raise SpecError(
                "the two mappings have learned different cells, and of the fitted people no more is kept than their "
                "cells; give a table that both can read"
            )
        return np.arange(len(of))
    if of.coding == to.coding and of.levels == to.levels:
        return np.arange(len(of))
    # Levels of the same name are the same, labels of bins where both have bins.
    alike = (of.coding is None) == (to.coding is None)
    found = [to.place(level) if alike else None for level in of.levels]
    if to.coding is not None and of.coding is not None:
        for code, stock in enumerate(of.coding.stock):
            if found[code] is None and stock.values:
                common = stock.values[int(np.argmax(stock.weights))]
                values: Any = np.array([common], dtype=float) if to.coding.numeric else [common]
                found[code] = int(to.coding.codes(values)[0])
    return np.array([NO_LEVEL if code is None else code for code in found], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Treated:
    """What one mapping may make of each of some people: one entry for each result, who is unknown stays as they are.

    Attributes
    ----------
    person, x, y : array
        Whose result it is, and its cells; x is negative where a value is no level of the mapping.
    share : array
        How likely it is.
    changed, cost : array
        Whether anything is changed by it, and its distortion.
    known : array of bool
        Of each person, whether somebody who was fitted is in the same cell.
    domain : Domain
        The levels.
    """

    person: Cells
    x: Cells
    y: Cells
    share: Numbers
    changed: Numbers
    cost: Numbers
    known: Flags
    domain: Domain

    @property
    def people(self) -> int:
        """How many there are."""
        return len(self.known)

    def outcomes(self, like: Domain) -> Numbers:
        """Return Pr(ŷ) by person, one column per outcome, in the order of a domain that has the same outcomes."""
        place = _translated(self.domain.outcome, like.outcome)
        width = like.y.size
        return sums(self.person * width + place[self.y], self.share, self.people * width).reshape(-1, width)

    def each(self, values: Numbers) -> Numbers:
        """Return the expectation of a quantity of results, by person."""
        return sums(self.person, self.share * values, self.people)


def treated(mode: Transformer, kinds: Kinds, kind: Cells, problem: Problem) -> Treated:
    """Return what train mode may make of people, given the kind of each."""
    x, y = (kinds.cells[axis][kind] for axis in mode.writes)
    drawn = kinds.known[kind] & (x != NO_LEVEL)
    people, stays = np.flatnonzero(drawn), np.flatnonzero(~drawn)
    asked, entry = mode.kernel.entries(kinds.rows[kind[people]])
    own = x[people][asked], y[people][asked]
    to_x, to_y = mode.targets(entry, own)
    cost = problem.distortion.between(mode.domain, *own, to_x, to_y)
    none = np.zeros(len(stays))
    return Treated(
        person=np.concatenate([people[asked], stays]),
        x=np.concatenate([to_x, x[stays]]),
        y=np.concatenate([to_y, y[stays]]),
        share=np.concatenate([mode.kernel.probability[entry], none + 1]),
        changed=np.concatenate([((to_x != own[0]) | (to_y != own[1])).astype(float), none]),
        cost=np.concatenate([np.where(np.isfinite(cost), cost, 0.0), none]),
        known=kinds.sourced[kind],
        domain=mode.domain,
    )


def records_apart(a: Treated, b: Treated) -> Numbers | None:
    """Return the total variation between the two distributions of each person's released record.

    None where features differ, or have other levels, so that records cannot be told to be the same.
    """
    one, other = a.domain.x, b.domain.x
    if one.names != other.names or [{*v.levels} for v in one.variables] != [{*v.levels} for v in other.variables]:
        return None
    place = _translated(a.domain.outcome, b.domain.outcome)
    # The same levels may be in another order.
    codes = zip(one.variables, other.variables, one.unravel(a.x), strict=True)
    x = other.ravel([_translated(own, its)[code] for own, its, code in codes])
    target = np.concatenate([b.domain.xy(x, place[a.y]), b.domain.xy(b.x, b.y)])
    cells, number = np.unique(target, return_inverse=True)
    person = np.concatenate([a.person, b.person])
    _, at = np.unique(person * len(cells) + number, return_inverse=True)
    difference = sums(at, np.concatenate([a.share, -b.share]))
    whose = np.zeros(len(difference), dtype=np.int64)
    whose[at] = person
    return np.asarray(sums(whose, np.abs(difference), a.people) / 2)


def outcomes_apart(a: Treated, b: Treated) -> Numbers:
    """Return the total variation between the two distributions of each person's released outcome."""
    return np.asarray(np.abs(a.outcomes(b.domain) - b.outcomes(b.domain)).sum(axis=1) / 2)
