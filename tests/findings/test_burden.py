"""Who bears most: recomputed from the rows of the mapping, and nobody who gets a better outcome."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reports import document_of, said_in

import evenhand as eh
from evenhand.findings.naming import cell_levels

pytestmark = pytest.mark.turns(2)


@pytest.mark.slow
def test_the_worst_off_are_those_who_lose_most_of_those_shown(adult_mapping, compas_mapping):
    """By hand from the rows of the mapping: who loses the favourable outcome, and who is changed without getting it."""
    for m, good in ((adult_mapping, 1), (compas_mapping, 0)):
        rows, table = document_of(m)["worst_off"]["cells"], m.table()
        outcome, columns = m.problem.outcome, [*m.problem.features, m.problem.outcome]
        same = (
            table[columns].astype(str).to_numpy() == table[[f"to_{c}" for c in columns]].astype(str).to_numpy()
        ).all(1)
        lost = (table[outcome] == good) & (table[f"to_{outcome}"] != good)
        gained = (table[outcome] != good) & (table[f"to_{outcome}"] == good)
        cell = [*m.problem.protected, *columns]
        found = table.assign(worse=table["probability"] * lost, borne=table["probability"] * (~same & ~gained))
        by_hand = found.groupby(cell, observed=True)[["worse", "borne"]].sum()
        assert all(row["weight"] >= 20 for row in rows)
        order = [(round(row["worse"], 6), round(row["changed"], 6)) for row in rows]
        assert order == sorted(order, reverse=True)
        for row in rows:
            worse, borne = by_hand.loc[tuple(row["cell"].values())]
            assert (row["worse"], row["changed"]) == pytest.approx((worse, borne))
        assert rows[0]["worse"] == pytest.approx(_largest(m, by_hand, "worse"))


def _largest(m, by_hand, name):
    """The largest share among cells of twenty people or more."""
    large = [tuple(cell_levels(m.counts, at).values()) for at in np.flatnonzero(m.counts.weight >= 20)]
    return max(by_hand[name].get(cell, 0.0) for cell in large)


def test_ties_are_counted_and_said(compas_mapping):
    found = document_of(compas_mapping)["worst_off"]
    tied = list(zip(found["cells"], said_in(found, "worst.cell"), strict=True))
    assert any(row["tied"] for row, _ in tied)
    for row, words in tied:
        assert ("more cell" in words) == (row["tied"] > 0)
        assert f"{row['weight']:,.0f} people (" in words
        named = ", ".join(f"{name}={level}" for name, level in row["cell"].items())
        assert named in words
        steps = {name: level for name, level in row["likeliest_change"].items() if level != row["cell"][name]}
        assert steps
        assert all(f"{name}: {row['cell'][name]} → {level}" in words for name, level in steps.items())
    assert not any("is_recid=1)" in words and "worse outcome" in words for _, words in tied)
    assert said_in(found, "worst.nobody_loses")


@pytest.mark.slow
def test_nobody_bears_what_is_a_benefit_in_small_cells():
    """All changes are for the better, some of them in hidden cells: nobody is said to bear anything."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 300), "x": rng.integers(0, 30, 300)})
    frame["y"] = (rng.random(300) < np.where(frame["g"] == "a", 0.7, 0.4)).astype(int)
    mapping = eh.fit(
        eh.Problem(
            protected=["g"], features=["x"], outcome="y", favourable=1, parity=[eh.PairwiseParity(0.2)],
            distortion=eh.Distortion({"y": eh.Ordinal(step=1, down=False)}), budget=eh.ExpectedDistortion(1),
        ),
        frame,
    )  # fmt: skip
    worst = document_of(mapping)["worst_off"]
    assert worst["cells_changed_hidden"] > 0
    assert said_in(worst, "worst.cell") == []
    assert worst["hidden_bear"] is False
    other = document_of(replace(mapping, problem=replace(mapping.problem, favourable=0)))["worst_off"]
    assert other["hidden_bear"] is True
    assert said_in(other, "worst.hidden_bear")
