"""What squeue prints may be cut, odd or hostile: each is one clear error, and no wrong count."""

import json

import pytest

from bfenv.core.errors import BfenvError
from bfenv_site.live.nodes import read_sinfo
from bfenv_site.live.squeue import number_of, read_squeue
from bfenv_site.logs.selection import read_users

NOON = 1767268800
JOB = {
    "job_id": 7,
    "job_state": ["PENDING"],
    "cpus": 1,
    "submit_time": NOON,
    "priority": 5,
    "time_limit": 10,
}
MANY = "9" * 5000
INFINITY = float("inf")


def json_queue(path, **changes):
    path.write_text(json.dumps({"jobs": [JOB | changes], "last_update": NOON}))
    return path


def text_queue(path, name="7", size="1", submit=str(NOON), priority="5", nice="0"):
    path.write_text(
        f"{name}|ann|PENDING|{size}|10:00|{submit}|N/A|0:00|{priority}|None|main||{nice}\n"
    )
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"array_task_string": "1-9:0"}, "'1-9:0' in '7_[1-9:0]' is not a range of tasks"),
        ({"array_task_string": "1,,5"}, "'' in '7_[1,,5]' is not a range of tasks"),
        ({"array_task_string": "9-1"}, "'9-1' in '7_[9-1]' is not a range of tasks"),
        ({"array_task_string": "1,3,5,..."}, "cut the tasks of '7_[1,3,5,...]'; set SLURM_BITSTR"),
        ({"array_task_string": "1-4,6,..."}, "set SLURM_BITSTR_LEN=0 for squeue"),
        ({"array_task_string": f"0-{MANY}"}, "is not a range of tasks"),
        ({"array_task_string": "0-999999999999"}, "more than 10,000,000 jobs"),
        ({"array_task_string": "0-9%x"}, "'x' is not a whole number"),
        ({"cpus": 10**30}, "job 7: cpus is 1" + "0" * 30 + ", which is out of range"),
        ({"cpus": INFINITY}, "job 7: cpus is inf, which is out of range"),
        ({"cpus": float("nan")}, "job 7: cpus is nan, which is out of range"),
        ({"cpus": {"set": True, "number": 10**30}}, "cpus is 1"),
        ({"cpus": True}, "job 7 has no number of cpus"),
        ({"submit_time": 10**12}, "submit_time is 1000000000000, which is out of range"),
        ({"time_limit": -INFINITY}, "time_limit is -inf, which is out of range"),
        ({"priority": 10**30}, "priority is 1"),
        ({"nice": float("nan")}, "nice is nan, which is out of range"),
        ({"array_max_tasks": INFINITY}, "array_max_tasks is inf"),
    ],
    ids=str,
)
def test_numbers_of_json(tmp_path, changes, message):
    """A malformed number, or one larger than Slurm has, is refused with its job and field."""
    with pytest.raises(BfenvError) as error:
        read_squeue(json_queue(tmp_path / "queue.json", **changes))
    assert message in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize("state", [[["PENDING"]], [{"PENDING": 1}], [[]], {}, 7, None, [None]])
def test_nested_states(tmp_path, state):
    """A state that is not text is unknown, so the job is left out."""
    assert read_squeue(json_queue(tmp_path / "queue.json", job_state=state)).entries == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": MANY}, "is not a whole number"),
        ({"priority": MANY}, "is not a whole number"),
        ({"submit": MANY}, "is after the year 3000"),
        ({"submit": "99999999999"}, "is after the year 3000"),
        ({"name": "7_[1-9:0]"}, "'1-9:0' in '7_[1-9:0]' is not a range of tasks"),
        ({"name": "7_[1,,5]"}, "'' in '7_[1,,5]' is not a range of tasks"),
        ({"name": "7_[9-1]"}, "is not a range of tasks"),
        ({"name": "7_[1,3,5,...]"}, "set SLURM_BITSTR_LEN=0 for squeue"),
        ({"name": f"7_[{MANY}]"}, "is not a range of tasks"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_numbers_of_text(tmp_path, changes, message):
    """The same holds of what squeue prints as text, with the line."""
    with pytest.raises(BfenvError) as error:
        read_squeue(text_queue(tmp_path / "queue.txt", **changes))
    assert message in str(error.value) and "line 1" in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("tasks", "count"), [("0-9", 10), ("1,3,5", 3), ("0-9:2,20%4", 6), ("3", 1), ("4-4", 1)]
)
def test_tasks(tmp_path, tasks, count):
    """A list of tasks counts as many jobs as it names, in text and in JSON."""
    text = read_squeue(text_queue(tmp_path / "queue.txt", name=f"7_[{tasks}]"))
    content = read_squeue(json_queue(tmp_path / "queue.json", array_task_string=tasks))
    assert len(text.entries) + len(text.apart) == count
    assert len(content.entries) + len(content.apart) == count


def test_numbers_of_other_files(tmp_path):
    """Thousands of digits are an error in sinfo and the file of users, and cut in a job's name."""
    path = tmp_path / "file"
    path.write_text(f"n1|{MANY}|idle|main\n")
    with pytest.raises(BfenvError, match="line 1: '9+...? is not a whole number"):
        read_sinfo(path)
    for text in (f"user,{MANY},ann\n", "user,7," + "a" * 200_000 + "\n"):
        path.write_text(text)
        with pytest.raises(BfenvError, match=r"expected kind,number,name|cannot be read: field la"):
            read_users(path)
    (entry,) = read_squeue(text_queue(path, name=MANY, nice=MANY)).entries
    assert entry.nice == 0 and number_of(entry)
