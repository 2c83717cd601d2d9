"""The statement of a problem, in frozen values: what is bounded, what change costs, what is kept.

Knows the paper's definitions and their arithmetic on plain arrays; nothing of tables, programmes or solvers. Which
measures, distances and forms of parity there are, ``registry`` says.
"""

from evenhand.spec.bins import Binning, ChosenBins, Edges, MergedLevels, Occurrence, PooledLevels, Quantiles
from evenhand.spec.budget import Budget, Charge, ExcessDistortion, ExpectedDistortion
from evenhand.spec.by import By, change_each, each, words_of
from evenhand.spec.cells import Learned
from evenhand.spec.comparison import AGAINST_TARGET, Comparisons, all_comparisons, comparisons
from evenhand.spec.conditional import Conditional, outcome_given_features
from evenhand.spec.csv_format import CsvFormat
from evenhand.spec.distance import Distance, Line, Ratio
from evenhand.spec.distortion import CostTable, Distortion, Fixed, Free, Nominal, NumberedColumn, Ordinal, Rule
from evenhand.spec.events import Features
from evenhand.spec.forbidden import Forbidden, becomes_forbidden
from evenhand.spec.parity import PairwiseParity, Parity, TargetParity
from evenhand.spec.people import EVERYWHERE
from evenhand.spec.problem import Problem, check_problem, weighted_by, weighting_of
from evenhand.spec.utility import KL, L1, Epigraph, Polyhedral, Quasiconvex, Recorded, Smooth, Utility

__all__ = [
    "AGAINST_TARGET",
    "EVERYWHERE",
    "KL",
    "L1",
    "Binning",
    "Budget",
    "By",
    "Charge",
    "ChosenBins",
    "Comparisons",
    "Conditional",
    "CostTable",
    "CsvFormat",
    "Distance",
    "Distortion",
    "Edges",
    "Epigraph",
    "ExcessDistortion",
    "ExpectedDistortion",
    "Features",
    "Fixed",
    "Forbidden",
    "Free",
    "Learned",
    "Line",
    "MergedLevels",
    "Nominal",
    "NumberedColumn",
    "Occurrence",
    "Ordinal",
    "PairwiseParity",
    "Parity",
    "Polyhedral",
    "PooledLevels",
    "Problem",
    "Quantiles",
    "Quasiconvex",
    "Ratio",
    "Recorded",
    "Rule",
    "Smooth",
    "TargetParity",
    "Utility",
    "all_comparisons",
    "becomes_forbidden",
    "change_each",
    "check_problem",
    "comparisons",
    "each",
    "outcome_given_features",
    "weighted_by",
    "weighting_of",
    "words_of",
]
