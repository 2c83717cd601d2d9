"""What the fitted table proves about fresh people: the proposition of section 3.5 and its proof, as numbers.

A table of n independent people over m = |D||X||Y| cells is, with probability 1 − β, within a radius τ of the truth:
KL(p‖q) ≤ τ. What is released from fresh people is then near what is released from the table:

    ratio    q(ŷ|d)/p_T(ŷ) in [(1 − ε) e^−h, (1 + ε) e^h],  h = sqrt(3τ/c_m),  c_m = min p(d, ŷ),
             if τ ≤ min p(d, ŷ)(1 − p(ŷ|d)) / (3(1 + p(ŷ|d))²)
    loss     Σ|q_XY − q_X̂Ŷ| ≤ μ + 2 sqrt(2τ)

Three sets of constants. ``paper``: as printed. ``tight``: the same argument without its slack, the exact number of
types and Pinsker's inequality with its own constant. ``sharp``: the same conclusion by other means, a newer bound on KL
(Agrawal 2020, arXiv:1904.02291) and the binary divergence inverted exactly, which needs no condition on τ.

Where the paper's text is looser than its mathematics (nothing below depends on it):

- Pinsker's inequality is Σ|p − q| ≤ sqrt(2 KL) in nats. The paper writes 2 sqrt(2 KL): 4 sqrt(2τ) is twice too large.
- The lemma bounds an alternating series by its first two terms. Alternation alone does not allow that, and the series
  converges only while ατ/c < −log c. The bound holds all the same: with u = ατ/c the divergence has the second
  derivative (1 − c) Σ k c^k e^−ku, so its fourth is positive for u ≥ 0, and Taylor's remainder has the right sign.
- The condition on τ is needed for the lower side alone; the upper side holds for every τ (with 2 in place of 3).
- The lemma ends "p(x) ≥ γ₂ r(x)" where ≤ is meant, and h drops the factor 1 − p(ŷ|d).
- The proposition assumes p(y, d) > 0; its proof needs p(ŷ, d) > 0, of the released outcome.
- Only parity against a *fixed* target is covered; a target that is the table's own p(y) stays the table's. Between two
  groups both rates err. The errors share one τ, because Σ_d p(d) KL_d ≤ τ, so by Cauchy and Schwarz h grows by sqrt(2).
- Cells that the table has not seen have a row of their own in the argument: here, that they are kept as they are.
- People must be independent draws and the domain fixed before looking at them: levels chosen from the table, or
  weights, are outside the proposition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.special import betaln, lambertw

from evenhand import check
from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import LARGEST_DOMAIN, Role
from evenhand.data.sentences import Said, about
from evenhand.errors import DataError
from evenhand.findings.naming import group_levels, long_name
from evenhand.findings.theory import merging
from evenhand.findings.theory.rates import MOST_PEOPLE, number_of_people, people_words, share
from evenhand.resources import heed
from evenhand.tables import frame

if TYPE_CHECKING:
    import pandas as pd

Constants = Literal["paper", "tight", "sharp"]
CONSTANTS: tuple[Constants, ...] = get_args(Constants)

LARGEST_L1 = 2.0
"""No two distributions differ by more in ℓ1: a bound of this much says nothing."""

FAR = 100.0
"""A bound on ratios that is beyond this says nothing."""

SPLITS = 64
"""Into how many parts a radius is cut when two groups share it."""

NEWTON_STEPS = 6
"""Steps of the exact inversion; from where it begins, four leave nothing but rounding."""


@dataclass(frozen=True)
class Statement:
    """What one set of constants proves about fresh people.

    Attributes
    ----------
    constants : {"paper", "tight", "sharp"}
        Which constants.
    radius : float
        τ.
    required : float or None
        The largest τ at which the ratio statement holds; None where it holds at any.
    ratio_vacuous : bool
        Whether nothing is proved about ratios.
    ratio_low, ratio_high : float or None
        Between what the ratio of rates lies on fresh people; None where nothing is proved.
    fresh_bound : float or None
        The bound on |ratio − 1| on fresh people.
    loss_bound : float
        The bound on the ℓ1 distance between original and released fresh records.
    loss_vacuous : bool
        Whether that bound is 2 or more, which every two distributions meet.
    people_for_ratio, people_for_loss : int or None
        The fewest people, over the same domain and with the same rates, at which the statement is within its margin.
    cells_for_ratio, cells_for_loss : int or None
        The largest domain, with the same people and rates, at which it is; None where even a domain without features
        would be too large.
    """

    constants: Constants
    radius: float
    required: float | None
    ratio_vacuous: bool
    ratio_low: float | None
    ratio_high: float | None
    fresh_bound: float | None
    loss_bound: float
    loss_vacuous: bool
    people_for_ratio: int | None
    cells_for_ratio: int | None
    people_for_loss: int | None
    cells_for_loss: int | None


@dataclass(frozen=True, eq=False)
class Robustness:
    """What the proposition of section 3.5 says for a table's own numbers.

    Attributes
    ----------
    statements : tuple of Statement
        One for each set of constants.
    frame : pandas.DataFrame
        The same, one row per set of constants.
    people, cells : int
        n and m.
    smallest : float
        c_m, the smallest p(d, ŷ).
    smallest_pair : str
        The group and outcome that have it.
    merges : tuple of Merge
        What could be merged next, most cells saved for the fewest people affected first.
    plan : tuple of Merge
        Merges, one after the other, that reach the domain needed; empty where none is needed or none would do.
    words : tuple of str
        What follows, in sentences.
    """

    statements: tuple[Statement, ...]
    frame: pd.DataFrame
    people: int
    cells: int
    smallest: float
    smallest_pair: str
    merges: tuple[merging.Merge, ...]
    plan: tuple[merging.Merge, ...]
    words: tuple[str, ...]

    def statement(self, constants: Constants) -> Statement:
        """Return the statement with the given constants."""
        check.one_of("constants", constants, CONSTANTS)
        return self.statements[CONSTANTS.index(constants)]

    @property
    def plan_frame(self) -> pd.DataFrame:
        """The plan as a pandas frame."""
        return merging.as_frame(self.plan)

    @property
    def merges_frame(self) -> pd.DataFrame:
        """The single merges as a pandas frame."""
        return merging.as_frame(self.merges)


@dataclass(frozen=True, eq=False)
class _Setting:
    """What stays the same while n and m vary."""

    rates: Numbers
    groups: Numbers
    bound: float
    pairwise: bool
    loss: float
    confidence: float
    margin: float
    loss_margin: float

    @property
    def joint(self) -> Numbers:
        """p(d, ŷ)."""
        return np.asarray(self.rates * self.groups[:, None])

    @property
    def smallest(self) -> float:
        """c_m."""
        return float(self.joint.min())

    @property
    def required(self) -> float:
        """The largest τ for which the lemma's lower side is proved, in every group and for every outcome."""
        return float(np.min(self.joint * (1 - self.rates) / (3 * (1 + self.rates) ** 2)))


