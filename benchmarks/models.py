"""The one line for any model, on people who were not fitted: mean scores beside the bound, and what they cost.

    python benchmarks/models.py [--seeds 1 2 3] [--tables adult compas] [--ways decisions] [--quick] [--fresh]

``raw_tables.py`` has the tables, ``wide_tables.py`` says who is compared and what is read. Each is split at random,
seven tenths to fit on, once per seed; of these at most 2,500 people of each group are fitted, with weights so that
groups count as they do in the table, and all others are judged, by the outcomes that they really have. A logistic
regression, a random forest and boosted trees are trained as they are, and by ``eh.PreprocessedClassifier(model,
protected=..., bound=0.05)``, and with ``decisions=0.03`` in place of the bound.

Of mean scores it says how far apart they are, as J of the parity constraint has it, and the log loss, beside the bare
model *shifted*: each group's scores are shifted on the logit until mean scores are within the bound, with the
constants, among all that do, of least log loss on the very people that are judged. AUC too, but that can be had by
squeezing scores together. Of decisions it says how far apart selection rates are at the worst threshold, as what they
exceed chance by: the mean worst gap of people of these scores who are dealt out to groups at random. Beside it
stands the bare model's *barycentre*, scores of one distribution in all groups (the quantile barycentre), found on the
very people that are judged as well.

Each split runs in a process of its own, on one thread, one after another, and is one line in ``build/models``, so that
an interrupted run goes on, unless evenhand or the tables have changed meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings

import harness
import numpy as np
import pandas as pd
from barycentre import quantile_barycentre
from new_people import split
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from splits import model_ways
from wide_tables import BOUND, CERTAIN, WIDE, boosted, judged, logistic, scores, shifted, trained

import evenhand as eh
from evenhand.findings.scores import gap_floor, worst_gap

SEEDS = tuple(range(1, 11))
FITTED = 2500
"""So many people of every group are fitted at most: eleven trainings of a forest on more take long."""

BARE, SHIFTED, BARYCENTRE = "bare", "shifted", "barycentre"
WAYS = {"one line": {"bound": BOUND}, "decisions": {"decisions": 0.03, "predict_with": "draw"}}
"""What is asked of ``PreprocessedClassifier``, beside the protected column."""


def forest():
    """Return a random forest, to which words are numbers."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    words = (codes, make_column_selector(dtype_exclude=np.number))
    trees = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    return make_pipeline(make_column_transformer(words, remainder="passthrough"), trees)


MODELS = {"logistic regression": logistic, "random forest": forest, "boosted trees": boosted}


def measured(score, group, outcome):
    """Return what is measured of scores: how good they are, and how far apart scores and decisions are."""
    found = judged(score, group, outcome)
    gap, chance = worst_gap(score, group), gap_floor(score, group, times=100)
    return found | {"gap": gap, "chance": chance, "excess": gap - chance}


def measure(study, fitted, weight, others, asked):
    """Train every model in each way that is asked for, and judge all of them by people who were not fitted."""
    outcome, group = others[study.outcome].to_numpy(), pd.factorize(others[study.protected], sort=True)[0]
    X, y, new = fitted.drop(columns=study.outcome), fitted[study.outcome], others.drop(columns=study.outcome)
    found = []
    for kind, make in MODELS.items():
        bare = scores(trained(make(), X, y, weight), new)
        ways = {
            BARE: bare,
            SHIFTED: shifted(bare, group, outcome, BOUND),
            BARYCENTRE: np.clip(quantile_barycentre(bare, group), CERTAIN, 1 - CERTAIN),
        }
        out_of_fold = {}
        for way in asked:
            model = eh.PreprocessedClassifier(make(), protected=[study.protected], **WAYS[way])
            ways[way] = scores(model.fit(X, y, sample_weight=weight), new)
            out_of_fold[way] = float(model.parity_["apart"].max())
        for way, score in ways.items():
            row = {"model": kind, "way": way, "out_of_fold": out_of_fold.get(way)}
            found.append(row | measured(score, group, outcome))
    return found


def child(table, seed, ways):
    """Measure one split of a table."""
    # That mean scores of some clones exceed the bound before they are shifted is the point here.
    warnings.simplefilter("ignore", eh.EvenhandWarning)
    study = WIDE[table]
    people, others = split(study.read(), seed, None)
    # Parity compares groups, so that none is made smaller than it must be; each still counts as much as it did.
    mixed = people.sample(frac=1, random_state=int(seed))
    fitted = mixed.groupby(study.protected, observed=True).head(FITTED).reset_index(drop=True)
    weight = None
    if len(fitted) < len(people):
        before, after = (each[study.protected].astype(str).value_counts() for each in (people, fitted))
        weight = fitted[study.protected].astype(str).map(before / after).to_numpy()
    row = {"split": f"{table} {seed}", "table": table, "title": study.title, "seed": seed, "bound": BOUND}
    found = measure(study, fitted, weight, others.reset_index(drop=True), ways)
    return row | {"fitted": len(fitted), "others": len(others), "ways": found}


def show(row):
    """Print one split: one line per model and way."""
    for found in row["ways"]:
        numbers = "".join(f"{found[name]:>9.4f}" for name in ("apart", "log_loss", "auc", "gap", "chance"))
        print(f"{row['table']:<8}{row['seed']!s:>5}  {found['model']:<22}{found['way']:<12}{numbers}", flush=True)


def run(given):
    """Measure what is not yet measured; return all splits."""
    # A run that is interrupted has about as many splits of every table.
    asked = [(table, seed) for seed in given.seeds for table in given.tables]
    beside = ("barycentre", "raw_tables", "wide_tables", "new_people", "splits")
    return harness.each_split(
        __file__, asked, beside=beside, fresh=given.fresh, show=show,
        options=lambda table, seed: ("--ways", *given.ways),
        kind="" if set(given.ways) == set(WAYS) else f"{'-'.join(sorted(given.ways)).replace(' ', '-')}-",
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="one random split each")
    parser.add_argument("--tables", nargs="+", choices=WIDE, default=list(WIDE))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="what the classifier is asked for")
    parser.add_argument("--quick", action="store_true", help="two splits of the two small tables")
    parser.add_argument("--fresh", action="store_true", help="measure again what an interrupted run has finished")
    parser.add_argument("--child", nargs=2, metavar=("TABLE", "SEED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(*given.child, given.ways)))
        return
    if given.quick:
        given.seeds, given.tables = SEEDS[:2], ["compas", "german"]
    began = time.perf_counter()
    print(f"{len(given.seeds)} random splits of each table: mean scores apart, log loss, AUC, worst gap, by chance")
    rows = run(given)
    lines = model_ways(rows)
    for line in lines:
        print(" | ".join(str(value) for value in line.values()))
    words = "Mean scores of people who were not fitted, as a ratio less one, beside a bound of 0.05; see models.md."
    content = {"title": "Models in one line", "words": words, "rows": lines, "drawn": rows, "seeds": list(given.seeds)}
    harness.keep("models", content, began=began, packages=("scikit-learn",))


if __name__ == "__main__":
    sys.exit(main())
