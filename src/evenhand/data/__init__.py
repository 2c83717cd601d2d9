"""A table as finite variables and weights: levels, cells, counts (section 3 of the paper)."""

FEW_PEOPLE = 20
"""A group or cell of fewer says little about other people, and may let somebody be recognised."""
