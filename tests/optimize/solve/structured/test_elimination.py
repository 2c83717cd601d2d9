"""The eliminations: separators separate, fronts solve what a dense matrix does, and so does the whole."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from evenhand.errors import SolverError
from evenhand.optimize.solve.structured import dissection, fronts
from evenhand.optimize.solve.structured import layout as layouts
from evenhand.optimize.solve.structured.dissection import dissected
from evenhand.optimize.solve.structured.elimination import Factor
from evenhand.optimize.solve.structured.form import Form, Pieces
from evenhand.optimize.solve.structured.fronts import lay_out_fronts
from evenhand.optimize.solve.structured.layout import lay_out_form
from evenhand.optimize.solve.structured.multifrontal import Multifrontal, inverse_factors
from evenhand.optimize.solve.structured.steps import multiplied, rows_at, transposed


def path(n):
    return [[i, i + 1, i + 2] for i in range(n - 2)]


def star(n):
    return [[0, i] for i in range(1, n)]


def clique(n):
    return [list(range(n))]


def grid(n):
    """Squares of two by two cells."""
    side = int(np.sqrt(n))
    corners = [(i, j) for i in range(side - 1) for j in range(side - 1)]
    return [[(i + a) * side + j + b for a in (0, 1) for b in (0, 1)] for i, j in corners]


def scattered(n):
    """Random sets, which leave some vertices alone."""
    rng = np.random.default_rng(0)
    return [rng.choice(n, rng.integers(1, 5), replace=False).tolist() for _ in range(n // 2)]


def tree(n):
    return [[(i - 1) // 2, i] for i in range(1, n)]


def apart(n):
    """Many small paths, then a long one."""
    return [[i, i + 1] for i in range(n - 1) if i > n // 2 or i % 3]


GRAPHS = [path, star, clique, grid, scattered, tree, apart]


@pytest.fixture(autouse=True, params=[(3, 1, 1), (4, 8, 2), (10, 40, 1), (150, 40, 6)], ids=str)
def sizes(request, monkeypatch):
    """Small leaves make forests of several levels; some fronts are stacked, some are alone."""
    leaf, looped, fewest = request.param
    monkeypatch.setattr(dissection, "LEAF", leaf)
    monkeypatch.setattr(fronts, "LOOPED_FROM", looped)
    monkeypatch.setattr(fronts, "FEWEST", fewest)
    return request.param


def incidence(cliques, n):
    lengths = [len(members) for members in cliques]
    return sparse.csr_array(
        (np.ones(sum(lengths)), np.concatenate(cliques), np.concatenate([[0], np.cumsum(lengths)])),
        shape=(len(cliques), n),
    )


def ways_up(forest):
    """Return for every front the set of itself and all fronts above it."""

    def up(front):
        return set() if front < 0 else {front} | up(forest.above[front])

    return [up(front) for front in range(len(forest.above))]


class TestDissection:
    @pytest.mark.parametrize("graph", GRAPHS)
    def test_coupled_vertices_are_above_one_another(self, graph):
        cliques = graph(100)
        forest = dissected(incidence(cliques, 100))
        assert forest.front.min() >= 0
        assert np.bincount(forest.front).min() > 0
        above = ways_up(forest)
        for members in cliques:
            of = {int(front) for front in forest.front[members]}
            assert any(of <= above[front] for front in of)
        assert forest.depth.tolist() == [len(way) - 1 for way in above]

    def test_what_can_be_cut_is(self, sizes):
        leaf = sizes[0]
        for graph in (path, grid, tree):
            forest = dissected(incidence(graph(144), 144))
            largest = np.bincount(forest.front).max()
            assert largest <= (144 if leaf >= 144 else max(24, leaf))
            assert (forest.depth.max() > 0) == (leaf < 144)

    def test_what_cannot_be_cut_is_one_front(self):
        assert dissected(incidence(clique(144), 144)).above.tolist() == [-1]


@pytest.mark.slow(keep=7)
@pytest.mark.parametrize("graph", GRAPHS)
def test_fronts_solve_what_a_dense_matrix_does(graph):
    n, rng = 100, np.random.default_rng(0)
    cliques = incidence(graph(n), n)
    laid_out = lay_out_fronts(cliques)
    dense, entries = np.zeros((n, n)), np.zeros(laid_out.size)
    for members in np.split(cliques.indices, cliques.indptr[1:-1]):
        members = members[np.argsort(laid_out.number[members])]
        number = laid_out.number[members]
        factor = rng.normal(size=(len(members), len(members)))
        product = factor @ factor.T
        dense[np.ix_(members, members)] += product
        # The first is in the lowest front, which knows all the others.
        home = np.full(len(members), laid_out.front[number[0]])
        place = laid_out.places(home, number)
        row, column = np.tril_indices(len(members))
        np.add.at(entries, laid_out.at(home[row], place[row], place[column]), product[row, column])
    entries[laid_out.diagonal] += 1
    entries[laid_out.filled] += 1
    dense += np.eye(n)
    solved = Multifrontal(laid_out, entries, 0.0)
    for shape in ((n,), (n, 3)):
        right = rng.normal(size=shape)
        values = np.zeros((n + 1, *shape[1:]))
        values[laid_out.number] = right
        solved.forward(values)
        assert (values**2).sum() == pytest.approx((right * np.linalg.solve(dense, right)).sum())
        solved.backward(values)
        assert values[laid_out.number] == pytest.approx(np.linalg.solve(dense, right))
        assert not values[-1].any()


@pytest.mark.parametrize("size", [1, 3, 6, 7, 20])
def test_inverse_factors_read_lower_triangles_alone(size):
    rng = np.random.default_rng(size)
    factor = rng.normal(size=(5, size, size))
    matrix = factor @ factor.transpose(0, 2, 1) + np.eye(size)
    inverse = inverse_factors(np.tril(matrix) + np.triu(np.full(matrix.shape, 7.0), 1))
    assert inverse @ matrix @ inverse.transpose(0, 2, 1) == pytest.approx(np.broadcast_to(np.eye(size), matrix.shape))
    assert not np.triu(inverse, 1).any()
    for no_more in (2 * matrix.max() * np.eye(size), matrix):
        with pytest.raises(np.linalg.LinAlgError):
            inverse_factors(matrix - no_more)


def a_form(cliques, n_release, n_rates, shared, seed):
    """Return a form whose owners reach the given targets, every third with budgets, shared with the next or not."""
    rng = np.random.default_rng(seed)
    reach = [cliques[i] for i in rng.integers(0, len(cliques), 2 * len(cliques))]
    owner = np.repeat(np.arange(len(reach)), [len(members) for members in reach])
    target, size = np.concatenate(reach), len(owner)
    simplex = sparse.csr_array((np.ones(size), (owner, np.arange(size))))
    charged = owner // 3 if shared else owner
    budget = np.where(charged % 3 == 0, charged // 3, -1)
    of = np.flatnonzero(budget >= 0)
    numbers, row = np.unique(budget[of], return_inverse=True)
    budgets = sparse.csr_array((rng.uniform(0.1, 1, len(of)), (row, of)), shape=(len(numbers), size))
    release = sparse.csr_array((rng.uniform(0.5, 1, size), (target, np.arange(size))), shape=(n_release, size))
    rates = sparse.random_array((n_rates, size), density=0.5, rng=rng, format="csr")
    matrix = sparse.vstack([simplex, budgets, release, rates], format="csr")
    row = np.tile(np.arange(n_release), 2)
    pieces = Pieces(
        np.arange(n_release), np.ones(n_release), np.zeros(n_release), row, np.repeat([-1.0, 1.0], n_release),
        np.ones(2 * n_release), np.zeros(2 * n_release),
    )  # fmt: skip
    n_parity, n_m = 2 * n_rates, min(2, n_rates)
    prices = np.zeros(size + len(numbers) + 2 * n_release + 2 * n_m + n_parity)
    return Form(
        matrix, np.ones(matrix.shape[0]), len(reach), len(numbers), n_rates, pieces, prices,
        rng.normal(size=(n_parity, n_rates)), rng.normal(size=(n_parity, n_m)), np.ones(n_parity),
        np.arange(len(numbers)), np.ones(len(numbers)), np.arange(size), np.ones(size),
    )  # fmt: skip


def densely(form, theta, rows, rates, parity):
    """Solve the normal equations written out."""
    columns = [np.concatenate(multiplied(form, column)) for column in np.eye(len(form.prices))]
    matrix = np.array(columns).T
    free = np.zeros((matrix.shape[0], form.n_rates))
    free[form.rate_rows] = -np.eye(form.n_rates)
    free[len(form.right) : len(form.right) + len(form.limit)] = form.on_g
    whole = np.block([[(matrix * theta) @ matrix.T, free], [free.T, np.zeros((form.n_rates, form.n_rates))]])
    return np.linalg.solve(whole, np.concatenate([rows, parity, rates]))[: len(rows) + len(parity)]


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("shared", [False, True], ids=["own budgets", "shared budgets"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_whole_solves_the_normal_equations(graph, shared, monkeypatch):
    # In pieces, as large programmes are laid out.
    monkeypatch.setattr(layouts, "PAIRS_AT_ONCE", 20)
    form = a_form(graph(36), 36, 4, shared, seed=len(graph.__name__))
    rng = np.random.default_rng(0)
    theta = 10 ** rng.uniform(-1, 1, len(form.prices))
    rows, rates = rng.normal(size=len(form.right)), rng.normal(size=form.n_rates)
    parity = rng.normal(size=len(form.limit) + form.on_m.shape[1])
    y, small = Factor(form, lay_out_form(form), theta).solve(rows, rates, parity)
    assert np.concatenate([y, small]) == pytest.approx(densely(form, theta, rows, rates, parity), rel=1e-6, abs=1e-6)


def test_without_rates_there_is_no_border():
    form = a_form(path(36), 36, 0, shared=False, seed=0)
    rng = np.random.default_rng(0)
    theta, rows = rng.uniform(0.5, 2, len(form.prices)), rng.normal(size=len(form.right))
    y, small = Factor(form, lay_out_form(form), theta).solve(rows, np.zeros(0), np.zeros(0))
    assert small.shape == (0,)
    assert y == pytest.approx(densely(form, theta, rows, np.zeros(0), np.zeros(0)), abs=1e-6)


@pytest.mark.slow(keep=9)
@pytest.mark.parametrize("graph", GRAPHS)
def test_rates_that_cannot_move_leave_the_other_rows_their_digits(graph):
    """Where r is held and rates hang on it, rounding is all that is left of the parity rows."""
    form, rng = a_form(graph(36), 36, 4, shared=False, seed=0), np.random.default_rng(0)
    release = form.matrix[form.release_rows].toarray()
    rates = sparse.csr_array(rng.uniform(size=(form.n_rates, form.n_release)) @ release)
    form = replace(
        form,
        matrix=sparse.vstack([form.matrix[: form.release_rows.stop], rates], format="csr"),
        on_m=np.zeros((len(form.limit), 0)),
    )
    theta = 10 ** rng.uniform(3, 6, form.parts["t"].stop)
    theta[form.parts["v"]] = theta[form.parts["t"]] = 1e-14
    # What some step makes of the rows, so that there is one.
    rows, parity = rows_at(form, 1e-6 * theta * rng.normal(size=len(theta)), rng.normal(size=form.n_rates))
    y, small = Factor(form, lay_out_form(form), theta).solve(rows, np.zeros(form.n_rates), parity)
    made, _ = multiplied(form, theta * transposed(form, y, small))
    assert made[: form.n_local] == pytest.approx(rows[: form.n_local], abs=1e-13)


def test_what_is_not_positive_definite_is_said():
    form = a_form(path(36), 36, 4, shared=False, seed=0)
    theta = np.full(len(form.prices), -1.0)
    with pytest.raises(SolverError, match="singular"):
        Factor(form, lay_out_form(form), theta)
