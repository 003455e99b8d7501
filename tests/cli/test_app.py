"""The command line as a whole: help, wrong input, failing policies."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from bfenv.baselines import registry
from bfenv.cli import groups
from bfenv.core import distributions
from tests.cli.conftest import SWF
from tests.command_contract import *  # noqa: F403  # the tests of each command
from tests.command_contract import (
    FAILURES,
    NOT_RUN,
    check_failing_policy,
    check_workload_is_an_argument,
    commands_of,
)


def test_version(run):
    """--version prints the versions that results depend on."""
    status, out, _ = run("--version")
    assert status == 0
    assert out.startswith("bfenv ") and "numba" in out


INTERRUPT = """
import os, signal

class Field:
    def __set_name__(self, owner, name):  # Python 3.11 turns what it raises into a RuntimeError
        os.kill(os.getpid(), signal.SIGINT)

class Owner:
    field = Field()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("module", ["gymnasium", "typer", "numba"])
def test_interrupted_import(tmp_path, module):
    """Ctrl-C while the command imports ends it with one line and status 130."""
    (tmp_path / f"{module}.py").write_text(INTERRUPT)
    # A shell's background jobs, and their children, ignore the signal otherwise.
    program = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL);"
        "os.execv(sys.executable, [sys.executable, '-m', 'bfenv', 'evaluate'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"BFENV_COMPILE": "now"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "bfenv: interrupted\n")


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("gantt", "name a policy by --policy ./mine, a workload by --workload"),
        (
            "evaluate",
            "name a policy by --policy ./mine, a workload by --workload, a program by --player",
        ),
    ],
)
def test_argument_too_many(run, command, hint):
    """An argument where a command takes none is answered with the options that may be meant."""
    status, _, err = run(*command.split(), "./mine")
    assert (status, err) == (2, f"bfenv: {command} takes no argument './mine'; {hint}\n")


@pytest.mark.parametrize("log", ["a.swf", "a.swf.gz", "a.swf.gz:outages=find"])
def test_log_as_argument(run, log):
    """A log where a command takes no argument is meant as its workload, not as a policy."""
    _, _, err = run("gantt", log)
    hint = f"name a workload by --workload {log}, a policy by --policy"
    assert err == f"bfenv: gantt takes no argument '{log}'; {hint}\n"


@pytest.mark.parametrize("command", ["workloads info"])
@pytest.mark.parametrize("option", ["-w", "--workload"])
def test_workload_is_an_argument(run, command, option):
    """Where the workload is an argument, one that is given as an option is told so."""
    check_workload_is_an_argument(run, command, option)


def test_short_help(run):
    """-h is --help, of every command."""
    for words in ([], ["evaluate"], ["leaderboard", "run"]):
        assert run(*words, "-h") == run(*words, "--help")


def test_no_arguments(run):
    """Without arguments, the help is shown, with status 2."""
    for arguments in ([], ["leaderboard"]):
        status, out, _ = run(*arguments)
        assert status == 2
        assert "Usage: bfenv" in out


COMMANDS = commands_of("")
GROUPS = ["", *(name for name in COMMANDS if any(one.startswith(f"{name} ") for one in COMMANDS))]


@pytest.fixture(params=COMMANDS)
def command(request):
    """Each command of this distribution."""
    return request.param


def test_walk():
    """The app is walked to its ends, and each command is of one distribution."""
    assert len(COMMANDS) > 10 and {"evaluate", "leaderboard run", "workloads"} <= set(COMMANDS)
    others = [name for name, summary in groups.COMMANDS.items() if summary.extra]
    assert not set(COMMANDS) & set(others) and {*COMMANDS, *others} >= NOT_RUN


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("report site.swf.gz", "`bfenv report` comes with bfenv-site"),
        ("workloads import log.txt", "`bfenv workloads import` comes with bfenv-site"),
        ("leaderboard verify board", "`bfenv leaderboard verify` comes with bfenv-judge"),
        ("train", "`bfenv train` comes with bfenv-lab"),
        ("train", "pip install ./packages/bfenv-lab in a checkout"),
        ("evaluate -w lublin:jobs=9 -p slurm", "the policy slurm comes with bfenv-site"),
        ("evaluate -w lublin:jobs=9 -p agent:rlscheduler(path=x)", "the agent rlscheduler comes"),
        ("evaluate -w lublin:jobs=9 --player true", "--player comes with bfenv-judge"),
    ],
)
def test_not_installed(run, monkeypatch, words, answer):
    """What a distribution has that is not installed is answered with the line that installs it."""
    monkeypatch.setattr(
        distributions,
        "entry_points",
        lambda group: [e for e in entry_points(group=group) if e.value.startswith("bfenv.")],
    )
    distributions.offers.cache_clear()
    registry._of_distribution.cache_clear()
    try:
        status, _, err = run(*words.split())
    finally:
        distributions.offers.cache_clear()
        registry._of_distribution.cache_clear()
    assert (status, err.count("\n")) == (2, 1)
    assert answer in err and 'pip install "bfenv[' in err


