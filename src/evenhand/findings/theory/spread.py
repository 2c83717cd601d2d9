"""How much rates vary: with the people who happened to be in the table, and with the draws alone.

The mapping stays as it is throughout. Knows counts and kernels, no frames but those it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.findings.document import ranged, written
from evenhand.findings.theory.rates import (
    by_group_and_outcome,
    group_sums,
    largest_ratio,
    number_of_people,
    people_notes,
    share,
)
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import group_rates, outcome_by_source
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section
from evenhand.tables import beside, frame
from evenhand.tolerances import ROUNDING

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 1_000_000
"""Numbers drawn at once."""

MOST_DRAWN = 10_000_000
"""Tables; the rates of more would not fit into memory."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the realised largest ratio over simulated releases."""


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Finding):
    """How much the achieved rates would move had other people been in the table; the mapping stays as it is.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, its rate p(ŷ|d) in expectation over the draws, with a percentile interval.
    largest : tuple of float
        The largest |ratio − 1| on the table, and the ends of its percentile interval.
    over : float or None
        The share of resamples whose largest |ratio − 1| violates the bound; None where none was stated.
    resamples, people : int
        How many tables, of how many people each.
    sections : tuple of Section
        What follows.
    """

    rates: pd.DataFrame
    largest: tuple[float, float, float]
    over: float | None
    resamples: int
    people: int
    sections: tuple[Section, ...]


def bootstrap(
    counts: Counts,
    kernel: Kernel,
    *,
    bound: float | None = None,
    target: Numbers | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    people: int | None = None,
) -> Bootstrap:
    """Resample the table's people, hold the mapping fixed, and see how far the rates move.

    Parameters
    ----------
    counts, kernel : Counts, Kernel
        The table, and the mapping in train mode.
    bound : float, optional
        The bound ε on ratios, to report how often resamples violate it.
    target : array, optional
        The probabilities that rates are held against; None compares every two groups.
    confidence : float
        Of each percentile interval by itself.
    resamples : int
        How many tables are drawn.
    seed : int
        Of the draws.
    people : int, optional
        The number of independent people, where it is not the number of rows counted.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = bootstrap(data.counts, mapping.kernel, bound=0.1, seed=0)
    >>> found.rates.query("sex == 'Male' and is_recid == 1")[["low", "high"]].round(2).to_numpy().tolist()
    [[0.39, 0.42], [0.38, 0.43]]
    """
    n, size = number_of_people(counts, people), check.whole("resamples", resamples, low=1, high=MOST_DRAWN)
    confidence = share("confidence", confidence)
    alike, generator, found = _Alike.of(counts, outcome_shares(counts, kernel)), generator_of(seed), []
    share_of = sums(alike.of_source, counts.probability)
    for block in blocks(size, len(share_of)):
        drawn = generator.multinomial(n, share_of / share_of.sum(), size=block).astype(float)
        total = alike.by_group(drawn)[:, :, None]
        number = np.stack([alike.by_group(drawn * column) for column in alike.chance.T], axis=2)
        # Not a number where a group is empty.
        found.append(np.divide(number, total, out=np.full(number.shape, np.nan), where=total > 0))
    rates = np.concatenate(found)
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(rates, [tail, 1 - tail], axis=0, method="inverted_cdf")
    now = group_rates(counts, kernel)
    ratios = largest_ratio(rates, target)
    ends = np.quantile(ratios, [tail, 1 - tail], method="inverted_cdf")
    largest = float(largest_ratio(now, target)), float(ends[0]), float(ends[1])
    over = None if bound is None else float(np.mean(ratios > bound + ROUNDING))
    table = beside(by_group_and_outcome(counts), {"rate": now.ravel(), "low": low.ravel(), "high": high.ravel()})
    empty = int(np.isnan(rates).any(axis=(1, 2)).sum())
    fields = {
        "resamples": size, "range": ranged(*largest[1:], ".3f"), "confidence": confidence, "bound": bound, "over": over,
        "now": written(largest[0], ".3f"), "empty": empty,
    }  # fmt: skip
    notes = [Note("bootstrap.ratio", fields)]
    notes += [] if over is None else [Note("bootstrap.over", fields)]
    notes += [Note("bootstrap.empty", fields)] if empty else []
    notes += [Note("bootstrap.percentiles"), *people_notes(counts, n)]
    return Bootstrap(table, largest, over, size, n, (Section("bootstrap", notes=tuple(notes)),))


def generator_of(seed: int | None) -> np.random.Generator:
    """Return what draws; None takes fresh randomness."""
    return np.random.default_rng(None if seed is None else check.seed("seed", seed))


