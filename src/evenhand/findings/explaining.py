"""One person under a mapping: what may become of them and how likely, which limits bind, and why two people differ.

All of it from the person's levels, the kernel's row and what was achieved of every bound; nothing is drawn here. Which
row of which file a person is, and what was drawn for them there, others find out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Flags
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable, in_words
from evenhand.data.levels import UNSEEN
from evenhand.findings.bounds import Furthest, comparison
from evenhand.findings.document import MOST_TOLD, plain
from evenhand.findings.theory.applying import applying
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.spec import AGAINST_TARGET, Problem
from evenhand.spec.by import fields_of, numbers_at
from evenhand.tables import Placed
from evenhand.tables.transforming import Transformer
from evenhand.tolerances import AT_BOUND, SAME_PROBABILITY

if TYPE_CHECKING:
    import pandas as pd

NEVER = "a new or missing value"


def chance(probability: float) -> str:
    """Write a probability for people to read.

    Examples
    --------
    >>> chance(0.2034), chance(0.0001), chance(0.0), chance(0.99999)
    ('20.3%', 'under 0.1%', '0%', 'over 99.9%')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0%}"
    if probability < 0.001:
        return "under 0.1%"
    return "over 99.9%" if probability > 0.999 else f"{probability:.1%}"


@dataclass(frozen=True)
class Change:
    """A column that becomes another level."""

    column: str
    before: str
    after: str

    @property
    def words(self) -> str:
        return f"{self.column} becomes {self.after} instead of {self.before}"


@dataclass(frozen=True)
class Result:
    """One result that a person may have: what changes, and how likely it is; without a change they stay as they are."""

    changes: tuple[Change, ...]
    probability: float

    @property
    def words(self) -> str:
        return ", and ".join(change.words for change in self.changes) or "they stay as they are"


@dataclass(frozen=True)
class Limit:
    """A budget of the person: what it charges, what is expected of them, and what is allowed; None where nothing is."""

    charge: str
    expected: float
    allowed: float | None
    shared: bool = False

    @property
    def binds(self) -> bool:
        """Whether all of it is used."""
        return self.allowed is not None and self.expected >= self.allowed - AT_BOUND

    @property
    def words(self) -> str:
        """The same in words."""
        whose = "of everybody with their features and outcome, over all groups, " if self.shared else ""
        if self.allowed is None or np.isinf(self.allowed):
            return f"their {self.charge} {whose}is {self.expected:.4g}; nothing limits it"
        if self.binds:
            return f"their {self.charge} {whose}is {self.expected:.4g}, all that their budget allows: this limit binds"
        return f"their {self.charge} {whose}is {self.expected:.4g} of the {self.allowed:.4g} that is allowed"


@dataclass(frozen=True)
class Bound:
    """The parity bound that the person's group is nearest to, of one constraint."""

    constraint: str
    nearest: Furthest
    bound: float
    tight: int
    number: int
    stated: str

    @property
    def words(self) -> str:
        """The same in words."""
        where = self.nearest.held
        if not self.tight:
            return f"the constraint on their group ({self.stated}) is slack; nearest: {where}"
        if self.number == 1:
            return f"the constraint on their group ({self.stated}) is binding: {where}"
        binding = f"binding in {self.tight} of {self.number} comparisons"
        return f"the constraint on their group ({self.stated}) is {binding}: {where}"


