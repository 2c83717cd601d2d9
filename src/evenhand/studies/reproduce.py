"""The optimisations of the paper's two studies as a list of numbers.

For each: what the paper prints (marked * where the reference differs), the reference (found by independent solvers on
the same tables, to the digits shown), and what is found now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from evenhand.datasets import Dataset, load
from evenhand.errors import InfeasibleError
from evenhand.findings.feasibility import identity_from, smallest_budget_factor, smallest_parity_bound
from evenhand.fitting import fit
from evenhand.mapping import Mapping
from evenhand.spec import Distortion, ExpectedDistortion, Ordinal, PairwiseParity, Problem, TargetParity
from evenhand.tolerances import GAP_TOLERANCE, ROW_TOLERANCE, VIOLATION_TOLERANCE

OBJECTIVE, RATE, EDGE, COARSE_EDGE, PRICE, EXACT = 2e-6, 5e-5, 1e-6, 1e-4, 1e-5, 0.0
"""How far each kind of number may be from its reference."""

LIMITS = {"gap": GAP_TOLERANCE, "max_violation": VIOLATION_TOLERANCE, "row_error": ROW_TOLERANCE}
"""What the certificate of every fit must stay within."""

Found = float | str


@dataclass(frozen=True)
class Claim:
    """One number: what the paper prints, the reference with its tolerance, and how to find it.

    A tolerance of None asks for at most the reference.
    """

    study: str
    what: str
    paper: str
    reference: Found
    tolerance: float | None
    compute: Callable[[], Found]


@dataclass(frozen=True)
class Finding:
    """A claim with what was found."""

    claim: Claim
    found: Found

    @property
    def agrees(self) -> bool:
        """Whether what was found is the reference, within its tolerance."""
        reference, tolerance = self.claim.reference, self.claim.tolerance
        if isinstance(self.found, str) or isinstance(reference, str):
            return self.found == reference
        if tolerance is None:
            return self.found <= reference
        return bool(abs(self.found - reference) <= tolerance)


class Study:
    """One of the paper's studies: makes claims, and keeps every mapping it fits for the last of them."""

    def __init__(self, name: str, title: str) -> None:
        self.title = title
        self.data: Dataset = load(name)
        self.counts = self.data.counts
        self._fits: dict[Problem, Mapping] = {}

    def fit(self, problem: Problem) -> Mapping:
        """Fit a problem, once."""
        if problem not in self._fits:
            self._fits[problem] = fit(problem, self.counts)
        return self._fits[problem]

    def claim(
        self, what: str, paper: str, reference: Found, tolerance: float | None, compute: Callable[[], Found]
    ) -> Claim:
        """State one number of this study."""
        return Claim(self.title, what, paper, reference, tolerance, compute)

    def verdict(self, problem: Problem) -> str:
        """Say whether a problem is feasible."""
        try:
            self.fit(problem)
        except InfeasibleError:
            return "infeasible"
        return "feasible"

    def smallest(self, problem: Problem, lossless: bool = False) -> float:
        """Return the smallest parity bound, NaN where there is none."""
        found = smallest_parity_bound(problem, self.counts, lossless=lossless)
        return float("nan") if found is None else found

    def mean(self, problem: Problem, field: str) -> float:
        """Return the mean over people of something achieved."""
        return float(np.dot(self.counts.probability, getattr(self.fit(problem).achieved, field)))

    def worst(self, field: str) -> float:
        """Return the largest number of its kind among the certificates of all fits so far."""
        return max(float(getattr(mapping.certificate, field)) for mapping in self._fits.values())

    def trust(self) -> Iterator[Claim]:
        """Claim that every fit is certified; to be computed last."""
        for field, limit in LIMITS.items():
            name = f"largest {field.replace('_', ' ')} of all fits"
            yield self.claim(name, "", limit, None, partial(self.worst, field))


def findings() -> Iterator[Finding]:
    """Compute every number, one after the other."""
    for claim in claims():
        yield Finding(claim, claim.compute())


def claims() -> list[Claim]:
    """List every number of the two studies."""
    return [*_compas(Study("compas", "COMPAS")), *_adult(Study("adult", "Adult"))]


