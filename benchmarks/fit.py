"""Time a fit against dense and sparse cvxpy statements, HiGHS on the same programme, and AIF360; judge every answer.

    python benchmarks/fit.py [--rounds 5] [--limit 120] [--patient]

Each method runs in a process of its own, the methods taking turns round by round. A process runs once to warm up and
then three times (AIF360: once, cold); the best of all rounds is reported with its ratio to evenhand's. Ours starts from
the frame of people and includes everything: counting, compiling, solving, the tie-break, the repair and the
certificate. Both cvxpy statements start from the finished distribution p(d, x, y) and include cvxpy's own compilation
and the solver; the dense one has a variable for every pair of cells, the sparse one for each allowed move. HiGHS starts
from there too, and includes evenhand's compilation of the linear programme, which it is given as it is.
AIF360 starts from its own dataset of people, already built.

AIF360 bounds differences of rates where the paper bounds ratios. It is asked twice: with the paper's number as it
stands, and with the largest difference that the paper's bound leaves at the optimum. Its two larger cases are the
Adult table with more features: 252 feature cells, and with ``--patient`` 756 in ten minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import dataclass, replace

import harness
from paper import Moves, exceeded, judged
from rivals import MEMORY, ask_aif360, dense, highs, sparse

import evenhand as eh

REPEATS = 3
PATIENT = 600
SPARSE = "sparse cvxpy CLARABEL"
MARRIED = {
    "Married-civ-spouse": "married",
    "Married-AF-spouse": "married",
    "Married-spouse-absent": "was married",
    "Divorced": "was married",
    "Separated": "was married",
    "Widowed": "was married",
}


@dataclass(frozen=True)
class Case:
    """A table and its problem, and who is asked; AIF360 is given each of the differences as its epsilon."""

    title: str
    rivals: tuple[str, ...]
    differences: tuple[float, ...]
    patient: bool = False


CASES = {
    "compas": Case("COMPAS, KL", ("cvxpy CLARABEL", "cvxpy SCS", SPARSE), (0.1, 0.0367)),
    "adult": Case("Adult, ℓ1", ("HiGHS ipm", "cvxpy HIGHS", "cvxpy CLARABEL", "cvxpy SCS", SPARSE), (0.15, 0.0722)),
    "adult-252": Case("Adult, 252 feature cells, ℓ1", ("HiGHS ipm", SPARSE), (0.1,)),
    "adult-756": Case("Adult, 756 feature cells, ℓ1", ("HiGHS ipm", SPARSE), (0.1,), patient=True),
}
OURS = ("evenhand", "evenhand, no tie-break", "evenhand, no tie-break, from counts")


def study(name):
    """Return a case's problem, its frame of people and its counts."""
    if name in ("compas", "adult"):
        data = eh.datasets.load(name)
        return data.problem, data.frame, data.counts
    data = eh.datasets.load("adult-wide")
    features = list(data.problem.features[: 3 if name == "adult-252" else 4])
    frame = data.frame.assign(marital_status=lambda people: people["marital_status"].replace(MARRIED))
    rules = {k: v for k, v in data.problem.distortion.rules.items() if k in (*features, data.problem.outcome)}
    problem = replace(data.problem, features=features, distortion=replace(data.problem.distortion, rules=rules))
    frame = frame[[*problem.protected, *features, problem.outcome]]
    return problem, frame, eh.count(problem, frame)


def ours(problem, frame, counts, method):
    """Return a function that fits from the frame, or from counts as the others do."""
    problem = replace(problem, tie_break=None if "no tie-break" in method else "least_change")
    table = counts if "from counts" in method else frame

    def run():
        return Moves.of_kernel(counts, eh.fit(problem, table).kernel)

    return run


def plain_highs(problem, counts):
    """Return a function that compiles the linear programme and gives it to HiGHS."""
    from evenhand.optimize.compile import compile_problem

    def run():
        compiled = compile_problem(problem, counts)
        solution = highs(compiled.program)().getSolution().col_value
        return Moves.of_kernel(counts, compiled.kernel(solution[: compiled.program.n_moves]))

    return run


def child(name, method):
    """Run one method in this process; return what it took and what it found."""
    warnings.simplefilter("ignore")
    problem, frame, counts = study(name)
    if "cvxpy" in method:
        import cvxpy  # noqa: F401

        statement = (sparse if method == SPARSE else dense)(problem, counts, method.split()[-1])
        run = lambda: statement()[1]  # noqa: E731
    elif method == "HiGHS ipm":
        run = plain_highs(problem, counts)
    else:
        run = ours(problem, frame, counts, method)
    before = harness.peak()
    moves, seconds = harness.best_of(REPEATS, run)
    peak = harness.peak()
    return {"seconds": seconds, "peak": peak, "added": peak - before} | verdict(problem, counts, moves)


def verdict(problem, counts, moves):
    """Return the judgement of a mapping, with the most by which a stated bound is exceeded."""
    found = judged(problem, counts, moves)
    return found | {"exceeded": exceeded(problem, found)}


def with_aif360(name, difference, limit):
    """Let AIF360 fit a case in its own environment; return what it took and what it found."""
    problem, frame, counts = study(name)
    row, moves = ask_aif360(problem, frame, counts, difference, limit=limit)
    return row if moves is None else row | verdict(problem, counts, moves)


def methods_of(name, case, limit, patient):
    """Return one function per method: what runs it once."""
    allowed = max(limit, PATIENT) if case.patient or patient else limit

    def in_child(method):
        return lambda: harness.child(__file__, "--child", name, method, limit=allowed)

    def elsewhere(difference):
        return lambda: with_aif360(name, difference, allowed)

    methods = {method: in_child(method) for method in (*OURS, *case.rivals)}
    if harness.AIF360.exists():
        methods |= {f"AIF360, ε = {difference:g}": elsewhere(difference) for difference in case.differences}
    return methods


def show(case, rows):
    """Print one case: one line per method."""
    reference = rows["evenhand"]["seconds"]
    print(f"\n{case.title}")
    print(f"  {'method':<24}{'seconds':>9}{'ratio':>8}{'objective':>13}{'exceeds':>10}{'peak MB':>9}{'added MB':>10}")
    for method, row in rows.items():
        if "seconds" not in row:
            print(f"  {method:<24}{row.get('died') or row['error']}")
            continue
        line = f"  {method:<24}{row['seconds']:>9.3f}{row['seconds'] / reference:>8.2f}{row['objective']:>13.7f}"
        print(line + f"{row['exceeded']:>10.0e}{row['peak']:>9.0f}{row['added']:>10.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds that a method may take in a round")
    parser.add_argument("--patient", action="store_true", help="ten minutes, and the case of 756 feature cells")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--child", nargs=2, metavar=("CASE", "METHOD"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(*given.child)))
        return
    began = time.perf_counter()
    found = {}
    for name in given.cases:
        case = CASES[name]
        if case.patient and not given.patient:
            continue
        rows = harness.in_turns(methods_of(name, case, given.limit, given.patient), given.rounds)
        show(case, rows)
        found[name] = {"title": case.title, "methods": rows}
    content = {
        "cases": found,
        "limit": PATIENT if given.patient else given.limit,
        "memory": MEMORY,
        "rounds": given.rounds,
    }
    harness.keep("fit", content, began=began, packages=("highspy", "clarabel", "cvxpy", "scs"))


if __name__ == "__main__":
    sys.exit(main())
