"""A mapping held against a table: an audit, a batch that is monitored, a release as it stands, a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

from evenhand import check, engines, tables
from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable
from evenhand.errors import DataError, SpecError
from evenhand.findings import audit as findings
from evenhand.findings import models, monitoring, new_people
from evenhand.findings.audit import Audit
from evenhand.findings.coverage import fitted_coverage
from evenhand.findings.giving_away import MOST_ROWS, given_away_note, giving_away
from evenhand.findings.history import History, add_batch, read_history
from evenhand.findings.monitoring import Monitored
from evenhand.findings.new_people import (
    Meeting,
    Origins,
    Realised,
    left_segments,
    meeting,
    of_new_groups,
    with_own_target,
    without_people,
)
from evenhand.findings.released import by_counts, by_manifest
from evenhand.findings.theory.rates import share
from evenhand.findings.unaware import unaware_rates
from evenhand.kernel.achieved import achieved
from evenhand.kernel.strangers import Policy
from evenhand.mapping import Mapping, Path
from evenhand.render.section import Note, Section
from evenhand.resources import Progress
from evenhand.tables import Frame
from evenhand.tables.transforming import Missing, Transformer

if TYPE_CHECKING:
    import pandas as pd


def audit(
    mapping: Mapping,
    table: AnyTable | None = None,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    unseen: Policy | None = None,
    missing: Missing | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Return what the mapping does to a table, in expectation over its draws, as tables and words.

    Parameters
    ----------
    table : dataframe or path, optional
        Other people than those that were fitted; by default the fitted table. Its columns outside the problem that
        reveal what changes are named in ``notes``.
    weights, frequencies : str or sequence of numbers, optional
        With ``table``: a column of it, or one number per row. By default the column that the problem names, where
        the table has it.
    unseen : {"typical", "keep"}, optional
        With ``table``: what becomes of people in cells that nobody had, as in :class:`evenhand.Draws`; ``coverage``
        counts them.
    missing : {"level", "error"}, optional
        As in :class:`evenhand.Draws`. Rows with a missing value that has no level are counted in ``coverage``, and
        left out of everything else.
    progress : callable, optional
        For a path: called with a text and the share that is counted.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> mapping.audit().rates.query("is_recid == 1")["after"].round(4).tolist()
    [0.3934, 0.3672, 0.4039, 0.4039]
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    check.progress(progress)
    if table is None:
        covered, new = fitted_coverage(mapping.counts), mapping.new_cells
        more = () if new is None else (new,)
        scores = _scores(mapping, mapping.counts, "typical")
        if mapping.suppression is not None:
            scores = scores[0], unaware_rates(mapping.counts, mapping.kernel)
        fitted = mapping.problem, mapping.counts, mapping.kernel, mapping.achieved
        found = findings.audit(*fitted, covered, scores, more=more)
        return found if mapping.suppression is None else replace(found, sections=_with_unaware(mapping, found.sections))
    table, weighting = engines.weighting_in([mapping.problem], table, weights, frequencies)
    engines.refuse_mistaken(table, mapping.problem.csv, weighting)
    met = _met(mapping, table, weighting, missing, progress, unseen)
    problem = with_own_target(mapping.problem, mapping.counts)
    measured = achieved(problem, met.counts, met.kernel)
    scores = _scores(mapping, met.counts, unseen or "typical")
    absent, strange = without_people(mapping.counts, met.counts), of_new_groups(mapping.counts, met)
    uncounted = [*met.uncounted, *absent, *strange]
    mode = mapping.mode("release", unseen, missing)
    note = _released(mapping, table, met.counts) or _given_away(mapping, table, mode)
    more = () if note is None else (note,)
    return findings.audit(problem, met.counts, met.kernel, measured, met.coverage, scores, uncounted, more=more)


def monitor(
    mapping: Mapping,
    table: AnyTable,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    confidence: float = 0.95,
    history: Path | None = None,
    name: str | None = None,
    seed: int = 0,
    unseen: Policy | None = None,
    missing: Missing | None = None,
    progress: Progress | None = None,
) -> Monitored:
    """Watch a batch of new people, with or without outcomes: coverage, drift, and a word on every parity bound.

    Parameters
    ----------
    table : dataframe or path
        The batch, none of whom was used for fitting. Without a column of outcomes no bound is decided.
    weights, frequencies : str or sequence of numbers, optional
        As in :func:`evenhand.audit`. With weights, limits and intervals are approximate.
    confidence : float
        With which a random sample of the fitted people's population has nothing told as drifted, and every interval
        holds, all at once.
    history : path, optional
        A file to which one line is added about this batch: made if there is none, refused if it is damaged or that
        of another mapping. :func:`evenhand.evaluation.history` reads it.
    name : str, optional
        What the batch is called there; by default the path's own name.
    seed : int
        Of the one release whose rates have intervals, and of what sampling alone gives.
    unseen : {"typical", "keep"}, optional
        As in :func:`evenhand.audit`.
    missing : {"level", "error"}, optional
        As in :func:`evenhand.audit`.
    progress : callable, optional
        For a path: called with a text and the share that is counted.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> new = data.frame.sample(2000, replace=True, random_state=1)
    >>> found = mapping.monitor(new)
    >>> found
    <Monitored: 2,000 people; bounds not decided; 0 of 13 drifted>
    >>> mapping.monitor(data.frame).fitted
    True
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    check.progress(progress)
    check.one_of("unseen", unseen, (None, *get_args(Policy)))
    # A history that cannot be added to is refused before any work is done.
    before = None if history is None else mapping.history(check.path("history", history))
    if name is not None:
        check.text("name", name)
    elif engines.is_path(table):
        name = os.path.basename(os.fspath(cast(Path, table)))
    modes = mapping.mode("release", unseen, missing), mapping.mode("apply", None, missing)
    table, weighting = engines.weighting_in([mapping.problem], table, weights, frequencies)
    found = monitoring.monitor(
        mapping.problem, mapping.counts, modes, table, weighting=weighting, confidence=share("confidence", confidence),
        seed=check.seed("seed", seed), progress=progress, released=lambda counts: _released(mapping, table, counts),
    )  # fmt: skip
    if before is not None:
        add_batch(before, found, name)
    return found


