# The two commands of the README, and what a developer needs besides.
PYTHON ?= python3
BIN := .venv/bin
WORKERS = $$($(BIN)/python -c "import joblib; print(joblib.cpu_count())")
# Tests start hundreds of processes; with bytecode on disk, each starts faster.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10
PACKAGES := packages/bfenv-site packages/bfenv-judge packages/bfenv-lab
SOURCES := $(shell find bfenv baselines agents $(PACKAGES) -name '*.py' -not -path '*/tests/*')
# Extras that tests need. The distributions are installed from here, so the extras of their names are not.
SITE := --editable "packages/bfenv-site[parquet,plot,when]"
JUDGE := --editable "packages/bfenv-judge[video]"
LAB := --editable packages/bfenv-lab

.PHONY: demo train test compiled test-site test-judge test-lab test-together test-all thorough sample quick oldest clients lint bounds coverage \
	docs links pictures wheel clean

demo: .venv/core  ## six policies on 1,500 jobs, compared in a table
	$(BIN)/bfenv evaluate --workload lublin:jobs=1500,load=0.9 \
		-p fcfs -p easy -p conservative -p los -p easy-sjf -p multiqueue

train: .venv/agents  ## train a network for two minutes, and compare it with policies on unseen jobs
	BFENV_COMPILE=now $(BIN)/python -W ignore -m bfenv.train_sb3 --out runs/train

test: .venv/test  ## the tests of bfenv, with a third of hypothesis' examples
	$(PYTEST) -m "not thorough" tests

test-site: .venv/site  ## the tests of bfenv-site
	$(PYTEST) -m "not thorough" packages/bfenv-site/tests

test-judge: .venv/judge  ## the tests of bfenv-judge
	$(PYTEST) -m "not thorough" packages/bfenv-judge/tests

test-lab: .venv/lab  ## the tests of bfenv-lab
	$(PYTEST) -m "not thorough" packages/bfenv-lab/tests

test-together: .venv/all  ## the tests that need all four, such as those of the documentation
	$(PYTEST) -m "together and not thorough" tests

test-all: test test-site test-judge test-lab test-together  ## the tests of all four

compiled: .venv/test  ## the engine, the policies and the environment, with kernels compiled before their first call
	BFENV_COMPILE=now $(PYTEST) -m "not thorough" tests/core tests/baselines/test_scenarios.py \
		tests/baselines/test_contract.py tests/envs/test_backfill.py tests/envs/test_threads.py \
		tests/envs/test_reward.py tests/envs/test_sb3.py

thorough: .venv/all  ## every test of all four, with all examples, then those of kernels as `make bounds` runs them; an hour on two cores
	$(PYTEST) --hypothesis-profile thorough tests
	for package in $(PACKAGES); do $(PYTEST) --hypothesis-profile thorough $$package/tests || exit 1; done
	$(MAKE) bounds

sample: .venv/test  ## some of what only `make thorough` runs, others for each SEED
	BFENV_COMPILE=now $(BIN)/python -m pytest -n $(WORKERS) -q -m thorough \
		--hypothesis-profile thorough --sample 12 --sample-seed "$(SEED)" tests

quick: .venv/test  ## engine, workloads and analysis without torch, browser or real logs; a minute on two cores
	$(BIN)/python -m pytest -n auto -q -m "not (thorough or torch or browser or logs or dask)" \
		tests/core tests/workloads tests/analysis tests/baselines/test_easy.py tests/baselines/test_scenarios.py

oldest: .venv/oldest  ## the quick tests of the engine with the oldest dependencies that are allowed
	BFENV_CACHE=$(abspath .venv/oldest/cache) .venv/oldest/bin/python -m pytest -n auto -q -p no:cacheprovider \
		-m "not (thorough or logs)" --ignore tests/core/test_outages.py tests/core \
		tests/baselines/test_easy.py tests/envs/test_episode_source.py tests/cli/test_options.py

