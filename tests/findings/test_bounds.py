"""Every bound with what was achieved, and the words for it, on tables small enough to count by hand."""

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.findings import bounds
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import parity_achieved
from evenhand.render.sentences import sentence
from evenhand.spec import comparisons


def measured(frame, parity):
    problem = small_problem(parity=[parity])
    counts = eh.fit(small_problem(parity=[]), frame).counts
    return counts, parity_achieved(comparisons(problem.parity[0], counts), counts, unchanged(counts))


def test_the_furthest_of_those_kept(compas_mapping):
    (part,) = compas_mapping.achieved.parity
    worst = bounds.furthest(part)
    assert worst.apart == part.value[part.worst]
    assert worst.held.startswith(
        f"{worst.outcome} {worst.rate:.1%} ({worst.of}) vs {worst.other:.1%} ({worst.against})"
    )
    other = bounds.furthest(part, np.array([0]))
    assert (other.apart, other.rate, other.other) == (part.value[0], part.rate[0], part.other[0])
    assert bounds.furthest(part, np.array([], dtype=int)) is None


def test_an_infinite_distance_is_a_word():
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    counts, part = measured(frame, eh.PairwiseParity(0.2))
    (constraint,) = bounds.constraints(counts, [part])
    held = "hired=1 50.0% (group=a) vs 0.0% (group=b), "
    assert sentence(constraint.headline()).startswith(
        f"largest disparity before: {held}none against some; after: {held}ratio inf"
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_four_fifths_headline_says_the_ratio_and_what_is_required(seed):
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.02, 0.95, 2)
    group = rng.choice(["a", "b"], 400)
    hired = (rng.random(400) < share[(group == "b").astype(int)]).astype(int)
    frame = small_frame().sample(400, replace=True, random_state=seed).assign(group=group, hired=hired)
    bound = float(rng.uniform(0.05, 0.5))
    counts, part = measured(frame, eh.PairwiseParity(bound, distance=eh.FourFifths(1)))
    (constraint,) = bounds.constraints(counts, [part])
    rates = frame.groupby("group")["hired"].mean()
    ratio = float(sentence(constraint.headline()).split("ratio ")[1].split(",")[0])
    assert ratio == pytest.approx(rates.min() / rates.max(), abs=1e-4)
    assert sentence(constraint.headline()).endswith(f", at least {1 - bound:.4f} required")


def test_a_violated_bound_is_named_with_its_ratio():
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    _, part = measured(frame, eh.PairwiseParity(0.2))
    told = list(map(sentence, bounds.verdict([part])))
    assert told[0].startswith("PairwiseParity: violated in ")
    assert told[0].endswith("ratio infinite, at most 1.2000 allowed")


def test_a_released_segment_is_named():
    _, part = measured(small_frame(), eh.TargetParity(0.2, given=["score"], released=True))
    found = bounds.furthest(part)
    assert ", released score=" in found.of
    assert found.against == "the target"


def test_what_is_missed_by_rounding_holds():
    table = pd.DataFrame(
        {"constraint": "budget", "where": list("abc"), "bound": 0.5, "achieved": [0.5 + 1e-12, 0.7, 0.6]}
    ).assign(slack=lambda t: t["bound"] - t["achieved"])
    over = bounds.violated(table)
    assert over["where"].tolist() == ["b", "c"]
    assert over["excess"].tolist() == pytest.approx([0.2, 0.1])
