"""A user's own J: the built-in optimum where the formula is built in, its own bound met where it is not."""

import cvxpy as cp
import numpy as np
import oracle
import pytest
from families import small_frame, small_problem
from formulations import table

import evenhand as eh

FALLS = eh.Ordinal(1, up=False)


def ratio(p, q):
    return np.abs(np.divide(p, q, out=np.where(p > 0, np.inf, 1.0), where=q > 0) - 1)


def difference(p, q):
    return np.abs(p - q)


def log_ratio(p, q):
    return np.abs(np.log(np.divide(p, q, out=np.where(p > 0, np.inf, 1.0), where=q > 0)))


def chi_square(p, q):
    return np.divide((p - q) ** 2, p + q, out=np.zeros_like(p), where=p + q > 0)


def root_difference(p, q):
    return np.abs(np.sqrt(p) - np.sqrt(q))


def problem(*parity, **changes):
    """A statement in which parity has its price; half of the outcomes may rise."""
    statement = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": parity,
        "distortion": eh.Distortion({"f0": FALLS, "f1": FALLS, "y": FALLS}),
        "budget": eh.ExpectedDistortion(0.8),
    }
    return eh.Problem(**{**statement, **changes})


TARGET = {0: 0.75, 1: 0.25}
KINDS = {
    "pairwise": lambda bound, distance: eh.PairwiseParity(bound, distance),
    "reference": lambda bound, distance: eh.PairwiseParity(bound, distance, against={"sex": "f", "race": "a"}),
    "segments": lambda bound, distance: eh.PairwiseParity(bound, distance, on=["sex"], given=["f0"]),
    "target": lambda bound, distance: eh.TargetParity(bound, TARGET, distance),
    "released": lambda bound, distance: eh.TargetParity(
        bound, TARGET, distance, on=["sex"], given=["f0"], released=True
    ),
}


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    ("function", "own", "bound"),
    [(ratio, eh.Ratio(), 0.2), (difference, eh.Difference(), 0.08), (log_ratio, eh.LogRatio(), 0.2)],
    ids=["ratio", "difference", "log-ratio"],
)
def test_the_same_optimum_as_the_built_in(function, own, bound, kind):
    built_in = eh.fit(problem(kind(bound, own)), table(0))
    users = eh.fit(problem(kind(bound, eh.UserDistance(function))), table(0))
    assert built_in.objective > 1e-4
    assert users.objective == pytest.approx(built_in.objective, abs=1e-6)
    assert users.certificate.status == "optimal"


def densely(distance, p, q, bound, whole=1.0):
    """The curved distances as cones."""
    if distance.function is chi_square:
        yield cp.quad_over_lin(p - q, p + q) <= bound
    else:
        yield p + q - 2 * cp.geo_mean(cp.hstack([p, q])) <= bound**2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("function", "bound"), [(chi_square, 0.005), (root_difference, 0.03)])
@pytest.mark.parametrize("kind", ["pairwise", "target"])
def test_a_curved_distance_is_met_and_nothing_meets_it_for_less(seed, function, bound, kind, monkeypatch):
    monkeypatch.setattr(oracle, "apart", densely)
    statement = problem(KINDS[kind](bound, eh.UserDistance(function)), utility=eh.L1())
    counts = eh.count(statement, table(seed))
    mapping = eh.fit(statement, counts)
    rates = mapping.achieved.rates_after
    others = rates[:, None, :] if kind == "pairwise" else np.array([TARGET[0], TARGET[1]])[None, None, :]
    values = function(*np.broadcast_arrays(rates[None, :, :], others))
    assert values.max() == pytest.approx(bound, rel=1e-3), "the bound is reached"
    assert values.max() <= bound + 1e-9
    status, value = oracle.Dense(statement, counts).solve()
    assert status == "optimal"
    assert value > 1e-3
    assert value - 1e-7 <= mapping.objective <= value * (1 + 1e-4)
    assert mapping.certificate.gap <= 1e-7


def capped(p, q):
    return np.maximum(np.maximum(p - q, q - p), 1.5 * (p - 1.2 * q))


def one_sided(p, q):
    return np.maximum(q - p, 0)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    ("function", "bound"),
    [
        (ratio, 0.05), (ratio, 0.3), (ratio, 1.5), (difference, 0.3), (chi_square, 0.001), (chi_square, 0.1),
        (root_difference, 0.01), (root_difference, 0.5), (capped, 0.05), (one_sided, 0.1),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)  # fmt: skip
