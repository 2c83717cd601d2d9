"""How often the monitor speaks where nothing changed, and how often where something did.

    python benchmarks/monitor.py [--batches 400] [--only compas adult]

The embedded tables are taken for populations, so that the truth is known. *Same table*: batches are drawn from the
fitted table with replacement. *Fresh*: both the fitted table and the batch are samples of the population, and the
mapping is fitted anew each time. *Moved*: batches are drawn from the fitted table, and outcomes of the group with the
largest rate are moved up, those of the group with the smallest rate down, by so many points each, of people at random.
*Drifted*: something is told as drifted. *Violated*: a bound is shown violated. *Found*: either. *Wrong*: of batches in
which nothing changed, something is told as drifted, or the interval of some bound does not hold what it is in the
population; the monitor promises at most one in twenty. Intervals are Clopper and Pearson's at 95 %, of each number by
itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from functools import cached_property

import harness
import numpy as np

import evenhand as eh
from evenhand.findings.new_people import with_own_target
from evenhand.findings.theory import clopper_pearson
from evenhand.kernel.achieved import parity_achieved
from evenhand.spec import comparisons

BATCHES = 400
FITTED_ON = 3000
"""How many people a mapping is fitted on where it is fitted anew for every batch."""


@dataclass(frozen=True)
class Study:
    """A population by its cells, and a problem that can be met."""

    cells: object
    problem: eh.Problem

    @cached_property
    def everybody(self):
        """The whole population as a table."""
        return self.cells.loc[np.repeat(self.cells.index, self.cells["people"])].drop(columns="people")

    @cached_property
    def rates(self):
        """The rate of every group."""
        return self.everybody.groupby(list(self.problem.protected), observed=True)[self.problem.outcome].mean()

    def people(self, number, seed, points=0.0):
        """Draw so many people, of whom the groups of the largest and the smallest rate have theirs moved apart."""
        rng = np.random.default_rng(seed)
        drawn = self.everybody.iloc[rng.integers(0, len(self.everybody), number)].reset_index(drop=True)
        protected, outcome, rates = self.problem.protected, self.problem.outcome, self.rates
        ways = ((rates.idxmax(), 1, 1 - rates.max()), (rates.idxmin(), 0, rates.min()))
        for group, to, now in ways if points else ():
            levels = zip(protected, group if isinstance(group, tuple) else (group,), strict=True)
            here = np.all([drawn[name] == level for name, level in levels], axis=0)
            changed = here & (drawn[outcome] != to) & (rng.random(number) < points / now)
            drawn[outcome] = drawn[outcome].where(~changed, to)
        return drawn


def by_sex(data):
    """Return Adult with sex as its one protected column, outcomes alone changing, within a factor of 1.1."""
    protected = [data.problem.protected[0]]
    distortion = eh.Distortion(
        {name: eh.Fixed() for name in data.problem.features} | {data.problem.outcome: eh.Nominal(1)}
    )
    return replace(
        data.problem, protected=protected, parity=[eh.PairwiseParity(0.1)], distortion=distortion,
        budget=eh.ExpectedDistortion(0.5),
    )  # fmt: skip


def studies():
    """Return the two populations."""
    compas, adult = (eh.datasets.load(name) for name in ("compas", "adult"))
    sex = by_sex(adult)
    columns = [*sex.protected, *sex.features, sex.outcome]
    joined = adult.cells.groupby(columns, observed=True, as_index=False)["people"].sum()
    return {"compas": Study(compas.cells, compas.problem), "adult": Study(joined, sex)}


def truth(mapping, everybody):
    """Return how far apart rates really are after a mapping, in the population, by what is compared."""
    met = mapping._met(everybody, None, None, None)
    found = {}
    for parity in with_own_target(mapping.problem, mapping.counts).parity:
        part = parity_achieved(comparisons(parity, met.counts), met.counts, met.kernel)
        found |= {part.compared.words(at): part.value[at] for at in range(len(part.value))}
    return found


def spoke(mapping, batch, seed, really):
    """Return whether a batch is told as drifted, a bound as violated, and anything wrongly where nothing changed."""
    found = mapping.monitor(batch, seed=seed)
    wrong = None
    if really is not None:
        known = found.bounds.dropna(subset=["low"])
        true = known["where"].map(really)
        wrong = bool(found.drifted) or bool(((true < known["low"] - 1e-9) | (true > known["high"] + 1e-9)).any())
    return bool(found.drifted), found.verdict == "shown violated", wrong


def measure(study, kind, size, points, batches):
    """Return what is told of so many batches."""
    everybody = study.everybody
    mapping = eh.fit(study.problem, everybody)
    really, told = None if points else truth(mapping, everybody), []
    for seed in range(batches):
        if kind == "fresh":
            try:
                mapping = eh.fit(study.problem, study.people(FITTED_ON, [seed, 1]))
            except eh.InfeasibleError:
                continue
            really = truth(mapping, everybody)
        told.append(spoke(mapping, study.people(size, [seed, 2], points), seed, really))
    return told


SETTINGS = [
    ("compas", "same table", 500, 0.0), ("compas", "same table", 2000, 0.0), ("compas", "fresh", 2000, 0.0),
    ("adult", "same table", 5000, 0.0), ("adult", "fresh", 5000, 0.0), ("adult", "moved", 5000, 0.05),
    ("adult", "moved", 1000, 0.05), ("adult", "moved", 5000, 0.02),
    ("compas", "moved", 500, 0.05), ("compas", "moved", 1000, 0.05), ("compas", "moved", 2000, 0.05),
    ("compas", "moved", 5000, 0.05), ("compas", "moved", 500, 0.1), ("compas", "moved", 1000, 0.1),
    ("compas", "moved", 2000, 0.1),
]  # fmt: skip


def part(number, of):
    """Say a share with its exact interval."""
    low, high = clopper_pearson(np.array([float(number)]), np.array([float(of)]))
    return f"{number / of:.1%} ({low[0]:.1%} to {high[0]:.1%})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=BATCHES, help="of every setting")
    parser.add_argument("--only", nargs="+", choices=["compas", "adult"], default=["compas", "adult"])
    given = parser.parse_args()
    began, known, rows = time.perf_counter(), studies(), []
    print("| population | batches | people | points | drifted | violated | found | wrong |\n" + "|---" * 8 + "|")
    for name, kind, size, points in SETTINGS:
        if name not in given.only:
            continue
        told = measure(known[name], kind, size, points, given.batches)
        counted = {
            "drifted": sum(each[0] for each in told),
            "violated": sum(each[1] for each in told),
            "found": sum(each[0] or each[1] for each in told) if points else None,
            "wrong": None if points else sum(each[2] for each in told),
        }
        rows.append(
            {"population": name, "kind": kind, "people": size, "points": points, "batches": len(told), **counted}
        )
        shares = ["" if number is None else part(number, len(told)) for number in counted.values()]
        print(f"| {name} | {len(told)}, {kind} | {size:,} | {points:g} | {' | '.join(shares)} |", flush=True)
    harness.keep("monitor", {"rows": rows}, began=began)


if __name__ == "__main__":
    sys.exit(main())