def _compas(study: Study) -> Iterator[Claim]:
    claim, counts, paper = study.claim, study.counts, study.data.problem

    def at(bound: float) -> Problem:
        return replace(paper, parity=[PairwiseParity(bound)], budget=ExpectedDistortion(0.25))

    yield claim("people", "around 5k", 5278, EXACT, lambda: counts.people)
    yield from _levels(study, {"age_cat": ("3", 3), "c_charge_degree": ("2", 2), "priors_count": ("3", 3)})
    groups = ("F, A-A", "F, C", "M, A-A", "M, C")

    def rate_before(group: int) -> float:
        return float(counts.outcome_by_group[group, 1])

    def rate_after(group: int) -> float:
        return float(study.fit(paper).achieved.rates_after[group, 1])

    def loss_at(bound: float) -> float:
        return study.fit(at(bound)).objective

    before = (("0.393", 0.3934), ("0.367", 0.3672), ("0.593", 0.5929), ("0.430", 0.4300))
    for i, (group, (printed, rate)) in enumerate(zip(groups, before, strict=True)):
        yield claim(f"rate before, {group}", printed, rate, RATE, partial(rate_before, i))
    yield claim("KL at ε=0.1, c=0.5", "0.021", 0.0212438, OBJECTIVE, lambda: study.fit(paper).objective)
    after = (("0.393", 0.3934), ("0.367", 0.3672), ("0.404", 0.4039), ("0.404", 0.4039))
    for i, (group, (printed, rate)) in enumerate(zip(groups, after, strict=True)):
        yield claim(f"rate after, {group}", printed, rate, RATE, partial(rate_after, i))
    yield claim("expected distortion", "", 0.2140, None, lambda: study.mean(paper, "distortion"))
    yield claim("price dΔ/dε at ε=0.1, c=0.5", "", 0.125659, PRICE, lambda: study.fit(paper).prices().parity[0])
    yield claim("smallest ε at c=0.25", "around 0.2", 0.2109576, EDGE, lambda: study.smallest(at(0.1)))
    yield claim("identity feasible from ε", "0.59 *", 0.6146101, EDGE, lambda: identity_from(paper, counts))
    yield claim("KL at ε=0.59, c=0.25", "0 *", 4e-5, OBJECTIVE, partial(loss_at, 0.59))
    for bound, loss in (
        (0.285714, 0.007271),
        (0.357143, 0.004444),
        (0.428571, 0.002315),
        (0.485714, 0.001110),
    ):
        yield claim(f"KL at ε={bound}, c=0.25", "figure 2", loss, OBJECTIVE, partial(loss_at, bound))
    yield from _costly_outcome(study)
    yield from study.trust()


def _costly_outcome(study: Study) -> Iterator[Claim]:
    """The paper's text says that lowering the outcome costs 2, which its own figures rule out."""
    paper = study.data.problem
    rules = dict(paper.distortion.rules) | {"is_recid": Ordinal(step=2, up=False)}
    text = replace(paper, distortion=Distortion(rules))

    def smallest_limit() -> float:
        factor, limit = smallest_budget_factor(text, study.counts), text.one_limit
        return float("nan") if factor is None or limit is None else limit * factor

    yield study.claim("outcome cost 2, ε=0.1, c=0.5", "feasible *", "infeasible", EXACT, lambda: study.verdict(text))
    yield study.claim("outcome cost 2: smallest ε", "", 0.2109576, EDGE, lambda: study.smallest(text))
    yield study.claim("outcome cost 2: smallest c", "", 0.6374419, EDGE, smallest_limit)


def _adult(study: Study) -> Iterator[Claim]:
    claim, counts, paper = study.claim, study.counts, study.data.problem
    each = replace(paper, budget=ExpectedDistortion(paper.charges[0].limit))
    looser = replace(each, parity=[TargetParity(0.2)])
    yield claim("people", "", 32561, EXACT, lambda: counts.people)
    yield from _levels(study, {"age": ("decades", 7), "education": ("years", 9)})
    yield claim("ℓ1 at ε=0.15, per xy", "0.014 *", 0.0148519, OBJECTIVE, lambda: study.fit(paper).objective)
    yield claim("expected distortion", "", 0.0245, None, lambda: study.mean(paper, "distortion"))
    yield claim("share of people changed", "", 0.057, None, lambda: study.mean(paper, "changed"))
    yield claim("ε=0.15, per individual", "", "infeasible", EXACT, lambda: study.verdict(each))
    yield claim("ℓ1 at ε=0.2, per individual", "", 0.0141155, OBJECTIVE, lambda: study.fit(looser).objective)
    edges = (("xy", paper, 0.1489659, 0.2432), ("individual", each, 0.1868666, 0.2886))
    for per, problem, smallest, lossless in edges:
        yield claim(f"smallest ε, per {per}", "", smallest, EDGE, partial(study.smallest, problem))
        yield claim(f"lossless from ε, per {per}", "", lossless, COARSE_EDGE, partial(study.smallest, problem, True))
    yield claim("identity feasible from ε", "", 0.7055, COARSE_EDGE, lambda: identity_from(paper, counts))
    yield from study.trust()


def _levels(study: Study, sizes: dict[str, tuple[str, int]]) -> Iterator[Claim]:
    for column, (printed, size) in sizes.items():
        variable = study.counts.domain.variable(column)
        yield study.claim(f"levels of {column}", printed, size, EXACT, partial(len, variable))
