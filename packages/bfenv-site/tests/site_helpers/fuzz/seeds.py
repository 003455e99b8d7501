"""Files from which the fuzzers start: each has what the readers make differences of."""

import re

from site_helpers.samples import TEXTS, XDMOD_JSON

SWF = """; Version: 2.2
; UnixStartTime: 846194400
; TimeZoneString: Europe/Stockholm
; MaxProcs: 8 (and more)
1 0 5 100 4 2.50 -1 4 60 -1 1 1 1 1 1 1 -1 -1
2 9 5 0 4 -1 -1 -1 -1 -1 1 2 1 1 1 1 -1 -1 ; no runtime
3 7.5 -1 +1e1 2 142.00 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 1 30
4 -1 -1 5 2 -1 -1 9 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1
5 6 7
6 8 -9 50 2 -1 -1 2 60 -1 2 1 1 1 1 1 -1 -1
6 8 9 50 2 -1 -1 2 60 -1 3 1 1 1 1 1 -1 -1
1 0 5 100 4 2.50 -1 4 60 -1 1 1 1 1 1 1 -1 -1
"""
SACCT = """JobID|User|Group|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|NNodes
100|ann|g|p|q|2025-10-26T02:30:00|2025-10-26T02:30:00|2025-10-26T02:10:00|2025-10-26T02:20:00|600|60|COMPLETED|4|1
100|ann|g|p|q|2025-10-26T03:30:00|Unknown|1761450000|1761450060||UNLIMITED|REQUEUED|4|1
101_[3-9%2]|bob|g|p|q|2026-01-01T00:00:00|Unknown|Unknown|Unknown|0|60|PENDING|4|1
101_2|bob|g|p|q|1767225600|1767225600|1767225700|1767225800|100|1|CANCELLED by 1000|2K|1
102+1|eve|g|p|q|1767225600|1767225600|1767225700|1767225800|100|1-12|TIMEOUT|2|2
102.batch|eve|g|p|q|1767225600|1767225600|1767225700|1767225800|100|1|COMPLETED|2|2
105|eve|g|p|q|1767225600|1767225600|1767225700|1767225800|100|1|COMPLETED|0|0
103|eve|g|p|q|1767225600|1767225600|1767225700|Unknown|100|Partition_Limit|RUNNING|2|2
JobID|User|Group|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|NNodes
104|a|b|c
"""  # noqa: E501
DURATIONS = """JobID|Submit|Start|End|Elapsed|Timelimit|State|ReqCPUS|ReqNodes
1|2026-01-01T00:00:00|2026-01-01 00:00:01|2026-01-01T00:00:00Z|1-02:03:04|02:03|FAILED|1|1
2|2026-03-29T02:30:00|2026-03-29T03:30:00+02:00|None|05:06|4-00:00:00|NODE_FAIL|1.5K|
3|1767225600|1767225600|1767225700|90m|2.5 d|COMPLETED|1|1
"""
NAMES = """JobID;JobName;Submit;Start;End;State;AllocCPUS;ReqCPUS;TimelimitRaw
7;a;1767225600;1767225700;1767225800;COMPLETED;4;2;4294967295
8;"b;
c";1767225600;1969-12-31T16:00:00;1767225800;COMPLETED;4;2;INFINITE
8;d;e;1767225600;1767225700;1767225600;COMPLETED;4;2;5
"""
CSV = """sub,n,ran,on,off,lim,who
2026-01-01 12:00:00,4,60,2026-01-01 12:01:00,2026-01-01 12:02:00,1:00:00,ann
1767268800,"2",1 days 02:03:04,,,-1,"bob, ""b"" jr"
2025-10-26T02:30:00,1e2,1.5,2025-10-26T02:10:00,2025-10-26T02:20:00,nan,
x,1,2,3,4,5,6
1767268800,2,60,1970-01-01,0,NOT_SET,"line
break"
"""
TABS = "n;ran;sub\n1;5;9\n0;5;9\n1;;9\n1;5;-1\n1;5\n"
SEEDS = {
    "swf": [SWF, SWF.replace("\n", "\r\n"), "\ufeff" + SWF],
    "sacct": [SACCT, DURATIONS, NAMES],
    "columns": [CSV, TABS],
    **{kind: [text] for kind, text in TEXTS.items()},
    "xdmod-json": [XDMOD_JSON],
}


def seeds(reader: str) -> list[bytes]:
    """The seeds of a reader; the first byte chooses its options."""
    return [bytes([choice]) + text.encode() for choice in (1, 14) for text in SEEDS[reader]]


def vocabulary(reader: str) -> list[str]:
    """Words of the seeds, and others that their formats know, of which to make new inputs."""
    words = {word for text in SEEDS[reader] for word in re.findall(r"[A-Za-z0-9_:+.-]+", text)}
    return sorted(
        words | {"nan", "inf", "1e400", "9007199254740992", "-0.5", "\\x0a", "|", "\\xc2\\xa0"}
    )
