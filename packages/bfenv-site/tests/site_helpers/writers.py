"""The same jobs as each format writes them, for the generated table of tests."""

import csv
import io
import json

from bfenv.workloads.logs.swf import read_swf
from bfenv_site.logs.formats import read_log

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC
MAPPING = {
    "job": "id",
    "user": "who",
    "submit": "sub",
    "start": "on",
    "end": "off",
    "size": "n",
    "estimate": "limit",
    "runtime": "ran",
}


def job(number, **changes):
    """A job that waits 60 s and runs 120 s on four processors; None is what a log leaves out."""
    submit = NOON + 10 * number
    return {
        "id": str(number),
        "user": "ann",
        "submit": submit,
        "start": submit + 60,
        "end": submit + 180,
        "ran": None,
        "size": 4,
        "asked": None,
        "limit": 600,
        "name": "run",
    } | changes


def sacct(jobs, delimiter="|"):
    names = "JobID,JobName,User,Submit,Start,End,ElapsedRaw,Timelimit,State,AllocCPUS,ReqCPUS"
    lines = [names.split(",")]
    for one in jobs:
        limit = one["limit"]
        limit = f"00:{limit // 60:02}:00" if type(limit) is int and 0 < limit < 3600 else limit
        times = (one["submit"], one["start"], one["end"], one["ran"], limit, "COMPLETED")
        lines.append([one["id"], one["name"], one["user"], *times, one["size"], one["asked"]])
    return "".join(f"{delimiter.join(map(_text, line))}\n" for line in lines)


def sacct_json(jobs):
    def record(one):
        limit = one["limit"] // 60 if one["limit"] == 600 else one["limit"]
        times = {"submission": one["submit"], "start": one["start"], "end": one["end"]}
        return {
            "job_id": int(one["id"]),
            "user": one["user"],
            "name": one["name"],
            "state": {"current": ["COMPLETED"]},
            "required": {"CPUs": one["asked"]},
            "time": times | {"elapsed": one["ran"], "limit": limit},
            "tres": {"allocated": [{"type": "cpu", "name": "", "count": one["size"]}]},
        }

    return json.dumps({"jobs": list(map(record, jobs))}, ensure_ascii=False)


def pbs(jobs):
    lines = []
    for one in jobs:
        items = {
            "user": one["user"],
            "jobname": one["name"],
            "queue": "q",
            "qtime": one["submit"],
            "start": one["start"],
            "Resource_List.ncpus": one["asked"] or one["size"],
            "Resource_List.walltime": one["limit"],
            "end": one["end"],
            "resources_used.walltime": one["ran"],
            "exec_host": one["size"] and f"n1/0*{one['size']}",
        }
        text = " ".join(f"{name}={value}" for name, value in items.items() if value is not None)
        lines.append(f"01/01/2026 12:00:00;{one.get('kind', 'E')};{one['id']};{text}\n")
    return "".join(lines)


def torque(jobs):
    """As of PBS, with slots listed one by one."""
    text = pbs(jobs)
    for size in (1, 4, 8):
        slots = "+".join(f"n1/{slot}" for slot in range(size))
        text = text.replace(f"exec_host=n1/0*{size}", f"exec_host={slots}")
    return text


def lsf(jobs):
    lines = []
    for one in jobs:
        name = one["name"].replace('"', '""')
        asked, limit = one["asked"] or one["size"], one["limit"] or 0
        head = (
            f'"JOB_FINISH" "10.1" {one["end"]} {one["id"]} 1000 33554438 {asked} {one["submit"]} '
            f'0 0 {one["start"]} "{one["user"]}" "q" "" "" "" "login" "dir" "" "out" "err" "file" '
            f'0 1 "{one["size"]}*n1" 64 60.0 "{name}" "{name}" '
        )
        tail = f'{"0.5 " * 19}"mail" "chem" 0 4 "" "" 0 1024 2048 "" "" "" "" 0 "" 0 "" -1 "/ann" '
        tail += f'"" "" "" -1 "" "" 1024 "" 0 "" "text" 0 0 {limit} 0 "" 0 120\n'
        lines.append(head + tail)
    return "".join(lines)


