"""The statement of a problem, in frozen values: what is bounded, what change costs, what is kept.

Knows the paper's definitions and their arithmetic on plain arrays; nothing of tables, programmes or solvers.
"""

from evenhand.spec.budget import Budget, Charge, ExcessDistortion, ExpectedDistortion
from evenhand.spec.by import By, change_each, each
from evenhand.spec.comparison import AGAINST_TARGET, EVERYWHERE, Comparisons, comparisons
from evenhand.spec.conditional import Conditional, outcome_given_features
from evenhand.spec.distance import Difference, Distance, FourFifths, Line, LogRatio, Ratio
from evenhand.spec.distortion import CostTable, Distortion, Fixed, Free, Nominal, Ordinal, Rule
from evenhand.spec.parity import PairwiseParity, Parity, TargetParity
from evenhand.spec.problem import Problem
from evenhand.spec.user_distance import TabulatedDistance, UserDistance
from evenhand.spec.utility import (
    KL,
    L1,
    Bregman,
    Epigraph,
    Hellinger,
    JensenShannon,
    MaxRelativeChange,
    NeymanChi2,
    PearsonChi2,
    Polyhedral,
    Quasiconvex,
    Recorded,
    ReverseKL,
    Separable,
    Smooth,
    SquaredL2,
    TotalVariation,
    Utility,
)

__all__ = [
    "AGAINST_TARGET",
    "EVERYWHERE",
    "KL",
    "L1",
    "Bregman",
    "Budget",
    "By",
    "Charge",
    "Comparisons",
    "Conditional",
    "CostTable",
    "Difference",
    "Distance",
    "Distortion",
    "Epigraph",
    "ExcessDistortion",
    "ExpectedDistortion",
    "Fixed",
    "FourFifths",
    "Free",
    "Hellinger",
    "JensenShannon",
    "Line",
    "LogRatio",
    "MaxRelativeChange",
    "NeymanChi2",
    "Nominal",
    "Ordinal",
    "PairwiseParity",
    "Parity",
    "PearsonChi2",
    "Polyhedral",
    "Problem",
    "Quasiconvex",
    "Ratio",
    "Recorded",
    "ReverseKL",
    "Rule",
    "Separable",
    "Smooth",
    "SquaredL2",
    "TabulatedDistance",
    "TargetParity",
    "TotalVariation",
    "UserDistance",
    "Utility",
    "change_each",
    "comparisons",
    "each",
    "outcome_given_features",
]
