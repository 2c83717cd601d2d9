"""The randomized mapping P(x̂, ŷ | d, x, y) itself: its probabilities, draws from it, and what it achieves."""

from evenhand.kernel.stochastic import Kernel, for_apply, gather, identity, joined, look_up, unchanged

__all__ = ["Kernel", "for_apply", "gather", "identity", "joined", "look_up", "unchanged"]
