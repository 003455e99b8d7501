"""What live queues of real sites have, by kind: nodes, reasons, throttles, limits and clocks.

Each case is a queue in the form that squeue prints and as its JSON.
"""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.core.durations import HOUR, parse_duration
from bfenv.core.errors import BfenvError
from bfenv_site.forecasts.knowledge import UNLIMITED
from bfenv_site.forecasts.when_text import prometheus_text
from bfenv_site.live.live_queue import forecaster_of_queue
from bfenv_site.live.nodes import nodes_of
from bfenv_site.live.reasons import is_for_processors, reason_name
from bfenv_site.live.squeue import read_squeue, snapshot_of
from site_helpers.queues import FORMS, NOW, as_json, as_text, job, left_out, runs


@pytest.fixture(params=FORMS)
def ask(request, tmp_path):
    """Make a forecaster of jobs and nodes, each of 4 processors, in one of the forms."""

    def ask(jobs, nodes=(), clock=True, **options):
        """Write the queue and the nodes, and return the forecaster; no warning is given."""
        queue, sinfo = tmp_path / "queue", tmp_path / "nodes.txt"
        queue.write_text((as_text if request.param == "text" else as_json)(jobs, clock))
        if nodes:
            lines = [node if node.count("|") == 2 else f"{node}|cpu" for node in nodes]
            sinfo.write_text("\n".join("{}|4|{}|{}".format(*line.split("|")) for line in lines))
            options["sinfo"] = sinfo
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return forecaster_of_queue(queue, futures=60, **options)

    return ask


# New jobs and partitions -----------------------------------------------------------------------

BUSY_GPU = [runs("1", "g1", partition="gpu")]  # for 50 minutes more, by its limit


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(("partition", "wait"), [("cpu", 0), ("gpu", 3000)])
def test_named_partition(partition, wait, turn, ask):
    """A new job is in the partition that is named, whatever sinfo lists first or marks."""
    nodes = ["c1|idle|cpu*", "g1|allocated|gpu"][::turn]
    forecast = ask(BUSY_GPU, nodes, partition=partition).new(4, 3600)
    assert forecast.plan.tolist() == [wait]
    assert f"the new job is in partition {partition}" in forecast.notes


@pytest.mark.parametrize("turn", [1, -1])
def test_marked_partition(turn, ask):
    """Without a name, a new job is in the partition that sinfo marks."""
    forecast = ask(BUSY_GPU, ["c1|idle|cpu", "g1|allocated|gpu*"][::turn]).new(4, 3600)
    assert forecast.plan.tolist() == [3000] and forecast.samples[0, 0] > 0


def test_no_default_partition(ask):
    """Without a mark or a name a new job is refused, and so is an unknown name."""
    nodes = ["c1|idle|cpu", "g1|allocated|gpu"]
    with pytest.raises(BfenvError, match="new job\\? Choose one of cpu, gpu with --partition"):
        ask(BUSY_GPU, nodes).new(4, 3600)
    with pytest.raises(BfenvError, match="partition fat is not known: there are cpu, gpu"):
        ask(BUSY_GPU, nodes, partition="fat")
    with pytest.raises(BfenvError, match="--partition needs --sinfo"):
        ask(BUSY_GPU, processors=8, partition="gpu")


def test_partition_size(ask):
    """A new job is at most as large as what works of its partition, also for Prometheus."""
    nodes = ["c1|idle|cpu", "g1|allocated|gpu", "g2|down|gpu"]
    forecaster = ask(BUSY_GPU, nodes, partition="gpu")
    with pytest.raises(BfenvError, match="8 processors is larger than partition gpu of queue, wh"):
        forecaster.new(8, 3600)
    text = prometheus_text(forecaster)
    sizes = re.findall('partition="gpu",processors="([0-9]+)"', text)
    assert set(sizes) == {"1", "4"} and "Inf" not in text
    assert "\n# the new job is in partition gpu\n" in text


# Nodes and partitions ---------------------------------------------------------------------------


def test_nodes_of_partition(ask):
    """A job waits for the nodes of its partition, though those of another are idle."""
    nodes = ["c1|idle|cpu", "c2|idle|cpu", "g1|allocated|gpu"]
    jobs = [runs("1", "g1", partition="gpu"), job("2", partition="gpu")]
    forecast = ask(jobs, nodes).waiting()
    assert (forecast.plan.tolist(), forecast.policy) == ([3000], "slurm")
    assert forecast.median[0] > 600


