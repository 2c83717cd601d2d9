"""Proof files: an auditor without evenhand accepts the true ones, and refuses the same with a number changed."""

import copy
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from fits import shared_fit
from formulations import DISTORTIONS, MODES, PARITIES, one_way, table

import evenhand as eh
from evenhand import storage, verifier
from evenhand.findings.proof import write_infeasible
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import Multipliers

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """Run the script in an empty folder, with neither site packages nor evenhand to be had."""
    folder = tmp_path_factory.mktemp("auditor")
    script = folder / "verifier.py"
    script.write_bytes(Path(verifier.__file__).read_bytes())

    def run(file):
        return subprocess.run(
            [sys.executable, "-I", "-S", str(script), str(file)],
            capture_output=True, text=True, cwd=folder, check=False, env={"PYTHONIOENCODING": "utf-8"},
        )  # fmt: skip

    return run


def accepted(result, verdict="EVERYTHING STANDS"):
    assert result.returncode == 0, result.stdout + result.stderr
    assert verdict in result.stdout
    return result.stdout


def compared(frame, groups, given, against):
    """How many comparisons there are, counted one by one."""
    if not given:
        frame, given = frame.assign(all=0), ["all"]
    there = 0
    for _, part in frame.groupby(given):
        found = part.drop_duplicates(groups)
        there += len(found) * {"each": len(found) - 1, "rest": int(len(found) > 1), "target": 1}[against]
    return there * frame["y"].nunique()


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("against", ["each", "rest", "target"])
@pytest.mark.parametrize("given", [None, ["f0"], ["f0", "f1"]], ids=str)
@pytest.mark.parametrize("on", [None, ["sex"]], ids=str)
def test_how_many_comparisons_are_covered(against, given, on, tmp_path):
    frame = table(4)
    # A segment with one group alone has nobody to be compared with.
    frame = frame[(frame["f0"] != frame["f0"].max()) | (frame["sex"] == frame["sex"].iloc[0])]
    form = eh.TargetParity(0.99, distance=eh.Difference(), on=on, given=given)
    if against != "target":
        form = eh.PairwiseParity(0.99, distance=eh.Difference(), on=on, given=given, against=against)
    eh.fit(of([form]), frame).proof(tmp_path / "a.proof")
    rows = verifier.verify(tmp_path / "a.proof").rows
    (covered,) = [found for what, found, _ in rows if what.startswith("comparisons covered")]
    there = compared(frame, on or ["sex", "race"], given, against)
    assert covered == f"{there} of {there}"


@pytest.fixture(scope="module")
def compas_proof(compas_mapping, tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "compas.proof"
    compas_mapping.proof(path)
    return path


@pytest.fixture(scope="module")
def infeasible_proof(compas, tmp_path_factory):
    rules = dict(compas.problem.distortion.rules) | {"is_recid": eh.Ordinal(step=2, up=False)}
    path = tmp_path_factory.mktemp("proof") / "infeasible.proof"
    eh.diagnose(replace(compas.problem, distortion=eh.Distortion(rules)), compas.counts).proof(path)
    return path


def test_the_auditor_cannot_import_evenhand(tmp_path):
    probe = [sys.executable, "-I", "-S", "-c", "import evenhand"]
    assert "No module named 'evenhand'" in subprocess.run(probe, capture_output=True, text=True, cwd=tmp_path).stderr


def test_compas(compas_proof, audit):
    said = accepted(audit(compas_proof))
    assert "optimal" in said
    assert "No mapping that meets every bound has an objective below 0.02124381" in said


def test_compas_infeasible(infeasible_proof, audit):
    said = accepted(audit(infeasible_proof))
    assert "No mapping meets all the bounds of the statement." in said
    assert "sex=Male, race=African-American against sex=Female, race=Caucasian: ratio ≤ 0.1" in said


@pytest.mark.slow
def test_adult(adult_mapping, audit, tmp_path):
    adult_mapping.proof(tmp_path / "a.proof")
    said = accepted(audit(tmp_path / "a.proof"))
    assert "0.0148518" in said


def of(parity=None, *, outcome="falls", budget=None, distortion=None, mode=None, **changes):
    """A problem about the tables of ``formulations``."""
    statement = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": parity or [eh.PairwiseParity(0.4)],
        "distortion": distortion or DISTORTIONS["sum"](outcome),
        "budget": eh.ExpectedDistortion(0.6) if budget is None else budget,
        **MODES[mode or "plain"],
    }
    return eh.Problem(**{**statement, **changes})


