"""Fit on some people of public tables and see how far apart the rates are of the others, kept and typical.

    python benchmarks/new_people.py [--seeds 1 2 3] [--tables adult german bank] [--features 4 6 8] [--fresh]

``real_tables.py`` has the tables and what is asked for: Adult by sex within 0.05, German credit by two ages and bank
marketing by three within 0.1, each pair of groups against each other. A mapping is fitted, with KL and with ℓ1, on the
part that the authors of Adult and bank marketing fit on, and on seven tenths of each table by random splits, one per
seed; the others are the new people. ``mapping.audit`` gives the expected rates of all of them: where people in cells
(d, x, y) that nobody fitted had are kept as they are, and where they have typical rows. *Apart* is J of the parity
constraint, the largest ratio of two groups' rates of an outcome, less one. Beside it stands what it would be if
everybody's outcome changed as those of the fitted people of their group and outcome do on average: what is left then
is that the new people's outcomes themselves are not those of the fitted, which nothing that is done to unseen cells
can help. Where a bound cannot be met, the smallest that can is taken, and said.

Each split runs in a process of its own, on one thread, one after another, and is one line in ``build/new_people``, so
that an interrupted run goes on, unless evenhand or the tables have changed meanwhile. Nothing is timed against others;
seconds are the processor time of a fit with its tie-break.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import replace
from itertools import product

import harness
import numpy as np
import pandas as pd
from real_tables import STUDIES
from splits import APART, OWN, apart, summaries

import evenhand as eh
from evenhand.kernel.achieved import outcome_by_source

SEEDS = tuple(range(1, 21))
SIZES = (4, 6, 8)
MEASURES = {"KL": eh.KL(), "ℓ1": eh.L1()}
FITTED = 0.7
LOOSER = 1.001
"""So much looser than the smallest that can be met a bound is then."""


def split(people, seed, own):
    """Return the people to fit on, and the others."""
    if seed == OWN:
        return people.iloc[:own], people.iloc[own:]
    order = np.random.default_rng(int(seed)).permutation(len(people))
    first = round(FITTED * len(people))
    return people.iloc[np.sort(order[:first])], people.iloc[np.sort(order[first:])]


def fit(problem, people):
    """Fit; where no mapping is within the parity bound, within the smallest bound that can be met."""
    try:
        return eh.fit(problem, people)
    except eh.InfeasibleError as error:
        if error.smallest_parity_bound is None:
            raise
        return eh.fit(replace(problem, parity=[eh.PairwiseParity(LOOSER * error.smallest_parity_bound)]), people)


def outcomes_alone(mapping, people):
    """Return the rates of people of whom each has the mean row of the fitted people of their group and outcome."""
    counts, problem = mapping.counts, mapping.problem
    released = pd.DataFrame(outcome_by_source(counts, mapping.kernel) * counts.weight[:, None])
    # Sorted by group and outcome, as levels are, which are those of the whole table.
    fitted = released.groupby([counts.d, counts.y]).sum().to_numpy()
    mean = (fitted / fitted.sum(axis=1, keepdims=True)).reshape(counts.domain.d.size, counts.domain.y.size, -1)
    shares = pd.crosstab(people[problem.protected[0]], people[problem.outcome], normalize="index").to_numpy()
    return np.einsum("dy,dyz->dz", shares, mean)


def unseen(problem, fitted, others):
    """Return the share of the others in cells (d, x, y) that nobody of the fitted had."""
    columns = [*problem.protected, *problem.features, problem.outcome]
    cells = pd.concat([fitted[columns], others[columns]]).groupby(columns, observed=True, sort=False).ngroup()
    return float(1 - np.isin(cells[len(fitted) :], cells[: len(fitted)]).mean())


def rates_of(mapping, others):
    """Return the others' rates, before and after each way to treat unseen cells; and how many people do not count."""
    shape = mapping.counts.domain.d.size, mapping.counts.domain.y.size
    kept, typical = (mapping.audit(others, unseen=how).rates for how in ("keep", "typical"))
    rates = {
        "before": kept["before"].to_numpy().reshape(shape),
        "kept": kept["after"].to_numpy().reshape(shape),
        "typical": typical["after"].to_numpy().reshape(shape),
        "outcomes_alone": outcomes_alone(mapping, others),
    }
    return rates, len(others) - round(kept["weight"].sum() / shape[1])


