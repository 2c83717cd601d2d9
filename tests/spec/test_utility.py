"""Every measure: what it is worth, its derivatives, its conjugate or its linear programme, and its rule at p = 0."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog, minimize_scalar
from scipy.special import rel_entr, xlogy

import evenhand as eh
from evenhand.spec import utility as u

P = np.array([0.5, 0.3, 0.2, 0.0])
HALF_LOG_2 = np.log(2) / 2


def squares(**options):
    return u.Separable(
        lambda p, r: (r - p) ** 2, lambda p, r: 2 * (r - p), lambda p, r: np.full_like(p, 2.0), **options
    )


def kl_by_hand():
    return u.Separable(
        lambda p, r: rel_entr(p, r), lambda p, r: -p / r, lambda p, r: p / r**2, name="KL, written by hand"
    )


def reverse_by_hand():
    """No number at r = 0 and none at p = 0: neither is looked at."""
    return u.Separable(
        lambda p, r: r * np.log(r / p), lambda p, r: np.log(r / p) + 1, lambda p, r: 1 / r, new_cells=False
    )


def entropy():
    return u.Bregman(lambda t: t * np.log(t), lambda t: np.log(t) + 1, lambda t: 1 / t)


def energy():
    return u.Bregman(lambda t: t**2, lambda t: 2 * t, lambda t: np.full_like(t, 2.0))


def energy_by_quotients():
    """No number at 0 itself, neither the generator nor its derivative; mass may go there all the same."""
    return u.Bregman(lambda t: t**3 / t, lambda t: 2 * t**2 / t, lambda t: np.full_like(t, 2.0))


def largest_gain(**options):
    return u.Quasiconvex(lambda p, r: np.max(r - p), lambda p, level: (np.eye(len(p)), p + level), **options)


BUILT_IN_SMOOTH = [
    u.KL(),
    u.ReverseKL(),
    u.PearsonChi2(),
    u.NeymanChi2(),
    u.Hellinger(),
    u.JensenShannon(),
    u.SquaredL2(),
]
USER_SMOOTH = [squares(), kl_by_hand(), reverse_by_hand(), entropy(), energy()]
SMOOTH = BUILT_IN_SMOOTH + USER_SMOOTH
POLYHEDRAL = [u.L1(), u.TotalVariation(), u.MaxRelativeChange()]
BUILT_IN = BUILT_IN_SMOOTH + POLYHEDRAL
CONVEX = SMOOTH + POLYHEDRAL
EVERY = [*CONVEX, largest_gain(), u.Recorded("recorded", 0.0, -1.0)]
BARRED = {"ReverseKL", "PearsonChi2", "MaxRelativeChange"}


def named(measure):
    return type(measure).__name__ + str(getattr(measure, "new_cells", ""))


def each(measures):
    return pytest.mark.parametrize("measure", measures, ids=named)


def random_r(generator, p, measure, emptied=0):
    """A distribution on the cells that the measure allows, some of them without mass."""
    allowed = np.flatnonzero((p > 0) | measure.new_cells)
    r = np.zeros_like(p)
    r[allowed] = generator.dirichlet(np.ones(len(allowed)))
    r[allowed[:emptied]] = 0
    return r / r.sum()


def random_p(generator):
    p = generator.dirichlet(np.ones(5))
    p[generator.integers(0, 5, 1)] = 0
    return p / p.sum()


# --- values -----------------------------------------------------------------------------------------------------


@each(EVERY)
def test_nothing_is_lost_from_p_to_p(measure):
    assert measure.value(P, P) == 0
    if measure is not EVERY[-1]:
        assert measure.check(P) is None


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (u.KL(), 0.5 * np.log(0.5 / 0.25) + 0.3 * np.log(0.3 / 0.6) + 0.2 * np.log(0.2 / 0.15)),
        (u.ReverseKL(), 0.25 * np.log(0.25 / 0.5) + 0.6 * np.log(0.6 / 0.3) + 0.15 * np.log(0.15 / 0.2)),
        (u.PearsonChi2(), 0.0625 / 0.5 + 0.09 / 0.3 + 0.0025 / 0.2),
        (u.NeymanChi2(), 0.0625 / 0.25 + 0.09 / 0.6 + 0.0025 / 0.15),
        (u.Hellinger(), 1 - np.sqrt(0.125) - np.sqrt(0.18) - np.sqrt(0.03)),
        (
            u.JensenShannon(),
            (0.5 * np.log(0.5 / 0.375) + 0.3 * np.log(0.3 / 0.45) + 0.2 * np.log(0.2 / 0.175)) / 2
            + (0.25 * np.log(0.25 / 0.375) + 0.6 * np.log(0.6 / 0.45) + 0.15 * np.log(0.15 / 0.175)) / 2,
        ),
        (u.SquaredL2(), 0.0625 + 0.09 + 0.0025),
        (u.L1(), 0.6),
        (u.TotalVariation(), 0.3),
        (u.MaxRelativeChange(), 1.0),
    ],
    ids=lambda given: type(given).__name__,
)
def test_values_by_hand(measure, expected):
    assert measure.value(P, np.array([0.25, 0.6, 0.15, 0.0])) == pytest.approx(expected, rel=1e-13)


# For r = (0, 0.5, 0.5) from p = (0.5, 0.5, 0): what each measure says of an emptied and of a new cell.
@pytest.mark.parametrize(
    ("measure", "emptied", "new"),
    [
        (u.KL(), np.inf, 0.0),
        (u.ReverseKL(), 0.0, np.inf),
        (u.PearsonChi2(), 0.5, np.inf),
        (u.NeymanChi2(), np.inf, 0.5),
        (u.Hellinger(), 0.25, 0.25),
        (u.JensenShannon(), 0.5 * HALF_LOG_2, 0.5 * HALF_LOG_2),
        (u.SquaredL2(), 0.25, 0.25),
        (u.L1(), 0.5, 0.5),
        (u.TotalVariation(), 0.25, 0.25),
        (u.MaxRelativeChange(), 1.0, np.inf),
        (kl_by_hand(), np.inf, 0.0),
        (reverse_by_hand(), 0.0, np.inf),
        (entropy(), 0.5, np.inf),
        (energy(), 0.25, 0.25),
        (energy_by_quotients(), 0.25, 0.25),
    ],
    ids=named,
)
def test_emptied_and_new_cells(measure, emptied, new):
    p = np.array([0.5, 0.5, 0.0])
    assert measure.value(p, np.array([0.0, 0.5, 0.0])) == pytest.approx(emptied)
    assert measure.value(p, np.array([0.5, 0.5, 0.5])) == pytest.approx(new)
    assert measure.new_cells == np.isfinite(new)


@each(BUILT_IN)
def test_a_built_in_measure_has_no_fields_and_says_on_its_class_whether_new_cells_are_allowed(measure):
    assert not dataclasses.fields(measure)
    assert type(measure)() == measure
    assert type(measure).new_cells is (type(measure).__name__ not in BARRED)


@pytest.mark.slow(keep=3)
@each(CONVEX)
@given(st.integers(0, 10**6))
def test_convex_on_segments(measure, seed):
    generator = np.random.default_rng(seed)
    p = random_p(generator)
    ends = [random_r(generator, p, measure) for _ in range(2)]
    share = generator.random()
    middle = measure.value(p, (1 - share) * ends[0] + share * ends[1])
    chord = (1 - share) * measure.value(p, ends[0]) + share * measure.value(p, ends[1])
    assert 0 <= middle <= chord * (1 + 1e-12) + 1e-14


# --- derivatives ------------------------------------------------------------------------------------------------


def differences(function, r, step=1e-5):
    """Central differences of a function's sum over cells in each r, by steps relative to r."""
    moves = np.diag(step * r)
    return np.array([(function(r + move) - function(r - move)) / (2 * move.sum()) for move in moves])