GAP = eh.UserDistance(lambda p, q: np.abs(p - q) / (p + q + 0.1), "the relative gap")
ZERO_FOR_SOME = eh.By(0.6, [({"race": "a", "f0": 0}, 0.0), ({"race": "b", "f1": 2, "y": 0}, math.inf)])

CASES = {
    "total variation": of(utility=eh.TotalVariation()),
    "KL, all targets": of(targets="all"),
    "log-ratio": of([eh.PairwiseParity(0.35, eh.LogRatio())]),
    "four-fifths": of([eh.PairwiseParity(0.25, eh.FourFifths(1))]),
    "difference": of([eh.PairwiseParity(0.1, eh.Difference())]),
    "rest and reference": of(
        [eh.PairwiseParity(0.4, against="rest"), eh.PairwiseParity(0.4, on=["race"], against={"race": "b"})]
    ),
    "bounds by pair": of(PARITIES["by pair"](0.3)),
    "segments": of(PARITIES["given"](0.5)),
    "released segments": of(PARITIES["released segments"](0.6)),
    "target by segment": of(PARITIES["target in segments"](0.3), outcome="changes"),
    "a user's distance": of([eh.PairwiseParity(0.15, GAP)]),
    "a user's distance to a target": of([eh.TargetParity(0.02, {0: 0.65, 1: 0.35}, GAP)], outcome="changes"),
    "a user's distortion": of(distortion=eh.Distortion(function=one_way)),
    "budgets per xy": of(budget=eh.ExcessDistortion({0.9: 0.5, 1.9: 0.2}, per="xy")),
    "limits of zero": of([eh.PairwiseParity(0.8)], budget=eh.ExpectedDistortion(ZERO_FOR_SOME)),
    "limits of zero, excess, per xy": of(
        [eh.PairwiseParity(0.9)], budget=eh.ExcessDistortion({0.4: eh.By(0.5, [({"f0": 0}, 0.0)])}, per="xy")
    ),
    "blind": of([eh.PairwiseParity(0.5)], mode="blind"),
    "suppressed": of([eh.PairwiseParity(0.08)], outcome="is free", mode="suppressed"),
    "suppressed, blind": of([eh.PairwiseParity(0.25)], outcome="is free", mode="suppressed, blind"),
    "own model": of([eh.PairwiseParity(0.12)], outcome="is free", mode="own model"),
    "no budget": of(budget=[], distortion=DISTORTIONS["table"]("falls")),
}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("name", CASES)
def test_every_form_is_proved(name, audit, tmp_path):
    mapping = eh.fit(CASES[name], table(3))
    assert mapping.certificate.status == "optimal"
    mapping.proof(tmp_path / "a.proof")
    said = accepted(audit(tmp_path / "a.proof"))
    assert "lower bound" in said
    claims = json.loads((tmp_path / "a.proof").read_text())["claims"]
    assert claims["gap"] == mapping.certificate.gap <= 1e-7


@pytest.mark.slow
def test_most_of_these_forms_lose_something():
    """Else their lower bound would be zero, which needs no proof."""
    lossy = [name for name, problem in CASES.items() if eh.fit(problem, table(3)).objective > 1e-5]
    assert len(lossy) >= 0.7 * len(CASES), set(CASES) - set(lossy)


