"""Exact intervals of rates: on rows that were not used for fitting, all true at once; and groups too small for any.

Knows counts and kernels; a hold-out comes as a frame, which only ``tables`` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from evenhand import check
from evenhand.arrays import Numbers, positions, quotient, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.engines import opened, read_as
from evenhand.errors import DataError
from evenhand.findings.naming import group_levels, group_names, long_name
from evenhand.findings.theory.rates import by_group_and_outcome, people_notes, share
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source
from evenhand.kernel.draws import seeded_draws
from evenhand.render.finding import Finding
from evenhand.render.section import Kind, Note, Section, Table
from evenhand.spec import CsvFormat
from evenhand.tables import Frame, beside, cells, first_unseen, labels
from evenhand.tables.transforming import Missing, Transformer, Unseen, domain_with, locate, train_mode
from evenhand.text import counted

if TYPE_CHECKING:
    import pandas as pd

WIDE = 0.1
"""A rate whose exact interval is wider than this is called uncertain, unless another width is stated."""

MET, VIOLATED, UNDECIDED = "shown met", "shown violated", "not decided"


def overall(verdicts: Sequence[str]) -> str | None:
    """Return the word for all bounds together; None where there are none."""
    if not verdicts:
        return None
    return VIOLATED if VIOLATED in verdicts else MET if set(verdicts) == {MET} else UNDECIDED


def clopper_pearson(successes: Numbers, trials: Numbers, confidence: float = 0.95) -> tuple[Numbers, Numbers]:
    """Return exact two-sided intervals of probabilities (Clopper and Pearson 1934).

    Parameters
    ----------
    successes, trials : arrays
        Out of how many independent trials how many succeeded. Without any trial the interval is [0, 1].
    confidence : float
        The coverage, which is never less than this.

    Examples
    --------
    >>> low, high = clopper_pearson(np.array([0.0, 5.0]), np.array([10.0, 10.0]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.1871], [0.3085, 0.8129])
    """
    tail = (1 - share("confidence", confidence)) / 2
    k, n = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(trials, dtype=float))
    if np.any(k < 0) or np.any(k > n):
        raise DataError("there cannot be fewer than no successes, or more than trials")
    some, failures = k > 0, k < n
    low = np.where(some, betaincinv(np.where(some, k, 1.0), n - k + 1, tail), 0.0)
    high = np.where(failures, betaincinv(k + 1, np.where(failures, n - k, 1.0), 1 - tail), 1.0)
    return low, high


def rate_intervals(counts: Counts, rates: Numbers, *, confidence: float = 0.95) -> tuple[Numbers, Numbers]:
    """Return intervals of every group's rates on the table itself, all at once.

    Clopper and Pearson's, shared out over groups and outcomes. They are exact for the table's own rates, if its people
    are independent draws. For rates after a mapping they hold the mapping fixed and take the expected number of
    released outcomes for a drawn one, which makes them wider than they need be; that the mapping was fitted on the same
    people they do not count (:func:`holdout` does).

    Parameters
    ----------
    counts : Counts
        The table.
    rates : array
        One row per group that occurs, one column per outcome.
    confidence : float
        With which all intervals hold.

    Examples
    --------
    >>> import evenhand as eh
    >>> counts = eh.datasets.load("compas").counts
    >>> low, high = rate_intervals(counts, counts.outcome_by_group)
    >>> low[:, 1].round(3).tolist(), high[:, 1].round(3).tolist()
    ([0.342, 0.313, 0.569, 0.399], [0.447, 0.424, 0.617, 0.461])
    """
    trials = (counts.groups.probability * counts.people)[:, None]
    number = np.clip(rates, 0, 1) * trials
    return clopper_pearson(number, trials, _each(rates.shape, share("confidence", confidence)))


INTERVALS: dict[str, Kind] = {
    "rows": "people", "released": "people", "rate": "rate", "low": "rate", "high": "rate", "expected": "rate",
}  # fmt: skip
"""The columns of the rates of a hold-out."""


@dataclass(frozen=True, eq=False, repr=False)
class HoldOut(Finding):
    """The released outcome on rows not used for fitting, with intervals that hold all at once.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome: rows, how many were released with the outcome, the rate, its exact interval, and the
        rate expected over the draws.
    comparisons : pandas.DataFrame
        For each outcome and ordered pair of groups (or group and target): the interval of the ratio that the intervals
        of the rates imply, and whether the bound is shown met, shown violated or not decided.
    verdict : str or None
        The same for the bound as a whole; None where no bound was stated.
    confidence : float
        The probability that all intervals hold.
    rows, kept, left_out : int
        Rows counted, those among them with an unseen (d, x, y), whose outcome is kept, and those of unseen groups,
        which are not counted.
    typical : int
        Rows with an unseen (d, x, y) that drew their outcome all the same, from a typical row.
    sections : tuple of Section
        What follows.
    """

    rates: pd.DataFrame
    comparisons: pd.DataFrame
    verdict: str | None
    confidence: float
    rows: int
    kept: int
    left_out: int
    sections: tuple[Section, ...]
    typical: int = 0


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Counts of the released outcome by group, drawn and expected."""

    number: Numbers
    expected: Numbers
    rows: int
    kept: int
    left_out: int
    typical: int
    then: str


