"""The guard: a small process that starts a player, limits it, and ends it with all its children.

It is run as a script, because it must not load what a player must not inherit. It stands between
the referee and the player. The first line of its standard input, in JSON, says what to start; as an
argument, long lists of files would be refused by the system. It reports how the player ended as one
line of JSON on its standard output. The player's messages do not pass through it. Its standard
input says when to stop: it ends when the referee closes it, or ends in any way itself.

On Linux every process that the player starts remains a descendant of the guard, even a daemon
(PR_SET_CHILD_SUBREAPER), so none outlives it. Landlock closes files, signals, debugging and the
network (`restrict`), and seccomp closes system calls (`bfenv.players.system_calls`).
"""

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import stat
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

INTERVAL = 0.1  # seconds between looks at memory and processes
TAIL = 2000  # bytes of stderr that are reported
ENDLESS = 1 << 62  # bytes
LONGEST_END = 10.0  # seconds in which everything must be dead
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
PR_SET_SECCOMP, MODE_FILTER = 22, 2
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8  # rights to files
TRUNCATE, IOCTL = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
ITSELF = "/proc/self"  # of the player, not of the processes that it starts
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL  # others are of folders


def main() -> None:
    """Start the player, watch over it, and report how it ended."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):  # the referee has ended
        return
    order = json.loads(line)
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
    if sys.platform == "linux":
        os.open(f"/proc/{player}", os.O_PATH)  # keeps the folder that the rule on ITSELF is about
    for fd in (errors_of_player, order["input"], order["output"]):
        os.close(fd)
    report = watch(order, player, errors)
    end_descendants()
    remove_folder(order["writes"][0])  # its temporary one
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
    restrict([*order["reads"], ITSELF], order["lists"], order["writes"])
    close_calls(bytes.fromhex(order["filter"]))
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
            cause = excess(order)
            if cause is not None:
                return {"cause": cause}


def excess(order: dict[str, Any]) -> str | None:
    """Return which limit the player and what it has started exceed together, if any."""
    family = descendants()
    if len(family) > order["processes"]:
        return "processes"
    if sum(len(listed(f"/proc/{process}/task")) for process in family) > order["threads"]:
        return "threads"
    if sum(map(memory_of, family)) > order["memory"]:
        return "memory"
    if size_of_folder(order["writes"][0]) + sum(map(size_of_removed, family)) > order["files"]:
        return "files"
    return None


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
    for task in listed(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{task}/children") as file:
                found += map(int, file.read().split())
        except OSError:
            continue
    return found


def listed(folder: str) -> list[str]:
    """Return the names in a folder; none if it is gone."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def memory_of(process: int) -> int:
    """Return the bytes of memory of a process that are not those of a file on a disk."""
    found = 0
    try:
        with open(f"/proc/{process}/status") as file:
            for line in file:
                if line.startswith(("RssAnon:", "RssShmem:")):
                    found += 1024 * int(line.split()[1])
    except (OSError, ValueError):  # it is gone
        pass
    return found


def size_of_folder(folder: str) -> int:
    """Return the bytes of the files in a folder and below, on their disk.

    They count as endless if part of it cannot be listed, because files could be hidden there.
    """
    found = 0
    hidden: list[OSError] = []
    for parent, _, files in os.walk(folder, onerror=hidden.append):
        for name in files:
            try:
                found += 512 * os.lstat(os.path.join(parent, name)).st_blocks
            except OSError:
                continue
    return ENDLESS if any(isinstance(error, PermissionError) for error in hidden) else found


def remove_folder(folder: str) -> None:
    """Remove a folder that no process uses any more, with folders that cannot be listed."""
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def size_of_removed(process: int) -> int:
    """Return the bytes of the files that a process has removed and keeps open."""
    found = 0
    for name in listed(f"/proc/{process}/fd"):
        try:
            status = os.stat(f"/proc/{process}/fd/{name}")
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            found += 512 * status.st_blocks
    return found


def prctl(option: int, value: int) -> None:
    """Set an option of this process, where there is such a call."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up what the user root may do beyond others, for this process and its children."""
    if sys.platform == "linux":
        header = struct.pack("Ii", 0x20080522, 0)  # the version of these structures
        ctypes.CDLL(None).capset(header, bytes(24))


def restrict(reads: list[str], lists: list[str], writes: list[str]) -> None:
    """Close, for ever, all that this process and its children need not reach, with Landlock.

    Files can be read below `reads`, listed below `lists`, and written below `writes` only. No
    process outside can be signalled, debugged or read, and no TCP connection made. A kernel that
    knows less of this closes less; the oldest close nothing.
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
    for paths, allowed in ((reads, READ), (lists, READ_DIR), (writes, rights)):
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


def close_calls(program: bytes) -> None:
    """Close system calls, for ever, to this process and its children; `program` is the filter."""
    if program:
        memory = ctypes.create_string_buffer(program, len(program))
        described = struct.pack("HP", len(program) // 8, ctypes.addressof(memory))
        ctypes.CDLL(None).prctl(PR_SET_SECCOMP, MODE_FILTER, described, 0, 0)


if __name__ == "__main__":
    main()
