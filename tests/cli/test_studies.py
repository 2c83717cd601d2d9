"""Commands on the embedded studies, and the command line as a whole."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from commands import complained, evenhand, flat

import evenhand as eh

pytestmark = pytest.mark.turns(4)

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module", params=["compas", "adult"])
def demo(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return request.param, folder, evenhand("demo", request.param, "--out", str(folder))


@pytest.mark.slow
def test_demo_explains_itself(demo):
    study, _, result = demo
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    for words in (
        "What was asked",
        "Constraints",
        "Before After",
        "Utility loss",
        "Lower bound",
        "optimal",
        "people (",
        "From To",
    ):
        assert words in text, words
    assert {"compas": "0.0212438", "adult": "0.0148519"}[study] in text
    assert {"compas": "0.5929 0.4039", "adult": "0.0709 0.2047"}[study] in text
    assert "What this does not say" in text
    assert "parity constraint" in text
    assert "in this table" in text
    assert "Traceback" not in result.stderr


@pytest.mark.slow(keep=1)
def test_demo_writes_what_it_says(demo):
    study, folder, _ = demo
    assert sorted(p.name for p in folder.iterdir()) == [
        f"{study}-rates.png",
        f"{study}-released.csv",
        f"{study}.mapping",
    ]
    data = eh.datasets.load(study)
    released = pd.read_csv(folder / f"{study}-released.csv", dtype=str)
    mapping = eh.Mapping.load(folder / f"{study}.mapping")
    assert released.equals(mapping.release(data.frame, seed=0, draw="balanced").astype(str))
    picture = (folder / f"{study}-rates.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    if study == "compas":
        # The README shows this picture: of another size it would be another.
        kept = (ROOT / "docs" / "rates.png").read_bytes()
        assert kept[16:24] == picture[16:24], "cp evenhand-demo/compas-rates.png docs/rates.png"


@pytest.mark.slow
def test_demo_replaces_only_what_is_its_own(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "compas.mapping").write_text("precious")
    result = evenhand("demo", "--out", "mine", cwd=tmp_path)
    complained(result, "'mine/compas.mapping' exists already; --force overwrites it")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["compas.mapping"]
    for _ in range(2):
        assert evenhand("demo", cwd=tmp_path).returncode == 0
    assert len(list((tmp_path / "evenhand-demo").iterdir())) == 3


@pytest.mark.slow
def test_reproduce_agrees_and_says_so():
    result = evenhand("reproduce")
    assert result.returncode == 0, result.stdout
    assert "numbers agree with the reference" in result.stdout
    for number in ("0.2109576", "0.6374419", "0.6146101", "0.1489659", "infeasible", "0.0141155"):
        assert number in result.stdout


def test_reproduce_fails_if_one_number_does(monkeypatch):
    from typer.testing import CliRunner

    from evenhand.cli.commands import app
    from evenhand.studies import reproduce

    wrong = reproduce.Claim("COMPAS", "people", "", 5279, 0.0, lambda: 5278.0)
    monkeypatch.setattr(reproduce, "claims", lambda: [wrong])
    result = CliRunner().invoke(app, ["reproduce"])
    assert result.exit_code == 1
    assert "0 of 1 numbers agree" in result.stdout


def test_version():
    assert evenhand("--version").stdout.strip() == f"evenhand {eh.__version__}"


@pytest.mark.slow
def test_a_demo_without_charts_still_writes_the_rest(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "vl_convert.py").write_text("raise ImportError('hidden')")
    result = evenhand("demo", "--out", str(tmp_path / "out"), PYTHONPATH=str(hidden))
    assert result.returncode == 0
    assert "no chart was written: vl-convert cannot be loaded: hidden" in flat(result.stderr)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["compas-released.csv", "compas.mapping"]


ENDLESS = """
import signal, sys, time
from evenhand import cli
from evenhand.cli import commands
from evenhand.studies import reproduce
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have been started without it
endless = reproduce.Claim("COMPAS", "people", "", 1, 0.0, lambda: time.sleep(600) or 1.0)
reproduce.claims = lambda: [endless]
sys.argv = ["evenhand", "reproduce"]
print("ready", flush=True)
cli.main()
"""


SLOW = """
import sys, time
from evenhand import cli
from evenhand.engines import delimited, files, streaming
whole, files.BATCH, delimited.CHUNK = streaming.transform_piece, 20, 200
streaming.transform_piece = lambda *arguments, **rest: time.sleep(0.3) or whole(*arguments, **rest)
sys.argv = ["evenhand", "apply", "fine.mapping", "people.csv", "--out", "new.csv"]
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_being_told_to_stop_leaves_nothing_behind(fitted, as_json):
    """SIGTERM in the middle of a file: the half of it that was written is taken away."""
    before = {path.name for path in fitted.iterdir()}
    script = SLOW.replace('"new.csv"]', '"new.csv", "--json"]') if as_json else SLOW
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=fitted, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    for _ in range(600):
        if any(path.name.startswith(".evenhand-") for path in fitted.iterdir()):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    assert {path.name for path in fitted.iterdir()} > before
    process.send_signal(signal.SIGTERM)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 143, (said, errors)
    assert "Stopped; no file was left half-written." in (said if as_json else errors)
    assert "Traceback" not in errors
    assert {path.name for path in fitted.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_goes_away(fitted, options):
    """A pipe whose other end is closed: no complaint, and no answer of no."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "evenhand", "audit", "fine.mapping", *options],
        cwd=fitted, stdout=writing, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writing)
    os.close(reading)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (141, "")


@pytest.mark.slow
def test_ctrl_c_ends_cleanly():
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "Interrupted; no file was left half-written." in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_an_example_is_written_once(tmp_path):
    result = evenhand("example", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert pd.read_csv(tmp_path / "loans.csv").equals(eh.datasets.loans())
    complained(evenhand("example", cwd=tmp_path), "'loans.csv' exists already")


@pytest.mark.slow
def test_an_example_of_an_embedded_table_can_be_fitted(tmp_path):
    assert evenhand("example", "compas", "--out", "people.csv", cwd=tmp_path).returncode == 0
    fitted = evenhand("fit", "compas", "people.csv", "--out", "m.mapping", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    assert "0.0212438" in fitted.stdout
