"""The adapter to Flux's schedulers: three jobs solved by hand, errors, and Flux itself."""

import os
import sys

import pytest

from bfenv_judge.conformance import Case, ConformanceError, explain, load_cases, run_command
from tests.conftest import ROOT

COMMAND = f"{sys.executable} {ROOT}/reproductions/flux_adapter.py {{input}} {{output}} --flux "
THREE = [Case("three", "easy", "", False, 4, ((0, 4, 9, 9), (1, 4, 12, 8), (2, 4, 3, 3)), (), {})]
LAST_FIRST = """def mod_main(h, depth):
    queue, running, timer = [], [], h.timer_watcher_create(0, lambda *_: queue and not running and (
        running.append(queue.pop()), h.respond(None, {"id": running[0], "type": 0, "R": ""})))
    h.msg_watcher_create(lambda *a: (queue.append(a[2].payload["id"]), timer.reset()), 0, "sched.alloc")
    h.msg_watcher_create(lambda *a: (running.clear(), timer.reset()), 0, "sched.free")
    h.rpc("job-manager.sched-ready", {"limit": int(depth)})
    h.reactor_run()"""  # noqa: E501
ERRORS = {"import flux.no": "this Python lacks flux-python", "x = 1": "installed Flux: KeyError"}


def test_three_jobs_and_errors(tmp_path):
    """At depth 1, job 3 is not shown while job 2 waits, which is killed at its limit."""
    command, module = f"{COMMAND} {tmp_path} --load 'own 1'", tmp_path / "src/modules/own.py"
    with pytest.raises(ConformanceError, match="does not exist: is"):
        run_command(command, THREE)
    module.parent.mkdir(parents=True)
    for code, said in ERRORS.items():
        module.write_text(code)
        with pytest.raises(ConformanceError, match=said):
            run_command(command, THREE)
    module.write_text(LAST_FIRST)
    assert run_command(command, THREE)[0].starts == (0, 9, 17)
    assert run_command(command.replace("1'", "2'"), THREE)[0].starts == (0, 12, 9)


@pytest.mark.skipif("FLUX_CORE" not in os.environ, reason="needs $FLUX_CORE and flux-python")
def test_flux_itself():
    """As docs/conformance.md says, Flux's EASY lacks extra nodes, and follows all other rules."""
    verdicts = run_command(COMMAND + os.environ["FLUX_CORE"], load_cases("easy"))
    assert explain(verdicts) == ["only jobs that end by the shadow time are backfilled"]
