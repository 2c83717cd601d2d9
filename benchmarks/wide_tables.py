"""Learned cells on whole public tables: what the mapping does to new people, and models trained on what it releases.

    python benchmarks/wide_tables.py [--seeds 1 2 3] [--tables adult compas german bank] [--quick] [--fresh]

``raw_tables.py`` has the tables. Each is split at random, seven tenths to fit on, once per seed; the others are the new
people. Outcomes alone may change, each way at a cost of 1; each pair of groups is within 0.05 of each other, as a ratio
of rates, and everybody's expected distortion is at most the smallest that will do plus a fifth; or three times the
smallest, with ties broken evenly. Cells are the leaves of a tree over all columns, or twenty levels of a score that a
model without the protected column gave out of fold.

A logistic regression and a boosted model are trained on the raw table and on ``mapping.expand`` of it, with all columns
and the protected one, and judged by the outcomes that the new people really have: AUC, log loss, and how far apart mean
scores are, as J of the parity constraint has it for rates. Beside them stands the raw model *shifted*: each group's
scores are shifted on the logit until mean scores are within the bound, with the constants, among all that do, of least
log loss on the very people that are judged. Nobody has these constants before; they are what it could have at best.
The models trained on released tables are shown as they are, and shifted in the same way.

Each split runs in a process of its own, on one thread, one after another, and is one line in ``build/wide_tables``, so
that an interrupted run goes on, unless evenhand or the tables have changed meanwhile. Times are processor time, in
turns, of a fit and of a release of the whole table, beside the same people with five hand-made features
(``real_tables.py``).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import harness
import numpy as np
import pandas as pd
import raw_tables
from new_people import outcomes_alone, split
from real_tables import BANK_AGES, STEP, STUDIES, Study, banded, categories
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from splits import RAW, apart, wide_mappings, wide_models, wide_times

import evenhand as eh

SEEDS = tuple(range(1, 21))
BOUND = 0.05
SETTINGS = {"a fifth more": (1.2, "least_change"), "three times, even": (3.0, "even")}
"""The budget is the smallest that will do, times a factor; and which of equally useful mappings is chosen."""
FIRST = next(iter(SETTINGS))
PEOPLE = 20
"""Every leaf of boosted trees has so many: scikit-learn's default, which counts rows."""
FOLDS = 5
ROUNDS = 3
SCORE, WEIGHT = "score", "weight"
TIMES = "times"
"""Among the seeds: not a split, but how long a fit and a release of the whole table take."""
CERTAIN = 1e-6
"""No score is nearer than this to 0 or 1, so that it has a logit."""


@dataclass(frozen=True)
class Wide:
    """A public table as it is: who is compared, what is read, and which outcome counts as 1."""

    title: str
    raw: Callable[[], pd.DataFrame]
    protected: str
    outcome: str
    one: object
    left_out: Sequence[str] = ()
    kept: Sequence[str] = ()
    bands: Callable[[pd.Series], pd.Series] | None = None

    def read(self):
        """Return the table: words as categories, the outcome as 0 and 1, groups where they are bands."""
        raw = self.raw()
        raw = raw[[*self.kept, self.protected, self.outcome]] if self.kept else raw.drop(columns=list(self.left_out))
        table = raw.assign(**{self.outcome: raw[self.outcome].eq(self.one).astype(int)})
        if self.bands is not None:
            table[self.protected] = self.bands(table[self.protected])
        words = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
        return table.astype(dict.fromkeys(words, "category"))

    def features(self, table):
        """Return the columns of a table that cells are learned over."""
        return [name for name in table if name not in (self.protected, self.outcome)]


WIDE = {
    "adult": Wide("Adult, women and men", raw_tables.adult, "sex", "income", ">50K", left_out=("fnlwgt", "education")),
    "compas": Wide(
        "COMPAS, African-American and Caucasian", raw_tables.compas, "race", "is_recid", 1,
        kept=(
            "sex", "age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree",
        ),
    ),
    "german": Wide(
        "German credit, up to 25 years and over", raw_tables.german, "age", "risk", 1,
        bands=lambda age: np.where(age <= 25, "up to 25", "over 25"),
    ),
    "bank": Wide(
        "Bank marketing, under 25, 25 to 59, from 60 years on", raw_tables.bank, "age", "deposit", "yes",
        left_out=("duration",), bands=lambda age: banded(age, BANK_AGES),
    ),
}  # fmt: skip


