"""A folder of evidence about a mapping, for others: report, proof, impact ratios, datasheet, summary, checksums.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from evenhand import check
from evenhand.data import FEW_PEOPLE
from evenhand.data.domain import Value
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, distinct_rows, weighting_in
from evenhand.errors import Option, SpecError, StorageError, did_you_mean
from evenhand.files import reason, uninterrupted
from evenhand.findings.impact import Category, Impact, impact, impact_on
from evenhand.mapping import Mapping
from evenhand.report.markdown import datasheet, impact_lines, job_summary
from evenhand.resources import Progress, part_of, silent
from evenhand.spec.agreement import favourable_code
from evenhand.spec.sign_off import SignOff
from evenhand.use.manifests import check_sign_off
from evenhand.use.reporting import report_on

SUMS = "SHA256SUMS"
FILES = {
    "report.html": "the report, for the person who signs off",
    "report.json": "its numbers",
    "proof.json": "the proof of the certificate, which evenhand verify rechecks in exact arithmetic",
    "impact-ratios.csv": "people, selection rates and impact ratios, before and after",
    "impact-ratios.md": "the same to read",
    "datasheet.md": "what the released table is, who is in it, what was changed, what it is not for",
    "summary.md": "a summary for the page of a job",
    SUMS: "checksums of all of them: sha256sum -c SHA256SUMS",
}
"""What a folder of evidence holds."""

UNWEIGHED = "the mapping was fitted with weights, but no weights of this table were named: here every row counts once"


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """A folder of evidence that was written.

    Attributes
    ----------
    path : pathlib.Path
        The folder.
    files : dict of str to str
        Its files, and what each of them is.
    sha256 : dict of str to str
        The checksum of each, but of the file of checksums.
    summary : dict
        The summary of the report, as ``report.json`` has it.
    impact : list of dict
        The rows of the table of impact ratios.
    unknown : dict of str to float or None
        For each protected column, how many people's category is not known; None where that is hidden.
    weighed : bool
        Whether the people of that table were counted by weights that are not all one.
    notes : tuple of str
        What else there is to know of who was counted, and how.
    """

    path: Path
    files: dict[str, str]
    sha256: dict[str, str]
    summary: dict[str, Any]
    impact: list[dict[str, Any]]
    unknown: dict[str, float | None]
    weighed: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Evidence: {len(self.files)} files in {str(self.path)!r}>"


def evidence(
    mapping: Mapping,
    path: str | os.PathLike[str],
    *,
    table: AnyTable | None = None,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    manifest: str | os.PathLike[str] | None = None,
    sign_off: SignOff | None = None,
    selected: Value | None = None,
    hide_below: float = FEW_PEOPLE,
    show_all_groups: bool = False,
    trace: bool = True,
    seed: int = 0,
    source: str | os.PathLike[str] | None = None,
    command: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Evidence:
    """Write a folder of evidence about a mapping. Needs the extra ``charts``.

    Parameters
    ----------
    mapping : Mapping
        What it is about.
    path : path
        The folder, which must not be there yet. It appears when it is complete.
    table : dataframe or path, optional
        Whose impact ratios are told, and on whom the report fits a model; by default the fitted people, and no model.
    weights, frequencies : str or sequence of numbers, optional
        With ``table``: a column of it, or for a dataframe one number per row. By default the column that the problem
        names, where the table has it.
    manifest : path, optional
        Of a released file, which the report then tells of, with its sign-off; one with a sign-off that expired is
        refused.
    sign_off : SignOff, optional
        Who signs, where no manifest says so; one that expired is refused.
    selected : level of the outcome, optional
        Which outcome counts as being selected; by default the problem's favourable one, or of two the last.
    show_all_groups : bool
        Whether the table of impact ratios names every category, as a law may ask: also those of fewer people than
        ``hide_below``.
    hide_below, trace, seed, source, command
        As in :func:`evenhand.report_on`.
    force : bool
        Whether a folder of evidence that is there already is replaced; one that holds anything else never is.
    progress : callable, optional
        Called with a text and the share that is done.

    Returns
    -------
    Evidence
        The folder, its files and their checksums.

    Examples
    --------
    >>> import os, tempfile
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = eh.evidence(mapping, os.path.join(tempfile.mkdtemp(), "evidence"), trace=False)
    >>> sorted(os.listdir(found.path))[:3]
    ['SHA256SUMS', 'datasheet.md', 'impact-ratios.csv']
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    check_sign_off(sign_off)
    show_all_groups = check.flag("show_all_groups", show_all_groups)
    threshold = 0 if show_all_groups else check.finite("hide_below", hide_below, low=0)
    folder, tell = Path(check.path("path", path)), check.progress(progress) or silent
    force = check.flag("force", force)
    asked = Weighting.of(weights, frequencies)
    if asked is not None and table is None:
        raise SpecError(f"{asked.option} go with a table; the fitted one has its own")
    code = _selected(mapping, selected)
    check_folder(folder, force=force)
    tell("counting", 0.0)
    found = _impact(mapping, table, code, weights, frequencies, threshold)
    report = report_on(
        mapping, frame=table, weights=weights, frequencies=frequencies,
        hide_below=hide_below, trace=trace, seed=seed, manifest=manifest,
        sign_off=sign_off, missing=None if table is None else "level", source=source, command=command,
        progress=part_of(tell, 0.05, 0.85),
    )  # fmt: skip
    with _whole_folder(folder, force=force) as made:
        report.save(made / "report.html")
        tell("writing the proof", 0.85)
        mapping.proof(made / "proof.json")
        outcome, about = mapping.problem.outcome, "the fitted table" if table is None else "the table"
        _write(made / "impact-ratios.csv", _csv(found))
        lines = ["# Impact ratios", "", *impact_lines(found, outcome, about)]
        _write(made / "impact-ratios.md", "\n".join(lines) + "\n")
        others, features = [name for name in FILES if name != SUMS], mapping.problem.features
        sheet = datasheet(report.summary, found, others, features, weighed=mapping.counts.weighed)
        _write(made / "datasheet.md", sheet)
        _write(made / "summary.md", job_summary(report.summary, found, outcome))
        sums = {name: hashlib.sha256((made / name).read_bytes()).hexdigest() for name in FILES if name != SUMS}
        _write(made / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    tell("done", 1.0)
    return Evidence(
        folder, dict(FILES), sums, report.summary, [asdict(c) for c in found.categories], found.unknown, found.weighed,
        found.notes,
    )  # fmt: skip


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
    mapping: Mapping, table: AnyTable | None, selected: int, weights: Any, frequencies: Any, hide_below: float
) -> Impact:
    columns = list(mapping.problem.protected)
    if table is None:
        return impact(mapping.counts, mapping.kernel, selected, columns, hide_below=hide_below)
    # People of whom a protected column says nothing are told of, whatever a fit would say to them.
    mode = mapping.release_mode.with_missing("level")
    table, weighting = weighting_in([mapping.problem], table, weights, frequencies)
    rows = distinct_rows(mode.domain, table, mapping.problem.csv, weighting)
    found = impact_on(mode, rows, selected, columns, hide_below=hide_below)
    return replace(found, notes=(*found.notes, UNWEIGHED)) if weighting is None and mapping.counts.weighed else found


def _csv(found: Impact) -> str:
    text = io.StringIO()
    names = [item.name for item in fields(Category)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for category in found.categories:
        values = (getattr(category, name) for name in names)
        writer.writerow("" if v is None else f"{v:.10g}" if isinstance(v, float) else v for v in values)
    for column, people in found.unknown.items():
        number = "" if people is None else f"{people:.10g}"
        writer.writerow([column, "(unknown)", number, *[""] * (len(names) - 4), "in no ratio"])
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode(errors="backslashreplace"))


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
                # What is there is evidence, as was checked; it goes once the new one is complete.
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
