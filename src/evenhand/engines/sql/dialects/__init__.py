"""The dialects of SQL that queries are written in: a file each, and a line in ``DIALECTS``."""

from evenhand.engines.sql.dialects.base import Dialect
from evenhand.engines.sql.dialects.duckdb import DuckDB
from evenhand.engines.sql.dialects.postgres import Postgres
from evenhand.engines.sql.dialects.spark import Spark
from evenhand.errors import SpecError, did_you_mean

__all__ = ["DIALECTS", "Dialect", "dialect_of"]

DIALECTS: dict[str, type[Dialect]] = {"duckdb": DuckDB, "spark": Spark, "postgres": Postgres}
"""Every dialect, by the name that users give it."""


def dialect_of(name: str) -> Dialect:
    """Return the dialect of that name.

    Examples
    --------
    >>> dialect_of("postgres").name('we"ird')
    '"we""ird"'
    >>> dialect_of("spark").text("it's")
    "CAST(X'69742773' AS STRING)"
    """
    if name not in DIALECTS:
        raise SpecError(f"dialect must be one of {list(DIALECTS)}, not {name!r}.{did_you_mean(name, DIALECTS)}")
    return DIALECTS[name]()
