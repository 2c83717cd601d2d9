"""What one written file is: of which input and mapping, drawn how, with which rates and bounds; as a value and as JSON.

Everything here is plain. Nothing is computed from tables: ``use.manifests`` makes manifests and checks them.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from evenhand import check
from evenhand.errors import SpecError, StorageError, VerificationError
from evenhand.files import Checksum, current_place, existing, replace_file, sha256_of, text_of
from evenhand.findings.document import plain, signed
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Kind, Note, Section, Table
from evenhand.spec.sign_off import SignOff
from evenhand.tables import frame
from evenhand.text import counted

if TYPE_CHECKING:
    import pandas as pd

FORMAT, VERSION = "evenhand-manifest", 1
MODES = ("release", "apply", "expand")

OPTIONS: dict[str, tuple[type, ...]] = {
    "seed": (int, type(None)), "seed_origin": (str,), "key": (str, type(None)), "draw": (str,), "unseen": (str,),
    "missing": (str, type(None)),
    "restore": (str,), "weights": (str, type(None)), "frequencies": (str, type(None)), "weight_column": (str,),
    "mark": (str, type(None)),
    "formulas": (str,), "manifest": (str, type(None)),
}  # fmt: skip
DRAWN = ("seed", "seed_origin", "key", "draw", "unseen", "missing", "restore", "frequencies")
MARKED = ("mark", "formulas", "manifest")
OPTIONS_OF = {
    "release": (*DRAWN, "weights", *MARKED),
    "apply": (*DRAWN, *MARKED),
    "expand": ("unseen", "missing", "restore", "weights", "frequencies", "weight_column", *MARKED),
}

COUNTED = ("rows", "people", "results", "changed", "unseen", "typical", "missing")
NUMBER = (float, type(None))
LEVEL = (str, int, float, bool, type(None))
RATE: dict[str, tuple[type, ...]] = {
    "group": (dict,), "outcome": LEVEL, "weight": NUMBER, "before": NUMBER, "after": NUMBER,
}  # fmt: skip
BOUND: dict[str, tuple[type, ...]] = {
    "constraint": (str,), "where": (str,), "bound": NUMBER, "before": NUMBER, "after": NUMBER,
    "kept": (bool, type(None)),
}  # fmt: skip
REALISED: dict[str, tuple[type, ...]] = {
    "rates": (list,), "bounds": (list,), "kept": (bool, type(None)), "violated": (int,), "verdict": (str,),
}  # fmt: skip
WORDS = {
    str: "a text", int: "a whole number", float: "a number", list: "a list", dict: "a table", bool: "true or false",
}  # fmt: skip


@dataclass(frozen=True)
class FileRecord:
    """A file by its bytes: its name, seen from the manifest's folder, its SHA-256 and its size."""

    name: str
    sha256: str
    size: int

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        folder: str,
        tell: Callable[[float], None] | None = None,
        known: Checksum | None = None,
    ) -> FileRecord:
        """Read a file, piece by piece, unless its checksum is known; ``tell`` hears which share is done."""
        now = current_place(path)
        sha256 = known.sha256 if known is not None and known.holds(now) else sha256_of(now, tell)
        return cls(seen_from(folder, os.fspath(path)), sha256, os.stat(now).st_size)

    def path(self, folder: str) -> str:
        """Return where it is, as seen from a folder."""
        return os.path.normpath(os.path.join(folder, self.name))

    def has_bytes_of(self, path: str | os.PathLike[str], tell: Callable[[float], None] | None = None) -> bool:
        """Whether a file has the bytes of this one. None is read of a file of another size."""
        return os.stat(path).st_size == self.size and sha256_of(path, tell) == self.sha256


def folder_of(path: str) -> str:
    """Return the folder that a file really is in: the way back from a linked one is not the way there."""
    return os.path.realpath(os.path.dirname(path))


