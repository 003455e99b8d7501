"""`bfenv train`: a search on slices of training splits, whose result is a policy."""

import random
import subprocess
import sys
import time

import pytest

import bfenv
from bfenv.agents.agent_names import open_agent
from bfenv.agents.card import POLICY, read_card
from bfenv.core.errors import BfenvError
from bfenv.envs.settings import DEFAULTS, SEEDS
from bfenv.workloads.transform import split_range
from bfenv_lab.search.curves import read_curves
from bfenv_lab.search.training import TRAINING_SEEDS, train, training_settings

pytestmark = pytest.mark.compiled  # searches simulate many schedules

pytest.importorskip("cma")

WORKLOAD = "lublin:jobs=600,procs=32"
SMALL = {"workloads": (WORKLOAD,), "loads": (0.9,), "population": 4}


def test_train(tmp_path):
    """Slices are scored on, validations are a curve, and the agent is a policy."""
    states = []
    settings = training_settings(**SMALL)
    path = train(settings, tmp_path / "run", generations=3, done=states.append)
    card = read_card(path, POLICY)
    assert [state.generation for state in states] == [1, 2, 3]
    (span,) = card.trained_on
    whole, part = bfenv.load_workload(WORKLOAD), bfenv.load_workload(WORKLOAD, split="train")
    copies = settings.shakes  # of the only slice, since the split has few jobs
    measured = len(part) - 2 * (len(part) // 4)  # between a warm-up and as many jobs after them
    assert states[-1].jobs == 3 * SMALL["population"] * copies * measured
    points = read_curves(tmp_path)
    assert [point.generation for point in points] == [1, 2, 3]
    assert min(point.penalized for point in points) == states[-1].score.penalized
    assert card.policy.startswith("easy(order='estimate * size ** ")
    assert "reservations=8" in card.policy
    tested, _ = split_range(whole, "test")
    assert (span.hash, span.first, span.last) == (whole.hash, 0, tested)
    schedule = bfenv.simulate(bfenv.load_workload("lublin:jobs=200,seed=8"), f"agent:{path}")
    assert (schedule.check().wait >= 0).all()
    assert open_agent(str(path))  # as any policy, it can also act in the environment


def test_slices():
    """Slices are as long as episodes, after as many jobs of a warm-up."""
    settings = training_settings()
    assert settings.warmup_jobs == DEFAULTS["warmup_jobs"]
    assert settings.slice_jobs == DEFAULTS["episode_jobs"]


def test_seeds():
    """The default workloads have the seeds of training episodes, and none of the other splits."""
    assert set(SEEDS["train"]) <= set(TRAINING_SEEDS)
    assert not set(TRAINING_SEEDS) & {*SEEDS["validation"], *SEEDS["test"]}


def test_several_seeds(tmp_path):
    """On the card, the seeds of a model are one workload."""
    workloads = tuple(f"{WORKLOAD},seed={seed}" for seed in (1, 2))
    settings = training_settings(**SMALL | {"workloads": workloads})
    card = read_card(train(settings, tmp_path / "run", generations=1), POLICY)
    assert card.what == "a formula, found by evolution on 1 workload (2 traces)"


@pytest.mark.parametrize("units", [0, 2])
def test_resume(tmp_path, units):
    """Interrupted and continued, a training ends with the same files."""
    settings = training_settings(**SMALL, units=units)

    def stop(state):
        raise KeyboardInterrupt

    train(settings, tmp_path / "whole", generations=3)
    with pytest.raises(KeyboardInterrupt):
        train(settings, tmp_path / "cut", generations=3, done=stop)
    train(settings, tmp_path / "cut", generations=3)
    for name in ("agent.json", "result.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_kills(tmp_path, seed):
    """Killed at random moments, a training ends with the agent of one that was not interrupted."""
    generator = random.Random(seed)
    words = ["-w", WORKLOAD, "--load", "0.9", "--population", "4"]
    folder = tmp_path / "cut"
    command = [sys.executable, "-m", "bfenv", "train", *words, "--generations", "6", "-o", folder]
    journal = folder / "journal.jsonl"
    for lines in (1, 3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") > lines:
                break
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.3))
        process.kill()
        process.wait()
    settings = training_settings(**SMALL)
    paths = [train(settings, tmp_path / name, generations=6) for name in ("cut", "whole")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"units": 7}, "hidden must be an integer from 0 to 6, got 7"),
        ({"options": "gard=1"}, "easy has no option 'gard'"),
        ({"units": 2, "order": "2 * size"}, "give either an order or units"),
        ({"workloads": ("nothing",)}, "nothing"),
        ({"loads": (-1,)}, "load must be a finite number > 0"),
    ],
)
def test_refused(tmp_path, changes, message):
    """Wrong settings are named before anything is written."""
    with pytest.raises(BfenvError, match=message):
        train(training_settings(**SMALL | changes), tmp_path / "run", generations=1)
    assert not (tmp_path / "run").exists()


def test_other_files(tmp_path):
    """A folder with other files is refused, and stays as it is."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BfenvError, match="neither empty nor a training"):
        train(training_settings(**SMALL), tmp_path, generations=1)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
