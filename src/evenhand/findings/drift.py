"""How a batch of people differs from the fitted table, beside what sampling alone would explain.

Both are taken for samples of one population. Whoever is in the one could then as well be in the other, so that the
pooled people, dealt out at random into two tables of these sizes, tell how far apart two such tables are by chance: a
permutation test, exact for any number of levels and of people in them. All that is looked at is read off the same
deals, so that one limit in standard deviations, that of the largest of them, holds for all looks at once, however
they depend on one another (Westfall and Young 1993, single-step maxT). With weights, whose rows cannot be
exchanged, deals are replaced by normal deviations with the variance that the squared weights give: approximate.

Values that nobody fitted had are levels like any other there, each by itself: put together they would be a level that
only a batch can have. How many people have any of them is looked at besides, with a part of the error of its own.

Distances are total variations, the share of people who would have to be in another level. Knows codes and counts, not
tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from evenhand.arrays import Cells, Flags, Numbers, alike, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Variable, in_words
from evenhand.data.profile import Profile
from evenhand.findings.naming import source_codes
from evenhand.tolerances import SAME_PROBABILITY, SAME_WEIGHT

DEALS, FEWEST_DEALS, MOST_DEALS = 1999, 199, 19_999
"""How often people are dealt out anew: usually, where cells are very many, and where hardly any error is allowed."""

BEYOND = 25
"""So many deals are to lie beyond the limit, or it would be that of a few of them."""

MOST_DEALT = 100_000_000
"""So many cells are dealt out, all deals together, before deals become fewer."""

BLOCK = 1_000_000
"""So many of them are held at once."""

MOST_PEOPLE = 10**9 - 1
"""NumPy deals out no more people. More are counted as so many, which makes limits wider than they need be."""

COUNTED = 16
"""Where there are fewer people for each cell than this, they are dealt out one by one."""

SALT = 0x6472696674
"""Sets these draws apart from all others with the same seed."""

FOR_NEW_VALUES, FOR_PROFILES = 0.1, 0.4
"""The shares of the error that are for values that nobody fitted had, and for columns that cells are learned from."""

STEEPEST = 60.0
"""Chernoff's exponent goes no further: probabilities beyond it are below anybody's error."""

NOT_LOOKED_AT = -1

COLUMN, GROUPS, OUTCOME, CELLS, NEW = "column", "groups", "outcome in a group", "cells", "new values"
"""What is looked at."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A table over cells that it shares with another: people, weight and squared weights of each."""

    people: Numbers
    weight: Numbers
    squares: Numbers

    @property
    def weighed(self) -> bool:
        return not (np.array_equal(self.people, self.weight) and np.array_equal(self.people, self.squares))

    @property
    def effective(self) -> float:
        """How many people of equal weight would tell as much (Kish 1965)."""
        return float(self.weight.sum() ** 2 / self.squares.sum())


@dataclass(frozen=True, eq=False)
class Beside:
    """The fitted table and a batch over the cells that somebody of either is in.

    Attributes
    ----------
    domain : Domain
        The variables; the outcome has no codes where the batch has none.
    codes : mapping of str to array
        For each variable, the level of every cell; from the number of levels on where a value is none of them.
    before, now : Sample
        The fitted table, and the batch.
    new : mapping of str to sequence of str
        For each variable, how the values that are no levels are called, in the order of their codes.
    """

    domain: Domain
    codes: Mapping[str, Cells]
    before: Sample
    now: Sample
    new: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        fitted: Counts,
        codes: Mapping[str, Cells],
        now: Sample,
        new: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> Beside:
        """Set rows of a batch, with their level in each variable that it has, beside the fitted table."""
        known = source_codes(fitted)
        both = {name: np.concatenate([known[name], code]) for name, code in codes.items()}
        first, kind = alike(list(both.values()))
        # In an order of their own, so that the same people in any order are dealt out alike.
        order = np.lexsort([code[first] for code in both.values()])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first, kind = first[order], rank[kind]
        before = fitted.unweighted.weight, fitted.weight, fitted.cell_squares
        parts = zip(before, (now.people, now.weight, now.squares), strict=True)
        own, added = kind[: len(fitted)], kind[len(fitted) :]
        pairs = [(sums(own, old, len(first)), sums(added, more, len(first))) for old, more in parts]
        was, after = (Sample(*each) for each in zip(*pairs, strict=True))
        return cls(fitted.domain, {name: code[first] for name, code in both.items()}, was, after, new)

    @property
    def people_with_new_values(self) -> float:
        """How many people of the batch have a value, in any column, that nobody fitted had."""
        strange = np.any([self.codes[v.name] >= len(v) for v in self.domain.variables if v.name in self.codes], axis=0)
        return float(self.now.people[strange].sum())

    def value(self, variable: Variable, code: int) -> str:
        """Name a value of a variable, a level or not."""
        if code < len(variable):
            return str(variable.levels[code])
        return f"{self.new[variable.name][code - len(variable)]} (nobody fitted had it)"

    @property
    def same(self) -> bool:
        """Whether the batch has the very counts of the fitted table."""
        both = (self.before.people, self.now.people), (self.before.weight, self.now.weight)
        return all(np.allclose(one, other, rtol=SAME_WEIGHT, atol=0) for one, other in both)


