# Everything a contributor or a machine has to run. Each target sets up what it needs by itself, in
# .venv, with the versions in constraints.txt; a second call finds it done. `make` lists the targets.

PYTHON ?= python3
JOBS ?= 2
# Which tests run in one process, and in which order, is decided in tests/conftest.py.
SPREAD := --dist loadgroup --no-loadscope-reorder
VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
# Modules are compiled when they are first imported: most of what is installed here never is.
INSTALL := -m pip install --quiet --no-compile --disable-pip-version-check
PIP := $(BIN)/python $(INSTALL) -c constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo docs images test test-oldest test-adapters wheel release lint audit fuzz faults mutants format schema constraints bench-paper bench-real bench-stress bench-speed bench-text clean

help: ## list the targets
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(VENV)/.base ## make a data set with known biased labelers and check it
	$(BIN)/mdba demo

test: $(VENV)/.all $(VENV)/.browser $(VENV)/.datacontract ## run all tests (JOBS=2 processes; ARGS="-k name" chooses)
	@sh scripts/with-postgres.sh $(BIN)/python -m pytest -n $(JOBS) $(SPREAD) $(ARGS)

# Without the extras for Dask and Spark: their tests are skipped. ARGS=@tests/oldest.txt is what CI
# runs: configuration, findings, records, Great Expectations and Prefect.
test-oldest: $(OLDEST)/.installed ## run the tests with the oldest versions that are supported (ARGS chooses)
	@sh scripts/with-postgres.sh $(OLDEST)/bin/python -m pytest -n $(JOBS) $(SPREAD) -o filterwarnings=default --disable-warnings $(ARGS)

# Each in its own environment, .venv-mlflow and so on; ADAPTERS=dagster chooses.
ADAPTERS ?= mlflow dagster airflow
test-adapters: $(VENV)/.all ## run the tests of MLflow, Dagster and Airflow, each in an environment of its own
	@PYTHON=$(PYTHON) sh scripts/test-adapters.sh $(ADAPTERS)

wheel: $(VENV)/.python ## build the wheel and try it alone on every Python that is found
	rm -rf build dist
	PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@sh scripts/try-wheel.sh dist/*.whl

release: ## build and check what is published, with SBOM and hashes, in dist/
	@PYTHON=$(PYTHON) sh scripts/release.sh

lint: $(VENV)/.all ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: $(VENV)/.all ## look for dangerous code and for known vulnerabilities in dependencies
	@sh scripts/audit.sh

fuzz: $(VENV)/.all ## throw 10,000 random and mutated tables and settings at the command line
	$(BIN)/python -m tests.reliability.fuzz $(ARGS)

faults: $(VENV)/.all ## full disks, killed processes, lost databases, 50 checks at once
	$(BIN)/python -m tests.reliability.faults

format: $(VENV)/.all ## put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.all ## build the pages into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

images: $(VENV)/.all $(VENV)/.browser ## draw the pictures of the report, Data Docs and Prefect in docs/images again
	$(BIN)/python -m tests.browser.images

bench-paper: $(VENV)/.all ## measure accuracy on the paper's grid
	$(BIN)/python -m benchmarks.paper $(ARGS)

bench-real: $(VENV)/.all ## measure accuracy on real people (ARGS="--data FOLDER")
	$(BIN)/python -m benchmarks.real_people --jobs $(JOBS) $(ARGS)

bench-stress: $(VENV)/.all ## measure accuracy on simulated label sets of many shapes
	$(BIN)/python -m benchmarks.stress --jobs $(JOBS) $(ARGS)

bench-speed: $(VENV)/.all ## measure time and memory
	$(BIN)/python -m benchmarks.speed $(ARGS)

bench-text: $(VENV)/.all ## measure time and memory of reading a million texts
	$(BIN)/python -m benchmarks.text $(ARGS)

mutants: $(VENV)/.all ## change one operator, comparison, constant or condition at a time: do tests notice?
	$(BIN)/python tests/mutants.py $(ARGS)

schema: $(VENV)/.base ## renew docs/mdba.schema.json and docs/settings.md after a change of the configuration
	$(BIN)/python -c 'import json; from mdba_checks.config import CheckConfig as C; print(json.dumps(C.model_json_schema(), indent=2, ensure_ascii=False))' > docs/mdba.schema.json.new
	mv docs/mdba.schema.json.new docs/mdba.schema.json
	$(BIN)/python tests/test_settings.py

# A fresh resolution in a folder of its own; the comment lines at the top are kept.
constraints: $(VENV)/.python ## renew constraints.txt with the newest versions that fit together
	fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT \
	&& $(PYTHON) -m venv $$fresh && $$fresh/bin/python -m pip install --quiet ".[all,dev]" \
	&& $$fresh/bin/python -m pip check \
	&& { grep '^#' constraints.txt; $$fresh/bin/python -m pip freeze --exclude mdba-checks \
	     | tr 'A-Z_' 'a-z-' | LC_ALL=C sort -t= -k1,1; } > constraints.txt.new \
	&& mv constraints.txt.new constraints.txt

clean: ## remove .venv and everything else that was made here
	rm -rf $(VENV) $(VENV)-* build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The files in .venv whose names begin with a dot say which step was finished.
$(VENV)/.browser: scripts/install-browser.sh $(VENV)/.python
	@sh scripts/install-browser.sh
	@touch $@

$(VENV)/.datacontract: scripts/install-datacontract.sh $(VENV)/.python
	@PYTHON=$(BIN)/python sh scripts/install-datacontract.sh
	@touch $@

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "mdba-checks needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.12" >&2; \
	  exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.base: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing the base into $(VENV); the first time takes a minute or two."
	$(PIP) -e ".[report]"
	@touch $@

$(VENV)/.all: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing everything into $(VENV); the first time takes a few minutes."
	$(PIP) -e ".[all,dev]"
	@touch $@ $(VENV)/.base

$(OLDEST)/.installed: pyproject.toml constraints-oldest.txt
	@echo "Installing the oldest supported versions into $(OLDEST); this takes a minute or two."
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python $(INSTALL) -c constraints-oldest.txt -e ".[gx,prefect,report,sql,excel,test]"
	@touch $@
