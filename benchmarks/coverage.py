"""How often a mapping that was fitted with confidence exceeds a bound among the people its table is a sample of.

    python benchmarks/coverage.py [--quick] [--samples 400] [--jobs 2] [--only 3 17] [--fresh] [--kept] [--write]

Public tables are the populations: samples are drawn from them with replacement, a problem is fitted to each with
``confidence=0.95`` and without, and the expected rates of both mappings in the whole population are held against the
bounds. A sample that is refused is counted as such. Every sample is a line of ``build/coverage.jsonl``, and a run that
was ended goes on where it was; ``--quick`` takes a few samples of each setting. The table and its chart go to
``docs/benchmarks/coverage.md`` and ``docs/benchmarks/coverage.svg`` with ``--write``.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import time
import warnings
import zlib
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from statistics import mean

import edges
import harness
import numpy as np
import pandas as pd
import populations
import raw_tables
import real_tables

import evenhand as eh
from evenhand.data.counts import Counts
from evenhand.findings.assurance import rates_compared
from evenhand.findings.theory import clopper_pearson
from evenhand.folds import expected_outcomes
from evenhand.spec import comparisons
from evenhand.tables import cells, read
from evenhand.tolerances import ROUNDING

CONFIDENCE = 0.95
POOLED, LARGEST = 0.055, 0.082
"""What was promised of all samples together, and of every setting."""

JOURNAL = harness.ROOT / "build" / "coverage.jsonl"
PAGE, CHART = (
    harness.ROOT / "docs" / "benchmarks" / "coverage.md",
    harness.ROOT / "docs" / "benchmarks" / "coverage.svg",
)
ENOUGH = 400
"""Fewer samples of a setting do not decide."""

CHUNK = 10


@dataclass(frozen=True)
class Setting:
    """A population, the size of samples, and what is asked of them."""

    table: str
    people: int
    protected: tuple[str, ...]
    features: tuple[str, ...]
    bound: float
    target: bool = False
    cells: eh.Leaves | eh.ScoreLevels | None = None

    @property
    def name(self):
        """What tells it from any other, also from itself with another problem."""
        return f"{self.table} {self.people} {zlib.crc32(self.problem().to_toml().encode()):08x}"

    @property
    def outcome(self):
        """The outcome of the table."""
        return {"compas": "is_recid", "adult": "income", "german": "risk"}[self.table]

    def problem(self):
        """Return what is asked: outcomes alone change, for the better, everybody's with probability .5 at most."""
        # One way alone would not do where groups are on both sides of a target.
        ways = {"up": self.target or self.table != "compas", "down": self.target or self.table == "compas"}
        form = eh.TargetParity if self.target else eh.PairwiseParity
        return eh.Problem(
            protected=self.protected,
            features=self.features,
            outcome=self.outcome,
            parity=[form(self.bound)],
            distortion=eh.Distortion({self.outcome: eh.Ordinal(step=1, **ways)}),
            budget=eh.ExpectedDistortion(0.5),
            cells=self.cells,
        )


HAND = ("age_cat", "c_charge_degree", "priors_count")
RECORD = ("age", "priors", "juv_fel_count", "juv_misd_count", "juv_other_count", "c_charge_degree")
LIFE = ("age", "education", "hours", "marital_status")
CREDIT = ("duration", "savings", "employment")
SEX, BOTH = ("sex",), ("sex", "race")
YOUNG, FOUR = ("age",), ("age", "sex")
LOAN = ("months", "amount", "checking", "savings", "employment", "history", "purpose")
WORK = ("age_years", "education_years", "hours_week", "marital_status", "occupation", "relationship")
SETTINGS = (
    Setting("compas", 500, ("race",), HAND, 0.25),
    Setting("compas", 2000, ("race",), HAND, 0.2),
    Setting("compas", 5000, ("race",), HAND, 0.1),
    Setting("compas", 2000, ("race",), HAND, 0.15, target=True),
    Setting("compas", 2000, BOTH, HAND, 0.5),
    Setting("compas", 5000, BOTH, HAND, 0.3),
    Setting("compas", 5000, BOTH, HAND, 0.2, target=True),
    Setting("compas", 20000, BOTH, HAND, 0.1, target=True),
    Setting("compas", 2000, ("race",), RECORD, 0.2, cells=eh.Leaves(24)),
    Setting("compas", 5000, BOTH, RECORD, 0.3, cells=eh.Leaves(24)),
    Setting("adult", 2000, SEX, LIFE[:2], 0.3),
    Setting("adult", 5000, SEX, LIFE[:2], 0.2),
    Setting("adult", 20000, SEX, LIFE[:2], 0.1),
    Setting("adult", 2000, SEX, LIFE, 0.3),
    Setting("adult", 5000, SEX, LIFE, 0.2),
    Setting("adult", 5000, BOTH, LIFE[:2], 0.6),
    Setting("adult", 20000, BOTH, LIFE[:2], 0.3),
    Setting("adult", 20000, BOTH, LIFE[:2], 0.2, target=True),
    Setting("adult", 5000, SEX, (*LIFE, "workclass"), 0.3, target=True),
    Setting("adult", 5000, SEX, WORK, 0.2, cells=eh.Leaves(24)),
    Setting("german", 500, YOUNG, CREDIT, 0.5),
    Setting("german", 2000, YOUNG, (*CREDIT, "checking"), 0.25),
    Setting("german", 2000, FOUR, CREDIT, 0.35, target=True),
    Setting("german", 2000, YOUNG, LOAN, 0.25, cells=eh.Leaves(16)),
)


