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

import pytest
import reports
from sklearn.dummy import DummyClassifier
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.commands import app
from evenhand.cli.reports import report as cli_report
from evenhand.render.sentences import sentence
from evenhand.report import page
from evenhand.report.page import CONTENTS
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
    for part, _ in CONTENTS:
        assert part in page.ids, part
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
    assert {chart["data-chart"] for chart in charts} == {"rates", "levels", "flows", "gains", "decisions", "frontier"}
    assert all(len(chart["aria-label"]) > 40 for chart in charts)


def test_the_page_says_the_summarys_numbers(report, compas_mapping):
    text = " ".join(" ".join(Outline(report.html).text).split())
    for words in ("optimal", "0.02124", "59.3%", "40.4%", "of 142 cells are not shown"):
        assert words in text, words
    for fitted in report.summary["models"]["fitted"]["rows"]:
        if fitted["outcome"] == report.summary["rates"]["told"]:
            assert f"{100 * fitted['decision_before']:.1f}% → {100 * fitted['decision']:.1f}%" in text
    assert "fair" not in text.lower().replace("fairlearn", "")
    assert "unbiased" not in text.lower()


def test_the_first_screen_is_the_brief(report, hostile):
    for found in (report, hostile):
        text = " ".join(" ".join(Outline(found.html.split("</header>")[0]).text).split())
        places = [text.index(answer["question"]) for answer in found.summary["brief"]]
        assert places == sorted(places)
        said = [words for answer in found.summary["brief"] for words in (answer["answer"], *answer["words"])]
        for words in (*said, found.summary["cost"]["words"][0], found.summary["decisions"]["words"]):
            assert " ".join(words.split()) in text
    assert "1.61 times → 1.10 times" in report.html
    assert "those who are not shown here included" in hostile.html


@pytest.mark.slow
def test_columns_outside_the_problem_are_named():
    frame = reports.secretive_frame()
    mapping = eh.fit(reports.secretive_problem(eh.PairwiseParity(0.3)), frame)
    said = eh.report_on(mapping, frame=frame, trace=False).summary["not_covered"]
    assert any("passed through unchanged, and nothing bounds what a model learns from them" in text for text in said)
    assert any("outside the problem, passed through unchanged: zip;" in text for text in said)
    said = eh.report_on(mapping, frame=frame.drop(columns="zip"), trace=False).summary["not_covered"]
    assert "the given table has no columns outside the problem" in said
    said = eh.report_on(mapping, trace=False).summary["not_covered"]
    assert not any("given table" in text for text in said)


def test_the_worst_off_are_named_by_column(report):
    row = report.summary["worst_off"]["rows"][0]
    named = ", ".join(f"{name}={level}" for name, level in row["cell"].items())
    text = " ".join(" ".join(Outline(report.html).text).split())
    assert named in text
    changed = {name: level for name, level in row["likeliest_change"].items() if level != row["cell"][name]}
    assert changed
    assert all(f"{name}: {row['cell'][name]} → {level}" in text for name, level in changed.items())
    assert "Group (sex, race)" in text


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
    assert len(folded) == 3
    assert all("open" in attributes for attributes in folded)
    text = " ".join(page.text)
    assert text.index("Surest is a hold-out") < text.rindex("In the paper’s terms") < text.index("(section 3.5)")


@pytest.mark.slow
def test_it_says_nothing_on_the_console(caplog, capfd):
    with caplog.at_level("WARNING"):
        eh.report_on(reports.hostile_mapping(), frame=reports.hostile_frame())
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_the_model_is_the_mappings(report, compas, compas_mapping):
    with pytest.raises(eh.DataError, match="the table has no rows"):
        compas_mapping.model_rates(compas.frame[:0])
    rates = compas_mapping.model_rates(compas.frame)
    rows = report.summary["models"]["fitted"]["rows"]
    for name in ("released", "predicted", "score", "decision"):
        assert [row[name] for row in rows] == pytest.approx(rates[name].tolist())


