"""Who in a table is already a record that nobody may become: they may stay one, and are told of.

Knows the statement and counts; nothing of how a mapping was found.
"""

from __future__ import annotations

from itertools import product

from evenhand.data.counts import Counts
from evenhand.render.section import Note
from evenhand.spec import Forbidden, Problem


def people_already(problem: Problem, counts: Counts) -> dict[Forbidden, float]:
    """Return how many people are of each forbidden kind as they are; those of nobody are left out."""
    found = {
        rule: float(counts.unweighted.weight[rule.holds(counts.domain, counts.d, counts.x, counts.y)].sum())
        for rule in problem.forbidden_records
    }
    return {rule: people for rule, people in found.items() if people > 0}


def already_forbidden(problem: Problem, counts: Counts) -> Note | None:
    """Return how many people of a table are forbidden records as they are; None where nobody is.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> data = eh.datasets.load("adult")
    >>> rule = eh.Forbidden(when={"age": "<20"}, then={"income": 1})
    >>> already_forbidden(replace(data.problem, forbidden=[rule]), data.counts).key
    'forbidden.already'
    """
    found = people_already(problem, counts)
    if not found:
        return None
    which = [Note("forbidden.people", {"people": people, "rule": rule.words}) for rule, people in found.items()]
    named = [combination for rule in found for combination in _combinations(rule)]
    return Note("forbidden.already", {"which": which}, tuple(named))


def _combinations(rule: Forbidden) -> list[dict[str, object]]:
    """Return every combination of levels that a rule names."""
    listed = [levels if isinstance(levels, tuple) else (levels,) for levels in rule.where.values()]
    return [dict(zip(rule.where, levels, strict=True)) for levels in product(*listed)]
