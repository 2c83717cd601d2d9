"""Every sentence, heading and title that says what was found, by its key: the one place to edit them.

A template names its fields in braces, with a kind of number (``{before:rate}``), with the two forms of a word that
depends on how many there are (``{groups:group|groups}``), or, for a list, with what stands between (``{names:, }``).
A field may be a note, whose sentence is filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

from evenhand.render.numbers import FORMATS, written
from evenhand.render.section import Fact, Note

MOST_LISTED = 5
"""So many of a list are written; the tables have all."""

SENTENCES: dict[str, str] = {
    "text": "{text}",
    "hidden.rows": "{hidden} of {total} rows are not shown: fewer than {least} people, or would reveal such a group",
    # What was asked.
    "asked.favourable": "{outcome} is good for a person",
    "asked.protected": "{columns} (read, never changed)",
    "asked.protected_blind": "{columns} (read to fit the mapping, not to use it)",
    "asked.column": "{column} {rule}",
    "asked.fixed": "{columns} never",
    "asked.ordinal": "{ways: or }{most}",
    "asked.most_steps": ", at most {steps} {steps:step|steps}",
    "asked.up_or_down": "up or down{cost}",
    "asked.up": "up{cost}",
    "asked.down": "down{cost}",
    "asked.any_value": "to any value{cost}",
    "asked.free": " (free)",
    "asked.cost": " (cost {cost:g})",
    "asked.cost_per_step": " (cost {cost:g} per step)",
    "asked.cost_of_steps": " (cost {cost:g} times the number of steps to the power {power:g})",
    "asked.cost_table": "by a table of {costs} costs",
    "asked.allowed_table": "as a table of costs allows",
    "asked.combine_sum": "costs of several changes add up",
    "asked.combine_sum_of_squares": "costs of feature changes are squared; then all costs add up",
    "asked.combine_max": "of several changes at once, the costliest counts",
    "asked.own_costs": "what each change costs, and what is forbidden, comes from a function: {function}",
    "asked.all_targets": "combinations of features that nobody has may be released",
    "asked.cells": "{cells}; learned over {columns}",
    "asked.forbidden": "nobody becomes {rule} who is not so already",
    "asked.levels": "{column}: {levels}",
    "asked.missing": "are a level of their own, which stays as it is unless a rule names it",
    "asked.missing_values": (
        "are a level of their own (and {values} is one), which stays as it is unless a rule names it"
    ),
    "asked.parity": "{parity}",
    "asked.no_parity": "nothing limits how far apart the rates of groups may be",
    "asked.no_budget": "nothing limits how much each person may be changed, where a change is allowed at all",
    "asked.each_person": "each person (each cell of protected columns, {cells} and outcome)",
    "asked.each_record": "each combination of {cells} and outcome, on average over the groups",
    "asked.expected": "for {whom}, the expected distortion is at most {limit}",
    "asked.excess": "for {whom}, the distortion is {parts:, and }",
    "asked.above": "above {threshold:g} with probability at most {limit}",
    "asked.confidence": (
        "{confidence:g} that these bounds hold in the population that the table is a sample of, all at once"
    ),
    "asked.suppressed": ("readers who may not see the protected columns: ŷ is drawn given x̂ alone, from {source}"),
    "asked.own_conditional": "the table's own p(y|x)",
    "asked.given_conditional": "the p(y|x) of a given model",
    "asked.alternating": "a p(ŷ|x̂) found by alternating minimization",
    "asked.blind": "everybody with the same {cells} and outcome is treated alike, whatever their group",
    "asked.utility": "{utility} from the original to the released distribution of ({cells}, outcome)",
    "asked.utility_on_features": "{utility} from the original to the released distribution of {cells}",
    # Parity constraints, and whom they leave out.
    "parity.missing_group": (
        "the group {group} is not compared: no parity constraint holds for people whose protected value is missing, "
        "and their rate is no reference for others"
    ),
    "parity.one_group": "{where} has the one group {group}: nothing to compare",
    "parity.no_reference": "{where} has nobody of the reference group {group}",
    "parity.small_segment": (
        "the segment {segment} has a weight of {weight:g}, below min_segment {least:g}: parity is not bounded there"
    ),
    "parity.small_released_segment": (
        "the segment {segment} has a weight of {weight:g}, below min_segment {least:g}: parity is not bounded there, "
        "although people may be moved into it"
    ),
    "rates.largest_disparity": "largest disparity before: {before}; after: {after}",
    "bounds.comparison_holds": "{constraint}: holds in its one comparison",
    "bounds.comparisons_hold": "{constraint}: holds in all {number:,} comparisons",
    "bounds.comparisons_violated": ("{constraint}: violated in {violated:,} of {number:,} comparisons; worst: {worst}"),
    "bounds.budgets_hold": "{constraint}: holds in all {number:,} budgets",
    "bounds.budgets_violated": "{constraint}: violated in {violated:,} of {number:,} budgets, by up to {excess:number}",
    "bounds.fitted_alone": "the certificate is about the fitted table alone; of new people, no bound is promised",
    # Who changes, who is helped and who is harmed.
    "changes.all": (
        "about {some:,.0f} of {everybody} ({share:rate}) change in some way, {moved:,.0f} ({share_moved:rate}) in "
        "their features; the mean expected distortion is {distortion:.4f} (changes that cost nothing count as 0)"
    ),
    "changes.suppressed": (
        "about {some:,.0f} of {everybody} ({share:rate}) would change if the drawn outcome were released too; "
        "{moved:,.0f} ({share_moved:rate}) change in their features; the mean expected distortion is "
        "{distortion:.4f} (changes that cost nothing count as 0)"
    ),
    "ledger.helped_and_harmed": (
        "of {everybody} {helped} {gain:gets|get} {outcome} who did not have it, and {harmed} {lose:loses|lose} it, in "
        "expectation over the draws"
    ),
    "ledger.steps": (
        "of {everybody} {helped} {gain:moves|move} towards {outcome} ({reached:people} of them to it), and {harmed} "
        "{lose:moves|move} away from it, in expectation over the draws"
    ),
    "ledger.steps_away": (
        "of {everybody} {helped} moves towards {outcome}, and {harmed} {lose:moves|move} away from it, in expectation "
        "over the draws"
    ),
    "ledger.if_drawn": "if the drawn outcome were released, {what}",
    "ledger.levelled_down": "levelled down: in the group {group} the rate of {outcome} falls from {before} to {after}",
    "ledger.loss": (
        "levelled down: {lost:people} of {everybody} lose {outcome}, in expectation over the draws ({by_group})"
    ),
    "ledger.direction": (
        "{people:people} of {everybody} go from {old} to {new}, in expectation over the draws ({by_group})"
    ),
    "ledger.nobody_said": (
        "the problem does not say which outcome is good for a person; with favourable = LEVEL in it, fit and audit "
        "report who is helped and who is harmed"
    ),
    # Simpson's paradox.
    "simpson.reversed": (
        "Simpson's paradox: the difference between {higher} and {lower} in {outcome} is reversed within levels of "
        "{feature}: {pooled:signed} percentage points together, {within:signed} ± {error:in_points} within them "
        "({lower} has the higher rate in {reversed} of {levels}). {advice}"
    ),
    "simpson.vanishes": (
        "Simpson's paradox: the difference between {higher} and {lower} in {outcome} nearly vanishes within levels of "
        "{feature}: {pooled:signed} percentage points together, {within:signed} ± {error:in_points} within them "
        "({lower} has the higher rate in {reversed} of {levels}). {advice}"
    ),
    "simpson.given": "If {feature} justifies differences, bound parity within it: {setting}",
    "simpson.given_a_column": ("If a column that these cells are made of justifies differences, bound parity given it"),
    "simpson.reversals": (
        "in {reversed} of {cells} cells with enough people of both groups, with {people:,.0f} people, the order of "
        "groups is reversed: there {lower} has {outcome} more often than {higher} after, by up to {gap:in_points} "
        "percentage points, and did not before"
    ),
    # The certificate.
    "certificate.optimal": "every bound holds, and no mapping within the bounds loses less by more than the gap",
    "certificate.feasible": "every bound holds up to the violation below; another mapping might lose less",
    "certificate.local": (
        "every bound holds; found by steps that each lose least given the last; another mapping might lose less"
    ),
    "certificate.lower_bound": "the lower bound is proved by duality, without trusting the solver",
    "certificate.margins": (
        "the margins of the confidence cost {more:loss}; the certificate is optimal for these margins, not among all "
        "mappings that would keep the bounds in the population"
    ),
    # What an audit does not say.
    "caveat.nobody_before": "nobody in the group {group} has {outcome} before; after, the rate is {rate:.4g}",
    "caveat.small_group": "the group {group} has only {number:g} {unit}; its rates say little about other people",
    "caveat.budgets_on_average": (
        "budgets are per (x, y) and hold on average over the protected groups: some groups are changed more than the "
        "budget says, and no bound on distortion carries over to apply mode"
    ),
    "caveat.own_target": (
        "the target is the table's own p(y), which repeats whatever the table's outcomes already contain"
    ),
    "caveat.in_expectation": (
        "the bounds hold for the table that was fitted, in expectation over the draws; they limit the released "
        "outcome's rates, and so the mean score of a model that learns them well, not its thresholded decisions"
    ),
    "caveat.other_columns": (
        "columns outside the problem are passed through unchanged, and nothing bounds what a model learns from them"
    ),
    "caveat.learned_cells": (
        "features stay as they are, so that apply mode changes nothing; the utility compares shares of learned cells, "
        "not of whole records, and the certificate is about mappings of these cells"
    ),
    "caveat.slack": "one bound changes nothing by itself, since the table as it is keeps it: {parity}",
    "caveat.no_parity": "no parity bound was asked for: nothing limits how far groups' rates are apart",
    "caveat.no_budget": "no budget was asked for: only forbidden moves limit how much anybody is changed",
    "caveat.suppressed": (
        "the released outcome depends on the released features alone, p(ŷ|x̂,d) = p(ŷ|x̂), within {leak:violation}: the "
        "bounds carry over to a model that may not see the protected columns"
    ),
    "caveat.features": (
        "whatever is selected by {columns} as released alone, the groups' shares of it differ by no more than the "
        "bound on features, in train and apply mode, in expectation over the draws; a model that reads any other "
        "column, or scores averaged over the draws of a person, is not covered"
    ),
    "caveat.blind_features": (
        "whatever is selected by {columns} as released alone, the groups' shares of it differ by no more than the "
        "bound on features, in train mode, in expectation over the draws; a model that reads any other column, or "
        "scores averaged over the draws of a person, is not covered"
    ),
    "caveat.models_without": (
        "a model that may not see the protected columns is not covered: it can depend on them through the features"
    ),
    "caveat.given_model": (
        "p(ŷ|x̂) is that of a given model: what is bounded is that model's mean score on the released features"
    ),
    "caveat.blind": (
        "the mapping is the same for every group, and apply mode needs no protected column; it then averages over "
        "p(y|x) instead of p(y|x,d), so that mean scores are those of the audit's table of scores, not exactly the "
        "released rates"
    ),
    "caveat.apply_reads": (
        "apply mode still reads the protected columns, although the model does not; a blind mapping would not"
    ),
    "forbidden.already": "{which:; }. Who is so may stay so, and nobody else becomes so",
    "forbidden.people": "{people:,.0f} {people:person is|people are} already {rule}",
    "written.mapping": "check the mapping with: {command}",
    "written.proof": "check the proof with: {command}, or without evenhand: {python}",
    "written.verifier": "verifier.py needs Python alone; here it is {path}",
    "demo.one_draw": "the table after one balanced draw, one row per person",
    "outside.columns": (
        "release and apply pass these columns through unchanged, and nothing bounds what a model learns from them"
    ),
    "cells.largest": "these are the largest of {cells}; {command} lists all",
    "audit.counted_once": (
        "the mapping was fitted with {option}{lacking}: here every row counts as one person. If it does not, name the "
        "column with --{option}"
    ),
    "audit.no_such_column": ", and this table has no column {column}",
    "coverage.new_cells": (
        "about {share:whole} of new people are expected in cells that nobody here is in: so many people are alone in "
        "theirs. Fewer features, wider bins or merged levels make cells that more people share. Bounds were proved for "
        "the fitted people; new ones in such cells {then}"
    ),
    # Whether a problem can be solved, and what its bounds cost.
    "diagnosis.yes": "Feasible",
    "diagnosis.no": "Infeasible",
    "diagnosis.feasible": "Every bound can be met, at a utility loss of {loss:.7g}.",
    "diagnosis.infeasible": "No mapping meets every bound.",
    "diagnosis.error": "{error}",
    "diagnosis.confidence": (
        "That is with margins for a confidence of {confidence:g}, as is all that follows; without, the loss would be "
        "{without:.7g}."
    ),
    "diagnosis.margins": "All that follows is with margins of up to {widest}, beyond the bounds.",
    "diagnosis.not_convex": "This problem is not convex, so that its bounds have no prices.",
    "diagnosis.price": "Relaxing {constraint} would gain {price:.6g} per unit at first.",
    "diagnosis.price_unknown": "What relaxing {constraints: and } would gain is not known.",
    "diagnosis.no_price": "No bound costs utility: relaxing none of them would lose less of it.",
    "diagnosis.smallest_bound": "The smallest parity bound that all constraints could share is {bound:.7f}.",
    "diagnosis.smallest_budgets": "Budgets of {factor:.4g} times these{limit} would just do.",
    "diagnosis.smallest_limit": ", {limit:.7g}",
    "diagnosis.not_even_seeing": (
        "Not even a mapping that does not suppress D can meet every bound; what follows is about such mappings."
    ),
    "diagnosis.raise_bound": "A way out: raise the parity bound to {bound:.7f}.",
    "diagnosis.raise_bound_alone": "A way out: raise the parity bound to {bound:.7f} and keep the budgets.",
    "diagnosis.no_bound": "Larger parity bounds alone would not do.",
    "diagnosis.raise_budgets": "A way out: multiply the budgets by {factor:.6g} ({limits}).",
    "diagnosis.raise_budgets_alone": (
        "A way out: keep the parity bound and multiply the budgets by {factor:.6g} ({limits})."
    ),
    "diagnosis.limit": "{charge} ≤ {limit:g} → {larger:.7f}",
    "diagnosis.no_budgets": "Larger budgets alone would not do.",
    "diagnosis.cheapest": "The cheapest of all, by relative increase: {change}.",
    "diagnosis.larger_bound": "the larger parity bound alone",
    "diagnosis.larger_budgets": "the larger budgets alone",
    "diagnosis.larger_both": "a parity bound of {bound:.6g} with budgets times {factor:.6g}",
    "diagnosis.relabelled_alike": (
        "Rates of {outcome} were {low:.4f} and {high:.4f} among {who: and }. To bring them together and relabel both "
        "groups alike at each original outcome means that among them the released {outcome} {left}; relax one of the "
        "two bounds."
    ),
    "diagnosis.nothing_left": "tells nothing of the original one",
    "diagnosis.little_left": (
        "tells little of the original one: Pr(ŷ|y) differs by at most {difference:.3g} between them"
    ),
    # Which bounds conflict, and how far rates can go.
    "conflict.features": (
        "What is released of {features} differs between {group} and {against} by {value:.4f} now, in total variation; "
        "the bound is {bound:g}."
    ),
    "conflict.segment": (
        "{outcome} among {group} with the released {segment} is {rate:.4f} now. The target is {other:.4f}, the bound "
        "{bound:g}."
    ),
    "conflict.target": (
        "{outcome} among {group} is {rate:.4f} now{reach}. The target is {other:.4f}, the bound {bound:g}."
    ),
    "conflict.pair": (
        "{outcome} among {group} is {rate:.4f} now{reach}. Among {against} it is {other:.4f} now{other_reach}. The "
        "bound between them is {bound:g}.{blind}"
    ),
    "conflict.reach": "; {moves}{drawn} let it reach {low:.4f} to {high:.4f}",
    "conflict.other_reach": " and can reach {low:.4f} to {high:.4f}",
    "conflict.budgets_and_moves": "budgets and forbidden moves",
    "conflict.moves": "forbidden moves",
    "conflict.drawn": ", with ŷ drawn given x̂ alone,",
    "conflict.blind": " A blind mapping moves both together.",
    "conflict.barred_by_target": (
        "The target gives {outcome} no probability; a bound on ratios then lets nobody among {group} have it."
    ),
    "conflict.barred_by_group": (
        "{outcome} can never happen among {other}; a bound on ratios then lets nobody among {group} have it."
    ),
    "conflict.budget": (
        "The budget {charge} ≤ {limit:g} of {group} with {outcome} stands in the way ({cells} {cells:cell|cells})"
        "{charged}.{others}"
    ),
    "conflict.limits": "{low:g} to {high:g}",
    "conflict.charged": ": {changes:; }",
    "conflict.change": (
        "changing {column} {old} → {new} alone is charged {cost:g}, so at most {share:whole} of them may do so"
    ),
    "conflict.limit_of_others": (
        " It is the limit of other groups, whose people may come to have the same row of a blind mapping."
    ),
    "conflict.forbidden": "Changing {column} {old} → {new} is forbidden; for {group} it would help.",
    "conflict.without_forbidden_records": "Also if no record were forbidden, the bounds could not be met.",
    "conflict.forbidden_record": "If nobody were forbidden to become {rule}, every bound could be met.",
    "conflict.forbidden_records": ("If none of the {rules} kinds of records were forbidden, every bound could be met."),
    # What drives the cost, and what a little more room would save.
    "cost.part": "{people} ({who}) make up {share:whole} of what parity costs: {rate}.",
    "cost.level": (
        "{people} ({who}) set the level for everybody: every comparison that costs anything is with them; {rate}, and "
        "the others are brought near it (bound: {bound})."
    ),
    "cost.most_of_level": (
        "{people} ({who}) do most to set the level: {share:whole} of what parity costs comes from comparisons with "
        "them; {rate}."
    ),
    "cost.all": "all",
    "cost.rate": "their rate of {outcome} is {before:rate} before and {after:rate} after",
    "cost.room_in_parity": "A tenth more room in the parity bounds would save {saved}.",
    "cost.room_in_budgets": "A tenth more room in everybody's budget would save {saved}.",
    "cost.saved": "about {share:whole} of what is lost, at the rate of the first steps",
    "cost.much_saved": ("much of what is lost: at the rate of the first steps all of it, but later ones save less"),
    # The frontier.
    "frontier.edges": "The edges, found exactly",
    "frontier.confidence": "Every point with margins for a confidence of {confidence:.12g}",
    "frontier.margins": "margins are found anew at every point, so that edges between points are not known",
    "frontier.at": "{where}: {what}",
    "frontier.bound": "bound {bound:g}",
    "frontier.budget_limit": "budget limit {budget:g}",
    "frontier.budget_factor": "budget factor {budget:g}",
}

TITLES: dict[str, str] = {
    "asked": "What was asked",
    "rates": "Each group's rates, before and after",
    "gains": "Who is helped and who is harmed: {favourable} is good for a person",
    "outcomes": "Which outcomes change",
    "bounds": "Which bounds hold for this table",
    "changes": "Who changes, and how",
    "caveats": "What this does not say",
    "certificate": "What it cost, and how sure that is",
    "scores": "Mean score of a model of the released data, if it sees the protected columns or not",
    "coverage": "Missing and unseen",
    "assurance": "Whether the bounds hold in the population, at a confidence of {confidence:g}",
    "cells": "The learned cells: who is in each",
    "one_draw": "One draw",
    "release": "The rates in the file that was written",
    "written": "What was written",
    "outside_the_problem": "Columns outside the problem",
    "diagnosis": "{verdict}",
    "conflict": "Conflicting constraints, by weight in the infeasibility proof",
    "prices": "What each bound costs: utility gained for each unit that it is relaxed, at first",
    "edges": "{edges}",
    "points": "The points",
    "without_a_bound": "The same model without a bound",
}
"""The headings of sections."""

CAPTIONS: dict[str, str] = {
    "chart.band": "allowed",
    "chart.better": "better for people",
    "chart.infeasible": "infeasible",
    "chart.interval": "interval",
    "chart.neither": "neither",
    "chart.shade": "darker is more, up to {top}",
    "chart.worse": "worse for people",
    "by_segment": "The same within each segment by {given}",
    "reach": "How far these rates can go within budgets and forbidden moves",
    "lifts": "Lift: p(y|d) over p(y) (extended), p(y|not d) (selective), the lowest group's (contrastive)",
}
"""What stands above a table, where its section's heading does not say it, and the titles of charts."""