@each(SMOOTH)
@pytest.mark.parametrize("r", [[0.25, 0.6, 0.15, 0.0], [0.85, 0.05, 0.1, 0.0], [0.25, 0.6, 0.1, 0.05]], ids=str)
def test_derivatives(measure, r):
    r = np.array(r)
    cells = (P > 0) | (measure.new_cells & (r > 0))
    if not measure.new_cells:
        r[3] = 0
    at = np.maximum(r, 1e-300)
    slopes = differences(lambda r: measure.value(P[cells], r), r[cells])
    assert measure.gradient(P, at)[cells] == pytest.approx(slopes, rel=1e-6, abs=1e-8)
    bends = differences(lambda r: measure.gradient(P[cells], r).sum(), r[cells])
    assert measure.curvature(P, at)[cells] == pytest.approx(bends, rel=1e-6, abs=1e-8)


@each(SMOOTH)
@pytest.mark.parametrize("smallest", [1e-12, 1e-100, 1e-300])
def test_derivatives_are_numbers_near_empty_cells(measure, smallest):
    r = np.array([smallest, 0.5, 0.5, smallest])
    for found in (measure.gradient(P, r), measure.curvature(P, r)):
        assert not np.isnan(found).any()
        assert np.isfinite(found[1:3]).all()
    assert np.isfinite(measure.gradient(P, r)[3])
    assert np.all(measure.curvature(P, r)[3] >= 0)
    assert measure.gradient(P, r)[0] <= measure.gradient(P, np.array([0.1, 0.4, 0.5, 0.0]) + 1e-300)[0]


