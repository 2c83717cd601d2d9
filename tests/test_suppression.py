"""Bounds on mean scores of a model without D, where records stay: eq. (9) beside the table's own rates."""

import json
from dataclasses import replace

import numpy as np
import pytest
from families import random_table

import evenhand as eh
from evenhand import verifier
from evenhand.data.counts import with_propensities
from evenhand.data.propensities import Propensities
from evenhand.kernel.achieved import outcome_by_source
from evenhand.spec import all_comparisons

COSTS = eh.Distortion({"y": eh.Nominal(1)})


def frame():
    found = random_table(np.random.default_rng(3), 3, (3, 4), 2, people=4000)
    return found.assign(f0=np.where(np.random.default_rng(4).random(4000) < 0.4, found["d"], found["f0"]))


def stated(**changes):
    asked = {"parity": [eh.PairwiseParity(0.05)], "distortion": COSTS, "suppress_protected": True} | changes
    return eh.Problem(protected=["d"], features=["f0", "f1"], outcome="y", **asked)


def exactly(problem):
    """Fit with the table's own p(d|x), and without any correction."""
    return eh.fit(problem, with_propensities(eh.count(problem, frame())))


def scored_rates(counts, kernel):
    """R_d by its definition: the mean over a group's people of the mean release of everybody with their features."""
    released = outcome_by_source(counts, kernel)
    rates = []
    for d in np.unique(counts.d):
        of_group = counts.weight * (counts.d == d)
        by_x = [np.average(released[counts.x == x], axis=0, weights=counts.weight[counts.x == x]) for x in counts.x]
        rates.append(np.average(by_x, axis=0, weights=of_group))
    return np.array(rates)


def test_both_the_tables_rates_and_the_mean_scores_keep_the_bound():
    mapping = exactly(stated())
    own, scored = mapping.achieved.parity
    rates = scored_rates(mapping.counts, mapping.kernel)
    assert scored.compared.rates(outcome_by_source(mapping.counts, mapping.kernel)) == pytest.approx(rates)
    assert own.violation <= 1e-9 >= scored.violation
    assert (rates.max(axis=0) / rates.min(axis=0)).max() <= 1.05 + 1e-9
    assert mapping.certificate.status == "optimal"


def test_without_it_the_mean_scores_of_a_model_without_the_group_exceed_the_bound():
    mapping = eh.fit(stated(suppress_protected=None), frame())
    rates = scored_rates(mapping.counts, mapping.kernel)
    assert (rates.max(axis=0) / rates.min(axis=0)).max() > 1.06


def test_where_features_move_it_is_strategy_one():
    moves = eh.Distortion({"y": eh.Free(), "f1": eh.Ordinal(1, max_steps=1)})
    asked = stated(distortion=moves, parity=[eh.PairwiseParity(0.3)])
    assert asked.suppression.redraws
    assert not asked.suppression.scored
    fixed = eh.fit(replace(asked, suppress_protected="fixed"), frame())
    assert eh.fit(asked, frame()).objective == pytest.approx(fixed.objective, abs=1e-9)


def test_toml_keeps_true():
    assert "suppress_protected = true" in stated().to_toml()
    assert eh.Problem.from_toml(stated().to_toml()) == stated()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parity": [eh.FeatureParity(0.1)]}, "compares features"),
        ({"parity": [eh.PairwiseParity(0.1, given_outcome=True)]}, "given_outcome"),
        ({"parity": [eh.TargetParity(0.1, given=["f0"], released=True)]}, "released"),
        ({"confidence": 0.9}, "confidence"),
    ],
)
def test_what_has_no_linear_mean_score_is_refused_by_name(changes, said):
    with pytest.raises(eh.SpecError, match=said):
        stated(**changes)


def test_one_sided_costs_and_forbidden_outcomes_are_allowed():
    asked = stated(
        distortion=eh.Distortion({"y": eh.Ordinal(1, down=False)}),
        parity=[eh.PairwiseParity(0.6)],
        forbidden=[{"when": {"f0": 0}, "then": {"y": 1}}],
    )
    with pytest.warns(eh.EvenhandWarning, match="already f0=0 with y=1"):
        mapping = exactly(asked)
    assert mapping.certificate.status == "optimal"
    assert mapping.achieved.forbidden == 0


def test_the_price_is_what_a_larger_bound_gains():
    at, step = 0.05, 1e-4
    costs = [exactly(stated(parity=[eh.PairwiseParity(bound)])).objective for bound in (at, at + step)]
    assert exactly(stated()).prices().parity[0] == pytest.approx((costs[0] - costs[1]) / step, rel=0.02)


