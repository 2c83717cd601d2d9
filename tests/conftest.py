"""Fixtures: the two studies and their mappings, fitted once a session."""

import pytest

import evenhand as eh


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
