"""What to try in the words of options and problems, not of Python; each is provoked, so that it stays in step."""

import math
import re
import tomllib

import numpy as np
import pytest
from commands import complained, flat
from families import small_frame, small_problem

import evenhand as eh
from evenhand.cli.wording import advising, worded
from evenhand.errors import Made, Option, Setting, SolverError, Verb
from evenhand.render import terminal
from evenhand.render.section import Column, Note, Section, Table
from evenhand.spec import registry

PYTHON = re.compile(
    r"math\.|\w+=\[|\w+=,|\beh\.|\w+='\w+'|\b(Ordinal|Nominal|Fixed|Free|Edges|Quantiles|ChosenBins)\(|=(True|False|None)\b"
)


@pytest.fixture
def wrong(folder):
    """The problem that can be solved, with one thing changed."""

    def write(*changes):
        text = (folder / "fine.toml").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (folder / "wrong.toml").write_text(text)
        return "wrong.toml"

    return write


def said(result, *words):
    complained(result, *words, code=result.returncode)
    assert result.returncode in (1, 3)
    assert not PYTHON.search(flat(result.stderr)), result.stderr


@pytest.mark.slow
def test_missing_values(folder, inside):
    frame = small_frame().astype({"score": "Int64"})
    frame.loc[3, "score"] = None
    frame.to_csv(folder / "gaps.csv", index=False)
    said(inside("fit", "fine.toml", "gaps.csv"), 'write missing = "level" in the problem')
    assert inside("fit", "fine.toml", "people.csv", "--out", "m").returncode == 0
    said(inside("apply", "m", "gaps.csv", "--out", "x.csv"), "--missing level")


@pytest.mark.slow
def test_rows_that_were_not_fitted(folder, inside):
    inside("fit", "fine.toml", "people.csv", "--out", "m")
    (folder / "new.csv").write_text("group,score,hired\nb,7,0\n")
    said(inside("apply", "m", "new.csv", "--unseen", "error", "--out", "x.csv"), "with --unseen keep they")


def test_real_numbers(folder, inside):
    frame = small_frame()
    frame.assign(score=frame["score"] + np.linspace(0, 0.5, 200)).to_csv(folder / "real.csv", index=False)
    said(inside("fit", "fine.toml", "real.csv"), '[bins.score] with by = "quantiles"', "edges = [...]")


def test_an_outcome_without_a_rule(wrong, inside):
    rule = '[distortion.rules.hired]\nrule = "ordinal"\nstep = 1\nup = false'
    said(inside("fit", wrong((rule, "")), "people.csv"), '[distortion.rules.hired] with rule = "ordinal"')


def test_words_without_an_order(folder, inside):
    frame = small_frame()
    frame.assign(score=frame["score"].map({0: "low", 1: "high"})).to_csv(folder / "words.csv", index=False)
    said(inside("fit", "fine.toml", "words.csv"), "write levels = [...] into its rule, from lowest to highest")


def test_a_change_without_a_cost(wrong, inside):
    table = 'rule = "nominal"\ncost = [{ from = 0, to = 1, cost = 1 }]'
    rule = 'rule = "ordinal"\nstep = 1\nup = false'
    said(inside("fit", wrong((rule, table)), "people.csv"), "or inf to forbid it")


def test_segments_that_are_not_named(wrong, inside):
    parity = 'kind = "pairwise", bound = 0.2'
    said(inside("fit", wrong((parity, f"{parity}, min_segment = 9")), "people.csv"), "say which with given = [...]")


def test_comparing_within_a_protected_column(wrong, inside):
    parity = 'kind = "pairwise", bound = 0.2'
    said(inside("fit", wrong((parity, f'{parity}, given = ["group"]')), "people.csv"), "bound those pairs alone")


def test_suppressing_what_may_not_change(inside):
    said(inside("shield", "fine.toml", "people.csv"), 'rule = "free" in [distortion.rules.hired]')


def test_no_mapping(inside):
    said(inside("fit", "tight.toml", "people.csv"), "evenhand diagnose says why")


def test_notes(wrong, inside):
    problem = wrong(('kind = "expected"', 'kind = "expected", per = "xy"'))
    result = inside("fit", problem, "people.csv", "--out", "m")
    assert "budgets are per (x, y)" in flat(result.stdout), result.stderr
    assert not PYTHON.search(flat(result.stdout))


@pytest.mark.slow
def test_a_key_that_is_missing(folder, inside):
    inside("fit", "fine.toml", "people.csv", "--out", "m")
    (folder / "keys.csv").write_text("id,group,score,hired\n1,a,0,0\n,b,1,0\n")
    said(inside("apply", "m", "keys.csv", "--key", "id", "--out", "x.csv"), "leave --key out for draws by position")


def test_what_to_trace(wrong, inside):
    said(inside("frontier", "fine.toml", "people.csv"), "--bounds for ε, --budgets for c")
    parity = 'parity = [{ kind = "pairwise", bound = 0.2 }]'
    said(inside("frontier", wrong((parity, "")), "people.csv", "--bounds", "0.1"), "give it [[parity]]")
    budget = 'budget = [{ kind = "expected", limit = 0.45 }]'
    said(inside("frontier", wrong((budget, "")), "people.csv", "--budgets", "0.1"), "give it [[budget]]")