def logistic():
    """Return a logistic regression on indicators of words and scaled numbers."""
    prepared = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
            ("numbers", StandardScaler(), make_column_selector(dtype_include=np.number)),
        ]
    )
    return make_pipeline(prepared, LogisticRegression(max_iter=1000))


def boosted(rows_per_person=1):
    """Return boosted trees, which read words as they are; where people have several rows, leaves count people."""
    rows = round(PEOPLE * rows_per_person)
    return HistGradientBoostingClassifier(min_samples_leaf=rows, early_stopping=False, random_state=0)


MODELS = {"logistic regression": lambda rows_per_person=1: logistic(), "boosted trees": boosted}


def trained(model, inputs, outcome, weight=None):
    """Return a model, trained with a weight for each row."""
    if weight is None:
        return model.fit(inputs, outcome)
    if hasattr(model, "steps"):
        return model.fit(inputs, outcome, **{f"{model.steps[-1][0]}__sample_weight": weight})
    return model.fit(inputs, outcome, sample_weight=weight)


def scores(model, inputs):
    """Return the scores of people, each with a logit."""
    return np.clip(model.predict_proba(inputs)[:, 1], CERTAIN, 1 - CERTAIN)


def means(score, group):
    """Return for each group the mean score of 0 and of 1."""
    ones = np.bincount(group, score) / np.bincount(group)
    return np.column_stack([1 - ones, ones])


def shifted(score, group, outcome, bound):
    """Return scores with each group's shifted on the logit to means within a bound, of least log loss among such."""
    raw, logits = means(score, group)[:, 1], logit(score)

    def to(target, mine):
        far = 2 * abs(logit(CERTAIN))
        return brentq(lambda by: expit(logits[mine] + by).mean() - target, -far, far, xtol=1e-9)

    def within(lowest):
        # Both ratios are within the bound: that of ones and that of zeros.
        highest = min((1 + bound) * lowest, 1 - (1 - lowest) / (1 + bound))
        found = score.copy()
        for place, target in enumerate(np.clip(raw, lowest, highest)):
            if target != raw[place]:
                mine = group == place
                found[mine] = expit(logits[mine] + to(target, mine))
        return found

    if apart(means(score, group)) <= bound:
        return score
    best = minimize_scalar(
        lambda lowest: log_loss(outcome, within(lowest)),
        bounds=(raw.min(), raw.max()), method="bounded", options={"xatol": 1e-4},
    )  # fmt: skip
    return within(best.x)


def judged(score, group, outcome):
    """Return what is measured of scores, by the outcomes that people really have."""
    mean = means(score, group)
    return {
        "auc": roc_auc_score(outcome, score),
        "log_loss": log_loss(outcome, score),
        "means": mean.tolist(),
        "apart": apart(mean),
    }


