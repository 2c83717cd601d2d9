"""What annotations say: one declaration is the check, the reading and writing of documents, and their schema."""

from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from datetime import date, datetime
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator

from evenhand import SpecError, check, records
from evenhand.records import UNRECORDED, Keys, Nothing


class Shape:
    """A shape; which one, its key says."""

    key = "shape"
    word = ""

    @classmethod
    def kinds(cls):
        return {"circle": Circle, "Square": Square}

    @classmethod
    def made(cls):
        return {"traced": Traced}

    def __post_init__(self):
        records.check(self)


@dataclass(frozen=True)
class Circle(Shape):
    """A circle.

    Parameters
    ----------
    radius : float
        How far it reaches.
    """

    radius: check.Bound
    word = "circle"


@dataclass(frozen=True)
class Square(Shape):
    """A square.

    Parameters
    ----------
    side : float
        Its length.
    """

    side: check.Bound = 1.0


@dataclass(frozen=True)
class Traced(Shape):
    """What only a program writes."""

    points: Sequence[tuple[float, float]]
    word = "traced"


@dataclass(frozen=True)
class Other(Shape):
    """One that nobody listed."""


@dataclass(frozen=True)
class Drawing:
    """Shapes on a page.

    Parameters
    ----------
    title : str
        What it is called.
    shapes : sequence of Shape
        What is on it.
    """

    title: str
    shapes: Sequence[Shape] = ()
    paper: Literal["a4", "letter"] = "a4"
    grid: Annotated[Literal["dots", "lines"] | None, Nothing("none")] = "dots"
    layers: Mapping[str, Sequence[int]] = field(default_factory=dict)
    prices: Annotated[Mapping[tuple[str, int], float], Keys("place", "year", "price")] = field(default_factory=dict)
    scale: float | Sequence[float] = 1.0
    drawn: date | None = None
    hidden: bool = False
    filled: Any | None = None
    folder: str = field(default=".", metadata=UNRECORDED)
    stated = ("paper",)

    def __post_init__(self):
        records.check(self)
        if self.hidden and self.shapes:
            raise SpecError("what is hidden has no shapes")


FULL = Drawing(
    "plan", [Circle(2), Square(), Traced([(0, 1), (2.5, 3)])], "letter", None, {"walls": [1, 2]},
    {("home", 2026): 3.5, ("away", 2027): 4}, [1, 2], date(2026, 11, 18),
)  # fmt: skip
DOCUMENT = {
    "title": "plan",
    "shapes": [
        {"shape": "circle", "radius": 2.0},
        {"shape": "Square"},
        {"shape": "traced", "points": [[0, 1], [2.5, 3]]},
    ],
    "paper": "letter",
    "grid": "none",
    "layers": {"walls": [1, 2]},
    "prices": [{"place": "home", "year": 2026, "price": 3.5}, {"place": "away", "year": 2027, "price": 4}],
    "scale": [1, 2],
    "drawn": date(2026, 11, 18),
}


def test_a_record_is_written_and_read_as_its_document():
    assert records.written(FULL) == DOCUMENT
    assert records.read(Drawing, DOCUMENT) == FULL
    assert records.read(Drawing, DOCUMENT | {"drawn": "2026-11-18"}) == FULL


def test_what_is_at_its_default_is_left_out_unless_it_is_stated_or_all_is():
    assert records.written(Drawing("empty")) == {"title": "empty", "paper": "a4"}
    full = records.written(Drawing("empty"), full=True)
    assert full == {
        "title": "empty", "shapes": [], "paper": "a4", "grid": "dots", "layers": {}, "prices": [], "scale": 1.0,
        "drawn": None, "hidden": False, "filled": None,
    }  # fmt: skip
    assert records.read(Drawing, full) == Drawing("empty")


def test_values_are_kept_frozen():
    assert FULL.shapes == (Circle(2), Square(), Traced(((0, 1), (2.5, 3))))
    assert hash(FULL) == hash(records.read(Drawing, DOCUMENT))
    assert FULL.layers == {"walls": (1, 2)}
    with pytest.raises(FrozenInstanceError):
        FULL.title = "another"
    with pytest.raises(TypeError):
        FULL.layers["walls"] = ()


def test_one_record_will_do_for_a_list():
    assert Drawing("one", Circle(1)).shapes == (Circle(1),)


