# Everything needs only Python (3.11 or newer) and make; each target sets up its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# One thread of BLAS each: the processes of the tests share the cores already. What is compiled is kept, whatever the
# environment says: the tests start many processes, and each would compile all modules and tests anew.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q
# Each process takes tests that are near each other, so that fixtures of a module are made once.
SHARED := -n auto --dist worksteal
REST := download or browser or spark or postgres or xgboost
# Where these are: what is not collected takes no time.
REST_FILES := tests/long tests/cli/test_raw_files.py tests/test_package.py
# AIF360 needs packages of 2023, and these a Python from 3.9 to 3.12.
AIF360 := .venv-aif360
AIF360_PYTHON ?= $(shell for each in $(PYTHON) python3.12 python3.11 python3.10; do \
	$$each -c 'import sys; sys.exit(not (3, 9) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$each && break; done)

.PHONY: demo test test-all test-everything test-slow test-rest check docs bench reproduce clean

demo: $(VENV)/.run
	$(BIN)/evenhand demo compas

reproduce: $(VENV)/.run
	$(BIN)/evenhand reproduce

# The inner loop: what is slow, and what needs more than Python, is left to test-all.
test: $(VENV)/.test
	$(PYTEST) $(SHARED) --quick

# Also what needs a package registry, headless Chromium (on the path, or CHROMIUM=/its/path), Java 17 or newer for Spark,
# XGBoost, and the programs of a PostgreSQL server (which the tests start and stop).
test-all: test test-slow test-rest

# Every case of every slow test, of which the other targets take a few.
test-everything: PYTEST += --everything
test-everything: test-all

test-slow: $(VENV)/.test
	$(PYTEST) $(SHARED) -m 'slow and not ($(REST))'

# By files: each starts its own server, session or browser, and waits for it most of the time.
test-rest: $(VENV)/.rest
	$(PYTEST) -n 4 --dist loadfile -m '($(REST)) and not bench' $(REST_FILES)

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, in build/site: tutorials and gallery are run, and a warning or a link that leads nowhere is an error.
docs: $(VENV)/.docs $(VENV)/.test
	PYTHONPATH=scripts $(BIN)/python -m handbook
	$(PYTEST) $(SHARED) -m 'site and not ($(REST))' tests/long/site

# The tests of the benchmarks first. About three hours; writes docs/benchmarks/speed.md. BENCH=--quick sees in minutes that
# everything runs; BENCH='--seed N' draws the random families from a seed.
bench: $(VENV)/.rest $(AIF360)/.done
	$(PYTEST) $(SHARED) -m bench tests/long/benchmarks
	$(BIN)/python benchmarks $(BENCH)

$(VENV)/.base:
	$(PYTHON) -c 'import sys; sys.exit("evenhand needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.run: $(VENV)/.base pyproject.toml
	$(PIP) install -e '.[charts,files]'
	touch $@

$(VENV)/.test: $(VENV)/.base pyproject.toml
	$(PIP) install -e '.[test]'
	touch $@

$(VENV)/.docs: $(VENV)/.base pyproject.toml
	$(PIP) install -e '.[docs]'
	touch $@

$(VENV)/.rest: $(VENV)/.base pyproject.toml
	$(PIP) install -e '.[test-rest]'
	touch $@

$(VENV)/.check: $(VENV)/.base pyproject.toml
	$(PIP) install -e '.[test,check]'
	touch $@

$(AIF360)/.done: benchmarks/aif360.txt
	@test -n '$(AIF360_PYTHON)' || { echo 'AIF360 needs Python 3.9 to 3.12: make bench AIF360_PYTHON=/its/path'; exit 1; }
	$(AIF360_PYTHON) -m venv $(AIF360)
	$(AIF360)/bin/python -m pip --disable-pip-version-check --quiet install -r benchmarks/aif360.txt
	touch $@

clean:
	rm -rf $(VENV) $(AIF360) build evenhand-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
