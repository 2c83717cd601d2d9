"""One released file on the page: what its manifest says, of this mapping and these bytes alone."""

import json

import pytest
from reports import hostile_frame, hostile_mapping, small_release

import evenhand as eh


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
    assert found["verdict"].removeprefix("out.csv: ").rstrip(".") in stated.verdict
    (answer,) = [part for part in report.summary["brief"] if part["key"] == "file"]
    assert answer["answer"] == ("yes" if stated.kept else "no") + ": out.csv"
    assert f"{len(stated.bounds)} bounds" in answer["words"][0]
    assert "The file has the bytes that its manifest says" in answer["words"][-1]
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


def test_a_manifest_of_another_mapping_is_refused(released):
    _, manifest = released
    with pytest.raises(eh.StorageError, match="another mapping made"):
        eh.report_on(hostile_mapping(bound=0.7), manifest=manifest)


@pytest.mark.slow
def test_a_file_of_other_bytes_is_refused_and_one_that_is_gone_is_said(tmp_path):
    mapping, manifest = small_release(tmp_path)
    with open(tmp_path / "out.csv", "ab") as file:
        file.write(b"\n")
    with pytest.raises(eh.StorageError, match=r"'out\.csv' has other bytes than its manifest"):
        eh.report_on(mapping, manifest=manifest)
    (tmp_path / "out.csv").unlink()
    assert "not looked at" in shown(mapping, manifest).summary["this_file"]["notes"][-1]


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