SQUARES = eh.Separable(lambda p, r: (r - p) ** 2, lambda p, r: 2 * (r - p), lambda p, r: np.full_like(p, 2.0))
RISE = eh.Quasiconvex(lambda p, r: np.max(r - p), lambda p, level: (np.eye(len(p)), p + level))


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("utility", [eh.Hellinger(), eh.PearsonChi2(), eh.MaxRelativeChange(), SQUARES, RISE])
def test_another_measure_is_only_proved_to_be_within_the_bounds(utility, audit, tmp_path):
    eh.fit(of(utility=utility), table(3)).proof(tmp_path / "a.proof")
    said = " ".join(accepted(audit(tmp_path / "a.proof"), "FEASIBILITY STANDS").split())
    assert "EVERYTHING" not in said
    assert f"The measure '{type(utility).__name__}' is not one that this script recomputes" in said
    assert "Only feasibility was checked." in said
    assert "has an objective below" not in said


@pytest.mark.slow
def test_alternating(audit, tmp_path):
    """The bound is that of mappings that do not suppress D; the kernel keeps p(ŷ|x̂) all the same."""
    problem = of([eh.PairwiseParity(0.1)], outcome="is free", mode="suppressed", suppress_protected="alternating")
    mapping = eh.fit(problem, table(3))
    mapping.proof(tmp_path / "a.proof")
    accepted(audit(tmp_path / "a.proof"))
    document = json.loads((tmp_path / "a.proof").read_text())
    assert document["claims"]["status"] == mapping.certificate.status
    statement = document["statement"]
    assert statement["suppressed"]
    assert statement["conditional"] is None, "p(ŷ|x̂) was chosen, not stated"
    source = next(row[0] for row in document["kernel"] if row[3] < 0.9)
    for row in document["kernel"]:
        if row[0] == source:
            row[2] = 0
    seen = {}
    for row in document["kernel"]:
        key = (row[0], tuple(row[1]), row[2])
        seen[key] = seen.get(key, 0.0) + row[3]
    document["kernel"] = [[s, list(x), y, p] for (s, x, y), p in seen.items()]
    document["sha256"] = verifier.digest(document)
    (tmp_path / "b.proof").write_text(json.dumps(document))
    assert "does not follow" in verifier.verify(tmp_path / "b.proof").reason


class TestBarredOutcomes:
    """A ratio to zero rules moves out before anything is solved; the proof must price them out again."""

    def test_a_target_of_zero(self, audit, tmp_path):
        problem = small_problem(
            parity=[eh.TargetParity(0.1, {0: 1.0, 1: 0.0})], budget=eh.ExpectedDistortion(1.5), utility=eh.L1()
        )
        mapping = eh.fit(problem, small_frame())
        assert mapping.achieved.rates_after[:, 1] == pytest.approx([0, 0])
        assert mapping.certificate.status == "optimal"
        mapping.proof(tmp_path / "a.proof")
        accepted(audit(tmp_path / "a.proof"))

    @pytest.mark.parametrize("distance", [eh.Ratio(), eh.LogRatio()])
    def test_an_outcome_that_a_group_can_never_have(self, audit, tmp_path, distance):
        """Group b never has outcome 2 and outcomes only fall, so nobody may have it."""
        rng = np.random.default_rng(0)
        frame = small_frame()
        frame["hired"] += (frame["group"].eq("a") & (rng.random(200) < 0.3)).astype(int)
        problem = small_problem(
            parity=[eh.PairwiseParity(1.0, distance)], budget=eh.ExpectedDistortion(2.5), utility=eh.L1()
        )
        mapping = eh.fit(problem, frame)
        assert mapping.achieved.rates_after[0, 2] == 0
        assert mapping.objective > 1e-3
        mapping.proof(tmp_path / "a.proof")
        accepted(audit(tmp_path / "a.proof"))


COSTLY = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(0.01)})
UNMOVED = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Fixed()})


def only_higher_scores(before, after):
    """The outcome of people with a score of zero never changes."""
    changed = after["hired"] != before["hired"]
    return np.where(changed & (before["score"] == 0), np.inf, 1.0 * changed)