def log_types(people: int, cells: int) -> float:
    """Return log C(n + m − 1, m − 1): the number of tables that n people over m cells can make.

    Examples
    --------
    >>> round(math.exp(log_types(3, 2)), 9)
    4.0
    """
    return float(-math.log(people + cells) - betaln(people + 1, cells))


def radius(people: int, cells: int, *, confidence: float = 0.95, constants: Constants = "tight") -> float:
    """Return τ: with the given confidence a table of n people over m cells has KL(p‖q) ≤ τ.

    Parameters
    ----------
    people, cells : int
        n and m.
    confidence : float
        1 − β.
    constants : {"paper", "tight", "sharp"}
        ``paper`` bounds the number of types by (e(n + m)/m)^m, ``tight`` counts them, ``sharp`` takes the smaller of
        that and Agrawal's bound Pr[KL ≥ τ] ≤ e^−nτ (enτ/(m − 1))^(m − 1).

    Examples
    --------
    >>> [round(radius(5278, 144, constants=c), 4) for c in ("paper", "tight", "sharp")]
    [0.1268, 0.1251, 0.033]
    """
    check.one_of("constants", constants, CONSTANTS)
    surprise = -math.log1p(-share("confidence", confidence))
    if constants == "paper":
        return (surprise + cells * (1 + math.log1p(people / cells))) / people
    counted = (surprise + log_types(people, cells)) / people
    if constants == "tight":
        return counted
    # Agrawal's τ solves k(z − 1 − log z) = log(1/β) for z > 1, where k = m − 1 and nτ = kz.
    free = max(cells - 1, 1)
    z = -lambertw(-math.exp(-1 - surprise / free), -1).real
    return min(counted, float(free * max(z, 1.0) / people))


