"""`bfenv check`: faults and exit statuses."""

from bfenv.core.cluster import may_start, start, waiting


def sort_the_queue(cluster, jobs):
    waiting(cluster)[:] = sorted(waiting(cluster), key=lambda job: jobs.size[job])
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def test_no_fault(run):
    """A policy without faults is reported in one line."""
    status, out, err = run("check", "easy", "--workload", "lublin:jobs=50,procs=8")
    assert (status, err) == (0, "")
    assert out.startswith("easy: no fault found") and out.count("\n") == 1


def test_fault(run):
    """A fault is one line with its kind, and the exit status is 1."""
    status, out, err = run("check", f"{__name__}:sort_the_queue", "--seconds", "2m")
    assert (status, err, out.count("\n")) == (1, "", 1)
    assert out.startswith(f"{__name__}:sort_the_queue: tampering: at 992 s of 'crowd': ")


def test_unknown_policy(run):
    """A name that is unknown is bad input, not a fault."""
    status, out, err = run("check", "eazy")
    assert (status, out) == (2, "") and "'eazy'" in err
