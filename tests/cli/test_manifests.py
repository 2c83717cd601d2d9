"""Manifests on the command line: written beside the output, checked by verify, refused with what is wrong."""

import hashlib
import json
import os
import shutil
from datetime import date, timedelta

import pandas as pd
import pytest
from commands import complained, document, flat, misused

import evenhand as eh
from evenhand.cli.exits import Exit
from evenhand.findings.document import signed

pytestmark = pytest.mark.turns(2)

RELEASE = ("release", "fine.mapping", "people.csv", "--out", "new.csv")
MANIFEST = "new.csv.manifest.json"
WRITERS = {
    "release": RELEASE,
    "apply": ("apply", "fine.mapping", "people.csv", "--out", "new.csv"),
    "expand": ("expand", "fine.mapping", "people.csv", "--out", "new.csv"),
}


def sign_off(folder, **change):
    today = date.today()
    given = {"name": "A. Byron", "date": today - timedelta(1), "purpose": "a test", "why": "as asked for"}
    (folder / "signed.toml").write_text(eh.SignOff(**given | change).to_toml())
    return ("--sign-off", "signed.toml")


@pytest.mark.slow
@pytest.mark.parametrize("command", WRITERS)
def test_it_is_written_beside_the_output_and_verified(fitted, inside, command):
    shown = inside(*WRITERS[command], *sign_off(fitted))
    assert shown.returncode == 0, shown.stderr
    assert f"Manifest {MANIFEST}" in flat(shown.stdout)
    checked = inside("verify", MANIFEST, "--again")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "Verified" in flat(checked.stdout)
    assert "running the command again gives the same bytes" in flat(checked.stdout)
    assert "Signed off by A. Byron" in flat(checked.stdout)
    found = document(inside("verify", MANIFEST, "--json"))
    assert (found["kind"], found["stands"], found["manifest"]["signed_off_by"]) == ("manifest", True, "A. Byron")
    assert all(row["agrees"] for row in found["verification"]["checks"])
    # What exists is not overwritten, and not left half-written.
    complained(inside(*WRITERS[command]), "exists already")
    (fitted / "new.csv").unlink()
    complained(inside(*WRITERS[command]), MANIFEST, "exists already")


@pytest.mark.slow
def test_what_the_screen_says_is_what_it_states(fitted, inside):
    said = document(inside(*RELEASE, "--json"))
    manifest = eh.Manifest.load(fitted / MANIFEST)
    assert said["written"]["manifest"] == MANIFEST
    verdict = said["release"]["notes"][0]["text"]
    assert manifest.realised["verdict"].startswith(verdict[0].upper() + verdict[1:])
    assert manifest.realised["kept"] is said["release"]["kept"]
    assert [row["rate"] for row in said["release"]["rates"]] == manifest.rates["after"].tolist()


@pytest.mark.slow
def test_it_can_be_left(fitted, inside):
    shown = inside(*RELEASE, "--no-manifest")
    assert shown.returncode == 0
    assert not (fitted / MANIFEST).exists()
    assert document(inside(*RELEASE, "--no-manifest", "--force", "--json"))["written"]["manifest"] is None


@pytest.mark.slow
def test_one_of_an_earlier_file_is_told(fitted, inside):
    inside(*RELEASE)
    shown = inside(*RELEASE, "--no-manifest", "--force", "--seed", "1")
    assert f"{MANIFEST} is of the file that was there before" in flat(shown.stdout)
    refused = inside("verify", MANIFEST)
    assert refused.returncode == 1
    assert "the output" in flat(refused.stdout)


def test_nothing_is_left_of_a_release_that_fails(fitted, inside):
    before = {path.name for path in fitted.iterdir()}
    (fitted / "short.csv").write_text("group,score\na,1\n")
    complained(inside("release", "fine.mapping", "short.csv", "--out", "new.csv"), "no column 'hired'")
    assert {path.name for path in fitted.iterdir()} == before | {"short.csv"}


@pytest.mark.parametrize(
    ("name", "what"), [("people.csv", "input"), ("fine.mapping", "mapping"), ("new.csv", "output")]
)
@pytest.mark.slow
def test_a_changed_byte_and_a_missing_file_are_named(fitted, inside, name, what):
    inside(*RELEASE)
    content = bytearray((fitted / name).read_bytes())
    content[-1] ^= 1
    (fitted / name).write_bytes(bytes(content))
    refused = inside("verify", MANIFEST)
    assert refused.returncode == 1
    assert "Verification failed" in flat(refused.stdout)
    assert f"the {what} " in flat(refused.stdout)
    (fitted / name).unlink()
    complained(inside("verify", MANIFEST), f"the {what} ", name, f"--{what}")
    content[-1] ^= 1
    (fitted / f"moved-{name}").write_bytes(bytes(content))
    assert inside("verify", MANIFEST, f"--{what}", f"moved-{name}").returncode == 0


