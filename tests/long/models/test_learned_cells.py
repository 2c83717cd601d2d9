"""Everything that works on levels works on learned cells: transform, explain, prove, keep in a file."""

import io
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from reports import document_of
from sklearn.ensemble import HistGradientBoostingClassifier
from wide import random_wide_problem, wide_frame, wide_problem

import evenhand as eh
from evenhand import verifier

pytestmark = pytest.mark.turns(4)

# Where outcomes may only fall, something is lost whatever the cells.
DOWNWARDS = wide_problem(distortion=eh.Distortion({"y": eh.Ordinal(1, up=False)}))


@pytest.fixture(scope="module")
def frame():
    return wide_frame(0).assign(note=lambda f: np.arange(len(f)))


@pytest.fixture(scope="module")
def mapping(frame):
    return eh.fit(wide_problem(favourable=1), frame)


def as_kind(frame, kind):
    if kind == "pandas":
        return frame
    return pl.from_pandas(frame) if kind == "polars" else pa.Table.from_pandas(frame, preserve_index=False)


def to_pandas(table):
    return table if isinstance(table, pd.DataFrame) else table.to_pandas()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("key", [None, "note"])
def test_a_release_changes_outcomes_alone_the_same_everywhere(mapping, frame, kind, key):
    given = as_kind(frame, kind)
    released = mapping.release(given, seed=3, key=key)
    assert type(released) is type(given)
    found, own = to_pandas(released), mapping.release(frame, seed=3, key=key)
    assert found["y"].tolist() == own["y"].tolist()
    assert not found["y"].equals(frame["y"])
    pd.testing.assert_frame_equal(own.drop(columns="y"), frame.drop(columns="y"))
    assert mapping.cell_of(given).tolist() == mapping.cell_of(frame).tolist()
    applied = mapping.apply(given, seed=3, key=key)
    assert to_pandas(applied).equals(to_pandas(given))


def test_one_person_and_few_rows_are_those_of_a_table(mapping, frame):
    released = mapping.release(frame, key="note")
    for row in range(0, 60, 7):
        one = frame.iloc[[row]]
        assert mapping.release(one, key="note")["y"].tolist() == [released["y"][row]]
        record = one.to_dict("records")[0]
        assert mapping.person(record, mode="release", key="note") == {**record, "y": released["y"][row]}
        plain = {**record, "since": record["since"].date().isoformat(), "married": bool(record["married"])}
        assert mapping.person(plain, mode="release", key="note")["y"] == released["y"][row]
        assert mapping.person(record, mode="apply", key="note") == record


def test_a_balanced_release_keeps_cells_within_one(mapping, frame):
    cell = mapping.cell_of(frame)
    wide = mapping.possibilities(frame, mode="release")
    wide = wide.assign(cell=cell[wide["row"]], d=frame["d"].to_numpy()[wide["row"]])
    expected = wide.assign(of=wide["y"] * wide["weight"]).groupby(["d", "cell"])["of"].sum()
    for seed in range(5):
        released = mapping.release(frame, seed=seed, draw="balanced").assign(cell=cell)
        found = released.groupby(["d", "cell"])["y"].sum()
        assert (found - expected).abs().max() < 1
        assert (found.groupby("d").sum() - expected.groupby("d").sum()).abs().max() < 1


def test_expand_and_the_audit_agree(mapping, frame):
    wide = mapping.expand(frame)
    rates = wide.assign(of=wide["y"] * wide["weight"]).groupby("d")[["of", "weight"]].sum()
    after = mapping.audit().rates.query("y == 1")["after"]
    assert (rates["of"] / rates["weight"]).tolist() == pytest.approx(after.tolist())
    assert after.max() / after.min() <= 1.1 + 1e-9


@pytest.mark.filterwarnings("ignore:.*rows have (a word|no value) in column")
def test_new_people_are_in_leaves_whatever_they_bring(mapping):
    new = wide_frame(99, people=500).assign(town="Atlantis", job=None, pay=np.nan)
    assert (mapping.cell_of(new) > 0).all()
    audit = mapping.audit(new)
    told = audit.coverage.set_index(["column", "what"])["rows"]
    assert told["all", "new combination"].sum() == 0
    released = mapping.release(new, seed=0)
    assert set(released["y"]) <= {0, 1}
    with pytest.warns(eh.EvenhandWarning, match="500 of 500 rows"):
        mapping.release(new.assign(d="z"))


def test_a_file_keeps_the_tree(mapping, frame, tmp_path):
    mapping.save(tmp_path / "m.mapping")
    found = eh.Mapping.load(tmp_path / "m.mapping")
    assert found.counts.domain == mapping.counts.domain
    assert found.release(frame, key="note").equals(mapping.release(frame, key="note"))
    pd.testing.assert_frame_equal(found.cells, mapping.cells)


