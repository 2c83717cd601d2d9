"""Time random large problems over the whole surface: solve, tie-break and certificate, and HiGHS where they are linear.

    python benchmarks/families.py [--seed 20261117] [--problems 120] [--limit 60] [--fresh]

Nobody chose these problems: ``drawing.py`` draws them from the seed, which is a new one unless it is given. Those for
KL and ℓ1 are solved with both measures. Every fit runs in a process of its own, on one thread; seconds are of
processor time, of one run, or of the faster of two where that takes less than a second. HiGHS's interior point without
crossover has a limit of seconds, evenhand a generous one for each stage; who dies has a row that says so. A problem
whose bounds cannot be met is drawn again with looser ones, and counted.

Each finished problem is one line in ``build/families``, so that an interrupted run with the same seed goes on, unless
evenhand has changed meanwhile. ``families.draw(seed, number)`` is any of the problems.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import harness
import rivals
from distribution import HIGHS, fits, shares
from drawing import LARGEST, LINEAR, SMALLEST, draw, versions

import evenhand as eh

OWN_LIMIT = 300
"""Seconds that evenhand has for the optimum, and again for optimum and tie-break."""

LOOSENED = 3
"""So many times bounds are loosened where they cannot be met."""

QUICK = 1.0
"""What takes fewer seconds is run twice."""


class Draw(NamedTuple):
    """Which problem is drawn."""

    seed: int
    number: int
    smallest: int = SMALLEST
    largest: int = LARGEST
    loosened: int = 0

    def problem(self):
        """Return the problem, its counts and tags."""
        sizes = {"smallest": self.smallest, "largest": self.largest}
        return draw(self.seed, self.number, loosened=self.loosened, **sizes)


def quickest(prepare):
    """Run what is prepared, twice if it is quick; return its value and the least processor time."""
    value, least = harness.timed(prepare(), time.process_time)
    if least < QUICK:
        least = min(least, harness.timed(prepare(), time.process_time)[1])
    return value, least


def say(row):
    """Print what is known so far: should this process die, it is known all the same."""
    print(json.dumps(row), flush=True)


def ours(drawn, measure, limit):
    """Solve a problem, loosened until it can be met, without and with the tie-break; say what it took."""
    for loosened in range(drawn.loosened, LOOSENED + 1):
        problem, counts, tags = drawn._replace(loosened=loosened).problem()
        row = _ours(versions(problem)[measure], counts, {"tags": tags}, limit)
        if not row.get("infeasible"):
            break
    say(row)


def _ours(problem, counts, row, limit):
    """Return what a fit took."""
    from evenhand.optimize.certificate import certify
    from evenhand.optimize.compile import compile_problem
    from evenhand.optimize.solve import Clock, solve

    harness.allow(limit)
    try:
        compiled, building = harness.timed(lambda: compile_problem(problem, counts), time.process_time)
        program = compiled.program
        row |= {"moves": program.n_moves, "sources": program.n_sources, "compile": building}
        say(row)
        found, alone = quickest(lambda: lambda: solve(program, None, Clock()))
        if found is None:
            return row | {"infeasible": True}
        row |= {"solve": alone, "steps": found.steps, "objective": float(program.loss.value(program.released(found.x)))}
        say(row | by_whom(program, found.notes, found.notes))
        harness.allow(limit)
        chosen, whole = quickest(lambda: lambda: solve(program, "least_change", Clock()))
        row |= {"whole": whole, **by_whom(program, found.notes, chosen.notes)}
        row |= {"notes": list(dict.fromkeys((*found.notes, *chosen.notes)))}
        kernel = compiled.kernel(chosen.x)
        certificate, certifying = harness.timed(
            lambda: certify(problem, counts, kernel, chosen.multipliers, program=program), time.process_time
        )
    except eh.InfeasibleError:
        return row | {"infeasible": True}
    except eh.SolverError as error:
        return row | {"died": str(error), "peak": harness.peak()}
    return row | {
        "certify": certifying,
        "status": certificate.status,
        "gap": certificate.gap,
        "violation": certificate.max_violation,
        "peak": harness.peak(),
    }


def by_whom(program, alone, whole):
    """Say which method found the optimum and which the tie-break, from the notes of a fit without and with one."""
    from evenhand.optimize.solve.structured.limits import suitable

    took = suitable(program) is not None
    specialised = took and not any("specialised method did not answer" in note for note in (*alone, *whole))
    about = [note for note in whole if "tie-break" in note]
    lost = any("the general one answered" not in note for note in about)
    return {
        "suitable": took,
        "specialised": specialised,
        "tie_break": "lost" if lost else "general" if about or not specialised else "specialised",
    }


def highs(drawn, measure, limit):
    """Run HiGHS's interior point without crossover on the same programme; say what it took."""
    from evenhand.optimize.compile import compile_problem

    problem, counts, _ = drawn.problem()
    program = compile_problem(versions(problem)[measure], counts).program

    def prepare():
        run = rivals.highs(program)
        harness.allow(limit)
        return run

    solver, took = quickest(prepare)
    row = {"solve": took, "steps": solver.getInfo().ipm_iteration_count, "peak": harness.peak()}
    status = solver.modelStatusToString(solver.getModelStatus())
    if status != "Optimal":
        say({"died": f"ended as {status!r}", "spent": took, "peak": harness.peak()})
        return
    say(row | {"objective": solver.getInfo().objective_function_value})


