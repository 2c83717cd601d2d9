"""How often a problem's own bounds are violated by chance: on resampled tables, and in single releases.

Where ``spread`` speaks of ratios, as the paper does, this speaks of every bound by its own distance, of all of them at
once. The mapping stays as it is, and so do targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.findings.theory.rates import number_of_people
from evenhand.findings.theory.spread import MOST_DRAWN, apportioned, blocks, generator_of, outcome_shares
from evenhand.kernel import Kernel
from evenhand.spec import Comparisons
from evenhand.tolerances import ROUNDING


@dataclass(frozen=True)
class Straying:
    """How chance moves the rates that bounds are about.

    Attributes
    ----------
    number : int
        How many tables, or releases, were simulated.
    over : float
        The share of them that violates some bound.
    apart : str
        How far apart rates are in nine in ten of them, by the first constraint's own distance and in its words: "1.06
        to 1.23 times apart".
    """

    number: int
    over: float
    apart: str


def simulable(parts: Sequence[Comparisons]) -> list[Comparisons]:
    """Return the constraints on rates of outcomes; what is about released segments or any event is not simulated."""
    return [part for part in parts if len(part) and not part.within_released and not part.events.free]


def on_resamples(parts: Sequence[Comparisons], counts: Counts, kernel: Kernel, *, number: int, seed: int) -> Straying:
    """Resample the table's people, and count how often the expected rates violate a bound."""
    generator, number = generator_of(seed), check.whole("number", number, low=1, high=MOST_DRAWN)
    chance, people = outcome_shares(counts, kernel), number_of_people(counts, None)

    def simulated() -> Iterator[list[Numbers]]:
        for block in blocks(number, len(counts)):
            factor = generator.multinomial(people, counts.probability, size=block) / (people * counts.probability)
            yield [_resampled(part, factor, chance) for part in parts]

    return _summed_up(parts, simulated(), number)


def in_releases(parts: Sequence[Comparisons], counts: Counts, kernel: Kernel, *, number: int, seed: int) -> Straying:
    """Draw everybody independently, and count how often the rates of one release violate a bound."""
    generator, number = generator_of(seed), check.whole("number", number, low=1, high=MOST_DRAWN)
    chance = outcome_shares(counts, kernel)
    # Somebody is in every cell, also where weights are so uneven that its share of the people is less than one.
    held = np.maximum(apportioned(counts.probability, number_of_people(counts, None)), 1)

    def simulated() -> Iterator[list[Numbers]]:
        for block in blocks(number, chance.size):
            drawn = generator.multinomial(held, chance, size=(block, len(held))) / held[:, None]
            yield [_drawn(part, drawn) for part in parts]

    return _summed_up(parts, simulated(), number)


def _resampled(part: Comparisons, factor: Numbers, chance: Numbers) -> Numbers:
    """Return the rates of each event in each population, table by table: by how often everybody was drawn."""
    events = chance @ part.events.members.T
    everybody = (part.weights @ factor.T).T
    with np.errstate(invalid="ignore"):
        # Not a number where nobody of a population was drawn.
        return np.stack([(part.weights @ (factor * share).T).T / everybody for share in events.T], axis=2)


def _drawn(part: Comparisons, drawn: Numbers) -> Numbers:
    """Return the rates of each event in each population, release by release."""
    events = drawn @ part.events.members.T
    return np.stack([(part.weights @ events[:, :, at].T).T for at in range(events.shape[2])], axis=2)


def _summed_up(parts: Sequence[Comparisons], simulated: Iterator[list[Numbers]], number: int) -> Straying:
    over, apart = [], []
    for rates in simulated:
        # Two hundred groups are forty thousand comparisons: of all tables at once, they would not fit into memory.
        for some in _slices(len(rates[0]), sum(len(part) for part in parts)):
            excess = [_excess(part, found[some]) for part, found in zip(parts, rates, strict=True)]
            over.append(np.any([np.any(each > ROUNDING, axis=1) for each in excess], axis=0))
            apart.append(np.max(np.where(np.isnan(excess[0]), -np.inf, excess[0] + parts[0].bound), axis=1))
    ends = np.quantile(np.concatenate(apart), (0.05, 0.95), method="inverted_cdf")
    parity = parts[0].parity
    both = parity.holds_everybody and not parity.against_target
    said = parity.distance.said_range(*(max(0.0, float(end)) for end in ends), both=both)
    return Straying(number, float(np.mean(np.concatenate(over))), said)


def _slices(total: int, width: int) -> Iterator[slice]:
    """Cut rows of a width into slices that fit in memory."""
    start = 0
    for size in blocks(total, width):
        yield slice(start, start + size)
        start += size


def _excess(part: Comparisons, rates: Numbers) -> Numbers:
    """Return by how much each comparison exceeds its bound, one row per table."""
    size = len(rates)
    own = rates[:, part.population, part.event]
    other = np.tile(part.target, (size, 1)) if part.against_target else rates[:, part.against, part.event]
    there = ~(np.isnan(own) | np.isnan(other))
    found = np.full(own.shape, np.nan)
    found[there] = part.parity.distance.excess(own[there], other[there], np.tile(part.bound, (size, 1))[there])
    return found
