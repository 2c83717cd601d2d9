"""What sampling leaves open of parity: by how much the rates in the population may be off those of the table.

Everything is in points of the rate p that a comparison holds, on either side: *above*, where a line holds p down, and
*below*, where it holds p up. A line ``on_p·p + on_q·q ≤ limit`` has room until p reaches ``(limit − on_q·q) / on_p``,
and the room's standard error is that of ``p + (on_q/on_p)·q`` over samples of people, each of whom counts with their
own expected outcome. Rates may share people, as a group and a target from the same table do. Knows counts and
expected outcomes, not how a mapping was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import ndtr, ndtri

from evenhand.arrays import Flags, Numbers, round_up
from evenhand.data.counts import Counts
from evenhand.errors import DataError, StorageError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source, rates_compared
from evenhand.spec import AGAINST_TARGET, Comparisons, Line, Parity, Problem, comparisons
from evenhand.spec.margins import Margin, Margins
from evenhand.tables import frame
from evenhand.text import counted

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 5.0
"""The least n·r·(1−r) for which a rate r of n people is taken to be normal."""

SIMULATED, MOST_SIMULATED = "confidences of 0.9 and 0.95", 0.95
"""Where the promise was tried on populations that are known."""

ANSWERED = (
    "In simulations at a confidence of 0.95, 2.2% of 9,587 answered samples of 24 settings violated a bound; hardly "
    "any was refused.",
    "Where budgets only just allow the margins, so that 49% of 800 samples were refused, 5 of 287 answered (2%) "
    "over given features did, and 9 of 122 (7%) over learned cells.",
)
"""What share of the answers violated, by benchmarks/coverage.py and benchmarks/edges.py."""

EVEN = 0.5
"""The rate that the fewest people are enough for."""


@dataclass(frozen=True, eq=False)
class Sides:
    """The lines of one constraint, seen from the rate that each comparison holds: two rows, above and below.

    Attributes
    ----------
    part : Comparisons
        The comparisons, without any margin.
    free, slope : array
        p may go as far as ``free − slope·q``.
    needed : array of bool
        Which lines must be kept with a margin. What others imply of the same people need not: of two groups that are
        each held against the other, one line in either order is enough.
    """

    part: Comparisons
    free: Numbers
    slope: Numbers
    needed: Flags

    @classmethod
    def of(cls, part: Comparisons) -> Sides:
        """Look at the lines of a constraint."""
        free, slope = np.zeros((2, len(part))), np.zeros((2, len(part)))
        needed = np.zeros((2, len(part)), dtype=bool)
        mirrored = _mirrored(part)
        for number, line in enumerate(part.lines):
            bites = (line.on_p != 0) & ~says_nothing(line)
            side, at = np.where(line.on_p > 0, 0, 1)[bites], np.flatnonzero(bites)
            free[side, at], slope[side, at] = line.limit[at] / line.on_p[at], line.on_q[at] / line.on_p[at]
            needed[side, at] = ~mirrored[at] | (number == 0)
        return cls(part, free, slope, needed)

    def room(self, rate: Numbers, other: Numbers) -> Numbers:
        """Return how far each rate is from its lines; negative beyond them."""
        return np.asarray((self.free - self.slope * other - rate) * np.array([[1.0], [-1.0]]))

    def standard_errors(self, counts: Counts, outcomes: Numbers) -> Numbers:
        """Return the standard errors of the room, for people of each source with these expected outcomes."""
        part, size = self.part, self.part.events.members.shape[0]
        gram = _covariances(part, counts, outcomes)
        own = part.population * size + part.event
        target = len(part.populations) * size + part.event
        other = np.where(part.against == AGAINST_TARGET, target, part.against * size + part.event)
        variance = gram[own, own] + 2 * self.slope * gram[own, other] + self.slope**2 * gram[other, other]
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def says_nothing(line: Line) -> Flags:
    """Return which lines every two probabilities meet, as they do one of a ratio from ε = 1 on."""
    return np.asarray(np.maximum(line.on_p, 0.0) + np.maximum(line.on_q, 0.0) <= line.limit)


def _mirrored(part: Comparisons) -> Flags:
    """Return which comparisons are there in the other order, too, with the same bound."""
    if part.parity.distance.both(part.bound) is None:
        return np.zeros(len(part), dtype=bool)
    columns = (part.event, part.population, part.against, part.bound)
    known = {(y, own, other, bound) for y, own, other, bound in zip(*(c.tolist() for c in columns), strict=True)}
    entries = zip(*(c.tolist() for c in columns), strict=True)
    return np.array([(y, other, own, bound) in known for y, own, other, bound in entries], dtype=bool)


def people_behind(part: Comparisons, counts: Counts) -> Numbers:
    """Return how many people of equal weight would tell as much about the rates of each population."""
    each = part.weights.multiply((np.sqrt(counts.cell_squares) / counts.weight)[None, :])
    return np.asarray(1 / np.asarray(each.power(2).sum(axis=1)).ravel())


def _covariances(part: Comparisons, counts: Counts, outcomes: Numbers) -> Numbers:
    """Return the covariances of all rates over samples: events within populations, then the target's own rates."""
    members = part.events.members
    each = outcomes @ members.T
    scale = np.sqrt(counts.cell_squares) / counts.weight
    weights = sparse.csr_array(part.weights)
    row = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    people = people_behind(part, counts)
    # Without the correction a group of few people would seem surer than it is.
    enlarged = np.sqrt(people / np.maximum(people - 1, 0.5))
    mean = weights @ each
    spread = (each[weights.indices] - mean[row]) * (weights.data * scale[weights.indices] * enlarged[row])[:, None]
    size, cells = len(members), len(counts)
    rows = (row[:, None] * size + np.arange(size)).ravel()
    columns = np.repeat(weights.indices, size)
    own = np.zeros((size, cells))
    if part.parity.own_target:
        # The target is the table's own distribution, and strays with the same people.
        of_target = members[:, counts.y].astype(float)
        own = (of_target - (of_target @ counts.probability)[:, None]) * (counts.probability * scale)
    influence = sparse.vstack(
        [
            sparse.csr_array((spread.ravel(), (rows, columns)), shape=(weights.shape[0] * size, cells)),
            sparse.csr_array(own),
        ],
        format="csr",
    )
    return np.asarray((influence @ influence.T).toarray())


