"""Every sentence, heading and title that says what was found, by its key: the one place to edit them.

A template names its fields in braces, with a kind of number (``{before:rate}``), with the two forms of a word that
depends on how many there are (``{groups:group|groups}``), or, for a list, with what stands between (``{names:, }``).
A field may be a note, whose sentence is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from evenhand.render.numbers import FORMATS, written
from evenhand.render.section import Note

MOST_LISTED = 5
"""So many of a list are written; the tables have all."""

SENTENCES: dict[str, str] = {
    "chart.averaged": "Cohorts by {by: × }, averaged over {over:, }",
    "chart.batches": "The last {shown} of {total} batches",
    "chart.changes": "The {shown} most common of {total} changes of a column",
    "chart.cohorts_across": "{shown} of {total} values of {column}, those with the most people",
    "chart.cohorts_down": "{shown} of {total} rows, those with the most people",
    "chart.columns": "{shown} of up to {total} such columns in a panel, those with the largest sums",
    "chart.constraints": "Constraint: {constraints:; }",
    "chart.drift": (
        "Total variation distance between a batch and the fitted table; when nothing has changed, about "
        "{error:whole} of batches exceed a limit by sampling variation"
    ),
    "chart.empty_groups": "Nothing is left to draw for {empty} of these groups",
    "chart.groups": "The {shown} {which} of {total} groups",
    "chart.hidden_cells": (
        "{hidden} of {total} cells have fewer than {least:number} people, or would reveal such a cell, and are hidden"
    ),
    "chart.hidden_cohorts": (
        "{hidden} of {total} cohorts have fewer than {least:number} people before or after and are hidden"
    ),
    "chart.hidden_groups": (
        "{hidden} of {total} groups have fewer than {least:number} people, or would reveal such a group, and are "
        "hidden; the constraints hold for them too"
    ),
    "chart.joint": "The intervals hold jointly for a batch",
    "chart.looks": "The {shown} furthest out of {total} comparisons",
    "chart.out_of_fold": "Out-of-fold predictions, with 95% intervals",
    "chart.outcomes": "The {shown} most common of {total} outcomes",
    "chart.parts": (
        "The {shown} of {total} parts of the table (by {by: × }) in which most people change: {share:whole} of all "
        "expected changes"
    ),
    "chart.rare_changes": "Empty where nobody changes so, or fewer than {least:number} people have the value",
    "chart.rows_sum": "Each row sums to 100%; columns that sum to {least:number} or less are left out",
    "chart.sources": "{shown} of {total} rows, those with the most people",
    "chart.uncounted_changes": "{uncounted} more changes are from values that fewer people have in every group",
    "chart.unconstrained": "No parity constraint",
    "chart.undrawn_cohorts": "{undrawn} more cohorts with fewer than {least:number} people are not drawn",
    "hidden.rows": "{hidden} of {total} rows are not shown: fewer than {least} people, or would reveal such a group",
}

TITLES: dict[str, str] = {
    "chart.apart": "disparity of mean scores (ratio − 1)",
    "chart.auc": "AUC",
    "chart.bare": "without a bound: {value:number}",
    "chart.band": "allowed",
    "chart.better": "better for people",
    "chart.changes": "Who changes, to what, and how likely",
    "chart.changes.x": "{across}",
    "chart.changes.y": "change",
    "chart.changes.shade": "percentage of those who have the value, up to {top}",
    "chart.cohorts.before": "Rates by cohort, before: {outcome}",
    "chart.cohorts.before.shade": "percentage, up to {top}",
    "chart.cohorts.before.x": "{across}",
    "chart.cohorts.before.y": "{down}",
    "chart.cohorts.change": "Change by cohort, in percentage points: {outcome}, by {features} features",
    "chart.cohorts.change.x": "{across}",
    "chart.cohorts.change.y": "{down}",
    "chart.drift": "Drift from the fitted table",
    "chart.drift.band": "explained by sampling variation",
    "chart.drift.neither": "within the limit",
    "chart.drift.worse": "drifted",
    "chart.drift.x": "batch",
    "chart.drift.y": "total variation distance (of new values: share of people)",
    "chart.frontier": "Utility lost along the frontier",
    "chart.frontier.changed": "people changed",
    "chart.frontier.x": "{along}",
    "chart.frontier.y": "utility lost, {utility}",
    "chart.frontier.objective": "utility lost, {utility}",
    "chart.heat": "Who becomes what: the conditional mapping",
    "chart.heat.shade": "probability in percent, up to {top}",
    "chart.heat.x": "released as {across}",
    "chart.heat.y": "{down}",
    "chart.here": "this mapping",
    "chart.history": "New batches against the constraints",
    "chart.history.band": "allowed",
    "chart.history.better": "satisfied",
    "chart.history.interval": "{confidence:whole} interval",
    "chart.history.neither": "undecided",
    "chart.history.worse": "violated",
    "chart.history.x": "batch",
    "chart.history.y": "disparity",
    "chart.identity": "unchanged from {value:number}",
    "chart.infeasible": "infeasible",
    "chart.interval": "interval",
    "chart.log_loss": "log loss",
    "chart.lossless": "lossless from {value:number}",
    "chart.models": "What a bound costs the model",
    "chart.models.x": "parity bound ε",
    "chart.models.y": "out-of-fold estimate",
    "chart.models.interval": "95% interval",
    "chart.neither": "neither",
    "chart.rates": "Rates by group, before and after",
    "chart.rates.band": "allowed after",
    "chart.rates.interval": "{confidence:whole} interval after",
    "chart.rates.x": "rate of {outcome}",
    "chart.required": "{share:whole} of the highest rate: {value:rate}",
    "chart.shade": "darker is more, up to {top}",
    "chart.smallest": "smallest feasible {value:number}",
    "chart.worse": "worse for people",
    "chart.worst_gap": "largest difference of selection rates",
}
"""The headings of sections, the captions of tables and the titles of charts."""

HEADINGS: dict[str, str] = {}
"""The headings of columns and facts that are not their names."""


class _Template(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Note):
            return sentence(value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return (format_spec or ", ").join(self.format_field(each, "") for each in value)
        if "|" in format_spec:
            one, several = format_spec.split("|")
            return one if value == 1 else several
        if format_spec in FORMATS or format_spec == "flag":
            return written(value, format_spec)
        return "" if value is None else format(value, format_spec)


TEMPLATE = _Template()


def fill(template: str, fields: Mapping[str, Any]) -> str:
    """Fill in a template.

    Examples
    --------
    >>> fill("{n} {n:group|groups}: {names}, {rate:rate}", {"n": 2, "names": ["a", "b"], "rate": 0.25})
    '2 groups: a, b, 25.0%'
    """
    return TEMPLATE.vformat(template, (), fields)


def sentence(note: Note) -> str:
    """Write a note."""
    return fill(SENTENCES[note.key], note.fields)


def title(key: str, fields: Mapping[str, Any]) -> str:
    """Return the title of a section, a table or a chart; empty where the catalogue has none."""
    return fill(TITLES.get(key, ""), fields)


def heading(name: str) -> str:
    """Return how a column or a fact is headed: its name, unless the catalogue has a better one."""
    return HEADINGS.get(name, name.replace("_", " ").capitalize())
