"""The benchmarks run: each alternative once, at its smallest, with the same optimum. Nothing is timed here."""

import importlib.util
import json
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def modules(monkeypatch, tmp_path):
    """Import a benchmark's module by name; results go nowhere else than here."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    names = {path.stem for path in BENCHMARKS.glob("*.py")}
    before = set(sys.modules)

    def load(name):
        module = __import__(name)
        if name == "harness":
            monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
        return module

    yield load
    for name in names & (set(sys.modules) - before):
        del sys.modules[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "method", "optimum"),
    [
        ("compas", "evenhand", 0.0212438),
        ("compas", "cvxpy CLARABEL", 0.0212438),
        ("adult", "evenhand, no tie-break", 0.0148519),
        ("compas", "evenhand, no tie-break, from counts", 0.0212438),
        ("adult", "HiGHS ipm", 0.0148519),
        ("adult", "cvxpy HIGHS", 0.0148519),
    ],
)
def test_every_alternative_of_a_fit_states_the_same_problem(modules, study, method, optimum):
    row = modules("fit").child(study, method)
    assert row["objective"] == pytest.approx(optimum, abs=1e-6)
    assert row["exceeded"] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("method", ["eh.frontier", "eh.fit, no tie-break", "cvxpy CLARABEL"])
def test_every_alternative_of_a_frontier_finds_the_same_points(modules, method):
    values = modules("frontier").child(method, 3)["values"]
    assert values == pytest.approx([np.nan, 0.0047, 0.0], abs=1e-4, nan_ok=True)


@pytest.mark.parametrize(("method", "optimum"), [("HiGHS", "l1"), ("l1", "l1"), ("cvxpy l1", "l1"), ("kl", "kl")])
def test_every_alternative_of_a_large_domain_states_the_same_problem(modules, method, optimum):
    row = modules("ladder").child("sites:1", method)
    assert row["objective"] == pytest.approx({"l1": 0.142354, "kl": 0.0113016}[optimum], abs=1e-5)
    assert row["exceeded"] < 1e-6
    assert row["moves"] == 1_584


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize(
    ("table", "method"),
    [
        ("pandas, categories", "gather"),
        ("pandas, categories", "by key"),
        ("pandas, objects", "release, by position"),
        ("polars, strings", "by position"),
        ("polars, categories", "balanced"),
    ],
)
def test_every_kind_of_table_is_applied(modules, table, method):
    assert modules("apply").child(table, method, 3_000)["rate"] > 0


@pytest.mark.slow
def test_a_benchmark_is_its_own_child(modules):
    script = BENCHMARKS / "ladder.py"
    assert modules("harness").child(script, "--child", "sites:1", "l1")["moves"] == 1_584


@pytest.mark.slow
def test_the_files_benchmark_runs(tmp_path):
    command = [sys.executable, str(BENCHMARKS / "files.py"), "--rows", "5000", "--rounds", "1"]
    environment = os.environ | {"EVENHAND_RESULTS": str(tmp_path)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    methods = ["copy", "count", "audit", "by", "by", "balanced"]
    assert [line.split()[1] for line in run.stdout.splitlines()[1:]] == methods * 2
    rows = json.loads((tmp_path / "files.json").read_text(encoding="utf-8"))["rows"]
    assert [row["file"] for row in rows] == ["parquet"] * 6 + ["csv"] * 6
    assert all(row["× the copy"] > 0 and row["peak MB"] > 0 for row in rows)


def test_the_script_for_the_other_environment_compiles(tmp_path):
    py_compile.compile(str(BENCHMARKS / "with_aif360.py"), cfile=str(tmp_path / "compiled"), doraise=True)


def test_the_paper_is_judged_by_hand(modules):
    paper, data = modules("paper"), eh.datasets.load("compas")
    counts = data.counts
    everyone = np.arange(len(counts))
    stay = paper.Moves(everyone, counts.x, counts.y, np.ones(len(counts)))
    judged = paper.judged(data.problem, counts, stay)
    assert judged["objective"] == judged["forbidden"] == judged["rows"] == 0
    assert judged["parity"] == pytest.approx(0.6146101 - 0.1, abs=1e-6)
    assert judged["individual"] == judged["averaged"] == -0.5
    assert paper.exceeded(data.problem, judged) == judged["parity"]
    # Raising the outcome is forbidden; the last of those without it does so half of the time.
    person = np.flatnonzero(counts.y == 0)[-1]
    half = np.where(everyone == person, 0.5, 1.0)
    raised = paper.Moves(
        np.append(everyone, person), np.append(counts.x, counts.x[person]), np.append(counts.y, 1), np.append(half, 0.5)
    )
    judged = paper.judged(data.problem, counts, raised)
    assert judged["forbidden"] == 0.5
    assert judged["rows"] == 0
    lost = paper.Moves(everyone, counts.x, counts.y, half)
    assert paper.judged(data.problem, counts, lost)["rows"] == 0.5


def test_what_is_written_for_aif360_is_the_problem_and_its_answer_is_read_back(modules, tmp_path):
    paper, rivals, data = modules("paper"), modules("rivals"), eh.datasets.load("adult")
    counts, domain = data.counts, data.counts.domain
    rivals.write_task(tmp_path, data.problem, data.frame, counts, 0.05)
    task = json.loads((tmp_path / "task.json").read_text(encoding="utf-8"))
    assert task["costs"]["income"] == {"0": {"0": 0.0, "1": 0.0}, "1": {"0": 1.0, "1": 0.0}}
    assert task["costs"]["age"]["20-29"]["40-49"] == rivals.FORBIDDEN
    assert dict(zip(task["thresholds"], task["limits"], strict=True)) == {0.9: 0.1, 1.9: 0.05, rivals.NEVER: 0.0}
    # A mapping over the product of all levels that leaves everybody as they are, its rows in another order.
    variables = [*domain.d.variables, *domain.x.variables, domain.outcome]
    shape = [len(v) for v in variables]
    codes = np.random.default_rng(0).permutation(np.indices(shape).reshape(len(shape), -1), axis=1)
    n_groups = len(domain.d.variables)
    targets = np.indices(shape[n_groups:]).reshape(len(shape) - n_groups, -1)
    texts = lambda rows, of: np.array(  # noqa: E731
        [[str(v.levels[code]) for v, code in zip(of, row, strict=True)] for row in rows.T]
    )
    same = (codes[n_groups:, :, None] == targets[:, None, :]).all(axis=0)
    np.savez(
        tmp_path / "mapping.npz",
        probability=same.astype(float),
        sources=texts(codes, variables),
        targets=texts(targets, variables[n_groups:]),
    )
    moves = rivals.read_mapping(tmp_path, counts)
    assert np.array_equal(moves.source, np.arange(len(counts)))
    assert np.array_equal(moves.to_x, counts.x)
    assert np.array_equal(moves.to_y, counts.y)
    assert paper.judged(data.problem, counts, moves)["objective"] == 0


@pytest.mark.slow
def test_a_child_beyond_its_limits_has_died(modules):
    harness = modules("harness")
    assert harness.child("-c", "print('{\"seconds\": 1}')") == {"seconds": 1}
    assert "1 s" in harness.child("-c", "while True: pass", limit=1)["died"]
    assert "GB" in harness.child("-c", "print(len(bytearray(3 << 30)))", memory=1)["died"]
    with pytest.raises(RuntimeError, match="ended with"):
        harness.child("-c", "raise SystemExit(3)")


def test_turns_take_the_fastest_and_leave_out_who_died(modules):
    asked = []

    def slow():
        asked.append("slow")
        return {"died": "not done after 1 s"}

    seconds = iter([3.0, 1.0, 2.0])
    rows = modules("harness").in_turns(
        {"ours": lambda: {"seconds": next(seconds), "left": len(asked)}, "slow": slow}, 3
    )
    assert rows["ours"] == {"seconds": 1.0, "left": 1, "slowest": 3.0, "rounds": 3}
    assert asked == ["slow"]
    assert "died" in rows["slow"]


MADE_UP = {
    "seconds": 0.5, "peak": 150.0, "objective": 0.02, "parity": -0.1, "averaged": 0.0, "individual": 0.2,
    "forbidden": 0.0, "exceeded": 0.2,
}  # fmt: skip
AIF360 = MADE_UP | {"seconds": 3.0, "python": "3.11.7", "versions": {"aif360": "0.6.1", "numpy": "1.26.4"}}
SOLVED = {"solve": 2.0, "compile": 0.1, "whole": 3.0, "peak": 200.0, "objective": 0.07, "exceeded": 1e-12}

CLUSTER = {
    "rows": 4_000_000, "partitions": 24, "seconds": 15.0, "plain_copy_seconds": 10.0, "identical": True, "error": None,
    "seconds_with_a_worker_lost": 20.0, "killed_after": "8 of 24 tasks", "nothing_under_the_final_name": None,
}  # fmt: skip


def made_up_results():
    methods = {"evenhand": MADE_UP, "HiGHS ipm": MADE_UP | {"seconds": 0.25}, "AIF360, ε = 0.1": AIF360}
    rungs = [
        {"title": "rung 1", "moves": 4_184, "methods": {"HiGHS": SOLVED, "l1": SOLVED, "cvxpy l1": SOLVED}},
        {
            "title": "rung 2",
            "moves": 31_500,
            "methods": {
                "HiGHS": SOLVED,
                "l1": SOLVED | {"solve": 5.0},
                "cvxpy l1": {"died": "over", "spent": 60, "peak": 900},
            },
        },
    ]
    rate = {"seconds": 1.0, "rate": 1e6, "added": 5.0}
    return {
        "fit": {
            "rounds": 1,
            "limit": 60,
            "memory": 8,
            "cases": {"compas": {"title": "COMPAS, KL", "methods": methods}},
        },
        "ladder": {
            "rounds": 3,
            "others": {"rounds": 1},
            "limit": 60,
            "memory": 8,
            "families": {"Adult": rungs, "none": []},
        },
        "apply": {"rows": 10, "rounds": 1, "aif360": None, "kinds": {"pandas": {"gather": rate, "by key": rate}}},
        "spark_cluster": CLUSTER,
        "elsewhere": {"title": "Another", "words": "In its own words.", "rows": [{"method": "a", "seconds": 1.25}]},
    }


def test_the_page_is_written_from_what_is_there(modules, tmp_path):
    harness, write = modules("harness"), modules("write")
    for name, content in made_up_results().items():
        harness.keep(name, content, began=0.0)
    text = write.write(tmp_path).read_text(encoding="utf-8")
    sections = [line for line in text.splitlines() if line.startswith("## ")]
    assert sections == [
        "## A fit", "## Apply, in memory", "## Large domains", "## A Spark cluster, and a worker that is lost",
        "## Another", "## Where evenhand is slower",
    ]  # fmt: skip
    assert "| AIF360, ε = 0.1 | 3 | × 6.00 | 150 MB | 0.020000 | kept | kept | +0.200 | kept |" in text
    assert "COMPAS, KL: HiGHS ipm took 0.50 of evenhand's time." in text
    assert "Adult, 31,500 moves: HiGHS, ℓ1, took 0.40 of evenhand's time." in text
    assert "Python 3.11.7: aif360 0.6.1, numpy 1.26.4" in text
    assert "| a | 1.25 |" in text
    assert "| apply, one worker killed after 8 of 24 tasks | 20 | × 2.00 | complete and identical |" in text
    assert (tmp_path / write.PICTURE).read_text(encoding="utf-8").startswith("<svg")


def test_a_cluster_that_ended_with_an_error_says_what_it_left(modules):
    ended = CLUSTER | {"identical": False, "error": "Job aborted", "nothing_under_the_final_name": True}
    text = "\n".join(modules("write").cluster_section(ended))
    assert "| × 2.00 | Job aborted; nothing under the final name |" in text


def test_a_script_that_only_prints_its_result_has_it_kept(modules, tmp_path, monkeypatch):
    harness, write = modules("harness"), modules("write")
    specification = importlib.util.spec_from_file_location("all_benchmarks", BENCHMARKS / "__main__.py")
    everything = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(everything)
    monkeypatch.setattr(everything, "HERE", tmp_path)
    (tmp_path / "cluster.py").write_text("print('working')\nprint('RESULT {\"rows per second\": 125000}')\n")
    assert everything.run("cluster", "cluster", [], os.environ) == 0
    assert harness.kept()["cluster"]["rows per second"] == 125_000
    assert "## cluster" in (text := write.page(harness.kept()))
    assert "| rows per second | 125,000 |" in text


def test_without_results_there_is_no_page(modules, tmp_path):
    modules("harness")
    with pytest.raises(SystemExit, match="no results"):
        modules("write").write(tmp_path)