def measure(study, fitted, others, features, name):
    """Fit with so many features and one measure; return what becomes of the others."""
    problem = study.problem(features, MEASURES[name])
    mapping, took = harness.timed(lambda: fit(problem, fitted), time.process_time)
    rates, left_out = rates_of(mapping, others)
    found = {
        "features": features,
        "measure": name,
        "asked": study.bound,
        "bound": mapping.problem.parity[0].bound,
        "new": unseen(problem, fitted, others),
        "rates": {way: each.tolist() for way, each in rates.items()},
        "left_out": left_out,
        "cells": len(mapping.counts),
        "seconds": took,
    }
    return found | {way: apart(each) for way, each in rates.items()}


def child(table, seed, sizes):
    """Measure one split with every number of features and every measure."""
    # That a fit has many cells of one person is the point here.
    warnings.simplefilter("ignore", eh.EvenhandWarning)
    study = STUDIES[table]
    fitted, others = split(study.read(), seed, study.own_split)
    found = [measure(study, fitted, others, features, name) for features, name in product(sizes, MEASURES)]
    return {
        "split": f"{table} {seed}", "table": table, "title": study.title, "seed": seed,
        "fitted": len(fitted), "others": len(others), "fits": found,
    }  # fmt: skip


def show(row):
    """Print one split: one line per fit."""
    for found in row["fits"]:
        numbers = "".join(f"{found[name]:>9.3f}" for name in APART)
        line = f"{row['table']:<8}{row['seed']!s:>5}{found['features']:>4} {found['measure']:<4}{found['new']:>7.1%}"
        notes = [f"bound loosened to {found['bound']:.3f}"] * (found["bound"] > found["asked"])
        notes += [f"{found['left_out']} people left out"] * (found["left_out"] > 0)
        print(f"{line}{numbers}{found['seconds']:>8.1f}", "; ".join(notes), flush=True)


def run(given):
    """Measure what is not yet measured; return all splits."""
    asked = [(table, OWN) for table in given.tables if STUDIES[table].own_split]
    asked += [(table, seed) for table in given.tables for seed in given.seeds]

    def options(table, seed):
        sizes = STUDIES[table].own_sizes if seed == OWN else given.features
        return ("--features", *map(str, sizes))

    kind = "-".join(map(str, given.features)) + "-"
    return harness.each_split(
        __file__, asked, beside=("raw_tables", "real_tables"), fresh=given.fresh, show=show, options=options, kind=kind
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="one random split each")
    parser.add_argument("--tables", nargs="+", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--features", type=int, nargs="+", default=SIZES, help="how many, in random splits")
    parser.add_argument("--fresh", action="store_true", help="measure again what an interrupted run has finished")
    parser.add_argument("--child", nargs=2, metavar=("TABLE", "SEED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(*given.child, given.features)))
        return
    began = time.perf_counter()
    print(f"{len(given.seeds)} random splits of each table, and its authors' own; rates apart of new people")
    print(f"{'table':<8}{'seed':>5}{'':>10}{'new':>6}{'before':>9}{'kept':>9}{'typical':>9}{'alone':>9}{'fit, s':>8}")
    rows = run(given)
    for line in summaries(rows):
        numbers = "".join(f"{mean:>9.3f} ± {half or float('nan'):.3f}" for mean, half in map(line.get, APART))
        pooled = "".join(f"{value:>9.3f}" for value in line["pooled"].values())
        print(
            f"{line['table']:<8}{line['features']:>4} {line['measure']:<4}{line['new']:>7.1%}{numbers}  pooled{pooled}"
        )
    harness.keep("new_people", {"seeds": list(given.seeds), "drawn": rows}, began=began)


if __name__ == "__main__":
    sys.exit(main())
