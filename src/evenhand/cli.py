"""The command line: parse, call, print.

Exit codes: 0 done; 1 the answer is no (a number or a certificate does not hold), or an error that is explained;
2 a wrong command; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from evenhand._version import __version__
from evenhand.errors import EvenhandError, MissingExtraError

if TYPE_CHECKING:
    from evenhand.audit import Audit
    from evenhand.mapping import Mapping

AGREEMENT = 1e-9
"""How far a claimed number may be from the recomputed one."""

INTERRUPTED = 130

app = typer.Typer(
    name="evenhand",
    help="Bound an outcome's dependence on protected attributes by a certified, randomized change of the table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(highlight=False)
complaints = Console(stderr=True, highlight=False)


class Study(StrEnum):
    """The embedded studies."""

    compas = "compas"
    adult = "adult"


def main() -> None:
    """Run the command line; explain errors instead of tracing them."""
    try:
        app()
    except EvenhandError as error:
        complaints.print(f"[bold red]Error[/]: {_plain(error)}")
        sys.exit(1)
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            complaints.print("Interrupted; no file was left half-written.")
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


def _show_version(asked: bool) -> None:
    if asked:
        console.print(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that every command shares."""


@app.command()
def demo(
    study: Annotated[Study, typer.Argument(help="Which of the paper's two studies.", case_sensitive=False)] = (
        Study.compas
    ),
    out: Annotated[Path, typer.Option(help="The folder for what is written.")] = Path("evenhand-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Makes the draws repeatable.")] = 0,
) -> None:
    """Fit one of the paper's studies on its embedded table, explain the result, and write it to files."""
    from evenhand.datasets import load
    from evenhand.fitting import fit

    _make_folder(out)
    data = load(study)
    with _progress() as report:
        mapping = fit(data.problem, data.frame, progress=report)
        audit = mapping.audit()
        released = mapping.release(data.frame, seed=seed)
    _explain(f"{study.upper()}: {len(data.frame):,} people", data.about, mapping, audit)
    _heading("What was written")
    _write_csv(released, out / f"{study}-released.csv", "the table after one draw, a row a person")
    mapping.save(out / f"{study}.mapping")
    _written(out / f"{study}.mapping", f"the mapping; check it with: evenhand verify {out / f'{study}.mapping'}")
    _draw_rates(mapping, audit, study.upper(), out / f"{study}-rates.png")


@app.command()
def reproduce() -> None:
    """Solve the paper's two studies again and compare every number; exit with 1 if one is not the reference."""
    from evenhand.reproduce import claims, findings

    found = []
    total = len(claims())
    with _progress() as report:
        for finding in findings():
            found.append(finding)
            report(f"{finding.claim.study}: {finding.claim.what}", len(found) / total)
    table = _table("Study", "Quantity", "Paper", "Reference", "±", "Found", "Agrees", right=(3, 4, 5))
    for finding in found:
        claim = finding.claim
        reference = f"{'at most ' * (claim.tolerance is None)}{claim.reference}"
        agrees = "yes" if finding.agrees else "[bold red]NO[/]"
        tolerance = f"{claim.tolerance:.0e}" if claim.tolerance else ""
        table.add_row(claim.study, claim.what, claim.paper, reference, tolerance, _short(finding.found), agrees)
    console.print(table)
    wrong = sum(not finding.agrees for finding in found)
    console.print(f"{total - wrong} of {total} numbers agree with the reference." + f" {wrong} do not." * bool(wrong))
    console.print(
        "Reference: what independent solvers find on the same tables. * The paper prints another number: at ε=0.59 "
        "the identity is not yet feasible, but KL is only 4e-5; its text's cost of 2 for lowering the outcome is "
        "infeasible, while a cost of 1 gives its figures; its 0.014 for Adult is 0.01485 with budgets averaged over "
        "the groups, and infeasible without.",
        style="dim",
    )
    if wrong:
        raise typer.Exit(1)


@app.command()
def verify(
    mapping: Annotated[Path, typer.Argument(help="A mapping file, as written by save or demo.")],
) -> None:
    """Recompute the certificate of a saved mapping and compare it with what the file claims."""
    from evenhand import storage
    from evenhand.mapping import Mapping

    with _progress() as report:
        report("reading", 0.1)
        claims = storage.read(mapping).claims
        report("recomputing every bound", 0.4)
        certificate = Mapping.load(mapping).certificate
    recomputed = certificate.as_dict()
    table = _table("", "Claimed", "Recomputed", "Agrees", right=(1, 2))
    agrees = True
    for name in ("status", "objective", "lower_bound", "gap", "max_violation", "row_error"):
        same = _same(claims.get(name), recomputed[name])
        agrees &= same
        sign = "yes" if same else "[bold red]NO[/]"
        table.add_row(name.replace("_", " "), _short(claims.get(name)), _short(recomputed[name]), sign)
    console.print(table)
    if not agrees:
        console.print("[bold red]The file claims something else than it holds.[/]")
        raise typer.Exit(1)
    console.print(f"The certificate stands: {certificate.status}; no bound is exceeded by more than "
                  f"{certificate.max_violation:.1e}.")  # fmt: skip


