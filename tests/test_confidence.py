"""Bounds that hold in the population: margins, promises and refusals, and samples of populations that are known."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import populations
import pytest
from reports import document_of, said_in
from scipy.stats import binom

import evenhand as eh
from evenhand import verifier
from evenhand.data.counts import Counts
from evenhand.findings.assurance import rates_compared
from evenhand.folds import expected_outcomes
from evenhand.spec import comparisons

pytestmark = pytest.mark.turns(4)

SURE = 0.95


@pytest.fixture(scope="module")
def problem(compas):
    return replace(compas.problem, parity=[eh.PairwiseParity(0.3)], confidence=SURE)


@pytest.fixture(scope="module")
def mapping(problem, compas):
    return eh.fit(problem, compas.counts)


def test_the_certificate_is_of_the_programme_with_margins(mapping, problem, compas):
    plain = eh.fit(replace(problem, confidence=None), compas.counts)
    assert mapping.certificate.status == "optimal"
    assert mapping.certificate.without_confidence == pytest.approx(plain.objective)
    assert mapping.objective > plain.objective + 0.001
    assert mapping.problem == problem
    assert mapping.certified.confidence is None
    again = eh.fit(mapping.certified, compas.counts)
    assert again.objective == pytest.approx(mapping.objective, abs=1e-7)
    assert plain.certificate.without_confidence is None
    assert plain.assurance is None


def test_every_comparison_has_its_margin(mapping):
    found = mapping.assurance.frame
    assert list(found.columns) == [
        "constraint", "comparison", "bound", "estimate", "optimism", "margin", "upper_limit",
    ]  # fmt: skip
    # Six pairs of groups, two outcomes.
    assert len(found) == 12
    assert (found["upper_limit"] <= found["bound"] + 1e-9).all()
    assert found["upper_limit"].max() == pytest.approx(0.3, abs=1e-9)
    assert (found["margin"] > 0).all()
    assert (found["optimism"] <= found["margin"]).all()
    rates = mapping.audit().rates.query("is_recid == 1")["after"]
    assert found["estimate"].max() == pytest.approx(rates.max() / rates.min() - 1)


def test_the_promise_says_what_it_is_not(mapping):
    words = " ".join(mapping.assurance.words)
    for said in (
        "about 95 of 100 samples",
        "refuses or returns",
        "expected rates",
        "by simulation, at confidences of 0.9 and 0.95, not proved",
        "one draw",
        "answered samples of 24 settings violated",
        "budgets only just allow the margins",
    ):
        assert said in words


@pytest.mark.slow
def test_more_confidence_costs_more(problem, compas, mapping):
    less = eh.fit(replace(problem, confidence=0.6), compas.counts)
    assert less.certificate.without_confidence < less.objective < mapping.objective


@pytest.mark.slow
def test_the_order_of_rows_changes_nothing(problem, compas, mapping):
    mixed = compas.frame.sample(frac=1, random_state=1)
    assert eh.fit(problem, mixed).assurance.frame.equals(mapping.assurance.frame)


def test_a_file_keeps_the_margins(mapping, tmp_path):
    mapping.save(tmp_path / "sure.mapping")
    read = eh.Mapping.load(tmp_path / "sure.mapping")
    assert read.certificate == mapping.certificate
    assert read.problem.confidence == SURE
    assert read.assurance.frame.equals(mapping.assurance.frame)
    assert read.assurance.words == mapping.assurance.words


def test_a_proof_is_of_the_programme_with_margins(mapping, tmp_path):
    mapping.proof(tmp_path / "sure.proof")
    found = verifier.verify(tmp_path / "sure.proof")
    assert found.stands, found.reason
    # Without its margins the claim would be false: a mapping that loses less keeps the bounds as they are.
    document = json.loads((tmp_path / "sure.proof").read_text())
    claimed = document["claims"]["lower_bound"]
    assert claimed > mapping.certificate.without_confidence


def test_prices_are_those_of_the_programme_with_margins(mapping, compas):
    (price,) = mapping.prices().parity
    step = 1e-4
    more = eh.fit(mapping.certified.with_bounds(lambda bound: bound + step), compas.counts)
    assert (mapping.objective - more.objective) / step == pytest.approx(price, rel=0.02)


@pytest.mark.slow
def test_too_few_people_are_told_how_many_would_do(compas, problem):
    tight = replace(problem, parity=[eh.PairwiseParity(0.1)])
    with pytest.raises(
        eh.InfeasibleError, match=r"can be met in this table, but not with margins.*About [\d,]+ people"
    ) as told:
        eh.fit(tight, compas.counts)
    needed = told.value.people_needed
    assert needed > compas.counts.people
    # With so many people like these it can be done, and with half as many it cannot.
    for times, can in ((1.0, True), (0.5, False)):
        number = np.rint(compas.counts.weight * times * needed / compas.counts.people)
        counts = compas.counts
        some = number > 0
        more = Counts.of(counts.domain, counts.d[some], counts.x[some], counts.y[some], *[number[some]] * 3)
        if can:
            assert eh.fit(tight, more).certificate.status == "optimal"
        else:
            with pytest.raises(eh.InfeasibleError, match="not with margins"):
                eh.fit(tight, more)


def test_bounds_that_cannot_be_met_at_all_are_refused_as_ever(compas, problem):
    hopeless = replace(problem, parity=[eh.PairwiseParity(0.05)], budget=eh.ExpectedDistortion(0.1))
    with pytest.raises(eh.InfeasibleError, match="No mapping meets") as told:
        eh.fit(hopeless, compas.counts)
    assert "confidence" not in str(told.value)


@pytest.mark.parametrize(
    ("parity", "named"),
    [
        (eh.PairwiseParity(0.3, given=["age_cat"]), "given"),
        (eh.PairwiseParity(0.3, given_outcome=True), "given_outcome"),
        (eh.PairwiseParity(0.3, levels="cumulative"), "cumulative"),
        (eh.TargetParity(0.3, given=["age_cat"], released=True), "given"),
        (eh.FeatureParity(0.5), "FeatureParity"),
        (eh.PairwiseParity(0.3, distance=eh.UserDistance(lambda p, q: abs(p - q))), "UserDistance"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_forms_that_are_not_covered_are_refused_by_name(compas, parity, named):
    with pytest.raises(eh.SpecError, match=rf"confidence does not cover .*{named}"):
        replace(compas.problem, parity=[parity], confidence=SURE)


def test_what_else_is_not_covered(compas):
    with pytest.raises(eh.SpecError, match="alternating"):
        replace(compas.problem, suppress_protected="alternating", confidence=SURE)
    with pytest.raises(eh.SpecError, match="there are none"):
        replace(compas.problem, parity=[], confidence=SURE)


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 0.3, 1.5, 95, "0.95", True, float("nan"), [0.95]], ids=repr)
def test_a_wrong_confidence_is_refused(compas, wrong):
    with pytest.raises(eh.SpecError, match="confidence"):
        replace(compas.problem, confidence=wrong)


def test_a_percentage_is_told_as_a_share(compas):
    with pytest.raises(eh.SpecError, match=r"not 95; write 0\.95"):
        replace(compas.problem, confidence=95)


def test_less_than_half_would_widen_the_bounds(compas):
    """Margins would be negative: at 0.1 a fit lost less than one without confidence, and exceeded its own bounds."""
    with pytest.raises(eh.SpecError, match=r"at least 0\.5, not 0\.1: .*leave it out"):
        replace(compas.problem, confidence=0.1)


@pytest.mark.slow
def test_nearly_one_is_not_told_as_one(compas, problem, mapping):
    nearly = replace(mapping.assurance, confidence=1 - 1e-7)
    assert "about 99.99999 of 100 samples" in nearly.words[0]
    assert "tails of rates may be heavier" in nearly.words[-1]
    assert "tails" not in mapping.assurance.words[-1]
    with pytest.raises(eh.InfeasibleError, match=r"a confidence of 0\.9999999\. About"):
        eh.fit(replace(problem, confidence=1 - 1e-7), compas.counts)


def test_toml_keeps_it(problem):
    assert "confidence = 0.95" in problem.to_toml()
    assert eh.Problem.from_toml(problem.to_toml()) == problem
    assert "confidence" not in replace(problem, confidence=None).to_toml()


@pytest.mark.slow
def test_a_diagnosis_is_about_the_margins(compas, problem, tmp_path):
    found = eh.diagnose(problem, compas.counts)
    assert found.feasible
    assert "margins for a confidence of 0.95" in " ".join(found.sentences())
    plain = eh.diagnose(replace(problem, confidence=None), compas.counts)
    assert found.smallest_parity_bound > plain.smallest_parity_bound + 0.05
    tight = eh.diagnose(replace(problem, parity=[eh.PairwiseParity(0.1)]), compas.counts)
    assert not tight.feasible
    assert "people like these" in " ".join(tight.sentences())
    assert re.search(r"with margins of up to \d+\.\d points", " ".join(tight.sentences()))
    assert tight.smallest_parity_bound > 0.1
    tight.proof(tmp_path / "tight.proof")
    assert verifier.verify(tmp_path / "tight.proof").stands


@pytest.mark.slow
def test_a_frontier_has_margins_at_every_point(compas, problem, mapping):
    found = eh.frontier(problem, compas.counts, bounds=[0.1, 0.3]).frame
    assert found["status"].tolist() == ["infeasible", "optimal"]
    assert found["objective"].iloc[1] == pytest.approx(mapping.objective, rel=0.01)


@pytest.mark.slow
def test_a_report_tells_the_promise(mapping):
    found = document_of(mapping)
    assert said_in(found["fresh"]["assurance"]) == list(mapping.assurance.words)
    assert found["fresh"]["confidence"] == mapping.problem.confidence
    assert found["certificate"]["without_confidence"] == mapping.assurance.without


def sample(counts, people, rng):
    number = rng.multinomial(people, counts.probability).astype(float)
    some = number > 0
    return Counts.of(counts.domain, counts.d[some], counts.x[some], counts.y[some], *[number[some]] * 3)


def exceeds(problem, mapping, counts):
    """Whether a mapping's expected rates exceed a bound in a population."""
    outcomes = expected_outcomes(mapping.release_mode, counts.d, counts.x, counts.y)
    parts = [comparisons(parity, counts) for parity in problem.parity]
    return any(
        np.any(part.parity.distance.excess(*rates_compared(part, outcomes), part.bound) > 1e-9) for part in parts
    )