@pytest.mark.slow
def test_a_manifest_that_was_altered_fails_verification(fitted, inside):
    inside(*RELEASE)
    text = (fitted / MANIFEST).read_text()
    (fitted / MANIFEST).write_text(text.replace('"seed": ', '"seed": 1'))
    refused = inside("verify", MANIFEST)
    assert refused.returncode == 1
    assert "its checksum does not match" in flat(refused.stdout)
    found = inside("verify", MANIFEST, "--json")
    assert (found.returncode, document(found)["stands"]) == (1, False)


def with_rate(text, value):
    """A manifest with another value in place of a rate, and a checksum that fits."""
    document = json.loads(text)
    document["realised"]["rates"][0]["after"] = value
    return json.dumps(signed(document))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[: len(text) // 2], "no JSON"),
        (lambda text: json.dumps(signed(json.loads(text) | {"version": 2})), "format version 2"),
        (lambda text: json.dumps(signed(json.loads(text) | {"counted": {}})), "'rows' is missing"),
        (lambda text: json.dumps(signed(json.loads(text) | {"counted": {"rows": 10**400}})), "rows of counted must be"),
        (lambda text: with_rate(text, "half"), "after of rates must be a number"),
        (lambda text: with_rate(text, 10**400), "after of rates must be a number"),
    ],
)
@pytest.mark.slow
def test_a_file_that_is_no_valid_manifest_is_bad_input(fitted, inside, change, said):
    inside(*RELEASE)
    (fitted / MANIFEST).write_text(change((fitted / MANIFEST).read_text()))
    for command in COMMANDS.values():
        complained(inside(*command), MANIFEST, said, code=Exit.INPUT)


def test_a_seed_is_given_or_drawn_and_can_be_left_out(fitted, inside, monkeypatch):
    """Without one each release draws another, which its manifest states; a keyed release is the same everywhere."""
    fresh = iter([1, 2])
    monkeypatch.setattr("evenhand.tables.transforming.secrets.randbits", lambda _: next(fresh))
    drawn = {}
    for name in ("one.csv", "two.csv"):
        said = document(inside(*RELEASE[:4], name, "--json"))["options"]
        stated = eh.Manifest.load(fitted / f"{name}.manifest.json").options
        assert (stated["seed"], stated["seed_origin"], stated["draw"]) == (said["seed"], "drawn", "balanced")
        drawn[stated["seed"]] = (fitted / name).read_bytes()
    assert len(drawn) == len(set(drawn.values())) == 2
    seed = next(iter(drawn))
    again = inside(*RELEASE[:4], "again.csv", "--seed", seed, "--no-seed-in-manifest")
    assert (fitted / "again.csv").read_bytes() == drawn[seed]
    left_out = eh.Manifest.load(fitted / "again.csv.manifest.json").options
    assert (left_out["seed"], left_out["seed_origin"]) == (None, "given")
    assert "everybody knows" not in again.stderr
    default = inside("apply", *RELEASE[1:4], "applied.csv", "--no-seed-in-manifest")
    assert "the default seed, which everybody knows; pass a secret one with --seed" in " ".join(default.stderr.split())
    assert inside("verify", "again.csv.manifest.json").returncode == 0
    complained(inside("verify", "again.csv.manifest.json", "--again"), "leaves the seed out", "--again")


@pytest.mark.slow
def test_a_release_that_is_stopped_while_its_rates_are_counted_leaves_nothing(fitted, inside, monkeypatch):
    before = {path.name for path in fitted.iterdir()}

    def stopped(*_, **__):
        assert not (fitted / "new.csv").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.use.manifests.file_rates", stopped)
    assert inside(*RELEASE, "--changes", "listed.csv").returncode == 130
    assert {path.name for path in fitted.iterdir()} == before


@pytest.mark.slow
def test_running_again_finds_another_seed(fitted, inside):
    inside(*RELEASE)
    text = json.loads((fitted / MANIFEST).read_text())
    text["options"]["seed"] = 1
    (fitted / MANIFEST).write_text(json.dumps(signed(text)))
    assert inside("verify", MANIFEST).returncode == 0
    refused = inside("verify", MANIFEST, "--again")
    assert refused.returncode == 1
    assert "other bytes for the output" in flat(refused.stdout)


def test_places_go_with_a_manifest(fitted, inside):
    misused(inside("verify", "fine.mapping", "--again"), "--again", "goes with a manifest")
    misused(inside("verify", "fine.mapping", "--output", "people.csv"), "--output", "goes with a manifest")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.slow
