"""Records: what the fields and annotations of a frozen dataclass say of its values, its documents and their schema.

A field is declared once. From its annotation come the check of what it is given (:func:`check`, which ``__post_init__``
calls), reading from a document of plain values such as TOML or JSON (:func:`read`), writing one (:func:`written`) and
the JSON schema (:func:`schema`). An annotation means a form:

- ``str``, ``bool``, ``int``, ``float``, ``date`` and ``Literal``; ``Annotated[float, check]`` with a check of its own,
  which takes what the value is called and the value, and returns it or raises;
- ``Sequence`` and ``tuple``, which are arrays; ``Mapping`` of names, a table; of anything else, with :class:`Keys`, an
  array of tables;
- another record, which is a table; or a class with ``kinds``, any of which it is: a key of the table says which;
- unions of these: the first that suits a value takes it. A class may bring a form of its own, as ``By`` does.

A form takes a value in Python or as a document has it. An error names the place, what is allowed there and, for a key
or a word, the nearest one that is known. Knows nothing of problems or manifests.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from evenhand import check as checks
from evenhand.errors import SpecError, did_you_mean

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
Check = Callable[[Any, Any], Any]
Schema = dict[str, Any]
Known = dict[str, Schema]
"""The tables that others refer to, by the names of their classes."""

UNRECORDED = {"unrecorded": True}
"""The metadata of a field that no document has."""


class FrozenMap(Mapping[K, V]):
    """An immutable, hashable copy of a mapping, so that records are frozen all the way down; it keeps its order.

    Examples
    --------
    >>> rules = FrozenMap({"age": 1})
    >>> rules == {"age": 1}
    True
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMap, (self._items,)


class Keys(tuple[str, ...]):
    """The keys of a mapping's entries where a document has them as an array of tables; the last is for the value."""

    __slots__ = ()

    def __new__(cls, *names: str) -> Keys:
        """Return the names in their order."""
        return super().__new__(cls, names)


@dataclass(frozen=True)
class Nothing:
    """The word that a document has in place of None."""

    word: str


class Place(NamedTuple):
    """Where a value stands: on a path in a document, or on one from a field of a class on, its owner.

    Examples
    --------
    >>> str(Place("parity").item(0).key("bound")), str(Place("levels", "Ordinal").item(2))
    ('parity[0].bound', 'levels[2] of Ordinal')
    """

    name: str
    owner: str = ""
    way: tuple[tuple[str, object], ...] = ()
    """The steps from there, which are put into words only for an error."""

    def key(self, name: str) -> Place:
        """Return the place of a key there."""
        return Place(self.name, self.owner, (*self.way, (".{}", name)))

    def item(self, at: object) -> Place:
        """Return the place of an entry there."""
        return Place(self.name, self.owner, (*self.way, ("[{!r}]", at)))

    @property
    def path(self) -> str:
        """The path alone."""
        return "".join([self.name, *(form.format(step) for form, step in self.way)]).removeprefix(".")

    def __str__(self) -> str:
        return f"{self.path} of {self.owner}" if self.owner else self.path


def check(record: Any) -> None:
    """Check every field of a record by its annotation, and keep what the forms make of them."""
    kind: Any = type(record)
    for name, form in _forms(kind).items():
        place = Place(name, getattr(record, "called", kind.__name__))
        object.__setattr__(record, name, form.take(place, getattr(record, name)))


def read(kind: type[R], given: Any, where: str = "") -> R:
    """Return the record that a table of a document is; ``where`` it stands there, for errors."""
    found: R = form_of(kind).take(Place(where), given)
    return found


def written(record: Any, *, full: bool = False) -> dict[str, Any]:
    """Return a record as a table of plain values; unless ``full``, without fields at their defaults."""
    table: dict[str, Any] = form_of(type(record)).write(Place(""), record, full)
    return table


def schema(kind: type) -> Schema:
    """Return the JSON schema of a record's documents, with all that it refers to under ``$defs``."""
    known: Known = {}
    whole = Record(kind).table(known)
    return {**whole, "$defs": dict(sorted(known.items()))}


