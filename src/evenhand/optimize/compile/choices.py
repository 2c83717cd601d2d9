"""What is decided, and how it spreads over the moves.

Ordinarily each source is a distribution over its own moves. A mapping that does not read everything decides once for
everybody who shares what it reads: a blind one for all with the same (x, y), whatever their group. With D suppressed
(section 3.2.2) a source chooses x̂ alone, and ŷ follows from p(ŷ|x̂); or, in the other half of the alternating
minimisation, every x̂ chooses ŷ, and the sources follow.

All are the same shape: *owners*, each a distribution over its *choices*, and shares by which a choice spreads over
moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.arrays import LARGEST_KEY, Cells, Numbers, positions, sums
from evenhand.data.counts import Counts
from evenhand.errors import InfeasibleError, Made, Setting, SpecError
from evenhand.optimize.compile.moves import Moves
from evenhand.optimize.program import Matrix
from evenhand.resources import heed
from evenhand.spec import Problem


@dataclass(frozen=True, eq=False)
class Choices:
    """Owners with their choices, contiguous by owner, and how choices spread over moves.

    Attributes
    ----------
    owner : array
        The owner of each choice, ascending.
    weight : array
        The probability of each owner.
    spread : sparse array
        One row per move, one column per choice: the share of the choice's probability that the move receives.
    moves : Moves
        The moves that some choice leads to.
    """

    owner: Cells
    weight: Numbers
    spread: Matrix
    moves: Moves

    @property
    def starts(self) -> Cells:
        return np.concatenate([[0], np.cumsum(np.bincount(self.owner, minlength=len(self.weight)))])

    def gather(self, per_move: Matrix) -> Matrix:
        """Turn rows over moves into rows over choices."""
        heed()
        return sparse.csr_array(per_move @ self.spread)

    def mean(self, counts: Counts, per_move: Numbers) -> Numbers:
        """Return, for each choice, the mean of a quantity of moves over the people whom the choice is made for."""
        total = self.spread.T @ (counts.probability[self.moves.source] * per_move)
        return np.asarray(total / self.weight[self.owner])


def choices_of(problem: Problem, counts: Counts, moves: Moves, conditional: Numbers | None = None) -> Choices:
    """Return the choices that a problem leaves.

    ``conditional`` is p(ŷ|x̂), one row per observed x, where D is suppressed.
    """
    if conditional is None and problem.reads == "dxy":
        return Choices(moves.source, counts.probability, sparse.eye_array(len(moves.source), format="csr"), moves)
    to_x, to_y = counts.domain.split_xy(moves.target)
    share, target, leaves = np.ones(len(moves.source)), moves.target, np.ones(len(moves.source))
    if conditional is not None:
        outcome = counts.domain.outcome
        forbidden = np.argwhere(~np.isfinite(problem.distortion.costs(outcome)))
        if len(forbidden):
            # ŷ is random given x̂, so that no change of it can be kept from happening.
            a, b = (outcome.levels[i] for i in forbidden[0])
            raise SpecError(
                f"suppress_protected draws the outcome from p(ŷ|x̂), so every change of {outcome.name!r} can happen, "
                f"but the distortion forbids {a!r} → {b!r}: that is infeasible for every bound and budget. Give it a "
                f"finite cost, or write ",
                Setting("distortion", Made("Free"), column=outcome.name),
                " to charge the features alone",
            )
        _, place = positions(counts.features.cells, to_x)
        share, target = conditional[place, to_y], to_x
        leaves = (conditional > 0).sum(axis=1)[place].astype(float)
        drawn = share > 0
        moves, share, target, leaves = moves.keep(drawn), share[drawn], target[drawn], leaves[drawn]
    # A choice is made for everybody who shares what is read, so that all of them must be able to follow it.
    owners = counts.over(problem.reads)
    owner = owners.of_source[moves.source]
    leaves = leaves * np.bincount(owners.of_source)[owner]
    return _joined(counts, moves, owner, owners.probability, target, share, leaves)


def outcome_choices(counts: Counts, moves: Moves, features: Numbers) -> Choices:
    """Return the choices of ŷ for every x̂, given the probability of each move's x̂ (from its source)."""
    to_x, _ = counts.domain.split_xy(moves.target)
    used = features > 0
    moves, share, to_x = moves.keep(used), features[used], to_x[used]
    released = np.unique(to_x)
    owner = np.searchsorted(released, to_x)
    # A source appears once for every ŷ; its share of an x̂ counts once.
    _, once = np.unique(owner * len(counts) + moves.source, return_index=True)
    weight = sums(owner[once], (counts.probability[moves.source] * share)[once], len(released))
    leaves = np.bincount(owner[once], minlength=len(released))[owner]
    return _joined(counts, moves, owner, weight, moves.target, share, leaves.astype(float))


def _joined(
    counts: Counts, moves: Moves, owner: Cells, weight: Numbers, target: Cells, share: Numbers, leaves: Numbers
) -> Choices:
    """Join moves that one choice leads to; a choice that lacks a move it needs does not exist."""
    width = counts.domain.x.size * counts.domain.y.size
    if len(weight) * width > LARGEST_KEY:
        raise SpecError("the domain is too large for a blind or suppressed mapping; merge levels")
    heed()
    keys, choice = np.unique(owner * width + target, return_inverse=True)
    needs = np.zeros(len(keys))
    needs[choice] = leaves
    whole = np.bincount(choice) == needs
    kept = whole[choice]
    number = np.cumsum(whole) - 1
    place = (np.arange(int(kept.sum())), number[choice[kept]])
    spread = sparse.csr_array((share[kept], place), shape=(int(kept.sum()), int(whole.sum())))
    owners = keys[whole] // width
    lost = np.setdiff1d(np.arange(len(weight)), owners)
    if len(lost):
        who, stuck = "some people", moves.source[owner == lost[0]]
        if len(stuck):
            d, x, y = (int(cells[stuck[0]]) for cells in (counts.d, counts.x, counts.y))
            who = f"people at ({counts.domain.words(d, x, y)})"
        raise InfeasibleError(
            f"{who} have no move that is open to all who must share it: "
            f"under suppressed D every ŷ with p(ŷ|x̂) > 0 must be reachable, and a blind mapping must be allowed for "
            f"every group. Allow more moves in the distortion, or raise budgets of zero"
        )
    return Choices(owners, weight, spread, moves.keep(kept))
