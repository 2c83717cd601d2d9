"""What ``new_people.py`` and ``wide_tables.py`` found, as plain values: means over splits, with intervals.

Knows the rows that they keep, and nothing of how they came about or of the page.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t

OWN = "own"
"""The split that a table's authors made, among the seeds of random ones."""

APART = ("before", "kept", "typical", "outcomes_alone")
"""How far apart the new people's rates are: as they were, and after each way to treat who is in an unseen cell."""

RAW = "raw"
"""What models of wide tables are trained on, beside the tables that mappings with learned cells release."""

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


def wide_mappings(rows):
    """Return one row per wide table, kind of cells and setting: how far apart new people's rates are, over splits."""
    found = _grouped(rows, "mappings", ("table", "title", "setting", "cells", "scored_by"))
    return [
        key
        | {name: float(np.mean([each[name] for each in fits])) for name in ("number", "budget")}
        | {name: interval([each[name] for each in fits]) for name in ("before", "apart", "outcomes_alone")}
        | {f"{name}_pooled": _pooled(fits, name) for name in ("rates_before", "rates")}
        | {"pooled": apart(np.mean([each["rates"] for each in fits], axis=0))}
        for key, fits in found
    ]


def wide_models(rows):
    """Return one row per wide table, model and what it was trained on: what new people's scores are, over the splits.

    ``beyond`` is AUC less that of the raw model with shifted scores, in the same split.
    """
    judged = []
    for row in rows:
        models = row.get("models", ())
        limits = {each["model"]: each["auc"] for each in models if each["trained_on"] == RAW and each["shifted"]}
        judged.append(row | {"models": [each | {"beyond": each["auc"] - limits[each["model"]]} for each in models]})
    found = _grouped(judged, "models", ("table", "title", "model", "trained_on", "setting", "shifted"))
    return [
        key
        | {"splits": len(fits)}
        | {name: interval([each[name] for each in fits]) for name in ("auc", "log_loss", "apart", "beyond")}
        | {"pooled": apart(np.mean([each["means"] for each in fits], axis=0))}
        for key, fits in found
    ]


def _grouped(rows, what, keys):
    """Return what rows hold under a name, together by keys of a row or of what it holds."""
    together = {}
    for row in rows:
        for each in row.get(what, ()):
            named = {key: each[key] if key in each else row[key] for key in keys}
            together.setdefault(tuple(named.values()), (named, []))[1].append(each)
    return list(together.values())


def _pooled(fits, name):
    """Return each group's rate of the last outcome, averaged over splits."""
    return np.mean([each[name] for each in fits], axis=0)[:, -1].tolist()


def wide_times(rows):
    """Return one row per wide table and kind of cells: seconds, and the ratio to features made by hand."""
    lines = []
    for row in rows:
        for way, took in row.get("took", {}).items():
            line = {"table": row["table"], "title": row["title"], "people": row["people"], "cells": way, **took}
            for what in ("fit", "release"):
                line[f"{what}_ratio"] = took[what] / row["took"]["by hand, outcomes alone"][what]
            lines.append(line)
    return lines


def model_ways(rows):
    """Return one row per table, model and way, as words: what new people's scores are, over the splits.

    *Beyond* is the log loss less that of the bare model with shifted scores, in the same split.
    """
    judged = []
    for row in rows:
        limits = {each["model"]: each["log_loss"] for each in row["ways"] if each["way"] == "shifted"}
        judged.append(
            row | {"ways": [each | {"beyond": each["log_loss"] - limits[each["model"]]} for each in row["ways"]]}
        )
    return [
        {
            "table": key["table"],
            "model": key["model"],
            "scores": key["way"],
            "apart": _plus_minus([each["apart"] for each in found], 3),
            "pooled": f"{apart(np.mean([each['means'] for each in found], axis=0)):.3f}",
            "log loss": _plus_minus([each["log_loss"] for each in found], 4),
            "beyond shifted": _plus_minus([each["beyond"] for each in found], 4, sign="+"),
            "AUC": _plus_minus([each["auc"] for each in found], 4),
            "gap beyond chance": _plus_minus([each["excess"] for each in found], 3, sign="+"),
        }
        for key, found in _grouped(judged, "ways", ("table", "model", "way"))
    ]


def _plus_minus(values, digits, sign=""):
    mean, half = interval(values)
    return f"{mean:{sign}.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")
