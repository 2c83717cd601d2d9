"""The report of a mapping: the one place that joins audit, theory, prices, models and frontier into a page.

A report is a JSON summary and an HTML page made from it; both are plain values until they are saved.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from evenhand import check
from evenhand.data import FEW_PEOPLE
from evenhand.data.sentences import ANYBODY, Said
from evenhand.engines import opened
from evenhand.errors import DataError, EvenhandError, StorageError
from evenhand.files import replace_file
from evenhand.findings.changes import most_changed_groups
from evenhand.findings.discretion import Discretion
from evenhand.findings.models import check_model
from evenhand.findings.theory.rates import share
from evenhand.optimise.solve.structured.threads import one_thread
from evenhand.report import assurance
from evenhand.report.charts import Chart, panels_within
from evenhand.report.extent import MOST_ACROSS
from evenhand.report.page import check_packages, page
from evenhand.report.pictures import PAGE_WIDTH
from evenhand.report.summary import Material, Settings, Source, summary
from evenhand.resources import Progress, heeding
from evenhand.tables import Frame
from evenhand.tables.transforming import Missing
from evenhand.use.fitting import EDGE_TOLERANCE, silent
from evenhand.use.mapping import Mapping
from evenhand.use.telling import Teller
from evenhand.use.tradeoff import Frontier, frontier_around

POINTS = 16
"""How many bounds the frontier is solved at, beside the mapping's own, which is known."""

POINTS_OF_LARGE, LARGE = 8, 2000
"""The same for tables of more cells than this, each of whose points takes as long as a small table's frontier."""

FEWEST_POINTS = 2
"""One on either side of the mapping's own."""

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
        # The name of a mapping file need not be text; what is none of it is spelled out, in JSON and in words.
        replace_file(beside, f"{text}\n".encode(errors="backslashreplace"))
        replace_file(html, self.html.encode(errors="backslashreplace"))
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
    points: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    missing: Missing | None = None,
    source: str | os.PathLike[str] | None = None,
    command: str | None = None,
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
    points : int, optional
        How many bounds it is solved at, from the mapping's own outwards: 16, or 8 where the table has more than 2,000
        cells. No clock stops it.
    confidence : float
        Of every interval and statement.
    seed : int
        Of every draw.
    missing : {"level", "error"}, optional
        With ``frame``: as in :meth:`evenhand.Mapping.release`.
    source : path, optional
        The mapping's file, to be named with its checksum.
    command : str, optional
        What the page names as the way to write it again; None names this call.
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
    tell = Teller(check.progress(progress) or silent)
    threshold = check.finite("hide_below", hide_below, low=0)
    settings = Settings(int(threshold) if threshold == int(threshold) else threshold, confidence, seed)
    usual = POINTS_OF_LARGE if len(mapping.counts) > LARGE else POINTS
    solved = usual if points is None else check.whole("points", points, low=FEWEST_POINTS)
    check.one_of("missing", missing, (None, *get_args(Missing)))
    # Not all of a command is whole characters: it may name files.
    check.kind("command", command, (str, NoneType), "a text")
    known_source = _source(source)
    # What is simulated and solved here are many small products, for which threads of BLAS only wait for each other.
    with heeding(tell.going_on), one_thread():
        tell("measuring", 0.05)
        fitted = None if frame is None else _fitted(mapping, frame, model, sees_protected, missing, settings)
        other_columns = None
        if frame is not None:
            columns = opened(frame, mapping.problem.csv).table.columns
            other_columns = tuple(str(column) for column in columns if column not in mapping.problem.columns)
        traced, values = _traced(
            mapping, solved if trace else None, lambda stage, share: tell(stage, 0.1 + 0.5 * share)
        )
        tell("summarising", 0.65)
        found = summary(
            Material(
                problem=mapping.problem, counts=mapping.counts, kernel=mapping.kernel, certificate=mapping.certificate,
                achieved=mapping.achieved, audit=mapping.audit(), theory=mapping.theory,
                prices=mapping.prices() if mapping.has_prices else None, fitted=fitted,
                promised=mapping.assurance, frontier=values, settings=settings, source=known_source,
                other_columns=other_columns,
                command=command or _called(
                    source, frame=frame, model=model, sees_protected=sees_protected, hide_below=hide_below,
                    trace=trace, points=points, confidence=confidence, seed=seed, missing=missing,
                ),
            )
        )  # fmt: skip
        tell("drawing", 0.8)
        drawn = _charts(mapping, traced, settings)
        html = page(found, drawn, lambda stage, share: tell(stage, 0.8 + 0.2 * share))
    tell("done", 1.0)
    return Report(found, html)