def holdout(
    counts: Counts,
    kernel: Kernel,
    rows: Frame,
    *,
    mode: Transformer | None = None,
    bound: float | None = None,
    target: Numbers | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    unseen: Unseen | None = None,
    missing: Missing | None = None,
    format: CsvFormat | None = None,
) -> HoldOut:
    """Release rows that were not used for fitting, and say how sure the rates are.

    Each row is drawn once, as ``Mapping.release`` with the same seed and ``draw="independent"`` draws it. Given its
    group, a row's released outcome is then an independent trial, so Clopper and Pearson's intervals are exact; shared
    out over all groups and outcomes (Bonferroni), they hold all at once. There are no weights here: a weight does not
    make one row into several independent people, and the intervals count people.

    Parameters
    ----------
    counts, kernel : Counts, Kernel
        The table that was fitted, and the mapping in train mode.
    rows : dataframe or path
        One row per person; none of them may have been used for fitting, which cannot be checked here.
    mode : Transformer, optional
        How the mapping releases rows, where it is not by the kernel alone.
    bound : float, optional
        The bound ε on ratios to be judged.
    target : array, optional
        The probabilities that rates are held against; None compares every two groups.
    confidence : float
        With which all intervals hold.
    seed : int
        Of the draws.
    unseen : {"typical", "keep"}, optional
        What becomes of people in cells that nobody had, as in ``mapping.release``; by default what ``mode`` says.
    missing : {"level", "error"}, optional
        Whether rows with a missing value for which the mapping has no level are rows of an unseen kind, or refused; by
        default what the problem says.
    format : CsvFormat, optional
        How CSV files are written.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> people = data.frame.sample(frac=1, random_state=0)
    >>> mapping = eh.fit(data.problem, people[:3500])
    >>> found = holdout(mapping.counts, mapping.kernel, people[3500:], bound=0.1)
    >>> found.rows, len(found.rates), len(found.comparisons), found.verdict
    (1778, 8, 24, 'not decided')
    """
    confidence, seed = share("confidence", confidence), check.seed("seed", seed)
    releases = (mode or train_mode(counts, kernel)).with_missing(missing).with_unseen(unseen)
    given = opened(rows, format, columns=read_as(counts.domain.variables))
    drawn = _drawn(replace(counts, domain=domain_with(counts.domain, missing)), releases, given, seed)
    trials = drawn.number.sum(axis=1, keepdims=True)
    low, high = clopper_pearson(drawn.number, trials, _each(drawn.number.shape, confidence))
    people = np.broadcast_to(trials, drawn.number.shape)

    def rate(number: Numbers) -> Numbers:
        return np.asarray(np.divide(number, people, out=np.full(people.shape, np.nan), where=people > 0)).ravel()

    rates = {
        "rows": people.ravel().astype(np.int64),
        "released": drawn.number.ravel().astype(np.int64),
        "rate": rate(drawn.number),
        "low": low.ravel(),
        "high": high.ravel(),
        "expected": rate(drawn.expected),
    }
    table = _compared(counts, (drawn.number / np.maximum(trials, 1), low, high), target, bound)
    # Where nothing is compared, nothing is violated.
    verdict = None if bound is None else overall(table["verdict"].tolist()) or MET
    released = beside(by_group_and_outcome(counts), rates)
    intervals = Table.of("intervals", released, INTERVALS)
    notes = tuple(_holdout_notes(counts, drawn, verdict, bound, confidence, high - low))
    return HoldOut(
        released,
        table,
        verdict,
        confidence,
        drawn.rows,
        drawn.kept,
        drawn.left_out,
        (Section("holdout", tables=(intervals,), notes=notes),),
        drawn.typical,
    )