def test_changes_are_listed_and_checked(fitted, inside, ending):
    listed = f"listed.{ending}"
    shown = inside(*RELEASE, "--changes", listed)
    assert f"Changes {listed}" in flat(shown.stdout)
    assert inside("verify", MANIFEST).returncode == 0
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    found, before, after = read(fitted / listed), pd.read_csv(fitted / "people.csv"), pd.read_csv(fitted / "new.csv")
    assert len(found) == (before != after).sum().sum() > 0
    content = bytearray((fitted / listed).read_bytes())
    content[len(content) // 2] ^= 1
    (fitted / listed).write_bytes(bytes(content))
    refused = inside("verify", MANIFEST)
    assert (refused.returncode, "the list of changes" in flat(refused.stdout)) == (1, True)
    (fitted / listed).unlink()
    complained(inside("verify", MANIFEST), "the changes", listed, "--changes")
    complained(inside(*RELEASE[:-1], "x.csv", "--changes", "x.csv"), "written twice")
    misused(inside(*RELEASE[:-1], "x.csv", "--changes", "x.txt"), "--changes", "must end in .csv, .parquet or .pq")


SECRET = hashlib.sha256(b"secret").hexdigest()


def named(folder, path, what="output"):
    """Let a manifest name another file, with a checksum of its own that fits."""
    document = json.loads((folder / MANIFEST).read_text())
    document[what].update(name=str(path), size=6, sha256=SECRET)
    (folder / MANIFEST).write_text(json.dumps(signed(document)))


COMMANDS = {
    "verify": ("verify", MANIFEST),
    "report": ("report", "fine.mapping", "--no-frontier", "--manifest", MANIFEST),
    "bundle": ("report", "fine.mapping", "--bundle", "made", "--no-frontier", "--manifest", MANIFEST),
    "explain": ("explain", "fine.mapping", "people.csv", "--where", "row=1", "--manifest", MANIFEST),
}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_manifest_has_no_other_files_opened(fitted, inside, command, monkeypatch):
    """Devices, pipes and files of the kernel would never end; whose bytes are read, its author could guess."""
    folder, outside = fitted / "given", fitted / "secret"
    folder.mkdir()
    outside.write_text("secret")
    monkeypatch.chdir(fitted)
    inside(*RELEASE)
    for name in ("people.csv", "fine.mapping", "new.csv", MANIFEST):
        shutil.move(fitted / name, folder / name)
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to(outside)
    monkeypatch.chdir(folder)
    for name in ("/dev/zero", "pipe", "/proc/kmsg", "../secret", str(outside), "link", ".", "gone"):
        named(folder, name)
        refused = inside(*COMMANDS[command])
        complained(refused, "output", "manifest", code=Exit.INPUT)
        assert SECRET[:8] not in refused.stdout + refused.stderr
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).symlink_to("/dev/zero")
    complained(inside(*COMMANDS[command]), "is a device", code=Exit.INPUT)


@pytest.mark.slow
def test_files_elsewhere_are_opened_where_they_are_named(fitted, inside):
    (fitted / "out").mkdir()
    inside(*RELEASE[:-1], "out/new.csv")
    asked = ("verify", f"out/{MANIFEST}")
    complained(inside(*asked), "'../people.csv', the mapping '../fine.mapping'; add --input", "and --mapping")
    assert inside(*asked, "--input", "people.csv", "--mapping", "fine.mapping").returncode == 0


class TestSignOffs:
    def test_one_that_expired_is_refused_before_anything_is_written(self, fitted, inside):
        past = sign_off(fitted, date=date(2020, 1, 1), expires=date(2020, 12, 31))
        for command in WRITERS.values():
            complained(inside(*command, *past), "signed.toml", "expired on 2020-12-31")
        assert not (fitted / "new.csv").exists()
        assert not (fitted / MANIFEST).exists()

    @pytest.mark.slow
    @pytest.mark.slow
    def test_a_report_shows_it(self, fitted, inside):
        shown = inside("report", "fine.mapping", "--no-frontier", *sign_off(fitted))
        assert shown.returncode == 0, shown.stderr
        found = json.loads((fitted / "report.json").read_text())["report"]["sign_off"]
        assert found["signed_off_by"] == "A. Byron"
        assert "A. Byron" in (fitted / "report.html").read_text()
        inside(*RELEASE, *sign_off(fitted))
        again = ("report", "fine.mapping", "--no-frontier", "--force", "--manifest", MANIFEST)
        assert inside(*again, "--sign-off", "signed.toml").returncode == 0
        complained(inside(*again, *sign_off(fitted, why="another reason")), "another sign-off")
        complained(inside(*again, *sign_off(fitted, date=date(2020, 1, 1), expires=date(2020, 1, 2))), "expired on")

    @pytest.mark.slow
    def test_one_that_expires_later_is_said_by_verify(self, fitted, inside, monkeypatch):
        inside(*RELEASE, *sign_off(fitted, expires=date.today()))
        assert inside("verify", MANIFEST).returncode == 0

        class Tomorrow(date):
            @classmethod
            def today(cls):
                return date.today() + timedelta(1)

        monkeypatch.setattr("evenhand.use.manifests.date", Tomorrow)
        refused = inside("verify", MANIFEST)
        assert refused.returncode == 1
        assert "the sign-off by A. Byron expired on" in flat(refused.stdout)

    @pytest.mark.parametrize(
        ("text", "said"),
        [('name = "A"', "lacks date and purpose and why"), ("name = ", "TOML"), (None, "cannot read the sign-off")],
    )
    def test_one_that_is_none_is_refused(self, fitted, inside, text, said):
        if text is not None:
            (fitted / "signed.toml").write_text(text)
        complained(inside(*RELEASE, "--sign-off", "signed.toml"), "signed.toml", said)