class Form(ABC):
    """What one annotation means."""

    @property
    def noun(self) -> str:
        """What several of its values are called."""
        return "values"

    def suits(self, value: Any) -> bool:
        """Whether a value is of this form rather than another of a union."""
        return not isinstance(value, Mapping | list | tuple)

    @abstractmethod
    def take(self, place: Place, value: Any) -> Any:
        """Return a value as the record keeps it, or say what is wrong with it."""

    def write(self, place: Place, value: Any, full: bool) -> Any:
        """Return a value as a document has it."""
        return value

    @abstractmethod
    def schema(self, known: Known) -> Schema | None:
        """Return the JSON schema; None if no document can hold it."""


@dataclass(frozen=True)
class Leaf(Form):
    """One plain value, or a list or table of them that has one check."""

    checked: Check
    form: Schema
    inner: Form | None = None

    def suits(self, value: Any) -> bool:
        """Whether it is plain, or suits the inner form."""
        return super().suits(value) if self.inner is None else self.inner.suits(value)

    def take(self, place: Place, value: Any) -> Any:
        """Return what the check returns."""
        return self.checked(place, value)

    def write(self, place: Place, value: Any, full: bool) -> Any:
        """Return it in its inner form; an array as a list."""
        if hasattr(value, "tolist"):
            return value.tolist()
        return value if self.inner is None else self.inner.write(place, value, full)

    def schema(self, known: Known) -> Schema | None:
        """Return its type."""
        return self.form if self.inner is None else self.inner.schema(known)


@dataclass(frozen=True)
class Anything(Form):
    """What is not checked here, and no document can hold: a user's function, a model."""

    def suits(self, value: Any) -> bool:
        """Whether it may be told from the others of a union: it may not."""
        return True

    def take(self, place: Place, value: Any) -> Any:
        """Return it as it is."""
        return value

    def write(self, place: Place, value: Any, full: bool) -> Any:
        """Refuse."""
        raise SpecError(
            f"{place} is a {type(value).__name__}, which no TOML can hold; a mapping that was fitted with it can be "
            f"saved, and its problem written: fit tabulates it"
        )

    def schema(self, known: Known) -> None:
        """Return that there is none."""


@dataclass(frozen=True)
class Words(Form):
    """One of some words, or a word for None."""

    choices: tuple[Any, ...]
    nothing: str | None = None

    @property
    def _words(self) -> list[Any]:
        return [self.nothing if word is None else word for word in self.choices]

    def take(self, place: Place, value: Any) -> Any:
        """Return the word, or None for its own."""
        if value is None and None in self.choices:
            return None
        checks.one_of(place, value, self._words)
        return None if value == self.nothing else value

    def write(self, place: Place, value: Any, full: bool) -> Any:
        """Return the word."""
        return self.nothing if value is None else value

    def schema(self, known: Known) -> Schema:
        """Return the list of words."""
        return {"enum": self._words}


@dataclass(frozen=True)
class Many(Form):
    """A list of values of one form; so many of them, where ``size`` is given."""

    item: Form
    size: int | None = None

    def __str__(self) -> str:
        return f"a list of {'' if self.size is None else f'{self.size} '}{self.item.noun}"

    def suits(self, value: Any) -> bool:
        """Whether it is a list."""
        return isinstance(value, list | tuple)

    def take(self, place: Place, value: Any) -> tuple[Any, ...]:
        """Take each entry; one record will do for a list of it."""
        if isinstance(self.item, Record | Kinds) and isinstance(value, self.item.kind):
            value = [value]
        elif isinstance(self.item, Record | Kinds) and isinstance(value, Mapping):
            raise checks.refused(place, f"an array of tables: write [[{place.path}]]", value)
        listed = checks.listed(place, value, self)
        if self.size is not None and len(listed) != self.size:
            raise checks.refused(place, self, value)
        return tuple(self.item.take(place.item(at), each) for at, each in enumerate(listed))

    def write(self, place: Place, value: Any, full: bool) -> list[Any]:
        """Write each entry."""
        return [self.item.write(place.item(at), each, full) for at, each in enumerate(value)]

    def schema(self, known: Known) -> Schema:
        """Return that of an array."""
        sizes = {} if self.size is None else {"minItems": self.size, "maxItems": self.size}
        return {"type": "array", "items": self.item.schema(known) or {}, **sizes}


