"""The randomized mapping P(x̂, ŷ | d, x, y) itself: its probabilities, draws from it, and what it achieves."""

from evenhand.kernel.stochastic import Kernel, gather, identity, joined, look_up, project, unchanged

__all__ = ["Kernel", "gather", "identity", "joined", "look_up", "project", "unchanged"]
