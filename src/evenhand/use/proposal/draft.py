"""What is proposed, before it is written: columns in their roles with levels and rules, and what is left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.domain import in_words
from evenhand.errors import DataError, SpecError, did_you_mean, some_of
from evenhand.render.section import Note
from evenhand.render.sentences import sentence
from evenhand.spec.cells import Leaves
from evenhand.tables.survey import Column, Survey, by_code
from evenhand.use.proposal.choosing import (
    MOST_FEATURES,
    PEOPLE_PER_CELL,
    all_joined,
    beyond_chance,
    choose,
    tabulated,
    telling,
    told,
)
from evenhand.use.proposal.leaks import MOST_DISTINCT, Beside, followers
from evenhand.use.proposal.leaves import Trial, Tried, try_out
from evenhand.use.proposal.levels import MOST_VALUES, Levelled, as_they_are, levelled
from evenhand.use.proposal.outcome import level_called
from evenhand.use.proposal.protected import TINY_GROUP, Rated, few_people, grouped

Ways = Literal["leaves", "levels"]
"""What cells are: the leaves of a tree, or the combinations of the features' levels."""

WAYS: tuple[Ways, ...] = ("leaves", "levels")

SHARED_NAME = Note("column.shared_name")
NO_NAME = Note("column.no_name")
NOT_ASKED_FOR = Note("column.not_asked_for")
DATES = Note("column.dates")
DATES_AS_THEY_ARE = Note("column.dates_as_they_are")
TOO_MANY_VALUES = Note("column.too_many_values")
NEARLY_CONSTANT = Note("column.nearly_constant")
TAKEN_NAME = Note("column.taken_name")

FEATURE_BINS = 4
OUTCOME_BINS = 2

MOST_FREE_LEVELS = 4
"""A feature of words with more levels is proposed as fixed: there are too many ways to change it."""

MOST_OUTCOMES = 10

MOST_MOVES = 40_000
"""Features are fixed until at most so many moves are allowed."""

NEARLY_ALL = 0.95
"""A column in which this share of the rows has a value of its own names people."""

