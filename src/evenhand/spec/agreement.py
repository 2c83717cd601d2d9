"""Whether a table's levels are those that a problem speaks of.

Of every table it is asked which outcome is the favourable one; of counts and of files from elsewhere, whether their
levels could be what the problem makes of some table.
"""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.data.domain import MISSING, Domain, Role, Variable
from evenhand.data.levels import UNSEEN
from evenhand.data.tree import named_leaves
from evenhand.errors import Setting, SpecError, did_you_mean
from evenhand.spec.distortion import Ordinal
from evenhand.spec.problem import Problem


def favourable_code(problem: Problem, domain: Domain) -> int | None:
    """Return which of a table's outcomes is good for a person; None where the problem does not say.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> favourable_code(replace(data.problem, favourable=1), data.counts.domain)
    1
    """
    good, outcome = problem.favourable, domain.outcome
    if good is None:
        return None
    code = outcome.place(good)
    if code is not None:
        return code
    wrong = (
        f"favourable names {outcome.name}={good!r}, which does not exist; the levels of {outcome.name!r} are "
        f"{list(outcome.levels)}."
    )
    # What looks like a level may be of another type: a text in quotes, a truth instead of a number.
    meant = next((level for level in outcome.levels if level == good or str(level) == str(good)), None)
    if meant is None:
        raise SpecError(wrong, did_you_mean(good, outcome.levels))
    raise SpecError(f"{wrong} Did you mean ", Setting("favourable", meant), "?")


def disagreement(problem: Problem, domain: Domain) -> str | None:
    """Say in what a domain contradicts a problem; None where it does not.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> disagreement(data.problem, data.counts.domain)
    >>> disagreement(data.problem, eh.datasets.load("adult").counts.domain)
    "its feature columns are ['age', 'education'], the problem's are ['age_cat', 'c_charge_degree', 'priors_count']"
    """
    stated = {"protected": problem.protected, "feature": problem.feature_variables, "outcome": (problem.outcome,)}
    for (role, names), axis in zip(stated.items(), (domain.d, domain.x, domain.y), strict=True):
        if axis.names != names:
            return f"its {role} columns are {list(axis.names)}, the problem's are {list(names)}"
    found = (f"column {v.name!r} {words}" for v in domain.variables for words in _contradictions(problem, v))
    return next(found, None)


def _contradictions(problem: Problem, variable: Variable) -> Iterator[str]:
    if problem.cells is not None and variable.role is Role.FEATURE and variable.name == problem.cells.variable:
        yield from _strange_tree(problem, variable)
        return
    if not variable.is_column:
        yield "has learned cells, but the problem states none"
        return
    rule, binning = problem.distortion.rules.get(variable.name), problem.bins.get(variable.name)
    levels, coding = variable.levels, variable.coding
    if variable.role is Role.OUTCOME and problem.favourable is not None and variable.place(problem.favourable) is None:
        yield f"has the levels {list(levels)}, none of which is the problem's favourable {problem.favourable!r}"
    if isinstance(rule, Ordinal) and rule.levels is not None:
        wanted = tuple(rule.levels)
        added = (MISSING,) if variable.has_missing and MISSING not in wanted else ()
        if levels != (*wanted, *added):
            yield f"has the levels {list(levels)}, but its rule gives the levels {list(wanted)}"
    if (variable.missing is not None) != (problem.missing_is_level and variable.role is not Role.OUTCOME):
        yield "treats missing values in another way than the problem"
    if variable.blanks != tuple(problem.missing_values):
        yield f"takes {list(variable.blanks)} for missing, the problem {list(problem.missing_values)}"
    if variable.has_missing and levels[variable.missing or 0] != MISSING:
        yield f"calls the level of missing values {levels[variable.missing or 0]!r}, not {MISSING!r}"
    if coding is None:
        if binning is not None and not variable.always_missing:
            yield "has no bins, but the problem states some"
        return
    if variable.has_missing and variable.missing != len(levels) - 1:
        yield "has its missing values among its bins"
    if binning is None:
        yield "has bins, but the problem states none"
    elif not binning.could_give(levels[:-1] if variable.has_missing else levels, coding):
        yield f"has other levels than the problem's bins give ({binning.words})"


def _strange_tree(problem: Problem, variable: Variable) -> Iterator[str]:
    """Say what a problem's cells could not be learned as."""
    tree = variable.tree
    if tree is None or problem.cells is None:
        yield "has no tree, but the problem's cells are learned"
        return
    if strange := [name for name in tree.names if name not in problem.features]:
        yield f"asks about {strange[0]!r}, which is no feature of the problem"
    if not problem.given and tree.size > problem.cells.most_cells:
        yield f"has {tree.size} leaves, more than the {problem.cells.most_cells} that the problem allows"
    if variable.levels != named_leaves(tree):
        yield "has leaves of other names than its tree gives them"
    if variable.blanks != tuple(problem.missing_values):
        yield f"takes {list(variable.blanks)} for missing, the problem {list(problem.missing_values)}"
    if variable.missing != UNSEEN or variable.coding is not None or variable.ordered != problem.cells.ordered:
        yield "is not what learned cells are"
