"""How often a file is read: bytes that a process reads, over the size of its input."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem

import evenhand as eh

pytestmark = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux counts what a process reads")

ROWS = 60_000

COUNTING = """
import os, sys, warnings
import evenhand as eh
from evenhand.cli import main

def read():
    return int(dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())["rchar"])

def run(*arguments):
    sys.argv = ["evenhand", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments

# Once with a small file, so that everything is imported.
for name in ("small.csv", "large.csv"):
    before = read()
    run({command}, *({more}), "--json")
print("passes", (read() - before) / os.path.getsize("large.csv"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("passes")
    frame = small_frame()
    many = frame.loc[np.arange(ROWS) % len(frame)].reset_index(drop=True)
    many = many.assign(person=np.arange(ROWS), note=[f"text {row % 977} of some length" for row in range(ROWS)])
    many.to_csv(folder / "large.csv", index=False)
    many.head(len(frame)).to_csv(folder / "small.csv", index=False)
    eh.fit(small_problem(), frame).save(folder / "a.mapping")
    (folder / "p.toml").write_text(small_problem().to_toml())
    return folder


@pytest.mark.parametrize(
    ("command", "more", "most"),
    [
        ('"fit", "p.toml", name', '"--out", "b.mapping", "--force"', 2),
        ('"audit", "a.mapping", name', "", 2),
        ('"release", "a.mapping", name', '"--out", "o.csv", "--seed", "1", "--force"', 4),
        ('"release", "a.mapping", name', '"--out", "o.csv", "--key", "person", "--force"', 3),
        ('"apply", "a.mapping", name', '"--out", "o.csv", "--key", "person", "--force"', 1),
    ],
)
def test_bytes_that_are_read_over_those_of_the_input(folder, command, more, most):
    script = textwrap.dedent(COUNTING).replace("{command}", command).replace("{more}", f"{more}," if more else "")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    passes = float(done.stdout.split()[-1])
    # Headers and first rows are looked at besides.
    assert most - 1 < passes < most + 0.2


def test_a_file_that_was_written_is_not_hashed_again(folder, monkeypatch):
    """Its checksum is that of the bytes as they were written; of a file that changed since, it is taken anew."""
    from evenhand.files import sha256_of

    fitted = eh.Mapping.load(folder / "a.mapping")
    out = folder / "hashed.csv"
    done = fitted.release(folder / "small.csv", to=out, key="person", manifest=folder / "hashed.csv.manifest.json")
    assert done.checksums[str(out)].sha256 == sha256_of(out)
    assert done.checksums[str(folder / "small.csv")].sha256 == sha256_of(folder / "small.csv")
    with out.open("a") as file:
        file.write("b,0,0,1,x\n")
    changed = eh.manifest_of(fitted, done, folder / "a.mapping")
    assert changed.output.sha256 == sha256_of(out) != done.checksums[str(out)].sha256
    assert pd.read_csv(out).shape[0] == len(small_frame()) + 1
