"""The command line, as a process."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from families import small_frame

import evenhand as eh
from evenhand import cli


def evenhand(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "evenhand", *arguments],
        capture_output=True, text=True, cwd=cwd, check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **environment},
    )  # fmt: skip


@pytest.fixture(scope="module", params=["compas", "adult"])
def demo(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return request.param, folder, evenhand("demo", request.param, "--out", str(folder))


def test_demo_explains_itself(demo):
    study, _, result = demo
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    for words in (
        "What was asked",
        "Bounded",
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
    assert "Traceback" not in result.stderr


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
    assert released.equals(mapping.release(data.frame, seed=0).astype(str))
    assert (folder / f"{study}-rates.png").read_bytes().startswith(b"\x89PNG")


def test_verify_accepts_what_demo_wrote(demo):
    study, folder, _ = demo
    result = evenhand("verify", str(folder / f"{study}.mapping"))
    assert result.returncode == 0
    assert "The certificate stands: optimal" in result.stdout


def test_verify_refuses_a_damaged_file(demo, tmp_path):
    study, folder, _ = demo
    content = bytearray((folder / f"{study}.mapping").read_bytes())
    content[-9] ^= 1
    (tmp_path / "m").write_bytes(content)
    result = evenhand("verify", str(tmp_path / "m"))
    assert result.returncode == 1
    assert "damaged or altered" in result.stderr
    assert "Traceback" not in result.stderr


def test_verify_refuses_a_false_claim(compas_mapping, tmp_path):
    """A file whose checksum is right but whose certificate claims more than it holds."""
    from dataclasses import replace

    claimed = replace(compas_mapping.certificate, objective=0.001, lower_bound=0.001)
    replace(compas_mapping, certificate=claimed).save(tmp_path / "m")
    result = evenhand("verify", str(tmp_path / "m"))
    assert result.returncode == 1
    assert "NO" in result.stdout
    assert "claims something else" in result.stdout


def test_reproduce_agrees_and_says_so():
    result = evenhand("reproduce")
    assert result.returncode == 0, result.stdout
    assert "numbers agree with the reference" in result.stdout
    for number in ("0.2109576", "0.6374419", "0.6146101", "0.1489659", "infeasible", "0.0141155"):
        assert number in result.stdout


def test_reproduce_fails_if_one_number_does(monkeypatch):
    from typer.testing import CliRunner

    from evenhand import reproduce
    from evenhand.cli import app

    wrong = reproduce.Claim("COMPAS", "people", "", 5279, 0.0, lambda: 5278.0)
    monkeypatch.setattr(reproduce, "claims", lambda: [wrong])
    result = CliRunner().invoke(app, ["reproduce"])
    assert result.exit_code == 1
    assert "0 of 1 numbers agree" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("verify", "nowhere.mapping"), 1, "No such file"),
        (("demo", "titanic"), 2, "titanic"),
        (("demo", "--out", "/dev/null/x"), 1, "cannot make the folder"),
        (("demo", "--seed", "-1"), 2, "seed"),
        (("nonsense",), 2, "nonsense"),
    ],
)
def test_wrong_commands(arguments, code, words, tmp_path):
    result = evenhand(*arguments, cwd=tmp_path)
    assert result.returncode == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_version():
    assert evenhand("--version").stdout.strip() == f"evenhand {eh.__version__}"


def test_a_demo_without_charts_still_writes_the_rest(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "altair.py").write_text("raise ImportError('hidden')")
    result = evenhand("demo", "--out", str(tmp_path / "out"), PYTHONPATH=str(hidden))
    assert result.returncode == 0
    assert "pip install 'evenhand[charts]'" in result.stdout
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["compas-released.csv", "compas.mapping"]


ENDLESS = """
import signal, sys, time
from evenhand import cli, reproduce
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have been started without it
endless = reproduce.Claim("COMPAS", "people", "", 1, 0.0, lambda: time.sleep(600) or 1.0)
reproduce.claims = lambda: [endless]
sys.argv = ["evenhand", "reproduce"]
print("ready", flush=True)
cli.main()
"""


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


# ---------------------------------------------------------------------------------------------------------------------
# Problems in TOML, tables in CSV
# ---------------------------------------------------------------------------------------------------------------------

TOML = """
protected = ["group"]
features = ["score"]
outcome = "hired"
parity = [{{ kind = "pairwise", bound = {bound} }}]
budget = [{{ kind = "expected", limit = {limit} }}]

