"""Manifests of files that were just written: their facts are those of the files, counted by other means here.

What was written is accepted, and refused after a change of any of its files or of what its manifest states.
"""

import hashlib
import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from families import random_problem, small_frame, small_problem
from fits import shared_fit
from hiring import people

import evenhand as eh
from evenhand.findings.document import signed
from evenhand.findings.manifest import FileRecord

pytestmark = pytest.mark.turns(4)

MODES = {
    "release": {"draw": "balanced", "seed": 7},
    "release by key": {"key": "id", "seed": 1},
    "apply": {"seed": 2},
    "apply balanced": {"draw": "balanced"},
    "expand": {},
}


@pytest.fixture(scope="module")
def fitted():
    return shared_fit(small_problem(), small_frame())


@pytest.fixture
def folder(tmp_path, fitted):
    frame = small_frame().assign(
        id=[f"p-{i}" for i in range(200)], w=2.0, note=["a, b", None] * 100, part=np.linspace(0, 1, 200)
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    frame.head(90).to_csv(tmp_path / "part-1.csv", index=False)
    frame.tail(110).to_csv(tmp_path / "part-2.csv", index=False)
    fitted.save(tmp_path / "m.mapping")
    return tmp_path


def rates_of(frame, weight=None):
    """The share of each outcome in each group, by weight."""
    weighed = frame.assign(n=1.0 if weight is None else frame[weight])
    return weighed.groupby(["group", "hired"])["n"].sum() / weighed.groupby("group")["n"].sum()


def stated(manifest, when):
    return manifest.rates.set_index(["group", "outcome"])[when].rename_axis(["group", "hired"])


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_its_facts_are_those_of_the_files(fitted, folder, ending):
    done = fitted.release(folder / "people.csv", to=folder / f"train.{ending}", seed=3, key="id")
    found = eh.manifest_of(fitted, done, folder / "m.mapping", weights="w")
    for what, name in (("input", "people.csv"), ("mapping", "m.mapping"), ("output", f"train.{ending}")):
        (record,) = found.files[what]
        content = (folder / name).read_bytes()
        assert (record.name, record.size) == (name, len(content))
        assert record.sha256 == hashlib.sha256(content).hexdigest()
    before = small_frame()
    after = pd.read_csv(folder / "train.csv") if ending == "csv" else pd.read_parquet(folder / "train.parquet")
    for when, frame in (("before", before), ("after", after)):
        pd.testing.assert_series_equal(stated(found, when), rates_of(frame), check_names=False)
    changed = (after[["score", "hired"]] != before[["score", "hired"]]).any(axis=1).sum()
    assert (found.counted["rows"], found.counted["changed"]) == (200, changed)
    assert (found.options["seed"], found.options["key"], found.options["draw"]) == (3, "id", "independent")
    assert (found.bounds["bound"] == 0.2).all()
    assert (found.bounds["kept"] == (found.bounds["after"] <= 0.2)).all()


@pytest.mark.slow
def test_of_what_was_expanded_rates_are_weighted(fitted, folder):
    done = fitted.expand(folder / "people.csv", to=folder / "all.csv", weights="w", weight_column="share")
    found = eh.manifest_of(fitted, done, folder / "m.mapping")
    after = pd.read_csv(folder / "all.csv")
    pd.testing.assert_series_equal(stated(found, "after"), rates_of(after, "share"), check_names=False)
    assert found.counted["results"] == len(after)
    assert (found.options["weights"], found.options["weight_column"]) == ("w", "share")
    assert "seed" not in found.options


def test_apply_mode_has_no_rates(fitted, folder):
    small_frame().drop(columns="hired").to_csv(folder / "new.csv", index=False)
    found = eh.manifest_of(fitted, fitted.apply(folder / "new.csv", to=folder / "a.csv"), folder / "m.mapping")
    assert found.realised is None
    assert found.kept is None
    assert len(found.rates) == len(found.bounds) == 0
    assert "apply mode reads and changes no outcome" in found.verdict


def test_a_table_without_rows_says_so(fitted, folder):
    small_frame().head(0).to_csv(folder / "none.csv", index=False)
    done = fitted.release(folder / "none.csv", to=folder / "a.csv")
    assert "no rows" in eh.manifest_of(fitted, done, folder / "m.mapping").verdict


@pytest.mark.slow
def test_fresh_randomness_can_be_repeated_from_its_manifest(fitted, folder):
    done = fitted.release(folder / "people.csv", to=folder / "a.csv", seed=None)
    found = eh.manifest_of(fitted, done, folder / "m.mapping")
    assert found.options["seed"] > 2**64
    assert eh.verify_manifest(found, again=True).stands


class TestRefusals:
    def test_a_frame_has_no_manifest(self, fitted, folder):
        with pytest.raises(eh.SpecError, match="a manifest is of files"):
            eh.manifest_of(fitted, fitted.release(small_frame()), folder / "m.mapping")

    def test_the_file_of_another_mapping(self, fitted, folder):
        eh.fit(small_problem(parity=[eh.PairwiseParity(0.4)]), small_frame()).save(folder / "other.mapping")
        done = fitted.release(folder / "people.csv", to=folder / "a.csv")
        with pytest.raises(eh.StorageError, match="holds another mapping"):
            eh.manifest_of(fitted, done, folder / "other.mapping")

    def test_an_input_that_changed_meanwhile(self, fitted, folder):
        done = fitted.release(folder / "people.csv", to=folder / "a.csv")
        small_frame().head(50).to_csv(folder / "people.csv", index=False)
        with pytest.raises(eh.DataError, match="was changed after it was read"):
            eh.manifest_of(fitted, done, folder / "m.mapping")

    def test_a_sign_off_that_does_not_hold(self, fitted, folder):
        done = fitted.release(folder / "people.csv", to=folder / "a.csv")
        today = date.today()
        words = {"name": "A", "purpose": "p", "why": "w"}
        past = eh.SignOff(date=today - timedelta(9), expires=today - timedelta(1), **words)
        with pytest.raises(eh.SpecError, match="the sign-off by 'A' expired on"):
            eh.manifest_of(fitted, done, folder / "m.mapping", sign_off=past)
        with pytest.raises(eh.SpecError, match="still to come"):
            eh.manifest_of(fitted, done, folder / "m.mapping", sign_off=eh.SignOff(date=today + timedelta(2), **words))
        good = eh.SignOff(date=today, expires=today, **words)
        assert eh.manifest_of(fitted, done, folder / "m.mapping", sign_off=good).sign_off == good


def written(mapping, folder, table="people.csv", out="out.csv", mode="release", **options):
    """Write a table and its manifest."""
    done = getattr(mapping, mode.split()[0])(folder / table, to=folder / out, **MODES.get(mode, {}), **options)
    return eh.manifest_of(mapping, done, folder / "m.mapping").save()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("table", "out"),
    [
        ("people.csv", "o.parquet"),
        ("people.parquet", "o.csv"),
        ("people.parquet", "o.parquet"),
        ("part-*.csv", "o.csv"),
    ],
)
@pytest.mark.slow
def test_what_was_written_stands(fitted, folder, mode, table, out):
    found = eh.verify_manifest(written(fitted, folder, table, out, mode), again=True)
    assert found.stands, said_of(found)
    assert found.table["agrees"].all()
    assert found.checks[-1].what == "output, run again"
    # Both orders of two groups are two rows in the manifest, and one comparison.
    compared = [len(found.manifest.bounds) / 2] if found.manifest.realised else []
    assert [each.stated for each in found.checks if each.what == "the bounds"] == compared