STRANDED = {
    "a target of zero": {"parity": [eh.TargetParity(0.1, {0: 1.0, 1: 0.0})], "distortion": UNMOVED},
    "an outcome that a group can never have": {"parity": [eh.PairwiseParity(0.5)], "distortion": UNMOVED},
    "the same by log-ratio": {"parity": [eh.PairwiseParity(0.5, eh.LogRatio())], "distortion": UNMOVED},
    "suppressed, limits of zero": {
        "distortion": COSTLY,
        "budget": eh.ExpectedDistortion(eh.By(0.5, [({"group": "a"}, 0.0)])),
        "suppress_protected": "fixed",
    },
    "suppressed, limits of zero per xy": {
        "distortion": COSTLY,
        "budget": eh.ExpectedDistortion(eh.By(0.5, [({"score": 0}, 0.0)]), per="xy"),
        "suppress_protected": "fixed",
    },
    "blind": {
        "parity": [eh.TargetParity(0.1, {0: 1.0, 1: 0.0})],
        "budget": eh.ExpectedDistortion(eh.By(1.5, [({"group": "a"}, 0.0)])),
        "blind": True,
    },
    "forbidden by the statement alone": {
        "distortion": eh.Distortion(function=only_higher_scores),
        "suppress_protected": "fixed",
    },
}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("changes", STRANDED.values(), ids=STRANDED)
def test_somebody_without_a_move_is_proof_enough(changes, audit, tmp_path):
    frame = small_frame()
    if changes.get("parity", [None])[0] in (eh.PairwiseParity(0.5), eh.PairwiseParity(0.5, eh.LogRatio())):
        frame["hired"] += (frame["group"].eq("a") & (np.arange(200) % 3 == 0)).astype(int)
    found = eh.diagnose(small_problem(**changes), frame)
    assert not found.feasible
    assert found.conflict is None
    found.proof(tmp_path / "a.proof")
    assert "No mapping meets all the bounds" in accepted(audit(tmp_path / "a.proof"))


