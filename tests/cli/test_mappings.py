"""Commands on mapping files and proof files."""

import duckdb
import pandas as pd
import pytest
from commands import complained, document, evenhand, flat, misused
from families import small_frame, small_problem

import evenhand as eh
from evenhand.render.sentences import sentence

pytestmark = pytest.mark.turns(2)


@pytest.mark.slow
def test_verify_refuses_a_false_claim(compas_mapping, tmp_path):
    """A file whose checksum is right but whose certificate claims more than it holds."""
    from dataclasses import replace

    claimed = replace(compas_mapping.certificate, objective=0.001, lower_bound=0.001)
    replace(compas_mapping, certificate=claimed).save(tmp_path / "m")
    result = evenhand("verify", str(tmp_path / "m"))
    assert result.returncode == 1
    assert "Verification failed" in result.stdout
    assert "the stored certificate does not match the recomputed one" in flat(result.stdout)


@pytest.mark.slow
def test_theory(folder, inside):
    inside("fit", "fine.toml", "people.csv", "--out", "m")
    result = evenhand("theory", "m", cwd=folder)
    assert result.returncode == 0, result.stderr
    for words in ("section 3.3", "section 3.4", "section 3.5", "by resampling", "One draw"):
        assert words in result.stdout, words
    assert "not used for fitting\n" not in result.stdout
    with_rows = inside("theory", "m", "--holdout", "people.csv", "--confidence", "0.9")
    assert with_rows.returncode == 0, with_rows.stderr
    assert "200 rows were released once; with a confidence of 0.9" in flat(with_rows.stdout)
    assert "group hired Rows Released Rate Low High Expected" in flat(with_rows.stdout)
    complained(inside("theory", "m", "--holdout", "fine.toml"))
    misused(inside("theory", "m", "--confidence", "2"), "--confidence", "between 0 and 1")


@pytest.mark.slow
def test_verify_refuses_a_tampered_proof(folder, inside):
    inside("fit", "fine.toml", "people.csv", "--proof", "a.proof")
    text = (folder / "a.proof").read_text()
    (folder / "a.proof").write_text(text.replace("30.0", "31.0", 1))
    result = evenhand("verify", "a.proof", cwd=folder)
    assert result.returncode == 1
    assert "the digest does not match" in flat(result.stdout)
    (folder / "a.proof").write_text("{ this is no proof")
    result = inside("verify", "a.proof")
    assert result.returncode == 1
    assert "Verification failed" in result.stdout
    assert "Traceback" not in result.stderr


def test_names_in_a_proof_cannot_write_to_the_terminal(folder, inside):
    document = '{"format": "evenhand-proof", "version": 1, "kind": "mapping", "sha256": "\\u001b[31m[bold]x"}'
    (folder / "a.proof").write_text(document)
    result = inside("verify", "a.proof")
    assert result.returncode == 1
    assert "\x1b" not in result.stdout
    assert "␛[31m[bold]x" in result.stdout


# ---------------------------------------------------------------------------------------------------------------------
# Tables through a mapping
# ---------------------------------------------------------------------------------------------------------------------


def texts(section):
    """The sentences of a section of a document."""
    return [note["text"] for note in section["notes"]]


