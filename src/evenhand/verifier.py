"""Re-check a proof file written by evenhand: ``python verifier.py FILE``.

For an auditor who has neither evenhand nor a solver: one file, Python's standard library alone. A proof file holds a
table of counts, a statement (what was bounded, and by how much), and either a mapping with its claims or the claim
that no mapping meets the bounds. A number in it means exactly its decimal text, and all sums are made with fractions.

For a mapping P(x̂,ŷ | d,x,y) these are recomputed:

- that it is one: probabilities are positive, rows sum to one, every move is allowed;
- each bound, in its own units: J(p, q) − ε for parity and E[δ] − c (or Pr[δ > t] − c) for the change of individuals;
- the objective Δ(p, r): exactly for ℓ1 and total variation, between proven ends for KL (the logarithms are enclosed);
- a lower bound on Δ for every mapping that meets the bounds.

Why the lower bound is enough (weak duality): give each constraint a price per unit (λ of any sign on r = the released
distribution, μ ≥ 0 on parity, η ≥ 0 on budgets) and add "price × excess" to Δ, which for a mapping that meets the
bounds adds nothing or less. What remains splits into parts whose least values are seen at once, the cheapest choice
of each individual among them, so their sum

    inf over r ≥ 0 of [Δ(r) − λ·r]  +  Σ over individuals of the cheapest choice's price  −  Σ μ·c  −  Σ η·limit

is below Δ of every such mapping, whoever chose the prices; wrong prices only weaken it. Without Δ and λ the same sum
is at most zero if any mapping meets the bounds: where it is positive, none does.

It knows nothing of how a mapping was found, and must not import anything of evenhand.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Context
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

FORMAT, VERSION = "evenhand-proof", 1

ROW_TOLERANCE = Fraction("1e-12")
"""How far a row's sum may be from one, and rows that should agree from each other."""

VIOLATION_CLAIM_TOLERANCE = Fraction("1e-12")
"""How far the claimed violation may be from the recomputed one, relative to the largest bound or limit from one on."""

WORST_VIOLATION = Fraction("1e-6")
"""A mapping that exceeds any bound by more than this is refused."""

SUM_TOLERANCE = Fraction("1e-9")
"""How far sums of propensities may be from the counts, relative to all records."""

CLAIM_TOLERANCE = Fraction("1e-9")
"""How far the claimed objective and gap may be from the recomputed ones, and the lower bound above what is proven."""

OPTIMAL_GAP = Fraction("1e-7")
"""The largest gap of a mapping that may be called optimal."""

OPTIMAL_VIOLATION = Fraction("1e-9")
"""The largest violation of a mapping that may be called optimal."""

INFEASIBILITY_TOLERANCE = Fraction("1e-6")
"""How far, relatively, the claimed infeasibility may be above the recomputed one."""

LONGEST_NUMBER, LARGEST_EXPONENT = 400, 400
"""Longer texts of numbers, and larger powers of ten, are refused: nobody measures so finely."""

LARGEST_LOG_RATIO = 1000
"""A log-ratio bound ε above this has no price: e^ε would fill the page."""

MOST_MOVES = 20_000_000
"""A record with more allowed moves than this is refused, for it would take days."""

MOST_LISTED = 40
"""At most so many constraints are listed by name."""

SCOPE = (
    "Compare the counts and the statement in the file with your own: that they are the right ones is not proven here."
)
"""What no proof of this kind can say."""

LOG_BITS = 192
"""Logarithms are computed in units of two to minus this, rounded outward."""

LOG_TERMS = 64
"""Terms of the atanh series; each adds more than three bits, as |z| ≤ 1/3."""

MEASURES = ("ratio", "difference", "log-ratio", "four-fifths", "lines")
COMBINE = ("sum", "sum_of_squares", "max")
STATUSES = ("optimal", "feasible", "local")

Codes: TypeAlias = tuple[int, ...]
Cell: TypeAlias = tuple[Codes, int | None]
Cost: TypeAlias = Fraction | None
Costs: TypeAlias = tuple[tuple[Cost, ...], ...]
Line: TypeAlias = tuple[Fraction, Fraction, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)

Key = TypeVar("Key")


class Refused(ValueError):
    """The proof does not stand; the text says why."""


# ---------------------------------------------------------------------------------------------------------------
# Numbers: exact decimals, and logarithms between proven ends
# ---------------------------------------------------------------------------------------------------------------


class Exact(Fraction):
    """A decimal number that remembers its text.

    >>> Exact("1e-05").text, Exact("1e-05") * 3
    ('1e-05', Fraction(3, 100000))
    """

    text: str

    def __new__(cls, text: str) -> Exact:
        """Read a decimal text."""
        exponent = re.search(r"[eE]([+-]?\d+)$", text)
        if len(text) > LONGEST_NUMBER or (exponent and abs(int(exponent[1])) > LARGEST_EXPONENT):
            raise Refused(f"the number {text[:40]} is written out of all measure")
        number = super().__new__(cls, text)
        number.text = text
        return number


class Interval(NamedTuple):
    """A number known to lie between two fractions."""

    low: Fraction
    high: Fraction

    def plus(self, other: Interval) -> Interval:
        """Return the sum."""
        return Interval(self.low + other.low, self.high + other.high)

    def times(self, factor: Fraction) -> Interval:
        """Return the product with a number."""
        ends = sorted((self.low * factor, self.high * factor))
        return Interval(ends[0], ends[1])

    def distance(self, value: Fraction) -> Fraction:
        """Return how far a number is from the interval."""
        return max(ZERO, self.low - value, value - self.high)


def exactly(value: Fraction | int) -> Interval:
    """Return the interval of one number."""
    return Interval(Fraction(value), Fraction(value))


def log(value: Fraction) -> Interval:
    """Enclose the natural logarithm of a positive fraction.

    With value = m·2^k and 1/2 < m < 2, log(value) = 2·atanh(z) + k·log 2 where z = (m − 1)/(m + 1), |z| < 1/3.

    >>> ends = log(Fraction(2))
    >>> float(ends.low) == float(ends.high) == math.log(2)
    True
    """
    if value <= 0:
        raise ValueError("the logarithm needs a positive number")
    power = value.numerator.bit_length() - value.denominator.bit_length()
    m = value / Fraction(2) ** power
    return _atanh((m - 1) / (m + 1)).times(Fraction(2)).plus(LOG_TWO.times(Fraction(power)))


