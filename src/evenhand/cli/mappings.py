"""Commands on what was written: mapping files and proof files."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.exits import Exit
from evenhand.cli.explaining import audit_document, show_readers
from evenhand.cli.files import check_outputs, check_readable, read_table
from evenhand.cli.options import ForceOption, MappingArgument, SeedOption
from evenhand.errors import StorageError

AGREEMENT = 1e-9
"""How far a claimed number may be from the recomputed one."""


class Draw(StrEnum):
    """How rows are drawn."""

    independent = "independent"
    balanced = "balanced"


class Unseen(StrEnum):
    """What to do with rows whose cell the fitted table did not have."""

    keep = "keep"
    error = "error"


class Restore(StrEnum):
    """What a changed value of a binned column becomes."""

    sample = "sample"
    midpoint = "midpoint"
    label = "label"


RowsArgument = Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row a person.")]
OutOption = Annotated[Path, typer.Option(help="Where to write the new table: .csv or .parquet.")]
KeyOption = Annotated[
    str | None,
    typer.Option(help="A column that names people: draws then depend on it and the seed, not on the row's place."),
]
DrawOption = Annotated[
    Draw, typer.Option(help="Each row by itself, or together so that the numbers of moves are within one of expected.")
]
UnseenOption = Annotated[Unseen, typer.Option(help="Leave rows of a kind that was not fitted as they are, or refuse.")]
RestoreOption = Annotated[
    Restore, typer.Option(help="A changed binned value: one that the bin had, its middle, or its name.")
]


def release(
    mapping: MappingArgument,
    table: RowsArgument,
    out: OutOption,
    seed: SeedOption = 0,
    key: KeyOption = None,
    draw: DrawOption = Draw.independent,
    unseen: UnseenOption = Unseen.keep,
    restore: RestoreOption = Restore.sample,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train mode: write a table with features and outcome drawn anew, for training or publication."""
    options = {"seed": seed, "key": key, "draw": draw.value, "unseen": unseen.value, "restore": restore.value}
    _transform("release", mapping, table, out, force, as_json, options)