def test_a_shift_is_added_to_the_rates_and_held_by_everything(tmp_path):
    counts = with_propensities(eh.count(stated(), frame()))
    known = counts.propensities
    shift = np.array([[-0.02, 0.02], [0.0, 0.0], [0.01, -0.01]])
    mapping = eh.fit(stated(), replace(counts, propensities=replace(known, shift=shift)))
    rates = scored_rates(mapping.counts, mapping.kernel) + shift
    assert (rates.max(axis=0) / rates.min(axis=0)).max() == pytest.approx(1.05, abs=1e-6)
    assert mapping.certificate.status == "optimal"
    mapping.proof(tmp_path / "proof.json")
    assert verifier.verify(tmp_path / "proof.json").stands
    mapping.save(tmp_path / "mapping.evenhand")
    assert np.array_equal(eh.Mapping.load(tmp_path / "mapping.evenhand").counts.propensities.shift, shift)


def test_a_mapping_file_keeps_the_sums_and_its_certificate(tmp_path):
    mapping = exactly(stated())
    mapping.save(tmp_path / "mapping.evenhand")
    again = eh.Mapping.load(tmp_path / "mapping.evenhand")
    assert np.array_equal(again.counts.propensities.sums, mapping.counts.propensities.sums)
    assert again.certificate.gap == pytest.approx(mapping.certificate.gap, abs=1e-12)
    assert len(again.achieved.parity) == 2


def forged(path, change):
    document = json.loads(path.read_text())
    change(document["statement"]["propensities"])
    document["sha256"] = verifier.digest(document)
    path.write_text(json.dumps(document))
    return verifier.verify(path)


def test_the_verifier_refuses_sums_that_are_not_those_of_the_counts(tmp_path):
    path = tmp_path / "proof.json"
    mapping = exactly(stated())

    def moved(found):
        found["sums"][0][0] += 1.0
        found["sums"][1][0] -= 1.0

    def negative(found):
        found["sums"][0][0], found["sums"][1][0] = -1.0, found["sums"][0][0] + found["sums"][1][0] + 1.0

    def too_much(found):
        found["sums"][0][0] += 1.0

    for change, said in ((too_much, "are not its weight"), (moved, "are not its weight"), (negative, "at least 0")):
        mapping.proof(path)
        assert verifier.verify(path).stands
        report = forged(path, change)
        assert not report.stands
        assert said in report.reason


def test_counts_refuse_sums_that_contradict_them():
    counts = with_propensities(eh.count(stated(), frame()))
    known = counts.propensities
    with pytest.raises(eh.DataError, match="contradict"):
        replace(counts, propensities=replace(known, sums=known.sums[::-1]))
    with pytest.raises(eh.DataError, match="for each group"):
        replace(counts, propensities=Propensities(known.sums[:2], known.within, known.shift))


def test_useless_propensities_within_the_whole_table_share_every_source_alike():
    counts = eh.count(stated(), frame())
    share = counts.group_weight / counts.weight.sum()
    found = with_propensities(counts, np.full((3, len(counts)), 1 / 3) * counts.weight, ()).propensities
    assert found.sums == pytest.approx(share[:, None] * counts.weight)


def test_sums_agree_with_the_counts_and_are_never_negative():
    counts, rng = eh.count(stated(), frame()), np.random.default_rng(0)
    wild = rng.dirichlet(np.full(3, 0.2), len(counts)).T * counts.weight
    sums = with_propensities(counts, wild, ("f0",)).propensities.sums
    f0 = counts.domain.x.unravel(counts.x)[0]
    assert sums.min() >= 0
    assert sums.sum(axis=0) == pytest.approx(counts.weight)
    for level in range(3):
        of_groups = [counts.weight[(counts.d == d) & (f0 == level)].sum() for d in range(3)]
        assert sums[:, f0 == level].sum(axis=1) == pytest.approx(of_groups)


def test_other_tables_are_held_against_their_own_rates_alone():
    problem = stated()
    assert len(all_comparisons(problem, eh.count(problem, frame()))) == 1
    assert len(all_comparisons(problem, with_propensities(eh.count(problem, frame())))) == 2


def test_counts_alone_of_learned_cells_are_not_cross_validated():
    cells = eh.Leaves(4, at_least=5)
    asked = stated(cells=cells)
    counts = eh.count(asked, frame())
    with pytest.warns(eh.EvenhandWarning, match="neither cross-validated nor corrected"):
        mapping = eh.fit(asked, counts)
    assert mapping.suppression.learner == ""
    assert mapping.certificate.status == "optimal"
    assert "no model was cross-validated" in str(mapping.suppression)


def test_an_audit_tells_the_certified_rates_of_a_model_without_the_group():
    mapping = exactly(stated())
    audit = mapping.audit()
    found = audit.scores["not_seeing_protected"].to_numpy().reshape(3, 2)
    assert found == pytest.approx(scored_rates(mapping.counts, mapping.kernel))
    assert "unaware" in [section.key for section in audit.sections]
    assert any("bounds cover a model that sees" in words for words in audit.sentences("caveats"))