HEADINGS: dict[str, str] = {
    "weight": "People",
    "rule": "Who is in it",
    "objective": "Utility loss",
    "max_violation": "Largest violation",
    "seeing_protected": "Sees them",
    "not_seeing_protected": "Does not",
}
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


def shown(value: Any, kind: str) -> str:
    """Write a value of a table, or a fact: a note as its sentence, a list in one line, anything else by its kind."""
    if isinstance(value, list):
        return ", ".join(shown(each, kind) for each in value)
    return sentence(value) if isinstance(value, Note) else written(value, kind)


def facts(found: Iterable[Fact]) -> Iterator[tuple[str, str]]:
    """Yield the heading of each fact with what it says; of several notes each by itself."""
    for fact in found:
        for value in fact.value if isinstance(fact.value, tuple) else (fact.value,):
            yield heading(fact.key), shown(value, fact.kind)


def title(key: str, fields: Mapping[str, Any]) -> str:
    """Return the heading of a section."""
    return fill(TITLES[key], fields)


def caption(key: str, fields: Mapping[str, Any]) -> str:
    """Return what stands above a table; empty where nothing does."""
    return fill(CAPTIONS.get(key, ""), fields)


def heading(name: str) -> str:
    """Return how a column or a fact is headed: its name, unless the catalogue has a better one."""
    return HEADINGS.get(name, name.replace("_", " ").capitalize())
