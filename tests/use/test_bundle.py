"""A bundle: what is in it, whole or not at all, the same bytes twice, and no small group in it by subtraction."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import reports

import evenhand as eh
from evenhand import verifier
from evenhand.render.section import Note
from evenhand.render.sentences import sentence
from evenhand.use.bundle import FILES, _whole_folder

GIVEN = {"manifest.json", "changes.csv", "changes.parquet"}
"""What is in a bundle where it was given."""

FEW_PEOPLE = 20


@pytest.fixture(scope="module")
def folder(compas_mapping, tmp_path_factory):
    return eh.bundle(compas_mapping, tmp_path_factory.mktemp("made") / "bundle", trace=False)


def contents(path):
    return {name: (Path(path) / name).read_bytes() for name in os.listdir(path)}


def test_a_folder_that_appeared_meanwhile_is_not_replaced(tmp_path):
    def written():
        with _whole_folder(tmp_path / "evidence", force=False) as made:
            (made / "report.html").write_text("ours")
            (tmp_path / "evidence").mkdir()
            (tmp_path / "evidence" / "report.html").write_text("theirs")

    with pytest.raises(eh.StorageError, match="cannot write"):
        written()
    assert os.listdir(tmp_path) == ["evidence"]
    assert (tmp_path / "evidence" / "report.html").read_text() == "theirs"


def test_everything_is_there_and_checks(folder, compas_mapping):
    assert set(os.listdir(folder.path)) == set(folder.files) == set(FILES) - GIVEN
    if shutil.which("sha256sum"):
        done = subprocess.run(
            ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=folder.path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(": OK") == len(folder.files) - 1
    for name, digest in folder.sha256.items():
        assert hashlib.sha256((folder.path / name).read_bytes()).hexdigest() == digest
    assert verifier.verify(folder.path / "proof.json").stands
    alone = subprocess.run(
        [sys.executable, "-I", "verifier.py", "proof.json"], cwd=folder.path, capture_output=True, check=False
    )
    assert alone.returncode == 0, alone.stderr
    ratios = pd.read_csv(folder.path / "impact-ratios.csv")
    assert ratios["category"].tolist()[:2] == ["sex=Female", "sex=Male"]
    assert ratios["ratio_before"].max() == 1
    assert repr(folder).startswith("<Bundle: 9 files in ")


def test_the_same_mapping_gives_the_same_bytes(folder, compas_mapping, tmp_path):
    again = eh.bundle(compas_mapping, tmp_path / "again", trace=False)
    assert contents(again.path) == contents(folder.path)


def test_a_folder_is_replaced_only_if_it_is_a_bundle_and_so_asked(folder, compas_mapping, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(folder.path, mine)
    (mine / "summary.md").write_text("older")
    with pytest.raises(eh.StorageError, match=r"exists already; force=True"):
        eh.bundle(compas_mapping, mine, trace=False)
    assert (mine / "summary.md").read_text() == "older"
    eh.bundle(compas_mapping, mine, trace=False, force=True)
    assert contents(mine) == contents(folder.path)
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(eh.StorageError, match=r"holds other files, such as 'thesis.tex'"):
        eh.bundle(compas_mapping, mine, trace=False, force=True)
    assert (mine / "thesis.tex").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(eh.StorageError, match="is no folder"):
        eh.bundle(compas_mapping, tmp_path / "file", force=True)
    with pytest.raises(eh.StorageError, match="there is no folder"):
        eh.bundle(compas_mapping, tmp_path / "a" / "b")
    assert sorted(os.listdir(tmp_path)) == ["file", "mine"]


def test_nothing_is_left_where_something_goes_wrong(compas_mapping, tmp_path, monkeypatch):
    def broken(*given):
        raise eh.SolverError("no proof today")

    monkeypatch.setattr("evenhand.mapping.Mapping.proof", broken)
    with pytest.raises(eh.SolverError, match="no proof today"):
        eh.bundle(compas_mapping, tmp_path / "evidence", trace=False)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:10 of 3000 rows")
def test_a_table_a_sign_off_and_who_is_selected(compas, compas_mapping, tmp_path):
    people = compas.frame.head(3000).astype({"age_cat": str, "priors_count": str})
    people.loc[:9, "sex"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    today = date.today()
    signed = eh.SignOff(name="A. Person", date=today, purpose="a pilot", why="agreed", expires=today + timedelta(30))
    found = eh.bundle(
        compas_mapping,
        tmp_path / "evidence",
        frame=tmp_path / "people.csv",
        sign_off=signed,
        selected=1,
        trace=False,
        show_all_groups=True,
    )
    assert found.impact.unknown == {"sex": 10.0}
    assert sum(each.people for each in found.impact.categories if each.by == "sex") == 2990
    for name in ("datasheet.md", "report.html"):
        assert "A. Person" in (found.path / name).read_text(encoding="utf-8")
    assert "(unknown),10" in (found.path / "impact-ratios.csv").read_text()
    with pytest.raises(eh.SpecError, match="selected names is_recid=7"):
        eh.bundle(compas_mapping, tmp_path / "b", selected=7)
    old = replace(signed, date=today - timedelta(60), expires=today - timedelta(1))
    with pytest.raises(eh.SpecError, match="expired"):
        eh.bundle(compas_mapping, tmp_path / "b", sign_off=old)


def test_of_more_outcomes_it_must_be_said_who_is_selected(tmp_path):
    frame = pd.DataFrame({"sex": list("fm") * 60, "x": [0, 1, 2] * 40, "y": [0, 0, 1, 1, 2, 2] * 20})
    problem = eh.Problem(
        protected=["sex"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.5)],
        distortion=eh.Distortion({"y": eh.Ordinal(1)}),
    )  # fmt: skip
    with pytest.raises(eh.SpecError, match="counts as being selected; write selected=2"):
        eh.bundle(eh.fit(problem, frame), tmp_path / "evidence")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:319 of 5278 rows")
def test_people_of_a_new_value_are_counted_as_they_are(compas, compas_mapping, tmp_path):
    people = compas.frame.astype({"age_cat": str, "priors_count": str})
    unlucky = people.index[(people["sex"] == "Female") & (people["is_recid"] == 0)][:319]
    people.loc[unlucky, "age_cat"] = "unknown age"
    found = eh.bundle(compas_mapping, tmp_path / "evidence", frame=people, trace=False)
    by_sex = {each.category: each for each in found.impact.categories if each.by == "sex"}
    told = people.groupby("sex")["is_recid"].agg(["size", "mean"])
    for sex, row in told.iterrows():
        assert by_sex[f"sex={sex}"].people == row["size"]
        assert by_sex[f"sex={sex}"].rate_before == pytest.approx(1 - row["mean"])
    (note,) = map(sentence, found.impact.notes)
    assert note.startswith("319 people have a new value")
    for name in ("impact-ratios.md", "summary.md"):
        assert note in (found.path / name).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:300 of 5278 rows")
def test_unknown_groups_are_in_the_ratios_by_other_columns(compas, compas_mapping, tmp_path):
    people = compas.frame.astype({"sex": str, "race": str})
    people.loc[:199, "race"] = None
    people.loc[100:299, "sex"] = "?"
    found = eh.bundle(compas_mapping, tmp_path / "evidence", frame=people, trace=False)
    assert found.impact.unknown == {"sex": 200.0, "race": 200.0}
    for by, number in (("sex", 5078), ("race", 5078), ("sex × race", 4978)):
        rows = [each for each in found.impact.categories if each.by == by]
        assert sum(each.people for each in rows) == number
        assert sum(each.share for each in rows) == pytest.approx(number / 5278)
    assert "**Everybody:** 5,278 people" in (found.path / "impact-ratios.md").read_text(encoding="utf-8")


def weighted(seed=8, n=600):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "x": rng.integers(0, 2, n), "w": rng.integers(1, 5, n) / 2})
    return frame.assign(y=(rng.random(n) < 0.3 + 0.3 * (frame["sex"] == "m")).astype(int))


@pytest.mark.slow
def test_weights_are_heeded_and_said(tmp_path):
    frame = weighted()
    problem = eh.Problem(
        protected=["sex"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.5)],
        distortion=eh.Distortion({"y": eh.Ordinal(1)}),
    )  # fmt: skip
    mapping = eh.fit(problem, frame, weights="w")
    frame.to_csv(tmp_path / "people.csv", index=False)
    own = frame.assign(y=frame["w"] * frame["y"]).groupby("sex")[["w", "y"]].sum()
    for place, more in enumerate(({}, {"frame": tmp_path / "people.csv", "weights": "w"})):
        found = eh.bundle(mapping, tmp_path / f"by-weight-{place}", trace=False, **more)
        assert [each.people for each in found.impact.categories] == own["w"].tolist()
        rates = [each.rate_before for each in found.impact.categories]
        assert rates == pytest.approx((own["y"] / own["w"]).tolist())
        assert (found.impact.weighed, found.impact.notes) == (True, ())
        text = (found.path / "impact-ratios.md").read_text(encoding="utf-8")
        assert f"{frame['w'].sum():,.0f} people by weight" in text
        for name in ("impact-ratios.md", "datasheet.md", "summary.md"):
            assert "| People by weight |" in (found.path / name).read_text(encoding="utf-8"), name
    plain = frame.drop(columns="w")
    once = eh.bundle(mapping, tmp_path / "once", frame=plain, trace=False)
    assert [each.people for each in once.impact.categories] == frame.groupby("sex").size().tolist()
    assert (once.impact.weighed, once.impact.notes) == (False, (Note("impact.unweighed"),))
    for name in ("impact-ratios.md", "summary.md"):
        text = (once.path / name).read_text(encoding="utf-8")
        assert sentence(Note("impact.unweighed")) in text
        assert "| People |" in text
    assert "| People by weight |" in (once.path / "datasheet.md").read_text(encoding="utf-8")
    with pytest.raises(eh.SpecError, match="weights go with a table"):
        eh.bundle(mapping, tmp_path / "x", weights="w")
    with pytest.raises(eh.DataError, match="'no such'"):
        eh.bundle(mapping, tmp_path / "x", frame=frame, weights="no such")


@pytest.mark.slow
def test_a_manifest_whose_sign_off_expired_is_refused(compas, compas_mapping, tmp_path):
    today = date.today()
    compas_mapping.save(tmp_path / "m.mapping")
    compas.frame.to_csv(tmp_path / "people.csv", index=False)
    done = compas_mapping.release(tmp_path / "people.csv", to=tmp_path / "out.csv", seed=0)
    past = eh.SignOff("A. Byron", today - timedelta(9), "a pilot", "agreed", today - timedelta(1))
    made = eh.manifest_of(compas_mapping, done, tmp_path / "m.mapping")
    path = replace(made, sign_off=past).save()
    said = rf"the sign-off by 'A. Byron' in .* expired on {past.expires}: nothing is reported with it"
    with pytest.raises(eh.SpecError, match=said):
        eh.report_on(compas_mapping, manifest=path, trace=False)
    with pytest.raises(eh.SpecError, match=said):
        eh.bundle(compas_mapping, tmp_path / "evidence", manifest=path, trace=False)
    assert not (tmp_path / "evidence").exists()


@pytest.mark.slow
def test_the_datasheet_lists_the_columns_of_the_file_and_what_was_drawn(tmp_path):
    mapping, manifest = reports.signed_release(reports.leaves_mapping(), reports.leaves_frame(), tmp_path)
    eh.bundle(mapping, tmp_path / "evidence", manifest=manifest, trace=False)
    sheet = (tmp_path / "evidence" / "datasheet.md").read_text()
    asked = sheet.split("## What was asked")[1].split("##")[0]
    listed = [line.split(" | ")[0].removeprefix("| ") for line in asked.splitlines()]
    assert [name for name in listed if name in set(reports.leaves_frame().columns)] == list(reports.leaves_frame())
    assert "learned cell" not in listed
    assert {"manifest.json", "datasheet.md"} <= set(os.listdir(tmp_path / "evidence"))
    assert (tmp_path / "evidence" / "manifest.json").read_bytes() == Path(manifest).read_bytes()
    assert "train mode: the outcome was drawn, features stay as they are" in sheet


def random_table(seed):
    """A table with one group of few people among three or four, and one level of a feature that few have."""
    rng = np.random.default_rng(seed)
    few = int(rng.integers(7, FEW_PEOPLE))
    sizes = [few, *rng.integers(150, 900, rng.integers(2, 4))]
    group = np.repeat([f"g{at}" for at in range(len(sizes))], sizes)
    rate = np.repeat(rng.uniform(0.2, 0.8, len(sizes)), sizes)
    level = rng.choice(["p", "q", "r"], len(group), p=[0.5, 0.49, 0.01])
    frame = pd.DataFrame({"group": group, "x": level, "y": (rng.random(len(group)) < rate).astype(int)})
    problem = eh.Problem(
        protected=["group"], features=["x"], outcome="y", favourable=1, parity=[eh.PairwiseParity(0.15)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    return frame, eh.fit(problem, frame)


def tables_in(document, at=""):
    """Yield every list of rows in a document, with where it is."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from tables_in(value, f"{at}.{name}")
    elif isinstance(document, list):
        if document and all(isinstance(row, dict) for row in document):
            yield at, document
        for value in document:
            yield from tables_in(value, at)


