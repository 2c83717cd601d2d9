"""Attacks on what a report and a folder of evidence hide: no small group follows by subtraction from what is shown."""

import json
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.findings.discretion import combinations_shown, complementary

FEW = 20


def random_kinds(seed):
    """Combinations of levels of one to three columns, about a third of them of few people."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 5, rng.integers(1, 4))
    codes = np.indices(shape).reshape(len(shape), -1)
    small = rng.random(codes.shape[1]) < 0.3
    people = np.where(small, rng.integers(0, FEW, len(small)), rng.integers(FEW, 500, len(small)))
    return codes[:, people > 0], people[people > 0].astype(float)


def indicators(codes, chosen):
    """One row for each combination of some columns, one where a kind is in it."""
    place = np.unique(codes[list(chosen)], axis=1, return_inverse=True)[1].ravel()
    return np.eye(place.max() + 1)[place].T


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seeds", [range(at, at + 6) for at in range(0, 120, 6)])
def test_all_tables_of_groups_together_determine_none_of_few_people(seeds):
    """Every number that a table may show is a linear equation; those of few people must not follow from all of them."""
    attacked = named = 0
    for seed in seeds:
        codes, people = random_kinds(seed)
        found = combinations_shown(list(codes), people, FEW)
        assert len(found) == 2 ** len(codes) - 1
        tables = {chosen: indicators(codes, chosen) for chosen in found}
        shown = [table[(table @ flags) > 0] for table, flags in zip(tables.values(), found.values(), strict=True)]
        assert all((rows @ people >= FEW).all() for rows in shown)
        equations = np.concatenate([np.ones((1, len(people))), *shown])
        projection = np.linalg.pinv(equations) @ equations
        for table in tables.values():
            small = table[table @ people < FEW]
            assert not np.isclose(small @ projection, small).all(axis=1).any(), seed
            attacked += len(small)
        named += sum(map(len, shown))
    assert attacked > 4
    assert named > 4


def test_what_is_hidden_for_another_is_the_smallest_that_will_do():
    people = np.array([7.0, 9.0, 30.0, 40.0, 500.0])
    total = np.zeros(5, dtype=np.int64)
    assert complementary(people, people >= FEW, [total], FEW).tolist() == [False, False, False, True, True]
    nobody_small = people[2:]
    assert complementary(nobody_small, nobody_small >= FEW, [total[2:]], FEW).all()
    alone = complementary(people[:1], people[:1] >= FEW, [total[:1]], FEW)
    assert not alone.any()


def random_table(seed):
    """A table with one group of few people among three or four, and one level of a feature that few have."""
    rng = np.random.default_rng(seed)
    few = int(rng.integers(7, FEW))
    sizes = [few, *rng.integers(150, 900, rng.integers(2, 4))]
    group = np.repeat([f"g{at}" for at in range(len(sizes))], sizes)
    rate = np.repeat(rng.uniform(0.2, 0.8, len(sizes)), sizes)
    level = rng.choice(["p", "q", "r"], len(group), p=[0.5, 0.49, 0.01])
    frame = pd.DataFrame({"group": group, "x": level, "y": (rng.random(len(group)) < rate).astype(int)})
    problem = eh.Problem(
        protected=["group"], features=["x"], outcome="y", favourable=1, parity=[eh.PairwiseParity(0.15)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    return frame, eh.fit(problem, frame)


def tables_in(document, at=""):
    """Yield every list of rows in a document, with where it is."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from tables_in(value, f"{at}.{name}")
    elif isinstance(document, list):
        if document and all(isinstance(row, dict) for row in document):
            yield at, document
        for value in document:
            yield from tables_in(value, at)


def scalars_in(document):
    """Yield every number of a document, and those within its sentences."""
    if isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from scalars_in(value)
    elif isinstance(document, str):
        yield from (float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", document))
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield float(document)


def sums_of(rows):
    """Yield the sum of every column of numbers, over all rows and over those that agree in another column."""
    frame = pd.DataFrame([{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in r.items()} for r in rows])
    numbers = frame.select_dtypes("number")
    for column in numbers:
        yield float(numbers[column].sum())
        for by in frame.columns.difference(numbers.columns):
            yield from frame.groupby(by, dropna=False)[column].sum().tolist()
    for rate, weight in combinations(numbers, 2):
        yield float((numbers[rate] * numbers[weight]).sum())


def followed(document, secrets):
    """Return the secrets that are a number of a document, or such a number less the sum of a table's column."""
    numbers = np.unique([number for number in scalars_in(document) if number > FEW])
    found = set()
    for at, rows in tables_in(document):
        if at == ".bounds.parity":
            # It counts comparisons, and no people.
            continue
        for taken in set(sums_of(rows)):
            found |= {
                (at, name) for name, value in secrets.items() if np.isclose(numbers - taken, value, atol=1e-6).any()
            }
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_number_of_the_evidence_less_the_rows_beside_it_is_a_hidden_groups(seed, tmp_path):
    frame, mapping = random_table(seed)
    found = eh.evidence(mapping, tmp_path / "evidence", table=frame, trace=False)
    shown = [row["group"]["group"] for row in found.summary["ledger"]["rows"]]
    hidden = mapping.audit().ledger.set_index("group").drop(shown)
    assert len(hidden) >= 2
    size = int((frame["group"] == "g0").sum())
    secrets = {"size": size, "selected": int(frame.loc[frame["group"] == "g0", "y"].sum())}
    # Of two who are hidden one may be alone in being harmed; whoever does not see them cannot know that.
    secrets |= {name: float(hidden.loc["g0", name]) for name in ("helped", "harmed") if (hidden[name] > 0.01).all()}
    assert followed(found.summary, secrets) == set()
    impact = {"people": len(frame), "impact": found.impact}
    assert followed(impact, secrets) == set()
    for name in ("impact-ratios.csv", "impact-ratios.md", "summary.md", "datasheet.md", "report.html"):
        text = (found.path / name).read_text()
        assert not re.search(rf"\bg0\b.*\b{size}\b", text), name


@pytest.mark.slow
def test_what_a_law_must_name_is_asked_for(tmp_path):
    frame, mapping = random_table(0)
    size = int((frame["group"] == "g0").sum())
    asked = eh.evidence(mapping, tmp_path / "asked", trace=False, show_all_groups=True)
    assert {row["category"] for row in asked.impact} == {f"group={name}" for name in frame["group"].unique()}
    assert f"| group=g0 | {size} |" in (asked.path / "impact-ratios.md").read_text()
    # For that table alone.
    assert "g0" not in {row["group"]["group"] for row in asked.summary["rates"]["rows"]}
