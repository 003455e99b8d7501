"""Logs of each system, a few lines of each written by hand in its layout."""

import csv
import json

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC

PBS = f"""01/01/2026 12:00:00;Q;7.pbs;queue=workq
01/01/2026 12:01:00;S;7.pbs;user=ann group=chem queue=workq
01/01/2026 12:03:00;E;7.pbs;user=ann group=chem jobname=a queue=workq ctime={NOON} qtime={NOON} \
etime={NOON} start={NOON + 60} exec_host=n1/0*4 Resource_List.ncpus=4 \
Resource_List.walltime=00:10:00 session=1 end={NOON + 180} Exit_status=0 \
resources_used.walltime=00:02:00
01/01/2026 12:05:00;E;8.pbs;user=bob group=chem queue=long ctime={NOON + 5} qtime={NOON + 5} \
start={NOON + 200} Resource_List.nodes=2:ppn=8+1:ppn=4 end={NOON + 300} Exit_status=271
01/01/2026 12:06:00;D;9.pbs;requestor=bob@login
01/01/2026 12:07:00;E;10.pbs;user=bob queue=long qtime={NOON} start=0 end=0 Resource_List.ncpus=1
"""
SGE = "\n".join(
    ":".join(map(str, fields))
    for fields in (
        # qname hostname group owner name number account priority submission start end failed exit
        ["all.q", "n1", "chem", "ann", "job", 7, "sge", 0, NOON, NOON + 60, NOON + 180, 0, 0]
        + [0] * 18
        + ["p", "d", "mpi", 16, 0, 1, 1, 0, "-l h_rt=600,h_vmem=1G", 0, "NONE", 0, 0, 0],
        ["all.q", "n1", "chem", "bob", "arr", 8, "sge", 0, NOON + 5, NOON + 65, NOON + 95, 0, 1]
        + [0] * 18
        + ["p", "d", "NONE", 1, 3, 1, 1, 0, "NONE", 0, "NONE", 0, 0, 0],
        ["all.q", "n1", "chem", "bob", "x", 9, "sge", 0, NOON + 6, 0, 0, 100, 0]
        + [0] * 18
        + ["p", "d", "NONE", 1, 0, 1, 1, 0, "NONE", 0, "NONE", 0, 0, 0],
    )
)
LSF = f'''# lsb.acct
"JOB_NEW" "10.1" {NOON} 7 1000 0 4
"JOB_FINISH" "10.1" {NOON + 180} 7 1000 33554438 4 {NOON} 0 0 {NOON + 60} "ann" "normal" "" "" \
"" "login" "dir ""a b""" "" "out" "err" "file" 0 4 "n1" "n1" "n2" "n2" 64 60.0 "name" "sleep 1" 0.1
"JOB_FINISH" "10.1" {NOON + 300} 8 1001 33554438 1 {NOON + 5} 0 0 {NOON + 200} "bob" "long" "" "" \
"" "login" "dir" "" "" "" "file" 1 "n9" 1 "8*n9" 32 60.0 "name" "x" 0.1
"JOB_FINISH" "10.1" {NOON + 300} 9 1001 33554438 1 {NOON + 6} 0 0 0 "bob" "long" "" "" \
"" "login" "dir" "" "" "" "file" 0 0 32 60.0 "name" "x" 0.1
'''

XDMOD = f""""Local Job Id",Resource,Timezone,"System Username (Deidentified)","User ID","Principal \
Investigator ID","Quality of Service","Submit Time (Timestamp)","Start Time (Timestamp)","End Time \
(Timestamp)","Eligible Time (Timestamp)",Nodes,Cores,GPUs,"Wall Time","Wait Time","Exit State",\
"Requested Wall Time",Queue
7,fat,UTC,0a,12,3,normal,{NOON},{NOON + 60},{NOON + 180},{NOON + 30},1,4,2,120,60,COMPLETED,600,gpu
8[3],fat,UTC,2c3d,14,3,normal,{NOON + 5},{NOON + 65},{NOON + 95},{NOON + 5},2,8,0,30,60,FAILED,0,cpu
9,thin,UTC,2c3d,14,3,normal,{NOON + 6},{NOON + 65},{NOON + 65},{NOON + 6},1,4,0,0,59,FAILED,60,cpu
"""


def xdmod_json(text=XDMOD):
    """The same jobs as JSON, in the layout of the export: numbers are text, except from PHP 8."""
    rows = list(csv.reader(text.splitlines()))
    rows[2] = [int(value) if value.isdecimal() else value for value in rows[2]]
    rows[3] = [value or None for value in rows[3]]
    return "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in rows) + "\n]"


def lsf_line(index=0, limit=0, *, pairs=(), hosts=(), old=False):
    """A JOB_FINISH in the layout of LSF 10.1, or of a version before 9.1."""
    head = (
        f'"JOB_FINISH" "10.1" {NOON + 180} 7 1000 33554438 4 {NOON} 0 0 {NOON + 60} "ann" "normal"'
    )
    head += ' "" "" "" "login" "dir" "" "out" "err" "file" 0 2 "2*n1" "2*n2"'
    usage = " ".join(["0.5"] * 19)
    tail = f'64 60.0 "name[1-9]" "sleep 1" {usage} "mail" "chem" 0 4 "" "" {index} 1024 2048'
    if not old:
        tail += ' "" "" "" "" 0 "" 0 "" -1 "/ann" "" "" "" -1 "" "" 1024 "" 0 "" "text"'
        tail += f" {len(pairs) // 2} {' '.join(pairs)}"
        tail += f' {len(hosts)} {" ".join(hosts)} {limit} 0 "" 0 120'
    return head + " " + " ".join(tail.split())


def slurm_job(**changes):
    """A job as sacct --json of Slurm 23.02 and later prints it."""
    number = {"set": True, "infinite": False, "number": 10}
    return {
        "job_id": 7,
        "array": {"job_id": 0, "task_id": {"set": False, "number": 0}},
        "het": {"job_id": 0},
        "user": "ann",
        "group": "chem",
        "partition": "gpu",
        "qos": "normal",
        "cluster": "c1",
        "allocation_nodes": 1,
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "time": {
            "submission": NOON,
            "eligible": NOON,
            "start": NOON + 60,
            "end": NOON + 180,
            "elapsed": 120,
            "limit": number,
        },
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "count": 4},
                {"type": "mem", "name": "", "count": 8192},
                {"type": "gres", "name": "gpu", "count": 2},
            ]
        },
    } | changes


OLD_JOB = slurm_job(  # 21.08: plain numbers, one state
    job_id=9,
    array={"job_id": 8, "task_id": 3},
    state={"current": "TIMEOUT"},
    time={
        "submission": NOON + 5,
        "start": NOON + 60,
        "end": NOON + 90,
        "elapsed": 30,
        "limit": 1,
    },
)
WAITING = slurm_job(
    job_id=10, state={"current": ["PENDING"]}, time={"submission": NOON + 7, "start": 0, "end": 0}
)
JSON = json.dumps({"jobs": [slurm_job(), OLD_JOB, WAITING]})
TEXTS = {"pbs": PBS, "sge": SGE, "lsf": LSF, "sacct-json": JSON, "xdmod": XDMOD}
XDMOD_JSON = xdmod_json()
