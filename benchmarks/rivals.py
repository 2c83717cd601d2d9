"""The same problem by other means: stated in cvxpy, densely or sparsely; given to HiGHS as it is; written for AIF360.

Each returns the mapping it found as ``paper.Moves``, to be judged by the same lines. Both statements in cvxpy and the
plain linear programme say what the problem says. AIF360's OptimPreproc says something of its own: half the ℓ1 distance,
the *difference* of rates between groups, probabilities of excess distortion averaged over groups, and no forbidden
moves; ``write_task`` translates as well as that allows.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import harness
import numpy as np
from paper import Moves
from scipy.sparse import csr_array

import evenhand as eh

FORBIDDEN = 1e4
"""What a forbidden change costs where it can only be priced."""

MEMORY = 8
"""Gigabytes that a dense statement, ours or AIF360's, may take."""

NEVER = 1e3
"""A threshold that forbidden changes alone exceed."""


def dense(problem, counts, solver):
    """Return a function that states the problem over every (d, x, y) → (x̂, ŷ), prunes and solves it.

    It returns the optimum and the mapping; both are None where the solver has no answer.
    """
    import cvxpy as cp

    domain, p = counts.domain, counts.probability
    to_x = np.repeat(counts.features.cells, domain.y.size)
    to_y = np.tile(np.arange(domain.y.size), len(counts.features.cells))
    original = counts.records.at(domain.xy(to_x, to_y))
    n_sources, n_targets = len(counts), len(to_x)

    def run():
        source, target = (a.ravel() for a in np.indices((n_sources, n_targets)))
        cost = problem.distortion.between(domain, counts.x[source], counts.y[source], to_x[target], to_y[target])
        cost = cost.reshape(n_sources, n_targets)
        allowed = np.isfinite(cost)
        kernel = cp.Variable((n_sources, n_targets), nonneg=True)
        released = p @ kernel
        constraints = [cp.sum(kernel, axis=1) == 1, kernel[~allowed] == 0]
        rates = {}
        for group in counts.groups.cells:
            member = np.where(counts.d == group, counts.given("d"), 0.0)
            for y in range(domain.y.size):
                rates[group, y] = (member @ kernel) @ (to_y == y)
        finite = np.where(allowed, cost, 0.0)
        for parity in problem.parity:
            constraints += list(_parity_rows(parity, counts, rates))
        for budget in problem.budgets:
            for charge in budget.charges:
                each = cp.sum(cp.multiply(charge.of(finite), kernel), axis=1)
                if budget.per == "xy":
                    average = np.zeros((len(counts.records.cells), n_sources))
                    average[counts.records.of_source, np.arange(n_sources)] = counts.given("xy")
                    each = average @ each
                constraints.append(each <= charge.limit)
        objective = _utility(problem, original, released)
        value = cp.Problem(cp.Minimize(objective), constraints).solve(solver=solver)
        return value, None if kernel.value is None else Moves.of_dense(kernel.value, to_x, to_y)

    return run


def sparse(problem, counts, solver):
    """Return a function that states the problem over its allowed moves alone, as somebody who knows cvxpy would.

    Released shares and rates of groups are variables, so that parity and utility touch few of them. The list of allowed
    moves is evenhand's own, and is part of the time.
    """
    import cvxpy as cp

    from evenhand.optimize.compile.moves import allowed_moves

    def run():
        moves = allowed_moves(problem, counts)
        targets, target = np.unique(moves.target, return_inverse=True)
        to_x, to_y = counts.domain.split_xy(targets)
        original, outcomes = counts.records.at(targets), counts.domain.y.size
        n = len(moves.source)

        def summed(values, rows, size):
            return csr_array((values, (rows, np.arange(n))), (size, n))

        share = cp.Variable(n, nonneg=True)
        released = cp.Variable(len(targets))
        groups = counts.groups.cells
        rate = cp.Variable(len(groups) * outcomes)
        group = np.searchsorted(groups, counts.d)[moves.source]
        constraints = [
            summed(np.ones(n), moves.source, len(counts)) @ share == 1,
            summed(counts.probability[moves.source], target, len(targets)) @ share == released,
            summed(counts.given("d")[moves.source], group * outcomes + to_y[target], rate.size) @ share == rate,
        ]
        rates = {(d, y): rate[k * outcomes + y] for k, d in enumerate(groups) for y in range(outcomes)}
        for parity in problem.parity:
            constraints += list(_parity_rows(parity, counts, rates))
        for budget in problem.budgets:
            for charge in budget.charges:
                rows, values, size = moves.source, charge.of(moves.distortion), len(counts)
                if budget.per == "xy":
                    values = values * counts.given("xy")[rows]
                    rows, size = counts.records.of_source[rows], len(counts.records.cells)
                constraints.append(summed(values, rows, size) @ share <= charge.limit)
        objective = _utility(problem, original, released)
        value = cp.Problem(cp.Minimize(objective), constraints).solve(solver=solver)
        return value, None if share.value is None else Moves(moves.source, to_x[target], to_y[target], share.value)

    return run


