import numpy as np
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve import Clock
from evenhand.optimize.solve.edges import fullest


def test_the_fullest_point_empties_no_cell_more_than_it_must():
    """Half of a are hired and three tenths of b; people may only lose: of the 0.4 hired 0.3 stay, evenly."""
    problem = small_problem(parity=[eh.PairwiseParity(0.0)])
    program = compile_problem(problem, eh.count(problem, small_frame())).program
    original = program.released(program.stays)
    x, share = fullest(program, original, np.ones(len(original), dtype=bool), Clock())
    assert share == pytest.approx(0.75)
    assert np.min(program.released(x) / original) == pytest.approx(0.75)