def refuse_tiny(part: Comparisons, counts: Counts) -> None:
    """Refuse populations of so few people that no rate of theirs would follow a normal law."""
    refuse_small(part, counts, np.full((len(counts), counts.domain.y.size), EVEN))


def refuse_small(part: Comparisons, counts: Counts, outcomes: Numbers) -> None:
    """Refuse populations of so few people that their rates follow no normal law."""
    rates = part.weights @ outcomes @ part.events.members.T
    people = people_behind(part, counts)
    used = part.against != AGAINST_TARGET
    population = np.concatenate([part.population, part.against[used]])
    event = np.concatenate([part.event, part.event[used]])
    enough = people[population] * rates[population, event] * (1 - rates[population, event])
    at = int(np.argmin(enough))
    if enough[at] >= FEWEST:
        return
    who, rate = int(population[at]), float(rates[population[at], event[at]])
    least = round_up(max(FEWEST / max(rate * (1 - rate), 1 / people[who]), FEWEST / EVEN**2), 1, digits=2)
    number = f"{people[who]:,.0f} {'person' if round(people[who]) == 1 else 'people'}{' by weight' * counts.weighed}"
    raise DataError(
        f"confidence: {part.populations[who].words} has {number}, too few to say how far the rate of "
        f"{part.events.words(int(event[at]))} may stray. About {least:,.0f} would be needed; merge "
        f"the group with another, leave it unbounded (a case of By with a bound of inf, in pairs for the group as "
        f"'against'), or leave out confidence{repeated_hint(counts)}"
    )


