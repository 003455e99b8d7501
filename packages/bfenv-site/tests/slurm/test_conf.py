"""What is read of a slurm.conf."""

import gzip
import os
import warnings

import numpy as np
import pytest

import bfenv
from bfenv.baselines.registry import find_competitor
from bfenv.core.errors import PolicyError
from bfenv.workloads.logs.records import PARTITION as PARTITION_FIELD
from bfenv_site.slurm.conf import Multifactor, read_conf
from bfenv_site.slurm.conf_lines import expand_names
from bfenv_site.slurm.parameters import read_parameters
from bfenv_site.slurm.site import nodes_of_site

CONF = """
# A comment, and a line that goes on
ClusterName=site
SchedulerType=sched/backfill
SchedulerParameters=bf_window=2880,\\
bf_continue
SelectType=select/cons_tres
PriorityType=priority/multifactor
PriorityWeightAge=1000     # behind it, a comment
PriorityWeightFairShare=20
PriorityWeightJobSize=300
PriorityWeightPartition=4
PriorityMaxAge=14-0
PriorityFavorSmall=YES
PriorityFlags=SMALL_RELATIVE_TO_TIME,NO_FAIR_TREE
PriorityDecayHalfLife=1-12:00:00
PriorityCalcPeriod=2
FairShareDampeningFactor=5
NodeName=DEFAULT SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2
NodeName=n[01-03,10],login RealMemory=8000
NodeName=fat CPUs=64
PartitionName=DEFAULT PriorityJobFactor=7
PartitionName=cpu Nodes=n[01-03] Default=YES
PartitionName=all Nodes=ALL PriorityTier=3
"""


@pytest.fixture
def conf(tmp_path):
    """A function that writes a slurm.conf and returns its path."""

    def write(text):
        path = tmp_path / "slurm.conf"
        path.write_text(text)
        return path

    return write


def test_settings(conf):
    """Nodes, partitions, the scheduler and weights of priorities are read."""
    site = read_conf(conf(CONF))
    assert site.sizes.tolist() == [16, 16, 16, 16, 16, 64]
    cpu, everything = site.partitions
    assert (cpu.name, cpu.nodes.tolist(), cpu.tier, cpu.factor) == ("cpu", [0, 1, 2], 1, 7)
    assert (everything.nodes.tolist(), everything.tier) == (list(range(6)), 3)
    assert (site.default, site.is_backfill, site.is_whole) == (0, True, False)
    assert site.parameters == "bf_window=2880,bf_continue"
    assert site.unmodelled == ()
    assert site.priority == Multifactor(
        True, 1000, 20, 300, 4, 14 * 86400, True, True, False, False, 36 * 3600, 5, 120
    )


@pytest.mark.parametrize(
    ("version", "is_multifactor", "is_whole"), [("22.05", False, True), ("23.11", True, False)]
)
def test_defaults_of_version(conf, version, is_multifactor, is_whole):
    """The defaults are multifactor and cons_tres from 23.11 on, and basic and linear before."""
    site = read_conf(
        conf("NodeName=n CPUs=2\nPartitionName=p Nodes=n\nPriorityWeightAge=9"), version
    )
    assert (site.priority.is_on, site.is_whole) == (is_multifactor, is_whole)


def test_version_in_name(conf):
    """The policy's name has the version, and a version that is not known is refused."""
    path = conf("NodeName=n CPUs=2\nPartitionName=p Nodes=n")
    assert "22.05" in find_competitor(f"slurm(conf='{path}', version='22.05')").name
    with pytest.raises(PolicyError, match="version must be 22.05 or 23.11, got '9'"):
        find_competitor(f"slurm(conf='{path}', version='9')")


def test_suffix():
    """A list of names may have a suffix behind its brackets."""
    assert expand_names("node[08-10]-int") == ["node08-int", "node09-int", "node10-int"]


def test_whole_nodes(conf):
    """Jobs may get whole nodes, and the main scheduler may be alone, without backfilling."""
    nodes = "NodeName=n[1-2] CPUs=4\nSchedulerType=sched/builtin\n"
    site = read_conf(conf(f"{nodes}PartitionName=p Nodes=ALL OverSubscribe=EXCLUSIVE"))
    assert site.is_whole and not site.is_backfill
    assert read_conf(conf(f"{nodes}PartitionName=p Nodes=n1\nSelectType=select/linear")).is_whole


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,2],x", ["n08", "n09", "n10", "n2", "x"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_lists_of_names(text, names):
    """Ranges in brackets become all of their names, as Slurm expands them."""
    assert expand_names(text) == names


