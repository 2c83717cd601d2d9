"""Fixtures: the two studies and their mappings, fitted once per session; and which cases of a slow test are kept."""

from collections import defaultdict

import pytest
from hypothesis import settings

import evenhand as eh

# A machine that is busy is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


# Docstrings whose examples train models, or draw pages: they cannot be marked where they stand.
SLOW_DOCSTRINGS = {
    "evenhand.report.charts.chart.Chart",
    "evenhand.use.estimator.classifier.PreprocessedClassifier",
    "evenhand.use.reporting.report_on",
    "evenhand.use.tradeoff.frontier",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a test marked slow(keep=n), n cases evenly spaced run in the quick loop as well; some docstrings are slow."""
    for item in items:
        if item.name in SLOW_DOCSTRINGS:
            item.add_marker(pytest.mark.slow)
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("slow")
        if mark is not None and "keep" in mark.kwargs:
            cases[item.nodeid.partition("[")[0], mark.kwargs["keep"]].append(item)
    for (_, keep), every in cases.items():
        for place in range(keep):
            kept = every[place * len(every) // keep]
            kept.own_markers = [mark for mark in kept.own_markers if mark.name != "slow"]


@pytest.fixture(scope="session")
def compas():
    return eh.datasets.load("compas")


@pytest.fixture(scope="session")
def adult():
    return eh.datasets.load("adult")


@pytest.fixture(scope="session")
def compas_mapping(compas):
    return eh.fit(compas.problem, compas.counts)


@pytest.fixture(scope="session")
def adult_mapping(adult):
    return eh.fit(adult.problem, adult.counts)