def _atanh(z: Fraction) -> Interval:
    """Enclose atanh(z), |z| ≤ 1/3, in whole units of 2^−LOG_BITS, rounded down and up."""
    if z < 0:
        ends = _atanh(-z)
        return Interval(-ends.high, -ends.low)
    unit = 1 << LOG_BITS
    low = _series(z.numerator * unit // z.denominator, down)
    # The terms left out are at most a geometric series with ratio z² ≤ 1/9, below twice the first of them; and a
    # unit more covers it, for that first one is below 3^−129 / 129, under 2^−LOG_BITS.
    high = _series(-(-z.numerator * unit // z.denominator), up) + 1
    return Interval(Fraction(low, unit), Fraction(high, unit))


def down(number: int, divisor: int) -> int:
    """Divide, rounding down."""
    return number // divisor


def up(number: int, divisor: int) -> int:
    """Divide, rounding up."""
    return -(-number // divisor)


def _series(z: int, divide: Callable[[int, int], int]) -> int:
    """Return Σ z^(2i+1)/(2i+1), i < LOG_TERMS, for z ≥ 0 in whole units, each step rounded one way."""
    unit = 1 << LOG_BITS
    square = divide(z * z, unit)
    total, power = 0, z
    for i in range(LOG_TERMS):
        total += divide(power, 2 * i + 1)
        power = divide(power * square, unit)
    return total


LOG_TWO = _atanh(Fraction(1, 3)).times(Fraction(2))


@cache
def exp_above(value: Fraction) -> Fraction:
    """Return a number that is proven to be at least e^value, and hardly larger.

    The guess comes from the decimal module; it is used only once its logarithm is proven to reach ``value``.
    """
    if value > LARGEST_LOG_RATIO:
        raise Refused(f"a log-ratio bound of {shown(value)} has a multiplier; above {LARGEST_LOG_RATIO} none is read")
    context = Context(prec=50)
    guess = Fraction(context.exp(context.divide(value.numerator, value.denominator)))
    margin = Fraction("1e-40")
    while log(guess * (1 + margin)).low < value:
        margin *= 2
    return guess * (1 + margin)


def shown(value: Fraction | int) -> str:
    """Write a number for people."""
    try:
        return f"{float(value):.12g}"
    except OverflowError:
        return "a number beyond 1e308"


# ---------------------------------------------------------------------------------------------------------------
# The file and its digest
# ---------------------------------------------------------------------------------------------------------------

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def canonical(value: Any) -> str:
    """Write a document in its one canonical form: keys sorted, no spaces, numbers in their own decimal text.

    For plain Python values this is ``json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)``.

    >>> canonical({"b": [1, 0.5, None], "a": "é"})
    '{"a":"é","b":[1,0.5,null]}'
    """
    if isinstance(value, Exact):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{_encode(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    return _encode(value)


def digest(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a document's canonical text, its own entry ``sha256`` left out.

    The writer calls it on plain values before ``json.dump``; the reader calls it on what it has read.

    >>> digest({"a": 0.1, "sha256": "anything"}) == digest({"a": 0.1})
    True
    """
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(canonical(rest).encode("utf-8")).hexdigest()


def read(path: str | Path) -> dict[str, Any]:
    """Read a proof file; decimal numbers become :class:`Exact`."""

    def whole(text: str) -> int:
        if len(text) > LONGEST_NUMBER:
            raise Refused(f"the number {text[:40]} is written out of all measure")
        return int(text)

    def constant(text: str) -> None:
        raise Refused(f"{text} is not a number that a proof can hold")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise Refused("an object of the file names the same entry twice")
        return dict(pairs)

    try:
        text = Path(path).read_bytes().decode("utf-8")
        document = json.loads(
            text, parse_float=Exact, parse_int=whole, parse_constant=constant, object_pairs_hook=distinct
        )
    except OSError as error:
        raise Refused(f"the file cannot be read: {error.strerror}") from error
    except TypeError as error:
        raise Refused("what is given is not the path of a file") from error
    except Refused:
        raise
    except (ValueError, RecursionError) as error:
        raise Refused(f"the file is not a JSON document: {error}") from error
    if not isinstance(document, dict):
        raise Refused(f"the document must be an object, not {_brief(document)}")
    return document


# ---------------------------------------------------------------------------------------------------------------
# Reading structure: each refusal says where
# ---------------------------------------------------------------------------------------------------------------


def _brief(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _fields(value: Any, where: str, names: Sequence[str], optional: Sequence[str] | None = ()) -> dict[str, Any]:
    """Return an object with these entries; ``optional`` None lets it have any others."""
    if not isinstance(value, dict):
        raise Refused(f"{where} must be an object, not {_brief(value)}")
    for name in names:
        if name not in value:
            raise Refused(f"{where} lacks its entry {name!r}")
    for name in value:
        if optional is not None and name not in names and name not in optional:
            raise Refused(f"{where} has an entry {name!r} that this verifier does not know")
    return value


def _entries(value: Any, where: str, size: int | None = None) -> list[Any]:
    if not isinstance(value, list):
        raise Refused(f"{where} must be a list, not {_brief(value)}")
    if size is not None and len(value) != size:
        raise Refused(f"{where} must have {size} entries, not {len(value)}")
    return value


def _number(value: Any, where: str, low: Fraction | None = None) -> Fraction:
    if type(value) is not int and not isinstance(value, Exact):
        raise Refused(f"{where} must be a number, not {_brief(value)}")
    number = Fraction(value)
    if low is not None and number < low:
        raise Refused(f"{where} must be at least {low}, not {shown(number)}")
    return number


def _positive(value: Any, where: str) -> Fraction:
    number = _number(value, where)
    if number <= 0:
        raise Refused(f"{where} must be positive, not {shown(number)}")
    return number


def _code(value: Any, where: str, size: int) -> int:
    # Not isinstance: True is an int, and no code.
    if type(value) is not int or not 0 <= value < size:
        raise Refused(f"{where} must be a whole number from 0 to {size - 1}, not {_brief(value)}")
    return value


def _text(value: Any, where: str, among: Sequence[str] | None = None) -> str:
    if not isinstance(value, str) or (among is not None and value not in among):
        kind = "a text" if among is None else "one of " + ", ".join(among)
        raise Refused(f"{where} must be {kind}, not {_brief(value)}")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise Refused(f"{where} must be true or false, not {_brief(value)}")
    return value


# ---------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column's name and the texts of its levels."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """One kind of record (d, x, y) and its share of the table."""

    d: Codes
    x: Codes
    y: int
    mass: Fraction


@dataclass(frozen=True, eq=False)
class Table:
    """The columns, and the kinds of records that were seen."""

    protected: tuple[Column, ...]
    features: tuple[Column, ...]
    outcome: Column
    sources: tuple[Source, ...]
    records: Fraction

    @cached_property
    def cells(self) -> dict[Cell, Fraction]:
        """p(x, y)."""
        return _totals(((s.x, s.y), s.mass) for s in self.sources)

    @cached_property
    def feature_cells(self) -> dict[Cell, Fraction]:
        """p(x), each with None in place of an outcome."""
        return _totals(((s.x, None), s.mass) for s in self.sources)

    @cached_property
    def by_cell(self) -> dict[tuple[Codes, int], list[int]]:
        """The sources of every (x, y)."""
        found: dict[tuple[Codes, int], list[int]] = {}
        for index, source in enumerate(self.sources):
            found.setdefault((source.x, source.y), []).append(index)
        return found

    def words(self, source: Source) -> str:
        """Name a source."""
        parts = [named(self.protected, source.d), named(self.features, source.x), named([self.outcome], (source.y,))]
        return ", ".join(part for part in parts if part)

    def cell_words(self, x: Codes, y: int) -> str:
        """Name a cell (x, y)."""
        return f"{named(self.features, x)}, {named([self.outcome], (y,))}"


def _totals(pairs: Iterable[tuple[Key, Fraction]]) -> dict[Key, Fraction]:
    """Add amounts up by key."""
    found: dict[Key, Fraction] = {}
    for key, amount in pairs:
        found[key] = found.get(key, ZERO) + amount
    return found


def named(columns: Sequence[Column], codes: Codes) -> str:
    """Write codes as column=level."""
    return ", ".join(f"{c.name}={c.levels[code]}" for c, code in zip(columns, codes, strict=True))


def read_table(document: dict[str, Any]) -> Table:
    """Read the columns and counts."""
    columns = _fields(document["columns"], "columns", ("protected", "features", "outcome"))
    protected = tuple(_column(c, "a protected column") for c in _entries(columns["protected"], "columns.protected"))
    features = tuple(_column(c, "a feature") for c in _entries(columns["features"], "columns.features"))
    outcome = _column(columns["outcome"], "the outcome")
    names = [column.name for column in (*protected, *features, outcome)]
    if len(set(names)) < len(names):
        raise Refused("two columns have the same name")
    weights: dict[tuple[Codes, Codes, int], Fraction] = {}
    for position, row in enumerate(_entries(document["counts"], "counts")):
        where = f"counts[{position}]"
        d, x, y, weight = _entries(row, where, 4)
        key = (_codes(d, where, protected), _codes(x, where, features), _code(y, where, len(outcome.levels)))
        if key in weights:
            raise Refused(f"{where} repeats a kind of record")
        weights[key] = _positive(weight, f"the weight of {where}")
    if not weights:
        raise Refused("counts is empty")
    total = sum(weights.values(), start=ZERO)
    sources = tuple(Source(d, x, y, weight / total) for (d, x, y), weight in weights.items())
    return Table(protected, features, outcome, sources, total)


def _column(value: Any, where: str) -> Column:
    found = _fields(value, where, ("name", "levels"))
    name = _text(found["name"], f"the name of {where}")
    levels = _entries(found["levels"], f"the levels of {name!r}")
    texts = tuple(level if isinstance(level, str) else canonical(level) for level in levels)
    if not levels or len({canonical(level) for level in levels}) < len(levels):
        raise Refused(f"the levels of {name!r} must be distinct, and at least one")
    return Column(name, texts)


def _codes(value: Any, where: str, columns: Sequence[Column]) -> Codes:
    codes = _entries(value, where, len(columns))
    return tuple(_code(code, where, len(column.levels)) for code, column in zip(codes, columns, strict=True))


def _cell(x: Any, y: Any, where: str, table: Table) -> tuple[Codes, int]:
    return _codes(x, where, table.features), _code(y, where, len(table.outcome.levels))


# ---------------------------------------------------------------------------------------------------------------
# Distortion: which moves are allowed, and what they cost
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnCosts:
    """δ combined from a table of costs for each column; feature costs are already squared where they should be."""

    largest: bool
    features: tuple[Costs, ...]
    outcome: Costs

    def cost(self, x: Codes, y: int, to_x: Codes, to_y: int) -> Cost:
        """Return δ, None where the move is forbidden."""
        costs = self._between(x, to_x)
        last = self.outcome[y][to_y]
        return None if costs is None or last is None else self._join(costs, last)

    def reach(self, x: Codes, y: int, within: Collection[Codes] | None) -> Iterator[tuple[Codes, dict[int, Fraction]]]:
        """Yield every x̂ of finite cost, with δ by ŷ."""
        outcomes = [(to_y, cost) for to_y, cost in enumerate(self.outcome[y]) if cost is not None]
        options = [
            [(to, cost) for to, cost in enumerate(costs[code]) if cost is not None]
            for costs, code in zip(self.features, x, strict=True)
        ]
        size = math.prod(map(len, options))
        moves: Iterable[tuple[Codes, list[Fraction] | None]]
        if within is not None and len(within) < size:
            moves = ((to_x, self._between(x, to_x)) for to_x in within)
        elif size > MOST_MOVES:
            raise Refused(f"a record has {size} allowed moves, more than {MOST_MOVES}")
        else:
            every = itertools.product(*options)
            moves = ((tuple(to for to, _ in move), [cost for _, cost in move]) for move in every)
        for to_x, found in moves:
            if found is not None and (within is None or to_x in within):
                yield to_x, {to_y: self._join(found, cost) for to_y, cost in outcomes}

    def _between(self, x: Codes, to_x: Codes) -> list[Fraction] | None:
        found = []
        for costs, code, to in zip(self.features, x, to_x, strict=True):
            cost = costs[code][to]
            if cost is None:
                return None
            found.append(cost)
        return found

    def _join(self, costs: list[Fraction], outcome: Fraction) -> Fraction:
        return max([*costs, outcome]) if self.largest else sum(costs, start=outcome)


@dataclass(frozen=True, eq=False)
class CostTable:
    """δ listed move by move; what is not listed is forbidden."""

    moves: dict[tuple[Codes, int], dict[Codes, dict[int, Fraction]]]

    def cost(self, x: Codes, y: int, to_x: Codes, to_y: int) -> Cost:
        """Return δ, None where the move is forbidden."""
        return self.moves.get((x, y), {}).get(to_x, {}).get(to_y)

    def reach(self, x: Codes, y: int, within: Collection[Codes] | None) -> Iterator[tuple[Codes, dict[int, Fraction]]]:
        """Yield every x̂ listed for (x, y), with δ by ŷ."""
        for to_x, costs in self.moves.get((x, y), {}).items():
            if within is None or to_x in within:
                yield to_x, costs


def _read_distortion(value: Any, table: Table) -> ColumnCosts | CostTable:
    where = "statement.distortion"
    if isinstance(value, dict) and "table" in value:
        moves: dict[tuple[Codes, int], dict[Codes, dict[int, Fraction]]] = {}
        for row in _entries(_fields(value, where, ("table",))["table"], f"{where}.table"):
            at = f"a row of {where}.table"
            x, y, to_x, to_y, cost = _entries(row, at, 5)
            start, (to_x, to_y) = _cell(x, y, at, table), _cell(to_x, to_y, at, table)
            costs = moves.setdefault(start, {}).setdefault(to_x, {})
            if to_y in costs:
                raise Refused(f"{where}.table lists a move twice")
            costs[to_y] = _number(cost, at, ZERO)
        return CostTable(moves)
    found = _fields(value, where, ("combine", "costs"))
    combine = _text(found["combine"], f"{where}.combine", COMBINE)
    names = [column.name for column in (*table.features, table.outcome)]
    by_name = _fields(found["costs"], f"{where}.costs", names)
    power = 2 if combine == "sum_of_squares" else 1
    features = tuple(_read_costs(by_name[column.name], column, power) for column in table.features)
    return ColumnCosts(combine == "max", features, _read_costs(by_name[table.outcome.name], table.outcome, 1))


def _read_costs(value: Any, column: Column, power: int) -> Costs:
    where, size = f"the costs of {column.name!r}", len(column.levels)
    return tuple(
        tuple(None if cost is None else _number(cost, where, ZERO) ** power for cost in _entries(row, where, size))
        for row in _entries(value, where, size)
    )


# ---------------------------------------------------------------------------------------------------------------
# The statement
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """J(rate of ``group``, rate of ``against`` or target) ≤ ``bound``; ``against`` None is everybody else.

    The bound must be kept by a rate that is ``above`` higher or ``below`` lower, too.
    """

    outcome: int
    group: Codes
    against: Codes | None
    target: Fraction | None
    segment: Codes
    bound: Fraction
    above: Fraction = ZERO
    below: Fraction = ZERO


@dataclass(frozen=True, eq=False)
class Parity:
    """Bounds of one kind; ``on`` and ``given`` are positions of columns, that after the last feature is the outcome.

    With ``cumulative`` an outcome stands for itself and all above it. With ``features`` (their positions) no outcome is
    compared: the bound is on the difference between the shares of any set of values that these are released with.
    People of ``unknown`` groups are in nobody's rest. Where it is ``scored`` rates are mean scores of a model that does
    not see the protected columns: of each source a group counts the sum of its propensities there.
    """

    name: str
    measure: str
    given_lines: tuple[Line, ...]
    on: Codes
    given: Codes
    released: bool
    bounds: tuple[Bound, ...]
    cumulative: bool = False
    features: Codes | None = None
    unknown: frozenset[Codes] = frozenset()
    scored: bool = False

    def segment(self, source: Source) -> Codes:
        """Return the original segment of a source."""
        return () if self.released else tuple((*source.x, source.y)[i] for i in self.given)

    def value(self, to_x: Codes, to_y: int) -> tuple[Codes, int]:
        """Return what rates tell apart of a released record: its segment and outcome, or its features alone."""
        if self.features is not None:
            return tuple(to_x[i] for i in self.features), 0
        return tuple(to_x[i] for i in self.given) if self.released else (), to_y

    def event(self, bound: Bound, size: int) -> range:
        """Return the outcomes, of so many, that a bound is about."""
        return range(bound.outcome, size if self.cumulative else bound.outcome + 1)

    def held(self, bound: Bound) -> Sequence[Line]:
        """Return the lines that a bound implies, also of a rate that is off by its margins."""
        return [(a, b, c - a * (bound.above if a > 0 else -bound.below)) for a, b, c in self.lines(bound.bound)]

    def lines(self, bound: Fraction) -> Sequence[Line]:
        """Return the lines (a, b, c), each a·p + b·q ≤ c, that J(p, q) ≤ bound implies."""
        if self.measure == "ratio":
            return [(ONE, -(1 + bound), ZERO), (-ONE, max(ZERO, 1 - bound), ZERO)]
        if self.measure == "difference":
            return [(ONE, -ONE, bound), (-ONE, ONE, bound)]
        if self.measure == "four-fifths":
            return [(-ONE, max(ZERO, 1 - bound), ZERO)]
        if self.measure == "lines":
            return self.given_lines
        above = exp_above(bound)
        return [(ONE, -above, ZERO), (-above, ONE, ZERO)]

    @property
    def n_lines(self) -> int:
        """The number of lines of each bound."""
        if self.features is not None:
            return 1
        return {"four-fifths": 1, "lines": len(self.given_lines)}.get(self.measure, 2)

    def beyond(self, p: Fraction, q: Fraction, bound: Bound) -> Interval | None:
        """Return J − ε of a rate that is off by a margin of the bound, the worse of both; None where it is infinite."""
        found = [self.excess(off, q, bound.bound) for off in {p + bound.above, max(ZERO, p - bound.below)}]
        known = [each for each in found if each is not None]
        return _highest(known) if len(known) == len(found) else None

    def excess(self, p: Fraction, q: Fraction, bound: Fraction) -> Interval | None:
        """Return J(p, q) − ε; None where it is infinite."""
        if self.measure == "lines":
            return exactly(max((a * p + b * q - c for a, b, c in self.given_lines), default=ZERO))
        if self.measure == "difference":
            return exactly(abs(p - q) - bound)
        if p == 0 and q == 0:
            return exactly(-bound)
        if self.measure == "log-ratio":
            if p == 0 or q == 0:
                return None
            low, high = log(p / q)
            return Interval(max(ZERO, low, -high) - bound, max(-low, high) - bound)
        if self.measure == "four-fifths":
            return exactly((max(ZERO, 1 - p / q) if q else ZERO) - bound)
        return exactly(abs(p / q - 1) - bound) if q else None


@dataclass(frozen=True, eq=False)
class Budget:
    """Limits on the expected distortion (threshold None), or on the probability of more than the threshold.

    A holder is the sources that share a limit, with their weights.
    """

    threshold: Fraction | None
    per: str
    holders: tuple[tuple[tuple[int, Fraction], ...], ...]
    limits: tuple[Fraction, ...]

    def charge(self, distortion: Fraction) -> Fraction:
        """Return what a move of this distortion is charged."""
        if self.threshold is None:
            return distortion
        return ONE if distortion > self.threshold else ZERO

    @property
    def words(self) -> str:
        """Say what is limited."""
        return "expected distortion" if self.threshold is None else f"Pr[distortion > {shown(self.threshold)}]"


@dataclass(frozen=True, eq=False)
class Forbidden:
    """A kind of record (d, x, y): for each column named, by its position among all, the levels that it must have."""

    levels: tuple[tuple[int, frozenset[int]], ...]

    def holds(self, record: Codes) -> bool:
        """Return whether a record, the codes of d, x and y in this order, is of this kind."""
        return all(record[position] in codes for position, codes in self.levels)


@dataclass(frozen=True, eq=False)
class Propensities:
    """For every group the sum of its propensities in each source, as shares of all records, and the shift of its rates.

    ``within`` are the positions of the features within whose combinations they agree with the counts.
    """

    within: Codes
    sums: dict[Codes, tuple[Fraction, ...]]
    shift: dict[Codes, tuple[Fraction, ...]]


@dataclass(frozen=True, eq=False)
class Problem:
    """The table and what was asked of its mapping."""

    table: Table
    measure: str
    on_x: bool
    targets: frozenset[Codes] | None
    new_cells: bool
    blind: bool
    suppressed: bool
    conditional: dict[Codes, tuple[Fraction, ...]] | None
    distortion: ColumnCosts | CostTable
    parity: tuple[Parity, ...]
    budgets: tuple[Budget, ...]
    forbidden: tuple[Forbidden, ...] = ()
    propensities: Propensities | None = None

    @property
    def original(self) -> dict[Cell, Fraction]:
        """The distribution that Δ compares with: p(x, y), or p(x)."""
        return self.table.feature_cells if self.on_x else self.table.cells

    def cell(self, x: Codes, y: int) -> Cell:
        """Return the entry of the released distribution that (x̂, ŷ) adds to."""
        return (x, None) if self.on_x else (x, y)

    def cost(self, source: Source, to_x: Codes, to_y: int) -> Cost:
        """Return the distortion of a move, None where it is not allowed."""
        if self.targets is not None and to_x not in self.targets:
            return None
        if not self.new_cells and (to_x, to_y) not in self.table.cells:
            return None
        if self.becomes_forbidden(source, to_x, to_y):
            return None
        return self.distortion.cost(source.x, source.y, to_x, to_y)

    def becomes_forbidden(self, source: Source, to_x: Codes, to_y: int) -> bool:
        """Return whether a move makes a forbidden record of one that is not of that kind."""
        before, after = ((*source.d, *x, y) for x, y in ((source.x, source.y), (to_x, to_y)))
        return any(rule.holds(after) and not rule.holds(before) for rule in self.forbidden)

    def moves(self, source: Source) -> Iterator[tuple[Codes, dict[int, Fraction]]]:
        """Yield every allowed x̂ with δ by allowed ŷ; under a conditional only x̂ all of whose ŷ are allowed."""
        for to_x, costs in self.distortion.reach(source.x, source.y, self.targets):
            if not self.new_cells:
                costs = {to_y: cost for to_y, cost in costs.items() if (to_x, to_y) in self.table.cells}
            if self.forbidden:
                costs = {y: cost for y, cost in costs.items() if not self.becomes_forbidden(source, to_x, y)}
            if self.conditional is not None:
                shares = self.conditional.get(to_x)
                if shares is None or any(share and to_y not in costs for to_y, share in enumerate(shares)):
                    continue
            if costs:
                yield to_x, costs

    def owners(self, x: Codes, y: int) -> list[list[int]]:
        """Return who chooses a row together: a source alone, or under ``blind`` all sources of the same (x, y)."""
        sources = self.table.by_cell[x, y]
        return [sources] if self.blind else [[source] for source in sources]


def read_problem(document: dict[str, Any]) -> Problem:
    """Read the table and the statement."""
    table = read_table(document)
    names = (
        "utility", "targets", "new_cells", "blind", "suppressed", "conditional", "distortion", "forbidden", "parity",
        "budgets",
    )  # fmt: skip
    found = _fields(document["statement"], "statement", names, ("propensities",))
    utility = _fields(found["utility"], "statement.utility", ("measure", "on"))
    measure = _text(utility["measure"], "statement.utility.measure")
    on_x = _text(utility["on"], "statement.utility.on", ("xy", "x")) == "x"
    targets = None
    if found["targets"] == "observed":
        targets = frozenset(source.x for source in table.sources)
    elif found["targets"] != "all":
        where = 'statement.targets (if not "observed" or "all")'
        targets = frozenset(_codes(x, where, table.features) for x in _entries(found["targets"], where))
    propensities = _read_propensities(found.get("propensities"), table)
    return Problem(
        table=table,
        measure=measure,
        on_x=on_x,
        targets=targets,
        new_cells=_flag(found["new_cells"], "statement.new_cells"),
        blind=_flag(found["blind"], "statement.blind"),
        suppressed=_flag(found["suppressed"], "statement.suppressed"),
        conditional=_read_conditional(found["conditional"], table),
        distortion=_read_distortion(found["distortion"], table),
        parity=tuple(_read_parity(p, table, propensities) for p in _entries(found["parity"], "statement.parity")),
        budgets=tuple(_read_budget(b, table) for b in _entries(found["budgets"], "statement.budgets")),
        forbidden=_read_forbidden(found, table),
        propensities=propensities,
    )


def _read_propensities(value: Any, table: Table) -> Propensities | None:
    """Read sums of propensities; refuse those that do not share every source, and every group, out."""
    if value is None:
        return None
    where = "statement.propensities"
    found = _fields(value, where, ("within", "groups", "sums", "shift"))
    within = _positions(found["within"], f"{where}.within", table.features)
    groups = [_codes(group, f"{where}.groups", table.protected) for group in _entries(found["groups"], where)]
    if len(set(groups)) < len(groups) or set(groups) != {source.d for source in table.sources}:
        raise Refused(f"{where}.groups must name every group of the table once")
    size, outcomes = len(table.sources), len(table.outcome.levels)
    sums, shift = {}, {}
    for group, row, by in zip(
        groups, _entries(found["sums"], where, len(groups)), _entries(found["shift"], where, len(groups)), strict=True
    ):
        each = (_number(of, f"{where}.sums", ZERO) for of in _entries(row, f"{where}.sums", size))
        sums[group] = tuple(of / table.records for of in each)
        shift[group] = tuple(_number(of, f"{where}.shift") for of in _entries(by, f"{where}.shift", outcomes))
    if any(abs(of) > 1 for each in shift.values() for of in each):
        raise Refused(f"{where}.shift moves a rate by more than one")
    for place, source in enumerate(table.sources):
        if abs(sum(row[place] for row in sums.values()) - source.mass) > SUM_TOLERANCE:
            raise Refused(f"the sums of propensities of {table.words(source)} are not its weight")
    there = _totals(((source.d, tuple(source.x[i] for i in within)), source.mass) for source in table.sources)
    taken = _totals(
        ((group, tuple(source.x[i] for i in within)), of)
        for group, row in sums.items()
        for source, of in zip(table.sources, row, strict=True)
    )
    for key in {*there, *taken}:
        if abs(there.get(key, ZERO) - taken.get(key, ZERO)) > SUM_TOLERANCE:
            raise Refused(
                f"the sums of propensities of {named(table.protected, key[0])} are not its weight"
                + (f" where {named([table.features[i] for i in within], key[1])}" if within else "")
            )
    return Propensities(within, sums, shift)


def _read_forbidden(statement: dict[str, Any], table: Table) -> tuple[Forbidden, ...]:
    where = "statement.forbidden"
    columns = [*table.protected, *table.features, table.outcome]
    rules = []
    for rule in _entries(statement["forbidden"], where):
        named = _fields(rule, f"an entry of {where}", (), [column.name for column in columns])
        if not named or (statement["blind"] is True and any(column.name in named for column in table.protected)):
            raise Refused(f"an entry of {where} must name columns, and those that a mapping may look at")
        levels = []
        for position, column in enumerate(columns):
            if column.name in named:
                codes = (_code(code, where, len(column.levels)) for code in _entries(named[column.name], where))
                levels.append((position, frozenset(codes)))
        rules.append(Forbidden(tuple(levels)))
    return tuple(rules)


def _read_conditional(value: Any, table: Table) -> dict[Codes, tuple[Fraction, ...]] | None:
    if value is None:
        return None
    found: dict[Codes, tuple[Fraction, ...]] = {}
    where = "statement.conditional"
    for row in _entries(value, where):
        codes, shares = _entries(row, where, 2)
        x = _codes(codes, where, table.features)
        shares = tuple(_number(s, where, ZERO) for s in _entries(shares, where, len(table.outcome.levels)))
        total = sum(shares)
        if x in found or abs(total - 1) > ROW_TOLERANCE:
            raise Refused(f"{where} must give every x̂ once, with probabilities that sum to 1; see {_brief(codes)}")
        # Exactly one, or a proof could live on the difference.
        found[x] = tuple(share / total for share in shares)
    return found


def _positions(value: Any, where: str, columns: Sequence[Column]) -> Codes:
    names = [column.name for column in columns]
    found = tuple(names.index(_text(name, where, names)) for name in _entries(value, where))
    if len(set(found)) < len(found):
        raise Refused(f"{where} names a column twice")
    return found


def _read_parity(value: Any, table: Table, propensities: Propensities | None) -> Parity:
    required = ("name", "kind", "distance", "on", "given", "released", "bounds")
    found = _fields(value, "a parity", required, ("cumulative", "features", "unknown", "scored"))
    name = _text(found["name"], "the name of a parity")
    where = f"parity {name!r}"
    kind = _text(found["kind"], f"the kind of {where}", ("pairwise", "target", "features"))
    released = _flag(found["released"], f"released of {where}")
    cumulative = _flag(found.get("cumulative", False), f"cumulative of {where}")
    if (kind == "features") != ("features" in found):
        raise Refused(f"{where} must name features if, and only if, it is of that kind")
    features = _positions(found["features"], f"features of {where}", table.features) if "features" in found else None
    if features is not None and (found["given"] or found["distance"] != {"measure": "difference"} or cumulative):
        raise Refused(f"{where} compares features, by their difference and in the whole table")
    if released and kind != "target":
        raise Refused(f"{where} is pairwise within released segments, which is not linear")
    at = f"the distance of {where}"
    distance = _fields(found["distance"], at, ("measure",), ("lines",))
    measure = _text(distance["measure"], at, MEASURES)
    if (measure == "lines") != ("lines" in distance):
        raise Refused(f"{at} must list lines if, and only if, its measure is 'lines'")
    rows = [_entries(row, at, 3) for row in _entries(distance.get("lines", []), at)]
    lines = tuple((_number(a, at), _number(b, at), _number(c, at)) for a, b, c in rows)
    on = _positions(found["on"], f"on of {where}", table.protected)
    columns = [*table.features, table.outcome]
    given = _positions(found["given"], f"given of {where}", columns)
    if released and len(table.features) in given:
        raise Refused(f"{where} is within segments of the released outcome, whose rates it bounds")
    scored = _flag(found.get("scored", False), f"scored of {where}")
    if scored and (released or features is not None or propensities is None or not {*given} <= {*propensities.within}):
        raise Refused(f"{where} is on mean scores, whose propensities must agree with the counts in every segment")
    groups, segments = [table.protected[i] for i in on], [columns[i] for i in given]
    unknown = _entries(found.get("unknown", []), f"the unknown groups of {where}")
    left_out = frozenset(_codes(group, f"an unknown group of {where}", groups) for group in unknown)
    bounds = []
    at = f"a bound of {where}"
    for entry in _entries(found["bounds"], f"the bounds of {where}"):
        one = _fields(entry, at, ("outcome", "group", "against", "segment", "bound"), ("margins",))
        above, below = ZERO, ZERO
        if "margins" in one:
            above, below = (_number(of, f"a margin of {at}", ZERO) for of in _entries(one["margins"], at, 2))
        if (above or below) and (released or features is not None or measure == "lines"):
            raise Refused(f"{at} has a margin, which only named measures in the whole table or original segments may")
        against, target = None, None
        if kind == "target":
            stated = _fields(one["against"], f"against of {at}", ("target",))["target"]
            target = _number(stated, f"the target of {at}", ZERO)
            if target > 1:
                raise Refused(f"the target of {at} is no probability: {shown(target)}")
        elif one["against"] != "rest":
            against = _codes(one["against"], f"against of {at}", groups)
        outcome, group = _code(one["outcome"], at, len(table.outcome.levels)), _codes(one["group"], at, groups)
        if group == against:
            raise Refused(f"{at} holds a group against itself, {named(groups, group) or 'everybody'}")
        segment = _codes([] if one["segment"] is None else one["segment"], f"the segment of {at}", segments)
        least = _number(one["bound"], at, ZERO)
        bounds.append(Bound(outcome, group, against, target, segment, least, above, below))
    return Parity(name, measure, lines, on, given, released, tuple(bounds), cumulative, features, left_out, scored)


def _read_budget(value: Any, table: Table) -> Budget:
    found = _fields(value, "a budget", ("threshold", "per", "limits"))
    threshold = None if found["threshold"] is None else _number(found["threshold"], "the threshold of a budget", ZERO)
    per = _text(found["per"], "per of a budget", ("individual", "xy"))
    rows = [_entries(row, "a limit of a budget", 2) for row in _entries(found["limits"], "the limits of a budget")]
    holders: list[tuple[tuple[int, Fraction], ...]] = []
    where = "the holder of a budget"
    for holder, _ in rows:
        if per == "individual":
            holders.append(((_code(holder, where, len(table.sources)), ONE),))
            continue
        x, y = _entries(holder, where, 2)
        cell = _cell(x, y, where, table)
        if cell not in table.by_cell:
            raise Refused(f"{where} is the cell {_brief(holder)}, which has no record")
        # The limit is on the average over the groups.
        holders.append(tuple((s, table.sources[s].mass / table.cells[cell]) for s in table.by_cell[cell]))
    limits = tuple(_number(limit, "a limit of a budget", ZERO) for _, limit in rows)
    return Budget(threshold, per, tuple(holders), limits)


# ---------------------------------------------------------------------------------------------------------------
# Populations: the sources whose rates are compared
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Population:
    """Sources and their weights, which sum to one; and what is added to its rate of each outcome."""

    shares: tuple[tuple[int, Fraction], ...]
    shift: tuple[Fraction, ...]

    def added(self, event: range) -> Fraction:
        """Return what is added to the rate of some outcomes."""
        return sum((self.shift[outcome] for outcome in event), start=ZERO)


class Populations:
    """The populations of one parity, each made once."""

    def __init__(self, problem: Problem, parity: Parity) -> None:
        self._table, self._parity, self._propensities = problem.table, parity, problem.propensities
        self._made: dict[tuple[Codes | None, Codes, Codes], Population] = {}
        self._members: dict[Codes, dict[Codes, list[int]]] = {}
        for index, source in enumerate(self._table.sources):
            groups = self._members.setdefault(parity.segment(source), {})
            groups.setdefault(tuple(source.d[i] for i in parity.on), []).append(index)

    def of(self, bound: Bound) -> Population:
        """Return the population of the bound's group."""
        return self._find(bound.group, bound, rest=False)

    def against(self, bound: Bound) -> Population:
        """Return the population that it is compared with."""
        if bound.against is None:
            return self._find(bound.group, bound, rest=True)
        return self._find(bound.against, bound, rest=False)

    def _find(self, group: Codes, bound: Bound, *, rest: bool) -> Population:
        segment = () if self._parity.released else bound.segment
        key = (None if rest else group, group, segment)
        if key not in self._made:
            groups = self._members.get(segment, {})
            others = groups.keys() - {group} - self._parity.unknown
            members = [i for g, found in groups.items() if (g in others if rest else g == group) for i in found]
            if not members:
                words = bound_words(self._table, self._parity, bound)
                raise Refused(f"parity {self._parity.name!r} bounds a group without any record ({words})")
            everybody = [i for found in groups.values() for i in found]
            self._made[key] = self._population(members, everybody)
        return self._made[key]

    def _population(self, members: list[int], everybody: list[int]) -> Population:
        """Return some sources of a segment, or what a model without the protected columns takes from each for them."""
        sources, outcomes = self._table.sources, len(self._table.outcome.levels)
        mass = sum((sources[i].mass for i in members), start=ZERO)
        if not self._parity.scored or self._propensities is None:
            return Population(tuple((i, sources[i].mass / mass) for i in members), (ZERO,) * outcomes)
        of_group = _totals((sources[i].d, sources[i].mass) for i in members)
        rows = [self._propensities.sums[group] for group in of_group]
        taken = {i: sum((row[i] for row in rows), start=ZERO) for i in everybody}
        total = sum(taken.values(), start=ZERO)
        shifts = self._propensities.shift
        shift = (
            sum((share * shifts[group][y] for group, share in of_group.items()), start=ZERO) / mass
            for y in range(outcomes)
        )
        return Population(tuple((i, of / total) for i, of in taken.items() if of), tuple(shift))


def bound_words(table: Table, parity: Parity, bound: Bound) -> str:
    """Name a parity bound."""
    groups = [table.protected[i] for i in parity.on]
    what = named([table.outcome], (bound.outcome,)) + " or more" * parity.cumulative
    if parity.features is not None:
        what = f"released {', '.join(table.features[i].name for i in parity.features)}"
    words = f"{what} for {named(groups, bound.group) or 'everybody'}"
    if bound.target is not None:
        words += f" against the target {shown(bound.target)}"
    else:
        words += f" against {'the rest' if bound.against is None else named(groups, bound.against) or 'everybody'}"
    if bound.segment:
        where = "released" if parity.released else "original"
        words += f", where {where} {named([(*table.features, table.outcome)[i] for i in parity.given], bound.segment)}"
    if bound.above or bound.below:
        words += f", also where the rate is {shown(bound.above)} higher or {shown(bound.below)} lower"
    words += ", as scored without the protected columns" * parity.scored
    return words if parity.measure == "lines" else f"{words}: {parity.measure} ≤ {shown(bound.bound)}"


# ---------------------------------------------------------------------------------------------------------------
# The mapping, and what it does
# ---------------------------------------------------------------------------------------------------------------


Kernel: TypeAlias = list[dict[tuple[Codes, int], Fraction]]
"""The probabilities of each source's moves."""


def read_kernel(value: Any, problem: Problem) -> Kernel:
    """Read the mapping; refuse what is no distribution."""
    table = problem.table
    kernel: Kernel = [{} for _ in table.sources]
    for position, entry in enumerate(_entries(value, "kernel")):
        where = f"kernel[{position}]"
        source, to_x, to_y, probability = _entries(entry, where, 4)
        row = kernel[_code(source, where, len(kernel))]
        target = _cell(to_x, to_y, where, table)
        if target in row:
            raise Refused(f"{where} repeats a move")
        row[target] = _positive(probability, f"the probability of {where}")
    return kernel


def check_kernel(problem: Problem, kernel: Kernel, findings: Findings) -> None:
    """Check that rows sum to one, that moves are allowed, and that the mapping looks at nothing that it may not."""
    table, worst = problem.table, ZERO
    for source, row in zip(table.sources, kernel, strict=True):
        total = sum(row.values(), start=ZERO)
        if abs(total - 1) > ROW_TOLERANCE:
            raise Refused(
                f"the probabilities of {table.words(source)} sum to {shown(total)}, "
                f"not to 1 within {shown(ROW_TOLERANCE)}"
            )
        worst = max(worst, abs(total - 1))
    findings.row("rows sum to 1", f"{len(kernel)} rows, largest error {shown(worst)}")
    for source, row in zip(table.sources, kernel, strict=True):
        for to_x, to_y in row:
            if problem.cost(source, to_x, to_y) is None:
                words, to = table.words(source), table.cell_words(to_x, to_y)
                raise Refused(f"the mapping turns {words} into {to}, which the statement forbids")
    findings.row("moves allowed", f"all {sum(map(len, kernel))}")
    if problem.blind:
        for first, *others in table.by_cell.values():
            for other in others:
                one, row = kernel[first], kernel[other]
                if any(abs(one.get(to, ZERO) - row.get(to, ZERO)) > ROW_TOLERANCE for to in {*one, *row}):
                    words = table.words(table.sources[other])
                    raise Refused(f"the mapping should not depend on protected columns, but it does at {words}")
        findings.row("independent of protected columns", "yes")
    if problem.conditional is not None:
        check_conditional(problem, problem.conditional, kernel)
        findings.row("outcome drawn from the stated p(ŷ|x̂)", "yes")
    elif problem.suppressed:
        check_conditional(problem, released_conditional(kernel, problem), kernel)
        findings.row("outcome drawn given x̂ alone", "yes")


def check_conditional(problem: Problem, conditional: dict[Codes, tuple[Fraction, ...]], kernel: Kernel) -> None:
    """Check that P(x̂,ŷ|d,x,y) = q(ŷ|x̂) P(x̂|d,x,y)."""
    for source, row in zip(problem.table.sources, kernel, strict=True):
        for to_x, total in _totals((to_x, probability) for (to_x, _), probability in row.items()).items():
            if to_x not in conditional:
                raise Refused(f"statement.conditional says nothing of {named(problem.table.features, to_x)}")
            for to_y, share in enumerate(conditional[to_x]):
                if abs(row.get((to_x, to_y), ZERO) - share * total) > ROW_TOLERANCE:
                    words = problem.table.words(source)
                    raise Refused(f"the released outcome of {words} does not follow statement.conditional")


def released_conditional(kernel: Kernel, problem: Problem) -> dict[Codes, tuple[Fraction, ...]]:
    """Return p(ŷ|x̂) as the mapping releases it."""
    size = len(problem.table.outcome.levels)
    joint: dict[Codes, list[Fraction]] = {}
    for source, row in zip(problem.table.sources, kernel, strict=True):
        for (to_x, to_y), probability in row.items():
            joint.setdefault(to_x, [ZERO] * size)[to_y] += source.mass * probability
    return {x: tuple(mass / sum(masses) for mass in masses) for x, masses in joint.items()}


def parity_excesses(problem: Problem, kernel: Kernel, parity: Parity) -> Iterator[tuple[Bound, Interval | None]]:
    """Yield every bound with J − ε; None where it is infinite."""
    populations, size = Populations(problem, parity), len(problem.table.outcome.levels)
    spreads: dict[Population, dict[tuple[Codes, int], Fraction]] = {}

    def rates(population: Population) -> dict[tuple[Codes, int], Fraction]:
        """Return p(ŷ | population), p(b̂, ŷ | population) for parity within released segments, or p(x̂ | population)."""
        if population not in spreads:
            spreads[population] = _totals(
                (parity.value(to_x, to_y), share * probability)
                for source, share in population.shares
                for (to_x, to_y), probability in kernel[source].items()
            )
        return spreads[population]

    for bound in parity.bounds:
        found = rates(populations.of(bound))
        if parity.features is not None:
            other = rates(populations.against(bound))
            more = (found.get(value, ZERO) - other.get(value, ZERO) for value in {*found, *other})
            yield bound, exactly(sum((each for each in more if each > 0), start=ZERO) - bound.bound)
            continue
        segment = bound.segment if parity.released else ()
        event = [(segment, outcome) for outcome in parity.event(bound, size)]
        outcomes = parity.event(bound, size)
        p = sum((found.get(value, ZERO) for value in event), start=populations.of(bound).added(outcomes))
        q = bound.target
        if q is None:
            against = populations.against(bound)
            other = rates(against)
            q = sum((other.get(value, ZERO) for value in event), start=against.added(outcomes))
        if parity.released:
            within = sum((mass for (b, _), mass in found.items() if b == segment), start=ZERO)
            if not within:
                continue  # nobody of the group is released into the segment: 0/0 meets every bound
            p /= within
        yield bound, parity.beyond(p, q, bound)


Comparison: TypeAlias = tuple[Codes, Codes, "Codes | None", int]
"""A segment, a group, whom it is held against (None for a target or the rest), and an outcome."""


class Kind(NamedTuple):
    """One way of comparing: whom, within what, with whom, and what of them."""

    on: Codes
    given: Codes
    released: bool
    with_whom: str
    cumulative: bool
    features: Codes | None
    scored: bool

    def words(self, table: Table) -> str:
        """Name it."""
        columns = [*table.features, table.outcome]
        within = ", ".join(columns[i].name for i in self.given)
        said = f"{', '.join(table.protected[i].name for i in self.on) or 'everybody'} with {self.with_whom}"
        said += f" within {within}" if within else ""
        if self.features is not None:
            said += f" by released {', '.join(columns[i].name for i in self.features)}"
        said += ", outcomes from a level on" * self.cumulative
        return said + ", as scored without the protected columns" * self.scored


def coverage(problem: Problem) -> Iterator[tuple[str, int, int]]:
    """Yield for every way of comparing how many comparisons are bounded, each counted once, and how many there are.

    There are those of every group in every segment that has records, for each outcome: with a target or the rest, or
    with every other group of the segment, in both orders. Those left out are bounded by nothing; a bound on what is
    none of them, or one without any line, covers nothing.
    """
    kinds: dict[Kind, set[Comparison]] = {}
    for parity in problem.parity:
        for bound in parity.bounds:
            with_whom = (
                "a target" if bound.target is not None else "the rest" if bound.against is None else "each other"
            )
            kind = Kind(
                parity.on, parity.given, parity.released, with_whom, parity.cumulative, parity.features, parity.scored
            )
            covered = kinds.setdefault(kind, set())
            if parity.measure != "lines" or parity.given_lines:
                covered.add((bound.segment, bound.group, bound.against, bound.outcome))
                if parity.features is not None and bound.against is not None:
                    # What is true of two groups' features is true in the other order.
                    covered.add((bound.segment, bound.against, bound.group, bound.outcome))
    for kind, covered in kinds.items():
        there = set(_comparisons(problem.table, kind))
        yield kind.words(problem.table), len(covered & there), len(there)


def _comparisons(table: Table, kind: Kind) -> Iterator[Comparison]:
    """Yield what can be compared in one way."""
    groups: dict[Codes, set[Codes]] = {}
    for source in table.sources:
        segment = tuple((*source.x, source.y)[i] for i in kind.given)
        groups.setdefault(segment, set()).add(tuple(source.d[i] for i in kind.on))
    everybody = set().union(*groups.values())
    size = len(table.outcome.levels)
    # At least the lowest outcome is what everybody has.
    outcomes = range(1) if kind.features is not None else range(1 if kind.cumulative else 0, size)
    for segment, found in groups.items():
        # Anybody may be released into any segment.
        own = everybody if kind.released else found
        for group, outcome in itertools.product(own, outcomes):
            if kind.with_whom == "each other":
                yield from ((segment, group, other, outcome) for other in own if other != group)
            elif kind.with_whom == "a target" or len(own) > 1:
                yield segment, group, None, outcome


def budget_excesses(problem: Problem, kernel: Kernel, budget: Budget) -> Iterator[Fraction]:
    """Yield E − c for every holder."""
    for holder, limit in zip(budget.holders, budget.limits, strict=True):
        expected = ZERO
        for index, weight in holder:
            source = problem.table.sources[index]
            for (to_x, to_y), probability in kernel[index].items():
                cost = problem.distortion.cost(source.x, source.y, to_x, to_y)
                if cost:
                    expected += weight * probability * budget.charge(cost)
        yield expected - limit


def released_distribution(problem: Problem, kernel: Kernel) -> dict[Cell, Fraction]:
    """Return r, on (x̂, ŷ) or on x̂."""
    return _totals(
        (problem.cell(to_x, to_y), source.mass * probability)
        for source, row in zip(problem.table.sources, kernel, strict=True)
        for (to_x, to_y), probability in row.items()
    )


# ---------------------------------------------------------------------------------------------------------------
# Utility: Δ, and the infimum of Δ(r) − λ·r
# ---------------------------------------------------------------------------------------------------------------

Released: TypeAlias = dict[Cell, Fraction]
HALF = Fraction(1, 2)


def l1(p: Released, r: Released, scale: Fraction = ONE) -> Interval:
    """Return scale · Σ |r − p|."""
    return exactly(scale * sum((abs(r.get(cell, ZERO) - p.get(cell, ZERO)) for cell in {*p, *r}), start=ZERO))


def l1_infimum(p: Released, price: Released, scale: Fraction = ONE) -> Interval | None:
    """Return inf of scale·Σ|r − p| − λ·r: λ ≤ scale, and Σ p·min(−λ, scale)."""
    if any(value > scale for value in price.values()):
        return None
    return exactly(sum((mass * min(-price.get(cell, ZERO), scale) for cell, mass in p.items()), start=ZERO))


def kl(p: Released, r: Released) -> Interval:
    """Enclose Σ p log(p/r)."""
    total = exactly(0)
    for cell, mass in p.items():
        if cell not in r:
            raise Refused("the mapping empties a cell of the table, so its KL divergence is infinite")
        total = total.plus(log(mass / r[cell]).times(mass))
    return total


def kl_infimum(p: Released, price: Released) -> Interval | None:
    """Enclose inf of Σ p log(p/r) − λ·r: λ < 0 where p > 0, λ ≤ 0 elsewhere, and Σ p (log(−λ) + 1)."""
    if any(value > 0 for value in price.values()) or any(price.get(cell, ZERO) == 0 for cell in p):
        return None
    total = exactly(0)
    for cell, mass in p.items():
        total = total.plus(log(-price[cell]).plus(exactly(1)).times(mass))
    return total


@dataclass(frozen=True)
class Utility:
    """A measure Δ that can be recomputed; ``infimum`` is None where it is −∞."""

    value: Callable[[Released, Released], Interval]
    infimum: Callable[[Released, Released], Interval | None]


UTILITIES = {
    "L1": Utility(l1, l1_infimum),
    "TotalVariation": Utility(lambda p, r: l1(p, r, HALF), lambda p, price: l1_infimum(p, price, HALF)),
    "KL": Utility(kl, kl_infimum),
}


# ---------------------------------------------------------------------------------------------------------------
# Weak duality: what any prices prove
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The prices λ, μ (parity, bound, line) and η (budget, holder).

    ``events`` says of bounds on features (parity, bound) with which share, 0 to 1, each value is in the set that the
    price is about: the difference between the shares of any such set is within the bound.
    """

    released: Released
    parity: dict[tuple[int, int, int], Fraction]
    budgets: dict[tuple[int, int], Fraction]
    events: dict[tuple[int, int, Codes], Fraction]


def read_multipliers(value: Any, problem: Problem) -> Multipliers:
    """Read the prices; those left out are zero."""
    found = _fields(value, "multipliers", (), ("released", "parity", "budgets", "events"))
    size = len(problem.table.outcome.levels)

    def cell(where: str, x: Any, y: Any) -> Cell:
        codes = _codes(x, where, problem.table.features)
        if problem.on_x and y is not None:
            raise Refused(f"{where} must have null for an outcome, as the utility is measured on x")
        return codes, None if problem.on_x else _code(y, where, size)

    def line(where: str, i: Any, j: Any, k: Any) -> tuple[int, int, int]:
        parity = problem.parity[_code(i, where, len(problem.parity))]
        return i, _code(j, where, len(parity.bounds)), _code(k, where, parity.n_lines)

    def holder(where: str, i: Any, j: Any) -> tuple[int, int]:
        budget = problem.budgets[_code(i, where, len(problem.budgets))]
        return i, _code(j, where, len(budget.limits))

    def released_value(where: str, i: Any, j: Any, codes: Any) -> tuple[int, int, Codes]:
        parity = problem.parity[_code(i, where, len(problem.parity))]
        if parity.features is None:
            raise Refused(f"{where} is about bounds on features, and parity {parity.name!r} has none")
        columns = [problem.table.features[k] for k in parity.features]
        return i, _code(j, where, len(parity.bounds)), _codes(codes, where, columns)

    events = _prices(found, "events", 3, "value", released_value, ZERO)
    if any(share > 1 for share in events.values()):
        raise Refused("multipliers.events takes a value into a set more than once")
    return Multipliers(
        _prices(found, "released", 2, "cell", cell, None),
        _prices(found, "parity", 3, "line", line, ZERO),
        _prices(found, "budgets", 2, "holder", holder, ZERO),
        events,
    )


def _prices(
    found: dict[str, Any], name: str, size: int, what: str, read_key: Callable[..., Key], low: Fraction | None
) -> dict[Key, Fraction]:
    """Read rows of ``size`` entries that say what is priced, and its price."""
    where = f"multipliers.{name}"
    prices: dict[Key, Fraction] = {}
    for row in _entries(found.get(name, []), where):
        *key, price = _entries(row, where, size + 1)
        place = read_key(where, *key)
        if place in prices:
            raise Refused(f"{where} names a {what} twice")
        prices[place] = _number(price, where, low)
    return prices


Charges: TypeAlias = tuple[Parity, Fraction, dict[tuple[Codes, int], Fraction]]
"""A parity, a source's share of a population, and what the population is charged by value of what is released."""


@dataclass(eq=False)
class Tariff:
    """What the constraints charge a source: by outcome, by what else is released, and for distortion.

    A charge by what is released is that of a population, of which the source pays its share. ``right`` is
    Σ μ·c + Σ η·limit.
    """

    outcome: list[dict[int, Fraction]]
    released: list[list[Charges]]
    distortion: list[dict[int, Fraction]]
    right: Fraction = ZERO


def make_tariff(problem: Problem, multipliers: Multipliers) -> Tariff:
    """Turn the prices of constraints into the prices of moves."""
    sources = problem.table.sources
    tariff = Tariff([{} for _ in sources], [[] for _ in sources], [{} for _ in sources])
    for index, parity in enumerate(problem.parity):
        _charge_parity(tariff, problem, parity, index, multipliers)
    for (i, j), price in multipliers.budgets.items():
        budget = problem.budgets[i]
        tariff.right += price * budget.limits[j]
        for source, weight in budget.holders[j]:
            charges = tariff.distortion[source]
            charges[i] = charges.get(i, ZERO) + price * weight
    return tariff


def _charge_parity(tariff: Tariff, problem: Problem, parity: Parity, index: int, multipliers: Multipliers) -> None:
    populations, size = Populations(problem, parity), len(problem.table.outcome.levels)
    charged: dict[Population, dict[tuple[Codes, int], Fraction]] = {}

    def add(population: Population, segment: Codes, outcome: int, amount: Fraction) -> None:
        charges = charged.setdefault(population, {})
        charges[segment, outcome] = charges.get((segment, outcome), ZERO) + amount

    events: dict[int, list[tuple[Codes, Fraction]]] = {}
    for (i, j, codes), share in multipliers.events.items():
        if i == index:
            events.setdefault(j, []).append((codes, share))
    for (i, j, k), price in multipliers.parity.items():
        if i != index or not price:
            continue
        bound = parity.bounds[j]
        a, b, c = parity.held(bound)[k]
        population = populations.of(bound)
        segment = bound.segment if parity.released else ()
        outcomes = parity.event(bound, size)
        event = [(segment, outcome, ONE) for outcome in outcomes]
        if parity.features is not None:
            event = [(codes, 0, share) for codes, share in events.get(j, ())]
        for codes, outcome, share in event:
            add(population, codes, outcome, price * a * share)
            if bound.target is None:
                add(populations.against(bound), codes, outcome, price * b * share)
        # What is added to a rate is charged whatever is released.
        tariff.right -= price * a * population.added(outcomes)
        if bound.target is None:
            tariff.right += price * (c - b * populations.against(bound).added(outcomes))
        elif parity.released:
            # a·p(ŷ,b̂|d) + (b·target − c)·p(b̂|d) ≤ 0, the second rate being the sum over all outcomes
            for outcome in range(size):
                add(population, segment, outcome, price * (b * bound.target - c))
        else:
            tariff.right += price * (c - b * bound.target)
    # Each source of a population is charged its share.
    for population, charges in charged.items():
        for source, share in population.shares:
            if parity.released or parity.features is not None:
                tariff.released[source].append((parity, share, charges))
                continue
            by_outcome = tariff.outcome[source]
            for (_, outcome), amount in charges.items():
                by_outcome[outcome] = by_outcome.get(outcome, ZERO) + share * amount


@dataclass(frozen=True, eq=False)
class Buyer:
    """Sources that choose together, and their prices added up."""

    problem: Problem
    mass: Fraction
    outcome: dict[int, Fraction]
    charges: list[Charges]
    distortion: list[tuple[Budget, Fraction]]
    released: Released

    def price(self, to_x: Codes, to_y: int, cost: Fraction) -> Fraction:
        """Return the price of one move."""
        total = self.outcome.get(to_y, ZERO)
        worth = self.released.get(self.problem.cell(to_x, to_y))
        if worth:
            total += self.mass * worth
        for budget, amount in self.distortion:
            if cost:
                total += amount * budget.charge(cost)
        for parity, share, charges in self.charges:
            total += share * charges.get(parity.value(to_x, to_y), ZERO)
        return total

    def cheapest(self, moves: list[tuple[Codes, dict[int, Fraction]]]) -> Fraction | None:
        """Return the least price of a choice; None where there is no choice."""
        conditional = self.problem.conditional
        if conditional is None:
            return min((self.price(x, y, cost) for x, costs in moves for y, cost in costs.items()), default=None)
        # The outcome of an x̂ is drawn.
        lotteries = (
            sum((share * self.price(x, y, costs[y]) for y, share in enumerate(conditional[x]) if share), start=ZERO)
            for x, costs in moves
        )
        return min(lotteries, default=None)


def priced(problem: Problem, multipliers: Multipliers) -> Fraction | None:
    """Return Σ of the cheapest choices − Σ μ·c − Σ η·limit; None (+∞) where some record has no allowed move."""
    tariff = make_tariff(problem, multipliers)
    total = -tariff.right
    for x, y in problem.table.by_cell:
        moves: list[tuple[Codes, dict[int, Fraction]]] | None = None
        for sources in problem.owners(x, y):
            # They are the same for all of one (x, y), unless a forbidden record depends on d.
            if moves is None or problem.forbidden:
                moves = list(problem.moves(problem.table.sources[sources[0]]))
            by_outcome = _totals(charge for source in sources for charge in tariff.outcome[source].items())
            by_budget = _totals(charge for source in sources for charge in tariff.distortion[source].items())
            charges = [charge for source in sources for charge in tariff.released[source]]
            mass = sum((problem.table.sources[source].mass for source in sources), start=ZERO)
            on_budgets = [(problem.budgets[i], amount) for i, amount in by_budget.items() if amount]
            least = Buyer(problem, mass, by_outcome, charges, on_budgets, multipliers.released).cheapest(moves)
            if least is None:
                return None
            total += least
    return total


# ---------------------------------------------------------------------------------------------------------------
# The judgement
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What was found: whether the proof stands, else the reason; what was recomputed beside what was claimed."""

    stands: bool
    reason: str
    rows: tuple[tuple[str, str, str], ...] = ()
    sentences: tuple[str, ...] = ()
    verdict: str = "EVERYTHING STANDS."

    def text(self) -> str:
        """Write the report for people."""
        lines = [*self.sentences[:1], ""]
        if self.rows:
            table = (("checked", "recomputed", "claimed"), *self.rows)
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        lines += ["", *self.sentences[1:]]
        lines.append(self.verdict if self.stands else f"REFUSED: {self.reason}.")
        # A name in the file must not be able to write to the auditor's terminal anything but itself.
        printable = ("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) for line in lines)
        return "\n".join(printable).strip()


@dataclass
class Findings:
    """A report in the making."""

    rows: list[tuple[str, str, str]] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    verdict: str = "EVERYTHING STANDS."

    def row(self, what: str, recomputed: str, claimed: str = "") -> None:
        """Note one check."""
        self.rows.append((what, recomputed, claimed))

    def report(self, reason: str = "") -> Report:
        """Close the report; a reason refuses."""
        return Report(not reason, reason, tuple(self.rows), tuple(self.sentences), self.verdict)


def verify(path: str | Path) -> Report:
    """Re-check a proof file; never raises because of what the file holds."""
    findings = Findings()
    try:
        judge(read(path), findings)
    except Refused as refusal:
        return findings.report(str(refusal))
    except RecursionError:
        return findings.report("the file is nested too deeply to be a proof")
    return findings.report()


def judge(document: dict[str, Any], findings: Findings) -> None:
    """Check a document that was read; raise :class:`Refused` where it does not stand."""
    _fields(document, "the document", ("format", "version", "kind", "sha256"), None)
    if document["format"] != FORMAT or type(document["version"]) is not int or document["version"] != VERSION:
        raise Refused(f"the document is not of format {FORMAT!r}, version {VERSION}")
    kind = _text(document["kind"], "kind", ("mapping", "infeasible"))
    findings.sentences.append(f"An evenhand proof, kind {kind!r}.")
    try:
        found = digest(document)
    except UnicodeEncodeError as error:
        raise Refused("the file holds text that is no Unicode") from error
    claimed = _text(document["sha256"], "sha256")
    findings.row("digest (SHA-256)", found[:16] + "…", claimed[:16] + "…" if len(claimed) > 16 else claimed)
    if found != claimed:
        raise Refused("the digest does not match: the file was changed after it was written")
    needed = ["columns", "counts", "statement", "claims", *(["kernel"] if kind == "mapping" else ["multipliers"])]
    _fields(document, "the document", needed, None)
    problem = read_problem(document)
    table = problem.table
    names = [", ".join(column.name for column in columns) or "none" for columns in (table.protected, table.features)]
    findings.sentences[0] = (
        f"An evenhand proof, kind {kind!r}: a total weight of {shown(table.records)} in {len(table.sources)} kinds of "
        f"records; protected: {names[0]}; features: {names[1]}; outcome: {table.outcome.name}."
    )
    multipliers = read_multipliers(document.get("multipliers", {}), problem)
    (_judge_mapping if kind == "mapping" else _judge_infeasible)(document, problem, multipliers, findings)


# A mapping


def _judge_mapping(document: dict[str, Any], problem: Problem, multipliers: Multipliers, findings: Findings) -> None:
    names = ("status", "objective", "lower_bound", "gap", "max_violation")
    claims = _fields(document["claims"], "claims", names, None)
    status = _text(claims["status"], "claims.status", STATUSES)
    kernel = read_kernel(document["kernel"], problem)
    check_kernel(problem, kernel, findings)
    violation = _check_violation(problem, kernel, _number(claims["max_violation"], "claims.max_violation"), findings)
    objective = _number(claims["objective"], "claims.objective")
    what = f"objective ({problem.measure} on {'x' if problem.on_x else 'x, y'})"
    if problem.measure not in UTILITIES:
        findings.row(what, "not recomputed", shown(objective))
    else:
        found = UTILITIES[problem.measure].value(problem.original, released_distribution(problem, kernel))
        findings.row(what, shown(found.low), shown(objective))
        if found.distance(objective) > CLAIM_TOLERANCE:
            raise Refused(f"the objective is {shown(found.low)}, not {shown(objective)} as claimed")
    proven, gap = None, None
    if claims["lower_bound"] is not None:
        bound = _number(claims["lower_bound"], "claims.lower_bound")
        proven = _check_lower_bound(problem, multipliers, bound, findings)
        gap = _number(claims["gap"], "claims.gap")
        findings.row("gap (objective − lower bound)", shown(objective - bound), shown(gap))
        if abs(objective - bound - gap) > CLAIM_TOLERANCE:
            raise Refused(f"the gap is {shown(objective - bound)}, not {shown(gap)} as claimed")
    elif claims["gap"] is not None:
        raise Refused("a gap is claimed, but no lower bound")
    findings.row("status", "", status)
    if status == "optimal" and (gap is None or gap > OPTIMAL_GAP):
        raise Refused(f"the status is 'optimal', which needs a gap of at most {shown(OPTIMAL_GAP)}")
    if status == "optimal" and violation.high > OPTIMAL_VIOLATION:
        raise Refused(f"the status is 'optimal', which needs violations of at most {shown(OPTIMAL_VIOLATION)}")
    say = findings.sentences.append
    say("The mapping is a probability distribution for every kind of record, makes allowed moves only, and meets")
    say("every bound of the statement up to the largest violation above, in the units of that bound.")
    if problem.measure not in UTILITIES:
        say(f"The measure {problem.measure!r} is not one that this script recomputes ({', '.join(UTILITIES)} are): the")
        say("objective, the lower bound and the status are the writer's word. Only feasibility was checked.")
        findings.verdict = "FEASIBILITY STANDS; how good the mapping is was not checked."
    elif proven is None:
        say("No lower bound is claimed: whether a better mapping exists is left open.")
    else:
        say(f"No mapping that meets every bound has an objective below {shown(proven)}.")
    say(SCOPE)


def _check_violation(problem: Problem, kernel: Kernel, claimed: Fraction, findings: Findings) -> Interval:
    table, found = problem.table, [exactly(0)]
    for parity in problem.parity:
        excesses = []
        for bound, excess in parity_excesses(problem, kernel, parity):
            if excess is None:
                words = bound_words(table, parity, bound)
                raise Refused(
                    f"parity {parity.name!r} is violated without limit, one of the rates being zero ({words})"
                )
            excesses.append(excess)
        least = "" if parity.measure == "lines" else f" ≤ {_range([bound.bound for bound in parity.bounds])}"
        on = ", ".join(table.protected[i].name for i in parity.on) or "everybody"
        given = ", ".join((*table.features, table.outcome)[i].name for i in parity.given)
        within = f" within {'released ' if parity.released else ''}{given}" if given else ""
        # A bound that is stated twice is one bound.
        measure = parity.measure if parity.features is None else "total variation"
        number = len(set(parity.bounds))
        bounds = "one bound" if number == 1 else f"{number} bounds"
        off = max((max(bound.above, bound.below) for bound in parity.bounds), default=ZERO)
        margins = f" with margins up to {shown(off)}" if off else ""
        what = f"parity {parity.name!r} by {on}{within}: {measure}{least}{margins}, {bounds}"
        findings.row(what, f"largest J − ε = {shown(_highest(excesses).high)}" if excesses else "nothing bounded")
        found += excesses
    for words, covered, there in coverage(problem):
        findings.row(f"comparisons covered, {words}", f"{covered} of {there}")
    for budget in problem.budgets:
        largest = max(budget_excesses(problem, kernel, budget), default=None)
        of = len(table.sources if budget.per == "individual" else table.by_cell)
        what = f"budget: {budget.words} ≤ {_range(budget.limits)}, {len(set(budget.holders))} of {of} ({budget.per})"
        findings.row(what, "nothing bounded" if largest is None else f"largest E − c = {shown(largest)}")
        found.append(exactly(largest or 0))
    worst = _highest(found)
    findings.row("largest violation", shown(worst.high), shown(claimed))
    if worst.high > WORST_VIOLATION:
        raise Refused(f"a bound is exceeded by {shown(worst.high)}, more than {shown(WORST_VIOLATION)}")
    # The writer added up in floating point, whose last digits are as large as what is added.
    stated = [bound.bound for parity in problem.parity for bound in parity.bounds]
    scale = max([ONE, *stated, *(limit for budget in problem.budgets for limit in budget.limits)])
    if worst.distance(claimed) > VIOLATION_CLAIM_TOLERANCE * scale:
        raise Refused(f"the largest violation is {shown(worst.high)}, not {shown(claimed)} as claimed")
    return worst


def _range(values: Sequence[Fraction]) -> str:
    if not values:
        return "nothing"
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f"{low} to {high}"


def _highest(values: Sequence[Interval]) -> Interval:
    return Interval(max(v.low for v in values), max(v.high for v in values))


def _check_lower_bound(
    problem: Problem, multipliers: Multipliers, claimed: Fraction, findings: Findings
) -> Fraction | None:
    """Return what is proven, zero at least since Δ is never negative; None where the measure is not recomputed."""
    if problem.measure not in UTILITIES:
        findings.row("lower bound", "not recomputed", shown(claimed))
        return None
    proven = lower_bound(problem, multipliers)
    findings.row("lower bound", "−∞" if proven is None else shown(proven), shown(claimed))
    if claimed > CLAIM_TOLERANCE and proven is None:
        raise Refused("the multipliers on the released distribution prove nothing: with them the bound is −∞")
    best = max(ZERO, proven or ZERO)
    if claimed > best + CLAIM_TOLERANCE:
        raise Refused(f"the multipliers prove a lower bound of {shown(best)}, not of {shown(claimed)} as claimed")
    return best


def lower_bound(problem: Problem, multipliers: Multipliers) -> Fraction | None:
    """Return what the multipliers prove: no mapping that meets the bounds has a smaller Δ. None: nothing."""
    infimum = UTILITIES[problem.measure].infimum(problem.original, multipliers.released)
    choices = priced(problem, multipliers)
    return None if infimum is None or choices is None else infimum.low + choices


# Infeasibility


def _judge_infeasible(document: dict[str, Any], problem: Problem, multipliers: Multipliers, findings: Findings) -> None:
    claims = _fields(document["claims"], "claims", ("infeasibility",), None)
    if multipliers.released:
        raise Refused("a proof of infeasibility has no multipliers on the released distribution")
    claimed = None if claims["infeasibility"] is None else _number(claims["infeasibility"], "claims.infeasibility")
    found = priced(problem, multipliers)
    words = "∞" if found is None else shown(found)
    findings.row("infeasibility", words, "none" if claimed is None else shown(claimed))
    if found is not None and found <= 0:
        raise Refused(f"the multipliers prove nothing: their sum is {words}, which is not positive")
    if (found is None) != (claimed is None):
        raise Refused(f"the infeasibility is {words}, not {'null' if claimed is None else shown(claimed)} as claimed")
    if found is not None and claimed is not None and not 0 < claimed <= (1 + INFEASIBILITY_TOLERANCE) * found:
        raise Refused(f"the infeasibility is {words}, not {shown(claimed)} as claimed")
    say = findings.sentences.append
    say("No mapping meets all the bounds of the statement.")
    if found is None:
        say("Some kind of record has no allowed move at all, not even to stay as it is.")
    else:
        table = problem.table
        lines = []
        for (i, j, _), price in multipliers.parity.items():
            parity = problem.parity[i]
            if price:
                words = bound_words(table, parity, parity.bounds[j])
                lines.append(f"  parity {parity.name!r}: {words}  [{shown(price)}]")
        for (i, j), price in multipliers.budgets.items():
            budget = problem.budgets[i]
            source = table.sources[budget.holders[j][0][0]]
            average = f"{table.cell_words(source.x, source.y)} (average over groups)"
            words = table.words(source) if budget.per == "individual" else average
            if price:
                lines.append(f"  {budget.words} ≤ {shown(budget.limits[j])} for {words}  [{shown(price)}]")
        hidden = len(lines) - MOST_LISTED
        say("With the moves that are allowed, these cannot hold together (multiplier in brackets):")
        findings.sentences += lines[:MOST_LISTED] + ([f"  and {hidden} more"] if hidden > 0 else [])
    say(SCOPE)


# ---------------------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command: 0 if everything stands, 1 if the proof is refused, 2 for a wrong command."""
    parser = argparse.ArgumentParser(
        prog="verifier.py", description="Re-check a proof file written by evenhand, in exact arithmetic."
    )
    parser.add_argument("file", type=Path, help="the proof file (JSON)")
    try:
        path = parser.parse_args(argv).file
        if not path.is_file():
            parser.error(f"there is no file {path}")
    except SystemExit as leaving:
        return int(leaving.code or 0)
    report = verify(path)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    sys.stdout.write(report.text() + "\n")
    return 0 if report.stands else 1


if __name__ == "__main__":
    sys.exit(main())