def scalars_in(document):
    """Yield every number of a document, and those within its sentences."""
    if isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from scalars_in(value)
    elif isinstance(document, str):
        yield from (float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", document))
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield float(document)


def sums_of(rows):
    """Yield the sum of every column of numbers, over all rows and over those that agree in another column."""
    frame = pd.DataFrame([{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in r.items()} for r in rows])
    numbers = frame.select_dtypes("number")
    for column in numbers:
        yield float(numbers[column].sum())
        for by in frame.columns.difference(numbers.columns):
            yield from frame.groupby(by, dropna=False)[column].sum().tolist()
    for rate, weight in combinations(numbers, 2):
        yield float((numbers[rate] * numbers[weight]).sum())


def followed(document, secrets):
    """Return the secrets that are a number of a document, or such a number less the sum of a table's column."""
    numbers = np.unique([number for number in scalars_in(document) if number > FEW_PEOPLE])
    found = set()
    for at, rows in tables_in(document):
        if at == ".rates.constraints":
            # It counts comparisons, and no people.
            continue
        for taken in set(sums_of(rows)):
            found |= {
                (at, name) for name, value in secrets.items() if np.isclose(numbers - taken, value, atol=1e-6).any()
            }
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_number_of_the_bundle_less_the_rows_beside_it_is_a_hidden_groups(seed, tmp_path):
    frame, mapping = random_table(seed)
    found = eh.bundle(mapping, tmp_path / "bundle", frame=frame, trace=False)
    document = reports.numbers_of(found.report)
    shown = [row["group"] for row in document["gains"]["ledger"]]
    hidden = mapping.audit().ledger.set_index("group").drop(shown)
    assert len(hidden) >= 2
    size = int((frame["group"] == "g0").sum())
    secrets = {"size": size, "selected": int(frame.loc[frame["group"] == "g0", "y"].sum())}
    # Of two who are hidden one may be alone in being harmed; whoever does not see them cannot know that.
    secrets |= {name: float(hidden.loc["g0", name]) for name in ("helped", "harmed") if (hidden[name] > 0.01).all()}
    assert followed(document, secrets) == set()
    impact = {"people": len(frame), "impact": json.loads(found.impact.to_json())}
    assert followed(impact, secrets) == set()
    for name in ("impact-ratios.csv", "impact-ratios.md", "summary.md", "datasheet.md", "report.html", "report.json"):
        text = (found.path / name).read_text()
        assert not re.search(rf"\bg0\b.*\b{size}\b", text), name


@pytest.mark.slow
def test_what_a_law_must_name_is_asked_for(tmp_path):
    frame, mapping = random_table(0)
    size = int((frame["group"] == "g0").sum())
    asked = eh.bundle(mapping, tmp_path / "asked", trace=False, show_all_groups=True)
    assert {each.category for each in asked.impact.categories} == {f"group={name}" for name in frame["group"].unique()}
    assert f"| group=g0 | {size} |" in (asked.path / "impact-ratios.md").read_text()
    # For that table alone.
    assert "g0" not in {row["group"]["group"] for row in reports.numbers_of(asked.report)["rates"]["every_rate"]}
