"""Manifests: made of files that were just written, and checked again against the files that they name.

What a file has is counted in it. A manifest that is checked has its files' checksums, the mapping's fingerprint, and
rows, rates and bounds recounted; on request the recorded command is run again, and its result compared by checksum. The
manifest's time, its versions and the words of its sign-off are not checked.
"""

from __future__ import annotations

import glob
import os
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from evenhand import check, storage
from evenhand._version import __version__
from evenhand.data.domain import in_words
from evenhand.engines import Expanded, Listed, Read, Source, Written, count_rows
from evenhand.errors import (
    DataError,
    EvenhandError,
    EvenhandWarning,
    Option,
    SpecError,
    StorageError,
    VerificationError,
    warn,
)
from evenhand.files import current_place, sha256_of
from evenhand.findings.document import installed, plain
from evenhand.findings.manifest import COUNTED, OPTIONS_OF, RATE, FileRecord, Manifest, folder_of, number, own_paths
from evenhand.findings.new_people import Realised
from evenhand.findings.verified import verified
from evenhand.mapping import Mapping
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section
from evenhand.render.sentences import paragraph, sentence
from evenhand.resources import Progress, current, silent
from evenhand.spec.sign_off import SignOff
from evenhand.tables import frame, own_name
from evenhand.tolerances import AGREEMENT, ROUNDING

if TYPE_CHECKING:
    import pandas as pd

PACKAGES = ("numpy", "narwhals", "pandas", "duckdb", "pyarrow")
"""What reads, draws and writes beside evenhand itself."""

WROTE = ("duckdb", "pyarrow")
"""Packages whose versions decide the bytes that are written, beside evenhand itself."""

SHOWN = 12
"""So many digits of a checksum tell it from others."""


@dataclass(frozen=True, eq=False)
class FileRates:
    """The rates of a file that was written, counted in it; and those of its input, where that was asked for.

    ``why`` is why they are not known, where they are not; ``failure`` the error that says so.
    """

    before: Realised | None = None
    after: Realised | None = None
    why: Note | None = None
    failure: EvenhandError | None = None

    @property
    def sections(self) -> tuple[Section, ...]:
        """The rates of the file, or why they are not known."""
        if self.after is not None:
            return self.after.sections
        return (Section("release", notes=() if self.why is None else (self.why,)),)


def file_rates(
    mapping: Mapping,
    done: Written | Expanded,
    *,
    weights: str | None = None,
    before: bool = True,
    progress: Progress | None = None,
) -> FileRates:
    """Count the rates of a file that was just written, and of its input; it stays, whether they can be counted or not.

    ``weights`` are those of a release; what was expanded has its own.
    """
    mode, missing = done.options["mode"], done.options["missing"]
    if mode == "apply":
        return FileRates(why=Note("manifest.apply"))
    if not done.rows:
        return FileRates(why=Note("manifest.no_rows"))
    if done.options["restore"] == "label" and mapping.problem.bins:
        return FileRates(why=Note("manifest.labels"))
    assert done.read is not None
    table = _table(done.read.paths)
    frequencies = done.options["frequencies"]
    own = {"weights": weights if mode == "release" else done.options["weights"], "frequencies": frequencies}
    new = own if mode == "release" else {"weights": done.options["weight_column"]}
    # Of what was expanded, or was a table of counts, there is more than one row for each that was read.
    original = table if mode == "release" and frequencies is None else None
    with_: dict[str, Any] = {"missing": missing, "progress": progress}
    try:
        after = mapping.realised(current_place(done.path), original=original, **new, **with_)
        return FileRates(mapping.realised(table, **own, **with_) if before else None, after)
    except EvenhandError as error:
        return FileRates(why=Note("manifest.not_counted", {"error": error}), failure=error)


def _table(paths: tuple[str, ...]) -> str | Listed:
    """Return a table that was read: a file, or several in their order."""
    return paths[0] if len(paths) == 1 else Listed(paths)