def test_policy_note(ask):
    """A note says that a policy without partitions ignores them."""
    nodes = ["c1|idle|cpu", "g1|allocated|gpu"]
    jobs = [runs("1", "g1", partition="gpu"), job("2", partition="gpu")]
    notes = ask(jobs, nodes, policy="easy").notes
    assert "easy ignores partitions: in its futures, jobs run on any node" in notes
    assert not any("ignores partitions" in note for note in ask(jobs, nodes, policy="slurm").notes)


def test_several_partitions(ask):
    """A job of several partitions may run in any of them."""
    nodes = ["c1|idle|cpu", "g1|allocated|gpu"]
    jobs = [runs("1", "g1", partition="gpu"), job("2", partition="gpu,cpu")]
    assert ask(jobs, nodes).waiting().plan.tolist() == [0]


@pytest.mark.parametrize("state", ["down*", "drained", "maint", "failing", "idle$", "unknown"])
@pytest.mark.parametrize("what", ["RUNNING", "COMPLETING"])
def test_lost_nodes(ask, state, what):
    """Jobs on lost nodes are left out, and others wait for the full rest of the machine."""
    jobs = [job("1", what, nodes="n1"), runs("2", "n2"), job("3")]
    forecaster = ask(jobs, [f"n1|{state}", "n2|allocated"])
    assert left_out(forecaster) == {"nodes that are lost": 1}
    assert forecaster.waiting().plan.tolist() == [3000]


@pytest.mark.parametrize("state", ["draining", "draining*", "reserved", "idle*", "mixed@"])
def test_draining_nodes(ask, state):
    """Draining nodes are only for the jobs that they run: job 3 waits for n2, not for n1."""
    jobs = [runs("1", "n1", limit="20:00"), runs("2", "n2"), job("3")]
    forecaster = ask(jobs, [f"n1|{state}", "n2|allocated"])
    assert left_out(forecaster) == {}
    assert forecaster.waiting().plan.tolist() == [3000]


STATES = {
    "take jobs": """idle mixed allocated completing planned idle~ idle# mixed- powered_down
        powering_up alloc mix comp plnd boot pow_up npc IDLE+CLOUD+POWERED_DOWN MIXED+PLANNED
        IDLE+CLOUD+POWERING_UP allocated+ IDLE+DYNAMIC_NORM MIXED+REBOOT_CANCELED""",
    "drain": """draining drng draining* reserved resv idle* alloc* mixed@ idle^ idle! idle% reboot
        powering_down pow_dn blocked block no_respond MIXED+DRAIN ALLOCATED+DRAIN+RESERVED
        IDLE+RESERVED IDLE+NOT_RESPONDING IDLE+BLOCKED IDLE+CLOUD+POWERING_DOWN
        MIXED+REBOOT_REQUESTED IDLE+POWER_DOWN ALLOCATED+POWER_DRAIN""",
    "lost": """down down* down~ drained drained* fail failing failg maint maint* idle$ inval unknown
        unk unk* future futr error perfctrs DOWN+DRAIN DOWN+NOT_RESPONDING IDLE+MAINTENANCE
        ALLOCATED+MAINTENANCE+RESERVED IDLE+INVALID_REG MIXED+FAIL FUTURE UNKNOWN""",
}


@pytest.mark.parametrize("what", STATES)
def test_states_of_nodes(what):
    """The words and flags of sinfo, long and short, and the words that scontrol joins by "+"."""
    for state in STATES[what].split():
        [node] = nodes_of("sinfo", [f"n1|4|{state}|cpu"])
        assert (node.is_up, node.is_lost) == (what == "take jobs", what == "lost"), state


def test_without_sinfo(ask):
    """Without sinfo, running jobs hold processors, though their nodes are not listed."""
    forecaster = ask([runs("1", "n[1-2]", size=8), job("2")], processors=8)
    assert forecaster.waiting().plan.tolist() == [3000]


def test_note_without_sinfo(ask):
    """Without sinfo, a note says that the nodes of several partitions are not known."""
    jobs = [job("1", partition="gpu"), job("2")]
    note = "without --sinfo, the nodes of partitions are not known (cpu, gpu): jobs run on any"
    assert any(text.startswith(note) for text in ask(jobs, processors=8).notes)
    assert not any("without --sinfo" in text for text in ask(jobs[1:], processors=8).notes)


def test_unlisted_partition(ask):
    """A job of a partition that sinfo does not list is left out."""
    forecaster = ask([job("1", partition="fat"), job("2")], ["n1|idle|cpu"])
    assert left_out(forecaster) == {"partition fat, which sinfo does not list": 1}
    assert forecaster.waiting().job == ("2",)


