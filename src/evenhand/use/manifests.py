"""Manifests of files that were just written: what they are of, and what they have, counted in the files themselves."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from evenhand import check
from evenhand._version import __version__
from evenhand.engines import Expanded, Listed, Written
from evenhand.errors import DataError, EvenhandError, SpecError, StorageError
from evenhand.findings.document import installed, plain
from evenhand.findings.manifest import COUNTED, OPTIONS_OF, RATE, FileRecord, Manifest, folder_of
from evenhand.findings.new_people import Realised
from evenhand.resources import Progress, silent
from evenhand.spec.sign_off import SignOff
from evenhand.tables import own_name
from evenhand.tolerances import ROUNDING
from evenhand.use import storage
from evenhand.use.mapping import Mapping

PACKAGES = ("numpy", "narwhals", "pandas", "duckdb", "pyarrow")
"""What reads, draws and writes beside evenhand itself."""

NO_OUTCOME = "apply mode reads and changes no outcome: the rates are those that the input has"
NO_ROWS = "the table has no rows"
NO_VALUES = "its rates were not counted: names of bins are no values that could be read again"


@dataclass(frozen=True, eq=False)
class Held:
    """What a file that was written has, counted in it; and what the input had, where that was asked for.

    ``why`` says why it is not known, where it is not; ``failure`` is the error that says so.
    """

    before: Realised | None = None
    after: Realised | None = None
    why: str | None = None
    failure: EvenhandError | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say where it is not known."""
        if self.failure is not None:
            return (f"its rates could not be counted: {self.failure}",)
        return () if self.why is None else (self.why,)


def held(
    mapping: Mapping,
    done: Written | Expanded,
    *,
    weights: str | None = None,
    before: bool = True,
    progress: Progress | None = None,
) -> Held:
    """Count the rates of a file that was just written, and of its input; it stays, whether they can be counted or not.

    ``weights`` are those of a release; what was expanded has its own.
    """
    mode, missing = done.options["mode"], done.options["missing"]
    if mode == "apply":
        return Held(why=NO_OUTCOME)
    if not done.rows:
        return Held(why=NO_ROWS)
    if done.options["restore"] == "label" and mapping.problem.bins:
        return Held(why=NO_VALUES)
    table = input_of(done)
    own, new = (weights, weights) if mode == "release" else (done.options["weights"], done.options["weight_column"])
    # Of what was expanded there is more than one row for each that was read.
    original = table if mode == "release" else None
    with_: dict[str, Any] = {"missing": missing, "progress": progress}
    try:
        after = mapping.realised(done.path, original=original, weights=new, **with_)
        return Held(mapping.realised(table, weights=own, **with_) if before else None, after)
    except EvenhandError as error:
        return Held(failure=error)


def input_of(done: Written | Expanded) -> str | Listed:
    """Return the table that was read: a file, or several in their order."""
    assert done.read is not None
    return done.read.paths[0] if len(done.read.paths) == 1 else Listed(done.read.paths)


