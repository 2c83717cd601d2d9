from dataclasses import replace

import numpy as np
import pytest
from families import small_frame, small_problem
from fits import shared_fit
from scipy.stats import chisquare

import evenhand as eh
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Role, Variable
from evenhand.kernel import Kernel, gather, identity, project
from evenhand.kernel.draws import DRAW_BITS, seeded_draws
from evenhand.kernel.stochastic import LARGEST_GUIDE


def random_kernel(rng, rows=50):
    sizes = rng.integers(1, 6, rows)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    probability = np.concatenate([rng.dirichlet(np.ones(n)) for n in sizes])
    targets = np.concatenate([np.sort(rng.choice(20, n, replace=False)) for n in sizes])
    return Kernel(starts, targets, probability)


def test_thresholds_end_at_exactly_two_to_the_52():
    kernel = random_kernel(np.random.default_rng(0), rows=5000)
    assert np.all(kernel.thresholds[kernel.starts[1:] - 1] == 2**DRAW_BITS)
    within = np.diff(kernel.rows) == 0
    assert np.all(np.diff(kernel.thresholds)[within] >= 0)
    shares = np.diff(np.concatenate([[0], kernel.thresholds])).astype(float)
    first = kernel.starts[:-1]
    shares[first] = kernel.thresholds[first]
    assert shares / 2**DRAW_BITS == pytest.approx(kernel.probability, abs=1e-14)


@pytest.mark.parametrize("largest", [LARGEST_GUIDE, 0], ids=["by a guide", "by halves"])
def test_pick_is_the_first_threshold_above_the_draw(largest, monkeypatch):
    monkeypatch.setattr("evenhand.kernel.stochastic.LARGEST_GUIDE", largest)
    kernel = random_kernel(np.random.default_rng(1))
    rng = np.random.default_rng(2)
    rows, draws = rng.integers(0, len(kernel), 3000), rng.integers(0, 2**DRAW_BITS, 3000)
    picked = kernel.pick(rows, draws)
    for row, draw, target in zip(rows, draws, picked, strict=True):
        part = slice(kernel.starts[row], kernel.starts[row + 1])
        assert target == kernel.targets[part][np.argmax(draw < kernel.thresholds[part])]


def test_the_extreme_draws_stay_in_their_row():
    kernel = random_kernel(np.random.default_rng(3))
    rows = np.arange(len(kernel))
    assert np.array_equal(
        kernel.pick(rows, np.full(len(rows), 2**DRAW_BITS - 1)), kernel.targets[kernel.starts[1:] - 1]
    )
    assert np.array_equal(kernel.pick(rows, np.zeros(len(rows), np.int64)), kernel.targets[kernel.starts[:-1]])


def test_entries_list_every_move_of_the_rows_asked():
    kernel = random_kernel(np.random.default_rng(4))
    asked, entry = kernel.entries(np.array([7, 7, 0]))
    sizes = np.diff(kernel.starts)[[7, 7, 0]]
    assert np.bincount(asked).tolist() == sizes.tolist()
    assert np.array_equal(kernel.rows[entry], np.repeat([7, 7, 0], sizes))


def test_gather_adds_equal_targets_and_normalises_once():
    kernel = gather(np.array([1, 0, 1, 1]), np.array([5, 2, 3, 5]), np.array([0.2, 4.0, 0.4, 0.2]), 2)
    assert kernel.targets.tolist() == [2, 3, 5]
    assert kernel.probability == pytest.approx([1.0, 0.5, 0.5])


def test_identity_keeps_everybody():
    kernel = identity(np.array([4, 9]))
    assert kernel.pick(np.array([1, 0]), np.array([0, 2**DRAW_BITS - 1])).tolist() == [9, 4]


def test_apply_mode_is_the_mixture_over_outcomes(adult_mapping):
    """The paper's p(x̂|d,x), summed by hand from the mapping's own table."""
    table = adult_mapping.table("release")
    counts = adult_mapping.counts
    p = {}
    for d, x, y, w in zip(counts.d, counts.x, counts.y, counts.weight, strict=True):
        key = (*counts.domain.d.labels(int(d)).values(), *counts.domain.x.labels(int(x)).values())
        p.setdefault(key, {})[int(y)] = w
    expected = {}
    for row in table.itertuples(index=False):
        key = (row.sex, row.race, row.age, row.education)
        share = p[key][row.income] / sum(p[key].values())
        to = (*key, row.to_age, row.to_education)
        expected[to] = expected.get(to, 0.0) + row.probability * share
    applied = {tuple(row[:-1]): row[-1] for row in adult_mapping.table("apply").itertuples(index=False)}
    assert applied.keys() == expected.keys()
    assert all(applied[k] == pytest.approx(v, abs=1e-12) for k, v in expected.items())


