"""Manifests on the command line: written beside what release, expand and apply write, and checked by verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import answer
from evenhand.cli.wording import worded
from evenhand.errors import SpecError, VerificationError

if TYPE_CHECKING:
    from evenhand.spec.sign_off import SignOff
    from evenhand.use.manifests import Held

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


def write_manifest(
    fitted: Any, done: Any, mapping: Path, found: Held, to: Path, sign_off: SignOff | None, **options: Any
) -> None:
    """Write the manifest of what was just written."""
    from evenhand.use.manifests import assembled

    with screen.progress_bar() as report:
        assembled(fitted, done, mapping, found, sign_off=sign_off, tell=report, **options).save(to)


def show_manifest(manifest: Path | None, out: Path, sign_off: SignOff | None, *, counted: bool = True) -> None:
    """Say where the manifest is, and whether rates were ``counted``; or that one of an earlier file is still there."""
    if manifest is not None:
        signed = "" if sign_off is None else f", signed off by {sign_off.name}"
        rates = ", with which rates" if counted else ""
        screen.written(manifest, f"what it is of, made how{rates}{signed}")
    elif (stale := manifest_file(out, True)) is not None and stale.exists():
        screen.bullets([f"{stale} is of the file that was there before, not of this one"])


def is_manifest(beginning: bytes) -> bool:
    """Whether a file that begins so is a manifest."""
    return b'"evenhand-manifest"' in beginning


def verify_manifest(file: Path, as_json: bool, places: dict[str, Path | None], again: bool) -> bool:
    """Check a manifest against its files, and print what was found; a file that is no valid manifest is bad input."""
    screen.load()
    from evenhand.findings.manifest import Manifest
    from evenhand.use.manifests import verify_manifest as recheck

    try:
        manifest = Manifest.load(file)
    except VerificationError as error:
        why = worded(error)
        refused = {"file": file, "kind": "manifest", "stands": False, "verdict": why, "rows": []}
        answer(as_json, "verify", lambda: refused, lambda: screen.refused(why))
        return False
    with screen.progress_bar() as report:
        found = recheck(manifest, again=again, progress=report, **places)
    rows = [
        {"checked": each.what, "claimed": each.stated, "recomputed": each.found, "agrees": each.agrees}
        for each in found.checks
    ]
    signed = None if manifest.sign_off is None else manifest.sign_off.as_dict()
    document = {
        "file": file, "kind": "manifest", "stands": found.stands, "verdict": found.verdict, "rows": rows,
        "sign_off": signed,
    }  # fmt: skip

    def show() -> None:
        _show_pairs(manifest)
        screen.comparison(rows, found.verdict, found.stands)

    answer(as_json, "verify", lambda: document, show)
    return found.stands


def _show_pairs(manifest: Any) -> None:
    said = {name: manifest.options.get(name) for name in ("seed", "key", "draw")}
    drawn = ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
    pairs: list[tuple[str, str]] = [
        ("Output", manifest.output.name),
        ("Of", _names(manifest.inputs)),
        ("By", f"{manifest.mapping.name}, evenhand {manifest.mode}" + (f" ({drawn})" if drawn else "")),
        ("Written", f"{manifest.at}, evenhand {manifest.versions.get('evenhand', '?')}"),
        *(() if manifest.sign_off is None else manifest.sign_off.pairs),
    ]
    screen.pairs(pairs)


def _names(files: Sequence[Any]) -> str:
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
