"""Draw large problems at random, over the whole surface of what a problem can say; the same from the same seed.

    problem, counts, tags = draw(seed=7, number=3)

Sizes are spread evenly on a logarithmic scale; tables are generated (many blocks of cells that reach one another, or
one large one) or the embedded ones. Bounds lie between what the table has and what can be had by changing outcomes
alone, which is cheap to know: such problems are feasible, and something must change, as a rule at a loss. Measures that
forbid new cells may be infeasible all the same; ``loosened`` brings the bounds nearer to what the table has. Times
nothing, and solves no more than problems of a few cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.compile.size import expected_moves
from evenhand.optimize.solve import Clock, solve

SMALLEST, LARGEST = 1_000, 300_000
"""The moves that a problem has, about."""

ORDINARY = 0.7
"""The share of problems that are measured with both KL and ℓ1; the others have one of the other measures."""

OTHERS = (
    eh.TotalVariation, eh.Hellinger, eh.PearsonChi2, eh.NeymanChi2, eh.JensenShannon, eh.SquaredL2, eh.ReverseKL,
    eh.MaxRelativeChange,
)  # fmt: skip
LINEAR = ("L1", "TotalVariation", "MaxRelativeChange")
"""The measures that make a problem a linear programme."""

TABLES = {"generated": 0.6, "adult-wide": 0.24, "adult": 0.1, "compas": 0.06}
GROUPS = {(2,): 0.25, (3,): 0.15, (2, 2): 0.25, (5,): 0.1, (2, 3): 0.15, (6,): 0.1}
"""Levels of the protected columns of a generated table."""

COMBINE = {"sum": 0.45, "max": 0.3, "sum_of_squares": 0.25}
PER = {"individual": 0.7, "xy": 0.3}
REACH = {"near": 0.6, "far": 0.4}
CANDIDATES = 8
"""So many choices of an embedded table's columns are drawn; the one whose moves come nearest to the size is taken."""

FAR = math.log(1.7)
"""A table with fewer or more moves than the size asks for, by this logarithm, is drawn anew."""

WIDEST = 60
"""The most levels of a feature that may change."""

PEOPLE = 30
"""The mean number of people in a cell of a generated table."""

TRIES = 30
"""So many statements are drawn until one leaves bounds to choose from."""

LOSSLESS = 0.15
"""The share of problems whose bounds may be met at no loss: groups trade places where outcomes rise and fall."""

NARROW = 0.05
"""Bounds are drawn between two shares of what the table has; a statement whose shares are nearer is drawn anew."""

LOSS = 1e-6
"""Less is no loss."""

NO_LIMIT = 1.5
"""What stands for the table's own distance where that is infinite: some group has nobody with some outcome."""

HALVINGS = 5
"""How often an interval of shares is halved."""

SMALLEST_BOUND = 0.01
SMALL_SEGMENT = 0.02
"""Segments with a smaller share of all people are left out."""


def draw(seed, number, *, smallest=SMALLEST, largest=LARGEST, loosened=0):
    """Return a problem, the counts of its table, and what was drawn, as a dict of words and numbers."""
    rng = np.random.default_rng([seed, number])
    moves = math.exp(rng.uniform(math.log(smallest), math.log(largest)))
    utility = eh.KL if rng.random() < ORDINARY else OTHERS[rng.integers(len(OTHERS))]
    for _ in range(TRIES):
        kind = chosen(rng, TABLES)
        table = generated(rng, moves) if kind == "generated" else embedded(rng, kind, moves)
        found = None if table is None else stated(rng, table, loosened)
        if found is not None:
            break
    else:
        raise RuntimeError(f"no statement leaves bounds to choose from: seed {seed}, number {number}")
    problem, tags = found
    problem = replace(problem, utility=utility())
    counts = eh.count(problem, table.cells, frequencies="people")
    tags = {"table": kind, "utility": "KL and L1" if utility is eh.KL else utility.__name__} | table.tags | tags
    return problem, counts, tags | {"groups": len(counts.groups.cells), "outcomes": counts.domain.y.size}