def test_apply_rows_sum_to_one(adult_mapping):
    kernel = project(adult_mapping.kernel, adult_mapping.counts, "dx", "x")
    assert np.bincount(kernel.rows, weights=kernel.probability) == pytest.approx(np.ones(len(kernel)), abs=1e-12)


def test_draws_match_the_kernel():
    """Chi-square over a fixed seed: 40,000 draws of one row."""
    kernel = Kernel(np.array([0, 4]), np.array([1, 2, 5, 9]), np.array([0.5, 0.3, 0.15, 0.05]))
    picked = kernel.pick(np.zeros(40_000, np.int64), seeded_draws(7, 40_000, "release"))
    observed = [int((picked == t).sum()) for t in kernel.targets]
    assert chisquare(observed, 40_000 * kernel.probability).pvalue > 0.01


def test_one_draw_hits_what_it_hits_among_many(adult_mapping):
    kernel = adult_mapping.kernel
    rows = np.arange(len(kernel)).repeat(5)
    drawn = seeded_draws(3, len(rows), "release")
    # The ends of the range, and thresholds themselves, which belong to the next entry.
    drawn[0::5], drawn[1::5] = 0, 2**DRAW_BITS - 1
    drawn[2::5] = np.minimum(kernel.thresholds[kernel.starts[:-1]], 2**DRAW_BITS - 1)
    alone = [kernel.hit_one(*pair) for pair in zip(rows.tolist(), drawn.tolist(), strict=True)]
    assert alone == kernel.hit(rows, drawn).tolist()


def test_seeded_draws_never_change():
    assert seeded_draws(0, 3, "release").tolist() == [2151327883533787, 539764233379467, 3892058635915847]
    assert not np.array_equal(seeded_draws(0, 3, "release"), seeded_draws(1, 3, "release"))
    assert not np.array_equal(seeded_draws(0, 3, "release"), seeded_draws(0, 3, "apply"))


@pytest.mark.parametrize("mode", ["release", "apply"])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_draws_are_not_those_that_made_the_table(seed, mode):
    """Somebody who simulates or splits a table with the same seed must not meet the same numbers again."""
    draws = seeded_draws(seed, 4000, mode) / 2**DRAW_BITS
    assert abs(np.corrcoef(draws, np.random.default_rng(seed).random(4000))[0, 1]) < 0.1


def test_released_rows_match_the_kernel(compas, compas_mapping):
    """Chi-square of one large release against the expected count of every move that is frequent enough."""
    frame = compas.frame.loc[np.repeat(compas.frame.index, 20)].reset_index(drop=True)
    released = compas_mapping.release(frame, seed=5)
    to = released[["age_cat", "c_charge_degree", "priors_count", "is_recid"]].add_prefix("to_")
    seen = frame.join(to).value_counts().rename("seen")
    table = compas_mapping.table("release")
    keys = [c for c in table.columns if c != "probability"]
    people = frame.value_counts().rename("people")
    merged = table.merge(people.reset_index()).merge(seen.reset_index(), on=keys, how="left").fillna({"seen": 0})
    expected = merged["people"] * merged["probability"]
    assert merged["seen"].sum() == len(frame)
    common = expected >= 5
    statistic = ((merged["seen"] - expected) ** 2 / expected)[common].sum()
    freedom = common.sum() - len(compas_mapping.kernel)
    assert statistic < freedom + 4 * np.sqrt(2 * freedom)
    assert (merged["probability"] < 1).sum() > 50
    assert isinstance(compas_mapping, eh.Mapping)


AXES = ["", "d", "x", "y", "dx", "dy", "xy", "dxy"]
SIZES = {"d": 3, "x": 4, "y": 2}