def history(mapping: Mapping, path: Path) -> History:
    """Read the batches that :func:`evenhand.monitor` wrote into a file; a file that is not there yet has none.

    Examples
    --------
    >>> import evenhand as eh, os, tempfile
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> path = os.path.join(tempfile.mkdtemp(), "log.jsonl")
    >>> for seed in range(2):
    ...     _ = mapping.monitor(data.frame.sample(500, random_state=seed), history=path, name=f"week {seed}")
    >>> mapping.history(path).batches[["batch", "name", "people", "verdict"]].to_dict("list")
    {'batch': [1, 2], 'name': ['week 0', 'week 1'], 'people': [500, 500], 'verdict': ['not decided', 'not decided']}
    """
    return read_history(check.path("path", path), mapping.fingerprint)


def realised(
    mapping: Mapping,
    table: AnyTable,
    *,
    original: AnyTable | None = None,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    missing: Missing | None = None,
    progress: Progress | None = None,
) -> Realised:
    """Hold the rates of a table as it stands against the bounds: of one release, which strays from expectation.

    Parameters
    ----------
    table : dataframe or path
        A result of ``release``, or any other with the protected columns, the features and the outcome.
    original : dataframe or path, optional
        The table that was released, with the same rows in the same order. It is read where parity is bounded
        within segments (``given``) that people may have left: a released table alone does not tell who was in them,
        and whether such a bound is kept is not known without it.
    weights, frequencies : str or sequence of numbers, optional
        As in :func:`evenhand.audit`.
    missing : {"level", "error"}, optional
        As in :func:`evenhand.audit`.
    progress : callable, optional
        For a path: called with a text and the share that is counted.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> mapping.realised(mapping.release(data.frame, seed=0, draw="independent"))
    <Rates as they stand: ... constraints hold in this table. Tightest: is_recid=1 40... at most 1.1000 allowed.>
    >>> mapping.realised(mapping.release(data.frame, seed=0)).verdict.one_person
    True
    """
    check.progress(progress)
    problem = with_own_target(mapping.problem, mapping.counts)
    table, weighting = engines.weighting_in([mapping.problem], table, weights, frequencies)
    met = _met(mapping, table, weighting, missing, progress)
    segments = left_segments(problem, mapping.counts.domain)
    if original is None or not segments:
        return new_people.realised(problem, mapping.counts, met)
    if weighting is not None and weighting.repeats:
        raise SpecError(
            "original= pairs rows one by one, and a released table of counts has other rows: release a table with "
            "one row per person"
        )
    origins = Origins(mapping.release_mode.with_missing(missing).domain, segments)
    engines.each_pair(origins.add, original, table, origins.columns, weighting, mapping.problem.csv, progress)
    return new_people.realised(problem, mapping.counts, met, origins.became())