def _each(shape: tuple[int, ...], confidence: float) -> float:
    """Share the error out over groups and outcomes; two outcomes count once, since their rates sum to one."""
    groups, outcomes = shape
    return 1 - (1 - confidence) / (groups * (1 if outcomes == 2 else outcomes))


def _drawn(counts: Counts, mode: Transformer, table: Frame, seed: int) -> _Drawn:
    domain = counts.domain
    (d, new_d), (y, new_y) = (cells(axis, table) for axis in (domain.d, domain.y))
    if new_y.any():
        first = first_unseen([domain.y], table)
        raise DataError(f"the hold-out has an outcome that the fitted table has not: {first}")
    grouped, group = positions(counts.groups.cells, d)
    grouped &= ~new_d
    if not grouped.any():
        raise DataError("no row of the hold-out belongs to a group of the fitted table")
    located = locate(mode, table)
    _, drawn = domain.split_xy(mode.kernel.pick(located.rows, seeded_draws(seed, len(d), "release")))
    outcome = np.where(located.known, drawn, y)
    own = np.eye(domain.y.size)[y]
    chance = np.where(located.known[:, None], outcome_by_source(counts, mode.kernel)[located.rows], own)
    shape = len(counts.groups.cells), domain.y.size
    number = sums(group[grouped] * shape[1] + outcome[grouped], np.ones(grouped.sum()), shape[0] * shape[1])
    expected = np.stack([sums(group[grouped], chance[grouped, k], shape[0]) for k in range(shape[1])], axis=1)
    kept, typical = (int((grouped & ~located.sourced & of).sum()) for of in (~located.known, located.known))
    rows, left_out = int(grouped.sum()), int((~grouped).sum())
    return _Drawn(number.reshape(shape), expected, rows, kept, left_out, typical, mode.then_drawn)


def _compared(
    counts: Counts, rates: tuple[Numbers, Numbers, Numbers], target: Numbers | None, bound: float | None
) -> pd.DataFrame:
    """Return every ratio with its interval: from the least over the most to the most over the least."""
    rate, low, high = rates
    names = group_names(counts)
    if target is None:
        grid = np.indices((len(rate), *rate.shape))
        group, other, outcome = (array[grid[0] != grid[1]] for array in grid)
        against = [array[other, outcome] for array in (rate, high, low)]
        others = [names[i] for i in other]
    else:
        group, outcome = (array.ravel() for array in np.indices(rate.shape))
        against = [np.asarray(target, dtype=float)[outcome]] * 3
        others = ["the target"] * len(outcome)
    ratio, least, most = (
        quotient(array[group, outcome], under) for array, under in zip((rate, low, high), against, strict=True)
    )
    numbers = {
        "group": [names[i] for i in group],
        "against": others,
        "ratio": ratio,
        "low": least,
        "high": most,
    }
    if bound is None:
        return beside(labels(counts.domain.y, outcome), numbers)
    met = (least >= 1 - bound) & (most <= 1 + bound)
    violated = (least > 1 + bound) | (most < 1 - bound)
    verdicts = np.select([met, violated], [MET, VIOLATED], default=UNDECIDED).astype(object)
    judged = {"bound": np.full(len(outcome), bound), "verdict": verdicts}
    return beside(labels(counts.domain.y, outcome), numbers | judged)


