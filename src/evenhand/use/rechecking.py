"""Check a manifest against the files that it names: their checksums, the mapping, and rows, rates and bounds recounted.

On request the recorded command is run again, and its result compared by checksum. The manifest's time, its versions
and the words of its sign-off are not checked.
"""

from __future__ import annotations

import glob
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from evenhand import check
from evenhand._version import __version__
from evenhand.data.domain import in_words
from evenhand.engines import Listed, Read, Source, Written, count_rows
from evenhand.errors import EvenhandError, EvenhandWarning, Option, SpecError, StorageError
from evenhand.files import sha256_of
from evenhand.findings.document import installed
from evenhand.findings.manifest import FileRecord, Manifest, number
from evenhand.resources import Progress, current, silent
from evenhand.tables import frame
from evenhand.tolerances import AGREEMENT
from evenhand.use import storage
from evenhand.use.manifests import held, realised_document
from evenhand.use.mapping import Mapping

if TYPE_CHECKING:
    import pandas as pd

WROTE = ("duckdb", "pyarrow")
"""Packages whose versions decide the bytes that are written, beside evenhand itself."""

SHOWN = 12
"""So many digits of a checksum tell it from others."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked: what the manifest says of it, what was found, whether they agree, and if not, why."""

    what: str
    stated: Any
    found: Any
    agrees: bool
    words: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", "" if self.agrees else self.words)


@dataclass(frozen=True, eq=False, repr=False)
class Rechecked:
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
    def verdict(self) -> str:
        """The answer in one line."""
        wrong = [each.words for each in self.checks if not each.agrees]
        if wrong:
            return f"The manifest fails verification: {'; '.join(wrong)}."
        again = ", and running the command again gives the same bytes" * self.again
        return f"The manifest is verified: every file has its checksum{again}; {self.manifest.verdict}."

    def __repr__(self) -> str:
        return f"<Rechecked: {self.verdict}>"


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
        With ``stands``, a ``verdict`` in one line and everything that was checked in ``table``. A manifest that cannot
        be read, or a file that is not there, is a StorageError.
    """
    manifest = path if isinstance(path, Manifest) else Manifest.load(path)
    check.flag("again", again)
    tell = check.progress(progress) or silent
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
        words = f"the sign-off by {manifest.sign_off.name} {lapsed}"
        stated = "no end" if until is None else f"until {until}"
        checks.append(Check("sign-off", stated, lapsed or "holds", not lapsed, words))
    return Rechecked(manifest, tuple(checks), again)


Places = dict[str, tuple[str, ...]]
"""Where the files of each kind are."""


def _places(manifest: Manifest, given: dict[str, Any]) -> Places:
    """Return where every file is; one that is not there is an error that names it."""
    if given["changes"] is not None and manifest.changes is None:
        raise SpecError("the manifest has no list of changes; leave out ", Option("changes"))
    found: Places = {}
    for what, files in manifest.files.items():
        other = given[what]
        if other is None:
            found[what] = tuple(file.path(manifest.folder) for file in files)
        elif what == "input":
            path = check.path(what, other)
            several = len(files) > 1 or (glob.has_magic(path) and not os.path.exists(path))
            found[what] = Source.of(path).paths if several else (path,)
        else:
            found[what] = (check.path(what, other),)
        for path in found[what]:
            if not os.path.isfile(path):
                raise StorageError(
                    f"the {what} {path!r} of the manifest is not there; if it is elsewhere, say where with ",
                    Option(what),
                )
    return found


def _bytes(manifest: Manifest, places: Places, tell: Callable[[str, float], None]) -> Iterator[Check]:
    """Compare every file with its checksum."""
    for what, files in manifest.files.items():
        paths = places[what]
        if len(paths) != len(files):
            words = f"there are {len(paths)} files for the {what}, where the manifest is of {len(files)}"
            yield Check(what, len(files), len(paths), False, words)
            continue
        for file, path in zip(files, paths, strict=True):
            yield _same_bytes(what, file, path, tell)


def _same_bytes(what: str, file: FileRecord, path: str, tell: Callable[[str, float], None]) -> Check:
    found = sha256_of(path, lambda share: tell(f"hashing the {what}", share))
    called = "list of changes" if what == "changes" else what
    words = f"the {called} {path!r} is not the file that the manifest is of: its SHA-256 is another"
    if (size := os.stat(path).st_size) != file.size:
        words += f", and it has {size:,} bytes instead of {file.size:,}"
    return Check(f"{what} {file.name}", file.sha256[:SHOWN], found[:SHOWN], found == file.sha256, words)


def _recounted(fitted: Mapping, manifest: Manifest, places: Places, tell: Progress) -> Iterator[Check]:
    """Check the mapping's fingerprint, and count rows, rates and bounds again."""
    found = storage.fingerprint(fitted.problem, fitted.counts, fitted.kernel)
    yield Check(
        "fingerprint of the mapping", manifest.fingerprint[:SHOWN], found[:SHOWN], found == manifest.fingerprint,
        "the manifest states another fingerprint than its mapping has",
    )  # fmt: skip
    rows = {"rows": "input", "results": "output"} if manifest.mode == "expand" else {"rows": "output"}
    for name, what in rows.items():
        stated, own = manifest.counted.get(name), count_rows(_table(places[what]), fitted.problem.csv, tell)
        words = f"the manifest states {stated} rows for the {what}, which has {own:,}"
        yield Check(f"rows of the {what}", stated, own, own == stated, words)
    yield from _rates(fitted, manifest, places, tell)


