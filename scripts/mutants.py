"""Break the mathematics on purpose, one small change at a time, and see whether the quick tests notice.

    .venv/bin/python scripts/mutants.py --seed 30 --number 60

A mutant is one changed operator, comparison, constant or condition in the statement of problems, the optimiser, the
kernel or the drawing of rows. It is killed when a test of ``make test`` fails. Each meets the tests that mirror the
changed file. Those that survive them are put into one tree together, which meets all tests; each test that fails there
runs on each of these mutants alone. (Two that undo each other would be missed.) At the end the tests that killed run
without any change: one that fails then says nothing. Results are appended to ``build/mutants.jsonl``, and an
interrupted run with the same seed continues there.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parent.parent
AREAS = {
    "spec": ["spec"],
    "optimize": ["optimize"],
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
                yield from walk(ast.Module(child.body, []))
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


def run(tree: Path, arguments: list[str], limit: float) -> tuple[int, list[str]]:
    """Run tests of a tree; the exit code, and which failed. The code is that of a signal if they do not end."""
    shutil.rmtree(tree / ".hypothesis", ignore_errors=True)  # It remembers what failed for other mutants.
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        ended = subprocess.run(
            command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=10 * limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL, []
    if ended.returncode == 4 and "while loading conftest" not in ended.stdout:
        raise RuntimeError(f"{shlex.join(command)}: {ended.stdout[-2000:]}")
    return ended.returncode, re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)


@contextmanager
def changed(tree: Path, mutants: Iterable[Mutant]) -> Iterator[None]:
    """Change files of a tree for a while, the last places first: the others stay where they are."""
    before = {mutant.file: (tree / mutant.file).read_bytes() for mutant in mutants}
    for mutant in sorted(mutants, key=lambda mutant: -mutant.start):
        raw = (tree / mutant.file).read_bytes()
        (tree / mutant.file).write_bytes(raw[: mutant.start] + mutant.after.encode() + raw[mutant.end :])
    try:
        yield
    finally:
        for file, raw in before.items():
            (tree / file).write_bytes(raw)


def functions(failed: Iterable[str]) -> list[str]:
    """Return tests without their cases, whose names may hold anything."""
    return sorted({test.partition("[")[0] for test in failed})


def killer(tree: Path, mutant: Mutant, arguments: list[str], limit: float) -> str | None:
    """Return the test that notices a mutant, or how pytest ended; None if it survives."""
    with changed(tree, [mutant]):
        code, failed = run(tree, ["-x", *arguments], limit)
    return None if code in (0, 5) else failed[0] if failed else f"exit code {code}"


def said(mutant: Mutant) -> str:
    """Return a mutant in one line."""
    return f"{mutant.file}:{mutant.line}: {mutant.before!r} -> {mutant.after!r}"


def main() -> None:
    """Choose, run and report."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=30)
    options.add_argument("--number", type=int, default=60)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--limit", type=float, default=600.0, help="seconds of processor time for one run of tests")
    options.add_argument("--select", default="--quick", help="arguments of pytest that choose the quick tests")
    options.add_argument("--results", type=Path, default=ROOT / "build" / "mutants.jsonl")
    given = options.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (int(given.limit), int(given.limit)))  # For each process that is started.
    given.results.parent.mkdir(parents=True, exist_ok=True)
    met: dict[str, dict[Mutant, str | None]] = {"near": {}, "all": {}}
    if given.results.is_file():
        for line in given.results.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            met[entry["met"]][Mutant(**entry["mutant"])] = entry["killer"]
    mutants, select = chosen(given.seed, given.number), shlex.split(given.select)
    trees: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(given.jobs) as pool:
        for job in range(given.jobs):
            tree = Path(folder) / str(job)
            left_out = shutil.ignore_patterns(".git", ".venv*", "build", ".*_cache", ".hypothesis")
            shutil.copytree(ROOT, tree, ignore=left_out)
            trees.put(tree)

        def judge(mutant: Mutant, which: str, tests: list[str] | None = None) -> str | None:
            if mutant not in met[which]:
                tree = trees.get()
                try:
                    where = near(tree, mutant.file) if tests is None else tests
                    found = killer(tree, mutant, [*select, *where], given.limit)
                finally:
                    trees.put(tree)
                met[which][mutant] = found
                with given.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"mutant": asdict(mutant), "met": which, "killer": found}) + "\n")
                print(f"{said(mutant)}: {found or 'survives'} ({which})", flush=True)
            return met[which][mutant]

        killers = dict(zip(mutants, pool.map(lambda mutant: judge(mutant, "near"), mutants), strict=True))
        left, tree = [mutant for mutant, killer in killers.items() if killer is None], trees.queue[0]
        if any(mutant not in met["all"] for mutant in left):
            with changed(tree, left):
                together = ["-n", str(given.jobs), "--dist", "worksteal", "--continue-on-collection-errors"]
                failed = functions(run(tree, [*select, *together], given.limit)[1])
            print(f"{len(left)} together: {len(failed)} tests fail", flush=True)
            if failed:
                list(pool.map(lambda mutant: judge(mutant, "all", failed), left))
        killers |= {mutant: met["all"].get(mutant) for mutant in left}
        tests = functions([killer for killer in killers.values() if killer and "::" in killer])
        wrong = run(tree, [*select, *tests], given.limit)[1] if tests else []
    survived = [mutant for mutant, killer in killers.items() if killer is None]
    print(f"{len(mutants) - len(survived)} of {len(mutants)} killed, seed {given.seed}")
    print("survivors by area:", dict(Counter(mutant.file.split("/")[2] for mutant in survived)))
    for mutant in survived:
        print(f"  {said(mutant)}")
    if wrong:
        sys.exit(f"without any change these fail as well: {wrong}")


if __name__ == "__main__":
    main()
