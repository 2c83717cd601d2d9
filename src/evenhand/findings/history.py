"""The batches that a mapping was watched on, in a file of lines: one JSON document for each, with its own checksum.

A line is added by replacing the file as a whole, one process at a time: nothing is half-written, and nothing is lost. A
history of another mapping, or one of whose lines is damaged, is refused, and stays as it is.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evenhand import tables
from evenhand.errors import StorageError
from evenhand.files import alone, current_place, existing, replace_file, text_of, together
from evenhand.findings.charts import history_charts
from evenhand.findings.document import plain, signed
from evenhand.findings.monitoring import JUDGED, LOOKED_AT, Monitored
from evenhand.render.chart import Picture
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Kind, Section, Table
from evenhand.text import counted

if TYPE_CHECKING:
    import pandas as pd

FORMAT, VERSION = "evenhand-monitor", 1

DRIFT = {"what": str, "name": str, "apart": float, "expected": float, "limit": float, "chance": float, "drifted": bool}
BOUND = {
    "constraint": str, "where": str, "bound": float, "value": float, "low": float, "high": float, "expected": float,
    "verdict": str,
}  # fmt: skip
BATCH = {
    "at": str, "name": str, "people": int, "confidence": float, "outcomes": bool, "fitted": bool, "weighed": bool,
    "verdict": str,
}  # fmt: skip
"""What is kept of a batch, of what was looked at and of bounds, and of which kind it is."""

NOT_KNOWN = ("name", "verdict")
"""What may be left open; numbers may, too."""

BATCHES: dict[str, Kind] = {
    "batch": "number", "at": "text", "name": "text", "people": "people", "confidence": "number", "outcomes": "flag",
    "fitted": "flag", "weighed": "flag", "verdict": "text", "drifted": "number",
}  # fmt: skip
"""The columns of batches."""


@dataclass(frozen=True, eq=False, repr=False)
class History(Finding):
    """The batches that a mapping was watched on.

    Attributes
    ----------
    path : str
        The file.
    mapping : str
        The fingerprint of the mapping.
    records : tuple of mappings
        One for each batch: when it was watched (``at``), its name, people and verdict, and under ``drift`` and
        ``bounds`` what was found.
    """

    path: str
    mapping: str
    records: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.records)

    @property
    def batches(self) -> pd.DataFrame:
        """One row for each batch, numbered from 1."""
        columns: dict[str, Any] = {"batch": list(range(1, len(self) + 1))}
        columns |= {name: [record[name] for record in self.records] for name in BATCH}
        columns["drifted"] = [sum(look["drifted"] for look in record["drift"]) for record in self.records]
        return tables.frame(columns)

    @property
    def drift(self) -> pd.DataFrame:
        """One row for each batch and each thing that was looked at."""
        return self._long("drift", DRIFT)

    @property
    def bounds(self) -> pd.DataFrame:
        """One row for each batch and each parity bound."""
        return self._long("bounds", BOUND)

    def _long(self, part: str, kinds: Mapping[str, type]) -> pd.DataFrame:
        rows = [{"batch": at, **row} for at, record in enumerate(self.records, 1) for row in record[part]]
        return tables.frame({name: [row[name] for row in rows] for name in ("batch", *kinds)})

    @property
    def sections(self) -> tuple[Section, ...]:
        """All of it as data; of a batch the verdict and how much drifted are shown."""
        batches = Table.of("batches", self.batches, BATCHES, detail=("confidence", "outcomes", "fitted", "weighed"))
        drift = Table.of("drift", self.drift, {"batch": "number", **LOOKED_AT}, most=0)
        bounds = Table.of("bounds", self.bounds, {"batch": "number", **JUDGED}, most=0)
        facts = Fact("file", self.path), Fact("mapping", self.mapping, detail=True)
        return (Section("batches", facts=facts, tables=(batches, drift, bounds)),)

    def chart(self) -> Picture:
        """Return a picture of every batch: intervals against their bounds, and drift against what sampling explains.

        Its ``save`` writes SVG, HTML or PNG (with the extra ``charts``).
        """
        if not self.records:
            raise StorageError(f"{self.path!r} has no batch that could be drawn")
        return Picture(tuple(history_charts(self.records)))

    def __repr__(self) -> str:
        return f"<History of {counted(len(self), 'batch', 'batches')} in {self.path!r}>"


def read_history(path: str, mapping: str) -> History:
    """Read the history of a mapping, by its fingerprint; a file that is not there is an empty one."""
    return History(path, mapping, _records(path, _text(path), mapping))


def add_batch(history: History, found: Monitored, name: str | None = None) -> History:
    """Add a line about a batch; return the history with it, and with what others added meanwhile."""
    path, mapping = history.path, history.mapping
    entry = _entry(found, name, mapping)
    line = json.dumps(signed(entry), ensure_ascii=True, sort_keys=True, allow_nan=False)
    with together() as files:
        # Others wait until the line has appeared.
        files.until_then.enter_context(alone(path))
        text = _text(path)
        records = _records(path, text, mapping)
        ended = text if not text or text.endswith("\n") else f"{text}\n"
        replace_file(path, f"{ended}{line}\n".encode(), always=True)
    return History(path, mapping, (*records, _read_entry(entry)))


def _text(path: str) -> str:
    now = current_place(path)
    found = existing(now)
    if found is None:
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            raise StorageError(f"there is no folder {folder!r} to keep the history {path!r} in")
        return ""
    return text_of(now, "the history") if found.st_size else ""


def _records(path: str, text: str, mapping: str) -> tuple[Mapping[str, Any], ...]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict) or entry.get("format") != FORMAT:
                raise ValueError("it is no line that evenhand monitor wrote")
            if entry.get("version") != VERSION:
                raise StorageError(
                    f"line {number} of {path!r} was written by another evenhand (format {entry.get('version')!r}, "
                    f"known is {VERSION}); give another name for the history"
                )
            if signed(entry) != entry:
                raise ValueError("its checksum does not match")
            if entry["mapping"] != mapping:
                raise StorageError(
                    f"{path!r} is the history of another mapping (line {number}); nothing was added to it: give every "
                    f"mapping a history of its own"
                )
            found.append(_read_entry(entry))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            why = "it is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
            raise StorageError(
                f"line {number} of the history {path!r} is damaged: {why}. Nothing was added; restore the file, or "
                f"take that line out of it"
            ) from None
    return tuple(found)


def _entry(found: Monitored, name: str | None, mapping: str) -> dict[str, Any]:
    own = {key: getattr(found, key) for key in BATCH if key not in ("at", "name")}
    when = datetime.now(UTC).isoformat(timespec="seconds")
    parts = {
        "drift": _rows(found.drift, DRIFT),
        "bounds": _rows(found.bounds, BOUND),
        "coverage": _rows(found.coverage, {"column": str, "what": str, "rows": float, "policy": str}),
    }
    document = {"format": FORMAT, "version": VERSION, "mapping": mapping, "at": when, "name": name, **own, **parts}
    written: dict[str, Any] = plain(document)
    return written


def _rows(frame: pd.DataFrame, columns: Mapping[str, type]) -> list[dict[str, Any]]:
    rows: list[Any] = frame[list(columns)].to_dict("records")
    return rows


def _read_entry(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a line's document with its numbers as numbers; what is missing or of another kind is an error."""
    parts = {"drift": DRIFT, "bounds": BOUND}
    rows = {part: [_typed(row, kinds) for row in _listed(entry[part])] for part, kinds in parts.items()}
    return {**_typed(entry, BATCH), **rows}


def _listed(given: Any) -> Sequence[Any]:
    if not isinstance(given, list):
        raise TypeError("a part of it is no list")
    return given


def _typed(row: Mapping[str, Any], kinds: Mapping[str, type]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = row[name]
        if kind is float:
            words = {None: math.nan, "infinite": math.inf, "-infinite": -math.inf}
            value = words[value] if value is None or isinstance(value, str) else float(value)
        elif not isinstance(value, kind) and not (value is None and name in NOT_KNOWN):
            raise TypeError(f"its {name} cannot be {value!r}")
        found[name] = value
    return found