[distortion.rules.score]
rule = "ordinal"
step = 1

[distortion.rules.hired]
{hired}
"""
FALLS = 'rule = "ordinal"\nstep = 1\nup = false'
FREE = 'rule = "free"'


@pytest.fixture
def folder(tmp_path):
    """A problem that can be solved, one that cannot, one for shielding, and their table."""
    (tmp_path / "fine.toml").write_text(TOML.format(bound=0.2, limit=0.45, hired=FALLS))
    (tmp_path / "tight.toml").write_text(TOML.format(bound=0.1, limit=0.1, hired=FALLS))
    (tmp_path / "shield.toml").write_text(TOML.format(bound=0.15, limit=0.5, hired=FREE))
    small_frame().to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


@pytest.fixture
def inside(folder, monkeypatch, capsys):
    """The same without a process of its own: the command line's own entry, in the folder."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["evenhand", *arguments])
        with pytest.raises(SystemExit) as ending:
            cli.main()
        written = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ending.value.code or 0, written.out, written.err)

    return run


def flat(text):
    return " ".join(text.split())


def complained(result, *words):
    assert result.returncode == 1, result.stdout
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    for said in words:
        assert said in flat(result.stderr)


class TestFit:
    def test_explains_and_writes(self, folder):
        result = evenhand("fit", "fine.toml", "people.csv", "--out", "a.mapping", "--proof", "a.proof", cwd=folder)
        assert result.returncode == 0, result.stderr
        said = flat(result.stdout)
        for words in (
            "fine.toml: 200 people", "What was asked", "differ by a factor of at most 1.2", "Before After", "optimal: ",
            "Mean score of a model", "Sees them Does not",
            "extended selective contrastive", "evenhand verify a.mapping", "python verifier.py a.proof",
        ):  # fmt: skip
            assert words in said, words
        mapping = eh.Mapping.load(folder / "a.mapping")
        expected = eh.fit(eh.Problem.from_toml((folder / "fine.toml").read_text()), small_frame())
        assert mapping.objective == pytest.approx(expected.objective, abs=1e-12)
        assert evenhand("verify", "a.proof", cwd=folder).returncode == 0
        assert evenhand("verify", "a.mapping", cwd=folder).returncode == 0

    def test_weights(self, folder, inside):
        cells = small_frame().value_counts().rename("n").reset_index()
        cells.to_csv(folder / "cells.csv", index=False)
        result = inside("fit", "fine.toml", "cells.csv", "--weights", "n", "--out", "w")
        assert "200 people by weight" in result.stdout
        inside("fit", "fine.toml", "people.csv", "--out", "p")
        weighted, plain = eh.Mapping.load(folder / "w"), eh.Mapping.load(folder / "p")
        assert weighted.objective == pytest.approx(plain.objective, abs=1e-9)

    def test_an_embedded_study(self, tmp_path):
        result = evenhand("fit", "compas", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "0.0212438" in result.stdout
        assert [p.name for p in tmp_path.iterdir()] == ["evenhand.mapping"]

    @pytest.mark.parametrize("study", ["compas", "adult"])
    def test_an_embedded_study_on_a_table_of_ones_own(self, folder, inside, study):
        """A CSV file carries no order of levels; the study knows it."""
        data = eh.datasets.load(study)
        data.frame.to_csv(folder / "own.csv", index=False)
        assert inside("fit", study, "own.csv", "--out", "own.mapping").returncode == 0
        own = eh.Mapping.load(folder / "own.mapping")
        assert own.objective == pytest.approx(eh.fit(data.problem, data.counts).objective, abs=1e-9)

    def test_what_exists_is_not_overwritten(self, folder, inside):
        for name in ("a.mapping", "a.proof"):
            (folder / name).write_text("precious")
            other = "--proof" if name == "a.proof" else "--out"
            complained(
                inside("fit", "fine.toml", "people.csv", other, name),
                f"'{name}' exists already; --force overwrites it",
            )
            assert (folder / name).read_text() == "precious"
        assert not (folder / "evenhand.mapping").exists()
        result = inside("fit", "fine.toml", "people.csv", "--out", "a.mapping", "--force")
        assert result.returncode == 0
        assert eh.Mapping.load(folder / "a.mapping").certificate.status == "optimal"

    def test_an_infeasible_problem(self, folder, inside):
        result = inside("fit", "tight.toml", "people.csv")
        complained(result, "No mapping meets PairwiseParity(0.1)", "evenhand diagnose", "The smallest parity bound")
        assert not (folder / "evenhand.mapping").exists()


class TestWrongInput:
    """Every mistake ends with one sentence and nothing written."""

    @pytest.fixture(autouse=True)
    def nothing_written(self, folder, inside):
        before = {p.name for p in folder.iterdir()}
        yield
        made = {"broken.toml", "odd.toml", "binary.toml", "image.csv", "empty.csv", "ragged.csv", "short.csv"}
        assert {p.name for p in folder.iterdir()} - made == before

    def test_files_that_are_not_there(self, folder, inside):
        complained(inside("fit", "nowhere.toml", "people.csv"), "nowhere.toml", "No such file")
        complained(inside("fit", "fine.toml", "nowhere.csv"), "nowhere.csv", "No such file")
        complained(inside("fit", "fine.toml"), "needs a table")
        complained(inside("theory", "nowhere.mapping"), "No such file")
        complained(inside("fit", "fine.toml", "people.csv", "--out", "no/where"), "there is no folder")
        complained(inside("fit", "fine.toml", "people.csv", "--out", "."), "is a folder")
        complained(inside("fit", "fine.toml", "people.csv", "--out", "x", "--proof", "x"), "to be written twice")

    def test_a_problem_that_is_no_toml(self, folder, inside):
        (folder / "broken.toml").write_text("protected = [")
        complained(inside("fit", "broken.toml", "people.csv"), "broken.toml: ", "TOML")
        (folder / "binary.toml").write_bytes(b"\xff\xfe\x00\x01")
        complained(inside("fit", "binary.toml", "people.csv"), "is not text")

    def test_a_problem_that_says_something_else(self, folder, inside):
        text = (folder / "fine.toml").read_text()
        (folder / "odd.toml").write_text(text.replace('"pairwise"', '"pairwaise"'))
        complained(inside("diagnose", "odd.toml", "people.csv"), "odd.toml: ", "pairwaise")
        (folder / "odd.toml").write_text(text.replace('["score"]', '["scores"]').replace("rules.score", "rules.scores"))
        complained(inside("diagnose", "odd.toml", "people.csv"), "no column 'scores'", "score")

    def test_a_wrong_column_of_weights(self, folder, inside):
        complained(inside("fit", "fine.toml", "people.csv", "--weights", "n"), "'n'")

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("image.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff"),
            ("empty.csv", b""),
            ("ragged.csv", b"group,score,hired\na,1,0\nb,2,3,4,5\n"),
            ("short.csv", b"group,score,hired\n"),
        ],
    )
    def test_a_table_that_is_none(self, folder, inside, name, content):
        (folder / name).write_bytes(content)
        complained(inside("fit", "fine.toml", name))


