"""Apply a mapping on a standalone Spark cluster of this machine, and again while one of its two workers is lost.

    python benchmarks/spark_cluster.py [--rows 4000000] [--partitions 24]

One master and two workers of one core each are started, and stopped at the end, also by an error, Ctrl-C or SIGTERM.
Adult's columns, a key and a text lie in a Parquet file; it is copied as it is, then the mapping is applied by key and
written to Parquet. In a last run a worker and its executor are killed once a third of the tasks is done. Each result is
compared, row for row, with what the file engine writes in this process: it must be complete and identical, or there
must be an error and nothing under the final name. The last line, after ``RESULT``, is what was found as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb

import evenhand as eh

KEY = "person"
PATIENCE = 120
"""Seconds to wait for a process of the cluster."""


def prepare(folder: Path, rows: int) -> eh.Mapping:
    """Write the table, and what the file engine makes of it."""
    data = eh.datasets.load("adult")
    mapping = eh.fit(data.problem, data.counts)
    people = data.frame.astype(str).astype({data.problem.outcome: int}).reset_index(names="place")
    with duckdb.connect(config={"memory_limit": "1GB"}) as duck:
        duck.register("people", people)
        table = (
            f"SELECT p.* EXCLUDE place, r.range AS {KEY}, 'text ' || (r.range % 1000) AS note "
            f"FROM range({rows}) r JOIN people p ON p.place = r.range % {len(people)}"
        )
        duck.execute(f"COPY ({table}) TO '{folder / 'people.parquet'}' (ROW_GROUP_SIZE 50000)")
    mapping.apply(folder / "people.parquet", to=folder / "expected.parquet", key=KEY)
    return mapping


@contextmanager
def process(folder: Path, name: str, kind: str, *arguments: str, until: str) -> Iterator[tuple[int, str]]:
    """Start a process of the cluster in a group of its own; yield its id and the line that says it is there."""
    import pyspark

    home = Path(pyspark.__file__).parent
    log = folder / f"{name}.log"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    with log.open("wb") as output:
        started = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=folder, start_new_session=True
        )
    try:
        yield started.pid, _line(log, until)
    finally:
        _kill(started.pid)
        started.wait()


def _line(log: Path, pattern: str) -> str:
    """Wait for a line in a log."""
    for _ in range(10 * PATIENCE):
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[0]
        time.sleep(0.1)
    raise SystemExit(f"{log.name} says nothing like {pattern!r}:\n{log.read_text(errors='replace')[-2000:]}")


def _kill(group: int) -> None:
    """End a process and the executors it started, as a machine that goes dark would."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Start one master and two workers; yield the master's address and the workers' ids."""
    ports = ("--port", "0", "--webui-port", "0", "--host", "127.0.0.1")
    with ExitStack() as stack:
        _, address = stack.enter_context(
            process(folder, "master", "master.Master", *ports, until=r"spark://127\.0\.0\.1:\d+")
        )
        workers = []
        for name in ("first", "second"):
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name), *ports, address)
            ready = r"Successfully registered with master"
            pid, _ = stack.enter_context(process(folder, name, "worker.Worker", *options, until=ready))
            workers.append(pid)
        yield address, workers


