"""Policies of one's own: made of functions, registered, found by name, imported, pickled."""

import os
import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint

import pytest

import bfenv
from bfenv import baselines
from bfenv.baselines import registry
from bfenv.baselines.registry import find_policy
from bfenv.core import distributions
from bfenv.core.cluster import may_start, start, waiting
from bfenv.core.events import advance
from bfenv.core.kernel import kernel


@pytest.fixture(autouse=True)
def no_trace_of_it_remains(monkeypatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


TRACE = bfenv.make_trace([0, 0, 0, 0], [2, 2, 1, 2], [4, 3, 2, 1], 2)


def shortest(cluster, jobs):
    """Shortest estimate first, whatever fits.

    More is said below.
    """
    for job in sorted(waiting(cluster), key=lambda job: jobs.estimate[job]):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def counting(cluster, jobs, memory):
    memory.append(len(memory))
    shortest(cluster, jobs)


def lottery(cluster, jobs, generator):
    for job in generator.permutation(waiting(cluster)):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


@bfenv.policy(name="decorated-lottery", stochastic=True)
def decorated(cluster, jobs, generator):
    lottery(cluster, jobs, generator)


@kernel
def first_fit(cluster, jobs):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


@kernel
def decide(cluster, jobs, memory):
    first_fit(cluster, jobs)


@kernel
def run(cluster, jobs, truth, memory):
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def with_limit(limit=2):
    return bfenv.Policy(name=f"limit-{limit}", decide=decide, summary=f"at most {limit}")


easy_itself = registry.ALL["easy"]


def test_function():
    """A function of cluster and jobs is a policy, itself or by its name."""
    for named in (shortest, f"{__name__}:shortest", bfenv.policy(shortest), "shortest"):
        assert bfenv.simulate(TRACE, named).start.tolist() == [6, 3, 1, 0]


def test_decorator():
    """The decorator registers a policy by the name of the function."""
    made = bfenv.policy(shortest, source="me")
    assert made == bfenv.policies()["shortest"] == find_policy("shortest")
    assert (made.name, made.summary, made.source) == (
        "shortest",
        "Shortest estimate first, whatever fits.",
        "me",
    )
    assert bfenv.policy(first_fit).name == "first-fit"
    assert list(bfenv.policies())[-2:] == ["shortest", "first-fit"]
    assert find_policy(f"{__name__}:shortest").name == f"{__name__}:shortest"


def test_redefinition():
    """Defining a policy again replaces it, but no other policy can be replaced."""
    bfenv.policy(shortest, summary="old")
    bfenv.policy(shortest, summary="new")
    assert bfenv.policies()["shortest"].summary == "new"
    for taken in ("easy", "shortest"):
        with pytest.raises(bfenv.PolicyError, match=f"'{taken}'"):
            bfenv.policy(first_fit, name=taken)


def test_kernel():
    """A kernel is a policy, with a compiled loop or without."""
    loops = bfenv.policy(first_fit), bfenv.policy(decide, run=run, name="compiled")
    one, two = (bfenv.simulate(TRACE, policy).start.tolist() for policy in loops)
    assert one == two == [0, 4, 7, 9]


@pytest.mark.parametrize(
    ("name", "kind", "named"),
    [
        ("nosuchmodule:f", bfenv.PolicyError, "nosuchmodule"),
        ("os:nosuch", bfenv.PolicyError, "os:nosuch.*'nosuch'"),
        ("os:sep", bfenv.PolicyError, "os:sep"),
        ("./mine.py:never", bfenv.PolicyError, "mine.py:never.* mine:never"),
        ("sjf(order=saf)", bfenv.PolicyError, "sjf has no options.* queue, easy, .*agent"),
        ("agent", bfenv.PolicyError, r"agent\(name=...\)"),
        ("agent:formula(guard=2)", bfenv.PolicyError, "^agent:formula has no options$"),
        (":", bfenv.PolicyError, ":"),
        ("os:", bfenv.PolicyError, "os:"),
        ("os:sep(a=1)", bfenv.PolicyError, "os:sep.* str"),
        ("os:getcwd()", bfenv.PolicyError, "os:getcwd.* str"),
        ("los(lookahead=)", bfenv.PolicyError, "lookahead="),
        ("los(lookahead=1e300)", bfenv.PolicyError, "1e300"),
        ("los(lookahead=0)", bfenv.PolicyError, "lookahead.* 0"),
        (f"{__name__}:easy_itself(a=1)", bfenv.PolicyError, "easy_itself.* Policy"),
        (f"{__name__}:with_limit(most=3)", bfenv.PolicyError, "'most'.* limit"),
        (f"{__name__}:shortest()", bfenv.PolicyError, "'cluster'"),
        (3, bfenv.PolicyError, "3"),
        (None, bfenv.PolicyError, "None"),
        ("json:dumpz", bfenv.PolicyError, r"did you mean dump or dumps"),
        ("easy(ordr=sjf)", bfenv.PolicyError, r"'ordr'; did you mean order\?$"),
        ("easy(order=sjff)", bfenv.PolicyError, r"unknown order 'sjff'; did you mean sjf\?$"),
        ("easy(order=zzz)", bfenv.PolicyError, "'zzz'; known are fcfs, .* expressions in submit"),
        ("easy(order=runtime)", bfenv.PolicyError, "'runtime'; runtimes are not known before"),
        ("easy(order=-runtime)", bfenv.PolicyError, "at column 2 .*; runtimes are not known"),
        (
            "easy(order=size * estimat)",
            bfenv.PolicyError,
            r"'estimat', at column 8 of 'size \* estimat'; did you mean estimate",
        ),
        ("x" * 300, bfenv.UnknownNameError, "'xxx"),  # no file has so long a name
        ("eazy", bfenv.UnknownNameError, "'eazy'.* easy"),
        ("eazy(order=sjf)", bfenv.UnknownNameError, "'eazy'.* easy"),
    ],
)
def test_wrong_name(name, kind, named):
    """An error about a name without a policy says what was given, and what is right."""
    with pytest.raises(kind, match=named):
        find_policy(name)


class Entries:
    """Installed packages that offer a Policy, a family, and what cannot be imported."""

    def __init__(self, **values):
        self.entries = [EntryPoint(name, value, "bfenv.policies") for name, value in values.items()]

    def __call__(self, group):
        assert group == "bfenv.policies"
        return self.entries


@pytest.fixture
def installed(monkeypatch):
    entries = Entries(
        theirs=f"{__name__}:easy_itself", limit=f"{__name__}:with_limit", broken="nosuchmodule:f"
    )
    monkeypatch.setattr(distributions, "entry_points", entries)
    distributions.offers.cache_clear()
    yield
    distributions.offers.cache_clear()


def test_entry_points(installed):
    """Entry points of the group "bfenv.policies" are found by name, and imported only then."""
    assert find_policy("theirs") is easy_itself
    assert find_policy("limit(limit=5)").name == "limit-5"
    assert find_policy("easy").name == "easy"
    with pytest.raises(bfenv.PolicyError, match="nosuchmodule"):
        find_policy("broken")
    with pytest.raises(bfenv.UnknownNameError, match="theirs"):
        find_policy("their")


def test_families(installed, monkeypatch):
    """Families are those of this room and installed ones.

    An installed Policy is not one; what cannot be imported is an error that names it.
    """
    with pytest.raises(bfenv.PolicyError, match="nosuchmodule"):
        registry.families()
    monkeypatch.delitem(distributions.offers("bfenv.policies"), "broken")
    assert set(registry.families()) == {*registry.FAMILIES, "limit"}


def test_agent_family():
    """Agents are a family of the installed package.

    The room of agents is above this one, and is known by its entry points alone.
    """
    assert "agent" in registry.families()


def test_distinct_names():
    """No two policies or families share a name.

    A name lost in the mapping would be a policy nothing could find.
    """
    policies = [policy.name for file in registry.FILES for policy in file.POLICIES]
    assert sorted(policies) == sorted(registry.ALL)
    families = [family for file in registry.FILES for family in file.FAMILIES]
    assert list(registry.FAMILIES.values()) == families


def test_registered_files():
    """Each module of the room that makes a Policy at import is in FILES, or has nothing to add."""
    known = {policy.decide for policy in registry.ALL.values()}
    for found in pkgutil.walk_packages(baselines.__path__, "bfenv.baselines."):
        module = import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, bfenv.Policy):
                assert value.decide in known, found.name


