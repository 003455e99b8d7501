"""The system calls that are closed to players on Linux: a filter for `guard`, as seccomp takes it.

Landlock closes files. What it leaves open is closed here: ways to leave a message for a later run
or another player (times and attributes of files, locks, memory and queues that outlive a process,
keys, the kernel's log), to watch what another does (changes of files, cached pages), sockets,
memory that no process shows, and limits and priorities of other processes. A closed call fails
with EPERM.
"""

import errno
import platform
import struct
import sys

# What a filter is made of, see <linux/bpf_common.h> and <linux/seccomp.h>
LOAD, JUMP_EQUAL, JUMP_GREATER_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, DENY = 0x7FFF0000, 0x00050000 | errno.EPERM
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # where they are in what a filter reads
X32 = 0x40000000  # begins the numbers of another interface of x86_64

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # their numbers in <linux/audit.h>
# Calls that are open with some values of an argument only: the numbers on x86_64 and on aarch64,
# which argument, and its values. Of an argument, the lower 32 bits are compared.
LIMITED = {
    "prlimit64": (302, 261, 0, (0,)),  # limits of its own
    # The commands that duplicate descriptors, get and set their flags, and get the size of a pipe;
    # others set locks, leases, watches, owners and hints
    "fcntl": (72, 25, 1, (0, 1, 2, 3, 4, 1030, 1032)),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2; others set file attributes
    "ioctl": (16, 29, 1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)),
    # Streams, with SOCK_NONBLOCK and SOCK_CLOEXEC; datagrams can be sent to others
    "socketpair": (53, 199, 1, (1, 0x801, 0x80001, 0x80801)),
    "preadv2": (327, 286, 5, (0,)),  # a flag asks whether a page is cached
}
# Closed calls: the numbers, -1 if the call does not exist there
CLOSED = {
    # Modes, owners, times and attributes of files
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    # Locks and watches of files, and which of their pages are cached
    "flock": (73, 32),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "readahead": (187, 213),
    "fadvise64": (221, 223),
    "mincore": (27, 232),
    "cachestat": (451, 451),
    # Memory, queues, semaphores and keys that outlive a process
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Sockets, what makes them on its own, and names of those in pairs
    "socket": (41, 198),
    "bind": (49, 200),
    "connect": (42, 203),
    "io_uring_setup": (425, 425),
    # Memory that belongs to no process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # Other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    # The kernel's log, which outlives all
    "syslog": (103, 116),
    # Ways to other rights
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
}


def filter_of_calls() -> bytes:
    """Return the filter of this machine; empty where there is none, or no seccomp."""
    if sys.platform != "linux" or platform.machine() not in MACHINES or sys.maxsize < 2**32:
        return b""
    column = list(MACHINES).index(platform.machine())
    numbers = sorted(calls[column] for calls in CLOSED.values() if calls[column] >= 0)
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, MACHINES[platform.machine()]),
        (RETURN, 0, 0, DENY),
        (LOAD, 0, 0, NUMBER),
    ]
    for *both, argument, values in LIMITED.values():
        program += [
            (JUMP_EQUAL, 0, len(values) + 3, both[column]),
            (LOAD, 0, 0, ARGUMENTS + 8 * argument),
            *_jumps_behind([(JUMP_EQUAL, value) for value in values]),
            (RETURN, 0, 0, DENY),
            (RETURN, 0, 0, ALLOW),
        ]
    x32 = [(JUMP_GREATER_EQUAL, X32)] if column == 0 else []
    program += [
        *_jumps_behind(x32 + [(JUMP_EQUAL, number) for number in numbers]),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, DENY),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _jumps_behind(tests: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Return tests in a row, each of which jumps behind the instruction that follows them all."""
    return [(kind, len(tests) - i, 0, value) for i, (kind, value) in enumerate(tests)]
