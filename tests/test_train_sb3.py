"""The script `bfenv.train_sb3`: it trains, saves, exports and scores."""

import pytest

pytest.importorskip("sb3_contrib")
pytestmark = [pytest.mark.torch, pytest.mark.compiled]

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


@pytest.mark.parametrize("word", ["--steps", "--num-steps", "--episodes"])
def test_too_few(word, capsys):
    """A number that would train or score nothing is refused before the training."""
    with pytest.raises(SystemExit, match="2"):
        read_args([word, "-1"])
    assert f"{word} must be at least" in capsys.readouterr().err


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
