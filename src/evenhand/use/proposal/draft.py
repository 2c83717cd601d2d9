"""What is proposed, before it is written: columns in their roles with levels and rules, and what is left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.domain import Value, in_words
from evenhand.errors import DataError, SpecError, did_you_mean
from evenhand.tables.survey import Column, Survey
from evenhand.use.proposal.choosing import MOST_FEATURES, PEOPLE_PER_CELL, all_joined, choose, deciding, telling, told
from evenhand.use.proposal.levels import MOST_VALUES, Levelled, levelled, pooled

SHARED_NAME = "several columns have this name; rename them to use one"
NO_NAME = "the file's header has no name for it; give it one to use it"
NOT_ASKED_FOR = "not asked for"

FEATURE_BINS = 4
PROTECTED_BINS = 3
OUTCOME_BINS = 2

MOST_FREE_LEVELS = 4
"""A feature of words with more levels is proposed as fixed: there are too many ways to change it."""

MOST_OUTCOMES = 10

MOST_MOVES = 40_000
"""Features are fixed until at most so many moves are allowed."""

NEARLY_ALL = 0.95
"""A column in which this share of the rows has a value of its own names people."""

MOST_DISTINCT = 100
"""With more values than this, a column would tell anything by chance."""

HALF = 0.5
"""The same for words, which are more often names or remarks."""

GIVES_AWAY = 0.6
"""A column that tells this share of the outcome is perhaps the outcome by another name."""

TELLING = 0.2
"""A feature that tells this share of the groups is worth a word; and a column that is missing or not tells as much of
the outcome only if it is filled in after it."""

TINY_GROUP = 50
"""The rates of a group of fewer people say little."""

DECIDING = 0.01
"""A level with this share of the people, all of one outcome, is worth a word."""


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature with its levels, its rule ("ordinal", "nominal" or "fixed"), and what is notable about it.

    ``tells_groups`` is how much it tells about the groups; ``decides`` lists levels that have one outcome only.
    """

    levelled: Levelled
    rule: str
    tells_groups: float
    decides: tuple[Value, ...] = ()

    @property
    def name(self) -> str:
        """The column's name."""
        return self.levelled.name

    @property
    def ways(self) -> int:
        """How many levels a person may end in, at most."""
        levels = len(self.levelled.levels)
        return {"ordinal": min(3, levels), "nominal": levels, "fixed": 1}[self.rule]


@dataclass(frozen=True, eq=False)
class Draft:
    """The columns of a problem to be; ``left_out`` pairs columns with reasons."""

    rows: int
    protected: tuple[Levelled, ...]
    features: tuple[Feature, ...]
    outcome: Levelled
    left_out: tuple[tuple[str, str], ...]

    @property
    def levelled(self) -> tuple[Levelled, ...]:
        """Every column in use."""
        return (*self.protected, *(feature.levelled for feature in self.features), self.outcome)

    @property
    def groups(self) -> Cells:
        """The number of each row's group."""
        return all_joined([column.codes for column in self.protected])

    @property
    def group_sizes(self) -> list[tuple[str, int]]:
        """Every group by name, and how many people it has, the fewest first."""
        _, first, sizes = np.unique(self.groups, return_index=True, return_counts=True)
        names = [in_words({c.name: (*c.levels, "missing")[c.codes[row]] for c in self.protected}) for row in first]
        return sorted(zip(names, sizes.tolist(), strict=True), key=lambda group: group[1])

    @property
    def tiny_groups(self) -> list[tuple[str, int]]:
        """The groups whose rates say little."""
        return [(name, size) for name, size in self.group_sizes if size < TINY_GROUP]

    @property
    def sources(self) -> int:
        """How many combinations of protected columns, features and outcome occur."""
        return int(all_joined([column.codes for column in self.levelled]).max()) + 1

    @property
    def most_moves(self) -> int:
        """How many moves are allowed at most."""
        return self.sources * int(np.prod([feature.ways for feature in self.features])) * len(self.outcome.levels)


def draft(
    found: Survey,
    protected: Sequence[str],
    outcome: str,
    features: Sequence[str] | None,
    shared: Collection[str] = (),
    unnamed: Collection[str] = (),
) -> Draft:
    """Give every column a role, or a reason why it has none.

    ``shared`` are names that several columns have, ``unnamed`` what columns are called that have none.
    """
    for name in (*protected, outcome, *(features or ())):
        _known(found, name)
    groups = tuple(_protected(found[name]) for name in protected)
    target = _outcome(found[outcome])
    others = [column for column in found.columns if column.name not in (*protected, outcome)]
    if features is not None:
        taken = tuple(_asked(found[name]) for name in features)
        left = tuple((column.name, NOT_ASKED_FOR) for column in others if column.name not in features)
    else:
        unusable = {**dict.fromkeys(shared, SHARED_NAME), **dict.fromkeys(unnamed, NO_NAME)}
        taken, left = _chosen(others, groups, target, unusable)
    together = all_joined([column.codes for column in groups])
    listed = []
    for column in taken:
        rule = "nominal" if len(column.levels) <= MOST_FREE_LEVELS else "fixed"
        alike = deciding(column.codes, target.codes, DECIDING * len(target.codes))
        decides = tuple((*column.levels, "missing")[code] for code in alike)
        listed.append(Feature(column, "ordinal" if column.ordered else rule, told(column.codes, together), decides))
    # The last features, which tell least, are fixed first.
    whole = Draft(found.rows, groups, tuple(listed), target, left)
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
    raise DataError(f"the table has no column {name!r}; it has {list(found.names)}.{hint}")


