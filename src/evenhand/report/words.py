"""A problem, its bounds and its certificate in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evenhand.optimise.certificate import Certificate
from evenhand.spec import (
    Budget,
    By,
    Difference,
    Distance,
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
    change_each,
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
    "local": "every bound holds; found by steps that each lose least given the last; another mapping might lose less",
}
NEVER = "never"
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
    used = "read to fit the mapping, not to use it" if problem.blind else "read, never changed"
    yield "Protected", f"{' × '.join(problem.protected)} ({used})"
    yield "May change", " ".join(_changes(problem))
    for column, binning in problem.bins.items():
        yield "Levels", f"{column}: {binning.words}"
    if problem.missing == "level":
        tokens = ", ".join(repr(value) for value in problem.missing_values)
        also = f" (and {tokens} is one)" if tokens else ""
        yield "Missing values", f"are a level of their own{also}, which stays as it is unless a rule names it"
    for parity in problem.parity:
        yield "Bounded", parity_words(parity)
    for budget in problem.budgets:
        yield "Bounded", budget_words(budget)
    if not problem.parity:
        yield "Not bounded", "how far apart the rates of groups may be"
    if not problem.budgets:
        yield "Not bounded", "how much each person may be changed, where a change is allowed at all"
    yield from _mode(problem)
    name = type(problem.utility).__name__
    what = "features" if problem.utility_on_features else "(features, outcome)"
    measure = MEASURES.get(name, f"a user's own measure ({getattr(problem.utility, 'name', name)})")
    yield "Minimised", f"{measure} from the original to the released distribution of {what}"


def _changes(problem: Problem) -> Iterator[str]:
    """Say which columns may change, and how costs combine."""
    yield f"{'; '.join(_changeable(problem))}."
    function = problem.distortion.function
    if function is None:
        yield COMBINED[problem.distortion.combine]
    else:
        name = getattr(function, "name", None) or getattr(function, "__name__", "a function")
        yield f"What each change costs, and what is forbidden, comes from a function: {name}."
    if problem.targets == "all":
        yield "Combinations of features that nobody has may be released."


def _mode(problem: Problem) -> Iterator[tuple[str, str]]:
    if problem.suppresses:
        source = "the table's own p(y|x)" if problem.conditional is None else "the p(y|x) of a given model"
        if problem.alternates:
            source = "a p(ŷ|x̂) found by alternating minimisation"
        yield "For whom", f"readers who may not see the protected columns: ŷ is drawn given x̂ alone, from {source}"
    if problem.blind:
        yield "Blind", "everybody with the same features and outcome is treated alike, whatever their group"


def parity_words(parity: Parity) -> str:
    """Say what a parity constraint bounds."""
    by = "" if parity.on is None else f" by {' × '.join(parity.on)}"
    where = _where(parity)
    if isinstance(parity, TargetParity):
        return f"for every group{by}{where}, {_close_to(parity, _target(parity))}"
    assert isinstance(parity, PairwiseParity)
    if parity.against == "each":
        return f"for every two groups{by}{where}, {_apart(parity)}"
    if parity.against == "rest":
        return f"for every group{by}{where}, {_close_to(parity, 'that of all other people')}"
    return f"for every other group{by}{where}, {_close_to(parity, f'that of {_group(parity.against)}')}"


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
    shares = ", ".join(f"{level}: {share:g}" for level, share in dict(parity.target).items())
    return f"the target ({shares})"


def _apart(parity: Parity) -> str:
    """Say how far apart two rates may be, by the distance's own meaning."""
    distance, rates = parity.distance, "each outcome's rates"
    if parity.bound == 0 and isinstance(distance, Ratio | Difference | LogRatio):
        return f"{rates} are equal"
    if isinstance(distance, FourFifths):
        share = _remaining(parity)
        return f"the rate of outcome {distance.favourable!r} in one is at least {share} of that in the other"
    if isinstance(distance, Ratio):
        return f"{rates} differ by a factor of at most {_bounds(parity, lambda e: f'{1 + e:g}')}"
    if isinstance(distance, Difference):
        return f"{rates} differ by at most {_bounds(parity, _hundredths)} percentage points"
    if isinstance(distance, LogRatio):
        return f"{rates} differ by at most {_bounds(parity, _plain)} in log-ratio"
    return f"{rates} are at most {_bounds(parity, _plain)} apart by {_name(distance)}"


