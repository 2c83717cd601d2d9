"""How many people make each move: expected numbers, rounded at random so that all totals are within one of theirs.

A stratum is people who share a row of the kernel, and the parts of some nested partitions: of n people, a move of
probability q is expected n·q times. Here every stratum gets whole numbers of moves that sum to n, whose expectations
are exactly n·q, such that

- the number of people with an outcome, in a stratum, in a part of any of the partitions and among everybody, is its
  expectation rounded down or up;
- the number of people who make a move is less than two from its expectation.

Whoever ranks the people of a stratum by draws of their own then hands out the moves in this order: everybody's own
probabilities are exact, whatever the numbers are rounded to.

Probabilities are whole multiples of 2^-52, as in the kernel's thresholds, and all arithmetic is that of whole numbers.
Knows strata and numbers, nothing of tables, groups or problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells
from evenhand.kernel.draws import DRAW_BITS, common_words
from evenhand.kernel.stochastic import LARGEST_GUIDE, Kernel, look_up

ONE = 1 << DRAW_BITS
"""A probability of one, or one person."""

LARGEST_STRATUM = 1 << 36
"""Numbers of people below this have exact products with probabilities in two words of 64 bits."""

PARTS_PER_PLACE = 8
"""Parts of all people that a guide has for each place, so that it is right for most."""

WORDS = 1 << 10
"""Random words that are drawn at once."""

BLOCK = 1 << 14
"""Strata and outcomes whose moves are counted at once."""


@dataclass(frozen=True, eq=False)
class Allotment:
    """How many people of each stratum make each move.

    Attributes
    ----------
    starts : array of int
        Stratum s has the places ``starts[s]`` up to ``starts[s + 1]``.
    entry, number : array of int
        The entry of the kernel of each place, and how many people of the stratum hit it.
    low : array of int
        The smallest draw that hits the entry.
    """

    starts: Cells
    entry: Cells
    number: Cells
    low: Cells

    @cached_property
    def _ends(self) -> Cells:
        """How many people all places up to each one have, its own among them."""
        return np.cumsum(self.number)

    @cached_property
    def _before(self) -> Cells:
        """How many people the strata before each one have."""
        return np.concatenate([[0], self._ends])[self.starts[:-1]]

    @cached_property
    def _guide(self) -> tuple[int, Cells]:
        """Equal parts of all people, each of a power of two of them, and the place at which each part begins."""
        people = int(self._ends[-1]) if len(self._ends) else 0
        most = min(len(self._ends) * PARTS_PER_PLACE, LARGEST_GUIDE)
        bits = max(people.bit_length() - most.bit_length(), 0)
        return bits, np.searchsorted(self._ends, np.arange((people >> bits) + 1) << bits, side="right")

    def entries(self, stratum: Cells, rank: Cells) -> Cells:
        """Return the entry that each person hits: the k-th of a stratum, from 0 on, by the order of their draws."""
        return look_up(self.entry, self._places(stratum, rank))

    def draws(self, stratum: Cells, rank: Cells) -> Cells:
        """Return a draw of 52 bits per person that hits the entry."""
        return look_up(self.low, self._places(stratum, rank))

    def _places(self, stratum: Cells, rank: Cells) -> Cells:
        """Return the place of each person: where the guide says, or further on."""
        wanted = look_up(self._before, stratum) + rank
        bits, guide = self._guide
        place = look_up(guide, wanted >> bits)
        late = np.flatnonzero(wanted >= look_up(self._ends, place))
        # A place that nobody has ends where the one before it does, and is passed over.
        place[late] = np.searchsorted(self._ends, wanted[late], side="right")
        return place


def allot(
    kernel: Kernel, outcome: Cells, people: Cells, rows: Cells, levels: Sequence[Cells], seed: int, mode: str
) -> Allotment:
    """Round the expected number of people of every stratum who make every move.

    Parameters
    ----------
    kernel, outcome : Kernel, array of int
        The moves, and the outcome of each entry.
    people, rows : array of int
        For each stratum, how many people it has, and the row of the kernel that they share.
    levels : sequence of array of int
        For each partition, coarse to fine, the part of each stratum. Parts of a finer one lie in parts of those before
        it; where a number comes again in another coarse part, it is another part.
    seed, mode : int, str
        Of the draws: what is rounded up depends on these and on the strata alone.

    Examples
    --------
    Two strata of one part with three people each, of whom half are expected to have either outcome:

    >>> kernel = Kernel(np.array([0, 2]), np.array([0, 1]), np.array([0.5, 0.5]))
    >>> same = np.zeros(2, dtype=np.int64)
    >>> found = allot(kernel, np.array([0, 1]), same + 3, same, [same], 0, "release")
    >>> found.number.reshape(2, 2).sum(axis=1).tolist(), found.number.reshape(2, 2).sum(axis=0).tolist()
    ([3, 3], [3, 3])
    """
    if np.any(people >= LARGEST_STRATUM):
        raise OverflowError(f"a stratum of {people.max()} people is larger than numbers are exact")
    generator = common_words(seed, mode)
    low, width = _widths(kernel)
    stratum, entry = kernel.entries(rows)
    # Moves to the same outcome lie side by side.
    order = np.lexsort((outcome[entry], stratum))
    stratum, entry = stratum[order], entry[order]
    own = outcome[entry]
    outcomes = int(outcome.max(initial=0)) + 1
    mass = np.zeros((len(rows), outcomes), dtype=np.int64)
    np.add.at(mass, (stratum, own), width[entry])
    whole, rest = _product(people[:, None], mass)
    in_order, parts = _nested(levels, len(rows))
    up = np.empty(rest.shape, dtype=np.int64)
    up[in_order] = _rounded(rest[in_order], parts, generator)
    number = _moves(stratum * outcomes + own, width[entry], (whole + up).ravel(), mass.ravel(), generator)
    starts = np.concatenate([[0], np.cumsum(np.diff(kernel.starts)[rows])])
    return Allotment(starts, entry, number, low[entry])


def ranked(stratum: Cells, draw: Cells, strata: int) -> tuple[Cells, Cells]:
    """Return the rank of each row's draw among the different ones of its stratum, and how many of these each has.

    Rows of one stratum with the same draw, that is with the same key, are one person: they share a rank.

    Examples
    --------
    >>> rank, people = ranked(np.array([1, 0, 1, 1]), np.array([7, 5, 3, 7]), 2)
    >>> rank.tolist(), people.tolist()
    ([1, 0, 0, 1], [1, 2])
    """
    people = np.bincount(stratum, minlength=strata)
    order, alike = _in_order(stratum, draw, strata)
    place = np.arange(len(order)) - np.repeat(np.cumsum(people) - people, people)
    again = alike[draw[order[alike]] == draw[order[alike - 1]]]
    if len(again):
        # Of rows that share a draw all but the first are no people of their own.
        passed = np.zeros(len(order), dtype=np.int64)
        passed[again] = 1
        people -= np.bincount(stratum[order[again]], minlength=strata)
        passed = np.cumsum(passed)
        before = np.concatenate([[0], passed])[np.arange(len(order)) - place]
        place -= passed - before
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = place
    return rank, people


def _in_order(stratum: Cells, draw: Cells, strata: int) -> tuple[Cells, Cells]:
    """Return rows by stratum and draw; and the places where a row may have the draw of the row before it.

    A row's stratum, as many leading bits of its draw as there is room for, and the row itself are one number: numbers
    are sorted much faster than positions by numbers.
    """
    row_bits = len(draw).bit_length()
    lead = min(max(64 - strata.bit_length() - row_bits, 0), DRAW_BITS)
    packed = stratum.astype(np.uint64) << np.uint64(lead)
    packed |= (draw >> (DRAW_BITS - lead)).astype(np.uint64)
    packed <<= np.uint64(row_bits)
    packed |= np.arange(len(draw), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64((1 << row_bits) - 1)).astype(np.int64)
    packed >>= np.uint64(row_bits)
    alike = 1 + np.flatnonzero(packed[1:] == packed[:-1])
    if len(alike):
        # What the leading bits do not tell apart is put in order by whole draws.
        at = np.union1d(alike, alike - 1)
        order[at] = order[at][np.lexsort((draw[order[at]], packed[at]))]
    return order, alike


def _widths(kernel: Kernel) -> tuple[Cells, Cells]:
    """Return the smallest draw that hits each entry, and how many draws do."""
    low = np.zeros_like(kernel.thresholds)
    low[1:] = kernel.thresholds[:-1]
    low[kernel.starts[:-1]] = 0
    return low, kernel.thresholds - low


def _product(people: Cells, mass: Cells) -> tuple[Cells, Cells]:
    """Return people · mass / 2^52: its whole part, and the rest in units of 2^-52."""
    half = DRAW_BITS // 2
    high = people * (mass >> half)
    # people · mass is high · 2^26 + people · (the lower half); of high, the upper part is whole already.
    below = ((high & ((1 << half) - 1)) << half) + people * (mass & ((1 << half) - 1))
    return (high >> half) + (below >> DRAW_BITS), below & (ONE - 1)


def _nested(levels: Sequence[Cells], size: int) -> tuple[Cells, list[Cells]]:
    """Order strata by their parts, coarse to fine, and number the parts of each level in this order."""
    order = np.lexsort((np.arange(size), *reversed(levels)))
    parts, new = [np.zeros(size, dtype=np.int64)], np.zeros(size, dtype=bool)
    for level in levels:
        new[1:] |= np.diff(level[order]) != 0
        part = np.cumsum(new)
        if np.any(part != parts[-1]):
            parts.append(part)
    return order, parts


def _rounded(rest: Cells, parts: Sequence[Cells], generator: np.random.PCG64) -> Cells:
    """Return for each stratum and outcome whether its number is rounded up (1) or down (0)."""
    up = np.zeros(rest.shape, dtype=np.int64)
    broken = np.flatnonzero(rest.any(axis=0))
    if len(broken) == 2:
        # Systematic sampling: with one start for all, the sum over strata that lie side by side is within one.
        # Sums modulo 2^64 are sums modulo 2^12 in units of 2^52, which tell 0 from 1.
        start = generator.random_raw(1) >> np.uint64(64 - DRAW_BITS)
        running = np.concatenate([start, start + np.cumsum(rest[:, broken[0]].astype(np.uint64))])
        first = np.diff(running >> np.uint64(DRAW_BITS)) & np.uint64(1)
        up[:, broken[0]] = first
        up[:, broken[1]] = np.where(rest[:, broken[1]] > 0, 1 - up[:, broken[0]], 0)
    elif len(broken):
        # Strata that need no rounding are no part of any cycle.
        rows = np.flatnonzero(rest.any(axis=1))
        open_ = np.ix_(rows, broken)
        up[open_] = _along_cycles(rest[open_], [_renumbered(part[rows]) for part in parts], generator)
    return up


def _renumbered(part: Cells) -> Cells:
    """Number parts that lie side by side from 0 on."""
    return np.cumsum(np.diff(part, prepend=part[:1]) != 0)


def _along_cycles(rest: Cells, parts: Sequence[Cells], generator: np.random.PCG64) -> Cells:
    """Round the table of strata and outcomes along cycles: its totals in every part of every level with it.

    People flow from strata to the outcomes of their finest part, from there to those of the next coarser one, and so
    on to those of everybody and into one sink. What flows out of a stratum is whole, so a node at which some flow is
    not whole has two such, and where there are such flows they hold a cycle. One flow after another is let in; where it
    closes a cycle, that is turned until one of its flows is whole.
    """
    size, outcomes = rest.shape
    totals = [_sums(rest, part) for part in parts]
    # Numbers of nodes: the sink, the outcomes of all parts of each level, strata.
    first = np.cumsum([1, *(total.size for total in totals)]).tolist()
    flows = _Flows(generator, size * outcomes)
    finest, of_stratum = first[len(parts) - 1], [part.tolist() for part in parts]
    for at, row in enumerate(rest.tolist()):
        node = finest + of_stratum[-1][at] * outcomes
        for y, amount in enumerate(row):
            if amount:
                flows.let_in(_Flow(amount, first[-1] + at, node + y, at * outcomes + y))
        for level in reversed(range(len(parts))):
            part = of_stratum[level][at]
            if at + 1 < size and of_stratum[level][at + 1] == part:
                break
            # The last stratum of its part: what flows out of it is known.
            here = first[level] + part * outcomes
            above = first[level - 1] + of_stratum[level - 1][at] * outcomes if level else None
            for y, amount in enumerate(totals[level][part].tolist()):
                if amount:
                    flows.let_in(_Flow(amount, here + y, 0 if above is None else above + y))
    assert not flows.links
    return np.array(flows.up, dtype=np.int64).reshape(rest.shape)


def _sums(rest: Cells, part: Cells) -> Cells:
    """Return what is not whole of each part's totals; sums modulo 2^64 are as good as sums modulo 2^52."""
    first = np.flatnonzero(np.diff(part, prepend=-1))
    total = np.add.reduceat(rest.astype(np.uint64), first, axis=0)
    return (total & np.uint64(ONE - 1)).astype(np.int64)


