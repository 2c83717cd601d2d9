"""Reports as files and pages, without a browser; tests/browser opens them."""

import base64
import hashlib
import html
import inspect
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import reports
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.commands import app
from evenhand.cli.reports import report as cli_report
from evenhand.render.html import MOST_NOTES, MOST_ROWS
from evenhand.render.sentences import sentence, title
from evenhand.use import reporting

pytestmark = pytest.mark.turns(4)


@pytest.fixture(scope="module")
def report(compas, compas_mapping, tmp_path_factory):
    return reports.full(compas, compas_mapping, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def hostile():
    return eh.report_on(reports.hostile_mapping(), trace=False)


class Outline(HTMLParser):
    """What a page is made of."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.ids, self.links, self.text = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.slow
def test_the_page_has_every_part_and_asks_nothing_of_the_network(report):
    page = Outline(report.html)
    linked = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    for section in report.sections[1:]:
        assert section.key in page.ids, section.key
        assert f"#{section.key}" in linked
    assert {href.removeprefix("#") for href in linked} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith(("data:", "#")), attributes
    assert "default-src 'none'" in report.html


def test_headings_descend_and_tables_have_scopes(report):
    page = Outline(report.html)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")
    charts = [attributes for tag, attributes in page.tags if tag == "figure"]
    assert {chart["data-chart"].removeprefix("chart.") for chart in charts} == {
        "rates", "levels", "flows", "gains", "decisions", "frontier",
    }  # fmt: skip
    described = [attributes["aria-label"] for tag, attributes in page.tags if attributes.get("role") == "img"]
    assert len(described) == len(charts)
    assert all(len(words) > 40 for words in described)


def test_the_page_says_the_numbers(report, compas_mapping):
    text = " ".join(" ".join(Outline(report.html).text).split())
    for words in ("optimal", "0.02124", "59.3%", "40.4%", "of 142 cells are not shown"):
        assert words in text, words
    for row in reports.numbers_of(report)["decisions"]["decisions"]:
        assert f"{100 * row['before']:.1f}% → {100 * row['after']:.1f}%" in text
    assert "fair" not in text.lower().replace("fairlearn", "")
    assert "unbiased" not in text.lower()


def test_the_first_screen_has_the_answers_the_table_and_the_rates(report, hostile):
    for found in (report, hostile):
        text = " ".join(" ".join(Outline(found.html.split("</header>")[0]).text).split())
        first, numbers = found.sections[0], reports.numbers_of(found)["report"]
        cards = [part for part in first.parts if part.form == "card"]
        places = [text.index(title(card.key, card.fields)) for card in cards]
        assert len(places) == 6
        assert places == sorted(places)
        said = [words for card in cards for words in (numbers[card.key]["answer"], *reports.said_in(numbers[card.key]))]
        for words in (*said, *list(numbers["in_short"].values())[:2]):
            assert " ".join(words.split()) in text
        assert f"{numbers['people']:,} people in {numbers['groups']} groups" in text
        assert f"evenhand {eh.__version__}" in text
        assert 'data-chart="chart.rates"' in found.html.split("</header>")[0]
    assert "compas.mapping, SHA-256" in report.html.split("</header>")[0]
    assert "1.61 times → 1.10 times" in report.html
    assert "those who are not shown here included" in hostile.html


@pytest.mark.slow
def test_columns_outside_the_problem_are_named():
    frame = reports.secretive_frame()
    mapping = eh.fit(reports.secretive_problem(eh.PairwiseParity(0.3)), frame)
    said = reports.said_in(reports.document_of(mapping, frame=frame)["caveats"])
    assert any("passed through unchanged, and nothing bounds what a model learns from them" in text for text in said)
    assert any("outside the problem, passed through unchanged: zip;" in text for text in said)
    said = reports.said_in(reports.document_of(mapping, frame=frame.drop(columns="zip"))["caveats"])
    assert "the given table has no columns outside the problem" in said
    said = reports.said_in(reports.document_of(mapping)["caveats"])
    assert not any("given table" in text for text in said)


@pytest.mark.slow
def test_how_values_become_levels_is_on_the_page():
    mapping = eh.fit(reports.secretive_problem(eh.PairwiseParity(0.3)), reports.secretive_frame())
    text = " ".join(" ".join(Outline(eh.report_on(mapping, trace=False, hide_below=5).html).text).split())
    for words in ("in bins that begin at 40", "Missing values", "are a level of their own", "<40; >=40", "7 (a level)",
                  "temporary; and 2 not shown"):  # fmt: skip
        assert words in text, words
    assert "not shown (a level)" in eh.report_on(mapping, trace=False).html


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*a bound of 50 allows:evenhand.errors.EvenhandWarning")
def test_where_nothing_costs_anything_it_is_said(report):
    words = "No bound costs anything here: nobody is changed for one."
    assert words in eh.report_on(reports.hostile_mapping(bound=50.0), trace=False).html
    assert words not in report.html


def test_what_is_folded_is_open_without_scripts(report):
    page = Outline(report.html)
    folded = [attributes for tag, attributes in page.tags if tag == "details"]
    assert [attributes["id"] for attributes in folded] == ["in_detail", "points", "statements"]
    assert all("open" in attributes for attributes in folded)
    text = " ".join(page.text)
    assert text.index("Surest is a hold-out") < text.rindex("In the paper’s terms") < text.index("(section 3.5)")


@pytest.mark.slow
def test_it_says_nothing_on_the_console(caplog, capfd):
    with caplog.at_level("WARNING"):
        eh.report_on(reports.hostile_mapping(), frame=reports.hostile_frame())
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_the_frontier_has_the_mapping_on_it(report, compas_mapping):
    frontier = reports.numbers_of(report)["cost"]["frontier"]
    points = frontier["points"]["every_point"]
    changed = float(compas_mapping.counts.probability @ compas_mapping.achieved.changed)
    own = {"in_words": "1.10 times", "objective": compas_mapping.objective, "changed": changed}
    (point,) = [row for row in points if row["bound"] == 0.1]
    assert {name: point[name] for name in own} == own
    assert point["lower_bound"] == compas_mapping.certificate.lower_bound
    assert [row["status"] for row in points].count("optimal: this mapping") == 1
    assert point["status"] == "optimal: this mapping"
    smallest, *_, unchanged = frontier["edges"]
    assert unchanged["bound"] == pytest.approx(0.6146101, abs=1e-6)
    assert (smallest["bound"], unchanged["in_words"]) == (pytest.approx(0, abs=1e-9), "1.61 times")
    # It ends where nobody need change; the mapping's own is known without solving.
    assert points[-1]["bound"] == pytest.approx(unchanged["bound"], abs=1e-6)
    assert points[-1]["changed"] == 0
    assert len(points) == reporting.POINTS + 1
    # The curves end there as well, and the mapping is marked on them.
    (chart,) = next(section for section in report.sections if section.key == "cost").part("frontier").charts
    assert [(point.x, point.y) for point in chart.points] == [(0.1, compas_mapping.objective)]
    assert chart.y == ("objective", "changed")
    assert max(chart.table.values("bound")) == pytest.approx(unchanged["bound"], abs=1e-6)


@pytest.mark.slow
def test_no_clock_decides_what_is_in_a_report(monkeypatch):
    """On a machine so slow that an hour goes by whenever somebody looks, the frontier is the same."""
    mapping = reports.hostile_mapping()
    quick = reporting._traced(mapping, 4, lambda *_: None)
    hours = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: 3600.0 * next(hours))
    again = reporting._traced(mapping, 4, lambda *_: None)
    assert again.found.to_json() == quick.found.to_json()
    assert again.notes == quick.notes
    assert set(quick.found.frame["status"]) == {"optimal"}
    assert not any("second" in sentence(note) for note in quick.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "words"),
    [(0.5, "Every bound can be met, down to zero;"), (0.25, "No mapping meets a bound tighter than 1.21 times;")],
)
def test_the_smallest_bound_that_can_be_met_is_said(compas, budget, words):
    problem = replace(compas.problem, budget=eh.ExpectedDistortion(budget)).with_bounds(lambda _: 0.4)
    found = reporting._traced(eh.fit(problem, compas.counts), 2, lambda *_: None)
    assert any(words in sentence(note) for note in found.notes)


def test_what_cannot_be_traced_still_has_the_mapping(monkeypatch):
    def fails(*_, **__):
        raise eh.SolverError("nothing was found")

    monkeypatch.setattr(reporting, "frontier_around", fails)
    mapping = reports.hostile_mapping()
    found = reports.document_of(mapping, trace=True, hide_below=0)["cost"]["frontier"]
    (point,) = found["points"]["every_point"]
    assert (point["bound"], point["objective"], point["status"]) == (0.5, mapping.objective, "optimal: this mapping")
    assert point["lower_bound"] == mapping.certificate.lower_bound
    assert "nothing was found" in reports.said_in(found)[0]


@pytest.mark.parametrize("points", [1, 2.5, True, "many"])
def test_a_number_of_points_that_is_none(compas_mapping, points):
    with pytest.raises(eh.SpecError, match="points must be a whole number"):
        eh.report_on(compas_mapping, points=points)


def test_it_names_its_file(report):
    repeat = reports.numbers_of(report)["repeat"]
    assert re.fullmatch("compas.mapping, SHA-256 [0-9a-f]{64}", repeat["mapping_file"])
    assert repeat["mapping_file"] in report.html


def said_to_repeat(report):
    return reports.numbers_of(report)["repeat"]["write"]


@pytest.mark.slow
def test_the_call_that_it_names_gives_the_same_bytes(tmp_path, monkeypatch):
    """A table is named as its argument is; everything else is written out."""
    monkeypatch.chdir(tmp_path)
    reports.hostile_mapping().save("it's people.mapping")
    names = {"eh": eh, "frame": reports.hostile_frame(), "mapping": reports.hostile_mapping()}
    found = eh.report_on(
        eh.Mapping.load("it's people.mapping"), frame=names["frame"], hide_below=5, points=3, confidence=0.9, seed=4,
        sees_protected=True, source="it's people.mapping",
    )  # fmt: skip
    bare = eh.report_on(names["mapping"], trace=False)
    assert said_to_repeat(bare) == 'eh.report_on(mapping, trace=False).save("report.html")'
    for report in (found, bare):
        assert said_to_repeat(report) in html.unescape(report.html)
        exec(said_to_repeat(report), names)
        assert Path("report.html").read_text(encoding="utf-8") == report.html


def test_names_are_escaped_wherever_they_stand(hostile):
    """In text and in attributes; the script reads none of them."""
    page = Outline(hostile.html)
    assert reports.HOSTILE in " ".join(page.text)
    assert not [a for t, a in page.tags if "onerror" in a]
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not [tag for tag, _ in page.tags if tag == "img"]


@pytest.mark.slow
def test_the_same_mapping_gives_the_same_page(hostile):
    again = eh.report_on(reports.hostile_mapping(), trace=False)
    assert again.html == hostile.html
    assert again.to_json() == hostile.to_json()


WRITES = """
import sys
import evenhand as eh
eh.report_on(eh.Mapping.load("people.mapping"), points=2).save(sys.argv[1])
"""


@pytest.mark.slow
def test_the_same_inputs_give_the_same_bytes_in_every_process(tmp_path):
    """Whatever the seed of hashes, the number of threads, the hour, and what was drawn before."""
    reports.wide_mapping("two groups").save(tmp_path / "people.mapping")
    settings = {
        "one": {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TZ": "Asia/Tokyo"},
        "two": {"PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "TZ": "America/Lima"},
    }
    for name, given in settings.items():
        command = [sys.executable, "-c", WRITES, f"{name}.html"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, **given}, check=True)
    here = eh.report_on(eh.Mapping.load(tmp_path / "people.mapping"), points=2).save(tmp_path / "here.html")
    for ending in ("html", "json"):
        written = {(tmp_path / f"{name}.{ending}").read_bytes() for name in (*settings, "here")}
        assert len(written) == 1
    assert here[0].name == "here.html"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["many of both", *reports.WIDE_TABLES])
def test_a_page_lists_what_can_be_read_and_counts_it(name):
    mapping = reports.wide_mapping(name)
    report = eh.report_on(mapping, trace=False)
    text = report.html[: report.html.index("<script>")]
    section = next(section for section in report.sections if section.key == "rates")
    rates, (chart, *_) = section.table("every_rate"), section.charts or report.sections[0].charts
    table = re.search(r"<caption>(Rates by group[^<]*)</caption>.*?<tbody>(.*?)</tbody>", text, flags=re.DOTALL)
    caption, body = table.groups()
    assert body.count("<tr>") == min(len(rates.shown), MOST_ROWS)
    assert (f"the first {MOST_ROWS} of {len(rates.shown):,}" in caption) == (len(rates.shown) > MOST_ROWS)
    # As many groups are drawn as are said, the largest of all that may be shown.
    drawn, total = set(chart.table.values("group")), len(mapping.counts.groups.cells)
    assert len(chart.table.rows) <= 48
    weights = {row["group"]["group"]: row["weight"] for row in rates.records()}
    said = " ".join(sentence(note) for note in chart.notes)
    assert (f"The {len(drawn)} largest of {total} groups" in said) == (len(drawn) < len(weights))
    left = [weights[name] for name in weights if name not in drawn]
    assert min(weights[name] for name in drawn) >= max(left, default=0)
    outcomes, every = len(set(chart.table.values("level"))), len(mapping.counts.domain.outcome.levels)
    assert (f"The {outcomes} most common of {every} outcomes" in said) == (1 < outcomes < every)
    for part in re.findall(r"<tbody>(.*?)</tbody>", text, flags=re.DOTALL):
        assert part.count("<tr>") <= MOST_ROWS
    for part in re.findall(r"<ul>(.*?)</ul>", text, flags=re.DOTALL):
        assert part.count("<li>") <= MOST_NOTES + 1


def test_a_page_holds_nothing_that_a_reader_would_obey():
    """An escape, a bell and an override of the direction in a name, a problem and a command."""
    hostile = "b\x1b\x07\u202eg"
    frame = reports.hostile_frame().replace({"<b>group</b>": {"a & b": hostile}})
    mapping = eh.fit(reports.hostile_mapping().problem, frame)
    shown = eh.report_on(mapping, trace=False, command=f"evenhand report {hostile}").html
    assert shown.count("b␛␇\ufffdg") > 10
    assert all(line.isprintable() for line in re.sub("[\u2068\u2069]", "", shown).split("\n"))


def test_a_page_runs_its_own_script_alone(hostile):
    (policy,) = re.findall(r"script-src '([^']*)'", hostile.html)
    (script,) = re.findall(r"<script>(.*?)</script>", hostile.html, flags=re.DOTALL)
    assert policy == f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def test_saving_writes_both_in_one_step(hostile, tmp_path):
    page, beside = hostile.save(tmp_path / "r.html")
    assert (page.name, beside.name) == ("r.html", "r.json")
    assert page.read_text(encoding="utf-8") == hostile.html
    assert beside.read_text(encoding="utf-8") == hostile.to_json()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html", "r.json"]
    with pytest.raises(eh.StorageError):
        hostile.save(tmp_path / "nowhere" / "r.html")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PairwiseParity. a bound of 50")
def test_where_nobody_changes_the_charts_of_changes_are_left_out():
    found = eh.report_on(reports.hostile_mapping(bound=50.0), trace=False)
    assert 'data-chart="chart.rates"' in found.html
    assert 'data-chart="chart.flows"' not in found.html
    numbers = reports.numbers_of(found)
    assert numbers["report"]["changed"]["answer"] == "nobody"
    assert numbers["changes"]["share"] == 0


@pytest.mark.slow
def test_progress_never_goes_back():
    told = []
    eh.report_on(reports.hostile_mapping(), progress=lambda stage, share: told.append(round(share, 9)))
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"command": ["make", "report"]}, eh.SpecError, "command must be a text"),
        ({"missing": "levels"}, eh.SpecError, "missing must be one of .*'level'"),
        ({"source": 3}, eh.SpecError, "source must be a path"),
        ({"source": "no/such/mapping"}, eh.StorageError, "cannot read the mapping file 'no/such/mapping'"),
    ],
)
def test_what_is_wrong_is_told_before_any_work(compas_mapping, given, error, words):
    with pytest.raises(error, match=words):
        eh.report_on(compas_mapping, **given, progress=lambda *_: pytest.fail("work was done"))


def test_it_is_versioned_json(hostile):
    found = reports.numbers_of(hostile)
    assert (found["format"], found["version"]) == (reporting.FORMAT, reporting.VERSION) == ("evenhand-report", 1)
    assert json.loads(json.dumps(found, allow_nan=False)) == found == json.loads(json.dumps(hostile.document))
    assert list(found)[3:] == [section.key for section in hostile.sections]


def test_it_shows_itself_in_short_as_text_and_as_markdown(hostile):
    apart = reports.numbers_of(hostile)["report"]["apart"]["answer"]
    assert repr(hostile) == f"<Report of {len(hostile.sections)} sections: {apart}>"
    for text in (str(hostile), hostile.to_markdown(), hostile._repr_html_()):
        assert "What is changed, for whom, at what cost" in text
        assert "Who bears most" in text
    assert hostile.to_markdown().startswith("## What is changed")
    assert "\n### How far apart are the groups, before and after?" in hostile.to_markdown()
    # The problem keeps its lines.
    assert sum(line.strip() == 'outcome = "y"' for line in str(hostile).splitlines()) == 1


def test_the_certificate_and_the_prices_are_the_mappings(report, compas_mapping):
    found, certificate = reports.numbers_of(report), compas_mapping.certificate
    for name in ("status", "objective", "lower_bound", "max_violation", "row_error"):
        assert found["certificate"][name] == getattr(certificate, name)
    assert found["certificate"]["gap"] == max(certificate.gap, 0.0)
    total = next(row for row in found["cost"]["prices"]["every_price"] if row["level"] == "total")
    assert total["price"] == pytest.approx(compas_mapping.prices().parity[0])
    assert eh.Problem.from_toml(found["problem"]["toml"]) == compas_mapping.problem
    assert "numpy" in found["repeat"]["versions"]


def test_who_changes_and_who_gains_are_the_audits(report, compas_mapping):
    found, audit = reports.numbers_of(report), compas_mapping.audit()
    assert [row["changed"] for row in found["changes"]["groups"]] == pytest.approx(audit.groups["changed"].tolist())
    moves = found["changes"]["moves"]
    listed = {(row["column"], row["from"], row["to"]): row["share"] for row in moves if row["group"] is None}
    for row in audit.changes.to_dict("records"):
        if row["share"] > 1e-3:
            assert listed[row["column"], row["from"], row["to"]] == pytest.approx(row["share"])
    assert found["gains"]["favourable"] == 0
    assert reports.said_in(found["gains"]) == list(audit.sentences("gains"))
    for name in ("weight", "helped", "harmed", "unchanged", "before", "after"):
        assert [row[name] for row in found["gains"]["ledger"]] == pytest.approx(audit.ledger[name].tolist())
    (fallen,) = [row for row in moves if row["column"] == "is_recid" and row["group"] is None]
    counts = compas_mapping.counts
    drop = counts.outcome[1] - counts.groups.probability @ compas_mapping.achieved.rates_after[:, 1]
    assert (fallen["from"], fallen["to"], fallen["share"]) == (1, 0, pytest.approx(drop))
    by_group = [row["people"] for row in moves if row["column"] == "is_recid" and row["group"]]
    assert sum(by_group) == pytest.approx(fallen["people"])


def test_charts_draw_what_the_tables_have(report):
    found = reports.numbers_of(report)
    moves = [row for row in found["changes"]["moves"] if row["group"] is None and row["people"] >= 1]
    flows = found["changes"]["flows"]
    outer = [row for row in flows if row["group"] is None]
    assert [row["change"] for row in outer] == [f"{row['column']}: {row['from']} → {row['to']}" for row in moves]
    assert [row["people"] for row in outer] == [row["people"] for row in moves]
    inner = [row["people"] for row in flows if row["group"]]
    assert sum(inner) == pytest.approx(outer[0]["people"])
    for row in found["gains"]["gains"]:
        group = next(each for each in found["gains"]["ledger"] if {**each, **row["group"]} == each)
        assert row["share"] == pytest.approx(group[row["what"]] / group["weight"])
    rates = {tuple(row["group"].values()): row for row in found["rates"]["every_rate"] if row["outcome"] == 0}
    for row in found["report"]["rates"]:
        own = rates[tuple(row["group"].split(" · "))]
        assert (row["before"], row["after"]) == (own["before"], own["after"])
        assert [row["after_low"], row["after_high"]] == own["interval_after"]


@pytest.mark.slow
def test_a_small_group_that_is_levelled_down_is_not_named():
    mapping = reports.hostile_mapping()
    assert "outcomes" in reports.document_of(mapping)
    for good in (0, 1):
        named = replace(mapping, problem=replace(mapping.problem, favourable=good))
        shown, everything = (reports.document_of(named, hide_below=hide)["gains"] for hide in (20, 0))
        assert "small" not in json.dumps(shown)
        assert "small" in json.dumps(everything)
        assert len(shown["ledger"]) == len(everything["ledger"]) - 2
    # Nothing says how many hidden groups are levelled down, or whether one is.
    found = reports.document_of(reports.tiny_mapping())["gains"]
    assert [note["key"] for note in found["notes"]] == ["ledger.helped_and_harmed", "hidden.rows"]


@pytest.mark.slow
def test_small_cells_are_counted_and_hidden(adult_mapping):
    shown, everything = reports.document_of(adult_mapping), reports.document_of(adult_mapping, hide_below=0)
    assert shown["report"]["cells_hidden"] >= int((adult_mapping.counts.weight < 20).sum()) > 0
    assert everything["report"]["cells_hidden"] == 0
    assert min(row["weight"] for row in shown["worst_off"]["cells"]) >= 20
    assert min(row["weight"] for row in everything["worst_off"]["cells"]) < 20
    prices = [row for row in shown["cost"]["prices"]["every_price"] if row["level"] == "cell"]
    assert min(row["weight"] for row in prices) >= 20
    assert shown["cost"]["prices"]["hidden"] > everything["cost"]["prices"]["hidden"] == 0
    assert min(row["had"] for row in shown["changes"]["moves"] if row["group"]) >= 20


@pytest.mark.slow
def test_small_groups_are_hidden_with_what_is_said_of_their_size():
    shown, everything = (reports.document_of(reports.hostile_mapping(), hide_below=n) for n in (20, 0))
    # The small one alone would be the total less the others.
    assert shown["report"]["groups_hidden"] == 2
    assert "small" not in {row["group"]["<b>group</b>"] for row in shown["rates"]["every_rate"]}
    assert "small" not in {row["<b>group</b>"] for row in shown["changes"]["groups"]}
    said = json.dumps([everything["caveats"], everything["theory"]])
    assert "small has only 9 people; its rates" in said
    assert "small has only 9 people: too few" in said
    assert "small has" not in json.dumps(shown)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PairwiseParity. a bound of 50")
def test_what_is_free_is_said_to_be(report):
    no_price = "Every price is zero: whichever bound is relaxed, no less is lost."
    assert no_price not in reports.said_in(reports.numbers_of(report)["cost"]["prices"])
    free = reports.document_of(reports.hostile_mapping(bound=50.0))["cost"]["prices"]
    assert free["every_price"] == []
    assert no_price in reports.said_in(free)


def test_new_people_begin_with_what_a_signer_needs(report, compas_mapping):
    found = reports.numbers_of(report)
    said = " ".join([*reports.said_in(found["file"]), *reports.said_in(found["fresh"])])
    tables, releases = compas_mapping.theory.straying(seed=0)
    assert f"{releases.over:.1%} of 2,000 simulated releases violate the bound" in said
    assert f"{tables.over:.1%} of them violate the bound" in said
    assert "hold-out" in said
    assert (found["fresh"]["resamples_over"], found["fresh"]["releases_over"]) == (tables.over, releases.over)
    applying = compas_mapping.theory.applying().frame
    (words, *_) = reports.said_in(found["theory"]["statements"]["applying"])
    assert f"it is at most {applying['features_alone'].max():.4f}" in words


@pytest.mark.slow
def test_coverage_counts_are_told_and_few_are_not_counted():
    mapping = eh.fit(reports.secretive_problem(eh.PairwiseParity(0.3)), reports.secretive_frame())
    shown, more = (
        {row["column"]: row for row in reports.document_of(mapping, hide_below=n)["asked"]["columns"]} for n in (20, 5)
    )
    assert (shown["income"]["rows_missing"], shown["income"]["without_a_value"]) == (None, "not shown (a level)")
    assert (more["income"]["rows_missing"], more["income"]["policy"]) == (7, "a level")
    assert {row["without_a_value"] for name, row in shown.items() if name != "income"} == {"none"}
    assert (shown["sex"]["every_level"], shown["sex"]["levels_hidden"]) == (["m", "w"], 2)
    assert shown["age"]["every_level"] == ["<40", ">=40"]


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.001, 100.0, 1e6])
def test_what_is_hidden_goes_by_people_whatever_they_weigh(compas, compas_mapping, weight):
    weighed = reports.document_of(eh.fit(compas.problem, compas.frame.assign(w=weight), weights="w"))
    plain = reports.document_of(compas_mapping)
    for name in ("groups_hidden", "cells_hidden", "hide_below"):
        assert weighed["report"][name] == plain["report"][name]
    assert plain["report"]["cells_hidden"] > 0
    # The problem states the column, so that the command need not.
    assert "--weights" not in weighed["repeat"]["fit"]
    assert 'weights = "w"' in weighed["problem"]["toml"]
    unnamed = reports.document_of(eh.fit(compas.problem, compas.frame, weights=[weight] * len(compas.frame)))
    assert "table.csv --weights COLUMN" in unnamed["repeat"]["fit"]
    assert len(weighed["changes"]["moves"]) == len(plain["changes"]["moves"])
    assert weighed["cost"]["prices"]["hidden"] == plain["cost"]["prices"]["hidden"]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("parity", [eh.PairwiseParity(0.5), eh.PairwiseParity(0.5, on=["sex"])], ids=["all", "on"])
def test_the_widest_group_is_one_that_is_shown(parity):
    """People count, not weights: a group of few heavy people is hidden, and the next widest is told."""
    rng = np.random.default_rng(3)
    sizes = {"a": 400, "b": 60, "c": 15, "d": 10}
    sex = np.repeat(list(sizes), list(sizes.values()))
    frame = pd.DataFrame({"sex": sex, "region": "r", "x": rng.integers(0, 2, len(sex)), "y": np.arange(len(sex)) % 2})
    problem = eh.Problem(
        protected=["sex", "region"], features=["x"], outcome="y", parity=[parity],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    said = reports.said_in(reports.document_of(eh.fit(problem, frame, weights=[5.0] * len(frame)))["fresh"])
    (widest,) = [words for words in said if words.startswith("Of the 2 groups that are shown")]
    assert "is that of sex=b" in widest
    assert any(words.startswith("2 of 4 groups are not shown") for words in said)


def numbers_in(value):
    """Every number of a document, those within its sentences too."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers_in(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers_in(each)]
    if isinstance(value, str):
        return [float(number) for number in re.findall(r"(?<![\w.])\d+\.\d+", value)]
    return [float(value)] if isinstance(value, int | float) else []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PairwiseParity. a bound of 0.9")
@pytest.mark.parametrize("bound", [0.05, 0.9])
@pytest.mark.parametrize("distance", [eh.Difference(), eh.Ratio(), eh.FourFifths(1)], ids=str)
def test_no_number_tells_how_far_a_hidden_group_is_from_one_that_is_shown(distance, bound):
    """Whether the bound changes nobody, or somebody: its rate before could be worked out from any of these."""
    rng = np.random.default_rng(7)
    rows = [(g, int(y)) for g, n, rate in (("a", 601, 0.5), ("b", 503, 0.56)) for y in rng.random(n) < rate]
    frame = pd.DataFrame([*rows, *(("c", int(y < 2)) for y in range(11))], columns=["g", "y"])
    frame["x"] = rng.integers(0, 2, len(frame))
    problem = eh.Problem(
        protected=["g"], features=["x"], outcome="y", favourable=1, parity=[eh.PairwiseParity(bound, distance)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.95),
    )  # fmt: skip
    report = eh.report_on(eh.fit(problem, frame), points=4)
    found = reports.numbers_of(report)
    rates = frame.groupby("g")["y"].mean()
    own = {name: found[name] for name in found if name not in ("problem", "repeat", "asked")}
    # Charts hold the numbers of their tables, and what is marked on their axes.
    charts = [chart for section in report.sections for part in (section, *section.parts) for chart in part.charts]
    told = np.array([*numbers_in(own), *(line.value for chart in charts for line in chart.lines)])
    for other in (rates["a"], rates["b"]):
        for p, q in ((other, rates["c"]), (1 - other, 1 - rates["c"])):
            apart = [abs(p - q), p / q, q / p, p / q - 1, 1 - q / p, q / p - 1, 1 - p / q]
            for number in (*apart, *(100 * each for each in apart)):
                # Round numbers are met by chance.
                near = np.abs(told - abs(number)) < 1e-4 * max(1.0, abs(number))
                assert not near.any(), (number, told[near])


@pytest.mark.slow
def test_the_end_of_the_frontier_tells_no_hidden_rate():
    """Nobody need change from the bound on that the smallest group's rate is off by."""
    open_, shut = (
        reports.document_of(reports.tiny_mapping(), trace=True, points=4, hide_below=n)["cost"]["frontier"]
        for n in (0, 20)
    )
    unchanged = "from here on nobody need change"
    edges = {row["edge"]: row["bound"] for row in open_["edges"]}
    assert edges[unchanged] == pytest.approx(0.5 / (1 / 16) - 1)
    assert unchanged not in {row["edge"] for row in shut["edges"]}
    for rows in (shut["points"]["every_point"], shut["frontier"]):
        assert max(row["bound"] for row in rows) == pytest.approx(0.2)
    assert any("are left out" in words for words in reports.said_in(shut))


@pytest.mark.slow
def test_changes_that_lose_nothing_are_the_cost_that_is_told():
    found = reports.document_of(reports.tiny_mapping(), trace=True, hide_below=0)
    changed = found["changes"]["share"] * found["changes"]["people"]
    (words, *_) = reports.said_in(found["cost"])
    assert words.startswith(
        f"No utility is lost; what the bounds cost is changes, of {changed:.0f} people; with a bound"
    )
    points = found["cost"]["frontier"]["points"]["every_point"]
    looser = [row for row in points if row["bound"] > 0.2 and row["in_words"] in words]
    assert f"it would be {looser[0]['changed'] * found['changes']['people']:.0f}" in words


@pytest.mark.slow
def test_prices_that_are_not_known_are_not_none(compas):
    roots = eh.UserDistance(lambda p, q: abs(np.sqrt(p) - np.sqrt(q)), name="roots")
    mapping = eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.05, roots)]), compas.counts)
    assert "is not known" in " ".join(reports.said_in(reports.document_of(mapping)["cost"]))


