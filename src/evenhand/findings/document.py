"""How evenhand writes values for machines and numbers for people: the one rule for what is infinite or undefined.

Every command starts with this module: it loads no library, and asks values what they can do instead.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

Json = dict[str, Any]
"""An object of a JSON document."""

Row = dict[str, Any]
"""A row of a table, by its columns."""

NONE = "–"
"""What people read where a number does not exist."""

MOST_TOLD = 5
"""So many of anything are told in sentences; the tables have all."""


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: what is undefined becomes null, the infinite a word, a table a list of rows.

    Examples
    --------
    >>> plain({"bound": math.inf, "gap": math.nan, "levels": (1, 2.5, -math.inf)})
    {'bound': 'infinite', 'gap': None, 'levels': [1, 2.5, '-infinite']}
    """
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    elif hasattr(value, "tolist"):
        # Arrays, and numbers of an array's type.
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    # A member of an enumeration is a text or a number with a name; JSON gets the bare one.
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    try:
        defined = bool(value == value)
    except TypeError:
        # What a table has in place of a missing value is neither equal to itself nor not.
        defined = False
    if not defined:
        return None
    return float(value) if isinstance(value, float) else str(value)


def signed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of plain values with the checksum of all the rest of it, by which damage is noticed.

    Examples
    --------
    >>> signed({"people": 3})["sha256"][:8], signed(signed({"people": 3})) == signed({"people": 3})
    ('f1fcb94e', True)
    """
    rest = {name: value for name, value in document.items() if name != "sha256"}
    text = json.dumps(rest, ensure_ascii=True, sort_keys=True)
    return {**rest, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def installed(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages that are there."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def written(value: float, form: str) -> str:
    """Write a number for people to read, by the same rule.

    Examples
    --------
    >>> written(0.12345, ".3f"), written(math.inf, ".3f"), written(math.nan, ".3f")
    ('0.123', 'infinite', '–')
    """
    return format(value, form) if math.isfinite(value) else plain(value) or NONE


def ranged(low: float, high: float, form: str) -> str:
    """Write two ends, or the one number that both are written as.

    Examples
    --------
    >>> ranged(0.1, math.inf, ".3f"), ranged(math.inf, math.inf, ".3f")
    ('0.100 to infinite', 'infinite')
    """
    return " to ".join(dict.fromkeys((written(low, form), written(high, form))))
