"""No row may be taken for one of bfenv's own: when it is written, verified or reported."""

import json
import shutil

import pytest

from bfenv import BfenvError
from bfenv.agents.agent_names import ALL as AGENTS
from bfenv.agents.card import shipped_names
from bfenv.baselines.registry import ALL, ELSEWHERE, FAMILIES
from bfenv.evaluation.row import encode_json
from bfenv.leaderboard.own_names import check_name, own_names, reading
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.store import read_leaderboard
from bfenv.leaderboard.task import plan_rows
from bfenv_judge.verify import WRONG, verify
from tests.leaderboard.suites import TINY

OWN = {
    "logged",
    *ALL,
    *FAMILIES,
    *ELSEWHERE,
    *AGENTS,
    *(f"agent:{name}" for name in shipped_names()),
}
IMITATIONS = [
    "EASY", "Easy-SAF", "FCFS", "LOS", "agent:FORMULA", "Easy (order=sjf)", "EASY:order=sjf",
    "easy_saf", "easy saf", "easy:saf", "easy*", "'easy'", "-easy", "easy.", "[easy]", "easy *",
    "easy[order=sjf]", "l0s", "ea5y", "|os", "1os", "5jf", "se1ective", "agent-formula",
    "agent:f0rrnula", "LOGGED", "Random", "easy {best}",
    "e a s y", "f-c-f-s", "wfp 3", "easy=", "+easy", "easy+", "easy+ +", "easy!", "|fcfs|",
    "$easy$", "easy=sjf", "e@sy", "3asy", "e4sy", "c()nservative", "nnultiqueue", "easy/",
    "bfenv:easy", "BFENV / Easy", "agent/formula",
]  # fmt: skip
UNICODE = ["ｅａｓｙ", "eаsy", "easy\u200b", "ℓos", "eaſy", "e\u0301asy", "\u202eysae"]
OTHERS = [
    "mine:easy",
    "mine:smallest_first(order=easy)",
    "./easy",
    "/opt/easy",
    "python easy.py",
    "easiest",
    "my-easy",
    "easy2",
    "los2",
    "two-los",
    "bfenv-for-beginners:LOST",
    "agents/mine",
    "easy-sjf-mine",
    "fcfs.py",
]


def test_own_names_read_differently():
    """All of bfenv's own competitors are known, and no two of them read alike."""
    assert {own.name for own in own_names().values()} == OWN
    assert len({reading(name) for name in OWN}) == len(OWN)


@pytest.mark.parametrize("kind", ["policy", "agent", "player"])
@pytest.mark.parametrize("name", IMITATIONS)
def test_imitations(kind, name):
    """A name that reads like one of bfenv's own is refused, of whatever kind it is."""
    with pytest.raises(BfenvError, match="reads like .*, the name of bfenv's own"):
        check_name(kind, name)


@pytest.mark.parametrize("name", UNICODE)
def test_other_letters(name):
    """Letters of other alphabets, and those that Unicode normalizes, are refused."""
    with pytest.raises(BfenvError, match="has printable ASCII characters only"):
        check_name("policy", name)


@pytest.mark.parametrize("name", OTHERS)
def test_other_names(name):
    """A name that a reader tells from bfenv's own is taken."""
    check_name("player", name)


def test_own_names_are_taken():
    """bfenv's own names are taken as their kind, with or without options, and as no other kind."""
    for own in own_names().values():
        for name in (own.name, f"{own.name}(limit=1)", f"{own.name}:limit=1"):
            for kind in ("policy", "agent", "player", "log"):
                if kind in own.kinds:
                    check_name(kind, name)
                else:
                    with pytest.raises(BfenvError, match=f"the name of bfenv's own {own.kinds[0]}"):
                        check_name(kind, name)


@pytest.fixture(scope="module")
def easy_board(tmp_path_factory):
    """A board with a row of EASY and its schedule."""
    folder = tmp_path_factory.mktemp("boards") / "board"
    run_suite(TINY, ["easy"], out=folder, seeds=1, keep_schedules=True)
    return folder


@pytest.mark.parametrize("name", [*IMITATIONS, *UNICODE, "easy"])
def test_forged_boards(easy_board, tmp_path, monkeypatch, name):
    """A row of other code under a name like bfenv's fails, and no report shows it."""
    monkeypatch.setattr("bfenv_judge.verify.find_suite", lambda name: TINY)
    board = shutil.copytree(easy_board, tmp_path / "board")
    (path,) = (board / "rows").glob("easy_*.json")
    values = json.loads(path.read_text()) | {"policy": name, "code": f"sha256:{'0' * 64}"}
    path.write_bytes(encode_json(values))
    assert [one.check for one in verify(board, sample=0) if one.verdict == WRONG] == ["name"]
    with pytest.raises(BfenvError, match="bfenv's own|printable ASCII"):
        read_leaderboard(board)


@pytest.mark.parametrize("name", ["EASY", "Easy-SAF", "l0s"])
def test_no_row_is_written(name):
    """A program under such a name is refused before it is started."""
    with pytest.raises(BfenvError, match="reads like"):
        plan_rows(TINY, [], [], players=[name])
