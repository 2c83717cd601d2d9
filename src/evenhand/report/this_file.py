"""One file that was written: what its manifest says of it, for a summary; groups of few people are left out.

Reads a manifest and nothing else; whether the file is still the one that it is of, the caller has looked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.data.weighting import Unit
from evenhand.findings.discretion import Discretion, not_shown
from evenhand.findings.document import Json
from evenhand.findings.manifest import Manifest, number
from evenhand.findings.naming import group_levels
from evenhand.spec import Parity, Problem
from evenhand.spec.by import each
from evenhand.tolerances import ROUNDING

ROUNDED = (
    "Drawn together, every group’s outcomes are whole people within one of what is expected; a bound that is met with "
    "nothing to spare can be violated by that."
)
DRAWS = {"balanced": "all rows together (balanced)", "independent": "everybody by themselves (independent)"}


def this_file(
    manifest: Manifest, problem: Problem, shown: Discretion, looked: str, *, features_move: bool, outcome_moves: bool
) -> Json:
    """Return what is known of a file: whether it keeps every parity bound, its rates, and how it came to be.

    ``looked`` says whether the file is still the one that the manifest is of; ``features_move`` and ``outcome_moves``,
    what the mapping can change.
    """
    how = _how(manifest.mode, features_move=features_move, outcome_moves=outcome_moves)
    realised = manifest.realised
    rates = [] if realised is None else realised["rates"]
    groups = [tuple(levels.values()) for levels in group_levels(shown.counts)]
    kept = shown.groups_of(_people(manifest, groups, shown.counts))
    named = {group for group, is_shown in zip(groups, kept, strict=True) if is_shown}
    compared = _compared(manifest, problem, named_all=bool(kept.all()))
    hidden = int((~kept).sum()) if rates else 0
    left_out = [not_shown(hidden, len(kept), "groups", shown.hide_below)] if hidden else []
    return {
        "name": manifest.output.name,
        "kept": manifest.kept,
        "verdict": _verdict(manifest),
        "brief": [*_open(manifest), *compared, _drawn(manifest), looked],
        "pairs": [{"heading": heading, "text": text} for heading, text in _pairs(manifest, how)],
        "rates": [row for row in rates if tuple(row["group"].values()) in named],
        "notes": [*_open(manifest), *compared, *left_out, *manifest.notes, looked],
    }


def _people(manifest: Manifest, groups: Sequence[tuple[Any, ...]], fitted: Counts) -> Numbers:
    """Return how many people of the file each group has; none where survey weights do not tell."""
    rates = [] if manifest.realised is None else manifest.realised["rates"]
    weight = {tuple(row["group"].values()): number(row["weight"]) for row in rates}
    found = np.array([weight.get(group, 0.0) for group in groups], dtype=float)
    if not fitted.weighed and manifest.options.get("weights") is None:
        return found
    # A group that weighs what the fitted one does is that one.
    return np.where(np.isclose(found, fitted.group_weight), fitted.group_people, 0)


def _verdict(manifest: Manifest) -> str:
    """Say whether it keeps its bounds."""
    realised = manifest.realised
    if realised is None:
        return f"{manifest.output.name}: its rates are not known."
    if not realised["violated"]:
        said = "every parity constraint holds in this file"
        return f"{manifest.output.name}: {said if manifest.kept else f'as far as it is known, {said}'}."
    return f"{manifest.output.name}: this file violates {_violated(realised['violated'])}."


def _violated(number: int) -> str:
    return "one parity constraint" if number == 1 else f"{number:,} parity constraints"


def _compared(manifest: Manifest, problem: Problem, *, named_all: bool) -> list[str]:
    """Say how near the file is to the bound that it is nearest to, or furthest beyond."""
    rows = [] if manifest.realised is None else manifest.realised["bounds"]
    if not rows:
        return ["Nothing in it is bounded, or its rates are not known."]
    # As a share of the bound, so that distances of different kinds can be told beside each other.
    nearest = max(rows, key=_used)
    forms = _stated(problem, nearest)
    after, bound = (number(nearest[name]) for name in ("after", "bound"))
    held = " or ".join(dict.fromkeys(form.distance.held((after,), bound) for form in forms))
    violated = manifest.realised["violated"] if manifest.realised else 0
    of = f"It violates {_violated(violated)}" if violated else "Every parity constraint holds"
    where = f" ({nearest['where']})" if named_all else ""
    said = [f"{of}; {'worst' if violated else 'tightest'}: {held}{where}."]
    balanced = manifest.mode == "release" and manifest.options.get("draw") == "balanced"
    # By weight one person may count for many; and features are not drawn together, outcomes are.
    of_outcomes = not any(form.compares_features for form in forms)
    weighed = problem.weights is not None or manifest.options.get("weights") is not None
    if violated and balanced and of_outcomes and not weighed:
        said.append(ROUNDED)
    return said


def _open(manifest: Manifest) -> list[str]:
    """Say why it is not known of everybody whether the bounds are kept, where it is not."""
    if manifest.realised is None or manifest.kept is not None:
        return []
    new = manifest.counted.get("unseen", 0)
    some = (
        f"{new:,} of its people are of a kind that nobody fitted was" if new else "some of its people are not compared"
    )
    return [f"It is not known of everybody: {some}, or the segments are not those of the bound."]


def _used(row: Json) -> float:
    """Return how much of its bound a row uses, as a share."""
    after, bound = number(row["after"]), number(row["bound"])
    return after / bound if bound > 0 else (math.inf if after > ROUNDING else 1.0)


def _stated(problem: Problem, row: Json) -> list[Parity]:
    """Return the constraints that a row may be of: those of its kind, and among them those with its bound."""
    alike = [part for part in problem.parity if type(part).__name__ == row["constraint"]]
    own = [part for part in alike if any(abs(number(row["bound"]) - bound) <= ROUNDING for bound in each(part.bound))]
    return own or alike


def _seed(options: Mapping[str, Any]) -> str:
    """Return the seed and where it came from, as far as a manifest states it."""
    stated = "left out" if options["seed"] is None else str(options["seed"])
    return f"{stated} ({options['seed_origin']})"


def _drawn(manifest: Manifest) -> str:
    options, counted = manifest.options, manifest.counted
    people = f" for {Unit.PEOPLE.write(counted['people'])}" if "people" in counted else ""
    changed = f", {counted['changed']:,} of them changed" if "changed" in counted else ""
    how = DRAWS.get(options.get("draw", ""), "")
    seed = f"; seed {_seed(options)}, {how}" if how else ""
    return f"{counted['rows']:,} rows{people}{changed}{seed}."


def _how(mode: str, *, features_move: bool, outcome_moves: bool) -> str:
    """Say what was drawn, of what the mapping can change."""
    if mode == "expand":
        return "expanded: every possible row with its weight, nothing was drawn"
    if mode == "apply":
        drawn = "features were drawn" if features_move else "nothing was drawn, features stay as they are"
        return f"apply mode: {drawn}, no outcome was read"
    parts = [name for name, moves in (("features", features_move), ("the outcome", outcome_moves)) if moves]
    drawn = f"{' and '.join(parts)} {'were' if features_move else 'was'} drawn" if parts else "nothing was drawn"
    stay = "" if features_move else ", features stay as they are"
    return f"train mode: {drawn}{stay}"


def _pairs(manifest: Manifest, how: str) -> list[tuple[str, str]]:
    options = manifest.options
    said = [
        ("File", f"{manifest.output.name}, {manifest.output.size:,} bytes, SHA-256 {manifest.output.sha256}"),
        ("How", how),
        ("Written", f"{manifest.at}, by evenhand {manifest.versions.get('evenhand', 'of an unknown version')}"),
        *(("From", f"{file.name}, SHA-256 {file.sha256}") for file in manifest.inputs),
        ("By the mapping", f"{manifest.mapping.name}, SHA-256 {manifest.mapping.sha256}"),
        ("Counted", _drawn(manifest)),
    ]
    if options.get("key") is not None:
        said.append(("Key", f"{options['key']}: the same person draws the same"))
    if manifest.changes is not None:
        said.append(("Changes", f"{manifest.changes.name}, SHA-256 {manifest.changes.sha256}"))
    return said
