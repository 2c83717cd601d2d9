"""Time the COMPAS frontier at c = .25 against as many fits, against the dense statement in cvxpy, and against AIF360.

    python benchmarks/frontier.py [--rounds 3] [--points 50]

Each method runs in a process of its own, the methods taking turns round by round. A process traces three points to warm
up and then the whole frontier once (ε from 0 to .7, KL), from the frame of people; the best round is reported with its
ratio to ``eh.frontier``'s. The dense statement starts from the finished distribution p(d, x, y). ``found``
counts the points with a value, ``off`` is the largest difference from the reference objectives: those of fits without a
tie-break. AIF360 fits three bounds, as differences of rates and with its own objective, so that only its time for a
point can be compared.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from dataclasses import replace

import harness
import numpy as np
from rivals import ask_aif360, dense

import evenhand as eh

BUDGET = 0.25
TO = 0.7
METHODS = ["eh.frontier", "eh.fit", "eh.fit, no tie-break", "cvxpy CLARABEL"]
REFERENCE = "eh.fit, no tie-break"
DIFFERENCES = (0.1, 0.15, 0.2)


def frontier(data, problem):
    """Return a function that traces the bounds in one call."""
    return lambda bounds: eh.frontier(problem, data.frame, bounds=bounds).frame["objective"].tolist()


def fits(data, problem):
    """Return a function that fits at every bound by itself."""

    def run(bounds):
        values = []
        for bound in bounds:
            try:
                values.append(eh.fit(replace(problem, parity=[eh.PairwiseParity(bound)]), data.frame).objective)
            except eh.InfeasibleError:
                values.append(math.nan)
        return values

    return run


def statements(data, problem, solver):
    """Return a function that states and solves the dense problem at every bound."""
    import cvxpy as cp

    def run(bounds):
        values = []
        for bound in bounds:
            asked = replace(problem, parity=[eh.PairwiseParity(bound)])
            try:
                value, _ = dense(asked, data.counts, solver)()
            except cp.SolverError:
                value = math.nan
            values.append(value if value is not None and math.isfinite(value) else math.nan)
        return values

    return run


def study(method):
    """Return the data and the problem that a method is asked."""
    data = eh.datasets.load("compas")
    tie_break = None if "no tie-break" in method else "least_change"
    return data, replace(data.problem, budget=eh.ExpectedDistortion(BUDGET), tie_break=tie_break)


def child(method, points):
    """Run one method in this process; return what it took."""
    warnings.simplefilter("ignore")
    data, problem = study(method)
    _ = data.frame, data.counts
    if method.startswith("cvxpy"):
        run = statements(data, problem, method.split()[1])
    else:
        run = (frontier if method == "eh.frontier" else fits)(data, problem)
    run([0.1, 0.4, 0.7])
    values, seconds = harness.timed(lambda: run(np.linspace(0, TO, points).tolist()))
    return {"seconds": seconds, "values": values, "peak": harness.peak(), "a_point": seconds / points}


def with_aif360(limit):
    """Let AIF360 fit three bounds; return the seconds that a point takes it."""
    data, problem = study("AIF360")
    asked = problem, data.frame, data.counts
    rows = [ask_aif360(*asked, difference, limit=limit)[0] for difference in DIFFERENCES]
    if ended := [row for row in rows if harness.failed(row)]:
        return ended[0]
    return {"a_point": sum(row["seconds"] for row in rows) / len(rows), "peak": max(row["peak"] for row in rows)}


def summary(rows, points):
    """Add to each row its ratio to ours per point, how many points it found and how far off they are."""
    reference = np.array(rows[REFERENCE]["values"])
    for row in rows.values():
        if "a_point" not in row:
            continue
        row["ratio"] = row["a_point"] * points / rows["eh.frontier"]["seconds"]
        if "values" in row:
            values = np.array(row.pop("values"))
            row |= {"found": int(np.isfinite(values).sum()), "off": float(np.nanmax(np.abs(values - reference)))}
    return rows


def show(rows):
    """Print one line per method."""
    print(f"  {'method':<24}{'seconds':>9}{'ratio':>8}{'ms per point':>14}{'found':>7}{'off':>10}")
    for method, row in rows.items():
        if "a_point" not in row:
            print(f"  {method:<24}{row.get('died') or row['error']}")
            continue
        line = f"  {method:<24}{row.get('seconds', math.nan):>9.3f}{row['ratio']:>8.2f}{1000 * row['a_point']:>14.1f}"
        print(line + (f"{row['found']:>7}{row['off']:>10.1e}" if "found" in row else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--limit", type=float, default=120, help="seconds that AIF360 may take for a point")
    parser.add_argument("--child", metavar="METHOD", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(given.child, given.points)))
        return
    began = time.perf_counter()

    def in_child(method):
        return lambda: harness.child(__file__, "--points", given.points, "--child", method)

    methods = {method: in_child(method) for method in METHODS}
    if harness.AIF360.exists():
        methods["AIF360, three bounds"] = lambda: with_aif360(given.limit)
    rows = summary(harness.in_turns(methods, given.rounds), given.points)
    print(f"\nCOMPAS, KL, c = {BUDGET:g}, {given.points} bounds: best of {given.rounds} rounds")
    show(rows)
    content = {"points": given.points, "rounds": given.rounds, "budget": BUDGET, "methods": rows}
    harness.keep("frontier", content, began=began, packages=("highspy", "clarabel", "cvxpy"))


if __name__ == "__main__":
    sys.exit(main())