class TestTransform:
    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("mode", ["release", "apply"])
    def test_it_writes_what_the_mapping_draws(self, fitted, inside, mode):
        result = inside(mode, "fine.mapping", "people.csv", "--seed", "7", "--out", "new.csv")
        assert result.returncode == 0, result.stderr
        mapping = eh.Mapping.load(fitted / "fine.mapping")
        # A release without a key is balanced.
        expected = getattr(mapping, mode)(small_frame(), seed=7, **{"draw": "balanced"} if mode == "release" else {})
        found = pd.read_csv(fitted / "new.csv")
        assert found.equals(expected.astype(found.dtypes))
        changed = int((found != small_frame()).any(axis=1).sum())
        said = flat(result.stdout)
        assert "Rows 200" in said
        assert f"Changed {changed:,} Share changed" in said
        assert "What was written Table new.csv" in said
        assert "Next evenhand" in said

    def test_apply_reads_no_outcome(self, fitted, inside):
        frame = small_frame()
        frame.assign(hired="unread").to_csv(fitted / "other.csv", index=False)
        frame.drop(columns="hired").to_csv(fitted / "without.csv", index=False)
        for name in ("people", "other", "without"):
            assert inside("apply", "fine.mapping", f"{name}.csv", "--out", f"{name}-new.csv").returncode == 0
        scores = [pd.read_csv(fitted / f"{name}-new.csv")["score"] for name in ("people", "other", "without")]
        assert scores[0].equals(scores[1])
        assert scores[0].equals(scores[2])

    @pytest.mark.slow
    def test_keys(self, fitted, inside):
        """The same person gets the same draw in any order; rows that share a key share it, and are told so."""
        frame = small_frame().assign(id=[f"p{i // 2}" for i in range(200)])
        frame.to_csv(fitted / "keyed.csv", index=False)
        frame[::-1].to_csv(fitted / "backwards.csv", index=False)
        for name in ("keyed", "backwards"):
            arguments = ("apply", "fine.mapping", f"{name}.csv", "--key", "id", "--out", f"{name}-new.csv")
            result = inside(*arguments)
            assert result.returncode == 0, result.stderr
            assert "rows with the same id share one draw" in flat(result.stdout)
        first, second = (pd.read_csv(fitted / f"{name}-new.csv") for name in ("keyed", "backwards"))
        assert first.equals(second[::-1].reset_index(drop=True))
        assert (first.groupby(["id", frame["group"], frame["score"]])["score"].nunique() == 1).all()

    def test_columns_that_share_a_name(self, fitted, inside):
        """One that the problem does not use is passed through as it is, and what it is known as is said."""
        lines = (fitted / "people.csv").read_text().splitlines()
        text = "\n".join([f"{lines[0]},note,note", *(f"{line},x,y" for line in lines[1:])])
        (fitted / "twice.csv").write_text(text + "\n")
        result = inside("apply", "fine.mapping", "twice.csv", "--out", "new.csv")
        assert result.returncode == 0, result.stderr
        assert flat(result.stderr).count("several columns called 'note'") == 1
        assert (fitted / "new.csv").read_text().startswith("group,score,hired,note,note\n")

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", ["release", "apply"])
    def test_columns_outside_the_problem_are_named(self, fitted, inside, mode):
        small_frame().assign(id=range(200), remark="x").to_csv(fitted / "wide.csv", index=False)
        result = inside(mode, "fine.mapping", "wide.csv", "--out", "new.csv")
        assert "nothing bounds what a model learns from them: id, remark" in flat(result.stdout)
        found = document(inside(mode, "fine.mapping", "wide.csv", "--out", "new.csv", "--force", "--json"))
        assert found["rows"]["passed_through"] == ["id", "remark"]
        assert "passed through" not in inside(mode, "fine.mapping", "people.csv", "--out", "own.csv").stdout

    @pytest.mark.slow
    @pytest.mark.parametrize("draw", ["independent", "balanced"])
    def test_a_release_says_what_its_own_rates_are(self, fitted, inside, draw):
        arguments = ("release", "fine.mapping", "people.csv", "--draw", draw, "--seed", "5", "--out")
        said = flat(inside(*arguments, "new.csv").stdout)
        found = document(inside(*arguments, "again.csv", "--json"))
        drawn = pd.read_csv(fitted / "new.csv")
        rates = {(row["group"], row["hired"]): row["rate"] for row in found["release"]["rates"]}
        for group, rate in drawn.groupby("group")["hired"].mean().items():
            assert rates[group, 1] == pytest.approx(rate)
            assert f"{group} 1 {(drawn['group'] == group).sum()} {rate:.1%}" in said
        worst = max(row["achieved"] for row in found["release"]["bounds"])
        assert f"ratio {1 + worst:.4f}, at most 1.2000 allowed" in said
        kept = worst <= 0.2 + 1e-9
        assert ("both parity constraints hold" if kept else "1 of 2 parity constraints is violated") in said
        realised = found["release"]
        assert realised["kept"] == kept
        # Both orders of two groups are one comparison of an outcome.
        over = {row["where"].partition(":")[0] for row in realised["bounds"] if row["slack"] < -1e-9}
        assert realised["violated"] == len(over)
        assert all(flat(each) in said for each in texts(realised))
        assert found["options"]["draw"] == draw
        words = "balanced draws keep the released outcomes of everybody and of every cell, and of every group by group,"
        assert ("scatter around that" if draw == "independent" else words) in said

    @pytest.mark.slow
    def test_a_key_makes_draws_independent(self, fitted, inside):
        """What is drawn for a key must not depend on the company, unless it is asked for."""
        small_frame().assign(id=range(200)).to_csv(fitted / "keyed.csv", index=False)
        for number, (options, draw) in enumerate(
            [
                (("--seed", "1"), "balanced"),
                (("--key", "id"), "independent"),
                (("--key", "id", "--draw", "balanced"), "balanced"),
            ]
        ):
            arguments = ("release", "fine.mapping", "keyed.csv", *options, "--out", f"{number}.csv", "--json")
            assert document(inside(*arguments))["options"]["draw"] == draw
            drawn = {"key": "id"} if "--key" in options else {"seed": 1}
            expected = eh.Mapping.load(fitted / "fine.mapping").release(
                pd.read_csv(fitted / "keyed.csv"), draw=draw, **drawn
            )
            assert pd.read_csv(fitted / f"{number}.csv").equals(expected)

    @pytest.mark.slow
    def test_what_is_not_balanced_is_said(self, fitted, inside):
        twice = pd.concat([small_frame()] * 2).assign(id=[*range(200), *range(200)], w=2)
        twice.to_csv(fitted / "twice.csv", index=False)
        arguments = ("release", "fine.mapping", "twice.csv", "--out", "new.csv", "--draw", "balanced", "--key", "id")
        result = inside(*arguments, "--weights", "w", "--json")
        found = document(result)
        notes = " ".join([*texts(found["balance"]), *texts(found["release"])])
        assert "200 of 400 rows share their id and their cell with a row before them" in notes
        assert "rows are balanced, not weights" in notes
        assert flat(result.stderr).count("200 of 400 rows share their id") == 1

    @pytest.mark.slow
    def test_a_release_whose_rates_cannot_be_counted(self, fitted, inside):
        """The file is written all the same."""
        (fitted / "header.csv").write_text("group,score,hired\n")
        result = inside("release", "fine.mapping", "header.csv", "--out", "none.csv")
        assert result.returncode == 0, result.stderr
        assert "the table has no rows" in flat(result.stdout)
        (fitted / "new.csv").write_text("group,score,hired\nz,7,0\n")
        result = inside("release", "fine.mapping", "new.csv", "--out", "one.csv")
        assert result.returncode == 0, result.stderr
        assert (fitted / "one.csv").exists()

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_segments_that_people_left_are_judged_by_the_file_that_was_read(self, fitted, inside, kind):
        problem = small_problem(parity=[eh.PairwiseParity(0.3, given=["score"])])
        mapping = eh.fit(problem, small_frame())
        mapping.save(fitted / "segments.mapping")
        arguments = ("release", "segments.mapping", "people.csv", "--seed", "3", "--out", f"new.{kind}")
        found = document(inside(*arguments, "--json"))["release"]
        new = pd.read_csv(fitted / "new.csv") if kind == "csv" else pd.read_parquet(fitted / "new.parquet")
        expected = mapping.realised(new, original=small_frame())
        assert found["kept"] == expected.kept
        assert found["kept"] is not None
        assert texts(found)[: len(expected.verdict.notes)] == list(map(sentence, expected.verdict.notes))
        rates = new["hired"].groupby([small_frame()["score"], small_frame()["group"]]).mean().unstack()
        worst = max((rates["a"] / rates["b"] - 1).abs().max(), (rates["b"] / rates["a"] - 1).abs().max())
        assert max(row["achieved"] for row in found["bounds"] if row["where"].startswith("hired=1")) == worst

    def test_wrong_weights_are_refused_before_anything_is_written(self, fitted, inside):
        result = inside("release", "fine.mapping", "people.csv", "--weights", "nope", "--out", "no.csv")
        assert result.returncode == 3
        assert "'people.csv' has no column 'nope'" in flat(result.stderr)
        assert not (fitted / "no.csv").exists()

    @pytest.mark.slow
    def test_rows_that_are_not_counted_are_told_with_the_verdict(self, fitted, inside):
        new = pd.concat([small_frame(), small_frame().head(40).assign(score=9, hired=1)])
        new.to_csv(fitted / "strange.csv", index=False)
        found = document(inside("release", "fine.mapping", "strange.csv", "--out", "strange-new.csv", "--json"))
        assert found["release"]["kept"] is not True
        assert "40 of 240 rows are not counted" in texts(found["release"])[0]
        told = flat(inside("audit", "fine.mapping", "strange.csv").stdout)
        assert "40 of 240 rows are not counted, for values that the fitted table did not have (score is '9')" in told

    @pytest.mark.slow
    def test_weights_of_a_release(self, fitted, inside):
        cells = small_frame().value_counts().rename("n").reset_index()
        cells.to_csv(fitted / "cells.csv", index=False)
        cells.assign(n=cells["n"] + 0.5).to_csv(fitted / "survey.csv", index=False)
        inside("fit", "fine.toml", "survey.csv", "--weights", "n", "--out", "w.mapping")
        plain = inside("release", "w.mapping", "people.csv", "--out", "plain.csv")
        assert "no column 'n': here every row counts as one person" in flat(plain.stdout)
        # What weights sum to is no number of people, and tables and sentences say so.
        for line in (("audit", "w.mapping"), ("release", "w.mapping", "survey.csv", "--out", "told.csv")):
            assert "group hired People by weight" in flat(inside(*line).stdout)
        assert "group hired People Rate" in flat(plain.stdout)
        found = document(inside("release", "w.mapping", "survey.csv", "--out", "weighed.csv", "--json"))
        assert sum(row["weight"] for row in found["release"]["rates"] if row["hired"] == 1) == 204
        assert pd.read_csv(fitted / "weighed.csv")["n"].equals(cells["n"] + 0.5)

    def test_a_table_of_counts_is_split(self, fitted, inside):
        cells = small_frame().value_counts().rename("n").reset_index()
        cells.to_csv(fitted / "cells.csv", index=False)
        options = ("--frequencies", "n", "--seed", "0", "--out", "split.csv")
        result = inside("release", "fine.mapping", "cells.csv", *options)
        assert "the rows stand for 200 people by n" in flat(result.stdout)
        split = pd.read_csv(fitted / "split.csv")
        found = eh.Mapping.load(fitted / "fine.mapping").release(cells, frequencies="n", seed=0, draw="balanced")
        assert split["n"].sum() == 200
        assert split.equals(found.reset_index(drop=True))
        assert inside("verify", "split.csv.manifest.json", "--again").returncode == 0
        keyed = ("release", "fine.mapping", "cells.csv", "--frequencies", "n", "--key", "group", "--out", "k.csv")
        complained(inside(*keyed), "leave out --key")
        assert not (fitted / "k.csv").exists()

    @pytest.mark.slow
    def test_options_reach_the_mapping(self, fitted, inside):
        options = ("--draw", "balanced", "--unseen", "error", "--restore", "label", "--seed", "3")
        result = inside("release", "fine.mapping", "people.csv", "--out", "b.parquet", *options, "--json")
        found = document(result)["options"]
        expected = {
            "seed": 3, "seed_origin": "given", "key": None, "draw": "balanced", "unseen": "error", "restore": "label",
            "frequencies": None, "mark": None, "formulas": "keep",
        }  # fmt: skip
        assert {name: found[name] for name in expected} == expected
        assert len(pd.read_parquet(fitted / "b.parquet")) == 200
        assert inside("release", "fine.mapping", "people.csv", "--out", "x.csv", "--draw", "lots").returncode == 2


