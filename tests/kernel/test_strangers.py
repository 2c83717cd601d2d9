"""People in cells that nobody had: what they draw, against the statement written out in plain Python."""

import dataclasses
import itertools
import math

import duckdb
import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from fits import shared_fit
from formulations import MODES, all_pairs, problem_of, table
from oracle import Dense, by, distortion, step_costs

import evenhand as eh

COLUMNS = ["sex", "race", "f0", "f1", "y"]
EVERYBODY = pd.DataFrame(
    list(itertools.product("fm", "ab", range(2), range(3), range(2))), columns=COLUMNS
)  # every cell of the domain


def with_gaps(seed):
    """A table in which every group lacks some cells, each value being there, and every (group, outcome)."""
    frame = table(seed)
    code = frame.assign(sex=frame["sex"].eq("m"), race=frame["race"].eq("b"))
    return frame[~(code["sex"] + code["race"] + code["f0"] + code["f1"]).isin([1, 3]) | code["f1"].eq(2) & ~code["sex"]]


def unseen(frame):
    """The cells of the domain that a table does not have."""
    joined = EVERYBODY.merge(frame.drop_duplicates(), how="left", indicator=True)
    return EVERYBODY[joined["_merge"].eq("left_only").to_numpy()].reset_index(drop=True)


def fitted_on(problem, frame):
    """Fit a problem, by wider bounds where its own cannot be met on a table with gaps."""
    try:
        return eh.fit(problem, frame)
    except eh.InfeasibleError as error:
        if error.smallest_parity_bound is None:
            pytest.skip("no bound can be met on this table")
        wider = 1.05 * error.smallest_parity_bound / problem.smallest_bound
        return eh.fit(problem.with_bounds(lambda bound: max(1.0, wider) * bound + 0.01), frame)


def strange_to(problem, frame):
    """The cells of the domain that a mapping of a table does not know: blind ones know every record of any group."""
    new = unseen(frame)
    if problem.blind:
        new = new.merge(frame[["f0", "f1", "y"]].drop_duplicates(), how="left", indicator=True)
        new = new[new.pop("_merge").eq("left_only")].reset_index(drop=True)
    return new


def outcomes(mapping, new, **options):
    """Return Pr(ŷ = 0), Pr(ŷ = 1) of each row, and check that it keeps everything else."""
    with pytest.warns(eh.EvenhandWarning):
        wide = mapping.possibilities(new, mode="release", **options)
    rest = wide.drop(columns=["y", "row", "weight"]).reset_index(drop=True)
    assert rest.equals(new.drop(columns="y").loc[wide["row"]].reset_index(drop=True))
    return wide.pivot_table("weight", "row", "y", "sum", fill_value=0.0).reindex(columns=[0, 1], fill_value=0.0)


def mean_row(mapping, frame, person, by):
    """Return Pr(ŷ | the columns ``by``) over the fitted people, from the mapping as a table."""
    people = frame.value_counts(COLUMNS).rename("people").reset_index()
    rows = mapping.table().merge(people)
    mine = rows[(rows[by] == [person[column] for column in by]).all(axis=1)]
    weight = mine["people"] * mine["probability"]
    return np.array([weight[mine["to_y"].eq(y)].sum() for y in (0, 1)]) / weight.sum() if len(mine) else None


def limit_of(limit, person):
    """Return a limit for a person: the last case that fits."""
    if not isinstance(limit, eh.By):
        return limit
    found = limit.default
    for where, value in limit.cases:
        if all(person[c] in (v if isinstance(v, tuple) else (v,)) for c, v in where.items()):
            found = value
    return found


def cost_of(problem, person, y):
    """Return what another outcome costs a person who keeps everything else."""
    if problem.distortion.function is not None:
        before = {name: np.array([person[name]]) for name in ("f0", "f1", "y")}
        return float(problem.distortion.function(before, before | {"y": np.array([y])})[0])
    rule = problem.distortion.rules["y"]
    if isinstance(rule, eh.Free):
        return 0.0
    if isinstance(rule, eh.Nominal):
        return float(rule.cost)
    if y > person["y"]:
        return math.inf if not rule.up else rule.step if rule.up_step is None else rule.up_step
    return rule.step


