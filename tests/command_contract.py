"""What every command has to keep: tests for a module that imports them.

The module has a fixture `command`, for each of its commands.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import typer.main

from bfenv import load_workload, write_swf
from bfenv.cli import groups
from bfenv.cli.app import app
from bfenv.core.distributions import PACKAGES, NotInstalledError, is_installed
from bfenv.core.kernel import NOW, compiling

MISSING = [extra for extra in PACKAGES if not is_installed(extra)]  # distributions
# A program that serves jobs in order, and does something else at FIRST.
FCFS = """
import json, os, sys, time
queue, size, free = [], {}, 0
first = True
for line in sys.stdin:
    message, reply = json.loads(line), {}
    if message["message"] == "begin":
        queue, size, free = [], {}, message["processors"]
    elif message["message"] == "pass":
        for job, _, processors, *_ in message.get("submitted", []):
            size[job] = processors
            queue.append(job)
        killed = message.get("killed", [])
        free += sum(size[job] for job in message.get("ended", []) + killed)
        queue = sorted(queue + killed)
        starts = []
        while queue and size[queue[0]] <= free:
            free -= size[queue[0]]
            starts.append(queue.pop(0))
        reply = {"start": starts}
        if first:
            first = False
            FIRST
    print(json.dumps(reply), flush=True)
"""


def walk(command, *words):
    """The words of every command of the app that can be run."""
    context = command.make_context("bfenv", [], resilient_parsing=True)
    names = command.list_commands(context) if hasattr(command, "list_commands") else ()
    found = [
        one for name in names for one in walk(command.get_command(context, name), *words, name)
    ]
    return found + (
        [] if names and not getattr(command, "invoke_without_command", True) else [words]
    )


def commands_of(extra):
    """The commands of a distribution, with those of its groups."""
    if extra:
        return [name for name, summary in groups.COMMANDS.items() if summary.extra == extra]
    own = [name for name, summary in groups.MENU.items() if not summary.extra]
    found = [
        " ".join(words)
        for name in own
        for words in walk(typer.main.get_command(app).get_command(None, name), name)
    ]
    behind = [name for name, summary in groups.BEHIND.items() if not summary.extra]
    return [*found, *behind]


# Examples that need files of a long computation, a download, a live Slurm, or much time.
NOT_RUN = {
    "agents card",
    "agents push",
    "apply",
    "check",
    "check conformance",
    "evaluate bound",
    "gantt",
    "leaderboard bound",
    "leaderboard report",
    "leaderboard verify",
    "record",
    "report",
    "search",
    "train",
    "train curves",
    "workloads fetch",
    "workloads import",
    "workloads info",
    "warm",
}


def examples(help):
    """The commands under Examples in a help text."""
    text = help.partition("Examples:")[2].partition("\n\n")[0]
    return re.findall(r"^ +(bfenv .*)$", re.sub(r" \\\n +", " ", text), re.M)


def test_help(run, command):
    """Every help text has examples of its command, and lines of at most 80 characters."""
    status, out, _ = run(*command.split(), "--help", columns=80)
    assert status == 0 and examples(out)
    assert examples(out)[0].startswith(f"bfenv {command}")
    long = [line for line in out.splitlines() if len(line) > 80]
    assert all(
        "--" in line or "-o JobID," in line or "squeue -" in line for line in long
    )  # only commands to copy


def test_examples(run, tmp_path, monkeypatch, command):
    """The examples in the help texts work, or say which distribution they need."""
    if command in NOT_RUN:
        pytest.skip("its examples need files, a download or much time")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BFENV_TRACES", raising=False)
    write_swf(load_workload("lublin:jobs=50"), tmp_path / "site.swf.gz")
    scheduler = tmp_path / "my-scheduler"
    scheduler.write_text(f"#!{sys.executable}\n{FCFS.replace('FIRST', 'pass').strip()}\n")
    scheduler.chmod(0o755)
    for example in examples(run(*command.split(), "--help")[1]):
        with compiling(NOW):
            status, out, err = run(*shlex.split(example)[1:])
        if any(str(NotInstalledError("", extra)) in err for extra in MISSING):
            assert status == 2
            continue
        if "bwrap" in example and shutil.which("bwrap") is None:
            assert status == 2 and "install the package `bubblewrap`" in err
            continue
        assert status == 0, (example, err)
        assert out or (tmp_path / "schedule.csv").exists()


def test_summary(command):
    """A list of commands has the first sentence of the command's help."""
    summary = groups.COMMANDS.get(command)
    if summary is None:
        pytest.skip("it is listed by its group, which reads the sentence itself")
    assert groups.load_command(command).get_short_help_str(100) == summary.text


NOTICE = re.compile(r"bfenv: .* after [\d.]+ (s|min|h)")


def without_notices(err):
    """The lines of what a command wrote on stderr, but for those that depend on its speed."""
    return [line for line in err.splitlines() if not NOTICE.fullmatch(line)]


def check_workload_is_an_argument(run, command, option):
    """A workload that is given as an option, where it is an argument, is told so."""
    status, _, err = run(*command.split(), option, "lublin")
    assert status == 2
    assert err.startswith(f"bfenv: {command} has no option {option}: give the workload by itself, ")
    assert re.search(f"as in `bfenv {command} (WORKLOAD|LOG)", err)


def check_closed_output(words, out):
    """The file `out` is there even if nobody reads the table, as in `| head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "bfenv", *words, "--out", str(out)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert out.exists() and b"Traceback" not in done.stderr


FAILURES = (  # the body of a policy, and what is said of it
    ("raise KeyError(job)", "NameError: name 'job'"),
    ("raise SystemExit(3)", "SystemExit: 3"),
)


def check_failing_policy(run, tmp_path, monkeypatch, command, body, error):
    """A policy that fails is one line with its name, the error and its place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = f"failing_{abs(hash((command, body)))}"
    (tmp_path / f"{module}.py").write_text(f"def crash(cluster, jobs, memory):\n    {body}\n")
    status, out, err = run(*command.split(), "--policy", f"{module}:crash")
    assert (status, out) == (2, "")
    (line,) = without_notices(err)
    assert f"{module}:crash" in line and error in line
    assert err.endswith(f"({module}.py, line 2)\n")