def manifest_of(
    mapping: Mapping,
    done: Written | Expanded,
    source: str | os.PathLike[str],
    *,
    weights: str | None = None,
    sign_off: SignOff | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Make the manifest of a file that was just written: what it is of, drawn how, with which rates and bounds.

    Parameters
    ----------
    mapping : Mapping
        The mapping that wrote it.
    done : Written or Expanded
        What :meth:`Mapping.release`, :meth:`Mapping.apply` or :meth:`Mapping.expand` returned for files.
    source : path
        The mapping's own file.
    weights : str, optional
        Of a release: the column by which its rates are counted.
    sign_off : SignOff, optional
        Who signed off on it; one that expired is refused.
    progress : callable, optional
        Called with a text and the share that is done.

    Returns
    -------
    Manifest
        Its ``save`` writes it beside the file.
    """
    _check(mapping, done, source, sign_off)
    if done.options["mode"] != "release" and weights is not None:
        raise SpecError("weights go with a release; what was expanded has its weights")
    tell = check.progress(progress) or silent
    found = held(mapping, done, weights=weights, progress=tell)
    if found.failure is not None:
        raise found.failure
    return assembled(mapping, done, source, found, weights=weights, sign_off=sign_off, tell=tell)


def assembled(
    mapping: Mapping,
    done: Written | Expanded,
    source: str | os.PathLike[str],
    found: Held,
    *,
    weights: str | None = None,
    sign_off: SignOff | None = None,
    notes: Sequence[str] = (),
    tell: Callable[[str, float], None] = silent,
) -> Manifest:
    """Make the manifest of a file whose rates are counted already."""
    assert done.read is not None
    folder = folder_of(done.path)

    def record(path: str) -> FileRecord:
        return FileRecord.of(path, folder, lambda share: tell(f"hashing {os.path.basename(path)}", share))

    *inputs, own, output = map(record, (*done.read.paths, os.fspath(source), done.path))
    if done.read.state != tuple((each.st_size, each.st_mtime_ns) for each in map(os.stat, done.read.paths)):
        raise DataError(f"{done.read.paths[0]!r} was changed after it was read: no manifest can be made of it")
    listed = getattr(done, "changes", None)
    said: dict[str, Any] = {"weights": weights, **done.options}
    return Manifest(
        mode=done.options["mode"],
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={"evenhand": __version__, "python": platform.python_version(), **installed(PACKAGES)},
        inputs=tuple(inputs),
        mapping=own,
        fingerprint=storage.fingerprint(mapping.problem, mapping.counts, mapping.kernel),
        output=output,
        options=plain({name: said[name] for name in OPTIONS_OF[said["mode"]]}),
        counted={name: int(getattr(done, name)) for name in COUNTED if hasattr(done, name)},
        realised=realised_document(mapping, found),
        notes=(*notes, *found.notes),
        changes=None if listed is None else record(listed),
        sign_off=sign_off,
        folder=folder,
    )


def _check(mapping: Any, done: Any, source: Any, sign_off: Any) -> None:
    """Refuse what a manifest cannot be made of, before any work is done."""
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    if not isinstance(done, Written | Expanded) or done.read is None:
        raise SpecError(
            "done must be what release, apply or expand returned for files: mapping.release(path, to=...); a manifest "
            "is of files, by their bytes"
        )
    check_sign_off(sign_off)
    check_source(mapping, check.path("source", source))


def check_sign_off(sign_off: Any, on: date | None = None) -> None:
    """Refuse a sign-off that is none, or that does not hold today."""
    if sign_off is None:
        return
    check.kind("sign_off", sign_off, SignOff, "an eh.SignOff")
    if (lapsed := sign_off.lapsed(on or date.today())) is not None:
        then = "have it renewed" if lapsed.startswith("expired") else "wait for that day, or correct it"
        raise SpecError(f"the sign-off by {sign_off.name!r} {lapsed}: nothing is written with it; {then}")


def check_source(mapping: Mapping, source: str) -> None:
    """Refuse a mapping's file that holds another mapping."""
    stored = storage.read(source)
    prints = (storage.fingerprint(each.problem, each.counts, each.kernel) for each in (mapping, stored))
    if len(set(prints)) > 1:
        raise StorageError(f"{source!r} holds another mapping than the one that is used; save this one first")


def realised_document(mapping: Mapping, found: Held) -> dict[str, Any] | None:
    """Return what a file has, and what its input had, as a document."""
    if found.after is None:
        return None
    verdict = found.after.verdict
    said = {"kept": verdict.kept, "exceeded": verdict.exceeded, "verdict": verdict.words}
    document: dict[str, Any] = plain({"rates": _rates(mapping, found), "bounds": _bounds(found), **said})
    return document


def _rates(mapping: Mapping, found: Held) -> list[dict[str, Any]]:
    """Return the rates of every group and outcome before and after, by group and outcome."""
    protected, outcome = mapping.problem.protected, mapping.problem.outcome
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for when, each in (("before", found.before), ("after", found.after)):
        if each is None:
            continue
        for row in each.rates.to_dict("records"):
            group = {name: row[own_name(each.rates, name)] for name in protected}
            level = row[own_name(each.rates, outcome)]
            known = rows.setdefault((*group.values(), level), dict.fromkeys(RATE))
            known |= {"group": group, "outcome": level, "weight": row["weight"], when: row["rate"]}
    return list(rows.values())


def _bounds(found: Held) -> list[dict[str, Any]]:
    """Return every parity bound with what the input had and the file has, and whether the file keeps it."""
    assert found.after is not None
    had: dict[tuple[str, str], Any] = {}
    if found.before is not None:
        had = {(row["constraint"], row["where"]): row["achieved"] for row in found.before.bounds.to_dict("records")}
    # Where segments were left, what is compared is not what the bound is about.
    decided = found.after.verdict.decided
    return [
        {
            "constraint": row["constraint"],
            "where": row["where"],
            "bound": row["bound"],
            "before": had.get((row["constraint"], row["where"])),
            "after": row["achieved"],
            "kept": not row["slack"] < -ROUNDING if decided else None,
        }
        for row in found.after.bounds.to_dict("records")
    ]
