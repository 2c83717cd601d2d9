"""What became of a table's rows: how many changed or were unseen, how they were drawn, and what was passed through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evenhand.engines import Expanded, Written
from evenhand.render.section import Fact, Note, Section
from evenhand.spec import Problem
from evenhand.tables.transforming import Transformer, unbalanced

SHOWN = ("seed", "key", "draw")
"""The options that people are shown; JSON has all."""


def transformed_rows(mode: Transformer, done: Written, passed: tuple[str, ...]) -> Iterator[Section]:
    """Yield what was done with a table in one mode; columns that a problem does not name are ``passed`` through."""
    everybody = done.rows if done.people is None else done.people
    facts = (
        Fact("rows", done.rows, "people"),
        *_counted(done, "people", "results"),
        Fact("changed", done.changed, "people"),
        Fact("share_changed", done.changed / everybody if everybody else 0.0, "rate"),
        *_counted(done, "unseen", "typical", "missing"),
        Fact("changes_nothing", mode.changes_nothing, "flag", detail=True),
        Fact("passed_through", list(passed), detail=True),
    )
    yield Section("rows", facts=facts, notes=(*_notes(mode, done), *_passed(passed)))
    yield options(done.options)
    if mode.writes_outcome and done.options["draw"] == "balanced":
        yield Section("balance", notes=tuple(_balanced(mode, done)))


def expanded_rows(mode: Transformer, done: Expanded, passed: tuple[str, ...]) -> Iterator[Section]:
    """Yield what was done with a table without drawing."""
    facts = (
        Fact("rows", done.rows, "people"),
        Fact("results", done.results, "people"),
        Fact("weight", done.weight, detail=True),
        *_counted(done, "unseen", "typical", "missing"),
        Fact("passed_through", list(passed), detail=True),
    )
    by, column = done.options["weights"] or done.options["frequencies"], done.options["weight_column"]
    of = Note("rows.number") if by is None else Note("rows.sum", {"column": by})
    weights = Note("rows.weights", {"weight": done.weight, "of": of, "column": column})
    yield Section("rows", facts=facts, notes=(weights, *_unseen(mode, done), *_passed(passed)))
    yield options(done.options)
    yield Section("use", notes=(Note("rows.use", {"column": column}), Note("rows.no_weights")))


def outside(columns: Iterable[str], problem: Problem, *used: str | None) -> tuple[str, ...]:
    """Return the columns that a problem does not name and that are not ``used`` otherwise: they are passed through."""
    own = {*problem.columns, problem.weights, problem.frequencies, *used}
    return tuple(name for name in columns if name not in own)


def options(given: Mapping[str, Any]) -> Section:
    """Return with which options something was done."""
    facts = (Fact(name, value, detail=name not in SHOWN or value is None) for name, value in given.items())
    notes = (Note("options.drawn_seed"),) if given.get("seed_origin") == "drawn" else ()
    return Section("options", facts=tuple(facts), notes=notes)


def _counted(done: Any, *names: str) -> Iterator[Fact]:
    for name in names:
        yield Fact(name, getattr(done, name), "people", detail=not getattr(done, name))


def _notes(mode: Transformer, done: Written) -> Iterator[Note]:
    if not mode.writes_outcome:
        yield Note("rows.outcome_unread")
    if done.people is not None:
        yield Note("rows.counts", {"people": done.people, "column": done.options["frequencies"]})
    yield from _unseen(mode, done)
    if mode.changes_nothing:
        yield Note("rows.changes_nothing")
    if done.options["key"] is not None:
        yield Note("rows.key", {"key": done.options["key"]})


def _unseen(mode: Transformer, done: Written | Expanded) -> Iterator[Note]:
    """Yield what became of rows with a combination that was not fitted."""
    if not done.unseen:
        return
    key = "rows.unchanged" if not done.typical else "rows.drawn" if done.typical == done.unseen else "rows.some_drawn"
    missing = Note("rows.missing", {"missing": done.missing}) if done.missing else None
    then = Note(key, {"typical": done.typical, "then": mode.then_drawn})
    yield Note("rows.unseen", {"unseen": done.unseen, "missing": missing, "then": then})


def _passed(columns: Iterable[str]) -> tuple[Note, ...]:
    return (Note("rows.passed_through", {"columns": list(columns)}),) if columns else ()


def _balanced(mode: Transformer, done: Written) -> Iterator[Note]:
    """Yield what balanced draws kept, and what they could not keep."""
    columns = mode.nest.columns
    levels = [Note("balanced.level", {"columns": columns[:level]}) for level in mode.nest.levels]
    yield Note("balanced.kept", {"groups": Note("balanced.groups", {"levels": levels}) if levels else None})
    yield from unbalanced(mode, done, done.options["key"])
