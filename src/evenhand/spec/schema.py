"""The JSON schema of a problem's TOML, for editors: read from the classes themselves.

Fields, their types and defaults are those of the frozen dataclasses, kinds and their words those of ``toml.FAMILIES``,
descriptions those of docstrings. So whatever is registered is in the schema without a word here. It knows the shape of
a document, not which columns a table has or which numbers make sense: that is for the classes themselves.

A schema says that it is of draft 2020-12, but uses only what means the same from draft 4 on, which some editors read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from evenhand._version import __version__
from evenhand.data.domain import Value
from evenhand.spec import toml
from evenhand.spec.by import AGAINST, By, Group
from evenhand.spec.conditional import Conditional
from evenhand.spec.distortion import CostTable

Schema = dict[str, Any]
Known = dict[str, Schema]
"""The tables that others refer to, by the names of their classes."""

DRAFT = "https://json-schema.org/draft/2020-12/schema"
ABOUT = "What evenhand is to keep, and within which bounds. What descriptions call None is a key that is left out."
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
PARAMETER = re.compile(r"^(\w+(?:, \w+)*)(?: :.*)?\n((?:    .*\n?|\n(?=    ))+)", re.MULTILINE)
"""Names and words of one or more parameters, as numpydoc writes them."""


def of_problem(problem: type) -> Schema:
    """Return the schema of a problem's TOML, given the class of problems."""
    known: Known = {}
    top = {"$schema": DRAFT, "$comment": f"evenhand {__version__}: evenhand schema", "title": "evenhand: a problem"}
    whole = {**top, **_table(problem, known), "description": ABOUT}
    return {**whole, "$defs": dict(sorted(known.items()))}


def _table(kind: type, known: Known, key: str | None = None, word: str = "") -> Schema:
    """Return the schema of a table: one key per field that TOML can hold, and the one that says its kind, if any."""
    hints, told = get_type_hints(kind), _parameters(kind)
    properties: Schema = {} if key is None else {key: {"enum": [word]}}
    required = list(properties)
    for item in fields(kind):
        form = _form(item.name, hints[item.name], known)
        if form is None:
            continue
        default = item.default if item.default_factory is MISSING else item.default_factory()
        # What may be None in Python is a key that may be absent.
        if default is MISSING and NoneType not in get_args(hints[item.name]):
            required.append(item.name)
        words = {"description": told[item.name]} if item.name in told else {}
        properties[item.name] = {**words, **form, **_default(item.name, default)}
    return {"description": _summary(kind), **_object(properties, required)}


