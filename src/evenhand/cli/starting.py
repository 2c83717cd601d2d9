"""The command that starts a problem: from a table to a commented TOML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.files import check_outputs
from evenhand.cli.options import ForceOption, words
from evenhand.storage import replace_file

if TYPE_CHECKING:
    from evenhand.proposal import Proposal
    from evenhand.spec import CsvFormat


def init(
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row a person.")],
    protected: Annotated[str, typer.Option(help="The protected columns: sex,race.")],
    outcome: Annotated[str, typer.Option(help="The column whose rates are compared.")],
    features: Annotated[
        str | None, typer.Option(help="The columns that may be changed; otherwise those that tell most are chosen.")
    ] = None,
    delimiter: Annotated[str, typer.Option(help="What stands between two fields.")] = ",",
    names: Annotated[str | None, typer.Option(help="All columns' names, for a file without a header: a,b,c.")] = None,
    missing_values: Annotated[
        str | None, typer.Option(help="Words for a missing value: ?,NA; otherwise the usual ones are looked for.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the problem.")] = Path("problem.toml"),
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a problem for a table: a commented TOML file to read, change and fit."""
    from evenhand.proposal import propose

    check_outputs(force, out)
    csv = _csv(delimiter, words("--names", names))
    with screen.progress_bar() as report:
        found = propose(
            table, protected=words("--protected", protected) or [], outcome=outcome,
            features=words("--features", features), missing_values=words("--missing-values", missing_values),
            csv=csv, source=str(table), target=str(out), progress=report,
        )  # fmt: skip
    replace_file(out, found.text.encode())
    answer(as_json, "init", lambda: _document(found, out), lambda: _show(found, table, out))


def _csv(delimiter: str, names: list[str] | None) -> CsvFormat | None:
    from evenhand.spec import CsvFormat

    return None if delimiter == "," and names is None else CsvFormat(delimiter, names)


def _document(found: Proposal, out: Path) -> dict[str, Any]:
    return {
        "written": {"problem": out},
        "rows": found.draft.rows,
        "protected": found.problem.protected,
        "features": [{"column": f.name, "rule": f.rule} for f in found.draft.features],
        "outcome": found.problem.outcome,
        "left_out": dict(found.draft.left_out),
        "bound": found.bounds.bound,
        "budget": found.bounds.limit,
        "smallest_bound": found.bounds.smallest_bound,
        "smallest_budget": found.bounds.smallest_limit,
        "toml": found.text,
    }


def _show(found: Proposal, table: Path, out: Path) -> None:
    draft = found.draft
    screen.heading(f"A problem for {table}, {draft.rows:,} rows")
    screen.pairs(
        [
            ("Protected", ", ".join(found.problem.protected)),
            ("Features", ", ".join(f"{f.name} ({f.rule})" for f in draft.features)),
            ("Outcome", found.problem.outcome),
            ("Left out", ", ".join(name for name, _ in draft.left_out) or "nothing"),
            ("Bound", f"rates differ by a factor of at most {1 + found.bounds.bound:g} between groups"),
            ("Budget", f"an expected cost of at most {found.bounds.limit:g} for each person"),
        ]
    )
    screen.heading("What was written")
    screen.written(out, "the problem, with comments: read it, and change what is not right")
    screen.following(("diagnose", out, table), ("fit", out, table))
