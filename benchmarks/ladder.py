"""Time the specialised method on large domains against HiGHS's interior point and against dense cvxpy statements.

    python benchmarks/ladder.py [--rounds 3] [--growth 1000000] [--limit 120]

The Adult ladder adds one feature at a time to age and education, up to 195,994 moves; HiGHS runs its interior-point
method without crossover on the same ℓ1 programme; cvxpy is given every (d, x, y) → (x̂, ŷ), ℓ1 with HiGHS and KL with
Clarabel. The generated domain has ever more blocks of one size, then one block of ever larger size. Every measurement
runs in a process of its own, the methods taking turns, on one thread; seconds are of processor time, the best of all
rounds. ``solve`` is the loss alone, ``tie-break`` what choosing among the optima adds, ``compile`` what building the
programme costs, as a share of ``solve``; of cvxpy ``solve`` is stating, its own compilation and the solver. The others
have a limit of seconds and, for cvxpy, of memory; a method that dies is not asked for larger domains of that family.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import dataclass, replace

import harness
import numpy as np
import pandas as pd
import rivals
from paper import Moves, exceeded, judged

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
OURS = ("l1", "kl")
STATED = {"cvxpy l1": "HIGHS", "cvxpy kl": "CLARABEL"}
METHODS = ("HiGHS", *OURS, *STATED)
SITES = (2, 6, 20, 64, 200, 640)
MOVES_OF_A_SITE = 1_584
GRIDS = (12, 20, 32, 44)


def rung(number, utility):
    """Return the problem of a rung, and its counts."""
    data = eh.datasets.load("adult-wide")
    features = data.problem.features[: LADDER[number].features]
    rules = {k: v for k, v in data.problem.distortion.rules.items() if k in (*features, data.problem.outcome)}
    distortion = replace(data.problem.distortion, rules=rules)
    problem = replace(data.problem, features=features, distortion=distortion, utility=utility)
    return problem, eh.count(problem, data.cells, frequencies="people")


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
    return problem, eh.count(problem, cells, frequencies="people")


def case(name, utility):
    """Return the problem and counts that a case names: rung:2, sites:100 or grid:20."""
    kind, number = name.split(":")
    if kind == "rung":
        return rung(int(number), utility)
    return generated(int(number), 6, utility) if kind == "sites" else generated(1, int(number), utility)


def seconds(function):
    """Return what a function gives and the processor time it took."""
    return harness.timed(function, time.process_time)


def highs(problem, counts, compiled):
    """Run HiGHS's interior point without crossover; return what it took."""
    solver, took = seconds(rivals.highs(compiled.program))
    kernel = compiled.kernel(solver.getSolution().col_value[: compiled.program.n_moves])
    row = {"solve": took, "steps": solver.getInfo().ipm_iteration_count, "peak": harness.peak()}
    return row | verdict(problem, counts, kernel)


def ours(problem, counts, compiled):
    """Solve without and with the tie-break, and certify; return what it took."""
    from evenhand.optimize.certificate import certify
    from evenhand.optimize.solve import Clock, solve

    found, alone = seconds(lambda: solve(compiled.program, None, Clock()))
    peak = harness.peak()
    result, whole = seconds(lambda: solve(compiled.program, "least_change", Clock()))
    kernel = compiled.kernel(result.x)
    certificate = certify(problem, counts, kernel, result.multipliers, program=compiled.program)
    return verdict(problem, counts, kernel) | {
        "solve": alone,
        "whole": whole,
        "steps": found.steps,
        "gap": certificate.gap,
        "violation": certificate.max_violation,
        "notes": result.notes,
        "peak": peak,
        "peak_whole": harness.peak(),
    }


def stated(problem, counts, solver):
    """State the problem densely and solve it; return what it took."""
    import cvxpy

    warnings.simplefilter("ignore")
    try:
        (_, moves), took = seconds(rivals.dense(problem, counts, solver))
    except cvxpy.SolverError as error:
        return {"died": str(error).splitlines()[0]}
    if moves is None:
        return {"died": "the solver gave no answer"}
    found = judged(problem, counts, moves)
    row = {"solve": took, "steps": 0, "peak": harness.peak(), "objective": found["objective"]}
    return row | {"exceeded": exceeded(problem, found)}


def verdict(problem, counts, kernel):
    """Return the loss of a kernel, and by how much it exceeds the paper's bounds at most."""
    found = judged(problem, counts, Moves.of_kernel(counts, kernel))
    return {"objective": found["objective"], "exceeded": exceeded(problem, found)}


