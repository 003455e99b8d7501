"""The policy `slurm`, of equal nodes or of a site's slurm.conf.

A log says more of a job than its request, such as its partition, and `Jobs` has no place for that.
The loop of this policy passes it on when the job is submitted.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines.policy_names import expression
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import NEXT_JOB
from bfenv.core.competitor import BoundPolicy
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.kernel import kernel
from bfenv.core.partitions import NAMED
from bfenv.core.policy import Policy
from bfenv.core.text import listed
from bfenv.knowledge.priorities import EXPRESSION, Order, new_ranking
from bfenv.workloads.logs.records import FIELDS, GROUP
from bfenv.workloads.logs.records import PARTITION as PARTITION_FIELD
from bfenv_site.slurm.conf import Site, read_conf, site_of
from bfenv_site.slurm.conf_lines import error_prefix
from bfenv_site.slurm.future import new_future
from bfenv_site.slurm.nodes import bitmap_of, new_nodes
from bfenv_site.slurm.parameters import PARAMETERS, read_parameters, warn_of_unmodelled
from bfenv_site.slurm.priority import meet, new_priority
from bfenv_site.slurm.scheduler import ACCOUNT, ASSOCIATION, PARTITION, Slurm, decide, run

MOST_PROCESSORS = 2**26  # a policy's tables then take 3 GiB
LONG_AGO = -(10**9)  # seconds
ORDER = Order("slurm", EXPRESSION, "highest priority", "", "slurm.conf")


def equal_nodes(cores_per_node: int, processors: int) -> Site:
    """Return equal nodes in one partition; the last one may be smaller.

    PolicyError if the machine has more processors than a table of them can have.
    """
    if processors > MOST_PROCESSORS:
        raise PolicyError(
            f"slurm: a table of the machine's {processors:,} processors is too large; a machine "
            f"may have {MOST_PROCESSORS:,}"
        )
    sizes = np.full(-(-processors // cores_per_node), cores_per_node, dtype=np.int64)
    sizes[-1] -= sizes.sum() - processors
    return site_of(sizes)


def nodes_of_site(site: Site, processors: int) -> Site:
    """Return the site for a machine of its size; PolicyError if it has another.

    A machine may also have one processor for each node, and may or may not count the nodes that
    are out of service.
    """
    total, count = int(site.sizes.sum()), len(site.sizes)
    if processors in (total, total + sum(site.down)):
        return site
    if processors in (count, count + len(site.down)):
        return site._replace(sizes=np.ones(count, dtype=np.int64))
    clauses = [f"{sum(site.down):,} in {len(site.down):,} nodes out of service"] * bool(site.down)
    clauses += [f"none in {site.future:,} nodes of State=FUTURE"] * bool(site.future)
    if site.without_cpus:
        clauses.append(f"one for each node of {listed(site.without_cpus)}, which has no CPUs=")
    raise PolicyError(
        f"{site.conf} has {', '.join([f'{total:,} CPUs in {count:,} nodes', *clauses])}, and the "
        f"machine of the workload has {processors:,} processors"
    )


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    site: Callable[[int], Site],
    settings: Mapping[str, int],
    associations: int = 1,
) -> Slurm:
    """Return the memory of a site, which its number of processors determines."""
    sized_site, count = site(processors), len(jobs.submit)
    nodes = new_nodes(jobs, sized_site.sizes, whole=sized_site.is_whole)
    parts = len(sized_site.partitions)
    columns = np.full((3, count), -1, dtype=np.int64)
    columns[PARTITION] = sized_site.default
    return Slurm(
        nodes,
        new_future(nodes, min(count, settings["bf_max_job_test"])),
        new_ranking(ORDER, jobs, generator),
        new_priority(sized_site.priority, sized_site.partitions, processors, associations),
        settings=np.array([settings[name] for name in PARAMETERS], dtype=np.int64),
        clock=np.array([LONG_AGO, FOREVER, 0], dtype=np.int64),
        candidates=np.empty(count, dtype=np.int64),
        cycles=np.array([sized_site.is_backfill, False]),
        planned=np.full(count, FOREVER),
        parts=np.stack(
            [bitmap_of(part.nodes, len(sized_site.sizes)) for part in sized_site.partitions]
        ),
        whole=np.array([sized_site.is_whole or part.is_whole for part in sized_site.partitions]),
        left=np.empty(len(nodes.usable), dtype=np.int64),
        blocked=np.zeros(parts, dtype=np.bool_),
        reserved=np.zeros(parts, dtype=np.int64),
        tried=np.zeros((int(jobs.user.max()) + 3, 1 + parts), dtype=np.int64),
        columns=columns,
    )


# A site's slurm.conf ----------------------------------------------------------------------------


class SlurmOfSite(NamedTuple):
    """What the scheduler of a site remembers, and the columns of jobs to come."""

    columns: np.ndarray  # (3, n) int64: PARTITION, ASSOCIATION and ACCOUNT of each job
    copied: np.ndarray  # (1,) int64 jobs whose columns the scheduler has
    slurm: Slurm


@kernel
def decide_on_site(cluster, jobs, memory):
    """One pass. The columns of jobs submitted since the last one are copied first."""
    columns, all_columns = memory.slurm.columns, memory.columns
    while memory.copied[0] < cluster.state[NEXT_JOB]:
        job = memory.copied[0]
        for row in range(len(columns)):
            columns[row, job] = all_columns[row, job]
        meet(memory.slurm.priority, columns[ASSOCIATION, job], columns[ACCOUNT, job])
        memory.copied[0] += 1
    decide(cluster, jobs, memory.slurm)


@kernel
def run_on_site(cluster, jobs, truth, memory):
    """The event loop with the policy of a site in it."""
    while advance(cluster, jobs, truth):
        decide_on_site(cluster, jobs, memory)


def policy_for(trace: Trace, name: str, site: Site, settings: Mapping[str, int]) -> Policy:
    """Return the policy of a site for the jobs of one trace.

    Raises PolicyError if the trace does not fit the site: see `nodes_of_site` and `columns_of`.
    """
    columns = columns_of(trace, nodes_of_site(site, trace.processors))
    make_site, count = partial(nodes_of_site, site), int(columns[ASSOCIATION].max()) + 1
    make = partial(new_memory, site=make_site, settings=settings, associations=count)

    def memory(jobs: Jobs, processors: int, generator: np.random.Generator) -> SlurmOfSite:
        slurm = make(jobs, processors, generator)
        return SlurmOfSite(columns, np.zeros(1, dtype=np.int64), slurm)

    return Policy(
        name,
        decide_on_site,
        run_on_site,
        memory,
        stateful=True,
        requested_starts=True,
        partitions=partial(partitions_of_site, site),
    )


def partitions_of_site(site: Site, trace: Trace) -> str:
    """Return the sizes of the partitions that a trace has jobs in, as `with_partitions` takes them.

    Partitions of the same nodes are one machine. Those that have some nodes in common are named as
    such. The text is empty if one partition alone has nodes.

    Raises PolicyError if the trace does not fit the site.
    """
    site = nodes_of_site(site, trace.processors)
    if sum(len(part.nodes) > 0 for part in site.partitions) == 1:
        return ""
    used = np.unique(columns_of(trace, site)[PARTITION])
    nodes = {part.name: frozenset(part.nodes.tolist()) for part in site.partitions}
    items: list[str] = []
    first: dict[frozenset[int], str] = {}
    for name in (site.partitions[number].name for number in used.tolist()):
        node_set = nodes[name]
        if node_set in first:
            items.append(f"{name}={first[node_set]}")
            continue
        items += [f"{name}&{first_name}" for met, first_name in first.items() if met & node_set]
        if not any(met & node_set for met in first):
            items.append(f"{name}={site.sizes[sorted(node_set)].sum()}")
        first[node_set] = name
    default = site.partitions[site.default].name
    if site.default in used and "&" not in "".join(items):
        items.append(f"*={first[nodes[default]]}")
    return ",".join(items)


def columns_of(trace: Trace, site: Site) -> np.ndarray:
    """Return PARTITION, ASSOCIATION and ACCOUNT of each job, (3, n) int64.

    The header of the log names the partitions. A job without one is in the default partition of
    the site. If the log names none and only one partition has nodes, all are in that one. If the
    log has no groups, all jobs have the same account.

    Raises PolicyError if a partition has no name or the site has no such partition, or if a job is
    larger than its partition.
    """
    columns = np.zeros((3, len(trace)), dtype=np.int64)
    records = np.full((len(trace), len(FIELDS)), -1.0) if trace.records is None else trace.records
    columns[PARTITION] = site.default
    if len(site.partitions) > 1:
        names = {int(m[1]): m[2] for m in map(NAMED.match, trace.header) if m}
        places = {part.name: place for place, part in enumerate(site.partitions)}
        numbers = records[:, PARTITION_FIELD].astype(np.int64)
        with_nodes = [place for place, part in enumerate(site.partitions) if len(part.nodes)]
        if not names and len(with_nodes) == 1:
            columns[PARTITION], numbers = with_nodes[0], np.zeros(len(trace), dtype=np.int64)
        elif not names:
            raise PolicyError(
                f"{trace.name} does not name the partitions of its jobs, and {site.conf} has "
                "several; bfenv workloads import keeps the names"
            )
        for number in np.unique(numbers[numbers > 0]).tolist():
            if names.get(number) not in places:
                raise PolicyError(
                    f"{site.conf} has no partition {names.get(number, number)}, in which "
                    f"{trace.name} has jobs; it has {listed(list(places))}"
                )
            columns[PARTITION, numbers == number] = places[names[number]]
    closed = np.array([part.is_closed for part in site.partitions])[columns[PARTITION]]
    if closed.any():
        job = int(np.argmax(closed))
        part = site.partitions[columns[PARTITION, job]].name
        raise PolicyError(
            f"the partition {part} of {site.conf} has a State in which no job starts, and job "
            f"{job} of {trace.name} is in it"
        )
    room = np.array([site.sizes[part.nodes].sum() for part in site.partitions])
    large = trace.jobs.size > room[columns[PARTITION]]
    if large.any():
        job = int(np.argmax(large))
        part = site.partitions[columns[PARTITION, job]].name
        raise PolicyError(
            f"job {job} of {trace.name} needs {trace.jobs.size[job]:,} processors, and the "
            f"partition {part} of {site.conf} has {room[columns[PARTITION, job]]:,}"
        )
    accounts, columns[ACCOUNT] = np.unique(records[:, GROUP], return_inverse=True)
    pairs = trace.jobs.user * len(accounts) + columns[ACCOUNT]
    columns[ASSOCIATION] = np.unique(pairs, return_inverse=True)[1]
    return columns


def slurm(
    parameters: str = "",
    *,
    conf: str | None = None,
    cores_per_node: int = 1,
    version: str = "23.11",
) -> Policy | BoundPolicy:
    """Make a policy that decides as Slurm's scheduler does.

    Args:
        parameters: SchedulerParameters of slurm.conf, as in "bf_max_job_test=50,bf_window=2880".
            They override those of `conf`.
        conf: Path of a site's slurm.conf: its nodes, partitions, priorities and
            SchedulerParameters.
        cores_per_node: Without `conf`: processors of a node. Jobs share nodes, but a reservation
            takes whole nodes.
        version: With `conf`: the version whose defaults count for what the file does not say.
            "23.11", also of later ones, has priority/multifactor and select/cons_tres; "22.05" has
            priority/basic and select/linear.

    Raises:
        FileNotFoundError: If there is no such `conf`.
        PolicyError: If Slurm has no such setting, or a value is out of range. With `conf`, also if
            the file cannot be read; the simulation raises it if the trace does not fit the site.

    Examples:
        >>> import bfenv
        >>> trace = bfenv.make_trace(
        ...     submit=[0, 1, 2], size=[3, 4, 1], runtime=[60, 60, 20], processors=4
        ... )
        >>> bfenv.simulate(trace, "slurm").start
        array([ 0, 60, 30])
    """
    cores_per_node = check_integer("cores_per_node", cores_per_node, 1, error=PolicyError)
    options = {"parameters": parameters, "conf": conf, "cores_per_node": cores_per_node}
    name = expression(slurm, options | {"version": version})
    settings, unmodelled = read_parameters(parameters)
    warn_of_unmodelled(tuple(unmodelled), "SchedulerParameters")
    source = "slurm.conf(5) and SchedMD's source, 22.05"
    if conf is None:
        return Policy(
            name,
            decide,
            run,
            partial(new_memory, site=partial(equal_nodes, cores_per_node), settings=settings),
            summary="what Slurm's main scheduler and its backfill start, on named nodes",
            source=source,
            stateful=True,
            requested_starts=True,
        )
    if cores_per_node != 1:
        raise PolicyError("cores_per_node: the file of conf has the nodes")
    site = read_conf(conf, version)
    with error_prefix(conf):  # what is wrong in the file, not in the option
        read_parameters(site.parameters, strict=False)
    settings, unmodelled = read_parameters(f"{site.parameters},{parameters}", strict=False)
    warn_of_unmodelled((*site.unmodelled, *unmodelled), conf)
    return BoundPolicy(
        name,
        partial(policy_for, name=name, site=site, settings=settings),
        f"what Slurm's scheduler starts with {conf}",
        source,
        requested_starts=True,
        partitions=partial(partitions_of_site, site),
    )
