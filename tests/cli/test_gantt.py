"""`bfenv gantt`: what it draws and refuses."""

import pytest

pytest.importorskip("matplotlib")
WORKLOAD = ("gantt", "-w", "lublin:procs=32,jobs=100")


def test_one_or_two(run, tmp_path):
    """The picture has one policy or two, in the interval of --from and --span."""
    out = tmp_path / "one.svg"
    assert run(*WORKLOAD, "--from", "0", "--span", "1d", "-o", out)[0] == 0
    assert ">easy<" in out.read_text() and ": 24 h on 32 processors<" in out.read_text()
    two = (*WORKLOAD, "-p", "easy", "-p", "fcfs", "-o", out, "--force")
    assert run(*two)[0] == 0
    assert ">fcfs<" in out.read_text() and ": 6 h on 32 processors<" in out.read_text()
    status, _, err = run(*two, "-p", "los")
    assert status == 2 and "3 policies" in err


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (("--from", "9w", "-o", "x.png"), "63.0 d"),
        (("-o", "x.txt"), "x.txt"),
        (("-o", "there.svg"), "--force"),
        (("-o", "x.png", "--from", "soon"), "'soon'"),
        (("-o", "x.png", "--span", "0"), "'0'"),
    ],
)
def test_refusals(run, tmp_path, monkeypatch, options, value):
    """What cannot be drawn is one line that names it, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.svg").write_text("mine")
    status, _, err = run(*WORKLOAD, *options)
    assert status == 2 and value in err and err.count("\n") == 1
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
