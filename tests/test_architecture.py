"""The house: imports point one way, public names are what they should be, extras are optional."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import evenhand as eh

ROOT = Path(eh.__file__).parent
# From the ground up: a module may import only from the entries before its own (and from its own). Rooms are packages.
ORDER = [
    "_version",
    "tolerances",
    "text",
    "errors",
    "check",
    "records",
    "resources",
    "files",
    "arrays",
    "render.section",
    "render.numbers",
    "render.sentences",
    "render.document",
    "render.markup",
    "render.chart",
    "render.html",
    "render.markdown",
    "render.terminal",
    "render.page",
    "render.finding",
    "data",
    "data.levels",
    "data.tree",
    "data.profile",
    "data.domain",
    "data.weighting",
    "data.propensities",
    "data.counts",
    "spec",
    "kernel.md5",
    "kernel.draws",
    "kernel.stochastic",
    "kernel.balance",
    "kernel.strata",
    "kernel",
    "kernel.achieved",
    "kernel.strangers",
    "tables",
    "tables.transforming",
    "tables.splitting",
    "tables.unfolding",
    "optimize.program",
    "optimize.compile",
    "optimize.solve",
    "optimize.certificate",
    "optimize.tabulate",
    "optimize.alternating",
    "engines",
    "verifier",
    "findings.scores",
    "findings.document",
    "findings.naming",
    "findings.unaware",
    "findings.discretion",
    "findings.bounds",
    "findings.verdict",
    "findings.forbidden",
    "findings.giving_away",
    "findings.comparing",
    "findings.impact",
    "findings.changes",
    "findings.ledger",
    "findings.simpson",
    "findings.coverage",
    "findings.cells",
    "findings.feasibility",
    "findings.assurance",
    "findings.theory",
    "findings.rates",
    "findings.extent",
    "findings.subject",
    "findings.moves",
    "findings.models",
    "findings.new_people",
    "findings.verified",
    "findings.rows",
    "findings.drift",
    "findings.monitoring",
    "findings.audit",
    "findings.described",
    "findings.prices",
    "findings.cost",
    "findings.infeasibility",
    "findings.explaining",
    "findings.proof",
    "findings.manifest",
    "findings.released",
    "findings.charts",
    "findings.disparity",
    "findings.gains",
    "findings.burden",
    "findings.decisions",
    "findings.released_file",
    "findings.other_people",
    "findings.columns",
    "findings.brief",
    "findings.datasheet",
    "findings.history",
    "mapping",
    "storage",
    "transformation",
    "evaluation",
    "explanation",
    "queries",
    "optimum",
    "suppression",
    "folds",
    "confidence",
    "fitting",
    "diagnosis",
    "use.manifests",
    "use.verification",
    "use.persons",
    "use.group_scores",
    "use.training",
    "use.scoring",
    "use.oneline",
    "use.released_scores",
    "use.deciding",
    "use.estimator",
    "use.model_frontier",
    "use.proposal",
    "use.tradeoff",
    "use.reporting",
    "use.comparing",
    "use.bundle",
    "datasets",
    "studies",
    "cli",
    "__main__",
]
# Methods of a mapping are functions of modules above it, which are loaded when they are called.
FORWARDS = {"mapping": {"storage", "transformation", "evaluation", "explanation", "queries"}}
MOST_LOADED = 90
ROOMS = list(dict.fromkeys(entry.split(".")[0] for entry in ORDER))
MOST_ROOMS = 13
# Tests of several modules, or of what no module is alone in.
OF_SEVERAL = {
    "cli": {"next", "raw_files", "startup", "streams", "wrong_input"},
    "optimize/solve": {"stopping"},
    "spec": {"parity_and_budget", "schema"},
    "studies": {"paper"},
    "tables": {"reading_and_writing"},
    "use": {"frequencies"},
}
FRAMES = {"pandas", "polars", "pyarrow", "narwhals"}


def modules():
    return sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def room(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def place(module):
    """Where a module stands in the order: at its own entry, or at that of the package it is in."""
    while module and module not in ORDER:
        module = module.rpartition(".")[0]
    return ORDER.index(module) if module else None


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path):
    """Every module a file imports, wherever the import stands, and whether that is for types alone."""
    found, todo = [], [(parsed(path), False)]
    while todo:
        node, for_types = todo.pop()
        for child in ast.iter_child_nodes(node):
            guarded = isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"
            if isinstance(child, ast.Import):
                found += [(alias.name, for_types) for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: relative import"
                inner = [f"{child.module}.{alias.name}" for alias in child.names]
                found += [(name, for_types) for name in [n for n in inner if is_module(n)] or [child.module]]
            elif isinstance(child, ast.stmt | ast.ExceptHandler):
                todo.append((child, for_types or guarded))
    return found


@cache
def is_module(name):
    path = ROOT.parent / name.replace(".", "/")
    return name.startswith("evenhand.") and (path.with_suffix(".py").is_file() or path.is_dir())


@cache
def own(path):
    return {name.removeprefix("evenhand.") for name, _ in imports(path) if name.startswith("evenhand.")}


def test_every_module_has_its_place_in_the_order():
    assert not [name_of(path) for path in modules() if place(name_of(path)) is None and not is_plain_door(path)]


def is_plain_door(path):
    """A room's ``__init__`` that lists nothing needs no place."""
    return path.name == "__init__.py" and path.parent.parent == ROOT and not own(path)


def test_imports_point_down():
    def above(path):
        name = name_of(path)
        below = own(path) - FORWARDS.get(name, set())
        return {module for module in below if place(module) is None or place(module) > place(name)}

    placed = [path for path in modules() if place(name_of(path)) is not None]
    assert {name_of(path): found for path in placed if (found := above(path))} == {}