@each(SMOOTH)
def test_barred_cells_have_no_derivatives(measure):
    if not measure.new_cells:
        r = np.array([0.2, 0.3, 0.3, 0.2])
        assert measure.gradient(P, r)[3] == measure.curvature(P, r)[3] == 0


@each(SMOOTH)
def test_the_decisive_cells_are_the_curved_ones(measure):
    r = np.array([0.2, 0.3, 0.3, 0.2])
    assert measure.decides(P).tolist() == (measure.curvature(P, r) > 0).tolist()
    everywhere = isinstance(measure, u.SquaredL2) or measure in (USER_SMOOTH[0], USER_SMOOTH[4])
    assert measure.decides(P).tolist() == [True, True, True, everywhere]


# --- conjugates -------------------------------------------------------------------------------------------------


@pytest.mark.slow(keep=1)
@each(CONVEX)
@given(st.integers(0, 10**6))
def test_the_infimum_is_a_lower_bound(measure, seed):
    generator = np.random.default_rng(seed)
    p = random_p(generator)
    slope = measure.clip(p, generator.normal(scale=10.0 ** generator.uniform(-3, 1.5), size=5))
    least = measure.infimum(p, slope)
    assert np.isfinite(least)
    for emptied in (0, 0, 0, 1, 2):
        r = random_r(generator, p, measure, emptied)
        assert least <= measure.value(p, r) - slope @ r + 1e-12 * (1 + abs(least))


@pytest.mark.slow(keep=2)
@each(SMOOTH)
@given(st.integers(0, 10**6))
def test_the_gradient_reaches_the_infimum(measure, seed):
    generator = np.random.default_rng(seed)
    p = random_p(generator)
    r = random_r(generator, p, measure)
    slope = measure.gradient(p, np.maximum(r, 1e-300))
    assert measure.clip(p, slope) == pytest.approx(slope, rel=1e-15)
    reached = measure.value(p, r) - slope @ r
    assert measure.infimum(p, slope) == pytest.approx(reached, rel=1e-9, abs=1e-13)


