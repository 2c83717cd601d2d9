"""The benchmarks run: each alternative once, with the same optimum. Nothing is timed here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize(
    ("study", "method", "optimum"),
    [
        ("compas", "evenhand", 0.0212438),
        ("compas", "cvxpy CLARABEL", 0.0212438),
        ("adult", "evenhand, no tie-break", 0.0148519),
        ("adult", "cvxpy HIGHS", 0.0148519),
    ],
)
def test_every_alternative_of_a_fit_states_the_same_problem(study, method, optimum):
    command = [sys.executable, str(BENCHMARKS / "fit.py"), "--child", study, method]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1])["value"] == pytest.approx(optimum, abs=1e-6)


def test_the_files_benchmark_runs():
    command = [sys.executable, str(BENCHMARKS / "files.py"), "--rows", "5000", "--rounds", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert [line.split()[1] for line in run.stdout.splitlines()[1:]] == ["copy", "by", "by", "balanced"] * 2