def test_default_options():
    """Every option of a family at its default is left out of the name of the policy.

    The name of a made policy is the expression that makes it.
    """
    for name, family in registry.FAMILIES.items():
        made = family()
        assert made.name in (name, f"{name}()")
        assert find_policy(f"{name}()").name == made.name


def test_function_of_options():
    """A function of a module makes policies from options, named by the expression."""
    for options, limit in (("limit=7", 7), ("", 2)):
        made = find_policy(f"{__name__}:with_limit({options})")
        assert made.name == f"{__name__}:with_limit({options})"
        assert made.summary == f"at most {limit}"


def test_pickles():
    """A decorated policy is pickled by its name, and others by their parts."""
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    named = find_policy(f"{__name__}:decorated")
    assert named.name == f"{__name__}:decorated"
    assert pickle.loads(pickle.dumps(named)) == named
    plain = find_policy(shortest)
    assert pickle.loads(pickle.dumps(plain)) == plain
    assert pickle.loads(pickle.dumps(find_policy("easy"))).name == "easy"


MODULE = """
import bfenv
from bfenv.core.cluster import may_start, start, waiting

@bfenv.policy
def shortest(cluster, jobs):
    for job in sorted(waiting(cluster), key=lambda job: jobs.estimate[job]):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)
"""


def test_current_folder(tmp_path):
    """The command finds modules of the current folder, which shadow none of Python's."""
    (tmp_path / "own_policy.py").write_text(MODULE)
    (tmp_path / "csv.py").write_text("raise SystemExit('shadowed')")
    options = "-w lublin:jobs=50,procs=8 -p own_policy:shortest -p fcfs -f csv".split()
    program = "from bfenv.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-P", "-c", program, "evaluate", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == [
        "policy",
        "own_policy:shortest",
        "fcfs",
    ]


def test_module_without_object(tmp_path, monkeypatch):
    """A module in the current folder is not a policy; the error says how to name one in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()
    for name in ("mine", "mine.py"):
        with pytest.raises(bfenv.PolicyError, match="mine.py is here: write mine:OBJECT"):
            bfenv.find_policy(name)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.py").touch()
    for name, advice in [
        ("sub/mine.py", "write sub.mine:OBJECT"),
        (f"{tmp_path}/sub/mine.py", f"go to the folder {tmp_path}/sub and write mine:OBJECT there"),
    ]:
        with pytest.raises(bfenv.PolicyError, match=advice):
            bfenv.find_policy(name)
