"""Apply a mapping from file to file, against a plain DuckDB copy of the same file, with the peak memory of each.

    python benchmarks/files.py [--rows 10000000] [--rounds 3]

The file has Adult's columns, a key, a text and a number, in Parquet and in CSV. Each alternative runs in a process of
its own, in turns round by round; medians over rounds are reported with their ratio to the copy. Memory is the largest
resident size of the process, the interpreter and the libraries included.
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
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import harness

OPTIONS = {
    "by position": {"seed": 1},
    "by key": {"key": "person"},
    "balanced": {"seed": 1, "draw": "balanced"},
}
METHODS = ["copy", *OPTIONS]


def prepare(folder: Path, rows: int) -> None:
    """Write the mapping and the two files."""
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
    for kind in ("parquet", "csv"):
        duck.execute(f"COPY ({table}) TO '{folder / f'people.{kind}'}' (FORMAT {kind})")


def child(folder: Path, method: str, kind: str) -> dict[str, float]:
    """Run one alternative; return its seconds and the largest memory of this process."""
    source, target = folder / f"people.{kind}", folder / f"out.{kind}"
    if method == "copy":
        import duckdb

        reader = f"read_csv('{source}', all_varchar = true)" if kind == "csv" else f"'{source}'"
        duck = duckdb.connect(config={"memory_limit": "512MB"})
        started = time.perf_counter()
        duck.execute(f"COPY (SELECT * FROM {reader}) TO '{target}' (FORMAT {kind})")
    else:
        import evenhand as eh

        mapping = eh.Mapping.load(folder / "adult.mapping")
        started = time.perf_counter()
        mapping.apply(source, to=target, **OPTIONS[method])
    seconds = time.perf_counter() - started
    target.unlink()
    return {"seconds": seconds, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def run(folder: Path, method: str, kind: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", str(folder), method, kind]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "METHOD", "KIND"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(Path(given.child[0]), given.child[1], given.child[2])))
        return
    print(
        f"{given.rows:,} rows; {os.cpu_count()} cores, Python {platform.python_version()}, DuckDB {version('duckdb')}"
    )
    began, rows = time.perf_counter(), []
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), given.rows)
        for kind in ("parquet", "csv"):
            found = {method: [] for method in METHODS}
            for _ in range(given.rounds):
                for method in METHODS:
                    found[method].append(run(Path(folder), method, kind))
            copy = statistics.median(each["seconds"] for each in found["copy"])
            for method, runs in found.items():
                seconds = statistics.median(each["seconds"] for each in runs)
                memory = max(each["megabytes"] for each in runs)
                speed = f"{seconds:7.1f} s  × {seconds / copy:4.1f}  {given.rows / seconds / 1e6:5.2f} M rows/s"
                print(f"{kind:8} {method:12} {speed}  {memory:5.0f} MB")
                rows.append(
                    {
                        "file": kind,
                        "method": method,
                        "seconds": seconds,
                        "× the copy": seconds / copy,
                        "million rows a second": given.rows / seconds / 1e6,
                        "peak MB": memory,
                    }
                )
    words = f"{given.rows:,} rows of nine columns, medians of {given.rounds} rounds; copy is DuckDB's own COPY."
    content = {"title": "Apply from file to file", "words": words, "rows": rows}
    harness.keep("files", content, began=began, packages=("duckdb", "pyarrow"))


if __name__ == "__main__":
    main()