def test_a_proof_over_cells_stands_alone(mapping, tmp_path):
    mapping.proof(tmp_path / "m.proof")
    assert verifier.verify(tmp_path / "m.proof").stands


@pytest.mark.parametrize("seed", range(100, 130))
def test_proofs_of_random_statements_stand(seed, tmp_path):
    problem, frame = random_wide_problem(np.random.default_rng(seed))
    try:
        mapping = eh.fit(problem, frame)
    except eh.InfeasibleError:
        found = eh.diagnose(problem, frame)
        assert not found.feasible
        found.proof(tmp_path / "no.proof")
        assert verifier.verify(tmp_path / "no.proof").stands
        return
    mapping.proof(tmp_path / "m.proof")
    assert verifier.verify(tmp_path / "m.proof").stands
    mapping.save(tmp_path / "m.mapping")
    assert eh.Mapping.load(tmp_path / "m.mapping").release(frame, seed=0).equals(mapping.release(frame, seed=0))


def test_prices_edges_and_the_frontier(frame):
    problem = replace(DOWNWARDS, parity=[eh.PairwiseParity(0.05)])
    found = eh.diagnose(problem, frame)
    assert found.feasible
    assert found.smallest_parity_bound <= 0.05
    points = eh.frontier(problem, frame, bounds=[0.02, 0.05, 0.1]).frame
    assert points["objective"].is_monotonic_decreasing
    step = 1e-4
    price = eh.fit(problem, frame).prices().parity[0]
    near = [eh.fit(replace(problem, parity=[eh.PairwiseParity(0.05 + s)]), frame).objective for s in (-step, step)]
    assert price == pytest.approx((near[0] - near[1]) / (2 * step), rel=0.02)
    tight = wide_problem(budget=eh.ExpectedDistortion(0.01), parity=[eh.PairwiseParity(0.01)])
    with pytest.raises(eh.InfeasibleError, match="smallest parity bound"):
        eh.fit(tight, frame)


def test_theory_and_predictions(mapping, frame):
    held = mapping.theory.holdout(wide_frame(1))
    assert held.rows == 1500
    predicted = mapping.predictor.predict_proba(frame)
    means = pd.Series(predicted[:, 1]).groupby(frame["d"]).mean()
    assert means.tolist() == pytest.approx(mapping.audit().rates.query("y == 1")["after"].tolist())


def test_the_table_speaks_in_words(mapping):
    table = mapping.table()
    assert list(table.columns[:3]) == ["d", "learned cell", "y"]
    assert table["learned cell"].equals(table["to_learned cell"])
    assert table["learned cell"].str.match(r"\d+: .*(age|pay|job|town|married|since) ").all()


def test_what_is_said_of_cells(mapping):
    assert any("apply mode changes nothing" in note for note in mapping.audit().sentences("caveats"))
    summary = document_of(mapping, hide_below=0)["asked"]["cells"]
    assert len(summary["learned_cells"]) == len(mapping.cells)
    hidden = document_of(mapping, hide_below=100)["asked"]["cells"]
    assert hidden["hidden"] > 0
    assert all(min(row["people_by_group"]) >= 100 for row in hidden["learned_cells"])


def test_a_column_that_changes_its_kind_is_refused(mapping, frame):
    with pytest.raises(eh.DataError, match="'age' holds 'x' in row 1, where the fitted table had numbers"):
        mapping.release(frame.assign(age="x"))
    with pytest.raises(eh.DataError, match="'job' holds 3 in row 1, where the fitted table had words"):
        mapping.release(frame.assign(job=3))
    for other in (True, b"clerk", pd.Timestamp("2020-01-01"), 1.5):
        with pytest.raises(eh.DataError, match=r"'job' holds .* in row 1, where the fitted table had words"):
            mapping.release(frame.assign(job=other))
        with pytest.raises(eh.DataError, match=r"'job' holds .* in row 3, where the fitted table had words"):
            mapping.release(frame.assign(job=frame["job"].astype(object).where(frame.index != 2, other)))
    with pytest.raises(eh.DataError, match="'job' holds True"):
        mapping.person({**frame.iloc[0].to_dict(), "job": True}, mode="release")
    with pytest.raises(eh.DataError, match="no column 'pay'"):
        mapping.release(frame.drop(columns="pay"))
    record = frame.iloc[0].to_dict()
    with pytest.raises(eh.DataError, match="'age' holds 'x', where"):
        mapping.person({**record, "age": "x"}, mode="release")
    with pytest.raises(eh.DataError, match="no entry 'age'"):
        mapping.person({k: v for k, v in record.items() if k != "age"}, mode="release")