def random_mapping(seed):
    """Random counts over some cells of a domain, and P(x̂, ŷ | d, x, y), dense and as a kernel."""
    rng = np.random.default_rng(seed)
    names = {"d": Role.PROTECTED, "x": Role.FEATURE, "y": Role.OUTCOME}
    domain = Domain.of(Variable(name, role, tuple(range(SIZES[name])), True) for name, role in names.items())
    weight = np.where(rng.random((3, 4, 2)) < 0.7, rng.integers(1, 9, (3, 4, 2)), 0).astype(float)
    weight[0, 0, 0] = 1
    counts = Counts.of(domain, *(axis.ravel() for axis in np.indices(weight.shape)), weight.ravel())
    dense = rng.random((3, 4, 2, 4, 2)) * (rng.random((3, 4, 2, 4, 2)) < 0.6) + 1e-3
    dense /= dense.sum(axis=(3, 4), keepdims=True)
    rows = dense[counts.d, counts.x, counts.y].reshape(len(counts), -1)
    row, target = np.nonzero(rows)
    return counts, weight / weight.sum(), dense, gather(row, target, rows[row, target], len(rows))


@pytest.mark.parametrize("reads", AXES)
@pytest.mark.parametrize("seed", range(5))
def test_counts_over_some_axes_are_sums_over_the_others(seed, reads):
    counts, p, _, _ = random_mapping(seed)
    expected = np.einsum(f"dxy->{reads}", p)
    over = counts.over(reads)
    assert np.all(np.diff(over.cells) > 0)
    cells = counts.domain.split(reads, over.cells)
    assert expected[tuple(cells[axis] for axis in reads)] == pytest.approx(over.probability)
    assert len(over.cells) == np.count_nonzero(expected)
    own = {"d": counts.d, "x": counts.x, "y": counts.y}
    assert np.array_equal(over.cells[over.of_source], counts.domain.number(reads, own))


@pytest.mark.parametrize("writes", ["", "x", "y", "xy"])
@pytest.mark.parametrize("reads", AXES)
@pytest.mark.parametrize("seed", range(3))
def test_a_projected_kernel_is_a_mean_over_what_is_not_read_and_a_sum_over_what_is_not_written(seed, reads, writes):
    """So apply mode reads ``"dx"`` and writes ``"x"``, section 3.4; what reads no label leaves out ``"y"``."""
    counts, p, dense, kernel = random_mapping(seed)
    upper = writes.upper()
    joint = np.einsum(f"dxy,dxyXY->{reads}{upper}", p, dense)
    mass = np.einsum(f"dxy->{reads}", p)
    found = project(kernel, counts, reads, writes)
    assert len(found) == len(counts.over(reads).cells)
    read = counts.domain.split(reads, counts.over(reads).cells[found.rows])
    written = counts.domain.split(writes, found.targets)
    at = tuple(read[axis] for axis in reads)
    expected = joint[(*at, *(written[axis] for axis in writes))] / mass[at]
    assert expected == pytest.approx(found.probability)
    assert np.bincount(found.rows, weights=found.probability) == pytest.approx(np.ones(len(found)))


@pytest.mark.parametrize("seed", range(3))
def test_a_blind_mapping_is_its_own_projection_over_the_groups(seed):
    counts, _, dense, _ = random_mapping(seed)
    alike = dense[:1].repeat(3, axis=0)[counts.d, counts.x, counts.y].reshape(len(counts), -1)
    row, target = np.nonzero(alike)
    blind = gather(row, target, alike[row, target], len(alike))
    found, records = project(blind, counts, "xy"), counts.over("xy")
    own = np.zeros((len(counts), alike.shape[1]))
    for source, record in enumerate(records.of_source):
        entry = slice(*found.starts[record : record + 2])
        own[source, found.targets[entry]] = found.probability[entry]
    assert own == pytest.approx(alike)


def test_what_is_read_decides_the_rows_of_both_modes():
    problem, frame = small_problem(), small_frame()
    for blind, reads in ((False, "dxy"), (True, "xy")):
        wide = replace(problem, blind=blind, parity=[eh.PairwiseParity(1.0)])
        mapping = shared_fit(wide, frame)
        assert mapping.problem.reads == reads
        for mode, axes in ((mapping.release_mode, reads), (mapping.apply_mode, reads.replace("y", ""))):
            assert mode.reads == mapping.counts.domain.axes(axes)
            assert np.array_equal(mode.sources, mapping.counts.over(axes).cells)
            assert len(mode.fitted) == len(mode.sources)
