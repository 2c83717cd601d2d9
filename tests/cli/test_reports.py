"""The command report: a bundle, how its report is written again, and how it refuses."""

import json
from dataclasses import replace
from datetime import date, timedelta

import pandas as pd
import pytest
from commands import complained, document, flat, misused

from evenhand.findings.manifest import Manifest
from evenhand.spec.sign_off import SignOff


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--table", "people.csv", "--hide-below", "5", "--seed", "3")])
def test_the_folder_and_the_report_again(fitted, inside, more):
    shown = inside("report", "fine.mapping", "--bundle", "bundle", "--no-frontier", *more)
    assert shown.returncode == 0, shown.stderr
    assert "These are ratios, not a verdict" in flat(shown.stdout)
    again = json.loads((fitted / "bundle" / "report.json").read_text())["repeat"]["write"]
    assert "--bundle" not in again
    assert inside(*again.split()[1:], "--out", "again.html").returncode == 0
    for ending in ("html", "json"):
        assert (fitted / f"again.{ending}").read_bytes() == (fitted / "bundle" / f"report.{ending}").read_bytes()


@pytest.mark.slow
def test_the_document_and_what_is_refused(fitted, inside):
    bundle = ("report", "fine.mapping", "--no-frontier", "--bundle")
    found = document(inside(*bundle, "bundle", "--selected", "0", "--json"))
    assert found["written"]["folder"] == "bundle"
    listed = [row["file"] for row in found["written"]["files"]]
    assert (listed[0], listed[-1]) == ("bundle/report.html", "bundle/SHA256SUMS")
    assert {row["by"] for row in found["impact"]["categories"]} == {"group"}
    complained(inside(*bundle, "bundle"), "exists already; --force")
    complained(inside(*bundle, "x", "--selected", "9"), "--selected names hired=9")
    complained(inside("report", "nothing", "--bundle", "x"), "cannot read the mapping file")
    complained(inside(*bundle, "no/where"), "there is no folder")
    complained(inside(*bundle, "x", "--sign-off", "fine.toml"), "sign-off")
    complained(inside(*bundle, "x", "--manifest", "fine.toml"), "fine.toml")
    misused(inside("report", "fine.mapping", "--selected", "0"), "--selected", "goes with --bundle")
    misused(inside("report", "fine.mapping", "--show-all-groups"), "--show-all-groups", "goes with --bundle")
    assert not (fitted / "x").exists()
    assert not list(fitted.glob("report.*"))


@pytest.mark.slow
def test_weights_and_who_is_not_counted(fitted, inside):
    people = pd.read_csv(fitted / "people.csv")
    people["w"] = [0.5, 2.0] * (len(people) // 2) + [1.0] * (len(people) % 2)
    people.loc[:2, "group"] = "new"
    people.to_csv(fitted / "weighted.csv", index=False)
    given = ("report", "fine.mapping", "--no-frontier", "--table", "weighted.csv", "--force", "--weights", "w")
    given = (*given, "--show-all-groups", "--bundle", "bundle")
    found = document(inside(*given, "--json"))
    own = people[people["group"] != "new"].groupby("group")["w"].sum()
    impact = found["impact"]
    assert [row["people"] for row in impact["categories"]] == own.tolist()
    assert (impact["weighed"], impact["unknown"]) == (True, {"group": people.loc[:2, "w"].sum()})
    shown = flat(inside(*given).stdout)
    assert "people by weight" in shown
    for note in impact["notes"]:
        assert note["text"] in shown
    assert "people by weight have no known group: they are in no ratio by it" in shown
    misused(inside("report", "fine.mapping", "--bundle", "x", "--weights", "w"), "--weights", "goes with --table")


@pytest.mark.slow
def test_a_manifest_whose_sign_off_expired_is_refused_and_one_that_holds_is_kept(fitted, inside):
    released = inside("release", "fine.mapping", "people.csv", "--out", "new.csv", "--changes", "changes.csv")
    assert released.returncode == 0, released.stderr
    path = fitted / "new.csv.manifest.json"
    manifest = Manifest.load(path)
    kept = ("--bundle", "kept", "--no-frontier", "--manifest", path.name)
    assert inside("report", "fine.mapping", *kept).returncode == 0
    assert (fitted / "kept" / "manifest.json").read_bytes() == path.read_bytes()
    assert (fitted / "kept" / "changes.csv").read_bytes() == (fitted / "changes.csv").read_bytes()
    today = date.today()
    past = SignOff("A. Byron", today - timedelta(9), "a pilot", "agreed", today - timedelta(1))
    replace(manifest, sign_off=past).save()
    for where in (("--bundle", "x"), ("--out", "x.html")):
        refused = inside("report", "fine.mapping", *where, "--no-frontier", "--manifest", path.name)
        complained(refused, "A. Byron", "expired on")
    assert not list(fitted.glob("x*"))
