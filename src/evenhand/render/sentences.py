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
from evenhand.render.section import Column, Fact, Note

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
    "text": "{text}",
    "hidden.rows": "{hidden} of {total} rows are not shown: fewer than {least:g} people, or would reveal such a group",
    "hidden.parts": (
        "{hidden} of {total} {what} {hidden:is|are} not shown: {hidden:it has|they have} fewer than {least:g} people, "
        "or would reveal one that has"
    ),
    "hidden.everywhere": (
        "Sentences that name a group or a level of too few people are left out. Every bound holds for those who are "
        "not shown, too."
    ),
    "page.more": "and {more:,} more, which the JSON beside this page has",
    "page.end": "Written by evenhand {evenhand}. The same numbers as JSON: format {format}, version {version}.",
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
    "asked.scored": "models that do not see {protected: × }, too: each bound also holds for their mean scores (eq. 9)",
    "asked.own_conditional": "the table's own p(y|x)",
    "asked.given_conditional": "the p(y|x) of a given model",
    "asked.alternating": "a p(ŷ|x̂) found by alternating minimization",
    "asked.blind": "everybody with the same {cells} and outcome is treated alike, whatever their group",
    "asked.utility": "{utility} from the original to the released distribution of ({cells}, outcome)",
    "asked.utility_on_features": "{utility} from the original to the released distribution of {cells}",
    # Parity constraints, and whom they leave out.
    "parity.missing_group": (
        "the group {group} is not compared with others: the protected value of its people is missing, and their rate "
        "is no reference"
    ),
    "parity.missing_in_target": (
        "the target is everybody's rate, and includes the group {group}, whose protected value is missing; give a "
        "target to leave their rate out"
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
    # A table as it stands, and who is not counted in it.
    "uncounted.rows": (
        "{rows:,} of {total:,} rows are not counted, for values that the fitted table did not have ({values})"
    ),
    "uncounted.groups": "nobody is counted of {absent} of the {groups} fitted groups: {named}",
    "uncounted.new_groups": (
        "{people:,.0f} {people:person|people} of groups that were not fitted: {named}; no bound was proved for them"
    ),
    "uncounted.new_groups_kept": (
        "{people:,.0f} {people:person|people} of groups that were not fitted: {named}; they are kept as they are, and "
        "no bound was proved for them"
    ),
    "uncounted.segments": (
        "whether {constraint} holds is not known: its segments are those of {columns: × } before the release, of which "
        "this table has the new values alone; mapping.realised(table, original=...) with the table as it was, and "
        "evenhand release, find it"
    ),
    "verdict.nothing": "there is nothing to compare: no parity constraint is about the people of this table",
    "verdict.segments": "segments are compared as they are in this table",
    "verdict.holds": "the parity constraint holds in this table",
    "verdict.both_hold": "both parity constraints hold in this table",
    "verdict.all_hold": "all {bounds:,} parity constraints hold in this table",
    "verdict.violated": "the parity constraint is violated in this table{less}",
    "verdict.some_violated": (
        "{violated:,} of {bounds:,} parity constraints {violated:is|are} violated in this table{less}"
    ),
    "verdict.one_person": ", by less than one person's outcome in each group",
    "verdict.tightest": "tightest: {worst}",
    "verdict.worst": "worst: {worst}",
    "verdict.constraint": "{constraint}, tightest comparison: {worst}",
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
    "simpson.given_a_column": (
        "If a column that they are made of ({columns}) justifies differences, bound parity within it, such as {setting}"
    ),
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
    "caveat.unaware": (
        "the bounds cover a model that sees the protected columns, and one that sees the features alone; a model that "
        "reads any other column is not covered"
    ),
    # A model that does not see the protected columns.
    "unaware.certified": (
        "certified: the table's own rates, and the propensity-weighted rates of a model without {protected}, given "
        "these propensities"
    ),
    "unaware.learned": (
        "propensities are estimated out of fold by {learner} from the problem's features, and agree with the cells' "
        "counts"
    ),
    "unaware.counted": "propensities are the table's own p(d|x)",
    "unaware.predicted": "the features predict {protected} with an AUC of up to {auc:.2f}",
    "unaware.cross_validated": (
        "cross-validated, not certified: mean scores of {learner}, trained without the protected columns on the "
        "expected release, of people whom it did not see; after {corrections} {corrections:correction|corrections}"
    ),
    "unaware.not_cross_validated": (
        "no model was cross-validated, and nothing was corrected: hold a model's own mean scores against the bounds"
    ),
    "unaware.outside": (
        "the promise covers a model of the problem's features; these columns of the table are not covered: {columns}"
    ),
    "caveat.blind": (
        "the mapping is the same for every group, and apply mode needs no protected column; it then averages over "
        "p(y|x) instead of p(y|x,d), so that mean scores are those of the audit's table of scores, not exactly the "
        "released rates"
    ),
    "caveat.no_bound_on": "no bound is on groups by {column}",
    "caveat.together": (
        "the bounds are on groups by {on: and by }; those that {together} form together are not bounded: of {outcome} "
        "the highest rate is {before} the lowest before, {after} after"
    ),
    "caveat.columns_outside": (
        "in the given table these are columns outside the problem, passed through unchanged: {columns}; leave out of a "
        "model's inputs what should not tell it the group"
    ),
    "caveat.no_columns_outside": "the given table has no columns outside the problem",
    "caveat.apply_reads": (
        "apply mode still reads the protected columns, although the model does not; a blind mapping would not"
    ),
    "forbidden.already": "{which:; }. Who is so may stay so, and nobody else becomes so",
    "forbidden.people": "{people:,.0f} {people:person is|people are} already {rule}",
    "written.mapping": "check the mapping with: {command}",
    "written.changes": (
        "the list of changes has every value that changed, with the probability of the move that was drawn"
    ),
    "written.stale": "{manifest} is of the file that was there before, not of this one",
    "written.figure": "{path}: {caption}",
    "written.query": "a query of {bytes:,} bytes; a missing key or value ends it with an error",
    "written.schema": "editors with Taplo (Even Better TOML) read it; the first line of a problem beside it is",
    "written.problem": "the problem has comments: read it, and change what is not right",
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
    "given_away.column": (
        "a column that is passed through reveals what changes. A reader could identify, {revealed:; }. Leave it out "
        "of what readers get, or make it part of the problem"
    ),
    "given_away.columns": (
        "columns that are passed through reveal what changes. A reader could identify, {revealed:; }. Leave them out "
        "of what readers get, or make them part of the problem"
    ),
    "given_away.of": "of those whose {of} changes {columns:, }",
    "given_away.from": "{told:whole} from {column} (about {people:,.0f}; {right:whole} of suspicions right)",
    "released.other": (
        "{manifest} says that this mapping wrote a file of this name, but the table is another, or was changed since"
    ),
    "released.manifest": (
        "this table is what this mapping wrote at {at} ({mode}), says {manifest}: what is said here is about using the "
        "mapping on it a second time"
    ),
    "released.counts": (
        "this table looks like one that this mapping released from the fitted table in {mode} mode: it has as many "
        "people of every group, and its cells are as a release would have them; if it is one, what is said here is "
        "about using the mapping on it a second time"
    ),
    # Files that were checked again.
    "manifest.apply": "apply mode reads and changes no outcome: the rates are those that the input has",
    "manifest.no_rows": "the table has no rows",
    "manifest.labels": "its rates were not counted: names of bins are no values that could be read again",
    "manifest.not_counted": "its rates could not be counted: {error}",
    "verified.yes": "Verified",
    "verified.no": "Verification failed",
    "verified.manifest": "every file has its checksum",
    "verified.manifest_again": "every file has its checksum, and running the command again gives the same bytes",
    "verified.lapsed": "the sign-off by {name} {lapsed}",
    "verified.number_of_files": "there are {found} files for the {what}, where the manifest is of {stated}",
    "verified.bytes": "the {called} {path} is not the file that the manifest is of: its SHA-256 is another{sizes}",
    "verified.size": ", and it has {size:,} bytes instead of {stated:,}",
    "verified.fingerprint": "the manifest states another fingerprint than its mapping has",
    "verified.rows": "the manifest states {stated} rows for the {what}, which has {found:,}",
    "verified.refused": "the command cannot be run again: {error}",
    "verified.again": (
        "running the recorded command again gives other bytes for the {what}; it was written with {then}, and "
        "installed are {here}"
    ),
    "verified.not_counted": "the manifest states rates that cannot be counted",
    "verified.no_rates": "the manifest states no rates",
    "verified.numbers": "{what} that are stated are not the file's: {first}",
    "verified.stated": "{what} is stated as {stated}, found {found}",
    "verified.number_of_rows": "{stated} are stated, {found} found",
    "verified.certificate": (
        "the recomputed certificate is {status}: no constraint is violated by more than {violation:violation}"
    ),
    "verified.other_certificate": "the stored certificate does not match the recomputed one",
    # What became of a table's rows.
    "rows.counts": "the rows stand for {people:,} people by {column}",
    "rows.outcome_unread": "the outcome, if there is one, was not read",
    "rows.unseen": "{unseen:,} {unseen:row has|rows have} a combination not seen when fitting{missing}: {then}",
    "rows.missing": ", {missing:,} of them with a missing value",
    "rows.unchanged": "left unchanged",
    "rows.drawn": "they {then}",
    "rows.some_drawn": "{typical:,} of them {then}; the others are left unchanged",
    "rows.changes_nothing": (
        "this mapping changes no feature, so apply mode leaves everybody as they are; train mode changes outcomes"
    ),
    "rows.key": "rows with the same {key} share one draw",
    "rows.passed_through": (
        "these columns are passed through unchanged, and nothing bounds what a model learns from them: {columns}"
    ),
    "rows.weights": "weights sum to {weight:,.12g}, {of}; they are in the column {column}",
    "rows.number": "the number of rows",
    "rows.sum": "the sum of {column}",
    "rows.use": (
        "pass the column {column} to a model as sample_weight, and not as a feature: it then learns without sampling "
        "noise, and weighted rates of known values are the expected ones, which audit reports"
    ),
    "rows.no_weights": "a model that takes no weights needs a draw: evenhand release",
    "options.drawn_seed": "the seed was drawn anew for this file",
    "balanced.kept": (
        "balanced draws keep the released outcomes of everybody and of every cell{groups} within one person of their "
        "expectation, and every move within two; bounds hold in expectation for the fitted table (for another, see "
        "evenhand audit MAPPING TABLE)"
    ),
    "balanced.groups": ", and of every group by {levels: and by },",
    "balanced.level": "{columns: × }",
    "balanced.weights": (
        "rows are balanced, not weights: the numbers of rows are within one of their expectation, while sums of "
        "{column} can be off by the weights of single rows"
    ),
    "balanced.shared": (
        "{shared} of {rows} rows share their {key} and their cell with a row before them: these are one person, who "
        "gets one result, so that people are balanced within one, and not rows"
    ),
    "balanced.pooled": (
        "more than {most:,} unseen cells are too many to balance each of them: people in such cells are balanced with "
        "all who share their group and their probabilities"
    ),
    "balanced.crossing": (
        "the released outcomes of {part} can be further than one person from their expectation, since they cross "
        "{across: and }, whose are; those of every cell are within one"
    ),
    "balanced.too_many_parts": (
        "the released outcomes of {part} can be further than one person from their expectation, since they are more "
        "than can be balanced apart; those of every cell are within one"
    ),
    "balanced.blind": (
        "this mapping is blind: train mode does not read {columns: × }, so the released outcomes of groups are not "
        "balanced; those of every cell of features and outcome are within one person of their expectation, and so are "
        "everybody's"
    ),
    "balanced.features": (
        "parity of features is bounded in expectation: balanced draws hold released outcomes within one person of "
        "their expectation, not the features that people are released with"
    ),
    "balanced.released_segments": (
        "parity is bounded within released segments by {columns: × }: balanced draws hold people by their original "
        "values within one person of the expectation; who is released into a segment comes from many cells, and their "
        "numbers can be off by more"
    ),
    "draws.expected": (
        "bounds hold in expectation for the fitted table (for another, see evenhand audit MAPPING TABLE); the rates of "
        "single releases scatter around that, as follows"
    ),
    # A problem that is proposed.
    "proposal.rows": "{rows:,} rows",
    "proposal.people": "{rows:,} rows, which stand for {people:,} people by {column}",
    "proposal.weighted": "{rows:,} rows, weighted by {column}",
    "proposal.groups": (
        "{groups}, of {fewest:,} to {most:,} people; rates of {rated} from {lowest:rate} to {highest:rate}"
    ),
    "proposal.small_groups": "groups of fewer than {few} people, with the rate of {rated}: {named}",
    "proposal.small_group": "{name} ({people}, {rate:whole})",
    "proposal.column": "{column}: {why}",
    "proposal.feature": "{column} ({rule})",
    "proposal.all_features": "{number} columns, all as they are: {columns}",
    "proposal.listed": "{what:, }",
    "proposal.known_after": "perhaps known only after the outcome: {columns}",
    "proposal.cells": "learned: {cells}; outcomes alone change",
    "proposal.install": (
        "to use all columns that explain {outcome}: pip install 'evenhand[sklearn]', and run init again"
    ),
    "proposal.no_leaves": "leaves of a tree over all columns could not be learned: {error}",
    "proposal.explained": (
        "on held-out data leaves explain {leaves:whole} of the entropy of {outcome}, {few} "
        "{by_few:whole}{small}{levels}"
    ),
    "proposal.levels_of": "levels of {columns:, }",
    "proposal.some_levels": "a choice of columns",
    "proposal.small_leaves": ". Every leaf needs people of {group}, which has {people}",
    "proposal.as_levels": ". init --cells levels proposes those columns",
    "proposal.one_way": "{outcome}: people are moved towards {good} only",
    "proposal.either_way": "{outcome}: changes either way; --favourable LEVEL allows one direction only",
    "proposal.not_one_way": "{outcome}: changes either way; towards {good} only, the bound cannot be met",
    "proposal.left_out": "{columns}",
    "proposal.left_nothing": "nothing",
    "proposal.budget": "an expected cost of at most {limit:g} for each person",
    "proposal.losing": "{share} would lose {outcome} {good}{wider}",
    "proposal.losing_instead": (
        "this distance, not the ratio: {share} would lose {outcome} {good}, by the ratio {by_ratio}"
    ),
    "proposal.wider": "; {share} if {apart}",
    "proposal.share": "about {lost:,.0f} of {people:,} people ({share:rate})",
    "proposal.nobody": "nobody",
    # How protected columns become groups.
    "groups.small": "{value} ({people}, {rate:whole})",
    "groups.several": "{first:, } and {last}",
    "groups.more": "{more} more",
    "groups.merged": "{values} are one group, {name}.",
    "groups.apart": "{values} are small, but apart: one rate would hide the other.",
    "groups.ages": "Cut where known groups of ages begin; use the ages of your rules.",
    "groups.cut": "Cut at round numbers near equal shares of the people; use the edges of your rules.",
    # Why a column has no role, or what to ask about one.
    "column.shared_name": "several columns have this name; rename them to use one",
    "column.no_name": "the file's header has no name for it; give it one to use it",
    "column.not_asked_for": "not asked for",
    "column.dates": "dates or times; make them a number, such as an age, to use them",
    "column.dates_as_they_are": (
        "dates or times, of which many are known only after the outcome; add those that are known before it"
    ),
    "column.too_many_values": "too many values, all of them rare",
    "column.nearly_constant": "nearly constant",
    "column.taken_name": "what learned cells are called here; rename it to use it",
    "column.nested": "lists, structs or bytes, which are no categories",
    "column.one_value": "one value for everybody",
    "column.empty": "empty",
    "column.identifier": "nearly every row has its own value: an identifier",
    "column.names": "most rows have their own value: names, remarks or identifiers",
    "column.copied": "gives away {group}, which is protected: a copy, or made of it",
    "column.copy_of_feature": "gives away what {feature} was: drop it before training",
    "column.little": "explains too little of the outcome beyond the features above",
    "column.less": "explains less of the outcome than the {most} features above",
    "column.small_cells": "would make too many small cells: fewer than {people} people each on average",
    "column.filled_in": "filled in or not depending on the outcome: known only after it",
    "column.outcome_renamed": (
        "explains {share:whole} of the outcome: perhaps the outcome by another name, or known only after it"
    ),
    "column.decides": "all with {value} have {outcome} {level}: perhaps known only after it",
    "column.of_filled_in": ("tells whether {column} is filled in, which depends on the outcome: known only after it"),
    "column.asked": "explains {share:whole} of the outcome by itself: is it known before it?",
    "column.nearly_decides": "nearly all with {value} have {outcome} {level}: is it known before it?",
    # The paper's numbers.
    "reproduced.agree": "{agree} of {number} numbers agree with the reference",
    "reproduced.reference": "the reference is what independent solvers find on the same tables",
    "reproduced.paper": (
        "* the paper prints another number: at ε=0.59 the identity is not yet feasible, but KL is only 4e-5; its "
        "text's cost of 2 for lowering the outcome is infeasible, while a cost of 1 gives its figures; its 0.014 for "
        "Adult is 0.01485 with budgets averaged over the groups, and infeasible without"
    ),
    # What a signer needs first of other people.
    "fresh.first_bound": " that the first bound is about",
    "fresh.the_bound": "the bound",
    "fresh.a_bound": "a bound",
    "fresh.draws": (
        "With independent draws {releases:,} releases were simulated. In nine of ten, rates{which} are {draws_apart}."
    ),
    "fresh.draws_over": (
        "Constraints hold in expectation: with independent draws {over:rate} of {releases:,} simulated releases "
        "violate {bounds}. In nine of ten, rates{which} are {draws_apart}. Balanced draws vary less. The expanded "
        "table, with every possible row and its weight, does not vary."
    ),
    "fresh.tables": (
        "Had other people been in the table: on {tables:,} resampled tables, the mapping held fixed, the expected "
        "rates{which} are mostly {tables_apart}{over}."
    ),
    "fresh.tables_over": ", and {over:rate} of them violate {bounds}",
    "fresh.holdout": (
        "Surest is a hold-out: release people who were not used for fitting, and look at their rates. Given their "
        "table as a hold-out, the theory of the mapping has exact intervals for them, all at once, and says whether "
        "the bound is met, violated or not decided."
    ),
    "fresh.wide_groups": (
        "Of the {groups} groups that are shown, {small} {small:is|are} so small that a rate of theirs is only known to "
        "within an interval wider than {wide:g} ({confidence:whole}, each by itself); the widest, {widest:.2f}, is "
        "that of {group}."
    ),
    "fresh.hidden_groups": ("{hidden}. They count in these shares, and the rates of so few people move most."),
    # The first screen of a report.
    "brief.title": "{outcome}: what a mapping changes, for whom, at what cost",
    "brief.lead": (
        "A randomized mapping of a table of {people:,.0f} {unit}{rows} that bounds how far {outcome} may depend on "
        "{on: and on }. It is for people to judge whether the bounds are the right ones."
    ),
    "brief.rows": " ({rows:,} rows)",
    "brief.table": "{people:,} people in {groups} {groups:group|groups} by {columns: × }",
    "brief.mapping": "{name}, SHA-256 {sha256}",
    "brief.unnamed": "given from Python, in no file that was named",
    "brief.version": "evenhand {evenhand}",
    "brief.apart": "{before} → {after}{beside}",
    "brief.the_target": " the target",
    "brief.beside_the_target": ", beside the target",
    "brief.not_bounded": "not bounded",
    "brief.not_shown": "not shown",
    "brief.no_parity": "No parity bound was asked for.",
    "brief.hidden_compared": "Only groups that are not shown are compared.",
    "brief.pair": "{when}: {pair}.",
    "brief.outcome_before": "{outcome}, before",
    "brief.after": "After",
    "brief.outcome_after": "{outcome}, after",
    "brief.bound": "The bound is {bound}.",
    "brief.everybody": "It holds for everybody, those who are not shown here included.",
    "brief.also": "Also bounded ({parity}): {before} → {after}, bound {bound}.",
    "brief.between": "Between groups, the highest rate is {before} the lowest before, {after} after.",
    "brief.changed": "{some:people} of {people:,.0f} {unit} ({share:rate})",
    "brief.nobody": "nobody",
    "brief.some": "{people:people}",
    "brief.move": "{some} go from {outcome}={from} to {to}{way}.",
    "brief.better": ", for the better",
    "brief.worse": ", for the worse",
    "brief.other_moves": "{some:people} change in {outcome} in other ways.",
    "brief.drawn_anew": "The outcome is drawn anew for everybody, from the released features alone.",
    "brief.features": "{some} change in their features{most}.",
    "brief.most_often": "; most often {column}: {from} → {to}",
    "brief.no_features": "Nobody's features change.",
    "brief.not_stated": "not stated",
    "brief.nobody_said": (
        "The problem does not say which outcome is good for a person (favourable), so nobody can be called either."
    ),
    "brief.gains": "{helped} better off, {harmed} worse off{by}",
    "brief.by_weight": ", by weight",
    "brief.levelled_down": "The rate of {outcome} is levelled down: {groups:; }{more}.",
    "brief.down": "{group} from {before:rate} to {after:rate}",
    "brief.more_down": ", and {more} more",
    "brief.nobody_down": "No group has a lower rate of {outcome} than before: nobody is levelled down.",
    "brief.none_shown_down": "No group that is shown has a lower rate of {outcome} than before.",
    "brief.hidden_down": "Groups that are not shown may have a lower rate; all are counted.",
    "brief.if_released": "As if the drawn outcome were released.",
    "brief.kept": "yes: {name}",
    "brief.violated": "no: {name}",
    "brief.not_decided": "not decided: {name}",
    "brief.not_looked_at": "not looked at",
    "brief.no_file": "No released file was given with this report.",
    "brief.draws": (
        "Constraints hold in expectation: with independent draws {over:rate} of {releases:,} simulated releases "
        "violate one. Pass the manifest that evenhand release writes beside a file to see that file's rates here."
    ),
    "brief.this_table": "the people of this table",
    "brief.no_confidence": "No confidence was asked for: the bound is about the people of the table alone.",
    "brief.resampled": "On {resamples:,} resampled tables the rates{first} are mostly {apart}{violate}.",
    "brief.of_the_first": " of the first bound",
    "brief.violate": ", and violate a bound in {over:rate} of them",
    "brief.population": "another sample of the same population, at a confidence of {confidence:whole}",
    "brief.promised": (
        "Constrained are the expected rates of this mapping on another sample of the same population whose outcomes "
        "are known. That is checked by simulation, not proved. It is not about single draws, about people whose "
        "outcomes are not known yet, or about changes over time."
    ),
    "brief.not_covered": "decisions of models, other columns, other people",
    "brief.thresholds": "Whatever a model decides at a threshold, and what it learns from columns outside the problem.",
    "brief.no_budget": "How much one person may change: no budget was asked for.",
    "brief.uncovered_groups": "Groups by {alone:, groups by }, groups that {together} form together.",
    "brief.uncovered_together": "Groups that {together} form together.",
    "brief.caveats": "{caveats} sentences below say what else, and for whom the bounds hold.",
    # How far apart the groups are.
    "disparity.constraint": (
        "{parity}. Furthest apart{among}: {before} → {after}, bound {bound}. {was}; {is}. Comparisons at their bound: "
        "{at_bound} of {comparisons:,}."
    ),
    "disparity.among": " of those that are shown",
    "disparity.before": "{outcome}, before: {pair}",
    "disparity.after": "{outcome}, after: {pair}",
    "disparity.pair": "{rate:rate} of {of}; {other:rate} of {against}",
    "disparity.pair_target": "{rate:rate} of {of}; the target is {other:rate}",
    "disparity.hidden": (
        "{hidden} of {comparisons} comparisons have a group in them that is not shown; the bounds hold there too"
    ),
    "disparity.all_hidden": (
        "all {comparisons} comparisons have a group in them that is not shown; the bounds hold there too"
    ),
    "disparity.intervals": (
        "After: in expectation over the draws. Intervals: Clopper–Pearson, all at once; after: of the expected number, "
        "the mapping held fixed. They are about people like those of the table, if these are independent draws; that "
        "the mapping was fitted on the same people they do not count."
    ),
    "disparity.each_record": "each (features, outcome), on average over groups",
    "disparity.each_person": "each person",
    "chart.levels_alike": "The same people before and after. Rates of levels are not bounded",
    "chart.levels_cut": "The first {shown} of {total} levels",
    "chart.flows_cut": "The {shown} most common of {total} changes",
    # Who is better off, and who bears most.
    "gains.nobody_said": (
        "The problem does not say which outcome is good for a person. With favourable in it, this section says who is "
        "helped and who is harmed, by group, and whose rate is levelled down. Outcomes that change: {moves} kinds of "
        "moves, for {share:rate} of people."
    ),
    "worst.cells": (
        "{changed:,} of {cells:,} cells of protected columns, features and outcome are changed with some probability."
    ),
    "worst.nobody_loses": "Nobody’s outcome gets worse.",
    "worst.listed": "Those who bear most{among}{ranked}:",
    "worst.among_shown": " of the cells that may be shown",
    "worst.ranked": ", a better outcome being no burden",
    "worst.hidden_bear": "Whoever bears anything is in cells that are not shown.",
    "worst.nobody": "Nobody is changed without a better outcome.",
    "worst.cell": ("{people} ({who}): {bear}; likeliest, with {probability:rate}, is {steps:, }.{tied}"),
    "worst.worse": "{worse:rate} of them get a worse outcome",
    "worst.changed": "{changed:rate} of them are changed{ranked}",
    "worst.no_better": " without a better outcome",
    "worst.step": "{column}: {old} → {new}",
    "worst.tied": " {tied:,} more {tied:cell bears|cells bear} as much.",
    "worst.counts": "This page shows counts of cells. The mapping file and a proof hold all counts.",
    "worst.hidden": "{hidden}{changed}. Every bound holds for them too.",
    "worst.hidden_changed": "; {hidden} of these cells {hidden:is|are} changed",
    # What models decide.
    "decisions.decides": (
        "{which}, {sight} the protected columns, decides {outcome} for {before} before, and for {after} after learning "
        "from {learned_from}{times}.{more} Equally likely outcomes count in equal parts, of two a half each. No bound "
        "covers decisions."
    ),
    "decisions.plain_one": "A plain model",
    "decisions.fitted_one": "The model fitted here",
    "decisions.with": "with",
    "decisions.without": "without",
    "decisions.times": ": {before} → {after}",
    "decisions.plain_too": " A plain model, learned from {learned_from}{times}.",
    "decisions.range": "{low:rate} to {high:rate} of a group’s people",
    "decisions.everybody": "everybody",
    "decisions.nobody": "nobody",
    "decisions.all_alike": "{share:rate} of every group’s people",
    "decisions.too_few": "No group has people enough to be shown.",
    "decisions.not_bounded": (
        "What is bounded is the released outcome, and so the mean score of a model that learns it well; decisions at a "
        "threshold are not. Here a plain model, the shares of outcomes by features, decides for everybody the "
        "likeliest outcome: learned from the table as it is (before), and from what is released (after)."
    ),
    "decisions.fitted_on": (
        "{model}, {sight} the protected columns: learned from the table as it is and scoring it; and learned from "
        "{learned_from}{every}, scoring the same people in apply mode, over all of its draws. Decided so: the share of "
        "people for whom the outcome is the likeliest; no bound covers it."
    ),
    "decisions.shares": "The shares of each outcome by features",
    "decisions.model": "The model {name}",
    "decisions.every_result": " (every possible result with its weight)",
    "decisions.no_table": "With a table (--table) a model is fitted on it, and on a release, and set beside these.",
    "decisions.between": "{which}, between the groups shown: {before} → {after}",
    "decisions.not_seeing_protected": "Plain model that does not see the protected columns",
    "decisions.seeing_protected": "Plain model that sees the protected columns",
    "decisions.fitted": "Model fitted here, {sight} the protected columns",
    # One file that was written.
    "file.none": (
        "No released file was given. evenhand release writes a manifest beside the file, and --manifest shows here "
        "whether that very file keeps every bound."
    ),
    "file.file": "{name}, {size:,} bytes, SHA-256 {sha256}",
    "file.checksum": "{name}, SHA-256 {sha256}",
    "file.written": "{at}, by evenhand {version}",
    "file.key": "{key}: the same person draws the same",
    "file.unknown": "{name}: its rates are not known.",
    "file.keeps": "{name}: every parity constraint holds in this file.",
    "file.keeps_as_far": "{name}: as far as it is known, every parity constraint holds in this file.",
    "file.violates": (
        "{name}: this file violates {violated:one|{violated:,}} parity {violated:constraint|constraints}."
    ),
    "file.nothing_bounded": "Nothing in it is bounded, or its rates are not known.",
    "file.tightest": "Every parity constraint holds; tightest: {held: or }{where}.",
    "file.worst": "It violates {violated:,} parity {violated:constraint|constraints}; worst: {held: or }{where}.",
    "file.where": " ({where})",
    "file.rounded": (
        "Drawn together, every group’s outcomes are whole people within one of what is expected; a bound that is met "
        "with nothing to spare can be violated by that."
    ),
    "file.open": "It is not known of everybody: {some}, or the segments are not those of the bound.",
    "file.unseen": "{new:,} of its people are of a kind that nobody fitted was",
    "file.uncompared": "some of its people are not compared",
    "file.looked": (
        "The file has the bytes that its manifest states, and its rows and rates were counted again; the seed and how "
        "many rows changed are as the manifest states them."
    ),
    "file.counted": "{rows:,} rows{people}{changed}{seed}.",
    "file.for_people": " for {people}",
    "file.changed": ", {changed:,} of them changed as stated",
    "file.seed": "; stated seed {seed} ({origin}), {drawn}",
    "file.no_seed": "left out",
    "file.balanced": "all rows together (balanced)",
    "file.independent": "everybody by themselves (independent)",
    "file.expanded": "expanded: every possible row with its weight, nothing was drawn",
    "file.applied": "apply mode: features were drawn, no outcome was read",
    "file.applied_to_nothing": "apply mode: nothing was drawn, features stay as they are, no outcome was read",
    "file.released_both": "train mode: features and the outcome were drawn",
    "file.released_features": "train mode: features were drawn",
    "file.released_outcome": "train mode: the outcome was drawn, features stay as they are",
    "file.released_nothing": "train mode: nothing was drawn, features stay as they are",
    # What it costs.
    "cost.not_convex": "This problem has no convex optimum, and so no prices that would tell.",
    "cost.too_few": "The level is set by a group that is not shown.",
    "cost.unknown": "What the bounds cost is not known: a distance or measure of one's own has no prices.",
    "cost.not_parity": ("No parity bound has a price here: relaxing one a little would save nothing of what is lost."),
    "cost.free": "No bound costs anything here: nobody is changed for one.",
    "cost.free_of_features": (
        "No bound costs anything here: nobody's features are changed for one, and the outcome is drawn anew for "
        "everybody whatever is bounded."
    ),
    "cost.changes_alone": ("No utility is lost; what the bounds cost is changes, of {number} {unit}{features}{fewer}."),
    "cost.in_features": " in their features",
    "cost.fewer": "; with {with} it would be {number}",
    "cost.nearly_nobody": "nearly nobody",
    "cost.looser_bound": "a bound of {said}",
    "cost.looser_bounds": "all bounds {said}",
    "cost.prices": (
        "How much less would be lost if a bound were relaxed; exact for small changes. A dash is a price that is not "
        "known."
    ),
    "cost.no_price": "Every price is zero: whichever bound is relaxed, no less is lost.",
    "frontier.hidden": "Looser bounds than those of groups that may be shown are left out.",
    "frontier.this_mapping": "{status}: this mapping",
    "frontier.factor": "× {factor:.3g}",
    "frontier.smallest_feasible": "the smallest bound that can be met",
    "frontier.lossless_from": "from here on nothing is lost",
    "frontier.identity_from": "from here on nobody need change",
    # The columns of the table, learned cells, and how to repeat a report.
    "columns.levels": "{parts:; and }",
    "columns.listed": "{levels:; }",
    "columns.more": "{more} more",
    "columns.hidden": "{hidden} not shown",
    "columns.learned": "{cells} cells over {over:, }, see below",
    "columns.none_missing": "none",
    "columns.missing": "{rows:,.0f} ({policy})",
    "columns.few_missing": "not shown ({policy})",
    "cells.learned": "The learned cells: {cells}",
    "cells.rate": "{before:rate} → {after:rate} of {people:,}",
    "fresh.fitted_alone": (
        "The bounds hold for the table that was fitted{also}. What follows is what can be said about others."
    ),
    "fresh.confidence": ", and at a confidence of {confidence:g} in the population that it is a sample of",
    "certificate.recomputed": (
        "recomputed from the mapping and the counts alone; the lower bound holds whatever solver found the mapping"
    ),
    "repeat.orders": ("A CSV file does not keep the order of {columns:, }: write levels = [...] into their rules."),
    "repeat.template": (
        "The mapping was not fitted by a command: problem.toml is the text above, table.csv the table that was "
        "fitted{weights}."
    ),
    "repeat.weights": ", COLUMN that of its weights",
    "repeat.call": "mapping, frame and model in a call are those that were given.",
    "repeat.where": "The report may be written under any name (--out).",
    "repeat.same": (
        "A mapping that is learned again, by the same versions, is the same; by others it may be another one with the "
        "same loss. The one reported on is told by its checksum. This page holds no date of its own, nor where it was "
        "written: the same mapping, options and versions give the same page."
    ),
    "repeat.versions": "evenhand {evenhand}, Python {python}, {packages:, }",
    "repeat.package": "{name} {number}",
    # Impact ratios, and what else is in a bundle.
    "impact.what": (
        "An impact ratio is a category's selection rate over the highest selection rate of all categories that are "
        "formed in the same way and have at least {least:whole} of the people. After: in expectation over the draws."
    ),
    "impact.no_verdict": (
        "These are ratios, not a verdict: whether a ratio is acceptable is for people and the law to say."
    ),
    "impact.under": "under {least:whole} of the people: no ratio",
    "impact.no_highest": "the highest rate is not shown: no ratio",
    "impact.some": "some {unit}",
    "impact.unknown": "{number} have no known {column}: they are in no ratio by it",
    "impact.all_known": "Nobody's category is unknown.",
    "impact.kept": (
        "{number} have a new value, none, or an unseen combination: a release leaves them as they are, or refuses "
        "them; they are counted as they are, before and after"
    ),
    "impact.typical": "{number} have an unseen combination, and {then}: so they are counted after",
    "impact.strange": "{number} have an unseen outcome: they are not selected",
    "impact.unweighed": (
        "the mapping was fitted with weights, but no weights of this table were named: here every row counts once"
    ),
    "datasheet.what": (
        "A table whose outcome {outcome}, and whose features where that is said below, were changed at random by a "
        "mapping that bounds how far the outcome depends on the protected columns. It was made with evenhand "
        "{evenhand} from a table of {people:,} people."
    ),
    "datasheet.passed_through": (
        "Columns that are not listed are passed through as they are; nothing bounds what can be learned from them."
    ),
    "datasheet.weight_column": "Column {column} was added: the weight of each row of this file.",
    "datasheet.frequencies": "Column {column} counts people: each input row is split by what was drawn.",
    "datasheet.no_frequencies": "Column {column} of the input, which counted people, is part of the added weight.",
    "datasheet.mark": "Column {column} was added: it says in every row that the file was altered.",
    "datasheet.not_signed": "No sign-off was given.",
    "datasheet.proof": (
        "evenhand verify proof.json, or python verifier.py proof.json without evenhand, rechecks the proof in exact "
        "arithmetic."
    ),
    "datasheet.sums": "sha256sum -c SHA256SUMS rechecks the files beside this one: {files:, }.",
    "columns.read": "as read; cells are learned from it",
    "columns.not_read": "as read; no cell asks about it",
    "written.report": "the report, which any browser opens without a network",
    "written.numbers": "its numbers as JSON",
    "written.cells": "counts of the other cells are shown: treat the page as you would the table",
    "written.all_cells": (
        "the proof holds the counts of all cells, small ones too: treat the folder as you would the table"
    ),
    "written.hidden": "{hidden} (--hide-below)",
    # The frontier around a mapping.
    "frontier.not_asked": "It was not asked for.",
    "frontier.no_parity": "There is no parity bound to trace.",
    "frontier.not_convex": "It is not traced for a problem that is not convex.",
    "frontier.not_traced": "It could not be traced beyond the mapping itself: {error}",
    "frontier.budgets": "the budgets",
    "frontier.budgets_and_margins": "the budgets and the margins for confidence",
    "frontier.bounds": (
        "What tighter and looser parity bounds would lose, {held} held as they are, from this mapping outwards."
    ),
    "frontier.factors": (
        "What would be lost if all parity bounds, which differ, were multiplied by a factor, {held} held as they are, "
        "from this mapping outwards."
    ),
    "frontier.tightest": "No mapping meets a bound tighter than {bound}; all edges are found exactly.",
    "frontier.down_to_zero": "Every bound can be met, down to zero; the edges are found exactly.",
    "frontier.unsolved": "{unsolved} of {points} points could not be solved.",
    # The paper's propositions.
    "advantage.guess": "{group} for {outcome}",
    "advantage.best": (
        "{When}: the best estimator of the group from the outcome alone guesses {rule:; }. It is right with "
        "probability {probability:.4f}, which is {advantage:.4f} times the {blind:.4f} of always guessing the largest "
        "group."
    ),
    "advantage.none": "The outcome {when} gives no advantage, so the proposition proves no distance between rates.",
    "advantage.if_equal": (
        "With the table's group sizes the advantage is one and proves nothing; were all groups equally large the "
        "advantage {when} would be {if_equal:.4f}. The proposition holds for any group sizes, so whatever target is "
        "chosen, some group's rate of some outcome differs from it by at least {stronger:.4f} in ratio: no bound below "
        "that holds."
    ),
    "advantage.proved": (
        "With the table's group sizes it proves a distance of at least {proved:.4f} in ratio; were all groups equally "
        "large the advantage {when} would be {if_equal:.4f}. The proposition holds for any group sizes, so whatever "
        "target is chosen, some group's rate of some outcome differs from it by at least {stronger:.4f} in ratio: no "
        "bound below that holds."
    ),
    "advantage.bounded": (
        "The other way round: rates within {bound:g} of a target in ratio, or of each other, let no estimator of the "
        "group from the released outcome be right more than {factor:g} times as often as the blind guess, however "
        "large the groups are."
    ),
    "advantage.outcome_alone": (
        "This is about guessing from the outcome alone; someone who also sees features may guess better. An advantage "
        "of one does not show equal rates: where one group is large, guessing it may always be best."
    ),
    "applying.no_budget": (
        "There is no budget, so nothing bounds the distortion at apply time but the forbidden moves."
    ),
    "applying.no_bound": "has no bound for one person",
    "applying.at_most": "is at most {bound}",
    "applying.by_cell": "is at most {bound}, depending on the cell",
    "applying.charge": (
        "At apply time the {charge} of a person, averaged over the outcomes that they may have, {bounded}; at most "
        "{achieved:.4f} is achieved. The change of the outcome is counted in this, as the paper does; of the features "
        "alone, which are all that apply mode changes, it is at most {features:.4f}."
    ),
    "applying.kept": "People whose protected columns and features were not in the table together are kept as they are.",
    "holdout.released": (
        "{rows} rows were released once; with a confidence of {confidence:g} every interval holds, all at once, for "
        "the people these rows are a sample of, provided that none of them was used for fitting."
    ),
    "holdout.verdict": "The bound of {bound:g} on ratios is {verdict} by these rows.",
    "holdout.typical": (
        "{rows} of them have a combination of columns that was not in the fitted table; such people {then}."
    ),
    "holdout.kept": (
        "{rows} of them have a combination of columns that was not in the fitted table; their outcome is kept as it "
        "is, and counted."
    ),
    "holdout.left_out": "{rows} rows belong to groups that were not in the fitted table and are not counted.",
    "small.few": "The group {group} has only {people}: too few to say anything about its rates.",
    "small.wide": (
        "The group {group} has {people:g} people: a rate of it is only known to within an interval {widest:.3f} wide, "
        "more than {wide:g}."
    ),
    "theory.weights": (
        "The weights sum to {total:g}, and {people} independent people were assumed, each cell having its share of "
        "them. Unequal weights make the truth more uncertain than these numbers say."
    ),
    "robustness.radius": (
        "With {people:,} people over {cells:,} cells, the table is within a KL divergence of {radius:.4g} of its "
        "population (the paper's constants, confidence {confidence:g})."
    ),
    "robustness.rate_of_zero": "Nothing is proved about ratios, because a group has an outcome of rate zero.",
    "robustness.nothing": ("Nothing is proved about ratios: the proof needs a divergence of at most {required:.4g}."),
    "robustness.pairs": (
        "In the population the ratio between two groups' rates lies in [{low:.4g}, {high:.4g}]: at most {ratio:.4g} "
        "from 1, where the table's bound is {bound:g}."
    ),
    "robustness.target": (
        "In the population the ratio between a group's rate and the target lies in [{low:.4g}, {high:.4g}]: at most "
        "{ratio:.4g} from 1, where the table's bound is {bound:g}."
    ),
    "robustness.loss": (
        "The ℓ1 distance between original and released records is {loss:.4g} in the table and at most "
        "{loss_bound:.4g} in the population. The constant that the paper prints is twice Pinsker's and gives "
        "{printed:.4g}."
    ),
    "robustness.loss_vacuous": (
        "The ℓ1 distance between original and released records is {loss:.4g} in the table and at most "
        "{loss_bound:.4g} in the population, which says nothing: no ℓ1 distance exceeds 2. The constant that the paper "
        "prints is twice Pinsker's and gives {printed:.4g}."
    ),
    "robustness.widen_ratio": "To widen the bound on ratios by at most {margin:g} {needed}.",
    "robustness.widen_loss": "To widen the ℓ1 distance by at most {margin:g} {needed}.",
    "robustness.least_likely": "The least likely pair limits the proof: {pair}, probability {smallest:.4g}.",
    "robustness.pairwise": (
        "The paper proves this against a fixed target; between two groups the same argument holds with its h larger by "
        "the square root of 2."
    ),
    "robustness.holdout": (
        "Held-out data says more: exact intervals on a hold-out need no assumption about the domain. Distortion "
        "budgets are properties of the mapping and hold in any population."
    ),
    "robustness.never": "is out of reach of any number of people",
    "robustness.takes": "takes {people:,} people on this domain",
    "robustness.too_large": "{more} (with these people even a domain without features is too large)",
    "robustness.or_cells": (
        "{more}, or with these people at most {cells:,} cells, {combinations:,} combinations of feature levels"
    ),
    "bootstrap.ratio": (
        "On {resamples} resampled tables of as many people, the mapping held fixed, the largest ratio is off one by "
        "{range} in {confidence:whole} of cases; on the table itself by {now}."
    ),
    "bootstrap.over": "It violates the bound of {bound:g} on {over:rate} of them.",
    "bootstrap.empty": "On {empty} of them a group had nobody; it was left out there.",
    "bootstrap.percentiles": (
        "These are percentiles, not proofs: they approximate how rates vary with the sample, each interval by itself. "
        "The largest of several ratios is larger on resamples than on the table, as chance adds to the differences."
    ),
    "draws.ratio": (
        "In expectation over the draws of the fitted table the largest ratio is off one by {expected}. With "
        "independent draws it is off by {range} in nine of ten of {releases:,} simulated releases."
    ),
    "draws.over": (
        "The bound of {bound:g} holds in expectation; {over:rate} of these releases violate it. The expanded table, "
        "with every possible row and its weight, does not vary."
    ),
    "draws.independent": (
        "Constraints hold in expectation: with independent draws {over:rate} of {releases:,} simulated releases "
        "violate one. In nine of ten, rates are {apart}."
    ),
    "draws.independent_first": (
        "Constraints hold in expectation: with independent draws {over:rate} of {releases:,} simulated releases "
        "violate one. In nine of ten, rates that the first bound is about are {apart}."
    ),
    "draws.balanced": (
        "Balanced draws vary less. The expanded table, with every possible row and its weight, does not vary."
    ),
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
    # A batch of new people, and the history of batches.
    "batch.fitted": (
        "this is the fitted table, count for count: nothing can have drifted, and what it says of the bounds is about "
        "the people that were fitted, not about new ones"
    ),
    "batch.new_cells": "{share:rate} of the people are in cells that nobody fitted was in{usual}",
    "batch.usual": "; about {expected:rate} were to be expected",
    "drift.none": ("of {looks} things looked at, none is further from the fitted table than sampling alone explains"),
    "drift.apart": "drifted: {name}, {apart:.3f} apart where sampling alone explains up to {limit:.3f}; most: {most}",
    "drift.new_values": (
        "drifted: {name}: {apart:rate} of the people have one, where sampling alone explains up to {limit:rate}; most: "
        "{most}"
    ),
    "drift.most": "{level}: {before:.4f} to {now:.4f}",
    "drift.more": "and {more} more drifted",
    "verdicts.no_bound": "no parity bound was asked for",
    "verdicts.no_outcomes": ("the table has no column {column}: without outcomes no parity bound is decided"),
    "verdicts.counted": "of {number} parity {number:constraint|constraints}: {verdicts}",
    "verdicts.verdict": "{number} {verdict}",
    "verdicts.violated": "{verdict}: {where}, {interval}",
    "monitor.confidence": (
        "with a confidence of {confidence:g} a random sample of the fitted people's population has nothing told as "
        "drifted and every interval right, all at once; of a hundred such batches about {alarms:.2g} are told "
        "otherwise by chance"
    ),
    "monitor.weighed": (
        "rows have weights: limits and intervals are approximate, with as many people as would tell as much if all "
        "weighed the same"
    ),
    "monitor.other_columns": "columns outside the problem are not watched: the mapping holds nothing of them",
    "monitor.binned": "within a level nothing is seen to move: {columns} are told by their levels alone",
    "monitor.not_asked": "columns that no rule of the learned cells asks about are not watched: {columns}",
    "monitor.number": "this batch is number {batches} in the history",
    # One person: what may become of them, what limits it, what was drawn, and why another differs.
    "explained.fitted": (
        "{who}; {people:,} fitted {people:person has|people have} the same {features}{others}, and the same "
        "probabilities"
    ),
    "explained.features": "features",
    "explained.leaf": "leaf of the learned cells",
    "explained.and_both": ", group and outcome",
    "explained.and_group": " and group",
    "explained.and_outcome": " and outcome",
    "explained.unseen": "{who}; nobody fitted was in this cell{why}: they {then}",
    "explained.kept": "are left unchanged",
    "explained.unseen_in": ", for {columns: and }",
    "explained.stays": "they stay as they are with a probability of {probability:chance}",
    "explained.result": "with {probability:chance} {changes:, and }{alone}",
    "explained.change": "{column} becomes {after} instead of {before}",
    "explained.alone": ", and nothing else changes",
    "explained.other_results": "with {probability:chance} in all one of {others} other {others:result|results}",
    "explained.has_favourable": (
        "they have the good outcome {outcome}; after the release they have it with {probability:chance}"
    ),
    "explained.has_not_favourable": (
        "they do not have the good outcome {outcome}; after the release they have it with {probability:chance}"
    ),
    "explained.no_outcome": "no outcome was read, and none is changed",
    "limits.none": "their {charge}{whose} is {expected:.4g}; nothing limits it",
    "limits.budget": "their {charge}{whose} is {expected:.4g} of the {allowed:.4g} that is allowed",
    "limits.budget_binds": ("their {charge}{whose} is {expected:.4g}, all that their budget allows: this limit binds"),
    "limits.shared": " of everybody with their features and outcome, over all groups,",
    "limits.over_outcomes": ", averaged over the outcomes that they may have,",
    "limits.no_budget": "no budget limits what is expected of them; forbidden moves alone are never made",
    "limits.constraint_slack": "the constraint on their group ({stated}) is slack; nearest: {nearest}",
    "limits.constraint_binds": "the constraint on their group ({stated}) is binding: {nearest}",
    "limits.constraint_binds_in": (
        "the constraint on their group ({stated}) is binding in {tight} of {number} comparisons: {nearest}"
    ),
    "limits.group_not_read": (
        "the mapping does not read their group, so that no parity bound can be named that is theirs"
    ),
    "limits.margins": (
        "for its confidence the mapping keeps these bounds with margins, which bind before the bounds do"
    ),
    "drawn.values": "in row {row:,} of {file} ({options}) they are {values}",
    "drawn.stayed": (
        "in row {row:,} of {file} ({options}) they stayed as they were, which had a probability of {probability:chance}"
    ),
    "drawn.became": (
        "in row {row:,} of {file} ({options}) {changes:, and }, which had a probability of {probability:chance}"
    ),
    "drawn.change": "{column} became {after} instead of {before}",
    "drawn.option": "{name} {value}",
    "unlike.same_cell": (
        "the two are in the same cell, with the same probabilities in everything: where they became different, the "
        "draw alone made the difference"
    ),
    "unlike.fields": "the two differ in {fields}",
    "unlike.field": "{column} ({role}): {one} against {other}",
    "unlike.same_changes": (
        "all the same, every change is as likely for the one as for the other: beside what they differ in already, "
        "the draw alone makes a difference"
    ),
    "unlike.stays": "the first stays as they are with {first:chance}, the second with {second:chance}; {largest}",
    "unlike.largest": (
        "that {changes:, and }, and nothing else does, has a probability of {first:chance} for the first and of "
        "{second:chance} for the second"
    ),
    "unlike.becomes": "{column} becomes {level}",
    "unlike.each_alone": (
        "with one field of the other alone, this much of what may be changed about the first would be different: "
        "{fields}"
    ),
    "unlike.alone": "{column} {alone:chance}",
    "unlike.nothing": "nothing",
    "unlike.one_unseen": "nobody fitted was in the cell of one of them",
    "unlike.both_unseen": "nobody fitted was in the cell of both",
    # Two mappings compared.
    "compared.title": "Two mappings compared: what differs, and for whom",
    "compared.fingerprint": "fingerprint {fingerprint}",
    "compared.named": "{name}, fingerprint {fingerprint}",
    "compared.both_fitted": "the {people:,} people on whom both were fitted",
    "compared.same_people": (
        "the {people:,} people on whom B was fitted; A was fitted on as many, the same in all that both know of them, "
        "with other columns or levels"
    ),
    "compared.other_people": (
        "the {people:,} people on whom B was fitted; A was fitted on another table, of {others:,} people"
    ),
    "compared.table": "the {people:,.0f} people of the table",
    "compared.same_statement": "The two statements are the same.",
    "compared.one_setting": "Of the statements one setting differs: {settings:; }{more}.",
    "compared.settings": "Of the statements {number} settings differ: {settings:; }{more}.",
    "compared.setting": "{setting} {a:cut} → {b:cut}",
    "compared.absent": "(not there)",
    "compared.more": "; and {more} more",
    "compared.no_parity": "{mapping} has no parity bound.",
    "compared.one_constraint": "The parity constraint of {mapping} requires {bound}{where}",
    "compared.first_constraint": ("The first of {number} parity constraints of {mapping} requires {bound}{where}"),
    "compared.where": " {where}",
    "compared.nothing": "nothing",
    "compared.constraint_hidden": "{stated}; the groups that it compares are not shown.",
    "compared.worst": (
        "{stated}: at worst {before} before ({furthest_before}), {after} with {mapping} ({furthest_after}){among}"
        "{whose}.{also}"
    ),
    "compared.among": ", among groups that are shown",
    "compared.whose": ", {whose}",
    "compared.also": " Also {others:; }.",
    "compared.other_constraint": "{constraint}: {before} → {after}",
    "compared.changed": "Of {everybody} A changes about {a}, B about {b}.",
    "compared.people": "{number:,.0f}{unit} ({share:rate})",
    "compared.unit": " {unit}",
    "compared.nobody": (
        "Nobody is treated differently: both give everybody the same results with the same probabilities."
    ),
    "compared.differently": (
        "In expectation over the draws, at least {outcome} get another outcome from B than from A{records}."
    ),
    "compared.records": "; another record, at least {records}",
    "compared.most": "Most of all{among} it is {group}: {share:rate} of them.",
    "compared.most_among": ", of the groups that are shown,",
    "compared.cell": "{who} ({people:,.0f} people): {chances}.",
    "compared.chance": "{outcome} in {a:whole} of cases with A, {b:whole} with B",
    "compared.losses": "The utility loss is {a:loss} with A and {b:loss} with B ({measure}).",
    "compared.certificates": "The certificate of A is {a}, that of B is {b}.",
    "compared.protected": "A protects {a}, B {b}: rates are by the groups of B",
    "compared.no_records": (
        "features are not the same in both, or have other levels: outcomes are compared, records are not"
    ),
    "compared.left_out": "left out: {rows:,} {rows:row|rows} of the table with an unknown group or outcome",
    "compared.new_cells": "{people} in cells not seen when {mapping} was fitted",
    "compared.other_measures": (
        "the two lose what different measures measure, so that their utility losses cannot be compared"
    ),
    "compared.other_columns": ("the utility losses are about other columns or levels, so that they cannot be compared"),
    "compared.own_tables": "utility losses are each about the table that the mapping was fitted on",
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
    "unaware": "Mean scores of a model that does not see {protected}",
    "assurance": "Whether the bounds hold in the population, at a confidence of {confidence:g}",
    "advantage": "Telling the group from the outcome (section 3.3)",
    "applying": "Distortion at apply time (section 3.4)",
    "robustness": "Fresh people, proved (section 3.5)",
    "bootstrap": "Fresh people, by resampling",
    "draws": "One draw",
    "small_groups": "Small groups",
    "holdout": "People who were not used for fitting",
    "cells": "The learned cells: who is in each",
    "release": "The rates of the table as it stands",
    "rows": "What became of the rows",
    "options": "How it was done",
    "table": "The table",
    "proposal": "A problem for {source}, {size}",
    "chosen": "What was chosen",
    "reproduced": "The paper's numbers, found again",
    "use": "How to use it",
    "balance": "What balanced draws keep",
    "manifest": "What the file is of",
    "verification": "{verdict}",
    "written": "What was written",
    "outside_the_problem": "Columns outside the problem",
    "diagnosis": "{verdict}",
    "conflict": "Conflicting constraints, by weight in the infeasibility proof",
    "prices": "What each bound costs: utility gained for each unit that it is relaxed, at first",
    "edges": "{edges}",
    "points": "The points",
    "without_a_bound": "The same model without a bound",
    "batch": "The batch",
    "drift": "How far from the fitted table, and what sampling alone stays below (total variation)",
    "verdicts": "Every parity bound, by one release of these people: how far apart, with an exact interval",
    "batches": "The batches that were watched",
    "explained": "What may become of them in {mode} mode",
    "limits": "What limits it",
    "drawn": "What was drawn for them",
    "unlike": "Why the two differ",
    "compared": "What differs",
    "compared_statement": "What was stated",
    "compared_bounds": "How far apart rates are, at worst, of what each bounds",
    "compared_rates": "Each group's rates of {outcome}",
    "compared_groups": (
        "Who is changed, and in expectation at least which share gets another result from B than from A"
    ),
    "compared_costs": "What each costs",
    "compared_cells": "The cells in which people are treated differently, by how many people it is",
    "report": "What is changed, for whom, at what cost",
    "apart": "How far apart are the groups, before and after?",
    "changed": "How many people change, and how?",
    "better_off": "Who is better off, and who is worse off?",
    "this_file": "Does this very file keep the bound?",
    "new_people": "For whom does the bound hold?",
    "covered": "What is not covered?",
    "in_short": "In short",
    "sign_off": "Sign-off",
    "in_detail": "Comparisons nearest to their bound, and rates by level of each feature",
    "worst_off": "Who bears most",
    "decisions": "Decisions of a model",
    "file": "This very file",
    "fresh": "New people",
    "cost": "What it costs, and what drives it",
    "frontier": "What other bounds would cost",
    "theory": "In the paper’s terms",
    "statements": "Resampling, single draws, and the paper’s sections 3.3 to 3.5",
    "problem": "The exact problem",
    "repeat": "How to repeat it",
    "impact": "Impact ratios",
    "datasheet": "Datasheet of a table released by evenhand",
    "job": "evenhand: evidence of a mapping",
    "checks": "How it can be checked",
}
"""The headings of sections."""

