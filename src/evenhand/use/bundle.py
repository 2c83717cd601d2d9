"""A folder about a mapping, for others: report, proof and its verifier, impact ratios, datasheet, summary, checksums.

The folder appears whole or not at all, and holds nothing that says when it was made: the same mapping gives the same
bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand import check
from evenhand.data import FEW_PEOPLE
from evenhand.data.domain import Value
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, distinct_rows, weighting_in
from evenhand.errors import Option, SpecError, StorageError, did_you_mean
from evenhand.files import reason, uninterrupted
from evenhand.findings.datasheet import datasheet, job_summary
from evenhand.findings.impact import KINDS, Impact, impact, impact_on
from evenhand.findings.manifest import Manifest
from evenhand.mapping import Mapping
from evenhand.render import markdown
from evenhand.render.section import Note
from evenhand.render.sentences import sentence
from evenhand.resources import Progress, part_of, silent
from evenhand.spec.agreement import favourable_code
from evenhand.use.reporting import Report, report_on

SUMS = "SHA256SUMS"
FILES = {
    "report.html": "the report, for the person who signs off",
    "report.json": "its numbers",
    "proof.json": "the proof of the certificate, which evenhand verify rechecks in exact arithmetic",
    "verifier.py": "the same check as a script, which needs Python alone",
    "impact-ratios.csv": "people, selection rates and impact ratios, before and after",
    "impact-ratios.md": "the same to read",
    "datasheet.md": "what the released table is, who is in it, what was changed, what it is not for",
    "summary.md": "a summary for the page of a job",
    "manifest.json": "the manifest of the file that is reported on",
    "changes.csv": "the list of changes in that file",
    "changes.parquet": "the list of changes in that file",
    SUMS: "checksums of all of them: sha256sum -c SHA256SUMS",
}
"""What a bundle may hold: a manifest, and a list of changes, where one was given."""


@dataclass(frozen=True, eq=False, repr=False)
class Bundle:
    """A bundle that was written.

    Attributes
    ----------
    path : pathlib.Path
        The folder.
    files : dict of str to str
        Its files, and what each of them is.
    sha256 : dict of str to str
        The checksum of each, but of the file of checksums.
    report : Report
        The report in it.
    impact : Impact
        The impact ratios.
    """

    path: Path
    files: dict[str, str]
    sha256: dict[str, str]
    report: Report
    impact: Impact

    def __repr__(self) -> str:
        return f"<Bundle: {len(self.files)} files in {str(self.path)!r}>"


def bundle(
    mapping: Mapping,
    path: str | os.PathLike[str],
    *,
    selected: Value | None = None,
    show_all_groups: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Bundle:
    """Write a folder about a mapping, for others, who need nothing else: a report with all that checks it.

    Parameters
    ----------
    mapping : Mapping
        What it is about.
    path : path
        The folder, which must not be there yet. It appears when it is complete.
    selected : level of the outcome, optional
        Which outcome counts as being selected; by default the problem's favourable one, or of two the last.
    show_all_groups : bool
        Whether the table of impact ratios names every category, as a law may ask: also those of fewer people than
        ``hide_below``.
    force : bool
        Whether a bundle that is there already is replaced; a folder that holds anything else never is.
    progress : callable, optional
        Called with a text and the share that is done.
    **options
        As in :func:`evenhand.report_on`. Impact ratios are those of ``frame``, or else of the fitted people; its
        missing values count as a level unless ``missing`` says otherwise. A ``manifest`` is put beside the report, and
        so is the list of changes that it names.

    Returns
    -------
    Bundle
        The folder, its files and their checksums.

    Examples
    --------
    >>> import os, tempfile
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = eh.bundle(mapping, os.path.join(tempfile.mkdtemp(), "evidence"), trace=False)
    >>> sorted(os.listdir(found.path))[:3]
    ['SHA256SUMS', 'datasheet.md', 'impact-ratios.csv']
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    show_all_groups = check.flag("show_all_groups", show_all_groups)
    least = check.finite("hide_below", options.get("hide_below", FEW_PEOPLE), low=0)
    folder, tell = Path(check.path("path", path)), check.progress(progress) or silent
    force = check.flag("force", force)
    table = options.get("frame")
    asked = Weighting.of(options.get("weights"), options.get("frequencies"))
    if asked is not None and table is None:
        raise SpecError(f"{asked.option} go with a table; the fitted one has its own")
    code = _selected(mapping, selected)
    check_folder(folder, force=force)
    tell("counting", 0.0)
    found = _impact(mapping, table, code, asked, 0 if show_all_groups else least)
    if table is not None and options.get("missing") is None:
        options["missing"] = "level"
    report = report_on(mapping, **options, progress=part_of(tell, 0.05, 0.85))
    with _whole_folder(folder, force=force) as made:
        report.save(made / "report.html")
        tell("writing the proof", 0.85)
        mapping.proof(made / "proof.json")
        _write_script(made / "verifier.py")
        _write(made / "impact-ratios.csv", _csv(found))
        _write(made / "impact-ratios.md", f"{markdown.text(found.sections, 1)}")
        _copy_manifest(options.get("manifest"), made)
        names = [name for name in FILES if name in {*os.listdir(made), "datasheet.md", "summary.md"}]
        _write(made / "datasheet.md", markdown.text(datasheet(report.sections, names)))
        _write(made / "summary.md", markdown.text(job_summary(report.sections, found)))
        sums = {name: hashlib.sha256((made / name).read_bytes()).hexdigest() for name in names}
        _write(made / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    tell("done", 1.0)
    return Bundle(folder, {name: FILES[name] for name in (*names, SUMS)}, sums, report, found)


def _selected(mapping: Mapping, selected: Value | None) -> int:
    """Return the code of the outcome that counts as being selected."""
    outcome = mapping.counts.domain.outcome
    if selected is not None:
        code = outcome.place(check.level("selected", selected))
        if code is None:
            hint = did_you_mean(selected, outcome.levels)
            raise SpecError(
                f"selected names {outcome.name}={selected!r}, which does not exist; the levels of {outcome.name!r} are "
                f"{list(outcome.levels)}.{hint}"
            )
        return code
    good = favourable_code(mapping.problem, mapping.counts.domain)
    if good is not None:
        return good
    if len(outcome) > 2:
        raise SpecError(
            f"it is not known which of the levels {list(outcome.levels)} of {outcome.name!r} counts as being selected; "
            f"write ",
            Option("selected", outcome.levels[-1]),
        )
    return len(outcome) - 1


def _impact(
    mapping: Mapping, table: AnyTable | None, selected: int, asked: Weighting | None, hide_below: float
) -> Impact:
    columns = list(mapping.problem.protected)
    if table is None:
        return impact(mapping.counts, mapping.kernel, selected, columns, hide_below=hide_below)
    # People of whom a protected column says nothing are told of, whatever a fit would say to them.
    mode, given = mapping.release_mode.with_missing("level"), {} if asked is None else {asked.option: asked.given}
    both = {"weights": None, "frequencies": None, **given}
    table, weighting = weighting_in([mapping.problem], table, both["weights"], both["frequencies"])
    rows = distinct_rows(mode.domain, table, mapping.problem.csv, weighting)
    found = impact_on(mode, rows, selected, columns, hide_below=hide_below)
    once = weighting is None and mapping.counts.weighed
    return replace(found, notes=(*found.notes, Note("impact.unweighed"))) if once else found


def _csv(found: Impact) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(KINDS)
    for category in found.categories:
        writer.writerow(map(_plain, (getattr(category, name) for name in KINDS)))
    for column, people in found.unknown.items():
        writer.writerow([column, "(unknown)", _plain(people), *[""] * (len(KINDS) - 4), "in no ratio"])
    return text.getvalue()


def _plain(value: Any) -> str:
    if isinstance(value, Note):
        return sentence(value)
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode(errors="backslashreplace"))


