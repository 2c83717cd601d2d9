"""One person under a mapping: what may become of them and how likely, which limits bind, and why two people differ.

All of it from the person's levels, the kernel's row and what was achieved of every bound; nothing is drawn here. Which
row of which file a person is, and what was drawn for them there, others find out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Flags
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable, in_words
from evenhand.data.levels import UNSEEN
from evenhand.findings.bounds import Furthest, comparison
from evenhand.findings.document import MOST_TOLD
from evenhand.findings.theory.applying import applying
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.render.finding import Finding
from evenhand.render.numbers import chance
from evenhand.render.section import Column, Fact, Kind, Note, Section, Table
from evenhand.spec import AGAINST_TARGET, Problem
from evenhand.spec.by import fields_of, numbers_at
from evenhand.tables.person import Placed
from evenhand.tables.transforming import Transformer
from evenhand.tolerances import AT_BOUND, SAME_PROBABILITY

if TYPE_CHECKING:
    import pandas as pd

NEVER = "a new or missing value"


IN_MODE = {"release": "train", "apply": "apply"}
"""What modes are called for people to read."""

KINDS: dict[str, dict[str, Kind]] = {
    "budgets": {
        "charge": "text", "expected": "number", "allowed": "number", "shared": "flag", "over_outcomes": "flag",
        "binds": "flag",
    },
    "bounds": {
        "constraint": "text", "nearest": "text", "apart": "number", "bound": "number", "tight": "number",
        "of": "number",
    },
    "fields": {"column": "text", "role": "text", "one": "text", "other": "text", "alone": "number"},
}  # fmt: skip
"""The columns of the tables of an explanation."""

MOST_ROWS = 20
"""So many results are shown; JSON has all."""


@dataclass(frozen=True)
class Change:
    """A column that becomes another level."""

    column: str
    before: str
    after: str

    @property
    def note(self) -> Note:
        """What it becomes."""
        return Note("explained.change", vars(self))


@dataclass(frozen=True)
class Result:
    """One result that a person may have: what changes, and how likely it is; without a change they stay as they are."""

    changes: tuple[Change, ...]
    probability: float


@dataclass(frozen=True)
class Limit:
    """A budget of the person: what it charges, what is expected of them, and what is allowed; None where nothing is.

    It is that of everybody with their features and outcome where it is ``shared``, and in apply mode an average
    ``over_outcomes`` that they may have.
    """

    charge: str
    expected: float
    allowed: float | None
    shared: bool = False
    over_outcomes: bool = False

    @property
    def binds(self) -> bool:
        """Whether all of it is used."""
        return self.allowed is not None and self.expected >= self.allowed - AT_BOUND

    @property
    def note(self) -> Note:
        """What is expected of them beside what is allowed."""
        whose = "limits.shared" if self.shared else "limits.over_outcomes" if self.over_outcomes else None
        fields = {**vars(self), "whose": None if whose is None else Note(whose)}
        if self.allowed is None or np.isinf(self.allowed):
            return Note("limits.none", fields)
        return Note("limits.budget_binds" if self.binds else "limits.budget", fields)


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
    def note(self) -> Note:
        """Whether it binds, and where."""
        binds = "limits.constraint_binds" if self.number == 1 else "limits.constraint_binds_in"
        fields = {**vars(self), "nearest": self.nearest.held}
        return Note(binds if self.tight else "limits.constraint_slack", fields)


@dataclass(frozen=True)
class Drawn:
    """What was drawn for the person in one release: in which file and row, and which of the possible results it is.

    ``options`` are those of the draw: its seed, its key and how people are drawn.
    """

    file: str
    row: int
    options: Mapping[str, Any]
    result: Result | None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def section(self) -> Section:
        """What was drawn, as data."""
        probability = None if self.result is None else self.result.probability
        facts = {"file": self.file, "row": self.row, **self.options, "values": self.values, "probability": probability}
        options = [Note("drawn.option", {"name": name, "value": value}) for name, value in self.options.items()]
        fields = {"row": self.row, "file": self.file, "options": options, "probability": probability}
        if self.result is None:
            note = Note("drawn.values", {**fields, "values": in_words(self.values)})
        elif not self.result.changes:
            note = Note("drawn.stayed", fields)
        else:
            changes = [Note("drawn.change", vars(change)) for change in self.result.changes]
            note = Note("drawn.became", {**fields, "changes": changes})
        return Section("drawn", facts=_detailed(facts), notes=(note,))


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
    """

    fields: tuple[dict[str, Any], ...]
    apart: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Finding):
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
    unlike : Unlike or None
        Why they differ from another person, if one was named.
    drawn : Drawn or None
        What was drawn for them in one release, if one was named.
    sections : tuple of Section
        All of it as data.
    """

    mode: str
    levels: dict[str, str]
    known: str
    people: int
    results: tuple[Result, ...]
    limits: tuple[Limit, ...]
    bounds: tuple[Bound, ...]
    unlike: Unlike | None
    drawn: Drawn | None
    sections: tuple[Section, ...] = ()

    @property
    def stays(self) -> float:
        return sum(result.probability for result in self.results if not result.changes)

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
        unlike = None if other is None else self.unlike(person, other)
        found = Explanation(self.mode.name, self.shown(person), known, people, results, limits, bounds, unlike, drawn)
        sections = [self._explained(person, found), self._limiting(found)]
        if drawn is not None:
            sections.append(drawn.section)
        if other is not None and unlike is not None:
            sections.append(self._differing(person, other, unlike))
        return replace(found, sections=tuple(sections))

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
        return Unlike(tuple(fields), apart)

    def _differing(self, one: Placed, other: Placed, unlike: Unlike) -> Section:
        facts, notes = _detailed({"apart": unlike.apart}), tuple(self._why(one, other, unlike))
        return Section("unlike", facts=facts, tables=(_listed("fields", unlike.fields),), notes=notes)

    def _why(self, one: Placed, other: Placed, unlike: Unlike) -> Iterator[Note]:
        if not unlike.fields:
            yield Note("unlike.same_cell")
            return
        yield Note("unlike.fields", {"fields": [Note("unlike.field", each) for each in unlike.fields]})
        if unlike.apart <= SAME_PROBABILITY:
            yield Note("unlike.same_changes")
            return
        both = self.results(one), self.results(other)
        first, second = (sum(result.probability for result in each if not result.changes) for each in both)
        yield Note("unlike.stays", {"first": first, "second": second, "largest": _largest(*both)})
        if len(unlike.fields) > 1:
            made = sorted(unlike.fields, key=lambda each: -each["alone"])
            some = [Note("unlike.alone", each) for each in made if each["alone"] > SAME_PROBABILITY]
            yield Note("unlike.each_alone", {"fields": some or [Note("unlike.nothing")]})
        if not (one.sourced and other.sourced):
            yield Note("unlike.one_unseen" if one.sourced or other.sourced else "unlike.both_unseen")

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
        if not person.sourced or "d" not in self.problem.reads or not self.problem.charges:
            return
        found, before = applying(self.problem, self.counts, self.kernel).frame, self.counts.people_before_outcome
        place = int(before.of_source[np.flatnonzero(self._like(person, "dx"))[0]])
        for row in found.iloc[place :: len(before.cells)].to_dict("records"):
            allowed = None if np.isnan(row["bound"]) else float(row["bound"])
            yield Limit(row["charge"], float(row["features_alone"]), allowed, over_outcomes=True)

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

    def _explained(self, person: Placed, found: Explanation) -> Section:
        facts = {"mode": found.mode, "levels": found.levels, "known": found.known, "people": found.people}
        # Of one result there is nothing that the sentences do not say.
        most = MOST_ROWS if len(found.results) > 1 else 0
        results = Table.of("results", found.table, {"probability": "number"}, most=most)
        return Section(
            "explained", facts=_detailed({**facts, "stays": found.stays}), tables=(results,),
            notes=tuple(self._notes(person, found)), fields={"mode": IN_MODE[found.mode]},
        )  # fmt: skip

    def _limiting(self, found: Explanation) -> Section:
        budgets = [{**vars(limit), "binds": limit.binds} for limit in found.limits]
        bounds = [
            {"constraint": each.constraint, "nearest": each.nearest.rates, "apart": each.nearest.apart,
             "bound": each.bound, "tight": each.tight, "of": each.number}
            for each in found.bounds
        ]  # fmt: skip
        listed = _listed("budgets", budgets), _listed("bounds", bounds)
        return Section("limits", tables=listed, notes=tuple(self._limit_notes(found)))

    def _notes(self, person: Placed, found: Explanation) -> Iterator[Note]:
        yield self._where(person, found.people)
        yield Note("explained.stays", {"probability": found.stays})
        moving = [result for result in found.results if result.changes]
        most = max((len(result.changes) for result in moving), default=0)
        for result in moving[:MOST_TOLD]:
            alone = Note("explained.alone") if len(result.changes) < most else None
            changes = [change.note for change in result.changes]
            yield Note("explained.result", {"probability": result.probability, "changes": changes, "alone": alone})
        if len(moving) > MOST_TOLD:
            rest = sum(result.probability for result in moving[MOST_TOLD:])
            yield Note("explained.other_results", {"probability": rest, "others": len(moving) - MOST_TOLD})
        yield from self._good(found)
        if self.mode.name == "apply":
            yield Note("explained.no_outcome")

    def _limit_notes(self, found: Explanation) -> Iterator[Note]:
        yield from (limit.note for limit in found.limits)
        if not found.limits and not self.problem.charges:
            yield Note("limits.no_budget")
        yield from (bound.note for bound in found.bounds)
        if self.achieved.parity and self.mode.domain.d not in self.mode.reads:
            yield Note("limits.group_not_read")
        if self.margins and found.bounds:
            yield Note("limits.margins")

    def _who(self, person: Placed) -> str:
        both = list(zip(self.mode.read, person.levels, strict=True))
        by_axis = ([pair for pair in both if pair[0] in axis.variables] for axis in self.mode.reads)
        return "; ".join(in_words({v.name: _shown(v, level) for v, level in pairs}) for pairs in by_axis if pairs)

    def _where(self, person: Placed, people: int) -> Note:
        who = self._who(person)
        if person.sourced:
            learned = any(variable.tree is not None for variable in self.mode.read)
            features = Note("explained.leaf" if learned else "explained.features")
            if self.mode.domain.d not in self.mode.reads:
                others = Note("explained.and_outcome") if self.mode.name == "release" else None
            else:
                others = Note("explained.and_both" if self.mode.name == "release" else "explained.and_group")
            return Note("explained.fitted", {"who": who, "people": people, "features": features, "others": others})
        new = [v.name for v, level in zip(self.mode.read, person.levels, strict=True) if level == UNSEEN]
        why = Note("explained.unseen_in", {"columns": new}) if new else None
        then = Note("explained.kept") if person.row is None else self.mode.then_drawn
        return Note("explained.unseen", {"who": who, "why": why, "then": then})

    def _good(self, found: Explanation) -> Iterator[Note]:
        """Yield how likely the favourable outcome is, where the problem names one and an outcome is drawn."""
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
        key = "explained.has_favourable" if has else "explained.has_not_favourable"
        yield Note(key, {"outcome": f"{outcome.name}={good}", "probability": min(likely, 1.0)})


def _shown(variable: Variable, level: int) -> str:
    if level == UNSEEN:
        return NEVER
    return variable.tree.rules[level] if variable.tree is not None else variable.shown[level]


def _changes(variables: Sequence[Variable], own: Sequence[int], levels: Sequence[int]) -> Iterator[Change]:
    for variable, before, after in zip(variables, own, levels, strict=True):
        if before != after:
            yield Change(variable.name, _shown(variable, before), _shown(variable, after))


def _detailed(values: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Return facts that sentences tell people, for JSON."""
    return tuple(Fact(name, value, detail=True) for name, value in values.items())


