"""The command that starts a problem: from a table to a commented TOML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.files import check_outputs
from evenhand.cli.options import ForceOption, words
from evenhand.cli.wording import worded
from evenhand.errors import SpecError
from evenhand.files import replace_file

if TYPE_CHECKING:
    from evenhand.use.proposal import Proposal


def init(
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.")],
    protected: Annotated[str, typer.Option(help="The protected columns: sex,race.")],
    outcome: Annotated[str, typer.Option(help="The column whose rates are compared.")],
    features: Annotated[
        str | None, typer.Option(help="The columns that may be changed; otherwise those that tell most are chosen.")
    ] = None,
    favourable: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", help="The outcome that is good for a person; people are then moved towards it only."
        ),
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
    from evenhand.spec import CsvFormat
    from evenhand.use.proposal import propose

    check_outputs(force, out)
    named = words("--names", names)
    try:
        csv = None if delimiter == "," and named is None else CsvFormat(delimiter, named)
    except SpecError as error:
        raise typer.BadParameter(worded(error), param_hint="--delimiter, --names") from None
    with screen.progress_bar() as report:
        found = propose(
            table, protected=words("--protected", protected) or [], outcome=outcome,
            features=words("--features", features), favourable=favourable,
            missing_values=words("--missing-values", missing_values),
            csv=csv, source=str(table), target=str(out), progress=report,
        )  # fmt: skip
    replace_file(out, found.text.encode())
    draft = found.draft
    document = {
        "written": {"problem": out},
        "rows": draft.rows,
        "protected": found.problem.protected,
        "features": [{"column": f.name, "rule": f.rule} for f in draft.features],
        "outcome": found.problem.outcome,
        "favourable": found.direction.favourable,
        "one_way": found.direction.only,
        "small_groups": [{"group": name, "people": size} for name, size in draft.tiny_groups],
        "left_out": dict(draft.left_out),
        "bound": found.bounds.bound,
        "budget": found.bounds.limit,
        "smallest_bound": found.bounds.smallest_bound,
        "smallest_budget": found.bounds.smallest_limit,
        "toml": found.text,
    }
    answer(as_json, "init", lambda: document, lambda: _show(found, table, out))


def _outcome(found: Proposal) -> str:
    """Say which way the outcome may change."""
    from evenhand.use.proposal.outcome import moves

    column, direction = found.draft.outcome, found.direction
    if direction.only:
        return f"{column.name}: people are moved towards {direction.favourable} only"
    if direction.favourable is None:
        return f"{column.name}: {moves(column)}; --favourable LEVEL would move people towards one outcome only"
    return (
        f"{column.name}: {moves(column)}; moving people towards {direction.favourable} alone would not meet the bound"
    )


def _show(found: Proposal, table: Path, out: Path) -> None:
    from evenhand.use.proposal.wording import tiny_groups

    draft = found.draft
    sizes = [size for _, size in draft.group_sizes]
    screen.heading(f"A problem for {table}, {draft.rows:,} rows")
    screen.pairs(
        [
            ("Protected", ", ".join(found.problem.protected)),
            ("Groups", f"{len(sizes)}, of {sizes[0]:,} to {sizes[-1]:,} people"),
            *([("", tiny_groups(draft))] if draft.tiny_groups else []),
            ("Features", ", ".join(f"{f.name} ({f.rule})" for f in draft.features)),
            ("Outcome", _outcome(found)),
            ("Left out", ", ".join(name for name, _ in draft.left_out) or "nothing"),
            ("Bound", f"rates differ by a factor of at most {1 + found.bounds.bound:g} between groups"),
            ("Budget", f"an expected cost of at most {found.bounds.limit:g} for each person"),
        ]
    )
    screen.heading("What was written")
    screen.written(out, "the problem, with comments: read it, and change what is not right")
    screen.following(("diagnose", out, table), ("fit", out, table))