CAPTIONS: dict[str, str] = {
    "budgets": "What each person, or each kind of record, may undergo",
    "columns": "The columns and their levels, as values became them",
    "every_rate": "Rates by group, with {confidence:whole} intervals that hold all at once",
    "fitted_model": "A model that learned from the table as it is, and from {learned_from}",
    "nearest": "Comparisons nearest to their bound",
    "rates_in_the_file": "Rates in this very file",
    "chart.decisions": "Decided {outcome} by models, before and after learning from {learned_from}",
    "chart.decisions.x": "share of the group",
    "chart.fitted": "the model fitted here, {sight} the protected columns",
    "chart.not_seeing_protected": "a plain model that does not see the protected columns",
    "chart.seeing_protected": "a plain model that sees the protected columns",
    "chart.flows": "Who becomes what",
    "chart.flows.x": "people who are expected to change so; what stays is left out",
    "chart.gains": "Better and worse off, by group",
    "chart.gains.x": "share of the group’s people, in expectation",
    "chart.levels": "Rate of {outcome} by level of each feature",
    "chart.levels.x": "rate of {outcome}",
    "chart.apart": "disparity of mean scores (ratio − 1)",
    "chart.auc": "AUC",
    "chart.bare": "without a bound: {value:number}",
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
    "chart.history.band": "within the bound",
    "chart.history.better": "satisfied",
    "chart.history.interval": "{confidence:whole} interval",
    "chart.history.neither": "undecided",
    "chart.history.worse": "violated",
    "chart.history.x": "batch",
    "chart.history.y": "disparity",
    "chart.identity": "unchanged from {value:number}",
    "chart.log_loss": "log loss",
    "chart.lossless": "lossless from {value:number}",
    "chart.models": "What a bound costs the model",
    "chart.models.x": "parity bound ε",
    "chart.models.y": "out-of-fold estimate",
    "chart.models.interval": "95% interval",
    "chart.rates": "Rates by group, before and after",
    "chart.rates.band": "within the bound, after",
    "chart.rates.interval": "{confidence:whole} interval after",
    "chart.rates.x": "rate of {outcome}",
    "chart.required": "{share:whole} of the highest rate: {value:rate}",
    "chart.smallest": "smallest feasible {value:number}",
    "chart.worst_gap": "largest difference of selection rates",
    "chart.band": "within the bound",
    "chart.better": "better for people",
    "chart.infeasible": "infeasible",
    "chart.interval": "interval",
    "chart.neither": "neither",
    "chart.shade": "darker is more, up to {top}",
    "chart.worse": "worse for people",
    "by_segment": "The same within each segment by {given}",
    "intervals": "Intervals, all of which hold at once",
    "reach": "How far these rates can go within budgets and forbidden moves",
    "lifts": "Lift: p(y|d) over p(y) (extended), p(y|not d) (selective), the lowest group's (contrastive)",
}
"""What stands above a table, where its section's heading does not say it, and the titles of charts."""

