"""The command `bfenv record`."""

from pathlib import Path

from bfenv.cli import show
from bfenv.cli.options import check_output_folder, option
from bfenv.core.errors import BfenvError


def record(
    out: Path = option(..., "FOLDER", "Folder of data sets.", "--out", "-o"),
    policy: str | None = option(None, "POLICY", "Policy to record.", "--policy", "-p"),
    agent: str | None = option(
        None, "AGENT", 'Or agent: random, FOLDER/agent.json or "agent:NAME".', "--agent", "-a"
    ),
    workload: str | None = option(
        None, "WORKLOAD", "Name or SWF file.  [default: that of the environment]",
        "--workload", "-w",
    ),
    episodes: int = option(100, "N", "Number of episodes.", min=1),
    seed: int = option(0, "N", "Seed of the first episode; the next one has the next.", min=0),
    name: str | None = option(
        None, "NAME", "Name of the data set.  [default: backfill/WORKLOAD-POLICY-v0]"
    ),
    change: list[str] | None = option(
        None, "NAME=VALUE", "Setting of the environment; repeat for several.", "--set"
    ),
) -> None:  # fmt: skip
    """Record a policy or an agent as a data set of Minari, to learn from.

    The data set has the observations, actions, rewards and infos of Backfill-v0; the action masks
    are in the infos. Episodes come from the split "train" unless you --set another. Read the data
    set with minari.load_dataset, as docs/third_party.md shows. Needs pip install 'bfenv[minari]'.

    \b
    Examples:
      bfenv record --policy easy-wfp3 --episodes 100 --out data
      bfenv record --agent random --set window=32 --out data
      bfenv record -p easy -w lublin:jobs=2000,procs=64 --name backfill/small-easy-v0 -o data
    """
    from bfenv.agents.record import record_dataset
    from bfenv.baselines.registry import find_policy
    from bfenv.core.names import read_value

    if (policy is None) == (agent is None):
        raise BfenvError("give one of --policy and --agent")
    check_output_folder(out)
    settings = {}
    for text in change or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise BfenvError(f"a setting is given by NAME=VALUE, got {text!r}")
        settings[key] = read_value(value)
    recorded = agent if policy is None else find_policy(policy)
    with show.progress() as progress:
        bar = progress.add_task("playing", total=episodes)
        written = record_dataset(
            recorded, out, workload, episodes=episodes, seed=seed, name=name,
            done=lambda count: progress.update(bar, completed=count), **settings,
        )  # fmt: skip
    print(f"{written}: read it with MINARI_DATASETS_PATH={out}")