def _listed(key: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rows as a table that sentences tell people, for JSON."""
    columns = tuple(Column(name, kind) for name, kind in KINDS[key].items())
    return Table(key, columns, tuple(tuple(row[name] for name in KINDS[key]) for row in rows), most=0)


def _done(results: Sequence[Result]) -> dict[tuple[tuple[str, str], ...], float]:
    """Return the probability of each thing that may be done to somebody: which columns become what."""
    return {tuple((c.column, c.after) for c in result.changes): result.probability for result in results}


def _apart(one: Sequence[Result], other: Sequence[Result]) -> float:
    """Return the total variation between what may be done to two people."""
    first, second = _done(one), _done(other)
    return sum(abs(first.get(key, 0.0) - second.get(key, 0.0)) for key in {*first, *second}) / 2


def _largest(one: Sequence[Result], other: Sequence[Result]) -> Note:
    """Name the change whose probability differs most between two people."""
    first, second = _done(one), _done(other)
    key = max((k for k in {*first, *second} if k), key=lambda k: abs(first.get(k, 0.0) - second.get(k, 0.0)))
    changes = [Note("unlike.becomes", {"column": column, "level": level}) for column, level in key]
    return Note("unlike.largest", {"changes": changes, "first": first.get(key, 0.0), "second": second.get(key, 0.0)})
