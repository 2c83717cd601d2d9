"""How large a programme will be, told before any of it is written: its moves, and the memory that it takes.

Listing the moves is what runs out of memory first, so they are counted for some sources alone, against the observed x.
The memory is what the solver will hold. The general ones keep so much of every move. The specialised method keeps less
of it, but two things more: for sources with the same targets every pair of targets, and for all targets a matrix, which
is cut into smaller ones where few targets hold it together.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable
from evenhand.errors import DataError, Made, Setting
from evenhand.optimize.program import CLUSTER_ROWS, LEAF, MOST_ENTRIES, MOST_PAIRS
from evenhand.resources import free_memory, words
from evenhand.spec import Distortion, Ordinal, Polyhedral, Problem, Smooth

GENERAL, GENERAL_LINEAR = 5_500, 3_600
"""Bytes per move that the general solvers hold: of a smooth measure, and of one that is a linear programme."""

SPECIALISED = 1_000
"""Bytes per move that the specialised method holds..."""

PAIR = 25
"""...per pair of targets of sources that it puts together: the product and where it goes, and what fills it up..."""

ENTRY = 24
"""...and per entry of the matrices of all targets: itself, and where it goes."""

PER_COLUMN = 1.5
"""Entries of a target where matrices are cut: for each column that may change so many times the targets that part the
others.

Measured on grids: 2 to 5 times these in two dimensions, 5 to 7 times in three.
"""

LIBRARIES = 50_000_000
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

NARROWER = 0.9
"""The share of the steps that is tried next where as many were too many."""

WINDOW = 1_000
"""Of a column with more levels only so many neighbours are looked at."""


_COUNTED: WeakKeyDictionary[Counts, tuple[Distortion, bool, Cells, Numbers]] = WeakKeyDictionary()
"""What was counted last on a table: a frontier writes dozens of programmes that differ in their bounds alone."""


def expected_memory(problem: Problem, counts: Counts, per_move: int | None = None) -> int:
    """Estimate the bytes that a problem's programme takes: so many per move, or what a fit takes."""
    moves = expected_moves(problem, counts)
    largest = max((len(v) for v in (*counts.domain.x.variables, counts.domain.outcome)), default=0)
    held = _held(problem, counts, moves) if per_move is None else per_move * moves
    return int(LIBRARIES + TABLE * largest**2 + held)


def _held(problem: Problem, counts: Counts, moves: float) -> float:
    """Return the bytes that a fit holds of so many moves, by the solver that it will go to."""
    tabulated = TABULATING * moves if problem.distortion.function is not None else 0
    if _separable(problem):
        pairs, entries = expected_pairs(problem, counts), expected_entries(problem, counts)
        if pairs <= MOST_PAIRS and entries <= MOST_ENTRIES:
            return tabulated + SPECIALISED * moves + PAIR * pairs + ENTRY * entries
    return tabulated + (GENERAL_LINEAR if isinstance(problem.utility, Polyhedral) else GENERAL) * moves


def _separable(problem: Problem) -> bool:
    """Whether the specialised method takes the measure: a sum over targets, smooth or of straight pieces."""
    measure, p = problem.utility, np.array([0.5, 0.5])
    if problem.suppression.redraws:
        return False
    if isinstance(measure, Smooth):
        return True
    return isinstance(measure, Polyhedral) and measure.epigraph(p).on_r.shape == (len(p), len(p))


def expected_moves(problem: Problem, counts: Counts) -> float:
    """Estimate the number of moves, by counting those of some sources."""
    return float(_moves_of_some(problem, counts)[1].mean()) * len(counts)


