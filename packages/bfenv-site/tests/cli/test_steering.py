"""What logs and queues say steers no terminal."""

from pathlib import Path

import pytest

from tests.site_log import write_site

STEERING = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202e"
NOON = 1767268800
SACCT = f"""JobID|User|Submit|Start|End|State|NCPUS|Timelimit|Partition
1|{STEERING}|{NOON}|{NOON + 10}|{NOON + 110}|COMPLETED|4|00:05:00|{STEERING}
2|b|{NOON + 100}|{NOON + 110}|{NOON + 150}|{STEERING}|2|{STEERING}|b
"""
QUEUE = f"""11|ann|RUNNING|4|10:00|{NOON - 60}|{NOON - 50}|0:50|5|None|{STEERING}||0
12|{STEERING}|PENDING|2|10:00|{NOON}|N/A|0:00|5|{STEERING}|{STEERING}||0
13|ann|PENDING|8|10:00|{NOON}|N/A|0:00|5|Resources|{STEERING}||0
"""
COMMANDS = (
    "workloads import dump.txt --out new.swf --processors 8",
    "workloads import dump.txt --out new.swf --processors 8 --split-partitions",
    "workloads info site.swf",
    "workloads info site.swf --format markdown",
    "workloads info broken.swf",
    "evaluate -w site.swf -p fcfs",
    "when --squeue queue.txt --processors 8 --futures 5",
    "when --squeue queue.txt --processors 8 --futures 5 --format prometheus",
    "when --squeue broken.txt --processors 8 --futures 5",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a log, a dump and a queue whose texts would steer a terminal."""
    monkeypatch.chdir(tmp_path)
    log = write_site(tmp_path / "site.swf", jobs=40).read_text()
    hostile = f"; Computer: {STEERING}\n; Note: {STEERING}\n; Partition: 1 {STEERING}\n{log}"
    Path("site.swf").write_text(hostile)
    Path("broken.swf").write_text(f"{hostile}{STEERING} 1 2\n")
    Path("dump.txt").write_text(SACCT)
    Path("queue.txt").write_text(QUEUE)
    Path("broken.txt").write_text(QUEUE.replace("|2|", f"|{STEERING}|"))


@pytest.mark.parametrize("words", COMMANDS)
def test_no_control_characters(folder, run, words):
    """No command prints control characters of a log or a queue, be it read or refused."""
    _, out, err = run(*words.split())
    assert out + err and not set(out + err) & {"\x1b", "\x07", "\x9b", "\u202e"}
