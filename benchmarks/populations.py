"""How often bounds are exceeded in populations that nobody chose: random ones, with random problems.

    python benchmarks/populations.py [--populations 60] [--samples 10] [--seed 1] [--jobs 2]

``coverage.py`` measures what a confidence promises on three public tables. Here populations come from a seed: two to
four groups of unequal size, two or three outcomes, up to a hundred cells of which many are nearly empty, weights or
none, one or two parity constraints of any form that a confidence covers. Bounds are a share of how far apart the
population is, so that they bite. Every sample is a line of ``build/populations.jsonl``, and a run that was ended goes
on where it was; ``coverage.py --write`` makes the section of the page.
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace

import harness
import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.data.counts import Counts
from evenhand.findings.assurance import rates_compared
from evenhand.folds import expected_outcomes
from evenhand.spec import Parity, comparisons
from evenhand.tables import cells, read
from evenhand.tolerances import ROUNDING

JOURNAL = harness.ROOT / "build" / "populations.jsonl"
CONFIDENCES = 0.9, 0.95
SMALLEST = 0.04
LOOSE = 1e6
"""A bound that is no bound, for finding out how far apart a population is."""


@dataclass(frozen=True, eq=False)
class Population:
    """A population whose truth is known, and what is asked of its samples.

    Attributes
    ----------
    cells : DataFrame
        The cells that somebody is in.
    share, weight : array
        The probability of a person of each cell, and what such people weigh on average.
    spread : float
        The standard deviation of the logarithm of weights within a cell; 0 without weights.
    people : int
        The size of samples.
    """

    name: str
    problem: eh.Problem
    cells: pd.DataFrame
    share: np.ndarray
    weight: np.ndarray
    spread: float
    people: int

    @property
    def weighed(self):
        """Whether people have weights."""
        return self.spread > 0

    def sample(self, rng):
        """Draw people with replacement, with their weights."""
        at = rng.choice(len(self.share), size=self.people, p=self.share)
        weights = None
        if self.weighed:
            # Whose mean is one, so that a cell's people weigh as much as the population says on average.
            noise = rng.lognormal(-(self.spread**2) / 2, self.spread, len(at))
            weights = (self.weight[at] * noise).tolist()
        return self.cells.iloc[at].reset_index(drop=True), weights

    def exceeds(self, mapping):
        """Return by how much expected rates in the population exceed a bound at most; negative within all."""
        domain = mapping.counts.domain
        where = [cells(axis, read(self.cells))[0] for axis in (domain.d, domain.x, domain.y)]
        known = np.all([cell >= 0 for cell in where], axis=0)
        everybody = Counts.of(domain, *(cell[known] for cell in where), (self.share * self.weight)[known])
        outcomes = expected_outcomes(mapping.release_mode, everybody.d, everybody.x, everybody.y)
        return largest_excess(self.problem.parity, everybody, outcomes)


def largest_excess(parities, counts, outcomes):
    """Return by how much some bound is exceeded at most."""
    parts = [comparisons(parity, counts) for parity in parities]
    return float(
        max(np.max(part.parity.distance.excess(*rates_compared(part, outcomes), part.bound)) for part in parts)
    )


def form(rng, groups, outcomes, *, by):
    """Return a parity constraint of a random form, without a bound that bites."""
    distance = [eh.Ratio(), eh.LogRatio(), eh.Difference(), eh.FourFifths(int(rng.integers(outcomes)))][rng.integers(4)]
    kind = rng.integers(4)
    most = 1.0 if isinstance(distance, (eh.Difference, eh.FourFifths)) else LOOSE
    if kind == 3:
        return eh.TargetParity(most, distance=distance, on=[by])
    against = ["each", "rest", {by: f"{by}{int(rng.integers(groups))}"}][kind]
    return eh.PairwiseParity(most, distance=distance, on=[by], against=against)


def apart(parity, counts):
    """Return how far apart the people of a table are as they are."""
    part = comparisons(parity, counts)
    return float(np.max(part.parity.distance.value(*rates_compared(part, np.eye(counts.domain.y.size)[counts.y]))))


def population(seed, number):
    """Return the random population of a number."""
    rng = np.random.default_rng([seed, number])
    groups, outcomes = int(rng.integers(2, 5)), int(rng.choice([2, 2, 3]))
    levels = int(rng.integers(2, 8)), int(rng.integers(2, 8))
    second = bool(rng.random() < 0.3)
    grid = pd.DataFrame(
        [(g, h, a, b) for g in range(groups) for h in range(2) for a in range(levels[0]) for b in range(levels[1])],
        columns=["g", "h", "a", "b"],
    )
    sizes = rng.dirichlet(np.full(groups, 5.0)) * 0.8 + 0.2 / groups
    # Shares of cells within a group: a few are large, many nearly empty.
    inside = rng.dirichlet(np.full(2 * levels[0] * levels[1], rng.choice([0.3, 1.0, 5.0])), size=groups)
    share = (sizes[:, None] * inside).ravel()
    tendency = rng.normal(0, 0.7, groups)[grid["g"]] + rng.normal(0, 0.4, 2)[grid["h"]]
    tendency = tendency + rng.normal(0, 0.8, levels[0])[grid["a"]] + rng.normal(0, 0.5, len(grid))
    score = np.column_stack([tendency * y + rng.normal(0, 0.3) for y in range(outcomes)])
    chances = np.exp(score - score.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    table = grid.loc[grid.index.repeat(outcomes)].reset_index(drop=True)
    table["y"] = np.tile(np.arange(outcomes), len(grid))
    p = (share[:, None] * chances).ravel()
    spread = float(rng.choice([0.0, 0.0, 0.5]))
    weight = np.exp(rng.normal(0, 0.3, len(p))) if spread else np.ones(len(p))
    table = table.assign(**{name: name + table[name].astype(str) for name in ("g", "h", "a")})
    parity: list[Parity] = [form(rng, groups, outcomes, by="g")]
    if second:
        parity.append(form(rng, 2, outcomes, by="h"))
    # One way alone would not do where groups are on both sides of what they are held against.
    change = {"y": eh.Ordinal(step=1, down=bool(rng.random() < 0.5 or any(each.against_target for each in parity)))}
    if rng.random() < 0.3:
        change["b"] = eh.Ordinal(step=1, max_steps=1)
    problem = eh.Problem(
        protected=["g", "h"] if second else ["g"],
        features=["a", "b"] if second else ["h", "a", "b"],
        outcome="y",
        parity=parity,
        distortion=eh.Distortion(change),
        budget=eh.ExpectedDistortion(0.8),
        utility=[eh.KL(), eh.L1()][rng.integers(2)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        everybody = eh.count(problem, table, weights=(p * weight * 1e9).tolist())
    share_left = rng.uniform(0.4, 0.8)
    bounds = [max(share_left * apart(each, everybody), SMALLEST) for each in parity]
    stated = [each.with_bounds(lambda _, bound=bound: bound) for each, bound in zip(parity, bounds, strict=True)]
    people = int(rng.choice([1000, 3000, 8000]))
    name = " and ".join(map(described, stated))
    return Population(name, replace(problem, parity=stated), table, p / p.sum(), weight, spread, people)


def described(parity):
    """Say what a constraint is."""
    held = "target" if parity.against_target else parity.against if isinstance(parity.against, str) else "reference"
    return f"{type(parity.distance).__name__} {held}"


def tried(seed, number, sample):
    """Fit one sample of a population, with confidence and without."""
    warnings.simplefilter("ignore", eh.EvenhandWarning)
    drawn = population(seed, number)
    people, weights = drawn.sample(np.random.default_rng([seed, number, sample]))
    row = {
        "seed": seed, "population": number, "sample": sample, "name": drawn.name, "people": drawn.people,
        "groups": drawn.cells["g"].nunique(), "outcomes": drawn.cells["y"].nunique(), "cells": len(drawn.cells),
        "weighed": drawn.weighed, "confidence": CONFIDENCES[number % len(CONFIDENCES)],
    }  # fmt: skip
    for name, confidence in (("plain", None), ("sure", row["confidence"])):
        began = time.process_time()
        try:
            found = eh.fit(replace(drawn.problem, confidence=confidence), people, weights=weights)
            row |= {name: drawn.exceeds(found), f"{name}_loss": found.objective}
        except (eh.InfeasibleError, eh.DataError) as error:
            row |= {name: None, f"{name}_why": f"{type(error).__name__}: {error}"}
        row[f"{name}_seconds"] = time.process_time() - began
    return row


def kept(journal=JOURNAL):
    """Return the samples of earlier runs; a line that was being written when a run ended is left out."""
    rows = []
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def run(seed, populations, samples, jobs):
    """Fit what is left to fit."""
    known = {(row["seed"], row["population"], row["sample"]) for row in kept()}
    wanted = ((seed, number, sample) for sample in range(samples) for number in range(populations))
    JOURNAL.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool, JOURNAL.open("a", encoding="utf-8") as journal:
        waiting = [pool.submit(tried, *each) for each in wanted if each not in known]
        for future in as_completed(waiting):
            journal.write(json.dumps(future.result()) + "\n")
            journal.flush()
    return kept()


def exceeded(name, rows):
    """Return in how many samples an answer was given and some bound was exceeded."""
    return sum(row[name] is not None and row[name] > ROUNDING for row in rows)


def summary(rows):
    """Return a table by confidence and by what the population and the problem are like."""
    ways = {
        "all": lambda row: "all",
        "weights": lambda row: "weights" if row["weighed"] else "no weights",
        "outcomes": lambda row: f"{row['outcomes']} outcomes",
        "groups": lambda row: f"{row['groups']} groups",
        "constraints": lambda row: "two constraints" if " and " in row["name"] else "one constraint",
    }
    found = []
    for way in ways.values():
        for confidence in CONFIDENCES:
            by = defaultdict(list)
            for row in rows:
                if row["confidence"] == confidence:
                    by[way(row)].append(row)
            found += [
                {
                    "confidence": confidence,
                    "which": which,
                    "populations": len({(row["seed"], row["population"]) for row in some}),
                    "samples": len(some),
                    "exceeded, plain": exceeded("plain", some) / len(some),
                    "exceeded": exceeded("sure", some) / len(some),
                    "refused": sum(row["sure"] is None for row in some) / len(some),
                }
                for which, some in sorted(by.items())
            ]
    return pd.DataFrame(found)


def main():
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", type=int, default=60)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    rows = run(given.seed, given.populations, given.samples, given.jobs)
    print(summary(rows).to_string(index=False, float_format=lambda value: f"{value:.4g}"))


if __name__ == "__main__":
    main()
