"""Tables that are not in memory: files through DuckDB, Spark, and databases through the text of a query."""

from evenhand.engines.counting import (
    AnyTable,
    Rows,
    columns_in,
    counts_of,
    distinct_rows,
    profiled_rows,
    refuse_mistaken,
    rows_in_memory,
    unaware_people,
    weighting_in,
)
from evenhand.engines.files import Columns, Listed, Source, count_rows, opened, read_file
from evenhand.engines.finding import Row, row_at, rows_where
from evenhand.engines.learning import learn_in_pieces
from evenhand.engines.marking import Formulas, Marking
from evenhand.engines.pairing import Pair, each_pair
from evenhand.engines.spark import is_spark, transform_spark
from evenhand.engines.sql import write_query
from evenhand.engines.streaming import Expanded, Read, Written, expand_file, split_file, transform_file
from evenhand.engines.typed import read_as
from evenhand.tables import is_path

__all__ = [
    "AnyTable",
    "Columns",
    "Expanded",
    "Formulas",
    "Listed",
    "Marking",
    "Pair",
    "Read",
    "Row",
    "Rows",
    "Source",
    "Written",
    "columns_in",
    "count_rows",
    "counts_of",
    "distinct_rows",
    "each_pair",
    "expand_file",
    "is_path",
    "is_spark",
    "learn_in_pieces",
    "opened",
    "profiled_rows",
    "read_as",
    "read_file",
    "refuse_mistaken",
    "row_at",
    "rows_in_memory",
    "rows_where",
    "split_file",
    "transform_file",
    "transform_spark",
    "unaware_people",
    "weighting_in",
    "write_query",
]
