"""The command evidence: what it writes and shows, how its report is written again, and how it refuses."""

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
    shown = inside("evidence", "fine.mapping", "--out", "evidence", "--no-frontier", *more)
    assert shown.returncode == 0, shown.stderr
    assert "Impact ratios, before and after: ratios, no verdict" in flat(shown.stdout)
    summary = json.loads((fitted / "evidence" / "report.json").read_text())
    (again,) = [each["command"] for each in summary["repeat"]["commands"] if " report " in each["command"]]
    words = again.split()[1:]
    assert inside(*words, "--out", "again.html").returncode == 0
    assert (fitted / "again.html").read_bytes() == (fitted / "evidence" / "report.html").read_bytes()
    assert (fitted / "again.json").read_bytes() == (fitted / "evidence" / "report.json").read_bytes()


@pytest.mark.slow
def test_the_document_and_what_is_refused(fitted, inside):
    found = document(inside("evidence", "fine.mapping", "--no-frontier", "--selected", "0", "--json"))
    assert found["written"] == {"folder": "evidence"}
    assert [row["file"] for row in found["files"]][-1] == "SHA256SUMS"
    assert {row["by"] for row in found["impact_ratios"]} == {"group"}
    complained(inside("evidence", "fine.mapping"), "exists already; --force")
    complained(inside("evidence", "fine.mapping", "--out", "x", "--selected", "9"), "--selected names hired=9")
    complained(inside("evidence", "nothing", "--out", "x"), "cannot read the mapping file")
    complained(inside("evidence", "fine.mapping", "--out", "no/where"), "there is no folder")
    complained(inside("evidence", "fine.mapping", "--out", "x", "--sign-off", "fine.toml"), "sign-off")
    complained(inside("evidence", "fine.mapping", "--out", "x", "--manifest", "fine.toml"), "fine.toml")
    assert not (fitted / "x").exists()


@pytest.mark.slow
def test_weights_and_who_is_not_counted(fitted, inside):
    people = pd.read_csv(fitted / "people.csv")
    people["w"] = [0.5, 2.0] * (len(people) // 2) + [1.0] * (len(people) % 2)
    people.loc[:2, "group"] = "new"
    people.to_csv(fitted / "weighted.csv", index=False)
    given = ("evidence", "fine.mapping", "--no-frontier", "--table", "weighted.csv", "--force", "--weights", "w")
    given = (*given, "--show-all-groups")
    found = document(inside(*given, "--json"))
    own = people[people["group"] != "new"].groupby("group")["w"].sum()
    assert [row["people"] for row in found["impact_ratios"]] == own.tolist()
    assert (found["weighed"], found["unknown"]) == (True, {"group": people.loc[:2, "w"].sum()})
    shown = flat(inside(*given).stdout)
    assert "People by weight" in shown
    for note in (*found["notes"], "people by weight have no known group: they are in no ratio by it"):
        assert note in shown
    misused(inside("evidence", "fine.mapping", "--weights", "w"), "--weights", "goes with --table")


@pytest.mark.slow
def test_a_manifest_whose_sign_off_expired_is_refused(fitted, inside):
    released = inside("release", "fine.mapping", "people.csv", "--out", "new.csv")
    assert released.returncode == 0, released.stderr
    path = fitted / "new.csv.manifest.json"
    today = date.today()
    past = SignOff("A. Byron", today - timedelta(9), "a pilot", "agreed", today - timedelta(1))
    replace(Manifest.load(path), sign_off=past).save()
    for command in (("evidence", "fine.mapping", "--out", "x"), ("report", "fine.mapping", "--out", "x.html")):
        complained(inside(*command, "--no-frontier", "--manifest", path.name), "A. Byron", "expired on")
    assert not list(fitted.glob("x*"))
