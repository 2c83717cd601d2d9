# Everything needs only Python (3.11 or newer) and make; each target sets up its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-all test-rest check bench reproduce clean

demo: $(VENV)/.run
	$(BIN)/evenhand demo compas

reproduce: $(VENV)/.run
	$(BIN)/evenhand reproduce

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto -q -m 'not download and not browser'

# Also what needs a package registry, and headless Chromium (on the path, or CHROMIUM=/its/path).
test-all: test test-rest

test-rest: $(VENV)/.test
	$(BIN)/python -m pytest -q -m 'download or browser'

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/python benchmarks/fit.py
	$(BIN)/python benchmarks/frontier.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/ladder.py

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

$(VENV)/.check: $(VENV)/.base pyproject.toml
	$(PIP) install -e '.[test,check]'
	touch $@

clean:
	rm -rf $(VENV) evenhand-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
