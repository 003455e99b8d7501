"""Live queues: what squeue and sinfo print, and forecasts from it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import bfenv
from bfenv.core.jobs import FOREVER
from bfenv_site.forecasts.knowledge import UNLIMITED, places
from bfenv_site.live.live_queue import forecaster_of_queue
from bfenv_site.live.nodes import read_sinfo
from bfenv_site.live.squeue import read_squeue
from bfenv_site.slurm.conf_lines import expand_names
from bfenv_site.slurm.live import planned_starts
from site_helpers.queues import QUEUE

NOW = 1_767_226_200
NODES = """\
n1|4|allocated|main
n2|4|mixed|main
n2|4|mixed|fat
n3|4|down*|main
n4|4|drained|main
"""
JSON = {
    "jobs": [
        {
            "job_id": 11, "user_name": "ann", "job_state": ["RUNNING"],
            "cpus": {"set": True, "number": 4}, "time_limit": {"set": True, "number": 60},
            "submit_time": {"set": True, "number": 1767225000}, "state_reason": "None",
            "start_time": {"set": True, "number": 1767225600}, "priority": 100,
        },
        {
            "job_id": 12, "user_name": "bob", "job_state": "RUNNING", "cpus": 4, "time_limit": 30,
            "submit_time": 1767225000, "start_time": 1767225900, "priority": 100,
        },
        {
            "job_id": 13, "user_name": "ann", "job_state": ["PENDING"], "cpus": 8,
            "time_limit": 60, "submit_time": 1767226000, "start_time": 0, "priority": 50,
            "state_reason": "Resources",
        },
        {
            "job_id": 14, "user_name": "eve", "job_state": ["PENDING"], "cpus": 1,
            "time_limit": 10, "submit_time": 1767226100, "priority": 90,
        },
        {
            "job_id": 15, "user_name": "eve", "job_state": ["PENDING"], "cpus": 1,
            "time_limit": {"set": False, "infinite": True, "number": 0},
            "submit_time": 1767226150, "priority": 40,
        },
        {
            "job_id": 16, "user_name": "eve", "job_state": ["PENDING"], "cpus": 1, "hold": True,
            "time_limit": 10, "submit_time": 1767226150, "array_task_string": "0-9:2,20",
        },
        {
            "job_id": 17, "user_name": "eve", "job_state": ["PENDING"], "cpus": 1,
            "time_limit": 10, "submit_time": 1767226150, "state_reason": "Dependency",
        },
    ],
    "last_update": {"set": True, "number": NOW},
}  # fmt: skip
for _job, _nodes in zip(JSON["jobs"], ("n1", "n2", *[""] * 5), strict=True):
    _job |= {"partition": "main", "nodes": _nodes, "nice": {"set": True, "number": 0}}


@pytest.fixture
def queue(tmp_path):
    path = tmp_path / "queue.txt"
    path.write_text(QUEUE)
    return path


def test_text_and_json_agree(queue, tmp_path):
    """Both outputs of squeue hold the same queue at the same instant."""
    path = tmp_path / "queue.json"
    path.write_text(json.dumps(JSON))
    from_text, from_json = read_squeue(queue), read_squeue(path)
    assert from_text.time == from_json.time == NOW
    for snapshot in (from_text, from_json):
        assert [entry.reason for entry in snapshot.apart] == ["JobHeld"] * 6 + ["Dependency"]
    assert [entry._replace(reason="") for entry in from_text.entries] == [
        entry._replace(reason="") for entry in from_json.entries
    ]
    assert [entry.end for entry in from_text.ended] == [NOW - 50]
    queue.write_text(QUEUE.replace("bob|RUNNING", "bob|COMPLETING").replace("1767225900", "N/A"))
    assert read_squeue(queue).entries[1].start == 1767225000  # is requeued, and has its nodes


@pytest.mark.parametrize(
    ("states", "runs"),
    [
        (["COMPLETING"], True),
        (["TIMEOUT", "COMPLETING"], True),
        ("RUNNING", True),
        (["RUNNING", "CONFIGURING"], True),
        (["CONFIGURING", "POWER_UP_NODE"], True),
        (["PENDING", "COMPLETING"], True),
        (["PENDING", "REQUEUED"], False),
        ("PENDING", False),
    ],
    ids=str,
)
def test_states_of_json(states, runs, tmp_path):
    """A job has several states at once; what still has its nodes runs, whatever it is besides."""
    path, job = tmp_path / "queue.json", JSON["jobs"][0] | {"job_state": states}
    path.write_text(json.dumps({"jobs": [job, JSON["jobs"][3]]}))
    assert [entry.runs for entry in read_squeue(path).entries] == [runs, False]


def test_short_states(queue):
    """%t prints the states of %T in two letters."""
    long = read_squeue(queue)
    names = {"RUNNING": "R", "PENDING": "PD", "SPECIAL_EXIT": "SE", "COMPLETED": "CD"}
    queue.write_text(re.sub("|".join(names), lambda match: names[match[0]], QUEUE))
    short = read_squeue(queue)
    assert short == long


@pytest.mark.parametrize(
    ("minutes", "limit"),
    [
        (90, 5400),
        ({"set": True, "infinite": False, "number": 90}, 5400),
        ({"set": False, "infinite": True, "number": 0}, UNLIMITED),
        (2**32 - 1, UNLIMITED),
        ({"set": False, "infinite": False, "number": 0}, 0),
        (2**32 - 2, 0),
        (None, 0),
    ],
    ids=str,
)
def test_limits_of_json(minutes, limit, tmp_path):
    """Minutes, no limit, and a limit that is not said, in the forms of Slurm 21.08 to 25.05."""
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"jobs": [JSON["jobs"][0] | {"time_limit": minutes}]}))
    assert [entry.limit for entry in read_squeue(path).entries] == [limit]


def test_suspended(queue, tmp_path):
    """A suspended job is left out, and others may use its processors now."""
    path = tmp_path / "queue.json"
    path.write_text(json.dumps(JSON).replace('["RUNNING"]', '["SUSPENDED"]'))
    queue.write_text(QUEUE.replace("ann|RUNNING", "ann|SUSPENDED"))
    for file in (queue, path):
        forecaster = forecaster_of_queue(file, processors=8, futures=9)
        assert forecaster.waiting(["14"]).plan == 0  # 12 uses four, 13 waits for all
        assert "left out, because of SUSPENDED: 1 job" in forecaster.notes


def test_nodes(tmp_path):
    """Nodes that are down or drained do not count, and each node counts once."""
    path = tmp_path / "nodes.txt"
    path.write_text(NODES)
    assert [(node.is_up, node.is_lost) for node in read_sinfo(path)] == [
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]
    assert [node.partitions for node in read_sinfo(path)][1] == ("main", "fat")


def test_groups_of_equal_nodes(tmp_path):
    """Without -N, sinfo prints lists of equal nodes."""
    path = tmp_path / "nodes.txt"
    path.write_text("n[1-2]|4|allocated|main*\nn2,n[03-04]|4|idle|fat\n")
    assert [(node.name, node.partitions) for node in read_sinfo(path)] == [
        ("n1", ("main",)), ("n2", ("main", "fat")), ("n03", ("fat",)), ("n04", ("fat",)),
    ]  # fmt: skip
    path.write_text("n[1-2|4|allocated|main*\n")
    with pytest.raises(bfenv.BfenvError, match="nodes.txt, line 1: a bracket in 'n\\[1-2' has no"):
        read_sinfo(path)


NODES_OF_SCONTROL = {
    "nodes": [
        {"name": "n1", "cpus": 4, "state": ["ALLOCATED"], "partitions": ["main"]},
        {"name": "n2", "cpus": 4, "state": "mixed", "state_flags": [], "partitions": "main,fat"},
        {"name": "n3", "cpus": 4, "state": ["DOWN", "NOT_RESPONDING"], "partitions": ["main"]},
        {"name": "n4", "cpus": 4, "state": "idle", "state_flags": ["FAIL"], "partitions": ["main"]},
    ]
}


def _group(names, state, partition):
    """A group of nodes as sinfo --json prints it."""
    return {
        "node": {"state": state},
        "nodes": {"total": len(names), "nodes": names},
        "cpus": {"total": 4 * len(names), "minimum": 4, "maximum": 4},
        "partition": {"name": partition},
    }


NODES_OF_SINFO = {
    "sinfo": [
        _group(["n1"], ["ALLOCATED"], "main"),
        _group(["n2"], ["MIXED"], "main"),
        _group(["n2"], ["MIXED"], "fat"),
        _group(["n3", "n4"], ["DOWN", "DRAIN"], "main"),
    ]
}


@pytest.mark.parametrize("content", [NODES_OF_SCONTROL, NODES_OF_SINFO], ids=["scontrol", "sinfo"])
def test_nodes_of_json(content, tmp_path):
    """Both commands' JSON says what sinfo prints as text, in the forms of older and newer Slurm."""
    text, path = tmp_path / "nodes.txt", tmp_path / "nodes.json"
    text.write_text("NODELIST|CPUS|STATE|PARTITION\n" + NODES)
    path.write_text(json.dumps(content))
    assert read_sinfo(path) == read_sinfo(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"jobs": []}, "not the output of sinfo --json or scontrol show nodes --json"),
        (
            {"nodes": [{"name": "n1", "cpus": 4}]},
            "a node lacks its name, its number of cpus, its state",
        ),
        (
            {"nodes": [{"name": "n1", "state": ["IDLE"], "cpus": "many"}]},
            "node 'n1': 'many' is not",
        ),
        ({"sinfo": [3]}, "a node lacks its name"),
    ],
)
def test_no_nodes_of_json(content, message, tmp_path):
    """What is missing is named."""
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(content))
    with pytest.raises(bfenv.BfenvError, match=message):
        read_sinfo(path)