@dataclass(frozen=True)
class Table(Form):
    """A mapping from names, each of which has a value of one form."""

    value: Form

    def suits(self, value: Any) -> bool:
        """Whether it is a mapping."""
        return isinstance(value, Mapping)

    def take(self, place: Place, value: Any) -> FrozenMap[str, Any]:
        """Take names and values."""
        table = checks.mapping(place, value, "a table: a mapping of names to values")
        names = {checks.text(f"each name in {place}", name): inner for name, inner in table.items()}
        return FrozenMap({name: self.value.take(place.key(name), inner) for name, inner in names.items()})

    def write(self, place: Place, value: Any, full: bool) -> dict[str, Any]:
        """Write every value."""
        return {name: self.value.write(place.key(name), inner, full) for name, inner in value.items()}

    def schema(self, known: Known) -> Schema:
        """Return that of a table with any keys."""
        return {"type": "object", "additionalProperties": self.value.schema(known) or {}}


@dataclass(frozen=True)
class Rows(Form):
    """A mapping from other things than names, which a document has as an array of tables."""

    keys: Keys
    at: tuple[Form, ...]
    value: Form

    def suits(self, value: Any) -> bool:
        """Whether it is a mapping, or an array."""
        return isinstance(value, Mapping | list)

    def take(self, place: Place, value: Any) -> FrozenMap[Any, Any]:
        """Take a mapping, or each row of an array; none may be there twice."""
        found: dict[Any, Any] = {}
        for row, at, inner in self._entries(place, value):
            parts = [form.take(row.key(key), part) for key, form, part in zip(self.keys, self.at, at, strict=False)]
            what = parts[0] if len(parts) == 1 else tuple(parts)
            if what in found:
                raise SpecError(f"{row}: {' and '.join(self.keys[:-1])} {checks.shown(what)} is given twice")
            found[what] = self.value.take(row.key(self.keys[-1]), inner)
        return FrozenMap(found)

    def _entries(self, place: Place, value: Any) -> Iterator[tuple[Place, Sequence[Any], Any]]:
        """Yield for each entry its place, what is mapped, and to what."""
        *names, last = self.keys
        if isinstance(value, Mapping) and place.owner:
            for at, inner in value.items():
                parts = at if len(names) > 1 else (at,)
                if not isinstance(parts, tuple) or len(parts) != len(names):
                    raise checks.refused(f"each key of {place}", f"({', '.join(names)})", at)
                yield place.item(at), parts, inner
            return
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            named = ", ".join(f"{key} = ..." for key in self.keys)
            raise checks.refused(
                place, f"a mapping of {', '.join(names)} to {last}: in TOML an array of {{{named}}}", value
            )
        for number, row in enumerate(value):
            need_keys(place.item(number), row, self.keys, self.keys)
            yield place.item(number), [row[name] for name in names], row[last]

    def write(self, place: Place, value: Any, full: bool) -> list[Any]:
        """Write each row."""
        forms, rows = (*self.at, self.value), []
        for at, inner in value.items():
            parts = (*(at if len(self.at) > 1 else (at,)), inner)
            written = [form.write(place, part, full) for form, part in zip(forms, parts, strict=True)]
            rows.append(dict(zip(self.keys, written, strict=True)))
        return rows

    def schema(self, known: Known) -> Schema:
        """Return that of an array of tables with these keys."""
        entry = {key: form.schema(known) or {} for key, form in zip(self.keys, (*self.at, self.value), strict=True)}
        return {"type": "array", "items": an_object(entry, self.keys)}


@dataclass(frozen=True)
class Either(Form):
    """Any of some forms, or None: the first that suits a value, ``otherwise`` the one that says what it takes."""

    forms: tuple[Form, ...]
    otherwise: Form
    optional: bool

    def suits(self, value: Any) -> bool:
        """Whether it suits any."""
        return (value is None and self.optional) or any(form.suits(value) for form in self.forms)

    def _form(self, value: Any) -> Form:
        return next((form for form in self.forms if form.suits(value)), self.otherwise)

    def take(self, place: Place, value: Any) -> Any:
        """Take it by its form."""
        return None if value is None and self.optional else self._form(value).take(place, value)

    def write(self, place: Place, value: Any, full: bool) -> Any:
        """Write it in its form."""
        return None if value is None and self.optional else self._form(value).write(place, value, full)

    def schema(self, known: Known) -> Schema | None:
        """Return that of any of them; words are one list, and so are types of which nothing more is known."""
        forms = [found for form in self.forms if (found := form.schema(known)) is not None]
        return any_of(forms) if forms else None