def test_partly_lost(ask):
    """A job over lost and good nodes holds its share of the good ones."""
    jobs = [runs("1", "n[1-2]", size=8), job("2")]
    forecaster = ask(jobs, ["n1|down*", "n2|allocated", "n3|drained"])
    assert forecaster.waiting().plan.tolist() == [3000]


def test_unlisted_nodes(ask):
    """Jobs on nodes that sinfo does not list are left out."""
    forecaster = ask([runs("1", "x7"), job("2")], ["n1|idle"])
    assert left_out(forecaster) == {"nodes that sinfo does not list": 1}
    assert forecaster.waiting().plan.tolist() == [0]


def test_too_few_processors(ask):
    """A job that is larger than what its partition has up is left out."""
    jobs = [job("1", partition="gpu", size=5), job("2", partition="gpu", size=4)]
    forecaster = ask(jobs, ["c1|idle|cpu", "c2|idle|cpu", "g1|idle|gpu", "g2|down|gpu"])
    assert left_out(forecaster) == {"too few working processors in gpu": 1}
    assert forecaster.waiting().job == ("2",)


# Reasons ----------------------------------------------------------------------------------------

WAITING = ["None", "Priority", "Resources", "Prolog", "Cleaning", ""]
OTHERS = {
    "QOSMaxCpuPerUserLimit": "QOSMaxCpuPerUserLimit",
    "QOSGrpNodeLimit": "QOSGrpNodeLimit",
    "AssocGrpCPUMinutesLimit": "AssocGrpCPUMinutesLimit",
    "MaxGRESPerAccount": "MaxGRESPerAccount",
    "PartitionTimeLimit": "PartitionTimeLimit",
    "PartitionDown": "PartitionDown",
    "BadConstraints": "BadConstraints",
    "Licenses": "Licenses",
    "BurstBufferStageIn": "BurstBufferStageIn",
    "DependencyNeverSatisfied": "DependencyNeverSatisfied",
    "JobHeldAdmin": "JobHeldAdmin",
    "BeginTime": "BeginTime",
    "AReasonOfALaterSlurm": "AReasonOfALaterSlurm",
    "ReqNodeNotAvail, UnavailableNodes:n[2-3]": "ReqNodeNotAvail",
    "ReqNodeNotAvail, UnavailableNodes:": "ReqNodeNotAvail",
    "ReqNodeNotAvail(Unavailable:n3)": "ReqNodeNotAvail",
    "(ReqNodeNotAvail, Reserved for maintenance)": "ReqNodeNotAvail",
    "ReqNodeNotAvail,_May_be_reserved_for_other_job": "ReqNodeNotAvail",
    "AssocGrpCpuLimit": "AssocGrpCpuLimit",
    "QOSMaxJobsPerUserLimit": "QOSMaxJobsPerUserLimit",
    "Reservation": "Reservation",
    "job_requeued_in_held_state": "JobHeld",
    "launch failed requeued held": "JobHeld",
    "user env retrieval failed requeued held": "JobHeld",
    "node failure of another kind": "node failure of another kind",
}


@pytest.mark.parametrize("reason", OTHERS)
def test_other_reasons(ask, reason):
    """A job that does not wait for processors is left out, by its reason, and holds nothing."""
    jobs = [runs("1", "n1"), job("2", limit="40-00:00:00", reason=reason), job("3", size=8)]
    forecaster = ask(jobs, ["n1|allocated", "n2|idle"])
    assert left_out(forecaster) == {OTHERS[reason]: 1}
    assert forecaster.waiting().plan.tolist() == [3000]
    with pytest.raises(BfenvError, match=f"job 2 has no forecast, because of {OTHERS[reason]}"):
        forecaster.waiting(["2"])


@pytest.mark.parametrize(
    "reason",
    ["ReqNodeNotAvail, UnavailableNodes:n[1-2]", "(ReqNodeNotAvail(Unavailable:n[1-2]))"],
)
def test_outdated_reason(ask, reason):
    """A reason that names nodes which take jobs again is out of date.

    Slurm leaves it there, after a restart of slurmctld for one.
    """
    jobs = [runs("1", "n1"), job("2", reason=reason), job("3", reason=reason, priority=0)]
    forecaster = ask(jobs, ["n1|allocated", "n2|idle"])
    assert left_out(forecaster) == {"ReqNodeNotAvail": 1}
    assert forecaster.waiting().job == ("2",)
    assert left_out(ask(jobs, ["n1|allocated", "n2|down*"])) == {"ReqNodeNotAvail": 2}


