"""Figures 2 to 5: what is drawn is what the paper's captions ask for."""

import json

import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.commands import app
from evenhand.studies import figures, reproduce


def drawn(number):
    figure = next(f for f in figures.figures() if f.number == number)
    return figure.draw().to_dict()


def panels(part):
    """The panels of a row of panels, each as its title and its cells."""
    return [(" · ".join(p["title"]["text"]), p) for p in part["concat"]]


def cells(spec, panel):
    data = panel["layer"][0].get("data") or panel["data"]
    return data.get("values") or spec["datasets"][data["name"]]


@pytest.mark.slow
def test_figure_2_is_the_frontier_at_a_quarter(monkeypatch):
    monkeypatch.setattr(figures, "POINTS", 8)
    text = json.dumps(drawn(2))
    assert "smallest feasible 0.2110" in text
    assert "lossless and unchanged from 0.6146" in text


def test_figure_3_shows_columns_that_sum_to_more_than_a_twentieth():
    spec = drawn(3)
    assert len(spec["concat"]) == 3
    for panel in spec["concat"]:
        total = {}
        for cell in cells(spec, panel):
            total[cell["column"]] = total.get(cell["column"], 0) + cell["value"]
        assert min(total.values()) > 0.05
        domain = panel["layer"][0]["encoding"]["y"]["scale"]["domain"]
        assert domain == ["F · 0", "F · 1-3", "F · >3", "M · 0", "M · 1-3", "M · >3"]


@pytest.mark.slow
def test_figure_4_shows_everybody_and_four_groups_before_and_changed():
    spec = drawn(4)
    for part in spec["vconcat"]:
        names = [name for name, _ in panels(part)]
        assert names[0] == "everybody"
        assert names[3] == "Male · African-American"
        assert len(names) == 5
    change = dict(panels(spec["vconcat"][1]))
    # The paper: the largest decreases for African-American men, virtually none for Caucasian women.
    men = [cell["value"] for cell in cells(spec, change["Male · African-American"])]
    women = [cell["value"] for cell in cells(spec, change["Female · Caucasian"])]
    assert max(men) < 0
    assert min(men) < -0.2
    assert max(map(abs, women)) < 0.01


@pytest.mark.slow
def test_figure_5_compares_the_same_people():
    spec = drawn(5)
    change = dict(panels(spec["vconcat"][1]))
    assert list(change) == ["everybody", "Female", "Male", "Minority", "White"]
    # The paper: women gain, men lose by much smaller magnitudes.
    women = [cell["value"] for cell in cells(spec, change["Female"])]
    men = [cell["value"] for cell in cells(spec, change["Male"])]
    assert min(women) > -1e-9
    assert max(men) < 1e-9
    assert -min(men) < max(women) / 2
    assert all(float(cell["people"].replace(",", "")) >= 20 for _, p in change.items() for cell in cells(spec, p))


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
    assert sorted(json.loads(result.stdout)["figures"]) == [str(folder / name) for name in names]
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
