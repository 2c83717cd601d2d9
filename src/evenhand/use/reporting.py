"""The report of a mapping: the one place that joins audit, theory, prices, models and frontier into a page.

A report is a JSON summary and an HTML page made from it; both are plain values until they are saved.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.engines import opened
from evenhand.errors import DataError, EvenhandError, StorageError
from evenhand.files import replace_file
from evenhand.findings.changes import most_changed_groups
from evenhand.findings.discretion import Discretion
from evenhand.findings.feasibility import identity_from
from evenhand.findings.models import check_model
from evenhand.findings.theory.rates import share
from evenhand.report import assurance
from evenhand.report.charts import Chart, panels_within
from evenhand.report.page import check_packages, page
from evenhand.report.pictures import PAGE_WIDTH
from evenhand.report.summary import Material, Settings, Source, summary
from evenhand.resources import Progress
from evenhand.spec import Problem, check
from evenhand.tables import Frame
from evenhand.use.mapping import Mapping
from evenhand.use.tradeoff import Frontier, frontier

POINTS = 24
"""How many bounds the frontier is traced at, beside the mapping's own."""

BEYOND = 1.15
"""The frontier is traced this many times as far as where nobody need change, or the mapping's own bound."""

FRONTIER_SECONDS = 30.0
"""A frontier that takes longer is left unfinished, and the report says so."""

MOST_COHORTS = 72
"""Cohorts are formed by as many features, in their order, as leave no more of them than this."""

PANELS = 4
"""How many groups have their cohorts drawn: those with the most people changed."""


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report: its summary and its page.

    Attributes
    ----------
    summary : dict
        Everything that the page says, as JSON-safe values; ``docs/report.md`` lists the fields.
    html : str
        The page, which needs no network.
    """

    summary: dict[str, Any]
    html: str

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the page, and its summary beside it with the ending ``.json``; return both paths."""
        html, beside = Path(check.path("path", path)), summary_path(path)
        text = json.dumps(self.summary, ensure_ascii=False, indent=2, allow_nan=False)
        replace_file(beside, f"{text}\n".encode())
        replace_file(html, self.html.encode())
        return html, beside

    def __repr__(self) -> str:
        return f"<Report of {len(self.html.encode()) / 1e6:.1f} MB, summary version {self.summary['version']}>"


def summary_path(path: str | os.PathLike[str]) -> Path:
    """Return where the summary of a page is written."""
    try:
        return Path(path).with_suffix(".json")
    except ValueError:
        raise check.refused("path", "the name of a file", path) from None


