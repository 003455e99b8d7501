"""What a job of Slurm holds: cores, nodes, GPUs, memory, or its dominant share of them."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial

from bfenv.core.arguments import check_choice
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.markers import is_nothing

# What was allocated, then what was requested: the first with a number counts. AllocNodes comes
# rounded, as "2K".
TRES = ("AllocTRES", "ReqTRES")
SIZES = {
    "cores": ("AllocCPUS", "NCPUS", "AllocTRES", "ReqCPUS", "ReqTRES"),
    "nodes": ("NNodes", "AllocNodes", "AllocTRES", "ReqNodes", "ReqTRES"),
    "gpus": TRES,
    "memory": TRES,
    "billing": TRES,
    "dominant": TRES,
}
NAMES = {"cores": "cpu", "nodes": "node", "gpus": "gpu", "memory": "mem", "billing": "billing"}
COUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]+)?)([KMG]?)", re.IGNORECASE)
AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]+)?)([KMGT]?)", re.IGNORECASE)
MULTIPLES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

Fields = dict[str, str]  # of a job, by sacct's name of the column
Capacity = dict[str, dict[str, int]]  # what partitions have, by name, "" for all; memory in MiB


def sizes_in(
    resource: str, capacity: str | None, processors: int | None, partitions: Collection[str] = ()
) -> tuple[Callable[[Fields], tuple[int, int]], int | None]:
    """Return a function for the processors that a job held and requested, and the machine's count.

    `resource`, `capacity` and `processors` are as in `read_sacct`. Only the partitions whose jobs
    are taken, none for all, need a capacity. Raises WorkloadError if there is no such resource, or
    the capacity is missing or cannot be read.
    """
    check_choice("resource", resource, SIZES, error=WorkloadError)
    has = read_capacity(capacity) if resource == "dominant" else {}
    if has and processors is None:
        processors = sum(partition["cpu"] for partition in has.values())
    return partial(sizes_of, resource, has, frozenset(partitions)), processors


def read_capacity(text: str | None) -> Capacity:
    """Read what partitions have, see `read_sacct`.

    Raises WorkloadError if it is missing or cannot be read, or a partition has no cpu.
    """
    if text is None:
        raise WorkloadError(
            "resource dominant needs the capacity of each partition, like "
            "'gpu: cpu=512,mem=4T,gpu=64; long: cpu=4096,mem=16T'"
        )
    capacity = {}
    for part in text.split(";"):
        name, colon, items = part.rpartition(":")
        try:
            has = _tres_amounts(items.strip())
        except ValueError as error:
            raise WorkloadError(f"capacity: {error}") from None
        if not all(amount > 0 for amount in has.values()) or "cpu" not in has:
            raise WorkloadError(f"capacity: {part.strip()!r:.60} has no positive cpu=N")
        capacity[name.strip() if colon else ""] = has
    return capacity


def sizes_of(
    resource: str, capacity: Capacity, partitions: Collection[str], fields: Fields
) -> tuple[int, int]:
    """Return the processors that a job held and requested, in units of a resource; 0 if unknown.

    Of a partition that is not among those taken, if any are, a capacity need not be known.
    """
    if resource == "dominant" and partitions and fields.get("Partition", "") not in partitions:
        return 1, 0
    size, request = 0, 0
    for column in SIZES[resource]:
        if column in TRES:
            amounts = _tres_amounts(fields.get(column) or "")
            count = _share(amounts, capacity, fields) if amounts and capacity else 0
            if not capacity:
                count = amounts.get(NAMES[resource], 0)
                count = -(-count // 1024) if resource == "memory" else count
        else:
            count = _count(fields, column)
        if column.startswith("Req"):
            request = request or count
        else:
            size = size or count
    if SIZES[resource] is TRES and fields.get("AllocTRES") and not size:
        request = 0  # what was allocated has none of it
    return size, request


def _share(amounts: Mapping[str, int], capacity: Capacity, fields: Fields) -> int:
    """Return the largest share of any resource, in cores of the job's partition."""
    partition = fields.get("Partition", "")
    has = capacity.get(partition) or capacity.get("")
    if has is None:
        raise ValueError(f"Partition: no capacity of {partition[:40]!r} is given")
    shares = (amounts.get(name, 0) * has["cpu"] / amount for name, amount in has.items())
    return math.ceil(max(shares) - 1e-9)


def _count(fields: Fields, column: str) -> int:
    """Return a number of CPUs or nodes, which Slurm may print as 2K for 2048; 0 for none."""
    text = fields.get(column)
    if not text or is_nothing(text):
        return 0
    if len(text) <= 12 and text.isdecimal() and text.isascii():  # most of a log
        return int(text)
    match = COUNT.fullmatch(text)
    if not match:
        raise ValueError(f"{column}: {text[:40]!r} is not a number")
    return round(float(match[1]) * MULTIPLES[match[2].upper()])


@lru_cache(maxsize=1 << 14)
def _tres_amounts(text: str) -> dict[str, int]:
    """Read "cpu=4,mem=16G,gres/gpu=2": amounts by name, mem in MiB, billing rounded up."""
    amounts: dict[str, int] = {}
    typed = 0  # GPUs of a named type, which are also in gres/gpu unless the site does not track it
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        match = AMOUNT.fullmatch(value.strip())
        kind = name.strip().removeprefix("gres/")
        is_typed = kind.startswith("gpu:")
        if kind not in ("cpu", "mem", "gpu", "node", "billing") and not is_typed:
            continue  # other resources
        if not match:
            raise ValueError(f"TRES: {item[:40]!r} is not an amount")
        amount = float(match[1]) * MULTIPLES[match[2].upper()]
        mebi = amount / 2**20 if match[2] else amount  # sacct prints memory in MiB by default
        if is_typed:
            typed += math.ceil(amount)
        else:
            amounts[kind] = math.ceil(mebi if kind == "mem" else amount)
    return {"gpu": typed, **amounts} if typed else amounts
