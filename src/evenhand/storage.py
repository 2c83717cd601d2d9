"""The mapping file: one safetensors file, which holds arrays and text and can hold nothing else.

Arrays: the counts, the kernel and the multipliers. Text: one JSON document with the format's version, the problem
(as TOML), the domain, the certificate as it was claimed and a SHA-256 over all of it. Loading executes no code,
and checks everything before it is used: whoever wrote a file can also write its checksum. The format is
described in docs/reference/mapping-file.md.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from evenhand import check
from evenhand.arrays import Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Role, Variable
from evenhand.data.levels import MOST_KEPT, UNSEEN, Coding, Stock, listed_values
from evenhand.data.profile import Profile
from evenhand.data.propensities import Propensities
from evenhand.data.tree import Tree
from evenhand.errors import EvenhandError, StorageError
from evenhand.files import content_of, replace_file
from evenhand.findings.assurance import Assurance
from evenhand.findings.naming import source_codes
from evenhand.findings.unaware import UnawareScores
from evenhand.kernel import Kernel
from evenhand.mapping import Mapping
from evenhand.optimize.certificate import bounding, certify
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import Multipliers
from evenhand.spec import Problem, Recorded, Utility, all_comparisons
from evenhand.spec.agreement import disagreement
from evenhand.spec.bins import Binning
from evenhand.spec.margins import with_margins
from evenhand.tolerances import CONTRADICTION, ROW_TOLERANCE, SAME_WEIGHT

FORMAT = "evenhand-mapping"
VERSION = 1
KEYS = {
    "format",
    "version",
    "problem",
    "domain",
    "claims",
    "assurance",
    "propensities",
    "suppression",
    "fitted_by",
    "sha256",
}

INTEGERS = ("counts.d", "counts.x", "counts.y", "counts.cell_people", "kernel.starts", "kernel.targets")
REALS = (
    "counts.weight",
    "counts.cell_squares",
    "kernel.probability",
    "multipliers.released",
    "multipliers.parity",
    "multipliers.budgets",
)
OPTIONAL = ("propensities.sums", "propensities.shift")
"""Reals that are there where mean scores of a model without D are bounded; row by row."""

Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class Stored:
    """The contents of a mapping file."""

    problem: Problem
    counts: Counts
    kernel: Kernel
    multipliers: Multipliers
    claims: dict[str, Any]
    assurance: Assurance | None = None
    suppression: UnawareScores | None = None
    fitted_by: str | None = None


def save(mapping: Mapping, path: str | os.PathLike[str]) -> None:
    """Write a mapping file: to a temporary file beside it first, so that nothing is ever half-written."""
    parts = {"counts": mapping.counts, "kernel": mapping.kernel, "multipliers": mapping.multipliers}
    known = mapping.counts.propensities if mapping.problem.suppression.scored else None
    arrays = _arrays(parts if known is None else parts | {"propensities": known})
    document = {
        "format": FORMAT,
        "version": VERSION,
        "problem": replace(mapping.problem, utility=_recorded(mapping)).to_toml(),
        "domain": [_described(variable) for variable in mapping.counts.domain.variables],
        "claims": mapping.certificate.as_dict(),
        "assurance": None if mapping.assurance is None else mapping.assurance.described(),
        "propensities": None if known is None else known.described(),
        "suppression": None if mapping.suppression is None else mapping.suppression.described(),
        "fitted_by": mapping.fitted_by,
    }
    signed = document | {"sha256": _digest(document, arrays)}
    text = json.dumps(signed, ensure_ascii=False, sort_keys=True, allow_nan=False)
    replace_file(path, safetensors.numpy.save(arrays, metadata={"evenhand": text}))


def _recorded(mapping: Mapping) -> Utility:
    """Return the utility without code: of a user's functions a file holds what they said of this mapping."""
    measure, infimum = mapping.problem.utility, None
    if not measure.holds_functions:
        return measure
    if measure.certifiable:
        loss = compile_problem(bounding(mapping.certified), mapping.counts).program.loss
        infimum = loss.infimum(mapping.multipliers.released)
    return Recorded(measure.name, mapping.objective, infimum, measure.new_cells, measure.nonnegative)


