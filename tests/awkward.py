"""A table that is hard to write into a query: names and values with every kind of quote, numbers at the edges."""

import functools
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as compute

import evenhand as eh
from evenhand.kernel import gather

KEY = 'person\'s "id"'
TITLE = 'the "job\'s" `title`, 100%; --'
WORDS = ["it's", 'say "no"', "", " ", "back\\slash", "two\nlines", "100 %s", "übrig ✓", "${x}", "a''b", "-- x", "tab\t"]
TOKEN = "?"
FITTED = 3000

VARIANTS = {
    "plain": {},
    "blind": {"blind": True},
    "suppressed": {"suppress_protected": "fixed"},
    "complete": {"missing": "error", "missing_values": ()},
}


def awkward(n=FITTED, seed=0, *, endless=True):
    """People whose columns hold awkward texts, nulls, and numbers that are negative, infinite or not numbers.

    A table with infinite numbers can be transformed, but not fitted.
    """
    rng = np.random.default_rng(seed)
    man = rng.random(n) < 0.5
    age = np.clip(rng.normal(38 + 6 * man, 14, n), 16, 90).astype(int)
    balance = np.round(rng.normal(0, 50, n) + 20 * man, 1)
    balance[2::101], balance[3::101] = np.nan, -0.0
    if endless:
        balance[::101], balance[1::101] = np.inf, -np.inf
    title = rng.choice(np.array([*WORDS, TOKEN], dtype=object), n)
    title[5::97] = None
    odds = 0.02 * (age - 40) + 0.5 * man - 0.2
    return pd.DataFrame(
        {
            "note": [f"row {i}, '{i % 7}' \"{i % 3}\"" for i in range(n)],
            KEY: [f"{i}{WORDS[i % len(WORDS)]}" for i in range(n)],
            "sex": np.where(man, "M'", 'F"'),
            "age": age,
            "balance": balance,
            TITLE: title,
            "grade": rng.integers(-2, 3, n),
            "local": rng.random(n) < 0.6,
            "hired": np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes, 'tis", "no\\t"),
            "extra": rng.random(n),
        }
    )


def problem(**changes):
    stated = {
        "protected": ["sex"],
        "features": ["age", "balance", TITLE, "grade", "local"],
        "outcome": "hired",
        "parity": [eh.PairwiseParity(5)],
        "bins": {
            "age": eh.Edges([30, 45]),
            "balance": eh.Edges([-10.5, 20.1]),
            TITLE: eh.MergedLevels({"odd": WORDS[:5], "it's": WORDS[5:8]}, rest="the rest's"),
            "grade": eh.MergedLevels({"low": [-2, -1]}),
        },
        "missing": "level",
        "missing_values": [TOKEN],
        "distortion": eh.Distortion(
            {
                "age": eh.Ordinal(1, max_steps=1),
                "balance": eh.Ordinal(1, max_steps=1, levels=None),
                TITLE: eh.Nominal(1),
                "grade": eh.Fixed(),
                "local": eh.Nominal(1),
                "hired": eh.Nominal(2),
            }
        ),
        "budget": eh.ExpectedDistortion(9),
        "utility": eh.L1(),
    }
    return eh.Problem(**{**stated, **changes})


@functools.cache
def mapping(**changes):
    """A mapping that may turn anybody into anybody else: a few random targets for each source."""
    stated = problem(**changes)
    table = awkward(endless=False)
    fitted = eh.fit(stated, table if stated.missing == "level" else complete(table))
    counts = fitted.counts
    rng = np.random.default_rng(5)
    rows = np.repeat(np.arange(len(counts)), 4)
    targets = rng.choice(np.unique(counts.domain.xy(counts.x, counts.y)), len(rows))
    targets[::4] = counts.domain.xy(counts.x, counts.y)
    weight = rng.random(len(rows))
    weight[::4] += 5
    return replace(fitted, kernel=gather(rows, targets, weight, len(counts)))


