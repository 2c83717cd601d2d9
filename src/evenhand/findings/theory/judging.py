"""Every parity bound on people who were not used for fitting: the exact interval of what it bounds, and one word.

As in a hold-out (:mod:`.intervals`) everybody is released once, so that a group's released outcomes are independent
trials, and Clopper and Pearson's intervals, shared out over all rates that are compared, hold all at once. What the
intervals of two rates imply of the distance between them follows from its form: within a bound it is convex
(Proposition 1), so that it is largest at a corner of the two intervals, and it grows as rates move apart, so that it is
smallest where they are nearest to each other. Any form of parity and any distance is judged so.

Where the event that is compared is whichever tells two groups apart best, no rate is fixed beforehand. The total
variation of two samples is then within the sum of what each may be from its own population, which with probability
1 − β is at most ½ sqrt(2 log((2^k − 2)/β)/n) for k values (Bretagnolle and Huber 1979; Weissman and others 2003).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.findings.theory.intervals import MET, UNDECIDED, VIOLATED, clopper_pearson
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import parity_achieved, segment_shares
from evenhand.spec import AGAINST_TARGET, Comparisons, Parity, comparisons
from evenhand.tolerances import WHOLE_PEOPLE

SALT = 0x6A75646765
"""Sets these draws apart from all others with the same seed."""

MOST_VALUES = 1_000_000
"""Of more combinations of features no sample tells how far apart they are."""


@dataclass(frozen=True)
class Judgement:
    """One bound of the fitted table, and what a batch says of it.

    Attributes
    ----------
    constraint, where : str
        The parity constraint, and which rates it compares.
    bound : float
        The bound.
    verdict : str
        "shown met", "shown violated" or "not decided".
    people, against_people : float
        How many people each of the two rates is of, in a weighted batch how many of equal weight would tell as much;
        NaN for a target.
    rate, other : float
        The rates of one release, in a weighted batch those that are expected; NaN where nobody is compared.
    value, low, high : float
        The distance between them, and its interval.
    expected : float
        The distance between the rates that are expected over the draws.
    held : str
        The interval beside what the bound asks, in words.
    comparison : int
        The number of the comparison: two groups that are compared in both orders are one.
    """

    constraint: str
    where: str
    bound: float
    verdict: str = UNDECIDED
    people: float = 0.0
    against_people: float = math.nan
    rate: float = math.nan
    other: float = math.nan
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    expected: float = math.nan
    held: str = field(default="", kw_only=True)
    comparison: int = field(default=0, kw_only=True)


def judge(
    parity: Sequence[Parity],
    fitted: Counts,
    batch: tuple[Counts, Kernel] | None,
    *,
    confidence: float,
    seed: int = 0,
) -> list[Judgement]:
    """Judge every bound that holds in the fitted table by a batch of new people.

    Parameters
    ----------
    parity : sequence of Parity
        The constraints; those against the fitted table's own rates have these written out.
    fitted : Counts
        The fitted table, which says what is compared.
    batch : (Counts, Kernel), optional
        The new people and what the mapping makes of them; None where their outcomes are not known.
    confidence : float
        With which all intervals hold.
    seed : int
        Of the one release.
    """
    listed = [comparisons(each, fitted) for each in parity]
    number = sum(map(_number_of_rates, listed))
    drawn = None if batch is None or batch[0].weighed else drawn_once(*batch, seed)
    found: list[Judgement] = []
    for each, bounds in zip(parity, listed, strict=True):
        own: dict[str, Judgement] = {}
        if batch is not None:
            # How large a segment must be was said of the fitted table.
            held = comparisons(replace(each, min_segment=0.0) if each.min_segment else each, batch[0])  # type: ignore[type-var]
            one = 1 - (1 - confidence) / max(1, number)
            own = {judged.where: judged for judged in _judged(held, *batch, drawn or batch[1], one)}
        first = 1 + max((judged.comparison for judged in found), default=-1)
        for at in range(len(bounds)):
            where = bounds.words(at)
            judged = own.get(where, Judgement(_name(bounds), where, float(bounds.bound[at])))
            found.append(replace(judged, comparison=first + int(bounds.pair[at])))
    return found


def _name(compared: Comparisons) -> str:
    return type(compared.parity).__name__ + compared.parity.where


def _number_of_rates(compared: Comparisons) -> int:
    """Count the rates whose intervals are needed; two outcomes count once, since their rates sum to one."""
    event = compared.event if compared.counts.domain.y.size > 2 else np.zeros_like(compared.event)
    rates = {*zip(compared.population.tolist(), event.tolist(), compared.segment.tolist(), strict=True)}
    rates |= {*zip(compared.against.tolist(), event.tolist(), compared.segment.tolist(), strict=True)}
    return sum(population != AGAINST_TARGET for population, *_ in rates)


def drawn_once(counts: Counts, kernel: Kernel, seed: int) -> Kernel:
    """Return the shares of each cell's people that one release, everybody drawn once, gives every target.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> drawn = drawn_once(mapping.counts, mapping.kernel, 0)
    >>> people = drawn.probability * mapping.counts.weight[drawn.rows]
    >>> float(people.sum()), bool(abs(people - people.round()).max() < 1e-9)
    (5278.0, True)
    """
    generator = np.random.default_rng([seed, SALT])
    people, sizes = counts.unweighted.weight.astype(np.int64), np.diff(kernel.starts)
    left, rest = people.copy(), np.ones(len(kernel))
    hit = np.zeros(len(kernel.targets))
    for step in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > step)
        entry = kernel.starts[rows] + step
        last = sizes[rows] == step + 1
        # Of those who have not been drawn yet, the share that this target has of what is left.
        share = np.where(last, 1.0, np.clip(kernel.probability[entry] / np.maximum(rest[rows], 1e-300), 0.0, 1.0))
        hit[entry] = generator.binomial(left[rows], share)
        left[rows] -= hit[entry].astype(np.int64)
        rest[rows] -= kernel.probability[entry]
    return Kernel(kernel.starts, kernel.targets, hit / people[kernel.rows])


def _judged(compared: Comparisons, counts: Counts, kernel: Kernel, drawn: Kernel, one: float) -> Iterator[Judgement]:
    part, expected = (parity_achieved(compared, counts, each) for each in (drawn, kernel))
    members = [population.member for population in compared.populations]
    trials = np.array([counts.weight[member].sum() ** 2 / counts.cell_squares[member].sum() for member in members])
    # Within released segments those are counted whom this release put there.
    own = trials[compared.population] * segment_shares(compared, counts, drawn)
    against = np.where(compared.against == AGAINST_TARGET, np.nan, trials[compared.against])
    if compared.events.free:
        low, high = _variation(compared, counts, part.value, own, against, one)
    else:
        p = _interval(part.rate, own, one)
        q = _interval(part.other, np.nan_to_num(against), one)
        # A target is what it is.
        fixed = np.where(np.isnan(against), part.other, q[0]), np.where(np.isnan(against), part.other, q[1])
        low, high = apart(compared, p, fixed)
    met, violated = high <= compared.bound, low > compared.bound
    verdicts = np.select([met, violated], [MET, VIOLATED], default=UNDECIDED)
    columns = (own, against, part.rate, part.other, part.value, low, high, expected.value)
    for at, verdict in enumerate(verdicts.tolist()):
        where, numbers = compared.words(at), (float(column[at]) for column in columns)
        bound, ends = float(compared.bound[at]), (float(low[at]), float(high[at]))
        held = compared.parity.distance.held(ends, bound)
        yield Judgement(_name(compared), where, bound, verdict, *numbers, held=held)


def _variation(
    compared: Comparisons, counts: Counts, value: Numbers, own: Numbers, against: Numbers, one: float
) -> tuple[Numbers, Numbers]:
    """Return between what the total variation of two populations lies, of which ``value`` is that of their samples."""
    domain = counts.domain
    every = np.arange(min(domain.x.size, MOST_VALUES))
    values = len(compared.events.told_apart(domain, every, np.zeros_like(every))[0])
    # log(2^k − 2) is at most k log 2; of more values than are counted nothing is known.
    most = values * math.log(2) if domain.x.size <= MOST_VALUES else math.inf
    off = sum(np.sqrt((most - math.log(1 - one)) / (2 * np.maximum(people, 1e-9))) for people in (own, against))
    return np.asarray(np.maximum(value - off, 0.0)), np.asarray(np.minimum(value + off, 1.0))


def _interval(rate: Numbers, trials: Numbers, one: float) -> tuple[Numbers, Numbers]:
    """Return exact intervals of rates; without anybody a rate may be anything."""
    number = np.clip(rate, 0.0, 1.0) * trials
    # Trials are whole people, but where they have weights.
    whole = np.abs(number - np.rint(number)) < WHOLE_PEOPLE
    return clopper_pearson(np.minimum(np.where(whole, np.rint(number), number), trials), trials, one)


def apart(compared: Comparisons, p: tuple[Numbers, Numbers], q: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Return between what a distance lies where two rates lie in intervals."""
    distance, bound = compared.parity.distance, compared.bound

    def value(one: Numbers, other: Numbers) -> Numbers:
        return np.asarray(bound + distance.excess(one, other, bound))

    high = np.max([value(one, other) for one in p for other in q], axis=0)
    # The points of the two intervals that are nearest to each other.
    above, below = p[0] > q[1], p[1] < q[0]
    common = np.maximum(p[0], q[0])
    one = np.where(above, p[0], np.where(below, p[1], common))
    other = np.where(above, q[1], np.where(below, q[0], common))
    return np.asarray(value(one, other)), np.asarray(high)
