"""The command `bfenv warm`."""

from bfenv.cli import show

POLICIES = ("fcfs", "easy-sjf", "multiqueue", "easy-saf-guarded", "agent:formula")


def warm() -> None:
    """Compile the environment and the common policies now.

    These include the policies that agents are compared with. This command is optional: until code
    is compiled, it runs as plain Python, and a background process compiles it. Compile before long
    jobs on a cluster, or before you measure speed. The compiled code is in your user's cache
    folder, or in the folder of the environment variable BFENV_CACHE.

    \b
    Examples:
      bfenv warm
    """
    import gymnasium

    from bfenv.baselines.registry import find_competitor
    from bfenv.core.kernel import NOW, compiling
    from bfenv.evaluation.agent_scores import CANDIDATES, REFERENCES
    from bfenv.parallel.sweep import warm_up

    names = dict.fromkeys((*REFERENCES, *POLICIES, *CANDIDATES))
    with show.progress() as progress, compiling(NOW):
        task = progress.add_task("compiling the environment", total=1 + len(names))
        gymnasium.make("Backfill-v0").reset(seed=0)
        for name in names:
            progress.update(task, description=f"compiling {name}", advance=1)
            warm_up(find_competitor(name))
        progress.update(task, advance=1)
