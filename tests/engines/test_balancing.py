"""Balanced draws out of files: the same numbers as in memory, in any number of portions."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.engines import balancing
from evenhand.kernel.draws import balanced_draws, seeded_draws


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
        found = balancing.balanced(batches, tmp_path, 11, 2, "release", lambda stage, share: portions.append(share))
    assert len(portions) == (7 if number * bytes_a_row == 50_000_000 else 1)
    drawn = np.concatenate([found.draws(at, min(9000, number - at)) for at in cuts]) if number else np.zeros(0)
    assert np.array_equal(drawn, balanced_draws(source, draw, 2, "release"))