def _form(name: str, hint: Any, known: Known) -> Schema | None:
    """Return the schema of what a field of this type holds in TOML; None if TOML has no form for it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _union(name, inner, known)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is Sequence or origin is tuple:
        return _array(name, inner, known)
    if origin is Mapping:
        return _mapping(name, inner, known)
    if hint in TYPES:
        return {"type": TYPES[hint]}
    if hint is NoneType and name in toml.NOTHING:
        return {"enum": [toml.NOTHING[name]]}
    if not isinstance(hint, type) or hint in (NoneType, Any):
        return None
    if hint.__name__ not in known:
        # Named before it is described: a table may hold others of its kind.
        known[hint.__name__] = {}
        known[hint.__name__] = _described(hint, known)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def _described(kind: type, known: Known) -> Schema:
    """Return the schema of a table of a class, or of any kind of its family."""
    if kind in OTHERWISE:
        return OTHERWISE[kind](known)
    for family in toml.FAMILIES:
        if kind is family.base:
            return {"oneOf": [_form("", each, known) for each in family.kinds.values()]}
        for word, each in family.kinds.items():
            if kind is each:
                return _table(kind, known, family.key, word)
    return _table(kind, known) if is_dataclass(kind) else {}


def _union(name: str, hints: Sequence[Any], known: Known) -> Schema | None:
    # A mapping of anything is how Python may spell what another of the types is in TOML.
    told = [hint for hint in hints if hint is not By and Any not in get_args(hint)]
    plain = [form for hint in told if (form := _form(name, hint, known)) is not None]
    if not plain:
        return None
    one = _any_of(plain)
    return _any_of([one, _cases(one, known)]) if By in hints else one


def _any_of(forms: Sequence[Schema]) -> Schema:
    """Return what is any of some forms; words are one list, and so are types of which nothing more is said."""
    words = [word for form in forms for word in form.get("enum", ())]
    types = [form["type"] for form in forms if set(form) == {"type"}]
    if "number" in types:
        types = [each for each in types if each != "integer"]
    several = [{"enum": words}] if words else []
    several += [{"type": types if len(types) > 1 else types[0]}] if types else []
    several += [form for form in forms if "enum" not in form and set(form) != {"type"}]
    return several[0] if len(several) == 1 else {"anyOf": several}


def _array(name: str, inner: Sequence[Any], known: Known) -> Schema:
    """Return the schema of a list; of a tuple whose length is known, all of one type, with that length."""
    items = _form(name, inner[0], known)
    sizes = {} if len(inner) == 1 or inner[-1] is ... else {"minItems": len(inner), "maxItems": len(inner)}
    return {"type": "array", "items": items or {}, **sizes}


def _mapping(name: str, inner: Sequence[Any], known: Known) -> Schema:
    """Return the schema of a table, or of an array of them where not only names are mapped."""
    at, value = inner
    if name not in toml.ROWS:
        return {"type": "object", "additionalProperties": _form(name, value, known) or {}}
    hints = [*(get_args(at) if get_origin(at) is tuple else [at]), value]
    entry = {key: _form(key, hint, known) or {} for key, hint in zip(toml.ROWS[name], hints, strict=True)}
    return {"type": "array", "items": _object(entry, list(entry))}


def _cases(value: Schema, known: Known) -> Schema:
    """Return the schema of a value with exceptions: an array of {where, value}, one of them without where."""
    group = {"minProperties": 1, **_mapping("", get_args(Group), known)}
    known["Where"] = {
        "description": "Who a case is for: columns, and of each one level or several; all of them must fit.",
        **group,
        "properties": {AGAINST: {"description": "The second group of a pair, in either order.", **group}},
    }
    case = _object({"where": {"$ref": "#/$defs/Where"}, "value": value}, ["value"])
    return {"type": "array", "minItems": 1, "items": case}


def _conditional(known: Known) -> Schema:
    row = {
        "features": _array("", (Value,), known),
        "probabilities": _mapping("target", (Value, float), known),
    }
    return {"type": "array", "minItems": 1, "items": _object(row, list(row))}


def _cost_table(known: Known) -> Schema:
    levels = _array("", (Value,), known)
    column = _object({"name": {"type": "string"}, "levels": levels}, ["name", "levels"])
    numbers = {"type": "array", "items": {"type": "number"}}
    table = {"name": {"type": "string"}, "columns": {"type": "array", "items": column}}
    return _object({**table, **dict.fromkeys(toml.ROWS["cost"], numbers)}, toml.ROWS["cost"])


OTHERWISE: dict[type, Callable[[Known], Schema]] = {Conditional: _conditional, CostTable: _cost_table}
"""Classes whose TOML is not their fields."""


def _object(properties: Schema, required: Sequence[str]) -> Schema:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _default(name: str, default: Any) -> Schema:
    """Return what holds where a key is left out, if TOML has a word for it."""
    if default is None:
        return {"default": toml.NOTHING[name]} if name in toml.NOTHING else {}
    for family in toml.FAMILIES:
        if type(default) in family.kinds.values():
            return {"default": toml.write_part(family, default)}
    plain = isinstance(default, str | int) or (isinstance(default, float) and math.isfinite(default))
    return {"default": default} if plain else {}


def _summary(kind: type) -> str:
    return _plain_words(cleandoc(kind.__doc__ or "").partition("\n\n")[0])


def _parameters(kind: type) -> dict[str, str]:
    """Return what a class's docstring says of each field."""
    _, _, listed = cleandoc(kind.__doc__ or "").partition("Parameters\n----------\n")
    listed, _, _ = (listed + "\n").partition("\n\nExamples\n")
    told = {}
    for names, words in PARAMETER.findall(listed):
        other = next((each for each in _all_kinds() if _plain_words(words) == f"As in {each.__name__}."), None)
        for name in names.split(", "):
            told[name] = _plain_words(words) if other is None else _parameters(other)[name]
    return told


def _all_kinds() -> list[type]:
    return [kind for family in toml.FAMILIES for kind in family.kinds.values()]


def _plain_words(text: str) -> str:
    """Return a text of a docstring in one line, without its marks."""
    return re.sub(r":\w+:`([^`]*)`|``([^`]*)``", r"\1\2", " ".join(text.split()))
