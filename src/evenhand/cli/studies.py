"""Commands on the embedded studies of the paper, and on the tables that come with the package."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply
from evenhand.cli.exits import Exit
from evenhand.cli.files import csv_text, draw_chart, make_folder, writing
from evenhand.cli.options import ForceOption, SeedOption, check_ending
from evenhand.cli.sections import audited, noted, written
from evenhand.files import replace_file
from evenhand.render.section import Fact, Note, Section

if TYPE_CHECKING:
    from evenhand.studies.reproduce import Finding

OWN_FOLDER = Path("evenhand-demo")
"""Where demo writes by default, and what it wrote there before is replaced."""


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
            realised = mapping.realised(released)
        replace_file(released_to, csv_text(released))
        mapping.save(mapping_to)
        drawn = draw_chart(lambda: mapping.chart("rates", title=f"{study.upper()}: rates by group"), chart_to)

    sections = (
        *described(audit, mapping.certificate, mapping.assurance),
        written(table=released_to, mapping=mapping_to, chart=drawn),
        *noted(realised.sections, "release", [Note("demo.one_draw")]),
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
    facts = Fact("rows", len(frame), "people"), Fact("columns", list(frame.columns))
    start = ["init", target, "--protected", "sex", "--outcome", "granted", "--favourable", "yes"]
    reply(
        as_json, "example", (Section("table", facts=facts), written(table=target)),
        following=[start] if name is Example.loans else [],
    )  # fmt: skip


def reproduce(
    figures: Annotated[
        Path | None, typer.Option(help="A folder to draw figures 2 to 5 into, as PNG, SVG and HTML each.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Solve the paper's two studies again and compare every number; exit with 1 if one is not the reference."""
    from evenhand.studies import figures as paper
    from evenhand.studies.reproduce import claims, compared, findings

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
    sections = [compared(found)]
    if drawn:
        figures_of = (Note("written.figure", {"path": path, "caption": caption}) for path, caption in drawn)
        sections.append(Section("written", notes=tuple(figures_of)))
    reply(as_json, "reproduce", sections)
    if not all(finding.agrees for finding in found):
        raise typer.Exit(Exit.NO)
