"""Count, audit and apply from file to file, against a plain DuckDB copy of the same file, with the peak memory of each.

    python benchmarks/files.py [--rows 10000000] [--rounds 3] [--kinds parquet csv] [--memory 1GB]
    python benchmarks/files.py --rows 100000000 --rounds 1 --kinds parquet --methods count audit "by position" "by key"

The file has Adult's columns, a key, a text and a number, in Parquet and in CSV. Each alternative runs in a process of
its own, in turns round by round; the best round of each is reported with its ratio to the copy's. Memory is the largest
resident size of the process, the interpreter and the libraries included.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import harness

OPTIONS = {
    "by position": {"seed": 1},
    "by key": {"key": "person"},
    "balanced": {"seed": 1, "draw": "balanced"},
}
METHODS = ["copy", "count", "audit", *OPTIONS]
KINDS = ["parquet", "csv"]


def prepare(folder: Path, rows: int, kinds: list[str]) -> None:
    """Write the mapping and the files."""
    import duckdb

    import evenhand as eh

    data = eh.datasets.load("adult")
    eh.fit(data.problem, data.counts).save(folder / "adult.mapping")
    people = data.frame.reset_index(names="place")
    duck = duckdb.connect(config={"memory_limit": "1GB"})
    duck.register("people", people)
    table = (
        f"SELECT p.* EXCLUDE place, r.range AS person, 'text ' || (r.range % 1000) AS note, random() AS extra "
        f"FROM range({rows}) r JOIN people p ON p.place = r.range % {len(people)}"
    )
    for kind in kinds:
        duck.execute(f"COPY ({table}) TO '{folder / f'people.{kind}'}' (FORMAT {kind})")


def child(folder: Path, method: str, kind: str) -> dict[str, float]:
    """Run one alternative; return its seconds and the largest memory of this process."""
    source, target = folder / f"people.{kind}", folder / f"out.{kind}"
    if method == "copy":
        import duckdb

        reader = f"read_csv('{source}', all_varchar = true)" if kind == "csv" else f"'{source}'"
        duck = duckdb.connect(config={"memory_limit": os.environ["EVENHAND_MEMORY"]})
        started = time.perf_counter()
        duck.execute(f"COPY (SELECT * FROM {reader}) TO '{target}' (FORMAT {kind})")
    else:
        import evenhand as eh

        mapping = eh.Mapping.load(folder / "adult.mapping")
        started = time.perf_counter()
        use(mapping, method, source, target)
    seconds = time.perf_counter() - started
    target.unlink(missing_ok=True)
    return {"seconds": seconds, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def use(mapping: Any, method: str, source: Path, target: Path) -> None:
    """Do with the file what a method's name says; counting is what fit does with a file."""
    from evenhand.engines import counts_of

    if method == "count":
        counts_of(mapping.problem, source)
    elif method == "audit":
        mapping.audit(source)
    else:
        mapping.apply(source, to=target, **OPTIONS[method])


def run(folder: Path, method: str, kind: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", str(folder), method, kind]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout.splitlines()[-1]))


def table(kind: str, rows: int, found: dict[str, list[dict[str, float]]]) -> list[dict[str, Any]]:
    """Print one kind's table, and return its rows."""
    copy = min(each["seconds"] for each in found["copy"])
    results = []
    for method, runs in found.items():
        seconds = min(each["seconds"] for each in runs)
        memory = max(each["megabytes"] for each in runs)
        speed = f"{seconds:7.1f} s  × {seconds / copy:5.2f}  {rows / seconds / 1e6:6.2f} M rows/s"
        print(f"{kind:8} {method:12} {speed}  {memory:5.0f} MB", flush=True)
        results.append(
            {
                "file": kind,
                "method": method,
                "seconds": seconds,
                "× the copy": seconds / copy,
                "million rows per second": rows / seconds / 1e6,
                "peak MB": memory,
            }
        )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--methods", nargs="+", choices=METHODS[1:], default=METHODS[1:])
    parser.add_argument("--name", default="files", help="what the result is kept as")
    parser.add_argument("--memory", default="1GB", help="what may be held at once, by the copy too")
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "METHOD", "KIND"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(Path(given.child[0]), given.child[1], given.child[2])))
        return
    os.environ["EVENHAND_MEMORY"] = given.memory
    print(
        f"{given.rows:,} rows; {os.cpu_count()} cores, Python {platform.python_version()}, DuckDB {version('duckdb')}"
    )
    began, results = time.perf_counter(), []
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), given.rows, given.kinds)
        for kind in given.kinds:
            found: dict[str, list[dict[str, float]]] = {method: [] for method in ("copy", *given.methods)}
            for _ in range(given.rounds):
                for method, runs in found.items():
                    runs.append(run(Path(folder), method, kind))
            results.extend(table(kind, given.rows, found))
    times = "one run" if given.rounds == 1 else f"the best of {given.rounds} runs"
    words = (
        f"{given.rows:,} rows of eight columns, {times}, at a memory setting of {given.memory}; "
        f"copy is DuckDB's own COPY of the same file, under the same setting. The peak is of the whole process, Python "
        f"and its libraries included."
    )
    content = {"title": f"From file to file, {given.rows:,} rows", "words": words, "rows": results}
    harness.keep(given.name, content, began=began, packages=("duckdb", "pyarrow"))


if __name__ == "__main__":
    main()
