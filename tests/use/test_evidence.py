"""A folder of evidence: what is in it, whole or not at all, the same bytes twice."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import reports

import evenhand as eh
from evenhand import verifier
from evenhand.use.evidence import FILES, UNWEIGHED, _whole_folder


@pytest.fixture(scope="module")
def folder(compas_mapping, tmp_path_factory):
    return eh.evidence(compas_mapping, tmp_path_factory.mktemp("made") / "evidence", trace=False)


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
    assert set(os.listdir(folder.path)) == set(FILES) == set(folder.files)
    if shutil.which("sha256sum"):
        done = subprocess.run(
            ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=folder.path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(": OK") == len(FILES) - 1
    for name, digest in folder.sha256.items():
        assert hashlib.sha256((folder.path / name).read_bytes()).hexdigest() == digest
    assert verifier.verify(folder.path / "proof.json").stands
    ratios = pd.read_csv(folder.path / "impact-ratios.csv")
    assert ratios["category"].tolist()[:2] == ["sex=Female", "sex=Male"]
    assert ratios["ratio_before"].max() == 1
    assert repr(folder).startswith("<Evidence: 8 files in ")


def test_the_same_mapping_gives_the_same_bytes(folder, compas_mapping, tmp_path):
    again = eh.evidence(compas_mapping, tmp_path / "again", trace=False)
    assert contents(again.path) == contents(folder.path)


def test_a_folder_is_replaced_only_if_it_is_evidence_and_so_asked(folder, compas_mapping, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(folder.path, mine)
    (mine / "summary.md").write_text("older")
    with pytest.raises(eh.StorageError, match=r"exists already; force=True"):
        eh.evidence(compas_mapping, mine, trace=False)
    assert (mine / "summary.md").read_text() == "older"
    eh.evidence(compas_mapping, mine, trace=False, force=True)
    assert contents(mine) == contents(folder.path)
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(eh.StorageError, match=r"holds other files, such as 'thesis.tex'"):
        eh.evidence(compas_mapping, mine, trace=False, force=True)
    assert (mine / "thesis.tex").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(eh.StorageError, match="is no folder"):
        eh.evidence(compas_mapping, tmp_path / "file", force=True)
    with pytest.raises(eh.StorageError, match="there is no folder"):
        eh.evidence(compas_mapping, tmp_path / "a" / "b")
    assert sorted(os.listdir(tmp_path)) == ["file", "mine"]


def test_nothing_is_left_where_something_goes_wrong(compas_mapping, tmp_path, monkeypatch):
    def broken(*given):
        raise eh.SolverError("no proof today")

    monkeypatch.setattr("evenhand.mapping.Mapping.proof", broken)
    with pytest.raises(eh.SolverError, match="no proof today"):
        eh.evidence(compas_mapping, tmp_path / "evidence", trace=False)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:10 of 3000 rows")
def test_a_table_a_sign_off_and_who_is_selected(compas, compas_mapping, tmp_path):
    people = compas.frame.head(3000).astype({"age_cat": str, "priors_count": str})
    people.loc[:9, "sex"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    today = date.today()
    signed = eh.SignOff(name="A. Person", date=today, purpose="a pilot", why="agreed", expires=today + timedelta(30))
    found = eh.evidence(
        compas_mapping,
        tmp_path / "evidence",
        table=tmp_path / "people.csv",
        sign_off=signed,
        selected=1,
        trace=False,
        show_all_groups=True,
    )
    assert found.unknown == {"sex": 10.0}
    assert sum(row["people"] for row in found.impact if row["by"] == "sex") == 2990
    for name in ("datasheet.md", "report.html"):
        assert "A. Person" in (found.path / name).read_text(encoding="utf-8")
    assert "(unknown),10" in (found.path / "impact-ratios.csv").read_text()
    with pytest.raises(eh.SpecError, match="selected names is_recid=7"):
        eh.evidence(compas_mapping, tmp_path / "b", selected=7)
    old = replace(signed, date=today - timedelta(60), expires=today - timedelta(1))
    with pytest.raises(eh.SpecError, match="expired"):
        eh.evidence(compas_mapping, tmp_path / "b", sign_off=old)


def test_of_more_outcomes_it_must_be_said_who_is_selected(tmp_path):
    frame = pd.DataFrame({"sex": list("fm") * 60, "x": [0, 1, 2] * 40, "y": [0, 0, 1, 1, 2, 2] * 20})
    problem = eh.Problem(
        protected=["sex"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.5)],
        distortion=eh.Distortion({"y": eh.Ordinal(1)}),
    )  # fmt: skip
    with pytest.raises(eh.SpecError, match="counts as being selected; write selected=2"):
        eh.evidence(eh.fit(problem, frame), tmp_path / "evidence")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:319 of 5278 rows")
def test_people_of_a_new_value_are_counted_as_they_are(compas, compas_mapping, tmp_path):
    people = compas.frame.astype({"age_cat": str, "priors_count": str})
    unlucky = people.index[(people["sex"] == "Female") & (people["is_recid"] == 0)][:319]
    people.loc[unlucky, "age_cat"] = "unknown age"
    found = eh.evidence(compas_mapping, tmp_path / "evidence", table=people, trace=False)
    by_sex = {row["category"]: row for row in found.impact if row["by"] == "sex"}
    told = people.groupby("sex")["is_recid"].agg(["size", "mean"])
    for sex, row in told.iterrows():
        assert by_sex[f"sex={sex}"]["people"] == row["size"]
        assert by_sex[f"sex={sex}"]["rate_before"] == pytest.approx(1 - row["mean"])
    (note,) = found.notes
    assert note.startswith("319 people have a new value")
    for name in ("impact-ratios.md", "summary.md"):
        assert note in (found.path / name).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:300 of 5278 rows")
def test_unknown_groups_are_in_the_ratios_by_other_columns(compas, compas_mapping, tmp_path):
    people = compas.frame.astype({"sex": str, "race": str})
    people.loc[:199, "race"] = None
    people.loc[100:299, "sex"] = "?"
    found = eh.evidence(compas_mapping, tmp_path / "evidence", table=people, trace=False)
    assert found.unknown == {"sex": 200.0, "race": 200.0}
    for by, number in (("sex", 5078), ("race", 5078), ("sex × race", 4978)):
        rows = [row for row in found.impact if row["by"] == by]
        assert sum(row["people"] for row in rows) == number
        assert sum(row["share"] for row in rows) == pytest.approx(number / 5278)
    assert "of the 5,278 people of the table" in (found.path / "impact-ratios.md").read_text(encoding="utf-8")


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
    for place, more in enumerate(({}, {"table": tmp_path / "people.csv", "weights": "w"})):
        found = eh.evidence(mapping, tmp_path / f"by-weight-{place}", trace=False, **more)
        assert [row["people"] for row in found.impact] == own["w"].tolist()
        assert [row["rate_before"] for row in found.impact] == pytest.approx((own["y"] / own["w"]).tolist())
        assert (found.weighed, found.notes) == (True, ())
        text = (found.path / "impact-ratios.md").read_text(encoding="utf-8")
        assert f"of the {frame['w'].sum():,.0f} people by weight of the" in text
        for name in ("impact-ratios.md", "datasheet.md", "summary.md"):
            assert "| People by weight |" in (found.path / name).read_text(encoding="utf-8"), name
    plain = frame.drop(columns="w")
    once = eh.evidence(mapping, tmp_path / "once", table=plain, trace=False)
    assert [row["people"] for row in once.impact] == frame.groupby("sex").size().tolist()
    assert (once.weighed, once.notes) == (False, (UNWEIGHED,))
    for name in ("impact-ratios.md", "summary.md"):
        text = (once.path / name).read_text(encoding="utf-8")
        assert UNWEIGHED in text
        assert "| People |" in text
    assert "| People by weight |" in (once.path / "datasheet.md").read_text(encoding="utf-8")
    with pytest.raises(eh.SpecError, match="weights go with a table"):
        eh.evidence(mapping, tmp_path / "x", weights="w")
    with pytest.raises(eh.DataError, match="'no such'"):
        eh.evidence(mapping, tmp_path / "x", table=frame, weights="no such")


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
        eh.evidence(compas_mapping, tmp_path / "evidence", manifest=path, trace=False)
    assert not (tmp_path / "evidence").exists()


@pytest.mark.slow
def test_the_datasheet_lists_the_columns_of_the_file_and_what_was_drawn(tmp_path):
    mapping, manifest = reports.signed_release(reports.leaves_mapping(), reports.leaves_frame(), tmp_path)
    eh.evidence(mapping, tmp_path / "evidence", manifest=manifest, trace=False)
    sheet = (tmp_path / "evidence" / "datasheet.md").read_text()
    listed = [line.split(" | ")[0].removeprefix("| ") for line in sheet.split("## Who")[1].split("##")[0].splitlines()]
    assert [name for name in listed if name in set(reports.leaves_frame().columns)] == list(reports.leaves_frame())
    assert "learned cell" not in listed
    assert "train mode: the outcome was drawn, features stay as they are" in sheet
