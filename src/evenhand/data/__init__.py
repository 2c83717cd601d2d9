"""A table as finite variables and weights: levels, cells, counts (section 3 of the paper)."""
