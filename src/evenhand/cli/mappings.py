"""Commands on what was written: mapping files and proof files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand import screen

AGREEMENT = 1e-9
"""How far a claimed number may be from the recomputed one."""


def verify(
    file: Annotated[Path, typer.Argument(help="A mapping file or a proof file.")],
) -> None:
    """Recompute what a mapping or a proof file claims; exit with 1 if it does not stand."""
    from evenhand import verifier

    if _is_proof(file):
        with screen.progress_bar() as report:
            report("checking in exact arithmetic", 0.2)
            found = verifier.verify(file)
        screen.proof(found)
        if not found.stands:
            raise typer.Exit(1)
        return
    _verify_mapping(file)


def _is_proof(file: Path) -> bool:
    """Whether a file is JSON text, which a mapping file is not."""
    try:
        with file.open("rb") as stream:
            return stream.read(64).lstrip().startswith(b"{")
    except OSError:
        return False


def _verify_mapping(file: Path) -> None:
    from evenhand import storage
    from evenhand.mapping import Mapping

    with screen.progress_bar() as report:
        report("reading", 0.1)
        claims = storage.read(file).claims
        report("recomputing every bound", 0.4)
        certificate = Mapping.load(file).certificate
    recomputed = certificate.as_dict()
    table = screen.table_of("", "Claimed", "Recomputed", "Agrees", right=(1, 2))
    agrees = True
    for name in ("status", "objective", "lower_bound", "gap", "max_violation", "row_error"):
        same = _same(claims.get(name), recomputed[name])
        agrees &= same
        sign = "yes" if same else "[bold red]NO[/]"
        table.add_row(name.replace("_", " "), screen.short(claims.get(name)), screen.short(recomputed[name]), sign)
    screen.console.print(table)
    if not agrees:
        screen.console.print("[bold red]The file claims something else than it holds.[/]")
        raise typer.Exit(1)
    screen.console.print(f"The certificate stands: {certificate.status}; no bound is exceeded by more than "
                  f"{certificate.max_violation:.1e}.")  # fmt: skip


def _same(claimed: Any, recomputed: Any) -> bool:
    if isinstance(claimed, int | float) and isinstance(recomputed, int | float):
        return abs(claimed - recomputed) <= AGREEMENT
    return bool(claimed == recomputed)


def theory(
    mapping: Annotated[Path, typer.Argument(help="A mapping file, as written by fit, shield or demo.")],
    holdout: Annotated[
        Path | None, typer.Option(help="A CSV file of people who were not used for fitting: exact intervals.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of every statement.")] = 0.95,
    margin: Annotated[float, typer.Option(help="How much the parity bound may widen on fresh people.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Makes the draws repeatable.")] = 0,
) -> None:
    """Say what can be said about fresh people: advantage, apply time, robustness, intervals, the spread of one draw."""
    from evenhand.mapping import Mapping
    from evenhand.tables import read_csv

    with screen.progress_bar() as report:
        report("reading", 0.1)
        about = Mapping.load(mapping).theory
        rows = None if holdout is None else read_csv(holdout)
        report("computing", 0.3)
        parts: dict[str, Any] = {
            "Telling the group from the outcome (section 3.3)": about.advantage(),
            "Distortion at apply time (section 3.4)": about.applying(),
            "Fresh people, proved (section 3.5)": about.robustness(confidence=confidence, margin=margin),
            "Fresh people, by resampling": about.bootstrap(confidence=confidence, seed=seed),
            "One draw": about.draw_spread(seed=seed),
            "Small groups": about.small_groups(confidence=confidence),
        }
        if rows is not None:
            parts["People who were not used for fitting"] = about.holdout(rows, confidence=confidence, seed=seed)
    for title, part in parts.items():
        words = tuple(part.words)
        if words:
            screen.heading(title)
            screen.bullets(words)
    if rows is not None:
        screen.heading("Intervals, all of which hold at once")
        screen.frame_table(parts["People who were not used for fitting"].rates)
