"""A problem as TOML and back.

Each statement is a table: a key that says which kind it is, and one key per field. Fields at their default are
left out, except those that decide the answer at the top level. Unknown keys are refused.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from evenhand import check
from evenhand.data.weighting import FREQUENCIES, WEIGHTS
from evenhand.errors import SpecError, did_you_mean
from evenhand.spec import registry
from evenhand.spec.bins import Binning
from evenhand.spec.budget import ExcessDistortion, ExpectedDistortion
from evenhand.spec.by import By
from evenhand.spec.cells import Learned
from evenhand.spec.conditional import Conditional
from evenhand.spec.csv_format import CsvFormat
from evenhand.spec.distance import Distance
from evenhand.spec.distortion import CostTable, Distortion, Fixed, Free, Nominal, Ordinal, Rule
from evenhand.spec.forbidden import Forbidden
from evenhand.spec.parity import Parity
from evenhand.spec.user_distance import Piece, TabulatedDistance
from evenhand.spec.utility import Recorded, Utility

if TYPE_CHECKING:
    from evenhand.spec.problem import Problem


def registered(base: type) -> list[Any]:
    """Return the kinds of the registry that derive from a class."""
    return [kind for kind in vars(registry).values() if isinstance(kind, type) and issubclass(kind, base)]


@dataclass(frozen=True)
class Family:
    """The kinds of one part of a problem, and the key that tells them apart.

    They are those of the registry that derive from ``base``, or the ``stated`` ones; and those that only fit writes.
    """

    key: str
    base: type | None = None
    stated: dict[str, type] = field(default_factory=dict)
    by_fit: dict[str, type] = field(default_factory=dict)

    @property
    def listed(self) -> dict[str, type]:
        """The kinds that users write, by their words; what holds functions has none."""
        if self.base is None or self.stated:
            return self.stated
        return {kind.word or kind.__name__: kind for kind in registered(self.base) if not kind.holds_functions}

    @property
    def kinds(self) -> dict[str, type]:
        """All kinds by their words, also those that only fit writes."""
        return self.listed | self.by_fit

    @property
    def names(self) -> list[str]:
        """The names of the classes that users write."""
        return [kind.__name__ for kind in self.listed.values()]

    def name(self, part: object) -> str:
        """Return the word for a part's kind."""
        for word, kind in self.kinds.items():
            if type(part) is kind:
                return word
        raise SpecError(
            f"{type(part).__name__} holds a function of your own and cannot be written as TOML. A mapping that was "
            f"fitted with it can be saved: the file keeps tables of distances and distortions, and what a utility said "
            f"of it"
        )

    def kind(self, where: str, table: Any) -> type:
        """Return the kind that a table names."""
        kinds, listed = self.kinds, list(self.listed)
        if not isinstance(table, Mapping):
            raise SpecError(f"{where} must be a table with the key {self.key!r}, not {table!r}")
        if self.key not in table:
            raise SpecError(f"{where} needs the key {self.key!r}, one of {listed}")
        word = table[self.key]
        if not isinstance(word, str) or word not in kinds:
            raise SpecError(f"{where}: {self.key} must be one of {listed}, not {word!r}.{did_you_mean(word, kinds)}")
        return kinds[word]


UTILITIES = Family("measure", Utility, by_fit={"recorded": Recorded})
DISTANCES = Family("measure", Distance, by_fit={"tabulated": TabulatedDistance})
PARITIES = Family("kind", Parity)
RULES = Family("rule", Rule, stated={"ordinal": Ordinal, "nominal": Nominal, "fixed": Fixed, "free": Free})
BUDGETS = Family("kind", stated={"expected": ExpectedDistortion, "excess": ExcessDistortion})
BINNINGS = Family("by", Binning)
CELLS = Family("kind", Learned)
FAMILIES = (UTILITIES, DISTANCES, PARITIES, RULES, BUDGETS, BINNINGS, CELLS)

NOTHING = {"tie_break": "none", "suppress_protected": "no"}
"""The words for None in fields whose default is another, or which are written in any case."""

ROWS = {
    "thresholds": ("above", "probability"),
    "target": ("outcome", "probability"),
    "cost": ("from", "to", "cost"),
}
"""Mappings from something other than names are arrays of tables: the keys of an entry, the last for its value."""


FORBIDDEN = tuple(item.name for item in fields(Forbidden))


LARGEST_WHOLE = 2**64
"""TOML promises 64 bits, with a sign; without one they are levels of some tables, too."""

