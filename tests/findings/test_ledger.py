"""Who is helped and who is harmed, held against an enumeration of every person's every move."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem
from fits import shared_fit
from formulations import MODES, PARITIES, problem_of, table

import evenhand as eh
from evenhand.findings.ledger import ledger
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import achieved
from evenhand.render.section import notes_of
from evenhand.render.sentences import sentence

BOTH_WAYS = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(1)})


def random_kernel(rng, counts):
    """Rows of up to five moves to anywhere, of which one may be certain."""
    domain = counts.domain
    starts, targets, probability = [0], [], []
    for _ in range(len(counts)):
        to = np.unique(rng.integers(0, domain.x.size * domain.y.size, rng.integers(1, 6)))
        targets.extend(to)
        probability.extend(rng.dirichlet(np.ones(len(to))))
        starts.append(len(targets))
    return Kernel(np.array(starts), np.array(targets), np.array(probability))


def enumerated(counts, kernel, good):
    """The same, person by person and move by move, in levels and plain numbers."""
    outcome = counts.domain.outcome
    levels, found = list(outcome.levels), {}
    end = outcome.ordered and good in (levels[0], levels[-1])
    for source in range(len(counts)):
        group = tuple(counts.domain.d.labels(int(counts.d[source])).values())
        own = found.setdefault(group, {"weight": 0.0, "helped": 0.0, "harmed": 0.0, "had": 0.0, "has": 0.0})
        had, weight = levels[counts.y[source]], float(counts.weight[source])
        own["weight"] += weight
        own["had"] += weight * (had == good)
        for entry in range(kernel.starts[source], kernel.starts[source + 1]):
            got, people = levels[kernel.targets[entry] % len(levels)], weight * kernel.probability[entry]
            own["has"] += people * (got == good)
            nearer = abs(levels.index(got) - levels.index(good)) - abs(levels.index(had) - levels.index(good))
            if (got == good != had) or (end and nearer < 0):
                own["helped"] += people
            elif (had == good != got) or (end and nearer > 0):
                own["harmed"] += people
    return found


def held_against(found, counts, kernel, good):
    protected = list(counts.domain.d.names)
    expected = enumerated(counts, kernel, good)
    assert len(found) == len(expected)
    for row in found.to_dict("records"):
        own = expected[tuple(row[name] for name in protected)]
        for name in ("weight", "helped", "harmed"):
            assert row[name] == pytest.approx(own[name], rel=1e-9, abs=1e-8 * counts.weight.sum()), name
        assert row["before"] == pytest.approx(own["had"] / own["weight"])
        assert row["after"] == pytest.approx(own["has"] / own["weight"])
        assert row["helped"] + row["harmed"] + row["unchanged"] == pytest.approx(row["weight"])
        assert min(row["helped"], row["harmed"], row["unchanged"]) >= 0


def as_frame(found):
    counts = found.counts
    groups = pd.DataFrame([counts.domain.d.labels(int(cell)) for cell in counts.groups.cells])
    return groups.assign(**found.columns)


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("ordered", [True, False])
def test_an_enumeration_of_any_kernel(seed, ordered):
    rng = np.random.default_rng(seed)
    stated, frame = random_problem(rng)
    if not ordered:
        frame["y"] = frame["y"].map({0: "no", 1: "perhaps", 2: "yes"})
        stated = small_problem(
            protected=["d"], features=stated.features, outcome="y", parity=[],
            distortion=eh.Distortion({"y": eh.Nominal(1)}),
        )  # fmt: skip
    weights = rng.choice([0.5, 1.0, 3.25], len(frame)) if seed % 2 else None
    for good in sorted(frame["y"].unique()):
        problem = replace(stated, favourable=good)
        counts = eh.count(problem, frame, weights=weights)
        kernel = random_kernel(rng, counts)
        measured = achieved(problem, counts, kernel)
        found = ledger(problem, counts, kernel, measured)
        held_against(as_frame(found), counts, kernel, good)
        first, *levelled = found.notes(suppressed=False)
        said = sentence(first)
        assert (" by weight" in said) == (weights is not None)
        fallen = as_frame(found).query("after < before - 1e-6")
        assert [text.about[0]["d"] for text in levelled] == fallen["d"].tolist()


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("parity", ["pairwise", "target", "four-fifths"])
def test_fitted_mappings_of_every_mode(mode, parity):
    stated = problem_of(("KL", parity, "none", "sum", mode), 3)
    problem = replace(stated, parity=PARITIES[parity](0.6), favourable=1)
    mapping = eh.fit(problem, table(3))
    audit = mapping.audit()
    held_against(audit.ledger, mapping.counts, mapping.kernel, 1)
    drawn = audit.sentences("gains", "outcomes")[0].startswith("if the drawn outcome were released, ")
    assert drawn == problem.suppression.redraws


class TestWords:
    def test_nobody_loses(self):
        audit = eh.fit(small_problem(favourable=0), small_frame()).audit()
        (said,) = audit.sentences("gains", "outcomes")
        assert said.startswith("of 200 people 14 get hired=0 who did not have it, and nobody loses it")
        assert audit.ledger["harmed"].tolist() == [0, 0]

    def test_a_group_that_is_levelled_down_is_named(self):
        """The same mapping, of which the other outcome is said to be good."""
        audit = eh.fit(small_problem(favourable=1), small_frame()).audit()
        said, levelled = audit.sentences("gains")
        assert said.startswith("of 200 people nobody gets hired=1 who did not have it, and 14 lose it")
        assert levelled == "levelled down: in the group group=a the rate of hired=1 falls from 50.0% to 36.0%"
        assert notes_of(audit.sections, "gains")[1].about == ({"group": "a"},)

    def test_steps_count_at_an_end_of_an_order_alone(self):
        frame = small_frame()
        frame["hired"] = np.where(frame["score"] == 1, frame["hired"] * 2, frame["hired"])
        said = {}
        for good in (0, 1, 2):
            problem = small_problem(favourable=good, parity=[eh.PairwiseParity(0.4)], distortion=BOTH_WAYS)
            said[good] = eh.fit(problem, frame).audit().sentences("gains", "outcomes")[0]
        assert "towards hired=0 (" in said[0]
        assert "away from it" in said[2]
        assert "hired=1 who did not have it" in said[1]

    def test_both_directions_where_nobody_said_which_outcome_is_good(self):
        mapping = shared_fit(replace(small_problem(), distortion=BOTH_WAYS), small_frame())
        audit = mapping.audit()
        assert audit.ledger is None
        helped, harmed = (
            replace(mapping, problem=replace(mapping.problem, favourable=good)).audit().ledger for good in (1, 0)
        )
        # Who gains one outcome loses the other.
        for way, to in ((helped, 1), (harmed, 0)):
            moves = audit.outcome_changes[audit.outcome_changes["to"] == to].set_index("group")["people"]
            assert moves.to_dict() == pytest.approx(
                way.set_index("group")["helped"][way["helped"].to_numpy() > 0].to_dict()
            )
        *ways, said = audit.sentences("outcomes")
        assert len(ways) == audit.outcome_changes["to"].nunique()
        assert all("group=" in words for words in ways)
        assert "with favourable = LEVEL in it" in said


class TestOtherPeople:
    @pytest.fixture(scope="class")
    @classmethod
    def mapping(cls):
        return eh.fit(small_problem(favourable=0), small_frame())

    def test_the_same_people_have_the_same_ledger(self, mapping):
        assert mapping.audit(small_frame()).ledger.equals(mapping.audit().ledger)

    def test_some_of_them(self, mapping):
        others = small_frame().query("group == 'a' and hired == 1")
        found = mapping.audit(others).ledger
        assert found["group"].tolist() == ["a"]
        assert found["before"].tolist() == [0]
        assert found["helped"].tolist() == pytest.approx([14])
        assert found["helped"].tolist() == pytest.approx((found["after"] * found["weight"]).tolist())

    def test_weights_count(self, mapping):
        found = mapping.audit(small_frame().assign(w=2.5), weights="w")
        assert found.ledger["helped"].tolist() == pytest.approx([35, 0])
        assert "of 500 people by weight 35 get hired=0" in found.sentences("gains")[0]

    def test_a_table_in_which_nobody_has_it(self, mapping):
        found = mapping.audit(small_frame().query("hired == 1")).ledger
        assert found["before"].tolist() == [0, 0]


def test_the_studies(compas_mapping, adult_mapping):
    """Not to reoffend is good, and nobody who does not is said to; a high income is, and some lose it."""
    compas, adult = compas_mapping.audit(), adult_mapping.audit()
    assert compas.ledger["harmed"].sum() == 0
    fall = compas.rates.query("is_recid == 1").eval("(before - after) * weight").sum()
    assert compas.ledger["helped"].sum() == pytest.approx(fall)
    rise = adult.rates.query("income == 1").eval("(after - before) * weight").sum()
    assert adult.ledger.eval("helped - harmed").sum() == pytest.approx(rise)
    falling = adult.ledger.query("after < before - 1e-6")
    assert len(adult.sentences("gains")) == 1 + len(falling)


class TestWarning:
    """A fit that takes the favourable outcome from people warns, with the number by group."""

    def test_the_number_by_group_and_what_to_try(self):
        problem = replace(small_problem(), distortion=BOTH_WAYS, favourable=1)
        with pytest.warns(eh.EvenhandWarning, match="levelled down") as told:
            mapping = eh.fit(problem, small_frame())
        (warning,) = [each.message for each in told if "levelled down" in str(each.message)]
        harmed = mapping.audit().ledger.set_index("group")["harmed"]
        for group, people in harmed[harmed > 0].items():
            assert f"group={group}: {people:,.0f}" in str(warning)
        assert [type(piece).__name__ for piece in warning.advice] == ["Setting", "Setting"]
        assert "eh.FourFifths(favourable=1)" in str(warning)
        assert "'hired': eh.Ordinal(step=1, down=False)" in str(warning)

    def test_what_it_names_takes_it_from_nobody(self):
        one_way = replace(BOTH_WAYS, rules={**BOTH_WAYS.rules, "hired": eh.Ordinal(step=1, down=False)})
        with warnings.catch_warnings():
            warnings.simplefilter("error", eh.EvenhandWarning)
            mapping = eh.fit(replace(small_problem(), distortion=one_way, favourable=1), small_frame())
        assert mapping.audit().ledger["harmed"].max() == 0

    @pytest.mark.slow(keep=4)
    @pytest.mark.parametrize("seed", range(12))
    def test_it_is_warned_where_somebody_loses_it_and_only_there(self, seed):
        problem, frame = random_problem(np.random.default_rng(seed))
        problem = replace(problem, favourable=int(frame["y"].max()), suppress_protected=None)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                mapping = eh.fit(problem, frame)
        except eh.InfeasibleError:
            return
        warned = any("levelled down" in str(each.message) for each in told)
        assert warned == (mapping.audit().ledger["harmed"].sum() >= 0.5)
