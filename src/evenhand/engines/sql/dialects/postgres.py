"""PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenhand.engines.sql.dialects.base import HEX_DIGITS, OWN, TABLE, Dialect, Last
from evenhand.errors import Option, SpecError

LARGEST_IDENTIFIER = 63
"""PostgreSQL cuts longer names off, in bytes."""

ROW = f"{OWN}row"
"""A whole row of the table, which the last step takes apart."""


class Postgres(Dialect):
    """PostgreSQL can neither replace nor set columns of a star, but fields of a row whose type it knows."""

    called = "postgres"
    carried = f"{TABLE} AS {ROW}"
    whole_types = ("smallint", "integer", "bigint")
    single_type, double_type, decimal_type = "real", "double precision", "numeric"
    text_types = ("text", "character varying", "character")
    day_types = ("date", "timestamp without time zone", "timestamp with time zone")
    key_types = ("text", "character varying", "boolean", "date", "uuid", *whole_types)
    folds_case = False

    def name(self, identifier: str) -> str:
        """Quote an identifier that is not too long."""
        quoted, size = super().name(identifier), len(identifier.encode())
        if size > LARGEST_IDENTIFIER:
            raise SpecError(
                f"{identifier!r} has {size} bytes, and PostgreSQL cuts names off after {LARGEST_IDENTIFIER}; rename it"
            )
        return quoted

    def text(self, value: str) -> str:
        """Quote a text; what a backslash means is a setting, unless the text says that it escapes."""
        quoted = super().text(value)
        return "E" + quoted.replace("\\", "\\\\") if "\\" in value else quoted

    def type_of(self, column: str) -> str:
        return f"pg_typeof({column})::text"

    def field(self, column: str) -> str:
        return f"({ROW}).{self.name(column)}"

    def exact(self, column: str) -> str:
        """Return a column of texts that are compared by their bytes."""
        # A collation may hold texts of different characters to be equal.
        return f'{super().exact(column)} COLLATE "C"'

    def is_nan(self, column: str) -> str:
        """Say whether a number is none."""
        return f"{self.cast(column, 'double')} = 'NaN'"

    def day(self, column: str) -> str:
        """Return the day of a date or a time."""
        text = self.cast(column, "text")
        zoned = f"CAST({text} AS timestamptz) AT TIME ZONE 'UTC'"
        time = f"CASE WHEN {self.has_type(column, (self.day_types[-1],))} THEN {zoned} ELSE {text}::timestamp END"
        return f"(({time})::date - DATE '1970-01-01')"

    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text."""
        return f"('x' || lpad(substr(md5(convert_to({text}, 'UTF8')), 1, {HEX_DIGITS}), 16, '0'))::bit(64)::bigint"

    def refusal(self, message: str, key: str) -> str:
        """End the query with a message."""
        # There is no function that raises an error, but a text that is no truth does; it depends on the row, or it
        # would be read before any row is.
        return f"CAST({self.complaint(message, key)} AS BOOLEAN)"

    def into(self, value: str, column: str) -> str:
        """Return a value as text, which a field of any type takes: numbers of JSON have no negative zero."""
        return self.cast(value, "text")

    def bad_key(self, key: str) -> str:
        """Say whether a key is of a type, or a date in a style, of its own."""
        types = ", ".join(map(self.text, self.key_types))
        dates = f"pg_typeof({key})::text = 'date' AND current_setting('DateStyle') NOT LIKE 'ISO%'"
        return f"pg_typeof({key})::text NOT IN ({types}) OR {dates}"

    def beside(self, columns: Iterable[str]) -> list[str]:
        """Return the columns: a row that is carried as one shows none."""
        return list(map(self.name, columns))

    def again(self, step: str, own: Iterable[str], computed: Iterable[str]) -> str:
        return f"SELECT {', '.join([ROW, *own, *computed])} FROM {step}"

    def once(self, step: str) -> str:
        """Return a step that is not merged into the next."""
        return f"{step} OFFSET 0"

    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns."""
        if last.labels:
            made = f" makes texts of {list(last.labels)}; PostgreSQL then needs "
            raise SpecError(Option("restore", "label"), made, Option("columns"))
        return f"SELECT ({ROW}).* FROM ({self._with_rows(last)}) AS {OWN}last"

    def listed_columns(self, last: Last, columns: Sequence[str]) -> str:
        """Return the last step for the given columns."""
        labels = {column: f"{text} AS {self.name(column)}" for column, text in last.labels.items()}
        listed = (labels.get(column, self.field(column)) for column in columns)
        return f"SELECT {', '.join(listed)} FROM ({self._with_rows(last)}) AS {OWN}last"

    def _with_rows(self, last: Last) -> str:
        """Return the step whose rows have their new fields; a row keeps its type, and so do its fields."""
        rest = ", ".join(last.own)
        if not last.changes:
            return f"SELECT {ROW}, {rest} FROM {last.step}"
        fields = " || ".join(
            f"CASE WHEN {moved} THEN jsonb_build_object({self.text(column)}, {self.into(value, column)}) "
            f"ELSE '{{}}' END"
            for column, (moved, value) in last.changes.items()
        )
        moved = " OR ".join(change.moved for change in last.changes.values())
        new = f"CASE WHEN {moved} THEN jsonb_populate_record({ROW}, {fields}) ELSE {ROW} END"
        return self.once(f"SELECT {new} AS {ROW}, {rest} FROM {last.step}")
