"""Time a fit against the same problem stated densely in cvxpy, side by side in one run.

    python benchmarks/fit.py [--rounds 5]

Each method runs in a process of its own, the methods taking turns round by round, so that a noisy machine
disturbs all alike. A process runs once to warm up and then three times; the best counts, and the medians over
rounds are reported with their ratio to evenhand. Ours starts from the frame of people and includes everything:
counting, compiling, solving, the tie-break, the repair and the certificate. The dense statement starts from the
finished distribution p(d, x, y) and includes cvxpy's own compilation and the solver. Memory is the peak of the
whole process, and what the fit added to it.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from importlib.metadata import version

import numpy as np

CASES = {
    "COMPAS, KL": ("compas", ["evenhand", "evenhand, no tie-break", "cvxpy CLARABEL", "cvxpy SCS"]),
    "Adult, ℓ1": (
        "adult",
        ["evenhand", "evenhand, no tie-break", "cvxpy HIGHS", "cvxpy CLARABEL", "cvxpy SCS"],
    ),
}
REPEATS = 3


def ours(data, tie_break):
    """Return a function that fits from the frame."""
    import evenhand as eh

    problem = replace(data.problem, tie_break=tie_break)
    return lambda: eh.fit(problem, data.frame).objective


def dense(data, solver):
    """Return a function that states the problem over every (d, x, y) → (x̂, ŷ), prunes and solves it."""
    import cvxpy as cp

    import evenhand as eh

    problem, counts = data.problem, data.counts
    domain, p = counts.domain, counts.probability
    to_x = np.repeat(counts.features.cells, domain.y.size)
    to_y = np.tile(np.arange(domain.y.size), len(counts.features.cells))
    original = counts.records.at(domain.xy(to_x, to_y))
    n_sources, n_targets = len(counts), len(to_x)
    source, target = (a.ravel() for a in np.indices((n_sources, n_targets)))

    def run():
        cost = problem.distortion.between(domain, counts.x[source], counts.y[source], to_x[target], to_y[target])
        cost = cost.reshape(n_sources, n_targets)
        allowed = np.isfinite(cost)
        kernel = cp.Variable((n_sources, n_targets), nonneg=True)
        released = p @ kernel
        constraints = [cp.sum(kernel, axis=1) == 1, kernel[~allowed] == 0]
        rates = {}
        for group in counts.groups.cells:
            member = np.where(counts.d == group, counts.given_group, 0.0)
            for y in range(domain.y.size):
                rates[group, y] = (member @ kernel) @ (to_y == y)
        finite = np.where(allowed, cost, 0.0)
        for parity in problem.parity:
            constraints += list(parity_rows(parity, counts, rates))
        for budget in problem.budgets:
            for charge in budget.charges:
                each = cp.sum(cp.multiply(charge.of(finite), kernel), axis=1)
                if budget.per == "xy":
                    average = np.zeros((len(counts.records.cells), n_sources))
                    average[counts.records.of_source, np.arange(n_sources)] = counts.group_given_record
                    each = average @ each
                constraints.append(each <= charge.limit)
        if isinstance(problem.utility, eh.L1):
            objective = cp.norm1(released - original)
        else:
            held = original > 0
            objective = cp.sum(cp.rel_entr(original[held], released[held]))
        return cp.Problem(cp.Minimize(objective), constraints).solve(solver=solver)

    return run


def parity_rows(parity, counts, rates):
    """Yield eq. (1) or (2) for every group or pair."""
    import evenhand as eh

    groups = counts.groups.cells
    for y in range(counts.domain.y.size):
        if isinstance(parity, eh.TargetParity):
            target = counts.outcome[y]
            for group in groups:
                yield rates[group, y] <= (1 + parity.bound) * target
                yield rates[group, y] >= (1 - parity.bound) * target
        else:
            for a in groups:
                for b in groups:
                    if a != b:
                        yield rates[a, y] <= (1 + parity.bound) * rates[b, y]


def child(study, method):
    """Run one method in this process and print what it took."""
    import evenhand as eh

    warnings.simplefilter("ignore")
    data = eh.datasets.load(study)
    _ = data.frame, data.counts
    if method.startswith("cvxpy"):
        import cvxpy  # noqa: F401

        run = dense(data, method.split()[1])
    else:
        run = ours(data, None if "no tie-break" in method else "least_change")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    value = run()
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": min(seconds), "value": value, "peak": peak, "added": peak - before}))


def measure(study, methods, rounds):
    """Run the methods in turns; return the runs of each."""
    runs = {method: [] for method in methods}
    for _ in range(rounds):
        for method in methods:
            out = subprocess.run(
                [sys.executable, __file__, "--child", study, method],
                capture_output=True,
                text=True,
                check=True,
            )
            runs[method].append(json.loads(out.stdout.splitlines()[-1]))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=2, metavar=("STUDY", "METHOD"))
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    names = ("evenhand", "numpy", "scipy", "highspy", "clarabel", "cvxpy", "scs")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{n} {version(n)}" for n in names))
    for case, (study, methods) in CASES.items():
        runs = measure(study, methods, arguments.rounds)
        reference = statistics.median(r["seconds"] for r in runs["evenhand"])
        print(f"\n{case}: median of {arguments.rounds} rounds")
        print(f"  {'method':<24}{'seconds':>9}{'ratio':>8}{'objective':>13}{'peak MB':>9}{'added MB':>10}")
        for method, results in runs.items():
            seconds, peak, added = (statistics.median(r[k] for r in results) for k in ("seconds", "peak", "added"))
            value = results[0]["value"]
            print(f"  {method:<24}{seconds:>9.3f}{seconds / reference:>8.2f}{value:>13.7f}{peak:>9.0f}{added:>10.1f}")


if __name__ == "__main__":
    main()
