"""Spark's SQL, of version 4."""

from __future__ import annotations

from evenhand.data.levels import Value
from evenhand.engines.sql.dialects.base import HEX_DIGITS, Dialect, Last
from evenhand.errors import SpecError


class Spark(Dialect):
    """Spark 4 can set columns in a pipe; a literal may say that it is narrow, so that columns are not widened."""

    called = "spark"
    whole_types = ("tinyint", "smallint", "int", "bigint")
    single_type = "float"
    knows_types = False
    text_types = ("string", "char", "varchar")
    day_types = ("date", "timestamp", "timestamp_ntz")
    key_types = ("string", "boolean", "date", *whole_types)

    def name(self, identifier: str) -> str:
        """Quote an identifier that Spark does not take for a variable."""
        if "${" in identifier:
            raise SpecError(f"Spark would take {identifier!r} for a variable, even between quotes; rename it")
        return super().name(identifier)

    def text(self, value: str) -> str:
        """Quote a text; an awkward one is written as its bytes."""
        # Settings of a session change what backslashes and quotes mean, and ${x} is replaced before anything is read.
        plain = super().text(value)
        if value.isprintable() and not set(value) & set("\\'$"):
            return plain
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def real(self, digits: str) -> str:
        """Mark the digits of a number as those of a double; a setting makes a decimal of an exponent."""
        return f"{digits}D"

    def written(self, value: Value) -> str:
        """Write a value; a small whole number says that it is small."""
        digits = self.literal(value)
        if isinstance(value, str | bool) or not digits.lstrip("-").isdigit():
            return digits
        size = abs(int(digits))
        return f"{digits}{'Y' if size < 2**7 else 'S' if size < 2**15 else ''}"

    def day(self, column: str) -> str:
        """Return the day of a date or a time; one whose type says nothing of zones has that of the session."""
        text = self.cast(column, "text")
        zoned = f"CAST(to_utc_timestamp(CAST({text} AS TIMESTAMP_LTZ), current_timezone()) AS DATE)"
        day = f"CASE WHEN typeof({column}) = 'timestamp' THEN {zoned} ELSE CAST({text} AS DATE) END"
        return f"datediff({day}, DATE '1970-01-01')"

    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text."""
        return f"CAST(conv(substr(md5({text}), 1, {HEX_DIGITS}), 16, 10) AS BIGINT)"

    def refusal(self, message: str, key: str) -> str:
        """End the query with a message."""
        return f"raise_error({self.complaint(message, key)})"

    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns."""
        new = {**self.replaced(last.changes), **last.labels}
        written = ", ".join(f"{self.name(column)} = {value}" for column, value in new.items())
        return f"FROM {last.step}" + (f" |> SET {written}" if new else "") + f" |> DROP {', '.join(last.own)}"
