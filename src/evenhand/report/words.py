"""A problem, its bounds and its certificate in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evenhand.certificate import Certificate
from evenhand.spec import (
    Budget,
    By,
    Difference,
    ExpectedDistortion,
    Fixed,
    FourFifths,
    Free,
    LogRatio,
    Nominal,
    Ordinal,
    PairwiseParity,
    Parity,
    Problem,
    Ratio,
    Rule,
    TargetParity,
    each,
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
    "ReverseKL": "the reverse Kullback–Leibler divergence, in nats,",
    "L1": "the ℓ1 distance",
    "TotalVariation": "the total variation",
    "PearsonChi2": "Pearson's χ²",
    "NeymanChi2": "Neyman's χ²",
    "Hellinger": "the squared Hellinger distance",
    "JensenShannon": "the Jensen–Shannon divergence, in nats,",
    "SquaredL2": "the squared ℓ2 distance",
    "MaxRelativeChange": "the largest relative change of any cell",
}


def asked(problem: Problem) -> Iterator[tuple[str, str]]:
    """Say what a problem asks for, as pairs of a heading and a sentence."""
    yield "Outcome", problem.outcome
    yield "Protected", " × ".join(problem.protected) + " (read, never changed)"
    how = COMBINED[problem.distortion.combine] if problem.distortion.function is None else "A function of your own."
    yield "May change", f"{'; '.join(_changeable(problem))}. {how}"
    for parity in problem.parity:
        yield "Bounded", parity_words(parity)
    for budget in problem.budgets:
        yield "Bounded", budget_words(budget)
    yield from _mode(problem)
    name = type(problem.utility).__name__
    what = "features" if problem.utility_on_features else "(features, outcome)"
    measure = MEASURES.get(name, getattr(problem.utility, "name", name))
    yield "Minimised", f"{measure} from the original to the released distribution of {what}"


def _mode(problem: Problem) -> Iterator[tuple[str, str]]:
    if problem.suppress_protected is not None:
        source = {
            "fixed": "the table's own p(y|x)" if problem.conditional is None else "a given model",
            "alternating": "an alternating minimisation",
        }[problem.suppress_protected]
        yield "For whom", f"readers who may not see the protected columns: ŷ is drawn given x̂ alone, by {source}"
    if problem.blind:
        yield "Blind", "everybody with the same features and outcome is treated alike, whatever their group"


def parity_words(parity: Parity) -> str:
    """Say what a parity constraint bounds."""
    who = "group" if parity.on is None else f"group by {' × '.join(parity.on)}"
    where = _where(parity)
    if isinstance(parity, PairwiseParity):
        if parity.against == "each":
            first = f"for every two {who.replace('group', 'groups', 1)}"
        elif parity.against == "rest":
            first = f"for every {who} and all other people"
        else:
            first = f"for every {who} and the reference {_group(parity.against)}"
        return f"{first}{where}, {_apart(parity, 'rates', '')}"
    assert isinstance(parity, TargetParity)
    return f"for every {who}{where}, {_apart(parity, 'rate', _target(parity))}"


def _where(parity: Parity) -> str:
    if parity.given is None:
        return ""
    kind = "released " if isinstance(parity, TargetParity) and parity.released else ""
    return f" within each {kind}segment by {' × '.join(parity.given)}"


def _group(named: Any) -> str:
    return ", ".join(f"{column}={level}" for column, level in dict(named).items())


def _target(parity: TargetParity) -> str:
    if parity.target is None:
        return "its rate in the whole table" if parity.given is None else "its rate in the whole segment"
    if isinstance(parity.target, By):
        return "the target of its segment"
    return f"the target {dict(parity.target)}"


def _apart(parity: Parity, rates: str, target: str) -> str:
    """Say how far apart rates may be, by the distance's own meaning."""
    distance = parity.distance
    subject = f"each outcome's {rates}"
    if isinstance(distance, FourFifths):
        subject = f"the {rates} of outcome {distance.favourable!r}"
    against = f" of {target}" if target else ""
    if isinstance(distance, Ratio):
        if target:
            return f"{subject} is within {_bounds(parity, lambda e: f'{e:.0%}')}{against}"
        return f"{subject} differ by a factor of at most {_bounds(parity, lambda e: f'{1 + e:g}')}"
    if isinstance(distance, FourFifths):
        return f"{subject} fall short by at most {_bounds(parity, lambda e: f'{e:.0%}')}{against}"
    unit = {Difference: "points of probability", LogRatio: "in log-ratio"}.get(type(distance), "")
    name = getattr(distance, "name", "")
    verb = "is within" if target else "differ by at most"
    return f"{subject} {verb} {_bounds(parity, lambda e: f'{e:g}')} {unit or 'by ' + name}{against}".replace("  ", " ")


def _bounds(parity: Parity, shown: Callable[[float], str]) -> str:
    """Return the bound, or the range of those that vary."""
    finite = sorted({float(b) for b in each(parity.bound) if not math.isinf(b)})
    unbounded = ", some not bounded" if any(math.isinf(b) for b in each(parity.bound)) else ""
    if len(finite) == 1:
        return shown(finite[0]) + unbounded
    return f"{shown(finite[0])} to {shown(finite[-1])} by case{unbounded}"


def budget_words(budget: Budget) -> str:
    """Say what a budget bounds."""
    whom = "each person (each cell of protected columns, features and outcome)"
    if budget.per == "xy":
        whom = "each combination of features and outcome, on average over the groups"
    if isinstance(budget, ExpectedDistortion):
        return f"for {whom}, the expected distortion is at most {_limit(budget.limit)}"
    parts = [f"above {t:g} with probability at most {_limit(p)}" for t, p in budget.thresholds.items()]
    return f"for {whom}, the distortion is " + ", and ".join(parts)


def _limit(limit: Any) -> str:
    values = sorted({float(value) for value in each(limit)})
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g} by case"


def _changeable(problem: Problem) -> Iterator[str]:
    fixed = []
    for column in (*problem.features, problem.outcome):
        unstated = Fixed() if problem.distortion.function is None else Free()
        rule = problem.distortion.rules.get(column, unstated)
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
        if isinstance(rule.cost, Mapping):
            return f"by a table of {len(rule.cost)} costs"
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