def test_the_frontier_has_the_mapping_on_it(report, compas_mapping):
    frontier = report.summary["frontier"]
    changed = float(compas_mapping.counts.probability @ compas_mapping.achieved.changed)
    own = {"bound": 0.1, "said": "1.10 times", "objective": compas_mapping.objective, "changed": changed}
    assert frontier["chosen"] == own
    (point,) = [row for row in frontier["points"] if row["bound"] == 0.1]
    assert {name: point[name] for name in own} == own
    for name in ("objective", "lower_bound", "status"):
        assert point[name] == getattr(compas_mapping.certificate, name)
    assert frontier["edges"]["identity_from"] == pytest.approx(0.6146101, abs=1e-6)
    assert "optimal: this mapping" in report.html
    # It ends where nobody need change; the mapping's own is known without solving.
    assert frontier["points"][-1]["bound"] == pytest.approx(frontier["edges"]["identity_from"], abs=1e-6)
    assert frontier["points"][-1]["changed"] == 0
    assert len(frontier["points"]) == reporting.POINTS + 1


@pytest.mark.slow
def test_no_clock_decides_what_is_in_a_report(monkeypatch):
    """On a machine so slow that an hour goes by whenever somebody looks, the frontier is the same."""
    mapping = reports.hostile_mapping()
    quick = reporting._traced(mapping, 4, lambda *_: None)
    hours = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: 3600.0 * next(hours))
    assert reporting._traced(mapping, 4, lambda *_: None) == quick
    assert {row["status"] for row in quick["points"]} == {"optimal"}
    assert not any("second" in sentence(note) for note in quick["notes"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "words"),
    [(0.5, "Every bound can be met, down to zero;"), (0.25, "No mapping meets a bound tighter than 1.21 times;")],
)
def test_the_smallest_bound_that_can_be_met_is_said(compas, budget, words):
    problem = replace(compas.problem, budget=eh.ExpectedDistortion(budget)).with_bounds(lambda _: 0.4)
    found = reporting._traced(eh.fit(problem, compas.counts), 2, lambda *_: None)
    assert any(words in sentence(note) for note in found["notes"])


def test_what_cannot_be_traced_still_has_the_mapping(monkeypatch):
    def fails(*_, **__):
        raise eh.SolverError("nothing was found")

    monkeypatch.setattr(reporting, "frontier_around", fails)
    mapping = reports.hostile_mapping()
    found = reporting._traced(mapping, 4, lambda *_: None)
    assert found["points"] == [found["chosen"] | {"lower_bound": mapping.certificate.lower_bound, "status": "optimal"}]
    assert "nothing was found" in sentence(found["notes"][0])


@pytest.mark.parametrize("points", [1, 2.5, True, "many"])
def test_a_number_of_points_that_is_none(compas_mapping, points):
    with pytest.raises(eh.SpecError, match="points must be a whole number"):
        eh.report_on(compas_mapping, points=points)


def test_it_names_its_file(report):
    repeat = report.summary["repeat"]
    assert repeat["mapping_file"] == "compas.mapping"
    assert re.fullmatch("[0-9a-f]{64}", repeat["mapping_sha256"])
    assert repeat["mapping_sha256"] in report.html


