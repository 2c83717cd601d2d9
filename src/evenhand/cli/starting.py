"""The command that starts a problem: from a table to a commented TOML."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.files import writing
from evenhand.cli.options import ForceOption, FrequenciesOption, WeightsOption, words
from evenhand.cli.schema import naming_schema
from evenhand.cli.wording import worded
from evenhand.errors import SpecError, some_of
from evenhand.files import replace_file

if TYPE_CHECKING:
    from evenhand.data.weighting import Weighting
    from evenhand.use.proposal import Proposal


class CellsWay(StrEnum):
    """What cells are."""

    leaves = "leaves"
    levels = "levels"


def init(
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.")],
    protected: Annotated[str, typer.Option(help="The protected columns: sex,race.")],
    outcome: Annotated[str, typer.Option(help="The column whose rates are compared.")],
    features: Annotated[
        str | None, typer.Option(help="The columns that may be changed; otherwise those that tell most are chosen.")
    ] = None,
    cells: Annotated[
        CellsWay | None,
        typer.Option(
            help="Leaves of a tree over all columns, which stay as they are, or levels of a few; by default leaves, "
            "where many columns tell something about the outcome.",
        ),
    ] = None,
    favourable: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="The outcome that is good for a person; people are moved towards it only, where bounds can be met so.",
        ),
    ] = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    delimiter: Annotated[str, typer.Option(help="What stands between two fields.")] = ",",
    names: Annotated[str | None, typer.Option(help="All columns' names, for a file without a header: a,b,c.")] = None,
    missing_values: Annotated[
        str | None, typer.Option(help="Words for a missing value: ?,NA; otherwise the usual ones are looked for.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the problem.")] = Path("problem.toml"),
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a problem for a table: a commented TOML file to read, change and fit."""
    # First of all: DuckDB complains at the end of what was there before, which is never collected.
    screen.load()
    from evenhand.engines import Source
    from evenhand.spec import CsvFormat

    named = words("--names", names)
    try:
        csv = None if delimiter == "," and named is None else CsvFormat(delimiter, named)
    except SpecError as error:
        raise typer.BadParameter(worded(error), param_hint="--delimiter, --names") from None
    # A table that is not there is complained of before a problem that is.
    Source.of(table, csv)
    with writing(force, out):
        from evenhand.data.weighting import Weighting
        from evenhand.use.proposal import propose

        def proposed(weighting: Weighting | None) -> Proposal:
            with screen.progress_bar() as report:
                return propose(
                    table, protected=words("--protected", protected) or [], outcome=outcome,
                    features=words("--features", features), cells=None if cells is None else cells.value,
                    favourable=favourable, weighting=weighting,
                    missing_values=words("--missing-values", missing_values),
                    csv=csv, source=str(table), target=str(out), progress=report,
                )  # fmt: skip

        weighting = Weighting.of(weights, frequencies)
        try:
            found = proposed(weighting)
        except SpecError as error:
            if weighting is None or error.pieces != weighting.mistakable or not sys.stdin.isatty():
                raise
            weighting = _asked(weighting)
            found = proposed(weighting)
        text = naming_schema(out, found.text)
        replace_file(out, text.encode())
    draft, beside = found.draft, found.beside
    document = {
        "written": {"problem": out},
        "rows": draft.found.rows,
        "people": draft.found.people,
        **Weighting.named_by(weighting),
        "protected": found.problem.protected,
        "protected_notes": {column.name: column.why for column in draft.protected if column.why},
        "features": [{"column": f.name, "rule": f.rule, "remark": f.remark} for f in draft.features],
        "cells": _cells(found),
        "outcome": found.problem.outcome,
        "favourable": found.direction.favourable,
        "one_way": found.direction.only,
        "rate_of": draft.rated.words,
        "rate": draft.rated.overall,
        "small_groups": [{"group": g.name, "people": g.people, "rate": g.rate} for g in draft.tiny_groups],
        "left_out": dict(draft.left_out),
        "known_after": draft.after,
        "given_away": found.given_away,
        "outcomes": found.outcomes,
        "paradoxes": found.paradoxes,
        "distance": found.bounds.distance.word,
        "bound": found.bounds.bound,
        "budget": found.bounds.limit,
        "smallest_bound": found.bounds.smallest_bound,
        "smallest_budget": found.bounds.smallest_limit,
        "losing": found.bounds.losing,
        "beside": None
        if beside is None
        else {"distance": beside.distance.word, "bound": beside.bound, "losing": beside.losing},
        "toml": text,
    }
    answer(as_json, "init", lambda: document, lambda: _show(found, table, out, weighting))


