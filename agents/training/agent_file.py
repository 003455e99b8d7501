"""The file of a trained network: its weights, and where they come from."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.agents.model_card import acting_settings
from bfenv.agents.network_agent import NetworkCard, save_network
from bfenv.agents.seen_jobs import spans_of
from bfenv.agents.training.settings import TrainSettings, find_settings
from bfenv.agents.training.validation import Validation
from bfenv.envs.batch import EnvBatch


def write_agent(
    path: Path,
    weights: dict[str, np.ndarray],
    settings: TrainSettings,
    batch: EnvBatch,
    validation: Validation,
    scores: dict[str, Any],
    steps: int,
    versions: dict[str, str],
) -> None:
    """Write a network with its card, see `bfenv.agents.network_agent`.

    Parameters
    ----------
    path
        The file.
    weights
        By the names of torch's parameters.
    settings
        Of the training.
    batch
        Its environments.
    validation
        What the scores are of.
    scores
        On validation.
    steps
        Actions of the training so far.
    versions
        Of packages.
    """
    card = NetworkCard(
        name=path.stem,
        what=f"{settings.network} network trained by {settings.algo} on {_listed(settings)}",
        network=settings.network,
        hidden=settings.hidden,
        settings=acting_settings(batch),
        queue_features=[feature.name for feature in batch.queue_features],
        cluster_features=[feature.name for feature in batch.cluster_features],
        trained_on=spans_of(batch),
        validated_on=[spans_of(validation.envs.batch)[k] for k in validation.traces],
        found={"command": command(settings), "steps": steps, "settings": settings.as_dict()},
        scores=[{"on": "validation", **scores}],
        failures=[],
        versions=versions,
    )
    save_network(path, card, weights)


def command(settings: TrainSettings) -> str:
    """Return the command that trains the same network again."""
    default = find_settings().as_dict()
    words = ["bfenv", "train"]
    for name, value in settings.as_dict().items():
        if name == "environment":
            for key, own in value.items():
                if key not in default[name] or own != default[name][key]:
                    words += ["--set", f"environment.{key}={_yaml(own)}"]
            continue
        if value != default[name]:
            words += ["--set", f"{name}={_yaml(value)}"]
    return shlex.join([*words, "--out", "DIR"])


def _listed(settings: TrainSettings) -> str:
    first, *others = settings.workload
    return f"{first} and {len(others)} more" if others else first


def _yaml(value: Any) -> str:
    """Write a value in one line of YAML."""
    import yaml

    text = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return str(text).removesuffix("\n").removesuffix("\n...")
