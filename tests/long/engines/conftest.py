"""Engines that must be started: a local Spark session, and a PostgreSQL server of the tests' own."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def spark():
    """A session on this machine; its workers use this interpreter."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "localhost",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.files.maxPartitionBytes": "8m",
        "spark.sql.parquet.compression.codec": "uncompressed",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:-DontCompileHugeMethods",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("evenhand tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres():
    """A connection to a new server that listens on a socket in a folder of its own."""
    import psycopg

    with _server() as folder, psycopg.connect(host=folder, user="postgres", autocommit=True) as connection:
        yield connection


@contextmanager
def _server():
    folder = tempfile.mkdtemp(prefix="evenhand-pg-")
    # PostgreSQL does not run as root; its package brings a user.
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if become:
        shutil.chown(folder, "postgres")
    data, programs = f"{folder}/data", _programs()
    control = [*become, f"{programs}/pg_ctl", "-D", data, "-w", "-l", f"{folder}/log"]
    make = [*become, f"{programs}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    try:
        _run([*make, "--locale=C.UTF-8"])
        _run([*control, "-o", f"-c listen_addresses='' -c fsync=off -k {folder}", "start"])
        try:
            yield folder
        finally:
            _run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs():
    """The folder of the server's programs, which Debian keeps off the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert versions, "the tests of PostgreSQL need its server: apt-get install postgresql"
    return versions[-1].parent


def _run(command):
    # The server inherits the output: a pipe would never end.
    subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
