"""A mapping as the text of a query, for a database that does what apply mode or train mode does with a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evenhand.engines.sql import write_query
from evenhand.errors import SpecError
from evenhand.mapping import Mapping
from evenhand.tables.transforming import Draws, Mode, draws_of, settled


def to_sql(
    mapping: Mapping,
    dialect: str,
    table: str | Sequence[str],
    key: str,
    draws: Draws | None = None,
    *,
    mode: Mode = "apply",
    columns: Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Return a query that releases a table of a database by key, or applies a mapping to it.

    It does what :meth:`evenhand.Mapping.release` and :meth:`evenhand.Mapping.apply` do with a key.

    It needs nothing but the table: the mapping's changes are written into it. The rows that come out are those of
    ``mapping.apply(frame, key=key, seed=seed)``, value for value, in the order that the engine gives them. Needs
    the extra ``sql``.

    Parameters
    ----------
    dialect : str
        The engine that is to run it, such as ``"duckdb"``. For all columns, Spark must be of version 4 or newer.
    table : str or sequence of str
        The table's name as the engine keeps it, such as ``"people"`` or ``"sales.people"``; a name that has a dot
        of its own is given as a sequence of parts. Everything is quoted.
    key : str
        The column that says who a row is: text, whole numbers, dates, booleans or UUIDs. A missing key ends the
        query with an error, and so does a missing value where ``missing`` does not allow it.
    draws : Draws, optional
        How results are drawn; each option of :class:`evenhand.Draws` is also a keyword. A fresh seed is written into
        the query.
        Balanced draws depend on all rows, and are refused. Unseen combinations are not warned of; with
        ``unseen="error"`` they end the query, and so does a missing value with ``missing="error"``.
    mode : {"apply", "release"}
        Which of the two.
    columns : sequence of str, optional
        The columns that come out, in their order; by default all of the table, in theirs. PostgreSQL needs it with
        ``restore="label"``.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> query = mapping.to_sql("duckdb", "people", "id")
    >>> import duckdb
    >>> people = data.frame.reset_index(names="id").astype({"age_cat": str, "priors_count": str})
    >>> new = duckdb.sql(query).df().sort_values("id", ignore_index=True)
    >>> new.equals(mapping.apply(people, key="id"))
    True
    """
    how = settled(replace(draws_of(draws, options, "key"), key=key))
    query = write_query(mapping.mode(mode, how.unseen, how.missing), how, dialect, table, columns)
    if mapping.problem.frequencies is not None and mapping.problem.frequencies in (columns or ()):
        raise SpecError(
            f"a query gives each row one result, and {mapping.problem.frequencies!r} says that a row stands for "
            f"several people: release a file or a dataframe"
        )
    return query