@pytest.mark.parametrize("reason", WAITING)
def test_waiting_reasons(ask, reason):
    """A job that waits for processors has a forecast, whatever Slurm calls the reason."""
    assert ask([job("1", reason=reason)], ["n1|idle"]).waiting().plan.tolist() == [0]


def test_described_reason():
    """A description in place of Resources is a wait for processors."""
    text = "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority"
    assert is_for_processors(text) and is_for_processors(text.replace("_", " "))
    assert reason_name("(Resources)") == "Resources"


def test_priority_0(ask):
    """Slurm holds a job of priority 0, whatever its reason says."""
    forecaster = ask([job("1", priority=0, reason="Priority"), job("2")], ["n1|idle"])
    assert left_out(forecaster) == {"JobHeld": 1}


def test_array_throttle(ask):
    """Only as many tasks wait as the throttle of their array allows.

    Two of two tasks run, of array 7; array 8 has one running and may start one more.
    """
    jobs = [
        *(runs(f"7_{task}", "n1", size=1) for task in (1, 2)),
        job("7_[3-6%2]", size=1, reason="JobArrayTaskLimit"),
        runs("8_1", "n1", size=1),
        job("8_[2-9%2]", size=1, reason="Priority"),
    ]
    forecaster = ask(jobs, ["n1|mixed", "n2|idle"])
    assert left_out(forecaster) == {"JobArrayTaskLimit": 4 + 7}
    assert forecaster.waiting().job == ("8_[2-9%2]",) or forecaster.waiting().job == ("8_[2-9]",)


def test_suspended_task(ask):
    """A suspended task counts for the throttle of its array."""
    jobs = [job("7_1", "SUSPENDED", size=1, nodes="n1"), job("7_[2-5%1]", size=1), job("8")]
    forecaster = ask(jobs, ["n1|mixed"])
    assert left_out(forecaster) == {"SUSPENDED": 1, "JobArrayTaskLimit": 4}
    assert forecaster.waiting().job == ("8",)


def test_no_throttle(ask):
    """An array without a throttle waits as a whole."""
    assert len(ask([job("7_[3-6]", size=1)], ["n1|idle"]).waiting().job) == 4


def test_maintenance_windows(ask, tmp_path):
    """Jobs keep out of a maintenance window that is announced.

    A job of 1 h fits before the window, and one of 3 h starts behind it. Slurm names the window as
    the reason of the second.
    """
    path = tmp_path / "windows.txt"
    path.write_text("begin,end\n2026-02-02T04:40+00:00,2026-02-02T08:40+00:00\n")
    jobs = [job("1"), job("2", limit="3:00:00", reason="ReqNodeNotAvail, Reserved for maintenance")]
    begin, end = 2 * HOUR, 6 * HOUR  # from NOW, 02:40 UTC
    forecast = ask(jobs, ["n1|idle", "n2|idle"], maintenance=path, at=NOW).waiting()
    assert forecast.plan.tolist() == [0, end]
    assert (forecast.samples[1] >= begin).all()


def test_odd_windows(ask, tmp_path):
    """A note counts the windows left out as over, and those that take the whole machine."""
    path = tmp_path / "windows.txt"
    path.write_text(
        "2026-02-01T04:40Z,2026-02-01T08:40Z\n"
        "2026-02-02T04:40Z,2026-02-02T08:40Z,6\n2026-02-02T04:40Z,2026-02-02T08:40Z,6\n"
    )
    forecaster = ask([job("1", limit="3:00:00")], ["n1|idle", "n2|idle"], maintenance=path, at=NOW)
    assert forecaster.waiting().plan.tolist() == [6 * HOUR]
    notes = " ".join(forecaster.notes)
    assert "left out, because already over: 1 maintenance window" in notes
    assert "2 maintenance windows would take more processors than the machine has" in notes


# Limits and clocks ------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [None, "conservative-replan", "slurm", "easy"])
def test_no_limit(ask, policy):
    """By limits, a job without a limit never ends, and a note says so."""
    jobs = [runs("1", "n1", limit="UNLIMITED"), job("2")]
    forecaster = ask(jobs, ["n1|allocated"], policy=policy)
    forecast = forecaster.waiting()
    assert forecast.plan.tolist() == [np.inf]
    assert forecast.median[0] > HOUR
    assert "without a limit, so they never end in the plan: 1 job" in forecaster.notes