def manifest_of(
    mapping: Mapping,
    done: Written | Expanded,
    source: str | os.PathLike[str],
    *,
    weights: str | None = None,
    keep_seed: bool = True,
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
    keep_seed : bool
        Whether the manifest states the seed. Without it the command cannot be run again; with mapping, seed and key
        others can recompute most original outcomes.
    sign_off : SignOff, optional
        Who signed off on it; one that expired is refused.
    progress : callable, optional
        Called with a text and the share that is done.

    Returns
    -------
    Manifest
        Its ``save`` writes it beside the file.
    """
    _refuse_unfit(mapping, done, source, sign_off)
    if done.options["mode"] != "release" and weights is not None:
        raise SpecError("weights go with a release; what was expanded has its weights")
    keep_seed, tell = check.flag("keep_seed", keep_seed), check.progress(progress) or silent
    found = file_rates(mapping, done, weights=weights, progress=tell)
    if found.failure is not None:
        raise found.failure
    return assembled(mapping, done, source, found, weights=weights, keep_seed=keep_seed, sign_off=sign_off, tell=tell)


def assembled(
    mapping: Mapping,
    done: Written | Expanded,
    source: str | os.PathLike[str],
    found: FileRates,
    *,
    weights: str | None = None,
    keep_seed: bool = True,
    sign_off: SignOff | None = None,
    notes: Sequence[str] = (),
    tell: Callable[[str, float], None] = silent,
) -> Manifest:
    """Make the manifest of a file whose rates are counted already."""
    assert done.read is not None
    folder = folder_of(done.path)

    def record(path: str) -> FileRecord:
        def hashing(share: float) -> None:
            tell(f"hashing {os.path.basename(path)}", share)

        return FileRecord.of(path, folder, hashing, done.checksums.get(path))

    *inputs, own, output = map(record, (*done.read.paths, os.fspath(source), done.path))
    if done.read.state != tuple((each.st_size, each.st_mtime_ns) for each in map(os.stat, done.read.paths)):
        raise DataError(f"{done.read.paths[0]!r} was changed after it was read: no manifest can be made of it")
    if not keep_seed and done.options.get("seed_origin") == "default":
        warn("the manifest leaves out the default seed, which everybody knows; pass a secret one with ", Option("seed"))
    listed = getattr(done, "changes", None)
    said: dict[str, Any] = {"weights": weights, **done.options, **({} if keep_seed else {"seed": None})}
    return Manifest(
        mode=done.options["mode"],
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={"evenhand": __version__, "python": platform.python_version(), **installed(PACKAGES)},
        inputs=tuple(inputs),
        mapping=own,
        fingerprint=mapping.fingerprint,
        output=output,
        options=plain({name: said[name] for name in OPTIONS_OF[said["mode"]]}),
        counted={name: int(getattr(done, name)) for name in COUNTED if getattr(done, name, None) is not None},
        realised=realised_document(mapping, found),
        notes=tuple(notes) if found.why is None else (*notes, sentence(found.why)),
        changes=None if listed is None else record(listed),
        sign_off=sign_off,
        folder=folder,
    )


def _refuse_unfit(mapping: Any, done: Any, source: Any, sign_off: Any) -> None:
    """Refuse what a manifest cannot be made of, before any work is done."""
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    if not isinstance(done, Written | Expanded) or done.read is None:
        raise SpecError(
            "done must be what release, apply or expand returned for files: mapping.release(path, to=...); a manifest "
            "is of files, by their bytes"
        )
    check_sign_off(sign_off)
    check_source(mapping, check.path("source", source))


def check_sign_off(sign_off: Any) -> None:
    """Refuse a sign-off that is none, or that does not hold today."""
    if sign_off is None:
        return
    check.kind("sign_off", sign_off, SignOff, "an eh.SignOff")
    if (lapsed := sign_off.lapsed(date.today())) is not None:
        then = "have it renewed" if lapsed.startswith("expired") else "wait for that day, or correct it"
        raise SpecError(f"the sign-off by {sign_off.name!r} {lapsed}: nothing is written with it; {then}")


def check_source(mapping: Mapping, source: str) -> None:
    """Refuse a mapping's file that holds another mapping."""
    stored = storage.read(source)
    prints = (storage.fingerprint(each.problem, each.counts, each.kernel) for each in (mapping, stored))
    if len(set(prints)) > 1:
        raise StorageError(f"{source!r} holds another mapping than the one that is used; save this one first")


def realised_document(mapping: Mapping, found: FileRates) -> dict[str, Any] | None:
    """Return what a file has, and what its input had, as a document."""
    if found.after is None:
        return None
    verdict = found.after.verdict
    said = {"kept": verdict.kept, "violated": verdict.violated, "verdict": paragraph(verdict.notes)}
    document: dict[str, Any] = plain({"rates": _rates(mapping, found), "bounds": _bounds(found), **said})
    return document


def _rates(mapping: Mapping, found: FileRates) -> list[dict[str, Any]]:
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


def _bounds(found: FileRates) -> list[dict[str, Any]]:
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


@dataclass(frozen=True)
class Check:
    """One thing that was checked: what the manifest states, what was found, whether they agree, and why it matters."""

    what: str
    stated: Any
    found: Any
    agrees: bool
    why: Note | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Rechecked(Finding):
    """A manifest that was checked again.

    Attributes
    ----------
    manifest : Manifest
        What was checked.
    checks : tuple of Check
        Everything that was checked. If a file does not match its checksum, nothing else is checked.
    again : bool
        Whether the recorded command was to be run again.
    """

    manifest: Manifest
    checks: tuple[Check, ...]
    again: bool = False

    @property
    def stands(self) -> bool:
        """Whether all of it agrees."""
        return all(each.agrees for each in self.checks)

    @property
    def table(self) -> pd.DataFrame:
        """Everything that was checked, one row each."""
        return frame({name: [getattr(each, name) for each in self.checks] for name in Check.__annotations__})

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is wrong, or that nothing is."""
        if not self.stands:
            return tuple(each.why for each in self.checks if each.why is not None and not each.agrees)
        key = "verified.manifest_again" if self.again else "verified.manifest"
        return Note(key), Note("text", {"text": self.manifest.verdict})

    @property
    def sections(self) -> tuple[Section, ...]:
        """What the manifest is of, and everything that was checked."""
        rows = [
            {"checked": each.what, "claimed": each.stated, "recomputed": each.found, "agrees": each.agrees}
            for each in self.checks
        ]
        # A sentence that agrees is among the notes.
        implied = [at for at, each in enumerate(self.checks) if each.what == "verdict" and each.agrees]
        return (self.manifest.record, verified(self.stands, self.notes, rows, implied))

    def __repr__(self) -> str:
        return f"<Rechecked: {'verified' if self.stands else 'fails verification'}. {paragraph(self.notes)}>"


def verify_manifest(
    path: str | os.PathLike[str] | Manifest,
    *,
    input: str | os.PathLike[str] | None = None,
    mapping: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    changes: str | os.PathLike[str] | None = None,
    again: bool = False,
    progress: Progress | None = None,
) -> Rechecked:
    """Check a manifest: checksums of all files, the mapping's fingerprint, and rows, rates and bounds recounted.

    Parameters
    ----------
    path : path or Manifest
        The manifest.
    input, mapping, output, changes : path, optional
        Where the files are, if not where the manifest says; ``input`` may be a pattern.
    again : bool
        Run the recorded command again, to temporary files, and compare their checksums with those of the output and of
        the list of changes. Other versions of evenhand, DuckDB or PyArrow, or another limit of memory, may write the
        same table with other bytes.
    progress : callable, optional
        Called with a text and the share that is done.

    Returns
    -------
    Rechecked
        With ``stands`` and everything that was checked in ``table``; ``print`` shows it. A manifest that cannot be
        read, or a file that is not there, is a StorageError.
    """
    manifest = path if isinstance(path, Manifest) else Manifest.load(path)
    check.flag("again", again)
    tell = check.progress(progress) or silent
    if again and "seed" in manifest.options and manifest.options["seed"] is None:
        raise SpecError(
            "the manifest leaves the seed out, without which the command cannot be run again; leave out ",
            Option("again"),
        )
    places = _places(manifest, {"input": input, "mapping": mapping, "output": output, "changes": changes})
    checks = list(_bytes(manifest, places, tell))
    if all(each.agrees for each in checks):
        fitted = Mapping.load(places["mapping"][0])
        share = 0.5 if again else 1.0
        checks += _recounted(fitted, manifest, places, lambda stage, done: tell(stage, share * done))
        if again:
            checks += _done_again(fitted, manifest, places, lambda stage, done: tell(stage, 0.5 + 0.5 * done))
    if manifest.sign_off is not None:
        lapsed, until = manifest.sign_off.lapsed(date.today()), manifest.sign_off.expires
        why = Note("verified.lapsed", {"name": manifest.sign_off.name, "lapsed": lapsed})
        stated = "no end" if until is None else f"until {until}"
        checks.append(Check("sign-off", stated, lapsed or "holds", not lapsed, why))
    return Rechecked(manifest, tuple(checks), again)


def recheck_file(mapping: Mapping, manifest: Manifest, table: str | os.PathLike[str] | None = None) -> None:
    """Refuse a manifest whose input or output has other bytes, or whose rows, rates or bounds are not the file's.

    ``table`` is what somebody takes for the input: another file is refused, whatever else is right.
    """
    places = _places(manifest, {"input": table, "output": None}, movable=False)
    for each in _bytes(manifest, places, silent):
        if not each.agrees and table is not None and each.what.startswith("input"):
            raise StorageError(
                f"{os.fspath(table)!r} is not the table that {manifest.output.name!r} was made from: its SHA-256 is "
                f"another. Pass {manifest.inputs[0].name!r}, the input that the manifest names, or leave the manifest "
                f"out"
            )
        _refuse_other(manifest, each)
    for each in _recounted(mapping, manifest, places, silent):
        _refuse_other(manifest, each)


def _refuse_other(manifest: Manifest, found: Check) -> None:
    if not found.agrees:
        why = sentence(found.why or Note("verified.no"))
        raise VerificationError(
            f"the manifest of {manifest.output.name!r} fails verification: {why}. Write the file again, or use the "
            f"manifest that was written with it"
        )


Places = dict[str, tuple[str, ...]]
"""Where the files of each kind are."""


def _places(manifest: Manifest, given: dict[str, Any], *, movable: bool = True) -> Places:
    """Return where the files of every kind are that is given; one that is not there is an error that names it."""
    if given.get("changes") is not None and manifest.changes is None:
        raise SpecError("the manifest has no list of changes; leave out ", Option("changes"))
    found: Places = {}
    for what, files in manifest.files.items():
        if what not in given:
            continue
        other = given[what]
        if other is None:
            own = own_paths(manifest, what)
            if own is None:
                raise _elsewhere(manifest, [each for each in given if given[each] is None], movable=movable)
            found[what] = own
        elif what == "input":
            path = check.path(what, other)
            several = len(files) > 1 or (glob.has_magic(path) and not os.path.exists(path))
            found[what] = Source.of(path).paths if several else (path,)
        else:
            found[what] = (check.path(what, other),)
        for path in found[what]:
            if not os.path.isfile(path):
                there = "no regular file" if os.path.exists(path) else "not there"
                gone = f"the {what} {path!r} of the manifest is {there}"
                if not movable:
                    raise StorageError(f"{gone}; put it back, or leave the manifest out: nothing can be recounted")
                raise StorageError(f"{gone}; if it is elsewhere, say where with ", Option(what))
    return found


def _elsewhere(manifest: Manifest, kinds: Sequence[str], *, movable: bool) -> StorageError:
    """Return the error that names the files which a manifest alone does not have opened, and says how to name them."""
    known = manifest.files
    outside = {what: known[what] for what in kinds if what in known and own_paths(manifest, what) is None}
    names = ", ".join(f"the {what} {file.name!r}" for what, files in outside.items() for file in files)
    said = f"files outside the folder of a manifest are opened only if you name them: {names}; "
    if not movable:
        advice: list[object] = ["name the input with ", Option("table"), ", and keep the manifest beside its output"]
    else:
        advice = ["add "]
        for what, files in outside.items():
            one = Option(what, files[0].path(manifest.folder)) if len(files) == 1 else Option(what)
            advice += [one, " and "]
        advice.pop()
    return StorageError(said, *advice)


def _bytes(manifest: Manifest, places: Places, tell: Callable[[str, float], None]) -> Iterator[Check]:
    """Compare every file with its checksum."""
    for what, paths in places.items():
        files = manifest.files[what]
        if len(paths) != len(files):
            fields = {"what": what, "found": len(paths), "stated": len(files)}
            yield Check(what, len(files), len(paths), False, Note("verified.number_of_files", fields))
            continue
        for file, path in zip(files, paths, strict=True):
            yield _same_bytes(what, file, path, tell)


def _same_bytes(what: str, file: FileRecord, path: str, tell: Callable[[str, float], None]) -> Check:
    same = file.has_bytes_of(path, lambda share: tell(f"hashing the {what}", share))
    called = "list of changes" if what == "changes" else what
    fields: dict[str, Any] = {"called": called, "path": repr(path), "size": os.stat(path).st_size, "stated": file.size}
    sizes = Note("verified.size", fields) if fields["size"] != file.size else None
    # The checksum of another file is not for whoever wrote the manifest.
    stated = file.sha256[:SHOWN]
    return Check(
        f"{what} {file.name}",
        stated,
        stated if same else "another",
        same,
        Note("verified.bytes", {**fields, "sizes": sizes}),
    )


def _recounted(fitted: Mapping, manifest: Manifest, places: Places, tell: Progress) -> Iterator[Check]:
    """Check the mapping's fingerprint, and count rows, rates and bounds again."""
    found = fitted.fingerprint
    yield Check(
        "fingerprint of the mapping", manifest.fingerprint[:SHOWN], found[:SHOWN], found == manifest.fingerprint,
        Note("verified.fingerprint"),
    )  # fmt: skip
    rows = {"rows": "input", "results": "output"} if "results" in manifest.counted else {"rows": "output"}
    for name, what in rows.items():
        stated, own = manifest.counted.get(name), count_rows(_table(places[what]), fitted.problem.csv, tell)
        why = Note("verified.rows", {"what": what, "stated": stated, "found": own})
        yield Check(f"rows of the {what}", stated, own, own == stated, why)
    yield from _rates_again(fitted, manifest, places, tell)


def _done_again(fitted: Mapping, manifest: Manifest, places: Places, tell: Progress) -> Iterator[Check]:
    """Run the recorded command again, to temporary files, and compare checksums."""
    options: dict[str, Any] = dict(manifest.options)
    options.pop("seed_origin", None)
    if manifest.mode == "release":
        # The rates of a release are counted by its weights; drawing does not use them.
        del options["weights"]
    records = {"output": manifest.output} | ({} if manifest.changes is None else {"changes": manifest.changes})
    with tempfile.TemporaryDirectory(prefix="evenhand-", dir=current().folder()) as folder:
        to = {what: os.path.join(folder, what + os.path.splitext(file.name)[1]) for what, file in records.items()}
        listed = {"changes": to["changes"]} if "changes" in to else {}
        try:
            with warnings.catch_warnings():
                # Whoever wrote the file was warned then.
                warnings.simplefilter("ignore", EvenhandWarning)
                command = getattr(fitted, manifest.mode)
                command(_table(places["input"]), to=to["output"], progress=tell, **listed, **options)
        except EvenhandError as error:
            yield Check("run again", manifest.mode, "refused", False, Note("verified.refused", {"error": error}))
            return
        for what, file in records.items():
            found = sha256_of(to[what])
            here = {"evenhand": __version__, **installed(WROTE)}
            fields = {"what": what, "then": _versions(dict(manifest.versions)), "here": _versions(here)}
            why = Note("verified.again", fields)
            yield Check(f"{what}, run again", file.sha256[:SHOWN], found[:SHOWN], found == file.sha256, why)


def _versions(found: dict[str, str]) -> str:
    return ", ".join(f"{name} {found[name]}" for name in ("evenhand", *WROTE) if name in found)


def _rates_again(fitted: Mapping, manifest: Manifest, places: Places, tell: Progress) -> Iterator[Check]:
    """Count the rates of both tables again."""
    options = manifest.options
    done = Written(
        manifest.counted["rows"], path=places["output"][0], read=Read(places["input"], ()),
        options={"mode": manifest.mode, **options},
    )  # fmt: skip
    weights = options.get("weights") if manifest.mode == "release" else None
    own = file_rates(fitted, done, weights=weights, progress=tell)
    found = realised_document(fitted, own)
    stated = manifest.realised
    if stated is None or found is None:
        agrees = stated is None and found is None
        why = Note("verified.not_counted" if found is None else "verified.no_rates")
        yield Check("rates and bounds", _there(stated), _there(found), agrees, why)
        return
    assert own.after is not None
    # Both orders of two groups are two rows of bounds, and one comparison.
    for part, many in (("rates", len(found["rates"])), ("bounds", own.after.verdict.bounds)):
        name, wrong = f"the {part}", _first_other(stated[part], found[part])
        if wrong is None:
            yield Check(name, many, many, True)
        else:
            yield Check(name, *wrong[1:], False, Note("verified.numbers", {"what": name, "first": wrong[0]}))
    # Other versions may say the same in other words.
    same = manifest.versions.get("evenhand") == __version__
    for name in ("kept", "violated", *["verdict"] * same):
        why = Note("verified.stated", {"what": name, "stated": repr(stated[name]), "found": repr(found[name])})
        yield Check(name, stated[name], found[name], stated[name] == found[name], why)


def _there(document: Any) -> str:
    return "none" if document is None else "some"


def _first_other(stated: list[Any], found: list[Any]) -> tuple[Note, Any, Any] | None:
    """Return the first row that is not as stated, with what is stated and found; None where all are."""
    if len(stated) != len(found):
        numbers = {"stated": len(stated), "found": len(found)}
        return Note("verified.number_of_rows", numbers), len(stated), len(found)
    for one, other in zip(stated, found, strict=True):
        for name, value in other.items():
            if not _alike(one[name], value):
                who = other.get("where") or f"{in_words(other['group'])}, outcome {other['outcome']}"
                fields = {"what": f"{name} of {who}", "stated": _exact(one[name]), "found": _exact(value)}
                return Note("verified.stated", fields), one[name], value
    return None


def _exact(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else in_words(value) if isinstance(value, dict) else repr(value)


def _alike(one: Any, other: Any) -> bool:
    """Whether two values of documents are the same; numbers, but for rounding."""
    one, other = number(one), number(other)
    if isinstance(one, bool) or isinstance(other, bool) or not all(isinstance(v, int | float) for v in (one, other)):
        return bool(one == other)
    return bool(one == other or abs(one - other) <= AGREEMENT)
