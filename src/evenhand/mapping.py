"""The public object: a fitted mapping, a value that transforms tables and people, and that can be kept in a file.

What else can be asked of a mapping is a function in a module of its own, which a method here calls; none of them is
loaded before it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evenhand import check, tables
from evenhand.arrays import Cells, Numbers, positions
from evenhand.data.counts import Counts
from evenhand.data.domain import among
from evenhand.errors import SpecError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved, achieved, released_conditional
from evenhand.kernel.draws import MODES
from evenhand.optimize.certificate import Certificate
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import Multipliers
from evenhand.render.finding import Finding
from evenhand.spec import Problem

if TYPE_CHECKING:
    from typing import Unpack

    import pandas as pd

    from evenhand.engines import AnyTable, Formulas
    from evenhand.findings.assurance import Assurance
    from evenhand.findings.audit import Audit
    from evenhand.findings.charts import Kind
    from evenhand.findings.explaining import Explanation
    from evenhand.findings.history import History
    from evenhand.findings.models import Predictor
    from evenhand.findings.monitoring import Monitored
    from evenhand.findings.new_people import Realised
    from evenhand.findings.prices import Prices
    from evenhand.findings.theory import Theory
    from evenhand.findings.unaware import UnawareScores
    from evenhand.render.chart import Picture
    from evenhand.render.section import Note, Section
    from evenhand.resources import Progress
    from evenhand.tables import Frame
    from evenhand.tables.person import Record
    from evenhand.tables.transforming import DrawOptions, Draws, Missing, Mode, Transformer, Unseen

Path = str | os.PathLike[str]

F = TypeVar("F")
"""A dataframe, of the type that was given."""

MANY_NEW = 0.05
"""From this share of new people on who will be in new cells, a fit warns."""

DRAWN = ("seed", "key", "draw")
"""The options of a draw that mean nothing where every result is listed."""


@dataclass(frozen=True, eq=False, repr=False)
class Mapping(Finding):
    """A randomized mapping P(x̂, ŷ | d, x, y), with the table it was fitted on and its certificate.

    Made by :func:`evenhand.fit` or :meth:`load`. ``assurance`` says what a problem's ``confidence`` promises of the
    population, and with which margins; None where none was asked for. ``suppression`` has the mean scores of a model
    that does not see the protected columns, where they are bounded. ``fitted_by`` is the command line that fitted
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
    suppression: UnawareScores | None = None
    fitted_by: str | None = None

    @property
    def certified(self) -> Problem:
        """The problem whose programme the certificate, the prices and the proof are of: with margins, if it has any."""
        if self.assurance is None:
            return self.problem
        from evenhand.spec.margins import with_margins

        return with_margins(self.problem, self.assurance.margins)

    @property
    def objective(self) -> float:
        """Δ(p, r) achieved."""
        return self.certificate.objective

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of its variables, counts, moves and bounds, which tells it from other mappings."""
        from evenhand.storage import fingerprint

        return fingerprint(self.problem, self.counts, self.kernel)

    @cached_property
    def achieved(self) -> Achieved:
        """Every bounded quantity in plain arrays."""
        return achieved(self.problem, self.counts, self.kernel)

    @property
    def apply_kernel(self) -> Kernel:
        """The reduced mapping p(x̂ | d, x); p(x̂|x) where it is blind."""
        return self.apply_mode.fitted

    @cached_property
    def conditional(self) -> Numbers | None:
        """Where D is suppressed: p(ŷ|x̂), a row per observed x (``counts.features.cells``), a column per outcome."""
        if not self.problem.suppression.redraws:
            return None
        return self.problem.suppression.conditional(self.counts, released_conditional(self.counts, self.kernel))

    @cached_property
    def release_mode(self) -> Transformer:
        """Train mode: which sources it knows, the row of each, and what becomes of people of any other."""
        from evenhand.kernel.strangers import strangers
        from evenhand.spec.nesting import nest
        from evenhand.tables.transforming import train_mode

        return train_mode(
            self.counts,
            self.kernel,
            self.problem.reads,
            policies=strangers(self.problem, self.counts, self.kernel, self.conditional),
            nest=nest(self.problem, self.counts.domain),
        )

    @cached_property
    def apply_mode(self) -> Transformer:
        """Apply mode: the same for what is known before the outcome."""
        from evenhand.tables.transforming import apply_mode

        return apply_mode(self.counts, self.kernel, self.problem.reads)

    @cached_property
    def new_cells(self) -> Note | None:
        """How many new people will be in cells that nobody had, and what becomes of them; None where they are few."""
        share = self.counts.share_of_new_cells(self.problem.reads)
        if share < MANY_NEW:
            return None
        from evenhand.render.section import Note

        return Note("coverage.new_cells", {"share": share, "then": self.release_mode.then})

    @cached_property
    def theory(self) -> Theory:
        """The paper's propositions as numbers for this mapping, and what people can use beside them."""
        from evenhand.findings.theory import Theory

        return Theory(self.problem, self.counts, self.kernel, self.release_mode)

    @cached_property
    def predictor(self) -> Predictor:
        """The table p(ŷ | x̂, d) of this mapping composed with apply mode, eq. (8): a model without sampling.

        On the table that was fitted its mean score in each group is p(ŷ|d), to rounding; see
        :class:`~evenhand.findings.models.Predictor` for what holds with ``suppress_protected`` and ``blind``.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> mapping.predictor.predict_proba(data.frame).shape
        (5278, 2)
        """
        from evenhand.findings.models import Predictor

        return Predictor(self.problem, self.counts, self.kernel)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells of the features that somebody is in: who is in each, in words, how many people, and their rates.

        One row for each cell, by its number, which :meth:`cell_of` gives to people. Each group has three columns: its
        people in the cell, and their rate of one outcome, the favourable or else the last, before and after.
        """
        from evenhand.findings.cells import cell_table

        return cell_table(self.problem, self.counts, self.kernel).frame

    @property
    def has_prices(self) -> bool:
        """Whether the problem is convex, so that its optimum has multipliers."""
        return self.problem.suppression.convex and self.problem.utility.certifiable

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What was asked, what the mapping does to whom, and how sure that is."""
        from evenhand.findings.described import described

        return tuple(described(self.audit(), self.certificate, self.assurance))

    def table(self, mode: Mode = "release") -> pd.DataFrame:
        """Return the mapping as tidy rows of positive probability.

        ``mode="release"`` has the protected, feature and outcome columns, ``to_`` columns for the features and the
        outcome, and ``probability``; ``mode="apply"`` has no outcome, and is p(x̂ | d, x).
        """
        check.one_of("mode", mode, MODES)
        domain, reads, writes, kernel = self.counts.domain, "dxy", "xy", self.kernel
        if mode == "apply":
            reads, writes, kernel = among(self.problem.reads, "dx"), "x", self.apply_kernel
        who: dict[str, Any] = {}
        to: dict[str, Any] = {}
        for axes, numbers, found, prefix in (
            (reads, self.counts.over(reads).cells[kernel.rows], who, ""),
            (writes, kernel.targets, to, "to_"),
        ):
            cells = domain.split(axes, numbers)
            for name, axis in zip(axes, domain.axes(axes), strict=True):
                found |= tables.labels(axis, cells[name], prefix=prefix)
        return tables.beside(who, to | {"probability": kernel.probability})

    def release(
        self,
        frame: AnyTable,
        draws: Draws | None = None,
        *,
        frequencies: str | None = None,
        to: Path | None = None,
        changes: Path | None = None,
        mark: str | None = None,
        formulas: Formulas = "keep",
        manifest: Path | None = None,
        progress: Progress | None = None,
        **options: Unpack[DrawOptions],
    ) -> Any:
        """Train mode: draw (x̂, ŷ) for every row, given its (d, x, y).

        Parameters
        ----------
        frame : dataframe or path
            Holds the protected, feature and outcome columns; others are passed through. A path names CSV or Parquet
            files, which are read and written in batches. A Spark dataframe stays lazy, and needs ``key``.
        draws : Draws, optional
            How results are drawn. Each option of :class:`Draws` is also a keyword here: ``seed``, ``key``, ``draw``,
            ``unseen``, ``missing`` and ``restore``.
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
        from evenhand.tables.transforming import draws_of
        from evenhand.transformation import transformed

        asked = draws_of(draws, options)
        file: dict[str, Any] = {"to": to, "changes": changes, "mark": mark, "formulas": formulas, "manifest": manifest}
        return transformed(self, "release", frame, asked, frequencies, progress, **file)

    def apply(
        self,
        frame: AnyTable,
        draws: Draws | None = None,
        *,
        frequencies: str | None = None,
        to: Path | None = None,
        changes: Path | None = None,
        mark: str | None = None,
        formulas: Formulas = "keep",
        manifest: Path | None = None,
        progress: Progress | None = None,
        **options: Unpack[DrawOptions],
    ) -> Any:
        """Apply mode: draw x̂ for every row, given its (d, x). An outcome column is passed through unread.

        Takes the same parameters as :meth:`release`. It reads the protected columns, unless the mapping is blind: then
        it needs none, and draws from p(x̂|x).

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> new = mapping.apply(data.frame.drop(columns="is_recid"), seed=0)
        >>> len(new), "is_recid" in new.columns
        (5278, False)
        """
        from evenhand.tables.transforming import draws_of
        from evenhand.transformation import transformed

        asked = draws_of(draws, options)
        file: dict[str, Any] = {"to": to, "changes": changes, "mark": mark, "formulas": formulas, "manifest": manifest}
        return transformed(self, "apply", frame, asked, frequencies, progress, **file)

    def person(
        self, row: Record, draws: Draws | None = None, *, mode: Mode = "apply", **options: Unpack[DrawOptions]
    ) -> dict[str, Any]:
        """Apply mode or train mode for one person, in plain values: no dataframe is made.

        What comes out is what :meth:`apply` or :meth:`release` makes of a frame with this one row and the same options,
        drawn independently, in some tens of microseconds. May be called from any number of threads.

        Parameters
        ----------
        row : mapping of str to value
            A value for each column: Python's own or NumPy's; None, NaN and pandas' NA are missing values. Entries that
            the problem does not name are passed through, and so is the outcome in apply mode.
        draws : Draws, optional
            How the result is drawn; each option is also a keyword. ``key`` is the entry of the row that says who this
            is: the same person then gets the same draw in any table, file or database. Without it a row has the draw of
            the first row of any frame: people who are scored one at a time with one seed all have the same, so give a
            key, or ``seed=None``.
        mode : {"apply", "release"}
            Which of the two.

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
        from evenhand.tables.transforming import draws_of, settled, transform_person

        record = check.mapping("row", row, "a mapping of columns to values, such as a dict")
        asked = draws_of(draws, options, "draw")
        return transform_person(self.mode(mode, asked.unseen, asked.missing), record, settled(asked))

    def possibilities(
        self,
        frame: F,
        draws: Draws | None = None,
        *,
        mode: Mode = "apply",
        row_column: str = "row",
        weight_column: str = "weight",
        **options: Unpack[DrawOptions],
    ) -> F:
        """Return every possible result of each row, with the position of the row and the probability of the result.

        A model's expected score for a person is the mean of its scores over these, by weight.

        Parameters
        ----------
        frame : dataframe
            As in :meth:`release` or :meth:`apply`.
        draws : Draws, optional
            Its ``unseen``, ``missing`` and ``restore``, each of which is also a keyword. Nothing is drawn, and no value
            is sampled.
        mode : {"apply", "release"}
            Which of the two.
        row_column, weight_column : str
            The names of the two columns that are added.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> every = mapping.possibilities(data.frame.head(100))
        >>> round(float(every["weight"].sum()), 6)
        100.0
        """
        from evenhand.tables.transforming import draws_of
        from evenhand.transformation import possibilities

        asked = draws_of(draws, options, *DRAWN)
        return possibilities(self, frame, asked, mode=mode, row_column=row_column, weight_column=weight_column)

    def expand(
        self,
        frame: AnyTable,
        draws: Draws | None = None,
        *,
        weights: str | Sequence[float] | None = None,
        frequencies: str | Sequence[int] | None = None,
        weight_column: str = "weight",
        to: Path | None = None,
        mark: str | None = None,
        formulas: Formulas = "keep",
        manifest: Path | None = None,
        progress: Progress | None = None,
        **options: Unpack[DrawOptions],
    ) -> Any:
        """Train mode without the lottery: every possible (x̂, ŷ) of each row, with its weight.

        A model fitted with these weights has no sampling noise. Of a dataframe equal rows are merged and their weights
        added: rows that are so in all columns, also in those that the problem does not name. In a file each row has
        results of its own.

        Parameters
        ----------
        frame : dataframe or path
            As in :meth:`release`; a Spark dataframe must be collected first.
        draws : Draws, optional
            Its ``unseen``, ``missing`` and ``restore``, each of which is also a keyword. Nothing is drawn, and no value
            is sampled.
        weights, frequencies : str or sequence of numbers, optional
            A column of the table, which the result does not have, or one number per row of a frame. By default the
            column that the problem names, where the table has it.
        weight_column : str
            The name of the column of weights in the result; they sum to the number of rows, or to those of the table.
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

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> weighted = mapping.expand(data.frame)
        >>> round(float(weighted["weight"].sum()), 6)
        5278.0
        """
        from evenhand.tables.transforming import draws_of
        from evenhand.transformation import expanded

        asked = draws_of(draws, options, *DRAWN)
        counted: dict[str, Any] = {"weights": weights, "frequencies": frequencies, "weight_column": weight_column}
        file: dict[str, Any] = {"to": to, "mark": mark, "formulas": formulas, "manifest": manifest}
        return expanded(self, frame, asked, progress, **counted, **file)

    def mode(self, mode: Mode, unseen: Unseen | None = None, missing: Missing | None = None) -> Transformer:
        """Return train mode or apply mode, as it treats unseen combinations and missing values."""
        check.one_of("mode", mode, MODES)
        chosen = self.release_mode if mode == "release" else self.apply_mode
        return chosen.with_missing(missing).with_unseen(unseen)

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
        from evenhand.findings.cells import cell_numbers
        from evenhand.tables.transforming import domain_with

        axis = domain_with(self.counts.domain, missing).x
        cell, new = tables.cells(axis, tables.read(frame))
        found, place = positions(self.counts.features.cells, cell)
        return np.where(found & ~new, np.append(cell_numbers(self.counts), 0)[place], 0)

    def audit(self, table: AnyTable | None = None, **options: Any) -> Audit:
        """Return what the mapping does to a table, in expectation. See :func:`evenhand.audit`."""
        from evenhand.evaluation import audit

        return audit(self, table, **options)

    def monitor(self, table: AnyTable, **options: Any) -> Monitored:
        """Hold a batch of new people against the fitted table and the bounds. See :func:`evenhand.monitor`."""
        from evenhand.evaluation import monitor

        return monitor(self, table, **options)

    def history(self, path: Path) -> History:
        """Read the batches that :meth:`monitor` wrote into a file. See :func:`evenhand.evaluation.history`."""
        from evenhand.evaluation import history

        return history(self, path)

    def realised(self, table: AnyTable, **options: Any) -> Realised:
        """Hold the rates of a released table against the bounds. See :func:`evenhand.evaluation.realised`."""
        from evenhand.evaluation import realised

        return realised(self, table, **options)

    def model_rates(self, frame: Frame, model: Any = None, **options: Any) -> pd.DataFrame:
        """Fit a model on the expanded table and score the people. See :func:`evenhand.evaluation.model_rates`."""
        from evenhand.evaluation import model_rates

        return model_rates(self, frame, model, **options)

    def explain(self, row: Record, **options: Any) -> Explanation:
        """Explain one person: what may become of them, and what limits it. See :func:`evenhand.explain`."""
        from evenhand.explanation import explain

        return explain(self, row, **options)

    def to_sql(self, dialect: str, table: str | Sequence[str], key: str, **options: Any) -> str:
        """Return a query for a database that draws as the mapping does. See :func:`evenhand.queries.to_sql`."""
        from evenhand.queries import to_sql

        return to_sql(self, dialect, table, key, **options)

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
        from evenhand.findings.prices import prices

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
        from evenhand.findings.charts import mapping_charts
        from evenhand.render.chart import Picture

        return Picture(mapping_charts(kind, self.problem, self.counts, self.kernel, self.achieved, **options))

    def save(self, path: Path) -> None:
        """Write the mapping into one file. It holds the counts of the table's (d, x, y) cells."""
        from evenhand import storage

        storage.save(self, path)

    @classmethod
    def load(cls, path: Path) -> Mapping:
        """Read a mapping file, check it, and recompute its certificate."""
        from evenhand import storage

        return storage.load(path)

    def __repr__(self) -> str:
        from evenhand.findings.changes import changes

        who, told = changes(self.counts, self.kernel, self.achieved), self.counts.domain.shown_outcomes[-1]
        outcome = self.counts.domain.y.words(told)
        rates = (of[:, told] for of in (self.achieved.rates_before, self.achieved.rates_after))
        before, after = (f"{100 * rate.min():.0f}–{100 * rate.max():.0f} %" for rate in rates)
        share = who.share_features if self.problem.suppression.redraws else who.share
        return (
            f"<Mapping of {self.counts.unit.write(self.counts.weight.sum())}, {len(self.counts.groups.cells)} groups: "
            f"rate of {outcome} {before} → {after}, {share * who.people:,.0f} records changed, "
            f"{self.certificate.status}>"
        )
