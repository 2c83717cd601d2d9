"""What sampling leaves open of parity, against samples of a known population."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.data.counts import Counts
from evenhand.findings.assurance import ANSWERED, Sides, answered, exceeding, quantile, rates_compared, refuse_small
from evenhand.kernel.achieved import outcome_by_source
from evenhand.spec import comparisons

MEASURED = Path(__file__).parents[2] / "docs" / "benchmarks" / "coverage.md"
SAMPLES = 3000
FORMS = {
    "each other": eh.PairwiseParity(0.2),
    "by one column": eh.PairwiseParity(0.2, on=["sex"]),
    "the rest": eh.PairwiseParity(0.2, against="rest"),
    "a reference": eh.PairwiseParity(0.2, on=["race"], against={"race": "Caucasian"}),
    "difference": eh.PairwiseParity(0.1, distance=eh.Difference()),
    "log-ratio, the rest": eh.PairwiseParity(0.2, distance=eh.LogRatio(), against="rest"),
    "four fifths": eh.PairwiseParity(0.2, distance=eh.FourFifths(1)),
    "its own target": eh.TargetParity(0.2),
    "a given target": eh.TargetParity(0.2, target={0: 0.55, 1: 0.45}),
    "a bound by outcome": eh.PairwiseParity(eh.By(0.2, [({"is_recid": 0}, float("inf"))])),
}


def room_of_samples(sides, parity, counts, outcomes, people, rng, weigh):
    """The room in samples of the population, whose cells keep their expected outcomes."""
    found = []
    for _ in range(SAMPLES):
        number = rng.multinomial(people, counts.probability).astype(float)
        if weigh is not None:
            # Half of the people of each cell weigh more.
            heavy = rng.binomial(number.astype(int), 0.5)
            number = number + (weigh - 1) * heavy
        some = number > 0
        drawn = Counts.of(counts.domain, counts.d[some], counts.x[some], counts.y[some], number[some])
        part = comparisons(parity, drawn)
        assert len(part) == len(sides.part)
        found.append(sides.room(*rates_compared(part, outcomes[some])))
    return np.std(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("weigh", [None, 4.0], ids=["one each", "weighed"])
@pytest.mark.parametrize("form", FORMS)
def test_standard_errors_are_those_of_samples(compas, compas_mapping, form, weigh):
    parity, counts, people = FORMS[form], compas.counts, 4000
    outcomes = outcome_by_source(counts, compas_mapping.kernel)
    number = counts.probability * people
    # The population, with as many people as a sample has, and the squared weights that it has on average.
    weight, squares = (number, number) if weigh is None else (number * (1 + weigh) / 2, number * (1 + weigh**2) / 2)
    heads = np.full(len(counts), 100)
    asked = Counts(
        counts.domain, counts.d, counts.x, counts.y, weight, heads,
        np.clip(squares, weight**2 / heads, weight**2),
    )  # fmt: skip
    sides = Sides.of(comparisons(parity, asked))
    errors = Sides.standard_errors(_with_squares(sides, asked, squares), asked, outcomes)
    rng = np.random.default_rng(3)
    simulated = room_of_samples(sides, parity, counts, outcomes, people, rng, weigh)
    np.testing.assert_allclose(errors[sides.needed], simulated[sides.needed], rtol=0.08)


def _with_squares(sides, counts, squares):
    """A table cannot have a fraction of a person: the squares are those of samples, on average."""
    object.__setattr__(counts, "cell_squares", squares)
    return sides


def test_of_two_orders_one_line_is_needed(compas):
    counts = compas.counts
    both = Sides.of(comparisons(eh.PairwiseParity(0.2), counts))
    assert both.needed[0].all()
    assert not both.needed[1].any()
    rest = Sides.of(comparisons(eh.PairwiseParity(0.2, against="rest"), counts))
    assert rest.needed.all()
    # From one on a ratio asks for nothing below.
    assert not Sides.of(comparisons(eh.TargetParity(1.0), counts)).needed[1].any()
    shortfall = Sides.of(comparisons(eh.PairwiseParity(0.2, distance=eh.FourFifths(1)), counts))
    assert shortfall.needed[1].all()
    assert not shortfall.needed[0].any()


def test_z_is_that_of_a_union_over_what_is_near():
    assert quantile(0.05, np.zeros(1)) == pytest.approx(1.6449, abs=1e-4)
    assert quantile(0.05, np.zeros(4)) == pytest.approx(2.2414, abs=1e-4)
    assert quantile(0.05, np.array([0.0, 9.0, 9.0, 9.0])) == pytest.approx(1.6449, abs=1e-4)
    reach = np.array([0.0, 1.9, 2.1, 5.0])
    z = quantile(0.05, reach)
    assert exceeding(np.maximum(reach, z)) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("spare", [0.0, 0.5, 1.0, 1.7, 2.5, 4.0, 9.0])
def test_the_answered_err_as_seldom_as_all(spare):
    """Samples of a population whose budgets allow so many standard errors: of those answered 5 % violate at most."""
    z = quantile(0.05, np.zeros(1))
    most = spare + np.random.default_rng(7).normal(size=40_000)
    most = most[most >= z]
    kept = np.interp(most, grid := np.linspace(z, 14, 250), [answered(z, each) for each in grid])
    assert np.all((kept >= z - 1e-9) & (kept <= most + 1e-3))
    # What is kept is violated where the population allows less than the table did by more.
    assert np.mean(most - kept > spare) <= 0.05 + 3 * np.sqrt(0.05 / len(most))


def test_groups_of_few_people_are_refused_by_name(compas):
    problem = replace(compas.problem, confidence=0.95, parity=[eh.PairwiseParity(0.9)])
    some = compas.frame.sample(60, random_state=1)
    with pytest.raises(eh.DataError, match=r"sex=Female, race=.* has \d+ people.*About \d+ would be needed"):
        eh.fit(problem, some)
    one = compas.frame[(compas.frame["sex"] == "Male") | (compas.frame["race"] == "Caucasian")]
    alone = compas.frame[(compas.frame["sex"] == "Female") & (compas.frame["race"] != "Caucasian")].head(1)
    with pytest.raises(eh.DataError, match=r"confidence: .*Female"):
        eh.fit(problem, pd.concat([one, alone], ignore_index=True))


def test_nobody_is_refused_who_is_many(compas, compas_mapping):
    outcomes = outcome_by_source(compas.counts, compas_mapping.kernel)
    refuse_small(comparisons(compas.problem.parity[0], compas.counts), compas.counts, outcomes)


def rows_of(page, beginning):
    """The rows of the table of a page whose heading begins so."""
    lines = page[page.index(beginning) :].partition("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_what_was_simulated_is_what_is_said_of_it():
    page = MEASURED.read_text(encoding="utf-8")
    settings = rows_of(page, "|  | table")
    number = [int(row["samples"]) for row in settings]
    violated, refused = (
        sum(round(float(row[name].rstrip(" %")) / 100 * n) for row, n in zip(settings, number, strict=True))
        for name in ("exceeded", "refused")
    )
    answers = sum(number) - refused
    said = f"{violated / answers:.1%} of {answers:,} answered samples of {len(settings)} settings violated a bound"
    assert said in ANSWERED[0]
    near = [{name: int(row[name]) for name in ("samples", "refused", "answered", "violated")}
            for row in rows_of(page, "| design")]  # fmt: skip
    given, learned = (f"{row['violated']} of {row['answered']}" for row in near)
    shares = [f"({row['violated'] / row['answered']:.0%})" for row in near]
    total = sum(row["samples"] for row in near)
    assert f"{sum(row['refused'] for row in near) / total:.0%} of {total} samples were refused" in ANSWERED[1]
    assert f"{given} answered {shares[0]} over given features did, and {learned} {shares[1]} over" in ANSWERED[1]