@dataclass(slots=True, eq=False)
class _Flow:
    """A flow from one node to another that is not whole, in units of 2^-52, and where it is noted once it is."""

    amount: int
    tail: int
    head: int
    place: int = -1


@dataclass(slots=True, eq=False)
class _Flows:
    """The flows that are not whole yet; seen as a graph, they are a forest."""

    generator: np.random.PCG64
    size: int
    links: dict[int, dict[int, _Flow]] = field(default_factory=dict)
    up: list[int] = field(init=False)
    words: Iterator[int] = field(init=False)

    def __post_init__(self) -> None:
        self.up = [0] * self.size
        self.words = _words(self.generator)

    def let_in(self, flow: _Flow) -> None:
        """Add a flow, and where it closes a cycle turn that until one of its flows is whole."""
        links, tail, head = self.links, flow.tail, flow.head
        path = self._path(head, tail) if tail in links and head in links else None
        links.setdefault(tail, {})[head] = links.setdefault(head, {})[tail] = flow
        if path is None:
            return
        along, against = [flow], []
        node = head
        for each in path:
            if each.tail == node:
                along.append(each)
                node = each.head
            else:
                against.append(each)
                node = each.tail
        smallest_along, largest_along = _range(along)
        smallest_against, largest_against = _range(against)
        # Forward by so much, or back by so much, until a flow is whole; either with the chance that keeps the mean.
        forward = min(ONE - largest_along, smallest_against)
        back = min(smallest_along, ONE - largest_against)
        by = forward if self._below(back, forward + back) else -back
        for each in along:
            self._change(each, each.amount + by)
        for each in against:
            self._change(each, each.amount - by)

    def _path(self, start: int, end: int) -> list[_Flow] | None:
        """Return the flows between two nodes of the forest; None where they are not connected."""
        links = self.links
        came: dict[int, int] = {start: start}
        waiting = [start]
        while waiting:
            node = waiting.pop()
            for other in links[node]:
                if other in came:
                    continue
                came[other] = node
                if other == end:
                    path = []
                    while other != start:
                        path.append(links[other][came[other]])
                        other = came[other]
                    return path[::-1]
                waiting.append(other)
        return None

    def _change(self, flow: _Flow, amount: int) -> None:
        if 0 < amount < ONE:
            flow.amount = amount
            return
        for one, other in ((flow.tail, flow.head), (flow.head, flow.tail)):
            del self.links[one][other]
            if not self.links[one]:
                del self.links[one]
        if amount and flow.place >= 0:
            self.up[flow.place] = 1

    def _below(self, chance: int, of: int) -> bool:
        """Return true with probability chance / of, exactly."""
        usable = (1 << 64) // of * of
        word = next(self.words)
        while word >= usable:
            word = next(self.words)
        return word % of < chance


