"""Tables of any kind through a mapping: drawn, or with every possible result; of a file, what was done.

Frames, tables of counts, files and Spark dataframes have each a way of their own through the kernel.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from evenhand import check, engines, tables
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, Marking
from evenhand.errors import SpecError
from evenhand.findings.rows import expanded_rows, outside, transformed_rows
from evenhand.mapping import Mapping
from evenhand.resources import Progress
from evenhand.tables.splitting import split
from evenhand.tables.transforming import Draws, How, Mode, settled, transform
from evenhand.tables.unfolding import unfold

F = TypeVar("F")


def transformed(
    mapping: Mapping,
    name: Mode,
    frame: AnyTable,
    draws: Draws,
    frequencies: str | None,
    progress: Progress | None,
    *,
    to: Any,
    changes: Any,
    **marks: Any,
) -> Any:
    """Return a table after one mode was used on it; of a file, which is written, what was done."""
    how = settled(draws, release=name == "release")
    marking = _marking(mapping, name, to, **marks)
    check.progress(progress)
    mode = mapping.mode(name, how.unseen, how.missing)
    if frequencies is not None:
        check.column("frequencies", frequencies)
    _, weighting = engines.weighting_in([mapping.problem], frame, None, frequencies)
    counts = weighting if weighting is not None and weighting.repeats else None
    if engines.is_path(frame):
        options = mapping.problem.csv, progress, changes, marking
        if counts is None:
            done = engines.transform_file(mode, frame, to, how, *options)
        else:
            done = engines.split_file(mode, frame, to, how, counts, *options)
        drawn = {"seed": how.seed, "seed_origin": how.seed_origin, "key": how.key, "draw": how.draw}
        counted = {"frequencies": None if counts is None else counts.column}
        done = replace(done, options={**drawn, **counted, **_said(name, how), **marking.options})
        read = () if done.read is None else done.read.columns
        passed = outside(read, mapping.problem, counted["frequencies"])
        return replace(done, sections=tuple(transformed_rows(mode, done, passed)))
    if to is not None:
        raise SpecError("to= names the result of a file; a dataframe is returned")
    if changes is not None:
        raise SpecError("changes= lists what changed in a file; of a dataframe, compare it with what is returned")
    if engines.is_spark(frame):
        if counts is not None:
            raise SpecError(
                "Spark transforms one row per person, and these rows stand for several: collect the table of "
                "counts first, with toPandas()"
            )
        return engines.transform_spark(mode, frame, how)
    if counts is not None:
        return tables.returned(split(mode, tables.read(frame), how, counts).table, frame)
    return tables.returned(transform(mode, tables.read(frame), how).table, frame)


def possibilities(mapping: Mapping, frame: F, draws: Draws, *, mode: Mode, row_column: str, weight_column: str) -> F:
    """Return every possible result of each row of a frame."""
    chosen = mapping.mode(mode, draws.unseen, draws.missing)
    table = tables.read(frame)
    tables.refuse_taken("row_column", row_column, table.columns)
    tables.refuse_taken("weight_column", weight_column, table.columns)
    if row_column == weight_column:
        raise SpecError(f"row_column and weight_column must be two names, not both {row_column!r}")
    how = _undrawn(draws)
    wide, rows, share = unfold(chosen, table, how)
    found: F = tables.returned(tables.with_columns(wide, {row_column: rows, weight_column: share}), frame)
    return found


def expanded(
    mapping: Mapping,
    frame: AnyTable,
    draws: Draws,
    progress: Progress | None,
    *,
    weights: Any,
    frequencies: Any,
    weight_column: str,
    to: Any,
    **marks: Any,
) -> Any:
    """Return a table with every possible result of each row, equal rows merged; write a file, with each row's own."""
    check.progress(progress)
    mode, how = mapping.mode("release", draws.unseen, draws.missing), _undrawn(draws)
    marking = _marking(mapping, "expand", to, **marks)
    _, weighting = engines.weighting_in([mapping.problem], frame, weights, frequencies)
    if engines.is_path(frame):
        done = engines.expand_file(
            mode, frame, to, how, weighting, weight_column, mapping.problem.csv, progress, marking
        )
        named = {**Weighting.named_by(weighting), "weight_column": weight_column}
        done = replace(done, options={**_said("expand", how), **named, **marking.options})
        passed = outside(done.read.columns, mapping.problem, *Weighting.named_by(weighting).values())
        return replace(done, sections=tuple(expanded_rows(mode, done, passed)))
    if to is not None:
        raise SpecError("to= names the result of a file; a dataframe is returned")
    table = tables.read(frame)
    given = tables.weights_of(mapping.problem.columns, table, weighting)
    if weighting is not None and weighting.column is not None:
        table = table.drop(weighting.column)
    tables.refuse_taken("weight_column", weight_column, table.columns)
    wide, rows, share = unfold(mode, table, how, given)
    weight = share if given is None else share * given[rows]
    return tables.returned(tables.merged(wide, weight, weight_column), frame)


def _undrawn(draws: Draws) -> How:
    """Settle draws where every result is listed, with the middle of a bin in place of a value from it."""
    return settled(replace(draws, seed="default", restore=draws.restore or "midpoint"))


def _marking(mapping: Mapping, mode: str, to: Any, *, mark: Any, formulas: Any, manifest: Any) -> Marking:
    """Return what a file that is written says of itself; nothing of it goes with a dataframe."""
    marking = Marking.of(mode, mapping.fingerprint, column=mark, formulas=formulas, manifest=manifest)
    for name, value in (marking.options | {"formulas": None if marking.formulas == "keep" else formulas}).items():
        if value is not None and to is None:
            raise SpecError(f"{name}= says how a file is written; it goes with to=, and not with a dataframe")
    return marking


def _said(mode: str, how: How) -> dict[str, Any]:
    """Return what was asked for, as whoever wants to do the same again needs it."""
    return {"mode": mode, "unseen": how.unseen or "typical", "missing": how.missing, "restore": how.restore.value}