def test_rooms_are_few_and_in_order():
    """A newcomer sees a dozen doors, and nothing in a room stands between the modules of another."""
    assert {room(path) for path in modules()} == set(ROOMS)
    assert len([name for name in ROOMS if (ROOT / name).is_dir()]) <= MOST_ROOMS
    runs = [entry.split(".")[0] for entry in ORDER]
    assert [runs[i] for i in range(len(runs)) if not i or runs[i] != runs[i - 1]] == ROOMS


def test_tests_mirror_the_rooms():
    """Those of the quick loop; ``long`` goes by what its tests need, ``once`` has a sample of it."""
    tests = Path(__file__).parent
    rooms = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"}
    folders = {p.name for p in tests.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders - rooms == {"long", "once"}
    assert rooms - folders == {"engines"}
    for path in tests.glob("*/**/test_*.py"):
        where, name = path.parent.relative_to(tests), path.stem.removeprefix("test_")
        if where.parts[0] in ("long", "once") or name in OF_SEVERAL.get(where.as_posix(), ()):
            continue
        assert (ROOT / where).is_dir(), f"{path} is in a folder that is no package"
        known = {each.stem for each in (ROOT / where).iterdir()} | {where.name}
        assert name in known, f"{path} is named after no module there"


def rooms_of(path):
    return {name.split(".")[0] for name in own(path)}


def test_solvers_know_nothing_of_the_problem():
    allowed = ("optimize.solve", "optimize.program", "arrays", "check", "errors", "resources", "tolerances")
    for path in (ROOT / "optimize" / "solve").rglob("*.py"):
        assert all(name.startswith(allowed) for name in own(path)), path


def test_achieved_never_sees_a_solver():
    assert "optimize" not in rooms_of(ROOT / "kernel" / "achieved.py")


def test_each_library_has_one_home():
    homes = {
        "vl_convert": {"render"},
        "highspy": {"optimize"},
        "clarabel": {"optimize"},
        # In use by the estimators, in spec by what learns cells.
        "sklearn": {"use", "spec"},
        "duckdb": {"engines"},
        "pyspark": {"engines"},
        "sqlglot": {"engines"},
        "typer": {"cli"},
        "rich": {"cli", "render"},
    }
    homes |= {frame: {"tables", "datasets"} for frame in FRAMES}
    # Batches of Parquet files are Arrow's, those of CSV files pandas'.
    homes["pyarrow"] = homes["pandas"] = {"tables", "datasets", "engines"}
    for path in modules():
        for top in {name.split(".")[0] for name, for_types in imports(path) if not for_types}:
            assert room(path) in homes.get(top, {room(path)}), f"{path} imports {top}"


def test_no_print_and_no_vague_names():
    for path in modules():
        calls = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.Call)]
        assert not any(isinstance(c.func, ast.Name) and c.func.id == "print" for c in calls), path
        assert not set(path.parts) & {"utils.py", "helpers.py", "tools.py", "misc.py", "common.py"}


def test_functions_stay_small():
    """The 90th percentile of functions stays under 45 lines, docstrings apart."""
    lengths = []
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                documented = ast.get_docstring(node) is not None
                first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
                lengths.append(node.end_lineno - first.lineno + 1)
    lengths.sort()
    assert lengths[int(0.9 * len(lengths))] < 45


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
    assert not {"numpy", "pandas", "scipy", "highspy", "clarabel", "typer", "sklearn", "pyspark"} & set(loaded)


def test_a_fit_loads_only_what_it_needs():
    """What else can be done with a mapping, files and other solvers are loaded when they are asked for."""
    code = """
import sys
import evenhand as eh
import pandas as pd

frame = pd.DataFrame({"sex": ["f", "m"] * 20, "age": [1, 1, 2, 2] * 10, "hired": [0, 1, 0, 1, 1, 1, 0, 1] * 5})
costs = eh.Distortion({"hired": eh.Ordinal(step=1)})
bounds = {"parity": eh.PairwiseParity(0.1), "budget": eh.ExpectedDistortion(0.9)}
eh.fit(eh.Problem(protected=["sex"], features=["age"], outcome="hired", distortion=costs, **bounds), frame)
print(*(name for name in sys.modules if name.split(".")[0] == "evenhand"))
"""
    loaded = run(code).stdout.split()
    assert "evenhand.optimum" in loaded
    assert len(loaded) <= MOST_LOADED, loaded


def test_extras_are_optional(tmp_path):
    """Without vl-convert and scikit-learn all else works; what needs them names the command to install them."""
    code = """
import sys
for name in ("vl_convert", "cvxpy", "polars", "pyarrow", "sklearn", "duckdb", "sqlglot", "pyspark"):
    sys.modules[name] = None
import evenhand as eh
data = eh.datasets.load("compas")
mapping = eh.fit(data.problem, data.frame)
mapping.release(data.frame)
mapping.chart().to_svg()
try:
    mapping.chart().save(sys.argv[1] + ".png")
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
    assert "told: charts as PNG need" in result.stdout, result.stderr
    assert "pip install 'evenhand[charts]'" in result.stdout
    assert "pip install 'evenhand[sklearn]'" in result.stdout
    assert "pip install 'evenhand[files]'" in result.stdout
    assert "pip install 'evenhand[sql]'" in result.stdout


def test_errors_share_one_parent():
    from evenhand import errors

    for name in vars(errors).values():
        if isinstance(name, type) and issubclass(name, Exception) and not issubclass(name, Warning):
            assert issubclass(name, eh.EvenhandError)