def divergence(p: Numbers, u: Numbers) -> Numbers:
    """Return the binary divergence KL(p‖q) at q = p e^−u; the lemma's α is pu/τ.

    Examples
    --------
    >>> divergence(np.array([0.5]), np.array([np.log(2)])).round(6).tolist()
    [0.143841]
    """
    return np.asarray(p * u - (1 - p) * np.log1p(-p * np.expm1(-u) / (1 - p)))


def log_errors(p: Numbers, divergence_bound: Numbers) -> tuple[Numbers, Numbers]:
    """Return how far log q may lie above and below log p while KL(p‖q) ≤ the bound, exactly.

    Examples
    --------
    >>> above, below = log_errors(np.array([0.4]), np.array([0.01]))
    >>> (0.4 * np.exp(above)).round(4).tolist(), (0.4 * np.exp(-below)).round(4).tolist()
    ([0.4703], [0.3324])
    """
    p, divergence_bound = np.broadcast_arrays(p, divergence_bound)
    # Where q is above p, 1 − q is below 1 − p, and the divergence is the same.
    other = _log_fall(1 - p, divergence_bound)
    return np.log1p(-(1 - p) * np.expm1(-other) / p), _log_fall(p, divergence_bound)


def _log_fall(p: Numbers, divergence_bound: Numbers) -> Numbers:
    """Return the u ≥ 0 at which KL(p‖p e^−u) is the bound, by Newton's method."""
    # The lemma's, or where the term p u is enough by itself. The divergence is convex in u: wherever a step begins, it
    # ends beyond the limit or on it, so that this is never short but by rounding.
    enough = (divergence_bound - (1 - p) * np.log1p(-p)) / p
    u = np.asarray(np.minimum(np.sqrt(3 * (1 - p) * divergence_bound / p), enough))
    for _ in range(NEWTON_STEPS):
        excess, slope = divergence(p, u) - divergence_bound, -p * np.expm1(-u) / (1 - p * np.exp(-u))
        u = u - np.divide(excess, slope, out=np.zeros(u.shape), where=slope > 0)
    return u


def robustness(
    counts: Counts,
    rates: Numbers,
    loss: float,
    *,
    bound: float,
    pairwise: bool,
    confidence: float = 0.95,
    margin: float = 0.05,
    loss_margin: float = 0.1,
    people: int | None = None,
) -> Robustness:
    """State what the fitted table proves about fresh people, and what it would take to prove more.

    Parameters
    ----------
    counts : Counts
        The table.
    rates : array
        p(ŷ|d) after: one row per group of the table, one column per outcome.
    loss : float
        μ, the ℓ1 distance Σ|p − r| between original and released records (see ``l1_distance``), whatever utility was
        minimised.
    bound : float
        The bound ε that the rates meet, a ratio.
    pairwise : bool
        Whether ε holds between every two groups, or of each group against a fixed target, as in the paper.
    confidence : float
        1 − β.
    margin : float
        By how much ε may widen on fresh people.
    loss_margin : float
        By how much μ may.
    people : int, optional
        n, where it is not the number of rows counted.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> from evenhand.findings.theory import l1_distance
    >>> loss = l1_distance(data.counts, mapping.kernel)
    >>> found = robustness(data.counts, mapping.achieved.rates_after, loss, bound=0.1, pairwise=True)
    >>> paper = found.statement("paper")
    >>> round(paper.radius, 3), round(paper.required, 4), paper.ratio_vacuous
    (0.127, 0.0027, True)
    >>> found.smallest_pair
    'is_recid=1 in the group sex=Female, race=Caucasian'
    """
    rates = np.asarray(rates, dtype=float)
    groups = counts.groups.probability
    if rates.shape != (len(groups), counts.domain.y.size):
        raise DataError(
            f"rates of shape {rates.shape} do not fit {len(groups)} groups and {counts.domain.y.size} outcomes"
        )
    setting = _Setting(
        np.clip(rates, 0.0, 1.0),
        groups,
        check.finite("bound", bound, low=0),
        pairwise,
        check.finite("loss", float(loss), low=0),
        share("confidence", confidence),
        check.finite("margin", margin, low=0),
        check.finite("loss_margin", loss_margin, low=0),
    )
    n, domain = number_of_people(counts, people), counts.domain
    features = math.prod(len(v) for v in domain.x.variables if v.role is Role.FEATURE)
    cells = domain.d.size * domain.x.size * domain.y.size
    fewest = cells // features
    statements = tuple(_statement(setting, n, cells, fewest, constants) for constants in CONSTANTS)
    needed = max((s.cells_for_ratio for s in statements if s.cells_for_ratio is not None), default=None)

    def after(size: int) -> float:
        return radius(n, size, confidence=setting.confidence)

    state = merging.start(counts)
    group, outcome = np.unravel_index(int(setting.joint.argmin()), setting.joint.shape)
    levels = group_levels(counts)[group]
    pair = Said(f"{domain.y.words(int(outcome))} in the group {long_name(levels)}", levels)
    merges = merging.single(state, cells, after)
    plan = () if needed is None else merging.plan(state, cells, needed, after)
    table = {f.name: np.array([getattr(s, f.name) for s in statements], dtype=object) for f in fields(Statement)}
    found = Robustness(statements, frame(table), n, cells, setting.smallest, pair, merges, plan, ())
    fewer = (*merging.words(merges, plan, needed), *merging.fewer_leaves(counts, needed))
    return replace(found, words=(*_words(setting, found, fewest), *fewer, *people_words(counts, n)))


