"""Whatever is given for whichever parameter of whichever public callable: it works, or an error of ours names it.

Every public callable has a call that works (``VALID``), in which each argument in turn is replaced by each of a family
of hostile values. What is accepted is used as well: fitted, written, hashed, compared.
"""

import contextlib
import inspect
import pickle
import signal
import tempfile
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB

import evenhand as eh
from evenhand import spec, verifier
from evenhand.engines import spark
from evenhand.errors import EvenhandError, InfeasibleError, SolverError
from evenhand.findings.history import History
from evenhand.findings.models import Predictor
from evenhand.findings.theory import Theory
from evenhand.render.chart import Picture

SECONDS = 30
"""A call that takes longer hangs."""


class Word(str):
    """A text of a type of its own."""


class Sulky:
    """A value that cannot even be shown, compared or asked for its length."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __len__ = __bool__ = __float__ = __iter__ = __repr__

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def recursive():
    found = []
    found.append(found)
    return found


def recursive_table():
    found = {}
    found["a"] = found
    return found


HOSTILE: dict[str, Callable[[], object]] = {
    "a number as an array": lambda: np.array(0.5),
    "numbers": lambda: np.array([0.1, 0.2]),
    "a matrix": lambda: np.ones((2, 2)),
    "objects": lambda: np.array([None, "a", object()], dtype=object),
    "an empty array": lambda: np.array([]),
    "NaNs": lambda: np.array([np.nan, np.inf]),
    "NA": lambda: pd.NA,
    "NaT": lambda: pd.NaT,
    "None": lambda: None,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "minus infinity": lambda: -np.inf,
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "2.5": lambda: 2.5,
    "huge": lambda: 10**400,
    "minus huge": lambda: -(10**400),
    "unprintably huge": lambda: 10**5000,
    "large": lambda: 1e308,
    "tiny": lambda: 5e-324,
    "a large whole number": lambda: 2**63,
    "no text": lambda: "",
    "a space": lambda: " ",
    "a word": lambda: "nonsense",
    "NUL": lambda: "a\0b",
    "a surrogate": lambda: "a\ud800b",
    "a long text": lambda: "x" * 1000,
    "a word of another type": lambda: Word("age"),
    "bytes": lambda: b"bytes",
    "an empty list": list,
    "a list in a list": lambda: [[]],
    "a list of None": lambda: [None],
    "a list of NaN": lambda: [float("nan")],
    "a list of NA": lambda: [pd.NA, "a"],
    "a list of huge": lambda: [10**400],
    "a list of tables": lambda: [{}],
    "a list of surrogates": lambda: ["\ud800"],
    "a list of empty texts": lambda: [""],
    "twice the same": lambda: ["age", "age"],
    "no tuple": lambda: (),
    "a pair": lambda: (1, 2),
    "an empty table": dict,
    "a table of lists": lambda: {"a": []},
    "a table of None": lambda: {"a": None},
    "a table of NaN": lambda: {"a": float("nan")},
    "a table of None by None": lambda: {None: None},
    "a table by numbers": lambda: {0: 0.5, 1: 0.5},
    "a table by huge numbers": lambda: {10**400: 10**400},
    "a table by pairs": lambda: {("a", "b"): 1.0},
    "a table in a table": lambda: {"a": {"b": {}}},
    "an empty set": set,
    "a set": lambda: {1, "a"},
    "an object": object,
    "a function": lambda: lambda *given: None,
    "a class": lambda: int,
    "a class of ours": lambda: eh.KL,
    "a value of ours": lambda: eh.KL(),
    "exceptions by case": lambda: eh.By(0.1, [({"sex": "f"}, 0.2)]),
    "exceptions for nobody": lambda: eh.By(0.1, [({"nobody": "f"}, 0.2)]),
    "exceptions of distributions": lambda: eh.By({0: 0.5, 1: 0.5}, [({"age": ["old", "young"]}, {0: 1})]),
    "a generator": lambda: (i for i in range(3)),
    "a range": lambda: range(3),
    "true": lambda: True,
    "NumPy's true": lambda: np.True_,
    "a complex number": lambda: 1j,
    "a decimal": lambda: Decimal("1.5"),
    "a decimal NaN": lambda: Decimal("sNaN"),
    "a fraction": lambda: Fraction(1, 3),
    "a date": lambda: date(2020, 2, 29),
    "NumPy's date": lambda: np.datetime64("2020-02-29"),
    "a series": lambda: pd.Series(["a", None]),
    "an index": lambda: pd.Index(["sex"]),
    "an empty frame": pd.DataFrame,
    "a frame": lambda: pd.DataFrame({"a": [1, 2]}),
    "a frame with a column twice": lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "a polars frame": lambda: pl.DataFrame({"a": [1]}),
    "NumPy's whole number": lambda: np.int64(3),
    "NumPy's real number": lambda: np.float32(0.5),
    "NumPy's text": lambda: np.str_("sex"),
    "a list that holds itself": recursive,
    "a table that holds itself": recursive_table,
    "a list in a list in a list": lambda: nested(3000),
    "a path": lambda: Path("no/such/folder/file"),
    "a folder": lambda: Path("/"),
    "a module": lambda: types,
    "a sulky value": Sulky,
    "a list of sulky values": lambda: [Sulky()],
}


@dataclass(frozen=True, eq=False)
class World:
    """A small table, its problem, and what comes of them; ``folder`` is where files go."""

    folder: Path

    @cached_property
    def frame(self):
        rng = np.random.default_rng(0)
        sex = np.repeat(["f", "m"], 60)
        age = rng.choice(["old", "young"], 120)
        hired = (rng.random(120) < np.where(sex == "f", 0.3, 0.6)).astype(int)
        years = rng.integers(20, 60, 120)
        return pd.DataFrame({"sex": sex, "age": age, "years": years, "hired": hired, "id": range(120), "w": 1.0})

    @cached_property
    def problem(self):
        return eh.Problem(
            protected=["sex"],
            features=["age"],
            outcome="hired",
            parity=[eh.PairwiseParity(0.2)],
            distortion=eh.Distortion({"age": eh.Nominal(1), "hired": eh.Ordinal(1)}),
            budget=eh.ExpectedDistortion(0.8),
        )

    @cached_property
    def given(self):
        """The arguments of the problem."""
        return {name: getattr(self.problem, name) for name in inspect.signature(eh.Problem).parameters}

    @cached_property
    def counts(self):
        return eh.count(self.problem, self.frame)

    @cached_property
    def mapping(self):
        return eh.fit(self.problem, self.counts)

    @cached_property
    def history(self):
        path = self.folder / "history.jsonl"
        self.mapping.monitor(self.frame, history=path)
        return self.mapping.history(path)

    @cached_property
    def file(self):
        path = self.folder / "people.csv"
        self.frame.to_csv(path, index=False)
        return path

    @cached_property
    def report(self):
        return eh.report_on(self.mapping, trace=False)

    @cached_property
    def mapping_file(self):
        path = self.folder / "mapping.eh"
        self.mapping.save(path)
        return path

    @cached_property
    def sign_off(self):
        return eh.SignOff("A", date(2026, 1, 2), "p", "w")

    @cached_property
    def done(self):
        changes = self.folder / "changes.csv"
        return self.mapping.release(self.file, to=self.folder / "drawn.csv", seed=1, changes=changes)

    @cached_property
    def manifest(self):
        return eh.manifest_of(self.mapping, self.done, self.mapping_file)

    @cached_property
    def proof_file(self):
        path = self.folder / "mapping.proof"
        self.mapping.proof(path)
        return path

    @cached_property
    def features(self):
        return self.frame[["sex", "age"]]

    @cached_property
    def fitted(self):
        return eh.OptimizedPreprocessor(self.problem).fit(self.features, self.frame["hired"])

    @cached_property
    def model(self):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OrdinalEncoder

        return make_pipeline(OrdinalEncoder(), CategoricalNB())

    @cached_property
    def classifier(self):
        before = eh.OptimizedPreprocessor(self.problem)
        return eh.PreprocessedClassifier(self.model, before).fit(self.features, self.frame["hired"])

    @cached_property
    def trained(self):
        """A model that does not read the group."""
        return clone(self.model).fit(self.frame[["age"]], self.frame["hired"])

    @cached_property
    def shielded(self):
        return eh.ShieldedClassifier(self.trained, self.problem).fit(self.features, self.frame["hired"])


Call = tuple[Callable[..., object], Mapping[str, object]]


def square(p, r):
    return (r - p) ** 2


def slope(p, r):
    return 2 * (r - p)


def bend(p, r):
    return np.full_like(p, 2.0)


NOWHERE = {"to": None, "changes": None, "frequencies": None}
PLAIN = {"mark": None, "formulas": "keep", "manifest": None}
DRAWN = {"draws": None, "seed": 0, "unseen": "keep", "missing": "level", "restore": "sample"}
TOLD = {"progress": lambda stage, share: None}

VALID: dict[str, Callable[[World], Call]] = {
    # The statement.
    "Bregman": lambda w: (
        eh.Bregman,
        {
            "generator": lambda t: t**2,
            "derivative": lambda t: 2 * t,
            "second_derivative": lambda t: np.full_like(t, 2.0),
            "name": "squares",
        },
    ),
    "By": lambda w: (eh.By, {"default": 0.2, "cases": [({"sex": "f"}, 0.3)]}),
    "By.map": lambda w: (eh.By(0.2).map, {"change": lambda value: value}),
    "ChosenBins": lambda w: (eh.ChosenBins, {"most": 3}),
    "Comparison.sentences": lambda w: (eh.compare(w.mapping, w.mapping).sentences, {}),
    "Comparison.to_json": lambda w: (eh.compare(w.mapping, w.mapping).to_json, {}),
    "Comparison.to_markdown": lambda w: (eh.compare(w.mapping, w.mapping).to_markdown, {}),
    "Comparison.save": lambda w: (eh.compare(w.mapping, w.mapping).save, {"path": w.folder / "both.html"}),
    "Conditional": lambda w: (
        eh.Conditional,
        {"rows": {("old",): {0: 0.5, 1: 0.5}, ("young",): {0: 0.4, 1: 0.6}}},
    ),
    "CsvFormat": lambda w: (eh.CsvFormat, {"delimiter": ";", "names": ["sex", "age", "hired"]}),
    "Difference": lambda w: (eh.Difference, {}),
    "Distortion": lambda w: (
        eh.Distortion,
        {"rules": {"age": eh.Fixed(), "hired": eh.Free()}, "combine": "max", "function": None},
    ),
    "Edges": lambda w: (eh.Edges, {"edges": [30, 50], "labels": ["low", "middle", "high"]}),
    "ExcessDistortion": lambda w: (eh.ExcessDistortion, {"thresholds": {0.9: 0.8}, "per": "individual"}),
    "ExpectedDistortion": lambda w: (eh.ExpectedDistortion, {"limit": 0.8, "per": "individual"}),
    "Fixed": lambda w: (eh.Fixed, {}),
    "Forbidden": lambda w: (eh.Forbidden, {"when": {"age": "young"}, "then": {"hired": 1}}),
    "FourFifths": lambda w: (eh.FourFifths, {"favourable": 1}),
    "Free": lambda w: (eh.Free, {}),
    "Hellinger": lambda w: (eh.Hellinger, {}),
    "JensenShannon": lambda w: (eh.JensenShannon, {}),
    "KL": lambda w: (eh.KL, {}),
    "L1": lambda w: (eh.L1, {}),
    "Leaves": lambda w: (eh.Leaves, {"most": 4, "at_least": 2, "sample": 1000}),
    "LogRatio": lambda w: (eh.LogRatio, {}),
    "MaxRelativeChange": lambda w: (eh.MaxRelativeChange, {}),
    "MergedLevels": lambda w: (eh.MergedLevels, {"into": {"all": ["old", "young"]}, "rest": None, "ordered": False}),
    "NeymanChi2": lambda w: (eh.NeymanChi2, {}),
    "Nominal": lambda w: (eh.Nominal, {"cost": {("old", "young"): 1, ("young", "old"): 1}}),
    "Ordinal": lambda w: (
        eh.Ordinal,
        {"step": 1, "max_steps": 1, "up": True, "down": True, "up_step": 1.0, "levels": ["young", "old"], "power": 1},
    ),
    "PairwiseParity": lambda w: (
        eh.PairwiseParity,
        {
            "bound": 0.4,
            "distance": eh.Ratio(),
            "on": ["sex"],
            "given": ["age"],
            "against": {"sex": "f"},
            "min_segment": 0.0,
            "levels": "each",
            "given_outcome": False,
        },
    ),
    "FeatureParity": lambda w: (
        eh.FeatureParity,
        {"bound": 0.4, "features": ["age"], "on": ["sex"], "against": {"sex": "f"}},
    ),
    "PearsonChi2": lambda w: (eh.PearsonChi2, {}),
    "PooledLevels": lambda w: (eh.PooledLevels, {"fewer_than": 2, "into": "other"}),
    "PooledLevels:keep": lambda w: (eh.PooledLevels, {"keep": ["old"], "into": "other"}),
    "Problem": lambda w: (eh.Problem, w.given),
    "Problem.from_toml": lambda w: (eh.Problem.from_toml, {"source": w.problem.to_toml()}),
    "Problem.schema": lambda w: (eh.Problem.schema, {}),
    "Problem.to_toml": lambda w: (w.problem.to_toml, {}),
    "Problem.with_bounds": lambda w: (w.problem.with_bounds, {"change": lambda bound: 0.3}),
    "Problem.with_limits": lambda w: (w.problem.with_limits, {"change": lambda limit: 0.7}),
    "Quantiles": lambda w: (eh.Quantiles, {"number": 3}),
    "ScoreLevels": lambda w: (eh.ScoreLevels, {"number": 4, "at_least": 2, "sample": 1000}),
    "Quasiconvex": lambda w: (
        eh.Quasiconvex,
        {
            "value": lambda p, r: float(np.max(r - p)),
            "sublevel": lambda p, level: (np.eye(len(p)), p + level),
            "name": "gain",
            "highest": 1.0,
            "new_cells": True,
        },
    ),
    "Ratio": lambda w: (eh.Ratio, {}),
    "ReverseKL": lambda w: (eh.ReverseKL, {}),
    "Separable": lambda w: (
        eh.Separable,
        {"value": square, "gradient": slope, "curvature": bend, "name": "squares", "new_cells": True},
    ),
    "SquaredL2": lambda w: (eh.SquaredL2, {}),
    "TargetParity": lambda w: (
        eh.TargetParity,
        {
            "bound": 0.5,
            "target": {0: 0.6, 1: 0.4},
            "distance": eh.Difference(),
            "on": ["sex"],
            "given": ["age"],
            "released": False,
            "min_segment": 0.0,
            "levels": "each",
        },
    ),
    "TotalVariation": lambda w: (eh.TotalVariation, {}),
    "UserDistance": lambda w: (eh.UserDistance, {"function": lambda p, q: np.abs(p - q), "name": "difference"}),
    # Fitting.
    "propose": lambda w: (
        eh.propose,
        {
            "table": w.frame,
            "protected": ["sex"],
            "outcome": "hired",
            "features": ["age"],
            "cells": "levels",
            "favourable": 1,
            "sees_protected": True,
            "weights": "w",
            "frequencies": None,
            "missing_values": ["?"],
            "csv": None,
            **TOLD,
        },
    ),
    "compare": lambda w: (
        eh.compare,
        {
            "a": w.mapping,
            "b": w.mapping,
            "table": w.frame,
            "weights": "w",
            "frequencies": None,
            "missing": "level",
            "names": ["old", "new"],
            "hide_below": 0,
        },
    ),
    "count": lambda w: (eh.count, {"problem": w.problem, "frame": w.frame, "weights": "w", "frequencies": None}),
    "Counts": lambda w: (
        eh.Counts,
        {name: getattr(w.counts, name) for name in inspect.signature(eh.Counts).parameters},
    ),
    "Counts.of": lambda w: (
        eh.Counts.of,
        {
            **{name: getattr(w.counts, name) for name in ("domain", "d", "x", "y", "weight")},
            "people": w.counts.cell_people,
            "squares": w.counts.cell_squares,
        },
    ),
    "bundle": lambda w: (
        eh.bundle,
        {
            "mapping": w.mapping,
            "path": w.folder / "bundle",
            "frame": w.frame,
            "weights": "w",
            "frequencies": None,
            "manifest": None,
            "sign_off": None,
            "selected": 1,
            "hide_below": 0,
            "show_all_groups": False,
            "trace": False,
            "seed": 0,
            "source": w.mapping_file,
            "command": "make a bundle",
            "force": True,
            **TOLD,
        },
    ),
    "fit": lambda w: (
        eh.fit,
        {"problem": w.problem, "frame": w.frame, "weights": "w", "frequencies": None, "time_limit": 60, **TOLD},
    ),
    "fit:file": lambda w: (
        eh.fit,
        {"problem": w.problem, "frame": w.file, "weights": "w", "frequencies": None, **TOLD},
    ),
    "diagnose": lambda w: (
        eh.diagnose,
        {"problem": w.problem, "frame": w.frame, "weights": "w", "frequencies": None, "time_limit": 60, **TOLD},
    ),
    "Diagnosis.proof": lambda w: (eh.diagnose(w.problem, w.counts).proof, {"path": w.folder / "why.proof"}),
    "frontier": lambda w: (
        eh.frontier,
        {
            "problem": w.problem,
            "frame": w.frame,
            "bounds": [0.3],
            "budgets": [0.8],
            "weights": "w",
            "frequencies": None,
            "time_limit": 60,
            "people": True,
            **TOLD,
        },
    ),
    "frontier:estimator": lambda w: (
        eh.frontier,
        {
            "problem": w.problem,
            "frame": w.frame[["sex", "age", "hired"]],
            "bounds": [0.3],
            "estimator": w.model,
            "folds": 2,
            "threshold": 0.5,
            **TOLD,
        },
    ),
    "Frontier.chart": lambda w: (
        eh.frontier(w.problem, w.counts, [0.3, 0.4]).chart,
        {"title": "title", "chosen": (0.3, 0.0)},
    ),
    "identity_from": lambda w: (
        eh.identity_from,
        {"problem": w.problem, "frame": w.frame, "weights": "w", "frequencies": None},
    ),
    "smallest_budget_factor": lambda w: (
        eh.smallest_budget_factor,
        {"problem": w.problem, "frame": w.frame, "weights": "w", "frequencies": None},
    ),
    "smallest_parity_bound": lambda w: (
        eh.smallest_parity_bound,
        {"problem": w.problem, "frame": w.frame, "weights": "w", "frequencies": None, "lossless": False},
    ),
    # Manifests.
    "SignOff": lambda w: (
        eh.SignOff,
        {"name": "A", "date": date(2026, 1, 2), "purpose": "p", "why": "w", "expires": date(2999, 1, 1)},
    ),
    "SignOff.lapsed": lambda w: (w.sign_off.lapsed, {"on": date(2026, 1, 2)}),
    "SignOff.as_dict": lambda w: (w.sign_off.as_dict, {}),
    "SignOff.to_toml": lambda w: (w.sign_off.to_toml, {}),
    "SignOff.from_dict": lambda w: (eh.SignOff.from_dict, {"given": w.sign_off.as_dict()}),
    "SignOff.from_toml": lambda w: (eh.SignOff.from_toml, {"text": w.sign_off.to_toml()}),
    "manifest_of": lambda w: (
        eh.manifest_of,
        {
            "mapping": w.mapping,
            "done": w.done,
            "source": w.mapping_file,
            "weights": "w",
            "keep_seed": False,
            "sign_off": w.sign_off,
            **TOLD,
        },
    ),
    "verify_manifest": lambda w: (
        eh.verify_manifest,
        {
            "path": w.manifest.save(),
            "input": w.file,
            "mapping": w.mapping_file,
            "output": w.folder / "drawn.csv",
            "changes": w.folder / "changes.csv",
            "again": True,
            **TOLD,
        },
    ),
    "Manifest.as_dict": lambda w: (w.manifest.as_dict, {}),
    "Manifest.sentences": lambda w: (w.manifest.sentences, {}),
    "Manifest.to_markdown": lambda w: (w.manifest.to_markdown, {}),
    "Manifest.to_json": lambda w: (w.manifest.to_json, {}),
    "Manifest.from_json": lambda w: (
        eh.Manifest.from_json,
        {"text": w.manifest.to_json(), "folder": w.manifest.folder},
    ),
    "Manifest.load": lambda w: (eh.Manifest.load, {"path": w.manifest.save()}),
    "Manifest.save": lambda w: (w.manifest.save, {"path": w.folder / "other.manifest.json"}),
    "Manifest.seen_from": lambda w: (w.manifest.seen_from, {"folder": str(w.folder)}),
    "using": lambda w: (eh.using, {"memory": "1GB", "threads": 1, "spill": w.folder, "unpacked": "1GB"}),
    "Certificate.as_dict": lambda w: (w.mapping.certificate.as_dict, {}),
    "Counts.over": lambda w: (w.counts.over, {"axes": "dx"}),
    "Counts.given": lambda w: (w.counts.given, {"axes": "d"}),
    "Counts.share_of_new_cells": lambda w: (w.counts.share_of_new_cells, {"axes": "xy"}),
    # The mapping.
    "Draws": lambda w: (
        eh.Draws,
        {"seed": 0, "key": "id", "draw": "independent", "unseen": "keep", "missing": "level", "restore": "sample"},
    ),
    "Mapping.release": lambda w: (
        w.mapping.release,
        {"frame": w.frame, "key": "id", "draw": "independent", **NOWHERE, **PLAIN, **DRAWN, **TOLD},
    ),
    "Mapping.release:file": lambda w: (
        w.mapping.release,
        {
            "frame": w.file,
            "key": "id",
            "draw": "independent",
            "to": w.folder / "released.csv",
            "changes": w.folder / "listed.csv",
            "mark": "altered",
            "formulas": "escape",
            "manifest": "released.csv.manifest.json",
            **DRAWN,
            **TOLD,
        },
    ),
    "Mapping.cell_of": lambda w: (w.mapping.cell_of, {"frame": w.frame, "missing": "level"}),
    "Mapping.apply": lambda w: (
        w.mapping.apply,
        {"frame": w.frame, "key": "id", "draw": "independent", **NOWHERE, **PLAIN, **DRAWN, **TOLD},
    ),
    "Mapping.apply:balanced": lambda w: (w.mapping.apply, {"frame": w.frame, "draw": "balanced", **DRAWN}),
    "Mapping.person": lambda w: (
        w.mapping.person,
        {"row": w.frame.iloc[0].to_dict(), "mode": "release", "key": "id", **DRAWN},
    ),
    "Mapping.person:values": lambda w: (
        lambda **row: w.mapping.person(row, mode="release", key="id"),
        w.frame.iloc[0].to_dict(),
    ),
    "explain": lambda w: (
        eh.explain,
        {
            "mapping": w.mapping,
            "row": w.frame.iloc[0].to_dict(),
            "beside": w.frame.iloc[100].to_dict(),
            "mode": "release",
            "unseen": "keep",
            "missing": "level",
        },
    ),
    "Mapping.explain": lambda w: (w.mapping.explain, {"row": w.frame.iloc[0].to_dict(), "mode": "release"}),
    "Mapping.explain:values": lambda w: (lambda **row: str(w.mapping.explain(row)), w.frame.iloc[0].to_dict()),
    "Mapping.mode": lambda w: (w.mapping.mode, {"mode": "apply", "unseen": "keep", "missing": "level"}),
    "Audit.sentences": lambda w: (w.mapping.audit().sentences, {}),
    "Audit.to_json": lambda w: (w.mapping.audit().to_json, {}),
    "Audit.to_markdown": lambda w: (w.mapping.audit().to_markdown, {}),
    "Mapping.sentences": lambda w: (w.mapping.sentences, {}),
    "Mapping.to_json": lambda w: (w.mapping.to_json, {}),
    "Mapping.to_markdown": lambda w: (w.mapping.to_markdown, {}),
    "Certificate.sentences": lambda w: (w.mapping.certificate.sentences, {}),
    "Certificate.to_json": lambda w: (w.mapping.certificate.to_json, {}),
    "Certificate.to_markdown": lambda w: (w.mapping.certificate.to_markdown, {}),
    "Problem.sentences": lambda w: (w.mapping.problem.sentences, {}),
    "Problem.to_json": lambda w: (w.mapping.problem.to_json, {}),
    "Problem.to_markdown": lambda w: (w.mapping.problem.to_markdown, {}),
    "Diagnosis.sentences": lambda w: (eh.diagnose(w.problem, w.counts).sentences, {}),
    "Diagnosis.to_json": lambda w: (eh.diagnose(w.problem, w.counts).to_json, {}),
    "Diagnosis.to_markdown": lambda w: (eh.diagnose(w.problem, w.counts).to_markdown, {}),
    "Frontier.sentences": lambda w: (eh.frontier(w.problem, w.counts, [0.3]).sentences, {}),
    "Frontier.to_json": lambda w: (eh.frontier(w.problem, w.counts, [0.3]).to_json, {}),
    "Frontier.to_markdown": lambda w: (eh.frontier(w.problem, w.counts, [0.3]).to_markdown, {}),
    "audit": lambda w: (
        eh.audit,
        {
            "mapping": w.mapping,
            "table": w.frame,
            "weights": "w",
            "frequencies": None,
            "missing": "error",
            "unseen": "keep",
            **TOLD,
        },
    ),
    "Mapping.audit": lambda w: (w.mapping.audit, {"table": w.frame, "weights": "w", "missing": "error"}),
    "Mapping.audit:file": lambda w: (
        w.mapping.audit,
        {"table": w.file, "weights": "w", "frequencies": None, "missing": "level", **TOLD},
    ),
    "monitor": lambda w: (
        eh.monitor,
        {
            "mapping": w.mapping,
            "table": w.frame,
            "weights": "w",
            "frequencies": None,
            "confidence": 0.9,
            "history": w.folder / "log.jsonl",
            "name": "a batch",
            "seed": 0,
            "unseen": "keep",
            "missing": "error",
            **TOLD,
        },
    ),
    "Mapping.monitor": lambda w: (w.mapping.monitor, {"table": w.frame, "confidence": 0.9}),
    "Mapping.monitor:file": lambda w: (
        w.mapping.monitor,
        {"table": w.file, "weights": "w", "frequencies": None, "missing": "level", **TOLD},
    ),
    "Mapping.history": lambda w: (w.mapping.history, {"path": w.folder / "other.jsonl"}),
    "History.chart": lambda w: (w.history.chart, {}),
    "History.sentences": lambda w: (w.history.sentences, {}),
    "History.to_json": lambda w: (w.history.to_json, {}),
    "History.to_markdown": lambda w: (w.history.to_markdown, {}),
    "Mapping.realised": lambda w: (
        w.mapping.realised,
        {"table": w.frame, "original": w.frame, "weights": "w", "frequencies": None, "missing": "error", **TOLD},
    ),
    "Mapping.prices": lambda w: (w.mapping.prices, {}),
    "Mapping.proof": lambda w: (w.mapping.proof, {"path": w.folder / "other.proof"}),
    "Mapping.save": lambda w: (w.mapping.save, {"path": w.folder / "other.eh"}),
    "Mapping.load": lambda w: (eh.Mapping.load, {"path": w.mapping_file}),
    "Mapping.table": lambda w: (w.mapping.table, {"mode": "apply"}),
    "Mapping.model_rates": lambda w: (
        w.mapping.model_rates,
        {
            "frame": w.frame,
            "model": w.model,
            "released": w.frame,
            "weights": "w",
            "frequencies": None,
            "missing": "error",
            "protected": True,
        },
    ),
    "Mapping.to_sql": lambda w: (
        w.mapping.to_sql,
        {
            "dialect": "duckdb",
            "table": "people",
            "key": "id",
            "mode": "apply",
            "draw": "independent",
            "columns": ["id", "sex", "age"],
            **DRAWN,
        },
    ),
    "Mapping.possibilities": lambda w: (
        w.mapping.possibilities,
        {
            "frame": w.frame,
            "draws": None,
            "mode": "apply",
            "restore": "midpoint",
            "row_column": "row",
            "weight_column": "weight",
            "unseen": "keep",
            "missing": "level",
        },
    ),
    "Mapping.expand": lambda w: (
        w.mapping.expand,
        {
            "frame": w.frame,
            "weights": "w",
            "draws": None,
            "frequencies": None,
            "weight_column": "weight",
            "unseen": "keep",
            "missing": "level",
            "restore": "midpoint",
            "to": None,
            **PLAIN,
            **TOLD,
        },
    ),
    "Mapping.expand:file": lambda w: (
        w.mapping.expand,
        {
            "frame": w.file,
            "weights": "w",
            "draws": None,
            "frequencies": None,
            "weight_column": "weight",
            "unseen": "keep",
            "missing": "level",
            "restore": "midpoint",
            "to": w.folder / "expanded.csv",
            "mark": "altered",
            "formulas": "escape",
            "manifest": "expanded.csv.manifest.json",
            **TOLD,
        },
    ),
    "Mapping.chart": lambda w: (
        w.mapping.chart,
        {"kind": "rates", "confidence": 0.9, "hide_below": 0, "most_groups": 5, "title": "title"},
    ),
    "Mapping.chart:heat": lambda w: (
        w.mapping.chart,
        {"kind": "heat", "where": [{"sex": "f"}], "least": 0.01, "hide_below": 0, "title": "title"},
    ),
    "Mapping.chart:cohorts": lambda w: (
        w.mapping.chart,
        {
            "kind": "cohorts",
            "groups": [{"sex": "f"}],
            "by": ["age"],
            "outcome": 1,
            "show": "both",
            "features": "released",
            "hide_below": 0,
            "title": "title",
        },
    ),
    "Mapping.chart:changes": lambda w: (
        w.mapping.chart,
        {"kind": "changes", "most": 5, "most_groups": 5, "hide_below": 0, "title": "title"},
    ),
    "Predictor.predict": lambda w: (
        w.mapping.predictor.predict,
        {"frame": w.frame, "unseen": "keep", "missing": "level"},
    ),
    "Predictor.predict_proba": lambda w: (
        w.mapping.predictor.predict_proba,
        {"frame": w.frame, "unseen": "keep", "missing": "level"},
    ),
    "Theory.advantage": lambda w: (w.mapping.theory.advantage, {}),
    "Theory.applying": lambda w: (w.mapping.theory.applying, {}),
    "Theory.sentences": lambda w: (w.mapping.theory.sentences, {}),
    "Theory.to_json": lambda w: (w.mapping.theory.to_json, {}),
    "Theory.to_markdown": lambda w: (w.mapping.theory.to_markdown, {}),
    "Theory.bootstrap": lambda w: (
        w.mapping.theory.bootstrap,
        {"confidence": 0.9, "resamples": 20, "seed": 0, "people": 100},
    ),
    "Theory.draw_spread": lambda w: (w.mapping.theory.draw_spread, {"releases": 20, "seed": 0, "people": 100}),
    "Theory.one_draw": lambda w: (w.mapping.theory.one_draw, {}),
    "Theory.straying": lambda w: (w.mapping.theory.straying, {"number": 20, "seed": 0}),
    "Theory.holdout": lambda w: (
        w.mapping.theory.holdout,
        {"rows": w.frame, "confidence": 0.9, "seed": 0, "unseen": "keep", "missing": "level"},
    ),
    "Theory.robustness": lambda w: (
        w.mapping.theory.robustness,
        {"confidence": 0.9, "margin": 0.05, "loss_margin": 0.1, "people": 100},
    ),
    "Theory.small_groups": lambda w: (w.mapping.theory.small_groups, {"width": 0.1, "confidence": 0.9}),
    "Picture.save": lambda w: (w.mapping.chart("rates").save, {"path": w.folder / "chart.svg"}),
    "Picture.to_svg": lambda w: (w.mapping.chart("rates").to_svg, {"width": 500}),
    # The report.
    "report_on": lambda w: (
        eh.report_on,
        {
            "mapping": w.mapping,
            "frame": w.frame,
            "weights": "w",
            "frequencies": None,
            "model": None,
            "sees_protected": True,
            "hide_below": 0,
            "trace": False,
            "points": 2,
            "confidence": 0.9,
            "seed": 0,
            "missing": "level",
            "manifest": None,
            "sign_off": w.sign_off,
            "source": w.mapping_file,
            "command": "make report",
            **TOLD,
        },
    ),
    "Report.save": lambda w: (w.report.save, {"path": w.folder / "report.html"}),
    "Report.sentences": lambda w: (w.report.sentences, {}),
    "Report.to_json": lambda w: (w.report.to_json, {}),
    "Report.to_markdown": lambda w: (w.report.to_markdown, {}),
    # scikit-learn. What a constructor is given is checked by fit, as everywhere there.
    "OptimizedPreprocessor": lambda w: (
        eh.OptimizedPreprocessor,
        {
            "problem": w.problem,
            "bound": 0.3,
            "budget": 0.7,
            "seed": 0,
            "key": "age",
            "unseen": "keep",
            "missing": "level",
        },
    ),
    "OptimizedPreprocessor.fit": lambda w: (
        eh.OptimizedPreprocessor(w.problem).fit,
        {"X": w.features, "y": w.frame["hired"], "sample_weight": np.ones(120)},
    ),
    "OptimizedPreprocessor.fit_resample": lambda w: (
        eh.OptimizedPreprocessor(w.problem).fit_resample,
        {"X": w.features, "y": w.frame["hired"], "sample_weight": np.ones(120)},
    ),
    "OptimizedPreprocessor.transform": lambda w: (w.fitted.transform, {"X": w.features}),
    "PreprocessedClassifier": lambda w: (
        eh.PreprocessedClassifier,
        {
            "estimator": w.model,
            "preprocessor": eh.OptimizedPreprocessor(w.problem),
            "protected": None,
            "bound": None,
            "decisions": None,
            "threshold": None,
            "favourable": None,
            "confidence": None,
            "calibrate": True,
            "train_on": "expected",
            "predict_with": "expected",
            "drop_protected": False,
        },
    ),
    "PreprocessedClassifier:protected": lambda w: (
        eh.PreprocessedClassifier,
        {
            "estimator": w.model,
            "protected": ["sex"],
            "bound": 0.9,
            "confidence": 0.6,
            "calibrate": True,
            "train_on": "expected",
            "drop_protected": False,
        },
    ),
    "PreprocessedClassifier:decisions": lambda w: (
        eh.PreprocessedClassifier,
        {"estimator": w.model, "protected": ["sex"], "decisions": 0.6, "threshold": 0.5},
    ),
    "PreprocessedClassifier.fit": lambda w: (
        eh.PreprocessedClassifier(w.model, eh.OptimizedPreprocessor(w.problem)).fit,
        {"X": w.features, "y": w.frame["hired"], "sample_weight": np.ones(120)},
    ),
    "PreprocessedClassifier.predict": lambda w: (w.classifier.predict, {"X": w.features}),
    "PreprocessedClassifier.predict_proba": lambda w: (w.classifier.predict_proba, {"X": w.features}),
    "out_of_fold": lambda w: (
        eh.out_of_fold,
        {
            "estimator": w.model,
            "frame": w.frame,
            "problem": w.problem,
            "folds": 3,
            "sees_protected": True,
            "weights": None,
        },
    ),
    "ShieldedClassifier": lambda w: (
        eh.ShieldedClassifier,
        {
            "model": w.trained,
            "problem": w.problem,
            "bound": 0.3,
            "budget": 0.8,
            "seed": 0,
            "key": None,
            "unseen": "keep",
            "missing": "level",
            "predict_with": "expected",
        },
    ),
    "ShieldedClassifier.fit": lambda w: (
        eh.ShieldedClassifier(w.trained, w.problem).fit,
        {"X": w.features, "y": w.frame["hired"], "sample_weight": None},
    ),
    "ShieldedClassifier.predict": lambda w: (w.shielded.predict, {"X": w.features}),
    "ShieldedClassifier.predict_proba": lambda w: (w.shielded.predict_proba, {"X": w.features}),
    # The other public modules.
    "datasets.load": lambda w: (eh.datasets.load, {"name": "compas"}),
    "datasets.loans": lambda w: (eh.datasets.loans, {"people": 10, "seed": 0}),
    "verifier.verify": lambda w: (verifier.verify, {"path": w.proof_file}),
    "spark.is_spark": lambda w: (spark.is_spark, {"table": w.frame}),
    "spark.counts": lambda w: (
        spark.counts,
        {"problem": w.problem, "frame": w.frame, "weights": "w", "frequencies": None},
    ),
    "spark.release": lambda w: (spark.release, {"mapping": w.mapping, "frame": w.frame, "key": "id", **DRAWN}),
    "spark.apply": lambda w: (spark.apply, {"mapping": w.mapping, "frame": w.frame, "key": "id", **DRAWN}),
}

NEEDS_SPARK = {"spark.counts"}
"""Their call works with a Spark dataframe alone; what is wrong is refused without one."""

MADE = {
    eh.Audit,
    eh.Certificate,
    eh.Comparison,
    eh.Diagnosis,
    eh.Bundle,
    eh.Frontier,
    eh.Manifest,
    eh.Mapping,
    eh.Report,
}
"""Results: evenhand makes them, and their constructors are not for calling."""

SAID = (spec.Utility, spec.Distance, spec.Rule, spec.Binning, spec.Parity, eh.Distortion, eh.Conditional, eh.By)
SAID += (eh.ExpectedDistortion, eh.ExcessDistortion, eh.Forbidden, spec.Learned)
"""Statements: their methods are asked by the rooms that compile, solve and audit, with arrays of their own."""

SCIKIT_LEARN = {"get_metadata_routing", "get_params", "set_params", "set_output", "fit_transform", "score"}
SCIKIT_LEARN |= {"get_feature_names_out", "set_fit_request", "set_score_request"}
"""Methods that scikit-learn itself gives to estimators."""


def methods(kind: type) -> Iterator[str]:
    """Name the public methods of a class."""
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        callable_ = isinstance(found, classmethod | staticmethod) or inspect.isfunction(found) or hasattr(found, "fn")
        if not name.startswith("_") and callable_ and name not in SCIKIT_LEARN:
            yield name


def public() -> Iterator[str]:
    """Name everything public that can be called."""
    for name in eh.__all__:
        found = getattr(eh, name)
        if inspect.isclass(found) and issubclass(found, BaseException):
            continue
        if callable(found) and found not in MADE:
            yield name
        if inspect.isclass(found) and not issubclass(found, SAID):
            yield from (f"{name}.{method}" for method in methods(found))
    yield "By.map"
    for kind in (Theory, Predictor, Picture, History):
        yield from (f"{kind.__name__}.{method}" for method in methods(kind))
    yield from (
        "datasets.load",
        "datasets.loans",
        "verifier.verify",
        "spark.is_spark",
        "spark.counts",
        "spark.release",
        "spark.apply",
    )


def test_every_public_callable_is_called_here():
    assert {name.partition(":")[0] for name in VALID} == set(public())


@pytest.mark.slow
def test_every_parameter_is_given_here(world):
    given, taken = {}, {}
    for name, entry in VALID.items():
        call, arguments = entry(world)
        own = name.partition(":")[0]
        parameters = inspect.signature(call).parameters.values()
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        given.setdefault(own, set()).update(arguments)
        taken.setdefault(own, set()).update(each.name for each in parameters if each.kind not in kinds)
    left = {name: taken[name] - given[name] for name in taken if taken[name] - given[name]}
    assert not left


CALLED = {
    "frame": ("table", "frame"),
    "table": ("table", "frame"),
    "X": ("X", "array", "table"),
    "y": ("y:", "y has", "y is None", "y of", "x, y and", "outcome"),
    "outcome": ("outcome", "level"),
    "sample_weight": ("weight",),
    "key": ("key", "column"),
    "estimator": ("estimator",),
    "cases": ("cases", "case of By"),
    "text": ("TOML", "the problem", "manifest", "sign-off"),
    "path": ("path", "cannot write"),
    "change": ("change", "bound", "limit", "default"),
    "given": ("given of", "sign-off"),
    "beside": ("beside", "the row", "column"),
    "done": ("done",),
    "protected": ("protected", "column"),
    "features": ("features", "column"),
    "source": ("TOML", "the problem", "source"),
    "rows": ("table", "frame", "hold-out", "rows", "conditional"),
}
"""What errors call a parameter where they do not say its name."""

DRAWN_OUT = {
    "Picture.save": 1,
    "Frontier.chart": 1,
    "Mapping.chart": 1,
    "frontier:estimator": 5,
    "Mapping.chart:changes": 1,
    "Mapping.chart:cohorts": 7,
    "Mapping.chart:heat": 1,
    "report_on": 7,
    "bundle": 11,
}
"""Calls that take long, and how many of their hostile ones are made at all: one in so many."""

SOME = 29
"""One in so many of all calls is made in the quick tests; it has no factor in common with the number of values."""


class Hangs(BaseException):
    """A call that does not return."""


@contextlib.contextmanager
def limited(seconds: float):
    """Interrupt what takes too long."""

    def stop(*_):
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def names(message: str, parameter: str, value: object) -> bool:
    """Whether a message says which argument is wrong: by its name, or by the text that was given for it."""
    given = [repr(str(value)), repr(value)] if isinstance(value, str | Path) else []
    return any(word in message for word in (*CALLED.get(parameter, (parameter,)), *given))


def outcome(call: Callable[[], object], parameter: str | None = None, value: object = None) -> str | None:
    """Say what is wrong with how a call ends; None where nothing is."""
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except (InfeasibleError, SolverError):
        return None
    except EvenhandError as error:
        needs_spark = isinstance(error, eh.DataError) and "Spark dataframe as the table" in str(error)
        if parameter is not None and not needs_spark and not names(str(error), parameter, value):
            return f"does not name {parameter}: {str(error)[:200]}"
        return None if len(str(error)) < 3000 else f"says too much: {len(str(error))} characters"
    except Hangs:
        return "hangs"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in where if "evenhand" in frame.filename]
        at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
        return f"raises {type(error).__name__} at {at}: {repr(error)[:160]}"
    return None


def used(world: World, value: object) -> None:
    """Use what was accepted: fit with it, write it, compare it."""
    if isinstance(value, contextlib.AbstractContextManager):
        with value:
            return
    if isinstance(value, Iterator):
        list(value)
    estimators = eh.OptimizedPreprocessor | eh.PreprocessedClassifier | eh.ShieldedClassifier
    if isinstance(value, estimators):
        fitted = value.fit(world.features, world.frame["hired"])
        (fitted.transform if hasattr(fitted, "transform") else fitted.predict)(world.features)
        repr(fitted)
        return
    if isinstance(value, eh.SignOff):
        assert eh.SignOff.from_toml(value.to_toml().encode().decode()) == value
        return
    if is_dataclass(value) and type(value).__module__.startswith("evenhand.spec"):
        repr(value), hash(value)
        problem = stated(world, value)
        if not holds_functions(problem):
            # One budget may have been listed, and is then read as itself.
            problem = replace(problem, budget=problem.budgets)
            again = eh.Problem.from_toml(problem.to_toml().encode().decode())
            assert replace(again, budget=again.budgets) == problem
            assert pickle.loads(pickle.dumps(problem)) == problem
        mapping = eh.fit(problem, world.frame)
        mapping.release(world.frame)
        mapping.audit()


def holds_functions(problem: eh.Problem) -> bool:
    """Whether a problem holds code, which no file keeps."""
    parts = [problem.utility, *(parity.distance for parity in problem.parity)]
    return callable(problem.distortion.function) or any(part.holds_functions for part in parts)


def stated(world: World, value: object) -> eh.Problem:
    """Return a problem of which a value is part."""
    problem = world.problem
    if isinstance(value, eh.Problem):
        return value
    if isinstance(value, eh.By):
        return replace(problem, parity=[eh.PairwiseParity(value)])
    if isinstance(value, spec.Distance):
        return replace(problem, parity=[eh.PairwiseParity(0.3, distance=value)])
    if isinstance(value, spec.Parity):
        return replace(problem, parity=[value])
    if isinstance(value, spec.Budget):
        return replace(problem, budget=value)
    if isinstance(value, spec.Utility):
        return replace(problem, utility=value)
    if isinstance(value, spec.Rule):
        return replace(problem, distortion=eh.Distortion({"age": value, "hired": eh.Ordinal(1)}))
    if isinstance(value, spec.Distortion):
        return replace(problem, distortion=value)
    if isinstance(value, eh.Conditional):
        return replace(problem, suppress_protected="fixed", conditional=value)
    if isinstance(value, eh.CsvFormat):
        return replace(problem, csv=value)
    if isinstance(value, eh.Forbidden):
        return replace(problem, forbidden=[value])
    if isinstance(value, spec.Learned):
        return replace(problem, features=["years"], cells=value, distortion=eh.Distortion({"hired": eh.Ordinal(1)}))
    assert isinstance(value, spec.Binning)
    column = "years" if hasattr(value, "find") else "age"
    rules = {column: eh.Fixed(), "hired": eh.Ordinal(1)}
    return replace(problem, features=[column], bins={column: value}, distortion=eh.Distortion(rules))


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("misuse"))


@pytest.mark.filterwarnings("ignore:.* people are already")
@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in DRAWN_OUT)) for name in VALID])
def test_its_call_works(world, name):
    function, arguments = VALID[name](world)
    if name in NEEDS_SPARK:
        with pytest.raises(eh.DataError, match="Spark"):
            function(**arguments)
    else:
        used(world, function(**arguments))


def hostile(world: World, name: str, every: int = 1) -> Iterator[tuple[str, str, str | None]]:
    """Make hostile calls, every so many of them, and yield the parameter, the value, and what is wrong if anything."""
    function, arguments = VALID[name](world)
    # A word is a path, too: what is written there goes where nothing is.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for place, (parameter, title) in enumerate(product(arguments, HOSTILE)):
            if place % every == 0:
                value = HOSTILE[title]()
                call = partial(function, **{**arguments, parameter: value})
                yield parameter, title, judged(world, call, parameter, value)


def judged(world: World, call: Callable[[], object], parameter: str, value: object) -> str | None:
    """Say what is wrong with a call, or with using what it returns; None where nothing is."""
    kept: list[object] = []
    ends = outcome(lambda: kept.append(call()), parameter, value)
    if ends is None and kept:
        ends = outcome(lambda: used(world, kept[0]))
        return ends and f"later {ends}"
    return ends


@pytest.mark.slow
def test_some_hostile_values_are_refused_by_name(world):
    names = [name for name in VALID if name not in DRAWN_OUT]
    found = [(name, *call) for name in names for call in hostile(world, name, every=SOME)]
    assert len(found) > 500
    assert not [call for call in found if call[-1] is not None]


@pytest.mark.slow
@pytest.mark.parametrize("name", VALID)
def test_hostile_values_are_refused_by_name(world, name):
    found = list(hostile(world, name, every=DRAWN_OUT.get(name, 1)))
    assert not [call for call in found if call[-1] is not None]
