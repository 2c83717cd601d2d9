"""One file that was written: what its manifest says of it, for a summary; groups of few people are left out.

Reads a manifest and nothing else; whether the file is still the one that it is of, the caller has looked.
"""

from __future__ import annotations

from typing import Any

from evenhand.findings.discretion import Discretion
from evenhand.findings.manifest import Manifest, number
from evenhand.findings.naming import group_levels
from evenhand.spec import Problem

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
        "brief": [*compared, _drawn(manifest), looked],
        "pairs": [{"heading": heading, "text": text} for heading, text in _pairs(manifest)],
        "rates": rates,
        "notes": [*compared, *manifest.notes, looked],
    }


def _verdict(manifest: Manifest) -> str:
    """Say whether it keeps its bounds."""
    realised = manifest.realised
    if realised is None:
        return f"{manifest.output.name}: its rates are not known."
    every = len(realised["bounds"])
    if not realised["exceeded"]:
        kept = "keeps" if manifest.kept else "as far as it is known, keeps"
        return f"{manifest.output.name}: this very table {kept} every one of its {every:,} parity bounds."
    return f"{manifest.output.name}: this very table exceeds {realised['exceeded']:,} of its {every:,} parity bounds."


def _compared(manifest: Manifest, problem: Problem, shown: Discretion) -> list[str]:
    """Say how near the file is to the bound that it is nearest to, or furthest beyond."""
    rows = [] if manifest.realised is None else manifest.realised["bounds"]
    if not rows:
        return ["Nothing in it is bounded, or its rates are not known."]
    nearest = max(rows, key=lambda row: number(row["after"]) - number(row["bound"]))
    forms = [part for part in problem.parity if type(part).__name__ == nearest["constraint"]]
    words = {form.distance: form for form in forms}
    apart, bound = (f"{number(nearest[name]):.4g}" for name in ("after", "bound"))
    if len(words) == 1:
        (form,) = words.values()
        both = form.holds_everybody and not form.against_target
        apart, bound = (form.distance.said_bound(number(nearest[name]), both=both) for name in ("after", "bound"))
    # Where both are written alike, on which side it is.
    over = number(nearest["after"]) - number(nearest["bound"])
    apart = f"{apart}, just {'above' if over > 0 else 'within'} the bound" if apart == bound else apart
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