def _statement(setting: _Setting, n: int, cells: int, fewest: int, constants: Constants) -> Statement:
    tau = radius(n, cells, confidence=setting.confidence, constants=constants)
    interval = _interval(setting, tau, constants)
    loss = setting.loss + _loss_widening(tau, constants)

    def ratio_within(people: int, size: int) -> bool:
        found = _interval(setting, radius(people, size, confidence=setting.confidence, constants=constants), constants)
        return found is not None and _fresh(found) - setting.bound <= setting.margin

    def loss_within(people: int, size: int) -> bool:
        tau = radius(people, size, confidence=setting.confidence, constants=constants)
        more = _loss_widening(tau, constants)
        return more <= setting.loss_margin and setting.loss + more < LARGEST_L1

    return Statement(
        constants=constants,
        radius=tau,
        required=None if constants == "sharp" else setting.required,
        ratio_vacuous=interval is None,
        ratio_low=None if interval is None else interval[0],
        ratio_high=None if interval is None else interval[1],
        fresh_bound=None if interval is None else _fresh(interval),
        loss_bound=loss,
        loss_vacuous=loss >= LARGEST_L1,
        people_for_ratio=smallest(lambda size: ratio_within(size, cells))
        if setting.margin and setting.smallest
        else None,
        cells_for_ratio=largest(lambda size: ratio_within(n, size), fewest),
        people_for_loss=smallest(lambda size: loss_within(size, cells)) if setting.loss_margin else None,
        cells_for_loss=largest(lambda size: loss_within(n, size), fewest),
    )


def _interval(setting: _Setting, tau: float, constants: Constants) -> tuple[float, float] | None:
    """Return where ratios lie on fresh people; None where nothing is proved."""
    if setting.smallest <= 0 or (constants != "sharp" and tau > setting.required):
        return None
    if constants == "sharp":
        heed()
        above, below = _sharp(setting, tau)
    else:
        above = below = math.sqrt(3 * tau / setting.smallest) * (math.sqrt(2) if setting.pairwise else 1.0)
    # Pairwise bounds hold in both orders, so the smallest ratio is 1/(1 + ε), which is at least 1 − ε.
    least = 1 / (1 + setting.bound) if setting.pairwise else max(0.0, 1 - setting.bound)
    with np.errstate(over="ignore"):
        # Infinite where it is too large to write.
        return least * math.exp(-below), (1 + setting.bound) * float(np.exp(above))


def _sharp(setting: _Setting, tau: float) -> tuple[float, float]:
    """Return how far the logarithm of any ratio may rise and fall."""
    groups = setting.groups[:, None]
    if not setting.pairwise:
        above, below = log_errors(setting.rates, tau / groups)
        return float(above.max()), float(below.max())
    if len(setting.groups) == 1:
        return 0.0, 0.0
    # Two groups share τ. If the first has a part t in [t_i, t_i+1], it errs by no more than at t_i+1, and the other,
    # with τ − t, by no more than at τ − t_i: so this maximum over the parts is never too small.
    parts = tau * np.arange(SPLITS + 1)[:, None, None] / SPLITS
    above, below = log_errors(setting.rates, parts / groups)
    apart = np.where(np.eye(len(groups), dtype=bool), -np.inf, 0.0)[:, :, None]
    pairs = zip(above[1:], below[:0:-1], strict=True)
    worst = max(float(np.max(up[:, None] + down[None] + apart)) for up, down in pairs)
    return worst, worst


def _fresh(interval: tuple[float, float]) -> float:
    """Return the largest |ratio − 1| within an interval."""
    return max(interval[1] - 1, 1 - interval[0])


