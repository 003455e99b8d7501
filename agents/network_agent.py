"""NetworkAgent: a trained network as an agent, from a JSON file and without torch.

The networks are those of `bfenv.agents.networks`, which has the formulas.
"""

import base64
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

import bfenv.envs.features as f
from bfenv.agents.card import (
    NETWORK,
    Card,
    check_observations,
    decode_card,
    read_content,
    write_card,
)
from bfenv.agents.policy_agent import is_batch
from bfenv.agents.seen_jobs import Span
from bfenv.core.errors import BfenvError
from bfenv.envs.rules import find_cluster_features, find_job_features
from bfenv.envs.settings import EnvSettings, complete_settings

NETWORKS = ("scorer", "ranker")  # of bfenv.agents.networks
PASS_LEGAL = "pass_legal"  # a feature of the cluster, where it varies

# How the network "ranker" scales what it computes from, see `bfenv.agents.networks`
JOB_SCALE = 8.0  # of jobs
STATE_SCALE = 4.0  # of the cluster and its profile
SMALLEST_SIZE = 1e-3  # share of the machine from which logarithms of sizes differ
LOG_SMALLEST_SIZE = math.log(SMALLEST_SIZE)

Weights = Mapping[str, np.ndarray]


class NetworkAgent:
    """A trained network with the predict() of stable-baselines3; it takes the best legal action.

    * `card`: what it was trained with.
    * `weights`: float32 arrays by the names of torch's parameters.

    Raises BfenvError if the settings of the card are wrong, or observations have other columns than
    it was trained on.
    """

    samples = False  # nothing is random
    stochastic = False
    batched = True  # it takes observations of many environments at once

    def __init__(self, card: Card, weights: Weights) -> None:
        self.card = card
        self.weights = weights
        settings = complete_settings(cast(EnvSettings, card.settings))
        job, cluster = find_job_features(settings, ()), find_cluster_features(settings)
        self._widths = len(job), len(cluster)
        for names, features in ((card.queue_features, job), (card.cluster_features, cluster)):
            if list(names) != [feature.name for feature in features]:
                raise BfenvError(f"{card.name}: was trained on other columns: {', '.join(names)}")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `BackfillEnv` that it was trained with and must act in."""
        return dict(self.card.settings)

    @property
    def trained_on(self) -> tuple[Span, ...]:
        """The jobs that it was trained and validated on."""
        return self.card.seen_jobs

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Return the best action for an observation or for each of a batch, and `state` unchanged.

        Without `action_masks`, masks are read from the observation.

        Raises BfenvError if the observation does not have the columns of the training.
        """
        batched = is_batch(observation)
        parts = [np.asarray(observation[key]) for key in ("queue", "profile", "cluster")]
        queue, profile, cluster = parts if batched else [part[None] for part in parts]
        widths = queue.shape[2], cluster.shape[1]
        if widths != self._widths:
            raise BfenvError(
                f"{self.card.name} expects {self._widths[0]} features of a job and "
                f"{self._widths[1]} of the cluster, got {widths[0]} and {widths[1]}: make the "
                "environment with its settings"
            )
        scores, _ = forward(self.weights, queue, profile, cluster)
        mask = self._legal_actions(queue, cluster) if action_masks is None else action_masks
        scores = np.where(mask.reshape(scores.shape), scores, -np.inf)
        actions: np.ndarray = scores.argmax(axis=1)
        return (actions if batched else actions[0]), state

    def _legal_actions(self, queue: np.ndarray, cluster: np.ndarray) -> np.ndarray:
        """Return the mask that observations contain, (B, window + 1) bool."""
        starts = queue[:, :, f.JOB_LEGAL] > 0
        if PASS_LEGAL in self.card.cluster_features:
            passing = cluster[:, self.card.cluster_features.index(PASS_LEGAL)] > 0
        else:  # it is legal where nothing else is
            passing = np.asarray(~starts.any(axis=1))
        return np.concatenate([starts, passing[:, None]], axis=1)


