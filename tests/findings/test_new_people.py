"""A mapping meets people that it was not fitted on: those who are there are told about, and those who are not named."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from formulations import DISTORTIONS, MODES, table

import evenhand as eh
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import achieved
from evenhand.render.sentences import paragraph

KEYS = ["sex", "race"]


def fitted(mode="plain", bound=0.4, frame=None):
    outcome = "is free" if "suppress_protected" in MODES[mode] else "falls"
    problem = eh.Problem(
        protected=KEYS, features=["f0", "f1"], outcome="y", parity=[eh.PairwiseParity(bound)],
        distortion=DISTORTIONS["sum"](outcome), budget=eh.ExpectedDistortion(0.6), **MODES[mode],
    )  # fmt: skip
    return eh.fit(problem, table(3) if frame is None else frame)


CASES = {
    "a pair": (
        [eh.PairwiseParity(eh.By(0.6, [({"sex": "m", "race": "a", "against": {"sex": "f", "race": "b"}}, 0.5)]))],
        eh.ExpectedDistortion(0.6),
    ),
    "a group's limit": (
        [eh.PairwiseParity(0.6)],
        eh.ExpectedDistortion(eh.By(0.7, [({"sex": "m", "f1": 2}, 0.6), ({"y": 1}, 0.5)])),
    ),
    "a record's limit": (
        [eh.PairwiseParity(0.6, on=["sex"])],
        eh.ExcessDistortion({0.5: eh.By(0.7, [({"f0": 1, "y": 1}, 0.6)])}, per="xy"),
    ),
    "segments": ([eh.TargetParity(eh.By(0.9, [({"f0": 1}, 0.8)]), given=["f0"])], eh.ExpectedDistortion(0.9)),
    "their targets": (
        [eh.TargetParity(1.5, eh.By({0: 0.5, 1: 0.5}, [({"f0": 1}, {0: 0.6, 1: 0.4})]), given=["f0"])],
        eh.ExpectedDistortion(0.9),
    ),
    "a reference": ([eh.PairwiseParity(0.6, against={"sex": "m", "race": "a"})], eh.ExpectedDistortion(0.6)),
}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("case", CASES)
def test_a_batch_need_not_have_everybody(case):
    """Of a table that lacks some case of a By, or the reference group, the others are told about as ever."""
    parity, budget = CASES[case]
    problem = eh.Problem(
        protected=KEYS, features=["f0", "f1"], outcome="y", parity=parity, budget=budget,
        distortion=eh.Distortion({"f0": eh.Nominal(1), "f1": eh.Ordinal(1), "y": eh.Nominal(1)}),
    )  # fmt: skip
    frame = table(3)
    mapping = eh.fit(problem, frame)
    for some in ("sex == 'f'", "f0 == 0", "y == 0", "f1 < 2 and sex == 'f' and race == 'b'"):
        batch = frame.query(some)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, now = mapping.audit(batch), mapping.realised(batch)
        # Rates within segments are those of the same people again.
        within = [name for name in ("f0",) if name in found.rates]
        whole = found.rates[found.rates[within].isna().all(axis=1)]
        assert whole["weight"].sum() == 2 * len(batch)
        groups = frame.drop_duplicates(KEYS).shape[0] - batch.drop_duplicates(KEYS).shape[0]
        named = [words for words in found.sentences("bounds") if f"nobody is counted of {groups} of the 4" in words]
        assert len(named) == bool(groups)
        assert now.kept is not True or not groups
        # Whoever is there has the limit of their own case.
        limits = found.bounds[~found.bounds["constraint"].str.contains("Parity")]
        assert len(limits)
        assert len(limits) <= batch.drop_duplicates().shape[0]
    if case == "a reference":
        assert "the table has nobody of the reference group sex=m, race=a" in mapping.audit(
            frame.query("sex == 'f'")
        ).sentences("caveats")


def test_a_statement_must_fit_the_table_that_is_fitted():
    frame = table(3).query("sex == 'f' or f1 < 2")
    limit = eh.By(0.7, [({"sex": "m", "f1": 2}, 0.6)])
    problem = replace(fitted().problem, budget=eh.ExpectedDistortion(limit))
    with pytest.raises(eh.SpecError, match="nobody there is held to it"):
        eh.fit(problem, frame)


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("mode", ["plain", "blind", "suppressed", "suppressed, blind"])
def test_scores_of_the_fitted_people_are_the_same_as_of_a_table_with_them(mode):
    mapping = fitted(mode, 0.6)
    columns = ["seeing_protected", "not_seeing_protected"]
    own, others = (each.scores[columns] for each in (mapping.audit(), mapping.audit(table(3))))
    assert own.to_numpy() == pytest.approx(others.to_numpy(), abs=1e-12)
    if mode == "blind":
        assert np.abs(others[columns[0]] - others[columns[1]]).max() > 0.01


def test_a_model_that_sees_the_group_of_people_whom_a_blind_mapping_moves():
    """Women with x=0 have y=0 alone; men of both outcomes move with y=1 to x=1, where no woman is ever released."""
    rows = [("f", 0, 0)] * 10 + [("m", 0, 1)] * 10 + [("m", 1, 0)] * 5 + [("m", 0, 0)] * 2 + [("f", 2, 1)] * 3
    frame = pd.DataFrame(rows, columns=["sex", "x", "y"])
    problem = eh.Problem(
        protected=["sex"], features=["x"], outcome="y", parity=[eh.PairwiseParity(9.0)], utility=eh.L1(), blind=True,
        distortion=eh.Distortion({"x": eh.Ordinal(0.3), "y": eh.Nominal(1)}),
    )  # fmt: skip
    mapping = eh.fit(problem, frame)
    counts, kernel = mapping.counts, mapping.kernel
    assert achieved(problem, counts, kernel).changed.max() == 0
    moved = kernel.targets.copy()
    moved[(counts.x == 0) & (counts.y == 1)] = counts.domain.xy(np.array([1]), np.array([1]))
    moving = replace(mapping, kernel=Kernel(kernel.starts, moved, kernel.probability))
    for found in (moving.audit(), moving.audit(frame)):
        assert found.scores.groupby("sex")["seeing_protected"].sum().tolist() == pytest.approx([1, 1])
        # Ten of 22 with x=0 move to x=1; of women nobody is there, so all of them are asked: 3 of 13 have y=1.
        women = found.scores.query("sex == 'f' and y == 1")["seeing_protected"].item()
        assert women == pytest.approx(10 / 13 * 10 / 22 * 3 / 13 + 3 / 13)


@pytest.mark.parametrize(("mode", "kept"), [("plain", True), ("blind", False), ("suppressed", False)])
def test_groups_that_were_not_fitted_are_named(mode, kept):
    frame = table(3)
    mapping = fitted(mode, 0.6, frame[(frame["sex"] != "f") | (frame["race"] != "b")])
    new = int(((frame["sex"] == "f") & (frame["race"] == "b")).sum())
    words = f"{new:,} people of groups that were not fitted: (sex=f, race=b); "
    words += "they are kept as they are, and no bound was proved" if kept else "no bound was proved"
    found, now = mapping.audit(frame), mapping.realised(frame)
    assert any(words in each for each in found.sentences("bounds"))
    assert words in paragraph(now.verdict.notes)
    # They are compared all the same.
    assert now.kept is not None
    assert not any("not fitted" in each for each in mapping.audit(frame.query("sex == 'm'")).sentences("bounds"))


def test_a_table_of_new_values_alone():
    mapping = fitted()
    with pytest.raises(eh.DataError, match=r"every row of the table has a value .* \(f0 is 7\): nothing can be said"):
        mapping.audit(table(3).assign(f0=7))
