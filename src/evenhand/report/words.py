"""A problem, its bounds and its certificate in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.optimise.certificate import Certificate
from evenhand.spec import (
    Budget,
    ExpectedDistortion,
    Fixed,
    Free,
    Nominal,
    Ordinal,
    Problem,
    Rule,
    words_of,
)

COMBINED = {
    "sum": "Costs of several changes add up.",
    "sum_of_squares": "Costs of feature changes are squared; then all costs add up.",
    "max": "Of several changes at once, the costliest counts.",
}
STATUS = {
    "optimal": "every bound holds, and no mapping within the bounds loses less by more than the gap",
    "feasible": "every bound holds up to the violation below; another mapping might lose less",
    "local": "every bound holds; found by steps that each lose least given the last; another mapping might lose less",
}
NEVER = "never"


def asked(problem: Problem) -> Iterator[tuple[str, str]]:
    """Say what a problem asks for, as pairs of a heading and a sentence."""
    yield "Outcome", problem.outcome
    if problem.favourable is not None:
        yield "Favourable", f"{problem.outcome}={problem.favourable} is good for a person"
    used = "read to fit the mapping, not to use it" if problem.blind else "read, never changed"
    yield "Protected", f"{' × '.join(problem.protected)} ({used})"
    yield "May change", " ".join(_changes(problem))
    if problem.cells is not None:
        yield "Cells", f"{problem.cells.words}; learned over {', '.join(problem.learned_over)}"
    for rule in problem.forbidden_records:
        yield "Forbidden", f"nobody becomes {rule.words} who is not so already"
    for column, binning in problem.bins.items():
        yield "Levels", f"{column}: {binning.words}"
    if problem.missing_is_level:
        tokens = ", ".join(repr(value) for value in problem.missing_values)
        also = f" (and {tokens} is one)" if tokens else ""
        yield "Missing values", f"are a level of their own{also}, which stays as it is unless a rule names it"
    for parity in problem.parity:
        yield "Bounded", parity.words
    if problem.confidence is not None:
        where = "in the population that the table is a sample of, all at once"
        yield "Confidence", f"{problem.confidence:g} that these bounds hold {where}"
    for budget in problem.budgets:
        yield "Bounded", budget_words(budget, problem.cell_words)
    if not problem.parity:
        yield "Not bounded", "how far apart the rates of groups may be"
    if not problem.budgets:
        yield "Not bounded", "how much each person may be changed, where a change is allowed at all"
    if problem.suppresses:
        source = "the table's own p(y|x)" if problem.conditional is None else "the p(y|x) of a given model"
        if problem.alternates:
            source = "a p(ŷ|x̂) found by alternating minimisation"
        yield "For whom", f"readers who may not see the protected columns: ŷ is drawn given x̂ alone, from {source}"
    if problem.blind:
        yield (
            "Blind",
            f"everybody with the same {problem.cell_words} and outcome is treated alike, whatever their group",
        )
    what = problem.cell_words if problem.utility_on_features else f"({problem.cell_words}, outcome)"
    yield "Minimised", f"{problem.utility.words} from the original to the released distribution of {what}"


def _changes(problem: Problem) -> Iterator[str]:
    """Say of each column how it may change, and how costs combine."""
    function = problem.distortion.function
    # A user's function charges what it likes, whatever the rules say of costs.
    own, changing, fixed = function is None, [], []
    for column in (*problem.features, problem.outcome):
        words = rule_words(problem.distortion.rules.get(column, Fixed() if own else Free()), costs=own)
        if words == NEVER:
            fixed.append(column)
        else:
            changing.append(f"{column} {words}")
    changing += [f"{', '.join(fixed)} {NEVER}"] if fixed else []
    yield f"{'; '.join(changing)}."
    if function is None:
        yield COMBINED[problem.distortion.combine]
    else:
        name = getattr(function, "name", None) or getattr(function, "__name__", "a function")
        yield f"What each change costs, and what is forbidden, comes from a function: {name}."
    if not problem.observed_only:
        yield "Combinations of features that nobody has may be released."


def budget_words(budget: Budget, cells: str = "features") -> str:
    """Say what a budget bounds; ``cells`` is what features are called."""
    whom = f"each person (each cell of protected columns, {cells} and outcome)"
    if budget.averaged:
        whom = f"each combination of {cells} and outcome, on average over the groups"

    def limit(value: Any) -> str:
        return words_of(value, "{:g}".format, "limited")

    if isinstance(budget, ExpectedDistortion):
        return f"for {whom}, the expected distortion is at most {limit(budget.limit)}"
    parts = [f"above {t:g} with probability at most {limit(p)}" for t, p in budget.thresholds.items()]
    return f"for {whom}, the distortion is " + ", and ".join(parts)


def rule_words(rule: Rule, *, costs: bool = True) -> str:
    """Say what a rule allows and, unless another function says so, what it costs."""
    if isinstance(rule, Ordinal):
        up = rule.step if rule.up_step is None else rule.up_step
        per = " per step" if rule.power == 1 else f" times the number of steps to the power {rule.power:g}"
        ways = []
        if rule.up and rule.down and (up == rule.step or not costs):
            ways.append(f"up or down{_cost(rule.step, costs, per)}")
        else:
            ways += [f"up{_cost(up, costs, per)}"] if rule.up else []
            ways += [f"down{_cost(rule.step, costs, per)}"] if rule.down else []
        most = f", at most {rule.max_steps} step{'s' * (rule.max_steps != 1)}" if rule.max_steps is not None else ""
        return " or ".join(ways) + most if ways else NEVER
    if isinstance(rule, Nominal):
        if isinstance(rule.cost, Mapping):
            return f"by a table of {len(rule.cost)} costs" if costs else "as a table of costs allows"
        return NEVER if math.isinf(rule.cost) else f"to any value{_cost(rule.cost, costs)}"
    return f"to any value{_cost(0.0, costs)}" if isinstance(rule, Free) else NEVER


def _cost(cost: float, shown: bool, step: str = "") -> str:
    if not shown:
        return ""
    return " (free)" if cost == 0 else f" (cost {cost:g}{step})"


def certificate_words(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Say what a certificate states, as pairs of a heading and a sentence."""
    yield "Status", f"{certificate.status}: {STATUS[certificate.status]}"
    yield "Utility loss", f"{certificate.objective:.7f} (0 would mean that the distribution is kept exactly)"
    if certificate.lower_bound is not None and certificate.gap is not None:
        yield (
            "Lower bound",
            f"{certificate.lower_bound:.7f}: proved by duality, without trusting the solver",
        )
        # What rounding makes of no gap may be below zero.
        yield "Gap", f"{max(certificate.gap, 0.0):.1e}"
    if certificate.without_confidence is not None:
        more = certificate.objective - certificate.without_confidence
        yield (
            "Without confidence",
            f"{certificate.without_confidence:.7f}: the margins cost {max(more, 0.0):.7f}; the certificate is optimal "
            f"for these margins, not among all mappings that would keep the bounds in the population",
        )
    yield "Largest violation", f"{certificate.max_violation:.1e}: no constraint is violated by more"
    for note in certificate.notes:
        yield "Note", note
