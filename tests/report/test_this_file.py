"""One released file on the page: what its manifest says, of this mapping and these bytes alone."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from families import small_frame, small_problem
from reports import HOSTILE, hostile_frame, hostile_mapping, leaves_frame, leaves_mapping, signed_release, small_release

import evenhand as eh
from evenhand.cli.exits import Exit, code_of
from evenhand.data.domain import in_words
from evenhand.engines import read_file
from evenhand.errors import VerificationError
from evenhand.findings.discretion import Discretion
from evenhand.findings.document import signed
from evenhand.report.this_file import this_file


def shown(mapping, manifest, **options):
    return eh.report_on(mapping, manifest=manifest, trace=False, **options)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return small_release(tmp_path_factory.mktemp("released"))


def test_the_file_is_named_with_its_rates_and_its_verdict(released):
    mapping, manifest = released
    report = shown(mapping, manifest, hide_below=0)
    found, stated = report.summary["this_file"], eh.Manifest.load(manifest)
    assert (found["name"], found["kept"]) == ("out.csv", stated.kept)
    assert found["rates"] == json.loads(json.dumps(list(stated.realised["rates"])))
    assert found["verdict"].startswith(
        "out.csv: every parity constraint holds" if stated.kept else "out.csv: this file"
    )
    (answer,) = [part for part in report.summary["brief"] if part["key"] == "file"]
    assert answer["answer"] == ("yes" if stated.kept else "no") + ": out.csv"
    verdict = "Every parity constraint holds; tightest" if stated.kept else "It violates one parity constraint; worst"
    assert answer["words"][0].startswith(f"{verdict}: relative difference 0.")
    assert "its rows and rates were counted again" in answer["words"][-1]
    assert stated.output.sha256 in report.html


def test_who_signed_is_on_the_first_screen(released):
    mapping, manifest = released
    report = shown(mapping, manifest)
    pairs = {pair["heading"]: pair["text"] for pair in report.summary["sign_off"]}
    assert pairs["Signed off by"] == "A. Byron"
    assert pairs["Why this bound"] in report.html.split("</header>")[0]
    assert eh.report_on(mapping, trace=False).summary["sign_off"] is None


def test_small_groups_are_not_named(released):
    mapping, manifest = released
    hidden = json.dumps(shown(mapping, manifest, hide_below=20).summary["this_file"])
    assert "small" not in hidden
    assert "small" in json.dumps(shown(mapping, manifest, hide_below=0).summary["this_file"])


def test_survey_weights_do_not_make_few_people_many(released):
    mapping, path = released
    manifest = eh.Manifest.load(path)
    fitted = replace(manifest, options={**manifest.options, "weights": "w"})
    heavier = [{**row, "weight": 50 * row["weight"]} for row in manifest.realised["rates"]]
    other = replace(fitted, realised={**manifest.realised, "rates": heavier})
    for each, groups in ((manifest, 2), (fitted, 2), (other, 0)):
        shown = Discretion(mapping.counts, 20)
        found = this_file(each, mapping.problem, shown, "", features_move=False, outcome_moves=True)
        assert len({str(row["group"]) for row in found["rates"]}) == groups


@pytest.mark.slow
def test_a_group_of_few_people_in_another_file_is_not_shown(tmp_path):
    frame = hostile_frame()
    few = frame.index[frame["<b>group</b>"] == "a & b"][5:]
    mapping, manifest = signed_release(hostile_mapping(), frame.drop(few), tmp_path)
    table = tmp_path / "people.csv"
    for hide_below, groups in ((0, {"a & b", HOSTILE, "small", "small too"}), (20, {HOSTILE})):
        found = shown(mapping, manifest, frame=table, hide_below=hide_below).summary
        for rows in (found["this_file"]["rates"], found["models"]["fitted"]["rows"]):
            assert {row["group"]["<b>group</b>"] for row in rows} == groups
        assert ("a & b" in json.dumps(found["this_file"])) == ("a & b" in groups)
    assert any(note.startswith("3 of 4 groups are not shown") for note in found["this_file"]["notes"])


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
        eh.evidence(mapping, tmp_path / "evidence", manifest=forged(manifest, tmp_path, **{which: 0.5}))


@pytest.mark.slow
def test_the_model_learns_from_the_very_file(tmp_path):
    tight = replace(leaves_mapping().problem, parity=[eh.PairwiseParity(0.01)])
    mapping, _ = signed_release(eh.fit(tight, leaves_frame()), leaves_frame(), tmp_path)
    # Drawn independently, so that its cells are not what is expected of them.
    done = mapping.release(tmp_path / "people.csv", to=tmp_path / "out.csv", draw="independent", seed=3)
    manifest = eh.manifest_of(mapping, done, tmp_path / "m.mapping").save()
    problem, table = mapping.problem, tmp_path / "people.csv"
    summary = shown(mapping, manifest, frame=table, hide_below=0).summary
    fitted, plain = summary["models"]["fitted"], summary["decisions"]
    assert fitted["learned_from"] == plain["learned_from"] == "out.csv"
    # A plain model needs no table: the file is enough.
    alone = shown(mapping, manifest, hide_below=0).summary["decisions"]
    assert {**alone, "words": ""} == {**plain, "words": ""}
    assert "after learning from out.csv" in alone["words"]
    people, released = (read_file(path, problem.csv) for path in (table, tmp_path / "out.csv"))
    rates = mapping.model_rates(people, released=released)
    for name in ("score", "decision"):
        assert [row[name] for row in fitted["rows"]] == pytest.approx(rates[name].tolist())
    assert not np.allclose(rates["score"], mapping.model_rates(people)["score"])
    for sight, sees in (("not_seeing", False), ("seeing", True)):
        rates = mapping.model_rates(people, released=released, protected=sees)
        told = rates[rates[problem.outcome] == 1]["decision"].tolist()
        expected = mapping.model_rates(people, protected=sees)
        assert [row[f"{sight}_protected_after"] for row in plain["rows"]] == pytest.approx(told)
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
    (card,) = (card for card in report.summary["brief"] if card["key"] == "file")
    assert card["answer"] == "no: out.csv"
    assert ("whole people" in " ".join(card["words"])) == (weights is None)
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
        eh.evidence(mapping, tmp_path / "evidence", manifest=manifest, table=tmp_path / "first.csv")
    with pytest.raises(eh.SpecError, match="the table is given as a path"):
        shown(mapping, manifest, frame=hostile_frame())
    # The same bytes under another name are the same table.
    (tmp_path / "copy.csv").write_bytes((tmp_path / "people.csv").read_bytes())
    assert shown(mapping, manifest, frame=tmp_path / "copy.csv").summary["this_file"]["name"] == "out.csv"


@pytest.mark.slow
def test_features_alone_have_no_rates(tmp_path):
    mapping = hostile_mapping()
    mapping.save(tmp_path / "m.mapping")
    hostile_frame().to_csv(tmp_path / "people.csv", index=False)
    done = mapping.apply(tmp_path / "people.csv", to=tmp_path / "new.csv")
    manifest = eh.manifest_of(mapping, done, tmp_path / "m.mapping").save()
    report = shown(mapping, manifest)
    assert report.summary["this_file"]["kept"] is None
    (answer,) = [part for part in report.summary["brief"] if part["key"] == "file"]
    assert (answer["answer"], answer["tone"]) == ("not decided: new.csv", "open")