def test_order_and_plan(queue, tmp_path):
    """Jobs wait in Slurm's order; the plan by limits is solved by hand."""
    nodes = tmp_path / "nodes.txt"
    nodes.write_text(NODES)
    forecaster = forecaster_of_queue(queue, sinfo=nodes, partition="main", futures=200)
    forecast = forecaster.waiting()
    assert forecast.job == ("14", "13", "15")  # by priority
    # 12 ends in 25 min, 11 in 50 min; 14 starts first, then all of the machine for 13, then 15.
    assert forecast.plan.tolist() == [25 * 60, 50 * 60, 110 * 60]
    assert forecast.waited.tolist() == [100, 200, 50] and forecast.policy == "slurm"
    assert (forecast.samples <= forecast.plan[:, None]).all()  # no job arrives, none runs longer
    assert forecast.limit.tolist() == [600, 3600, UNLIMITED]
    text = " ".join(forecast.notes)
    assert "JobHeld: 6 jobs" in text and "Dependency: 1 job" in text and "no job has ended" in text
    assert forecaster.new(2, 10**7).job == ("new",)  # no log says which limits there are
    only = forecaster.waiting(["13"])
    assert np.array_equal(only.plan, forecast.plan[1:2])


def test_history(queue, site, tmp_path):
    """A history tells the runtimes of users by name, and jobs arrive as in it."""
    log = site.read_text().replace("UnixStartTime: 1767225600", f"UnixStartTime: {NOW - 400_000}")
    path = tmp_path / "history.swf"
    trace = bfenv.load_workload(str(site))
    records = [line.split() for line in log.splitlines() if not line.startswith(";")]
    for fields in records:
        fields[11] = "7" if int(fields[0]) % 2 else "5"
    header = [line for line in log.splitlines() if line.startswith(";")]
    path.write_text("\n".join(header + [" ".join(fields) for fields in records]) + "\n")
    users = tmp_path / "users.csv"
    users.write_text('kind,number,name\n"user",5,"ann"\n"user",7,"eve"\n"group",1,"ann"\n')
    options = {"history": str(path), "futures": 50}
    forecaster = forecaster_of_queue(queue, users=users, **options)
    assert forecaster.knowledge.machine.cluster.state[2] == trace.processors == 64
    requests = forecaster.knowledge.machine.requests
    assert sorted(requests[3].tolist()) == [-1, 0, 0, 1, 1]  # ann, eve, and bob who is new
    forecast = forecaster.waiting()
    assert forecast.job == ("14", "13", "15") and not any(
        "ended" in note for note in forecast.notes
    )


