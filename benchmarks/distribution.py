"""What the random problems of families.py show, as plain values: quantiles, shares and the slowest.

Knows the rows that ``families.py`` keeps, and nothing of how they came about or of the page.
"""

from __future__ import annotations

import math

import numpy as np

HIGHS = "HiGHS"
LARGE = 10_000
"""From so many moves on the specialised method is to answer."""

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
"""Where classes of sizes begin; the first begins at nothing, the last does not end."""

QUANTILES = (5, 25, 50, 75, 95)
NO_LOSS = 1e-9
SLOWEST = 10


def fits(rows):
    """Return the rows of all fits: a problem with one measure, and how HiGHS compares where it was asked.

    ``ratio`` is HiGHS's seconds over ours; ``at_least`` says that HiGHS was ended, so that it is larger than that.
    Where the two cannot be compared, ``HiGHS`` is its seconds, or how it ended.
    """
    found = []
    for row in rows:
        for name, method in row["methods"].items():
            if name.startswith(HIGHS):
                continue
            fit = method | {"number": row["number"], "tags": row["tags"], "measure": name}
            theirs = row["methods"].get(f"{HIGHS} {name}", {})
            if "solve" in fit and "solve" in theirs:
                fit |= {"ratio": theirs["solve"] / fit["solve"], "at_least": False}
                fit |= {"off": abs(theirs["objective"] - fit["objective"])}
            elif "solve" in fit and "ended" in theirs:
                fit |= {"ratio": theirs["ended"] / fit["solve"], "at_least": True}
            elif theirs:
                fit |= {"HiGHS": theirs.get("solve", theirs.get("died"))}
            found.append(fit)
    return found


def solved(found):
    """Return the fits that came to an optimum and a tie-break."""
    return [fit for fit in found if "whole" in fit]


def answered(fit):
    """Say whether the specialised method answered alone: its optimum is certified, and its tie-break holds."""
    return bool(fit.get("status") == "optimal" and fit["specialised"] and fit["tie_break"] == "specialised")


def choosing(fit):
    """Return the seconds that the tie-break added; measured twice, the difference may be less than nothing."""
    return max(0.0, fit["whole"] - fit["solve"])


def per_move(fit):
    """Return the microseconds per move of an optimum with its tie-break; infinite where there is none."""
    return 1e6 * fit["whole"] / fit["moves"] if "whole" in fit else math.inf


def pairs(found):
    """Return (KL, ℓ1) fits of the same problem."""
    by_key = {(fit["number"], fit["measure"]): fit for fit in solved(found)}
    return [
        (fit, by_key[number, "L1"])
        for (number, name), fit in by_key.items()
        if name == "KL" and (number, "L1") in by_key
    ]


def quantiles(values, small_is_bad=False):
    """Return the number of values, their quantiles and the worst; None where there are no values."""
    if not values:
        return None
    found = dict(zip(map(str, QUANTILES), np.quantile(values, np.array(QUANTILES) / 100).tolist(), strict=True))
    return {"number": len(values)} | found | {"worst": float(min(values) if small_is_bad else max(values))}


