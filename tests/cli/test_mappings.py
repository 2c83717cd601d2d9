"""Commands on mapping files and proof files."""

import pandas as pd
import pytest
from commands import complained, document, evenhand, flat
from families import small_frame

import evenhand as eh


def test_verify_refuses_a_false_claim(compas_mapping, tmp_path):
    """A file whose checksum is right but whose certificate claims more than it holds."""
    from dataclasses import replace

    claimed = replace(compas_mapping.certificate, objective=0.001, lower_bound=0.001)
    replace(compas_mapping, certificate=claimed).save(tmp_path / "m")
    result = evenhand("verify", str(tmp_path / "m"))
    assert result.returncode == 1
    assert "NO" in result.stdout
    assert "claims something else" in result.stdout


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
    assert "group hired rows released rate low high expected" in flat(with_rows.stdout)
    complained(inside("theory", "m", "--holdout", "fine.toml"))
    complained(inside("theory", "m", "--confidence", "2"), "confidence")


def test_verify_refuses_a_tampered_proof(folder, inside):
    inside("fit", "fine.toml", "people.csv", "--proof", "a.proof")
    text = (folder / "a.proof").read_text()
    (folder / "a.proof").write_text(text.replace("30.0", "31.0", 1))
    result = evenhand("verify", "a.proof", cwd=folder)
    assert result.returncode == 1
    assert "Refused: the digest does not match" in flat(result.stdout)
    (folder / "a.proof").write_text("{ this is no proof")
    result = inside("verify", "a.proof")
    assert result.returncode == 1
    assert "Refused: " in result.stdout
    assert "Traceback" not in result.stderr


def test_names_in_a_proof_cannot_write_to_the_terminal(folder, inside):
    document = '{"format": "evenhand-proof", "version": 1, "kind": "mapping", "sha256": "\\u001b[31m[bold]x"}'
    (folder / "a.proof").write_text(document)
    result = inside("verify", "a.proof")
    assert result.returncode == 1
    assert "\x1b" not in result.stdout
    assert "�[31m[bold]x" in result.stdout


# ---------------------------------------------------------------------------------------------------------------------
# Tables through a mapping
# ---------------------------------------------------------------------------------------------------------------------


class TestTransform:
    @pytest.mark.parametrize("mode", ["release", "apply"])
    def test_it_writes_what_the_mapping_draws(self, fitted, inside, mode):
        result = inside(mode, "fine.mapping", "people.csv", "--seed", "7", "--out", "new.csv")
        assert result.returncode == 0, result.stderr
        mapping = eh.Mapping.load(fitted / "fine.mapping")
        expected = getattr(mapping, mode)(small_frame(), seed=7)
        found = pd.read_csv(fitted / "new.csv")
        assert found.equals(expected.astype(found.dtypes))
        changed = int((found != small_frame()).any(axis=1).sum())
        said = flat(result.stdout)
        assert "Rows 200" in said
        assert f"Changed {changed:,} (" in said
        assert "What was written new.csv" in said
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

    def test_keys(self, fitted, inside):
        """The same person gets the same draw in any order; rows that share a key share it, and are told so."""
        frame = small_frame().assign(id=[f"p{i // 2}" for i in range(200)])
        frame.to_csv(fitted / "keyed.csv", index=False)
        frame[::-1].to_csv(fitted / "backwards.csv", index=False)
        for name in ("keyed", "backwards"):
            arguments = ("apply", "fine.mapping", f"{name}.csv", "--key", "id", "--out", f"{name}-new.csv")
            result = inside(*arguments)
            assert result.returncode == 0, result.stderr
            assert "rows that share a key share one draw" in flat(result.stdout)
        first, second = (pd.read_csv(fitted / f"{name}-new.csv") for name in ("keyed", "backwards"))
        assert first.equals(second[::-1].reset_index(drop=True))
        assert (first.groupby(["id", frame["group"], frame["score"]])["score"].nunique() == 1).all()

    def test_columns_that_share_a_name(self, fitted, inside):
        """One that the problem does not use is passed through under a name of its own, and that is said."""
        lines = (fitted / "people.csv").read_text().splitlines()
        text = "\n".join([f"{lines[0]},note,note", *(f"{line},x,y" for line in lines[1:])])
        (fitted / "twice.csv").write_text(text + "\n")
        result = inside("apply", "fine.mapping", "twice.csv", "--out", "new.csv")
        assert result.returncode == 0, result.stderr
        assert flat(result.stderr).count("several columns called 'note'") == 1
        assert list(pd.read_csv(fitted / "new.csv")) == ["group", "score", "hired", "note", "note_2"]

    def test_options_reach_the_mapping(self, fitted, inside):
        options = ("--draw", "balanced", "--unseen", "error", "--restore", "label", "--seed", "3")
        result = inside("release", "fine.mapping", "people.csv", "--out", "b.parquet", *options, "--json")
        assert document(result)["options"] == {
            "seed": 3, "key": None, "draw": "balanced", "unseen": "error", "restore": "label",
        }  # fmt: skip
        assert len(pd.read_parquet(fitted / "b.parquet")) == 200
        assert inside("release", "fine.mapping", "people.csv", "--out", "x.csv", "--draw", "lots").returncode == 2


class TestAudit:
    def test_of_the_table_that_was_fitted(self, inside, fitted):
        result = inside("audit", "fine.mapping")
        assert result.returncode == 0, result.stderr
        said = flat(result.stdout)
        for words in ("the table it was fitted on", "Before After", "What this does not say", "Sees them Does not"):
            assert words in said, words

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
        assert [row["after"] for row in found["rates"]] == pytest.approx(expected.rates["after"].tolist())
        assert found["coverage"]


def test_a_damaged_mapping_does_not_stand(fitted, inside):
    content = bytearray((fitted / "fine.mapping").read_bytes())
    content[-9] ^= 1
    (fitted / "damaged").write_bytes(content)
    result = inside("verify", "damaged")
    assert result.returncode == 1
    assert "Refused: 'damaged': the checksum does not match: the file was damaged or altered" in flat(result.stdout)
    assert document(inside("verify", "damaged", "--json"))["stands"] is False


def test_an_intact_mapping_stands(fitted, inside):
    result = inside("verify", "fine.mapping")
    assert result.returncode == 0
    assert "The certificate stands: optimal" in result.stdout
