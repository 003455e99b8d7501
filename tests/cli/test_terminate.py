"""The command line ends on SIGTERM as on an error: what is half done is cleared away."""

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
