"""A table of counts is the table in which every row is repeated, whatever is asked of it."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from berkeley import admissions
from families import random_problem, random_table, small_frame, small_problem
from fits import shared_fit
from reports import document_of

import evenhand as eh


def berkeley(**changes):
    given = {
        "protected": ["Gender"],
        "features": ["Dept"],
        "outcome": "Admit",
        "favourable": "Admitted",
        "parity": [eh.PairwiseParity(0.1)],
        "distortion": eh.Distortion({"Admit": eh.Nominal(1)}),
        "budget": eh.ExpectedDistortion(0.5),
    }
    return eh.Problem(**given | changes)


def repeated(table, column="n"):
    return table.loc[table.index.repeat(table[column])].drop(columns=column).reset_index(drop=True)


def counted(rng):
    """A random table and a table of counts that stands for it: some combinations in several rows, some of nobody."""
    rows = random_table(rng, 3, (2, 3), 2, people=int(rng.integers(300, 700)))
    parts = rng.integers(0, 3, len(rows))
    table = rows.groupby([*rows.columns, parts]).size().rename("n").reset_index().drop(columns=f"level_{rows.shape[1]}")
    nobody = table.head(2).assign(n=0)
    return pd.concat([table, nobody], ignore_index=True)


def of_family(seed):
    rng = np.random.default_rng(seed)
    table = counted(rng)
    problem = eh.Problem(
        protected=["d"], features=["f0", "f1"], outcome="y",
        parity=[eh.PairwiseParity(float(rng.choice([0.05, 0.2])))],
        distortion=eh.Distortion({"f1": eh.Ordinal(1), "y": eh.Ordinal(1)}),
        budget=eh.ExpectedDistortion(float(rng.choice([0.4, 0.8]))),
    )  # fmt: skip
    return problem, table


def same_counts(one, other):
    assert (one.sources == other.sources).all()
    for name in ("weight", "cell_people", "cell_squares"):
        assert (getattr(one, name) == getattr(other, name)).all(), name


def statements(mapping):
    audit = mapping.audit()
    report = document_of(mapping)
    # What was stated differs in one line, and so does the command.
    own = {"problem", "repeat"}
    found = {name: value for name, value in report.items() if name not in own}
    return audit.sentences("caveats"), audit.rates.to_dict(), found


def same_audit(one, other):
    assert one.sentences("caveats") == other.sentences("caveats")
    pd.testing.assert_frame_equal(one.bounds, other.bounds)
    pd.testing.assert_frame_equal(one.coverage, other.coverage)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_every_statement_is_that_of_the_repeated_table(seed):
    problem, table = of_family(seed)
    rows = repeated(table)
    same_counts(eh.count(problem, table, frequencies="n"), eh.count(problem, rows))
    own, other = eh.fit(problem, table, frequencies="n"), eh.fit(problem, rows)
    assert statements(own) == statements(other)
    assert eh.diagnose(problem, table, frequencies="n").sentences() == eh.diagnose(problem, rows).sentences()
    assert eh.smallest_parity_bound(problem, table, frequencies="n") == eh.smallest_parity_bound(problem, rows)
    assert own.counts.share_of_new_cells() == other.counts.share_of_new_cells()
    assert own.monitor(table).sentences() == other.monitor(rows).sentences()
    same_audit(own.audit(table), other.audit(rows))
    expanded = (each.expand(of).groupby(list("dy"))["weight"].sum() for each, of in ((own, table), (other, rows)))
    pd.testing.assert_series_equal(*expanded)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [None, eh.Leaves(most=4, at_least=20)])
def test_confidence_and_learned_cells_are_those_of_the_repeated_table(cells):
    rng = np.random.default_rng(5)
    rows = random_table(rng, 2, (6, 4), 2, people=6000)
    table = rows.groupby(list(rows.columns)).size().rename("n").reset_index()
    problem = eh.Problem(
        protected=["d"], features=["f0", "f1"], outcome="y", cells=cells, confidence=0.9,
        parity=[eh.PairwiseParity(0.3)], distortion=eh.Distortion({"y": eh.Ordinal(1)}),
    )  # fmt: skip
    own, other = eh.fit(problem, table, frequencies="n"), eh.fit(problem, repeated(table))
    same_counts(own.counts, other.counts)
    assert own.assurance.words == other.assurance.words
    pd.testing.assert_frame_equal(own.assurance.frame, other.assurance.frame)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("seed", range(3))
def test_independent_draws_are_those_of_the_repeated_table(seed):
    problem, table = of_family(seed)
    mapping = eh.fit(problem, table, frequencies="n")
    for mode in ("release", "apply"):
        split = getattr(mapping, mode)(table, seed=seed)
        single = getattr(mapping, mode)(repeated(table), seed=seed)
        columns = list(single.columns)
        assert split.dtypes.equals(table.dtypes)
        pd.testing.assert_series_equal(
            split.groupby(columns)["n"].sum(), single.groupby(columns).size().rename("n"), check_index_type=False
        )


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("seed", range(3))
def test_balanced_draws_split_every_row_and_stay_within_one_person(seed):
    problem, table = of_family(seed)
    mapping = eh.fit(problem, table, frequencies="n")
    table = table.assign(row=np.arange(len(table)))
    expected = mapping.expand(table, frequencies="n")
    for draw in ("balanced", "independent"):
        split = mapping.release(table, seed=seed, draw=draw)
        numbers = split.groupby("row")["n"].sum()
        assert numbers.to_dict() == table.set_index("row")["n"][lambda n: n > 0].to_dict()
        assert not split.duplicated(subset=[c for c in split if c != "n"]).any()
    balanced = mapping.release(table, seed=seed, draw="balanced")
    for by in (["y"], ["d", "y"], ["row", "y"]):
        off = balanced.groupby(by)["n"].sum().sub(expected.groupby(by)["weight"].sum(), fill_value=0)
        assert off.abs().max() < 1
    moved = balanced.set_index(["row", "f1", "y"])["n"].sub(
        expected.set_index(["row", "f1", "y"])["weight"], fill_value=0
    )
    assert moved.abs().max() < 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 3, 5, 7])
@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_rows_of_unseen_combinations_are_split_too(seed):
    """Several outcomes and features that move; some combinations were not fitted."""
    problem, frame = random_problem(np.random.default_rng(seed))
    table = frame.groupby(list(frame.columns)).size().rename("n").reset_index()
    mapping = eh.fit(problem, table.sample(frac=0.7, random_state=seed), frequencies="n")
    table["row"] = np.arange(len(table))
    released = mapping.release(table, draw="balanced", seed=seed)
    assert released.groupby("row")["n"].sum().tolist() == table["n"].tolist()
    expected = mapping.expand(table).groupby(["row", "y"])["weight"].sum()
    assert released.groupby(["row", "y"])["n"].sum().sub(expected, fill_value=0).abs().max() < 1


@pytest.mark.slow
def test_a_split_is_unbiased():
    problem, table = of_family(1)
    mapping = eh.fit(problem, table, frequencies="n")
    expected = mapping.expand(table, frequencies="n").groupby(["d", "y"])["weight"].sum()
    drawn = [mapping.release(table, seed=seed, draw="balanced").groupby(["d", "y"])["n"].sum() for seed in range(50)]
    # A number that is rounded has a deviation of at most a half.
    assert (pd.concat(drawn, axis=1).mean(axis=1) - expected).abs().max() < 4 * 0.5 / np.sqrt(50)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("draw", ["balanced", "independent"])
def test_files_are_split_as_frames_are(tmp_path, kind, draw):
    problem, table = of_family(2)
    mapping = eh.fit(problem, table, frequencies="n")
    source, target = tmp_path / f"given.{kind}", tmp_path / f"new.{kind}"
    table.to_csv(source, index=False) if kind == "csv" else table.to_parquet(source)
    for mode in ("release", "apply"):
        target.unlink(missing_ok=True)
        done = getattr(mapping, mode)(source, to=target, seed=3, draw=draw)
        found = pd.read_csv(target) if kind == "csv" else pd.read_parquet(target)
        pd.testing.assert_frame_equal(found, getattr(mapping, mode)(table, seed=3, draw=draw).reset_index(drop=True))
        assert (done.rows, done.people, done.results) == (len(table), table["n"].sum(), len(found))
        assert done.options["frequencies"] == "n"


def test_the_choice_is_stated_and_kept(tmp_path):
    problem, table = of_family(3)
    mapping = eh.fit(problem, table, frequencies="n")
    assert mapping.problem == replace(problem, frequencies="n") == eh.Problem.from_toml(mapping.problem.to_toml())
    mapping.save(tmp_path / "m.mapping")
    again = eh.Mapping.load(tmp_path / "m.mapping")
    same_audit(again.audit(table), mapping.audit(table, frequencies="n"))
    # Other people may come one by one.
    assert len(again.release(repeated(table))) == table["n"].sum()
    # What is given for one call comes first.
    weighed = eh.fit(mapping.problem, table.assign(w=np.linspace(0.5, 1.5, len(table))), weights="w")
    assert (weighed.problem.weights, weighed.problem.frequencies) == ("w", None)
    assert weighed.counts.people == len(table)


def test_a_table_of_counts_is_not_taken_for_survey_weights():
    table = admissions()
    for column in ("Freq", table["Freq"].tolist()):
        with pytest.raises(eh.SpecError, match=r"(?s)frequencies=.*weights=.*in the problem"):
            eh.fit(berkeley(), table, weights=column)
    with pytest.warns(eh.EvenhandWarning, match="looks like a table of counts"):
        eh.count(berkeley(weights="Freq"), table)
    with pytest.warns(eh.EvenhandWarning, match="looks like a table of counts"):
        eh.count(berkeley(weights="Freq"), table, weights="Freq")
    # Who is in the table twice was asked twice: no table of counts.
    survey = pd.concat([table, table], ignore_index=True)
    assert eh.count(berkeley(), survey, weights="Freq").people == 48
    assert eh.count(berkeley(), table, frequencies="Freq").people == 4526


def by_year(rng):
    """Berkeley's table by a column that the problem does not name, and an index that starts anew in each half."""
    table = admissions()
    first = rng.binomial(table["Freq"], 0.5)
    halves = [table.assign(Year=year, Freq=n) for year, n in ((1972, first), (1973, table["Freq"] - first))]
    return pd.concat(halves).reset_index(names="Unnamed: 0")