def expected_pairs(problem: Problem, counts: Counts) -> float:
    """Estimate the pairs of targets that the specialised method holds: each once for sources that it puts together."""
    sample, per_source = _moves_of_some(problem, counts)
    together = max(1, CLUSTER_ROWS // (1 + len(problem.charges)))
    alike = _alike(problem, counts)[sample]
    return float((per_source**2 * np.ceil(alike / together) / alike).mean()) * len(counts)


def expected_entries(problem: Problem, counts: Counts) -> float:
    """Estimate the entries of the specialised method's matrices of targets.

    Targets that differ in a column that may not change know nothing of one another. Where changes of a column are small
    beside its levels, the targets of a few of these part the others.
    """
    domain, per_x = counts.domain, len(counts.domain.outcome)
    block, changing = np.zeros(len(counts.features.cells), dtype=np.int64), []
    for variable, codes in zip(domain.x.variables, domain.x.unravel(counts.features.cells), strict=True):
        options, levels = float(_options(*_allowed(problem, variable), codes).mean()), len(np.unique(codes))
        if options > 1:
            changing.append((options - 1) / levels)
        else:
            block = np.unique(block * len(variable) + codes, return_inverse=True)[1].ravel()
    sizes = per_x * np.bincount(block).astype(float)
    separator = min(changing, default=0.0) * sizes
    return float((sizes * np.minimum(sizes, LEAF + PER_COLUMN * len(changing) * separator)).sum())


def _moves_of_some(problem: Problem, counts: Counts) -> tuple[Cells, Numbers]:
    """Return some of the sources, and how many moves each has, about; bounds and limits have no part in it."""
    known = _COUNTED.get(counts)
    if known is None or known[0] is not problem.distortion or known[1] != problem.observed_only:
        known = (problem.distortion, problem.observed_only, *_counted_moves(problem, counts))
        _COUNTED[counts] = known
    return known[2:]


def _counted_moves(problem: Problem, counts: Counts) -> tuple[Cells, Numbers]:
    domain = counts.domain
    number = min(len(counts), max(FEWEST, COMPARED // len(counts.features.cells)))
    sample = np.unique(np.linspace(0, len(counts) - 1, number).astype(np.int64))
    if problem.distortion.table is not None:
        return sample, np.full(len(sample), len(problem.distortion.table) / len(counts.records.cells))
    observed = domain.x.unravel(counts.features.cells)
    # Sources that share an x, those of other groups and outcomes, reach the same ones.
    cells, same = np.unique(counts.x[sample], return_inverse=True)
    own = domain.x.unravel(cells)
    reached = np.ones((len(cells), len(counts.features.cells) if problem.observed_only else 1), dtype=bool)
    share = np.ones(len(cells))
    for variable, codes, others in zip(domain.x.variables, own, observed, strict=True):
        allowed, scale = _allowed(problem, variable)
        if problem.observed_only and scale is None:
            reached &= allowed[codes[:, None], others[None, :]]
        elif problem.observed_only:
            share = share * np.minimum(1.0, _options(allowed, scale, codes) / len(variable))
        else:
            share = share * _options(allowed, scale, codes)
    allowed, scale = _allowed(problem, domain.outcome)
    return sample, reached.sum(axis=1)[same] * share[same] * _options(allowed, scale, counts.y[sample])


def _alike(problem: Problem, counts: Counts) -> Cells:
    """Return how many sources have the same targets as each: those of which every column may change to the same."""
    domain = counts.domain
    variables, codes_of = (*domain.x.variables, domain.outcome), (*domain.x.unravel(counts.x), counts.y)
    kind = np.zeros(len(counts), dtype=np.int64)
    for variable, codes in zip(variables, codes_of, strict=True):
        allowed, scale = _allowed(problem, variable)
        if scale is None:
            of_level = np.unique(allowed, axis=0, return_inverse=True)[1].ravel()
        else:
            of_level = np.zeros(len(variable), np.int64) if allowed.all() else np.arange(len(variable))
        kind = np.unique(kind * len(variable) + of_level[codes], return_inverse=True)[1].ravel()
    return np.bincount(kind)[kind]


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
    memory = expected_memory(problem, counts, per_move)
    if free is None or memory <= free:
        return
    raise DataError(
        f"about {expected_moves(problem, counts):,.0f} moves are allowed between the {len(counts):,} cells of this "
        f"table, which takes about {words(_rounded(memory))} of memory, and {words(_rounded(free))} are free; ",
        *_smaller(problem, counts, free, per_move),
    )


def _smaller(problem: Problem, counts: Counts, free: int, per_move: int | None) -> list[object]:
    """Say the smallest change of one column that fits into the memory that is free, by the estimate."""

    def options(variable: Variable) -> float:
        allowed, scale = _allowed(problem, variable)
        return float(_options(allowed, scale, np.arange(len(allowed))).mean())

    outcome = counts.domain.outcome
    widest = max(counts.domain.x.variables, key=options)
    largest = max(counts.domain.x.variables, key=len)
    if options(outcome) > (options(widest) if options(widest) > 1 else len(largest)):
        widest = outcome
    if options(widest) <= 1:
        widest = largest
        if not widest.is_column:
            return [f"there are {len(widest):,} learned cells: state fewer of them in the problem's cells"]
        return [f"column {widest.name!r} has {len(widest):,} levels: merge some of them (bins), or leave it out"]
    if not widest.ordered:
        return ["write ", Setting("distortion", Made("Fixed"), column=widest.name), ", or merge its levels"]
    # As many steps as there are moves to spare; fewer where people with other targets take more memory than moves do.
    share = max(0, free - LIBRARIES) / (expected_memory(problem, counts, per_move) - LIBRARIES)
    steps = max(1, int((options(widest) * share - 1) / 2))
    while steps > 1 and expected_memory(_narrowed(problem, widest, steps), counts, per_move) > free:
        steps = max(1, int(NARROWER * steps))
    return [
        "write ",
        Setting("distortion", Made("Ordinal", {"step": ..., "max_steps": steps}), column=widest.name),
        ", or merge its levels (bins)",
    ]


def _narrowed(problem: Problem, variable: Variable, steps: int) -> Problem:
    """Return the problem with at most so many steps in a column."""
    rules = {**problem.distortion.rules, variable.name: Ordinal(1.0, max_steps=steps)}
    return replace(problem, distortion=replace(problem.distortion, rules=rules))


def _rounded(size: float) -> int:
    """Return a size to two digits, which is as well as it is known."""
    return int(float(f"{size:.1e}"))