def _close_to(parity: Parity, other: str) -> str:
    """Say how close a rate must be to another."""
    distance, rate = parity.distance, "each outcome's rate"
    if parity.bound == 0 and isinstance(distance, Ratio | Difference | LogRatio):
        return f"{rate} equals {other}"
    if isinstance(distance, FourFifths):
        return f"the rate of outcome {distance.favourable!r} is at least {_remaining(parity)} of {other}"
    if isinstance(distance, Ratio):
        return f"{rate} is within {_bounds(parity, lambda e: f'{_hundredths(e)}%')} of {other}"
    if isinstance(distance, Difference):
        return f"{rate} is within {_bounds(parity, _hundredths)} percentage points of {other}"
    if isinstance(distance, LogRatio):
        return f"{rate} is within {_bounds(parity, _plain)} in log-ratio of {other}"
    return f"{rate} is at most {_bounds(parity, _plain)} from {other} by {_name(distance)}"


def _plain(value: float) -> str:
    return f"{value:g}"


def _hundredths(value: float) -> str:
    return f"{100 * value:.4g}"


def _remaining(parity: Parity) -> str:
    """Return the share of a rate that a shortfall leaves."""
    left = change_each(parity.bound, lambda b: b if math.isinf(b) else max(0.0, 1 - b))
    return _range(left, lambda share: f"{_hundredths(share)}%", "bounded")


def _name(distance: Distance) -> str:
    return str(getattr(distance, "name", type(distance).__name__))


def _bounds(parity: Parity, shown: Callable[[float], str]) -> str:
    """Return the bound, or the range of those that vary."""
    return _range(parity.bound, shown, "bounded")


def _range(value: Any, shown: Callable[[float], str], what: str) -> str:
    finite = sorted({float(v) for v in each(value) if not math.isinf(v)})
    free = f"; some cases are not {what}" if any(math.isinf(v) for v in each(value)) else ""
    if len(finite) > 1:
        return f"{shown(finite[0])} to {shown(finite[-1])} (by case{free})"
    return f"{shown(finite[0])} ({free[2:]})" if free else shown(finite[0])


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
    return _range(limit, _plain, "limited")


def _changeable(problem: Problem) -> Iterator[str]:
    """Say of each column how it may change; a user's function does not charge what the rules say."""
    own = problem.distortion.function is None
    fixed = []
    for column in (*problem.features, problem.outcome):
        rule = problem.distortion.rules.get(column, Fixed() if own else Free())
        words = rule_words(rule, costs=own)
        if words == NEVER:
            fixed.append(column)
        else:
            yield f"{column} {words}"
    if fixed:
        yield f"{', '.join(fixed)} {NEVER}"


def rule_words(rule: Rule, *, costs: bool = True) -> str:
    """Say what a rule allows and, unless another function says so, what it costs."""
    if isinstance(rule, Ordinal):
        return _ordinal_words(rule, costs)
    if isinstance(rule, Nominal):
        if isinstance(rule.cost, Mapping):
            return f"by a table of {len(rule.cost)} costs" if costs else "as a table of costs allows"
        return NEVER if math.isinf(rule.cost) else f"to any value{_cost(rule.cost, costs)}"
    return f"to any value{_cost(0.0, costs)}" if isinstance(rule, Free) else NEVER


def _cost(cost: float, shown: bool, step: str = "") -> str:
    if not shown:
        return ""
    return " (free)" if cost == 0 else f" (cost {cost:g}{step})"


def _ordinal_words(rule: Ordinal, costs: bool) -> str:
    up = rule.step if rule.up_step is None else rule.up_step
    ways = []
    if rule.up and rule.down and (up == rule.step or not costs):
        ways.append(f"up or down{_cost(rule.step, costs, ' a step')}")
    else:
        ways += [f"up{_cost(up, costs, ' a step')}"] if rule.up else []
        ways += [f"down{_cost(rule.step, costs, ' a step')}"] if rule.down else []
    if not ways:
        return NEVER
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
