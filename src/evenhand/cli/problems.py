"""Commands on a problem and its table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand import screen
from evenhand.cli.files import check_outputs, problem_and_table, write_csv
from evenhand.errors import MissingExtraError, SpecError

if TYPE_CHECKING:
    from evenhand.mapping import Mapping

ProblemArgument = Annotated[str, typer.Argument(help="A problem in TOML, or an embedded study: compas, adult.")]
TableArgument = Annotated[
    Path | None, typer.Argument(help="A CSV file, one row a person; an embedded study has its own.")
]
WeightsOption = Annotated[str | None, typer.Option(help="A column of weights, for a table of counts.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
ProofOption = Annotated[Path | None, typer.Option(help="Write a proof, for: evenhand verify.")]
LimitOption = Annotated[float | None, typer.Option(help="Seconds after which to stop.")]
NOTHING = 1e-9
"""A smaller price is not shown."""

TOP = 8
"""How many rows of a long table are shown."""


def fit(
    problem: ProblemArgument,
    table: TableArgument = None,
    out: Annotated[Path, typer.Option(help="Where to write the mapping.")] = Path("evenhand.mapping"),
    weights: WeightsOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    force: ForceOption = False,
) -> None:
    """Learn the mapping of a problem, explain it, and write it to a file."""
    check_outputs(force, out, proof)
    stated, frame = problem_and_table(problem, table)
    _fit_and_write(stated, frame, problem, out, weights, proof, time_limit)


def shield(
    problem: ProblemArgument,
    table: TableArgument = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="The model's probabilities: a CSV file of the features, the outcome and probability."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the mapping.")] = Path("evenhand.mapping"),
    weights: WeightsOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    force: ForceOption = False,
) -> None:
    """Shield an existing model: bound its mean score on transformed features, without retraining it.

    The model must not read the protected columns. Without --scores the table's own p(y|x) stands for the model.
    """
    from evenhand.tables import read_csv

    check_outputs(force, out, proof)
    stated, frame = problem_and_table(problem, table)
    conditional = stated.conditional if scores is None else read_csv(scores)
    stated = replace(stated, suppress_protected="fixed", conditional=conditional)
    _fit_and_write(stated, frame, problem, out, weights, proof, time_limit)


def _fit_and_write(
    stated: Any, frame: Any, name: str, out: Path, weights: str | None, proof: Path | None, time_limit: float | None
) -> None:
    from evenhand.fitting import fit as learn

    with screen.progress_bar() as report:
        mapping = learn(stated, frame, weights=weights, time_limit=time_limit, progress=report)
        audit = mapping.audit()
    size = mapping.counts.weight.sum()
    screen.explain(f"{name}: {size:,.0f} people" + " by weight" * (weights is not None), "", mapping, audit)
    _show_readers(mapping, audit)
    _show_fitted(mapping, frame, weights)
    screen.heading("What was written")
    mapping.save(out)
    screen.written(out, f"the mapping; check it with: evenhand verify {out}")
    if proof is not None:
        mapping.proof(proof)
        _proof_written(proof)


def _proof_written(path: Path) -> None:
    from evenhand import verifier

    screen.written(
        path, f"the proof; check it with: evenhand verify {path}, or without evenhand: python verifier.py {path}"
    )
    screen.bullets([f"verifier.py needs Python alone; here it is {verifier.__file__}"])


def _show_readers(mapping: Mapping, audit: Any) -> None:
    """Show the mean scores that eqs. (8) and (9) predict of models that see, or do not see, the protected columns."""
    screen.heading("Mean score of a model of the released data, if it sees the protected columns or not")
    levels = mapping.counts.domain.outcome.levels
    shown = levels[1:] if len(levels) == 2 else levels
    scores = audit.scores.rename(columns={"seeing_protected": "Sees them", "not_seeing_protected": "Does not"})
    screen.frame_table(scores[scores[mapping.problem.outcome].isin(shown)])
    screen.heading(
        "Lift before → after: p(y|d) over p(y) (extended), over p(y|not d) (selective), over the lowest group"
    )
    screen.frame_table(_lifts(audit.lifts[audit.lifts[mapping.problem.outcome].isin(shown)].copy()))


def _lifts(table: Any) -> Any:
    """Set each lift before beside the same after."""
    for name in ("extended", "selective", "contrastive"):
        before, after = table.pop(f"{name}_before"), table.pop(f"{name}_after")
        table[name] = [f"{a:.3f} → {b:.3f}" for a, b in zip(before, after, strict=True)]
    return table


def _show_fitted(mapping: Mapping, frame: Any, weights: str | None) -> None:
    """Show, beside the prediction, the scores of a plain model fitted on one release, and how one release strays."""
    if weights is not None:
        return
    rates = mapping.model_rates(frame)
    levels = mapping.counts.domain.outcome.levels
    shown = levels[1:] if len(levels) == 2 else levels
    screen.heading("Shares fitted on one release without the protected columns: score and decisions")
    screen.frame_table(rates[rates[mapping.problem.outcome].isin(shown)])
    screen.bullets(mapping.theory.draw_spread().words)


def diagnose(
    problem: ProblemArgument,
    table: TableArgument = None,
    weights: WeightsOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    force: ForceOption = False,
) -> None:
    """Say why a problem is infeasible and what would help; or, where it is feasible, what each bound costs.

    Exits with 1 if the problem is infeasible.
    """
    from evenhand.diagnosis import diagnose as examine

    check_outputs(force, proof)
    stated, frame = problem_and_table(problem, table)
    with screen.progress_bar() as report:
        found = examine(stated, frame, weights=weights, time_limit=time_limit, progress=report)
    screen.heading("Feasible" if found.feasible else "Infeasible")
    screen.bullets(found.sentences)
    if found.conflict is not None:
        screen.heading("The bounds that conflict (share of the proof's weight)")
        screen.frame_table(found.conflict.bounds, TOP)
        screen.heading("How far these rates can go within budgets and forbidden moves")
        screen.frame_table(found.conflict.reach, TOP)
    if found.prices is not None:
        screen.heading("What each bound costs: utility gained for each unit that it is relaxed, at first")
        screen.frame_table(found.prices[found.prices["price"] > NOTHING], 2 * TOP)
    if proof is not None:
        found.proof(proof)
        screen.heading("What was written")
        _proof_written(proof)
    if not found.feasible:
        raise typer.Exit(1)


def frontier(
    problem: ProblemArgument,
    table: TableArgument = None,
    bounds: Annotated[
        str | None, typer.Option(help="Parity bounds: 0:0.7:50 (from, to, how many) or 0.1,0.2,0.5.")
    ] = None,
    budgets: Annotated[
        str | None, typer.Option(help="Budgets in the same form; factors where a problem has several limits.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the points.")] = Path("frontier.csv"),
    chart: Annotated[Path | None, typer.Option(help="Where to draw them: .png, .svg or .html.")] = None,
    weights: WeightsOption = None,
    time_limit: LimitOption = None,
    force: ForceOption = False,
) -> None:
    """Trace what tighter bounds cost: the objective along parity bounds, budgets or both, with exact edges."""
    from evenhand.report import charts
    from evenhand.tradeoff import frontier as trace

    check_outputs(force, out, chart)
    charts.check_ending(chart)
    stated, frame = problem_and_table(problem, table)
    if weights is not None:
        from evenhand.tables import count

        frame = count(stated, frame, weights)
    with screen.progress_bar() as report:
        found = trace(
            stated, frame, bounds=_numbers("--bounds", bounds), budgets=_numbers("--budgets", budgets),
            time_limit=time_limit, progress=report,
        )  # fmt: skip
    screen.heading("The edges, found exactly")
    screen.frame_table(found.edges)
    screen.heading("The points")
    swept = [name for name in found.frame.columns if name not in ("lower_bound", "max_violation")]
    screen.frame_table(found.frame[swept])
    screen.heading("What was written")
    write_csv(found.frame, out, "every point")
    if chart is not None:
        try:
            charts.save(found.chart(), chart)
            screen.written(chart, "the trade-off, with its infeasible region")
        except MissingExtraError as error:
            screen.bullets([f"no chart: {error}"])


def _numbers(option: str, text: str | None) -> list[float] | None:
    """Read ``from:to:count`` or a list of numbers."""
    if text is None:
        return None
    try:
        if ":" in text:
            low, high, count = text.split(":")
            points = int(count)
            if points < 2:
                raise ValueError
            return [float(low) + (float(high) - float(low)) * i / (points - 1) for i in range(points)]
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SpecError(f"{option} must look like 0:0.7:50 (from, to, how many) or 0.1,0.2,0.5, not {text!r}") from None