def expected_row(problem, typical, person):
    """Mix a typical row with staying until the person's budgets hold."""
    other = 1 - person["y"]
    cost = cost_of(problem, person, other)
    leaves = typical[other] if math.isfinite(cost) else 0.0
    groups = list(itertools.product("fm", "ab")) if problem.blind else [(person["sex"], person["race"])]
    for budget in problem.budgets:
        for charge in budget.charges:
            each = cost if charge.threshold is None else float(cost > charge.threshold)
            limits = [limit_of(charge.limit, person | {"sex": sex, "race": race}) for sex, race in groups]
            if each > 0 and math.isfinite(cost):
                leaves = min(leaves, min(limits) / each)
    return leaves


def ordinary(rows):
    return [row for row in rows if "suppress_protected" not in MODES[row[4]]]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(("number", "row"), list(enumerate(ordinary(all_pairs()))))
def test_typical_rows_are_the_mean_row_within_everybodys_budget(number, row):
    problem, frame = problem_of(row, number), with_gaps(number)
    if problem.blind:
        frame = frame[~(frame["f0"].eq(1) & frame["f1"].isin([0, 2]) & frame["y"].eq(1))]
    mapping, new = fitted_on(problem, frame), strange_to(problem, frame)
    assert len(new) >= 5
    found = outcomes(mapping, new)
    fitted = {tuple(record) for record in frame[["f0", "f1", "y"]].drop_duplicates().itertuples(index=False)}
    for place, person in new.to_dict("index").items():
        typical = mean_row(mapping, frame, person, ["y"] if problem.blind else ["sex", "race", "y"])
        known = problem.distortion.function is None or (person["f0"], person["f1"], person["y"]) in fitted
        leaves = 0.0 if typical is None or not known else expected_row(problem, typical, person)
        assert found.loc[place, 1 - person["y"]] == pytest.approx(leaves, abs=1e-9)


def random_limit(rng, largest):
    """A limit by any columns, some cases of which have none and some zero."""
    levels = {"sex": "fm", "race": "ab", "f0": range(2), "f1": range(3), "y": range(2)}
    cases = []
    for named in (["sex"], rng.choice(COLUMNS, 2, replace=False), rng.choice(COLUMNS, 2, replace=False)):
        value = rng.choice([0.0, math.inf, *(largest * rng.random(4))])
        cases.append(({str(c): list(levels[c])[rng.integers(len(levels[c]))] for c in named}, float(value)))
    return eh.By(float(largest * rng.uniform(0.4, 1)), cases)


def random_budget(rng):
    expected = eh.ExpectedDistortion(random_limit(rng, 1.0))
    excess = eh.ExcessDistortion({0.6: random_limit(rng, 1.0) if rng.random() < 0.5 else 0.5})
    return [[expected], [excess], [expected, excess]][rng.integers(3)]


def random_case(seed, mode):
    """A problem whose limits differ by group, features and outcome, its mapping, and a table that lacks many cells."""
    rng = np.random.default_rng([seed, 16])
    row = (
        "KL",
        ["pairwise", "target"][seed % 2],
        "none",
        ["sum", "squares", "max", "table", "function"][seed % 5],
        mode,
    )
    problem = dataclasses.replace(problem_of(row, seed), budget=random_budget(rng))
    frame = with_gaps(seed)
    try:
        return problem, fitted_on(problem, frame), frame
    except eh.SpecError:
        # A case for nobody in this table, which is refused.
        return random_case(seed + 1000, mode)


def charged(problem, mapping, people):
    """What each person is charged by each charge of a problem, in plain Python from every possible result."""
    domain = mapping.counts.domain
    variables = [*domain.x.variables, domain.outcome]
    names = [variable.name for variable in variables]
    wide = mapping.possibilities(people, mode="release")

    def codes(record):
        return tuple(variable.levels.index(record[variable.name]) for variable in variables)

    found = np.zeros((len(people), len(problem.charges)))
    steps = list(step_costs(problem, domain))
    for result in wide.to_dict("records"):
        cost = distortion(problem, domain, steps, codes(people.loc[result["row"], names]), codes(result))
        assert math.isfinite(cost)
        for place, charge in enumerate(problem.charges):
            found[result["row"], place] += result["weight"] * (
                cost if charge.threshold is None else cost > charge.threshold
            )
    return found


