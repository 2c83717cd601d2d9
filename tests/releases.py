"""Many releases of one table without writing any: how many people of each stratum get each outcome, seed by seed.

``shares`` counts the releases of the two studies that keep every bound, as docs/explanation/draws.md has them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from fits import shared_fit

import evenhand as eh
from evenhand import tables
from evenhand.findings.keeping import verdict
from evenhand.kernel.achieved import ParityAchieved
from evenhand.kernel.balance import ONE
from evenhand.kernel.draws import seeded_draws
from evenhand.spec import comparisons
from evenhand.tables.transforming import Balancing, locate

SEEDS = 200


class Releases:
    """The releases of a table in train mode."""

    def __init__(self, mode, table):
        self.mode, self.located = mode, locate(mode, tables.read(table))
        self.balancing = Balancing(mode)
        self.number = self.balancing.number(self.located)
        self.balancing.count(self.number)
        self.people = np.pad(self.balancing.people, (0, self.balancing.size - len(self.balancing.people)))
        self.outcome = mode.kernel.targets % mode.domain.y.size

    @cached_property
    def rows(self):
        """The kernel's row of each stratum, by number; any where nobody is in it."""
        rows = np.zeros(len(self.people), dtype=np.int64)
        rows[self.number] = self.located.rows
        return rows

    @cached_property
    def widths(self):
        """The probability of each entry, as it is drawn."""
        kernel = self.mode.kernel
        low = np.concatenate([[0], kernel.thresholds[:-1]])
        low[kernel.starts[:-1]] = 0
        return (kernel.thresholds - low) / ONE

    @cached_property
    def expected(self):
        """How many people of each stratum are expected to have each outcome."""
        chance = np.zeros((len(self.mode.kernel), self.mode.domain.y.size))
        np.add.at(chance, (self.mode.kernel.rows, self.outcome), self.widths)
        return self.people[:, None] * chance[self.rows]

    def allotted(self, seed):
        """Return the stratum, the entry and the number of people of each move of a balanced release."""
        plan = self.balancing.plan(seed)
        found = plan.allotment
        # The number of the stratum at each place of the allotment.
        number = np.argsort(plan.place)[np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))]
        return number, found.entry, found.number

    def balanced(self, seed):
        """Return how many people of each stratum get each outcome in a balanced release."""
        number, entry, people = self.allotted(seed)
        return self.table(number, entry, people)

    def independent(self, seed):
        """Return how many do in an independent one."""
        draws = seeded_draws(seed, len(self.number), "release")
        return self.table(self.number, self.mode.kernel.hit(self.located.rows, draws), 1)

    def table(self, number, entry, people):
        """Add people up by stratum and outcome."""
        table = np.zeros((len(self.people), self.mode.domain.y.size), dtype=np.int64)
        np.add.at(table, (number, self.outcome[entry]), people)
        return table


def judged(problem, counts, releases, table):
    """Hold one release of the fitted table against the bounds of a problem."""
    # Every source is one stratum, whose row it is.
    own = np.flatnonzero(releases.people)[np.argsort(releases.rows[releases.people > 0])]
    assert len(own) == len(counts)
    share = table[own] / releases.people[own][:, None]
    parts = []
    for parity in problem.parity:
        compared = comparisons(parity, counts)
        rates = compared.weights @ share
        rate = rates[compared.population, compared.event]
        other = compared.target if compared.against_target else rates[compared.against, compared.event]
        excess = parity.distance.excess(rate, other, compared.bound)
        parts.append(ParityAchieved(compared, rate, other, compared.bound + excess, excess))
    return verdict(counts, parts)


def kept(problem, mapping, frame, seeds=SEEDS):
    """Return the shares of releases that keep every bound: independent, balanced, balanced but for one person."""
    releases = Releases(mapping.release_mode, frame)
    drawn = [
        [judged(problem, mapping.counts, releases, draw(seed)) for draw in (releases.independent, releases.balanced)]
        for seed in range(seeds)
    ]
    alone, together = zip(*drawn, strict=True)
    flags = [each.kept for each in alone], [each.kept for each in together]
    but_for_one = [each.kept or each.one_person for each in together]
    return tuple(float(np.mean(each)) for each in (*flags, but_for_one))


def shares(name, seeds=SEEDS):
    """Return the shares of a study's releases that keep every bound."""
    data = eh.datasets.load(name)
    return kept(data.problem, shared_fit(data.problem, data.counts), data.frame, seeds)
