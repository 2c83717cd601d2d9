"""Apply a mapping on a standalone Spark cluster of this machine, and again while one of its two workers is lost.

    python benchmarks/spark_cluster.py [--rows 4000000] [--partitions 24]

One master and two workers of one core each are started, and stopped at the end. Adult's columns, a key and a text lie
in a Parquet file; the mapping is applied by key and written to Parquet. In the second run a worker and its executor are
killed once a third of the tasks is done. Each result is compared, row for row, with what the file engine writes in this
process: it must be complete and identical, or there must be an error and nothing under the final name.
"""

from __future__ import annotations

import argparse
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
from importlib.metadata import version
from pathlib import Path

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
def session(address: str) -> Iterator[object]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
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


def kill_in_the_middle(spark: object, worker: int, partitions: int, killed: list[str]) -> None:
    """Kill a worker, from a thread of its own, once a third of the partitions is transformed."""
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        while not killed:
            for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
                if stage is not None and stage.numTasks == partitions and 3 * stage.numCompletedTasks >= partitions:
                    _kill(worker)
                    killed.append(f"{stage.numCompletedTasks} of {stage.numTasks} tasks")
                    return
            time.sleep(0.05)

    threading.Thread(target=watch, daemon=True).start()


def run(spark: object, mapping: eh.Mapping, folder: Path, name: str, partitions: int) -> tuple[float, str]:
    """Apply and write; return the seconds and what came of it."""
    people = spark.read.parquet(str(folder / "people.parquet")).repartition(partitions)
    started = time.perf_counter()
    try:
        mapping.apply(people, key=KEY).write.parquet(str(folder / name))
    except Exception as error:
        left = list((folder / name).glob("part-*"))
        said = f"an error ({type(error).__name__}) and {'nothing' if not left else 'SOMETHING'} under the final name"
        return time.perf_counter() - started, said
    seconds = time.perf_counter() - started
    return seconds, "complete and identical" if same(folder, name) else "DIFFERENT"


def same(folder: Path, name: str) -> bool:
    """Compare every row with what the file engine wrote."""
    with duckdb.connect(config={"memory_limit": "2GB"}) as duck:
        rows = f"SELECT count(*), sum(hash(t)) FROM (SELECT COLUMNS(*)::VARCHAR FROM '{folder}/{{}}') t"
        found, expected = (
            duck.sql(rows.format(path)).fetchall() for path in (f"{name}/part-*.parquet", "expected.parquet")
        )
    return found == expected and (folder / name / "_SUCCESS").exists()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--partitions", type=int, default=24)
    given = parser.parse_args()
    print(
        f"{given.rows:,} rows in {given.partitions} partitions, two workers of one core; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, Spark {version('pyspark')}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mapping = prepare(folder, given.rows)
        with cluster(folder) as (address, workers), session(address) as spark:
            seconds, said = run(spark, mapping, folder, "undisturbed", given.partitions)
            print(f"{'undisturbed':14} {seconds:6.1f} s  {given.rows / seconds / 1e6:5.2f} M rows/s  {said}")
            killed: list[str] = []
            kill_in_the_middle(spark, workers[1], given.partitions, killed)
            seconds, lost = run(spark, mapping, folder, "one lost", given.partitions)
            when = f"killed after {killed[0]}" if killed else "NOT killed in time"
            print(f"{'a worker lost':14} {seconds:6.1f} s  {given.rows / seconds / 1e6:5.2f} M rows/s  {lost}; {when}")
            killed.append("over")
    wrong = {"DIFFERENT", "SOMETHING", "NOT"} & set(f"{said} {lost} {when}".split())
    return 1 if wrong or said != "complete and identical" else 0


if __name__ == "__main__":
    sys.exit(main())
