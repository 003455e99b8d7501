"""A site's log, whose starts are those of first come, first served."""

import bfenv

SEPARATE = 4  # partitions, by job number


def write_site(path, jobs=400, start_time=1_767_225_600, policy="fcfs"):
    """Write the log of a site that ran its jobs under a policy; return its path."""
    trace = bfenv.load_workload(f"lublin:procs=64,jobs={jobs},load=0.9,seed=3")
    schedule = bfenv.simulate(trace, policy)
    bfenv.write_swf(trace, path, schedule)
    lines = [f"; UnixStartTime: {start_time}", "; Partition: 1 cpu", "; Partition: 2 gpu"]
    for line in path.read_text().splitlines():
        if line.startswith(";"):
            lines.append(line)
            continue
        fields = line.split()
        job = int(fields[0])
        fields[12] = str(job % SEPARATE)  # group
        fields[15] = "2" if job % 10 == 0 else "1"
        lines.append(" ".join(fields))
    path.write_text("\n".join(lines) + "\n")
    return path