@dataclass(frozen=True)
class Record(Form):
    """Another record: a table whose keys are its fields, and the one that says its kind, if any."""

    kind: Any

    @property
    def noun(self) -> str:
        """The name of the class."""
        name: str = self.kind.__name__
        return name

    def suits(self, value: Any) -> bool:
        """Whether it is one, or a table."""
        return isinstance(value, self.kind | Mapping)

    @property
    def _key(self) -> dict[str, str]:
        return {self.kind.key: word_of(self.kind)} if hasattr(self.kind, "key") else {}

    def take(self, place: Place, value: Any) -> Any:
        """Return the record; what its class refuses of a table is told with its place."""
        if isinstance(value, self.kind):
            return value
        forms = _forms(self.kind)
        known = [*self._key, *forms]
        if not isinstance(value, Mapping):
            raise checks.refused(place, f"an instance of {self.noun}: in TOML a table of {known}", value)
        whole = str(place) or f"the {self.kind.__name__.lower()}"
        need_keys(whole, value, known, [item.name for item in _recorded(self.kind) if _default(item) is MISSING])
        values = {name: forms[name].take(place.key(name), each) for name, each in value.items() if name in forms}
        return _built(place, self.kind, values)

    def write(self, place: Place, value: Any, full: bool) -> dict[str, Any]:
        """Return the table; fields at their default are left out, unless the class states them in any case."""
        table, forms, stated = dict(self._key), _forms(self.kind), getattr(self.kind, "stated", ())
        for item in _recorded(self.kind):
            own, default = getattr(value, item.name), _default(item)
            at_default = own is default if default in (None, MISSING) else own == default
            if full or item.name in stated or not at_default:
                table[item.name] = forms[item.name].write(place.key(item.name), own, full)
        return table

    def schema(self, known: Known) -> Schema:
        """Return a reference to it."""
        return referred(self.kind.__name__, known, lambda: self.table(known))

    def table(self, known: Known) -> Schema:
        """Return the schema itself, with what the docstring says of each field."""
        properties: Schema = {key: {"enum": [word]} for key, word in self._key.items()}
        required, told = list(properties), _parameters(self.kind)
        for item in _recorded(self.kind):
            field = _forms(self.kind)[item.name]
            form, default = field.schema(known), _default(item)
            if form is None:
                continue
            required += [item.name] * (default is MISSING)
            about = {"description": told[item.name]} if item.name in told else {}
            properties[item.name] = {**about, **form, **_shown_default(field, default)}
        about = {"description": plain_words(cleandoc(self.kind.__doc__ or "").partition("\n\n")[0])}
        return {**about, **an_object(properties, required)}


@dataclass(frozen=True)
class Kinds(Form):
    """A record of any of the kinds of a class, which the word under its ``key`` tells apart."""

    kind: Any

    @property
    def every(self) -> dict[str, type]:
        """All kinds by their words, also those that only fit writes."""
        kinds: dict[str, type] = self.kind.kinds() | self.kind.made()
        return kinds

    @property
    def noun(self) -> str:
        """The names of the classes that users write."""
        *names, last = [kind.__name__ for kind in self.kind.kinds().values()]
        return f"{', '.join(names)} or {last}"

    def suits(self, value: Any) -> bool:
        """Whether it is of a kind, or a table."""
        return isinstance(value, self.kind | Mapping)

    def take(self, place: Place, value: Any) -> Any:
        """Return the record, of the kind that a table names."""
        if isinstance(value, self.kind):
            return value
        key, every, listed = self.kind.key, self.every, self.kind.kinds()
        if not isinstance(value, Mapping):
            raise checks.refused(place, f"an instance of {self.noun}: in TOML a table with the key {key!r}", value)
        if key not in value:
            raise SpecError(f"{place} needs the key {key!r}, one of {[*listed]}")
        word = value[key]
        if not isinstance(word, str) or word not in every:
            hint = did_you_mean(word, every)
            raise SpecError(f"{place}: {key} must be one of {[*listed]}, not {checks.shown(word)}.{hint}")
        return Record(every[word]).take(place, value)

    def write(self, place: Place, value: Any, full: bool) -> dict[str, Any]:
        """Write its table; what holds functions is refused."""
        if type(value) not in self.every.values():
            raise SpecError(
                f"{type(value).__name__} holds a function of your own and cannot be written as TOML. A mapping that "
                f"was fitted with it can be saved: the file keeps tables of distances and distortions, and what a "
                f"utility said of it"
            )
        return Record(type(value)).write(place, value, full)

    def schema(self, known: Known) -> Schema:
        """Return a reference to the list of kinds."""
        kinds = self.every.values()
        return referred(self.kind.__name__, known, lambda: {"oneOf": [Record(kind).schema(known) for kind in kinds]})


