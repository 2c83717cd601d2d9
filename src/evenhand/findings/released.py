"""Whether a table was written by a mapping already: by the manifest beside it, or by its counts alone.

Who audits or watches a released table is told what its mapping would do a second time. A manifest tells what the table
is; counts tell only what it looks like, and only of the fitted table.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import among
from evenhand.errors import StorageError
from evenhand.findings.manifest import Manifest, manifest_path
from evenhand.kernel import Kernel, project

SURE = math.log(1e6)
"""A table looks released if its counts are a million times likelier in a release than in the fitted table."""

SECOND_TIME = "what is said here is about using the mapping on it a second time"


def by_manifest(table: Any, fingerprint: str) -> str | None:
    """Say that a file is what a mapping wrote, by the manifest beside it; None where there is none of this mapping.

    A manifest that cannot be read says nothing.
    """
    if not isinstance(table, str | os.PathLike) or not os.path.isfile(table):
        return None
    beside = manifest_path(table)
    if not Path(beside).is_file():
        return None
    try:
        manifest = Manifest.load(beside)
        if manifest.fingerprint != fingerprint:
            return None
        same = manifest.output.has_bytes_of(table)
    except StorageError:
        return None
    name = os.path.basename(beside)
    if not same:
        return (
            f"{name} says that this mapping wrote a file of this name, but the table is another, or was changed since"
        )
    return f"this table is what this mapping wrote at {manifest.at} ({manifest.mode}), says {name}: {SECOND_TIME}"


def by_counts(fitted: Counts, kernel: Kernel, found: Counts, reads: str) -> str | None:
    """Say that a table looks like a release of the fitted one; None where it does not, or where it cannot be told.

    It has as many people of every group as that, and its cells are far likelier as a release would have them than as
    the fitted table has them.
    """
    if fitted.weighed or found.weighed or not np.array_equal(fitted.groups.cells, found.groups.cells):
        return None
    if not np.array_equal(fitted.group_weight, found.group_weight):
        return None
    for mode, cells, expected in _releases(fitted, kernel, reads):
        if _likelier(fitted, found, cells, expected):
            return (
                f"this table looks like one that this mapping released from the fitted table in {mode} mode: it has as "
                f"many people of every group, and its cells are as a release would have them; if it is one, "
                f"{SECOND_TIME}"
            )
    return None


def _releases(fitted: Counts, kernel: Kernel, reads: str) -> Iterator[tuple[str, Cells, Numbers]]:
    """Return the cells (d, x̂, ŷ) of a release in each mode, and how many people are expected in each."""
    domain = fitted.domain
    to_x, to_y = domain.split_xy(kernel.targets)
    mass = fitted.weight[kernel.rows] * kernel.probability
    yield "train", *_summed(domain.dxy(fitted.d[kernel.rows], to_x, to_y), mass)
    before = among(reads, "dx")
    applied = project(kernel, fitted, before, "x")
    source, entry = applied.entries(fitted.over(before).of_source)
    cells = domain.dxy(fitted.d[source], applied.targets[entry], fitted.y[source])
    yield "apply", *_summed(cells, fitted.weight[source] * applied.probability[entry])


def _summed(cells: Cells, mass: Numbers) -> tuple[Cells, Numbers]:
    distinct, at = np.unique(cells, return_inverse=True)
    return distinct, sums(at, mass, len(distinct))


def _likelier(fitted: Counts, found: Counts, cells: Cells, expected: Numbers) -> bool:
    """Whether counts are far likelier by expected numbers than by those of the fitted table."""
    there, at = positions(cells, found.sources)
    if not there.all():
        return False
    known, place = positions(fitted.sources, found.sources)
    own = np.where(known, fitted.weight[place], 0.0)
    with np.errstate(divide="ignore"):
        ratio = np.log(expected[at]) - np.log(own)
    return bool(found.weight @ ratio > SURE)
