"""A measure, a distance and forms of parity that no module knows: one line each in the registry is all they need."""

import ast
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from formulations import table
from jsonschema import Draft202012Validator, ValidationError
from reports import document_of

import evenhand as eh
from evenhand import check, verifier
from evenhand.render.sentences import facts
from evenhand.spec import Budget, Rule, registry
from evenhand.spec.distance import Distance, Line
from evenhand.spec.parity import Parity
from evenhand.spec.utility import Smooth


@dataclass(frozen=True)
class Doubled(Smooth):
    """2 Σ (r − p)²."""

    words = "twice the squared ℓ2 distance"

    def value(self, p, r):
        return float(2 * np.sum((r - p) ** 2))

    def gradient(self, p, r):
        return 4 * (r - p)

    def curvature(self, p, r):
        return np.full_like(p, 4.0)

    def decides(self, p):
        return np.ones(len(p), dtype=bool)

    def clip(self, p, multipliers):
        return np.clip(multipliers, -1e100, 1e100)

    def infimum(self, p, multipliers):
        slope = np.maximum(multipliers, -4 * p)
        return -float(np.sum(slope * (p + slope / 8)))


@dataclass(frozen=True)
class Lopsided(Distance):
    """p − q where p is above q, and ``below`` times q − p where it is not."""

    below: float = 2.0
    word = "lopsided"

    def value(self, p, q):
        return np.maximum(np.asarray(p) - q, self.below * (np.asarray(q) - p))

    def lines(self, bound):
        return (
            Line.of(len(bound), (1.0, -1.0, bound), (0.0, 0.0, 1.0)),
            Line.of(len(bound), (-1.0, 1.0, bound / self.below), (0.0, 0.0, 1 / self.below)),
        )


@dataclass(frozen=True)
class ChainParity(Parity):
    """Every group is held against the next."""

    bound: float
    distance: Distance = field(default_factory=Lopsided)
    on: check.Columns | None = None
    given: check.Columns | None = None
    min_segment: float = 0.0

    def held(self, segment):
        return zip(segment.groups[:-1], segment.groups[1:], strict=True)

    @property
    def words(self):
        return f"for every group and the next{self.where}, {self.distance.apart(self.bound)}"


@dataclass(frozen=True)
class EvenParity(Parity):
    """Every group is held against equal shares of all outcomes."""

    bound: float
    distance: Distance = field(default_factory=Lopsided)
    on: check.Columns | None = None
    given: check.Columns | None = None
    min_segment: float = 0.0
    word = "even"
    against_target = True
    holds_everybody = True

    def held(self, segment):
        return ((own, None) for own in segment.groups)

    def targets(self, people, segment, outcome):
        return np.full(len(outcome), 1 / people.counts.domain.y.size)

    @property
    def words(self):
        return f"for every group{self.where}, {self.distance.near(self.bound, 'an equal share')}"


KINDS = (Doubled, Lopsided, ChainParity, EvenParity)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for kind in KINDS:
        monkeypatch.setattr(registry, kind.__name__, kind, raising=False)


def problem(*parity, utility=None):
    falls = eh.Ordinal(1, up=False)
    return eh.Problem(
        protected=["sex", "race"],
        features=["f0", "f1"],
        outcome="y",
        utility=utility or Doubled(),
        parity=parity,
        distortion=eh.Distortion({"f0": falls, "f1": falls, "y": falls}),
        budget=eh.ExpectedDistortion(0.8),
    )


FORMS = {
    "chain": (ChainParity(0.05), ChainParity(0.04, on=["race"], given=["f0"])),
    "even": (EvenParity(0.2),),
    "known forms": (eh.PairwiseParity(0.1, Lopsided(3.0)), eh.TargetParity(0.3, distance=Lopsided())),
}


def test_a_line_makes_a_class_public():
    for kind in KINDS:
        assert getattr(eh, kind.__name__) is kind
        assert kind.__name__ in eh.__all__
        assert kind.__name__ in dir(eh)


def test_the_schema_has_them(monkeypatch):
    stated = tomllib.loads(problem(EvenParity(0.2), eh.PairwiseParity(0.1, Lopsided(3.0))).to_toml())
    Draft202012Validator(eh.Problem.schema()).validate(stated)
    monkeypatch.delattr(registry, "Lopsided")
    with pytest.raises(ValidationError):
        Draft202012Validator(eh.Problem.schema()).validate(stated)