def load(path: str | os.PathLike[str]) -> Mapping:
    """Read a mapping file, check it, and recompute its certificate."""
    stored = read(path)
    notes = tuple(str(note) for note in stored.claims.get("notes", ()))
    try:
        history = tuple(float(step) for step in stored.claims.get("history", ()))
        promised = stored.assurance
        problem = stored.problem if promised is None else with_margins(stored.problem, promised.margins)
        certificate = certify(problem, stored.counts, stored.kernel, stored.multipliers, notes=notes, history=history)
        if promised is not None:
            certificate = replace(certificate, without_confidence=promised.without)
    except EvenhandError as error:
        raise StorageError(f"{os.fspath(path)!r} holds a mapping that does not stand: ", *error.pieces) from None
    if history and abs(history[-1] - certificate.objective) > CONTRADICTION:
        raise StorageError(
            f"{os.fspath(path)!r} claims a history that ends at {history[-1]:.9g}, but its mapping has an "
            f"objective of {certificate.objective:.9g}"
        )
    given = stored.problem, stored.counts, stored.kernel, stored.multipliers
    return Mapping(*given, certificate, promised, stored.suppression, stored.fitted_by)


def fingerprint(problem: Problem, counts: Counts, kernel: Kernel) -> str:
    """Return what tells a mapping from others: a checksum of its variables, counts, moves and parity bounds.

    It is the same before it is written and after it is read.
    """
    compared = all_comparisons(problem, counts)
    document = {
        "domain": [_described(variable) for variable in counts.domain.variables],
        "parity": [
            [type(each.parity).__name__ + each.parity.where, each.words(at), float(each.bound[at])]
            for each in compared
            for at in range(len(each))
        ],
    }
    return _digest(document, _arrays({"counts": counts, "kernel": kernel}))


def _described(variable: Variable) -> dict[str, Any]:
    """Return a variable as JSON."""
    coding = variable.coding
    return {
        "name": variable.name,
        "role": variable.role,
        "levels": list(variable.levels),
        "ordered": variable.ordered,
        "dtype": variable.dtype,
        "tree": None if variable.tree is None else variable.tree.described(),
        "profiles": [profile.described() for profile in variable.profiles],
        "missing": variable.missing,
        "blanks": list(variable.blanks),
        "coding": None
        if coding is None
        else {
            **coding.described(),
            "kind": coding.kind,
            "stock": [{"values": list(stock.values), "weights": list(stock.weights)} for stock in coding.stock],
        },
    }


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_variable(entry: dict[str, Any]) -> Variable:
    kinds: dict[str, Any] = {
        "name": str, "role": str, "levels": list, "ordered": bool, "dtype": str, "coding": dict | None,
        "tree": dict | None, "profiles": list,
    }  # fmt: skip
    for key, kind in kinds.items():
        if not isinstance(entry[key], kind):
            raise StorageError(f"the {key} of a column cannot be {entry[key]!r}")
    name, levels, missing = entry["name"], listed_values(entry["levels"]), entry["missing"]
    if missing is not None and not (_is_whole(missing) and UNSEEN <= missing < len(levels)):
        raise StorageError(f"column {name!r} has no level number {missing!r} for missing values")
    # A coding has one part for each level but that of missing values, which comes last.
    size = len(levels) - (missing is not None and missing >= 0)
    coding = None if entry["coding"] is None else _read_coding(entry["coding"], size)
    blanks = listed_values(entry["blanks"])
    tree = None if entry["tree"] is None else Tree.read(entry["tree"])
    asked = () if tree is None else tree.columns
    if len(entry["profiles"]) != len(asked):
        raise StorageError(f"column {name!r} has not one profile for each column of its tree")
    profiles = tuple(Profile.read(*each) for each in zip(asked, entry["profiles"], strict=True))
    variable = Variable(
        name, Role(entry["role"]), levels, entry["ordered"], entry["dtype"], coding, missing, blanks, tree, profiles
    )
    if not variable.fits_type:
        raise StorageError(f"the levels of column {name!r} are not of its type {variable.dtype!r}")
    return variable


def _read_coding(entry: dict[str, Any], size: int) -> Coding:
    """Read how values become levels, of which there are so many."""
    stock = tuple(_read_stock(each) for each in entry["stock"])
    known: dict[str, type[Coding]] = {binning.coding.kind: binning.coding for binning in Binning.kinds().values()}
    if entry["kind"] not in known:
        raise StorageError(f"there is no coding of the kind {entry['kind']!r}")
    if len(stock) != size:
        raise StorageError("the kept values of a column do not fit its levels")
    coding = known[entry["kind"]].read(entry, stock, size)
    for level, each in enumerate(stock):
        values: Any = np.array(each.values, dtype=float) if coding.numeric else list(each.values)
        if np.any(coding.codes(values) != level):
            raise StorageError(f"a kept value of level {level} of a column belongs to another level")
    return coding


