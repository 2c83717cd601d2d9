"""The statement of a problem, in frozen values: what is bounded, what change costs, what is kept.

Knows the paper's definitions and their arithmetic on plain arrays; nothing of tables, programmes or solvers.
"""

from evenhand.spec.bins import Binning, ChosenBins, Edges, MergedLevels, Occurrence, PooledLevels, Quantiles
from evenhand.spec.budget import Budget, Charge, ExcessDistortion, ExpectedDistortion
from evenhand.spec.by import By, change_each, each
from evenhand.spec.comparison import AGAINST_TARGET, EVERYWHERE, Comparisons, comparisons
from evenhand.spec.conditional import Conditional, outcome_given_features
from evenhand.spec.csv_format import CsvFormat
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
    "Binning",
    "Bregman",
    "Budget",
    "By",
    "Charge",
    "ChosenBins",
    "Comparisons",
    "Conditional",
    "CostTable",
    "CsvFormat",
    "Difference",
    "Distance",
    "Distortion",
    "Edges",
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
    "MergedLevels",
    "NeymanChi2",
    "Nominal",
    "Occurrence",
    "Ordinal",
    "PairwiseParity",
    "Parity",
    "PearsonChi2",
    "Polyhedral",
    "PooledLevels",
    "Problem",
    "Quantiles",
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
