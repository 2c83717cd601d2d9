"""How commands end, and what they answer with --json: one document on the output stream, nothing else there."""

import json
import re
from pathlib import Path

import pytest
from commands import complained, document, evenhand, flat
from families import small_frame

from evenhand.cli.commands import COMMANDS
from evenhand.cli.exits import Exit

pytestmark = pytest.mark.turns(2)

DOCS = Path(__file__).parent.parent.parent / "docs" / "reference"

ANSWERS = {
    "init": (("people.csv", "--protected", "group", "--outcome", "hired"), ("proposal", "chosen", "written")),
    "fit": (("fine.toml", "people.csv", "--proof", "p"), ("certificate", "rates", "bounds", "written")),
    "shield": (("shield.toml", "people.csv"), ("certificate", "scores", "written")),
    "diagnose": (("fine.toml", "people.csv"), ("diagnosis", "prices", "written")),
    "frontier": (("fine.toml", "people.csv", "--bounds", "0.1:0.5:3"), ("edges", "points", "written")),
    "release": (("fine.mapping", "people.csv", "--out", "r.csv"), ("rows", "options", "release", "balance", "written")),
    "apply": (("fine.mapping", "people.csv", "--out", "a.csv"), ("rows", "options", "written")),
    "expand": (("fine.mapping", "people.csv", "--out", "e.csv"), ("rows", "options", "use", "written")),
    "sql": (
        ("fine.mapping", "--dialect", "postgres", "--table", "people", "--key", "id", "--out", "q.sql"),
        ("written", "query", "options"),
    ),
    "audit": (("fine.mapping", "people.csv"), ("rates", "bounds", "coverage", "scores", "caveats")),
    "report": (("fine.mapping", "--no-frontier"), ("written", "report")),
    "verify": (("fine.mapping",), ("stands", "kind", "verification")),
    "monitor": (
        ("fine.mapping", "people.csv", "--history", "log.jsonl"),
        ("batch", "verdicts", "coverage", "drift", "caveats", "written"),
    ),
    "theory": (("fine.mapping", "--holdout", "people.csv"), ("advantage", "holdout")),
    "explain": (("fine.mapping", "people.csv", "--where", "row=1"), ("where", "person", "other")),
    "compare": (("fine.mapping", "fine.mapping"), ("a", "b", "compared", "compared_rates")),
    "schema": (("--out", "s.json"), ("written", "schema")),
    "example": (("loans", "--out", "loans.csv"), ("written", "table")),
    "demo": (("compas",), ("asked", "rates", "certificate")),
}


def test_every_command_is_here():
    assert {command.__name__ for command in COMMANDS} == {*ANSWERS, "reproduce"}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("command", ANSWERS)
def test_json_is_one_document(fitted, inside, command):
    arguments, keys = ANSWERS[command]
    result = inside(command, *arguments, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    found = document(result)
    assert found["command"] == command
    assert set(keys) <= set(found)
    for path in found.get("written", {}).values():
        assert not isinstance(path, str) or (fitted / path).exists()


def test_json_of_reproduce(monkeypatch, inside):
    from evenhand.studies import reproduce

    wrong = reproduce.Claim("COMPAS", "people", "", 5279, 0.0, lambda: 5278.0)
    monkeypatch.setattr(reproduce, "claims", lambda: [wrong])
    result = inside("reproduce", "--json")
    assert result.returncode == 1
    found = document(result)["reproduced"]
    assert (found["agree"], found["of"]) == (0, 1)
    assert found["numbers"][0]["found"] == 5278


@pytest.mark.slow
def test_numbers_json_does_not_know(inside):
    """A parser that knows only the standard reads every document."""

    def refuse(word):
        raise AssertionError(word)

    json.loads(inside("diagnose", "tight.toml", "people.csv", "--json").stdout, parse_constant=refuse)


@pytest.mark.slow
def test_infinite_and_undefined_numbers(inside, fitted):
    """What is infinite is the word, in the document and on the terminal; what is undefined is null."""
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    frame.to_csv(fitted / "none.csv", index=False)
    found = document(inside("audit", "fine.mapping", "none.csv", "--json"))
    lifts = {(row["group"], row["hired"]): row["contrastive_before"] for row in found["scores"]["lifts"]}
    assert lifts["a", 1] == "infinite"
    assert [row["achieved"] for row in found["bounds"]["violated"]][:1] == ["infinite"]
    assert "-infinite" in {row["slack"] for row in found["bounds"]["every_bound"]}
    said = flat(inside("audit", "fine.mapping", "none.csv").stdout)
    assert "largest disparity before: hired=1" in said
    assert " inf " not in said
    assert document(inside("fit", "fine.toml", "people.csv", "--json", "--force"))["written"]["proof"] is None


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("fit", "tight.toml", "people.csv"), "InfeasibleError", Exit.NO),
        (("fit", "fine.toml", "people.csv", "--speed", "9"), "UsageError", Exit.USAGE),
        (("frontier", "fine.toml", "people.csv", "--bounds", "a:b"), "UsageError", Exit.USAGE),
        (("nonsense",), "UsageError", Exit.USAGE),
        (("fit", "fine.toml", "nowhere.csv"), "DataError", Exit.INPUT),
        (("fit", "nowhere.toml", "people.csv"), "SpecError", Exit.INPUT),
        (("apply", "people.csv", "people.csv", "--out", "x.csv"), "StorageError", Exit.INPUT),
        (("fit", "fine.toml", "people.csv", "--time-limit", "1e-9"), "TimeLimitError", Exit.UNSOLVED),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_errors_have_a_code_in_words_and_in_json(folder, inside, arguments, kind, code):
    said = inside(*arguments)
    assert said.returncode == code
    assert said.stdout == ""
    assert said.stderr
    result = inside(*arguments, "--json")
    assert result.returncode == code
    assert result.stderr == ""
    error = document(result)["error"]
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert error["message"]