def _range(flows: Sequence[_Flow]) -> tuple[int, int]:
    """Return the smallest and the largest of some amounts; those that bound nothing where there are none."""
    amounts = [each.amount for each in flows]
    return min(amounts, default=ONE), max(amounts, default=0)


def _words(generator: np.random.PCG64) -> Iterator[int]:
    """Yield one random word of 64 bits after another."""
    while True:
        yield from generator.random_raw(WORDS).tolist()


def _moves(group: Cells, width: Cells, number: Cells, mass: Cells, generator: np.random.PCG64) -> Cells:
    """Share the people of each stratum and outcome among the moves to it: systematic sampling, with a start of its own.

    ``group`` is the stratum and outcome of each move, ascending; ``number`` and ``mass`` are those of each group.
    """
    first = np.flatnonzero(np.diff(group, prepend=-1))
    number, mass = number[group[first]], np.maximum(mass[group[first]], 1)
    # Nobody needs no start, so that empty strata change nothing.
    words = np.zeros(len(first), dtype=np.uint64)
    words[number > 0] = generator.random_raw(int(np.count_nonzero(number)))
    found = np.empty(len(group), dtype=np.int64)
    ends = np.append(first[1:], len(group))
    size = ends - first
    # Products need more than 64 bits, so Python's own numbers: some groups at a time, for these take room.
    for low in range(0, len(first), BLOCK):
        here = slice(low, low + BLOCK)
        moves = slice(first[low], ends[here][-1])
        sizes = size[here]
        running = np.cumsum(width[moves].astype(np.uint64))
        before = np.repeat(running[first[here] - moves.start] - width[first[here]].astype(np.uint64), sizes)
        # Differences of sums that wrap around are exact.
        reached = (running - before).astype(object)
        # A start is as likely as any other, to within 2^-64.
        start = words[here].astype(object) * mass[here] >> 64
        passed = np.repeat(start, sizes) + reached * np.repeat(number[here], sizes)
        passed = (passed // np.repeat(mass[here], sizes)).astype(np.int64)
        found[moves] = np.diff(passed, prepend=0)
        found[first[here]] = passed[first[here] - moves.start]
    return found
