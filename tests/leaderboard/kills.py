"""Kill runner, workers, cells and players of a leaderboard at random moments, again and again.

    python -m tests.leaderboard.kills --kills 1000

A run is resumed until it ends by itself; its folder must then have the bytes of one that nobody
disturbed, and no process may be left. The exit status is 1 if that is not so.
"""

import argparse
import ctypes
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bfenv.cli.app import main as bfenv
from bfenv.parallel.worker_process import die_with_parent
from bfenv.players.guard import PR_SET_CHILD_SUBREAPER
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.swf import write_swf
from tests.parallel.processes import descendants, is_alive
from tests.players.programs import FCFS

WORKLOAD = "lublin:procs=16,jobs=40,load=0.8,seed={}"
SEEDS = (7, 8)
COMPETITORS = ("easy", "fcfs", "cons-rs")
LONGEST_END = 60.0  # seconds in which all processes of a killed runner must end
RUNNERS = 0.3  # share of the kills that hit the runner itself
INTERVALS = 0.3, 1.5  # the longest time to the next kill, over that of an undisturbed run


def command(folder, logs, program):
    """The words of the command that makes the board."""
    words = ["leaderboard", "run", "--retry", "--keep-schedules", "--jobs", "2", "--out", folder]
    for path in logs:
        words += ["--workload", str(path)]
    for name in COMPETITORS:
        words += ["--policy", name]
    return [*words, "--player", f"{sys.executable} -S {program}"]


def start(words, log):
    """Start the command in a copy of this process, which has imported what it needs."""
    parent, child = os.getpid(), os.fork()
    if child:
        return child
    try:
        die_with_parent(parent)
        os.setsid()
        with open(log, "ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.argv = ["bfenv", *words]
        bfenv()
    except SystemExit as error:
        os._exit(error.code or 0)
    finally:
        os._exit(3)


def reap(runner):
    """Collect all dead children; return the status of the runner, if it is one."""
    found = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == runner:
                found = os.waitstatus_to_exitcode(ended[1])
    return found


def kill_one(generator, runner):
    """Kill the runner or one of its processes; return which kind, None if it is gone by now."""
    others = [pid for pid in descendants(runner) if is_alive(pid)]
    victim = runner if generator.random() < RUNNERS or not others else generator.choice(others)
    kind = "runner" if victim == runner else kind_of(victim)
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return kind


def kind_of(pid):
    """What a process of a run is, by its command line."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return "other"
    signs = {"guard.py": "guard", "player.py": "player", "worker_process": "cell", "loky": "worker"}
    return next((kind for sign, kind in signs.items() if sign in words), "other")


def wait_for_end(log):
    """Wait until no process of the last run is left; SystemExit if one is."""
    deadline = time.monotonic() + LONGEST_END
    while time.monotonic() < deadline:
        reap(0)
        if not descendants(os.getpid()):
            return
        time.sleep(0.02)
    left = [Path(f"/proc/{pid}/cmdline").read_text() for pid in descendants(os.getpid())]
    sys.exit(f"processes are left: {left}; see {log}")


def contents(folder):
    """What a folder holds, but for timings, and files that were being written."""
    files = {path.relative_to(folder): path for path in Path(folder).rglob("*") if path.is_file()}
    found = {name: path.read_bytes() for name, path in files.items() if path.suffix != ".tmp"}
    return {name: data for name, data in found.items() if name.parts[0] != "timings"}


def check(folder, expected, log):
    """Check that a folder has what an undisturbed run writes; SystemExit if not."""
    found = contents(folder)
    differing = [str(n) for n in found.keys() | expected if found.get(n) != expected.get(n)]
    if differing:
        sys.exit(f"these files differ after kills: {sorted(differing)}; see {folder} and {log}")


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=100, help="print after so many kills")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become children of this process
    generator, kills, compared = random.Random(options.seed), {}, 0
    work = Path(tempfile.mkdtemp(prefix="bfenv-kills-"))
    program, log = work / "player.py", work / "log"
    program.write_text(FCFS.replace("FIRST", "pass"))
    logs = [work / f"log{seed}.swf" for seed in SEEDS]
    for path, seed in zip(logs, SEEDS, strict=True):
        write_swf(load_workload(WORKLOAD.format(seed)), path)
    expected_folder, folder = work / "undisturbed", work / "board"
    for _ in range(1 + (options.kills > 1)):  # the first compiles, so it may take longer
        shutil.rmtree(expected_folder, ignore_errors=True)
        begin = time.monotonic()
        _, status = os.waitpid(start(command(str(expected_folder), logs, program), log), 0)
        duration = time.monotonic() - begin
        if status:
            sys.exit(f"the undisturbed run failed: see {log}")
        wait_for_end(log)
    expected, total, runs = contents(expected_folder), 0, 0
    while total < options.kills or folder.exists():
        runner, runs, status = start(command(str(folder), logs, program), log), runs + 1, None
        while status is None:
            later = time.monotonic() + duration * generator.uniform(0, generator.choice(INTERVALS))
            while status is None and (time.monotonic() < later or total >= options.kills):
                time.sleep(0.01)
                status = reap(runner)
            if status is None and (kind := kill_one(generator, runner)):
                kills[kind], total = kills.get(kind, 0) + 1, total + 1
                if total % options.every == 0:
                    print(f"{total} kills, {compared} folders compared", flush=True)
        wait_for_end(log)
        if status == 0:
            check(folder, expected, log)
            compared += 1
            shutil.rmtree(folder)
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(kills.items()))
    print(f"{total} kills in {runs} runs ({kinds}); {compared} folders have equal bytes")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
