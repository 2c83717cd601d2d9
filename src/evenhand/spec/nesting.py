"""Whose released outcomes can be balanced at once: the groups and segments that parity compares, where they are nested.

A rounding can keep the totals of every part of nested partitions within one person of their expectation, not those of
partitions that cross. Knows the statement and which columns have how many levels; nothing of draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from evenhand.data.domain import Domain
from evenhand.render.section import Note
from evenhand.spec.parity import Parity
from evenhand.spec.problem import Problem

MOST_PARTS = 1 << 31
"""Parts of people that are told apart, so that a part and a row of a kernel are one number of 64 bits."""


@dataclass(frozen=True)
class Nest:
    """Nested partitions of people by their original values, and which of those that are compared are not among them.

    Attributes
    ----------
    columns : tuple of str
        The columns that make the finest partition; fewer of them, from the first on, make the coarser ones.
    levels : tuple of int
        For each partition, coarse to fine, how many of the columns make it.
    notes : tuple of Note
        What cannot be balanced within one person, why, and what is.

    Examples
    --------
    >>> from evenhand import datasets
    >>> data = datasets.load("compas")
    >>> nest(data.problem, data.counts.domain)
    Nest(columns=('sex', 'race'), levels=(2,), notes=())
    """

    columns: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class _Part:
    """A partition: into groups, within segments."""

    groups: tuple[str, ...]
    segments: tuple[str, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        return frozenset((*self.groups, *self.segments))

    @property
    def words(self) -> str:
        by = f"groups by {' × '.join(self.groups)}" if self.groups else "people"
        return f"{by} within segments by {' × '.join(self.segments)}" if self.segments else by

    def crosses(self, other: _Part) -> bool:
        return not (self.columns <= other.columns or other.columns <= self.columns)


def nest(problem: Problem, domain: Domain) -> Nest:
    """Return the partitions that balanced draws keep: those of parity, in order, then groups without segments.

    A partition that parity compares, or that into all groups, is left out and named where it crosses those before it. A
    blind mapping knows segments, but no groups.
    """
    notes = list(_beyond(problem))
    kept: list[_Part] = []
    asked = [_part(problem, parity) for parity in problem.parity]
    everybody = _Part(() if problem.blind else tuple(problem.protected))
    for part in dict.fromkeys((*asked, everybody, *(_Part(part.groups) for part in asked))):
        parts = math.prod(len(domain.variable(name)) + 1 for name in part.columns)
        across = [other.words for other in kept if part.crosses(other)]
        if not across and parts <= MOST_PARTS:
            kept.append(part)
        elif part in (*asked, everybody):
            key = "balanced.crossing" if across else "balanced.too_many_parts"
            notes.append(Note(key, {"part": part.words, "across": across}))
    columns: list[str] = []
    levels = []
    for part in sorted(kept, key=lambda part: len(part.columns)):
        columns += [variable.name for variable in domain.variables if variable.name in part.columns - {*columns}]
        levels.append(len(columns))
    return Nest(tuple(columns), tuple(dict.fromkeys(level for level in levels if level)), tuple(notes))


def _part(problem: Problem, parity: Parity) -> _Part:
    """Return the partition into the people whose rates a constraint compares, as far as it is known before a draw."""
    groups = () if problem.blind else tuple(problem.protected if parity.on is None else parity.on)
    segments = () if parity.released else (*(parity.given or ()), *([problem.outcome] * parity.given_outcome))
    return _Part(groups, segments)


def _beyond(problem: Problem) -> Iterator[Note]:
    """Yield what no partition of people by their original values keeps."""
    if problem.blind and problem.parity:
        yield Note("balanced.blind", {"columns": list(problem.protected)})
    if any(parity.compares_features for parity in problem.parity):
        yield Note("balanced.features")
    for given in dict.fromkeys(tuple(parity.given or ()) for parity in problem.parity if parity.released):
        yield Note("balanced.released_segments", {"columns": given})