@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("mode", ["plain", "blind"])
@pytest.mark.parametrize("seed", range(20))
def test_everybody_is_within_their_budgets_seen_or_not(seed, mode):
    problem, mapping, frame = random_case(seed, mode)
    assert len(unseen(frame)) >= 5
    found = charged(problem, mapping, EVERYBODY)
    for place, charge in enumerate(problem.charges):
        limits = np.array([by(charge.limit, person) for person in EVERYBODY.to_dict("records")])
        assert np.all(found[:, place] <= limits + 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_limits_of_a_blind_mapping_agree_with_the_dense_statement(seed):
    problem, mapping, _ = random_case(seed, "blind")
    problem = dataclasses.replace(problem, parity=mapping.problem.parity)  # these may have been widened
    status, value = Dense(problem, mapping.counts).solve()
    assert mapping.certificate.status == "optimal"
    assert status != "infeasible"
    if status == "optimal":
        assert mapping.objective == pytest.approx(value, abs=1e-6)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("mode", ["suppressed", "own model", "suppressed, blind"])
def test_where_d_is_suppressed_the_outcome_depends_on_x_alone(mode):
    frame = with_gaps(2)
    frame = frame[~(frame["f0"].eq(1) & frame["f1"].eq(2))]
    problem = problem_of(("KL", "pairwise", "none", "max", mode), 3)
    if mode == "own model":
        rows = {cell: p for cell, p in problem.conditional.rows.items() if cell != (1, 2)}
        problem = dataclasses.replace(problem, conditional=eh.Conditional(rows))
    mapping, new = fitted_on(problem, frame), strange_to(problem, frame)
    found = outcomes(mapping, new)
    kept = outcomes(mapping, new, unseen="keep")
    everybody = mapping.audit().rates.groupby("y").apply(lambda r: np.average(r["after"], weights=r["weight"]))
    assert (new["f0"].eq(1) & new["f1"].eq(2)).sum() == 8
    assert mode == "suppressed, blind" or len(new) > 8
    for place, person in new.to_dict("index").items():
        own = frame[frame["f0"].eq(person["f0"]) & frame["f1"].eq(person["f1"])]
        if not len(own):
            assert found.loc[place].to_numpy() == pytest.approx(everybody.to_numpy(), abs=1e-9)
            assert kept.loc[place, person["y"]] == 1
        elif mode != "own model":
            assert found.loc[place, 1] == pytest.approx(own["y"].mean(), abs=1e-9)
            assert kept.loc[place].equals(found.loc[place])


@pytest.fixture(scope="module")
def gapped():
    """A mapping whose limits depend on group, features and outcome, and people of every kind with a key."""
    frame = with_gaps(5)
    limit = eh.By(
        0.3, [({"f0": 1, "sex": "m"}, 0.02), ({"f1": [0, 2], "y": 1}, 0.15), ({"race": "b", "y": 0}, math.inf)]
    )
    problem = dataclasses.replace(
        problem_of(("KL", "target", "none", "sum", "plain"), 1), budget=eh.ExpectedDistortion(limit)
    )
    people = pd.concat([EVERYBODY] * 40, ignore_index=True)
    strange = pd.DataFrame({"sex": ["x", "m"], "race": "a", "f0": [0, 9], "f1": 0, "y": 1})
    people = pd.concat([people, strange], ignore_index=True).reset_index(names="id")
    return fitted_on(problem, frame), people


@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
class TestEverywhere:
    """One draw, whoever makes it."""

    @pytest.mark.slow
    @pytest.mark.parametrize("unseen", [None, "typical", "keep"])
    def test_one_by_one_and_few_and_many(self, gapped, unseen):
        mapping, people = gapped
        many = mapping.release(people, key="id", seed=3, unseen=unseen)
        few = pd.concat(
            [mapping.release(people.iloc[i : i + 7], key="id", seed=3, unseen=unseen) for i in range(0, len(people), 7)]
        )
        assert few.equals(many)
        for record, expected in zip(people.to_dict("records"), many.to_dict("records"), strict=True):
            assert mapping.person(record, mode="release", key="id", seed=3, unseen=unseen) == expected

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("unseen", ["typical", "keep"])
    def test_a_query(self, gapped, unseen):
        mapping, people = gapped
        expected = mapping.release(people, key="id", seed=3, unseen=unseen)
        query = mapping.to_sql("duckdb", "people", "id", mode="release", seed=3, unseen=unseen)
        found = duckdb.sql(query).df().sort_values("id", ignore_index=True)
        assert found.astype(expected.dtypes).equals(expected)
        assert not expected.equals(people)

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("draw", ["independent", "balanced"])
    def test_a_file(self, gapped, draw, tmp_path):
        mapping, people = gapped
        people.to_csv(tmp_path / "people.csv", index=False)
        # Balanced draws by key need all rows in memory.
        draws = eh.Draws(seed=3, key="id" if draw == "independent" else None, draw=draw)
        done = mapping.release(tmp_path / "people.csv", draws, to=tmp_path / "new.csv")
        expected = mapping.release(people, draws)
        assert pd.read_csv(tmp_path / "new.csv").astype(expected.dtypes).equals(expected)
        new = len(unseen(with_gaps(5)))
        assert (done.unseen, done.typical) == (40 * new + 2, 40 * new)

    def test_expanded(self, gapped):
        mapping, people = gapped
        # Those with a value or of a group that nobody had are in no cell of an audit.
        people = people[:-2]
        wide = mapping.expand(people.drop(columns="id"))
        by = ["sex", "race", "y"]
        rates = wide.groupby(by)["weight"].sum() / wide.groupby(by[:2])["weight"].sum()
        audit = mapping.audit(people).rates.set_index(by)["after"]
        assert rates.loc[audit.index].to_numpy() == pytest.approx(audit.to_numpy(), abs=1e-12)

    def test_a_hold_out(self, gapped):
        mapping, people = gapped
        found, kept = (mapping.theory.holdout(people, unseen=unseen) for unseen in (None, "keep"))
        new = 40 * len(unseen(with_gaps(5)))
        # One has a value that nobody had; the other's group was not fitted.
        assert (found.typical, found.kept, kept.typical, kept.kept) == (new, 1, 0, new + 1)
        expected = mapping.audit(people).rates
        assert found.rates["expected"].to_numpy() != pytest.approx(kept.rates["expected"].to_numpy())
        groups = ~expected["sex"].eq("x").to_numpy()
        assert found.rates["expected"].to_numpy() == pytest.approx(expected["after"].to_numpy()[groups], abs=0.02)


def test_draws_of_people_who_were_there_do_not_depend_on_the_policy(gapped):
    mapping, people = gapped
    there = people.merge(with_gaps(5).drop_duplicates())
    assert mapping.release(there, seed=1).equals(mapping.release(there, seed=1, unseen="keep"))


@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_an_audit_tells_how_many_and_which(gapped):
    mapping, people = gapped
    found = mapping.audit(people, unseen="typical").coverage
    new = 40 * len(unseen(with_gaps(5)))
    assert found[found["what"].eq("new combination")]["rows"].tolist() == [new, 0]
    assert found[found["what"].eq("new combination")]["policy"].tolist() == ["a typical row", "kept as it is"]
    values = found[found["what"].eq("new value")].set_index("column")["values"].to_dict()
    assert values == {"sex": "'x'", "race": "", "f0": "9", "f1": "", "y": ""}
    kept = mapping.audit(people, unseen="keep").coverage
    assert kept[kept["what"].eq("new combination")]["rows"].tolist() == [new]


def test_everybody_is_new():
    frame = with_gaps(1)
    mapping = fitted_on(problem_of(("KL", "target", "expected", "sum", "plain"), 1), frame)
    new = unseen(frame)
    with pytest.warns(
        eh.EvenhandWarning, match=f"{len(new)} of {len(new)} rows .*get the outcomes that people of their"
    ):
        released = mapping.release(pd.concat([new] * 50, ignore_index=True)[: len(new)], seed=0)
    assert len(released) == len(new)
    assert mapping.audit(new).coverage.query("policy == 'a typical row'")["rows"].tolist() == [len(new)]


def test_a_group_that_was_not_fitted_is_kept():
    mapping = shared_fit(small_problem(), small_frame())
    other = small_frame().assign(group="c")
    with pytest.warns(eh.EvenhandWarning, match="they are left unchanged"):
        assert mapping.release(other, seed=0).equals(other)


@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_typical_is_the_default(gapped, tmp_path):
    mapping, people = gapped
    mapping.save(tmp_path / "m")
    loaded = eh.Mapping.load(tmp_path / "m")
    assert loaded.release(people, seed=0).equals(mapping.release(people, seed=0, unseen="typical"))
    assert not loaded.release(people, seed=0).equals(mapping.release(people, seed=0, unseen="keep"))


def test_a_fit_with_many_cells_of_one_person_warns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, [2, 9, 9, 2], (400, 4)), columns=["d", "f0", "f1", "y"])
    alone = int(frame.value_counts().eq(1).sum())
    rules = eh.Distortion({"y": eh.Ordinal(1)})
    problem = eh.Problem(
        protected=["d"], features=["f0", "f1"], outcome="y", parity=eh.PairwiseParity(0.3), distortion=rules
    )
    words = rf"about {alone / 400:.0%} of new people are expected in cells that nobody here is in.* keep their features"
    with pytest.warns(eh.EvenhandWarning, match=words):
        mapping = eh.fit(problem, frame)
    assert any(note.startswith("about") for note in mapping.audit().sentences("caveats"))
    assert not any(
        note.startswith("about") for note in shared_fit(small_problem(), small_frame()).audit().sentences("caveats")
    )


