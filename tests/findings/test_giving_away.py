"""Columns that give away what was changed: families of tables in which it is known which do, and a reader by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.findings.giving_away import GivenAway, _Group, _guesses, given_away_note, giving_away
from evenhand.render.sentences import sentence
from evenhand.tables import read
from evenhand.use.proposal import propose

PROBLEM = eh.Problem(
    protected=["sex"],
    features=["age", "job"],
    outcome="y",
    parity=[eh.PairwiseParity(0.05), eh.FeatureParity(0.05, features=["age"])],
    distortion=eh.Distortion({"age": eh.Ordinal(1, max_steps=1), "y": eh.Ordinal(1)}),
    utility=eh.L1(),
)

REVEALED = "reveal what changes"


def people(seed, n):
    """A table whose outcome and ages go with the group, and its columns beside: some tell, others do not."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    years = np.clip(rng.normal(38 + 6 * sex, 12, n), 18, 80)
    job = rng.integers(0, 3, n)
    y = (rng.random(n) < 0.15 + 0.3 * sex + 0.1 * job + 0.004 * (years - 18)).astype(int)
    age = np.searchsorted([30, 45, 60], years)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[sex], "age": age, "job": job, "y": y})
    rates = rng.random(6)
    telling = {
        "years": years,
        "whole years": years.astype(int),
        "born": pd.Timestamp("2026-01-01") - pd.to_timedelta(years * 365.25, unit="D"),
        "group of ages": pd.Series(age).map(dict(enumerate("abcd"))),
        "decision": np.where(y == 1, "granted", "refused"),
        "reason": pd.Series(np.where(y == 1, None, rng.choice(["a", "b", "c"], n))),
        "said by some": pd.Series(np.where(rng.random(n) < 0.5, y.astype(str), None)),
        "description": np.where(y == 1, "ok ", "no ") + rng.integers(0, n // 20, n).astype(str).astype(object),
    }  # fmt: skip
    innocent = {
        "id": rng.permutation(n),
        "row": np.arange(n),
        "name": [f"person {i:06d}" for i in rng.permutation(n)],
        "noise": rng.normal(size=n),
        "few": rng.integers(0, 4, n),
        "many": rng.integers(0, n // 3, n),
        "gender": np.array(["woman", "man"])[sex],
        "job again": job,
        "like the outcome": np.where(rng.random(n) < 0.25, 1 - y, y),
        "like the age": years + rng.normal(0, 12, n),
        "constant": 1,
        "missing": None,
        "rare": rng.random(n) < 0.02 * rates[0],
        "code": pd.Series(rng.integers(0, 40, n)).map("{:02d}x".format),
    }
    return frame, telling, innocent


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seed", range(24))
def test_those_that_tell_are_found_and_no_others(seed):
    n = int(np.random.default_rng(seed).integers(600, 4000))
    frame, telling, innocent = people(seed, n)
    whole = frame.assign(**telling, **innocent)
    if seed % 4 == 0:
        # Rows that stand for several people are repeated, and tell no more.
        whole = whole.loc[whole.index.repeat(np.random.default_rng(seed).integers(1, 6, n))]
        frame = whole[list(frame)]
    mapping = eh.fit(PROBLEM, frame)
    found = giving_away(mapping.release_mode, read(whole), [*innocent, *telling])
    of = {"years": "age", "whole years": "age", "born": "age", "group of ages": "age"}
    assert {(each.column, each.of) for each in found} == {(name, of.get(name, "y")) for name in telling}
    for each in found:
        assert each.told == pytest.approx(0.5 if each.column == "said by some" else 1.0, abs=0.15)
        assert each.right > 0.85


def guessed_by_hand(values, levels, cells):
    """What a reader thinks of each person, from others with the same value: a level of nine in ten.

    Those of the same cell are others where they are twenty or more.
    """
    found, alike = [], Counter(zip(values, cells, strict=True))
    for value, own, its in zip(values, cells, levels, strict=True):
        crowd = alike[value, own] >= 20
        rows = zip(values, levels, cells, strict=True)
        others = Counter(level for of, level, cell in rows if of == value and (crowd or cell != own))
        others.subtract([its] if crowd else [])
        level, most = others.most_common(1)[0] if others else (None, 0)
        found.append(level if others and most >= 0.9 * others.total() else None)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_guesses_leave_each_person_out(seed):
    rng = np.random.default_rng(seed)
    values, cells = rng.integers(0, [2, 10, 40, 100, 1][seed], 120), rng.integers(0, [60, 60, 60, 60, 5][seed], 120)
    levels = rng.choice(3, 60, p=[0.93, 0.04, 0.03])[cells]
    guess, sure = _guesses(_Group.of(values, cells), levels)
    by_hand = guessed_by_hand(values.tolist(), levels.tolist(), cells.tolist())
    assert sure.tolist() == [level is not None for level in by_hand]
    assert all(own == level for own, level in zip(guess.tolist(), by_hand, strict=True) if level is not None)


@pytest.mark.slow
def test_a_code_of_whole_cells_tells_and_one_of_repeated_rows_does_not():
    rng = np.random.default_rng(2)
    frame, *_ = people(2, 2000)
    frame = frame.drop(columns="job")
    frame["code"] = frame["sex"] + frame["age"].astype(str) + frame["y"].astype(str)
    frame["id"] = rng.permutation(len(frame))
    frame = frame.loc[frame.index.repeat(rng.integers(1, 6, len(frame)))]
    problem = replace(PROBLEM, features=["age"])
    mapping = eh.fit(problem, frame[["sex", "age", "y"]])
    found = giving_away(mapping.release_mode, read(frame), ["code", "id"])
    assert {(each.column, each.of) for each in found} == {("code", "age"), ("code", "y")}
    assert all(each.told == pytest.approx(1, abs=0.02) and each.right == pytest.approx(1) for each in found)


@pytest.mark.slow
def test_what_is_told_is_what_a_reader_finds_in_releases():
    frame, _, _ = people(3, 1500)
    rng = np.random.default_rng(0)
    frame["shown"] = np.where(rng.random(1500) < 0.015, 1 - frame["y"], frame["y"])
    mapping = eh.fit(PROBLEM, frame)
    (told,) = giving_away(mapping.release_mode, read(frame), ["shown"])
    cells = frame.groupby(["sex", "age", "job", "y"]).ngroup()
    guess = np.array(guessed_by_hand(frame["shown"].tolist(), frame["y"].tolist(), cells.tolist()))
    shares, right = [], []
    for seed in range(40):
        released = mapping.release(frame, seed=seed)["y"].to_numpy()
        changed, suspected = released != frame["y"], guess != released
        shares.append((changed & suspected).sum() / changed.sum())
        right.append((changed & suspected).sum() / suspected.sum())
    assert told.told == pytest.approx(np.mean(shares), abs=0.01)
    assert told.right == pytest.approx(np.mean(right), abs=0.02)
    assert 0.8 < told.right < 0.97


@pytest.mark.slow
def test_audit_and_init_name_them_all(tmp_path):
    frame, telling, innocent = people(1, 900)
    chosen = {name: telling[name] for name in ("years", "decision")}
    whole = frame.assign(**chosen, **{name: innocent[name] for name in ("noise", "id", "few")})
    # Warnings are errors here: neither a fit nor a release looks for them.
    mapping = eh.fit(PROBLEM, whole)
    mapping.release(whole, seed=0)
    files = [tmp_path / "people.csv", tmp_path / "people.parquet"]
    whole.to_csv(files[0], index=False)
    whole.to_parquet(files[1], index=False)
    noted = [
        [n for n in mapping.audit(table).sentences("caveats") if REVEALED in n]
        for table in (whole, pl.from_pandas(whole), *files)
    ]
    assert all(notes == noted[0] for notes in noted)
    (words,) = noted[0]
    assert "of those whose 'age' changes" in words
    assert "from 'years'" in words
    assert "of those whose 'y' changes" in words
    assert "from 'decision'" in words
    for table in (whole, *files):
        found = propose(table, protected=["sex"], outcome="y", features=["age", "job"])
        assert "of those whose 'y' changes 100% from 'decision'" in sentence(found.given_away)
    # Nothing is noted where no column tells anything, nor in apply mode.
    plain = whole.drop(columns=list(chosen))
    assert not any(REVEALED in note for note in mapping.audit(plain).sentences("caveats"))
    assert propose(plain, protected=["sex"], outcome="y", features=["age", "job"]).given_away is None
    assert giving_away(mapping.apply_mode, read(whole), ["decision", "noise"]) == ()


@pytest.mark.slow
def test_init_looks_at_learned_cells_and_says_so(tmp_path, monkeypatch, capsys):
    frame, telling, innocent = people(1, 900)
    whole = frame.assign(decision=telling["decision"], noise=innocent["noise"])
    monkeypatch.chdir(tmp_path)
    whole.to_csv("people.csv", index=False)
    asked = ["--protected", "sex", "--outcome", "y", "--cells", "leaves"]
    monkeypatch.setattr("sys.argv", ["evenhand", "init", "people.csv", *asked])
    with pytest.raises(SystemExit) as ending:
        main()
    assert not ending.value.code
    assert "of those whose 'y' changes 100% from 'decision'" in " ".join(capsys.readouterr().out.split())


def test_rows_in_new_cells_and_odd_columns_are_passed_over():
    frame, telling, _ = people(2, 700)
    mapping = eh.fit(PROBLEM, frame)
    odd = frame.assign(lists=[[1]] * 700, decision=telling["decision"])
    (found,) = giving_away(mapping.release_mode, read(odd), ["lists", "decision"])
    assert found.column == "decision"
    few = odd.assign(job=9)
    assert giving_away(mapping.release_mode, read(few), ["decision"]) == ()
    assert giving_away(mapping.release_mode, read(odd.head(0)), ["decision"]) == ()
    assert giving_away(mapping.release_mode, read(odd.head(20)), ["decision"]) == ()


def test_the_words_count_columns_and_say_what_to_do():
    assert given_away_note([]) is None
    one = GivenAway("years", "age", 0.5, 1.0, 1234.2)
    assert sentence(given_away_note([one])) == (
        "a column that is passed through reveals what changes. A reader could identify, of those whose 'age' changes "
        "50% from 'years' (about 1,234; 100% of suspicions right). Leave it out of what readers get, or make it part "
        "of the problem"
    )
    assert sentence(given_away_note([one, one])).startswith("a column")
    several = sentence(given_away_note([one, GivenAway("b", "y", 0.2, 0.9, 3.0)]))
    assert "; of those whose 'y' changes 20% from 'b'" in several