NODES = "NodeName=n[1-2] CPUs=2\n"
PARTITION = "PartitionName=p Nodes=ALL\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no NodeName in it"),
        (NODES, "no PartitionName in it"),
        (NODES + "PartitionName=p Nodes=n[1-3]", "nodes n3, which no NodeName has"),
        ("NodeName=n[1-x] CPUs=2\n" + PARTITION, "'1-x' in 'n\\[1-x\\]' is no range"),
        ("NodeName=n[1-9999999] CPUs=2\n" + PARTITION, "too many names"),
        ("NodeName=n CPUs=0\n" + PARTITION, "NodeName=n has no CPUs"),
        ("NodeName=n CPUs=many\n" + PARTITION, "CPUs=many is not a number"),
        (f"NodeName=n CPUs={'9' * 23}\n" + PARTITION, "CPUs=99999999999999999999999 is not"),
        (f"NodeName=n CPUs={'9' * 5000}\n" + PARTITION, "CPUs=9{40} is not a number"),
        ("NodeName=n CPUs=65537\n" + PARTITION, "NodeName=n has more than 65,536 CPUs"),
        ("NodeName=n Sockets=9999 CoresPerSocket=9999\n" + PARTITION, "more than 65,536 CPUs"),
        (f"NodeName=n[1-{'9' * 5000}] CPUs=2\n" + PARTITION, "is no range"),
        (f"NodeName=n[{'0' * 4000}1-9] CPUs=2\n" + PARTITION, "is no range"),
        ("NodeName=n[1-3 CPUs=2\n" + PARTITION, "a bracket in 'n\\[1-3' has no other one"),
        ("NodeName=" + "n[1-900000]," * 9 + " CPUs=2\n" + PARTITION, "too many names"),
        ("".join(f"NodeName={c}[1-900000]\n" for c in "abc") + PARTITION, "than 1,000,000 nodes"),
        (
            f"NodeName=n[1-9000] Feature={','.join(map(str, range(2000)))}\n" + PARTITION,
            "more than 10,000,000 features",
        ),
        (
            f"PriorityType=priority/multifactor\nPriorityWeightAge={'9' * 99}\n{NODES}{PARTITION}",
            "PriorityWeightAge=9{40} is not a number",
        ),
        (
            "PriorityType=priority/multifactor\nFairShareDampeningFactor=nan\n" + NODES + PARTITION,
            "FairShareDampeningFactor=nan is not a number",
        ),
        (NODES + PARTITION + "SchedulerType=sched/wiki", "SchedulerType 'sched/wiki'"),
        (NODES + PARTITION + "PriorityType=priority/mine", "PriorityType 'priority/mine'"),
        (NODES + PARTITION + "what is this", "line 3: 'what is this' is not NAME=VALUE"),
        (NODES + PARTITION + 'A="b', "line 3: a quote is not closed"),
        (
            NODES + PARTITION + "PriorityType=priority/multifactor\nPriorityMaxAge=long",
            "PriorityMaxAge=long is not a number",
        ),
        (NODES + PARTITION + "NodeSet=n1 Nodes=n2", "n1 is the name of a NodeSet and of a node"),
        (NODES + PARTITION + "Include other.conf", "line 3: Include 'other.conf' is not found"),
        (NODES + PARTITION + "include slurm.conf", "slurm.conf is included by itself"),
    ],
)
def test_unreadable(conf, text, message):
    """What cannot be read is refused, and the message names it."""
    with pytest.raises(PolicyError, match=message):
        read_conf(conf(text))


