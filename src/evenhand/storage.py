"""The mapping file: one safetensors file, which holds arrays and text and can hold nothing else.

Arrays: the counts, the kernel and the multipliers. Text: one JSON document with the format's version, the problem
(as TOML), the domain, the certificate as it was claimed and a SHA-256 over all of it. Loading executes no code,
and checks everything before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from evenhand.counts import Counts, sums
from evenhand.domain import Domain, Role, Variable
from evenhand.errors import EvenhandError, StorageError
from evenhand.kernel import Kernel
from evenhand.program import Multipliers
from evenhand.spec import Problem

FORMAT = "evenhand-mapping"
VERSION = 1
ROW_TOLERANCE = 1e-12

INTEGERS = ("counts.d", "counts.x", "counts.y", "kernel.starts", "kernel.targets")
REALS = (
    "counts.weight",
    "kernel.probability",
    "multipliers.released",
    "multipliers.parity",
    "multipliers.budgets",
)

Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class Stored:
    """The contents of a mapping file."""

    problem: Problem
    counts: Counts
    kernel: Kernel
    multipliers: Multipliers
    claims: dict[str, Any]


def write(path: str | os.PathLike[str], stored: Stored) -> None:
    """Write a mapping file: to a temporary file beside it first, so that nothing is ever half-written."""
    arrays = _arrays(stored)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "problem": stored.problem.to_toml(),
        "people": stored.counts.people,
        "domain": [
            {"name": v.name, "role": v.role, "levels": list(v.levels), "ordered": v.ordered, "dtype": v.dtype}
            for v in stored.counts.domain.variables
        ],
        "claims": stored.claims,
    }
    text = json.dumps(document | {"sha256": _digest(document, arrays)}, ensure_ascii=False, sort_keys=True)
    replace_file(path, safetensors.numpy.save(arrays, metadata={"evenhand": text}))


def read(path: str | os.PathLike[str]) -> Stored:
    """Read a mapping file; anything but an intact one is a StorageError that says why."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read the mapping file {os.fspath(path)!r}: {error.strerror}") from None
    try:
        return _parse(content)
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


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Put content under a name in one step, or leave what was there."""
    folder = Path(path).resolve().parent
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".evenhand-")
    except OSError as error:
        raise StorageError(f"cannot write into {os.fspath(folder)!r}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise StorageError(f"cannot write {os.fspath(path)!r}: {error.strerror}") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _arrays(stored: Stored) -> Arrays:
    parts = {"counts": stored.counts, "kernel": stored.kernel, "multipliers": stored.multipliers}
    arrays = {}
    for name in INTEGERS + REALS:
        part, field = name.split(".")
        kind = np.int64 if name in INTEGERS else np.float64
        arrays[name] = np.ascontiguousarray(getattr(parts[part], field), dtype=kind)
    return arrays


def _digest(document: dict[str, Any], arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(document, ensure_ascii=False, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"\n{name} {len(arrays[name])}\n".encode())
        digest.update(arrays[name].astype(arrays[name].dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _parse(content: bytes) -> Stored:
    document, arrays = _open(content)
    if document.get("format") != FORMAT:
        raise StorageError("this is a safetensors file, but not an evenhand mapping")
    version = document.get("version")
    if not isinstance(version, int) or version < 1:
        raise StorageError(f"the format version {version!r} makes no sense")
    if version > VERSION:
        raise StorageError(f"written by a newer evenhand (format {version}, known up to {VERSION}); upgrade to read it")
    claimed = document.pop("sha256", None)
    if claimed != _digest(document, arrays):
        raise StorageError("the checksum does not match: the file was damaged or altered")
    return _assemble(document, arrays)


def _open(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Split a file into its document and its arrays, of the names, types and shapes that belong there."""
    try:
        deserialize: Any = safetensors.deserialize
        tensors = dict(deserialize(content))
    except safetensors.SafetensorError as error:
        if content.lstrip()[:1] == b"{":
            raise StorageError(
                "this is JSON text, perhaps a proof file, not a mapping; evenhand verify takes both"
            ) from None
        raise StorageError(f"not a mapping file, or a truncated one ({error})") from None
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    document = json.loads(header.get("__metadata__", {}).get("evenhand", "{}"))
    if not isinstance(document, dict):
        raise StorageError("the description inside is not a JSON object")
    arrays: Arrays = {}
    for names, kind, dtype in ((INTEGERS, "I64", "<i8"), (REALS, "F64", "<f8")):
        for name in names:
            tensor = tensors.get(name)
            if tensor is None and document.get("format") != FORMAT:
                continue
            if tensor is None or tensor["dtype"] != kind or len(tensor["shape"]) != 1:
                raise StorageError(f"the array {name!r} is missing or of another type")
            arrays[name] = np.frombuffer(tensor["data"], dtype=dtype).astype(dtype[1:])
    return document, arrays


def _assemble(document: dict[str, Any], arrays: Arrays) -> Stored:
    problem = Problem.from_toml(document["problem"])
    domain = Domain.of(
        Variable(v["name"], Role(v["role"]), tuple(v["levels"]), bool(v["ordered"]), str(v["dtype"]))
        for v in document["domain"]
    )
    if tuple(v.name for v in domain.variables) != problem.columns:
        raise StorageError("the domain's columns are not the problem's")
    d, x, y, weight = (arrays[f"counts.{field}"] for field in ("d", "x", "y", "weight"))
    if not len(d) == len(x) == len(y) == len(weight):
        raise StorageError("the arrays of the counts differ in length")
    counts = Counts(domain, d, x, y, weight, people=int(document["people"]))
    kernel = Kernel(*(arrays[f"kernel.{f}"] for f in ("starts", "targets", "probability")))
    _check_kernel(kernel, counts)
    multipliers = Multipliers(*(arrays[f"multipliers.{f}"] for f in ("released", "parity", "budgets")))
    if not all(np.all(np.isfinite(arrays[n])) for n in REALS):
        raise StorageError("a number is not finite")
    if not isinstance(document["claims"], dict):
        raise StorageError("the claimed certificate is not a JSON object")
    return Stored(problem, counts, kernel, multipliers, document["claims"])


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
