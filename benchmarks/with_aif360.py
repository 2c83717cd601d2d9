"""Fit and transform with AIF360's OptimPreproc, in an environment of its own; prints one line of JSON.

    .venv-aif360/bin/python benchmarks/with_aif360.py TASK [--rows 20000] [--repeats 1]

TASK is a folder that ``rivals.write_task`` made: ``people.csv``, one row per person, and ``task.json``, the roles of
the columns, what each change costs, and the options. The learned mapping is written to ``mapping.npz`` in the same
folder; judging it is for somebody else. Knows nothing of evenhand, which is not installed here.
"""

import argparse
import contextlib
import json
import os
import platform
import resource
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from aif360.algorithms.preprocessing import OptimPreproc
from aif360.algorithms.preprocessing.optim_preproc_helpers.opt_tools import OptTools
from aif360.datasets import BinaryLabelDataset

RUNS = 5
"""How often rows are transformed; the best counts."""

PACKAGES = ("aif360", "cvxpy", "ecos", "numpy", "pandas", "scikit-learn", "scipy")


def dataset(people, task):
    """Return people as AIF360 wants them: features as indicator columns, groups and outcome as numbers."""
    numbered = people.copy()
    maps = []
    for column in task["protected"]:
        names = dict(enumerate(sorted(people[column].unique())))
        numbered[column] = people[column].map({name: float(code) for code, name in names.items()})
        maps.append({float(code): name for code, name in names.items()})
    outcome = task["outcome"]
    numbered[outcome] = numbered[outcome].astype(float)
    return BinaryLabelDataset(
        df=pd.get_dummies(numbered, columns=task["features"], prefix_sep="=", dtype=float),
        label_names=[outcome],
        protected_attribute_names=task["protected"],
        metadata={"protected_attribute_maps": maps, "label_maps": [{0.0: "0", 1.0: "1"}]},
    )


def distortion(task):
    """Return δ as a function of two dicts; a forbidden change costs more than every threshold."""
    together = max if task["combine"] == "max" else sum
    costs = task["costs"]

    def between(old, new):
        return together(table[str(old[column])][str(new[column])] for column, table in costs.items())

    return between


def fitted(people, task):
    """Return a fitted OptimPreproc."""
    options = {
        "distortion_fun": distortion(task),
        "epsilon": task["epsilon"],
        "clist": task["thresholds"],
        "dlist": task["limits"],
    }
    return OptimPreproc(OptTools, options, seed=1).fit(people)


def peak():
    """Return the largest resident size of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(function):
    """Return what a function gives, and the seconds and the processor time it took."""
    began = time.perf_counter(), time.process_time()
    value = function()
    return value, time.perf_counter() - began[0], time.process_time() - began[1]


def attempt(function, times=1):
    """Return the seconds of the best of some runs, or the error that ended one."""
    try:
        return {"seconds": min(timed(function)[1] for _ in range(times))}
    except Exception as problem:
        return {"error": f"{type(problem).__name__}: {str(problem).splitlines()[0][:160]}"}


def transforms(found, task, people, rows):
    """Return how fast rows are transformed, with and without their outcomes, and what an unknown cell leads to."""
    chosen = people.sample(rows, replace=True, random_state=1, ignore_index=True)
    asked, building, _ = timed(lambda: dataset(chosen, task))
    new = chosen.head(100).copy()
    first = task["features"][0]
    new.loc[0, first] = "a value that was not fitted"
    return {
        "rows": rows,
        "building": building,
        "with outcome": attempt(lambda: found.transform(asked, transform_Y=True), times=RUNS),
        "without outcome": attempt(lambda: found.transform(asked, transform_Y=False)),
        "unknown value": attempt(lambda: found.transform(dataset(new, task), transform_Y=True)),
    }


def write_mapping(found, task, folder):
    """Write P(x̂, ŷ | d, x, y) with the values of its rows and columns, in the order of the task's columns."""
    table = found.OpT.dfP
    columns = [*task["features"], task["outcome"]]
    rows = table.index.to_frame(index=False)[[*task["protected"], *columns]].astype(str)
    targets = table.columns.to_frame(index=False)[columns].astype(str)
    np.savez(
        folder / "mapping.npz",
        probability=table.to_numpy(dtype=float),
        sources=rows.to_numpy(dtype=str),
        targets=targets.to_numpy(dtype=str),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", type=Path)
    parser.add_argument("--rows", type=int, default=0, help="transform as many rows, too")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    task = json.loads((arguments.task / "task.json").read_text(encoding="utf-8"))
    people = pd.read_csv(arguments.task / "people.csv", dtype=str, keep_default_na=False)
    prepared = dataset(people, task)
    before = peak()
    seconds, processor = [], []
    row = {"python": platform.python_version(), "versions": {name: version(name) for name in PACKAGES}}
    # The optimizer prints; the only line on the output stream is ours.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            for _ in range(arguments.repeats):
                found, wall, cpu = timed(lambda: fitted(prepared, task))
                seconds.append(wall)
                processor.append(cpu)
            row |= {"seconds": min(seconds), "processor": min(processor), "own_objective": float(found.OpT.optimum)}
            row |= {"peak": peak(), "added": peak() - before}
            write_mapping(found, task, arguments.task)
            if arguments.rows:
                row["transform"] = transforms(found, task, people, arguments.rows)
        except Exception as problem:
            row |= {"error": f"{type(problem).__name__}: {problem}", "peak": peak(), "added": peak() - before}
    print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
