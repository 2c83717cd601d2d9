"""Every public result shows itself in every medium: in short, on a terminal, as JSON, HTML and Markdown."""

import inspect
import json
import pkgutil
from importlib import import_module

import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.findings.impact import impact
from evenhand.render import terminal
from evenhand.render.finding import Finding
from evenhand.render.section import Section
from evenhand.use.verification import verify_mapping, verify_proof

MOST_LINES = 3


def tight():
    return small_problem(parity=[eh.PairwiseParity(0.001)], budget=eh.ExpectedDistortion(0.01))


def unaware():
    outcome_alone = eh.Distortion({"score": eh.Fixed(), "hired": eh.Nominal(1)})
    return small_problem(suppress_protected=True, distortion=outcome_alone, budget=eh.ExpectedDistortion(2.0))


def row():
    return small_frame().iloc[0].to_dict()


MADE = {
    "Problem": lambda w: w["problem"],
    "Mapping": lambda w: w["mapping"],
    "Certificate": lambda w: w["mapping"].certificate,
    "Audit": lambda w: w["mapping"].audit(),
    "Audit of another table": lambda w: w["mapping"].audit(w["frame"].head(80)),
    "Diagnosis": lambda w: eh.diagnose(w["problem"], w["frame"]),
    "Diagnosis of an infeasible problem": lambda w: eh.diagnose(tight(), w["frame"]),
    "Frontier": lambda w: eh.frontier(w["problem"], w["frame"], [0.2, 0.4]),
    "Comparison": lambda w: eh.compare(w["mapping"], w["mapping"]),
    "Explanation": lambda w: w["mapping"].explain(row()),
    "Explanation of two": lambda w: w["mapping"].explain(row(), beside=row() | {"score": 1}),
    "Monitored": lambda w: w["mapping"].monitor(w["frame"].head(80), history=w["folder"] / "history.jsonl"),
    "History": lambda w: w["mapping"].history(w["folder"] / "history.jsonl"),
    "Prices": lambda w: w["mapping"].prices(),
    "Theory": lambda w: w["mapping"].theory,
    "Advantage": lambda w: w["mapping"].theory.advantage(),
    "Applying": lambda w: w["mapping"].theory.applying(),
    "Robustness": lambda w: w["mapping"].theory.robustness(),
    "Bootstrap": lambda w: w["mapping"].theory.bootstrap(),
    "DrawSpread": lambda w: w["mapping"].theory.draw_spread(),
    "SmallGroups": lambda w: w["mapping"].theory.small_groups(),
    "HoldOut": lambda w: w["mapping"].theory.holdout(w["frame"].head(80)),
    "Realised": lambda w: w["mapping"].realised(w["frame"]),
    "Written": lambda w: w["done"],
    "Written by apply": lambda w: w["mapping"].apply(w["table"], to=w["folder"] / "applied.csv"),
    "Expanded": lambda w: w["mapping"].expand(w["table"], to=w["folder"] / "expanded.csv"),
    "Manifest": lambda w: w["manifest"],
    "Rechecked": lambda w: eh.verify_manifest(w["manifest"]),
    "Verification": lambda w: verify_mapping(w["file"]),
    "Verification of a proof": lambda w: verify_proof(w["proof"]),
    "Impact": lambda w: impact(w["mapping"].counts, w["mapping"].kernel, 1, ["group"]),
    "Report": lambda w: eh.report_on(w["mapping"], trace=False),
    "UnawareScores": lambda w: eh.fit(unaware(), w["frame"]).suppression,
    "Proposal": lambda w: eh.propose(w["frame"], protected=["group"], outcome="hired", features=["score"]),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    frame, problem = small_frame(), small_problem()
    mapping = shared_fit(problem, frame)
    table, file, proof = (folder / name for name in ("people.csv", "m.mapping", "m.proof"))
    frame.to_csv(table, index=False)
    mapping.save(file)
    mapping.proof(proof)
    done = mapping.release(table, to=folder / "released.csv", seed=0)
    manifest = eh.manifest_of(mapping, done, file)
    return {
        "folder": folder, "frame": frame, "problem": problem, "mapping": mapping, "table": table, "file": file,
        "proof": proof, "done": done, "manifest": manifest,
    }  # fmt: skip


def test_every_result_is_here():
    modules = (each.name for each in pkgutil.walk_packages(eh.__path__, "evenhand.") if "__main__" not in each.name)
    kinds = {
        kind.__name__
        for module in modules
        for _, kind in inspect.getmembers(import_module(module), inspect.isclass)
        if issubclass(kind, Finding) and kind is not Finding
    }
    assert kinds == {name.split()[0] for name in MADE}


@pytest.mark.parametrize("name", MADE)
def test_it_shows_itself_in_every_medium(world, name):
    found = MADE[name](world)
    assert found.sections
    assert all(isinstance(section, Section) for section in found.sections)
    short = repr(found)
    assert short.startswith("<")
    assert len(short.splitlines()) <= MOST_LINES
    assert " object at 0x" not in short
    printed = str(found)
    assert printed == terminal.text(found.sections)
    html, markdown = found._repr_html_(), found.to_markdown()
    for section in found.sections:
        if not section.empty:
            assert f'id="{section.key}"' in html
    headings = [line for line in markdown.splitlines() if line.startswith("## ")]
    assert len(headings) == sum(not each.empty for each in found.sections)
    document = json.loads(found.to_json(), parse_constant=lambda word: pytest.fail(word))
    if name != "Manifest":
        assert {section.key for section in found.sections} <= set(document)