@contextmanager
def session(address: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    settings = {
        "spark.executor.memory": "768m",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(address).appName("evenhand")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


class Killer:
    """Kills a worker, from a thread of its own, once a third of the partitions is transformed."""

    def __init__(self, spark: Any, worker: int, partitions: int) -> None:
        self._tracker, self._worker, self._partitions = spark.sparkContext.statusTracker(), worker, partitions
        self._over = threading.Event()
        self.when: str | None = None

    def __enter__(self) -> Killer:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE)

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            for stage in map(self._tracker.getStageInfo, self._tracker.getActiveStageIds()):
                if stage is not None and stage.numTasks == self._partitions <= 3 * stage.numCompletedTasks:
                    _kill(self._worker)
                    self.when = f"{stage.numCompletedTasks} of {stage.numTasks} tasks"
                    return


@dataclass(frozen=True)
class Run:
    """What came of a job: its time, the kind of its error if there was one, and what lies under the final name."""

    seconds: float
    error: str | None
    identical: bool
    left: bool

    @property
    def good(self) -> bool:
        """Whether it is complete and identical, or failed and left nothing behind."""
        return self.identical if self.error is None else not self.left

    def __str__(self) -> str:
        if self.error is None:
            return "complete and identical" if self.identical else "DIFFERENT"
        return f"an error ({self.error}) and {'SOMETHING' if self.left else 'nothing'} under the final name"


def run(spark: Any, mapping: eh.Mapping, folder: Path, name: str, partitions: int) -> Run:
    """Apply and write."""
    people = spark.read.parquet(str(folder / "people.parquet")).repartition(partitions)
    started, error = time.perf_counter(), None
    try:
        mapping.apply(people, key=KEY).write.parquet(str(folder / name))
    except Exception as problem:
        error = type(problem).__name__
    seconds = time.perf_counter() - started
    # Names that begin so are those of unfinished work, which no reader takes for rows.
    left = any(not path.name.startswith(("_", ".")) for path in (folder / name).glob("*"))
    return Run(seconds, error, error is None and same(folder, name), left)


def plain_copy(spark: Any, folder: Path, partitions: int) -> float:
    """Return the seconds that the same job takes without a mapping; the first job also starts the executors."""
    people = spark.read.parquet(str(folder / "people.parquet")).repartition(partitions)
    people.limit(1000).write.parquet(str(folder / "start"))
    started = time.perf_counter()
    people.write.parquet(str(folder / "copy"))
    return time.perf_counter() - started


def same(folder: Path, name: str) -> bool:
    """Compare every row with what the file engine wrote."""
    with duckdb.connect(config={"memory_limit": "2GB"}) as duck:
        rows = f"SELECT count(*), sum(hash(t)) FROM (SELECT COLUMNS(*)::VARCHAR FROM '{folder}/{{}}') t"
        found, expected = (
            duck.sql(rows.format(path)).fetchall() for path in (f"{name}/part-*.parquet", "expected.parquet")
        )
    return found == expected and (folder / name / "_SUCCESS").exists()


def measure(folder: Path, rows: int, partitions: int) -> tuple[float, Run, Run, str | None]:
    """Return the seconds of a copy, what came of both runs, and when the worker was killed."""
    mapping = prepare(folder, rows)
    with cluster(folder) as (address, workers), session(address) as spark:
        copy = plain_copy(spark, folder, partitions)
        _say("a plain copy", rows, copy, "")
        undisturbed = run(spark, mapping, folder, "undisturbed", partitions)
        _say("undisturbed", rows, undisturbed.seconds, str(undisturbed))
        with Killer(spark, workers[1], partitions) as killer:
            disturbed = run(spark, mapping, folder, "one lost", partitions)
        when = f"killed after {killer.when}" if killer.when else "NOT killed in time"
        _say("a worker lost", rows, disturbed.seconds, f"{disturbed}; {when}")
    return copy, undisturbed, disturbed, killer.when


def _say(what: str, rows: int, seconds: float, words: str) -> None:
    print(f"{what:14} {seconds:6.1f} s  {rows / seconds / 1e6:5.2f} M rows/s  {words}", flush=True)


def _stop(*_: object) -> None:
    """End as Ctrl-C does, so that every process of the cluster is ended too."""
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--partitions", type=int, default=24)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    print(
        f"{given.rows:,} rows in {given.partitions} partitions, two workers of one core; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, Spark {version('pyspark')}"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": f"{name}/local"}
        copy, undisturbed, disturbed, killed = measure(Path(name), given.rows, given.partitions)
    found = {
        "benchmark": "spark_cluster",
        "rows": given.rows,
        "partitions": given.partitions,
        "seconds": round(undisturbed.seconds, 2),
        "plain_copy_seconds": round(copy, 2),
        "ratio": round(undisturbed.seconds / copy, 2),
        "seconds_with_a_worker_lost": round(disturbed.seconds, 2),
        "worker_killed": killed is not None,
        "killed_after": killed,
        "identical": undisturbed.identical and disturbed.identical,
        "error": undisturbed.error or disturbed.error,
        "nothing_under_the_final_name": None if disturbed.error is None else not disturbed.left,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "spark": version("pyspark"),
    }
    print("RESULT " + json.dumps(found))
    return 0 if undisturbed.identical and disturbed.good and killed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
