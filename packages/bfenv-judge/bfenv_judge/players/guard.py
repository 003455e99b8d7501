"""The guard: a small process that starts a player within limits, and ends all that it has started.

It is run as a script, because it must not load what a player must not inherit. The first line of
its standard input, in JSON, says what to start. Then it waits until the player ends, or the referee
closes that input or ends. The player's messages do not pass through it. It reports on its standard
output how the player ended: an exit code, or minus a signal.

On Linux every process that the player starts remains a descendant of the guard, even a daemon
(PR_SET_CHILD_SUBREAPER), so none outlives it.
"""

import ctypes
import errno
import json
import os
import resource
import select
import signal
import stat
import sys
import time
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # options of Linux's prctl
LONGEST_END = 10.0  # seconds in which everything must be dead


def main() -> None:
    """Start the player, wait for its end, and end what it has left."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):  # the referee has ended
        return
    order = json.loads(line)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # also sent when a thread of the referee ends
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakes)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    guard = os.getpid()
    player = os.fork()
    if player == 0:
        try:
            become_player(order, guard)
        except BaseException as error:
            os.write(2, f"cannot start {order['command'][0]}: {why(order, error)}\n".encode())
        os._exit(127)
    for fd in order["streams"]:
        os.close(fd)
    status = wait_for_end(player, woken, order["referee"])
    try:
        os.write(1, f"{status}\n".encode())
    except BrokenPipeError:  # the referee has ended
        pass
    end_descendants(player)
    if order["folder"] is not None:
        remove_folder(order["folder"])


def why(order: dict[str, Any], error: BaseException) -> str:
    """Say why a program does not start: if it is there, by its first line."""
    first = first_line(order["command"][0])
    name = first[2:].rstrip(b"\n").decode(errors="replace")
    if first.startswith(b"#!") and name.endswith("\r"):
        return (
            f"its first line ends in CR LF, so there is no interpreter {name!r}; save it with "
            "LF line endings"
        )
    if isinstance(error, FileNotFoundError) and first.startswith(b"#!"):
        return f"the interpreter of its first line, {name.strip()}, is not there"
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        if first.startswith(b"\xef\xbb\xbf"):
            return "it begins with a byte order mark, so its first line names no interpreter"
        return "it is not a program for this machine, and its first line names no interpreter (#!)"
    return str(error)


def first_line(program: str) -> bytes:
    """Return the first bytes of a program's file, up to the end of a line; b"" if it is not there.

    A name without a slash is looked for on PATH.
    """
    folders = [""] if os.sep in program else os.environ.get("PATH", "").split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, program)
        if os.path.isfile(path):
            try:
                with open(path, "rb") as file:
                    return file.readline(256)
            except OSError:  # it may be executable and not readable
                return b""
    return b""


def become_player(order: dict[str, Any], guard: int) -> None:
    """Turn this process into the player; returns only if that fails."""
    for fd, stream in enumerate(order["streams"]):
        os.dup2(stream, fd)
    os.closerange(3, 4096)
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(127)
    for name, most in order["limits"].items():
        limit = getattr(resource, name)
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    first = first_line(order["command"][0])
    if first.startswith(b"#!") and first.endswith(b"\r\n"):
        raise FileNotFoundError  # env, or an interpreter with options, would have it in a word
    os.execvpe(order["command"][0], order["command"], order["environment"])


def wait_for_end(player: int, woken: int, referee: int) -> int | None:
    """Return how the player has ended; None if the referee has, or has closed the input."""
    poll = select.poll()
    for fd in (0, woken):
        poll.register(fd, select.POLLIN)
    while os.getppid() == referee:
        status = reap(player)
        if status is not None:
            return status
        if any(fd == 0 for fd, _ in poll.poll()):  # nothing is ever sent
            return None
        os.read(woken, 4096)
    return None


def reap(player: int) -> int | None:
    """Collect dead children; return the player's exit code, or minus its signal, if it is one."""
    code = None
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if process == 0:
            return code
        if process == player:
            code = os.waitstatus_to_exitcode(status)


def end_descendants(player: int) -> None:
    """Kill every descendant, stopped first, so that none can start others meanwhile.

    On systems without /proc, only the player's process group is killed.
    """
    if sys.platform != "linux":
        try:
            os.killpg(player, signal.SIGKILL)
        except OSError:
            pass
        return
    deadline = time.monotonic() + LONGEST_END
    while time.monotonic() < deadline:
        family = [os.getpid()]
        for process in family:  # it grows meanwhile
            family += children_of(process)
        if len(family) == 1:
            return
        for sent in (signal.SIGSTOP, signal.SIGKILL):
            for process in family[1:]:
                try:
                    os.kill(process, sent)
                except ProcessLookupError:
                    pass
        reap(player)
        time.sleep(0.001)


def children_of(process: int) -> list[int]:
    """Return the children of a process, of all its threads; none if it is gone."""
    children: list[int] = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children") as file:
                children += map(int, file.read().split())
    except OSError:
        pass
    return children


def remove_folder(folder: str) -> None:
    """Remove a folder that no process uses any more, however deep the folders in it are.

    Folders are moved to the top before they are emptied, so that all paths are short.
    """
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    names, moved = os.listdir(top), 0
    while names:
        name = names.pop()
        try:
            if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, 0o700, dir_fd=top)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=top)
            try:
                for entry in os.listdir(inner):
                    moved += 1
                    names.append(f"{os.path.basename(folder)}-{moved}")
                    if stat.S_ISDIR(os.stat(entry, dir_fd=inner, follow_symlinks=False).st_mode):
                        os.chmod(entry, 0o700, dir_fd=inner)
                    os.rename(entry, names[-1], src_dir_fd=inner, dst_dir_fd=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
        except OSError:  # it belongs to others
            continue
    os.close(top)
    try:
        os.rmdir(folder)
    except OSError:
        pass


def prctl(option: int, value: int) -> None:
    """Set an option of this process, where there is such a call."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