@pytest.mark.parametrize("turn", [1, -1])
def test_jobs_to_come(turn, queue, site, tmp_path):
    """Jobs to come are in one partition.

    It is the largest if none is marked, whichever comes first, and a note names it.
    """
    log = site.read_text().replace("UnixStartTime: 1767225600", f"UnixStartTime: {NOW - 400_000}")
    history, nodes = tmp_path / "history.swf", tmp_path / "nodes.txt"
    history.write_text(log)
    nodes.write_text("\n".join(NODES.splitlines()[::turn]))
    forecaster = forecaster_of_queue(queue, sinfo=nodes, history=str(history), futures=2)
    note = "partitions of jobs to come are not known: all are taken to be in main"
    assert note in forecaster.notes
    nodes.write_text(NODES.replace("fat", "fat*"))
    forecaster = forecaster_of_queue(queue, sinfo=nodes, history=str(history), futures=2)
    assert note.replace("main", "fat") in forecaster.notes


def test_late_history(queue, site, tmp_path):
    """A history that begins after the queue was printed is refused, with both times."""
    log = site.read_text().replace("UnixStartTime: 1767225600", f"UnixStartTime: {NOW + 60}")
    history = tmp_path / "history.swf"
    history.write_text(log)
    message = "begins at 2026-01-01 00:11 UTC, after .*queue.txt was printed \\(2026-01-01 00:10"
    with pytest.raises(bfenv.BfenvError, match=message):
        forecaster_of_queue(queue, history=str(history))