def child(name, method):
    """Run one method on one case in this process; return what it took."""
    from evenhand.optimize.compile import compile_problem

    problem, counts = case(name, eh.KL() if method.endswith("kl") else eh.L1())
    compile_problem(problem, counts)
    compiled, building = seconds(lambda: compile_problem(problem, counts))
    before = harness.peak()
    if method in STATED:
        row = stated(problem, counts, STATED[method])
    else:
        row = (highs if method == "HiGHS" else ours)(problem, counts, compiled)
    size = {"moves": compiled.program.n_moves, "pairs": len(counts) * len(counts.features.cells) * counts.domain.y.size}
    return row | size | ({"compile": building, "added": row["peak"] - before} if "solve" in row else {})


def measure(name, methods, rounds, limit):
    """Run the methods on one case in turns; return the fastest of each."""

    def in_child(method):
        return lambda: harness.child(
            __file__,
            "--child",
            name,
            method,
            limit=None if method in OURS else limit,
            memory=rivals.MEMORY if method in STATED else None,
            environment=harness.ONE_THREAD,
        )

    return harness.in_turns({method: in_child(method) for method in methods}, rounds)


def climb(cases, rounds, limit):
    """Measure a family of growing cases, each method until it dies; yield the title and the rows of each."""
    alive = list(METHODS)
    for title, name in cases:
        rows = measure(name, alive, rounds, limit)
        alive = [method for method in alive if "died" not in rows[method]]
        size = {key: rows[OURS[0]][key] for key in ("moves", "pairs")}
        rows = {method: row | size for method, row in rows.items()}
        show(title, rows)
        yield {"title": title, "methods": rows} | size


def show(name, rows):
    """Print one case: one line per method."""
    for method, row in rows.items():
        line = f"  {name:<10}{row['moves']:>10,.0f}  {method:<9}"
        if "died" in row:
            print(line + row["died"])
            continue
        line += f"{row['solve']:>8.2f}{row['steps']:>6.0f}"
        ratio = rows["HiGHS"]["solve"] / row["solve"] if "solve" in rows.get("HiGHS", {}) else float("nan")
        line += f"{ratio:>8.2f}{1e6 * row['solve'] / row['moves']:>9.1f}"
        if method in OURS:
            line += f"{row['whole'] - row['solve']:>10.2f}{row['compile'] / row['solve']:>9.1%}{row['gap']:>9.0e}"
        else:
            line += " " * 28
        line += f"{row['exceeded']:>9.0e}{row['objective']:>12.6f}{row['peak']:>8.0f}{row['added']:>8.0f}"
        print(line, *row.get("notes", ()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rungs", type=int, default=len(LADDER), help="as many rungs of the Adult ladder")
    parser.add_argument("--growth", type=int, default=10**6, help="the most moves of the generated domains")
    parser.add_argument("--limit", type=float, default=120, help="seconds that the others may take")
    parser.add_argument("--child", nargs=2, metavar=("CASE", "METHOD"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(*given.child)))
        return
    began = time.perf_counter()
    print(f"Seconds of processor time on one thread: best of {given.rounds} rounds")
    print(
        f"  {'case':<10}{'moves':>10}  {'method':<9}{'solve':>8}{'steps':>6}{'HiGHS/':>8}{'µs/move':>9}"
        f"{'tie-break':>10}{'compile':>9}{'gap':>9}{'exceeds':>9}{'objective':>12}{'peak MB':>8}{'added':>8}"
    )
    rungs = [(f"rung {number + 1}", f"rung:{number}") for number in range(given.rungs)]
    sites = [(f"{n} blocks", f"sites:{n}") for n in SITES if MOVES_OF_A_SITE * n <= 1.05 * given.growth]
    grids = [(f"one {2 * n * n:,}", f"grid:{n}") for n in GRIDS if MOVES_OF_A_SITE * n * n / 36 <= 1.05 * given.growth]
    others = min(given.rounds, 2)
    content = {
        "rounds": given.rounds,
        "others": {"rounds": others},
        "limit": given.limit,
        "memory": rivals.MEMORY,
        "families": {
            "Adult: one feature more at a time": list(climb(rungs, given.rounds, given.limit)),
            "Generated: more blocks of one size": list(climb(sites, others, given.limit)),
            "Generated: one larger block": list(climb(grids, others, given.limit)),
        },
    }
    harness.keep("ladder", content, began=began, packages=("highspy", "clarabel", "cvxpy"))


if __name__ == "__main__":
    sys.exit(main())
