"""The public object: a fitted mapping, which transforms tables, explains itself, and can be kept in a file."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand import proof, storage, tables
from evenhand.achieved import Achieved, achieved, released_conditional
from evenhand.audit import Audit, audit
from evenhand.certificate import Certificate, bounding, certify
from evenhand.compile import compile_problem
from evenhand.counts import Counts, Numbers, positions
from evenhand.domain import Axis, Cells
from evenhand.errors import DataError, EvenhandError, EvenhandWarning, SpecError, StorageError
from evenhand.kernel import Kernel, for_apply, seeded_draws, with_rows
from evenhand.models import model_rates
from evenhand.prices import Prices, prices
from evenhand.program import Multipliers
from evenhand.spec import (
    Bregman,
    Problem,
    Quasiconvex,
    Recorded,
    Separable,
    Utility,
    check,
    outcome_given_features,
)
from evenhand.tables import Frame
from evenhand.theory import Theory

Mode = Literal["release", "apply"]
Unseen = Literal["keep", "error"]


@dataclass(frozen=True, eq=False, repr=False)
class Mapping:
    """A randomized mapping P(x̂, ŷ | d, x, y), with the table it was fitted on and its certificate.

    Made by :func:`evenhand.fit` or :meth:`load`.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.frame)
    >>> mapping
    <Mapping of 142 sources, ... moves: Δ = 0.0212438, optimal, gap ..., max violation ...>
    >>> released = mapping.release(data.frame, seed=0)
    >>> list(released.columns) == list(data.frame.columns)
    True
    """

    problem: Problem
    counts: Counts
    kernel: Kernel
    multipliers: Multipliers
    certificate: Certificate

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
        """Where D is suppressed: p(ŷ|x̂), a row for each observed x (``counts.features.cells``), a column an outcome."""
        if self.problem.suppress_protected is None:
            return None
        found = outcome_given_features(self.problem.conditional, self.counts, self.counts.features.cells)
        if self.problem.suppress_protected == "alternating":
            cells, released = released_conditional(self.counts, self.kernel)
            found[np.searchsorted(self.counts.features.cells, cells)] = released
        return found

    @cached_property
    def _train_kernel(self) -> Kernel:
        """The kernel, and where D is suppressed a row for each x that keeps it and draws ŷ from p(ŷ|x)."""
        if self.conditional is None:
            return self.kernel
        rows, to_y = np.nonzero(self.conditional > 0)
        targets = self.counts.domain.xy(self.counts.features.cells[rows], to_y)
        return with_rows(self.kernel, rows, targets, self.conditional[rows, to_y], len(self.conditional))

    @cached_property
    def theory(self) -> Theory:
        """The paper's propositions as numbers for this mapping, and what people can use beside them."""
        return Theory(self.problem, self.counts, self.kernel)

    def audit(self) -> Audit:
        """Return what the mapping does to the table it was fitted on, as tables and words.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> mapping.audit().rates.query("is_recid == 1")["after"].round(4).tolist()
        [0.3934, 0.3672, 0.4039, 0.4039]
        """
        return audit(self.problem, self.counts, self.kernel, self.achieved)

    @property
    def has_prices(self) -> bool:
        """Whether the problem is convex, so that its optimum has multipliers."""
        return self.problem.suppress_protected != "alternating" and self.problem.utility.certifiable

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
        compiled = compile_problem(self.problem, self.counts)
        return prices(self.problem, self.counts, compiled, self.kernel, self.multipliers)

    def proof(self, path: str | os.PathLike[str]) -> None:
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
        proof.write_mapping(path, self.problem, self.counts, self.kernel, self.multipliers, self.certificate)

    def model_rates(self, frame: Frame, model: Any = None, *, seed: int = 0, protected: bool = False) -> Any:
        """Fit a model on one release of a table, apply it to the same people in apply mode, and return its mean scores.

        Eqs. (8) and (9) predict them: (8) for a model that sees the protected columns, (9) for one that does not.

        Parameters
        ----------
        frame : dataframe
            Holds the protected, feature and outcome columns.
        model : object with fit and predict_proba, optional
            Anything like a scikit-learn classifier that takes a pandas frame of the features as they are (so put an
            encoder before a linear model). None fits the table of p(ŷ|x̂) that one release shows.
        seed : int
            For the release; the draws of apply mode use the next seed.
        protected : bool
            Whether the model sees the protected columns.

        Returns
        -------
        pandas.DataFrame
            For each group and outcome: the ``released`` rate, the ``predicted`` mean score, the model's mean ``score``
            and its ``decision`` (the share of people for whom this outcome is the likeliest), which no bound covers.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> rates = mapping.model_rates(data.frame, protected=True)
        >>> bool((rates["released"] - rates["predicted"]).abs().max() < 1e-9)
        True
        """
        train, new = self.release(frame, seed=seed), self.apply(frame, seed=seed + 1)
        return model_rates(self.problem, self.counts, self.kernel, train, new, model, protected=protected)

    def table(self, mode: Mode = "release") -> Any:
        """Return the mapping as tidy rows of positive probability, in a pandas frame.

        ``mode="release"`` has the protected, feature and outcome columns, ``to_`` columns for the features and the
        outcome, and ``probability``; ``mode="apply"`` has no outcome, and is p(x̂ | d, x).
        """
        check.one_of("mode", mode, ("release", "apply"))
        domain = self.counts.domain
        if mode == "apply":
            kernel = self.apply_kernel
            known = self.counts.features if self.problem.blind else self.counts.people_before_outcome
            d, x = np.divmod(known.cells[kernel.rows], domain.x.size)
            columns = {
                **({} if self.problem.blind else tables.labels(domain.d, d)),
                **tables.labels(domain.x, x),
                **tables.labels(domain.x, kernel.targets, prefix="to_"),
            }
            return tables.frame(columns | {"probability": kernel.probability})
        rows = self.kernel.rows
        to_x, to_y = domain.split_xy(self.kernel.targets)
        columns = {
            **tables.labels(domain.d, self.counts.d[rows]),
            **tables.labels(domain.x, self.counts.x[rows]),
            **tables.labels(domain.y, self.counts.y[rows]),
            **tables.labels(domain.x, to_x, prefix="to_"),
            **tables.labels(domain.y, to_y, prefix="to_"),
        }
        return tables.frame(columns | {"probability": self.kernel.probability})

    def release(self, frame: Frame, *, seed: int | None = 0, unseen: Unseen = "keep") -> Frame:
        """Train mode: draw (x̂, ŷ) for every row, given its (d, x, y).

        Parameters
        ----------
        frame : dataframe
            Holds the protected, feature and outcome columns; others are passed through.
        seed : int or None
            Makes the draws repeatable, by position: row i of every call with the same seed uses the same draw. So give
            each batch a seed of its own; with one seed, people scored one at a time would all get the same draw. None
            takes fresh randomness.
        unseen : {"keep", "error"}
            What to do with rows whose (d, x, y) was not in the table that was fitted.

        Returns
        -------
        dataframe
            Of the same type, with the same columns.
        """
        table = tables.read(frame)
        x, y, rows, known = self._sources(table, unseen)
        drawn = self._train_kernel.pick(rows, _draws(seed, len(rows), "release"))
        to_x, to_y = self.counts.domain.split_xy(drawn)
        table = tables.replace(table, self.counts.domain.x, to_x, known & (to_x != x))
        return tables.replace(table, self.counts.domain.y, to_y, known & (to_y != y)).to_native()

    def apply(self, frame: Frame, *, seed: int | None = 0, unseen: Unseen = "keep") -> Frame:
        """Apply mode: draw x̂ for every row, given its (d, x). An outcome column is passed through unread.

        Takes the same parameters as :meth:`release`. It reads the protected columns, unless the mapping is blind:
        then it needs none, and draws from p(x̂|x).

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> new = mapping.apply(data.frame.drop(columns="is_recid"), seed=0)
        >>> len(new), "is_recid" in new.columns
        (5278, False)
        """
        table = tables.read(frame)
        domain = self.counts.domain
        x, new_x = tables.cells(domain.x, table)
        axes: tuple[Axis, ...]
        if self.problem.blind:
            axes, what = (domain.x,), "a combination of features"
            found, rows = positions(self.counts.features.cells, x)
            known = found & ~new_x
        else:
            axes, what = (domain.d, domain.x), "a combination of protected columns and features"
            d, new_d = tables.cells(domain.d, table)
            found, rows = positions(self.counts.people_before_outcome.cells, domain.dx(d, x))
            known = found & ~new_d & ~new_x
        example = None if known.all() else tables.first_unseen(axes, table)
        _report_unseen(known, unseen, what, example)
        drawn = self.apply_kernel.pick(rows, _draws(seed, len(rows), "apply"))
        return tables.replace(table, domain.x, drawn, known & (drawn != x)).to_native()

    def expand(
        self,
        frame: Frame,
        *,
        weights: str | Sequence[float] | None = None,
        weight_column: str = "weight",
        unseen: Unseen = "keep",
    ) -> Frame:
        """Train mode without the lottery: every possible (x̂, ŷ) of each row, with its weight.

        Equal rows are merged and their weights added, so a model fitted with these weights has no sampling noise.

        Parameters
        ----------
        frame : dataframe
            As in :meth:`release`.
        weights : str or sequence of float, optional
            A column of the frame, or one number a row, for rows that do not stand for one person each.
        weight_column : str
            The name of the column of weights in the result; they sum to the number of rows, or to ``weights``.
        unseen : {"keep", "error"}
            As in :meth:`release`.

        Examples
        --------
        >>> import evenhand as eh
        >>> data = eh.datasets.load("compas")
        >>> mapping = eh.fit(data.problem, data.counts)
        >>> weighted = mapping.expand(data.frame)
        >>> round(float(weighted["weight"].sum()), 6)
        5278.0
        """
        table = tables.read(frame)
        given = tables.row_weights(self.problem, table, weights)
        if isinstance(weights, str):
            table = table.drop(weights)
        if weight_column in table.columns:
            raise DataError(f"the table already has a column {weight_column!r}; give another name with weight_column=")
        x, y, rows, known = self._sources(table, unseen)
        kernel = self._train_kernel
        asked, entry = kernel.entries(rows)
        share = kernel.probability[entry]
        # A row that is not known stays as it is: one entry of weight one.
        first = np.concatenate([[True], np.diff(asked) != 0]) if len(asked) else np.zeros(0, bool)
        kept = known[asked] | first
        asked, entry = asked[kept], entry[kept]
        share = np.where(known[asked], share[kept], 1.0)
        to_x, to_y = self.counts.domain.split_xy(kernel.targets[entry])
        wide = tables.take(table, asked)
        moved = known[asked]
        wide = tables.replace(wide, self.counts.domain.x, to_x, moved & (to_x != x[asked]))
        wide = tables.replace(wide, self.counts.domain.y, to_y, moved & (to_y != y[asked]))
        return tables.merged(wide, share if given is None else share * given[asked], weight_column).to_native()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mapping into one file. It holds the counts of the table's (d, x, y) cells."""
        problem = replace(self.problem, utility=self._recorded_utility())
        stored = storage.Stored(problem, self.counts, self.kernel, self.multipliers, self.certificate.as_dict())
        storage.write(path, stored)

    def _recorded_utility(self) -> Utility:
        """Return the utility, or for a user's functions what they said of this mapping: a file holds no code."""
        measure = self.problem.utility
        if not isinstance(measure, Separable | Bregman | Quasiconvex):
            return measure
        infimum = None
        if measure.certifiable:
            loss = compile_problem(bounding(self.problem), self.counts).program.loss
            infimum = loss.infimum(self.multipliers.released)
        return Recorded(measure.name, self.objective, infimum, measure.new_cells, measure.nonnegative)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mapping:
        """Read a mapping file, check it, and recompute its certificate."""
        stored = storage.read(path)
        notes = tuple(str(note) for note in stored.claims.get("notes", ()))
        try:
            history = tuple(float(step) for step in stored.claims.get("history", ()))
            certificate = certify(
                stored.problem, stored.counts, stored.kernel, stored.multipliers, notes=notes, history=history
            )
        except EvenhandError as error:
            raise StorageError(f"{os.fspath(path)!r} holds a mapping that does not stand: {error}") from None
        return cls(stored.problem, stored.counts, stored.kernel, stored.multipliers, certificate)

    def __repr__(self) -> str:
        c = self.certificate
        gap = "no bound" if c.gap is None else f"gap {c.gap:.0e}"
        return (
            f"<Mapping of {len(self.kernel)} sources, {len(self.kernel.targets)} moves: Δ = {c.objective:.6g}, "
            f"{c.status}, {gap}, max violation {c.max_violation:.0e}>"
        )

    def _sources(self, table: Any, unseen: Unseen) -> tuple[Cells, Cells, Cells, NDArray[np.bool_]]:
        """Return each row's own x and y, its row of the training kernel, and whether it has one."""
        domain = self.counts.domain
        axes = (domain.x, domain.y) if self.problem.blind else (domain.d, domain.x, domain.y)
        read = {axis: tables.cells(axis, table) for axis in axes}
        (x, new_x), (y, new_y) = read[domain.x], read[domain.y]
        known = ~(new_x | new_y)
        if self.problem.blind:
            found, record = positions(self.counts.records.cells, domain.xy(x, y))
            rows = np.unique(self.counts.records.of_source, return_index=True)[1][record]
        else:
            d, new_d = read[domain.d]
            found, rows = positions(self.counts.sources, domain.dxy(d, x, y))
            known &= ~new_d
        known &= found
        columns = "features and outcome" if self.problem.blind else "protected columns, features and outcome"
        example = None if known.all() else tables.first_unseen(axes, table)
        if self.conditional is None:
            _report_unseen(known, unseen, f"a combination of {columns}", example)
            return x, y, rows, known
        _report_unseen(
            known, unseen, f"a combination of {columns}", example, "keep their features and get ŷ from p(ŷ|x)"
        )
        there, place = positions(self.counts.features.cells, x)
        drawn = ~known & there & ~new_x & ~new_y
        return x, y, np.where(drawn, len(self.kernel) + place, rows), known | drawn


def _report_unseen(
    known: NDArray[np.bool_], unseen: Unseen, what: str, example: str | None, then: str = "are left unchanged"
) -> None:
    check.one_of("unseen", unseen, ("keep", "error"))
    new = int((~known).sum())
    if not new:
        return
    first = int(np.flatnonzero(~known)[0])
    message = f"{new} of {len(known)} rows have {what} that was not in the fitted table, the first in row {first}"
    if example is not None:
        message += f" ({example})"
    if unseen == "error":
        raise DataError(f"{message}; with unseen='keep' they {then}")
    warnings.warn(f"{message}; they {then}", EvenhandWarning, stacklevel=4)


def _draws(seed: int | None, size: int, mode: Mode) -> Cells:
    if seed is None:
        return seeded_draws(secrets.randbits(128), size, mode)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SpecError(f"seed must be a whole number of at least 0, or None for fresh draws, not {seed!r}")
    return seeded_draws(int(seed), size, mode)
