"""Commands on a problem and its table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from commands import complained, document, evenhand, flat, misused
from families import small_frame
from fits import shared_fit

import evenhand as eh
from evenhand.cli import screen
from evenhand.render import terminal

pytestmark = pytest.mark.turns(4)


class TestFit:
    @pytest.mark.slow
    def test_explains_and_writes(self, folder, inside):
        result = evenhand("fit", "fine.toml", "people.csv", "--out", "a.mapping", "--proof", "a.proof", cwd=folder)
        assert result.returncode == 0, result.stderr
        said = flat(result.stdout)
        for words in (
            "fine.toml: 200 people", "What was asked", "differ by a factor of at most 1.2", "Before After",
            "Status optimal", "Mean score of a model", "Sees them Does not",
            "evenhand verify a.mapping", "python verifier.py a.proof",
        ):  # fmt: skip
            assert words in said, words
        mapping = eh.Mapping.load(folder / "a.mapping")
        expected = eh.fit(eh.Problem.from_toml((folder / "fine.toml").read_text()), small_frame())
        assert mapping.objective == pytest.approx(expected.objective, abs=1e-12)
        assert inside("verify", "a.proof").returncode == 0
        assert inside("verify", "a.mapping").returncode == 0

    @pytest.mark.slow
    def test_weights(self, folder, inside):
        cells = small_frame().value_counts().rename("n").reset_index()
        cells.to_csv(folder / "cells.csv", index=False)
        complained(inside("fit", "fine.toml", "cells.csv", "--weights", "n", "--out", "w"), "--frequencies n")
        assert "200 people " in inside("fit", "fine.toml", "cells.csv", "--frequencies", "n", "--out", "w").stdout
        cells.assign(n=cells["n"] + 0.25).to_csv(folder / "survey.csv", index=False)
        survey = inside("fit", "fine.toml", "survey.csv", "--weights", "n", "--out", "s")
        assert "202 people by weight" in survey.stdout
        inside("fit", "fine.toml", "people.csv", "--out", "p")
        weighted, plain = eh.Mapping.load(folder / "w"), eh.Mapping.load(folder / "p")
        assert weighted.objective == pytest.approx(plain.objective, abs=1e-9)

    @pytest.mark.slow
    def test_an_embedded_study(self, tmp_path):
        result = evenhand("fit", "compas", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "0.0212438" in result.stdout
        assert [p.name for p in tmp_path.iterdir()] == ["evenhand.mapping"]

    @pytest.mark.slow
    @pytest.mark.parametrize("study", ["compas", "adult"])
    def test_an_embedded_study_on_a_table_of_ones_own(self, folder, inside, study):
        """A CSV file carries no order of levels; the study knows it."""
        data = eh.datasets.load(study)
        data.frame.to_csv(folder / "own.csv", index=False)
        assert inside("fit", study, "own.csv", "--out", "own.mapping").returncode == 0
        own = eh.Mapping.load(folder / "own.mapping")
        assert own.objective == pytest.approx(shared_fit(data.problem, data.counts).objective, abs=1e-9)

    @pytest.mark.slow
    def test_what_exists_is_not_overwritten(self, folder, inside):
        for name in ("a.mapping", "a.proof"):
            (folder / name).write_text("precious")
            other = "--proof" if name == "a.proof" else "--out"
            complained(
                inside("fit", "fine.toml", "people.csv", other, name),
                f"'{name}' exists already; --force overwrites it",
            )
            assert (folder / name).read_text() == "precious"
        assert not (folder / "evenhand.mapping").exists()
        result = inside("fit", "fine.toml", "people.csv", "--out", "a.mapping", "--force")
        assert result.returncode == 0
        assert eh.Mapping.load(folder / "a.mapping").certificate.status == "optimal"

    def test_an_infeasible_problem(self, folder, inside):
        result = inside("fit", "tight.toml", "people.csv")
        complained(
            result, "No mapping meets PairwiseParity(0.1)", "evenhand diagnose", "The smallest parity bound", code=1
        )
        assert not (folder / "evenhand.mapping").exists()


class TestShield:
    def test_without_scores_the_tables_own_rates_stand_for_the_model(self, folder, inside):
        result = inside("shield", "shield.toml", "people.csv", "--out", "s.mapping")
        assert result.returncode == 0, result.stderr
        assert "from the table's own p(y|x)" in flat(result.stdout)
        mapping = eh.Mapping.load(folder / "s.mapping")
        assert mapping.problem.suppress_protected == "fixed"
        assert mapping.problem.conditional is None

    @pytest.mark.slow
    def test_with_scores(self, folder, inside):
        rows = [(0, 0, 0.8), (0, 1, 0.2), (1, 0, 0.5), (1, 1, 0.5)]
        pd.DataFrame(rows, columns=["score", "hired", "probability"]).to_csv(folder / "scores.csv", index=False)
        arguments = ("shield", "shield.toml", "people.csv", "--scores", "scores.csv", "--proof", "s.proof")
        result = inside(*arguments)
        assert result.returncode == 0, result.stderr
        assert "from the p(y|x) of a given model" in flat(result.stdout)
        mapping = eh.Mapping.load(folder / "evenhand.mapping")
        assert dict(dict(mapping.problem.conditional.rows)[(0,)])[1] == 0.2
        assert inside("verify", "s.proof").returncode == 0

    @pytest.mark.slow
    def test_scores_at_the_values_of_a_column_with_bins(self, folder, inside):
        """What a model gives for numbers is the mean over those of a bin; or it is said bin by bin."""
        ages = np.tile([20, 30, 50, 70], 50)
        people = small_frame().assign(score=ages)
        people.to_csv(folder / "ages.csv", index=False)
        toml = (folder / "shield.toml").read_text() + '[bins.score]\nby = "edges"\nedges = [40]\n'
        (folder / "binned.toml").write_text(toml)
        rows = {20: 0.2, 30: 0.3, 50: 0.4, 70: 0.7}
        scores = pd.DataFrame({"score": list(rows), "hired": 1, "probability": list(rows.values())})
        named = pd.DataFrame({"score": ["<40", ">=40"], "hired": 1, "probability": [0.25, 0.55]})
        for number, given in enumerate((scores, named)):
            given.to_csv(folder / "scores.csv", index=False)
            out = f"{number}.mapping"
            result = inside("shield", "binned.toml", "ages.csv", "--scores", "scores.csv", "--out", out)
            assert result.returncode == 0, result.stderr
            table = dict(eh.Mapping.load(folder / out).problem.conditional.rows)
            assert {level: dict(shares)[1] for (level,), shares in table.items()} == pytest.approx(
                {"<40": 0.25, ">=40": 0.55}
            )

    def test_scores_that_lack_a_combination(self, folder, inside):
        pd.DataFrame([(0, 0, 0.8), (0, 1, 0.2)], columns=["score", "hired", "probability"]).to_csv(
            folder / "scores.csv", index=False
        )
        result = inside("shield", "shield.toml", "people.csv", "--scores", "scores.csv")
        complained(result, "no row for score=1")

    def test_an_outcome_that_cannot_be_drawn_anew(self, folder, inside):
        result = inside("shield", "fine.toml", "people.csv")
        complained(result, 'rule = "free" in [distortion.rules.hired]', "forbids 0 → 1")


class TestDiagnose:
    @pytest.mark.slow
    def test_infeasible(self, folder, inside):
        result = evenhand("diagnose", "tight.toml", "people.csv", "--proof", "t.proof", cwd=folder)
        assert result.returncode == 1
        assert result.stderr == ""
        said = flat(result.stdout)
        for words in ("Infeasible", "No mapping meets every bound.", "A way out: raise the parity bound to",
                      "Conflicting constraints", "How far these rates can go", "evenhand verify t.proof"):  # fmt: skip
            assert words in said, words
        checked = inside("verify", "t.proof")
        assert checked.returncode == 0
        assert "No mapping meets all the bounds of the statement." in flat(checked.stdout)

    @pytest.mark.slow
    def test_feasible(self, inside):
        result = inside("diagnose", "fine.toml", "people.csv", "--proof", "f.proof")
        assert result.returncode == 0, result.stderr
        assert "Relaxing PairwiseParity would gain" in flat(result.stdout)
        assert "What each bound costs" in result.stdout
        assert inside("verify", "f.proof").returncode == 0

    def test_a_study_by_name(self, inside, monkeypatch):
        monkeypatch.setattr(screen.console, "width", terminal.WIDTH)
        result = inside("diagnose", "compas")
        assert result.returncode == 0
        assert "0.125659" in result.stdout
        data = eh.datasets.load("compas")
        assert flat(result.stdout) == flat(str(eh.diagnose(data.problem, data.counts))), "as Python prints it"

    @pytest.mark.slow
    def test_no_bound_costs_anything(self, folder, inside):
        """There is no table without rows, and no noise in the document."""
        text = (folder / "fine.toml").read_text().replace("bound = 0.2", "bound = 9")
        (folder / "loose.toml").write_text(text)
        result = inside("diagnose", "loose.toml", "people.csv")
        assert result.returncode == 0
        assert "No bound costs utility" in result.stdout
        assert "What each bound costs" not in result.stdout
        assert document(inside("diagnose", "loose.toml", "people.csv", "--json"))["prices"]["every_price"] == []
        priced = document(inside("diagnose", "fine.toml", "people.csv", "--json"))["prices"]["every_price"]
        assert priced
        assert all(row["price"] is None or row["price"] > 1e-7 for row in priced)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("fit", "compas"), ("audit", "m"), ("audit", "m", "own.csv")], ids=" ".join)
def test_no_table_of_a_result_is_too_wide_for_a_terminal(tmp_path, command):
    data = eh.datasets.load("compas")
    data.frame.to_csv(tmp_path / "own.csv", index=False)
    if command[0] == "audit":
        shared_fit(data.problem, data.counts).save(tmp_path / "m")
    shown = evenhand(*command, cwd=tmp_path, COLUMNS="80").stdout
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in shown
    assert "African-Americ\n" not in "\n".join(line.rstrip() for line in lines)


@pytest.mark.slow
def test_columns_outside_the_problem_are_named(folder, inside):
    frame = small_frame().assign(id=range(200), n=1)
    frame.to_csv(folder / "wide.csv", index=False)
    said = flat(inside("fit", "fine.toml", "wide.csv", "--weights", "n", "--out", "w").stdout)
    assert "Columns id • release and apply pass these columns through unchanged" in said
    found = document(inside("fit", "fine.toml", "wide.csv", "--out", "x", "--json"))
    assert found["outside_the_problem"]["columns"] == ["id", "n"]
    assert "Columns outside the problem" not in inside("fit", "fine.toml", "people.csv", "--out", "y").stdout


@pytest.mark.slow
def test_nothing_is_cut_off_in_a_narrow_terminal(folder):
    """At 80 columns long names go on in the next line, and no number is lost."""
    wide = evenhand("diagnose", "tight.toml", "people.csv", cwd=folder)
    narrow = evenhand("diagnose", "tight.toml", "people.csv", cwd=folder, COLUMNS="80")
    assert "…" not in narrow.stdout
    assert max(map(len, narrow.stdout.splitlines())) <= 80

    def numbers_of(text):
        return sorted(word for word in text.split() if word.rstrip("%").replace(".", "").isdigit())

    numbers = numbers_of(wide.stdout)
    assert len(numbers) > 10
    assert numbers == numbers_of(narrow.stdout)


@pytest.mark.slow
def test_the_frontier(folder, inside):
    result = inside("frontier", "fine.toml", "people.csv", "--bounds", "0.1:0.5:3", "--out", "f.csv")
    assert result.returncode == 0, result.stderr
    assert len(pd.read_csv(folder / "f.csv")) == 3
    wrong = inside("frontier", "fine.toml", "people.csv", "--bounds", "a:b", "--out", "g")
    assert wrong.returncode == 2
    assert "--bounds: must look like 0:0.7:50" in wrong.stderr
    misused(inside("frontier", "fine.toml", "people.csv", "--bounds", "-1:1:3", "--out", "g"), "--bounds")
    misused(inside("frontier", "fine.toml", "people.csv", "--chart", "x.gif", "--out", "g"), "--chart", "x.gif")
    assert not (folder / "g").exists()


@pytest.mark.slow
def test_what_a_diagnosis_advises_is_worded_for_people_who_type(folder, inside, monkeypatch):
    """Where no bounds can be weighed, the error's own words are the diagnosis."""
    from dataclasses import replace

    from evenhand import diagnosis
    from evenhand.errors import InfeasibleError, Made, Setting
    from evenhand.render.section import Note

    free = Setting("distortion", Made("Free"), column="hired")
    error = InfeasibleError("No mapping meets the budgets. Write ", free, ".")
    note, known = Note("diagnosis.error", {"error": error}), diagnosis.diagnose

    def unweighed(*given, **more):
        found = replace(known(*given, **more), conflict=None, reason=error, notes=(note,))
        assert found.sentences() == ["No mapping meets the budgets. Write {'hired': eh.Free()} in the distortion."]
        return found

    monkeypatch.setattr(diagnosis, "diagnose", unweighed)
    said = 'No mapping meets the budgets. Write rule = "free" in [distortion.rules.hired].'
    assert said in flat(inside("diagnose", "tight.toml", "people.csv").stdout)
    assert document(inside("diagnose", "tight.toml", "people.csv", "--json"))["diagnosis"]["notes"] == [
        {"key": "diagnosis.error", "text": said}
    ]


