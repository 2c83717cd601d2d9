"""A manifest held against the files that it names: their bytes, the same draw again, and what the file has.

Nothing of a manifest is believed that can be found out: the hashes, the draw with the same seed, key and options, the
counts, the rates and the bounds. Its time, the versions and the sign-off's words are what somebody wrote there.
"""

from __future__ import annotations

import glob
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from evenhand import check
from evenhand._version import __version__
from evenhand.data.domain import in_words
from evenhand.engines import Expanded, Listed, Source, Written, same_values
from evenhand.errors import EvenhandError, EvenhandWarning, Option, SpecError, StorageError
from evenhand.files import sha256_of
from evenhand.findings.manifest import FileRecord, Manifest, number
from evenhand.resources import Progress, current, silent
from evenhand.spec import CsvFormat
from evenhand.tables import frame
from evenhand.use import storage
from evenhand.use.manifests import held, realised_document
from evenhand.use.mapping import Mapping

if TYPE_CHECKING:
    import pandas as pd

AGREEMENT = 1e-9
"""How far a rate that is stated may be from the one that is counted."""

LABELS = {
    "rows": "read", "results": "written", "changed": "changed", "unseen": "of an unseen kind",
    "typical": "with a typical outcome", "missing": "with a missing value",
}  # fmt: skip
"""What is counted, in words."""

WRITTEN = {"output": "the same draw", "changes": "the same changes"}
"""What was written, and what it is called where it is compared with what is drawn again."""

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
        Everything that was looked at. Once a file is not the one that the manifest is of, nothing is drawn again.
    """

    manifest: Manifest
    checks: tuple[Check, ...]

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
            return f"The manifest does not stand: {'; '.join(wrong)}."
        return (
            f"The manifest stands: the files are those that it is of, and doing the same again gives the same table; "
            f"{self.manifest.verdict}."
        )

    def __repr__(self) -> str:
        return f"<Rechecked: {self.verdict}>"


def verify_manifest(
    path: str | os.PathLike[str] | Manifest,
    *,
    input: str | os.PathLike[str] | None = None,
    mapping: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    changes: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Rechecked:
    """Check a manifest again: the files by their bytes, the same draw, the counts, the rates and every bound.

    Parameters
    ----------
    path : path or Manifest
        The manifest.
    input, mapping, output, changes : path, optional
        Where the files are, if not where the manifest says; ``input`` may be a pattern.
    progress : callable, optional
        Called with a text and the share that is done.

    Returns
    -------
    Rechecked
        With ``stands``, a ``verdict`` in one line and everything that was checked in ``table``. A manifest that cannot
        be read, or a file that is not there, is a StorageError.
    """
    manifest = path if isinstance(path, Manifest) else Manifest.load(path)
    tell = check.progress(progress) or silent
    places = _places(manifest, {"input": input, "mapping": mapping, "output": output, "changes": changes})
    checks = list(_bytes(manifest, places, tell))
    if all(each.agrees for each in checks):
        checks += _drawn_again(manifest, places, tell)
    if manifest.sign_off is not None:
        lapsed, until = manifest.sign_off.lapsed(date.today()), manifest.sign_off.expires
        words = f"the sign-off by {manifest.sign_off.name} {lapsed}"
        stated = "no end" if until is None else f"until {until}"
        checks.append(Check("sign-off", stated, lapsed or "holds", not lapsed, words))
    return Rechecked(manifest, tuple(checks))


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


def _drawn_again(manifest: Manifest, places: Places, tell: Callable[[str, float], None]) -> Iterator[Check]:
    """Draw again from the input, and hold what comes out, and what is counted, against what is there and stated."""
    fitted = Mapping.load(places["mapping"][0])
    found = storage.fingerprint(fitted.problem, fitted.counts, fitted.kernel)
    yield Check(
        "fingerprint of the mapping", manifest.fingerprint[:SHOWN], found[:SHOWN], found == manifest.fingerprint,
        "the manifest states another fingerprint than its mapping has",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="evenhand-", dir=current().folder()) as folder:
        again = {
            what: os.path.join(folder, f"{what}{os.path.splitext(paths[0])[1]}")
            for what, paths in places.items()
            if what in WRITTEN
        }
        try:
            done = _again(fitted, manifest, places["input"], again, lambda stage, share: tell(stage, 0.6 * share))
        except EvenhandError as error:
            yield Check("the same draw", manifest.mode, "refused", False, f"it cannot be drawn again: {error}")
            return
        for what, path in again.items():
            yield _same_table(what, places[what][0], path, fitted.problem.csv if what == "output" else None)
    for name, stated in manifest.counted.items():
        own = int(getattr(done, name, -1))
        words = f"{stated:,} rows are stated as {LABELS[name]}, where there are {own:,}"
        yield Check(f"rows {LABELS[name]}", stated, own, own == stated, words)
    yield from _rates(fitted, manifest, places, done, lambda stage, share: tell(stage, 0.6 + 0.4 * share))


def _again(fitted: Mapping, manifest: Manifest, inputs: tuple[str, ...], to: dict[str, str], tell: Progress) -> Any:
    """Do what the manifest says once more, to files of other names."""
    options: dict[str, Any] = dict(manifest.options)
    if manifest.mode == "release":
        options.pop("weights", None)
    if "changes" in to:
        options["changes"] = to["changes"]
    table = inputs[0] if len(inputs) == 1 else Listed(inputs)
    with warnings.catch_warnings():
        # What is to be known of this table was said when it was written.
        warnings.simplefilter("ignore", EvenhandWarning)
        return getattr(fitted, manifest.mode)(table, to=to["output"], progress=tell, **options)


def _same_table(what: str, own: str, again: str, format: CsvFormat | None) -> Check:
    """Compare a table that was drawn again, by its bytes or else by its values."""
    name = WRITTEN[what]
    if sha256_of(own) == sha256_of(again):
        return Check(name, f"the {what}", "the same bytes", True)
    try:
        # Another version of what writes files may arrange the same values otherwise.
        if (why := same_values(own, again, format)) is None:
            return Check(name, f"the {what}", "the same values", True)
    except EvenhandError as error:
        why = str(error)
    words = f"drawing again with the same mapping, seed and options gives another table than the {what} ({why})"
    return Check(name, f"the {what}", "another table", False, words)


def _rates(
    fitted: Mapping, manifest: Manifest, places: Places, done: Written | Expanded, tell: Progress
) -> Iterator[Check]:
    """Count the rates of both tables again."""
    options = manifest.options
    here = replace(done, path=places["output"][0])
    weights = options.get("weights") if manifest.mode == "release" else None
    found = realised_document(fitted, held(fitted, here, weights=weights, progress=tell))
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
    agrees = all(stated[name] == found[name] for name in ("kept", "exceeded", *["verdict"] * same))
    words = f"it states that {stated['verdict']}, where {found['verdict']}"
    numbers = stated["exceeded"], found["exceeded"]
    if not agrees and numbers[0] == numbers[1]:
        # The words are others.
        numbers = "as it states", "otherwise"
    yield Check("bounds exceeded", *numbers, agrees, words)


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
