"""What comes from data is shown as it is, and nothing of it is obeyed: not by rich, and not by the terminal."""

import ast
import io
import logging
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import document, flat

import evenhand
from evenhand.cli import screen
from evenhand.render import terminal
from evenhand.render.section import Column, Fact, Note, Section, Table
from evenhand.spec.toml import literal

pytestmark = pytest.mark.turns(2)

OBEYED = "\x1b\r\a\b\x7f\x9b\u202e\u2066\u200f"
WORDS = ["[bold]", "[/bold]", "[/]", "[red]", r"\[", "\\", "\x1b[31m", "\r", "\n", "\a", "\x9b2J", "\u202e", "\u2066"]
WORDS += [":smile:", "👩\u200d🔬", "עברית", "é", "{x}", "%s", "north [a]", " ", "'", '"', "</script>", "[link=x]", "\t"]
PROBLEM = """
protected = [{group}]
features = [{score}]
outcome = {hired}
parity = [{{ kind = "pairwise", bound = 0.2 }}]
budget = [{{ kind = "expected", limit = 0.45 }}]
distortion.rules.{score} = {{ rule = "nominal", cost = 1 }}
distortion.rules.{hired} = {{ rule = "nominal", cost = 1 }}
"""


def hostile(seed, number=6):
    """Words that nobody would choose, all of them different."""
    chosen = random.Random(seed)
    return [f"{place}{''.join(chosen.choices(WORDS, k=chosen.randint(1, 4)))}" for place in range(number)]


def obeyed(text):
    return [letter for letter in OBEYED if letter in text]


def section(word):
    """A section in which a word is a fact, a heading and a cell of a table, and a note."""
    table = Table("checks", (Column(word, own=True),), ((word,),))
    return Section("rows", facts=(Fact("output", word),), tables=(table,), notes=(Note("text", {"text": word}),))


@pytest.fixture
def shown(monkeypatch):
    """What a terminal of 256 colours gets from both consoles."""
    stream = io.StringIO()
    for name in ("console", "complaints"):
        monkeypatch.setattr(getattr(screen, name), "_file", stream)
        monkeypatch.setattr(getattr(screen, name), "_width", 20_000)
    return stream.getvalue


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize("word", [*WORDS, "x" * 10_000, ""], ids=ascii)
def test_every_way_to_show_a_word(shown, word):
    ways = (
        lambda: screen.heading(word),
        lambda: screen.following(("fit", word)),
        lambda: screen.note(word),
        lambda: screen.complain(word),
        lambda: screen.usage(word),
        lambda: terminal.show([section(word)], screen.console),
        lambda: screen.LogLines().emit(logging.LogRecord("evenhand", logging.INFO, "", 0, word, (), None)),
        lambda: screen.console.rule(screen.styled((word, "bold"))),
    )
    for show in ways:
        before = len(shown())
        show()
        found = shown()[before:]
        assert not obeyed(found)
        assert screen.printable(word).strip() in found


def test_a_line_stays_one_line(shown):
    """Nobody's data writes a line that looks like one of ours."""
    screen.note("a level 'x\nError: all is lost'")
    terminal.show([section("a\nb")], screen.console)
    # The note; an empty line, the heading, a fact, an empty line, the two lines of a table, and a note.
    assert shown().count("\n") == 8


@pytest.fixture
def on_a_terminal(monkeypatch):
    """What is drawn on a terminal."""
    stream = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    terminal = screen.Terminal(stderr=True)
    monkeypatch.setattr(terminal, "_file", stream)
    monkeypatch.setattr(terminal, "_force_terminal", True)
    monkeypatch.setattr(terminal, "is_interactive", True)
    monkeypatch.setattr(screen, "complaints", terminal)
    return stream


def test_a_bar_obeys_nothing(on_a_terminal):
    with screen.progress_bar() as report:
        report("[bold]x[/nope] \x07\u202e {task}", 0.5)
    assert "[bold]x[/nope] ␇� {task}" in on_a_terminal.getvalue()


@pytest.mark.slow
def test_the_time_moves_while_a_stage_reports_nothing(on_a_terminal):
    with screen.progress_bar() as report:
        report("solving", 0.5)
        time.sleep(1.3)
        assert "0:00:01" in on_a_terminal.getvalue()