@pytest.mark.parametrize("days", [2, 60])
def test_plan_beyond_window(ask, days):
    """Slurm's map ends after a day; by limits, job 2 starts at the end of job 1 all the same."""
    jobs = [runs("1", "n1", limit=f"{days}-00:00:00"), job("2")]
    assert ask(jobs, ["n1|allocated"]).waiting().plan.tolist() == [days * 24 * HOUR - 600]


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("45", 2700), ("45:00", 2700), ("0:45:00", 2700), ("1-12", 129600), ("1-12:30:00", 131400)],
)
def test_limits_of_text(limit, seconds):
    """The forms that Slurm knows; a number alone is minutes."""
    [entry] = snapshot_of("squeue", [as_text([job("1", limit=limit)])]).entries
    assert entry.limit == seconds


def test_unknown_limit(ask):
    """A job with an unknown limit counts as ending after twice its time so far.

    It has run for ten minutes, longer than the limits of all others.
    """
    jobs = [runs("1", "n1", limit="NOT_SET"), job("2", limit="5:00")]
    forecast = ask(jobs, ["n1|allocated"]).waiting()
    assert forecast.plan.tolist() == [600] and forecast.median[0] > 30


def test_no_clock(ask):
    """Without a clock in the queue, a note says which time is assumed, unless one is given."""
    jobs = [runs("1", "n1"), job("2")]
    notes = " ".join(ask(jobs, ["n1|allocated"], clock=False).notes)
    assert "the time of its last event is assumed, 2026-02-02 02:30 UTC (set it with --at)" in notes
    forecaster = ask(jobs, ["n1|allocated"], clock=False, at="2026-02-02T02:40Z")
    assert forecaster.waiting().plan.tolist() == [3000]
    assert "is assumed" not in " ".join(forecaster.notes)
    with pytest.raises(BfenvError, match="must be seconds since 1970 or a date with an offset"):
        ask(jobs, ["n1|allocated"], clock=False, at="yesterday")


# All kinds --------------------------------------------------------------------------------------


@st.composite
def queues(draw):
    """Jobs on nodes of two partitions, some of them lost or draining."""
    states = st.sampled_from(["allocated", "idle", "draining", "down*", "maint"])
    nodes, jobs = [], []
    for part in ("cpu", "gpu"):
        for i in range(draw(st.integers(1, 3))):
            name, state = f"{part}{i}", draw(states)
            nodes.append(f"{name}|4|{state}|{part}")
            if state in ("allocated", "draining", "maint"):
                jobs.append(runs(str(len(jobs) + 1), name, partition=part))
    for part in draw(st.lists(st.sampled_from(["cpu", "gpu", "cpu,gpu"]), min_size=1, max_size=4)):
        size, limit = draw(st.integers(1, 8)), draw(st.sampled_from(["30:00", "5:00:00"]))
        reason = draw(st.sampled_from(["Priority", "Resources", "Licenses"]))
        new = job(str(len(jobs) + 1), size=size, limit=limit, partition=part, reason=reason)
        jobs.append(new | {"priority": 100 - len(jobs)})
    return jobs, nodes


@given(queues())
@settings(max_examples=40, deadline=None)
def test_sure_starts(tmp_path_factory, drawn):
    """No forecast is sure of a start long before the plan.

    Without a history, jobs end at any time up to their limits: a median of 0 s beside a plan of
    hours, at 100 %, is the sign of a machine that is not the one of the queue.
    """
    jobs, nodes = drawn
    folder = tmp_path_factory.mktemp("queue")
    (folder / "queue").write_text(as_text(jobs))
    (folder / "nodes").write_text("\n".join(nodes))
    try:
        forecaster = forecaster_of_queue(folder / "queue", sinfo=folder / "nodes", futures=40)
        forecast = forecaster.waiting()
    except BfenvError as error:
        assert "no node takes jobs" in str(error) or "no job waits" in str(error)
        return
    sure = forecast.quantile(0.975)
    assert not ((forecast.plan >= 10 * 60) & (sure < forecast.plan / 20)).any()


def test_order_of_apply(tmp_path):
    """What waits for something else is apart, for the order of apply as for a forecast."""
    jobs = [job("1", reason="Priority"), *(job(str(i + 2), reason=r) for i, r in enumerate(OTHERS))]
    (tmp_path / "queue").write_text(as_text(jobs))
    snapshot = read_squeue(tmp_path / "queue")
    assert [entry.name for entry in snapshot.entries] == ["1"]
    assert sorted(entry.reason for entry in snapshot.apart) == sorted(OTHERS.values())


def test_unlimited():
    """A job without a limit counts with one that is longer than a year."""
    assert UNLIMITED > parse_duration("365-00:00:00")