@dataclass(frozen=True)
class Inside(Form):
    """A record of which a document has the one field alone."""

    kind: Any
    field: str

    @property
    def inner(self) -> Form:
        """The form of the field."""
        return _forms(self.kind)[self.field]

    def suits(self, value: Any) -> bool:
        """Whether it is one, or what a document has of it."""
        return isinstance(value, self.kind | list)

    def take(self, place: Place, value: Any) -> Any:
        """Return the record."""
        if isinstance(value, self.kind):
            return value
        return _built(place, self.kind, {self.field: self.inner.take(place, value)})

    def write(self, place: Place, value: Any, full: bool) -> Any:
        """Write the field."""
        return self.inner.write(place, getattr(value, self.field), full)

    def schema(self, known: Known) -> Schema | None:
        """Return that of the field."""
        return self.inner.schema(known)


def _built(place: Place, kind: Any, values: dict[str, Any]) -> Any:
    try:
        return kind(**values)
    except SpecError as error:
        raise SpecError(f"{place}: " if place.path else "", *error.pieces) from None


def word_of(kind: Any) -> str:
    """Return the word for a kind: its own, or the name of its class."""
    word: str = kind.word or kind.__name__
    return word


def need_keys(place: object, table: Mapping[str, Any], known: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a table with a key that is not known, or without one that is needed."""
    for key in table:
        if key not in known:
            raise SpecError(f"{place} has no key {key!r}.{did_you_mean(key, known)} Its keys are {list(known)}.")
    if lacking := [key for key in needed if key not in table]:
        raise SpecError(f"{place} lacks the key{'s' * (len(lacking) > 1)} {', '.join(map(repr, lacking))}")


def _recorded(kind: Any) -> list[Field[Any]]:
    """Return the fields that documents have."""
    return [item for item in fields(kind) if item.init and item.metadata != UNRECORDED]


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


@cache
def _forms(kind: Hashable) -> dict[str, Form]:
    """Return the form of every recorded field."""
    hints = get_type_hints(kind, include_extras=True)
    return {item.name: form_of(hints[item.name]) for item in _recorded(kind)}


def _day(place: Any, value: Any) -> date:
    """Return a date, which JSON has as text; a moment is one to Python, but no day that people could compare."""
    expected = "a date, such as 2026-11-18 in TOML (without quotes) and datetime.date(2026, 11, 18) in Python"
    try:
        found = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, date) or isinstance(found, datetime):
        raise checks.refused(place, expected, value)
    return found


LEAVES: dict[Any, Form] = {
    str: Leaf(checks.text, {"type": "string"}),
    bool: Leaf(checks.flag, {"type": "boolean"}),
    int: Leaf(checks.whole, {"type": "integer"}),
    float: Leaf(checks.own_number, {"type": "number"}),
    date: Leaf(_day, {"type": "string"}),
}


def form_of(hint: Any) -> Form:
    """Return what an annotation means."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(inner[0], inner[1:])
    if origin in (Union, UnionType):
        return _either(inner)
    if origin is Literal:
        return Words(inner)
    if origin in (Sequence, tuple):
        return Many(form_of(inner[0]), None if len(inner) == 1 or inner[-1] is ... else len(inner))
    if origin is Mapping:
        return Table(form_of(inner[1]))
    if hint in LEAVES:
        return LEAVES[hint]
    if hasattr(hint, "document_is"):
        return Inside(hint, hint.document_is)
    if is_dataclass(hint):
        return Record(hint)
    return Kinds(hint) if hasattr(hint, "kinds") else Anything()


def _annotated(hint: Any, said: Sequence[Any]) -> Form:
    for each in said:
        if isinstance(each, Keys):
            at, value = get_args(hint)
            parts = get_args(at) if len(each) > 2 else (at,)
            return Rows(each, tuple(map(form_of, parts)), form_of(value))
        if isinstance(each, Nothing):
            words, _ = get_args(hint)
            return Words((*get_args(words), None), each.word)
        if callable(each):
            return Leaf(each, {}, form_of(hint))
    return form_of(hint)


def _either(hints: Sequence[Any]) -> Form:
    """Return the form of a union; a class with ``form_around`` has a form for any value that the others have."""
    around = [hint for hint in hints if hasattr(hint, "form_around")]
    rest = tuple(form_of(hint) for hint in hints if hint is not NoneType and hint not in around)
    # A mapping of anything is how Python may spell what another of the types is.
    rest = tuple(form for form in rest if form != Table(Anything()))
    rest = tuple(sorted(rest, key=lambda form: isinstance(form, Anything)))
    inner = rest[0] if len(rest) == 1 else Either(rest, rest[0], optional=False)
    forms = (*(hint.form_around(inner) for hint in around), *rest)
    return Either(forms, rest[0], NoneType in hints) if len(forms) > 1 or NoneType in hints else inner


def an_object(properties: Schema, required: Sequence[str]) -> Schema:
    """Return the schema of a table with these keys and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def any_of(forms: Sequence[Schema]) -> Schema:
    """Return what is any of some forms."""
    words = [word for form in forms for word in form.get("enum", ())]
    types = [form["type"] for form in forms if set(form) == {"type"}]
    if "number" in types:
        types = [each for each in types if each != "integer"]
    several = [{"enum": words}] if words else []
    several += [{"type": types if len(types) > 1 else types[0]}] if types else []
    several += [form for form in forms if "enum" not in form and set(form) != {"type"}]
    return several[0] if len(several) == 1 else {"anyOf": several}


def referred(name: str, known: Known, made: Callable[[], Schema]) -> Schema:
    """Return a reference to a table; it is named before it is described, for it may hold others of its kind."""
    if name not in known:
        known[name] = {}
        known[name] = made()
    return {"$ref": f"#/$defs/{name}"}


def _shown_default(form: Form, default: Any) -> Schema:
    """Return what holds where a key is left out, if a document has a word for it."""
    if default is MISSING or (default is None and not isinstance(form, Words)):
        return {}
    if isinstance(form, Kinds) and type(default) not in form.every.values():
        return {}
    if isinstance(form, Kinds | Words):
        return {"default": form.write(Place(""), default, False)}
    plain = isinstance(default, str | int) or (isinstance(default, float) and math.isfinite(default))
    return {"default": default} if plain else {}


PARAMETER = re.compile(r"^(\w+(?:, \w+)*)(?: :.*)?\n((?:    .*\n?|\n(?=    ))+)", re.MULTILINE)
"""Names and words of one or more parameters, as numpydoc writes them."""

AS_IN = re.compile(r"As in (\w+)\.$")


def _parameters(kind: type) -> dict[str, str]:
    """Return what a class's docstring says of each field; "As in" another kind of its family, what that one's does."""
    _, _, listed = cleandoc(kind.__doc__ or "").partition("Parameters\n----------\n")
    listed, _, _ = (listed + "\n").partition("\n\nExamples\n")
    told = {}
    for names, words in PARAMETER.findall(listed):
        text = plain_words(words)
        other = AS_IN.match(text)
        for name in names.split(", "):
            told[name] = text if other is None else _parameters(_sibling(kind, other[1]))[name]
    return told


def _sibling(kind: Any, name: str) -> type:
    found: type = next(each for each in kind.kinds().values() if each.__name__ == name)
    return found


def plain_words(text: str) -> str:
    """Return a text of a docstring in one line, without its marks."""
    return re.sub(r":\w+:`([^`]*)`|``([^`]*)``", r"\1\2", " ".join(text.split()))