@dataclass(frozen=True, eq=False)
class Look:
    """One thing that is looked at: the level of every cell in it, NOT_LOOKED_AT where a cell has none.

    ``named`` names the level of a cell that somebody is in.
    """

    what: str
    name: str
    level: Cells
    named: Callable[[int], str]


def looks(beside: Beside, groups: Cells, *, chosen: bool = False) -> list[Look]:
    """List what is looked at: every column, the groups, the outcome in each of the fitted ``groups``, and the cells.

    Where cells were ``chosen`` by the outcomes of that table, outcomes differ between cells
    more than they do among new people, and are not looked at within cells.
    """
    domain, codes = beside.domain, beside.codes
    own, features, outcome = domain.d.names, domain.x.names, domain.outcome.name
    found = [_joint(beside, COLUMN, v.name, [v.name]) for v in domain.variables if v.name in codes and v.is_column]
    learned = any(not variable.is_column for variable in domain.x.variables)
    if len(own) > 1:
        found.append(_joint(beside, GROUPS, " × ".join(own), own))
    for cell in groups.tolist() if outcome in codes else ():
        levels = zip(own, domain.d.unravel(np.array([cell])), strict=True)
        here = np.all([codes[name] == level for name, level in levels], axis=0)
        look = _joint(beside, OUTCOME, f"{outcome} in {domain.d.words(cell)}", [outcome])
        found.append(replace(look, level=np.where(here, look.level, NOT_LOOKED_AT)))
    if len(features) > 1 or learned:
        found.append(_joint(beside, CELLS, "features together", features))
    more = [outcome] if outcome in codes and not chosen else []
    everything = "groups and features together" if not more else "groups, features and outcome together"
    found.append(_joint(beside, CELLS, everything, [*own, *features, *more]))
    return found


def _joint(beside: Beside, what: str, name: str, columns: Sequence[str]) -> Look:
    """Look at one column, or at several together."""
    variables = [beside.domain.variable(column) for column in columns]

    def named(cell: int) -> str:
        said = {v.name: beside.value(v, int(beside.codes[v.name][cell])) for v in variables}
        return in_words(said) if len(said) > 1 else said[variables[0].name]

    return Look(what, name, alike([beside.codes[column] for column in columns])[1], named)


@dataclass(frozen=True)
class Moved:
    """The level whose share changed most, with its share in the fitted table and in the batch."""

    level: str
    before: float
    now: float


@dataclass(frozen=True, eq=False)
class Drift:
    """What was looked at, and how far apart the fitted table and the batch are.

    Attributes
    ----------
    looks : list of Look
        What was looked at.
    apart : array
        The total variation of each; NaN where one of the tables has nobody to look at. Of new values, the share of the
        batch's people who have one.
    expected, limit : array
        What sampling alone gives on average, and what it exceeds anywhere, in any look, with a probability of at most
        ``error``.
    chance : array
        The probability that sampling alone takes any look as far beyond what is expected there; of new values, at most
        that of as many people in any column.
    moved : list of Moved or None
        For each look the level whose share changed most; None where none did.
    """

    looks: list[Look]
    apart: Numbers
    expected: Numbers
    limit: Numbers
    chance: Numbers
    moved: list[Moved | None]

    def joined(self, more: Drift) -> Drift:
        """Return this with what else was looked at."""
        names = ("apart", "expected", "limit", "chance")
        numbers = {name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in names}
        return Drift([*self.looks, *more.looks], **numbers, moved=[*self.moved, *more.moved])

    @property
    def drifted(self) -> Flags:
        """Which looks are further apart than sampling alone explains."""
        return np.asarray(self.apart > self.limit)


