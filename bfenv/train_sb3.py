"""Train a network on Backfill-v0 with stable-baselines3, and score it on unseen jobs: one file.

Run it with `python -m bfenv.train_sb3`, or copy it and change what you like. It needs the extra
`agents`. Its parts: arguments, environments, model, training, saving, scoring.
"""

import argparse
import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import torch
from rich.console import Console
from rich.table import Table
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecMonitor

from bfenv.agents import save_model
from bfenv.agents.sb3_callback import ShowProgress
from bfenv.agents.sb3_policies import ScorerPolicy, export_network
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.evaluation import evaluate_agent

POLICIES = ("ranker", "scorer", "MultiInputPolicy")
BOUNDS = (  # of arguments
    *((name, 0, inf) for name in ("episodes", "seed", "entropy")),
    *((name, 1, inf) for name in ("steps", "num_steps", "epochs", "num_envs", "window", "threads")),
    ("batch_size", 2, inf),
    *((name, 0, 1) for name in ("learning_rate", "gamma", "gae_lambda")),
)


@dataclass
class Args:
    """What `python -m bfenv.train_sb3 --NAME VALUE` can change."""

    out: Annotated[str, "folder of model.zip and, with ScorerPolicy, of model.json"] = "runs/sb3"
    workload: Annotated[str, "to train and score on; if empty, the environment's own"] = ""
    seed: Annotated[int, "of networks, actions and episodes"] = 0
    steps: Annotated[int, "actions, over all environments together"] = 524_288
    policy: Annotated[str, "ranker or scorer (ScorerPolicy), or MultiInputPolicy"] = "ranker"
    reward: Annotated[str, "of the environment"] = "penalized"
    window: Annotated[int, "slots of the queue that the agent sees"] = 8
    num_envs: Annotated[int, "environments that one call steps"] = 64
    num_steps: Annotated[int, "actions in each environment between two updates"] = 128
    batch_size: Annotated[int, "actions of a gradient"] = 1024
    epochs: Annotated[int, "passes over the actions of an update"] = 4
    learning_rate: Annotated[float, "falls to 0 linearly"] = 3e-3
    gamma: Annotated[
        float, "discount of a decision; 1, because the rewards add up to the measure"
    ] = 1.0
    gae_lambda: Annotated[float, "of generalized advantage estimation"] = 0.99
    entropy: Annotated[float, "weight of the entropy bonus"] = 0.003
    episodes: Annotated[int, "test episodes to score it on; 0 for none"] = 32
    threads: Annotated[int, "of torch"] = 1
    device: Annotated[str, "as torch names it; cuda for a GPU"] = "cpu"


def make_model(args: Args) -> MaskablePPO:
    """Return an untrained model with its environments.

    Raises UnknownNameError if there is no such policy.
    """
    if args.policy not in POLICIES:
        raise UnknownNameError("policy network", args.policy, POLICIES)
    torch.set_num_threads(args.threads)
    workload: dict[str, Any] = {"workload": args.workload} if args.workload else {}
    envs = BackfillVecEnv(args.num_envs, window=args.window, reward=args.reward, **workload)
    policy: Any = args.policy
    network: dict[str, Any] = {}
    if policy != "MultiInputPolicy":
        network = {"network": policy}
        policy = ScorerPolicy
    return MaskablePPO(
        policy,
        VecMonitor(envs),
        n_steps=args.num_steps,
        batch_size=args.batch_size,
        n_epochs=args.epochs,
        learning_rate=lambda left: args.learning_rate * left,
        gamma=args.gamma,
        gae_lambda=args.gae_lambda,
        ent_coef=args.entropy,
        policy_kwargs=network,
        seed=args.seed,
        device=args.device,
    )


def train(args: Args) -> Path:
    """Train a model, and save it with its card; return its file.

    Raises BfenvError or OSError before the training if it could not be scored or saved.
    """
    model = make_model(args)
    if args.episodes:
        BackfillEnv(args.workload or None, split="test").close()
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    model.learn(args.steps, callback=ShowProgress())
    if isinstance(model.policy, ScorerPolicy):
        export_network(model, folder / "model.json")  # acts without torch, and runs no code
    return save_model(model, folder / "model.zip")


def score(path: Path, args: Args) -> Table:
    """Return a table of the model, random actions and classical policies on unseen episodes."""
    rows = evaluate_agent(
        path, args.workload or None, episodes=args.episodes, trust=True, window=args.window
    )
    table = Table(title=f"{args.episodes} test episodes")
    table.add_column("policy", overflow="fold")
    for column in ("penalized", "slowdown / EASY's", "longest wait / EASY's"):
        table.add_column(column, justify="right", min_width=9)
    for row in sorted(rows, key=lambda row: row.metrics["penalized_slowdown"] or 0.0):
        metrics: Any = row.metrics
        names = "penalized_slowdown", "relative_slowdown", "longest_wait_ratio"
        cells = [f"{metrics[name]:.3f}" for name in names]
        table.add_row(row.policy, *cells)
    return table


def read_args(words: list[str] | None = None) -> Args:
    """Read arguments; without `words`, from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bfenv.train_sb3",
        description="Train MaskablePPO on Backfill-v0, and score it on unseen jobs.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for name, hint in get_type_hints(Args, include_extras=True).items():
        kind, text = get_args(hint)
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=kind, default=getattr(Args, name), help=text)
    args = Args(**vars(parser.parse_args(words)))
    for name, least, most in BOUNDS:
        if not least <= getattr(args, name) <= most:  # also if it is NaN
            bounds = f"at least {least}" if most == inf else f"from {least} to {most}"
            parser.error(f"--{name.replace('_', '-')} must be {bounds}, got {getattr(args, name)}")
    if args.num_envs * args.num_steps % args.batch_size == 1:
        parser.error("the last batch of an update has one action: choose another --batch-size")
    try:
        torch.device(args.device)
    except RuntimeError:
        parser.error(f"--device: torch has no device {args.device!r}")
    return args


if __name__ == "__main__":
    args = read_args()
    try:
        path = train(args)
        print(path)
        if args.episodes:
            Console().print(score(path, args))
    except (BfenvError, OSError) as error:
        sys.exit(f"python -m bfenv.train_sb3: {error}")
