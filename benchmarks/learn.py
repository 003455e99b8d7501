"""What learners make of the default environment: curves over their steps, on unseen episodes.

All are scored on the same episodes of the test split, where random actions and policies stand as
lines. This module needs torch and sb3-contrib; evolution needs bfenv-lab, and is left out without.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback

from benchmarks.episodes import (
    NETWORK_REWARD,
    NETWORK_WINDOW,
    POLICIES,
    Outcome,
    follow,
    play_at_random,
    play_outcome,
)
from bfenv.agents.legal_choice import LegalChoice
from bfenv.analysis.comparison import STARVES
from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.policy import Watch
from bfenv.core.simulator import ignore
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.envs.vector import BackfillVectorEnv
from bfenv.evaluation.agent_scores import BEST_ORDER
from bfenv.parallel.shares import Shares, reporting
from bfenv.train_sb3 import Args, make_model

EPISODES = 64
POINTS = 4  # of a curve, after the point of the untrained network
# Networks of stable-baselines3, and what differs from its defaults
PLAIN: dict[str, tuple[Any, dict[str, Any]]] = {
    "MaskablePPO": (MaskablePPO, {}),
    "MaskablePPO-256": (MaskablePPO, {"n_steps": 256}),
    "PPO": (PPO, {}),
    "A2C": (A2C, {}),
    "DQN": (DQN, {}),
}
RECIPE, EVOLUTION = "recipe", "evolution"
LEARNERS = (*PLAIN, RECIPE, EVOLUTION)
USUAL = ("MaskablePPO-256", RECIPE, EVOLUTION)  # what the command trains if nothing is named
LINES = ("random", "easy", BEST_ORDER)  # of the picture
CLOSE = 1.1  # factor between two lines of the picture whose labels would overlap
RESAMPLES = 2000  # of a bootstrap


class Point(NamedTuple):
    """The score of a learner after some steps."""

    learner: str
    seed: int
    steps: int  # actions, or simulated slices of evolution
    episode: int
    measure: float  # penalized slowdown
    slowdown: float  # mean bounded slowdown over EASY's
    wait: float  # longest wait over EASY's


def reference_points(
    workload: str | None = None, episodes: int = EPISODES, window: int = NETWORK_WINDOW
) -> list[Point]:
    """Score random actions and the policies that learners are compared with.

    Random actions see as many slots as the networks, which makes them better than with more.
    """
    envs = BackfillVectorEnv(episodes, workload, split="test", window=window)
    outcomes = [play_at_random(envs)]
    outcomes += [follow(envs, name, find_policy(name)) for name in POLICIES]
    return [point for outcome in outcomes for point in _points(outcome, outcome.name, 0, 0)]


def learning_points(
    learners: Sequence[str],
    seeds: int,
    steps: int,
    reward: str = NETWORK_REWARD,
    workload: str | None = None,
    episodes: int = EPISODES,
    jobs: int = 1,
    window: int = NETWORK_WINDOW,
    watch: Watch = ignore,
) -> Iterator[list[Point]]:
    """Train learners, and yield the curve of each seed of each when it is done.

    Args:
        learners: Of LEARNERS; evolution is left out without bfenv-lab.
        seeds: How many seeds of each.
        steps: Actions of a training; evolution has generations instead.
        reward: Of those in PLAIN, see `bfenv.envs.reward`.
        workload: To train and score on; by default the environment's own.
        episodes: Test episodes of a score.
        jobs: Trainings at the same time.
        window: Slots of the networks in PLAIN.
        watch: Called once, with a function that returns the share of the work that is done.
    """
    present = [name for name in learners if name != EVOLUTION or find_spec("bfenv_lab")]
    named = [(name, seed) for name in present for seed in range(seeds)]
    shares = Shares(len(named))
    watch(lambda: float(shares.values().mean()))
    calls = [
        delayed(_evolve)(seed, workload, episodes, shares.path, i)
        if name == EVOLUTION
        else delayed(_train)(name, seed, steps, reward, workload, episodes, window, shares.path, i)
        for i, (name, seed) in enumerate(named)
    ]
    try:
        for i, curve in enumerate(Parallel(n_jobs=jobs, return_as="generator")(calls)):
            shares.finish(i)
            yield curve
    finally:
        shares.close()


class _Scores(BaseCallback):
    """Score a model at POINTS points of its training, and keep the points.

    * `score`: plays the test episodes.
    * `learner`, `seed`: of the points.
    * `steps`: of the training.
    """

    def __init__(self, score: Callable[[], Outcome], learner: str, seed: int, steps: int) -> None:
        super().__init__()
        self.points: list[Point] = []
        self._score, self._learner, self._seed = score, learner, seed
        self._due, self._every = 0, max(1, steps // POINTS)

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self._due:
            self.note()
            self._due = self.num_timesteps + self._every

    def _on_step(self) -> bool:
        return True

    def note(self) -> None:
        """Score the model as it is now."""
        self.points += _points(self._score(), self._learner, self._seed, self.num_timesteps)


def _train(
    learner: str,
    seed: int,
    steps: int,
    reward: str,
    workload: str | None,
    episodes: int,
    window: int,
    shares: Path,
    i: int,
) -> list[Point]:
    """Train a network; return its scores before, meanwhile and at the end.

    It is training i of those whose shares are in a file.
    """
    torch.set_num_threads(1)
    model: Any
    if learner == RECIPE:
        args = Args(seed=seed, steps=steps, workload=workload or "")
        model, window = make_model(args), args.window
    else:
        algorithm, options = PLAIN[learner]
        envs = BackfillVecEnv(16, workload, window=window, reward=reward)
        model = algorithm("MultiInputPolicy", envs, seed=seed, **options)
    agent: Any = model if isinstance(model, MaskablePPO) else LegalChoice(model)
    test_envs = BackfillVectorEnv(episodes, workload, split="test", window=window)

    def choose(seen: Any, mask: np.ndarray) -> np.ndarray:
        actions, _ = agent.predict(seen, deterministic=True, action_masks=mask.astype(bool))
        return np.asarray(actions)

    scores = _Scores(lambda: play_outcome(test_envs, learner, choose), learner, seed, steps)
    with reporting(shares, i) as watch:
        watch(lambda: model.num_timesteps / steps)
        model.learn(steps, callback=scores)
    scores.note()
    return scores.points


def _evolve(seed: int, workload: str | None, episodes: int, shares: Path, i: int) -> list[Point]:
    """Find an order by evolution, as training i; return its score at the end."""
    from bfenv_lab.search.training import GENERATIONS, train, training_settings

    if workload is None:
        settings = training_settings(seed=seed)
    else:
        settings = training_settings((workload,), (None,), seed=seed)
    generations = GENERATIONS // 3  # so that it takes about as long as a network

    ended = 0

    def done(progress: Any) -> None:
        nonlocal ended
        ended = progress.generation

    with TemporaryDirectory() as folder, reporting(shares, i) as watch:
        watch(lambda: ended / generations)
        path = train(settings, Path(folder) / "run", generations=generations, done=done)
        policy = find_policy(f"agent:{path}")
    outcome = follow(BackfillVectorEnv(episodes, workload, split="test"), EVOLUTION, policy)
    slices = generations * settings.population * settings.cases * len(settings.workloads)
    return _points(outcome, EVOLUTION, seed, slices)


def _points(outcome: Outcome, learner: str, seed: int, steps: int) -> list[Point]:
    columns = zip(outcome.measure, outcome.slowdown, outcome.wait, strict=True)
    return [
        Point(learner, seed, steps, episode, *map(float, values))
        for episode, values in enumerate(columns)
    ]


def write_points(path: Path, points: Iterable[Point]) -> None:
    """Write points as CSV, one a line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Point._fields)
        writer.writerows(points)