def forward(
    weights: Weights, queue: np.ndarray, profile: np.ndarray, cluster: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (B, window + 1) scores of the actions, -inf for illegal starts, and (B,) values.

    * `weights`: as those of `NetworkAgent`.
    * `queue`, `profile`, `cluster`: (B, ...) float32 observations
    """
    batch, window, _ = queue.shape

    def relu(x: np.ndarray) -> np.ndarray:
        positive: np.ndarray = np.maximum(x, 0)
        return positive

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        y: np.ndarray = x @ weights[f"{name}.weight"].T
        return y + weights[f"{name}.bias"] if f"{name}.bias" in weights else y

    state = np.concatenate([profile, cluster], axis=1)
    env, slot = np.nonzero(queue[:, :, f.JOB_PRESENT])
    jobs = queue[env, slot]
    legal = jobs[:, f.JOB_LEGAL] > 0
    if "linear.weight" in weights:
        state = (state - np.float32(0.5)) * np.float32(STATE_SCALE)
        size = np.maximum(jobs[:, f.JOB_SIZE : f.JOB_SIZE + 1], np.float32(SMALLEST_SIZE))
        log_size = 1 - np.log(size) / np.float32(LOG_SMALLEST_SIZE)
        jobs = np.concatenate([jobs, log_size], axis=1) - np.float32(0.5)
        jobs *= np.float32(JOB_SCALE)
    context = relu(linear("context", state))
    embedding = relu(linear("job", jobs) + linear("job_context", context)[env])
    total = np.zeros_like(context)
    np.add.at(total, env, embedding)
    count = np.maximum(np.bincount(env, minlength=batch), 1).astype(np.float32)
    pooled = np.concatenate([total / count[:, None], context], axis=1)
    embedding, jobs, env, slot = embedding[legal], jobs[legal], env[legal], slot[legal]
    second = relu(linear("second", embedding) + linear("second_context", pooled)[env])
    outputs = linear("outputs", relu(linear("state", pooled)))
    scores = np.full((batch, window + 1), -np.inf, dtype=np.float32)
    job_scores = linear("score", second)
    if "linear.weight" in weights:
        job_scores = job_scores + linear("linear", jobs)
    scores[env, slot] = job_scores[:, 0]
    scores[:, window] = outputs[:, 0]
    return scores, outputs[:, 1]


def save_network(path: str | os.PathLike[str], card: Card, weights: Weights) -> None:
    """Write a network and its card to one file of JSON; it is replaced if it exists.

    Raises BfenvError if a weight is not finite, JSON cannot hold the card, or the file cannot be
    written.
    """
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise BfenvError(f"{path} is not written: the weights {name} are not finite")
    encoded = {name: encode_array(values) for name, values in weights.items()}
    write_card(Path(path), card, weights=encoded)


def load_network(path: str | os.PathLike[str]) -> NetworkAgent:
    """Read a network from a file that `save_network` wrote. No code in it is run.

    * `path`: the file, which ends in .json, or the name of a network that bfenv comes with.

    Raises UnknownNameError if there is no such network. Raises BfenvError if the file cannot be
    read, is not a network, or was trained on other observations.
    """
    content = read_content(str(path), NETWORK)
    check_observations(path, content.get("observation_version"))
    card = decode_card(str(path), content)
    if card.network not in NETWORKS:
        raise BfenvError(f"{path}: this version has no network {card.network!r}")
    try:
        weights = {name: decode_array(array) for name, array in content["weights"].items()}
        agent = NetworkAgent(card, weights)
        # an empty queue and a waiting job, whose scores fail if a weight is missing or misshapen
        queue = np.zeros((2, 1, len(card.queue_features)), dtype=np.float32)
        queue[1, 0, [f.JOB_PRESENT, f.JOB_LEGAL]] = 1
        profile = np.zeros((2, len(f.PROFILE)), dtype=np.float32)
        cluster = np.zeros((2, len(card.cluster_features)), dtype=np.float32)
        forward(weights, queue, profile, cluster)
        return agent
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BfenvError(f"{path}: damaged: {error}") from error


def encode_array(values: np.ndarray) -> dict[str, Any]:
    """Return an array of float32 as JSON has it."""
    data = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"shape": list(values.shape), "float32": base64.b64encode(data).decode()}


def decode_array(values: Mapping[str, Any]) -> np.ndarray:
    """Read what `encode_array` returned; ValueError if a number is not finite."""
    data = base64.b64decode(values["float32"], validate=True)
    array = np.frombuffer(data, dtype="<f4").astype(np.float32).reshape(values["shape"])
    if not np.isfinite(array).all():
        raise ValueError("a weight is not a finite number")
    return array