def _called(source: str | os.PathLike[str] | None, **given: Any) -> str:
    """Return a call of :func:`report_on`, with what it was given beside the defaults; tables and models by name."""
    usual = inspect.signature(report_on).parameters
    words = ["mapping" if source is None else f"eh.Mapping.load({os.fspath(source)!r})"]
    for name, value in given.items():
        plain = value is None or isinstance(value, bool | int | float | str | os.PathLike)
        if not plain or value != usual[name].default:
            shown = os.fspath(value) if isinstance(value, os.PathLike) else value
            words.append(f"{name}={shown!r}" if plain else f"{name}={name}")
    words += [] if source is None else [f"source={os.fspath(source)!r}"]
    return f'eh.report_on({", ".join(words)}).save("report.html")'


def _source(path: str | os.PathLike[str] | None) -> Source:
    if path is None:
        return Source()
    try:
        content = Path(check.path("source", path)).read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {os.fspath(path)!r}: {error.strerror}") from None
    return Source(os.fspath(path), hashlib.sha256(content).hexdigest())


def _fitted(
    mapping: Mapping, frame: Frame, model: Any, sees_protected: bool, missing: Missing | None, settings: Settings
) -> dict[str, Any]:
    seed = settings.seed
    rates = mapping.model_rates(frame, model, seed=seed, protected=sees_protected, missing=missing)
    name = "The shares of each outcome by features" if model is None else f"The model {type(model).__name__}"
    sight = "with" if sees_protected else "without"
    words = (
        f"{name}, fitted on one release (seed {seed}) {sight} the protected columns, and applied to the same people in "
        f"apply mode (seed {seed + 1}). Decided so: the share of people for whom the outcome is the likeliest; no "
        f"bound covers it."
    )
    shown = Discretion(mapping.counts, settings.hide_below)
    return assurance.model_rates(mapping.problem, rates, words, shown, sees_protected=sees_protected)


def _traced(mapping: Mapping, points: int | None, progress: Progress) -> tuple[Frontier | None, dict[str, Any]]:
    """Trace the frontier around a mapping, and say what was found, or why there is none."""
    problem, certificate, words = mapping.problem, mapping.certificate, ""
    if points is None:
        words = "It was not asked for."
    elif not problem.parity:
        words = "There is no parity bound to trace."
    elif not mapping.has_prices:
        words = "It is not traced for a problem that is not convex."
    if words or points is None:
        return None, {"words": words, "points": [], "edges": None, "chosen": None}
    own, column = problem.one_bound, "bound"
    moved = "What tighter and looser parity bounds would lose"
    if own is None:
        own, column = 1.0, "bound_factor"
        moved = "What would be lost if all parity bounds, which differ, were multiplied by a factor"
    here = {column: own, "objective": mapping.objective}
    try:
        found = frontier_around(mapping.certified, mapping.counts, certificate, points=points, progress=progress)
    except EvenhandError as error:
        alone = here | {"lower_bound": certificate.lower_bound, "status": certificate.status}
        words = Said(f"It could not be traced beyond the mapping itself: {error}", ANYBODY)
        return None, {"words": words, "points": [alone], "edges": None, "chosen": here}
    held = "the budgets" if mapping.assurance is None else "the budgets and the margins for confidence"
    said = [f"{moved}, {held} held as they are, from this mapping outwards."]
    edge = found.edges["smallest_feasible"].iloc[0]
    if edge > EDGE_TOLERANCE:
        said.append(f"No mapping meets a bound below {edge:.4g}, which is found exactly, as are the other edges.")
    elif edge >= 0:
        said.append("Every bound can be met, down to zero; the edges are found exactly.")
    if unsolved := int((found.frame["status"] == "unsolved").sum()):
        said.append(f"{unsolved} of {len(found.frame)} points could not be solved.")
    return found, {
        "words": " ".join(said),
        "points": found.frame[[column, "objective", "lower_bound", "status"]].to_dict("records"),
        "edges": found.edges.to_dict("records")[0],
        "chosen": here,
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
        wanted["frontier"] = lambda: traced.chart(chosen=(1.0 if own is None else own, mapping.objective))
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
    across = panels_within(PAGE_WIDTH, min(MOST_ACROSS, len(counts.domain.variable(by[-1]))))
    which = "with the most people changed"
    return mapping.chart("cohorts", groups=groups, by=by, hide_below=hide_below, wrap=across, which=which)