@functools.cache
def population(table):
    """Return everybody of a table, with bands and with the columns as they are."""
    if table == "compas":
        banded, raw = eh.datasets.load("compas").frame, raw_tables.compas()
        assert len(raw) == len(banded)
        return {"hand": banded, "whole": raw.rename(columns={"priors_count": "priors"})}
    raw = getattr(raw_tables, table)()
    if table == "adult":
        banded = real_tables.adult()
        group = {"sex": raw["sex"].to_numpy(), "race": np.where(raw["race"] == "White", "White", "Minority")}
        years = {"age_years": raw["age"], "education_years": raw["education_num"], "hours_week": raw["hours_per_week"]}
        whole = banded.assign(**group, **years, occupation=raw["occupation"], relationship=raw["relationship"])
        return {"hand": banded.assign(**group), "whole": whole}
    banded = real_tables.german().assign(sex=np.where(raw["status_sex"].isin(["A92", "A95"]), "female", "male"))
    whole = banded.assign(**{name: raw[name] for name in ("amount", "checking", "savings", "employment", "history")})
    return {"hand": banded, "whole": whole.assign(months=raw["duration"], purpose=raw["purpose"])}


@functools.cache
def everybody(setting):
    """Return the population of a setting as a frame, and as counts where its cells are not learned."""
    problem = setting.problem()
    frame = population(setting.table)["hand" if setting.cells is None else "whole"][list(problem.columns)]
    return problem, frame, eh.count(problem, frame) if setting.cells is None else None


def sample(setting, rng):
    """Draw people with replacement."""
    _, frame, counts = everybody(setting)
    if counts is None:
        return frame.iloc[rng.integers(len(frame), size=setting.people)].reset_index(drop=True)
    number = rng.multinomial(setting.people, counts.probability)
    some = number > 0
    weight = number[some].astype(float)
    # Everybody counts once: their number is their weight, and the sum of the squared ones.
    return Counts.of(counts.domain, *(of[some] for of in (counts.d, counts.x, counts.y)), weight, weight, weight)


def beyond(setting, mapping):
    """Return by how much a mapping's expected rates in the population exceed a bound at most; negative within all."""
    problem, frame, counts = everybody(setting)
    if counts is None:
        domain = mapping.counts.domain
        counts = Counts.of(domain, *(cells(axis, read(frame))[0] for axis in (domain.d, domain.x, domain.y)))
    outcomes = expected_outcomes(mapping.release_mode, counts.d, counts.x, counts.y)
    found = []
    for parity in problem.parity:
        part = comparisons(parity, counts)
        found.append(np.max(parity.distance.excess(*rates_compared(part, outcomes), part.bound)))
    return float(max(found))


def tried(number, seed):
    """Fit one sample of a setting, with confidence and without."""
    setting = SETTINGS[number]
    people = sample(setting, np.random.default_rng([zlib.crc32(setting.name.encode()), seed]))
    row = {"setting": number, "seed": seed, "of": setting.name}
    for name, confidence in (("plain", None), ("sure", CONFIDENCE)):
        began = time.process_time()
        try:
            mapping = eh.fit(replace(setting.problem(), confidence=confidence), people)
            row |= {name: beyond(setting, mapping), f"{name}_loss": mapping.objective}
        except (eh.InfeasibleError, eh.DataError) as error:
            row |= {name: None, f"{name}_why": type(error).__name__}
        row[f"{name}_seconds"] = time.process_time() - began
    return row


def piece(number, seeds):
    """Fit some samples of a setting."""
    warnings.simplefilter("ignore", eh.EvenhandWarning)
    return [tried(number, seed) for seed in seeds]


