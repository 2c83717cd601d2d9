"""Trees: the leaf of a row, rules in words that a reader could follow by hand, and files that hold nonsense."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.data.tree import Asked, Given, Kind, Split, Tree, named_leaves
from evenhand.errors import StorageError

NUMBER = Asked("age", Kind.NUMBER, gaps=True)
REAL = Asked("pay", Kind.NUMBER)
WORD = Asked("job", Kind.WORD, words=("clerk", "cook", "nurse"), others=True, gaps=True)
TRUTH = Asked("married", Kind.TRUTH)
DATE = Asked("since", Kind.DATE)
COLUMNS = (NUMBER, REAL, WORD, TRUTH, DATE)


def random_tree(rng, splits):
    """A tree that asks anything anywhere."""
    found, leaves = [], 0

    def grow(left):
        nonlocal leaves
        if left == 0:
            leaves += 1
            return ~(leaves - 1)
        place, inside = len(found), int(rng.integers(0, left))
        column = int(rng.integers(0, len(COLUMNS)))
        found.append(None)
        kind = COLUMNS[column].kind
        missing_left = bool(rng.random() < 0.5)
        if kind is Kind.WORD:
            among = tuple(sorted(rng.choice(WORD.words, rng.integers(0, 4), replace=False).tolist()))
            asked = {"among": among, "others_left": bool(rng.random() < 0.5)}
        else:
            below = {Kind.TRUTH: 1.0}.get(kind, float(rng.choice([20, 35.5, 50, 15_000])))
            asked = {"below": below}
            if rng.random() < 0.1:
                asked, missing_left = {}, False
        first = grow(inside)
        found[place] = Split(column, first, grow(left - 1 - inside), missing_left, **asked)
        return place

    grow(splits)
    return Tree(COLUMNS, tuple(found))


def random_rows(rng, number):
    age, pay, since = (rng.choice([10, 20, 30, 35.5, 36, 50, 60, np.nan], number) for _ in range(3))
    words = ["clerk", "cook", "nurse", "pilot"]
    return [
        Given(numbers=age), Given(numbers=pay), Given(codes=rng.integers(-1, 4, number), words=words),
        Given(numbers=rng.choice([0.0, 1.0, np.nan], number)), Given(numbers=since * 400),
    ]  # fmt: skip


def by_hand(tree, values):
    """Follow the splits of one row, as their documentation reads."""
    place = 0 if tree.splits else ~0
    while place >= 0:
        split = tree.splits[place]
        column, value = tree.columns[split.column], values[split.column]
        if value is None:
            left = split.missing_left
        elif column.kind is Kind.WORD:
            left = split.others_left if value not in column.words else value in split.among
        else:
            left = True if split.below is None else value < split.below
        place = split.left if left else split.right
    return ~place


def listed(rows):
    for row in range(len(rows[0])):
        yield [
            (None if np.isnan(given.numbers[row]) else float(given.numbers[row]))
            if given.numbers is not None
            else (None if given.codes[row] < 0 else given.words[given.codes[row]])
            for given in rows
        ]


@pytest.mark.parametrize("seed", range(20))
def test_every_way_to_a_leaf_is_the_same(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(0, 30)))
    tree.check()
    rows = random_rows(rng, 300)
    found = tree.leaves(rows, 300)
    assert found.tolist() == [by_hand(tree, values) for values in listed(rows)]
    assert found.tolist() == [tree.leaf(values) for values in listed(rows)]
    assert Tree.read(json.loads(json.dumps(tree.described()))) == tree
    assert len(set(named_leaves(tree))) == tree.size


def test_unknown_words_are_told():
    tree = Tree((WORD,), (Split(0, ~0, ~1, missing_left=True, among=("cook",)),))
    given = Given(codes=np.array([0, 1, 2, -1]), words=["cook", "pilot", "clerk"])
    assert tree.unknown(0, given).tolist() == [False, True, False, False]


def one(column, **asked):
    return Tree((column,), (Split(0, ~0, ~1, **{"missing_left": False, **asked}),)).rules


def test_rules_in_words():
    assert one(NUMBER, below=13.0) == ("age below 13", "age at least 13 or missing")
    assert one(NUMBER) == ("age not missing", "age missing")
    assert one(REAL, below=1250.5) == ("pay below 1250.5", "pay at least 1250.5")
    assert one(TRUTH, below=1.0) == ("married is false", "married is true")
    assert one(DATE, below=16191.0) == ("since before 2014-05-01", "since from 2014-05-01 on")
    assert one(WORD, among=("cook",)) == ("job is cook", "job is not cook")
    assert one(WORD, among=("cook",), missing_left=True, others_left=True) == (
        "job is cook, another word or missing",
        "job is clerk or nurse",
    )
    assert one(replace(WORD, gaps=False, others=False), among=("clerk", "cook")) == (
        "job is not nurse",
        "job is nurse",
    )
    assert Tree((), ()).rules == ("everybody",)


def test_rules_of_several_splits_say_each_column_once():
    first, second = (Split(0, 1, ~2, False, below=50.0), Split(0, ~0, ~1, False, below=30.0))
    assert Tree((replace(NUMBER, gaps=False),), (first, second)).rules == (
        "age below 30",
        "age from 30 to below 50",
        "age at least 50",
    )
    words = replace(WORD, words=tuple(f"job {i:02d}" for i in range(20)), others=False, gaps=False)
    rules = Tree((words,), (Split(0, ~0, ~1, False, among=words.words[:9]),)).rules
    assert rules[0] == "job is job 00, job 01, job 02, job 03 or 5 others"


def satisfied(words, value):
    """Whether a number satisfies the part of a rule that is about it."""
    _, *said = words.split()
    match said:
        case ["below", high]:
            return value < float(high)
        case ["at", "least", low]:
            return value >= float(low)
        case ["from", low, "to", "below", high]:
            return float(low) <= value < float(high)
    raise AssertionError(words)


@pytest.mark.parametrize("seed", range(12))
def test_every_number_satisfies_the_rule_of_its_own_leaf_alone(seed):
    rng = np.random.default_rng(seed)
    cuts = [52.0, 51.5, 13.0, 1e6, 1234567.25, -3.0, *rng.normal(0, 100, 3), *rng.random(3) / 1e5]
    columns = tuple(Asked(name, Kind.NUMBER) for name in ("a", "b"))
    splits = [
        Split(int(rng.integers(2)), ~place, place + 1 if place < 7 else ~8, False, below=float(rng.choice(cuts)))
        for place in range(8)
    ]
    tree = Tree(columns, tuple(splits))
    tree.check()
    near = [value for cut in cuts for value in (cut, np.nextafter(cut, -np.inf), cut - 0.5, cut - 1, cut + 0.3)]
    for row in rng.choice(near, (200, 2)).tolist():
        told = [all(satisfied(said[name], row["ab".index(name)]) for name in said) for said in tree.told]
        assert np.flatnonzero(told).tolist() == [tree.leaf(row)]


SOUND = Tree((NUMBER, WORD), (Split(0, ~0, 1, False, below=3.0), Split(1, ~1, ~2, True, among=("cook",)))).described()


def damaged(**changes):
    return {**json.loads(json.dumps(SOUND)), **changes}


@pytest.mark.parametrize(
    "entry",
    [
        damaged(left=[1, 0]),  # in a circle
        damaged(left=[-1, 1]),
        damaged(right=[5, -3]),  # to nowhere
        damaged(right=[1, -2]),  # to one leaf twice
        damaged(right=[-2, -3]),  # past a split
        damaged(column=[0, 7]),
        damaged(column=[0, -1]),
        damaged(column=[0]),
        damaged(column=[True, False]),
        damaged(below=[None, None], missing_left=[True, True]),
        damaged(below=[float("inf"), None]),
        damaged(below=[float("nan"), None]),
        damaged(below=["3", None]),
        damaged(below=[3.0, 1.0]),
        damaged(among=[["cook"], ["cook"]]),
        damaged(among=[[], ["pilot"]]),
        damaged(among=[[], ["cook", "clerk"]]),
        damaged(among=[[], [3]]),
        damaged(others_left=[True, False]),
        damaged(missing_left=[1, 0]),
        damaged(columns=[]),
        damaged(columns=[SOUND["columns"][0]] * 2),
        damaged(columns=[{**SOUND["columns"][0], "kind": "colour"}, SOUND["columns"][1]]),
        damaged(columns=[{**SOUND["columns"][0], "words": ["a"]}, SOUND["columns"][1]]),
        damaged(columns=[{**SOUND["columns"][0], "name": 3}, SOUND["columns"][1]]),
        damaged(columns=[SOUND["columns"][0], {**SOUND["columns"][1], "words": ["b", "a"]}]),
        damaged(columns="age"),
        {},
    ],
)
def test_damaged_trees_are_refused(entry):
    with pytest.raises(StorageError, match="learned cells"):
        Tree.read(entry)


def test_a_tree_of_any_size_is_not_read():
    many = 10_001
    sides = {"left": [*range(1, many), -many - 1], "right": [~i for i in range(many)]}
    short = {"missing_left": [False] * many, "others_left": [False] * many, "below": [1.0] * many, "among": [[]] * many}
    with pytest.raises(StorageError, match="at most 10000"):
        Tree.read({**damaged(), **sides, **short, "column": [0] * many})
