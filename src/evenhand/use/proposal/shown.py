"""What is proposed, as data: groups, features, what is left out, and the bounds with who would lose by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evenhand.data.weighting import Weighting
from evenhand.errors import in_number, some_of
from evenhand.render.section import Column, Fact, Note, Section, Table
from evenhand.spec import PairwiseParity
from evenhand.spec.distance import Ratio
from evenhand.tables.survey import Survey
from evenhand.use.proposal.bounding import Bounds
from evenhand.use.proposal.draft import Draft
from evenhand.use.proposal.outcome import Direction
from evenhand.use.proposal.protected import TINY_GROUP

if TYPE_CHECKING:
    from evenhand.use.proposal import Proposal

MOST_SMALL = 3

ROOM = 4
"""A group of so many times the people that all leaves need does not keep leaves few."""


def sections_of(found: Proposal) -> Iterator[Section]:
    """Yield what people read of a proposal, and everything that was chosen."""
    draft = found.draft
    groups = [_groups(draft), *(_why(draft)), *([small_groups(draft)] if draft.tiny_groups else [])]
    left = [Note("proposal.left_out", {"columns": some_of(n for n, _ in draft.left_out)})] if draft.left_out else []
    after = [Note("proposal.known_after", {"columns": some_of(draft.after)})] if draft.after else []
    lost = who_loses(draft, found.bounds, found.direction, found.beside)
    facts = {
        "protected": found.problem.protected,
        "groups": groups,
        "features": [*_features(draft)],
        "cells": [*_cells(draft)],
        "outcome": [_outcome(draft, found.direction)],
        "left_out": [*(left or [Note("proposal.left_nothing")]), *after],
        "bound": [Note("asked.parity", {"parity": asked_for(found.bounds)}), *([] if lost is None else [lost])],
        "budget": [Note("proposal.budget", {"limit": found.bounds.limit})],
    }
    listed = (Fact(key, list(value) if key == "protected" else tuple(value)) for key, value in facts.items())
    notes = (*([] if found.given_away is None else [found.given_away]), *found.outcomes, *found.paradoxes)
    fields = {"source": found.source, "size": size(draft.found, found.weighting)}
    yield Section("proposal", facts=tuple(listed), notes=notes, fields=fields)
    yield _chosen(found)


def _chosen(found: Proposal) -> Section:
    """Return every number and every column with its reason, which people read in the TOML."""
    draft, bounds, beside = found.draft, found.bounds, found.beside
    cells, trial = draft.cells, draft.trial
    values = {
        "rows": draft.found.rows,
        "people": draft.found.people,
        **Weighting.named_by(found.weighting),
        "favourable": found.direction.favourable,
        "one_way": found.direction.only,
        "rate_of": draft.rated.label,
        "rate": draft.rated.overall,
        "known_after": list(draft.after),
        "cells": {
            "kind": "levels" if cells is None else cells.word,
            "most": None if cells is None else cells.most,
            "at_least": None if cells is None else cells.at_least,
            "leaves": None if trial is None else trial.size,
            "explained_by_leaves": None if trial is None else trial.told,
            "explained_by_few_columns": None if trial is None else trial.told_by_few,
            "few_columns": None if trial is None else trial.few,
        },
        "distance": bounds.distance.word,
        "bound": bounds.bound,
        "budget": bounds.limit,
        "smallest_bound": bounds.smallest_bound,
        "smallest_budget": bounds.smallest_limit,
        "losing": bounds.losing,
        "beside": beside and {"distance": beside.distance.word, "bound": beside.bound, "losing": beside.losing},
        "toml": found.toml,
    }
    tables: dict[str, tuple[tuple[str, ...], list[Any]]] = {
        "groups": (("group", "people", "rate"), [(g.name, g.people, g.rate) for g in draft.groups]),
        "features": (("column", "rule", "remark"), [(f.name, f.rule, f.remark) for f in draft.features]),
        "left_out": (("column", "why"), list(draft.left_out)),
    }
    return Section(
        "chosen",
        facts=tuple(Fact(name, value, detail=True) for name, value in values.items()),
        tables=tuple(
            Table(key, tuple(map(Column, names)), tuple(rows), most=0) for key, (names, rows) in tables.items()
        ),
    )


def size(found: Survey, weighting: Weighting | None) -> Note:
    """Return how large a table is, and how its rows count."""
    if weighting is None:
        return Note("proposal.rows", {"rows": found.rows})
    key = "proposal.people" if weighting.repeats else "proposal.weighted"
    return Note(key, {"rows": found.rows, "people": found.people, "column": weighting.column})


def small_groups(draft: Draft) -> Note:
    """Name the smallest groups with their rates."""
    listed = [
        Note("proposal.small_group", {"name": group.name, "people": in_number(group.people), "rate": group.rate})
        for group in draft.tiny_groups
    ]
    if len(listed) > MOST_SMALL:
        listed[MOST_SMALL:] = [Note("groups.more", {"more": len(listed) - MOST_SMALL})]
    return Note("proposal.small_groups", {"few": TINY_GROUP, "rated": draft.rated.label, "named": listed})


def _groups(draft: Draft) -> Note:
    people, rates = [group.people for group in draft.groups], [group.rate for group in draft.groups]
    numbers = {"fewest": people[0], "most": people[-1], "lowest": min(rates), "highest": max(rates)}
    return Note("proposal.groups", {"groups": len(people), "rated": draft.rated.label, **numbers})


def _why(draft: Draft) -> Iterator[Note]:
    for column in draft.protected:
        for why in column.why:
            yield Note("proposal.column", {"column": column.name, "why": why})


def _features(draft: Draft) -> Iterator[Note]:
    if draft.cells is None:
        named = [Note("proposal.feature", {"column": each.name, "rule": each.rule}) for each in draft.features]
        yield Note("proposal.listed", {"what": named})
    else:
        names = some_of(feature.name for feature in draft.features)
        yield Note("proposal.all_features", {"number": len(draft.features), "columns": names})
    for feature in draft.features:
        if feature.remark is not None:
            yield Note("proposal.column", {"column": feature.name, "why": feature.remark})


def _cells(draft: Draft) -> Iterator[Note]:
    if draft.cells is not None:
        yield Note("proposal.cells", {"cells": draft.cells.words})
    if (note := leaves_or_levels(draft)) is not None:
        yield note


def leaves_or_levels(draft: Draft) -> Note | None:
    """Return what leaves over all columns explain beside the best few as levels; None where there was no question."""
    tried, outcome = draft.tried, draft.outcome.name
    if tried is None:
        return None
    if tried.install is not None:
        return Note("proposal.install", {"outcome": outcome})
    if tried.trial is None:
        return Note("proposal.no_leaves", {"error": tried.refused})
    trial = tried.trial
    few = Note("proposal.levels_of", {"columns": trial.few}) if trial.few else Note("proposal.some_levels")
    by_leaves, by_few = max(trial.told, 0.0), max(trial.told_by_few, 0.0)
    fields = {"leaves": by_leaves, "outcome": outcome, "few": few, "by_few": by_few, "small": None, "levels": None}
    if draft.cells is None or by_leaves < by_few:
        smallest = draft.groups[0]
        if smallest.people < ROOM * trial.cells.most * trial.cells.at_least:
            people = in_number(smallest.people)
            fields["small"] = Note("proposal.small_leaves", {"group": smallest.name, "people": people})
        fields["levels"] = None if draft.cells is None else Note("proposal.as_levels")
    return Note("proposal.explained", fields)


def _outcome(draft: Draft, direction: Direction) -> Note:
    """Return which way the outcome may change."""
    good = direction.favourable
    either = "proposal.either_way" if good is None else "proposal.not_one_way"
    return Note("proposal.one_way" if direction.only else either, {"outcome": draft.outcome.name, "good": good})


def asked_for(bounds: Bounds) -> str:
    """Return what is asked of every two groups."""
    return PairwiseParity(bounds.bound, bounds.distance).words


def who_loses(draft: Draft, bounds: Bounds, direction: Direction, beside: Bounds | None) -> Note | None:
    """Return how many people lose the favourable outcome, and how many by another distance that was looked at."""
    if bounds.losing is None:
        return None

    def share(losing: float | None) -> Note:
        everybody = draft.found.people
        fields = {"lost": (losing or 0.0) * everybody, "people": everybody, "share": losing}
        return Note("proposal.share", fields) if losing else Note("proposal.nobody")

    own = {"share": share(bounds.losing), "outcome": draft.outcome.name, "good": direction.favourable}
    if beside is None:
        return Note("proposal.losing", {**own, "wider": None})
    if beside.distance == Ratio():
        return Note("proposal.losing_instead", {**own, "by_ratio": share(beside.losing)})
    wider = Note("proposal.wider", {"share": share(beside.losing), "apart": beside.distance.apart(beside.bound)})
    return Note("proposal.losing", {**own, "wider": wider})
