"""The dialects of SQL that queries are written in: one file and one line here per dialect."""
# isort: off

from evenhand import check
from evenhand.engines.sql.dialects.base import Dialect
from evenhand.engines.sql.dialects.duckdb import DuckDB as DuckDB
from evenhand.engines.sql.dialects.spark import Spark as Spark
from evenhand.engines.sql.dialects.postgres import Postgres as Postgres

__all__ = ["DIALECTS", "Dialect", "dialect_of"]

DIALECTS: dict[str, type[Dialect]] = {
    kind.called: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Dialect) and kind is not Dialect
}
"""Every dialect that is imported above, by the name that users give it."""


def dialect_of(name: str) -> Dialect:
    """Return the dialect of that name.

    Examples
    --------
    >>> dialect_of("postgres").name('we"ird')
    '"we""ird"'
    >>> dialect_of("spark").text("it's")
    "CAST(X'69742773' AS STRING)"
    """
    check.one_of("dialect", name, DIALECTS)
    return DIALECTS[name]()
