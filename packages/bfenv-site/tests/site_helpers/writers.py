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
    """Return lines as `sacct --parsable2` prints them."""
    names = "JobID,JobName,User,Submit,Start,End,ElapsedRaw,Timelimit,State,AllocCPUS,ReqCPUS"
    lines = [names.split(",")]
    for row in jobs:
        limit = row["limit"]
        limit = f"00:{limit // 60:02}:00" if type(limit) is int and 0 < limit < 3600 else limit
        times = (row["submit"], row["start"], row["end"], row["ran"], limit, "COMPLETED")
        lines.append([row["id"], row["name"], row["user"], *times, row["size"], row["asked"]])
    return "".join(f"{delimiter.join(map(_text, line))}\n" for line in lines)


def sacct_json(jobs):
    """Return what `sacct --json` prints."""

    def record(row):
        """Return the object of a job."""
        limit = row["limit"] // 60 if row["limit"] == 600 else row["limit"]
        times = {"submission": row["submit"], "start": row["start"], "end": row["end"]}
        return {
            "job_id": int(row["id"]),
            "user": row["user"],
            "name": row["name"],
            "state": {"current": ["COMPLETED"]},
            "required": {"CPUs": row["asked"]},
            "time": times | {"elapsed": row["ran"], "limit": limit},
            "tres": {"allocated": [{"type": "cpu", "name": "", "count": row["size"]}]},
        }

    return json.dumps({"jobs": list(map(record, jobs))}, ensure_ascii=False)


def pbs(jobs):
    """Return an accounting file of PBS."""
    lines = []
    for row in jobs:
        items = {
            "user": row["user"],
            "jobname": row["name"],
            "queue": "q",
            "qtime": row["submit"],
            "start": row["start"],
            "Resource_List.ncpus": row["asked"] or row["size"],
            "Resource_List.walltime": row["limit"],
            "end": row["end"],
            "resources_used.walltime": row["ran"],
            "exec_host": row["size"] and f"n1/0*{row['size']}",
        }
        text = " ".join(f"{name}={value}" for name, value in items.items() if value is not None)
        lines.append(f"01/01/2026 12:00:00;{row.get('kind', 'E')};{row['id']};{text}\n")
    return "".join(lines)


def torque(jobs):
    """As of PBS, with slots listed one by one."""
    text = pbs(jobs)
    for size in (1, 4, 8):
        slots = "+".join(f"n1/{slot}" for slot in range(size))
        text = text.replace(f"exec_host=n1/0*{size}", f"exec_host={slots}")
    return text


def lsf(jobs):
    """Return an lsb.acct file of LSF."""
    lines = []
    for row in jobs:
        name = row["name"].replace('"', '""')
        slots, limit = row["asked"] or row["size"], row["limit"] or 0
        head = (
            f'"JOB_FINISH" "10.1" {row["end"]} {row["id"]} 1000 33554438 {slots} {row["submit"]} '
            f'0 0 {row["start"]} "{row["user"]}" "q" "" "" "" "login" "dir" "" "out" "err" "file" '
            f'0 1 "{row["size"]}*n1" 64 60.0 "{name}" "{name}" '
        )
        tail = f'{"0.5 " * 19}"mail" "chem" 0 4 "" "" 0 1024 2048 "" "" "" "" 0 "" 0 "" -1 "/ann" '
        tail += f'"" "" "" -1 "" "" 1024 "" 0 "" "text" 0 0 {limit} 0 "" 0 120\n'
        lines.append(head + tail)
    return "".join(lines)


def sge(jobs):
    """Return an accounting file of Grid Engine."""
    lines = []
    for row in jobs:
        limit = "NONE" if row["limit"] is None else f"-l h_rt={row['limit']}"
        fields = [
            "q", "n1", "chem", row["user"], row["name"], row["id"], "sge", 0, row["submit"],
            row["start"], row["end"], 0, 0, *[0] * 18, "p", "d", "mpi", row["size"], 0, 1, 1, 0,
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
    """Yield the columns of each job, as XDMoD has them."""
    for row in jobs:
        ran = row["ran"]
        if ran is None:
            ran = row["end"] - row["start"] if isinstance(row["start"], int) else 0
        names = (row["id"], row["name"], row["user"])
        yield [*names, row["submit"], row["start"], row["end"], ran, row["limit"], row["size"]]


def xdmod(jobs):
    return _csv([XDMOD_COLUMNS, *xdmod_rows(jobs)])


def xdmod_json(jobs):
    rows = [XDMOD_COLUMNS, *xdmod_rows(jobs)]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"


def table(jobs, delimiter=","):
    names = ("id", "name", "who", "sub", "on", "off", "ran", "limit", "n")
    keys = ("id", "name", "user", "submit", "start", "end", "ran", "limit", "size")
    return _csv([names, *([row[key] for key in keys] for row in jobs)], delimiter)


def parquet(jobs, path):
    import pyarrow
    from pyarrow.parquet import write_table

    columns = {column: [row[_key(field)] for row in jobs] for field, column in MAPPING.items()}
    write_table(pyarrow.table(columns), path)


def swf(jobs):
    """Return a log in the Standard Workload Format."""
    lines = ["; MaxProcs: 64", f"; UnixStartTime: {NOON}"]
    for row in jobs:
        wait = row["start"] - row["submit"]
        ran = row["end"] - row["start"] if row["ran"] is None else row["ran"]
        limit = -1 if row["limit"] is None else row["limit"]
        lines.append(
            f"{row['id']} {row['submit'] - NOON} {wait} {ran} {row['size']} -1 -1 {row['size']} "
            f"{limit} -1 {row.get('status', 1)} 1 1 1 1 1 -1 -1"
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
    format_options = {"mapping": MAPPING} if kind in ("csv", "parquet") else {}
    return read_log(path, kind, **format_options, **options)


def _key(field):
    return {"job": "id", "runtime": "ran", "estimate": "limit"}.get(field, field)


def _text(value):
    return "" if value is None else str(value)


def _csv(rows, delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