@pytest.mark.slow
@each(BUILT_IN_SMOOTH)
@given(st.floats(0.05, 1.0), st.floats(-4, 3))
def test_the_infimum_of_one_cell_is_found_by_search(measure, p, slope):
    """One cell at a time, and r searched beyond one: the closed form is the infimum over all r ≥ 0."""
    p, slope = np.array([p]), measure.clip(np.array([p]), np.array([slope]))

    def objective(logarithm):
        r = np.exp([logarithm])
        return (signed(measure, p, r) or measure.value(p, r)) - float(slope[0] * r[0])

    least = measure.infimum(p, slope)
    grid = [objective(t) for t in np.linspace(-30, 12, 400)]
    start = np.linspace(-30, 12, 400)[int(np.argmin(grid))]
    found = minimize_scalar(objective, bounds=(start - 0.2, start + 0.2), method="bounded", options={"xatol": 1e-10})
    assert least <= found.fun + 1e-9 * (1 + abs(least))
    if start < 11.5:
        assert least == pytest.approx(found.fun, rel=1e-6, abs=1e-8)


def signed(measure, p, r):
    """KL and its reverse without the clamp at zero, which holds for distributions only; 0 for others."""
    terms = {u.KL: xlogy(p, p / r), u.ReverseKL: xlogy(r, r / p)}
    return float(np.sum(terms.get(type(measure), 0.0)))


@pytest.mark.slow(keep=1)
@each(BUILT_IN)
@given(st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4))
def test_clipped_multipliers_have_a_finite_infimum(measure, multipliers):
    clipped = measure.clip(P, np.array(multipliers))
    assert np.isfinite(measure.infimum(P, clipped))
    assert np.all(clipped <= np.array(multipliers))
    assert measure.clip(P, clipped) == pytest.approx(clipped, rel=1e-12)


@pytest.mark.slow(keep=1)
@each(CONVEX)
@given(st.lists(st.floats(-1e308, 1e308), min_size=4, max_size=4))
def test_an_infimum_is_never_nan(measure, multipliers):
    assert not np.isnan(measure.infimum(P, np.array(multipliers)))