def test_other_columns_and_an_index_do_not_hide_a_table_of_counts(tmp_path):
    table = by_year(np.random.default_rng(0))
    table.to_csv(path := tmp_path / "years.csv", index=False)
    for given in (table, table.drop(columns="Unnamed: 0"), path):
        with pytest.raises(eh.SpecError, match="looks like a table of counts"):
            eh.diagnose(berkeley(), given, weights="Freq")
    # People who were asked year by year are alike here and there.
    people = repeated(table, "Freq").sample(200, random_state=0).assign(Freq=np.arange(200) % 5 + 1)
    assert eh.count(berkeley(), people, weights="Freq").people == 200


@pytest.mark.parametrize("verb", ["audit", "monitor", "compare", "report", "bundle"])
def test_every_verb_refuses_a_table_of_counts_as_survey_weights(tmp_path, verb):
    table = admissions()
    mapping = shared_fit(berkeley(), eh.count(berkeley(), table, frequencies="Freq"))
    verbs = {
        "audit": lambda **given: mapping.audit(table, **given),
        "monitor": lambda **given: mapping.monitor(table, **given),
        "compare": lambda **given: eh.compare(mapping, mapping, table=table, **given),
        "report": lambda **given: eh.report_on(mapping, frame=table, trace=False, **given),
        "bundle": lambda **given: eh.bundle(mapping, tmp_path / "e", frame=table, trace=False, **given),
    }
    with pytest.raises(eh.SpecError, match="looks like a table of counts"):
        verbs[verb](weights="Freq")
    assert not os.listdir(tmp_path)