def test_unmodelled(conf):
    """One warning names every setting that is not modelled."""
    text = (
        "NodeName=n[1-2] CPUs=2 Weight=5\n"
        "PartitionName=p Nodes=ALL MaxTime=1-0 MaxNodes=UNLIMITED\n"
        "PreemptType=preempt/qos\nPreemptMode=OFF\nPriorityWeightQOS=10\nPriorityWeightTRES=\n"
        "PriorityFlags=MAX_TRES\nSchedulerParameters=bf_continue,bf_from_a_later_slurm=3"
    )
    with pytest.warns(UserWarning, match="does not model") as caught:
        find_competitor(f"slurm(conf='{conf(text)}')")
    (warning,) = caught
    assert str(warning.message).endswith(
        "does not model PriorityWeightQOS (line 5), PreemptType (line 3), PriorityFlags=MAX_TRES "
        "(line 7), Weight of nodes (line 1), MaxTime of partitions (line 2), bf_continue, "
        "bf_from_a_later_slurm"
    )


def parts(site):
    """The nodes of each partition, by name."""
    return {part.name: [site.names[n] for n in part.nodes.tolist()] for part in site.partitions}


@pytest.mark.parametrize("written", ["nodes.conf", "conf.d/nodes.conf", "/etc/slurm/nodes.conf"])
def test_included_files(conf, tmp_path, written):
    """Included files are read beside the file.

    An absolute name is that of a copy, below the same folder.
    """
    place = tmp_path / written.removeprefix("/etc/slurm/")
    place.parent.mkdir(exist_ok=True)
    place.write_text("NodeName=n[1-2] CPUs=2\n")
    site = read_conf(conf(f"include {written}\nPartitionName=p Nodes=ALL"))
    assert site.sizes.tolist() == [2, 2]


def test_unmodelled_in_include(conf, tmp_path):
    """What is not modelled in an included file is named with that file and the line."""
    (tmp_path / "nodes.conf").write_text("\nNodeName=n CPUs=2 Weight=3\n")
    site = read_conf(conf("Include nodes.conf\nPartitionName=p Nodes=ALL"))
    assert site.unmodelled == ("Weight of nodes (nodes.conf, line 2)",)


def test_continued_lines(conf):
    """A line that goes on in the next counts as two when a message names a later line."""
    site = read_conf(conf("NodeName=n \\\n CPUs=2\nPartitionName=p Nodes=n MaxTime=5"))
    assert site.unmodelled == ("MaxTime of partitions (line 3)",)


def test_node_sets(conf):
    """A NodeSet names nodes or a feature, and partitions may name it beside nodes."""
    site = read_conf(
        conf(
            "NodeName=a[1-2] CPUs=1\nNodeName=b[1-2] CPUs=1 Features=big,fast\n"
            "NodeSet=few Nodes=a1\nNodeSet=fast Feature=Fast\n"
            "PartitionName=p Nodes=few,a2\nPartitionName=q Nodes=fast,a1\n"
        )
    )
    assert parts(site) == {"p": ["a1", "a2"], "q": ["a1", "b1", "b2"]}


def test_spaces_and_old_names(conf):
    """Spaces around the equals sign and old names of settings are read."""
    site = read_conf(
        conf('NodeName = n[1-2]  Procs = 4\nPartitionName = p Nodes = "n1" Shared = EXCLUSIVE')
    )
    assert (site.sizes.tolist(), parts(site)) == ([4, 4], {"p": ["n1"]})
    assert site.partitions[0].is_whole


@pytest.mark.parametrize("nodes", ["", 'Nodes=""'])
def test_partition_without_nodes(conf, nodes):
    """A partition may have no nodes."""
    site = read_conf(conf(f"{NODES}{PARTITION}PartitionName=later {nodes} State=UP"))
    assert parts(site) == {"p": ["n1", "n2"], "later": []}


def test_future_nodes(conf):
    """Nodes of State=FUTURE have no processors yet; an error about the size counts them."""
    site = read_conf(conf(f"{NODES}NodeName=d[1-9] CPUs=2 State=FUTURE\n{PARTITION}"))
    assert (site.names, site.future) == (("n1", "n2"), 9)
    with pytest.raises(PolicyError, match="4 CPUs in 2 nodes, none in 9 nodes of State=FUTURE"):
        nodes_of_site(site, 22)


@pytest.mark.parametrize(
    "line", ["DownNodes=n2", "DownNodes=n2 State=DRAIN", "NodeName=n2 CPUs=2 State=DOWN"]
)
def test_nodes_out_of_service(conf, line):
    """Nodes out of service take no jobs; the workload's machine may count them or not."""
    site = read_conf(conf(f"NodeName=n[1-2] CPUs=2\n{line}\n{PARTITION}"))
    assert (site.names, site.down) == (("n1",), (2,))
    assert nodes_of_site(site, 2) == nodes_of_site(site, 4) == site


