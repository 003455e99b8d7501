"""The script `bfenv.train_sb3`: it trains, saves, exports and scores."""

import pytest

pytest.importorskip("sb3_contrib")
pytestmark = [pytest.mark.torch, pytest.mark.compiled]

from sb3_contrib import MaskablePPO  # noqa: E402

from bfenv.agents.card import read_card  # noqa: E402
from bfenv.core.errors import BfenvError  # noqa: E402
from bfenv.train_sb3 import Args, read_args, score, train  # noqa: E402

WORKLOAD = "lublin:jobs=4000,procs=32"
WORDS = f"--workload {WORKLOAD} --steps 64 --num-envs 2 --num-steps 16 --batch-size 16 --window 8"


def test_arguments():
    """Each argument has an option by its name, and keeps its default unless it is given."""
    assert read_args([]) == Args()
    assert read_args(WORDS.split()) == Args(
        workload=WORKLOAD, steps=64, num_envs=2, num_steps=16, batch_size=16, window=8
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--steps 0", "--steps must be at least 1, got 0"),
        ("--episodes -1", "--episodes must be at least 0, got -1"),
        ("--batch-size 1", "--batch-size must be at least 2, got 1"),
        ("--gamma 1.5", "--gamma must be from 0 to 1, got 1.5"),
        ("--learning-rate nan", "--learning-rate must be from 0 to 1, got nan"),
        ("--num-envs 3 --num-steps 3 --batch-size 4", "choose another --batch-size"),
        ("--device tpu9", "--device: torch has no device 'tpu9'"),
    ],
)
def test_wrong_arguments(words, error, capsys):
    """An argument that would train nothing, or only NaN, is refused before the training."""
    with pytest.raises(SystemExit, match="2"):
        read_args(words.split())
    assert error in capsys.readouterr().err


def test_nothing_lost(tmp_path, monkeypatch):
    """What could not be saved or scored is not trained."""
    monkeypatch.setattr(MaskablePPO, "learn", lambda *_, **__: pytest.fail("it trains"))
    words = f"{WORDS} --episodes 0 --out {tmp_path / 'file' / 'folder'}"
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        train(read_args(words.split()))
    short = WORDS.replace("jobs=4000", "jobs=2000")
    with pytest.raises(BfenvError, match="split 'test' has .* jobs, too few"):
        train(read_args(f"{short} --out {tmp_path / 'out'}".split()))


def test_unknown_policy():
    """A policy that does not exist is an error that names it."""
    with pytest.raises(BfenvError, match="unknown policy network 'rankr'; did you mean ranker"):
        train(Args(policy="rankr"))
    with pytest.raises(BfenvError, match="'mlp'; known: MultiInputPolicy, ranker, scorer$"):
        train(Args(policy="mlp"))


@pytest.mark.parametrize("policy", ["ranker", "MultiInputPolicy"])
def test_train(tmp_path, policy):
    """The model is saved with its card, a ScorerPolicy also without code, and both are scored."""
    words = f"{WORDS} --policy {policy} --episodes 1 --out {tmp_path}"
    args = read_args(words.split())
    path = train(args)
    assert read_card(path).found["steps"] == 64
    files = {"model.zip", "model.card.json"} | ({"model.json"} if policy == "ranker" else set())
    assert {file.name for file in tmp_path.iterdir()} == files
    table = score(path, args)
    names, measures = (list(column.cells) for column in table.columns[:2])
    assert {str(path), "random:window=8", "easy", "los", "easy-saf-aged"} <= set(names)
    assert measures == sorted(measures, key=float)  # the best comes first


def test_seed(tmp_path):
    """The seed decides the weights."""
    words = f"{WORDS} --out {tmp_path}"
    contents = []
    for seed in (0, 0, 1):
        train(read_args([*words.split(), "--seed", str(seed)]))
        contents.append((tmp_path / "model.json").read_bytes())
    assert contents[0] == contents[1] != contents[2]
