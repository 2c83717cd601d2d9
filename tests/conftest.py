"""Which tests a run takes, and fixtures that several rooms share.

``pytest --quick`` is what ``make test`` runs: neither the folder ``tests/long`` nor a test marked slow. Of a slow test
with many cases a run takes a few, and of the slow tests of a file marked ``turns(n)`` (simulations, models that are
trained) one in n. Both are chosen by the content of the package, so that every commit runs others; where all cases
matter every time the test is marked ``whole``. ``--everything`` takes all cases of all tests.
"""

import gc
import hashlib
import signal
import zlib
from collections import defaultdict
from pathlib import Path

import pytest
from fits import shared_fit
from hypothesis import settings

import evenhand as eh

LONG = Path(__file__).parent / "long"
# What has a target of its own is tested there, all cases.
BUILT = {LONG / "site": "site", LONG / "benchmarks": "bench"}
CASES, LONG_CASES = 1, 2
"""Of a slow test so many cases run, and so many in tests/long, unless it is whole."""

NEEDS_MORE = {"download", "browser", "spark", "postgres", "xgboost"}
PACKAGE = Path(eh.__file__).parent
# Examples that train models, or draw pages: they cannot be marked where they stand.
SLOW_EXAMPLES = {"evenhand.use.bundle.bundle", "evenhand.use.reporting.report_on", "evenhand.use.tradeoff.frontier"}
SLOW_ROOMS = ("use/estimator", "studies")

# A background job ignores Ctrl-C, and so would every process that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Thousands of tests and large libraries: a tenth of all time would go into looking through them for garbage.
gc.disable()
# A machine that is busy is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out tests/long and everything marked slow")
    parser.addoption("--golden", action="store_true", help="write the files of tests/long/golden anew")
    parser.addoption("--everything", action="store_true", help="run all cases of slow tests, not a few of them")


def pytest_ignore_collect(collection_path, config):
    if config.getoption("quick") and (collection_path == LONG or holds_long_examples(collection_path)):
        return True
    return None


def holds_long_examples(path):
    """Whether a file of the package is none that users import from, or one whose examples take long."""
    if path.suffix != ".py" or not path.is_relative_to(PACKAGE):
        return False
    module = path.relative_to(PACKAGE).with_suffix("").as_posix().removesuffix("/__init__")
    homes = [home.replace(".", "/") for home in [*eh._HOMES, "datasets", "verifier"]]
    public = any(module == home or module.startswith(f"{home}/") for home in homes)
    return not public or module.startswith(SLOW_ROOMS)


def content_of_the_package():
    """A number that changes with every file of the package."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return int.from_bytes(digest.digest()[:4])


def pytest_terminal_summary(terminalreporter, config):
    if not (config.getoption("everything") or config.getoption("quick")):
        content = content_of_the_package()
        terminalreporter.write_line(
            f"of slow tests {CASES} or {LONG_CASES} cases ran, of simulations some, by the package's content, {content}"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.path.is_relative_to(LONG):
            item.add_marker(next((mark for folder, mark in BUILT.items() if item.path.is_relative_to(folder)), "slow"))
        elif item.name in SLOW_EXAMPLES or holds_long_examples(item.path):
            item.add_marker("slow")
    if config.getoption("quick"):
        keep_some_slow_cases(items)
        left_out = NEEDS_MORE | {"slow", *BUILT.values()}
        leave_out(config, items, [item for item in items if any(mark.name in left_out for mark in item.iter_markers())])
    elif not config.getoption("everything"):
        leave_out(config, items, other_cases(items, content_of_the_package()))


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish():
    gc.unfreeze()


def by_function(items, mark):
    """The cases of every test function with a mark."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker(mark) is not None:
            cases[item.nodeid.partition("[")[0]].append(item)
    return cases.values()


def other_cases(items, content):
    """The cases of slow tests that this run leaves out."""
    for cases in by_function(items, "slow"):
        every = max(1, len(cases) // (LONG_CASES if cases[0].path.is_relative_to(LONG) else CASES))
        if not has_its_turn(cases[0], content):
            yield from cases
        elif cases[0].get_closest_marker("whole") is None:
            yield from (item for place, item in enumerate(cases) if (place - content) % every)


def has_its_turn(item, content):
    """Whether this run takes a slow test of a file of which a run takes one in n."""
    mark = item.get_closest_marker("turns")
    function = item.nodeid.partition("[")[0]
    return mark is None or zlib.crc32(f"{content} {function}".encode()) % mark.args[0] == 0


def keep_some_slow_cases(items):
    """Of a test marked slow(keep=n), n cases, evenly spaced, are quick."""
    for cases in by_function(items, "slow"):
        keep = cases[0].get_closest_marker("slow").kwargs.get("keep", 0)
        for place in range(keep):
            kept = cases[place * len(cases) // keep]
            kept.own_markers = [mark for mark in kept.own_markers if mark.name != "slow"]


def leave_out(config, items, some):
    some = set(some)
    if some:
        config.hook.pytest_deselected(items=list(some))
        items[:] = [item for item in items if item not in some]


@pytest.fixture(scope="session")
def compas():
    return eh.datasets.load("compas")


@pytest.fixture(scope="session")
def adult():
    return eh.datasets.load("adult")


@pytest.fixture(scope="session")
def compas_mapping(compas):
    return shared_fit(compas.problem, compas.counts)


@pytest.fixture(scope="session")
def adult_mapping(adult):
    return shared_fit(adult.problem, adult.counts)
