"""The command `bfenv record`."""

from functools import partial
from pathlib import Path

from bfenv.cli import show
from bfenv.cli.options import option
from bfenv.core.errors import BfenvError


def record(
    out: Path = option(..., "FOLDER", "Folder of data sets.", "--out", "-o"),
    policy: str | None = option(None, "POLICY", "Policy to record.", "--policy", "-p"),
    agent: str | None = option(
        None, "AGENT", "Agent to record instead, see above.", "--agent", "-a"
    ),
    workload: str | None = option(None, "WORKLOAD", "Name or SWF file.", "--workload", "-w"),
    episodes: int = option(100, "N", "Number of episodes.", min=1),
    name: str | None = option(None, "NAME", "[default: backfill/WORKLOAD-POLICY-v0]"),
    change: list[str] | None = option(None, "NAME=VALUE", "Setting; repeat for several.", "--set"),
) -> None:
    """Record episodes of a policy or an agent as a Minari data set.

    The data set has the observations, actions, rewards and infos of Backfill-v0; the infos have the
    action masks. An agent is "random", FOLDER/agent.json or "agent:NAME". --set changes a setting
    of the environment, such as the split, "train" by default. Read a data set with
    minari.load_dataset, as docs/third_party.md shows. Needs pip install 'bfenv[minari]'.

    \b
    Examples:
      bfenv record --policy easy-wfp3 --episodes 100 --out data
      bfenv record --agent random --set window=32 --out data
      bfenv record -p easy -w lublin:jobs=2000 --name backfill/small-easy-v0 -o data
    """
    from bfenv.agents.record import record_dataset
    from bfenv.baselines.registry import find_policy
    from bfenv.core.names import parse_name, read_value

    if (policy is None) == (agent is None):
        raise BfenvError("give either --policy or --agent")
    texts = parse_name(f"--set({', '.join(change or ())})").options
    settings = {key: read_value(text) for key, text in texts.items()}
    with show.progress() as progress:
        bar = progress.add_task("playing", total=episodes)
        done = partial(progress.update, bar, advance=1)
        recorded = find_policy(policy) if policy else agent
        name = record_dataset(recorded, out, workload, episodes, name, done, **settings)
    show.text(f"{name}: read it with MINARI_DATASETS_PATH={out}")
