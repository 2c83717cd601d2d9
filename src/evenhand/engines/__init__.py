"""Tables that are not in memory: files, through DuckDB."""

from evenhand.engines.counting import Rows, counts_of, distinct_rows
from evenhand.engines.files import Opened, Source, is_path, opened, read_file
from evenhand.engines.streaming import Written, transform_file

__all__ = [
    "Opened",
    "Rows",
    "Source",
    "Written",
    "counts_of",
    "distinct_rows",
    "is_path",
    "opened",
    "read_file",
    "transform_file",
]
