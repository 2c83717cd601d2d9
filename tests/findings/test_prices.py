"""Prices are derivatives: each lies between what relaxing its bound a little gains and what tightening it costs."""

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from formulations import DISTORTIONS, PARITIES, all_pairs, problem_of, table

import evenhand as eh

pytestmark = pytest.mark.turns(4)

STEP = 1e-3
NOISE = 1e-6
CLOSE = 1e-3
WORTH = 1e-5


def objective(problem, counts):
    return eh.fit(replace(problem, tie_break=None), counts).objective


def right_and_left(relaxed, counts, at, step=STEP):
    """The gain of relaxing and the cost of tightening, per unit; ``relaxed`` gives the problem at a step."""
    right = (at - objective(relaxed(step), counts)) / step
    try:
        left = (objective(relaxed(-step), counts) - at) / step
    except eh.InfeasibleError:
        left = math.inf
    return right, left


def assert_price(price, right, left, what):
    low, high = min(right, left), max(right, left)
    assert low - NOISE <= price <= high + NOISE, (what, right, price, left)
    if price > WORTH and high - low <= 5e-3 * price:
        assert price == pytest.approx((right + left) / 2, rel=CLOSE), what


def listed(prices, level):
    """The prices of one level by name."""
    rows = prices.frame[prices.frame["level"] == level]
    return dict(zip(rows["where"], rows["price"], strict=True))


def named(labels):
    return ", ".join(f"{column}={level}" for column, level in labels.items())


def groups(counts):
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def test_the_price_of_the_papers_bound(compas_mapping):
    prices = compas_mapping.prices()
    assert prices.parity[0] == pytest.approx(0.125659, abs=1e-5)
    assert prices.budgets[0] == pytest.approx(0, abs=1e-6)
    assert listed(prices, "outcome")["is_recid=1"] == pytest.approx(0.125659, abs=1e-5)
    assert sum(listed(prices, "pair").values()) == pytest.approx(0.125659, abs=1e-5)
    assert "0.125659" in repr(prices)
    (listed_prices,) = prices.sections[0].tables
    assert listed_prices.values("level") == ["total", "outcome", "pair", "pair"], "what costs nothing is left out"
    assert sum(listed_prices.values("price")) == pytest.approx(3 * prices.parity[0])


class Tight:
    """COMPAS at c = .25 and ε = .24, where people and parity pull at one another."""

    def __init__(self, compas):
        self.counts = compas.counts
        self.problem = replace(compas.problem, parity=[eh.PairwiseParity(0.24)], budget=eh.ExpectedDistortion(0.25))
        self.mapping = eh.fit(self.problem, self.counts)
        self.prices = self.mapping.prices()

    def check_parity(self, price, where=None):
        def relaxed(step):
            bound = 0.24 + step if where is None else eh.By(0.24, [(where, 0.24 + step)])
            return replace(self.problem, parity=[eh.PairwiseParity(bound)])

        assert_price(price, *right_and_left(relaxed, self.counts, self.mapping.objective), where)

    def check_budget(self, price, where=None):
        def relaxed(step):
            limit = 0.25 + step if where is None else eh.By(0.25, [(where, 0.25 + step)])
            return replace(self.problem, budget=eh.ExpectedDistortion(limit))

        assert_price(price, *right_and_left(relaxed, self.counts, self.mapping.objective), where)


@pytest.fixture(scope="module")
def tight(compas):
    return Tight(compas)


def test_totals(tight):
    assert tight.prices.parity[0] > 0.05
    tight.check_parity(tight.prices.parity[0])
    assert tight.prices.budgets[0] > 0.001
    tight.check_budget(tight.prices.budgets[0])


def test_outcomes(tight):
    for y in (0, 1):
        tight.check_parity(listed(tight.prices, "outcome")[f"is_recid={y}"], {"is_recid": y})


@pytest.mark.slow
def test_pairs(tight):
    """Of both orders of a pair at once, listed or not."""
    found = listed(tight.prices, "pair")
    assert found
    for a, b in itertools.combinations(groups(tight.counts), 2):
        for y in (0, 1):
            orders = [f"is_recid={y}: {named(d)} against {named(e)}" for d, e in ((a, b), (b, a))]
            price = sum(found.get(order, 0.0) for order in orders)
            tight.check_parity(price, {**a, "is_recid": y, "against": b})


@pytest.mark.slow
def test_groups(tight):
    found = listed(tight.prices, "group")
    assert sum(found.values()) == pytest.approx(tight.prices.budgets[0])
    for labels in groups(tight.counts):
        tight.check_budget(found[named(labels)], labels)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 71])
def test_cells(tight, first):
    counts, cells = tight.counts, tight.prices.cells[0]
    assert len(cells) == 142
    for i in range(first, first + 71):
        where = {
            **counts.domain.d.labels(int(counts.d[i])),
            **counts.domain.x.labels(int(counts.x[i])),
            **counts.domain.y.labels(int(counts.y[i])),
        }
        tight.check_budget(cells[i], where)


def test_cells_that_cost_something_are_listed_by_name(tight):
    found, cells, counts = listed(tight.prices, "cell"), tight.prices.cells[0], tight.counts
    assert len(found) == (cells > 1e-9).sum() > 5
    dearest = int(np.argmax(cells))
    name = counts.domain.words(int(counts.d[dearest]), int(counts.x[dearest]), int(counts.y[dearest]))
    assert next(iter(found.items())) == (name, cells[dearest])


def problem(parity, budget):
    return eh.Problem(
        protected=["sex", "race"],
        features=["f0", "f1"],
        outcome="y",
        parity=parity,
        distortion=DISTORTIONS["sum"]("falls"),
        budget=budget,
    )


