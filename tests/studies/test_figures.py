"""Figures 2 to 5: what is drawn is what the paper's captions ask for."""

import json

import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.commands import app
from evenhand.studies import figures, reproduce


def drawn(number):
    figure = next(f for f in figures.figures() if f.number == number)
    return figure.draw().charts


def panels(chart, name):
    """The numbers of each panel, in the order of the panels."""
    found = {}
    for row in chart.table.records():
        if row[name] is not None:
            found.setdefault(row[chart.panel], []).append(row[name])
    return found


@pytest.mark.slow
def test_figure_2_is_the_frontier_at_a_quarter(monkeypatch):
    monkeypatch.setattr(figures, "POINTS", 8)
    (chart,) = drawn(2)
    assert [round(line.value, 4) for line in chart.lines] == [0.2110, 0.6146, 0.6146]


def test_figure_3_shows_columns_that_sum_to_more_than_a_twentieth():
    (chart,) = drawn(3)
    rows = chart.table.records()
    assert len({row["part"] for row in rows}) == 3
    total = {}
    for row in rows:
        total[row["part"], row["to"]] = total.get((row["part"], row["to"]), 0) + (row["probability"] or 0)
    assert min(total.values()) > 0.05
    assert list(dict.fromkeys(row["from"] for row in rows)) == [
        "F · 0",
        "F · 1-3",
        "F · >3",
        "M · 0",
        "M · 1-3",
        "M · >3",
    ]


@pytest.mark.slow
def test_figure_4_shows_everybody_and_four_groups_before_and_changed():
    before, change = drawn(4)
    for chart, name in ((before, "before"), (change, "change")):
        names = list(panels(chart, name))
        assert names[0] == "everybody"
        assert names[3] == "Male · African-American"
        assert len(names) == 5
    # The paper: the largest decreases for African-American men, virtually none for Caucasian women.
    men, women = (panels(change, "change")[name] for name in ("Male · African-American", "Female · Caucasian"))
    assert max(men) < 0
    assert min(men) < -0.2
    assert max(map(abs, women)) < 0.01


@pytest.mark.slow
def test_figure_5_compares_the_same_people():
    change = panels(drawn(5)[1], "change")
    assert list(change) == ["everybody", "Female", "Male", "Minority", "White"]
    # The paper: women gain, men lose by much smaller magnitudes.
    assert min(change["Female"]) > -1e-9
    assert max(change["Male"]) < 1e-9
    assert -min(change["Male"]) < max(change["Female"]) / 2


@pytest.mark.slow
def test_reproduce_draws_into_a_folder_and_spares_what_is_there(tmp_path, monkeypatch):
    one = figures.Figure(2, "a frontier", lambda: eh.frontier(*_small(), bounds=[0.1, 0.5]).chart())
    monkeypatch.setattr(figures, "figures", lambda: [one])
    monkeypatch.setattr(reproduce, "claims", lambda: [reproduce.Claim("COMPAS", "people", "", 1, 0.0, lambda: 1.0)])
    folder = tmp_path / "new" / "figures"
    arguments = ["reproduce", "--figures", str(folder), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    names = ["figure-2.html", "figure-2.png", "figure-2.svg"]
    assert sorted(p.name for p in folder.iterdir()) == names
    said = " ".join(note["text"] for note in json.loads(result.stdout)["written"]["notes"])
    assert all(str(folder / name) in said for name in names)
    (folder / "figure-2.svg").write_text("mine")
    refused = CliRunner().invoke(app, arguments)
    assert "exists already" in str(refused.exception)
    assert (folder / "figure-2.svg").read_text() == "mine"
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0


def _small():
    data = eh.datasets.load("compas")
    return data.problem, data.counts


@pytest.mark.parametrize("ending", figures.ENDINGS)
def test_every_figure_has_a_file_of_each_kind(ending, tmp_path):
    names = [p.name for p in figures.paths(tmp_path) if p.suffix == f".{ending}"]
    assert names == [f"figure-{n}.{ending}" for n in (2, 3, 4, 5)]