class TestQuery:
    def test_it_does_what_apply_does(self, fitted, inside):
        frame = small_frame().assign(id=range(200))
        frame.to_csv(fitted / "keyed.csv", index=False)
        result = inside("sql", "fine.mapping", "--dialect", "duckdb", "--table", "keyed", "--key", "id", "--seed", "7")
        assert result.returncode == 0, result.stderr
        with duckdb.connect() as duck:
            duck.register("keyed", frame)
            found = duck.sql(result.stdout).df().sort_values("id", ignore_index=True)
        expected = eh.Mapping.load(fitted / "fine.mapping").apply(frame, key="id", seed=7)
        assert found.equals(expected)
        assert not found.equals(frame)

    def test_into_a_file(self, fitted, inside):
        options = ("--dialect", "spark", "--table", "a.b", "--key", "id", "--columns", "id,score,group,hired")
        result = inside("sql", "fine.mapping", *options, "--mode", "release", "--out", "q.sql")
        assert result.returncode == 0, result.stderr
        assert "q.sql" in result.stdout
        assert "FROM `a`.`b`" in (fitted / "q.sql").read_text()
        complained(inside("sql", "fine.mapping", *options, "--out", "q.sql"), "exists already")
        assert inside("sql", "fine.mapping", "--dialect", "oracle", "--table", "a", "--key", "id").returncode == 2


