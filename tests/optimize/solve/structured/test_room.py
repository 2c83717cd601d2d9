"""The smallest bound without a loss, by the specialised method: as the general solvers find it."""

from dataclasses import replace

import numpy as np
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.errors import SolverError
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve import Clock, edges
from evenhand.optimize.solve.model import relief_at
from evenhand.optimize.solve.structured import limits, room
from evenhand.optimize.solve.structured.room import RoomAlong


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("study", ["compas", "adult"])
def test_the_lossless_edge(study, request, monkeypatch):
    data = request.getfixturevalue(study)
    generally = eh.smallest_parity_bound(data.problem, data.counts, lossless=True)
    monkeypatch.setattr(limits, "FROM_MOVES", 0)
    asked = []
    most_room = RoomAlong.most_room
    monkeypatch.setattr(RoomAlong, "most_room", lambda *given: asked.append(1) or most_room(*given))
    assert eh.smallest_parity_bound(data.problem, data.counts, lossless=True) == pytest.approx(generally, abs=1e-7)
    assert asked


def test_r_is_held(compas):
    loose = replace(compas.problem, parity=[eh.PairwiseParity(0.7)])
    program = compile_problem(loose, compas.counts).program
    x = RoomAlong().most_room(program, np.ones(len(program.parity)), program.original, lambda share: None)
    assert np.allclose(program.released(x), program.original, atol=1e-9)
    assert program.budget_slack(x).min() >= -1e-9


def test_without_rows_there_is_no_room_to_look_for(compas):
    program = compile_problem(compas.problem, compas.counts).program
    with pytest.raises(SolverError, match="no room"):
        RoomAlong().most_room(program, np.zeros(len(program.parity)), program.original, lambda share: None)


def test_there_is_as_much_as_in_one_linear_programme():
    rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(1)})
    problem = small_problem(distortion=rules, parity=[eh.TargetParity(0.7)], budget=eh.ExpectedDistortion(0.1))
    program = compile_problem(problem, eh.count(problem, small_frame())).program
    near = program.rates @ program.stays
    scale = np.where(program.soft, np.maximum(relief_at(program, near), edges.LEAST_RELIEF), 0.0)
    found = RoomAlong().most_room(program, scale, program.original, lambda share: None)
    general = edges.roomiest(program, Clock(), near, program.original, RoomAlong())
    room, most, stays = (
        np.min(program.parity_slack(x)[program.soft] / scale[program.soft]) for x in (found, general, program.stays)
    )
    assert room == pytest.approx(most, abs=1e-8)
    assert room > stays + 0.01


@pytest.fixture
def looser_then_tighter(compas):
    """Programmes of two bounds without a loss, and what most room is asked with."""
    problems = (replace(compas.problem, parity=[eh.PairwiseParity(bound)]) for bound in (0.7, 0.62))
    programs = [compile_problem(problem, compas.counts).program for problem in problems]
    return [(program, np.ones(len(program.parity)), program.original, lambda share: None) for program in programs]


def test_another_bound_is_begun_on_the_way_to_the_last(looser_then_tighter, monkeypatch):
    alone = [RoomAlong().most_room(*asked) for asked in looser_then_tighter]
    steps, laid_out, along = [], [], RoomAlong()
    minimise, lay_out_form = room.minimise, room.lay_out_form

    def counted(*given):
        answer = minimise(*given)
        steps.append(answer.steps)
        return answer

    monkeypatch.setattr(room, "minimise", counted)
    monkeypatch.setattr(room, "lay_out_form", lambda form: laid_out.append(1) or lay_out_form(form))
    together = [along.most_room(*asked) for asked in looser_then_tighter]
    assert steps[1] < steps[0] / 2
    assert len(laid_out) == 1
    for (program, *_), x, found in zip(looser_then_tighter, alone, together, strict=True):
        assert program.parity_slack(found).min() == pytest.approx(program.parity_slack(x).min(), abs=1e-9)
        assert np.allclose(program.released(found), program.original, atol=1e-9)


def test_a_start_that_fails_is_not_the_end(looser_then_tighter, monkeypatch):
    along = RoomAlong()
    along.most_room(*looser_then_tighter[0])
    program, *more = looser_then_tighter[1]
    wanted = program.parity_slack(RoomAlong().most_room(program, *more)).min()
    minimise, tried = room.minimise, []

    def failing(*given):
        tried.append(1)
        if len(tried) == 1:
            raise SolverError("no good start")
        return minimise(*given)

    monkeypatch.setattr(room, "minimise", failing)
    assert program.parity_slack(along.most_room(program, *more)).min() == pytest.approx(wanted, abs=1e-9)
    assert len(tried) == 2
