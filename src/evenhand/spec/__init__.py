"""The statement of a problem, in frozen values: what is bounded, what change costs, what is kept.

Knows the paper's definitions and their arithmetic on plain arrays; nothing of tables, programmes or solvers.
"""

from evenhand.spec.budget import Budget, Charge, ExcessDistortion, ExpectedDistortion
from evenhand.spec.distance import Distance, Line, Ratio
from evenhand.spec.distortion import Distortion, Fixed, Free, Nominal, Ordinal, Rule
from evenhand.spec.parity import PairwiseParity, Parity, TargetParity
from evenhand.spec.problem import Problem
from evenhand.spec.utility import KL, L1, Epigraph, Polyhedral, Smooth, Utility

__all__ = [
    "KL",
    "L1",
    "Budget",
    "Charge",
    "Distance",
    "Distortion",
    "Epigraph",
    "ExcessDistortion",
    "ExpectedDistortion",
    "Fixed",
    "Free",
    "Line",
    "Nominal",
    "Ordinal",
    "PairwiseParity",
    "Parity",
    "Polyhedral",
    "Problem",
    "Ratio",
    "Rule",
    "Smooth",
    "TargetParity",
    "Utility",
]
