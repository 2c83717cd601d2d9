"""Dataframes to codes and back. The only package that knows frames.

Frames are read and written through narwhals, so that what comes out is of the type that went in. Tables that
evenhand itself makes (mappings, audits) are pandas frames.
"""

from evenhand.tables.reading import (
    Frame,
    cells,
    conditional_rows,
    count,
    counts_of,
    first_unseen,
    read,
    read_csv,
    row_weights,
)
from evenhand.tables.writing import frame, labels, merged, replace, take, to_pandas

__all__ = [
    "Frame",
    "cells",
    "conditional_rows",
    "count",
    "counts_of",
    "first_unseen",
    "frame",
    "labels",
    "merged",
    "read",
    "read_csv",
    "replace",
    "row_weights",
    "take",
    "to_pandas",
]
