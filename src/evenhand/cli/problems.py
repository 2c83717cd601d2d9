"""Commands on a problem and its table."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply
from evenhand.cli.exits import Exit
from evenhand.cli.explaining import audited, outside
from evenhand.cli.files import (
    check_chart,
    columns_of,
    csv_text,
    draw_chart,
    problem_and_table,
    read_table,
    writing,
)
from evenhand.cli.options import (
    ForceOption,
    FrequenciesOption,
    LimitOption,
    ProblemArgument,
    ProofOption,
    SureOption,
    TableArgument,
    WeightsOption,
    counting,
    numbers,
    typed,
)
from evenhand.files import replace_file
from evenhand.render.section import Fact, Note, Section

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.spec import Problem

MappingOut = Annotated[Path, typer.Option(help="Where to write the mapping.")]


def fit(
    context: typer.Context,
    problem: ProblemArgument,
    table: TableArgument = None,
    out: MappingOut = Path("evenhand.mapping"),
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn the mapping of a problem, explain it, and write it to a file."""
    with writing(force, out, proof, inputs=(Path(problem), table)):
        screen.load()
        stated, rows = problem_and_table(problem, table)
        stated = _sure(stated, confidence)
        given = counting(weights, frequencies)
        show = _fit_and_write(context, stated, rows, problem, out, given, proof, time_limit, as_json)
    show()


def shield(
    context: typer.Context,
    problem: ProblemArgument,
    table: TableArgument = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="The model's probabilities: a CSV file of the features, the outcome and probability."),
    ] = None,
    out: MappingOut = Path("evenhand.mapping"),
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Shield an existing model: bound its mean score on transformed features, without retraining it.

    The model must not read the protected columns. Without --scores the table's own p(y|x) stands for the model.
    """
    with writing(force, out, proof, inputs=(Path(problem), table, scores)):
        screen.load()
        stated, rows = problem_and_table(problem, table)
        conditional = stated.conditional if scores is None else read_table(scores)
        stated = _sure(replace(stated, suppress_protected="fixed", conditional=conditional), confidence)
        given = counting(weights, frequencies)
        show = _fit_and_write(context, stated, rows, problem, out, given, proof, time_limit, as_json)
    show()


def _sure(problem: Problem, confidence: float | None) -> Problem:
    """Return the problem with the confidence that was asked for on the command line, if any was."""
    return problem if confidence is None else replace(problem, confidence=confidence)


def _fit_and_write(
    context: typer.Context, stated: Problem, rows: Path | pd.DataFrame, name: str, out: Path, given: dict[str, Any],
    proof: Path | None, time_limit: float | None, as_json: bool,
) -> Callable[[], None]:  # fmt: skip
    """Fit, and write what was asked for; return what answers once it is there."""
    from evenhand.findings.described import described, learned
    from evenhand.fitting import fit as learn

    with screen.progress_bar() as report:
        found = learn(stated, rows, **given, time_limit=time_limit, progress=report)
        mapping = replace(found, fitted_by=typed(context))
        audit = audited(mapping)
        # What takes memory comes first: a command that fails for lack of it has written nothing.
        one_draw = () if as_json else mapping.theory.one_draw()
    mapping.save(out)
    if proof is not None:
        mapping.proof(proof)
    command = str(context.command.name)
    sections = [*described(audit, mapping.certificate, mapping.assurance)]
    if stated.cells is not None:
        sections.append(learned(mapping.cells, 2 * screen.TOP, screen.command("audit", out)))
    sections.append(Section("draws", notes=tuple(one_draw)))
    sections.append(written(mapping=out, proof=proof))
    sections.append(passed_through(outside(columns_of(rows, stated), mapping.problem)))
    # The table of an embedded study is in no file; and a model that exists already needs no new training data.
    mode, result = ("release", "released.csv") if command == "fit" else ("apply", "applied.csv")
    use = [(mode, out, rows, "--out", result)] if isinstance(rows, Path) else []
    size = mapping.counts.unit.write(mapping.counts.weight.sum())
    facts = {"people": mapping.counts.people, "weight": float(mapping.counts.weight.sum())}
    return lambda: reply(
        as_json, command, sections, facts=facts, title=f"{name}: {size}",
        following=(*use, ("report", out, "--out", "report.html")),
    )  # fmt: skip


def written(**files: Path | None) -> Section:
    """Return which files were written, by what each is, and how a mapping or a proof is checked."""
    from evenhand import verifier

    notes = []
    if files.get("mapping") is not None:
        notes.append(Note("written.mapping", {"command": screen.command("verify", files["mapping"])}))
    if (proof := files.get("proof")) is not None:
        command, python = screen.command("verify", proof), shlex.join(["python", "verifier.py", str(proof)])
        notes.append(Note("written.proof", {"command": command, "python": python}))
        notes.append(Note("written.verifier", {"path": verifier.__file__}))
    facts = (Fact(what, path, detail=path is None) for what, path in files.items())
    return Section("written", facts=tuple(facts), notes=tuple(notes))


def passed_through(columns: list[str]) -> Section:
    """Return the columns that are outside a problem."""
    notes = (Note("outside.columns"),) if columns else ()
    facts = (Fact("columns", columns),) if columns else ()
    return Section("outside_the_problem", facts=facts, notes=notes)


def diagnose(
    problem: ProblemArgument,
    table: TableArgument = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say why a problem is infeasible and what would help; or, where it is feasible, what each bound costs.

    Exits with 1 if the problem is infeasible.
    """
    with writing(force, proof, inputs=(Path(problem), table)):
        screen.load()
        from evenhand.diagnosis import diagnose as examine

        stated, rows = problem_and_table(problem, table)
        stated = _sure(stated, confidence)
        with screen.progress_bar() as report:
            found = examine(stated, rows, **counting(weights, frequencies), time_limit=time_limit, progress=report)
        if proof is not None:
            found.proof(proof)
    reply(as_json, "diagnose", (*found.sections, written(proof=proof)))
    if not found.feasible:
        raise typer.Exit(Exit.NO)


def frontier(
    problem: ProblemArgument,
    table: TableArgument = None,
    bounds: Annotated[
        str | None, typer.Option(help="Parity bounds: 0:0.7:50 (from, to, how many) or 0.1,0.2,0.5.")
    ] = None,
    budgets: Annotated[
        str | None, typer.Option(help="Budgets in the same form; factors where a problem has several limits.")
    ] = None,
    people: Annotated[
        bool, typer.Option("--people", help="Count the people changed at every point, too: each is fitted by itself.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where to write the points.")] = Path("frontier.csv"),
    chart: Annotated[Path | None, typer.Option(help="Where to draw them: .png, .svg or .html.")] = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Trace what tighter bounds cost: the objective along parity bounds, budgets or both, with exact edges."""
    screen.load()
    from evenhand.use.tradeoff import frontier as trace

    check_chart(chart)
    swept = {"bounds": numbers("--bounds", bounds), "budgets": numbers("--budgets", budgets)}
    with writing(force, out, chart, inputs=(Path(problem), table)):
        stated, rows = problem_and_table(problem, table)
        stated = _sure(stated, confidence)
        with screen.progress_bar() as report:
            found = trace(
                stated, rows, swept["bounds"], swept["budgets"], **counting(weights, frequencies),
                time_limit=time_limit, people=people, progress=report,
            )  # fmt: skip
        replace_file(out, csv_text(found.frame))
        drawn = draw_chart(found.chart, chart)

    reply(as_json, "frontier", (*found.sections, written(points=out, chart=drawn)))
