"""Errors and warnings: what to try is data, worded here as people type it in Python; they can be sent and copied."""

import copy
import pickle

import numpy as np
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.errors import Made, Option, Setting, Verb, did_you_mean

ADVISED = [
    eh.DataError("2 rows are new; with ", Option("unseen", "keep"), " they are left unchanged"),
    eh.SpecError("write ", Setting("distortion", Made("Ordinal", {"step": 1}), column="hired"), ", or ", Made("Fixed")),
    eh.InfeasibleError("no. ", Verb("diagnose"), " says why", smallest_parity_bound=0.1, smallest_budget_factor=2.0),
    eh.StorageError("raise ", Option("memory")),
    eh.EvenhandWarning("write ", Setting("levels", [...])),
    eh.MissingExtraError("pip install 'evenhand[files]'"),
]


@pytest.mark.parametrize("message", ADVISED, ids=lambda message: type(message).__name__)
@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy])
def test_messages_can_be_sent_and_copied(message, again):
    other = again(message)
    assert type(other) is type(message)
    assert (str(other), other.args, other.advice) == (str(message), message.args, message.advice)
    assert vars(other) == vars(message)


@pytest.mark.parametrize(
    "kind", [eh.DataError, eh.SpecError, eh.InfeasibleError, eh.TimeLimitError, eh.EvenhandWarning]
)
def test_a_plain_message(kind):
    message = kind("column 'age' is missing")
    assert str(message) == "column 'age' is missing"
    assert message.args == ("column 'age' is missing",)
    assert message.advice == ()


def advice(kind, call):
    with pytest.raises(kind) as caught:
        call()
    for piece in caught.value.advice:
        assert str(piece) in str(caught.value)
    return caught.value.advice


def test_missing_values_say_what_to_set():
    frame = small_frame().astype({"score": "Int64"})
    frame.loc[3, "score"] = None
    [found] = advice(eh.DataError, lambda: eh.fit(small_problem(), frame))
    assert found == Setting("missing", "level")
    assert eh.fit(small_problem(**{found.name: found.value}), frame).problem.missing == "level"


def test_real_numbers_say_how_to_bin_them():
    frame = small_frame()
    frame["score"] = frame["score"] + np.linspace(0, 0.5, len(frame))
    first, *others = advice(eh.DataError, lambda: eh.fit(small_problem(), frame))
    assert first == Setting("bins", Made("Quantiles", {"number": 4}), column="score")
    assert others == [Made("ChosenBins"), Made("Edges", {"edges": [...]})]
    bins = {first.column: eval(str(first.value), {"eh": eh})}
    assert bins == {"score": eh.Quantiles(4)}
    assert eh.fit(small_problem(bins=bins), frame).certificate.status == "optimal"


def test_an_outcome_without_a_rule_says_which_to_write():
    rules = {"score": eh.Ordinal(step=1)}
    first, second = advice(eh.SpecError, lambda: small_problem(distortion=eh.Distortion(rules)))
    for made, rule in ((first.value, eh.Ordinal(step=1)), (second, eh.Fixed())):
        written = eval(str(made), {"eh": eh})
        assert written == rule
        small_problem(distortion=eh.Distortion(rules | {first.column: written}))


def test_new_rows_say_which_option_keeps_them():
    mapping = eh.fit(small_problem(), small_frame())
    new = small_frame().head(1).assign(score=7)
    [found] = advice(eh.DataError, lambda: mapping.apply(new, unseen="error"))
    assert found == Option("unseen", "keep")
    with pytest.warns(eh.EvenhandWarning):
        assert len(mapping.apply(new, **{found.name: found.value})) == 1


def test_a_key_that_is_missing_may_be_left_out():
    mapping = eh.fit(small_problem(), small_frame())
    rows = small_frame().assign(person=None)
    assert advice(eh.DataError, lambda: mapping.apply(rows, key="person")) == (Option("key"),)


@pytest.mark.slow
def test_what_cannot_be_met_says_who_knows_why():
    problem = small_problem(parity=[eh.PairwiseParity(0.0)], budget=eh.ExpectedDistortion(0.01))
    [found] = advice(eh.InfeasibleError, lambda: eh.fit(problem, small_frame()))
    assert found == Verb("diagnose")
    assert not getattr(eh, found.name)(problem, small_frame()).feasible


def test_sweeps_say_what_they_lack():
    [found] = advice(eh.SpecError, lambda: eh.frontier(small_problem(parity=[]), small_frame(), bounds=[0.1]))
    assert str(found) == "parity=[eh.PairwiseParity(...)]"
    assert [piece.name for piece in advice(eh.SpecError, lambda: eh.frontier(small_problem(), small_frame()))] == [
        "bounds",
        "budgets",
    ]


def test_a_warning_names_the_line_of_the_users_code():
    frame = small_frame()
    mapping = eh.fit(small_problem(), frame)
    with pytest.warns(eh.EvenhandWarning, match="1 of 1 rows") as told:
        mapping.apply(frame.head(1).assign(score=99))
    assert [each.filename for each in told] == [__file__]


@pytest.mark.parametrize("seed", range(5))
def test_the_name_that_is_meant_is_the_one_with_fewest_letters_changed(seed):
    """One letter of a random name is replaced; another known name has two letters changed."""
    rng = np.random.default_rng(seed)
    for size in rng.integers(3, 9, 40):
        name = [str(each) for each in rng.choice(list("abcdefgh"), size)]
        first, second = (int(at) for at in rng.choice(size, 2, replace=False))
        typed = [*name[:first], "x", *name[first + 1 :]]
        further = [*typed[:second], "y", *typed[second + 1 :]]
        further[first] = "z"
        known = ["".join(further), "".join(name)]
        assert did_you_mean("".join(typed), known) in ("", f" Did you mean {''.join(name)!r}?")
    assert did_you_mean("css", ["mcs", "ccs"]) == " Did you mean 'ccs'?"