def read_points(path: Path) -> list[Point]:
    """Read what `write_points` wrote.

    Raises BfenvError if the file is another one.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [
                Point(
                    row["learner"],
                    *map(int, (row["seed"], row["steps"], row["episode"])),
                    *map(float, (row["measure"], row["slowdown"], row["wait"])),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise BfenvError(
            f"{path}: is not a file of `python -m benchmarks learn`: {error}"
        ) from error


# Numbers ----------------------------------------------------------------------------------------


def interquartile_mean(values: np.ndarray) -> float:
    """Return the mean of the middle half of the values, without a quarter at either end.

    Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice, 2021.
    """
    ordered = np.sort(values, axis=None)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def bootstrap_interval(scores: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return an interval of the interquartile mean, by resampling the runs of each episode.

    * `scores`: (runs, episodes). A single run has its episodes resampled instead.
    * `level`: share of the resamples that the interval holds.
    """
    generator = np.random.default_rng(0)
    runs, episodes = scores.shape
    means = []
    for _ in range(RESAMPLES):
        if runs > 1:
            drawn = scores[generator.integers(runs, size=scores.shape), np.arange(episodes)]
        else:
            drawn = scores[:, generator.integers(episodes, size=episodes)]
        means.append(interquartile_mean(drawn))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