@pytest.mark.parametrize(
    ("measure", "held", "empty"),
    [
        (u.KL(), 0.0, 1e-9),
        (u.NeymanChi2(), 1 + 1e-9, 1 + 1e-9),
        (u.Hellinger(), 0.5, 0.5 + 1e-9),
        (u.JensenShannon(), np.nextafter(HALF_LOG_2, 1), np.nextafter(HALF_LOG_2, 1)),
        (u.L1(), 1 + 1e-9, 1 + 1e-9),
        (u.TotalVariation(), 0.5 + 1e-9, 0.5 + 1e-9),
        (u.MaxRelativeChange(), 2 + 1e-9, None),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_edge_of_the_domain(measure, held, empty):
    """Beyond the edge, at p = .5 and at p = 0, the infimum is minus infinity; clip goes back to the edge only."""
    for cell, edge in ((0, held), (3, empty)):
        if edge is not None:
            slope = -np.ones(4)
            slope[cell] = edge
            assert measure.infimum(P, slope) == -np.inf
            clipped = measure.clip(P, slope)
            assert np.isfinite(measure.infimum(P, clipped))
            assert clipped == pytest.approx(slope, abs=1e-8)


@each([m for m in CONVEX if not m.new_cells])
def test_multipliers_of_barred_cells_do_not_matter(measure):
    slope = np.array([0.1, -0.2, 0.3, 0.0])
    for barred in (-50.0, 50.0):
        slope[3] = barred
        assert measure.clip(P, slope)[3] == barred
        assert measure.infimum(P, slope) == measure.infimum(P, slope * [1, 1, 1, 0])


def test_jensen_shannon_is_exact_at_the_edge():
    """At the largest multiplier that is a double, 2 − exp 2λ is 2 (log 2 − 2λ), of which doubles see nothing."""
    exact = 0.5 * np.log(2 * 2.3190468138462996e-17)
    assert u.JensenShannon().infimum(np.array([1.0]), np.array([HALF_LOG_2])) == pytest.approx(exact, rel=1e-12)


def test_the_infimum_of_the_largest_change_is_that_of_a_linear_programme():
    generator = np.random.default_rng(3)
    for scale in (0.3, 1.0, 3.0, 30.0) * 10:
        p = generator.dirichlet(np.ones(4))
        slope = u.MaxRelativeChange().clip(p, generator.normal(scale=scale, size=4))
        shape = np.hstack([np.ones((4, 1)), np.zeros((4, 4))])
        rows = np.vstack([np.hstack([-shape[:, :1], np.diag(1 / p)]), np.hstack([-shape[:, :1], -np.diag(1 / p)])])
        limits = np.concatenate([np.ones(4), -np.ones(4)])
        least = linprog(np.concatenate([[1.0], -slope]), A_ub=rows, b_ub=limits, bounds=(0, None)).fun
        assert u.MaxRelativeChange().infimum(p, slope) == pytest.approx(least, abs=1e-7)


# --- epigraphs --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each(POLYHEDRAL)
@given(st.integers(0, 10**6))
def test_the_epigraph_gives_the_value(measure, seed):
    generator = np.random.default_rng(seed)
    p = random_p(generator)
    r = random_r(generator, p, measure, emptied=int(generator.integers(0, 2)))
    assert least_cost(measure, p, r) == pytest.approx(measure.value(p, r), abs=1e-8)


def least_cost(measure, p, r):
    """Solve for v with r given; None where there is no v."""
    epigraph = measure.epigraph(p)
    right = epigraph.right - epigraph.on_r @ r
    return linprog(epigraph.cost, A_eq=epigraph.on_v, b_eq=right, bounds=(0, None)).fun


def test_the_epigraph_of_the_largest_change_bars_new_cells():
    assert least_cost(u.MaxRelativeChange(), P, np.array([0.5, 0.3, 0.1, 0.1])) is None


@each(POLYHEDRAL)
def test_the_epigraph_is_sparse(measure):
    epigraph = measure.epigraph(P)
    assert sparse.issparse(epigraph.on_r)
    assert sparse.issparse(epigraph.on_v)
    assert epigraph.on_v.shape == (len(epigraph.right), len(epigraph.cost))


# --- users' measures: equal to the built-in ones --------------------------------------------------------------------


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    ("mine", "built_in", "offset"),
    [
        (squares(), u.SquaredL2(), 0.0),
        (kl_by_hand(), u.KL(), 0.0),
        (reverse_by_hand(), u.ReverseKL(), 0.0),
        (energy(), u.SquaredL2(), 0.0),
        # Σ r log(r/p) − r + p: the same on distributions, its slope less by one.
        (entropy(), u.ReverseKL(), 1.0),
    ],
    ids=lambda given: named(given) if isinstance(given, u.Utility) else "",
)
def test_a_users_measure_equals_the_built_in_one(mine, built_in, offset):
    generator = np.random.default_rng(1)
    assert mine.new_cells == built_in.new_cells
    for _ in range(50):
        p = random_p(generator)
        r = random_r(generator, p, built_in)
        inner = np.maximum(r, 1e-300)
        held = (p > 0) | mine.new_cells
        assert mine.value(p, r) == pytest.approx(built_in.value(p, r), abs=1e-14)
        assert mine.gradient(p, inner) == pytest.approx(built_in.gradient(p, inner) - offset * held, abs=1e-12)
        assert mine.curvature(p, inner) == pytest.approx(built_in.curvature(p, inner), rel=1e-12)
        assert mine.decides(p).tolist() == built_in.decides(p).tolist()
        # Multipliers whose best r is within the unit interval, where both infima are one.
        slope = built_in.gradient(p, np.maximum(generator.random(5), 1e-3)) - (p == 0)
        expected = built_in.infimum(p, slope) + offset * p.sum()
        assert mine.infimum(p, slope - offset * held) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_beyond_the_unit_interval_the_bound_is_the_infimum_within_it():
    slope = np.array([30.0, -30.0, 0.0, 30.0])
    expected = (0.25 - 30) + 0.3**2 + 0 + (1 - 30)
    assert squares().infimum(P, slope) == pytest.approx(expected)
    assert squares().clip(P, slope) is slope


def test_a_measure_may_weigh_its_cells():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    weighted = u.Separable(
        lambda p, r: weights * (r - p) ** 2, lambda p, r: 2 * weights * (r - p), lambda p, r: 2 * weights
    )
    weighted.check(P)
    r = np.array([0.4, 0.3, 0.2, 0.1])
    assert weighted.value(P, r) == pytest.approx(0.05)
    slope = weighted.gradient(P, r)
    assert weighted.infimum(P, slope) == pytest.approx(0.05 - slope @ r)


def test_a_curvature_may_jump():
    """Losses count twice: convex, with a jump of the curvature at r = p and within the grid."""

    def weight(p, r):
        return np.where(r < p, 2.0, 1.0)

    lopsided = u.Separable(
        lambda p, r: weight(p, r) * (r - p) ** 2,
        lambda p, r: 2 * weight(p, r) * (r - p),
        lambda p, r: 2 * weight(p, r),
    )
    lopsided.check(P)
    lopsided.check(np.array([0.0999, 0.1001, 0.8, 0.0]))


def test_a_linear_measure_decides_nothing():
    linear = u.Separable(lambda p, r: r - p, lambda p, r: np.ones_like(p), lambda p, r: np.zeros_like(p))
    linear.check(P)
    assert not linear.decides(P).any()


def test_equality_and_hash_are_those_of_the_functions():
    def value(p, r):
        return (r - p) ** 2

    assert u.Separable(value, value, value) == u.Separable(value, value, value)
    assert hash(u.Separable(value, value, value)) == hash(u.Separable(value, value, value))
    assert u.Separable(value, value, value) != u.Separable(value, value, value, name="another")
    assert squares() != squares()
    assert u.Quasiconvex(value, value) == u.Quasiconvex(value, value)
    assert entropy() != entropy()
    with pytest.raises(dataclasses.FrozenInstanceError):
        squares().name = "changed"


@each([u.KL(), u.ReverseKL(), u.JensenShannon(), entropy(), energy()])
def test_rounding_does_not_make_a_divergence_negative(measure):
    generator = np.random.default_rng(2)
    for _ in range(200):
        p = generator.dirichlet(np.ones(5))
        r = p * (1 + 1e-9 * generator.normal(size=5))
        assert measure.value(p, r / r.sum()) >= 0


def test_names():
    assert squares().name == "a user's measure"
    assert squares(name="mine").name == "mine"
    assert entropy().name
    assert largest_gain().name


# --- users' measures: what check() refuses --------------------------------------------------------------------------


def separable(value=None, gradient=None, curvature=None, **options):
    right = squares()
    return u.Separable(
        value or right.cell_value, gradient or right.cell_gradient, curvature or right.cell_curvature, **options
    )


def logarithms():
    """Of p as well, which is no number where p = 0."""
    return u.Separable(
        lambda p, r: (np.log(r) - np.log(p)) * p, lambda p, r: p / r, lambda p, r: p / r, name="logarithms"
    )


CONCAVE = u.Separable(lambda p, r: np.sqrt(r), lambda p, r: r**-0.5 / 2, lambda p, r: -(r**-1.5) / 4, name="roots")


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (CONCAVE, r"curvature of roots at p = 0\.5, r = 0\.5 is negative, so the measure is not convex in r: -0\.7071"),
        (
            separable(lambda p, r: r**3 - 0.3 * r**2, lambda p, r: 3 * r**2 - 0.6 * r, lambda p, r: 6 * r - 0.6),
            r"r = 1e-06 is negative, so the measure is not convex in r: -0\.59",
        ),
        (separable(lambda p, r: np.sum(r - p)), r"value of a user's measure must be .* of shape \(4,\), not \(\)"),
        (separable(gradient=lambda p, r: r[:2]), r"gradient .* must be one number per cell: .* not \(2,\)"),
        (separable(curvature=lambda p, r: 2.0), r"curvature .* must be one number per cell: .* not \(\)"),
        (separable(lambda p, r: np.where(r == 1, np.nan, (r - p) ** 2)), r"value .* r = 1 is not a finite number: nan"),
        (
            separable(gradient=lambda p, r: (r - p) ** 3 * 0 / (r - p)),
            r"gradient .* p = 0\.5, r = 0\.5 is not a finite",
        ),
        (
            separable(curvature=lambda p, r: 2 / p),
            r"curvature .* p = 0, .* not a finite number: inf; .* new_cells=False",
        ),
        (logarithms(), r"value of logarithms at p = 0, r = 1 is not a finite number: nan; .* say new_cells=False"),
        (separable(gradient=lambda p, r: r - p), r"gradient .* disagrees with differences of the value: .*where the"),
        (separable(gradient=lambda p, r: 2 * (r - p) + 0.01), r"gradient .* disagrees with differences of the value"),
        (separable(lambda p, r: 1.05 * (r - p) ** 2), r"gradient .* disagrees with differences of the value"),
        (separable(curvature=lambda p, r: np.ones_like(p)), r"curvature .* disagrees with differences of the gradient"),
        (
            separable(curvature=lambda p, r: np.full_like(p, 2.05)),
            r"curvature .* disagrees with differences of the grad",
        ),
        (u.Bregman(lambda t: -(t**2), lambda t: -2 * t, lambda t: -2 + 0 * t), r"Bregman .* is not convex in r: -2"),
        (u.Bregman(lambda t: t**2, lambda t: t, lambda t: 1 + 0 * t), r"gradient of a user's Bregman .* disagrees"),
        (
            u.Bregman(lambda t: t**2, lambda t: 2 * t, lambda t: 1 + 0 * t),
            r"curvature of a user's Bregman .* disagrees",
        ),
        (u.Bregman(lambda t: np.sum(t), lambda t: 2 * t, lambda t: 1 + 0 * t), r"generator of .* one number per cell"),
        (
            u.Bregman(lambda t: 1 / (t - 1), lambda t: t, lambda t: t),
            r"value of a user's Bregman .* r = 1 is not a fin",
        ),
    ],
)
def test_check_refuses(measure, message):
    with pytest.raises(eh.SpecError, match=message):
        measure.check(P)


