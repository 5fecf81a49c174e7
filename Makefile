# make demo   set everything up and run the main job        make test   set everything up and run the tests
# make env    only set up                                    make bench  speed beside the peers, one run
# make lint   format, lint and type checks                   make coverage  the simulations of docs/theory.md (40 min)
# make synthetic-docs  docs/synthetic.md and its figures     make lm-study  docs/lm-study.md
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: env demo test lint bench coverage synthetic-docs lm-study clean

# A stamp per set of packages: a second run installs nothing, a changed pyproject.toml installs again.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("howsure needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.base

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[bench]'
	@touch $@ $(VENV)/.base

env: $(VENV)/.base

demo: $(VENV)/.base
	@echo "Report: howsure-report.html (open it in a browser)"
	@$(BIN)/howsure check --demo --by predicted --html howsure-report.html

test: $(VENV)/.test
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(BIN)/python bench/check_speed.py
	$(BIN)/python bench/lm_speed.py

coverage: $(VENV)/.test
	$(BIN)/python bench/interval_coverage.py --write
	$(BIN)/python bench/pit_coverage.py --write

synthetic-docs: $(VENV)/.base
	$(BIN)/python bench/write_experiment_page.py synthetic

lm-study: $(VENV)/.base
	$(BIN)/python bench/lm_study.py

clean:
	rm -rf $(VENV) build dist