def stated(study, features, cells, budget=1.0):
    """Return the problem: outcomes alone change."""
    return eh.Problem(
        protected=[study.protected],
        features=features,
        outcome=study.outcome,
        cells=cells,
        parity=[eh.PairwiseParity(BOUND)],
        distortion=eh.Distortion({study.outcome: eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(budget),
    )


def affordable(problem, people, setting):
    """Return the problem with a setting: the smallest budget that will do, times a factor, and a choice among ties."""
    factor, tie_break = SETTINGS[setting]
    limit = min(factor * eh.smallest_budget_factor(problem, people), 1.0)
    return replace(problem, budget=eh.ExpectedDistortion(limit), tie_break=tie_break)


def of_new_people(mapping, others):
    """Return the expected rates of people who were not fitted, and what the mapping is."""
    rates = mapping.audit(others).rates
    shape = mapping.counts.domain.d.size, mapping.counts.domain.y.size
    before, after = (rates[when].to_numpy().reshape(shape) for when in ("before", "after"))
    return {
        "rates_before": before.tolist(),
        "rates": after.tolist(),
        "before": apart(before),
        "apart": apart(after),
        "outcomes_alone": apart(outcomes_alone(mapping, others)),
        "number": mapping.counts.domain.x.size,
        "budget": mapping.problem.one_limit,
        "notes": list(mapping.certificate.notes),
    }


def with_scores(make, study, fitted, others):
    """Return both tables with the score of a kind of model that does not read D: out of fold for the fitted."""
    features = study.features(fitted)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    inputs, outcome = fitted[features], fitted[study.outcome]
    out_of_fold = cross_val_predict(make(), inputs, outcome, cv=folds, method="predict_proba")[:, 1]
    new = make().fit(inputs, outcome).predict_proba(others[features])[:, 1]
    return fitted.assign(**{SCORE: out_of_fold}), others.assign(**{SCORE: new})


def measure(study, fitted, others):
    """Fit each kind of cells, train each kind of model on the raw and on the released tables, judge both."""
    features = study.features(fitted)
    inputs, outcome = [*features, study.protected], others[study.outcome].to_numpy()
    group = pd.factorize(others[study.protected], sort=True)[0]
    mappings, found = [], []

    def judge(kind, model, table, weight, what):
        score = scores(trained(model, table[inputs], table[study.outcome], weight), others[inputs])
        for is_shifted, each in ((False, score), (True, shifted(score, group, outcome, BOUND))):
            found.append({"model": kind, **what, "shifted": is_shifted} | judged(each, group, outcome))

    def release(problem, scored_by, people, new, kinds):
        counts = eh.count(problem, people)
        cells = "leaves" if scored_by is None else "score levels"
        for setting in SETTINGS:
            mapping = eh.fit(affordable(problem, counts, setting), counts)
            mappings.append({"cells": cells, "scored_by": scored_by, "setting": setting} | of_new_people(mapping, new))
            table = mapping.expand(people, weight_column=WEIGHT)
            for kind in kinds:
                model = MODELS[kind](len(table) / len(people))
                judge(kind, model, table, table[WEIGHT], {"trained_on": cells, "setting": setting})

    for kind, make in MODELS.items():
        judge(kind, make(), fitted, None, {"trained_on": RAW, "setting": None})
    release(stated(study, features, eh.Leaves()), None, fitted, others, MODELS)
    for kind, make in MODELS.items():
        scored = with_scores(make, study, fitted, others)
        release(stated(study, [SCORE], eh.ScoreLevels(20)), kind, *scored, [kind])
    return {"mappings": mappings, "models": found}


def compas_by_hand():
    """Return COMPAS in the levels of the embedded table."""
    table = raw_tables.build_datasets.compas(raw_tables.compas())
    for name, order in eh.datasets.ORDERS["compas"].items():
        table[name] = pd.Categorical(table[name], categories=order, ordered=True)
    return categories(table, "is_recid")


BY_HAND = STUDIES | {
    "compas": Study(
        "COMPAS", compas_by_hand, "race", ("sex", "age_cat", "c_charge_degree", "priors_count"),
        {"age_cat": STEP, "priors_count": STEP}, "is_recid", BOUND,
    )
}  # fmt: skip
"""The same people with hand-made features, of which the first five are taken."""


def timings(table):
    """Return the processor time of fits and of releases of the whole table, by learned cells and by hand-made ones."""
    study, hand = WIDE[table], BY_HAND[table]
    wide, levelled = study.read(), hand.read()
    scored = with_scores(boosted, study, wide, wide.head())[0]
    alone = {
        "leaves": (stated(study, study.features(wide), eh.Leaves()), wide),
        "score levels": (stated(study, [SCORE], eh.ScoreLevels(20)), scored),
        "by hand, outcomes alone": (stated(study, hand.features[:5], None), levelled),
    }
    ways = {way: (affordable(problem, people, FIRST), people) for way, (problem, people) in alone.items()}
    ways["by hand, features too"] = hand.problem(5, eh.KL()), levelled
    found = {way: {"fit": [], "release": []} for way in ways}
    for _ in range(ROUNDS):
        for way, (problem, people) in ways.items():
            mapping, took = harness.timed(lambda p=problem, t=people: eh.fit(p, t), time.process_time)
            found[way]["fit"].append(took)
            took = harness.timed(
                lambda m=mapping, t=people: m.release(t, seed=1, draw="independent"), time.process_time
            )[1]
            found[way]["release"].append(took)
    return {way: {what: min(took) for what, took in each.items()} for way, each in found.items()}


def child(table, seed):
    """Measure one split of a table, or how long it takes."""
    # That some outcomes of a small group are in a cell that nobody had is the point here.
    warnings.simplefilter("ignore", eh.EvenhandWarning)
    study = WIDE[table]
    row = {"split": f"{table} {seed}", "table": table, "title": study.title, "seed": seed}
    if seed == TIMES:
        return row | {"people": len(study.read()), "took": timings(table)}
    fitted, others = (part.reset_index(drop=True) for part in split(study.read(), seed, None))
    return row | {"fitted": len(fitted), "others": len(others), "bound": BOUND} | measure(study, fitted, others)


def show(row):
    """Print one split, or how long a table took."""
    if row["seed"] == TIMES:
        for way, took in row["took"].items():
            print(f"{row['table']:<8}{way:<30} fit {took['fit']:.3f} s, release {took['release']:.3f} s", flush=True)
        return
    for fit in row["mappings"]:
        cells = f"{fit['cells']} ({fit['setting']}) {fit['scored_by'] or ''}"
        print(f"{row['table']:<8}{row['seed']!s:>5}  the mapping itself, {cells:<60}{fit['apart']:.3f}")
    for fit in row["models"]:
        what = f"{fit['model']}, {fit['trained_on']} ({fit['setting']}){', shifted' * fit['shifted']}"
        print(f"{'':<13}  {what:<80}{fit['auc']:.4f}{fit['log_loss']:>8.4f}{fit['apart']:>8.3f}", flush=True)


def run(given):
    """Measure what is not yet measured; return all splits, and how long each table took."""
    # A run that is interrupted has about as many splits of every table.
    asked = [(table, seed) for seed in (TIMES, *given.seeds) for table in given.tables]
    beside = ("raw_tables", "real_tables", "new_people", "splits")
    return harness.each_split(__file__, asked, beside=beside, fresh=given.fresh, show=show)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="one random split each")
    parser.add_argument("--tables", nargs="+", choices=WIDE, default=list(WIDE))
    parser.add_argument("--quick", action="store_true", help="two splits of the two small tables")
    parser.add_argument("--fresh", action="store_true", help="measure again what an interrupted run has finished")
    parser.add_argument("--child", nargs=2, metavar=("TABLE", "SEED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(*given.child)))
        return
    if given.quick:
        given.seeds, given.tables = SEEDS[:2], ["compas", "german"]
    began = time.perf_counter()
    print(f"{len(given.seeds)} random splits of each table; of models: AUC, log loss, mean scores apart")
    rows = run(given)
    for line in wide_mappings(rows):
        cells = f"{line['cells']} ({line['setting']}) {line['scored_by'] or ''}"
        print(f"{line['table']:<8}{cells:<60}apart {line['apart'][0]:.3f}, pooled {line['pooled']:.3f}")
    for line in wide_models(rows):
        what = f"{line['model']}, {line['trained_on']} ({line['setting']}){', shifted' * line['shifted']}"
        numbers = "".join(f"{line[name][0]:>9.4f}" for name in ("auc", "log_loss", "apart", "beyond"))
        print(f"{line['table']:<8}{what:<80}{numbers} ± {line['beyond'][1] or float('nan'):.4f}")
    for line in wide_times(rows):
        print(f"{line['table']:<8}{line['cells']:<30}× {line['fit_ratio']:.2f}, × {line['release_ratio']:.2f}")
    harness.keep("wide_tables", {"seeds": list(given.seeds), "drawn": rows}, began=began, packages=("scikit-learn",))


if __name__ == "__main__":
    sys.exit(main())
