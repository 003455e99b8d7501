"""What tests share: small traces, their naive form, real logs, and how many examples are drawn."""

import gc
import os
import random
import shutil
from contextlib import nullcontext
from pathlib import Path

# Read when torch and numpy are imported. With a worker per core, threads beside it wait for each
# other: training on two cores takes five times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Small cases run faster than they compile. Tests marked `compiled` or `logs` compile what they use.
os.environ.setdefault("BFENV_COMPILE", "never")

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cache_folder import cache_root
from bfenv.core.distributions import PACKAGES, is_installed
from bfenv.core.jobs import Outage
from bfenv.core.kernel import NOW, compiling
from bfenv.envs.batch import EnvBatch
from tests.oracles import machine as naive
from tests.site_log import write_site

ROOT = Path(__file__).resolve().parent.parent
pytest.register_assert_rewrite(
    "tests.baselines.trial_cases",
    "tests.command_contract",
    "tests.envs.vectors",
    "tests.policy_contract",
)

# Most objects of this process belong to modules, and are never garbage. By default, Python looks
# through them so often that this takes 4 % of the time.
gc.set_threshold(10_000, 20, 50)
cache_root()  # is kept, so that a test that names another cache, for logs, compiles no kernel again

settings.register_profile(
    "bfenv",
    deadline=None,  # the first example of a kernel may have to compile it
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile("thorough", settings.get_profile("bfenv"))
settings.load_profile("bfenv")
COMPILED = os.environ["BFENV_COMPILE"] == "now"  # for tests that are larger then
DRAWN = 3  # one of so many examples, without the profile "thorough"
FEWEST = 10  # examples


@st.composite
def small_traces(draw, jobs=8, processors=6, requested_starts=False, outages=False):
    """A Trace of a few jobs with many ties in time and size.

    With outages, it has up to three of part or all of the machine, one after the other.
    """
    machine = draw(st.integers(1, processors))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 4),  # gap
                st.integers(1, machine),  # size
                st.integers(1, 8),  # estimate
                st.integers(0, 7),  # estimate - runtime
                st.integers(0, 12) if requested_starts else st.just(0),
                st.integers(-1, 2),  # user
            ),
            min_size=1,
            max_size=jobs,
        )
    )
    submit, time = [], 0
    for gap, *_ in rows:
        time += gap
        submit.append(time)
    return bfenv.make_trace(
        submit,
        [row[1] for row in rows],
        [max(1, row[2] - row[3]) for row in rows],
        machine,
        estimate=[row[2] for row in rows],
        requested_start=[row[4] for row in rows],
        user=[row[5] for row in rows],
        outages=draw(_outages(machine)) if outages else (),
    )


@st.composite
def _outages(draw, machine):
    rows = st.tuples(st.integers(0, 12), st.integers(1, 9), st.integers(1, 6))
    time, outages = 0, []
    for gap, length, out in draw(st.lists(rows, max_size=3)):
        begin = time + gap
        time = begin + length
        outages.append(Outage(begin, time, min(out, machine)))
    return tuple(outages)


def stretched(trace, factor, **options):
    """The trace with all times `factor` times as long, so that corrections have their say."""
    jobs = trace.jobs
    options = {"user": jobs.user, "requested_start": jobs.requested_start * factor} | options
    times = (jobs.submit * factor, jobs.size, trace.runtime * factor, trace.processors)
    return bfenv.make_trace(*times, estimate=jobs.estimate * factor, **options)


