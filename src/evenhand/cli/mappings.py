"""Commands that explain and check what was written: mapping files and proof files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer, reply
from evenhand.cli.exits import Exit
from evenhand.cli.explaining import audited
from evenhand.cli.files import read_table
from evenhand.cli.manifests import is_manifest, verify_manifest
from evenhand.cli.options import (
    ConfidenceOption,
    FrequenciesOption,
    MappingArgument,
    MarginOption,
    MissingOption,
    PolicyOption,
    SeedOption,
    WeightsOption,
    asked,
    counting,
)
from evenhand.cli.wording import worded
from evenhand.errors import StorageError
from evenhand.files import content_of
from evenhand.tolerances import AGREEMENT

if TYPE_CHECKING:
    from evenhand.render.finding import Finding

BEGINNING = 4096
"""By so many bytes a manifest, a proof and a mapping are told apart."""


def audit(
    mapping: MappingArgument,
    table: Annotated[
        Path | None, typer.Argument(help="A CSV or Parquet file to audit instead of the fitted table.")
    ] = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    unseen: PolicyOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a mapping does: rates by group before and after, every bound, who changes; for any table.

    Of another table than the fitted one it says which bounds hold there. It informs: it exits with 0 whatever it finds.
    """
    given = counting(weights, frequencies, table)
    if missing is not None and table is None:
        raise typer.BadParameter("goes with a table; the fitted one says it itself", param_hint="--missing")
    if unseen is not None and table is None:
        raise typer.BadParameter("goes with a table; in the fitted one no cell is new", param_hint="--unseen")
    screen.load()
    from evenhand.findings.described import described, learned
    from evenhand.mapping import Mapping

    with screen.progress_bar() as report:
        report("reading", 0.1)
        fitted = Mapping.load(mapping)
        report("auditing", 0.4)
        others = asked(missing, unseen)
        found = audited(fitted, table, given, lambda stage, share: report(stage, 0.4 + 0.5 * share), **others)
    whole = described(found, None, None) if table else described(found, fitted.certificate, fitted.assurance)
    cells = () if fitted.problem.cells is None else (learned(fitted.cells),)
    where = "the table it was fitted on" if table is None else table
    facts = {"mapping": mapping, "table": table}
    reply(as_json, "audit", (*whole, *cells), facts=facts, title=f"{mapping} on {where}")


def verify(
    file: Annotated[Path, typer.Argument(help="A mapping file, a proof file, or the manifest of a released file.")],
    input: Annotated[
        Path | None, typer.Option(help="Of a manifest: where the input is, if not where it says; may be a pattern.")
    ] = None,
    mapping: Annotated[Path | None, typer.Option(help="Of a manifest: where the mapping is.")] = None,
    output: Annotated[Path | None, typer.Option(help="Of a manifest: where the output is.")] = None,
    changes: Annotated[Path | None, typer.Option(help="Of a manifest: where the list of changes is.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Of a manifest: run the recorded command again and compare the bytes.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Recompute what a mapping, a proof or a manifest claims; exit with 1 if it does not stand."""
    beginning = content_of(file, "the file", most=BEGINNING)
    places = {"input": input, "mapping": mapping, "output": output, "changes": changes}
    if is_manifest(beginning):
        stands = verify_manifest(file, as_json, places, again)
    else:
        for name, given in {**places, "again": again or None}.items():
            if given is not None:
                raise typer.BadParameter("goes with a manifest, which this file is not", param_hint=f"--{name}")
        # A proof is JSON text, which a mapping file is not.
        check = _verify_proof if beginning.lstrip().startswith(b"{") else _verify_mapping
        stands = check(file, as_json)
    if not stands:
        raise typer.Exit(Exit.NO)


def _verify_proof(file: Path, as_json: bool) -> bool:
    from evenhand import verifier

    with screen.progress_bar() as report:
        report("checking in exact arithmetic", 0.2)
        found = verifier.verify(file)
    rows = [dict(zip(("checked", "recomputed", "claimed"), row, strict=True)) for row in found.rows]
    verdict = found.verdict if found.stands else found.reason
    document = {"file": file, "kind": "proof", "stands": found.stands, "verdict": verdict, "rows": rows}
    answer(as_json, "verify", lambda: document, lambda: screen.proof(found))
    return found.stands


def _verify_mapping(file: Path, as_json: bool) -> bool:
    screen.load()
    from evenhand import storage
    from evenhand.mapping import Mapping

    try:
        with screen.progress_bar() as report:
            report("reading", 0.1)
            claims = storage.read(file).claims
            report("recomputing every bound", 0.4)
            certificate = Mapping.load(file).certificate
    except StorageError as error:
        why = worded(error)
        refused = {"file": file, "kind": "mapping", "stands": False, "verdict": why, "rows": []}
        answer(as_json, "verify", lambda: refused, lambda: screen.refused(why))
        return False
    names = ("status", "objective", "lower_bound", "gap", "max_violation", "row_error")
    found = certificate.as_dict()
    rows = [
        {
            "checked": name.replace("_", " "),
            "claimed": claims.get(name),
            "recomputed": found[name],
            "agrees": _same(claims.get(name), found[name]),
        }
        for name in names
    ]
    stands = all(row["agrees"] for row in rows)
    verdict = (
        f"The certificate stands: {certificate.status}; no constraint is violated by more than "
        f"{certificate.max_violation:.1e}."
        if stands
        else "The file claims something else than it holds."
    )
    document = {"file": file, "kind": "mapping", "stands": stands, "verdict": verdict, "rows": rows}
    answer(as_json, "verify", lambda: document, lambda: screen.comparison(rows, verdict, stands))
    return stands


def _same(claimed: Any, recomputed: Any) -> bool:
    if isinstance(claimed, int | float) and isinstance(recomputed, int | float):
        return abs(claimed - recomputed) <= AGREEMENT
    return bool(claimed == recomputed)


def theory(
    mapping: MappingArgument,
    holdout: Annotated[
        Path | None, typer.Option(help="A CSV or Parquet file of people not used for fitting: exact intervals.")
    ] = None,
    confidence: ConfidenceOption = 0.95,
    margin: MarginOption = 0.05,
    seed: SeedOption = 0,
    unseen: PolicyOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what can be said about fresh people: advantage, apply time, robustness, intervals, the spread of one draw."""
    if missing is not None and holdout is None:
        raise typer.BadParameter("goes with --holdout", param_hint="--missing")
    if unseen is not None and holdout is None:
        raise typer.BadParameter("goes with --holdout", param_hint="--unseen")
    screen.load()
    from evenhand.mapping import Mapping

    with screen.progress_bar() as report:
        report("reading", 0.1)
        fitted = Mapping.load(mapping)
        rows = None if holdout is None else read_table(holdout, fitted.problem)
        report("computing", 0.3)
        about = fitted.theory
        parts: list[Finding] = [
            about.advantage(), about.applying(), about.robustness(confidence=confidence, margin=margin),
            about.bootstrap(confidence=confidence, seed=seed), about.draw_spread(seed=seed),
            about.small_groups(confidence=confidence),
        ]  # fmt: skip
        others = asked(missing, unseen)
        if rows is not None:
            parts.append(about.holdout(rows, confidence=confidence, seed=seed, **others))
    reply(as_json, "theory", [section for part in parts for section in part.sections], facts={"mapping": mapping})