def repeated_hint(counts: Counts) -> str:
    """Say what to do with weights that look like numbers of people, each row of which now counts as one person."""
    whole = counts.weighed and bool(np.all(counts.weight == np.rint(counts.weight)))
    return "; if the weights are numbers of people, fit eh.count(problem, table, weights).repeated()" * whole


def quantile(error: float, reach: Numbers) -> float:
    """Return z for which lines whose room is z standard errors, or ``reach`` where that is more, err so often at most.

    It is a union over all lines, in which those that are far from their limits count for what they are.
    """
    if not len(reach):
        return 0.0
    low, high = float(ndtri(1 - error)), float(ndtri(1 - error / len(reach)))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if exceeding(np.maximum(reach, middle)) <= error else (middle, high)
    return high


def answered(z: float, most: float) -> float:
    """Return the standard errors of room to keep in a table whose budgets allow ``most`` of them.

    A table is answered where they allow z at least, and the accident that lets it be answered also makes it look better
    than its population. Of a population that allows θ a table allows U = θ + E, with a standard normal error E; to keep
    w is to claim that θ ≥ U − w. The w of the answered solves Pr[U ≥ most | U ≥ z] = Pr[E ≥ z] at θ = most − w: the
    confidence bound of a truncated normal law (Fithian, Sun and Taylor 2014). If the population can meet the bounds,
    those answered then violate them as seldom as z lets all. Where no such w is within ``most``, that is kept.

    Examples
    --------
    >>> round(answered(1.645, 9.0), 2), round(answered(1.645, 3.5), 2), round(answered(1.645, 2.0), 2)
    (1.65, 2.02, 2.0)
    """
    low, high = z, most
    for _ in range(60):
        middle = (low + high) / 2
        enough = ndtr(-middle) <= ndtr(-z) * ndtr(most - middle - z)
        low, high = (low, middle) if enough else (middle, high)
    return high


def exceeding(reach: Numbers) -> float:
    """Return at most how likely some line is exceeded of which each has room of so many standard errors."""
    return float(ndtr(-reach).sum())


