"""Time the specialised method on large domains against HiGHS's interior point on the same linear programme.

    python benchmarks/ladder.py [--rounds 3] [--growth 1000000]

The Adult ladder adds one feature at a time to age and education, up to 195,994 moves; HiGHS runs its interior-point
method without crossover on its own ℓ1 programme. The generated domain has ever more blocks of one size, then one block
of ever larger size. Every measurement runs in a process of its own, the methods taking turns, on one thread; seconds
are of processor time, the median over rounds. ``solve`` is the loss alone, ``tie-break`` what choosing among the optima
adds, ``compile`` what building the programme costs, as a share of ``solve``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np
import pandas as pd

import evenhand as eh


@dataclass(frozen=True)
class Rung:
    """A rung: the features, the moves it has, and its optima."""

    features: int
    moves: int
    l1: float
    kl: float


LADDER = (
    Rung(2, 4_184, 0.068634, 0.003035),
    Rung(3, 31_500, 0.068646, 0.003037),
    Rung(4, 73_114, 0.073127, 0.008590),
    Rung(5, 125_526, 0.077524, 0.010549),
    Rung(6, 195_994, 0.091124, 0.021046),
)
METHODS = ("HiGHS", "l1", "kl")
SITES = (20, 64, 200, 640)
GRIDS = (12, 20, 32, 44)


def rung(number, utility):
    """Return the problem of a rung, and its counts."""
    data = eh.datasets.load("adult-wide")
    features = data.problem.features[: LADDER[number].features]
    rules = {k: v for k, v in data.problem.distortion.rules.items() if k in (*features, data.problem.outcome)}
    distortion = replace(data.problem.distortion, rules=rules)
    problem = replace(data.problem, features=features, distortion=distortion, utility=utility)
    return problem, eh.count(problem, data.cells, weights="people")


def generated(sites, grid, utility):
    """Return a problem with as many blocks as sites, of grid × grid cells each, and its counts."""
    rng = np.random.default_rng(0)
    index = np.indices((sites, grid, grid, 3, 2)).reshape(5, -1)
    cells = pd.DataFrame(dict(zip(("site", "a", "b", "group", "y"), index, strict=True)))
    rate = 0.3 + 0.06 * cells["group"] + 0.1 * cells["a"] / grid
    share = np.where(cells["y"] == 1, rate, 1 - rate)
    cells["people"] = np.maximum(1, rng.poisson(30 * share * rng.gamma(1.0, 1.0, len(cells))))
    problem = eh.Problem(
        protected=["group"],
        features=["site", "a", "b"],
        outcome="y",
        utility=utility,
        parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion(
            {"a": eh.Ordinal(1, max_steps=1), "b": eh.Ordinal(1, max_steps=1, up=False), "y": eh.Ordinal(1, up=False)}
        ),
        budget=eh.ExpectedDistortion(0.4),
    )
    return problem, eh.count(problem, cells, weights="people")


def case(name, utility):
    """Return the problem and counts that a case names: rung:2, sites:100 or grid:20."""
    kind, number = name.split(":")
    if kind == "rung":
        return rung(int(number), utility)
    return generated(int(number), 6, utility) if kind == "sites" else generated(1, int(number), utility)


def seconds(function):
    """Return what a function gives and the processor time it took."""
    began = time.process_time()
    value = function()
    return value, time.process_time() - began


def highs(program):
    """Run HiGHS's interior point without crossover; return its objective and time."""
    import highspy

    from evenhand.solve.linear import _highs_model, with_epigraph
    from evenhand.solve.model import lay_out

    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("solver", "ipm"), ("run_crossover", "off")):
        assert solver.setOptionValue(option, value) == highspy.HighsStatus.kOk
    solver.passModel(_highs_model(with_epigraph(lay_out(program), program.loss)))
    _, took = seconds(solver.run)
    return {"solve": took, "objective": solver.getObjectiveValue(), "steps": solver.getInfo().ipm_iteration_count}