def test_job_before_history(queue, site, tmp_path):
    """A job that runs since before the history runs on.

    It does not wait again because the log begins after its start.
    """
    log = site.read_text().replace("UnixStartTime: 1767225600", f"UnixStartTime: {NOW - 100}")
    history = tmp_path / "history.swf"
    history.write_text(log)
    forecaster = forecaster_of_queue(queue, history=str(history), futures=5)
    assert forecaster.waiting().job == ("14", "13", "15")


def test_given_time(queue):
    """A given time must agree with the clock of running jobs.

    It may be some minutes late; without running jobs, any later time is taken.
    """
    assert forecaster_of_queue(queue, processors=8, at=NOW + 300).knowledge.time == NOW + 300
    with pytest.raises(bfenv.BfenvError, match="was printed at 2026-01-01 00:10 UTC, as its runn"):
        forecaster_of_queue(queue, processors=8, at=NOW + 3600)
    queue.write_text("\n".join(QUEUE.splitlines()[2:]))
    assert forecaster_of_queue(queue, processors=8, at=NOW + 3600).knowledge.time == NOW + 3600


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (("|4|1:00:00|", "|9|1:00:00|"), {}, "running jobs use 13 processors of a machine that"),
        (("1767226000", "2026-01-01T00:06:40"), {}, "has no time zone; set SLURM_TIME_FORMAT=%s"),
        (("|90|Priority", "|90"), {}, "line 4: 12 fields, not 13; print it with SLURM_TIME"),
        (
            ("11|ann", "slurm_load_jobs error: Unable to"),
            {},
            "line 1: says 'slurm_load_jobs error: ",
        ),
        (("|100|None", "|high|None"), {}, "'high' is not a whole number"),
        (("", ""), {"processors": None}, "how large is the machine"),
        (("", ""), {"history": "lublin:jobs=50"}, "does not say when it began"),
        (("30:00|", "2:30:00:00|"), {}, "line 2: '2:30:00:00' is not a duration"),
        (("RUNNING", "COMPLETED"), {"left": 1}, "no job runs or waits"),
    ],
    ids=str,
)
def test_bad_input(change, options, message, tmp_path):
    """Each mistake is named."""
    text = QUEUE.splitlines()[0] + "\n" if options.pop("left", 0) else QUEUE
    path = tmp_path / "queue.txt"
    path.write_text(text.replace(*change) if change[0] else text)
    with pytest.raises(bfenv.BfenvError, match=message):
        forecaster_of_queue(path, **({"processors": 8} | options))


def test_no_json_of_squeue(tmp_path):
    """Other JSON is refused."""
    path = tmp_path / "queue.json"
    path.write_text('{"nodes": []}')
    with pytest.raises(bfenv.BfenvError, match="not the output of squeue --json"):
        read_squeue(path)
    path.write_text('{"jobs": [{"job_id": 3, "job_state": ["PENDING"]}]}')
    with pytest.raises(bfenv.BfenvError, match="job 3 has no number of cpus"):
        read_squeue(path)


