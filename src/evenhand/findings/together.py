"""What two bounds imply together that neither says: parity of rates, and parity among people of one original outcome.

Groups that had different rates, get equal ones, and are relabelled alike at each original outcome get an outcome that
tells nothing of the original one. With two outcomes, rates within a, and relabelling within b, of each other,
|Pr(ŷ|d,y) − Pr(ŷ|d,y')| ≤ (a + b) / |p(y|d) − p(y|d')|.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand.data.counts import Counts
from evenhand.spec import Parity, Problem

TELLING = 0.5
"""A released outcome that could tell more than this of the original one is not worth a sentence."""


def implied(problem: Problem, counts: Counts) -> Iterator[str]:
    """Say what parity of rates and parity given the outcome leave of what an outcome tells, where that is little."""
    if counts.domain.y.size != 2:
        return
    plain = [(parity, reach) for parity in problem.parity if (reach := _points(parity)) is not None]
    for rates, a in plain:
        for relabelled, b in plain:
            if rates.given_outcome or not relabelled.given_outcome or rates.on != relabelled.on:
                continue
            people = rates.people(counts)
            groups = np.unique(people.group)
            by_group = [
                np.average(counts.y[people.group == g], weights=counts.weight[people.group == g]) for g in groups
            ]
            low, high = int(np.argmin(by_group)), int(np.argmax(by_group))
            gap = by_group[high] - by_group[low]
            if gap <= 0 or (a + b) / gap > TELLING:
                continue
            who = " and ".join(people.groups.words(int(groups[g])) for g in (low, high))
            outcome = counts.domain.outcome.name
            left = "tells nothing of the original one"
            if a + b > 0:
                left = f"tells little of the original one: Pr(ŷ|y) differs by at most {(a + b) / gap:.3g} between them"
            yield (
                f"Rates of {outcome} were {by_group[low]:.4f} and {by_group[high]:.4f} among {who}. To bring them "
                f"together and relabel both groups alike at each original outcome means that among them the released "
                f"{outcome} {left}; relax one of the two bounds."
            )


def _points(parity: Parity) -> float | None:
    """Return by how many points of probability groups may differ; None where the statement gives no one number."""
    plain = parity.holds_everybody and parity.of_outcomes and not parity.against_target
    # A segment that is left out is bounded by nothing.
    if not plain or parity.given is not None or parity.min_segment > 0:
        return None
    bound = parity.bound
    # A ratio or a share of a rate, which is one at most, is no more points than that.
    return float(bound) if isinstance(bound, int | float) and parity.distance.reach(1.0, 1.0) is not None else None