def flipped(path, rng):
    """Change one byte of a file."""
    content = bytearray(path.read_bytes())
    at = rng.integers(len(content))
    content[at] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_any_mapping_is_accepted_and_any_changed_byte_refused(tmp_path, seed):
    rng = np.random.default_rng([20261118, seed])
    problem, frame = random_problem(rng)
    try:
        mapping = eh.fit(problem, frame)
    except eh.InfeasibleError:
        pytest.skip("this one has no mapping")
    frame.assign(id=range(len(frame))).to_csv(tmp_path / "people.csv", index=False)
    mapping.save(tmp_path / "m.mapping")
    mode = list(MODES)[int(rng.integers(len(MODES)))]
    ending = ("csv", "parquet")[int(rng.integers(2))]
    saved = written(mapping, tmp_path, out=f"out.{ending}", mode=mode)
    assert eh.verify_manifest(saved).stands
    for name, what in (("people.csv", "input"), ("m.mapping", "mapping"), (f"out.{ending}", "output")):
        content = (tmp_path / name).read_bytes()
        for _ in range(3):
            flipped(tmp_path / name, rng)
            found = eh.verify_manifest(saved)
            assert not found.stands
            assert f"the {what} " in said_of(found)
            assert name in said_of(found)
            (tmp_path / name).write_bytes(content)
    assert eh.verify_manifest(saved).stands


