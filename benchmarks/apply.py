"""Rows per second in memory, against a plain gather of the same columns, and against AIF360.

    python benchmarks/apply.py [--rows 5000000] [--rounds 3]

The table has Adult's columns (two protected, two features, the outcome) and a key, people drawn at random; draws are by
position, balanced, or by key. The gather is the same frame with all of its columns in a random order, by the frame's
own method and a ready index (``DataFrame.take`` in pandas, ``DataFrame[index]`` in polars): one random read and one
write for every value, and nothing is worked out. Each measurement runs in a process of its own, in turns; it warms up
on a few rows and then takes the best of five runs (by key: of one), and AIF360 does, too: the first one pays for memory
that the process never had before. AIF360 transforms fewer rows, from indicator columns that it is given ready, in
train mode: its apply mode is tried, and what came of it is told.

One person at a time: ``mapping.person`` on dicts, and the same people as frames of one row, by key; the mean over all
of them, in processor time, which others on the machine disturb least.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from functools import partial

import harness
import numpy as np
import pandas as pd
from fit import study
from rivals import ask_aif360

import evenhand as eh

DRAWS = {
    "by position": {"seed": 1},
    "balanced": {"seed": 1, "draw": "balanced"},
    "by key": {"seed": 1, "key": "person"},
}
GATHER, RELEASE = "gather", "release, by position"
TEXT = ("sex", "race", "age", "education")
KINDS = {
    "pandas, categories": (GATHER, *DRAWS),
    "pandas, strings": (GATHER, *DRAWS, RELEASE),
    "pandas, objects": (GATHER, "by position", RELEASE),
    "polars, categories": (GATHER, *DRAWS),
    "polars, strings": (GATHER, "by position", RELEASE),
}
ONE, EVERYBODY = "one person", 200
SINGLE = {
    "mapping.person": "pandas, strings",
    "pandas, categories": "pandas, categories",
    "pandas, strings": "pandas, strings",
    "polars, categories": "polars, categories",
    "polars, strings": "polars, strings",
}
"""The ways to ask for one person, and the kind of table that people come from."""
WARM = 1_000
REPEATS = 5
DIFFERENCE = 0.15


def people(rows, kind):
    """Return a table of people in one of the kinds of columns."""
    cells = eh.datasets.load("adult").cells
    share = cells["people"] / cells["people"].sum()
    chosen = np.random.default_rng(0).choice(len(cells), rows, p=share)
    frame = cells.drop(columns="people").assign(**{c: pd.Categorical(cells[c].astype(str)) for c in TEXT})
    frame = frame.iloc[chosen].reset_index(drop=True).assign(person=np.arange(rows))
    library, columns = kind.split(", ")
    if columns != "categories":
        frame = frame.astype(dict.fromkeys(TEXT, object if columns == "objects" else str))
    if library == "pandas":
        return frame
    import polars as pl

    return pl.from_pandas(frame)


def prepared(frame, method):
    """Return a function that does the work once."""
    if method == GATHER:
        order = np.random.default_rng(1).permutation(len(frame))
        return (lambda: frame.take(order)) if isinstance(frame, pd.DataFrame) else (lambda: frame[order])
    data = eh.datasets.load("adult")
    mapping = eh.fit(data.problem, data.counts)
    if method == RELEASE:
        mapping.release(frame[:WARM], seed=1, draw="independent")
        return lambda: mapping.release(frame, seed=1, draw="independent")
    options = DRAWS[method]
    mapping.apply(frame[:WARM], **options)
    return lambda: mapping.apply(frame, **options)


def one_at_a_time(way):
    """Ask for people one by one; return the seconds of processor time for each, in both modes."""
    table = people(EVERYBODY, SINGLE[way])
    data = eh.datasets.load("adult")
    mapping = eh.fit(data.problem, data.counts)
    if way == "mapping.person":
        single = table.to_dict("records")
        modes = {mode: partial(mapping.person, mode=mode, **DRAWS["by key"]) for mode in ("apply", "release")}
    else:
        single = [table[place : place + 1] for place in range(EVERYBODY)]
        modes = {mode: partial(getattr(mapping, mode), **DRAWS["by key"]) for mode in ("apply", "release")}
    found = {}
    for mode, ask in modes.items():
        everybody = lambda ask=ask: [ask(person) for person in single]  # noqa: E731
        everybody()
        least = min(harness.timed(everybody, time.process_time)[1] for _ in range(REPEATS))
        found[mode] = least / EVERYBODY
    return {"seconds": found["apply"], "release": found["release"]}


def child(kind, method, rows):
    """Run one measurement in this process; return what it took."""
    warnings.simplefilter("ignore")
    if kind == ONE:
        return one_at_a_time(method)
    run = prepared(people(rows, kind), method)
    before = harness.peak()
    seconds = min(harness.timed(run)[1] for _ in range(1 if method == "by key" else REPEATS))
    return {"seconds": seconds, "rate": rows / seconds, "peak": harness.peak(), "added": harness.peak() - before}


def with_aif360(rows, limit):
    """Let AIF360 fit Adult and transform rows; return what came of it."""
    row, _ = ask_aif360(*study("adult"), DIFFERENCE, limit=limit, rows=rows)
    if "transform" not in row:
        return row
    found = row["transform"]
    if "seconds" not in found["with outcome"]:
        return found["with outcome"]
    seconds = found["with outcome"]["seconds"]
    return {
        "seconds": seconds,
        "rate": rows / seconds,
        "rows": rows,
        "rate with building": rows / (seconds + found["building"]),
        "without outcome": found["without outcome"],
        "unknown value": found["unknown value"],
    }


def show(kinds, single, usual):
    """Print one line per measurement."""
    print(f"  {'table':<22}{'method':<24}{'seconds':>9}{'M rows/s':>10}{'of gather':>11}{'added MB':>10}")
    for kind, rows in kinds.items():
        for method, row in rows.items():
            ratio = row["seconds"] / rows[GATHER]["seconds"]
            line = f"  {kind:<22}{method:<24}{row['seconds']:>9.3f}{row['rate'] / 1e6:>10.2f}"
            print(line + f"{'× ' + format(ratio, '.1f'):>11}{row['added']:>10.0f}")
    print(f"  {'one person by key':<22}{'µs, apply':>12}{'µs, release':>14}")
    for way, row in single.items():
        print(f"  {way:<22}{row['seconds'] * 1e6:>12.0f}{row['release'] * 1e6:>14.0f}")
    if usual:
        print(f"  AIF360: {usual}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--few", type=int, default=20_000, help="rows that AIF360 transforms")
    parser.add_argument("--limit", type=float, default=120, help="seconds that AIF360 may take")
    parser.add_argument("--child", nargs=2, metavar=("TABLE", "METHOD"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(*given.child, given.rows)))
        return
    began = time.perf_counter()

    def in_child(kind, method):
        return lambda: harness.child(__file__, "--rows", given.rows, "--child", kind, method)

    asked = {(kind, method): in_child(kind, method) for kind, methods in KINDS.items() for method in methods}
    asked |= {(ONE, way): in_child(ONE, way) for way in SINGLE}
    if harness.AIF360.exists():
        asked["AIF360"] = lambda: with_aif360(given.few, given.limit)
    found = harness.in_turns(asked, given.rounds)
    usual = found.pop("AIF360", None)
    kinds = {kind: {method: found[kind, method] for method in methods} for kind, methods in KINDS.items()}
    single = {way: found[ONE, way] for way in SINGLE}
    show(kinds, single, usual)
    content = {"rows": given.rows, "rounds": given.rounds, "kinds": kinds, "single": single, "aif360": usual}
    harness.keep("apply", content, began=began, packages=("polars", "pyarrow"))


if __name__ == "__main__":
    sys.exit(main())
