"""The same problem stated densely, in plain loops and cvxpy: an independent reading of the paper's equations.

Nothing here imports evenhand's compilation or solvers; only the statement (problem, counts) is shared, and the
distortion, the groups, the segments and every By are worked out anew from the statement's fields.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import evenhand as eh
from evenhand.data.counts import with_propensities
from evenhand.data.domain import MISSING
from evenhand.spec.user_distance import TabulatedDistance

OBJECTIVE = 1e-6
INACCURATE = 1e-5
EDGE = 1e-4
HELD = (1e-9, 1e-8, 1e-7)
BEATEN = 1e-5
POLYHEDRAL = ("L1", "TotalVariation", "MaxRelativeChange")


def step_cost(rule, levels, a, b):
    """The cost of changing one column from code a to code b."""
    if a == b or isinstance(rule, eh.Free):
        return 0.0
    if rule is None or isinstance(rule, eh.Fixed):
        return math.inf
    if isinstance(rule, eh.Nominal):
        return float(rule.cost) if not hasattr(rule.cost, "items") else rule.cost[levels[a], levels[b]]
    if rule.max_steps is not None and abs(b - a) > rule.max_steps:
        return math.inf
    steps = abs(b - a) ** rule.power
    if b > a:
        return steps * (rule.step if rule.up_step is None else rule.up_step) if rule.up else math.inf
    return steps * rule.step if rule.down else math.inf


def step_costs(problem, domain):
    """The costs of all changes of each column, the outcome last."""
    for v in [*domain.x.variables, domain.outcome]:
        rule, codes = problem.distortion.rules.get(v.name), range(len(v.levels))
        yield {(a, b): step_cost(rule, v.levels, a, b) for a in codes for b in codes}


def distortion(problem, domain, steps, xy, to):
    """δ((x, y), (x̂, ŷ)) for tuples of codes, the outcome last."""
    if problem.distortion.function is not None:
        variables = [*domain.x.variables, domain.outcome]
        before, after = (
            {v.name: np.array([v.levels[c]]) for v, c in zip(variables, codes, strict=True)} for codes in (xy, to)
        )
        return float(np.asarray(problem.distortion.function(before, after))[0])
    costs = [column[a, b] for column, a, b in zip(steps, xy, to, strict=True)]
    if problem.distortion.combine == "max":
        return max(costs)
    if problem.distortion.combine == "sum_of_squares":
        return sum(c**2 for c in costs[:-1]) + costs[-1]
    return sum(costs)


def matches(where, labels):
    return all(labels[k] in v if isinstance(v, tuple) else labels[k] == v for k, v in where.items())


def by(value, labels, against=None):
    """The value of a By at a place; the last case that fits counts, and a pair fits in both orders."""
    if not isinstance(value, eh.By):
        return value
    found = value.default
    for where, inner in value.cases:
        own = {k: v for k, v in where.items() if k != "against"}
        if "against" not in where:
            fits = matches(own, labels)
        else:
            other = {**labels, **against}
            fits = (matches(own, labels) and matches(where["against"], other)) or (
                matches(where["against"], labels) and matches(own, other)
            )
        if fits:
            found = inner
    return found


class Dense:
    """The dense statement: one variable for every allowed (d, x, y) → (x̂, ŷ)."""

    def __init__(self, problem, counts):
        self.problem, self.domain = problem, counts.domain
        domain = counts.domain
        total = counts.weight.sum()
        self.p = {}
        for d, x, y, w in zip(counts.d, counts.x, counts.y, counts.weight, strict=True):
            group = tuple(int(c) for c in np.unravel_index(int(d), domain.d.shape))
            codes = tuple(int(c) for c in np.unravel_index(int(x), domain.x.shape))
            self.p[group, (*codes, int(y))] = w / total
        self.sizes = {s: p * total for s, p in self.p.items()}
        observed_x = {xy[:-1] for _, xy in self.p}
        every_x = list(itertools.product(*(range(n) for n in domain.x.shape)))
        to_x = [x for x in every_x if problem.targets == "all" or x in observed_x]
        self.n_outcomes = domain.y.size
        self.targets = [(*x, y) for x in to_x for y in range(self.n_outcomes)]
        self.p_xy = {}
        for (_, xy), p in self.p.items():
            self.p_xy[xy] = self.p_xy.get(xy, 0.0) + p
        self.moves, self.delta = [], []
        steps = list(step_costs(problem, domain)) if problem.distortion.function is None else []
        for source in self.p:
            for target in self.targets:
                cost = distortion(problem, domain, steps, source[1], target)
                if math.isfinite(cost) and not self.makes_nonsense(*source, target):
                    self.moves.append((source, target))
                    self.delta.append(cost)
        self.delta = np.array(self.delta)
        self.x = cp.Variable(len(self.moves), nonneg=True)

    def labels(self, group=None, xy=None, outcome=None, segment=None):
        """Names of columns with the levels of codes."""
        found = {}
        if group is not None:
            found |= {v.name: v.levels[c] for v, c in zip(self.domain.d.variables, group, strict=True)}
        if xy is not None:
            variables = [*self.domain.x.variables, self.domain.outcome]
            found |= {v.name: v.levels[c] for v, c in zip(variables, xy, strict=True)}
        if outcome is not None:
            found[self.domain.outcome.name] = self.domain.outcome.levels[outcome]
        return found | (segment or {})

    def makes_nonsense(self, group, xy, target):
        """Whether somebody becomes a forbidden record who is none; of a blind mapping, somebody of any group."""
        groups = itertools.product(*(range(n) for n in self.domain.d.shape)) if self.problem.blind else [group]
        for each, rule in itertools.product(groups, self.problem.forbidden):
            before, after = self.labels(group=each, xy=xy), self.labels(group=each, xy=target)
            is_one, was_one = (matches(rule.when, who) and matches(rule.then, who) for who in (after, before))
            if is_one and not was_one:
                return True
        return False

    def by(self, keys, weights):
        """A matrix that adds up weighted moves by key, and the order of the keys."""
        order = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        matrix = np.zeros((len(order), len(self.moves)))
        for column, (key, weight) in enumerate(zip(keys, weights, strict=True)):
            matrix[order[key], column] += weight
        return matrix, list(order)

    def constraints(self):
        sums, _ = self.by([s for s, _ in self.moves], np.ones(len(self.moves)))
        yield sums @ self.x == 1
        scored = self.problem.suppress_protected is True and self.problem.records_stay
        for parity in self.problem.parity:
            yield from self.parity(parity)
            if scored:
                yield from self.parity(parity, scored=True)
        yield from self.budgets()
        yield from self.suppressed()
        if self.problem.blind:
            yield from self.blind()
        if not self.problem.utility.new_cells:
            new = np.array([self.p_xy.get(t, 0.0) == 0 for _, t in self.moves])
            if new.any():
                yield self.x[np.flatnonzero(new)] == 0

    def scored(self, chosen, inside):
        """Eq. (9): the share of each source, p(s) Pr(its features' people are in the groups chosen), in a segment."""
        groups, with_x, of_groups = {s[0] for s in chosen}, {}, {}
        for (d, xy), p in self.p.items():
            with_x[xy[:-1]] = with_x.get(xy[:-1], 0.0) + p
            of_groups[xy[:-1]] = of_groups.get(xy[:-1], 0.0) + p * (d in groups)
        return {s: self.p[s] * of_groups[s[1][:-1]] / with_x[s[1][:-1]] for s in inside}

    def parity(self, parity, scored=False):
        on = parity.on or self.domain.d.names
        given = parity.given or ()

        def group_of(source):
            labels = self.labels(group=source[0])
            return tuple((name, labels[name]) for name in self.domain.d.names if name in on)

        def segment_of(xy):
            labels = self.labels(xy=xy)
            within = [name for name in self.domain.x.names if name in given]
            if getattr(parity, "given_outcome", False):
                within.append(self.domain.outcome.name)
            return tuple((name, labels[name]) for name in within)

        if isinstance(parity, eh.FeatureParity):
            yield from self.features(parity, group_of)
            return
        cumulative = parity.levels == "cumulative"
        released = getattr(parity, "released", False)
        for segment in dict.fromkeys(segment_of(xy) for _, xy in self.p):
            inside = [s for s in self.p if segment_of(s[1]) == segment]
            if sum(self.sizes[s] for s in inside) < parity.min_segment:
                continue
            people = list(self.p) if released else inside
            groups = list(dict.fromkeys(group_of(s) for s in people))
            for y in range(1 if cumulative else 0, self.n_outcomes):
                if not parity.distance.concerns(self.domain.outcome.levels[y]):
                    continue
                place = dict(segment) | self.labels(outcome=y)

                def rate(chosen, y=y, segment=segment, within=released, above=cumulative, inside=inside):
                    members = self.scored(chosen, inside) if scored else {s: self.p[s] for s in chosen}
                    total = sum(members.values())
                    weights = [
                        members[s] / total
                        if s in members
                        and (t[-1] == y or (above and t[-1] > y))
                        and (not within or segment_of(t) == segment)
                        else 0.0
                        for s, t in self.moves
                    ]
                    return np.array(weights) @ self.x

                yield from self.held(parity, groups, people, inside, group_of, rate, place, y, segment)

    def held(self, parity, groups, people, inside, group_of, rate, place, y, segment):
        members = {g: [s for s in people if group_of(s) == g] for g in groups}
        if isinstance(parity, eh.TargetParity):
            share = sum(self.p[s] for s in inside)
            outcomes = range(y, self.n_outcomes) if parity.levels == "cumulative" else (y,)
            target = sum(self.p[s] for s in inside if s[1][-1] in outcomes) / share
            if parity.target is not None:
                stated = by(parity.target, dict(segment))
                target = sum(stated.get(self.domain.outcome.levels[k], 0.0) for k in outcomes)
            for g in groups:
                bound = by(parity.bound, {**place, **dict(g)})
                if math.isinf(bound):
                    continue
                if parity.released:
                    whole = sum(rate(members[g], y=other, above=False) for other in range(self.n_outcomes))
                    yield from apart(parity.distance, rate(members[g]), target * whole, bound, whole)
                else:
                    yield from apart(parity.distance, rate(members[g]), target, bound)
            return
        groups = [g for g in groups if MISSING not in dict(g).values()]
        for g in groups:
            if parity.against == "each":
                others = [(h, members[h]) for h in groups if h != g]
            elif parity.against == "rest":
                others = [(None, [s for h in groups if h != g for s in members[h]])]
            else:
                reference = tuple((n, parity.against[n]) for n, _ in g)
                others = [(reference, members[reference])] if reference != g and reference in members else []
            for h, other in others:
                if not other:
                    continue
                bound = by(parity.bound, {**place, **dict(g)}, dict(h) if h else None)
                if not math.isinf(bound):
                    yield from apart(parity.distance, rate(members[g]), rate(other), bound)

    def features(self, parity, group_of):
        """Half of Σ |p(x̂|g) − p(x̂|h)| is at most the bound, for every two groups or each and the rest."""
        chosen = [i for i, name in enumerate(self.domain.x.names) if name in (parity.features or self.domain.x.names)]
        groups = [g for g in dict.fromkeys(group_of(s) for s in self.p) if MISSING not in dict(g).values()]

        def shares(people):
            total = sum(self.p[s] for s in people)
            keys = [tuple(t[i] for i in chosen) for _, t in self.moves]
            matrix, _ = self.by(keys, [self.p[s] / total if s in people else 0.0 for s, _ in self.moves])
            return matrix @ self.x

        for g in groups:
            own = {s for s in self.p if group_of(s) == g}
            others = [(h, {s for s in self.p if group_of(s) == h}) for h in groups if h != g]
            if parity.against == "rest":
                others = [(None, {s for s in self.p if group_of(s) in groups} - own)]
            elif parity.against != "each":
                reference = tuple((n, parity.against[n]) for n, _ in g)
                others = [(h, people) for h, people in others if h == reference]
            for h, people in others:
                bound = by(parity.bound, dict(g), dict(h) if h else None)
                if not math.isinf(bound):
                    yield cp.norm1(shares(own) - shares(people)) / 2 <= bound

    def budgets(self):
        for budget in self.problem.budgets:
            if isinstance(budget, eh.ExpectedDistortion):
                charges = [(self.delta, budget.limit)]
            else:
                charges = [((self.delta > t) * 1.0, c) for t, c in budget.thresholds.items()]
            for amount, limit in charges:
                if budget.per != "xy":
                    matrix, order = self.by([s for s, _ in self.moves], amount)
                    limits = [self.limit(budget, limit, *s) for s in order]
                else:
                    share = [self.p[s] / self.p_xy[s[1]] for s, _ in self.moves]
                    matrix, order = self.by([s[1] for s, _ in self.moves], amount * np.array(share))
                    limits = [by(limit, self.labels(xy=xy)) for xy in order]
                finite = np.isfinite(limits)
                if finite.any():
                    yield (matrix @ self.x)[np.flatnonzero(finite)] <= np.array(limits)[finite]

    def limit(self, budget, limit, group, xy):
        """The limit of a source; of a blind mapping, the smallest of all groups, who may come to have its (x, y)."""
        groups = [group]
        if self.problem.blind and budget.per == "individual":
            groups = itertools.product(*(range(n) for n in self.domain.d.shape))
        return min(by(limit, self.labels(group=each, xy=xy)) for each in groups)

    def conditional(self):
        """{x̂: p(ŷ|x̂)} where D is suppressed with a fixed conditional."""
        if self.problem.conditional is not None:
            rows = dict(self.problem.conditional.rows)
            names = self.domain.x.variables
            return {
                xy[:-1]: [
                    dict(rows[tuple(v.levels[c] for v, c in zip(names, xy[:-1], strict=True))]).get(level, 0.0)
                    for level in self.domain.outcome.levels
                ]
                for xy in self.p_xy
            }
        found = {}
        for xy in self.p_xy:
            joint = [self.p_xy.get((*xy[:-1], y), 0.0) for y in range(self.n_outcomes)]
            found[xy[:-1]] = [j / sum(joint) for j in joint]
        return found

    def suppressed(self):
        """P(x̂, ŷ | d, x, y) = p(ŷ|x̂) Σ_ŷ P(x̂, ŷ | d, x, y)."""
        if not self.problem.suppression.redraws:
            return
        conditional = self.conditional()
        place = {move: i for i, move in enumerate(self.moves)}
        for (s, t), i in place.items():
            whole = [place[s, (*t[:-1], y)] for y in range(self.n_outcomes)]
            yield self.x[i] == conditional[t[:-1]][t[-1]] * cp.sum(self.x[whole])

    def blind(self):
        """The same for every d."""
        first = {}
        for i, (s, t) in enumerate(self.moves):
            if (s[1], t) in first:
                yield self.x[i] == self.x[first[s[1], t]]
            else:
                first[s[1], t] = i

    def released(self):
        """The matrix of r = R x over the cells that Δ is about, with p on them, and their codes."""
        short = (lambda xy: xy[:-1]) if self.problem.conditional is not None else (lambda xy: xy)
        matrix, order = self.by([short(t) for _, t in self.moves], [self.p[s] for s, _ in self.moves])
        p = np.zeros(len(order))
        lost = 0.0
        for xy, mass in self.p_xy.items():
            if short(xy) in order:
                p[order.index(short(xy))] += mass
            else:
                lost += mass
        assert lost == 0, "a cell that nobody can be in is not stated here"
        return matrix, p, order

    def objective(self):
        matrix, p, _ = self.released()
        return measured(self.problem.utility, p, matrix @ self.x)

    def optima(self, mapping, width):
        """Every constraint, with Δ as a mapping has it: a loss that is linear in pieces by its value, others by r."""
        yield from self.constraints()
        if type(self.problem.utility).__name__ in POLYHEDRAL:
            yield self.objective() <= mapping.objective + width
            return
        matrix, p, order = self.released()
        shape = (*self.domain.x.shape, self.n_outcomes)[: len(order[0])]
        found = dict(zip(mapping.achieved.cells.tolist(), mapping.achieved.released, strict=True))
        r = np.array([found.get(int(np.ravel_multi_index(codes, shape)), 0.0) for codes in order])
        # Of most measures only the total of cells that nobody was in counts.
        decisive = np.flatnonzero((p > 0) | (type(self.problem.utility) is eh.SquaredL2))
        yield cp.abs((matrix @ self.x)[decisive] - r[decisive]) <= width

    def chosen(self, mapping):
        """What a tie-break minimises, stage by stage: a name, the mapping's own value, and the least of any optimum.

        Optima are held within a width, the smallest for which a solver is sure of it and of twice as much. The least is
        convex in the width, so that without any it is no less than what the line through both says.
        """

        def least_of(objective, *more):
            for width in HELD:
                held = ([*self.optima(mapping, within), *more] for within in (width, 2 * width))
                value, wider = (least(objective, constraints) for constraints in held)
                if not math.isnan(value + wider):
                    return 2 * value - wider
            return math.nan

        weight = np.array([self.p[s] for s, _ in self.moves])
        own, share, most = mapping.achieved, mapping.counts.probability, self.delta.max() or 1.0
        if self.problem.tie_break == "even":
            burden, order = self.by([s for s, _ in self.moves], self.delta / most)
            squares = cp.sum(cp.multiply([self.p[s] for s in order], cp.square(burden @ self.x)))
            yield "squares", float(share @ (own.distortion / most) ** 2), least_of(squares)
            return
        expected = (weight * self.delta / most) @ self.x
        mean = float(share @ own.distortion) / most
        yield "distortion", mean, least_of(expected)
        changes = (weight * [s[1] != t for s, t in self.moves]) @ self.x
        yield "changes", float(share @ own.changed), least_of(changes, expected <= mean + HELD[0])

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


def least(objective, constraints):
    """The least value, or NaN where no solver is sure of it."""
    for solver in (cp.CLARABEL, cp.HIGHS):
        model = cp.Problem(cp.Minimize(objective), constraints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                model.solve(solver=solver)
            except (cp.SolverError, ValueError):
                # A ValueError is cvxpy's where an answer of HiGHS is beyond its own bounds by rounding.
                continue
        if model.status == "optimal":
            return float(model.value)
    return math.nan


def apart(distance, p, q, bound, whole=1.0):
    """J(p, q) ≤ bound, by its definition; ``whole`` is what a conditional rate is a share of."""
    if isinstance(distance, eh.Ratio):
        yield p <= (1 + bound) * q
        yield p >= (1 - bound) * q
    elif isinstance(distance, eh.Difference):
        yield p - q <= bound * whole
        yield q - p <= bound * whole
    elif isinstance(distance, eh.LogRatio):
        yield p <= math.exp(bound) * q
        yield q <= math.exp(bound) * p
    elif isinstance(distance, eh.FourFifths):
        yield p >= (1 - bound) * q
    elif isinstance(distance, TabulatedDistance):
        target = None if isinstance(q, cp.Expression) else q
        for on_p, on_q, limit in distance.piece(bound, target).lines:
            yield on_p * p + on_q * q <= limit
    else:
        raise NotImplementedError(distance)


def measured(utility, p, r):
    """Δ(p, r) by its definition."""
    held = np.flatnonzero(p > 0)
    new = np.flatnonzero(p == 0)
    q, s = p[held], r[held]
    rest = cp.sum(r[new]) if len(new) else 0.0
    name = type(utility).__name__
    if name == "KL":
        return cp.sum(cp.rel_entr(q, s))
    if name == "ReverseKL":
        return cp.sum(cp.rel_entr(s, q))
    if name in ("L1", "TotalVariation"):
        return cp.norm1(r - p) * (1.0 if name == "L1" else 0.5)
    if name == "PearsonChi2":
        return cp.sum(cp.square(s - q) / q)
    if name == "NeymanChi2":
        return cp.sum(cp.multiply(q**2, cp.inv_pos(s))) - 2 * q.sum() + cp.sum(s) + rest
    if name == "Hellinger":
        return 0.5 * (cp.sum(s) + q.sum()) - cp.sum(cp.multiply(np.sqrt(q), cp.sqrt(s))) + 0.5 * rest
    if name == "JensenShannon":
        middle = (q + s) / 2
        return 0.5 * cp.sum(cp.rel_entr(q, middle)) + 0.5 * cp.sum(cp.rel_entr(s, middle)) + 0.5 * math.log(2) * rest
    if name == "SquaredL2":
        return cp.sum_squares(r - p)
    if name == "MaxRelativeChange":
        return cp.max(cp.abs(s / q - 1))
    raise NotImplementedError(name)


def ours(problem, counts):
    try:
        return eh.fit(problem, counts)
    except eh.InfeasibleError as error:
        return error


def compare(seed, family):
    """Return 'optimal', 'infeasible' or 'unsure' after asserting agreement on one instance."""
    problem, frame = family(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    if problem.suppression.scored:
        counts = with_propensities(counts)
    result = ours(problem, counts)
    status, value = Dense(problem, counts).solve()
    if status == "optimal":
        if isinstance(result, eh.InfeasibleError):
            edge = result.smallest_parity_bound
            assert edge is not None, seed
            assert edge - problem.parity[0].smallest_bound < EDGE, seed
            return "unsure"
        assert result.objective == pytest.approx(value, abs=OBJECTIVE), (seed, problem)
        assert result.certificate.status == "optimal", (seed, result)
        return "optimal"
    if status == "optimal_inaccurate" and not isinstance(result, eh.InfeasibleError):
        assert result.objective == pytest.approx(value, abs=INACCURATE), (seed, problem)
        return "optimal"
    if status == "infeasible":
        if not isinstance(result, eh.InfeasibleError):
            edge = eh.smallest_parity_bound(problem, counts)
            assert problem.parity[0].smallest_bound - edge < EDGE, seed
            return "unsure"
        return "infeasible"
    return "unsure"


def tie_break_beaten(seed, family):
    """By how much some optimum is better than the chosen one, stage by stage; None where nothing is feasible.

    Distortions are in units of the largest. NaN where the second solver is not sure.
    """
    problem, frame = family(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    mapping = ours(problem, counts)
    if isinstance(mapping, eh.InfeasibleError):
        return None
    # A user's distance is stated by its lines, as the mapping keeps them.
    dense = Dense(replace(problem, parity=mapping.problem.parity), counts)
    return {name: own - other for name, own, other in dense.chosen(mapping)}