def test_down_nodes_in_service(conf):
    """Nodes of DownNodes in another state than down, such as UNKNOWN, take jobs."""
    site = read_conf(conf(f"{NODES}DownNodes=n2 State=UNKNOWN\n{PARTITION}"))
    assert site.names == ("n1", "n2")


def test_down_partition(conf):
    """A job in a partition that is down raises an error that names the partition."""
    path = conf(f"{NODES}{PARTITION}PartitionName=shut Nodes=n1 State=DOWN")
    records = np.full((1, 18), -1.0)
    records[0, PARTITION_FIELD] = 1
    for name, fails in (("p", False), ("shut", True)):
        trace = bfenv.make_trace(
            [0], [1], [9], 4, records=records, header=(f"Partition: 1 {name}",)
        )
        with (
            pytest.raises(PolicyError, match=f"shut of {path} has a State")
            if fails
            else (warnings.catch_warnings())
        ):
            bfenv.simulate(trace, f"slurm(conf='{path}')")


def test_exclusive_partitions(conf):
    """Only the jobs of exclusive partitions have nodes for themselves.

    Two jobs of 1 CPU share n1 in p; one of q waits for a node that is idle, and keeps it.
    """
    path = conf(
        "NodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL\n"
        "PartitionName=q Nodes=ALL OverSubscribe=EXCLUSIVE\n"
    )
    records = np.full((5, 18), -1.0)
    records[:, PARTITION_FIELD] = [1, 1, 2, 2, 1]
    trace = bfenv.make_trace(
        [0, 1, 2, 3, 4],
        [1] * 5,
        [100, 50, 60, 30, 10],
        4,
        records=records,
        header=("Partition: 1 p", "Partition: 2 q"),
    )
    starts = bfenv.simulate(trace, f"slurm(conf='{path}', parameters='bf_interval=1')").start
    assert starts.tolist() == [0, 1, 2, 62, 51]


def test_own_parameters(conf):
    """Parameters of the policy count instead of those of the same name in the file."""
    text = NODES + PARTITION + "SchedulerParameters=bf_window=10,bf_interval=60"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = find_competitor(f"slurm(parameters='bf_window=20', conf='{conf(text)}')")
    settings = policy.bind.keywords["settings"]
    assert (settings["bf_window"], settings["bf_interval"]) == (20, 60)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bf_max_job_tests=3", "has no setting 'bf_max_job_tests'; did you mean bf_max_job_test"),
        ("bf_interval=0", "bf_interval must be an integer from 1 to 10800, got '0'"),
        ("bf_window", "bf_window must be an integer"),
    ],
)
def test_wrong_parameters(text, message):
    """A setting that Slurm does not have, or a value out of its range, is refused by name."""
    with pytest.raises(PolicyError, match=message):
        read_parameters(text)


def test_case_and_spaces():
    """Case and spaces of parameters do not matter."""
    values, unmodelled = read_parameters(" BF_Interval = 5 ,, bf_continue ")
    assert (values["bf_interval"], unmodelled) == (5, ["bf_continue"])
    _, unmodelled = read_parameters("bf_windw=5,frobnicate", strict=False)
    assert unmodelled == ["bf_windw (did you mean bf_window?)", "frobnicate"]


def test_parameters_of_the_file(conf):
    """A value of SchedulerParameters out of its range is an error with the name of the file."""
    path = conf(NODES + PARTITION + "SchedulerParameters=bf_interval=abc")
    with pytest.raises(PolicyError, match=r"slurm\.conf: .*bf_interval must be .* got 'abc'"):
        find_competitor(f"slurm(conf='{path}')")


@pytest.mark.parametrize(
    "data", [gzip.compress(b"ClusterName=site"), b"Cluster\0Name=site"], ids=["packed", "binary"]
)
def test_no_text(tmp_path, data):
    """A packed or binary file is refused without a line of it."""
    path = tmp_path / "slurm.conf"
    path.write_bytes(data)
    with pytest.raises(PolicyError, match="slurm.conf is not a text file$"):
        read_conf(path)


