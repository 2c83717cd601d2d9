"""What a query needs of an engine: quoting, types, hashes, and how it refuses a row.

Identifiers, texts and types are written by sqlglot. Knows nothing of mappings, and no engine by name.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evenhand.data.levels import Value
from evenhand.errors import MissingExtraError, SpecError
from evenhand.kernel.draws import DRAW_BITS

OWN = "evenhand_\0_"
"""How a query's own names begin while it is written: no name and no text of others can hold NUL."""

HEX_DIGITS = DRAW_BITS // 4

TABLE = f"{OWN}table"


def with_own_names(query: str) -> str:
    """Return a query whose own names begin like no name in it, and like no column of a table that is called by a star.

    What stands in them is a hash of all the query says.
    """
    salt = query
    while (token := hashlib.md5(salt.encode(), usedforsecurity=False).hexdigest()[:12]) in query:
        salt += token
    return query.replace("\0", token)


class Change(NamedTuple):
    """New values of a column: which rows get one, and which one they get."""

    moved: str
    value: str


@dataclass(frozen=True)
class Last:
    """What the last step of a query does: new values of the old type, and columns that become text."""

    step: str
    changes: Mapping[str, Change]
    labels: Mapping[str, str]
    own: Sequence[str]


def _check_characters(what: str, value: str) -> None:
    """Refuse what no query can hold: NUL, and halves of characters."""
    if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise SpecError(f"the {what} {value!r} holds NUL or half a character, which a query cannot hold; rename it")


