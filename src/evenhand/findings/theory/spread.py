"""How much rates vary: with the people who happened to be in the table, and with the lottery alone.

The mapping stays as it is throughout. Knows counts and kernels, no frames but those it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.findings.theory.rates import (
    by_group_and_outcome,
    group_sums,
    largest_ratio,
    number_of_people,
    people_words,
    share,
    whole,
)
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import group_rates, outcome_by_source
from evenhand.tables import frame

BLOCK = 4_000_000
"""Numbers drawn at once."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the realised largest ratio over simulated releases."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """How much the achieved rates would move had other people been in the table; the mapping stays as it is.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, its rate p(ŷ|d) in expectation over the draws, with a percentile interval.
    largest : tuple of float
        The largest |ratio − 1| on the table, and the ends of its percentile interval.
    over : float or None
        The share of resamples whose largest |ratio − 1| exceeds the bound; None where none was stated.
    resamples, people : int
        How many tables, of how many people each.
    words : tuple of str
        What follows, in sentences.
    """

    rates: Any
    largest: tuple[float, float, float]
    over: float | None
    resamples: int
    people: int
    words: tuple[str, ...]


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
        The bound ε on ratios, to say how often resamples exceed it.
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
    n, size = number_of_people(counts, people), whole("resamples", resamples)
    chance = _shares(counts, kernel)
    rates = np.concatenate(list(_resampled(counts, chance, n, size, np.random.default_rng(seed))))
    tail = (1 - share("confidence", confidence)) / 2
    low, high = np.nanquantile(rates, [tail, 1 - tail], axis=0, method="inverted_cdf")
    now = group_rates(counts, kernel)
    ratios = largest_ratio(rates, target)
    ends = np.quantile(ratios, [tail, 1 - tail], method="inverted_cdf")
    largest = float(largest_ratio(now, target)), float(ends[0]), float(ends[1])
    over = None if bound is None else float(np.mean(ratios > bound))
    table = {**by_group_and_outcome(counts), "rate": now.ravel(), "low": low.ravel(), "high": high.ravel()}
    empty = int(np.isnan(rates).any(axis=(1, 2)).sum())
    words = (*_bootstrap_words(largest, over, bound, confidence, size, empty), *people_words(counts, n))
    return Bootstrap(frame(table), largest, over, size, n, words)


def _resampled(
    counts: Counts, chance: Numbers, people: int, resamples: int, generator: np.random.Generator
) -> Iterator[Numbers]:
    """Yield blocks of p(ŷ|d): a resample, a group, an outcome; not a number where a group is empty."""
    for size in _blocks(resamples, len(counts)):
        drawn = generator.multinomial(people, counts.probability, size=size).astype(float)
        total = group_sums(counts, drawn, axis=1)[:, :, None]
        number = np.stack([group_sums(counts, drawn * column, axis=1) for column in chance.T], axis=2)
        yield np.divide(number, total, out=np.full(number.shape, np.nan), where=total > 0)


