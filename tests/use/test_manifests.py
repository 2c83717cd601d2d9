"""Manifests of files that were just written: their facts are those of the files, counted by other means here."""

import hashlib
from datetime import date, timedelta

import pandas as pd
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh


@pytest.fixture(scope="module")
def fitted():
    return shared_fit(small_problem(), small_frame())


@pytest.fixture
def folder(tmp_path, fitted):
    small_frame().assign(id=range(200), w=2.0).to_csv(tmp_path / "people.csv", index=False)
    fitted.save(tmp_path / "m.mapping")
    return tmp_path


def rates_of(frame, weight=None):
    """The share of each outcome in each group, by weight."""
    weighed = frame.assign(n=1.0 if weight is None else frame[weight])
    return weighed.groupby(["group", "hired"])["n"].sum() / weighed.groupby("group")["n"].sum()


def stated(manifest, when):
    return manifest.rates.set_index(["group", "outcome"])[when].rename_axis(["group", "hired"])


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_its_facts_are_those_of_the_files(fitted, folder, ending):
    done = fitted.release(folder / "people.csv", to=folder / f"train.{ending}", seed=3, key="id")
    found = eh.manifest_of(fitted, done, folder / "m.mapping", weights="w")
    for what, name in (("input", "people.csv"), ("mapping", "m.mapping"), ("output", f"train.{ending}")):
        (record,) = found.files[what]
        content = (folder / name).read_bytes()
        assert (record.name, record.size) == (name, len(content))
        assert record.sha256 == hashlib.sha256(content).hexdigest()
    before = small_frame()
    after = pd.read_csv(folder / "train.csv") if ending == "csv" else pd.read_parquet(folder / "train.parquet")
    for when, frame in (("before", before), ("after", after)):
        pd.testing.assert_series_equal(stated(found, when), rates_of(frame), check_names=False)
    changed = (after[["score", "hired"]] != before[["score", "hired"]]).any(axis=1).sum()
    assert (found.counted["rows"], found.counted["changed"]) == (200, changed)
    assert (found.options["seed"], found.options["key"], found.options["draw"]) == (3, "id", "independent")
    assert (found.bounds["bound"] == 0.2).all()
    assert (found.bounds["kept"] == (found.bounds["after"] <= 0.2)).all()


def test_of_what_was_expanded_rates_are_weighted(fitted, folder):
    done = fitted.expand(folder / "people.csv", to=folder / "all.csv", weights="w", weight_column="share")
    found = eh.manifest_of(fitted, done, folder / "m.mapping")
    after = pd.read_csv(folder / "all.csv")
    pd.testing.assert_series_equal(stated(found, "after"), rates_of(after, "share"), check_names=False)
    assert found.counted["results"] == len(after)
    assert (found.options["weights"], found.options["weight_column"]) == ("w", "share")
    assert "seed" not in found.options


def test_apply_mode_has_no_rates(fitted, folder):
    small_frame().drop(columns="hired").to_csv(folder / "new.csv", index=False)
    found = eh.manifest_of(fitted, fitted.apply(folder / "new.csv", to=folder / "a.csv"), folder / "m.mapping")
    assert found.realised is None
    assert found.kept is None
    assert len(found.rates) == len(found.bounds) == 0
    assert "apply mode reads and changes no outcome" in found.verdict


def test_a_table_without_rows_says_so(fitted, folder):
    small_frame().head(0).to_csv(folder / "none.csv", index=False)
    done = fitted.release(folder / "none.csv", to=folder / "a.csv")
    assert "no rows" in eh.manifest_of(fitted, done, folder / "m.mapping").verdict


@pytest.mark.slow
def test_fresh_randomness_can_be_repeated_from_its_manifest(fitted, folder):
    done = fitted.release(folder / "people.csv", to=folder / "a.csv", seed=None)
    found = eh.manifest_of(fitted, done, folder / "m.mapping")
    assert found.options["seed"] > 2**64
    assert eh.verify_manifest(found, again=True).stands


class TestRefusals:
    def test_a_frame_has_no_manifest(self, fitted, folder):
        with pytest.raises(eh.SpecError, match="a manifest is of files"):
            eh.manifest_of(fitted, fitted.release(small_frame()), folder / "m.mapping")

    def test_the_file_of_another_mapping(self, fitted, folder):
        eh.fit(small_problem(parity=[eh.PairwiseParity(0.4)]), small_frame()).save(folder / "other.mapping")
        done = fitted.release(folder / "people.csv", to=folder / "a.csv")
        with pytest.raises(eh.StorageError, match="holds another mapping"):
            eh.manifest_of(fitted, done, folder / "other.mapping")

    def test_an_input_that_changed_meanwhile(self, fitted, folder):
        done = fitted.release(folder / "people.csv", to=folder / "a.csv")
        small_frame().head(50).to_csv(folder / "people.csv", index=False)
        with pytest.raises(eh.DataError, match="was changed after it was read"):
            eh.manifest_of(fitted, done, folder / "m.mapping")

    def test_a_sign_off_that_does_not_hold(self, fitted, folder):
        done = fitted.release(folder / "people.csv", to=folder / "a.csv")
        today = date.today()
        words = {"name": "A", "purpose": "p", "why": "w"}
        past = eh.SignOff(date=today - timedelta(9), expires=today - timedelta(1), **words)
        with pytest.raises(eh.SpecError, match="the sign-off by 'A' expired on"):
            eh.manifest_of(fitted, done, folder / "m.mapping", sign_off=past)
        with pytest.raises(eh.SpecError, match="still to come"):
            eh.manifest_of(fitted, done, folder / "m.mapping", sign_off=eh.SignOff(date=today + timedelta(2), **words))
        good = eh.SignOff(date=today, expires=today, **words)
        assert eh.manifest_of(fitted, done, folder / "m.mapping", sign_off=good).sign_off == good
