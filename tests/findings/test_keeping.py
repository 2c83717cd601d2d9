"""Whether one table keeps every bound, and what the rounding to whole people does."""

from dataclasses import replace

import pandas as pd
import pytest
from families import small_frame, small_problem
from releases import shares

import evenhand as eh
from evenhand.findings.keeping import bound_with_room, excess_at_most, room_words, rooms, verdict
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import distances


def table(hired_of_a, of_a, hired_of_b, of_b):
    """A table of two groups with so many people hired."""
    people = [("a", 1)] * hired_of_a + [("a", 0)] * (of_a - hired_of_a)
    people += [("b", 1)] * hired_of_b + [("b", 0)] * (of_b - hired_of_b)
    return pd.DataFrame(people, columns=["group", "hired"]).assign(score=1)


def problem(*parity):
    return eh.Problem(
        protected=["group"],
        features=["score"],
        outcome="hired",
        utility=eh.KL(),
        parity=list(parity),
        distortion=eh.Distortion({"hired": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(1.0),
    )


def judged(frame, *parity, weights=None):
    asked = problem(*parity)
    counts = eh.count(asked, frame, weights=weights)
    return verdict(counts, distances(asked, counts, unchanged(counts)))


def test_kept():
    found = judged(table(40, 100, 20, 50), eh.PairwiseParity(0.1))
    assert found.kept
    assert (found.bounds, found.exceeded, found.one_person) == (4, 0, False)
    assert found.words.startswith("this very table keeps every one of its 4 parity bounds; nearest: hired=")
    assert judged(table(40, 100, 20, 50), eh.TargetParity(0.1, target={0: 0.6, 1: 0.4})).kept


def test_exceeded_and_by_how_much():
    """A rate of 0.5 is a quarter above 0.4, which is a fifth below it: as much as is allowed."""
    found = judged(table(50, 100, 20, 50), eh.PairwiseParity(0.2))
    assert not found.kept
    assert (found.bounds, found.exceeded) == (4, 1)
    assert not judged(table(50, 100, 20, 50), eh.PairwiseParity(0.05)).one_person
    assert "this very table exceeds 1 of its 4 parity bounds" in found.words
    worst = "hired=1: group=a 0.500 against group=b 0.400, 0.250 apart where 0.2 is allowed"
    assert f"the worst by 0.05: {worst}" in found.words


@pytest.mark.parametrize(("hired", "one"), [(49, True), (50, True), (53, False)])
def test_less_than_one_person(hired, one):
    """48 and 20 keep the fifth: one person of either group makes the difference, or it does not."""
    assert judged(table(48, 100, 20, 50), eh.PairwiseParity(0.2)).kept
    found = judged(table(hired, 100, 20, 50), eh.PairwiseParity(0.2))
    assert found.exceeded
    assert found.one_person == one
    assert ("by less than one person's outcome" in found.words) == one


def test_with_weights_a_person_is_no_unit():
    frame = table(49, 100, 20, 50).assign(w=2.0)
    assert judged(frame, eh.PairwiseParity(0.2)).one_person
    assert not judged(frame, eh.PairwiseParity(0.2), weights="w").one_person


def test_a_rate_of_nothing_is_infinitely_far():
    found = judged(table(1, 100, 0, 50), eh.PairwiseParity(0.2))
    assert "the worst by infinite" in found.words
    assert found.one_person


def test_no_bound():
    found = judged(table(40, 100, 20, 50))
    assert found.kept
    assert found.words == "there is nothing to compare: no parity bound is about the people of this table"


class TestRoom:
    def room(self, frame, *parity):
        asked = problem(*parity)
        counts = eh.count(asked, frame)
        (part,) = distances(asked, counts, unchanged(counts))
        (room,) = rooms(counts, [part])
        return None if room is None else bound_with_room(part, room)

    def test_the_bound_to_fit_with(self):
        """0.48 against 0.4 is a fifth; 0.49 against 0.38 is 0.28947 apart, so the bound must be smaller by 0.08947."""
        assert self.room(table(48, 100, 20, 50), eh.PairwiseParity(0.2)) == 0.11
        assert self.room(table(41, 100, 20, 50), eh.PairwiseParity(0.2)) is None

    def test_a_target_does_not_move(self):
        parity = eh.TargetParity(0.2, target={0: 0.6, 1: 0.4})
        assert self.room(table(48, 100, 480, 1000), parity) == 0.175

    def test_the_rest_is_off_by_as_many_as_its_groups(self):
        frame = pd.concat([table(48, 100, 20, 50), table(20, 50, 20, 50).replace({"a": "c", "b": "d"})])
        each = self.room(frame, eh.PairwiseParity(0.2))
        rest = self.room(frame, eh.PairwiseParity(0.2, against="rest"))
        assert 0 < each < rest < 0.2

    def test_groups_that_are_too_small(self):
        asked = problem(eh.PairwiseParity(0.2))
        counts = eh.count(asked, table(6, 10, 5, 10))
        (words,) = room_words(counts, distances(asked, counts, unchanged(counts)))
        assert "too small for a bound" in words

    def test_whole_numbers_are_not_rounded(self):
        """Nobody changes: the table is its own release, and exceeds its bound by what it does."""
        asked = problem(eh.PairwiseParity(0.2))
        for hired, excess in ((48, 0.0), (50, 0.05), (46, -0.05)):
            counts = eh.count(asked, table(hired, 100, 20, 50))
            (part,) = distances(asked, counts, unchanged(counts))
            assert excess_at_most(counts, part) == pytest.approx(excess)

    def test_every_rounding_then_keeps_the_bound(self):
        data = eh.datasets.load("compas")
        mapping = eh.fit(data.problem, data.counts)
        (part,) = mapping.achieved.parity
        smaller = bound_with_room(part, rooms(mapping.counts, [part])[0])
        (words,) = room_words(mapping.counts, mapping.achieved.parity)
        assert f"by a mapping fitted with {smaller:g} instead of 0.1, where that can be met, always keeps 0.1" in words
        most = excess_at_most(mapping.counts, part)
        assert f"exceeds it by {most:.2g} at most" in words
        for seed in range(5):
            found = mapping.realised(mapping.release(data.frame, seed=seed, draw="balanced"))
            assert found.verdict.worst.apart <= 0.1 + most + 1e-9
        roomy = eh.fit(replace(data.problem, parity=[eh.PairwiseParity(smaller)]), data.counts)
        again = distances(data.problem, roomy.counts, roomy.kernel)
        assert rooms(roomy.counts, again) == (None,)
        assert all(roomy_file(roomy, data, seed) for seed in range(5))


def roomy_file(roomy, data, seed):
    """Whether one balanced release keeps the bound that the data's problem asks for."""
    released = roomy.release(data.frame, seed=seed, draw="balanced")
    counts = eh.count(data.problem, released)
    return verdict(counts, distances(data.problem, counts, unchanged(counts))).kept


def test_bounds_that_differ():
    bound = eh.By(0.2, [({"hired": 1}, 0.3)])
    asked = problem(eh.PairwiseParity(bound))
    counts = eh.count(asked, table(52, 100, 20, 50))
    (words,) = room_words(counts, distances(asked, counts, unchanged(counts)))
    assert "one by a mapping whose bounds are smaller by 0.0" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "as_stated", "room", "with_room"),
    [("compas", (0.26, 0.0, 1.0), 0.092, (0.53, 1.0, 1.0)), ("adult", (0.15, 0.0, 1.0), 0.148, None)],
)
def test_the_shares_that_the_guide_tells(name, as_stated, room, with_room):
    """Of 200 releases, independent, balanced, and balanced but for less than one person; to a few of them."""
    stated, smaller = shares(name).items()
    assert stated[1] == pytest.approx(as_stated, abs=0.03)
    assert smaller[0] == room
    assert smaller[1] == (None if with_room is None else pytest.approx(with_room, abs=0.03))


def test_groups_that_have_nobody_are_named():
    mapping = eh.fit(small_problem(), small_frame())
    alone = small_frame().query("group == 'a'")
    found = mapping.realised(alone)
    assert found.kept is None
    assert found.verdict.words.startswith("nobody is counted of 1 of the 2 fitted groups: (group=b); there is nothing")
    assert mapping.audit(alone).verdict[0] == "nobody is counted of 1 of the 2 fitted groups: (group=b)"
    weighed = small_frame().assign(w=lambda f: 1.0 * (f["group"] == "a"))
    assert mapping.realised(weighed, weights="w").kept is None


def test_segments_that_people_may_leave_are_not_judged():
    stated = {"parity": [eh.PairwiseParity(0.3, given=["score"])]}
    mapping = eh.fit(small_problem(**stated), small_frame())
    found = mapping.realised(mapping.release(small_frame(), draw="balanced"))
    assert found.kept is None
    assert "its segments are those of score before the release" in found.verdict.words
    rules = eh.Distortion({"score": eh.Fixed(), "hired": eh.Ordinal(1)})
    fixed = eh.fit(small_problem(**stated, distortion=rules), small_frame())
    assert fixed.realised(fixed.release(small_frame(), draw="balanced")).kept is not None
