"""`bfenv apply`."""

import json


def test_lines_of_json(run, tmp_path, monkeypatch):
    """Each partition is a line, printed or appended to a file; the shadow needs no scontrol."""
    programs = {
        "squeue": "1|ann|PENDING|1|30:00|100|N/A|0:00|9|Priority|main||0\n"
        "2|ann|PENDING|1|20:00|101|N/A|0:00|8|Priority|main||0",
        "sinfo": "n1|1|idle|main",
    }
    for name, text in programs.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{text}'\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    command = ("apply", "--policy", "easy-sjf", "--cycles", 1)
    status, out, _ = run(*command)
    line = json.loads(out)
    assert status == 0 and line["wanted"] == ["2", "1"] and line["lift"] == {"2": 2}
    log = tmp_path / "log.jsonl"
    for _ in range(2):
        assert run(*command, "--log", log)[:2] == (0, "")
    assert [json.loads(row)["wanted"] for row in log.read_text().splitlines()] == [["2", "1"]] * 2
    full = run(*command, "--log", "/dev/full")  # it has no space, ever
    assert full[::2] == (2, "bfenv: /dev/full: cannot be written: No space left on device\n")
    status, _, err = run("apply", "-p", "easy", "--cycles", 1)
    assert status == 2 and "easy is no order of EASY" in err
    assert "a duration of at least 1 s is needed" in run(*command, "--every", "0s")[2]
