"""Run the benchmarks one after another and write docs/benchmarks/speed.md from what they found.

    python benchmarks [--quick] [--patient] [--seed 20261117] [--only fit apply]

``make bench`` does this in environments of its own. ``--quick`` runs everything at small settings, to see that it runs:
what it finds is kept elsewhere, and the page is not written over. ``--patient`` gives AIF360 ten minutes. ``--seed`` is
what the random families are drawn from; without it that is a new one. A script that prints a line ``RESULT {json}``
instead of keeping its result itself has it kept under its own name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import harness
import write

HERE = Path(__file__).parent


class Part(NamedTuple):
    """A benchmark: its script, and its options where all is asked for, and where it must only be seen to run."""

    script: str
    whole: tuple[str, ...]
    quick: tuple[str, ...]


LARGE = [
    "--name", "files_large", "--rounds", "1", "--kinds", "parquet",
    "--methods", "count", "audit", "by position", "by key",
]  # fmt: skip
PARTS = {
    "fit": Part("fit", (), ("--rounds", "1", "--limit", "20")),
    "frontier": Part("frontier", (), ("--rounds", "1", "--points", "10")),
    "apply": Part("apply", (), ("--rounds", "1", "--rows", "200000", "--few", "2000")),
    "ladder": Part("ladder", (), ("--rounds", "1", "--rungs", "2", "--growth", "10000", "--limit", "20")),
    "families": Part("families", (), ("--problems", "6", "--largest", "8000", "--limit", "20", "--own-limit", "60")),
    "new_people": Part("new_people", (), ("--seeds", "1", "2")),
    "wide_tables": Part("wide_tables", (), ("--quick",)),
    "models": Part("models", (), ("--quick",)),
    "files": Part("files", (), ("--rounds", "1", "--rows", "200000")),
    "files_large": Part("files", (*LARGE, "--rows", "100000000"), (*LARGE, "--rows", "400000")),
    "release": Part("release", (), ("--rounds", "1", "--rows", "200000")),
    "spark_cluster": Part("spark_cluster", (), ("--rows", "200000")),
}


def run(part, script, options, environment):
    """Run one benchmark and let it print; keep the result that it only prints."""
    began = time.perf_counter()
    command = [sys.executable, str(HERE / f"{script}.py"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            if line.startswith("RESULT "):
                harness.keep(part, json.loads(line.removeprefix("RESULT ")), began=began, packages=("pyspark",))
            else:
                print(line, end="", flush=True)
    print(
        f"\n{part}: {(time.perf_counter() - began) / 60:.1f} minutes", "" if process.returncode == 0 else "(failed)\n"
    )
    return process.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small settings, in build/benchmarks; no page in docs")
    parser.add_argument("--patient", action="store_true", help="AIF360 gets ten minutes and a larger case")
    parser.add_argument("--seed", type=int, help="what the random families are drawn from; without it a new one")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these alone; the page shows older results of others")
    given = parser.parse_args()
    if given.quick:
        harness.RESULTS = harness.ROOT / "build" / "benchmarks" / "results"
    environment = os.environ | {"EVENHAND_RESULTS": str(harness.RESULTS)}
    failed = 0
    for part in given.only or PARTS:
        options = PARTS[part].quick if given.quick else PARTS[part].whole
        options += ("--patient",) if given.patient and part == "fit" else ()
        options += ("--seed", str(given.seed)) if given.seed is not None and part == "families" else ()
        print(f"\n== {part} ==", flush=True)
        failed += run(part, PARTS[part].script, options, environment) != 0
    docs = harness.ROOT / "build" / "benchmarks" if given.quick else harness.ROOT / "docs" / "benchmarks"
    print(f"\nwritten: {write.write(docs, given.quick)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
