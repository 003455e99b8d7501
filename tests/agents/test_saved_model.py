"""Models saved with a card, and opened as they were trained."""

import json
import zipfile

import gymnasium
import numpy as np
import pytest

import bfenv
from bfenv.agents import load_agent, open_agent, read_card, save_model
from bfenv.agents.card import ACTING, card_path, write_card
from bfenv.agents.saved_model import encode_normalization
from bfenv.agents.seen_jobs import spans_of
from bfenv.envs.backfill import BackfillEnv
from bfenv.evaluation import evaluate_agent

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")
pytestmark = pytest.mark.torch

from stable_baselines3.common.vec_env import (  # noqa: E402
    DummyVecEnv,
    SubprocVecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

from bfenv.envs.sb3 import BackfillVecEnv  # noqa: E402

TRACE = bfenv.load_workload("lublin:procs=32,jobs=150,load=0.9,seed=3")
OTHER = bfenv.load_workload("lublin:procs=32,jobs=150,load=0.9,seed=4")
SHORT = {"episode_jobs": 10, "warmup_jobs": 10}
CHOSEN = {
    "window": 4,
    "window_order": "saf",
    "reservations": 1,
    "idle": "every_pass",
    "job_features": ["users"],
}


def make_model(algorithm=contrib.MaskablePPO, env=None, policy="MultiInputPolicy", **options):
    env = env or BackfillVecEnv(2, TRACE, **SHORT, window=4)
    steps = {"n_steps": 16, "batch_size": 16} if algorithm is contrib.MaskablePPO else {}
    return algorithm(policy, env, seed=0, device="cpu", **steps, **options)


def test_settings(tmp_path):
    """Every setting of how an agent acts is restored, and completes those of an evaluation."""
    model = make_model(env=BackfillVecEnv(2, TRACE, **SHORT, **CHOSEN))
    agent = load_agent(save_model(model, tmp_path / "model"), trust=True)
    assert agent.settings == CHOSEN and set(agent.settings) == set(ACTING)
    env = BackfillEnv(OTHER, **SHORT, **agent.settings)
    assert env.observation_space == model.observation_space
    chosen = open_agent(str(tmp_path / "model.zip"), trust=True).settings_with({"split": "all"})
    assert chosen == {**CHOSEN, "split": "all"}


def test_numbers_of_numpy(tmp_path):
    """Settings that are numbers of numpy are saved like others."""
    options = {"episode_jobs": np.int64(9), "window": np.int64(4), "load": [np.float32(0.5)]}
    model = make_model(env=BackfillVecEnv(2, TRACE, **(SHORT | options)))
    agent = load_agent(save_model(model, tmp_path / "model"), trust=True)
    assert agent.settings["window"] == 4
    assert agent.card.found["settings"]["episode_jobs"] == 9
    assert agent.card.found["settings"]["load"] == [0.5]


@pytest.mark.parametrize("form", ["vector", "one", "dummy", "subprocess"])
def test_environments(tmp_path, form):
    """Settings and jobs are found in every kind of environment, behind wrappers."""
    make = {
        "vector": lambda: VecMonitor(BackfillVecEnv(2, TRACE, window=4, **SHORT)),
        "one": lambda: gymnasium.make("Backfill-v0", workload=TRACE, window=4, **SHORT),
        "dummy": lambda: DummyVecEnv([lambda: BackfillEnv(TRACE, window=4, **SHORT)] * 2),
        "subprocess": lambda: SubprocVecEnv([lambda: BackfillEnv(TRACE, window=4, **SHORT)] * 2),
    }
    env = make[form]()
    card = read_card(save_model(make_model(env=env), tmp_path / "model"))
    if form == "subprocess":
        env.close()
    assert card.settings["window"] == 4 and card.found["settings"]["episode_jobs"] == 10
    (expected,) = spans_of(BackfillEnv(TRACE, **SHORT).batch)
    (span,) = card.trained_on
    assert span[:4] == expected[:4] and np.array_equal(span.blocks, expected.blocks)


@pytest.mark.parametrize("keys", [None, ["queue"]])
def test_vec_normalize(tmp_path, keys):
    """Observations are scaled bit for bit as VecNormalize does, and the actions are the model's."""
    inner = BackfillVecEnv(2, TRACE, window=4, **SHORT)
    env = VecNormalize(inner, norm_obs_keys=keys, clip_obs=2.0, epsilon=1e-6)
    model = make_model(env=env)
    model.learn(64)
    agent = load_agent(save_model(model, tmp_path / "model"), trust=True)
    assert encode_normalization(VecNormalize(inner, norm_obs=False)) == {"observations": False}
    env.training = False
    scaled = env.reset()
    raw = env.get_original_obs()
    mine = agent.normalization.apply(raw)
    for part in raw:
        assert np.array_equal(mine[part], scaled[part])
    masks = np.array(inner.env_method("action_masks"))
    expected, _ = model.predict(scaled, action_masks=masks, deterministic=True)
    actions, _ = agent.predict(raw, action_masks=masks, deterministic=True)
    assert np.array_equal(actions, expected)


@pytest.mark.parametrize("normalized", [False, True])
def test_made_by_a_function(tmp_path, normalized):
    """A model is scored alike from memory, from its file and from a function, and checked alike.

    A model plays all episodes at once and a function one by one, so they draw other random actions.
    """
    env = BackfillVecEnv(2, TRACE, window=4, **SHORT)
    if normalized:
        model = make_model(env=VecNormalize(env)).learn(32)
    else:
        model = make_model(sb3.PPO, env, n_steps=8, batch_size=8).learn(32)

    def make(env):
        return model

    options, path = {"episodes": 2, "window": 4, **SHORT}, save_model(model, tmp_path / "model")
    from_memory, from_function, from_file = (
        [row.metrics for row in evaluate_agent(agent, OTHER, trust=True, **options)]
        for agent in (model, make, str(path))
    )
    assert from_memory == from_file
    sampled = 1  # the row of random actions
    assert from_memory[sampled].keys() == from_function[sampled].keys()
    del from_memory[sampled], from_function[sampled]
    assert from_memory == from_function
    for changes in ({"window": 4, "reservations": 0}, {"window": 8}):
        with pytest.raises(bfenv.BfenvError, match="of the function needs"):
            evaluate_agent(make, OTHER, **changes, **SHORT)
    with pytest.raises(bfenv.BfenvError, match="was trained on"):
        evaluate_agent(make, TRACE, split="all", window=4, **SHORT)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        (sb3.PPO, {"n_steps": 8, "batch_size": 8}),
        (sb3.A2C, {}),
        (sb3.DQN, {"buffer_size": 100, "learning_starts": 1}),
        (contrib.QRDQN, {"buffer_size": 100, "learning_starts": 1}),
        (contrib.RecurrentPPO, {"n_steps": 8, "batch_size": 8, "policy": "MultiInputLstmPolicy"}),
        (contrib.MaskablePPO, {}),
    ],
)
def test_algorithms(tmp_path, algorithm, options):
    """Each algorithm is opened again, and none takes an illegal action."""
    model = make_model(algorithm, **options)
    model.learn(16)
    path = save_model(model, tmp_path / "model.zip")
    rows = evaluate_agent(path, OTHER, episodes=2, trust=True, **SHORT)
    played = [row for row in rows if row.policy.startswith(str(path))]
    assert len(played) == (1 if algorithm in (sb3.DQN, contrib.QRDQN) else 2)
    assert all(row.metrics["illegal_actions"] == 0 for row in played)
    if algorithm is contrib.MaskablePPO:
        assert all(row.metrics["replaced_actions"] == 0 for row in played)