class TestShield:
    def test_without_scores_the_tables_own_rates_stand_for_the_model(self, folder, inside):
        result = inside("shield", "shield.toml", "people.csv", "--out", "s.mapping")
        assert result.returncode == 0, result.stderr
        assert "from the table's own p(y|x)" in flat(result.stdout)
        mapping = eh.Mapping.load(folder / "s.mapping")
        assert mapping.problem.suppress_protected == "fixed"
        assert mapping.problem.conditional is None

    def test_with_scores(self, folder):
        rows = [(0, 0, 0.8), (0, 1, 0.2), (1, 0, 0.5), (1, 1, 0.5)]
        pd.DataFrame(rows, columns=["score", "hired", "probability"]).to_csv(folder / "scores.csv", index=False)
        arguments = ("shield", "shield.toml", "people.csv", "--scores", "scores.csv", "--proof", "s.proof")
        result = evenhand(*arguments, cwd=folder)
        assert result.returncode == 0, result.stderr
        assert "from the p(y|x) of a given model" in flat(result.stdout)
        mapping = eh.Mapping.load(folder / "evenhand.mapping")
        assert dict(dict(mapping.problem.conditional.rows)[(0,)])[1] == 0.2
        assert evenhand("verify", "s.proof", cwd=folder).returncode == 0

    def test_scores_that_lack_a_combination(self, folder, inside):
        pd.DataFrame([(0, 0, 0.8), (0, 1, 0.2)], columns=["score", "hired", "probability"]).to_csv(
            folder / "scores.csv", index=False
        )
        result = inside("shield", "shield.toml", "people.csv", "--scores", "scores.csv")
        complained(result, "no row for score=1")

    def test_an_outcome_that_cannot_be_drawn_anew(self, folder, inside):
        complained(inside("shield", "fine.toml", "people.csv"), "Free()", "forbids 0 → 1")


