"""Mean scores of a model that does not see D: what the certificate says of them, and what cross-validation does.

Certified are the propensity-weighted rates, given these propensities. Cross-validated are the mean scores of a learner
that was trained on the expected release, of people whom it was not trained on, and who made no correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.errors import StorageError
from evenhand.findings.naming import group_levels
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source
from evenhand.render.finding import Finding
from evenhand.render.section import Kind, Note, Section, Table
from evenhand.tables import frame

if TYPE_CHECKING:
    import pandas as pd

KINDS: dict[str, Kind] = {
    "auc": "number", "level": "text", "certified": "rate", "cross_validated": "rate", "residual": "points",
    "standard_error": "points",
}  # fmt: skip


def unaware_rates(counts: Counts, kernel: Kernel, *, shifted: bool = True) -> Numbers:
    """Return the propensity-weighted rates R_d of a mapping: one row per group, one column per outcome."""
    known = counts.propensities
    assert known is not None
    rates = known.sums @ outcome_by_source(counts, kernel) / counts.group_weight[:, None]
    return np.asarray(rates + known.shift if shifted else rates)


@dataclass(frozen=True, eq=False, repr=False)
class UnawareScores(Finding):
    """Mean scores by group of a model that does not see D.

    Attributes
    ----------
    learner : str
        What was cross-validated; empty where nothing was.
    scores, errors : array
        Its mean scores out of fold, and their standard errors: one row per group, one column per outcome.
    corrections : int
        How often the bounds were shifted by what cross-validation found.
    outside : tuple of str
        Columns of the fitted table that the propensities did not see: a model that uses them is not covered.
    """

    counts: Counts
    kernel: Kernel
    learner: str
    scores: Numbers
    errors: Numbers
    corrections: int
    outside: tuple[str, ...]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """For each group and outcome: the rate that is certified, the mean score, what lies between, and its error.

        ``auc`` is how well the features predict the group, out of fold where propensities are learned.
        """
        known = self.counts.propensities
        assert known is not None
        rates = unaware_rates(self.counts, self.kernel)
        levels, outcomes = group_levels(self.counts), self.counts.domain.outcome.levels
        areas = known.areas or (math.nan,) * len(levels)
        rows = [
            {
                **group,
                "auc": areas[g],
                "level": outcomes[y],
                "certified": rates[g, y],
                "cross_validated": self.scores[g, y],
                "residual": self.scores[g, y] - rates[g, y],
                "standard_error": self.errors[g, y],
            }
            for g, group in enumerate(levels)
            for y in range(len(outcomes))
        ]
        return frame({name: [row[name] for row in rows] for name in rows[0]})

    @property
    def sections(self) -> tuple[Section, ...]:
        """The table, and what is certified of it and what is not."""
        known = self.counts.propensities
        assert known is not None
        protected = " × ".join(self.counts.domain.d.names)
        domain = self.counts.domain
        notes = [Note("unaware.certified", {"protected": protected})]
        notes.append(Note("unaware.learned" if known.learner else "unaware.counted", {"learner": known.learner}))
        if known.areas:
            notes.append(Note("unaware.predicted", {"protected": protected, "auc": max(known.areas)}))
        if self.learner:
            fields = {"learner": self.learner, "corrections": self.corrections}
            notes.append(Note("unaware.cross_validated", fields))
        else:
            notes.append(Note("unaware.not_cross_validated"))
        if self.outside:
            notes.append(Note("unaware.outside", {"columns": list(self.outside)}))
        each = domain.y.size
        implied = [at for at in range(len(self.frame)) if at % each not in domain.shown_outcomes]
        about = [(group,) for group in group_levels(self.counts) for _ in range(each)]
        table = Table.of("unaware", self.frame, KINDS, about=about, implied=implied)
        return (Section("unaware", tables=(table,), notes=tuple(notes), fields={"protected": protected}),)

    def __repr__(self) -> str:
        found = f"cross-validated, {self.corrections} corrections" if self.learner else "not cross-validated"
        return f"<UnawareScores: {found}. Table: frame>"

    def described(self) -> dict[str, Any]:
        """Return what a file keeps."""
        numbers = {name: np.where(np.isnan(of), -1.0, of).tolist() for name, of in self._numbers.items()}
        return numbers | {
            "learner": self.learner, "corrections": self.corrections, "outside": list(self.outside)
        }  # fmt: skip

    @property
    def _numbers(self) -> dict[str, Numbers]:
        return {"scores": self.scores, "errors": self.errors}

    @classmethod
    def read(cls, counts: Counts, kernel: Kernel, entry: dict[str, Any]) -> UnawareScores:
        """Return what a file has kept, if it fits the table."""
        shape = len(counts.groups.cells), counts.domain.y.size
        numbers = {name: np.array(entry[name], dtype=float) for name in ("scores", "errors")}
        if any(of.shape != shape or not np.all((of == -1) | ((of >= 0) & (of <= 1))) for of in numbers.values()):
            raise StorageError("the cross-validated mean scores make no sense")
        numbers = {name: np.where(of == -1, np.nan, of) for name, of in numbers.items()}
        outside = tuple(entry["outside"])
        found = cls(counts, kernel, entry["learner"], **numbers, corrections=entry["corrections"], outside=outside)
        sound = isinstance(found.learner, str) and type(found.corrections) is int and found.corrections >= 0
        if entry != found.described() or not sound or not all(isinstance(name, str) for name in outside):
            raise StorageError("what is said of the cross-validated mean scores makes no sense")
        return found