@dataclass(frozen=True)
class Drawn:
    """What was drawn for the person in one release: in which file and row, and which of the possible results it is."""

    file: str
    row: int
    how: str
    result: Result | None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The same in words."""
        where = f"in row {self.row:,} of {self.file} ({self.how})"
        if self.result is None:
            return f"{where} they are {in_words(self.values)}"
        how_likely = f"which had a probability of {chance(self.result.probability)}"
        if not self.result.changes:
            return f"{where} they stayed as they were, {how_likely}"
        became = ", and ".join(
            f"{each.column} became {each.after} instead of {each.before}" for each in self.result.changes
        )
        return f"{where} {became}, {how_likely}"


@dataclass(frozen=True, eq=False)
class Unlike:
    """Why two people differ under a mapping.

    Attributes
    ----------
    fields : tuple of dict
        The columns in which they are of different levels: ``column``, its ``role``, the level of each, and by how much
        what may be changed about the first would differ if they had the other's level there alone (``alone``: total
        variation, 0 if nothing would, 1 if everything).
    apart : float
        The total variation between what may be changed about the two, that is, which columns become what: 0 where all
        changes are equally likely.
    words : tuple of str
        The same in sentences.
    """

    fields: tuple[dict[str, Any], ...]
    apart: float
    words: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What a mapping does with one person.

    Attributes
    ----------
    mode : {"release", "apply"}
        In which mode.
    levels : dict
        The person's level in every column that is read; of learned cells the rule of the leaf.
    known : {"fitted", "typical", "kept"}
        Whether fitted people are in the same cell, or what becomes of somebody in a cell that nobody had.
    people : int
        How many fitted people are in the same cell.
    results : tuple of Result
        Everything that may become of them, the likeliest first.
    limits : tuple of Limit
        Their budgets.
    bounds : tuple of Bound
        For each parity constraint, the bound that their group is nearest to.
    words : tuple of str
        All of it in sentences.
    unlike : Unlike or None
        Why they differ from another person, if one was named.
    drawn : Drawn or None
        What was drawn for them in one release, if one was named.
    """

    mode: str
    levels: dict[str, str]
    known: str
    people: int
    results: tuple[Result, ...]
    limits: tuple[Limit, ...]
    bounds: tuple[Bound, ...]
    sentences: tuple[str, ...]
    unlike: Unlike | None = None
    drawn: Drawn | None = None

    @property
    def stays(self) -> float:
        return sum(result.probability for result in self.results if not result.changes)

    @property
    def words(self) -> tuple[str, ...]:
        """All of it in sentences."""
        drawn = () if self.drawn is None else (self.drawn.words,)
        return (*self.sentences, *drawn, *(() if self.unlike is None else self.unlike.words))

    @property
    def table(self) -> pd.DataFrame:
        """Every result that is possible, the likeliest first: what becomes of each column that may change."""
        changed = {change.column for result in self.results for change in result.changes}
        columns = [name for name in self.levels if name in changed]
        becomes = [{change.column: change.after for change in result.changes} for result in self.results]
        found: dict[str, Any] = {
            f"to_{name}": [each.get(name, self.levels.get(name)) for each in becomes] for name in columns
        }
        return tables.frame(found | {"probability": [result.probability for result in self.results]})

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return dict(plain({
            "mode": self.mode,
            "levels": self.levels,
            "known": self.known,
            "people": self.people,
            "stays": self.stays,
            "results": [
                {"changes": [vars(change) for change in result.changes], "probability": result.probability}
                for result in self.results
            ],
            "limits": [{**vars(limit), "binds": limit.binds} for limit in self.limits],
            "bounds": [
                {
                    "constraint": each.constraint, "nearest": each.nearest.rates, "apart": each.nearest.apart,
                    "bound": each.bound, "tight": each.tight, "of": each.number,
                }
                for each in self.bounds
            ],
            "drawn": None if self.drawn is None else {
                "file": self.drawn.file, "row": self.drawn.row, "how": self.drawn.how, "values": self.drawn.values,
                "probability": None if self.drawn.result is None else self.drawn.result.probability,
            },
            "unlike": None if self.unlike is None else vars(self.unlike),
            "words": self.words,
        }))  # fmt: skip

    def __repr__(self) -> str:
        return f"<Explanation in {self.mode} mode: stays with {chance(self.stays)}, {len(self.results)} results>"