class TestDiagnose:
    def test_infeasible(self, folder):
        result = evenhand("diagnose", "tight.toml", "people.csv", "--proof", "t.proof", cwd=folder)
        assert result.returncode == 1
        assert result.stderr == ""
        said = flat(result.stdout)
        for words in ("Infeasible", "No mapping meets every bound.", "A way out: raise the parity bound to",
                      "The bounds that conflict", "How far these rates can go", "evenhand verify t.proof"):  # fmt: skip
            assert words in said, words
        checked = evenhand("verify", "t.proof", cwd=folder)
        assert checked.returncode == 0
        assert "No mapping meets all the bounds of the statement." in flat(checked.stdout)

    def test_feasible(self, inside):
        result = inside("diagnose", "fine.toml", "people.csv", "--proof", "f.proof")
        assert result.returncode == 0, result.stderr
        assert "Relaxing PairwiseParity would gain" in flat(result.stdout)
        assert "What each bound costs" in result.stdout
        assert inside("verify", "f.proof").returncode == 0

    def test_a_study_by_name(self, inside):
        result = inside("diagnose", "compas")
        assert result.returncode == 0
        assert "0.125659" in result.stdout


def test_theory(folder, inside):
    inside("fit", "fine.toml", "people.csv", "--out", "m")
    result = evenhand("theory", "m", cwd=folder)
    assert result.returncode == 0, result.stderr
    for words in ("section 3.3", "section 3.4", "section 3.5", "by resampling", "One draw"):
        assert words in result.stdout, words
    assert "not used for fitting\n" not in result.stdout
    with_rows = inside("theory", "m", "--holdout", "people.csv", "--confidence", "0.9")
    assert with_rows.returncode == 0, with_rows.stderr
    assert "200 rows were released once; with a confidence of 0.9" in flat(with_rows.stdout)
    assert "group hired rows released rate low high expected" in flat(with_rows.stdout)
    complained(inside("theory", "m", "--holdout", "fine.toml"))
    complained(inside("theory", "m", "--confidence", "2"), "confidence")


def test_verify_refuses_a_tampered_proof(folder, inside):
    inside("fit", "fine.toml", "people.csv", "--proof", "a.proof")
    text = (folder / "a.proof").read_text()
    (folder / "a.proof").write_text(text.replace("30.0", "31.0", 1))
    result = evenhand("verify", "a.proof", cwd=folder)
    assert result.returncode == 1
    assert "Refused: the digest does not match" in flat(result.stdout)
    (folder / "a.proof").write_text("{ this is no proof")
    result = inside("verify", "a.proof")
    assert result.returncode == 1
    assert "Refused: " in result.stdout
    assert "Traceback" not in result.stderr


def test_names_in_a_proof_cannot_write_to_the_terminal(folder, inside):
    document = '{"format": "evenhand-proof", "version": 1, "kind": "mapping", "sha256": "\\u001b[31m[bold]x"}'
    (folder / "a.proof").write_text(document)
    result = inside("verify", "a.proof")
    assert result.returncode == 1
    assert "\x1b" not in result.stdout
    assert "�[31m[bold]x" in result.stdout


def test_nothing_is_cut_off_in_a_narrow_terminal(folder):
    """At 80 columns long names go on in the next line, and no number is lost."""
    wide = evenhand("diagnose", "tight.toml", "people.csv", cwd=folder)
    narrow = evenhand("diagnose", "tight.toml", "people.csv", cwd=folder, COLUMNS="80")
    assert "…" not in narrow.stdout
    assert max(map(len, narrow.stdout.splitlines())) <= 80
    numbers = [word for word in wide.stdout.split() if word.replace(".", "").isdigit()]
    assert len(numbers) > 10
    assert sorted(numbers) == sorted(word for word in narrow.stdout.split() if word.replace(".", "").isdigit())


def test_the_frontier(folder, inside):
    result = evenhand("frontier", "fine.toml", "people.csv", "--bounds", "0.1:0.5:3", "--out", "f.csv", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert len(pd.read_csv(folder / "f.csv")) == 3
    complained(inside("frontier", "fine.toml", "people.csv", "--bounds", "a:b", "--out", "g"), "--bounds")
    assert not (folder / "g").exists()