def forged(saved, change):
    """Change what a manifest states, with a checksum that fits."""
    document = json.loads(Path(saved).read_text())
    change(document)
    Path(saved).write_text(json.dumps(signed(document)))
    return saved


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["counted"].update(rows=199), "the manifest states 199 rows for the output, which has 200"),
        (lambda d: d["realised"]["rates"][1].update(after=0.5), "the rates that are stated are not the file's"),
        (lambda d: d["realised"]["rates"][0].update(before=0.25), "before of"),
        (lambda d: d["realised"]["rates"].pop(), "are stated"),
        (lambda d: d["realised"]["bounds"][0].update(bound=0.9), "the bounds that are stated are not"),
        (lambda d: d["realised"]["bounds"][0].update(kept=None), "kept of"),
        (lambda d: d["realised"].update(kept=None), "kept is stated as None"),
        (lambda d: d["realised"].update(violated=17), "violated is stated as 17"),
        (lambda d: d["realised"].update(verdict="all is well"), "verdict is stated as 'all is well'"),
        (lambda d: d.update(realised=None), "the manifest states no rates"),
        (lambda d: d.update(fingerprint="0" * 64), "another fingerprint"),
        (lambda d: d.update(mode="apply", options=drawn(d["options"])), "states rates that cannot be counted"),
    ],
)
@pytest.mark.slow
def test_what_is_stated_falsely_is_found_out(fitted, folder, change, said):
    found = eh.verify_manifest(forged(written(fitted, folder), change))
    assert not found.stands
    assert said in said_of(found)


ODD = [
    None, True, -1, 10**400, 0.5, 1e308, "", "x", "infinite", "\x00", "\ud800", "../" * 9 + "etc/passwd", "/dev/zero",
    [], [1], {}, {"a": [1]},
]  # fmt: skip
"""What may stand anywhere in a document of somebody else's."""