def seen_from(folder: str, path: str) -> str:
    """Return what a file is called in a manifest that is in a folder: with slashes, on every system."""
    path = os.path.join(folder_of(path), os.path.basename(path))
    try:
        return PurePath(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        # On another drive there is no way from here to there.
        return PurePath(os.path.abspath(path)).as_posix()


def manifest_path(output: str | os.PathLike[str]) -> str:
    """Return where the manifest of a file is kept: beside it.

    Examples
    --------
    >>> manifest_path("train.csv")
    'train.csv.manifest.json'
    """
    return f"{os.fspath(output)}.manifest.json"


@dataclass(frozen=True, eq=False, repr=False)
class Manifest(Finding):
    """What one written file is: the record beside it.

    ``eh.manifest_of`` makes one of files that were just written, ``eh.verify_manifest`` checks it again from the files.

    Attributes
    ----------
    mode : {"release", "apply", "expand"}
        What was done.
    at : str
        When the manifest was made, in UTC.
    versions : mapping
        Of evenhand, Python and the packages that read, draw and write.
    inputs : tuple of FileRecord
        The files that were read, in their order.
    mapping, output : FileRecord
        The mapping's file, and the file that was written.
    fingerprint : str
        What tells the mapping from others, whatever file it is in.
    options : mapping
        With which seed (None where it was left out), from where it came (``seed_origin``: it was ``given``, ``drawn``
        anew, or the ``default``), key, draw, policy for unseen and missing values, restoring, weights and frequencies;
        and what the file says of itself (``mark``, ``manifest``), with its ``formulas`` as they are or escaped.
    counted : mapping
        How many rows were read (``rows``), changed, of an unseen kind (``typical`` of them drew their outcome), had a
        missing value without a level; of ``expand`` and of a table of counts, how many were written (``results``). Of a
        table of counts also how many ``people`` its rows stand for, of whom so many ``changed``.
    realised : mapping or None
        What this very file has: ``rates`` by group and outcome before and after, ``bounds`` with what the table had
        before and has after and whether each is ``kept``, and the verdict in one line; None where it is not known,
        which ``notes`` explain.
    notes : tuple of str
        What else is to be known.
    changes : FileRecord or None
        The list of changes, where one was written.
    sign_off : SignOff or None
        Who signed off on it.
    folder : str
        The folder that names of files are seen from: that of the manifest itself.
    """

    mode: str
    at: str
    versions: Mapping[str, str]
    inputs: tuple[FileRecord, ...]
    mapping: FileRecord
    fingerprint: str
    output: FileRecord
    options: Mapping[str, Any]
    counted: Mapping[str, int]
    realised: Mapping[str, Any] | None
    notes: tuple[str, ...] = ()
    changes: FileRecord | None = None
    sign_off: SignOff | None = None
    folder: str = field(default=".")

    @property
    def rates(self) -> pd.DataFrame:
        """The rate of each outcome in each group, before and after, as a frame; empty where it is not known."""
        rows = [] if self.realised is None else self.realised["rates"]
        groups = list(dict.fromkeys(name for row in rows for name in row["group"]))
        columns: dict[str, list[Any]] = {name: [row["group"].get(name) for row in rows] for name in groups}
        columns |= {name: [number(row[name]) for row in rows] for name in RATE if name != "group"}
        return frame(columns)

    @property
    def bounds(self) -> pd.DataFrame:
        """Every parity bound with what the table had before and this file has, as a frame; empty if it is not known."""
        rows = [] if self.realised is None else self.realised["bounds"]
        return frame({name: [number(row[name]) for row in rows] for name in BOUND})

    @property
    def kept(self) -> bool | None:
        """Whether this very file keeps every parity bound; None where that is not known."""
        return None if self.realised is None else self.realised["kept"]

    @property
    def verdict(self) -> str:
        """The same in one line."""
        if self.realised is None:
            return "; ".join(self.notes) or "Its rates are not known."
        return str(self.realised["verdict"])

    @property
    def record(self) -> Section:
        """Which file it is of, made of what and how, and who signed off on it."""
        more = Note("manifest.more_files", {"more": len(self.inputs) - 1}) if len(self.inputs) > 1 else None
        given = {name: self.options.get(name) for name in ("seed", "key", "draw")}
        options = [
            Note("manifest.option", {"name": name, "value": value})
            for name, value in given.items()
            if value is not None
        ]
        drawn = Note("manifest.drawn", {"options": options}) if options else None
        written = {"at": self.at, "version": self.versions.get("evenhand", "?")}
        facts = (
            Fact("output", self.output.name),
            Fact("made_from", Note("manifest.file", {"name": self.inputs[0].name, "more": more})),
            Fact("made_by", Note("manifest.made", {"mapping": self.mapping.name, "mode": self.mode, "drawn": drawn})),
            Fact("written_at", Note("manifest.written", written)),
            *(() if self.sign_off is None else self.sign_off.facts),
        )
        return Section("manifest", facts=facts)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The same, and the rates before and after."""
        kinds: dict[str, Kind] = {"outcome": "text", "weight": "people", "before": "rate", "after": "rate"}
        rates = () if self.realised is None else (Table.of("rates", self.rates, kinds),)
        notes = (Note("text", {"text": self.verdict}),)
        return self.record, Section("release", tables=rates, notes=notes)

    @property
    def files(self) -> dict[str, tuple[FileRecord, ...]]:
        """Every file by what it is to the manifest."""
        listed = {"input": self.inputs, "mapping": (self.mapping,), "output": (self.output,)}
        return listed if self.changes is None else {**listed, "changes": (self.changes,)}

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it, without its checksum."""
        found: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        for own in fields(self):
            value = getattr(self, own.name)
            if own.name == "inputs":
                value = [vars(each) for each in value]
            elif isinstance(value, FileRecord):
                value = vars(value)
            elif isinstance(value, SignOff):
                value = value.as_dict()
            if own.name != "folder":
                found[own.name] = plain(value)
        return found

    def to_json(self) -> str:
        """Return it as JSON text, with a checksum of all of it."""
        return json.dumps(signed(self.as_dict()), ensure_ascii=True, indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, folder: str = ".") -> Manifest:
        """Read a manifest; one that is damaged, forged or of another format version is refused.

        One that was altered, as its checksum shows, is a VerificationError, any other a StorageError.
        """
        try:
            given = json.loads(check.text("a manifest", text), object_pairs_hook=_once)
            return _read(given, check.path("folder", folder))
        except StorageError:
            raise
        except (SpecError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise StorageError(f"it is no sound manifest: {_why(error)}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Manifest:
        """Read a manifest file; names of files in it are seen from its folder.

        Examples
        --------
        >>> import evenhand as eh, os, tempfile
        >>> data = eh.datasets.load("compas")
        >>> mapping, folder = eh.fit(data.problem, data.counts), tempfile.mkdtemp()
        >>> table, out, file = (os.path.join(folder, name) for name in ("people.csv", "train.csv", "m.mapping"))
        >>> data.frame.to_csv(table, index=False)
        >>> mapping.save(file)
        >>> done = mapping.release(table, to=out, draw="balanced")
        >>> saved = eh.manifest_of(mapping, done, file).save()
        >>> manifest = eh.Manifest.load(saved)
        >>> manifest.counted["rows"], manifest.options["draw"], eh.verify_manifest(saved).stands
        (5278, 'balanced', True)
        """
        name = check.path("path", path)
        text = text_of(name, "the manifest")
        try:
            return cls.from_json(text, folder_of(name))
        except StorageError as error:
            raise type(error)(f"{name!r}: {error}") from None

    def save(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write it in one step: beside the output, or under another name, from where files are then seen."""
        target = check.path("path", manifest_path(self.output.path(self.folder)) if path is None else path)
        existing(target)
        folder = folder_of(target)
        replace_file(target, self.seen_from(folder).to_json().encode())
        return target

    def seen_from(self, folder: str) -> Manifest:
        """Return the same manifest for another folder, from where names of files are seen."""
        folder = os.path.realpath(check.path("folder", folder))

        def moved(file: FileRecord) -> FileRecord:
            return replace(file, name=seen_from(folder, file.path(self.folder)))

        return replace(
            self, folder=folder, inputs=tuple(map(moved, self.inputs)), mapping=moved(self.mapping),
            output=moved(self.output), changes=None if self.changes is None else moved(self.changes),
        )  # fmt: skip

    def __repr__(self) -> str:
        kept = {
            True: "parity constraints hold",
            False: "parity constraints violated",
            None: "parity constraints not decided",
        }[self.kept]
        return f"<Manifest of {self.output.name}: {self.mode}, {counted(self.counted['rows'], 'row')}, {kept}>"


def own_paths(manifest: Manifest, what: str) -> tuple[str, ...] | None:
    """Return where the files of a kind are, if all of them are in the manifest's folder or below; else None.

    No other file is opened because a manifest names it: its author may have named any.
    """
    folder = os.path.realpath(manifest.folder)
    paths = [os.path.realpath(file.path(folder)) for file in manifest.files[what]]
    return tuple(paths) if all(PurePath(path).is_relative_to(folder) for path in paths) else None


INFINITE = {"infinite": math.inf, "-infinite": -math.inf}


def number(value: Any) -> Any:
    """Return what a document has in place of a number: the infinite is a word there."""
    return INFINITE.get(value, value) if isinstance(value, str) else value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that is there twice: people would read the one, and programs the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON ({error.msg} in line {error.lineno})"
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


def _read(given: Any, folder: str) -> Manifest:
    """Return the manifest that a document holds; whatever is missing or of another kind is an error."""
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise StorageError("it is no manifest, which evenhand release, expand and apply write")
    version = given.get("version")
    if type(version) is not int or version != VERSION:
        raise StorageError(
            f"it has format version {version!r}, and this evenhand reads version {VERSION} only; use the evenhand that "
            f"wrote it"
        )
    if signed(given) != given:
        raise VerificationError("its checksum does not match: the manifest was damaged or altered")
    known = [own.name for own in fields(Manifest) if own.name != "folder"]
    if other := set(given) - {*known, "format", "version", "sha256"}:
        raise StorageError(f"it has an entry that is not known here: {sorted(other)[0]!r}")
    mode, at = _text("mode", given["mode"]), _text("at", given["at"])
    check.one_of("mode", mode, MODES)
    if datetime.fromisoformat(at).tzinfo is None:
        raise ValueError("its time names no zone")
    inputs = tuple(_file("inputs", each) for each in _kind("inputs", given["inputs"], (list,)))
    if not inputs:
        raise ValueError("it names no input")
    counted, versions = (_kind(name, given[name], (dict,)) for name in ("counted", "versions"))
    signed_off = _kind("sign_off", given["sign_off"], (dict, type(None)))
    return Manifest(
        mode=mode,
        at=at,
        versions={name: _text("versions", value) for name, value in versions.items()},
        inputs=inputs,
        mapping=_file("mapping", given["mapping"]),
        fingerprint=_text("fingerprint", given["fingerprint"]),
        output=_file("output", given["output"]),
        options=_entries("options", given["options"], {name: OPTIONS[name] for name in OPTIONS_OF[mode]}),
        counted=_entries("counted", counted, dict.fromkeys(COUNTED, (int,)), some=True) | {"rows": counted["rows"]},
        realised=None if given["realised"] is None else _realised(given["realised"]),
        notes=tuple(_text("notes", note) for note in _kind("notes", given["notes"], (list,))),
        changes=None if given["changes"] is None else _file("changes", given["changes"]),
        sign_off=None if signed_off is None else SignOff.from_dict(signed_off),
        folder=folder,
    )  # fmt: skip


def _kind(what: str, value: Any, kinds: tuple[type, ...]) -> Any:
    """Return a value of one of the kinds; true and false are no numbers here, and a whole number is a real one."""
    if float in kinds and type(value) in (int, float):
        check.finite(what, value)
        return value
    if kinds == (int,) and type(value) is int:
        return check.whole(what, value)
    if type(value) in kinds or (float in kinds and isinstance(value, str) and value in INFINITE):
        return value
    expected = " or ".join(WORDS.get(kind, "nothing") for kind in kinds)
    raise TypeError(f"{what} must be {expected}, not {check.shown(value)}")


def _text(what: str, value: Any) -> str:
    found: str = _kind(what, value, (str,))
    return found


def _file(what: str, given: Any) -> FileRecord:
    record = _entries(what, given, {"name": (str,), "sha256": (str,), "size": (int,)})
    if len(record["sha256"]) != 64 or set(record["sha256"]) - set("0123456789abcdef"):
        raise ValueError(f"{what} has no SHA-256")
    check.path(what, record["name"])
    # Pseudo-files of the kernel have no size, and no end.
    check.whole(f"size of {what}", record["size"], low=1)
    return FileRecord(**record)


def _entries(what: str, given: Any, kinds: Mapping[str, tuple[type, ...]], *, some: bool = False) -> dict[str, Any]:
    """Return the entries of a table, each of its kind; all of them, or those that there are, and no others."""
    table = _kind(what, given, (dict,))
    if other := set(table) - set(kinds):
        raise ValueError(f"{what} has an entry that is not known here: {sorted(other)[0]!r}")
    return {name: _kind(f"{name} of {what}", table[name], kinds[name]) for name in kinds if not some or name in table}


def _realised(given: Any) -> dict[str, Any]:
    found = _entries("realised", given, REALISED)
    parts = {"rates": RATE, "bounds": BOUND}
    for part, kinds in parts.items():
        found[part] = [_entries(part, row, kinds) for row in found[part]]
    for row in found["rates"]:
        for name, level in row["group"].items():
            _kind(f"{name} of a group", level, LEVEL)
    return found