def _utility(problem, original, released):
    """Return Δ in cvxpy: ℓ1, or KL over the cells that the table has."""
    import cvxpy as cp

    if isinstance(problem.utility, eh.L1):
        return cp.norm1(released - original)
    held = original > 0
    return cp.sum(cp.rel_entr(original[held], released[held]))


def _parity_rows(parity, counts, rates):
    """Yield eq. (1) or (2) for every group or pair."""
    groups = counts.groups.cells
    for y in range(counts.domain.y.size):
        if isinstance(parity, eh.TargetParity):
            target = counts.outcome[y]
            for group in groups:
                yield rates[group, y] <= (1 + parity.bound) * target
                yield rates[group, y] >= (1 - parity.bound) * target
        else:
            for a in groups:
                for b in groups:
                    if a != b:
                        yield rates[a, y] <= (1 + parity.bound) * rates[b, y]


def highs(program):
    """Return a function that gives the linear programme to HiGHS's interior point, without crossover.

    It returns the solver, which knows objective, iterations and the columns' values; moves are the first columns.
    """
    import highspy

    from evenhand.optimize.solve.linear import _highs_model, with_epigraph
    from evenhand.optimize.solve.model import lay_out

    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("solver", "ipm"), ("run_crossover", "off"), ("threads", 1)):
        assert solver.setOptionValue(option, value) == highspy.HighsStatus.kOk
    solver.passModel(_highs_model(with_epigraph(lay_out(program), program.loss)))

    def run():
        solver.run()
        return solver

    return run


def ask_aif360(problem, frame, counts, difference, *, limit, rows=0):
    """Let AIF360 fit in its own environment, and transform rows; return what it took and the mapping, if it has one."""
    with tempfile.TemporaryDirectory() as folder:
        write_task(folder, problem, frame, counts, difference)
        script = Path(__file__).with_name("with_aif360.py")
        options = {"python": harness.AIF360, "limit": limit, "memory": MEMORY}
        row = harness.child(script, folder, "--rows", rows, **options)
        return row, None if harness.failed(row) else read_mapping(folder, counts)


def translated(problem, parity_difference):
    """Return AIF360's epsilon, thresholds and limits for a problem.

    Excess budgets are written as they are. An expected distortion of c, where the least cost is 1, is kept by
    Pr[δ ≥ 1] ≤ c together with no cost of 2 or more.
    """
    (budget,) = problem.budgets
    expected = isinstance(budget, eh.ExpectedDistortion)
    excess = {0.99: budget.limit, 1.99: 0.0} if expected else dict(budget.thresholds)
    excess[NEVER] = 0.0
    return {"epsilon": parity_difference, "thresholds": list(excess), "limits": list(excess.values())}


def write_task(folder, problem, frame, counts, parity_difference):
    """Write what ``with_aif360.py`` reads: people as plain text, and the statement as tables."""
    folder = Path(folder)
    domain = counts.domain
    columns = [*problem.protected, *problem.features, problem.outcome]
    frame[columns].astype(str).to_csv(folder / "people.csv", index=False)
    costs = {}
    for variable in (*domain.x.variables, domain.outcome):
        table = np.where(np.isfinite(found := problem.distortion.costs(variable)), found, FORBIDDEN)
        names = [str(level) for level in variable.levels]
        costs[variable.name] = {a: dict(zip(names, row, strict=True)) for a, row in zip(names, table, strict=True)}
    task = {
        "protected": list(problem.protected),
        "features": list(problem.features),
        "outcome": problem.outcome,
        "combine": problem.distortion.combine,
        "costs": costs,
    }
    text = json.dumps(task | translated(problem, parity_difference))
    (folder / "task.json").write_text(text, encoding="utf-8")


def read_mapping(folder, counts):
    """Return what AIF360 learned for the observed (d, x, y), as moves."""
    found = np.load(Path(folder) / "mapping.npz")
    domain = counts.domain
    features = [*domain.x.variables, domain.outcome]

    def codes(texts, variables):
        named = [{str(level): code for code, level in enumerate(v.levels)} for v in variables]
        return np.array([[names[text] for names, text in zip(named, row, strict=True)] for row in texts.tolist()]).T

    sources = codes(found["sources"], [*domain.d.variables, *features])
    targets = codes(found["targets"], features)
    n_groups = len(domain.d.variables)
    d = np.ravel_multi_index(tuple(sources[:n_groups]), domain.d.shape)
    number = (d * domain.x.size + np.ravel_multi_index(tuple(sources[n_groups:-1]), domain.x.shape)) * domain.y.size
    number += sources[-1]
    order = np.argsort(number)
    wanted = (counts.d * domain.x.size + counts.x) * domain.y.size + counts.y
    rows = order[np.searchsorted(number[order], wanted)]
    to_x = np.ravel_multi_index(tuple(targets[:-1]), domain.x.shape)
    return Moves.of_dense(found["probability"][rows], to_x, targets[-1])