HALF = 0.5
"""The same for words, which are more often names or remarks."""


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature with its levels, its rule ("ordinal", "nominal" or "fixed"), and what to ask about it.

    ``remark`` says why it may be known only after the outcome, or would not have been proposed if nobody named it.
    """

    levelled: Levelled
    rule: str
    remark: Note | None = None

    @property
    def name(self) -> str:
        return self.levelled.name

    @property
    def ways(self) -> int:
        """How many levels a person may end in, at most."""
        levels = len(self.levelled.levels)
        return {"ordinal": min(3, levels), "nominal": levels, "fixed": 1}[self.rule]


@dataclass(frozen=True)
class Group:
    """People who are compared: how many they are, and their rate of the outcome that is told."""

    name: str
    people: int
    rate: float


@dataclass(frozen=True, eq=False)
class Draft:
    """The columns of a problem to be; ``left_out`` pairs columns with reasons, ``rated`` is whose rates are told.

    ``after`` are those of the columns left out that are perhaps known only after the outcome; ``tried`` is what came of
    leaves, where many columns tell something or where they were asked for; ``cells`` are they, if they are proposed.
    """

    found: Survey
    protected: tuple[Levelled, ...]
    features: tuple[Feature, ...]
    outcome: Levelled
    rated: Rated
    left_out: tuple[tuple[str, Note], ...]
    after: tuple[str, ...] = ()
    tried: Tried | None = None
    cells: Leaves | None = None
    sees_protected: bool = True

    @property
    def used(self) -> tuple[Levelled, ...]:
        """Every column in use."""
        return (*self.protected, *(feature.levelled for feature in self.features), self.outcome)

    @property
    def trial(self) -> Trial | None:
        return None if self.tried is None else self.tried.trial

    @property
    def levelled(self) -> tuple[Levelled, ...]:
        """Every column in use whose values become levels: with leaves no feature's do."""
        return self.used if self.cells is None else (*self.protected, self.outcome)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Every group, that of the fewest people first."""
        together = all_joined([column.codes for column in self.protected])
        names = _group_names(self.protected, together)
        people, rates = by_code(together, self.found.row_people, 0), self.rated.by(together)
        listed = (Group(name, round(p), float(rate)) for name, p, rate in zip(names, people, rates, strict=True))
        return tuple(sorted(listed, key=lambda group: group.people))

    @property
    def tiny_groups(self) -> tuple[Group, ...]:
        """The groups whose rates say little."""
        return tuple(group for group in self.groups if group.people < TINY_GROUP)

    @property
    def sources(self) -> int:
        """How many combinations of protected columns, features and outcome occur."""
        return int(all_joined([column.codes for column in self.levelled]).max()) + 1

    @property
    def most_moves(self) -> int:
        """How many moves are allowed at most."""
        return self.sources * int(np.prod([feature.ways for feature in self.features])) * len(self.outcome.levels)


def _group_names(protected: Sequence[Levelled], groups: Cells) -> list[str]:
    """Name every group, in the order of their numbers."""
    first = np.unique(groups, return_index=True)[1]
    return [in_words({c.name: c.named[c.codes[row]] for c in protected}) for row in first]


def draft(
    found: Survey,
    protected: Sequence[str],
    outcome: str,
    features: Sequence[str] | None,
    favourable: Any = None,
    shared: Collection[str] = (),
    unnamed: Collection[str] = (),
    cells: Ways | None = None,
) -> Draft:
    """Give every column a role, or a reason why it has none.

    ``shared`` are names that several columns have, ``unnamed`` what columns are called that have none. Without
    ``cells``, leaves are proposed where more columns tell something about the outcome than a choice has, and where
    nobody named the features.
    """
    for name in (*protected, outcome, *(features or ())):
        _known(found, name)
    target, weight = _outcome(found[outcome]), found.row_weights
    good = target.levels[-1] if favourable is None else level_called(target, favourable)
    rated = Rated(f"{outcome}={good}", (target.codes == target.levels.index(good)).astype(float), weight)
    groups = tuple(_protected(found[name], rated) for name in protected)
    others = [column for column in found.columns if column.name not in (*protected, outcome)]
    followed = followers(others, target)
    together = all_joined([column.codes for column in groups])
    if features is None:
        barred = {**dict.fromkeys(shared, SHARED_NAME), **dict.fromkeys(unnamed, NO_NAME)}
        usable = _usable(others, target, barred, followed, groups)
    else:
        asked = {name: Beside(_asked(found[name], cells), target) for name in features}
        usable = _Usable(asked, {c.name: NOT_ASKED_FOR for c in others if c.name not in asked}, ())
    whole = Draft(found, groups, (), target, rated, usable.left(others), usable.after)
    by_leaves = usable.without(Leaves.variable, TAKEN_NAME) if features is None else usable
    if cells == "leaves" or (cells is None and features is None and usable.many_tell):
        names = _group_names(groups, together)
        tried = try_out(by_leaves.plain, usable.codes, together, names, target.codes, weight)
        whole = replace(whole, tried=tried)
        if cells is not None and tried.trial is None:
            raise tried.install or DataError(tried.refused)

    def feature(beside: Beside, rule: str) -> Feature:
        column, remark = beside.column, None
        if features is not None:
            remark = _unfit(column.column) or beside.known_after(followed) or _copied(column, groups)
        return Feature(column, rule, remark or beside.question)

    trial = whole.trial
    if trial is not None and (cells == "leaves" or trial.tells):
        kept = tuple(feature(beside, "fixed") for beside in by_leaves.beside.values())
        left = tuple((n, DATES_AS_THEY_ARE if why == DATES else why) for n, why in by_leaves.left(others))
        return replace(whole, features=kept, left_out=left, cells=trial.cells)
    if features is None:
        usable = _chosen(usable, together, target)
        whole = replace(whole, left_out=usable.left(others))
    listed = []
    for beside in usable.beside.values():
        column = beside.column
        rule = "nominal" if len(column.levels) <= MOST_FREE_LEVELS else "fixed"
        ordinal = column.ordered and not column.two_codes
        listed.append(feature(beside, "ordinal" if ordinal else rule))
    # The last features, which tell least, are fixed first.
    whole = replace(whole, features=tuple(listed))
    for i in reversed(range(len(listed))):
        if whole.most_moves <= MOST_MOVES:
            break
        listed[i] = replace(listed[i], rule="fixed")
        whole = replace(whole, features=tuple(listed))
    return whole


def _known(found: Survey, name: str) -> None:
    if name in found.names:
        return
    hint = did_you_mean(name, found.names)
    if not hint and any(not any(c.isalpha() for c in column) for column in found.names):
        hint = " If the file has no header, give its columns with --names."
    raise DataError(f"the table has no column {name!r}; it has {some_of(found.names)}.{hint}")


def _protected(column: Column, rated: Rated) -> Levelled:
    _several(column, "protected column")
    groups = grouped(column, rated)
    if groups.binning is None and len(few_people(column)) == len(column.values):
        raise DataError(
            f"no two values of the protected column {column.name!r} are common enough to compare; merge its values "
            f"into a few groups first, or leave it out"
        )
    return groups


def _outcome(column: Column) -> Levelled:
    _several(column, "outcome")
    if column.missing:
        raise DataError(
            f"the outcome {column.name!r} is missing in {column.missing} rows; remove those rows: an outcome that is "
            f"not known cannot be counted"
        )
    if column.numeric:
        return levelled(column, OUTCOME_BINS)
    if len(column.values) > MOST_OUTCOMES:
        raise DataError(
            f"the outcome {column.name!r} has {len(column.values)} different values; an outcome has a few: is this the "
            f"right column?"
        )
    return as_they_are(column)


def _several(column: Column, what: str) -> None:
    if column.nested:
        raise DataError(f"the {what} {column.name!r} holds lists, structs or bytes; it must hold strings or numbers")
    if len(column.values) < 2:
        values = f"a single value, {column.values[0]!r}" if column.values else "no value at all"
        raise DataError(f"the {what} {column.name!r} has {values}; there is nothing to compare")


def _asked(column: Column, cells: Ways | None) -> Levelled:
    _several(column, "feature")
    named = levelled(column, FEATURE_BINS)
    if len(named.levels) < 2 and cells != "leaves":
        raise DataError(
            f"every value of the feature {column.name!r} is rare, as in a name or a remark; leave it out of --features"
        )
    return named


@dataclass(frozen=True, eq=False)
class _Usable:
    """The columns that can be features, beside the outcome; why each of the others cannot; and which are perhaps known
    only after the outcome. ``rare`` are those that levels would make nothing of: nearly everybody has one value."""

    beside: dict[str, Beside]
    unfit: dict[str, Note]
    after: tuple[str, ...]
    rare: frozenset[str] = frozenset()

    @property
    def columns(self) -> dict[str, Levelled]:
        """Those that can be, as levels."""
        return {name: beside.column for name, beside in self.beside.items()}

    @property
    def codes(self) -> dict[str, Cells]:
        """The levels of those that have any."""
        return {name: column.codes for name, column in self.columns.items() if name not in self.rare}

    @property
    def plain(self) -> list[Column]:
        return [column.column for column in self.columns.values()]

    @property
    def many_tell(self) -> bool:
        """Whether more columns tell something about the outcome than a choice has."""
        tell = [name for name, beside in self.beside.items() if beyond_chance(beside.by_level) > 0]
        return len(set(tell) - self.rare) > MOST_FEATURES

    def without(self, name: str, why: Note) -> _Usable:
        """Return them without a column that may be there."""
        if name not in self.beside:
            return self
        kept = {each: beside for each, beside in self.beside.items() if each != name}
        return replace(self, beside=kept, unfit=self.unfit | {name: why})

    def left(self, columns: Sequence[Column]) -> tuple[tuple[str, Note], ...]:
        """Return the columns that are left out, and why, in their order."""
        return tuple((column.name, self.unfit[column.name]) for column in columns if column.name in self.unfit)


def _usable(
    columns: Sequence[Column],
    outcome: Levelled,
    barred: Mapping[str, Note],
    followed: Mapping[str, Cells],
    groups: Sequence[Levelled],
) -> _Usable:
    """Return the columns that can be features."""
    unfit = {c.name: reason for c in columns if (reason := barred.get(c.name) or _unfit(c))}
    candidates = {c.name: Beside(levelled(c, FEATURE_BINS), outcome) for c in columns if c.name not in unfit}
    unfit |= {name: TOO_MANY_VALUES for name, c in candidates.items() if _too_many_values(c.column)}
    after = {n: why for n, c in candidates.items() if n not in unfit and (why := c.known_after(followed))}
    unfit |= after
    unfit |= {n: why for n, c in candidates.items() if n not in unfit and (why := _copied(c.column, groups))}
    kept = {name: column for name, column in candidates.items() if name not in unfit}
    return _Usable(kept, unfit, tuple(after), frozenset(n for n, c in kept.items() if _nearly_constant(c.column)))


def _chosen(usable: _Usable, groups: Cells, outcome: Levelled) -> _Usable:
    """Choose features among columns, and say why the others are not."""
    codes, weight = usable.codes, outcome.column.row_weights
    chosen = choose(codes, groups, outcome.codes, weight)
    if not chosen:
        if telling(codes, (), outcome.codes, weight):
            raise SpecError(
                f"every column that tells something about the outcome would make too many small cells, of fewer than "
                f"{PEOPLE_PER_CELL} people each on average with these protected columns; take fewer of them, or name "
                f"features with --features"
            )
        also = "".join(f"; {name} {sentence(usable.unfit[name])}" for name in usable.after)
        raise SpecError(
            f"no column tells enough about the outcome to be proposed as a feature; name them with --features{also}"
        )
    taken = {name: usable.beside[name] for name in chosen}
    tells = telling(codes, chosen, outcome.codes, weight)
    unfit = usable.unfit | dict.fromkeys(usable.rare, NEARLY_CONSTANT)
    for name, column in usable.columns.items():
        if name not in unfit and name not in taken:
            unfit[name] = _why_not(column, [beside.column for beside in taken.values()], name in tells)
    return replace(usable, beside=taken, unfit=unfit)


def _unfit(column: Column) -> Note | None:
    """Return why a column cannot be a feature, whatever the outcome."""
    known = len(column.codes) - column.missing
    if column.nested:
        return Note("column.nested")
    if len(column.values) < 2:
        return Note("column.one_value" if column.values else "column.empty")
    if column.dated:
        return DATES
    if column.whole and len(column.values) >= NEARLY_ALL * known and len(column.values) > MOST_VALUES:
        return Note("column.identifier")
    if not column.numeric and len(column.values) >= HALF * known:
        return Note("column.names")
    return None


def _copied(column: Levelled, groups: Sequence[Levelled]) -> Note | None:
    """Return which protected column another one gives away; None where it gives none away."""
    for group in groups:
        if beyond_chance(tabulated(_apart(column), group.codes, column.column.row_weights)) >= NEARLY_ALL:
            return Note("column.copied", {"group": group.name})
    return None


def _apart(column: Levelled) -> Cells:
    """Return values of a column where they are few, else its levels."""
    return column.column.codes + 1 if len(column.column.values) <= MOST_DISTINCT else column.codes


def _too_many_values(column: Levelled) -> bool:
    """Whether a column has words, all of them rare, as names have."""
    return not column.column.numeric and len(column.column.values) > MOST_VALUES and len(column.levels) < 2


def _nearly_constant(column: Levelled) -> bool:
    """Whether nearly everybody has one value, so that there are no two levels."""
    unbinned = column.column.numeric and len(column.levels) > MOST_VALUES
    return len(column.weights) < 2 or len(column.levels) < 2 or unbinned


def _why_not(column: Levelled, taken: Sequence[Levelled], tells: bool) -> Note:
    for feature in taken:
        if told(_apart(column), feature.codes, column.column.row_weights) >= NEARLY_ALL:
            return Note("column.copy_of_feature", {"feature": feature.name})
    if not tells:
        return Note("column.little")
    if len(taken) == MOST_FEATURES:
        return Note("column.less", {"most": MOST_FEATURES})
    return Note("column.small_cells", {"people": PEOPLE_PER_CELL})
