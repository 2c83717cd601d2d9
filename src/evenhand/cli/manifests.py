"""Manifests on the command line: written beside what release, expand and apply write, and checked by verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.sections import written
from evenhand.errors import SpecError, VerificationError
from evenhand.render.section import Note, Section

if TYPE_CHECKING:
    from evenhand.resources import Progress
    from evenhand.spec.sign_off import SignOff
    from evenhand.use.manifests import FileRates, Rechecked
    from evenhand.use.verification import Verification

ManifestOption = Annotated[
    bool,
    typer.Option(
        "--manifest/--no-manifest",
        help="Write what the file is of, drawn how and with which rates beside it, as OUT.manifest.json.",
    ),
]
SignOffOption = Annotated[
    Path | None,
    typer.Option(help="A sign-off in TOML: name, date, purpose, why, expires. One that expired is refused."),
]


def manifest_file(out: Path, wanted: bool) -> Path | None:
    """Return where the manifest of an output goes, if one is wanted."""
    from evenhand.findings.manifest import manifest_path

    return Path(manifest_path(out)) if wanted else None


def read_sign_off(path: Path | None) -> SignOff | None:
    """Read a sign-off from a TOML file; one that does not hold today is refused."""
    from evenhand.spec.sign_off import SignOff
    from evenhand.use.manifests import check_sign_off

    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"cannot read the sign-off {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(f"the sign-off {str(path)!r} is not text; it is written in TOML") from None
    try:
        found = SignOff.from_toml(text)
        check_sign_off(found)
    except SpecError as error:
        raise SpecError(f"{path}: ", *error.pieces) from None
    return found


def write_manifest(done: Any, found: FileRates, **options: Any) -> None:
    """Write the manifest of what was just ``done``."""
    from evenhand.use.manifests import assembled

    with screen.progress_bar() as report:
        made = assembled(done.fitted, done.tally, done.mapping, found, sign_off=done.sign_off, tell=report, **options)
        made.save(done.manifest)


def written_table(
    out: Path, manifest: Path | None, *, changes: Path | None = None, notes: Sequence[Note] = ()
) -> Section:
    """Return which files a command wrote; where no manifest is among them, one of an earlier file is named."""
    stale = manifest_file(out, True) if manifest is None else None
    left = (Note("written.stale", {"manifest": stale}),) if stale is not None and stale.exists() else ()
    return written(table=out, manifest=manifest, changes=changes, notes=(*notes, *left))


def is_manifest(beginning: bytes) -> bool:
    """Whether a file that begins so is a manifest."""
    return b'"evenhand-manifest"' in beginning


def verify_manifest(
    file: Path, places: dict[str, Path | None], again: bool, progress: Progress
) -> Rechecked | Verification:
    """Check a manifest against its files; one that was altered is refused, and no valid manifest is bad input."""
    from evenhand.findings.manifest import Manifest
    from evenhand.use.manifests import verify_manifest as recheck
    from evenhand.use.verification import refused

    try:
        manifest = Manifest.load(file)
    except VerificationError as error:
        return refused(error)
    return recheck(manifest, again=again, progress=progress, **places)