def ours(problem, counts, compiled):
    """Solve without and with the tie-break, and certify; return what it took."""
    from evenhand.certificate import certify
    from evenhand.solve import Clock, solve

    found, alone = seconds(lambda: solve(compiled.program, None, Clock()))
    result, whole = seconds(lambda: solve(compiled.program, "least_change", Clock()))
    certificate = certify(problem, counts, compiled.kernel(result.x), result.multipliers, program=compiled.program)
    return {
        "solve": alone,
        "whole": whole,
        "steps": found.steps,
        "objective": certificate.objective,
        "gap": certificate.gap,
        "violation": certificate.max_violation,
        "notes": result.notes,
    }


def child(name, method):
    """Run one method on one case in this process and print what it took."""
    from evenhand.compile import compile_problem

    problem, counts = case(name, eh.KL() if method == "kl" else eh.L1())
    compile_problem(problem, counts)
    compiled, building = seconds(lambda: compile_problem(problem, counts))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = highs(compiled.program) if method == "HiGHS" else ours(problem, counts, compiled)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row |= {"moves": compiled.program.n_moves, "compile": building, "peak": peak, "added": peak - before}
    print(json.dumps(row))


def measure(name, methods, rounds):
    """Run the methods on one case in turns; return the median of every number."""
    runs = {method: [] for method in methods}
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for _ in range(rounds):
        for method in methods:
            command = [sys.executable, __file__, "--child", name, method]
            out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            runs[method].append(json.loads(out.stdout.splitlines()[-1]))
    return {method: _median(rows) for method, rows in runs.items()}


def _median(rows):
    numbers = {k for k, v in rows[0].items() if isinstance(v, (int, float))}
    return {k: statistics.median(row[k] for row in rows) if k in numbers else rows[0][k] for k in rows[0]}


def show(name, rows):
    """Print one case: a line a method."""
    for method, row in rows.items():
        line = f"  {name:<10}{row['moves']:>10,.0f}  {method:<7}{row['solve']:>8.2f}{row['steps']:>6.0f}"
        ratio = rows["HiGHS"]["solve"] / row["solve"] if "HiGHS" in rows else float("nan")
        line += f"{ratio:>8.2f}{1e6 * row['solve'] / row['moves']:>9.1f}"
        if method != "HiGHS":
            line += f"{row['whole'] - row['solve']:>10.2f}{row['compile'] / row['solve']:>9.1%}"
            line += f"{row['gap']:>9.0e}{row['violation']:>9.0e}"
        else:
            line += " " * 37
        print(line + f"{row['objective']:>12.6f}{row['peak']:>8.0f}{row['added']:>8.0f}", *row.get("notes", ()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", type=int, default=10**6, help="the most moves of the generated domains")
    parser.add_argument("--child", nargs=2, metavar=("CASE", "METHOD"))
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    names = ("evenhand", "numpy", "scipy", "highspy")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{n} {version(n)}" for n in names))
    print(f"\nSeconds of processor time on one thread: median of {arguments.rounds} rounds")
    print(
        f"  {'case':<10}{'moves':>10}  {'method':<7}{'solve':>8}{'steps':>6}{'HiGHS/':>8}{'µs/move':>9}"
        f"{'tie-break':>10}{'compile':>9}{'gap':>9}{'exceeds':>9}{'objective':>12}{'peak MB':>8}{'added':>8}"
    )
    for number in range(len(LADDER)):
        show(f"rung {number + 1}", measure(f"rung:{number}", METHODS, arguments.rounds))
    for sites in SITES:
        if 1_584 * sites <= 1.05 * arguments.growth:
            show(f"{sites} blocks", measure(f"sites:{sites}", METHODS[1:], 1))
    for grid in GRIDS:
        show(f"one {2 * grid * grid:,}", measure(f"grid:{grid}", METHODS if grid < 40 else METHODS[1:], 1))


if __name__ == "__main__":
    main()
