# The two commands of the README, and what a developer needs besides.
PYTHON ?= python3
BIN := .venv/bin
# One worker more than cores: many tests wait for processes they have started.
WORKERS = $$($(BIN)/python -c "import joblib; print(joblib.cpu_count() + 1)")
SOURCES := $(shell find bfenv baselines agents -name '*.py')

.PHONY: demo test slow thorough sample quick oldest clients lint bounds coverage docs links pictures wheel clean

demo: .venv/core  ## a handful of policies on the embedded workload, compared in a table
	$(BIN)/bfenv evaluate -p fcfs -p easy -p conservative -p los -p easy-sjf -p multiqueue

test: .venv/all  ## nine tenths of the tests, with a third of hypothesis' examples; five minutes on two cores
	@# Tests start hundreds of processes; with bytecode on disk, each starts faster.
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10 \
		-m "not (slow or thorough) and (not uncompiled or logs)"

slow: .venv/all  ## the others: those of tests/slow.txt, and small cases of many settings; after make test, nine minutes
	@# Compiled, each of many settings would take longer to compile than to run; the sample does that.
	@# numpy warns of the undefined values that scores may have, and compiled code does not.
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(WORKERS) -q -W ignore::RuntimeWarning \
		-m "uncompiled and not (thorough or logs)" tests/envs tests/agents tests/players/test_mirror.py \
		tests/leaderboard/test_agent_schedule.py
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10 \
		-m "slow and not thorough and (not uncompiled or logs)"

thorough: .venv/all  ## every test, with all examples; half an hour on two cores
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10 --hypothesis-profile thorough

sample: .venv/all  ## some of what only `make thorough` runs, others for each SEED
	$(BIN)/python -m pytest -n $(WORKERS) -q -m "thorough or uncompiled" \
		--hypothesis-profile thorough --sample 12 --sample-seed "$(SEED)"

quick: .venv/all  ## engine, workloads and analysis without torch, browser or real logs; a minute on two cores
	$(BIN)/python -m pytest -n auto -q \
		-m "not (slow or thorough or torch or browser or logs or dask)" -k "not fuzz" \
		tests/core tests/workloads tests/analysis tests/baselines/test_easy.py tests/baselines/test_scenarios.py

oldest: .venv/oldest  ## the quick tests of the engine with the oldest dependencies that are allowed
	BFENV_CACHE=$(abspath .venv/oldest/cache) .venv/oldest/bin/python -m pytest -n auto -q -p no:cacheprovider \
		-m "not (slow or thorough or logs)" --ignore tests/core/test_outages.py tests/core \
		tests/baselines/test_easy.py tests/envs/test_episode_source.py tests/cli/test_options.py

clients: .venv/clients  ## the scripts of docs/third_party.md with pinned libraries; one that is not installed is an error
	BFENV_CACHE=$${BFENV_CACHE:-$(abspath .venv/clients/cache)} .venv/clients/bin/python -m pytest -n auto -q \
		-p no:cacheprovider --no-skips --durations 5 tests/third_party -k "test_page or torch"

lint: .venv/all .venv/installed  ## style, types, and imports between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd .venv/installed && PYTHONPATH=../.. ../bin/lint-imports --no-cache --config ../../pyproject.toml
	cd .venv/installed && MYPYPATH=../.. ../bin/mypy --config-file ../../pyproject.toml \
		-p bfenv -p benchmarks -p reproductions
	cd .venv && MYPYPATH=installed bin/mypy --config-file= --strict --follow-imports=silent \
		../tests/typing_client.py

bounds: .venv/all  ## the tests of kernels, with an error where an index is outside of its array
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n $(WORKERS) -q -m "not thorough" tests/core \
		tests/baselines tests/envs tests/analysis tests/agents tests/players tests/reproductions tests/testing

coverage: .venv/all  ## lines of the kernels that the small scenarios reach, uncompiled
	@# Uncompiled, numpy warns of the undefined values that scores may have. A signal within coverage's
	@# own code may leave its lock closed for ever, so the test that sends some is left out.
	BFENV_TRACES= NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --source=bfenv/core,baselines \
		--omit="*/core/files.py,*/core/jobs.py,*/core/kernel*.py,*/core/cache_folder.py,*/core/policy.py" \
		-m pytest -q -W ignore::RuntimeWarning --hypothesis-profile thorough \
		--deselect tests/core/test_passes.py::test_signal \
		tests/core tests/baselines
	$(BIN)/python -m coverage report --show-missing --fail-under=100

docs: .venv/docs  ## the documentation site, docs/_build/html/index.html; warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees $(SPHINX) docs docs/_build/html
	$(BIN)/python -m pytest -q tests/docs/check_site.py

links: .venv/docs  ## the addresses outside of the site, listed and not fetched
	@grep -rhoE "https?://[^] )>\"']+" README.md CONTRIBUTING.md docs --include='*.md' --exclude-dir=_build | sort | uniq -c

pictures: .venv/all  ## those of the README and of the environment, docs/pictures
	$(BIN)/python docs/site/pictures.py

wheel: .venv/all
	rm -rf build
	$(BIN)/python -m build

clean:
	rm -rf .venv build dist docs/_build docs/gallery docs/generated

.venv/core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# torch first and pinned: an unpinned one may bring several GB for a GPU that is not there
.venv/docs: .venv/core
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[agents,docs]"
	touch $@

.venv/all: .venv/core
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[agents,dev]"
	touch $@ .venv/docs

.venv/oldest: pyproject.toml
	$(PYTHON) -m venv $@
	$(PYTHON) -c "import tomllib; \
		names = tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']; \
		print(*(each.split(',')[0].replace('>=', '==') for each in names), sep='\n')" > $@/oldest.txt
	$@/bin/python -m pip install --quiet --constraint $@/oldest.txt --editable . \
		pytest pytest-xdist hypothesis
	touch $@

.venv/clients: pyproject.toml tests/third_party/requirements.txt
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --requirement tests/third_party/requirements.txt --editable ".[agents]" \
		pytest pytest-xdist hypothesis
	touch $@

# Tools that read sources do not follow an editable install: give them the package as it is installed.
.venv/installed: .venv/all $(SOURCES)
	rm -rf build $@
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target $@ .
	rm -rf build
	touch $@
