"""How a column's values become levels: edges, quantiles, bins chosen by the data, merged and pooled levels.

A statement here says what is wanted; with the values of a table it becomes a coding, which a mapping keeps. A new way
is a file beside these, with its statement and its coding, and a line in ``BINNINGS``.
"""

from evenhand.data.levels import Coding
from evenhand.spec.bins.binning import Binning, Occurrence
from evenhand.spec.bins.cuts import ChosenBins, Edges, Quantiles
from evenhand.spec.bins.merges import MergedLevels, PooledLevels

__all__ = [
    "BINNINGS",
    "Binning",
    "ChosenBins",
    "Edges",
    "MergedLevels",
    "Occurrence",
    "PooledLevels",
    "Quantiles",
    "codings",
]

BINNINGS: dict[str, type[Binning]] = {
    "edges": Edges,
    "quantiles": Quantiles,
    "data": ChosenBins,
    "merging": MergedLevels,
    "pooling": PooledLevels,
}
"""Every way that values become levels, by the word that a problem's TOML has for it."""


def codings() -> dict[str, type[Coding]]:
    """Return every kind of coding, by the word that mapping files have for it."""
    return {binning.coding.kind: binning.coding for binning in BINNINGS.values()}
