"""The public object: a fitted mapping, which transforms tables, explains itself, and can be kept in a file."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand import storage, tables
from evenhand.achieved import Achieved, achieved
from evenhand.audit import Audit, audit
from evenhand.certificate import Certificate, certify
from evenhand.counts import Counts, positions
from evenhand.domain import Cells
from evenhand.errors import DataError, EvenhandError, EvenhandWarning, SpecError, StorageError
from evenhand.kernel import Kernel, for_apply, seeded_draws
from evenhand.program import Multipliers
from evenhand.spec import Problem, check
from evenhand.tables import Frame

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
        return for_apply(self.kernel, self.counts)

    def audit(self) -> Audit:
        """Return what the mapping does to the table it was fitted on, as tables and words."""
        return audit(self.problem, self.counts, self.kernel, self.achieved)

    def table(self, mode: Mode = "release") -> Any:
        """Return the mapping as tidy rows of positive probability, in a pandas frame.

        ``mode="release"`` has the protected, feature and outcome columns, ``to_`` columns for the features and the
        outcome, and ``probability``; ``mode="apply"`` has no outcome, and is p(x̂ | d, x).
        """
        check.one_of("mode", mode, ("release", "apply"))
        domain = self.counts.domain
        if mode == "apply":
            kernel = self.apply_kernel
            d, x = np.divmod(self.counts.people_before_outcome.cells[kernel.rows], domain.x.size)
            columns = {
                **tables.labels(domain.d, d),
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
        drawn = self.kernel.pick(rows, _draws(seed, len(rows)))
        to_x, to_y = self.counts.domain.split_xy(drawn)
        table = tables.replace(table, self.counts.domain.x, to_x, known & (to_x != x))
        return tables.replace(table, self.counts.domain.y, to_y, known & (to_y != y)).to_native()

    def apply(self, frame: Frame, *, seed: int | None = 0, unseen: Unseen = "keep") -> Frame:
        """Apply mode: draw x̂ for every row, given its (d, x). An outcome column is passed through unread.

        Takes the same parameters as :meth:`release`. It reads the protected columns.
        """
        table = tables.read(frame)
        domain = self.counts.domain
        d, new_d = tables.cells(domain.d, table)
        x, new_x = tables.cells(domain.x, table)
        found, rows = positions(self.counts.people_before_outcome.cells, domain.dx(d, x))
        known = found & ~new_d & ~new_x
        example = None if known.all() else tables.first_unseen((domain.d, domain.x), table)
        _report_unseen(known, unseen, "a combination of protected columns and features", example)
        drawn = self.apply_kernel.pick(rows, _draws(seed, len(rows)))
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
        """
        table = tables.read(frame)
        given = tables.row_weights(self.problem, table, weights)
        if isinstance(weights, str):
            table = table.drop(weights)
        if weight_column in table.columns:
            raise DataError(f"the table already has a column {weight_column!r}; give another name with weight_column=")
        x, y, rows, known = self._sources(table, unseen)
        asked, entry = self.kernel.entries(rows)
        share = self.kernel.probability[entry]
        # A row that is not known stays as it is: one entry of weight one.
        first = np.concatenate([[True], np.diff(asked) != 0]) if len(asked) else np.zeros(0, bool)
        kept = known[asked] | first
        asked, entry = asked[kept], entry[kept]
        share = np.where(known[asked], share[kept], 1.0)
        to_x, to_y = self.counts.domain.split_xy(self.kernel.targets[entry])
        wide = tables.take(table, asked)
        moved = known[asked]
        wide = tables.replace(wide, self.counts.domain.x, to_x, moved & (to_x != x[asked]))
        wide = tables.replace(wide, self.counts.domain.y, to_y, moved & (to_y != y[asked]))
        return tables.merged(wide, share if given is None else share * given[asked], weight_column).to_native()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mapping into one file. It holds the counts of the table's (d, x, y) cells."""
        stored = storage.Stored(self.problem, self.counts, self.kernel, self.multipliers, self.certificate.as_dict())
        storage.write(path, stored)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mapping:
        """Read a mapping file, check it, and recompute its certificate."""
        stored = storage.read(path)
        notes = tuple(str(note) for note in stored.claims.get("notes", ()))
        try:
            certificate = certify(stored.problem, stored.counts, stored.kernel, stored.multipliers, notes=notes)
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
        """Return each row's own x and y, its row of the kernel, and whether it has one."""
        domain = self.counts.domain
        (d, new_d), (x, new_x), (y, new_y) = (tables.cells(axis, table) for axis in (domain.d, domain.x, domain.y))
        found, rows = positions(self.counts.sources, domain.dxy(d, x, y))
        known = found & ~(new_d | new_x | new_y)
        example = None if known.all() else tables.first_unseen((domain.d, domain.x, domain.y), table)
        _report_unseen(known, unseen, "a combination of protected columns, features and outcome", example)
        return x, y, rows, known


def _report_unseen(known: NDArray[np.bool_], unseen: Unseen, what: str, example: str | None) -> None:
    check.one_of("unseen", unseen, ("keep", "error"))
    new = int((~known).sum())
    if not new:
        return
    first = int(np.flatnonzero(~known)[0])
    message = f"{new} of {len(known)} rows have {what} that was not in the fitted table, the first in row {first}"
    if example is not None:
        message += f" ({example})"
    if unseen == "error":
        raise DataError(f"{message}; unseen='keep' leaves such rows unchanged")
    warnings.warn(f"{message}; they are left unchanged", EvenhandWarning, stacklevel=4)


def _draws(seed: int | None, size: int) -> Cells:
    if seed is None:
        return seeded_draws(secrets.randbits(128), size)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SpecError(f"seed must be a whole number of at least 0, or None for fresh draws, not {seed!r}")
    return seeded_draws(int(seed), size)