def _explain(title: str, about: str, mapping: Mapping, audit: Audit) -> None:
    from evenhand.report.words import asked, certificate_words

    console.rule(f"[bold]{title}")
    console.print(about, style="dim")
    _heading("What was asked")
    _pairs(asked(mapping.problem))
    _heading("Each group's rates, before and after")
    console.print(Padding(_rates_table(mapping, audit), (0, 2)))
    _bullets(audit.headlines)
    _heading("What it cost, and how sure that is")
    _pairs(certificate_words(mapping.certificate))
    _heading("Who changes, and how")
    _who_changes(mapping, audit)
    _heading("What this does not say")
    _bullets(audit.notes)


def _rates_table(mapping: Mapping, audit: Audit) -> Table:
    protected, outcome = mapping.problem.protected, mapping.problem.outcome
    table = _table(*protected, outcome, "People", "Before", "After", right=(len(protected) + 1, -2, -1))
    for row in _shown(mapping, audit):
        moved = abs(row["after"] - row["before"]) > AGREEMENT
        after = f"[bold]{row['after']:.4f}[/]" if moved else f"{row['after']:.4f}"
        table.add_row(
            *(str(row[c]) for c in (*protected, outcome)),
            f"{row['weight']:,.0f}",
            f"{row['before']:.4f}",
            after,
        )
    return table


def _shown(mapping: Mapping, audit: Audit) -> list[dict[str, Any]]:
    """Return the rates that are worth showing: of two outcomes, one follows from the other."""
    levels = mapping.counts.domain.outcome.levels
    shown = levels[1:] if len(levels) == 2 else levels
    return [row for row in audit.rates.to_dict("records") if row[mapping.problem.outcome] in shown]


def _who_changes(mapping: Mapping, audit: Audit) -> None:
    counts = mapping.counts
    total = float(counts.weight.sum())
    changed = float(counts.probability @ mapping.achieved.changed)
    distortion = float(counts.probability @ mapping.achieved.distortion)
    console.print(
        Padding(
            f"About {changed * total:,.0f} of {total:,.0f} people ({changed:.1%}) change in some way; the mean "
            f"expected distortion is {distortion:.4f} (changes that cost nothing count as 0).",
            (0, 2),
        )
    )
    protected = mapping.problem.protected
    groups = _table(*protected, "People", "Changed", "Expected distortion", right=(-3, -2, -1))
    for row in audit.groups.to_dict("records"):
        groups.add_row(
            *(str(row[c]) for c in protected), f"{row['weight']:,.0f}", f"{row['changed']:.1%}",
            f"{row['expected_distortion']:.4f}",
        )  # fmt: skip
    console.print(Padding(groups, (0, 2)))
    console.print()
    moves = _table("Column", "From", "To", "People", "Share", right=(-2, -1))
    for row in sorted(audit.changes.to_dict("records"), key=lambda row: -row["share"]):
        moves.add_row(
            row["column"],
            str(row["from"]),
            str(row["to"]),
            _people(row["share"] * total),
            f"{row['share']:.2%}",
        )
    console.print(Padding(moves, (0, 2)))


def _people(number: float) -> str:
    return "under 1" if number < 1 else f"{number:,.0f}"


def _draw_rates(mapping: Mapping, audit: Audit, title: str, path: Path) -> None:
    from evenhand.report import charts
    from evenhand.report.words import parity_words

    outcome = mapping.problem.outcome
    rows = [
        {"group": ", ".join(str(row[c]) for c in mapping.problem.protected), "level": row[outcome], **row}
        for row in _shown(mapping, audit)
    ]
    subtitle = "Bound: " + "; ".join(parity_words(p) for p in mapping.problem.parity)
    try:
        charts.save(charts.rates(rows, outcome=outcome, title=f"{title}: rates by group", subtitle=subtitle), path)
    except MissingExtraError as error:
        console.print(Padding(f"no chart: {_plain(error)}", (0, 2)))
        return
    _written(path, "the rates by group, before and after")


def _write_csv(frame: Any, path: Path, what: str) -> None:
    from evenhand.storage import replace_file

    replace_file(path, frame.to_csv(index=False, lineterminator="\n").encode())
    _written(path, what)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvenhandError(f"cannot make the folder {str(path)!r}: {error.strerror}") from None


def _written(path: Path, what: str) -> None:
    console.print(Padding(f"[bold]{_plain(path)}[/]", (0, 2)))
    console.print(Padding(_plain(what), (0, 6)))


def _bullets(lines: Iterable[str]) -> None:
    grid = Table.grid(padding=(0, 1))
    for line in lines:
        grid.add_row("•", _plain(line))
    console.print(Padding(grid, (0, 2)))


def _heading(text: str) -> None:
    console.print()
    console.print(f"[bold]{text}[/]")


def _pairs(pairs: Iterable[tuple[str, str]]) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, text in pairs:
        grid.add_row(name, _plain(text))
    console.print(Padding(grid, (0, 2)))


def _table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    aligned = {index % len(columns) for index in right}
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index in aligned else "left")
    return table


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """Draw a bar on the error stream while something runs; it leaves nothing behind."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=complaints, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)


def _same(claimed: Any, recomputed: Any) -> bool:
    if isinstance(claimed, int | float) and isinstance(recomputed, int | float):
        return abs(claimed - recomputed) <= AGREEMENT
    return bool(claimed == recomputed)


def _short(value: Any) -> str:
    if not isinstance(value, int | float):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value)}"
    return f"{value:.1e}" if abs(value) < 1e-6 else f"{value:.7f}"


def _plain(text: Any) -> str:
    """Escape rich's markup."""
    return str(text).replace("[", r"\[")