def versions(problem):
    """Return a drawn problem by the name of its measure: with both KL and ℓ1, or as it is."""
    if isinstance(problem.utility, eh.KL):
        return {"L1": replace(problem, utility=eh.L1()), "KL": problem}
    return {type(problem.utility).__name__: problem}


@dataclass(frozen=True, eq=False)
class Table:
    """Cells with their ``people``, the columns by what they are, and the rules of their changes."""

    cells: pd.DataFrame
    protected: list[str]
    features: list[str]
    outcome: str
    distortion: eh.Distortion
    tags: dict[str, object]

    def problem(self, parity, budget, utility=None):
        """Return a problem on this table."""
        return eh.Problem(
            protected=self.protected,
            features=self.features,
            outcome=self.outcome,
            utility=utility or eh.L1(),
            parity=parity,
            distortion=self.distortion,
            budget=budget,
        )


def chosen(rng, weights):
    """Return one of several, by weight."""
    names = list(weights)
    return names[rng.choice(len(names), p=np.array(list(weights.values())) / sum(weights.values()))]


# What a change costs.


OUTCOMES = {
    "free": lambda cost: eh.Free(),
    "up is free": lambda cost: eh.Ordinal(cost, up_step=0),
    "down is free": lambda cost: eh.Ordinal(0, up_step=cost),
    "up is forbidden": lambda cost: eh.Ordinal(cost, up=False),
    "down is forbidden": lambda cost: eh.Ordinal(cost, down=False),
    "down free, up forbidden": lambda cost: eh.Ordinal(0, up=False),
    "both cost": lambda cost: eh.Ordinal(cost, up_step=cost / 2),
    "any change costs the same": eh.Nominal,
}


def outcome_rule(rng):
    """Return the name and the rule of the outcome's changes."""
    name = chosen(rng, dict.fromkeys(OUTCOMES, 1))
    return name, OUTCOMES[name](float(rng.choice([0.5, 1.0, 2.0])))


def feature_rule(rng, reach, ordered=True):
    """Return the rule of a feature that may change: to its neighbours alone, or far."""
    if ordered and (reach == "near" or rng.random() < 0.4):
        ways = [{}, {"up": False}, {"down": False}][rng.integers(3)]
        steps = None if reach == "far" else 1 if rng.random() < 0.7 else 2
        return eh.Ordinal(float(rng.choice([0.0, 0.5, 1.0, 2.0])), max_steps=steps, **ways)
    return eh.Free() if rng.random() < 0.25 else eh.Nominal(float(rng.choice([0.5, 1.0, 2.0])))


# Tables.


