"""The smallest bound without a loss, by the specialised method: as the general solvers find it."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import SolverError
from evenhand.optimise.compile import compile_problem
from evenhand.optimise.solve import edges
from evenhand.optimise.solve.structured import limits
from evenhand.optimise.solve.structured.room import most_room


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("study", ["compas", "adult"])
def test_the_lossless_edge(study, request, monkeypatch):
    data = request.getfixturevalue(study)
    generally = eh.smallest_parity_bound(data.problem, data.counts, lossless=True)
    monkeypatch.setattr(limits, "FROM_MOVES", 0)
    asked = []
    monkeypatch.setattr(edges, "most_room", lambda *given: asked.append(1) or most_room(*given))
    assert eh.smallest_parity_bound(data.problem, data.counts, lossless=True) == pytest.approx(generally, abs=1e-7)
    assert asked


def test_r_is_held(compas):
    loose = replace(compas.problem, parity=[eh.PairwiseParity(0.7)])
    program = compile_problem(loose, compas.counts).program
    x = most_room(program, np.ones(len(program.parity)), program.original, lambda share: None)
    assert np.allclose(program.released(x), program.original, atol=1e-9)
    assert program.budget_slack(x).min() >= -1e-9


def test_without_rows_there_is_no_room_to_look_for(compas):
    program = compile_problem(compas.problem, compas.counts).program
    with pytest.raises(SolverError, match="no room"):
        most_room(program, np.zeros(len(program.parity)), program.original, lambda share: None)
