"""Cells that are learned over several columns: the leaves of a tree, or the levels of a score.

A statement here says what is wanted; with a sample of a table it becomes a tree, which a mapping keeps. A new way is a
file beside these, and a line in ``spec.registry``.
"""

from evenhand.spec.cells.learning import Learned, Sample, Seen
from evenhand.spec.cells.leaves import Leaves
from evenhand.spec.cells.score_levels import ScoreLevels

__all__ = ["Learned", "Leaves", "Sample", "ScoreLevels", "Seen"]
