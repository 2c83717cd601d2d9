"""What is published: one version, a wheel and an sdist of the tracked files alone, an installation that works."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import evenhand as eh
from evenhand._version import __version__
from evenhand.cli.commands import COMMANDS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LITTER = [
    "build/lib/evenhand/old.py",
    "dist/evenhand-0.0.1.tar.gz",
    ".venv/bin/python",
    ".venv-aif360/pyvenv.cfg",
    ".hypothesis/examples/a",
    ".pytest_cache/README.md",
    ".mypy_cache/a.json",
    "evenhand-demo/compas.mapping",
    "src/evenhand/__pycache__/check.cpython-311.pyc",
    "tests/spec/__pycache__/test_by.cpython-311.pyc",
    "benchmarks/results/fit.json",
    "scratch.txt",
]
SMOKE = """
import importlib.util, sys
absent = [name for name in ("vl_convert", "duckdb", "sklearn", "pyspark", "sqlglot") if importlib.util.find_spec(name)]
assert not absent, absent
import evenhand as eh
data = eh.datasets.load("compas")
mapping = eh.fit(data.problem, data.frame)
assert mapping.certificate.status == "optimal"
mapping.save("own.mapping")
assert eh.Mapping.load("own.mapping").release(data.frame).shape == data.frame.shape
assert eh.Problem.schema()["title"]
try:
    eh.OptimizedPreprocessor
except eh.MissingExtraError as error:
    print(error)
"""


def tracked():
    """The files that git knows; a copy without its history, as an sdist is, has nothing to compare with."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode or not found.stdout:
        pytest.skip("not a git checkout")
    return {name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()}


def test_the_version_is_written_once():
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited.group(1) == __version__
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0].split()[0] == __version__


def test_every_extra_is_known_to_the_readers():
    """What an error tells people to install exists."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"evenhand\[(\w+)\]", sources))
    assert named <= set(PROJECT["optional-dependencies"])
    assert {"charts", "files", "sklearn", "sql"} <= named | set(PROJECT["optional-dependencies"])


def test_links_of_the_security_page_lead_somewhere():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target
    assert "## Release" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_what_programs_are_told_of_exists():
    """llms.txt: every page, name and command; and the site has it at its root."""
    docs = ROOT / "docs"
    text = (docs / "llms.txt").read_text(encoding="utf-8")
    pages = re.findall(r"\]\(([^)]+)\)", text)
    assert len(pages) > 15
    for page in pages:
        assert (docs / page).with_suffix(".md").is_file(), page
    names = set(re.findall(r"eh\.(\w+)", text))
    assert {"fit", "Problem", "PairwiseParity"} <= names <= set(eh.__all__)
    calls = set(re.findall(r"mapping\.(\w+)\(", text))
    assert {"release", "apply", "expand"} <= calls
    assert all(hasattr(eh.Mapping, call) for call in calls)
    assert set(re.findall(r"`evenhand (\w+)", text)) <= {command.__name__ for command in COMMANDS}
    extras = re.search(r"extras: (.*?)\.\s", text, re.DOTALL).group(1)
    assert set(re.findall(r"`(\w+)`", extras)) <= set(PROJECT["optional-dependencies"])
    assert 'html_extra_path = ["llms.txt"]' in (docs / "conf.py").read_text(encoding="utf-8")


def test_what_needs_more_than_python_is_where_make_looks_for_it():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    marks = re.search(r"^REST := (.+)$", makefile, re.MULTILINE).group(1).split(" or ")
    places = [ROOT / each for each in re.search(r"^REST_FILES := (.+)$", makefile, re.MULTILINE).group(1).split()]
    for path in (ROOT / "tests").rglob("test_*.py"):
        if re.search(rf"mark\.({'|'.join(marks)})\b", path.read_text(encoding="utf-8")):
            assert any(path.is_relative_to(place) for place in places), path


def run(*command, cwd):
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False, env=clean)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, built from a copy of the tracked files with litter between them."""
    copy = tmp_path_factory.mktemp("copy")
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    for name in LITTER:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("litter")
    out = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--outdir", out, ".", cwd=copy)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.download
def test_the_sdist_is_the_tracked_files(built):
    with tarfile.open(built[1]) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside - {"PKG-INFO"} == tracked()


@pytest.mark.download
def test_the_wheel_is_the_package(built):
    with zipfile.ZipFile(built[0]) as archive:
        inside = set(archive.namelist())
        metadata = archive.read(f"evenhand-{__version__}.dist-info/METADATA").decode()
    package = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    assert {name for name in inside if ".dist-info/" not in name} == package
    assert "evenhand/py.typed" in inside
    assert f"Version: {__version__}\n" in metadata
    assert "License-Expression: Apache-2.0" in metadata


@pytest.mark.download
def test_a_new_environment_fits_with_what_the_wheel_asks_for_alone(built, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    bin_ = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", built[0], cwd=tmp_path)
    assert run(bin_ / "evenhand", "--version", cwd=tmp_path) == f"evenhand {__version__}\n"
    assert "pip install 'evenhand[sklearn]'" in run(bin_ / "python", "-c", SMOKE, cwd=tmp_path)
    assert "evenhand verify" in run(bin_ / "evenhand", "demo", "compas", cwd=tmp_path)
    assert (tmp_path / "evenhand-demo" / "compas.mapping").exists()
