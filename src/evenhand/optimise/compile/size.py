"""How large a programme will be, told before any of it is written: its moves, and the memory that it takes.

Listing the moves is what runs out of memory first, so they are counted for some sources alone, against the observed x.
The memory is that of a whole fit, per move, as it was measured: of fits of 10,000 to 850,000 moves it is between 0.95
times the peak and three times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable
from evenhand.errors import DataError, Made, Setting
from evenhand.resources import free_memory, words
from evenhand.spec import Polyhedral, Problem

FITTING, FITTING_LINEAR = 5_000, 3_000
"""Bytes per move of a whole fit: of a smooth measure, and of one that is a linear programme."""

LIBRARIES = 100_000_000
"""Bytes that a fit takes however small it is: solvers and what they begin with."""

WRITING = 400
"""Bytes per move while a programme is written."""

TABULATING = 400
"""Bytes per move, besides, of a user's own distortion, which is kept move by move."""

TABLE = 40
"""Bytes per pair of levels while a column's costs are tabulated."""

COMPARED = 4_000_000
"""Pairs of a source and an observed x that are looked at to count moves."""

FEWEST = 16
"""So many sources are looked at in any case."""

WINDOW = 1_000
"""Of a column with more levels only so many neighbours are looked at."""


@dataclass(frozen=True)
class Size:
    """The moves that a problem allows on a table, about, and the bytes that a fit takes."""

    moves: float
    memory: int


def size_of(problem: Problem, counts: Counts, per_move: int | None = None) -> Size:
    """Estimate the size of a problem's programme; ``per_move`` bytes each, or what a fit takes."""
    moves = expected_moves(problem, counts)
    if per_move is None:
        per_move = FITTING_LINEAR if isinstance(problem.utility, Polyhedral) else FITTING
        per_move += TABULATING if problem.distortion.function is not None else 0
    largest = max((len(v) for v in (*counts.domain.x.variables, counts.domain.outcome)), default=0)
    return Size(moves, int(LIBRARIES + per_move * moves + TABLE * largest**2))


def expected_moves(problem: Problem, counts: Counts) -> float:
    """Estimate the number of moves, by counting those of some sources."""
    domain = counts.domain
    if problem.distortion.table is not None:
        return len(problem.distortion.table.moves) * len(counts) / len(counts.records.cells)
    observed = domain.x.unravel(counts.features.cells)
    number = min(len(counts), max(FEWEST, COMPARED // len(counts.features.cells)))
    sample = np.unique(np.linspace(0, len(counts) - 1, number).astype(np.int64))
    own = domain.x.unravel(counts.x[sample])
    reached = np.ones((len(sample), len(counts.features.cells) if problem.observed_only else 1), dtype=bool)
    share = np.ones(len(sample))
    for variable, codes, others in zip(domain.x.variables, own, observed, strict=True):
        allowed, scale = _allowed(problem, variable)
        if problem.observed_only and scale is None:
            reached &= allowed[codes[:, None], others[None, :]]
        elif problem.observed_only:
            share = share * np.minimum(1.0, _options(allowed, scale, codes) / len(variable))
        else:
            share = share * _options(allowed, scale, codes)
    allowed, scale = _allowed(problem, domain.outcome)
    per_source = reached.sum(axis=1) * share * _options(allowed, scale, counts.y[sample])
    return float(per_source.mean()) * len(counts)


def _allowed(problem: Problem, variable: Variable) -> tuple[NDArray[np.bool_], float | None]:
    """Return which changes of a column are allowed; of many levels among the first, and how many times more it has."""
    if len(variable) <= WINDOW:
        return np.isfinite(problem.distortion.costs(variable)), None
    first = replace(variable, levels=variable.levels[:WINDOW], missing=None, coding=None)
    return np.isfinite(problem.distortion.costs(first)), len(variable) / WINDOW


def _options(allowed: NDArray[np.bool_], scale: float | None, codes: Cells) -> Numbers:
    """Return to how many levels each of the given ones may change."""
    if scale is None:
        return np.asarray(allowed.sum(axis=1)[codes], dtype=float)
    middle = allowed[len(allowed) // 2]
    # A rule that reaches to the end of what was looked at reaches as far in the whole.
    return np.full(len(codes), float(middle.sum()) * (scale if middle[0] or middle[-1] else 1.0))


def refuse_beyond_memory(problem: Problem, counts: Counts, per_move: int | None = None) -> None:
    """Refuse a programme that will not fit into the memory that there is, before anything of it is written."""
    free = free_memory()
    size = size_of(problem, counts, per_move)
    if free is None or size.memory <= free:
        return
    raise DataError(
        f"about {size.moves:,.0f} moves are allowed between the {len(counts):,} cells of this table, which takes about "
        f"{words(_rounded(size.memory))} of memory, and {words(_rounded(free))} are free; ",
        *_smaller(problem, counts, max(0, free - LIBRARIES) / (size.memory - LIBRARIES)),
    )


def _smaller(problem: Problem, counts: Counts, share: float) -> list[object]:
    """Say the smallest change of one column that leaves the given share of the moves."""

    def options(variable: Variable) -> float:
        allowed, scale = _allowed(problem, variable)
        return float(_options(allowed, scale, np.arange(len(allowed))).mean())

    widest = max(counts.domain.x.variables, key=options)
    if options(widest) <= 1:
        widest = max(counts.domain.x.variables, key=len)
        return [f"column {widest.name!r} has {len(widest):,} levels: merge some of them (bins), or leave it out"]
    if not widest.ordered:
        return ["write ", Setting("distortion", Made("Fixed"), column=widest.name), ", or merge its levels"]
    steps = max(1, int((options(widest) * share - 1) / 2))
    return [
        "write ",
        Setting("distortion", Made("Ordinal", {"step": ..., "max_steps": steps}), column=widest.name),
        ", or merge its levels (bins)",
    ]


def _rounded(size: float) -> int:
    """Return a size to two digits, which is as well as it is known."""
    return int(float(f"{size:.1e}"))
