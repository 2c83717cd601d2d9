"""The examples run, and show what the docs say they show."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_a_shielded_model_scores_groups_alike():
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "shield_a_model.py")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    bare, shielded = ([float(x) for x in re.findall(r"\d\.\d+", line)] for line in run.stdout.splitlines())
    assert shielded[0] > bare[0] - 0.02, "AUC"
    assert shielded[1] < 0.1 < bare[1], "distance between the groups' mean scores"