class Custom(contrib.ppo_mask.MultiInputPolicy):
    """A policy class of one's own."""


def test_custom_policy(tmp_path):
    """A policy class of one's own is imported from where the card says."""
    path = save_model(make_model(policy=Custom), tmp_path / "model.zip")
    assert read_card(path).policy_class == f"{__name__}:Custom"
    agent = load_agent(path, trust=True)
    assert type(agent._model.policy) is Custom


def test_trust(tmp_path, monkeypatch):
    """Without trust nothing is unpickled and nothing imported."""
    path = save_model(make_model(), tmp_path / "model.zip")
    monkeypatch.setattr("bfenv.agents.saved_model.import_object", lambda name: pytest.fail(name))
    with pytest.raises(bfenv.BfenvError, match="trust"):
        load_agent(path)
    with pytest.raises(bfenv.BfenvError, match="trust"):
        evaluate_agent(str(path), OTHER, **SHORT)


MISFIT = {"parts": {"queue": {"mean": [0.0], "var": [1.0]}}, "clip": 1, "epsilon": 0}


def change_card(path, **changes):
    file = card_path(path)
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda path: card_path(path).unlink(), "no card model.card.json"),
        (lambda path: card_path(path).write_text("{"), "not a card of format"),
        (lambda path: card_path(path).write_text("[" * 100_000), "not a card of format"),
        (lambda path: card_path(path).write_text("{}"), "not a card of format 'bfenv agent 1'"),
        (lambda path: path.write_bytes(path.read_bytes() + b" "), "of another file"),
        (lambda path: change_card(path, observation_version=1), "observations of version 1"),
        (lambda path: change_card(path, observation_version="4"), "damaged"),
        (lambda path: change_card(path, settings={}), "damaged"),
        (lambda path: change_card(path, trained_on=[{}]), "not a span"),
        (lambda path: change_card(path, normalization={"observations": True}), "VecNormalize"),
        (lambda path: change_card(path, normalization=MISFIT), "do not fit"),
        (lambda path: change_card(path, algorithm="no.such:Thing"), "no.such"),
    ],
)
def test_wrong_card(tmp_path, damage, named):
    """A card that is missing, damaged or of another model is refused."""
    path = save_model(make_model(), tmp_path / "model.zip")
    damage(path)
    with pytest.raises(bfenv.BfenvError, match=named):
        load_agent(path, trust=True)