@pytest.mark.slow
def test_what_suppressing_changes_is_not_what_a_bound_costs():
    problem = replace(
        reports.tiny_mapping().problem, parity=[eh.PairwiseParity(5.0)], suppress_protected="fixed",
        distortion=eh.Distortion({"y": eh.Nominal(1)}),
    )  # fmt: skip
    found = reports.document_of(eh.fit(problem, reports.tiny_frame()))["cost"]
    assert [note["key"] for note in found["notes"]] == ["cost.free_of_features"]


def test_it_says_how_to_repeat_it(hostile, tmp_path, monkeypatch):
    assert reports.numbers_of(hostile)["repeat"]["verify"] == "evenhand verify fitted.mapping"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my people").mkdir()
    mapping, file = reports.hostile_mapping(), "my people/a.mapping"
    mapping.save(file)
    repeat = reports.document_of(mapping, source=file, command="evenhand report x")["repeat"]
    assert [repeat[name] for name in ("verify", "fit", "write")] == [
        "evenhand verify 'my people/a.mapping'",
        "evenhand fit problem.toml table.csv --out 'my people/a.mapping'",
        "evenhand report x",
    ]
    assert repeat["mapping_file"].startswith("a.mapping, SHA-256 ")


# ---------------------------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    reports.hostile_mapping().save(tmp_path / "people.mapping")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [*arguments])