ROWS = all_pairs()


def with_parity(problem, number, step):
    """The problem with all bounds of one constraint changed."""
    parts = [p.with_bounds(lambda b: b + step) if i == number else p for i, p in enumerate(problem.parity)]
    return replace(problem, parity=parts)


def with_charge(problem, number, step):
    """The problem with all limits above zero of one charge changed."""
    parts, first = [], 0
    for budget in problem.budgets:
        mine = range(first, first := first + len(budget.charges))
        if number not in mine:
            parts.append(budget)
        elif isinstance(budget, eh.ExpectedDistortion):
            parts.append(budget.with_limits(lambda c: c + step if c > 0 else c))
        else:
            which = list(budget.thresholds)[number - mine.start]
            one = eh.ExcessDistortion({which: budget.thresholds[which]}).with_limits(lambda c: c + step if c > 0 else c)
            parts.append(replace(budget, thresholds={**budget.thresholds, **one.thresholds}))
    return replace(problem, budget=parts)


def check_totals(stated, counts, mapping, prices, step=1e-4):
    """The total of each constraint and of each charge against refits."""
    trials = [(price, partial(with_parity, stated, i)) for i, price in enumerate(prices.parity)]
    trials += [(price, partial(with_charge, stated, i)) for i, price in enumerate(prices.budgets)]
    for price, relaxed in trials:
        ends = right_and_left(relaxed, counts, mapping.objective, step)
        margin = 1e-5 + 1e-4 * price
        assert min(ends) - margin <= price <= max(ends) + margin, (relaxed, ends, price)


@pytest.mark.slow
@pytest.mark.parametrize("parity", PARITIES)
def test_every_form_of_bound(parity):
    """Every formulation that loses something: its constraints and its charges, each as a whole."""
    checked = 0
    for number, row in enumerate(ROWS):
        if row[1] != parity:
            continue
        stated = replace(problem_of(row, number), tie_break=None)
        counts = eh.count(stated, table(number))
        try:
            mapping = eh.fit(stated, counts)
        except eh.InfeasibleError:
            continue
        if mapping.objective < 1e-6:
            continue
        checked += 1
        prices = mapping.prices()
        check_totals(stated, counts, mapping, prices)
        by_level = prices.frame[prices.frame["kind"] == "parity"].groupby("level")["price"].sum()
        assert by_level["outcome"] == pytest.approx(by_level["total"], abs=1e-9)
        assert by_level.get("pair", 0.0) == pytest.approx(by_level["total"], abs=1e-7)
    assert checked >= 2


@pytest.mark.slow
def test_adult_at_a_vertex(adult, adult_mapping):
    """ℓ1 is polyhedral: right and left differ where a basis changes, and the price is between them."""
    prices = adult_mapping.prices()
    assert prices.parity[0] > 0.01
    check_totals(adult.problem, adult.counts, adult_mapping, prices)
    assert not (prices.frame["level"] == "group").any(), "an average over the groups is no group's own budget"


def test_bounds_that_vary_are_shown_with_their_own_prices():
    stated = problem(
        [eh.PairwiseParity(eh.By(0.6, [({"y": 0}, 0.7)]))],
        eh.ExpectedDistortion(eh.By(0.5, [({"sex": "f"}, 0.4), ({"sex": "f", "race": "a"}, 0.0)])),
    )
    frame = eh.fit(stated, table(3)).prices().frame
    bounds = {(row.level, row.where): row.bound for row in frame.itertuples()}
    assert bounds["outcome", "y=0"] == 0.7
    assert bounds["outcome", "y=1"] == 0.6
    assert bounds["group", "sex=f, race=b"] == 0.4
    assert bounds["group", "sex=m, race=b"] == 0.5
    assert bounds["total", "all limits above zero"] == 0.4


def test_a_limit_of_zero_has_no_price():
    """It rules moves out from the start; what lies beyond was not looked at, so zero would be a lie."""
    stated = problem([eh.PairwiseParity(0.6)], eh.ExpectedDistortion(eh.By(0.5, [({"sex": "f", "race": "a"}, 0.0)])))
    counts = eh.count(stated, table(3))
    prices = eh.fit(stated, counts).prices()
    nobody = np.array([counts.domain.d.words(int(d)) == "sex=f, race=a" for d in counts.d])
    assert np.isnan(prices.cells[0][nobody]).all()
    assert not np.isnan(prices.cells[0][~nobody]).any()
    assert math.isnan(listed(prices, "group")["sex=f, race=a"])
    assert prices.budgets[0] == pytest.approx(prices.cells[0][~nobody].sum())


def test_a_users_distance_has_lines_but_no_price():
    stated = problem([eh.PairwiseParity(0.1, eh.UserDistance(lambda p, q: np.abs(p - q)))], eh.ExpectedDistortion(0.6))
    prices = eh.fit(stated, table(3)).prices()
    assert math.isnan(prices.parity[0])
    assert prices.budgets[0] >= 0
    assert set(prices.frame.loc[prices.frame["kind"] == "parity", "level"]) == {"total"}


def test_nothing_costs_anything_where_nobody_need_change(compas):
    prices = eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.7)]), compas.counts).prices()
    assert prices.parity == (0.0,)
    assert prices.budgets == (0.0,)
    assert not prices.frame["level"].isin(["pair", "cell"]).any()
    assert str(prices) == ""


@pytest.mark.slow
def test_local_optima_have_no_prices():
    stated = replace(
        problem_of(("KL", "pairwise", "expected", "sum", "suppressed"), 1), suppress_protected="alternating"
    )
    with pytest.raises(eh.SpecError, match="multipliers of a convex optimum"):
        eh.fit(stated, table(3)).prices()
