"""Processes of this machine by id, for tests of what is left behind; Linux only."""

from pathlib import Path


def descendants(pid):
    """Ids of the children of a process, their children and so on."""
    children = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, parents = [], [pid]
    while parents:
        parents += children.get(parents[0], [])
        found += children.get(parents.pop(0), [])
    return found


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