Profiled = Sequence[tuple[Profile, Numbers]]
"""Columns that cells are learned from: the fitted profile; people, weight and squared weights of the batch by level."""


def drift(
    beside: Beside, groups: Cells, *, error: float, chosen: bool = False, seed: int = 0, profiled: Profiled = ()
) -> Drift:
    """Compare a batch with the fitted table.

    Parameters
    ----------
    beside : Beside
        Both tables.
    groups : array
        The fitted groups, in each of which the outcome is looked at.
    error : float
        With what probability a batch of the same population may be told as drifted, in anything that is looked at.
    chosen : bool
        Whether cells were chosen by the outcomes of the fitted table.
    seed : int
        Of the deals.
    profiled : sequence
        The columns that cells are learned from, each in its own levels.
    """
    own = [each for each in profiled if each[0].asked.name not in beside.codes]
    listed, for_profiles = looks(beside, groups, chosen=chosen), FOR_PROFILES * bool(own)
    found = _dealt_apart(beside, listed, (1 - FOR_NEW_VALUES - for_profiles) * error, seed)
    each_error = for_profiles * error / max(len(own), 1)
    for more in (
        *(_profile_apart(beside, *each, each_error, seed) for each in own),
        *_with_new_values(beside, FOR_NEW_VALUES * error),
    ):
        found = found.joined(more)
    return found


def _with_new_values(beside: Beside, error: float) -> Iterator[Drift]:
    """Look at the people who have a value that nobody fitted had, in every column where somebody has one."""
    columns = [v for v in beside.domain.variables if v.name in beside.codes and v.is_column]
    for variable in columns:
        code = beside.codes[variable.name]
        before, now = (sums(code, side.people, int(code.max()) + 1) for side in (beside.before, beside.now))
        alone = np.where(before == 0, now, 0.0)
        if not alone.any():
            continue
        look = _joint(beside, NEW, f"new values of {variable.name}", [variable.name])
        told, batch = new_values(before, now, error / len(columns)), now.sum()
        share, expected, limit = (np.array([of / batch]) for of in (told.people, told.expected, told.limit))
        chance = np.array([min(1.0, told.chance * len(columns))])
        commonest = beside.value(variable, int(np.argmax(alone)))
        yield Drift([look], share, expected, limit, chance, [Moved(commonest, 0.0, float(alone.max() / batch))])


def _profile_apart(beside: Beside, profile: Profile, now: Numbers, error: float, seed: int) -> Drift:
    """Compare one column in its own levels, with deals of its own: nothing else of the fitted people is known of it."""
    before = np.array([profile.people, profile.weight, profile.squares])
    there = np.flatnonzero(before[0] + now[0] > 0)
    look = Look(COLUMN, profile.asked.name, np.arange(len(there)), lambda cell: profile.named(int(there[cell])))
    alone = replace(beside, codes={}, before=Sample(*before[:, there]), now=Sample(*now[:, there]), new={})
    return _dealt_apart(alone, [look], error, seed)