WHOLE = "whole numbers have at most 19 digits"

TOO_DEEP = "this TOML nests its arrays or tables too deeply to be read; a problem has five levels"

KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
DOTTED = re.compile(rf"(?:^[ \t]*\[{{0,2}}|[{{,])[ \t]*(?:{KEY}[ \t]*\.[ \t]*){{100}}", re.MULTILINE)
"""A key or a heading of a hundred parts, each of which is a table in the last; to read thousands takes minutes."""


def literal(value: Any) -> str:
    """Return a text, number, truth or list of them as TOML writes it in one line."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")


def key(name: str) -> str:
    """Return a name as a key, which stands in quotes unless it is a bare one."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else literal(name)


def write(problem: Problem) -> str:
    document: dict[str, Any] = {
        "protected": list(problem.protected),
        "features": list(problem.features),
        "outcome": problem.outcome,
        **{name: column for name in (WEIGHTS, FREQUENCIES) if (column := getattr(problem, name)) is not None},
        **({} if problem.favourable is None else {"favourable": problem.favourable}),
        **({} if problem.confidence is None else {"confidence": problem.confidence}),
        "targets": problem.targets,
        **{name: getattr(problem, name) or word for name, word in NOTHING.items()},
        "blind": problem.blind,
        "missing": problem.missing,
        "missing_values": list(problem.missing_values),
        "utility": write_part(UTILITIES, problem.utility),
        "parity": [write_part(PARITIES, parity) for parity in problem.parity],
        "distortion": _write_distortion(problem.distortion),
        "budget": [write_part(BUDGETS, budget) for budget in problem.budgets],
        "bins": {column: write_part(BINNINGS, binning) for column, binning in problem.bins.items()},
        "cells": {} if problem.cells is None else write_part(CELLS, problem.cells),
        "forbidden": [{part: _plain(getattr(rule, part)) for part in FORBIDDEN} for rule in problem.forbidden_records],
        "csv": {} if problem.csv is None else _write_fields(problem.csv),
        "conditional": _write_conditional(problem.conditional),
    }
    return tomli_w.dumps(_native({key: value for key, value in document.items() if value not in ([], {})}))