@dataclass(frozen=True, eq=False)
class Assurance:
    """What a mapping that was fitted with ``confidence`` promises of the population, and with which margins.

    Attributes
    ----------
    confidence : float
        As it was asked for.
    margins, optimism : tuple of Margin
        For each parity constraint by how much the rate of every comparison may be off, above and below; and how much of
        that is what the fit leans on the table's own noise, as folds of it show.
    without : float
        The objective of the same problem without confidence.
    """

    problem: Problem
    counts: Counts
    kernel: Kernel
    confidence: float
    margins: Margins
    optimism: Margins
    without: float

    def described(self) -> dict[str, Any]:
        """Return what a file keeps."""
        kept = {"margins": self.margins, "optimism": self.optimism}
        sides = {
            name: [{"above": list(of.above), "below": list(of.below)} for of in each] for name, each in kept.items()
        }
        return sides | {"confidence": self.confidence, "without": self.without}

    @classmethod
    def read(cls, problem: Problem, counts: Counts, kernel: Kernel, entry: dict[str, Any]) -> Assurance:
        """Return what a file has kept, if it fits the problem and its table."""
        if entry["confidence"] != problem.confidence or problem.confidence is None:
            raise StorageError("the margins are for another confidence than the problem's")
        sizes = [len(part) for part in parts_of(problem, counts)]
        kept = {name: _read_margins(name, entry[name], sizes) for name in ("margins", "optimism")}
        without = float(entry["without"])
        if not np.isfinite(without):
            raise StorageError("the objective without confidence is not finite")
        return cls(problem, counts, kernel, problem.confidence, kept["margins"], kept["optimism"], without)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Each comparison with its bound, estimate, margin and upper limit.

        ``estimate`` is J between the expected rates in the fitted table; ``margin`` is by how many points of
        probability the rate may be off, ``optimism`` the part of it that folds show, and ``upper_limit`` J with the
        margin. Of two groups that are held against each other the order with less room is listed.
        """
        outcomes = outcome_by_source(self.counts, self.kernel)
        rows: list[dict[str, Any]] = []
        for parity, margin, optimism in zip(self.problem.parity, self.margins, self.optimism, strict=True):
            rows += _rows(comparisons(parity, self.counts), outcomes, parity, margin, optimism)
        return frame({name: [row[name] for row in rows] for name in COLUMNS})

    @property
    def words(self) -> tuple[str, ...]:
        """What is promised, in words, and what is not."""
        percent = f"{100 * self.confidence:.12g}"
        found = self.frame
        wide = float(found["margin"].max())
        beyond = "" if self.confidence <= MOST_SIMULATED else "; so far out the tails of rates may be heavier"
        return (
            f"If the fitted people are a random sample, then in about {percent} of 100 samples evenhand refuses or "
            f"returns a mapping whose expected rates in that population keep every parity bound.",
            f"Every bound holds with a margin of at most {100 * wide:.2g} percentage points, in "
            f"{counted(len(found), 'comparison')} at once."
            if len(found)
            else "No bound restrains any comparison, so that none needs a margin.",
            *ANSWERED,
            f"This was checked by simulation, at {SIMULATED}, not proved{beyond}. It is not about one draw, whose "
            f"rates stray from their expectation, nor about other people than those whom the table is a sample of, nor "
            f"about what changes with time.",
        )

    def __repr__(self) -> str:
        return f"<Assurance at {self.confidence:g}: {counted(len(self.frame), 'comparison')}>"


def _read_margins(what: str, entries: Any, sizes: Sequence[int]) -> Margins:
    """Read margins of so many comparisons for each constraint."""
    if not isinstance(entries, list) or len(entries) != len(sizes):
        raise StorageError(f"the {what} are not one entry for each parity constraint")
    found = []
    for entry, size in zip(entries, sizes, strict=True):
        above, below = (np.asarray(entry[side], dtype=float) for side in ("above", "below"))
        # Written so that a NaN is refused.
        sound = [side.shape == (size,) and bool(np.all((side >= 0) & (side <= 1))) for side in (above, below)]
        if not all(sound):
            raise StorageError(f"the {what} are not numbers from 0 to 1, one for each comparison and side")
        found.append(Margin.of(above, below))
    return tuple(found)


COLUMNS = ("constraint", "comparison", "bound", "estimate", "optimism", "margin", "upper_limit")


def _rows(
    part: Comparisons, outcomes: Numbers, parity: Parity, margin: Margin, optimism: Margin
) -> list[dict[str, Any]]:
    sides = Sides.of(part)
    rate, other = rates_compared(part, outcomes)
    off = np.array([margin.above, margin.below])
    left = np.where(sides.needed, sides.room(rate, other) - off, np.inf)
    side, listed = np.argmin(left, axis=0), dict[Any, int]()
    for at, room in enumerate(np.min(left, axis=0).tolist()):
        pair = (int(part.event[at]), frozenset((int(part.population[at]), int(part.against[at]))))
        best = listed.setdefault(pair, at)
        if room < float(np.min(left[:, best])):
            listed[pair] = at
    rows = []
    for at in sorted(listed.values()):
        if not np.isfinite(left[:, at]).any():
            continue
        which = int(side[at])
        moved = np.maximum(rate[[at]] + (off[0, at] if which == 0 else -off[1, at]), 0.0)
        rows.append(
            {
                "constraint": type(parity).__name__,
                "comparison": part.words(at),
                "bound": float(part.bound[at]),
                "estimate": float(parity.distance.value(rate[[at]], other[[at]])[0]),
                "optimism": float((optimism.above, optimism.below)[which][at]),
                "margin": float(off[which, at]),
                "upper_limit": float(parity.distance.value(moved, other[[at]])[0]),
            }
        )
    return rows


def parts_of(problem: Problem, counts: Counts) -> Sequence[Comparisons]:
    """Return what each constraint compares."""
    return [comparisons(parity, counts) for parity in problem.parity]