def _blocks(total: int, width: int) -> Iterator[int]:
    """Cut a number of repetitions into blocks that fit in memory."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, total, step):
        yield min(step, total - start)


def _bootstrap_words(
    largest: tuple[float, float, float],
    over: float | None,
    bound: float | None,
    confidence: float,
    resamples: int,
    empty: int,
) -> Iterator[str]:
    now, low, high = largest
    yield (
        f"On {resamples} resampled tables of as many people, the mapping held fixed, the largest ratio is off one by "
        f"{low:.3f} to {high:.3f} in {confidence:.0%} of cases; on the table itself by {now:.3f}."
    )
    if over is not None:
        yield f"It exceeds the bound of {bound:g} on {over:.1%} of them."
    if empty:
        yield f"On {empty} of them a group had nobody; it was left out there."
    yield (
        "These are percentiles, not proofs: they approximate how rates vary with the sample, each interval by itself. "
        "The largest of several ratios is larger on resamples than on the table, as chance adds to the differences."
    )


@dataclass(frozen=True, eq=False)
class DrawSpread:
    """How much the realised rates of one release vary with the lottery alone.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, the expected rate and the exact standard deviation of the realised one.
    quantiles : pandas.DataFrame
        Quantiles of the realised largest |ratio − 1| over the simulated releases.
    expected : float
        The largest |ratio − 1| of the expected rates.
    over : float or None
        The share of simulated releases that exceed the bound; None where none was stated.
    releases : int
        How many were simulated.
    words : tuple of str
        What follows, in sentences.
    """

    rates: Any
    quantiles: Any
    expected: float
    over: float | None
    releases: int
    words: tuple[str, ...]


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

    Draws are independent from person to person, as those of a seeded release are. The table does not say whether a
    weight stands for one person or many, so each cell is taken to hold its share of ``people``, every one drawn alone.

    Parameters
    ----------
    counts, kernel : Counts, Kernel
        The table, and the mapping in train mode.
    bound : float, optional
        The bound ε on ratios, to say how often single releases exceed it.
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
    n, size = number_of_people(counts, people), whole("releases", releases)
    chance = _shares(counts, kernel)
    held = apportioned(counts.probability, n)
    ratios = np.concatenate(list(_released(counts, chance, held, size, np.random.default_rng(seed), target)))
    now = group_rates(counts, kernel)
    table = {
        **by_group_and_outcome(counts),
        "rate": now.ravel(),
        "standard_deviation": _deviation(counts, chance, n).ravel(),
    }
    expected = float(largest_ratio(now, target))
    over = None if bound is None else float(np.mean(ratios > bound))
    ends = np.quantile(ratios, QUANTILES, method="inverted_cdf")
    words = (*_spread_words(expected, ends, over, bound, size), *people_words(counts, n))
    spread = frame({"quantile": list(QUANTILES), "largest_ratio": ends})
    return DrawSpread(frame(table), spread, expected, over, size, words)


def _shares(counts: Counts, kernel: Kernel) -> Numbers:
    """Return P(ŷ | d, x, y) with rows that sum to one: rounding leaves some just above, which no lottery takes."""
    chance = outcome_by_source(counts, kernel)
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _deviation(counts: Counts, chance: Numbers, people: int) -> Numbers:
    """Return sqrt(Σ w P(1 − P)) / Σ w over the sources of each group: the draws are independent."""
    held = counts.probability * people
    variance = group_sums(counts, held[:, None] * chance * (1 - chance))
    return np.asarray(np.sqrt(variance) / group_sums(counts, held)[:, None])


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


def _released(
    counts: Counts,
    chance: Numbers,
    held: Cells,
    releases: int,
    generator: np.random.Generator,
    target: Numbers | None,
) -> Iterator[Numbers]:
    """Yield blocks of the realised largest |ratio − 1|, one a simulated release."""
    total = group_sums(counts, held.astype(float))[None, :, None]
    for size in _blocks(releases, chance.size):
        drawn = generator.multinomial(held, chance, size=(size, len(held)))
        number = group_sums(counts, drawn.astype(float), axis=1)
        rates = np.divide(number, total, out=np.full(number.shape, np.nan), where=total > 0)
        yield largest_ratio(rates, target)


def _spread_words(
    expected: float, ends: Numbers, over: float | None, bound: float | None, releases: int
) -> Iterator[str]:
    yield (
        f"In expectation over the draws the largest ratio is off one by {expected:.3f}; in single releases it varies "
        f"with the lottery alone: in nine of ten of {releases} simulated releases it was between {ends[0]:.3f} and "
        f"{ends[-1]:.3f}."
    )
    if over is not None:
        yield (
            f"{over:.1%} of single releases exceed the bound of {bound:g}, which holds in expectation; the expanded "
            f"table, which carries every possible row with its weight, has no such spread."
        )