def as_naive(trace):
    """The trace's jobs for tests.oracles.machine, and the processors."""
    columns = (
        trace.jobs.submit,
        trace.jobs.size,
        trace.jobs.estimate,
        trace.runtime,
        trace.jobs.priority,
        trace.jobs.requested_start,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [naive.Job(*row) for row in rows], trace.processors


def log(name, **options):
    """Load a real log from $BFENV_TRACES, or skip the test if that is not set."""
    folder = os.environ.get("BFENV_TRACES")
    if not folder:
        pytest.skip("BFENV_TRACES names no folder of logs")
    return bfenv.load_workload(str(Path(folder) / f"{name}.swf.gz"), **options)


def pytest_addoption(parser):
    """Options of `make sample` and `make clients`."""
    parser.addoption("--sample", type=int, help="run only so many of the chosen tests")
    parser.addoption("--sample-seed", default="0", help="which of them")
    parser.addoption("--no-skips", action="store_true", help="fail if a test was skipped")


def pytest_sessionfinish(session):
    """Let a run with `--no-skips` fail that skipped a test."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--no-skips") and reporter and "skipped" in reporter.stats:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_itemcollected(item):
    """Mark tests that call `log` with `logs`, and those of the documentation with `together`."""
    if item.path.is_relative_to(ROOT / "tests" / "docs"):
        item.add_marker("together")
    code = getattr(getattr(item, "function", None), "__code__", None)
    if code and "log" in code.co_names and item.function.__globals__.get("log") is log:
        item.add_marker("logs")


def pytest_runtest_setup(item):
    """Skip tests that need distributions which are not installed."""
    if item.get_closest_marker("together"):
        for extra in PACKAGES:
            if not is_installed(extra):
                pytest.skip(f"needs bfenv-{extra}, as `make test-together` installs it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Compile what tests marked `compiled` or `logs` use before it is called."""
    if item.get_closest_marker("compiled") or item.get_closest_marker("logs"):
        with compiling(NOW):
            return (yield)
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Draw fewer examples, but with the profile "thorough", and fewer tests with `--sample`.

    Tests that compile come first: one worker runs them, and no other worker waits for their code.
    """
    items.sort(key=lambda item: item.get_closest_marker("compiled") is None)
    if config.getoption("--hypothesis-profile") != "thorough":
        for test in {getattr(item, "function", None) for item in items}:
            if is_hypothesis_test(test):
                full = test._hypothesis_internal_use_settings
                examples = max(full.max_examples // DRAWN, min(full.max_examples, FEWEST))
                test._hypothesis_internal_use_settings = settings(full, max_examples=examples)
    count = config.getoption("--sample")
    if count is not None and len(items) > count:
        chosen = set(
            random.Random(config.getoption("--sample-seed")).sample(range(len(items)), count)
        )
        config.hook.pytest_deselected(items=[x for i, x in enumerate(items) if i not in chosen])
        items[:] = [item for i, item in enumerate(items) if i in chosen]


@pytest.fixture
def compiled_environments(monkeypatch):
    """Environments without optional columns run compiled; the mode of all else does not change.

    Many tests share the machine code of these environments. The code of other environments and of
    policies takes longer to compile than a test takes to run uncompiled.
    """

    def compiled(method):
        def call(batch, *arguments):
            rules = batch.rules
            columns = (rules.user_column, rules.priority_column, rules.start_column)
            with compiling(NOW) if columns == (None, None, None) else nullcontext():
                return method(batch, *arguments)

        return call

    for name in ("_open", "step"):
        monkeypatch.setattr(EnvBatch, name, compiled(getattr(EnvBatch, name)))


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A folder with the files of the wheel, see `tests.test_installation`: what users have."""
    folder = tmp_path_factory.mktemp("site")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "bfenv", folder / "bfenv", ignore=ignore)
    for name in ("baselines", "agents"):
        shutil.copytree(ROOT / name, folder / "bfenv" / name, ignore=ignore)
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The log of a site that ran its jobs first come, first served."""
    return write_site(tmp_path_factory.mktemp("site") / "site.swf")


@pytest.fixture(scope="session")
def backfilling_site(tmp_path_factory):
    """A site whose log EASY repeats well enough for a verdict."""
    return write_site(tmp_path_factory.mktemp("site") / "site.swf", policy="conservative")