def report_on(
    mapping: Mapping,
    *,
    frame: Frame | None = None,
    model: Any = None,
    sees_protected: bool = False,
    hide_below: float = FEW_PEOPLE,
    trace: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
    source: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Report on a mapping, for the person who signs off on it. Needs the extra ``charts``.

    Parameters
    ----------
    mapping : Mapping
        What is reported on.
    frame : dataframe, optional
        A table to fit a model on, after one release: its mean scores and thresholded decisions are then shown.
    model : object with fit and predict_proba, optional
        The model; None fits a table of shares. Needs ``frame``.
    sees_protected : bool
        Whether the model sees the protected columns.
    hide_below : float
        Cells and groups of fewer people are not shown by themselves; 0 shows all.
    trace : bool
        Whether to trace the frontier, which takes most of the time.
    confidence : float
        Of every interval and statement.
    seed : int
        Of every draw.
    source : path, optional
        The mapping's file, to be named with its checksum.
    progress : callable, optional
        Called with the name of the stage and the share that is done.

    Returns
    -------
    Report
        Its ``save`` writes the page and its summary.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> report = eh.report_on(mapping, trace=False)
    >>> report.summary["certificate"]["status"], report.summary["small_cells"]["hide_below"]
    ('optimal', 20)
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    check_model(model)
    sees_protected, trace = check.flag("sees_protected", sees_protected), check.flag("trace", trace)
    confidence, seed = share("confidence", confidence), check.seed("seed", seed)
    if model is not None and frame is None:
        raise DataError("a model needs a table to be fitted on: give frame= as well")
    check_packages()
    tell = check.progress(progress) or (lambda stage, share: None)
    threshold = check.finite("hide_below", hide_below, low=0)
    settings = Settings(int(threshold) if threshold == int(threshold) else threshold, confidence, seed)
    tell("measuring", 0.05)
    fitted = None if frame is None else _fitted(mapping, frame, model, sees_protected, settings)
    other_columns = None
    if frame is not None:
        columns = opened(frame, mapping.problem.csv).table.columns
        other_columns = tuple(str(column) for column in columns if column not in mapping.problem.columns)
    traced, values = _traced(mapping, trace, lambda stage, share: tell(stage, 0.1 + 0.5 * share))
    tell("summarising", 0.65)
    found = summary(
        Material(
            problem=mapping.problem, counts=mapping.counts, kernel=mapping.kernel, certificate=mapping.certificate,
            achieved=mapping.achieved, audit=mapping.audit(), theory=mapping.theory,
            prices=mapping.prices() if mapping.has_prices else None, fitted=fitted,
            frontier=values, settings=settings, source=_source(source),
            other_columns=other_columns,
        )
    )  # fmt: skip
    tell("drawing", 0.8)
    html = page(found, _charts(mapping, traced, settings))
    tell("done", 1.0)
    return Report(found, html)


def _source(path: str | os.PathLike[str] | None) -> Source:
    if path is None:
        return Source()
    try:
        content = Path(check.path("source", path)).read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {os.fspath(path)!r}: {error.strerror}") from None
    return Source(Path(path).name, hashlib.sha256(content).hexdigest())


def _fitted(mapping: Mapping, frame: Frame, model: Any, sees_protected: bool, settings: Settings) -> dict[str, Any]:
    seed = settings.seed
    rates = mapping.model_rates(frame, model, seed=seed, protected=sees_protected)
    name = "The shares of each outcome by features" if model is None else f"The model {type(model).__name__}"
    sight = "with" if sees_protected else "without"
    words = (
        f"{name}, fitted on one release (seed {seed}) {sight} the protected columns, and applied to the same people in "
        f"apply mode (seed {seed + 1}). Decided so: the share of people for whom the outcome is the likeliest; no "
        f"bound covers it."
    )
    shown = Discretion(mapping.counts, settings.hide_below)
    return assurance.model_rates(mapping.problem, rates, words, shown, sees_protected=sees_protected)


def _bounds(problem: Problem, counts: Counts) -> list[float]:
    """Return the bounds to trace: from zero to beyond where nobody need change, with the mapping's own."""
    own = problem.one_bound
    unchanged = math.inf if problem.suppresses else identity_from(problem, counts)
    ends = [end for end in (own, unchanged) if end is not None and math.isfinite(end)]
    furthest = BEYOND * max([*ends, 0.1])
    grid = {furthest * i / (POINTS - 1) for i in range(POINTS)}
    return sorted(grid | ({own} if own is not None else set()))


def _traced(mapping: Mapping, wanted: bool, progress: Progress) -> tuple[Frontier | None, dict[str, Any]]:
    """Trace the frontier of the mapping's problem, and say what was found, or why there is none."""
    problem, found, words = mapping.problem, None, ""
    if not wanted:
        words = "It was not asked for."
    elif not problem.parity:
        words = "There is no parity bound to trace."
    elif not mapping.has_prices:
        words = "It is not traced for a problem that is not convex."
    else:
        try:
            bounds = _bounds(problem, mapping.counts)
            found = frontier(problem, mapping.counts, bounds, time_limit=FRONTIER_SECONDS, progress=progress)
        except EvenhandError as error:
            words = f"It could not be traced: {error}"
    if found is None:
        return None, {"words": words, "points": [], "edges": None, "chosen": None}
    words = (
        "What tighter and looser parity bounds would lose, the budgets held as they are. Its edges are found exactly."
    )
    if (found.frame["status"] == "unsolved").any():
        words += f" Points that were not reached within {FRONTIER_SECONDS:g} seconds are unsolved."
    own = problem.one_bound
    return found, {
        "words": words,
        "points": found.frame[["bound", "objective", "lower_bound", "status"]].to_dict("records"),
        "edges": found.edges.to_dict("records")[0],
        "chosen": None if own is None else {"bound": own, "objective": mapping.objective},
    }


def _charts(mapping: Mapping, traced: Frontier | None, settings: Settings) -> dict[str, Chart]:
    """Draw what can be drawn: where nobody changes, or everybody is hidden, a chart is left out."""
    hide = settings.hide_below
    wanted: dict[str, Callable[[], Chart]] = {
        "rates": lambda: mapping.chart("rates", confidence=settings.confidence, hide_below=hide),
        "changes": lambda: mapping.chart("changes", hide_below=hide),
        "heat": lambda: mapping.chart("heat", hide_below=hide),
        "cohorts": lambda: _cohorts(mapping, hide),
    }
    if traced is not None:
        own = mapping.problem.one_bound
        wanted["frontier"] = lambda: traced.chart(chosen=None if own is None else (own, mapping.objective))
    drawn = {}
    for name, draw in wanted.items():
        try:
            drawn[name] = draw()
        except DataError:
            continue
    return drawn


def _cohorts(mapping: Mapping, hide_below: float) -> Chart:
    counts = mapping.counts
    # The first features whose combinations can still be drawn.
    by: list[str] = []
    size = 1
    for variable in counts.domain.x.variables:
        size *= len(variable)
        if by and size > MOST_COHORTS:
            break
        by.append(variable.name)
    groups = most_changed_groups(counts, mapping.achieved.changed, PANELS, hide_below=hide_below)
    total, note = len(counts.groups.cells), ""
    if len(groups) < total:
        note = f"Shown: everybody, and of {total} groups the {len(groups)} with the most people changed."
    across = panels_within(PAGE_WIDTH, len(counts.domain.variable(by[-1])))
    return mapping.chart("cohorts", groups=groups, by=by, hide_below=hide_below, wrap=across, note=note)