class TestConfidence:
    @pytest.fixture
    def study(self, compas, tmp_path, monkeypatch):
        """COMPAS as files, with a bound that can be met with confidence."""
        monkeypatch.chdir(tmp_path)
        problem = compas.problem.with_bounds(lambda bound: 0.3)
        ordered = {
            name: [str(level) for level in compas.frame[name].cat.categories] for name in ("age_cat", "priors_count")
        }
        rules = {
            name: rule if name not in ordered else replace(rule, levels=ordered[name])
            for name, rule in problem.distortion.rules.items()
        }
        problem = replace(problem, distortion=eh.Distortion(rules))
        (tmp_path / "p.toml").write_text(problem.to_toml(), encoding="utf-8")
        compas.frame.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path

    @pytest.mark.slow
    def test_fit_tells_the_promise_and_its_cost(self, study, inside):
        result = inside("fit", "p.toml", "t.csv", "--confidence", "0.9")
        assert result.returncode == 0, result.stderr
        said = flat(result.stdout)
        for words in ("Confidence 0.9 that these bounds hold", "about 90 of 100 samples", "Without confidence"):
            assert words in said, said
        assert eh.Mapping.load(study / "evenhand.mapping").problem.confidence == 0.9
        assert inside("verify", "evenhand.mapping").returncode == 0

    @pytest.mark.slow
    def test_json_has_every_margin(self, study, inside):
        (study / "p.toml").write_text("confidence = 0.95\n" + (study / "p.toml").read_text(), encoding="utf-8")
        found = document(inside("fit", "p.toml", "t.csv", "--json"))
        assert len(found["assurance"]["comparisons"]) == 12
        assert found["certificate"]["without_confidence"] < found["certificate"]["objective"]

    @pytest.mark.slow
    def test_too_few_people(self, study, inside):
        for command in ("fit", "diagnose"):
            result = inside(command, "compas", "--confidence", "0.95")
            assert result.returncode == 1
            assert "people like these 5,278 would be needed" in flat(result.stdout + result.stderr)

    @pytest.mark.slow
    def test_a_frontier(self, study, inside):
        found = document(inside("frontier", "p.toml", "t.csv", "--bounds", "0.3,0.5", "--confidence", "0.9", "--json"))
        assert [point["status"] for point in found["points"]["every_point"]] == ["optimal", "optimal"]

    @pytest.mark.slow
    def test_a_frontier_in_words_knows_no_edges(self, study, inside):
        said = flat(inside("frontier", "p.toml", "t.csv", "--bounds", "0.5", "--confidence", "0.9").stdout)
        assert "Every point with margins for a confidence of 0.9" in said
        assert "edges between points are not known" in said
        assert "found exactly" not in said

    @pytest.mark.slow
    def test_a_shield(self, folder, inside):
        (folder / "wide.toml").write_text((folder / "shield.toml").read_text().replace("0.15", "0.8"))
        result = inside("shield", "wide.toml", "people.csv", "--confidence", "0.8", "--json")
        assert result.returncode == 0, result.stderr
        assert document(result)["assurance"]["comparisons"]
        assert eh.Mapping.load(folder / "evenhand.mapping").problem.confidence == 0.8

    @pytest.mark.parametrize("wrong", ["0", "1", "95", "0.4", "sure"])
    def test_what_is_no_confidence(self, study, inside, wrong):
        misused(inside("fit", "p.toml", "t.csv", "--confidence", wrong), "--confidence")

    def test_a_percentage_is_told_as_a_share(self, study, inside):
        misused(inside("fit", "p.toml", "t.csv", "--confidence", "95"), "not 95; write 0.95")
