"""The first screen of a report: what a person who signs asks first, as cards, each with its answer and its section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from evenhand.arrays import Numbers
from evenhand.findings.assurance import ANSWERED
from evenhand.findings.bounds import Furthest
from evenhand.findings.changes import Changes
from evenhand.findings.disparity import TARGET, Disparity, bounded_on, pair
from evenhand.findings.ledger import Ledger
from evenhand.findings.manifest import Manifest
from evenhand.findings.naming import short_name
from evenhand.findings.other_people import Strayed
from evenhand.findings.released_file import brief_notes
from evenhand.findings.subject import Subject
from evenhand.render.numbers import people as expected_people
from evenhand.render.section import Chart, Fact, Note, Section, Table
from evenhand.spec.distance import Ratio
from evenhand.tolerances import AT_BOUND

Tone = Literal["better", "worse", "open", "plain"]
"""Whether an answer is good or bad for people or for what is promised, is still open, or is neither."""

SOME_PEOPLE = 0.01
"""Fewer people than this are what a solver leaves, and nobody."""

MOST_NAMED = 3
"""How many groups, constraints or moves an answer names."""


def card(key: str, answer: Note, notes: Sequence[Note], tone: Tone, section: str) -> Section:
    """Return a question with its answer in a few words, sentences beside it, and where its numbers are."""
    facts = Fact("answer", answer), Fact("tone", tone, detail=True), Fact("section", section, detail=True)
    return Section(key, facts=facts, notes=tuple(notes), form="card")


def apart_card(m: Subject, found: Sequence[Disparity]) -> Section:
    """How far apart the groups are, before and after."""
    told = [(each, each.before, each.after) for each in found if each.before is not None and each.after is not None]
    if not told:
        few = any(each.hidden for each in found)
        why = Note("brief.hidden_compared" if few else "brief.no_parity")
        return card("apart", Note("brief.not_shown" if few else "brief.not_bounded"), [why], "open", "rates")
    # Of several that which has to do something: the table as it is may keep others.
    first, before, after = next((each for each in told if _binds(*each)), told[0])
    # After, another outcome may be the one whose rates are furthest apart.
    then = Note("brief.after") if after.outcome == before.outcome else Note("brief.outcome_after", vars(after))
    notes = [
        Note("brief.pair", {"when": Note("brief.outcome_before", vars(before)), "pair": pair(before)}),
        Note("brief.pair", {"when": then, "pair": pair(after)}),
        Note("brief.bound", {"bound": first.bound}),
    ]
    notes += [Note("brief.everybody")] if first.hidden else []
    target = after.against == TARGET
    notes += _between(m) if target else []
    for more, was, now in [each for each in told if each[0] is not first][:MOST_NAMED]:
        fields = {"parity": more.constraint.after.parity.words, "bound": more.bound}
        notes.append(Note("brief.also", {**fields, "before": was.said, "after": now.said}))
    beside = None
    if target:
        beside = Note("brief.the_target" if after.said.endswith("times") else "brief.beside_the_target")
    answer = Note("brief.apart", {"before": before.said, "after": after.said, "beside": beside})
    return card("apart", answer, notes, "plain", "rates")


def _binds(each: Disparity, before: Furthest, _: Furthest) -> bool:
    bounds = each.constraint.range
    return bounds is not None and before.apart > bounds[0]


def _between(m: Subject) -> list[Note]:
    """Return how far apart the groups themselves are, where each is held against a target."""
    rates = [of[m.shown.groups, m.told] for of in (m.achieved.rates_before, m.achieved.rates_after)]
    if len(rates[0]) < 2:
        return []
    before, after = (_times(of) for of in rates)
    return [Note("brief.between", {"before": before, "after": after})]


def _times(rates: Numbers) -> str:
    return Ratio().said(float(rates.max()), float(rates.min()))


def changed_card(m: Subject, who: Changes, moves: Table) -> Section:
    """How many people change, and how; ``moves`` are those that may be shown."""
    outcome, suppressed = m.problem.outcome, m.problem.suppression.redraws
    rows = [row for row in moves.records() if row["group"] is None]
    own = [row for row in rows if row["column"] == outcome]
    rest = sum(move.people for move in who.together if move.column.name == outcome)
    notes = []
    for row in [row for row in own if row["people"] >= SOME_PEOPLE][:MOST_NAMED]:
        way = None if row["way"] is None else Note("brief.better" if row["way"] == "better" else "brief.worse")
        notes.append(Note("brief.move", {**row, "some": _begin(row["people"]), "outcome": outcome, "way": way}))
        rest -= row["people"]
    if notes and round(rest) >= 1:
        notes.append(Note("brief.other_moves", {"some": rest, "outcome": outcome}))
    if suppressed:
        notes.append(Note("brief.drawn_anew"))
    features = who.share_features * who.people
    if features >= SOME_PEOPLE:
        top = next((row for row in rows if row["column"] != outcome), None)
        most = None if top is None else Note("brief.most_often", top)
        notes.append(Note("brief.features", {"some": _begin(features), "most": most}))
    elif who.share > 0:
        notes.append(Note("brief.no_features"))
    fields = {"some": who.share * who.people, "people": who.people, "unit": m.unit, "share": who.share}
    return card(
        "changed", Note("brief.changed" if who.share > 0 else "brief.nobody", fields), notes, "plain", "changes"
    )


def _begin(people: float) -> str:
    words = expected_people(people)
    return f"{words[:1].upper()}{words[1:]}"


def gains_card(m: Subject, who: Ledger | None) -> Section:
    """Who is better off, and who is worse off."""
    if who is None:
        return card("better_off", Note("brief.not_stated"), [Note("brief.nobody_said")], "open", "outcomes")
    helped, harmed = float(who.helped.sum()), float(who.harmed.sum())
    by = Note("brief.by_weight") if m.counts.weighed and (helped or harmed) else None
    answer = Note("brief.gains", {"helped": _who(helped), "harmed": _who(harmed), "by": by})
    down = [
        Note("brief.down", {"group": short_name(group), "before": before, "after": after})
        for group, before, after, shown in zip(m.groups, who.before, who.after, m.shown.groups, strict=True)
        if shown and after < before - AT_BOUND
    ]
    hidden, notes, outcome = not m.shown.groups.all(), [], {"outcome": m.outcome}
    if down:
        more = Note("brief.more_down", {"more": len(down) - MOST_NAMED}) if len(down) > MOST_NAMED else None
        notes.append(Note("brief.levelled_down", {**outcome, "groups": down[:MOST_NAMED], "more": more}))
    else:
        key = "brief.none_shown_down" if harmed and hidden else "brief.nobody_down"
        notes.append(Note(key, outcome))
    if harmed and hidden:
        notes.append(Note("brief.hidden_down"))
    if m.problem.suppression.redraws:
        notes.append(Note("brief.if_released"))
    return card("better_off", answer, notes, "worse" if harmed or down else "better", "gains")


def _who(people: float) -> Note:
    return Note("brief.some", {"people": people}) if people else Note("brief.nobody")


def file_card(m: Subject, manifest: Manifest | None, strayed: Strayed) -> Section:
    """Whether one file keeps the bound."""
    if manifest is not None:
        key = {True: "brief.kept", False: "brief.violated", None: "brief.not_decided"}[manifest.kept]
        tones: dict[bool | None, Tone] = {True: "better", False: "worse", None: "open"}
        answer = Note(key, {"name": manifest.output.name})
        return card("this_file", answer, brief_notes(m, manifest), tones[manifest.kept], "file")
    notes = [Note("brief.no_file")]
    if strayed.own is not None:
        notes.append(Note("brief.draws", {"over": strayed.draws_over, "releases": strayed.draws.releases}))
    return card("this_file", Note("brief.not_looked_at"), notes, "open", "file")


def new_people_card(m: Subject, strayed: Strayed, confidence: float | None) -> Section:
    """For whom the bound holds."""
    first = Note("brief.of_the_first") if len(m.problem.parity) > 1 else None
    over = strayed.tables_over
    violate = None if over is None else Note("brief.violate", {"over": over})
    resampled = Note(
        "brief.resampled",
        {"resamples": strayed.tables.resamples, "first": first, "apart": strayed.tables_apart, "violate": violate},
    )
    if confidence is None:
        notes = [Note("brief.no_confidence"), resampled]
        return card("new_people", Note("brief.this_table"), notes, "worse" if over else "open", "fresh")
    tried = [Note("text", {"text": words}) for words in ANSWERED]
    answer = Note("brief.population", {"confidence": confidence})
    return card("new_people", answer, [Note("brief.promised"), *tried, resampled], "better", "fresh")


def covered_card(m: Subject, caveats: int) -> Section:
    """What is not covered; so many sentences of a section say what else."""
    notes = [Note("brief.thresholds")]
    if not m.achieved.budgets:
        notes.append(Note("brief.no_budget"))
    on = bounded_on(m)
    if all(set(columns) != set(m.problem.protected) for columns in on):
        bounded = {name for columns in on for name in columns}
        alone = [name for name in m.problem.protected if name not in bounded]
        key = "brief.uncovered_groups" if alone else "brief.uncovered_together"
        notes.append(Note(key, {"alone": alone, "together": " × ".join(m.problem.protected)}))
    notes.append(Note("brief.caveats", {"caveats": caveats}))
    return card("covered", Note("brief.not_covered"), notes, "open", "caveats")


def first_screen(
    facts: Sequence[Fact], m: Subject, charts: Sequence[Chart], cards: Sequence[Section], beside: Sequence[Section]
) -> Section:
    """Return the first screen: what is reported on, its rates, the answers, and what stands beside them."""
    rows = Note("brief.rows", {"rows": m.counts.people}) if m.counts.weighed else None
    lead = Note("brief.lead", {
        "people": float(m.counts.weight.sum()), "unit": m.unit, "rows": rows, "outcome": m.problem.outcome,
        "on": [" × ".join(columns) for columns in bounded_on(m)],
    })  # fmt: skip
    return Section("report", facts=tuple(facts), charts=tuple(charts), notes=(lead,), parts=(*cards, *beside))