def test_the_polygon_lies_within_the_set_and_nearly_fills_it(function, bound):
    lines = np.array(eh.UserDistance(function).tabulated([bound], None).pieces[0].lines)
    rng = np.random.default_rng(0)
    p, q = rng.random((2, 80_000))
    # Many of them near the corners and sides of the unit square, and near the boundary of the set.
    p[:20_000], q[:20_000] = p[:20_000] ** 4, q[:20_000] ** 4
    p[20_000:40_000], q[20_000:40_000] = 1 - p[20_000:40_000] ** 4, 1 - q[20_000:40_000] ** 4
    p[40_000:60_000] = np.round(p[40_000:60_000])
    on_p, on_q, limit = lines[rng.integers(len(lines), size=20_000)].T
    q[60_000:] = np.clip((limit - on_p * p[60_000:]) / on_q + rng.normal(0, 1e-5, 20_000), 0, 1)
    beyond = np.max(lines[:, :2] @ np.array([p, q]) - lines[:, 2:], axis=0)
    meets = function(p, q) <= bound
    assert function(p, q)[beyond <= 0].max() <= bound + 1e-12
    assert beyond[meets].max() <= 1e-4
    assert 0 < meets.sum() < len(p)


def test_lines_reach_the_corners_of_a_distance_with_steps():
    def far(p, q):
        return 1.0 * (ratio(p, q) > 0.3)

    lines = np.array(eh.UserDistance(far).tabulated([0.5], None).pieces[0].lines)
    for corner, beyond in (((0, 0), 0), ((1, 1), 0), ((1, 1 / 1.3), 1e-4), ((0.7, 1), 1e-4)):
        assert np.max(lines @ [*corner, -1.0]) <= beyond


def test_only_equal_rates():
    """A set without an inside; and one that is thinner than the grid, which has one."""
    assert eh.UserDistance(difference).tabulated([0.0], None).pieces[0].lines == ((1, -1, 0), (-1, 1, 0))
    lines = np.array(
        eh.UserDistance(lambda p, q: np.where(p < q, np.inf, p - q)).tabulated([1e-4], None).pieces[0].lines
    )
    assert np.max(lines @ [0.5, 0.5 - 9.99e-5, -1.0]) <= 0
    assert np.max(lines @ [0.5, 0.5 - 1.001e-4, -1.0]) > 0


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    "parity", [eh.PairwiseParity, lambda bound, distance: eh.TargetParity(bound, TARGET, distance)]
)
def test_rates_that_exceed_the_function_are_refused(parity):
    """A J that is larger in a place too small for any grid, where the mapping's rates happen to be."""
    mapping = eh.fit(problem(parity(0.08, eh.UserDistance(difference))), table(0))
    found = mapping.achieved.parity[0]
    at = int(np.flatnonzero(found.excess < -1e-3)[0])

    def spiked(p, q):
        near = np.maximum(np.abs(p - found.rate[at]), np.abs(q - found.other[at])) < 1e-6
        return np.where(near, 0.2, np.abs(p - q))

    with pytest.raises(eh.SpecError, match=r"mine is 0\.2 at p=0.*, beyond its bound 0\.08.* it is not quasiconvex"):
        eh.fit(problem(parity(0.08, eh.UserDistance(spiked, "mine"))), table(0))


def test_rates_that_meet_the_bound_stay_as_they_are_near_one():
    frame = small_frame().assign(hired=lambda f: (f.index % 100 > 0).astype(int))
    parity = eh.PairwiseParity(eh.By(0.3, [({"hired": 0}, 5.0)]), eh.UserDistance(ratio))
    assert (eh.fit(small_problem(parity=[parity]), frame).table()["probability"] == 1).all()


def test_a_bound_that_everything_meets():
    parity = eh.PairwiseParity(2.0, eh.UserDistance(difference))
    assert (eh.fit(small_problem(parity=[parity]), small_frame()).table()["probability"] == 1).all()


