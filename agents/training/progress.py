"""Progress: how far a training is, what it follows, and its best score so far."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bfenv.agents.training.settings import TrainSettings
from bfenv.agents.training.validation import Score
from bfenv.analysis.comparison import STARVES
from bfenv.core.durations import MINUTE

TOLERANCE = 0.02  # mean log excess of the longest wait that the Lagrangian tolerates
MEMORY = 0.9  # of the moving average of rewards per second


@dataclass
class Progress:
    """How far a training is, and what it has learned about itself."""

    update: int = 0  # updates made
    seconds: float = 0.0  # they took
    wait_penalty: float = 0.0  # of the reward "log_ratio", in the Lagrangian
    reward_rate: float | None = None  # scaled rewards per second, a moving average
    best: float | None = None  # the best ratio to EASY on validation
    best_wait: float | None = None  # its longest wait over EASY's
    best_update: int = 0
    ratio: float | None = None  # the latest
    wait_ratio: float | None = None
    slowdown: float | None = None
    easy_slowdown: float | None = None
    failures: int = 0  # validations since the best

    def observe(
        self,
        reward: float,
        seconds: float,
        metrics: list[dict[str, float]],
        settings: TrainSettings,
    ) -> None:
        """Follow the sums of a rollout's rewards and seconds, and the episodes that ended in it.

        The penalty on the longest wait rises while episodes exceed twice that of the reference,
        and falls while they do not: dual ascent on the constraint that they do not.
        """
        rate = reward / max(seconds, 1.0) * settings.reward_scale
        if self.reward_rate is None:
            self.reward_rate = rate
        self.reward_rate = MEMORY * self.reward_rate + (1 - MEMORY) * rate
        if settings.wait_penalty_rate and metrics:
            wait = np.array([each["longest_wait"] for each in metrics])
            reference = np.array([each["reference_longest_wait"] for each in metrics])
            excess = np.log(np.maximum(wait / (STARVES * np.maximum(reference, MINUTE)), 1.0))
            change = settings.wait_penalty_rate * (float(excess.mean()) - TOLERANCE)
            self.wait_penalty = max(0.0, self.wait_penalty + change)

    def validated(self, score: Score) -> bool:
        """Note a score; tell whether it is the best so far."""
        self.ratio, self.wait_ratio, self.slowdown, self.easy_slowdown = score
        better = self.best is None or self.best_wait is None
        if not better:
            assert self.best is not None and self.best_wait is not None
            better = score.rank < Score(self.best, self.best_wait, 0.0, 0.0).rank
        self.failures = 0 if better else self.failures + 1
        if better:
            self.best, self.best_wait, self.best_update = score.ratio, score.wait_ratio, self.update
        return better

    def row(self, batch: int, metrics: list[dict[str, float]]) -> dict[str, Any]:
        """Return the row of the latest update.

        Parameters
        ----------
        batch
            Number of actions in an update.
        metrics
            Of the episodes that ended in it.
        """
        own = [each["mean_bounded_slowdown"] for each in metrics]
        reference = [each.get("reference_bounded_slowdown", np.nan) for each in metrics]
        steps = self.update * batch
        return {
            "update": self.update,
            "steps": steps,
            "seconds": round(self.seconds, 3),
            "steps_per_second": round(steps / self.seconds),
            "episodes": len(metrics),
            "episode_slowdown": sum(own) / sum(reference) if own else None,
            "wait_penalty": self.wait_penalty,
        }

    def scores(self) -> dict[str, Any]:
        """Return the latest score on validation."""
        names = ("ratio", "wait_ratio", "slowdown", "easy_slowdown")
        return {name: getattr(self, name) for name in names}

    def is_over(self, patience: int | None) -> bool:
        """Tell whether validation has not improved for too long."""
        return patience is not None and self.failures >= patience