LARGE = {
    "target": lambda e: [eh.TargetParity(eh.By(e, [({"y": 1}, 0.05)]), {0: 0.5, 1: 0.5})],
    "rest": lambda e: [eh.PairwiseParity(eh.By(e, [({"y": 1}, 0.1)]), against="rest")],
    "reference": lambda e: [eh.PairwiseParity(eh.By(e, [({"y": 1}, 0.1)]), against={"sex": "f", "race": "b"})],
    "several": lambda e: [eh.TargetParity(e), eh.PairwiseParity(0.1)],
    "each": lambda e: [eh.PairwiseParity(eh.By(e, [({"y": 1}, 0.1)]))],
    "released segments": lambda e: [
        eh.TargetParity(eh.By(e, [({"y": 1}, 0.05)]), on=["sex"], given=["f0"], released=True)
    ],
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*a bound of .* allows:evenhand.errors.EvenhandWarning")
@pytest.mark.parametrize("bound", [0.3, 1.2, 50.0, 1e4, 1e6])
@pytest.mark.parametrize("form", LARGE)
def test_ratio_bounds_above_one(form, bound, tmp_path):
    """From ε = 1 on one line of a ratio asks for nothing; what a solver leaves on it must not weaken the proof."""
    for seed in (0, 2):
        found = eh.diagnose(of(LARGE[form](bound), outcome="changes"), table(seed))
        found.proof(tmp_path / "a.proof")
        report = verifier.verify(tmp_path / "a.proof")
        assert report.stands, report.reason


def test_a_line_that_asks_for_nothing_has_no_multiplier(tmp_path):
    """Whatever a solver leaves there: the bound of the file is that of the other lines."""
    mapping = eh.fit(of([eh.TargetParity(9.0)]), table(3))
    heavy = replace(mapping, multipliers=replace(mapping.multipliers, parity=np.ones_like(mapping.multipliers.parity)))
    heavy.proof(tmp_path / "a.proof")
    written = json.loads((tmp_path / "a.proof").read_text())["multipliers"]["parity"]
    assert written
    assert {line for _, _, line, _ in written} == {0}


def test_what_is_claimed_is_the_certificate_and_not_the_verifiers_word(tmp_path, monkeypatch):
    """A verifier that finds less must refuse the claim, so that it cannot be the claim's source."""
    mapping = eh.fit(of([eh.PairwiseParity(0.1)]), table(3))
    monkeypatch.setattr(verifier, "parity_excesses", lambda *_: iter(()))
    monkeypatch.setattr(verifier, "budget_excesses", lambda *_: iter(()))
    mapping.proof(tmp_path / "a.proof")
    claims = json.loads((tmp_path / "a.proof").read_text())["claims"]
    assert claims["max_violation"] == mapping.certificate.max_violation > 0


@pytest.mark.slow
def test_what_is_claimed_of_infeasibility_is_not_the_verifiers_word(compas, tmp_path, monkeypatch):
    """What the verifier finds may permit a claim or not, and leaves its number as it is."""
    rules = dict(compas.problem.distortion.rules) | {"is_recid": eh.Ordinal(step=2, up=False)}
    found = eh.diagnose(replace(compas.problem, distortion=eh.Distortion(rules)), compas.counts)
    claims = []
    for factor in (1, 2):
        with monkeypatch.context() as patched:
            patched.setattr(verifier, "priced", lambda *given, of=verifier.priced, factor=factor: factor * of(*given))
            found.proof(tmp_path / "a.proof")
        claims.append(json.loads((tmp_path / "a.proof").read_text())["claims"]["infeasibility"])
    assert claims[0] == claims[1] > 0


def test_weights_and_levels_of_every_kind(audit, tmp_path):
    """Weights that are not whole, booleans, and names that JSON must quote."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(['f"', "m\\", "ü"], 300),
            "age": rng.choice([1, 2, 5], 300),
            "hired": rng.random(300) < 0.4,
            "w": rng.random(300) + 1 / 3,
        }
    )
    problem = eh.Problem(
        protected=["sex"], features=["age"], outcome="hired", parity=[eh.PairwiseParity(0.01)],
        distortion=eh.Distortion({"age": eh.Nominal(1), "hired": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.6),
    )  # fmt: skip
    eh.fit(problem, frame, weights="w").proof(tmp_path / "a.proof")
    accepted(audit(tmp_path / "a.proof"))


@pytest.mark.parametrize("which", ["mapping", "infeasible"])
def test_saved_mappings_prove_the_same(which, compas, compas_mapping, compas_proof, tmp_path, infeasible_proof):
    """A proof is a function of the problem and the table."""
    if which == "mapping":
        compas_mapping.save(tmp_path / "m")
        eh.Mapping.load(tmp_path / "m").proof(tmp_path / "again.proof")
        assert (tmp_path / "again.proof").read_bytes() == compas_proof.read_bytes()
        return
    rules = dict(compas.problem.distortion.rules) | {"is_recid": eh.Ordinal(step=2, up=False)}
    again = eh.Problem.from_toml(replace(compas.problem, distortion=eh.Distortion(rules)).to_toml())
    eh.diagnose(again, compas.frame).proof(tmp_path / "again.proof")
    assert (tmp_path / "again.proof").read_bytes() == infeasible_proof.read_bytes()


# ---------------------------------------------------------------------------------------------------------------------
# Tampering
# ---------------------------------------------------------------------------------------------------------------------


def numbers(value, path=()):
    """Every number of a document with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from numbers(inner, (*path, i))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def sampled(document, size, seed=0):
    """Paths to numbers from every part of a document, about as many from each."""
    parts = {}
    for path, value in numbers(document):
        parts.setdefault(path[:2] if path[0] in ("statement", "multipliers", "claims") else path[:1], []).append(
            (path, value)
        )
    rng = np.random.default_rng(seed)
    each = -(-size // len(parts))
    return [part[i] for part in parts.values() for i in rng.permutation(len(part))[:each]]


def changed(document, path, value):
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


def refused(document, folder, *, sealed):
    """Whether a document is refused, with its old digest or a new one."""
    if sealed:
        document["sha256"] = verifier.digest(json.loads(json.dumps(document), parse_float=verifier.Exact))
    (folder / "t.proof").write_text(json.dumps(document))
    return not verifier.verify(folder / "t.proof").stands


@pytest.mark.slow
@pytest.mark.parametrize("which", ["compas_proof", "infeasible_proof"])
def test_no_number_can_be_changed_under_the_old_digest(which, request, tmp_path):
    document = json.loads(request.getfixturevalue(which).read_text())
    trials = sampled({k: v for k, v in document.items() if k != "sha256"}, 90)
    assert {path[0] for path, _ in trials} >= {"counts", "statement", "multipliers", "claims"}
    assert len(trials) >= 50
    for path, value in trials:
        other = value + 1 if isinstance(value, int) else value * 1.01 + 1e-3
        assert refused(changed(document, path, other), tmp_path, sealed=False), path


@pytest.mark.slow
def test_under_a_new_digest_the_mapping_is_refused_for_what_it_is(compas_proof, tmp_path):
    """Probabilities, weights, claims, bounds and limits that bind: arithmetic finds them out, not the checksum."""
    document = json.loads(compas_proof.read_text())
    assert not refused(document, tmp_path, sealed=True)
    rng = np.random.default_rng(1)
    moved = [i for i, row in enumerate(document["kernel"]) if row[3] < 1]
    weights = rng.choice(len(document["counts"]), 6, replace=False)
    drawn = rng.choice(moved, 6, replace=False)
    trials = [(("kernel", int(i), 3), document["kernel"][int(i)][3] * 1.01) for i in drawn]
    trials += [(("counts", int(i), 3), document["counts"][int(i)][3] * 1.5) for i in weights]
    trials += [
        (("claims", "objective"), 0.01),
        (("claims", "lower_bound"), document["claims"]["lower_bound"] + 1e-5),
        (("claims", "gap"), 0.0 if document["claims"]["gap"] > 1e-9 else 1e-3),
        (("claims", "max_violation"), 1e-3),
        (("claims", "status"), "best"),
    ]
    for path, value in trials:
        assert refused(changed(document, path, value), tmp_path, sealed=True), path
    tighter = copy.deepcopy(document)
    for block in tighter["statement"]["parity"]:
        for bound in block["bounds"]:
            bound["bound"] = 0.09
    assert refused(tighter, tmp_path, sealed=True)


def test_under_a_new_digest_infeasibility_must_still_follow(infeasible_proof, tmp_path):
    document = json.loads(infeasible_proof.read_text())
    assert not refused(document, tmp_path, sealed=True)
    assert refused(changed(document, ("claims", "infeasibility"), 0.5), tmp_path, sealed=True)
    looser = copy.deepcopy(document)
    for limit in looser["statement"]["budgets"][0]["limits"]:
        limit[1] = 0.65
    assert refused(looser, tmp_path, sealed=True), "with these limits it can be done"
    weakened = copy.deepcopy(document)
    weakened["multipliers"]["budgets"] = []
    assert refused(weakened, tmp_path, sealed=True)


# ---------------------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mapping():
    return shared_fit(small_problem(), small_frame())


def test_writing_where_one_cannot(mapping, tmp_path):
    with pytest.raises(eh.StorageError, match="cannot write"):
        mapping.proof(tmp_path / "no" / "folder" / "a.proof")
    (tmp_path / "taken").mkdir()
    with pytest.raises(eh.StorageError, match="is a folder"):
        mapping.proof(tmp_path / "taken")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(mapping, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(eh.StorageError, match="is a folder"):
            mapping.proof(tmp_path / "a.proof")
    finally:
        tmp_path.chmod(0o700)


def test_a_failed_write_leaves_the_old_proof(mapping, tmp_path, monkeypatch):
    path = tmp_path / "a.proof"
    mapping.proof(path)
    old = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "replace", fail)
    with pytest.raises(eh.StorageError, match="No space left"):
        mapping.proof(path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["a.proof"]


def test_multipliers_that_prove_nothing_are_not_written(compas, tmp_path):
    """The compas problem is feasible, so no weights of its bounds can show otherwise."""
    program = compile_problem(compas.problem, compas.counts).program
    nothing = Multipliers(np.zeros(program.n_targets), np.zeros(len(program.parity)), np.zeros(len(program.budgets)))
    with pytest.raises(eh.SolverError, match="do not prove infeasibility"):
        write_infeasible(tmp_path / "a.proof", compas.problem, compas.counts, nothing)
    assert not list(tmp_path.iterdir())
