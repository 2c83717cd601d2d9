"""Learned cells as an expression: the same leaf that :mod:`evenhand.tables` finds, and what no leaf can be found for.

Each column that the tree asks about is first told: a number, truths as 0 and 1, dates as days since 1970; or a word;
null where it is missing. The tree is then cases over these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.data.domain import Value, Variable
from evenhand.data.tree import Asked, Kind, Split, Tree
from evenhand.engines.sql.dialects import Dialect
from evenhand.engines.sql.dialects.base import OWN
from evenhand.tables import HOLDS, blanks_among_numbers, canonical

LEAF = f"{OWN}leaf"

TRUE, FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")
"""What engines write for truths, and for the numbers that stand for them."""

Possible = Mapping[int, frozenset[str]]
"""The words of each column, by its place, that may still come where the tree asks."""


@dataclass(frozen=True)
class Leaves:
    """The tree of a variable in one dialect."""

    sql: Dialect
    tree: Tree
    blanks: Sequence[Value]

    @classmethod
    def of(cls, sql: Dialect, variable: Variable) -> Leaves:
        """Return the tree of learned cells."""
        assert variable.tree is not None
        return cls(sql, variable.tree, variable.blanks)

    @property
    def told(self) -> dict[str, str]:
        """What is told of each column, by the name that the query gives it."""
        return {_told(place): self._value(asked) for place, asked in enumerate(self.tree.columns)}

    @property
    def leaf(self) -> str:
        """The leaf of a row of which everything is told."""
        words = {place: frozenset(asked.words) for place, asked in enumerate(self.tree.columns)}
        return self._cases(0 if self.tree.splits else ~0, words)

    def refused(self) -> Iterator[tuple[str, str]]:
        """Yield which rows have a column of another kind, and what to say."""
        for asked in self.tree.columns:
            yield self._of_other_kind(asked), f"column {asked.name!r} must hold {HOLDS[asked.kind]}, as at fit"

    def _of_other_kind(self, asked: Asked) -> str:
        sql, column = self.sql, self.sql.name(asked.name)
        if asked.kind is Kind.NUMBER:
            return sql.has_type(column, (*sql.text_types, *sql.day_types))
        if asked.kind is Kind.DATE:
            return f"NOT {sql.has_type(column, sql.day_types)}"
        if asked.kind is Kind.WORD:
            return sql.has_type(column, (*sql.other_types, *sql.day_types))
        listed = ", ".join(map(sql.text, (*TRUE, *FALSE, "nan")))
        return f"({column} IS NOT NULL AND NOT {self._is_blank(column)} AND {self._lower(column)} NOT IN ({listed}))"

    def _value(self, asked: Asked) -> str:
        sql, column = self.sql, self.sql.name(asked.name)
        if asked.kind is Kind.DATE:
            return sql.day(column)
        if asked.kind is Kind.WORD:
            return f"CASE WHEN NOT {self._is_blank(column)} THEN {sql.cast(column, 'text')} END"
        if asked.kind is Kind.TRUTH:
            true, false = (f"{self._lower(column)} IN ({', '.join(map(sql.text, each))})" for each in (TRUE, FALSE))
            return f"CASE WHEN {self._is_blank(column)} THEN NULL WHEN {true} THEN 1 WHEN {false} THEN 0 END"
        number = sql.cast(column, "double")
        missing = [sql.is_nan(column)]
        if blank := blanks_among_numbers(self.blanks):
            missing.append(f"{number} IN ({', '.join(map(sql.number, blank))})")
        return f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {number} END"

    def _lower(self, column: str) -> str:
        return f"lower({self.sql.cast(column, 'text')})"

    def _is_blank(self, column: str) -> str:
        """Say whether a text or a truth stands for a missing one."""
        blanks = list(dict.fromkeys(map(canonical, self.blanks)))
        tests = [f"{self.sql.exact(column)} IN ({', '.join(map(self.sql.text, blanks))})"] if blanks else []
        for truth in ("True", "False"):
            if truth in blanks:
                tests.append(
                    f"({self.sql.has_type(column, ('boolean',))} AND {self._lower(column)} = '{truth.lower()}')"
                )
        return f"({' OR '.join(tests)})" if tests else "FALSE"

    def _cases(self, place: int, possible: Possible) -> str:
        """Return the leaf from a split on; splits that follow on the right are further cases of the same expression."""
        cases = []
        while place >= 0:
            split = self.tree.splits[place]
            left, right = self._sides(split, possible)
            cases.append(f"WHEN {self._goes_left(split, possible)} THEN {self._cases(split.left, left)}")
            place, possible = split.right, right
        return f"CASE {' '.join(cases)} ELSE {~place} END" if cases else str(~place)

    def _sides(self, split: Split, possible: Possible) -> tuple[Possible, Possible]:
        """Return which words may come on either side."""
        words = possible[split.column]
        sides = words & split.listed, words - split.listed
        return tuple({**possible, split.column: each} for each in sides)  # type: ignore[return-value]

    def _goes_left(self, split: Split, possible: Possible) -> str:
        told = _told(split.column)
        if self.tree.columns[split.column].kind.numeric:
            below = f"{told} IS NOT NULL" if split.below is None else f"{told} < {self.sql.number(split.below)}"
            return f"({below} OR {told} IS NULL)" if split.missing_left else below
        left, right = (side[split.column] for side in self._sides(split, possible))
        if split.others_left:
            among = self._among(told, right, "NOT IN") or f"{told} IS NOT NULL"
        else:
            among = self._among(told, left, "IN") or "FALSE"
        return f"({among} OR {told} IS NULL)" if split.missing_left else among

    def _among(self, told: str, words: frozenset[str], how: str) -> str:
        listed = ", ".join(map(self._text, sorted(words)))
        return f"{self.sql.exact(told)} {how} ({listed})" if words else ""

    @cached_property
    def _texts(self) -> dict[str, str]:
        # Each is asked about several times, and sqlglot takes its time.
        return {word: self.sql.text(word) for asked in self.tree.columns for word in asked.words}

    def _text(self, word: str) -> str:
        return self._texts[word]


def _told(place: int) -> str:
    return f"{OWN}told_{place}"
