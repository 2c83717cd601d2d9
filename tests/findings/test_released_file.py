"""One released file in a report: what its manifest says, of this mapping and these bytes alone."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from families import small_frame, small_problem
from reports import (
    HOSTILE,
    hostile_frame,
    hostile_mapping,
    leaves_frame,
    leaves_mapping,
    numbers_of,
    said_in,
    signed_release,
    small_release,
)

import evenhand as eh
from evenhand.cli.exits import Exit, code_of
from evenhand.data.domain import in_words
from evenhand.engines import read_file
from evenhand.errors import VerificationError
from evenhand.findings.discretion import Discretion, discreet
from evenhand.findings.document import signed
from evenhand.findings.released_file import released_file
from evenhand.findings.subject import Subject


def shown(mapping, manifest, **options):
    return eh.report_on(mapping, manifest=manifest, trace=False, **options)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return small_release(tmp_path_factory.mktemp("released"))


def test_the_file_is_named_with_its_rates_and_its_verdict(released):
    mapping, manifest = released
    report = shown(mapping, manifest, hide_below=0)
    document, stated = numbers_of(report), eh.Manifest.load(manifest)
    found, answer = document["file"], document["report"]["this_file"]
    assert found["kept"] == stated.kept
    assert found["rates_in_the_file"] == json.loads(json.dumps(list(stated.realised["rates"])))
    assert said_in(found)[0].startswith(
        "out.csv: every parity constraint holds" if stated.kept else "out.csv: this file"
    )
    assert answer["answer"] == ("yes" if stated.kept else "no") + ": out.csv"
    verdict = "Every parity constraint holds; tightest" if stated.kept else "It violates 1 parity constraint; worst"
    assert said_in(answer)[0].startswith(f"{verdict}: relative difference 0.")
    assert "its rows and rates were counted again" in said_in(answer)[-1]
    assert stated.output.sha256 in report.html


def test_who_signed_is_on_the_first_screen(released):
    mapping, manifest = released
    report = shown(mapping, manifest)
    signed = numbers_of(report)["report"]["sign_off"]
    assert signed["signed_off_by"] == "A. Byron"
    assert signed["why_this_bound"] in report.html.split("</header>")[0]
    assert "sign_off" not in numbers_of(eh.report_on(mapping, trace=False))["report"]


def test_small_groups_are_not_named(released):
    mapping, manifest = released
    hidden = json.dumps(numbers_of(shown(mapping, manifest, hide_below=20))["file"])
    assert "small" not in hidden
    assert "small" in json.dumps(numbers_of(shown(mapping, manifest, hide_below=0))["file"])


def test_survey_weights_do_not_make_few_people_many(released):
    mapping, path = released
    manifest = eh.Manifest.load(path)
    fitted = replace(manifest, options={**manifest.options, "weights": "w"})
    heavier = [{**row, "weight": 50 * row["weight"]} for row in manifest.realised["rates"]]
    other = replace(fitted, realised={**manifest.realised, "rates": heavier})
    for each, groups in ((manifest, 2), (fitted, 2), (other, 0)):
        judge = Discretion(mapping.counts, 20)
        subject = Subject(mapping.problem, mapping.counts, mapping.kernel, mapping.achieved, judge)
        (found,) = discreet([released_file(subject, each)], judge)
        assert len(set(map(str, found.table("rates_in_the_file").values("group")))) == groups


@pytest.mark.slow
def test_a_group_of_few_people_in_another_file_is_not_shown(tmp_path):
    frame = hostile_frame()
    few = frame.index[frame["<b>group</b>"] == "a & b"][5:]
    mapping, manifest = signed_release(hostile_mapping(), frame.drop(few), tmp_path)
    table = tmp_path / "people.csv"
    for hide_below, groups in ((0, {"a & b", HOSTILE, "small", "small too"}), (20, {HOSTILE})):
        found = numbers_of(shown(mapping, manifest, frame=table, hide_below=hide_below))
        for rows in (found["file"]["rates_in_the_file"], found["decisions"]["fitted_model"]):
            assert {row["group"]["<b>group</b>"] for row in rows} == groups
        assert ("a & b" in json.dumps(found["file"])) == ("a & b" in groups)
    assert any(note.startswith("6 of 8 rows are not shown") for note in said_in(found["file"]))


def test_a_manifest_of_another_mapping_is_refused(released):
    _, manifest = released
    with pytest.raises(eh.StorageError, match="another mapping made"):
        eh.report_on(hostile_mapping(bound=0.7), manifest=manifest)


@pytest.mark.slow
def test_a_file_of_other_bytes_is_refused_and_one_that_is_gone(tmp_path):
    mapping, manifest = small_release(tmp_path)
    with open(tmp_path / "out.csv", "ab") as file:
        file.write(b"\n")
    with pytest.raises(VerificationError, match=r"'out\.csv' fails verification: .* its SHA-256 is another"):
        eh.report_on(mapping, manifest=manifest)
    (tmp_path / "out.csv").unlink()
    with pytest.raises(eh.StorageError, match=r"out\.csv' of the manifest is not there; put it back"):
        eh.report_on(mapping, manifest=manifest)


def forged(manifest, folder, **changes):
    """The same manifest with other entries in its first rate, and a checksum of its own."""
    document = json.loads(Path(manifest).read_text())
    document["realised"]["rates"][0] |= changes
    (folder / "forged.json").write_text(json.dumps(signed(document)))
    return folder / "forged.json"


@pytest.mark.slow
@pytest.mark.parametrize("which", ["before", "after"])
def test_rates_are_counted_again_and_one_that_is_forged_is_named(tmp_path, which):
    mapping, manifest = small_release(tmp_path)
    first = eh.Manifest.load(manifest).realised["rates"][0]
    assert abs(first[which] - 0.5) > 0.01
    named = f"{which} of {in_words(first['group'])}, outcome {first['outcome']} is stated as 0.5"
    with pytest.raises(VerificationError, match=re.escape(named)):
        eh.report_on(mapping, manifest=forged(manifest, tmp_path, **{which: 0.5}))
    with pytest.raises(VerificationError, match=re.escape(named)):
        eh.bundle(mapping, tmp_path / "bundle", manifest=forged(manifest, tmp_path, **{which: 0.5}))


@pytest.mark.slow
def test_the_model_learns_from_the_very_file(tmp_path):
    tight = replace(leaves_mapping().problem, parity=[eh.PairwiseParity(0.01)])
    mapping, _ = signed_release(eh.fit(tight, leaves_frame()), leaves_frame(), tmp_path)
    # Drawn independently, so that its cells are not what is expected of them.
    done = mapping.release(tmp_path / "people.csv", to=tmp_path / "out.csv", draw="independent", seed=3)
    manifest = eh.manifest_of(mapping, done, tmp_path / "m.mapping").save()
    problem, table = mapping.problem, tmp_path / "people.csv"
    plain = numbers_of(shown(mapping, manifest, frame=table, hide_below=0))["decisions"]
    assert plain["learned_from"] == "out.csv"
    assert "learned from out.csv, scoring" in said_in(plain, "decisions.fitted_on")[0]
    # A plain model needs no table: the file is enough.
    alone = numbers_of(shown(mapping, manifest, hide_below=0))["decisions"]
    assert alone["decisions"] == [row for row in plain["decisions"] if row["model"] != "fitted"]
    assert "after learning from out.csv" in said_in(alone)[0]
    people, released = (read_file(path, problem.csv) for path in (table, tmp_path / "out.csv"))
    rates = mapping.model_rates(people, released=released)
    for name in ("score", "decision"):
        assert [row[name] for row in plain["fitted_model"]] == pytest.approx(rates[name].tolist())
    assert not np.allclose(rates["score"], mapping.model_rates(people)["score"])
    for sight, sees in (("not_seeing", False), ("seeing", True)):
        rates = mapping.model_rates(people, released=released, protected=sees)
        told = rates[rates[problem.outcome] == 1]["decision"].tolist()
        expected = mapping.model_rates(people, protected=sees)
        own = [row["after"] for row in plain["decisions"] if row["model"] == f"{sight}_protected"]
        assert own == pytest.approx(told)
        assert not np.allclose(told, expected[expected[problem.outcome] == 1]["decision"])


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "w"])
def test_only_a_file_of_people_is_off_by_whole_people(tmp_path, weights):
    """One row of survey weights may count for many."""
    frame = small_frame().iloc[7:].assign(w=np.arange(193) % 3 + 0.5)
    frame.to_csv(tmp_path / "people.csv", index=False)
    mapping = eh.fit(small_problem(), frame, weights=weights)
    mapping.save(tmp_path / "m.mapping")
    done = mapping.release(tmp_path / "people.csv", to=tmp_path / "out.csv", seed=5)
    report = shown(mapping, eh.manifest_of(mapping, done, tmp_path / "m.mapping").save())
    card = numbers_of(report)["report"]["this_file"]
    assert card["answer"] == "no: out.csv"
    assert ("whole people" in " ".join(said_in(card))) == (weights is None)
    assert ("People by weight" in report.html) == (weights is not None)


@pytest.mark.slow
def test_a_table_that_is_not_the_manifests_input_is_refused(tmp_path):
    mapping, manifest = small_release(tmp_path)
    hostile_frame().iloc[:-1].to_csv(tmp_path / "first.csv", index=False)
    told = r"first\.csv' is not the table that 'out\.csv' was made from.*Pass 'people\.csv'"
    with pytest.raises(eh.StorageError, match=told) as refused:
        shown(mapping, manifest, frame=tmp_path / "first.csv")
    assert code_of(refused.value) is Exit.INPUT
    with pytest.raises(eh.StorageError, match=told):
        eh.bundle(mapping, tmp_path / "bundle", manifest=manifest, frame=tmp_path / "first.csv")
    with pytest.raises(eh.SpecError, match="the table is given as a path"):
        shown(mapping, manifest, frame=hostile_frame())
    # The same bytes under another name are the same table.
    (tmp_path / "copy.csv").write_bytes((tmp_path / "people.csv").read_bytes())
    found = numbers_of(shown(mapping, manifest, frame=tmp_path / "copy.csv"))["file"]
    assert found["file"].startswith("out.csv, ")


@pytest.mark.slow
def test_features_alone_have_no_rates(tmp_path):
    mapping = hostile_mapping()
    mapping.save(tmp_path / "m.mapping")
    hostile_frame().to_csv(tmp_path / "people.csv", index=False)
    done = mapping.apply(tmp_path / "people.csv", to=tmp_path / "new.csv")
    manifest = eh.manifest_of(mapping, done, tmp_path / "m.mapping").save()
    report = shown(mapping, manifest)
    document = numbers_of(report)
    assert document["file"]["kept"] is None
    answer = document["report"]["this_file"]
    assert (answer["answer"], answer["tone"]) == ("not decided: new.csv", "open")