def ask(what, measure, limit, drawn):
    """Let a child measure; an end of any kind is a row."""
    options = [f"--{name}={value}" for name, value in drawn._asdict().items()]
    try:
        return harness.child(
            __file__, "--child", what, measure, f"--limit={limit}", *options,
            limit=limit, memory=rivals.MEMORY, environment=harness.ONE_THREAD,
        )  # fmt: skip
    except RuntimeError as error:
        return {"died": str(error).strip().splitlines()[-1]}


def turns(function, items, workers):
    """Yield a function of each item, several at once if asked; with one worker nothing outlives an interrupt."""
    if workers == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in as_completed([pool.submit(function, item) for item in items]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def measure(drawn, limit, own_limit):
    """Measure one problem by every method; return its row."""
    problem, _, tags = drawn.problem()
    methods = {}
    for name in versions(problem):
        row = methods[name] = ask("ours", name, own_limit, drawn)
        # Every method has the same bounds.
        tags = row.pop("tags", tags)
        drawn = drawn._replace(loosened=tags["loosened"])
        if name in LINEAR and not row.get("infeasible"):
            theirs = methods[f"{HIGHS} {name}"] = ask("highs", name, limit, drawn)
            if theirs.get("died", "").startswith("not done"):
                theirs["ended"] = limit
    return {"number": drawn.number, "tags": tags, "methods": methods}


def show(row):
    """Print one problem: one line per measure."""
    for fit in fits([row]):
        line = f"{row['number']:>5}{fit.get('moves', 0):>9,.0f}  {fit['measure']:<18}"
        if "solve" in fit:
            line += (
                f"{fit['solve']:>8.2f}{fit.get('whole', float('nan')):>8.2f}{1e6 * fit['solve'] / fit['moves']:>8.1f}"
            )
            line += f"{fit['ratio']:>8.2f}" if "ratio" in fit else " " * 8
            line += f"  {'specialised' if fit.get('specialised') else 'general':<12}{fit.get('tie_break', '–'):<12}"
        words = [fit.get("died"), "infeasible" if fit.get("infeasible") else None, *fit.get("notes", ())]
        tags = [str(fit["tags"][key]) for key in ("table", "parity", "budget", "outcome", "reach")]
        print(line, "; ".join(tags), *filter(None, words), flush=True)


def run(given):
    """Measure what is not yet measured; return all rows."""
    drawn = [Draw(given.seed, number, given.smallest, given.largest) for number in range(given.problems)]
    digits = harness.fingerprint(Path(__file__).with_name("drawing.py"))
    name = f"{given.seed}-{given.smallest}-{given.largest}-{given.limit:g}-{given.own_limit:g}-{digits}.jsonl"
    journal = harness.ROOT / "build" / "families" / name
    rows = harness.finished(journal, given.fresh, by="number")
    if rows:
        print(f"{len(rows)} problems were measured before: {journal}")
    missing = [each for each in drawn if each.number not in rows]
    for row in turns(lambda each: measure(each, given.limit, given.own_limit), missing, given.workers):
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        rows[row["number"]] = row
        show(row)
    return [rows[each.number] for each in drawn]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="what the problems are drawn from; without it a new one")
    parser.add_argument("--problems", type=int, default=120)
    parser.add_argument("--smallest", type=int, default=SMALLEST, help="the fewest moves, about")
    parser.add_argument("--largest", type=int, default=LARGEST, help="the most moves, about")
    parser.add_argument("--limit", type=float, default=60, help="seconds that HiGHS may take")
    parser.add_argument("--own-limit", type=float, default=OWN_LIMIT, help="seconds that evenhand may take per stage")
    parser.add_argument("--workers", type=int, default=1, help="problems at once; more than one disturb each other")
    parser.add_argument("--fresh", action="store_true", help="measure again what an interrupted run has finished")
    parser.add_argument("--child", nargs=2, metavar=("WHO", "MEASURE"), help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--loosened", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        who, name = given.child
        drawn = Draw(given.seed, given.number, given.smallest, given.largest, given.loosened)
        (ours if who == "ours" else highs)(drawn, name, given.limit)
        return
    began = time.perf_counter()
    given.seed = secrets.randbelow(10**9) if given.seed is None else given.seed
    print(f"Seed {given.seed}: {given.problems} problems, seconds of processor time on one thread")
    print(
        f"{'no.':>5}{'moves':>9}  {'measure':<18}{'solve':>8}{'whole':>8}{'µs/move':>8}{'HiGHS/':>8}  "
        f"{'optimum by':<12}{'tie-break by':<12}"
    )
    rows = run(given)
    for line in shares(fits(rows)):
        print(f"  {line['fits']:<32}{line['number']:>5}  {line['answered']:.0%}")
    settings = {
        name: getattr(given, name) for name in ("seed", "problems", "smallest", "largest", "limit", "own_limit")
    }
    harness.keep("families", settings | {"drawn": rows}, began=began, packages=("highspy", "clarabel"))


if __name__ == "__main__":
    sys.exit(main())