# Queues of Debian's Slurm 22.05.8, and what `squeue --start` said in them, after a cycle of the
# backfill in which nothing started. A job that runs is [number, size, limit, time run, nodes], one
# that waits [number, size, limit, priority, partition, seconds up to its planned start, or null].
PLANS = json.loads((Path(__file__).parent / "plans.json").read_text())
# Where the plan differs: on nodes of several CPUs, squeue does not say which jobs have how many
# CPUs on each.
DIFFER = {"nodes of four CPUs that jobs share": {"20", "21", "27", "29"}}


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case["what"])
def test_plan_of_squeue(case, tmp_path):
    """With limits for runtimes, `slurm` plans to the minute what the real one does."""
    now, lines = case["now"], []
    for job, size, limit, ran, nodes in case["running"]:
        lines.append(
            f"{job}|ann|RUNNING|{size}|{limit // 60}:00|{now - ran}|{now - ran}|{ran}|9|None|"
            f"{case['waiting'][0][4]}|{nodes}|0"
        )
    for job, size, limit, priority, part, _ in case["waiting"]:
        lines.append(
            f"{job}|ann|PENDING|{size}|{limit // 60}:00|{now - 9}|N/A|0:00|{priority}|Priority|"
            f"{part}||0"
        )
    queue, nodes, conf = (tmp_path / name for name in ("queue.txt", "nodes.txt", "slurm.conf"))
    queue.write_text("\n".join(lines))
    names = [f"n{i + 1}" for i in range(case["nodes"])]
    parts = dict(re.findall(r"PartitionName=(\w+) Nodes=(\S+)", "\n".join(case["conf"])))
    nodes.write_text(
        "\n".join(
            f"{name}|{case['processors']}|mixed|{part}"
            for part, of_part in (parts or {"main": "ALL"}).items()
            for name in (names if of_part == "ALL" else expand_names(of_part))
        )
    )
    policy = "slurm"
    if case["conf"]:
        lines = [f"NodeName=n[1-{case['nodes']}] CPUs={case['processors']}", *case["conf"]]
        conf.write_text("\n".join(lines))
        policy = f"slurm(conf='{conf}')"
    forecaster = forecaster_of_queue(queue, sinfo=nodes, policy=policy, futures=1)
    machine, waiting = forecaster.knowledge.machine, forecaster.knowledge.queue
    planned = planned_starts(forecaster.planner, machine)[places(machine.job, waiting)]
    real = {str(job): np.inf if at is None else at for job, *_, at in case["waiting"]}
    differ, plan = set(), forecaster.waiting().plan
    for number, begin, by_limits in zip(waiting.tolist(), planned, plan, strict=True):
        job, begin = forecaster.live[number].name, np.inf if begin == FOREVER else begin - now
        if begin != real[job] and not abs(begin - real[job]) < 60:
            differ.add(job)
        assert by_limits == begin if begin < np.inf else by_limits > 0
    assert differ == DIFFER.get(case["what"], set())


@pytest.mark.parametrize("line", ["DownNodes=n2", "NodeName=n2 CPUs=4 State=FUTURE"])
def test_returned_nodes(line, queue, tmp_path):
    """slurm.conf says how nodes begin: one that sinfo has up takes jobs, in its partitions."""
    nodes, conf = tmp_path / "nodes.txt", tmp_path / "slurm.conf"
    nodes.write_text(NODES)
    names = "n[1,3-4]" if "FUTURE" in line else "n[1-4]"
    conf.write_text(f"NodeName={names} CPUs=4\n{line}\nPartitionName=main Nodes=ALL")
    forecasts = [
        forecaster_of_queue(queue, sinfo=nodes, policy=policy, futures=20).waiting()
        for policy in ("slurm", f"slurm(conf='{conf}')")
    ]
    assert forecasts[0].plan.tolist() == forecasts[1].plan.tolist()


def test_futures_under_slurm(queue, tmp_path):
    """They follow the nodes that squeue names; without squeue's partition, the default counts."""
    nodes = tmp_path / "nodes.txt"
    nodes.write_text(NODES)
    conf = tmp_path / "slurm.conf"
    conf.write_text("NodeName=n[1-4] CPUs=4\nPartitionName=main Nodes=ALL")
    for policy in ("slurm", f"slurm(conf='{conf}')"):
        forecast = forecaster_of_queue(queue, sinfo=nodes, policy=policy, futures=50).waiting()
        assert (forecast.samples <= forecast.plan[:, None]).all()
    conf.write_text("NodeName=n[2-4] CPUs=4\nPartitionName=main Nodes=ALL")
    with pytest.raises(bfenv.BfenvError, match="slurm.conf has no node n1, which sinfo has"):
        forecaster_of_queue(queue, sinfo=nodes, policy=policy)


def test_default_partition(queue, tmp_path):
    """The default partition of slurm.conf counts where sinfo marks none.

    A partition that slurm.conf lacks is refused.
    """
    nodes, conf = tmp_path / "nodes.txt", tmp_path / "site.conf"
    nodes.write_text(NODES)
    conf.write_text(
        "NodeName=n[1-4] CPUs=4\nPartitionName=main Nodes=ALL\n"
        "PartitionName=fat Nodes=n2 Default=YES"
    )
    options = {"sinfo": nodes, "policy": f"slurm(conf='{conf}')", "futures": 2}
    forecast = forecaster_of_queue(queue, **options).new(1, 60)
    assert "the new job is in partition fat" in forecast.notes
    conf.write_text("NodeName=n[1-4] CPUs=4\nPartitionName=main Nodes=ALL")
    with pytest.raises(bfenv.BfenvError, match=f"{conf} has no partition fat, which sinfo has"):
        forecaster_of_queue(queue, partition="fat", **options)
