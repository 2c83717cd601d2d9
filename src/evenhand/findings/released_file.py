"""One file that was written: what its manifest says of it, whether it keeps every bound, and how it came to be.

Reads a manifest and nothing else; whether the file is still the one that it is of, the caller has looked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.weighting import Unit
from evenhand.findings.discretion import Behind
from evenhand.findings.document import Row
from evenhand.findings.manifest import Manifest, number
from evenhand.findings.subject import Subject
from evenhand.render.section import Column, Fact, Note, Section, Table
from evenhand.spec import Parity
from evenhand.spec.by import each
from evenhand.tolerances import ROUNDING


def released_file(m: Subject, manifest: Manifest) -> Section:
    """Return what is known of a file: whether it keeps every parity bound, its rates, and how it came to be."""
    people = _people(m, manifest)
    rates = _rates(m, manifest, people)
    facts = (
        Fact("file", Note("file.file", _record(manifest, "output"))),
        Fact("kept", manifest.kept, "flag", detail=True),
        Fact("how", _how(m, manifest.mode)),
        Fact("written", Note("file.written", {"at": manifest.at, "version": manifest.versions.get("evenhand")})),
        *(Fact("from", Note("file.checksum", vars(file))) for file in manifest.inputs),
        Fact("by_the_mapping", Note("file.checksum", _record(manifest, "mapping"))),
        Fact("counted", _drawn(manifest)),
        *([] if manifest.options.get("key") is None else [Fact("key", Note("file.key", dict(manifest.options)))]),
        *([] if manifest.changes is None else [Fact("changes", Note("file.checksum", _record(manifest, "changes")))]),
    )
    notes = (
        _verdict(manifest), *brief_notes(m, manifest), *(Note("text", {"text": note}) for note in manifest.notes),
    )  # fmt: skip
    return Section("file", facts=facts, tables=(rates,), notes=notes)


def no_file(draws: Note) -> Section:
    """Return what stands in place of a file that was not given; ``draws``, how much single releases vary."""
    return Section("file", facts=(Fact("kept", None, detail=True),), notes=(Note("file.none"), draws))


def brief_notes(m: Subject, manifest: Manifest) -> list[Note]:
    """Return what a signer needs first of a file: how near its bound it is, how it was drawn, and who looked."""
    return [*_open(manifest), *_compared(m, manifest), _drawn(manifest), Note("file.looked")]


def _record(manifest: Manifest, name: str) -> Row:
    return dict(vars(getattr(manifest, name)))


def _people(m: Subject, manifest: Manifest) -> Numbers:
    """Return how many people of the file each group has; none where survey weights do not tell."""
    rates = [] if manifest.realised is None else manifest.realised["rates"]
    weight = {tuple(row["group"].values()): number(row["weight"]) for row in rates}
    found = np.array([weight.get(tuple(group.values()), 0.0) for group in m.groups], dtype=float)
    if not m.counts.weighed and manifest.options.get("weights") is None:
        return found
    # A group that weighs what the fitted one does is that one.
    return np.where(np.isclose(found, m.counts.group_weight), m.counts.group_people, 0)


def _rates(m: Subject, manifest: Manifest, people: Numbers) -> Table:
    rows = [] if manifest.realised is None else manifest.realised["rates"]
    count = {tuple(group.values()): float(of) for group, of in zip(m.groups, people, strict=True)}
    weighed = m.counts.weighed or manifest.options.get("weights") is not None
    columns = (
        Column("group", "group"), Column("outcome"), Column("weight", "weight" if weighed else "people"),
        Column("before", "rate"), Column("after", "rate"),
    )  # fmt: skip
    listed = tuple(
        tuple(number(row[column.name]) if at > 1 else row[column.name] for at, column in enumerate(columns))
        for row in rows
    )
    about = tuple((row["group"], Behind(count.get(tuple(row["group"].values()), 0.0))) for row in rows)
    spared = m.spared(row["outcome"] for row in rows)
    return Table("rates_in_the_file", columns, listed, about, implied=spared, totals=(("outcome",),))


def _verdict(manifest: Manifest) -> Note:
    """Return whether it keeps its bounds."""
    name, realised = {"name": manifest.output.name}, manifest.realised
    if realised is None:
        return Note("file.unknown", name)
    if realised["violated"]:
        return Note("file.violates", {**name, "violated": realised["violated"]})
    return Note("file.keeps" if manifest.kept else "file.keeps_as_far", name)


def _compared(m: Subject, manifest: Manifest) -> Iterator[Note]:
    """Yield how near the file is to the bound that it is nearest to, or furthest beyond."""
    rows = [] if manifest.realised is None else manifest.realised["bounds"]
    if not rows or manifest.realised is None:
        yield Note("file.nothing_bounded")
        return
    # As a share of the bound, so that distances of different kinds can be told beside each other.
    nearest, violated = max(rows, key=_used), manifest.realised["violated"]
    forms = _stated(m, nearest)
    after, bound = (number(nearest[name]) for name in ("after", "bound"))
    held = list(dict.fromkeys(form.distance.held((after,), bound) for form in forms))
    # Whose rates these are is told only where everybody of the file may be named.
    table = _rates(m, manifest, _people(m, manifest))
    everybody = len(m.shown.passed_on(table).rows) == len(table.rows)
    fields = {
        "violated": violated, "held": held, "where": Note("file.where", nearest) if everybody else None,
    }  # fmt: skip
    yield Note("file.worst" if violated else "file.tightest", fields)
    balanced = manifest.mode == "release" and manifest.options.get("draw") == "balanced"
    # By weight one person may count for many; and features are not drawn together, outcomes are.
    of_outcomes = not any(form.compares_features for form in forms)
    weighed = m.problem.weights is not None or manifest.options.get("weights") is not None
    if violated and balanced and of_outcomes and not weighed:
        yield Note("file.rounded")


def _open(manifest: Manifest) -> Iterator[Note]:
    """Yield why it is not known of everybody whether the bounds are kept, where it is not."""
    if manifest.realised is not None and manifest.kept is None:
        new = manifest.counted.get("unseen", 0)
        yield Note("file.open", {"some": Note("file.unseen" if new else "file.uncompared", {"new": new})})


def _used(row: Row) -> float:
    """Return how much of its bound a row uses, as a share."""
    after, bound = number(row["after"]), number(row["bound"])
    return after / bound if bound > 0 else (math.inf if after > ROUNDING else 1.0)


def _stated(m: Subject, row: Row) -> list[Parity]:
    """Return the constraints that a row may be of: those of its kind, and among them those with its bound."""
    alike = [part for part in m.problem.parity if type(part).__name__ == row["constraint"]]
    own = [part for part in alike if any(abs(number(row["bound"]) - bound) <= ROUNDING for bound in each(part.bound))]
    return own or alike


def _drawn(manifest: Manifest) -> Note:
    options, counted = manifest.options, manifest.counted
    fields = {
        "rows": counted["rows"],
        "people": Note("file.for_people", {"people": Unit.PEOPLE.write(counted["people"])})
        if "people" in counted
        else None,
        "changed": Note("file.changed", dict(counted)) if "changed" in counted else None,
        "seed": None,
    }
    if options.get("draw") in ("balanced", "independent"):
        stated = Note("file.no_seed") if options["seed"] is None else options["seed"]
        drawn = Note("file.balanced" if options["draw"] == "balanced" else "file.independent")
        fields["seed"] = Note("file.seed", {"seed": stated, "origin": options["seed_origin"], "drawn": drawn})
    return Note("file.counted", fields)


def _how(m: Subject, mode: str) -> Note:
    """Return what was drawn, of what the mapping can change."""
    to_x, to_y = m.counts.domain.split_xy(m.kernel.targets)
    features = bool((to_x != m.counts.x[m.kernel.rows]).any())
    outcome = bool((to_y != m.counts.y[m.kernel.rows]).any())
    if mode == "expand":
        return Note("file.expanded")
    if mode == "apply":
        return Note("file.applied" if features else "file.applied_to_nothing")
    if features:
        return Note("file.released_both" if outcome else "file.released_features")
    return Note("file.released_outcome" if outcome else "file.released_nothing")
