"""
From a Slurm dump to a report for the steering committee
========================================================

Your users say that they wait too long. Would another policy help, or only more nodes? You turn the
accounting log of a Slurm cluster into a workload, compare policies on it, and write a page that
your steering committee can read. This tutorial makes a small dump itself, so that you can run it
anywhere.
"""

import subprocess
from datetime import datetime, timedelta

import matplotlib.pyplot as plt
import numpy as np

import bfenv
from bfenv_site import what_if
from bfenv_site.reports.variants import with_changes

JOBS = 2500  # in the dump


def run(command):
    """Run a command and show what it prints."""
    print(f"$ {command}")
    print(subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout)


# %%
# The dump
# --------
#
# On your cluster, Slurm prints it. Users and groups become numbers in the next step, so the dump
# is the only file with names.
#
# .. code-block:: text
#
#    SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt -o \
#    JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,\
#    TimelimitRaw,State,AllocCPUS,NNodes
#
# Here, a generated workload that ran under EASY stands in for it. Twenty users submit in turns.

workload = bfenv.load_workload(f"lublin:jobs={JOBS},procs=256,load=0.75,seed=4")
jobs = bfenv.simulate(workload, "easy")
users = np.random.default_rng(0).integers(20, size=JOBS)
begin = datetime(2026, 1, 1)
with open("dump.txt", "w") as file:
    file.write("JobID|User|Group|Partition|Submit|Start|End|TimelimitRaw|State|AllocCPUS\n")
    for job in range(JOBS):
        request = jobs.trace.jobs
        seconds = int(request.submit[job]), int(jobs.start[job]), int(jobs.end[job])
        times = "|".join((begin + timedelta(seconds=second)).isoformat() for second in seconds)
        state = "TIMEOUT" if jobs.trace.runtime[job] >= request.estimate[job] else "COMPLETED"
        file.write(
            f"{job + 1}|user{users[job]}|group{users[job] % 4}|batch|{times}|"
            f"{-(-int(request.estimate[job]) // 60)}|{state}|{request.size[job]}\n"
        )
with open("dump.txt") as file:
    print(*(next(file).rstrip() for _ in range(3)), sep="\n")

# %%
# Import it
# ---------
#
# ``import`` counts what it dropped or changed, and why. Read these lines: a log that loses a
# tenth of its jobs here needs another look.

run("bfenv workloads import dump.txt --out site.swf.gz --processors 256 --force")

# %%
# The report
# ----------
#
# ``report`` simulates the log under today's policy and under candidates that Slurm can follow,
# and says in hours and days what each would do to your users. Without ``--policy`` it tries
# eight. The page has charts, the users who win or lose, and how well the simulation repeats your
# log.

run(
    "bfenv report site.swf.gz --out site.html --jobs 1 --force"
    " --policy easy-lxf --policy easy-wfp3 --policy easy-saf"
)

# %%
# Those are the first lines of the page, a single file that you can send by mail. It also compares
# the simulation of today's policy with the start times of the log. If the two are far apart, the
# cluster has rules that the simulation does not know, such as fair share, and the forecast is
# worth less. Here they are close, because EASY made the log.
#
# What if
# -------
#
# Another policy costs nothing, but more nodes cost money. How many nodes would shorten the waits
# as much as another policy? And how much more load would undo the gain?
# ``bfenv report whatif site.swf.gz --processors +10%`` prints a table that answers such questions.
# In Python, you can draw it:

trace = bfenv.read_swf("site.swf.gz")
variants = {
    "10 % more processors": with_changes(trace, "processors=+10%"),
    "10 % more load": with_changes(trace, "load=+10%"),
}
rows = what_if(trace, variants, ["easy", "easy-lxf", "easy-saf"]).rows
labels = list(dict.fromkeys(row.workload for row in rows))
policies = list(dict.fromkeys(row.policy for row in rows))
figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for axes, name, title in zip(
    panels, ("mean_wait", "max_wait"), ("mean wait", "longest wait"), strict=True
):
    for i, policy in enumerate(policies):
        hours = [row.metrics[name] / 3600 for row in rows if row.policy == policy]
        axes.barh(np.arange(len(labels)) + 0.26 * i, hours, height=0.24, label=policy)
    axes.set(title=title, xlabel="hours")
panels[0].set_yticks(np.arange(len(labels)) + 0.26, labels)
panels[0].invert_yaxis()
figure.legend(*panels[1].get_legend_handles_labels(), loc="outside upper right", ncols=3)
plt.show()

# %%
# For the committee
# -----------------
#
# Say both numbers: the mean that most users feel, and the longest wait that one user will
# complain about. A policy with a short mean and a long tail needs a limit; ``--policy
# "easy(order=saf, guard=1)"`` is such a candidate. The report says which policies Slurm can be
# configured to follow.
