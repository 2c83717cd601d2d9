"""Columns of a table that are called like numbers about them: the answers are those of any other names."""

import re

import numpy as np
import pandas as pd
import pytest
from commands import evenhand
from reports import document_of

import evenhand as eh

PLAIN = {"sex": "sex", "region": "region", "job": "job", "school": "school", "granted": "granted"}
ALIKE = {
    "as a weight": {"sex": "weight", "region": "before", "job": "people", "school": "to_people", "granted": "after"},
    "as a chance": {
        "sex": "other_outcome", "region": "seeing_protected", "job": "probability", "school": "rate",
        "granted": "extended_after",
    },
    "as people": {"sex": "people", "region": "helped", "job": "weight", "school": "to_weight", "granted": "expected"},
}  # fmt: skip


def frame(names):
    rng = np.random.default_rng(3)
    n = 1200
    sex, region = rng.choice(["w", "m"], n), rng.choice(["north", "south"], n)
    granted = rng.random(n) < 0.3 + 0.2 * (sex == "m") + 0.1 * (region == "north")
    found = pd.DataFrame({
        "sex": sex, "region": region, "job": rng.choice(["a", "b", "c"], n), "school": rng.integers(0, 3, n),
        "granted": np.where(granted, "yes", "no"),
    })  # fmt: skip
    return found.rename(columns=names)


def mapping_of(names, bound=0.1):
    problem = eh.Problem(
        protected=[names["sex"], names["region"]], features=[names["job"], names["school"]], outcome=names["granted"],
        favourable="yes", parity=[eh.PairwiseParity(bound)], budget=eh.ExpectedDistortion(0.5),
        distortion=eh.Distortion({names["school"]: eh.Ordinal(1, max_steps=1), names["granted"]: eh.Nominal(1)}),
    )  # fmt: skip
    return eh.fit(problem, frame(names))


def frames(names):
    """Everything that is told in frames: who people are, and numbers about them."""
    mapping, other = mapping_of(names), mapping_of(names, 0.3)
    audit, found, theory = mapping.audit(), eh.compare(mapping, other), mapping.theory
    table = frame(names)
    held = theory.holdout(table)
    return {
        "release": mapping.table(), "apply": mapping.table("apply"), "rates": audit.rates, "groups": audit.groups,
        "lifts": audit.lifts, "scores": audit.scores, "ledger": audit.ledger, "compared rates": found.rates,
        "compared groups": found.groups, "compared cells": found.cells, "realised": mapping.realised(table).rates,
        "held out": held.rates, "held out pairs": held.comparisons, "small": theory.small_groups().frame,
        "applying": theory.applying().frame, "advantage": theory.advantage().frame,
        "bootstrap": theory.bootstrap(resamples=20).rates, "spread": theory.draw_spread(releases=20).rates,
        "model": mapping.model_rates(table), "predictor": mapping.predictor.table,
    }  # fmt: skip


@pytest.fixture(scope="module")
def plain():
    return frames(PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize("which", ALIKE)
def test_frames_have_every_column_and_the_same_values(plain, which):
    found = frames(ALIKE[which])
    for name, expected in plain.items():
        assert len(found[name].columns) == len(expected.columns), name
        assert found[name].columns.is_unique, name
        for own, column in zip(found[name], expected, strict=True):
            assert unnamed(found[name][own]) == unnamed(expected[column]), (name, own)


def unnamed(values):
    """The values, in those that name groups without the columns' names."""
    return [re.sub(r"\w+=", "", value) if isinstance(value, str) else value for value in values]


def texts(names, folder):
    """What the report, a manifest and the command line say, with the names of columns left out."""
    table, mapping = folder / "people.csv", mapping_of(names)
    frame(names).to_csv(table, index=False)
    mapping.save(folder / "m.mapping")
    done = mapping.release(table, to=folder / "out.csv", seed=0)
    manifest = eh.manifest_of(mapping, done, folder / "m.mapping").as_dict()
    document = document_of(mapping)
    mapping_of(names, 0.3).save(folder / "b.mapping")
    audited, compared = (
        evenhand("audit", "m.mapping", cwd=folder),
        evenhand("compare", "m.mapping", "b.mapping", cwd=folder),
    )
    # What comes before is fingerprints.
    screens = {"audit": audited.stdout, "compare": compared.stdout.split("Compared on")[-1]}
    return {
        "realised": [{**row, "group": list(row["group"].values())} for row in manifest["realised"]["rates"]],
        "rates": [{**row, "group": list(row["group"].values())} for row in document["rates"]["every_rate"]],
        "gains": [list(row.values()) for row in document["gains"]["ledger"]],
        "scores": [list(row.values()) for row in document["decisions"]["scores"]["scores"]],
        "brief": [card["answer"] for card in document["report"].values() if "answer" in str(card)],
        **{name: re.findall(r"\d+(?:\.\d+)?%?", text) for name, text in screens.items()},
    }


@pytest.mark.slow
def test_reports_manifests_and_screens_have_the_same_numbers(tmp_path_factory):
    plain, *others = (texts(names, tmp_path_factory.mktemp("named")) for names in (PLAIN, *ALIKE.values()))
    assert len(plain["audit"]) > 40
    assert len(plain["realised"]) == 8
    for found in others:
        assert found == plain
