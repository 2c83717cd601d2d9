"""DuckDB's SQL."""

from __future__ import annotations

from evenhand.engines.sql.dialects.base import HEX_DIGITS, Dialect, Last


class DuckDB(Dialect):
    """DuckDB can replace columns of a star, and cast to the type of a column."""

    called = "duckdb"
    whole_types = (
        *("tinyint", "smallint", "integer", "bigint", "hugeint"),
        *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
    )
    largest_whole = 2**64 - 1
    single_type = "float"
    text_types = ("varchar", "enum")
    day_types = ("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns")
    key_types = ("varchar", "boolean", "date", "uuid", *whole_types)

    def day(self, column: str) -> str:
        """Return the day of a date or a time."""
        text = self.cast(column, "text")
        zoned = f"make_timestamp(epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)))"
        plain = f"TRY_CAST({text} AS TIMESTAMP)"
        time = f"CASE WHEN lower(typeof({column})) = 'timestamp with time zone' THEN {zoned} ELSE {plain} END"
        return f"date_diff('day', DATE '1970-01-01', {time})"

    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text."""
        return f"CAST('0x' || substr(md5({text}), 1, {HEX_DIGITS}) AS BIGINT)"

    def refusal(self, message: str, key: str) -> str:
        """End the query with a message."""
        return f"error({self.complaint(message, key)})"

    def exact(self, column: str) -> str:
        """Return a column of texts that are compared by their bytes."""
        return f"{super().exact(column)} COLLATE C"

    def into(self, value: str, column: str) -> str:
        return f"cast_to_type({value}, {self.name(column)})"

    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns."""
        new = {**self.replaced(last.changes), **last.labels}
        replaced = ", ".join(f"{value} AS {self.name(column)}" for column, value in new.items())
        star = f"* EXCLUDE ({', '.join(last.own)})" + (f" REPLACE ({replaced})" if new else "")
        return f"SELECT {star} FROM {last.step}"