HEADINGS: dict[str, str] = {
    "achieved": "Achieved",
    "drives_the_cost": "What drives the cost",
    "model_decisions": "Decisions of a model, before and after",
    "signed_off_on": "On",
    "signed_off_for": "For",
    "interval_before": "Interval before",
    "interval_after": "Interval after",
    "said": "Achieved",
    "said_bound": "Bound",
    "largest": "Largest achieved",
    "at_limit": "Cells at the limit",
    "smallest_limit": "Limit",
    "score_before": "Mean score before",
    "score": "Mean score after",
    "predicted": "Predicted after",
    "decision_before": "Decided so before",
    "decision": "Decided so after",
    "without_a_value": "Rows without a value",
    "every_price": "Prices",
    "verify": "Recompute the certificate of the mapping",
    "fit": "Learn the mapping again",
    "write": "Write this report again",
    "mapping_file": "The mapping file",
    "written_by": "Written by",
    "after_a": "After A",
    "after_b": "After B",
    "changed_a": "Changed by A",
    "changed_b": "Changed by B",
    "weight": "People",
    "by_weight": "People by weight",
    "rule": "Who is in it",
    "objective": "Utility loss",
    "max_violation": "Largest violation",
    "seeing_protected": "Sees them",
    "not_seeing_protected": "Does not",
    "cross_validated": "Cross-validated",
    "standard_error": "Standard error",
    "auc": "AUC",
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


def paragraph(notes: Iterable[Note]) -> str:
    """Write notes as sentences behind one another.

    Examples
    --------
    >>> paragraph([Note("verdict.nothing"), Note("verdict.worst", {"worst": "60% against 40%"})])[-49:]
    'the people of this table. Worst: 60% against 40%.'
    """
    return " ".join(f"{text[:1].upper()}{text[1:].removesuffix('.')}." for text in map(sentence, notes))


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
    """Return the heading of a section: the name of its key, unless the catalogue has a better one."""
    return fill(TITLES[key], fields) if key in TITLES else heading(key)


def caption(key: str, fields: Mapping[str, Any]) -> str:
    """Return what stands above a table; empty where nothing does."""
    return fill(CAPTIONS.get(key, ""), fields)


def column_heading(column: Column) -> str:
    """Return the heading of a column: a column of the user's table is headed by its own name."""
    if column.own:
        return column.name
    return heading("by_weight" if column.kind == "weight" else column.name)


def heading(name: str) -> str:
    """Return how a column or a fact is headed: its name, unless the catalogue has a better one."""
    return HEADINGS.get(name, name.replace("_", " ").capitalize())
