"""The paper's two studies: every reference number, and the tie-break's promises."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve import Clock, solve
from evenhand.studies.reproduce import claims

pytestmark = pytest.mark.whole

CLAIMS = claims()


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("index", range(len(CLAIMS)), ids=lambda i: f"{CLAIMS[i].study}: {CLAIMS[i].what}")
def test_reference_numbers(index):
    from evenhand.studies.reproduce import Finding

    claim = CLAIMS[index]
    if claim.what.startswith("largest"):
        for earlier in CLAIMS:
            if earlier.study == claim.study and not earlier.what.startswith("largest"):
                earlier.compute()
    finding = Finding(claim, claim.compute())
    assert finding.agrees, finding


def test_a_wrong_number_would_be_noticed():
    from evenhand.studies.reproduce import Finding

    claim = next(c for c in CLAIMS if c.what.startswith("KL at ε=0.1"))
    assert not Finding(claim, claim.reference + 3e-6).agrees
    assert not Finding(replace(claim, tolerance=None), claim.reference + 1e-12).agrees
    verdict = next(c for c in CLAIMS if c.reference == "infeasible")
    assert not Finding(verdict, "feasible").agrees


def test_compas_least_change_holds_r(compas, compas_mapping):
    plain = eh.fit(replace(compas.problem, tie_break=None), compas.counts)
    assert np.array_equal(plain.achieved.cells, compas_mapping.achieved.cells)
    assert np.abs(plain.achieved.released - compas_mapping.achieved.released).max() <= 1e-8
    mean = [float(compas.counts.probability @ m.achieved.distortion) for m in (plain, compas_mapping)]
    assert mean[1] <= 0.2140 < 0.4 < mean[0]
    assert len(compas_mapping.kernel.targets) < 250 < len(plain.kernel.targets)


def test_adult_least_change_holds_the_loss(adult, adult_mapping):
    program = compile_problem(adult.problem, adult.counts).program
    optimum = program.loss.value(program.released(solve(program, None, Clock()).x))
    assert adult_mapping.objective == pytest.approx(optimum, abs=1e-8)
    assert adult.counts.probability @ adult_mapping.achieved.changed <= 0.057


def test_the_frontier_falls_as_the_bound_is_relaxed(compas):
    bounds = [0.22, 0.3, 0.4, 0.5, 0.6]
    at = lambda b: replace(compas.problem, parity=[eh.PairwiseParity(b)], budget=eh.ExpectedDistortion(0.25))  # noqa: E731
    losses = [eh.fit(at(b), compas.counts).objective for b in bounds]
    assert losses == sorted(losses, reverse=True)


def test_embedded_tables(compas, adult):
    assert len(compas.frame) == 5278 == compas.counts.people
    assert compas.frame["age_cat"].cat.ordered
    assert compas.frame["priors_count"].cat.ordered
    assert set(compas.frame["is_recid"]) == {0, 1}
    assert set(compas.frame["race"]) == {"African-American", "Caucasian"}
    assert len(adult.frame) == 32561
    assert adult.frame["income"].mean() == pytest.approx(0.2408, abs=1e-4)
    assert "32,561" in adult.about
    with pytest.raises(eh.SpecError, match="Did you mean 'compas'"):
        eh.datasets.load("compass")
