"""Ranks out of files: the same as in memory, in any number of portions."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.engines import balancing
from evenhand.kernel.balance import ranked
from evenhand.kernel.draws import Spaced, balanced_draws, seeded_draws


@pytest.mark.parametrize("number", [0, 1, 50_000])
@pytest.mark.parametrize("bytes_a_row", [80, 1000])
@pytest.mark.parametrize("shared", [False, True])
def test_the_same_as_in_memory(tmp_path, monkeypatch, number, bytes_a_row, shared):
    monkeypatch.setattr(balancing, "BYTES_PER_ROW", bytes_a_row)
    monkeypatch.setattr(balancing, "CHUNK", 7000)
    rng = np.random.default_rng(5)
    source = rng.choice([0, 3, 4, 9], number, p=[0.6, 0.3, 0.0999, 0.0001])
    draw = seeded_draws(2, number, "release")
    if shared:
        # Rows of one person share a draw.
        draw = draw[rng.integers(0, max(number // 3, 1), number)]
    cuts = range(0, number, 9000)
    with eh.using(memory="64MB"):
        portions: list[float] = []
        batches = [(source[at : at + 9000], draw[at : at + 9000]) for at in cuts]
        found = balancing.rank_rows(batches, tmp_path, lambda stage, share: portions.append(share))
    assert len(portions) == (7 if number * bytes_a_row == 50_000_000 else 1)
    assert found.rows == number

    class Both:
        """A plan that keeps what it is given."""

        def draws(self, source, rank):
            return np.stack([source, rank])

    rank, people = ranked(source, draw, len(found.people))
    assert np.array_equal(found.people, people)
    for at in cuts:
        size = min(9000, number - at)
        assert np.array_equal(found.draws(Both(), at, size), [source[at : at + size], rank[at : at + size]])
    # The plan of apply mode, which is not made from all rows at once, is that of rows in memory.
    spaced = Spaced.of(found.people, 2, "apply")
    drawn = [found.draws(spaced, at, min(9000, number - at)) for at in cuts]
    assert np.array_equal(np.concatenate([*drawn, []]), balanced_draws(source, draw, 2, "apply"))
