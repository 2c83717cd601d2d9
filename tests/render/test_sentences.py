"""The catalogue: every key that a finding uses is there, every key that is there is used."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import evenhand as eh
from evenhand.render.section import Note
from evenhand.render.sentences import CAPTIONS, HEADINGS, SENTENCES, TITLES, fill, sentence

ROOT = Path(eh.__file__).parent


def keys_in_use(*calls):
    """The first argument of every such call in the package, where it is written out."""
    found = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", ""))
            if isinstance(node, ast.Call) and name in calls and node.args:
                for value in ast.walk(node.args[0]):
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        found.setdefault(value.value, path.name)
    return found


def test_every_note_has_its_sentence_and_every_sentence_a_note():
    used = {key: file for key, file in keys_in_use("Note").items() if "." in key}
    assert {key: file for key, file in used.items() if key not in SENTENCES} == {}
    source = "".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py") if path.name != "sentences.py")
    assert [key for key in SENTENCES if f'"{key}"' not in source] == []


@pytest.mark.parametrize("catalogue", [SENTENCES, TITLES, CAPTIONS, HEADINGS])
def test_templates_can_be_read(catalogue):
    for template in catalogue.values():
        assert list(Formatter().parse(template))
        assert not template.endswith(" ")


def test_a_field_may_be_a_number_a_list_or_a_note():
    inner = Note("hidden.rows", {"hidden": 1, "total": 3, "least": 20})
    assert fill("{n:rate} of {names:; }: {why}", {"n": 0.5, "names": ["a", "b"], "why": inner}) == (
        f"50.0% of a; b: {sentence(inner)}"
    )


def test_a_field_that_is_lacking_is_an_error():
    with pytest.raises(KeyError):
        sentence(Note("hidden.rows", {"hidden": 1}))