def _table(paths: tuple[str, ...]) -> str | Listed:
    return paths[0] if len(paths) == 1 else Listed(paths)


def _done_again(fitted: Mapping, manifest: Manifest, places: Places, tell: Progress) -> Iterator[Check]:
    """Run the recorded command again, to temporary files, and compare checksums."""
    options: dict[str, Any] = dict(manifest.options)
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
            yield Check("run again", manifest.mode, "refused", False, f"the command cannot be run again: {error}")
            return
        for what, file in records.items():
            found = sha256_of(to[what])
            here = {"evenhand": __version__, **installed(WROTE)}
            words = (
                f"running the recorded command again gives other bytes for the {what}; it was written with "
                f"{_versions(dict(manifest.versions))}, and installed are {_versions(here)}"
            )
            yield Check(f"{what}, run again", file.sha256[:SHOWN], found[:SHOWN], found == file.sha256, words)


def _versions(found: dict[str, str]) -> str:
    return ", ".join(f"{name} {found[name]}" for name in ("evenhand", *WROTE) if name in found)


def _rates(fitted: Mapping, manifest: Manifest, places: Places, tell: Progress) -> Iterator[Check]:
    """Count the rates of both tables again."""
    options = manifest.options
    done = Written(
        manifest.counted["rows"], path=places["output"][0], read=Read(places["input"], ()),
        options={"mode": manifest.mode, **options},
    )  # fmt: skip
    weights = options.get("weights") if manifest.mode == "release" else None
    found = realised_document(fitted, held(fitted, done, weights=weights, progress=tell))
    stated = manifest.realised
    if stated is None or found is None:
        agrees = stated is None and found is None
        words = "the manifest states rates that cannot be counted" if found is None else "it states no rates"
        yield Check("rates and bounds", _there(stated), _there(found), agrees, words)
        return
    for part, name in (("rates", "the rates"), ("bounds", "the bounds")):
        wrong = _first_other(stated[part], found[part])
        if wrong is None:
            yield Check(name, len(stated[part]), len(found[part]), True, "")
        else:
            yield Check(name, *wrong[1:], False, f"{name} that are stated are not the file's: {wrong[0]}")
    # Other versions may say the same in other words.
    same = manifest.versions.get("evenhand") == __version__
    for name in ("kept", "exceeded", *["verdict"] * same):
        words = f"{name} is stated as {stated[name]!r}, found {found[name]!r}"
        yield Check(name, stated[name], found[name], stated[name] == found[name], words)


def _there(document: Any) -> str:
    return "none" if document is None else "some"


def _first_other(stated: list[Any], found: list[Any]) -> tuple[str, Any, Any] | None:
    """Return the first row that is not as stated, in words, with what is stated and found; None where all are."""
    if len(stated) != len(found):
        return f"{len(stated)} are stated, {len(found)} found", len(stated), len(found)
    for one, other in zip(stated, found, strict=True):
        for name, value in other.items():
            if not _alike(one[name], value):
                who = other.get("where") or f"{in_words(other['group'])}, outcome {other['outcome']}"
                return f"{name} of {who} is stated as {_told(one[name])}, found {_told(value)}", one[name], value
    return None


def _told(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else in_words(value) if isinstance(value, dict) else repr(value)


def _alike(one: Any, other: Any) -> bool:
    """Whether two values of documents are the same; numbers, but for rounding."""
    one, other = number(one), number(other)
    if isinstance(one, bool) or isinstance(other, bool) or not all(isinstance(v, int | float) for v in (one, other)):
        return bool(one == other)
    return bool(one == other or abs(one - other) <= AGREEMENT)
