"""What a written file says of itself, and cells that a spreadsheet would take for formulas."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.engines.marking import _is_formula, is_formula

LETTERS = list("=+-@0159.,eE%\t aX'\n＝＋－＠")


@pytest.fixture(scope="module")
def fitted():
    return shared_fit(small_problem(), small_frame())


@pytest.fixture
def folder(tmp_path):
    notes = ["=1+1", "-2.5", "+3", "@x", "-", "a=b", "", None, "-1,5", "+1-2"] * 20
    frame = small_frame().assign(note=notes, id=range(200))
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    return tmp_path


def test_duckdb_finds_the_same_formulas():
    rng = np.random.default_rng(20261118)
    texts = ["".join(rng.choice(LETTERS, rng.integers(0, 6))) for _ in range(3000)]
    given = pd.DataFrame({"text": texts})  # noqa: F841
    found = duckdb.sql(f"SELECT {_is_formula('text')} AS formula FROM given").df()["formula"]
    assert found.tolist() == list(map(is_formula, texts))
    assert 0.1 < found.mean() < 0.5


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("source", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("mode", ["release", "expand"])
def test_parquet_names_its_manifest_or_the_mapping_alone(fitted, folder, mode, source):
    use = getattr(fitted, mode)
    use(folder / source, to=folder / "plain.parquet")
    use(folder / source, to=folder / "out.parquet", manifest=folder / "out.parquet.manifest.json", mark="altered")
    said = {name: pyarrow.parquet.read_metadata(folder / name).metadata for name in ("plain.parquet", "out.parquet")}
    fitted.save(folder / "m.mapping")
    digest = eh.manifest_of(
        fitted, fitted.apply(folder / source, to=folder / "a.csv"), folder / "m.mapping"
    ).fingerprint
    for each in said.values():
        assert (each[b"evenhand.altered"], each[b"evenhand.mapping"]) == (b"true", digest.encode())
    assert b"evenhand.manifest" not in said["plain.parquet"]
    assert said["out.parquet"][b"evenhand.manifest"] == b"out.parquet.manifest.json"
    assert set(pd.read_parquet(folder / "out.parquet")["altered"]) == {
        f"altered by evenhand {mode} with mapping {digest[:12]}"
    }


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("source", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("mode", ["release", "apply"])
def test_a_marked_csv_file_says_it_in_every_row_alike(fitted, folder, mode, source):
    use = getattr(fitted, mode)
    use(folder / source, to=folder / "plain.csv", seed=1)
    use(folder / source, to=folder / "out.csv", seed=1, mark="altered")
    plain, found = (pd.read_csv(folder / name, dtype=str) for name in ("plain.csv", "out.csv"))
    assert found["altered"].nunique() == 1
    assert found.drop(columns="altered").equals(plain)
    with pytest.raises(eh.DataError, match="already has a column 'note'; give mark"):
        use(folder / source, to=folder / "x.csv", mark="note")


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("source", ["people.csv", "people.parquet"])
def test_formulas_pass_through_are_escaped_or_are_refused(fitted, folder, source):
    read = {"dtype": str, "keep_default_na": False}
    fitted.release(folder / source, to=folder / "kept.csv", seed=1)
    fitted.release(folder / source, to=folder / "escaped.csv", seed=1, formulas="escape")
    kept, escaped = (pd.read_csv(folder / name, **read) for name in ("kept.csv", "escaped.csv"))
    assert kept["note"][0] == "=1+1"
    expected = [f"'{text}" if is_formula(text) else text for text in kept["note"]]
    assert escaped["note"].tolist() == expected != kept["note"].tolist()
    assert escaped.drop(columns="note").equals(kept.drop(columns="note"))
    with pytest.raises(eh.DataError, match=r"60 cells of column 'note' begin like a formula.*formulas='escape'"):
        fitted.release(folder / source, to=folder / "x.csv", formulas="refuse")
    with pytest.raises(eh.SpecError, match=r"only a \.csv file"):
        fitted.release(folder / source, to=folder / "x.parquet", formulas="refuse")
    assert not list(folder.glob("x.*"))


@pytest.mark.slow
def test_a_level_that_would_be_escaped_is_refused(folder):
    frame = small_frame().assign(group=["=a" if group == "a" else group for group in small_frame()["group"]])
    frame.to_csv(folder / "people.csv", index=False)
    mapping = eh.fit(small_problem(), frame)
    with pytest.raises(eh.DataError, match="the level '=a' of column 'group'"):
        mapping.release(folder / "people.csv", to=folder / "x.csv", formulas="escape")
    frame.assign(**{"=note": 1}).to_csv(folder / "named.csv", index=False)
    with pytest.raises(eh.DataError, match="the column '=note' begins like a formula"):
        mapping.release(folder / "named.csv", to=folder / "x.csv", formulas="refuse")