def sge(jobs):
    lines = []
    for one in jobs:
        limit = "NONE" if one["limit"] is None else f"-l h_rt={one['limit']}"
        fields = [
            "q", "n1", "chem", one["user"], one["name"], one["id"], "sge", 0, one["submit"],
            one["start"], one["end"], 0, 0, *[0] * 18, "p", "d", "mpi", one["size"], 0, 1, 1, 0,
            limit, "0.0", "NONE", 0, 0, 0,
        ]  # fmt: skip
        lines.append(":".join(map(str, fields)) + "\n")
    return "".join(lines)


XDMOD_COLUMNS = (
    "Local Job Id",
    "Job Name",
    "User ID",
    "Submit Time (Timestamp)",
    "Start Time (Timestamp)",
    "End Time (Timestamp)",
    "Wall Time",
    "Requested Wall Time",
    "Cores",
)


def xdmod_rows(jobs):
    for one in jobs:
        ran = one["ran"]
        if ran is None:
            ran = one["end"] - one["start"] if isinstance(one["start"], int) else 0
        names = (one["id"], one["name"], one["user"])
        yield [*names, one["submit"], one["start"], one["end"], ran, one["limit"], one["size"]]


def xdmod(jobs):
    return _csv([XDMOD_COLUMNS, *xdmod_rows(jobs)])


def xdmod_json(jobs):
    rows = [XDMOD_COLUMNS, *xdmod_rows(jobs)]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"


def table(jobs, delimiter=","):
    names = ("id", "name", "who", "sub", "on", "off", "ran", "limit", "n")
    keys = ("id", "name", "user", "submit", "start", "end", "ran", "limit", "size")
    return _csv([names, *([one[key] for key in keys] for one in jobs)], delimiter)


def parquet(jobs, path):
    import pyarrow
    from pyarrow.parquet import write_table

    columns = {column: [one[_key(field)] for one in jobs] for field, column in MAPPING.items()}
    write_table(pyarrow.table(columns), path)


def swf(jobs):
    lines = ["; MaxProcs: 64", f"; UnixStartTime: {NOON}"]
    for one in jobs:
        wait = one["start"] - one["submit"]
        ran = one["end"] - one["start"] if one["ran"] is None else one["ran"]
        limit = -1 if one["limit"] is None else one["limit"]
        lines.append(
            f"{one['id']} {one['submit'] - NOON} {wait} {ran} {one['size']} -1 -1 {one['size']} "
            f"{limit} -1 {one.get('status', 1)} 1 1 1 1 1 -1 -1"
        )
    return "\n".join(lines) + "\n"


TEXTS = {
    "sacct": sacct,
    "sacct-json": sacct_json,
    "pbs": pbs,
    "torque": torque,
    "lsf": lsf,
    "sge": sge,
    "xdmod": xdmod,
    "xdmod-json": xdmod_json,
    "csv": table,
    "swf": swf,
}
FORMATS = (*TEXTS, "parquet")


def written(folder, form, jobs):
    """The jobs in a file of a format."""
    path = folder / "log"
    if form == "parquet":
        parquet(jobs, path)
    else:
        path.write_text(TEXTS[form](jobs))
    return path


def read(path, form, **options):
    """The trace of a file of a format."""
    options = {"processors": 64} | options
    if form == "swf":
        return read_swf(path, **options)
    kind = {"torque": "pbs", "xdmod-json": "xdmod"}.get(form, form)
    own = {"mapping": MAPPING} if kind in ("csv", "parquet") else {}
    return read_log(path, kind, **own, **options)


def _key(field):
    return {"job": "id", "runtime": "ran", "estimate": "limit"}.get(field, field)


def _text(value):
    return "" if value is None else str(value)


def _csv(rows, delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