@pytest.mark.parametrize("how", ["frame", "file", "expand", "balanced"])
def test_many_new_words_and_gaps_are_warned_of_once(mapping, frame, how, tmp_path):
    def used(table):
        if how == "file":
            table.to_csv(tmp_path / "new.csv", index=False)
            return mapping.release(tmp_path / "new.csv", to=tmp_path / "released.csv", seed=0)
        return mapping.expand(table) if how == "expand" else mapping.release(table, draw="balanced", seed=0)

    few = frame.assign(job=frame["job"].mask(frame.index % 50 == 0, "pilot"))
    many = frame.assign(
        job=frame["job"].mask(frame.index % 3 == 0, "pilot"), age=frame["age"].mask(frame.index % 2 == 0)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        used(few)
        assert not [each for each in caught if "'job'" in str(each.message)], "a few are counted by audits"
        used(many)
    said = [str(each.message) for each in caught]
    words = f"{len(frame.index[frame.index % 3 == 0])} of {len(frame)} rows have a word in column 'job' that nobody"
    assert sum(each.startswith(words) for each in said) == 1
    gaps = f"{len(frame.index[frame.index % 2 == 0])} of {len(frame)} rows have no value in column 'age'"
    assert sum(each.startswith(gaps) for each in said) == 1


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_decimals_are_numbers(mapping, frame, kind):
    exact = frame.assign(pay=[None if np.isnan(pay) else Decimal(repr(pay)) for pay in frame["pay"]])
    assert mapping.cell_of(as_kind(exact, kind)).tolist() == mapping.cell_of(frame).tolist()
    assert eh.fit(wide_problem(), as_kind(exact, kind)).cells["rule"].tolist() == mapping.cells["rule"].tolist()


def test_words_of_several_kinds_are_what_they_were(frame):
    """A number, or a truth, that was among the words of the fitted table is a word in a new one."""
    mixed = frame["job"].astype(object)
    mixed[frame.index % 3 == 0] = 7
    many = eh.fit(wide_problem(), frame.assign(job=mixed))
    assert (many.cell_of(frame.assign(job=7)) > 0).all()
    rare = frame["job"].astype(object)
    rare.iloc[0], rare.iloc[1] = 7, True
    few = eh.fit(wide_problem(), frame.assign(job=rare))
    assert (few.cell_of(frame.assign(job=rare)) > 0).all()


def test_values_that_stand_for_missing_ones(frame):
    given = frame.assign(job=frame["job"].fillna("?"), pay=frame["pay"].fillna(-9))
    stated = wide_problem(missing_values=["?", -9])
    mapping, own = eh.fit(stated, given), eh.fit(wide_problem(), frame)
    assert mapping.cell_of(given).tolist() == own.cell_of(frame).tolist()
    record = given[given["job"] == "?"].iloc[0].to_dict()
    assert mapping.person(record, mode="release", key="note")["y"] in (0, 1)


def test_counts_are_those_of_their_statement(mapping, frame):
    tight, loose = (eh.fit(replace(DOWNWARDS, parity=[eh.PairwiseParity(b)]), mapping.counts) for b in (0.02, 0.1))
    assert loose.objective < tight.objective
    with pytest.raises(eh.DataError, match="the problem's are"):
        eh.fit(wide_problem(cells=None, features=["age"]), mapping.counts)
    with pytest.raises(eh.DataError, match="no feature of the problem"):
        eh.fit(wide_problem(features=["since", "town"]), mapping.counts)
    with pytest.raises(eh.DataError, match="leaves, more than the 3"):
        eh.fit(wide_problem(cells=eh.Leaves(most=3)), mapping.counts)


def test_the_whole_pipeline_of_scikit_learn(frame):
    X = frame[["d", "age", "pay", "married"]].assign(d=frame["d"].eq("a").astype(int))
    problem = wide_problem(features=["age", "pay", "married"])
    before = eh.OptimizedPreprocessor(problem)
    model = eh.PreprocessedClassifier(HistGradientBoostingClassifier(max_iter=20, random_state=0), before)
    scores = pd.Series(model.fit(X, frame["y"]).predict_proba(X)[:, 1]).groupby(X["d"]).mean()
    raw = pd.Series(frame["y"]).groupby(X["d"]).mean()
    assert scores.max() / scores.min() < raw.max() / raw.min()


def test_arrays_with_nan_are_learned_from(frame):
    X = np.column_stack([frame["d"].eq("a"), frame["age"], frame["pay"]]).astype(float)
    problem = wide_problem(protected=["0"], features=["1", "2"])
    mapping = eh.OptimizedPreprocessor(problem).fit(X, frame["y"]).mapping_
    assert {"1", "2"} >= set(mapping.counts.domain.x.variables[-1].columns)
    assert mapping.certificate.status == "optimal"


def test_words_of_numbers_from_a_csv(frame):
    """A file read by pandas has other types than the frame it came from: truths and dates stay what they are."""
    text = io.StringIO(frame.to_csv(index=False))
    read = pd.read_csv(text)
    mapping = eh.fit(wide_problem(), frame)
    assert mapping.cell_of(read).tolist() == mapping.cell_of(frame).tolist()