@pytest.mark.slow
def test_the_command_writes_the_page_and_its_numbers(folder):
    reports.hostile_frame().to_csv("people.csv", index=False)
    result = run("report", "people.mapping", "--no-frontier", "--table", "people.csv", "--hide-below", "50", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["command"] == "report"
    assert (answer["written"]["page"], answer["written"]["numbers"]) == ("report.html", "report.json")
    assert answer["report"] == json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert answer["report"]["report"]["hide_below"] == 50
    assert answer["report"]["decisions"]["fitted_model"]
    digest = hashlib.sha256((folder / "people.mapping").read_bytes()).hexdigest()
    assert answer["report"]["report"]["mapping"] == f"people.mapping, SHA-256 {digest}"


GIVEN = [
    ("people.mapping",),
    ("people.mapping", "--no-frontier", "--hide-below", "5"),
    ("people.mapping", "--points", "3", "--seed", "7", "--confidence", "0.925", "--memory", "1GB"),
    (
        "people.mapping",
        "--table",
        "the people's.csv",
        "--frequencies",
        "how many",
        "--no-frontier",
        "--hide-below",
        "2.5",
    ),
]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("given", GIVEN, ids=len)
def test_the_command_that_was_run_is_named_with_its_options(folder, given, monkeypatch):
    """As it was typed, but for where the page goes and how fast it comes, which are not on it."""
    reports.weighed_frame().to_csv("the people's.csv", index=False)
    told = []

    def stop(*_, command, **__):
        told.append(command)
        raise eh.SolverError("enough")

    monkeypatch.setattr(reporting, "report_on", stop)
    run("report", *given)
    run("report", *given, "--out", "elsewhere.html", "--force", "--json", "--threads", "1")
    (first, second) = told
    assert first == second
    assert shlex.split(first)[:3] == ["evenhand", "report", "people.mapping"]
    assert sorted(shlex.split(first)) == sorted(("evenhand", "report", *given))


@pytest.mark.slow
@pytest.mark.parametrize("given", GIVEN, ids=len)
def test_the_command_that_is_named_gives_the_same_bytes(folder, given):
    reports.weighed_frame().to_csv("the people's.csv", index=False)
    assert run("report", *given, "--out", "a.html").exit_code == 0
    repeat = json.loads(Path("a.json").read_text(encoding="utf-8"))["repeat"]
    program, *again = shlex.split(repeat["write"])
    assert program == "evenhand"
    assert run(*again).exit_code == 0
    assert Path("report.html").read_bytes() == Path("a.html").read_bytes()
    assert Path("report.json").read_bytes() == Path("a.json").read_bytes()


@pytest.mark.slow
def test_the_commands_that_are_named_give_the_same_mapping_and_the_same_page(folder):
    """All of them, as they are printed: the mapping is fitted again, and reported on again, byte for byte."""
    reports.weighed_frame().to_csv("the people's.csv", index=False)
    Path("my problem.toml").write_text(reports.hostile_mapping().problem.to_toml(), encoding="utf-8")
    fit = ("fit", "my problem.toml", "the people's.csv", "--frequencies", "how many", "--out", "my.mapping", "--force")
    assert run(*fit).exit_code == 0
    assert run("report", "my.mapping", "--points", "2").exit_code == 0
    kept = {name: Path(name).read_bytes() for name in ("my.mapping", "report.html", "report.json")}
    repeat = json.loads(kept["report.json"])["repeat"]
    assert repeat["template"] is False
    again, page = (shlex.split(repeat[name]) for name in ("fit", "write"))
    assert [again[1:], page[1:]] == [list(fit[:-1]), ["report", "my.mapping", "--points", "2"]]
    assert run("verify", "my.mapping").exit_code == 0
    for command in (again, page):
        assert run(*command[1:], "--force").exit_code == 0
    assert {name: Path(name).read_bytes() for name in kept} == kept


def test_the_points_are_as_many_from_python():
    asked = inspect.signature(cli_report).parameters["points"].default
    assert asked is inspect.signature(eh.report_on).parameters["points"].default is None


@pytest.mark.slow
def test_a_large_table_has_fewer_points(compas_mapping, monkeypatch):
    monkeypatch.setattr(reporting, "LARGE", len(compas_mapping.counts) - 1)
    found = reports.document_of(compas_mapping, trace=True)["cost"]["frontier"]["points"]
    assert len(found["every_point"]) == reporting.POINTS_OF_LARGE + 1


@pytest.mark.slow
@pytest.mark.parametrize("there", ["report.html", "report.json"])
def test_what_exists_is_not_overwritten(folder, there):
    (folder / there).write_text("mine")
    result = run("report", "people.mapping", "--no-frontier")
    assert isinstance(result.exception, eh.EvenhandError)
    assert "exists already; --force overwrites it" in str(result.exception)
    assert (folder / there).read_text() == "mine"
    assert run("report", "people.mapping", "--no-frontier", "--force").exit_code == 0
    assert (folder / there).read_text(encoding="utf-8") != "mine"


def test_wrong_commands(folder):
    assert run("report", "people.mapping", "--out", "report.txt").exit_code == 2
    assert run("report", "people.mapping", "--hide-below", "-1").exit_code == 2
    (folder / "broken.mapping").write_bytes(b"nothing")
    assert isinstance(run("report", "broken.mapping").exception, eh.StorageError)
    assert isinstance(run("report", "people.mapping", "--table", "no.csv").exception, eh.EvenhandError)
    assert sorted(p.name for p in folder.iterdir()) == ["broken.mapping", "people.mapping"]