def distributions(found):
    """Return quantiles by what they are of; those of which there is nothing are left out."""
    done, both = solved(found), pairs(found)
    large = [fit for fit in done if fit["moves"] >= LARGE]
    large_both = [(kl, l1) for kl, l1 in both if kl["moves"] >= LARGE]
    named = {"ℓ1": "L1", "KL": "KL"}
    own = {f"µs per move, {words}": [1e6 * f["solve"] / f["moves"] for f in done if f["measure"] == name]
           for words, name in named.items()}  # fmt: skip
    others = [1e6 * fit["solve"] / fit["moves"] for fit in done if fit["measure"] not in named.values()]
    plain = own | {
        "µs per move, other measures": others,
        "tie-break over solve": [choosing(fit) / fit["solve"] for fit in done],
        f"tie-break over solve, from {LARGE:,} moves on": [choosing(fit) / fit["solve"] for fit in large],
        "certificate over solve": [fit["certify"] / fit["solve"] for fit in done if "certify" in fit],
        "KL over ℓ1, solve": [kl["solve"] / l1["solve"] for kl, l1 in both],
        f"KL over ℓ1, solve, from {LARGE:,} moves on": [kl["solve"] / l1["solve"] for kl, l1 in large_both],
        "KL over ℓ1, with tie-break": [kl["whole"] / l1["whole"] for kl, l1 in both],
    }
    compared = [fit for fit in found if "ratio" in fit]
    ratios = {
        "HiGHS over evenhand, ℓ1": [fit["ratio"] for fit in compared if fit["measure"] == "L1"],
        f"HiGHS over evenhand, ℓ1, from {LARGE:,} moves on": [
            fit["ratio"] for fit in compared if fit["measure"] == "L1" and fit["moves"] >= LARGE
        ],
        "HiGHS over evenhand, other linear measures": [fit["ratio"] for fit in compared if fit["measure"] != "L1"],
    }
    table = {name: quantiles(values) for name, values in plain.items()}
    table |= {name: quantiles(values, small_is_bad=True) for name, values in ratios.items()}
    return {name: row for name, row in table.items() if row}


def met(found):
    """Return the fits of problems that can be met, as far as is known."""
    return [fit for fit in found if not fit.get("infeasible")]


def shares(found):
    """Return how many fits the specialised method answered: from LARGE moves on, by measure and by size.

    Who died counts as not answered; problems that cannot be met do not count.
    """
    found = met(found)
    large = [fit for fit in found if fit.get("moves", LARGE) >= LARGE]
    yield _share(f"from {LARGE:,} moves on", large)
    for measure in sorted({fit["measure"] for fit in large}, key=_usual_first):
        yield _share(f"… {measure}", [fit for fit in large if fit["measure"] == measure])
    for low, high in zip((0, *SIZES[1:]), (*SIZES[1:], math.inf), strict=True):
        inside = [fit for fit in found if low <= fit.get("moves", -1) < high]
        if inside:
            words = f"up to {high:,} moves" if low == 0 else f"{low:,} moves on"
            words = words if low == 0 or math.isinf(high) else f"{low:,} to {high:,} moves"
            yield _share(words, inside)


def _usual_first(measure):
    return (measure not in ("L1", "KL"), measure)


def _share(words, of):
    count = {
        "suitable": sum(bool(fit.get("suitable")) for fit in of),
        "optimum": sum(bool(fit.get("specialised")) for fit in of),
        "certified": sum(fit.get("status") == "optimal" for fit in of),
        "tie_break": sum("whole" in fit and fit["tie_break"] != "lost" for fit in of),
        "died": sum("died" in fit for fit in of),
    }
    return {"fits": words, "number": len(of)} | count | {"answered": sum(map(answered, of)) / max(1, len(of))}


def slowest(found, number=SLOWEST):
    """Return the fits with the most seconds per move, optimum and tie-break together; who died comes first."""
    return sorted(met(found), key=lambda fit: (per_move(fit), fit.get("spent", 0.0)), reverse=True)[:number]


def behind(found):
    """Return the fits in which HiGHS was faster, the worst first."""
    return sorted((fit for fit in found if fit.get("ratio", 1.0) < 1), key=lambda fit: fit["ratio"])


def words(fit):
    """Return what a fit is, in a line: size, table, statement."""
    tags = fit["tags"]
    blocks = (
        f" ({tags['blocks']} block{'' if tags['blocks'] == 'one' else 's'})" if tags["table"] == "generated" else ""
    )
    budget = tags["budget"] if tags["budget"] == "none" else f"{tags['budget']} per {tags['per']}"
    return (
        f"{tags['table']}{blocks}, {tags['groups']} groups; {tags['outcomes']} outcomes: {tags['outcome']}; "
        f"parity: {tags['parity']}; budget: {budget}; {tags['combine']}, {tags['reach']}"
    )
