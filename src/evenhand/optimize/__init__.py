"""The convex programme of a problem: written down, solved, certified (Proposition 1)."""