def test_a_check_at_p_zero_is_only_for_open_cells():
    logs = reverse_by_hand()
    logs.check(P)
    with pytest.raises(eh.SpecError, match="p = 0"):
        u.Separable(logs.cell_value, logs.cell_gradient, logs.cell_curvature).check(P)


def test_functions_of_barred_cells_may_say_anything():
    """Finite, but contradicting one another where p = 0."""
    measure = separable(gradient=lambda p, r: np.where(p > 0, 2 * (r - p), -7.0), new_cells=False)
    measure.check(P)
    assert measure.gradient(P, np.full(4, 0.25))[3] == 0


def test_a_value_that_is_no_number_is_refused_when_met():
    broken = separable(lambda p, r: np.where(r > 0.9, np.nan, r))
    with pytest.raises(eh.SpecError, match=r"value .* at p = 0\.3, r = 0\.95 is not a number"):
        broken.value(P, np.array([0.0, 0.95, 0.05, 0.0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: u.Separable(1, np.add, np.add), "the value of Separable must be a function, not 1"),
        (
            lambda: u.Separable(np.add, np.add, None, name="mine"),
            "the curvature of Separable must be a function, not None",
        ),
        (lambda: u.Bregman(np.exp, "exp", np.exp), "the derivative of .* must be a function, not 'exp'"),
        (lambda: u.Bregman(np.exp, np.sum, np.exp), r"the derivative of .* one number per cell: .*\(1,\), not \(\)"),
        (lambda: u.Quasiconvex(np.add, [[1.0]]), "the sublevel of .* must be a function"),
    ],
)
def test_refused_when_built(make, message):
    with pytest.raises(eh.SpecError, match=message):
        make()


