"""Queues as squeue prints them, as text and as JSON."""

import json
import re

from bfenv.core.durations import parse_duration

QUEUE = """\
11|ann|RUNNING|4|1:00:00|1767225000|1767225600|INVALID|100|None|main|n1|0
12|bob|RUNNING|4|30:00|1767225000|1767225900|5:00|100|None|main|n2|0
13|ann|PENDING|8|1:00:00|1767226000|N/A|0:00|50|Resources|main||0
14|eve|PENDING|1|10:00|1767226100|N/A|0:00|90|Priority|main||0
15|eve|PENDING|1|UNLIMITED|1767226150|N/A|0:00|40|Priority|main||0
16_[0-9:2,20%3]|eve|SPECIAL_EXIT|1|10:00|1767226150|N/A|0:00|0|job requeued in held state|main||0
17|eve|PENDING|1|10:00|1767226150|N/A|0:00|0|Dependency|main||0
9|eve|COMPLETED|1|10:00|1767226150|1767226150|0:00|0|None|main|n1|0
"""

NOW = 1_770_000_000  # the clock of all queues
FORMS = ("text", "json")


def job(name, state="PENDING", size=4, limit="1:00:00", **more):
    """A job that was submitted ten minutes ago, and runs since then if it does."""
    runs = state != "PENDING"
    common = {"reason": "None" if runs else "Resources", "partition": "cpu", "priority": 100}
    return {"name": name, "state": state, "size": size, "limit": limit, "nodes": ""} | common | more


def runs(name, nodes, **more):
    return job(name, "RUNNING", nodes=nodes, **more)


def as_text(jobs, clock=True):
    """What the command SQUEUE prints."""
    lines = []
    for job in jobs:
        start, ran = (
            (NOW - 600, "10:00" if clock else "INVALID") if job["nodes"] else ("N/A", "0:00")
        )
        fields = (
            job["name"],
            "ann",
            job["state"],
            job["size"],
            job["limit"],
            NOW - 600,
            start,
            ran,
            job["priority"],
            job["reason"],
            job["partition"],
            job["nodes"],
            0,
        )
        lines.append("|".join(map(str, fields)))
    return "\n".join(lines)


def as_json(jobs, clock=True):
    """What squeue --json prints, with numbers as later versions wrap them."""

    def number(value):
        return {"set": True, "infinite": False, "number": value}

    entries = []
    for job in jobs:
        array, _, rest = job["name"].partition("_")
        endless = job["limit"] == "UNLIMITED"
        limit = {"set": False, "infinite": endless, "number": 0}
        if not endless and job["limit"][0].isdigit():
            limit = number(parse_duration(job["limit"]) // 60)
        entry = {
            "job_id": int(array),
            "user_name": "ann",
            "job_state": [job["state"]],
            "cpus": number(job["size"]),
            "time_limit": limit,
            "submit_time": number(NOW - 600),
            "start_time": number(NOW - 600 if job["nodes"] else 0),
            "state_reason": job["reason"],
            "priority": number(job["priority"]),
            "partition": job["partition"],
            "nodes": job["nodes"],
            "nice": number(0),
        }
        if rest.startswith("["):
            tasks, _, most = rest.strip("[]").partition("%")
            entry |= {"array_job_id": number(int(array)), "array_task_string": tasks}
            entry["array_max_tasks"] = number(int(most or 0))
        elif rest:
            entry |= {"array_job_id": number(int(array)), "array_task_id": number(int(rest))}
        entries.append(entry)
    return json.dumps({"jobs": entries} | ({"last_update": number(NOW)} if clock else {}))


def left_out(forecaster):
    """How many jobs each note leaves out, by the reason."""
    matches = (re.match(r"left out, because of (.*): ([0-9]+) job", n) for n in forecaster.notes)
    return {match[1]: int(match[2]) for match in matches if match}
