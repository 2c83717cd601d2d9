"""A folder of evidence: what is in it, whole or not at all, the same bytes twice."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import pytest

import evenhand as eh
from evenhand import verifier
from evenhand.use.evidence import FILES


@pytest.fixture(scope="module")
def folder(compas_mapping, tmp_path_factory):
    return eh.evidence(compas_mapping, tmp_path_factory.mktemp("made") / "evidence", trace=False)


def contents(path):
    return {name: (Path(path) / name).read_bytes() for name in os.listdir(path)}


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

    monkeypatch.setattr("evenhand.use.mapping.Mapping.proof", broken)
    with pytest.raises(eh.SolverError, match="no proof today"):
        eh.evidence(compas_mapping, tmp_path / "evidence", trace=False)
    assert os.listdir(tmp_path) == []


@pytest.mark.filterwarnings("ignore:10 of 3000 rows")
def test_a_table_a_sign_off_and_who_is_selected(compas, compas_mapping, tmp_path):
    people = compas.frame.head(3000).astype({"age_cat": str, "priors_count": str})
    people.loc[:9, "sex"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    today = date.today()
    signed = eh.SignOff(name="A. Person", date=today, purpose="a pilot", why="agreed", expires=today + timedelta(30))
    found = eh.evidence(
        compas_mapping, tmp_path / "evidence", table=tmp_path / "people.csv", sign_off=signed, selected=1, trace=False
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
