"""What ``new_people.py`` found, as plain values: means over splits, with intervals.

Knows the rows that ``new_people.py`` keeps, and nothing of how they came about or of the page.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t

OWN = "own"
"""The split that a table's authors made, among the seeds of random ones."""

APART = ("before", "kept", "typical", "outcomes_alone")
"""How far apart the new people's rates are: as they were, and after each way to treat who is in an unseen cell."""

CONFIDENCE = 0.95


def fits(rows, *, own):
    """Return the fits of the authors' own splits, or else of the random ones, each with its table."""
    chosen = [row for row in rows if (row["seed"] == OWN) == own]
    return [fit | {"table": row["table"], "title": row["title"]} for row in chosen for fit in row["fits"]]


def apart(rates):
    """Return J at worst, of a table of rates with one row per group and one column per outcome."""
    return float((np.max(rates, axis=0) / np.min(rates, axis=0) - 1).max())


def interval(values):
    """Return the mean, and half the length of its 95 % interval by Student's t; None where there is but one value."""
    mean, number = float(np.mean(values)), len(values)
    if number < 2:
        return mean, None
    quantile = t.ppf((1 + CONFIDENCE) / 2, number - 1)
    return mean, float(quantile * np.std(values, ddof=1) / math.sqrt(number))


def summaries(rows):
    """Return one row per table, number of features and measure: means and intervals over the random splits."""
    together = {}
    for fit in fits(rows, own=False):
        together.setdefault((fit["table"], fit["features"], fit["measure"]), []).append(fit)
    return [_summary(found) for found in together.values()]


def _summary(found):
    shown = {key: found[0][key] for key in ("table", "title", "features", "measure", "asked")}
    shown |= {"splits": len(found), "new": float(np.mean([fit["new"] for fit in found]))}
    shown |= {name: interval([fit[name] for fit in found]) for name in APART}
    return shown | {
        # The test part of a small table has so few people of a group that J is mostly their number; this has it not.
        "pooled": {name: apart(np.mean([fit["rates"][name] for fit in found], axis=0)) for name in APART},
        "within": float(np.mean([fit["typical"] <= fit["bound"] for fit in found])),
        "loosened": sum(fit["bound"] > fit["asked"] for fit in found),
        "left_out": sum(fit["left_out"] for fit in found),
        "seconds": float(np.mean([fit["seconds"] for fit in found])),
    }