def _protected(column: Column) -> Levelled:
    _several(column, "protected column")
    named = pooled(column) if not column.numeric else levelled(column, PROTECTED_BINS)
    if len(named.weights) < 2:
        raise DataError(
            f"no two values of the protected column {column.name!r} are common enough to compare; merge its values "
            f"into a few groups first, or leave it out"
        )
    return named


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
    return Levelled(column, column.codes, column.values)


def _several(column: Column, what: str) -> None:
    if column.nested:
        raise DataError(f"the {what} {column.name!r} holds lists, structs or bytes; it must hold strings or numbers")
    if len(column.values) < 2:
        values = f"a single value, {column.values[0]!r}" if column.values else "no value at all"
        raise DataError(f"the {what} {column.name!r} has {values}; there is nothing to compare")


def _asked(column: Column) -> Levelled:
    _several(column, "feature")
    named = levelled(column, FEATURE_BINS)
    if len(named.levels) < 2:
        raise DataError(
            f"every value of the feature {column.name!r} is rare, as in a name or a remark; leave it out of --features"
        )
    return named


def _chosen(
    columns: Sequence[Column], groups: Sequence[Levelled], outcome: Levelled, barred: Mapping[str, str]
) -> tuple[tuple[Levelled, ...], tuple[tuple[str, str], ...]]:
    """Choose features among columns, and say why the others are not."""
    together = all_joined([column.codes for column in groups])
    unfit = {c.name: reason for c in columns if (reason := barred.get(c.name) or _unfit(c))}
    candidates = {c.name: levelled(c, FEATURE_BINS) for c in columns if c.name not in unfit}
    unfit |= {name: reason for name, c in candidates.items() if (reason := _useless(c, outcome))}
    candidates = {name: column for name, column in candidates.items() if name not in unfit}
    codes = {name: column.codes for name, column in candidates.items()}
    chosen = choose(codes, together, outcome.codes)
    if not chosen:
        if telling(codes, (), outcome.codes):
            raise SpecError(
                f"every column that tells something about the outcome would make too many small cells, of fewer than "
                f"{PEOPLE_PER_CELL} people each on average with these protected columns; take fewer of them, or name "
                f"features with --features"
            )
        raise SpecError(
            "no column tells enough about the outcome to be proposed as a feature; name them with --features"
        )
    taken = [candidates[name] for name in chosen]
    tells = telling(codes, chosen, outcome.codes)
    unfit |= {name: _why_not(c, taken, name in tells) for name, c in candidates.items() if name not in chosen}
    left = tuple((column.name, unfit[column.name]) for column in columns if column.name in unfit)
    return tuple(taken), left


def _unfit(column: Column) -> str | None:
    """Say why a column cannot be a feature, whatever the outcome."""
    known = len(column.codes) - column.missing
    if column.nested:
        return "lists, structs or bytes, which are no levels"
    if len(column.values) < 2:
        return "one value for everybody" if column.values else "empty"
    if column.dated:
        return "dates or times; make them a number, such as an age, to use them"
    if column.whole and len(column.values) >= NEARLY_ALL * known and len(column.values) > MOST_VALUES:
        return "nearly every row has its own value: an identifier"
    if not column.numeric and len(column.values) >= HALF * known:
        return "most rows have their own value: names, remarks or identifiers"
    return None


def _useless(column: Levelled, outcome: Levelled) -> str | None:
    unbinned = column.column.numeric and len(column.levels) > MOST_VALUES
    if len(column.weights) < 2 or len(column.levels) < 2 or unbinned:
        many = not column.column.numeric and len(column.column.values) > MOST_VALUES
        return "too many values, all of them rare" if many else "nearly constant"
    share = told(column.codes, outcome.codes)
    if share >= GIVES_AWAY:
        return "tells nearly all of the outcome: perhaps the outcome by another name, or known only after it"
    if column.column.missing and told((column.column.codes < 0).astype(np.int64), outcome.codes) >= TELLING:
        return "filled in or not depending on the outcome: known only after it"
    return None


def _why_not(column: Levelled, taken: Sequence[Levelled], tells: bool) -> str:
    raw = column.column.codes + 1 if len(column.column.values) <= MOST_DISTINCT else column.codes
    for feature in taken:
        if told(raw, feature.codes) >= NEARLY_ALL:
            return f"gives away what {feature.name} was: drop it before training"
    if not tells:
        return "tells too little about the outcome beyond the features above"
    if len(taken) == MOST_FEATURES:
        return f"tells less about the outcome than the {MOST_FEATURES} features above"
    return f"would make too many small cells: fewer than {PEOPLE_PER_CELL} people each on average"
