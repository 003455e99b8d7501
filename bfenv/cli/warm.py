"""The command `bfenv warm`."""

from bfenv.cli import show

POLICIES = ("fcfs", "easy", "conservative", "los", "easy-sjf", "multiqueue", "agent:formula")
SECONDS = 90.0  # to compile all of them on one core


def warm() -> None:
    """Compile the environment and the common policies.

    Nothing waits for it later. The compiled code is kept in the folder that the environment
    variable BFENV_CACHE names, or in your user's cache folder.

    \b
    Examples:
      bfenv warm
    """
    import gymnasium

    from bfenv.baselines.registry import find_policy
    from bfenv.core.kernel import announcement
    from bfenv.parallel.sweep import warm_up

    announcement.least = SECONDS
    with show.progress() as progress:
        task = progress.add_task("the environment", total=1 + len(POLICIES))
        gymnasium.make("Backfill-v0").reset(seed=0)
        for name in POLICIES:
            progress.update(task, description=name, advance=1)
            warm_up(find_policy(name))
        progress.update(task, advance=1)
