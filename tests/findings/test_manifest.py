"""The manifest as a value: it comes back from JSON, and whatever is damaged, forged or newer is refused."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.findings.document import signed
from evenhand.findings.manifest import VERSION

PAGES = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manifest")
    small_frame().to_csv(folder / "people.csv", index=False)
    mapping = shared_fit(small_problem(), small_frame())
    mapping.save(folder / "m.mapping")
    done = mapping.release(folder / "people.csv", to=folder / "train.csv", seed=5)
    return eh.manifest_of(mapping, done, folder / "m.mapping")


def forged(manifest, change):
    """The manifest with a change of its document, and a checksum that fits."""
    document = json.loads(manifest.to_json())
    change(document)
    return json.dumps(signed(document))


def test_it_comes_back_as_it_was(manifest):
    again = eh.Manifest.from_json(manifest.to_json())
    assert again.to_json() == manifest.to_json()
    assert again.rates.equals(manifest.rates)
    assert again.kept is manifest.kept
    assert list(again.bounds.columns) == ["constraint", "where", "bound", "before", "after", "kept"]


def test_its_checksum_is_what_the_page_about_it_says(manifest):
    document = json.loads(manifest.to_json())
    stated = document.pop("sha256")
    assert stated == hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    assert "`json.dumps(rest, sort_keys=True)`" in (PAGES / "reference" / "manifest-file.md").read_text()


def test_names_are_seen_from_where_it_is_saved(manifest, tmp_path):
    (tmp_path / "deep").mkdir()
    saved = eh.Manifest.load(manifest.save(tmp_path / "deep" / "it.json"))
    assert saved.output.path(saved.folder) == manifest.output.path(manifest.folder)
    assert saved.output.name.startswith("../")
    with pytest.raises(eh.StorageError, match=r"only if you name them: the input '\.\./.*people\.csv', .*add input='/"):
        eh.verify_manifest(saved)
    named = {what: files[0].path(saved.folder) for what, files in saved.files.items()}
    assert eh.verify_manifest(saved, **named).stands


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(version=VERSION + 1), "reads version 1 only"),
        (lambda d: d.update(version="1"), "has format version '1'"),
        (lambda d: d.update(version=True), "has format version True"),
        (lambda d: d.update(format="evenhand-proof"), "no manifest"),
        (lambda d: d.pop("output"), "'output' is missing"),
        (lambda d: d.update(more=1), "not known here: 'more'"),
        (lambda d: d.update(mode="fit"), "mode"),
        (lambda d: d.update(mode="apply"), "not known here: 'weights'"),
        (lambda d: d.update(inputs=[]), "names no input"),
        (lambda d: d["output"].update(sha256="abc"), "no SHA-256"),
        (lambda d: d["output"].update(name=3), "name of output must be a text"),
        (lambda d: d["options"].update(seed="0"), "seed of options must be a whole number"),
        (lambda d: d["counted"].pop("rows"), "'rows' is missing"),
        (lambda d: d["realised"].update(kept="yes"), "kept of realised must be true or false"),
        (lambda d: d["realised"]["rates"].append({}), "missing"),
        (lambda d: d["realised"]["bounds"][0].update(bound="a half"), "bound of bounds must be a number"),
        (lambda d: d["realised"]["rates"][0].update(after=10**400), "after of rates must be a number that a computer"),
        (lambda d: d["realised"]["rates"][0].update(after=float("inf")), "after of rates must be finite"),
        (lambda d: d["realised"]["rates"][0].update(before=float("nan")), "before of rates must be a number"),
        (lambda d: d["realised"]["rates"][0].update(outcome=10**400), "outcome of rates must be a number that"),
        (lambda d: d["realised"]["rates"][0].update(group={"a": [1]}), "a of a group must be"),
        (lambda d: d["options"].update(weights=2), "weights of options must be a text"),
        (lambda d: d.update(at="yesterday"), "yesterday"),
        (lambda d: d.update(at="2026-11-18T10:00:00"), "names no zone"),
        (lambda d: d.update(sign_off={"name": "A"}), "lacks date and purpose and why"),
    ],
)
def test_what_is_not_as_it_should_be_is_named(manifest, change, said):
    with pytest.raises(eh.StorageError, match=said):
        eh.Manifest.from_json(forged(manifest, change))


@pytest.mark.parametrize("text", ["", "[]", "3", '{"a": 1', "[" * 100_000, '{"a": 1, "a": 2}', "{}", "\x00"])
def test_text_of_another_kind_is_refused(text):
    with pytest.raises(eh.StorageError):
        eh.Manifest.from_json(text)


def test_any_byte_that_changes_what_it_says_is_noticed(manifest, tmp_path):
    content = manifest.to_json().encode()
    path, rng = tmp_path / "mutated.json", np.random.default_rng(20261118)
    said = json.loads(content)
    for _ in range(300):
        mutated = bytearray(content)
        for at in rng.integers(0, len(content), rng.integers(1, 4)):
            mutated[at] = rng.integers(0, 256)
        path.write_bytes(bytes(mutated))
        try:
            found = eh.Manifest.load(path)
        except eh.StorageError:
            continue
        assert json.loads(found.to_json()) == said


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(eh.StorageError, match=r"cannot read the manifest '.*none.json'"):
        eh.Manifest.load(tmp_path / "none.json")