def _native(value: Any) -> Any:
    """Return plain values for NumPy's, which statements may hold as levels."""
    if isinstance(value, dict):
        return {key: _native(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_native(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def _write_distortion(distortion: Distortion) -> dict[str, Any]:
    table: dict[str, Any] = {
        "combine": distortion.combine,
        "rules": {column: write_part(RULES, rule) for column, rule in distortion.rules.items()},
    }
    if distortion.function is None:
        return table
    if distortion.table is None:
        raise SpecError(
            "a distortion function cannot be written as TOML; a mapping that was fitted with it can, because fit "
            "tabulates it (mapping.problem)"
        )
    origin, target, cost = (array.tolist() for array in distortion.table.arrays)
    columns = [{"name": name, "levels": list(levels)} for name, levels in distortion.table.columns]
    named = {"name": distortion.table.name} | ({"columns": columns} if columns else {})
    return table | {"function": named | {"from": origin, "to": target, "cost": cost}}


def _write_conditional(conditional: Any) -> list[dict[str, Any]]:
    if conditional is None:
        return []
    if not isinstance(conditional, Conditional):
        raise SpecError(
            "a conditional that is a model or a dataframe cannot be written as TOML; a mapping that was fitted with it "
            "can, because fit tabulates it (mapping.problem)"
        )
    return [
        {
            "features": list(features),
            "probabilities": [{"outcome": level, "probability": share} for level, share in shares],
        }
        for features, shares in conditional.rows
    ]


def read(text: str, problem: type[Problem]) -> dict[str, Any]:
    """Return the fields of a problem from its TOML."""
    if DOTTED.search(text):
        raise SpecError(TOO_DEEP)
    try:
        document = tomllib.loads(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"this is not valid TOML: {error}") from None
    except ValueError:
        raise SpecError(f"this is not valid TOML: it holds a whole number of thousands of digits; {WHOLE}") from None
    except RecursionError:
        raise SpecError(TOO_DEEP) from None
    _check_whole("the problem", document)
    given = _fields("the problem", document, problem)
    readers: dict[str, Callable[[Any], Any]] = {
        "utility": lambda table: _read_part("utility", UTILITIES, table),
        "parity": lambda tables: _read_list("parity", PARITIES, tables),
        "budget": _read_budget,
        "distortion": _read_distortion,
        "bins": _read_bins,
        "cells": lambda table: _read_part("cells", CELLS, table),
        "forbidden": _read_forbidden,
        "csv": lambda table: CsvFormat(**_fields("csv", table, CsvFormat)),
        "conditional": _read_conditional,
    }
    return {
        key: None if key in NOTHING and value == NOTHING[key] else readers.get(key, _as_it_is)(value)
        for key, value in given.items()
    }


def _as_it_is(value: Any) -> Any:
    return value


def _check_whole(where: str, value: Any) -> None:
    """Refuse whole numbers that TOML does not promise to keep, and nothing here could count with."""
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise SpecError(f"{where} holds a whole number that is too large; {WHOLE}")
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _check_whole(key if isinstance(key, str) else where, inner)


def write_part(family: Family, part: Any) -> dict[str, Any]:
    """Return a part of a problem as its table."""
    return {family.key: family.name(part), **_write_fields(part)}


def _write_fields(part: Any) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        default = item.default if item.default_factory is MISSING else item.default_factory()
        if value is None or value == default:
            continue
        table[item.name] = _write_value(item.name, value)
    return table


def _write_value(name: str, value: Any) -> Any:
    if isinstance(value, By):
        cases = [{"where": _plain(where), "value": _write_value(name, inner)} for where, inner in value.cases]
        return [{"value": _write_value(name, value.default)}, *cases]
    if isinstance(value, Distance):
        return write_part(DISTANCES, value)
    if name in ROWS and isinstance(value, Mapping):
        entries = [(*(at if isinstance(at, tuple) else (at,)), _write_value("", inner)) for at, inner in value.items()]
        return [dict(zip(ROWS[name], entry, strict=True)) for entry in entries]
    if name == "pieces":
        return [
            {
                "bound": piece.bound,
                **({} if piece.target is None else {"target": piece.target}),
                "lines": [list(line) for line in piece.lines],
            }
            for piece in value
        ]
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value


def _read_budget(value: Any) -> Any:
    tables = value if isinstance(value, list) else [value]
    budgets = _read_list("budget", BUDGETS, tables)
    return budgets[0] if len(budgets) == 1 else budgets


def _read_distortion(table: Any) -> Distortion:
    given = _fields("distortion", table, Distortion)
    rules = given.get("rules", {})
    if not isinstance(rules, Mapping):
        raise SpecError("distortion.rules must be a table with one entry per column")
    given["rules"] = {column: _read_part(f"distortion.rules.{column}", RULES, rule) for column, rule in rules.items()}
    if "function" in given:
        given["function"] = _read_cost_table(given["function"])
    return Distortion(**given)


def _read_bins(table: Any) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise SpecError("bins must be a table with one entry per column: write [bins.age]")
    return {column: _read_part(f"bins.{column}", BINNINGS, binning) for column, binning in table.items()}


def _read_forbidden(tables: Any) -> tuple[Forbidden, ...]:
    if not isinstance(tables, list):
        raise SpecError("forbidden must be an array of tables: write [[forbidden]]")
    return tuple(Forbidden(**_fields(f"forbidden[{i}]", table, Forbidden)) for i, table in enumerate(tables))


def _read_cost_table(table: Any) -> CostTable:
    where = "distortion.function"
    if not isinstance(table, Mapping):
        raise SpecError(f"{where} must be a table of the keys 'from', 'to' and 'cost'; code is never read from a file")
    keys = ROWS["cost"]
    _refuse_unknown(where, table, ("name", "columns", *keys))
    try:
        if not all(isinstance(table[key], list) and set(map(type, table[key])) <= {int, float} for key in keys):
            raise TypeError
        columns = [_read_numbered_column(where, column) for column in table.get("columns", [])]
        name = check.text("name", table.get("name", "a user's function"))
        return CostTable(list(zip(*(table[key] for key in keys), strict=True)), name, columns)
    except SpecError as error:
        raise SpecError(f"{where}: ", *error.pieces) from None
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SpecError(
            f"{where} needs 'from', 'to' and 'cost', three arrays of one length, and 'columns', an array of "
            f"{{name, levels}}"
        ) from None


def _read_numbered_column(where: str, column: Any) -> tuple[str, list[Any]]:
    _refuse_unknown(where, column, ("name", "levels"))
    levels = [check.level("each of the levels", level) for level in column["levels"]]
    if not isinstance(column["levels"], list):
        raise TypeError
    return check.text("name", column["name"]), levels


def _read_conditional(rows: Any) -> Conditional:
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise SpecError("conditional must be an array of {features = [...], probabilities = [...]}")
    for row in rows:
        _refuse_unknown("conditional", row, ("features", "probabilities"))
        if len(row) < 2:
            raise SpecError(f"conditional: {dict(row)} needs both 'features' and 'probabilities'")
        if not isinstance(row["features"], list):
            raise SpecError(f"conditional.features must be an array of levels, not {row['features']!r}")
    return Conditional(
        [
            (
                tuple(check.level("each of conditional.features", level) for level in row["features"]),
                _read_pairs("conditional.probabilities", row["probabilities"], "outcome"),
            )
            for row in rows
        ]
    )


def _read_by(where: str, value: Any, inner: Callable[[Any], Any]) -> Any:
    """Read a value that may be an array of {where, value}, one of them without where."""
    if not isinstance(value, list) or not any(isinstance(case, Mapping) and "value" in case for case in value):
        return inner(value)
    defaults, cases = [], []
    for case in value:
        if not isinstance(case, Mapping) or "value" not in case:
            raise SpecError(f"{where} must be an array of {{where = {{...}}, value = ...}}, not {case!r}")
        _refuse_unknown(where, case, ("where", "value"))
        read = inner(case["value"])
        if "where" in case:
            if not isinstance(case["where"], Mapping) or not case["where"]:
                raise SpecError(f"{where}: where must be a table of columns and levels, not {case['where']!r}")
            cases.append((case["where"], read))
        else:
            defaults.append(read)
    if len(defaults) != 1:
        raise SpecError(
            f"{where} needs exactly one {{value = ...}} without where, for all the rest; it has {len(defaults)}"
        )
    return By(defaults[0], cases)


def _read_pieces(where: str, value: Any) -> tuple[Piece, ...]:
    try:
        return tuple(_read_piece(where, piece) for piece in value)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SpecError(f"{where} must be an array of {{bound, target, lines}}") from None


def _read_piece(where: str, piece: Any) -> Piece:
    _refuse_unknown(where, piece, tuple(item.name for item in fields(Piece)))
    target = piece.get("target")
    lines = [[check.number(where, number) for number in line] for line in piece["lines"]]
    return Piece(
        check.number(where, piece["bound"]),
        None if target is None else check.number(where, target),
        tuple((on_p, on_q, limit) for on_p, on_q, limit in lines),
    )


def _read_costs(where: str, value: Any) -> Any:
    if not isinstance(value, list | Mapping):
        return value
    costs = {}
    for row in value:
        if isinstance(value, Mapping) or not isinstance(row, Mapping):
            raise SpecError(f"{where} must be a number or an array of {{from = ..., to = ..., cost = ...}}")
        _refuse_unknown(where, row, ("from", "to", "cost"))
        if len(row) < 3:
            raise SpecError(f"{where}: {dict(row)} needs 'from', 'to' and 'cost'")
        pair = check.level(f"{where}: from", row["from"]), check.level(f"{where}: to", row["to"])
        if pair in costs:
            raise SpecError(f"{where}: the change from {pair[0]!r} to {pair[1]!r} is given twice")
        costs[pair] = row["cost"]
    return costs


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
        "thresholds": lambda value: {
            above: _read_by(f"{where}.thresholds", allowed, _as_it_is)
            for above, allowed in _read_pairs(f"{where}.thresholds", value, "above").items()
        },
        "target": lambda value: _read_by(
            f"{where}.target", value, lambda inner: _read_pairs(f"{where}.target", inner, "outcome")
        ),
        "bound": lambda value: _read_by(f"{where}.bound", value, _as_it_is),
        "limit": lambda value: _read_by(f"{where}.limit", value, _as_it_is),
        "cost": lambda value: _read_costs(f"{where}.cost", value),
        "pieces": lambda value: _read_pieces(f"{where}.pieces", value),
    }
    return kind(**{key: readers.get(key, _as_it_is)(value) for key, value in given.items()})


def _read_pairs(where: str, value: Any, key: str) -> dict[Any, float]:
    if not isinstance(value, list) or not all(isinstance(pair, Mapping) for pair in value):
        raise SpecError(f"{where} must be an array of {{{key} = ..., probability = ...}}")
    pairs = {}
    for pair in value:
        _refuse_unknown(where, pair, (key, "probability"))
        if len(pair) < 2:
            raise SpecError(f"{where}: {dict(pair)} needs both {key!r} and 'probability'")
        if check.level(f"{where}: {key}", pair[key]) in pairs:
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