def model_rates(
    mapping: Mapping,
    frame: Frame,
    model: Any = None,
    *,
    released: Frame | None = None,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    protected: bool = False,
    missing: Missing | None = None,
) -> pd.DataFrame:
    """Fit a model on the expanded table, score the same people in apply mode, and return its mean scores by group.

    Eqs. (8) and (9) predict them: (8) for a model that sees the protected columns, (9) for one that does not.
    Nothing is drawn: the model learns from every possible result with its weight, and scores every possible x̂.

    Parameters
    ----------
    frame : dataframe
        Holds the protected, feature and outcome columns.
    model : object with fit and predict_proba, optional
        Anything like a scikit-learn classifier that takes a pandas frame of the features as they are (so put an
        encoder before a linear model) and sample weights. None fits the table of p(ŷ|x̂).
    released : dataframe, optional
        A release of the table: the model then learns from it, and not from the expanded table.
    weights, frequencies : str or sequence of numbers, optional
        A column of the table, and of the release, or one number per row: by which people count. By default the
        column that the problem names, where the table has it.
    protected : bool
        Whether the model sees the protected columns; those with bins or merged levels as their levels, as in
        :class:`evenhand.PreprocessedClassifier`.
    missing : {"level", "error"}, optional
        As in :class:`evenhand.Draws`; a model is handed what is missing as it is.

    Returns
    -------
    pandas.DataFrame
        For each group and outcome: the ``released`` rate, the ``predicted`` mean score, the model's mean ``score``
        and its ``decision`` (the share of people for whom this outcome is the likeliest; of two that are equally
        likely each counts half), which no bound covers.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> rates = mapping.model_rates(data.frame, protected=True)
    >>> bool((rates["released"] - rates["predicted"]).abs().max() < 1e-9)
    True
    """
    if engines.is_spark(frame):
        tables.read(frame)  # which says that a model needs rows in memory
    protected = check.flag("protected", protected)
    models.check_model(model)
    table, columns = tables.read(frame), mapping.problem.columns
    if not len(table):
        raise DataError("the table has no rows, on which a model could be fitted")
    _, weighting = engines.weighting_in([mapping.problem], table, weights, frequencies)
    own = tables.weights_of(columns, table, weighting)
    row, weight = (tables.unused(name, table.columns) for name in ("row", "weight"))
    train: tuple[Any, Numbers | None]
    if released is None:
        models.check_weights_taken(model)
        every = tables.to_pandas(
            mapping.expand(frame, weights=weights, frequencies=frequencies, weight_column=weight, missing=missing)
        )
        train = every, every[weight].to_numpy(dtype=float)
    else:
        try:
            train = released, tables.weights_of(columns, tables.read(released), weighting)
        except DataError as error:
            raise DataError("released: ", *error.pieces) from None
    new = tables.to_pandas(mapping.possibilities(frame, row_column=row, weight_column=weight, missing=missing))
    chance = new[weight].to_numpy(dtype=float)
    counted_by = chance if own is None else chance * own[new[row].to_numpy()]
    rates: pd.DataFrame = models.model_rates(
        mapping.problem, mapping.counts, mapping.kernel, train, (new, counted_by), model, protected=protected
    )
    return rates


def _released(mapping: Mapping, table: AnyTable, counts: Counts | None) -> Note | None:
    """Return that this mapping wrote a table, where its manifest has it so or it looks so; else None."""
    found = by_manifest(table, mapping.fingerprint)
    if found is not None or counts is None:
        return found
    return by_counts(mapping.counts, mapping.kernel, counts, mapping.problem.reads)


def _given_away(mapping: Mapping, table: AnyTable, mode: Transformer) -> Note | None:
    """Name the columns of a table that would reveal what a mode changes; Spark dataframes are not examined."""
    if engines.is_spark(table):
        return None
    given = engines.opened(table, mapping.problem.csv, MOST_ROWS, engines.read_as(mode.read))
    passed = [name for name in given.columns if name not in mapping.problem.columns]
    return given_away_note(giving_away(mode, given, passed))


def _with_unaware(mapping: Mapping, sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Return the sections of an audit with that of a model without D, after the bounds."""
    assert mapping.suppression is not None
    place = 1 + max((at for at, section in enumerate(sections) if section.key == "bounds"), default=len(sections) - 1)
    return (*sections[:place], *mapping.suppression.sections, *sections[place:])


def _scores(mapping: Mapping, people: Counts, policy: Policy) -> tuple[Numbers, Numbers]:
    """Return the mean scores of people by models that see the protected columns, and that do not."""
    given = mapping.problem, mapping.counts, mapping.kernel
    seeing, not_seeing = (
        models.predicted_scores(*given, protected=sees, people=people, policy=policy) for sees in (True, False)
    )
    return seeing, not_seeing


def _met(
    mapping: Mapping,
    table: AnyTable,
    weighting: Weighting | None,
    missing: Missing | None,
    progress: Progress | None,
    unseen: Policy | None = None,
) -> Meeting:
    check.one_of("unseen", unseen, (None, *get_args(Policy)))
    mode = mapping.release_mode.with_missing(missing).with_unseen(unseen)
    return meeting(mode, engines.distinct_rows(mapping.counts.domain, table, mapping.problem.csv, weighting, progress))