def blocks(total: int, width: int) -> Iterator[int]:
    """Cut a number of repetitions into blocks that fit in memory."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, total, step):
        yield min(step, total - start)


@dataclass(frozen=True, eq=False, repr=False)
class DrawSpread(Finding):
    """How much the realized rates of one release vary with the draws alone.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, the expected rate and the exact standard deviation of the realised one.
    quantiles : pandas.DataFrame
        Quantiles of the realised largest |ratio − 1| over the simulated releases.
    expected : float
        The largest |ratio − 1| of the expected rates.
    over : float or None
        The share of simulated releases that violate the bound; None where none was stated.
    releases : int
        How many were simulated.
    sections : tuple of Section
        What follows.
    """

    rates: pd.DataFrame
    quantiles: pd.DataFrame
    expected: float
    over: float | None
    releases: int
    sections: tuple[Section, ...]


def draw_spread(
    counts: Counts,
    kernel: Kernel,
    *,
    bound: float | None = None,
    target: Numbers | None = None,
    releases: int = 2000,
    seed: int = 0,
    people: int | None = None,
) -> DrawSpread:
    """Measure how much one release of the fitted table varies with its draws alone.

    Draws are independent from person to person: balanced ones vary less. The table does not say whether a weight stands
    for one person or many, so each cell is taken to hold its share of ``people``, every one drawn alone.

    Parameters
    ----------
    counts, kernel : Counts, Kernel
        The table, and the mapping in train mode.
    bound : float, optional
        The bound ε on ratios, to report how often single releases violate it.
    target : array, optional
        The probabilities that rates are held against; None compares every two groups.
    releases : int
        How many are simulated.
    seed : int
        Of the simulation.
    people : int, optional
        The number of independent people, where it is not the number of rows counted.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = draw_spread(data.counts, mapping.kernel, bound=0.1, seed=0)
    >>> found.rates.query("sex == 'Male' and is_recid == 1")["standard_deviation"].round(4).tolist()
    [0.0069, 0.0038]
    """
    n, size = number_of_people(counts, people), check.whole("releases", releases, low=1, high=MOST_DRAWN)
    chance = outcome_shares(counts, kernel)
    alike = _Alike.of(counts, chance)
    held = sums(alike.of_source, apportioned(counts.probability, n).astype(float)).astype(np.int64)
    total = alike.by_group(held[None].astype(float))[:, :, None]
    generator, found = generator_of(seed), []
    for block in blocks(size, alike.chance.size):
        drawn = generator.multinomial(held, alike.chance, size=(block, len(held)))
        number = alike.by_group(drawn.astype(float))
        rates = np.divide(number, total, out=np.full(number.shape, np.nan), where=total > 0)
        found.append(largest_ratio(rates, target))
    ratios = np.concatenate(found)
    now = group_rates(counts, kernel)
    # sqrt(Σ w P(1 − P)) / Σ w over the sources of each group: the draws are independent.
    weight = counts.probability * n
    variance = group_sums(counts, weight[:, None] * chance * (1 - chance))
    deviation = np.sqrt(variance) / group_sums(counts, weight)[:, None]
    table = beside(by_group_and_outcome(counts), {"rate": now.ravel(), "standard_deviation": deviation.ravel()})
    expected = float(largest_ratio(now, target))
    over = None if bound is None else float(np.mean(ratios > bound + ROUNDING))
    ends = np.quantile(ratios, QUANTILES, method="inverted_cdf")
    fields = {
        "releases": size, "expected": written(expected, ".3f"), "range": ranged(ends[0], ends[-1], ".3f"),
        "bound": bound, "over": over,
    }  # fmt: skip
    notes = [Note("draws.ratio", fields), *([] if over is None else [Note("draws.over", fields)])]
    notes += people_notes(counts, n)
    spread = frame({"quantile": list(QUANTILES), "largest_ratio": ends})
    return DrawSpread(table, spread, expected, over, size, (Section("draws", notes=tuple(notes)),))


@dataclass(frozen=True, eq=False)
class _Alike:
    """Sources of a group with the same chances of outcomes, taken together: their sums have the same law, and are few.

    ``chance`` are those of each kind, ``of_source`` is the kind of each source; kinds are in the order of groups.
    """

    chance: Numbers
    of_source: Cells
    starts: Cells

    @classmethod
    def of(cls, counts: Counts, chance: Numbers) -> _Alike:
        """Find the kinds of sources."""
        group = counts.groups.of_source
        kinds, of_source = np.unique(np.column_stack([group, chance]), axis=0, return_inverse=True)
        starts = np.searchsorted(kinds[:, 0], np.arange(len(counts.groups.cells)))
        return cls(np.ascontiguousarray(kinds[:, 1:]), of_source.reshape(-1), starts)

    def by_group(self, values: Numbers) -> Numbers:
        """Add values of kinds, along the second axis, up by group."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=1))


def outcome_shares(counts: Counts, kernel: Kernel) -> Numbers:
    """Return P(ŷ | d, x, y) with rows that sum to one: rounding leaves some just above, which no lottery takes."""
    chance = outcome_by_source(counts, kernel)
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def apportioned(probability: Numbers, people: int) -> Cells:
    """Share whole people out in proportion, by largest remainders; exact where the shares are whole.

    Examples
    --------
    >>> apportioned(np.array([0.5, 0.3, 0.2]), 7).tolist()
    [4, 2, 1]
    """
    wanted = probability * people
    held = np.floor(wanted).astype(np.int64)
    short = people - int(held.sum())
    held[np.argsort(held - wanted, kind="stable")[:short]] += 1
    return held