def done(fresh):
    """Return the samples of earlier runs of the same settings."""
    rows = {}
    if JOURNAL.exists() and not fresh:
        for line in JOURNAL.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                # A line that was being written when the run ended.
                continue
            if row["setting"] < len(SETTINGS) and row["of"] == SETTINGS[row["setting"]].name:
                rows[row["setting"], row["seed"]] = row
    JOURNAL.parent.mkdir(parents=True, exist_ok=True)
    JOURNAL.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), encoding="utf-8")
    return rows


def run(chosen, samples, jobs, fresh):
    """Fit what is left to fit; yield rows as they come."""
    rows = done(fresh)
    left = [(number, seed) for seed in range(samples) for number in chosen if (number, seed) not in rows]
    pieces = defaultdict(list)
    for number, seed in left:
        pieces[number, seed // CHUNK].append(seed)
    with ProcessPoolExecutor(jobs) as pool, JOURNAL.open("a", encoding="utf-8") as journal:
        order = sorted(pieces, key=lambda key: key[::-1])
        waiting = [pool.submit(piece, number, pieces[number, chunk]) for number, chunk in order]
        for future in as_completed(waiting):
            for row in future.result():
                rows[row["setting"], row["seed"]] = row
                journal.write(json.dumps(row) + "\n")
            journal.flush()
    return [row for (number, seed), row in rows.items() if number in chosen and seed < samples]


def summary(number, rows):
    """Put the samples of a setting together."""
    setting, n = SETTINGS[number], len(rows)
    both = [row for row in rows if row["plain"] is not None and row["sure"] is not None]

    def cells_of():
        if setting.cells is not None:
            return f"{setting.cells.most} leaves"
        return f"{len(everybody(setting)[2].features.cells)} levels"

    return {
        "setting": number + 1,
        "table": setting.table,
        "people": setting.people,
        "groups": 4 if len(setting.protected) > 1 else 2,
        "parity": f"{'target' if setting.target else 'pairwise'} {setting.bound:g}",
        "cells": cells_of(),
        "samples": n,
        "exceeded, plain": exceeded("plain", rows),
        "exceeded": exceeded("sure", rows),
        "refused": sum(row["sure"] is None for row in rows) / n,
        "loss, plain": mean(row["plain_loss"] for row in both) if both else math.nan,
        "loss": mean(row["sure_loss"] for row in both) if both else math.nan,
        "seconds": mean(row["sure_seconds"] for row in rows),
    }


def exceeded(name, rows):
    """Return the share of samples in which some bound was exceeded."""
    return sum(row[name] is not None and row[name] > ROUNDING for row in rows) / len(rows)


def percent(share):
    """Write a share."""
    return f"{100 * share:.1f} %"


HEAD = f"""# Bounds in the population, measured

Written by `benchmarks/coverage.py --write`. Public tables are the populations. Samples are drawn from them with
replacement and fitted with `confidence={CONFIDENCE:g}` and without; the expected rates of both mappings in the whole
population are held against the bounds. Outcomes alone change, for the better (either way for a target), everybody's
with probability 0.5 at most; the utility is KL.
[Bound what holds in the population](../how-to/confidence.md) says what is promised.
"""
FOOT = """
*Exceeded*: of all samples, those for which an answer was given and some bound does not hold in the population.
*Refused*: with confidence, because the bounds cannot be met with margins, or a group is too small. *Loss*: the mean
objective over samples that were answered both times. *Seconds* of processor time are those of one fit with confidence.
"""
RANDOM = """
## Populations that nobody chose

By `benchmarks/populations.py`: populations and problems from a seed. Two to four groups of unequal size, two or three
outcomes, up to a thousand cells of groups, features and outcomes of which many are nearly empty, with weights in one of
three; against each other, the rest, a reference group or a target; `Ratio`, `LogRatio`, `Difference` and `FourFifths`;
one constraint or two at once; L1 or KL; 1,000 to 8,000 people in a sample. Bounds are 40 to 80 % of how far apart a
population is, so that they bite.
"""


def page(table, rows):
    """Return the page: what was measured, setting by setting."""
    sure, plain = exceeded("sure", rows), exceeded("plain", rows)
    fewest, most = table["samples"].min(), table["samples"].max()
    each = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    found = (
        f"{len(rows):,} samples, {each} of each of {len(table)} settings: **{percent(sure)} exceed a bound** with "
        f"confidence, {percent(plain)} without.\nIn the setting with most it is {percent(table['exceeded'].max())}; "
        f"where 5 % exceed, {fewest} samples have a standard error of {percent((0.05 * 0.95 / fewest) ** 0.5)}."
    )
    if fewest < ENOUGH:
        low, high = clopper_pearson(np.array([sure * len(rows)]), np.array([float(len(rows))]))
        found += (
            f"\nThe whole benchmark takes {ENOUGH} of each setting; with these, the share of all samples is between "
            f"{percent(low[0])} and {percent(high[0])} with a confidence of 0.95."
        )
    names = list(table.columns)
    lines = [HEAD, found, "", f"![How often bounds are exceeded]({CHART.name})", ""]
    lines += [f"| {' | '.join(['', *names[1:]])} |", "|---" * len(names) + "|"]
    for row in table.to_dict("records"):
        row |= {name: percent(row[name]) for name in ("exceeded, plain", "exceeded", "refused")}
        row |= {name: "" if math.isnan(row[name]) else f"{row[name]:.4f}" for name in ("loss, plain", "loss")}
        row["seconds"] = f"{row['seconds']:.1f}"
        lines.append(f"| {' | '.join(str(row[name]) for name in names)} |")
    return "\n".join([*lines, FOOT, *of_edges(), *of_random_populations()])


def of_edges():
    """Yield the lines about designs near the edge of what budgets can do, if any were tried."""
    rows = edges.summaries()
    if not rows:
        return
    yield edges.HEAD
    yield f"| {' | '.join(rows[0])} |"
    yield "|---" * len(rows[0]) + "|"
    for row in rows:
        yield f"| {' | '.join(map(str, row.values()))} |"
    yield ""


def of_random_populations():
    """Yield the lines about random populations, if any were tried."""
    rows = populations.kept()
    if not rows:
        return
    yield RANDOM
    table = populations.summary(rows)
    names = list(table.columns)
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"
    for row in table.to_dict("records"):
        row |= {name: percent(row[name]) for name in ("exceeded, plain", "exceeded", "refused")}
        yield f"| {' | '.join(str(row[name]) for name in names)} |"
    yield ""


def chart(table):
    """Return a picture of how often bounds are exceeded."""
    import altair as alt

    long = table.melt("setting", ["exceeded, plain", "exceeded"], "fit", "share")
    long["fit"] = long["fit"].map(
        {
            "exceeded, plain": "fitted without confidence",
            "exceeded": f"with confidence {CONFIDENCE:g} (dashed: what that allows)",
        }
    )
    points = (
        alt.Chart(long)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X("setting:O", title="setting", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="samples that exceed a bound", axis=alt.Axis(format="%")),
            # Above: beside the picture, a page cuts off what its own letters are wider than.
            color=alt.Color("fit:N", title=None, legend=alt.Legend(orient="top", direction="vertical", labelLimit=0)),
            shape=alt.Shape("fit:N", title=None, legend=alt.Legend(orient="top", direction="vertical", labelLimit=0)),
        )
    )
    line = alt.Chart(pd.DataFrame({"y": [1 - CONFIDENCE]})).mark_rule(strokeDash=[4, 3]).encode(y="y:Q")
    return (points + line).properties(width=640, height=260)