def generated(rng, moves):
    """Return a generated table with about so many moves, its rates different from group to group."""
    blocks, reach, combine = ("one", "many")[rng.integers(2)], chosen(rng, REACH), chosen(rng, COMBINE)
    shape, n_outcomes = chosen(rng, GROUPS), int(rng.choice([2, 3], p=[0.7, 0.3]))
    name, rule = outcome_rule(rng)
    share = rng.choice([0.4, 1.0], p=[0.3, 0.7])
    rules = [feature_rule(rng, reach) for _ in range(rng.integers(2, 4))]
    # Features that somebody has are targets for all, so that fewer cells have as many moves each.
    of_all_cells = moves / share
    of_outcomes = math.prod(shape) * options(rule, n_outcomes)
    in_block = of_all_cells if blocks == "one" else math.exp(
        rng.uniform(math.log(min(8 * of_outcomes, of_all_cells / 4)), math.log(of_all_cells / 4))
    )  # fmt: skip
    sizes = grown(rng, rules, in_block / of_outcomes)
    sites = max(1, round(of_all_cells / of_outcomes / math.prod(map(options, rules, sizes))))
    areas = int(rng.integers(2, 6)) if sites >= 10 else 1
    fixed = [areas, max(1, sites // areas)]
    cells = people(rng, shape, [*fixed, *sizes], n_outcomes, share)
    protected = [f"d{i}" for i in range(len(shape))]
    moving = [f"f{i}" for i in range(len(sizes))]
    return Table(
        cells,
        protected,
        ["area", "site", *moving],
        "y",
        eh.Distortion(dict(zip(moving, rules, strict=True)) | {"y": rule}, combine=combine),
        {"blocks": blocks, "reach": reach, "combine": combine, "outcome": name},
    )


@cache
def options(rule, size):
    """Return how many changes of a column of so many levels a rule allows, staying included."""
    from evenhand.data.domain import Role, Variable

    column = Variable("column", Role.FEATURE, tuple(range(size)), ordered=True)
    return int(np.isfinite(rule.costs(column)).sum())


def grown(rng, rules, moves):
    """Return how many levels features have that allow about so many changes of all of them together."""
    sizes = [2] * len(rules)
    while math.prod(map(options, rules, sizes)) < moves and min(sizes) < WIDEST:
        at = rng.choice([i for i, size in enumerate(sizes) if size < WIDEST])
        larger = [size + (i == at) * max(1, size // 8) for i, size in enumerate(sizes)]
        if math.prod(map(options, rules, larger)) > 1.2 * moves and min(sizes) > 2:
            break
        sizes = larger
    return sizes


def people(rng, shape, sizes, n_outcomes, share):
    """Return the cells of a table: rates vary by group and by the first feature; only a share of the cells is there."""
    index = np.indices((*shape, *sizes, n_outcomes)).reshape(len(shape) + len(sizes) + 1, -1)
    names = [f"d{i}" for i in range(len(shape))] + ["area", "site"] + [f"f{i}" for i in range(len(sizes) - 2)] + ["y"]
    cells = pd.DataFrame(dict(zip(names, index, strict=True)))
    group = np.ravel_multi_index(tuple(index[: len(shape)]), shape)
    lean = rng.normal(0, rng.uniform(0.15, 0.6), (math.prod(shape), n_outcomes))
    level = index[len(shape) + 2] / max(1, sizes[2] - 1)
    odds = np.exp(lean[group][:, :] + np.outer(level, rng.normal(0, 0.4, n_outcomes)))
    rate = (odds / odds.sum(axis=1, keepdims=True))[np.arange(len(cells)), cells["y"]]
    number = rng.poisson(PEOPLE * n_outcomes * rate * rng.gamma(1.0, 1.0, len(cells)))
    there = rng.random(len(cells)) < share
    # The first cells of every group are always there, so that no group or outcome is lost.
    there |= index[len(shape) : -1].sum(axis=0) == 0
    return cells.assign(people=np.maximum(1, number))[there]


COLUMNS = {
    "compas": (["age_cat", "c_charge_degree", "priors_count"], "is_recid"),
    "adult": (["age", "education"], "income"),
    "adult-wide": (["age", "education", "hours", "marital_status", "workclass", "occupation"], "income"),
}
"""The features and the outcome of the embedded tables; sex and race are protected."""


@cache
def loaded(name):
    """Return the cells of an embedded table."""
    return eh.datasets.load(name).cells


def embedded(rng, name, moves):
    """Return an embedded table with columns and rules for about so many moves; None where it cannot have them."""
    drawn = [_embedded(rng, name) for _ in range(CANDIDATES)]

    def far(table):
        problem = table.problem([eh.PairwiseParity(1.0)], None)
        return abs(math.log(expected_moves(problem, eh.count(problem, table.cells, frequencies="people")) / moves))

    distances = [far(table) for table in drawn]
    return drawn[int(np.argmin(distances))] if min(distances) < FAR else None


def _embedded(rng, name):
    """Return an embedded table with columns and rules at random."""
    cells, (columns, outcome) = loaded(name), COLUMNS[name]
    protected = [["sex", "race"], ["sex", "race"], ["sex"], ["race"]][rng.integers(4)]
    number = rng.integers(min(2, len(columns)), len(columns) + 1)
    features = [columns[i] for i in sorted(rng.permutation(len(columns))[:number])]
    reach, combine, (called, rule) = chosen(rng, REACH), chosen(rng, COMBINE), outcome_rule(rng)
    moving = [features[i] for i in sorted(rng.permutation(number)[: rng.integers(1, min(number, 4) + 1)])]
    rules = {
        column: feature_rule(rng, reach, isinstance(cells[column].dtype, pd.CategoricalDtype)) for column in moving
    }
    columns = [*protected, *features, outcome]
    return Table(
        cells.groupby(columns, observed=True, as_index=False)["people"].sum(),
        protected,
        features,
        outcome,
        eh.Distortion(rules | {outcome: rule}, combine=combine),
        {"blocks": "as they are", "reach": reach, "combine": combine, "outcome": called},
    )


# Statements.


def parities(rng, table):
    """Return the name of a form of parity, and its constraints, whose bounds are still open."""
    cells, last = table.cells, table.cells[table.outcome].max()
    one = table.protected[rng.integers(len(table.protected))]
    pairwise, target = partial(eh.PairwiseParity, 1.0), partial(eh.TargetParity, 1.0)
    reference = {one: cells[one].iloc[int(rng.integers(len(cells)))]}
    whole = cells.groupby(table.outcome, observed=True)["people"].sum()
    tilted = whole * np.exp(rng.normal(0, 0.15, len(whole)))
    elsewhere = dict(zip(whole.index.tolist(), (tilted / tilted.sum()).tolist(), strict=True))
    few = [column for column in table.features if 2 <= cells[column].nunique() <= 9]
    forms = {
        "pairwise": (4, lambda: [pairwise()]),
        "pairwise difference": (2, lambda: [pairwise(eh.Difference())]),
        "pairwise log-ratio": (2, lambda: [pairwise(eh.LogRatio())]),
        "four-fifths": (2, lambda: [pairwise(eh.FourFifths(last))]),
        "target": (2, lambda: [target()]),
        "target difference": (1, lambda: [target(distance=eh.Difference())]),
        "target, stated": (3, lambda: [target(elsewhere)]),
        "rest": (1, lambda: [pairwise(against="rest")]),
        "reference": (1, lambda: [pairwise(on=[one], against=reference)]),
        "several": (1, lambda: [pairwise(), target(distance=eh.Difference())]),
    }
    if len(table.protected) > 1:
        forms["univariate"] = (1, lambda: [pairwise(on=[one])])
        forms["univariate, each"] = (2, lambda: [pairwise(on=[each]) for each in table.protected])
    if few:
        given = [few[rng.integers(len(few))]]
        small = SMALL_SEGMENT * float(cells["people"].sum())
        forms["given"] = (2, lambda: [pairwise(on=[one], given=given, min_segment=small)])
        forms["given, target"] = (1, lambda: [target(given=given, min_segment=small)])
        forms["several, given"] = (1, lambda: [pairwise(), pairwise(on=[one], given=given, min_segment=small)])
    name = chosen(rng, {name: weight for name, (weight, _) in forms.items()})
    return name, forms[name][1]()


def budgets(rng, generosity):
    """Return the name of a form of budget, for whom it holds, and the budgets."""
    per = chosen(rng, PER)

    def up_to(most):
        return float(np.round(min(most, generosity * rng.uniform(0.15, 0.7) * most), 3))

    def excess(*thresholds):
        limits = sorted((up_to(1.0) for _ in thresholds), reverse=True)
        return eh.ExcessDistortion(dict(zip(thresholds, limits, strict=True)), per=per)

    forms = {
        "expected": (4, lambda: [eh.ExpectedDistortion(up_to(1.5), per=per)]),
        "excess": (3, lambda: [excess(0.9)]),
        "excess, two thresholds": (2, lambda: [excess(0.4, 1.9)]),
        "excess, three thresholds": (1, lambda: [excess(0.4, 0.9, 1.9)]),
        "expected and excess": (1, lambda: [eh.ExpectedDistortion(up_to(1.5), per=per), excess(0.9)]),
        "none": (1, list),
    }
    name = chosen(rng, {name: weight for name, (weight, _) in forms.items()})
    return name, per if name != "none" else "–", forms[name][1]()


def stated(rng, table, loosened):
    """Return a problem whose bounds are between two that are too small and too large; None where there is no room."""
    at_a_loss = rng.random() >= LOSSLESS
    for generosity in np.linspace(1, 3, 6):
        form, constraints = parities(rng, table)
        called, per, limits = budgets(rng, generosity)
        share = rng.uniform(0.05, 0.8)
        small = few_cells(table, constraints, limits)
        found = room(small, LOSS if at_a_loss else math.inf)
        if found is None:
            continue
        least, most = found
        # Every time half of what is left to the table's own distances.
        tight = 1 - (1 - least - share * (most - least)) / 2**loosened
        own = [constraint.bound for constraint in small.problem.parity]
        bounded = [replace(c, bound=scaled(bound, tight)) for c, bound in zip(constraints, own, strict=True)]
        tags = {"parity": form, "budget": called, "per": per, "tightness": round(tight, 3), "loosened": loosened}
        return table.problem(bounded, limits or None), tags
    return None


def scaled(bound, share):
    """Return a share of a bound in few digits."""
    return max(SMALLEST_BOUND, float(f"{bound * share:.4g}"))


@dataclass(frozen=True, eq=False)
class Small:
    """The same statement where outcomes alone may change: few cells, and the table's own distances as bounds."""

    problem: eh.Problem
    counts: eh.Counts


def few_cells(table, constraints, limits):
    """Return the statement with nothing but the columns that parity names: what it can meet the whole one can."""
    given = sorted({column for constraint in constraints for column in constraint.given or ()})
    columns = [*table.protected, *given, table.outcome]
    cells = table.cells.groupby(columns, observed=True, as_index=False)["people"].sum().assign(everybody=0)
    small = replace(
        table,
        cells=cells,
        features=given or ["everybody"],
        distortion=replace(table.distortion, rules={table.outcome: table.distortion.rules[table.outcome]}),
    )
    # A budget for individuals is the stricter one.
    limits = [replace(limit, per="individual") for limit in limits]
    counts = eh.count(small.problem(constraints, None), cells, frequencies="people")
    own = [eh.identity_from(small.problem([constraint], None), counts) for constraint in constraints]
    own = [bound if math.isfinite(bound) else NO_LIMIT for bound in own]
    own = [replace(constraint, bound=bound) for constraint, bound in zip(constraints, own, strict=True)]
    return Small(small.problem(own, limits or None), counts)


def room(small, loss):
    """Return the least share of its bounds that a small problem can meet, and the largest that costs more than a loss.

    Both about; None where there is none, or less than NARROW between them.
    """

    def costs(share):
        problem = small.problem.with_bounds(lambda bound: scaled(bound, share))
        try:
            program = compile_problem(problem, small.counts).program
            found = solve(program, None, Clock())
        except (eh.InfeasibleError, eh.SolverError):
            return math.inf
        return math.inf if found is None else program.loss.value(program.released(found.x))

    if costs(1.0) == math.inf:
        return None
    least = _least(lambda share: costs(share) < math.inf, 0.0)
    if math.isinf(loss):
        most = 1.0
    else:
        first = least + NARROW
        most = _least(lambda share: costs(share) <= loss, first) if first < 1 and costs(first) > loss else least
    return (least, most) if most - least >= NARROW else None


def _least(good, low):
    """Return the least share that is good, about, where 1 is."""
    high = 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