@pytest.mark.slow
def test_berkeley_is_of_4526_people():
    table = admissions()
    mapping = eh.fit(berkeley(), table.reset_index(names="Unnamed: 0"), frequencies="Freq")
    assert mapping.audit().groups["weight"].tolist() == [1835, 2691]
    assert mapping.counts.share_of_new_cells() < 0.01
    found = document_of(mapping)["report"]
    assert (found["people"], found["weighed"]) == (4526, False)
    released = mapping.release(table, seed=0)
    assert released["Freq"].sum() == 4526
    verdict = mapping.realised(released).verdict
    assert verdict.kept or verdict.one_person


def test_what_is_refused(tmp_path):
    problem, table = of_family(0)
    mapping = eh.fit(problem, table, frequencies="n")
    with pytest.raises(eh.SpecError, match="not both"):
        eh.fit(problem, table, weights="n", frequencies="n")
    with pytest.raises(eh.SpecError, match="not both"):
        replace(problem, weights="n", frequencies="n")
    with pytest.raises(eh.SpecError, match="'d' is part of the problem"):
        replace(problem, frequencies="d")
    for wrong in (0.5, -1, np.inf):
        with pytest.raises(eh.DataError, match=r"frequencies must be integers of at least 0; row 1"):
            eh.fit(problem, table.assign(n=table["n"].astype(float).where(table.index > 0, wrong)), frequencies="n")
    table.to_csv(path := tmp_path / "t.csv", index=False)
    (bad := tmp_path / "bad.csv").write_text(path.read_text().replace("\n0,0,0,0,", "\n0,0,0,0,1.5", 1))
    with pytest.raises(eh.DataError, match=r"1 row of .* has no integer of at least 0 in column 'n'"):
        eh.fit(problem, bad, frequencies="n")
    with pytest.raises(eh.SpecError, match="leave out key="):
        mapping.release(table, key="d")
    with pytest.raises(eh.SpecError, match="release a file or a dataframe"):
        mapping.to_sql("duckdb", "people", "id", columns=["id", "d", "f0", "f1", "y", "n"])
    with pytest.raises(eh.SpecError, match="compare the two tables"):
        mapping.release(path, to=tmp_path / "new.csv", changes=tmp_path / "c.csv")
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "t.csv"]
    with pytest.raises(eh.SpecError, match="one row per person"):
        eh.out_of_fold(_Scores(), table, mapping.problem)
    with pytest.raises(eh.SpecError, match="sample_weight"):
        eh.OptimizedPreprocessor(mapping.problem).fit(table[["d", "f0", "f1"]], table["y"])
    with pytest.raises(eh.SpecError, match="frequencies go with a table"):
        eh.report_on(mapping, frequencies="n")


class _Scores:
    def fit(self, X, y): ...

    def predict_proba(self, X): ...


def test_counts_of_a_small_table():
    rows = small_frame()
    cells = rows.groupby(list(rows.columns)).size().rename("n").reset_index()
    same_counts(eh.count(small_problem(), cells, frequencies="n"), eh.count(small_problem(), rows))
