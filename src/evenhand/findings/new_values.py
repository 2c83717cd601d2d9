"""How many people of a batch have a value that nobody fitted had, beside what sampling alone would explain.

Such a value has no probability under the fitted table, but rare values are new in every sample. Whoever is in the
batch could as well have been fitted: of the pooled people, a value that m of them have is all in a batch of n, by
chance, with the probability q that m people dealt out at random all fall to it. The number of people with new values
is the sum of m over the values of which that is so; dealt out without replacement those events are negatively
associated (Joag-Dev and Proschan 1983), so that Chernoff's bound for independent ones holds: exact, for any values.
Knows numbers of people, not what the values are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from evenhand.arrays import Numbers

STEEPEST = 60.0
"""Chernoff's exponent goes no further: probabilities beyond it are below anybody's error."""


@dataclass(frozen=True)
class NewValues:
    """The people of a batch who have new values.

    Attributes
    ----------
    people : int
        How many they are.
    expected : float
        How many sampling alone gives on average.
    limit : int
        More are given by sampling alone with a probability of at most the error.
    chance : float
        At most the probability that sampling alone gives as many.
    """

    people: int
    expected: float
    limit: int
    chance: float


def new_values(before: Numbers, now: Numbers, error: float) -> NewValues:
    """Count the people with values that nobody had before, of values that so many people had then and have now."""
    pooled, fitted, batch = before + now, float(before.sum()), float(now.sum())
    size, number = np.unique(pooled[(pooled > 0) & (pooled <= batch)], return_counts=True)
    dealt = _Dealt(size, number.astype(float), _log_all_in(size, batch, fitted))
    people = int(now[before == 0].sum())
    # The most people whom sampling alone gives too often to be told of.
    low, high = int(dealt.mean), int(min(batch, float(size @ number)))
    if dealt.at_least(high) > error:
        low = high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if dealt.at_least(middle) > error else (low, middle)
    return NewValues(people, dealt.mean, low, dealt.at_least(people))


def _log_all_in(size: Numbers, batch: float, fitted: float) -> Numbers:
    """Return the logarithm of the probability that so many people, dealt out at random, are all in the batch."""
    everybody = fitted + batch
    return np.asarray(
        gammaln(batch + 1) - gammaln(batch - size + 1) - gammaln(everybody + 1) + gammaln(everybody - size + 1)
    )


@dataclass(frozen=True, eq=False)
class _Dealt:
    """Values by how many people have them: the number of such values, and how likely all of them are in the batch."""

    size: Numbers
    number: Numbers
    log_chance: Numbers

    @property
    def mean(self) -> float:
        return float(self.size @ (self.number * np.exp(self.log_chance)))

    def at_least(self, people: int) -> float:
        """Return at most how likely so many people have a value that only the batch has."""
        if people <= self.mean:
            return 1.0
        # Rounding must not make a certainty of what is nearly one.
        not_all_in = np.log(np.maximum(-np.expm1(self.log_chance), np.finfo(float).tiny))

        def exponent(t: float) -> float:
            each = np.logaddexp(not_all_in, self.log_chance + t * self.size)
            return float(self.number @ each - t * people)

        found = minimize_scalar(exponent, bounds=(0.0, STEEPEST), method="bounded")
        return float(np.exp(min(found.fun, 0.0)))