def said_to_repeat(report):
    return report.summary["repeat"]["commands"][-1]["command"]


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
    assert again.summary == hostile.summary


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
    groups = [row["weight"] for row in report.summary["changes"]["groups"]]
    outcomes = len(report.summary["rates"]["shown"])
    table = re.search(r"<caption>(Rates by group[^<]*)</caption>.*?<tbody>(.*?)</tbody>", text, flags=re.DOTALL)
    caption, body = table.groups()
    listed = body.count("<tr>")
    assert listed <= 48
    # As many as are said, the largest of all that may be shown.
    total = len(mapping.counts.groups.cells)
    assert (f"the {listed // outcomes} largest of {total} groups" in caption) == (listed // outcomes < len(groups))
    every = len(mapping.counts.domain.outcome.levels)
    assert (f"the {outcomes} commonest of {every} outcomes" in caption) == (1 < outcomes < every)
    for part in re.findall(r"<tbody>(.*?)</tbody>", text, flags=re.DOTALL):
        assert part.count("<tr>") <= 60
    for part in re.findall(r"<ul>(.*?)</ul>", text, flags=re.DOTALL):
        assert part.count("<li>") <= 25


def test_a_page_holds_nothing_that_a_reader_would_obey(hostile):
    """An escape, a bell and an override of the direction in a name, a problem and a command."""
    summary = json.loads(re.sub(r"\bsmall\b", r"sm\\u001b\\u0007\\u202eall", json.dumps(hostile.summary)))
    shown = page.page(summary)
    assert "sm␛␇�all" in shown
    assert all(line.isprintable() for line in re.sub("[\u2068\u2069]", "", shown).split("\n"))


def test_a_page_runs_its_own_script_alone(hostile):
    (policy,) = re.findall(r"script-src '([^']*)'", hostile.html)
    (script,) = re.findall(r"<script>(.*?)</script>", hostile.html, flags=re.DOTALL)
    assert policy == f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def test_saving_writes_both_in_one_step(hostile, tmp_path):
    page, beside = hostile.save(tmp_path / "r.html")
    assert (page.name, beside.name) == ("r.html", "r.json")
    assert page.read_text(encoding="utf-8") == hostile.html
    assert json.loads(beside.read_text(encoding="utf-8")) == hostile.summary
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html", "r.json"]
    with pytest.raises(eh.StorageError):
        hostile.save(tmp_path / "nowhere" / "r.html")


@pytest.mark.slow
def test_a_model_of_ones_own():
    model, mapping = DummyClassifier(strategy="prior"), reports.hostile_mapping()
    found = eh.report_on(mapping, frame=reports.hostile_frame(), model=model, sees_protected=True, trace=False)
    fitted = found.summary["models"]["fitted"]
    assert "The model DummyClassifier" in fitted["model"]
    assert fitted["sees_protected"] is True
    with pytest.raises(eh.DataError, match="frame="):
        eh.report_on(mapping, model=model)


@pytest.mark.slow
def test_where_nobody_changes_the_charts_of_changes_are_left_out():
    found = eh.report_on(reports.hostile_mapping(bound=50.0), trace=False)
    assert 'data-chart="rates"' in found.html
    assert 'data-chart="flows"' not in found.html
    assert found.summary["brief"][1]["answer"] == "nobody"
    assert found.summary["changes"]["share"] == 0


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


def test_a_missing_package_is_told_before_any_work(compas_mapping, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page.template.cache_clear()
    with pytest.raises(eh.MissingExtraError, match=r"pip install 'evenhand\[charts\]'"):
        eh.report_on(compas_mapping, progress=lambda *_: pytest.fail("work was done"))


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
def test_the_command_writes_the_page_and_its_summary(folder):
    reports.hostile_frame().to_csv("people.csv", index=False)
    result = run("report", "people.mapping", "--no-frontier", "--table", "people.csv", "--hide-below", "50", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["command"] == "report"
    assert answer["written"] == {"page": "report.html", "summary": "report.json"}
    assert answer["summary"] == json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert answer["summary"]["small_cells"]["hide_below"] == 50
    assert answer["summary"]["models"]["fitted"]["rows"]
    digest = hashlib.sha256((folder / "people.mapping").read_bytes()).hexdigest()
    assert answer["summary"]["repeat"]["mapping_sha256"] == digest


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
    summary = json.loads(Path("a.json").read_text(encoding="utf-8"))
    program, *again = shlex.split(summary["repeat"]["commands"][-1]["command"])
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
    _, again, page = [shlex.split(step["command"]) for step in repeat["commands"]]
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
    found = eh.report_on(compas_mapping).summary["frontier"]
    assert len(found["points"]) == reporting.POINTS_OF_LARGE + 1


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