class Dialect(ABC):
    """The way one engine writes what a query needs."""

    called: str
    """What users and sqlglot call it, and its file is named."""

    key_types: tuple[str, ...]
    """The types that a key may have, in this engine's words."""

    whole_types: tuple[str, ...]
    single_type: str
    double_type = "double"
    decimal_type = "decimal"
    text_types: tuple[str, ...]
    day_types: tuple[str, ...]
    """The types of dates, and of times that have one."""

    largest_whole = 2**63 - 1
    """No column of whole numbers holds a larger one."""

    knows_types = True
    """Whether a branch of an expression may be of the type of a column, which only the engine knows."""

    folds_case = True
    """Whether names that differ in upper and lower case alone are the same, even between quotes."""

    def __init__(self) -> None:
        try:
            import sqlglot
        except ImportError:
            raise MissingExtraError("queries are written by sqlglot: pip install 'evenhand[sql]'") from None
        self._glot = sqlglot

    def name(self, identifier: str) -> str:
        """Quote an identifier."""
        if not identifier:
            raise SpecError("the name of a table or column is empty; give its name")
        _check_characters("name", identifier)
        quoted: str = self._glot.exp.to_identifier(identifier, quoted=True).sql(dialect=self.called)
        return quoted

    def text(self, value: str) -> str:
        """Quote a text."""
        _check_characters("text", value)
        quoted: str = self._glot.exp.Literal.string(value).sql(dialect=self.called)
        return quoted

    def number(self, value: int | float) -> str:
        """Write a number; a real one so that every engine reads the double that is nearest to its digits."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if math.isinf(value):
            return self.cast(self.text("Infinity" if value > 0 else "-Infinity"), "double")
        if value == 0 and math.copysign(1, value) < 0:
            # As a whole number, or a decimal one, it would lose its sign.
            return self.cast(self.text("-0.0"), "double")
        return str(int(value)) if value == int(value) and abs(value) < 2**63 else self.real(repr(value))

    def real(self, digits: str) -> str:
        """Mark the digits of a number as those of a double: an exponent does."""
        return digits if "e" in digits else f"{digits}e0"

    def literal(self, value: Value) -> str:
        return self.text(value) if isinstance(value, str) else self.number(value)

    def written(self, value: Value) -> str:
        """Write a value that goes into a column, in a type no wider than it must be."""
        return self.literal(value)

    def holds_whole(self, value: Value) -> bool:
        """Whether some column of whole numbers can hold a value."""
        return isinstance(value, str) or -(2**63) <= value <= self.largest_whole

    def cast(self, expression: str, kind: str) -> str:
        """Return an expression as another type: text, double or bigint."""
        return f"CAST({expression} AS {self._glot.exp.DataType.build(kind).sql(dialect=self.called)})"

    def exact(self, column: str) -> str:
        """Return a column of texts, which are equal if their characters are."""
        return self.cast(column, "text")

    def is_nan(self, column: str) -> str:
        """Say whether a number is none."""
        return f"isnan({self.cast(column, 'double')})"

    @abstractmethod
    def day(self, column: str) -> str:
        """Return the day of a date or a time as a whole number since 1970, in UTC where the time has a zone.

        What is said here of a column of any other type is never computed, but every engine must take it: so it goes by
        the text of a value.
        """

    @abstractmethod
    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text as a whole number."""

    @abstractmethod
    def refusal(self, message: str, key: str) -> str:
        """Return a condition that ends the query with a message, which names the row by its key's text."""

    def complaint(self, message: str, key: str) -> str:
        """Return the text that a query ends with."""
        return f"{self.text(f'{message} (in the row of key ')} || coalesce({key}, 'null') || ')'"

    def type_of(self, column: str) -> str:
        """Return the name of a column's type, without what follows in brackets or after a space."""
        return f"split_part(split_part(lower(typeof({column})), '(', 1), ' ', 1)"

    def has_type(self, column: str, types: Iterable[str]) -> str:
        return f"{self.type_of(column)} IN ({', '.join(map(self.text, types))})"

    def is_real(self, column: str) -> str:
        """Say whether a column holds real numbers."""
        return self.has_type(column, (self.single_type, self.double_type))

    @property
    def other_types(self) -> tuple[str, ...]:
        """The types whose values are no texts."""
        numbers = (*self.whole_types, self.single_type, self.double_type, self.decimal_type)
        return (*numbers, "boolean", "date", "timestamp", "timestamp without time zone", "timestamp with time zone")

    def bad_key(self, key: str) -> str:
        """Say whether a key is of a type that engines write in ways of their own."""
        return f"lower(typeof({key})) NOT IN ({', '.join(map(self.text, self.key_types))})"

    def held(self, column: str, value: str, whole: str, single: str) -> str:
        """Return what a column gets for a number: its own if it is of whole numbers, or of single precision."""
        field = self.field(column)
        cases = ((self.whole_types, whole), ((self.single_type,), single))
        # Each in a type of its own: one for all would be that of real numbers, which changes large whole ones.
        written = " ".join(
            f"WHEN {self.has_type(field, types)} THEN {self.into(number, column)}" for types, number in cases
        )
        return f"CASE {written} ELSE {self.into(value, column)} END"

    def field(self, column: str) -> str:
        """Return a column of the table where the last step reads it."""
        return self.name(column)

    carried: str = f"{TABLE}.*"
    """How a row of the table goes through the steps."""

    def rows(self, table: str, computed: Iterable[str], where: str) -> str:
        """Return the first step: the rows of a table, and what is computed for each."""
        return f"SELECT {', '.join([self.carried, *computed])} FROM {table} AS {TABLE} WHERE {where}"

    def beside(self, columns: Iterable[str]) -> list[str]:
        """Return which columns of the table go beside a row that is carried through the steps, to be read later."""
        return []

    def again(self, step: str, own: Iterable[str], computed: Iterable[str]) -> str:
        """Return a step that computes more for each row of one before it, which computed what is the query's own."""
        return f"SELECT {', '.join([f'{TABLE}.*', *computed])} FROM {step} AS {TABLE}"

    def once(self, step: str) -> str:
        """Return a step so that what it computes is computed once, not wherever it is used."""
        return step

    @abstractmethod
    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns of the table, whatever they are."""

    def listed_columns(self, last: Last, columns: Sequence[str]) -> str:
        """Return the last step for the given columns."""
        new = {**self.replaced(last.changes), **last.labels}
        listed = (f"{new[c]} AS {self.name(c)}" if c in new else self.name(c) for c in columns)
        return f"SELECT {', '.join(listed)} FROM {last.step}"

    def replaced(self, changes: Mapping[str, Change]) -> dict[str, str]:
        """Return columns with new values where they move and their own elsewhere."""
        return {
            column: f"CASE WHEN {moved} THEN {self.into(value, column)} ELSE {self.name(column)} END"
            for column, (moved, value) in changes.items()
        }

    def into(self, value: str, column: str) -> str:
        """Return a value in the type of a column, where the engine can be told."""
        return value
