"""A problem, its bounds and its certificate in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.certificate import Certificate
from evenhand.spec import (
    Budget,
    ExpectedDistortion,
    Fixed,
    Free,
    Nominal,
    Ordinal,
    PairwiseParity,
    Parity,
    Problem,
    Rule,
    TargetParity,
)

COMBINED = {
    "sum": "Costs of several changes add up.",
    "sum_of_squares": "Costs of feature changes are squared; then all costs add up.",
    "max": "Of several changes at once, the costliest counts.",
}
STATUS = {
    "optimal": "every bound holds, and no mapping within the bounds loses less by more than the gap",
    "feasible": "every bound holds up to the violation below; another mapping might lose less",
    "local": "every bound holds; no small change of the mapping loses less",
}
MEASURES = {
    "KL": "the Kullback–Leibler divergence, in nats,",
    "L1": "the ℓ1 distance",
}


def asked(problem: Problem) -> Iterator[tuple[str, str]]:
    """Say what a problem asks for, as pairs of a heading and a sentence."""
    yield "Outcome", problem.outcome
    yield "Protected", " × ".join(problem.protected) + " (read, never changed)"
    yield "May change", f"{'; '.join(_changeable(problem))}. {COMBINED[problem.distortion.combine]}"
    for parity in problem.parity:
        yield "Bounded", parity_words(parity)
    for budget in problem.budgets:
        yield "Bounded", budget_words(budget)
    name = type(problem.utility).__name__
    yield (
        "Minimised",
        f"{MEASURES.get(name, name)} from the original to the released distribution of (features, outcome)",
    )


def parity_words(parity: Parity) -> str:
    """Say what a parity constraint bounds."""
    if isinstance(parity, PairwiseParity):
        return f"for every two groups, each outcome's rates differ by a factor of at most {1 + parity.bound:g}"
    assert isinstance(parity, TargetParity)
    target = "its rate in the whole table" if parity.target is None else f"the target {dict(parity.target)}"
    return f"for every group, each outcome's rate is within {parity.bound:.0%} of {target}"


def budget_words(budget: Budget) -> str:
    """Say what a budget bounds."""
    whom = "each person (each cell of protected columns, features and outcome)"
    if budget.per == "xy":
        whom = "each combination of features and outcome, on average over the groups"
    if isinstance(budget, ExpectedDistortion):
        return f"for {whom}, the expected distortion is at most {budget.limit:g}"
    parts = [f"above {t:g} with probability at most {p:g}" for t, p in budget.thresholds.items()]
    return f"for {whom}, the distortion is " + ", and ".join(parts)


def _changeable(problem: Problem) -> Iterator[str]:
    fixed = []
    for column in (*problem.features, problem.outcome):
        rule = problem.distortion.rules.get(column, Fixed())
        if isinstance(rule, Fixed):
            fixed.append(column)
        else:
            yield f"{column} {rule_words(rule)}"
    if fixed:
        yield f"{', '.join(fixed)} never"


def rule_words(rule: Rule) -> str:
    """Say what a rule allows and what it costs."""
    if isinstance(rule, Ordinal):
        return _ordinal_words(rule)
    if isinstance(rule, Nominal):
        return f"to any value (cost {rule.cost:g})"
    return "to any value, free" if isinstance(rule, Free) else "never"


def _ordinal_words(rule: Ordinal) -> str:
    up = rule.step if rule.up_step is None else rule.up_step
    ways = []
    if rule.up and rule.down and up == rule.step:
        ways.append(f"up or down (cost {rule.step:g} a step)")
    else:
        ways += [f"up (cost {up:g} a step)"] if rule.up else []
        ways += [f"down (cost {rule.step:g} a step)"] if rule.down else []
    if not ways:
        return "never"
    most = f", at most {rule.max_steps} step{'s' * (rule.max_steps != 1)}" if rule.max_steps is not None else ""
    return " or ".join(ways) + most


def certificate_words(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Say what a certificate states, as pairs of a heading and a sentence."""
    yield "Status", f"{certificate.status}: {STATUS[certificate.status]}"
    yield "Utility loss", f"{certificate.objective:.7f} (0 would mean that the distribution is kept exactly)"
    if certificate.lower_bound is not None and certificate.gap is not None:
        yield (
            "Lower bound",
            f"{certificate.lower_bound:.7f}: proved by duality, without trusting the solver",
        )
        yield "Gap", f"{certificate.gap:.1e}"
    yield "Largest violation", f"{certificate.max_violation:.1e}: no bound is exceeded by more"
    for note in certificate.notes:
        yield "Note", note
