"""The examples run, and show what the docs say they show."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def output_of(name):
    """Run an example, and return the lines that it prints."""
    run = subprocess.run([sys.executable, str(ROOT / "examples" / name)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def numbers(line):
    return [float(x) for x in re.findall(r"\d\.\d+", line)]


def test_a_shielded_model_scores_groups_alike():
    bare, shielded = map(numbers, output_of("shield_a_model.py"))
    assert shielded[0] > bare[0] - 0.02, "AUC"
    assert shielded[1] < 0.1 < bare[1], "distance between the groups' mean scores"


def test_a_model_trained_on_a_release():
    """Five random splits: AUC to a hundredth, and distances between groups to three, of another five splits' means."""
    lines = output_of("train_a_model.py")
    compas, adult = ({line[2:30].strip(): numbers(line) for line in part} for part in (lines[1:6], lines[7:12]))
    for study, expected in (
        (compas, {"expected": (0.698, 0.063), "one draw": (0.684, 0.072), "raw, model without D": (0.709, 0.25)}),
        (adult, {"expected": (0.775, 0.054), "one draw": (0.765, 0.053)}),
    ):
        for model, (auc, apart) in expected.items():
            assert abs(study[model][0] - auc) < 0.012, model
            assert abs(study[model][1] - apart) < 0.03, model
        assert study["raw"][1] > 0.3
        assert study["expected, model without D"][1] > 0.1, "no bound covers it"
    assert compas["expected"][0] > compas["one draw"][0], "no sampling noise"
