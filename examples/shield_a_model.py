"""Shield an existing model: bound its mean score by race on people it has not seen, without retraining it.

    python examples/shield_a_model.py

A logistic regression that never sees race is fitted on the raw COMPAS training rows, as if by somebody else. evenhand
then learns how to transform the features of new people so that the model's mean score differs by race by a factor of at
most 1.05, each person's expected change being at most 0.25. The model itself stays as it is. Five random splits; needs
scikit-learn.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import evenhand as eh

FEATURES = ["age_cat", "c_charge_degree", "priors_count"]
DISTORTION = eh.Distortion(
    {
        "age_cat": eh.Ordinal(step=1, max_steps=1),
        "c_charge_degree": eh.Nominal(1),
        "priors_count": eh.Ordinal(step=1, max_steps=1),
        "is_recid": eh.Free(),  # ŷ is the model's, so only the features are charged
    }
)


def apart(scores, race):
    """How far apart the groups' mean scores are: the largest ratio of two, less one."""
    means = [scores[race == group].mean() for group in np.unique(race)]
    return max(means) / min(means) - 1


def split(people, seed):
    """Return AUC and distance between groups on unseen people: of the bare model, and of the shielded one."""
    train, test = train_test_split(people, test_size=0.3, random_state=seed)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(train[FEATURES], train["is_recid"])
    problem = eh.Problem(
        protected=["race"],
        features=FEATURES,
        outcome="is_recid",
        parity=[eh.PairwiseParity(0.05)],
        distortion=DISTORTION,
        budget=eh.ExpectedDistortion(0.25),
    )
    shielded = eh.ShieldedClassifier(model, problem).fit(train.drop(columns="is_recid"), train["is_recid"])
    # The mean over the mapping, as every person would be scored on average.
    scores = model.predict_proba(test[FEATURES])[:, 1], shielded.predict_proba(test.drop(columns="is_recid"))[:, 1]
    race = test["race"].to_numpy()
    return [(roc_auc_score(test["is_recid"], each), apart(each, race)) for each in scores]


def main():
    """Run five splits and print the means."""
    people = eh.datasets.load("compas").frame
    found = np.array([split(people, seed) for seed in range(5)]).mean(axis=0)
    for name, (auc, distance) in zip(("the model as it is", "shielded"), found, strict=True):
        print(f"{name:<20} AUC {auc:.3f}, mean scores by race apart by {distance:.3f}")


if __name__ == "__main__":
    main()
