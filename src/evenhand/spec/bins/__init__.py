"""How a column's values become levels: edges, quantiles, bins chosen by the data, merged and pooled levels.

A statement here says what is wanted; with the values of a table it becomes a coding, which a mapping keeps. A new way
is a file beside these, with its statement and its coding, and a line in ``spec.registry``.
"""

from evenhand.spec.bins.binning import Binning, Occurrence
from evenhand.spec.bins.cuts import ChosenBins, Edges, Quantiles
from evenhand.spec.bins.merges import MergedLevels, PooledLevels

__all__ = [
    "Binning",
    "ChosenBins",
    "Edges",
    "MergedLevels",
    "Occurrence",
    "PooledLevels",
    "Quantiles",
]
