"""Every bound with what was achieved, and the words for it, on tables small enough to count by hand."""

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.findings import bounds
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import parity_achieved
from evenhand.spec import comparisons


def measured(frame, parity):
    problem = small_problem(parity=[parity])
    counts = eh.fit(small_problem(parity=[]), frame).counts
    return counts, parity_achieved(comparisons(problem.parity[0], counts), counts, unchanged(counts))


def test_the_furthest_of_those_kept(compas_mapping):
    (part,) = compas_mapping.achieved.parity
    worst = bounds.furthest(part)
    assert worst.apart == part.value[part.worst]
    assert worst.words == f"{worst.apart:.3f} ({worst.pair})"
    other = bounds.furthest(part, np.array([0]))
    assert (other.apart, other.rate, other.other) == (part.value[0], part.rate[0], part.other[0])
    assert bounds.furthest(part, np.array([], dtype=int)) is None


def test_an_infinite_distance_is_a_word():
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    counts, part = measured(frame, eh.PairwiseParity(0.2))
    assert bounds.furthest(part).words.startswith("infinite (hired=1: group=a 0.")
    (constraint,) = bounds.constraints(counts, [part])
    assert constraint.headline().startswith("furthest apart before: infinite (")
    told = list(bounds.verdict(bounds.table(counts, [part])))
    assert told[0].endswith("bounds are exceeded, by up to infinite")


def test_a_released_segment_is_named():
    _, part = measured(small_frame(), eh.TargetParity(0.2, given=["score"], released=True))
    found = bounds.furthest(part)
    assert ", released score=" in found.of
    assert found.against == "the target"


def test_what_is_missed_by_rounding_holds():
    table = pd.DataFrame(
        {"constraint": "budget", "where": list("abc"), "bound": 0.5, "achieved": [0.5 + 1e-12, 0.7, 0.6]}
    ).assign(slack=lambda t: t["bound"] - t["achieved"])
    over = bounds.exceeded(table)
    assert over["where"].tolist() == ["b", "c"]
    assert over["excess"].tolist() == pytest.approx([0.2, 0.1])
    assert next(iter(bounds.verdict(table))) == "budget: 2 of 3 bounds are exceeded, by up to 0.2"
    assert next(iter(bounds.verdict(table[:1]))) == "budget: the bound holds"