def test_a_target_needs_an_interval_only():
    def lopsided(p, q):
        """Quasiconvex in p for every q, but not in both together."""
        return np.abs(p - q) * (1 + 3 * np.sin(3 * q))

    mapping = eh.fit(problem(eh.TargetParity(0.1, TARGET, eh.UserDistance(lopsided))), table(0))
    values = lopsided(mapping.achieved.rates_after, np.array([TARGET[0], TARGET[1]]))
    assert values.max() == pytest.approx(0.1, abs=1e-6)
    assert values.max() <= 0.1 + 1e-9
    with pytest.raises(eh.SpecError, match="mine is not quasiconvex in both arguments together"):
        eh.fit(problem(eh.PairwiseParity(0.1, eh.UserDistance(lopsided, "mine"))), table(0))


@pytest.mark.slow
def test_infeasible_says_what_would_do():
    for parity in (eh.PairwiseParity(0.01, eh.UserDistance(difference)), eh.PairwiseParity(0.01, eh.Difference())):
        tight = small_problem(parity=[parity], budget=eh.ExpectedDistortion(0.05))
        with pytest.raises(eh.InfeasibleError) as error:
            eh.fit(tight, small_frame())
        assert error.value.smallest_parity_bound == pytest.approx(0.175, abs=1e-6)


def wavy(p, q):
    return np.sin(9 * np.abs(p - q))


def failing(p, q):
    raise ZeroDivisionError("no q")


PAIRWISE = {
    "NaN": (lambda p, q: np.full_like(p, np.nan), "mine returned NaN at p="),
    "NaN at zero": (lambda p, q: np.abs(p / q - 1), "mine returned NaN at p=0, q=0"),
    "a scalar": (lambda p, q: 0.1, r"mine returned the shape \(\) for arrays"),
    "None": (lambda p, q: None, r"mine returned the shape \(\)"),
    "words": (lambda p, q: "far", "mine failed on arrays of probabilities: ValueError"),
    "raises": (failing, "mine failed on arrays of probabilities: ZeroDivisionError: no q"),
    "not quasiconvex": (wavy, "mine is not quasiconvex in both arguments together"),
    "never small": (lambda p, q: np.abs(p - q) + 0.5, "no rates meet mine ≤ 0.2: raise the bound"),
}
AGAINST_TARGET = {
    "NaN": (PAIRWISE["NaN"][0], r"mine returned NaN at p=0, q=0\.[46]"),
    "raises": PAIRWISE["raises"],
    "not quasiconvex": (wavy, "mine is not quasiconvex in its first argument: against 0.4 it rises and falls again"),
    "never small": (lambda p, q: np.abs(p - q) + 0.5, "mine is at least 0.5 against the target 0.4: nothing meets 0.2"),
}


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize(("function", "words"), PAIRWISE.values(), ids=PAIRWISE)
def test_bad_distances_between_groups(function, words):
    with pytest.raises(eh.SpecError, match=words):
        eh.fit(small_problem(parity=[eh.PairwiseParity(0.2, eh.UserDistance(function, "mine"))]), small_frame())


@pytest.mark.parametrize(("function", "words"), AGAINST_TARGET.values(), ids=AGAINST_TARGET)
def test_bad_distances_from_a_target(function, words):
    with pytest.raises(eh.SpecError, match=words):
        eh.fit(small_problem(parity=[eh.TargetParity(0.2, distance=eh.UserDistance(function, "mine"))]), small_frame())


def test_rates_a_rounding_beyond_one_are_probabilities():
    distance = eh.UserDistance(lambda p, q: np.abs(np.sqrt(1 - p) - np.sqrt(1 - q)))
    assert distance.value(np.array([1 + 1e-15, -1e-17]), np.array([1.0, 0.0])).tolist() == [0.0, 0.0]


def test_a_function_has_no_lines_and_a_table_no_values():
    with pytest.raises(eh.SpecError, match="must be tabulated first"):
        eh.UserDistance(ratio).lines(np.array([0.1]))
    kept = eh.UserDistance(difference, "mine").tabulated([0.1], None)
    with pytest.raises(eh.SpecError, match="mine was tabulated for its bounds alone"):
        kept.value(np.array([0.1]), np.array([0.2]))
    with pytest.raises(eh.SpecError, match=r"mine was not tabulated for the bound 0.2"):
        kept.lines(np.array([0.2]))
    with pytest.raises(eh.SpecError, match="function of UserDistance must be a function"):
        eh.UserDistance(0.1)