def _write_script(path: Path) -> None:
    """Put the verifier beside a proof."""
    # It is long, and nothing else here needs it.
    from evenhand import verifier

    shutil.copyfile(verifier.__file__, path)


def _copy_manifest(manifest: Any, folder: Path) -> None:
    """Put a manifest beside the report, and the list of changes that it names."""
    if manifest is None:
        return
    shutil.copyfile(manifest, folder / "manifest.json")
    known = Manifest.load(manifest)
    if known.changes is not None:
        listed = known.changes.path(known.folder)
        shutil.copyfile(listed, folder / ("changes.parquet" if listed.endswith(".parquet") else "changes.csv"))


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a folder that could not be written, or would be replaced without being asked."""
    above = folder.absolute().parent
    if not above.is_dir():
        raise StorageError(f"there is no folder {str(above)!r} to write {folder.name!r} into")
    if not os.access(above, os.W_OK | os.X_OK):
        raise StorageError(f"cannot write into {str(above)!r}: permission denied")
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise StorageError(f"{str(folder)!r} is there already, and is no folder; give another name")
    strange = sorted(set(os.listdir(folder)) - set(FILES))
    if strange:
        raise StorageError(
            f"{str(folder)!r} holds other files, such as {strange[0]!r}, and is never replaced; give another name"
        )
    if not force:
        raise StorageError(f"{str(folder)!r} exists already; ", Option("force", True), " replaces it")


@contextmanager
def _whole_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder beside another, and put it in that one's place if nothing goes wrong."""
    made = Path(tempfile.mkdtemp(dir=folder.absolute().parent, prefix=".evenhand-"))
    try:
        yield made
        made.chmod(0o755 & ~_umask())
        with uninterrupted():
            if force and folder.exists():
                # What is there is a bundle, as was checked; it goes once the new one is complete.
                old = Path(tempfile.mkdtemp(dir=folder.absolute().parent, prefix=".evenhand-"))
                os.rename(folder, old / "old")
                os.rename(made, folder)
                shutil.rmtree(old)
            else:
                # Refused by the system if another process made it meanwhile.
                os.rename(made, folder)
    except OSError as error:
        raise StorageError(f"cannot write {str(folder)!r}: {reason(error)}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
