"""The public object: a fitted mapping, which transforms tables, explains itself, and can be kept in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import numpy as np

from evenhand import check, engines, storage, tables
from evenhand.arrays import Cells, Numbers, positions
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, Formulas, Marking
from evenhand.errors import DataError, EvenhandError, SpecError, StorageError
from evenhand.findings.assurance import Assurance
from evenhand.findings.audit import Audit, audit
from evenhand.findings.cells import cell_numbers, cell_table
from evenhand.findings.changes import changes
from evenhand.findings.charts import Kind, mapping_charts
from evenhand.findings.coverage import MANY_NEW, fitted_coverage, new_cells, new_cells_share
from evenhand.findings.described import described
from evenhand.findings.explaining import Explaining, Explanation
from evenhand.findings.giving_away import MOST_ROWS, given_away_words, giving_away
from evenhand.findings.history import History, add_batch, read_history
from evenhand.findings.models import Predictor, check_model, check_weights_taken, model_rates, predicted_scores
from evenhand.findings.monitoring import Monitored, monitor
from evenhand.findings.new_people import (
    Meeting,
    Origins,
    Realised,
    left_segments,
    meeting,
    of_new_groups,
    realised,
    with_own_target,
    without_people,
)
from evenhand.findings.prices import Prices, prices
from evenhand.findings.released import by_counts, by_manifest
from evenhand.findings.theory import Theory
from evenhand.findings.theory.rates import share
from evenhand.kernel import Kernel, for_apply
from evenhand.kernel.achieved import Achieved, achieved, released_conditional
from evenhand.kernel.draws import MODES
from evenhand.kernel.strangers import Policy, strangers
from evenhand.optimize.certificate import Certificate, bounding, certify
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import Multipliers
from evenhand.render.chart import Picture
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section
from evenhand.resources import Progress
from evenhand.spec import Problem, Recorded, nest, outcome_given_features, with_margins
from evenhand.tables import Frame, Record, Restore
from evenhand.tables.splitting import split
from evenhand.tables.transforming import (
    Draw,
    How,
    Missing,
    Mode,
    Transformer,
    Unseen,
    apply_mode,
    domain_with,
    train_mode,
    transform,
    transform_person,
)
from evenhand.tables.unfolding import unfold
from evenhand.tolerances import CONTRADICTION

if TYPE_CHECKING:
    import pandas as pd

Path = str | os.PathLike[str]

F = TypeVar("F")
"""A dataframe, of the type that was given."""


@dataclass(frozen=True, eq=False, repr=False)
class Mapping(Finding):
    """A randomized mapping P(x̂, ŷ | d, x, y), with the table it was fitted on and its certificate.

    Made by :func:`evenhand.fit` or :meth:`load`. ``assurance`` says what a problem's ``confidence`` promises of the
    population, and with which margins; None where none was asked for. ``fitted_by`` is the command line that fitted
    it, without where it wrote to; None where it was fitted from Python.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.frame)
    >>> mapping
    <Mapping of 5,278 people, 4 groups: rate of is_recid=1 37–59 % → 37–40 %, 564 records changed, optimal>
    >>> released = mapping.release(data.frame, seed=0)
    >>> list(released.columns) == list(data.frame.columns)
    True
    """

    problem: Problem
    counts: Counts
    kernel: Kernel
    multipliers: Multipliers
    certificate: Certificate
    assurance: Assurance | None = None
    fitted_by: str | None = None

    @property
    def certified(self) -> Problem:
        """The problem whose programme the certificate, the prices and the proof are of: with margins, if it has any."""
        return self.problem if self.assurance is None else with_margins(self.problem, self.assurance.margins)

    @property
    def objective(self) -> float:
        """Δ(p, r) achieved."""
        return self.certificate.objective

    @cached_property
    def achieved(self) -> Achieved:
        """Every bounded quantity in plain arrays."""
        return achieved(self.problem, self.counts, self.kernel)

    @cached_property
    def apply_kernel(self) -> Kernel:
        """The reduced mapping p(x̂ | d, x)."""
        return for_apply(self.kernel, self.counts, blind=self.problem.blind)

    @cached_property
    def conditional(self) -> Numbers | None:
        """Where D is suppressed: p(ŷ|x̂), a row per observed x (``counts.features.cells``), a column per outcome."""
        if not self.problem.suppresses:
            return None
        found = outcome_given_features(self.problem.conditional, self.counts, self.counts.features.cells)
        if self.problem.alternates:
            cells, released = released_conditional(self.counts, self.kernel)
            found[np.searchsorted(self.counts.features.cells, cells)] = released
        return found

    @cached_property
    def release_mode(self) -> Transformer:
        """Train mode: which sources it knows, the row of each, and what becomes of people of any other."""
        return train_mode(
            self.counts,
            self.kernel,
            blind=self.problem.blind,
            policies=strangers(self.problem, self.counts, self.kernel, self.conditional),
            nest=nest(self.problem, self.counts.domain),
        )

    @cached_property
    def apply_mode(self) -> Transformer:
        """Apply mode: the same for what is known before the outcome."""
        return apply_mode(self.counts, self.apply_kernel, blind=self.problem.blind)

    @cached_property
    def new_cells(self) -> Note | None:
        """How many new people will be in cells that nobody had, and what becomes of them; None where they are few."""
        share = new_cells_share(self.counts, blind=self.problem.blind)
        return None if share < MANY_NEW else new_cells(share, self.release_mode.then)

    @cached_property
    def theory(self) -> Theory:
        """The paper's propositions as numbers for this mapping, and what people can use beside them."""
        return Theory(self.problem, self.counts, self.kernel, self.release_mode)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells of the features that somebody is in: who is in each, in words, how many people, and their rates.

        One row for each cell, by its number, which :meth:`cell_of` gives to people. Each group has three columns: its
        people in the cell, and their rate of one outcome, the favourable or else the last, before and after.
        """
        return cell_table(self.problem, self.counts, self.kernel).frame

    def cell_of(self, frame: Frame, *, missing: Missing | None = None) -> Cells:
        """Return the number in :attr:`cells` of each row's cell; 0 where nobody was in it.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> number = mapping.cell_of(data.frame.head(1))
        >>> mapping.cells.query("cell in @number")["rule"].tolist()
        ['age_cat=..., c_charge_degree=..., priors_count=...']
        """
        axis = domain_with(self.counts.domain, missing).x
        cell, new = tables.cells(axis, tables.read(frame))
        found, place = positions(self.counts.features.cells, cell)
        return np.where(found & ~new, np.append(cell_numbers(self.counts), 0)[place], 0)

    def audit(
        self,
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
            With ``table``: what becomes of people in cells that nobody had, as in :meth:`release`; ``coverage`` tells
            how many they are.
        missing : {"level", "error"}, optional
            As in :meth:`release`. Rows with a missing value that has no level are counted in ``coverage``, and left out
            of everything else.
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
        check.progress(progress)
        if table is None:
            covered, new = fitted_coverage(self.counts), self.new_cells
            more = () if new is None else (new,)
            scores = self._scores(self.counts, "typical")
            return audit(self.problem, self.counts, self.kernel, self.achieved, covered, scores, more=more)
        table, weighting = self._weighting(table, weights, frequencies)
        engines.refuse_mistaken(table, self.problem.csv, weighting)
        met = self._met(table, weighting, missing, progress, unseen)
        problem = with_own_target(self.problem, self.counts)
        measured = achieved(problem, met.counts, met.kernel)
        scores = self._scores(met.counts, unseen or "typical")
        absent, strange = without_people(self.counts, met.counts), of_new_groups(self.counts, met)
        uncounted = [Note("text", {"text": words}) for words in (*met.uncounted, *absent, *strange)]
        said = self._released(table, met.counts) or self._given_away(table, self._mode("release", unseen, missing))
        more = () if said is None else (Note("text", {"text": said}),)
        return audit(problem, met.counts, met.kernel, measured, met.coverage, scores, uncounted, more=more)

    def _released(self, table: AnyTable, counts: Counts | None) -> str | None:
        """Say of a table that this mapping wrote it, where its manifest tells so or it looks so; else None."""
        told = by_manifest(table, storage.fingerprint(self.problem, self.counts, self.kernel))
        if told is not None or counts is None:
            return told
        return by_counts(self.counts, self.kernel, counts, blind=self.problem.blind)

    def _given_away(self, table: AnyTable, mode: Transformer) -> str | None:
        """Name the columns of a table that would reveal what a mode changes; Spark dataframes are not examined."""
        if engines.is_spark(table):
            return None
        given = engines.opened(table, self.problem.csv, MOST_ROWS)
        passed = [name for name in given.table.columns if name not in self.problem.columns]
        return given_away_words(giving_away(mode, given.table, passed, text=given.text))

    def _scores(self, people: Counts, policy: Policy) -> tuple[Numbers, Numbers]:
        """Return the mean scores of people by models that see the protected columns, and that do not."""
        given = self.problem, self.counts, self.kernel
        seeing, not_seeing = (
            predicted_scores(*given, protected=sees, people=people, policy=policy) for sees in (True, False)
        )
        return seeing, not_seeing

    def monitor(
        self,
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
            As in :meth:`audit`. With weights, limits and intervals are approximate.
        confidence : float
            With which a random sample of the fitted people's population has nothing told as drifted, and every interval
            holds, all at once.
        history : path, optional
            A file to which one line is added about this batch: made if there is none, refused if it is damaged or that
            of another mapping. :meth:`history` reads it.
        name : str, optional
            What the batch is called there; by default the path's own name.
        seed : int
            Of the one release whose rates have intervals, and of what sampling alone gives.
        unseen : {"typical", "keep"}, optional
            As in :meth:`audit`.
        missing : {"level", "error"}, optional
            As in :meth:`audit`.
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
        check.progress(progress)
        check.one_of("unseen", unseen, (None, *get_args(Policy)))
        # A history that cannot be added to is refused before any work is done.
        before = None if history is None else self.history(check.path("history", history))
        if name is not None:
            check.text("name", name)
        elif engines.is_path(table):
            name = os.path.basename(os.fspath(cast(Path, table)))
        modes = self._mode("release", unseen, missing), self._mode("apply", None, missing)
        table, weighting = self._weighting(table, weights, frequencies)
        found = monitor(
            self.problem, self.counts, modes, table, weighting=weighting, confidence=share("confidence", confidence),
            seed=check.seed("seed", seed), progress=progress, released=lambda counts: self._released(table, counts),
        )  # fmt: skip
        if before is not None:
            add_batch(before, found, name)
        return found

    def history(self, path: Path) -> History:
        """Read the batches that :meth:`monitor` wrote into a file; a file that is not there yet has none.

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
        return read_history(check.path("path", path), storage.fingerprint(self.problem, self.counts, self.kernel))

    def realised(
        self,
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
            A result of :meth:`release`, or any other with the protected columns, the features and the outcome.
        original : dataframe or path, optional
            The table that was released, with the same rows in the same order. It is read where parity is bounded
            within segments (``given``) that people may have left: a released table alone does not tell who was in them,
            and whether such a bound is kept is not known without it.
        weights, frequencies : str or sequence of numbers, optional
            As in :meth:`audit`.
        missing : {"level", "error"}, optional
            As in :meth:`audit`.
        progress : callable, optional
            For a path: called with a text and the share that is counted.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> mapping.realised(mapping.release(data.frame, seed=0, draw="independent")).words
        ('PairwiseParity, tightest comparison: is_recid=1 40... ratio 1.09..., at most 1.1000 allowed',)
        >>> mapping.realised(mapping.release(data.frame, seed=0)).verdict.one_person
        True
        """
        check.progress(progress)
        problem = with_own_target(self.problem, self.counts)
        table, weighting = self._weighting(table, weights, frequencies)
        met = self._met(table, weighting, missing, progress)
        segments = left_segments(problem, self.counts.domain)
        if original is None or not segments:
            return realised(problem, self.counts, met)
        if weighting is not None and weighting.repeats:
            raise SpecError(
                "original= pairs rows one by one, and a released table of counts has other rows: release a table with "
                "one row per person"
            )
        origins = Origins(self.release_mode.with_missing(missing).domain, segments)
        engines.each_pair(origins.add, original, table, origins.columns, weighting, self.problem.csv, progress)
        return realised(problem, self.counts, met, origins.became())

    def _weighting(self, table: AnyTable, weights: Any, frequencies: Any) -> tuple[AnyTable, Weighting | None]:
        """Return a table, what is lazy collected, and by what its rows count."""
        return engines.weighting_in([self.problem], table, weights, frequencies)

    def _met(
        self,
        table: AnyTable,
        weighting: Weighting | None,
        missing: Missing | None,
        progress: Progress | None,
        unseen: Policy | None = None,
    ) -> Meeting:
        check.one_of("unseen", unseen, (None, *get_args(Policy)))
        mode = self.release_mode.with_missing(missing).with_unseen(unseen)
        return meeting(mode, engines.distinct_rows(self.counts.domain, table, self.problem.csv, weighting, progress))

    @property
    def has_prices(self) -> bool:
        """Whether the problem is convex, so that its optimum has multipliers."""
        return not self.problem.alternates and self.problem.utility.certifiable

    def prices(self) -> Prices:
        """Return what relaxing each parity bound and each budget by one unit would gain, in units of Δ.

        Prices are multipliers of the optimum. A local optimum (``suppress_protected="alternating"``) and a quasiconvex
        utility have none.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> round(mapping.prices().parity[0], 4)
        0.1257
        """
        if not self.has_prices:
            raise SpecError("prices are multipliers of a convex optimum, which this mapping's problem does not have")
        problem = self.certified
        compiled = compile_problem(problem, self.counts)
        return prices(problem, self.counts, compiled, self.kernel, self.multipliers)

    def proof(self, path: Path) -> None:
        """Write a proof of the certificate: counts, statement, kernel and multipliers, as JSON.

        ``evenhand verify PATH``, or the standalone script ``evenhand/verifier.py`` alone, checks it in exact
        arithmetic: an auditor needs neither evenhand nor a solver. It holds the counts of the table's (d, x, y)
        cells.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> import os, tempfile
        >>> from evenhand import verifier
        >>> path = os.path.join(tempfile.mkdtemp(), "compas.proof")
        >>> mapping.proof(path)
        >>> verifier.verify(path).stands
        True
        """
        # Nothing else needs it, nor the verifier, which is long and whose words it writes.
        from evenhand.findings import proof

        proof.write_mapping(path, self.certified, self.counts, self.kernel, self.multipliers, self.certificate)

    def model_rates(
        self,
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
            :class:`PreprocessedClassifier`.
        missing : {"level", "error"}, optional
            As in :meth:`release`; a model is handed what is missing as it is.

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
        check_model(model)
        table, columns = tables.read(frame), self.problem.columns
        if not len(table):
            raise DataError("the table has no rows, on which a model could be fitted")
        _, weighting = self._weighting(table, weights, frequencies)
        own = tables.weights_of(columns, table, weighting)
        row, weight = (tables.unused(name, table.columns) for name in ("row", "weight"))
        train: tuple[Any, Numbers | None]
        if released is None:
            check_weights_taken(model)
            every = tables.to_pandas(
                self.expand(frame, weights=weights, frequencies=frequencies, weight_column=weight, missing=missing)
            )
            train = every, every[weight].to_numpy(dtype=float)
        else:
            try:
                train = released, tables.weights_of(columns, tables.read(released), weighting)
            except DataError as error:
                raise DataError("released: ", *error.pieces) from None
        new = tables.to_pandas(self.possibilities(frame, row_column=row, weight_column=weight, missing=missing))
        chance = new[weight].to_numpy(dtype=float)
        counted_by = chance if own is None else chance * own[new[row].to_numpy()]
        rates: pd.DataFrame = model_rates(
            self.problem, self.counts, self.kernel, train, (new, counted_by), model, protected=protected
        )
        return rates

    def predictor(self) -> Predictor:
        """Return the table p(ŷ | x̂, d) of this mapping composed with apply mode, eq. (8): a model without sampling.

        On the table that was fitted its mean score in each group is p(ŷ|d), to rounding; see
        :class:`~evenhand.findings.models.Predictor` for what holds with ``suppress_protected`` and ``blind``.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> mapping.predictor().predict_proba(data.frame).shape
        (5278, 2)
        """
        return Predictor(self.problem, self.counts, self.kernel)

    def chart(self, kind: Kind = "rates", **options: Any) -> Picture:
        """Return a picture of what the mapping does; its ``save`` writes SVG, HTML or, with the extra ``charts``, PNG.

        Parameters
        ----------
        kind : {"rates", "heat", "cohorts", "changes"}
            ``rates``: each group's rates before and after, with intervals (``confidence``). ``heat``: P(x̂, ŷ | d, x, y)
            for parts of the table (``where``, such as ``{"sex": "Male", "is_recid": 1}``, or several). ``cohorts``:
            rates by combination of features, for everybody and by group (``groups``), and their change (``show``).
            ``changes``: who changes, to what, how likely.
        **options
            Besides those, ``hide_below``: cells (for cohorts, 20 by default) of fewer people are not shown; ``title``.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> mapping.chart("changes", hide_below=50)
        <Picture: Who changes, to what, and how likely>
        """
        return Picture(mapping_charts(kind, self.problem, self.counts, self.kernel, self.achieved, **options))

    def table(self, mode: Mode = "release") -> pd.DataFrame:
        """Return the mapping as tidy rows of positive probability.

        ``mode="release"`` has the protected, feature and outcome columns, ``to_`` columns for the features and the
        outcome, and ``probability``; ``mode="apply"`` has no outcome, and is p(x̂ | d, x).
        """
        check.one_of("mode", mode, MODES)
        domain, counts = self.counts.domain, self.counts
        if mode == "apply":
            kernel = self.apply_kernel
            known = counts.features if self.problem.blind else counts.people_before_outcome
            d, x = np.divmod(known.cells[kernel.rows], domain.x.size)
            who = {} if self.problem.blind else tables.labels(domain.d, d)
            to = tables.labels(domain.x, kernel.targets, prefix="to_")
            return tables.beside(who | tables.labels(domain.x, x), to | {"probability": kernel.probability})
        rows = self.kernel.rows
        to_x, to_y = domain.split_xy(self.kernel.targets)
        who = {
            **tables.labels(domain.d, counts.d[rows]),
            **tables.labels(domain.x, counts.x[rows]),
            **tables.labels(domain.y, counts.y[rows]),
        }
        to = tables.labels(domain.x, to_x, prefix="to_") | tables.labels(domain.y, to_y, prefix="to_")
        return tables.beside(who, to | {"probability": self.kernel.probability})

    def release(
        self,
        frame: AnyTable,
        *,
        seed: int | None = None,
        key: str | None = None,
        draw: Draw | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        restore: Restore = "sample",
        frequencies: str | None = None,
        to: Path | None = None,
        changes: Path | None = None,
        mark: str | None = None,
        formulas: Formulas = "keep",
        manifest: Path | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Train mode: draw (x̂, ŷ) for every row, given its (d, x, y).

        Parameters
        ----------
        frame : dataframe or path
            Holds the protected, feature and outcome columns; others are passed through. A path names CSV or Parquet
            files, which are read and written in batches. A Spark dataframe stays lazy, and needs ``key``.
        seed : int, optional
            Makes the release repeatable: the same seed, table and options give the same result. By default a fresh one
            is drawn, which the logger ``evenhand`` has at level INFO and a result in a file in its ``options``; with
            ``key`` it is 0. Without ``key`` draws go by position, so give each batch a seed of its own. Choose a seed
            before you see any result.
        key : str, optional
            A column that says who a row is. A row's draw then depends on its key, the seed and the mode alone: the same
            person gets the same draw in any order, in any table, from any engine. Rows that share a key share a draw.
        draw : {"balanced", "independent"}, optional
            ``balanced``, the default without ``key``: all rows are drawn together. The number of people with each
            outcome is its expectation rounded down or up: in every cell (d, x, y), in every group and segment that
            parity compares, and in total. Each move is within two of its expectation. Each person's probabilities stay
            the same, but a row's result depends on the other rows. Not everything can be balanced: not groups that
            cross, released segments, groups of a blind mapping, rows that share a key, very many new cells. The rest
            is, with a warning if you wrote ``draw="balanced"``; by default the logger ``evenhand`` has it. Spark and
            SQL have no balanced draws.
            ``independent``, the default with ``key``: each row is drawn on its own.
            :meth:`apply` draws no outcome: balanced, the number of rows with the same (d, x) that make each move is its
            expectation rounded down or up.
        unseen : {"typical", "keep", "error"}, optional
            What to do with rows whose (d, x, y) was not in the table that was fitted. ``typical``: they keep their
            features and draw ŷ as the fitted people of their group and outcome do on average, mixed with staying as far
            as their own budgets ask; where D is suppressed, from p(ŷ|x), or from p(ŷ) where nobody had x. ``keep``:
            they stay as they are (where D is suppressed, with ŷ from p(ŷ|x)). A row of a group that was not fitted
            (unless D is suppressed, or not read), or with a value that is no level, stays as it is. By default
            ``typical``.
        missing : {"level", "error"}, optional
            What a missing value is in a column where the fitted table had none: ``level``, one that nobody had, so that
            its row is an unseen one (as a rule kept as it is, and counted), or an error that names the row. By default
            what the problem says. Where missing values have a level in the mapping, they keep it; a missing outcome is
            an error.
        restore : {"sample", "midpoint", "label"}
            What is written where a column has bins, or merged levels, and its level changes: a value that somebody of
            the new level had in the fitted table, the middle of the bin (the commonest of merged values), or the
            level's name, in which case the whole column becomes text. A value whose level does not change stays.
        frequencies : str, optional
            The column of a table of counts that says for how many people a row stands; by default the one that the
            problem names, where the table has it. The result has one row for each result of a row, and these numbers
            add up to that of the row. With ``draw="balanced"`` they are the expected numbers, rounded. ``key`` and
            ``changes`` need one row per person.
        to : path, optional
            Where the result goes if ``frame`` is a path: .csv or .parquet. It appears there when it is complete.
        changes : path, optional
            With ``to``: where to list what changed, as .csv or .parquet: one row for each value that is another than it
            was, with ``row`` (counted from 1), ``key`` if there is one, ``column``, ``before``, ``after`` and
            ``probability``: that of the person's whole drawn move, P(x̂, ŷ | d, x, y), in apply mode p(x̂ | d, x).
        mark : str, optional
            With ``to``: a column to add that says in every row that the file was altered.
        formulas : {"keep", "escape", "refuse"}
            With ``to`` a .csv file: what becomes of cells that a spreadsheet would take for formulas, which begin with
            ``= + - @`` and are no numbers. They pass through, get an apostrophe before them, or are an error.
        manifest : path, optional
            With ``to`` a .parquet file: the manifest that will be written for it, whose name its metadata then states
            beside the mapping's digest.
        progress : callable, optional
            For files: called with a text and the share that is done.

        Returns
        -------
        dataframe
            Of the same type, with the same columns; for a path, what was done, with ``rows``, ``changed``, ``unseen``
            (``missing`` of them for a missing value) and ``path``; of a table of counts also ``people``, of whom
            ``changed`` have new values, and ``results``, the number of rows that were written.
        """
        how = How.of_release(seed, key=key, draw=draw, unseen=unseen, restore=restore)
        marking = self._marking("release", mark, formulas, manifest, to)
        return self._transformed("release", frame, how, missing, frequencies, to, changes, marking, progress)

    def apply(
        self,
        frame: AnyTable,
        *,
        seed: int | None = 0,
        key: str | None = None,
        draw: Draw = "independent",
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        restore: Restore = "sample",
        frequencies: str | None = None,
        to: Path | None = None,
        changes: Path | None = None,
        mark: str | None = None,
        formulas: Formulas = "keep",
        manifest: Path | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Apply mode: draw x̂ for every row, given its (d, x). An outcome column is passed through unread.

        Takes the same parameters as :meth:`release`; the defaults are seed 0, where None takes a fresh one, and
        independent draws. It reads the protected columns, unless the mapping is blind: then it needs none, and draws
        from p(x̂|x).

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> new = mapping.apply(data.frame.drop(columns="is_recid"), seed=0)
        >>> len(new), "is_recid" in new.columns
        (5278, False)
        """
        how = How.of_apply(seed, key=key, draw=draw, unseen=unseen, restore=restore)
        marking = self._marking("apply", mark, formulas, manifest, to)
        return self._transformed("apply", frame, how, missing, frequencies, to, changes, marking, progress)

    def person(
        self,
        row: Record,
        *,
        mode: Mode = "apply",
        key: str | None = None,
        seed: int | None = 0,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        restore: Restore = "sample",
    ) -> dict[str, Any]:
        """Apply mode or train mode for one person, in plain values: no dataframe is made.

        What comes out is what :meth:`apply` or :meth:`release` makes of a frame with this one row and the same options,
        drawn independently, in some tens of microseconds. May be called from any number of threads.

        Parameters
        ----------
        row : mapping of str to value
            A value for each column: Python's own or NumPy's; None, NaN and pandas' NA are missing values. Entries that
            the problem does not name are passed through, and so is the outcome in apply mode.
        mode : {"apply", "release"}
            Which of the two.
        key : str, optional
            The entry of the row that says who this is, as ``key`` names a column of a frame. The same person then gets
            the same draw as in any table, file or database.
        seed : int or None
            Makes the draw repeatable. Without ``key`` a row has the draw of the first row of any frame: people who are
            scored one at a time with one seed all have the same, so give a key, or None for a fresh seed.
        unseen : {"typical", "keep", "error"}, optional
            As in :meth:`release`: what becomes of somebody of an unknown kind, with a warning, or an error.
        missing : {"level", "error"}, optional
            As in :meth:`release`.
        restore : {"sample", "midpoint", "label"}
            As in :meth:`release`.

        Returns
        -------
        dict
            The same entries in the same order. A value that changes is one of Python's own, of the kind that was given
            (a whole number for a whole number, a real one for a real one); a missing one is None.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> person = {"id": "p-20", "sex": "Male", "race": "African-American", "age_cat": "25 - 45"}
        >>> new = mapping.person({**person, "c_charge_degree": "F", "priors_count": "1-3"}, key="id", seed=0)
        >>> list(new), new["priors_count"]
        (['id', 'sex', 'race', 'age_cat', 'c_charge_degree', 'priors_count'], '0')
        """
        record = check.mapping("row", row, "a mapping of columns to values, such as a dict")
        how = How.of(seed, key=key, unseen=unseen, restore=restore)
        return transform_person(self._mode(mode, unseen, missing), record, how, fresh=seed is None)

    def explain(
        self,
        row: Record,
        *,
        mode: Mode | None = None,
        beside: Record | None = None,
        unseen: Policy | None = None,
        missing: Missing | None = None,
    ) -> Explanation:
        """Explain one person: what may become of them and how likely, which limits bind, why another differs.

        Parameters
        ----------
        row : mapping of str to value
            A value for each column, as in :meth:`person`.
        mode : {"release", "apply"}, optional
            Train mode or apply mode; by default train mode where the row has an outcome.
        beside : mapping of str to value, optional
            Another person, from whom this one is told apart.
        unseen : {"typical", "keep"}, optional
            As in :meth:`release`.
        missing : {"level", "error"}, optional
            As in :meth:`release`.

        Returns
        -------
        Explanation
            ``table`` has every possible result with its probability; ``print`` shows all of it in sentences.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> person = {"sex": "Male", "race": "African-American", "age_cat": "25 - 45", "c_charge_degree": "F"}
        >>> found = mapping.explain({**person, "priors_count": "1-3", "is_recid": 1})
        >>> found.known, round(found.stays, 3), found.limits[0].binds
        ('fitted', ..., True)
        """
        record = check.mapping("row", row, "a mapping of columns to values, such as a dict")
        check.one_of("mode", mode, (None, *MODES))
        check.one_of("unseen", unseen, (None, *get_args(Policy)))
        chosen = mode or ("release" if self.problem.outcome in record else "apply")
        about = self.explaining(chosen, unseen, missing)
        lookup = about.mode.lookup
        own = lookup.placed(lookup.levels(lookup.values(record)))
        if beside is None:
            return about.explain(own)
        other = check.mapping("beside", beside, "a mapping of columns to values, such as a dict")
        return about.explain(own, lookup.placed(lookup.levels(lookup.values(other))))

    def explaining(self, mode: Mode, unseen: Unseen | None = None, missing: Missing | None = None) -> Explaining:
        """Return the mapping in one mode, from which any number of people are explained."""
        given = self.problem, self.counts, self.achieved, self._mode(mode, unseen, missing), self.kernel
        return Explaining(*given, margins=self.assurance is not None)

    def _transformed(
        self,
        name: Mode,
        frame: AnyTable,
        how: How,
        missing: Missing | None,
        frequencies: str | None,
        to: Path | None,
        changes: Path | None,
        marking: Marking,
        progress: Progress | None,
    ) -> Any:
        check.progress(progress)
        mode = self._mode(name, how.unseen, missing)
        if frequencies is not None:
            check.column("frequencies", frequencies)
        _, weighting = self._weighting(frame, None, frequencies)
        counts = weighting if weighting is not None and weighting.repeats else None
        if engines.is_path(frame):
            options = self.problem.csv, progress, changes, marking
            if counts is None:
                done = engines.transform_file(mode, frame, to, how, *options)
            else:
                done = engines.split_file(mode, frame, to, how, counts, *options)
            drawn = {"seed": how.seed, "seed_origin": how.seed_origin, "key": how.key, "draw": how.draw}
            counted = {"frequencies": None if counts is None else counts.column}
            return replace(done, options={**drawn, **counted, **self._said(name, how, missing), **marking.options})
        if to is not None:
            raise SpecError("to= names the result of a file; a dataframe is returned")
        if changes is not None:
            raise SpecError("changes= lists what changed in a file; of a dataframe, compare it with what is returned")
        if engines.is_spark(frame):
            if counts is not None:
                raise SpecError(
                    "Spark transforms one row per person, and these rows stand for several: collect the table of "
                    "counts first, with toPandas()"
                )
            return engines.transform_spark(mode, frame, how)
        if counts is not None:
            return tables.returned(split(mode, tables.read(frame), how, counts).table, frame)
        return tables.returned(transform(mode, tables.read(frame), how).table, frame)

    def _marking(self, mode: str, mark: Any, formulas: Any, manifest: Any, to: Path | None) -> Marking:
        """Return what a file that is written says of itself; nothing of it goes with a dataframe."""
        digest = storage.fingerprint(self.problem, self.counts, self.kernel)
        marking = Marking.of(mode, digest, column=mark, formulas=formulas, manifest=manifest)
        for name, value in (marking.options | {"formulas": None if marking.formulas == "keep" else formulas}).items():
            if value is not None and to is None:
                raise SpecError(f"{name}= says how a file is written; it goes with to=, and not with a dataframe")
        return marking

    def _said(self, mode: str, how: How, missing: Missing | None) -> dict[str, Any]:
        """Return what was asked for, as whoever wants to do the same again needs it."""
        return {
            "mode": mode, "unseen": how.unseen or "typical", "missing": missing, "restore": how.restore.value,
        }  # fmt: skip

    def _mode(self, mode: Mode, unseen: Unseen | None, missing: Missing | None) -> Transformer:
        check.one_of("mode", mode, MODES)
        chosen = self.release_mode if mode == "release" else self.apply_mode
        return chosen.with_missing(missing).with_unseen(unseen)

    def to_sql(
        self,
        dialect: str,
        table: str | Sequence[str],
        key: str,
        *,
        mode: Mode = "apply",
        seed: int | None = 0,
        draw: Draw = "independent",
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        restore: Restore = "sample",
        columns: Sequence[str] | None = None,
    ) -> str:
        """Return a query that does what :meth:`apply` or :meth:`release` does with a key, to a table of a database.

        It needs nothing but the table: the mapping's changes are written into it. The rows that come out are those of
        ``mapping.apply(frame, key=key, seed=seed)``, value for value, in the order that the engine gives them. Needs
        the extra ``sql``.

        Parameters
        ----------
        dialect : str
            The engine that is to run it, such as ``"duckdb"``. For all columns, Spark must be of version 4 or newer.
        table : str or sequence of str
            The table's name as the engine keeps it, such as ``"people"`` or ``"sales.people"``; a name that has a dot
            of its own is given as a sequence of parts. Everything is quoted.
        key : str
            The column that says who a row is: text, whole numbers, dates, booleans or UUIDs. A missing key ends the
            query with an error, and so does a missing value where ``missing`` does not allow it.
        mode : {"apply", "release"}
            Which of the two.
        seed : int or None
            Makes the draws repeatable; None takes one fresh seed, which the query then holds.
        draw : {"independent"}
            Balanced draws depend on all rows of a source, and are refused.
        unseen : {"typical", "keep", "error"}, optional
            As in :meth:`release`, but without a warning; an error ends the query.
        missing : {"level", "error"}, optional
            As in :meth:`release`: whether a missing value for which the mapping has no level makes its row an unseen
            one, or ends the query.
        restore : {"sample", "midpoint", "label"}
            As in :meth:`release`.
        columns : sequence of str, optional
            The columns that come out, in their order; by default all of the table, in theirs. PostgreSQL needs it with
            ``restore="label"``.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> query = mapping.to_sql("duckdb", "people", "id")
        >>> import duckdb
        >>> people = data.frame.reset_index(names="id").astype({"age_cat": str, "priors_count": str})
        >>> new = duckdb.sql(query).df().sort_values("id", ignore_index=True)
        >>> new.equals(mapping.apply(people, key="id"))
        True
        """
        how = How.of(seed, key=key, draw=draw, unseen=unseen, restore=restore)
        query = engines.write_query(self._mode(mode, unseen, missing), how, dialect, table, columns)
        if self.problem.frequencies is not None and self.problem.frequencies in (columns or ()):
            raise SpecError(
                f"a query gives each row one result, and {self.problem.frequencies!r} says that a row stands for "
                f"several people: release a file or a dataframe"
            )
        return query

    def possibilities(
        self,
        frame: F,
        *,
        mode: Mode = "apply",
        restore: Restore = "midpoint",
        row_column: str = "row",
        weight_column: str = "weight",
        unseen: Unseen | None = None,
        missing: Missing | None = None,
    ) -> F:
        """Return every possible result of each row, with the position of the row and the probability of the result.

        A model's expected score for a person is the mean of its scores over these, by weight.

        Parameters
        ----------
        frame : dataframe
            As in :meth:`release` or :meth:`apply`.
        mode : {"apply", "release"}
            Which of the two.
        restore : {"midpoint", "label"}
            As in :meth:`release`; without a lottery, no value is sampled.
        row_column, weight_column : str
            The names of the two columns that are added.
        unseen : {"typical", "keep", "error"}, optional
            As in :meth:`release`.
        missing : {"level", "error"}, optional
            As in :meth:`release`.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> every = mapping.possibilities(data.frame.head(100))
        >>> round(float(every["weight"].sum()), 6)
        100.0
        """
        chosen = self._mode(mode, unseen, missing)
        table = tables.read(frame)
        tables.refuse_taken("row_column", row_column, table.columns)
        tables.refuse_taken("weight_column", weight_column, table.columns)
        if row_column == weight_column:
            raise SpecError(f"row_column and weight_column must be two names, not both {row_column!r}")
        how = How.of(0, unseen=unseen, restore=restore)
        wide, rows, share = unfold(chosen, table, how)
        found: F = tables.returned(tables.with_columns(wide, {row_column: rows, weight_column: share}), frame)
        return found

    def expand(
        self,
        frame: AnyTable,
        *,
        weights: str | Sequence[float] | None = None,
        frequencies: str | Sequence[int] | None = None,
        weight_column: str = "weight",
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        restore: Restore = "midpoint",
        to: Path | None = None,
        mark: str | None = None,
        formulas: Formulas = "keep",
        manifest: Path | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Train mode without the lottery: every possible (x̂, ŷ) of each row, with its weight.

        Equal rows are merged and their weights added, so a model fitted with these weights has no sampling noise. Rows
        are equal if they are so in all columns, also in those that the problem does not name.

        Parameters
        ----------
        frame : dataframe or path
            As in :meth:`release`; a Spark dataframe must be collected first.
        weights, frequencies : str or sequence of numbers, optional
            A column of the table, which the result does not have, or one number per row of a frame. By default the
            column that the problem names, where the table has it.
        weight_column : str
            The name of the column of weights in the result; they sum to the number of rows, or to those of the table.
        unseen : {"typical", "keep", "error"}, optional
            As in :meth:`release`.
        missing : {"level", "error"}, optional
            As in :meth:`release`.
        restore : {"midpoint", "label"}
            As in :meth:`release`; without a lottery, no value is sampled.
        to : path, optional
            Where the result goes if ``frame`` is a path: .csv or .parquet. It appears there when it is complete.
        mark, formulas, manifest
            As in :meth:`release`.
        progress : callable, optional
            For files: called with a text and the share that is done.

        Returns
        -------
        dataframe
            Of the same type, with the column of weights, in the order in which rows first occur; for a path, what was
            done, with ``rows`` (read), ``results`` (rows written, in the same order), ``weight`` (their sum),
            ``unseen`` (``typical`` of them with outcomes all the same, ``missing`` with a missing value) and ``path``.
            Texts of a CSV file that are passed through are equal if they are written alike: 1 and 1.0 are two, unless
            the result is Parquet.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> weighted = mapping.expand(data.frame)
        >>> round(float(weighted["weight"].sum()), 6)
        5278.0
        """
        check.progress(progress)
        mode, how = self._mode("release", unseen, missing), How.of(0, unseen=unseen, restore=restore)
        marking = self._marking("expand", mark, formulas, manifest, to)
        _, weighting = self._weighting(frame, weights, frequencies)
        if engines.is_path(frame):
            done = engines.expand_file(
                mode, frame, to, how, weighting, weight_column, self.problem.csv, progress, marking
            )
            named = {**Weighting.named_by(weighting), "weight_column": weight_column}
            return replace(done, options={**self._said("expand", how, missing), **named, **marking.options})
        if to is not None:
            raise SpecError("to= names the result of a file; a dataframe is returned")
        table = tables.read(frame)
        given = tables.weights_of(self.problem.columns, table, weighting)
        if weighting is not None and weighting.column is not None:
            table = table.drop(weighting.column)
        tables.refuse_taken("weight_column", weight_column, table.columns)
        wide, rows, share = unfold(mode, table, how, given)
        weight = share if given is None else share * given[rows]
        return tables.returned(tables.merged(wide, weight, weight_column), frame)

    def save(self, path: Path) -> None:
        """Write the mapping into one file. It holds the counts of the table's (d, x, y) cells."""
        measure = self.problem.utility
        if measure.holds_functions:
            # A file holds no code: of a user's functions it holds what they said of this mapping.
            infimum = None
            if measure.certifiable:
                loss = compile_problem(bounding(self.certified), self.counts).program.loss
                infimum = loss.infimum(self.multipliers.released)
            measure = Recorded(measure.name, self.objective, infimum, measure.new_cells, measure.nonnegative)
        problem = replace(self.problem, utility=measure)
        claims = self.certificate.as_dict()
        stored = storage.Stored(
            problem, self.counts, self.kernel, self.multipliers, claims, self.assurance, self.fitted_by
        )
        storage.write(path, stored)

    @classmethod
    def load(cls, path: Path) -> Mapping:
        """Read a mapping file, check it, and recompute its certificate."""
        stored = storage.read(path)
        notes = tuple(str(note) for note in stored.claims.get("notes", ()))
        try:
            history = tuple(float(step) for step in stored.claims.get("history", ()))
            promised = stored.assurance
            problem = stored.problem if promised is None else with_margins(stored.problem, promised.margins)
            certificate = certify(
                problem, stored.counts, stored.kernel, stored.multipliers, notes=notes, history=history
            )
            if promised is not None:
                certificate = replace(certificate, without_confidence=promised.without)
        except EvenhandError as error:
            raise StorageError(f"{os.fspath(path)!r} holds a mapping that does not stand: ", *error.pieces) from None
        if history and abs(history[-1] - certificate.objective) > CONTRADICTION:
            raise StorageError(
                f"{os.fspath(path)!r} claims a history that ends at {history[-1]:.9g}, but its mapping has an "
                f"objective of {certificate.objective:.9g}"
            )
        return cls(
            stored.problem, stored.counts, stored.kernel, stored.multipliers, certificate, promised, stored.fitted_by
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What was asked, what the mapping does to whom, and how sure that is."""
        return tuple(described(self.audit(), self.certificate, self.assurance))

    def __repr__(self) -> str:
        who, told = changes(self.counts, self.kernel, self.achieved), self.counts.domain.shown_outcomes[-1]
        outcome = self.counts.domain.y.words(told)
        rates = (of[:, told] for of in (self.achieved.rates_before, self.achieved.rates_after))
        before, after = (f"{100 * rate.min():.0f}–{100 * rate.max():.0f} %" for rate in rates)
        share = who.share_features if self.problem.suppresses else who.share
        return (
            f"<Mapping of {self.counts.unit.write(self.counts.weight.sum())}, {len(self.counts.groups.cells)} groups: "
            f"rate of {outcome} {before} → {after}, {share * who.people:,.0f} records changed, "
            f"{self.certificate.status}>"
        )
