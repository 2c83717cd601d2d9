"""Where the next programme begins: on the way of the last one, with slacks that suit its own bounds."""

from dataclasses import replace

import numpy as np
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve.structured.beginning import LEAST_SLACK, begin, begin_on, opened
from evenhand.optimize.solve.structured.form import form_of, pieces_of
from evenhand.optimize.solve.structured.layout import lay_out_form
from evenhand.optimize.solve.structured.steps import lacks, minimise


def form_at(bound, budget):
    problem = replace(small_problem(), parity=[eh.PairwiseParity(bound)], budget=eh.ExpectedDistortion(budget))
    program = compile_problem(problem, eh.count(problem, small_frame())).program
    return form_of(program, pieces_of(program)), opened(program)


@pytest.fixture
def trail():
    form, start = form_at(0.6, 0.5)
    return minimise(form, lay_out_form(form), begin(form, start), 1e-10, lambda share: None).trail


def test_without_a_trail_there_is_no_start():
    assert begin_on({}, form_at(0.6, 0.5)[0]) is None


def test_the_decade_that_is_nearest_is_taken_and_of_two_the_larger(trail):
    form, point = form_at(0.6, 0.5)[0], next(iter(trail.values()))
    marked = {decade: replace(point, y=np.full_like(point.y, decade)) for decade in (-1, -3, -5)}
    assert begin_on(marked, form).y[0] == -3
    del marked[-3]
    assert begin_on(marked, form).y[0] == -5


def test_looser_bounds_are_met_from_the_start(trail):
    form, _ = form_at(0.7, 0.6)
    tight, _ = form_at(0.6, 0.5)
    start = begin_on(trail, form)
    before = lacks(tight, begin_on(trail, tight)).primal
    assert lacks(form, start).primal <= before + 1e-12
    assert np.all(start.z > 0)
    for name in ("w", "t"):
        assert np.any(start.z[form.parts[name]] > begin_on(trail, tight).z[form.parts[name]])


def test_slacks_stay_positive_under_tighter_bounds(trail):
    form, _ = form_at(0.3, 0.1)
    start, last = begin_on(trail, form), begin_on(trail, form_at(0.6, 0.5)[0])
    assert np.all(start.z > 0)
    assert start.z[form.parts["t"]].min() >= LEAST_SLACK * last.z[form.parts["t"]].min() / 2
