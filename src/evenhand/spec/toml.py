"""A problem as TOML and back.

Each statement is a table: a key that says which kind it is, and one key a field. Fields at their default are
left out, except those that decide the answer at the top level. Unknown keys are refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Any

import tomli_w

from evenhand.errors import SpecError, did_you_mean
from evenhand.spec.budget import ExcessDistortion, ExpectedDistortion
from evenhand.spec.distance import Ratio
from evenhand.spec.distortion import Distortion, Fixed, Free, Nominal, Ordinal
from evenhand.spec.parity import PairwiseParity, TargetParity
from evenhand.spec.utility import KL, L1

if TYPE_CHECKING:
    from evenhand.spec.problem import Problem


@dataclass(frozen=True)
class Family:
    """The kinds of one part of a problem, and the key that tells them apart."""

    key: str
    kinds: Mapping[str, type]

    def name(self, part: object) -> str:
        """Return the word for a part's kind."""
        for word, kind in self.kinds.items():
            if type(part) is kind:
                return word
        raise SpecError(f"{type(part).__name__} cannot be written as TOML")

    def kind(self, where: str, table: Any) -> type:
        """Return the kind that a table names."""
        if not isinstance(table, Mapping):
            raise SpecError(f"{where} must be a table with the key {self.key!r}, not {table!r}")
        if self.key not in table:
            raise SpecError(f"{where} needs the key {self.key!r}, one of {list(self.kinds)}")
        word = table[self.key]
        if word not in self.kinds:
            hint = did_you_mean(word, self.kinds)
            raise SpecError(f"{where}: {self.key} must be one of {list(self.kinds)}, not {word!r}.{hint}")
        return self.kinds[word]


UTILITIES = Family("measure", {"KL": KL, "L1": L1})
PARITIES = Family("kind", {"pairwise": PairwiseParity, "target": TargetParity})
DISTANCES = Family("measure", {"ratio": Ratio})
RULES = Family("rule", {"ordinal": Ordinal, "nominal": Nominal, "fixed": Fixed, "free": Free})
BUDGETS = Family("kind", {"expected": ExpectedDistortion, "excess": ExcessDistortion})


def write(problem: Problem) -> str:
    """Return the TOML of a problem."""
    document: dict[str, Any] = {
        "protected": list(problem.protected),
        "features": list(problem.features),
        "outcome": problem.outcome,
        "targets": problem.targets,
        "tie_break": problem.tie_break or "none",
        "utility": _write_part(UTILITIES, problem.utility),
        "parity": [_write_part(PARITIES, parity) for parity in problem.parity],
        "distortion": {
            "combine": problem.distortion.combine,
            "rules": {column: _write_part(RULES, rule) for column, rule in problem.distortion.rules.items()},
        },
        "budget": [_write_part(BUDGETS, budget) for budget in problem.budgets],
    }
    return tomli_w.dumps({key: value for key, value in document.items() if value != []})


def read(text: str, problem: type[Problem]) -> dict[str, Any]:
    """Return the fields of a problem from its TOML."""
    if not isinstance(text, str):
        raise SpecError(f"from_toml takes the text of a TOML document, not {type(text).__name__}")
    if "\n" not in text and text.endswith(".toml"):
        raise SpecError(f"from_toml takes the text of a TOML document; {text!r} looks like a path: read the file first")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"this is not valid TOML: {error}") from None
    given = _fields("the problem", document, problem)
    readers: dict[str, Callable[[Any], Any]] = {
        "utility": lambda table: _read_part("utility", UTILITIES, table),
        "parity": lambda tables: _read_list("parity", PARITIES, tables),
        "budget": _read_budget,
        "distortion": _read_distortion,
        "tie_break": lambda word: None if word == "none" else word,
    }
    return {key: readers[key](value) if key in readers else value for key, value in given.items()}


def _write_part(family: Family, part: Any) -> dict[str, Any]:
    table: dict[str, Any] = {family.key: family.name(part)}
    for item in fields(part):
        value = getattr(part, item.name)
        if value is None or value == _default(item):
            continue
        table[item.name] = _write_value(item.name, value)
    return table


def _write_value(name: str, value: Any) -> Any:
    if name == "distance":
        return _write_part(DISTANCES, value)
    if name == "thresholds":
        return [{"above": above, "probability": share} for above, share in value.items()]
    if name == "target":
        return [{"outcome": level, "probability": share} for level, share in value.items()]
    return list(value) if isinstance(value, tuple) else value


def _default(item: Field[Any]) -> Any:
    if item.default_factory is not MISSING:
        return item.default_factory()
    return item.default


def _read_budget(value: Any) -> Any:
    tables = value if isinstance(value, list) else [value]
    budgets = _read_list("budget", BUDGETS, tables)
    return budgets[0] if len(budgets) == 1 else budgets


def _read_distortion(table: Any) -> Distortion:
    given = _fields("distortion", table, Distortion)
    rules = given.get("rules", {})
    if not isinstance(rules, Mapping):
        raise SpecError("distortion.rules must be a table with one entry a column")
    given["rules"] = {column: _read_part(f"distortion.rules.{column}", RULES, rule) for column, rule in rules.items()}
    return Distortion(**given)


def _read_list(where: str, family: Family, tables: Any) -> tuple[Any, ...]:
    if not isinstance(tables, list):
        raise SpecError(f"{where} must be an array of tables: write [[{where}]]")
    return tuple(_read_part(f"{where}[{i}]", family, table) for i, table in enumerate(tables))


def _read_part(where: str, family: Family, table: Any) -> Any:
    kind = family.kind(where, table)
    given = _fields(where, table, kind, extra=(family.key,))
    given.pop(family.key)
    readers: dict[str, Callable[[Any], Any]] = {
        "distance": lambda value: _read_part(f"{where}.distance", DISTANCES, value),
        "thresholds": lambda value: _read_pairs(f"{where}.thresholds", value, "above"),
        "target": lambda value: _read_pairs(f"{where}.target", value, "outcome"),
    }
    return kind(**{key: readers[key](value) if key in readers else value for key, value in given.items()})


def _read_pairs(where: str, value: Any, key: str) -> dict[Any, float]:
    if not isinstance(value, list) or not all(isinstance(pair, Mapping) for pair in value):
        raise SpecError(f"{where} must be an array of {{{key} = ..., probability = ...}}")
    pairs = {}
    for pair in value:
        _refuse_unknown(where, pair, (key, "probability"))
        if len(pair) < 2:
            raise SpecError(f"{where}: {dict(pair)} needs both {key!r} and 'probability'")
        if pair[key] in pairs:
            raise SpecError(f"{where}: {key} {pair[key]!r} is given twice")
        pairs[pair[key]] = pair["probability"]
    return pairs


def _fields(where: str, table: Any, kind: type, extra: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a table whose keys are all fields of ``kind`` and which lacks none that it needs."""
    if not isinstance(table, Mapping):
        raise SpecError(f"{where} must be a table, not {table!r}")
    items = fields(kind)
    _refuse_unknown(where, table, (*extra, *(item.name for item in items)))
    for item in items:
        needed = item.default is MISSING and item.default_factory is MISSING
        if needed and item.name not in table:
            raise SpecError(f"{where} lacks the key {item.name!r}")
    return dict(table)


def _refuse_unknown(where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise SpecError(f"{where} has no key {key!r}.{did_you_mean(key, known)} Its keys are {list(known)}.")