@pytest.mark.parametrize("group", GROUPS)
def test_lists_of_commands(run, group):
    """No line of a list of commands is cut at 80 columns."""
    out = run(*group.split(), "--help", columns=80)[1]
    lines = re.split("Commands:|More:", out)[-1].splitlines()
    assert lines and not [line for line in lines if line.endswith("...")]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["evaluate", "-p", "esay"], "'esay'"),
        (["evaluate", "-w", "lubin"], "'lubin'"),
        (["evaluate", "-w", "no/such.swf"], "no/such.swf"),
        (["evaluate", "--load", "0"], "load"),
        (["evaluate", "--load", "nan"], "nan"),
        (["evaluate", "--load", "much"], "--load"),
        (["evaluate", "--seeds", "0"], "--seeds"),
        (["evaluate", "--seeds", "two"], "'two'"),
        (["evaluate", "--format", "xml"], "'xml'"),
        (["evaluate", "easy"], "--policy easy"),
        (["workloads", "fetch", "nosuch", "KTH"], "'KTH'"),
        (["evaluate", "--bogus"], "--bogus"),
        (["evaluate", "-p", "easy(order=fcfs"], "'easy(order=fcfs'"),
        (["evaluate", "-p", "easy(order=[])"], "'[]'"),
        (["evaluate", "-p", "easy(order={[]:1})"], "order"),
        (["evaluate", "-p", "easy(lookahead=10000000000000000000000)"], "10000000000000000000000"),
        (["workloads", "simulate", "-o", "no/such/folder.csv"], "no/such"),
        (["evaluate", "--jobs", "0"], "jobs"),
        (["evaluate", "--backend", "dusk"], "'dusk'"),
        (["evaluate", "--backend", "dask"], "scheduler"),
        (["evaluate", "--shard", "4/3"], "'4/3'"),
        (["leaderboard", "run", "-o", "b"], "--policy"),
        (["leaderboard", "run", "-p", "easy"], "--out"),
        (["leaderboard", "run", "-o", "b", "-p", "esay"], "'esay'"),
        (["leaderboard", "run", "-o", "b", "-a", "randm"], "'randm'"),
        (["leaderboard", "run", "-o", "b", "-a", "no.zip"], "no.zip"),
        (["leaderboard", "run", "-o", "b", "-a", "EMPTY.zip"], "--trust"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "-s", "smok"], "'smok'"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "--seeds", "9"], "seeds"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "--timeout", "0"], "--timeout"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "-j", "0"], "jobs"),
        (["leaderboard", "run", "-o", "EMPTY", "-p", "easy"], "EMPTY"),
        (["nonsense"], "nonsense"),
        (["workloads", "simulate", "-w", "MALFORMED"], "MALFORMED:2: field 4"),
        (["workloads", "simulate", "-w", "EMPTY"], "EMPTY"),
        (["workloads", "simulate", "-w", "BROKEN.gz"], "BROKEN.gz"),
    ],
)
def test_wrong_input(run, tmp_path, monkeypatch, arguments, value):
    """Wrong input is one line that names it, status 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MALFORMED").write_text(SWF.replace("0 -1 4 2", "0 -1 x 2"))
    (tmp_path / "EMPTY").write_text("; MaxProcs: 4\n")
    (tmp_path / "EMPTY.zip").write_bytes(b"")
    (tmp_path / "BROKEN.gz").write_bytes(b"\x1f\x8b" + b"\0" * 20)
    before = sorted(tmp_path.iterdir())
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("bfenv: ") and err.count("\n") == 1
    assert value in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        "workloads simulate --workload lublin:jobs=20",
        "gantt --out gantt.png --workload lublin:jobs=20",
        "evaluate --workload lublin:jobs=20",
        "evaluate --workload lublin:jobs=20 --jobs 2",
    ],
)
@pytest.mark.parametrize(("body", "error"), FAILURES)
def test_failing_policy(run, tmp_path, monkeypatch, command, body, error):
    """A policy that fails is one line with its name, the error and its place."""
    check_failing_policy(run, tmp_path, monkeypatch, command, body, error)


def test_light_imports():
    """A comparison, and the functions that draw, load neither torch nor a plotting library."""
    program = (
        "import sys, runpy; sys.argv = ['bfenv', 'evaluate', '-p', 'easy', '-f', 'csv']\n"
        "import bfenv.analysis.plots\n"
        "from bfenv.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert not e.code\n"
        "heavy = {'torch', 'stable_baselines3', 'matplotlib', 'scipy.stats'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ, capture_output=True)


def test_help_imports_little():
    """The help of no command imports numba or a learner, nor does `import bfenv`."""
    program = (
        "import sys, typer.main\n"
        "from bfenv.cli.app import app\n"
        "from bfenv.core.distributions import NotInstalledError\n"
        "def check(command, name):\n"
        "    context = command.make_context(name, [], resilient_parsing=True)\n"
        "    assert command.get_help(context)\n"
        "    heavy = {'numba', 'joblib', 'torch', 'rich.progress'} & set(sys.modules)\n"
        "    assert not heavy, (name, heavy)\n"
        "    names = command.list_commands(context) if hasattr(command, 'list_commands') else ()\n"
        "    count = 1\n"
        "    for each in names:\n"
        "        try: subcommand = command.get_command(context, each)\n"
        "        except NotInstalledError: continue\n"
        "        count += check(subcommand, each)\n"
        "    return count\n"
        "print(check(typer.main.get_command(app), 'bfenv'))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert int(run.stdout) > len(COMMANDS) > 10


def test_list_of_commands():
    """The help of `bfenv` lists each command with the first sentence of its help."""
    for name, summary in groups.COMMANDS.items():
        if not summary.extra:
            assert groups.load_command(name).get_short_help_str(100) == summary.text
