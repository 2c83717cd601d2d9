"""Dataframes to codes and back. The only package that knows frames.

Frames are read and written through narwhals, so that what comes out is of the type that went in. Tables that
evenhand itself makes (mappings, audits) are pandas frames.
"""

from evenhand.tables.columns import (
    REAL,
    WHOLE,
    Coded,
    Encoded,
    blank_numbers,
    canonical,
    column,
    gap_advice,
    levels_of,
)
from evenhand.tables.frames import Frame, Table, is_path, quoted, read, returned, take, to_pandas
from evenhand.tables.keys import key_texts
from evenhand.tables.numbering import NULL
from evenhand.tables.reading import (
    cells,
    conditional_rows,
    count,
    count_rows,
    first_unseen,
    gaps,
    is_missing,
    lacking,
    refuse_gaps,
    variable_of,
    weights_column,
    weights_of,
)
from evenhand.tables.writing import (
    Lots,
    Restore,
    as_levels,
    as_single,
    as_whole,
    becomes_text,
    choices,
    frame,
    labels,
    merged,
    replace,
    with_columns,
)

__all__ = [
    "NULL",
    "REAL",
    "WHOLE",
    "Coded",
    "Encoded",
    "Frame",
    "Lots",
    "Restore",
    "Table",
    "as_levels",
    "as_single",
    "as_whole",
    "becomes_text",
    "blank_numbers",
    "canonical",
    "cells",
    "choices",
    "column",
    "conditional_rows",
    "count",
    "count_rows",
    "first_unseen",
    "frame",
    "gap_advice",
    "gaps",
    "is_missing",
    "is_path",
    "key_texts",
    "labels",
    "lacking",
    "levels_of",
    "merged",
    "quoted",
    "read",
    "refuse_gaps",
    "replace",
    "returned",
    "take",
    "to_pandas",
    "variable_of",
    "weights_column",
    "weights_of",
    "with_columns",
]