def test_not_a_model(tmp_path):
    """An object that is no model, and a file that holds none, are refused in one line."""
    with pytest.raises(bfenv.BfenvError, match="a model of stable-baselines3 .* got int"):
        save_model(3, tmp_path / "model.zip")
    path = save_model(make_model(), tmp_path / "model.zip")
    card = read_card(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", "x")
    write_card(path, card)
    with pytest.raises(bfenv.BfenvError, match="cannot be opened") as error:
        load_agent(path, trust=True)
    assert "\n" not in str(error.value)


def test_unknown_settings(tmp_path):
    """A model without environment needs one; a model of VecNormalize needs that wrapper."""
    model = make_model(env=VecNormalize(BackfillVecEnv(2, TRACE, window=4, **SHORT)))
    model.learn(32)
    model.save(tmp_path / "plain.zip")
    plain = contrib.MaskablePPO.load(tmp_path / "plain.zip", device="cpu")
    for call in (lambda: save_model(plain, tmp_path / "x"), lambda: evaluate_agent(plain)):
        with pytest.raises(bfenv.BfenvError, match="no environment"):
            call()
    bare = BackfillVecEnv(2, TRACE, window=4, **SHORT)
    for one in (plain, model):
        with pytest.raises(bfenv.BfenvError, match="VecNormalize"):
            save_model(one, tmp_path / "x", bare)
    other = BackfillVecEnv(2, TRACE, window=8, **SHORT)
    with pytest.raises(bfenv.BfenvError, match="not those of env: give env the settings"):
        save_model(plain, tmp_path / "x", other)
    assert not (tmp_path / "x.zip").exists()
    save_model(plain, tmp_path / "x", model.get_env())
    assert load_agent(tmp_path / "x.zip", trust=True).normalization is not None


class Halved(gymnasium.ObservationWrapper):
    """Changes observations, but not their space."""

    def observation(self, observation):
        """Halve them."""
        return {name: part / 2 for name, part in observation.items()}


@pytest.mark.parametrize(
    ("env", "named"),
    [
        (lambda: VecFrameStack(BackfillVecEnv(2, TRACE, window=4, **SHORT), 2), "wrap"),
        (
            lambda: DummyVecEnv([lambda: Halved(BackfillEnv(TRACE, window=4, **SHORT))]),
            "a wrapper changes",
        ),
        (lambda: gymnasium.make("CartPole-v1"), "Backfill-v0"),
        (
            lambda: DummyVecEnv(
                [
                    lambda: BackfillEnv(TRACE, window=4, **SHORT),
                    lambda: BackfillEnv(TRACE, window=4, reservations=0, **SHORT),
                ]
            ),
            "different settings",
        ),
    ],
)
def test_wrong_environments(tmp_path, env, named):
    """Environments whose settings cannot be restored are refused."""
    env = env()
    is_dict = isinstance(env.observation_space, gymnasium.spaces.Dict)
    policy = "MultiInputPolicy" if is_dict else "MlpPolicy"
    model = make_model(sb3.PPO, env=env, policy=policy, n_steps=8, batch_size=8)
    with pytest.raises(bfenv.BfenvError, match=named):
        save_model(model, tmp_path / "model.zip")


def test_conflicting_settings(tmp_path):
    """Settings other than those of the training are refused, in the name and beside it."""
    path = save_model(make_model(), tmp_path / "model.zip")
    with pytest.raises(bfenv.BfenvError, match="needs reservations='chosen', got 0"):
        evaluate_agent(str(path), OTHER, reservations=0, trust=True)
    with pytest.raises(bfenv.BfenvError, match="needs window=4, got 8"):
        evaluate_agent(f"{path}:window=8", OTHER, trust=True)
