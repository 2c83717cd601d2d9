"""The house: imports point one way, public names are what they should be, extras are optional."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh

ROOT = Path(eh.__file__).parent
# From the ground up: a module may import only from the entries before its own (and from its own).
ORDER = [
    "_version",
    "errors",
    "resources",
    "coding",
    "domain",
    "digests",
    "counts",
    "spec",
    "draws",
    "kernel",
    "achieved",
    "program",
    "compile",
    "solve",
    "certificate",
    "tables",
    "transforming",
    "engines",
    "meeting",
    "tabulate",
    "edges",
    "theory",
    "models",
    "audit",
    "verifier",
    "storage",
    "prices",
    "conflict",
    "proof",
    "report",
    "mapping",
    "alternating",
    "fitting",
    "estimator",
    "diagnosis",
    "proposal",
    "tradeoff",
    "reporting",
    "datasets",
    "reproduce",
    "figures",
    "screen",
    "cli",
    "__main__",
]
FRAMES = {"pandas", "polars", "pyarrow", "narwhals"}


def modules():
    return sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def part(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported(path):
    """Every module a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            if node.module == "evenhand":
                yield from (f"evenhand.{alias.name}" for alias in node.names)


def own(path):
    return {name.split(".")[1] for name in imported(path) if name.startswith("evenhand.")}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    assert part(path) in ORDER, "give the new module its place in the order"
    place = ORDER.index(part(path))
    above = {name for name in own(path) if ORDER.index(name) > place}
    assert not above


def test_solvers_know_nothing_of_the_problem():
    for path in (ROOT / "solve").rglob("*.py"):
        assert own(path) <= {"solve", "program", "counts", "errors"}, path


def test_achieved_never_sees_a_solver():
    assert not own(ROOT / "achieved.py") & {"program", "compile", "solve"}


def test_each_library_has_one_home():
    homes = {
        "altair": {"report"},
        "jinja2": {"report"},
        "vl_convert": {"report"},
        "highspy": {"solve"},
        "clarabel": {"solve"},
    }
    homes |= {"sklearn": {"estimator"}, "duckdb": {"engines"}, "pyspark": {"engines"}, "sqlglot": {"engines"}}
    homes |= {frame: {"tables", "datasets"} for frame in FRAMES} | {"typer": {"cli"}, "rich": {"screen"}}
    # DuckDB hands its batches over as Arrow's.
    homes["pyarrow"] = {"tables", "engines"}
    for path in modules():
        for name in imported(path):
            top = name.split(".")[0]
            assert part(path) in homes.get(top, {part(path)}), f"{path} imports {top}"


def test_no_print_and_no_vague_names():
    for path in modules():
        calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
        assert not any(isinstance(c.func, ast.Name) and c.func.id == "print" for c in calls), path
        assert not set(path.parts) & {"utils.py", "helpers.py", "tools.py", "misc.py", "common.py"}


def test_functions_stay_small():
    """The 90th percentile of functions stays under 45 lines, docstrings apart."""
    lengths = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                documented = ast.get_docstring(node) is not None
                first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
                lengths.append(node.end_lineno - first.lineno + 1)
    lengths.sort()
    assert lengths[int(0.9 * len(lengths))] < 25
    assert lengths[-1] < 45


def test_every_public_name_is_there():
    for name in eh.__all__:
        assert getattr(eh, name) is not None
    assert {"fit", "Problem", "Mapping", "KL", "L1", "PairwiseParity", "TargetParity"} <= set(eh.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        eh.fitt  # noqa: B018


def test_no_module_hides_a_public_name():
    """A submodule becomes an attribute of the package when it is imported, and would hide a function of its name."""
    modules_ = {path.relative_to(ROOT).with_suffix("").parts[0] for path in modules()}
    assert modules_ & set(eh.__all__) == {"datasets"}


def test_no_name_promises_too_much():
    words = ("fair", "debias", "unbias")
    assert not [name for name in eh.__all__ if any(word in name.lower() for word in words)]


def run(code, *arguments, extra=()):
    return subprocess.run([sys.executable, *arguments, "-c", code, *extra], capture_output=True, text=True, check=False)


def test_importing_loads_nothing_heavy():
    loaded = run("import evenhand, sys; print(*sys.modules)").stdout.split()
    assert not {"numpy", "pandas", "scipy", "highspy", "clarabel", "typer", "altair", "sklearn", "pyspark"} & set(
        loaded
    )


def test_extras_are_optional(tmp_path):
    """Without altair, vl-convert and scikit-learn all else works; what needs them names the command to install them."""
    code = """
import sys
for name in ("altair", "vl_convert", "cvxpy", "polars", "pyarrow", "sklearn", "duckdb", "sqlglot", "pyspark"):
    sys.modules[name] = None
import evenhand as eh
data = eh.datasets.load("compas")
mapping = eh.fit(data.problem, data.frame)
mapping.release(data.frame)
from evenhand.report import charts
try:
    charts.rates([], outcome="y", title="", subtitle="")
except eh.MissingExtraError as error:
    print("told:", error)
try:
    eh.fit(data.problem, sys.argv[1])
except eh.MissingExtraError as error:
    print("told:", error)
try:
    mapping.to_sql("duckdb", "people", "id")
except eh.MissingExtraError as error:
    print("told:", error)
try:
    eh.OptimizedPreprocessor
except eh.MissingExtraError as error:
    print("told:", error)
"""
    (tmp_path / "t.csv").write_text("sex,race\n")
    result = run(code, extra=[str(tmp_path / "t.csv")])
    assert "told: charts need" in result.stdout, result.stderr
    assert "pip install 'evenhand[charts]'" in result.stdout
    assert "pip install 'evenhand[sklearn]'" in result.stdout
    assert "pip install 'evenhand[files]'" in result.stdout
    assert "pip install 'evenhand[sql]'" in result.stdout


def test_errors_share_one_parent():
    from evenhand import errors

    for name in vars(errors).values():
        if isinstance(name, type) and issubclass(name, Exception) and not issubclass(name, Warning):
            assert issubclass(name, eh.EvenhandError)
