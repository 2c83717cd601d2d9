import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.data.domain import Axis, Domain, Role, Variable
from evenhand.errors import DataError, SpecError


def axis(*sizes):
    return Axis(tuple(Variable(f"v{i}", Role.FEATURE, tuple(range(n)), True) for i, n in enumerate(sizes)))


@pytest.mark.slow
@given(st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_ravel_and_unravel_are_inverse(sizes):
    cells = np.arange(axis(*sizes).size)
    codes = axis(*sizes).unravel(cells)
    assert np.array_equal(axis(*sizes).ravel(codes), cells)
    assert all(code.max() == size - 1 for code, size in zip(codes, sizes, strict=True))


def test_cells_are_numbered_as_numpy_does():
    shape = (3, 4, 2)
    assert [c[17] for c in axis(*shape).unravel(np.arange(24))] == list(np.unravel_index(17, shape))


def test_words_name_every_column():
    assert axis(2, 3).words(4) == "v0=1, v1=1"


def test_roles_sort_variables_onto_axes():
    domain = Domain.of(
        [
            Variable("y", Role.OUTCOME, (0, 1), True),
            Variable("b", Role.FEATURE, (0, 1, 2), True),
            Variable("d", Role.PROTECTED, ("m", "f"), False),
            Variable("a", Role.FEATURE, (0, 1), True),
        ]
    )
    assert [v.name for v in domain.variables] == ["d", "b", "a", "y"]
    x, y = domain.split_xy(domain.xy(np.array([5]), np.array([1])))
    assert (x[0], y[0]) == (5, 1)


def test_unknown_level_suggests_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'Female'"):
        Variable("sex", Role.PROTECTED, ("Female", "Male"), False).code("Femal")


def test_repeated_level_is_refused():
    with pytest.raises(SpecError, match="listed twice"):
        Variable("sex", Role.PROTECTED, ("F", "F"), False)


def test_a_domain_beyond_64_bits_is_refused():
    huge = tuple(Variable(f"v{i}", Role.FEATURE, tuple(range(1000)), True) for i in range(7))
    y = Variable("y", Role.OUTCOME, (0, 1), True)
    with pytest.raises(DataError, match=r"2\*\*62"):
        Domain.of([Variable("d", Role.PROTECTED, (0, 1), True), *huge, y])


NUMBERS = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "Int8",
    "Int64",
    "UInt16",
    "int64[pyarrow]",
    "uint16[pyarrow]",
]
TEXTS = ["str", "string", "string[python]", "string[pyarrow]", "large_string[pyarrow]", "string_view[pyarrow]"]
TRUTHS = ["bool", "boolean", "bool[pyarrow]"]
ANYTHING = ["object", "category", "dictionary<values=string, indices=int32, ordered=0>[pyarrow]"]
OTHERS = ["float64", "Float32", "double[pyarrow]", "nonsense", "int7", "", "int64[nonsense]", "strings"]
OF_THEIR_TYPE = [
    ((1, 2), NUMBERS),
    ((1.0, 2.0), NUMBERS),
    ((False, True), TRUTHS),
    (("1", "2"), TEXTS),
    (("true", "false"), TEXTS),
    (("a", 1), []),
    ((2, True), []),
    ((1.5, 2.5), []),
]


@pytest.mark.parametrize(("levels", "kinds"), OF_THEIR_TYPE)
def test_levels_are_of_a_type_or_not(levels, kinds):
    every = [*NUMBERS, *TEXTS, *TRUTHS, *ANYTHING, *OTHERS]
    fitting = [kind for kind in every if Variable("v", Role.FEATURE, levels, True, kind).fits_type]
    assert set(fitting) == {*kinds, *ANYTHING}


@pytest.mark.parametrize(("levels", "kind"), [((0, 300), "uint8"), ((-1, 0), "uint64"), ((0, 128), "int8[pyarrow]")])
def test_levels_beyond_their_type(levels, kind):
    assert not Variable("v", Role.FEATURE, levels, True, kind).fits_type


def test_a_column_of_missing_values_is_of_any_type():
    assert Variable("v", Role.FEATURE, ("(missing)",), False, "datetime64[us]", missing=0).fits_type
