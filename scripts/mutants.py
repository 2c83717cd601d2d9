"""Break the mathematics on purpose, one small change at a time, and see whether the quick tests notice.

    .venv/bin/python scripts/mutants.py --seed 30 --number 60

A mutant is one changed operator, comparison, constant or condition in the statement of problems, the optimiser, the
kernel or the drawing of rows. It is killed when a test of ``make test`` fails. The tests that mirror the changed file
run first; only what survives those meets all of them. Results are appended to ``build/mutants.jsonl``, and an
interrupted run with the same seed continues there.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parent.parent
AREAS = {
    "spec": ["spec"],
    "optimise": ["optimise"],
    "kernel": ["kernel"],
    "rows": ["tables/transforming.py"],
}
SWAPPED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
# Sentences, and what only a type checker or a person reads.
SKIPPED = (ast.Raise, ast.JoinedStr, ast.AnnAssign, ast.Assert)
WORDED = ("words", "said", "__repr__", "label")


@dataclass(frozen=True)
class Mutant:
    """One change: the characters of a file from ``start`` to ``end`` are replaced."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str


def offsets(text: str) -> list[int]:
    """Return where each line starts, in bytes: the parser counts columns in those."""
    found = [0]
    for line in text.encode().splitlines(keepends=True):
        found.append(found[-1] + len(line))
    return found


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every change that can be made to a file."""
    text = path.read_text(encoding="utf-8")
    raw, starts = text.encode(), offsets(text)
    name = path.relative_to(ROOT).as_posix()

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    def operator(left: ast.expr, right: ast.expr, kind: type) -> Iterator[Mutant]:
        sign, other = SWAPPED[kind]
        begin, end = at(left.end_lineno or 0, left.end_col_offset or 0), at(right.lineno, right.col_offset)
        place = raw.find(sign.encode(), begin, end)
        if place >= 0 and raw[place : place + len(sign) + 1] != sign.encode() + b"=":
            yield Mutant(name, left.end_lineno or 0, place, place + len(sign), sign, other)

    def changes(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
            yield from operator(node.left, node.right, type(node.op))
        elif isinstance(node, ast.Compare):
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                if type(op) in SWAPPED:
                    yield from operator(left, right, type(op))
        elif isinstance(node, ast.BoolOp):
            yield from operator(node.values[0], node.values[1], type(node.op))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            begin = at(node.lineno, node.col_offset)
            end = at(node.end_lineno or 0, node.end_col_offset or 0)
            yield Mutant(name, node.lineno, begin, end, raw[begin:end].decode(), repr(node.value + 1))
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in CALLS:
                end = at(node.func.end_lineno or 0, node.func.end_col_offset or 0)
                yield Mutant(name, node.lineno, end - len(called), end, called, CALLS[called])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            begin = at(node.lineno, node.col_offset)
            yield Mutant(name, node.lineno, begin, begin + 4, "not ", "")

    def walk(node: ast.AST) -> Iterator[Mutant]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef) and any(word in child.name for word in WORDED)
            if isinstance(child, SKIPPED) or named:
                continue
            if isinstance(child, ast.FunctionDef):
                for statement in child.body:
                    yield from changes(statement)
                    yield from walk(statement)
                continue
            yield from changes(child)
            yield from walk(child)

    yield from walk(ast.parse(text))


def chosen(seed: int, number: int) -> list[Mutant]:
    """Choose mutants, as many of each area, at most one per line."""
    rng = random.Random(seed)
    found: list[Mutant] = []
    for area, places in enumerate(AREAS.values()):
        source = ROOT / "src" / "evenhand"
        files = [file for place in places for file in sorted([source / place, *(source / place).rglob("*.py")])]
        every = [mutant for file in files if file.suffix == ".py" and file.is_file() for mutant in mutants_of(file)]
        rng.shuffle(every)
        one_a_line = {(mutant.file, mutant.line): mutant for mutant in reversed(every)}
        want = number // len(AREAS) + (area < number % len(AREAS))
        found += [mutant for mutant in every if one_a_line[mutant.file, mutant.line] is mutant][:want]
    return found


def near(tree: Path, file: str) -> list[str]:
    """Return the tests that mirror a file: its own, else those of the nearest folder above."""
    inner = Path(file).relative_to("src/evenhand").with_suffix("")
    for place in (inner, *inner.parents):
        for tests in (tree / "tests" / place.parent / f"test_{place.name}.py", tree / "tests" / place):
            if tests.exists():
                return [str(tests.relative_to(tree))]
    return []


def survives(tree: Path, mutant: Mutant, select: list[str], limit: float) -> bool:
    """Run the tests on a mutant, those nearby first; whether all of them pass. A mutant that hangs is noticed."""
    path = tree / mutant.file
    raw = path.read_bytes()
    path.write_bytes(raw[: mutant.start] + mutant.after.encode() + raw[mutant.end :])
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *select]
    try:
        for where in (near(tree, mutant.file), []):
            run = subprocess.run(
                [*command, *where], cwd=tree, env=environment, capture_output=True, timeout=limit, check=False
            )
            if run.returncode == 1 or run.returncode == 2:
                return False
            if run.returncode not in (0, 5):
                raise RuntimeError(f"{mutant}: {run.stdout[-2000:].decode()}")
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_bytes(raw)
    return True


def main() -> None:
    """Choose, run and report."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=30)
    options.add_argument("--number", type=int, default=60)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--limit", type=float, default=900.0, help="seconds for one run of the tests")
    options.add_argument("--select", default="--quick", help="arguments of pytest that choose the quick tests")
    options.add_argument("--results", type=Path, default=ROOT / "build" / "mutants.jsonl")
    given = options.parse_args()
    given.results.parent.mkdir(parents=True, exist_ok=True)
    done = {}
    if given.results.is_file():
        for line in given.results.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            done[json.dumps(entry["mutant"], sort_keys=True)] = entry["survived"]
    mutants = chosen(given.seed, given.number)
    trees: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for job in range(given.jobs):
            tree = Path(folder) / str(job)
            left_out = shutil.ignore_patterns(".git", ".venv*", "build", ".*_cache", ".hypothesis")
            shutil.copytree(ROOT, tree, ignore=left_out)
            trees.put(tree)

        def judge(mutant: Mutant) -> bool:
            key = json.dumps(asdict(mutant), sort_keys=True)
            if key not in done:
                tree = trees.get()
                try:
                    done[key] = survives(tree, mutant, shlex.split(given.select), given.limit)
                finally:
                    trees.put(tree)
                with given.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"mutant": asdict(mutant), "survived": done[key]}) + "\n")
                change = f"{mutant.file}:{mutant.line}: {mutant.before!r} -> {mutant.after!r}"
                print("survived" if done[key] else "killed  ", change, flush=True)
            return done[key]

        with ThreadPoolExecutor(given.jobs) as pool:
            survived = [mutant for mutant, alive in zip(mutants, pool.map(judge, mutants), strict=True) if alive]
    print(f"{len(mutants) - len(survived)} of {len(mutants)} killed, seed {given.seed}")
    print("survivors by area:", dict(Counter(mutant.file.split("/")[2] for mutant in survived)))
    for mutant in survived:
        print(f"  {mutant.file}:{mutant.line}: {mutant.before!r} -> {mutant.after!r}")


if __name__ == "__main__":
    main()