def _read_stock(entry: dict[str, Any]) -> Stock:
    """Read the values that a level had, distinct and ascending, and how often."""
    values, weights = listed_values(entry["values"]), entry["weights"]
    sound = isinstance(weights, list) and len(weights) == len(values) <= MOST_KEPT
    if not sound or not all(isinstance(w, int | float) and not isinstance(w, bool) and 0 < w < np.inf for w in weights):
        raise StorageError("the kept values of a column have no sound weights")
    order: list[tuple[bool, Any]] = [(isinstance(value, str), value) for value in values]
    if any(a >= b for a, b in pairwise(order)):
        raise StorageError("the kept values of a column are not distinct and sorted")
    return Stock(values, tuple(map(float, weights)))


def read(path: str | os.PathLike[str]) -> Stored:
    """Read a mapping file; anything but an intact one is a StorageError that says why."""
    content = content_of(check.path("path", path), "the mapping file")
    try:
        document, arrays = _open(content)
        if document.get("format") != FORMAT:
            raise StorageError("this is a safetensors file, but not an evenhand mapping")
        version = document.get("version")
        if not _is_whole(version) or version != VERSION:
            raise StorageError(
                f"the file has format version {version!r}, and this evenhand reads version {VERSION} only; fit again, "
                f"or use the evenhand that wrote it"
            )
        if set(document) != KEYS:
            raise StorageError(f"the description must have the entries {', '.join(sorted(KEYS))}, and no others")
        _check_types(arrays, OPTIONAL if document["propensities"] is not None else ())
        claimed = document.pop("sha256")
        if claimed != _digest(document, arrays):
            raise StorageError("the checksum does not match: the file was damaged or altered")
        return _assemble(document, arrays)
    except StorageError as error:
        raise StorageError(f"{os.fspath(path)!r}: {error}") from None
    except (
        EvenhandError,
        TypeError,
        ValueError,
        KeyError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        raise StorageError(f"{os.fspath(path)!r} is not a sound mapping file: {error}") from None


def _arrays(parts: dict[str, Any]) -> Arrays:
    """Return the arrays of some parts of a mapping."""
    arrays = {}
    for name in INTEGERS + REALS + OPTIONAL:
        part, field = name.split(".")
        if part in parts:
            kind = np.int64 if name in INTEGERS else np.float64
            arrays[name] = np.ascontiguousarray(getattr(parts[part], field), dtype=kind).ravel()
    return arrays


def _digest(document: dict[str, Any], arrays: Arrays) -> str:
    """Return the checksum of the document (without it) and of every array."""
    digest = hashlib.sha256(json.dumps(document, ensure_ascii=False, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"\n{name} {len(arrays[name])}\n".encode())
        digest.update(arrays[name].astype(arrays[name].dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _open(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Split a file into its document and its arrays."""
    try:
        deserialize: Any = safetensors.deserialize
        tensors = dict(deserialize(content))
    except safetensors.SafetensorError:
        if content.lstrip()[:1] == b"{":
            raise StorageError(
                "this is JSON text, perhaps a proof file, not a mapping; evenhand verify takes both"
            ) from None
        raise StorageError("not a mapping file, or one that was damaged or cut short") from None
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    document = json.loads(header.get("__metadata__", {}).get("evenhand", "{}"))
    if not isinstance(document, dict):
        raise StorageError("the description inside is not a JSON object")
    return document, {name: _array(tensor) for name, tensor in tensors.items()}


def _array(tensor: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return a tensor of one axis; any other, which no mapping has, comes as bytes."""
    dtype = {"I64": "<i8", "F64": "<f8"}.get(tensor["dtype"]) if len(tensor["shape"]) == 1 else None
    if dtype is None:
        return np.frombuffer(tensor["data"], dtype=np.uint8)
    return np.frombuffer(tensor["data"], dtype=dtype).astype(dtype[1:])


def _check_types(arrays: Arrays, more: tuple[str, ...]) -> None:
    """Refuse arrays of other names or types than a mapping has."""
    kinds = dict.fromkeys(INTEGERS, np.dtype("i8")) | dict.fromkeys(REALS + more, np.dtype("f8"))
    for name in sorted(kinds | arrays.keys()):
        if name not in kinds or name not in arrays or arrays[name].dtype != kinds[name]:
            raise StorageError(f"the array {name!r} is missing, of another type, or not part of a mapping")


def _assemble(document: dict[str, Any], arrays: Arrays) -> Stored:
    problem = Problem.from_toml(document["problem"])
    variables = [_read_variable(entry) for entry in document["domain"]]
    domain = Domain.of(variables)
    if domain.variables != tuple(variables):
        raise StorageError("the columns are not in the order of protected, features, outcome")
    if (words := disagreement(problem, domain)) is not None:
        raise StorageError(f"the table contradicts the problem: {words}")
    counts = _read_counts(domain, arrays)
    if (document["propensities"] is not None) != problem.suppression.scored:
        raise StorageError("sums of propensities are there where, and only where, mean scores are bounded")
    if document["propensities"] is not None:
        counts = replace(counts, propensities=_read_propensities(counts, document["propensities"], arrays))
    kernel = Kernel(*(arrays[f"kernel.{f}"] for f in ("starts", "targets", "probability")))
    _check_kernel(kernel, counts)
    multipliers = Multipliers(*(arrays[f"multipliers.{f}"] for f in ("released", "parity", "budgets")))
    if not all(np.all(np.isfinite(arrays[n])) for n in REALS):
        raise StorageError("a number is not finite")
    claims = document["claims"]
    if not isinstance(claims, dict):
        raise StorageError("the claimed certificate is not a JSON object")
    notes, history = claims["notes"], claims["history"]
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise StorageError("the notes of the claimed certificate make no sense")
    if not isinstance(history, list) or any(isinstance(step, bool | str) for step in history):
        raise StorageError("the history of the claimed certificate makes no sense")
    # Written so that a NaN is refused.
    falls = np.all(np.isfinite(history)) and np.all(np.diff(history) <= 0)
    if history and (problem.suppression.convex or not falls):
        raise StorageError("only an alternating minimisation has a history, and it never rises")
    described = document["assurance"]
    if (described is None) != (problem.confidence is None):
        raise StorageError("margins are there where, and only where, a problem asks for confidence")
    assurance = None if described is None else Assurance.read(problem, counts, kernel, described)
    fitted_by = document["fitted_by"]
    if not isinstance(fitted_by, str | None):
        raise StorageError(f"the command that fitted it cannot be {fitted_by!r}")
    told = document["suppression"]
    if told is not None and not problem.suppression.scored:
        raise StorageError("mean scores are there only where they are bounded")
    suppression = None if told is None else UnawareScores.read(counts, kernel, told)
    return Stored(problem, counts, kernel, multipliers, claims, assurance, suppression, fitted_by)


def _read_counts(domain: Domain, arrays: Arrays) -> Counts:
    d, x, y, weight, people, squares = (
        arrays[f"counts.{field}"] for field in ("d", "x", "y", "weight", "cell_people", "cell_squares")
    )
    counts = Counts(domain, d, x, y, weight, people, squares)
    for name, codes in source_codes(counts).items():
        variable = domain.variable(name)
        if variable.coding is not None:
            _check_stock(variable, sums(codes, counts.weight, len(variable)))
    return counts


def _read_propensities(counts: Counts, entry: dict[str, Any], arrays: Arrays) -> Propensities:
    """Read sums of propensities; counts refuse those that contradict them."""
    groups = len(counts.groups.cells)
    sums_, shift = (arrays[name].reshape(groups, -1) for name in OPTIONAL)
    found = Propensities(sums_, tuple(entry["within"]), shift, entry["learner"], tuple(entry["areas"]))
    sound = isinstance(found.learner, str) and all(isinstance(of, float) and 0 <= of <= 1 for of in found.areas)
    if entry != found.described() or not sound or len(found.areas) not in (0, groups):
        raise StorageError("what is said of the propensities makes no sense")
    if not set(found.within) <= set(counts.domain.x.names):
        raise StorageError("sums of propensities agree with the counts within features")
    return found


def _check_stock(variable: Variable, weight: Numbers) -> None:
    """Hold what is kept of each level against the weight that it has: as often as its values occurred, or thinned."""
    assert variable.coding is not None
    for stock, own in zip(variable.coding.stock, weight, strict=False):
        kept = math.fsum(stock.weights)
        if not math.isclose(kept, own, rel_tol=SAME_WEIGHT) and not (own > 0 and kept == MOST_KEPT):
            raise StorageError(f"the kept values of column {variable.name!r} are not those of its levels")


def _check_kernel(kernel: Kernel, counts: Counts) -> None:
    starts, size = kernel.starts, len(kernel.targets)
    if len(starts) != len(counts) + 1 or starts[0] != 0 or starts[-1] != size or np.any(np.diff(starts) < 1):
        raise StorageError("the kernel's rows do not fit its sources")
    if len(kernel.probability) != size:
        raise StorageError("the kernel's arrays differ in length")
    domain = counts.domain
    if kernel.targets.min() < 0 or kernel.targets.max() >= domain.x.size * domain.y.size:
        raise StorageError("the kernel has a target outside its domain")
    rows = kernel.rows
    total = sums(rows, kernel.probability)
    if np.any((np.diff(kernel.targets) <= 0) & (np.diff(rows) == 0)):
        raise StorageError("the kernel's targets are not distinct and sorted")
    if np.any(kernel.probability <= 0) or np.any(np.abs(total - 1) > ROW_TOLERANCE):
        raise StorageError("a row of the kernel is not a probability distribution")
