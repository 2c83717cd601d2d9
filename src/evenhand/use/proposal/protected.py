"""How protected columns become groups: nothing is put together, and nothing is cut, without a word.

Values are groups, also where they are codes. Only levels of few people are put together, by name, and only such as do
not hide each other: with rates on the same side of everybody's, and as clearly so. Of many such levels only clear rates
have a side, since chance alone puts each on one or the other. Ages are cut where laws and statistics draw lines, other
numbers at round edges.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.data.domain import Value
from evenhand.errors import in_number
from evenhand.render.section import Note
from evenhand.spec.bins import MergedLevels
from evenhand.tables.survey import Column, by_code
from evenhand.use.proposal.levels import (
    MOST_VALUES,
    RARE,
    Levelled,
    as_they_are,
    binned,
    coded,
    enough_beside,
    new_name,
    readable_edges,
)

TINY_GROUP = 50
"""The rates of a group of fewer people say little."""

COMPARABLE = 200
"""Of so many people rates can be compared, though they be a small share of all."""

BINS = 3

MOST_CODES = 20
"""Whole numbers from 0 or 1 on with at most so many values are taken for codes."""

AGE_LINES = (25, 40, 65)
"""Where known groups of ages begin: youth ends in many statistics, US employment law protects, people retire."""

OLDEST = 120

CHANCE = 0.05
"""A rate is clearly another than everybody's where chance would make it so more rarely, over all levels together."""

MOST_NAMED = 3
"""A level of at most so many values is named after them."""

LONGEST_NAME = 40

MOST_LISTED = 3

SIDES = {-1: "few people, lower rate", 0: "few people", 1: "few people, higher rate"}
"""How levels of few people with rates below, near and above everybody's are called."""


@dataclass(frozen=True, eq=False)
class Rated:
    """The outcome whose rates are told, by name; whether each row has it, and what the row weighs."""

    label: str
    has: Numbers
    weight: Numbers | None = None

    def by(self, codes: Cells) -> Numbers:
        """Return the rate of each code that occurs."""
        weight = np.ones(len(codes)) if self.weight is None else self.weight
        everybody = by_code(codes, weight, 0)
        return np.divide(by_code(codes, weight * self.has, 0), everybody, out=0 * everybody, where=everybody > 0)

    @property
    def overall(self) -> float:
        return float(self.by(np.zeros(len(self.has), dtype=np.int64))[0])


def grouped(column: Column, rated: Rated) -> Levelled:
    if column.numeric and not _are_codes(column) and (cut := _cut(column, rated)) is not None:
        return cut
    plain = binned(column, [float(v) for v in column.values[1:]]) if column.real else as_they_are(column)
    few = few_people(column)
    if len(few) < 2 or len(few) == len(column.values):
        return plain
    rates, people = rated.by(column.codes), column.people
    named = {
        i: Note("groups.small", {"value": column.values[i], "people": in_number(people[i]), "rate": float(rates[i])})
        for i in few
    }
    alike: dict[tuple[int, bool], list[int]] = {}
    for i in few:
        side = _side(rates[i], people[i], rated.overall, CHANCE / len(few))
        alike.setdefault((side, len(few) <= MOST_NAMED and bool(rates[i] >= rated.overall)), []).append(i)
    merges: dict[str, list[Value]] = {}
    why: list[Note] = []
    apart: list[Any] = []
    for (side, _), members in alike.items():
        if len(members) == 1:
            apart.append(named[members[0]])
            continue
        name = _name(column, [column.values[i] for i in members], SIDES[side])
        merges[name] = [column.values[i] for i in members]
        apart.append(repr(name))
        fields = {"values": _listed([named[i] for i in members]), "name": repr(name)}
        why.append(Note("groups.merged", fields))
    if len(apart) > 1:
        why.append(Note("groups.apart", {"values": _listed(apart)}))
    if not merges:
        return replace(plain, why=tuple(why))
    return replace(coded(column, MergedLevels(merges)), why=tuple(why))


def few_people(column: Column) -> list[int]:
    """Return the values, by number, that so few people have that their rates say little."""
    return np.flatnonzero((column.people < TINY_GROUP) & (column.weights < RARE * column.weights.sum())).tolist()


def _side(rate: float, people: float, overall: float, chance: float) -> int:
    """Return 1 for a rate above everybody's, -1 for one below, 0 where chance would do that more often than given."""
    n = round(people)
    have = round(rate * n)
    share = [math.comb(n, i) * overall**i * (1 - overall) ** (n - i) for i in range(n + 1)]
    if rate >= overall:
        return int(sum(share[have:]) <= chance)
    return -int(sum(share[: have + 1]) <= chance)


def _name(column: Column, values: Sequence[Value], usual: str) -> str:
    """Name a level after its few values, or as it is usually called."""
    joined = " or ".join(str(value) for value in values)
    name = joined if len(values) <= MOST_NAMED and len(joined) <= LONGEST_NAME else usual
    return new_name(column, (name, f"({name})", f"[{name}]"))


def _listed(named: Sequence[Any]) -> Any:
    more = [Note("groups.more", {"more": len(named) - MOST_LISTED})] * (len(named) > MOST_LISTED)
    listed = [*named[:MOST_LISTED], *more]
    return Note("groups.several", {"first": listed[:-1], "last": listed[-1]}) if listed[1:] else listed[0]


def _are_codes(column: Column) -> bool:
    """Whether numbers are names of groups: few of them, or whole ones that begin where codes do."""
    coded_from = column.whole and column.values[0] in (0, 1) and len(column.values) <= MOST_CODES
    return len(column.values) <= MOST_VALUES or (coded_from and not _is_age(column))


def _is_age(column: Column) -> bool:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", column.name)
    return "age" in map(str.lower, words) and 0 <= float(column.values[0]) <= float(column.values[-1]) <= OLDEST


def _clearly_apart(column: Column, rated: Rated, below: Flags, above: Flags) -> bool:
    """Whether two sets of values have people enough on either side, and rates that chance would hardly make so."""
    people = np.array([column.people[side].sum() for side in (below, above)])
    if people.min() < COMPARABLE:
        return False
    weights, having = column.weights, rated.by(column.codes) * column.weights
    rates = np.array([having[side].sum() / weights[side].sum() for side in (below, above)])
    pooled = float(people @ rates / people.sum())
    spread = math.sqrt(pooled * (1 - pooled) * float((1 / people).sum()))
    return abs(float(rates[0] - rates[1])) > NormalDist().inv_cdf(1 - CHANCE / len(AGE_LINES) / 2) * spread


def _cut(column: Column, rated: Rated) -> Levelled | None:
    """Cut numbers into a few groups, and say where and why there; None where nearly everybody has the same."""
    lines = enough_beside(column, AGE_LINES, partial(_clearly_apart, column, rated)) if _is_age(column) else ()
    if lines:
        return replace(binned(column, lines), why=(Note("groups.ages"),))
    edges = readable_edges(column, BINS)
    return replace(binned(column, edges), why=(Note("groups.cut"),)) if edges else None
