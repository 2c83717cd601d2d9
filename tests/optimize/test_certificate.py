from dataclasses import replace

import numpy as np
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.kernel import Kernel, identity
from evenhand.optimize.certificate import certify
from evenhand.optimize.program import Multipliers
from evenhand.render.sentences import facts


@pytest.fixture(scope="module")
def mapping():
    return shared_fit(small_problem(), small_frame())


def test_recomputing_gives_the_same(mapping):
    assert certify(mapping.problem, mapping.counts, mapping.kernel, mapping.multipliers) == mapping.certificate


def test_a_mapping_beyond_its_bounds_is_refused(mapping):
    stay = identity(mapping.counts.domain.xy(mapping.counts.x, mapping.counts.y))
    with pytest.raises(eh.SolverError, match="exceeds a bound by"):
        certify(mapping.problem, mapping.counts, stay, mapping.multipliers)


def test_a_mapping_that_loses_more_is_not_called_optimal(mapping):
    """Mix the optimum with a feasible but worse mapping: still within the bounds, no longer optimal."""
    strict = eh.fit(small_problem(parity=[eh.PairwiseParity(0.1)]), small_frame())
    certificate = certify(mapping.problem, mapping.counts, strict.kernel, mapping.multipliers)
    assert certificate.status == "feasible"
    assert certificate.gap == pytest.approx(strict.objective - mapping.objective, abs=1e-6)
    assert certificate.gap > 1e-4


def test_useless_multipliers_only_weaken_the_claim(mapping):
    m = mapping.multipliers
    nothing = Multipliers(m.released, np.zeros_like(m.parity), np.zeros_like(m.budgets))
    certificate = certify(mapping.problem, mapping.counts, mapping.kernel, nothing)
    assert certificate.status == "feasible"
    assert certificate.lower_bound < mapping.certificate.lower_bound


def test_multipliers_of_another_problem_are_refused(mapping):
    m = mapping.multipliers
    with pytest.raises(eh.StorageError, match="another problem"):
        certify(mapping.problem, mapping.counts, mapping.kernel, Multipliers(m.released, m.parity[:1], m.budgets))


def test_rows_that_do_not_sum_to_one_are_refused(mapping):
    k = mapping.kernel
    with pytest.raises(eh.SolverError, match="rows sum to one within"):
        certify(
            mapping.problem,
            mapping.counts,
            Kernel(k.starts, k.targets, k.probability * 0.999),
            mapping.multipliers,
        )


def test_a_bound_that_is_not_a_number_proves_nothing(mapping):
    """Finite but absurd multipliers overflow: then there is no bound, and nothing is called optimal."""
    m = mapping.multipliers
    absurd = Multipliers(m.released, np.full_like(m.parity, 1e308), np.full_like(m.budgets, 1e308))
    certificate = certify(mapping.problem, mapping.counts, mapping.kernel, absurd)
    assert certificate.status == "feasible"
    assert certificate.lower_bound == 0
    assert certificate.gap == certificate.objective


@pytest.mark.slow
def test_a_measure_that_goes_below_zero_is_bounded_by_its_own_multipliers(compas):
    """Zero bounds a distance from below, not any convex function."""
    entropy = eh.Separable(
        lambda p, r: np.where(r > 0, r * np.log(np.maximum(r, 1e-300)), 0),
        lambda p, r: np.log(r) + 1,
        lambda p, r: 1 / r,
        name="negative entropy",
    )
    found = [
        eh.fit(replace(compas.problem, utility=entropy, parity=[eh.PairwiseParity(bound)]), compas.counts).certificate
        for bound in (0.1, 0.7)
    ]
    assert all(c.status == "optimal" and c.lower_bound <= c.objective < -3 for c in found)
    assert found[1].objective < found[0].objective, (
        "the identity is not the best where the measure is smaller elsewhere"
    )


@pytest.mark.slow
def test_a_quasiconvex_measure_that_is_smallest_elsewhere(compas):
    largest = eh.Quasiconvex(
        lambda p, r: float(r.max()), lambda p, level: (np.eye(len(p)), np.full(len(p), level)), highest=1.0
    )
    tight, loose = (
        eh.fit(replace(compas.problem, utility=largest, parity=[eh.PairwiseParity(bound)]), compas.counts)
        for bound in (0.3, 0.7)
    )
    assert loose.objective <= tight.objective + 1e-8
    assert tight.certificate.status == loose.certificate.status == "feasible"
    assert tight.certificate.lower_bound is None


@pytest.mark.parametrize("utility", [eh.KL(), eh.L1()])
def test_the_gap_is_the_difference_also_where_rounding_makes_it_negative(utility):
    """A mapping that exceeds its bound by less than the tolerance loses a little less than any that does not."""
    problem = small_problem(utility=utility)
    mapping = eh.fit(problem, small_frame())
    hardly_looser = eh.fit(replace(problem, parity=[eh.PairwiseParity(0.2 + 9e-10)]), small_frame())
    certificate = certify(problem, mapping.counts, hardly_looser.kernel, mapping.multipliers)
    assert certificate.status == "optimal"
    assert certificate.gap == certificate.objective - certificate.lower_bound
    assert -1e-9 < certificate.gap < 0


def test_certificates_say_what_they_certify(compas_mapping):
    (section,) = compas_mapping.certificate.sections
    words = dict(facts(section.facts))
    assert words["Status"] == "optimal"
    assert (words["Utility loss"], words["Lower bound"]) == ("0.0212438", "0.0212438")
    assert {"Gap", "Largest violation"} <= set(words)
    assert "no mapping within the bounds loses less" in compas_mapping.certificate.sentences()[0]
    feasible = replace(compas_mapping.certificate, status="feasible", lower_bound=None, gap=None, notes=("slow",))
    assert "another mapping might lose less" in feasible.sentences()[0]
    assert feasible.sentences()[-1] == "slow"
    assert "Gap" not in dict(facts(feasible.sections[0].facts))
    local = replace(compas_mapping.certificate, status="local")
    assert "found by steps" in local.sentences()[0]