def _holdout_notes(
    counts: Counts, drawn: _Drawn, verdict: str | None, bound: float | None, confidence: float, width: Numbers
) -> Iterator[Note]:
    yield Note("holdout.released", {"rows": drawn.rows, "confidence": confidence})
    if verdict is not None:
        yield Note("holdout.verdict", {"bound": bound, "verdict": verdict})
    if drawn.typical:
        yield Note("holdout.typical", {"rows": drawn.typical, "then": drawn.then})
    if drawn.kept:
        yield Note("holdout.kept", {"rows": drawn.kept})
    if drawn.left_out:
        yield Note("holdout.left_out", {"rows": drawn.left_out})
    yield from _small_notes(counts, drawn.number.sum(axis=1), width.max(axis=1), WIDE)


def _small_notes(counts: Counts, people: Numbers, width: Numbers, wide: float) -> Iterator[Note]:
    """Name the groups that are too small to say much about."""
    for levels, number, widest in zip(group_levels(counts), people, width, strict=True):
        fields = {"group": long_name(levels), "people": number, "widest": widest, "wide": wide}
        if number < FEW_PEOPLE:
            yield Note("small.few", {**fields, "people": counted(number, "person", "people")}, (levels,))
        elif widest > wide:
            yield Note("small.wide", fields, (levels,))


@dataclass(frozen=True, eq=False, repr=False)
class SmallGroups(Finding):
    """Which groups are too small to say much about.

    Attributes
    ----------
    frame : pandas.DataFrame
        For each group: its people, the width of the widest exact interval of its rates, and whether it is small.
    names : tuple of str
        The small groups.
    sections : tuple of Section
        A note for each of them.
    """

    frame: pd.DataFrame
    names: tuple[str, ...]
    sections: tuple[Section, ...]


def small_groups(
    counts: Counts,
    rates: Numbers | None = None,
    *,
    width: float = WIDE,
    confidence: float = 0.95,
) -> SmallGroups:
    """Name the groups of fewer than ``FEW_PEOPLE`` people, or whose rates have an exact interval wider than stated.

    Parameters
    ----------
    counts : Counts
        The table.
    rates : array, optional
        The rates to judge; the table's own by default.
    width : float
        The widest interval that is still called informative.
    confidence : float
        Of each interval by itself.

    Examples
    --------
    >>> import evenhand as eh
    >>> found = small_groups(eh.datasets.load("compas").counts, width=0.085)
    >>> found.names
    ('sex=Female, race=Caucasian',)
    """
    width = check.finite("width", width, low=0)
    trials = counts.groups.probability * counts.people
    rates = counts.outcome_by_group if rates is None else np.clip(np.asarray(rates, dtype=float), 0, 1)
    low, high = clopper_pearson(rates * trials[:, None], trials[:, None], confidence)
    widest = (high - low).max(axis=1)
    # Intervals are those of a group's share of the people, by weight; shown is how many it really has.
    number = counts.group_people
    small = (np.round(number) < FEW_PEOPLE) | (widest > width)
    table = beside(labels(counts.domain.d, counts.groups.cells), {"people": number, "widest": widest, "small": small})
    names = tuple(name for name, is_small in zip(group_names(counts), small, strict=True) if is_small)
    notes = (*_small_notes(counts, np.round(number), widest, width), *people_notes(counts, counts.people))
    return SmallGroups(table, names, (Section("small_groups", notes=notes),))
