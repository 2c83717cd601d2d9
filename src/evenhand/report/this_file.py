"""One file that was written: what its manifest says of it, for a summary; groups of few people are left out.

Reads a manifest and nothing else; whether the file is still the one that it is of, the caller has looked.
"""

from __future__ import annotations

import math
from typing import Any

from evenhand.findings.bounds import said_bound
from evenhand.findings.discretion import Discretion
from evenhand.findings.manifest import Manifest, number
from evenhand.findings.naming import group_levels
from evenhand.spec import Parity, Problem
from evenhand.spec.by import each
from evenhand.tolerances import ROUNDING

Json = dict[str, Any]

MODES = {
    "release": "train mode: features and outcome were drawn",
    "apply": "apply mode: features were drawn, no outcome was read",
    "expand": "expanded: every possible row with its weight, nothing was drawn",
}
ROUNDED = (
    "Drawn together, every group’s outcomes are whole people within one of what is expected; a bound that is met with "
    "nothing to spare can be exceeded by that."
)
DRAWS = {"balanced": "all rows together (balanced)", "independent": "everybody by themselves (independent)"}


def this_file(manifest: Manifest, problem: Problem, shown: Discretion, looked: str) -> Json:
    """Return what is known of a file: whether it keeps every parity bound, its rates, and how it came to be.

    ``looked`` says whether the file is still the one that the manifest is of.
    """
    realised = manifest.realised
    named = {
        tuple(levels.values()) for levels, there in zip(group_levels(shown.counts), shown.groups, strict=True) if there
    }
    compared = _compared(manifest, problem, shown)
    rates = [] if realised is None else [row for row in realised["rates"] if tuple(row["group"].values()) in named]
    return {
        "name": manifest.output.name,
        "kept": manifest.kept,
        "verdict": _verdict(manifest),
        "brief": [*_open(manifest), *compared, _drawn(manifest), looked],
        "pairs": [{"heading": heading, "text": text} for heading, text in _pairs(manifest)],
        "rates": rates,
        "notes": [*_open(manifest), *compared, *manifest.notes, looked],
    }


def _verdict(manifest: Manifest) -> str:
    """Say whether it keeps its bounds."""
    realised = manifest.realised
    if realised is None:
        return f"{manifest.output.name}: its rates are not known."
    every = len(realised["bounds"])
    if not realised["exceeded"]:
        said = f"this very table keeps every one of its {every:,} parity bounds"
        return f"{manifest.output.name}: {said if manifest.kept else f'as far as it is known, {said}'}."
    return f"{manifest.output.name}: this very table exceeds {realised['exceeded']:,} of its {every:,} parity bounds."


def _compared(manifest: Manifest, problem: Problem, shown: Discretion) -> list[str]:
    """Say how near the file is to the bound that it is nearest to, or furthest beyond."""
    rows = [] if manifest.realised is None else manifest.realised["bounds"]
    if not rows:
        return ["Nothing in it is bounded, or its rates are not known."]
    # As a share of the bound, so that distances of different kinds can be told beside each other.
    nearest = max(rows, key=_used)
    forms = _stated(problem, nearest)
    apart, bound = (
        " or ".join(dict.fromkeys(said_bound(form, number(nearest[name])) for form in forms))
        for name in ("after", "bound")
    )
    # Where both are written alike, on which side it is.
    over = number(nearest["after"]) - number(nearest["bound"])
    side = "at" if abs(over) <= ROUNDING else "just above" if over > 0 else "just within"
    apart = f"{apart}, {side} the bound" if apart == bound else apart
    exceeded = manifest.realised["exceeded"] if manifest.realised else 0
    of = f"{exceeded:,} of {len(rows):,} bounds are exceeded" if exceeded else f"All {len(rows):,} bounds are kept"
    where = f" ({nearest['where']})" if shown.groups.all() else ""
    said = [f"{of}; {'worst' if exceeded else 'nearest'}: {apart}, where {bound} is allowed{where}."]
    balanced = manifest.mode == "release" and manifest.options.get("draw") == "balanced"
    # By weight one person may count for many; and features are not drawn together, outcomes are.
    of_outcomes = not any(form.compares_features for form in forms)
    if exceeded and balanced and of_outcomes and manifest.options.get("weights") is None:
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


def _drawn(manifest: Manifest) -> str:
    options, counted = manifest.options, manifest.counted
    changed = f", {counted['changed']:,} of them changed" if "changed" in counted else ""
    how = DRAWS.get(options.get("draw", ""), "")
    seed = f"; seed {options['seed']}, {how}" if how else ""
    return f"{counted['rows']:,} rows{changed}{seed}."


def _pairs(manifest: Manifest) -> list[tuple[str, str]]:
    options = manifest.options
    said = [
        ("File", f"{manifest.output.name}, {manifest.output.size:,} bytes, SHA-256 {manifest.output.sha256}"),
        ("How", MODES[manifest.mode]),
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