clients: .venv/clients  ## the scripts of docs/third_party.md with pinned libraries; one that is not installed is an error
	BFENV_CACHE=$${BFENV_CACHE:-$(abspath .venv/clients/cache)} .venv/clients/bin/python -m pytest -n auto -q \
		-p no:cacheprovider --no-skips --durations 5 tests/third_party -k "test_page or torch"

lint: .venv/all .venv/installed  ## style, types, and imports between the rooms and the distributions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd .venv/installed && PYTHONPATH=../.. ../bin/lint-imports --no-cache --config ../../pyproject.toml
	cd .venv/installed && MYPYPATH=../.. ../bin/mypy --config-file ../../pyproject.toml \
		-p bfenv -p bfenv_site -p bfenv_judge -p bfenv_lab -p benchmarks -p reproductions
	cd .venv && MYPYPATH=installed bin/mypy --config-file= --strict --follow-imports=silent \
		../tests/typing_client.py

bounds: .venv/all  ## the tests of kernels, compiled, with an error where an index is outside of its array
	BFENV_COMPILE=now NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n $(WORKERS) -q -m "not thorough" tests/core \
		tests/baselines tests/envs tests/analysis tests/agents tests/testing
	for room in site/tests/slurm site/tests/futures judge/tests lab/tests; do \
		BFENV_COMPILE=now NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n $(WORKERS) -q -m "not thorough" \
		packages/bfenv-$$room || exit 1; done

coverage: .venv/all  ## lines of the kernels that the small scenarios reach, uncompiled
	@# Uncompiled, numpy warns of the undefined values that scores may have. A signal within coverage's
	@# own code may leave its lock closed for ever, so the test that sends some is left out.
	BFENV_TRACES= NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --source=bfenv/core,baselines \
		--omit="*/core/files.py,*/core/jobs.py,*/core/*kernel*.py,*/core/cache_folder.py,*/core/policy.py" \
		-m pytest -q -W ignore::RuntimeWarning --hypothesis-profile thorough \
		--deselect tests/core/test_passes.py::test_signal \
		tests/core tests/baselines
	$(BIN)/python -m coverage report --show-missing --fail-under=100

docs: .venv/all  ## the documentation site, docs/_build/html/index.html; warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees $(SPHINX) docs docs/_build/html
	$(BIN)/python -m pytest -q tests/docs/check_site.py

links: .venv/all  ## the addresses outside of the site, listed and not fetched
	@grep -rhoE "https?://[^] )>\"']+" README.md CONTRIBUTING.md docs --include='*.md' --exclude-dir=_build | sort | uniq -c

pictures: .venv/all  ## those of the README and of the environment, docs/pictures
	PYTHONPATH=. $(BIN)/python docs/site/pictures.py

wheel: .venv/all  ## the wheels of all four, installed in an empty environment
	rm -rf dist build packages/*/build
	for package in . $(PACKAGES); do \
		$(BIN)/python -m build --wheel --no-isolation --outdir dist $$package > /dev/null || exit 1; done
	$(BIN)/python -m pytest -q tests/check_wheels.py
	rm -rf build packages/*/build

clean:
	rm -rf .venv build dist docs/_build docs/gallery docs/generated packages/*/build packages/*/*.egg-info

.venv/core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# torch first and pinned: an unpinned one may bring several GB for a GPU that is not there
.venv/agents: .venv/core
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[agents]"
	touch $@

.venv/test: .venv/agents
	$(BIN)/python -m pip install --quiet --editable ".[agents,dev]"
	touch $@

.venv/site: .venv/test packages/bfenv-site/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . $(SITE)
	touch $@

.venv/judge: .venv/test packages/bfenv-judge/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . $(JUDGE)
	touch $@

.venv/lab: .venv/test packages/bfenv-lab/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . $(LAB)
	touch $@

.venv/all: .venv/site .venv/judge .venv/lab
	touch $@

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

# Tools that read sources do not follow an editable install: give them the packages as they are installed.
.venv/installed: .venv/all $(SOURCES)
	rm -rf build packages/*/build $@
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target $@ . $(PACKAGES:%=./%)
	rm -rf build packages/*/build
	touch $@
