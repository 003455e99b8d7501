"""The file of a trained network: its weights, and where they come from."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.agents.network_agent import NetworkCard, TrainedSpan, acting_settings, save_network
from bfenv.agents.training.settings import NAMES, TrainSettings, find_settings
from bfenv.agents.training.validation import Validation
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.envs.batch import EnvBatch
from bfenv.workloads.load import load_workload


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
        network=settings.network,
        hidden=settings.hidden,
        settings=acting_settings(batch),
        queue_features=[feature.name for feature in batch.queue_features],
        cluster_features=[feature.name for feature in batch.cluster_features],
        trained_on=spans_of(batch, settings),
        validated_on=spans_of(validation.envs.batch, settings, validation.traces),
        training={"steps": steps, "command": command(settings), "settings": settings.as_dict()},
        scores=scores,
        versions=versions,
    )
    save_network(path, card, weights)


def spans_of(
    batch: EnvBatch, settings: TrainSettings, chosen: list[int] | None = None
) -> list[TrainedSpan]:
    """Return the jobs that episodes come from, of all traces or of the chosen ones."""
    loads = len(batch.source.traces) // len(settings.workload)
    spans = []
    for k, trace in enumerate(batch.source.traces):
        if chosen is not None and k not in chosen:
            continue
        workload = settings.workload[k // loads]
        first, last = batch.source.splits[k]
        begin, end = trace.jobs.submit[[first, last - 1]].tolist()
        own = load_workload(workload).hash
        spans.append(
            TrainedSpan(
                workload, trace.name, trace.hash, own, trace.processors, first, last, begin, end
            )
        )
    return spans


def check_unseen(spans: list[TrainedSpan], trace: Trace, first: int, last: int) -> None:
    """Check that none of the jobs first .. last - 1 of a trace is in the spans.

    Raises
    ------
    BfenvError
        If one is.
    """
    for span in spans:
        if trace.hash in (span.hash, span.own_hash) and span.first < last and first < span.last:
            raise BfenvError(
                f"jobs {max(first, span.first)} to {min(last, span.last) - 1} of {trace.name} "
                "were trained on"
            )


def command(settings: TrainSettings) -> str:
    """Return the command that trains the same network again."""
    default = find_settings()
    words = ["bfenv", "train"]
    for name in NAMES:
        value = getattr(settings, name)
        if name == "environment":
            for key, own in value.items():
                if key not in default.environment or own != default.environment[key]:
                    words += ["--set", f"environment.{key}={_yaml(own)}"]
            continue
        if value != getattr(default, name):
            words += ["--set", f"{name}={_yaml(value)}"]
    return shlex.join([*words, "--out", "DIR"])


def _yaml(value: Any) -> str:
    """Write a value in one line of YAML."""
    import yaml

    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=10**6)
    return str(text).removesuffix("\n").removesuffix("\n...")