def many(n, pieces=20):
    """Many people, each with a key of their own."""
    one = awkward(n // pieces, seed=1)
    table = pd.concat([one] * pieces, ignore_index=True)
    return table.assign(**{"note": table.index, KEY: table[KEY] + table.index.astype(str)})


def scattered(fitted):
    """The same mapping with a few random targets for each source."""
    counts, rng = fitted.counts, np.random.default_rng(5)
    rows = np.repeat(np.arange(len(counts)), 3)
    targets = rng.choice(np.unique(counts.domain.xy(counts.x, counts.y)), len(rows))
    return replace(fitted, kernel=gather(rows, targets, np.ones(len(rows)), len(counts)))


BLANK = 99


def numbers(n=600, seed=0, *, new=False, **types):
    """Numbers and truths with blanks and nulls among them; new people have values that nobody had at fit."""
    rng = np.random.default_rng(seed)

    def column(values, kind):
        gone = rng.random(n) < 0.1
        return pyarrow.array([None if g else v for v, g in zip(values.tolist(), gone, strict=True)], kind)

    steps, share = rng.integers(0, 6, n), np.round(rng.random(n) * 10, 1)
    steps[rng.random(n) < 0.1], share[rng.random(n) < 0.1] = BLANK, BLANK
    if new:
        steps[rng.random(n) < 0.1], share[0] = 7, np.inf
    return pyarrow.table(
        {
            "note": np.arange(n),
            "group": rng.choice(["a", "b"], n),
            "steps": column(steps, types.get("steps", pyarrow.int32())),
            "share": column(share, types.get("share", pyarrow.float64())),
            "vote": column(rng.random(n) < 0.5 if new else np.ones(n, bool), pyarrow.bool_()),
            "won": rng.random(n) < 0.5,
        }
    )


NARROW = [
    {},
    {"steps": pyarrow.float64(), "share": pyarrow.float32()},
    {"steps": pyarrow.float32()},
]


@functools.cache
def mapping_of_numbers():
    stated = problem(
        protected=["group"],
        features=["steps", "share", "vote"],
        outcome="won",
        bins={
            "steps": eh.MergedLevels({"few": [0, 1], "many": [4, 5, "never"]}),
            "share": eh.Edges([2.5, 6.1]),
            "vote": eh.MergedLevels({"aye": [True]}),
        },
        missing_values=[str(BLANK)],
        distortion=eh.Distortion(dict.fromkeys(["steps", "share", "vote", "won"], eh.Nominal(1))),
    )
    return scattered(eh.fit(stated, numbers()))


HOSTILE = [
    "'; DROP TABLE people; --",
    '"; DELETE FROM x; --',
    "`a``b`",
    "\\' OR '1'='1",
    "*/ x /*",
    "%s {0} $1 :x ? $$",
    "new\nline\r\tand tab",
    "ünï ✓ 🙂 \u2028",
    "\\x41\\",
    "NULL",
]


def hostile(n=200):
    """Names and values that try to get out of their quotes."""
    rng = np.random.default_rng(2)
    names = dict(zip(["key", "d", "x", "z", "y"], HOSTILE, strict=False))
    columns = {names[role]: rng.choice(HOSTILE, n) for role in ("d", "x", "z")}
    columns[names["y"]] = rng.choice(HOSTILE[:2], n)
    frame = pyarrow.table(
        {"note": np.arange(n), names["key"]: [f"{w}{i}" for i, w in enumerate(HOSTILE * n)][:n]} | columns
    )
    stated = problem(
        protected=[names["d"]],
        features=[names["x"], names["z"]],
        outcome=names["y"],
        bins={},
        missing_values=(),
        distortion=eh.Distortion(dict.fromkeys([names["x"], names["z"], names["y"]], eh.Nominal(1))),
    )
    return names["key"], frame, scattered(eh.fit(stated, frame))


def complete(frame):
    """The rows without a missing value."""
    return frame.dropna().reset_index(drop=True)


def transformed(fitted, mode, frame, *, key=KEY, **options):
    """What the kernel in memory makes of a frame."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        return getattr(fitted, mode)(frame, key=key, **options)


def arrow(frame):
    """A frame as a table that every engine takes."""
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def assert_same(found, expected):
    """Compare two Arrow tables row by row, whatever the order of their rows and the width of their numbers."""
    assert found.column_names == expected.column_names
    assert len(found) == len(expected)
    found, expected = found.sort_by("note"), expected.sort_by("note")
    for name in expected.column_names:
        ours, theirs = (_values(table[name]) for table in (found, expected))
        assert ours.equals(theirs), name


def _values(column):
    """A column in its widest type; a number that is none is null."""
    column = column.combine_chunks()
    if pyarrow.types.is_floating(column.type):
        wide = column.cast(pyarrow.float64())
        return compute.if_else(compute.is_nan(wide), None, wide)
    return column.cast(pyarrow.int64() if pyarrow.types.is_integer(column.type) else _plain_type(column.type))


def _plain_type(kind):
    return pyarrow.bool_() if pyarrow.types.is_boolean(kind) else pyarrow.large_string()