def _loss_widening(tau: float, constants: Constants) -> float:
    """By the triangle inequality μ grows by twice Pinsker's bound, sqrt(2τ); the paper's Pinsker is twice too large."""
    return (4 if constants == "paper" else 2) * math.sqrt(2 * tau)


def smallest(enough: Callable[[int], bool], low: int = 1, most: int = MOST_PEOPLE) -> int | None:
    """Return the smallest whole number that is enough, if more is always enough too; None up to ``most``.

    Examples
    --------
    >>> smallest(lambda n: n * n >= 1000)
    32
    """
    if enough(low):
        return low
    high = 2 * low
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def largest(enough: Callable[[int], bool], low: int) -> int | None:
    """Return the largest whole number that still is enough, if less always is; None where ``low`` is not.

    Examples
    --------
    >>> largest(lambda n: n * n <= 1000, 1), largest(lambda n: n < 1, 1)
    (31, None)
    """
    if not enough(low):
        return None
    first = smallest(lambda size: not enough(size), low, LARGEST_DOMAIN)
    return LARGEST_DOMAIN if first is None else first - 1


def _words(setting: _Setting, found: Robustness, fewest: int) -> list[str]:
    between = "two groups' rates" if setting.pairwise else "a group's rate and the target"
    words = [
        f"With {found.people:,} people over {found.cells:,} cells and a confidence of {setting.confidence:g}, the "
        f"table lies within a divergence of {found.statements[0].radius:.4g} (the paper's constants), "
        f"{found.statements[1].radius:.4g} (tight) or {found.statements[2].radius:.4g} (sharp) of the distribution "
        f"that it was drawn from. Tight is the paper's argument with types counted exactly; sharp uses a later bound "
        f"on the divergence, and inverts it exactly.",
        *(_ratio_words(setting, s, between) for s in found.statements),
    ]
    for s in found.statements:
        nothing = "which says nothing, since no distance exceeds 2"
        words.append(
            f"{s.constants.capitalize()}: the ℓ1 distance between original and released records is at most "
            f"{s.loss_bound:.4g} on fresh people, {nothing if s.loss_vacuous else 'where the largest possible is 2'}; "
            f"on the table it is {setting.loss:.4g}."
        )
    words += [
        f"{s.constants.capitalize()}: to widen the bound on ratios by no more than {setting.margin:g} "
        f"{_needed(s.people_for_ratio, s.cells_for_ratio, fewest)}; to widen the ℓ1 distance by no more than "
        f"{setting.loss_margin:g} {_needed(s.people_for_loss, s.cells_for_loss, fewest)}."
        for s in found.statements
    ]
    spoils = f"What spoils it is the smallest pair of group and outcome: {found.smallest_pair}, with probability "
    words.append(Said(f"{spoils}{found.smallest:.4g}.", *about(found.smallest_pair)))
    if setting.pairwise:
        words.append(
            "The paper proves this against a fixed target; between two groups the same argument holds with its h "
            "larger by the root of two."
        )
    words.append(
        "Rows not used for fitting say more than these bounds: exact intervals on a hold-out need no assumption on the "
        "domain. The budgets on distortion are properties of the mapping and hold for any people."
    )
    return words


def _ratio_words(setting: _Setting, s: Statement, between: str) -> str:
    name = s.constants.capitalize()
    if s.fresh_bound is None or s.ratio_low is None:
        if setting.smallest <= 0:
            return f"{name}: nothing is proved about ratios, because a group has an outcome of rate zero."
        return (
            f"{name}: nothing is proved about ratios; the proof needs a divergence of at most {s.required:.4g}, and it "
            f"is {s.radius:.4g}."
        )
    if s.fresh_bound > FAR:
        return f"{name}: nothing of use is proved about ratios; the bound for fresh people is beyond {FAR:,.0f}."
    return (
        f"{name}: on fresh people the ratio between {between} lies in [{s.ratio_low:.4g}, {s.ratio_high:.4g}], so it "
        f"is off one by at most {s.fresh_bound:.4g}, where the table's bound is {setting.bound:g}."
    )


def _needed(people: int | None, cells: int | None, fewest: int) -> str:
    more = "is out of reach of any number of people" if people is None else f"takes {people:,} people on this domain"
    if cells is None:
        return f"{more} (with these people even a domain without features is too large)"
    return f"{more}, or with these people at most {cells:,} cells, {cells // fewest:,} combinations of feature levels"