@dataclass(frozen=True, eq=False)
class Explaining:
    """A mapping in one mode, from which people are explained."""

    problem: Problem
    counts: Counts
    achieved: Achieved
    mode: Transformer
    kernel: Kernel
    margins: bool = False

    def explain(self, person: Placed, other: Placed | None = None, drawn: Drawn | None = None) -> Explanation:
        """Explain one person, beside another."""
        results = self.results(person)
        known = "fitted" if person.sourced else "kept" if person.row is None else "typical"
        people, limits, bounds = self._people(person), tuple(self._limits(person)), tuple(self._bounds(person))
        found = Explanation(
            self.mode.name, self.shown(person), known, people, results, limits, bounds, (),
            unlike=None if other is None else self.unlike(person, other), drawn=drawn,
        )  # fmt: skip
        said = tuple(self._words(person, found))
        return Explanation(**{**vars(found), "sentences": said})

    def shown(self, person: Placed) -> dict[str, str]:
        """Return a person's level in every column that is read, as people read it."""
        return {
            variable.name: _shown(variable, level)
            for variable, level in zip(self.mode.read, person.levels, strict=True)
        }

    def results(self, person: Placed) -> tuple[Result, ...]:
        """Return everything that may become of a person, the likeliest first."""
        lookup = self.mode.lookup
        written, own = lookup.written, person.levels[lookup.first_written :]
        found = [
            Result(tuple(_changes(written, own, levels)), probability)
            for levels, probability in lookup.possible(person)
            if probability > 0
        ]
        return tuple(sorted(found, key=lambda result: -result.probability))

    def result_of(self, person: Placed, levels: Sequence[int]) -> Result | None:
        written, own = self.mode.lookup.written, person.levels[self.mode.lookup.first_written :]
        changes = tuple(_changes(written, own, levels))
        return next((each for each in self.results(person) if each.changes == changes), None)

    def unlike(self, one: Placed, other: Placed) -> Unlike:
        """Say why two people are changed differently."""
        apart = _apart(self.results(one), self.results(other))
        fields = []
        for place, variable in enumerate(self.mode.read):
            if one.levels[place] != other.levels[place]:
                mixed = list(one.levels)
                mixed[place] = other.levels[place]
                alone = _apart(self.results(one), self.results(self.mode.lookup.placed(mixed)))
                fields.append({
                    "column": variable.name, "role": self._role(variable), "one": _shown(variable, one.levels[place]),
                    "other": _shown(variable, other.levels[place]), "alone": alone,
                })  # fmt: skip
        said = tuple(self._why(one, other, fields, apart))
        return Unlike(tuple(fields), apart, said)

    def _why(self, one: Placed, other: Placed, fields: list[dict[str, Any]], apart: float) -> Iterator[str]:
        if not fields:
            yield (
                "the two are in the same cell, with the same probabilities in everything: where they became different, "
                "the draw alone made the difference"
            )
            return
        listed = ", ".join(
            f"{each['column']} ({each['role']}): {each['one']} against {each['other']}" for each in fields
        )
        yield f"the two differ in {listed}"
        if apart <= SAME_PROBABILITY:
            yield (
                "all the same, every change is as likely for the one as for the other: beside what they differ in "
                "already, the draw alone makes a difference"
            )
            return
        both = self.results(one), self.results(other)
        stay = [chance(sum(result.probability for result in each if not result.changes)) for each in both]
        yield f"the first stays as they are with {stay[0]}, the second with {stay[1]}; {_largest(*both)}"
        if len(fields) > 1:
            made = sorted(fields, key=lambda each: -each["alone"])
            told = [f"{each['column']} {chance(each['alone'])}" for each in made if each["alone"] > SAME_PROBABILITY]
            yield (
                f"with one field of the other alone, this much of what may be changed about the first would be "
                f"different: {', '.join(told) or 'nothing'}"
            )
        if not all(each.sourced for each in (one, other)):
            yield "nobody fitted was in the cell of " + (
                "both" if not (one.sourced or other.sourced) else "one of them"
            )

    def _role(self, variable: Variable) -> str:
        if variable in self.mode.domain.d.variables:
            return "another group"
        return "another outcome" if variable in self.mode.domain.y.variables else "another cell of the features"

    def _cell(self, person: Placed) -> int | None:
        """Return a person's (first) source among the fitted ones, whose bounds are theirs too; None where none is."""
        at = np.flatnonzero(self._like(person))
        return int(at[0]) if person.sourced and len(at) else None

    def _like(self, person: Placed, only: str = "dxy") -> Flags:
        """Return which sources have the person's levels, in all axes that are read or in some."""
        domain, found = self.counts.domain, np.ones(len(self.counts), dtype=bool)
        cells: dict[str, Cells] = {"d": self.counts.d, "x": self.counts.x, "y": self.counts.y}
        levels = dict(zip((v.name for v in self.mode.read), person.levels, strict=True))
        for name, axis in (("d", domain.d), ("x", domain.x), ("y", domain.y)):
            for variable, codes in zip(axis.variables, axis.unravel(cells[name]), strict=True):
                if name in only and variable.name in levels:
                    found &= codes == levels[variable.name]
        return found

    def _people(self, person: Placed) -> int:
        return int(self.counts.unweighted.weight[self._like(person)].sum()) if person.sourced else 0

    def _limits(self, person: Placed) -> Iterator[Limit]:
        if self.mode.name == "apply":
            yield from self._apply_limits(person)
            return
        source = self._cell(person)
        if source is not None:
            for part in self.achieved.budgets:
                at = int(part.charge.holders(self.counts)[source])
                allowed = float(part.limit[at])
                yield Limit(part.charge.words, float(part.value[at]), allowed, shared=part.charge.averaged)
        elif person.row is not None:
            yield from self._stranger_limits(person)

    def _apply_limits(self, person: Placed) -> Iterator[Limit]:
        """Return what the change of features is charged, on average over the outcomes that somebody may have."""
        if not person.sourced or self.problem.blind or not self.problem.charges:
            return
        found, before = applying(self.problem, self.counts, self.kernel).frame, self.counts.people_before_outcome
        place = int(before.of_source[np.flatnonzero(self._like(person, "dx"))[0]])
        for row in found.iloc[place :: len(before.cells)].to_dict("records"):
            allowed = None if np.isnan(row["bound"]) else float(row["bound"])
            charge = f"{row['charge']}, averaged over the outcomes that they may have,"
            yield Limit(charge, float(row["features_alone"]), allowed)

    def _stranger_limits(self, person: Placed) -> Iterator[Limit]:
        """Return the budgets of somebody in a cell that nobody had, who draws an outcome all the same."""
        domain = self.counts.domain
        levels = dict(zip((v.name for v in self.mode.read), person.levels, strict=True))
        cells = {
            axis: axis.ravel([np.array([levels[v.name]]) for v in axis.variables])
            for axis in (domain.d, domain.x, domain.y)
            if all(v.name in levels for v in axis.variables)
        }
        possible = self.mode.lookup.possible(person)
        outcomes, share = (np.array(each) for each in zip(*((to[-1], p) for to, p in possible), strict=True))
        x, y = (np.repeat(cells[axis], len(share)) for axis in (domain.x, domain.y))
        cost = self.problem.distortion.between(domain, x, y, x, outcomes)
        fields = {name: own for axis, cell in cells.items() for name, own in fields_of(axis, cell).items()}
        for charge in self.problem.charges:
            spent = float(share @ charge.of(np.where(np.isfinite(cost), cost, 0.0)))
            allowed = None
            if domain.d in cells and not charge.averaged:
                allowed = float(numbers_at(f"the limit of {charge.words}", charge.limit, fields, 1)[0])
            yield Limit(charge.words, spent, allowed)

    def _bounds(self, person: Placed) -> Iterator[Bound]:
        """Return of every parity constraint the bound that the person's group is nearest to."""
        if self.mode.domain.d not in self.mode.reads:
            return
        like = self._like(person) if person.sourced else self._like(person, "d")
        for part in self.achieved.parity:
            compared = part.compared
            among = np.array([bool(np.any(each.member & like)) for each in compared.populations], dtype=bool)
            held = among[compared.population]
            other = compared.against != AGAINST_TARGET
            held[other] |= among[compared.against[other]]
            at = np.flatnonzero(held)
            if len(at):
                nearest = int(at[np.argmax(part.excess[at])])
                tight = compared.number_of(at[part.excess[at] >= -AT_BOUND])
                name, bound = type(part.parity).__name__ + part.parity.where, float(compared.bound[nearest])
                yield Bound(name, comparison(part, nearest), bound, tight, compared.number_of(at), part.parity.words)

    def _words(self, person: Placed, found: Explanation) -> Iterator[str]:
        yield f"{self._who(person)}; " + self._where(person, found.people)
        yield f"they stay as they are with a probability of {chance(found.stays)}"
        moving = [result for result in found.results if result.changes]
        most = max((len(result.changes) for result in moving), default=0)
        for result in moving[:MOST_TOLD]:
            alone = ", and nothing else changes" if len(result.changes) < most else ""
            yield f"with {chance(result.probability)} {result.words}{alone}"
        if len(moving) > MOST_TOLD:
            rest = sum(result.probability for result in moving[MOST_TOLD:])
            yield f"with {chance(rest)} in all one of {len(moving) - MOST_TOLD} other results"
        yield from self._good(found)
        yield from (limit.words for limit in found.limits)
        if not found.limits and not self.problem.charges:
            yield "no budget limits what is expected of them; forbidden moves alone are never made"
        yield from (bound.words for bound in found.bounds)
        if self.achieved.parity and self.mode.domain.d not in self.mode.reads:
            yield "the mapping does not read their group, so that no parity bound can be named that is theirs"
        if self.margins and found.bounds:
            yield "for its confidence the mapping keeps these bounds with margins, which bind before the bounds do"
        if self.mode.name == "apply":
            yield "no outcome was read, and none is changed"

    def _who(self, person: Placed) -> str:
        both = list(zip(self.mode.read, person.levels, strict=True))
        by_axis = ([pair for pair in both if pair[0] in axis.variables] for axis in self.mode.reads)
        return "; ".join(in_words({v.name: _shown(v, level) for v, level in pairs}) for pairs in by_axis if pairs)

    def _where(self, person: Placed, people: int) -> str:
        if person.sourced:
            learned = any(variable.tree is not None for variable in self.mode.read)
            features = "leaf of the learned cells" if learned else "features"
            shared = f"group, {features} and outcome" if self.mode.name == "release" else f"group and {features}"
            if self.mode.domain.d not in self.mode.reads:
                shared = shared.removeprefix("group, ").removeprefix("group and ")
            have = "person has" if people == 1 else "people have"
            return f"{people:,} fitted {have} the same {shared}, and the same probabilities"
        new = [v.name for v, level in zip(self.mode.read, person.levels, strict=True) if level == UNSEEN]
        why = f", for {' and '.join(new)}" if new else ""
        then = "they are left unchanged" if person.row is None else f"they {self.mode.then_drawn}"
        return f"nobody fitted was in this cell{why}: {then}"

    def _good(self, found: Explanation) -> Iterator[str]:
        """Say how likely the favourable outcome is, where the problem names one and an outcome is drawn."""
        problem, outcome = self.problem, self.counts.domain.outcome
        if problem.favourable is None or self.mode.name != "release":
            return
        good = outcome.shown[outcome.code(problem.favourable)]
        has = found.levels[outcome.name] == good
        likely = 0.0
        for result in found.results:
            new = {change.column: change.after for change in result.changes}.get(
                outcome.name, found.levels[outcome.name]
            )
            likely += result.probability * (new == good)
        yield (
            f"they {'have' if has else 'do not have'} the good outcome {outcome.name}={good}; after the release they "
            f"have it with {chance(min(likely, 1.0))}"
        )