def main():
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="A few samples of each setting.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, nargs="*", help="Numbers of settings, from 1 on.")
    parser.add_argument("--fresh", action="store_true", help="Begin anew.")
    parser.add_argument("--kept", action="store_true", help="Fit nothing: what earlier runs kept is told.")
    parser.add_argument("--write", action="store_true", help="Write the page and its chart.")
    given = parser.parse_args()
    chosen = [number - 1 for number in given.only] if given.only else list(range(len(SETTINGS)))
    if given.kept:
        rows = [row for (number, _), row in done(fresh=False).items() if number in chosen]
    else:
        rows = run(chosen, 20 if given.quick else given.samples, given.jobs, given.fresh)
    by = defaultdict(list)
    for row in rows:
        by[row["setting"]].append(row)
    table = pd.DataFrame([summary(number, by[number]) for number in sorted(by)])
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    sure, plain = exceeded("sure", rows), exceeded("plain", rows)
    print(f"all {len(rows):,} samples: exceeded {sure:.2%} with confidence, {plain:.1%} plain")
    if table["samples"].min() >= ENOUGH:
        kept = sure <= POOLED and table["exceeded"].max() <= LARGEST
        print(f"at most {POOLED:.1%} of all samples, {LARGEST:.1%} of any setting: {'kept' if kept else 'not kept'}")
    if given.write:
        PAGE.write_text(page(table, rows), encoding="utf-8")
        chart(table).save(CHART)


if __name__ == "__main__":
    main()
