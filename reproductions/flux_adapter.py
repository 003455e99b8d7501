"""Let a scheduler of Flux answer the conformance cases.

The scheduler is a module in your clone of flux-core. Its base class, queue and allocation are those
of the package flux-python (tried: 0.88.0). The rest of a broker is stood in for: reactor, clock,
services and C library. Any interpreter that has flux-python can run this file, without bfenv:

    bfenv check conformance --command "python reproductions/flux_adapter.py --flux CLONE
    --load 'sched-backfill queue-depth=8' {input} {output}"

The scheduler gets the jobs that end at an instant, then requests for those that arrive, at most
queue-depth at a time, and completes its pass. A job is killed at its time limit, the estimate.
"""

import argparse
import errno
import heapq
import runpy
import sys
import syslog
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

STAND_INS = (  # what of Flux needs the C library, and decides nothing
    *("_flux._core", "flux.abc", "flux.constants", "flux.core.handle", "flux.future"),
    *("flux.hostlist", "flux.idset", "flux.job", "flux.kvs", "flux.rpc"),
)
SUCCESS, DENY = 0, 2  # types of answers in Flux's RFC 27
Job = tuple[int, int, int, int, int]  # submit, number, size, seconds until its end or kill, limit


class Broker:
    """What a scheduler asks of Flux, through `handle`; `starts` has the starts by job number."""

    def __init__(self, jobs: list[Job], processors: int) -> None:
        self.coming, self.processors, self.now, self.depth = sorted(jobs), processors, -1, len(jobs)
        self.starts: dict[int, int] = {}
        self.requested: dict[int, Job] = {}
        self.running: list[tuple[int, int, Any]] = []  # a heap of ends, numbers, resources
        self.watchers: list[MagicMock] = []
        self.handle = MagicMock(log=self._log, rpc=self._rpc, respond=self._respond)
        self.handle.timer_watcher_create = lambda _, callback: self._watch(callback, is_timer=True)
        self.handle.check_watcher_create = lambda callback: self._watch(callback, is_timer=False)
        self.handle.reactor_run = self._run

    def _watch(self, callback: Callable[..., None], is_timer: bool) -> MagicMock:
        watcher = MagicMock(active=False, callback=callback, is_timer=is_timer)
        watcher.start = watcher.reset = lambda *_, **__: setattr(watcher, "active", True)
        watcher.stop = lambda: setattr(watcher, "active", False)
        self.watchers.append(watcher)
        return watcher

    def _log(self, level: int, text: str) -> None:
        if level <= syslog.LOG_ERR:  # what a scheduler says before it stops
            sys.exit(f"error: the scheduler stops: {text}")

    def _rpc(self, topic: str, payload: Any = None, **_: Any) -> MagicMock:
        """Answer a scheduler that starts: one node, all of it up, and no job runs."""
        if topic == "job-manager.sched-hello":
            return MagicMock(**{"get.side_effect": OSError(errno.ENODATA, "no job runs")})
        if topic == "job-manager.sched-ready":
            self.depth = payload.get("limit", self.depth)
        node = {"rank": "0", "children": {"core": f"0-{self.processors - 1}"}}
        resources = {"version": 1, "execution": {"R_lite": [node]}}
        return MagicMock(**{"get.return_value": {"resources": resources, "up": "all"}})

    def _respond(self, message: Any, answer: Any) -> None:
        number = answer["id"]
        if answer["type"] == DENY:
            sys.exit(f"error: the scheduler refuses job {number}: {answer.get('note')}")
        if answer["type"] == SUCCESS:
            if number in self.starts:
                sys.exit(f"error: the scheduler starts job {number} twice")
            self.starts[number] = self.now
            end = self.now + self.requested.pop(number)[3]
            heapq.heappush(self.running, (end, number, answer["R"]))

    def _run(self) -> int:
        while events := [*self.running[:1], *(job for job in self.coming if job[0] > self.now)]:
            self.now = min(event[0] for event in events)
            while self.running and self.running[0][0] == self.now:
                _, number, resources = heapq.heappop(self.running)
                self._send("sched.free", id=number, R=resources, final=True)
            self._request()
            while active := [watcher for watcher in self.watchers if watcher.active]:
                for watcher in active:
                    watcher.active = not watcher.is_timer
                    watcher.callback(self.handle, watcher, 0, None)
                if not any(watcher.active for watcher in self.watchers):
                    self._request()  # the pass is complete
        return 0

    def _request(self) -> None:
        while self.coming and self.coming[0][0] <= self.now and len(self.requested) < self.depth:
            submit, number, size, _, limit = job = self.coming.pop(0)
            self.requested[number] = job
            slots = [{"type": "slot", "count": size, "with": [{"type": "core", "count": 1}]}]
            spec = {"version": 1, "resources": slots, "attributes": {"system": {"duration": limit}}}
            self._send(
                "sched.alloc", id=number, priority=16, userid=1, t_submit=submit, jobspec=spec
            )

    def _send(self, topic: str, **payload: Any) -> None:
        calls = self.handle.msg_watcher_create.call_args_list
        receive = {call.args[2]: call.args[0] for call in calls}[topic]
        receive(self.handle, None, SimpleNamespace(payload=payload), None)


def idset(text: str) -> MagicMock:
    """Stand in for Flux's set of numbers, which is written as "0-3,7"."""
    ends = (part.partition("-")[::2] for part in text.split(","))
    ids = [i for low, high in ends for i in range(int(low), int(high or low) + 1)]
    return MagicMock(**{"__iter__.return_value": ids, "__str__.return_value": text})


def main() -> None:
    """Read jobs from SWF, and write lines "job start"; an error is one sentence."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--flux", type=Path, required=True, metavar="CLONE")
    parser.add_argument("--load", default="sched-backfill", type=str.split, metavar="MODULE...")
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    path = given.flux / "src" / "modules" / f"{given.load[0]}.py"
    if not path.is_file():
        sys.exit(f"error: {path} does not exist: is {given.flux} a clone of flux-core?")
    lines = [line.split() for line in given.input.read_text().splitlines()]
    fields = [list(map(int, line)) for line in lines if line and line[0] != ";"]
    jobs = [(f[1], f[0], f[7], min(f[3], f[8]), f[8]) for f in fields]
    broker = Broker(jobs, next(int(line[2]) for line in lines if line[1:2] == ["MaxProcs:"]))
    stand_ins = {module: MagicMock() for module in STAND_INS}
    stand_ins["flux.idset"].IDset = idset
    stand_ins["flux.kvs"].commit_async.return_value.then = lambda f, *arguments: f(
        MagicMock(), *arguments
    )
    library = stand_ins["_flux._core"].lib
    library.flux_reactor_now = lambda reactor: broker.now
    library.flux_job_kvs_key.return_value = library.flux_module_set_running.return_value = 0
    with patch.dict(sys.modules, stand_ins), patch("time.time", lambda: broker.now):
        try:
            runpy.run_path(str(path))["mod_main"](broker.handle, *given.load[1:])
        except ImportError as error:
            sys.exit(f"error: this Python lacks flux-python, or a part of it: {error}")
        except Exception as error:
            sys.exit(f"error: {path} does not run with the installed Flux: {error!r}")
    if left := [job[1] for job in sorted(jobs) if job[1] not in broker.starts]:
        sys.exit(f"error: the scheduler never starts job {left[0]}")
    given.output.write_text("".join(f"{job} {start}\n" for job, start in broker.starts.items()))


if __name__ == "__main__":
    main()
