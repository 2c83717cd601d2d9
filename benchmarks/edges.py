"""How often an answered fit with confidence violates a bound where the margins are nearly more than budgets allow.

    python benchmarks/edges.py [--samples 400] [--fresh]

There a good part of the samples is refused, and those that are answered are the ones that happened to look easy.
Embedded tables are the populations; a sample is drawn with replacement and fitted with ``confidence=0.95``, and the
expected rates of its mapping in the whole population are held against the bounds. Every sample is a line of
``build/edges.jsonl``, and a run that was ended goes on where it was. ``coverage.py --write`` makes the page's section.
"""

import argparse
import functools
import json
import time
import warnings
from dataclasses import dataclass

import harness
import numpy as np
from populations import largest_excess

import evenhand as eh
from evenhand.data.counts import Counts
from evenhand.findings.theory import clopper_pearson
from evenhand.folds import expected_outcomes
from evenhand.tables import cells, read
from evenhand.tolerances import ROUNDING

JOURNAL = harness.ROOT / "build" / "edges.jsonl"
CONFIDENCE = 0.95

HEAD = """## Where budgets only just allow the margins

By `benchmarks/edges.py`: embedded tables are the populations, outcomes alone change, and the budget is such that a good
part of the samples is refused. *Of those answered*: with its 95 % interval.
"""


@dataclass(frozen=True)
class Design:
    """A population, the size of samples, and a problem whose margins take nearly all that its budget can do."""

    words: str
    table: str
    people: int
    problem: eh.Problem


DESIGNS = (
    Design(
        "COMPAS by race, 18 combinations, ratio 0.2",
        "compas",
        2000,
        eh.Problem(
            protected=["race"],
            features=["age_cat", "c_charge_degree", "priors_count"],
            outcome="is_recid",
            parity=[eh.PairwiseParity(0.2)],
            distortion=eh.Distortion({"is_recid": eh.Ordinal(step=1, up=False)}),
            budget=eh.ExpectedDistortion(0.2),
            confidence=CONFIDENCE,
        ),
    ),
    Design(
        "Adult by sex, at most 24 learned cells, four fifths",
        "adult-wide",
        2000,
        eh.Problem(
            protected=["sex"],
            features=["age", "education", "hours", "marital_status", "workclass", "occupation"],
            outcome="income",
            parity=[eh.PairwiseParity(0.2, eh.FourFifths(1))],
            distortion=eh.Distortion({"income": eh.Ordinal(step=1, down=False)}),
            budget=eh.ExpectedDistortion(0.17),
            cells=eh.Leaves(24),
            confidence=CONFIDENCE,
        ),
    ),
)


@functools.cache
def everybody(table):
    """Return the population: a row for each kind of people, and how many they are."""
    found = eh.datasets.load(table).cells
    return found.drop(columns="people"), found["people"].to_numpy(dtype=float)


def tried(design, seed):
    """Fit one sample; say by how much its mapping exceeds a bound in the population, None where it is refused."""
    rows, people = everybody(design.table)
    rng = np.random.default_rng([len(design.words), design.people, seed])
    sample = rows.iloc[rng.choice(len(rows), size=design.people, p=people / people.sum())].reset_index(drop=True)
    try:
        mapping = eh.fit(design.problem, sample)
    except (eh.InfeasibleError, eh.DataError) as error:
        return {"excess": None, "why": type(error).__name__}
    domain = mapping.counts.domain
    counts = Counts.of(domain, *(cells(axis, read(rows))[0] for axis in (domain.d, domain.x, domain.y)), people)
    outcomes = expected_outcomes(mapping.release_mode, counts.d, counts.x, counts.y)
    return {"excess": largest_excess(design.problem.parity, counts, outcomes), "loss": mapping.objective}


def kept():
    """Return the samples of earlier runs of the same designs, by design and seed."""
    rows = {}
    for line in JOURNAL.read_text(encoding="utf-8").splitlines() if JOURNAL.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            # A line that was being written when the run ended.
            continue
        if row["design"] < len(DESIGNS) and row["of"] == named(DESIGNS[row["design"]]):
            rows[row["design"], row["seed"]] = row
    return rows


def named(design):
    """Return a name that another problem changes."""
    return f"{design.table} {design.people} {design.problem.to_toml()}"


def summary(number, rows):
    """Put the samples of a design together."""
    answered = [row for row in rows if row["excess"] is not None]
    over = sum(row["excess"] > ROUNDING for row in answered)
    low, high = clopper_pearson(np.array([float(over)]), np.array([float(len(answered))]))
    return {
        "design": DESIGNS[number].words,
        "people": DESIGNS[number].people,
        "samples": len(rows),
        "refused": len(rows) - len(answered),
        "answered": len(answered),
        "violated": over,
        "of those answered": f"{share(over / max(len(answered), 1))} ({share(low[0])} to {share(high[0])})",
    }


def share(of):
    """Write a share."""
    return f"{100 * of:.1f} %"


def summaries():
    """Return a row for each design that was tried."""
    by = {}
    for (number, _), row in kept().items():
        by.setdefault(number, []).append(row)
    return [summary(number, by[number]) for number in sorted(by)]


def main():
    """Run what is left, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--fresh", action="store_true", help="Begin anew.")
    given = parser.parse_args()
    warnings.simplefilter("ignore", eh.EvenhandWarning)
    JOURNAL.parent.mkdir(parents=True, exist_ok=True)
    if given.fresh:
        JOURNAL.unlink(missing_ok=True)
    known = kept()
    for seed in range(given.samples):
        for number, design in enumerate(DESIGNS):
            if (number, seed) in known:
                continue
            began = time.process_time()
            row = {"design": number, "of": named(design), "seed": seed} | tried(design, seed)
            row["seconds"] = time.process_time() - began
            with JOURNAL.open("a", encoding="utf-8") as journal:
                journal.write(json.dumps(row) + "\n")
    for row in summaries():
        print("  ".join(f"{name}: {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
