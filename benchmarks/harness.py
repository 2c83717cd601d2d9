"""What every benchmark shares: children in processes of their own, turns, memory, the machine, kept results.

A benchmark has two faces in one file: ``main`` gives out the work, ``child`` does one piece of it in a fresh process
and prints one line of JSON. Alternatives take turns round by round, so that a noisy machine disturbs all alike. What a
benchmark found is kept with ``keep`` as ``benchmarks/results/NAME.json``, from which ``write.py`` makes the page; a
benchmark that was not run has no file and no section. Knows nothing of what is measured.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import json
import math
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(os.environ.get("EVENHAND_RESULTS", ROOT / "benchmarks" / "results"))
AIF360 = ROOT / ".venv-aif360" / "bin" / "python"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
GIGABYTE = 1 << 30
OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "memory allocation", "Unable to allocate", "Cannot allocate")


def peak() -> float:
    """Return the largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(function, clock=time.perf_counter):
    """Return what a function gives, and the seconds it took."""
    began = clock()
    value = function()
    return value, clock() - began


def best_of(repeats, function):
    """Run once to warm up, then again; return the first value and the least seconds."""
    value = function()
    return value, min(timed(function)[1] for _ in range(repeats))


def child(*arguments, python=sys.executable, limit=None, memory=None, environment=None):
    """Run a child; return the JSON it printed last, or how it died: why, the seconds it had spent, and its peak memory.

    ``limit`` is in seconds of processor time, so that others on the machine do not decide who is done in time;
    ``memory`` in gigabytes of address space. What a child had printed before it died is part of what is returned.
    """

    def confine():
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), resource.RLIM_INFINITY))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (int(memory * GIGABYTE),) * 2)

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as complaints:
        command = [str(python), *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=out, stderr=complaints, env=os.environ | (environment or {}), preexec_fn=confine
        )
        # Waiting by hand tells what the child used, also when it cannot say so itself.
        _, status, used = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        complaints.seek(0)
        said, complained = out.read(), complaints.read()
    if code == 0:
        return json.loads(said.splitlines()[-1])
    before = json.loads(said.splitlines()[-1]) if said.endswith("}\n") else {}
    spent = before | {"spent": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}
    if code == -signal.SIGXCPU:
        return spent | {"died": f"not done after {limit:g} s"}
    if memory and (code < 0 or any(word in complained for word in OUT_OF_MEMORY)):
        return spent | {"died": f"needs more than {memory:g} GB"}
    raise RuntimeError(f"{' '.join(command)} ended with {code}:\n{complained}")


def allow(limit):
    """Give this process so many seconds of processor time from now on: what it prepared before counts for nothing."""
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + limit), most))


def failed(row):
    """Say whether a row tells of an end instead of a result."""
    return "died" in row or "error" in row


def in_turns(methods, rounds):
    """Call each method once per round, in turns; return the fastest of each. Who failed once is not asked again."""
    rows = {name: [] for name in methods}
    for _ in range(rounds):
        for name, run in methods.items():
            if not any(map(failed, rows[name])):
                rows[name].append(run())
    return {name: fastest(found) for name, found in rows.items()}


def fastest(rows):
    """Return the row of the fastest round: what else a machine does makes some rounds slower and none faster."""
    if ended := [row for row in rows if failed(row)]:
        return ended[0]
    times = [_time(row) for row in rows]
    return rows[times.index(min(times))] | {"slowest": max(times), "rounds": len(rows)}


def _time(row):
    """Return what a row took, by whatever name."""
    return next((row[name] for name in ("seconds", "solve", "a_point") if name in row), 0.0)


def versions(*names):
    """Return the installed versions of packages; what is not installed is left out."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine():
    """Return what this machine is."""
    return {
        "processor": _first(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIGABYTE),
        "system": _first(Path("/etc/os-release"), "PRETTY_NAME", "=").strip('"') or platform.system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _first(file, key, separator=":"):
    """Return what a file of lines says of a key, or nothing."""
    if not file.exists():
        return ""
    lines = (line.split(separator, 1) for line in file.read_text(encoding="utf-8").splitlines() if separator in line)
    return next((value.strip() for name, value in lines if name.strip() == key), "")


def fingerprint(*scripts):
    """Return a few digits that change with evenhand, and with the scripts that decide what it is given."""
    package = Path(importlib.util.find_spec("evenhand").origin).parent
    files = [*sorted(package.rglob("*.py")), *scripts]
    return hashlib.md5(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def finished(journal, fresh, by):
    """Return the rows of an earlier run by what names them, and leave those alone in its journal; or start again."""
    rows = {}
    if journal.exists() and not fresh:
        for line in journal.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                # A line that was being written when the run ended.
                continue
            rows[row[by]] = row
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), encoding="utf-8")
    return rows


def each_split(script, asked, *, beside, fresh, show, options=lambda table, seed: (), kind=""):
    """Measure those splits of tables that are not yet measured, each in a process of its own; return all of them.

    Every one is a line of a journal in ``build``, named after the script, so that an interrupted run goes on, unless
    evenhand, the script, or those ``beside`` it that decide what is measured have changed. ``asked`` are tables and
    seeds; ``options`` gives a split's own for the child, ``kind`` tells runs apart whose options differ.
    """
    here = Path(script)
    scripts = [here, *(here.with_name(f"{name}.py") for name in beside), *sorted((ROOT / "scripts").glob("*.py"))]
    journal = ROOT / "build" / here.stem / f"{kind}{fingerprint(*scripts)}.jsonl"
    rows = finished(journal, fresh, by="split")
    if rows:
        print(f"{len(rows)} splits were measured before: {journal}")
    for table, seed in asked:
        if f"{table} {seed}" in rows:
            continue
        row = child(script, "--child", table, seed, *options(table, seed), environment=ONE_THREAD)
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        rows[row["split"]] = row
        show(row)
    return [rows[f"{table} {seed}"] for table, seed in asked]


def keep(name, content, *, began, packages=()):
    """Keep what a benchmark found, with the machine, its load, the versions, the date and how long it took.

    ``began`` is ``time.perf_counter()`` at its start. ``content`` is a dict that JSON can hold; a benchmark without a
    section of its own in ``write.py`` is shown by its ``title``, its ``words`` and its ``rows``, a list of dicts with
    the same keys, as one table; without rows by its single values.
    """
    stamp = {
        "name": name,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": versions("evenhand", "numpy", "scipy", "pandas", *packages),
        "load": os.getloadavg()[2],
        "minutes": (time.perf_counter() - began) / 60,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(stamp | content, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def kept():
    """Return the results that are there, by name."""
    files = sorted(RESULTS.glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}