def apply(
    mapping: MappingArgument,
    table: RowsArgument,
    out: OutOption,
    seed: SeedOption = 0,
    key: KeyOption = None,
    draw: DrawOption = Draw.independent,
    unseen: UnseenOption = Unseen.keep,
    restore: RestoreOption = Restore.sample,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Apply mode: write a table with features drawn anew; an outcome column is passed through unread."""
    options = {"seed": seed, "key": key, "draw": draw.value, "unseen": unseen.value, "restore": restore.value}
    _transform("apply", mapping, table, out, force, as_json, options)


def _transform(
    mode: str, mapping: Path, table: Path, out: Path, force: bool, as_json: bool, options: dict[str, Any]
) -> None:
    from evenhand.mapping import Mapping

    check_outputs(force, out, inputs=(mapping, table))
    with screen.progress_bar() as report:
        report("reading the mapping", 0.0)
        use: Callable[..., Any] = getattr(Mapping.load(mapping), mode)
        done = use(table, to=out, progress=report, **options)
    answer(
        as_json,
        mode,
        lambda: {"written": {"table": out}, **_tally(done), "options": options},
        lambda: _show_transformed(mode, mapping, out, done, options["key"]),
    )


def _tally(done: Any) -> dict[str, Any]:
    return {"rows": done.rows, "changed": done.changed, "unseen": done.unseen}


def _show_transformed(mode: str, mapping: Path, out: Path, done: Any, key: str | None) -> None:
    share = done.changed / done.rows if done.rows else 0.0
    what = "features or outcome" if mode == "release" else "features; the outcome, if there is one, was not read"
    screen.pairs(
        [
            ("Rows", f"{done.rows:,}"),
            ("Changed", f"{done.changed:,} ({share:.1%}) in their {what}"),
            *([("Unseen", f"{done.unseen:,} of a kind that was not in the fitted table")] if done.unseen else []),
            *([("Key", f"{key}: rows that share a key share one draw")] if key is not None else []),
        ]
    )
    screen.heading("What was written")
    screen.written(out, f"the table in {'train' if mode == 'release' else 'apply'} mode")
    if mode == "release":
        screen.following(("apply", mapping, "new.csv", "--out", "applied.csv"))
    else:
        screen.following(("report", mapping, "--out", "report.html"))


def audit(
    mapping: MappingArgument,
    table: Annotated[
        Path | None, typer.Argument(help="A CSV or Parquet file to audit instead of the fitted table.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a mapping does: rates by group before and after, every bound, who changes; for any table."""
    from evenhand.mapping import Mapping

    with screen.progress_bar() as report:
        report("reading", 0.1)
        fitted = Mapping.load(mapping)
        report("auditing", 0.4)
        found = fitted.audit() if table is None else fitted.audit(table)
    document = {"mapping": mapping, "table": table, **audit_document(fitted, found)}
    answer(as_json, "audit", lambda: document, lambda: _show_audit(fitted, found, mapping, table))


def _show_audit(fitted: Any, found: Any, mapping: Path, table: Path | None) -> None:
    title = f"{mapping} on {table or 'the table it was fitted on'}"
    screen.explain(title, "", fitted, found)
    show_readers(fitted, found)
    counted = found.coverage[found.coverage["rows"] > 0]
    if len(counted):
        screen.heading("Missing and unseen")
        screen.frame_table(counted)


def verify(
    file: Annotated[Path, typer.Argument(help="A mapping file or a proof file.")],
    as_json: JsonOption = False,
) -> None:
    """Recompute what a mapping or a proof file claims; exit with 1 if it does not stand."""
    check_readable(file)
    stands = _verify_proof(file, as_json) if _is_proof(file) else _verify_mapping(file, as_json)
    if not stands:
        raise typer.Exit(Exit.NO)


def _is_proof(file: Path) -> bool:
    """Whether a file is JSON text, which a mapping file is not."""
    with file.open("rb") as stream:
        return stream.read(64).lstrip().startswith(b"{")


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
    from evenhand import storage
    from evenhand.mapping import Mapping

    try:
        with screen.progress_bar() as report:
            report("reading", 0.1)
            claims = storage.read(file).claims
            report("recomputing every bound", 0.4)
            certificate = Mapping.load(file).certificate
    except StorageError as error:
        why = str(error)
        refused = {"file": file, "kind": "mapping", "stands": False, "verdict": why, "rows": []}
        answer(as_json, "verify", lambda: refused, lambda: screen.refused(why))
        return False
    rows = _compared(claims, certificate.as_dict())
    stands = all(row["agrees"] for row in rows)
    verdict = (
        f"The certificate stands: {certificate.status}; no bound is exceeded by more than "
        f"{certificate.max_violation:.1e}."
        if stands
        else "The file claims something else than it holds."
    )
    document = {"file": file, "kind": "mapping", "stands": stands, "verdict": verdict, "rows": rows}
    answer(as_json, "verify", lambda: document, lambda: screen.comparison(rows, verdict, stands))
    return stands


def _compared(claims: dict[str, Any], recomputed: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("status", "objective", "lower_bound", "gap", "max_violation", "row_error")
    return [
        {
            "checked": name.replace("_", " "),
            "claimed": claims.get(name),
            "recomputed": recomputed[name],
            "agrees": _same(claims.get(name), recomputed[name]),
        }
        for name in names
    ]


def _same(claimed: Any, recomputed: Any) -> bool:
    if isinstance(claimed, int | float) and isinstance(recomputed, int | float):
        return abs(claimed - recomputed) <= AGREEMENT
    return bool(claimed == recomputed)


def theory(
    mapping: MappingArgument,
    holdout: Annotated[
        Path | None, typer.Option(help="A CSV or Parquet file of people not used for fitting: exact intervals.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of every statement.")] = 0.95,
    margin: Annotated[float, typer.Option(help="How much the parity bound may widen on fresh people.")] = 0.05,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Say what can be said about fresh people: advantage, apply time, robustness, intervals, the spread of one draw."""
    from evenhand.mapping import Mapping

    with screen.progress_bar() as report:
        report("reading", 0.1)
        fitted = Mapping.load(mapping)
        rows = None if holdout is None else read_table(holdout, fitted.problem)
        report("computing", 0.3)
        parts = _parts(fitted.theory, confidence, margin, seed)
        fresh = None if rows is None else fitted.theory.holdout(rows, confidence=confidence, seed=seed)
    said = {**parts, **({} if fresh is None else {"People who were not used for fitting": fresh})}
    words = {title: tuple(part.words) for title, part in said.items()}
    document = {"mapping": mapping, "sentences": words, "intervals": None if fresh is None else fresh.rates}
    answer(as_json, "theory", lambda: document, lambda: _show_theory(words, fresh))


def _parts(about: Any, confidence: float, margin: float, seed: int) -> dict[str, Any]:
    return {
        "Telling the group from the outcome (section 3.3)": about.advantage(),
        "Distortion at apply time (section 3.4)": about.applying(),
        "Fresh people, proved (section 3.5)": about.robustness(confidence=confidence, margin=margin),
        "Fresh people, by resampling": about.bootstrap(confidence=confidence, seed=seed),
        "One draw": about.draw_spread(seed=seed),
        "Small groups": about.small_groups(confidence=confidence),
    }


def _show_theory(words: dict[str, tuple[str, ...]], fresh: Any) -> None:
    for title, sentences in words.items():
        if sentences:
            screen.heading(title)
            screen.bullets(sentences)
    if fresh is not None:
        screen.heading("Intervals, all of which hold at once")
        screen.frame_table(fresh.rates)
