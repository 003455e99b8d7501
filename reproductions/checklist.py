"""The checklist: what the five papers have, and where it is in bfenv; a test tries every line.

To add a line, add an `Entry` to the paper's section of ENTRIES, and make the page again with
`python -m reproductions checklist --out docs/reproductions`. Tables and figures are in CONTENTS:
each is an item of its paper, or an entry has its name as place.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from bfenv.core.files import write_atomically
from reproductions.item import label_of
from reproductions.papers import PAPERS

NAME = "checklist"


class Entry(NamedTuple):
    """An algorithm, a parameter or a metric of a paper, and its place in bfenv."""

    place: str  # section, table, figure, equation
    subject: str  # what the paper has there
    kind: str  # one of KINDS
    name: str  # in bfenv; of a "page", below docs/


KINDS: Mapping[str, str] = MappingProxyType(
    {
        "policy": "`bfenv.simulate(trace, {})`",
        "workload": "`bfenv.load_workload({})`",
        "metric": "`{}`, a metric of rows",
        "function": "`{}`",
        "environment": "`gym.make('Backfill-v0', {})`",
        "command": "`bfenv {}`",
        "log": "`bfenv.load_workload({})`, a log",
        "page": "[{0}](../{0})",
        "item": "[{}]({})",  # an item of the paper that is no table or figure of it
        "absent": "not in bfenv: {}",  # with the reason
    }
)

ZOTKIN = (
    Entry("Section 1", "first come, first served", "policy", "fcfs"),
    Entry("Section 2", "EASY: shadow time and extra nodes", "policy", "easy"),
    Entry("Section 2", "conservative backfilling", "policy", "conservative"),
    Entry("Section 2", "slowdown as 1 + delay / max(runtime, 10 s)", "metric",
          "mean_delay_slowdown"),
    Entry("Sections 4 to 8", "average waiting time", "metric", "mean_wait"),
    Entry("Section 3", "KTH", "log", "KTH-SP2-1996-2"),
    Entry("Section 3", "LNL", "log", "LLNL-T3D-1996-2"),
    Entry("Section 3", "CTC, 430 nodes", "log", "CTC-SP2-1996-3.1-cln(processors=430)"),
    Entry("Section 3", "the workload SUD", "workload", "sud:jobs=200"),
    Entry("Section 4", "R, deterministic", "workload",
          "lublin:jobs=300,estimates=deterministic,factor=5"),
    Entry("Section 4", "R, randomized", "workload",
          "lublin:jobs=300,estimates=uniform-zotkin,factor=5"),
    Entry("Section 4", "off-line: all jobs at once", "workload",
          "lublin:jobs=300,all_at_once=true"),
    Entry("Section 4", "end of the last job", "metric", "makespan"),
    Entry("Section 5", "users' estimates times R when jobs enter", "workload",
          "lublin:jobs=300,estimates=user,factor=3"),
    Entry("Section 5", "sorting by length, without backfilling", "policy", "sjf"),
    Entry("Section 5", "sorting by length, with backfilling", "policy", "easy-sjf"),
    Entry("Section 5, Table 6", "SortFCFS, in two readings", "item", "sort-fcfs"),
    Entry("Section 5, Table 8", "a guarantee of one shadow time", "policy", "easy-sjf-shadow1"),
    Entry("Section 5, Table 8", "k shadow times, with any order", "policy",
          "easy(order=saf, shadow_intervals=4)"),
    Entry("Section 5.1, equation 1", "bounded slowdown, with any bound B; here at least 1",
          "function",
          "bfenv.analysis:bounded_slowdown"),
    Entry("Section 5.1, equation 2", "slowdown over width", "metric", "mean_width_slowdown"),
    Entry("Section 5.1", "the order slowdown / width", "policy", "easy(order=lxf-width)"),
    Entry("Section 6", "LSBF", "policy", "conservative-sjf"),
    Entry("Section 6", "RBF", "policy", "conservative-random"),
    Entry("Section 6", "RLSBF: a random number over the length", "policy",
          "conservative-random-sjf"),
    Entry("Section 6", "random numbers in orders of your own", "policy",
          'conservative(order="random/estimate")'),
    Entry("Section 7", "overestimation, as its inverse: runtime over estimate", "function",
          "bfenv.workloads:summarize"),
    Entry("Section 7", "the most frequent estimates", "function",
          "bfenv.workloads.summary:popular_estimates"),
    Entry("Section 8", "guaranteed over actual delay", "function",
          "bfenv.analysis:guarantee_ratios"),
    Entry("Section 8", "its mean", "metric", "mean_guarantee_ratio"),
    Entry("Section 8, Figure 16", "its median", "metric", "median_guarantee_ratio"),
    Entry("Section 8, Figure 16", "the ratio that a fifth exceeds", "metric",
          "p80_guarantee_ratio"),
    Entry("Section 8", "share of jobs that start at once", "metric", "started_at_once"),
    Entry("Section 8", "no guarantees: a new schedule in each pass", "policy",
          "conservative-replan"),
    Entry("Section 8", "shortest first without guarantees", "policy", "conservative-replan-sjf"),
    Entry("Section 8", "random order without guarantees", "policy", "conservative-replan-random"),
    Entry("Section 8", "the combination without guarantees", "policy",
          "conservative-replan-random-sjf"),
    Entry("Section 8", "aged criterion 1/r + weight x delay", "policy",
          "conservative(order=aged-sjf, guarantees=false, weight=0.001)"),
    Entry("Section 8", "aged random criterion", "policy",
          "conservative(order=aged-random, guarantees=false)"),
    Entry("Section 8", "the delay after which no new job gets ahead", "page", "policies/orders.md"),
    Entry("Section 8, last paragraph", "aged criteria in EASY", "policy",
          "easy(order=aged-sjf, weight=0.001)"),
)  # fmt: skip
KLUSACEK = (
    Entry("Page 1", "CONS", "policy", "conservative"),
    Entry("Page 1", "EASY", "policy", "easy"),
    Entry("Page 1", "CONS+RS: random search after early completions", "policy", "cons-rs"),
    Entry("Page 1", "a fixed number of iterations", "policy", "cons-rs(iterations=5)"),
    Entry("Page 1", "a time limit of 50 ms, whichever is first", "policy", "cons-rs(limit_ms=50)"),
    Entry("Page 1", "the two criteria of a move", "policy",
          "cons-rs(wait_weight=2, slowdown_weight=1)"),
    Entry("Page 1", "the job that is moved", "policy", "cons-rs(choice=wait)"),
    Entry("Table", "Meta09", "log", "METACENTRUM-2009-2(processors=806)"),
    Entry("Table", "Meta08", "log", "METACENTRUM-2008"),
    Entry("Table", "HPC2N", "log", "HPC2N-2002-2.2-cln"),
    Entry("Table", "LLNL Thunder", "log", "LLNL-Thunder-2007-1.1-cln"),
    Entry("Table", "LLNL Atlas", "log", "LLNL-Atlas-2006-2.1-cln"),
    Entry("Table", "SDSC DataStar", "log", "SDSC-DS-2004-2.1-cln"),
    Entry("Table", "average wait time", "metric", "mean_wait"),
    Entry("Text below the table", "average slowdown", "metric", "mean_slowdown"),
    Entry("Text below the table", "the same comparison for the slowdown", "item", "slowdown"),
)  # fmt: skip
TSAFRIR = (
    Entry("Table 2", "CTC, 512 processors", "log", "CTC-SP2-1996-3.1-cln(processors=512)"),
    Entry("Table 2", "KTH", "log", "KTH-SP2-1996-2"),
    Entry("Table 2", "SDSC", "log", "SDSC-SP2-1998-4.2-cln"),
    Entry("Table 2", "BLUE", "log", "SDSC-BLUE-2000-4.2-cln"),
    Entry("Section 2", "FCFS", "policy", "fcfs"),
    Entry("Section 2", "backfilling", "policy", "easy"),
    Entry("Section 3.1", "the F-model, random", "workload",
          "lublin:jobs=300,estimates=uniform-tsafrir,factor=3"),
    Entry("Section 3.1", "the F-model, deterministic", "workload",
          "lublin:jobs=300,estimates=deterministic,factor=2"),
    Entry("Section 3.2", "perfect estimates", "workload", "lublin:jobs=300,estimates=exact"),
    Entry("Section 3.2", "perfect estimates times two", "workload",
          "lublin:jobs=300,estimates=deterministic,factor=2"),
    Entry("Section 3.2, the holes argument", "users' estimates times two", "workload",
          "lublin:jobs=300,estimates=doubled"),
    Entry("Section 3.2, the robustness claim", "a metric of robustness", "absent",
          "it belongs to the paper that is cited, and is not defined here"),
    Entry("Figure 2, caption", "mean wait", "metric", "mean_wait"),
    Entry("Figure 2, caption", "mean bounded slowdown", "metric", "mean_bounded_slowdown"),
    Entry("Figure 2, caption", "mean slowdown", "metric", "mean_slowdown"),
    Entry("Figure 4", "5th to 95th percentile over seeds", "command",
          "evaluate -w lublin:jobs=100,procs=16 -p easy --seeds 2"),
    Entry("Figure 5", "backfilled jobs", "metric", "backfilled"),
    Entry("Section 3.3, Figure 7", "wild backfills", "metric", "wild_backfills"),
    Entry("Section 3.3, Figure 7", "stolen time", "metric", "stolen_time_per_delayed_head"),
    Entry("Section 3.3", "probability that a short job looks longer", "function",
          "bfenv.workloads.models.simple_estimates:swap_probability"),
    Entry("Section 3.3", "how often that happens", "item", "swaps"),
    Entry("Section 3.3", "bursts make the curve of CTC a V", "item", "bursts"),
    Entry("Section 3.3", "burstiness", "workload", "lublin:jobs=300,burst=8,burst_period=12h"),
    Entry("Section 4", "the modal model", "workload", "lublin:jobs=300,estimates=tsafrir"),
    Entry("Section 4", "the longest estimate allowed", "workload", "lublin:jobs=300,emax=4h"),
    Entry("Section 4", "share of the jobs at the longest estimate", "workload",
          "lublin:jobs=300,emax_share=0.5"),
    Entry("Section 4", "how many values serve 90 % of the jobs", "workload",
          "lublin:jobs=300,popular_values=15,popular_share=0.9"),
    Entry("Section 4", "users' and modal estimates against multiples of the runtime", "item",
          "section-4"),
    Entry("Section 4, by its reference 23", "repetition of a user's estimates", "function",
          "bfenv.workloads.models.modal_estimates:repeated"),
)  # fmt: skip
LAWSON = (
    Entry("Figure 2", "multiple-queue backfilling", "policy", "multiqueue"),
    Entry("Section 3", "single-queue backfilling with speculation", "policy", "easy-speculative"),
    Entry("Section 2.1, equation 1", "bounds of the queues", "policy",
          "multiqueue(bounds=(1000, 10000))"),
    Entry("Section 2.1", "orders of your own in the queues", "policy",
          "multiqueue(order=size * estimate)"),
    Entry("Section 2.1", "speculative execution: length of a trial", "policy",
          "multiqueue(speculation=1min)"),
    Entry("Section 2.1", "estimate above which jobs are tried", "policy",
          "multiqueue(tried_above=10000)"),
    Entry("Section 2.1", "initial sizes of the partitions", "policy",
          "multiqueue(partitions=(2, 1, 1))"),
    Entry("Section 2.1", "number of partitions, whatever the queues", "policy",
          "multiqueue(partitions=2)"),
    Entry("Note 4", "which of the jobs that may be restarted are tried", "policy",
          'multiqueue(restartable="priority > 0")'),
    Entry("Section 2.1", "trials in EASY", "policy", "easy(trial=180, trial_above=1000)"),
    Entry("Note 4", "a flag of each job that may be restarted", "workload",
          "lublin:jobs=300,restartable_share=0.5"),
    Entry("Table 1", "crashed jobs", "function", "bfenv.workloads:crashed_jobs"),
    Entry("Table 1", "their share", "metric", "crashed_share"),
    Entry("Section 2.1", "priorities", "workload", "lublin:jobs=300,high_priority_share=0.75"),
    Entry("Section 2.1", "more than two priorities", "workload",
          "lublin:jobs=300,high_priority_share=(0.3, 0.1)"),
    Entry("Section 2.2", "reservations", "workload",
          "lublin:jobs=300,requested_start_share=0.05,max_advance=12h"),
    Entry("Section 3, equation 2", "slowdown as 1 + delay / service time", "metric",
          "mean_slowdown"),
    Entry("Section 3, equation 3", "slowdown ratio R", "metric", "slowdown_ratio"),
    Entry("Figures 3, 5, 6, 8", "R of the short jobs", "metric", "slowdown_ratio_small_estimate"),
    Entry("Figures 3, 5, 6, 8", "R of the medium jobs", "metric",
          "slowdown_ratio_medium_estimate"),
    Entry("Figures 3, 5, 6, 8", "R of the long jobs", "metric", "slowdown_ratio_long_estimate"),
    Entry("Figures 6 to 9", "R of the jobs of high priority", "metric",
          "slowdown_ratio_priority_1"),
    Entry("Figures 6 to 9", "R of the jobs of low priority", "metric",
          "slowdown_ratio_priority_0"),
    Entry("Figure 4", "R of each 1000 submissions", "function", "bfenv.analysis:slowdown_ratios"),
    Entry("Section 3", "CTC", "log", "CTC-SP2-1996-3.1-cln(processors=430)"),
    Entry("Section 3", "KTH", "log", "KTH-SP2-1996-2"),
    Entry("Section 3", "PAR", "log", "SDSC-Par-1996-3.1-cln"),
    Entry("Section 3", "SP2", "log", "SDSC-SP2-1998-4.2-cln"),
    Entry("Section 3.2", "faster arrivals", "workload", "lublin:jobs=300,arrival_rate=1.25"),
    Entry("Table 2", "missed reservations", "metric", "missed_reservations"),
    Entry("Figure 11", "tail of the delays of reservations", "function",
          "bfenv.analysis:reservation_tail"),
    Entry("Figure 11", "its 99th percentile", "metric", "p99_reservation_delay"),
)  # fmt: skip
SHMUELI = (
    Entry("Section 1.1", "makespan", "metric", "makespan"),
    Entry("Section 1.1", "utilization", "metric", "utilization"),
    Entry("Section 1.1", "wait time", "metric", "mean_wait"),
    Entry("Section 1.1", "mean response time", "metric", "mean_response"),
    Entry("Section 1.1", "mean slowdown", "metric", "mean_slowdown"),
    Entry("Section 1.1", "bounded slowdown with any threshold tau", "command",
          "evaluate -w lublin:jobs=100,procs=16 -p easy --tau 60"),
    Entry("Section 1.1", "tau of 60 s and of several minutes, in boards", "metric",
          "mean_bounded_slowdown_600"),
    Entry("Chapter 2", "FCFS", "policy", "fcfs"),
    Entry("Chapter 2", "SPT: shortest time first", "policy", "sjf"),
    Entry("Chapter 2", "LPT: longest time first", "policy", "queue(order=lpt)"),
    Entry("Chapter 2", "SJF: smallest size first", "policy", "queue(order=sqf)"),
    Entry("Chapter 2", "LJF: largest size first", "policy", "queue(order=lqf)"),
    Entry("Chapter 2", "smallest cumulative demand first", "policy", "saf"),
    Entry("Chapter 2", "a number of reservations (Maui)", "policy", "easy(reservations=3)"),
    Entry("Chapter 2", "selective backfilling", "policy", "selective"),
    Entry("Chapter 2", "slack-based backfilling", "policy", "slack"),
    Entry("Chapter 2", "relaxed backfilling", "policy", "relaxed"),
    Entry("Chapter 2", "multiple queues", "policy", "multiqueue"),
    Entry("Algorithms 1 and 2", "LOS, the basic algorithm", "policy", "los-basic"),
    Entry("Algorithms 3 and 4", "LOS, the full algorithm", "policy", "los"),
    Entry("Algorithm 5", "selected first", "policy", "los-selected-first"),
    Entry("Algorithm 6", "maxjobs", "policy", "los-maxjobs"),
    Entry("Algorithm 7", "max-slowdown", "policy", "los-max-slowdown"),
    Entry("Section 3.4", "total response time, greatest", "policy", "los(merit=response)"),
    Entry("Section 3.4", "total response time, least", "policy", "los(merit=response, aim=min)"),
    Entry("Section 3.4", "total slowdown, least", "policy", "los(merit=slowdown, aim=min)"),
    Entry("Section 3.4", "what each merit gains", "item", "section-3.4"),
    Entry("Section 3.5", "complexity of the algorithm", "absent",
          "a bound, from which the thesis computes no number"),
    Entry("Section 3.5.1", "only the jobs that fit", "policy", "los(counts=fitting)"),
    Entry("Section 3.5.1, 4.4", "limited lookahead", "policy", "los(lookahead=10)"),
    Entry("Section 3.5.1, 4.4", "the whole queue", "policy", "los(lookahead=None)"),
    Entry("Section 4.1, appendix B", "CTC", "log", "CTC-SP2-1996-3.1-cln(processors=512)"),
    Entry("Section 4.1, appendix B", "SDSC", "log", "SDSC-SP2-1998-4.2-cln"),
    Entry("Section 4.1, appendix B", "KTH", "log", "KTH-SP2-1996-2"),
    Entry("Section 4.1", "load by stretching submit times", "workload", "lublin:jobs=300,load=0.9"),
    Entry("Section 4.2", "mean job differential with an interval", "function",
          "bfenv.analysis:differences"),
    Entry("Section 4.2", "batch means", "function", "bfenv.analysis:batch_means"),
    Entry("Figure 4.12", "mean queue length", "metric", "mean_queue_length"),
    Entry("Figures 4.13 to 4.15", "queue length over time", "function",
          "bfenv.analysis:queue_curve"),
    Entry("Chapter 5", "LOS with several reservations", "policy", "los(reservations=2)"),
    Entry("Chapter 5", "a threshold on the utilization", "policy", "los(threshold=0.9)"),
    Entry("Chapter 5", "what these two gain", "item", "chapter-5"),
    Entry("Algorithm 8", "EASY backfilling", "policy", "easy"),
    Entry("Algorithm 8", "its one reservation, in the environment", "environment",
          "reservations=1"),
    Entry("Algorithm 9", "conservative backfilling", "policy", "conservative"),
)  # fmt: skip
ENTRIES: Mapping[str, tuple[Entry, ...]] = MappingProxyType(
    {
        "zotkin2000": ZOTKIN,
        "klusacek-rudova": KLUSACEK,
        "tsafrir2010": TSAFRIR,
        "lawson-smirni2002": LAWSON,
        "shmueli-los2003": SHMUELI,
    }
)


def _numbered(tables: Iterable[object], figures: Iterable[object]) -> tuple[str, ...]:
    return (*(f"table-{n}" for n in tables), *(f"figure-{n}" for n in figures))


CONTENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "zotkin2000": _numbered(range(1, 12), range(1, 17)),
        "klusacek-rudova": ("table",),
        "tsafrir2010": _numbered((1, 2), range(1, 9)),
        "lawson-smirni2002": _numbered((1, 2), range(1, 12)),
        "shmueli-los2003": _numbered(
            ("1.1", *(f"3.{n}" for n in range(1, 9))),
            (
                "1.1", "1.2", *(f"3.{n}" for n in range(1, 7)),
                *(f"4.{n}" for n in range(1, 16)), "B.1", "B.2", "B.3",
            ),
        ),
    }
)  # fmt: skip


def place_of(paper: str, name: str) -> str | None:
    """Return where a table or figure is: an item's title and page, or an entry's place in bfenv.

    None if it is nowhere.
    """
    for item in PAPERS[paper].items:
        if item.name == name:
            return f"[{item.title}]({paper}.md)"
    for entry in ENTRIES[paper]:
        if entry.place == label_of(name):
            return f"{entry.subject}: {in_bfenv(paper, entry)}"
    return None


def in_bfenv(paper: str, entry: Entry) -> str:
    """Return an entry's place in bfenv, as Markdown."""
    if entry.kind == "item":
        (title,) = (item.title for item in PAPERS[paper].items if item.name == entry.name)
        return KINDS["item"].format(title, f"{paper}.md")
    quoted = {"policy", "workload", "log"}
    quote = "'" if '"' in entry.name else '"'
    name = f"{quote}{entry.name}{quote}" if entry.kind in quoted else entry.name
    return KINDS[entry.kind].format(name.replace(":", ".") if entry.kind == "function" else name)


def render() -> str:
    """Return the page as Markdown."""
    lines = [
        "# Checklist of the five papers",
        "",
        "Every algorithm, parameter, workload, metric, table and figure, with its place in bfenv. "
        "Made by `python -m reproductions checklist`. A test tries each line. Fetch a log with "
        "`bfenv workloads fetch` before you load it; the page of each paper says how its edition "
        "differs from the paper's.",
    ]
    for paper, entries in ENTRIES.items():
        lines += ["", f"## {PAPERS[paper].title}", "", PAPERS[paper].reference, ""]
        lines += ["| in the paper | what | in bfenv |", "|---|---|---|"]
        lines += [
            f"| {entry.place} | {entry.subject} | {in_bfenv(paper, entry)} |" for entry in entries
        ]
        lines += ["", "| table or figure | what |", "|---|---|"]
        lines += [f"| {label_of(name)} | {place_of(paper, name)} |" for name in CONTENTS[paper]]
    return "\n".join(lines) + "\n"


def write_checklist(out: Path) -> Path:
    """Write the page to a folder, and return its path."""
    out.mkdir(parents=True, exist_ok=True)
    page = out / f"{NAME}.md"
    write_atomically(page, render().encode())
    return page