@pytest.mark.slow
def test_texts_that_postgres_cannot_hold(folder, inside, wrong):
    binned = wrong(("[distortion.rules.score]", '[bins.score]\nby = "edges"\nedges = [1]\n\n[distortion.rules.score]'))
    assert inside("fit", binned, "people.csv", "--out", "m").returncode == 0
    query = ("sql", "m", "--dialect", "postgres", "--table", "people", "--key", "id", "--restore", "label")
    said(inside(*query), "--restore label makes texts of ['score']", "needs --columns")


def test_an_edge_that_is_not_found(folder, inside, wrong):
    binned = wrong(
        ("[distortion.rules.score]", '[bins.score]\nby = "quantiles"\nnumber = 2\n\n[distortion.rules.score]')
    )
    small_frame().assign(score=5).to_csv(folder / "same.csv", index=False)
    said(inside("fit", binned, "same.csv"), '[bins.score] with by = "edges" and edges = [...]')


@pytest.mark.parametrize(
    ("piece", "python", "terminal"),
    [
        (Option("memory", "2GB"), "memory='2GB'", "--memory 2GB"),
        (Option("threads", 4), "threads=4", "--threads 4"),
        (Option("memory"), "memory=", "--memory"),
        (Option("time_limit", 60), "time_limit=60", "--time-limit 60"),
        (Setting("missing", "level"), "missing='level'", 'missing = "level"'),
        (Setting("blind", True), "blind=True", "blind = true"),
        (Setting("levels", [...]), "levels=[...]", "levels = [...]"),
        (Setting("parity", [Made("PairwiseParity", ...)]), "parity=[eh.PairwiseParity(...)]", "[[parity]]"),
        (Made("Fixed"), "eh.Fixed()", 'rule = "fixed"'),
        (
            Setting("distortion", Made("Free"), column="hired"),
            "{'hired': eh.Free()} in the distortion",
            'rule = "free" in [distortion.rules.hired]',
        ),
        (
            Setting("bins", Made("Quantiles", {"number": 4}), column="hours a week"),
            "bins={'hours a week': eh.Quantiles(number=4)}",
            '[bins."hours a week"] with by = "quantiles" and number = 4',
        ),
        (Setting("utility", Made("L1")), "utility=eh.L1()", 'utility = { measure = "L1" }'),
        (Setting("utility", Made("KL", ...)), "utility=eh.KL(...)", 'utility = { measure = "KL", ... }'),
        (
            Made("PairwiseParity", {"bound": 0.2, "distance": Made("FourFifths")}),
            "eh.PairwiseParity(bound=0.2, distance=eh.FourFifths())",
            'kind = "pairwise" and bound = 0.2 and distance = { measure = "four-fifths" }',
        ),
        (Setting("cost", math.inf), "cost=inf", "cost = inf"),
        (Setting("into", 'a "b"\x7f'), "into='a \"b\"\\x7f'", r'into = "a \"b\"\u007f"'),
        (Verb("diagnose"), "eh.diagnose", "evenhand diagnose"),
    ],
    ids=str,
)
def test_every_kind_of_advice(piece, python, terminal):
    for kind in (eh.SpecError, eh.InfeasibleError, eh.EvenhandWarning):
        message = kind("try ", piece, ".")
        assert (str(message), worded(message)) == (f"try {python}.", f"try {terminal}.")


def test_a_message_is_not_searched():
    """A column may be called like an argument; only what is advice is worded."""
    message = eh.DataError("column \"missing='level'\" has Free() of eh.Quantiles(4)")
    assert worded(message) == str(message)


@pytest.mark.parametrize(
    "rule", [Made("Ordinal", {"step": 1}), Made("Nominal", {"cost": 2}), Made("Fixed"), Made("Free")]
)
def test_what_terminals_are_told_is_a_rule(rule):
    """The TOML that is advised is read as what Python is advised to build."""
    table = worded(eh.SpecError(rule)).replace(" and ", "\n")
    toml = small_problem().to_toml().split("[distortion.rules.hired]")[0]
    found = eh.Problem.from_toml(f"{toml}[distortion.rules.hired]\n{table}\n")
    assert found.distortion.rules["hired"] == eval(str(rule), {"eh": eh})


@pytest.mark.parametrize("name", [name for name in vars(registry) if not name.startswith("_")])
def test_what_every_class_makes_has_its_word(name):
    kind = getattr(registry, name)
    word = kind.word or name
    assert worded(eh.SpecError(Made(name))) == f'{kind.key} = "{word}"'
    line = worded(eh.SpecError(Setting("part", Made(name, {"number": math.inf, "among": ["a", 1]}))))
    assert tomllib.loads(line) == {"part": {kind.key: word, "number": math.inf, "among": ["a", 1]}}


def test_advice_in_the_notes_of_a_section_is_in_the_words_of_each_face():
    """Wherever a note stands: in another one, in a list, in a table."""
    error = SolverError("raise ", Option("time_limit", 5), " or run ", Verb("diagnose"))
    inner = Note("frontier.at", {"where": ["here"], "what": error})
    remarks = Table("remarks", (Column("remark"),), ((inner,),))
    section = Section("points", tables=(remarks,), notes=(inner, Note("text", {"text": inner})))
    assert terminal.text([section]).count("here: raise time_limit=5 or run eh.diagnose") == 3
    assert terminal.text([advising(section)]).count("here: raise --time-limit 5 or run evenhand diagnose") == 3
