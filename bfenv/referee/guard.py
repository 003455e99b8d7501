"""The guard: a small process that starts a player, limits it, and ends it with all its children.

It is run as a script, because it must not load what a player must not inherit. It stands between
the referee and the player. Its argument, one line of JSON, says what to start. It reports how the
player ended as one line of JSON on its standard output. The player's messages do not
pass through it. Its standard input says when to stop: it ends when the referee closes it, or
ends in any way itself.

On Linux every process that the player starts remains a descendant of the guard, even a daemon
(PR_SET_CHILD_SUBREAPER), so none outlives it. Landlock closes files, signals, debugging and the
network (`restrict`).
"""

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

INTERVAL = 0.1  # seconds between looks at memory and processes
TAIL = 2000  # bytes of stderr that are reported
LONGEST_END = 10.0  # seconds in which everything must be dead
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8  # rights to files
TRUNCATE, IOCTL = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL  # others are of folders


def main() -> None:
    """Start the player, watch over it, and report how it ended."""
    order = json.loads(sys.argv[1])
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_DUMPABLE, 0)  # no other process may read its memory
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    errors, errors_of_player = os.pipe()
    guard = os.getpid()
    player = os.fork()
    if player == 0:
        try:
            become_player(order, guard, errors_of_player)
        except BaseException as error:
            os.write(2, f"cannot start {order['command'][0]}: {error}\n".encode())
        os._exit(127)
    for fd in (errors_of_player, order["input"], order["output"]):
        os.close(fd)
    report = watch(order, player, errors)
    end_descendants()
    shutil.rmtree(order["writes"][0], ignore_errors=True)  # its temporary folder
    try:
        os.write(1, json.dumps(report).encode() + b"\n")
    except BrokenPipeError:  # the referee has ended
        pass


def become_player(order: dict[str, Any], guard: int, errors: int) -> None:
    """Turn this process into the player; returns only if that fails."""
    os.dup2(order["input"], 0)
    os.dup2(order["output"], 1)
    os.dup2(errors, 2)
    os.closerange(3, 4096)
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(127)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_DATA, order["memory"])
    limit(resource.RLIMIT_FSIZE, order["file_size"])
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    drop_capabilities()
    restrict(order["reads"], order["writes"])
    os.execvpe(order["command"][0], order["command"], order["environment"])


def limit(what: int, most: int) -> None:
    """Lower a limit of this process and its children."""
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def watch(order: dict[str, Any], player: int, errors: int) -> dict[str, Any]:
    """Return how the player ended, or why it is to be ended."""
    written, tail, next_look = 0, b"", 0.0
    referee = os.getppid()
    poll = select.poll()
    for fd in (0, errors):
        poll.register(fd, select.POLLIN)
    while True:
        for fd, _ in poll.poll(INTERVAL * 1000):
            if fd == 0:  # nothing is ever sent: the referee has closed it
                return {"cause": "stopped"}
            chunk = os.read(errors, 65536)
            if not chunk:
                poll.unregister(errors)
            written += len(chunk)
            tail = (tail + chunk)[-TAIL:]
        if os.getppid() != referee:
            return {"cause": "stopped"}
        if written > order["stderr"]:
            return {"cause": "stderr"}
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + INTERVAL
            status = reap(player)
            if status is not None:
                tail = (tail + rest_of(errors))[-TAIL:]
                return {"status": status, "stderr": tail.decode(errors="replace")}
            family = descendants()
            if len(family) > order["processes"]:
                return {"cause": "processes"}
            if sum(map(memory_of, family)) > order["memory"]:
                return {"cause": "memory"}


def reap(player: int) -> int | None:
    """Collect dead children; return the player's exit code, or minus its signal, if it is one."""
    found = None
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if process == 0:
            return found
        if process == player:
            found = os.waitstatus_to_exitcode(status)


def rest_of(errors: int) -> bytes:
    """Return what is left in the pipe of stderr, without waiting for more."""
    os.set_blocking(errors, False)
    try:
        return os.read(errors, 65536)
    except OSError:
        return b""


def end_descendants() -> None:
    """Kill every descendant, stopped first, so that none can start others meanwhile."""
    deadline = time.monotonic() + LONGEST_END
    while time.monotonic() < deadline:
        family = descendants()
        if not family:
            return
        for sent in (signal.SIGSTOP, signal.SIGKILL):
            for process in family:
                try:
                    os.kill(process, sent)
                except ProcessLookupError:
                    pass
        reap(0)
        time.sleep(0.002)


def descendants() -> list[int]:
    """Return the living descendants of this process."""
    family, i = children_of(os.getpid()), 0
    while i < len(family):
        family += children_of(family[i])
        i += 1
    return family


def children_of(process: int) -> list[int]:
    """Return the children of a process, of all its threads; none if it is gone."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def memory_of(process: int) -> int:
    """Return the bytes of memory that a process shares with no file."""
    try:
        with open(f"/proc/{process}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * resource.getpagesize()


def prctl(option: int, value: int) -> None:
    """Set an option of this process, where there is such a call."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up what the user root may do beyond others, for this process and its children."""
    if sys.platform == "linux":
        header = struct.pack("Ii", 0x20080522, 0)  # the version of these structures
        ctypes.CDLL(None).capset(header, bytes(24))


def restrict(reads: list[str], writes: list[str]) -> None:
    """Close, for ever, all that this process and its children need not reach, with Landlock.

    Files can be read below `reads` and written below `writes` only. No process outside can be
    signalled, debugged or read, and no TCP connection made. A kernel that knows less of this closes
    less; the oldest close nothing.
    """
    if sys.platform != "linux":
        return
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return
    rights = (1 << 13) - 1  # of version 1
    rights |= (1 << 13) * (version >= 2) | TRUNCATE * (version >= 3) | IOCTL * (version >= 5)
    network, scope = 3 * (version >= 4), 3 * (version >= 6)
    attributes = struct.pack("QQQ", rights, network, scope)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = call(CREATE_RULESET, attributes, size, 0)
    if rules < 0:
        return
    for paths, allowed in ((reads, READ), (writes, rights)):
        for path in paths:
            allow(call, rules, path, allowed & rights)
    call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def allow(call: Callable[..., int], rules: int, path: str, rights: int) -> None:
    """Add a rule for what is below a path, if it exists."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= OF_FILES
    call(ADD_RULE, rules, 1, struct.pack("=Qi", rights, fd), 0)
    os.close(fd)


if __name__ == "__main__":
    main()