def places(value, at=()):
    """Every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from places(each, (*at, key))


@pytest.mark.slow
def test_whatever_stands_in_a_signed_manifest_is_no_crash(fitted, folder):
    rng = np.random.default_rng(20261118)
    saved = written(fitted, folder, mode="release by key", changes=folder / "c.csv")
    document = json.loads(Path(saved).read_text())
    del document["sha256"]
    every, refused = list(places(document)), 0
    for _ in range(60):
        changed = json.loads(json.dumps(document))
        *way, last = every[rng.integers(len(every))]
        inner = changed
        for key in way:
            inner = inner[key]
        inner[last] = ODD[rng.integers(len(ODD))]
        Path(saved).write_text(json.dumps(signed(changed)))
        try:
            refused += not eh.verify_manifest(saved).stands
        except eh.EvenhandError:
            refused += 1
    assert refused > 40


def said_of(found):
    """What a manifest that was checked again is said to be."""
    return "; ".join(found.sentences("verification"))


def drawn(options):
    return {name: value for name, value in options.items() if name != "weights"}


@pytest.mark.slow
def test_rows_of_what_was_expanded_are_counted_in_both_files(fitted, folder):
    saved = forged(written(fitted, folder, mode="expand"), lambda d: d["counted"].update(rows=9, results=8))
    found = said_of(eh.verify_manifest(saved))
    assert "states 9 rows for the input, which has 200" in found
    assert "states 8 rows for the output" in found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["options"].update(seed=8), "gives other bytes for the output"),
        (lambda d: d["options"].update(draw="independent"), "gives other bytes for the output"),
        (lambda d: d["options"].update(unseen="sometimes"), "the command cannot be run again: unseen must be"),
        (lambda d: d["options"].update(key="nobody"), "the command cannot be run again"),
        (
            lambda d: d.update(mode="apply", realised=None, options=drawn(d["options"])),
            "gives other bytes for the output",
        ),
    ],
)
@pytest.mark.slow
def test_another_command_is_found_out_by_running_it_again(fitted, folder, change, said):
    saved = forged(written(fitted, folder, mode="release"), change)
    assert eh.verify_manifest(saved).stands
    found = eh.verify_manifest(saved, again=True)
    assert not found.stands
    assert said in said_of(found)


@pytest.mark.slow
def test_a_table_that_was_not_drawn_is_found_out(fitted, folder):
    """Somebody edits a feature, which no rate depends on, and makes all checksums fit."""
    saved = written(fitted, folder, mode="release")
    frame = pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)
    frame.loc[0, "score"] = "1" if frame.loc[0, "score"] == "0" else "0"
    frame.to_csv(folder / "out.csv", index=False)
    manifest = eh.Manifest.load(saved)
    written_with = {**manifest.versions, "duckdb": "0.0.1"}
    output = FileRecord.of(folder / "out.csv", manifest.folder)
    replace(manifest, output=output, versions=written_with).save(saved)
    assert eh.verify_manifest(saved).stands
    found = eh.verify_manifest(saved, again=True)
    assert not found.stands
    assert "gives other bytes for the output; it was written with evenhand" in said_of(found)
    assert f"duckdb 0.0.1, pyarrow {pa.__version__}, and installed are evenhand" in said_of(found)
    assert f"duckdb {duckdb.__version__}, pyarrow {pa.__version__}" in said_of(found)


@pytest.mark.slow
def test_an_edited_outcome_is_found_by_the_recount(fitted, folder):
    saved = written(fitted, folder, mode="release")
    frame = pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)
    frame.loc[0, "hired"] = "1" if frame.loc[0, "hired"] == "0" else "0"
    frame.to_csv(folder / "out.csv", index=False)
    manifest = eh.Manifest.load(saved)
    replace(manifest, output=FileRecord.of(folder / "out.csv", manifest.folder)).save(saved)
    assert "the rates that are stated are not the file's" in said_of(eh.verify_manifest(saved))


@pytest.mark.slow
def test_files_that_are_elsewhere(fitted, folder):
    saved = written(fitted, folder, "part-*.csv")
    (folder / "away").mkdir()
    for name in ("part-1.csv", "part-2.csv", "m.mapping", "out.csv"):
        (folder / name).rename(folder / "away" / name)
    for what, name in (("input", "part-1.csv"), ("mapping", "m.mapping"), ("output", "out.csv")):
        given = {"input": "part-*.csv", "mapping": "m.mapping", "output": "out.csv"}
        places = {each: folder / "away" / at for each, at in given.items() if each != what}
        with pytest.raises(eh.StorageError, match=rf"the {what} '.*{name}' of the manifest is not there; .*{what}"):
            eh.verify_manifest(saved, **places)
    places = {each: folder / "away" / at for each, at in given.items()}
    assert eh.verify_manifest(saved, **places).stands
    swapped = eh.verify_manifest(saved, **places | {"output": folder / "away" / "part-1.csv"})
    assert "the output" in said_of(swapped)
    single = eh.verify_manifest(
        saved, **places | {"input": folder / "away" / "part-?.csv", "mapping": places["output"]}
    )
    assert "the mapping" in said_of(single)


@pytest.mark.slow
def test_a_sign_off_that_expired_since_is_said(fitted, folder):
    today = date.today()
    done = fitted.release(folder / "people.csv", to=folder / "out.csv")
    manifest = eh.manifest_of(fitted, done, folder / "m.mapping")
    past = eh.SignOff("A. Byron", today - timedelta(9), "p", "w", today - timedelta(1))
    found = eh.verify_manifest(replace(manifest, sign_off=past))
    assert not found.stands
    assert f"the sign-off by A. Byron expired on {past.expires}" in said_of(found)
    assert found.table["agrees"].sum() == len(found.checks) - 1


@pytest.mark.slow
@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
def test_binned_columns_and_learned_cells_stand(tmp_path, restore):
    X, y = people(1500, seed=3)
    frame = X.assign(hired=y)
    frame.to_parquet(tmp_path / "people.parquet")
    stated = {
        "protected": ["sex"], "outcome": "hired", "parity": [eh.PairwiseParity(0.3)],
        "budget": eh.ExpectedDistortion(0.9),
    }  # fmt: skip
    binned = eh.Problem(
        features=["skill", "town"], bins={"skill": eh.Quantiles(4)},
        distortion=eh.Distortion({"skill": eh.Ordinal(1), "town": eh.Nominal(1), "hired": eh.Nominal(1)}), **stated,
    )  # fmt: skip
    learned = eh.Problem(
        features=["skill", "town", "noise"], cells=eh.Leaves(most=8, at_least=5),
        distortion=eh.Distortion({"hired": eh.Nominal(1)}), **stated,
    )  # fmt: skip
    for problem in (binned, learned):
        mapping = eh.fit(problem, frame)
        mapping.save(tmp_path / "m.mapping")
        for out in ("out.csv", "out.parquet"):
            changes = tmp_path / f"changes-{out}"
            saved = written(mapping, tmp_path, "people.parquet", out, restore=restore, changes=changes)
            found = eh.verify_manifest(saved, again=True)
            assert found.stands, said_of(found)
            assert [each.what for each in found.checks[-2:]] == ["output, run again", "changes, run again"]
            assert (found.manifest.realised is None) == (restore == "label" and problem is binned)
            flipped(changes, np.random.default_rng(5))
            assert "the list of changes" in said_of(eh.verify_manifest(saved))


@pytest.mark.slow
def test_an_input_that_was_renamed_is_found_by_a_pattern(fitted, folder):
    saved = written(fitted, folder)
    (folder / "people.csv").rename(folder / "moved-2026.csv")
    assert eh.verify_manifest(saved, input=folder / "moved-*.csv").stands
    several = eh.verify_manifest(saved, input=folder / "part-*.csv")
    assert not several.stands
    assert "there are 2 files for the input" in said_of(several)


@pytest.mark.slow
def test_files_are_found_from_a_linked_folder_and_from_where_it_leads(fitted, folder):
    real = folder / "years" / "2026"
    real.mkdir(parents=True)
    (folder / "linked").symlink_to(real, target_is_directory=True)
    saved = Path(written(fitted, folder, out="linked/out.csv"))
    named = {"input": folder / "people.csv", "mapping": folder / "m.mapping"}
    assert eh.verify_manifest(saved, **named).stands
    assert eh.verify_manifest(real / saved.name, **named).stands
    # The sources may be reached through a link as well.
    done = fitted.release(folder / "linked" / ".." / ".." / "people.csv", to=folder / "o.csv")
    assert eh.verify_manifest(eh.manifest_of(fitted, done, folder / "m.mapping").save()).stands


@pytest.mark.slow
def test_a_rate_that_is_stated_otherwise_is_told_by_group_and_outcome(fitted, folder):
    saved = Path(written(fitted, folder))
    given = json.loads(saved.read_text())
    given["realised"]["rates"][1]["after"] += 0.25
    row = given["realised"]["rates"][1]
    saved.write_text(json.dumps(signed(given)))
    found = eh.verify_manifest(saved)
    assert not found.stands
    assert f"after of group={row['group']['group']}, outcome {row['outcome']} is stated as" in said_of(found)
    rates = found.table.set_index("what").loc["the rates"]
    assert rates["stated"] == pytest.approx(rates["found"] + 0.25)