def _asked(weighting: Weighting) -> Weighting:
    """Ask whether weights that look like numbers of people are such."""
    question = (
        f"The values of {weighting.column} are integers, and no two rows have the same combination. Does a row "
        f"stand for that many people?"
    )
    if typer.confirm(question, err=True):
        return replace(weighting, option="frequencies")
    return replace(weighting, deliberate=True)


def _cells(found: Proposal) -> dict[str, Any]:
    """Return what cells are, and what came of leaves where they were tried."""
    from evenhand.use.proposal.wording import leaves_or_levels

    cells, tried = found.draft.cells, found.draft.tried
    trial = None if tried is None else tried.trial
    return {
        "kind": "levels" if cells is None else cells.word,
        "most": None if cells is None else cells.most,
        "at_least": None if cells is None else cells.at_least,
        "leaves": None if trial is None else trial.size,
        "told_by_leaves": None if trial is None else trial.told,
        "told_by_few_columns": None if trial is None else trial.told_by_few,
        "few_columns": None if trial is None else trial.few,
        "remark": leaves_or_levels(found.draft),
    }


def _outcome(found: Proposal) -> str:
    """Say which way the outcome may change."""
    name, good = found.draft.outcome.name, found.direction.favourable
    if found.direction.only:
        return f"{name}: people are moved towards {good} only"
    if good is None:
        return f"{name}: changes either way; --favourable LEVEL allows one direction only"
    return f"{name}: changes either way; towards {good} only, the bound cannot be met"


def _features(found: Proposal) -> str:
    features = found.draft.features
    if found.draft.cells is None:
        return ", ".join(f"{feature.name} ({feature.rule})" for feature in features)
    return f"{len(features)} columns, all as they are: {some_of(feature.name for feature in features)}"


def _show(found: Proposal, table: Path, out: Path, weighting: Weighting | None) -> None:
    from evenhand.use.proposal.wording import asked_for, leaves_or_levels, size, tiny_groups, who_loses

    draft, bounds = found.draft, found.bounds
    people = [group.people for group in draft.groups]
    rates = [group.rate for group in draft.groups]
    screen.heading(f"A problem for {table}, {size(draft.found, weighting)}")
    told = f"rates of {draft.rated.words} from {min(rates):.1%} to {max(rates):.1%}"
    losing = who_loses(draft, bounds, found.direction, found.beside) if bounds.losing is not None else None
    screen.pairs(
        [
            ("Protected", ", ".join(found.problem.protected)),
            ("Groups", f"{len(people)}, of {people[0]:,} to {people[-1]:,} people; {told}"),
            *(("", f"{column.name}: {column.why}") for column in draft.protected if column.why),
            *([("", tiny_groups(draft))] if draft.tiny_groups else []),
            ("Features", _features(found)),
            *(("", f"{feature.name}: {feature.remark}") for feature in draft.features if feature.remark),
            *([("Cells", f"learned: {draft.cells.words}; outcomes alone change")] if draft.cells is not None else []),
            *([("", beside)] if (beside := leaves_or_levels(draft)) is not None else []),
            ("Outcome", _outcome(found)),
            ("Left out", some_of(name for name, _ in draft.left_out) or "nothing"),
            *([("", f"perhaps known only after the outcome: {some_of(draft.after)}")] if draft.after else []),
            *([("", found.given_away)] if found.given_away else []),
            ("Bound", asked_for(bounds)),
            *([("", losing)] if losing else []),
            *(("", f"{words[0].upper()}{words[1:]}.") for words in found.outcomes),
            *(("", f"{words}.") for words in found.paradoxes),
            ("Budget", f"an expected cost of at most {bounds.limit:g} for each person"),
        ]
    )
    screen.heading("What was written")
    screen.written(out, "the problem, with comments: read it, and change what is not right")
    screen.following(("diagnose", out, table), ("fit", out, table))
