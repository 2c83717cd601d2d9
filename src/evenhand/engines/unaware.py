"""What a model that does not see D sees of a table's people, and the sums of their propensities.

Where cells are learned it sees rows, which are read piece by piece; else the counts tell all that there is to see.
Models are trained on as many kinds of people as cells are; everybody is summed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.counts import Counts, with_propensities
from evenhand.data.tree import NOWHERE, Given
from evenhand.errors import warn
from evenhand.spec import Problem
from evenhand.spec.unaware import (
    LEARNER,
    MANY,
    MOST_CATEGORIES,
    TELLS,
    People,
    areas,
    by_fold,
    folds_of,
    models,
    out_of_fold,
    tellers,
)
from evenhand.tables import Piece, Table, cells, column
from evenhand.tables.learned import given
from evenhand.tables.sampling import Contents, Looks, Pieces, chosen_in_pieces, contents

MIXING = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads rows as a model takes them: numbers, and for words the numbers that stand for them."""

    problem: Problem
    known: Looks
    words: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, problem: Problem, known: Looks, table: Table, people: Numbers) -> Reader:
        """Number the words that most people have."""
        reader = cls(problem, known, {})
        words = {}
        for name, held in reader.held(table).items():
            if held.codes is not None:
                there = held.codes != NOWHERE
                having = sums(held.codes[there], people[there], len(held.words))
                often = sorted(zip((-having).tolist(), held.words, strict=True))[:MOST_CATEGORIES]
                words[name] = {word: place for place, (_, word) in enumerate(often)}
        return replace(reader, words=words)

    def held(self, table: Table) -> dict[str, Given]:
        """Return the features of some rows."""
        blanks = self.problem.missing_values
        return {
            name: given(self.known[name].asked(name), column(table, name), blanks) for name in self.problem.features
        }

    def columns(self, table: Table) -> Numbers:
        """Return one row per person and one column per feature."""
        found = []
        for name, held in self.held(table).items():
            if held.numbers is not None:
                found.append(held.numbers)
                continue
            assert held.codes is not None
            known = self.words[name]
            place = [*(known.get(word, np.nan) for word in held.words), np.nan]
            found.append(np.array(place, dtype=float)[held.codes])
        return np.nan_to_num(np.column_stack(found), nan=np.nan)

    def number(self, table: Table) -> Contents:
        """Return a number for what the features of each row hold."""
        held = self.held(table)
        return contents([held[name] for name in (*self.problem.learned_over, *self.problem.given)], len(table))


def people_in(problem: Problem, counts: Counts, pieces: Pieces) -> tuple[People, Reader]:
    """Return the people of a table over which cells are learned, or as many kinds of them as cells are learned from."""
    assert problem.cells is not None
    domain = counts.domain
    known, alike, table = chosen_in_pieces(problem, problem.cells.sample, pieces, domain.variables)
    reader = Reader.of(problem, known, table, alike.people)
    leaf = cells(domain.x, table)[0]
    people = People(
        columns=reader.columns(table),
        names=tuple(problem.features),
        categorical=tuple(name in reader.words for name in problem.features),
        group=positions(counts.groups.cells, alike.group)[1],
        source=positions(counts.sources, domain.dxy(alike.group, leaf, alike.outcome))[1],
        weight=alike.weight,
        people=alike.people,
        number=alike.number,
    )
    return people.in_folds(), reader


def people_of_counts(counts: Counts) -> People:
    """Return the people of counts whose features are levels: in each cell they are alike."""
    variables = counts.domain.x.variables
    with np.errstate(over="ignore"):
        number = (counts.x.astype(np.uint64) + np.uint64(1)) * MIXING >> np.uint64(16)
    people = People(
        columns=np.column_stack(counts.domain.x.unravel(counts.x)).astype(float),
        names=counts.domain.x.names,
        categorical=tuple(not (v.ordered or v.numeric) and 2 < len(v) <= MOST_CATEGORIES for v in variables),
        group=counts.groups.of_source,
        source=np.arange(len(counts)),
        weight=counts.weight,
        people=counts.cell_people.astype(float),
        number=number,
    )
    return people.in_folds()


def learned_from_rows(problem: Problem, counts: Counts, pieces: Pieces) -> Counts:
    """Return counts over learned cells with the propensities that a classifier gives people out of fold."""
    people, reader = people_in(problem, counts, pieces)
    groups = len(counts.groups.cells)
    found = models(people, np.eye(groups)[people.group])
    if found is None:
        return with_propensities(counts)
    scores = by_fold(found, people.columns, people.fold, groups)
    total = _summed(counts, people.source, scores * people.weight[:, None])
    if people.people.sum() < counts.people:
        total = np.zeros_like(total)
        for piece in pieces():
            some = piece.of(np.flatnonzero(piece.weight > 0))
            fold = folds_of(reader.number(some.table))
            each = by_fold(found, reader.columns(some.table), fold, groups)
            total += _summed(counts, _sources(counts, some), each * some.weight[:, None])
    return _told(with_propensities(counts, total), people, scores)


def learned_from_counts(problem: Problem, counts: Counts) -> Counts:
    """Return counts over levels with π: their own p(d|x) where people are many, else drawn towards a classifier's."""
    own = with_propensities(counts)
    assert own.propensities is not None
    heads = sums(counts.features.of_source, counts.unweighted.weight)
    people, groups = people_of_counts(counts), len(counts.groups.cells)
    scores = None if counts.people >= MANY * len(heads) else out_of_fold(people, np.eye(groups)[people.group])
    if scores is None:
        shares = (own.propensities.sums / counts.weight).T
        known = replace(own.propensities, areas=areas(shares, counts.groups.of_source, counts.weight))
        return replace(own, propensities=known)
    classified = _summed(counts, people.source, scores * people.weight[:, None])
    many = heads[counts.features.of_source]
    found = (many * own.propensities.sums + MANY * classified) / (many + MANY)
    return _told(with_propensities(counts, found, problem.given), people, scores)


def _told(counts: Counts, people: People, scores: Numbers) -> Counts:
    """Note how well the features predict groups; warn of those that do so alone."""
    assert counts.propensities is not None
    found = areas(scores, people.group, people.weight)
    if max(found) >= TELLS:
        for name, area in tellers(people, scores.shape[1]):
            warn(
                f"feature {name!r} predicts {' × '.join(counts.domain.d.names)} with an AUC of {area:.2f} out of fold: "
                f"the bounds on mean scores hold there as elsewhere, but a model that uses it may count as one that "
                f"uses {' × '.join(counts.domain.d.names)}; take it from the features if the model may not see it"
            )
    return replace(counts, propensities=replace(counts.propensities, learner=LEARNER, areas=found))


def _sources(counts: Counts, piece: Piece) -> Cells:
    domain = counts.domain
    d, x, y = (cells(axis, piece.table)[0] for axis in (domain.d, domain.x, domain.y))
    return positions(counts.sources, domain.dxy(d, x, y))[1]


def _summed(counts: Counts, source: Cells, each: Numbers) -> Numbers:
    """Add up rows of numbers, one for each group, by source."""
    return np.stack([sums(source, one, len(counts)) for one in each.T])
