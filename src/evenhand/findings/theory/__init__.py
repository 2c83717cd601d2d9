"""Theory as numbers: what the paper's propositions say for one table, and what data says beside them.

``advantage`` is section 3.3, ``applying`` section 3.4, ``robustness`` section 3.5; ``intervals``, ``judging``,
``spread`` and ``straying`` are what people can use where those say little. Every function takes frozen values and
returns one, with frames and with ``words`` for people who must judge it. Nothing here knows how a mapping was found.
"""

from evenhand.findings.theory.advantage import Advantage, advantage
from evenhand.findings.theory.applying import Applying
from evenhand.findings.theory.intervals import (
    HoldOut,
    SmallGroups,
    clopper_pearson,
    holdout,
    overall,
    rate_intervals,
)
from evenhand.findings.theory.judging import Judgement, judge
from evenhand.findings.theory.mapped import Theory
from evenhand.findings.theory.rates import l1_distance, regrouped
from evenhand.findings.theory.robustness import Robustness, robustness
from evenhand.findings.theory.spread import Bootstrap, DrawSpread, bootstrap, draw_spread
from evenhand.findings.theory.straying import Straying

__all__ = [
    "Advantage",
    "Applying",
    "Bootstrap",
    "DrawSpread",
    "HoldOut",
    "Judgement",
    "Robustness",
    "SmallGroups",
    "Straying",
    "Theory",
    "advantage",
    "bootstrap",
    "clopper_pearson",
    "draw_spread",
    "holdout",
    "judge",
    "l1_distance",
    "overall",
    "rate_intervals",
    "regrouped",
    "robustness",
]