@pytest.mark.slow
def test_what_is_loaded_is_told_of_once():
    """In a process of its own, for here everything is there already."""
    code = """
import gc, logging, sys
from evenhand.cli import screen
from evenhand.render import terminal
from evenhand.render.section import Column, Fact, Note, Section, Table
logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stdout)
screen.load()
print(gc.isenabled(), "pandas" in sys.modules)
screen.load()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *told, last = run.stdout.splitlines()
    assert [line.split()[-1] for line in told] == list(screen.LOADED)
    assert told[0].strip() == "0% loading numpy"
    assert last == "True True"


def test_shares_never_fall(caplog):
    caplog.set_level(logging.INFO, "evenhand")
    with screen.progress_bar() as report:
        report("checking", 0.5)
        report("counting", 0.25)
    assert caplog.messages == [" 50% checking", " 50% counting"]


@pytest.mark.slow
def test_rich_is_known_here_alone():
    """Whoever printed with a console of their own would go around this one."""
    for path in Path(evenhand.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert path.name in ("screen.py", "terminal.py") or not any(
                name.split(".")[0] == "rich" for name in names
            ), path


def table(levels, names):
    """People of two groups, whose every value and name is one of these words."""
    draws = np.random.default_rng(0)
    group, score = draws.integers(0, 2, 200), draws.integers(0, 2, 200)
    hired = draws.random(200) < 0.3 + 0.3 * group
    places = zip(names, (group, score, hired.astype(int)), levels, strict=True)
    return pd.DataFrame({name: np.array(pair, dtype=object)[codes] for name, codes, pair in places})


def commands(names):
    fit = ("fit", "odd.toml", "odd.parquet", "--force")
    yield from ((*fit, "--proof", "odd.json"), (*fit, "--json"))
    for more in ((), ("--json",)):
        yield ("diagnose", "odd.toml", "odd.parquet", *more)
        yield ("frontier", "odd.toml", "odd.parquet", "--bounds", "0.1,0.5", "--force", *more)
        yield ("release", "evenhand.mapping", "odd.parquet", "--out", "r.csv", "--force", *more)
        yield ("expand", "evenhand.mapping", "odd.parquet", "--out", "e.parquet", "--force", *more)
        yield ("apply", "evenhand.mapping", "odd.parquet", "--out", "a.parquet", "--force", *more)
        yield ("apply", "evenhand.mapping", "odd.parquet", "--out", "b.csv", "--force", "--key", names[0], *more)
        yield ("audit", "evenhand.mapping", *more)
        yield ("audit", "evenhand.mapping", "odd.parquet", *more)
        yield ("verify", "evenhand.mapping", *more)
        yield ("verify", "odd.json", *more)
        yield ("theory", "evenhand.mapping", "--holdout", "odd.parquet", *more)
        yield (
            "sql",
            "evenhand.mapping",
            "--dialect",
            "duckdb",
            "--table",
            "t",
            "--key",
            "k",
            "--out",
            "q",
            "--force",
            *more,
        )
        yield ("init", "odd.parquet", "--protected", "none\x1b[31m", "--outcome", names[2], *more)
        yield ("fit", "odd.toml", "odd.parquet", "--weights", names[1], "--force", *more)
        yield (names[0], *more)
        yield ("fit", f"--{names[1]}", *more)
        yield ("fit", "odd.toml", f"nowhere{names[1]}.csv", *more)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_tables_of_hostile_words(folder, inside, seed):
    """Every command, in words and as JSON: an answer or its own error, and nothing for the terminal to obey."""
    words = hostile(seed, 9)
    names, levels = words[:3], (words[3:5], words[5:7], words[7:9])
    table(levels, names).to_parquet(folder / "odd.parquet")
    quoted = dict(zip(("group", "score", "hired"), map(literal, names), strict=True))
    (folder / "odd.toml").write_text(PROBLEM.format(**quoted), encoding="utf-8")
    for line in commands(names):
        result = inside(*line)
        assert result.returncode in (0, 1, 2, 3), (line, result.stdout, result.stderr)
        assert not obeyed(result.stdout + result.stderr), line
        if "--json" in line:
            document(result)


def test_brackets_stay_in_the_rates(folder, inside):
    """What looks like markup is part of a level's name."""
    levels = (("north [a]", "[/bold]"), ("low", "high"), ("no", "yes"))
    table(levels, ("group", "score", "hired")).to_csv(folder / "odd.csv", index=False)
    quoted = {name: literal(name) for name in ("group", "score", "hired")}
    (folder / "odd.toml").write_text(PROBLEM.format(**quoted))
    said = flat(inside("fit", "odd.toml", "odd.csv").stdout)
    before, after = said.split("Each group's rates, before and after")[1].split("What it cost", 1)
    for level in ("north [a]", "[/bold]"):
        assert level in before
        assert level in after


@pytest.mark.slow
def test_a_table_of_one_group(fitted, inside):
    (fitted / "one.csv").write_text("group,score,hired\n" + "a,1,0\na,0,1\n" * 50)
    for more in ((), ("--json",)):
        assert inside("audit", "fine.mapping", "one.csv", *more).returncode == 0


def test_numbers_leave_room_for_names_on_a_narrow_screen():
    names = ["Female, African-American", "Male, Caucasian"]
    numbers = {f"changed_by_{which}": [0.123456, 72789.0] for which in "ABCD"}
    table = Table.of("checks", pd.DataFrame({"who": names, **numbers}), dict.fromkeys(numbers, "number"))
    shown = terminal.text([Section("rows", tables=(table,))], width=60)
    assert max(map(len, shown.splitlines())) <= 60
    # A heading goes on in the next line before a name is broken within a word; numbers never are.
    for whole in ("African-American", "Caucasian", "Changed", "by a", "0.1235", "72,789"):
        assert whole in shown, whole
    assert shown.count("72,789") == 4