SAMPLES, SEED = 30, 7
MOST = 5
"""Of 30 samples that exceed a bound with a probability of 5 %, more do so in one of two hundred trials at most."""

FORMS = {
    "two groups": {"parity": [eh.PairwiseParity(0.15, on=["race"])]},
    "the rest, difference": {"parity": [eh.PairwiseParity(0.09, distance=eh.Difference(), against="rest")]},
    "four fifths": {"parity": [eh.PairwiseParity(0.15, on=["sex"], distance=eh.FourFifths(0))]},
    "log-ratio, a reference": {
        "parity": [eh.PairwiseParity(0.2, on=["race"], distance=eh.LogRatio(), against={"race": "Caucasian"})]
    },
    "a target": {
        "parity": [eh.TargetParity(0.2)],
        "distortion": eh.Distortion({"is_recid": eh.Ordinal(step=1)}),
    },
    "two constraints": {"parity": [eh.PairwiseParity(0.3, on=["sex"]), eh.PairwiseParity(0.15, on=["race"])]},
    "blind": {"parity": [eh.PairwiseParity(0.26, on=["race"])], "blind": True},
    "suppressed": {
        "parity": [eh.PairwiseParity(0.25, on=["race"])],
        "suppress_protected": "fixed",
        "distortion": eh.Distortion(
            {"age_cat": eh.Ordinal(step=1, max_steps=1), "priors_count": eh.Ordinal(step=1), "is_recid": eh.Free()}
        ),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_bounds_hold_in_a_population_as_often_as_promised(compas, form):
    """Samples of COMPAS as a population: exceeded in at most one of twenty, where plain fits are in about half."""
    falls = eh.Distortion({"is_recid": eh.Ordinal(step=1, up=False)})
    asked = replace(compas.problem, **{"distortion": falls, **FORMS[form]})
    rng = np.random.default_rng(SEED)
    plain, sure, answered = 0, 0, 0
    for number in range(SAMPLES):
        people = sample(compas.counts, 3000, rng)
        if number < 15:
            plain += exceeds(asked, eh.fit(asked, people), compas.counts)
        try:
            found = eh.fit(replace(asked, confidence=SURE), people)
        except eh.InfeasibleError:
            continue
        answered += 1
        sure += exceeds(asked, found, compas.counts)
    assert answered > SAMPLES / 2
    assert plain > 2
    assert sure <= MOST


@pytest.mark.slow
def test_bounds_hold_where_cells_are_many():
    """400 cells and 2,000 people, of whom many are alone in theirs: plain fits lean on noise."""
    rng = np.random.default_rng(SEED)
    size, groups = 400, 2
    share = rng.dirichlet(np.ones(size))
    rate = rng.beta(2, 3, size)
    rows = [{"group": g, "cell": cell, "hired": y} for g in range(groups) for cell in range(size) for y in (0, 1)]
    cells = pd.DataFrame(rows)
    moved = np.clip(rate[cells["cell"]] * np.where(cells["group"] == 0, 0.6, 1.2), 0, 1)
    p = share[cells["cell"]] * np.where(cells["hired"] == 1, moved, 1 - moved) / groups
    problem = eh.Problem(
        protected=["group"], features=["cell"], outcome="hired", parity=[eh.PairwiseParity(0.3)],
        utility=eh.L1(),
        distortion=eh.Distortion({"hired": eh.Ordinal(step=1, down=False)}), budget=eh.ExpectedDistortion(0.6),
    )  # fmt: skip
    everybody = eh.count(problem, cells, weights=(p * 1e9).tolist())
    plain, sure = 0, 0
    for _ in range(20):
        people = sample(everybody, 2000, rng)
        plain += exceeds(problem, eh.fit(problem, people), everybody)
        try:
            sure += exceeds(problem, eh.fit(replace(problem, confidence=SURE), people), everybody)
        except eh.InfeasibleError:
            continue
    assert plain > 5
    assert sure <= 4


@pytest.mark.slow
def test_bounds_hold_in_populations_that_nobody_chose():
    """Random populations and problems of every form, weights and two constraints among them, at a confidence of 0.9."""
    rows = [populations.tried(77, number, sample=0) for number in range(0, 48, 2)]
    assert {row["confidence"] for row in rows} == {0.9}
    assert sum(row["weighed"] for row in rows) > 3
    assert len({row["name"] for row in rows}) > 10
    answered = [row for row in rows if row["sure"] is not None]
    assert len(answered) > len(rows) / 2
    assert populations.exceeded("plain", rows) > len(rows) / 4
    assert populations.exceeded("sure", rows) <= binom.ppf(0.999, len(rows), 0.1)


@pytest.mark.slow
def test_a_case_may_be_about_somebody_who_is_in_no_fold(compas, problem):
    """One person with a limit, or one group without a bound: what refusals advise is not refused itself."""
    counts = compas.counts
    alone = int(np.flatnonzero(counts.weight == counts.weight.min())[0])
    domain = counts.domain
    who = {
        variable.name: variable.levels[int(code[0])]
        for axis, cells in ((domain.d, counts.d), (domain.x, counts.x), (domain.y, counts.y))
        for variable, code in zip(axis.variables, axis.unravel(cells[[alone]]), strict=True)
    }
    budget = eh.ExpectedDistortion(eh.By(0.6, [(who, 0.3)]))
    asked = replace(problem, budget=budget, confidence=0.9)
    assert eh.fit(asked, compas.counts).assurance.confidence == 0.9


@pytest.mark.slow
def test_a_frontier_is_what_fits_are(compas, problem):
    asked = replace(problem, confidence=0.9)
    found = eh.frontier(asked, compas.counts, bounds=[0.4, 0.5]).frame
    for row in found.to_dict("records"):
        own = eh.fit(asked.with_bounds(lambda _, to=row["bound"]: to), compas.counts)
        assert row["objective"] == pytest.approx(own.objective, rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*never binds:evenhand.errors.EvenhandWarning")
def test_bounds_that_restrain_nothing_have_no_margin(compas):
    asked = replace(compas.problem, parity=[eh.PairwiseParity(1.0, eh.Difference())], confidence=0.95)
    said = " ".join(eh.fit(asked, compas.counts).assurance.words)
    assert "nan" not in said
    assert "none needs a margin" in said