@pytest.mark.slow
def test_what_could_be_had_is_in_the_document(folder, inside):
    """The numbers that the message tells; of a refused confidence about how many people it would take."""
    found = document(inside("fit", "tight.toml", "people.csv", "--json"))["error"]
    assert f"{found['smallest_parity_bound']:.4g}" in found["message"]
    assert found["people_needed"] is None
    asked = ("fit", "fine.toml", "people.csv", "--confidence", "0.99", "--json")
    refused = document(inside(*asked))["error"]
    assert refused["kind"] == "InfeasibleError"
    assert f"About {refused['people_needed']:,.0f} people" in refused["message"]


@pytest.mark.slow
def test_an_answer_of_no(folder, inside):
    assert inside("diagnose", "tight.toml", "people.csv").returncode == Exit.NO
    result = inside("diagnose", "tight.toml", "people.csv", "--json")
    assert result.returncode == Exit.NO
    assert document(result)["diagnosis"]["feasible"] is False


@pytest.mark.slow
def test_a_missing_package(folder):
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "duckdb.py").write_text("raise ImportError('hidden')")
    small_frame().to_parquet(folder / "people.parquet")
    result = evenhand("fit", "fine.toml", "people.parquet", cwd=folder, PYTHONPATH=str(hidden))
    complained(result, "pip install 'evenhand[files]'", code=Exit.EXTRA)


@pytest.mark.slow
def test_complaints_and_progress_stay_off_the_output(fitted):
    (fitted / "new.csv").write_text("group,score,hired\nb,7,0\n")
    result = evenhand("--verbose", "apply", "fine.mapping", "new.csv", "--out", "n.csv", "--json", cwd=fitted)
    assert document(result)["rows"]["unseen"] == 1
    assert "Note: 1 of 1 rows" in flat(result.stderr)
    assert "reading the mapping" in result.stderr
    silent = evenhand("apply", "fine.mapping", "people.csv", "--out", "s.csv", "--json", cwd=fitted)
    assert silent.stderr == ""


def test_the_codes_are_documented():
    text = (DOCS / "exit-codes.md").read_text(encoding="utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE)}
    assert listed == {int(code) for code in Exit}
    from evenhand.cli import exits

    assert {int(code) for code in re.findall(r"^(\d+) ", exits.__doc__, flags=re.MULTILINE)} == listed


def test_every_command_is_documented():
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"evenhand {command.__name__}" in text, command


@pytest.mark.slow
def test_completion():
    """What a shell asks, and the script that makes it ask."""
    asked = evenhand(_EVENHAND_COMPLETE="complete_bash", COMP_WORDS="evenhand re", COMP_CWORD="1")
    assert set(asked.stdout.split()) == {"release", "report", "reproduce"}
    shown = evenhand("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_EVENHAND_COMPLETE=complete_bash" in shown.stdout, shown.stderr


def test_what_does_not_fit_into_memory_is_wrong_input(inside, monkeypatch):
    monkeypatch.setattr("evenhand.optimize.compile.size.free_memory", lambda: 10_000)
    for command in (["fit"], ["diagnose"], ["frontier", "--bounds", "0.1,0.2"]):
        result = inside(command[0], "fine.toml", "people.csv", *command[1:])
        complained(result, "about 24 moves are allowed between the 8 cells of this table", "max_steps = 1")
