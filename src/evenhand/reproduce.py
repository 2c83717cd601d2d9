"""The paper's two studies as a list of numbers: what it printed, the reference, and what is found now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evenhand.counts import Counts
from evenhand.datasets import Dataset, load
from evenhand.edges import identity_from, smallest_budget, smallest_parity_bound
from evenhand.errors import InfeasibleError
from evenhand.fitting import fit
from evenhand.mapping import Mapping
from evenhand.spec import Budget, Distortion, ExpectedDistortion, Ordinal, PairwiseParity, Problem, TargetParity

OBJECTIVE, RATE, EDGE, COARSE_EDGE = 2e-6, 5e-5, 1e-6, 1e-4
GAP, VIOLATION, ROW_SUM = 1e-7, 1e-9, 1e-12


@dataclass(frozen=True)
class Claim:
    """One number: where it stands, what the paper prints, the reference with its tolerance, and how to find it."""

    study: str
    what: str
    paper: str
    reference: float
    tolerance: float
    compute: Callable[[], float]
    at_most: bool = False


@dataclass(frozen=True)
class Finding:
    """A claim with the number that was found."""

    claim: Claim
    found: float

    @property
    def agrees(self) -> bool:
        """Whether the number found is the reference, within its tolerance (or below it)."""
        if self.claim.at_most:
            return self.found <= self.claim.reference
        return bool(abs(self.found - self.claim.reference) <= self.claim.tolerance)


def findings() -> Iterator[Finding]:
    """Compute every number, one after the other."""
    for claim in claims():
        yield Finding(claim, float(claim.compute()))


def claims() -> list[Claim]:
    """List every number of the two studies."""
    return [*_compas(), *_adult()]


def _compas() -> Iterator[Claim]:
    data, paper = _study("compas")
    rates = [("F, A-A", ".393", ".393"), ("F, C", ".367", ".367"), ("M, A-A", ".593", ".404"), ("M, C", ".430", ".404")]
    before, after = [0.3934, 0.3672, 0.5929, 0.4300], [0.3934, 0.3672, 0.4039, 0.4039]
    name = "COMPAS"

    def claim(what: str, printed: str, reference: float, tolerance: float, compute: Callable[[], float]) -> Claim:
        return Claim(name, what, printed, reference, tolerance, compute)

    yield claim("people", "around 5k", 5278, 0, lambda: data.counts.people)
    yield from (
        claim(f"levels of {column}", str(size), size, 0, lambda c=column: len(data.counts.domain.variable(c)))
        for column, size in (("age_cat", 3), ("c_charge_degree", 2), ("priors_count", 3))
    )
    for i, (group, printed, _) in enumerate(rates):
        yield claim(f"rate before, {group}", printed, before[i], RATE, lambda i=i: data.counts.outcome_by_group[i, 1])
    yield claim("KL at ε=.1, c=.5", ".021", 0.0212438, OBJECTIVE, lambda: paper().objective)
    for i, (group, _, printed) in enumerate(rates):
        yield claim(f"rate after, {group}", printed, after[i], RATE, lambda i=i: paper().achieved.rates_after[i, 1])
    yield from _tie_break(name, paper, distortion=0.2140)
    yield claim(
        "smallest ε at c=.25", "around .2", 0.2109576, EDGE,
        lambda: _number(smallest_parity_bound(_compas_at(None, 0.25), data.counts)),
    )  # fmt: skip
    yield claim("identity feasible from ε", ".59", 0.6146101, EDGE, lambda: identity_from(data.problem, data.counts))
    yield claim("KL at ε=.59, c=.25", "0", 4e-5, OBJECTIVE, lambda: fit(_compas_at(0.59, 0.25), data.counts).objective)
    for bound, loss in ((0.285714, 0.007271), (0.357143, 0.004444), (0.428571, 0.002315), (0.485714, 0.001110)):
        yield claim(
            f"KL at ε={bound:g}, c=.25", "figure 2", loss, OBJECTIVE,
            lambda b=bound: fit(_compas_at(b, 0.25), data.counts).objective,
        )  # fmt: skip
    yield from _costly_outcome(name, data.counts)


def _costly_outcome(name: str, counts: Counts) -> Iterator[Claim]:
    """The paper's text says that lowering the outcome costs 2, which its own figures rule out."""
    rules = dict(load("compas").problem.distortion.rules) | {"is_recid": Ordinal(step=2, up=False)}
    text = replace(load("compas").problem, distortion=Distortion(rules))
    yield Claim(name, "text's cost 2: infeasible (1 = yes)", "cost 2", 1, 0, lambda: _infeasible(text, counts))
    yield Claim(
        name, "text's cost 2: smallest ε", "", 0.2109576, EDGE, lambda: _number(smallest_parity_bound(text, counts))
    )
    yield Claim(
        name, "text's cost 2: smallest c", "", 0.6374419, EDGE, lambda: 0.5 * _number(smallest_budget(text, counts))
    )