def test_limits_of_too_many_kinds_are_the_smallest(monkeypatch, gapped):
    mapping, _ = gapped
    monkeypatch.setattr("evenhand.kernel.strangers.LARGEST_TABLE", 5)
    coarse = dataclasses.replace(mapping)
    new = unseen(with_gaps(5))
    found = outcomes(coarse, new)
    # Every limit is that of men with f0 = 1; an outcome that rises costs 0.8, one that falls 1.2.
    for place, person in new.to_dict("index").items():
        assert found.loc[place, 1 - person["y"]] * (1.2 if person["y"] else 0.8) <= 0.02 + 1e-12


def test_words_tell_who_draws_and_who_is_left_unchanged(gapped):
    mapping, people = gapped
    new = 40 * len(unseen(with_gaps(5)))
    with pytest.warns(
        eh.EvenhandWarning, match=f"; {new} of them keep their features .*, the others are left unchanged"
    ):
        mapping.release(people)
    with pytest.raises(eh.DataError, match="with unseen='typical' they are left unchanged"):
        mapping.release(people[-2:], unseen="error")


def test_who_has_new_costs_is_left_unchanged_and_told_so():
    """Of a user's own costs those of new records are not known: nobody is said to draw who stays."""
    problem = problem_of(("KL", "pairwise", "none", "function", "plain"), 1)
    frame = with_gaps(0).query("not (f0 == 1 and f1 == 1 and y == 1)")
    mapping, new = fitted_on(problem, frame), unseen(frame)
    strange = (new["f0"] == 1) & (new["f1"] == 1) & (new["y"] == 1)
    drawn = r"(they|\d+ of them) keep their features and get the outcomes .* within their own budgets"
    with pytest.warns(eh.EvenhandWarning, match=rf"{drawn}$"):
        mapping.release(new[~strange])
    with pytest.warns(eh.EvenhandWarning, match=rf"{drawn}, the others are left unchanged$"):
        mapping.release(new)
    with pytest.warns(eh.EvenhandWarning, match=r"; they are left unchanged$"):
        assert mapping.release(new[strange]).equals(new[strange])
    # Of people to come it is not known who they are.
    asked = "left unchanged where nobody fitted had their features and outcome together"
    assert mapping.release_mode.then.endswith(asked)
    assert (
        "unchanged" not in fitted_on(problem_of(("KL", "pairwise", "none", "sum", "plain"), 1), frame).release_mode.then
    )


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("batch", [100, 7, 1 << 17])
def test_the_first_new_cells_are_named_with_their_rows(gapped, batch, tmp_path, monkeypatch):
    """In memory, from files in batches, without a lottery, and in apply mode, of few rows and of many."""
    mapping, people = gapped
    new = unseen(with_gaps(5))
    first, second, third = (
        f"40 with (sex={row.sex}, race={row.race}; f0={row.f0}, f1={row.f1}; y={row.y})" for row in new[:3].itertuples()
    )
    monkeypatch.setattr("evenhand.engines.delimited.CHUNK", 10 * batch)
    people.to_csv(tmp_path / "people.csv", index=False)
    calls = {
        "frame": lambda: mapping.release(people),
        "expanded": lambda: mapping.expand(people),
        "file": lambda: mapping.release(tmp_path / "people.csv", to=tmp_path / "new.csv"),
        "balanced": lambda: mapping.release(tmp_path / "people.csv", to=tmp_path / "new.csv", draw="balanced"),
        "expanded file": lambda: mapping.expand(tmp_path / "people.csv", to=tmp_path / "new.csv"),
    }
    for call in calls.values():
        with pytest.warns(eh.EvenhandWarning) as said:
            call()
        assert f": for example {first}, {second}, {third}; " in str(said[0].message)
    few = people.merge(new[:2])
    for some in (few.groupby("y").head(2), few):
        numbers = some.groupby(COLUMNS, sort=False).size().tolist()
        cells = [f"{rows} with {each.split(' with ')[1]}" for rows, each in zip(numbers, (first, second), strict=False)]
        with pytest.warns(eh.EvenhandWarning) as said:
            mapping.release(some)
        assert f": {', '.join(cells)}; they keep" in str(said[0].message)
    with pytest.warns(eh.EvenhandWarning) as said:
        mapping.release(people[-2:])
    assert " with (" not in str(said[0].message)
