"""The policy `slurm` on a live queue, where jobs run on the nodes that Slurm says."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import PROCESSORS, Cluster
from bfenv.core.competitor import BoundPolicy, Competitor
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.policy import Policy
from bfenv_site.futures.futures import KnownMachine
from bfenv_site.slurm.conf import Multifactor, Partition, Site
from bfenv_site.slurm.conf_lines import error_prefix, expand_names
from bfenv_site.slurm.nodes import open_on
from bfenv_site.slurm.scheduler import PARTITION, Slurm, decide, plan_all, run
from bfenv_site.slurm.site import new_memory, policy_for

NodeOfSite = tuple[str, int, tuple[str, ...]]  # name, processors, and partitions


def on_live_queue(
    competitor: Competitor,
    processors: int,
    nodes: Sequence[NodeOfSite],
    jobs: Sequence[tuple[str, str]],
    coming: str = "",
    new: str = "",
) -> Policy:
    """Return the policy `slurm` for a live queue; another policy is returned as it is.

    Jobs come in the order of their priorities there, whatever the site computes these from.

    * `competitor`: a policy, or `slurm` with a slurm.conf.
    * `processors`: of the machine.
    * `nodes`: those that are up; none if they are not known.
    * `jobs`: of each job its partition, and its nodes as Slurm lists them, empty if it waits.
    * `coming`, `new`: the partitions of jobs to come, and of one that is submitted now; that of a
      slurm.conf for a partition that is empty or not known.

    Raises PolicyError if slurm.conf does not have one of the nodes, or the partition `new`, or if
    the competitor makes whole schedules.
    """
    maker = _maker(competitor)
    if maker is None:
        return find_policy(competitor)
    site = maker.keywords["site"]
    site = _site_now(site if isinstance(site, Site) else site(processors), nodes)
    site = _with_unions(site, [partition for partition, _ in jobs])
    numbers = {name: number for number, name in enumerate(site.names)}
    parts = {part.name: number for number, part in enumerate(site.partitions)}
    if site.conf and new and new not in parts:
        raise PolicyError(f"{site.conf} has no partition {new}, which sinfo has")
    site = site._replace(default=parts.get(coming, site.default))
    places = {}
    for job, (_, names) in enumerate(jobs):
        with error_prefix("squeue"):
            node_numbers = [numbers.get(name, -1) for name in expand_names(names)]
        if node_numbers and min(node_numbers) >= 0:
            places[job] = node_numbers
    first = [
        parts.get(partition, parts.get(partition.partition(",")[0], site.default))
        for partition, _ in jobs
    ]
    memory = partial(
        live_memory,
        site=site,
        settings=maker.keywords["settings"],
        parts=np.array(first, dtype=np.int64),
        new=parts.get(new, site.default),
        places=places,
    )
    return Policy(competitor.name, decide, run, memory, stateful=True, requested_starts=True)


def knows_partitions(competitor: Competitor) -> bool:
    """Tell whether a policy is `slurm`, which follows the partitions of a live queue."""
    return _maker(competitor) is not None


def partitions_of_conf(competitor: Competitor) -> tuple[dict[str, int], str]:
    """Return the processors of each partition in the slurm.conf of a policy, and the default one.

    There are none, and no default, without a slurm.conf.
    """
    maker = _maker(competitor)
    site = None if maker is None else maker.keywords["site"]
    if not isinstance(site, Site):
        return {}, ""
    sizes = {part.name: int(site.sizes[part.nodes].sum()) for part in site.partitions}
    return sizes, site.partitions[site.default].name


def _maker(competitor: Competitor) -> partial[Any] | None:
    """Return what makes the policy `slurm`, with its site and settings; None of other policies."""
    maker: Any
    if isinstance(competitor, BoundPolicy):
        maker = competitor.bind
    else:
        maker = find_policy(competitor).memory
    is_slurm = isinstance(maker, partial) and maker.func in (policy_for, new_memory)
    return maker if is_slurm else None


def _with_unions(site: Site, partitions: Sequence[str]) -> Site:
    """Return a site with a partition for each list of several that a job may run in."""
    by_name = {part.name: part for part in site.partitions}
    added = []
    for text in dict.fromkeys(partitions):
        several = [by_name[name] for name in text.split(",") if name in by_name]
        if "," in text and several:
            nodes = np.unique(np.concatenate([part.nodes for part in several]))
            tier, factor = max(part.tier for part in several), max(part.factor for part in several)
            is_whole = all(part.is_whole for part in several)
            added.append(Partition(text, nodes, tier, factor, is_whole))
    return site._replace(partitions=(*site.partitions, *added))


def _site_now(site: Site, nodes: Sequence[NodeOfSite]) -> Site:
    """Return a site with the nodes that are up; without a slurm.conf, they say which there are."""
    site = site._replace(priority=Multifactor())
    if not nodes:
        return site
    size = {name: processors for name, processors, _ in nodes}
    if not site.names:
        parts = [
            Partition(
                part, np.array([i for i, node in enumerate(nodes) if part in node[2]], np.int64)
            )
            for part in dict.fromkeys(part for node in nodes for part in node[2])
        ]
        return Site(np.array([*size.values()]), tuple(parts), 0, names=tuple(size))
    unknown = [name for name in size if name not in {*site.names, *site.absent}]
    if unknown:
        raise PolicyError(f"{site.conf} has no node {unknown[0]}, which sinfo has")
    site = _with_nodes(site, [node for node in nodes if node[0] not in site.names])
    kept = [number for number, name in enumerate(site.names) if name in size]
    new = {old: number for number, old in enumerate(kept)}
    return site._replace(
        sizes=np.array([size[site.names[old]] for old in kept], dtype=np.int64),
        names=tuple(site.names[old] for old in kept),
        partitions=tuple(
            part._replace(
                nodes=np.array([new[n] for n in part.nodes.tolist() if n in new], dtype=np.int64)
            )
            for part in site.partitions
        ),
    )


def _with_nodes(site: Site, nodes: Sequence[NodeOfSite]) -> Site:
    """Return a site with more nodes: those out of service in slurm.conf that take jobs by now."""
    first = len(site.names)
    return site._replace(
        sizes=np.append(site.sizes, np.array([node[1] for node in nodes], dtype=np.int64)),
        names=(*site.names, *(node[0] for node in nodes)),
        partitions=tuple(
            part._replace(
                nodes=np.append(
                    part.nodes,
                    [first + i for i, node in enumerate(nodes) if part.name in node[2]],
                ).astype(np.int64)
            )
            for part in site.partitions
        ),
    )


def live_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    site: Site,
    settings: Mapping[str, int],
    parts: np.ndarray,
    new: int,
    places: Mapping[int, Sequence[int]],
) -> Slurm:
    """Return the memory of a site on which jobs run already.

    * `parts`: (k,) int64 partition of each of the first jobs, which are the queue.
    * `new`: partition of a job behind them that is submitted now.
    * `places`: the nodes of those that run, by number.
    """
    memory = new_memory(jobs, processors, generator, site=lambda _: site, settings=settings)
    memory.columns[PARTITION, jobs.submit < FOREVER] = new  # jobs to come have no submit time yet
    memory.columns[PARTITION, : len(parts)] = parts
    for job, numbers in places.items():
        open_on(memory.nodes, job, int(jobs.size[job]), numbers)
    memory.nodes.last_pass[0] = -1  # the first pass finds nodes for the other jobs that run
    return memory


def is_slurm(policy: Policy) -> bool:
    """Tell whether a policy is `slurm` on a live queue."""
    return isinstance(policy.memory, partial) and policy.memory.func is live_memory


def planned_starts(policy: Policy, machine: KnownMachine) -> np.ndarray:
    """Return the map of the backfill's cycle now: when each job is to start, (k,) int64 seconds.

    It is what `squeue --start` shows: FOREVER for a job without a reservation.

    * `policy`: `slurm` on a live queue.
    * `machine`: its machine; other or more jobs may wait on it.
    """
    cluster = Cluster(*(column.copy() for column in machine.cluster))
    jobs = Jobs(*machine.requests)
    processors, generator = int(cluster.state[PROCESSORS]), np.random.default_rng(0)
    memory: Slurm = policy.memory(jobs, processors, generator)
    plan_all(cluster, jobs, memory)
    return memory.planned