def _dealt_apart(beside: Beside, found: list[Look], error: float, seed: int) -> Drift:
    """Compare in all looks at once, by dealing people out anew."""
    measure = _Measure.of(found)
    now, before = (each.weight[None] / each.weight.sum() for each in (beside.now, beside.before))
    apart = measure.apart(now, before)[:, 0]
    number = _number_of_deals(len(now[0]), error)
    block = max(1, BLOCK // len(now[0]))
    generator = np.random.default_rng([seed, SALT])
    chance = np.concatenate([measure.apart(*each) for each in _deals(beside, number, block, generator)], axis=1)
    # A deal may leave a group without anybody: nothing is apart there.
    chance = np.nan_to_num(chance)
    mean, deviation = chance.mean(axis=1), chance.std(axis=1)
    scale = np.where(deviation > SAME_PROBABILITY, deviation, np.inf)
    largest = np.sort(((chance - mean[:, None]) / scale[:, None]).max(axis=0))
    allowed = math.ceil((1 - error) * (number + 1))
    furthest = largest[allowed - 1] if allowed <= number else np.inf
    beyond = number - np.searchsorted(largest, (apart - mean) / scale, side="left")
    probability = np.where(np.isnan(apart), np.nan, (1 + beyond) / (number + 1))
    # What cannot vary is not apart either.
    limit = np.where(np.isfinite(scale), mean + furthest * np.where(np.isfinite(scale), scale, 0.0), mean)
    # Nobody is further apart than everybody.
    limit = np.minimum(limit, 1.0)
    return Drift(found, apart, mean, limit, probability, measure.moved(found, now[0], before[0]))


def _number_of_deals(cells: int, error: float) -> int:
    wanted = min(max(DEALS, math.ceil(BEYOND / error)), MOST_DEALS)
    return max(FEWEST_DEALS, min(wanted, MOST_DEALT // cells))


def _deals(
    beside: Beside, number: int, block: int, generator: np.random.Generator
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the weights of cells in pairs of tables of one population, some pairs at a time."""
    sides = beside.now, beside.before
    deal = _deviations if any(side.weighed for side in sides) else _dealt_out
    for start in range(0, number, block):
        yield deal(*sides, min(block, number - start), generator)


def _dealt_out(now: Sample, before: Sample, number: int, generator: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Deal the pooled people out at random."""
    pooled, size = now.people + before.people, now.people.sum()
    if (total := pooled.sum()) > MOST_PEOPLE:
        pooled, size = np.floor(pooled * (MOST_PEOPLE / total)), np.floor(size * (MOST_PEOPLE / total))
    method: Literal["count", "marginals"] = "count" if pooled.sum() < COUNTED * len(pooled) else "marginals"
    dealt = generator.multivariate_hypergeometric(pooled.astype(np.int64), int(size), number, method=method)
    return dealt.astype(float), pooled - dealt


def _deviations(now: Sample, before: Sample, number: int, generator: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return shares that deviate from the pooled ones as those of weighted samples do.

    The share of a cell c deviates by Σ w(1_c − p_c) / Σw, which has the variance of g_c − p_c Σg with independent g_c
    whose variances are the squared weights of the cells.
    """
    sides = now, before
    pooled = sum(side.effective * side.weight / side.weight.sum() for side in sides) / sum(s.effective for s in sides)
    # Cells in which a side has nobody vary as much as their share says.
    found = []
    for side in sides:
        squares = np.maximum(side.squares, pooled * side.squares.sum() * (side.squares == 0))
        each = generator.standard_normal((number, len(squares))) * np.sqrt(squares)
        each -= np.multiply.outer(each.sum(axis=1), pooled)
        # Shares below zero stay: cut off, the deviations of sparse cells would be smaller than those of samples are.
        found.append(pooled + each / side.weight.sum())
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class _Measure:
    """Sums over the levels of all looks at once: one row for each level, with a one for each of its cells."""

    levels: sparse.csr_array
    starts: Cells
    sizes: Cells

    @classmethod
    def of(cls, found: Sequence[Look]) -> _Measure:
        sizes = np.array([look.level.max() + 1 for look in found])
        starts = np.cumsum(sizes) - sizes
        rows = [start + look.level[look.level >= 0] for start, look in zip(starts, found, strict=True)]
        cells = [np.flatnonzero(look.level >= 0) for look in found]
        at = np.concatenate(rows), np.concatenate(cells)
        shape = int(sizes.sum()), len(found[0].level)
        return cls(sparse.csr_array((np.ones(len(at[0])), at), shape=shape), starts, sizes)

    def shares(self, weight: Numbers) -> Numbers:
        """Return the share of every level in its look, one column for each table; NaN where nobody is looked at."""
        level = np.asarray(self.levels @ weight.T)
        total = np.repeat(np.add.reduceat(level, self.starts, axis=0), self.sizes, axis=0)
        return np.asarray(np.divide(level, total, out=np.full(level.shape, np.nan), where=total > 0))

    def apart(self, now: Numbers, before: Numbers) -> Numbers:
        """Return the total variation of every look, one column for each pair of tables."""
        return np.asarray(np.add.reduceat(np.abs(self.shares(now) - self.shares(before)), self.starts, axis=0) / 2)

    def moved(self, found: Sequence[Look], now: Numbers, before: Numbers) -> list[Moved | None]:
        """Return the level of every look whose share changed most; None where none did."""
        new, old = (self.shares(each[None])[:, 0] for each in (now, before))
        most: list[Moved | None] = []
        for look, start, size in zip(found, self.starts, self.sizes, strict=True):
            own = slice(start, start + size)
            change = np.nan_to_num(np.abs(new[own] - old[own]))
            # Of two levels one loses what the other gains: that one is named.
            at = int(np.argmax(np.round(change, 9) + SAME_PROBABILITY * (new[own] > old[own])))
            cell = int(np.argmax(look.level == at))
            moved = Moved(look.named(cell), float(old[own][at]), float(new[own][at]))
            most.append(moved if change[at] > SAME_PROBABILITY else None)
        return most


@dataclass(frozen=True)
class NewValues:
    """The people of a batch who have new values.

    Attributes
    ----------
    people : int
        How many they are.
    expected : float
        How many sampling alone gives on average.
    limit : int
        More are given by sampling alone with a probability of at most the error.
    chance : float
        At most the probability that sampling alone gives as many.
    """

    people: int
    expected: float
    limit: int
    chance: float


def new_values(before: Numbers, now: Numbers, error: float) -> NewValues:
    """Count the people with values that nobody had before, of values that so many people had then and have now.

    Such a value has no probability under the fitted table, but rare values are new in every sample. Whoever is in the
    batch could as well have been fitted: of the pooled people, a value that m of them have is all in a batch of n, by
    chance, with the probability q that m people dealt out at random all fall to it. The number of people with new
    values is the sum of m over the values of which that is so; dealt out without replacement those events are
    negatively associated (Joag-Dev and Proschan 1983), so that Chernoff's bound for independent ones holds: exact, for
    any values.
    """
    pooled, fitted, batch = before + now, float(before.sum()), float(now.sum())
    size, number = np.unique(pooled[(pooled > 0) & (pooled <= batch)], return_counts=True)
    dealt = _Dealt(size, number.astype(float), _log_all_in(size, batch, fitted))
    people = int(now[before == 0].sum())
    # The most people whom sampling alone gives too often to be told of.
    low, high = int(dealt.mean), int(min(batch, float(size @ number)))
    if dealt.at_least(high) > error:
        low = high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if dealt.at_least(middle) > error else (low, middle)
    return NewValues(people, dealt.mean, low, dealt.at_least(people))


def _log_all_in(size: Numbers, batch: float, fitted: float) -> Numbers:
    """Return the logarithm of the probability that so many people, dealt out at random, are all in the batch."""
    everybody = fitted + batch
    return np.asarray(
        gammaln(batch + 1) - gammaln(batch - size + 1) - gammaln(everybody + 1) + gammaln(everybody - size + 1)
    )


@dataclass(frozen=True, eq=False)
class _Dealt:
    """Values by how many people have them: the number of such values, and how likely all of them are in the batch."""

    size: Numbers
    number: Numbers
    log_chance: Numbers

    @property
    def mean(self) -> float:
        return float(self.size @ (self.number * np.exp(self.log_chance)))

    def at_least(self, people: int) -> float:
        """Return at most how likely so many people have a value that only the batch has."""
        if people <= self.mean:
            return 1.0
        # Rounding must not make a certainty of what is nearly one.
        not_all_in = np.log(np.maximum(-np.expm1(self.log_chance), np.finfo(float).tiny))

        def exponent(t: float) -> float:
            each = np.logaddexp(not_all_in, self.log_chance + t * self.size)
            return float(self.number @ each - t * people)

        found = minimize_scalar(exponent, bounds=(0.0, STEEPEST), method="bounded")
        return float(np.exp(min(found.fun, 0.0)))