# --- quasiconvex ----------------------------------------------------------------------------------------------------


def test_a_quasiconvex_measure():
    measure = largest_gain(highest=1.0)
    measure.check(P)
    r = np.array([0.4, 0.2, 0.3, 0.1])
    assert measure.value(P, r) == pytest.approx(0.1)
    assert isinstance(measure.value(P, r), float)
    assert measure.infimum(P, r) == -np.inf
    assert measure.clip(P, r) is r
    matrix, limit = measure.sublevel(P, 0.05)
    assert sparse.issparse(matrix)
    assert limit == pytest.approx(P + 0.05)


def test_sublevel_sets_may_be_sparse_and_values_may_be_infinite():
    def rows(p, level):
        eye = sparse.eye_array(len(p), format="csc")
        return sparse.vstack([eye, -eye]), np.concatenate([(1 + level) * p, -(1 - level) * p])

    change = u.Quasiconvex(u.MaxRelativeChange().value, rows, new_cells=False)
    change.check(P)
    assert dataclasses.astuple(change)[-1] is False
    u.Quasiconvex(u.MaxRelativeChange().value, rows).check(P)
    everything = u.Quasiconvex(lambda p, r: float(np.any(r != p)), lambda p, level: (np.eye(4), p + np.floor(level)))
    everything.check(P)


