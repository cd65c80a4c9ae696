# make demo        score the embedded example and write report.html
# make check       lint, types and the fast tests, for daily work (under two minutes)
# make test        lint, types, documentation, all tests; everything CI runs
# make fuzz        odd and damaged input of every format, some minutes
# make chaos       studies that are killed, starved and damaged, some minutes
# make docs        build the documentation site into site/
# make benchmarks  measure again what the documentation says of speed (an hour or more)
# make help        print this
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
# One thread for each worker, and none that spins while it waits.
export OMP_NUM_THREADS = 1
export OMP_WAIT_POLICY = PASSIVE
# Tests start dozens of processes; without kept bytecode each would compile again what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo check test lint types docs fuzz chaos benchmarks clean

demo: $(VENV)/installed
	$(BIN)/unbraid demo --report report.html

help:
	@sed -n 's/^# make /make /p' Makefile

check: lint types
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not browser"

test: lint types docs
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/installed-dev
	$(BIN)/mypy

# Warnings, such as a link that leads nowhere, are errors (strict, in mkdocs.yml); with --quiet they would not be counted.
docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "Open site/index.html"

fuzz: $(VENV)/installed-dev
	$(BIN)/python -m fuzz

chaos: $(VENV)/installed-dev
	$(BIN)/python -m fuzz.chaos

benchmarks: $(VENV)/installed-dev
	$(BIN)/python benchmarks/sprites.py
	$(BIN)/python benchmarks/panel.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/orthogonality.py
	$(BIN)/python benchmarks/manifold.py
	$(BIN)/python benchmarks/explicitness.py
	$(BIN)/python benchmarks/forest_depth.py
	$(BIN)/python benchmarks/sage_values.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/dependent.py
	$(BIN)/python benchmarks/ensemble.py
	$(BIN)/python benchmarks/downstream.py
	$(BIN)/python benchmarks/study.py
	$(BIN)/python benchmarks/readme.py

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "Installing (about a minute) ..."
	$(PIP) --editable .
	@touch $@

# torch first and by its exact version, so that nothing else chooses a larger build.
$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[dev,train,ray,files,docs]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site report.html