def _shown(variable: Variable, level: int) -> str:
    if level == UNSEEN:
        return NEVER
    return variable.tree.rules[level] if variable.tree is not None else variable.shown[level]


def _changes(variables: Sequence[Variable], own: Sequence[int], levels: Sequence[int]) -> Iterator[Change]:
    for variable, before, after in zip(variables, own, levels, strict=True):
        if before != after:
            yield Change(variable.name, _shown(variable, before), _shown(variable, after))


def _done(results: Sequence[Result]) -> dict[tuple[tuple[str, str], ...], float]:
    """Return the probability of each thing that may be done to somebody: which columns become what."""
    return {tuple((c.column, c.after) for c in result.changes): result.probability for result in results}


def _apart(one: Sequence[Result], other: Sequence[Result]) -> float:
    """Return the total variation between what may be done to two people."""
    first, second = _done(one), _done(other)
    return sum(abs(first.get(key, 0.0) - second.get(key, 0.0)) for key in {*first, *second}) / 2


def _largest(one: Sequence[Result], other: Sequence[Result]) -> str:
    """Name the change whose probability differs most between two people."""
    first, second = _done(one), _done(other)
    key = max((k for k in {*first, *second} if k), key=lambda k: abs(first.get(k, 0.0) - second.get(k, 0.0)))
    became = ", and ".join(f"{column} becomes {level}" for column, level in key)
    likely = [chance(each.get(key, 0.0)) for each in (first, second)]
    alone = ", and nothing else does,"
    return f"that {became}{alone} has a probability of {likely[0]} for the first and of {likely[1]} for the second"