WRONG = {
    "a key": ({"titel": "x"}, r"the drawing has no key 'titel'\. Did you mean 'title'\? Its keys are \['title', "),
    "a key too few": ({}, "the drawing lacks the key 'title'"),
    "no table": (3, "must be an instance of Drawing: in TOML a table of"),
    "a text": ({"title": 3}, "title must be a text, not 3"),
    "a word": (
        {"title": "x", "paper": "leter"},
        r"paper must be one of \['a4', 'letter'\], not 'leter'\. Did you mean 'letter'",
    ),
    "a word for nothing": ({"title": "x", "grid": "no"}, r"grid must be one of \['dots', 'lines', 'none'\], not 'no'"),
    "a table": ({"title": "x", "shapes": {"shape": "circle"}}, r"shapes must be an array of tables: write \[\[shapes"),
    "a list": ({"title": "x", "shapes": 3}, "shapes must be a list of Circle or Square, not 3"),
    "no kind": ({"title": "x", "shapes": [{}]}, r"shapes\[0\] needs the key 'shape', one of \['circle', 'Square'\]"),
    "a kind": (
        {"title": "x", "shapes": [{"shape": "circel"}]},
        r"shapes\[0\]: shape must be one of \['circle', 'Square'\], not 'circel'\. Did you mean 'circle'",
    ),
    "a list as a kind": ({"title": "x", "shapes": [{"shape": []}]}, r"shapes\[0\]: shape must be one of"),
    "no shape": ({"title": "x", "shapes": ["circle"]}, r"shapes\[0\] must be an instance of Circle or Square: in TOML"),
    "a key of a kind": (
        {"title": "x", "shapes": [{"shape": "Square", "sid": 1}]},
        r"shapes\[0\] has no key 'sid'\. Did you mean 'side'",
    ),
    "a number": ({"title": "x", "shapes": [{"shape": "Square", "side": -1}]}, r"shapes\[0\]\.side must be at least 0"),
    "a pair": (
        {"title": "x", "shapes": [{"shape": "traced", "points": [[0]]}]},
        r"shapes\[0\]\.points\[0\] must be a list of 2 values, not \[0\]",
    ),
    "an entry of a table": ({"title": "x", "layers": {"a": ["b"]}}, r"layers\.a\[0\] must be a whole number, not 'b'"),
    "a table of names": ({"title": "x", "layers": [1]}, "layers must be a table: a mapping of names to values"),
    "a row": (
        {"title": "x", "prices": [{"place": "a", "year": 1}]},
        r"prices\[0\] lacks the key 'price'",
    ),
    "a key of a row": (
        {"title": "x", "prices": [{"place": "a", "year": "1", "price": 2}]},
        r"prices\[0\]\.year must be a whole number, not '1'",
    ),
    "a row twice": (
        {"title": "x", "prices": [{"place": "a", "year": 1, "price": 2}] * 2},
        r"prices\[1\]: place and year \('a', 1\) is given twice",
    ),
    "no rows": (
        {"title": "x", "prices": {"a": 1}},
        "prices must be a mapping of place, year to price: in TOML an array",
    ),
    "a union": ({"title": "x", "scale": {}}, r"scale must be a number, not {}"),
    "a moment": ({"title": "x", "drawn": datetime(2026, 1, 2, 3)}, "drawn must be a date, such as"),
    "a text that is no date": ({"title": "x", "drawn": "18.11.2026"}, "drawn must be a date, such as"),
    "an unrecorded key": ({"title": "x", "folder": "y"}, "has no key 'folder'"),
    "what the class refuses": (
        {"title": "x", "hidden": True, "shapes": [{"shape": "Square"}]},
        "^what is hidden has no shapes",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_by_its_place(what):
    given, words = WRONG[what]
    with pytest.raises(SpecError, match=words):
        records.read(Drawing, given)


def test_a_place_begins_where_it_is_said_to():
    with pytest.raises(SpecError, match=r"^page 2\.shapes\[0\]\.side must be at least 0"):
        records.read(Drawing, {"title": "x", "shapes": [{"shape": "Square", "side": -1}]}, "page 2")
    with pytest.raises(SpecError, match=r"^page 2: what is hidden"):
        records.read(Drawing, {"title": "x", "hidden": True, "shapes": [{"shape": "Square"}]}, "page 2")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Circle("x"), "radius of Circle must be a number, not 'x'"),
        (lambda: Drawing("x", [3]), r"shapes\[0\] of Drawing must be an instance of Circle or Square"),
        (
            lambda: Drawing("x", layers={"a": [0, -1]}),
            r"layers\.a\[1\] of Drawing must be a whole number of at least 0",
        ),
        (lambda: Drawing("x", prices={"a": 1}), r"each key of prices of Drawing must be \(place, year\), not 'a'"),
        (
            lambda: Drawing("x", prices={("a", 2): "b"}),
            r"prices\[\('a', 2\)\]\.price of Drawing must be a number, not 'b'",
        ),
    ],
)
def test_in_python_the_field_and_its_class_are_named(build, words):
    with pytest.raises(SpecError, match=words):
        build()


def test_what_no_document_can_hold_is_refused_when_it_is_written():
    with pytest.raises(SpecError, match="filled is a function, which no TOML can hold"):
        records.written(Drawing("x", filled=check.text))
    with pytest.raises(SpecError, match="Other holds a function of your own and cannot be written"):
        records.written(Drawing("x", [Other()]))


def test_the_schema_is_of_the_same_declaration():
    schema = records.schema(Drawing)
    validator = Draft202012Validator(schema)
    document = {**DOCUMENT, "drawn": "2026-11-18"}
    validator.validate(document)
    assert schema["required"] == ["title"]
    assert schema["properties"]["title"] == {"description": "What it is called.", "type": "string"}
    assert schema["properties"]["grid"] == {"enum": ["dots", "lines", "none"], "default": "dots"}
    assert schema["properties"]["scale"] == {
        "anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}], "default": 1.0,
    }  # fmt: skip
    assert set(schema["$defs"]) == {"Shape", "Circle", "Square", "Traced"}
    assert "filled" not in schema["properties"]
    beyond = ("a row twice", "what the class refuses", "a number", "a moment", "a text that is no date")
    for what, (given, _) in WRONG.items():
        if what not in beyond:
            assert not validator.is_valid(given), what