COLUMNS = (
    "learner",
    "steps",
    "seeds",
    "penalized",
    "lowest",
    "highest",
    "IQM",
    "95 %",
    "slowdown",
    "starves",
)


def table(points: Sequence[Point]) -> list[tuple[str, ...]]:
    """Return a row for each learner and number of steps at either end of its curve.

    "penalized" is the geometric mean over the episodes, as its median over the seeds, between the
    lowest and the highest one; "IQM" the interquartile mean over all seeds and episodes.
    """
    rows = []
    for learner in dict.fromkeys(point.learner for point in points):
        steps = sorted({point.steps for point in points if point.learner == learner})
        for count in dict.fromkeys((steps[0], steps[-1])):
            chosen = [point for point in points if (point.learner, point.steps) == (learner, count)]
            scores = _by_seed(chosen)
            means = np.exp(np.log(scores).mean(axis=1))
            low, high = bootstrap_interval(scores)
            slowdown = np.exp(np.mean(np.log([point.slowdown for point in chosen])))
            starves = np.mean([point.wait > STARVES for point in chosen])
            numbers = np.median(means), means.min(), means.max(), interquartile_mean(scores)
            rows.append(
                (
                    learner,
                    f"{count:,}" if count else "",
                    str(len(scores)),
                    *(f"{number:.3f}" for number in numbers),
                    f"{low:.3f} to {high:.3f}",
                    f"{slowdown:.3f}",
                    f"{starves:.0%}",
                )
            )
    return rows


def _by_seed(points: Sequence[Point]) -> np.ndarray:
    """Return the measures, (seeds, episodes)."""
    seeds = sorted({point.seed for point in points})
    return np.array([[p.measure for p in points if p.seed == seed] for seed in seeds])


def draw_curves(points: Sequence[Point], path: Path) -> None:
    """Draw each learner's median and range over its seeds, and the references as lines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    lines: list[tuple[float, str]] = []
    for learner in dict.fromkeys(point.learner for point in points):
        curve = [point for point in points if point.learner == learner]
        steps = sorted({point.steps for point in curve})
        means = [
            np.exp(np.log(_by_seed([p for p in curve if p.steps == count])).mean(axis=1))
            for count in steps
        ]
        median = [float(np.median(values)) for values in means]
        if learner in POLICIES or learner == "random":
            if learner in LINES:
                axes.axhline(median[0], color="0.4", linewidth=1, linestyle="--")
                lines.append((median[0], learner))
            continue
        low, high = ([float(edge(values)) for values in means] for edge in (np.min, np.max))
        if len(steps) == 1:  # evolution, whose slices are no steps
            label = f"{learner} ({steps[0]:,} slices)"
            axes.axhline(median[0], label=label, color="C3", linewidth=1.5)
            continue
        (line,) = axes.plot(steps, median, marker="o", label=learner)
        axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    lines.sort()
    while lines:  # lines that lie close together share one label
        height, _ = lines[0]
        close = [name for value, name in lines if value < CLOSE * height]
        del lines[: len(close)]
        axes.annotate(
            ", ".join(close),
            (1, height),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.set(xlabel="actions", ylabel="penalized slowdown on unseen jobs", yscale="log")
    ticks = [0.25, 0.5, 1, 2, 4]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
