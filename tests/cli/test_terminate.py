"""The command line ends on SIGTERM as on an error: what is half done is cleared away."""

import os
import signal
import subprocess
import sys

import pytest

CODE = """
import time, typer
from bfenv.cli.app import run_app
app = typer.Typer()

@app.command()
def wait():
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("cleared", flush=True)

run_app(app, "bfenv")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_sigterm():
    """Blocks that clear away workers and temporary files are run; the status is 143."""
    process = subprocess.Popen([sys.executable, "-c", CODE], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == ("cleared\n", 143)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_in_a_policy(tmp_path):
    """A signal that arrives while a policy runs is no failure of the policy."""
    (tmp_path / "ending.py").write_text(
        "import os, signal\n"
        "def decide(cluster, jobs):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    sum(range(10_000))\n"
    )
    command = [sys.executable, "-m", "bfenv", "evaluate", "-w", "lublin:jobs=20"]
    ended = subprocess.run(
        [*command, "-p", "ending:decide", "-p", "easy"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.returncode) == ("", 143) and "failed" not in ended.stderr