@pytest.mark.slow
@pytest.mark.parametrize("parity", FORMS.values(), ids=FORMS)
def test_from_the_statement_to_the_report(parity, tmp_path):
    asks = problem(*parity)
    frame = table(3)
    again = eh.Problem.from_toml(asks.to_toml())
    assert again == asks
    mapping = eh.fit(again, frame)
    assert mapping.certificate.status == "optimal"
    assert mapping.objective > 1e-6
    # The same by what evenhand knew before: half the measure.
    known = eh.fit(replace(asks, utility=eh.SquaredL2()), frame)
    assert mapping.objective == pytest.approx(2 * known.objective, abs=1e-6)

    mapping.save(tmp_path / "kept.eh")
    loaded = eh.Mapping.load(tmp_path / "kept.eh")
    assert loaded.problem == asks
    assert loaded.certificate == mapping.certificate

    audit = mapping.audit()
    assert np.all(audit.bounds["achieved"] <= audit.bounds["bound"] + 1e-9)
    names = {type(part).__name__ for part in parity}
    assert names <= set(audit.bounds["constraint"])
    assert max(mapping.prices().parity) > 0
    assert mapping.audit(frame) is not None

    words = [sentence for _, sentence in facts(asks.sections[0].facts)]
    assert "twice the squared ℓ2 distance from the original to the released" in words[-1]
    assert all("by Lopsided" in part.words and part.words in words for part in parity)
    stated = [row["words"] for row in document_of(mapping)["rates"]["constraints"]]
    assert stated == [part.words for part in parity]


def test_the_edges_and_the_frontier():
    asks = problem(ChainParity(0.05))
    diagnosis = eh.diagnose(asks, table(3))
    assert diagnosis.feasible
    points = eh.frontier(asks, table(3), bounds=[0.05, 0.2, 0.4]).frame
    assert (points["status"] == "optimal").all()
    assert points["objective"].is_monotonic_decreasing
    assert eh.identity_from(asks, table(3)) > 0.05


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("parity", FORMS.values(), ids=FORMS)
def test_the_verifier_takes_the_lines_of_a_distance_it_does_not_know(parity, tmp_path):
    eh.fit(problem(*parity, utility=eh.KL()), table(3)).proof(tmp_path / "proof")
    result = subprocess.run(
        [sys.executable, "-I", "-S", verifier.__file__, str(tmp_path / "proof")],
        capture_output=True, text=True, check=False, env={"PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert "EVERYTHING STANDS" in result.stdout


def test_a_misspelt_word_is_told_the_new_ones():
    with pytest.raises(eh.SpecError, match=r"one of \['KL', .*'Doubled'.*\], not 'Doubld'. Did you mean 'Doubled'"):
        eh.Problem.from_toml(problem(EvenParity(0.2)).to_toml().replace('"Doubled"', '"Doubld"'))
    with pytest.raises(eh.SpecError, match=r"one of \['pairwise', .*'even'.*\]"):
        eh.Problem.from_toml(problem(EvenParity(0.2)).to_toml().replace('"even"', '"evn"'))


# The theory of section 3.5 is about the ratio itself; and a user's sublevel sets have a solver of their own.
MEANT = {
    # The paper's section 3.5 is about the ratio of eq. (3).
    ("findings/theory/mapped.py", "Ratio"),
    # Mean scores are compared as that ratio, too.
    ("use/estimator/shielded.py", "Ratio"),
    # A loss without a conjugate, which no certificate can stand on.
    ("optimize/compile/utility.py", "Quasiconvex"),
    # A proposal comments on what it proposed itself.
    ("use/proposal/toml.py", "Edges"),
    ("use/proposal/toml.py", "MergedLevels"),
    ("use/proposal/toml.py", "PooledLevels"),
}


@pytest.mark.slow
def test_no_module_asks_which_kind_it_is():
    root = Path(eh.__file__).parent
    # What a rule or a budget says in words is for others to word.
    worded = tuple(kind for base in (Rule, Budget) for kind in base.kinds().values())
    names = {name for name, kind in vars(registry).items() if not name.startswith("_") and kind not in worded}
    asked_for = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                found = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
                asked_for |= {(path.relative_to(root).as_posix(), name) for name in found & names}
    assert asked_for == MEANT


def test_the_registry_holds_kinds_alone():
    names = [name for name in vars(registry) if not name.startswith("_")]
    assert all(isinstance(getattr(registry, name), type) for name in names)
    assert all(getattr(registry, name).__name__ == name for name in names)