class TestAudit:
    def test_of_the_table_that_was_fitted(self, inside, fitted):
        result = inside("audit", "fine.mapping")
        assert result.returncode == 0, result.stderr
        said = flat(result.stdout)
        for words in ("the table it was fitted on", "Before After", "What this does not say", "Sees them Does not"):
            assert words in said, words

    @pytest.mark.slow
    def test_of_another_table(self, inside, fitted):
        half = small_frame()[::2]
        pd.concat([half, pd.DataFrame({"group": ["a"], "score": [9], "hired": [0]})]).to_csv(
            fitted / "half.csv", index=False
        )
        result = inside("audit", "fine.mapping", "half.csv")
        assert result.returncode == 0, result.stderr
        assert "fine.mapping on half.csv" in flat(result.stdout)
        found = document(inside("audit", "fine.mapping", "half.csv", "--json"))
        expected = eh.Mapping.load(fitted / "fine.mapping").audit(fitted / "half.csv")
        assert [row["after"] for row in found["rates"]["by_group"]] == pytest.approx(expected.rates["after"].tolist())
        assert found["coverage"]

    @pytest.fixture
    def skewed(self, fitted):
        """A table with other rates than the fitted one: most of group b are hired."""
        frame = small_frame()
        fewer = frame[(frame["group"] == "a") | (frame["hired"] == 1) | (frame.index % 4 == 0)]
        fewer.to_csv(fitted / "skewed.csv", index=False)
        return pd.read_csv(fitted / "skewed.csv")

    @pytest.mark.slow
    def test_another_table_has_its_own_size_and_verdict(self, inside, skewed):
        """Nothing is said as if it were about the fitted table: neither its people nor its certificate."""
        result = inside("audit", "fine.mapping", "skewed.csv")
        assert result.returncode == 0, "an audit informs"
        said = flat(result.stdout)
        found = document(inside("audit", "fine.mapping", "skewed.csv", "--json"))
        groups = found["changes"]["groups"]
        people = sum(row["weight"] for row in groups)
        assert people == len(skewed) < 200
        changed = sum(row["weight"] * row["changed"] for row in groups)
        assert f"about {changed:,.0f} of {people:,.0f} people" in said
        outcome = next(row for row in found["changes"]["moves"] if row["column"] == "hired")
        assert f"hired {outcome['from']} {outcome['to']} {outcome['share'] * people:,.0f}" in said
        assert "Status" not in said
        over = found["bounds"]["violated"]
        assert over == sorted(over, key=lambda row: -row["excess"])
        assert len(over) == sum(row["slack"] < -1e-9 for row in found["bounds"]["every_bound"]) > 0
        assert over[0]["excess"] == pytest.approx(over[0]["achieved"] - over[0]["bound"])
        parity = [row for row in found["bounds"]["every_bound"] if row["constraint"] == "PairwiseParity"]
        missed = [row for row in over if row["constraint"] == "PairwiseParity"]
        # Both orders of two groups are one comparison.
        assert f"PairwiseParity: violated in {len(missed) // 2} of {len(parity) // 2} comparisons" in said
        assert "expected distortion: holds in all" in said

    def test_the_fitted_table_keeps_every_bound(self, inside, fitted):
        assert document(inside("audit", "fine.mapping", "--json"))["bounds"]["violated"] == []
        assert "Status optimal" in flat(inside("audit", "fine.mapping").stdout)

    @pytest.mark.slow
    def test_weights(self, fitted, inside):
        """A table of counts says the same as the people it counts."""
        cells = small_frame().value_counts().rename("n").reset_index()
        cells.to_csv(fitted / "cells.csv", index=False)
        assert inside("fit", "fine.toml", "cells.csv", "--frequencies", "n", "--out", "w.mapping").returncode == 0
        people = document(inside("audit", "w.mapping", "people.csv", "--json"))
        weighed = document(inside("audit", "w.mapping", "cells.csv", "--json"))
        cells.rename(columns={"n": "m"}).to_csv(fitted / "renamed.csv", index=False)
        plain = document(inside("audit", "w.mapping", "renamed.csv", "--json"))
        assert [row["before"] for row in weighed["rates"]["by_group"]] == pytest.approx(
            [row["before"] for row in people["rates"]["by_group"]]
        )
        assert [row["before"] for row in plain["rates"]["by_group"]] != pytest.approx(
            [row["before"] for row in people["rates"]["by_group"]]
        )
        words = "fitted with frequencies, and this table has no column 'n': here every row counts as one person"
        assert any(words in note for note in texts(plain["caveats"]))
        assert not any(words in note for note in texts(weighed["caveats"]))
        assert not any(words in note for note in texts(document(inside("audit", "w.mapping", "--json"))["caveats"]))
        misused(inside("audit", "w.mapping", "--weights", "n"), "--weights")
        complained(inside("audit", "w.mapping", "cells.csv", "--weights", "m"), "no column 'm'")
        complained(inside("audit", "w.mapping", "cells.csv", "--weights", "n"), "--frequencies n")

    @pytest.mark.slow
    def test_who_is_helped_and_who_is_harmed(self, folder, inside):
        """In a table of its own, in words and as JSON, of the fitted people and of others; else how to learn it."""
        stated = (folder / "fine.toml").read_text()
        (folder / "good.toml").write_text(stated.replace('outcome = "hired"', 'outcome = "hired"\nfavourable = 1'))
        learned = inside("fit", "good.toml", "people.csv", "--out", "good.mapping")
        heading = "Who is helped and who is harmed: hired=1 is good for a person"
        words = "of 200 people nobody gets hired=1 who did not have it, and 14 lose it"
        levelled = "levelled down: in the group group=a the rate of hired=1 falls from 50.0% to 36.0%"
        for said in (flat(learned.stdout), flat(inside("audit", "good.mapping").stdout)):
            assert f"{heading} group People Helped Harmed Unchanged Before After" in said
            assert "a 100 0 14 86 50.0% 36.0% b 100 0 0 100 30.0% 30.0%" in said
            assert words in said
            assert levelled in said
            assert "Favourable hired=1 is good for a person" in said
        found = document(inside("audit", "good.mapping", "--json"))
        assert found["gains"]["favourable"] == 1
        assert [row["harmed"] for row in found["gains"]["ledger"]] == pytest.approx([14, 0])
        assert list(found["gains"]["ledger"][0]) == [
            "group", "weight", "helped", "harmed", "unchanged", "before", "after",
        ]  # fmt: skip
        assert texts(found["gains"])[1] == levelled
        small_frame()[::2].to_csv(folder / "half.csv", index=False)
        other = document(inside("audit", "good.mapping", "half.csv", "--json"))["gains"]["ledger"]
        assert [row["weight"] for row in other] == [50, 50]
        as_fit = document(inside("fit", "good.toml", "people.csv", "--out", "again.mapping", "--json"))
        assert as_fit["gains"] == found["gains"]

    def test_where_nobody_said_which_outcome_is_good(self, fitted, inside):
        said = flat(inside("audit", "fine.mapping").stdout)
        assert said.count("Which outcomes change") == 1
        assert "with favourable = LEVEL in it, fit and audit report who is helped" in said
        found = document(inside("audit", "fine.mapping", "--json"))
        assert "gains" not in found
        ways = {(row["from"], row["to"]) for row in found["outcomes"]["outcome_changes"]}
        assert len(found["outcomes"]["notes"]) - 1 == len(ways) > 0

    def test_a_favourable_outcome_that_is_not_there(self, folder, inside):
        stated = (folder / "fine.toml").read_text()
        (folder / "bad.toml").write_text(stated.replace('outcome = "hired"', 'outcome = "hired"\nfavourable = "1"'))
        complained(inside("fit", "bad.toml", "people.csv"), "favourable names hired='1'", "favourable = 1?")

    @pytest.mark.slow
    def test_a_report_of_a_table_of_counts(self, fitted, inside):
        """A row that stands for several people is several rows of the model's table."""
        cells = small_frame().groupby(["group", "score", "hired"], sort=False).size().rename("n").reset_index()
        cells.to_csv(fitted / "cells.csv", index=False)
        cells.assign(n=cells["n"] + 0.5).to_csv(fitted / "halves.csv", index=False)
        report = ("report", "fine.mapping", "--no-frontier", "--force")
        people, weighed, plain = (
            document(inside(*report, "--json", "--table", *table))["report"]["decisions"]["fitted_model"]
            for table in (("people.csv",), ("cells.csv", "--frequencies", "n"), ("cells.csv",))
        )
        scores = [[row["score"] for row in each] for each in (weighed, people, plain)]
        assert scores[0] == pytest.approx(scores[1])
        assert scores[0] != pytest.approx(scores[2])
        complained(inside(*report, "--table", "halves.csv", "--frequencies", "n"), "integers")
        complained(inside(*report, "--table", "cells.csv", "--weights", "m"), "no column 'm'")
        cells.assign(n=0).to_csv(fitted / "nobody.csv", index=False)
        complained(
            inside(*report, "--table", "nobody.csv", "--weights", "n"), "no row has a positive weight in column 'n'"
        )
        cells[:0].to_csv(fitted / "empty.csv", index=False)
        complained(inside(*report, "--table", "empty.csv"), "the table has no rows")
        misused(inside(*report, "--weights", "n"), "--weights")


def test_a_damaged_mapping_does_not_stand(fitted, inside):
    content = bytearray((fitted / "fine.mapping").read_bytes())
    content[-9] ^= 1
    (fitted / "damaged").write_bytes(content)
    result = inside("verify", "damaged")
    assert result.returncode == 1
    assert "'damaged': the checksum does not match: the file was damaged or altered" in flat(result.stdout)
    assert document(inside("verify", "damaged", "--json"))["stands"] is False


def test_an_intact_mapping_stands(fitted, inside):
    result = inside("verify", "fine.mapping")
    assert result.returncode == 0
    assert "the recomputed certificate is optimal" in result.stdout