def test_of_few_levels_each_is_looked_at():
    """A value of 0, 1 or 2, whose sublevel sets hold everything from 1 on."""
    steps = u.Quasiconvex(
        lambda p, r: float(np.any(r > p + 0.1)) + float(np.any(r > p + 0.2)),
        lambda p, level: (np.eye(4), p + (0.1 if level < 1 else 1.0)),
    )
    with pytest.raises(eh.SpecError, match=r"lies inside its sublevel set of the level 1\.5"):
        steps.check(np.full(4, 0.25))


def gain(value=None, sublevel=None, **options):
    right = largest_gain()
    return u.Quasiconvex(value or right.measure, sublevel or right.rows, name="gain", **options)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (gain(lambda p, r: r - p), r"value of gain must be one number, not an array of shape \(4,\)"),
        (gain(lambda p, r: np.nan), "value of gain is not a number"),
        (gain(lambda p, r: np.inf), "value of gain at r = p must be finite, not inf"),
        (gain(sublevel=lambda p, level: (np.eye(3), p + level)), r"matrix of 4 columns.*\(3, 3\) and \(4,\)"),
        (gain(sublevel=lambda p, level: (np.eye(4), (p + level)[:, None])), r"\(4, 4\) and \(4, 1\)"),
        (gain(sublevel=lambda p, level: (np.eye(4) * np.nan, p + level)), "entries that are no numbers"),
        (gain(sublevel=lambda p, level: (np.eye(4), p * np.nan)), "level 0 has entries that are no numbers"),
        (gain(sublevel=lambda p, level: (np.eye(4), p + level - 0.1)), "p lies outside .* of gain at its own level, 0"),
        (gain(sublevel=lambda p, level: (np.eye(4), p + 2 * level)), "lies inside its sublevel set"),
        (gain(sublevel=lambda p, level: (np.eye(4), p + level / 2)), "lies outside its sublevel set"),
        (gain(highest=0.01), r"gain reaches 0\.\d+, above the level 0\.01 given as its highest"),
    ],
)
def test_check_refuses_wrong_sublevel_sets(measure, message):
    with pytest.raises(eh.SpecError, match=message):
        measure.check(P)


# --- recorded -------------------------------------------------------------------------------------------------------


def test_a_recorded_measure_says_what_was_recorded():
    kept = u.Recorded("mine", 0.25, -0.5)
    assert kept.value(P, P[::-1]) == 0.25
    assert kept.infimum(P, P) == -0.5
    assert kept.clip(P, P) is P
    assert kept.new_cells
    assert u.Recorded("mine", 0.25, None).infimum(P, P) == -np.inf
    with pytest.raises(eh.SpecError, match="'mine' was a user's function and is only recorded here"):
        kept.check(P)
    assert kept == u.Recorded("mine", 0.25, -0.5)


def test_every_name_is_exported():
    assert {type(measure).__name__ for measure in EVERY} <= set(u.__all__)
    assert all(hasattr(u, name) for name in u.__all__)
