"""Messages in the words of options and problems, not of Python; each is provoked, so that it stays in step."""

import re

import numpy as np
import pytest
from commands import complained, flat
from families import small_frame

PYTHON = re.compile(
    r"\beh\.|\w+='\w+'|\b(Ordinal|Nominal|Fixed|Free|Edges|Quantiles|ChosenBins)\(|=(True|False|None)\b"
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


def test_missing_values(folder, inside):
    frame = small_frame().astype({"score": "Int64"})
    frame.loc[3, "score"] = None
    frame.to_csv(folder / "gaps.csv", index=False)
    said(inside("fit", "fine.toml", "gaps.csv"), 'write missing = "level" in the problem')
    assert inside("fit", "fine.toml", "people.csv", "--out", "m").returncode == 0
    said(inside("apply", "m", "gaps.csv", "--out", "x.csv"), 'missing = "level"')


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


def test_suppressing_what_may_not_change(inside):
    said(inside("shield", "fine.toml", "people.csv"), 'rule = "free" in [distortion.rules.hired]')


def test_no_mapping(inside):
    said(inside("fit", "tight.toml", "people.csv"), "evenhand diagnose says why")


def test_notes(wrong, inside):
    problem = wrong(('kind = "expected"', 'kind = "expected", per = "xy"'))
    result = inside("fit", problem, "people.csv", "--out", "m")
    assert "on average over the protected groups: some groups are changed more" in flat(result.stdout), result.stderr
    assert not PYTHON.search(flat(result.stdout))
