"""Time the COMPAS frontier at c = .25 against as many fits, and against the dense statement in cvxpy.

    python benchmarks/frontier.py [--rounds 3] [--points 50]

Each method runs in a process of its own, the methods taking turns round by round, so that a noisy machine disturbs
all alike. A process traces three points to warm up and then the whole frontier once (ε from 0 to .7, KL), from the
frame of people; the medians over rounds are reported with their ratio to ``eh.frontier``. The dense statement starts
from the finished distribution p(d, x, y), as in ``benchmarks/fit.py``, which builds it. ``found`` counts the points
with a value, ``off`` is the largest difference from the reference objectives: those of fits without a tie-break.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
from fit import dense

BUDGET = 0.25
TO = 0.7
METHODS = ["eh.frontier", "eh.fit", "eh.fit, no tie-break", "cvxpy CLARABEL"]
REFERENCE = "eh.fit, no tie-break"


def frontier(data, problem):
    """Return a function that traces the bounds in one call."""
    from evenhand.tradeoff import frontier

    return lambda bounds: frontier(problem, data.frame, bounds=bounds).frame["objective"].tolist()


def fits(data, problem):
    """Return a function that fits at every bound by itself."""
    import evenhand as eh

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

    import evenhand as eh

    def run(bounds):
        values = []
        for bound in bounds:
            asked = SimpleNamespace(
                problem=replace(problem, parity=[eh.PairwiseParity(bound)]),
                counts=data.counts,
            )
            try:
                value = dense(asked, solver)()
            except cp.SolverError:
                value = math.nan
            values.append(value if value is not None and math.isfinite(value) else math.nan)
        return values

    return run


def child(method, points):
    """Run one method in this process and print what it took."""
    import evenhand as eh

    warnings.simplefilter("ignore")
    data = eh.datasets.load("compas")
    _ = data.frame, data.counts
    tie_break = None if "no tie-break" in method else "least_change"
    problem = replace(data.problem, budget=eh.ExpectedDistortion(BUDGET), tie_break=tie_break)
    if method.startswith("cvxpy"):
        run = statements(data, problem, method.split()[1])
    else:
        run = (frontier if method == "eh.frontier" else fits)(data, problem)
    run([0.1, 0.4, 0.7])
    bounds = np.linspace(0, TO, points).tolist()
    began = time.perf_counter()
    values = run(bounds)
    print(json.dumps({"seconds": time.perf_counter() - began, "values": values}))


def measure(points, rounds):
    """Run the methods in turns; return the runs of each."""
    runs = {method: [] for method in METHODS}
    for _ in range(rounds):
        for method in METHODS:
            command = [sys.executable, __file__, "--points", str(points), "--child", method]
            out = subprocess.run(command, capture_output=True, text=True, check=True)
            runs[method].append(json.loads(out.stdout.splitlines()[-1]))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--child", metavar="METHOD")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.points)
        return
    names = ("evenhand", "numpy", "scipy", "highspy", "clarabel", "cvxpy")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{n} {version(n)}" for n in names))
    runs = measure(arguments.points, arguments.rounds)
    reference = np.array(runs[REFERENCE][0]["values"])
    ours = statistics.median(run["seconds"] for run in runs["eh.frontier"])
    print(f"\nCOMPAS, KL, c = {BUDGET:g}, {arguments.points} bounds: median of {arguments.rounds} rounds")
    print(f"  {'method':<24}{'seconds':>9}{'ratio':>8}{'ms a point':>12}{'found':>7}{'off':>10}")
    for method, results in runs.items():
        seconds = statistics.median(run["seconds"] for run in results)
        values = np.array(results[0]["values"])
        off = np.nanmax(np.abs(values - reference))
        a_point = 1000 * seconds / arguments.points
        found = np.isfinite(values).sum()
        print(f"  {method:<24}{seconds:>9.3f}{seconds / ours:>8.2f}{a_point:>12.1f}{found:>7}{off:>10.1e}")


if __name__ == "__main__":
    main()
