"""Checksums of documents, versions of packages, and numbers written in a given form."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from evenhand.render.document import plain
from evenhand.render.numbers import NONE

__all__ = ["Row", "installed", "plain", "ranged", "signed", "written"]

Row = dict[str, Any]
"""A row of a table, by its columns."""

MOST_TOLD = 5
"""So many of anything are told in sentences; the tables have all."""


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
