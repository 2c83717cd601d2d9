"""The same problem stated densely, in plain loops and cvxpy: an independent reading of the paper's equations.

Nothing here imports evenhand's compilation or solvers; only the statement (problem, counts) is shared, and the
distortion is computed anew from the rules' fields.
"""

from __future__ import annotations

import itertools
import math
import warnings

import cvxpy as cp
import numpy as np

import evenhand as eh


def step_cost(rule, levels, a, b):
    """The cost of changing one column from code a to code b."""
    if a == b or isinstance(rule, eh.Free):
        return 0.0
    if rule is None or isinstance(rule, eh.Fixed):
        return math.inf
    if isinstance(rule, eh.Nominal):
        return float(rule.cost)
    if rule.max_steps is not None and abs(b - a) > rule.max_steps:
        return math.inf
    if b > a:
        return (b - a) * (rule.step if rule.up_step is None else rule.up_step) if rule.up else math.inf
    return (a - b) * rule.step if rule.down else math.inf


def distortion(problem, domain, xy, to):
    """δ((x, y), (x̂, ŷ)) for tuples of codes, the outcome last."""
    variables = [*domain.x.variables, domain.outcome]
    costs = [
        step_cost(problem.distortion.rules.get(v.name), v.levels, a, b)
        for v, a, b in zip(variables, xy, to, strict=True)
    ]
    if problem.distortion.combine == "max":
        return max(costs)
    if problem.distortion.combine == "sum_of_squares":
        return sum(c**2 for c in costs[:-1]) + costs[-1]
    return sum(costs)


class Dense:
    """The dense statement: one variable for every allowed (d, x, y) → (x̂, ŷ)."""

    def __init__(self, problem, counts):
        self.problem = problem
        domain = counts.domain
        shape_x = domain.x.shape
        total = counts.weight.sum()
        self.p = {}
        for d, x, y, w in zip(counts.d, counts.x, counts.y, counts.weight, strict=True):
            codes = tuple(int(c) for c in np.unravel_index(int(x), shape_x))
            self.p[int(d), (*codes, int(y))] = w / total
        observed_x = {xy[:-1] for _, xy in self.p}
        every_x = list(itertools.product(*(range(n) for n in shape_x)))
        to_x = [x for x in every_x if problem.targets == "all" or x in observed_x]
        self.targets = [(*x, y) for x in to_x for y in range(domain.y.size)]
        self.moves, self.delta = [], []
        for source in self.p:
            for target in self.targets:
                cost = distortion(problem, domain, source[1], target)
                if math.isfinite(cost):
                    self.moves.append((source, target))
                    self.delta.append(cost)
        self.delta = np.array(self.delta)
        self.groups = sorted({d for d, _ in self.p})
        self.n_outcomes = domain.y.size
        self.x = cp.Variable(len(self.moves), nonneg=True)
        self.target = self._target(counts)

    def _target(self, counts):
        p_y = [sum(p for (_, xy), p in self.p.items() if xy[-1] == y) for y in range(self.n_outcomes)]
        return np.array(p_y)

    def by(self, keys, weights):
        """A matrix that adds up weighted moves by key, and the order of the keys."""
        order = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        matrix = np.zeros((len(order), len(self.moves)))
        for column, (key, weight) in enumerate(zip(keys, weights, strict=True)):
            matrix[order[key], column] += weight
        return matrix, list(order)

    def rates(self):
        """{(d, ŷ): expression of p(ŷ|d)}."""
        p_d = {d: sum(p for (g, _), p in self.p.items() if g == d) for d in self.groups}
        keys = [(s[0], t[-1]) for s, t in self.moves]
        matrix, order = self.by(keys, [self.p[s] / p_d[s[0]] for s, _ in self.moves])
        found = {key: matrix[i] @ self.x for i, key in enumerate(order)}
        return {(d, y): found.get((d, y), cp.Constant(0)) for d in self.groups for y in range(self.n_outcomes)}

    def constraints(self):
        sums, _ = self.by([s for s, _ in self.moves], np.ones(len(self.moves)))
        yield sums @ self.x == 1
        rates = self.rates()
        for parity in self.problem.parity:
            for y in range(self.n_outcomes):
                if isinstance(parity, eh.TargetParity):
                    target = self.target[y] if parity.target is None else parity.target.get(y, 0.0)
                    for d in self.groups:
                        yield rates[d, y] <= (1 + parity.bound) * target
                        yield rates[d, y] >= (1 - parity.bound) * target
                else:
                    for a, b in itertools.permutations(self.groups, 2):
                        yield rates[a, y] <= (1 + parity.bound) * rates[b, y]
                        yield rates[a, y] >= (1 - parity.bound) * rates[b, y]
        yield from self.budgets()

    def budgets(self):
        p_xy = {}
        for (_, xy), p in self.p.items():
            p_xy[xy] = p_xy.get(xy, 0.0) + p
        for budget in self.problem.budgets:
            if isinstance(budget, eh.ExpectedDistortion):
                charges = [(self.delta, budget.limit)]
            else:
                charges = [((self.delta > t) * 1.0, c) for t, c in budget.thresholds.items()]
            for amount, limit in charges:
                if budget.per == "individual":
                    matrix, _ = self.by([s for s, _ in self.moves], amount)
                else:
                    share = [self.p[s] / p_xy[s[1]] for s, _ in self.moves]
                    matrix, _ = self.by([s[1] for s, _ in self.moves], amount * np.array(share))
                yield matrix @ self.x <= limit

    def objective(self):
        matrix, order = self.by([t for _, t in self.moves], [self.p[s] for s, _ in self.moves])
        p = np.zeros(len(order))
        for (_, xy), mass in self.p.items():
            p[order.index(xy)] += mass
        released = matrix @ self.x
        if isinstance(self.problem.utility, eh.L1):
            return cp.norm1(released - p)
        held = p > 0
        return cp.sum(cp.rel_entr(p[held], released[held]))

    def solve(self, solver=cp.CLARABEL, **options):
        """Return cvxpy's status and optimum."""
        model = cp.Problem(cp.Minimize(self.objective()), list(self.constraints()))
        with warnings.catch_warnings():
            # An inaccurate answer is told by its status, and is not used.
            warnings.simplefilter("ignore", UserWarning)
            try:
                value = model.solve(solver=solver, **options)
            except cp.SolverError:
                return "error", math.nan
        return model.status, value
