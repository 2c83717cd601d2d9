import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.spec import outcome_given_features

RATES = {0: 0.3, 1: 0.55}
TABLE = eh.Conditional({(score,): {0: 1 - rate, 1: rate} for score, rate in RATES.items()})


def problem(conditional, **changes):
    statement = {
        "suppress_protected": "fixed",
        "distortion": eh.Distortion({"score": eh.Ordinal(1, up=False), "hired": eh.Free()}),
        "parity": [eh.PairwiseParity(0.05)],
        "budget": eh.ExpectedDistortion(0.6),
    }
    return small_problem(conditional=conditional, **{**statement, **changes})


def leaning_frame():
    """Group b has lower scores, so a model that reads scores rates it lower."""
    frame = small_frame()
    return frame.drop(frame.query("group == 'b' and score == 1").index[::2]).reset_index(drop=True)


class Model:
    """A fitted classifier of the scores."""

    classes_ = np.array([1, 0])
    feature_names_in_ = np.array(["score"], dtype=object)

    def predict_proba(self, frame):
        rate = frame["score"].map(RATES).to_numpy()
        return np.column_stack([rate, 1 - rate])


FRAME = pd.DataFrame(
    [(score, y, rate if y else 1 - rate) for score, rate in RATES.items() for y in (0, 1)],
    columns=["score", "hired", "probability"],
)


@pytest.mark.parametrize(
    "given",
    [TABLE, Model(), FRAME, FRAME[FRAME["hired"].eq(1)]],
    ids=["table", "classifier", "frame", "one of two outcomes"],
)
def test_a_models_own_probabilities_are_protected(given):
    mapping = eh.fit(problem(given), leaning_frame())
    assert mapping.objective > 1e-5
    rates = mapping.achieved.rates_after
    assert (rates.max(axis=0) / rates.min(axis=0)).max() <= 1.05 + 1e-9
    rows = mapping.table().merge(leaning_frame().value_counts().rename("n").reset_index())
    rows["mass"] = rows["n"] * rows["probability"]
    for score, part in rows.groupby("to_score"):
        assert part.loc[part["to_hired"] == 1, "mass"].sum() / part["mass"].sum() == pytest.approx(RATES[score])
    assert mapping.objective == pytest.approx(eh.fit(problem(TABLE), leaning_frame()).objective, abs=1e-9)
    assert isinstance(mapping.problem.conditional, eh.Conditional), "what is kept is the table"
    assert mapping.achieved.original.sum() == pytest.approx(1), "the utility is on the features"
    assert len(mapping.achieved.cells) == 2


def test_the_tables_own_conditional():
    counts = eh.count(small_problem(), small_frame())
    found = outcome_given_features(None, counts, counts.features.cells)
    assert found == pytest.approx(np.array([[0.7, 0.3], [0.5, 0.5]]))


def test_a_row_is_a_frozen_value():
    assert eh.Conditional({(0,): {0: 0.5, 1: 0.5}}) == eh.Conditional({0: {0: 0.5, 1: 0.5}})
    assert len({TABLE, eh.Conditional(TABLE.rows)}) == 1


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({(0,): {0: 0.5, 1: 0.4}}, r"given \(0,\) sum to 0.9, not to 1"),
        ({(0,): {0: 1.5, 1: -0.5}}, r"rows\[\(0,\)\].probabilities\[0\].probability of Conditional must be at most 1"),
        ({(0,): {0: float("nan"), 1: 0.5}}, "probability of Conditional must be a number, not nan"),
        ({0: {0: 1.0}, (0,): {0: 1.0}}, "features .0,. is given twice"),
        (3, "rows of Conditional must be a mapping of features to probabilities"),
        ([3], "rows of Conditional must be a mapping of features to probabilities"),
        ({(0,): 3}, r"rows\[\(0,\)\].probabilities of Conditional must be a mapping of outcome"),
        ({((0,),): {0: 1.0}}, "features of Conditional must be one level"),
    ],
)
def test_bad_tables(rows, words):
    with pytest.raises(eh.SpecError, match=words):
        eh.Conditional(rows)


class OtherClasses(Model):
    classes_ = np.array([0, 2])


class ReadsGroups(Model):
    feature_names_in_ = np.array(["score", "group"], dtype=object)


class NotFitted(Model):
    def predict_proba(self, frame):
        raise RuntimeError("not fitted yet")


class OneColumn(Model):
    def predict_proba(self, frame):
        return np.full(len(frame), 0.5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (eh.Conditional({(0,): {0: 0.5, 1: 0.5}}), "no row for score=1"),
        (eh.Conditional({(0,): {0: 0.5, 3: 0.5}, (1,): {0: 1.0}}), "names outcome 3"),
        (OtherClasses(), r"classes are \[0, 2\], the levels of 'hired' are \[0, 1\]"),
        (ReadsGroups(), r"reads \['group'\], which are not features"),
        (NotFitted(), "predict_proba failed .* RuntimeError: not fitted yet"),
        (OneColumn(), r"\(2, 2\), not \(2,\)"),
        (FRAME.drop(columns="probability"), "no column 'probability'"),
        (FRAME.astype({"probability": str}).replace("0.7", "x"), "'probability' must hold numbers"),
        (pd.concat([FRAME, FRAME]), "twice"),
    ],
    ids=["a cell", "an outcome", "classes", "columns", "not fitted", "shape", "column", "words", "twice"],
)
def test_a_conditional_that_does_not_fit_the_table(given, words):
    with pytest.raises(eh.DataError, match=words):
        eh.fit(problem(given), small_frame())


@pytest.mark.parametrize("mode", [None, "alternating"])
def test_a_conditional_is_held_fixed(mode):
    with pytest.raises(eh.SpecError, match='write suppress_protected="fixed"'):
        problem(TABLE, suppress_protected=mode)


def test_something_else():
    with pytest.raises(eh.SpecError, match=r"conditional must be an eh.Conditional, .* not str"):
        problem("p(y|x)")
