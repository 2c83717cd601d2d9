"""Commands on the embedded studies of the paper, and on the tables that come with the package."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer, reply
from evenhand.cli.exits import Exit
from evenhand.cli.explaining import audited
from evenhand.cli.files import csv_text, draw_chart, make_folder, writing
from evenhand.cli.options import ForceOption, SeedOption, check_ending
from evenhand.cli.problems import written
from evenhand.files import replace_file
from evenhand.render.section import Fact, Note, Section

if TYPE_CHECKING:
    from evenhand.studies.reproduce import Finding

OWN_FOLDER = Path("evenhand-demo")
"""Where demo writes by default, and what it wrote there before is replaced."""

ABOUT_REFERENCE = (
    "Reference: what independent solvers find on the same tables. * The paper prints another number: at ε=0.59 the "
    "identity is not yet feasible, but KL is only 4e-5; its text's cost of 2 for lowering the outcome is infeasible, "
    "while a cost of 1 gives its figures; its 0.014 for Adult is 0.01485 with budgets averaged over the groups, and "
    "infeasible without."
)


class Study(StrEnum):
    """The embedded studies."""

    compas = "compas"
    adult = "adult"


def demo(
    study: Annotated[Study, typer.Argument(help="Which of the paper's two studies.", case_sensitive=False)] = (
        Study.compas
    ),
    out: Annotated[Path, typer.Option(help="The folder for what is written.")] = OWN_FOLDER,
    seed: SeedOption = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit one of the paper's studies on its embedded table, explain the result, and write it to files."""
    screen.load()
    from evenhand.datasets import load
    from evenhand.findings.described import described
    from evenhand.fitting import fit

    make_folder(out)
    released_to, mapping_to, chart_to = (out / f"{study}{end}" for end in ("-released.csv", ".mapping", "-rates.png"))
    with writing(force or out == OWN_FOLDER, released_to, mapping_to, chart_to):
        data = load(study)
        with screen.progress_bar() as report:
            mapping = fit(data.problem, data.frame, progress=report)
            audit = audited(mapping)
            released = mapping.release(data.frame, seed=seed)
            held = mapping.realised(released).verdict
        replace_file(released_to, csv_text(released))
        mapping.save(mapping_to)
        drawn = draw_chart(lambda: mapping.chart("rates", title=f"{study.upper()}: rates by group"), chart_to)

    kept = Fact("kept", held.kept, "flag"), Fact("violated", held.violated)
    notes = Note("demo.one_draw"), Note("text", {"text": held.words})
    sections = (
        *described(audit, mapping.certificate, mapping.assurance),
        written(table=released_to, mapping=mapping_to, chart=drawn),
        Section("release", facts=kept, notes=notes),
    )
    reply(as_json, "demo", sections, facts={"study": study}, title=f"{study.upper()}: {len(data.frame):,} people")


class Example(StrEnum):
    """The tables that come with the package."""

    loans = "loans"
    compas = "compas"
    adult = "adult"
    adult_wide = "adult-wide"


def example(
    name: Annotated[
        Example, typer.Argument(help="Loan applications that are made up, or an embedded table.", case_sensitive=False)
    ] = Example.loans,
    out: Annotated[Path | None, typer.Option(help="The CSV file; by default the table's name.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a table to try things on: one row per person, as a CSV file."""
    target = out or Path(f"{name}.csv")
    check_ending("--out", target, (".csv",))
    with writing(force, target):
        screen.load()
        from evenhand.datasets import load, loans

        frame = loans() if name is Example.loans else load(name).frame
        replace_file(target, csv_text(frame))
    document = {"written": {"table": target}, "rows": len(frame), "columns": list(frame.columns)}

    def show() -> None:
        screen.written(target, f"{len(frame):,} rows; columns {', '.join(frame.columns)}")
        if name is Example.loans:
            screen.following(["init", target, "--protected", "sex", "--outcome", "granted", "--favourable", "yes"])

    answer(as_json, "example", lambda: document, show)


def reproduce(
    figures: Annotated[
        Path | None, typer.Option(help="A folder to draw figures 2 to 5 into, as PNG, SVG and HTML each.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Solve the paper's two studies again and compare every number; exit with 1 if one is not the reference."""
    from evenhand.studies import figures as paper
    from evenhand.studies.reproduce import claims, findings

    drawn: list[tuple[Path, str]] = []
    if figures is not None:
        make_folder(figures)
        with writing(force, *paper.paths(figures)), screen.progress_bar() as report:
            drawn = paper.write(figures, report)
    found: list[Finding] = []
    total = len(claims())
    with screen.progress_bar() as report:
        for finding in findings():
            found.append(finding)
            report(f"{finding.claim.study}: {finding.claim.what}", len(found) / total)
    rows = [
        {
            "study": finding.claim.study,
            "quantity": finding.claim.what,
            "paper": finding.claim.paper,
            "reference": finding.claim.reference,
            "tolerance": finding.claim.tolerance,
            "found": finding.found,
            "agrees": finding.agrees,
        }
        for finding in found
    ]
    agree = sum(finding.agrees for finding in found)
    document = {"agree": agree, "of": len(found), "numbers": rows, "figures": [path for path, _ in drawn]}
    answer(as_json, "reproduce", lambda: document, lambda: _show_compared(found, drawn))
    if agree < len(found):
        raise typer.Exit(Exit.NO)


def _show_compared(found: list[Finding], drawn: list[tuple[Path, str]]) -> None:
    table = screen.table_of("Study", "Quantity", "Paper", "Reference", "±", "Found", "Agrees", right=(3, 4, 5))
    for finding in found:
        claim = finding.claim
        reference = f"{'at most ' * (claim.tolerance is None)}{claim.reference}"
        tolerance = f"{claim.tolerance:.0e}" if claim.tolerance else ""
        compared = (reference, tolerance, screen.short(finding.found), screen.agreement(finding.agrees))
        table.add_row(claim.study, claim.what, claim.paper, *compared)
    screen.console.print(table)
    wrong, total = sum(not finding.agrees for finding in found), len(found)
    screen.console.print(
        f"{total - wrong} of {total} numbers agree with the reference." + f" {wrong} do not." * bool(wrong)
    )
    screen.console.print(ABOUT_REFERENCE, style="dim")
    if drawn:
        screen.heading("What was written")
        for path, caption in drawn:
            screen.written(path, caption)
