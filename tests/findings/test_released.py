"""Whether a table was released by a mapping: a manifest beside it tells, its counts suggest, new people do neither."""

import pandas as pd
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh


@pytest.fixture(scope="module")
def compas():
    data = eh.datasets.load("compas")
    return shared_fit(data.problem, data.counts), data.frame


def notes(mapping, table):
    """What an audit and a batch say of a table."""
    batch = mapping.monitor(table).released
    said = [
        note
        for note in mapping.audit(table).sentences("caveats")
        if "second time" in note or "was changed since" in note
    ]
    assert said == ([] if batch is None else [batch])
    return batch


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{}, {"draw": "balanced"}])
def test_releases_of_the_fitted_table_look_so(compas, seed, options):
    mapping, frame = compas
    assert "in train mode" in mapping.audit(mapping.release(frame, seed=seed, **options)).sentences("caveats")[0]
    assert "in apply mode" in mapping.audit(mapping.apply(frame, seed=seed, **options)).sentences("caveats")[0]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("seed", range(10))
def test_other_people_do_not(compas, seed):
    """Neither the fitted table, nor a sample of its population, also not one with as many people of every group."""
    mapping, frame = compas
    sample = frame.sample(len(frame), replace=True, random_state=seed)
    stratified = frame.groupby(["sex", "race"], observed=True).sample(frac=1.0, replace=True, random_state=seed)
    for table in (frame, sample, stratified):
        assert not any("second time" in note for note in mapping.audit(table).sentences("caveats"))


def test_a_batch_says_it_first(compas):
    mapping, frame = compas
    found = mapping.monitor(mapping.release(frame, seed=1))
    assert found.released == found.sentences("batch")[0]
    assert mapping.monitor(frame).released is None


class TestManifests:
    @pytest.fixture
    def folder(self, tmp_path):
        small_frame().sample(150, random_state=2).to_csv(tmp_path / "new.csv", index=False)
        mapping = shared_fit(small_problem(), small_frame())
        mapping.save(tmp_path / "m.mapping")
        done = mapping.release(tmp_path / "new.csv", to=tmp_path / "out.csv", seed=0)
        eh.manifest_of(mapping, done, tmp_path / "m.mapping").save()
        return tmp_path

    @pytest.mark.slow
    def test_the_manifest_beside_a_table_tells(self, folder):
        mapping = eh.Mapping.load(folder / "m.mapping")
        said = notes(mapping, folder / "out.csv")
        assert "this table is what this mapping wrote at" in said
        assert "out.csv.manifest.json" in said
        assert notes(mapping, folder / "new.csv") is None

    def test_also_of_a_batch_without_outcomes(self, folder):
        mapping = eh.Mapping.load(folder / "m.mapping")
        small_frame().drop(columns="hired").to_csv(folder / "later.csv", index=False)
        done = mapping.apply(folder / "later.csv", to=folder / "applied.csv")
        eh.manifest_of(mapping, done, folder / "m.mapping").save()
        assert "(apply)" in mapping.monitor(folder / "applied.csv").released

    def test_a_table_that_was_changed_since(self, folder):
        mapping = eh.Mapping.load(folder / "m.mapping")
        pd.read_csv(folder / "out.csv").head(100).to_csv(folder / "out.csv", index=False)
        assert "was changed since" in notes(mapping, folder / "out.csv")

    @pytest.mark.slow
    def test_another_mapping_and_a_broken_manifest_say_nothing(self, folder):
        other = eh.fit(small_problem(parity=[eh.PairwiseParity(0.4)]), small_frame())
        assert notes(other, folder / "out.csv") is None
        (folder / "out.csv.manifest.json").write_text("{")
        assert notes(eh.Mapping.load(folder / "m.mapping"), folder / "out.csv") is None
