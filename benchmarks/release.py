"""Rows per second of train mode: drawn one by one, balanced, and expanded; in memory, and from file to file.

    python benchmarks/release.py [--rows 5000000] [--rounds 3] [--memory 1GB]

The table has Adult's columns (two protected, two features, the outcome) as texts and a number, people drawn at random.
*New cells* is the same table with a mapping that was fitted on a few hundred of them, so that a part of all rows is in
cells that nobody had: these draw from typical rows, and balanced draws balance every such cell by itself. Expanding
merges equal rows. Each measurement runs in a process of its own, in turns round by round; it warms up on a few rows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import harness
from apply import people

import evenhand as eh

INDEPENDENT, BALANCED, EXPANDED = "release, independent", "release, balanced", "expand"
NEW_INDEPENDENT, NEW_BALANCED = f"{INDEPENDENT}, new cells", f"{BALANCED}, new cells"
METHODS = (INDEPENDENT, BALANCED, EXPANDED, NEW_INDEPENDENT, NEW_BALANCED)
KINDS = {"pandas": "pandas, strings", "polars": "polars, strings", "parquet": None, "csv": None}
"""Frames of which columns; or files."""
FEW, WARM = 400, 1_000


def prepare(folder, rows):
    """Write the mappings and the files."""
    warnings.simplefilter("ignore")
    data = eh.datasets.load("adult")
    eh.fit(data.problem, data.counts).save(folder / "all.mapping")
    some = data.frame.sample(FEW, random_state=1)
    # Of few people other bounds can be met than of all; which ones does not matter here.
    wider = data.problem.with_bounds(lambda bound: 2.0)
    eh.fit(wider, some).save(folder / "few.mapping")
    table = people(rows, "pandas, strings").drop(columns="person")
    table.to_parquet(folder / "people.parquet", index=False)
    table.to_csv(folder / "people.csv", index=False)


def child(folder, kind, method, rows):
    """Run one measurement; return what it took, and the share of rows in new cells."""
    warnings.simplefilter("ignore")
    mapping = eh.Mapping.load(folder / ("few.mapping" if "new cells" in method else "all.mapping"))
    use = mapping.expand if method == EXPANDED else mapping.release
    options = {} if method == EXPANDED else {"seed": 1, "draw": "balanced" if BALANCED in method else "independent"}
    if KINDS[kind] is None:
        target = folder / f"out.{kind}"
        done, seconds = harness.timed(lambda: use(folder / f"people.{kind}", to=target, **options))
        target.unlink()
        return {"seconds": seconds, "new": done.unseen / done.rows, "peak": harness.peak()}
    table = people(rows, KINDS[kind])
    table = table[[name for name in table.columns if name != "person"]]
    use(table[:WARM], **options)
    _, seconds = harness.timed(lambda: use(table, **options))
    return {"seconds": seconds, "new": None, "peak": harness.peak()}


def measured(kind, method, row, rows):
    """Return a row of the page's table."""
    return {
        "table": kind,
        "method": method,
        "seconds": row["seconds"],
        "million rows per second": rows / row["seconds"] / 1e6,
        "peak MB": row["peak"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="1GB", help="what may be held at once of files")
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "TABLE", "METHOD"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        folder, kind, method = given.child
        print(json.dumps(child(Path(folder), kind, method, given.rows)))
        return
    os.environ["EVENHAND_MEMORY"] = given.memory
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), given.rows)

        def in_child(kind, method):
            return lambda: harness.child(__file__, "--rows", given.rows, "--child", folder, kind, method)

        asked = {(kind, method): in_child(kind, method) for kind in KINDS for method in METHODS}
        found = harness.in_turns(asked, given.rounds)
    rows = [measured(*key, row, given.rows) for key, row in found.items()]
    for row in rows:
        speed = f"{row['seconds']:8.2f} s  {row['million rows per second']:6.2f} M rows/s  {row['peak MB']:6.0f} MB"
        print(f"  {row['table']:<9}{row['method']:<34}{speed}")
    new = found["parquet", NEW_BALANCED]["new"]
    words = (
        f"{given.rows:,} rows of five columns, {'one run' if given.rounds == 1 else f'the best of {given.rounds} runs'}"
        f"; files at a memory setting of {given.memory}. *New cells*: by a mapping that was fitted on {FEW} people, so "
        f"that {new:.0%} of the rows are in cells that nobody had. Balanced draws read a file twice. The peak is of "
        f"the whole process, Python, its libraries and in memory the table itself included."
    )
    content = {"title": f"Train mode, {given.rows:,} rows", "words": words, "rows": rows}
    harness.keep("release", content, began=began, packages=("duckdb", "polars", "pyarrow"))


if __name__ == "__main__":
    sys.exit(main())