def _adult() -> Iterator[Claim]:
    data, paper = _study("adult")
    each = replace(data.problem, budget=replace(_one(data.problem), per="individual"))
    looser = cache(lambda: fit(replace(each, parity=[TargetParity(0.2)]), data.counts))

    def claim(what: str, printed: str, reference: float, tolerance: float, compute: Callable[[], float]) -> Claim:
        return Claim("Adult", what, printed, reference, tolerance, compute)

    yield claim("people", "", 32561, 0, lambda: data.counts.people)
    yield claim("levels of age", "decades", 7, 0, lambda: len(data.counts.domain.variable("age")))
    yield claim("levels of education", "years", 9, 0, lambda: len(data.counts.domain.variable("education")))
    yield claim("ℓ1 at ε=.15, per xy", ".014", 0.0148519, OBJECTIVE, lambda: paper().objective)
    yield from _tie_break("Adult", paper, distortion=0.0245, changed=0.057)
    yield claim("ε=.15 per individual: infeasible (1 = yes)", "", 1, 0, lambda: _infeasible(each, data.counts))
    yield claim("ℓ1 at ε=.2, per individual", "", 0.0141155, OBJECTIVE, lambda: looser().objective)
    yield from _trust("Adult", "ε=.2, per individual: ", looser)
    for label, problem, smallest, lossless in (("xy", data.problem, 0.1489659, 0.2432), ("individual", each, 0.1868666, 0.2886)):
        yield claim(
            f"smallest ε, per {label}", "", smallest, EDGE,
            lambda p=problem: _number(smallest_parity_bound(p, data.counts)),
        )  # fmt: skip
        yield claim(
            f"lossless from ε, per {label}", "", lossless, COARSE_EDGE,
            lambda p=problem: _number(smallest_parity_bound(p, data.counts, lossless=True)),
        )  # fmt: skip
    yield claim("identity feasible from ε", "", 0.7055, COARSE_EDGE, lambda: identity_from(data.problem, data.counts))


def _tie_break(
    study: str, mapping: Callable[[], Mapping], distortion: float, changed: float | None = None
) -> Iterator[Claim]:
    """What the tie-break achieves at the optimum, and the certificate of the whole."""

    def mean(field: str) -> float:
        found = mapping()
        return float(np.dot(found.counts.probability, getattr(found.achieved, field)))

    yield Claim(study, "expected distortion, at most", "", distortion, 0, lambda: mean("distortion"), at_most=True)
    if changed is not None:
        yield Claim(study, "share of people changed, at most", "", changed, 0, lambda: mean("changed"), at_most=True)
    yield from _trust(study, "", mapping)


def _trust(study: str, prefix: str, mapping: Callable[[], Mapping]) -> Iterator[Claim]:
    for what, limit in (("gap", GAP), ("max_violation", VIOLATION), ("row_error", ROW_SUM)):
        yield Claim(
            study, f"{prefix}certificate: {what}, at most", "", limit, 0,
            lambda w=what: getattr(mapping().certificate, w), at_most=True,
        )  # fmt: skip


def _study(name: str) -> tuple[Dataset, Callable[[], Mapping]]:
    data = load(name)
    return data, cache(lambda: fit(data.problem, data.counts))


def _compas_at(bound: float | None, limit: float) -> Problem:
    problem = load("compas").problem
    parity: Any = problem.parity if bound is None else [PairwiseParity(bound)]
    return replace(problem, parity=parity, budget=ExpectedDistortion(limit))


def _one(problem: Problem) -> Budget:
    return problem.budgets[0]


def _infeasible(problem: Problem, counts: Counts) -> float:
    try:
        fit(problem, counts)
    except InfeasibleError:
        return 1.0
    return 0.0


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
