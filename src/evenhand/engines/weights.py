"""The weights of a file's rows, which come in batches: what is no weight is counted, and refused at the end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.weighting import Weighting
from evenhand.engines.files import Batch, Source
from evenhand.errors import DataError
from evenhand.tables import parsed_number
from evenhand.text import counted


class Weights:
    """The weights of a file; of none, one for each row."""

    def __init__(self, source: Source, weighting: Weighting | None) -> None:
        self.source, self.weighting = source, weighting
        self.wrong, self.example, self.total = 0, None, 0.0

    @property
    def column(self) -> str | None:
        return None if self.weighting is None else self.weighting.column

    def of(self, batch: Batch) -> Numbers:
        """Return the weight of each row of a batch, zero where it has none that can be counted."""
        if self.weighting is None or self.column is None:
            return np.ones(len(batch))
        found, shown = self._values(batch, self.column)
        bad = ~np.isfinite(found) | (found < 0)
        if self.weighting.repeats:
            bad |= found != np.floor(found)
        if bad.any():
            self.example = self.example if self.wrong else shown(int(np.argmax(bad)))
            self.wrong += int(np.count_nonzero(bad))
            found = np.where(bad, 0.0, found)
        self.total += float(found.sum())
        return found

    def _values(self, batch: Batch, column: str) -> tuple[Numbers, Any]:
        """Return numbers, NaN for what is none, and what tells the value of a row."""
        if batch.records is not None:
            codes, texts = batch.records.numbered(self.source.place(column))
            return _numbers(texts)[codes], lambda row: texts[codes[row]]
        series = batch.table[column]
        if series.dtype.is_numeric():
            native = series.to_native()
            found = np.asarray(native.cast("float64").to_numpy(), dtype=float)
            return found, lambda row: native[row].as_py()
        values = series.to_list()
        return _numbers(values), lambda row: values[row]

    def refuse_wrong(self) -> None:
        """Refuse a column in which rows have no number that can be counted."""
        if self.wrong:
            assert self.weighting is not None
            raise DataError(
                f"{counted(self.wrong, 'row')} of {self.source.name!r} {'has' if self.wrong == 1 else 'have'} no "
                f"{self.weighting.needed} in column {self.column!r}, for example {self.example!r}"
            )

    def refuse_sum(self, rows: int) -> None:
        """Refuse weights that cannot be added up, or are zero everywhere."""
        self.refuse_wrong()
        if self.weighting is None or not rows:
            return
        if not self.total:
            noun = self.weighting.noun
            raise DataError(f"no row of {self.source.name!r} has a positive {noun} in column {self.column!r}")
        if not math.isfinite(self.total):
            raise DataError(
                f"the {self.weighting.option} in column {self.column!r} of {self.source.name!r} are too large to be "
                f"added up"
            )


def _numbers(values: list[Any]) -> Numbers:
    found = (parsed_number(value) if isinstance(value, str) else value for value in values)
    return np.array([np.nan if number is None else float(number) for number in found], dtype=float)
