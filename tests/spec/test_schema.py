"""The schema of problems' TOML accepts whatever is read, and tells most of what is not from it."""

import copy
import json
import random
import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
import tomli_w
from jsonschema import Draft4Validator, Draft202012Validator
from spec.test_toml import FORMS, MALFORMED, STATEMENTS, of

import evenhand as eh

ROOT = Path(__file__).parent.parent.parent
WRITTEN = ["docs/reference/problem.toml", "examples/adult.toml", "examples/german.toml"]
TEXTS = {
    **{name: (ROOT / name).read_text() for name in WRITTEN},
    **{str(form): of(**form).to_toml() for form in FORMS},
    **{name: stated.to_toml() for name, stated in STATEMENTS.items()},
}
DOCUMENTS = [tomllib.loads(text) for text in TEXTS.values()]


@pytest.fixture(scope="module")
def validator():
    schema = eh.Problem.schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def as_json(document):
    """What an editor hands to its validator: JSON has no dates."""
    return json.loads(json.dumps(document, default=str))


def wrong(validator, document):
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(as_json(document))]


def reads(document):
    try:
        eh.Problem.from_toml(tomli_w.dumps(document))
    except eh.SpecError:
        return False
    return True


@pytest.mark.parametrize("name", TEXTS)
def test_every_form_is_valid(validator, name):
    assert not wrong(validator, tomllib.loads(TEXTS[name]))


def test_the_forms_that_stand_in_comments_are_valid(validator):
    """The file of all forms states one problem; learned cells, a confidence and a conditional are beside it."""
    text = TEXTS["docs/reference/problem.toml"]
    hidden = re.findall(r"^# (\[+\w+\]+.*\n(?:# \w+ = .*\n?)+|confidence = [\d.]+)", text, flags=re.MULTILINE)
    forms = [tomllib.loads(re.sub("^# ", "", form, flags=re.MULTILINE)) for form in hidden]
    assert [*map(list, forms)] == [["confidence"], ["cells"], ["cells"], ["conditional"]]
    for form in forms:
        assert not wrong(validator, tomllib.loads(text) | form)


def test_studies_and_proposals_are_valid(validator, compas, adult, compas_mapping):
    for stated in (compas.problem, adult.problem, compas_mapping.problem):
        assert not wrong(validator, tomllib.loads(stated.to_toml()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"utilty": {"measure": "KL"}}, "'utilty' was unexpected"),
        ({"utility": {"measure": "KLD"}}, "'KLD' is not one of ['KL']"),
        ({"protected": "sex"}, "'sex' is not of type 'array'"),
        ({"tie_break": "evenly"}, "'evenly' is not one of ['least_change', 'even', 'none']"),
        ({"parity": [{"kind": "pairwise"}]}, "'bound' is a required property"),
        ({"parity": [{"kind": "pairwise", "bound": "0.1"}]}, "'0.1' is not of type 'number'"),
        ({"parity": [{"kind": "pairwise", "bound": 0.1, "levels": "all"}]}, "'all' is not one of"),
        ({"parity": [{"kind": "pairwise", "bound": [{"wher": {"sex": "a"}, "value": 1}]}]}, "'wher' was unexpected"),
        ({"budget": {"kind": "expected", "limit": True}}, "True is not of type 'number'"),
        ({"bins": {"age": {"by": "quantiles", "number": 4.5}}}, "4.5 is not of type 'integer'"),
    ],
)
def test_an_editor_is_told_what_is_wrong(validator, change, words):
    document = as_json(tomllib.loads(STATEMENTS["by"].to_toml()) | change)

    def leaves(error):
        return [leaf for inner in error.context for leaf in leaves(inner)] or [error]

    told = [leaf.message for error in validator.iter_errors(document) for leaf in leaves(error)]
    assert any(words in message for message in told), told


# What depends on several entries together, or on the size of a number.
BEYOND = re.compile(
    "must be at (least|most)|sums? to|is given twice|needs exactly one|negative cost|names a reference group"
    "|write suppress_protected|a cost table needs|needs 'from', 'to' and 'cost'$"
)


@pytest.mark.parametrize(("which", "old", "new", "words"), MALFORMED)
def test_malformed_documents_are_found(validator, which, old, new, words):
    document = tomllib.loads(STATEMENTS[which].to_toml().replace(old, new))
    assert BEYOND.search(words) or wrong(validator, document)


def nodes(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from nodes(each, (*path, key))


ODD = (3, 0.5, -1, "word", True, [], [1], ["a"], {}, {"a": 1}, [{"value": 1}], date(2020, 1, 2))
WORDS = ("each", "sum", "KL", "ordinal", "pairwise", "expected", "none", "no")


def changed(document, rng):
    """A document with one key misspelt, dropped or added, or with one value of another type or word."""
    found = copy.deepcopy(document)
    *above, key = rng.choice(list(nodes(found)))
    at = found
    for step in above:
        at = at[step]
    way = rng.choice(["misspelt", "dropped", "added", "of another type", "another word"])
    if way == "dropped":
        del at[key]
    elif way == "of another type":
        at[key] = rng.choice(ODD)
    elif way == "another word" and isinstance(at[key], str):
        at[key] = rng.choice(WORDS)
    elif way == "misspelt" and isinstance(key, str):
        at[rng.choice([f"{key}s", key[:-1] + "x"])] = at.pop(key)
    elif isinstance(at, dict):
        at["surplus"] = rng.choice(ODD)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_read_is_valid_and_most_of_what_is_not_is_found(validator, seed):
    """Nothing that Problem.from_toml reads is underlined; of what it refuses, nine in ten are, the rest being columns
    and numbers that do not go together, of which a schema knows nothing."""
    rng = random.Random(seed)
    earlier = Draft4Validator(validator.schema)
    refused = found = 0
    for _ in range(250):
        document = changed(rng.choice(DOCUMENTS), rng)
        valid = not wrong(validator, document)
        assert earlier.is_valid(as_json(document)) == valid
        if reads(document):
            assert valid, (document, wrong(validator, document))
        else:
            refused, found = refused + 1, found + (not valid)
    assert refused > 100
    assert found / refused > 0.8


def test_no_key_is_left_open(validator):
    """Each field of each class is described, so that a new one of a type that the schema does not know is noticed."""
    tables = {"a problem": validator.schema, **validator.schema["$defs"]}
    fields = {(name, key): form for name, table in tables.items() for key, form in table.get("properties", {}).items()}
    for at, form in fields.items():
        assert set(form) & {"type", "enum", "anyOf", "$ref"}, at
    for name, form in validator.schema["$defs"].items():
        assert form, name
    assert all(form["description"] for form in validator.schema["properties"].values())
    assert "As in" not in json.dumps(validator.schema)
