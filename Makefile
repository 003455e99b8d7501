# The two commands of the README, and what a developer needs besides.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint coverage wheel clean

demo: .venv/core  ## every policy on the embedded workload, compared in a table
	$(BIN)/bfenv evaluate

test: .venv/all  ## the whole suite
	$(BIN)/bfenv evaluate --format csv > /dev/null  # compile once, not once per worker
	$(BIN)/python -m pytest -n auto --durations 10

lint: .venv/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

coverage: .venv/all  ## lines of the kernels that the small scenarios reach, uncompiled
	BFENV_TRACES= NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --source=bfenv/core,baselines \
		--omit="*/core/files.py,*/core/jobs.py,*/core/kernel.py,*/core/policy.py" \
		-m pytest -q tests/core tests/baselines
	$(BIN)/python -m coverage report --show-missing --fail-under=100

wheel: .venv/all
	$(BIN)/python -m build

clean:
	rm -rf .venv dist

.venv/core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# torch first and pinned: an unpinned one may bring several GB for a GPU that is not there
.venv/all: .venv/core
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[agents,dev]"
	touch $@