def test_many_includes(tmp_path):
    """What files include is bounded: each of ten includes the next one ten times."""
    for i in range(10):
        text = f"Include {i + 1}.conf\n" * 10
        (tmp_path / f"{i}.conf").write_text(text if i < 9 else "Licenses=a\n" * 10)
    with pytest.raises(PolicyError, match="more than 100,000 settings"):
        read_conf(tmp_path / "0.conf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_refused(tmp_path):
    """A pipe, which might never end, is no slurm.conf."""
    os.mkfifo(tmp_path / "slurm.conf")
    with pytest.raises(PolicyError, match="is not a regular file"):
        read_conf(tmp_path / "slurm.conf")


def test_long_number():
    """SchedulerParameters refuse a number that Python does not even convert."""
    with pytest.raises(PolicyError, match="bf_window must be an integer from 1 to 43200"):
        read_parameters(f"bf_window={'9' * 5000}")


FOUR = "NodeName=n[1-4] CPUs=16\n"
ALL = "PartitionName=cpu Nodes=ALL Default=YES\n"


@pytest.mark.parametrize(
    "text",
    [
        "# a comment \\\n" + FOUR + ALL,
        "NodeName=n[1-4] CPUs=16 # behind it, too \\\n" + ALL,
        "\ufeff" + FOUR + ALL,
        'NodeName=n[1-4] CPUs=16 Gres=gpu:"a100":2 State=UNKNOWN\n' + ALL,
        "NodeName=n[1-6] CPUs=16\nDownNodes=n[5-6] State=FUTURE\n" + ALL,
        FOUR + "PartitionName=later Nodes=\n" + ALL,
    ],
    ids=["comment", "end", "mark", "quotes", "future", "empty"],
)
def test_accepted_lines(conf, text):
    """What Slurm reads is read: no comment's backslash joins lines, values may have quotes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        site = nodes_of_site(read_conf(conf(text)), 64)
    assert site.sizes.tolist() == [16] * 4
    assert [part.nodes.tolist() for part in site.partitions][-1] == [0, 1, 2, 3]


def test_nested_include(conf, tmp_path):
    """An included file includes others from its own folder."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "cpu.conf").write_text("Include nodes.conf\n" + ALL)
    (tmp_path / "parts" / "nodes.conf").write_text(FOUR)
    assert read_conf(conf("Include parts/cpu.conf\n")).sizes.tolist() == [16] * 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Include=nodes.conf\n", "line 1: Include takes a file behind a space, not an '='"),
        (FOUR + "NodeSet=a Nodes=n9\n" + ALL, "line 2: NodeSet=a has nodes n9, which no NodeName"),
        ('NodeName=n[1-4] CPUs="16\n', "line 1: a quote is not closed"),
    ],
    ids=["equals", "set", "quote"],
)
def test_unreadable_line(conf, text, message):
    """The message has the number of the line that cannot be read."""
    with pytest.raises(PolicyError, match=message):
        read_conf(conf(text))


def test_nodes_without_cpus(conf):
    """The error about the machine's size names the line of nodes whose CPUs= is misspelt."""
    site = read_conf(conf("NodeName=n[1-4] CPU=16\n" + ALL))
    with pytest.raises(PolicyError, match="one for each node of line 1, which has no CPUs=, and"):
        nodes_of_site(site, 64)


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("OverSubscribe=FORCE:2", "OverSubscribe=FORCE:2 of a partition (line 2)"),
        ("Shared=YES", "OverSubscribe=YES of a partition (line 2)"),
        ("OverSubscribe=FORCE:1", ""),
        ("OverSubscribe=NO", ""),
        ("Shared=EXCLUSIVE", ""),
    ],
)
def test_shared_processors(conf, setting, named):
    """Partitions whose jobs may share processors are named as not modelled."""
    site = read_conf(conf(f"{FOUR}PartitionName=cpu Nodes=ALL {setting}\n"))
    assert site.unmodelled == ((named,) if named else ())


def test_memory(conf):
    """Memory that jobs ask for is named as not modelled."""
    text = "SelectTypeParameters=CR_Core_Memory\n" + FOUR + ALL
    assert read_conf(conf(text)).unmodelled == ("SelectTypeParameters=CR_Core_Memory (line 1)",)
    assert read_conf(conf(text.replace("_Memory", ""))).unmodelled == ()
